#include "muonpolarrational.h"

PetscErrorCode MuonPolarPanelFailed(MuonPolarPanel *p, int failed, PetscBool *any)
{
  double worst = failed ? 1.0 : 0.0;

  PetscFunctionBegin;
  PetscCall(MuonPolarPanelAgree(p, 1, &worst));
  *any = worst > 0.0 ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A becomes its inverse, or *failed */
static PetscErrorCode MuonPolarInvert_Private(const MuonPolarPanel *p, void *A, size_t ld, PetscBool *failed)
{
  int info;

  PetscFunctionBegin;
  if (p->real->memory == MUON_HOST) info = p->real->inverse(p->s, A, ld);
  else {
    info = p->real->cholesky(p->s, A);
    if (!info) info = p->real->invert(p->s, A);
  }
  *failed = info ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(PetscLogFlops(MuonKernelInverseFlops(p->s)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One pole, in the place of R. Every rank inverts: that takes less time than to send what one has inverted */
static PetscErrorCode MuonPolarPole_Private(MuonPolarPanel *p, double a, double c, void *R, PetscBool *failed)
{
  PetscFunctionBegin;
  p->real->shift(p->s, c, R);
  PetscCall(MuonPolarInvert_Private(p, R, p->s, failed));
  PetscCall(MuonPolarPanelFailed(p, *failed, failed));
  if (*failed) PetscFunctionReturn(PETSC_SUCCESS);
  p->real->arrays->Axpby(p->s, p->s, 0.0, R, p->s, a, R, p->s);
  p->real->shift(p->s, 1.0, R);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* S = shift I + the sum for the matrix R stowed in P */
static PetscErrorCode MuonPolarSum_Private(const MuonPolarPanel *p, const MuonKernelZolotarev *z, double nu2, double shift, void *P, void *S, PetscBool *failed)
{
  const MuonKernelReal *kernel = p->real;
  const size_t             s      = p->s;
  char                    *W      = (char *)P + kernel->size;

  PetscFunctionBegin;
  *failed = PETSC_FALSE;
  for (int j = 0; j < z->poles && !*failed; j++) {
    kernel->fetch(s, P, z->c[j] * nu2);
    PetscCall(MuonPolarInvert_Private(p, W, s + 1, failed));
    if (!*failed) kernel->combine(s, z->a[j] * nu2, W, s + 1, j > 0 ? 1.0 : 0.0, S, s, j == z->poles - 1 ? shift : 0.0);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* S = I + the sum in the memory of a device */
static PetscErrorCode MuonPolarSumDevice_Private(MuonPolarPanel *p, const MuonKernelZolotarev *z, double nu2, const void *R, void *S, PetscBool *failed)
{
  const size_t s = p->s;
  void        *W;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGetIn(p->polar->work, MUON_DEVICE, s * s * p->real->size, &W));
  p->real->identity(s, 1.0, S);
  *failed = PETSC_FALSE;
  for (int j = 0; j < z->poles && !*failed; j++) {
    PetscCall(MuonPolarCopy_Private(p->real, W, R, s * s * p->real->size));
    p->real->shift(s, z->c[j] * nu2, W);
    PetscCall(MuonPolarInvert_Private(p, W, s, failed));
    if (!*failed) p->real->arrays->Axpby(s, s, z->a[j] * nu2, W, s, 1.0, S, s);
  }
  PetscCall(MuonPolarPanelFailed(p, *failed, failed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries of the triangle before column j */
static size_t MuonPolarBefore_Private(size_t s, size_t j)
{
  return j > 0 ? j * s - j * (j - 1) / 2 : 0;
}

/* The columns of which each rank keeps the sum, so that all keep about as many entries, and the most of these */
static size_t MuonPolarShares_Private(size_t s, PetscMPIInt size, size_t first[])
{
  const double share = (double)MuonPolarBefore_Private(s, s) / size;
  size_t       most  = 0;

  for (PetscMPIInt k = 0; k <= size; k++) {
    size_t j = k > 0 ? first[k - 1] : 0;

    while (j < s && (double)MuonPolarBefore_Private(s, j) < share * k) j++;
    first[k] = j;
    if (k > 0) most = PetscMax(most, MuonPolarBefore_Private(s, j) - MuonPolarBefore_Private(s, first[k - 1]));
  }
  return most;
}

/*
   Several ranks: rank k does the poles k, k + J, .... The sum lies spread over the ranks until it is complete: a
   third triangle on every rank would not fit into s^2 + 3 d/J entries where J is large, a share of 1/J does,
   for any number of poles and ranks. P becomes I plus the sum
*/
static PetscErrorCode MuonPolarSpread_Private(MuonPolarPanel *p, const MuonKernelZolotarev *z, double nu2, void *P, PetscBool *failed)
{
  const MuonKernelReal *kernel = p->real;
  const size_t             s = p->s, size = kernel->size;
  const MPI_Datatype       type = size == sizeof(float) ? MPI_FLOAT : MPI_DOUBLE;
  const PetscMPIInt        rank = p->G->rank;
  char                    *W    = (char *)P + size, *sum, *message;
  size_t                  *first, most;
  PetscMPIInt              count;
  MuonMark                 mark;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(p->size + 1, &first));
  most = MuonPolarShares_Private(s, p->size, first);
  /* The same question on all ranks */
  PetscCall(PetscMPIIntCast((PetscInt)most, &count));
  PetscCall(MuonWorkspaceMark(p->polar->work, &mark));
  PetscCall(MuonWorkspaceGet(p->polar->work, most * size, &message));
  PetscCall(MuonWorkspaceGet(p->polar->work, most * size, &sum));
  PetscCall(PetscMemzero(sum, most * size));
  kernel->stow(s, P);
  *failed = PETSC_FALSE;
  for (int j = rank; j - rank < z->poles; j += p->size) {
    PetscBool mine = j < z->poles && !*failed ? PETSC_TRUE : PETSC_FALSE;

    if (mine) {
      kernel->fetch(s, P, z->c[j] * nu2);
      PetscCall(MuonPolarInvert_Private(p, W, s + 1, failed));
      mine = *failed ? PETSC_FALSE : PETSC_TRUE;
    }
    for (PetscMPIInt k = 0; k < p->size; k++) {
      count = (PetscMPIInt)(MuonPolarBefore_Private(s, first[k + 1]) - MuonPolarBefore_Private(s, first[k]));
      if (mine) kernel->pack(s, first[k], first[k + 1], z->a[j] * nu2, W, s + 1, message);
      else PetscCall(PetscMemzero(message, (size_t)count * size));
      PetscCallMPI(MPI_Reduce(rank == k ? MPI_IN_PLACE : message, message, count, type, MPI_SUM, k, p->comm));
      if (rank == k) kernel->axpby((size_t)count, 1.0, message, 1.0, sum);
    }
  }
  PetscCall(MuonPolarPanelFailed(p, *failed, failed));
  for (PetscMPIInt k = 0; k < p->size && !*failed; k++) {
    count = (PetscMPIInt)(MuonPolarBefore_Private(s, first[k + 1]) - MuonPolarBefore_Private(s, first[k]));
    if (rank == k) PetscCall(PetscMemcpy(message, sum, (size_t)count * size));
    PetscCallMPI(MPI_Bcast(message, count, type, k, p->comm));
    kernel->unpack(s, first[k], first[k + 1], message, 1.0, P);
  }
  PetscCall(PetscFree(first));
  PetscCall(MuonWorkspaceRelease(p->polar->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarRational(MuonPolarPanel *p, const MuonKernelZolotarev *z, double nu2, void *P, void **B, PetscBool *failed)
{
  PetscFunctionBegin;
  *B = P;
  if (z->poles == 1) PetscCall(MuonPolarPole_Private(p, z->a[0] * nu2, z->c[0] * nu2, P, failed));
  else if (p->real->memory == MUON_DEVICE) {
    PetscCall(MuonWorkspaceGetIn(p->polar->work, MUON_DEVICE, p->s * p->s * p->real->size, B));
    PetscCall(MuonPolarSumDevice_Private(p, z, nu2, P, *B, failed));
  } else if (p->size > 1) PetscCall(MuonPolarSpread_Private(p, z, nu2, P, failed));
  else {
    PetscCall(MuonWorkspaceGet(p->polar->work, p->s * p->s * p->real->size, B));
    p->real->stow(p->s, P);
    PetscCall(MuonPolarSum_Private(p, z, nu2, 1.0, P, *B, failed));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   With B = (R + nu^2 c I)^{-1} and Q1 = I + a nu^2 B the Gram matrix of the first is s^2 R Q1^2 / nu^2, in which
   R B = I - nu^2 c B spares a product; the second is evaluated at that. Two squares, and the slot of the strips
   where the second one has several poles
*/
PetscErrorCode MuonPolarRationalNested(MuonPolarPanel *p, const MuonKernelZolotarev *first, const MuonKernelZolotarev *second, double nu2, void *P, void **B, PetscBool *failed)
{
  const MuonKernelReal *kernel = p->real;
  const double             a = first->a[0], c = first->c[0], square = first->scale * first->scale;
  const size_t             s = p->s, size = kernel->size;
  void                    *S;
  MuonMark                 mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGet(p->polar->work, s * s * size, B));
  PetscCall(MuonWorkspaceMark(p->polar->work, &mark));
  kernel->combine(s, 1.0, P, s, 0.0, *B, s, c * nu2);
  PetscCall(MuonPolarInvert_Private(p, *B, s, failed));
  if (*failed) PetscFunctionReturn(PETSC_SUCCESS);
  kernel->combine(s, square * (a * a - 2.0 * a * c) * nu2, *B, s, square / nu2, P, s, 2.0 * a * square + (second->poles == 1 ? second->c[0] : 0.0));
  kernel->mirror(s, *B);
  kernel->gram(1, s, s, -square * a * a * c * nu2 * nu2, *B, s, 1.0, P);
  if (second->poles == 1) {
    *failed = kernel->root(s, P) ? PETSC_TRUE : PETSC_FALSE;
    if (*failed) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PetscLogFlops(MuonKernelInverseFlops(s)));
    PetscCall(MuonWorkspaceGet(p->polar->work, s * size, &S));
    kernel->congruence(s, second->a[0], P, a * nu2, *B, S);
  } else {
    PetscCall(MuonWorkspaceGet(p->polar->work, s * s * size, &S));
    kernel->stow(s, P);
    PetscCall(MuonPolarSum_Private(p, second, 1.0, 0.0, P, S, failed));
    if (*failed) PetscFunctionReturn(PETSC_SUCCESS);
    kernel->shifted(s, 1.0, S, a * nu2, *B, P);
  }
  PetscCall(MuonWorkspaceRelease(p->polar->work, &mark));
  PetscCall(PetscLogFlops(2.0 * MuonKernelInverseFlops(s)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
