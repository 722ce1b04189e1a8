"""Optimizers and their layers."""

import collections
import ctypes
import math
import numbers
import os
import re
import sys
import time
import warnings

from . import _library
from ._library import INT, NOT_CONVERGED, Diverged, Error, communicator, init, library
from ._memory import KINDS, address_of, memory_of

# Structs of C may have grown since this was written
MORE = 256
# What the keys of viewers end in: PETSc has no value that switches one off
SHOW = ("_monitor", "_view", "_view_cost", "_converged_reason")
# The methods that begin when rank 0 has heard of all ranks, each by a tag of its own
MEET = ("step()", "save()", "load()", "state_dict()", "load_state_dict()")

Bits = collections.namedtuple("Bits", "paper encoded entropy")
# What a rank sent and received: bits in this step and in all, bytes handed to MPI in this step, and what the entries of one direction are in 32 bits each
Traffic = collections.namedtuple("Traffic", "up down total_up total_down mpi dense own")


def _array_type(c):
  """MuonLayerArray of C."""
  class LayerArray(ctypes.Structure):
    _fields_ = [("comm", c.Comm), ("type", ctypes.c_int), ("memtype", ctypes.c_int), ("rowmajor", ctypes.c_int), ("M", c.Int), ("N", c.Int), ("first", c.Int), ("rows", c.Int), ("ld", c.Int), ("w", ctypes.c_void_p),
                ("g", ctypes.c_void_p), ("kind", ctypes.c_int), ("more", ctypes.c_char * MORE)]
  return LayerArray


class Layer:
  """A parameter of an optimizer. It keeps the tensor alive, and the gradient until the next one."""

  def __init__(self, muon, name, tensor, handle, memory):
    self.name, self.tensor = name, tensor
    self._muon, self._handle, self._memory, self._gradient = muon, handle, memory, None
    self._provided = False  # in this step: a gradient, or None for none

  def __repr__(self):
    return "petscmuon.Layer('%s', %d x %d, %s)" % (self.name, self._memory.m, self._memory.n, KINDS[self._memory.type])

  def set_gradient(self, gradient):
    """The gradient of this rank for the coming step, of the shape, type and strides of the weights; None for none. It is read where it is, in the step."""
    self._muon._alive("Layer.set_gradient()")
    if gradient is None:
      library().call("MuonLayerSetGradientArray", self._handle, None)
      self._gradient, self._provided = None, True
      return
    what = 'layer "%s": gradient' % self.name
    g, w = memory_of(what, gradient, False), self._memory
    if (g.m, g.n) != (w.m, w.n):
      raise ValueError("%s: %d x %d entries, expected %d x %d" % (what, g.m, g.n, w.m, w.n))
    if g.device != w.device:
      raise ValueError("%s: in the memory of %s, expected that of the weights" % (what, "a device" if g.device else "the host"))
    if g.type != w.type:
      raise TypeError("%s: entries of type %s, expected %s as the weights have" % (what, KINDS[g.type], KINDS[w.type]))
    if g.m > 1 and g.n > 1 and g.rowmajor != w.rowmajor or g.ld != w.ld and g.m * g.n > 0 and (g.m if g.rowmajor else g.n) > 1:
      raise ValueError("%s: %s with %d entries from one to the next, expected %s with %d as the weights have" % (what, _lines(g), g.ld, _lines(w), w.ld))
    library().call("MuonLayerSetGradientArray", self._handle, ctypes.c_void_p(g.pointer))
    self._gradient, self._provided = g, True

  @property
  def type(self):
    type = ctypes.c_char_p()
    library().call("MuonLayerGetType", self._handle, ctypes.byref(type))
    return type.value.decode()

  def _check(self):
    if address_of(self.tensor, self._memory) != self._memory.pointer:
      raise ValueError('layer "%s": the memory of the tensor is another than when the layer was added: tensors of layers are changed in place, and not replaced by .to(), .data = or resize' % self.name)
    if self._gradient is not None and address_of(self._gradient.keep[0], self._gradient) != self._gradient.pointer:
      raise ValueError('layer "%s": the memory of the gradient is another than when it was set' % self.name)
    if not self._provided and self.type != "frozen":
      raise Error('layer "%s" got no gradient in this step: call set_gradient() before each step, or in its routine; set_gradient(None) says that there is none' % self.name)


def _lines(memory):
  return "rows" if memory.rowmajor else "columns"


