#include <petscmuon/private/muoncompressorcodec.h>
#include "../kernels/codec/muonkernels.h"
#include <math.h>

/* Values converted at once; a multiple of 8, because eight natural codes fill whole bytes */
enum {
  CHUNK = 512
};
/*
   Entries that are put into an array together, a multiple of 64: they and their values stay in the cache of
   the processor
*/
#define STRIP ((size_t)16384)
/* The same in the memory of a device */
#define FAR_STRIP ((size_t)1 << 24)

PetscInt64 MuonCompressorKept_Private(PetscReal ratio, PetscInt64 most)
{
  PetscInt64 kept;
  double     r = (double)ratio;

  /*
     In single precision the nearest number to 0.7 lies below it; half a unit in the last place gives a ratio
     what was meant
  */
  if (PetscDefined(USE_REAL_SINGLE)) r *= 1.0 + 0.5 * PETSC_MACHINE_EPSILON;
  kept = (PetscInt64)(r * (double)most + 1e-9);
  if (kept < 1) kept = 1;
  return kept < most ? kept : most;
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

/*
   The pieces of a layer, whose names go on behind the layer's with what no name of a layer has, share it; a
   block has its own
*/
PetscErrorCode MuonCompressorCoin_Private(MuonCompressor c, uint32_t *word)
{
  MuonKernelStream stream = MuonCompressorStream_Private(c);
  const uint32_t   last   = UINT32_MAX;
  uint32_t         words[4];
  char            *piece;

  PetscFunctionBegin;
  PetscCall(PetscStrchr(c->layer != NULL ? c->layer : "", '@', &piece));
  if (piece != NULL && c->blockhash == c->layerhash) {
    *piece = '\0';
    PetscCall(MuonNameHash_Private(c->layer, &stream.layer));
    *piece = '@';
  }
  MuonKernelStreamBlocks(&stream, 1, &last, words);
  *word = words[0];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorDescribe_Ratio(MuonCompressor c, size_t length, char text[])
{
  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(text, length, " ratio %g %s", (double)c->ratio, MuonCompressorValuesTypes[c->values]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

MuonWireValues MuonCompressorCodec_Private(MuonCompressorValues values, const MuonArray *A)
{
  switch (values) {
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

PetscErrorCode MuonCompressorValuesEncode_Private(MuonCompressor c, MuonWireValues codec, MuonPrecision precision, PetscInt64 count, const void *x, PetscInt64 first, unsigned char to[])
{
  const MuonKernelStream stream   = MuonCompressorStream_Private(c);
  const MuonKernels     *kernels  = MuonKernelsGet(precision, MUON_HOST);
  int                    infinite = 0;

  PetscFunctionBegin;
  for (PetscInt64 k = 0; k < count && infinite == 0; k += CHUNK) {
    const size_t some = (size_t)PetscMin(count - k, CHUNK);
    const void  *from = (const char *)x + (size_t)k * kernels->size;

    switch (codec) {
    case MUON_WIRE_VALUES_DOUBLE: {
      double y[CHUNK];

      infinite = kernels->IsBelow(some, 1, from, some, HUGE_VAL) == 0;
      Convert(some, precision, from, MUON_DOUBLE, y);
      MuonWireDoublesEncode(some, y, to + 8 * k);
      break;
    }
    case MUON_WIRE_VALUES_SINGLE:
    case MUON_WIRE_VALUES_BF16: {
      float y[CHUNK];

      infinite = codec == MUON_WIRE_VALUES_SINGLE ? kernels->ToSingle(some, from, y) : kernels->ToBF16(some, from, y);
      if (codec == MUON_WIRE_VALUES_SINGLE) MuonWireSinglesEncode(some, y, to + 4 * k);
      else MuonWireBF16Encode(some, y, to + 2 * k);
      break;
    }
    default: {
      uint16_t codes[CHUNK];

      infinite = kernels->Natural(some, from, &stream, (uint64_t)(first + k), 1, codes);
      MuonWireNaturalEncode(some, codes, to + k / 8 * 9);
    }
    }
  }
  if (infinite != 0) c->status = MUON_STATUS_NANORINF;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorValuesDecode_Private(MuonWireValues codec, MuonPrecision precision, PetscInt64 count, const unsigned char from[], PetscInt64 first, void *x)
{
  const MuonKernels *kernels = MuonKernelsGet(precision, MUON_HOST);

  PetscFunctionBegin;
  for (PetscInt64 k = 0; k < count; k += CHUNK) {
    const size_t   some = (size_t)PetscMin(count - k, CHUNK);
    const uint64_t at   = (uint64_t)(first + k);
    void          *to   = (char *)x + (size_t)k * kernels->size;

    switch (codec) {
    case MUON_WIRE_VALUES_DOUBLE: {
      double y[CHUNK];

      MuonWireDoublesDecode(some, from, at, y);
      Convert(some, MUON_DOUBLE, y, precision, to);
      break;
    }
    case MUON_WIRE_VALUES_SINGLE:
    case MUON_WIRE_VALUES_BF16: {
      float y[CHUNK];

      if (codec == MUON_WIRE_VALUES_SINGLE) MuonWireSinglesDecode(some, from, at, y);
      else MuonWireBF16Decode(some, from, at, y);
      Convert(some, MUON_SINGLE, y, precision, to);
      break;
    }
    default: {
      uint16_t codes[CHUNK];

      MuonWireNaturalDecode(some, from, at, codes);
      kernels->NaturalValues(some, codes, to);
    }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorKeptEncode_Private(MuonCompressor c, MuonWireValues codec, MuonPrecision precision, size_t entries, const unsigned char bitmap[], PetscInt64 kept, const void *x, unsigned char to[])
{
  const MuonKernelStream stream = MuonCompressorStream_Private(c);
  float                 *singles;
  uint16_t              *codes;

  PetscFunctionBegin;
  if (codec != MUON_WIRE_VALUES_NATURAL) {
    PetscCall(MuonCompressorValuesEncode_Private(c, codec, precision, kept, x, 0, to));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  /*
     A kept entry has the random number of its place in the matrix, which does not depend on what else is kept
  */
  PetscCall(PetscCitationsRegister(MuonCitationNatural, &MuonCitationNaturalSet));
  PetscCall(MuonWorkspaceGet(c->work, (size_t)kept * (sizeof(float) + sizeof(uint16_t)), &singles));
  codes = (uint16_t *)(singles + kept);
  if (MuonKernelsGet(precision, MUON_HOST)->ToSingle((size_t)kept, x, singles) != 0 || MuonKernelNaturalKept(entries, singles, bitmap, &stream, codes) != 0) c->status = MUON_STATUS_NANORINF;
  else MuonWireNaturalEncode((uint64_t)kept, codes, to);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Positions as a bitmap, from which a device writes all entries at once, where it copies from */
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
  const size_t       entries = MuonArrayEntries(Y), strip = Y->memory == MUON_HOST ? STRIP : FAR_STRIP;

  PetscFunctionBegin;
  if (add == PETSC_FALSE) PetscCall(MuonArrayZero(Y));
  if (Y->memory != MUON_HOST) PetscCall(MuonCompressorMark_Private(c, entries, kept, reader));
  if (reader->indices == MUON_WIRE_INDICES_BITMAP) {
    char  *x;
    size_t done = 0;

    PetscCall(MuonWorkspaceGetIn(c->work, Y->memory, (PetscMin((size_t)kept, strip) + 8) * kernels->size, &x));
    for (size_t first = 0; first < entries; first += strip) {
      const size_t some = PetscMin(strip, entries - first), count = MuonKernelCountBits(reader->from, first, some), skip = done % 8;

      /* Values are read from one whose number is a multiple of 8 on */
      if (Y->memory != MUON_HOST) PetscCall(MuonCompressorFarDecode_Private(c, codec, Y->precision, skip + count, from, done - skip, x));
      else PetscCall(MuonCompressorValuesDecode_Private(codec, Y->precision, (PetscInt64)(skip + count), from, (PetscInt64)(done - skip), x));
      kernels->Scatter(Y->len, Y->count, reader->from, first, some, x + skip * kernels->size, add == PETSC_TRUE, scale, Y->data, Y->ld);
      done += count;
    }
  } else {
    /* Positions as numbers: few entries */
    for (PetscInt64 k = 0; k < kept; k += CHUNK) {
      const PetscInt64 some = PetscMin(CHUNK, kept - k);
      double           x[CHUNK];

      PetscCall(MuonCompressorValuesDecode_Private(codec, Y->precision, some, from, k, x));
      for (PetscInt64 i = 0; i < some; i++) kernels->Spread(Y->len, Y->count, (size_t)MuonWireIndexReaderNext(reader), 1, (const char *)x + (size_t)i * kernels->size, add == PETSC_TRUE, scale, Y->data, Y->ld);
    }
  }
  if (add == PETSC_TRUE) PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)kept));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorValuesFit_Private(MuonWireValues codec, MuonPrecision precision, PetscInt64 count, const unsigned char from[], PetscBool *fit)
{
  PetscFunctionBegin;
  *fit = PETSC_TRUE;
  if (precision == MUON_DOUBLE || codec != MUON_WIRE_VALUES_DOUBLE) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt64 k = 0; k < count && *fit == PETSC_TRUE; k += CHUNK) {
    const size_t some = (size_t)PetscMin(count - k, CHUNK);
    double       y[CHUNK];

    MuonWireDoublesDecode(some, from, (uint64_t)k, y);
    for (size_t i = 0; i < some; i++) {
      if ((double)(float)y[i] != y[i]) *fit = PETSC_FALSE;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
