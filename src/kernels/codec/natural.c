#if !defined(REAL)
/*
   Natural compression and the other roundings of values that go on the wire.

   A value is rounded to binary32 first. Adding 23 random bits to its mantissa and dropping the mantissa
   carries into the exponent with probability mantissa / 2^23, which is natural compression exactly.

   This file includes itself once for each precision: REAL is the type of an entry, REAL_NAME(name) the name
   of a function.
*/
  #include "muonkernels.h"
  #include "../array/muonstretch.h"

  #define SIGN_BIT     0x80000000u
  #define EXPONENT_255 0x7F800000u
  #define EXPONENT_1   0x00800000u

/* Entries for which random words are made at once */
  #define CHUNK 2048

MUON_KERNEL_INLINE uint32_t FloatBits(float x)
{
  uint32_t bits;

  memcpy(&bits, &x, sizeof(bits));
  return bits;
}

MUON_KERNEL_INLINE float BitsFloat(uint32_t bits)
{
  float x;

  memcpy(&x, &bits, sizeof(x));
  return x;
}

/*
   Subnormal magnitudes become zero, of which there is one; a carry out of the largest exponent stays at 2^127
*/
MUON_KERNEL_INLINE uint16_t NaturalCode(uint32_t bits, uint32_t word)
{
  const uint32_t magnitude = bits & ~SIGN_BIT;
  const uint32_t normal    = 0u - (uint32_t)(magnitude >= EXPONENT_1);
  uint32_t       exponent  = (magnitude + (word >> 9)) >> 23;

  exponent -= (uint32_t)(exponent == 255);
  return (uint16_t)((exponent | (bits >> 31) << 8) & normal);
}

MUON_KERNEL_CLONES int MuonKernelNaturalKept(size_t entries, const float *values, const unsigned char *bitmap, const MuonKernelStream *stream, uint16_t *codes)
{
  uint32_t number[CHUNK / 4], words[CHUNK], place[CHUNK], images[CHUNK], infinite = 0;

  for (size_t e = 0; e < entries; e += CHUNK) {
    const size_t some = entries - e < CHUNK ? entries - e : CHUNK;
    size_t       kept = 0;

    for (size_t at = 0; at < some; at += WORD) {
      for (uint64_t rest = LoadWord(bitmap, e + at, some - at < WORD ? some - at : WORD); rest != 0; rest &= rest - 1) place[kept++] = (uint32_t)at + LowestBit(rest);
    }
    if (kept > 0) memcpy(images, values, kept * sizeof(*values));
    if (kept > CHUNK / 4) MuonKernelStreamWords(stream, e, some, words);
    else {
      /*
         Four words are computed for each of few entries, which is quicker than to see which of them share a
         block
      */
      for (size_t k = 0; k < kept; k++) {
        number[k] = (uint32_t)(e / 4) + place[k] / 4;
        place[k]  = 4 * (uint32_t)k + place[k] % 4;
      }
      MuonKernelStreamBlocks(stream, kept, number, words);
    }
    for (size_t k = 0; k < kept; k++) {
      infinite |= (images[k] & ~SIGN_BIT) + EXPONENT_1;
      codes[k] = NaturalCode(images[k], words[place[k]]);
    }
    values += kept;
    codes += kept;
  }
  return (infinite & SIGN_BIT) != 0;
}

MUON_KERNEL_INLINE float ValueOf(uint16_t code)
{
  return BitsFloat((uint32_t)(code & 255u) << 23 | (uint32_t)(code >> 8) << 31);
}

float MuonKernelNaturalValue(uint16_t code)
{
  return ValueOf(code);
}

  #define TWICE "../codec/natural.c"
  #include "../array/muontwice.h"

#else

MUON_KERNEL_CLONES int REAL_NAME(MuonKernelNatural)(size_t entries, const void *X, const MuonKernelStream *stream, uint64_t first, uint64_t stride, uint16_t *codes)
{
  const REAL  *x    = (const REAL *)X;
  const size_t most = stride == 1 ? CHUNK : CHUNK / 4;
  uint32_t     number[CHUNK / 4], words[CHUNK], infinite = 0;

  for (size_t e = 0; e < entries; e += most) {
    const size_t   count = entries - e < most ? entries - e : most;
    const uint64_t at    = first + e * stride;

    if (stride == 1) {
      MuonKernelStreamWords(stream, at, count, words);
      for (size_t i = 0; i < count; i++) {
        const uint32_t bits = FloatBits((float)x[e + i]);

        infinite |= (bits & ~SIGN_BIT) + EXPONENT_1; /* reaches the sign bit exactly where the exponent is 255 */
        codes[e + i] = NaturalCode(bits, words[i]);
      }
    } else {
      for (size_t i = 0; i < count; i++) number[i] = (uint32_t)((at + i * stride) >> 2);
      MuonKernelStreamBlocks(stream, count, number, words);
      for (size_t i = 0; i < count; i++) {
        const uint32_t bits = FloatBits((float)x[e + i]);

        infinite |= (bits & ~SIGN_BIT) + EXPONENT_1;
        codes[e + i] = NaturalCode(bits, words[4 * i + (size_t)((at + i * stride) & 3u)]);
      }
    }
  }
  return (infinite & SIGN_BIT) != 0;
}

MUON_KERNEL_CLONES int REAL_NAME(MuonKernelPowers)(size_t entries, const void *X, uint32_t addend, uint16_t *codes)
{
  const REAL    *x        = (const REAL *)X;
  const uint32_t word     = addend << 9;
  uint32_t       infinite = 0;

  for (size_t e = 0; e < entries; e++) {
    const uint32_t bits = FloatBits((float)x[e]);

    infinite |= (bits & ~SIGN_BIT) + EXPONENT_1;
    codes[e] = NaturalCode(bits, word);
  }
  return (infinite & SIGN_BIT) != 0;
}

MUON_KERNEL_CLONES void REAL_NAME(MuonKernelNaturalValues)(size_t count, const uint16_t *codes, void *x)
{
  for (size_t k = 0; k < count; k++) ((REAL *)x)[k] = (REAL)ValueOf(codes[k]);
}

MUON_KERNEL_CLONES int REAL_NAME(MuonKernelToSingle)(size_t count, const void *x, float *y)
{
  uint32_t infinite = 0;

  for (size_t k = 0; k < count; k++) {
    y[k] = (float)((const REAL *)x)[k];
    infinite |= (FloatBits(y[k]) & ~SIGN_BIT) + EXPONENT_1;
  }
  return (infinite & SIGN_BIT) != 0;
}

MUON_KERNEL_CLONES int REAL_NAME(MuonKernelToBF16)(size_t count, const void *x, float *y)
{
  uint32_t infinite = 0;

  for (size_t k = 0; k < count; k++) {
    const uint32_t bits = FloatBits((float)((const REAL *)x)[k]), magnitude = bits & ~SIGN_BIT;
    /* A NaN must not carry into a zero: it is seen before the rounding, the Inf of the rounding after it */
    const uint32_t rounded = (magnitude + 0x7FFFu + (magnitude >> 16 & 1u)) & 0xFFFF0000u;

    infinite |= (magnitude + EXPONENT_1) | (rounded + EXPONENT_1);
    y[k] = BitsFloat(rounded | (bits & SIGN_BIT));
  }
  return (infinite & SIGN_BIT) != 0;
}
#endif
