/*
   Types that send every entry of a matrix, in the order of memory.
*/
#include <petscmuon/private/muoncompressorcodec.h>

enum {
  STRIP        = 4096, /* the number of entries that are rounded or decoded at a time; they begin on a byte */
  DEVICE_STRIP = 1 << 20
};

/*
   Each access to an array on a device takes time. Its strips are therefore long, and in the workspace. few is the buffer of a
   short strip
*/
static PetscErrorCode MuonCompressorGetStrip_Private(MuonCompressor c, const MuonArray *T, double few[], size_t *strip, void **scratch)
{
  PetscFunctionBegin;
  *strip   = T->memory == MUON_HOST ? STRIP : DEVICE_STRIP;
  *scratch = few;
  if (T->memory != MUON_HOST) PetscCall(MuonWorkspaceGetIn(c->work, T->memory, PetscMin(MuonArrayEntries(T), DEVICE_STRIP) * MuonArrayEntryBytes(T), scratch));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Entries first ... first + count - 1 of factor (T - R), in the same memory: in scratch, or in their place if nothing is to be
   computed. In floating point this is not a linear combination of T and R
*/
static const void *Strip(const MuonArray *T, const MuonArray *R, double factor, size_t first, size_t count, void *scratch)
{
  const MuonKernels *kernels = MuonArrayKernels(T);

  if (R == NULL && factor == 1.0 && (T->ld == T->len || T->count < 2)) return (const char *)T->data + first * kernels->size;
  kernels->Residual(T->len, T->count, T->data, T->ld, R != NULL ? R->data : NULL, R != NULL ? R->ld : 0, first, count, scratch);
  if (factor != 1.0) kernels->Axpby(count, 1, factor, scratch, count, 0, scratch, count);
  return scratch;
}

PetscErrorCode MuonCompressorDenseEncode_Private(MuonCompressor c, MuonWireValues codec, MuonCompressorRounding rounding, double factor, const MuonArray *T, const MuonArray *R, unsigned char payload[])
{
  const size_t entries = MuonArrayEntries(T);
  double       few[STRIP];
  void        *scratch;
  size_t       strip;

  PetscFunctionBegin;
  PetscCall(MuonCompressorGetStrip_Private(c, T, few, &strip, &scratch));
  if (codec == MUON_WIRE_VALUES_NATURAL && rounding == MUON_COMPRESSOR_ROUND_RANDOM) PetscCall(PetscCitationsRegister(MuonCitationNatural, &MuonCitationNaturalSet));
  for (size_t first = 0; first < entries && c->status == MUON_STATUS_OK; first += strip) {
    const size_t some = PetscMin(strip, entries - first);
    const void  *x    = Strip(T, R, factor, first, some, scratch);

    if (payload != NULL) PetscCall(MuonCompressorValuesEncode_Private(c, codec, rounding, T->memory, T->precision, some, x, first, payload + MuonWireValuesBytes(codec, first)));
    else if (!MuonArrayKernels(T)->IsBelow(some, 1, x, some, MuonCompressorCodecLimit_Private(codec, T->precision))) c->status = MUON_STATUS_NANORINF;
  }
  PetscCall(PetscLogFlops(((R != NULL ? 1.0 : 0.0) + (factor != 1.0 ? 1.0 : 0.0)) * (PetscLogDouble)entries));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorDenseDecode_Private(MuonCompressor c, MuonWireValues codec, const unsigned char payload[], PetscBool add, double scale, const MuonArray *Y)
{
  const MuonKernels *kernels = MuonArrayKernels(Y);
  const size_t       entries = MuonArrayEntries(Y);
  double             few[STRIP];
  void              *x;
  size_t             strip;

  PetscFunctionBegin;
  PetscCall(MuonCompressorGetStrip_Private(c, Y, few, &strip, &x));
  for (size_t first = 0; first < entries; first += strip) {
    const size_t some = PetscMin(strip, entries - first);

    PetscCall(MuonCompressorValuesDecode_Private(c, codec, Y->memory, Y->precision, some, payload, first, x));
    kernels->Spread(Y->len, Y->count, first, some, x, add ? 1 : 0, scale, Y->data, Y->ld);
  }
  if (add) PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)entries));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The properties in which the types of the family differ */
