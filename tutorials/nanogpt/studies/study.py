#!/usr/bin/env python3
"""Runs a plan of trainings, each from where it was, and makes a report of what came out: study.py --program nanogpt --plan ef21 --scale small --data FOLDER

A plan is a text file, a folder's *.txt here by its name or any other by its path. A line is a word and what belongs to it; quotes keep words together, # begins a comment:

    title TEXT | note TEXT         what the report says
    ranks N | seeds N ...          of each run
    all OPTIONS                    of all runs; may be there more than once
    scale NAME OPTIONS             further ones, chosen by --scale
    grid NAME KEY VALUE ...        values of an option that a run is tuned over
    tune OPTIONS                   of the runs that tune, behind all others; they have the first seed
    run NAME GRID|- LABEL OPTIONS  one method: this line is all that a new one needs; the first is what others are compared with
    reach RUN ...                  tables of what it costs to come to the loss of the worst seed of each; of the first run where there is no such line
    figure NAME X[,X] RUN ...      curves, X as for plot.py --x; link:100e6: in front of it computes seconds for that link, lab:100e6: takes those measured there
    lab RUN ...                    the short list that --lab also runs on links of 10 and 100 Mbit/s and 1 Gbit/s between hosts of share/petscmuon/lab, with the first seed

Every run has a folder: its options, what it printed, and run.csv when it is finished. A run that was stopped goes on with its checkpoint, a finished one is not run again. Figures and tables are made from the
csv files alone; figures need matplotlib.
"""

import argparse
import csv
import datetime
import importlib.util
import math
import os
import platform
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import time
from io import StringIO

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
# In the sources and where they are installed
SPEC = importlib.util.spec_from_file_location("plot", [path for path in (os.path.join(ROOT, "share", "petscmuon", "plot.py"), os.path.join(ROOT, "plot.py")) if os.path.exists(path)][0])
plot = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(plot)
LINKS = (1e7, 1e8, 1e9)


class Bad(Exception):
  """What is wrong with a plan, with data or with a run, named by its file."""


class Missing(Exception):
  """A run that is not finished, where nothing is to be run."""


class Plan:
  def __init__(self, path, scale):
    self.path, self.title, self.notes, self.ranks, self.seeds, self.all, self.tune, self.grids, self.runs, self.figures, self.reach, self.lab, self.lab_at = path, "", [], 2, ["1"], [], [], {}, {}, [], [], [], path
    scales = {}
    try:
      with open(path) as f:
        lines = f.read().splitlines()
    except (OSError, UnicodeDecodeError) as e:
      raise Bad("%s: %s" % (path, getattr(e, "strerror", None) or "is no text"))
    for number, line in enumerate(lines, 1):
      where = "%s:%d" % (path, number)
      try:
        words = shlex.split(line, comments=True)
      except ValueError as e:
        raise Bad("%s: %s" % (where, e))
      if words:
        self.line(where, words[0], words[1:], scales)
    if not self.runs:
      raise Bad("%s: no run" % path)
    if scale not in scales:
      raise Bad("%s: no scale %s; there are %s" % (path, scale, ", ".join(scales) or "none"))
    self.all += scales[scale]
    for where, _, _, names in self.figures + [(path, None, None, self.reach), (self.lab_at, None, None, self.lab)]:
      for name in names:
        if name not in self.runs:
          raise Bad("%s: no run %s" % (where, name))

  def line(self, where, word, rest, scales):
    least = {"title": 1, "note": 1, "ranks": 1, "seeds": 1, "all": 1, "scale": 1, "grid": 3, "tune": 1, "run": 3, "figure": 3, "reach": 1, "lab": 1}
    if word not in least:
      raise Bad("%s: unknown word %s, expected %s" % (where, word, ", ".join(least)))
    if len(rest) < least[word]:
      raise Bad("%s: %s takes %d words or more" % (where, word, least[word]))
    if word == "title":
      self.title = " ".join(rest)
    elif word == "note":
      self.notes.append(" ".join(rest))
    elif word in ("ranks", "seeds"):
      if not all(re.fullmatch("[1-9][0-9]*", one) for one in rest):
        raise Bad("%s: %s %s, expected positive numbers" % (where, word, " ".join(rest)))
      self.ranks, self.seeds = (int(rest[0]), self.seeds) if word == "ranks" else (self.ranks, rest)
    elif word == "all":
      self.all += rest
    elif word == "reach":
      self.reach += rest
    elif word == "lab":
      self.lab, self.lab_at = self.lab + rest, where
    elif word == "tune":
      self.tune += rest
    elif word == "scale":
      scales[rest[0]] = rest[1:]
    elif word == "grid":
      self.grids[rest[0]] = (rest[1], rest[2:])
    elif word == "run":
      if rest[0] in self.runs or not re.fullmatch(r"[\w.+-]+", rest[0]):
        raise Bad("%s: run %s is there twice or is no name" % (where, rest[0]))
      if rest[1] != "-" and rest[1] not in self.grids:
        raise Bad("%s: no grid %s" % (where, rest[1]))
      self.runs[rest[0]] = (rest[1], rest[2], rest[3:])
    else:
      how, link, x = rest[1].split(":") if re.fullmatch(r"(link|lab):[0-9.e+]+:.*", rest[1]) else (None, 0, rest[1])
      for one in x.split(","):
        if one not in plot.AXES:
          raise Bad("%s: unknown %s, expected %s" % (where, one, ", ".join(plot.AXES)))
      self.figures.append((where, rest[0], (how, float(link), x.split(",")), rest[2:]))


