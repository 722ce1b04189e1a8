#include <petscmuon/private/muoncompressorcodec.h>
#include "../kernels/codec/muonkernels.h"
#include <math.h>

/* Values converted at once; a multiple of 8, because eight natural codes fill whole bytes */
enum {
  CHUNK = 512
};
/* Values that cross to or from a device at once; likewise */
#define DEVICE_CHUNK ((size_t)1 << 20)

PetscInt64 MuonCompressorKept_Private(PetscReal ratio, PetscInt64 max)
{
  PetscInt64 kept;
  double     r = (double)ratio;

  /*
     In single precision the nearest number to 0.7 lies below it; half a unit in the last place gives a ratio
     what was meant
  */
  if (PetscDefined(USE_REAL_SINGLE)) r *= 1.0 + 0.5 * PETSC_MACHINE_EPSILON;
  kept = (PetscInt64)(r * (double)max + 1e-9);
  if (kept < 1) kept = 1;
  return kept < max ? kept : max;
}

MuonKernelStream MuonCompressorStream_Private(MuonCompressor c)
{
  MuonKernelStream stream;

  stream.seed      = (uint64_t)c->seed;
  stream.layer     = (uint32_t)c->blockhash;
  stream.step      = (uint32_t)c->step;
  stream.sender    = (uint32_t)c->sender;
  stream.direction = (uint32_t)c->direction;
  return stream;
}

void MuonCompressorWords_Private(MuonCompressor c, uint32_t words[4])
{
  const MuonKernelStream stream = MuonCompressorStream_Private(c);
  const uint32_t         last   = UINT32_MAX;

  MuonKernelStreamBlocks(&stream, 1, &last, words);
}

/* The shards of a layer, whose names have an @ behind the layer's, share it; a block has its own */
PetscErrorCode MuonCompressorCoin_Private(MuonCompressor c, uint32_t *word)
{
  MuonKernelStream stream = MuonCompressorStream_Private(c);
  const uint32_t   last   = UINT32_MAX;
  uint32_t         words[4];
  char            *shard;

  PetscFunctionBegin;
  PetscCall(PetscStrchr(c->layer != NULL ? c->layer : "", '@', &shard));
  if (shard != NULL && c->blockhash == c->layerhash) {
    *shard = '\0';
    PetscCall(MuonNameHash_Private(c->layer, &stream.layer));
    *shard = '@';
  }
  MuonKernelStreamBlocks(&stream, 1, &last, words);
  *word = words[0];
  PetscFunctionReturn(PETSC_SUCCESS);
}

MuonWireValues MuonCompressorCodec_Private(MuonCompressor c, const MuonArray *A)
{
  switch (MuonCompressorValuesOf(c)) {
  case MUON_COMPRESSOR_VALUES_DOUBLE:
    return MUON_WIRE_VALUES_DOUBLE;
  case MUON_COMPRESSOR_VALUES_SINGLE:
    return MUON_WIRE_VALUES_SINGLE;
  case MUON_COMPRESSOR_VALUES_BF16:
    return MUON_WIRE_VALUES_BF16;
  case MUON_COMPRESSOR_VALUES_NATURAL:
    return MUON_WIRE_VALUES_NATURAL;
  default:
    return A->precision == MUON_SINGLE ? MUON_WIRE_VALUES_SINGLE : MUON_WIRE_VALUES_DOUBLE;
  }
}

