/*
   The leading singular vectors by products: subspace iteration on the Gram matrix of the short side, damped by Chebyshev
   polynomials. Each message has a new Gaussian start.

   EF21 has just sent the basis of the last message, and the difference is small in it. As a start this basis would be worse
   than a random one.
*/
#include "lowrank.h" /*I "petscmuoncompressor.h" I*/
#include "../../../kernels/dense/muonpolarreal.h"

enum {
  OVERSAMPLING = 10, /* additional columns of the iteration that are not sent, if at most FEW columns are sent */
  FEW          = 64,
  FIRST        = 3, /* degree of the first polynomial, and of the later ones */
  NEXT         = 2,
  ENOUGH       = 7, /* times the columns is the short side, at most, where one polynomial is enough */
  MORE         = 8, /* times as long takes another */
  FAR          = 4  /* times the columns is the short side, at least, where leading eigenvalues exceed the mean of all */
};

/* Few eigenvalues have most of the square where that of their mean is a smaller part of their mean square. It is .5 of Gaussian square matrices */
#define SPREAD 0.4

typedef struct {
  const MuonArray      *X; /* column-major */
  int                   wide;
  size_t                l;
  MuonColumns           Y, Z, V; /* two of the short side, one of the long side */
  const MuonKernelReal *real;
  void                 *G, *H;  /* the Gram matrix or NULL, and room for a Gram matrix of l columns */
  const void           *held;   /* the function that multiplies by G */
  double                square; /* the square of the norm: the sum of the eigenvalues of G */
  int                   polynomials;
} Finder;

