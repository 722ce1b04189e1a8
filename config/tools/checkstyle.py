#!/usr/bin/env python3
"""Checks the form of the code: PETSc's style, man pages, options, and which room includes which. Prints file:line: what is wrong; the status is 1 when something is.

config/tools/checkstyle.py [--root DIR] [--no-format] [FILE...] looks at all files that git knows or would add, or at the files named.
"""

import argparse
import collections
import glob
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# A room includes itself and rooms on lower floors
FLOORS = {
  "wire": 0, "file": 0, "transport": 0, "kernels": 0, "sys": 0, "polar": 1, "compressor": 1, "lmo": 2, "exchange": 2, "layer": 3, "assembly": 3, "muon": 4, "fortran": 5, "tao": 5, "register": 6
}
# On the lowest floor the rooms without PETSc lie under the one that has it, and files have the checksum of messages
SIDEWAYS = {("file", "wire"), ("sys", "wire"), ("sys", "transport"), ("sys", "kernels")}
# Folders of a component that are levels of their own: includes and direct calls go down. Types know step and plan alone
LEVELS_INSIDE = {"muon": {"plan": 0, "step": 1, "schedule": 1, "theory": 1, "monitor": 1, "checkpoint": 1, "interface": 2, "impls": 2}}
FORBIDDEN_INSIDE = {("impls", "schedule"), ("impls", "theory"), ("impls", "monitor"), ("impls", "checkpoint")}
MAX_LINES, MAX_FUNCTION_LINES, MAX_FILES = 700, 80, 18
WITHOUT_PETSC = ("wire", "file", "transport", "kernels")
WITHOUT_MPI = ("wire", "file", "kernels")
# Written by make; no room's
GENERATED_HEADERS = ("petscmuonconf.h",)
COMPAT = "petscmuoncompat.h"
MAX_BYTES = 1 << 20
MAX_TUTORIAL_LINES = 200

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
MARKERS = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX|HA" r"CK)\b")

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
    self.is_c = path.endswith((".c", ".h", ".cxx", ".cu", ".hpp"))
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
  for number, line in enumerate(s.lines, 1):
    match = re.match(r"\s*#\s*include\s+([<\"])([^>\"]+)[>\"]", line)
    if match and s.code_lines[number - 1].strip():
      yield number, match.group(2), match.group(1) == '"'


def room_of_header(path):
  """The room whose interface a header of include/ is; None for a header that is not ours."""
  name = os.path.basename(path)
  if re.fullmatch(r"petscmuon(sys|version|impl|compat)\.h|muonparameter\.h", name):
    return "sys"
  if re.fullmatch(r"muon(array|kernels\w+)\.h", name):
    return "kernels"
  match = re.fullmatch(r"(?:petsc)?muon([a-z]*?)(?:impl)?\.h", name)
  # muonexport.h is of all rooms; muonlmoimpl.h belongs to the norms
  if not match or match.group(1) == "export":
    return None
  if match.group(1) == "votes":
    return "muon"
  return next((room for room in FLOORS if match.group(1).startswith(room)), match.group(1) or "muon")


# Every text
def check_text(s):
  if len(s.text.encode()) > MAX_BYTES:
    yield 1, "a file of more than 1 MB"
  if s.text and not s.text.endswith("\n"):
    yield len(s.lines), "no newline at the end of the file"
  for number, line in enumerate(s.lines, 1):
    if line != line.rstrip():
      yield number, "trailing blank"
    if not line.isascii():
      yield number, "character that is not ASCII"
    if "\t" in line and not re.search(r"(^|/)(makefile|Makefile[^/]*|[^/]*\.mk)$", s.path):
      yield number, "tab"
    if MARKERS.search(line) and not s.path.endswith(("runtests.py", "tests/README.md")):
      yield number, "left-over marker '%s'" % MARKERS.search(line).group(0)
    if re.search(r"(?<![\w.}])/(home|root)/\w", line):
      yield number, "path of one machine"


# C
def functions(s):
  """(line of the definition, its text, first line of the body, lines of the body) of each function."""
  lines = s.code_lines
  i = 0
  while i < len(lines):
    if lines[i].startswith("{"):
      end = i + 1
      while end < len(lines) and not lines[end].startswith("}"):
        end += 1
      start = i - 1
      while start > 0 and lines[start - 1].strip() and not lines[start - 1].startswith(("#", "}", "{")) and not lines[start - 1].rstrip().endswith(";"):
        start -= 1
      yield start + 1, " ".join(lines[max(start, 0):i]), i + 2, lines[i + 1:end]
      i = end
    i += 1


