#!/usr/bin/env python3
"""Runs what is missing of a plan of trainings and reports all that is there: study.py --program nanogpt --plan rivals

A plan is a text file, a folder's *.txt here by its name or any other by its path. A line is a word and what belongs to it; quotes keep words together, # begins a comment:

    title TEXT | note TEXT         what the report says
    all OPTIONS                    of all runs; may be there more than once; -n is the number of workers
    seeds N [RUN ...]              the seeds 1 to N are reported, of these runs or of all
    at NAME OPTIONS [-- RUN ...]   lengths or sizes that these runs, or all, have; the first one is where rates are tuned
    grid NAME KEY VALUE ...        rates a factor of 2 apart; it grows where the best is at an end
    run NAME GRID|=RUN|- LABEL OPTIONS  a method, with a rate of its own from the grid, with that of another run, or with none; others are compared with the first
    text unequal                   each worker has a subsystem for itself
    equal RUN ...                  tokens and bytes to the loss of the first run at the first length, interpolated between the ends of whole schedules
    figure NAME X[,X] RUN ...      curves, X as for plot.py --x; link:100e6: in front of it computes seconds for that link; ends for X has the last losses at all lengths

A run is known by its options and the text's SHA-256. Finished runs are lines of PLAN/runs.csv in the folder of --store; reports are made of these files alone, and runs of other plans there count. Rates are tuned
with the seed 101 at full length on one held-out part of the text, and the last loss is that of another one. --output has logs and checkpoints: a run that was stopped goes on.
"""

import argparse
import csv
import fcntl
import hashlib
import importlib.util
import math
import os
import platform
import random
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
from io import StringIO

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))


def module(name, *paths):
  spec = importlib.util.spec_from_file_location(name, [path for path in paths if os.path.exists(path)][0])
  found = importlib.util.module_from_spec(spec)
  spec.loader.exec_module(found)
  return found


plot = module("plot", os.path.join(ROOT, "share", "petscmuon", "plot.py"), os.path.join(ROOT, "plot.py")) # in the sources and where they are installed
TUNING = 101
COLUMNS = ("options", "text", "part", "machine", "commit", "versions", "work", "plain", "loss", "curve", "points")
POINT = ("step", "tokens", "validation", "paper_up", "paper_down", "bytes_up", "bytes_down")


class Bad(Exception):
  """What is wrong with a plan, with the text or with a run, named by its file."""


def canonical(words):
  """Options in one form: the last of each key counts, as for PETSc, and numbers are written alike."""
  found, key = {}, None
  for word in words:
    if re.match(r"-[a-z]", word):
      key = word
      found[key] = ""
    elif key is None or found[key]:
      raise Bad("%s is no option" % word)
    else:
      try:
        found[key] = "%.10g" % float(word)
      except ValueError:
        found[key] = word
  return " ".join("%s %s" % pair if pair[1] else pair[0] for pair in sorted(found.items()))


class Plan:
  LEAST = {"title": 1, "note": 1, "text": 1, "all": 1, "seeds": 1, "at": 1, "grid": 3, "run": 3, "equal": 1, "figure": 3}

  def __init__(self, path):
    self.path, self.title, self.notes, self.text, self.all, self.seeds, self.at, self.grids, self.runs, self.equal, self.figures = path, "", [], "", [], [], {}, {}, {}, [], []
    named = []
    try:
      with open(path) as f:
        lines = f.read().splitlines()
    except (OSError, UnicodeDecodeError) as e:
      raise Bad("%s: %s" % (path, getattr(e, "strerror", None) or "is no text"))
    for number, line in enumerate(lines, 1):
      where = "%s:%d" % (path, number)
      try:
        words = shlex.split(line, comments=True)
        if words:
          self.line(where, words[0], words[1:], named)
      except ValueError as e:
        raise Bad("%s: %s" % (where, e))
    if not self.runs:
      raise Bad("%s: no run" % path)
    for where, names in named:
      for name in names:
        if name not in self.runs:
          raise Bad("%s: no run %s" % (where, name))
    self.at = self.at or {"": ([], [])}

  def line(self, where, word, rest, named):
    if word not in self.LEAST:
      raise Bad("%s: unknown word %s, expected %s" % (where, word, ", ".join(self.LEAST)))
    if len(rest) < self.LEAST[word]:
      raise Bad("%s: %s takes %d words or more" % (where, word, self.LEAST[word]))
    names = []
    if word == "title":
      self.title = " ".join(rest)
    elif word == "note":
      self.notes.append(" ".join(rest))
    elif word == "text":
      self.text = "-" + rest[0]
    elif word == "seeds":
      if not re.fullmatch("[1-9][0-9]*", rest[0]):
        raise Bad("%s: seeds %s, expected a positive number" % (where, rest[0]))
      names = rest[1:]
      self.seeds.append((int(rest[0]), names))
    elif word == "all":
      self.all += rest
      canonical(self.all)
    elif word == "at":
      names = rest[rest.index("--") + 1:] if "--" in rest else []
      self.at[rest[0]] = (rest[1:rest.index("--")] if "--" in rest else rest[1:], names)
    elif word == "equal":
      self.equal = names = rest
    elif word == "grid":
      self.grids[rest[0]] = (rest[1], [float(value) for value in rest[2:]])
    elif word == "run":
      if rest[0] in self.runs or not re.fullmatch(r"[\w.+-]+", rest[0]):
        raise Bad("%s: run %s is there twice or is no name" % (where, rest[0]))
      if rest[1] != "-" and rest[1] not in self.grids and rest[1][1:] not in self.runs:
        raise Bad("%s: no grid %s" % (where, rest[1]))
      canonical(rest[3:])
      self.runs[rest[0]] = (rest[1], rest[2], rest[3:])
    else:
      link, x = rest[1].split(":")[1:] if re.fullmatch(r"link:[0-9.e+]+:.*", rest[1]) else (0, rest[1])
      for one in x.split(","):
        if one not in plot.AXES and one != "ends":
          raise Bad("%s: unknown %s, expected %s, ends" % (where, one, ", ".join(plot.AXES)))
      names = rest[2:]
      self.figures.append((rest[0], float(link), x.split(","), names))
    named.append((where, names))

  def count(self, name):
    """Seeds of a run: the last line that speaks of it."""
    return ([n for n, names in self.seeds if name in names] or [n for n, names in self.seeds if not names] or [1])[-1]

  def places(self, name):
    return [at for at, (_, names) in self.at.items() if name in names or not names]


