/*
   A matrix in memory, and the table of kernels that work on it.

   An array is count vectors of len contiguous entries each, ld entries from one to the next. Column-major
   memory has the columns of a matrix as its vectors, row-major memory the rows: rowmajor says which. Entries are numbered in the
   order of memory: entry i of vector j is number j len + i. This is the order of positions on the wire, of ties and of random
   numbers, for both orders of storage. Only code that distinguishes rows from columns uses rowmajor.

   A complex matrix is an array of pairs: entries are reals, the real and the imaginary part of a number by
   turns. len, ld and all kernels count reals, so that what is done entry by entry does not ask. Rows and columns
   are of numbers: norms, polar factors and what selects numbers ask for pairs.

   There is one table of kernels for each pair of precision and memory; a kernel takes raw pointers to entries
   of its own precision. Raw pointers, no PETSc, no MPI.
*/
#pragma once

#include <petscmuonconf.h>
#include <petscmuon/private/muonexport.h>
#include <stddef.h>
#include <stdint.h>

MUON_C_BEGIN

/* Those behind double are of state that is packed: there are no kernels for them but MuonPackedGet() and MuonPackedSet() */
typedef enum {
  MUON_SINGLE,
  MUON_DOUBLE,
  MUON_BF16,
  MUON_INT8,
  MUON_QUARTIC8
} MuonPrecision;

/* Columns whose entries of a row share a scale where they have 8 bits */
#define MUON_PACKED_BLOCK 256
/* The largest finite one, 2^128 - 2^120 */
#define MUON_BF16_MAX 3.3895313892515355e38

typedef enum {
  MUON_HOST,
  MUON_DEVICE
} MuonMemory;

typedef struct {
  void *data;
  /*
     count vectors of len contiguous entries each, ld entries from one to the next; ld may be anything where
     count < 2
  */
  size_t        len, count, ld;
  MuonPrecision precision;
  MuonMemory    memory;
  int           rowmajor; /* the vectors are rows of the matrix, not columns */
  int           pairs;    /* 1 where the matrix is complex: len and ld are even; else 0 */
} MuonArray;

static inline size_t MuonArrayRows(const MuonArray *A)
{
  return A->rowmajor ? A->count : A->len >> A->pairs;
}

static inline size_t MuonArrayColumns(const MuonArray *A)
{
  return A->rowmajor ? A->len >> A->pairs : A->count;
}

static inline size_t MuonArrayEntryBytes(const MuonArray *A)
{
  return A->precision == MUON_SINGLE ? sizeof(float) : A->precision == MUON_DOUBLE ? sizeof(double) : A->precision == MUON_BF16 ? 2 : 1;
}

static inline int MuonArrayIsPacked(const MuonArray *A)
{
  return A->precision > MUON_DOUBLE;
}

/* The number at row i, column j of the matrix */
static inline void *MuonArrayAt(const MuonArray *A, size_t i, size_t j)
{
  return (char *)A->data + (A->rowmajor ? i * A->ld + (j << A->pairs) : j * A->ld + (i << A->pairs)) * MuonArrayEntryBytes(A);
}

/* rows x columns numbers from row i, column j on, in the same memory */
static inline MuonArray MuonArrayPart(const MuonArray *A, size_t i, size_t j, size_t rows, size_t columns)
{
  MuonArray part = *A;

  part.data  = A->data == NULL ? NULL : MuonArrayAt(A, i, j);
  part.len   = (A->rowmajor ? columns : rows) << A->pairs;
  part.count = A->rowmajor ? rows : columns;
  return part;
}

/* An array of the same shape and order without gaps: in other memory, or in none where data is NULL */
static inline MuonArray MuonArrayLike(const MuonArray *A, MuonPrecision precision, void *data)
{
  MuonArray like = *A;

  like.data      = data;
  like.ld        = A->len;
  like.precision = precision;
  return like;
}

static inline size_t MuonArrayEntries(const MuonArray *A)
{
  return A->len * A->count;
}

static inline size_t MuonPackedScaleBytes(const MuonArray *A)
{
  return A->precision > MUON_BF16 ? MuonArrayRows(A) * ((MuonArrayColumns(A) + MUON_PACKED_BLOCK - 1) / MUON_PACKED_BLOCK) * sizeof(float) : 0;
}

/* Of an array without gaps */
static inline size_t MuonArrayBytes(const MuonArray *A)
{
  return MuonPackedScaleBytes(A) + MuonArrayEntries(A) * MuonArrayEntryBytes(A);
}

