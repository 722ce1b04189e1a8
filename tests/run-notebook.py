#!/usr/bin/env python3
#TEST requires: numpy torch
"""Runs the cells of tutorials/torch.ipynb as IPython does, and compares what they print with what the notebook shows; digits of losses depend on the processor, the first one does not."""

import contextlib
import io
import json
import os
import re
import shutil

with open(os.environ["PETSCMUON_DIR"] + "/tutorials/torch.ipynb") as f:
  cells = [cell for cell in json.load(f)["cells"] if cell["cell_type"] == "code"]
names = {}
os.environ.update(PETSCMUON_DIR=os.environ["BUILD"], PETSC_OPTIONS="")  # the library that is tested, as a notebook finds it
# mpiexec is a name to the notebook, and ours takes any number of ranks
os.mkdir("bin")
shutil.copy(os.environ["MPIEXEC"], "bin/mpiexec")
os.environ["PATH"] = os.path.abspath("bin") + os.pathsep + os.environ["PATH"]


def run(source):
  first, _, rest = source.partition("\n")
  if first.startswith("%%writefile "):
    with open(first.split()[1], "w") as f:
      f.write(rest)
    return "Writing %s\n" % first.split()[1]
  said = io.StringIO()
  with contextlib.redirect_stdout(said):
    if first.startswith("%run "):
      with open(first.split()[1]) as f:
        source = f.read()
    exec(source, names)
  return said.getvalue()


def shown(text):
  return re.sub(r"(loss \d\.\d)\d*", r"\1", text)


for cell in cells:
  expected, found = "".join(line for output in cell["outputs"] for line in output["text"]), run("".join(cell["source"]))
  assert shown(found) == shown(expected), (found, expected)
assert len(cells) == 3 and names["optimizer"].muon.step_number == names["steps"]
