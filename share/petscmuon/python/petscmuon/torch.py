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
import sys
import tempfile
import weakref

import torch

from ._library import Error, library
from ._muon import Muon as _Muon

HALF = (torch.bfloat16, torch.float16)
# The options behind muon_ that arguments are
KEYS = {"lr": "learning_rate", "momentum": "momentum", "weight_decay": "weight_decay", "adamw_lr": "adamw_learning_rate"}
ADAM = ("adamw", "nadamw", "soap")  # types with the rate and the decay of AdamW
_optimizers = weakref.WeakSet()


def _layer_name(name):
  """What options call a parameter: PETSc drops digits between underscores, and names begin with a letter."""
  return ("" if name[:1].isalpha() else "p") + re.sub(r"_(?=\d)", "_.", name)


def _parameters(params):
  """The parameters of a module with their names, and which of them are embeddings, as sources of presets split them; or what there is in place of a module."""
  if not isinstance(params, torch.nn.Module):
    return params, set()
  return params.named_parameters(), {id(module.weight) for module in params.modules() if isinstance(module, (torch.nn.Embedding, torch.nn.EmbeddingBag))}


class Muon(torch.optim.Optimizer):
  """An optimizer for parameters of float32, float64, bfloat16 or float16. The last two are trained as copies in float32. They are in the memory of the host, or of a GPU that the library was built for. Collective, as are its methods.

  params are a module, parameters, pairs of a name and a parameter, or groups of them. A group may have lr, momentum, weight_decay, type and adamw_lr, and torch's schedulers change the first three between steps. type is 'lmo', 'adamw',
  'nadamw', 'soap', 'sgd' or 'frozen'. Without it parameters of two dimensions and more take 'lmo', and the others 'adamw' with the rate adamw_lr, which changes as lr does. comm, options, prefix and on_nan are those of petscmuon.Muon:
  '-muon_preset torch' steps as torch.optim.Muon does, with AdamW for embeddings and heads, by their names, and for each torch.nn.Embedding of a module, where there is no type.
  lr, momentum, weight_decay and adamw_lr are the options -muon_learning_rate, -muon_momentum, -muon_weight_decay and -muon_adamw_learning_rate; None leaves them to options
  and presets, and param_groups show what is in force. folder is one that all ranks see, for state_dict(); the system's for temporary files by default. An optimizer that had some of the parameters before ends, once this one is made.
  """

  def __init__(self, params, lr=None, momentum=None, weight_decay=None, type=None, adamw_lr=None, comm=None, options=None, prefix=None, folder=None, verbose=True, on_nan="raise"):
    self._layers, self._told, self._own, self._folder = None, {}, {}, folder or tempfile.gettempdir()
    self.muon, given = _Muon(comm, {} if options is None else options, prefix, on_nan), dict(lr=lr, momentum=momentum, weight_decay=weight_decay, adamw_lr=adamw_lr)
    try:
      self._together("Muon()", self._add_layers, params, type, given)
      self.muon._read_options()
      self._together("Muon()", self._show, lr)
    except Exception:
      self.muon.destroy()
      raise
    for old in self.muon._replaces:
      old.destroy(": a new one has its parameters")
    self.muon._replaces = ()
    _optimizers.add(self)
    if verbose and self.muon._rank == 0:
      count = {}
      for _, _, each, p, _, _ in self._layers:
        count[each] = count.get(each, 0) + p.numel()
      print("petscmuon.torch.Muon: " + ", ".join("%d entries by %s" % (number, each) for each, number in sorted(count.items())), flush=True)

  def _together(self, what, call, *arguments):
    """Calls what sends nothing. An exception on one rank is one on all."""
    error = None
    try:
      return call(*arguments)
    except Exception as raised:
      error = raised
    finally:
      self.muon._agree(what, error)

  def _has(self, key):
    found = ctypes.c_int()
    library().call("PetscOptionsHasName", self.muon._options, None, ("-%s%s" % (self.muon._prefix, key)).encode(), ctypes.byref(found))
    return bool(found.value)

  def _get(self, key):
    """A number, None where another one decides."""
    text = ctypes.create_string_buffer(64)
    library().call("MuonGetParameter", self.muon._handle, key.encode(), text, ctypes.c_size_t(len(text)))
    return None if text.value == b"auto" else float(text.value)

  def _of_type(self, what, type):
    """The rate or the decay of the layers of a type."""
    own = self._get("muon_%s_%s" % ("sgd" if type == "sgd" else "adamw", what)) if type in (*ADAM, "sgd") else None
    return self._get("muon_" + what) if own is None else own

  def _add_layers(self, params, type, given):
    for argument, key in KEYS.items():
      if given[argument] is not None and self._has("muon_" + key):
        raise ValueError("%s=%g and the option -%smuon_%s are both given, expected one of them" % (argument, given[argument], self.muon._prefix, key))
      if given[argument] is not None:
        library().call("PetscOptionsSetValue", self.muon._options, ("-%smuon_%s" % (self.muon._prefix, key)).encode(), repr(float(given[argument])).encode())
    params, embeddings = _parameters(params)
    super().__init__(params, dict(dict.fromkeys(KEYS), type=type))
    layers, names, mine = [], {}, {id(p) for group in self.param_groups for p in group["params"]}
    self.muon._replaces = [old.muon for old in _optimizers if any(id(layer[3]) in mine for layer in old._layers) and old.muon._handle]
    for g, group in enumerate(self.param_groups):
      for k, p in enumerate(group["params"]):
        name = group["param_names"][k] if "param_names" in group else "g%d.%d" % (g, k)
        if not name:
          raise ValueError("a parameter of shape %s without a name, expected pairs such as those of model.named_parameters()" % (tuple(p.shape),))
        if not p.is_floating_point() or p.is_sparse:
          raise TypeError("parameter '%s' is %s of %s, expected a dense one of float32, float64, bfloat16 or float16" % (name, "sparse" if p.is_sparse else "dense", p.dtype))
        key = _layer_name(name)
        if key.lower() in names:
          raise ValueError("parameters '%s' and '%s' are both '%s' to options, expected names that differ" % (names[key.lower()], name, key))
        names[key.lower()] = name
        trained = p.detach().float().contiguous().requires_grad_() if p.dtype in HALF else p
        layers.append((name, g, p, trained, self.muon.add_layer(key, trained, group["type"] or (None if p.dim() >= 2 else "adamw"), 2 if id(p) in embeddings else int(p.dim() > 1))))
    self._layers = layers

  def _show(self, lr):
    """Types and numbers as options and presets left them go to the groups, where these do not say otherwise."""
    layers = self._layers = [(name, g, layer.type, p, trained, layer) for name, g, p, trained, layer in self._layers]
    for g, group in enumerate(self.param_groups):
      mine = [layer for layer in layers if layer[1] == g]
      types = [group["type"]] if group["type"] else sorted((layer[2] for layer in mine), key="lmo".__ne__) or ["lmo"]
      shown = dict(lr=lr if group["type"] and lr is not None else self._of_type("learning_rate", group["type"] or "lmo"), momentum=self._get("muon_momentum"), weight_decay=self._of_type("weight_decay", types[0]), adamw_lr=self._of_type("learning_rate", "adamw"))
      for name, _, each, _, _, layer in mine:
        own = "muon_layer_%s_" % layer.name
        if self._has(own + "learning_rate"):
          self._own[name] = self._get(own + "learning_rate")
        elif each not in ("lmo", *ADAM, group["type"]):
          self._own[name] = self._of_type("learning_rate", each)
        self._told[name, "learning_rate"] = self._own.get(name, self._of_type("learning_rate", each))
        self._told.update({(name, key): shown[key] for key in ("momentum", "weight_decay") if group[key] is None or self._has(own + key)})
      group.update({key: value for key, value in shown.items() if group[key] is None})
      group["first_lr"] = group["lr"]
    self._tell()

  def add_param_group(self, group):
    if self._layers is not None:
      raise Error("add_param_group(): the layers of an optimizer are fixed when it is made")
    super().add_param_group(group)

  def _tell(self):
    """Rates, momenta and decays of the groups go to the layers, where they changed."""
    for name, g, each, _, _, layer in self._layers:
      group = self.param_groups[g]  # which load_state_dict() replaces
      own = self._own.get(name, group["adamw_lr"] if each in ADAM and group["type"] != each else None)
      rate = group["lr"] if own is None else own * (group["lr"] / group["first_lr"] if group["first_lr"] else float(group["lr"] > 0))
      for key, value in (("learning_rate", rate), ("momentum", group["momentum"]), ("weight_decay", group["weight_decay"])):
        if each == "frozen" or key == "momentum" and each != "lmo" or self._told.get((name, key)) == value:
          continue
        library().call("MuonSetParameter", self.muon._handle, ("muon_layer_%s_%s" % (layer.name, key)).encode(), repr(float(value)).encode())
        self._told[name, key] = value

  def _gradients(self):
    for name, _, each, p, trained, layer in self._layers:
      if p.grad is None and each != "frozen":
        raise Error("parameter '%s' has no gradient: its loss does not depend on it, or backward() was not called; type='frozen' leaves it out" % name)
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
    loss, error = None, None
    try:
      self._tell()
    except Exception as raised:
      error = raised

    def routine():
      nonlocal loss
      if error is not None:
        raise error
      if closure is not None:
        with torch.enable_grad():
          loss = closure()
      self._gradients()
      return 0.0 if loss is None else float(loss)

    try:
      self.muon.step(routine)
    except Error:
      raise error or sys.exc_info()[1]
    self._round()
    return loss

  def _round(self):
    with torch.no_grad():
      for _, _, _, p, trained, _ in self._layers:
        if trained is not p:
          p.copy_(trained)

  def _in_folder(self, what, before, call, after):
    """Gives a new folder, the same on all ranks, to before, to call, which is collective, and to after, whose result it returns."""
    folder = os.path.join(self._folder, "petscmuon-%08x" % self.muon._min_max(random.SystemRandom().randrange(1 << 31))[0])
    # No other user's, and none that is there
    self._together(what, lambda: self.muon._rank == 0 and os.mkdir(folder, 0o700))
    try:
      self._together(what, before, folder)
      call(folder)
      return self._together(what, after, folder)
    finally:
      shutil.rmtree(folder, ignore_errors=True)

  def state_dict(self):
    """What load_state_dict() takes, a copy: groups, and the bytes of this rank's checkpoint with its weights and state. All ranks call it, and each keeps its own: torch.save(optimizer.state_dict(), "state-%d" % rank). save() is for other numbers of ranks."""
    self.muon._meet("state_dict()")

    def read(folder):
      state = torch.optim.Optimizer.state_dict(self)
      state.update(petscmuon={}, petscmuon_ranks=self.muon._size)
      for path, _, files in os.walk(folder):
        for name in files:
          if name == "rank-%06d" % self.muon._rank or name == "manifest" and self.muon._rank == 0:
            with open(os.path.join(path, name), "rb") as file:
              state["petscmuon"][os.path.relpath(os.path.join(path, name), folder)] = file.read()
      return state

    return self._in_folder("state_dict()", lambda folder: self._tell(), lambda folder: self.muon._checkpoint("MuonSaveCheckpoint", folder, library().Int(1)), read)

  def load_state_dict(self, state):
    """Goes on from a state_dict() of the same rank of as many ranks: weights, state and step are those of then, bit for bit. After an error all is as it was."""
    self.muon._meet("load_state_dict()")
    groups, names = self.param_groups, "step-[0-9]{12,18}-[0-9]{6,18}/(rank-%06d%s)" % (self.muon._rank, "" if self.muon._rank else "|manifest")

    def write(folder):
      files = state["petscmuon"]
      if state.get("petscmuon_ranks") != self.muon._size:
        raise ValueError("a state that was saved on %s ranks, expected one of %d: each rank loads what it kept itself; save() and load() take other numbers of ranks" % (state.get("petscmuon_ranks"), self.muon._size))
      for name in files:
        if not re.fullmatch(names, name):
          raise ValueError("state['petscmuon'] has the name %r, expected '%s': each rank loads what it kept itself" % (name, names))
      torch.optim.Optimizer.load_state_dict(self, {key: value for key, value in state.items() if not key.startswith("petscmuon")})
      self._tell()
      for name, data in files.items():
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        with open(os.path.join(folder, name), "xb") as file:
          file.write(data)

    try:
      self._in_folder("load_state_dict()", write, lambda folder: self.muon._checkpoint("MuonLoadCheckpoint", folder), lambda folder: self._round())
    except Exception:
      self.param_groups = groups
      raise

  def save(self, folder, keep=1):
    """Writes a checkpoint into a folder that all ranks see, and keeps so many of them. Groups are the program's to keep."""
    self._together("save()", self._tell)
    self.muon.save(folder, keep)

  def load(self, folder):
    """Goes on from a checkpoint of save(), on any number of ranks: weights, state and step are those of then."""
    self.muon.load(folder)
    self._round()

  def destroy(self):
    """Ends the optimizer; the parameters stay as they are."""
    self.muon.destroy()