class Muon:
  """An optimizer on the ranks of a communicator: None for all, or one of mpi4py or petsc4py. Collective, as are all methods but those that only tell something.

  options is a string as on a command line, or a dictionary: {"muon_type": "ef21", "ef21_compressor_ratio": 0.1, "muon_monitor": True}. True is a key alone, False switches off; a key that nothing reads is an error, with the
  nearest that exists. They are this optimizer's alone, and win over those of the command line, which it reads too; a prefix stands before its keys there. on_nan is 'raise', or 'warn' for a warning once in place of Diverged after a NaN.
  An optimizer ends with destroy(), or with its with block, or with the program; never by itself, because that takes all ranks at one time.
  """

  def __init__(self, comm=None, options=None, prefix=None, on_nan="raise"):
    init()
    c = library()
    self._handle, self._layers, self._ready, self._running, self._rate = ctypes.c_void_p(), [], False, False, None
    self._comm, self._closure, self._failed = communicator(comm), None, None
    self._keep, self._read, self._on_nan, self._warned = comm, -1, on_nan, False
    self._prefix, self._options, self._asked = prefix or "", ctypes.c_void_p(), []
    self._replaces, self._ended = (), ""  # optimizers whose tensors layers may have; what later errors say
    error = None
    try:
      _bytes("prefix", self._prefix)
      if on_nan not in ("raise", "warn"):
        raise ValueError("on_nan is %r, expected 'raise' or 'warn'" % (on_nan,))
      if options is not None:
        self._asked = _database(c, options, self._prefix, self._options)
    except Exception as raised:
      error = raised
    ranks = [ctypes.c_int(), ctypes.c_int()]
    c.call("MPI_Comm_rank", self._comm, ctypes.byref(ranks[0]))
    c.call("MPI_Comm_size", self._comm, ctypes.byref(ranks[1]))
    self._rank, self._size = ranks[0].value, ranks[1].value
    self._agree("Muon()", error)
    c.call("MuonCreate", self._comm, ctypes.byref(self._handle))
    _library._open.append(self)
    self._own, self._tags = c.Comm(), {}
    c.call("PetscObjectGetComm", self._handle, ctypes.byref(self._own))
    for what in MEET:
      tag = ctypes.c_int()
      c.call("PetscObjectGetNewTag", self._handle, ctypes.byref(tag))
      self._tags[what] = tag.value
    if self._options:
      c.call("PetscObjectSetOptions", self._handle, self._options)
    if prefix is not None:
      c.call("MuonSetOptionsPrefix", self._handle, prefix.encode())
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(c.Real), ctypes.c_void_p)
    self._objective = function(self._compute)
    c.call("MuonSetObjectiveAndGradient", self._handle, self._objective, None)

  def __enter__(self):
    return self

  def __exit__(self, kind, value, trace):
    # After an exception other ranks may be elsewhere
    if kind is None:
      self.destroy()

  def destroy(self, why=""):
    """Ends the optimizer. The tensors stay as they are. Later errors say why."""
    if self._handle:
      self._ended = why
      self._idle("Muon.destroy()")
      library().call("MuonDestroy", ctypes.byref(self._handle))
      _library._open.remove(self)
      if self._options:
        library().call("PetscOptionsDestroy", ctypes.byref(self._options))
    self._layers = []

  def _alive(self, what):
    if not self._handle:
      raise Error("%s: the optimizer was destroyed%s" % (what, self._ended))

  def _idle(self, what):
    self._alive(what)
    if self._running:
      raise Error("%s was called in the routine of a step, expected after it" % what)

  @staticmethod
  def _array():
    array = _array_type(library())()
    library().call("MuonLayerArrayInitialize", ctypes.byref(array))
    return array

  def add_layer(self, name, tensor, type=None, kind=0):
    """Adds a tensor or an array of float32 or float64, which steps then change in place; in the memory of a GPU where the library was built with it. More dimensions than two are a matrix of the first against the others. type is one of C's, 'adamw' for
    instance; -muon_layer_types gives types by names."""
    self._idle("Muon.add_layer()")
    what, text = 'layer "%s"' % name, _bytes("the name of a layer", name)
    if getattr(tensor, "requires_grad", None) is False and type != "frozen":
      raise ValueError("%s: requires_grad is False, so that nothing computes a gradient: give it the type 'frozen', or pass tensor.numpy() where the program computes gradients itself" % what)
    if getattr(tensor, "requires_grad", False) and not getattr(tensor, "is_leaf", True):
      raise ValueError("%s: is_leaf is False: a result of other tensors is gone after the step, expected a parameter" % what)
    memory = memory_of(what, tensor, True)
    for other in (layer for muon in _library._open if muon not in self._replaces for layer in muon._layers):
      if other._memory.pointer == memory.pointer and memory.m * memory.n > 0 and other._memory.m * other._memory.n > 0:
        raise ValueError('%s: its memory is that of layer "%s"%s, expected a tensor of its own' % (what, other.name, "" if other._muon is self else " of another optimizer, which destroy() ends"))
    c, array, handle = library(), self._array(), ctypes.c_void_p()
    array.type, array.rowmajor, array.M, array.N, array.ld, array.w = memory.type, int(memory.rowmajor), memory.m, memory.n, memory.ld, memory.pointer
    array.memtype, array.kind = int(memory.device), kind
    c.call("MuonAddLayerArray", self._handle, text, ctypes.byref(array), ctypes.byref(handle))
    layer = Layer(self, name, tensor, handle, memory)
    self._layers.append(layer)
    if type is not None:
      c.call("MuonLayerSetType", handle, _bytes("type", type))
    return layer

  @property
  def layers(self):
    return tuple(self._layers)

  @property
  def rank(self):
    return self._rank

  @property
  def size(self):
    """The number of ranks."""
    return self._size

  def setup(self):
    """Reads the options and fixes the layers; the first step does it."""
    self._idle("Muon.setup()")
    if not self._ready:
      self._read_options()
      # The error then says which layer on which rank
      library().call("MuonSetParameter", self._handle, b"muon_error_if_not_converged", b"true")
      library().call("MuonSetUp", self._handle)
      self._check_asked()
      self._ready = True

  def _read_options(self):
    """Once for the layers that there are: each time adds monitors."""
    if self._read < len(self._layers):
      library().call("MuonSetFromOptions", self._handle)
      self._read = len(self._layers)
      if self._rate is not None:
        library().call("MuonSetLearningRate", self._handle, library().Real(self._rate))

  def _check_asked(self):
    """A key of a dictionary that no rank has read is misspelt, or belongs to what this optimizer does not have."""
    c, used, text, unread = library(), ctypes.c_int(), ctypes.create_string_buffer(512), []
    for key in self._asked:
      c.call("PetscOptionsUsed", self._options, (self._prefix + key).encode(), ctypes.byref(used))
      # The solvers of SLEPc read theirs when they are first used
      if not used.value and "svd_" not in key:
        c.call("MuonGetNearestOption_Private", self._handle, key.encode(), None, ctypes.c_size_t(len(text)), text)
        nearest = text.value.decode()
        unread.append("nothing reads '%s', expected %s" % (key, "an option of what this optimizer has" if nearest == key.lower() else "'%s', the nearest that exists" % nearest))
    # Keys of the command line that were read in this optimizer's own database
    for name in _left(c, None):
      c.call("PetscOptionsUsed", self._options, name, ctypes.byref(used))
      if self._options and used.value:
        c.call("PetscOptionsHasName", None, None, b"-" + name, ctypes.byref(used))
    if all(self._min_max(len(unread))):
      raise Error("options: %s; those of PETSc itself go to petscmuon.init()" % ", ".join(unread))

  def _meet(self, what):
    """All ranks call what. Rank 0 waits for an empty message of each; it names once those that are missing, and waits on."""
    self._alive(what)
    c, tag, kind, status, found = library(), self._tags[what], library().Comm(), (ctypes.c_long * 64)(), ctypes.c_int()
    c.call("PetscDataTypeToMPIDataType", INT, ctypes.byref(kind))
    if self._rank > 0:
      c.call("MPI_Send", None, 0, kind, 0, tag, self._own)
    missing, start, patience = list(range(1, self._size)) if self._rank == 0 else [], time.monotonic(), float(os.environ.get("PETSCMUON_PATIENCE", 30))
    while missing:
      for rank in missing[:]:
        c.call("MPI_Iprobe", rank, tag, self._own, ctypes.byref(found), status)
        if found.value:
          c.call("MPI_Recv", None, 0, kind, rank, tag, self._own, status)
          missing.remove(rank)
      waited = time.monotonic() - start
      if missing and waited >= patience:
        patience = math.inf
        print("petscmuon: rank 0 waits in %s for rank %s: call %s on all ranks, not on some" % (what, ", ".join(str(rank) for rank in missing), what), file=sys.stderr, flush=True)
      if missing:
        time.sleep(min(waited / 16, 0.01))

  def _agree(self, what, error):
    """An exception on one rank, or None, is one on all."""
    first = self._min_max(self._size if error is None else self._rank)[0]
    if error is not None:
      raise error
    if first < self._size:
      raise Error("%s: rank %d raised an exception" % (what, first))

  def _min_max(self, number):
    """The least and the greatest over the ranks."""
    c = library()
    mine, of_all = (c.Int * 2)(number, number), (c.Int * 2)()
    c.call("PetscGlobalMinMaxInt", self._comm, mine, of_all)
    return list(of_all)

  def _compute(self, muon, loss, ctx):
    """What C calls for loss and gradients. An exception must not leave the step, which other ranks are in: a loss that is no number ends it everywhere."""
    try:
      loss[0] = 0
      if self._failed is not None:
        loss[0] = math.nan
      else:
        if callable(self._closure):
          loss[0] = float(self._closure())
        elif self._closure is not None:
          loss[0] = float(self._closure)
        for layer in self._layers:
          layer._check()
    except BaseException as error:
      self._failed = error
      loss[0] = math.nan
    return 0

  def _run(self, function):
    c, nans, torch, diverged = library(), self._count("MuonGetNaNCount", ctypes.c_int64), sys.modules.get("torch"), None
    if any(getattr(layer.tensor, "is_cuda", False) for layer in self._layers):
      c.call("MuonSetDeviceStream", self._handle, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
    self._failed, self._running = None, True
    try:
      c.call(function, self._handle)
    except Error as error:
      if error.code != NOT_CONVERGED or not self.reason.startswith("DIVERGED"):
        raise error if self._failed is None else self._failed
      diverged = error
    finally:
      self._closure, self._running = None, False
      for layer in self._layers:
        layer._provided = False
    more = self._count("MuonGetNaNCount", ctypes.c_int64)
    # All ranks know of a step that was not taken; which one raised an exception they tell each other then alone
    if diverged is not None or more != nans:
      anywhere = self._min_max(int(self._failed is not None))[1]
      failed, self._failed = self._failed, None
      if failed is not None:
        raise failed
      if anywhere:
        raise Error("step %d was not taken: another rank raised an exception" % self.step_number)
    if diverged is not None:
      if self._on_nan == "raise" or self.reason != "DIVERGED_NANORINF":
        raise Diverged("%s; on_nan='warn' goes on after a NaN" % diverged, diverged.code)
      if not self._warned and self._rank == 0:
        warnings.warn("%s; this is said once" % diverged, RuntimeWarning, stacklevel=3)
      self._warned = True
    bump = getattr(getattr(getattr(torch, "autograd", None), "graph", None), "increment_version", None)
    if bump is not None:
      # torch then finds uses of weights that a graph had saved before the step
      for layer in self._layers:
        if isinstance(layer.tensor, torch.Tensor):
          bump(layer.tensor)

  def step(self, loss=None):
    """Takes a step with the gradients that were set. loss is that of this rank, for monitors, or a routine that sets the gradients and returns it. A step that cannot be taken raises Diverged; with on_nan='warn' a NaN makes it return False.

    An exception in the routine ends the step on all ranks with everything as it was before it: it is raised on its own rank, an Error on the others."""
    self._meet("step()")
    self.setup()
    self._closure = loss
    self._run("MuonStep")
    return not self.reason.startswith("DIVERGED")

  def solve(self, loss):
    """Takes steps until -muon_max_steps are taken or one diverges, with a routine as of step()."""
    self.setup()
    steps = self._count("MuonGetMaxSteps", library().Int)
    while self.step_number < steps - 1:
      if not self.step(loss):
        return
    # The end of a run is C's: the last checkpoint, -muon_converged_reason and -muon_view
    self._closure = loss
    self._run("MuonSolve")

  def weights_changed(self):
    """Says that the program changed weights since the last step, the same on all ranks."""
    self._alive("Muon.weights_changed()")
    library().call("MuonWeightsChanged", self._handle)

  def save(self, folder, keep=1):
    """Writes a checkpoint into a folder, and keeps so many of them."""
    self._meet("save()")
    self._checkpoint("MuonSaveCheckpoint", folder, library().Int(keep))

  def _checkpoint(self, function, folder, *arguments):
    self.setup()
    library().call(function, self._handle, str(folder).encode(), *arguments)

  def load(self, folder):
    """Brings weights and state to where a checkpoint was written."""
    self._meet("load()")
    self._checkpoint("MuonLoadCheckpoint", folder)

  def view(self):
    """Prints the optimizer on standard output."""
    self._idle("Muon.view()")
    library().call("MuonView", self._handle, None)

  def _count(self, function, kind):
    self._alive(function + "()")
    value = kind()
    library().call(function, self._handle, ctypes.byref(value))
    return value.value

  @property
  def step_number(self):
    return self._count("MuonGetStepNumber", library().Int)

  @property
  def loss(self):
    """Mean over the ranks of the loss at the weights before the last step."""
    return self._count("MuonGetLoss", library().Real)

  @property
  def reason(self):
    """Why it stopped: a name of MuonConvergedReason without MUON_, as -muon_converged_reason prints it."""
    return ctypes.POINTER(ctypes.c_char_p).in_dll(library().c, "MuonConvergedReasons")[self._count("MuonGetConvergedReason", ctypes.c_int)].decode()

  @property
  def learning_rate(self):
    if not self._ready:
      self._read_options()
    return self._count("MuonGetLearningRate", library().Real)

  @learning_rate.setter
  def learning_rate(self, rate):
    self._alive("Muon.learning_rate")
    library().call("MuonSetLearningRate", self._handle, library().Real(rate))
    self._rate = float(rate)

  @property
  def traffic(self):
    self._alive("Muon.traffic")
    numbers = (ctypes.c_double * (14 + MORE))()
    library().call("MuonGetTraffic", self._handle, ctypes.byref(numbers))
    return Traffic(*(Bits(*numbers[k:k + 3]) for k in (0, 3, 6, 9)), mpi=numbers[12], dense=numbers[13], own=numbers[14])


def _bytes(what, text):
  """A string for C, where a NUL would end it."""
  if "\0" in text:
    raise ValueError("%s is %r, expected a string without NUL" % (what, text))
  return text.encode()


def _left(c, options):
  """The names in a database that nobody has read."""
  count, names, values = c.Int(), ctypes.POINTER(ctypes.c_char_p)(), ctypes.POINTER(ctypes.c_char_p)()
  c.call("PetscOptionsLeftGet", options, ctypes.byref(count), ctypes.byref(names), ctypes.byref(values))
  found = [names[k] for k in range(count.value)]
  c.call("PetscOptionsLeftRestore", options, ctypes.byref(count), ctypes.byref(names), ctypes.byref(values))
  return found


def _database(c, options, prefix, own):
  """Makes a database of what the program's has and of these options; returns the keys of a dictionary that are set there."""
  everything = ctypes.c_void_p()
  c.call("PetscOptionsCreate", ctypes.byref(own))
  c.call("PetscOptionsGetAll", None, ctypes.byref(everything))
  for word in re.split(r"(?:^|\s)-(?=[a-zA-Z])", ctypes.string_at(everything).decode()):
    if word.strip():
      key, _, value = word.strip().partition(" ")
      c.call("PetscOptionsSetValue", own, b"-" + key.encode(), value.encode() if value else None)
  ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p).in_dll(c.c, "PetscTrFree")(everything, 0, b"", b"")
  if isinstance(options, str):
    if prefix:
      c.call("PetscOptionsPrefixPush", own, prefix.encode())
    c.call("PetscOptionsInsertString", own, _bytes("options", options))
    if prefix:
      c.call("PetscOptionsPrefixPop", own)
    return []
  keys = []
  for key, value in options.items():
    if not isinstance(key, str):
      raise TypeError("options: the key %r, expected a string" % (key,))
    bare = key.lstrip("-")
    name = b"-" + prefix.encode() + _bytes("options: a key", bare)
    if value is False and bare.endswith(SHOW):
      c.call("PetscOptionsClearValue", own, name)
    else:
      c.call("PetscOptionsSetValue", own, name, None if value is None or value is True else _text(key, value))
      keys.append(bare)
  return keys


def _text(key, value):
  if isinstance(value, bool):
    return b"true" if value else b"false"
  if isinstance(value, (list, tuple)):
    return b",".join(_text(key, one) for one in value)
  if isinstance(value, (str, numbers.Real)):
    return _bytes("options: %s" % key, str(value))
  raise TypeError("options: %s has the value %r, expected a string, a number, a boolean, None or a list of them" % (key, value))
