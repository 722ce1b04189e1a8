"""What the package refuses, with the layer, the value and what was expected; and what it keeps when a step ends early.

Where numpy has no counterpart of what a tensor of torch can be, a small class stands for it: one on a device, one that needs no gradient, one whose memory moves.
"""

import ctypes
import gc
import os
import sys
import types
import weakref

import mpi4py.MPI as MPI
import numpy as np
import petscmuon
import petscmuon._library
import petscmuon._memory

backend = sys.argv[1]
comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()


def refused(kind, words, function, *arguments, **keys):
  """The call must raise this kind of exception, with all these words in its message."""
  try:
    function(*arguments, **keys)
  except kind as error:
    missing = [word for word in words if word not in str(error)]
    assert not missing, "%s is not in '%s'" % (missing, error)
    return
  raise AssertionError("nothing was raised of '%s'" % " ".join(words))


class Stand:
  """An array with attributes that a tensor has."""

  def __init__(self, array, **attributes):
    self.array = array
    self.__dict__.update(attributes)

  @property
  def __array_interface__(self):
    return self.array.__array_interface__


class Array(ctypes.Structure):
  """MuonArray of C."""
  _fields_ = [("data", ctypes.c_void_p), ("len", ctypes.c_size_t), ("count", ctypes.c_size_t), ("ld", ctypes.c_size_t), ("precision", ctypes.c_int), ("memory", ctypes.c_int), ("rowmajor", ctypes.c_int)]


class Apart:
  """A matrix in the memory of Kokkos' back end for the host, which is kept apart from the host's; by DLPack's type of devices for tests."""

  def __init__(self, values):
    self.there, self.shape = Array(), values.shape
    petscmuon._library.library().call("MuonArrayCreate", ctypes.byref(Array(None, values.shape[1], values.shape[0], values.shape[1], 1, 1, 1)), 1, ctypes.byref(self.there))
    self.copy(values)

  def copy(self, values=None):
    """A copy on the host, of what values replace first."""
    here, c = Array(), petscmuon._library.library()
    c.call("MuonArrayOnHost", ctypes.byref(self.there), 1, ctypes.byref(here))
    entries = np.ctypeslib.as_array(ctypes.cast(here.data, ctypes.POINTER(ctypes.c_double)), self.shape)
    if values is not None:
      entries[:] = values
    found = entries.copy()
    c.call("MuonArrayOffHost", ctypes.byref(self.there), int(values is not None), ctypes.byref(here))
    return found

  def free(self):
    petscmuon._library.library().call("MuonArrayDestroy", ctypes.byref(self.there))

  def __dlpack_device__(self):
    return 12, 0

  def __dlpack__(self):
    self.tensor = petscmuon._memory._Tensor(self.there.data, 12, 0, 2, 2, 64, 1, (ctypes.c_int64 * 2)(*self.shape), None, 0)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.addressof(self.tensor), b"dltensor", None)


class OnDevice:
  def __dlpack_device__(self):
    return 2, 1


# The library itself: before it is loaded
sys.modules["petsc4py.PETSc"] = types.SimpleNamespace(ScalarType=complex)
refused(petscmuon.Error, ["petsc4py", "complex scalars", "expected one with real scalars"], petscmuon.Muon)
del sys.modules["petsc4py.PETSc"]
place = os.environ["PETSCMUON_DIR"]
os.environ["PETSCMUON_DIR"] = os.path.join(place, "nowhere")
refused(petscmuon.Error, ["PETSCMUON_DIR=", "nowhere", "libpetscmuon", "expected"], petscmuon.Muon)
os.environ["PETSCMUON_DIR"] = place

petscmuon.init(["program", "-some_muon_learning_rate", "0.5"])
refused(petscmuon.Error, ["has started already"], petscmuon.init, ["program", "-a"])
refused(TypeError, ["comm", "'world'", "expected None or a communicator"], petscmuon.Muon, "world")
refused(ValueError, ["COMM_NULL"], petscmuon.Muon, MPI.COMM_NULL)
refused(TypeError, ["muon_type", "object"], petscmuon.Muon, comm, {"muon_type": object()})

if backend == "torch":
  import torch
  make = lambda array: torch.from_numpy(array).requires_grad_(True)
  plain = torch.from_numpy
  frozen = torch.from_numpy(np.ones((2, 2)))
  result = make(np.ones((2, 2))) * 2
  half = torch.ones(2, 2, dtype=torch.bfloat16).requires_grad_(True)
  integers = torch.ones(2, 2, dtype=torch.int32)
