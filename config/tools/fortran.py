#!/usr/bin/env python3
"""Writes the Fortran module petscmuon, an iso_c_binding of the public headers, to standard output.

config/tools/fortran.py --indices 32 --precision double --bool enum

Every public function gets a subroutine, but those whose man page says No Fortran Support. A function that cannot be bound and does not say so is an error, and so is the opposite; make checkstyle looks at both.
"""

import argparse
import collections
import glob
import os
import re
import sys

import checkstyle
from checkstyle import ROOT, split_arguments

PETSC_CLASSES = ("Mat", "Vec", "PetscViewer", "PetscObject", "Tao")
SCALARS = {
  "PetscInt": "integer(muon_int)", "PetscInt64": "integer(c_int64_t)", "PetscMPIInt": "integer(c_int)", "PetscReal": "real(muon_real)", "PetscScalar": "real(muon_real)",
  "PetscLogDouble": "real(c_double)", "size_t": "integer(c_size_t)", "int": "integer(c_int)"
}
# What src/fortran takes in another form, or other functions than C's
CONVERTED = ("MPI_Comm", "MuonLayerArray")
SUFFIX = "Fortran"
# Written below by hand
BY_HAND = ("PetscMuonInitialize", "PetscMuonInitializeVersion")
COLUMNS = 120

HEAD = """\
! PetscMuon in Fortran. Written by config/tools/fortran.py from the headers of this installation; compile it with the compiler of your program.
!
! Every subroutine is the C function of its name, whose man page says what it does, with the error code as its last argument:
!
! - Objects of PetscMuon are type(tMuon), type(tMuonLayer), ...; objects of PETSc are passed by their %v, as in call MuonAddLayer(muon, 'w', W%v, layer, ierr).
!   In either the value -2 is NULL, which is an error where the man page asks for an object. So is the copy of a handle of PetscMuon whose object was destroyed.
! - Communicators are those of mpif.h and of the module mpi; of mpi_f08 their %MPI_VAL.
! - Arrays of the program's own are passed by c_loc(): MuonAddLayerArray() and MuonLayerSetGradientArray() keep the address, so the array is a target that outlives the layer.
! - An array that may be NULL is optional; what follows it is then named, as in ierr=ierr.
! - Trailing blanks of a string do not count; a blank string is NULL where the man page allows it.
! - Routines of the program that PetscMuon calls are bind(c), with the interfaces below; ierr /= 0 ends the call that called them with this code.
! - What ends a call with ierr /= 0 was printed by the error handler of PETSc.
module petscmuon
  use, intrinsic :: iso_c_binding
  implicit none
  private

"""

TYPES = """\
  integer, parameter, public :: muon_address = c_intptr_t
  integer(muon_address), parameter, public :: MUON_NULL = -2
  integer(muon_int), parameter, public :: MUON_DECIDE = -1
  integer(muon_int), parameter, public :: MUON_CURRENT = -2 ! leaves a value
  real(muon_real), parameter, public :: MUON_CURRENT_REAL = -2
  ! Types of the entries of a MuonLayerArray: PETSC_DOUBLE and PETSC_FLOAT
  integer(c_int), parameter, public :: MUON_DOUBLE = 1, MUON_FLOAT = 5

  ! Weights in memory of the program. comm, type and rowmajor (0 or 1) are MPI_COMM_SELF, that of PetscReal and 0 after MuonLayerArrayInitialize()
  type, bind(c), public :: MuonLayerArray
    integer(c_int) :: comm, type, memtype, rowmajor
    integer(muon_int) :: M, N, first, rows, ld
    type(c_ptr) :: w, g
  end type
"""

