#!/usr/bin/env python3
#TEST timeoutfactor: 1
"""Tests config/tools/manual.py: its pages have what stands in the comments, and its table every key that the sources read."""

import os
import re
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "config", "tools"))
import checkstyle
import manual

PAGE = r"""#include <petscmuonx.h> /*I "petscmuonx.h" I*/

/*@
  MuonXSetNumber - Sets the number, see `MuonX`

  Logically Collective; No Fortran Support

  Input Parameters:
+ x      - the object
- number - the number $\sigma_{ij}^2$ with a description
           of two lines

  Options Database Key:
. -muon_x_number n - the number, 7 by default

  Level: beginner

  Notes:
  A colon\: and <b>.
.vb
  a < b
    .c
.ve
  After it.

.seealso: `MuonX`, `MatCreate()`
@*/
PetscErrorCode MuonXSetNumber(MuonX x, PetscInt number)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsInt("-muon_x_number", "Number of things", "MuonXSetNumber", n, &n, &set));
  PetscCall(PetscOptionsEnum("-muon_x_kind", "Kind of thing", "MuonXSetKind", MuonXKinds, k, &k, &set));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const char *const MuonXKinds[] = {"one", "two", "MuonXKind", "MUON_X_KIND_", NULL};

/*@
  MuonXSetKind - Sets the kind

  Logically Collective

  Options Database Key:
. -muon_x_kind kind - the kind

  Level: beginner

  Note:
  The default is one, 0.5 or so.

.seealso: `MuonX`
@*/
PetscErrorCode MuonXSetKind(MuonX x, MuonXKind kind)
{
}

/*S
   MuonX - An object

   Level: beginner

.seealso: `MuonXSetNumber()`
S*/
typedef struct _p_MuonX *MuonX;
"""


class Pages(unittest.TestCase):
  def setUp(self):
    self.sources = [checkstyle.Source("src/x/x.c", PAGE), checkstyle.Source("tests/t.c", "/* MuonXSetNumber */\nint main(void)\n{\n  MuonXSetNumber(x, 1);\n}\n"),
                    checkstyle.Source("tutorials/u.c", "MuonXSetNumber(x, 1);\n")]
    self.references = manual.read_references(self.sources[:1])

  def test_page(self):
    page = self.references["MuonXSetNumber"]
    self.assertEqual((page.summary, page.collective, page.level, page.header), ("Sets the number, see `MuonX`", "Logically Collective; No Fortran Support", "beginner", "petscmuonx.h"))
    self.assertEqual(page.prototype, "PetscErrorCode MuonXSetNumber(MuonX x, PetscInt number)")
    self.assertEqual(page.seealso, ["MuonX", "MatCreate"])
    parameters, keys, notes = page.sections
    self.assertEqual(parameters.blocks[0].items, [("x", "the object"), ("number", r"the number $\sigma_{ij}^2$ with a description of two lines")])
    self.assertEqual([(block.kind, block.text) for block in notes.blocks], [("text", "A colon: and <b>."), ("verbatim", "  a < b\n    .c"), ("text", "After it.")])
    self.assertEqual(self.references["MuonX"].prototype, "typedef struct _p_MuonX *MuonX;")

  def test_uses(self):
    self.assertEqual(manual.uses_of(self.sources, self.references)["MuonXSetNumber"], [("tutorials/u.c", 1), ("tests/t.c", 4)])

  def test_markdown(self):
    text = manual.page_markdown(self.references["MuonXSetNumber"], manual.uses_of(self.sources, self.references), set())
    for part in ("# MuonXSetNumber\n", "see `MuonX`", "- **number**: the number `sigma_(ij)^2` with", "and \\<b\\>.", "```text\n  a < b\n    .c\n```", "`MatCreate`", "`tutorials/u.c` (line 1)", "`tests/t.c` (line 4)"):
      self.assertIn(part, text)

  def test_roff(self):
    text = manual.page_roff(self.references["MuonXSetNumber"], manual.uses_of(self.sources, self.references), "1.2.3")
    for part in ('.TH "MuonXSetNumber" 3 "" "PetscMuon 1.2.3"', "MuonXSetNumber \\- Sets the number, see \\fBMuonX\\fP", ".TP\n\\fB\\-muon_x_number n\\fP\nthe number, 7 by default", "the number sigma_(ij)^2", "\n    .c\n",
                 ".SH EXAMPLES\ntutorials/u.c, in share/petscmuon", ".SH TESTS\ntests/t.c, in the source"):
      self.assertIn(part, text)
    self.assertFalse(re.search(r"^\.(?!TH|SH|PP|TP|nf|fi)", text, re.M))

  def test_options(self):
    rows = [["muon_", "", "rate", "0.02", "at least 0", "at any time", "Rate of learning"], ["lmo_", "schatten", "schatten_p", "2", "[1, inf]", "before set-up", "Exponent"]]
    rate, number, kind, power = sorted(manual.read_options(rows, self.references), key=lambda option: ("muon_rate", "muon_x_number", "muon_x_kind", "lmo_schatten_p").index(option.key[1:]))
    self.assertEqual((rate.default, rate.choices, rate.meaning, rate.group), ("0.02", ["at least 0"], "Rate of learning", "Muon"))
    self.assertEqual((number.key, number.argument, number.default, number.meaning, number.function), ("-muon_x_number", "n", "7", "The number", "MuonXSetNumber"))
    self.assertEqual(kind.default, "one")
    self.assertEqual((power.kind, power.meaning), ("schatten", "Exponent (before set-up)"))

  def test_formulas(self):
    self.assertEqual(manual.tex_text(r"\|X\|_{F}^{1/2} \le \sqrt{n}"), "||X||_F^(1/2) <= sqrt(n)")
    self.assertRaises(manual.Bad, manual.tex_text, r"\unknown")


