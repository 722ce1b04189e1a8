/*
   Natural compression and the other roundings of values that go on the wire.

   A value is rounded to binary32 first. Adding 23 random bits to its mantissa and dropping the mantissa carries into the exponent with probability
   mantissa / 2^23, which is natural compression exactly.
*/
#include "muonkernels.h"
#include <string.h>

#define SIGN_BIT     0x80000000u
#define EXPONENT_255 0x7F800000u
#define EXPONENT_1   0x00800000u

/* Entries for which random words are made at once */
#define CHUNK 512

static uint32_t FloatBits(float x)
{
  uint32_t bits;

  memcpy(&bits, &x, sizeof(bits));
  return bits;
}

static float BitsFloat(uint32_t bits)
{
  float x;

  memcpy(&x, &bits, sizeof(x));
  return x;
}

/* Subnormal magnitudes become zero, of which there is one; a carry out of the largest exponent stays at 2^127 */
static uint16_t NaturalCode(uint32_t bits, uint32_t word)
{
  const uint32_t magnitude = bits & ~SIGN_BIT;
  const uint32_t normal    = 0u - (uint32_t)(magnitude >= EXPONENT_1);
  uint32_t       exponent  = (magnitude + (word >> 9)) >> 23;

  exponent -= (uint32_t)(exponent == 255);
  return (uint16_t)((exponent | (bits >> 31) << 8) & normal);
}

int MuonKernelNatural(size_t entries, const MuonKernelScalar *x, const MuonKernelStream *stream, uint64_t first, uint16_t *codes)
{
  uint32_t words[CHUNK], infinite = 0;

  for (size_t e = 0; e < entries; e += CHUNK) {
    const size_t count = entries - e < CHUNK ? entries - e : CHUNK;

    MuonKernelStreamWords(stream, first + e, count, words);
    for (size_t i = 0; i < count; i++) {
      const uint32_t bits = FloatBits((float)x[e + i]);

      infinite |= (bits & ~SIGN_BIT) + EXPONENT_1; /* reaches the sign bit exactly where the exponent is 255 */
      codes[e + i] = NaturalCode(bits, words[i]);
    }
  }
  return (infinite & SIGN_BIT) != 0;
}

int MuonKernelNaturalSelected(size_t entries, const MuonKernelScalar *x, const unsigned char *bitmap, const MuonKernelStream *stream, uint16_t *codes)
{
  uint32_t number[CHUNK / 4], words[CHUNK], place[CHUNK], values[CHUNK], infinite = 0;

  for (size_t e = 0; e < entries; e += CHUNK) {
    const size_t bytes  = (entries - e < CHUNK ? entries - e + 7 : CHUNK) / 8;
    size_t       blocks = 0, kept = 0;

    /* Only the blocks of kept entries are computed, each once */
    for (size_t b = 0; b < bytes; b++) {
      const unsigned byte = bitmap[e / 8 + b];

      for (unsigned half = 0; half < 2; half++) {
        const unsigned nibble = byte >> 4 * half & 15u;
        const size_t   at     = e + 8 * b + 4 * half;

        if (nibble == 0) continue;
        for (unsigned w = 0; w < 4; w++) {
          if (nibble >> w & 1u) {
            place[kept]    = (uint32_t)(4 * blocks + w);
            values[kept++] = FloatBits((float)x[at + w]);
          }
        }
        number[blocks++] = (uint32_t)(at >> 2);
      }
    }
    MuonKernelStreamBlocks(stream, blocks, number, words);
    for (size_t k = 0; k < kept; k++) {
      infinite |= (values[k] & ~SIGN_BIT) + EXPONENT_1;
      codes[k] = NaturalCode(values[k], words[place[k]]);
    }
    codes += kept;
  }
  return (infinite & SIGN_BIT) != 0;
}

int MuonKernelPowers(size_t entries, const MuonKernelScalar *x, uint32_t addend, uint16_t *codes)
{
  const uint32_t word     = addend << 9;
  uint32_t       infinite = 0;

  for (size_t e = 0; e < entries; e++) {
    const uint32_t bits = FloatBits((float)x[e]);

    infinite |= (bits & ~SIGN_BIT) + EXPONENT_1;
    codes[e] = NaturalCode(bits, word);
  }
  return (infinite & SIGN_BIT) != 0;
}

float MuonKernelNaturalValue(uint16_t code)
{
  return BitsFloat((uint32_t)(code & 255u) << 23 | (uint32_t)(code >> 8) << 31);
}

void MuonKernelNaturalValues(size_t count, const uint16_t *codes, MuonKernelScalar *x)
{
  for (size_t k = 0; k < count; k++) x[k] = (MuonKernelScalar)MuonKernelNaturalValue(codes[k]);
}

int MuonKernelToSingle(size_t count, const MuonKernelScalar *x, float *y)
{
  uint32_t infinite = 0;

  for (size_t k = 0; k < count; k++) {
    y[k] = (float)x[k];
    infinite |= (FloatBits(y[k]) & ~SIGN_BIT) + EXPONENT_1;
  }
  return (infinite & SIGN_BIT) != 0;
}

int MuonKernelToBF16(size_t count, const MuonKernelScalar *x, float *y)
{
  uint32_t infinite = 0;

  for (size_t k = 0; k < count; k++) {
    const uint32_t bits = FloatBits((float)x[k]), magnitude = bits & ~SIGN_BIT;
    /* A NaN must not carry into a zero: it is seen before the rounding, the Inf of the rounding after it */
    const uint32_t rounded = (magnitude + 0x7FFFu + (magnitude >> 16 & 1u)) & 0xFFFF0000u;

    infinite |= (magnitude + EXPONENT_1) | (rounded + EXPONENT_1);
    y[k] = BitsFloat(rounded | (bits & SIGN_BIT));
  }
  return (infinite & SIGN_BIT) != 0;
}
