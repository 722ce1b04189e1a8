#!/usr/bin/env python3
#TEST timeoutfactor: 2
"""Compiles and runs every snippet of the README and of the manual.

A block marked `c` with a main() is a program, called as the commands behind it call it. Another one is statements, or functions, of a program with a `muon` that has the layers "hidden" and "embed": all of these are one program.
Blocks marked `fortran` and `python` are programs that run on two ranks.
A block marked `console` has commands behind `$`; those of mpiexec are run, and what stands below them is what they must print, numbers within 10%. Numbers are those of PETSc 3.18 in double precision; other PETScs draw other random
numbers. Targets of make must exist. Blocks marked `text` are no code.
"""

import glob
import os
import re
import shlex
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "config", "tools"))
import runtests

PAGES = ["README.md"] + sorted(os.path.relpath(name, ROOT) for name in glob.glob(os.path.join(ROOT, "share", "petscmuon", "doc", "*.md")))
# Rounding differs between the kernels of a BLAS, and quantized messages amplify it
TOLERANCE = 0.1
# The README sells and starts; everything else is in the manual
MOST_LINES = 130

FRAME = r"""#include <petscmuon.h>

static MuonLayer hidden, embed;
static Mat       A, B;

static PetscErrorCode FormLossAndGradient(Muon muon, PetscReal *loss, void *ctx)
{
  PetscInt n;

  PetscFunctionBeginUser;
  *loss = 0;
  PetscCall(MuonGetNumLayers(muon, &n));
  for (PetscInt l = 0; l < n; l++) {
    MuonLayer layer;
    Mat       W, G;
    PetscReal norm;

    PetscCall(MuonGetLayer(muon, l, &layer));
    PetscCall(MuonLayerGetWeights(layer, &W));
    PetscCall(MuonLayerGetGradient(layer, &G));
    if (W == NULL || G == NULL) continue;
    PetscCall(MatCopy(W, G, SAME_NONZERO_PATTERN));
    PetscCall(MatShift(G, -1));
    PetscCall(MatNorm(G, NORM_FROBENIUS, &norm));
    *loss += norm * norm / 2;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

%(functions)s
int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, NULL));
%(calls)s  PetscCall(PetscMuonFinalize());
  return 0;
}
"""
FUNCTION = r"""static PetscErrorCode %(name)s(void)
{
  Muon muon;

  PetscFunctionBeginUser;
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 64, 32, NULL, &A));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 96, 32, NULL, &B));
  PetscCall(MuonAddLayer(muon, "hidden", A, &hidden));
  PetscCall(MuonAddLayer(muon, "embed", B, &embed));
  PetscCall(MuonSetObjectiveAndGradient(muon, FormLossAndGradient, NULL));
  PetscCall(MuonSetMaxSteps(muon, 2));
  {
#line %(line)d "%(page)s"
%(code)s
  }
  if (muon != NULL) PetscCall(MuonSolve(muon));
  PetscCall(MuonDestroy(&muon));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}
"""


def blocks(page):
  """(line, language, text) of the blocks of a page."""
  with open(os.path.join(ROOT, page)) as f:
    lines = f.read().split("\n")
  found, start = [], None
  for number, line in enumerate(lines):
    fence = re.match(r"```(.*)$", line)
    if fence and start is None:
      start, language = number, fence.group(1).strip()
    elif fence:
      found.append((start + 2, language, "\n".join(lines[start + 1:number])))
      start = None
  assert start is None, "%s:%d: a block that does not end" % (page, start + 1)
  return found


def commands(text):
  """(command, expected output) of a console block."""
  found = []
  for line in text.replace("\\\n", " ").split("\n"):
    if line.startswith("$ "):
      found.append([line[2:].split("#")[0].strip(), []])
    elif found:
      found[-1][1].append(line)
  return found


def same_numbers():
  """Whether this PETSc draws the random numbers of the text."""
  texts = []
  for name in ("petscversion.h", "petscconf.h"):
    found = [path for path in (os.path.join(os.environ["PETSC_DIR"], arch, "include", name) for arch in ("", os.environ.get("PETSC_ARCH", ""))) if os.path.exists(path)]
    with open(found[0]) as f:
      texts.append(f.read())
  return re.search(r"PETSC_VERSION_MINOR\s+18\b", texts[0]) is not None and "PETSC_USE_REAL_SINGLE" not in texts[1]


def comparable(text):
  """Whole numbers with a point, for which a tolerance holds; words alone where numbers may differ."""
  return re.sub(r"(?<![\w.+-])(\d+)(?![\w.])", r"\1.0", text) if same_numbers() else runtests.NUMBER.sub("#", text)


def build(name, text):
  with open(name + ".c", "w") as f:
    f.write(text)
  command = shlex.split(os.environ["PCC"]) + ["-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-I" + os.path.join(ROOT, "include"), name + ".c", "-o", name] + flags()
  done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
  assert done.returncode == 0, done.stdout


