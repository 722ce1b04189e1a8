"""A torch.optim.Optimizer on the ranks of MPI: what torch.optim.Muon, torch.optim.AdamW and DistributedDataParallel do together.

    import petscmuon.torch
    optimizer = petscmuon.torch.Muon(model.named_parameters(), lr=0.02, options="-ef21_compressor topk")
    for batch in data:                 # of this rank
      optimizer.zero_grad()
      loss(model, batch).backward()
      optimizer.step()

Matrices are updated by Muon, vectors by AdamW. Gradients are those of the rank; the optimizer forms the mean.
"""

import ctypes
import os
import random
import re
import shutil
import tempfile

import torch

from ._library import Error, library
from ._muon import Muon as _Muon

HALF = (torch.bfloat16, torch.float16)


def _layer_name(name):
  """What options call a parameter: PETSc drops digits between underscores, and names begin with a letter."""
  return ("" if name[:1].isalpha() else "p") + re.sub(r"_(?=\d)", ".", name)


def _parameters(params):
  """The parameters of a module with their names, and which of them are embeddings, as sources of presets split them; or what there is in place of a module."""
  if not isinstance(params, torch.nn.Module):
    return params, set()
  return params.named_parameters(), {id(module.weight) for module in params.modules() if isinstance(module, (torch.nn.Embedding, torch.nn.EmbeddingBag))}