class Run:
  """One training: its options, and what makes it known."""

  def __init__(self, study, name, at, rate, seed):
    plan, part = study.plan, ("tuning" if seed == TUNING else "reporting") + study.plan.text
    grid, _, words = plan.runs[name]
    words = plan.all + plan.at[at][0] + words + ([study.grid(name)[0], "%.10g" % rate] if rate else []) + ["-nanogpt_seed", str(seed), "-muon_seed", str(seed)]
    self.name, self.at, self.rate, self.seed, self.part = name, at, rate, seed, part
    self.options = canonical(words)
    self.key = (self.options, study.text["sha256"], part)
    self.hash = hashlib.sha256(repr(self.key).encode()).hexdigest()[:12]
    self.title = " ".join([name] + [at] * (at != "") + ["%.3g" % (rate or 0)] * bool(rate) + ["seed %d" % seed])


def parse(row):
  """A line of runs.csv as numbers; ValueError where it is damaged."""
  if None in row or None in row.values() or not re.fullmatch("(tuning|reporting)(-[a-z]+)?", row["part"]) or not re.fullmatch("[0-9a-f]{64}", row["text"]) or canonical(row["options"].split()) != row["options"]:
    raise ValueError
  curve = [dict(zip(POINT, (float(x) for x in point.split(":")))) for point in row["curve"].split()]
  if len(curve) != int(row["points"]) or any(len(point) != len(POINT) for point in curve) or any(a["step"] >= b["step"] for a, b in zip(curve, curve[1:])):
    raise ValueError
  one = dict(row, loss=float(row["loss"]), work=float(row["work"]), plain=float(row["plain"]), curve=curve)
  if not curve and math.isfinite(one["loss"]):
    raise ValueError
  return one


def read_store(folder):
  """{key: [lines]} of all plans' files, with the files and what is wrong in them."""
  found, wrong = {}, []
  for plan in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
    path = os.path.join(folder, plan, "runs.csv")
    if not os.path.exists(path):
      continue
    with open(path, newline="", errors="replace") as f:
      reader = csv.DictReader(f)
      if tuple(reader.fieldnames or ()) != COLUMNS:
        raise Bad("%s: the first line must be %s" % (path, ",".join(COLUMNS)))
      for row in reader:
        try:
          one = parse(row)
        except (ValueError, TypeError, Bad):
          wrong.append("%s:%d: damaged, not used" % (os.path.join(plan, "runs.csv"), reader.line_num))
          continue
        lines = found.setdefault((one["options"], one["text"], one["part"]), [])
        same = [line for line in lines if line["row"] == row] # plans may share a run
        if same:
          same[0]["plans"].add(plan)
        else:
          lines.append(dict(one, plans={plan}, row=row))
  return found, wrong


def mean_of(lines):
  """The same run on several machines: the mean of each number at the steps that all have."""
  steps = sorted(set.intersection(*[set(point["step"] for point in line["curve"]) for line in lines]))
  at = [{point["step"]: point for point in line["curve"]} for line in lines]
  curve = [{column: statistics.mean(one[step][column] for one in at) for column in POINT} for step in steps]
  for point in curve:
    point.update(steps=point["step"], up=point["bytes_up"], down=point["bytes_down"], both=point["bytes_up"] + point["bytes_down"], paper=point["paper_up"])
  return dict(lines[0], curve=curve, loss=statistics.mean(line["loss"] for line in lines), work=min(line["work"] for line in lines))