def check_c(s):
  if not s.is_c:
    return
  for number, (line, code) in enumerate(zip(s.lines, s.code_lines), 1):
    if re.match(r"\s*#\s*(ifdef|ifndef)\b", code):
      yield number, "#ifdef or #ifndef: write #if defined(...)"
    if re.search(r"^\s*(/\*|//|\*)?\s*[-=*~_]{8,}", line) or re.search(r"/\*\s*[-=*~_]{4,}", line):
      yield number, "ruler"
    if re.search(r"\bPETSC_VERSION_(?!H\b)", code) and os.path.basename(s.path) != COMPAT:
      yield number, "test of PETSc's version outside %s" % COMPAT
  if s.path.endswith(".h"):
    body = [line.strip() for line in s.code_lines if line.strip()]
    if not body or body[0] != "#pragma once":
      yield 1, "a header starts with #pragma once"


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
    if re.search(r"\bPetscErrorCode\s+\w+\s*\(", definition) and not begins:
      yield number, "function that returns a PetscErrorCode without PetscFunctionBegin"
    if begins and begins[0] > 0 and body[begins[0] - 1].strip():
      yield first + begins[0], "no blank line before PetscFunctionBegin"
    if begins:
      for i, line in enumerate(body):
        if re.search(r"\breturn\b", line) and not re.search(r"\bmain\s*\(", definition):
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
  if not s.is_c:
    return
  for number, name, _ in includes(s):
    if s.path.startswith("include/") and "/private/" not in s.path and "/private/" in name:
      yield number, "a public header includes the private %s" % name
    if re.match(r"(petsc|slepc)/private/", name) and not s.path.startswith(("src/tao/", "include/petscmuon/private/")):
      yield number, "private header of PETSc outside src/tao and our private headers"
    if not s.is_library or s.room not in FLOORS:
      continue
    ours = name in GENERATED_HEADERS
    target = target_room(s, name, root)
    if s.room in WITHOUT_PETSC and re.match(r"(petsc|slepc)", name) and not ours and target is None:
      yield number, "the room %s knows nothing of PETSc" % s.room
    if s.room in WITHOUT_MPI and re.match(r"mpi", name):
      yield number, "the room %s knows nothing of MPI" % s.room
    if ours or target is None or target[0] is None:
      continue
    room, path = target
    if room != s.room and (room not in FLOORS or FLOORS[room] >= FLOORS[s.room]) and (s.room, room) not in SIDEWAYS:
      yield number, "the room %s (floor %d) includes %s of the room %s (floor %s)" % (s.room, FLOORS[s.room], name, room, FLOORS.get(room, "?"))
    type_of = lambda path: re.match(r"(.*/impls/\w+)/|", path).group(1)
    if path and type_of(path) and type_of(path) != type_of(s.path):
      yield number, "%s belongs to one type and is included by that type alone" % name


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
  owner, files = {}, collections.Counter()
  for s in sources:
    if s.is_library:
      files[os.path.dirname(s.path)] += 1
    if s.path.endswith(".c") and folder_of(s.path):
      for line, head, _, _ in functions(s):
        name = re.search(r"(\w+)\s*\(", head)
        if name and "static " not in head:
          owner[name.group(1)] = s.path
  for s in sources:
    here = folder_of(s.path)
    if here is None:
      continue
    levels = LEVELS_INSIDE[s.path.split("/")[1]]
    found = [(number, os.path.normpath(os.path.join(os.path.dirname(s.path), name)), "includes " + name) for number, name, quoted in includes(s) if quoted]
    found += [(number, owner[name], "calls %s()" % name) for number, line in enumerate(s.code_lines, 1) for name in re.findall(r"\b(\w+)\(", line) if name in owner]
    for number, path, what in found:
      there = folder_of(path)
      if there is not None and there != here and (levels[there] >= levels[here] or (here, there) in FORBIDDEN_INSIDE):
        yield Finding(s.path, number, "the folder %s %s of the folder %s, which is not below it" % (here, what, there))
  for folder, count in files.items():
    if count > MAX_FILES:
      yield Finding(folder, 1, "%d files in a folder; %d are allowed" % (count, MAX_FILES))


