#include "muonpolarpolynomial.h"

/*
   Polar factors of several matrices in the memory of a device by the same products. A batch has one shorter
   side, on which panels are multiplied from the same side; shorter panels get columns, or rows, of zeros,
   which add nothing to the Gram matrix and stay zero.
*/

/*
   The matrices of a batch, where as many have panels and Gram matrices within the bytes of the scratch
   memory. More keep no GPU busier
*/
enum {
  BATCH = 64
};

/* A panel of so many entries is 16 blocks of 512 x 512, which keep a GPU busy alone */
enum {
  BUSY = 16 * 512 * 512
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

/* One of the matrices, and its place in the caller's array */
typedef struct {
  int            left;
  size_t         s, l;
  PetscInt       number;
  MuonPolarTask *task;
} MuonPolarShape;

/* What batches together stands together, by decreasing longer sides; equal ones stay in the caller's order */
static int MuonPolarCompareShapes(const void *x, const void *y)
{
  const MuonPolarShape *const a = (const MuonPolarShape *)x, *const b = (const MuonPolarShape *)y;

  if (a->s != b->s) return a->s > b->s ? -1 : 1;
  if (a->left != b->left) return a->left - b->left;
  if (a->l != b->l) return a->l > b->l ? -1 : 1;
  return a->number < b->number ? -1 : 1;
}

/* What all matrices have in common: c holds three numbers for each step, last what polynomials() gets */
typedef struct {
  const MuonKernelReal *real;
  PetscInt              steps;
  double               *c;
  unsigned char        *last;
  PetscBool             watch;
} MuonPolarSteps;

/* A batch of what begins at shape; anew: the Gram matrix is formed anew after each step */
static PetscErrorCode MuonPolarBatch_Private(MuonPolar polar, const MuonPolarSteps *steps, PetscBool anew, PetscInt n, const MuonPolarShape shape[])
{
  const MuonKernelReal *real = steps->real;
  const size_t          s = shape->s, l = shape->l, bytes = s * l * real->size;
  char                 *Y, *Z, *A;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGetIn(polar->work, real->memory, (size_t)n * bytes, &Y));
  PetscCall(MuonWorkspaceGetIn(polar->work, real->memory, (size_t)n * bytes, &Z));
  PetscCall(MuonWorkspaceGetIn(polar->work, real->memory, (size_t)n * (anew ? 2 : 4) * s * s * real->size, &A));
  for (PetscInt k = 0; k < n; k++) {
    const MuonPolarTask *task = shape[k].task;
    const MuonArray     *g    = &task->G.here;

    if (shape[k].l < l) MuonDeviceGet()->zero(bytes, Y + (size_t)k * bytes);
    real->load(g->len, g->count, g->precision, g->data, g->ld, task->norm, task->exponent, Y + (size_t)k * bytes, shape->left ? s : l);
  }
  Y = (char *)real->polynomials(shape->left, s, l, (size_t)n, (int)steps->steps, steps->c, anew ? NULL : steps->last, Y, Z, A);
  for (PetscInt k = 0; k < n; k++) {
    const MuonArray *q       = &shape[k].task->Q.here;
    const void      *y       = Y + (size_t)k * bytes;
    const double     squares = steps->watch ? real->arrays->SumSquares(s * l, 1, y, s * l) : 0.0;

    shape[k].task->status = squares <= 16.0 * (double)s ? MUON_STATUS_OK : MUON_STATUS_LMO;
    if (shape[k].task->status == MUON_STATUS_OK) real->store(q->len, q->count, 1.0, y, shape->left ? s : l, q->precision, q->data, q->ld);
    else PetscCall(PetscInfo(polar, "The iteration diverges: the squares of the singular values add up to %g after %" PetscInt_FMT " steps of a batch\n", squares, steps->steps));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of what follows shape, with the same sides: how many in one batch, cut evenly where they are too many */
static PetscInt MuonPolarBatchOf_Private(PetscInt n, const MuonPolarShape shape[], size_t bytes, size_t each, size_t longer[])
{
  PetscInt count = 0, most, batches;

  while (count < n && shape[count].s == shape->s && shape[count].left == shape->left) {
    longer[count] = shape[count].l;
    count++;
  }
  count   = MuonPolarPadded_Private(count, shape->s, longer);
  most    = PetscMax(1, (PetscInt)PetscMin(BATCH, bytes / each));
  batches = (count + most - 1) / most;
  return (count + batches - 1) / batches;
}

PetscErrorCode MuonPolarApplyBatches_Private(MuonPolar polar, PetscBool watch, MuonPolarSegmentsFn segments, PetscInt n, MuonPolarTask *const task[])
{
  const MuonPolarPolynomials *p     = (MuonPolarPolynomials *)polar->data;
  const PetscInt              count = MuonPolarPolynomialsSteps(p);
  /* What is found out about each matrix first */
  const PetscBool single = p->normalization == (int)MUON_POLAR_NORMALIZATION_SPECTRAL || (p->known != NULL && p->known->equalize) ? PETSC_TRUE : PETSC_FALSE;
  MuonPolarSteps  steps;
  MuonMark        mark;
  MuonPolarShape *shape;
  PetscInt        batch;
  size_t         *longer, bytes;

  PetscFunctionBegin;
  PetscCall(MuonPolarGetReal_Private(polar, MUON_DEVICE, &steps.real));
  PetscCall(MuonWorkspaceGetBatch(polar->work, &bytes));
  PetscCall(PetscMalloc4(n, &shape, n, &longer, count, &steps.last, 3 * count, &steps.c));
  steps.steps = count;
  steps.watch = watch;
  for (PetscInt k = 0; k < count; k++) MuonPolarPolynomialsRow(p, k, steps.c + 3 * k);
  for (PetscInt k = 0; k < n; k++) {
    const MuonArray *g = &task[k]->G.here;

    shape[k].left   = g->len < g->count;
    shape[k].s      = PetscMin(g->len, g->count);
    shape[k].l      = PetscMax(g->len, g->count);
    shape[k].number = k;
    shape[k].task   = task[k];
  }
  qsort(shape, (size_t)n, sizeof(*shape), MuonPolarCompareShapes);
  for (PetscInt first = 0; first < n; first += batch) {
    const MuonPolarShape *at    = shape + first;
    PetscBool             anew  = PETSC_TRUE;
    PetscLogDouble        flops = 0.0;

    PetscCall(MuonWorkspaceMark(polar->work, &mark));
    if (segments != NULL) PetscCall((*segments)(polar, count, at->s, at->l, steps.last, &anew));
    batch = single ? 1 : MuonPolarBatchOf_Private(n - first, at, bytes, (2 * at->s * at->l + (anew ? 2 : 4) * at->s * at->s) * steps.real->size, longer);
    if (batch == 1) {
      PetscUseTypeMethod(polar, apply, at->task);
      PetscCall(MuonWorkspaceRelease(polar->work, &mark));
      continue;
    }
    PetscCall(MuonPolarBatch_Private(polar, &steps, anew, batch, at));
    PetscCall(MuonWorkspaceRelease(polar->work, &mark));
    PetscUseTypeMethod(polar, getflops, (PetscInt)at->s, (PetscInt)at->l, &flops);
    PetscCall(PetscLogFlops((PetscLogDouble)batch * flops));
  }
  PetscCall(PetscFree4(shape, longer, steps.last, steps.c));
  PetscFunctionReturn(PETSC_SUCCESS);
}
