/*
   What a message costs: by the formula of the paper, and by the information that it holds.
*/
#include <petscmuon/private/muoncompressorcodec.h>
#include <math.h>

enum {
  CODES = 512, /* that nine bits tell apart */
  CHUNK = 512
};

/* sum over the symbols of n log2(total / n): the bits of an ideal order-0 code that knows the counts */
static PetscLogDouble EntropyOfCounts(const PetscInt64 counts[CODES])
{
  PetscLogDouble bits  = 0;
  PetscInt64     total = 0;

  for (PetscInt s = 0; s < CODES; s++) total += counts[s];
  for (PetscInt s = 0; s < CODES; s++) {
    if (counts[s] > 0) bits += (double)counts[s] * log2((double)total / (double)counts[s]);
  }
  return bits;
}

/* How often each code of so many bits occurs in a section */
static PetscErrorCode CountCodes(unsigned width, PetscInt64 count, const unsigned char from[], PetscInt64 counts[CODES])
{
  PetscFunctionBegin;
  PetscCall(PetscArrayzero(counts, CODES));
  for (PetscInt64 at = 0; at < count; at += CHUNK) {
    const PetscInt64 some = PetscMin(count - at, CHUNK);
    uint64_t         codes[CHUNK];

    MuonWireEntriesDecode((uint64_t)1 << (width - 1), (uint64_t)some, from, (uint64_t)at, codes);
    for (PetscInt64 k = 0; k < some; k++) counts[codes[k]]++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscLogDouble Log2Binomial(PetscInt64 n, PetscInt64 k)
{
  return (lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1)) / log(2.0);
}

/*
   The values of a section. Natural ones are symbols: a sign and an exponent, or an exponent with a bit for
   the sign beside it; others and magnitudes are so many bits
*/
static PetscErrorCode EntropyOfValues(MuonWireValues codec, PetscBool bitforsign, const unsigned char from[], PetscInt64 count, PetscLogDouble *bits)
{
  PetscInt64 counts[CODES];

  PetscFunctionBegin;
  if (codec != MUON_WIRE_VALUES_NATURAL) {
    *bits += 8.0 * (double)MuonWireValuesBytes(codec, (uint64_t)count);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(CountCodes(9, count, from, counts));
  if (bitforsign == PETSC_TRUE) {
    for (PetscInt e = 0; e < CODES / 2; e++) {
      counts[e] += counts[CODES / 2 + e];
      counts[CODES / 2 + e] = 0;
    }
    *bits += (double)count;
  }
  *bits += EntropyOfCounts(counts);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorEntropy_Private(const MuonWireMessage *message, PetscInt64 rows, PetscInt64 columns, const unsigned char payload[], PetscLogDouble *bits)
{
  const MuonWireValues codec      = (MuonWireValues)message->values;
  const PetscBool      bitforsign = message->form == MUON_WIRE_SPARSE || message->form == MUON_WIRE_SEEDED ? PETSC_TRUE : PETSC_FALSE;
  MuonWireLayout       sections;

  PetscFunctionBegin;
  (void)MuonWireMessageLayout(message, (uint64_t)rows, (uint64_t)columns, &sections);
  *bits = 8.0 * (double)sections.seed + Log2Binomial((PetscInt64)sections.numbered, (PetscInt64)sections.positions);
  if (message->form == MUON_WIRE_BLOCKS) {
    PetscInt64 counts[CODES];
    unsigned   width, lengthlog;

    (void)MuonWireBlocksOfParameter(message->parameter, &width, &lengthlog);
    PetscCall(CountCodes(width, (PetscInt64)sections.entries, payload + sections.entriesat, counts));
    *bits += EntropyOfCounts(counts);
  } else if (sections.entries > 0) *bits += (double)sections.entries * (1 + log2((double)sections.length));
  /*
     Two factors have two distributions, and what is kept of a matrix for its size alone has signs that
     nothing tells
  */
  for (unsigned s = 0; s < sections.sections; s++) {
    if (s == 0 && sections.magnitudes > 0) *bits += (double)sections.magnitudes * (codec == MUON_WIRE_VALUES_NATURAL ? 9.0 : 8.0 * (double)MuonWireValuesBytes(codec, 1));
    else PetscCall(EntropyOfValues(codec, bitforsign, payload + sections.sectionat[s], (PetscInt64)sections.section[s], bits));
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

PetscLogDouble MuonCompressorPaperBits_Private(const MuonWireMessage *message, PetscInt64 rows, PetscInt64 columns, PetscInt indexbits)
{
  const PetscLogDouble m = (PetscLogDouble)rows, n = (PetscLogDouble)columns, count = (PetscLogDouble)message->count;
  /* The paper knows two widths: a float is 32 bits, a compressed one 16 */
  const PetscLogDouble value = message->values == MUON_WIRE_VALUES_NATURAL || message->values == MUON_WIRE_VALUES_BF16 ? 16.0 : 32.0;
  unsigned             width, lengthlog;

  if (message->count == 0) return 0.0;
  switch (message->form) {
  case MUON_WIRE_SPARSE:
  case MUON_WIRE_SEEDED:
    return count * (value + (indexbits != PETSC_DETERMINE ? (PetscLogDouble)indexbits : NumberBits(rows * columns)));
  case MUON_WIRE_LOWRANK:
    return count * (m + n) * value;
  case MUON_WIRE_TRIPLES:
    return count * (1.0 + m + n) * value;
  case MUON_WIRE_BLOCKS:
    (void)MuonWireBlocksOfParameter(message->parameter, &width, &lengthlog);
    return count * (PetscLogDouble)width + (PetscLogDouble)((message->count + ((uint64_t)1 << lengthlog) - 1) >> lengthlog) * value;
  case MUON_WIRE_SIGNS:
    return count + value;
  case MUON_WIRE_PERROW:
    return count * (1.0 + NumberBits(columns)) + value;
  case MUON_WIRE_PERCOLUMN:
    return count * (1.0 + NumberBits(rows)) + value;
  case MUON_WIRE_COLUMNS:
    return count * (NumberBits(columns) + (1.0 + m) * value);
  case MUON_WIRE_WHOLECOLUMNS:
    return count * (NumberBits(columns) + m * value);
  case MUON_WIRE_WHOLEROWS:
    return count * (NumberBits(rows) + n * value);
  default:
    return count * value;
  }
}
