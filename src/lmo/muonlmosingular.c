#include <petscmuon/private/muonlmoimpl.h>
#include "../kernels/array/muonlmokernels.h"

/* All of them, or the largest where no other counts */
static PetscInt Wanted(PetscBool one, PetscInt m, PetscInt n)
{
  return one ? PetscMin(1, PetscMin(m, n)) : PetscMin(m, n);
}

static double Exponent(MuonLMO lmo)
{
  return MuonLMOExponent(((MuonLMOVectors *)lmo->data)->p);
}

static PetscErrorCode MuonLMOGetFlops_Singular(MuonLMO lmo, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  const double   p   = Exponent(lmo);
  const PetscInt nsv = Wanted(p == 1.0 ? PETSC_TRUE : PETSC_FALSE, m, n);

  PetscFunctionBegin;
  if (p == 2.0) PetscCall(MuonLMOGetFlops_Vectors(lmo, m, n, flops));
  else {
    PetscCall(MuonSVDGetFlops(m, n, nsv, flops));
    *flops += 2.0 * m * n * nsv + 1.0 * n * nsv + 8.0 * nsv;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The nsv largest triples, and the singular values as the vectors of norms are written; U and V, both or
   none; all in scratch. SLEPc works on the host
*/
static PetscErrorCode MuonLMOSingularCompute_Private(MuonLMO lmo, const MuonMatrix *G, PetscInt nsv, PetscReal **U, PetscReal **V, double **size, int **exponent, PetscInt *count)
{
  const size_t m = U != NULL ? MuonArrayRows(&G->here) : 0, n = U != NULL ? (size_t)G->columns : 0;
  PetscReal   *sigma = NULL;
  MuonMatrix   host  = *G;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGet(lmo->work, (size_t)nsv * (2 * sizeof(double) + sizeof(PetscReal) + sizeof(int)), size));
  sigma     = (PetscReal *)(*size + 2 * nsv);
  *exponent = (int *)(sigma + nsv);
  if (U != NULL) {
    PetscCall(MuonWorkspaceGet(lmo->work, ((m + n) << G->here.pairs) * (size_t)nsv * sizeof(PetscReal), U));
    *V = *U + (m << G->here.pairs) * (size_t)nsv;
  }
  PetscCall(MuonSVDSetWorkspace(lmo->svd, lmo->work));
  PetscCall(MuonArrayOnHost(&G->here, PETSC_TRUE, &host.here));
  PetscCall(MuonSVDCompute(lmo->svd, &host, nsv, sigma, U != NULL ? *U : NULL, U != NULL ? *V : NULL, count, &lmo->status));
  PetscCall(MuonArrayOffHost(&G->here, PETSC_FALSE, &host.here));
  for (PetscInt k = 0; k < *count; k++) (*size)[k] = frexp((double)sigma[k], *exponent + k);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMONorm_Singular(MuonLMO lmo, PetscBool dual, const MuonMatrix *X, double *norm)
{
  const double p = dual ? MuonLMOConjugate(Exponent(lmo)) : Exponent(lmo);
  PetscInt     count;
  double      *size, r;
  int         *exponents, exponent;

  PetscFunctionBegin;
  if (p == 2.0) PetscCall(MuonLMONorm_Vectors(lmo, dual, X, norm));
  else {
    PetscCall(MuonLMOSingularCompute_Private(lmo, X, Wanted(p == HUGE_VAL ? PETSC_TRUE : PETSC_FALSE, X->rows, X->columns), NULL, NULL, &size, &exponents, &count));
    r     = MuonKernelScaledNorm((size_t)count, p, size, exponents, &exponent);
    *norm = ldexp(r, exponent);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOSingularTriple(MuonLMO lmo, const MuonMatrix *G, double u[], double v[], double *sigma, PetscInt *count)
{
  PetscReal *U, *V;
  double    *size;
  int       *exponent;

  PetscFunctionBegin;
  *sigma = 0.0;
  PetscCall(MuonLMOSingularCompute_Private(lmo, G, Wanted(PETSC_TRUE, G->rows, G->columns), &U, &V, &size, &exponent, count));
  if (*count == 0) PetscFunctionReturn(PETSC_SUCCESS);
  *sigma = ldexp(*size, *exponent);
  /* As numbers of the matrix's precision */
  for (size_t i = 0; i < MuonArrayRows(&G->here); i++) u[i] = G->here.precision == MUON_SINGLE ? (double)(float)U[i] : (double)U[i];
  for (PetscInt j = 0; j < G->columns; j++) v[j] = G->here.precision == MUON_SINGLE ? (double)(float)V[j] : (double)V[j];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOApply_Singular(MuonLMO lmo, const MuonMatrix *G, const MuonMatrix *D, double *dual)
{
  const double   p   = Exponent(lmo);
  const PetscInt nsv = Wanted(p == 1.0 ? PETSC_TRUE : PETSC_FALSE, G->rows, G->columns), n = G->columns << G->here.pairs;
  PetscReal     *U, *V;
  PetscInt       count;
  double        *size, *weight, r;
  int           *exponents, exponent;

  PetscFunctionBegin;
  /* Its own norm needs no singular values */
  if (p == 2.0) {
    PetscCall(MuonLMOApply_Vectors(lmo, G, D, dual));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonLMOSingularCompute_Private(lmo, G, nsv, &U, &V, &size, &exponents, &count));
  if (lmo->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  weight = size + nsv;
  r      = MuonKernelScaledNorm((size_t)count, MuonLMOConjugate(p), size, exponents, &exponent);
  *dual  = ldexp(r, exponent);
  MuonKernelScaledDual((size_t)count, p, size, exponents, weight);
  for (PetscInt k = 0; k < count; k++) {
    for (PetscInt j = 0; j < n; j++) V[j + (size_t)k * n] *= (PetscReal)weight[k];
  }
  PetscCall(MuonSVDMultiply(lmo->work, -1.0, count, U, V, &D->here));
  PetscCall(PetscLogFlops(1.0 * n * count + 8.0 * count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOView_Singular(MuonLMO lmo, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(MuonSVDView(lmo->svd, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOSetSingular(MuonLMO lmo, double p)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOSetVectors(lmo, PETSC_FALSE, p, 2.0)); /* what p = 2 does */
  lmo->ondevice      = PETSC_FALSE;
  lmo->gathers       = PETSC_TRUE;
  lmo->ops->apply    = MuonLMOApply_Singular;
  lmo->ops->norm     = MuonLMONorm_Singular;
  lmo->ops->getflops = MuonLMOGetFlops_Singular;
  lmo->ops->view     = MuonLMOView_Singular;
  PetscCall(MuonSVDCreate(PetscObjectComm((PetscObject)lmo), &lmo->svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}
