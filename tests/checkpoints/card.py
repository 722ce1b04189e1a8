#!/usr/bin/env python3
"""The long form of the tests of checkpoints, `make card`: whole runs whose ranks are killed until the time is over, pairs of numbers of ranks, crashes between any two calls of a save. Totals of all such runs are kept in a file."""

import argparse
import csv
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

import runs as whole_runs  # noqa: E402

# Ranks and options of the runs: another kind of state, exchange and storage each
KINDS = [
  (2, whole_runs.COMPRESSED),
  (3, whole_runs.COMPRESSED + ["-muon_exchange_type", "star", "-muon_state_precision", "single"]),
  (3, ["-ef21_compressor", "powersgd", "-ef21_server_compressor", "natural", "-muon_layer_embed_type", "adamw"]),
  (4, whole_runs.COMPRESSED + ["-nanogpt_shard", "2"]),
  (2, ["-nanogpt_runs", "dense", "-muon_exchange_type", "rows"]),
  (3, ["-nanogpt_runs", "sign", "-muon_learning_rate", "2e-3"]),
]
ROWS = ("ranks killed in whole runs that went on equal", "longest end of such a job in seconds", "double crashes", "elastic pairs of ranks", "runs of the crash model")


class Card:
  def __init__(self, path):
    self.path, self.total, self.failed = path, dict.fromkeys(ROWS, 0.0), 0
    if os.path.exists(path):
      with open(path, newline="") as f:
        self.total.update({row["what"]: float(row["total"]) for row in csv.DictReader(f)})
    self.failed = self.total.pop("failures", 0)

  def add(self, what, count):
    self.total[what] = max(self.total[what], count) if "longest" in what else self.total[what] + count

  def fail(self, error):
    print("FAILED: %s" % error, flush=True)
    self.failed += 1

  def write(self):
    with open(self.path + ".part", "w", newline="") as f:
      out = csv.writer(f, lineterminator="\n")
      out.writerow(("what", "total"))
      for what, total in self.total.items():
        out.writerow((what, "%.2f" % total if "longest" in what else "%d" % total))
      out.writerow(("failures", "%d" % self.failed))
    os.replace(self.path + ".part", self.path)


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--build", required=True)
  parser.add_argument("--mpiexec", required=True)
  parser.add_argument("--minutes", type=float, default=50)
  parser.add_argument("--totals", required=True)
  parser.add_argument("--seed", type=int, default=int(time.time()))
  options = parser.parse_args()
  card, start, last = Card(options.totals), time.monotonic(), time.monotonic() + 60 * options.minutes
  build, before = os.path.abspath(options.build), card.failed

  def say(text):
    left = max(int(last - time.monotonic()), 0)
    print("%3d:%02d left  %s" % (left // 60, left % 60, text), flush=True)

  say("seed %d" % options.seed)
  work = tempfile.mkdtemp(prefix="card.")
  os.chdir(work)

  def program(what, count, command):
    with open("program.log", "wb") as log:
      done = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT)
    if done.returncode == 0:
      card.add(what, count)
    else:
      card.fail("%s: status %d, %s/program.log" % (" ".join(command), done.returncode, work))

  program(ROWS[4], 1, [os.path.join(build, "tests", "file_crash")])
  number = 0
  while time.monotonic() < last:
    ranks, more = KINDS[number % len(KINDS)]
    kind = whole_runs.Runs(options.mpiexec, os.path.join(build, "tutorials", "nanogpt", "nanogpt"), ranks, more, options.seed + number)
    whole, folder = "whole%d" % (number % len(KINDS)), "run%d" % number
    try:
      if number < len(KINDS):
        kind.finish(whole)
      hits, longest = kind.killed(folder, whole, kind.random.randrange(1, 5))
      card.add(ROWS[0], hits)
      card.add(ROWS[1], longest)
      if number % 4 == 3:
        kind.double(folder + "double", whole)
        card.add(ROWS[2], 1)
      for name in os.listdir("."):
        if name.startswith(folder):
          shutil.rmtree(name) if os.path.isdir(name) else os.remove(name)
    except whole_runs.Failed as error:
      card.fail("%s, in %s" % (error, work))
    # Each time the pairs have the next kinds of state
    if number % (2 * len(KINDS)) == len(KINDS) - 1:
      program(ROWS[3], 36, options.mpiexec.split() + ["-n", "8", os.path.join(build, "tests", "muon_checkpoint"), "-pairs", str(options.seed % 9 + number)])
    card.write()
    number += 1
    say("run %d: %d ranks killed, at most %.2f s until the job ended, %d double crashes, %d elastic pairs, %d failures" % (number, card.total[ROWS[0]], card.total[ROWS[1]], card.total[ROWS[2]], card.total[ROWS[3]], card.failed))
  print("%s after %d s: %s" % (options.totals, int(time.monotonic() - start), ", ".join("%s %g" % row for row in card.total.items())))
  if card.failed > before:
    sys.exit(1)
  shutil.rmtree(work)


if __name__ == "__main__":
  main()
