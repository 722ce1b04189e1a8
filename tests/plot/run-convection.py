#!/usr/bin/env python3
#TEST requires: numpy matplotlib
"""Tests what the study of convection has of its own: options of two phases, rates, what is missing, and that the report in the manual is that of its file."""

import math
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import science  # noqa: E402
from science import STARTED, words  # noqa: E402

convection = science.load("convection")


def program(command):
  """In the place of the program: rates are best at 1e-3, but for Muon's at 0.1, and ten vectors are best; L-BFGS ends sooner, and after Muon with half of the error."""
  option = words(command)
  error, passes = 0.01 * int(option["-convection_seed"]), 300 if "-tao_type" in option else 400
  for key, best in (("-muon_learning_rate", 0.1), ("-muon_adamw_learning_rate", 1e-3), ("-tao_lmvm_mat_lmvm_hist_size", 10)):
    if float(option.get(key, -1)) > 0:
      error *= 10 ** abs(math.log10(float(option[key]) / best))
  return "relative error %.3e, loss 1e-6\npasses %d seconds 1.5 bytes 3e6\nhistory 20:0.5 40:0.4\n" % (error / 2 if passes == 300 and "-muon_learning_rate" in option else error, passes)


class Convection(science.Tests, unittest.TestCase):
  module, name, page, program = convection, "convection", "convection.md", staticmethod(program)
  size = ["--passes", "400"]

  def test_study(self):
    report, _ = self.run_it()
    self.assertIn("| AdamW | 0.001 | %.2e, " % (0.01 * 6 ** (1 / 3)), report)
    self.assertIn("| Adam as published, constant rate | 0.001 | ", report)
    self.assertRegex(report, r"\| Muon \| 0.1 \| [^|]*\| 1.00, [^|]*\| no difference seen[^|]*\| 3 \| 1.0e-06 \| 400 \|")
    self.assertRegex(report, r"\| Muon, then `lmvm` \|  \| [^|]*\| 0.50, 0.50 to 0.50 \| better \| 3 \| 1.0e-06 \| 300 \|")
    self.assertNotIn("Not run", report)
    for rate in ("-muon_learning_rate", "-muon_adamw_learning_rate"): # a quarter of the gradients, then the others
      then = [option for option in map(words, STARTED) if "-tao_type" in option and option.get(rate) in ("0.1", "0.001")][0]
      for key, value in {"-muon_max_steps": "100", "-muon_schedule_warmup": "2", "-tao_max_funcs": "300", "-tao_lmvm_mat_lmvm_hist_size": "10", "-convection_history": "20"}.items():
        self.assertEqual(then[key], value)
    STARTED.clear()
    self.assertEqual((self.run_it()[0], STARTED), (report, []))
    report, _ = self.again(lambda lines: [line for line in lines if "-tao_type" not in line], "--report")
    for method in ("L-BFGS of TAO, `lmvm`", "AdamW, then `lmvm`", "Muon, then `lmvm`"):
      self.assertIn("- %s: its number is not chosen yet\n" % method, report)
    self.assertIn("studies/convection.py --program ", report)


if __name__ == "__main__":
  unittest.main()
