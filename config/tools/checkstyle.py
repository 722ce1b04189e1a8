#!/usr/bin/env python3
"""Checks the form of the code: PETSc's style, man pages, options, and which room includes which. Prints file:line: what is wrong; the status is 1 when something is.

It looks at all files that git knows or would add.
"""

import collections
import glob
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# A room includes itself and rooms on lower floors
ROOMS = ("wire file transport kernels sys", "polar compressor", "lmo exchange", "layer assembly", "muon", "fortran regressor tao", "register")
FLOORS = {room: floor for floor, rooms in enumerate(ROOMS) for room in rooms.split()}
# On the lowest floor the rooms without PETSc lie under the one that has it, and files have the checksum of messages
SIDEWAYS = {("file", "wire"), ("sys", "wire"), ("sys", "transport"), ("sys", "kernels")}
# Folders of a component that are levels of their own: includes and direct calls go down. Types know step, round, plan and, as those outside of the library, what installed headers declare
LEVELS_INSIDE = {"muon": {"plan": 0, "round": 1, "step": 2, "schedule": 2, "interface": 3, "impls": 3, "addons": 4}}
FORBIDDEN_INSIDE = {("impls", "schedule")}
MAX_LINES, MAX_FUNCTION_LINES, MAX_FILES = 700, 80, 18
WITHOUT_PETSC = ("wire", "file", "transport", "kernels")
WITHOUT_MPI = ("wire", "file", "kernels")
# Headers in include/ whose names do not begin with their room; muonexport.h is of all rooms
HEADERS = ((r"petscmuon(sys|version|impl|compat)\.h|muonparameter\.h", "sys"), (r"muon(array|kernels\w+)\.h", "kernels"), (r"muon(votes|port)\.h", "muon"), (r"muonexport\.h", None))
# Written by make; no room's
GENERATED_HEADERS = ("petscmuonconf.h", "petscmuonbuild.h")
COMPAT = "petscmuoncompat.h"
MAX_BYTES = 1 << 20
# Where files belong: a test that runs by hand leaves others
PLACES = re.compile(r"(\.ci|config|include|share|src|tests|tutorials)/|(\.clang-format|\.git\w+|makefile|[A-Z_]+(\.md|\.cff)?)$")
C_FILES = r"\.(c|h|cxx|cu|hpp)$"
MAX_TUTORIAL_LINES = 200
MAX_SCIENCE_LINES = 300

# Sections of the same rank may stand in either order
RANK = {}
for place, group in enumerate(("Synopsis", "Input Parameter", "Input/Output Parameter", "Output Parameter,Values", "Calling Sequence", "Options Database Key", "Level", "Note", "Example Usage",
                               "Fortran Note", "Developer Note", "References")):
  RANK.update({title + plural: place for title in group.split(",") for plural in ("", "s")})
LEVELS = ("beginner", "intermediate", "advanced", "developer")
# Options of PETSc that our packages read as its own do
PETSC_KEYS = ("-log_exclude", "-use_gpu_aware_mpi")

# Macros that look like calls and check or return by themselves
BARE = re.compile(r"(PetscFunction|PetscCall|PetscCheck|PetscAssert|PetscValid|PetscTry|PetscUse|PetscOptions(Head)?(Begin|End)|PetscObjectOptions(Begin|End)|PetscStack|PetscUnreachable|PetscMacro|"
                  r"PetscConcat|PetscStringize|PetscHash|PetscDefined|PetscExpand|PetscSwap|PetscPragma|PetscObjectParameter(Set|Declare)|PetscInfoEnabled|PetscArrayIsNull|PetscDisableStatic|"
                  r"PetscPrefetchBlock|PetscExternal|PetscUnlikely|PetscLikely|MuonKernel|MuonWire|MuonFile|MuonTransport)")
