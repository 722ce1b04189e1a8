#!/usr/bin/env python3
#TEST
"""Tests the adviser: a run of which each time is known, whose rows are computed here from its formulas by hand; a tutorial's messages beside the table of -muon_view_cost; what is no log."""

import os
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ADVISE = os.path.join(ROOT, "share", "petscmuon", "advise")

# Four workers, a million entries in single precision, ten steps; two ranks are the slowest in the LMO, with half of the others
LOG = """
Cost of a step's messages: 4 workers, 5 layers that move, 1000000 entries
  link: 100 us a message, 0.1 Gbit/s each way; 4 GB/s of messages are summed or voted on
  messages of the optimizer: at most 4000000 bytes up, 4000000 down
  its exchanges, * the one chosen
  * layerwise    reduce          24        6e+06     0.4824     0.4824
MuonLMO              700 1.2 %s 2.0 1.68e+08 1.0 0.0e+00 0.0e+00 0.0e+00  0  0  0  0  0   0  0  0  0  0 60342
MuonExchange         360 1.0 5.0000e+00 2.0 0.00e+00 0.0 4.1e+02 6.0e+04 2.7e+02  4  0 98 95 28   4  0 98 95 28     0
MuonStep              10 1.0 7.0000e+00 1.0 4.20e+09 1.0 4.1e+02 6.0e+04 2.7e+02  8 11 98 95 28   8 11 98 95 28 41582
MuonGradient          10 1.0 1.0000e+00 1.0 4.03e+09 1.0 0.0e+00 0.0e+00 0.0e+00  7 11  0  0  0   7 11  0  0  0 48379
#PETSc Option Table entries:
-log_view
-muon_type dense%s
#End of PETSc Option Table entries
""" % ("8.0000e-01", " # (source: command line)")

STUDY = "options,loss,least\n-muon_type dense,1.5,1\n-outer_muon_type ef21 -outer_ef21_compressor natural  -outer_ef21_server_compressor natural -local_steps 30 -muon_type local,1.75,1\n-muon_type dense,1.25,1\n"


