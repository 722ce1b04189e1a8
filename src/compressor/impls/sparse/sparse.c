/*
   Types that keep some entries of a matrix, each with its position or the seed of all positions.
*/
#include <petscmuon/private/muoncompressorcodec.h>
#include "../../../kernels/codec/muonkernels.h"

enum {
  SEED  = 8,  /* bytes of a seed */
  CHUNK = 512 /* values that are decoded at a time; a multiple of 64 */
};

typedef struct {
  PetscInt entries; /* entries of a block of which the largest are kept; 0: the whole array */
} MuonCompressor_TopK;

/*
   The number of entries that are stored into an array at a time, a multiple of 64. They and their values stay in the cache of
   the processor
*/
#define STRIP ((size_t)16384)
/* The same in the memory of a device */
#define DEVICE_STRIP ((size_t)1 << 24)

/* The units of the selection: entries, or the numbers of a complex array */
static size_t MuonCompressorNumbers_Private(const MuonArray *A)
{
  return MuonArrayEntries(A) >> A->pairs;
}

/* Entries of a block, and the number that is kept of all blocks; fraction is the smallest kept fraction of a block */
static size_t MuonCompressorBlockKept_Private(MuonCompressor c, size_t d, PetscInt64 *kept, double *fraction)
{
  const MuonCompressor_TopK *topk  = (const MuonCompressor_TopK *)c->data;
  const size_t               block = topk != NULL && topk->entries > 0 && (size_t)topk->entries < d ? (size_t)topk->entries : d, rest = d > 0 ? d % block : 0;
  const PetscInt64           each = MuonCompressorKept_Private(c->ratio, (PetscInt64)block), last = rest > 0 ? MuonCompressorKept_Private(c->ratio, (PetscInt64)rest) : 0;

  *kept = (d > 0 ? (PetscInt64)(d / block) * each : 0) + last;
  if (fraction != NULL) *fraction = PetscMin((double)each / (double)block, rest > 0 ? (double)last / (double)rest : 1.0);
  return block;
}