CHECKED = re.compile(r"^\s*((?:Petsc|Muon|Slepc|Mat|Vec|SVD|EPS|KSP|IS|Tao|PC|BV|DS)[A-Z]\w*|MPI_[A-Z]\w*)\(")
WRONG = (
  (r"\bPetscCall\(\s*MPI_(?!U)", "an MPI call through PetscCall(): write PetscCallMPI()"), (r"^\s*if \(.*\) PetscCheck\w*\(", "PetscCheck() behind an if: its condition is the check"),
  (r"\bif \((\w[\w.>\[\]-]*)(?: != NULL)?\) PetscCall\(\w+Destroy\(&\1\)\)", "useless test before a Destroy(), which accepts NULL"),
  (r"\bSETERRQ\w*\(\s*\w+\s*,\s*\"", "SETERRQ() without an error code")
)
# What no line has: pattern, files that must not have it, what is wrong. The second table is for C without its comments and texts
LINES = (
  (r"\s$", "", "trailing blank"), (r"[^\x00-\x7f]", "", "character that is not ASCII"), (r"\t", r"^(?!.*((^|/)[Mm]akefile[^/]*|\.mk)$)", "tab"),
  (r"\b(TO" r"DO|FIX" r"ME|X" r"XX|HA" r"CK)\b", r"^(?!.*(runtests\.py|tests/README\.md)$)", "left-over marker"), (r"(?<![\w.}])/(home|root)/[\w.]", "", "path of one machine"),
  (r"^\s*(/\*|//|\*)?\s*[-=*~_]{8,}|/\*\s*[-=*~_]{4,}", C_FILES, "ruler")
)
CODE_LINES = (
  (r"^\s*#\s*(ifdef|ifndef)\b", "", "#ifdef or #ifndef: write #if defined(...)"), (r"\bPETSC_VERSION_(?!H\b)", "^(?!.*/%s$)" % COMPAT, "test of PETSc's version outside %s" % COMPAT)
)

# What names the version beside its one source, whole or its first two numbers: files and patterns
VERSION_H = "include/petscmuonversion.h"
VERSIONS = (
  (r"debian/(control|rules|tests/\w+|.*(overrides|install))$|check-deb$", r"libpetscmuon(?:-real|-complex|(?:_complex)?\.so\.)(\d+\.\d+(?:\.\d+)?)"), (r"debian/changelog$", r"\A\S+ \((\S+)-\d"), (r"PETScMuon\.py$", r"self\.version += '(.*)'"),
  (r"petscmuon/_library\.py$", r"^VERSION = \"(.*)\""), (r"CITATION\.cff$", r"^version: (\S+)"), (r"spack/package\.py$", r"version\(\"(\d.*?)\""), (r"conda/meta\.yaml$", r"set version = \"(.*?)\""), (r"CHANGELOG\.md$", r"\A# Changes\n\n(?:## Not released yet.*?\n)?## (\d\S*)")
)

Finding = collections.namedtuple("Finding", "path line message")

TOKEN = re.compile(r"""/\*.*?(?:\*/|\Z)|//[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'""", re.S)

def blank_code(text):
  """The C text with comments and the insides of strings as blanks: same lines, same columns."""
  blank = lambda part: re.sub(r"[^\n]", " ", part)
  return TOKEN.sub(lambda m: blank(m.group()) if m.group()[0] == "/" else m.group()[0] + blank(m.group()[1:-1]) + m.group()[0], text)

class Source:
  def __init__(self, path, text):
    self.path, self.text = path, text
    self.lines = text.split("\n")
    self.is_c = re.search(C_FILES, path) is not None
    self.code = blank_code(text) if self.is_c else ""
    self.code_lines = self.code.split("\n")
    parts = path.split("/")
    self.room = parts[1] if parts[0] == "src" and len(parts) > 2 else room_of_header(path) if parts[0] == "include" else None
    self.is_library = parts[0] in ("src", "include")
    self.has_petsc = self.is_c and (self.is_library and self.room not in WITHOUT_PETSC or "petsc" in "".join(re.findall(r"^\s*#\s*include.*", text, re.M)))

  def line_of(self, offset):
    return self.text.count("\n", 0, offset) + 1

