#!/usr/bin/env python3
"""Runs the tests: the /*TEST blocks of tests, tutorials and benchmarks, the scripts tests/run-* and tests/*/run-*, a short run of each fuzzer.

tests/README.md describes the grammar. The last line is "N passed, N failed, N skipped"; the exit status is 0 when tests ran and none failed.
"""

import argparse
import concurrent.futures
import contextlib
import fnmatch
import functools
import glob
import itertools
import json
import math
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MPIEXEC = os.path.join(ROOT, "config", "mpiexec")
LIMIT = 120.0  # seconds a test
TOGETHER = 16  # cases of a program in one start of MPI
GRACE = 5.0  # seconds between asking a process to end and making it end

KEYS = {"suffix", "nsize", "args", "requires", "output_file", "filter", "filter_output", "env", "timeoutfactor", "localrunfiles", "oracle", "error", "tolerance", "link", "sources", "unused"}
ADDING_KEYS = {"args", "requires", "env", "localrunfiles", "unused"}

# Everything else is installed by config/bootstrap, so that its absence is a failure
ALLOWED_SKIPS = {"cuda", "nvcc", "kokkos_kernels", "torch", "onednn", "pip", "setuptools", "wheel"}

# A program in Python runs in one that has all of these that it requires
PYTHON_MODULES = ("numpy", "matplotlib", "mpi4py", "petsc4py", "torch", "pip", "setuptools", "wheel")

class TestError(Exception):
  """A TEST block that does not follow the grammar."""

# the grammar
def block_lines(text):
  """The lines between /*TEST and TEST*/, with their numbers; None where there is no block."""
  block = re.search(r"^/\*TEST[^\n]*\n(.*?)^TEST\*/", text, re.M | re.S)
  if len(re.findall(r"^/\*TEST", text, re.M)) != (block is not None):
    raise TestError("the /*TEST block is not the only one, or does not end with TEST*/ at the start of a line")
  if block is None:
    return None
  if "*/" in block.group(1):
    raise TestError("'*/' ends the C comment that the block is")
  first = text.count("\n", 0, block.start(1)) + 1
  return [(number, line) for number, line in enumerate(block.group(1).splitlines(), first) if line.strip() and not line.lstrip().startswith("#")]

def parse_tree(lines):
  """Nested [kind, keys, children] by indentation."""
  root = ["root", {}, []]
  stack = [(-1, root)]
  for number, line in lines:
    indent = len(line) - len(line.lstrip(" "))
    key, colon, value = (part.strip() for part in line.partition(":"))
    while stack[-1][0] >= indent:
      stack.pop()
    parent = stack[-1][1]
    cells = [cell.strip() for cell in (line + " ").split(" | ")]
    if parent[0] == "table" and len(cells) == len(parent[1]):
      parent[2].append(["test", {column: cell for column, cell in zip(parent[1], cells) if cell}, []])
    elif not colon or "\t" in line or parent[0] == "table":
      raise TestError("line %d: expected 'key: value' indented by spaces, or a row of a table, found '%s'" % (number, line.strip()))
    elif key == "table" and KEYS.issuperset(value.split(" | ")):
      parent[2].append(["table", value.split(" | "), []])
      stack.append((indent, parent[2][-1]))
    elif key in ("test", "testset", "build"):
      if value or parent[0] in ("test", "build"):
        raise TestError("line %d: '%s:' stands in a test or in build, or has a value" % (number, key))
      node = [key, {}, []]
      parent[2].append(node)
      stack.append((indent, node))
    elif key in KEYS:
      if parent[0] == "root" and key not in ("link", "sources"):
        raise TestError("line %d: '%s:' belongs into a test, a testset or build" % (number, key))
      if key in parent[1] and key not in ADDING_KEYS:
        raise TestError("line %d: '%s:' is there twice" % (number, key))
      parent[1][key] = (parent[1][key] + " " + value) if key in parent[1] else value
    else:
      raise TestError("line %d: unknown key '%s'" % (number, key))
  return root

def inherit(outer, inner):
  return dict(outer, **{key: outer[key] + " " + value if key in ADDING_KEYS and key in outer else value for key, value in inner.items()})

def flatten(node, outer):
  """The keys of each test, those of its testsets included."""
  tests = []
  for child in node[2]:
    merged = inherit(outer, child[1]) if child[0] != "table" else outer
    inside = [merged] if child[0] == "test" else flatten(child, merged) if child[0] != "build" else []
    if child[0] in ("testset", "table") and not inside:
      raise TestError("a %s without a test" % child[0])
    tests += inside
  return tests

LOOP = re.compile(r"(?:(\S+)\s+)?\{\{([^{}]*)\}([^{}]*)\}")

