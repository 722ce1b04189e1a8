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

/* Entries for which random words are made at once */
  #define CHUNK 2048

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
      infinite |= FloatReached(images[k]);
      codes[k] = NaturalCode(images[k], words[place[k]]);
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
