#!/usr/bin/env python3
#TEST
"""The recipes for Spack and conda-forge: both parse, name what is there, and their commands of make build and install into a clean prefix what make would do here (make -n)."""

import ast
import os
import re
import subprocess

ROOT = os.environ["PETSCMUON_DIR"]
with open(os.path.join(ROOT, "config", "packaging", "spack", "package.py")) as f:
  spack = ast.parse(f.read())
with open(os.path.join(ROOT, "config", "packaging", "conda", "meta.yaml")) as f:
  conda = f.read()
place = {"PETSC_DIR": os.environ["PETSC_DIR"], "PETSC_ARCH": os.environ.get("PETSC_ARCH", ""), "SLEPC_DIR": os.environ["SLEPC_DIR"]}


def make(targets, words):
  """What make would do: a target or a variable that is not there is an error, and no variable is unknown to the makefile."""
  with open(os.path.join(ROOT, "config", "rules.mk")) as f, open(os.path.join(ROOT, "config", "targets.mk")) as g, open(os.path.join(ROOT, "config", "petsc.mk")) as h, open(os.path.join(ROOT, "config", "kokkos.mk")) as k:
    known = f.read() + g.read() + h.read() + k.read()
  for word in words:
    assert re.search(r"\b%s\b" % word.split("=")[0], known), word
  words = [word for word in words if word.split("=")[0] not in place] + ["%s=%s" % pair for pair in place.items()]
  done = subprocess.run([os.environ.get("MAKE", "make"), "-n", "-C", ROOT] + targets + words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
  assert done.returncode == 0, done.stdout[-2000:]


# Spack: the class, its variants and the words of its calls of make
recipe = next(node for node in spack.body if isinstance(node, ast.ClassDef))
calls = [node for node in ast.walk(recipe) if isinstance(node, ast.Call)]
named = lambda function: [call.args[0].value for call in calls if getattr(call.func, "id", "") == function and isinstance(call.args[0], ast.Constant)]
assert set(named("variant")) == {"kokkos", "cuda", "complex", "python", "fortran"}, named("variant")
assert {"mpi", "petsc@3.18: +shared"} <= set(named("depends_on"))
words = ["".join(part.value if isinstance(part, ast.Constant) else "X" for part in node.values) if isinstance(node, ast.JoinedStr) else node.value
         for function in recipe.body if isinstance(function, ast.FunctionDef) and function.name == "arguments" for node in ast.walk(function)
         if isinstance(node, ast.JoinedStr) or isinstance(node, ast.Constant) and re.match(r"[A-Z]+=|[A-Z_]+=$", str(node.value))]
words = [word for word in words if re.match(r"[A-Z_]+=", word) and not word.startswith(("KOKKOS_DIR", "PETSC_DIR=X$"))]
targets = [target for target in named("make") if not target.startswith("-")]
assert targets == ["lib", "check", "install"], targets
for target in targets:
  make([target, "PREFIX=" + os.path.abspath("spack")] if target == "install" else [target], [word for word in words if word != "PETSC_DIR="])

# conda: YAML once what stands in braces is filled in
values = dict(re.findall(r'{% set (\w+) = "(.*?)" %}', conda))
text = re.sub(r"{%.*?%}\n", "", conda)
text = re.sub(r"{{ (\w+) }}", lambda match: values[match.group(1)], text)
text = re.sub(r"{{ (\w+)\(.*?\) }}", r"\1", text)
try:
  import yaml
  assert set(yaml.safe_load(text)) == {"package", "source", "build", "requirements", "test", "about"}
except ImportError:
  pass
commands = re.findall(r"^    - (make .*)", text[text.index("\nbuild:"):text.index("\nrequirements:")], re.M)
assert [command.split()[1] for command in commands] == ["lib", "check", "install"], commands
for command in commands:
  target, *words = command.replace("$PREFIX", os.path.abspath("conda")).split()[1:]
  make([target] + [word for word in words if word.startswith("PREFIX=")], [word for word in words if not word.startswith("PREFIX=")])
versions = re.findall(r"^    - (?:petsc|slepc) (.*)", text, re.M)
assert len(versions) == 4 and len(set(versions)) == 1 and re.match(r"=3\.\d+\.\*=real\*$", versions[0]), versions  # of one number
