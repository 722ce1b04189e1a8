#include <petscmuon/private/muonlmosingular.h> /*I "petscmuonlmo.h" I*/
#include <petscmuon/private/muonlmoimpl.h>

typedef struct {
  PetscReal p;
} MuonLMO_Schatten;

static double Exponent(MuonLMO lmo)
{
  return MuonLMOExponent(((MuonLMO_Schatten *)lmo->data)->p);
}

static PetscErrorCode MuonLMOApply_Schatten(MuonLMO lmo, const MuonMatrix *G, const MuonMatrix *D, double *dual)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOSingularApply(lmo, Exponent(lmo), G, D, dual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMONorm_Schatten(MuonLMO lmo, const MuonMatrix *X, double *norm)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOSingularNorm(lmo, Exponent(lmo), X, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMODualNorm_Schatten(MuonLMO lmo, const MuonMatrix *G, double *dual)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOSingularNorm(lmo, MuonLMOConjugate(Exponent(lmo)), G, dual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOGetFlops_Schatten(MuonLMO lmo, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOSingularGetFlops(Exponent(lmo), m, n, flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOView_Schatten(MuonLMO lmo, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOViewExponent(viewer, "p", ((MuonLMO_Schatten *)lmo->data)->p));
  PetscCall(MuonSVDView(lmo->svd, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const MuonParameter MuonLMOParameters_Schatten[] = {
  {"schatten_exponent", MUON_PARAMETER_REAL, offsetof(MuonLMO_Schatten, p), 2, 1, MUON_UNBOUNDED, NULL, MUON_PARAMETER_DATA | MUON_PARAMETER_INF | MUON_PARAMETER_HIDDEN, "Exponent in the norm of the singular values"},
  {NULL, MUON_PARAMETER_REAL, 0, 0, 0, 0, NULL, 0, NULL}};

/*MC
  MUONLMOSCHATTEN - "schatten" - the $p$-norm of the singular values; its dual is their $p^*$-norm with $1/p +
  1/p^* = 1$

  Options Database Keys:
+ -lmo_schatten_exponent p - the exponent, 1 to inf, 2 by default
- -lmo_svd_type type       - SLEPc's solver, with SLEPc's other keys of that prefix, see `MUONLMONUCLEAR`

  Level: intermediate

  Notes:
  With the singular value decomposition $G = U \Sigma V^T$ the minimizer is $-U \mathrm{diag}(w) V^T$, $w_i =
  (\sigma_i / \|\sigma\|_{p^*})^{p^*-1}$, over the singular values above $\max(m,n) \epsilon \sigma_1$. It is
  zero for a zero matrix.

  The exponents 1, 2 and inf are the norms `MUONLMONUCLEAR`, `MUONLMOFROBENIUS` and `MUONLMOSPECTRAL`, the
  last with an exact polar factor. For 2 nothing is decomposed; 1 takes one singular triple, any other
  exponent all of them, and the operations that `MuonLMOGetFlops()` counts are those of LAPACK.

  A parallel matrix is gathered on the first rank of its communicator, which computes the decomposition and
  sends each rank its rows of $U$, and $V$ whole. For 2 nothing is gathered.

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MUONLMOMIXED`, `MUONLMOSPECTRAL`
M*/
PETSC_EXTERN PetscErrorCode MuonLMOCreate_Schatten(MuonLMO lmo)
{
  MuonLMO_Schatten *data;

  PetscFunctionBegin;
  PetscCall(PetscNew(&data));
  PetscCall(MuonLMOSetSingular(lmo));
  lmo->gathers       = PETSC_TRUE;
  lmo->data          = data;
  lmo->ops->apply    = MuonLMOApply_Schatten;
  lmo->ops->norm     = MuonLMONorm_Schatten;
  lmo->ops->dualnorm = MuonLMODualNorm_Schatten;
  lmo->ops->getflops = MuonLMOGetFlops_Schatten;
  lmo->ops->view     = MuonLMOView_Schatten;
  PetscFunctionReturn(PETSC_SUCCESS);
}