def flags():
  """What a program is compiled and linked with."""
  arch = lambda variable: os.path.join(os.environ[variable], os.environ.get("PETSC_ARCH", ""), "lib", "pkgconfig")
  path = ":".join([os.path.join(os.environ["BUILD"], "lib", "pkgconfig"), arch("PETSC_DIR"), arch("SLEPC_DIR"), os.environ.get("PKG_CONFIG_PATH", "")])
  found = subprocess.run(["pkg-config", "--cflags", "--libs", "petscmuon"], env=dict(os.environ, PKG_CONFIG_PATH=path), stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout
  return shlex.split(found) + ["-Wl,-rpath," + os.path.join(os.environ["BUILD"], "lib"), "-lm"]


def run(words):
  done = subprocess.run(shlex.split(os.environ["MPIEXEC"]) + words + ["-options_left"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
  own, unused, _ = runtests.split_output(done.stdout)
  return done.returncode, own, unused, done.stderr


class Snippets(unittest.TestCase):
  @classmethod
  def setUpClass(cls):
    cls.blocks = [(page, line, language, text) for page in PAGES for line, language, text in blocks(page)]
    cls.programs = {}
    for page, line, language, text in cls.blocks:
      if language == "c" and "int main(" in text:
        cls.programs["train"] = text

  def test_languages(self):
    for page, line, language, _ in self.blocks:
      self.assertTrue(language in ("c", "console", "fortran", "make", "python", "text") or language.startswith("{"), "%s:%d: a block marked '%s'" % (page, line, language))
    self.assertEqual(sorted(self.programs), ["train"])

  def test_readme(self):
    with open(os.path.join(ROOT, "README.md")) as f:
      text = f.read()
    self.assertLessEqual(len(text.splitlines()), MOST_LINES)
    for link in re.findall(r"\]\(([^)#]+)", text):
      self.assertTrue(os.path.exists(os.path.join(ROOT, link)), link)

  def test_fragments(self):
    functions, calls = [], []
    for page, line, language, text in self.blocks:
      if language == "c" and "int main(" not in text:
        if re.search(r"^(static )?PetscErrorCode \w+\(", text, re.M):
          functions.append('#line %d "%s"\n%s\n' % (line, page, text))
        else:
          calls.append("Snippet%d" % len(calls))
          functions.append(FUNCTION % {"name": calls[-1], "line": line, "page": page, "code": text})
    self.assertGreater(len(calls), 5)
    build("fragments", FRAME % {"functions": "\n".join(functions), "calls": "".join("  PetscCall(%s());\n" % name for name in calls)})
    status, own, _, err = run(["-n", "2", "./fragments"])
    self.assertEqual(status, 0, own + err)

  def test_fortran(self):
    module = os.path.join(os.environ["BUILD"], "include", "petscmuon.f90")
    subprocess.run([os.environ.get("MAKE", "make"), "--no-print-directory", "-s", "-C", ROOT, os.path.relpath(module, ROOT), "BUILD=" + os.path.relpath(os.environ["BUILD"], ROOT)], check=True)
    for k, text in enumerate(text for _, _, language, text in self.blocks if language == "fortran"):
      name = "fortran%d" % k
      with open(name + ".F90", "w") as f:
        f.write(text)
      subprocess.run(shlex.split(os.environ["FORTRAN"]) + [module, name + ".F90", "-o", name] + flags(), check=True)
      status, own, _, err = run(["-n", "2", "./" + name])
      self.assertEqual(status, 0, own + err)

  def test_python(self):
    os.environ["PYTHONPATH"] = os.pathsep.join([os.path.join(ROOT, "share", "petscmuon", "python"), os.environ.get("PYTHONPATH", "")])
    for k, text in enumerate(text for _, _, language, text in self.blocks if language == "python"):
      name = "python%d.py" % k
      with open(name, "w") as f:
        f.write(text)
      status, own, _, err = run(["-n", "2", "env", "PETSCMUON_DIR=" + os.environ["BUILD"], runtests.python_with("numpy", "mpi4py"), name])
      self.assertEqual(status, 0, own + err)

  def test_commands(self):
    with open(os.path.join(ROOT, "config", "targets.mk")) as f:
      targets = set(re.search(r"^\.PHONY: (.*)$", f.read(), re.M).group(1).split())
    built, ran = set(), 0
    for page, line, language, text in self.blocks:
      for command, expected in commands(text) if language == "console" else []:
        where = "%s:%d: %s" % (page, line, command)
        words = shlex.split(command.split(" > ")[0].replace("$HOME", "/home"))
        if words[0] in ("make", "./config/bootstrap"):
          for word in words[1:]:
            self.assertTrue("=" in word or word in targets or word == "ex1", where)
          continue
        if words[0] != "mpiexec":
          self.assertIn(words[0], ("export", "git", "pkg-config", "mpicc", "cmake", "python3", "share/petscmuon/advise", "share/petscmuon/plot.py", "share/petscmuon/checkpoint.py", "share/petscmuon/lab/run"), where)
          continue
        program = words[3][2:]
        if program not in built:
          built.add(program)
          if program in self.programs:
            build(program, self.programs[program])
          else:
            with open(os.path.join(ROOT, "tutorials", program + ".c")) as f:
              build(program, f.read())
        # What is not shown is short
        status, own, unused, err = run(words[1:] + ([] if expected else ["-muon_max_steps", "2"]))
        self.assertEqual((status, unused), (0, []), where + "\n" + own + err)
        if expected:
          self.assertEqual(runtests.compare(comparable("\n".join(expected)), comparable(own), TOLERANCE), [], where)
        ran += 1
    self.assertGreater(ran, 0)


if __name__ == "__main__":
  unittest.main()
