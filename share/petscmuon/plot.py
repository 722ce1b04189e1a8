#!/usr/bin/env python3
"""Draws files of -muon_monitor_csv: the training or validation loss against the bytes sent and against the step.

plot.py [-o plot.png] [--log-loss] [LABEL=]FILE.csv ...
plot.py [-o plot.png] --x both,seconds [--link 100e6 [--work 0.1]] [LABEL=]FILE.csv ...
plot.py --reach LOSS | --final | --rates [LABEL[@RATE]=]FILE.csv ...
plot.py [-o plot.png] --layers FILE.csv.layers
plot.py [-o plot.png] --polar FILE.csv
plot.py [-o plot.png] --wire FILE.csv

The suffix of the output says what it is: png, pdf, svg. Drawing needs matplotlib, Debian's python3-matplotlib.

Bytes are those of both directions, summed from the first step, mean of the ranks. What a rank sends to itself is not among them. Where a file has every n-th step only (-muon_monitor_interval n), the steps between
two rows are taken to have sent what the later one did. Where it has a validation (MuonSetValidation()), that is drawn in place of the loss.

With --x, --reach, --final and --rates files of one label are one run with several seeds: a curve is their mean, a band its 95% interval by Student's t. Values of --x are steps,
tokens, seconds, up, down, both and paper: bytes up, down and both ways as the network sees them, and bytes up by the formula of the EF21-Muon paper, which leaves the way down out. With --link, a rate in bits a second, seconds are
computed: --work seconds a step, by default those of gradient, LMO and compressing in the fastest part of the label's runs, and the bytes of both ways behind one another. --reach prints what it costs to come down to a loss, --final draws the last loss against
the bytes, --rates against the rate behind the label's @.

With --layers the file is one of -nanogpt_csv, behind whose name is .layers: bars of the bytes that left a rank for each layer in the last step, of the part that its messages left out and of its lag. A run without
-ef21_monitor_compression did not measure these: the bytes are the most that a message takes.

With --polar the file is one of tests/benchmarks/polar -benchmark_csv, and a diagram for each shape has the methods as points: how far <G,Q> is from the nuclear norm, as a fraction of it, against the time.

With --wire it is one of tests/benchmarks/wire -benchmark_csv, and a diagram for each kind of data has three bars for each compressor: what a message costs by the paper's formula, as sent and by its
entropy, as fractions of fp32, 32 bits an entry.
"""

import argparse
import colorsys
import csv
import math
import os
import statistics
import sys

COLUMNS = ("step", "loss", "bits_up", "bits_down")
POLAR_COLUMNS = ("rows", "columns", "method", "seconds", "gap")
LAYER_COLUMNS = ("bytes_up", "bytes_down", "contraction_up", "contraction_down", "lag_up", "lag_down")
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


AXES = {"steps": "step", "tokens": "tokens", "seconds": "seconds", "up": "bytes up", "down": "bytes down", "both": "bytes sent by a rank, both directions", "paper": "bytes up by the paper's formula"}


def read_study(path):
  """[{column: number}] of the rows with a validation, of a study's file or of -muon_monitor_csv; bytes are sums from the first step."""
  rows, sent, before = [], [0.0, 0.0], -1
  for line, row in rows_of(path, ("step",), "-muon_monitor_csv or a study"):
    if "bits_up" in row:
      step, up, down = numbers(path, line, row, ("step", "bits_up", "bits_down"))
      steps = 1 if before < 0 else max(step - before, 1)
      before, sent = step, [sent[0] + up / 8 * steps, sent[1] + down / 8 * steps]
      row = dict(row, step=step + 1, bytes_up=sent[0], bytes_down=sent[1])
    if row.get("validation") in (None, ""):
      continue
    point = {}
    for column, value in row.items():
      try:
        point[column] = float(value)
      except (TypeError, ValueError):
        pass # a reason, or what was not measured
    rows.append(dict(point, steps=point["step"], up=point["bytes_up"], down=point["bytes_down"], both=point["bytes_up"] + point["bytes_down"], paper=point.get("paper_up", math.nan) / 8))
  if not rows:
    raise Bad("%s: no validation" % path)
  return rows


