#!/usr/bin/env python3
#TEST requires: numpy matplotlib
"""Tests the program of the study of the Fourier neural operator: what it runs and chooses, a study that was stopped, and that the report in the manual is that of its file."""

import math
import os
import shutil
import subprocess
import sys
import unittest
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import science  # noqa: E402

fno = science.load("fno")

STARTED = []


def program(command, **_):
  """In the place of the program: AdamW errs by seed / 100 at its best rate, 1e-3; Muon by half of that, but for a thousandth, at 0.1, which is off the first grid."""
  STARTED.append(command)
  words = {word: following for word, following in zip(command, command[1:] + [""]) if word[:1] == "-"}
  seed = int(words["-fno_seed"])
  error = 0.01 * seed
  if "-muon_learning_rate" in words:
    error *= (0.5 + 0.001 * (seed % 2)) * 10 ** abs(math.log10(float(words["-muon_learning_rate"])) + 1)
  else:
    error *= 10 ** abs(math.log10(float(words["-muon_adamw_learning_rate"])) + 3)
  return subprocess.CompletedProcess(command, 0, "relative error %.3e after 500 steps, that of the mean 3.0e-01\nloss 1e-2 bytes 6e7 seconds 0.3 0.04 0.3 0.05\nhistory 2:0.5 4:0.4\n" % error, "")


class Fno(science.Tests, unittest.TestCase):
  module, name, page = fno, "fno", "fno.md"

  def run_it(self, *more):
    sys.argv = ["fno.py", "--program", "./program", "--store", "store", *more]
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
      fno.main()
    with open(os.path.join("store", "fno.md")) as f:
      return f.read(), err.getvalue()

  def setUp(self):
    shutil.rmtree("store", ignore_errors=True)
    STARTED.clear()
    self.run, self.draw = fno.subprocess.run, fno.Report.draw
    fno.subprocess.run = program
    fno.Report.draw = lambda report, path: None # but in the last test

  def tearDown(self):
    fno.subprocess.run, fno.Report.draw = self.run, self.draw

  def test_study(self):
    report, _ = self.run_it("--methods", "adamw,spectral")
    self.assertEqual(set("-fno_blocks" in command or "-ef21_compressor" in command for command in STARTED), {False})
    mean = 0.01 * math.prod(range(1, 6)) ** 0.2
    self.assertIn("| 0.001 | %.2e, " % mean, report)
    self.assertRegex(report, r"\| Muon, a polar factor for each mode \| 0.1 \| [^|]*\| 0.50, 0.50 to 0.50 \| better \| 5 \|")
    self.assertIn("- Adam as published, 500 epochs: seeds 1\n", report)
    self.assertIn("- AdamW, means for each part: its rate is not chosen yet\n", report)
    STARTED.clear()
    report, _ = self.run_it()
    self.assertNotIn("Not run", report)
    self.assertIn("| no difference seen", report) # split is what AdamW is
    self.assertIn(" | 0.12 |\n", report) # 60 MB in 500 steps
    self.assertTrue(all((command[0] == "mpiexec") == ("-ef21_compressor" in command) for command in STARTED))
    # Nothing is left; a line that is damaged is made again, and no other
    STARTED.clear()
    self.assertEqual((self.run_it()[0], STARTED), (report, []))
    path = os.path.join("store", "fno.csv")
    with open(path) as f:
      lines = f.read().splitlines(True)
    with open(path, "w") as f:
      f.write("".join(lines[:-1]) + lines[-1].replace(",1e-2,", ",x,"))
    again, err = self.run_it()
    self.assertEqual((again, len(STARTED), err.count("damaged")), (report, 1, 1))


if __name__ == "__main__":
  unittest.main()