def includes(s):
  """(line, name, whether in quotes) of what a file includes."""
  for match in re.finditer(r"^[ \t]*#[ \t]*include\s+([<\"])([^>\"]+)[>\"]", s.text, re.M):
    if s.code[match.end() - 1] == s.text[match.end() - 1]:
      yield s.line_of(match.start()), match.group(2), match.group(1) == '"'

def room_of_header(path):
  """The room whose interface a header of include/ is; None for a header that is not ours."""
  name = os.path.basename(path)
  for pattern, room in HEADERS:
    if re.fullmatch(pattern, name):
      return room
  match = re.fullmatch(r"(?:petsc)?muon([a-z]*?)(?:impl)?\.h", name)
  # muonlmoimpl.h belongs to the norms
  return match and next((room for room in FLOORS if match.group(1).startswith(room)), match.group(1) or "muon")

# Every text
def check_text(s):
  if s.text and not s.text.endswith("\n"):
    yield len(s.lines), "no newline at the end of the file"
  for lines, rules in ((s.lines, LINES), (s.code_lines, CODE_LINES)):
    for pattern, files, message in rules:
      if re.search(files, s.path):
        yield from ((number, message) for number, line in enumerate(lines, 1) if re.search(pattern, line))
  if s.path.endswith(".h") and not re.match(r"\s*#pragma once\s*$", s.code, re.M):
    yield 1, "a header starts with #pragma once"

# C
def functions(s):
  """(line of the definition, its text, first line of the body, lines of the body) of each function."""
  lines = s.code_lines
  for match in re.finditer(r"^\{[^\n]*\n(.*?)(?=^\}|\Z)", s.code, re.M | re.S):
    first = s.line_of(match.start(1))
    start = first - 3
    while start > 0 and lines[start - 1].strip() and not lines[start - 1].startswith(("#", "}", "{")) and not lines[start - 1].rstrip().endswith(";"):
      start -= 1
    yield start + 1, " ".join(lines[max(start, 0):first - 2]), first, match.group(1).split("\n")[:-1]

def statements(body, first):
  """(line, text) of the statements of a body that start on a line of their own, joined up to the semicolon."""
  for i, line in enumerate(body):
    end = next((j for j in range(i, min(i + 12, len(body))) if body[j].rstrip().endswith((";", "{", "}", ":", "\\"))), i)
    if line.strip():
      yield first + i, " ".join([line] + [more.strip() for more in body[i + 1:end + 1]])

def check_petsc(s, known_macros):
  """What PETSc's reviewers look at."""
  if not s.has_petsc:
    return
  for number, definition, first, body in functions(s):
    begins = [i for i, line in enumerate(body) if re.search(r"\bPetscFunctionBegin(User|Hot)?;", line)]
    if not begins and re.search(r"\bPetscErrorCode\s+\w+\s*\(", definition):
      yield number, "function that returns a PetscErrorCode without PetscFunctionBegin"
    if begins and begins[0] > 0 and body[begins[0] - 1].strip():
      yield first + begins[0], "no blank line before PetscFunctionBegin"
    for i, line in enumerate(body):
      if begins and re.search(r"\breturn\b", line) and not re.search(r"\bmain\s*\(", definition):
        yield first + i, "return in a function with PetscFunctionBegin: write PetscFunctionReturn()"
    for where, text in statements(body, first):
      match = CHECKED.match(re.sub(r"^\s*(?:(?:else )?if \(.*?\)|else|for \(.*?\)|while \(.*?\))\s+(?=\w)", "", text))
      if begins and match and not BARE.match(match.group(1)) and match.group(1) not in known_macros and re.search(r"\)\s*;\s*$", text) and "=" not in text.split("(")[0]:
        yield where, "%s() without %s" % (match.group(1), "PetscCallMPI()" if match.group(1).startswith("MPI_") else "PetscCall()")
      for pattern, message in WRONG:
        if re.search(pattern, text):
          yield where, message
  for match in re.finditer(r"\b(PetscCheck|PetscAssert|SETERRQ)\w*\(", s.code):
    end = s.code.find(";", match.start())
    if re.search(r"\\n\"\s*[,)]", s.text[match.start():end]) and not s.code[s.code.rfind("\n", 0, match.start()) + 1:match.start()].lstrip().startswith("#"):
      yield s.line_of(match.start()), "message of %s() ends with a newline" % match.group(1)

