/*
   How near to their entropy the shortest messages are; and damaged sections of codes, of which the same is said with vectors, where the processor has them, and without.
*/
#include "wire_corpus.h"

static double Uniform(uint64_t *state)
{
  return ((double)(NextBits(state) >> 11) + 0.5) / 9007199254740992.0;
}

static double Gaussian(uint64_t *state)
{
  const double radius = sqrt(-2.0 * log(Uniform(state)));

  return radius * cos(6.283185307179586 * Uniform(state));
}

/* What a message of one row says, of so many values that it has or not */
static void ContentOfRow(Content *content, unsigned form, unsigned values, uint64_t columns, uint64_t count)
{
  memset(content, 0, sizeof(*content));
  content->header.layer     = 1;
  content->header.kind      = (uint8_t)(form & 255);
  content->header.parameter = (uint8_t)(form >> 8);
  content->header.values    = (uint8_t)values;
  content->header.count     = count;
  content->rows             = 1;
  content->columns          = columns;
  ContentAllocate(content);
}

/* The bytes of its shortest form */
static double Shorter(const Content *content)
{
  unsigned char *plain = (unsigned char *)Allocate((size_t)MuonWireMessageBytes(&content->header));
  size_t         bytes = ContentEncode(content, plain);

  (void)Shortest(plain, bytes, 1, 1, content->columns, &bytes);
  return (double)bytes;
}

static double Entropy(const double counts[], unsigned symbols)
{
  double total = 0, bits = 0;

  for (unsigned s = 0; s < symbols; s++) total += counts[s];
  for (unsigned s = 0; s < symbols; s++) bits += counts[s] > 0 ? counts[s] * log2(total / counts[s]) : 0;
  return bits;
}

/*
   The largest entries of d normally distributed ones, rounded to powers of two; the bytes that are sent, and
   in *bound the bytes of their entropy
*/
static double Largest(uint64_t d, double ratio, double *bound, uint64_t *state)
{
  const size_t here      = allocations;
  const int    dense     = ratio == 1;
  double      *values    = (double *)Allocate((size_t)d * sizeof(double));
  uint64_t    *positions = (uint64_t *)Allocate((size_t)d * 8), kept = 0;
  double       signs[512], exponents[256], threshold = 0, above = dense ? 0 : 10, sent;
  Content      content;

  memset(signs, 0, sizeof(signs));
  memset(exponents, 0, sizeof(exponents));
  /* As many as the distribution has above the threshold are kept: by bisection of erfc */
  while (above - threshold > 1e-9) {
    const double middle = 0.5 * (above + threshold);

    if (erfc(middle / sqrt(2.0)) > ratio) threshold = middle;
    else above = middle;
  }
  for (uint64_t k = 0; k < d; k++) {
    const double x = Gaussian(state);
    int          exponent;
    double       part;

    if (fabs(x) < threshold) continue;
    part = 2 * frexp(fabs(x), &exponent) - 1;
    exponent += 126 + (Uniform(state) < part);
    if (exponent < 1) exponent = 1;
    signs[exponent + (x < 0 ? 256 : 0)]++;
    exponents[exponent]++;
    positions[kept] = k;
    values[kept++]  = NaturalValue((unsigned)exponent + (x < 0 ? 256 : 0));
  }
  ContentOfRow(&content, dense ? MUON_WIRE_DENSE : MUON_WIRE_SPARSE, MUON_WIRE_VALUES_NATURAL, d, kept);
  memcpy(content.values, values, (size_t)kept * sizeof(double));
  if (!dense) memcpy(content.positions, positions, (size_t)kept * 8);
  sent   = Shorter(&content);
  *bound = Entropy(signs, 512) / 8;
  if (!dense) *bound = ((lgamma((double)d + 1) - lgamma((double)kept + 1) - lgamma((double)(d - kept) + 1)) / log(2.0) + (double)kept + Entropy(exponents, 256)) / 8;
  FreeFrom(here);
  return sent;
}