def expand_loops(keys):
  """Yields (keys, label, separate) with every {{a b}} loop of nsize and args replaced; separate is the part of the label that names output files."""
  for key in ("nsize", "args"):
    match = LOOP.search(keys.get(key, ""))
    if match is None:
      continue
    values, kind = match.group(2).split(), match.group(3).strip()
    if kind not in ("", "shared output", "separate output") or not values:
      raise TestError("a loop in '%s' has no values, or is not called 'shared output' or 'separate output'" % keys[key])
    for value in values:
      name = "%s-%s" % (key if key == "nsize" else (match.group(1) or "arg").lstrip("-"), value)
      replaced = keys[key][:match.end(1) if match.group(1) else match.start()] + " " * bool(match.group(1)) + value + keys[key][match.end():]
      error = {"error": keys["error"].replace("{}", value)} if "error" in keys else {}
      for new, label, separate in expand_loops(dict(keys, **{key: replaced}, **error)):
        yield new, "_".join([name] + [label] * bool(label)), "_".join([name] * (kind == "separate output") + [separate] * bool(separate))
    return
  yield keys, "", ""

class Test:
  """One run of one program, or of one script."""

  def __init__(self, name, label, source, keys, output=None, named=False):
    self.name, self.label, self.source, self.keys = name, label, source, keys
    self.output, self.output_named = output, named
    self.full = name + ("+" + label if label else "")

# In Fortran and Python each line of the block is a comment
COMMENTS = {".F90": "!", ".py": "#"}
PROGRAMS = (".c", ".F90")

def read_tests(source, text):
  """The tests of a program."""
  mark = COMMENTS.get(os.path.splitext(source)[1])
  lines = block_lines(re.sub("^" + mark, "", text, flags=re.M) if mark else text)
  if lines is None:
    return []
  tree = parse_tree(lines)
  base = os.path.splitext(os.path.basename(source))[0]
  requires = [keys["requires"] for kind, keys, _ in tree[2] if kind == "build" and "requires" in keys]
  outer = {"requires": " ".join(requires)} if requires else {}
  tests, seen = [], set()
  for keys in flatten(tree, outer):
    name = base + "_" + keys.get("suffix", "1")
    for new, label, separate in expand_loops(keys):
      named = "output_file" in new
      stem, ext = os.path.splitext(new.get("output_file", "output/%s.out" % name))
      test = Test(name, label, source, new, os.path.join(os.path.dirname(source), stem + ("_" + separate if separate else "") + ext), named)
      if test.full in seen:
        raise TestError("two tests are called %s" % test.full)
      seen.add(test.full)
      tests.append(test)
  # A benchmark may only say what it is linked with
  if not tests and not tree[1]:
    raise TestError("a /*TEST block without a test")
  return tests

def read_script(source, text):
  """The test that a script is: its '#TEST key: value' lines."""
  keys, lines = {}, re.findall(r"^#TEST\s*(\w+)\s*:\s*(.*?)\s*$|^#TEST", text, re.M)
  if not lines:
    raise TestError("a script called run-* without a #TEST line")
  for key, value in lines:
    if key not in ("requires", "timeoutfactor", "env", "args", ""):
      raise TestError("unknown key '%s' in a #TEST line" % key)
    keys[key] = (keys.get(key, "") + " " + value).strip()
  folder = os.path.basename(os.path.dirname(source))
  name = os.path.splitext(os.path.basename(source))[0][len("run-"):]
  return [Test(name if folder == "tests" else folder + "_" + name, "", source, keys)]

# What words of requires: ask for, as macros of PETSc and of this build. Every other word is a module of Python or a program
MACROS = {
  "single": "PETSC_USE_REAL_SINGLE", "debug": "PETSC_USE_DEBUG", "sanitized": "SANITIZED", "complex": "PETSC_USE_COMPLEX", "cuda": "PETSC_HAVE_CUDA", "kokkos_kernels": "PETSC_HAVE_KOKKOS_KERNELS",
  "onednn": "PETSCMUON_HAVE_ONEDNN", "kokkos": "PETSCMUON_HAVE_KOKKOS"
}

class Config:
  """What the tests may ask about PETSc, PetscMuon and the machine."""

  def __init__(self, petscconf="", muonconf="", fortran="mpif90", sanitized=False):
    self.macros = set(re.findall(r"^\s*#\s*define\s+(\w+)", petscconf + "\n" + muonconf, re.M)) | ({"SANITIZED"} if sanitized else set())
    self.fortran = fortran

  def has(self, word):
    """(there, kind): kind is 'build' for what a build of PETSc decides, 'package' for optional packages, 'program' for what must be installed."""
    macro = re.sub(r"^defined\((\w+)\)$", r"\1", word)
    kind = "build" if macro != word or word in ("single", "double", "complex", "debug", "sanitized") else "package" if word in ALLOWED_SKIPS else "program"
    if word == "double":
      return "PETSC_USE_REAL_SINGLE" not in self.macros, kind
    if macro != word or word in MACROS:
      return MACROS.get(word, macro) in self.macros, kind
    if word in PYTHON_MODULES:
      return python_with(word) is not None, kind
    return shutil.which(self.fortran if word == "fortran" else word) is not None, kind

  def missing(self, requires):
    """(kind, reason) of the first requirement that is not met, else None."""
    for word in requires.split():
      there, kind = self.has(word.lstrip("!"))
      if there == word.startswith("!"):
        return kind, word
    return None

