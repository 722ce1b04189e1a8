"""Steps on the memory of numpy's arrays or of torch's tensors are those of the formula, whatever their type, order and number of dimensions.

Rank j of P has the loss |W - A_j|^2 / 2, so that the mean gradient is W - C with C the mean of the A_j. A step of the Frobenius norm without momentum is W - rate (W - C) / |W - C|, here in float64 of numpy.
"""

import sys

import mpi4py.MPI as MPI
import numpy as np
import petscmuon

backend = sys.argv[1]
comm = MPI.COMM_WORLD
rank, steps, rate = comm.Get_rank(), 4, 0.25

# name, shape, type, and how the array lies in memory
CASES = [("matrix", (5, 3), np.float64, "C"), ("single", (3, 6), np.float32, "C"), ("columns", (4, 5), np.float64, "F"), ("vector", (7,), np.float32, "C"), ("kernel", (4, 2, 3, 3), np.float64, "C"),
         ("gaps", (4, 3), np.float64, "gaps"), ("number", (), np.float64, "C"), ("row", (1, 4), np.float32, "C"), ("everyother", (5,), np.float64, "gaps"), ("none", (0, 3), np.float64, "C")]


def laid_out(values, kind, layout):
  if layout == "gaps":
    base = np.zeros([2 * size for size in values.shape] if values.ndim == 1 else (values.shape[0], values.shape[1] + 2), kind)
    part = base[::2] if values.ndim == 1 else base[:, :values.shape[1]]
    part[...] = values
    return part
  return np.array(values, kind, order=layout)


def number(name, shape, which):
  entries = int(np.prod(shape))
  return np.cos(np.arange(1, entries + 1) * (which + 1.5) + len(name)).reshape(shape)


class Numpy:
  """Gradients by hand."""

  def weights(self, array):
    return array

  def gradient(self, w, a, layout):
    return laid_out(np.asarray(w) - a, w.dtype, layout), 0.5 * float(np.sum((w - a).astype(np.float64)**2))


class DLPack(Numpy):
  """The same arrays, seen through DLPack alone."""

  class Tensor:
    def __init__(self, array):
      self.array = array

    def __dlpack__(self):
      return self.array.__dlpack__()

    def __dlpack_device__(self):
      return self.array.__dlpack_device__()

  def weights(self, array):
    return self.Tensor(array)

  def gradient(self, w, a, layout):
    g, loss = super().gradient(w.array, a, layout)
    return self.Tensor(g), loss


class Torch:
  """The same array as a parameter, and gradients by torch: .grad is another tensor at each step."""

  def weights(self, array):
    import torch
    self.torch = torch
    return torch.from_numpy(array).requires_grad_(True)

  def gradient(self, w, a, layout):
    w.grad = None
    loss = 0.5 * ((w - self.torch.from_numpy(a.astype(w.detach().numpy().dtype)))**2).sum()
    loss.backward()
    g = w.grad
    if g.stride() != w.stride():
      g = self.torch.from_numpy(laid_out(g.numpy(), g.numpy().dtype, layout))
    return g, float(loss)


engine = {"numpy": Numpy, "dlpack": DLPack, "torch": Torch}[backend]()
arrays = {name: laid_out(number(name, shape, 0), kind, layout) for name, shape, kind, layout in CASES}
targets = {name: [number(name, shape, j + 1) for j in range(comm.Get_size())] for name, shape, _, _ in CASES}
reference = {name: array.astype(np.float64) for name, array in arrays.items()}
tensors = {name: engine.weights(array) for name, array in arrays.items()}

muon = petscmuon.Muon(comm, {"muon_type": "dense", "lmo_type": "frobenius", "muon_momentum": 0, "muon_learning_rate": rate, "muon_schedule": "constant", "muon_state_precision": "native"})
layers = {name: muon.add_layer(name, tensor) for name, tensor in tensors.items()}
for step in range(steps):
  total = 0.0
  for name, _, _, layout in CASES:
    gradient, loss = engine.gradient(tensors[name], targets[name][rank], layout)
    layers[name].set_gradient(gradient)
    total += loss
  del gradient
  assert muon.step(total), muon.reason
  assert muon.step_number == step + 1
  mean = comm.allreduce(total) / comm.Get_size()
  assert abs(muon.loss - mean) <= 1e-5 * mean, (muon.loss, mean)
  for name, shape, kind, _ in CASES:
    w = reference[name]
    toward = w - np.mean(targets[name], axis=0)
    length = np.sqrt(np.sum(toward**2))
    reference[name] = w - rate * toward / length if length > 0 else w
    # Entries are below 4, and a step adds the roundings of a mean of P, of a norm of n entries and of the step, each taken on by the next one
    bound = 4 * (step + 1) * (comm.Get_size() + int(np.prod(shape)) + 4) * np.finfo(kind).eps
    error = float(np.max(np.abs(arrays[name] - reference[name]), initial=0))
    assert error <= bound, (name, step, error, bound)
for name, array in arrays.items():
  if array.base is not None and array.ndim > 0:
    base = array.base if array.base.size > array.size else array
    assert base is array or np.count_nonzero(base) == np.count_nonzero(array), "what lies in the gaps of %s was changed" % name
assert muon.traffic.dense == 32 * sum(array.size for array in arrays.values())
muon.destroy()

#/*TEST
#
#  build:
#    requires: numpy mpi4py
#
#  testset:
#    nsize: {{1 3}}
#    test:
#      suffix: numpy
#      args: {{numpy dlpack}}
#    test:
#      suffix: torch
#      requires: torch
#      args: torch
#
#TEST*/
