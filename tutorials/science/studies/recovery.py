#!/usr/bin/env python3
"""Runs what is missing of the study of recovery.c and reports all that is there: recovery.py --program recovery --library libpetscmuon.so

Lines of recovery.csv in --store are finished runs; the report and its figure are made of them alone. Each method's rate is chosen with the seed 101 at two numbers of
measurements, by the mean logarithm of the errors, from a grid of factor sqrt(10) that grows until the best is inside. Seeds 1 to --seeds are reported; a seed is a set
of measurements with --instances matrices. A study that was stopped goes on with the same command.
"""

import math
import os
import shlex
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
from runs import Runs, carry_out, TUNING, chosen, geometric, tune  # noqa: E402

COLUMNS = ("options", "seed", "machine", "commit", "errors", "gradients", "seconds")
SUCCESS = 1e-3
GRADIENTS = 400
RANKS = (2, 1, 4)
FACTORS = (2, 1.6, 1.25, 1, 0.8) # of the exact threshold
TUNED_AT = ((2, 1.25), (2, 2))
MUON = "-tao_type muon -muon_schedule linear -muon_momentum 0 "
# name: label, options, key of the rate, exponents of the first rates: 10^(k/2)
METHODS = {
  "nuclear": ("Muon, nuclear", MUON + "-lmo_type nuclear", "-muon_learning_rate", (-4, -3, -2)),
  "ball": ("Muon, nuclear, told the nuclear norm", MUON + "-lmo_type nuclear -muon_weight_decay 1", "-muon_learning_rate", (-4, -3, -2)),
  "spectral": ("Muon, spectral", MUON + "-lmo_type spectral", "-muon_learning_rate", (-8, -7, -6)),
  "adamw": ("AdamW", "-tao_type muon -muon_schedule linear -muon_layer_types *:adamw", "-muon_adamw_learning_rate", (-8, -7, -6)),
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


def numbers(row):
  errors = [float(x) for x in row["errors"].split()]
  if len(errors) != int(row["options"].rsplit(" ", 1)[1]):
    raise ValueError
  return {"errors": errors, "gradients": int(row["gradients"]), "seconds": float(row["seconds"])}


class Study:
  def __init__(self, options):
    n = options.size
    self.options, self.began = options, time.time()
    self.points = {(rank, factor): round(factor * threshold(n, n, rank)) for rank in RANKS for factor in FACTORS}
    self.runs = Runs("recovery.py", os.path.join(options.store, "recovery.csv"), COLUMNS, numbers)

  def words(self, method, point, rate, seed):
    _, words, key, _ = METHODS[method]
    n = self.options.size
    width = " -recovery_width %d" % (2 * point[0]) if method == "factored2" else ""
    instances = self.options.tuning if seed == TUNING else self.options.instances
    return "%s%s%s -recovery_size %d -recovery_rank %d -recovery_measurements %d -recovery_gradients %d -recovery_instances %d" % (words, width, " %s %.4g" % (key, 10 ** (rate / 2)) if key else "", n, point[0], self.points[point], GRADIENTS, instances)

  def get(self, method, point, rate, seed):
    """A run; None where it is not there."""
    return self.runs.get(self.words(method, point, rate, seed), seed)

  def make(self, method, point, rate, seed):
    """The run, made where it is missing; None where it may not be made any more."""
    found = self.get(method, point, rate, seed)
    if found or self.options.report or time.time() - self.began > 60 * self.options.minutes:
      return found
    options = self.words(method, point, rate, seed)
    command = [self.options.program, "-recovery_errors", "-recovery_seed", str(seed)] + shlex.split(options) + (["-dll_append", self.options.library] if "-tao_type muon" in options else [])
    out = subprocess.run(command, capture_output=True, text=True)
    lines = dict(line.split(" ", 1) for line in out.stdout.splitlines() if " " in line)
    if out.returncode or "errors" not in lines:
      sys.exit("recovery.py: %s\n%s%s" % (" ".join(command), out.stdout, out.stderr))
    gradients, seconds = lines["gradients"].split(" seconds ")
    run = self.runs.add(options, seed, self.options.machine, self.options.commit, lines["errors"], gradients, seconds)
    print("%s rank %d, %d measurements, seed %d%s: %s" % (method, point[0], self.points[point], seed, ", 10^%g" % (rate / 2) if rate is not None else "", lines["errors"]), flush=True)
    return run

  def tuning(self, method):
    """{exponent: mean logarithm of the errors, None where a run is missing}, until the best is inside."""
    def loss(rate):
      runs = [self.make(method, point, rate, TUNING) for point in TUNED_AT]
      errors = [e if math.isfinite(e) else 1e6 for run in runs if run for e in run["errors"]]
      return sum(map(math.log10, errors)) / len(errors) if None not in runs else None

    return tune(METHODS[method][3], loss)

  def rate(self, method):
    return chosen(self.tuning(method))

  def recovered(self, method, point, rate, seed):
    """How many matrices, 0 where more of the same measurements recovered none, None where that is not known."""
    found = self.get(method, point, rate, seed)
    if found:
      return sum(error < SUCCESS for error in found["errors"])
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


def wilson(found, n):
  """The 95% interval of a probability of which found of n were seen."""
  z = 1.96
  middle, half = (found + z * z / 2) / (n + z * z), z * math.sqrt(found * (n - found) / n + z * z / 4) / (n + z * z)
  return max(0, middle - half), min(1, middle + half)


class Report:
  def __init__(self, study):
    self.study, self.out, self.missing = study, [], []
    self.rates = {method: study.rate(method) for method in METHODS}
    self.cells = {} # (method, rank, factor): (recovered, of, runs)
    for method, rate in self.rates.items():
      for rank in RANKS:
        for factor in FACTORS:
          if rate is False:
            self.missing.append((method, rank, factor))
            continue
          seeds = range(1, study.options.seeds + 1)
          found = [study.recovered(method, (rank, factor), rate, seed) for seed in seeds]
          runs = [run for run in (study.get(method, (rank, factor), rate, seed) for seed in seeds) if run]
          if None in found:
            self.missing.append((method, rank, factor))
          known = [x for x in found if x is not None]
          if known:
            self.cells[method, rank, factor] = sum(known), len(known) * study.options.instances, runs

  def half(self, method, rank):
    """Between which numbers of measurements half of the matrices begin to be recovered."""
    study, below = self.study, None
    above = [factor for factor in FACTORS if (method, rank, factor) in self.cells]
    good = []
    for factor in above:
      found, of, _ = self.cells[method, rank, factor]
      if 2 * found < of:
        below = study.points[rank, factor]
        break
      good.append(study.points[rank, factor])
    if not above or above[0] != FACTORS[0]:
      return ""
    return "above %d" % below if not good else "%d to %d" % (below, good[-1]) if below else "up to %d" % good[-1]

  def table(self, rank):
    study, n = self.study, self.study.options.size
    self.out += ["", "## Rank %d: %.0f measurements by the exact curve" % (rank, threshold(n, n, rank)), "",
                 "| method | rate | recovered at %s measurements | half between | error at %d: mean, 95%% interval | gradients | seconds a matrix | MB a rank |" % (", ".join("%d" % study.points[rank, f] for f in reversed(FACTORS)), study.points[rank, FACTORS[0]]), "|" + "---|" * 8]
    for method, (label, _, key, _) in METHODS.items():
      rate = self.rates[method]
      counts = []
      for factor in reversed(FACTORS):
        found, of, runs = self.cells.get((method, rank, factor), (0, 0, []))
        counts.append("%d of %d" % (found, of) if runs else "(0)" if of else "")
      _, _, runs = self.cells.get((method, rank, FACTORS[0]), (0, 0, []))
      cells = ["", "", "", ""]
      if runs:
        gradients, errors = sum(run["gradients"] for run in runs) / len(runs), [e for run in runs for e in run["errors"]]
        cells = ["%.1e, %.1e to %.1e" % geometric(errors), "%d" % gradients, "%.2f" % (sum(run["seconds"] for run in runs) / len(errors)), "%.0f" % (gradients * 8 * n * n / 1e6)]
      self.out.append("| %s | %s | %s | %s | %s |" % (label, "" if not key or rate is False else "%.3g" % 10 ** (rate / 2), ", ".join(counts) if any(counts) else "not run", self.half(method, rank), " | ".join(cells)))

  def tuned(self):
    """What the tuning's own matrices say, at the rates that were chosen by them."""
    study = self.study
    self.out += ["", "## On the matrices of the tuning", "", "Rates were chosen by these matrices, so that the errors are a little too small. Geometric mean and 95%% interval over %d matrices of the seed %d." % (study.options.tuning, TUNING), "",
                 "| method | rate | %s |" % " | ".join("rank %d from %d: recovered | error | gradients | seconds a matrix" % (point[0], study.points[point]) for point in TUNED_AT), "|---|---|" + "---|" * (4 * len(TUNED_AT))]
    for method, (label, _, key, _) in METHODS.items():
      rate, cells = self.rates[method], []
      for point in TUNED_AT:
        run = study.get(method, point, rate, TUNING) if key and rate is not False else None
        cells += ["%d of %d" % (sum(e < SUCCESS for e in run["errors"]), len(run["errors"])), "%.1e, %.1e to %.1e" % geometric(run["errors"]), "%d" % run["gradients"], "%.2f" % (run["seconds"] / len(run["errors"]))] if run else [""] * 4
      if key:
        self.out.append("| %s | %s | %s |" % (label, "not chosen yet" if rate is False else "%.3g" % 10 ** (rate / 2), " | ".join(cells)))

  def draw(self, path):
    import matplotlib
    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    plt.rcParams["svg.hashsalt"] = "recovery"
    study = self.study
    figure, axes = plt.subplots(2, len(RANKS), figsize=(10, 5.6), sharex="col", sharey="row")
    for column, rank in enumerate(sorted(RANKS)):
      exact = threshold(study.options.size, study.options.size, rank)
      for method, (label, _, _, _) in METHODS.items():
        some = [(study.points[rank, f], *self.cells[method, rank, f]) for f in reversed(FACTORS) if (method, rank, f) in self.cells]
        if not some:
          continue
        color = "C%d" % list(METHODS).index(method)
        x, y = [m for m, _, _, _ in some], [found / of for _, found, of, _ in some]
        bars = [wilson(found, of) for _, found, of, _ in some]
        axes[0][column].errorbar(x, y, yerr=[[max(0, a - b[0]) for a, b in zip(y, bars)], [max(0, b[1] - a) for a, b in zip(y, bars)]], color=color, marker="o", markersize=3, linewidth=1.2, elinewidth=0.4, label=label.replace("`", ""))
        errors = [(m, geometric([e for run in runs for e in run["errors"]])) for m, _, _, runs in some if runs]
        axes[1][column].plot([m for m, _ in errors], [e[0] for _, e in errors], color=color, marker="o", markersize=3, linewidth=1.2)
      for row in (0, 1):
        axes[row][column].axvline(exact, color="black", linewidth=0.8, linestyle="--")
      axes[0][column].set(title="rank %d, exact curve %.0f" % (rank, exact))
      axes[1][column].set(xlabel="measurements of 4096 entries" if study.options.size == 64 else "measurements", yscale="log")
      axes[1][column].axhline(SUCCESS, color="gray", linewidth=0.5)
    axes[0][0].set_ylabel("part recovered")
    axes[1][0].set_ylabel("relative error")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="lower center", ncol=4, fontsize=8)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.savefig(path, metadata={"Date": None})

  def write(self):
    study, options = self.study, self.study.options
    self.out = ["# Recovery of matrices of low rank", "", "X is %d x %d, and y_i = <A_i, X> without noise. A matrix counts as recovered where the relative error is below %g. Every method has %d gradients, and ends sooner where the residual is 1e-6 of y. The %d matrices of a seed share their measurements, and fewer measurements are the first of more." % (options.size, options.size, SUCCESS, GRADIENTS, options.instances), "",
                "What was expected before the first run, and what it means: [Science](../../science.md). Machine: %s. Commit %s. Seeds 1 to %d." % (study.runs.values("machine"), study.runs.values("commit"), options.seeds)]
    for rank in sorted(RANKS):
      self.table(rank)
    self.tuned()
    self.out += ["", "\"(0)\" was not run: with more of the same measurements no matrix was recovered. Seconds are the processor's, of one core; programs beside them slowed the caches. MB are those of the gradients that a rank would add to the sum over ranks. Errors are geometric means over matrices."] + ["", "![Parts recovered and errors against measurements](recovery.svg)"] * bool(self.cells) + ["", "## Rates", "", "Means of log10 of the errors of %d matrices of the seed %d, of rank %s." % (options.tuning, TUNING, " and ".join("%d from %d measurements" % (rank, study.points[rank, factor]) for rank, factor in TUNED_AT)), ""]
    for method, (label, words, key, _) in METHODS.items():
      losses = study.tuning(method)
      self.out.append("- %s, `%s`%s" % (label, words.strip(), ": `%s` %s" % (key, ", ".join("%.3g %s" % (10 ** (rate / 2), "not run" if losses[rate] is None else "%.2f" % losses[rate]) for rate in sorted(losses))) if key else ""))
    if self.missing:
      self.out += ["", "## Not run", "", "`python3 tutorials/science/studies/recovery.py --program build-installed/tutorials/science/recovery --library build-installed/lib/libpetscmuon.so` goes on with these measurements:", ""]
      self.out += ["- %s, rank %d: %s" % (METHODS[method][0], rank, ", ".join("%d" % study.points[point] for name, *point in self.missing for point in [tuple(point)] if (name, point[0]) == (method, rank))) for method, rank in dict.fromkeys((method, rank) for method, rank, _ in self.missing)]
    with open(os.path.join(options.store, "report.md"), "w") as f:
      f.write("\n".join(self.out + [""]))
    if self.cells:
      self.draw(os.path.join(options.store, "recovery.svg"))


def main():
  carry_out(__doc__, "recovery", Report, Study, {"--library": ("libpetscmuon.so", "what -dll_append loads"), "--size": (64, "rows and columns"), "--instances": (10, "matrices of a seed"), "--tuning": (3, "matrices of the seed of the tuning")})


if __name__ == "__main__":
  main()
