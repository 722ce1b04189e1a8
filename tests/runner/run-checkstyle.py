#!/usr/bin/env python3
#TEST timeoutfactor: 1
"""Tests the style check: a small tree without a finding, then one fault after the other, each of which must be found where it is."""

import os
import re
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "config", "tools"))
import checkstyle  # noqa: E402
import fortran  # noqa: E402

HEADER = """#pragma once

#include <petscmat.h>
#include <petscmuonsys.h>

/*S
   MuonPolar - Computes polar factors

   Level: intermediate

.seealso: `MuonPolarSetSteps()`
S*/
typedef struct _p_MuonPolar *MuonPolar;

/*J
   MuonPolarType - Name of a method

   Values:
+  `MUONPOLARSVD`   - exact
-  `MUONPOLARCUBIC` - iterative

   Level: intermediate

.seealso: `MuonPolar`
J*/
typedef const char *MuonPolarType;
#define MUONPOLARSVD   "svd"
#define MUONPOLARCUBIC "cubic"

PETSC_EXTERN PetscErrorCode MuonPolarSetSteps(MuonPolar, PetscInt);
PETSC_EXTERN PetscErrorCode MuonPolarGetSteps(MuonPolar, PetscInt *);
"""

POLAR = """#include <petscmuon/private/muonpolarimpl.h> /*I "petscmuonpolar.h" I*/
#include "../../kernels/muonkernels.h"

/*@
  MuonPolarSetSteps - Sets the number of steps

  Logically Collective

  Input Parameters:
+ polar - the object
- steps - the number

  Options Database Key:
. -lmo_polar_steps n - the number of steps

  Level: intermediate

  Note:
  More is better.

.seealso: `MuonPolar`, `MuonPolarGetSteps()`
@*/
PetscErrorCode MuonPolarSetSteps(MuonPolar polar, PetscInt steps)
{
  PetscFunctionBegin;
  PetscCheck(steps > 0, PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_OUTOFRANGE, "Number of steps %" PetscInt_FMT " must be positive", steps);
  polar->steps = steps;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarGetSteps - Gets the number of steps

  Not Collective

  Input Parameter:
. polar - the object

  Output Parameter:
. steps - the number

  Level: intermediate

.seealso: `MuonPolar`, `MuonPolarSetSteps()`
@*/
PetscErrorCode MuonPolarGetSteps(MuonPolar polar, PetscInt *steps)
{
  PetscFunctionBegin;
  *steps = polar->steps;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Options(MuonPolar polar, MuonOptionItems PetscOptionsObject)
{
  PetscInt  steps = polar->steps;
  PetscBool set;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Options");
  PetscCall(PetscOptionsInt("-lmo_polar_steps", "Number of steps", "MuonPolarSetSteps", steps, &steps, &set));
  if (set) PetscCall(MuonPolarSetSteps(polar, steps));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}
"""

TREE = {
  "README.md": "| `-lmo_polar_steps n` | steps |\n",
  "include/petscmuonpolar.h": HEADER,
  "include/petscmuonsys.h": "#pragma once\n\n#include <petscsys.h>\n",
  "include/petscmuonlmo.h": "#pragma once\n\n#include <petscmuonpolar.h>\n",
  "include/petscmuon/private/petscmuoncompat.h": "#pragma once\n\n#include <petscsys.h>\n#if PETSC_VERSION_LT(3, 19, 0)\n  #define PETSC_SUCCESS ((PetscErrorCode)0)\n#endif\n",
  "include/petscmuon/private/muonpolarimpl.h": "#pragma once\n\n#include <petscmuonpolar.h>\n#include <petsc/private/petscimpl.h>\n",
  "src/polar/interface/polar.c": POLAR,
  "src/polar/impls/svd/svd.c": '#include <petscmuon/private/muonpolarimpl.h>\n#include "svdimpl.h"\n',
  "src/polar/impls/svd/svdimpl.h": "#pragma once\n",
  "src/kernels/muonkernels.h": "#pragma once\n\n#include <petscmuonconf.h>\n#include <stddef.h>\n",
  "src/kernels/k.c": '#include "muonkernels.h"\n\nint MuonKernelK(void)\n{\n  return 0;\n}\n',
  "src/wire/muonwire.h": "#pragma once\n\n#include <stdint.h>\n",
  "src/transport/t.c": "#include <mpi.h>\n",
  "src/sys/s.c": '#include <petscmuonsys.h>\n#include "../kernels/muonkernels.h"\n',
  "src/lmo/interface/lmo.c": "#include <petscmuonlmo.h>\n",
  "tutorials/ex1.c": "int main(void)\n{\n  return 0;\n}\n",
  "makefile": "all:\n\ttrue\n",
}

