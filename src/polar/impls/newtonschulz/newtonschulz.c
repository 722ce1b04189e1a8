#include <petscmuon/private/muonpolarimpl.h> /*I "petscmuonpolar.h" I*/
#include "../../muonpolarpanel.h"
#include "../../../kernels/muonpolarkernels.h"

static PetscBool  MuonCite       = PETSC_FALSE;
static const char MuonCitation[] = "@misc{jordan2024muon,\n"
                                   "  author = {Keller Jordan and Yuchen Jin and Vlado Boza and Jiacheng You and Franz Cesista and Laker Newhouse and Jeremy Bernstein},\n"
                                   "  title  = {Muon: An optimizer for hidden layers in neural networks},\n"
                                   "  year   = {2024},\n"
                                   "  url    = {https://kellerjordan.github.io/posts/muon/}\n}\n";

static PetscErrorCode MuonPolarPolynomial_NewtonSchulz(MuonPolar polar, const MuonKernelPolynomial **p)
{
  MuonPolarCoefficients name;

  PetscFunctionBegin;
  PetscCall(MuonPolarGetCoefficients(polar, &name));
  *p = polar->ncoefficients > 0 ? NULL : MuonKernelPolynomialFind(name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarGetSteps_NewtonSchulz(MuonPolar polar, PetscInt *steps)
{
  const MuonKernelPolynomial *p = NULL;

  PetscFunctionBegin;
  PetscCall(MuonPolarPolynomial_NewtonSchulz(polar, &p));
  if (polar->steps != PETSC_DETERMINE) *steps = polar->steps;
  else *steps = polar->ncoefficients > 0 ? polar->ncoefficients : p->steps;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const double *MuonPolarRow_NewtonSchulz(MuonPolar polar, const MuonKernelPolynomial *p, PetscInt step)
{
  return polar->ncoefficients > 0 ? polar->values + 3 * PetscMin(step, polar->ncoefficients - 1) : p->c[PetscMin(step, p->rows - 1)];
}

/*
   A step is Y <- c1 Y + (c2 A + c3 A A) Y with the Gram matrix A of the short side s, on a rank with length extents of the long side. With the square of A it makes, the Gram matrix
   included, 3 s^2 length + s^3 operations and needs 2 s^2 entries beside the panel and a strip of it; by Horner's rule, A (c2 Y + c3 A Y), 5 s^2 length and s^2. The square
   is the cheaper one while s < 2 length, and it stays within s^2 + 3 s length entries, with a panel of s length and a strip of s strip, while s + strip <= 2 length: the second
   condition implies the first. One rank holds the whole long side, hence always takes the square; on many ranks Horner's rule takes over as the parts get shorter than the short side.
*/
static PetscBool MuonPolarSquare_NewtonSchulz(const MuonPolarPanel *p)
{
  return p->s + MuonPolarPanelGetStrip(p) <= 2 * p->local ? PETSC_TRUE : PETSC_FALSE;
}

static PetscErrorCode MuonPolarApply_NewtonSchulz(MuonPolar polar, Mat G, Mat Q)
{
  const MuonKernelPolynomial *p;
  const MuonKernelReal       *real;
  MuonPolarPanel              panel;
  PetscInt                    steps;
  PetscBool                   square;
  void                       *A, *B = NULL;

  PetscFunctionBegin;
  PetscCall(PetscCitationsRegister(MuonCitation, &MuonCite));
  PetscCall(MuonPolarPolynomial_NewtonSchulz(polar, &p));
  PetscCall(MuonPolarGetSteps(polar, &steps));
  PetscCall(MuonPolarGetReal_Private(polar, &real));
  PetscCall(MuonPolarPanelLoad(polar, real, G, &panel));
  square = MuonPolarSquare_NewtonSchulz(&panel);
  PetscCall(MuonWorkspaceGet(polar->work, MUON_WORK_POLAR_C, panel.s * panel.s * real->size, &A));
  for (PetscInt k = 0; k < steps; k++) {
    const double *c = MuonPolarRow_NewtonSchulz(polar, p, k);

    PetscCall(MuonPolarPanelGram(&panel, A));
    if (square == PETSC_TRUE && c[2] != 0.0) {
      PetscCall(MuonWorkspaceGet(polar->work, MUON_WORK_POLAR_D, panel.s * panel.s * real->size, &B));
      real->mirror(panel.s, A);
      PetscCall(PetscMemcpy(B, A, panel.s * panel.s * real->size));
      real->gram(1, panel.s, panel.s, c[2], A, panel.s, c[1], B);
      PetscCall(PetscLogFlops((PetscLogDouble)panel.s * panel.s * (panel.s + 1)));
      PetscCall(MuonPolarPanelUpdate(&panel, c[0], 1.0, 0.0, B));
    } else PetscCall(MuonPolarPanelUpdate(&panel, c[0], c[1], c[2], A));
  }
  PetscCall(MuonPolarPanelStore(&panel, 1.0, Q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarGetFlops_NewtonSchulz(MuonPolar polar, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  const MuonKernelPolynomial *p;
  PetscInt                    steps;

  PetscFunctionBegin;
  PetscCall(MuonPolarPolynomial_NewtonSchulz(polar, &p));
  PetscCall(MuonPolarGetSteps(polar, &steps));
  *flops = 0.0;
  for (PetscInt k = 0; k < steps; k++) *flops += MuonKernelPolynomialFlops((size_t)m, (size_t)n, MuonPolarRow_NewtonSchulz(polar, p, k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarGetPrecision_NewtonSchulz(MuonPolar polar, MuonPolarPrecision *precision)
{
  PetscFunctionBegin;
  *precision = MUON_POLAR_PRECISION_PETSCSCALAR;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarGetCoefficients_NewtonSchulz(MuonPolar polar, MuonPolarCoefficients *name)
{
  PetscFunctionBegin;
  *name = MUONPOLARCOEFFICIENTSKJ;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarView_NewtonSchulz(MuonPolar polar, PetscViewer viewer)
{
  MuonPolarCoefficients name;
  PetscInt              steps;

  PetscFunctionBegin;
  PetscCall(MuonPolarGetCoefficients(polar, &name));
  PetscCall(MuonPolarGetSteps(polar, &steps));
  PetscCall(PetscViewerASCIIPrintf(viewer, "coefficients: %s, steps: %" PetscInt_FMT "\n", name, steps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONPOLARNEWTONSCHULZ - "newtonschulz" - polynomials that drive the singular values towards one, by matrix products alone

  Options Database Keys:
+ -lmo_polar_coefficients name - the polynomials, see `MuonPolarSetCoefficients()`
- -lmo_polar_steps n           - the number of steps, see `MuonPolarSetSteps()`

  Level: intermediate

  Notes:
  The matrix is divided by its Frobenius norm, computed in double and safe against overflow and underflow; then each step applies an odd polynomial
  $p(x) = c_1 x + c_2 x^3 + c_3 x^5$ to the singular values, $Y \leftarrow c_1 Y + (c_2 A + c_3 A^2) Y$ with the Gram matrix $A = Y Y^T$ of the shorter side. Singular values $\sigma / \|G\|_F$ in $[l, 1]$ end in
.vb
  coefficients  steps  l = 0.1        l = 0.01       l = 0.001
  kj            5      [0.682,1.134]  [0.682,1.134]  [0.471,1.202]
  quintic       10     [1,1]          [1,1]          [0.499,1]
  cubic         15     [1,1]          [1,1]          [0.417,1]
.ve
  and exact zeros stay zero. With `kj` the result may leave the unit ball of the spectral norm by a fifth, which is what the original Muon does; the other two stay inside.

  Scratch memory is the matrix, a strip of it and twice its Gram matrix, in the precision of the kernel.

.seealso: `MuonPolar`, `MuonPolarSetType()`, `MuonPolarCoefficients`, `MUONPOLARSVD`
M*/
PETSC_EXTERN PetscErrorCode MuonPolarCreate_NewtonSchulz(MuonPolar polar)
{
  PetscFunctionBegin;
  polar->ops->apply           = MuonPolarApply_NewtonSchulz;
  polar->ops->getflops        = MuonPolarGetFlops_NewtonSchulz;
  polar->ops->getsteps        = MuonPolarGetSteps_NewtonSchulz;
  polar->ops->getprecision    = MuonPolarGetPrecision_NewtonSchulz;
  polar->ops->getcoefficients = MuonPolarGetCoefficients_NewtonSchulz;
  polar->ops->view            = MuonPolarView_NewtonSchulz;
  PetscFunctionReturn(PETSC_SUCCESS);
}
