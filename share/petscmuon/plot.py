#!/usr/bin/env python3
"""Draws files of -muon_monitor_csv as an SVG: the loss against the step and against the bits sent.

plot.py [-o plot.svg] [--log-loss] [LABEL=]FILE.csv ...
plot.py [-o plot.svg] --polar FILE.csv
plot.py [-o plot.svg] --wire FILE.csv

Bits are those of both directions, summed from the first step, mean of the ranks. Where a file has every n-th step only (-muon_monitor_interval n), the steps between
two rows are taken to have sent what the later one did. The standard library of Python is all that is needed.

With --polar the file is one of tests/benchmarks/polar -benchmark_csv, and a diagram for each shape has the methods as points: how far <G,Q> is from the nuclear norm, in parts of it, against the time.

With --wire it is one of tests/benchmarks/wire -benchmark_csv, and a diagram for each kind of data has three bars for each compressor: what a message costs by the paper's formula, as sent and by its
entropy, as parts of 32 bits an entry.
"""

import argparse
import csv
import math
import os
import sys
from xml.sax.saxutils import escape

COLUMNS = ("step", "loss", "bits_up", "bits_down")
POLAR_COLUMNS = ("rows", "columns", "method", "seconds", "gap")
WIRE_COLUMNS = ("data", "compressor", "paper", "sent", "entropy")
# Pixels of a bar, and between the bars of two compressors
BAR, BETWEEN, NAMES = 5, 6, 150
# A factor that is exact to rounding is drawn here
LEAST_GAP = 1e-7
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 480, 360, 70, 15, 40, 50


class Bad(Exception):
  """What is wrong with a file."""


def read(path):
  """[(step, bits so far, loss)] of a file; rows without a finite loss, which a diverged step writes, are left out."""
  try:
    with open(path, newline="") as f:
      rows = list(csv.DictReader(f))
  except OSError as e:
    raise Bad("%s: %s" % (path, e.strerror))
  if not rows:
    raise Bad("%s: no rows" % path)
  for column in COLUMNS:
    if column not in rows[0]:
      raise Bad("%s: no column %s, is it a file of -muon_monitor_csv?" % (path, column))
  points, before, bits = [], -1, 0.0
  for number, row in enumerate(rows, 2):
    try:
      step, loss, sent = int(row["step"]), float(row["loss"]), float(row["bits_up"]) + float(row["bits_down"])
    except (TypeError, ValueError):
      raise Bad("%s:%d: not a row of numbers" % (path, number))
    # The first row is one step whatever its number: a run may start at a later one
    bits += sent * (1 if before < 0 else max(step - before, 1))
    before = step
    if math.isfinite(loss):
      points.append((step, bits, loss))
  if not points:
    raise Bad("%s: no finite loss" % path)
  return points


def ticks(low, high, log):
  """Round numbers in [low, high]: powers of ten, or multiples of 1, 2 or 5 times one."""
  if log:
    return [10.0**e for e in range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)]
  raw = (high - low) / 5
  unit = 10.0**math.floor(math.log10(raw))
  unit *= next(f for f in (1, 2, 5, 10) if f * unit >= raw * (1 - 1e-9))
  return [i * unit for i in range(math.ceil(low / unit - 1e-9), math.floor(high / unit + 1e-9) + 1)]


class Axis:
  """Maps [low, high] of the data to pixels."""

  def __init__(self, values, start, end, log):
    low, high = min(values), max(values)
    if log:
      low, high = 10.0**math.floor(math.log10(low)), 10.0**math.ceil(math.log10(high))
      high = high if high > low else 10 * low
    elif high == low:
      low, high = low - 0.5, high + 0.5
    self.low, self.high, self.start, self.end, self.log = low, high, start, end, log

  def __call__(self, value):
    scale = math.log10 if self.log else float
    return self.start + (self.end - self.start) * (scale(value) - scale(self.low)) / (scale(self.high) - scale(self.low))

  def ticks(self):
    return ticks(self.low, self.high, self.log)


def frame(x, y):
  """The SVG of two axes."""
  out = ['<rect x="%g" y="%g" width="%g" height="%g" fill="none" stroke="black"/>' % (x.start, y.end, x.end - x.start, y.start - y.end)]
  for value in x.ticks():
    out.append('<line class="xtick" data-value="%r" x1="%.3f" x2="%.3f" y1="%g" y2="%g" stroke="#dddddd"/>' % (value, x(value), x(value), y.start, y.end))
    out.append('<text x="%.3f" y="%g" text-anchor="middle">%s</text>' % (x(value), y.start + 18, "%g" % value))
  for value in y.ticks():
    out.append('<line class="ytick" data-value="%r" x1="%g" x2="%g" y1="%.3f" y2="%.3f" stroke="#dddddd"/>' % (value, x.start, x.end, y(value), y(value)))
    out.append('<text x="%g" y="%.3f" text-anchor="end">%s</text>' % (x.start - 6, y(value) + 4, "%g" % value))
  return out