BODY = """static PetscErrorCode Body(Mat A)
{
  %s

  PetscFunctionBegin;
  %s
  PetscFunctionReturn(PETSC_SUCCESS);
}
"""


def body(statement, declaration="Mat B;"):
  return POLAR + "\n" + BODY % (declaration, statement)


class Style(unittest.TestCase):
  def findings(self, changes):
    with tempfile.TemporaryDirectory() as root:
      for name, text in dict(TREE, **changes).items():
        if text is not None:
          os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
          with open(os.path.join(root, name), "w", newline="", encoding="utf-8") as f:
            f.write(text)
      sources, found = checkstyle.read_sources(root, checkstyle.all_files(root))
      return found + checkstyle.check_all(sources, root)

  def assertFinds(self, message, path, text, line=None):
    found = self.findings({path: text})
    self.assertTrue(any(message in f.message and f.path == path and line in (None, f.line) for f in found), "%s\n%r not among\n%s" % (text[-400:], message, "\n".join(map(str, found))))

  def assertClean(self, path, text):
    self.assertEqual(self.findings({path: text}), [])

  def test_clean(self):
    self.assertEqual(self.findings({}), [])

  def test_text(self):
    self.assertFinds("trailing blank", "README.md", TREE["README.md"] + "a \n", 2)
    self.assertFinds("no newline", "README.md", TREE["README.md"] + "a")
    self.assertFinds("not ASCII", "src/kernels/k.c", TREE["src/kernels/k.c"] + "/* \u00fc */\n", 7)
    self.assertFinds("tab", "src/kernels/k.c", TREE["src/kernels/k.c"] + "\tint x;\n")
    self.assertFinds("marker", "src/kernels/k.c", TREE["src/kernels/k.c"] + "/* TO" + "DO later */\n")
    self.assertFinds("1 MB", "README.md", TREE["README.md"] + "a\n" * (1 << 20))
    self.assertFinds("1 MB", "data.bin", "a" * ((1 << 20) + 1))
    for path in ("me/me/x", "me/.x"):
      self.assertFinds("path of one machine", "README.md", TREE["README.md"] + "see /ho" + path + "\n")
    for path in ("seed0.csv", "started", "plan/report.md"):
      self.assertFinds("no folder of the project", path, "a\n")

  def test_c(self):
    k = TREE["src/kernels/k.c"]
    self.assertFinds("#ifdef", "src/kernels/k.c", k + "#if" + "def X\n#endif\n", 7)
    self.assertFinds("ruler", "src/kernels/k.c", k + "/* " + "-" * 30 + " */\n")
    self.assertFinds("#pragma once", "src/wire/muonwire.h", "#include <stdint.h>\n")
    self.assertFinds("200 are allowed", "tutorials/ex1.c", TREE["tutorials/ex1.c"] + "/* a */\n" * 200)

  def test_petsc(self):
    path = "src/polar/interface/polar.c"
    self.assertClean(path, body("PetscCall(MatDestroy(&B));"))
    self.assertFinds("MatDestroy() without PetscCall", path, body("MatDestroy(&B);"))
    self.assertFinds("MatDestroy() without PetscCall", path, body("if (A) MatDestroy(&B);"))
    self.assertFinds("MPI_Barrier() without PetscCallMPI", path, body("MPI_Barrier(MPI_COMM_WORLD);"))
    self.assertFinds("write PetscCallMPI", path, body("PetscCall(MPI_Barrier(MPI_COMM_WORLD));"))
    self.assertFinds("useless test", path, body("if (B) PetscCall(MatDestroy(&B));"))
    self.assertFinds("behind an if", path, body('if (B) PetscCheck(A, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "bad");'))
    self.assertFinds("ends with a newline", path, body('PetscCheck(A, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "bad\\n");'))
    self.assertFinds("without an error code", path, body('SETERRQ(PETSC_COMM_SELF, "bad");'))
    self.assertFinds("write PetscFunctionReturn", path, body("if (A) return PETSC_SUCCESS;"))
    self.assertFinds("without PetscFunctionBegin", path, POLAR + "\nstatic PetscErrorCode F(void)\n{\n  return PETSC_SUCCESS;\n}\n")
    self.assertFinds("no blank line before PetscFunctionBegin", path, body("PetscCall(MatDestroy(&B));").replace("Mat B;\n\n", "Mat B;\n"))

  def test_rooms(self):
    self.assertFinds("knows nothing of PETSc", "src/kernels/k.c", "#include <petscsys.h>\n", 1)
    self.assertFinds("knows nothing of PETSc", "src/transport/t.c", "#include <petscsys.h>\n")
    self.assertFinds("knows nothing of MPI", "src/wire/w.c", "#include <mpi.h>\n")
    self.assertFinds("the room kernels (floor 0) includes", "src/kernels/k.c", '#include "../wire/muonwire.h"\n')
    self.assertFinds("the room polar (floor 1) includes", "src/polar/interface/polar.c", POLAR + "#include <petscmuonlmo.h>\n")
    self.assertFinds("the room sys (floor 0) includes", "include/petscmuonsys.h", "#pragma once\n\n#include <petscmuonpolar.h>\n")
    self.assertFinds("belongs to one type", "src/polar/interface/polar.c", POLAR + '#include "../impls/svd/svdimpl.h"\n')
    self.assertFinds("belongs to one type", "src/polar/impls/qdwh/qdwh.c", '#include "../svd/svdimpl.h"\n')
    self.assertFinds("public header includes", "include/petscmuonlmo.h", "#pragma once\n\n#include <petscmuon/private/muonpolarimpl.h>\n")
    self.assertFinds("private header of PETSc", "src/lmo/interface/lmo.c", "#include <petsc/private/matimpl.h>\n")
    self.assertClean("src/tao/taomuon.c", "#include <petsc/private/taoimpl.h>\n")
    self.assertFinds("version", "src/lmo/interface/lmo.c", "#if PETSC_VERSION_GE(3, 20, 0)\n#endif\n")

  def page(self, old, new, message):
    text = POLAR.replace(old, new, 1)
    self.assertNotEqual(text, POLAR)
    self.assertFinds(message, "src/polar/interface/polar.c", text)

  def test_man_pages(self):
    self.page("MuonPolarSetSteps - Sets the", "MuonPolarSetSteps: sets the", "the first line is")
    self.page("number of steps\n", "number of steps.\n", "without a period")
    self.page("  Logically Collective\n", "  It is nice\n", "collective")
    self.page("  Level: intermediate\n", "  Level: easy\n", "Level:")
    self.page("  Level: intermediate\n\n", "", "Level:")
    self.page(".seealso: `MuonPolar`", "  .seealso: `MuonPolar`", "column 0")
    self.page(".seealso: `MuonPolar`", ".seealso: MuonPolar", "backticks")
    self.page("\n.seealso: `MuonPolar`, `MuonPolarGetSteps()`\n", "", ".seealso: comes last")
    self.page("  Note:\n  More is better.\n\n.seealso: `MuonPolar`, `MuonPolarGetSteps()`", ".seealso: `MuonPolar`, `MuonPolarGetSteps()`\n\n  Note:\n  More is better.", ".seealso: comes last")
    self.page("  Level: intermediate\n\n  Note:\n  More is better.\n", "  Note:\n  More is better.\n\n  Level: intermediate\n", "order")
    self.page("+ polar - the object\n- steps", ". polar - the object\n. steps", "are marked")
    self.page(".seealso: `MuonPolar`, `MuonPolarGetSteps()`", ".seealso: `MuonPolar`, `MuonPolarGetStep()`", "MuonPolarGetStep() is no function")
    self.page("Input Parameters:", "Input Parameter:", "with 2 items")
    self.page("- steps - the number", "- steps  - the number", "dashes")
    self.page("- steps - the number", "- count - the number", "steps is not described")
    self.page("- steps - the number", "- count - the number", "count is no parameter")
    self.page("-lmo_polar_steps n - the", "-lmo_polar_steps <n> - the", "angle brackets")
    self.page("  MuonPolarGetSteps - Gets", "  MuonPolarGetStep - Gets", "stands above")

  def test_project(self):
    header = "include/petscmuonpolar.h"
    self.assertFinds("MuonPolarApply() has no man page", header, HEADER + "PETSC_EXTERN PetscErrorCode MuonPolarApply(MuonPolar);\n")
    self.assertFinds("the type MuonX has no man page", header, HEADER + "typedef struct _p_MuonX *MuonX;\n")
    self.assertFinds("MUONPOLARQDWH has no man page", header, HEADER + '#define MUONPOLARQDWH "qdwh"\n')
    path = "src/polar/interface/polar.c"
    self.assertFinds("is in no man page", path, POLAR.replace("-lmo_polar_steps n - the", "-lmo_steps n - the"))
    row = '\nstatic const MuonParameter rows[] = {{"ratio", MUON_PARAMETER_REAL, offsetof(struct _p_MuonPolar, ratio), 0.1, 0, 1, NULL, 0, "%s"}, {0}};\n'
    self.assertClean(path, POLAR + row % "Fraction that is kept")
    for wrong in ("", "Fraction that is kept."):
      self.assertFinds("has no help that can stand in a table", path, POLAR + row % wrong)
    self.assertFinds("MuonPolarGetSteps() cannot be bound in Fortran", header, HEADER.replace("GetSteps(MuonPolar, PetscInt *)", "GetSteps(MuonPolar, PetscInt (*)(void))"))
    found = self.findings({path: POLAR.replace("Logically Collective", "Logically Collective; No Fortran Support")})
    self.assertTrue(any("MuonPolarSetSteps() is left out of the Fortran module without need" in f.message for f in found))

  def test_keys(self):
    text = '#include <petscmuon/private/muonpolarimpl.h>\n\nstatic PetscErrorCode O(void)\n{\n  PetscFunctionBegin;\n  PetscCall(PetscOptionsInt("-%s", "Number", "F", n, &n, &set));\n  PetscFunctionReturn(PETSC_SUCCESS);\n}\n'
    wrong = lambda key, at: [f.message for f in self.findings({at: text % key}) if "alone" in f.message]
    self.assertEqual(wrong("lmo_polar_svd_steps", "src/polar/impls/svd/svd.c"), [])
    self.assertEqual(wrong("lmo_polar_poles", "src/polar/impls/svd/svd.c"), ["option -lmo_polar_poles is read by the type svd alone and does not carry its name"])
    self.assertEqual(wrong("lmo_polar_poles", "src/polar/interface/polar.c"), [])

  def test_blank_code(self):
    text = 'a = "x; /* y"; /* "z" */ b = \'"\'; // c\nd'
    self.assertEqual(checkstyle.blank_code(text), 'a = "       ";           b = \' \';     \nd')

  def test_fortran_structs(self):
    headers = fortran.Headers(["typedef struct {\n  PetscBool a, b;\n  PetscReal c[2][3];\n} MuonThing;\n"])
    for kind, c in (("enum", "integer(c_int)"), ("bool", "logical(c_bool)")):
      self.assertIn("  type, bind(c), public :: MuonThing\n    %s :: a, b\n    real(muon_real) :: c(3,2)\n  end type\n" % c, fortran.module(headers, [], "32", "double", kind))
    headers = fortran.Headers(["typedef struct {\n  FILE *a;\n} MuonThing;\n"])
    self.assertRaises(fortran.Unbindable, fortran.module, headers, [], "32", "double", "enum")


if __name__ == "__main__":
  unittest.main()
