#!/usr/bin/env python3
#TEST requires: numpy matplotlib
#TEST timeoutfactor: 2
"""Tests the plotting script: what its figures hold is the data of the files, and its output is what the suffix says."""

import csv
import importlib.util
import os
import re
import unittest
from contextlib import redirect_stderr
from io import StringIO
from xml.etree import ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SPEC = importlib.util.spec_from_file_location("plot", os.path.join(ROOT, "share", "petscmuon", "plot.py"))
plot = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(plot)


def header(path, start):
  """The first row as the library, or a benchmark, writes it."""
  with open(os.path.join(ROOT, path)) as f:
    return re.search(r'"(%s,[a-z_,]+)\\n"' % start, f.read()).group(1).split(",")


def write(path, rows, names=None):
  names = names or header("src/muon/addons/monitor/muonmonitor.c", "step")
  with open(path, "w", newline="") as f:
    out = csv.writer(f, lineterminator="\n")
    out.writerow(names)
    for row in rows:
      values = row if isinstance(row, dict) else dict(zip(("step", "loss", "bits_up", "bits_down"), row))
      out.writerow([values.get(name, "" if name == "validation" else 0) for name in names])


def run(*arguments):
  """The status, and what was said."""
  said = StringIO()
  with redirect_stderr(said):
    try:
      status = plot.main(list(arguments))
    except SystemExit as e:
      status = e.code
  return status, said.getvalue()


def curves(figure):
  """{(panel, label): [(x, loss)]} of a drawing: panel 0 has bytes, 1 steps."""
  return {(n, line.get_label()): list(zip(line.get_xdata(), line.get_ydata())) for n, axes in enumerate(figure.axes) for line in axes.get_lines()}


