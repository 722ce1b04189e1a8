"""Draws the figure of README.md: python3 bounds.py theory.svg BOUNDS.csv, the rows that ./bounds -csv wrote with -name "PROBLEM THEOREM"."""
import csv
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

TITLES = {
  "smooth": "Theorem 3: mean square, slope -1",
  "smooth_stochastic": "Theorem 5: mean square, slope to -1/2",
  "l0l1": "Theorem 4: smallest norm, slope -1/2",
  "l0l1_stochastic": "Theorem 6: smallest norm, slope -1/4",
}

plt.rcParams["svg.hashsalt"] = "theory"
runs = {}
with open(sys.argv[2], encoding="utf-8") as file:
  for name, steps, longer, measured, bound in csv.reader(file):
    if float(longer) == 1:
      runs.setdefault(tuple(name.split()), []).append((int(steps), float(measured), float(bound)))
figure, axes = plt.subplots(2, 2, figsize=(8, 6), sharex=True)
for axis, (theorem, title) in zip(axes.flat, TITLES.items()):
  for (problem, which), points in sorted(runs.items()):
    if which == theorem:
      steps, measured, bound = zip(*sorted(points))
      line, = axis.loglog(steps, measured, marker="o", markersize=3, label=problem)
      axis.loglog(steps, bound, linestyle="--", color=line.get_color(), label=f"bound, {problem}")
  axis.set_title(title, fontsize=9)
  axis.grid(alpha=0.3)
axes[0, 0].legend(fontsize=7)
for axis in axes[1]:
  axis.set_xlabel("steps")
for axis in axes[:, 0]:
  axis.set_ylabel("dual norm of the gradient")
figure.tight_layout()
figure.savefig(sys.argv[1], metadata={"Date": None})
