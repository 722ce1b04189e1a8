#!/usr/bin/env python3
"""Writes numbers.tex, the figures that paper.tex has by macros: share/petscmuon/paper/makenumbers.py

They come from the csv files of the studies, by the statistics of their reports, and from the tables of the manual, which say what was measured and where. A macro is a figure or the rows of a table. What a study has not run is "not run". Where a figure
contradicts what the text says of it, nothing is written.
"""

import csv
import math
import os
import re
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
DOC = os.path.join(ROOT, "share", "petscmuon", "doc")
STUDIES = os.path.join(ROOT, "tutorials", "nanogpt", "studies")
sys.path.insert(0, STUDIES)
sys.dont_write_bytecode = True
import study

# A mean of fewer seeds is not shown
ENOUGH = 2


class Bad(Exception):
  """What is not where it was, or what the text says and a figure does not."""


class Finished(study.Study):
  """A study that is only read: runs of other plans count, and no file gets their lines."""

  def append(self, row):
    pass


class Options:
  """Those of study.py that a report of finished runs asks for."""

  def __init__(self, store):
    self.store, self.output, self.report, self.torch = store, "", True, ""


def tables(lines):
  """[(heading, rows)] of a page: a row is a list of its cells, and the first one has the names of the columns."""
  found, heading, rows = [], "", []
  for line in lines + [""]:
    if line.startswith("|"):
      rows.append([cell.strip() for cell in line.strip("|").split("|")])
    elif rows:
      found.append((heading, [row for row in rows if set("".join(row)) != {"-"}]))
      rows = []
    if line.startswith("#"):
      heading = line.strip("# ")
  return found


class Page:
  def __init__(self, name, lines=None):
    self.name = name
    if lines is None:
      with open(os.path.join(DOC, name + ".md")) as f:
        lines = f.read().splitlines()
    self.tables = tables(lines)

  def rows(self, heading, which=0):
    found = [rows for name, rows in self.tables if name == heading]
    if len(found) <= which:
      raise Bad("%s: no table %d below \"%s\"" % (self.name, which, heading))
    return found[which]

  def row(self, heading, label, which=0):
    found = [row for row in self.rows(heading, which)[1:] if row[0] == label]
    if len(found) != 1:
      raise Bad("%s, \"%s\": %d rows \"%s\"" % (self.name, heading, len(found), label))
    return found[0]

  def cell(self, heading, label, column, which=0):
    heads = self.rows(heading, which)[0]
    if heads.count(column) != 1:
      raise Bad("%s, \"%s\": no column \"%s\"" % (self.name, heading, column))
    return self.row(heading, label, which)[heads.index(column)]


