#!/usr/bin/env python3
#TEST timeoutfactor: 1
"""Tests the plotting script: its curves, read back through the ticks of their axes, are the data of the files."""

import csv
import math
import os
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree as ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PLOT = os.path.join(ROOT, "share", "petscmuon", "plot.py")
SVG = "{http://www.w3.org/2000/svg}"


def header():
  """The first row as the library writes it."""
  with open(os.path.join(ROOT, "src", "muon", "interface", "muonmonitor.c")) as f:
    return re.search(r'"(step,[a-z_,]+)\\n"', f.read()).group(1).split(",")


def write(path, rows):
  names = header()
  with open(path, "w", newline="") as f:
    out = csv.writer(f, lineterminator="\n")
    out.writerow(names)
    for step, loss, up, down in rows:
      values = {"step": step, "loss": loss, "bits_up": up, "bits_down": down, "reason": "CONVERGED_ITERATING"}
      out.writerow([values.get(name, 0) for name in names])


def plot(*arguments):
  return subprocess.run([sys.executable, PLOT] + list(arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)


def through_ticks(panel, axis, log, pixels):
  """The datum at a pixel, by the outermost ticks of an axis."""
  ends = "x1" if axis == "xtick" else "y1"
  ticks = [(float(e.get(ends)), float(e.get("data-value"))) for e in panel if e.get("class") == axis]
  (p, a), (q, b) = ticks[0], ticks[-1]
  t = (pixels - p) / (q - p)
  return a * (b / a)**t if log else a + t * (b - a)


def curves(path, log_loss=False):
  """{(panel, label): [(x, loss)]} of a drawing: panel 0 has steps, 1 bits."""
  elements = list(ElementTree.parse(path).getroot())
  frames = [i for i, e in enumerate(elements) if e.tag == SVG + "rect" and e.get("stroke") == "black"]
  panels = [elements[frames[0]:frames[1]], elements[frames[1]:]]
  found = {}
  for n, panel in enumerate(panels):
    for e in panel:
      if e.get("class") == "run":
        pairs = [tuple(map(float, pair.split(","))) for pair in e.get("points").split()]
        found[n, e.find(SVG + "title").text] = [(through_ticks(panel, "xtick", n == 1, x), through_ticks(panel, "ytick", log_loss, y)) for x, y in pairs]
  return found


class Plot(unittest.TestCase):
  def near(self, got, expected):
    # Pixels have three digits after the point in diagrams of more than 200, whose logarithmic axes span less than six decades
    self.assertEqual(len(got), len(expected))
    for (x, y), (a, b) in zip(got, expected):
      self.assertLess(abs(x - a), 1e-4 * max(abs(a), 100), "%s, expected %s" % (got, expected))
      self.assertLess(abs(y - b), 1e-4 * max(abs(b), 10))

  def test_two_runs(self):
    write("dense.csv", [(s, 5.0 / (1 + s), 3200, 3200) for s in range(100)])
    write("ef21.csv", [(s, 5.5 / (1 + s), 190, 200) for s in range(100)])
    done = plot("-o", "two.svg", "dense.csv", "top <10%>=ef21.csv")
    self.assertEqual((done.returncode, done.stderr), (0, ""))
    found = curves("two.svg")
    self.assertEqual(sorted(found), [(0, "dense"), (0, "top <10%>"), (1, "dense"), (1, "top <10%>")])
    self.near(found[0, "dense"], [(s, 5.0 / (1 + s)) for s in range(100)])
    self.near(found[1, "dense"], [(6400 * (s + 1), 5.0 / (1 + s)) for s in range(100)])
    self.near(found[1, "top <10%>"], [(390 * (s + 1), 5.5 / (1 + s)) for s in range(100)])

  def test_interval(self):
    write("some.csv", [(0, 4.0, 100, 0), (10, 3.0, 100, 0), (20, 2.0, 50, 0), (29, 1.0, 50, 0)])
    self.assertEqual(plot("-o", "some.svg", "some.csv").returncode, 0)
    self.near(curves("some.svg")[1, "some"], [(100, 4), (1100, 3), (1600, 2), (2050, 1)])

  def test_log_loss(self):
    write("log.csv", [(s, 10.0**-s, 8, 8) for s in range(4)])
    self.assertEqual(plot("--log-loss", "-o", "log.svg", "log.csv").returncode, 0)
    for (_, loss), s in zip(curves("log.svg", True)[0, "log"], range(4)):
      self.assertLess(abs(math.log10(loss) + s), 1e-3)

  def test_diverged(self):
    write("nan.csv", [(0, 2.0, 8, 8), (1, "nan", 8, 8), (2, 1.0, 8, 8)])
    self.assertEqual(plot("-o", "nan.svg", "nan.csv").returncode, 0)
    self.near(curves("nan.svg")[0, "nan"], [(0, 2), (2, 1)])

  def test_one_row(self):
    write("one.csv", [(7, 2.0, 8, 8)])
    self.assertEqual(plot("-o", "one.svg", "one.csv").returncode, 0)
    self.near(curves("one.svg")[0, "one"], [(7, 2)])

  def test_polar(self):
    with open(os.path.join(ROOT, "tests", "benchmarks", "polar.c")) as f:
      names = re.search(r'"(rows,columns,[a-z_,]+)\\n"', f.read()).group(1).split(",")
    expected = {(768, 3072): [("svd", 3.0, 1e-16), ("kj", 0.25, 0.065)], (16, 16): [("a <b>", 1e-5, 0.002), ("kj", 2e-3, 0.05)]}
    with open("polar.csv", "w", newline="") as f:
      out = csv.writer(f, lineterminator="\n")
      out.writerow(names)
      for (m, n), points in expected.items():
        for method, seconds, gap in points:
          values = {"rows": m, "columns": n, "method": method, "seconds": seconds, "gap": gap}
          out.writerow([values.get(name, 0) for name in names])
    done = plot("--polar", "-o", "polar.svg", "polar.csv")
    self.assertEqual((done.returncode, done.stderr), (0, ""))
    elements = list(ElementTree.parse("polar.svg").getroot())
    frames = [i for i, e in enumerate(elements) if e.tag == SVG + "rect" and e.get("stroke") == "black"] + [len(elements)]
    self.assertEqual(len(frames), 3)
    for start, end, ((m, n), points) in zip(frames, frames[1:], expected.items()):
      panel = elements[start:end]
      self.assertIn("%d x %d" % (m, n), [e.text for e in panel])
      circles = [e for e in panel if e.get("class") == "method"]
      self.assertEqual([e.find(SVG + "title").text for e in circles], [method for method, _, _ in points])
      for e, (_, seconds, gap) in zip(circles, points):
        # Six decades on 200 pixels with three digits
        self.assertLess(abs(math.log(through_ticks(panel, "xtick", True, float(e.get("cx"))) / seconds)), 1e-3)
        self.assertLess(abs(math.log(through_ticks(panel, "ytick", True, float(e.get("cy"))) / max(gap, 1e-7))), 1e-3)

  def test_wire(self):
    with open(os.path.join(ROOT, "tests", "benchmarks", "wire.c")) as f:
      names = re.search(r'"(data,compressor,[a-z_,]+)\\n"', f.read()).group(1).split(",")
    expected = {"gaussian": [("identity", (1.0, 2.0, 2.0)), ("topk <0.1>", (0.13125, 0.0206, 0.0204))], "up": [("sign", (0.03125, 0.0313, 0.03125))]}
    with open("wire.csv", "w", newline="") as f:
      out = csv.writer(f, lineterminator="\n")
      out.writerow(names)
      for data, rows in expected.items():
        for name, three in rows:
          values = dict(zip(("data", "compressor", "paper", "sent", "entropy"), (data, name) + three))
          out.writerow([values.get(column, 0) for column in names])
    done = plot("--wire", "-o", "wire.svg", "wire.csv")
    self.assertEqual((done.returncode, done.stderr), (0, ""))
    elements = list(ElementTree.parse("wire.svg").getroot())
    frames = [i for i, e in enumerate(elements) if e.tag == SVG + "rect" and e.get("stroke") == "black"] + [len(elements)]
    self.assertEqual(len(frames), 3)
    for start, end, (data, rows) in zip(frames, frames[1:], expected.items()):
      panel = elements[start:end]
      texts = [e.text for e in panel]
      self.assertIn(data, texts)
      for k, column in enumerate(("paper", "sent", "entropy")):
        bars = [e for e in panel if e.get("class") == column]
        self.assertEqual(len(bars), len(rows))
        for bar, (name, three) in zip(bars, rows):
          self.assertIn(name, texts)
          self.assertIn("%s %s" % (data, name), bar.find(SVG + "title").text)
          # Three decades at most on 300 pixels with three digits
          self.assertLess(abs(math.log(through_ticks(panel, "xtick", True, float(bar.get("x")) + float(bar.get("width"))) / three[k])), 1e-3)

  def test_bad_wire(self):
    write("steps.csv", [(0, 1.0, 8, 8)])
    with open("zero.csv", "w") as f:
      f.write("data,compressor,paper,sent,entropy\nup,sign,1,0,1\n")
    for arguments, message in ((["steps.csv"], "no column data"), (["zero.csv"], "zero.csv:2"), (["--polar", "zero.csv"], "two things")):
      done = plot("--wire", "-o", "bad.svg", *arguments)
      self.assertNotEqual(done.returncode, 0, arguments)
      self.assertIn(message, done.stderr)
      self.assertNotIn("Traceback", done.stderr)

  def test_bad_polar(self):
    write("steps.csv", [(0, 1.0, 8, 8)])
    with open("negative.csv", "w") as f:
      f.write("rows,columns,method,seconds,gap\n8,8,kj,0,0.1\n")
    for arguments, message in ((["steps.csv"], "no column rows"), (["negative.csv"], "negative.csv:2"), (["steps.csv", "negative.csv"], "take one file")):
      done = plot("--polar", "-o", "bad.svg", *arguments)
      self.assertNotEqual(done.returncode, 0, arguments)
      self.assertIn(message, done.stderr)
      self.assertNotIn("Traceback", done.stderr)

  def test_bad_files(self):
    write("empty.csv", [])
    write("words.csv", [(0, "many", 8, 8)])
    write("all.csv", [(0, "inf", 8, 8)])
    write("zero.csv", [(0, 0.0, 8, 8)])
    with open("other.csv", "w") as f:
      f.write("a,b\n1,2\n")
    for arguments, message in ((["missing.csv"], "No such file"), (["empty.csv"], "no rows"), (["words.csv"], "words.csv:2"), (["all.csv"], "no finite loss"), (["other.csv"], "no column step"),
                               (["--log-loss", "zero.csv"], "not positive")):
      done = plot("-o", "bad.svg", *arguments)
      self.assertEqual(done.returncode, 1, arguments)
      self.assertIn(message, done.stderr)
      self.assertNotIn("Traceback", done.stderr)
      self.assertFalse(os.path.exists("bad.svg"))


if __name__ == "__main__":
  unittest.main()
