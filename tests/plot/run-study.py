#!/usr/bin/env python3
#TEST requires: numpy matplotlib
#TEST timeoutfactor: 2
"""Tests the program of the studies with a small program in the place of the training: plans, rules, the file of runs, reports."""

import csv
import fcntl
import importlib.util
import os
import re
import shutil
import sys
import unittest
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STUDIES = os.path.join(ROOT, "tutorials", "nanogpt", "studies")
SPEC = importlib.util.spec_from_file_location("study", os.path.join(STUDIES, "study.py"))
study = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(study)

# A loss that is least at the rate of -best, with 1/8 a seed and 1/4 less for each step of -length; -bytes a step up, half of it down. STOP ends it in the middle, behind a checkpoint at step 4
TRAINING = """#!%s
import math, os, sys
words = {word: following for word, following in zip(sys.argv[1:], sys.argv[2:] + [""]) if word[0] == "-"}
if "-options_left" in words:
    print("".join("Option left: name:%%s (no value)\\n" %% key for key in words if key == "-nonsense"))
    sys.exit()
open("started", "a").write(words["-name"] + "\\n")
loss = 4 + abs(math.log2(float(words["-rate"]) / float(words["-best"]))) + int(words["-nanogpt_seed"]) %% 100 / 8 * float(words.get("-noise", 1)) - float(words.get("-length", 0)) / 4 + ("tune" in words["-nanogpt_validation_data"]) + 10 * (words["-nanogpt_data"] != "a,b")
size, checkpoint = int(words["-bytes"]), words["-muon_checkpoint"]
first = 4 if os.path.isdir(checkpoint) else 0
kept = open(words["-muon_monitor_csv"]).read().splitlines()[:5] if first else ["step,bits_up,bits_down,validation"]
steps, part = open(words["-muon_monitor_csv"], "w"), open(words["-nanogpt_csv"], "w")
steps.write("\\n".join(kept) + "\\n")
part.write("step,tokens,seconds,seconds_gradient,seconds_lmo,seconds_compress,seconds_exchange,paper_up,paper_down\\n")
for done in range(first + 1, 11):
    steps.write("%%d,%%d,%%d,%%s\\n" %% (done - 1, 8 * size, 4 * size, "" if done %% 2 else "%%g" %% (loss + 1 - done / 10)))
    if done %% 2 == 0:
        part.write("%%d,%%d,%%g,%%g,0,0,0,%%d,%%d\\n" %% (done, (8 + 2 * int(words.get("-length", 0))) * done, 3 * done, done, 16 * size * done, 8 * size * done))
    if os.path.exists("STOP") and done == 6:
        os.makedirs(checkpoint, exist_ok=True)
        steps.close(), part.close(), os.remove("STOP")
        sys.exit("[0]PETSC ERROR: killed")
if float(words["-rate"]) > 9:
    sys.exit("Run stopped at step 9: DIVERGED_NANORINF")
print("validation loss %%g (9 sequences) after 10 steps" %% loss)
""" % sys.executable

PLAN = """
title "A plan"  # with a comment
all -n 0 -noise 1.0
seeds 5
seeds 2 third
at short -length 0
at long -length 4 -- first second
grid rates -rate 0.4 0.8 1.6
run first rates "the first" -name first -best 0.1 -bytes 100 -nanogpt_runs dense -local_steps 5 -muon_type local
run second rates "the second" -name second -best 0.8 -bytes 10 -noise 3 -nanogpt_runs ef21 -ef21_compressor topk
run third =second "the third" -name third -best 0.8 -bytes 10
equal first second
figure picture link:1e4:both,seconds,paper first second
figure ends ends,fewer first second
"""
OUT = "-o", "out"