@functools.lru_cache(None)
def python_with(*modules):
  """A Python that has these modules: this one, else the system's."""
  for candidate in (sys.executable, "/usr/bin/python3", shutil.which("python3")):
    if candidate and subprocess.call([candidate, "-c", "import " + ", ".join(modules)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0:
      return candidate
  return None

def numpy_python():
  """A Python that has numpy, and if there is one matplotlib; this one where none has."""
  return python_with("numpy", "matplotlib") or python_with("numpy") or sys.executable

# comparing
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?!\w|\.\d)")

def normal_lines(text):
  return [" ".join(line.split()) for line in text.rstrip().splitlines()]

def same_line(expected, found, tolerance):
  if expected == found:
    return True
  if tolerance <= 0 or NUMBER.sub("#", expected) != NUMBER.sub("#", found):
    return False
  integer = re.compile(r"[-+]?\d+")
  close = lambda a, b: math.isfinite(float(a)) and math.isfinite(float(b)) and abs(float(a) - float(b)) <= tolerance * max(abs(float(a)), abs(float(b)))
  return all(a == b or not (integer.fullmatch(a) and integer.fullmatch(b)) and close(a, b) for a, b in zip(NUMBER.findall(expected), NUMBER.findall(found)))

def compare(expected, found, tolerance=0.0):
  """The differences as lines of text; none where the texts agree, white space apart and reals within the relative tolerance."""
  want, have = normal_lines(expected), normal_lines(found)
  differences = []
  for i, (a, b) in enumerate(itertools.zip_longest(want, have), 1):
    if a is None or b is None or not same_line(a, b, tolerance):
      differences += ["line %d" % i, "< " + ("(nothing)" if a is None else a), "> " + ("(nothing)" if b is None else b)]
  return differences

# outputs that a text quotes
QUOTED = "    $ "

def quoted_command(test):
  """How a reader starts the test."""
  nsize = test.keys.get("nsize", "1")
  program = "./" + os.path.splitext(os.path.basename(test.source))[0]
  return " ".join((["mpiexec -n " + nsize] if nsize not in ("0", "1") else []) + [program] + test.keys.get("args", "").split())

def quoted_lines(text, command):
  """(first, end) of the indented lines below the command; None where the text does not have it."""
  lines = text.splitlines()
  if QUOTED + command not in lines:
    return None
  first = end = lines.index(QUOTED + command) + 1
  while end < len(lines) and lines[end].startswith("    ") and not lines[end].startswith(QUOTED):
    end += 1
  return first, end

def unquoted_runs(root, tests):
  """(text, problem) of the runs that a text quotes and no test makes."""
  problems = []
  for name in sorted({test.output for test in tests if test.output and test.output.endswith(".md")}):
    commands = {quoted_command(test) for test in tests if test.output == name}
    with open(os.path.join(root, name)) as f:
      problems += [(name, "no test runs '%s'" % line[len(QUOTED):]) for line in f.read().splitlines() if line.startswith(QUOTED) and line[len(QUOTED):] not in commands]
  return problems

# What PETSc prints at its end because the runner asks for it
CHATTER = re.compile(r"^(#PETSc Option Table entries:|#End of PETSc Option Table entries|WARNING! There are options you set|WARNING! could be spelling|"
                     r"There (is one|are \d+) unused database option|There are no unused options|Option left: )")
OPTION_LEFT = re.compile(r"^Option left: name:(\S+)")
MEMORY_LEFT = re.compile(r"^\[ ?\d+\] ?\d+ bytes\b")

def split_output(text):
  """(the program's own output, names of unused options, lines of unfreed memory)."""
  text = re.sub(r"^#PETSc Option Table entries:.*?^#End of PETSc Option Table entries[^\n]*\n?", "", text, flags=re.M | re.S)
  own, unused, memory, leak = [], [], [], False
  for line in text.splitlines():
    left = OPTION_LEFT.match(line)
    leak = MEMORY_LEFT.match(line) or leak and re.match(r"^\s+\[\d+\]", line)
    if leak:
      memory.append(line)
    elif left:
      unused.append(left.group(1))
    elif not CHATTER.match(line):
      own.append(line)
  return "\n".join(own) + ("\n" if own else ""), unused, memory

# running
def descendants(pid):
  """The processes below pid. Open MPI gives each rank a process group of its own, so that the group of mpiexec does not reach them."""
  children = {}
  for stat in glob.glob("/proc/[0-9]*/stat"):
    try:
      with open(stat) as f:
        fields = f.read().rpartition(")")[2].split()
      children.setdefault(int(fields[1]), []).append(int(stat.split("/")[2]))
    except (OSError, IndexError, ValueError):
      pass
  found = [pid]
  for parent in found:
    found += children.get(parent, [])
  return found[1:]

def end_processes(process):
  below = descendants(process.pid)
  for end in (signal.SIGTERM, signal.SIGKILL):
    for kill, pid in [(os.killpg, process.pid)] + [(os.kill, pid) for pid in below if end == signal.SIGKILL]:
      with contextlib.suppress(OSError):
        kill(pid, end)
    with contextlib.suppress(subprocess.TimeoutExpired):
      process.wait(GRACE)

def session_folder(cwd):
  """Where Open MPI keeps what belongs to one job: jobs that start at once in one folder race for it. "" where a socket's name would get too long."""
  folder = os.path.join(cwd, ".mpi")
  return folder if len(folder) <= 60 else ""

def without_other_libraries(path):
  """A search path without the folders in which an installed PetscMuon would be found before the one that was built."""
  return os.pathsep.join(part for part in path.split(os.pathsep) if part and not any(name.startswith("libpetscmuon.") for name in (os.listdir(part) if os.path.isdir(part) else [])))

def run_command(command, cwd, env, limit):
  """(exit status or None past the limit, stdout, stderr)."""
  out_name, err_name = os.path.join(cwd, ".stdout"), os.path.join(cwd, ".stderr")
  session = session_folder(cwd)
  if session:
    os.makedirs(session, exist_ok=True)
    env = dict(env, OMPI_MCA_orte_tmpdir_base=session, PRTE_MCA_prte_tmpdir_base=session)
  with open(out_name, "wb") as out, open(err_name, "wb") as err:
    process = subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
    try:
      status = process.wait(limit)
    except BaseException as error:
      end_processes(process)
      if not isinstance(error, subprocess.TimeoutExpired):
        raise
      status = None
  with open(out_name, errors="replace") as out, open(err_name, errors="replace") as err:
    return status, out.read(), err.read()

# Lets every rank of a program that must fail come to its own end and keeps what each one said
RANK_WRAPPER = r"""
ulimit -c 0
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}
"$@" > ".rank.$rank.text" 2>&1
status=$?
echo $status > ".rank.$rank.new" && mv ".rank.$rank.new" ".rank.$rank.status"
waited=0
while [ "$(ls .rank.*.status | wc -l)" -lt "$MUON_TEST_NSIZE" ] && [ $waited -lt 200 ]; do
  sleep 0.1
  waited=$((waited + 1))
done
exit $status
"""

# Each rank then prints its error and ends at once, where PETSc's own handler lets the first rank speak for all, and Open MPI does not wait two seconds for ranks that have all ended
ERROR_ENV = {"PETSC_OPTIONS": "-on_error_abort -nox", "OMPI_MCA_odls_base_sigkill_timeout": "0"}

class Runner:
  def __init__(self, options):
    self.build = os.path.abspath(options.build)
    self.update = options.update
    self.oracles, self.serving = threading.local(), []
    self.limit = options.limit
    petscconf = self.read(options.petscconf)
    self.config = Config(petscconf, self.read(os.path.join(self.build, "include", "petscmuonconf.h")), options.fortran, options.sanitize)
    self.env = dict(os.environ)
    for name in ("PETSC_OPTIONS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "MAKE_TERMOUT", "MAKE_TERMERR"):
      self.env.pop(name, None)
    if "LD_LIBRARY_PATH" in self.env:
      self.env["LD_LIBRARY_PATH"] = without_other_libraries(self.env["LD_LIBRARY_PATH"])
    # MPIs whose programs run without a launcher as well, at a third of the cost
    self.alone = any(re.match("PETSC_HAVE_(OPENMPI|OMPI|MPICH)", macro) for macro in self.config.macros) and "mpi" in os.path.basename(options.mpiexec.split()[0])
    # Tests are small: threads of a BLAS cost more than they bring, and Open MPI looks for networks that it then does not use
    for name, value in (("OPENBLAS_NUM_THREADS", "1"), ("OMP_NUM_THREADS", "1"), ("OMPI_MCA_pml", "ob1")):
      self.env.setdefault(name, value)
    # A narrow OpenBLAS is slow, and a step says so
    kernel = subprocess.run([sys.executable, os.path.join(ROOT, "config", "openblas.py")], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True).stdout.strip()
    if kernel:
      self.env.setdefault("OPENBLAS_CORETYPE", kernel)
    self.env.update({
      "PETSCMUON_DIR": ROOT, "BUILD": self.build, "MPIEXEC": MPIEXEC, "PYTHON3": sys.executable,
      "PETSC_DIR": options.petsc_dir, "PETSC_ARCH": options.petsc_arch, "SLEPC_DIR": options.slepc_dir, "PCC": options.cc, "FORTRAN": options.fortran,
      "NUMPY_PYTHON3": numpy_python(), "MPIEXEC_COMMAND": options.mpiexec, "MAKE": options.make or "make", "MAKEFLAGS": make_flags(),
      # Through the environment, so that programs which know nothing of PETSc see no arguments that are not theirs
      "PETSC_OPTIONS": "-malloc_dump -options_left -nox",
      # Open MPI prints a stack for each signal otherwise
      "OMPI_MCA_opal_signal": ""
    })
    if options.sanitize:
      # Open MPI and what it loads keep memory until the process ends; -malloc_dump watches ours
      self.env.update({"ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0", "UBSAN_OPTIONS": "print_stacktrace=1"})

  @staticmethod
  def read(name):
    if name and os.path.exists(name):
      with open(name, errors="replace") as f:
        return f.read()
    return ""

  def substitute(self, text):
    return re.sub(r"\$\{(\w+)\}", lambda m: self.env.get(m.group(1), m.group(0)), text)

  def program(self, test):
    return os.path.join(self.build, os.path.splitext(test.source)[0])

  @staticmethod
  def python(test):
    """One that has the modules that the test requires, or numpy."""
    modules = [word for word in test.keys.get("requires", "").split() if word in PYTHON_MODULES]
    return python_with(*modules) if modules else numpy_python()

  def skip_reason(self, test):
    """(outcome, reason) where the test does not run: 'skip', 'fail' or 'other'; else None."""
    missing = self.config.missing(test.keys.get("requires", ""))
    if missing is None:
      return None
    kind, word = missing
    return {"build": "other", "package": "skip", "program": "fail"}[kind], "requires " + word

  def run(self, test):
    """(outcome, lines to print)."""
    reason = self.skip_reason(test)
    if reason is not None:
      outcome, text = reason
      return outcome, ["skipped, which is not allowed for: " + text] if outcome == "fail" else [text]
    folder = tempfile.mkdtemp(prefix="muontest-")
    try:
      env, limit = self.environment(test), self.time_limit(test)
      command = ([self.python(test)] if test.source.endswith(".py") else []) + [self.program(test) if test.source.endswith(PROGRAMS) else os.path.join(ROOT, test.source)]
      if not os.path.exists(command[-1]):
        return "fail", ["%s was not built" % os.path.relpath(command[-1], ROOT)]
      command += self.arguments(test, folder)
      if test.full.startswith("fuzz_"):
        env.update({"ASAN_OPTIONS": "detect_leaks=1", "UBSAN_OPTIONS": "print_stacktrace=1"})
        corpus = os.path.join(ROOT, os.path.splitext(test.source)[0] + ".corpus")
        command += ["-seed=1", "-runs=200000", "-max_total_time=3", "-timeout=5", "-rss_limit_mb=1024", "-print_final_stats=0", folder] + [corpus] * os.path.isdir(corpus)
      elif "error" in test.keys:
        return self.run_failing(test, folder, command, env, limit)
      elif test.output:
        return self.judge(test, folder, *run_command(self.launch(test) + command, folder, env, limit))
      return self.outcome(limit, *run_command(command, folder, env, limit))
    except TestError as error:
      return "fail", [str(error)]
    finally:
      shutil.rmtree(folder, ignore_errors=True)

  def environment(self, test):
    env = dict(self.env)
    if test.source.endswith(".py") and test.output:
      env.update({"PETSCMUON_DIR": self.build, "PYTHONDONTWRITEBYTECODE": "1"})
    for word in shlex.split(self.substitute(test.keys.get("env", ""))):
      name, equals, value = word.partition("=")
      if not equals:
        raise TestError("env: expected NAME=value, found '%s'" % word)
      env[name] = value
    return env

  def time_limit(self, test):
    return self.limit * float(test.keys.get("timeoutfactor", "1"))

  @staticmethod
  def outcome(limit, status, out, err):
    """By the status alone."""
    if status == 0:
      return "pass", []
    return "fail", ["still running after %g s" % limit if status is None else "exit status %d" % status] + tail(out + err)

  @staticmethod
  def ranks(test):
    return max(int(test.keys.get("nsize", "1")), 1)

  def launch(self, test):
    nsize = test.keys.get("nsize", "1")
    return [MPIEXEC, "-n", "0" if nsize == "1" and self.alone else nsize]

  def arguments(self, test, folder):
    for name in test.keys.get("localrunfiles", "").split():
      shutil.copy(os.path.join(ROOT, os.path.dirname(test.source), name), folder)
    return shlex.split(self.substitute(test.keys.get("args", ""))) + (["-oracle_dir", "."] if "oracle" in test.keys else [])

  def judge(self, test, folder, status, out, err):
    keys, env, limit = test.keys, self.environment(test), self.time_limit(test)
    own, unused, memory = split_output(out)
    if status != 0:
      return self.outcome(limit, status, own, err)
    unused = [name for name in unused if name not in keys.get("unused", "").split()]
    if unused:
      return "fail", ["options that nothing asked for: " + " ".join(unused)]
    if memory:
      return "fail", ["memory that was not freed:"] + tail("\n".join(memory))
    found = self.filtered(own, keys.get("filter"), folder, env)
    problems = self.check_output(test, own, found, folder, env)
    if not problems and "oracle" in keys:
      problems = self.run_oracle(keys["oracle"], folder, limit)
    return ("fail", problems) if problems else ("pass", [])

  def together(self, test):
    """What cases must have in common to run in one start of MPI; None for those that need one of their own."""
    if not re.fullmatch(r"(tests|tutorials(/(mpi|science|theory|resnet))?)/\w+\.c", test.source) or self.update or self.skip_reason(test) is not None:
      return None
    if not re.search(r"Petsc(Muon)?Initialize\(&argc", self.read(os.path.join(ROOT, test.source))):
      return None
    return test.source, test.keys.get("nsize", "1"), test.keys.get("env", ""), "error" in test.keys

  def run_together(self, tests):
    """{test: (outcome, lines)} of cases that passed in one start of MPI; the others are to run alone, which tells what is wrong."""
    top, results, fails = tempfile.mkdtemp(prefix="muontest-"), {}, "error" in tests[0].keys
    try:
      folders = {test: os.path.join(top, str(i)) for i, test in enumerate(tests)}
      with open(os.path.join(top, "cases"), "w") as f:
        for test, folder in folders.items():
          os.mkdir(folder)
          lines = [folder] + self.arguments(test, folder)
          if not all(lines) or "\n" in "".join(lines):
            return results
          f.write("\n".join(lines) + "\n\n")
      env = dict(self.environment(tests[0]), MUON_TEST_CASES=os.path.join(top, "cases"), **dict(ERROR_ENV, MUON_TEST_ERRORS="1") if fails else {})
      limit = self.time_limit(tests[0]) if fails else sum(self.time_limit(test) for test in tests)
      if run_command(self.launch(tests[0]) + [self.program(tests[0])], top, env, limit)[0] != 0 and not fails:
        return results
      for test, folder in folders.items():
        texts = ["".join(self.read(os.path.join(folder, ".rank.%d.%s" % (rank, name))) for rank in range(self.ranks(test))) for name in ("out", "text")]
        outcome = self.judge_failing(test, folder) if fails else self.judge(test, folder, 0, *texts)
        if outcome[0] == "pass" and os.path.exists(os.path.join(folder, ".rank.0.text")):
          results[test] = outcome
    except (OSError, TestError):
      pass
    finally:
      shutil.rmtree(top, ignore_errors=True)
    return results

  def run_failing(self, test, folder, command, env, limit):
    """The program must end with the text and a status other than 0 on every rank."""
    wrapper, nsize = os.path.join(folder, ".wrapper"), self.ranks(test)
    with open(wrapper, "w") as f:
      f.write(RANK_WRAPPER)
    env = dict(env, MUON_TEST_NSIZE=str(nsize), **ERROR_ENV)
    status, out, err = run_command(self.launch(test) + ["/bin/sh", wrapper] + command, folder, env, limit)
    return self.judge_failing(test, folder, ["still running after %g s" % limit] if status is None else [], tail(out + err))

  def judge_failing(self, test, folder, problems=(), lines=()):
    problems = list(problems)
    for rank in range(self.ranks(test)):
      ended = self.read(os.path.join(folder, ".rank.%d.status" % rank)).strip()
      said = self.read(os.path.join(folder, ".rank.%d.text" % rank))
      if ended in ("", "0"):
        problems.append("rank %d did not fail" % rank if ended else "rank %d did not end" % rank)
      elif " ".join(test.keys["error"].split()) not in " ".join(said.split()):
        problems += ["rank %d failed without saying '%s'" % (rank, test.keys["error"])] + tail(said)
    return ("fail", problems + list(lines)) if problems else ("pass", [])

  def run_oracle(self, oracle, folder, limit):
    """By a process that serves this thread."""
    script, *words = shlex.split(self.substitute(oracle))
    if getattr(self.oracles, "process", None) is None:
      command = [numpy_python(), os.path.join(ROOT, "tests", "oracle", "serve.py")]
      self.oracles.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(self.env, PYTHONDONTWRITEBYTECODE="1"))
      self.serving.append(self.oracles.process)
    output = os.path.join(folder, ".oracle")
    print(json.dumps([script, [folder] + words, folder, output, limit]), file=self.oracles.process.stdin, flush=True)
    status = int(self.oracles.process.stdout.readline() or 1)
    _, lines = self.outcome(limit, None if status == -signal.SIGALRM else status, self.read(output), "")
    return ["the oracle failed: " + lines[0]] + lines[1:] if lines else []

  def end(self):
    for process in self.serving:
      process.communicate()

  def filtered(self, text, command, folder, env):
    if not command:
      return text
    return subprocess.run(["/bin/sh", "-c", self.substitute(command)], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder, env=env).stdout

  def check_output(self, test, own, found, folder, env):
    """With the expected output: a file, or what a text quotes below the command of the test. A text that is filtered, too, quotes what the program printed."""
    name, keys = os.path.join(ROOT, test.output), test.keys
    if not os.path.exists(name) and not self.update:
      return ["there is no %s (--update writes it)" % test.output] if test.output_named else []
    text, what = self.read(name), test.output
    lines, place = text.splitlines(), None
    if name.endswith(".md"):
      place, what = quoted_lines(text, quoted_command(test)), "what %s quotes" % test.output
      if place is None:
        return ["%s does not quote '%s%s'" % (test.output, QUOTED, quoted_command(test))]
      text = "\n".join(line[4:] for line in lines[place[0]:place[1]])
    if not self.update:
      # What is said of the processor at hand
      found = re.sub(r"^ *BLAS: the processor has registers.*\n", "", found, flags=re.M)
      differences = compare(self.filtered(text, keys.get("filter_output"), folder, env), found, float(keys.get("tolerance", "0")))
      return ["output differs from " + what] + differences[:60] if differences else []
    if place:
      lines[place[0]:place[1]] = ["    " + line for line in (own if "filter_output" in keys else found).splitlines()]
      found = "\n".join(lines) + "\n"
    if test.output_named or text or found:
      os.makedirs(os.path.dirname(name), exist_ok=True)
      with open(name, "w") as f:
        f.write(found)
    return []

def tail(text, lines=40):
  return text.rstrip().splitlines()[-lines:]

# all of it
def collect(root=ROOT):
  """All tests, and (source, problem) of the blocks that cannot be read."""
  tests, problems = [], []
  matches = lambda *patterns: sorted({os.path.relpath(name, root) for pattern in patterns for name in glob.glob(os.path.join(root, pattern))})
  scripts, folders = matches("tests/run-*", "tests/*/run-*"), ("tests/*", "tutorials/*")
  sources = [name for name in matches("tutorials/*/*.c", "tests/benchmarks/*.c", *(folder + ending for folder in folders for ending in (".c", ".F90", ".py"))) if name not in scripts]
  for source in sources + scripts:
    with open(os.path.join(root, source), errors="replace") as f:
      text = f.read()
    try:
      found = read_script(source, text) if source in scripts else read_tests(source, text)
      if not found and source.startswith("tests" + os.sep) and os.path.dirname(source) == "tests":
        raise TestError("a test program without a /*TEST block")
      tests += found
    except TestError as error:
      problems.append((source, str(error)))
  for source in matches("tests/fuzz/*.c"):
    tests.append(Test("fuzz_" + os.path.splitext(os.path.basename(source))[0], "", source, {"requires": "clang"}))
  return tests, problems + unquoted_runs(root, tests)

def selected(test, patterns):
  base = os.path.splitext(os.path.basename(test.source))[0]
  return not patterns or any(fnmatch.fnmatchcase(text, pattern) for pattern in patterns for text in (test.full, test.name, base))

def make_flags():
  """The variables given to the make that started this, without its jobserver: that one's pipe is not inherited."""
  return re.sub(r"(^|\s)(-?-jobserver\S*|-j\d*)(?=\s|$)", " ", os.environ.get("MAKEFLAGS", "")).strip()

def build_programs(tests, options):
  programs = sorted({os.path.join(options.build, os.path.splitext(test.source)[0]) for test in tests if test.source.endswith(PROGRAMS)})
  # Two scripts need the tables of parameters at once
  targets = ["lib", os.path.join(options.build, "parameters.tsv")] * any(not test.source.endswith(PROGRAMS) for test in tests) + programs
  env = {name: value for name, value in dict(os.environ, MAKEFLAGS=make_flags()).items() if name not in ("MAKELEVEL", "MFLAGS")}
  command = [options.make, "--no-print-directory"] + ["-s"] * (not re.search(r"(^|\s)V=", env["MAKEFLAGS"]))
  if options.make and targets and subprocess.call(command + ["-k", "-j", str(options.jobs)] + targets, cwd=ROOT, env=env) != 0:
    drop_stale_programs(command, programs, env)

def drop_stale_programs(command, targets, env):
  """A program that does not build any more must not pass as what it was before."""
  for program in (os.path.join(ROOT, target) for target in targets):
    if os.path.isfile(program) and subprocess.call(command + [os.path.relpath(program, ROOT)], cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) != 0:
      os.remove(program)

def grouped(tests, runner):
  """Lists of tests that may run in one start of MPI, few enough to keep all processors busy."""
  groups, open_groups = [], {}
  for test in tests:
    key = runner.together(test)
    group = open_groups.get(key, [])
    if key is None or len(group) in (0, TOGETHER):
      group = open_groups[key] = []
      groups.append(group)
    group.append(test)
  return groups

def timed(runner, tests):
  """[(test, outcome, lines, seconds)] of a group."""
  start = time.monotonic()
  results, found = runner.run_together(tests) if len(tests) > 1 else {}, []
  shared = (time.monotonic() - start) / max(len(results), 1)
  for test in tests:
    start = time.monotonic()
    outcome, lines = results.get(test) or runner.run(test)
    found.append((test, outcome, lines, shared if test in results else time.monotonic() - start))
  return found

def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("patterns", nargs="*", help="names of tests or of programs, globs allowed")
  parser.add_argument("-j", "--jobs", type=lambda n: max(1, int(n)), default=1, help="tests at a time")
  parser.add_argument("--limit", type=float, default=LIMIT, help="seconds a test may take")
  for name, default, what in (
    ("build", "build-installed", "the build folder"), ("make", "", "a make that builds the programs first"), ("mpiexec", "mpiexec", "that of PETSc"), ("petscconf", "", "PETSc's petscconf.h"),
    ("cc", "mpicc", "PETSc's compiler"), ("fortran", "mpif90", "a Fortran compiler with MPI"), ("petsc-dir", "", "PETSc"), ("petsc-arch", "", "its build"), ("slepc-dir", "", "SLEPc")
  ):
    parser.add_argument("--" + name, default=default, help=what)
  for name, what in (
    ("sanitize", "the programs are built with the address sanitizer"), ("update", "write the expected outputs"), ("check", "only the tests of the tutorials whose suffix starts with check"),
    ("list", "print the names and end")
  ):
    parser.add_argument("--" + name, action="store_true", help=what)
  options = parser.parse_args()

  # Our package, and petsc4py where it was built with PETSc
  lib = os.path.join(options.petsc_dir, options.petsc_arch, "lib")
  paths = [os.path.join(ROOT, "share", "petscmuon", "python"), os.path.join(lib, "python3", "dist-packages"), lib]
  os.environ["PYTHONPATH"] = os.pathsep.join(paths + [path for path in [os.environ.get("PYTHONPATH")] if path])
  if options.petsc_arch: # a PETSc of the user's own, which need not have been configured with petsc4py
    ALLOWED_SKIPS.add("petsc4py")
  tests, problems = collect()
  tests = [test for test in tests if selected(test, options.patterns)]
  if options.check:
    tests = [test for test in tests if test.source.startswith("tutorials" + os.sep) and test.keys.get("suffix", "").startswith("check")]
  if options.sanitize:
    tests = [test for test in tests if test.source.endswith(".c") and not test.full.startswith("fuzz_")]
  if options.list:
    print("\n".join(test.full for test in tests))
    return 0
  build_programs(tests, options)
  # Those that take long and run alone come first
  tests.sort(key=lambda test: test.source.endswith(PROGRAMS) and not test.full.startswith("fuzz_"))
  runner, used = Runner(options), lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
  names, others, built = {"pass": [], "fail": [], "skip": []}, {}, used()
  for source, problem in [found for found in problems if selected(Test(found[0], "", found[0], {}), options.patterns)]:
    print("FAIL %s: %s" % (source, problem))
    names["fail"].append(source)
  with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
    futures = [pool.submit(timed, runner, group) for group in grouped(tests, runner)]
    results = (result for future in concurrent.futures.as_completed(futures) for result in future.result())
    for done, (test, outcome, lines, seconds) in enumerate(results, 1):
      if outcome == "other":
        others.setdefault(lines[0], []).append(test.full)
        continue
      names[outcome].append(test.full)
      end = {"pass": " %.1f s" % seconds, "skip": ": " + "".join(lines), "fail": "".join("\n     | " + line for line in lines)}[outcome]
      print("%s (%d/%d) %s%s" % (outcome.upper(), done, len(tests), test.full, end), flush=True)
  runner.end()
  for reason, those in sorted(others.items()):
    print("not for this PETSc, %s: %s" % (reason, " ".join(sorted(those))))
  if names["fail"]:
    print("failed: " + " ".join(names["fail"]))
  if not tests:
    print("no test %s" % ("matches " + " ".join(options.patterns) if options.patterns else "was found"))
  print("%.0f s of processor time" % (used() - built))
  print("%d passed, %d failed, %d skipped" % tuple(len(names[outcome]) for outcome in ("pass", "fail", "skip")))
  return 0 if names["pass"] and not names["fail"] else 1

if __name__ == "__main__":
  sys.exit(main())
