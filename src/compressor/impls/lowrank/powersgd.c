#include "lowrank.h" /*I "petscmuoncompressor.h" I*/
#include <math.h>

/* Random words drawn at once */
enum {
  CHUNK = 512
};

/*
   Of one block: the columns that an iteration starts from, as they were committed, and what the last message
   makes of them. The largest entry of each is at least 1/2 and less than 1
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

/* Many columns of so many entries each, for kernels of their precision and memory */
typedef struct {
  const MuonKernels *kernels;
  MuonMemory         memory;
  size_t             rows;
  char              *data;
} Columns;

static PetscBool IsLike(const MuonArray *A, const MuonArray *B)
{
  return A->data != NULL && A->len == B->len && A->count == B->count && A->precision == B->precision && A->memory == B->memory ? PETSC_TRUE : PETSC_FALSE;
}

static void *Column(const Columns *X, size_t k)
{
  return X->data + k * X->rows * X->kernels->size;
}

/* The Euclidean norms of the first count columns, on the host */
static void Norms(const Columns *X, size_t count, double norms[])
{
  X->kernels->VectorSums(X->rows, count, X->data, X->rows, 0, 2, norms);
  for (size_t k = 0; k < count; k++) norms[k] = sqrt(norms[k]);
}

static void Copy(const Columns *X, size_t from, size_t count, const Columns *Y, size_t to)
{
  X->kernels->Axpby(X->rows * count, 1, 1.0, Column(X, from), X->rows * count, 0.0, Column(Y, to), X->rows * count);
}

/*
   Those of the first count columns of X whose norm exceeds least become the first of Y; returns how many
   there are
*/
static size_t CopyLarger(const Columns *X, size_t count, const double norms[], double least, const Columns *Y)
{
  size_t kept = 0;

  for (size_t k = 0; k < count; k++) {
    size_t run = 0;

    while (k + run < count && norms[k + run] > least) run++;
    if (run > 0) Copy(X, k, run, Y, kept);
    kept += run;
    k += run;
  }
  return kept;
}