def check_sizes(s):
  if s.path.startswith("src/") and s.is_c:
    if len(s.lines) - 1 > MAX_LINES:
      yield MAX_LINES, "a file of %d lines; %d are allowed" % (len(s.lines) - 1, MAX_LINES)
    for line, head, first, body in functions(s):
      if len(body) > MAX_FUNCTION_LINES:
        yield line, "a function of %d lines; %d are allowed" % (len(body), MAX_FUNCTION_LINES)
  if re.fullmatch(r"tutorials/((mpi|science)/)?[^/]+\.(c|F90|py)", s.path) and len(s.lines) - 1 > MAX_TUTORIAL_LINES:
    yield MAX_TUTORIAL_LINES, "a tutorial of %d lines; %d are allowed" % (len(s.lines) - 1, MAX_TUTORIAL_LINES)


# Man pages
Page = collections.namedtuple("Page", "kind name source line text after")


def man_pages(s):
  """The pages of a file; after is the code that follows."""
  if not s.is_c:
    return []
  pages = []
  for match in re.finditer(r"/\*(@C|@|MC|S|J|E)[ ]*\n(.*?)\n?([^\n]*)\*/", s.text, re.S):
    body = match.group(2)
    first = next((line for line in body.split("\n") if line.strip()), "")
    name = re.match(r"\s*([A-Za-z_]\w*)", first)
    pages.append(Page(match.group(1), name.group(1) if name else "", s, s.line_of(match.start()), body, s.code[match.end():match.end() + 3000]))
  return pages


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
  at = page.line
  first = next((line for line in page.text.split("\n") if line.strip()), "")
  if not re.match(r"\s*\w+ - \S", first):
    yield at, "man page: the first line is 'Name - what it is'"
    return
  if first.rstrip().endswith("."):
    yield at, "man page of %s: the first line ends without a period" % page.name
  sections = sections_of(page)
  titles = [title for title, _, _, _ in sections]
  head = sections[0][2]
  if page.kind in ("@", "@C"):
    paragraphs = [p.strip() for p in re.split(r"\n\s*\n", "\n".join(head)) if p.strip()]
    if len(paragraphs) < 2 or not re.match(r"(Not |Logically |Neighborwise )?[Cc]ollective", paragraphs[1]):
      yield at, "man page of %s: the second paragraph says whether it is collective" % page.name
    defined = re.search(r"\b(\w+)\s*\(", page.after)
    if not defined or defined.group(1) != page.name:
      yield at, "man page of %s stands above %s" % (page.name, defined.group(1) + "()" if defined else "no function")
  ranks = [RANK[t] for t in titles if t in RANK]
  if ranks != sorted(ranks):
    yield at, "man page of %s: sections in the order %s" % (page.name, ", ".join(t for t in titles if t))
  for title in set(titles):
    if titles.count(title) > 1 and title != "Calling Sequence":
      yield at, "man page of %s: the section %s is there twice" % (page.name, title)
  level = [rest for title, rest, _, _ in sections if title == "Level"]
  if not level or level[0] not in LEVELS:
    yield at, "man page of %s: Level: is one of %s" % (page.name, ", ".join(LEVELS))
  if titles[-1] != ".seealso":
    yield at, "man page of %s: .seealso: comes last" % page.name
  else:
    title, rest, indent, number = sections[-1]
    if indent[0]:
      yield number, "man page of %s: .seealso: starts in column 0" % page.name
    items = " ".join([rest] + indent[1:]).strip()
    for item in re.split(r",\s*", items):
      if not re.fullmatch(r"(\[\]\(\w+\))|`[A-Za-z_]\w*(\(\))?`", item.strip()):
        yield number, "man page of %s: item '%s' of .seealso: is a name in single backticks" % (page.name, item.strip())
  documented = []
  for title, rest, lines, number in sections:
    if not re.search(r"(Parameters?|Keys?)$", title) and title not in ("Values", "Calling Sequence"):
      continue
    bullets = [match for match in (re.match(r"([+.-])( +)(\S+)", line) for line in lines) if match]
    if not bullets:
      yield number, "man page of %s: %s without an item" % (page.name, title)
      continue
    marks = "".join(match.group(1) for match in bullets)
    wanted = "." if len(marks) == 1 else "+" + "." * (len(marks) - 2) + "-"
    if marks != wanted:
      yield number, "man page of %s: the items of %s are marked %s, expected %s" % (page.name, title, marks, wanted)
    if re.search(r"(Parameters?|Keys?)$", title) and title.endswith("s") != (len(bullets) > 1):
      yield number, "man page of %s: %s with %d item%s" % (page.name, title, len(bullets), "s" if len(bullets) > 1 else "")
    items = [line for line in lines if re.match(r"[+.-] ", line)]
    if any(" - " not in line for line in items):
      yield number, "man page of %s: an item of %s without ' - '" % (page.name, title)
    elif {line.find(" - ") for line in items} != {max(len(line.partition(" - ")[0].rstrip()) for line in items)}:
      yield number, "man page of %s: the dashes of %s stand one space past the longest name" % (page.name, title)
    if "Parameter" in title:
      documented += [match.group(3).rstrip(",") for match in bullets]
    if "Key" in title and any("<" in line for line in lines):
      yield number, "man page of %s: choices are (a|b|c), without angle brackets" % page.name
  if page.kind in ("@", "@C"):
    names = parameters(page.after, page.name)
    if names is not None:
      for name in set(names) - set(documented):
        yield at, "man page of %s: the parameter %s is not described" % (page.name, name)
      for name in set(documented) - set(names):
        yield at, "man page of %s: %s is no parameter" % (page.name, name)