def panel(runs, column, name, x0, log_x, log_loss):
  """The SVG of one diagram; column 0 is the step, 1 the bits."""
  points = [p for _, run in runs for p in run]
  x = Axis([p[column] for p in points], x0 + LEFT, x0 + WIDTH - RIGHT, log_x)
  y = Axis([p[2] for p in points], HEIGHT - BOTTOM, TOP, log_loss)
  out = frame(x, y)
  for i, (label, run) in enumerate(runs):
    out.append('<polyline class="run" fill="none" stroke-width="1.5" stroke="%s" points="%s"><title>%s</title></polyline>' %
               (COLORS[i % len(COLORS)], " ".join("%.3f,%.3f" % (x(p[column]), y(p[2])) for p in run), escape(label)))
  out.append('<text x="%g" y="%g" text-anchor="middle">%s</text>' % ((x.start + x.end) / 2, HEIGHT - 12, name))
  out.append('<text x="%g" y="%g" text-anchor="middle" transform="rotate(-90 %g %g)">loss</text>' % (x0 + 16, HEIGHT / 2, x0 + 16, HEIGHT / 2))
  return out


def draw(runs, log_loss=False):
  """The SVG of runs, [(label, points of read())]."""
  if log_loss and min(p[2] for _, run in runs for p in run) <= 0:
    raise Bad("--log-loss: a loss is not positive")
  # Runs that differ in what they send differ by factors
  log_bits = min(p[1] for _, run in runs for p in run) > 0
  out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">' % (2 * WIDTH, HEIGHT), '<rect width="100%" height="100%" fill="white"/>']
  out += panel(runs, 0, "step", 0, False, log_loss)
  out += panel(runs, 1, "bits sent by a rank, both directions", WIDTH, log_bits, log_loss)
  at = LEFT
  for i, (label, _) in enumerate(runs):
    out.append('<line x1="%g" x2="%g" y1="20" y2="20" stroke-width="3" stroke="%s"/>' % (at, at + 20, COLORS[i % len(COLORS)]))
    out.append('<text x="%g" y="24">%s</text>' % (at + 25, escape(label)))
    at += 45 + 7 * len(label)
  return "\n".join(out + ["</svg>", ""])


def read_polar(path):
  """{(rows, columns): [(method, seconds, gap)]} of a file of the benchmark, in its order."""
  try:
    with open(path, newline="") as f:
      rows = list(csv.DictReader(f))
  except OSError as e:
    raise Bad("%s: %s" % (path, e.strerror))
  if not rows:
    raise Bad("%s: no rows" % path)
  for column in POLAR_COLUMNS:
    if column not in rows[0]:
      raise Bad("%s: no column %s, is it a file of tests/benchmarks/polar?" % (path, column))
  shapes = {}
  for number, row in enumerate(rows, 2):
    try:
      shapes.setdefault((int(row["rows"]), int(row["columns"])), []).append((row["method"], float(row["seconds"]), max(abs(float(row["gap"])), LEAST_GAP)))
    except (TypeError, ValueError):
      raise Bad("%s:%d: not a row of numbers" % (path, number))
    if not (0 < float(row["seconds"]) < math.inf and math.isfinite(float(row["gap"]))):
      raise Bad("%s:%d: no time or no gap" % (path, number))
  return shapes


def draw_polar(shapes):
  """The SVG of what read_polar() gives: a diagram for each shape, both axes logarithmic."""
  names = sorted({method for points in shapes.values() for method, _, _ in points})
  color = {name: COLORS[i % len(COLORS)] for i, name in enumerate(names)}
  out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">' % (WIDTH * len(shapes), HEIGHT), '<rect width="100%" height="100%" fill="white"/>']
  for i, ((m, n), points) in enumerate(shapes.items()):
    x0 = i * WIDTH
    x = Axis([seconds for _, seconds, _ in points], x0 + LEFT, x0 + WIDTH - RIGHT, True)
    y = Axis([gap for _, _, gap in points], HEIGHT - BOTTOM, TOP, True)
    out += frame(x, y)
    for method, seconds, gap in points:
      at = x(seconds), y(gap)
      left = at[0] < (x.start + x.end) / 2
      out.append('<circle class="method" cx="%.3f" cy="%.3f" r="4" fill="%s"><title>%s</title></circle>' % (at + (color[method], escape(method))))
      out.append('<text x="%.3f" y="%.3f" font-size="10" text-anchor="%s">%s</text>' % (at[0] + (6 if left else -6), at[1] - 5, "start" if left else "end", escape(method)))
    out.append('<text x="%g" y="%g" text-anchor="middle">%d x %d</text>' % ((x.start + x.end) / 2, TOP - 14, m, n))
    out.append('<text x="%g" y="%g" text-anchor="middle">seconds</text>' % ((x.start + x.end) / 2, HEIGHT - 12))
    out.append('<text x="%g" y="%g" text-anchor="middle" transform="rotate(-90 %g %g)">|1 - &lt;G,Q&gt; / nuclear norm|</text>' % (x0 + 16, HEIGHT / 2, x0 + 16, HEIGHT / 2))
  return "\n".join(out + ["</svg>", ""])


