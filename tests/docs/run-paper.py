#!/usr/bin/env python3
#TEST timeoutfactor: 2
"""The paper: its figures are those of the studies and of the manual, its text has no numbers of its own, and its references are there."""

import csv
import os
import re
import shutil
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAPER = os.path.join(ROOT, "share", "petscmuon", "paper")
STUDIES = os.path.join(ROOT, "share", "petscmuon", "doc", "studies")
sys.dont_write_bytecode = True
sys.path.append(PAPER)
import makenumbers

# Numbers of names and of settings
NAMES = (r"EF21-Muon's Table~2", r"\emph{Table 2 of EF21-Muon}", "Algorithm~3", "Theorem~3", "Theorems 3 and 5", "theorems: 3, 4, 5, 6 of EF21-Muon", "Those of 4 and 6", "1-bit Adam", "124 million parameters", "124M model", "vectors of 512 bits", "Top-10\\%", "Top-15\\%", "Rank-15\\%",
         "Student's at 95\\%", "1 Gbit/s", "1000 draws", "BSD 2-clause", "Debian 12", "PETSc 3.18 and 3.26", "64-bit indices", "August 2026", r"$8\times8$", r"$4\times4$", "CRC-32C", "x86-64")


def read(name):
  with open(os.path.join(PAPER, name)) as f:
    return f.read()


def bare(text):
  """The numbers of a text that are neither macros, names, formulas nor layout."""
  text = re.sub(r"(?<!\\)%.*", "", text)
  text = text[text.index(r"\begin{document}"):]
  for one in (r"\\begin\{(verbatim|tikzpicture|align\*)\}.*?\\end\{\1\}", r"\\(cite|ref|label|code)\{[^{}]*\}", r"\\ccsdesc\[\d+\]", r"\\begin\{rows\}\{@.*@\{\}\}"):
    text = re.sub(one, "", text, flags=re.S)
  for name in NAMES:
    text = text.replace(name, "")
  return re.findall(r"(?<![A-Za-z0-9.])\.?\d+(?:\.\d+)?", text)


class Paper(unittest.TestCase):
  def test_numbers(self):
    self.assertEqual(read("numbers.tex"), makenumbers.make(), "share/petscmuon/paper/makenumbers.py writes it anew")

  def test_text(self):
    text = read("paper.tex")
    self.assertEqual(bare(text), [])
    # Nothing is found in a text that has nothing; here it has
    self.assertEqual(bare(r"\begin{document} EF21 ends at 1.80 beside $0.5$, 3 times, for .9\% of Top-10\% and \RivalsQsgd{}. % 7"), ["1.80", "0.5", "3", ".9"])
    for name in NAMES:
      self.assertIn(name, text)
    # Each macro is used, and is there
    known = set(re.findall(r"\\newcommand\{\\(\w+)\}", read("numbers.tex")))
    used = set(re.findall(r"\\([A-Z][A-Za-z]+)", text[text.index(r"\begin{document}"):])) - {"Description"}
    self.assertEqual((known - used, used - known), (set(), set()))

  def test_references(self):
    entries = dict(re.findall(r"^@\w+\{(\w+),\n(.*?)^\}", read("paper.bib"), re.M | re.S))
    self.assertEqual(set(entries), {key for keys in re.findall(r"\\cite\{([^}]*)\}", read("paper.tex")) for key in keys.split(",")})
    for key, entry in entries.items():
      year = re.search(r"year = \{(\d{4})\}", entry).group(1)
      self.assertRegex(entry, "eprint = |doi = |url = |journal = |booktitle = ", key)
      for number in re.findall(r"eprint = \{(.*?)\}", entry):
        self.assertRegex(number, r"^%s(0[1-9]|1[0-2])\.\d{4,5}$" % year[2:], key)

  def test_studies(self):
    """What was not run is said, a run counts, and a figure that contradicts the text is an error."""
    shutil.copytree(STUDIES, "store")

    def change(plan, what):
      """what() changes a row, and says whether it stays."""
      path = os.path.join("store", plan, "runs.csv")
      with open(path, newline="") as f:
        rows = list(csv.DictReader(f))
      with open(path, "w", newline="") as f:
        out = csv.DictWriter(f, rows[0], lineterminator="\n")
        out.writeheader()
        out.writerows([row for row in rows if what(row)])

    def worse(words, by):
      def what(row):
        if row["part"] == "reporting" and all(word in row["options"] for word in words):
          row["loss"] = "%g" % (float(row["loss"]) + by)
        return True
      return what

    loss = lambda: float(re.search(r"\\newcommand\{\\RivalsQsgd\}\{(.*)\}", makenumbers.make("store")).group(1))
    before, seeds = loss(), int(re.search("EF21, 4 bits & ([0-9]+) &", makenumbers.make("store")).group(1))
    for plan in ("rivals", "decay", "local"): # they share the run
      change(plan, worse(("-nanogpt_runs ef21", "-ef21_compressor qsgd", "-nanogpt_seed 3 "), 0.1))
    self.assertAlmostEqual(loss(), before + 0.1 / seeds, delta=1.01e-4)
    change("table2", lambda row: "topk -ef21_compressor_ratio 0.05 " not in row["options"])
    self.assertIn("Top-5\\% &  &  &  & 0 of 2 & not run &  &  \\\\\n", makenumbers.make("store"))
    change("rivals", worse(("-ef21_compressor bf16",), 0.1))
    with self.assertRaisesRegex(makenumbers.Bad, "the text says: bf16 costs nothing"):
      makenumbers.make("store")


if __name__ == "__main__":
  unittest.main()
