#!/usr/bin/env python3
"""Runs what is missing of the study of fno.c and reports all that is there: fno.py --program fno

Lines of fno.csv in --store are finished runs; the report and its figure are made of them alone. Each method's rate is chosen with the seed 101 at full length, from a
grid of factor sqrt(10) that grows until the best is inside. Seeds 1 to --seeds are reported; a seed is data, initial weights and batches, the same for all methods.
Adam with the published settings and length is last, one seed of it. A study that was stopped goes on with the same command. --methods name,... makes only these.
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
from antiderivative import holm, student  # noqa: E402
from runs import Runs, carry_out, T95, TUNING, chosen, geometric, interval, tune  # noqa: E402

COLUMNS = ("options", "seed", "machine", "commit", "error", "trivial", "loss", "bytes", "gradient", "step", "history")
PUBLISHED = "0.0108 by the first program, 0.0076 by the later one with gelu and padding, both after 500 epochs of Adam"
LINEAR = "-fno_epochs {epochs} -muon_schedule linear -muon_schedule_warmup {epochs} -muon_adamw_beta2 0.999 -muon_adamw_epsilon 1e-8"
MUON = LINEAR + " -muon_shape_factor moonlight -muon_adamw_learning_rate -1"
ADAMW = LINEAR + " -muon_layer_types *:adamw"
RATE, ADAM_RATE = "-muon_learning_rate", "-muon_adamw_learning_rate"
# name: label, options, key of the rate, its first exponents k of 10^(k/2), ranks. The loss is the mean over a batch of 20, in the published program the sum: so decay and epsilon are a twentieth of its
METHODS = {
  "adamw": ("AdamW, means of \\|g\\|^2", ADAMW, ADAM_RATE, (-6, -5, -4), 1),
  "spectral": ("Muon, a polar factor for each mode", MUON, RATE, (-6, -5, -4), 1),
  "unfolded": ("Muon, a polar factor for all modes of a sign", MUON + " -fno_blocks 2", RATE, (-6, -5, -4), 1),
  "split": ("AdamW, means for each part", ADAMW + " -muon_layer_adamw_complex split", ADAM_RATE, (-6, -5, -4), 1),
  "qsgd": ("Muon for each mode, 4 bits both ways, 2 ranks", MUON + " -muon_type ef21 -ef21_compressor qsgd -ef21_server_compressor qsgd", RATE, (-6, -5, -4), 2),
  "published": ("Adam as published, 500 epochs", "-fno_epochs 500 -fno_halve 100 -fno_cells 252 -muon_layer_types *:adamw -muon_layer_adamw_complex split -muon_adamw_learning_rate 0.001 -muon_adamw_beta2 0.999 -muon_adamw_epsilon 5e-10 -muon_weight_decay 5e-6 -muon_weight_decay_style coupled", None, (), 1),
}
AGAINST = "adamw"


def number(exponent):
  """10^(exponent/2) as an option."""
  return "%.4g" % 10 ** (exponent / 2)


def numbers(row):
  """Those of a line."""
  marks = [mark.split(":") for mark in row["history"].split()]
  return dict({key: float(row[key]) for key in COLUMNS[4:10]}, history=[(int(n), float(error)) for n, error in marks])


class Study:
  def __init__(self, options):
    self.options, self.began = options, time.time()
    self.runs = Runs("fno.py", os.path.join(options.store, "fno.csv"), COLUMNS, numbers)

  def words(self, method, rate):
    epochs, (_, words, key, _, _) = self.options.epochs, METHODS[method]
    interval = max(1, (500 if method == "published" else epochs) // 10)
    return words.format(epochs=epochs) + (" %s %s" % (key, number(rate)) if key else "") + " -fno_functions %d -fno_costs -fno_history %d" % (self.options.functions, interval)

  def get(self, method, rate, seed):
    """A run; None where it is not there."""
    return self.runs.get(self.words(method, rate), seed)

  def make(self, method, rate, seed):
    """The run, made where it is missing; None where it may not be made any more."""
    options, found = self.words(method, rate), self.get(method, rate, seed)
    wanted = self.options.methods.split(",")
    if found or self.options.report or time.time() - self.began > 60 * self.options.minutes or (wanted != [""] and method not in wanted):
      return found
    ranks = METHODS[method][4]
    command = (shlex.split(self.options.mpiexec) + ["-n", str(ranks)] if ranks > 1 else []) + [self.options.program, "-fno_seed", str(seed)] + shlex.split(options)
    out = subprocess.run(command, capture_output=True, text=True)
    lines = dict(line.split(" ", 1) for line in out.stdout.splitlines() if " " in line)
    try:
      words = lines["relative"].replace(",", "").split()
      loss, _, sent, _, gradient, step = lines["loss"].split()[:6]
      run = self.runs.add(options, seed, self.options.machine, self.options.commit, words[1], words[-1], loss, sent, gradient, step, lines.get("history", ""))
    except (IndexError, KeyError, ValueError):
      sys.exit("fno.py: %s\n%s%s" % (" ".join(command), out.stdout, out.stderr))
    print("%s, seed %d%s: %s" % (method, seed, "" if rate is None else ", %s" % number(rate), words[1]), flush=True)
    return run

  def tuning(self, method):
    """{exponent: logarithm of the error, None where a run is missing}, until the best is inside."""
    def loss(rate):
      run = self.make(method, rate, TUNING)
      return None if run is None else math.log10(run["error"]) if math.isfinite(run["error"]) else 6

    return tune(METHODS[method][3], loss)

  def rate(self, method):
    """The exponent of the best rate; None where the method has none, False where the tuning is not finished."""
    return chosen(self.tuning(method))

  def everything(self):
    for method in METHODS:
      rate = self.rate(method)
      for seed in range(1, (self.options.seeds if METHODS[method][2] else 1) + 1):
        if rate is not False:
          self.make(method, rate, seed)


class Report:
  def __init__(self, study):
    self.study, self.out = study, []
    self.rates = {method: study.rate(method) for method in METHODS}
    seeds = range(1, study.options.seeds + 1)
    self.cells = {method: {seed: run for seed in seeds for run in [study.get(method, rate, seed)] if run} if rate is not False else {} for method, rate in self.rates.items()}

  def against(self):
    """{method: (ratio of errors to those of the same seeds, its interval, p)} where both have at least two seeds."""
    found = {}
    for method, runs in self.cells.items():
      d = [math.log10(runs[seed]["error"] / self.cells[AGAINST][seed]["error"]) for seed in runs if seed in self.cells[AGAINST]]
      if method != AGAINST and len(d) > 1 and all(map(math.isfinite, d)):
        mean, half = interval(d)
        t = (math.inf if mean else 0) if half == 0 else mean / half * T95[len(d)]
        found[method] = 10 ** mean, 10 ** (mean - half), 10 ** (mean + half), student(t, len(d) - 1), 10 ** half
    return found

  def table(self):
    against = self.against()
    adjusted = holm({method: values[3] for method, values in against.items()})
    self.out += ["| method | rate | error: mean, 95% interval | error beside AdamW's: ratio, 95% interval | | seeds | loss of training | seconds a gradient, a step | MB a rank and step |", "|" + "---|" * 9]
    for method, (label, _, key, _, ranks) in METHODS.items():
      runs, rate, cells = list(self.cells[method].values()), self.rates[method], []
      if runs:
        mean = lambda column: sum(run[column] for run in runs) / len(runs)
        steps = (500 if method == "published" else self.study.options.epochs) * self.study.options.functions // 20
        cells = ["%.2e, %.2e to %.2e" % geometric([run["error"] for run in runs]) if len(runs) > 1 else "%.2e" % runs[0]["error"], "", "", "%d" % len(runs), "%.1e" % mean("loss"), "%.2f, %.2f" % (mean("gradient"), mean("step")), "%.2f" % (mean("bytes") / 1e6 / steps) if ranks > 1 else ""]
        if method in against:
          ratio, low, high, _, least = against[method]
          cells[1:3] = "%.2f, %.2f to %.2f" % (ratio, low, high), ("better" if ratio < 1 else "worse") if adjusted[method] < 0.05 else "no difference seen: it would have to be a factor of %.2f" % least
      self.out.append("| %s | %s | %s |" % (label, "" if not key else "not chosen yet" if rate is False else number(rate), " | ".join(cells) if runs else "not run" + " |" * 6))

  def draw(self, path):
    import matplotlib
    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    plt.rcParams["svg.hashsalt"] = "fno"
    figure, axes = plt.subplots(figsize=(7, 4))
    for i, (method, runs) in enumerate(self.cells.items()):
      if runs and method != "published":
        run = runs[min(runs)]
        x, y = zip(*run["history"], (self.study.options.epochs, run["error"]))
        axes.plot(x, y, color="C%d" % i, linewidth=1.2, label=METHODS[method][0].replace("\\", ""))
    axes.set(xlabel="epochs", ylabel="relative error", yscale="log", title="first seed")
    axes.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})

  def write(self):
    study, options = self.study, self.study.options
    some = any(runs for method, runs in self.cells.items() if method != "published")
    self.out = ["# A Fourier neural operator for Darcy flow", "", "From a to u with -div(a grad u) = 1, on 85 x 85 points: %d functions to train with, 100 to test with; the error is the mean of the relative L2 errors. Published: %s. Runs have %d epochs of %d steps, with rates that decrease linearly, tuned at this length." % (options.functions, PUBLISHED, options.epochs, options.functions // 20), "",
                "What was expected before the first run, and what it means: [Science](../../science.md)." + (" Machine: %s. Commit %s." % (study.runs.values("machine"), study.runs.values("commit")) if study.runs.runs else ""), ""]
    self.table()
    trivial = [row["trivial"] for row in study.runs.runs.values()]
    self.out += ["", "Means of errors are geometric, intervals Student's, verdicts of the whole table Holm's at 5%. Seconds are the processor's, of each rank beside other programs; MB are a rank's messages, both ways. " + ("The mean solution has the error %.2f. " % (sum(trivial) / len(trivial)) if trivial else "") + "The type `soap` takes no complex layers."]
    self.out += ["", "![Error against epochs](fno.svg)"] * some + ["", "## Rates that were chosen", "", "log10 of the error with the seed %d." % TUNING, ""]
    for method, (label, _, key, _, _) in METHODS.items():
      if key:
        losses = study.tuning(method)
        self.out.append("- %s, `%s`: %s" % (label, key, ", ".join("%s %s" % (number(rate), "not run" if losses[rate] is None else "%.3f" % losses[rate]) for rate in sorted(losses))))
    wanted = {method: options.seeds if METHODS[method][2] else 1 for method in METHODS}
    missing = ["- %s: %s" % (METHODS[method][0], "its rate is not chosen yet" if self.rates[method] is False else "seeds %s" % ", ".join(str(seed) for seed in range(1, wanted[method] + 1) if seed not in runs)) for method, runs in self.cells.items() if len(runs) < wanted[method]]
    if missing:
      self.out += ["", "## Not run", "", "`python3 tutorials/science/studies/fno.py --program build-installed/tutorials/science/fno` goes on with these:", ""] + missing
    with open(os.path.join(options.store, "fno.md"), "w") as f:
      f.write("\n".join(self.out + [""]))
    if some:
      self.draw(os.path.join(options.store, "fno.svg"))


def main():
  carry_out(__doc__, "fno", Report, Study, {"--mpiexec": ("mpiexec --oversubscribe", "what starts two ranks"), "--epochs": (10, "of a run"), "--functions": (1000, "to train with"), "--methods": ("", "to make runs of, all by default")})


if __name__ == "__main__":
  main()
