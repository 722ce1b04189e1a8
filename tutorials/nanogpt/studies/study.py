#!/usr/bin/env python3
"""Runs what is missing of a plan of trainings and reports all that is there: study.py --program nanogpt --plan rivals

A plan is a text file, a folder's *.txt here by its name or any other by its path. A line is a word and what belongs to it; quotes keep words together, # begins a comment:

    title TEXT | note TEXT         what the report says
    all OPTIONS                    of all runs; may be there more than once; -n is the number of workers, -lab 100e6 puts them on hosts of share/petscmuon/lab with links of that rate,
                                   -reference 1 has them made by reference.py, where --torch has torch
    text unequal                   each worker has a subsystem for itself
    seeds N [RUN ...]              the seeds 1 to N are reported, of these runs or of all
    at NAME OPTIONS [-- RUN ...]   lengths or sizes that these runs, or all, have; the first one is where rates are tuned
    grid NAME KEY VALUE ...        rates a factor of 2 apart; it grows where the best is at an end
    run NAME GRID|=RUN|- LABEL OPTIONS  a method, with a rate of its own from the grid, with that of another run, or with none; others are compared with the first
    equal RUN ...                  tokens and bytes to the loss of the first run at the first length, interpolated between the ends of whole schedules
    figure NAME X[,X] RUN ...      curves, X as for plot.py --x; link:100e6: in front of it computes seconds for that link; for X, ends has the last losses at all lengths, fewer a bar for the bytes at equal loss

A run is known by its options and the text's SHA-256. Finished runs are lines of PLAN/runs.csv in the folder of --store; reports are made of these files alone, and runs of other plans there count. Rates are tuned
with the seed 101 at full length on one held-out part of the text, and the last loss is that of another one. --output has logs and checkpoints: a run that was stopped goes on.
"""

import argparse
import csv
import fcntl
import glob
import hashlib
import math
import os
import random
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
SOURCES = os.path.exists(os.path.join(ROOT, "config", "mpiexec")) # else it is installed
SHARE = os.path.join(ROOT, "share", "petscmuon") if SOURCES else ROOT
MPIEXEC = os.path.join(ROOT, "config", "mpiexec") if SOURCES else os.path.join(ROOT, "bin", "petscmuon-mpiexec")
sys.path[:0] = [HERE, SHARE]
import plot
import text

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
  return " ".join(" ".join(pair).strip() for pair in sorted(found.items()))


class Plan:
  LEAST = {"title": 1, "note": 1, "text": 1, "all": 1, "seeds": 1, "at": 1, "grid": 3, "run": 3, "equal": 1, "figure": 3}

  def __init__(self, path):
    self.path, self.title, self.notes, self.text, self.all, self.seeds, self.at, self.grids, self.runs, self.equal, self.figures = path, "", [], "", [], [(1, [])], {}, {}, {}, [], []
    named = []
    try:
      with open(path) as f:
        lines = f.read().splitlines()
    except (OSError, UnicodeDecodeError) as e:
      raise Bad("%s: %s" % (path, getattr(e, "strerror", None) or "is no text"))
    for number, line in enumerate(lines, 1):
      try:
        words = shlex.split(line, comments=True)
        if words:
          named += [(number, name) for name in self.line(words[0], words[1:])]
      except (ValueError, Bad) as e:
        raise Bad("%s:%d: %s" % (path, number, e))
    for number, name in named:
      if name not in self.runs:
        raise Bad("%s:%d: no run %s" % (path, number, name))
    if not self.runs:
      raise Bad("%s: no run" % path)
    self.at = self.at or {"": ([], [])}
    self.first, self.reference = next(iter(self.at)), next(iter(self.runs))

  def line(self, word, rest):
    """Takes a line; returns the runs that it names."""
    if word not in self.LEAST:
      raise Bad("unknown word %s, expected %s" % (word, ", ".join(self.LEAST)))
    if len(rest) < self.LEAST[word]:
      raise Bad("%s takes %d words or more" % (word, self.LEAST[word]))
    if word == "title":
      self.title = " ".join(rest)
    elif word == "note":
      self.notes.append(" ".join(rest))
    elif word == "text":
      self.text = "-" + rest[0]
    elif word == "all":
      self.all += rest
      canonical(self.all)
    elif word == "grid":
      self.grids[rest[0]] = (rest[1], [float(value) for value in rest[2:]])
    elif word == "seeds":
      if not re.fullmatch("[1-9][0-9]*", rest[0]):
        raise Bad("seeds %s, expected a positive number" % rest[0])
      self.seeds.append((int(rest[0]), rest[1:]))
      return rest[1:]
    elif word == "at":
      split = rest.index("--") if "--" in rest else len(rest)
      self.at[rest[0]] = (rest[1:split], rest[split + 1:])
      return rest[split + 1:]
    elif word == "equal":
      self.equal = rest
      return rest
    elif word == "run":
      if rest[0] in self.runs or not re.fullmatch(r"[\w.+-]+", rest[0]):
        raise Bad("run %s is there twice or is no name" % rest[0])
      if rest[1] != "-" and rest[1] not in self.grids and not (rest[1][0] == "=" and rest[1][1:] in self.runs):
        raise Bad("no grid %s" % rest[1])
      canonical(rest[3:])
      self.runs[rest[0]] = (rest[1], rest[2], rest[3:])
    else:
      link, x = rest[1].split(":")[1:] if re.fullmatch(r"link:[0-9.e+]+:.*", rest[1]) else (0, rest[1])
      for one in x.split(","):
        if one not in plot.AXES and one not in ("ends", "fewer"):
          raise Bad("unknown %s, expected %s, ends, fewer" % (one, ", ".join(plot.AXES)))
      self.figures.append((rest[0], float(link), x.split(","), rest[2:]))
      return rest[2:]
    return []

  def label(self, name):
    return self.runs[name][1]

  def count(self, name):
    """Seeds of a run: the last line that speaks of it, else of all."""
    return ([n for n, names in self.seeds if name in names] or [n for n, names in self.seeds if not names])[-1]

  def places(self, name):
    return [at for at, (_, names) in self.at.items() if name in names or not names]

  def leader(self, name):
    """The run whose rate a run has."""
    return self.leader(self.runs[name][0][1:]) if self.runs[name][0][0] == "=" else name

  def grid(self, name):
    """Key and rates; no rates where none is chosen."""
    return self.grids.get(self.runs[self.leader(name)][0], ("", []))