HELPERS = """\
  function muon_ptr(v) result(p)
    integer(muon_address), intent(in) :: v
    type(c_ptr) :: p
    p = c_null_ptr
    ! 0, -1 and -3 are further ways in which releases of PETSc write NULL
    if (v < -3 .or. v > 0) p = transfer(v, p)
  end function

  function muon_v(p) result(v)
    type(c_ptr), intent(in) :: p
    integer(muon_address) :: v
    v = MUON_NULL
    if (c_associated(p)) v = transfer(p, v)
  end function

  function muon_chars(text) result(chars)
    character(len=*), intent(in) :: text
    character(kind=c_char) :: chars(len(text) + 1)
    integer :: i
    chars = c_null_char
    do i = 1, len_trim(text)
      chars(i) = text(i:i)
    end do
  end function

  function muon_optional(text, chars) result(p)
    character(len=*), intent(in) :: text
    character(kind=c_char), target, intent(in) :: chars(:)
    type(c_ptr) :: p
    p = c_null_ptr
    if (len_trim(text) > 0) p = c_loc(chars(1))
  end function

  subroutine muon_take(p, text)
    type(c_ptr), intent(in) :: p
    character(len=*), intent(out) :: text
    character(kind=c_char), pointer :: chars(:)
    integer :: i
    text = ' '
    if (.not. c_associated(p)) return
    call c_f_pointer(p, chars, [len(text)])
    do i = 1, len(text)
      if (chars(i) == c_null_char) return
      text(i:i) = chars(i)
    end do
  end subroutine

  ! The arguments of the command line are options; PETSc keeps their addresses
  subroutine PetscMuonInitialize(file, help, ierr)
    character(len=*), intent(in) :: file, help
    integer(c_int), intent(out) :: ierr
    character(kind=c_char), target :: f(len(file) + 1), h(len(help) + 1)
    integer :: count, length, longest, i
    character(len=:), allocatable :: argument
    count = command_argument_count()
    longest = 0
    do i = 0, count
      call get_command_argument(i, length=length)
      longest = max(longest, length)
    end do
    if (allocated(muon_arguments)) deallocate (muon_arguments, muon_argv)
    allocate (character(len=longest) :: argument)
    allocate (muon_arguments(longest + 1, 0:count), muon_argv(0:count + 1))
    muon_argv(count + 1) = c_null_ptr
    do i = 0, count
      call get_command_argument(i, argument)
      muon_arguments(:, i) = muon_chars(argument)
      muon_argv(i) = c_loc(muon_arguments(1, i))
    end do
    muon_argc = int(count + 1, c_int)
    muon_args = c_loc(muon_argv(0))
    f = muon_chars(file)
    h = muon_chars(help)
    ierr = c_PetscMuonInitialize(muon_argc, muon_args, muon_optional(file, f), muon_optional(help, h), &
      %d, %d, %d)
  end subroutine

"""

BY_HAND_INTERFACES = """\
    function c_PetscMuonInitialize(argc, args, file, help, major, minor, subminor) result(ierr) &
      bind(c, name='PetscMuonInitializeVersion')
      import
      integer(c_int), intent(inout) :: argc
      type(c_ptr), intent(inout) :: args
      type(c_ptr), value :: file, help
      integer(c_int), value :: major, minor, subminor
      integer(c_int) :: ierr
    end function
    function c_MuonCheckHandle(handle, function, position) result(ierr) bind(c, name='MuonCheckHandleFortran')
      import
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: function(*)
      integer(c_int), value :: position
      integer(c_int) :: ierr
    end function
"""

VARIABLES = """\
  integer(c_int), save :: muon_argc
  type(c_ptr), save :: muon_args
  type(c_ptr), allocatable, target, save :: muon_argv(:)
  character(kind=c_char), allocatable, target, save :: muon_arguments(:, :)

"""

# dummy and cdummy are declarations with %s for the name; before and after are statements around the call, uses is what is passed, locals are declared; checked is the condition under which there must be an object, and whether it is one of ours
Argument = collections.namedtuple("Argument", "dummy cdummy uses before after locals checked", defaults=((), (), (), None))
Function = collections.namedtuple("Function", "name result types")

class Unbindable(Exception):
  """A function whose arguments have no counterpart in Fortran."""

