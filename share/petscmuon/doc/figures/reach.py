#!/usr/bin/env python3
"""Prints which run reaches a loss first on links of several rates, as a table in Markdown: figures/reach.py --loss 1.5 --seconds 0.082 --ranks 2 LABEL=FILE.csv ...

FILE.csv is of -muon_monitor_csv. The loss is the mean of the last steps, a step takes the given seconds of work and, on a link that carries as much in both directions at once, the time of what leaves a rank: of its messages up and down
those to other ranks, (ranks - 1)/ranks of all where layers have owners. Latency is left out, and so is what compressing costs.
"""

import argparse
import csv

RATES = (("10 Mbit/s", 1e7), ("100 Mbit/s", 1e8), ("1 Gbit/s", 1e9), ("memory", float("inf")))
WINDOW = 20


def read(path):
  with open(path, newline="") as f:
    return [(float(row["loss"]), float(row["bits_up"]) + float(row["bits_down"])) for row in csv.DictReader(f)]


def seconds_to(rows, loss, work, rate, ranks):
  """Seconds until the mean of the last steps is at most loss, None where that never is."""
  total = 0
  for i, (_, bits) in enumerate(rows):
    total += work + bits * (ranks - 1) / ranks / rate
    last = [row[0] for row in rows[max(0, i + 1 - WINDOW):i + 1]]
    if len(last) == WINDOW and sum(last) / WINDOW <= loss:
      return total, i + 1
  return None, None


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("files", nargs="+", metavar="LABEL=FILE.csv")
  parser.add_argument("--loss", type=float, required=True)
  parser.add_argument("--seconds", type=float, required=True, help="a step without its messages")
  parser.add_argument("--ranks", type=int, default=2)
  options = parser.parse_args()
  print("| messages | steps | %s |\n|---|---|%s" % (" | ".join(name for name, _ in RATES), "---|" * len(RATES)))
  for name in options.files:
    label, _, path = name.partition("=")
    found = [seconds_to(read(path), options.loss, options.seconds, rate, options.ranks) for _, rate in RATES]
    print("| %s | %s | %s |" % (label, found[0][1] or "never", " | ".join("%.0f s" % time if time else "-" for time, _ in found)))


if __name__ == "__main__":
  main()
