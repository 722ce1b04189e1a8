"""What the studies of this folder share: finished runs as lines of a csv, rates from a grid that grows, intervals."""

import argparse
import csv
import math
import os
import sys

STORE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))), "share", "petscmuon", "doc", "studies", "science")
TUNING = 101 # the seed with which rates are chosen; it is not reported
T95 = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26, 20: 2.09, 30: 2.05, 40: 2.02} # Student's, of so many values


class Runs:
  """The finished runs of the csv at path, by options and seed. numbers() makes those of a line; what it cannot make is damaged, and run again."""

  def __init__(self, program, path, columns, numbers):
    self.path, self.columns, self.numbers, self.runs = path, columns, numbers, {}
    if not os.path.exists(path):
      return
    with open(path, newline="") as f:
      reader = csv.DictReader(f)
      if tuple(reader.fieldnames or ()) != columns:
        sys.exit("%s: %s: the first line must be %s" % (program, path, ",".join(columns)))
      for row in reader:
        try:
          self.runs[row["options"], int(row["seed"])] = dict(row, **numbers(row))
        except (AttributeError, TypeError, ValueError, IndexError):
          print("%s: %s:%d: damaged, not used" % (program, path, reader.line_num), file=sys.stderr)

  def get(self, options, seed):
    return self.runs.get((options, seed))

  def add(self, *values):
    """A finished run, whose first values are its options and its seed."""
    with open(self.path, "a+", newline="") as f:
      f.seek(0)
      before = f.read()
      f.write(("" if before else ",".join(self.columns) + "\n") + ("" if before[-1:] in ("", "\n") else "\n"))
      csv.writer(f, lineterminator="\n").writerow(values)
    row = dict(zip(self.columns, values))
    self.runs[values[:2]] = dict(row, **self.numbers(row))
    return self.runs[values[:2]]

  def values(self, column):
    return ", ".join(sorted(set(row[column] for row in self.runs.values())))


def tune(first, loss, most=12):
  """{exponent: loss, None where a run is missing} of a grid that grows from the first exponents until the best is inside."""
  losses = {rate: loss(rate) for rate in first}
  while losses and None not in losses.values() and len(losses) < most:
    best = min(losses, key=losses.get)
    if min(losses) < best < max(losses):
      break
    following = best - 1 if best == min(losses) else best + 1
    losses[following] = loss(following)
  return losses


def chosen(losses):
  """The exponent of the best rate; None where the method has none, False where the tuning is not finished."""
  return False if None in losses.values() else min(losses, key=losses.get) if losses else None


def interval(values):
  """The mean and half of its 95% interval by Student's distribution."""
  n, mean = len(values), sum(values) / len(values)
  return mean, T95[max(k for k in T95 if k <= n)] * math.sqrt(sum((x - mean) ** 2 for x in values) / (n - 1) / n) if n > 1 else math.nan


def geometric(errors):
  """The geometric mean of errors and its 95% interval."""
  mean, half = interval([math.log10(e) if e > 0 and math.isfinite(e) else math.nan for e in errors])
  return 10 ** mean, 10 ** (mean - half), 10 ** (mean + half)


def carry_out(doc, name, report, study, own, seeds=5):
  """The main program of the study with that name: runs what is missing, unless --report is given, and reports. own is {option: (default, help)} beside those of all studies."""
  parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--program", default="./" + name)
  for key, (default, text) in own.items():
    parser.add_argument(key, type=type(default), default=default, help=text)
  parser.add_argument("--seeds", type=int, default=seeds)
  parser.add_argument("--minutes", type=float, default=math.inf, help="begin no run after this time")
  parser.add_argument("--store", default=STORE, help="folder that has, or gets, %s.csv and the report" % name)
  parser.add_argument("--machine", default="", help="what lines say of the machine")
  parser.add_argument("--commit", default="", help="what lines say that the program was built from")
  parser.add_argument("--report", action="store_true", help="run nothing, and report what is finished")
  options = parser.parse_args()
  os.makedirs(options.store, exist_ok=True)
  made = study(options)
  if not options.report:
    made.everything()
  options.report = True
  report(made).write()