def check_rooms(s, root):
  type_of = lambda path: re.match(r"(.*/(?:impls|addons)/\w+)/|", path).group(1)
  for number, name, _ in includes(s) if s.is_c else ():
    if s.path.startswith("include/") and "/private/" not in s.path and "/private/" in name:
      yield number, "a public header includes the private %s" % name
    if re.match(r"(petsc|slepc)/private/", name) and not s.path.startswith(("src/tao/", "src/regressor/", "include/petscmuon/private/")):
      yield number, "private header of PETSc outside src/tao, src/regressor and our private headers"
    if s.room not in FLOORS or name in GENERATED_HEADERS:
      continue
    target = target_room(s, name, root)
    room, path = target or (None, None)
    if s.room in WITHOUT_PETSC and re.match(r"(petsc|slepc)", name) and target is None:
      yield number, "the room %s knows nothing of PETSc" % s.room
    if s.room in WITHOUT_MPI and re.match(r"mpi", name):
      yield number, "the room %s knows nothing of MPI" % s.room
    if room not in (None, s.room) and FLOORS.get(room, 99) >= FLOORS[s.room] and (s.room, room) not in SIDEWAYS:
      yield number, "the room %s (floor %d) includes %s of the room %s (floor %s)" % (s.room, FLOORS[s.room], name, room, FLOORS.get(room, "?"))
    if path and type_of(path) and type_of(path) != type_of(s.path):
      yield number, "%s belongs to one type or addon and is included by that alone" % name

def target_room(s, name, root):
  """(room, path in src or None) of what an include line names; None for a file that is not ours."""
  for folder in (os.path.dirname(s.path), "include", "src"):
    path = os.path.normpath(os.path.join(folder, name)).replace(os.sep, "/")
    if path.startswith(("src/", "include/")) and os.path.exists(os.path.join(root, path)):
      return (path.split("/")[1], path) if path.startswith("src/") else (room_of_header(path), None)
  match = re.match(r"(?:\.\./)*src/(\w+)/", name)
  return match and (match.group(1), None)

def folder_of(path):
  """The folder of a file in a component whose folders are levels; None elsewhere."""
  parts = path.split("/")
  return parts[2] if parts[0] == "src" and len(parts) > 3 and parts[1] in LEVELS_INSIDE else None

def check_levels(sources):
  """Includes and direct calls between the folders of a component, and how many files a folder has."""
  inside = [s for s in sources if folder_of(s.path)]
  heads = [(s.path, head, re.search(r"(\w+)\s*\(", head)) for s in inside if s.path.endswith(".c") for _, head, _, _ in functions(s)]
  owner = {name.group(1): path for path, head, name in heads if name and "static " not in head}
  installed = {name for s in sources if s.path.startswith("include/") for name in re.findall(r"^PETSC_EXTERN [^;]*?(\w+)\(", s.code, re.M)}
  for s in inside:
    here, levels = folder_of(s.path), LEVELS_INSIDE[s.path.split("/")[1]]
    found = [(number, os.path.normpath(os.path.join(os.path.dirname(s.path), name)), "includes " + name) for number, name, quoted in includes(s) if quoted]
    found += [(number, owner[name], "calls %s()" % name) for number, line in enumerate(s.code_lines, 1) for name in re.findall(r"\b(\w+)\(", line)
              if name in owner and not (here == "impls" and name in installed) and not re.match(r"Muon(Addon)?Register_", name)]
    for number, path, what in found:
      there = folder_of(path)
      if there not in (None, here) and (levels[there] >= levels[here] or (here, there) in FORBIDDEN_INSIDE):
        yield Finding(s.path, number, "the folder %s %s of the folder %s, which is not below it" % (here, what, there))
  for folder, count in collections.Counter(os.path.dirname(s.path) for s in sources if s.is_library).items():
    if count > MAX_FILES:
      yield Finding(folder, 1, "%d files in a folder; %d are allowed" % (count, MAX_FILES))