static PetscErrorCode MuonCompressorLayout_Sparse(MuonCompressor c, const MuonArray *shape, MuonCompressorLayout *layout)
{
  PetscInt64   kept;
  PetscBool    seeded;
  const size_t d = MuonCompressorNumbers_Private(shape);

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)c, MUONCOMPRESSORRANDK, &seeded));
  MuonCompressorCheck(c, MuonCompressorBlockKept_Private(c, d, &kept, NULL) == d || !shape->pairs, PETSC_ERR_SUP, "_block_entries", "%" PetscInt_FMT " for a complex layer, expected 0", ((MuonCompressor_TopK *)c->data)->entries);
  layout->header.kind   = seeded ? MUON_WIRE_SEEDED : MUON_WIRE_SPARSE;
  layout->header.values = (uint8_t)MuonCompressorCodec_Private(c, shape);
  layout->header.count  = (uint64_t)kept << shape->pairs;
  layout->exact         = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorKeptEncode_Private(MuonCompressor c, MuonWireValues codec, MuonPrecision precision, size_t entries, const unsigned char bitmap[], PetscInt64 kept, const void *x, unsigned char to[])
{
  const MuonKernelStream stream  = MuonCompressorStream_Private(c);
  const float           *singles = (const float *)x;
  float                 *rounded;
  uint16_t              *codes;

  PetscFunctionBegin;
  if (codec != MUON_WIRE_VALUES_NATURAL) {
    PetscCall(MuonCompressorValuesEncode_Private(c, codec, MUON_COMPRESSOR_ROUND_RANDOM, MUON_HOST, precision, (size_t)kept, x, 0, to));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  /*
     The random number of a kept entry depends only on its place in the matrix
  */
  PetscCall(PetscCitationsRegister(MuonCitationNatural, &MuonCitationNaturalSet));
  if (precision == MUON_DOUBLE) {
    PetscCall(MuonWorkspaceGet(c->work, (size_t)kept * sizeof(*rounded), &rounded));
    (void)MuonKernelsGet(precision, MUON_HOST)->ToSingle((size_t)kept, x, 0, rounded);
    singles = rounded;
  }
  PetscCall(MuonWorkspaceGet(c->work, (size_t)kept * sizeof(*codes), &codes));
  if (MuonKernelNaturalKept(entries, singles, bitmap, &stream, codes) != 0) c->status = MUON_STATUS_NANORINF;
  else MuonWireValuesEncode(codec, (uint64_t)kept, codes, to);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Positions as a bitmap. A device copies the bitmap, and writes all entries in one call */
static PetscErrorCode MuonCompressorMark_Private(MuonCompressor c, size_t entries, PetscInt64 kept, MuonWireIndexReader *reader)
{
  const size_t   bytes = (entries + 63) / 64 * 8;
  unsigned char *bitmap;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGetPinned(c->work, MUON_DEVICE, bytes, &bitmap));
  if (reader->indices == MUON_WIRE_INDICES_BITMAP) PetscCall(PetscMemcpy(bitmap, reader->from, (entries + 7) / 8));
  else {
    PetscCall(PetscMemzero(bitmap, bytes));
    for (PetscInt64 k = 0; k < kept; k++) {
      const size_t at = (size_t)MuonWireIndexReaderNext(reader);

      bitmap[at / 8] |= (unsigned char)(1u << at % 8);
    }
  }
  MuonWireIndexReaderInit(reader, MUON_WIRE_INDICES_BITMAP, entries, (uint64_t)kept, bitmap);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorKeptDecode_Private(MuonCompressor c, MuonWireValues codec, PetscInt64 kept, MuonWireIndexReader *reader, const unsigned char from[], PetscBool add, double scale, const MuonArray *Y)
{
  const MuonKernels *kernels = MuonArrayKernels(Y);
  const size_t       entries = MuonArrayEntries(Y), strip = Y->memory == MUON_HOST ? STRIP : DEVICE_STRIP;

  PetscFunctionBegin;
  if (!add) PetscCall(MuonArrayZero(Y));
  if (Y->memory != MUON_HOST) PetscCall(MuonCompressorMark_Private(c, entries, kept, reader));
  if (reader->indices == MUON_WIRE_INDICES_BITMAP) {
    char  *x;
    size_t done = 0;

    PetscCall(MuonWorkspaceGetIn(c->work, Y->memory, (PetscMin((size_t)kept, strip) + 64) * kernels->size, &x));
    for (size_t first = 0; first < entries; first += strip) {
      const size_t some = PetscMin(strip, entries - first), count = MuonKernelCountBits(reader->from, first, some), skip = done % 64;

      /* Values are read from a multiple of 64 on */
      PetscCall(MuonCompressorValuesDecode_Private(c, codec, Y->memory, Y->precision, skip + count, from, done - skip, x));
      kernels->Scatter(Y->len, Y->count, reader->from, first, some, x + skip * kernels->size, add ? 1 : 0, scale, Y->data, Y->ld);
      done += count;
    }
  } else {
    /* Positions as numbers: few entries */
    for (PetscInt64 k = 0; k < kept; k += CHUNK) {
      const PetscInt64 some = PetscMin(CHUNK, kept - k);
      double           x[CHUNK];

      PetscCall(MuonCompressorValuesDecode_Private(c, codec, Y->memory, Y->precision, (size_t)some, from, (uint64_t)k, x));
      for (PetscInt64 i = 0; i < some; i++) kernels->Spread(Y->len, Y->count, (size_t)MuonWireIndexReaderNext(reader), 1, (const char *)x + (size_t)i * kernels->size, add ? 1 : 0, scale, Y->data, Y->ld);
    }
  }
  if (add) PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)kept));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Complex numbers are chosen by their moduli, without rounding; both parts of each are kept */
