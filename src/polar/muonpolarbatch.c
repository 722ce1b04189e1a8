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

/* One of the matrices, and its place in the arrays of the caller */
typedef struct {
  int      left;
  size_t   s, l;
  PetscInt number;
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

/* A batch of what begins at shape: c holds three numbers for each step, last what polynomials() gets */
static PetscErrorCode MuonPolarBatch_Private(MuonPolar polar, const MuonKernelReal *real, PetscInt steps, const double c[], const unsigned char last[], PetscBool watch, PetscInt n, const MuonPolarShape shape[], const MuonMatrix G[],
                                             const MuonMatrix Q[], MuonStatus status[])
{
  const size_t s = shape->s, l = shape->l, bytes = s * l * real->size;
  char        *Y, *Z, *A;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGetIn(polar->work, real->memory, (size_t)n * bytes, &Y));
  PetscCall(MuonWorkspaceGetIn(polar->work, real->memory, (size_t)n * bytes, &Z));
  PetscCall(MuonWorkspaceGetIn(polar->work, real->memory, (size_t)n * (last != NULL ? 4 : 2) * s * s * real->size, &A));
  for (PetscInt k = 0; k < n; k++) {
    const MuonArray *from = &G[shape[k].number].here;
    int              exponent;
    const double     norm = MuonArrayKernels(from)->Norm(from->len, from->count, from->data, from->ld, &exponent);

    if (shape[k].l < l) MuonDeviceGet()->zero(bytes, Y + (size_t)k * bytes);
    real->load(from->len, from->count, from->precision, from->data, from->ld, norm, exponent, Y + (size_t)k * bytes, shape->left ? s : l);
  }
  Y = (char *)real->polynomials(shape->left, s, l, (size_t)n, (int)steps, c, last, Y, Z, A);
  for (PetscInt k = 0; k < n; k++) {
    const PetscInt   number  = shape[k].number;
    const MuonArray *to      = &Q[number].here;
    const void      *y       = Y + (size_t)k * bytes;
    const double     squares = watch == PETSC_TRUE ? real->arrays->SumSquares(s * l, 1, y, s * l) : 0.0;

    status[number] = squares <= 16.0 * (double)s ? MUON_STATUS_OK : MUON_STATUS_LMO;
    if (status[number] == MUON_STATUS_OK) real->store(to->len, to->count, 1.0, y, shape->left ? s : l, to->precision, to->data, to->ld);
    else PetscCall(PetscInfo(polar, "The iteration diverges: the squares of the singular values add up to %g after %" PetscInt_FMT " steps of a batch\n", squares, steps));
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

PetscErrorCode MuonPolarApplyBatches_Private(MuonPolar polar, PetscBool watch, MuonPolarSegmentsFn segments, PetscInt n, const MuonMatrix G[], const MuonMatrix Q[], MuonStatus status[])
{
  const MuonKernelPolynomial *p;
  const MuonKernelReal       *real;
  MuonPolarShape             *shape;
  PetscInt                    steps, batch;
  unsigned char              *last;
  size_t                     *longer;
  double                     *c;
  PetscBool                   single;
  size_t                      bytes;
  MuonMark                    mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(polar->work, &mark));
  PetscCall(MuonPolarGetPolynomial_Private(polar, &p));
  PetscCall(MuonPolarGetSteps(polar, &steps));
  PetscCall(MuonPolarGetReal_Private(polar, MUON_DEVICE, &real));
  PetscCall(MuonWorkspaceGetBatch(polar->work, &bytes));
  /* What is found out about each matrix first */
  single = polar->normalization == MUON_POLAR_NORMALIZATION_SPECTRAL || (p != NULL && p->equalize) ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(PetscMalloc4(n, &shape, n, &longer, steps, &last, 3 * steps, &c));
  for (PetscInt k = 0; k < steps; k++) MuonPolarGetPolynomialRow_Private(polar, p, k, c + 3 * k);
  for (PetscInt k = 0; k < n; k++) {
    const MuonArray *g = &G[k].here;

    shape[k].left   = g->len < g->count;
    shape[k].s      = PetscMin(g->len, g->count);
    shape[k].l      = PetscMax(g->len, g->count);
    shape[k].number = k;
  }
  qsort(shape, (size_t)n, sizeof(*shape), MuonPolarCompareShapes);
  for (PetscInt first = 0; first < n; first += batch) {
    const MuonPolarShape *at    = shape + first;
    PetscBool             anew  = PETSC_TRUE;
    PetscLogDouble        flops = 0.0;

    if (segments != NULL) PetscCall((*segments)(polar, steps, at->s, at->l, last, &anew));
    batch = single == PETSC_TRUE ? 1 : MuonPolarBatchOf_Private(n - first, at, bytes, (2 * at->s * at->l + (anew == PETSC_TRUE ? 2 : 4) * at->s * at->s) * real->size, longer);
    if (batch == 1) {
      polar->status = MUON_STATUS_OK;
      PetscUseTypeMethod(polar, apply, &G[at->number], &Q[at->number]);
      status[at->number] = polar->status;
      PetscCall(MuonWorkspaceRelease(polar->work, &mark));
      continue;
    }
    PetscCall(MuonPolarBatch_Private(polar, real, steps, c, anew == PETSC_TRUE ? NULL : last, watch, batch, at, G, Q, status));
    PetscCall(MuonWorkspaceRelease(polar->work, &mark));
    PetscUseTypeMethod(polar, getflops, (PetscInt)at->s, (PetscInt)at->l, &flops);
    PetscCall(PetscLogFlops((PetscLogDouble)batch * flops));
  }
  PetscCall(PetscFree4(shape, longer, last, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}