class Headers:
  """What the public headers declare."""

  def __init__(self, texts):
    code = re.sub(r"/\*.*?\*/", "", "\n".join(texts), flags=re.S)
    self.classes = re.findall(r"^typedef struct _p_\w+ \*(\w+);", code, re.M)
    self.strings = re.findall(r"^typedef const char \*(\w+);", code, re.M)
    self.constants = re.findall(r"^#define\s+(MUON\w+)\s+\"([^\"]*)\"", code, re.M)
    self.version = checkstyle.version_of(code)
    self.enums, self.structs, self.functions, self.callbacks = {}, {}, [], {}
    for body, name in re.findall(r"^typedef enum \{(.*?)\} (\w+);", code, re.M | re.S):
      value, members = -1, []
      for member in body.split(","):
        word, _, number = (part.strip() for part in member.partition("="))
        value = int(number) if number else value + 1
        members.append((word, value))
      self.enums[name] = members
    for body, name in re.findall(r"^typedef struct \{(.*?)\} (\w+);", code, re.M | re.S):
      self.structs[name] = [(kind, [part.strip() for part in names.split(",")]) for kind, names in re.findall(r"^\s*((?:const )?\w+)\s+([^;]*);", body, re.M)]
    for name, arguments in re.findall(r"^typedef PetscErrorCode (Muon\w+Fn)\((.*?)\);", code, re.M):
      # One that gets or gives arrays of addresses has no counterpart
      if "**" not in arguments and "[" not in arguments:
        self.callbacks[name] = split_arguments(arguments)
    for result, name, arguments in re.findall(r"^PETSC_EXTERN\s+(PetscErrorCode|void)\s+(\w+)\((.*?)\);", code, re.M | re.S):
      self.functions.append(Function(name, result, split_arguments(arguments)))

def scalar(headers, kind):
  return SCALARS.get(kind) or ("integer(c_int)" if kind in headers.enums else None)

def boolean(bool_type):
  """PetscBool where Fortran has it as C does."""
  return "integer(c_int)" if bool_type == "enum" else "logical(c_bool)"

def member(headers, kind, bool_type):
  """The type of a member of a struct."""
  found = scalar(headers, kind) or (boolean(bool_type) if kind == "PetscBool" else None)
  if found is None:
    raise Unbindable("no counterpart of a member '%s'" % kind)
  return found