static PetscErrorCode MuonCompressorEncode_TopPairs(MuonCompressor c, const MuonArray *T, const MuonArray *R, MuonCompressorLayout *layout, unsigned char payload[])
{
  const MuonKernels   *kernels = MuonArrayKernels(T), *doubles = MuonKernelsGet(MUON_DOUBLE, MUON_HOST);
  const size_t         d = MuonArrayEntries(T), numbers = d / 2, kept = (size_t)layout->header.count, most = MuonKernelTopRoom(numbers, kept / 2) * sizeof(double);
  const MuonWireValues codec = (MuonWireValues)layout->header.values;
  MuonArray            X = *T, moduli = MuonArrayOfNumbers(T);
  unsigned char       *bits, *bitmap;
  void                *values, *room, *work;

  PetscFunctionBegin;
  if (R != NULL) {
    PetscCall(MuonWorkspaceGetArray(c->work, T, T->precision, &X));
    kernels->Residual(T->len, T->count, T->data, T->ld, R->data, R->ld, 0, d, X.data);
  }
  PetscCall(MuonWorkspaceGet(c->work, MuonArrayBytes(&moduli), &moduli.data));
  PetscCall(MuonWorkspaceGet(c->work, (numbers + 63) / 64 * 8, &bits));
  PetscCall(MuonWorkspaceGet(c->work, (d + 63) / 64 * 8, &bitmap));
  PetscCall(MuonWorkspaceGet(c->work, kept * kernels->size, &values));
  PetscCall(MuonWorkspaceGet(c->work, most, &room));
  PetscCall(MuonWorkspaceGet(c->work, MuonKernelTopScratch(numbers, sizeof(double)), &work));
  MuonArrayModuli(&X, &moduli);
  PetscCall(PetscLogFlops((R != NULL ? 3.0 : 2.0) * (PetscLogDouble)d));
  if (doubles->Top(moduli.len, moduli.count, moduli.data, moduli.ld, NULL, 0, kept / 2, bits, room, work) != 0) c->status = MUON_STATUS_NANORINF;
  else {
    MuonKernelPairBits(numbers, bits, bitmap);
    if (kernels->Gather(X.len, X.count, X.data, X.ld, NULL, 0, MuonCompressorCodecLimit_Private(codec, T->precision), bitmap, values) != 0) c->status = MUON_STATUS_NANORINF;
  }
  if (c->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  MuonWireIndicesEncode((MuonWireIndices)layout->header.indices, d, kept, bitmap, payload);
  PetscCall(MuonCompressorKeptEncode_Private(c, codec, T->precision, d, bitmap, (PetscInt64)kept, values, payload + layout->section.valuesat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries are compared in the precision of the message: binary32 for all codecs but double */
static PetscErrorCode MuonCompressorEncode_TopK(MuonCompressor c, const MuonArray *T, const MuonArray *R, MuonCompressorLayout *layout, unsigned char payload[])
{
  const MuonKernels   *kernels = MuonArrayKernels(T);
  const size_t         d = MuonArrayEntries(T), ldr = R != NULL ? R->ld : 0;
  const PetscInt64     kept      = (PetscInt64)layout->header.count;
  const MuonWireValues codec     = (MuonWireValues)layout->header.values;
  const MuonPrecision  precision = codec == MUON_WIRE_VALUES_DOUBLE ? T->precision : MUON_SINGLE;
  const size_t         size      = MuonKernelsGet(precision, MUON_HOST)->size;
  const void          *r         = R != NULL ? R->data : NULL;
  unsigned char       *bitmap;
  char                *values;
  void                *work, *x = NULL;
  PetscInt64           all;
  const size_t         block = MuonCompressorBlockKept_Private(c, d, &all, NULL), each = (size_t)MuonCompressorKept_Private(c->ratio, (PetscInt64)block);
  int                  infinite = 0;

  PetscFunctionBegin;
  PetscCall(PetscCitationsRegister(MuonCitationEF21, &MuonCitationEF21Set));
  if (T->pairs) {
    PetscCall(MuonCompressorEncode_TopPairs(c, T, R, layout, payload));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  /* The values of a block begin at the end of those before it; its room can be longer */
  PetscCall(MuonWorkspaceGetPinned(c->work, T->memory, ((size_t)kept - each + MuonKernelTopRoom(block, each)) * size, &values));
  PetscCall(MuonWorkspaceGetPinned(c->work, T->memory, (d + 63) / 64 * 8, &bitmap));
  PetscCall(MuonWorkspaceGet(c->work, MuonKernelTopScratch(block, size), &work));
  if (block < d) PetscCall(MuonWorkspaceGetIn(c->work, T->memory, block * kernels->size, &x));
  for (size_t first = 0, done = 0; first < d && infinite == 0; first += block) {
    const size_t some = PetscMin(block, d - first), here = (size_t)MuonCompressorKept_Private(c->ratio, (PetscInt64)some);
    MuonArray    B = *T;

    if (block < d) {
      kernels->Residual(T->len, T->count, T->data, T->ld, r, ldr, first, some, x);
      B.len = B.ld = some;
      B.count      = 1;
      B.data       = x;
    }
    if (precision == T->precision) infinite = kernels->Top(B.len, B.count, B.data, B.ld, block < d ? NULL : r, ldr, here, bitmap + first / 8, values + done * size, work);
    else infinite = kernels->TopRounded(B.len, B.count, B.data, B.ld, block < d ? NULL : r, ldr, here, bitmap + first / 8, (float *)(void *)(values + done * size), work);
    done += here;
  }
  if (R != NULL) PetscCall(PetscLogFlops((PetscLogDouble)d));
  if (infinite != 0) {
    c->status = MUON_STATUS_NANORINF;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  MuonWireIndicesEncode((MuonWireIndices)layout->header.indices, d, (uint64_t)kept, bitmap, payload);
  PetscCall(MuonCompressorKeptEncode_Private(c, codec, precision, d, bitmap, kept, values, payload + layout->section.valuesat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDecode_TopK(MuonCompressor c, const MuonCompressorLayout *layout, const unsigned char payload[], PetscBool add, double scale, const MuonArray *Y)
{
  MuonWireIndexReader reader;

  PetscFunctionBegin;
  MuonWireIndexReaderInit(&reader, (MuonWireIndices)layout->header.indices, layout->section.numbered, layout->header.count, payload);
  PetscCall(MuonCompressorKeptDecode_Private(c, (MuonWireValues)layout->header.values, (PetscInt64)layout->header.count, &reader, payload + layout->section.valuesat, add, scale, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The bitmap of the entries that a seed draws, or of complex numbers with both parts */
static PetscErrorCode MuonCompressorDraw_Private(MuonCompressor c, const MuonArray *A, size_t kept, uint64_t seed, unsigned char **bitmap)
{
  const size_t   d = MuonArrayEntries(A);
  unsigned char *bits;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGetPinned(c->work, A->memory, (d + 63) / 64 * 8, bitmap));
  if (A->pairs) {
    PetscCall(MuonWorkspaceGet(c->work, (d / 2 + 63) / 64 * 8, &bits));
    MuonKernelSubset(d / 2, kept / 2, seed, bits);
    MuonKernelPairBits(d / 2, bits, *bitmap);
  } else MuonKernelSubset(d, kept, seed, *bitmap);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorEncode_RandK(MuonCompressor c, const MuonArray *T, const MuonArray *R, MuonCompressorLayout *layout, unsigned char payload[])
{
  const size_t         d     = MuonArrayEntries(T);
  const PetscInt64     kept  = (PetscInt64)layout->header.count;
  const MuonWireValues codec = (MuonWireValues)layout->header.values;
  uint32_t             words[4];
  uint64_t             seed;
  void                *values, *pinned;
  MuonPrecision        precision = T->precision;
  unsigned char       *bitmap;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGetIn(c->work, T->memory, (size_t)kept * MuonArrayEntryBytes(T), &values));
  MuonCompressorWords_Private(c, words);
  seed = (uint64_t)words[0] | (uint64_t)words[1] << 32;
  for (int b = 0; b < SEED; b++) payload[b] = (unsigned char)(seed >> 8 * b & 255u);
  payload += SEED;
  PetscCall(MuonCompressorDraw_Private(c, T, (size_t)kept, seed, &bitmap));
  if (R != NULL) PetscCall(PetscLogFlops((PetscLogDouble)d));
  /* A failure must not depend on the drawn entries, so the others are checked, too */
  if (MuonArrayKernels(T)->Gather(T->len, T->count, T->data, T->ld, R != NULL ? R->data : NULL, R != NULL ? R->ld : 0, MuonCompressorCodecLimit_Private(codec, T->precision), bitmap, values) != 0) c->status = MUON_STATUS_NANORINF;
  else {
    /* Copies from a device have the width of the message */
    if (T->memory != MUON_HOST) {
      PetscCall(MuonWorkspaceGetPinned(c->work, T->memory, (size_t)kept * MuonArrayEntryBytes(T), &pinned));
      if (codec != MUON_WIRE_VALUES_DOUBLE) {
        (void)MuonArrayKernels(T)->ToSingle((size_t)kept, values, 0, (float *)pinned);
        precision = MUON_SINGLE;
      } else MuonDeviceGet()->copy((size_t)kept * MuonArrayEntryBytes(T), values, pinned);
      values = pinned;
    }
    PetscCall(MuonCompressorKeptEncode_Private(c, codec, precision, d, bitmap, kept, values, payload));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every seed is valid */
static PetscErrorCode MuonCompressorDecode_RandK(MuonCompressor c, const MuonCompressorLayout *layout, const unsigned char payload[], PetscBool add, double scale, const MuonArray *Y)
{
  const size_t        d = MuonArrayEntries(Y), count = (size_t)layout->header.count;
  uint64_t            seed = 0;
  unsigned char      *bitmap;
  MuonWireIndexReader reader;

  PetscFunctionBegin;
  for (int b = 0; b < SEED; b++) seed |= (uint64_t)payload[b] << 8 * b;
  PetscCall(MuonCompressorDraw_Private(c, Y, count, seed, &bitmap));
  MuonWireIndexReaderInit(&reader, MUON_WIRE_INDICES_BITMAP, d, count, bitmap);
  PetscCall(MuonCompressorKeptDecode_Private(c, (MuonWireValues)layout->header.values, (PetscInt64)count, &reader, payload + SEED, add, scale, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   topk: of doubles that are equal in binary32 the smallest ones can be kept. With u = 2^-24 the square of such a number is at
   least ((1 - u) / (1 + u))^2 > 1 - 4 u of the square of the others.

   randk: E ||C(X) - X||^2 is (1 - K/d) ||X||^2, and the rounding of the values of the kept K/d is added

   topk in blocks: the bound of each block, with the smallest fraction, is a bound for their sum.

   topk in the q-norm of the entries: the entries that are left out have at most 1 - K/d of the sum of the q-th powers. randk:
   each square has the expectation of its part. For q > 2 there is no bound for random rounding, see
   MuonCompressorKeptAlpha_Private()
*/
static PetscErrorCode MuonCompressorAlphaOf_Sparse(MuonCompressor c, const MuonArray *shape, const MuonNorm *norm, PetscReal *alpha)
{
  const PetscInt64     d       = (PetscInt64)MuonCompressorNumbers_Private(shape);
  const MuonWireValues codec   = MuonCompressorCodec_Private(c, shape);
  const double         bound   = (double)MuonCompressorCodecAlpha_Private(codec, shape->precision);
  const PetscBool      concave = MuonNormIsFrobenius(norm) || (norm->singular == PETSC_FALSE && norm->p <= 2 && norm->q <= 2) ? PETSC_TRUE : PETSC_FALSE;
  double               fraction;
  PetscInt64           kept;
  PetscBool            seeded;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)c, MUONCOMPRESSORRANDK, &seeded));
  (void)MuonCompressorBlockKept_Private(c, (size_t)d, &kept, &fraction);
  /* There is no bound for values of two bits */
  if (codec == MUON_WIRE_VALUES_TWOBIT) PetscFunctionReturn(PETSC_SUCCESS);
  if (seeded) {
    if (concave) *alpha = MuonCompressorRoundDown_Private(bound * (double)kept / (double)d);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (shape->precision == MUON_DOUBLE && codec != MUON_WIRE_VALUES_DOUBLE && kept < d) fraction *= 1.0 - PetscMax(2.0, norm->p) / 8388608.0;
  if (MuonNormIsFrobenius(norm)) *alpha = MuonCompressorRoundDown_Private(bound * fraction);
  else if (norm->singular == PETSC_FALSE && norm->p == norm->q && (concave || codec != MUON_WIRE_VALUES_NATURAL)) *alpha = MuonCompressorKeptAlpha_Private(fraction, norm->p, bound);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The bits of a block fill whole words */
static PetscErrorCode MuonCompressorChanging_TopK(MuonCompressor c, const MuonParameter *row, double value)
{
  PetscFunctionBegin;
  if (row->flags & MUON_PARAMETER_DATA) MuonCompressorCheck(c, (PetscInt)value % 64 == 0, PETSC_ERR_ARG_OUTOFRANGE, "_block_entries", "%" PetscInt_FMT ", expected 0 or a multiple of 64", (PetscInt)value);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const MuonParameter MuonCompressorParameters_TopK[] = {
  {"block_entries", MUON_PARAMETER_INT, offsetof(MuonCompressor_TopK, entries), 0, 0, MUON_UNBOUNDED, NULL, MUON_PARAMETER_DATA, "Entries of each of which the ratio is kept, a multiple of 64; 0: the matrix"},
  {NULL, MUON_PARAMETER_INT, 0, 0, 0, 0, NULL, 0, NULL}};

static PetscErrorCode MuonCompressorAlpha_Sparse(MuonCompressor c, const MuonArray *shape, PetscReal *alpha)
{
  const MuonNorm frobenius = {PETSC_TRUE, PETSC_FALSE, 2, 2};

  PetscFunctionBegin;
  PetscCall(MuonCompressorAlphaOf_Sparse(c, shape, &frobenius, alpha));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MUONCOMPRESSORTOPK - Keeps the entries of largest absolute value

   Options Database Keys:
+  -compressor_ratio r                                         - keeps max(1, floor(r m n)) entries of an m x n matrix
.  -compressor_block_entries n                                 - keeps max(1, floor(r n)) of each n consecutive entries in memory, a multiple of 64; 0, the default, for one block
-  -compressor_values (native|double|single|bf16|natural|2bit) - format of the kept entries

   Level: beginner

   Notes:
   Entries are compared after rounding to binary32 if values are single, bf16 or natural, and unrounded if they are
   double. Of equal absolute values the first in the order of memory are kept, so that the result does not depend on
   the leading dimension, the machine or the number of ranks.
   The constant of contraction in the Frobenius norm is the kept fraction of the entries, 7/8 of it with natural
   values. In the spectral norm the compressor is not contractive. With blocks the constant is the smallest kept
   fraction of a block. The last block may be shorter. With values of 2 bits no constant is known.

   In a complex matrix an entry is a number. Numbers are kept whole, by their moduli, which are compared in double before
   rounding. Both parts of a number are values of the message, at adjacent positions. Blocks are refused.

   2bit: 64 kept entries in the order of memory share two magnitudes in bfloat16, the mean of those above the mean of
   all, and the mean of the others. With 64 of each 4096 entries these are the entries of a block, as in SparseLoCo. The
   choice of the magnitudes is this library's own.

   Both matrices are read once, rarely twice, and are not copied. For K kept entries the scratch memory has K + max(K/4,
   4096) values, and a bit for each entry of the matrix. With blocks K is that of a block, with memory for all kept entries;
   on a device each block has its own kernels.

   The positions are sent as codes of the gaps between them, as a bitmap or as raw numbers, whichever is
   smallest.

   References:
+  * - K. Gruntkowska, A. Gaponov, Z. Tovmasyan, P. Richtarik, Error Feedback for Muon and Friends, https://arxiv.org/abs/2510.00643
-  * - A. Sarfi, B. Therien, J. Lidin, E. Belilovsky, Communication efficient LLM pre-training with SparseLoCo, https://arxiv.org/abs/2508.15706

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MuonCompressorSetRatio()`, `MUONCOMPRESSORRANKK`, `MUONCOMPRESSORNATURAL`
M*/

/*MC
   MUONCOMPRESSORRANDK - Keeps entries chosen at random

   Options Database Keys:
+  -compressor_ratio r                                    - keeps max(1, floor(r m n)) entries of an m x n matrix
-  -compressor_values (native|double|single|bf16|natural) - format of the kept entries

   Level: intermediate

   Notes:
   Every set of this number of entries is equally likely, up to the 64 bits of a seed. Kept entries are not scaled, so
   that the compressor is biased and contracts. The constant in the Frobenius norm is the kept fraction K/(m n) of the
   entries, times 7/8 with natural values. With exact values E ||C(X) - X||^2 = (1 - K/(m n)) ||X||^2 for every X.

   In a complex matrix numbers are chosen, and both parts of each are sent.

   The message has the seed and the values. It has no positions, because the receiver draws them again. The seed is a
   random number of the stream of `MuonCompressorSetStream()` and `MuonCompressorSetStep()`, words 0 and 1 of
   Philox4x32-10 at the counter (2^32 - 1, hash of the name, step, sender + 2^31 direction). src/wire/README.md defines
   the positions of a seed. Senders, steps, layers and directions have different seeds. An object has one seed for each
   step.

   An entry that is not finite, or too large for the format of the values, makes the message fail, even if it is not
   kept.

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MuonCompressorSetRatio()`, `MuonCompressorSetStream()`, `MUONCOMPRESSORTOPK`
M*/

PetscErrorCode MuonCompressorCreate_Sparse(MuonCompressor c)
{
  MuonCompressor_TopK *topk = NULL;
  PetscBool            seeded;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)c, MUONCOMPRESSORRANDK, &seeded));
  if (!seeded) {
    PetscCall(PetscNew(&topk));
    c->ops->changing = MuonCompressorChanging_TopK;
  }
  c->data         = topk;
  c->keys         = "ratio values";
  c->ondevice     = PETSC_TRUE;
  c->onpairs      = PETSC_TRUE;
  c->ops->layout  = MuonCompressorLayout_Sparse;
  c->ops->encode  = seeded ? MuonCompressorEncode_RandK : MuonCompressorEncode_TopK;
  c->ops->decode  = seeded ? MuonCompressorDecode_RandK : MuonCompressorDecode_TopK;
  c->ops->alpha   = MuonCompressorAlpha_Sparse;
  c->ops->alphaof = MuonCompressorAlphaOf_Sparse;
  PetscFunctionReturn(PETSC_SUCCESS);
}
