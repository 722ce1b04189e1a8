#include <petscmuon/private/muonpolarimpl.h> /*I "petscmuonpolar.h" I*/
#include <petscblaslapack.h>
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

static PetscErrorCode MuonPolarApply_NewtonSchulz(MuonPolar polar, Mat G, Mat Q)
{
  const MuonKernelPolynomial *p;
  const PetscScalar          *g;
  PetscScalar                *q, *Y, *Z, *A, *B;
  PetscInt                    m, n, s, ldg, ldq, steps;
  PetscBLASInt                bm, bn;
  double                      norm;
  int                         exponent;

  PetscFunctionBegin;
  PetscCall(PetscCitationsRegister(MuonCitation, &MuonCite));
  PetscCall(MuonPolarPolynomial_NewtonSchulz(polar, &p));
  PetscCall(MuonPolarGetSteps(polar, &steps));
  PetscCall(MatGetSize(G, &m, &n));
  s = PetscMin(m, n);
  PetscCall(PetscBLASIntCast(m, &bm));
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(MuonWorkspaceGet(polar->work, MUON_WORK_POLAR_A, (size_t)m * n * sizeof(PetscScalar), &Y));
  PetscCall(MuonWorkspaceGet(polar->work, MUON_WORK_POLAR_B, (size_t)m * n * sizeof(PetscScalar), &Z));
  PetscCall(MuonWorkspaceGet(polar->work, MUON_WORK_POLAR_C, (size_t)s * s * sizeof(PetscScalar), &A));
  PetscCall(MuonWorkspaceGet(polar->work, MUON_WORK_POLAR_D, (size_t)s * s * sizeof(PetscScalar), &B));

  PetscCall(MatDenseGetLDA(G, &ldg));
  PetscCall(MatDenseGetArrayRead(G, &g));
  norm = MuonKernelNorm((size_t)bm, (size_t)bn, g, (size_t)ldg, &exponent);
  MuonKernelDivide((size_t)bm, (size_t)bn, g, (size_t)ldg, norm, exponent, Y, (size_t)bm);
  PetscCall(MatDenseRestoreArrayRead(G, &g));
  for (PetscInt k = 0; k < steps; k++) {
    PetscScalar *swap = Y;

    MuonKernelPolynomialStep((size_t)bm, (size_t)bn, MuonPolarRow_NewtonSchulz(polar, p, k), Y, Z, A, B);
    PetscCall(PetscLogFlops(MuonKernelPolynomialFlops((size_t)bm, (size_t)bn, MuonPolarRow_NewtonSchulz(polar, p, k))));
    Y = Z;
    Z = swap;
  }
  PetscCall(MatDenseGetLDA(Q, &ldq));
  PetscCall(MatDenseGetArrayWrite(Q, &q));
  for (PetscInt j = 0; j < n; j++) PetscCall(PetscArraycpy(q + (size_t)j * ldq, Y + (size_t)j * m, m));
  PetscCall(MatDenseRestoreArrayWrite(Q, &q));
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

  The iteration runs in the precision of `PetscScalar`. Scratch memory is twice the matrix and twice its Gram matrix.

.seealso: `MuonPolar`, `MuonPolarSetType()`, `MuonPolarCoefficients`, `MUONPOLARSVD`
M*/
PETSC_EXTERN PetscErrorCode MuonPolarCreate_NewtonSchulz(MuonPolar polar)
{
  PetscFunctionBegin;
  polar->ops->apply           = MuonPolarApply_NewtonSchulz;
  polar->ops->getflops        = MuonPolarGetFlops_NewtonSchulz;
  polar->ops->getsteps        = MuonPolarGetSteps_NewtonSchulz;
  polar->ops->getcoefficients = MuonPolarGetCoefficients_NewtonSchulz;
  polar->ops->view            = MuonPolarView_NewtonSchulz;
  PetscFunctionReturn(PETSC_SUCCESS);
}