enum {
  ASSIGNS = 1, /* T itself is sent */
  DAMPS   = 2, /* ratio times the matrix */
  DROPS   = 4  /* the matrix with the probability ratio, otherwise nothing */
};
#define BY_VALUES (-1) /* the codec of -compressor_values */

static const struct Dense {
  const char            *type, *keys;
  int                    codec;
  MuonCompressorRounding rounding;
  unsigned int           flags;
} DenseTypes[] = {{MUONCOMPRESSORIDENTITY, "", BY_VALUES, MUON_COMPRESSOR_ROUND_RANDOM, ASSIGNS},          {MUONCOMPRESSORNATURAL, "", MUON_WIRE_VALUES_NATURAL, MUON_COMPRESSOR_ROUND_RANDOM, 0},
                  {MUONCOMPRESSORNEAREST, "", MUON_WIRE_VALUES_NATURAL, MUON_COMPRESSOR_ROUND_NEAREST, 0}, {MUONCOMPRESSORTRUNCATED, "", MUON_WIRE_VALUES_NATURAL, MUON_COMPRESSOR_ROUND_DOWN, 0},
                  {MUONCOMPRESSORBF16, "", MUON_WIRE_VALUES_BF16, MUON_COMPRESSOR_ROUND_NEAREST, 0},       {MUONCOMPRESSORDAMPING, "ratio values", BY_VALUES, MUON_COMPRESSOR_ROUND_RANDOM, DAMPS},
                  {MUONCOMPRESSORDROPOUT, "ratio values", BY_VALUES, MUON_COMPRESSOR_ROUND_RANDOM, DROPS}};

static MuonWireValues DenseCodec(MuonCompressor c, const MuonArray *A)
{
  const int codec = ((const struct Dense *)c->data)->codec;

  return codec == BY_VALUES ? MuonCompressorCodec_Private(c, A) : (MuonWireValues)codec;
}