else:
  make = plain = lambda array: array
  frozen = Stand(np.ones((2, 2)), requires_grad=False)
  result = Stand(np.ones((2, 2)), requires_grad=True, is_leaf=False)
  half = np.ones((2, 2), np.float16)
  integers = np.ones((2, 2), np.int32)

# Options that nothing reads, and those that say yes or no
single = np.ones((2, 2))
for key, nearest in (("muon_lr", "muon_learning_rate"), ("moun_type", "muon_type"), ("ef21_compresor", "ef21_compressor")):
  wrong = petscmuon.Muon(comm, {key: "ef21"}, prefix="wrong_%s_" % key)
  wrong.add_layer("w", make(single))
  refused(petscmuon.Error, ["nothing reads '%s'" % key, "'%s'" % nearest], wrong.step)
  wrong.destroy()
refused(TypeError, ["muon_max_steps", "the value None"], petscmuon.Muon, comm, {"muon_max_steps": [None]})
flags = petscmuon.Muon(comm, {"muon_check_weights": False, "muon_count_entropy": True, "muon_measure_update_rms": None, "muon_max_steps": np.int64(7), "muon_monitor": False, "muon_view": False}, prefix="flags_")
flags.add_layer("w", make(single))
flags.setup()
for key, expected in (("muon_check_weights", b"false"), ("muon_count_entropy", b"true"), ("muon_max_steps", b"7")):
  value = ctypes.create_string_buffer(16)
  petscmuon._library.library().call("MuonGetParameter", flags._handle, key.encode(), value, ctypes.c_size_t(16))
  assert value.value == expected, (key, value.value)
flags.destroy()

# Tensors
muon = petscmuon.Muon(comm, {"muon_type": "dense", "lmo_type": "frobenius", "muon_momentum": 0, "muon_learning_rate": 0.125})
refused(ValueError, ['layer "a"', "requires_grad is False", "'frozen'"], muon.add_layer, "a", frozen)
refused(ValueError, ['layer "a"', "is_leaf is False", "expected a parameter"], muon.add_layer, "a", result)
refused(TypeError, ['layer "a"', "float16", "expected float32 or float64"] if backend == "torch" else ['layer "a"', "f2", "expected float32 or float64"], muon.add_layer, "a", half)
refused(TypeError, ['layer "a"', "expected float32 or float64"], muon.add_layer, "a", Stand(np.ones((2, 2), ">f8")))
refused(TypeError, ['layer "a"', "expected float32 or float64"], muon.add_layer, "a", Stand(np.ones((2, 2), complex)))
refused(ValueError, ['layer "a"', "cuda:1", "expected memory of the host", "with a Kokkos for Cuda"], muon.add_layer, "a", type("Device", (OnDevice,), {"__dlpack__": lambda self: None})())
if backend == "torch":
  refused(ValueError, ['layer "a"', "no memory by DLPack", "meta"], muon.add_layer, "a", torch.ones(2, 2, device="meta", requires_grad=True))
  refused(ValueError, ['layer "a"', "no memory by DLPack", "uninitialized"], muon.add_layer, "a", torch.nn.UninitializedParameter())
  refused(ValueError, ['layer "a"', ".resolve_neg()"], muon.add_layer, "a", torch.ones(2, 2)._neg_view(), type="frozen")
refused(TypeError, ['layer "a"', "list", "expected a tensor or an array"], muon.add_layer, "a", [1.0, 2.0])
refused(ValueError, ['layer "a"', "strides (12, 2)", "side by side"], muon.add_layer, "a", make(np.ones((4, 6))[::2, ::2]))
refused(ValueError, ['layer "a"', "strides (0, 1)", "side by side"], muon.add_layer, "a", Stand(np.lib.stride_tricks.as_strided(np.ones(3), (2, 3), (0, 8))))
refused(ValueError, ['layer "a"', "shape (2, 3, 4)", "side by side"], muon.add_layer, "a", make(np.ones((2, 4, 3)).transpose(0, 2, 1)))
readonly = np.ones((2, 2))
readonly.flags.writeable = False
refused(ValueError, ['layer "a"', "read-only"], muon.add_layer, "a", readonly)
refused(petscmuon.Error, ["a-b"], muon.add_layer, "a-b", make(np.ones((2, 2))))
refused(petscmuon.Error, ["no_such_type"], petscmuon.Muon(comm).add_layer, "a", make(np.ones((2, 2))), type="no_such_type")

# A layer, and its name again
w = np.arange(12.0).reshape(3, 4)
layer = muon.add_layer("w", make(w))
refused(petscmuon.Error, ['"w"'], muon.add_layer, "w", make(np.ones((2, 2))))
refused(petscmuon.Error, ['"W"'], muon.add_layer, "W", make(np.ones((2, 2))))

