/*
   The leading singular vectors by products: subspace iteration on the Gram matrix of the short side, from a
   Gaussian start that is new in each message.

   EF21 has just sent the basis of the last message, so that what is left is small there: a start from it would
   be worse than a random one.
*/
#include "lowrank.h" /*I "petscmuoncompressor.h" I*/
#include "../../../kernels/dense/muonpolarreal.h"

enum {
  OVERSAMPLING = 10, /* columns that are iterated on and not sent, where no more than FEW are sent */
  FEW          = 64,
  LEAST        = 3, /* products by the Gram matrix: the first is of columns that are not orthonormal */
  MOST         = 12,
  COLUMNS      = 8 /* where the short side is longer than so many times the columns, the Gram matrix is not formed */
};

/* Parts of the square that is captured: what a product still gains, and what all to come would, past which there are no more */
#define GAIN 0.01
#define REST 0.04

typedef struct {
  const MuonArray      *X; /* by columns */
  int                   wide;
  size_t                l;
  MuonColumns           Y, Z, V; /* of the short side, another, of the long side */
  const MuonKernelReal *real;
  void                 *G, *H; /* the Gram matrix or NULL, and room for one of l columns */
  const void           *held;  /* what multiplies by G */
} Finder;

/* V = X Y, where X has the short side as its columns, else X^T Y */
static PetscErrorCode Project_Private(Finder *f)
{
  PetscFunctionBegin;
  PetscCall(MuonColumnsMultiply_Private(f->X, f->wide, 0, f->l, &f->Y, &f->V));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P = the orthogonal factor of itself by that of Cholesky of its Gram matrix, or by Householder's method where that fails */
static PetscErrorCode Orthonormalize_Private(MuonCompressor c, Finder *f, MuonColumns *P)
{
  PetscFunctionBegin;
  f->real->gram(0, f->l, P->rows, 1, 1.0, P->data, P->rows, 0.0, f->H);
  if (f->real->cholesky(f->l, f->H) == 0) f->real->solve(0, 0, f->l, P->rows, f->H, P->data, P->rows);
  else PetscCall(MuonColumnsOrthonormalize_Private(c, f->l, P));
  PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)P->rows * (PetscLogDouble)f->l * (PetscLogDouble)f->l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Z = G Y with columns that are orthonormal up to roundings, and the square that Y captures, where its columns are: the
   trace of H = Y^T G Y = (X Y)^T (X Y). Cholesky's factor of H makes the columns of X Y orthonormal, so that those
   of X^T X Y depend no more on one another than the rows of X do, and a second factor is enough. Householder's method
   takes over where the rank is smaller than l
*/
static PetscErrorCode Product_Private(MuonCompressor c, Finder *f, double *captured)
{
  const MuonKernels *kernels = f->Y.kernels;
  const size_t       s = f->Y.rows, l = f->l;

  PetscFunctionBegin;
  if (f->G != NULL) {
    f->real->multiply(1, s, l, 1, 1.0, f->G, f->held, f->Y.data, s, 0.0, f->Z.data, s);
    PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)s * (PetscLogDouble)s * (PetscLogDouble)l));
  } else {
    PetscCall(Project_Private(f));
    PetscCall(MuonColumnsMultiply_Private(f->X, !f->wide, 0, l, &f->V, &f->Z));
  }
  kernels->Multiply(1, 0, l, l, s, 1.0, f->Y.data, s, f->Z.data, s, 0.0, f->H, l);
  *captured = f->real->trace(l, f->H);
  if (f->real->cholesky(l, f->H) == 0) f->real->solve(0, 0, l, s, f->H, f->Z.data, s);
  PetscCall(Orthonormalize_Private(c, f, &f->Z));
  PetscCall(PetscLogFlops(3.0 * (PetscLogDouble)s * (PetscLogDouble)l * (PetscLogDouble)l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether there is another product after so many, of which the last three captured that much. No product makes it smaller.
   What products gain goes down like a geometric series, of which two terms tell what is left
*/
static PetscBool GoesOn(int products, const double captured[3])
{
  const double gain = captured[2] - captured[1], before = captured[1] - captured[0];

  if (products < LEAST) return PETSC_TRUE;
  if (products == MOST || gain <= GAIN * captured[2]) return PETSC_FALSE;
  return products == LEAST || gain * gain > REST * captured[2] * (before - gain) ? PETSC_TRUE : PETSC_FALSE;
}

/* Y, orthonormal, and V. The last product is in Y, too */
static PetscErrorCode Find_Private(MuonCompressor c, Finder *f)
{
  double captured[3] = {0.0, 0.0, 0.0};

  PetscFunctionBegin;
  PetscCall(MuonColumnsGaussian_Private(c, PETSC_TRUE, 0, f->l, &f->Y));
  if (f->G != NULL) {
    f->real->gram(f->wide, f->Y.rows, f->V.rows, 1, 1.0, f->X->data, PetscMax(f->X->ld, f->X->len), 0.0, f->G);
    f->held = f->real->hold(f->Y.rows, 1, f->G);
    PetscCall(PetscLogFlops((PetscLogDouble)f->Y.rows * (PetscLogDouble)MuonArrayEntries(f->X)));
  }
  for (int products = 0; GoesOn(products, captured); products++) {
    const MuonColumns Y = f->Y;

    captured[0] = captured[1];
    captured[1] = captured[2];
    PetscCall(Product_Private(c, f, &captured[2]));
    f->Y = f->Z;
    f->Z = Y;
  }
  PetscCall(Orthonormalize_Private(c, f, &f->Y));
  PetscCall(Project_Private(f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Turns Y and V to the K leading directions inside their subspace, those of V^T V. Its roundings mix only
   directions that have next to no part in the square
*/
static PetscErrorCode Turn_Private(MuonCompressor c, Finder *f, size_t rank)
{
  const size_t l = f->l;
  MuonColumns  H = {f->V.kernels, f->V.memory, l, (char *)f->H}, *each[] = {&f->Y, &f->V};
  void        *WT = NULL, *S = NULL;
  char        *turned;

  PetscFunctionBegin;
  H.kernels->Multiply(1, 0, l, l, f->V.rows, 1.0, f->V.data, f->V.rows, f->V.data, f->V.rows, 0.0, H.data, l);
  PetscCall(MuonColumnsRotation_Private(c, l, &H, &WT, &S));
  for (int k = 0; k < 2 && c->status == MUON_STATUS_OK; k++) {
    const size_t rows = each[k]->rows;

    PetscCall(MuonWorkspaceGetIn(c->work, H.memory, rows * rank * H.kernels->size, &turned));
    H.kernels->Multiply(0, 1, rows, rank, l, 1.0, each[k]->data, rows, WT, l, 0.0, turned, rows);
    each[k]->data = turned;
  }
  PetscCall(PetscLogFlops(2.0 * (double)l * (double)(l * f->V.rows + rank * (f->V.rows + f->Y.rows))));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By columns, what is sent is V Y^T or its transpose */
PetscErrorCode MuonCompressorEncode_Range(MuonCompressor c, const MuonArray *T, const MuonArray *R, MuonCompressorLayout *layout, unsigned char payload[])
{
  const MuonKernels *kernels = MuonArrayKernels(T);
  const MuonMemory   memory  = T->memory;
  const size_t       small = PetscMin(T->len, T->count), large = PetscMax(T->len, T->count), rank = (size_t)MuonCompressorRank_Private(c, T), size = kernels->size;
  Finder             f     = {NULL, T->len < T->count, PetscMin(rank + (rank <= FEW ? OVERSAMPLING : 0), small), {kernels, memory, small, NULL}, {kernels, memory, small, NULL}, {kernels, memory, large, NULL}, NULL, NULL, NULL, NULL};
  MuonColumns        first = {kernels, memory, T->count, NULL}, second = {kernels, memory, T->len, NULL};
  MuonArray          X;
  double             norm, least, *norms;
  size_t             kept;
  int                exponent;

  PetscFunctionBegin;
  if (rank == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCitationsRegister(MuonCitationEF21, &MuonCitationEF21Set));
  PetscCall(PetscCitationsRegister(MuonCitationRange, &MuonCitationRangeSet));
  PetscCall(MuonCompressorResidual_Private(c, T, R, &X));
  PetscCall(MuonColumnsScale_Private(c, &X, &exponent, &norm));
  if (c->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  if (norm == 0.0) PetscCall(MuonCompressorSetCount(c, layout, 0));
  if (norm == 0.0) PetscFunctionReturn(PETSC_SUCCESS);
  f.X    = &X;
  f.real = memory != MUON_HOST ? MuonKernelRealOfDevice(kernels->name) : T->precision == MUON_SINGLE ? &MuonKernelRealSingle : &MuonKernelRealDouble;
  PetscCall(MuonWorkspaceGetIn(c->work, memory, (2 * small + large + f.l) * f.l * size, &f.Y.data));
  f.Z.data = (char *)MuonColumnsAt(&f.Y, f.l);
  f.V.data = (char *)MuonColumnsAt(&f.Z, f.l);
  f.H      = MuonColumnsAt(&f.V, f.l);
  if (small <= COLUMNS * f.l) PetscCall(MuonWorkspaceGetIn(c->work, memory, small * small * size, &f.G));
  PetscCall(Find_Private(c, &f));
  if (f.l > rank) PetscCall(Turn_Private(c, &f, rank));
  if (c->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  least = (double)large * 2.0 * kernels->unit * norm;
  PetscCall(MuonWorkspaceGetPinned(c->work, memory, rank * sizeof(double), &norms));
  MuonColumnsNorms_Private(&f.V, rank, norms);
  /* What overflows here is met again when it is written */
  if (exponent != 0) kernels->Divide(large, rank, f.V.data, large, 1.0, -exponent, f.V.data, large);
  PetscCall(MuonWorkspaceGetIn(c->work, memory, (small + large) * rank * size, &first.data));
  kept        = MuonColumnsCopyLarger_Private(f.wide ? &f.V : &f.Y, rank, norms, least, &first);
  second.data = (char *)MuonColumnsAt(&first, kept);
  (void)MuonColumnsCopyLarger_Private(f.wide ? &f.Y : &f.V, rank, norms, least, &second);
  PetscCall(MuonCompressorFactorsEncode_Private(c, T, (PetscInt)kept, first.data, layout, payload));
  PetscFunctionReturn(PETSC_SUCCESS);
}