/*
   Levels of normally distributed numbers of a scale, in blocks of 512: there and back, and near to their
   entropy however many different codes there are
*/
static void Levels(uint64_t d, unsigned bits, uint64_t *state)
{
  const size_t here = allocations;
  const int    top  = (1 << (bits - 1)) - 1;
  Content      content;
  double       counts[512], sent, bound;

  memset(counts, 0, sizeof(counts));
  ContentOfRow(&content, MUON_WIRE_BLOCKS | (unsigned)MuonWireBlocksParameter(bits, 9) << 8, MUON_WIRE_VALUES_SINGLE, d, d);
  for (uint64_t i = 0; i < content.layout.values; i++) content.values[i] = 1 + (double)(i % 7);
  for (uint64_t i = 0; i < d; i++) {
    const double x     = 0.3 * top * Gaussian(state);
    const int    level = fabs(x) + 0.5 < top ? (int)(fabs(x) + 0.5) : top;

    content.entries[i] = 2 * (uint64_t)level + (x < 0 && level > 0);
    counts[content.entries[i]]++;
  }
  Check(MuonWireKindIsCoded(MUON_WIRE_BLOCKS, MUON_WIRE_VALUES_SINGLE), "blocks");
  for (unsigned values = 0; values <= MUON_WIRE_VALUES_NATURAL; values++) Check(!MuonWireKindIsCoded(MUON_WIRE_SIGNS, (MuonWireValues)values), "signs of one value");
  sent  = Shorter(&content);
  bound = Entropy(counts, 512) / 8 + 4 * (double)content.layout.values;
  /* A table of 255 codes takes up to 28 bits each, 32 states in place of four 112 bytes */
  Check(sent <= 1.01 * bound + 40 + 4 * pow(2, bits) + (d < 32768 ? 0 : 112 * ceil((double)d / 65536)), "%u bits, %d levels: %g bytes, the entropy is %g", bits, (int)d, sent, bound);
  Check(d < 65536 || sent < (double)MuonWireMessageBytes(&content.header), "%u bits: nothing gained", bits);
  FreeFrom(here);
}

/* What both ways say of a section of coded codes, which is the same */
static MuonWireResult Both(unsigned width, uint64_t count, const unsigned char *section, uint64_t room, unsigned char *to)
{
  const uint64_t size  = (width * count + 7) / 8;
  unsigned char *other = (unsigned char *)Allocate((size_t)size);
  uint64_t       used = 0, used2 = 0;
  MuonWireResult result;

  MuonWireSetWide(0);
  result = MuonWireCodedDecode(width, count, section, room, &used, other);
  MuonWireSetWide(1);
  Check(MuonWireCodedDecode(width, count, section, room, &used2, to) == result, "one way refuses what the other takes");
  Check(result != MUON_WIRE_OK || (used == used2 && memcmp(to, other, (size_t)size) == 0), "two ways, two results");
  FreeFrom(allocations - 1);
  return result;
}

/*
   Long chunks of codes in a range of so many: damaged at random, cut short, and with the codes of its table in another order, which no
   sender writes and no receiver looks at
*/
static void Damage(unsigned width, unsigned range, uint64_t *state)
{
  const size_t   here  = allocations;
  const uint64_t count = 33000, size = (width * count + 7) / 8;
  uint16_t      *codes  = (uint16_t *)Allocate((size_t)count * 2);
  unsigned char *packed = (unsigned char *)Allocate((size_t)size), *coded = (unsigned char *)Allocate((size_t)size), *to = (unsigned char *)Allocate((size_t)size);
  uint64_t       bytes;
  int            taken = 0;

  for (uint64_t k = 0; k < count; k++) {
    const uint64_t r = NextBits(state), sign = width == 9 ? r >> 32 & 256 : 0, code = r % range % (1 + (r >> 16) % range);

    codes[k] = (uint16_t)(code == 0 ? 0 : sign | (code + (width == 9 ? 100 : 0)));
  }
  MuonWireCodesEncode(width, 2, count, codes, packed);
  bytes = MuonWireCodedEncode(width, count, packed, size, coded);
  Check(bytes < size && Both(width, count, coded, bytes, to) == MUON_WIRE_OK && memcmp(to, packed, (size_t)size) == 0, "%u codes of %u bits", range, width);
  for (int k = 0; k < 200; k++) {
    const uint64_t bit = NextBits(state) % (8 * (k % 2 == 0 ? 100 : bytes));

    coded[bit / 8] = (unsigned char)(coded[bit / 8] ^ 1 << bit % 8);
    taken += Both(width, count, coded, bytes, to) == MUON_WIRE_OK;
    coded[bit / 8] = (unsigned char)(coded[bit / 8] ^ 1 << bit % 8);
  }
  Check(taken < 100, "%d of 200 damaged sections are taken", taken);
  for (uint64_t less = 1; less < 9; less++) Check(Both(width, count, coded, bytes - less, to) == MUON_WIRE_CORRUPT, "%d bytes less", (int)less);
  FreeFrom(here);
}