def check_sizes(s):
  if s.path.startswith("src/") and s.is_c:
    if len(s.lines) - 1 > MAX_LINES:
      yield MAX_LINES, "a file of %d lines; %d are allowed" % (len(s.lines) - 1, MAX_LINES)
    for line, head, first, body in functions(s):
      if len(body) > MAX_FUNCTION_LINES:
        yield line, "a function of %d lines; %d are allowed" % (len(body), MAX_FUNCTION_LINES)
  most = MAX_SCIENCE_LINES if s.path.startswith("tutorials/science/") else MAX_TUTORIAL_LINES
  if re.fullmatch(r"tutorials/((mpi|science|theory)/)?[^/]+\.(c|F90|py)", s.path) and len(s.lines) - 1 > most:
    yield most, "a tutorial of %d lines; %d are allowed" % (len(s.lines) - 1, most)

# Man pages
Page = collections.namedtuple("Page", "kind name source line text after")

def man_pages(s):
  """The pages of a file; after is the code that follows."""
  if not s.is_c:
    return []
  pages = re.finditer(r"/\*(@C|@|MC|S|J|E)[ ]*\n(\s*([A-Za-z_]\w*)?.*?)\n?[^\n]*\*/", s.text, re.S)
  return [Page(page.group(1), page.group(3) or "", s, s.line_of(page.start()), page.group(2), s.code[page.end():page.end() + 3000]) for page in pages]

def split_arguments(text):
  """The parameters in the parentheses of a prototype."""
  parts = re.split(r",\s*(?![^()]*\))", " ".join(text.split()))
  return [] if parts == ["void"] else parts

def parameters(after, name):
  """Names of the parameters of the function defined after a page; None where none is."""
  match = re.match(r"\s*(?:PETSC_\w+ )?(?:static )?[\w ]+[ *]+%s\s*\((.*?)\)\s*\{" % re.escape(name), after, re.S)
  if not match:
    return None
  pointer = re.compile(r"\(\s*\*+\s*(\w+)")
  return [(pointer.search(part) or re.search(r"(\w+)\W*$", re.sub(r"\[.*?\]", "", part))).group(1) for part in split_arguments(match.group(1)) if part not in ("...", "")]

def sections_of(page):
  """[(title, rest of the line, lines, line number)] of a page, the text before the first section under ''."""
  found = [("", "", [], page.line + 1)]
  for offset, line in enumerate(page.text.split("\n")):
    match = re.match(r"\s{0,5}(%s):(.*)$" % "|".join(re.escape(t) for t in sorted(RANK, key=len, reverse=True)), line)
    calling = re.match(r"\s{0,5}Calling [Ss]equence of `\w+`:\s*$", line)
    see = re.match(r"(\s*)\.seealso:(.*)$", line)
    if see:
      found.append((".seealso", see.group(2), [see.group(1)], page.line + 1 + offset))
    elif calling:
      found.append(("Calling Sequence", "", [], page.line + 1 + offset))
    elif match and (match.group(1) != "Level" or match.group(2).strip()):
      found.append((match.group(1), match.group(2).strip(), [], page.line + 1 + offset))
    else:
      found[-1][2].append(line)
  return found