def reals(texts):
  """The numbers in cells; a cell may have a range of them."""
  return [float(number) for text in texts for number in re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?", text)]


def tex(cell):
  """A cell of Markdown as TeX."""
  cell = re.sub(r"([%&_#])", r"\\\1", cell)
  cell = re.sub(r"`([^`]*)`", r"\\texttt{\1}", cell)
  cell = re.sub(r"(?<![\w.])([+-])(?=\d)", r"$\1$", cell)
  return re.sub(r"(?<=\d)x(?=\d)", r"$\\times$", cell)


def rows_of(rows):
  return "%\n" + "\n".join(" & ".join(map(tex, row)) + r" \\" for row in rows)


def power(number):
  """A number like 1.3e-6."""
  digits, exponent = number.split("e")
  return "$%s10^{%d}$" % ("" if float(digits) == 1 else digits + r"\cdot ", int(exponent))


def says(words, holds):
  if not holds:
    raise Bad("the text says: %s" % words)


class Numbers:
  def __init__(self, store):
    self.store, self.macros = store, {}
    self.performance()
    self.checks()
    self.rivals()
    self.table2()
    self.signmuon()
    self.recovery()

  def let(self, name, value):
    if name in self.macros or not re.fullmatch("[A-Za-z]+", name):
      raise Bad("macro %s" % name)
    self.macros[name] = value

  def cells(self, page, heading, label, names, which=0):
    """A macro for each column."""
    for name, column in names.items():
      self.let(name, tex(page.cell(heading, label, column, which)))

  def span(self, name, texts, form="%.2f"):
    """The least and the largest."""
    numbers = reals(texts)
    self.let(name + "Least", form % min(numbers))
    self.let(name + "Most", form % max(numbers))
    return min(numbers), max(numbers)

  def performance(self):
    page = Page("performance")
    # Polar factors beside the limit, without tiles and with them
    heading = "Without matrix tiles"
    shown = ("`zolotarev`, 4 poles, the default", "its limit", "`gram` in bf16", "torch in bf16", "torch in single")
    self.let("PolarHeads", " & ".join(map(tex, page.rows(heading)[0][1:4])))
    self.let("PolarRows", rows_of(page.row(heading, label) for label in shown))
    self.span("PolarPart", page.row("Efficiency of the LMO", "half of the product with an inverse, too: now")[1:])
    parts = [a / b for a, b in zip(reals(page.row(heading, "the default, with dual value and sign", 1)[1:]), reals(page.row(heading, "torch in bf16", 1)[1:]))]
    self.let("LmoTorchLeast", "%.2f" % min(parts))
    self.let("LmoTorchMost", "%.2f" % max(parts))
    says("without tiles the default is faster than torch in bf16", max(parts) < 1)
    heading = "Speed of polar factors"
    ours, theirs = ([float(cell.split(",")[0]) for cell in page.row(heading, label)[1:6]] for label in ("`zolotarev`, 4 poles, the default", "torch in bf16"))
    slower = [a / b for a, b in zip(ours, theirs)]
    self.let("TilesLeast", "%.1f" % min(slower))
    self.let("TilesMost", "%.1f" % max(slower))
    says("with tiles torch in bf16 is faster", min(slower) > 1)
    # Messages
    heading = "Size and speed of messages"
    shown = ("`natural`", "`topk` 0.15", "`topk` 0.15 natural", "`topk` 0.1 natural", "`rankk` 0.15", "`rankk` 0.15 natural")
    self.let("MessageRows", rows_of(page.row(heading, label, 1) for label in shown))
    gaps = [abs(float(row[1]) - float(row[2])) for row in page.rows(heading, 1)[1:]]
    self.let("FormulaGap", power("%.0e" % max(gaps)))
    over = page.rows("All compressors")
    at = over[0].index("over entropy")
    self.span("OverEntropy", [row[at] for row in over[1:]], "%.3f")
    self.let("Compressors", "%d" % len({row[0].split()[0] for row in over[1:]}))
    self.cells(page, "Speed of encoding and decoding", "`topk` 0.1 natural, 2048 x 2048: encode", {"EncodeNow": "now", "EncodeLimit": "limit"})
    # A step
    heading = "A step, phase by phase"
    self.cells(page, heading, "LMO", {"StepLmo": "now", "StepLmoLimit": "limit"}, 1)
    self.cells(page, heading, "`dense`: all but gradient and LMO", {"StepRest": "now"}, 1)
    self.let("StepRestLimit", page.cell(heading, "`dense`: all but gradient and LMO", "limit", 1).split(",")[0])
    self.cells(page, heading, "residual, selection and coding", {"StepCode": "now", "StepCodeLimit": "limit"}, 2)
    self.cells(page, heading, "decoded messages added to matrices", {"StepAdd": "now", "StepAddLimit": "limit"}, 2)
    dense, low = (reals(page.row("Memory", label)[1:]) for label in ("`dense`", "`ef21` with a compressor"))
    self.let("MemoryRank", "%d" % low[0])
    self.let("MemoryOwner", "%d" % low[1])
    self.let("MemoryDense", "%d" % dense[0])
    # Small matrices, and a slow link
    heading = "Small matrices"
    for name, column in (("Eight", "8 x 8"), ("Large", "128 x 128")):
      self.let("Small" + name, page.cell(heading, "a step", column))
      self.let("Small" + name + "Products", page.cell(heading, "its products", column))
    heading = "A step on a slow network"
    for name, column in (("Dense", "`dense`"), ("Qsgd", "`ef21`, `qsgd` with 4 bits"), ("Topk", "`ef21`, `topk` 0.1")):
      self.let("Slow" + name, page.cell(heading, "124 million parameters", column).split(",")[0])
    exchanges = Page("exchanges")
    ratios = exchanges.rows("The model against a simulation")
    self.span("Simulated", [row[-1] for row in ratios[1:]])
    last = exchanges.rows("Assembling matrices from rows", 2)
    self.let("OwnersSaved", tex(last[1][-1]))
    self.let("OwnersLost", tex(last[-1][-1].lstrip("-")))
    says("owners cost time on the slow link", last[-1][-1].startswith("-"))

  def checks(self):
    """Tests, faults, theorems."""
    with open(os.path.join(ROOT, "tests", "mutants.txt")) as f:
      faults = sum(line.count(" | ") == 2 and not line.startswith("#") for line in f)
    self.let("Faults", "%d" % (faults // 50 * 50)) # at least so many: the list grows
    with open(os.path.join(DOC, "card.csv"), newline="") as f:
      card = {row["what"]: row["total"] for row in csv.DictReader(f)}
    for name, what in (("CardKilled", "ranks killed in whole runs that went on equal"), ("CardDouble", "double crashes"), ("CardElastic", "elastic pairs of ranks")):
      self.let(name, card[what])
    says("no run with a killed rank failed", card["failures"] == "0")
    theory = Page("theory")
    self.span("Bound", [cell for row in theory.rows("Measured runs and bounds", 1)[1:] for cell in row[1:]])
    heads = theory.rows("Measured runs and bounds")[0]
    values = [reals([cell]) for cell in theory.row("Measured runs and bounds", "`smooth`, `max`")[2:]]
    best = min(range(len(values)), key=lambda k: values[k][0] if values[k] else float("inf"))
    self.let("LongerSteps", re.match(r"\d+", heads[2 + best]).group())
    with open(os.path.join(ROOT, "include", "petscmuonversion.h")) as f:
      self.let("Version", ".".join(re.findall(r"#define PETSCMUON_VERSION_(?:MAJOR|MINOR|SUBMINOR)\s+(\d+)", f.read())))

  def report(self, name):
    found = study.Report(Finished(study.Plan(os.path.join(STUDIES, name + ".txt")), Options(self.store)))
    for at in found.plan.at:
      found.losses(at)
    return found, Page("the report of " + name, found.out)

  def setting(self, found, name):
    """What all runs of a plan have in common."""
    words = found.plan.all + found.plan.at[found.plan.first][0]
    value = lambda key: words[words.index(key) + 1]
    self.let(name + "Workers", value("-n"))
    self.let(name + "Steps", value("-nanogpt_steps"))
    self.let(name + "Thousands", re.search(r"(\d+) thousand parameters", " ".join(found.plan.notes)).group(1))
    self.let(name + "Tokens", re.search(r"(\d+) tokens for each", " ".join(found.plan.notes)).group(1))
    self.let(name + "Grid", "%d" % max(len([one for one in found.study.tuning(method).values() if one is not None]) for method in found.plan.runs))

  def shown(self, page, heading, columns):
    """Rows of a table of last losses. A mean of too few seeds is "not run"."""
    heads, *rows = page.rows(heading)
    out = []
    for row in rows:
      seeds = row[heads.index("seeds")]
      few = int(seeds.split()[0]) < ENOUGH
      out.append([cell if column in ("method", "seeds") else "not run" if column == "loss" and few else "" if few else cell for column, cell in ((column, row[heads.index(column)]) for column in columns)])
    return out

  def rivals(self):
    found, page = self.report("rivals")
    self.setting(found, "Rivals")
    minus = "minus Muon, fp32"
    rows = self.shown(page, "Last loss", ("method", "seeds", "loss", minus, "95% interval", "", "both ways, sent"))
    self.let("RivalsRows", rows_of(rows))
    methods = {"Muon": "Muon, fp32", "Adamw": "AdamW, fp32", "Torch": "torch's Muon, AdamW, fp32", "Qsgd": "EF21, 4 bits", "Sign": "SignMuon", "Topk": "EF21, Top-15%, natural", "Rank": "EF21, Rank-15%, natural", "Power": "EF14, PowerSGD Rank-15%", "Local": "H = 30, 4 bits",
               "Half": "Muon, bf16"}
    loss = {name: float(page.cell("Last loss", label, "loss")) for name, label in methods.items()}
    for name in ("Muon", "Adamw", "Torch", "Qsgd", "Rank", "Power", "Topk"):
      self.let("Rivals" + name, "%.4f" % loss[name])
    percent = lambda name, column: "%.2g\\%%" % (100 * float(page.cell("Last loss", methods[name], column)))
    for name in ("Qsgd", "Sign", "Local"):
      self.let("Rivals" + name + "Bytes", percent(name, "both ways, sent"))
    verdict = lambda name: page.cell("Last loss", methods[name], "")
    says("bf16 costs nothing, all other compressed runs of Muon are worse than fp32, and four bits, signs and PowerSGD end below AdamW, the others above",
         verdict("Half") == "costs nothing" and {verdict(name) for name in ("Qsgd", "Sign", "Topk", "Rank", "Power", "Local")} == {"worse"} and max(loss[name] for name in ("Qsgd", "Sign", "Power")) < loss["Adamw"] < min(loss["Rank"], loss["Local"], loss["Topk"]))
    says("PowerSGD by classic error feedback is ahead of EF21 with Top-K and Rank-K, and torch's recipe ahead of all", loss["Power"] < min(loss["Topk"], loss["Rank"]) and min(loss, key=loss.get) == "Torch")
    gaps = [abs(found.found[ours, ""][seed]["loss"] - one["loss"]) for ours, theirs in (("adamw", "adamw-ref"), ("torch", "torch-ref")) for seed, one in found.found.get((theirs, ""), {}).items()]
    self.let("ReferenceGap", "%.4f" % max(gaps))
    self.let("ReferenceRuns", "%d" % len(gaps))

  def table2(self):
    found, page = self.report("table2")
    first = found.plan.first
    minus = "minus Muon, fp32"
    rows = self.shown(page, "Last loss, " + first, ("method", "up, paper", "up, sent", "both ways, sent", "seeds", "loss", minus, "95% interval"))
    self.let("TableTwoRows", rows_of(rows))
    counts = [int(row[4].split()[0]) for row in rows]
    self.let("TableTwoFew", "%d" % min(counts))
    self.let("TableTwoMany", "%d" % max(counts))
    self.let("TableTwoDone", "%d" % sum(len(seeds) for seeds in found.found.values()))
    self.let("TableTwoPlanned", "%d" % len(list(found.study.cells())))
    names = found.plan.equal
    complete = [seed for seed in range(1, found.plan.count(names[0]) + 1) if all(seed in found.found.get((name, at), {}) for name in names for at in found.plan.places(name))]
    self.let("EqualSeeds", "%d" % len(complete))
    self.let("EqualPlanned", "%d" % found.plan.count(names[0]))
    found.equal()
    equal = []
    for name in names[1:]:
      factors = found.factors.get(name)
      some = lambda k: ("%.3g" % factors[k][0]) + (" (%.3g to %.3g)" % factors[k][1:] if len(complete) > ENOUGH else "")
      reached = factors and factors[0][0] < math.inf
      equal.append([found.plan.label(name)] + ([some(0), some(1), some(3), some(4)] if reached else ["not reached" if factors else "not run", "", "", ""]))
    self.let("EqualRows", rows_of(equal).replace("inf", r"$\infty$"))
    words = "No factor is shown before two seeds have all lengths."
    if found.factors:
      factors = found.factors["top15n"]
      lost = [found.plan.label(name) for name in names[1:] if found.factors[name][0][0] == math.inf]
      words = "With twice the tokens, these do not come to the loss: %s." % "; ".join(map(tex, lost)) if lost else "All of them come to the loss with at most twice the tokens."
      if factors[0][0] < math.inf:
        words += " Top-15\\%% with natural values takes %.3g times the tokens. It sends %.3g times fewer bytes up by the formula, %.3g times fewer as sent, and %.3g times fewer both ways." % tuple(factors[k][0] for k in (0, 1, 3, 4))
    self.let("EqualSays", words)

  def signmuon(self):
    _, page = self.report("signmuon")
    methods = {"SignMomentum": "signs of the momentum", "SignPolar": "signs of the polar factor", "SignSevenSteps": "cubic, 7 steps, Frobenius", "SignOneStep": "cubic, 1 step, spectral", "SignAdam": "SignAdam", "SignPlus": "polar factor, ties are +1"}
    for name, label in methods.items():
      self.let(name, page.cell("Last loss", label, "loss"))
    verdicts = [page.cell("Last loss", methods[name], "") for name in ("SignPolar", "SignSevenSteps", "SignOneStep", "SignAdam")]
    says("an accurate polar factor is ahead of the signs of the momentum, one step is not", verdicts == ["better", "better", "no difference seen", "no difference seen"])
    with open(os.path.join(self.store, "signmuon", "signs.csv"), newline="") as f:
      rows = list(csv.DictReader(f))
    for name, method in (("SignExact", "exact"), ("SignSeven", "cubic 7 Frobenius"), ("SignOne", "cubic 1 spectral")):
      self.let(name, "%.0f\\%%" % (100 * statistics.mean(float(row["mean"]) for row in rows if row["method"] == method)))

  def recovery(self):
    rows = Page("science").rows("Science")[1:]
    error = {row[2]: row[3].split(",")[0] for row in rows}
    ours, fista = error["ours, nuclear steps in a ball, nuclear norm known"], error["FISTA with singular-value thresholding"]
    self.let("RecoveryOurs", power(ours))
    self.let("RecoveryFista", power(fista))
    says("FISTA recovers the matrix, nuclear steps do not", float(fista) < 1e-3 < float(ours))

  def text(self):
    return "% Made by makenumbers.py\n" + "".join("\\newcommand{\\%s}{%s}\n" % pair for pair in self.macros.items())


def make(store=os.path.join(DOC, "studies")):
  return Numbers(store).text()


def main():
  try:
    study.write(os.path.join(HERE, "numbers.tex"), make())
  except (Bad, study.Bad, OSError) as e:
    print("makenumbers.py: %s" % e, file=sys.stderr)
    return 1
  return 0


if __name__ == "__main__":
  sys.exit(main())