class Run:
  """One training: its options, and what makes it known."""

  def __init__(self, study, name, at, rate, seed):
    plan = study.plan
    words = plan.all + plan.at[at][0] + plan.runs[name][2] + ([plan.grid(name)[0], "%.10g" % rate] if rate else []) + ["-nanogpt_seed", str(seed), "-muon_seed", str(seed)]
    self.name, self.options, self.part = name, canonical(words), ("tuning" if seed == TUNING else "reporting") + plan.text
    self.key = (self.options, study.text["sha256"], self.part)
    self.folder = os.path.join(study.options.output, hashlib.sha256(repr(self.key).encode()).hexdigest()[:12])
    self.title = " ".join([name] + [at] * (at != "") + ["%.3g" % (rate or 0)] * bool(rate) + ["seed %d" % seed])


def take(words, key):
  """The words without this key, and its value."""
  return (words, None) if key not in words else (words[:words.index(key)] + words[words.index(key) + 2:], words[words.index(key) + 1])


def parse(row):
  """A line of runs.csv as numbers; ValueError where it is damaged."""
  if None in row or None in row.values() or not re.fullmatch("(tuning|reporting)(-[a-z]+)?", row["part"]) or not re.fullmatch("[0-9a-f]{64}", row["text"]):
    raise ValueError
  curve = [dict(zip(POINT, (float(x) for x in point.split(":")))) for point in row["curve"].split()]
  one = dict(row, options=canonical(row["options"].split()), loss=float(row["loss"]), work=float(row["work"]), plain=float(row["plain"]), curve=curve)
  if len(curve) != int(row["points"]) or any(len(point) != len(POINT) for point in curve) or any(a["step"] >= b["step"] for a, b in zip(curve, curve[1:])):
    raise ValueError
  return one


def read_store(folder):
  """{key: [lines]} of all plans' files, and what is wrong in them."""
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
  at = [{point["step"]: point for point in line["curve"]} for line in lines]
  curve = [{column: statistics.mean(one[step][column] for one in at) for column in POINT} for step in sorted(set.intersection(*map(set, at)))]
  for point in curve:
    point.update(steps=point["step"], up=point["bytes_up"], down=point["bytes_down"], both=point["bytes_up"] + point["bytes_down"], paper=point["paper_up"])
  return dict(lines[0], curve=curve, loss=statistics.mean(line["loss"] for line in lines), work=min(line["work"] for line in lines))