class Plot(unittest.TestCase):
  def test_two_runs(self):
    write("dense.csv", [(s, 5.0 / (1 + s), 3200, 3200) for s in range(100)])
    write("ef21.csv", [(s, 5.5 / (1 + s), 190, 210) for s in range(100)])
    figure = plot.draw([("dense", plot.read("dense.csv")), ("top", plot.read("ef21.csv"))])
    found = curves(figure)
    self.assertEqual(sorted(found), [(0, "dense"), (0, "top"), (1, "dense"), (1, "top")])
    self.assertEqual(found[1, "dense"], [(s, 5.0 / (1 + s)) for s in range(100)])
    self.assertEqual(found[0, "dense"], [(800 * (s + 1), 5.0 / (1 + s)) for s in range(100)])
    self.assertEqual(found[0, "top"], [(50 * (s + 1), 5.5 / (1 + s)) for s in range(100)])
    self.assertEqual((figure.axes[0].get_xscale(), figure.axes[1].get_xscale(), figure.axes[0].get_yscale()), ("log", "linear", "linear"))

  def test_output(self):
    write("one.csv", [(7, 2.0, 8, 8)])
    for name, start in (("a.png", b"\x89PNG\r\n"), ("a.pdf", b"%PDF-")):
      self.assertEqual(run("-o", name, "top <10%>=one.csv"), (0, ""))
      with open(name, "rb") as f:
        self.assertEqual(f.read(len(start)), start)
    self.assertEqual(run("-o", "a.svg", "top <10%>=one.csv"), (0, ""))
    self.assertTrue(ElementTree.parse("a.svg").getroot().tag.endswith("svg"))
    status, said = run("-o", "a.nothing", "one.csv")
    self.assertEqual(status, 1)
    self.assertIn("nothing", said)

  def test_study(self):
    # Two seeds of one label, whose bytes are sums of bits; between two validations a loss is on a line
    for seed in (0, 1):
      write("seed%d.csv" % seed, [{"step": s, "loss": 1, "bits_up": 80, "bits_down": 40, "validation": 4 - s / 2 + seed if s % 2 else ""} for s in range(6)])
    runs = [plot.read_study("seed%d.csv" % seed) for seed in (0, 1)]
    self.assertEqual([(row["steps"], row["up"], row["down"], row["both"], row["validation"]) for row in runs[0]], [(2, 20, 10, 30, 3.5), (4, 40, 20, 60, 2.5), (6, 60, 30, 90, 1.5)])
    # Means, and Student's interval of two values a distance of 1 apart: 12.7062 halves
    self.assertEqual([[round(number, 4) for number in point] for point in plot.curve(runs, "both")], [[30, 4, -2.3531, 10.3531], [60, 3, -3.3531, 9.3531], [90, 2, -4.3531, 8.3531]])
    self.assertEqual([plot.reach(rows, 2.75, "both") for rows in runs], [52.5, 82.5])
    self.assertEqual([plot.reach(runs[0], loss, "steps") for loss in (3.5, 1.4)], [2, None])
    self.assertEqual([row["seconds"] for row in plot.on_link(runs[:1], 240, 3)[0]], [7, 14, 21])
    self.assertEqual((plot.spread([1, 3, 2]), plot.spread([1, None]), plot.spread([None])), ("2 (1 to 3)", "1, 1 of 2", "never"))
    figure = plot.draw_study({"a": runs, "b": runs[:1]}, ["both", "steps", "fewer"], number={"a": 1, "b": 11}, more={"fewer": {"a": (2, 1, 3), "b": (4, 4, 4)}})
    self.assertEqual(curves(figure)[0, "a"], [(30, 4), (60, 3), (90, 2)])
    self.assertEqual([bar.get_width() for bar in figure.axes[2].patches], [2, 4])
    # Names are beside the panels, looks are those of the numbers, and ticks do not run into each other
    self.assertEqual([text.get_text() for text in figure.axes[3].get_legend().get_texts()], ["a", "b"])
    self.assertEqual([(line.get_color(), line.get_linestyle()) for line in figure.axes[0].get_lines()], [(plot.look(1)["color"], "-"), (plot.look(11)["color"], "--")])
    looks = [plot.look(k)["color"] for k in range(34)]
    self.assertGreater(min(max(abs(a - b) for a, b in zip(one, other)) for k, one in enumerate(looks) for other in looks[:k]), 0.03)
    figure.canvas.draw()
    for axes in figure.axes[:2]:
      boxes = sorted((tick.label1.get_window_extent() for tick in axes.xaxis.get_major_ticks() if axes.get_xlim()[0] <= tick.get_loc() <= axes.get_xlim()[1]), key=lambda box: box.x0)
      self.assertTrue(all(a.x1 < b.x0 for a, b in zip(boxes, boxes[1:])))
    for words in (["--x", "both,seconds", "--link", "1e6", "--work", "1"], ["--final"]):
      self.assertEqual(run("-o", "study.svg", *words, "a=seed0.csv", "a=seed1.csv"), (0, ""))
    self.assertEqual(run("-o", "rates.svg", "--rates", "a@1e-3=seed0.csv", "a@2e-3=seed1.csv"), (0, ""))
    for words, wrong in ((["--x", "bites"], "--x bites"), (["--rates"], "no number behind an @"), (["--x", "seconds"], "--x seconds"), (["--x", "both", "--link", "1e6"], ""), (["--x", "seconds", "--link", "1e6"], "--work says")):
      status, said = run("-o", "study.svg", *words, "a=seed0.csv")
      self.assertEqual(status != 0, wrong != "", words)
      self.assertIn(wrong, said)

  def test_layers(self):
    columns = ("layer",) + plot.LAYER_COLUMNS
    write("run.csv.layers", [dict(zip(columns, row)) for row in (("embed", 30.5, 70, 0.5, 0.25, 3, 7), ("up", 10, 20, 0.1, 0, 4, 0))], columns)
    figure = plot.draw_layers("run.csv.layers")
    self.assertEqual([[bar.get_width() for bar in axes.patches] for axes in figure.axes], [[30.5, 10, 70, 20], [0.5, 0.1, 0.25, 0], [3, 4, 7, 0]])
    self.assertEqual([label.get_text() for label in figure.axes[0].get_yticklabels()], ["embed", "up"])
    self.assertEqual(run("-o", "layers.svg", "--layers", "run.csv.layers"), (0, ""))
    # Without measurements the largest messages
    write("most.csv.layers", [dict(zip(columns, ("embed", 30, 70, "", "", "", "")))], columns)
    figure = plot.draw_layers("most.csv.layers")
    self.assertEqual([[bar.get_width() for bar in axes.patches] for axes in figure.axes], [[30, 70]])
    self.assertIn("at most", figure.axes[0].get_xlabel())
    write("one.csv", [(0, 1, 8, 8)])
    self.assertIn("no column layer", run("-o", "layers.svg", "--layers", "one.csv")[1])

  def test_interval(self):
    write("some.csv", [(0, 4.0, 800, 0), (10, 3.0, 800, 0), (20, 2.0, 400, 0), (29, 1.0, 400, 0)])
    self.assertEqual(plot.read("some.csv"), ("training loss", [(0, 100, 4), (10, 1100, 3), (20, 1600, 2), (29, 2050, 1)]))

  def test_validation(self):
    rows = [{"step": s, "loss": 3, "bits_up": 8, "validation": "" if s % 2 == 0 else 2.5 + s} for s in range(4)]
    write("both.csv", rows)
    self.assertEqual(plot.read("both.csv"), ("validation loss", [(1, 2, 3.5), (3, 4, 5.5)]))
    self.assertEqual(plot.draw([("both", plot.read("both.csv"))]).axes[1].get_ylabel(), "validation loss")

  def test_log_loss(self):
    write("log.csv", [(s, 10.0**-s, 8, 8) for s in range(4)])
    self.assertEqual(plot.draw([("log", plot.read("log.csv"))], True).axes[0].get_yscale(), "log")

  def test_diverged(self):
    write("nan.csv", [(0, 2.0, 8, 8), (1, "nan", 8, 8), (2, 1.0, 8, 8)])
    self.assertEqual(plot.read("nan.csv"), ("training loss", [(0, 2, 2), (2, 6, 1)]))

  def test_polar(self):
    expected = {(768, 3072): [("svd", 3.0, 1e-16), ("kj", 0.25, 0.065)], (16, 16): [("a <b>", 1e-5, 0.002), ("kj", 2e-3, 0.05)]}
    rows = [{"rows": m, "columns": n, "method": method, "seconds": seconds, "gap": gap} for (m, n), points in expected.items() for method, seconds, gap in points]
    write("polar.csv", rows, header("tests/benchmarks/polar.c", "rows,columns"))
    self.assertEqual(run("--polar", "-o", "polar.svg", "polar.csv"), (0, ""))
    figure = plot.draw_polar(plot.read_polar("polar.csv"))
    self.assertEqual([axes.get_title() for axes in figure.axes], ["768 x 3072", "16 x 16"])
    for axes, points in zip(figure.axes, expected.values()):
      self.assertEqual([(line.get_label(), line.get_xdata()[0], line.get_ydata()[0]) for line in axes.get_lines()], [(method, seconds, max(gap, 1e-7)) for method, seconds, gap in points])

  def test_wire(self):
    expected = {"gaussian": [("identity", [1.0, 2.0, 2.0]), ("topk <0.1>", [0.13125, 0.0206, 0.0204])], "up": [("sign", [0.03125, 0.0313, 0.03125])]}
    rows = [dict(zip(("data", "compressor", "paper", "sent", "entropy"), [data, name] + three)) for data, some in expected.items() for name, three in some]
    write("wire.csv", rows, header("tests/benchmarks/wire.c", "data,compressor"))
    self.assertEqual(run("--wire", "-o", "wire.svg", "wire.csv"), (0, ""))
    figure = plot.draw_wire(plot.read_wire("wire.csv"))
    for axes, (data, some) in zip(figure.axes, expected.items()):
      self.assertEqual(axes.get_title(), data)
      self.assertEqual([label.get_text() for label in axes.get_yticklabels()], [name for name, _ in some])
      for k, bars in enumerate(axes.containers):
        self.assertEqual([bar.get_width() for bar in bars], [three[k] for _, three in some])

  def test_bad(self):
    write("steps.csv", [(0, 1.0, 8, 8)])
    write("empty.csv", [])
    write("words.csv", [(0, "many", 8, 8)])
    write("all.csv", [(0, "inf", 8, 8)])
    write("zero.csv", [(0, 0.0, 8, 8)])
    write("sign.csv", [{"data": "up", "compressor": "sign", "paper": 1, "sent": 0, "entropy": 1}], ["data", "compressor", "paper", "sent", "entropy"])
    write("negative.csv", [{"rows": 8, "columns": 8, "method": "kj", "seconds": 0, "gap": 0.1}], ["rows", "columns", "method", "seconds", "gap"])
    with open("other.csv", "w") as f:
      f.write("a,b\n1,2\n")
    for arguments, message in ((["missing.csv"], "No such file"), (["empty.csv"], "no rows"), (["words.csv"], "words.csv:2"), (["all.csv"], "no finite loss"), (["other.csv"], "no column step"),
                               (["--log-loss", "zero.csv"], "not positive"), (["--wire", "steps.csv"], "no column data"), (["--wire", "sign.csv"], "sign.csv:2"), (["--polar", "--wire", "sign.csv"], "three things"),
                               (["--polar", "steps.csv"], "no column rows"), (["--polar", "negative.csv"], "negative.csv:2"), (["--polar", "steps.csv", "negative.csv"], "take one file")):
      status, said = run("-o", "bad.svg", *arguments)
      self.assertNotEqual(status, 0, arguments)
      self.assertIn(message, said)
      self.assertFalse(os.path.exists("bad.svg"))


if __name__ == "__main__":
  unittest.main()
