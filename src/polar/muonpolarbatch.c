#include "muonpolarpolynomial.h"
#include "../kernels/dense/muonblas.h"
#include "../kernels/dense/muonpolarzolotarev.h"

/* Which matrices are computed together */

/*
   The matrices of a batch, where as many have panels and Gram matrices within the bytes of the scratch memory:
   more keep no GPU busier. A panel of so many entries is 16 blocks of 512 x 512, which keep a GPU busy alone
*/
enum {
  BATCH = 64,
  BUSY  = 16 * 512 * 512
};

PetscInt MuonPolarPadded_Private(PetscInt n, size_t s, const size_t longer[])
{
  double   sum   = 0.0;
  PetscInt count = 0;

  while (count < n) {
    sum += (double)longer[count];
    if (longer[count] != longer[0] && (s * longer[0] > BUSY || 4.0 * (double)(count + 1) * (double)longer[0] > 5.0 * sum)) break;
    count++;
  }
  return count;
}

/* The sides of a matrix, and whether it is wide */
static void MuonPolarSides_Private(const MuonPolarTask *task, size_t *s, size_t *l, int *left)
{
  *s    = (size_t)PetscMin(task->G.rows, task->G.columns);
  *l    = (size_t)PetscMax(task->G.rows, task->G.columns);
  *left = task->G.rows < task->G.columns;
}

/* Sorts matrices of the same batch together, by decreasing longer sides; equal ones keep their order */
static int MuonPolarCompareTasks(const void *x, const void *y)
{
  const MuonPolarTask *const a = *(MuonPolarTask *const *)x, *const b = *(MuonPolarTask *const *)y;
  size_t sa, sb, la, lb;
  int    lefta, leftb;

  MuonPolarSides_Private(a, &sa, &la, &lefta);
  MuonPolarSides_Private(b, &sb, &lb, &leftb);
  if (sa != sb) return sa > sb ? -1 : 1;
  if (lefta != leftb) return lefta - leftb;
  if (la != lb) return la > lb ? -1 : 1;
  return a < b ? -1 : a > b;
}