def check_page(page):
  """(line, what is wrong) of one page."""
  at, function, sections = page.line, page.kind in ("@", "@C"), sections_of(page)
  first, titles = page.text.strip("\n").split("\n")[0], [title for title, _, _, _ in sections]
  if not re.match(r"\s*\w+ - \S", first):
    yield at, "the first line is 'Name - what it is'"
    return
  if first.rstrip().endswith("."):
    yield at, "the first line ends without a period"
  if function:
    paragraphs = [p.strip() for p in re.split(r"\n\s*\n", "\n".join(sections[0][2])) if p.strip()]
    if len(paragraphs) < 2 or not re.match(r"(Not |Logically |Neighborwise )?[Cc]ollective", paragraphs[1]):
      yield at, "the second paragraph says whether it is collective"
    defined = re.search(r"\b(\w+)\s*\(", page.after)
    if not defined or defined.group(1) != page.name:
      yield at, "it stands above %s" % (defined.group(1) + "()" if defined else "no function")
  ranks = [RANK[t] for t in titles if t in RANK]
  if ranks != sorted(ranks):
    yield at, "sections in the order " + ", ".join(t for t in titles if t)
  for title in sorted({title for title in titles if titles.count(title) > 1} - {"Calling Sequence"}):
    yield at, "the section %s is there twice" % title
  if not any(title == "Level" and rest in LEVELS for title, rest, _, _ in sections):
    yield at, "Level: is one of " + ", ".join(LEVELS)
  documented = []
  for title, rest, lines, number in sections:
    if title == ".seealso":
      if lines[0]:
        yield number, ".seealso: starts in column 0"
      for item in re.split(r",\s*", " ".join([rest] + lines[1:]).strip()):
        if not re.fullmatch(r"\[\]\(\w+\)|`[A-Za-z_]\w*(\(\))?`", item.strip()):
          yield number, "item '%s' of .seealso: is a name in single backticks" % item.strip()
    elif re.search(r"(Parameters?|Keys?)$", title) or title in ("Values", "Calling Sequence"):
      for message in check_items(title, lines):
        yield number, message
      documented += [line.split()[1].rstrip(",") for line in lines if "Parameter" in title and re.match(r"[+.-] +\S", line)]
  if titles[-1] != ".seealso":
    yield at, ".seealso: comes last"
  names = parameters(page.after, page.name) if function else None
  if names is not None:
    for name in sorted(set(names) ^ set(documented)):
      yield at, "the parameter %s is not described" % name if name in names else "%s is no parameter" % name

def check_items(title, lines):
  """What is wrong with the items of a section."""
  items = [line for line in lines if re.match(r"[+.-] +\S", line)]
  if not items:
    yield "%s without an item" % title
    return
  marks = "".join(line[0] for line in items)
  wanted = "." if len(marks) == 1 else "+" + "." * (len(marks) - 2) + "-"
  if marks != wanted:
    yield "the items of %s are marked %s, expected %s" % (title, marks, wanted)
  if re.search(r"(Parameters?|Keys?)$", title) and title.endswith("s") != (len(items) > 1):
    yield "%s with %d item%s" % (title, len(items), "s" * (len(items) > 1))
  if any(" - " not in line for line in items):
    yield "an item of %s without ' - '" % title
  elif {line.find(" - ") for line in items} != {max(len(line.partition(" - ")[0].rstrip()) for line in items)}:
    yield "the dashes of %s stand one space past the longest name" % title
  if "Key" in title and any("<" in line for line in lines):
    yield "choices are (a|b|c), without angle brackets"

# Things that several files say together
OPTION = re.compile(r"\bPetscOptions(?:[A-Z]\w+)\s*\([^;]*?\"(-\w+)\"", re.S)
ROW = re.compile(r"(?:\{\"(?=\w+\",\s*MUON_PARAMETER_)|MUON_ROW\(\")(\w+)\",\s*\w+,[^;]*?\"((?:[^\"\\]|\\.)*)\"\s*[})]", re.S)

