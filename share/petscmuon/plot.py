#!/usr/bin/env python3
"""Draws files of -muon_monitor_csv: the training or validation loss against the bytes sent and against the step.

plot.py [-o plot.png] [--log-loss] [LABEL=]FILE.csv ...
plot.py [-o plot.png] --polar FILE.csv
plot.py [-o plot.png] --wire FILE.csv

The suffix of the output says what it is: png, pdf, svg. Drawing needs matplotlib, Debian's python3-matplotlib.

Bytes are those of both directions, summed from the first step, mean of the ranks. What a rank sends to itself is not among them. Where a file has every n-th step only (-muon_monitor_interval n), the steps between
two rows are taken to have sent what the later one did. Where it has a validation (MuonSetValidation()), that is drawn in place of the loss.

With --polar the file is one of tests/benchmarks/polar -benchmark_csv, and a diagram for each shape has the methods as points: how far <G,Q> is from the nuclear norm, as a fraction of it, against the time.

With --wire it is one of tests/benchmarks/wire -benchmark_csv, and a diagram for each kind of data has three bars for each compressor: what a message costs by the paper's formula, as sent and by its
entropy, as fractions of fp32, 32 bits an entry.
"""

import argparse
import csv
import math
import os
import sys

COLUMNS = ("step", "loss", "bits_up", "bits_down")
POLAR_COLUMNS = ("rows", "columns", "method", "seconds", "gap")
WIRE_COLUMNS = ("data", "compressor", "paper", "sent", "entropy")
# A factor that is exact to rounding is drawn here
LEAST_GAP = 1e-7


class Bad(Exception):
  """What is wrong with a file."""


def rows_of(path, columns, whose):
  """(line, row) of a file that has the columns."""
  try:
    with open(path, newline="") as f:
      rows = list(csv.DictReader(f))
  except OSError as e:
    raise Bad("%s: %s" % (path, e.strerror))
  if not rows:
    raise Bad("%s: no rows" % path)
  for column in columns:
    if column not in rows[0]:
      raise Bad("%s: no column %s, is it a file of %s?" % (path, column, whose))
  return enumerate(rows, 2)


def numbers(path, line, row, columns):
  try:
    return [float(row[column]) for column in columns]
  except (TypeError, ValueError):
    raise Bad("%s:%d: not a row of numbers" % (path, line))


def read(path):
  """The name of the loss and [(step, bytes so far, loss)] of a file; rows without a finite loss, which a diverged step writes, are left out."""
  points, validation, before, sent = [], [], -1, 0.0
  for line, row in rows_of(path, COLUMNS, "-muon_monitor_csv"):
    step, loss, up, down = numbers(path, line, row, COLUMNS)
    # The first row is one step whatever its number: a run may start at a later one
    sent += (up + down) / 8 * (1 if before < 0 else max(step - before, 1))
    before = step
    if math.isfinite(loss):
      points.append((step, sent, loss))
    if row.get("validation"):
      validation.append((step, sent, numbers(path, line, row, ["validation"])[0]))
  if not points:
    raise Bad("%s: no finite loss" % path)
  return ("validation loss", validation) if validation else ("training loss", points)


def read_polar(path):
  """{"rows x columns": [(method, seconds, gap)]} of a file of the benchmark, in its order."""
  shapes = {}
  for line, row in rows_of(path, POLAR_COLUMNS, "tests/benchmarks/polar"):
    m, n, seconds, gap = numbers(path, line, row, ("rows", "columns", "seconds", "gap"))
    if not (0 < seconds < math.inf and math.isfinite(gap)):
      raise Bad("%s:%d: no time or no gap" % (path, line))
    shapes.setdefault("%d x %d" % (m, n), []).append((row["method"], seconds, max(abs(gap), LEAST_GAP)))
  return shapes


def read_wire(path):
  """{data: [(compressor, [paper, sent, entropy])]} of a file of the benchmark, in its order."""
  found = {}
  for line, row in rows_of(path, WIRE_COLUMNS, "tests/benchmarks/wire"):
    costs = numbers(path, line, row, WIRE_COLUMNS[2:])
    if not all(0 < cost < math.inf for cost in costs):
      raise Bad("%s:%d: a cost that is not positive" % (path, line))
    found.setdefault(row["data"], []).append((row["compressor"], costs))
  return found


