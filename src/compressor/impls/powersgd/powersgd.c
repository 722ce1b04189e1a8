#include "../../muoncompressorlowrank.h" /*I "petscmuoncompressor.h" I*/
#include "../../../kernels/muonpolarkernels.h"
#include <petscblaslapack.h>
#include <math.h>

/* Random words drawn at once */
enum {
  CHUNK = 512
};

/* Columns that an iteration starts from, n x columns; the largest entry of each is at least 1/2 and less than 1 */
typedef struct {
  PetscInt     n, columns;
  PetscScalar *Q;
} Basis;

/* Of one block: what was committed, and what the last message makes of it */
typedef struct {
  Basis     state, pending;
  PetscBool pends;
} Warm;

typedef struct {
  PetscInt sweeps, oversampling;
  PetscInt nblocks;
  Warm    *block;
} MuonCompressor_PowerSGD;

static PetscErrorCode MuonCompressorLayout_PowerSGD(MuonCompressor c, PetscInt m, PetscInt n, MuonCompressorLayout *layout)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorRankLayout_Private(c, MUON_WIRE_LOWRANK, m, n, layout));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Entry e is sqrt(-2 log((w + 1) / 2^32)) cos(2 pi v / 2^32) with the words w = 2 e and v = 2 e + 1 of a stream whose number of the step, 2^32 - 1, is that of no step: no word of it rounds a value
*/
static void Gaussian(MuonCompressor c, PetscInt64 first, PetscInt64 count, PetscScalar x[])
{
  MuonKernelStream stream = MuonCompressorStream_Private(c);

  stream.step = UINT32_MAX;
  for (PetscInt64 k = 0; k < count; k += CHUNK / 2) {
    const size_t some = (size_t)PetscMin(count - k, CHUNK / 2);
    uint32_t     words[CHUNK];

    MuonKernelStreamWords(&stream, 2 * (uint64_t)(first + k), 2 * some, words);
    for (size_t i = 0; i < some; i++) x[(size_t)k + i] = (PetscScalar)(sqrt(-2.0 * log(((double)words[2 * i] + 1.0) / 4294967296.0)) * cos(6.283185307179586 * (double)words[2 * i + 1] / 4294967296.0));
  }
}

static PetscErrorCode BasisResize_Private(Basis *basis, PetscInt n, PetscInt columns)
{
  PetscFunctionBegin;
  if (basis->n == n && basis->columns == columns) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFree(basis->Q));
  basis->n = basis->columns = 0;
  PetscCall(PetscMalloc1((size_t)n * (size_t)columns, &basis->Q));
  basis->n       = n;
  basis->columns = columns;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The state of the block at work */
static PetscErrorCode GetWarm_Private(MuonCompressor c, Warm **warm)
{
  MuonCompressor_PowerSGD *powersgd = (MuonCompressor_PowerSGD *)c->data;

  PetscFunctionBegin;
  if (c->block >= powersgd->nblocks) {
    const PetscInt nblocks = PetscMax(c->block + 1, MuonBlocksCount_Private(&c->blocks));
    Warm          *block;

    PetscCall(PetscCalloc1(nblocks, &block));
    PetscCall(PetscArraycpy(block, powersgd->block, powersgd->nblocks));
    PetscCall(PetscFree(powersgd->block));
    powersgd->block   = block;
    powersgd->nblocks = nblocks;
  }
  *warm = &powersgd->block[c->block];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The matrix that is iterated on, 2^-exponent X, and its Frobenius norm. exponent is 0 where products of two such matrices are far from the ends of the range: then no copy is needed
*/
static PetscErrorCode Scale_Private(MuonCompressor c, PetscInt m, PetscInt n, const PetscScalar **X, PetscInt *ldx, int *exponent, PetscReal *norm)
{
  const double range = PetscDefined(USE_REAL_SINGLE) ? 1.8446744073709552e19 : 1.3407807929942597e154; /* 2^64 and 2^512 */
  const double sum   = MuonKernelSumSquares((size_t)m, (size_t)n, *X, (size_t)*ldx);
  PetscScalar *copy;

  PetscFunctionBegin;
  *exponent = 0;
  *norm     = (PetscReal)sqrt(sum);
  PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)m * (PetscLogDouble)n));
  /* NaN is in no range, and these comparisons do not trap it */
  if (isgreaterequal(sum, 1.0 / range) && islessequal(sum, range)) PetscFunctionReturn(PETSC_SUCCESS);
  if (MuonKernelIsFinite((size_t)m, (size_t)n, *X, (size_t)*ldx) == 0) {
    c->status = MUON_STATUS_NANORINF;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *norm = (PetscReal)MuonKernelNorm((size_t)m, (size_t)n, *X, (size_t)*ldx, exponent);
  if (*norm == 0.0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_A, (size_t)m * (size_t)n * sizeof(PetscScalar), &copy));
  MuonKernelDivide((size_t)m, (size_t)n, *X, (size_t)*ldx, 1.0, *exponent, copy, (size_t)m);
  *X   = copy;
  *ldx = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P (m x l) = the orthogonal factor of itself, by Householder's method: its columns are orthonormal whatever the rank was. Uses MUON_WORK_COMPRESSOR_C */