/*
   Entry e is sqrt(-2 log((w + 1) / 2^32)) cos(2 pi v / 2^32) with the words w = 2 e and v = 2 e + 1 of a
   stream whose number of the step, 2^32 - 1, is that of no step: no word of it rounds a value. A device gets
   what the host drew
*/
static PetscErrorCode Gaussian_Private(MuonCompressor c, size_t first, size_t count, const Columns *X)
{
  const size_t     begin = first * X->rows, entries = count * X->rows, size = X->kernels->size;
  MuonKernelStream stream = MuonCompressorStream_Private(c);
  void            *to     = Column(X, first);
  MuonMark         mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(c->work, &mark));
  if (X->memory != MUON_HOST) PetscCall(MuonWorkspaceGetPinned(c->work, X->memory, entries * size, &to));
  stream.step = UINT32_MAX;
  for (size_t k = 0; k < entries; k += CHUNK / 2) {
    const size_t some = PetscMin(entries - k, CHUNK / 2);
    uint32_t     words[CHUNK];

    MuonKernelStreamWords(&stream, 2 * (uint64_t)(begin + k), 2 * some, words);
    for (size_t i = 0; i < some; i++) {
      const double x = sqrt(-2.0 * log(((double)words[2 * i] + 1.0) / 4294967296.0)) * cos(6.283185307179586 * (double)words[2 * i + 1] / 4294967296.0);

      if (size == sizeof(float)) ((float *)to)[k + i] = (float)x;
      else ((double *)to)[k + i] = x;
    }
  }
  if (X->memory != MUON_HOST) MuonDeviceGet()->copy(entries * size, to, Column(X, first));
  PetscCall(MuonWorkspaceRelease(c->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The state of the block at work */
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
   The matrix that is iterated on, 2^-exponent X, and its Frobenius norm. exponent is 0 where products of two
   such matrices are far from the ends of the range: then no copy is needed
*/
static PetscErrorCode Scale_Private(MuonCompressor c, MuonArray *X, int *exponent, double *norm)
{
  const MuonKernels *kernels = MuonArrayKernels(X);
  const double       range   = X->precision == MUON_SINGLE ? 1.8446744073709552e19 : 1.3407807929942597e154; /* 2^64 and 2^512 */
  const double       sum     = kernels->SumSquares(X->len, X->count, X->data, X->ld);
  MuonArray          copy;

  PetscFunctionBegin;
  *exponent = 0;
  *norm     = sqrt(sum);
  PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)MuonArrayEntries(X)));
  /* NaN is in no range, and these comparisons do not trap it */
  if (isgreaterequal(sum, 1.0 / range) && islessequal(sum, range)) PetscFunctionReturn(PETSC_SUCCESS);
  if (!MuonArrayIsFinite(X)) {
    c->status = MUON_STATUS_NANORINF;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *norm = kernels->Norm(X->len, X->count, X->data, X->ld, exponent);
  if (*norm == 0.0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonWorkspaceGetArray(c->work, X, X->precision, &copy));
  kernels->Divide(X->len, X->count, X->data, X->ld, 1.0, *exponent, copy.data, copy.ld);
  *X = copy;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P = the orthogonal factor of itself */
static PetscErrorCode Orthonormalize_Private(MuonCompressor c, size_t l, const Columns *P)
{
  size_t   entries = 0;
  void    *work;
  int      info;
  MuonMark mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(c->work, &mark));
  (void)P->kernels->Orthonormalize(P->rows, l, P->data, &entries, NULL);
  PetscCall(MuonWorkspaceGetIn(c->work, P->memory, entries * P->kernels->size, &work));
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  info = P->kernels->Orthonormalize(P->rows, l, P->data, &entries, work);
  PetscCall(PetscFPTrapPop());
  PetscCall(MuonWorkspaceRelease(c->work, &mark));
  PetscCheck(info == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "Error in LAPACK routine xGEQRF or xORGQR: info %d", info);
  PetscCall(PetscLogFlops(4.0 * (double)P->rows * (double)l * (double)l - 4.0 / 3.0 * (double)l * (double)l * (double)l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   W^T (l x l) of V = Z S W^T, V being overwritten; l singular values in S, which is on the host. Both are
   scratch
*/
static PetscErrorCode Rotation_Private(MuonCompressor c, size_t l, const Columns *V, void **WT, void **S)
{
  const size_t size    = V->kernels->size;
  size_t       entries = 0;
  char        *work;
  int          info;

  PetscFunctionBegin;
  (void)V->kernels->Rotation(V->rows, l, V->data, NULL, NULL, &entries, NULL);
  PetscCall(MuonWorkspaceGetIn(c->work, V->memory, (l * (l + 1) + entries) * size, &work));
  *WT = work;
  *S  = work + l * l * size;
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  info = V->kernels->Rotation(V->rows, l, V->data, *WT, *S, &entries, work + l * (l + 1) * size);
  PetscCall(PetscFPTrapPop());
  PetscCheck(info >= 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "Error in LAPACK routine xGESVD: info %d", info);
  if (info > 0) c->status = MUON_STATUS_LMO;
  if (V->memory != MUON_HOST) {
    PetscCall(MuonWorkspaceGetPinned(c->work, V->memory, l * size, S));
    MuonDeviceGet()->copy(l * size, work + l * l * size, *S);
  }
  PetscCall(PetscLogFlops(2.0 * (double)V->rows * (double)l * (double)l + 12.0 * (double)l * (double)l * (double)l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns first ... first + count - 1 of Y are op(X) times those of B */
static PetscErrorCode Multiply_Private(const MuonArray *X, int transposed, size_t first, size_t count, const Columns *B, const Columns *Y)
{
  PetscFunctionBegin;
  Y->kernels->Multiply(transposed, 0, Y->rows, count, B->rows, 1.0, X->data, PetscMax(X->ld, X->len), Column(B, first), B->rows, 0.0, Column(Y, first), Y->rows);
  PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)MuonArrayEntries(X) * (PetscLogDouble)count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   P and V with X ~ P V^T, V = X^T P, by the sweeps from start, NULL for a Gaussian one. What is not larger
   than least times a column has vanished beside it, being no more than the rounding of a product: a column of
   start that the rows of X are orthogonal to is of no use, and the Gaussian one takes its place. norms is
   scratch for 2 l numbers
*/
static PetscErrorCode Iterate_Private(MuonCompressor c, const MuonArray *X, size_t l, const Columns *start, double least, const Columns *P, const Columns *V, double norms[])
{
  const PetscInt sweeps = ((MuonCompressor_PowerSGD *)c->data)->sweeps;

  PetscFunctionBegin;
  if (start == NULL) PetscCall(Gaussian_Private(c, 0, l, V));
  PetscCall(Multiply_Private(X, 0, 0, l, start != NULL ? start : V, P));
  if (start != NULL) {
    Norms(P, l, norms);
    Norms(start, l, norms + l);
  }
  for (size_t k = 0; k < l && start != NULL; k++) {
    if (norms[k] > least * norms[l + k]) continue;
    PetscCall(Gaussian_Private(c, k, 1, V));
    PetscCall(Multiply_Private(X, 0, k, 1, V, P));
  }
  for (PetscInt sweep = 0; sweep < sweeps; sweep++) {
    if (sweep > 0) PetscCall(Multiply_Private(X, 0, 0, l, V, P));
    PetscCall(Orthonormalize_Private(c, l, P));
    PetscCall(Multiply_Private(X, 1, 0, l, P, V));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The next start: where a column vanished its first start takes its place, which is not orthogonal to everything
   that may come; and the largest entry of each column is brought below 1
*/
static PetscErrorCode NextStart_Private(MuonCompressor c, size_t l, double least, const Columns *V, double norms[], double ones[], int64_t place[])
{
  PetscFunctionBegin;
  for (size_t k = 0; k < l; k++) {
    if (norms[k] <= least) PetscCall(Gaussian_Private(c, k, 1, V));
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

/* With V and P as the iteration knows them, the message is V P^T: its rows are the vectors of the array */
static PetscErrorCode MuonCompressorEncode_PowerSGD(MuonCompressor c, const MuonArray *T, const MuonArray *R, MuonCompressorLayout *layout, unsigned char payload[])
{
  const MuonKernels *kernels = MuonArrayKernels(T);
  const size_t       m = T->len, n = T->count, rank = (size_t)MuonCompressorRank_Private(c, T), l = PetscMin(rank + (size_t)((MuonCompressor_PowerSGD *)c->data)->oversampling, PetscMin(m, n));
  const double       unit   = 2.0 * kernels->unit;
  const MuonMemory   memory = T->memory;
  Columns            P = {kernels, memory, m, NULL}, V = {kernels, memory, n, NULL}, start = {kernels, memory, n, NULL}, first = {kernels, memory, n, NULL}, second = {kernels, memory, m, NULL};
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
  PetscCall(Scale_Private(c, &X, &exponent, &norm));
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
  Norms(&V, l, norms);
  if (l == rank) {
    kept        = CopyLarger(&V, l, norms, least, &first);
    second.data = (char *)Column(&first, kept);
    (void)CopyLarger(&P, l, norms, least, &second);
  } else {
    void *WT = NULL, *S = NULL;

    /*
       The best directions inside the subspace: P V^T = (P W) (V W)^T, the columns of V W being orthogonal and
       sorted
    */
    Copy(&V, 0, l, &first, 0);
    PetscCall(Rotation_Private(c, l, &first, &WT, &S));
    if (c->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
    while (kept < rank && (T->precision == MUON_SINGLE ? (double)((float *)S)[kept] : ((double *)S)[kept]) > least) kept++;
    second.data = (char *)Column(&first, kept);
    kernels->Multiply(0, 1, n, kept, l, 1.0, V.data, n, WT, l, 0.0, first.data, n);
    kernels->Multiply(0, 1, m, kept, l, 1.0, P.data, m, WT, l, 0.0, second.data, m);
    PetscCall(PetscLogFlops(2.0 * (double)(m + n) * (double)kept * (double)l));
  }
  /* What overflows here is met again when it is written */
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
  /* A message that could not be written, of this block or another, changes nothing */
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

#define AT(member) offsetof(MuonCompressor_PowerSGD, member)
const MuonParameter MuonCompressorParameters_PowerSGD[] = {{"powersgd_sweeps", MUON_PARAMETER_INT, AT(sweeps), 1, 1, MUON_UNBOUNDED, NULL, MUON_PARAMETER_DATA, "Sweeps of a message"},
                                                           {"powersgd_oversampling", MUON_PARAMETER_INT, AT(oversampling), 0, 0, MUON_UNBOUNDED, NULL, MUON_PARAMETER_DATA, "Columns that are iterated on and not sent"},
                                                           {NULL, MUON_PARAMETER_INT, 0, 0, 0, 0, NULL, 0, NULL}};
#undef AT

/*MC
   MUONCOMPRESSORPOWERSGD - Projects onto a subspace that follows the leading singular vectors from message to
   message

   Options Database Keys:
+  -compressor_rank k                                     - columns of the factors, min(m, n) where there are no more
.  -compressor_ratio r                                    - where no rank is set: they have max(1, floor(r min(m, n))) columns
.  -compressor_values (native|double|single|bf16|natural) - how the two factors are written
.  -compressor_powersgd_sweeps s                          - how often a message multiplies by the matrix and its transpose, 1 by default
-  -compressor_powersgd_oversampling p                    - by how many columns the subspace exceeds what is sent, 0 by default

   Level: beginner

   Notes:
   Of the matrix A = T - R as it lies in memory, with m entries in each of n columns (rows, where it is stored
   by rows), each sweep makes P = orth(A Q) by Householder's method and Q = A^T P; the message holds P and Q,
   and stands for P Q^T = P P^T A. The sweep costs two products with K columns and a factorization of m x K
   numbers, which is far less than the singular value decomposition of `MUONCOMPRESSORRANKK`. The Q of the
   last message that was committed is kept for the next one: where the matrix changes little from step to step
   the subspace becomes that of the leading singular vectors, by (sigma_{K+1} / sigma_K)^2 for each sweep.
   This is the form of PowerSGD for one sender, who compresses his own matrix, and not the one in which all
   senders sum P and Q.

   Columns that are no larger than the rounding of A are not sent, so that a matrix of small rank has a short
   message and a zero matrix one of rank 0, which leaves the state as it was. A column that vanished begins
   anew the next time, as Gaussian as the first time, and so does at once one that A is orthogonal to.

   With oversampling, the K leading singular triples of the projection P P^T A on a subspace of K + p columns
   are sent.

   The first Q is Gaussian. Its entry (i, k) is sqrt(-2 log((w + 1)/2^32)) cos(2 pi v/2^32), where w and v are
   the random numbers 2 (k n + i) and 2 (k n + i) + 1 of the sender, see `MuonCompressorSetStream()`, with
   2^32 - 1 for the step. A change of the sizes, the rank or the oversampling begins anew. A second state holds what `MuonCompressorCommit()` will make the first, so that
   encoding changes nothing; `MuonView()` counts both. Each block of `MuonCompressorSetBlocks()` has its own.

   The error without rounding has the square ||A||^2 - ||P^T A||^2, which is never larger than ||A||^2, and
   with natural values, which round both factors independently, an expectation of at most ||A||^2 - (47/64)
   ||P^T A||^2. It depends on what was kept: no constant of contraction is known.

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
