/*
   Types that keep full rows or columns.
*/
#include <petscmuon/private/muoncompressorcodec.h>
#include "../../../kernels/codec/muonkernels.h"
#include <float.h>

enum {
  TOGETHER = 32, /* strided vectors that are read at a time: some cache lines of each contiguous vector */
  CHUNK    = 512 /* values that are decoded at a time; a multiple of 8 */
};

typedef struct {
  PetscBool rows; /* rows are kept, otherwise columns */
  PetscReal p;    /* exponent of their norm */
} MuonCompressor_RowColumn;

/*
   The rows or columns of which some are kept. They are the contiguous vectors of the array, or strided vectors with an entry
   in each contiguous one. The fields are their number, their length, and the number that is read at a time. The entries of
   vector k have the numbers first k, first k + stride, ...
*/
typedef struct {
  PetscBool strided;
  size_t    count, length, together, first, stride;
} Vectors;

static Vectors MuonCompressorGetVectors_Private(MuonCompressor c, const MuonArray *A)
{
  Vectors vectors;

  vectors.strided  = ((MuonCompressor_RowColumn *)c->data)->rows != (A->rowmajor ? PETSC_TRUE : PETSC_FALSE) ? PETSC_TRUE : PETSC_FALSE;
  vectors.count    = vectors.strided ? A->len : A->count;
  vectors.length   = vectors.strided ? A->count : A->len;
  vectors.together = vectors.strided ? PetscMin(TOGETHER, A->len) : 1;
  vectors.first    = vectors.strided ? 1 : A->len;
  vectors.stride   = vectors.strided ? A->len : 1;
  return vectors;
}