def argument(headers, kind, name, position, optional, destroys, bool_type):
  """How one argument of the C type crosses."""
  const, word, rest = re.match(r"(const )?(\w+) ?(.*)", kind).groups()
  brackets, local = rest.replace(" ", ""), "x%d" % position
  declared = None
  text = word in headers.strings and not const
  if kind == "MPI_Comm":
    return Argument("integer, intent(in) :: %s", "integer(c_int), value :: %s", "int(%s, c_int)" % name)
  if scalar(headers, word):
    fortran = scalar(headers, word)
    if brackets == "" and not const:
      return Argument(fortran + ", intent(in) :: %s", fortran + ", value :: %s", name)
    if brackets == "*" and not const:
      return Argument(fortran + ", intent(inout) :: %s", fortran + ", intent(inout) :: %s", name)
    if brackets == "[]":
      declared = fortran + ", intent(%s)%s :: %%s(*)" % ("in" if const else "inout", ", optional" if optional else "")
    elif brackets == "*[]" and const:
      declared = "type(c_ptr), intent(inout) :: %s"
  if word == "PetscBool" and not const and brackets in ("", "*"):
    enum = bool_type == "enum"
    c = boolean(bool_type)
    if not brackets:
      return Argument("logical, intent(in) :: %s", c + ", value :: %s", "merge(1_c_int, 0_c_int, %s)" % name if enum else "logical(%s, c_bool)" % name)
    return Argument("logical, intent(inout) :: %s", c + ", intent(inout) :: %s", local, ["%s = %s" % (local, "0" if enum else ".false.")], ["%s = %s" % (name, local + " /= 0" if enum else "logical(%s)" % local)],
                    [c + " :: " + local])
  if word in headers.classes or word in PETSC_CLASSES:
    ours = word in headers.classes
    dummy, value = ("type(t%s)" % word, name + "%v") if ours else ("integer(muon_address)", name)
    if brackets == "" and not const:
      return Argument(dummy + ", intent(in) :: %s", "type(c_ptr), value :: %s", "muon_ptr(%s)" % value, checked=None if optional else ("", ours))
    if brackets == "*" and not const:
      return Argument(dummy + ", intent(inout) :: %s", "type(c_ptr), intent(inout) :: %s", local, ["%s = %s" % (local, "muon_ptr(%s)" % value if ours else "c_null_ptr")], ["%s = muon_v(%s)" % (value, local)],
                      ["type(c_ptr) :: " + local], ("if (c_associated(muon_ptr(%s))) " % value, word) if destroys else None)
    if brackets == "[]" and not ours:
      declared = "integer(muon_address), intent(%s) :: %%s(*)" % ("in" if const else "inout")
  if (word == "char" and const and brackets == "[]") or (text and brackets == ""):
    length = "character(kind=c_char), target :: %s(len(%s) + 1)" % (local, name)
    passed = "muon_optional(%s, %s)" % (name, local) if optional else "c_loc(%s(1))" % local
    return Argument("character(len=*), intent(in) :: %s", "type(c_ptr), value :: %s", passed, ["%s = muon_chars(%s)" % (local, name)], locals=[length])
  if (word == "char" and const and brackets == "*[]") or (text and brackets == "*"):
    return Argument("character(len=*), intent(inout) :: %s", "type(c_ptr), intent(inout) :: %s", local, ["%s = c_null_ptr" % local], ["if (ierr == 0) call muon_take(%s, %s)" % (local, name)], ["type(c_ptr) :: " + local])
  if kind == "char[]":
    # The length that follows is that of the program's variable. gfortran passes a length behind c_loc() of characters: the pointer is a variable
    length = "character(kind=c_char), target :: %s(len(%s) + 1)" % (local, name)
    return Argument("character(len=*), intent(inout) :: %s", "type(c_ptr), value :: %s", "%sp" % local, ["%s(1) = c_null_char" % local, "%sp = c_loc(%s(1))" % (local, local)],
                    ["if (ierr == 0) call muon_take(%sp, %s)" % (local, name)], [length, "type(c_ptr) :: %sp" % local])
  if (word == "unsigned" and rest == "char[]") or (word == "void" and brackets == "*"):
    return Argument("type(c_ptr), intent(in) :: %s", "type(c_ptr), value :: %s", name)
  if word in headers.callbacks and brackets == "*":
    return Argument("procedure(%s) :: %%s" % word, "type(c_funptr), value :: %s", "c_funloc(%s)" % name)
  if kind == "const char *const[]":
    declared = "type(c_ptr), intent(in) :: %s(*)"
  if word in headers.structs and brackets == "*":
    # Without target gfortran takes it that C forgets the addresses in a struct when it returns
    declared = "type(%s), %sintent(%s) :: %%s" % (word, "target, " if word in CONVERTED else "", "in" if const else "inout")
  if declared:
    return Argument(declared, declared, name)
  raise Unbindable("no counterpart of '%s'" % kind)

def unlike(names):
  """Names that differ in more than case, as Fortran needs them."""
  found = ["ierr"]
  for name in names:
    while name.lower() in found:
      name += "_"
    found.append(name.lower())
    yield name

def arguments_of(headers, function, names, optional, bool_type):
  kinds = list(function.types)
  callback = any(kind.split(" ")[0] in headers.callbacks for kind in kinds)
  # Fortran's contexts are never freed for it
  if callback and kinds[-1] == "PetscErrorCode (*)(void **)":
    kinds.pop()
  names = list(unlike(names[:len(kinds)] if len(names) >= len(kinds) else ["a%d" % k for k in range(1, len(kinds) + 1)]))
  found = [argument(headers, kind, name, k, name in optional, function.name.endswith("Destroy"), bool_type) for k, (kind, name) in enumerate(zip(kinds, names), 1)]
  converted = callback or any(re.search(r"\b%s\b" % word, kind) for word in CONVERTED for kind in kinds)
  return names, found, converted

