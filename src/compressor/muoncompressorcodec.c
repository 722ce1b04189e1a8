#include <petscmuon/private/muoncompressorcodec.h>
#include "../kernels/codec/muonkernels.h"
#include <math.h>

/* The number of values that are converted at a time. It is a multiple of 64, because 64 values of two bits share magnitudes, and of 8, because eight
   natural codes fill whole bytes */
#define CHUNK 512
/* The number of values that are copied to or from a device at a time; also a multiple of 64 */
#define DEVICE_CHUNK ((size_t)1 << 20)

PetscInt64 MuonCompressorKept_Private(PetscReal ratio, PetscInt64 max)
{
  PetscInt64 kept;
  double     r = (double)ratio;

  /*
     In single precision the number nearest to 0.7 is below 0.7. Half a unit in the last place is added, so that a ratio
     keeps the intended number
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

/* Shards of a layer share it: their names are that of the layer, an @ and more. A block has its own */
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

/* The codecs of messages are the values of the option without native. Two bits come after the entropy-coded ones */
MuonWireValues MuonCompressorCodec_Private(MuonCompressor c, const MuonArray *A)
{
  const MuonCompressorValues values = MuonCompressorValuesOf(c);

  if (values == MUON_COMPRESSOR_VALUES_NATIVE) return A->precision == MUON_SINGLE ? MUON_WIRE_VALUES_SINGLE : MUON_WIRE_VALUES_DOUBLE;
  if (values == MUON_COMPRESSOR_VALUES_2BIT) return MUON_WIRE_VALUES_TWOBIT;
  return (MuonWireValues)(values - MUON_COMPRESSOR_VALUES_DOUBLE + MUON_WIRE_VALUES_DOUBLE);
}

void MuonCompressorCodecErrors_Private(MuonWireValues codec, MuonPrecision precision, double *nearest, double *variance)
{
  const double single = precision == MUON_SINGLE ? 0.0 : 1.0 / 16777216.0;

  *nearest  = codec == MUON_WIRE_VALUES_DOUBLE ? 0.0 : (codec == MUON_WIRE_VALUES_BF16 ? 1.0 / 256.0 : single);
  *variance = codec == MUON_WIRE_VALUES_NATURAL ? 1.0 / 8.0 : 0.0;
}

PetscReal MuonCompressorCodecAlpha_Private(MuonWireValues codec, MuonPrecision precision)
{
  double u, variance;

  MuonCompressorCodecErrors_Private(codec, precision, &u, &variance);
  return MuonCompressorRoundDown_Private(1.0 - variance * (1.0 + u) * (1.0 + u) - u * u);
}

/*
   The given fraction of the terms of a q-norm is kept, the largest ones. The error of a kept term is at most (1 - bound)^(1/2)
   of it, or its square has this expectation. Then at most 1 - fraction of the sum of the q-th powers is left out. For q <= 2
   the square of the norm is a concave function of the squares of the terms
*/
PetscReal MuonCompressorKeptAlpha_Private(double fraction, double q, double bound)
{
  if (fraction >= 1) return MuonCompressorRoundDown_Private(bound);
  if (q == HUGE_VAL) return -1;
  return MuonCompressorRoundDown_Private(1.0 - pow(1.0 - fraction + fraction * pow(1.0 - bound, q / 2.0), 2.0 / q));
}

PetscReal MuonCompressorRoundDown_Private(double alpha)
{
  const PetscReal rounded = (PetscReal)alpha;

  return (double)rounded > alpha ? rounded * (PetscReal)(1.0 - PETSC_MACHINE_EPSILON) : rounded;
}

/*
   From the middle between the largest number and its successor on, rounding gives Inf. bfloat16 is rounded from binary32, so
   that its middle begins half a unit earlier
*/
double MuonCompressorCodecLimit_Private(MuonWireValues codec, MuonPrecision precision)
{
  const double half = precision == MUON_SINGLE ? 0.0 : ldexp(1.0, 103); /* the last place of the largest binary32 */

  if (codec == MUON_WIRE_VALUES_BF16) return ldexp(1.0, 128) - ldexp(1.0, 119) - half;
  return codec == MUON_WIRE_VALUES_DOUBLE || half == 0.0 ? HUGE_VAL : ldexp(1.0, 128) - half;
}

/* Copies between a device and the host have the width of the message: codes for natural values, and binary32 for bfloat16 */
static MuonPrecision Crosses(MuonWireValues codec, MuonPrecision precision)
{
  return codec == MUON_WIRE_VALUES_DOUBLE ? precision : MUON_SINGLE;
}

PetscErrorCode MuonCompressorValuesEncode_Private(MuonCompressor c, MuonWireValues codec, MuonCompressorRounding rounding, MuonMemory memory, MuonPrecision precision, size_t count, const void *x, uint64_t first, unsigned char to[])
{
  const PetscBool        natural = codec == MUON_WIRE_VALUES_NATURAL ? PETSC_TRUE : PETSC_FALSE;
  const MuonKernels     *there = MuonKernelsGet(precision, memory), *kernels = memory == MUON_HOST || natural ? there : MuonKernelsGet(Crosses(codec, precision), MUON_HOST);
  const MuonKernelStream stream   = MuonCompressorStream_Private(c);
  const size_t           chunk    = memory == MUON_HOST ? CHUNK : PetscMin(DEVICE_CHUNK, count);
  int                    infinite = 0;
  double                 few[CHUNK];
  void                  *y = few, *crossed = NULL;
  MuonMark               mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(c->work, &mark));
  if (memory != MUON_HOST) {
    PetscCall(MuonWorkspaceGetPinned(c->work, memory, chunk * sizeof(double), &y));
    PetscCall(MuonWorkspaceGetPinned(c->work, memory, chunk * sizeof(double), &crossed));
  }
  for (size_t k = 0; k < count && infinite == 0; k += chunk) {
    const size_t some = PetscMin(count - k, chunk);
    const void  *from = (const char *)x + k * there->size;

    if (memory != MUON_HOST && !natural) {
      /* Entries that are not finite after this are found when they are written */
      if (Crosses(codec, precision) != precision) (void)there->ToSingle(some, from, 0, (float *)crossed);
      else MuonDeviceGet()->copy(some * there->size, from, crossed);
      from = crossed;
    }
    if (natural && rounding == MUON_COMPRESSOR_ROUND_RANDOM) infinite = kernels->Natural(some, from, &stream, first + k, 1, (uint16_t *)y);
    else if (natural) infinite = kernels->Powers(some, from, rounding == MUON_COMPRESSOR_ROUND_NEAREST ? MUON_KERNEL_HALF : 0, (uint16_t *)y);
    else if (codec != MUON_WIRE_VALUES_DOUBLE) infinite = kernels->ToSingle(some, from, codec == MUON_WIRE_VALUES_BF16 ? 1 : 0, (float *)y);
    else {
      const MuonKernels *doubles = MuonKernelsGet(MUON_DOUBLE, MUON_HOST);

      infinite = kernels->IsBelow(some, 1, from, some, HUGE_VAL) == 0;
      (precision == MUON_DOUBLE ? doubles->Axpby : doubles->AxpbyOther)(some, 1, 1.0, from, some, 0.0, y, some);
    }
    MuonWireValuesEncode(codec, some, y, to + MuonWireValuesBytes(codec, k));
  }
  PetscCall(MuonWorkspaceRelease(c->work, &mark));
  if (infinite != 0) c->status = MUON_STATUS_NANORINF;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorValuesDecode_Private(MuonCompressor c, MuonWireValues codec, MuonMemory memory, MuonPrecision precision, size_t count, const unsigned char from[], uint64_t first, void *x)
{
  const MuonKernels  *kernels = MuonKernelsGet(precision, memory);
  const MuonPrecision crosses = Crosses(codec, precision);
  const size_t        chunk   = memory == MUON_HOST ? CHUNK : PetscMin(DEVICE_CHUNK, count);
  double              few[CHUNK], converted[CHUNK];
  void               *y = few, *crossed = converted, *there = NULL;
  MuonMark            mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(c->work, &mark));
  if (memory != MUON_HOST) {
    PetscCall(MuonWorkspaceGetPinned(c->work, memory, chunk * sizeof(double), &y));
    PetscCall(MuonWorkspaceGetPinned(c->work, memory, chunk * sizeof(double), &crossed));
    PetscCall(MuonWorkspaceGetIn(c->work, memory, chunk * sizeof(float), &there));
  }
  for (size_t k = 0; k < count; k += chunk) {
    const size_t some = PetscMin(chunk, count - k);
    void        *to = (char *)x + k * kernels->size, *got = y;

    MuonWireValuesDecode(codec, some, from, first + k, y);
    if (codec == MUON_WIRE_VALUES_NATURAL) {
      kernels->NaturalValues(some, (const uint16_t *)y, to);
      continue;
    }
    if (codec == MUON_WIRE_VALUES_DOUBLE && precision == MUON_SINGLE) {
      MuonKernelsGet(MUON_SINGLE, MUON_HOST)->AxpbyOther(some, 1, 1.0, y, some, 0.0, crossed, some);
      got = crossed;
    }
    if (memory != MUON_HOST) {
      MuonDeviceGet()->copy(some * MuonKernelsGet(crosses, MUON_HOST)->size, got, crosses == precision ? to : there);
      got = there;
    } else if (crosses == precision) PetscCall(PetscMemcpy(to, got, some * kernels->size));
    if (crosses != precision) kernels->AxpbyOther(some, 1, 1.0, got, some, 0.0, to, some);
  }
  PetscCall(MuonWorkspaceRelease(c->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}
