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

/* Polynomials of the user repeat the last one */
static void MuonPolarRow_NewtonSchulz(MuonPolar polar, const MuonKernelPolynomial *p, PetscInt step, double c[3])
{
  if (polar->ncoefficients > 0) {
    for (int i = 0; i < 3; i++) c[i] = polar->values[3 * PetscMin(step, polar->ncoefficients - 1) + i];
  } else MuonKernelPolynomialRow(p, (int)step, c);
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

/* A and the panel are multiplied by the diagonal d_i = (sum_j |a_ij|)^(-1/2) on the short side, which brings the largest singular value to one or below */
static PetscErrorCode MuonPolarEqualize_NewtonSchulz(MuonPolarPanel *p, void *A)
{
  double *d;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(p->s, &d));
  MuonKernelRealRowSums(p->real, p->s, A, d);
  for (size_t i = 0; i < p->s; i++) d[i] = d[i] > 0.0 ? 1.0 / sqrt(d[i]) : 0.0;
  MuonKernelRealScale(p->real, 1, p->s, p->s, d, A, p->s);
  MuonKernelRealScale(p->real, 0, p->s, p->s, d, A, p->s);
  MuonKernelRealScale(p->real, p->left, p->s, p->local, d, p->Y, p->left ? p->s : p->local);
  PetscCall(PetscFree(d));
  PetscCall(PetscLogFlops(3.0 * p->s * p->s + (PetscLogDouble)p->s * p->local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarApply_NewtonSchulz(MuonPolar polar, Mat G, Mat Q)
{
  const PetscBool             guess = polar->ncoefficients > 0 || polar->normalization == MUON_POLAR_NORMALIZATION_SPECTRAL ? PETSC_TRUE : PETSC_FALSE;
  const MuonKernelPolynomial *p;
  const MuonKernelReal       *real;
  MuonPolarPanel              panel;
  PetscInt                    steps;
  PetscBool                   square;
  double                      c[3], squares;
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
    MuonPolarRow_NewtonSchulz(polar, p, k, c);
    PetscCall(MuonPolarPanelGram(&panel, A));
    if (k == 0 && p != NULL && p->equalize) PetscCall(MuonPolarEqualize_NewtonSchulz(&panel, A));
    else if (k == 0 && polar->normalization == MUON_POLAR_NORMALIZATION_SPECTRAL) {
      double divisor;

      PetscCall(MuonPolarPanelSpectral(&panel, A, &divisor));
      MuonKernelPolynomialDivide(divisor, c);
    }
    if (square == PETSC_TRUE && c[2] != 0.0) {
      PetscCall(MuonWorkspaceGet(polar->work, MUON_WORK_POLAR_D, panel.s * panel.s * real->size, &B));
      real->mirror(panel.s, A);
      PetscCall(PetscMemcpy(B, A, panel.s * panel.s * real->size));
      real->gram(1, panel.s, panel.s, c[2], A, panel.s, c[1], B);
      PetscCall(PetscLogFlops((PetscLogDouble)panel.s * panel.s * (panel.s + 1)));
      PetscCall(MuonPolarPanelUpdate(&panel, c[0], 1.0, 0.0, B));
    } else PetscCall(MuonPolarPanelUpdate(&panel, c[0], c[1], c[2], A));
  }
  /* Inside the Frobenius norm the known sets stay bounded; an estimate, or polynomials of the user, may have let the iteration diverge */
  if (guess == PETSC_TRUE) {
    PetscCall(MuonPolarPanelSumSquares(&panel, &squares));
    if (!(squares <= 16.0 * (double)panel.s)) {
      PetscCall(PetscInfo(polar, "The iteration diverges: the squares of the singular values add up to %g after %" PetscInt_FMT " steps\n", squares, steps));
      polar->status = MUON_STATUS_LMO;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  PetscCall(MuonPolarPanelStore(&panel, 1.0, Q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarGetFlops_NewtonSchulz(MuonPolar polar, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  const double                s = (double)PetscMin(m, n), l = (double)PetscMax(m, n);
  const MuonKernelPolynomial *p;
  PetscInt                    steps;
  double                      c[3];

  PetscFunctionBegin;
  PetscCall(MuonPolarPolynomial_NewtonSchulz(polar, &p));
  PetscCall(MuonPolarGetSteps(polar, &steps));
  *flops = 0.0;
  for (PetscInt k = 0; k < steps; k++) {
    MuonPolarRow_NewtonSchulz(polar, p, k, c);
    *flops += MuonKernelPolynomialFlops((size_t)m, (size_t)n, c);
  }
  if (p != NULL && p->equalize) *flops += 3.0 * s * s + s * l;
  else if (polar->normalization == MUON_POLAR_NORMALIZATION_SPECTRAL) *flops += MuonPolarPanelSpectralFlops(polar, (size_t)s);
  if (polar->ncoefficients > 0 || polar->normalization == MUON_POLAR_NORMALIZATION_SPECTRAL) *flops += 2.0 * s * l;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarGetPrecision_NewtonSchulz(MuonPolar polar, MuonPolarPrecision *precision)
{
  PetscFunctionBegin;
  *precision = MUON_POLAR_PRECISION_SINGLE;
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
+ -lmo_polar_coefficients name               - the polynomials, see `MuonPolarSetCoefficients()`
. -lmo_polar_coefficient_values c1,c2,c3,... - polynomials of your own, see `MuonPolarSetCoefficientValues()`
. -lmo_polar_steps n                         - the number of steps, see `MuonPolarSetSteps()`
. -lmo_polar_precision single|double|bf16    - of the arithmetic, `single` by default, see `MuonPolarSetPrecision()`
. -lmo_polar_normalization name              - what the matrix is divided by first, see `MuonPolarSetNormalization()`
- -lmo_polar_power_iterations n              - for the spectral normalization, see `MuonPolarSetPowerIterations()`

  Level: intermediate

  Notes:
  The matrix is divided by its Frobenius norm, computed in double and safe against overflow and underflow, before its entries are rounded to the precision of the kernel; then each step applies an odd polynomial
  $p(x) = c_1 x + c_2 x^3 + c_3 x^5$ to the singular values, $Y \leftarrow c_1 Y + (c_2 A + c_3 A^2) Y$ with the Gram matrix $A = Y Y^T$ of the shorter side. Singular values $\sigma / \|G\|_F$ in $[l, 1]$ end in
.vb
  coefficients  steps  l = 0.1        l = 0.01       l = 0.001
  kj            5      [0.682,1.134]  [0.682,1.134]  [0.471,1.202]
  quintic       10     [1,1]          [1,1]          [0.499,1]
  cubic         15     [1,1]          [1,1]          [0.417,1]
  you           5      [0.978,1.032]  [0.978,1.032]  [0.475,1.145]
  polarexpress  5      [0.870,1.124]  [0.870,1.124]  [0.840,1.124]
  polarexpress  6      [0.997,1.001]  [0.997,1.001]  [0.993,1.001]
  polarexpress  8      [1,1]          [1,1]          [1,1]
  pe105         5      [0.846,1.124]  [0.846,1.124]  [0.729,1.124]
  modded        5      [0.859,1.141]  [0.859,1.141]  [0.847,1.141]
  emerging      5      [0.870,1.124]  [0.870,1.124]  [0.846,1.124]
  cans          5      [0.884,1.120]  [0.884,1.120]  [0.884,1.120]
  deepseekv4    10     [1,1.0005]     [1,1.0005]     [1,1.0005]
  cubic5        5      [0.774,1.300]  [0.774,1.300]  [0.119,1.300]
.ve
  and exact zeros stay zero. What ends above one is outside of the unit ball of the spectral norm: with `kj`, as in the original Muon, by a fifth.

  The set `aol` divides row $i$ of the normalized matrix, on its shorter side, by $(\sum_j |A_{ij}|)^{1/2}$ first. That bounds its singular values by one and flattens them, but the factor is that of the rescaled matrix,
  not of `G`. Its first polynomial is negative above 0.88, where the rescaled singular values of Gaussian matrices do not come; a matrix with orthogonal rows, or of rank one, comes there, and its factor is
  turned around, with singular values of -1.08. It is here to compare with.

  `MUON_POLAR_NORMALIZATION_SPECTRAL` divides by an estimate of the largest singular value instead, which spares steps. It runs on the Gram matrix of the first step, adds no communication, and goes into the first
  polynomial. Eight more power iterations than were asked for watch over the estimate. Where the iteration diverges in spite of that, or with polynomials of your own, `MuonPolarGetStatus()` is `MUON_STATUS_LMO`.

  Scratch memory is the matrix, a strip of it and twice its Gram matrix, in the precision of the kernel. The rows of a parallel matrix stay where they are if it is not wider than tall; each step then adds the Gram
  matrices of the ranks in one sum and multiplies locally. Those of a wide one change to columns by one all-to-all, and back by another. With $J$ ranks, $d$ entries and a shorter side $s$ a rank needs at most
  $s^2 + 3 d / J$ entries of scratch if it has $d / J$ of the matrix.

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
