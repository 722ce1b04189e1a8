#!/usr/bin/env python3
#TEST requires: numpy matplotlib
"""Tests the program of the study of low-rank recovery: the exact curve, tuning, a study that was stopped, and that the report in the manual is that of its file."""

import math
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import science  # noqa: E402
from science import STARTED, words  # noqa: E402

recovery = science.load("recovery")


def program(command):
  """In the place of the program: FISTA alone recovers, from 60 measurements on, and errors of the others are least at the rate 1e-3."""
  option = words(command)
  rate = [float(option[key]) for key in ("-muon_learning_rate", "-muon_adamw_learning_rate", "-recovery_rate") if key in option]
  error = 0.05 * 10 ** abs(math.log10(rate[0]) + 3) if rate else 0.9
  if option.get("-recovery_method") == "fista" and error < 0.1:
    error = 1e-4 if int(option["-recovery_measurements"]) >= 60 else 0.2
  return "errors %s\ngradients 7 seconds 0.5\n" % " ".join(["%g" % error] * int(option["-recovery_instances"]))


class Recovery(science.Tests, unittest.TestCase):
  module, name, page, program = recovery, "recovery", "report.md", staticmethod(program)
  size = ["--size", "16", "--instances", "3", "--tuning", "2", "--seeds", "1"]

  def test_curve(self):
    """Figures that were computed by another program; the curve ends in degrees of freedom at full rank, and is symmetric."""
    for (m, n, rank), known in {(40, 30, 2): 275, (64, 64, 2): 556, (64, 64, 4): 994, (128, 128, 2): 1205, (128, 128, 4): 2223}.items():
      self.assertEqual(round(recovery.threshold(m, n, rank)), known)
      self.assertEqual(recovery.threshold(m, n, rank), recovery.threshold(n, m, rank))
      self.assertGreater(known, rank * (m + n - rank))
    self.assertAlmostEqual(recovery.threshold(20, 30, 19.999), 600, delta=1)

  def test_study(self):
    report, _ = self.run_it()
    self.assertEqual({words(command)["-recovery_seed"] for command in STARTED}, {"1", "101"})
    self.assertIn("| FISTA | 0.001 | 0 of 3, 3 of 3, 3 of 3, 3 of 3, 3 of 3 | 50 to 62 | 1.0e-04, 1.0e-04 to 1.0e-04 | 7 | 0.17 | 0 |", report)
    self.assertIn("| Muon, nuclear | 0.001 | 0 of 3, 0 of 3, 0 of 3, 0 of 3, 0 of 3 | above 124 | 5.0e-02,", report)
    self.assertNotIn("Not run", report)
    # Nothing is left; a line that was cut off and one that is damaged are made again, and no others
    STARTED.clear()
    self.assertEqual((self.run_it()[0], STARTED), (report, []))
    again, err = self.again(lambda lines: lines[:-2] + [lines[-2].replace(",7,", ",x,"), lines[-1][:-5]])
    self.assertEqual((again, len(STARTED), err.count("damaged")), (report, 2, 2))
    # What is missing is named; what recovered nothing with more measurements is known
    report, _ = self.again(lambda lines: [line for line in lines if "lmvm" not in line and not ("nuclear -muon_l" in line and ",1,,," in line and "-recovery_measurements 124" not in line)], "--report")
    self.assertIn("- L-BFGS of TAO, `lmvm`, rank 1: 124, 99, 78, 62, 50\n", report)
    self.assertIn("| Muon, nuclear | 0.001 | (0), (0), (0), (0), 0 of 3 | above 124 |", report)


if __name__ == "__main__":
  unittest.main()
