/*
   The cost of a message, by the formula of the paper and by its information.
*/
#include <petscmuon/private/muoncompressorcodec.h>

enum {
  CODES = 512, /* different codes of nine bits */
  CHUNK = 512
};

/*
   The sum over the symbols of n log2(total / n): the bits of an ideal order-0 code that knows the frequency of each code of
   width bits. For natural values with a separate bit for the sign, only the exponents are symbols
*/
static PetscLogDouble EntropyOfCodes(unsigned width, PetscBool bitforsign, uint64_t total, const unsigned char from[])
{
  PetscLogDouble bits          = 0;
  uint64_t       counts[CODES] = {0};

  for (uint64_t at = 0; at < total; at += CHUNK) {
    const uint64_t some = PetscMin(total - at, CHUNK);
    uint16_t       codes[CHUNK];

    MuonWireCodesDecode(width, 2, some, from, at, codes);
    for (uint64_t k = 0; k < some; k++) counts[bitforsign ? codes[k] % (CODES / 2) : codes[k]]++;
  }
  for (int s = 0; s < CODES; s++) {
    if (counts[s] > 0) bits += (double)counts[s] * log2((double)total / (double)counts[s]);
  }
  return bits;
}

static PetscLogDouble Log2Binomial(uint64_t n, uint64_t k)
{
  return (lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1)) / log(2.0);
}

PetscLogDouble MuonCompressorEntropy_Private(const MuonCompressorLayout *layout, const unsigned char payload[])
{
  const MuonWireValues  codec   = (MuonWireValues)layout->header.values;
  const MuonWireLayout *section = &layout->section;
  const PetscBool       natural = codec == MUON_WIRE_VALUES_NATURAL ? PETSC_TRUE : PETSC_FALSE, kept = layout->header.kind == MUON_WIRE_SPARSE || layout->header.kind == MUON_WIRE_SEEDED ? PETSC_TRUE : PETSC_FALSE;
  PetscLogDouble        bits = 8.0 * (double)section->seed + Log2Binomial(section->numbered, section->positions);

  if (layout->header.kind == MUON_WIRE_BLOCKS) bits += EntropyOfCodes(section->width, PETSC_FALSE, section->entries, payload + section->entriesat);
  else if (section->entries > 0) bits += (double)section->entries * (1 + log2((double)section->length));
  /*
     Natural values are symbols: a sign and an exponent. Two factors have two distributions. Entries that are kept for their
     size have signs that cannot be predicted. Other values, and magnitudes, have a fixed number of bits
  */
  for (unsigned s = 0; s < section->sections; s++) {
    if (natural && kept) bits += (double)section->section[s];
    if (natural && (s > 0 || section->magnitudes == 0)) bits += EntropyOfCodes(9, kept, section->section[s], payload + section->sectionat[s]);
    else bits += natural ? 9.0 * (double)section->section[s] : 8.0 * (double)MuonWireValuesBytes(codec, section->section[s]);
  }
  return bits;
}

/* The smallest number of bits for that many numbers */
static PetscLogDouble NumberBits(uint64_t things)
{
  int bits = 0;

  while (bits < 62 && ((uint64_t)1 << bits) < things) bits++;
  return bits;
}

/* The paper has two widths: 32 bits for a float, 16 for a compressed one. An entry of each line needs no index of its line */
PetscLogDouble MuonCompressorPaperBits_Private(const MuonCompressorLayout *layout, PetscInt indexbits)
{
  const MuonWireMessage *header  = &layout->header;
  const MuonWireLayout  *section = &layout->section;
  const PetscLogDouble   value = header->values >= MUON_WIRE_VALUES_BF16 ? 16.0 : 32.0, values = (PetscLogDouble)section->values * value;

  if (header->kind == MUON_WIRE_SPARSE || header->kind == MUON_WIRE_SEEDED) return values + (PetscLogDouble)header->count * (indexbits != PETSC_DETERMINE ? (PetscLogDouble)indexbits : NumberBits(layout->rows * layout->columns));
  if (section->entries > 0) return values + (PetscLogDouble)section->entries * (1.0 + NumberBits(section->length));
  return values + (PetscLogDouble)section->positions * NumberBits(section->numbered);
}
