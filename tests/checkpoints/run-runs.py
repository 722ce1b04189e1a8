#!/usr/bin/env python3
#TEST requires: numpy
#TEST timeoutfactor: 4
"""Whole runs: ranks that are killed, two crashes one behind the other, weights for inference, and what a second run takes over."""

import os
import re
import signal
import sys
import time
import unittest

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "oracle")]
sys.dont_write_bytecode = True

import nanogpt  # noqa: E402
import runs as whole_runs  # noqa: E402

RANKS = 2
SEED = int(os.environ.get("PETSCMUON_SEED", "1"))


class WholeRuns(unittest.TestCase):
  @classmethod
  def setUpClass(cls):
    cls.runs = whole_runs.from_environment(RANKS, whole_runs.COMPRESSED, SEED)
    cls.runs.finish("whole")

  def test_kills(self):
    for attempt in range(20):
      if self.runs.killed("killed%d" % attempt, "whole", 2)[0] > 0:
        return
    self.fail("20 runs were over before a rank was killed")

  def test_double(self):
    self.runs.double("double", "whole")

  def test_inference(self):
    W = list(whole_runs.weights("whole").values())
    with open(os.path.join(whole_runs.ROOT, "LICENSE"), "rb") as f:
      text = np.frombuffer(f.read(), np.uint8).astype(int)
    # Blocks of T tokens, the last of every 4 held out; the program's validation is over 4 of these, spread over all
    T, every, count = 16, 4, 4
    held = [start for number, start in enumerate(range(0, len(text) - T, T)) if number % every == every - 1]
    places = np.array([held[i * len(held) // count] for i in range(count)])[:, None] + np.arange(T)
    mean = float(nanogpt.model([nanogpt.Node(w.astype(float)) for w in W], text[places], text[places + 1], 2, 0).value[0])
    with open("whole.log") as f:
      said = float(re.search(r"validation loss ([0-9.]+) .*after %d steps" % whole_runs.STEPS, f.read()).group(1))
    # It is said to four places
    self.assertLess(abs(mean - said), 1e-4 if W[0].itemsize == 8 else 1e-3)

  def test_signal(self):
    """A process that is asked makes all of them write a checkpoint, in a run that would write none."""
    job = self.runs.start("asked", "-nanogpt_steps", "1000000", "-muon_checkpoint_interval", "1000000", "-muon_monitor_interval", "1")
    try:
      while job.poll() is None and not self.runs.generations("asked"):
        if os.path.exists("asked.csv") and os.path.getsize("asked.csv") > 200:
          for pid in self.runs.processes(job)[-1:]:
            os.kill(pid, signal.SIGUSR1)
        time.sleep(0.1)
      self.assertIsNone(job.poll())
      self.assertGreater(self.runs.generations("asked")[0][1], 0)
    finally:
      for pid in self.runs.processes(job):
        os.kill(pid, signal.SIGKILL)
      job.wait()
      self.runs.log.close()

  def test_second_run(self):
    """The second run has no checkpoints of the first's, and its own where it is told so."""
    self.runs.finish("first", "-nanogpt_runs", "ef21,dense", "-dense_muon_checkpoint", "second")
    self.assertEqual(len(self.runs.generations("first")), 2)
    self.assertEqual(len(self.runs.generations("second")), 1)
    self.runs.compare("first", "whole")
    # Both are over: neither takes a step
    self.runs.finish("first", "-nanogpt_runs", "ef21,dense", "-dense_muon_restart", "second")
    with open("first.log") as f:
      self.assertEqual(len(re.findall("(ef21|dense): goes on at step %d" % whole_runs.STEPS, f.read())), 2)


if __name__ == "__main__":
  unittest.main(testRunner=unittest.TextTestRunner(stream=sys.stderr))