def check_data(data):
  """Each path of -nanogpt_data must have something; what is in a file is the program's to judge."""
  for path in data.split(","):
    if not os.path.exists(path):
      raise Bad("%s: no such data" % path)
    if os.path.isdir(path) and not any(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names):
      raise Bad("%s: a folder without data" % path)


def write(path, text):
  """Whole or not at all."""
  try:
    with open(path + ".part", "w") as f:
      f.write(text)
    os.replace(path + ".part", path)
  except OSError as e: # which does not always know the file
    raise Bad("%s: %s" % (path, e.strerror))


class Study:
  def __init__(self, plan, options):
    self.plan, self.options, self.folder = plan, options, options.output
    self.took, self.left = [], 0.0

  def run(self, name, words, seed, short=False, link=None):
    """The rows of a run, which is run as far as it was not; None where it diverged. On a link: between hosts of the lab."""
    folder = os.path.join(self.folder, "runs", name + ("-lab%g" % link if link else ""))
    words = self.plan.all + self.options.more + words + (self.plan.tune if short else []) + ["-nanogpt_seed", seed, "-muon_seed", seed, "-nanogpt_data", self.options.data]
    text = " ".join(shlex.quote(word) for word in words) + "\n"
    os.makedirs(folder, exist_ok=True)
    path, known = os.path.join(folder, "run.csv"), os.path.join(folder, "options")
    if os.path.exists(known):
      with open(known) as f:
        if f.read() != text:
          raise Bad("%s: this run was made with other options; remove its folder or give the run another name" % known)
    else:
      write(known, text)
    if not os.path.exists(path) and self.options.report:
      raise Missing
    if not os.path.exists(path):
      self.start(folder, words, link)
      self.left -= 1
      print("%-40s %6.0f s   %s   about %s left" % (os.path.basename(folder), self.took[-1], self.outcome(path), self.estimate()), flush=True)
    rows = plot.read_study(path)
    return None if math.isnan(plot.last(rows)) else rows

  def outcome(self, path):
    value = plot.last(plot.read_study(path))
    return "diverged" if math.isnan(value) else "loss %.4f" % value

  def estimate(self):
    seconds = max(self.left, 0) * statistics.mean(self.took)
    return "%d:%02d h" % (seconds // 3600, seconds // 60 % 60)

  def launch(self, link):
    if link:
      lab = [path for path in (os.path.join(ROOT, "share", "petscmuon", "lab", "run"), os.path.join(ROOT, "lab", "run")) if os.path.exists(path)]
      return [lab[0], "--rate", "%gmbit" % (link / 1e6) if link < 1e9 else "%ggbit" % (link / 1e9), "--hosts", str(self.plan.ranks), "--", self.options.program]
    mpiexec = [path for path in (os.path.join(ROOT, "config", "mpiexec"), os.path.join(ROOT, "bin", "petscmuon-mpiexec")) if os.path.exists(path)]
    return [mpiexec[0], "-n", str(self.plan.ranks), self.options.program]

  def parts(self, folder):
    """Files of the starts of a run; beside them are those of layers."""
    return sorted(one for one in os.listdir(folder) if re.fullmatch(r"part-\d+\.csv", one))

  def start(self, folder, words, link):
    part = len(self.parts(folder))
    checkpoint = os.path.join(folder, "checkpoint")
    command = self.launch(link) + words
    command += ["-nanogpt_csv", os.path.join(folder, "part-%02d.csv" % part), "-muon_monitor_csv", os.path.join(folder, "steps.csv"), "-nanogpt_sample", "0"]
    command += ["-muon_checkpoint", checkpoint, "-muon_checkpoint_interval", "1000000000", "-muon_checkpoint_seconds", "60", "-muon_checkpoint_keep", "1", "-muon_restart", checkpoint, "-muon_restart_if_present"]
    log, began = os.path.join(folder, "log-%02d" % part), time.time()
    with open(log, "w") as f:
      child = subprocess.Popen(command, stdout=f, stderr=subprocess.STDOUT)
      try:
        status = child.wait()
      except BaseException:
        child.terminate()
        child.wait()
        raise
    self.took.append(time.time() - began)
    with open(log, errors="replace") as f:
      said = f.read()
    if status != 0 and not re.search(r"stopped at step \d+: DIVERGED", said):
      lines = re.findall(r"\[\d+\]PETSC ERROR: (?!--|WARNING|Option left|See https|Petsc |Configure|#|/)(.*)", said) or said.splitlines()[-3:]
      raise Bad("%s: the run ended with status %d: %s" % (log, status, "; ".join(dict.fromkeys(lines[:3]))))
    found = re.search(r"validation loss (\S+) \(\d+ sequences\) after", said)
    self.merge(folder, float(found.group(1)) if found else math.nan)
    shutil.rmtree(checkpoint, ignore_errors=True)

  def merge(self, folder, final):
    """One file of what the library and the program wrote in all starts of a run."""
    rows = []
    for one in self.parts(folder):
      with open(os.path.join(folder, one), newline="") as f:
        more = list(csv.DictReader(f))
      rows = [row for row in rows if more and int(row["step"]) < int(more[0]["step"])] if more else rows
      base = {column: float(rows[-1][column]) if rows else 0.0 for column in ("seconds", "seconds_gradient", "seconds_lmo", "seconds_compress", "seconds_exchange")}
      rows += [dict(row, **{column: "%.6f" % (float(row[column]) + base[column]) for column in base}) for row in more]
    with open(os.path.join(folder, "steps.csv"), newline="") as f:
      steps = {int(row["step"]) + 1: row for row in csv.DictReader(f)}
    out, sent, at = [], [0.0, 0.0], 0
    for row in rows:
      for step in range(at + 1, int(row["step"]) + 1):
        if step in steps:
          sent = [sent[0] + float(steps[step]["bits_up"]) / 8, sent[1] + float(steps[step]["bits_down"]) / 8]
      at = int(row["step"])
      validation = float(steps[at]["validation"])
      out.append(dict(row, loss=steps[at]["loss"], validation="%.9g" % validation, perplexity="%.9g" % math.exp(min(validation, 700)), bytes_up="%.0f" % sent[0], bytes_down="%.0f" % sent[1], validation_all=""))
    if not out:
      out = [dict.fromkeys(("step", "tokens", "bytes_up", "bytes_down"), 0)]
      out[0]["validation"] = "nan"
    out[-1]["validation_all"] = "%.9g" % final
    text = StringIO()
    writer = csv.DictWriter(text, list(out[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(out)
    write(os.path.join(folder, "run.csv"), text.getvalue())

  def everything(self):
    """{run: (rate, whether it is at the edge of its grid, {seed: rows})}, {run: {value: last loss}} of the tuning, and {link: {run: rows}} of the lab."""
    plan, found, tuned = self.plan, {}, {}
    if self.options.lab and not plan.lab:
      raise Bad("%s: no line says lab, which runs are to be measured there" % plan.path)
    jobs = [(name, value) for name, (grid, _, _) in plan.runs.items() if grid != "-" and len(plan.grids[grid][1]) > 1 for value in plan.grids[grid][1]]
    done = lambda name: os.path.exists(os.path.join(self.folder, "runs", name, "run.csv"))
    self.left = sum(not done("%s-tune-%s" % job) for job in jobs) + len(plan.runs) * len(plan.seeds)
    for name, value in jobs:
      grid, _, words = plan.runs[name]
      try:
        rows = self.run("%s-tune-%s" % (name, value), words + [plan.grids[grid][0], value], plan.seeds[0], True)
      except Missing:
        continue
      tuned.setdefault(name, {})[value] = plot.last(rows) if rows else math.inf
    best = {name: min(losses, key=losses.get) for name, losses in tuned.items()}
    rate = {name: best.get(name, plan.grids[grid][1][0] if grid != "-" else None) for name, (grid, _, _) in plan.runs.items()}
    called = lambda name, seed: "-".join([name] + [rate[name]] * (rate[name] is not None) + ["seed" + seed])
    self.left = sum(not done(called(name, seed)) for name in plan.runs for seed in plan.seeds)
    print("%d runs to do" % self.left, flush=True)
    for seed in plan.seeds: # so that a study that is stopped has all methods
      for name, (grid, _, words) in plan.runs.items():
        value = rate[name]
        try:
          rows = self.run(called(name, seed), words + ([plan.grids[grid][0], value] if value else []), seed)
        except Missing:
          continue
        edge = name in best and len(plan.grids[grid][1]) > 2 and value in (plan.grids[grid][1][0], plan.grids[grid][1][-1])
        found.setdefault(name, (value, edge, {}))[2][seed] = rows
    measured, seed = {}, plan.seeds[0]
    jobs = [(link, name) for link in LINKS for name in plan.lab]
    self.left = sum(not done("%s-lab%g" % (called(name, seed), link)) for link, name in jobs)
    for link, name in jobs:
      if self.options.lab or done("%s-lab%g" % (called(name, seed), link)):
        rows = self.run(called(name, seed), plan.runs[name][2] + ([plan.grids[plan.runs[name][0]][0], rate[name]] if rate[name] else []), seed, link=link)
        if rows:
          measured.setdefault(link, {})[name] = rows
    return found, tuned, measured


def algorithm(words):
  """The options of a run that say what is sent and when, by their keys; -nanogpt_runs is the type where nothing else is."""
  pairs = [(word, " " + following if following and not re.match(r"-[a-z]", following) else "") for word, following in zip(words, words[1:] + [""]) if re.match(r"-[a-z]", word)]
  last = dict([("-muon_type", value) for key, value in pairs if key == "-nanogpt_runs"] + pairs)
  kept = r"-(muon_(type|delay(_correction)?|node_size|momentum_at|layer_rule)$|(outer|local|ef21|ef14|sign)_)"
  return " ".join("%s%s" % pair for pair in sorted(last.items()) if re.match(kept, pair[0]))


def file_of_losses(plan, groups):
  """The file of -muon_advise_study: the last losses, medians and ranges over the seeds."""
  rows = [(algorithm(plan.all + plan.runs[name][2]), sorted(plot.last(rows) for rows in runs)) for name, runs in groups.items() if runs]
  return "options,loss,least,most\n" + "".join("%s,%.6g,%.6g,%.6g\n" % (options, statistics.median(values), values[0], values[-1]) for options, values in rows)


def in_lab(study, groups, measured, label, reference):
  """The lines of the section about what was measured on links, beside what is computed for it."""
  target = max(rows[-1]["validation"] for rows in groups[reference])
  out = ["", "## Measured in the lab", "", "Seconds on hosts of `share/petscmuon/lab/run`, %d of them on this machine, with the first seed, beside those **computed** as above for the bytes of the same run: to the loss %.4f, and of all steps." % (study.plan.ranks, target), "",
         "| link | method | s to the loss | computed | s of all steps | computed | computed over measured |", "|---|---|---|---|---|---|---|"]
  number = lambda value: "never" if value is None else "%.3g" % value
  for link, runs in measured.items():
    for name, rows in runs.items():
      computed = plot.on_link([rows], link, plot.work_of(groups.get(name) or [rows]))[0]
      out.append("| %s | %s | %s | %s | %s | %s | %.2f |" % (plot.rate_name(link), label(name), number(plot.reach(rows, target, "seconds")), number(plot.reach(computed, target, "seconds")),
                                                           number(rows[-1]["seconds"]), number(computed[-1]["seconds"]), computed[-1]["seconds"] / rows[-1]["seconds"]))
  return out


def report(study, found, tuned, measured):
  """report.md, and beside it the figures and losses.csv."""
  plan, reference = study.plan, next(iter(study.plan.runs))
  commit = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%h of %cs"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True).stdout.strip() or "unknown"
  with open("/proc/cpuinfo") as f:
    model = (re.findall(r"model name\s*: (.*)", f.read()) or [platform.machine()])[0]
  label = lambda name: plan.runs[name][1]
  if reference not in found:
    raise Bad("%s: no run of %s is finished" % (study.folder, reference))
  groups = {name: [rows for rows in seeds.values() if rows] for name, (_, _, seeds) in found.items()}
  out = ["# %s" % (plan.title or os.path.basename(plan.path)), "", ("%s; commit %s; %d ranks on %s. Seeds %s. %s" % (datetime.date.today().isoformat(), commit, plan.ranks, study.options.machine or model, ", ".join(plan.seeds), study.options.remark)).rstrip(), ""]
  out += ["All runs: `%s`" % " ".join(plan.all + study.options.more), ""] + [note + "\n" for note in plan.notes]
  out += ["## Last loss", "", "On all held-out data (`-nanogpt_validation_end`): the median of the seeds and their range. Seeds are paired: the difference is of runs with the same start and the same batches. A rate with a star is at the end of its grid.", "",
          "| method | rate | loss | minus %s | MB up | MB down | bytes of %s |" % (label(reference), label(reference)), "|---|---|---|---|---|---|---|"]
  both = lambda name: statistics.median(rows[-1]["both"] for rows in groups[name]) if groups[name] else math.nan
  for name, (value, edge, seeds) in found.items():
    if not groups[name]:
      out.append("| %s | %s | diverged | | | | |" % (label(name), value or "-"))
      continue
    pairs = [plot.last(rows) - plot.last(found[reference][2][seed]) for seed, rows in seeds.items() if rows and found[reference][2].get(seed)]
    lost = sum(rows is None for rows in seeds.values())
    out.append("| %s | %s%s | %s%s | %s | %.3g | %.3g | %.4f |" % (label(name), value or "-", "*" if edge else "", plot.spread([plot.last(rows) for rows in groups[name]], "%.4f"), ", %d diverged" % lost if lost else "", "" if name == reference else plot.spread(pairs, "%+.4f"),
                                                                statistics.median(rows[-1]["up"] for rows in groups[name]) / 1e6, statistics.median(rows[-1]["down"] for rows in groups[name]) / 1e6, both(name) / both(reference)))
  for goal in [name for name in plan.reach or [reference] if groups.get(name)]:
    target = max(rows[-1]["validation"] for rows in groups[goal])
    out += ["", "## To the loss %.4f" % target, "", "That is where the worst seed of %s ends on a line of progress. Bytes are what a rank sends, both ways. Seconds are **computed**: gradient, LMO and compressing as in the fastest part of a method's runs, and its bytes on a link, up and down behind one another." % label(goal), "",
            "| method | steps | MB | %s |" % " | ".join("s at %s" % plot.rate_name(link) for link in LINKS), "|---|---|---|%s" % ("---|" * len(LINKS))]
    for name, runs in groups.items():
      if not runs:
        continue
      cells = [plot.spread([plot.reach(rows, target, "steps") for rows in runs]), plot.spread([None if b is None else b / 1e6 for b in (plot.reach(rows, target, "both") for rows in runs)])]
      cells += [plot.spread([plot.reach(rows, target, "seconds") for rows in plot.on_link(runs, link)]) for link in LINKS]
      out.append("| %s | %s |" % (label(name), " | ".join(cells)))
  if measured:
    out += in_lab(study, groups, measured, label, reference)
  if tuned:
    out += ["", "## Rates", "", "Last losses of the shorter runs that rates were chosen by, `%s`, one seed." % " ".join(plan.tune), ""]
    for name, losses in tuned.items():
      out.append("- %s, `%s`: %s" % (label(name), plan.grids[plan.runs[name][0]][0], ", ".join("%s %s" % (value, "diverged" if math.isinf(loss) else "%.4f" % loss) for value, loss in losses.items())))
  shares = ("gradient", "lmo", "compress", "exchange")
  out += ["", "## Where the seconds of process 0 went", "", "Measured in these runs, as parts of all.", "", "| method | %s |" % " | ".join(shares), "|---|%s" % ("---|" * len(shares))]
  out += ["| %s | %s |" % (label(name), " | ".join("%.2f" % statistics.median(rows[-1]["seconds_" + one] / rows[-1]["seconds"] for rows in runs) for one in shares)) for name, runs in groups.items() if runs]
  try:
    for _, name, (how, link, xs), names in plan.figures:
      drawn = {label(one): [measured[link][one]] for one in names if one in measured.get(link, {})} if how == "lab" else {label(one): groups[one] for one in names if groups.get(one)}
      if not drawn:
        continue
      figure = plot.draw_study(drawn, xs, link if how == "link" else None, None, "validation loss, nats a token", "measured on %s" % plot.rate_name(link) if how == "lab" else None)
      figure.savefig(os.path.join(study.folder, name + ".svg"), metadata={"Date": None})
      out += ["", "![](%s.svg)" % name]
  except plot.Bad as e:
    out += ["", "No figures: %s" % e]
  write(os.path.join(study.folder, "losses.csv"), file_of_losses(plan, groups))
  write(os.path.join(study.folder, "report.md"), "\n".join(out + [""]))


def main(arguments=None):
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--plan", default="quick")
  parser.add_argument("--scale", default="small")
  parser.add_argument("--data", required=True, help="for -nanogpt_data")
  parser.add_argument("--program", required=True, help="nanogpt")
  parser.add_argument("-o", "--output", default="studies", help="folder, which gets one for the plan and the scale")
  parser.add_argument("--machine", default="", help="what the report says of the machine, in place of its processor")
  parser.add_argument("--remark", default="", help="one more sentence of the report")
  parser.add_argument("--more", default="", help="more options of all runs, in one word")
  parser.add_argument("--lab", action="store_true", help="measure the plan's short list on links of a limited rate too, which takes root; without it what was measured before is reported")
  parser.add_argument("--report", action="store_true", help="run nothing, and report what is finished")
  options = parser.parse_args(arguments)
  options.more = shlex.split(options.more)
  path = options.plan if os.path.exists(options.plan) else os.path.join(HERE, options.plan + ".txt")
  options.output = os.path.join(os.path.abspath(options.output), "%s-%s" % (os.path.splitext(os.path.basename(path))[0], options.scale))
  options.program = os.path.abspath(options.program)
  signal.signal(signal.SIGTERM, lambda number, frame: sys.exit("study.py: stopped; the same command goes on")) # and the run with it
  try:
    plan = Plan(path, options.scale)
    check_data(options.data)
    study = Study(plan, options)
    found, tuned, measured = study.everything()
    report(study, found, tuned, measured)
    print("The report is %s" % os.path.join(options.output, "report.md"))
  except (Bad, plot.Bad, OSError) as e:
    print("study.py: %s" % e, file=sys.stderr)
    return 1
  except KeyboardInterrupt:
    print("study.py: stopped; the same command goes on", file=sys.stderr)
    return 130
  return 0


if __name__ == "__main__":
  sys.exit(main())
