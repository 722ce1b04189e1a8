#include "lowrank.h" /*I "petscmuoncompressor.h" I*/
#include <math.h>

/*
   The state of one block: the committed columns from which an iteration starts, and the columns after the last message. The
   largest entry of each column is at least 1/2 and less than 1
*/
typedef struct {
  MuonArray state, pending;
  PetscBool pends;
} Warm;

typedef struct {
  PetscInt sweeps, oversampling;
  PetscInt nblocks;
  Warm    *block;
} MuonCompressor_PowerSGD;

static PetscBool IsLike(const MuonArray *A, const MuonArray *B)
{
  return A->data != NULL && A->len == B->len && A->count == B->count && A->precision == B->precision && A->memory == B->memory ? PETSC_TRUE : PETSC_FALSE;
}

/* The state of the current block */
static PetscErrorCode GetWarm_Private(MuonCompressor c, Warm **warm)
{
  MuonCompressor_PowerSGD *powersgd = (MuonCompressor_PowerSGD *)c->data;

  PetscFunctionBegin;
  if (powersgd->block == NULL) {
    powersgd->nblocks = MuonBlocksCount_Private(&c->blocks);
    PetscCall(PetscCalloc1(powersgd->nblocks, &powersgd->block));
  }
  *warm = &powersgd->block[c->block];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   P and V with X ~ P V^T, V = X^T P, by the sweeps from start. start is NULL for a Gaussian start. A product that is at most
   least times a column is only rounding: the rows of X are orthogonal to this column of start, and the Gaussian column takes its
   place. norms is scratch for 2 l numbers
*/
static PetscErrorCode Iterate_Private(MuonCompressor c, const MuonArray *X, size_t l, const MuonColumns *start, double least, const MuonColumns *P, const MuonColumns *V, double norms[])
{
  const PetscInt sweeps = ((MuonCompressor_PowerSGD *)c->data)->sweeps;

  PetscFunctionBegin;
  if (start == NULL) PetscCall(MuonColumnsGaussian_Private(c, PETSC_FALSE, 0, l, V));
  PetscCall(MuonColumnsMultiply_Private(X, 0, 0, l, 1.0, start != NULL ? start : V, 0.0, P));
  if (start != NULL) {
    MuonColumnsNorms_Private(P, l, norms);
    MuonColumnsNorms_Private(start, l, norms + l);
  }
  for (size_t k = 0; k < l && start != NULL; k++) {
    if (norms[k] > least * norms[l + k]) continue;
    PetscCall(MuonColumnsGaussian_Private(c, PETSC_FALSE, k, 1, V));
    PetscCall(MuonColumnsMultiply_Private(X, 0, k, 1, 1.0, V, 0.0, P));
  }
  for (PetscInt sweep = 0; sweep < sweeps; sweep++) {
    if (sweep > 0) PetscCall(MuonColumnsMultiply_Private(X, 0, 0, l, 1.0, V, 0.0, P));
    PetscCall(MuonColumnsOrthonormalize_Private(c, l, P));
    PetscCall(MuonColumnsMultiply_Private(X, 1, 0, l, 1.0, P, 0.0, V));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The next start. A column that vanished is replaced by its first, Gaussian start, which is not orthogonal to all later
   matrices. Each column is scaled, so that its largest entry is below 1
*/
static PetscErrorCode NextStart_Private(MuonCompressor c, size_t l, double least, const MuonColumns *V, double norms[], double ones[], int64_t place[])
{
  PetscFunctionBegin;
  for (size_t k = 0; k < l; k++) {
    if (norms[k] <= least) PetscCall(MuonColumnsGaussian_Private(c, PETSC_FALSE, k, 1, V));
  }
  V->kernels->VectorArgMax(V->rows, l, V->data, V->rows, 0, norms, place);
  for (size_t k = 0; k < l; k++) {
    int scale;

    (void)frexp(norms[k], &scale);
    norms[k] = ldexp(1.0, -scale);
    ones[k]  = 1.0;
  }
  V->kernels->VectorScale(V->rows, l, V->data, V->rows, 0, norms, ones, V->data, V->rows);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With V and P of the iteration the message is V P^T: its rows are the vectors of the array */
static PetscErrorCode MuonCompressorEncode_PowerSGD(MuonCompressor c, const MuonArray *T, const MuonArray *R, MuonCompressorLayout *layout, unsigned char payload[])
{
  const MuonKernels *kernels = MuonArrayKernels(T);
  const size_t       m = T->len, n = T->count, rank = (size_t)MuonCompressorRank_Private(c, T), l = PetscMin(rank + (size_t)((MuonCompressor_PowerSGD *)c->data)->oversampling, PetscMin(m, n));
  const double       unit   = 2.0 * kernels->unit;
  const MuonMemory   memory = T->memory;
  MuonColumns        P = {kernels, memory, m, NULL}, V = {kernels, memory, n, NULL}, start = {kernels, memory, n, NULL}, first = {kernels, memory, n, NULL}, second = {kernels, memory, m, NULL};
  MuonArray          X, basis;
  double             norm, least, *norms, *ones;
  int64_t           *place;
  Warm              *warm = NULL;
  size_t             kept = 0;
  int                exponent;

  PetscFunctionBegin;
  PetscCall(GetWarm_Private(c, &warm));
  warm->pends = PETSC_FALSE;
  if (l == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCitationsRegister(MuonCitationPowerSGD, &MuonCitationPowerSGDSet));
  PetscCall(MuonCompressorResidual_Private(c, T, R, &X));
  PetscCall(MuonColumnsScale_Private(c, &X, &exponent, &norm));
  if (c->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  if (norm == 0.0) PetscCall(MuonCompressorSetCount(c, layout, 0));
  if (norm == 0.0) PetscFunctionReturn(PETSC_SUCCESS);
  basis     = MuonArrayLike(&X, X.precision, NULL);
  basis.len = basis.ld = n;
  basis.count          = l;
  if (!IsLike(&warm->pending, &basis)) {
    PetscCall(MuonArrayDestroy(&warm->pending));
    PetscCall(MuonArrayCreate(&basis, basis.precision, &warm->pending));
  }
  PetscCall(MuonWorkspaceGetIn(c->work, memory, (m * l + PetscMax(n * l, rank * (m + n))) * kernels->size, &P.data));
  PetscCall(MuonWorkspaceGetPinned(c->work, memory, l * (2 * sizeof(double) + sizeof(int64_t)), &norms));
  ones       = norms + l;
  place      = (int64_t *)(ones + l);
  V.data     = (char *)warm->pending.data;
  start.data = (char *)warm->state.data;
  first.data = P.data + m * l * kernels->size;
  least      = (double)PetscMax(m, n) * unit * norm;
  PetscCall(Iterate_Private(c, &X, l, IsLike(&warm->state, &basis) ? &start : NULL, least, &P, &V, norms));
  MuonColumnsNorms_Private(&V, l, norms);
  if (l == rank) {
    kept        = MuonColumnsCopyLarger_Private(&V, l, norms, least, &first);
    second.data = (char *)MuonColumnsAt(&first, kept);
    (void)MuonColumnsCopyLarger_Private(&P, l, norms, least, &second);
  } else {
    void *WT = NULL, *S = NULL;

    /*
       The best directions in the subspace: P V^T = (P W) (V W)^T, with orthogonal and sorted columns of V W
    */
    MuonColumnsCopy_Private(&V, 0, l, &first, 0);
    PetscCall(MuonColumnsRotation_Private(c, l, &first, &WT, &S));
    if (c->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
    while (kept < rank && (T->precision == MUON_SINGLE ? (double)((float *)S)[kept] : ((double *)S)[kept]) > least) kept++;
    second.data = (char *)MuonColumnsAt(&first, kept);
    kernels->Multiply(0, 1, n, kept, l, 1.0, V.data, n, WT, l, 0.0, first.data, n);
    kernels->Multiply(0, 1, m, kept, l, 1.0, P.data, m, WT, l, 0.0, second.data, m);
    PetscCall(PetscLogFlops(2.0 * (double)(m + n) * (double)kept * (double)l));
  }
  /* An overflow is found when the values are written */
  if (exponent != 0) kernels->Divide(n, kept, first.data, n, 1.0, -exponent, first.data, n);
  if (kept > 0) PetscCall(NextStart_Private(c, l, least, &V, norms, ones, place));
  PetscCall(MuonCompressorFactorsEncode_Private(c, T, (PetscInt)kept, first.data, layout, payload));
  warm->pends = kept > 0 ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorCommit_PowerSGD(MuonCompressor c)
{
  Warm *warm = NULL;

  PetscFunctionBegin;
  PetscCall(GetWarm_Private(c, &warm));
  /* If the message of this block or another could not be written, no state changes */
  if (warm->pends && c->status == MUON_STATUS_OK) MuonArraySwap(&warm->state, &warm->pending);
  warm->pends = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorVisitState_PowerSGD(MuonCompressor c, MuonStateVisitor *visitor)
{
  MuonCompressor_PowerSGD *powersgd = (MuonCompressor_PowerSGD *)c->data;
  Warm                    *warm     = NULL;

  PetscFunctionBegin;
  if (visitor->make != NULL) PetscCall(GetWarm_Private(c, &warm));
  for (PetscInt b = 0; b < powersgd->nblocks; b++) {
    char name[64];

    warm = &powersgd->block[b];
    PetscCall(PetscSNPrintf(name, sizeof(name), "compressor.basis[%" PetscInt_FMT "]", b));
    if (visitor->make != NULL) PetscCall((*visitor->make)(visitor, name, PETSC_FALSE, &warm->state));
    PetscCall(MuonStateVisitArray(visitor, name, PETSC_FALSE, PETSC_FALSE, &warm->state));
    PetscCall(PetscSNPrintf(name, sizeof(name), "compressor.nextbasis[%" PetscInt_FMT "]", b));
    PetscCall(MuonStateVisitArray(visitor, name, PETSC_FALSE, PETSC_TRUE, &warm->pending));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorReset_PowerSGD(MuonCompressor c)
{
  MuonCompressor_PowerSGD *powersgd = (MuonCompressor_PowerSGD *)c->data;

  PetscFunctionBegin;
  for (PetscInt b = 0; b < powersgd->nblocks; b++) {
    PetscCall(MuonArrayDestroy(&powersgd->block[b].state));
    PetscCall(MuonArrayDestroy(&powersgd->block[b].pending));
  }
  PetscCall(PetscFree(powersgd->block));
  powersgd->nblocks = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

const MuonParameter MuonCompressorParameters_PowerSGD[] = {MUON_ROW("powersgd_sweeps", INT, MuonCompressor_PowerSGD, sweeps, 1, 1, MUON_UNBOUNDED, NULL, 0, "Sweeps of a message"),
                                                           MUON_ROW("powersgd_oversampling", INT, MuonCompressor_PowerSGD, oversampling, 0, 0, MUON_UNBOUNDED, NULL, 0, "Columns that are iterated on and not sent"),
                                                           {NULL, MUON_PARAMETER_INT, 0, 0, 0, 0, NULL, 0, NULL}};

/*MC
   MUONCOMPRESSORPOWERSGD - Projects onto a subspace that approaches the leading singular vectors from message to
   message

   Options Database Keys:
+  -compressor_rank k                                     - number of columns of the factors, at most min(m, n)
.  -compressor_ratio r                                    - without a rank, max(1, floor(r min(m, n))) columns
.  -compressor_values (native|double|single|bf16|natural) - format of the two factors
.  -compressor_powersgd_sweeps s                          - number of products with the matrix and its transpose in a message, 1 by default
-  -compressor_powersgd_oversampling p                    - number of columns of the subspace that are not sent, 0 by default

   Level: beginner

   Notes:
   The matrix A = T - R has n columns of m entries in memory (rows, if it is stored by rows). Each sweep computes P =
   orth(A Q) by Householder's method and Q = A^T P. The message has P and Q and represents P Q^T = P P^T A. A sweep
   costs two products with K columns and a factorization of m x K numbers, far less than the singular value
   decomposition of `MUONCOMPRESSORRANKK`. The Q of the last committed message starts the next one. If the matrix
   changes little from step to step, the subspace converges to that of the leading singular vectors, by (sigma_{K+1} /
   sigma_K)^2 for each sweep.
   This is the form of PowerSGD in which each sender compresses its own matrix, not the one in which all senders sum P
   and Q.

   Columns of the size of A's rounding errors are not sent. A matrix of small rank has a short message, and a zero
   matrix one of rank 0, which does not change the state. A column that vanished is Gaussian again in the next message.
   If A is orthogonal to a column, the column is Gaussian again at once.

   With oversampling, the message has the K leading singular triples of the projection P P^T A on a subspace
   of K + p columns.

   The first Q is Gaussian. Its entry (i, k) is sqrt(-2 log((w + 1)/2^32)) cos(2 pi v/2^32), where w and v are
   the random numbers 2 (k n + i) and 2 (k n + i) + 1 of the sender, see `MuonCompressorSetStream()`, with
   2^32 - 1 for the step. A change of the sizes, the rank or the oversampling starts from a new Q. Encoding writes a second copy of the state, which
   `MuonCompressorCommit()` makes current; `MuonView()` counts both. Each block of `MuonCompressorSetBlocks()` has its own state.

   The squared error without rounding is ||A||^2 - ||P^T A||^2, at most ||A||^2. With natural values, which round both
   factors independently, its expectation is at most ||A||^2 - (47/64) ||P^T A||^2. It depends on the state, so that no
   constant of contraction is known.

   By the formula of the paper a message costs 32 K (m + n) bits, 16 for each value in natural compression or
   bf16.

   Reference:
   T. Vogels, S. P. Karimireddy, M. Jaggi, PowerSGD: Practical low-rank gradient compression for distributed
   optimization, https://arxiv.org/abs/1905.13727

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MuonCompressorSetRatio()`,
          `MuonCompressorCommit()`, `MUONCOMPRESSORRANKK`, `MUONCOMPRESSORTOPSVD`
M*/
PetscErrorCode MuonCompressorCreate_PowerSGD(MuonCompressor c)
{
  MuonCompressor_PowerSGD *powersgd;

  PetscFunctionBegin;
  PetscCall(PetscNew(&powersgd));
  c->data            = powersgd;
  c->keys            = "ratio rank values";
  c->factors         = PETSC_TRUE;
  c->ondevice        = PETSC_TRUE;
  c->ops->layout     = MuonCompressorLayout_Factors;
  c->ops->encode     = MuonCompressorEncode_PowerSGD;
  c->ops->decode     = MuonCompressorDecode_Factors;
  c->ops->commit     = MuonCompressorCommit_PowerSGD;
  c->ops->visitstate = MuonCompressorVisitState_PowerSGD;
  c->ops->reset      = MuonCompressorReset_PowerSGD;
  PetscFunctionReturn(PETSC_SUCCESS);
}
