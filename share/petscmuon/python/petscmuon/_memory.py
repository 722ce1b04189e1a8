"""Where the entries of a tensor are: by the array interface of numpy, else by DLPack. Nothing is imported and nothing copied."""

import collections
import ctypes

from ._library import DOUBLE, FLOAT, library

CPU = (1, 3)  # kDLCPU, kDLCUDAHost
DEVICES = {2: "cuda", 4: "opencl", 7: "vulkan", 8: "metal", 10: "rocm", 13: "cuda managed", 14: "oneapi"}
# The back ends of Kokkos that work in the memory of these
BACK_ENDS = {2: "Cuda", 10: "HIP", 13: "Cuda", 14: "SYCL"}
EXTENSION = 12  # kDLExtDev: a device apart, as is the memory of Kokkos' back ends for the host
KINDS = {DOUBLE: "float64", FLOAT: "float32"}

# An m x n matrix, on a device or on the host; keep is what the memory lives as long as
Memory = collections.namedtuple("Memory", "pointer type device m n rowmajor ld keep")


class _Tensor(ctypes.Structure):
  _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int), ("device_id", ctypes.c_int), ("ndim", ctypes.c_int), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
              ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]


def _by_interface(what, interface, writable):
  text, (pointer, readonly), shape = interface["typestr"], interface["data"], interface["shape"]
  kind = {"=f8": DOUBLE, "=f4": FLOAT}.get(text.replace("<" if _little() else ">", "="))
  if kind is None:
    raise TypeError("%s: entries of type '%s', expected float32 or float64 in the order of bytes of this machine" % (what, text))
  if readonly and writable:
    raise ValueError("%s: memory that is read-only, expected memory that steps may change" % what)
  size = int(text[2:])
  strides = interface.get("strides")
  if strides is not None and any(s % size for s in strides):
    raise ValueError("%s: strides of %s bytes, expected multiples of the %d of an entry" % (what, tuple(strides), size))
  return pointer, kind, False, shape, None if strides is None else [s // size for s in strides], interface


def _little():
  return ctypes.c_uint16.from_buffer_copy(b"\1\0").value == 1


def _check_device(what, kind, number):
  """Memory of a device takes a library whose kernels work there."""
  device = library().device()
  if device is not None and (BACK_ENDS.get(kind) == device.name.decode() or kind == EXTENSION and device.ishost):
    return
  wanted = BACK_ENDS.get(kind)
  raise ValueError("%s: memory of the device %s:%d, and this PetscMuon was built %s, expected memory of the host%s" % (
    what, DEVICES.get(kind, "of DLPack's type %d" % kind), number, "without Kokkos" if device is None else "with a Kokkos for %s" % device.name.decode(),
    "" if wanted is None else ": pass it .cpu(), or build PetscMuon by 'make lib KOKKOS_DIR=...' with a Kokkos for %s" % wanted))


def _asked(what, call):
  try:
    return call()
  except (BufferError, RuntimeError, ValueError) as error:
    raise ValueError("%s: no memory by DLPack: %s" % (what, error)) from error


def _by_dlpack(what, tensor):
  bare = _asked(what, tensor.detach) if hasattr(tensor, "detach") else tensor
  device = [int(number) for number in _asked(what, bare.__dlpack_device__)]
  if device[0] not in CPU:
    _check_device(what, *device)
  capsule = _asked(what, bare.__dlpack__)
  # A bit of torch that DLPack does not know
  if getattr(bare, "is_neg", bool)():
    raise ValueError("%s: a view whose entries are minus those in memory, expected the entries: pass it .resolve_neg()" % what)
  get = ctypes.pythonapi.PyCapsule_GetPointer
  get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
  t = ctypes.cast(get(capsule, b"dltensor"), ctypes.POINTER(_Tensor)).contents
  kind = {(2, 64, 1): DOUBLE, (2, 32, 1): FLOAT}.get((t.code, t.bits, t.lanes))
  if kind is None:
    raise TypeError("%s: entries of type %s, expected float32 or float64" % (what, getattr(tensor, "dtype", "%d of %d bits" % (t.code, t.bits))))
  shape = [t.shape[k] for k in range(t.ndim)]
  # The capsule keeps the memory, and is freed with it
  return (t.data or 0) + t.offset, kind, device[0] not in CPU, shape, [t.strides[k] for k in range(t.ndim)] if t.strides else None, capsule


def _matrix(what, shape, strides):
  """m, n, whether rows lie side by side, and the distance of two of them, or of two columns."""
  m = shape[0] if shape else 1
  n = 1
  for size in shape[1:]:
    n *= size
  if strides is None:
    return m, n, len(shape) > 1, max(n if len(shape) > 1 else m, 1)
  if not shape or m * n == 0:
    return m, n, True, max(n, 1)
  # More dimensions than two are one matrix where all but the first lie side by side
  packed, expected = True, 1
  for size, stride in reversed(list(zip(shape[1:], strides[1:]))):
    packed = packed and (size == 1 or stride == expected)
    expected *= size
  if packed and len(shape) > 1 and (m == 1 or strides[0] >= n):
    return m, n, True, n if m == 1 else strides[0]
  if len(shape) <= 2 and (m == 1 or strides[0] == 1) and (n == 1 or strides[1] >= m):
    return m, n, False, m if n == 1 else strides[1]
  if len(shape) == 1 and strides[0] > 1:
    return m, n, True, strides[0]
  raise ValueError("%s: shape %s with strides %s, expected rows or columns whose entries lie side by side: pass it .contiguous(), or a copy" % (what, tuple(shape), tuple(strides)))


def memory_of(what, tensor, writable):
  """The Memory of a tensor; what names it in errors."""
  if hasattr(tensor, "__array_interface__"):
    pointer, kind, device, shape, strides, keep = _by_interface(what, tensor.__array_interface__, writable)
  elif hasattr(tensor, "__dlpack__"):
    pointer, kind, device, shape, strides, keep = _by_dlpack(what, tensor)
  else:
    raise TypeError("%s: %s has neither DLPack nor an array interface, expected a tensor or an array" % (what, type(tensor).__name__))
  return Memory(pointer, kind, device, *_matrix(what, list(shape), strides), keep=(tensor, keep))


def address_of(tensor, memory):
  """Where the entries are now, by the cheapest way."""
  if hasattr(tensor, "data_ptr"):
    return tensor.data_ptr()
  if hasattr(tensor, "__array_interface__"):
    return tensor.__array_interface__["data"][0]
  return memory.pointer