def wrapped(text, indent):
  """A statement in lines that a compiler must take."""
  lines, line = [], indent + text
  while len(line) > COLUMNS:
    at = max(line.rfind(", ", 0, COLUMNS - 2), line.rfind(" // ", 0, COLUMNS - 2)) + 1
    if at <= len(indent) + 1:
      raise Unbindable("a statement that cannot be broken: " + text)
    lines.append(line[:at].rstrip() + " &")
    line = indent + "  " + line[at:].lstrip()
  return "\n".join(lines + [line]) + "\n"

def lines_of(lines, indent):
  return "".join(indent + line + "\n" for line in lines)

def interface(function, names, found, converted):
  fails = function.result == "PetscErrorCode"
  kind, result = ("function", " result(ierr)") if fails else ("subroutine", "")
  out = wrapped("%s c_%s(%s)%s &" % (kind, function.name, ", ".join(names), result), "    ")
  out += lines_of(["bind(c, name='%s')" % (function.name + SUFFIX * converted), "import"], "      ")
  out += lines_of([one.cdummy % name for name, one in zip(names, found)] + ["integer(c_int) :: ierr"] * fails, "      ")
  return out + "    end %s\n" % kind

def subroutine(function, names, found):
  fails = function.result == "PetscErrorCode"
  out = wrapped("subroutine %s(%s)" % (function.name, ", ".join(names + ["ierr"] * fails)), "  ")
  out += lines_of([one.dummy % name for name, one in zip(names, found)] + ["integer(c_int), intent(out) :: ierr"] * fails, "    ")
  out += "".join(lines_of(one.locals, "    ") for one in found)
  for k, (name, one) in enumerate(zip(names, found), 1):
    if one.checked is not None and fails:
      condition, ours = one.checked
      check = "%sierr = c_MuonCheckHandle(muon_ptr(%s), '%s'//c_null_char, %d_c_int)" % (condition, name + "%v" * bool(ours), function.name, k)
      out += "    ierr = 0\n" * (condition != "") + wrapped(check, "    ") + "    if (ierr /= 0) return\n"
  out += "".join(lines_of(one.before, "    ") for one in found)
  out += wrapped("%s c_%s(%s)" % ("ierr =" if fails else "call", function.name, ", ".join(one.uses for one in found)), "    ")
  return out + "".join(lines_of(one.after, "    ") for one in found) + "  end subroutine\n\n"

def callback(headers, name, kinds):
  names = [re.search(r"(\w+)$", kind).group(1) for kind in kinds]
  out = "    subroutine %s(%s, ierr) bind(c)\n      import\n" % (name, ", ".join(names))
  for kind, word in zip(kinds, names):
    base = kind.split(" ")[0]
    declared = "type(t%s)" % base if base in headers.classes else "integer(muon_address)" if base in PETSC_CLASSES else "type(c_ptr)" if base == "void" else scalar(headers, base)
    declared += ", intent(%s)" % ("inout" if "*" in kind and declared == scalar(headers, base) else "in")
    out += "      %s :: %s\n" % (declared, word)
  return out + "      integer(c_int), intent(inout) :: ierr\n    end subroutine\n"

def bound(headers, pages, bool_type):
  """[(function, its names, arguments, whether src/fortran converts)] of what is bound, and [(name, message)] of what is wrong."""
  found, wrong = [], []
  for function in headers.functions:
    names, optional, left_out = pages.get(function.name, ([], (), False))
    try:
      found += [(function,) + arguments_of(headers, function, names, optional, bool_type)] if function.name not in BY_HAND else []
      if left_out:
        wrong.append((function.name, "is left out of the Fortran module without need: its man page says no 'No Fortran Support'"))
    except Unbindable as error:
      if not left_out:
        wrong.append((function.name, "cannot be bound in Fortran, %s: its man page says 'No Fortran Support', or src/fortran takes it in another form" % error))
  return found, wrong