class Study:
  def __init__(self, plan, options):
    self.plan, self.options, self.took, self.began = plan, options, [], time.time()
    self.name = os.path.splitext(os.path.basename(plan.path))[0]
    self.store = os.path.join(options.store, self.name, "runs.csv")
    self.torch = said([options.torch, "-c", "import torch; print(torch.__version__)"]) if not options.report and any("-reference" in words for _, _, words in plan.runs.values()) else ""
    self.read()
    texts = [line["text"] for lines in self.known.values() for line in lines if self.name in line["plans"]]
    self.text = {"sha256": max(sorted(set(texts)), key=texts.count, default="")} # that the study was made with; enough for a report

  def read(self):
    self.known, self.wrong = read_store(self.options.store)
    self.tuned = {}

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
    line = StringIO()
    csv.DictWriter(line, COLUMNS, lineterminator="\n").writerow(row)
    try:
      with open(self.store, "a+", newline="") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        f.seek(0)
        before = f.read()
        f.write(("" if before else ",".join(COLUMNS) + "\n") + ("" if before[-1:] in ("", "\n") else "\n") + line.getvalue())
    except OSError as e: # which does not always know the file
      raise Bad("%s: %s" % (self.store, e.strerror))

  def tuning(self, name):
    """What the rates of a run gave, {rate: loss or None}, None for one that did not run; the grid has grown until its best is inside, and further where such runs are there."""
    leader, losses = self.plan.leader(name), {}
    if leader in self.tuned:
      return self.tuned[leader]

    def loss(rate):
      found = self.result(Run(self, leader, self.plan.places(leader)[0], rate, TUNING))
      return None if found is None else found["loss"] if math.isfinite(found["loss"]) else math.inf

    for rate in self.plan.grid(name)[1]:
      losses[rate] = loss(rate)
    while 1 < len(losses) < 12 and None not in losses.values() and min(losses.values()) < math.inf:
      rate = beyond(losses)
      if loss(rate) is None and min(losses) < min(losses, key=losses.get) < max(losses):
        break
      losses[rate] = loss(rate)
    self.tuned[leader] = losses
    return losses

  def rate(self, name):
    """The best rate; None where there is none to choose, False where the tuning is not finished."""
    losses = self.tuning(name)
    return False if None in losses.values() else min(losses, key=losses.get) if losses else None

  def cells(self):
    """All runs that are reported, [(name, at, seed)], seeds outermost: a study that is stopped has all methods."""
    plan = self.plan
    return [(name, at, seed) for seed in range(1, max(map(plan.count, plan.runs)) + 1) for at in plan.at for name in plan.runs if at in plan.places(name) and seed <= plan.count(name)]

  def missing(self):
    """Runs to be made as far as they are known by now, in their order, and how many there are with those that wait for a rate."""
    plan, out, waiting = self.plan, {}, 0
    tuned = {name: dict(self.tuning(name)) for name in plan.runs if plan.grid(name)[1] and plan.leader(name) == name}
    want = [(name, plan.places(name)[0], rate, TUNING) for name, losses in tuned.items() for rate, loss in losses.items() if loss is None]
    for name, at, seed in self.cells():
      rate = self.rate(name)
      if rate is False:
        waiting += 1
      else:
        want.append((name, at, rate, seed))
    most = max(map(len, tuned.values()), default=0)
    for name, losses in tuned.items(): # as many runs for each method: grids grow at the end next to their best, after all else
      while None not in losses.values() and len(losses) < most:
        rate = beyond(losses)
        want.append((name, plan.places(name)[0], rate, TUNING))
        losses[rate] = math.inf
    for one in want:
      run = Run(self, *one)
      if self.result(run) is None and (self.torch or "-reference" not in run.options):
        out.setdefault(run.key, run)
    return list(out.values()), len(out) + waiting

  def launch(self, run):
    words, ranks = take(run.options.split(), "-n")
    words, rate = take(words, "-lab")
    words, reference = take(words, "-reference")
    if reference:
      return [self.options.torch, os.path.join(os.path.dirname(HERE), "reference.py")] + self.text[run.part] + words
    start = [os.path.join(SHARE, "lab", "run"), "--rate", "%gmbit" % (float(rate) / 1e6), "--hosts", ranks or "1", "--"] if rate else [MPIEXEC, "-n", ranks or "1"]
    return start + [self.options.program] + self.text[run.part] + words

  def check(self):
    """One short step of each method: what the program does not take, or does not read, is an error before the first run."""
    for name, (_, _, words) in self.plan.runs.items():
      if "-reference" in words: # knows its keys
        continue
      command = self.launch(Run(self, name, self.plan.places(name)[0], (self.plan.grid(name)[1] or [None])[0], TUNING))
      command += ["-nanogpt_steps", "1", "-nanogpt_interval", "1", "-nanogpt_validation", "8", "-nanogpt_validation_end", "8", "-nanogpt_sample", "0", "-options_left"]
      done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, errors="replace")
      left = re.findall(r"Option left: name:(-\S+)", done.stdout)
      if left or done.returncode != 0:
        raise Bad("%s: run %s: %s" % (self.plan.path, name, "the program does not know " + ", ".join(left) if left else errors(done.stdout)))

  def everything(self):
    """Runs what is missing, --jobs at a time, until --minutes are over."""
    runs, count = self.missing()
    if not runs:
      return
    self.check()
    self.versions = "PETSc %s" % (re.findall(r"Petsc (?:Release|Development)\D*([0-9.]+)", said([self.options.program, "-version"])) or ["unknown"])[0]
    active, shown = [], time.time()
    try:
      while True:
        over = self.options.minutes and time.time() - self.began > 60 * self.options.minutes
        for run in [] if over else runs:
          if len(active) < self.options.jobs and run.folder not in [one[0].folder for one in active]:
            active += self.start(run)
        if not active and (over or not runs):
          return
        done = [one for one in active if one[1].poll() is not None]
        for one in done:
          active.remove(one)
          self.finish(*one, count=count - 1)
        if done or not active: # where others run what is left, it waits for them
          self.read()
          runs, count = self.missing()
        if not done:
          time.sleep(0.2 if active else 5)
        if time.time() > shown + 600: # of a long run the program knows how far it is
          shown = time.time()
          for run, _, _, _ in active:
            with open(os.path.join(run.folder, "log"), errors="replace") as f:
              print("%s: %s" % (run.title, f.read().splitlines()[-1]), flush=True)
    except BaseException:
      for _, child, _, _ in active:
        child.terminate()
        child.wait()
      raise

  def start(self, run):
    """[(run, child, lock, time)], or nothing where another process has this run."""
    os.makedirs(run.folder, exist_ok=True)
    lock = open(os.path.join(run.folder, "lock"), "a")
    try:
      fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB) # it goes with the last process that has the file: the run's
    except OSError:
      lock.close()
      return []
    part, checkpoint = len(parts(run.folder)), os.path.join(run.folder, "checkpoint")
    command = self.launch(run) + ["-nanogpt_csv", os.path.join(run.folder, "part-%02d.csv" % part), "-muon_monitor_csv", os.path.join(run.folder, "steps.csv"), "-nanogpt_sample", "0"]
    command += [] if "-reference" in run.options else ["-muon_checkpoint", checkpoint, "-muon_checkpoint_interval", "1000000000", "-muon_checkpoint_seconds", "60", "-muon_checkpoint_keep", "1", "-muon_restart", checkpoint, "-muon_restart_if_present"]
    with open(os.path.join(run.folder, "log"), "w") as f:
      f.write(" ".join(map(shlex.quote, command)) + "\n")
      f.flush()
      return [(run, subprocess.Popen(command, stdout=f, stderr=subprocess.STDOUT, pass_fds=[lock.fileno()]), lock, time.time())]

  def finish(self, run, child, lock, began, count):
    """The line of a run for the csv."""
    log, seconds = os.path.join(run.folder, "log"), time.time() - began
    with open(log, errors="replace") as f:
      printed = f.read()
    if child.returncode != 0 and not re.search(r"stopped at step \d+: DIVERGED", printed):
      raise Bad("%s: the run ended with status %d: %s" % (log, child.returncode, errors(printed)))
    found = re.search(r"validation loss (\S+) \(\d+ sequences\) after", printed)
    loss = float(found.group(1)) if found else math.nan
    self.append(dict(merge(run), options=run.key[0], text=run.key[1], part=run.part, machine=self.options.machine or machine(), commit=self.options.commit or said(["git", "-C", ROOT, "rev-parse", "--short=12", "HEAD"]).strip(),
                     versions="torch " + self.torch.strip() if "-reference" in run.options else self.versions, loss="%.6g" % loss))
    shutil.rmtree(os.path.join(run.folder, "checkpoint"), ignore_errors=True)
    for path in parts(run.folder):
      os.remove(path)
    lock.close()
    self.took.append(seconds)
    left = count * statistics.mean(self.took) / self.options.jobs
    print("%-44s %5.0f s  %s  %d left, about %d:%02d h" % (run.title, seconds, "diverged" if math.isnan(loss) else "loss %.4f" % loss, count, left // 3600, left // 60 % 60), flush=True)


def beyond(losses):
  """The rate by which a grid grows, at the end next to its best."""
  best = min(losses, key=losses.get)
  return float("%.10g" % (min(losses) / 2 if best * best < min(losses) * max(losses) else max(losses) * 2))


def said(command):
  """What a command says; nothing where there is no such command."""
  try:
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True, errors="replace").stdout
  except OSError:
    return ""


def errors(printed):
  lines = re.findall(r"\[\d+\]PETSC ERROR: (?!--|WARNING|Option left|See https|Petsc |Configure|#|/)(.*)", printed) or printed.splitlines()[-3:]
  return "; ".join(dict.fromkeys(lines[:3]))


def machine():
  with open("/proc/cpuinfo") as f:
    model = (re.findall(r"model name\s*: (.*)", f.read()) or ["unknown"])[0]
  return "%s, %d cores" % (model, os.cpu_count())


def parts(folder):
  """Files of the starts of a run; beside them are those of layers."""
  return sorted(os.path.join(folder, one) for one in os.listdir(folder) if re.fullmatch(r"part-\d+\.csv", one))


def merge(run):
  """What the library and the program wrote in all starts of a run: 40 points of its curve at most, the work of a step and what layers of AdamW send uncompressed in it."""
  rows, work, lab = [], [math.inf], take(run.options.split(), "-lab")[1]
  for path in parts(run.folder):
    with open(path, newline="") as f:
      more = list(csv.DictReader(f))
    seconds = [(int(row["step"]), float(row["seconds"]) if lab else sum(float(row["seconds_" + phase]) for phase in ("gradient", "lmo", "compress"))) for row in more]
    work += [(b[1] - a[1]) / (b[0] - a[0]) for a, b in zip(seconds, seconds[1:]) if b[1] > a[1]] # others use the machine, too: the fastest part counts
    rows = [row for row in rows if int(row["step"]) < int(more[0]["step"])] + more if more else rows
  with open(os.path.join(run.folder, "steps.csv"), newline="") as f:
    steps = {int(row["step"]) + 1: row for row in csv.DictReader(f)}
  points, sent, at = [], [0.0, 0.0], 0
  for row in rows:
    for step in range(at + 1, int(row["step"]) + 1):
      sent = [sum_ + float(steps[step][column]) / 8 for sum_, column in zip(sent, ("bits_up", "bits_down"))] if step in steps else sent
    at = int(row["step"])
    points.append("%d:%s:%.6g:%.0f:%.0f:%.0f:%.0f" % (at, row["tokens"], float(steps[at]["validation"]), float(row["paper_up"]) / 8, float(row["paper_down"]) / 8, *sent))
  points = points[::-1][::max(-(-len(points) // 40), 1)][::-1]
  compressed = re.search(r"-ef(21|14)_compressor ", run.options) and "-muon_layer_embed_type adamw" in run.options and "_compressor_layers all" not in run.options
  return dict(work="%.6g" % (min(work) if min(work) < math.inf else 0), plain=4 * 256 * int(take(run.options.split(), "-nanogpt_width")[1]) if compressed else 0, curve=" ".join(points), points=len(points))


def prepare(folder, source):
  """The text: its SHA-256, and the options for each part."""
  known = text.prepare(folder, source)
  out = {"sha256": known["sha256"]}
  for suffix, paths in [("", known["paths"])] + [("-" + name, one) for name, one in known["paths"].items() if isinstance(one, dict)]:
    for part, held in (("tuning", "tune"), ("reporting", "report")):
      out[part + suffix] = ["-nanogpt_data", ",".join(paths["train"]), "-nanogpt_split", "folders", "-nanogpt_validation_data", paths[held]]
  return out


def compare(pairs, planned):
  """({method: (mean, low, high) of the differences}, {method: verdict}), by Student's interval and Holm's rule for all comparisons that were planned."""
  found, verdict, sure = {}, {}, True
  for name, values in pairs.items():
    mean, half = statistics.mean(values), plot.half_width(values)
    error = statistics.stdev(values) / math.sqrt(len(values))
    found[name] = (mean, mean - half, mean + half, plot.t_tail(mean / error, len(values) - 1) if error > 0 else float(mean == 0))
  for k, name in enumerate(sorted(found, key=lambda name: found[name][3])):
    mean, low, high, p = found[name]
    sure = sure and p <= 0.05 / (planned - k)
    nothing = len(pairs[name]) >= 10 and -0.01 <= low and high <= 0.01 and not (sure and mean < 0)
    verdict[name] = "costs nothing" if nothing else "no difference seen" if not sure else "better" if mean < 0 else "worse"
  return found, verdict


def tokens_to(ends, loss):
  """Tokens at which a line through [(tokens, loss)] comes to a loss; the first of them where it begins below, infinite where it ends above."""
  for (a, la), (b, lb) in zip(ends[:1] + ends, ends):
    if lb <= loss:
      return b if la <= loss else a + (b - a) * (la - loss) / (la - lb)
  return math.inf


class Report:
  """All that is said of a study, from its lines alone."""

  def __init__(self, study):
    self.study, self.plan, self.out, self.found, self.missing, self.used, self.factors = study, study.plan, [], {}, {}, [], {}
    for name, at, seed in study.cells():
      rate = study.rate(name)
      run = None if rate is False else Run(study, name, at, rate, seed)
      result = study.result(run) if run else None
      if result is None:
        self.missing.setdefault((name, at), []).append(str(seed))
      else:
        self.found.setdefault((name, at), {})[seed] = result
        self.used += study.known[run.key]

  def table(self, heads):
    self.out += ["", "| %s |" % " | ".join(heads), "|" + "---|" * len(heads)]
    return lambda *cells: self.out.append("| %s |" % " | ".join((cells + ("",) * len(heads))[:len(heads)]))

  def losses(self, at):
    """The table of last losses."""
    plan, reference = self.plan, self.found.get((self.plan.reference, at), {})
    names = [name for name in plan.runs if at in plan.places(name)]
    tested = [name for name in names if plan.count(name) > 2 and name != plan.reference]
    pairs = {name: [one["loss"] - reference[seed]["loss"] for seed, one in self.found.get((name, at), {}).items() if seed in reference] for name in names}
    found, verdict = compare({name: pairs[name] for name in tested if len(pairs[name]) > 2 and math.isfinite(sum(pairs[name]))}, len(tested))
    rates = lambda some, columns: sum(statistics.mean(one["curve"][-1][column] / one["curve"][-1]["tokens"] for one in some) for column in columns)
    base = [one for one in reference.values() if one["curve"]]
    self.out += ["", "## Last loss%s" % (", " + at if at else "")]
    row = self.table(["method", "rate", "seeds", "loss", "minus %s" % plan.label(plan.reference), "95% interval", "", "could be seen", "up, paper", "up, sent", "both ways, sent", "AdamW's part"] + ["seconds a step"] * ("-lab" in plan.at[at][0]))
    for name in names:
      seeds, rate = self.found.get((name, at), {}), self.study.rate(name)
      if not seeds:
        row(plan.label(name), "", "0 of %d" % plan.count(name), "not run")
        continue
      lost = sum(not math.isfinite(one["loss"]) for one in seeds.values())
      cells = [plan.label(name), "%.3g" % rate if rate else "", "%d" % len(seeds) + " of %d" % plan.count(name) * (len(seeds) < plan.count(name)), "%d diverged" % lost if lost else "%.4f" % statistics.mean(one["loss"] for one in seeds.values())]
      if name in found:
        mean, low, high, _ = found[name]
        cells += ["%+.4f" % mean, "%+.4f to %+.4f" % (low, high), verdict[name] if len(pairs[name]) == plan.count(name) else "not all seeds", "%.4f" % ((high - low) / 2)]
      else:
        cells += ["" if name == plan.reference or not pairs[name] or lost else "%+.4f" % statistics.mean(pairs[name]), "", "", ""]
      some = [one for one in seeds.values() if one["curve"]]
      if some and base:
        cells += ["%.4f" % (rates(some, columns) / rates(base, columns)) for columns in (("paper_up",), ("bytes_up",), ("bytes_up", "bytes_down"))]
        cells += ["%.2f" % max(one["plain"] * one["curve"][-1]["step"] / max(one["curve"][-1]["paper_up"], 1) for one in some), "%.3g" % min(one["work"] for one in some)]
      row(*cells)

  def equal(self):
    """Tokens and bytes to the loss of the first run at the first length."""
    plan, names = self.plan, self.plan.equal
    seeds = [seed for seed in range(1, plan.count(names[0]) + 1) if all(math.isfinite(self.found.get((name, at), {}).get(seed, {"loss": math.nan})["loss"]) for name in names for at in plan.places(name))]
    self.out += ["", "## To one loss", ""]
    if len(seeds) < 2:
      self.out.append("Not yet: two seeds at least must have all lengths.")
      return
    last = {name: [[self.found[name, at][seed] for at in plan.places(name)] for seed in seeds] for name in names}
    some = (("paper_up",), ("paper_up", "paper_down"), ("bytes_up",), ("bytes_up", "bytes_down"))

    def once(drawn):
      """The ends of schedules for these seeds, and {method: [tokens, factors of bytes]} over the first method's."""
      ends = {name: [(rows[0][k]["curve"][-1]["tokens"], statistics.mean(rows[s][k]["loss"] for s in drawn)) for k in range(len(rows[0]))] for name, rows in last.items()}
      tokens = {name: tokens_to(ends[name], ends[names[0]][0][1]) for name in names}
      cost = lambda name, columns: tokens[name] * statistics.mean(sum(last[name][s][0]["curve"][-1][column] for column in columns) for s in drawn) / ends[name][0][0]
      return ends, {name: [tokens[name] / tokens[names[0]]] + [cost(names[0], columns) / cost(name, columns) for columns in some] for name in names}

    ends, factors = once(range(len(seeds)))
    random_, draws = random.Random(1), []
    for _ in range(1000):
      draws.append(once([int(random_.random() * len(seeds)) for _ in seeds])[1])
    self.out.append("The loss is %.4f, that of %s after %.3g tokens. Each length is a whole schedule; tokens between two lengths are on a line, and a method that is below the loss at the first length counts as that. Factors say how many times fewer bytes than %s take a method to the loss; against bf16 "
                    "each is half of it. Intervals of 95%% are those of 1000 draws of the %d seeds that have all lengths; inf and 0 stand for draws that do not come to the loss within the longest schedule." % (ends[names[0]][0][1], plan.label(names[0]), ends[names[0]][0][0], plan.label(names[0]), len(seeds)))
    row = self.table(["method", "losses at " + ", ".join(plan.places(names[0])), "tokens", "up, paper", "both ways, paper", "up, sent", "both ways, sent", "up, paper, against bf16", "up, sent, against bf16"])
    for name in names:
      cells = []
      for k in range(5):
        drawn = sorted(draw[name][k] for draw in draws)
        self.factors.setdefault(name, []).append((factors[name][k], drawn[25], drawn[974]))
        cells.append("not reached" if drawn[25] == drawn[974] in (0, math.inf) else "%.3g (%.3g to %.3g)" % self.factors[name][k])
      row(plan.label(name), ", ".join("%.4f" % loss for _, loss in ends[name]), *cells, *("%.3g" % (factors[name][k] / 2) if factors[name][k] else "" for k in (1, 3)))

  def tuned(self):
    if self.plan.grids:
      self.out += ["", "## Rates", "", "Last losses on the tuning part, at full length, with the seed %d." % TUNING, ""]
    for name in self.plan.runs:
      losses, leader = self.study.tuning(name), self.plan.leader(name)
      gave = ", ".join("%.3g %s" % (rate, "not run" if losses[rate] is None else "diverged" if math.isinf(losses[rate]) else "%.4f" % losses[rate]) for rate in sorted(losses))
      if losses:
        self.out.append("- %s, `%s`: %s" % (self.plan.label(name), self.plan.grid(name)[0], gave) if leader == name else "- %s: the rate of %s" % (self.plan.label(name), self.plan.label(leader)))

  def draw(self, folder):
    plan, looks = self.plan, []
    for path in sorted(glob.glob(os.path.join(HERE, "*.txt")), key=lambda path: (not path.endswith("rivals.txt"), path)): # one look for a method in all plans
      with open(path) as f:
        looks += re.findall(r"^run +(\S+)", f.read(), re.M)
    looks = list(dict.fromkeys(looks + list(plan.runs)))
    for name, link, xs, names in plan.figures:
      names = [one for one in names if any(math.isfinite(result["loss"]) for result in self.found.get((one, plan.first), {}).values())]
      finite = lambda one, at: [result for result in self.found.get((one, at), {}).values() if math.isfinite(result["loss"])]
      groups = {plan.label(one): [result["curve"] for result in finite(one, plan.first)] for one in names}
      if groups:
        more = {"ends": {plan.label(one): [(some[0]["curve"][-1]["tokens"], [result["loss"] for result in some]) for some in (finite(one, at) for at in plan.places(one)) if some] for one in names},
                "fewer": {plan.label(one): self.factors[one][1] for one in names if one in self.factors}}
        figure = plot.draw_study(groups, xs, link or None, {plan.label(one): min(result["work"] for result in finite(one, plan.first)) for one in names}, "validation loss, nats a byte", {plan.label(one): looks.index(one) for one in names}, more)
        figure.savefig(os.path.join(folder, name + ".svg"), metadata={"Date": None})
        self.out += ["", "![](%s.svg)" % name]
    if self.found and plan.figures:
      self.out += ["", "Curves are means, bands and bars Student's 95% intervals; two seeds have no band. Seconds on a link are computed: gradient, LMO and compressing of a step as in the fastest part of a method's runs, and its bytes, up and down behind one another."]

  def advice(self):
    """The file of share/petscmuon/advise --study: options that say what is sent and when, and last losses."""
    kept, lines = r"-(muon_(type|delay(_correction)?|node_size|momentum_at|layer_type)|(outer|local|ef21|ef14|sign)_\w+)( [^-]\S*)?", []
    for name in self.plan.runs:
      values = [one["loss"] for one in self.found.get((name, self.plan.first), {}).values() if math.isfinite(one["loss"])]
      words = canonical(["-muon_type", take(self.plan.all + self.plan.runs[name][2], "-nanogpt_runs")[1] or "ef21"] + self.plan.all + self.plan.runs[name][2])
      if values:
        lines.append("%s,%.6g,%.6g,%.6g" % (" ".join(one.group() for one in re.finditer(kept, words)), statistics.mean(values), min(values), max(values)))
    return "\n".join(["options,loss,least,most"] + lines + [""])

  def write(self):
    study, plan, folder = self.study, self.plan, os.path.dirname(self.study.store)
    os.makedirs(folder, exist_ok=True)
    values = lambda column: ", ".join(sorted(set(line[column] for line in self.used)))
    self.out = ["# %s" % (plan.title or study.name), ""] + [note + "\n" for note in plan.notes]
    if self.used:
      self.out += ["Machine: %s. Commit %s; %s. SHA-256 of the text: `%s`." % (values("machine"), values("commit"), values("versions"), study.text["sha256"]), ""]
    self.out += ["All runs: `%s`" % " ".join(plan.all), "", "".join("%s: `%s`. " % (at, " ".join(words)) for at, (words, _) in plan.at.items() if words).strip()]
    for at in plan.at:
      self.losses(at)
    self.out += ["", "Means over the seeds. Seeds are paired: a difference is of runs with the same batches, and its interval is Student's. \"Better\" and \"worse\" hold after Holm's correction for all comparisons of a table; \"costs nothing\" is said where ten seeds leave the whole interval within 0.01. "
                 "A difference below \"could be seen\" would not have kept its interval from 0. Bytes are fractions of those of %s, of all layers: by the paper's formula and as sent. \"AdamW's part\" is the part of the paper's bytes up that layers of AdamW send uncompressed." % plan.label(plan.reference)]
    if plan.equal:
      self.equal()
    self.tuned()
    signs = os.path.join(folder, "signs.csv")
    if os.path.exists(signs):
      self.out += ["", "## Signs that differ from those of the momentum", "", "Shares of the signs of polar factors of the momenta of a run of \"%s\", over hidden layers and workers, by `tests/benchmarks/signs.py`." % plan.label(plan.reference)]
      with open(signs, newline="") as f:
        rows = list(csv.reader(f))
      row = self.table(rows[0])
      for cells in rows[1:]:
        row(*cells)
    try:
      self.draw(folder)
    except plot.Bad as e:
      self.out += ["", "No figures: %s" % e]
    if self.missing:
      self.out += ["", "## Not run", "", "`make study STUDY=%s` goes on with what is missing:" % study.name, ""] + ["- %s%s: seeds %s" % (plan.label(name), ", " + at if at else "", ", ".join(seeds)) for (name, at), seeds in self.missing.items()]
    self.out += [""] * bool(study.wrong) + ["- " + one for one in study.wrong]
    write(os.path.join(folder, "losses.csv"), self.advice())
    write(os.path.join(folder, "report.md"), "\n".join(self.out + [""]))
    return os.path.join(folder, "report.md")


def write(path, words):
  """Whole or not at all."""
  try:
    with open(path + ".part", "w") as f:
      f.write(words)
    os.replace(path + ".part", path)
  except OSError as e: # which does not always know the file
    raise Bad("%s: %s" % (path, e.strerror))


def plans(store):
  """Prints the plans with what their finished runs took: the seconds of a step, those of the fastest part of a run, times its steps"""
  for path in sorted(glob.glob(os.path.join(HERE, "*.txt"))):
    name, minutes, machines, runs = os.path.basename(path)[:-4], 0, set(), os.path.join(store, os.path.basename(path)[:-4], "runs.csv")
    if os.path.exists(runs):
      with open(runs, newline="") as f:
        for row in csv.DictReader(f):
          if row["curve"]:
            minutes += float(row["work"]) * int(row["curve"].split()[-1].split(":")[0]) / 60
            machines.add(row["machine"])
    print("%-9s %s: %s" % (name, Plan(path).title, "%.0f minutes of steps on %s" % (minutes, ", ".join(sorted(machines))) if minutes else "not measured yet"))
  print("A plan that was made is only reported. -o, --store and --data choose folders and the text, see study.py --help")


def main(arguments=None):
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--plan", default="quick")
  parser.add_argument("--program", default="nanogpt")
  parser.add_argument("--data", help="C files, a folder or an archive, by default Debian's linux-source-6.1")
  parser.add_argument("-o", "--output", default="studies", help="folder for logs, checkpoints and the text")
  parser.add_argument("--text", help="folder of the text, by default in --output")
  parser.add_argument("--store", default=os.path.join(SHARE, "doc", "studies"), help="folder that has, or gets, runs.csv and report.md in a folder for each plan")
  parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
  parser.add_argument("--minutes", type=float, help="begin no run after this time")
  parser.add_argument("--commit", help="what lines say that the program was built from, in place of git's")
  parser.add_argument("--machine", help="and of the machine, in place of its processor")
  parser.add_argument("--torch", default=sys.executable, help="a Python with torch, for runs of reference.py; without one these are left out")
  parser.add_argument("--report", action="store_true", help="run nothing, and report what is finished")
  options = parser.parse_args(arguments)
  if options.plan == "help":
    plans(options.store)
    return 0
  path = options.plan if os.path.exists(options.plan) else os.path.join(HERE, options.plan + ".txt")
  options.output, options.program = os.path.abspath(options.output), os.path.abspath(options.program)
  signal.signal(signal.SIGTERM, lambda number, frame: sys.exit("study.py: stopped; the same command goes on")) # and the runs with it
  try:
    study = Study(Plan(path), options)
    if not options.report and (options.data or study.missing()[0]): # else nothing is left to run, and the text is not needed
      study.text = prepare(options.text or os.path.join(options.output, "text"), options.data)
    for one in study.wrong:
      print("study.py: " + one, file=sys.stderr)
    if not options.report:
      study.everything()
    print("The report is %s" % Report(study).write())
  except (Bad, plot.Bad, text.Bad, OSError) as e:
    print("study.py: %s" % e, file=sys.stderr)
    return 1
  except KeyboardInterrupt:
    print("study.py: stopped; the same command goes on", file=sys.stderr)
    return 130
  return 0


if __name__ == "__main__":
  sys.exit(main())