class Tree(unittest.TestCase):
  @classmethod
  def setUpClass(cls):
    cls.sources, cls.references = manual.read_tree(ROOT)

  def test_every_function(self):
    declared = set()
    for s in self.sources:
      if re.fullmatch(r"include/petscmuon\w*\.h", s.path):
        declared |= set(re.findall(r"^PETSC_EXTERN PetscErrorCode (\w+)\(", s.text, re.M))
    self.assertGreater(len(declared), 150)
    self.assertEqual(declared - set(self.references), set())
    for name in declared:
      self.assertRegex(self.references[name].prototype, r"^PetscErrorCode %s\(.*\)$" % name)

  def test_every_key(self):
    # What -help prints is made by other code
    build = os.path.relpath(os.environ["BUILD"], ROOT)
    subprocess.run([os.environ.get("MAKE", "make"), "--no-print-directory", "-s", "-C", ROOT, build + "/parameters.tsv", build + "/tutorials/ex2", "BUILD=" + build], check=True)
    rows = manual.read_rows(os.path.join(os.environ["BUILD"], "parameters.tsv"))
    listed = [option.key for option in manual.read_options(rows, self.references)]
    self.assertEqual(len(listed), len(set(listed)))
    text = subprocess.run([os.path.join(os.environ["BUILD"], "tutorials", "ex2"), "-muon_max_steps", "0", "-help"], stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout
    keys = set(re.findall(r"^ *-((?:muon|lmo|ef21|ef14)_\w*[a-z0-9])[ :]", text, re.M))
    self.assertGreater(len(keys), 60)
    for key in keys:
      self.assertTrue(any(one == "-" + key or ("_" + key).endswith("_" + one[1:]) for one in listed), key)

  def test_types_of_readme(self):
    # The README's table names types that can be chosen, and all of them where it says of no other page that it has more
    with open(os.path.join(ROOT, "README.md")) as f:
      named = {key: (set(re.findall(r"`([\w-]+)`", cell)), "[more]" in cell) for key, cell in re.findall(r"^\| [^|]* \| `(-\w+)` \| (.*) \|$", f.read(), re.M)}
    choices = {option.key: set(option.choices) for option in manual.read_options([], self.references)}
    choices["-ef21_compressor"] = choices.pop("-compressor", choices.get("-ef21_compressor"))
    self.assertGreater(len(named), 4)
    for key, (words, more) in named.items():
      if key != "-muon_preset" and choices.get(key):
        self.assertEqual(words - choices[key] if more else words, set() if more else choices[key] - {"none"}, key)


if __name__ == "__main__":
  unittest.main()