static PetscErrorCode MuonCompressorLayout_Dense(MuonCompressor c, const MuonArray *shape, MuonCompressorLayout *layout)
{
  PetscFunctionBegin;
  layout->header.kind   = MUON_WIRE_DENSE;
  layout->header.values = (uint8_t)DenseCodec(c, shape);
  layout->header.count  = MuonArrayEntries(shape);
  layout->exact         = PETSC_TRUE;
  if (((const struct Dense *)c->data)->flags & DROPS) {
    layout->exact  = PETSC_FALSE;
    layout->chance = c->ratio;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorEncode_Dense(MuonCompressor c, const MuonArray *T, const MuonArray *R, MuonCompressorLayout *layout, unsigned char payload[])
{
  const struct Dense  *dense = (const struct Dense *)c->data;
  const MuonWireValues codec = (MuonWireValues)layout->header.values;
  uint32_t             word  = 0;

  PetscFunctionBegin;
  if (dense->flags & DROPS) PetscCall(MuonCompressorCoin_Private(c, &word));
  /*
     The coin, a number below 2^32, is compared exactly: with probability 1 the matrix is always sent. Entries that cannot be
     written are an error even if they are not sent
  */
  if ((dense->flags & DROPS) && (double)word >= 4294967296.0 * (double)c->ratio) {
    PetscCall(MuonCompressorDenseEncode_Private(c, codec, dense->rounding, 1.0, T, R, NULL));
    PetscCall(MuonCompressorSetCount(c, layout, 0));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  /* In floating point R + (T - R) is not T: to assign T, T is sent */
  PetscCall(MuonCompressorDenseEncode_Private(c, codec, dense->rounding, dense->flags & DAMPS ? (double)c->ratio : 1.0, T, dense->flags & ASSIGNS ? NULL : R, payload));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDecode_Dense(MuonCompressor c, const MuonCompressorLayout *layout, const unsigned char payload[], PetscBool add, double scale, const MuonArray *Y)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorDenseDecode_Private(c, (MuonWireValues)layout->header.values, payload, add, scale, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   nearest, in units of the power of two below: with u = 2^-24 all numbers from 3/2 - u on are rounded to 3/2 in binary32, and
   then to 2.

   truncated: a number that is rounded to a power of two in binary32 has only this small error. All other numbers are less
   than twice the power that is kept, also in double.

   damping: the error is the part that is left out, and the roundings of r x and to the codec: at most (1 - r) + u r. Random
   rounding after that is not correlated with it
*/
static PetscErrorCode MuonCompressorAlpha_Dense(MuonCompressor c, const MuonArray *shape, PetscReal *alpha)
{
  const struct Dense  *dense = (const struct Dense *)c->data;
  const MuonWireValues codec = DenseCodec(c, shape);
  const double         r     = (double)c->ratio;
  double               u, variance;

  PetscFunctionBegin;
  MuonCompressorCodecErrors_Private(codec, shape->precision, &u, &variance);
  *alpha = MuonCompressorCodecAlpha_Private(codec, shape->precision);
  if (dense->rounding == MUON_COMPRESSOR_ROUND_DOWN) *alpha = 3.0 / 4.0;
  else if (codec == MUON_WIRE_VALUES_NATURAL && dense->rounding == MUON_COMPRESSOR_ROUND_NEAREST) *alpha = MuonCompressorRoundDown_Private(1.0 - PetscSqr((0.5 + u) / (1.5 - u)));
  else if (dense->flags & DROPS) *alpha = MuonCompressorRoundDown_Private(r * (double)*alpha);
  else if (dense->flags & DAMPS) {
    if (r < 1.0) u += 2.0 * MuonArrayKernels(shape)->unit;
    *alpha = MuonCompressorRoundDown_Private(1.0 - variance * PetscSqr((1.0 + u) * r) - PetscSqr(1.0 - r + u * r));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Norms of columns and rows are absolute, and the error of an entry is at most (1 - alpha)^(1/2) of it. With random rounding only
   the expectation of its square is bounded. For exponents up to 2 the square of a norm is a concave function of the squares of
   the entries.

   For a multiple of X, and for X or nothing, rounding with the relative error u adds at most u ||X||_F <= u most/least ||X||
*/
static PetscErrorCode MuonCompressorAlphaOf_Dense(MuonCompressor c, const MuonArray *shape, const MuonNorm *norm, PetscReal *alpha)
{
  const struct Dense  *dense = (const struct Dense *)c->data;
  const MuonWireValues codec = DenseCodec(c, shape);
  const PetscBool      drawn = codec == MUON_WIRE_VALUES_NATURAL && dense->rounding == MUON_COMPRESSOR_ROUND_RANDOM ? PETSC_TRUE : PETSC_FALSE;
  const double         r     = dense->flags & DAMPS ? (double)c->ratio : 1;
  double               u, variance, least, most;

  PetscFunctionBegin;
  if (MuonNormIsFrobenius(norm) || (norm->singular == PETSC_FALSE && (drawn == PETSC_FALSE || (norm->p <= 2 && norm->q <= 2)))) {
    PetscCall(MuonCompressorAlpha_Dense(c, shape, alpha));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (dense->codec != BY_VALUES || drawn) PetscFunctionReturn(PETSC_SUCCESS);
  MuonNormGetBounds(norm, (double)MuonArrayRows(shape), (double)MuonArrayColumns(shape), &least, &most);
  MuonCompressorCodecErrors_Private(codec, shape->precision, &u, &variance);
  if (r < 1) u += 2.0 * MuonArrayKernels(shape)->unit;
  u = 1 - r + u * r * most / least;
  if (u < 1) *alpha = MuonCompressorRoundDown_Private((dense->flags & DROPS ? (double)c->ratio : 1) * (1 - u * u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MUONCOMPRESSORIDENTITY - Sends the matrix uncompressed, in its precision

   Level: beginner

   Notes:
   This is the default. It sends a matrix and not a difference. `MuonCompressorEncode()` sends T for any R, and the
   receiver assigns it, so that the copies are equal to the last bit.

   `-compressor_values single` sends numbers in single precision, which sender and receiver then have. Other values,
   `-compressor_ratio`, `-compressor_rank` and `-compressor_bits` have no meaning for this type.

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MUONCOMPRESSORNATURAL`, `MUONCOMPRESSORTOPK`, `MUONCOMPRESSORRANKK`
M*/

/*MC
   MUONCOMPRESSORNATURAL - Rounds every entry to one of the two nearest powers of two, at random and without
   bias

   Level: beginner

   Notes:
   An entry is rounded to binary32. Then its mantissa is dropped or carried into the exponent, with the probability
   that makes the expectation exact. The compressor is unbiased with variance at most 1/8 of the square. Its constant
   of contraction is 7/8, minus 2e-8 for doubles, by the rounding to binary32. Zero stays zero, subnormal numbers of
   binary32 become zero, and the largest magnitude is 2^127. An entry takes at most 9 bits, 3.6 if entries are normally
   distributed.

   The parts of complex entries are rounded independently. The message is unbiased, and because |z|^2 is the sum of their
   squares, its variance is at most 1/8 of the square, too.

   The random number of an entry depends on `MuonCompressorSetStream()`, on `MuonCompressorSetStep()` and on the index
   of the entry in memory. Different senders and steps draw independently, and any rank can reproduce them.

   `-compressor_ratio`, `-compressor_rank`, `-compressor_values` and `-compressor_bits` have no meaning for
   this type. `MUONCOMPRESSORTOPK` and `MUONCOMPRESSORRANKK` round their values in this way with
   `-compressor_values natural`.

   Reference:
   S. Horvath, C.-Y. Ho, L. Horvath, A. N. Sahu, M. Canini, P. Richtarik, Natural Compression for Distributed
   Deep Learning, https://arxiv.org/abs/1905.10988

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MuonCompressorSetStream()`, `MUONCOMPRESSORTOPK`, `MUONCOMPRESSORRANKK`
M*/

/*MC
   MUONCOMPRESSORNEAREST - Rounds every entry to the nearest power of two

   Level: intermediate

   Notes:
   An entry is rounded to binary32, then to the nearest power of two, from the middle 1.5 2^a on to the larger one. The
   error of an entry is at most a third of it, besides the rounding to binary32. The constant of contraction is 8/9,
   minus 6e-8 for doubles, in the Frobenius norm and in every norm of the absolute values of the entries. The
   compressor is biased. `MUONCOMPRESSORNATURAL` is unbiased and has the constant 7/8.

   Zero stays zero, and subnormal numbers of binary32 become zero. The largest magnitude is 2^127, so that the constant
   does not hold for entries of 1.5 2^127 and more. An entry takes at most 9 bits, fewer if some powers are frequent.

   `-compressor_ratio`, `-compressor_rank`, `-compressor_values` and `-compressor_bits` have no meaning for
   this type.

   Reference:
   A. Beznosikov, S. Horvath, P. Richtarik, M. Safaryan, On Biased Compression for Distributed Learning,
   https://arxiv.org/abs/2002.12410

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MUONCOMPRESSORTRUNCATED`, `MUONCOMPRESSORNATURAL`, `MUONCOMPRESSORBF16`
M*/

/*MC
   MUONCOMPRESSORTRUNCATED - Drops the mantissa of every entry

   Level: intermediate

   Notes:
   An entry is rounded to binary32, then its mantissa is dropped. The result is the largest power of two that is not
   above it. The error of an entry is less than a half of it. This gives the constant of contraction 3/4, in the
   Frobenius norm and in every norm of the absolute values of the entries. No binary32 grows. A double that is rounded
   up to a power of two in binary32 grows by at most 2^-24 of it.

   Zero stays zero, and subnormal numbers of binary32 become zero. An entry takes at most 9 bits, fewer if some powers
   are frequent.

   `-compressor_ratio`, `-compressor_rank`, `-compressor_values` and `-compressor_bits` have no meaning for
   this type.

   Reference:
   A. Beznosikov, S. Horvath, P. Richtarik, M. Safaryan, On Biased Compression for Distributed Learning,
   https://arxiv.org/abs/2002.12410

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MUONCOMPRESSORNEAREST`, `MUONCOMPRESSORNATURAL`, `MUONCOMPRESSORBF16`
M*/

/*MC
   MUONCOMPRESSORBF16 - Rounds every entry to bfloat16

   Level: intermediate

   Notes:
   An entry is rounded to binary32, then to the nearest number with 8 binary digits and the exponents of binary32, ties
   to even. It takes 16 bits and has an error of at most 2^-8 of the entry. The constant of contraction is 1 - 2^-16,
   in the Frobenius norm and in every norm of the absolute values of the entries. It holds for entries that are not
   subnormal in binary32. If the bfloat16 of an entry is not finite, the status is `MUON_STATUS_NANORINF`.

   `-compressor_ratio`, `-compressor_rank`, `-compressor_values` and `-compressor_bits` have no meaning for
   this type. Sparse and low-rank types write bfloat16 with `-compressor_values bf16`.

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MUONCOMPRESSORIDENTITY`, `MUONCOMPRESSORNEAREST`, `MUONCOMPRESSORNATURAL`
M*/

/*MC
   MUONCOMPRESSORDAMPING - Sends a multiple of the matrix

   Options Database Keys:
+  -compressor_ratio r                                    - the factor, in (0, 1]
-  -compressor_values (native|double|single|bf16|natural) - format of the entries

   Level: intermediate

   Notes:
   The message is r (T - R) with all entries. Only the format of the values saves bytes. It is the simplest operator
   that contracts in every norm, by 1 - (1 - r)^2. Some theories require this, for example for the servers' messages
   in the spectral norm.

   The constant of contraction in the Frobenius norm includes the rounding: 1 - (1 - r)^2 - r^2 / 8 with
   natural values, 1 - (1 - r + u r)^2 for values rounded to nearest with relative errors of at most u, including the
   rounding of r times an entry.

   `-compressor_rank` and `-compressor_bits` have no meaning for this type.

   Reference:
   K. Gruntkowska, A. Gaponov, Z. Tovmasyan, P. Richtarik, Error Feedback for Muon and Friends,
   https://arxiv.org/abs/2510.00643

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MuonCompressorSetRatio()`, `MUONCOMPRESSORDROPOUT`, `MUONCOMPRESSORIDENTITY`
M*/

/*MC
   MUONCOMPRESSORDROPOUT - Sends the full matrix with some probability, otherwise nothing

   Options Database Keys:
+  -compressor_ratio p                                    - the probability, in (0, 1]
-  -compressor_values (native|double|single|bf16|natural) - format of the entries

   Level: intermediate

   Notes:
   A message has T - R, not divided by p, or only a header. The expected squared error is 1 - p of the square, in every
   norm. The constant of contraction is p, rounded up to a multiple of 2^-32, times that of the format of the values;
   `MuonCompressorGetAlpha()` gives p.

   The coin is one 32-bit random number of the object, word 0 of the block 2^32 - 1, which no entry has, see
   `MuonCompressorSetStream()`. The matrix is sent if the number is below p 2^32. Coins of layers, senders, directions
   and steps are independent, and any rank can reproduce them. With probability 1 every message has the matrix.

   An entry that is not finite, or too large for the format of the values, makes the message fail, even if it is not
   sent.

   The paper's accounting always counts p times the matrix. `-compressor_rank` and
   `-compressor_bits` have no meaning for this type.

   Reference:
   K. Gruntkowska, A. Gaponov, Z. Tovmasyan, P. Richtarik, Error Feedback for Muon and Friends,
   https://arxiv.org/abs/2510.00643

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MuonCompressorSetRatio()`, `MuonCompressorSetStream()`, `MUONCOMPRESSORDAMPING`
M*/

static PetscErrorCode MuonCompressorCreate_Dense(MuonCompressor c)
{
  struct Dense *dense;
  PetscBool     same;

  PetscFunctionBegin;
  PetscCall(PetscNew(&dense));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(DenseTypes); k++) {
    PetscCall(PetscStrcmp(DenseTypes[k].type, ((PetscObject)c)->type_name, &same));
    if (same) *dense = DenseTypes[k];
  }
  c->data         = dense;
  c->keys         = dense->keys;
  c->assignment   = dense->flags & ASSIGNS ? PETSC_TRUE : PETSC_FALSE;
  c->ondevice     = PETSC_TRUE;
  c->onpairs      = PETSC_TRUE;
  c->ops->layout  = MuonCompressorLayout_Dense;
  c->ops->encode  = MuonCompressorEncode_Dense;
  c->ops->decode  = MuonCompressorDecode_Dense;
  c->ops->alpha   = MuonCompressorAlpha_Dense;
  c->ops->alphaof = MuonCompressorAlphaOf_Dense;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorRegister_Dense(void)
{
  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(DenseTypes); k++) PetscCall(MuonCompressorRegister(DenseTypes[k].type, MuonCompressorCreate_Dense, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