def documented_as(key):
  """A pattern of a key in a man page, where one behind a prefix stands with it."""
  return r"-(?:[\w.]*_|[\w.()|]*_)?%s" % re.escape(key[1:])

def check_project(sources):
  pages = [page for s in sources if s.is_library for page in man_pages(s)]
  names = {page.name for page in pages}
  for page in pages:
    unknown = sorted(set(re.findall(r"`((?:PetscMuon|Muon|MUON)\w+)\(\)`", page.text)) - names)
    for line, message in list(check_page(page)) + [(page.line, "%s() is no function of ours" % name) for name in unknown]:
      yield Finding(page.source.path, line, "man page of %s: %s" % (page.name, message))
  lines_of = lambda wanted: "\n".join(line for page in pages for title, _, lines, _ in sections_of(page) if title.startswith(wanted) for line in lines)
  values, documented = set(re.findall(r"`(\w+)`", lines_of("Values"))), lines_of("Options Database")
  prototypes = {}
  for s in sources:
    if not s.path.startswith("include/") or "/private/" in s.path or not s.path.endswith(".h"):
      continue
    for text, pattern, known, message in (
      (s.code, r"^PETSC_EXTERN\s+[\w ]+[ *]+(\w+)\s*\(", names, "%s() has no man page"),
      (s.code, r"^typedef\s+(?:struct|enum|const char)\b[^;{]*?\*?\s*(?:\{[^}]*\}\s*)?(\w+);", names, "the type %s has no man page"),
      (s.text, r"^#define\s+(MUON\w+)\s+\"", names | values, "%s has no man page of its own and no line among the values of its type")
    ):
      for match in re.finditer(pattern, text, re.M):
        prototypes.setdefault(match.group(1), s.path)
        if match.group(1) not in known:
          yield Finding(s.path, s.line_of(match.start()), message % match.group(1))
  import fortran  # which reads man pages by this module
  for name, message in fortran.findings(sources):
    yield Finding(prototypes[name], 1, "%s() %s" % (name, message))
  # Rows of parameters are documented by their help; what calls read has a line in a man page
  for s in (s for s in sources if s.path.startswith("src/")):
    for match in ROW.finditer(s.text):
      if not match.group(2).strip() or match.group(2).rstrip().endswith("."):
        yield Finding(s.path, s.line_of(match.start()), "the parameter %s has no help that can stand in a table" % match.group(1))
    for match in OPTION.finditer(s.text):
      key, line = match.group(1), s.line_of(match.start())
      kind = re.match(r"src/\w+/impls/(\w+)/", s.path)
      # A folder may have several types, each in a file of its name
      types = {kind.group(1)} | {os.path.basename(t.path)[:-2] for t in sources if t.path.startswith(kind.group(0))} if kind else ()
      if kind and not re.match(r"-(\w+_)?(%s)_" % "|".join(types), key):
        yield Finding(s.path, line, "option %s is read by the type %s alone and does not carry its name" % (key, kind.group(1)))
      if key not in PETSC_KEYS and not re.search(documented_as(key) + r"(?!\w)", documented):
        yield Finding(s.path, line, "option %s is in no man page" % key)

def version_of(text):
  """The three numbers of the version in its header's text."""
  return tuple(int(number) for part in ("MAJOR", "MINOR", "SUBMINOR") for number in re.findall(r"^#define\s+PETSCMUON_VERSION_%s\s+(\d+)" % part, text, re.M))