class Study(unittest.TestCase):
  def setUp(self):
    for name in ("out", self.id()):
      shutil.rmtree(name, ignore_errors=True)
    for name, text in (("training", TRAINING), ("plan.txt", PLAN), ("started", "")):
      with open(name, "w") as f:
        f.write(text)
    os.chmod("training", 0o755)
    study.text.prepare = lambda folder, source: {"sha256": "ab" * 32, "paths": {"train": ["a", "b"], "tune": "tune", "report": "report", "unequal": {"train": ["c", "d"], "tune": "tune-unequal", "report": "report-unequal"}}}

  def run_it(self, *more, plan=None):
    if plan:
      with open("plan.txt", "w") as f:
        f.write(plan)
    out, said = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(said):
      status = study.main(["--plan", "plan.txt", "--program", "training", "--store", self.id(), "--machine", "one", "--commit", "c", *OUT, *more])
    with open("started") as f:
      return status, said.getvalue(), len(f.readlines())

  def path(self, name):
    return os.path.join(self.id(), "plan", name)

  def text(self, name):
    with open(self.path(name)) as f:
      return f.read()

  def test_report(self):
    # The first grows down to .05, by 3 runs; the second has its best inside, and gets as many runs. 5 seeds at two lengths for two methods, 2 for the third
    self.assertEqual(self.run_it("--jobs", "3"), (0, "", 6 + 6 + 20 + 2))
    text = self.text("report.md")
    self.assertIn("- the first, `-rate`: 0.05 6.1250, 0.1 5.1250, 0.2 6.1250, 0.4 7.1250, 0.8 8.1250, 1.6 9.1250\n", text)
    self.assertIn("- the second, `-rate`: 0.2 7.3750, 0.4 6.3750, 0.8 5.3750, 1.6 6.3750, 3.2 7.3750, 6.4 8.3750\n- the third: the rate of the second", text)
    # Differences .25, ..., 1.25: mean .75 and 2.7764 times .25 sqrt(2.5/5), the 97.5% quantile of 4 degrees of freedom; of the third, .25 is the only thing said
    self.assertIn("| the first | 0.1 | 5 | 4.3750 |  |  |  |  | 1.0000 | 1.0000 | 1.0000 | 0.00 |", text)
    self.assertIn("| the second | 0.8 | 5 | 5.1250 | +0.7500 | +0.2592 to +1.2408 | worse | 0.4908 | 0.1000 | 0.1000 | 0.1000 | 0.00 |", text)
    self.assertIn("| the third | 0.8 | 2 | 4.1875 | +0.0000 |  |  |  | 0.1000 |", text)
    # The second comes from 5.125 down to 4.125, and to the loss 4.375 of the first after 3/4 of the way from 80 to 160 tokens: 1.75 times the tokens, 10/1.75 times fewer bytes; some draws do not come there
    self.assertIn("| the second | 5.1250, 4.1250 | 1.75 (1.4 to inf) | 5.71 (0 to 7.14) |", text)
    for name in ("picture.svg", "ends.svg"):
      self.assertTrue(os.path.getsize(self.path(name)) > 1000)
    self.assertEqual(self.text("losses.csv").splitlines()[1:3], ["-local_steps 5 -muon_type local,4.375,4.125,4.625", "-ef21_compressor topk -muon_type ef21,5.125,4.375,5.875"])
    # From the lines alone, without program and text, to the digit; and nothing is run again
    study.text.prepare = None
    shutil.rmtree("out")
    os.remove("training")
    os.remove(self.path("report.md"))
    self.assertEqual(self.run_it()[:2], (0, ""))
    self.assertEqual(self.text("report.md"), text)

  def test_lines(self):
    plan = "all -n 0\nseeds 3\nrun one - one -name one -rate 1 -best 1 -bytes 8\nrun two - two -name two -rate 2 -best 1 -bytes 8\n"
    self.assertEqual(self.run_it(plan=plan), (0, "", 6))
    lines = self.text("runs.csv").splitlines()
    # A run of another machine; a line that was cut, and one whose curve has lost its last point
    with open(self.path("runs.csv"), "w") as f:
      f.write("\n".join(lines + [lines[1].replace(",one,c,", ",two,c,").replace("4.125", "4.325")] + [lines[2][:200], re.sub(" 10:[^ ,]*", "", lines[3])]).replace(lines[3] + "\n", "", 1))
    status, said, started = self.run_it()
    self.assertEqual((status, started), (0, 7)) # the run whose line was damaged
    self.assertIn("plan/runs.csv:8: damaged, not used\nstudy.py: plan/runs.csv:9: damaged, not used", said.replace(os.sep, "/"))
    self.assertIn("| one |  | 3 | 4.2833 |", self.text("report.md")) # (4.225 + 4.25 + 4.375) / 3
    self.assertIn("Machine: one, two.", self.text("report.md"))
    self.assertIn("- plan/runs.csv:8: damaged", self.text("report.md"))
    # The same run of another plan is not run again, and the order and the form of its options do not matter
    os.rename(self.path(""), self.path("")[:-1] + "2")
    self.assertEqual(self.run_it(plan="all -n 0\nrun other - other -bytes 8.0 -best 1 -best 1.0 -rate 10e-1 -name one\n")[2], 7)
    self.assertEqual(len(self.text("runs.csv").splitlines()), 3)
    # Workers that are unequal have another text
    self.assertEqual(self.run_it(plan="all -n 0\ntext unequal\nrun other - other -bytes 8 -best 1 -rate 1 -name one\n")[2], 8)
    self.assertIn("| other |  | 1 | 14.1250 |", self.text("report.md"))
    # A key that the program does not read is refused before any run; so is a disk that is full, by its name
    status, said, started = self.run_it(plan=plan.replace("-rate 2", "-rate 2 -nonsense"))
    self.assertEqual((status, started), (1, 8))
    self.assertIn("run two: the program does not know -nonsense", said)

  def test_goes_on(self):
    plan = "all -n 0\nseeds 3\ngrid g -rate 5 10 20\nrun one g one -name one -best 5 -bytes 8\nrun two - two -name two -rate 10 -best 1 -bytes 8\n"
    with open("STOP", "w"):
      pass
    status, said, _ = self.run_it(plan=plan)
    self.assertEqual(status, 1)
    self.assertIn("log: the run ended with status 1: killed", said)
    # Steps 1 to 4 of the first start and 5 to 10 of the second; rates of 10 diverge, and 2.5 is worse
    self.assertEqual(self.run_it()[:2], (0, ""))
    with open(self.path("runs.csv"), newline="") as f:
      rows = list(csv.DictReader(f))
    self.assertEqual([point.split(":")[0::5] for point in rows[0]["curve"].split()], [["2", "16"], ["4", "32"], ["6", "48"], ["8", "64"], ["10", "80"]])
    self.assertIn("`-rate`: 2.5 6.1250, 5 5.1250, 10 diverged, 20 diverged", self.text("report.md"))
    self.assertIn("| two |  | 3 | 3 diverged |", self.text("report.md"))
    # A run that another process has is left to it; what is not there is said
    options = type("Options", (), {"store": "none", "output": "out", "report": False, "torch": ""})
    one = study.Study(study.Plan("plan.txt"), options)
    run = study.Run(one, "two", "", None, 9)
    os.makedirs(run.folder)
    with open(os.path.join(run.folder, "lock"), "w") as lock:
      fcntl.flock(lock, fcntl.LOCK_EX)
      self.assertEqual(one.start(run), [])
    self.run_it("--report", plan=plan.replace("seeds 3", "seeds 4"))
    self.assertIn("`make study STUDY=plan` goes on with what is missing:\n\n- one: seeds 4\n- two: seeds 4\n", self.text("report.md"))
    self.assertEqual(self.run_it("--report", plan="text other\nrun other - other -best 1\n"), (0, "", 11))
    self.assertIn("| other |  | 0 of 1 | not run |", self.text("report.md"))

  def test_rules(self):
    # Quantiles of tables, and an example of Holm: .01 < .05/3 and .02 < .05/2, but .06 > .05
    for t, n, p in ((12.7062, 1, 0.05), (4.30265, 2, 0.05), (4.60409, 4, 0.01), (2.26216, 9, 0.05), (1.81246, 10, 0.1)):
      self.assertAlmostEqual(study.plot.t_tail(t, n), p, delta=1e-6)
    self.assertAlmostEqual(study.plot.half_width([1, 2, 3, 4, 5]), 2.776445 * (2.5 / 5)**0.5, delta=1e-6)
    shift = lambda mean: [mean + x for x in (-1, 0, 0, 1)] # deviation sqrt(2/3), error sqrt(1/6); 3 degrees of freedom
    pairs = {name: shift(t * (1 / 6)**0.5) for name, t in (("a", -5.84091), ("b", 4.54070), ("c", 2.95051))}
    self.assertEqual(study.compare(pairs, 3)[1], {"a": "better", "b": "worse", "c": "no difference seen"})
    self.assertEqual(study.compare(pairs, 6)[1], dict.fromkeys("abc", "no difference seen"))
    self.assertEqual([study.compare({"a": values}, 1)[1]["a"] for values in ([0.001, 0.003] * 5, [0.001, 0.003] * 4, [0.005, 0.02] * 5, [-0.002, 0.002] * 5)], ["costs nothing", "worse", "worse", "costs nothing"])
    self.assertEqual([study.tokens_to([(10, 3.0), (20, 2.0), (30, 1.5)], loss) for loss in (3.5, 2.5, 1.75, 1.0)], [10, 15, 25, float("inf")])

  def test_signs(self):
    # The polar factor of [4 1; 1 .1], whose determinant is negative, is in the direction of [3.9 2; 2 -3.9]: M less its cofactors. One cubic step of M over its norm leaves the small singular value small
    sys.path.insert(0, os.path.join(ROOT, "tests", "benchmarks"))
    import signs
    found = signs.shares(signs.np.array([[4, 1], [1, 0.1]]))
    self.assertEqual((found["exact"], found["cubic 1 Frobenius"], found["cubic 7 Frobenius"]), (0.25, 0, 0.25))
    self.assertEqual(set(signs.shares(signs.np.array([[3.0, -4.0], [4.0, 3.0]])).values()), {0})

  def test_bad(self):
    for line, words in (("rum a - b", "unknown word rum"), ("run second - twice", "run second is there twice"), ("run x nogrid y", "no grid nogrid"), ("run x =nosuch y", "no grid =nosuch"), ("seeds zero", "seeds zero"), ("figure f lots first", "unknown lots"),
                        ("figure f both fourth", "no run fourth"), ("equal fourth", "no run fourth"), ("at x -a 1 -- fourth", "no run fourth"), ('note "open', "No closing quotation"), ("grid a b", "grid takes 3 words"), ("all -a 1 2", "2 is no option")):
      status, said, started = self.run_it(plan=PLAN + line + "\n")
      self.assertEqual((status, started), (1, 0), line)
      self.assertIn("plan.txt:%d: " % (len(PLAN.splitlines()) + 1), said)
      self.assertIn(words, said)

  def test_published(self):
    """Plans are plans, and the reports in the manual are those of their files, to the digit."""
    store = os.path.join(ROOT, "share", "petscmuon", "doc", "studies")
    for name in ("rivals", "table2", "signmuon", "unequal", "local", "decay", "variants", "larger", "quick", "lab"):
      path, folder = os.path.join(STUDIES, name + ".txt"), os.path.join(store, name)
      self.assertGreater(len(study.Plan(path).runs), 3)
      if os.path.exists(os.path.join(folder, "report.md")):
        shutil.copytree(folder, os.path.join(self.id(), name))
        self.assertEqual(study.main(["--plan", path, "--store", self.id(), "--report"]), 0)
        for one in ("report.md", "losses.csv"):
          with open(os.path.join(folder, one)) as f, open(os.path.join(self.id(), name, one)) as g:
            self.assertEqual(f.read(), g.read(), name)
    # What a paragraph that links to a report, and the table behind it, says to three decimals or more is in the report
    pages = [os.path.join(ROOT, "README.md")] + [os.path.join(os.path.dirname(store), name) for name in os.listdir(os.path.dirname(store)) if name.endswith(".md")]
    for page in pages:
      with open(page) as f:
        blocks = f.read().split("\n\n")
      for block, table in zip(blocks, blocks[1:] + [""]):
        for name in re.findall(r"studies/(\w+)/report.md", block):
          with open(os.path.join(store, name, "report.md")) as f:
            known = f.read()
          for number in re.findall(r"\d+\.\d{3,}", block + table * (table[:1] == "|")):
            self.assertIn(number, known, page)


if __name__ == "__main__":
  unittest.main()
