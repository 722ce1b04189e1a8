"""The library: where it is, what its numbers are made of, and how its errors are raised."""

import atexit
import ctypes
import ctypes.util
import glob
import os
import re
import subprocess
import sys

# That of the library that it loads
VERSION = "0.2.0"
# Of PETSc's enumeration PetscDataType
DOUBLE, COMPLEX, FLOAT, INT = 1, 2, 5, 16
NOT_CONVERGED = 91  # an error code


class Error(RuntimeError):
  """An error of PetscMuon or PETSc; code is PETSc's."""

  def __init__(self, message, code=0):
    super().__init__(message)
    self.code = code


class Diverged(Error):
  """A step was not taken, on any rank: a NaN, weights that differ, or what else MuonConvergedReason has. All is as it was before it."""


def _named(folder):
  patterns = ("libpetscmuon.so*", "libpetscmuon_complex.so*", "libpetscmuon*.dylib")
  found = sorted(name for pattern in patterns for name in glob.glob(os.path.join(folder, pattern)))
  return found[0] if found else None


def _find():
  """The file of the library."""
  prefix = os.environ.get("PETSCMUON_DIR")
  if prefix:
    found = _named(os.path.join(prefix, "lib"))
    if found is None:
      raise Error("PETSCMUON_DIR=%s: there is no libpetscmuon in its folder lib, expected the prefix of an installation" % prefix)
    return found
  here = os.path.dirname(os.path.abspath(__file__))
  found = _named(os.path.join(here, *[os.pardir] * 4, "lib"))
  # pkg-config itself says nothing where it does not know the PETSc that this one requires
  for folder in os.environ.get("PKG_CONFIG_PATH", "").split(os.pathsep):
    if found is None and os.path.exists(os.path.join(folder, "petscmuon.pc")):
      found = _named(os.path.dirname(os.path.abspath(folder)))
  if found is None:
    try:
      folder = subprocess.run([os.environ.get("PKG_CONFIG", "pkg-config"), "--variable=libdir", "petscmuon"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True).stdout.strip()
      found = _named(folder) if folder else None
    except OSError:
      pass
  if found is None and os.environ.get("PETSC_DIR"):
    # Where PETSc's own configure installs it
    found = _named(os.path.join(os.environ["PETSC_DIR"], os.environ.get("PETSC_ARCH", ""), "lib"))
  found = found or ctypes.util.find_library("petscmuon")
  if found is None:
    raise Error("libpetscmuon was not found: build it in its sources by 'make install PREFIX=$HOME/petscmuon', then set PETSCMUON_DIR=$HOME/petscmuon, or PKG_CONFIG_PATH to the folder of its petscmuon.pc")
  return found


def _loaded(pattern):
  """The shared libraries of this process whose names match; none where the system does not tell."""
  try:
    with open("/proc/self/maps") as f:
      names = {line.split(None, 5)[5].strip() for line in f if line.count("/")}
  except OSError:
    return []
  return sorted({os.path.realpath(name) for name in names if re.fullmatch(pattern, os.path.basename(name))})


def _check_one(pattern, what):
  found = _loaded(pattern)
  if len(found) > 1:
    raise Error("two libraries of %s are in this process, %s: what is imported and PetscMuon must be built with one" % (what, " and ".join(found)))


def _check_petsc4py():
  petsc = sys.modules.get("petsc4py.PETSc")
  if petsc is not None and isinstance(petsc.ScalarType(0), complex):
    raise Error("petsc4py has loaded a PETSc with complex scalars, expected one with real scalars: choose another PETSC_ARCH before petsc4py is imported")


class Library:
  """libpetscmuon, loaded at its first use. It brings the libpetsc that it was linked with, which is the one that petsc4py has loaded, where it has."""

  def __init__(self):
    _check_petsc4py()
    name = _find()
    try:
      self.c = ctypes.CDLL(name)
    except OSError as error:
      raise Error("%s cannot be loaded: %s" % (name, error))
    _check_one(r"libpetsc(_\w+)?\.so[.\d]*", "PETSc")
    _check_one(r"libmpi\.so[.\d]*", "MPI")
    kind, found, size = ctypes.c_int(), ctypes.c_int(0), ctypes.c_size_t()
    numbers = [ctypes.c_int64(0) for _ in range(2)]  # each is a PetscInt of 32 or 64 bits
    self.c.PetscMuonGetVersionNumber(*map(ctypes.byref, numbers), None, None)
    if "%d.%d" % tuple(number.value & 0xffffffff for number in numbers) != VERSION.rpartition(".")[0]:
      raise Error("%s has the version %d.%d, and the Python package petscmuon is %s: install the package of the library's sources" % ((name,) + tuple(number.value & 0xffffffff for number in numbers) + (VERSION,)))
    self.c.PetscDataTypeFromString(b"scalar", ctypes.byref(kind), ctypes.byref(found))
    if kind.value == COMPLEX:
      raise Error("%s was linked with a PETSc with complex scalars, expected one with real scalars" % name)
    self.real_type = kind.value
    self.Real = ctypes.c_float if kind.value == FLOAT else ctypes.c_double
    self.c.PetscDataTypeGetSize(INT, ctypes.byref(size))
    self.Int = ctypes.c_int64 if size.value == 8 else ctypes.c_int32
    # A handle of Open MPI is a pointer, one of MPICH and its kin a number
    self.Comm = ctypes.c_void_p if hasattr(self.c, "ompi_mpi_comm_world") else ctypes.c_int
    handler = ctypes.CFUNCTYPE(ctypes.c_int, self.Comm, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
    self.said = []
    self.handler = handler(self.hear)

  def device(self):
    """The name of the back end for devices that the library was built with, and whether its memory is the host's; None where there is none."""
    class Head(ctypes.Structure):
      _fields_ = [("name", ctypes.c_char_p), ("ishost", ctypes.c_int)]
    self.c.MuonDeviceGet.restype = ctypes.POINTER(Head)
    found = self.c.MuonDeviceGet()
    return found.contents if found else None

  def hear(self, comm, line, function, file, code, kind, message, ctx):
    """PETSc's handler of errors while a call of ours lasts: an error is raised, not printed. Its first word is what went wrong, later ones are the way to it."""
    if message:
      self.said.append(message.decode(errors="replace"))
    return code

  def call(self, function, *arguments):
    """Calls a function of C that returns an error code."""
    del self.said[:]
    self.c.PetscPushErrorHandler(self.handler, None)
    try:
      code = getattr(self.c, function)(*arguments)
    finally:
      self.c.PetscPopErrorHandler()
    if code != 0:
      raise Error("%s(): %s" % (function, self.said[0].strip() if self.said else "error code %d" % code), code)


def version():
  """The version of the library, the commit of its sources, and what it was built with, as a text."""
  text = ctypes.create_string_buffer(256)
  library().call("PetscMuonGetVersion", text, ctypes.c_size_t(len(text)))
  return text.value.decode()


def quiet(is_quiet=True):
  """Switches off warnings and notices that the library prints without being asked, and on again."""
  library().call("PetscMuonSetQuiet", ctypes.c_int(bool(is_quiet)))


_library = None
_open = []


def library():
  """The library, loaded."""
  global _library
  if _library is None:
    _library = Library()
  return _library


def _end():
  """At the end of the program, before MPI's: objects in the order in which all ranks made them. A rank that ends by an exception ends all: the others may wait for it in a step."""
  if hasattr(sys, "last_type") and ctypes.c_int.in_dll(_library.c, "PetscGlobalSize").value > 1:
    sys.stderr.flush()
    _library.c.MPI_Abort(communicator(None), 1)
  for muon in list(_open):
    muon.destroy()
  _library.c.PetscMuonFinalize()


_started = False


def init(arguments=None):
  """Starts PETSc and PetscMuon, where they are not, with a list of arguments as of a command line, sys.argv for instance. Collective; the first Muon() does it without arguments."""
  global _started
  c = library()
  if _started:
    if arguments:
      raise Error("petscmuon.init(): PetscMuon has started already, so that its arguments cannot be taken: call it before the first Muon()")
    return
  words = [str(word).encode() for word in (arguments or ["python"])]
  # PETSc keeps the addresses
  c.argc, c.argv = ctypes.c_int(len(words)), (ctypes.c_char_p * (len(words) + 1))(*words)
  c.args = ctypes.cast(c.argv, ctypes.POINTER(ctypes.c_char_p))
  # Without our handler: what is pushed before PETSc starts is not of the memory that it frees afterwards
  code = c.c.PetscMuonInitialize(ctypes.byref(c.argc), ctypes.byref(c.args), None, None)
  if code != 0:
    raise Error("PetscMuonInitialize(): error code %d" % code, code)
  _started = True
  atexit.register(_end)


def communicator(comm):
  """The handle in C of a communicator: None for all ranks, or one of mpi4py or petsc4py."""
  c = library()
  if comm is None:
    return c.Comm.in_dll(c.c, "PETSC_COMM_WORLD")
  if hasattr(comm, "tompi4py"):
    comm = comm.tompi4py()
  mpi = sys.modules.get("mpi4py.MPI")
  if mpi is None or not isinstance(comm, mpi.Comm):
    raise TypeError("Muon(): comm is %r, expected None or a communicator of mpi4py or petsc4py" % (comm,))
  if comm == mpi.COMM_NULL:
    raise ValueError("Muon(): comm is MPI.COMM_NULL, expected a communicator that this rank is in")
  _check_one(r"libmpi\.so[.\d]*", "MPI")
  if mpi._sizeof(mpi.Comm) != ctypes.sizeof(c.Comm):
    raise Error("mpi4py and PetscMuon were built with different MPIs")
  # The handle and not where it is: what petsc4py makes of its own is gone when this returns
  return c.Comm(c.Comm.from_address(mpi._addressof(comm)).value)
