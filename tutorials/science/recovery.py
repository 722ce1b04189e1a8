#!/usr/bin/env python3
"""Runs what is missing of the study of recovery.c and reports all that is there: recovery.py --program recovery --library libpetscmuon.so

Lines of runs.csv in --store are finished runs; the report and its figure are made of them alone. Each method's rate is chosen with the seed 101 at two numbers of
measurements, by the mean logarithm of the errors, from a grid of factor sqrt(10) that grows until the best is inside. Seeds 1 to --seeds are reported; a seed is a set
of measurements with --instances matrices. A study that was stopped goes on with the same command.
"""

import argparse
import csv
import math
import os
import shlex
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
COLUMNS = ("options", "seed", "machine", "commit", "errors", "gradients", "seconds")
TUNING = 101
SUCCESS = 1e-3
GRADIENTS = 400
RANKS = (2, 1, 4)
FACTORS = (2, 1.6, 1.25, 1, 0.8) # of the exact threshold
TUNED_AT = ((2, 1.25), (2, 2))
T95 = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26, 20: 2.09, 30: 2.05, 40: 2.02} # Student's, of so many values
MUON = "-tao_type muon -muon_schedule linear -muon_momentum 0 "
# name: label, options, key of the rate, exponents of the first rates: 10^(k/2)
METHODS = {
  "nuclear": ("Muon, nuclear", MUON + "-lmo_type nuclear", "-muon_learning_rate", (-4, -3, -2)),
  "ball": ("Muon, nuclear, told the nuclear norm", MUON + "-lmo_type nuclear -muon_weight_decay 1", "-muon_learning_rate", (-4, -3, -2)),
  "spectral": ("Muon, spectral", MUON + "-lmo_type spectral", "-muon_learning_rate", (-8, -7, -6)),
  "adamw": ("AdamW", "-tao_type muon -muon_schedule linear -muon_rule_match *:adamw", "-muon_adamw_learning_rate", (-8, -7, -6)),
  "lmvm": ("L-BFGS of TAO, `lmvm`", "-tao_type lmvm", None, ()),
  "fista": ("FISTA", "-recovery_method fista", "-recovery_rate", (-9, -8, -7)),
  "factored": ("factored descent, told the rank", "-recovery_method factored", "-recovery_rate", (-2, -1, 0)),
  "factored2": ("the same, told twice the rank", "-recovery_method factored", "-recovery_rate", (-2, -1, 0)),
}


def threshold(n1, n2, rank, points=100):
  """Measurements at which half of the minimizations of the nuclear norm succeed: section 4.3 of arXiv:1303.6672, for large sizes."""
  m, n = min(n1, n2), max(n1, n2)
  rho, nu = rank / m, m / n
  y = (nu - rho * nu) / (1 - rho * nu)
  low, high = 1 - math.sqrt(y), 1 + math.sqrt(y)

  def distance(tau): # the mean square distance of a normal matrix from tau times the subdifferential, as a part of all entries
    a, total = max(low, tau), 0
    for k in range(points):
      t = math.pi * (k + 0.5) / points
      u = a + (high - a) * (1 - math.cos(t)) / 2
      total += (u - tau) ** 2 * math.sqrt(max(0, (u * u - low * low) * (high * high - u * u))) / (math.pi * y * u) * math.sin(t)
    total *= (high - a) / 2 * math.pi / points
    return rho * nu + (1 - rho * nu) * (rho * (1 + tau * tau) + (1 - rho) * total)

  a, b = 0, high
  for _ in range(60):
    c, d = a + (b - a) * 0.382, a + (b - a) * 0.618
    a, b = (a, d) if distance(c) < distance(d) else (c, b)
  return n1 * n2 * distance((a + b) / 2)