class Study:
  def __init__(self, plan, options, text):
    self.plan, self.options, self.text, self.took = plan, options, text, []
    self.name = os.path.splitext(os.path.basename(plan.path))[0]
    self.store, self.lock, self.began = os.path.join(options.store, self.name, "runs.csv"), threading.Lock(), time.time()
    self.children, self.failed, self.busy = set(), [], set()
    self.read()

  def read(self):
    self.known, self.wrong = read_store(self.options.store)

  def result(self, run):
    """What is known of a run, also if it diverged; None where it did not run."""
    lines = self.known.get(run.key)
    for line in lines or ():
      if self.name not in line["plans"]: # of another plan: it belongs to this one, too
        self.append(line["row"])
        line["plans"].add(self.name)
    return mean_of(lines) if lines else None

  def append(self, row):
    os.makedirs(os.path.dirname(self.store), exist_ok=True)
    text = StringIO()
    csv.DictWriter(text, COLUMNS, lineterminator="\n").writerow(row)
    try:
      with open(self.store, "a+", newline="") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        f.seek(0, os.SEEK_END)
        whole = f.tell() == 0 or (f.seek(f.tell() - 1), f.read(1))[1] == "\n"
        f.write(("" if f.tell() else ",".join(COLUMNS) + "\n") + ("" if whole else "\n") + text.getvalue())
    except OSError as e: # which does not always know the file
      raise Bad("%s: %s" % (self.store, e.strerror))

  def grid(self, name):
    """Key and rates of a run's grid, or of the run that it follows."""
    grid = self.plan.runs[name][0]
    return self.grid(grid[1:]) if grid[0] == "=" else self.plan.grids[grid]

  def tuning(self, name):
    """What a run's rates gave, {rate: loss or None}; the grid has grown until its best is inside. One that did not run is None."""
    plan, first = self.plan, next(iter(self.plan.at))
    if plan.runs[name][0] == "-":
      return {}
    if plan.runs[name][0][0] == "=":
      return self.tuning(plan.runs[name][0][1:])
    losses = {}

    def add(rate):
      found = self.result(Run(self, name, first, rate, TUNING))
      losses[rate] = None if found is None else found["loss"] if math.isfinite(found["loss"]) else math.inf

    for rate in self.grid(name)[1]:
      add(float("%.10g" % rate))
    while None not in losses.values() and min(losses.values()) < math.inf and len(losses) > 1 and len(losses) < 12:
      rates = sorted(losses)
      best = min(rates, key=losses.get)
      if best not in (rates[0], rates[-1]):
        break
      add(float("%.10g" % (best / 2 if best == rates[0] else best * 2)))
    return losses

  def rate(self, name):
    """The best rate; None where there is none to choose, or where the tuning is not finished (False)."""
    losses = self.tuning(name)
    if None in losses.values():
      return False
    return min(losses, key=losses.get) if losses else None

  def cells(self):
    """All runs that are reported, [(name, at, seed)], seeds outermost: a study that is stopped has all methods."""
    plan = self.plan
    most = max(plan.count(name) for name in plan.runs)
    return [(name, at, seed) for seed in range(1, most + 1) for at in plan.at for name in plan.runs if at in plan.places(name) and seed <= plan.count(name)]

  def missing(self):
    """Runs to be made as far as they are known by now, in their order, and how many."""
    plan, tuned, first = self.plan, {}, next(iter(self.plan.at))
    for name in plan.runs:
      if plan.runs[name][0][0] not in "=-":
        tuned[name] = self.tuning(name)
    out = [Run(self, name, first, rate, TUNING) for name, losses in tuned.items() for rate, loss in losses.items() if loss is None]
    waiting = 0
    for name, at, seed in self.cells():
      rate = self.rate(name)
      if rate is False:
        waiting += 1
      else:
        run = Run(self, name, at, rate, seed)
        if self.result(run) is None:
          out.append(run)
    # As many runs for each method: grids grow where they end next to the best, after all else
    most = max([len(losses) for losses in tuned.values()] or [0])
    for name, losses in tuned.items():
      rates = sorted(losses)
      while None not in losses.values() and len(rates) < most:
        best = rates.index(min(rates, key=losses.get))
        rate = float("%.10g" % (rates[0] / 2 if best < len(rates) - 1 - best else rates[-1] * 2))
        run = Run(self, name, first, rate, TUNING)
        found = self.result(run)
        if found is None:
          out.append(run)
          waiting += most - len(rates) - 1
          break
        rates = sorted(rates + [rate])
        losses[rate] = found["loss"] if math.isfinite(found["loss"]) else math.inf
    unique = {run.hash: run for run in reversed(out)}
    return [run for run in out if unique.pop(run.hash, None)], len(out) + waiting

  def launch(self, run):
    mpiexec = [path for path in (os.path.join(ROOT, "config", "mpiexec"), os.path.join(ROOT, "bin", "petscmuon-mpiexec")) if os.path.exists(path)]
    words = run.options.split()
    at = words.index("-n") if "-n" in words else None
    ranks, words = ("1", words) if at is None else (words[at + 1], words[:at] + words[at + 2:])
    return [mpiexec[0], "-n", ranks, self.options.program] + self.text[run.part] + words

  def check(self, runs):
    """One short step of each method: an option that the program does not read is an error before the first run."""
    seen = set()
    for run in runs:
      if run.name in seen:
        continue
      seen.add(run.name)
      command = self.launch(run) + ["-nanogpt_steps", "1", "-nanogpt_interval", "1", "-nanogpt_validation", "8", "-nanogpt_validation_end", "8", "-nanogpt_sample", "0", "-options_left"]
      done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, errors="replace")
      left = re.findall(r"Option left: name:(-\S+)", done.stdout)
      if left:
        raise Bad("%s: run %s: the program does not know %s" % (self.plan.path, run.name, ", ".join(left)))
      if done.returncode != 0:
        raise Bad("%s: run %s: %s" % (self.plan.path, run.name, self.errors(done.stdout)))

  def errors(self, said):
    lines = re.findall(r"\[\d+\]PETSC ERROR: (?!--|WARNING|Option left|See https|Petsc |Configure|#|/)(.*)", said) or said.splitlines()[-3:]
    return "; ".join(dict.fromkeys(lines[:3]))

  def everything(self):
    """Runs what is missing, --jobs at a time, until --minutes are over."""
    runs, _ = self.missing()
    if not runs:
      return
    self.check(self.every(runs))
    if shutil.which("git"):
      git = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short=12", "HEAD"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True).stdout.strip()
    self.commit = self.options.commit or git or "unknown"
    self.versions = self.options.versions or self.ask()
    threads = [threading.Thread(target=self.worker) for _ in range(self.options.jobs)]
    for thread in threads:
      thread.start()
    try:
      for thread in threads:
        while thread.is_alive():
          thread.join(0.2)
    except BaseException:
      self.failed.append("stopped")
      for child in list(self.children):
        child.terminate()
      for thread in threads:
        thread.join()
      raise
    if self.failed:
      raise Bad(self.failed[0])

  def every(self, runs):
    """A run of each method, for the check: what waits for its rate has the first of its grid."""
    first = {name: Run(self, name, self.plan.places(name)[0], self.grid(name)[1][0] if grid != "-" else None, TUNING) for name, (grid, _, _) in self.plan.runs.items()}
    return list(first.values())

  def ask(self):
    """Versions of what a run's rounding depends on."""
    said = subprocess.run([self.options.program, "-version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, errors="replace").stdout if os.access(self.options.program, os.X_OK) else ""
    petsc = re.search(r"Petsc (?:Release|Development)[^0-9v]*(v?[0-9][^ ,\n]*)", said)
    return "PETSc %s" % (petsc.group(1) if petsc else "unknown")

  def worker(self):
    while not self.failed:
      with self.lock:
        if self.options.minutes and time.time() - self.began > 60 * self.options.minutes:
          return
        self.read()
        runs, count = self.missing()
        job = None
        for run in runs:
          folder = os.path.join(self.options.output, run.hash)
          if run.hash in self.busy:
            continue
          os.makedirs(folder, exist_ok=True)
          lock = open(os.path.join(folder, "lock"), "a")
          try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB) # it goes with the process
          except OSError:
            lock.close()
            continue
          job = run
          self.busy.add(run.hash)
          break
      if not count:
        return
      if job is None: # others run what is left
        if not self.busy and not runs:
          return
        time.sleep(1)
        continue
      try:
        seconds, line = self.start(folder, job)
        with self.lock:
          self.append(line)
          self.took.append(seconds)
          left = (count - 1) * statistics.mean(self.took) / self.options.jobs
          print("%-44s %5.0f s  %s  %d left, about %d:%02d h" % (job.title, seconds, "diverged" if not math.isfinite(float(line["loss"])) else "loss %.4f" % float(line["loss"]), count - 1, left // 3600, left // 60 % 60), flush=True)
      except (Bad, OSError, plot.Bad, KeyError, ValueError) as e:
        self.failed.append(str(e) if isinstance(e, Bad) else "%s: %r" % (folder, e))
      finally:
        self.busy.discard(job.hash)
        lock.close()

  def start(self, folder, run):
    """Makes the run, or goes on with its checkpoint: seconds, and its line for the csv."""
    parts = lambda: sorted(one for one in os.listdir(folder) if re.fullmatch(r"part-\d+\.csv", one)) # of the starts of a run; beside them are those of layers
    part, checkpoint = len(parts()), os.path.join(folder, "checkpoint")
    command = self.launch(run)
    command += ["-nanogpt_csv", os.path.join(folder, "part-%02d.csv" % part), "-muon_monitor_csv", os.path.join(folder, "steps.csv"), "-nanogpt_sample", "0"]
    command += ["-muon_checkpoint", checkpoint, "-muon_checkpoint_interval", "1000000000", "-muon_checkpoint_seconds", "60", "-muon_checkpoint_keep", "1", "-muon_restart", checkpoint, "-muon_restart_if_present"]
    log, began = os.path.join(folder, "log-%02d" % part), time.time()
    with open(os.path.join(folder, "options"), "w") as f:
      f.write(" ".join(shlex.quote(word) for word in command) + "\n")
    with open(log, "w") as f:
      child = subprocess.Popen(command, stdout=f, stderr=subprocess.STDOUT, start_new_session=True)
      self.children.add(child)
      status = child.wait()
      self.children.discard(child)
    with open(log, errors="replace") as f:
      said = f.read()
    if status != 0 and not re.search(r"stopped at step \d+: DIVERGED", said):
      raise Bad("%s: the run ended with status %d: %s" % (log, status, self.errors(said)))
    found = re.search(r"validation loss (\S+) \(\d+ sequences\) after", said)
    line = self.merge(folder, parts(), float(found.group(1)) if found else math.nan, run)
    shutil.rmtree(checkpoint, ignore_errors=True)
    for one in parts():
      os.remove(os.path.join(folder, one))
    return time.time() - began, line

  def merge(self, folder, parts, final, run):
    """One line of what the library and the program wrote in all starts of a run."""
    rows, work = [], math.inf
    for one in parts:
      with open(os.path.join(folder, one), newline="") as f:
        more = [row for row in csv.DictReader(f)]
      seconds = [(int(row["step"]), sum(float(row["seconds_" + phase]) for phase in ("gradient", "lmo", "compress"))) for row in more]
      work = min([work] + [(b[1] - a[1]) / (b[0] - a[0]) for a, b in zip(seconds, seconds[1:]) if b[1] > a[1]])
      rows = [row for row in rows if more and int(row["step"]) < int(more[0]["step"])] + more if more else rows
    with open(os.path.join(folder, "steps.csv"), newline="") as f:
      steps = {int(row["step"]) + 1: row for row in csv.DictReader(f)}
    points, sent, at = [], [0.0, 0.0], 0
    for row in rows:
      for step in range(at + 1, int(row["step"]) + 1):
        if step in steps:
          sent = [sent[0] + float(steps[step]["bits_up"]) / 8, sent[1] + float(steps[step]["bits_down"]) / 8]
      at = int(row["step"])
      points.append("%d:%d:%.6g:%.0f:%.0f:%.0f:%.0f" % (at, int(row["tokens"]), float(steps[at]["validation"]), float(row["paper_up"]) / 8, float(row["paper_down"]) / 8, sent[0], sent[1]))
    every = -(-len(points) // 40)
    points = points[len(points) % every - 1 if len(points) % every else every - 1::every] if every > 1 else points
    return dict(options=run.options, text=self.text["sha256"], part=run.part, machine=self.options.machine or machine(), commit=self.commit, versions=self.versions,
                work="%.6g" % (work if math.isfinite(work) else 0), plain="%.0f" % self.plain(folder, parts, run), loss="%.6g" % final, curve=" ".join(points), points=len(points))

  def plain(self, folder, parts, run):
    """Bytes a step that layers of AdamW send up uncompressed beside compressed ones: those of the embedding, where it has that rule."""
    words = run.options.split()
    if "-muon_layer_embed_rule adamw" not in run.options or "-ef21_compressor_rules all" in run.options or not any(re.fullmatch("-ef(21|14)_compressor", word) for word in words):
      return 0
    return 4 * 256 * float(words[words.index("-nanogpt_width") + 1])


def prepare(folder, source):
  """The text: its SHA-256, and the options for each part."""
  text = module("text", os.path.join(HERE, "text.py"))
  try:
    known = text.prepare(folder, source)
  except text.Bad as e:
    raise Bad(str(e))
  out = {"sha256": known["sha256"]}
  for suffix, paths in [("", known["paths"])] + [("-" + name, one) for name, one in known["paths"].items() if isinstance(one, dict)]:
    for part, held in (("tuning", "tune"), ("reporting", "report")):
      out[part + suffix] = ["-nanogpt_data", ",".join(paths["train"]), "-nanogpt_split", "folders", "-nanogpt_validation_data", paths[held]]
  return out


def machine():
  with open("/proc/cpuinfo") as f:
    model = (re.findall(r"model name\s*: (.*)", f.read()) or [platform.machine()])[0]
  return "%s, %d cores" % (model, os.cpu_count())


def plus(a, b):
  return "%+.4f to %+.4f" % (a, b)


def compare(pairs, planned):
  """{method: (mean, low, high, p)} of differences {method: [differences]}, and the verdicts by Holm's rule over all that were planned."""
  found, verdict = {}, {}
  for name, values in pairs.items():
    if len(values) > 2:
      half, mean = plot.half_width(values), statistics.mean(values)
      error = statistics.stdev(values) / math.sqrt(len(values))
      found[name] = (mean, mean - half, mean + half, plot.t_tail(abs(mean) / error, len(values) - 1) if error > 0 else 0.0 if mean else 1.0)
  sure = True
  for k, name in enumerate(sorted(found, key=lambda name: found[name][3])):
    mean, low, high, p = found[name]
    sure = sure and p <= 0.05 / (planned - k)
    if len(pairs[name]) >= 10 and -0.01 <= low and high <= 0.01 and not (sure and mean < 0):
      verdict[name] = "costs nothing"
    else:
      verdict[name] = ("better" if mean < 0 else "worse") if sure else "no difference seen"
  return found, verdict


def tokens_to(ends, loss):
  """Tokens at which a line through [(tokens, loss)] comes to a loss: None before its last end, 0 where the first is below."""
  for (a, la), (b, lb) in zip(ends, ends[1:]):
    if la <= loss:
      return a
    if lb <= loss:
      return a + (b - a) * (la - loss) / (la - lb)
  return None


class Report:
  """All that is said of a study, from its lines alone."""

  def __init__(self, study):
    self.study, self.plan, self.out = study, study.plan, []
    self.found, self.missing, self.used = {}, [], []
    for name, at, seed in study.cells():
      rate = study.rate(name)
      run = Run(study, name, at, rate, seed) if rate is not False else None
      result = study.result(run) if run else None
      if result is None:
        self.missing.append((name, at, seed))
      else:
        self.found.setdefault((name, at), {})[seed] = result
        self.used += study.known[run.key]
    self.reference = next(iter(self.plan.runs))

  def label(self, name):
    return self.plan.runs[name][1]

  def ends(self, name, at):
    return self.found.get((name, at), {})

  def losses(self, at):
    """The table of last losses."""
    plan, reference = self.plan, self.ends(self.reference, at)
    names = [name for name in plan.runs if at in plan.places(name)]
    pairs = {name: [one["loss"] - reference[seed]["loss"] for seed, one in self.ends(name, at).items() if seed in reference] for name in names if name != self.reference}
    tested = {name: values for name, values in pairs.items() if plan.count(name) > 2 and all(math.isfinite(value) for value in values)}
    found, verdict = compare(tested, sum(plan.count(name) > 2 for name in pairs))
    base = list(reference.values())[0]["curve"][-1] if reference and list(reference.values())[0]["curve"] else None
    self.out += ["", "## Last loss%s" % (", " + at if at else ""), "", "| method | rate | seeds | loss | minus %s | 95%% interval | | could be seen | up, paper | up, sent | both, sent | AdamW's, plain |" % self.label(self.reference), "|" + "---|" * 12]
    for name in names:
      seeds, rate = self.ends(name, at), self.study.rate(name)
      if not seeds:
        self.out.append("| %s | | 0 of %d | not run |%s" % (self.label(name), plan.count(name), " |" * 8))
        continue
      values, whole = [one["loss"] for one in seeds.values()], len(seeds) == plan.count(name)
      lost = sum(not math.isfinite(value) for value in values)
      cells = [self.label(name), "%.3g" % rate if rate else "-", "%d%s" % (len(seeds), "" if whole else " of %d" % plan.count(name)), "%d diverged" % lost if lost else "%.4f" % statistics.mean(values)]
      if name in found:
        mean, low, high, _ = found[name]
        cells += ["%+.4f" % mean, plus(low, high), verdict[name] if whole and len(tested[name]) == len(seeds) else "not all seeds", "%.4f" % ((high - low) / 2)]
      else:
        cells += ["%+.4f" % statistics.mean(pairs[name]) if not lost and pairs.get(name) and math.isfinite(sum(pairs[name])) else "", "", "", ""]
      last = [one["curve"][-1] for one in seeds.values() if one["curve"]]
      over = lambda *columns: "%.4f" % (sum(statistics.mean(one[column] / one["tokens"] for one in last) for column in columns) / sum(base[column] / base["tokens"] for column in columns)) if last and base else ""
      plain = max(one["plain"] * one["curve"][-1]["step"] / max(one["curve"][-1]["paper_up"], 1) for one in seeds.values() if one["curve"]) if last else 0
      self.out.append("| %s |" % " | ".join(cells + [over("paper_up"), over("bytes_up"), over("bytes_up", "bytes_down"), "%.2f" % plain if plain else "0"]))
    self.out += ["", "Means over the seeds. Seeds are paired: a difference is of runs with the same batches, its interval is Student's. \"Better\" and \"worse\" hold after Holm's correction for the %d comparisons of this table; \"costs nothing\" is said where ten seeds leave the whole interval "
                 "within 0.01. A difference below \"could be seen\" would not have left 0. Bytes are fractions of those of %s, of all layers: by the paper's formula and as sent. The last column is the part of the paper's bytes up that layers of AdamW send uncompressed." %
                 (sum(plan.count(name) > 2 for name in pairs), self.label(self.reference))]

  def equal(self):
    """Tokens and bytes to the loss of the reference at the first length, intervals by bootstrap over seeds."""
    plan, study, first = self.plan, self.study, next(iter(self.plan.at))
    seeds = [seed for seed in range(1, plan.count(self.reference) + 1) if all(seed in self.ends(name, at) and math.isfinite(self.ends(name, at)[seed]["loss"]) for name in plan.equal for at in plan.places(name))]
    self.factors = {}
    self.out += ["", "## To one loss", ""]
    if len(seeds) < 2:
      self.out.append("Not run: fewer than two seeds have all lengths.")
      return
    columns = ("paper_up", "paper_down", "bytes_up", "bytes_down")
    table = {name: [[(one["curve"][-1]["tokens"], one["loss"], [one["curve"][-1][column] / one["curve"][-1]["tokens"] for column in columns]) for one in (self.ends(name, at)[seed] for at in plan.places(name))] for seed in seeds] for name in plan.equal}

    def once(drawn):
      """{method: (tokens, factors)} for these seeds."""
      ends = {name: [(rows[drawn[0]][k][0], statistics.mean(rows[s][k][1] for s in drawn)) for k in range(len(rows[0]))] for name, rows in table.items()}
      goal, out = ends[plan.equal[0]][0][1], {}
      for name in plan.equal:
        tokens = tokens_to(ends[name], goal)
        rates = [statistics.mean(table[name][s][0][2][c] for s in drawn) for c in range(4)]
        out[name] = (tokens, rates)
      base, factors = out[plan.equal[0]], {}
      for name, (tokens, rates) in out.items():
        if tokens is not None:
          cost = lambda some, t, r: t * sum(r[c] for c in some)
          factors[name] = [tokens / base[0]] + [cost(some, *base) / cost(some, tokens, rates) for some in ((0,), (0, 1), (2,), (2, 3))]
      return goal, ends, factors

    goal, ends, factors = once(list(range(len(seeds))))
    draw, drawn = random.Random(1), []
    for _ in range(1000):
      drawn.append(once([int(draw.random() * len(seeds)) for _ in seeds])[2])
    heads = ["%s, %s" % (way, what) for what in ("paper", "sent") for way in ("up", "both ways")]
    self.out += ["The loss is that of %s after %.3g tokens, %.4f. Each length is a whole schedule; tokens between two lengths are on a line. Factors say how many times fewer bytes than %s at that loss; against bf16 each is half of it. Intervals of 95%% are from 1000 draws of the %d seeds with all lengths." %
                 (self.label(plan.equal[0]), ends[plan.equal[0]][0][0], goal, self.label(plan.equal[0]), len(seeds)), "", "| method | losses at %s | tokens | %s | against bf16, up, paper | up, sent |" % (", ".join(plan.places(plan.equal[0])), " | ".join(heads)), "|" + "---|" * 9]
    for name in plan.equal:
      cells = [self.label(name), ", ".join("%.4f" % loss for _, loss in ends[name])]
      if name not in factors:
        self.out.append("| %s | more than %.2f times |%s" % (" | ".join(cells), ends[name][-1][0] / ends[plan.equal[0]][0][0], " |" * 6))
        continue
      some = [[one[name][k] if name in one else None for one in drawn] for k in range(5)]
      text = []
      for k in range(5):
        reached = sorted(value for value in some[k] if value is not None)
        low, high = reached[int(0.025 * len(reached))], reached[int(0.975 * len(reached)) - 1] if len(reached) > 0.975 * len(some[k]) else None
        if k and high is None or k == 0:
          low, high = (low, high) if k == 0 else (None, reached[int(0.975 * len(reached)) - 1])
        self.factors.setdefault(name, []).append((factors[name][k], low, high))
        text.append("%.3g (%s to %s)" % (factors[name][k], "?" if low is None else "%.3g" % low, "?" if high is None else "%.3g" % high))
      self.out.append("| %s |" % " | ".join(cells + text + ["%.3g" % (factors[name][k] / 2) for k in (1, 3)]))
    self.out += ["", "A ? is an end of an interval that lies behind the longest schedule."]

  def tuned(self):
    self.out += ["", "## Rates", "", "Last losses with the seed %d on the tuning part, at full length." % TUNING, ""]
    for name in self.plan.runs:
      grid = self.plan.runs[name][0]
      if grid[0] == "=":
        self.out.append("- %s: that of %s" % (self.label(name), self.label(grid[1:])))
      elif grid != "-":
        losses = self.study.tuning(name)
        self.out.append("- %s, `%s`: %s" % (self.label(name), self.study.grid(name)[0], ", ".join("%.3g %s" % (rate, "not run" if losses[rate] is None else "diverged" if math.isinf(losses[rate]) else "%.4f" % losses[rate]) for rate in sorted(losses))))

  def draw(self, folder):
    for name, link, xs, names in self.plan.figures:
      at = next(iter(self.plan.at))
      groups = {one: [result["curve"] for result in self.ends(one, at).values() if math.isfinite(result["loss"])] for one in names}
      groups = {one: runs for one, runs in groups.items() if runs}
      if not groups:
        continue
      work = {self.label(one): min(result["work"] for result in self.ends(one, at).values()) for one in groups}
      figure = plot.draw_study({self.label(one): runs for one, runs in groups.items()}, xs, link or None, work, "validation loss, nats a byte", colors={self.label(one): list(self.plan.runs).index(one) for one in groups})
      figure.savefig(os.path.join(folder, name + ".svg"), metadata={"Date": None})
      self.out += ["", "![](%s.svg)" % name]

  def write(self):
    study, plan = self.study, self.plan
    if not self.found:
      raise Bad("%s: nothing is finished" % study.store)
    folder = os.path.dirname(study.store)
    values = lambda column: ", ".join(sorted(set(line[column] for line in self.used)))
    self.out = ["# %s" % (plan.title or study.name), ""] + [note + "\n" for note in plan.notes]
    self.out += ["Made on %s. Commit %s; %s. SHA-256 of the text: `%s`." % (values("machine"), values("commit"), values("versions"), study.text["sha256"]), "", "All runs: `%s`" % " ".join(plan.all), ""]
    self.out += ["%s: `%s`  " % (at, " ".join(words)) for at, (words, _) in plan.at.items() if words]
    for at in plan.at:
      self.losses(at)
    if plan.equal:
      self.equal()
    self.tuned()
    try:
      self.draw(folder)
    except plot.Bad as e:
      self.out += ["", "No figures: %s" % e]
    if self.missing:
      self.out += ["", "## Not run", "", "`make study STUDY=%s` goes on with what is missing:" % study.name, ""]
      counts = {}
      for name, at, seed in self.missing:
        counts.setdefault((name, at), []).append(str(seed))
      self.out += ["- %s%s: seeds %s" % (self.label(name), ", " + at if at else "", ", ".join(seeds)) for (name, at), seeds in counts.items()]
    self.out += [""] * bool(study.wrong) + ["- " + one for one in study.wrong]
    write(os.path.join(folder, "report.md"), "\n".join(self.out + [""]))
    return os.path.join(folder, "report.md")


def write(path, text):
  """Whole or not at all."""
  try:
    with open(path + ".part", "w") as f:
      f.write(text)
    os.replace(path + ".part", path)
  except OSError as e:
    raise Bad("%s: %s" % (path, e.strerror))


def text_of_store(path):
  """The text that a study was made with, for a report; None where there is no study."""
  try:
    with open(path, newline="", errors="replace") as f:
      found = [row["text"] for row in csv.DictReader(f) if re.fullmatch("[0-9a-f]{64}", row.get("text") or "")]
  except OSError:
    found = []
  return {"sha256": max(set(found), key=found.count)} if found else None


def main(arguments=None):
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--plan", default="quick")
  parser.add_argument("--program", help="nanogpt")
  parser.add_argument("--data", help="C files, a folder or an archive; by default the kernel of Debian's linux-source-6.1")
  parser.add_argument("-o", "--output", default="studies", help="folder for logs, checkpoints and the text")
  parser.add_argument("--text", help="folder of a text that was prepared, by default in --output")
  parser.add_argument("--store", default=os.path.join(ROOT, "share", "petscmuon", "doc", "studies"), help="folder that has, or gets, a folder with runs.csv and report.md for each plan")
  parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
  parser.add_argument("--minutes", type=float, help="begin no run after this time")
  parser.add_argument("--commit", help="what the lines say that the program was built from, in place of git's")
  parser.add_argument("--versions", help="and of the libraries")
  parser.add_argument("--machine", help="and of the machine, in place of its processor")
  parser.add_argument("--report", action="store_true", help="run nothing, and report what is finished")
  options = parser.parse_args(arguments)
  path = options.plan if os.path.exists(options.plan) else os.path.join(HERE, options.plan + ".txt")
  options.output, options.program = os.path.abspath(options.output), os.path.abspath(options.program or "nanogpt")
  signal.signal(signal.SIGTERM, lambda number, frame: sys.exit("study.py: stopped; the same command goes on")) # and the runs with it
  try:
    plan = Plan(path)
    store = os.path.join(options.store, os.path.splitext(os.path.basename(path))[0], "runs.csv")
    text = text_of_store(store)
    if options.report or (text and not options.data and not Study(plan, options, text).missing()[0]):
      if text is None:
        raise Bad("%s: nothing is finished" % store)
    else:
      text = prepare(options.text or os.path.join(options.output, "text"), options.data)
      if not os.path.exists(options.program):
        raise Bad("%s: no such program" % options.program)
    study = Study(plan, options, text)
    for one in study.wrong:
      print("study.py: " + one, file=sys.stderr)
    if not options.report:
      try:
        study.everything()
      finally:
        study.read()
    print("The report is %s" % Report(study).write())
  except (Bad, plot.Bad, OSError) as e:
    print("study.py: %s" % e, file=sys.stderr)
    return 1
  except KeyboardInterrupt:
    print("study.py: stopped; the same command goes on", file=sys.stderr)
    return 130
  return 0


if __name__ == "__main__":
  sys.exit(main())
