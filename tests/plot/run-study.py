#!/usr/bin/env python3
#TEST requires: numpy matplotlib
#TEST timeoutfactor: 2
"""Tests the program of the studies with a small program in the place of the training: plans, runs that are stopped and go on, tables."""

import csv
import importlib.util
import os
import sys
import unittest
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STUDIES = os.path.join(ROOT, "tutorials", "nanogpt", "studies")
SPEC = importlib.util.spec_from_file_location("study", os.path.join(STUDIES, "study.py"))
study = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(study)

# Ten steps with the loss 4 - step * rate, 100 bytes up and 50 down a step; STOP ends it in the middle, after a checkpoint at 4 steps
TRAINING = """
import os, sys
words = dict(zip(sys.argv[1::2], sys.argv[2::2])) if len(sys.argv) % 2 else dict(zip(sys.argv[1:-1:2], sys.argv[2::2]))
open("started", "a").write(sys.argv[2] + "\\n")
rate, checkpoint = float(words["-rate"]), words["-muon_checkpoint"]
first = 4 if os.path.isdir(checkpoint) else 0
steps, part = open(words["-muon_monitor_csv"], "a" if first else "w"), open(words["-nanogpt_csv"], "w")
if first:
    lines = open(words["-muon_monitor_csv"]).read().splitlines()[:1 + first]
    steps = open(words["-muon_monitor_csv"], "w")
    steps.write("\\n".join(lines) + "\\n")
else:
    steps.write("step,loss,bits_up,bits_down,reason,validation\\n")
open(words["-nanogpt_csv"] + ".layers", "w").write("layer,entries\\n")
part.write("step,tokens,seconds,seconds_gradient,seconds_lmo,seconds_compress,seconds_exchange,paper_up,paper_down,agreement,contraction_up,contraction_down\\n")
for step in range(first, 10):
    done = step + 1
    if rate > 9 and step == 6:
        sys.exit("Run ef21 stopped at step 6: DIVERGED_NANORINF")
    steps.write("%d,%g,800,400,CONVERGED_ITERATING,%s\\n" % (step, 4 - step * rate, "" if done % 2 else "%g" % (4 - done * rate)))
    if done % 2 == 0:
        part.write("%d,%d,%g,%g,0,0,0,%d,0,-1,-1,-1\\n" % (done, 8 * done, 3 * (done - first), done - first, 8 * 90 * done))
    if os.path.exists("STOP") and done == 6:
        os.makedirs(checkpoint, exist_ok=True)
        steps.close(), part.close()
        os.remove("STOP")
        sys.exit("[0]PETSC ERROR: killed")
print("ef21: validation loss %g (9 sequences) after 10 steps" % (4 - 10 * rate + 0.001 * int(words["-nanogpt_seed"])))
"""

PLAN = """
title "A plan"  # with a comment
seeds 1 2
ranks 1
scale small
tune -short 1
grid rates -rate 0.1 0.2 10
run first rates "the first" -name first -nanogpt_runs dense -local_steps 5 -muon_type local
run second - "the second" -name second -rate 0.1 -nanogpt_runs ef21 -ef21_compressor topk -ef21_compressor qsgd
figure picture link:1e4:both,seconds,paper first second
"""


