#!/usr/bin/env python3
#TEST requires: numpy matplotlib
"""Tests the program of the studies of the antiderivative and of diffusion and reaction: what it runs, what it chooses, intervals and verdicts, a study that was stopped, and that the report in the manual is that of its file."""

import math
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import science  # noqa: E402
from science import STARTED, words  # noqa: E402

antiderivative = science.load("antiderivative")


def program(command):
  """In the place of the program: AdamW errs by seed / 100 at its best rate, 1e-3; Muon by half of that, but for a thousandth, at 0.1, which is off the first grid; others by as much as AdamW or a little more or less."""
  option = words(command)
  seed, error = int(command[[word[-5:] for word in command].index("_seed") + 1]), 0.01
  error *= seed
  if "-muon_learning_rate" in option and "-tao_type" not in option:
    error *= (0.5 + 0.001 * (seed % 2)) * 10 ** abs(math.log10(float(option["-muon_learning_rate"])) + 1)
  elif "-muon_adamw_learning_rate" in option and "-tao_type" not in option:
    error *= 10 ** abs(math.log10(float(option["-muon_adamw_learning_rate"])) + 3)
  else:
    for key, best in (("-tao_lmvm_mat_lmvm_hist_size", 10), ("-tao_brgn_subsolver_tao_bnk_ksp_max_it", 32)):
      error *= max(1, abs(math.log10(float(option.get(key, best)) / best)) * 10)
    error *= 1.1 if seed % 2 else 0.95
  if "*.b?:adamw,trunk.W0:adamw,*:soap" in command and float(option["-muon_adamw_learning_rate"]) > 1e-3:
    error = math.nan
  return "relative error %.3e, deviation 1e-3; 2.0e-04 by the trapezoidal rule\npasses 400 seconds 1.5 bytes 3e6 loss 1e-6\nhistory 20:0.5 40:0.4\n" % error


class Antiderivative(science.Tests, unittest.TestCase):
  module, name, page, program = antiderivative, "antiderivative", "antiderivative.md", staticmethod(program)
  size = ["--passes", "400"]

  def test_statistics(self):
    """The quantiles of tables, the closed form of two degrees of freedom, and Holm's own rule by hand."""
    for t, degrees, p in ((2.776445, 4, 0.05), (12.706205, 1, 0.05), (1.0, 1, 0.5), (3.0, 2, 1 - 3 / math.sqrt(11))):
      self.assertAlmostEqual(antiderivative.student(t, degrees), p, delta=1e-6)
    adjusted = antiderivative.holm({"a": 0.04, "b": 0.01, "c": 0.03})
    for name, p in {"b": 0.03, "c": 0.06, "a": 0.06}.items():
      self.assertAlmostEqual(adjusted[name], p)

  def test_study(self):
    report, _ = self.run_it()
    published = [command for command in STARTED if "-antiderivative_decay" in command] # with four times the steps
    self.assertEqual([command[command.index("-muon_max_steps") + 1] for command in published], ["1600"] * 5)
    mean = math.prod(range(1, 6)) ** 0.2
    self.assertIn("| AdamW | 0.001 | %.2e, " % (0.01 * mean), report)
    self.assertRegex(report, r"\| Muon \| 0.1 \| [^|]*\| 0.50, 0.50 to 0.50 \| better \| 5 \|")
    self.assertRegex(report, r"`lmvm` \| 10 \| [^|]*\| 1.04, 0.94 to 1.15 \| no difference seen: it would have to be a factor of 1.10 \|")
    self.assertIn("- SOAP, `-muon_adamw_learning_rate`: 0.0003162", report) # the grid grew away from what diverged
    self.assertIn("| AdamW, then least squares for the last layer |  | %.2e, " % (0.01 * mean), report)
    self.assertIn("| 1.00, 1.00 to 1.00 | no difference seen", report)
    self.assertNotIn("Not run", report)
    gauss = [command for command in STARTED if "brgn" in command and "32" in command][0]
    self.assertEqual(gauss[gauss.index("-tao_max_it") + 1], "6") # 400 passes of 2 * 32 + 6
    then = [command for command in STARTED if "-tao_type" in command and "-muon_learning_rate" in command][0]
    for key, value in {"-muon_max_steps": "200", "-tao_max_funcs": "200", "-muon_learning_rate": "0.1", "-tao_lmvm_mat_lmvm_hist_size": "10"}.items():
      self.assertEqual(words(then)[key], value)
    self.assertTrue(all((command[0] == "mpiexec") == ("-ef21_compressor" in command) for command in STARTED))
    # Nothing is left; a line that is damaged is made again, and no other
    STARTED.clear()
    self.assertEqual((self.run_it()[0], STARTED), (report, []))
    again, err = self.again(lambda lines: lines[:-1] + [lines[-1].replace(",400,", ",x,")])
    self.assertEqual((again, len(STARTED), err.count("damaged")), (report, 1, 1))
    # What is missing is named
    report, _ = self.again(lambda lines: [line for line in lines if "-tao_type brgn" not in line and not ("*:soap" in line and ",3,,," in line)], "--report")
    self.assertIn("- Gauss-Newton of TAO, `brgn`: its number is not chosen yet\n", report)
    self.assertIn("- SOAP: seeds 3\n", report)


class Reaction(Antiderivative):
  name, page, problem = "diffusion-reaction", "diffusion-reaction.md", ["--problem", "diffusion-reaction"]

  def test_study(self):
    """What differs: passes of TAO, of which four steps are one, over a subset, and one published run."""
    report, _ = self.run_it()
    self.assertTrue(all("-reaction_seed" in command and not any("antiderivative" in word for word in command) for command in STARTED))
    self.assertEqual([command[command.index("-muon_max_steps") + 1] for command in STARTED if "-reaction_decay" in command], ["1600"])
    for command in STARTED:
      option = words(command)
      self.assertEqual("-reaction_subset" in command, "-tao_type" in command or "-reaction_last" in command)
      if "-reaction_last" in command:
        self.assertEqual((option["-muon_max_steps"], option["-reaction_last"]), ("360", "5")) # two products in a step of LSQR
      elif option.get("-tao_type") == "lmvm":
        self.assertIn((option["-muon_max_steps"], option["-tao_max_funcs"]), (("0", "100"), ("200", "50")))
      elif "brgn" in command:
        self.assertEqual(option["-tao_max_it"], {"10": "4", "32": "1", "100": "1"}[option["-tao_brgn_subsolver_tao_bnk_ksp_max_it"]])
    self.assertNotIn("Not run", report)

  def test_unknown(self):
    self.problem = ["--problem", "heat"]
    with self.assertRaisesRegex(SystemExit, "--problem heat: expected one of antiderivative, diffusion-reaction"):
      self.run_it()


if __name__ == "__main__":
  unittest.main()