class Study:
  def __init__(self, options):
    self.options, self.path, self.began = options, os.path.join(options.store, "runs.csv"), time.time()
    self.runs, n = {}, options.size
    self.points = {(rank, factor): round(factor * threshold(n, n, rank)) for rank in RANKS for factor in FACTORS}
    if os.path.exists(self.path):
      with open(self.path, newline="") as f:
        for row in csv.DictReader(f):
          if None not in row.values():
            self.runs[row["options"], int(row["seed"])] = row

  def words(self, method, point, rate):
    _, words, key, _ = METHODS[method]
    n = self.options.size
    width = " -recovery_width %d" % (2 * point[0]) if method == "factored2" else ""
    return "%s%s%s -recovery_size %d -recovery_rank %d -recovery_measurements %d -recovery_gradients %d" % (words, width, " %s %.4g" % (key, 10 ** (rate / 2)) if key else "", n, point[0], self.points[point], GRADIENTS)

  def get(self, method, point, rate, seed):
    """Errors, gradients and seconds of a run; None where it is not there."""
    instances = self.options.tuning if seed == TUNING else self.options.instances
    row = self.runs.get(("%s -recovery_instances %d" % (self.words(method, point, rate), instances), seed))
    return row and ([float(x) for x in row["errors"].split()], int(row["gradients"]), float(row["seconds"]), row)

  def make(self, method, point, rate, seed):
    """The run, made where it is missing; None where it may not be made any more."""
    found = self.get(method, point, rate, seed)
    if found or self.options.report or time.time() - self.began > 60 * self.options.minutes:
      return found
    options = "%s -recovery_instances %d" % (self.words(method, point, rate), self.options.tuning if seed == TUNING else self.options.instances)
    command = [self.options.program, "-recovery_errors", "-recovery_seed", str(seed)] + shlex.split(options) + (["-dll_append", self.options.library] if "-tao_type muon" in options else [])
    out = subprocess.run(command, capture_output=True, text=True)
    lines = dict(line.split(" ", 1) for line in out.stdout.splitlines() if " " in line)
    if out.returncode or "errors" not in lines:
      sys.exit("recovery.py: %s\n%s%s" % (" ".join(command), out.stdout, out.stderr))
    gradients, seconds = lines["gradients"].split(" seconds ")
    row = dict(zip(COLUMNS, (options, seed, self.options.machine, self.options.commit, lines["errors"], gradients, seconds)))
    new = not os.path.exists(self.path)
    with open(self.path, "a", newline="") as f:
      writer = csv.DictWriter(f, COLUMNS, lineterminator="\n")
      if new:
        writer.writeheader()
      writer.writerow(row)
    self.runs[options, seed] = row
    print("%s rank %d, %d measurements, seed %d%s: %s" % (method, point[0], self.points[point], seed, ", 10^%g" % (rate / 2) if rate is not None else "", lines["errors"]), flush=True)
    return self.get(method, point, rate, seed)

  def tuning(self, method):
    """{exponent: mean logarithm of the errors, None where a run is missing}, until the best is inside."""
    losses = {}

    def loss(rate):
      runs = [self.make(method, point, rate, TUNING) for point in TUNED_AT]
      errors = [e if math.isfinite(e) else 1e6 for run in runs if run for e in run[0]]
      return sum(map(math.log10, errors)) / len(errors) if None not in runs else None

    for rate in METHODS[method][3]:
      losses[rate] = loss(rate)
    while losses and None not in losses.values() and len(losses) < 9:
      best = min(losses, key=losses.get)
      if min(losses) < best < max(losses):
        break
      losses[best - 1 if best == min(losses) else best + 1] = loss(best - 1 if best == min(losses) else best + 1)
    return losses

  def rate(self, method):
    """The exponent of the best rate; None where the method has none, False where the tuning is not finished."""
    losses = self.tuning(method)
    return False if None in losses.values() else min(losses, key=losses.get) if losses else None

  def recovered(self, method, point, rate, seed):
    """How many matrices, 0 where more of the same measurements recovered none, None where that is not known."""
    found = self.get(method, point, rate, seed)
    if found:
      return sum(error < SUCCESS for error in found[0])
    more = FACTORS.index(point[1]) - 1
    return 0 if more >= 0 and self.recovered(method, (point[0], FACTORS[more]), rate, seed) == 0 else None

  def everything(self):
    rates = {method: self.rate(method) for method in METHODS}
    rates = {method: rate for method, rate in rates.items() if rate is not False}
    for known in (True, False): # what can still recover something first
      for seed in range(1, self.options.seeds + 1):
        for rank in RANKS:
          for factor in FACTORS:
            for method, rate in rates.items():
              if not known or self.recovered(method, (rank, factor), rate, seed) is None:
                self.make(method, (rank, factor), rate, seed)


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--program", default="./recovery")
  parser.add_argument("--library", default="libpetscmuon.so", help="what -dll_append loads")
  parser.add_argument("--size", type=int, default=64)
  parser.add_argument("--seeds", type=int, default=1)
  parser.add_argument("--instances", type=int, default=10, help="matrices of a seed")
  parser.add_argument("--tuning", type=int, default=3, help="matrices of the seed of the tuning")
  parser.add_argument("--minutes", type=float, default=math.inf, help="begin no run after this time")
  parser.add_argument("--store", default=os.path.join(ROOT, "share", "petscmuon", "doc", "studies", "science"), help="folder that has, or gets, runs.csv and the report")
  parser.add_argument("--machine", default="", help="what lines say of the machine")
  parser.add_argument("--commit", default="", help="what lines say that the program was built from")
  parser.add_argument("--report", action="store_true", help="run nothing, and report what is finished")
  options = parser.parse_args()
  os.makedirs(options.store, exist_ok=True)
  study = Study(options)
  if not options.report:
    study.everything()


if __name__ == "__main__":
  main()
