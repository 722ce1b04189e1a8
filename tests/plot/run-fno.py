#!/usr/bin/env python3
#TEST requires: numpy matplotlib
"""Tests the program of the study of the Fourier neural operator: what it runs and chooses, a study that was stopped, and that the report in the manual is that of its file."""

import math
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import science  # noqa: E402
from science import STARTED, words  # noqa: E402

fno = science.load("fno")


def program(command):
  """In the place of the program: AdamW errs by seed / 100 at its best rate, 1e-3; Muon by half of that, but for a thousandth, at 0.1, which is off the first grid."""
  option = words(command)
  seed = int(option["-fno_seed"])
  error = 0.01 * seed
  if "-muon_learning_rate" in option:
    error *= (0.5 + 0.001 * (seed % 2)) * 10 ** abs(math.log10(float(option["-muon_learning_rate"])) + 1)
  else:
    error *= 10 ** abs(math.log10(float(option["-muon_adamw_learning_rate"])) + 3)
  return "relative error %.3e after 500 steps, that of the mean 3.0e-01\nloss 1e-2 bytes 6e7 seconds 0.3 0.04 0.3 0.05\nhistory 2:0.5 4:0.4\n" % error


class Fno(science.Tests, unittest.TestCase):
  module, name, page, program = fno, "fno", "fno.md", staticmethod(program)

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
    again, err = self.again(lambda lines: lines[:-1] + [lines[-1].replace(",1e-2,", ",x,")])
    self.assertEqual((again, len(STARTED), err.count("damaged")), (report, 1, 1))


if __name__ == "__main__":
  unittest.main()