class Study(unittest.TestCase):
  def setUp(self):
    for name, text in (("training.py", TRAINING), ("plan.txt", PLAN), ("data", "text")):
      with open(name, "w") as f:
        f.write(text)
    study.Study.launch = lambda self, link: [sys.executable, "training.py"]
    for name in ("started", "STOP"):
      if os.path.exists(name):
        os.remove(name)

  def run_it(self, *more, plan="plan.txt", output=None):
    out, said = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(said):
      status = study.main(["--plan", plan, "--data", "data", "--program", "none", "-o", output or self.id(), *more])
    return status, said.getvalue(), out.getvalue()

  def test_report(self):
    self.assertEqual(self.run_it()[:2], (0, ""))
    folder = os.path.join(self.id(), "plan-small")
    with open(os.path.join(folder, "report.md")) as f:
      text = f.read()
    # Ten steps: 1 kB up and .5 kB down; the losses on all data are those of the seeds 1 and 2
    self.assertIn("| the first | 0.2 | 2.0015 (2.0010 to 2.0020) |  | 0.001 | 0.0005 | 1.0000 |", text)
    self.assertIn("| the second | - | 3.0015 (3.0010 to 3.0020) | +1.0000 (+1.0000 to +1.0000) | 0.001 | 0.0005 | 1.0000 |", text)
    # A step is a second of work, and 150 bytes a way take .12 s of a link of 10 kbit/s, none of one of 10 Mbit/s
    self.assertIn("| the first | 10 (10 to 10) | 0.0015 (0.0015 to 0.0015) | 10 (10 to 10) |", text)
    self.assertIn("| the second | never | never | never |", text)
    self.assertIn("0.1 3.0010, 0.2 2.0010, 10 diverged", text)
    self.assertTrue(os.path.getsize(os.path.join(folder, "picture.svg")) > 1000)
    with open(os.path.join(folder, "losses.csv")) as f:
      self.assertEqual(f.read(), "options,loss,least,most\n-local_steps 5 -muon_type local,2.0015,2.001,2.002\n-ef21_compressor qsgd -muon_type ef21,3.0015,3.001,3.002\n")
    # Nothing is run again; another option is an error that names the file
    with open("started") as f:
      started = len(f.readlines())
    self.assertEqual(started, 7)
    self.assertEqual(self.run_it()[:2], (0, ""))
    with open("plan.txt", "w") as f:
      f.write(PLAN.replace("-rate 0.1 -n", "-rate 0.3 -n"))
    status, said, _ = self.run_it()
    self.assertEqual(status, 1)
    self.assertIn("second-seed1/options: this run was made with other options", said)
    with open("started") as f:
      self.assertEqual(len(f.readlines()), started)

    # In the lab the program takes 3 s a step, as everywhere; a second is work, and its bytes are nothing on these links. The worst seed ends at 2
    with open("plan.txt", "w") as f:
      f.write(PLAN)
    self.assertIn("plan.txt: no line says lab", self.run_it("--lab")[1])
    with open("plan.txt", "a") as f:
      f.write("figure measured lab:1e7:seconds first\nlab first\nrun third - third -name third -rate 0.1\n")
    # A disk that is full from the first new run on: an error that names the file, and what is finished stays
    study.open = lambda path, *mode, **more: open("/dev/full" if path.endswith(".part") else path, *mode, **more)
    try:
      status, said, _ = self.run_it("--lab")
    finally:
      del study.open
    self.assertEqual(status, 1)
    self.assertIn(os.path.join("runs", "third-seed1", "options") + ": No space left on device", said)
    self.assertEqual(self.run_it("--lab")[:2], (0, ""))
    with open(os.path.join(folder, "report.md")) as f:
      text = f.read()
    for link in ("10 Mbit/s", "100 Mbit/s", "1 Gbit/s"):
      self.assertIn("| %s | the first | 30 | 10 | 30 | 10 | 0.33 |" % link, text)
    self.assertTrue(os.path.getsize(os.path.join(folder, "measured.svg")) > 1000)
    with open("started") as f:
      self.assertEqual(len(f.readlines()), started + 2 + 3)

  def test_goes_on(self):
    with open("STOP", "w"):
      pass
    status, said, _ = self.run_it()
    self.assertEqual(status, 1)
    self.assertIn("first-tune-0.1/log-00: the run ended with status 1: killed", said)
    self.assertEqual(self.run_it()[:2], (0, ""))
    with open(os.path.join(self.id(), "plan-small", "runs", "first-tune-0.1", "run.csv"), newline="") as f:
      rows = list(csv.DictReader(f))
    # Steps 1 to 4 of the first start and 5 to 10 of the second, and their seconds behind one another
    self.assertEqual([row["step"] for row in rows], ["2", "4", "6", "8", "10"])
    self.assertEqual([float(row["seconds"]) for row in rows], [6, 12, 18, 24, 30])
    self.assertEqual([row["bytes_up"] for row in rows], ["200", "400", "600", "800", "1000"])
    self.assertEqual(rows[-1]["validation_all"], "3.001")

  def test_bad(self):
    for line, words in (("rum a - b", "unknown word rum"), ("run second - twice", "run second is there twice"), ("run x nogrid y", "no grid nogrid"), ("seeds zero", "seeds zero"), ("figure f lots first", "unknown lots"), ("figure f both third", "no run third"), ("lab third", "no run third"), ('note "open', "No closing quotation"),
                        ("grid a b", "grid takes 3 words")):
      with open("bad.txt", "w") as f:
        f.write(PLAN + line + "\n")
      status, said, _ = self.run_it(plan="bad.txt")
      self.assertEqual(status, 1, line)
      self.assertIn("bad.txt:%d: " % (len(PLAN.splitlines()) + 1), said)
      self.assertIn(words, said)
    self.assertIn("no scale 7B; there are small", self.run_it("--scale", "7B")[1])
    os.makedirs("hollow", exist_ok=True)
    self.assertIn("hollow: a folder without data", self.run_it("--data", "hollow")[1])
    self.assertIn("gone: no such data", self.run_it("--data", "data,gone")[1])
    self.assertFalse(os.path.exists("started"))

  def test_plans(self):
    names = [name for name in os.listdir(STUDIES) if name.endswith(".txt")]
    self.assertGreater(len(names), 2)
    for name in names:
      self.assertGreater(len(study.Plan(os.path.join(STUDIES, name), "small").runs), 3)


if __name__ == "__main__":
  unittest.main()