# Things that several files say together
OPTION = re.compile(r"\bPetscOptions(?:[A-Z]\w+)\s*\([^;]*?\"(-\w+)\"", re.S)
ROW = re.compile(r"\{\"(\w+)\",\s*MUON_PARAMETER_\w+,[^;]*?\"((?:[^\"\\]|\\.)*)\"\s*\}", re.S)


def documented_as(key):
  """A pattern of a key in a man page, where one behind a prefix stands with it."""
  return r"-(?:[\w.]*_|[\w.()|]*_)?%s" % re.escape(key[1:])


def check_project(sources):
  pages = [page for s in sources if s.is_library or s.path.startswith("include/") for page in man_pages(s)]
  for page in pages:
    for line, message in check_page(page):
      yield Finding(page.source.path, line, message)
  names = {page.name for page in pages}
  for page in pages:
    for name in sorted(set(re.findall(r"`((?:PetscMuon|Muon|MUON)\w+)\(\)`", page.text)) - names):
      yield Finding(page.source.path, page.line, "man page of %s: %s() is no function of ours" % (page.name, name))
  values = " ".join(re.findall(r"`(\w+)`", "\n".join(line for page in pages for title, _, lines, _ in sections_of(page) if title == "Values" for line in lines)))
  prototypes = {}
  for s in sources:
    if not s.path.startswith("include/") or "/private/" in s.path or not s.path.endswith(".h"):
      continue
    for match in re.finditer(r"^PETSC_EXTERN\s+[\w ]+[ *]+(\w+)\s*\(", s.code, re.M):
      prototypes[match.group(1)] = s.path
      if match.group(1) not in names:
        yield Finding(s.path, s.line_of(match.start()), "%s() has no man page" % match.group(1))
    for match in re.finditer(r"^typedef\s+(?:struct|enum|const char)\b[^;{]*?\*?\s*(?:\{[^}]*\}\s*)?(\w+);", s.code, re.M):
      if match.group(1) not in names:
        yield Finding(s.path, s.line_of(match.start()), "the type %s has no man page" % match.group(1))
    for match in re.finditer(r"^#define\s+(MUON\w+)\s+\"", s.text, re.M):
      if match.group(1) not in names and match.group(1) not in values.split():
        yield Finding(s.path, s.line_of(match.start()), "%s has no man page of its own and no line among the values of its type" % match.group(1))
  import fortran  # which reads man pages by this module
  for name, message in fortran.findings(sources):
    yield Finding(prototypes[name], 1, "%s() %s" % (name, message))
  documented = "\n".join(line for page in pages for title, _, lines, _ in sections_of(page) if "Options Database" in title for line in lines)
  # Rows of parameters are documented by their help; what calls read has a line in a man page
  for s in sources:
    if not s.path.startswith("src/"):
      continue
    for match in ROW.finditer(s.text):
      if not match.group(2).strip() or match.group(2).rstrip().endswith("."):
        yield Finding(s.path, s.line_of(match.start()), "the parameter %s has no help that can stand in a table" % match.group(1))
    for match in OPTION.finditer(s.text):
      key, line = match.group(1), s.line_of(match.start())
      kind = re.match(r"src/\w+/impls/(\w+)/", s.path)
      if kind and not re.match(r"-(\w+_)?%s_" % re.escape(kind.group(1)), key):
        yield Finding(s.path, line, "option %s is read by the type %s alone and does not carry its name" % (key, kind.group(1)))
      if key not in PETSC_KEYS and not re.search(documented_as(key) + r"(?!\w)", documented):
        yield Finding(s.path, line, "option %s is in no man page" % key)