PetscErrorCode MuonCompressorCodecErrors_Private(MuonWireValues codec, MuonPrecision precision, double *nearest, double *variance)
{
  const double single = precision == MUON_SINGLE ? 0.0 : 1.0 / 16777216.0;

  PetscFunctionBegin;
  *nearest  = codec == MUON_WIRE_VALUES_DOUBLE ? 0.0 : (codec == MUON_WIRE_VALUES_BF16 ? 1.0 / 256.0 : single);
  *variance = codec == MUON_WIRE_VALUES_NATURAL ? 1.0 / 8.0 : 0.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscReal MuonCompressorCodecAlpha_Private(MuonWireValues codec, MuonPrecision precision)
{
  double u, variance;

  (void)MuonCompressorCodecErrors_Private(codec, precision, &u, &variance);
  return MuonCompressorRoundDown_Private(1.0 - variance * (1.0 + u) * (1.0 + u) - u * u);
}

PetscReal MuonCompressorRoundDown_Private(double alpha)
{
  const PetscReal rounded = (PetscReal)alpha;

  return (double)rounded > alpha ? rounded * (PetscReal)(1.0 - PETSC_MACHINE_EPSILON) : rounded;
}

/*
   From the middle between the largest number and what would be the next one on, rounding gives no number;
   bfloat16 is rounded from binary32, where its middle begins half a unit early
*/
double MuonCompressorCodecLimit_Private(MuonWireValues codec, MuonPrecision precision)
{
  const double half = precision == MUON_SINGLE ? 0.0 : ldexp(1.0, 103); /* of the last place of the largest binary32 */

  if (codec == MUON_WIRE_VALUES_BF16) return ldexp(1.0, 128) - ldexp(1.0, 119) - half;
  return codec == MUON_WIRE_VALUES_DOUBLE || half == 0.0 ? HUGE_VAL : ldexp(1.0, 128) - half;
}

/* y = x, of one precision and another */
static void Convert(size_t count, MuonPrecision from, const void *x, MuonPrecision to, void *y)
{
  const MuonKernels *kernels = MuonKernelsGet(to, MUON_HOST);

  if (from == to) kernels->Axpby(count, 1, 1.0, x, count, 0.0, y, count);
  else kernels->AxpbyOther(count, 1, 1.0, x, count, 0.0, y, count);
}

/* Codes of natural values, in the memory of x: rounded at random, or with one addend to every mantissa */
static int NaturalCodes(MuonCompressor c, const MuonKernels *kernels, MuonCompressorRounding rounding, size_t count, const void *x, uint64_t first, uint16_t codes[])
{
  const MuonKernelStream stream = MuonCompressorStream_Private(c);

  if (rounding == MUON_COMPRESSOR_ROUND_RANDOM) return kernels->Natural(count, x, &stream, first, 1, codes);
  return kernels->Powers(count, x, rounding == MUON_COMPRESSOR_ROUND_NEAREST ? MUON_KERNEL_HALF : 0, codes);
}

static PetscErrorCode MuonCompressorHostEncode_Private(MuonCompressor c, MuonWireValues codec, MuonCompressorRounding rounding, MuonPrecision precision, size_t count, const void *x, uint64_t first, unsigned char to[])
{
  const MuonKernels *kernels  = MuonKernelsGet(precision, MUON_HOST);
  int                infinite = 0;

  PetscFunctionBegin;
  for (size_t k = 0; k < count && infinite == 0; k += CHUNK) {
    const size_t   some    = PetscMin(count - k, CHUNK);
    const void    *from    = (const char *)x + k * kernels->size;
    unsigned char *section = to + MuonWireValuesBytes(codec, k);

    switch (codec) {
    case MUON_WIRE_VALUES_DOUBLE: {
      double y[CHUNK];

      infinite = kernels->IsBelow(some, 1, from, some, HUGE_VAL) == 0;
      Convert(some, precision, from, MUON_DOUBLE, y);
      MuonWireDoublesEncode(some, y, section);
      break;
    }
    case MUON_WIRE_VALUES_SINGLE:
    case MUON_WIRE_VALUES_BF16: {
      float y[CHUNK];

      infinite = kernels->ToSingle(some, from, codec == MUON_WIRE_VALUES_BF16 ? 1 : 0, y);
      if (codec == MUON_WIRE_VALUES_SINGLE) MuonWireSinglesEncode(some, y, section);
      else MuonWireBF16Encode(some, y, section);
      break;
    }
    default: {
      uint16_t codes[CHUNK];

      infinite = NaturalCodes(c, kernels, rounding, some, from, first + k, codes);
      MuonWireNaturalEncode(some, codes, section);
    }
    }
  }
  if (infinite != 0) c->status = MUON_STATUS_NANORINF;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorHostDecode_Private(MuonWireValues codec, MuonPrecision precision, size_t count, const unsigned char from[], uint64_t first, void *x)
{
  const MuonKernels *kernels = MuonKernelsGet(precision, MUON_HOST);

  PetscFunctionBegin;
  for (size_t k = 0; k < count; k += CHUNK) {
    const size_t some = PetscMin(count - k, CHUNK);
    void        *to   = (char *)x + k * kernels->size;

    switch (codec) {
    case MUON_WIRE_VALUES_DOUBLE: {
      double y[CHUNK];

      MuonWireDoublesDecode(some, from, first + k, y);
      Convert(some, MUON_DOUBLE, y, precision, to);
      break;
    }
    case MUON_WIRE_VALUES_SINGLE:
    case MUON_WIRE_VALUES_BF16: {
      float y[CHUNK];

      if (codec == MUON_WIRE_VALUES_SINGLE) MuonWireSinglesDecode(some, from, first + k, y);
      else MuonWireBF16Decode(some, from, first + k, y);
      Convert(some, MUON_SINGLE, y, precision, to);
      break;
    }
    default: {
      uint16_t codes[CHUNK];

      MuonWireNaturalDecode(some, from, first + k, codes);
      kernels->NaturalValues(some, codes, to);
    }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What crosses between a device and the host is as wide as what is written: codes for natural values, and
   binary32 for bfloat16
*/
static MuonPrecision Crosses(MuonWireValues codec, MuonPrecision precision)
{
  return codec == MUON_WIRE_VALUES_DOUBLE ? precision : MUON_SINGLE;
}

PetscErrorCode MuonCompressorFetch_Private(MuonCompressor c, MuonWireValues codec, size_t count, const void *x, MuonPrecision *precision, void **pinned)
{
  const MuonKernels  *kernels = MuonKernelsGet(*precision, MUON_DEVICE);
  const MuonPrecision crosses = Crosses(codec, *precision);

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGetPinned(c->work, MUON_DEVICE, count * MuonKernelsGet(crosses, MUON_HOST)->size, pinned));
  /* Entries that are not finite then are found when they are written */
  if (crosses != *precision) (void)kernels->ToSingle(count, x, 0, (float *)*pinned);
  else MuonDeviceGet()->copy(count * kernels->size, x, *pinned);
  *precision = crosses;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorValuesEncode_Private(MuonCompressor c, MuonWireValues codec, MuonCompressorRounding rounding, MuonMemory memory, MuonPrecision precision, size_t count, const void *x, uint64_t first, unsigned char to[])
{
  const MuonKernels *kernels = MuonKernelsGet(precision, memory);

  PetscFunctionBegin;
  if (memory == MUON_HOST) {
    PetscCall(MuonCompressorHostEncode_Private(c, codec, rounding, precision, count, x, first, to));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (size_t k = 0; k < count && c->status == MUON_STATUS_OK; k += DEVICE_CHUNK) {
    const size_t   some    = PetscMin(DEVICE_CHUNK, count - k);
    const void    *from    = (const char *)x + k * kernels->size;
    unsigned char *section = to + MuonWireValuesBytes(codec, k);
    MuonMark       mark;

    PetscCall(MuonWorkspaceMark(c->work, &mark));
    if (codec == MUON_WIRE_VALUES_NATURAL) {
      uint16_t *codes;

      PetscCall(MuonWorkspaceGetPinned(c->work, MUON_DEVICE, some * sizeof(*codes), &codes));
      if (NaturalCodes(c, kernels, rounding, some, from, first + k, codes) != 0) c->status = MUON_STATUS_NANORINF;
      else MuonWireNaturalEncode(some, codes, section);
    } else {
      MuonPrecision crosses = precision;
      void         *y;

      PetscCall(MuonCompressorFetch_Private(c, codec, some, from, &crosses, &y));
      PetscCall(MuonCompressorHostEncode_Private(c, codec, rounding, crosses, some, y, 0, section));
    }
    PetscCall(MuonWorkspaceRelease(c->work, &mark));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorValuesDecode_Private(MuonCompressor c, MuonWireValues codec, MuonMemory memory, MuonPrecision precision, size_t count, const unsigned char from[], uint64_t first, void *x)
{
  const MuonKernels  *kernels = MuonKernelsGet(precision, memory);
  const MuonPrecision crosses = Crosses(codec, precision);
  const size_t        size    = codec == MUON_WIRE_VALUES_NATURAL ? sizeof(uint16_t) : MuonKernelsGet(crosses, MUON_HOST)->size;

  PetscFunctionBegin;
  if (memory == MUON_HOST) {
    PetscCall(MuonCompressorHostDecode_Private(codec, precision, count, from, first, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (size_t k = 0; k < count; k += DEVICE_CHUNK) {
    const size_t some = PetscMin(DEVICE_CHUNK, count - k);
    void        *to   = (char *)x + k * kernels->size, *y, *singles;
    MuonMark     mark;

    PetscCall(MuonWorkspaceMark(c->work, &mark));
    PetscCall(MuonWorkspaceGetPinned(c->work, MUON_DEVICE, some * size, &y));
    if (codec == MUON_WIRE_VALUES_NATURAL) {
      MuonWireNaturalDecode(some, from, first + k, (uint16_t *)y);
      kernels->NaturalValues(some, (uint16_t *)y, to);
    } else PetscCall(MuonCompressorHostDecode_Private(codec, crosses, some, from, first + k, y));
    if (codec != MUON_WIRE_VALUES_NATURAL && crosses == precision) MuonDeviceGet()->copy(some * size, y, to);
    else if (codec != MUON_WIRE_VALUES_NATURAL) {
      PetscCall(MuonWorkspaceGetIn(c->work, MUON_DEVICE, some * size, &singles));
      MuonDeviceGet()->copy(some * size, y, singles);
      kernels->AxpbyOther(some, 1, 1.0, singles, some, 0.0, to, some);
    }
    PetscCall(MuonWorkspaceRelease(c->work, &mark));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