class Muon(torch.optim.Optimizer):
  """An optimizer for parameters of float32, float64, bfloat16 or float16. The last two are trained as copies in float32. They are in the memory of the host, or of a GPU that the library was built for. Collective, as are its methods.

  params are a module, parameters, pairs of a name and a parameter, or groups of them. A group may have lr, momentum, weight_decay, rule and adamw_lr, and torch's schedulers change the first three between steps. rule is 'lmo', 'adamw',
  'nadamw', 'sgd' or 'frozen'. Without it parameters of two dimensions and more take 'lmo', and the others 'adamw' with the rate adamw_lr, which changes as lr does. comm, options and prefix are those of petscmuon.Muon:
  '-muon_preset torch' steps as torch.optim.Muon does, with AdamW for embeddings and heads, by their names, and for each torch.nn.Embedding of a module, where there is no rule. folder is one that all ranks see, for state_dict(); the system's for temporary files by default.
  """

  def __init__(self, params, lr=0.02, momentum=0.95, weight_decay=0.0, rule=None, adamw_lr=1e-3, comm=None, options=None, prefix=None, folder=None, verbose=True):
    self._layers, self._told, self._folder = None, {}, folder or tempfile.gettempdir()
    params, embeddings = _parameters(params)
    super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay, rule=rule, adamw_lr=adamw_lr))
    self.muon, self._layers = _Muon(comm, options, prefix), []
    for g, group in enumerate(self.param_groups):
      group["first_lr"] = group["lr"]
      for k, p in enumerate(group["params"]):
        name = group["param_names"][k] if "param_names" in group else "g%d.%d" % (g, k)
        if not name:
          raise ValueError("a parameter of shape %s without a name, expected pairs such as those of model.named_parameters()" % (tuple(p.shape),))
        if not p.is_floating_point() or p.is_sparse:
          raise TypeError("parameter '%s' is %s of %s, expected a dense one of float32, float64, bfloat16 or float16" % (name, "sparse" if p.is_sparse else "dense", p.dtype))
        each = group["rule"] or ("lmo" if p.dim() >= 2 else "adamw")
        trained = p.detach().float().contiguous().requires_grad_() if p.dtype in HALF else p
        self._layers.append((name, g, each, p, trained, self.muon.add_layer(_layer_name(name), trained, None if each == "lmo" and not group["rule"] else each, 2 if id(p) in embeddings else int(p.dim() > 1))))
    count = self._chosen()
    self._rank = ctypes.c_int.in_dll(library().c, "PetscGlobalRank").value if comm is None else comm.Get_rank() if hasattr(comm, "Get_rank") else comm.getRank()
    self._tell()
    if verbose and self._rank == 0:
      print("petscmuon.torch.Muon: " + ", ".join("%d entries by %s" % (number, each) for each, number in sorted(count.items())), flush=True)

  def add_param_group(self, group):
    if self._layers is not None:
      raise Error("add_param_group(): the layers of an optimizer are fixed when it is made")
    super().add_param_group(group)

  def _chosen(self):
    """The rules of all layers, which the options may have changed, a preset among them; how many entries each has."""
    count = {}
    library().call("MuonSetFromOptions", self.muon._handle)
    for k, (name, g, _, p, trained, layer) in enumerate(self._layers):
      self._layers[k] = name, g, layer.rule, p, trained, layer
      count[layer.rule] = count.get(layer.rule, 0) + p.numel()
    return count

  def _tell(self):
    """Rates, momenta and decays of the groups go to the layers, where they changed."""
    for name, g, each, _, _, layer in self._layers:
      group = self.param_groups[g]  # which load_state_dict() replaces
      rate = group["adamw_lr"] * (group["lr"] / group["first_lr"] if group["first_lr"] else float(group["lr"] > 0)) if group["rule"] is None and each == "adamw" else group["lr"]
      for key, value in (("learning_rate", rate), ("momentum", group["momentum"]), ("weight_decay", group["weight_decay"])):
        if each == "frozen" or key == "momentum" and each != "lmo" or self._told.get((name, key)) == value:
          continue
        library().call("MuonSetParameter", self.muon._handle, ("muon_layer_%s_%s" % (layer.name, key)).encode(), repr(float(value)).encode())
        self._told[name, key] = value

  def _gradients(self):
    for name, _, each, p, trained, layer in self._layers:
      if p.grad is None and each != "frozen":
        raise Error("parameter '%s' has no gradient: its loss does not depend on it, or backward() was not called; rule='frozen' leaves it out" % name)
      if each == "frozen":
        continue
      grad = p.grad
      if trained is not p:
        if not torch.equal(trained.detach().to(p.dtype), p.detach()):
          raise Error("parameter '%s' was changed by the program: in %s that is not possible, its copy in float32 is what is trained" % (name, p.dtype))
        grad = grad.float().contiguous()
      elif grad.stride() != p.stride():
        grad = torch.empty_strided(p.shape, p.stride(), dtype=p.dtype, device=p.device).copy_(grad)
      layer.set_gradient(grad)

  @torch.no_grad()
  def step(self, closure=None):
    """Takes a step with the gradients that backward() left; closure computes them anew and returns the loss. An exception on one rank ends the step on all, with everything as it was."""
    loss = None

    def routine():
      nonlocal loss
      if closure is not None:
        with torch.enable_grad():
          loss = closure()
      self._gradients()
      return 0.0 if loss is None else float(loss)

    self._tell()
    self.muon.step(routine)
    self._round()
    return loss

  def _round(self):
    with torch.no_grad():
      for _, _, _, p, trained, _ in self._layers:
        if trained is not p:
          p.copy_(trained)

  def _shared_folder(self):
    """The same new folder on all ranks."""
    return os.path.join(self._folder, "petscmuon-%08x" % self.muon._min_max(random.SystemRandom().randrange(1 << 31))[0])

  def state_dict(self):
    """What load_state_dict() takes, a copy: groups, and the bytes of this rank's checkpoint with its weights and state. Each rank keeps its own."""
    state, folder = super().state_dict(), self._shared_folder()
    self._tell()
    self.muon.save(folder)
    state["petscmuon"] = {}
    for path, _, files in os.walk(folder):
      for name in files:
        if name == "rank-%06d" % self._rank or name == "manifest" and self._rank == 0:
          with open(os.path.join(path, name), "rb") as file:
            state["petscmuon"][os.path.relpath(os.path.join(path, name), folder)] = file.read()
    self._end(folder)
    return state

  def load_state_dict(self, state):
    """Goes on from a state_dict() of the same rank: weights, state and step are those of then, bit for bit."""
    folder, files = self._shared_folder(), state["petscmuon"]
    super().load_state_dict({key: value for key, value in state.items() if key != "petscmuon"})
    for name, data in files.items():
      path = os.path.join(folder, name)
      os.makedirs(os.path.dirname(path), exist_ok=True)
      with open(path, "wb") as file:
        file.write(data)
    self._tell()
    self.muon._min_max(0)  # all files are there
    self.muon.load(folder)
    self._end(folder)
    self._round()

  def _end(self, folder):
    """All ranks are done with a folder."""
    self.muon._min_max(0)
    shutil.rmtree(folder, ignore_errors=True)

  def destroy(self):
    """Ends the optimizer; the parameters stay as they are."""
    self.muon.destroy()