def work_of(runs):
  """Seconds of a step without its messages, of gradient, LMO and compressing, in the fastest part of these runs: other jobs of the machine make the rest slower."""
  seconds = lambda row: sum(row.get("seconds_" + phase, math.nan) for phase in ("gradient", "lmo", "compress"))
  parts = [(seconds(b) - seconds(a)) / (b["step"] - a["step"]) for rows in runs for a, b in zip(rows, rows[1:]) if b["step"] > a["step"] and seconds(b) > seconds(a)]
  if not parts:
    raise Bad("no seconds in the files; --work says what a step takes")
  return min(parts)


def on_link(runs, link, work=None):
  """The same runs with seconds that are computed."""
  work = work or work_of(runs)
  return [[dict(row, seconds=row["step"] * work + 8 * row["both"] / link) for row in rows] for rows in runs]


def t_tail(t, n):
  """Probability that Student's t of n degrees of freedom is further from 0 than t, by the finite sums of Abramowitz and Stegun, 26.7.3 and 26.7.4."""
  angle = math.atan(abs(t) / math.sqrt(n))
  power, term, area = n % 2, math.cos(angle)**(n % 2), 0.0
  while power <= n - 2:
    area += term
    term *= math.cos(angle)**2 * (power + 1) / (power + 2)
    power += 2
  area *= math.sin(angle)
  return 1 - (2 / math.pi * (angle + area) if n % 2 else area)


def half_width(values):
  """Half of Student's 95% interval for the mean; 0 of one value."""
  n, low, high = len(values) - 1, 0.0, 20.0
  while n and high - low > 1e-9:
    middle = (low + high) / 2
    low, high = (middle, high) if t_tail(middle, n) > 0.05 else (low, middle)
  return low * statistics.stdev(values) / math.sqrt(n + 1) if n else 0.0


def curve(runs, x):
  """[(x, mean, ends of its 95% interval)] of the runs with several seeds, at the steps that all have."""
  shared = sorted(set.intersection(*[set(row["step"] for row in rows) for rows in runs]))
  if not shared or x not in runs[0][-1] or math.isnan(runs[0][-1][x]):
    raise Bad("--x %s: not in the files, or no step in common" % x)
  at = [{row["step"]: row for row in rows} for rows in runs]
  values = [[one[step]["validation"] for one in at] for step in shared]
  return [(statistics.mean(one[step][x] for one in at), statistics.mean(v), statistics.mean(v) - half_width(v), statistics.mean(v) + half_width(v)) for step, v in zip(shared, values)]


def reach(rows, loss, x):
  """The x at which a run first comes down to the loss, between two rows on a line; None where it never does."""
  before = None
  for row in rows:
    if row["validation"] <= loss:
      if before is None:
        return row[x]
      part = (before["validation"] - loss) / (before["validation"] - row["validation"])
      return before[x] + part * (row[x] - before[x])
    before = row
  return None


def spread(values, form="%.3g"):
  """Median and range as text; what is None never came."""
  known = [v for v in values if v is not None]
  if not known:
    return "never"
  text = form % statistics.median(known)
  if len(known) > 1:
    text += " (%s to %s)" % (form % min(known), form % max(known))
  return text if len(known) == len(values) else "%s, %d of %d" % (text, len(known), len(values))


def look(k):
  """Colour and dashes of the k-th method: each hue is far from those before it."""
  return dict(color=colorsys.hls_to_rgb((0.58 + 0.618034 * k) % 1, (0.4, 0.55, 0.3)[k % 3], 0.7), linestyle=("-", "--", ":", "-.", (0, (6, 1)), (0, (1, 3)))[k // 10 % 6])


def tidy(axes, x):
  """Ticks with units that do not run into each other."""
  from matplotlib import ticker
  if axes.get_xscale() == "log":
    low, high = axes.get_xlim()
    axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if high < 30 * low else (1,), numticks=8))
    axes.xaxis.set_minor_formatter(ticker.NullFormatter())
  else:
    axes.xaxis.set_major_locator(ticker.MaxNLocator(5))
  if x not in ("steps", "seconds"):
    axes.xaxis.set_major_formatter(ticker.EngFormatter(sep=" "))


def name_curves(axes, shown):
  """A legend in a panel of its own: no name lies on a curve."""
  axes.axis("off")
  axes.legend(*shown.get_legend_handles_labels(), loc="center left", fontsize=8, frameon=False, borderaxespad=0)


def scatter(axes, points, number=None):
  """Means and intervals of {label: [(x, [last losses])]}, on a line."""
  for k, (label, one) in enumerate(points.items()):
    one = sorted(one)
    axes.errorbar([x for x, _ in one], [statistics.mean(losses) for _, losses in one], [half_width(losses) for _, losses in one], marker="o", markersize=4, label=label, **look(number[label] if number else k))


