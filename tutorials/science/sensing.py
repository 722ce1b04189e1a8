"""Draws the figure of README.md: python3 sensing.py sensing.svg NAME=OUTPUT..., each OUTPUT what ./sensing printed."""
import re
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

LINE = re.compile(r" *(\d+) measurements of (\d+) entries: relative error (\S+) to (\S+), median (\S+)")

plt.rcParams["svg.hashsalt"] = "sensing"
figure, axes = plt.subplots(figsize=(6, 3.6))
for argument in sys.argv[2:]:
    name, path = argument.split("=", 1)
    with open(path, encoding="utf-8") as text:
        rows = [[float(x) for x in match.groups()] for match in map(LINE.match, text) if match]
    if not rows:
        sys.exit(f"{path} has no line that sensing prints")
    n, entries, least, most, median = zip(*rows)
    line, = axes.plot(n, median, marker="o", markersize=3)
    axes.fill_between(n, least, most, alpha=0.25, color=line.get_color())
    axes.annotate(name, (n[len(n) // 2], median[len(n) // 2]), xytext=(6, 6), textcoords="offset points", color=line.get_color())
    axes.axvline(entries[0], color="gray", linewidth=0.5)
axes.annotate("as many as entries", (entries[0], 1), xytext=(-4, 2), textcoords="offset points", ha="right", fontsize=8, color="gray")
axes.set(xscale="log", xlabel="measurements of a 40 x 30 matrix of rank 2", ylabel="relative error", ylim=(0, 1.1))
ticks = [150, 200, 300, 500, 1000, 2500]
axes.set_xticks(ticks, [str(k) for k in ticks])
axes.minorticks_off()
figure.tight_layout()
figure.savefig(sys.argv[1], metadata={"Date": None})