refused(ValueError, ['layer "v"', 'that of layer "w"'], muon.add_layer, "v", layer.tensor)
refused(ValueError, ["w\\x00v", "without NUL"], muon.add_layer, "w\0v", make(np.ones((2, 2))))
refused(ValueError, ["muon_type", "without NUL"], petscmuon.Muon, comm, {"muon_type": "de\0nse"})

# Options of dictionaries are their optimizer's alone, and are known before the set-up
twins = [petscmuon.Muon(comm, {"muon_type": "dense", "muon_learning_rate": rate}) for rate in (0.5, 0.25)]
for twin, rate in zip(twins, (0.5, 0.25)):
  assert twin.learning_rate == rate
  assert twin.add_layer("w", make(np.ones((2, 2))), "adamw").type == "adamw"
  twin.setup()
assert [twin.learning_rate for twin in twins] == [0.5, 0.25]
for twin in twins:
  twin.destroy()

# Gradients
refused(ValueError, ['layer "w": gradient', "4 x 3", "expected 3 x 4"], layer.set_gradient, plain(np.ones((4, 3))))
refused(TypeError, ['layer "w": gradient', "float32", "expected float64"], layer.set_gradient, plain(np.ones((3, 4), np.float32)))
refused(TypeError, ['layer "w": gradient', "expected float32 or float64"], layer.set_gradient, integers)
refused(ValueError, ['layer "w": gradient', "columns with 3", "expected rows with 4"], layer.set_gradient, plain(np.ones((3, 4), order="F")))
refused(petscmuon.Error, ["set_gradient()"], muon.step)


def stepped(**keys):
  """A step with a gradient of ones: each entry goes down by rate / sqrt(12)."""
  before = w.copy()
  layer.set_gradient(plain(np.ones((3, 4))))
  gc.collect()
  assert muon.step(**keys)
  assert np.max(np.abs(w - (before - 0.125 / np.sqrt(12)))) < 64 * np.finfo(float).eps


stepped()

# A gradient is of one step: none in the next is an error that names the layer, on the rank that has none
refused(petscmuon.Error, ['layer "w"', "set_gradient()"], muon.step)
if rank > 0 or size == 1:
  layer.set_gradient(plain(np.ones((3, 4))))
if size > 1:
  refused(petscmuon.Error, ['layer "w"'] if rank == 0 else ["another rank"], muon.step)
  stepped()


# The routine of a step cannot end its optimizer
def ends():
  muon.destroy()


refused(petscmuon.Error, ["Muon.destroy()", "in the routine of a step"], muon.step, ends)
stepped()

# A layer keeps its tensor, and the gradient that it was given last; an optimizer that has ended keeps nothing
short = petscmuon.Muon(comm)
array, gradient = np.ones((2, 2)), np.ones((2, 2))
kept, given = weakref.ref(array), weakref.ref(gradient)
short.add_layer("kept", make(array)).set_gradient(plain(gradient))
del array, gradient
gc.collect()
assert kept() is not None and given() is not None
short.destroy()
gc.collect()
assert kept() is None and given() is None

if backend == "torch":
  # What a graph saved of the weights is not theirs after a step, and torch knows; a gradient that is sparse is none of rows or columns
  graph = (layer.tensor**2).sum()
  stepped()
  refused(RuntimeError, ["modified by an inplace operation"], graph.backward)
  refused(ValueError, ['layer "w": gradient', "DLPack"], layer.set_gradient, torch.ones(3, 4, dtype=torch.float64).to_sparse())

# No gradient in this step
before = w.copy()
layer.set_gradient(None)
assert muon.step() and np.array_equal(before, w)

# An exception in the routine on one rank ends the step on all, and changes nothing
for policy in (b"stop", b"skip", b"zero"):
  petscmuon._library.library().call("MuonSetParameter", muon._handle, b"muon_nan", policy)
  for guilty in range(size):

    def closure():
      if rank == guilty:
        raise KeyError("no data")
      layer.set_gradient(plain(np.ones((3, 4))))
      return 1.0

    before, state = w.copy(), muon.step_number
    if rank == guilty:
      refused(KeyError, ["no data"], muon.step, closure)
    else:
      refused(petscmuon.Error, ["was not taken", "another rank raised an exception"], muon.step, closure)
    assert np.array_equal(before, w)
    stepped(loss=2.0)
    assert muon.loss == 2.0