def read_wire(path):
  """{data: [(compressor, (paper, sent, entropy))]} of a file of the benchmark, in its order."""
  try:
    with open(path, newline="") as f:
      rows = list(csv.DictReader(f))
  except OSError as e:
    raise Bad("%s: %s" % (path, e.strerror))
  if not rows:
    raise Bad("%s: no rows" % path)
  for column in WIRE_COLUMNS:
    if column not in rows[0]:
      raise Bad("%s: no column %s, is it a file of tests/benchmarks/wire?" % (path, column))
  found = {}
  for number, row in enumerate(rows, 2):
    try:
      costs = tuple(float(row[column]) for column in WIRE_COLUMNS[2:])
    except (TypeError, ValueError):
      raise Bad("%s:%d: not a row of numbers" % (path, number))
    if not all(0 < cost < math.inf for cost in costs):
      raise Bad("%s:%d: a cost that is not positive" % (path, number))
    found.setdefault(row["data"], []).append((row["compressor"], costs))
  return found


def draw_wire(found):
  """The SVG of what read_wire() gives: a diagram for each kind of data, bars from the left on one logarithmic axis."""
  most = max(len(rows) for rows in found.values())
  height = TOP + BOTTOM + most * (3 * BAR + BETWEEN) + BETWEEN
  costs = [cost for rows in found.values() for _, three in rows for cost in three]
  out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">' % (len(found) * WIDTH, height), '<rect width="100%" height="100%" fill="white"/>']
  for i, (data, rows) in enumerate(found.items()):
    x0 = i * WIDTH
    x = Axis(costs, x0 + NAMES, x0 + WIDTH - RIGHT, True)
    out.append('<rect x="%g" y="%g" width="%g" height="%g" fill="none" stroke="black"/>' % (x.start, TOP, x.end - x.start, height - TOP - BOTTOM))
    for value in x.ticks():
      out.append('<line class="xtick" data-value="%r" x1="%.3f" x2="%.3f" y1="%g" y2="%g" stroke="#dddddd"/>' % (value, x(value), x(value), height - BOTTOM, TOP))
      out.append('<text x="%.3f" y="%g" text-anchor="middle">%s</text>' % (x(value), height - BOTTOM + 18, "%g" % value))
    for r, (name, three) in enumerate(rows):
      y = TOP + BETWEEN + r * (3 * BAR + BETWEEN)
      out.append('<text x="%g" y="%g" font-size="10" text-anchor="end">%s</text>' % (x.start - 6, y + 2 * BAR + 2, escape(name)))
      for k, cost in enumerate(three):
        out.append('<rect class="%s" x="%.3f" y="%g" width="%.3f" height="%g" fill="%s"><title>%s</title></rect>' % (WIRE_COLUMNS[2 + k], x.start, y + k * BAR, x(cost) - x.start, BAR, COLORS[k], escape("%s %s %.5g" % (data, name, cost))))
    out.append('<text x="%g" y="%g" text-anchor="middle">%s</text>' % ((x.start + x.end) / 2, TOP - 14, escape(data)))
    out.append('<text x="%g" y="%g" text-anchor="middle">part of 32 bits an entry</text>' % ((x.start + x.end) / 2, height - 12))
  for k, column in enumerate(WIRE_COLUMNS[2:]):
    out.append('<rect x="%g" y="12" width="12" height="8" fill="%s"/>' % (10 + 70 * k, COLORS[k]))
    out.append('<text x="%g" y="20">%s</text>' % (26 + 70 * k, column))
  return "\n".join(out + ["</svg>", ""])


def main(arguments=None):
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("files", nargs="+", metavar="[LABEL=]FILE.csv")
  parser.add_argument("-o", "--output", default="plot.svg")
  parser.add_argument("--log-loss", action="store_true", help="logarithmic axis of the loss")
  parser.add_argument("--polar", action="store_true", help="a file of tests/benchmarks/polar")
  parser.add_argument("--wire", action="store_true", help="a file of tests/benchmarks/wire")
  options = parser.parse_args(arguments)
  if options.polar and options.wire:
    parser.error("--polar and --wire are two things")
  if (options.polar or options.wire) and len(options.files) > 1:
    parser.error("--polar and --wire take one file")
  try:
    runs = []
    for name in options.files if not (options.polar or options.wire) else []:
      label, path = name.split("=", 1) if "=" in name and not os.path.exists(name) else (os.path.splitext(os.path.basename(name))[0], name)
      runs.append((label, read(path)))
    text = draw_polar(read_polar(options.files[0])) if options.polar else draw_wire(read_wire(options.files[0])) if options.wire else draw(runs, options.log_loss)
    with open(options.output, "w") as f:
      f.write(text)
  except (Bad, OSError) as e:
    print("plot.py: %s" % e, file=sys.stderr)
    return 1
  return 0


if __name__ == "__main__":
  sys.exit(main())