static PetscErrorCode MuonCompressorLayout_RowColumn(MuonCompressor c, const MuonArray *shape, MuonCompressorLayout *layout)
{
  const Vectors vectors = MuonCompressorGetVectors_Private(c, shape);

  PetscFunctionBegin;
  layout->header.kind   = vectors.strided ? MUON_WIRE_WHOLECOLUMNS : MUON_WIRE_WHOLEROWS;
  layout->header.values = (uint8_t)MuonCompressorCodec_Private(c, shape);
  layout->header.count  = (uint64_t)MuonCompressorKept_Private(c->ratio, (PetscInt64)vectors.count);
  layout->exact         = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x = vectors first ... first + count - 1 of T - R, one after the other */
static void ReadVectors(const Vectors *vectors, size_t first, size_t count, const MuonArray *T, const MuonArray *R, void *x)
{
  const void  *r   = R != NULL ? R->data : NULL;
  const size_t ldr = R != NULL ? R->ld : 0;

  if (vectors->strided) MuonArrayKernels(T)->ResidualStrided(T->count, T->data, T->ld, r, ldr, first, count, x);
  else MuonArrayKernels(T)->Residual(T->len, T->count, T->data, T->ld, r, ldr, first * T->len, count * T->len, x);
}

/*
   The lengths of all vectors. On a device one call computes the sums of all vectors. Vectors with a sum out of range, and all
   vectors for other norms, are processed one by one. buffer has room for the vectors that are read at a time. Sets the status if
   a length is not finite
*/
static PetscErrorCode MuonCompressorAllLengths_Private(MuonCompressor c, const Vectors *vectors, const MuonArray *T, const MuonArray *R, char *buffer, MuonKernelLength lengths[])
{
  const MuonKernels *kernels = MuonArrayKernels(T);
  const PetscReal    given   = ((const MuonCompressor_RowColumn *)c->data)->p;
  const double       p       = given >= PETSC_INFINITY ? HUGE_VAL : (double)given; /* PETSC_INFINITY is a finite number */
  double            *sums    = NULL;
  MuonArray          X       = *T;

  PetscFunctionBegin;
  if (T->memory != MUON_HOST) {
    PetscCall(MuonWorkspaceGetPinned(c->work, T->memory, vectors->count * sizeof(*sums), &sums));
    PetscCall(PetscArrayzero(sums, vectors->count));
    if (R != NULL && (p == 1.0 || p == 2.0)) {
      PetscCall(MuonWorkspaceGetArray(c->work, T, T->precision, &X));
      kernels->Residual(T->len, T->count, T->data, T->ld, R->data, R->ld, 0, MuonArrayEntries(T), X.data);
    }
    if (p == 1.0 || p == 2.0) kernels->VectorSums(X.len, X.count, X.data, X.ld, vectors->strided ? 1 : 0, (int)p, sums);
  }
  for (size_t k = 0, some; k < vectors->count && c->status == MUON_STATUS_OK; k += some) {
    some = sums != NULL ? 1 : PetscMin(vectors->together, vectors->count - k);
    if (sums != NULL && isgreaterequal(sums[k], 1e-250) && islessequal(sums[k], DBL_MAX)) {
      lengths[k].fraction = frexp(sums[k], &lengths[k].exponent);
      continue;
    }
    ReadVectors(vectors, k, some, T, R, buffer);
    for (size_t i = 0; i < some && c->status == MUON_STATUS_OK; i++) {
      const char *x = buffer + i * vectors->length * kernels->size;

      if (kernels->VectorLength(vectors->length, x, p, &lengths[k + i]) != 0) c->status = MUON_STATUS_NANORINF;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorEncode_RowColumn(MuonCompressor c, const MuonArray *T, const MuonArray *R, MuonCompressorLayout *layout, unsigned char payload[])
{
  const Vectors          vectors = MuonCompressorGetVectors_Private(c, T);
  const size_t           kept = (size_t)layout->header.count, all = (size_t)layout->section.values, length = vectors.length;
  const MuonWireValues   codec   = (MuonWireValues)layout->header.values;
  const MuonKernelStream stream  = MuonCompressorStream_Private(c);
  const MuonKernels     *kernels = MuonArrayKernels(T);
  char                  *x;
  MuonKernelLength      *lengths;
  unsigned char         *bitmap;
  uint16_t              *codes = NULL;
  void                  *work;
  size_t                 at = 0;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGet(c->work, vectors.count * sizeof(MuonKernelLength) + (vectors.count + 7) / 8, &lengths));
  PetscCall(MuonWorkspaceGet(c->work, vectors.count * sizeof(size_t), &work));
  PetscCall(MuonWorkspaceGetIn(c->work, T->memory, PetscMax(all, vectors.together * length) * kernels->size, &x));
  bitmap = (unsigned char *)(lengths + vectors.count);
  PetscCall(MuonCompressorAllLengths_Private(c, &vectors, T, R, x, lengths));
  if (c->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogFlops((R != NULL ? 3.0 : 2.0) * (PetscLogDouble)MuonArrayEntries(T)));
  MuonKernelSelectVectors(vectors.count, lengths, (size_t)kept, bitmap, (const MuonKernelLength **)work);
  MuonWireIndicesEncode((MuonWireIndices)layout->header.indices, vectors.count, kept, bitmap, payload);
  if (codec == MUON_WIRE_VALUES_NATURAL) {
    PetscCall(PetscCitationsRegister(MuonCitationNatural, &MuonCitationNaturalSet));
    PetscCall(MuonWorkspaceGetPinned(c->work, T->memory, all * sizeof(*codes), &codes));
  }
  /* The few kept vectors are read again, adjacent ones together. The matrix is not copied */
  for (size_t v = 0, run; v < vectors.count; v += PetscMax(run, 1)) {
    for (run = 0; v + run < vectors.count && (bitmap[(v + run) / 8] >> (v + run) % 8 & 1) != 0;) run++;
    if (run > 0) ReadVectors(&vectors, v, run, T, R, x + at * kernels->size);
    /* The random number of an entry depends only on its place in the matrix */
    for (size_t k = 0; k < run; k++, at += length) {
      if (codes != NULL && kernels->Natural(length, x + at * kernels->size, &stream, (v + k) * vectors.first, vectors.stride, codes + at) != 0) c->status = MUON_STATUS_NANORINF;
    }
  }
  payload += layout->section.valuesat;
  if (codes != NULL) MuonWireValuesEncode(codec, at, codes, payload);
  else PetscCall(MuonCompressorValuesEncode_Private(c, codec, MUON_COMPRESSOR_ROUND_RANDOM, T->memory, T->precision, at, x, 0, payload));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDecode_RowColumn(MuonCompressor c, const MuonCompressorLayout *layout, const unsigned char payload[], PetscBool add, double scale, const MuonArray *Y)
{
  const Vectors       vectors = MuonCompressorGetVectors_Private(c, Y);
  const size_t        all     = (size_t)layout->section.values;
  const MuonKernels  *kernels = MuonArrayKernels(Y);
  const size_t        chunk   = Y->memory == MUON_HOST ? CHUNK : PetscMax(all, 1);
  double              few[CHUNK];
  void               *x = few;
  MuonWireIndexReader reader;
  size_t              v = 0, left = 0; /* entries of it */

  PetscFunctionBegin;
  if (!add) PetscCall(MuonArrayZero(Y));
  MuonWireIndexReaderInit(&reader, (MuonWireIndices)layout->header.indices, vectors.count, layout->header.count, payload);
  if (Y->memory != MUON_HOST) PetscCall(MuonWorkspaceGetIn(c->work, Y->memory, all * kernels->size, &x));
  for (size_t k = 0; k < all; k += chunk) {
    const size_t some = PetscMin(chunk, all - k);

    PetscCall(MuonCompressorValuesDecode_Private(c, (MuonWireValues)layout->header.values, Y->memory, Y->precision, some, payload + layout->section.valuesat, k, x));
    for (size_t i = 0, run; i < some; i += run) {
      const void *from = (const char *)x + i * kernels->size;

      if (left == 0) {
        v    = (size_t)MuonWireIndexReaderNext(&reader);
        left = vectors.length;
      }
      run = PetscMin(left, some - i);
      /* A strided vector is written as vectors of one entry */
      if (vectors.strided) kernels->Spread(1, Y->count, vectors.length - left, run, from, add ? 1 : 0, scale, (char *)Y->data + v * kernels->size, Y->ld);
      else kernels->Spread(Y->len, Y->count, v * Y->len + vectors.length - left, run, from, add ? 1 : 0, scale, Y->data, Y->ld);
      left -= run;
    }
  }
  if (add) PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   In the p-norm no vector that is left out is longer than a kept one. Its sum of squares is therefore at most c times that of a
   kept one, c = length^|1 - 2/p|: ||x||_2 <= a ||x||_p <= a b ||x||_2 with a = max(1, length^(1/2 - 1/p)), b = max(1,
   length^(1/p - 1/2)), and c is the square of a b. Of N vectors, the N - K have at most (N - K) c / K times the sum of squares of
   the K kept ones. The kept ones then have at least K / (K + (N - K) c) of the whole sum
*/
static PetscErrorCode MuonCompressorAlpha_RowColumn(MuonCompressor c, const MuonArray *shape, PetscReal *alpha)
{
  const double  p       = (double)((MuonCompressor_RowColumn *)c->data)->p;
  const Vectors vectors = MuonCompressorGetVectors_Private(c, shape);
  const double  kept = (double)MuonCompressorKept_Private(c->ratio, (PetscInt64)vectors.count), ratio = pow((double)vectors.length, fabs(1.0 - 2.0 / p));

  PetscFunctionBegin;
  *alpha = MuonCompressorRoundDown_Private((double)MuonCompressorCodecAlpha_Private(MuonCompressorCodec_Private(c, shape), shape->precision) * kept / (kept + ((double)vectors.count - kept) * ratio));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The norm is a q-norm of the p-norms of these vectors: the longest vectors are its largest terms */
static PetscErrorCode MuonCompressorAlphaOf_RowColumn(MuonCompressor c, const MuonArray *shape, const MuonNorm *norm, PetscReal *alpha)
{
  const MuonCompressor_RowColumn *data    = (const MuonCompressor_RowColumn *)c->data;
  const Vectors                   vectors = MuonCompressorGetVectors_Private(c, shape);
  const MuonWireValues            codec   = MuonCompressorCodec_Private(c, shape);
  const double                    p       = data->p >= PETSC_INFINITY ? HUGE_VAL : (double)data->p;

  PetscFunctionBegin;
  if (MuonNormIsFrobenius(norm)) PetscCall(MuonCompressorAlpha_RowColumn(c, shape, alpha));
  else if (norm->singular == PETSC_FALSE && norm->p == p && (norm->rows == data->rows || norm->p == norm->q) && (codec != MUON_WIRE_VALUES_NATURAL || (norm->p <= 2 && norm->q <= 2)))
    *alpha = MuonCompressorKeptAlpha_Private((double)MuonCompressorKept_Private(c->ratio, (PetscInt64)vectors.count) / (double)vectors.count, norm->q, (double)MuonCompressorCodecAlpha_Private(codec, shape->precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const MuonParameter MuonCompressorParameters_RowColumn[] = {MUON_ROW("line_norm", REAL, MuonCompressor_RowColumn, p, 2, 1, MUON_UNBOUNDED, NULL, MUON_PARAMETER_INF, "Norm of a row or column"), {NULL, MUON_PARAMETER_INT, 0, 0, 0, 0, NULL, 0, NULL}};

/*MC
   MUONCOMPRESSORCOLUMNTOPK - Keeps the columns of largest norm

   Options Database Keys:
+  -compressor_ratio r                                    - keeps max(1, floor(r n)) columns of an m x n matrix
.  -compressor_line_norm p                                - exponent p of the norm l_p of a column, 1 to `inf`, 2 by default
-  -compressor_values (native|double|single|bf16|natural) - format of the entries

   Level: intermediate

   Notes:
   Of columns with equal norms the first are kept. Norms are sums in double, in a fixed order, without overflow
   or underflow. For p = 1, 2 and `inf` equal norms compare as equal as long as these sums are exact, for other
   p up to rounding.

   With K of n columns the constant of contraction in the Frobenius norm is K/n for p = 2, and K / (K + (n -
   K) m^|1 - 2/p|) for any p, because the l_2 norm of a column that is left out is at most m^|1/2 - 1/p| times
   that of any kept one. Natural values multiply it by 7/8, because the squared error of a kept entry is at most
   1/8 of its square. With exact values it contracts in the norms of `MUONLMOMIXED` with the same p:
   ||C(X) - X||^2 <= (1 - alpha) ||X||^2 in l_{p,q} with alpha = 1 - (1 - K/n)^(2/q), which is 0 for q =
   `inf`.

   The message has the indices of the columns, then their entries. By the formula of the paper it costs K
   (32 m + ceil(log2 n)) bits, with 16 in place of 32 for natural values and bf16.

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MuonCompressorSetRatio()`, `MUONCOMPRESSORROWTOPK`, `MUONCOMPRESSORTOPK`
M*/

/*MC
   MUONCOMPRESSORROWTOPK - Keeps the rows of largest norm

   Options Database Keys:
+  -compressor_ratio r                                    - keeps max(1, floor(r m)) rows of an m x n matrix
.  -compressor_line_norm p                                - exponent p of the norm l_p of a row, 1 to `inf`, 2 by default
-  -compressor_values (native|double|single|bf16|natural) - format of the entries

   Level: intermediate

   Note:
   It is `MUONCOMPRESSORCOLUMNTOPK` of the transposed matrix, with m and n exchanged in the constants. The random
   numbers of natural values are those of the entries' places in the matrix itself.

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MuonCompressorSetRatio()`, `MUONCOMPRESSORCOLUMNTOPK`, `MUONCOMPRESSORTOPK`
M*/

PetscErrorCode MuonCompressorCreate_RowColumn(MuonCompressor c)
{
  MuonCompressor_RowColumn *data;

  PetscFunctionBegin;
  PetscCall(PetscNew(&data));
  PetscCall(PetscObjectTypeCompare((PetscObject)c, MUONCOMPRESSORROWTOPK, &data->rows));
  c->data         = data;
  c->keys         = "ratio values";
  c->ondevice     = PETSC_TRUE;
  c->ops->layout  = MuonCompressorLayout_RowColumn;
  c->ops->encode  = MuonCompressorEncode_RowColumn;
  c->ops->decode  = MuonCompressorDecode_RowColumn;
  c->ops->alpha   = MuonCompressorAlpha_RowColumn;
  c->ops->alphaof = MuonCompressorAlphaOf_RowColumn;
  PetscFunctionReturn(PETSC_SUCCESS);
}
