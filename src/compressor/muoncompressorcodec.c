#include "muoncompressorcodec.h"
#include <math.h>

/* Values converted at once; a multiple of 8, because eight natural codes fill whole bytes */
enum {
  CHUNK = 512
};
/* Rows that get their entries together */
#define ROWS ((size_t)64)

PetscInt64 MuonCompressorKept_Private(PetscReal ratio, PetscInt64 most)
{
  PetscInt64 kept;
  double     r = (double)ratio;

  /* In single precision the nearest number to 0.7 lies below it; half a unit in the last place gives a ratio what was meant */
  if (PetscDefined(USE_REAL_SINGLE)) r *= 1.0 + 0.5 * PETSC_MACHINE_EPSILON;
  kept = (PetscInt64)(r * (double)most + 1e-9);
  if (kept < 1) kept = 1;
  return kept < most ? kept : most;
}

MuonKernelStream MuonCompressorStream_Private(MuonCompressor c)
{
  MuonKernelStream stream;

  stream.seed      = (uint64_t)c->seed;
  stream.layer     = (uint32_t)c->parthash;
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

PetscErrorCode MuonCompressorZero_Private(PetscInt m, PetscInt n, PetscScalar Y[], PetscInt ldy)
{
  PetscFunctionBegin;
  for (PetscInt j = 0; j < n; j++) PetscCall(PetscArrayzero(Y + (size_t)j * (size_t)ldy, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorDescribe_Ratio(MuonCompressor c, size_t length, char text[])
{
  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(text, length, " %g %s", (double)c->ratio, MuonCompressorValuesTypes[c->values]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

MuonWireValues MuonCompressorCodec_Private(MuonCompressorValues values)
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
    return PetscDefined(USE_REAL_SINGLE) ? MUON_WIRE_VALUES_SINGLE : MUON_WIRE_VALUES_DOUBLE;
  }
}

PetscErrorCode MuonCompressorCodecErrors_Private(MuonWireValues codec, double *nearest, double *variance)
{
  const double single = PetscDefined(USE_REAL_SINGLE) ? 0.0 : 1.0 / 16777216.0;

  PetscFunctionBegin;
  *nearest  = codec == MUON_WIRE_VALUES_DOUBLE ? 0.0 : (codec == MUON_WIRE_VALUES_BF16 ? 1.0 / 256.0 : single);
  *variance = codec == MUON_WIRE_VALUES_NATURAL ? 1.0 / 8.0 : 0.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscReal MuonCompressorCodecAlpha_Private(MuonWireValues codec)
{
  double u, variance;

  (void)MuonCompressorCodecErrors_Private(codec, &u, &variance);
  return MuonCompressorRoundDown_Private(1.0 - variance * (1.0 + u) * (1.0 + u) - u * u);
}

PetscReal MuonCompressorRoundDown_Private(double alpha)
{
  const PetscReal rounded = (PetscReal)alpha;

  return (double)rounded > alpha ? rounded * (PetscReal)(1.0 - PETSC_MACHINE_EPSILON) : rounded;
}

/* From the middle between the largest number and what would be the next one on, rounding gives no number; bfloat16 is rounded from binary32, where its middle begins half a unit early */
PetscScalar MuonCompressorCodecLimit_Private(MuonWireValues codec)
{
  const double half = PetscDefined(USE_REAL_SINGLE) ? 0.0 : ldexp(1.0, 103); /* of the last place of the largest binary32 */

  if (codec == MUON_WIRE_VALUES_BF16) return (PetscScalar)(ldexp(1.0, 128) - ldexp(1.0, 119) - half);
  return codec == MUON_WIRE_VALUES_DOUBLE || half == 0.0 ? (PetscScalar)HUGE_VAL : (PetscScalar)(ldexp(1.0, 128) - half);
}

PetscErrorCode MuonCompressorValuesEncode_Private(MuonCompressor c, MuonWireValues codec, PetscInt64 count, const PetscScalar x[], PetscInt64 first, unsigned char to[])
{
  const MuonKernelStream stream   = MuonCompressorStream_Private(c);
  int                    infinite = 0;

  PetscFunctionBegin;
  for (PetscInt64 k = 0; k < count && infinite == 0; k += CHUNK) {
    const size_t some = (size_t)(count - k < CHUNK ? count - k : CHUNK);

    switch (codec) {
    case MUON_WIRE_VALUES_DOUBLE: {
      double y[CHUNK];

      infinite = MuonKernelIsFinite(some, 1, x + k, some) == 0;
      for (size_t i = 0; i < some; i++) y[i] = (double)x[k + i];
      MuonWireDoublesEncode(some, y, to + 8 * k);
      break;
    }
    case MUON_WIRE_VALUES_SINGLE: {
      float y[CHUNK];

      infinite = MuonKernelToSingle(some, x + k, y);
      MuonWireSinglesEncode(some, y, to + 4 * k);
      break;
    }
    case MUON_WIRE_VALUES_BF16: {
      float y[CHUNK];

      infinite = MuonKernelToBF16(some, x + k, y);
      MuonWireBF16Encode(some, y, to + 2 * k);
      break;
    }
    default: {
      uint16_t codes[CHUNK];

      infinite = MuonKernelNatural(some, x + k, &stream, (uint64_t)(first + k), codes);
      MuonWireNaturalEncode(some, codes, to + k / 8 * 9);
    }
    }
  }
  if (infinite != 0) c->status = MUON_STATUS_NANORINF;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorValuesDecode_Private(MuonWireValues codec, PetscInt64 count, const unsigned char from[], PetscInt64 first, PetscScalar x[])
{
  PetscFunctionBegin;
  for (PetscInt64 k = 0; k < count; k += CHUNK) {
    const size_t   some = (size_t)(count - k < CHUNK ? count - k : CHUNK);
    const uint64_t at   = (uint64_t)(first + k);

    switch (codec) {
    case MUON_WIRE_VALUES_DOUBLE: {
      double y[CHUNK];

      MuonWireDoublesDecode(some, from, at, y);
      for (size_t i = 0; i < some; i++) x[k + i] = (PetscScalar)y[i];
      break;
    }
    case MUON_WIRE_VALUES_SINGLE:
    case MUON_WIRE_VALUES_BF16: {
      float y[CHUNK];

      if (codec == MUON_WIRE_VALUES_SINGLE) MuonWireSinglesDecode(some, from, at, y);
      else MuonWireBF16Decode(some, from, at, y);
      for (size_t i = 0; i < some; i++) x[k + i] = (PetscScalar)y[i];
      break;
    }
    default: {
      uint16_t codes[CHUNK];

      MuonWireNaturalDecode(some, from, at, codes);
      MuonKernelNaturalValues(some, codes, x + k);
    }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Positions as numbers: few entries */
static PetscErrorCode MuonCompressorKeptDecodeRaw_Private(MuonWireValues codec, PetscInt n, PetscInt64 kept, MuonWireIndexReader *reader, const unsigned char from[], PetscBool add, PetscReal scale, PetscScalar Y[], PetscInt ldy)
{
  uint64_t row = 0, end = (uint64_t)n;

  PetscFunctionBegin;
  for (PetscInt64 k = 0; k < kept; k += CHUNK) {
    const PetscInt64 some = PetscMin(CHUNK, kept - k);
    PetscScalar      x[CHUNK];

    PetscCall(MuonCompressorValuesDecode_Private(codec, some, from, k, x));
    for (PetscInt64 i = 0; i < some; i++) {
      const uint64_t position = MuonWireIndexReaderNext(reader);
      PetscScalar   *y;

      /* Positions increase: the row is found without a division, but where rows were skipped */
      if (position >= end) {
        row = position - end < (uint64_t)n ? row + 1 : position / (uint64_t)n;
        end = (row + 1) * (uint64_t)n;
      }
      y = Y + row + (size_t)(position - row * (uint64_t)n) * (size_t)ldy;
      if (add == PETSC_TRUE) *y += scale * x[i];
      else *y = x[i];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorKeptDecode_Private(MuonCompressor c, MuonWireValues codec, PetscInt m, PetscInt n, PetscInt64 kept, MuonWireIndexReader *reader, const unsigned char from[], PetscBool add, PetscReal scale, PetscScalar Y[], PetscInt ldy)
{
  PetscFunctionBegin;
  if (add == PETSC_FALSE) PetscCall(MuonCompressorZero_Private(m, n, Y, ldy));
  if (reader->indices == MUON_WIRE_INDICES_BITMAP) {
    /* A column without gaps is a row */
    const size_t rows = n == 1 ? 1 : (size_t)m, columns = n == 1 ? (size_t)m : (size_t)n, ld = n == 1 ? 1 : (size_t)ldy;
    size_t       first = 0;
    PetscScalar *x;

    PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_A, (PetscMin((size_t)kept, ROWS * columns) + 8) * sizeof(PetscScalar), &x));
    for (size_t i = 0; i < rows; i += ROWS) {
      const size_t some = PetscMin(ROWS, rows - i), count = MuonKernelCountBits(reader->from, i * columns, some * columns), skip = first % 8;

      /* Values are read from one whose number is a multiple of 8 on */
      PetscCall(MuonCompressorValuesDecode_Private(codec, (PetscInt64)(skip + count), from, (PetscInt64)(first - skip), x));
      MuonKernelScatter(some, columns, reader->from, i * columns, x + skip, add == PETSC_TRUE, scale, Y + i, ld);
      first += count;
    }
  } else PetscCall(MuonCompressorKeptDecodeRaw_Private(codec, n, kept, reader, from, add, scale, Y, ldy));
  if (add == PETSC_TRUE) PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)kept));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorValuesFit_Private(MuonWireValues codec, PetscInt64 count, const unsigned char from[], PetscBool *fit)
{
  PetscFunctionBegin;
  *fit = PETSC_TRUE;
  if (PetscDefined(USE_REAL_SINGLE) && codec == MUON_WIRE_VALUES_DOUBLE) {
    for (PetscInt64 k = 0; k < count && *fit == PETSC_TRUE; k += CHUNK) {
      const size_t some = (size_t)(count - k < CHUNK ? count - k : CHUNK);
      double       y[CHUNK];

      MuonWireDoublesDecode(some, from, (uint64_t)k, y);
      for (size_t i = 0; i < some; i++) {
        if ((double)(PetscScalar)y[i] != y[i]) *fit = PETSC_FALSE;
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
