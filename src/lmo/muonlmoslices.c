#include "muonlmoslices.h"
#include "../kernels/muonlmokernels.h"
#include <limits.h>

/* The rows that this rank has */
typedef struct {
  const PetscScalar *x;
  size_t             m, n, ld;
  PetscInt           first;
  MPI_Comm           comm;
  PetscMPIInt        ranks;
} Block;

/* Scratch of the columns: their norms, weights and what makes them, in MUON_WORK_LMO_A */
typedef struct {
  double  *most, *sum, *size, *weight, *f0, *f1;
  int64_t *row;
  int     *exponent;
} Columns;

double MuonLMOConjugate_Private(double p)
{
  return p == 1.0 ? HUGE_VAL : (p == HUGE_VAL ? 1.0 : p / (p - 1));
}

/* PETSC_INFINITY is a finite number */
double MuonLMOExponent_Private(PetscReal p)
{
  return p >= PETSC_INFINITY ? HUGE_VAL : (double)p;
}

PetscErrorCode MuonLMOCheckExponent_Private(MuonLMO lmo, const char key[], PetscReal p)
{
  PetscFunctionBegin;
  /* NaN is not at least 1 */
  PetscCheck(p >= 1.0, PetscObjectComm((PetscObject)lmo), PETSC_ERR_ARG_OUTOFRANGE, "Option -%slmo_%s is %g, expected a number of at least 1, or inf", ((PetscObject)lmo)->prefix != NULL ? ((PetscObject)lmo)->prefix : "", key, (double)p);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOViewExponent_Private(PetscViewer viewer, const char key[], PetscReal p)
{
  PetscBool ascii, string;
  char      text[32];

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERSTRING, &string));
  PetscCall(MuonExponentWrite_Private(p, sizeof(text), text));
  if (ascii == PETSC_TRUE) PetscCall(PetscViewerASCIIPrintf(viewer, "exponent %s: %s\n", key, text));
  else if (string == PETSC_TRUE) PetscCall(PetscViewerStringSPrintf(viewer, " %s %s", key, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An exponent whose conjugate is 1 or 2 to working accuracy is taken for infinity or 2 */
static double Snap(double p)
{
  return MuonLMOConjugate_Private(p) == 1.0 ? HUGE_VAL : (MuonLMOConjugate_Private(p) == 2.0 ? 2.0 : p);
}

static PetscErrorCode MuonLMOBlockBegin_Private(Mat A, Block *block)
{
  PetscInt m, n, ld;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(MatGetSize(A, NULL, &n));
  PetscCall(MatDenseGetLDA(A, &ld));
  PetscCall(MatGetOwnershipRange(A, &block->first, NULL));
  PetscCall(PetscObjectGetComm((PetscObject)A, &block->comm));
  PetscCallMPI(MPI_Comm_size(block->comm, &block->ranks));
  PetscCall(MatDenseGetArrayRead(A, &block->x));
  block->m  = (size_t)m;
  block->n  = (size_t)n;
  block->ld = (size_t)ld;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOColumnsGet_Private(MuonLMO lmo, size_t n, Columns *columns)
{
  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGet(lmo->work, MUON_WORK_LMO_A, n * (6 * sizeof(double) + sizeof(int64_t) + sizeof(int)), &columns->most));
  columns->sum      = columns->most + n;
  columns->size     = columns->sum + n;
  columns->weight   = columns->size + n;
  columns->f0       = columns->weight + n;
  columns->f1       = columns->f0 + n;
  columns->row      = (int64_t *)(columns->f1 + n);
  columns->exponent = (int *)(columns->row + n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOExtreme_Private(const Block *block, size_t count, MPI_Datatype type, MPI_Op op, void *x)
{
  PetscMPIInt c;

  PetscFunctionBegin;
  if (block->ranks == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMPIIntCast((PetscInt)count, &c));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, x, c, type, op, block->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   MPI may add in any order, in another one for another part of the array: equal columns would come out different, and a rank might see another order than the next. So each rank
   adds up its share of the entries, in the order of ranks, and hands it to all
*/
PetscErrorCode MuonLMOSum_Private(MuonLMO lmo, Mat A, PetscInt n, double x[])
{
  MPI_Comm    comm;
  PetscMPIInt ranks, share;
  double     *send, *parts;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetComm((PetscObject)A, &comm));
  PetscCallMPI(MPI_Comm_size(comm, &ranks));
  if (ranks == 1 || n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMPIIntCast((n + ranks - 1) / ranks, &share));
  PetscCall(MuonWorkspaceGet(lmo->work, MUON_WORK_LMO_B, 2 * (size_t)share * (size_t)ranks * sizeof(double), &send));
  parts = send + (size_t)share * (size_t)ranks;
  PetscCall(PetscArrayzero(send, (size_t)share * (size_t)ranks));
  PetscCall(PetscArraycpy(send, x, n));
  PetscCallMPI(MPI_Alltoall(send, share, MPI_DOUBLE, parts, share, MPI_DOUBLE, comm));
  for (PetscMPIInt r = 1; r < ranks; r++) {
    for (PetscMPIInt k = 0; k < share; k++) parts[k] += parts[k + (size_t)r * (size_t)share];
  }
  PetscCallMPI(MPI_Allgather(parts, share, MPI_DOUBLE, send, share, MPI_DOUBLE, comm));
  PetscCall(PetscArraycpy(x, send, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOCombine_Private(MuonLMO lmo, Mat A, double p, double *size, int *exponent)
{
  MPI_Comm    comm;
  PetscMPIInt ranks;
  int         mine = *size == 0 ? INT_MIN : *exponent, most, more;
  double      x;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetComm((PetscObject)A, &comm));
  PetscCallMPI(MPI_Comm_size(comm, &ranks));
  if (ranks == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, comm));
  x = *size == 0 ? 0 : ldexp(*size, *exponent - most);
  if (p == HUGE_VAL) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_DOUBLE, MPI_MAX, comm));
  else {
    if (p == 2.0) x *= x;
    PetscCall(MuonLMOSum_Private(lmo, A, 1, &x));
    if (p == 2.0) x = sqrt(x);
  }
  *size     = frexp(x, &more);
  *exponent = x == 0 ? 0 : most + more;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* size, exponent = the p-norms of the whole columns. most is set where p is neither 1 nor 2, sum as well where it is finite; for the largest entries, row is where this rank has one, or -1 */
static PetscErrorCode MuonLMOColumnNorms_Private(MuonLMO lmo, Mat A, const Block *block, double p, Columns *c)
{
  const size_t m = block->m, n = block->n, ld = block->ld;

  PetscFunctionBegin;
  if (p == 1.0 || p == 2.0) {
    const int power = (int)p;
    size_t    bad   = 0;

    MuonKernelColumnSums(m, n, block->x, ld, power, c->sum);
    PetscCall(MuonLMOSum_Private(lmo, A, (PetscInt)n, c->sum));
    MuonKernelSliceNorms(n, p, NULL, c->sum, c->size, c->exponent);
    /* Columns of zeros, and those whose entries have no square: weight and f0 hold what is computed again */
    for (size_t j = 0; j < n; j++) {
      if (!MuonKernelSumInRange(power, c->sum[j])) MuonKernelColumnMost(m, 1, block->x + j * ld, ld, &c->weight[bad++]);
    }
    if (bad == 0) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(MuonLMOExtreme_Private(block, bad, MPI_DOUBLE, MPI_MAX, c->weight));
    bad = 0;
    for (size_t j = 0; j < n; j++) {
      if (MuonKernelSumInRange(power, c->sum[j])) continue;
      MuonKernelColumnPowers(m, 1, block->x + j * ld, ld, p, &c->weight[bad], &c->f0[bad]);
      bad++;
    }
    PetscCall(MuonLMOSum_Private(lmo, A, (PetscInt)bad, c->f0));
    bad = 0;
    for (size_t j = 0; j < n; j++) {
      if (MuonKernelSumInRange(power, c->sum[j])) continue;
      MuonKernelSliceNorms(1, p, &c->weight[bad], &c->f0[bad], &c->size[j], &c->exponent[j]);
      bad++;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (p == HUGE_VAL) {
    MuonKernelColumnArgMax(m, n, block->x, ld, c->most, c->row);
    PetscCall(PetscArraycpy(c->sum, c->most, n));
    PetscCall(MuonLMOExtreme_Private(block, n, MPI_DOUBLE, MPI_MAX, c->most));
    for (size_t j = 0; j < n; j++) c->row[j] = c->sum[j] == c->most[j] ? c->row[j] : -1;
    MuonKernelSliceNorms(n, 1.0, NULL, c->most, c->size, c->exponent);
  } else {
    MuonKernelColumnMost(m, n, block->x, ld, c->most);
    PetscCall(MuonLMOExtreme_Private(block, n, MPI_DOUBLE, MPI_MAX, c->most));
    MuonKernelColumnPowers(m, n, block->x, ld, p, c->most, c->sum);
    PetscCall(MuonLMOSum_Private(lmo, A, (PetscInt)n, c->sum));
    MuonKernelSliceNorms(n, p, c->most, c->sum, c->size, c->exponent);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscLogDouble MuonLMOColumnsNormFlops_Private(double p, double q, size_t m, size_t n)
{
  const PetscLogDouble entries = (PetscLogDouble)m * (PetscLogDouble)n, columns = (PetscLogDouble)n;

  return (p == HUGE_VAL ? 0.0 : (p == 1.0 ? 1.0 : (p == 2.0 ? 2.0 : 3.0))) * entries + (q == HUGE_VAL ? 0.0 : (q == 1.0 ? 1.0 : 3.0)) * columns;
}

PetscErrorCode MuonLMOColumnsNorm_Private(MuonLMO lmo, double p, double q, Mat X, PetscReal *norm)
{
  Block   block;
  Columns columns;
  double  r;
  int     exponent;

  PetscFunctionBegin;
  PetscCall(MuonLMOBlockBegin_Private(X, &block));
  PetscCall(MuonLMOColumnsGet_Private(lmo, block.n, &columns));
  PetscCall(MuonLMOColumnNorms_Private(lmo, X, &block, p, &columns));
  PetscCall(MatDenseRestoreArrayRead(X, &block.x));
  r     = MuonKernelVectorNorm(block.n, q, columns.size, columns.exponent, &exponent);
  *norm = (PetscReal)ldexp(r, exponent);
  PetscCall(PetscLogFlops(MuonLMOColumnsNormFlops_Private(p, q, block.m, block.n)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOColumnsDualNorm_Private(MuonLMO lmo, double p, double q, Mat G, PetscReal *dual)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOColumnsNorm_Private(lmo, MuonLMOConjugate_Private(Snap(p)), MuonLMOConjugate_Private(q), G, dual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscLogDouble MuonLMOColumnsApplyFlops_Private(double p, double q, size_t m, size_t n)
{
  const PetscLogDouble entries = (PetscLogDouble)m * (PetscLogDouble)n, columns = (PetscLogDouble)n;

  return MuonLMOColumnsNormFlops_Private(MuonLMOConjugate_Private(p), MuonLMOConjugate_Private(q), m, n) + (p == 1.0 || p == HUGE_VAL ? 0.0 : (p == 2.0 ? 2.0 : 3.0)) * entries + (q == 1.0 || q == HUGE_VAL ? 0.0 : 6.0) * columns;
}

PetscErrorCode MuonLMOColumnsFlops_Private(double p, double q, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  PetscFunctionBegin;
  *flops = MuonLMOColumnsApplyFlops_Private(p, q, (size_t)m, (size_t)n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the rows where a column's largest entry is the lowest of all ranks stays, which is the one entry of the column that p = 1 keeps */
static PetscErrorCode MuonLMOColumnRows_Private(const Block *block, const Columns *c)
{
  const int64_t first = (int64_t)block->first, last = first + (int64_t)block->m;

  PetscFunctionBegin;
  if (block->ranks == 1) PetscFunctionReturn(PETSC_SUCCESS);
  for (size_t j = 0; j < block->n; j++) c->row[j] = c->row[j] < 0 ? INT64_MAX : c->row[j] + first;
  PetscCall(MuonLMOExtreme_Private(block, block->n, MPI_INT64_T, MPI_MIN, c->row));
  for (size_t j = 0; j < block->n; j++) c->row[j] = c->row[j] >= first && c->row[j] < last ? c->row[j] - first : -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* p = q = 1 keeps one entry of the matrix: among equals that of the lowest number in row-major order, which need not be in the lowest column */
static PetscErrorCode MuonLMOColumnsLargest_Private(const Block *block, const Columns *c)
{
  const int64_t n     = (int64_t)block->n;
  int64_t       first = INT64_MAX;
  double        most  = 0.0;

  PetscFunctionBegin;
  for (size_t j = 0; j < block->n; j++) most = PetscMax(most, c->most[j]);
  for (size_t j = 0; j < block->n; j++) {
    if (c->row[j] >= 0 && c->most[j] == most) first = PetscMin(first, (c->row[j] + (int64_t)block->first) * n + (int64_t)j);
    c->weight[j] = 0.0;
    c->row[j]    = -1;
  }
  PetscCall(MuonLMOExtreme_Private(block, 1, MPI_INT64_T, MPI_MIN, &first));
  if (first == INT64_MAX) PetscFunctionReturn(PETSC_SUCCESS);
  c->weight[first % n] = 1.0;
  if (first / n >= (int64_t)block->first && first / n < (int64_t)block->first + (int64_t)block->m) c->row[first % n] = first / n - (int64_t)block->first;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOColumnsApply_Private(MuonLMO lmo, double p, double q, Mat G, Mat D, PetscReal *dual)
{
  Block        block;
  Columns      c;
  PetscScalar *d;
  PetscInt     ldd;
  double       r;
  int          exponent;

  PetscFunctionBegin;
  p = Snap(p);
  PetscCall(MuonLMOBlockBegin_Private(G, &block));
  PetscCall(MatDenseGetLDA(D, &ldd));
  PetscCall(MatDenseGetArrayWrite(D, &d));
  PetscCall(MuonLMOColumnsGet_Private(lmo, block.n, &c));
  PetscCall(MuonLMOColumnNorms_Private(lmo, G, &block, MuonLMOConjugate_Private(p), &c));
  r     = MuonKernelVectorNorm(block.n, MuonLMOConjugate_Private(q), c.size, c.exponent, &exponent);
  *dual = (PetscReal)ldexp(r, exponent);
  if (p == 1.0 && q == 1.0) PetscCall(MuonLMOColumnsLargest_Private(&block, &c));
  else {
    MuonKernelVectorDual(block.n, q, c.size, c.exponent, c.weight);
    if (p == 1.0) PetscCall(MuonLMOColumnRows_Private(&block, &c));
  }
  if (p == 2.0) {
    MuonKernelSliceFactors(block.n, c.size, c.exponent, c.weight, c.f0, c.f1);
    MuonKernelColumnsScale(block.m, block.n, block.x, block.ld, c.f0, c.f1, d, (size_t)ldd);
  } else {
    for (size_t j = 0; j < block.n; j++) c.f0[j] = -c.weight[j];
    if (p == 1.0) MuonKernelColumnsPick(block.m, block.n, block.x, block.ld, c.row, c.f0, d, (size_t)ldd);
    else if (p == HUGE_VAL) MuonKernelColumnsSign(block.m, block.n, block.x, block.ld, c.f0, d, (size_t)ldd);
    else {
      /* |g| / c = (|g| / most) / sum^(1/p*), and (p*-1)/p* is 1/p */
      for (size_t j = 0; j < block.n; j++) c.f0[j] = c.sum[j] > 0.0 ? c.f0[j] * pow(c.sum[j], -1 / p) : 0.0;
      MuonKernelColumnsPower(block.m, block.n, block.x, block.ld, 1 / (p - 1), c.most, c.f0, d, (size_t)ldd);
    }
  }
  PetscCall(MatDenseRestoreArrayWrite(D, &d));
  PetscCall(MatDenseRestoreArrayRead(G, &block.x));
  PetscCall(PetscLogFlops(MuonLMOColumnsApplyFlops_Private(p, q, block.m, block.n)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMORowsNorm_Private(MuonLMO lmo, int p, double q, Mat X, PetscReal *norm)
{
  Block   block;
  double *size, r;
  int    *exponents, exponent;

  PetscFunctionBegin;
  PetscCall(MuonLMOBlockBegin_Private(X, &block));
  PetscCall(MuonWorkspaceGet(lmo->work, MUON_WORK_LMO_A, block.m * (sizeof(double) + sizeof(int)), &size));
  exponents = (int *)(size + block.m);
  MuonKernelRowNorms(block.m, block.n, block.x, block.ld, p, size, exponents);
  PetscCall(MatDenseRestoreArrayRead(X, &block.x));
  r = MuonKernelVectorNorm(block.m, q, size, exponents, &exponent);
  PetscCall(MuonLMOCombine_Private(lmo, X, q, &r, &exponent));
  *norm = (PetscReal)ldexp(r, exponent);
  PetscCall(PetscLogFlops((PetscLogDouble)p * (PetscLogDouble)block.m * (PetscLogDouble)block.n + (q == 1.0 ? (PetscLogDouble)block.m : 0.0)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
