#if !defined(REAL)
/*
   Natural compression. A value is rounded to binary32 first. Adding 23 random bits to its mantissa and dropping the mantissa
   carries into the exponent with probability mantissa / 2^23, which is natural compression exactly.

   This file includes itself once for each precision: REAL is the type of an entry, REAL_NAME(name) the name
   of a function.
*/
  #include "muonkernels.h"
  #include "../array/muonstretch.h"
  #include "../array/muonentry.h"

/* The number of entries for which random words are computed at a time */
  #define CHUNK 2048

/* Lists the numbers below some of the set bits */
MUON_KERNEL_INLINE size_t PlacesPlain(const unsigned char *bitmap, size_t first, size_t some, uint32_t *place)
{
  size_t kept = 0;

  for (size_t at = 0; at < some; at += WORD) {
    for (uint64_t rest = LoadWord(bitmap, first + at, some - at < WORD ? some - at : WORD); rest != 0; rest &= rest - 1) place[kept++] = (uint32_t)at + LowestBit(rest);
  }
  return kept;
}

  #if defined(MUON_KERNEL_CLONES_X86)
    #include <immintrin.h>
    #define LANES 16

/* The same for whole words. It may write behind the last place */
__attribute__((target("avx512f,avx512bw,avx512vbmi2,popcnt"), optimize("O3"))) static size_t PlacesWide(const unsigned char *bitmap, size_t first, size_t some, uint32_t *place)
{
  unsigned char count[WORD];
  size_t        kept = 0;

  for (unsigned i = 0; i < WORD; i++) count[i] = (unsigned char)i;
  for (size_t at = 0; at < some; at += WORD) {
    const uint64_t word  = LoadWord(bitmap, first + at, WORD);
    const size_t   there = CountOnes(word);
    __m512i        found = _mm512_maskz_compress_epi8(word, _mm512_loadu_si512(count));

    for (size_t i = 0; i < there; i += LANES) {
      _mm512_storeu_si512(place + kept + i, _mm512_add_epi32(_mm512_cvtepu8_epi32(_mm512_castsi512_si128(found)), _mm512_set1_epi32((int)at)));
      found = _mm512_alignr_epi32(found, found, 4);
    }
    kept += there;
  }
  return kept;
}

static size_t Places(const unsigned char *bitmap, size_t first, size_t some, uint32_t *place)
{
  return some % WORD == 0 && __builtin_cpu_supports("avx512vbmi2") ? PlacesWide(bitmap, first, some, place) : PlacesPlain(bitmap, first, some, place);
}
  #else
    #define LANES  0
    #define Places PlacesPlain
  #endif

MUON_KERNEL_CLONES int MuonKernelNaturalKept(size_t entries, const float *values, const unsigned char *bitmap, const MuonKernelStream *stream, uint16_t *codes)
{
  uint32_t number[CHUNK / 4], words[CHUNK], place[CHUNK + LANES], infinite = 0;

  for (size_t e = 0; e < entries; e += CHUNK) {
    const size_t some = entries - e < CHUNK ? entries - e : CHUNK;
    const size_t kept = Places(bitmap, e, some, place);

    if (kept > CHUNK / 4) MuonKernelStreamWords(stream, e, some, words);
    else {
      /*
         For few entries a block of four words is computed for each entry. This is faster than finding entries that share
         a block
      */
      for (size_t k = 0; k < kept; k++) {
        number[k] = (uint32_t)(e / 4) + place[k] / 4;
        place[k]  = 4 * (uint32_t)k + place[k] % 4;
      }
      MuonKernelStreamBlocks(stream, kept, number, words);
    }
    for (size_t k = 0; k < kept; k++) {
      const uint32_t bits = FloatBits(values[k]);

      infinite |= FloatReached(bits);
      codes[k] = NaturalCode(bits, words[place[k]]);
    }
    values += kept;
    codes += kept;
  }
  return (infinite & SIGN_BIT) != 0;
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

    if (stride == 1) MuonKernelStreamWords(stream, at, count, words);
    else {
      for (size_t i = 0; i < count; i++) number[i] = (uint32_t)((at + i * stride) >> 2);
      MuonKernelStreamBlocks(stream, count, number, words);
      for (size_t i = 0; i < count; i++) words[i] = words[4 * i + (size_t)((at + i * stride) & 3u)];
    }
    for (size_t i = 0; i < count; i++) {
      const uint32_t bits = FloatBits((float)x[e + i]);

      infinite |= FloatReached(bits);
      codes[e + i] = NaturalCode(bits, words[i]);
    }
  }
  return (infinite & SIGN_BIT) != 0;
}
#endif
