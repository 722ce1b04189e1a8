#include "muonpolarrational.h"

PetscErrorCode MuonPolarPanelFailed(MuonPolarPanel *p, int failed, PetscBool *any)
{
  double worst = failed ? 1.0 : 0.0;

  PetscFunctionBegin;
  PetscCall(MuonPolarPanelAgree(p, 1, &worst));
  *any = worst > 0.0 ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   On the hosts of several ranks rank k does the poles k, k + J, ..., and the sums are added. One pole every rank
   does itself: that takes less time than to send what one has inverted
*/
PetscErrorCode MuonPolarRational(MuonPolarPanel *p, const MuonKernelZolotarev *z, double nu2, void *R, void **B, PetscBool *failed)
{
  const MuonKernelReal *real  = p->real;
  const size_t          s     = p->s;
  const int             dealt = real->memory == MUON_HOST && z->poles > 1 ? p->size : 1, first = dealt > 1 ? p->G->rank : 0;
  int                   info = 0;
  void                 *W    = R;

  PetscFunctionBegin;
  *B = R;
  if (z->poles > dealt) {
    PetscCall(MuonWorkspaceGetIn(p->polar->work, real->memory, s * s * real->size, B));
    PetscCall(MuonWorkspaceGetIn(p->polar->work, real->memory, s * s * real->size, &W));
  }
  for (int j = first; j < z->poles && !info; j += dealt) {
    if (W != R) real->combine(s, 1.0, R, 0.0, W, 0.0);
    real->shift(s, 1, z->c[j] * nu2, W);
    info = real->inverse(s, W);
    PetscCall(PetscLogFlops(MuonKernelInverseFlops(s)));
    if (!info) real->combine(s, z->a[j] * nu2, W, j > first ? 1.0 : 0.0, *B, 0.0);
  }
  PetscCall(MuonPolarPanelFailed(p, info, failed));
  if (*failed) PetscFunctionReturn(PETSC_SUCCESS);
  if (first >= z->poles) real->identity(s, 0.0, *B);
  if (dealt > 1) PetscCall(MuonPolarPanelSum(p, s, *B));
  real->shift(s, 1, 1.0, *B);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   With B = (R + nu^2 c I)^{-1} and Q1 = I + a nu^2 B the Gram matrix of the first is s^2 R Q1^2 / nu^2, in which
   R B = I - nu^2 c B saves a product; the second is evaluated at that. Two squares, and four where the second
   one has several poles
*/
PetscErrorCode MuonPolarRationalNested(MuonPolarPanel *p, const MuonKernelZolotarev *first, const MuonKernelZolotarev *second, double nu2, void *P, void **B, PetscBool *failed)
{
  const MuonKernelReal *kernel = p->real->size == sizeof(float) ? &MuonKernelRealSingle : p->real; /* of bf16, too */
  const double          a = first->a[0], c = first->c[0], square = first->scale * first->scale;
  const size_t          s = p->s, size = kernel->size;
  void                 *S;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGet(p->polar->work, s * s * size, B));
  kernel->combine(s, 1.0, P, 0.0, *B, c * nu2);
  *failed = kernel->inverse(s, *B) ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(PetscLogFlops(3.0 * MuonKernelInverseFlops(s)));
  if (*failed) PetscFunctionReturn(PETSC_SUCCESS);
  kernel->combine(s, square * (a * a - 2.0 * a * c) * nu2, *B, square / nu2, P, 2.0 * a * square + (second->poles == 1 ? second->c[0] : 0.0));
  kernel->mirror(s, 1, *B);
  kernel->gram(1, s, s, 1, -square * a * a * c * nu2 * nu2, *B, s, 1.0, P);
  if (second->poles == 1) {
    *failed = kernel->root(s, P) ? PETSC_TRUE : PETSC_FALSE;
    PetscCall(PetscLogFlops(2.0 / 3.0 * MuonKernelInverseFlops(s)));
    if (*failed) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(MuonWorkspaceGet(p->polar->work, s * size, &S));
    kernel->congruence(s, second->a[0], P, a * nu2, *B, S);
  } else {
    PetscCall(MuonPolarRational(p, second, 1.0, P, &S, failed));
    if (*failed) PetscFunctionReturn(PETSC_SUCCESS);
    kernel->combine(s, a * nu2, *B, 0.0, *B, 1.0);
    kernel->mirror(s, 1, S);
    kernel->mirror(s, 1, *B);
    kernel->product(s, 1, 1.0, S, *B, 0.0, P);
    kernel->mirror(s, 1, P);
    *B = P;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