# Numbers that are none end a step without an exception
petscmuon._library.library().call("MuonSetParameter", muon._handle, b"muon_nan", b"stop")
layer.set_gradient(plain(np.full((3, 4), np.nan if rank == 0 else 1.0)))
before = w.copy()
refused(petscmuon.Diverged, ["DIVERGED_NANORINF", 'layer "w" on rank 0'], muon.step)
assert muon.reason == "DIVERGED_NANORINF" and np.array_equal(before, w)
stepped()

# Memory that moves under a layer: the step ends on all ranks
layer.set_gradient(plain(np.ones((3, 4))))
if rank == 0:
  if backend == "torch":
    address = layer.tensor.data
    layer.tensor.data = layer.tensor.data.clone()
  else:
    address = layer.tensor
    layer.tensor = w.copy()
refused(ValueError if rank == 0 else petscmuon.Error, ['layer "w"', "another than when the layer was added"] if rank == 0 else ["was not taken"], muon.step)
if rank == 0:
  if backend == "torch":
    layer.tensor.data = address
  else:
    layer.tensor = address
stepped()

# Weights and gradients on a device, where the library has kernels for it; nothing is copied to the host
if petscmuon._library.library().device() is not None and petscmuon._library.library().device().ishost:
  with petscmuon.Muon(comm, {"muon_type": "dense", "lmo_type": "max", "muon_momentum": 0, "muon_learning_rate": 0.125, "muon_schedule": "constant"}) as there:
    weights, slope = Apart(np.full((3, 4), 2.0)), Apart(np.ones((3, 4)))
    across = there.add_layer("w", weights)
    refused(ValueError, ['layer "w": gradient', "in the memory of the host"], across.set_gradient, plain(np.ones((3, 4))))
    for step in range(2):
      across.set_gradient(slope)
      assert there.step()
    assert np.array_equal(weights.copy(), np.full((3, 4), 1.75)), weights.copy()
  weights.free()
  slope.free()

# A checkpoint brings weights and the number of the step back
folder = comm.bcast(os.path.join(os.getcwd(), "checkpoint"))
muon.save(folder)
saved, number = w.copy(), muon.step_number
stepped()
muon.load(folder)
assert np.array_equal(saved, w) and muon.step_number == number
refused(petscmuon.Error, ["nosuchfolder"], muon.load, os.path.join(folder, "nosuchfolder"))

# A parameter that is set before the options are read leaves those of the optimizer's own database in force
with petscmuon.Muon(comm, "-muon_type ef21 -ef21_compressor topk -ef21_server_compressor topk") as early:
  w16 = np.zeros((32, 16))
  first = early.add_layer("a", make(w16))
  petscmuon._library.library().call("MuonSetParameter", early._handle, b"muon_layer_a_learning_rate", b"0.5")
  first.set_gradient(plain(np.arange(512.0).reshape(32, 16)))
  assert early.step(0.0)
  first.set_gradient(plain(np.ones((32, 16))))
  assert early.step(0.0)
  assert 0 < early.traffic.up.encoded < 0.5 * early.traffic.dense, early.traffic

# Two optimizers have two prefixes; a run to its end
b = np.ones((2, 2))
with petscmuon.Muon(comm, "-muon_type dense -lmo_type max -muon_momentum 0 -muon_max_steps 3 -muon_schedule constant", prefix="some_") as other:
  second = other.add_layer("b", make(b))
  calls = []

  def routine():
    calls.append(1)
    second.set_gradient(plain(np.ones((2, 2))))
    return 0.0

  other.solve(routine)
  assert other.reason == "CONVERGED_MAX_STEPS" and len(calls) == 3
  assert other.learning_rate == 0.5 and muon.learning_rate == 0.125
  assert np.max(np.abs(b - (1 - 3 * 0.5))) < 16 * np.finfo(float).eps
  other.learning_rate = 0.25
  assert other.learning_rate == 0.25
refused(petscmuon.Error, ["destroyed"], other.step)
refused(petscmuon.Error, ["destroyed"], second.set_gradient, None)

# The package and the library are of one version
assert petscmuon.version().startswith("PetscMuon Release Version %s, commit " % petscmuon.__version__), petscmuon.version()

#/*TEST
#
#  build:
#    requires: numpy mpi4py
#
#  testset:
#    nsize: {{1 3}}
#    unused: -wrong_muon_lr_muon_lr -wrong_moun_type_moun_type -wrong_ef21_compresor_ef21_compresor
#    test:
#      suffix: numpy
#      args: numpy
#    test:
#      suffix: torch
#      requires: torch
#      args: torch
#
#TEST*/