def known_macros(sources):
  return {name for s in sources if s.is_c for name in re.findall(r"^\s*#\s*define\s+(\w+)\(", s.text, re.M)} | {
    name for s in sources if s.is_c for name in re.findall(r"^(?:static |PETSC_INTERN |PETSC_EXTERN |MUON_EXPORT |inline |const )*(?!PetscErrorCode\b)\w+ [*]*(\w+)\s*\(", s.code, re.M)}


def check_all(sources, root):
  """All findings about sources, sorted; what the project says together is looked at as well."""
  findings = []
  macros = known_macros(sources)
  for s in sources:
    for check in (check_text, check_c, lambda s: check_petsc(s, macros), lambda s: check_rooms(s, root), check_sizes):
      findings += [Finding(s.path, line, message) for line, message in check(s)]
  findings += list(check_project(sources)) + list(check_levels(sources))
  return sorted(set(findings))


def check_format(sources, root):
  """What clang-format would change; it is looked at where a clang-format is that knows the keys of .clang-format."""
  tool = shutil.which("clang-format")
  if tool is None or not os.path.exists(os.path.join(root, ".clang-format")):
    return None
  names = [s.path for s in sources if s.is_c]
  findings = {}
  for start in range(0, len(names), 50):
    done = subprocess.run([tool, "--dry-run"] + names[start:start + 50], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    for path, line in re.findall(r"^(.+?):(\d+):\d+: warning: code should be clang-formatted", done.stderr, re.M):
      findings.setdefault(path, int(line))
    if done.returncode != 0:
      return [Finding(".clang-format", 1, "clang-format fails: " + done.stderr.strip().split("\n")[-1])]
  return [Finding(path, line, "clang-format would change this file from here on: run clang-format -i") for path, line in sorted(findings.items())]


TEXT = re.compile(r"\.(c|h|cxx|cu|hpp|F90|py|md|mk|sh|txt|user|out|in|yml|yaml|csv|cff)$|(^|/)(makefile|Makefile[^/]*|LICENSE|bootstrap|mpiexec|run[^/.]*|\.clang-format|\.gitignore)$")


def all_files(root):
  done = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True)
  # An unpacked archive has no git
  names = done.stdout.splitlines() or [os.path.relpath(name, root) for name in glob.glob(os.path.join(root, "**"), recursive=True)]
  return sorted(name for name in names if os.path.isfile(os.path.join(root, name)) and not name.startswith("build"))


def read_sources(root, names):
  sources, findings = [], []
  for name in names:
    path = os.path.join(root, name)
    if not TEXT.search(name):
      if os.path.getsize(path) > MAX_BYTES:
        findings.append(Finding(name, 1, "a file of more than 1 MB"))
      continue
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as f:
      sources.append(Source(name.replace(os.sep, "/"), f.read()))
  return sources, findings


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("files", nargs="*", help="only print what concerns these")
  parser.add_argument("--root", default=ROOT)
  parser.add_argument("--no-format", action="store_true", help="without clang-format")
  options = parser.parse_args()
  sources, findings = read_sources(options.root, all_files(options.root))
  findings += check_all(sources, options.root)
  formatted = None if options.no_format else check_format(sources, options.root)
  findings = sorted(set(findings + (formatted or [])))
  if options.files:
    wanted = [os.path.relpath(os.path.abspath(name), options.root) for name in options.files]
    findings = [f for f in findings if any(f.path == w or f.path.startswith(w.rstrip("/") + "/") for w in wanted)]
  for finding in findings:
    print("%s:%d: %s" % finding)
  note = "" if formatted is not None or options.no_format else "; clang-format is not here, so the layout was not looked at"
  print("%d files, %d finding%s%s" % (len(sources), len(findings), "" if len(findings) == 1 else "s", note))
  return 1 if findings else 0


if __name__ == "__main__":
  sys.exit(main())
