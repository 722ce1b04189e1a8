#!/usr/bin/env python3
"""Draws files of -muon_monitor_csv as an SVG: the loss against the step and against the bits sent.

plot.py [-o plot.svg] [--log-loss] [LABEL=]FILE.csv ...

Bits are those of both directions, summed from the first step, mean of the ranks. Where a file has every n-th step only (-muon_monitor_interval n), the steps between
two rows are taken to have sent what the later one did. The standard library of Python is all that is needed.
"""

import argparse
import csv
import math
import os
import sys
from xml.sax.saxutils import escape

COLUMNS = ("step", "loss", "bits_up", "bits_down")
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


def panel(runs, column, name, x0, log_x, log_loss):
  """The SVG of one diagram; column 0 is the step, 1 the bits."""
  points = [p for _, run in runs for p in run]
  x = Axis([p[column] for p in points], x0 + LEFT, x0 + WIDTH - RIGHT, log_x)
  y = Axis([p[2] for p in points], HEIGHT - BOTTOM, TOP, log_loss)
  out = ['<rect x="%g" y="%g" width="%g" height="%g" fill="none" stroke="black"/>' % (x.start, y.end, x.end - x.start, y.start - y.end)]
  for value in x.ticks():
    out.append('<line class="xtick" data-value="%r" x1="%.3f" x2="%.3f" y1="%g" y2="%g" stroke="#dddddd"/>' % (value, x(value), x(value), y.start, y.end))
    out.append('<text x="%.3f" y="%g" text-anchor="middle">%s</text>' % (x(value), y.start + 18, "%g" % value))
  for value in y.ticks():
    out.append('<line class="ytick" data-value="%r" x1="%g" x2="%g" y1="%.3f" y2="%.3f" stroke="#dddddd"/>' % (value, x.start, x.end, y(value), y(value)))
    out.append('<text x="%g" y="%.3f" text-anchor="end">%s</text>' % (x.start - 6, y(value) + 4, "%g" % value))
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


def main(arguments=None):
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("files", nargs="+", metavar="[LABEL=]FILE.csv")
  parser.add_argument("-o", "--output", default="plot.svg")
  parser.add_argument("--log-loss", action="store_true", help="logarithmic axis of the loss")
  options = parser.parse_args(arguments)
  try:
    runs = []
    for name in options.files:
      label, path = name.split("=", 1) if "=" in name and not os.path.exists(name) else (os.path.splitext(os.path.basename(name))[0], name)
      runs.append((label, read(path)))
    text = draw(runs, options.log_loss)
    with open(options.output, "w") as f:
      f.write(text)
  except (Bad, OSError) as e:
    print("plot.py: %s" % e, file=sys.stderr)
    return 1
  return 0


if __name__ == "__main__":
  sys.exit(main())
