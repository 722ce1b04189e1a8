#include <petscmuon/private/muoncompressorcodec.h>
#include <float.h>
#include <math.h>

typedef struct {
  PetscInt                length; /* of a block */
  MuonCompressorBlockNorm norm;
} MuonCompressor_QSGD;

enum {
  STRIP        = 65536,  /* entries of a strip: whole blocks that fit into a cache */
  DEVICE_STRIP = 1 << 20 /* entries of a strip on a device */
};

static unsigned MuonCompressorLengthLog_QSGD(MuonCompressor c)
{
  unsigned log = 0;

  while ((PetscInt)1 << log < ((MuonCompressor_QSGD *)c->data)->length) log++;
  return log;
}

static unsigned MuonCompressorLevels_QSGD(MuonCompressor c)
{
  return (1u << (c->bits - 1)) - 1;
}

static PetscErrorCode MuonCompressorLayout_QSGD(MuonCompressor c, const MuonArray *shape, MuonCompressorLayout *layout)
{
  PetscFunctionBegin;
  /* The place of a block of four random numbers has 32 bits */
  MuonCompressorCheck(c, MuonArrayEntries(shape) <= (size_t)1 << 33, PETSC_ERR_SUP, "", "a layer of %zu x %zu, expected at most 2^33 entries for the type %s", MuonArrayRows(shape), MuonArrayColumns(shape), MUONCOMPRESSORQSGD);
  layout->header.kind      = MUON_WIRE_BLOCKS;
  layout->header.values    = (uint8_t)MuonCompressorCodec_Private(c, shape);
  layout->header.parameter = MuonWireBlocksParameter((unsigned)c->bits, MuonCompressorLengthLog_QSGD(c));
  layout->header.count     = MuonArrayEntries(shape);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The norm, rounded up to a number that the codec and the array can represent, so that no entry exceeds it. 0 if it is too
   small to divide by it, infinite if it is too large
*/
static double MuonCompressorScale_QSGD(MuonWireValues codec, MuonPrecision precision, double norm)
{
  float    single;
  uint32_t bits;

  if (codec == MUON_WIRE_VALUES_DOUBLE && precision == MUON_DOUBLE) return norm < 1e-300 ? 0.0 : norm;
  if (norm < (double)FLT_MIN) return 0.0;
  if (norm > (double)FLT_MAX) return HUGE_VAL;
  single = (float)norm;
  memcpy(&bits, &single, sizeof(bits));
  bits += (uint32_t)((double)single < norm);
  if (codec == MUON_WIRE_VALUES_BF16) bits = (bits + 0xFFFFu) & 0xFFFF0000u;
  if (codec == MUON_WIRE_VALUES_NATURAL) bits = (bits + 0x7FFFFFu) & 0xFF800000u;
  memcpy(&single, &bits, sizeof(single));
  return (double)single;
}

/*
   The norms of the blocks of a strip. If an entry is not finite, sets the status or returns an infinite norm
*/
static PetscErrorCode MuonCompressorNorms_QSGD(MuonCompressor c, const MuonKernels *kernels, MuonMemory memory, size_t entries, const char *x, double norms[])
{
  const MuonCompressor_QSGD *qsgd   = (const MuonCompressor_QSGD *)c->data;
  const size_t               length = (size_t)qsgd->length, full = entries / length;
  const PetscBool            max  = qsgd->norm == MUON_COMPRESSOR_BLOCK_NORM_MAX ? PETSC_TRUE : PETSC_FALSE;
  size_t                     done = 0;
  double                    *sums;
  int64_t                   *place;
  MuonMark                   mark;

  PetscFunctionBegin;
  /* On a device all blocks are processed in one call, as vectors: one call for each would take longer than the work */
  if (memory != MUON_HOST && full > 0) {
    if (kernels->IsBelow(entries, 1, x, entries, HUGE_VAL) == 0) {
      c->status = MUON_STATUS_NANORINF;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(MuonWorkspaceMark(c->work, &mark));
    PetscCall(MuonWorkspaceGetIn(c->work, memory, full * sizeof(*place), &place));
    kernels->VectorArgMax(length, full, x, length, 0, norms, place);
    done = full;
    if (!max) {
      PetscCall(MuonWorkspaceGetPinned(c->work, memory, full * sizeof(*sums), &sums));
      kernels->VectorSums(length, full, x, length, 0, 2, sums);
      for (size_t k = 0; k < full; k++) {
        /* The squares neither overflow nor underflow */
        if (sums[k] > 1e-250 && sums[k] < 1e250) norms[k] = sqrt(sums[k]);
        else if (norms[k] > 0.0) norms[k] = kernels->Euclidean(length, x + k * length * kernels->size);
      }
    }
    PetscCall(MuonWorkspaceRelease(c->work, &mark));
  }
  for (size_t first = done * length; first < entries; first += length, done++) {
    const size_t some  = PetscMin(length, entries - first);
    const void  *block = x + first * kernels->size;

    norms[done] = max ? kernels->MaxAbs(some, 1, block, some) : kernels->Euclidean(some, block);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorEncode_QSGD(MuonCompressor c, const MuonArray *T, const MuonArray *R, MuonCompressorLayout *layout, unsigned char payload[])
{
  const MuonKernels     *kernels = MuonArrayKernels(T);
  const size_t           strip   = T->memory == MUON_HOST ? STRIP : DEVICE_STRIP;
  const MuonWireValues   codec   = (MuonWireValues)layout->header.values;
  const MuonKernelStream stream  = MuonCompressorStream_Private(c);
  const unsigned         bits = (unsigned)c->bits, lengthlog = MuonCompressorLengthLog_QSGD(c);
  const size_t           d = MuonArrayEntries(T), length = (size_t)((MuonCompressor_QSGD *)c->data)->length;
  char                  *x;
  double                *scales;
  unsigned char         *codes;
  PetscBool              zero = PETSC_TRUE;

  PetscFunctionBegin;
  if (d == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonWorkspaceGetIn(c->work, T->memory, PetscMin(strip, d) * kernels->size, &x));
  PetscCall(MuonWorkspaceGetPinned(c->work, T->memory, (size_t)layout->section.values * sizeof(double), &scales));
  PetscCall(MuonWorkspaceGetPinned(c->work, T->memory, PetscMin(strip, d), &codes));
  for (size_t first = 0; first < d; first += strip) {
    const size_t some = PetscMin(strip, d - first);
    double      *here = scales + first / length;

    kernels->Residual(T->len, T->count, T->data, T->ld, R != NULL ? R->data : NULL, R != NULL ? R->ld : 0, first, some, x);
    PetscCall(MuonCompressorNorms_QSGD(c, kernels, T->memory, some, x, here));
    for (size_t k = 0; k * length < some && c->status == MUON_STATUS_OK; k++) {
      here[k] = MuonCompressorScale_QSGD(codec, T->precision, here[k]);
      if (here[k] > DBL_MAX) c->status = MUON_STATUS_NANORINF;
      if (here[k] > 0.0) zero = PETSC_FALSE;
    }
    if (c->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
    kernels->Quantize(some, x, lengthlog, here, MuonCompressorLevels_QSGD(c), &stream, first, codes);
    MuonWireCodesEncode(bits, 1, some, codes, payload + first / 8 * bits);
  }
  PetscCall(PetscLogFlops((R != NULL ? 4.0 : 3.0) * (PetscLogDouble)d));
  /* The scales are written without another rounding. A matrix without scales has no codes */
  if (zero) PetscCall(MuonCompressorSetCount(c, layout, 0));
  else PetscCall(MuonCompressorValuesEncode_Private(c, codec, MUON_COMPRESSOR_ROUND_RANDOM, MUON_HOST, MUON_DOUBLE, (size_t)layout->section.values, scales, 0, payload + layout->section.valuesat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   x = the levels of a strip times the steps of its blocks. On a device this is one call: levels are small integers, so that a
   product is rounded once, as on the host
*/
static PetscErrorCode MuonCompressorDequantize_QSGD(MuonCompressor c, const MuonKernels *kernels, const MuonArray *Y, size_t entries, const unsigned char codes[], double steps[], char *x)
{
  const size_t length = (size_t)((MuonCompressor_QSGD *)c->data)->length, full = entries / length, rest = entries - full * length;
  double      *ones;
  MuonMark     mark;

  PetscFunctionBegin;
  if (Y->memory == MUON_HOST) {
    for (size_t k = 0; k * length < entries; k++) kernels->Dequantize(PetscMin(length, entries - k * length), codes + k * length, steps[k], x + k * length * kernels->size);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonWorkspaceMark(c->work, &mark));
  PetscCall(MuonWorkspaceGetPinned(c->work, Y->memory, full * sizeof(*ones), &ones));
  for (size_t k = 0; k < full; k++) {
    ones[k] = 1.0;
    if (Y->precision == MUON_SINGLE) steps[k] = (double)(float)steps[k];
  }
  kernels->Dequantize(full * length, codes, 1.0, x);
  kernels->VectorScale(length, full, x, length, 0, steps, ones, x, length);
  if (rest > 0) kernels->Dequantize(rest, codes + full * length, steps[full], x + full * length * kernels->size);
  PetscCall(MuonWorkspaceRelease(c->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDecode_QSGD(MuonCompressor c, const MuonCompressorLayout *layout, const unsigned char payload[], PetscBool add, double scale, const MuonArray *Y)
{
  const MuonKernels *kernels = MuonArrayKernels(Y);
  const size_t       strip = Y->memory == MUON_HOST ? STRIP : DEVICE_STRIP, d = MuonArrayEntries(Y), length = (size_t)((MuonCompressor_QSGD *)c->data)->length;
  char              *x;
  double            *steps;
  unsigned char     *codes;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGetIn(c->work, Y->memory, PetscMin(strip, d) * kernels->size, &x));
  PetscCall(MuonWorkspaceGetPinned(c->work, Y->memory, PetscMin(strip, d), &codes));
  PetscCall(MuonWorkspaceGetPinned(c->work, Y->memory, (size_t)layout->section.values * sizeof(double), &steps));
  PetscCall(MuonCompressorValuesDecode_Private(c, (MuonWireValues)layout->header.values, MUON_HOST, MUON_DOUBLE, (size_t)layout->section.values, payload + layout->section.valuesat, 0, steps));
  for (size_t k = 0; k * length < d; k++) steps[k] /= (double)MuonCompressorLevels_QSGD(c);
  for (size_t first = 0; first < d; first += strip) {
    const size_t some = PetscMin(strip, d - first);

    MuonWireCodesDecode((unsigned)c->bits, 1, some, payload, first, codes);
    PetscCall(MuonCompressorDequantize_QSGD(c, kernels, Y, some, codes, steps + first / length, x));
    kernels->Spread(Y->len, Y->count, first, some, x, add ? 1 : 0, scale, Y->data, Y->ld);
  }
  PetscCall(PetscLogFlops((add ? 3.0 : 1.0) * (PetscLogDouble)d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   In units of scale/s an entry is y and its variance f(y) = (y - k) (k + 1 - y), k the integer part: y - y^2
   up to 1, and the same again beyond, where y^2 is larger. omega is the largest sum of f over the sum of y^2.

   max: one entry of B has y = s, where f = 0. With y everywhere else the quotient is N (y - y^2) / (s^2 + N
   y^2), N = B - 1, largest for y = s / (s + sqrt(s^2 + N)), where it is (sqrt(1 + N / s^2) - 1) / 2. l2: the
   sum of y^2 is s^2. As a function of y^2, f lies below sqrt(y^2) - y^2 up to 1/4 and below 1/4 beyond, which
   is concave: the mean of f is at most its value at the mean s^2 / B.

   If the scale is rounded up by a factor of at most 1 + e, s becomes s / (1 + e) in the sum of y^2, and the largest entry gets
   a variance of at most the difference. Levels are rounded in binary32 from y and random numbers of 24 bits, and decoded
   numbers in the precision of the array: 2^-20 (1 + B / s^2) is more than all these errors.
*/
static PetscErrorCode MuonCompressorAlpha_QSGD(MuonCompressor c, const MuonArray *shape, PetscReal *alpha)
{
  const MuonCompressor_QSGD *qsgd  = (const MuonCompressor_QSGD *)c->data;
  const MuonWireValues       codec = MuonCompressorCodec_Private(c, shape);
  const double               B = (double)PetscMin((PetscInt64)qsgd->length, (PetscInt64)MuonArrayEntries(shape)), s = (double)MuonCompressorLevels_QSGD(c);
  const double               e     = codec == MUON_WIRE_VALUES_DOUBLE ? 0.0 : (codec == MUON_WIRE_VALUES_SINGLE ? 1.0 / 8388608.0 : (codec == MUON_WIRE_VALUES_BF16 ? 1.0 / 128.0 : 1.0));
  const double               least = s / (1.0 + e), ratio = B / (least * least);
  double                     omega;

  PetscFunctionBegin;
  if (qsgd->norm == MUON_COMPRESSOR_BLOCK_NORM_MAX) omega = (sqrt(1.0 + ratio - ratio / B) - 1.0) / 2.0 + PetscMin(0.25, s - least) / (least * least);
  else omega = ratio < 4.0 ? ratio / 4.0 : sqrt(ratio) - 1.0;
  omega += (1.0 + ratio) / 1048576.0;
  *alpha = omega < 1.0 ? MuonCompressorRoundDown_Private(1.0 - omega) : -1.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorChanging_QSGD(MuonCompressor c, const MuonParameter *row, double value)
{
  const PetscInt length = (PetscInt)value;

  PetscFunctionBegin;
  if ((row->flags & MUON_PARAMETER_DATA) && row->kind == MUON_PARAMETER_INT) MuonCompressorCheck(c, (length & (length - 1)) == 0, PETSC_ERR_ARG_OUTOFRANGE, "_qsgd_block_length", "%" PetscInt_FMT ", expected a power of two from 16 to 65536", length);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const MuonParameter MuonCompressorParameters_QSGD[] = {MUON_ROW("qsgd_block_length", INT, MuonCompressor_QSGD, length, 256, 16, 65536, NULL, 0, "Entries of a block, a power of two"),
                                                       MUON_ROW("qsgd_block_norm", ENUM, MuonCompressor_QSGD, norm, MUON_COMPRESSOR_BLOCK_NORM_MAX, 0, 0, MuonCompressorBlockNorms, 0, "Norm that scales a block"),
                                                       {NULL, MUON_PARAMETER_INT, 0, 0, 0, 0, NULL, 0, NULL}};

/*MC
   MUONCOMPRESSORQSGD - Rounds the entries of blocks to a few levels of a scale, at random and without bias

   Options Database Keys:
+  -compressor_bits b                                     - bits of an entry, 2 to 8, 4 by default: a sign, and a level from 0 to $s = 2^{b-1} - 1$
.  -compressor_qsgd_block_length n                        - entries of a block, a power of two from 16 to 65536, 256 by default
.  -compressor_qsgd_block_norm (max|l2)                   - norm of a block that gives its scale, max by default
-  -compressor_values (native|double|single|bf16|natural) - format of scales, rounded up

   Level: beginner

   Notes:
   The entries are divided into blocks in the order of memory. In a block with the scale S an entry x becomes sign(x) l
   S / s. The level l is s |x| / S rounded down or up, with the probabilities that make the expectation exact, up to
   the rounding of s |x| / S to binary32 and random numbers of 24 bits.

   S is the norm of the block, rounded up in the format of `-compressor_values`, so that no level exceeds s. A norm
   below 1e-300 with values in double, or below the normal range of binary32 with others, makes the block zero. A norm
   that overflows gives `MUON_STATUS_NANORINF`. A matrix of zero blocks has an empty message.

   The random number of an entry depends on `MuonCompressorSetStream()`, on `MuonCompressorSetStep()` and on the index
   of the entry. Different senders and steps draw independently, and any rank can reproduce them.

   The entries of a complex matrix are real and imaginary parts by turns.

   The compressor is unbiased, and its variance is at most $\omega \|X\|^2$. For blocks of B entries $\omega =
   (\sqrt{1 + (B-1)/s^2} - 1)/2$ with the norm max, and with l2 $\omega = B/(4 s^2)$ where $B < 4 s^2$ and
   $\sqrt{B}/s - 1$ otherwise. Some matrices reach this bound, or almost reach it. Rounded scales make $\omega$ larger, by about eight percent with
   bf16 and up to four times with natural. Error feedback is proved for $\omega < 1$, where the constant of contraction is $1 - \omega$. With scales
   that are not natural this holds for blocks of up to

   b 3, 4, 5, 6, 7, 8 - max 64, 256, 1024, 4096, 16384, 65536 - l2 32, 128, 512, 2048, 8192, 32768

   entries, and for none with 2 bits. The default is the longest block for 4 bits, with $\omega = 0.75$ for the worst
   matrix and 0.03 for normally distributed entries. For longer blocks `MuonCompressorGetAlpha()` gives -1. With 2 bits
   normally distributed entries have 1.4, and error feedback diverges, because the compressor is not scaled to be
   contractive.

   `-compressor_ratio` and `-compressor_rank` have no meaning for this type.

   References:
+  * - D. Alistarh, D. Grubic, J. Li, R. Tomioka, M. Vojnovic, QSGD: Communication-Efficient SGD via Gradient Quantization and Encoding, https://arxiv.org/abs/1610.02132
-  * - I. Markov, H. Ramezanikebrya, D. Alistarh, CGX: Adaptive System Support for Communication-Efficient Deep Learning, https://arxiv.org/abs/2111.08617

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MUONCOMPRESSORNATURAL`
M*/
PetscErrorCode MuonCompressorCreate_QSGD(MuonCompressor c)
{
  MuonCompressor_QSGD *qsgd;

  PetscFunctionBegin;
  PetscCall(PetscNew(&qsgd));
  c->data          = qsgd;
  c->keys          = "bits values";
  c->ops->changing = MuonCompressorChanging_QSGD;
  c->ondevice      = PETSC_TRUE;
  c->onpairs       = PETSC_TRUE;
  c->ops->layout   = MuonCompressorLayout_QSGD;
  c->ops->encode   = MuonCompressorEncode_QSGD;
  c->ops->decode   = MuonCompressorDecode_QSGD;
  c->ops->alpha    = MuonCompressorAlpha_QSGD;
  PetscFunctionReturn(PETSC_SUCCESS);
}