def draw_study(groups, xs, link=None, work=None, loss="validation loss", number=None, more=None):
  """The figure of {label: runs}: a panel for each x, a curve with its name for each label, a band for the interval of its mean. work is seconds a step, of all or {label: seconds}; number is {label: its look}; more is what
  the panels ends and fewer have, {"ends": {label: [(tokens, [last losses])]}, "fewer": {label: (times fewer bytes, ends of the interval)}}."""
  figure, axes = panels(len(xs) + 1, 4, 0.5)
  for a, x in zip(axes, xs):
    if x == "fewer":
      for k, (label, (value, low, high)) in enumerate(more[x].items()):
        a.barh([label], [value], xerr=[[value - low], [high - value]], color=look(number[label] if number else k)["color"])
      a.invert_yaxis()
      a.set_xlabel("times fewer bytes up to one loss, by the paper's formula")
      continue
    a.set_ylabel(loss)
    if x == "ends":
      scatter(a, more[x], number)
      a.set_xlabel("tokens of a whole schedule")
      tidy(a, "tokens")
      continue
    lows, tops, begin = [], [], []
    for k, (label, runs) in enumerate(groups.items()):
      points = curve(on_link(runs, link, work.get(label) if isinstance(work, dict) else work) if link and x == "seconds" else runs, x)
      style = look(number[label] if number else k)
      a.plot([p[0] for p in points], [p[1] for p in points], label=label, marker="." if len(points) == 1 else None, **style)
      if len(runs) > 2: # the interval of two says nothing
        a.fill_between([p[0] for p in points], [p[2] for p in points], [p[3] for p in points], color=style["color"], alpha=0.2, linewidth=0)
      lows.append(min(p[1] for p in points))
      tops.append(points[len(points) // 8][1])
      begin.append(points[len(points) // 8][0])
    if x in ("up", "down", "both", "paper") or x == "seconds" and max(begin) > 10 * min(begin):
      a.set_xscale("log")
      a.set_xlim(left=0.9 * min(begin))
    a.set_xlabel("seconds on %s, computed" % rate_name(link) if link and x == "seconds" else AXES[x])
    low, high = min(lows), max(tops)
    a.set_ylim(low - 0.04 * (high - low + 1e-9), high + 0.02 * (high - low + 1e-9))
    tidy(a, x)
  name_curves(axes[-1], axes[0])
  return figure


def rate_name(link):
  return "%g %sbit/s" % (link / (1e9 if link >= 1e9 else 1e6), "G" if link >= 1e9 else "M")


def draw_points(points, xlabel, loss="last validation loss"):
  """The figure of {label: [(x, [last losses])]}: means, their intervals and names."""
  figure, axes = panels(2, 4, 0.5)
  scatter(axes[0], points)
  axes[0].set_xscale("log")
  axes[0].set_xlabel(xlabel)
  axes[0].set_ylabel(loss)
  tidy(axes[0], "steps" if xlabel == "rate" else xlabel)
  name_curves(axes[1], axes[0])
  return figure


def last(rows):
  """The last loss, on all held-out data where the file has it."""
  return rows[-1].get("validation_all", rows[-1]["validation"])


def study(options, groups, output):
  """What --x, --reach, --final and --rates ask for."""
  if options.reach is not None:
    links = [1e7, 1e8, 1e9]
    print("| run | steps | bytes up | bytes down | %s |\n|---|---|---|---|%s" % (" | ".join("s at %s" % rate_name(link) for link in links), "---|" * len(links)))
    for label, runs in groups.items():
      cells = [spread([reach(rows, options.reach, x) for rows in runs]) for x in ("steps", "up", "down")]
      for link in links:
        cells.append(spread([reach(rows, options.reach, "seconds") for rows in on_link(runs, link, options.work)]) if options.work or "seconds" in runs[0][-1] else "-")
      print("| %s | %s |" % (label, " | ".join(cells)))
    return
  if options.final:
    figure = draw_points({label: [(statistics.median(rows[-1]["both"] for rows in runs), [last(rows) for rows in runs])] for label, runs in groups.items()}, AXES["both"])
  elif options.rates:
    points = {}
    for label, runs in groups.items():
      name, at, rate = label.rpartition("@")
      try:
        points.setdefault(name, []).append((float(rate), [last(rows) for rows in runs]))
      except ValueError:
        raise Bad("--rates: %s has no number behind an @" % label)
    figure = draw_points(points, "rate")
  else:
    figure = draw_study(groups, options.x.split(","), options.link, options.work)
  figure.savefig(output, dpi=120)


def panels(count, height, last=1):
  """A figure and its axes, one beside the other; the last one may be narrower."""
  try:
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
  except ImportError:
    raise Bad("drawing needs matplotlib, Debian's python3-matplotlib, and %s has none" % sys.executable)
  figure, axes = pyplot.subplots(1, count, figsize=(5 * (count - 1 + last), height), squeeze=False, constrained_layout=True, gridspec_kw={"width_ratios": [1] * (count - 1) + [last]})
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


def draw_layers(path):
  """Bars of the messages of layers, of what they left out and of what is missing at the receiver."""
  rows = [(line, row) for line, row in rows_of(path, ("layer", "bytes_up", "bytes_down"), "-nanogpt_csv, .layers")]
  measured = all(row.get("lag_up") for _, row in rows)
  for line, row in rows:
    numbers(path, line, row, LAYER_COLUMNS if measured else LAYER_COLUMNS[:2])
  rows = [row for _, row in rows]
  figure, axes = panels(3 if measured else 1, 1.5 + 0.3 * len(rows))
  for a, column, name in zip(axes, ("bytes", "contraction", "lag"), ("bytes sent in a step" if measured else "bytes of a message, at most", "part left out, squared", "lag, Frobenius norm")):
    for k, way in enumerate(("up", "down")):
      values = [float(row["%s_%s" % (column, way)]) for row in rows]
      a.barh([i + 0.35 * k for i in range(len(rows))], values, height=0.35, label=way)
    a.set_yticks([i + 0.17 for i in range(len(rows))])
    a.set_yticklabels([row["layer"] for row in rows])
    a.invert_yaxis()
    a.set_xlabel(name)
  axes[0].legend()
  return figure


def main(arguments=None):
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("files", nargs="+", metavar="[LABEL=]FILE.csv")
  parser.add_argument("-o", "--output", default="plot.png", help="its suffix says what it is: png, pdf, svg")
  parser.add_argument("--log-loss", action="store_true", help="logarithmic axis of the loss")
  parser.add_argument("--polar", action="store_true", help="a file of tests/benchmarks/polar")
  parser.add_argument("--wire", action="store_true", help="a file of tests/benchmarks/wire")
  parser.add_argument("--layers", action="store_true", help="a file of layers")
  parser.add_argument("--x", help="panels, separated by commas: %s" % ", ".join(AXES))
  parser.add_argument("--link", type=float, help="bits a second of a link that seconds are computed for")
  parser.add_argument("--work", type=float, help="seconds of a step without its messages")
  parser.add_argument("--reach", type=float, metavar="LOSS", help="print what it costs to come down to it")
  parser.add_argument("--final", action="store_true", help="the last loss against bytes")
  parser.add_argument("--rates", action="store_true", help="the last loss against the rate, LABEL@RATE=FILE")
  options = parser.parse_args(arguments)
  for word in options.x.split(",") if options.x else ():
    if word not in AXES:
      parser.error("--x %s: expected %s" % (word, ", ".join(AXES)))
  if options.polar + options.wire + options.layers > 1:
    parser.error("--polar, --wire and --layers are three things")
  if (options.polar or options.wire or options.layers) and len(options.files) > 1:
    parser.error("--polar, --wire and --layers take one file")
  try:
    if options.layers:
      figure = draw_layers(options.files[0])
    elif options.polar or options.wire:
      figure = draw_polar(read_polar(options.files[0])) if options.polar else draw_wire(read_wire(options.files[0]))
    else:
      runs = []
      for name in options.files:
        label, path = name.split("=", 1) if "=" in name and not os.path.exists(name) else (os.path.splitext(os.path.basename(name))[0], name)
        runs.append((label, path))
      if options.x or options.reach is not None or options.final or options.rates:
        groups = {}
        for label, path in runs:
          groups.setdefault(label, []).append(read_study(path))
        study(options, groups, options.output)
        return 0
      figure = draw([(label, read(path)) for label, path in runs], options.log_loss)
    figure.savefig(options.output, dpi=120)
  except (Bad, OSError, ValueError) as e:
    print("plot.py: %s" % e, file=sys.stderr)
    return 1
  return 0


if __name__ == "__main__":
  sys.exit(main())