static PetscErrorCode Orthonormalize_Private(MuonCompressor c, PetscInt m, PetscInt l, PetscScalar P[])
{
  PetscBLASInt bm, bl, info, generated, lwork = -1;
  PetscScalar  query[2] = {0.0, 0.0}, *tau;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(m, &bm));
  PetscCall(PetscBLASIntCast(l, &bl));
  PetscCallBLAS("LAPACKgeqrf", LAPACKgeqrf_(&bm, &bl, P, &bm, query, &query[0], &lwork, &info));
  PetscCheck(info == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "Error in LAPACK routine xGEQRF: info %" PetscInt_FMT, (PetscInt)info);
  PetscCallBLAS("LAPACKorgqr", LAPACKorgqr_(&bm, &bl, &bl, P, &bm, query, &query[1], &lwork, &info));
  PetscCheck(info == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "Error in LAPACK routine xORGQR: info %" PetscInt_FMT, (PetscInt)info);
  lwork = (PetscBLASInt)PetscMax(PetscRealPart(query[0]), PetscRealPart(query[1]));
  PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_C, ((size_t)l + (size_t)lwork) * sizeof(PetscScalar), &tau));
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  PetscCallBLAS("LAPACKgeqrf", LAPACKgeqrf_(&bm, &bl, P, &bm, tau, tau + l, &lwork, &info));
  PetscCallBLAS("LAPACKorgqr", LAPACKorgqr_(&bm, &bl, &bl, P, &bm, tau, tau + l, &lwork, &generated));
  PetscCall(PetscFPTrapPop());
  PetscCheck(info == 0 && generated == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "Error in LAPACK routine xGEQRF or xORGQR: info %" PetscInt_FMT " and %" PetscInt_FMT, (PetscInt)info, (PetscInt)generated);
  PetscCall(PetscLogFlops(4.0 * m * l * l - 4.0 / 3.0 * l * l * l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* W^T (l x l, leading dimension l) of V = Z S W^T (n x l), V being overwritten; l singular values in S. Uses MUON_WORK_COMPRESSOR_C */
static PetscErrorCode Rotation_Private(MuonCompressor c, PetscInt n, PetscInt l, PetscScalar V[], PetscScalar **WT, PetscReal **S)
{
  PetscBLASInt bn, bl, info, lwork = -1, one = 1;
  PetscScalar  query = 0.0, none = 0.0, *room;
  PetscReal    values = 0.0;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast(l, &bl));
  PetscCallBLAS("LAPACKgesvd", LAPACKgesvd_("N", "A", &bn, &bl, V, &bn, &values, &none, &one, &none, &bl, &query, &lwork, &info));
  PetscCheck(info == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "Error in LAPACK routine xGESVD: info %" PetscInt_FMT, (PetscInt)info);
  lwork = (PetscBLASInt)PetscRealPart(query);
  PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_C, ((size_t)l * ((size_t)l + 1) + (size_t)lwork) * sizeof(PetscScalar), &room));
  *WT = room;
  *S  = (PetscReal *)(room + (size_t)l * (size_t)l);
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  PetscCallBLAS("LAPACKgesvd", LAPACKgesvd_("N", "A", &bn, &bl, V, &bn, *S, &none, &one, *WT, &bl, (PetscScalar *)*S + l, &lwork, &info));
  PetscCall(PetscFPTrapPop());
  PetscCheck(info >= 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "Error in LAPACK routine xGESVD: info %" PetscInt_FMT, (PetscInt)info);
  if (info > 0) c->status = MUON_STATUS_LMO;
  PetscCall(PetscLogFlops(2.0 * n * l * l + 12.0 * l * l * l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y (rows x columns) = op(A) B, where op(A) is rows x inner */
static PetscErrorCode Multiply_Private(const char op[], PetscInt rows, PetscInt columns, PetscInt inner, const PetscScalar A[], PetscInt lda, const char opb[], const PetscScalar B[], PetscInt ldb, PetscScalar Y[])
{
  const PetscScalar one = 1.0, zero = 0.0;
  PetscBLASInt      br, bc, bi, ba, bb;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(rows, &br));
  PetscCall(PetscBLASIntCast(columns, &bc));
  PetscCall(PetscBLASIntCast(inner, &bi));
  PetscCall(PetscBLASIntCast(lda, &ba));
  PetscCall(PetscBLASIntCast(ldb, &bb));
  PetscCallBLAS("BLASgemm", BLASgemm_(op, opb, &br, &bc, &bi, &one, A, &ba, B, &bb, &zero, Y, &br));
  PetscCall(PetscLogFlops(2.0 * rows * columns * inner));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal Norm(PetscInt n, const PetscScalar x[])
{
  return (PetscReal)sqrt(MuonKernelSumSquares((size_t)n, 1, x, (size_t)n));
}

/*
   P and V with X ~ P V^T, V = X^T P, by the sweeps from start, NULL for a Gaussian one; size has the norms of the columns of V. What is not larger than least times a column has vanished beside it, being no more than the rounding
   of a product: a column of start that the rows of X are orthogonal to is of no use, and the Gaussian one takes its place
*/
static PetscErrorCode Iterate_Private(MuonCompressor c, PetscInt m, PetscInt n, const PetscScalar X[], PetscInt ldx, PetscInt l, const PetscScalar start[], PetscReal least, PetscScalar P[], PetscScalar V[], PetscReal size[])
{
  const PetscInt sweeps = ((MuonCompressor_PowerSGD *)c->data)->sweeps;

  PetscFunctionBegin;
  if (start == NULL) Gaussian(c, 0, (PetscInt64)n * l, V);
  PetscCall(Multiply_Private("N", m, l, n, X, ldx, "N", start != NULL ? start : V, n, P));
  for (PetscInt k = 0; k < l && start != NULL; k++) {
    PetscScalar *v = V + (size_t)k * (size_t)n, *p = P + (size_t)k * (size_t)m;

    if (Norm(m, p) > least * Norm(n, start + (size_t)k * (size_t)n)) continue;
    Gaussian(c, (PetscInt64)k * n, n, v);
    PetscCall(Multiply_Private("N", m, 1, n, X, ldx, "N", v, n, p));
  }
  for (PetscInt sweep = 0; sweep < sweeps; sweep++) {
    if (sweep > 0) PetscCall(Multiply_Private("N", m, l, n, X, ldx, "N", V, n, P));
    PetscCall(Orthonormalize_Private(c, m, l, P));
    PetscCall(Multiply_Private("T", n, l, m, X, ldx, "N", P, m, V));
  }
  for (PetscInt k = 0; k < l; k++) size[k] = Norm(n, V + (size_t)k * (size_t)n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorEncode_PowerSGD(MuonCompressor c, PetscInt m, PetscInt n, const PetscScalar T[], PetscInt ldt, const PetscScalar R[], PetscInt ldr, PetscInt64 *count, unsigned char payload[])
{
  const PetscInt     rank = MuonCompressorRank_Private(c, m, n), l = rank + PetscMin(((MuonCompressor_PowerSGD *)c->data)->oversampling, PetscMin(m, n) - rank);
  const size_t       left = (size_t)m * (size_t)l, right = (size_t)n * (size_t)l, both = l > rank ? PetscMax(right, (size_t)rank * ((size_t)m + (size_t)n)) : right;
  const PetscScalar *X, *start;
  PetscScalar       *P, *V, *factors, *Q;
  PetscReal         *size, norm, least;
  Warm              *warm;
  PetscInt           ldx, kept = 0;
  int                exponent;

  PetscFunctionBegin;
  PetscCall(GetWarm_Private(c, &warm));
  warm->pends = PETSC_FALSE;
  *count      = 0;
  if (l == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCitationsRegister(MuonCitationPowerSGD, &MuonCitationPowerSGDSet));
  PetscCall(MuonCompressorResidual_Private(c, m, n, T, ldt, R, ldr, &X, &ldx));
  PetscCall(Scale_Private(c, m, n, &X, &ldx, &exponent, &norm));
  if (c->status != MUON_STATUS_OK || norm == 0.0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BasisResize_Private(&warm->pending, n, l));
  PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_B, (left + both + (size_t)l) * sizeof(PetscScalar), &P));
  size  = (PetscReal *)(P + left + both);
  V     = warm->pending.Q;
  start = warm->state.n == n && warm->state.columns == l ? warm->state.Q : NULL;
  least = (PetscReal)PetscMax(m, n) * PETSC_MACHINE_EPSILON * norm;
  PetscCall(Iterate_Private(c, m, n, X, ldx, l, start, least, P, V, size));
  if (l == rank) {
    PetscInt next = 0;

    for (PetscInt k = 0; k < l; k++) kept += size[k] > least ? 1 : 0;
    factors = P;
    Q       = P + (size_t)kept * (size_t)m;
    for (PetscInt k = 0; k < l; k++) {
      if (size[k] > least) PetscCall(PetscArraymove(P + (size_t)(next++) * (size_t)m, P + (size_t)k * (size_t)m, m));
    }
    next = 0;
    for (PetscInt k = 0; k < l; k++) {
      if (size[k] > least) PetscCall(PetscArraycpy(Q + (size_t)(next++) * (size_t)n, V + (size_t)k * (size_t)n, n));
    }
  } else {
    PetscScalar *WT = NULL;
    PetscReal   *S  = NULL;

    /* The best directions inside the subspace: P V^T = (P W) (V W)^T, the columns of V W being orthogonal and sorted */
    factors = P + left;
    PetscCall(PetscArraycpy(factors, V, right));
    PetscCall(Rotation_Private(c, n, l, factors, &WT, &S));
    if (c->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
    for (kept = 0; kept < rank && S[kept] > least; kept++) continue;
    Q = factors + (size_t)kept * (size_t)m;
    PetscCall(Multiply_Private("N", m, kept, l, P, m, "T", WT, l, factors));
    PetscCall(Multiply_Private("N", n, kept, l, V, n, "T", WT, l, Q));
  }
  /* What overflows here is met again when it is written */
  if (exponent != 0) MuonKernelDivide((size_t)n, (size_t)kept, Q, (size_t)n, 1.0, -exponent, Q, (size_t)n);
  *count = kept;
  if (kept == 0) PetscFunctionReturn(PETSC_SUCCESS);
  /* The next start: where a column vanished its first start takes its place, which is not orthogonal to everything that may come */
  for (PetscInt k = 0; k < l; k++) {
    PetscScalar *v = V + (size_t)k * (size_t)n;
    int          scale;

    if (size[k] <= least) Gaussian(c, (PetscInt64)k * n, n, v);
    (void)frexp(MuonKernelMaxAbs((size_t)n, 1, v, (size_t)n), &scale);
    MuonKernelDivide((size_t)n, 1, v, (size_t)n, 1.0, scale, v, (size_t)n);
  }
  PetscCall(MuonCompressorFactorsEncode_Private(c, MUON_WIRE_LOWRANK, m, n, count, factors, payload));
  warm->pends = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorCommit_PowerSGD(MuonCompressor c)
{
  Warm *warm;

  PetscFunctionBegin;
  PetscCall(GetWarm_Private(c, &warm));
  /* A message that could not be written, of this block or another, changes nothing */
  if (warm->pends == PETSC_TRUE && c->status == MUON_STATUS_OK) {
    const Basis committed = warm->pending;

    warm->pending = warm->state;
    warm->state   = committed;
  }
  warm->pends = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorGetMemory_PowerSGD(MuonCompressor c, PetscLogDouble *bytes)
{
  const MuonCompressor_PowerSGD *powersgd = (const MuonCompressor_PowerSGD *)c->data;

  PetscFunctionBegin;
  for (PetscInt b = 0; b < powersgd->nblocks; b++) {
    const Basis *state = &powersgd->block[b].state, *pending = &powersgd->block[b].pending;

    *bytes += (PetscLogDouble)sizeof(PetscScalar) * ((PetscLogDouble)state->n * state->columns + (PetscLogDouble)pending->n * pending->columns);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorPowerSGDSetSweeps - Sets how many times a message of `MUONCOMPRESSORPOWERSGD` multiplies by the matrix and its transpose

   Logically Collective

   Input Parameters:
+  c      - the compressor; the call is ignored where its type is not `MUONCOMPRESSORPOWERSGD`
-  sweeps - how many times, at least 1

   Options Database Key:
.  -compressor_powersgd_sweeps sweeps - how many times

   Level: intermediate

   Note:
   The default is 1. Each sweep brings the subspace closer to that of the leading singular vectors, by (sigma_{K+1} / sigma_K)^2, and costs as much as the first.

.seealso: `MuonCompressor`, `MUONCOMPRESSORPOWERSGD`, `MuonCompressorPowerSGDGetSweeps()`, `MuonCompressorPowerSGDSetOversampling()`
@*/
PetscErrorCode MuonCompressorPowerSGDSetSweeps(MuonCompressor c, PetscInt sweeps)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscValidLogicalCollectiveInt(c, sweeps, 2);
  PetscTryMethod(c, "MuonCompressorPowerSGDSetSweeps_C", (MuonCompressor, PetscInt), (c, sweeps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorPowerSGDSetSweeps_PowerSGD(MuonCompressor c, PetscInt sweeps)
{
  PetscFunctionBegin;
  MuonCompressorCheck(c, sweeps >= 1, PETSC_ERR_ARG_OUTOFRANGE, "_powersgd_sweeps", "%" PetscInt_FMT ", expected a number of at least 1", sweeps);
  ((MuonCompressor_PowerSGD *)c->data)->sweeps = sweeps;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorPowerSGDGetSweeps - Gets how many times a message of `MUONCOMPRESSORPOWERSGD` multiplies by the matrix and its transpose

   Not Collective

   Input Parameter:
.  c - the compressor, of type `MUONCOMPRESSORPOWERSGD`

   Output Parameter:
.  sweeps - how many times

   Level: intermediate

.seealso: `MuonCompressor`, `MUONCOMPRESSORPOWERSGD`, `MuonCompressorPowerSGDSetSweeps()`
@*/
PetscErrorCode MuonCompressorPowerSGDGetSweeps(MuonCompressor c, PetscInt *sweeps)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscAssertPointer(sweeps, 2);
  PetscUseMethod(c, "MuonCompressorPowerSGDGetSweeps_C", (MuonCompressor, PetscInt *), (c, sweeps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorPowerSGDGetSweeps_PowerSGD(MuonCompressor c, PetscInt *sweeps)
{
  PetscFunctionBegin;
  *sweeps = ((MuonCompressor_PowerSGD *)c->data)->sweeps;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorPowerSGDSetOversampling - Sets by how many columns the subspace of `MUONCOMPRESSORPOWERSGD` exceeds what is sent

   Logically Collective

   Input Parameters:
+  c            - the compressor; the call is ignored where its type is not `MUONCOMPRESSORPOWERSGD`
-  oversampling - how many columns, at least 0

   Options Database Key:
.  -compressor_powersgd_oversampling p - how many columns

   Level: intermediate

   Note:
   The default is 0. With p > 0 the subspace has K + p columns, no more than min(m, n), and the best K directions inside it are sent, which takes a small singular value decomposition.

.seealso: `MuonCompressor`, `MUONCOMPRESSORPOWERSGD`, `MuonCompressorPowerSGDGetOversampling()`, `MuonCompressorPowerSGDSetSweeps()`
@*/
PetscErrorCode MuonCompressorPowerSGDSetOversampling(MuonCompressor c, PetscInt oversampling)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscValidLogicalCollectiveInt(c, oversampling, 2);
  PetscTryMethod(c, "MuonCompressorPowerSGDSetOversampling_C", (MuonCompressor, PetscInt), (c, oversampling));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorPowerSGDSetOversampling_PowerSGD(MuonCompressor c, PetscInt oversampling)
{
  PetscFunctionBegin;
  MuonCompressorCheck(c, oversampling >= 0, PETSC_ERR_ARG_OUTOFRANGE, "_powersgd_oversampling", "%" PetscInt_FMT ", expected a number of at least 0", oversampling);
  ((MuonCompressor_PowerSGD *)c->data)->oversampling = oversampling;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorPowerSGDGetOversampling - Gets by how many columns the subspace of `MUONCOMPRESSORPOWERSGD` exceeds what is sent

   Not Collective

   Input Parameter:
.  c - the compressor, of type `MUONCOMPRESSORPOWERSGD`

   Output Parameter:
.  oversampling - how many columns

   Level: intermediate

.seealso: `MuonCompressor`, `MUONCOMPRESSORPOWERSGD`, `MuonCompressorPowerSGDSetOversampling()`
@*/
PetscErrorCode MuonCompressorPowerSGDGetOversampling(MuonCompressor c, PetscInt *oversampling)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscAssertPointer(oversampling, 2);
  PetscUseMethod(c, "MuonCompressorPowerSGDGetOversampling_C", (MuonCompressor, PetscInt *), (c, oversampling));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorPowerSGDGetOversampling_PowerSGD(MuonCompressor c, PetscInt *oversampling)
{
  PetscFunctionBegin;
  *oversampling = ((MuonCompressor_PowerSGD *)c->data)->oversampling;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorSetFromOptions_PowerSGD(MuonCompressor c, MuonOptionItems PetscOptionsObject)
{
  MuonCompressor_PowerSGD *powersgd = (MuonCompressor_PowerSGD *)c->data;
  PetscInt                 sweeps = powersgd->sweeps, oversampling = powersgd->oversampling;
  PetscBool                set;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Subspace iteration options");
  PetscCall(PetscOptionsInt("-compressor_powersgd_sweeps", "Sweeps of a message", "MuonCompressorPowerSGDSetSweeps", sweeps, &sweeps, &set));
  if (set == PETSC_TRUE) PetscCall(MuonCompressorPowerSGDSetSweeps(c, sweeps));
  PetscCall(PetscOptionsInt("-compressor_powersgd_oversampling", "Columns that are iterated on and not sent", "MuonCompressorPowerSGDSetOversampling", oversampling, &oversampling, &set));
  if (set == PETSC_TRUE) PetscCall(MuonCompressorPowerSGDSetOversampling(c, oversampling));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorCopy_PowerSGD(MuonCompressor from, MuonCompressor to)
{
  const MuonCompressor_PowerSGD *powersgd = (const MuonCompressor_PowerSGD *)from->data;

  PetscFunctionBegin;
  PetscCall(MuonCompressorPowerSGDSetSweeps(to, powersgd->sweeps));
  PetscCall(MuonCompressorPowerSGDSetOversampling(to, powersgd->oversampling));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorChoices_PowerSGD(MuonCompressor c, size_t length, char text[])
{
  const MuonCompressor_PowerSGD *powersgd = (const MuonCompressor_PowerSGD *)c->data;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(text, length, " sweeps %" PetscInt_FMT " oversampling %" PetscInt_FMT, powersgd->sweeps, powersgd->oversampling));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDescribe_PowerSGD(MuonCompressor c, size_t length, char text[])
{
  const MuonCompressor_PowerSGD *powersgd = (const MuonCompressor_PowerSGD *)c->data;
  char                           more[64];

  PetscFunctionBegin;
  PetscCall(MuonCompressorDescribe_Factors(c, length, text));
  if (powersgd->sweeps > 1) {
    PetscCall(PetscSNPrintf(more, sizeof(more), " %" PetscInt_FMT " sweeps", powersgd->sweeps));
    PetscCall(PetscStrlcat(text, more, length));
  }
  if (powersgd->oversampling > 0) {
    PetscCall(PetscSNPrintf(more, sizeof(more), " %" PetscInt_FMT " more columns", powersgd->oversampling));
    PetscCall(PetscStrlcat(text, more, length));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorView_PowerSGD(MuonCompressor c, PetscViewer viewer)
{
  const MuonCompressor_PowerSGD *powersgd = (const MuonCompressor_PowerSGD *)c->data;
  PetscLogDouble                 bytes;

  PetscFunctionBegin;
  PetscCall(MuonCompressorViewRank_Private(c, viewer));
  PetscCall(MuonCompressorGetMemory_Private(c, &bytes));
  PetscCall(PetscViewerASCIIPrintf(viewer, "sweeps: %" PetscInt_FMT ", oversampling: %" PetscInt_FMT ", state: %.0f bytes\n", powersgd->sweeps, powersgd->oversampling, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorReset_PowerSGD(MuonCompressor c)
{
  MuonCompressor_PowerSGD *powersgd = (MuonCompressor_PowerSGD *)c->data;

  PetscFunctionBegin;
  for (PetscInt b = 0; b < powersgd->nblocks; b++) {
    PetscCall(PetscFree(powersgd->block[b].state.Q));
    PetscCall(PetscFree(powersgd->block[b].pending.Q));
  }
  PetscCall(PetscFree(powersgd->block));
  powersgd->nblocks = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDestroy_PowerSGD(MuonCompressor c)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorReset_PowerSGD(c));
  PetscCall(PetscObjectComposeFunction((PetscObject)c, "MuonCompressorPowerSGDSetSweeps_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)c, "MuonCompressorPowerSGDGetSweeps_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)c, "MuonCompressorPowerSGDSetOversampling_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)c, "MuonCompressorPowerSGDGetOversampling_C", NULL));
  PetscCall(PetscFree(c->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MUONCOMPRESSORPOWERSGD - Projects onto a subspace that follows the leading singular vectors from message to message

   Options Database Keys:
+  -compressor_rank k                                     - columns of the factors, min(m, n) where there are no more
.  -compressor_ratio r                                    - where no rank is set: they have max(1, floor(r min(m, n))) columns
.  -compressor_values (native|double|single|bf16|natural) - how the two factors are written
.  -compressor_powersgd_sweeps s                          - how often a message multiplies by the matrix and its transpose, 1 by default
-  -compressor_powersgd_oversampling p                    - by how many columns the subspace exceeds what is sent, 0 by default

   Level: beginner

   Notes:
   Of the m x n matrix A = T - R each sweep makes P = orth(A Q) by Householder's method and Q = A^T P; the message holds P and Q, and stands for P Q^T = P P^T A. The sweep costs two products with K columns and a factorization of m x K
   numbers, which is far less than the singular value decomposition of `MUONCOMPRESSORRANKK`. The Q of the last message that was committed is kept for the next one: where the matrix changes little from step to step the
   subspace becomes that of the leading singular vectors, by (sigma_{K+1} / sigma_K)^2 for each sweep. This is the form of PowerSGD for one sender, who compresses his own matrix, and not the one in which all senders sum P and Q.

   Columns that are no larger than the rounding of A are not sent, so that a matrix of small rank has a short message and a zero matrix one of rank 0, which leaves the state as it was. A column that vanished begins anew the next
   time, as Gaussian as the first time, and so does at once one that A is orthogonal to.

   With oversampling, the K leading singular triples of the projection P P^T A on a subspace of K + p columns are sent.

   The first Q is Gaussian. Its entry (i, k) is sqrt(-2 log((w + 1)/2^32)) cos(2 pi v/2^32), where w and v are the random numbers 2 (k n + i) and 2 (k n + i) + 1 of the sender, see `MuonCompressorSetStream()`, with 2^32 - 1 for the
   step. `MuonCompressorReset()` drops the state, and a change of the sizes, the rank or the oversampling begins anew. A second state holds what `MuonCompressorCommit()` will make the first, so that encoding
   changes nothing; `MuonView()` counts both. Each block of `MuonCompressorSetBlocks()` has its own.

   The error without rounding has the square ||A||^2 - ||P^T A||^2, which is never larger than ||A||^2, and with natural values, which round both factors independently, an expectation of at most ||A||^2 - (47/64) ||P^T A||^2.
   It depends on what was kept: no constant of contraction is known.

   By the formula of the paper a message costs 32 K (m + n) bits, 16 for each value in natural compression or bf16.

   Reference:
   T. Vogels, S. P. Karimireddy, M. Jaggi, PowerSGD: Practical low-rank gradient compression for distributed optimization, https://arxiv.org/abs/1905.13727

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MuonCompressorSetRank()`, `MuonCompressorSetRatio()`, `MuonCompressorPowerSGDSetSweeps()`, `MuonCompressorPowerSGDSetOversampling()`,
          `MuonCompressorCommit()`, `MUONCOMPRESSORRANKK`, `MUONCOMPRESSORTOPSVD`
M*/
PETSC_INTERN PetscErrorCode MuonCompressorCreate_PowerSGD(MuonCompressor c)
{
  MuonCompressor_PowerSGD *powersgd;

  PetscFunctionBegin;
  PetscCall(PetscNew(&powersgd));
  c->data                = powersgd;
  powersgd->sweeps       = 1;
  c->ops->setfromoptions = MuonCompressorSetFromOptions_PowerSGD;
  c->ops->layout         = MuonCompressorLayout_PowerSGD;
  c->ops->encode         = MuonCompressorEncode_PowerSGD;
  c->ops->decode         = MuonCompressorDecode_Factors;
  c->ops->validate       = MuonCompressorValidate_Factors;
  c->ops->commit         = MuonCompressorCommit_PowerSGD;
  c->ops->copy           = MuonCompressorCopy_PowerSGD;
  c->ops->choices        = MuonCompressorChoices_PowerSGD;
  c->ops->describe       = MuonCompressorDescribe_PowerSGD;
  c->ops->getmemory      = MuonCompressorGetMemory_PowerSGD;
  c->ops->view           = MuonCompressorView_PowerSGD;
  c->ops->reset          = MuonCompressorReset_PowerSGD;
  c->ops->destroy        = MuonCompressorDestroy_PowerSGD;
  PetscCall(PetscObjectComposeFunction((PetscObject)c, "MuonCompressorPowerSGDSetSweeps_C", MuonCompressorPowerSGDSetSweeps_PowerSGD));
  PetscCall(PetscObjectComposeFunction((PetscObject)c, "MuonCompressorPowerSGDGetSweeps_C", MuonCompressorPowerSGDGetSweeps_PowerSGD));
  PetscCall(PetscObjectComposeFunction((PetscObject)c, "MuonCompressorPowerSGDSetOversampling_C", MuonCompressorPowerSGDSetOversampling_PowerSGD));
  PetscCall(PetscObjectComposeFunction((PetscObject)c, "MuonCompressorPowerSGDGetOversampling_C", MuonCompressorPowerSGDGetOversampling_PowerSGD));
  PetscFunctionReturn(PETSC_SUCCESS);
}
