/*
   The entries of largest absolute value, exactly.

   The bits of |x| order as |x| does. One pass counts the leading bits; the bin in which the wanted count is reached holds the threshold. A second pass marks
   what lies above that bin and remembers, one bit each, what lies in it. The few candidates are split by their next bits in the same way until the count
   comes out even or their bits are used up: then they are equal and the lowest numbers win. The work does not depend on any random choice.
*/
#include "muonkernels.h"
#include <string.h>

#if defined(MUON_KERNEL_SINGLE)
typedef uint32_t Key;
  #define KEY_BITS      31
  #define EXPONENT_BITS 8
#else
typedef uint64_t Key;
  #define KEY_BITS      63
  #define EXPONENT_BITS 11
#endif

#define BIN_BITS 14
#define BINS     ((size_t)1 << BIN_BITS)
/* Neighbors often fall into the same bin: two tables take turns, so that an increment need not wait for the last one */
#define TABLES 2
/* Bins of NaN and Inf */
#define FIRST_INFINITE ((((size_t)1 << EXPONENT_BITS) - 1) << (BIN_BITS - EXPONENT_BITS))

static Key Magnitude(const MuonKernelScalar *x)
{
  Key key;

  memcpy(&key, x, sizeof(key));
  return key & (((Key)1 << KEY_BITS) - 1);
}

static unsigned LowestBit(uint64_t word)
{
#if defined(__GNUC__)
  return (unsigned)__builtin_ctzll(word);
#else
  unsigned bit = 0;

  while ((word >> bit & 1u) == 0) ++bit;
  return bit;
#endif
}

static void WriteWord(unsigned char *bitmap, size_t bytes, size_t w, uint64_t word)
{
  for (size_t b = 8 * w; b < bytes && b < 8 * w + 8; b++, word >>= 8) bitmap[b] = (unsigned char)(word & 255u);
}

/* The highest bin at which the counts from above reach wanted; above is what the bins over it hold, wanted is what is still missing then */
static size_t ThresholdBin(const size_t *histogram, size_t bins, size_t *wanted, size_t *inside)
{
  size_t bin = bins;

  while (bin > 0) {
    --bin;
    *inside = histogram[bin];
    if (*inside >= *wanted) break;
    *wanted -= *inside;
  }
  return bin;
}

size_t MuonKernelSelectScratch(size_t entries)
{
  return TABLES * BINS * sizeof(size_t) + (entries / 64 + 1) * sizeof(uint64_t);
}

int MuonKernelSelect(size_t entries, const MuonKernelScalar *x, size_t count, unsigned char *bitmap, void *scratch)
{
  size_t      *histogram  = (size_t *)scratch;
  uint64_t    *candidates = (uint64_t *)(histogram + TABLES * BINS);
  const size_t bytes = (entries + 7) / 8, words = (entries + 63) / 64;
  unsigned     shift  = KEY_BITS - BIN_BITS;
  size_t       wanted = count, inside = 0, infinite = 0, bin;
  Key          lower, upper;

  memset(histogram, 0, TABLES * BINS * sizeof(*histogram));
  {
    size_t i = 0;

    for (; i + TABLES <= entries; i += TABLES) {
      for (size_t t = 0; t < TABLES; t++) ++histogram[t * BINS + (size_t)(Magnitude(x + i + t) >> shift)];
    }
    for (; i < entries; i++) ++histogram[Magnitude(x + i) >> shift];
    for (size_t b = 0; b < BINS; b++) {
      for (size_t t = 1; t < TABLES; t++) histogram[b] += histogram[t * BINS + b];
    }
  }
  for (size_t b = FIRST_INFINITE; b < BINS; b++) infinite += histogram[b];
  if (infinite > 0) return 1;
  if (count == 0 || count >= entries) {
    for (size_t w = 0; w < words; w++) {
      const size_t left = entries - 64 * w;

      WriteWord(bitmap, bytes, w, count == 0 ? 0 : left >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << left) - 1);
    }
    return 0;
  }

  bin   = ThresholdBin(histogram, FIRST_INFINITE, &wanted, &inside);
  lower = (Key)bin << shift;
  upper = (Key)(bin + 1) << shift;
  for (size_t w = 0; w < words; w++) {
    const size_t left  = entries - 64 * w;
    uint64_t     under = 0, outside = 0;

    /* Keys leave the sign bit free, so that it is the borrow of a subtraction, shifted in from above */
    if (left >= 64) {
      for (unsigned b = 0; b < 64; b++) {
        const Key key = Magnitude(x + 64 * w + b);

        under   = under >> 1 | (uint64_t)((key - upper) >> KEY_BITS) << 63;
        outside = outside >> 1 | (uint64_t)((key - lower) >> KEY_BITS) << 63;
      }
    } else {
      for (unsigned b = 0; b < 64; b++) {
        const Key key = b < left ? Magnitude(x + 64 * w + b) : 0;

        under   = under >> 1 | (uint64_t)(key < upper) << 63;
        outside = outside >> 1 | (uint64_t)(key < lower || b >= left) << 63;
      }
    }
    candidates[w] = under & ~outside;
    WriteWord(bitmap, bytes, w, ~under);
  }

  while (inside > wanted && shift > 0) {
    const unsigned bits = shift < BIN_BITS ? shift : BIN_BITS;
    const size_t   bins = (size_t)1 << bits;

    shift -= bits;
    memset(histogram, 0, bins * sizeof(*histogram));
    for (size_t w = 0; w < words; w++) {
      for (uint64_t word = candidates[w]; word != 0; word &= word - 1) ++histogram[(size_t)(Magnitude(x + 64 * w + LowestBit(word)) >> shift) & (bins - 1)];
    }
    bin = ThresholdBin(histogram, bins, &wanted, &inside);
    for (size_t w = 0; w < words; w++) {
      for (uint64_t word = candidates[w]; word != 0; word &= word - 1) {
        const unsigned b     = LowestBit(word);
        const size_t   digit = (size_t)(Magnitude(x + 64 * w + b) >> shift) & (bins - 1);

        if (digit == bin) continue;
        candidates[w] &= ~((uint64_t)1 << b);
        if (digit > bin) bitmap[8 * w + b / 8] |= (unsigned char)(1u << b % 8);
      }
    }
  }
  for (size_t w = 0; w < words && wanted > 0; w++) {
    for (uint64_t word = candidates[w]; word != 0 && wanted > 0; word &= word - 1) {
      const unsigned b = LowestBit(word);

      bitmap[8 * w + b / 8] |= (unsigned char)(1u << b % 8);
      --wanted;
    }
  }
  return 0;
}