/* 1 and -1 in turn: 127 and 383 have half of the frequencies each, and change places */
static void Order(void)
{
  const size_t   here  = allocations;
  const uint64_t count = 40000, size = 9 * count / 8;
  uint16_t      *codes  = (uint16_t *)Allocate((size_t)count * 2);
  unsigned char *packed = (unsigned char *)Allocate((size_t)size), *coded = (unsigned char *)Allocate((size_t)size), *to = (unsigned char *)Allocate((size_t)size);
  uint64_t       bytes;

  for (uint64_t k = 0; k < count; k++) codes[k] = k % 2 == 0 ? 127 : 383;
  MuonWireCodesEncode(9, 2, count, codes, packed);
  bytes = MuonWireCodedEncode(9, count, packed, size, coded);
  /* A length of two bytes, two codes, then 0, code, width 12 and eleven bits for each of them: the bit 8 of both */
  Check(coded[1] < 128 && coded[2] == 2, "a table of two codes");
  for (unsigned k = 0; k < 2; k++) coded[3 + (9 + 25 * k) / 8] = (unsigned char)(coded[3 + (9 + 25 * k) / 8] ^ 1 << (9 + 25 * k) % 8);
  for (uint64_t k = 0; k < count; k++) codes[k] = k % 2 == 0 ? 383 : 127;
  MuonWireCodesEncode(9, 2, count, codes, packed);
  Check(Both(9, count, coded, bytes, to) == MUON_WIRE_OK && memcmp(to, packed, (size_t)size) == 0, "codes that decrease");
  FreeFrom(here);
}

int main(void)
{
  static const uint64_t large[]  = {65536, 200001};
  static const uint64_t small[]  = {100, 1000, 4096, 20000, 65535};
  static const unsigned ranges[] = {1, 2, 4, 20, 32, 33, 70, 120};
  static const double   ratios[] = {0.05, 0.1, 0.15, 0.2, 1};
  uint64_t              state    = 9;
  double                bound, sent;

  /* The limits that the format is for */
  for (size_t r = 0; r < sizeof(ratios) / sizeof(ratios[0]); r++) {
    for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++) {
      sent = Largest(large[i], ratios[r], &bound, &state);
      Check(sent <= 1.03 * bound, "%g of %d: %g bytes, the entropy is %g", ratios[r], (int)large[i], sent, bound);
      if (ratios[r] == 0.1) Check(sent <= 0.0215 * 4 * (double)large[i], "%g of binary32", sent / (4 * (double)large[i]));
    }
    for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++) {
      sent = Largest(small[i], ratios[r], &bound, &state);
      /* 32 states in place of four */
      Check(sent <= bound + 160 + (ratios[r] * (double)small[i] < 32768 ? 0 : 112), "%g of %d: %g bytes, the entropy is %g", ratios[r], (int)small[i], sent, bound);
    }
  }
  /* Other densities cost at most 3 percent, too */
  for (double ratio = 0.01; ratio < 0.99; ratio += 0.0731) {
    sent = Largest(65536, ratio, &bound, &state);
    Check(sent <= 1.03 * bound + 60, "%g of 65536: %g bytes, the entropy is %g", ratio, sent, bound);
  }
  for (unsigned bits = 2; bits <= 8; bits++) {
    Levels(513, bits, &state);
    Levels(65536, bits, &state);
    Levels(140001, bits, &state);
  }
  for (unsigned width = 2; width <= 8; width++) Damage(width, 1u << width, &state);
  for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) Damage(9, ranges[i], &state);
  Order();
  return 0;
}

/*TEST

  test:
    nsize: 0
    link: internal

TEST*/
