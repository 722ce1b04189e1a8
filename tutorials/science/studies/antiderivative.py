#!/usr/bin/env python3
"""Runs what is missing of the study of antiderivative.c, or of reaction.c, and reports all that is there:

  antiderivative.py --program antiderivative
  antiderivative.py --problem diffusion-reaction --program reaction

Lines of the problem's csv in --store are finished runs; the report and its figure are made of them alone. AdamW and Muon are first, then Adam with the published settings
and length. Each method's rate, or other number, is chosen with the seed 101 at full length, from a grid of factor sqrt(10) that grows until the best is inside. Seeds 1 to
--seeds are reported; a seed is data, initial weights and batches, the same for all methods. A study that was stopped goes on with the same command.
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
from runs import Runs, carry_out, T95, TUNING, chosen, geometric, interval, tune  # noqa: E402

COLUMNS = ("options", "seed", "machine", "commit", "error", "deviation", "rule", "passes", "seconds", "bytes", "loss", "history")
# program: of the problem, and prefix of its options. cost: of a pass of TAO in steps of Muon, by processor time; subset: options of what TAO sees; repeats: of the published run
PROBLEMS = {
  "antiderivative": {
    "program": "antiderivative", "command": "antiderivative.py", "published": 5.01e-3, "anchor": "Published: %.2e after 40000 steps of Adam.", "passes": 10000, "functions": 10000, "matrices": ("branch.W0", "branch.W1", "trunk.W1"), "scale": "10", "cost": 1, "subset": "", "repeats": True,
    "title": "A DeepONet for the antiderivative",
    "text": "s' = u, s(0) = 0: from 100 values of u to s anywhere. %d functions to train with, 1000 to test with; the error is the mean of the relative L2 errors on 100 points.",
    "equal": "Every method has %d passes over the data, the published one four times as many.", "pass": "A pass is a gradient, or a product with the Jacobian or its transpose.",
    "simple": "the trapezoidal rule with the same 100 values",
  },
  "diffusion-reaction": {
    "program": "reaction", "command": "antiderivative.py --problem diffusion-reaction", "published": 9.71e-3, "anchor": "Published: %.2e after 120000 steps of Adam.", "passes": 30000, "functions": 5000, "cost": 4, "subset": " -reaction_subset 1000", "repeats": False,
    "matrices": tuple("branch.W%d" % l for l in range(5)) + tuple("trunk.W%d" % l for l in range(1, 5)), "scale": "7.07",
    "title": "A DeepONet for diffusion and reaction",
    "text": "u_t = 0.01 u_xx + 0.01 u^2 + f(x) on the unit square, zero at first and at both ends: from 100 values of f to u anywhere. %d functions with 100 values of u each to train with, 100 functions to test with; the error is the mean of the relative L2 errors on 100 x 100 points.",
    "equal": "Every method has the time of %d steps, the published one four times as much. A step is a gradient of 100 functions; TAO sees a subset of 1000 functions, the same in each pass, and has a quarter as many passes, which take as long.",
    "pass": "A pass is a gradient of a batch, or of the subset, or a product with its Jacobian or the transpose.", "simple": "the formula t f(x)",
  },
}
ADAM = " -muon_adamw_beta2 0.999 -muon_adamw_epsilon 1e-8"
LINEAR = "-muon_max_steps {passes} -muon_schedule linear -muon_schedule_warmup {warmup}" + ADAM
MUON = LINEAR + " -muon_shape_factor moonlight -muon_adamw_learning_rate -1"
HISTORY, STEPS, RATE, ADAM_RATE = "-tao_lmvm_mat_lmvm_hist_size", "-tao_brgn_subsolver_tao_bnk_ksp_max_it", "-muon_learning_rate", "-muon_adamw_learning_rate"
QSGD = " -muon_type ef21 -ef21_compressor qsgd -ef21_server_compressor qsgd"
# name: label, options, key of what is chosen, its first exponents k of 10^(k/2), ranks
METHODS = {
  "published": ("Adam as published, four times the steps", "-muon_max_steps {passes} -muon_layer_types *:adamw -muon_adamw_learning_rate 0.001 -{program}_decay 0.9" + ADAM, None, (), 1),
  "adamw": ("AdamW", LINEAR + " -muon_layer_types *:adamw", ADAM_RATE, (-6, -5, -4), 1),
  "spectral": ("Muon", MUON, RATE, (-6, -5, -4), 1),
  "lmvm": ("L-BFGS of TAO, `lmvm`", "-muon_max_steps 0 -tao_type lmvm -tao_max_it {tao} -tao_max_funcs {tao}", HISTORY, (1, 2, 3), 1),
  "then": ("Muon, then `lmvm`, half of the passes each", None, None, (), 1),
  "soap": ("SOAP", LINEAR + " -muon_layer_types *.b?:adamw,trunk.W0:adamw,*:soap", ADAM_RATE, (-6, -5, -4), 1),
  "frobenius": ("Muon, Frobenius norm", MUON + " -lmo_type frobenius{scales}", RATE, (-6, -5, -4), 1),
  "brgn": ("Gauss-Newton of TAO, `brgn`", "-muon_max_steps 0 -tao_type brgn -tao_max_it {outer}", STEPS, (2, 3, 4), 1),
  "qsgd": ("Muon, 4 bits both ways, 2 ranks", MUON + QSGD, RATE, (-6, -5, -4), 2),
  "last": ("AdamW, then least squares for the last layer", None, None, (), 1),
}
AGAINST = "adamw"


def number(key, exponent):
  """10^(exponent/2) as an option: how many of something, or a rate."""
  return "%d" % max(1, round(10 ** (exponent / 2))) if key in (HISTORY, STEPS) else "%.4g" % 10 ** (exponent / 2)


def student(t, degrees, points=2000):
  """The probability that Student's t is at least so large in size, by Simpson's rule in atan(t / sqrt(degrees))."""
  a = math.atan(abs(t) / math.sqrt(degrees))
  f = lambda i: math.cos(a + (math.pi / 2 - a) * i / points) ** (degrees - 1)
  total = sum(f(i) * (1 if i in (0, points) else 2 + 2 * (i % 2)) for i in range(points + 1)) * (math.pi / 2 - a) / points / 3
  return 2 * total * math.gamma((degrees + 1) / 2) / math.sqrt(math.pi) / math.gamma(degrees / 2)


def holm(p):
  """{name: p adjusted for all of the table}"""
  adjusted, last = {}, 0
  for i, name in enumerate(sorted(p, key=p.get)):
    last = adjusted[name] = max(last, min(1, (len(p) - i) * p[name]))
  return adjusted


def numbers(row):
  """Those of a line."""
  marks = [mark.split(":") for mark in row["history"].split()]
  return dict({key: float(row[key]) for key in ("error", "deviation", "rule", "passes", "seconds", "bytes", "loss") if key in row}, history=[(float(n), float(error)) for n, error in marks])


class Study:
  """A study of the same kind has methods, columns and a script of its own, options of a run, and what a run prints: convection.py."""
  methods, columns, script = METHODS, COLUMNS, "antiderivative.py"

  def __init__(self, options):
    if options.problem not in PROBLEMS:
      sys.exit("antiderivative.py: --problem %s: expected one of %s" % (options.problem, ", ".join(PROBLEMS)))
    self.options, self.problem, self.began = options, PROBLEMS[options.problem], time.time()
    self.passes, self.functions = options.passes or self.problem["passes"], options.functions or self.problem["functions"]
    self.read()

  def read(self):
    self.runs = Runs(self.script, os.path.join(self.options.store, self.options.problem + ".csv"), self.columns, numbers)

  def words(self, method, rate):
    problem, passes, (_, words, key, _, _) = self.problem, self.passes * (4 if method == "published" else 1), METHODS[method]
    scales = "".join(" -muon_layer_%s_scale %s" % (layer, problem["scale"]) for layer in problem["matrices"])
    fill = lambda text, passes: text.format(passes=passes, warmup=passes // 50, tao=passes // problem["cost"], outer="{outer}", program=problem["program"], scales=scales)
    value = lambda key, rate: " %s %s" % (key, number(key, rate))
    if method == "last":
      steps = passes // (20 * problem["cost"])
      words = fill(METHODS["adamw"][1], passes - 2 * problem["cost"] * steps) + value(ADAM_RATE, rate) + " -%s_last %d" % (problem["program"], steps)
    elif method == "then":
      first, memory = rate
      words = fill(METHODS["spectral"][1], passes // 2) + value(RATE, first) + " " + fill(METHODS["lmvm"][1].split(" ", 2)[2], passes // 2) + value(HISTORY, memory)
    else:
      words = fill(words, passes) + (value(key, rate) if key else "")
      if method in ("lmvm", "brgn"):
        passes //= problem["cost"]
      if method == "brgn": # a step of CG is a product with J and one with its transpose, a Newton step two of each and a residual or more
        words = words.replace("{outer}", str(max(1, round(passes / (2 * int(number(STEPS, rate)) + 6)))))
    if method in ("lmvm", "brgn", "then", "last"):
      words += problem["subset"]
    return words + " -{0}_functions {1} -{0}_history {2}".format(problem["program"], self.functions, passes // 20)

  def seeds(self, method):
    return range(1, 2 if method == "published" and not self.problem["repeats"] else self.options.seeds + 1)

  def get(self, method, rate, seed):
    """A run; None where it is not there."""
    return self.runs.get(self.words(method, rate), seed)

  def printed(self, lines):
    """The columns between commit and history."""
    _, error, _, deviation, rule = lines["relative"].replace(",", "").replace(";", "").split()[:5]
    passes, _, seconds, _, sent, _, loss = lines["passes"].split()
    return error, deviation, rule, passes, seconds, sent, loss

  def make(self, method, rate, seed):
    """The run, made where it is missing; None where it may not be made any more."""
    options, found = self.words(method, rate), self.get(method, rate, seed)
    if found or self.options.report or time.time() - self.began > 60 * self.options.minutes:
      return found
    ranks = self.methods[method][4]
    command = (shlex.split(self.options.mpiexec) + ["-n", str(ranks)] if ranks > 1 else []) + [self.options.program, "-%s_seed" % self.problem["program"], str(seed)] + shlex.split(options)
    out = subprocess.run(command, capture_output=True, text=True)
    lines = dict(line.split(" ", 1) for line in out.stdout.splitlines() if " " in line)
    try:
      printed = self.printed(lines)
    except (KeyError, ValueError):
      sys.exit("%s: %s\n%s%s" % (self.script, " ".join(command), out.stdout, out.stderr))
    run = self.runs.add(options, seed, self.options.machine, self.options.commit, *printed, lines.get("history", ""))
    print("%s, seed %d%s: %s after %d passes, %.0f seconds" % (method, seed, "" if rate is None else ", %s" % (rate,), run["error"], run["passes"], run["seconds"]), flush=True)
    return run

  def tuning(self, method):
    """{exponent: logarithm of the error, None where a run is missing}, until the best is inside."""
    def loss(rate):
      run = self.make(method, rate, TUNING)
      return None if run is None else math.log10(run["error"]) if math.isfinite(run["error"]) else 6

    return tune(self.methods[method][3], loss)

  def rate(self, method):
    """The exponent of the best rate; None where the method has none, False where the tuning is not finished."""
    if method == "last":
      return self.rate("adamw")
    if method == "then":
      both = self.rate("spectral"), self.rate("lmvm")
      return False if False in both else both
    return chosen(self.tuning(method))

  def everything(self):
    for together in [("adamw", "spectral"), ("published",)] + [(method,) for method in METHODS if method not in ("adamw", "spectral", "published")]:
      rates = {method: self.rate(method) for method in together}
      for seed in range(1, self.options.seeds + 1):
        for method, rate in rates.items():
          if rate is not False and seed in self.seeds(method):
            self.make(method, rate, seed)


class Report:
  def __init__(self, study):
    self.study, self.out = study, []
    self.rates = {method: study.rate(method) for method in study.methods}
    self.cells = {method: {seed: run for seed in study.seeds(method) for run in [study.get(method, rate, seed)] if run} if rate is not False else {} for method, rate in self.rates.items()}

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
    self.out += ["| method | number | error: mean, 95% interval | error beside AdamW's: ratio, 95% interval | | seeds | loss of training | passes | seconds | MB a rank |", "|" + "---|" * 10]
    for method, (label, _, key, _, ranks) in self.study.methods.items():
      runs, rate, cells = list(self.cells[method].values()), self.rates[method], []
      if runs:
        mean = lambda column: sum(run[column] for run in runs) / len(runs)
        cells = ["%.2e, %.2e to %.2e" % geometric([run["error"] for run in runs]) if len(runs) > 1 else "%.2e" % runs[0]["error"], "", "", "%d" % len(runs), "%.1e" % mean("loss"), "%d" % mean("passes"), "%.0f" % mean("seconds"), "%.0f" % (mean("bytes") / 1e6) if ranks > 1 else ""]
        if method in against:
          ratio, low, high, _, least = against[method]
          cells[1:3] = "%.2f, %.2f to %.2f" % (ratio, low, high), ("better" if ratio < 1 else "worse") if adjusted[method] < 0.05 else "no difference seen: it would have to be a factor of %.2f" % least
      value = "" if not key else "not chosen yet" if rate is False else number(key, rate)
      self.out.append("| %s | %s | %s |" % (label, value, " | ".join(cells) if runs else "not run" + " |" * 7))

  def draw(self, path):
    import matplotlib
    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    plt.rcParams["svg.hashsalt"] = self.study.options.problem
    figure, axes = plt.subplots(figsize=(7, 4))
    for method, runs in self.cells.items():
      if runs:
        run = runs[min(runs)]
        x, y = zip(*run["history"], (run["passes"], run["error"]))
        axes.plot(x, y, color="C%d" % list(self.study.methods).index(method), linewidth=1.2, label=self.study.methods[method][0].replace("`", ""))
    axes.axhline(self.study.problem["published"], color="gray", linewidth=0.5)
    axes.set(xlabel="passes over the data", ylabel="relative error", xscale="log", yscale="log", title="first seed; the line is the published error")
    axes.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})

  def write(self):
    study, options, problem = self.study, self.study.options, self.study.problem
    some = any(self.cells.values())
    self.out = ["# " + problem["title"], "", " ".join((problem["text"] % study.functions, problem["anchor"] % problem["published"], problem["equal"] % study.passes, "Steps of Muon compute in single precision, TAO in double.")), "",
                "What was expected before the first run, and what it means: [Science](../../science.md). Machine: %s. Commit %s." % (study.runs.values("machine"), study.runs.values("commit")), ""]
    self.table()
    self.out += ["", problem["pass"] + " Means of errors are geometric, intervals Student's, verdicts of the whole table Holm's at 5%. Seconds are the processor's, of one core beside other programs; MB are a rank's messages, both ways. Zero has the error 1" + (", %s %s" % (problem["simple"], max(run["rule"] for run in study.runs.runs.values())) if study.runs.runs and problem["simple"] else "") + "."]
    self.out += ["", "![Error against passes](%s.svg)" % options.problem] * some + ["", "## Numbers that were chosen", "", "log10 of the error with the seed %d." % TUNING, ""]
    for method, (label, _, key, first, _) in self.study.methods.items():
      if key:
        losses = study.tuning(method)
        self.out.append("- %s, `%s`: %s" % (label, key, ", ".join("%s %s" % (number(key, rate), "not run" if losses[rate] is None else "%.3f" % losses[rate]) for rate in sorted(losses))))
    missing = ["- %s: %s" % (self.study.methods[method][0], "its number is not chosen yet" if self.rates[method] is False else "seeds %s" % ", ".join(str(seed) for seed in study.seeds(method) if seed not in runs)) for method, runs in self.cells.items() if len(runs) < len(study.seeds(method))]
    if missing:
      self.out += ["", "## Not run", "", "`python3 tutorials/science/studies/%s --program build-installed/tutorials/science/%s` goes on with these:" % (problem["command"], problem["program"]), ""] + missing
    with open(os.path.join(options.store, options.problem + ".md"), "w") as f:
      f.write("\n".join(self.out + [""]))
    if some:
      self.draw(os.path.join(options.store, options.problem + ".svg"))


def main():
  own = {"--problem": ("antiderivative", "one of " + ", ".join(PROBLEMS)), "--mpiexec": ("mpiexec --oversubscribe", "what starts two ranks"), "--passes": (0, "of a run; 0 for the problem's"), "--functions": (0, "to train with; 0 for the problem's")}
  carry_out(__doc__, "antiderivative", Report, Study, own)


if __name__ == "__main__":
  main()
