/*
   What a message costs: by the formula of the paper, and by the information that it holds.
*/
#include "muoncompressorcodec.h"
#include <math.h>

enum {
  CODES = 512, /* that nine bits tell apart */
  CHUNK = 512
};

/* sum over the symbols of n log2(total / n): the bits of an ideal order-0 code that knows the counts */
static PetscLogDouble EntropyOfCounts(PetscInt symbols, const PetscInt64 counts[])
{
  PetscLogDouble bits  = 0;
  PetscInt64     total = 0;

  for (PetscInt s = 0; s < symbols; s++) total += counts[s];
  for (PetscInt s = 0; s < symbols; s++) {
    if (counts[s] > 0) bits += (double)counts[s] * log2((double)total / (double)counts[s]);
  }
  return bits;
}

/* Codes first ... first + count - 1 of a section, wherever first is */
static PetscErrorCode CountCodes(PetscInt64 count, const unsigned char from[], PetscInt64 first, PetscInt64 counts[CODES])
{
  PetscInt64 aligned = first / 8 * 8;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(counts, CODES));
  for (PetscInt64 at = aligned; at < first + count; at += CHUNK) {
    const PetscInt64 some = PetscMin(first + count - at, CHUNK);
    uint16_t         codes[CHUNK];

    MuonWireNaturalDecode((uint64_t)some, from, (uint64_t)at, codes);
    for (PetscInt64 k = PetscMax(first - at, 0); k < some; k++) counts[codes[k]]++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscLogDouble Log2Binomial(PetscInt64 n, PetscInt64 k)
{
  return (lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1)) / log(2.0);
}

PetscErrorCode MuonCompressorEntropy_Private(const MuonWireMessage *message, PetscInt64 rows, PetscInt64 columns, const unsigned char payload[], PetscLogDouble *bits)
{
  const PetscInt64     d = rows * columns, count = (PetscInt64)message->count, lines = message->form == MUON_WIRE_PERROW ? rows : columns;
  const PetscBool      natural = message->values == MUON_WIRE_VALUES_NATURAL ? PETSC_TRUE : PETSC_FALSE;
  const unsigned char *values  = payload + MuonWireIndicesBytes((MuonWireIndices)message->indices, (uint64_t)d, (uint64_t)count);
  PetscInt64           counts[CODES];
  MuonWireLayout       sections;

  PetscFunctionBegin;
  switch (message->form) {
  case MUON_WIRE_SPARSE:
    *bits = Log2Binomial(d, count);
    if (natural == PETSC_TRUE) {
      PetscCall(CountCodes(count, values, 0, counts));
      for (PetscInt e = 0; e < CODES / 2; e++) counts[e] += counts[CODES / 2 + e];
      *bits += EntropyOfCounts(CODES / 2, counts) + (double)count;
    } else *bits += 8.0 * (double)MuonWireValuesBytes((MuonWireValues)message->values, (uint64_t)count);
    break;
  case MUON_WIRE_LOWRANK:
    if (natural == PETSC_TRUE) {
      PetscCall(CountCodes(count * rows, values, 0, counts));
      *bits = EntropyOfCounts(CODES, counts);
      PetscCall(CountCodes(count * columns, values, count * rows, counts));
      *bits += EntropyOfCounts(CODES, counts);
    } else *bits = 8.0 * (double)MuonWireValuesBytes((MuonWireValues)message->values, (uint64_t)(count * (rows + columns)));
    break;
  case MUON_WIRE_TRIPLES:
  case MUON_WIRE_SIGNS:
  case MUON_WIRE_PERROW:
  case MUON_WIRE_PERCOLUMN:
  case MUON_WIRE_COLUMNS:
    (void)MuonWireMessageLayout(message, (uint64_t)rows, (uint64_t)columns, &sections);
    *bits = 8.0 * (double)MuonWireValuesBytes((MuonWireValues)message->values, sections.values);
    if (message->form != MUON_WIRE_TRIPLES && message->form != MUON_WIRE_SIGNS) *bits += Log2Binomial(lines, count);
    if (sections.entries > 0) *bits += (double)sections.entries * (1 + log2((double)sections.length));
    break;
  default:
    if (natural == PETSC_TRUE) {
      PetscCall(CountCodes(count, values, 0, counts));
      *bits = EntropyOfCounts(CODES, counts);
    } else *bits = 8.0 * (double)MuonWireValuesBytes((MuonWireValues)message->values, (uint64_t)count);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The fewest bits that number so many things */
static PetscLogDouble NumberBits(PetscInt64 things)
{
  int bits = 0;

  while (bits < 62 && ((PetscInt64)1 << bits) < things) bits++;
  return bits;
}

PetscErrorCode MuonCompressorGetPaperBits(MuonCompressor c, PetscInt m, PetscInt n, PetscLogDouble *bits)
{
  MuonCompressorLayout layout;
  PetscLogDouble       value, indexbits;

  PetscFunctionBegin;
  PetscCall(MuonCompressorSetUp_Private(c));
  PetscCall(PetscMemzero(&layout, sizeof(layout)));
  PetscUseTypeMethod(c, layout, m, n, &layout);
  /* The paper knows two widths: a float is 32 bits, a compressed one 16 */
  value = layout.values == MUON_WIRE_VALUES_NATURAL || layout.values == MUON_WIRE_VALUES_BF16 ? 16.0 : 32.0;
  switch (layout.form) {
  case MUON_WIRE_SPARSE:
    indexbits = c->paperbits != PETSC_DETERMINE ? (double)c->paperbits : NumberBits((PetscInt64)m * n);
    *bits     = (double)layout.count * (value + indexbits);
    break;
  case MUON_WIRE_LOWRANK:
    *bits = (double)layout.count * ((double)m + (double)n) * value;
    break;
  case MUON_WIRE_TRIPLES:
    *bits = (double)layout.count * (1.0 + (double)m + (double)n) * value;
    break;
  case MUON_WIRE_SIGNS:
    *bits = layout.count > 0 ? (double)layout.count + value : 0.0;
    break;
  case MUON_WIRE_PERROW:
    *bits = (double)layout.count * (1.0 + NumberBits(n)) + value;
    break;
  case MUON_WIRE_PERCOLUMN:
    *bits = (double)layout.count * (1.0 + NumberBits(m)) + value;
    break;
  case MUON_WIRE_COLUMNS:
    *bits = (double)layout.count * (NumberBits(n) + (1.0 + (double)m) * value);
    break;
  default:
    *bits = (double)layout.count * value;
  }
  if (layout.chance > 0.0) *bits *= (double)layout.chance;
  PetscFunctionReturn(PETSC_SUCCESS);
}
