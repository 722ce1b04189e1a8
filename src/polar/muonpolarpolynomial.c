#include "muonpolarpolynomial.h"

PetscErrorCode MuonPolarGetPolynomial_Private(MuonPolar polar, const MuonKernelPolynomial **p)
{
  MuonPolarCoefficients name;

  PetscFunctionBegin;
  PetscCall(MuonPolarGetCoefficients(polar, &name));
  *p = polar->ncoefficients > 0 ? NULL : MuonKernelPolynomialFind(name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarSetUpPolynomial_Private(MuonPolar polar)
{
  const MuonKernelReal *real;

  PetscFunctionBegin;
  PetscCall(MuonPolarGetReal_Private(polar, polar->memory, &real));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarGetPolynomialSteps_Private(MuonPolar polar, PetscInt *steps)
{
  const MuonKernelPolynomial *p = NULL;

  PetscFunctionBegin;
  PetscCall(MuonPolarGetPolynomial_Private(polar, &p));
  if (polar->steps != PETSC_DETERMINE) *steps = polar->steps;
  else *steps = polar->ncoefficients > 0 ? polar->ncoefficients : p->steps;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void MuonPolarGetPolynomialRow_Private(MuonPolar polar, const MuonKernelPolynomial *p, PetscInt step, double c[3])
{
  if (polar->ncoefficients > 0) {
    for (int i = 0; i < 3; i++) c[i] = polar->values[3 * PetscMin(step, polar->ncoefficients - 1) + i];
  } else MuonKernelPolynomialRow(p, (int)step, c);
}

/*
   A step is Y <- c1 Y + (c2 A + c3 A A) Y with the Gram matrix A of the short side s, on a rank with length
   extents of the long side. With the square of A it makes, the Gram matrix included, 3 s^2 length + s^3
   operations and needs 2 s^2 entries beside the panel and a strip of it; by Horner's rule, A (c2 Y + c3 A Y),
   5 s^2 length and s^2. The square is the cheaper one while s < 2 length, and it stays within s^2 + 3 s
   length entries, with a panel of s length and a strip of s strip, while s + strip <= 2 length: the second
   condition implies the first. One rank holds the whole long side, hence always takes the square; on many
   ranks Horner's rule takes over as the parts get shorter than the short side.
*/
static PetscBool MuonPolarPanelSquare(const MuonPolarPanel *p)
{
  return p->s + MuonPolarPanelGetStrip(p) <= 2 * p->local ? PETSC_TRUE : PETSC_FALSE;
}

/*
   A and the panel are multiplied by the diagonal d_i = (sum_j |a_ij|)^(-1/2) on the short side, which brings
   the largest singular value to one or below
*/
static PetscErrorCode MuonPolarPanelEqualize(MuonPolarPanel *p, void *A)
{
  double *d;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(p->s, &d));
  p->real->rowsums(p->s, A, d);
  for (size_t i = 0; i < p->s; i++) d[i] = d[i] > 0.0 ? 1.0 / sqrt(d[i]) : 0.0;
  p->real->scale(1, p->s, p->s, d, A, p->s);
  p->real->scale(0, p->s, p->s, d, A, p->s);
  p->real->scale(p->left, p->s, p->local, d, p->Y, p->left ? p->s : p->local);
  PetscCall(PetscFree(d));
  PetscCall(PetscLogFlops(3.0 * p->s * p->s + (PetscLogDouble)p->s * p->local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarPanelBegin(MuonPolarPanel *p, const MuonKernelPolynomial *polynomial, void *A, double c[3])
{
  double divisor;

  PetscFunctionBegin;
  if (polynomial != NULL && polynomial->equalize) PetscCall(MuonPolarPanelEqualize(p, A));
  else if (p->polar->normalization == MUON_POLAR_NORMALIZATION_SPECTRAL) {
    PetscCall(MuonPolarPanelSpectral(p, A, &divisor));
    MuonKernelPolynomialDivide(divisor, c);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscLogDouble MuonPolarPanelBeginFlops(MuonPolar polar, const MuonKernelPolynomial *polynomial, PetscInt m, PetscInt n)
{
  const double s = (double)PetscMin(m, n), l = (double)PetscMax(m, n);

  if (polynomial != NULL && polynomial->equalize) return 3.0 * s * s + s * l;
  return polar->normalization == MUON_POLAR_NORMALIZATION_SPECTRAL ? MuonPolarPanelSpectralFlops(polar, (size_t)s) : 0.0;
}

PetscErrorCode MuonPolarPanelPolynomial(MuonPolarPanel *p, void *A, const double c[3])
{
  const MuonKernelReal *real = p->real;
  void                 *B;
  MuonMark              mark;

  PetscFunctionBegin;
  PetscCall(MuonPolarPanelReserve(p));
  PetscCall(MuonWorkspaceMark(p->polar->work, &mark));
  if (MuonPolarPanelSquare(p) == PETSC_TRUE && c[2] != 0.0) {
    PetscCall(MuonWorkspaceGetIn(p->polar->work, real->memory, p->s * p->s * real->size, &B));
    real->mirror(p->s, A);
    PetscCall(MuonPolarCopy_Private(real, B, A, p->s * p->s * real->size));
    real->gram(1, p->s, p->s, c[2], A, p->s, c[1], B);
    PetscCall(PetscLogFlops((PetscLogDouble)p->s * p->s * (p->s + 1)));
    /* Rounded to 8 bits, the sum of c1 and a diagonal entry would keep few of the latter's */
    if (real->unit > 1.0 / 512.0) PetscCall(MuonPolarPanelUpdate(p, c[0], 1.0, 0.0, B));
    else {
      real->shift(p->s, c[0], B);
      PetscCall(MuonPolarPanelMultiply(p, B));
    }
  } else PetscCall(MuonPolarPanelUpdate(p, c[0], c[1], c[2], A));
  PetscCall(MuonWorkspaceRelease(p->polar->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}