/* V = X Y if the columns of X are the short side, otherwise X^T Y */
static PetscErrorCode Project_Private(Finder *f)
{
  PetscFunctionBegin;
  PetscCall(MuonColumnsMultiply_Private(f->X, f->wide, 0, f->l, 1.0, &f->Y, 0.0, &f->V));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* H = the Cholesky factor of P^T P; false if there is none */
static PetscBool Factor_Private(Finder *f, const MuonColumns *P)
{
  f->real->gram(0, f->l, P->rows, 1, 1.0, P->data, P->rows, 0.0, f->H);
  return f->real->cholesky(f->l, f->H) == 0 ? PETSC_TRUE : PETSC_FALSE;
}

/* P becomes its orthogonal factor, by the Cholesky factor of its Gram matrix, or by Householder's method if there is none */
static PetscErrorCode Orthonormalize_Private(MuonCompressor c, Finder *f, MuonColumns *P)
{
  PetscFunctionBegin;
  if (Factor_Private(f, P)) f->real->solve(0, 0, f->l, P->rows, f->H, P->data, P->rows);
  else PetscCall(MuonColumnsOrthonormalize_Private(c, f->l, P));
  PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)P->rows * (PetscLogDouble)f->l * (PetscLogDouble)f->l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Z = a G Y + b Z */
static PetscErrorCode Times_Private(Finder *f, double a, double b)
{
  const size_t s = f->Y.rows, l = f->l;

  PetscFunctionBegin;
  if (f->G != NULL) {
    f->real->multiply(1, s, l, 1, a, f->G, f->held, f->Y.data, s, b, f->Z.data, s);
    PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)s * (PetscLogDouble)s * (PetscLogDouble)l));
  } else {
    PetscCall(Project_Private(f));
    PetscCall(MuonColumnsMultiply_Private(f->X, !f->wide, 0, l, a, &f->V, b, &f->Z));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void Swap(Finder *f)
{
  const MuonColumns Y = f->Y;

  f->Y = f->Z;
  f->Z = Y;
}

/*
   Y = the orthogonal factor of Z = G Y. The Cholesky factor of H = Y^T Z = (X Y)^T (X Y) makes the columns of X Y orthonormal.
   The columns of X^T X Y are then as well conditioned as the rows of X, and a second factor is enough. If the rank is smaller
   than l, Householder's method is used
*/
static PetscErrorCode Power_Private(MuonCompressor c, Finder *f)
{
  const size_t s = f->Y.rows, l = f->l;

  PetscFunctionBegin;
  f->Y.kernels->Multiply(1, 0, l, l, s, 1.0, f->Y.data, s, f->Z.data, s, 0.0, f->H, l);
  if (f->real->cholesky(l, f->H) == 0) f->real->solve(0, 0, l, s, f->H, f->Z.data, s);
  PetscCall(PetscLogFlops(3.0 * (PetscLogDouble)s * (PetscLogDouble)l * (PetscLogDouble)l));
  Swap(f);
  PetscCall(Orthonormalize_Private(c, f, &f->Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Y = the orthogonal factor of T(2 G / end - I) Y for Z = G Y, with the Chebyshev polynomial T of that degree. Orthonormal
   columns get different sizes by this. The factor of the first step gives the columns of the second step similar sizes
*/
static PetscErrorCode Filter_Private(MuonCompressor c, Finder *f, int degree, double end)
{
  const size_t s = f->Y.rows, l = f->l, entries = s * l;
  PetscBool    scales;

  PetscFunctionBegin;
  f->Z.kernels->Axpby(entries, 1, -1.0, f->Y.data, entries, 2.0 / end, f->Z.data, entries);
  Swap(f);
  scales = degree == NEXT ? Factor_Private(f, &f->Y) : PETSC_FALSE;
  for (; degree > 1; degree--) {
    f->Z.kernels->Axpby(entries, 1, -2.0, f->Y.data, entries, -1.0, f->Z.data, entries);
    PetscCall(Times_Private(f, 4.0 / end, 1.0));
    Swap(f);
  }
  if (scales) f->real->solve(0, 0, l, s, f->H, f->Y.data, s);
  if (scales) PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)l * (PetscLogDouble)entries));
  PetscCall(Orthonormalize_Private(c, f, &f->Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Computes orthonormal Y, and V. A polynomial damps the eigenvalues of G up to the mean of the eigenvalues that are not yet
   captured, in the first step of all. If this mean can be larger than the wanted eigenvalues, a product without damping comes
   first. If only rounding errors are left, such a product is the last step
*/
static PetscErrorCode Find_Private(MuonCompressor c, Finder *f)
{
  const size_t s = f->Y.rows, l = f->l;
  const double mean     = f->square / (double)s;
  PetscBool    captures = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MuonColumnsGaussian_Private(c, PETSC_TRUE, 0, l, &f->Y));
  if (f->G != NULL) {
    f->real->gram(f->wide, s, f->V.rows, 1, 1.0, f->X->data, PetscMax(f->X->ld, f->X->len), 0.0, f->G);
    f->held = f->real->hold(s, 1, f->G);
    PetscCall(PetscLogFlops((PetscLogDouble)s * (PetscLogDouble)MuonArrayEntries(f->X)));
  }
  for (int polynomials = f->polynomials; polynomials > 0; captures = PETSC_TRUE) {
    double left = f->square;
    int    damps;

    PetscCall(Times_Private(f, 1.0, 0.0));
    if (captures) left -= f->Y.kernels->Dot(s, l, f->Y.data, s, f->Z.data, s);
    if (captures) damps = l < s && left > (double)s * f->real->unit * f->square;
    else damps = FAR * l <= s && SPREAD * f->Z.kernels->SumSquares(s, l, f->Z.data, s) <= (double)l * f->square * mean;
    if (damps) PetscCall(Filter_Private(c, f, captures ? NEXT : FIRST, captures ? PetscMin(left / (double)(s - l), mean) : mean));
    else PetscCall(Power_Private(c, f));
    polynomials = damps ? polynomials - 1 : captures ? 0 : polynomials;
  }
  PetscCall(Orthonormalize_Private(c, f, &f->Y));
  PetscCall(Project_Private(f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Rotates Y and V to the K leading directions in their subspace, those of V^T V. Rounding errors mix only directions that
   contribute almost nothing to the square
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

/* Column-major, the message is V Y^T or its transpose */
PetscErrorCode MuonCompressorEncode_Range(MuonCompressor c, const MuonArray *T, const MuonArray *R, MuonCompressorLayout *layout, unsigned char payload[])
{
  const MuonKernels *kernels = MuonArrayKernels(T);
  const MuonMemory   memory  = T->memory;
  const size_t       small = PetscMin(T->len, T->count), large = PetscMax(T->len, T->count), rank = (size_t)MuonCompressorRank_Private(c, T), size = kernels->size;
  Finder             f     = {NULL, T->len < T->count, PetscMin(rank + (rank <= FEW ? OVERSAMPLING : 0), small), {kernels, memory, small, NULL}, {kernels, memory, small, NULL}, {kernels, memory, large, NULL}, NULL, NULL, NULL, NULL, 0.0, 1};
  MuonColumns        first = {kernels, memory, T->count, NULL}, second = {kernels, memory, T->len, NULL};
  MuonArray          X;
  double             norm, least, *norms;
  size_t             kept, products;
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
  f.X      = &X;
  f.square = norm * norm;
  f.real   = memory != MUON_HOST ? MuonKernelRealOfDevice(kernels->name) : T->precision == MUON_SINGLE ? &MuonKernelRealSingle : &MuonKernelRealDouble;
  PetscCall(MuonWorkspaceGetIn(c->work, memory, (2 * small + large + f.l) * f.l * size, &f.Y.data));
  f.Z.data = (char *)MuonColumnsAt(&f.Y, f.l);
  f.V.data = (char *)MuonColumnsAt(&f.Z, f.l);
  f.H      = MuonColumnsAt(&f.V, f.l);
  for (size_t most = ENOUGH * f.l; most < small; most *= MORE) f.polynomials++;
  products = FIRST + NEXT * (size_t)(f.polynomials - 1);
  /* The Gram matrix is computed if this takes fewer operations */
  if (small * large + 2 * products * small * f.l < 4 * products * large * f.l) PetscCall(MuonWorkspaceGetIn(c->work, memory, small * small * size, &f.G));
  PetscCall(Find_Private(c, &f));
  if (f.l > rank) PetscCall(Turn_Private(c, &f, rank));
  if (c->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  least = (double)large * 2.0 * kernels->unit * norm;
  PetscCall(MuonWorkspaceGetPinned(c->work, memory, rank * sizeof(double), &norms));
  MuonColumnsNorms_Private(&f.V, rank, norms);
  /* An overflow is found when the values are written */
  if (exponent != 0) kernels->Divide(large, rank, f.V.data, large, 1.0, -exponent, f.V.data, large);
  PetscCall(MuonWorkspaceGetIn(c->work, memory, (small + large) * rank * size, &first.data));
  kept        = MuonColumnsCopyLarger_Private(f.wide ? &f.V : &f.Y, rank, norms, least, &first);
  second.data = (char *)MuonColumnsAt(&first, kept);
  (void)MuonColumnsCopyLarger_Private(f.wide ? &f.Y : &f.V, rank, norms, least, &second);
  PetscCall(MuonCompressorFactorsEncode_Private(c, T, (PetscInt)kept, first.data, layout, payload));
  PetscFunctionReturn(PETSC_SUCCESS);
}