def panels(count, height):
  """A figure and its axes, one beside the other."""
  try:
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
  except ImportError:
    raise Bad("drawing needs matplotlib, Debian's python3-matplotlib, and %s has none" % sys.executable)
  figure, axes = pyplot.subplots(1, count, figsize=(5 * count, height), squeeze=False, constrained_layout=True)
  for a in axes[0]:
    a.grid(True, color="#dddddd")
    a.set_axisbelow(True)
  return figure, axes[0]


def draw(runs, log_loss=False):
  """The figure of runs, [(label, what read() gives)]."""
  losses = sorted({loss for _, (loss, _) in runs})
  runs = [(label if len(losses) == 1 else "%s, %s" % (label, loss), points) for label, (loss, points) in runs]
  if log_loss and min(p[2] for _, run in runs for p in run) <= 0:
    raise Bad("--log-loss: a loss is not positive")
  figure, axes = panels(2, 4)
  for a, column, name in zip(axes, (1, 0), ("bytes sent by a rank, both directions", "step")):
    for label, run in runs:
      a.plot([p[column] for p in run], [p[2] for p in run], label=label, marker="." if len(run) == 1 else None)
    a.set_xlabel(name)
    a.set_ylabel(losses[0] if len(losses) == 1 else "loss")
    if log_loss:
      a.set_yscale("log")
  # Runs that differ in what they send differ by factors
  if min(p[1] for _, run in runs for p in run) > 0:
    axes[0].set_xscale("log")
  axes[0].legend()
  return figure


def draw_polar(shapes):
  """The figure of what read_polar() gives: a diagram for each shape, both axes logarithmic."""
  figure, axes = panels(len(shapes), 4)
  for a, (shape, points) in zip(axes, shapes.items()):
    a.set_xscale("log")
    a.set_yscale("log")
    for method, seconds, gap in points:
      a.plot([seconds], [gap], "o", label=method)
      a.annotate(method, (seconds, gap), xytext=(4, 4), textcoords="offset points", fontsize=8)
    a.set_title(shape)
    a.set_xlabel("seconds")
    a.set_ylabel("|1 - <G,Q> / nuclear norm|")
  return figure


def draw_wire(found):
  """The figure of what read_wire() gives: a diagram for each kind of data, bars from the left on logarithmic axes."""
  figure, axes = panels(len(found), 1.5 + 0.35 * max(len(rows) for rows in found.values()))
  for a, (data, rows) in zip(axes, found.items()):
    a.set_xscale("log")
    for k, column in enumerate(WIRE_COLUMNS[2:]):
      a.barh([i + 0.25 * k for i in range(len(rows))], [costs[k] for _, costs in rows], height=0.25, label=column)
    a.set_yticks([i + 0.25 for i in range(len(rows))])
    a.set_yticklabels([name for name, _ in rows])
    a.invert_yaxis()
    a.set_title(data)
    a.set_xlabel("fraction of fp32, 32 bits an entry")
  axes[0].legend()
  return figure


def main(arguments=None):
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("files", nargs="+", metavar="[LABEL=]FILE.csv")
  parser.add_argument("-o", "--output", default="plot.png", help="its suffix says what it is: png, pdf, svg")
  parser.add_argument("--log-loss", action="store_true", help="logarithmic axis of the loss")
  parser.add_argument("--polar", action="store_true", help="a file of tests/benchmarks/polar")
  parser.add_argument("--wire", action="store_true", help="a file of tests/benchmarks/wire")
  options = parser.parse_args(arguments)
  if options.polar and options.wire:
    parser.error("--polar and --wire are two things")
  if (options.polar or options.wire) and len(options.files) > 1:
    parser.error("--polar and --wire take one file")
  try:
    if options.polar or options.wire:
      figure = draw_polar(read_polar(options.files[0])) if options.polar else draw_wire(read_wire(options.files[0]))
    else:
      runs = []
      for name in options.files:
        label, path = name.split("=", 1) if "=" in name and not os.path.exists(name) else (os.path.splitext(os.path.basename(name))[0], name)
        runs.append((label, read(path)))
      figure = draw(runs, options.log_loss)
    figure.savefig(options.output, dpi=120)
  except (Bad, OSError, ValueError) as e:
    print("plot.py: %s" % e, file=sys.stderr)
    return 1
  return 0


if __name__ == "__main__":
  sys.exit(main())