def module(headers, found, indices, precision, bool_type):
  out = HEAD + "  integer, parameter, public :: muon_int = c_int%s_t\n" % indices
  out += "  integer, parameter, public :: muon_real = %s\n" % ("c_float" if precision == "single" else "c_double") + TYPES + "\n"
  out += "".join("  type, bind(c), public :: t%s\n    integer(muon_address) :: v = MUON_NULL\n  end type\n" % name for name in headers.classes)
  # The last index of an array runs fastest in C
  reverse = lambda part: re.sub(r"\[.*\]", lambda m: "(%s)" % ",".join(re.findall(r"\d+", m.group())[::-1]), part)
  for name, members in headers.structs.items():
    if name not in CONVERTED:
      fields = ["%s :: %s" % (member(headers, kind, bool_type), ", ".join(map(reverse, parts))) for kind, parts in members]
      out += "  type, bind(c), public :: %s\n" % name + lines_of(fields, "    ") + "  end type\n"
  out += "\n"
  for name, members in headers.enums.items():
    out += "  ! %s\n" % name + lines_of(["integer(c_int), parameter, public :: %s = %d" % member for member in members], "  ")
  out += lines_of(["character(len=*), parameter, public :: %s = '%s'" % constant for constant in headers.constants], "  ") + "\n" + VARIABLES
  used = [name for name in headers.callbacks if any(kind.split(" ")[0] == name for function, _, _, _ in found for kind in function.types)]
  out += "  abstract interface\n" + "".join(callback(headers, name, headers.callbacks[name]) for name in used) + "  end interface\n\n"
  out += lines_of(["public :: " + name for name in used + [BY_HAND[0]] + [function.name for function, _, _, _ in found]], "  ") + "\n"
  out += "  interface\n" + BY_HAND_INTERFACES + "".join(interface(*one) for one in found) + "  end interface\n\ncontains\n\n" + HELPERS.replace("%d, %d, %d", "%d, %d, %d" % (headers.version or (0, 0, 0)))
  out += "".join(subroutine(function, words, arguments) for function, words, arguments, _ in found)
  declared = [name.lower() for name in re.findall(r"^  (?:type, bind\(c\), public|[\w(),=* ]*parameter, public|public) :: (\w+)", out, re.M)]
  twice = {name for name in declared if declared.count(name) > 1}
  if twice:
    raise Unbindable("names that Fortran takes for one: " + ", ".join(sorted(twice)))
  return out + "end module\n"

def pages_of(sources):
  """{function: (names of its arguments, those that may be NULL, whether it is left out)} by the man pages."""
  pages = {}
  for s in sources:
    if not s.path.startswith("src/"):
      continue
    for page in (page for page in checkstyle.man_pages(s) if page.kind in ("@", "@C")):
      text = "\n".join(line for title, _, body, _ in checkstyle.sections_of(page) if "Parameter" in title for line in body)
      # A parameter is described by its line and those that go on
      optional = {match.group(1) for match in re.finditer(r"^[+.-] +(\w+)\s+- .*(?:\n(?![+.-] ).*)*", text, re.M) if "`NULL`" in match.group(0)}
      pages[page.name] = (checkstyle.parameters(page.after, page.name) or [], optional, "No Fortran Support" in page.text)
  return pages

def headers_of(sources):
  return Headers([s.text for s in sources if re.fullmatch(r"include/petscmuon\w*\.h", s.path)])

def findings(sources):
  """What make checkstyle says of these sources: (function, message)."""
  return bound(headers_of(sources), pages_of(sources), "enum")[1]

def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--indices", default="32", choices=("32", "64"), help="bits of PetscInt")
  parser.add_argument("--precision", default="double", choices=("single", "double"), help="of PetscReal")
  parser.add_argument("--bool", default="enum", choices=("enum", "bool"), help="what PetscBool is in C")
  options = parser.parse_args()
  names = [os.path.relpath(name, ROOT) for pattern in ("include/*.h", "src/**/*.c") for name in glob.glob(os.path.join(ROOT, pattern), recursive=True)]
  sources, _ = checkstyle.read_sources(ROOT, sorted(names))
  headers = headers_of(sources)
  found, wrong = bound(headers, pages_of(sources), options.bool)
  for name, message in wrong:
    print("%s() %s" % (name, message), file=sys.stderr)
  if not wrong:
    sys.stdout.write(module(headers, found, options.indices, options.precision, options.bool))
  return 1 if wrong else 0

if __name__ == "__main__":
  sys.exit(main())