def advise(*words):
  done = subprocess.run([sys.executable, ADVISE] + list(words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
  return done.returncode, done.stdout, done.stderr


def rows(text):
  """Words of the rows, by their options."""
  return {line.split("  ")[-1].split(" and ")[0]: [float(word) for word in line[:50].split()[:4]] for line in text.splitlines() if "  -" in line or line.endswith("  this run")}


def write(name, text):
  with open(name, "w") as f:
    f.write(text)
  return name


class Advise(unittest.TestCase):
  def close(self, row, seconds, messages, size):
    for found, expected in zip((row[0], row[2], row[3]), (seconds, messages, size)):
      self.assertLessEqual(abs(found - expected), 1e-3 * expected + 0.5 * (expected > 1e3), (row, seconds, messages, size))

  def test_rows(self):
    words = "ef21_compressor bf16 -ef21_server_compressor bf16"
    # Rows of a study are printed however slow they are
    study = write("study.csv", "options,loss\n-muon_type ef21 -%s,2\n-local_steps 5 -muon_type local,2\n" % words)
    status, text, _ = advise("--noise", "0", "--study", study, write("log", LOG))
    self.assertEqual(status, 0)
    found = rows(text)
    # 24 rounds, and 3/4 of 4 MB in each direction; gradient 0.1 s, LMOs 0.08 s on the slowest rank, 0.24 s of all four, and the step's other 0.02 s
    link = 24e-4 + 6e6 * 8 / 1e8
    self.close(found["this run"], 0.1 + 0.08 + 0.02 + link, link, 6e6)
    # Half of the bytes in bf16, in packets: 3 rounds each way, and 2 for each of 4 records; encoded and summed, a million entries on each rank and as many on the way down, a quarter of them
    packets, bf16 = 14e-4 + 3e6 * 8 / 1e8, 1e6 * (1 / 0.57e9 + 1 / 0.46e9) + 1e6 * (0.25 / 0.57e9 + 1 / 0.46e9)
    self.close(found["-%s -muon_type ef21" % words], 0.1 + 0.08 + 0.02 + bf16 + packets, packets, 3e6)
    # Late messages up, 120 ms, are hidden behind the gradient
    self.close(found["-%s -muon_delay 1 -muon_type ef21" % words], 0.08 + 0.02 + bf16 + packets, packets, 3e6)
    # Every worker has all LMOs in local steps
    self.close(found["-local_steps 5 -muon_type local"], 0.1 + 4 * 0.06 + 0.02 + link / 5, link / 5, 6e6 / 5)
    seconds = [row[0] for row in rows(text).values()][1:]
    self.assertEqual(seconds, sorted(seconds))
    self.assertIn("times as fast as this run's: -", text.splitlines()[-1])

  def test_nodes(self):
    # Two nodes of two ranks: each sends half of the entries in half the calls to the one other, over the node's link; without nodes two ranks send two thirds of their bytes over it
    found = rows(advise("--node", "2", write("log", LOG))[1])
    link = 24e-4 + 2 * 2 / 3 * 6e6 * 8 / 1e8
    self.close(found["this run"], 0.2 + link, link, 6e6)
    node = 1e-4 * (3 + 3 + 2) + 4e6 * 8 / 1e8 + 8e6 / 4e9
    self.close(found["-muon_node_size 2 -muon_type dense"], 0.2 + node, node, 2e6)

  def test_noise(self):
    status, text, _ = advise("--noise", "1000", write("log", LOG))
    self.assertEqual((status, len(rows(text))), (0, 2))
    self.assertEqual(text.splitlines()[-1], "Nothing here is faster than this run by more than 100000%.")
    # Runs that take 0.7 and 0.9 s a step
    status, text, _ = advise("log", write("other", LOG.replace("7.0000e+00", "9.0000e+00")))
    self.assertIn("Measured: 0.8 s a step in 10 steps of 2 runs", text)
    self.assertIn("differs by less than 25% is one row", text)

  def test_study(self):
    # The least loss of several counts, in any order of the options; a row with a loss stands for those like it
    text = advise("--study", write("study.csv", STUDY), "--beta", "1e12", "--alpha", "0", write("log", LOG))[1]
    self.assertRegex(text, r"0 +1\.25  this run\n")
    self.assertRegex(text, r" 1\.75  -local_steps 30 -muon_type local -outer_ef21_compressor natural -outer_ef21_server_compressor natural -outer_muon_type ef21")
    for bad in ("loss\n", "options,loss\n-muon_type dense,many\n", "options,loss\n-muon_type dense\n"):
      status, _, said = advise("--study", write("study.csv", bad), "log")
      self.assertTrue(status == 1 and "study.csv:%d: expected" % (1 + (bad[0] == "o")) in said, said)

  def test_bad(self):
    for text, what in ((LOG.replace("MuonStep ", "Muon ").replace("MuonGradient", "Muon"), "no step in a table of -log_view"), (LOG.replace("Cost of", ""), "no table of -muon_view_cost"), (LOG.replace("4 workers", "1 workers"), "one worker sends no messages")):
      status, _, said = advise(write("log", text))
      self.assertEqual((status, said), (1, "advise: log: %s\n" % what))
    self.assertIn("nosuch: No such file", advise("nosuch")[2])

  def test_tutorial(self):
    """The messages of a run are those that the library predicts: its layer has one owner, so that shares are even where one rank or each has all."""
    subprocess.run([os.environ.get("MAKE", "make"), "--no-print-directory", "-s", "-C", ROOT, os.path.relpath(os.environ["BUILD"], ROOT) + "/tutorials/ex1", "BUILD=" + os.path.relpath(os.environ["BUILD"], ROOT)], check=True)
    for exchange, mode, beta in (("star", "reduce", "1e9"), ("replicated", "allreduce", "1e9"), ("replicated", "gather", "1e9"), ("layerwise", "gather", "1e30")):
      done = subprocess.run([os.path.join(ROOT, "config", "mpiexec"), "-n", "3", os.path.join(os.environ["BUILD"], "tutorials", "ex1"), "-muon_type", "dense", "-muon_exchange_type", exchange, "-muon_exchange_mode", mode, "-muon_cost_beta", beta,
                             "-muon_cost_gamma", "1e30", "-muon_view_cost", "-log_view"], stdout=subprocess.PIPE, universal_newlines=True, check=True)
      expected = float(next(line for line in done.stdout.splitlines() if line.startswith("  * ")).split()[5])
      status, text, said = advise(write("log", done.stdout))
      self.assertEqual((status, said), (0, ""))
      self.assertLessEqual(abs(rows(text)["this run"][2] - expected), 1e-3 * expected, (exchange, mode, text))


if __name__ == "__main__":
  unittest.main(verbosity=2)