/*
   The kernels of all arrays: what a list names, a table has as a member, the host as two functions, and a
   device as functions of the same names. Coefficients are double and rounded to the precision of the entries
   that are written, once.
*/
#include <petscmuon/private/muonkernelslist.h>

#define MUON_KERNEL_MEMBER(type, name, arguments) type(*name) arguments;
typedef struct {
  const char *name; /* single, double */
  size_t      size; /* bytes of an entry */
  double      unit; /* its roundoff: 2^-24, 2^-53 */
  MUON_KERNELS_PASSES(MUON_KERNEL_MEMBER)
  MUON_KERNELS_MESSAGES(MUON_KERNEL_MEMBER)
  MUON_KERNELS_NORMS(MUON_KERNEL_MEMBER)
} MuonKernels;
#undef MUON_KERNEL_MEMBER

#define MUON_KERNEL_DECLARE(type, name, arguments) \
  type MuonKernel##name##Single arguments; \
  type MuonKernel##name##Double arguments;
MUON_KERNELS_PASSES(MUON_KERNEL_DECLARE)
MUON_KERNELS_MESSAGES(MUON_KERNEL_DECLARE)
MUON_KERNELS_NORMS(MUON_KERNEL_DECLARE)
#undef MUON_KERNEL_DECLARE

/*
   What the kernels Top and TopRounded need beside the bitmap: entries of kept, and bytes of scratch for
   values of size bytes
*/
MUON_EXPORT size_t MuonKernelTopRoom(size_t entries, size_t count);
MUON_EXPORT size_t MuonKernelTopScratch(size_t entries, size_t size);
/* The addend of the kernel Powers for the nearest power of two */
#define MUON_KERNEL_HALF ((uint32_t)1 << 22)

/* By precision */
MUON_EXPORT extern const MuonKernels MuonKernelsHost[2];
/* NULL where the library was built without kernels for that memory */
MUON_EXPORT const MuonKernels *MuonKernelsGet(MuonPrecision precision, MuonMemory memory);

static inline const MuonKernels *MuonArrayKernels(const MuonArray *A)
{
  return MuonKernelsGet(A->precision, A->memory);
}

/*
   How state of a layer is kept: in the precision in which it is computed, or packed, where each rounding takes the words of the stream
   that entries have as those of all rows of the layer. The stream's step is set before
*/
typedef struct {
  MuonPrecision    precision, kept;
  MuonKernelStream stream;
  size_t           row, rows; /* the first row that is here, and how many the layer has */
} MuonStateForm;

/*
   The part of an array on the host, of rows and columns from row and column on, which is the first of a block, to a packed one and from it; to
   nearest where form is NULL. Set returns 1 where all is finite
*/
MUON_EXPORT int  MuonPackedSet(const MuonStateForm *form, const MuonArray *wide, size_t row, size_t column, const MuonArray *packed);
MUON_EXPORT void MuonPackedGet(const MuonArray *packed, size_t row, size_t column, const MuonArray *wide);

/* Y = a X + b Y for arrays of the same shape, whatever the precision of either is */
MUON_EXPORT void MuonArrayAxpby(double a, const MuonArray *X, double b, const MuonArray *Y);
/* 1 when all entries are finite */
MUON_EXPORT int MuonArrayIsFinite(const MuonArray *X);

/*
   Of pairs, on the host: R = |Z|, in double and without gaps; Y = R Z / |Z|, zero where Z is; and bits of so
   many numbers become those of their reals, of which the last word is whole. Multiply is the kernel of that
   name for complex matrices, whose transpose is the conjugate one
*/
void MuonArrayModuli(const MuonArray *Z, const MuonArray *R);
void MuonArrayPhases(const MuonArray *R, const MuonArray *Z, const MuonArray *Y);
void MuonKernelPairMultiply(MuonPrecision, int transa, int transb, size_t m, size_t n, size_t k, double a, const void *A, size_t lda, const void *B, size_t ldb, double b, void *Y, size_t ldy);
void MuonKernelPairBits(size_t count, const unsigned char *bits, unsigned char *pairs);
/* What R is like: an array of doubles without data and gaps, in which a number of Z is an entry */
static inline MuonArray MuonArrayOfNumbers(const MuonArray *Z)
{
  MuonArray R = *Z;

  R.data      = NULL;
  R.precision = MUON_DOUBLE;
  R.len = R.ld = Z->len >> Z->pairs;
  R.pairs      = 0;
  return R;
}

MUON_C_END