def check_versions(sources, root):
  version = ".".join(map(str, version_of("".join(s.text for s in sources if s.path == VERSION_H))))
  for name, pattern in ((name, pattern) for name in all_files(root) for files, pattern in VERSIONS if re.search(files, name)):
    with open(os.path.join(root, name), encoding="utf-8") as f:
      text = f.read()
    for match in re.finditer(pattern, text, re.M | re.S if name.endswith(".md") else re.M):
      if match.group(1) not in (version, version.rpartition(".")[0]):
        yield Finding(name, text.count("\n", 0, match.start(1)) + 1, "names the version %s, and %s says %s" % (match.group(1), VERSION_H, version))

def known_macros(sources):
  return {name for s in sources if s.is_c for name in re.findall(r"^\s*#\s*define\s+(\w+)\(", s.text, re.M)} | {
    name for s in sources if s.is_c for name in re.findall(r"^(?:static |PETSC_INTERN |PETSC_EXTERN |MUON_EXPORT |inline |const )*(?!PetscErrorCode\b)\w+ [*]*(\w+)\s*\(", s.code, re.M)}

def check_all(sources, root):
  """All findings about sources, sorted; what the project says together is looked at as well."""
  findings = []
  macros = known_macros(sources)
  for s in sources:
    for check in (check_text, lambda s: check_petsc(s, macros), lambda s: check_rooms(s, root), check_sizes):
      findings += [Finding(s.path, line, message) for line, message in check(s)]
  findings += list(check_project(sources)) + list(check_levels(sources))
  return sorted(set(findings))

def check_format(sources):
  """What clang-format would change; None where there is no clang-format."""
  if shutil.which("clang-format") is None:
    return None
  done = subprocess.run(["clang-format", "--dry-run"] + [s.path for s in sources if s.is_c], cwd=ROOT, capture_output=True, text=True)
  if done.returncode != 0:
    return [Finding(".clang-format", 1, "clang-format fails: " + done.stderr.strip().split("\n")[-1])]
  first = dict(reversed(re.findall(r"^(.+?):(\d+):\d+: warning: code should be clang-formatted", done.stderr, re.M)))
  return [Finding(path, int(line), "clang-format would change this file from here on: run clang-format -i") for path, line in first.items()]

TEXT = re.compile(r"\.(c|h|cxx|cu|hpp|F90|py|md|mk|sh|txt|user|out|in|yml|yaml|csv|cff|tex|bib)$|(^|/)(makefile|Makefile[^/]*|LICENSE|bootstrap|counters|check-removable|mpiexec|run[^/.]*|\.clang-format|\.gitignore)$")

def all_files(root):
  # A machine without git and an unpacked archive have all files that are there
  listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, capture_output=True, text=True).stdout if shutil.which("git") else ""
  names = listed.splitlines() or [os.path.relpath(name, root) for name in glob.glob(os.path.join(root, "**"), recursive=True)]
  return sorted(name for name in names if os.path.isfile(os.path.join(root, name)) and not name.startswith("build"))

def read_sources(root, names):
  sources, findings = [], []
  for name in names:
    if os.path.getsize(os.path.join(root, name)) > MAX_BYTES:
      findings.append(Finding(name, 1, "a file of more than 1 MB"))
    if not PLACES.match(name.replace(os.sep, "/")):
      findings.append(Finding(name, 1, "a file in no folder of the project"))
    if TEXT.search(name):
      with open(os.path.join(root, name), encoding="utf-8", errors="surrogateescape", newline="") as f:
        sources.append(Source(name.replace(os.sep, "/"), f.read()))
  return sources, findings

def main():
  sources, findings = read_sources(ROOT, all_files(ROOT))
  findings += check_versions(sources, ROOT)
  formatted = check_format(sources)
  findings = sorted(set(findings + check_all(sources, ROOT) + (formatted or [])))
  for finding in findings:
    print("%s:%d: %s" % finding)
  note = "; clang-format is not here, so the layout was not looked at" if formatted is None else ""
  print("%d files, %d finding%s%s" % (len(sources), len(findings), "s" * (len(findings) != 1), note))
  return 1 if findings else 0

if __name__ == "__main__":
  sys.exit(main())