/* The number of matrices in one batch from the first on, divided evenly if there are too many */
static PetscErrorCode MuonPolarBatchOf_Private(MuonPolar polar, PetscInt n, MuonPolarTask *const task[], PetscInt *batch)
{
  const MuonMemory      memory = task[0]->G.here.memory;
  const MuonKernelReal *real;
  size_t                s, l, side, length, *longer;
  int                   left, same;
  PetscInt              count = 0, most, squares = 0;

  PetscFunctionBegin;
  MuonPolarSides_Private(task[0], &s, &l, &left);
  if (n > 1) PetscUseTypeMethod(polar, batch, memory, s, l, &squares);
  *batch = 1;
  if (squares == 0) PetscFunctionReturn(PETSC_SUCCESS);
  while (memory == MUON_HOST && count < PetscMin(n, MUON_KERNEL_LANES)) {
    MuonPolarSides_Private(task[count], &side, &length, &same);
    if (side != s || length != l || same != left) break;
    *batch = ++count;
  }
  if (memory == MUON_HOST) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonPolarGetReal_Private(polar, MUON_DEVICE, 0, &real));
  PetscCall(PetscMalloc1(n, &longer));
  for (; count < n; count++) {
    MuonPolarSides_Private(task[count], &side, &longer[count], &same);
    if (side != s || same != left) break;
  }
  count  = MuonPolarPadded_Private(count, s, longer);
  most   = PetscMax(1, (PetscInt)PetscMin(BATCH, *MuonWorkspaceBatch(polar->work) / ((2 * s * l + (size_t)squares * s * s) * real->size)));
  *batch = (count + most - 1) / most;
  *batch = (count + *batch - 1) / *batch;
  PetscCall(PetscFree(longer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Leaves the norm 0 where there is nothing to compute */
static PetscErrorCode MuonPolarTask_Private(MuonPolar polar, double scale, const MuonMatrix *G, const MuonMatrix *Q, MuonPolarTask *task)
{
  PetscFunctionBegin;
  task->G      = *G;
  task->Q      = *Q;
  task->scale  = scale;
  task->status = MUON_STATUS_OK;
  if (G->size == 1 && !(polar->rowwise && G->rows == G->columns)) {
    task->G.here.rowmajor = task->Q.here.rowmajor = 0;
    task->G.rows = task->Q.rows = (PetscInt)MuonArrayRows(&task->G.here);
    task->G.columns = task->Q.columns = (PetscInt)G->here.count;
  }
  PetscCall(MuonPolarNorm_Private(G, &task->norm, &task->exponent));
  if (task->norm == 0.0) PetscCall(MuonArrayZero(&Q->here));
  else if (!(task->norm < HUGE_VAL)) {
    task->norm   = 0.0;
    task->status = MUON_STATUS_NANORINF;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Those that are computed with task k, in an order of batches; they have no norm from there on */
static PetscInt MuonPolarCollect_Private(PetscInt n, PetscInt k, const unsigned int hash[], MuonPolarTask task[], MuonPolarTask *same[])
{
  PetscInt count = 0;

  for (PetscInt i = k; i < (hash[k] == 0 ? k + 1 : n) && task[k].norm != 0.0; i++) {
    if (task[i].norm == 0.0 || (i > k && (hash[k] == 0 || hash[i] != hash[k] || task[i].G.here.memory != task[k].G.here.memory || task[i].G.here.pairs != task[k].G.here.pairs))) continue;
    same[count++] = &task[i];
  }
  qsort(same, (size_t)count, sizeof(*same), MuonPolarCompareTasks);
  return count;
}

/* Sequential matrices with the same parameters are computed together, of a device and of the host apart */
PetscErrorCode MuonPolarApplyMatrices(double scale, PetscInt n, const MuonPolar polar[], const MuonMatrix G[], const MuonMatrix Q[], MuonStatus status[])
{
  MuonMemory     memory = MUON_DEVICE; /* of all; that of some would count the others */
  MuonPolarTask *task, **same;
  unsigned int  *hash;
  PetscLogDouble flops;

  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = 0; k < n; k++) {
    const MuonArray *g = &G[k].here, *q = &Q[k].here;

    PetscCheck(g->len == q->len && g->count == q->count && g->precision == q->precision && g->rowmajor == q->rowmajor && g->pairs == q->pairs && G[k].size == Q[k].size, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
               "MuonPolar with options prefix \"%s\": the arrays of a matrix and of its factor differ, expected one shape, precision, order and field", MuonPolarPrefix_Private(polar[k]));
    polar[k]->pairs = g->pairs;
    PetscCall(MuonPolarSetUp(polar[k]));
    if (g->memory == MUON_HOST) memory = MUON_HOST;
  }
  PetscCall(PetscLogEventBegin(MUON_Polar, polar[0], 0, 0, 0));
  PetscCall(MuonLogDeviceBegin(memory, &flops));
  PetscCall(PetscMalloc3(n, &task, n, &same, n, &hash));
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(MuonPolarTask_Private(polar[k], scale, &G[k], &Q[k], &task[k]));
    hash[k] = 0;
    /* Real matrices on the host go one by one */
    if (polar[k]->ops->batch != NULL && task[k].G.size == 1 && n > 1 && (G[k].here.pairs || G[k].here.memory == MUON_DEVICE)) PetscCall(MuonParametersHash((PetscObject)polar[k], &hash[k]));
  }
  for (PetscInt k = 0; k < n; k++) {
    const PetscInt count = MuonPolarCollect_Private(n, k, hash, task, same);
    MuonMark       mark;

    (void)MuonKernelProductsSet((MuonKernelProducts)(polar[k]->library + 1));
    for (PetscInt first = 0, batch = 1; first < count; first += batch) {
      PetscCall(MuonPolarBatchOf_Private(polar[k], count - first, same + first, &batch));
      PetscCall(MuonWorkspaceMark(polar[k]->work, &mark));
      PetscUseTypeMethod(polar[k], apply, batch, same + first);
      PetscCall(MuonWorkspaceRelease(polar[k]->work, &mark));
    }
    for (PetscInt i = 0; i < count; i++) same[i]->norm = 0.0;
  }
  (void)MuonKernelProductsSet(MUON_PRODUCTS_AUTO);
  for (PetscInt k = 0; k < n; k++) status[k] = task[k].status;
  PetscCall(PetscFree3(task, same, hash));
  PetscCall(MuonLogDeviceEnd(memory, flops));
  PetscCall(PetscLogEventEnd(MUON_Polar, polar[0], 0, 0, 0));
  for (PetscInt k = 0; k < n; k++) {
    if (polar[k]->monitor != NULL) PetscCall(MuonPolarMonitor_Private(polar[k], scale, &G[k], &Q[k], status[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
