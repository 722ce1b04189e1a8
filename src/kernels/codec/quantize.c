#if !defined(REAL)
/*
   Quantization of blocks: levels between 0 and a scale, rounded at random and without bias.

   This file includes itself once for each precision: REAL is the type of an entry,
   REAL_NAME(name) the name of a function.
*/
  #include "muonkernels.h"
  #include "../array/muonentry.h"

/* Entries of the shortest block; a block has one scale */
  #define GROUP 16
/* The number of entries for which random words are computed at a time */
  #define CHUNK 512

  #define TWICE "../codec/quantize.c"
  #include "../array/muontwice.h"

#else

/* Each loop does one operation on a constant number of entries, so that compilers can use vectors */
MUON_KERNEL_CLONES void REAL_NAME(MuonKernelQuantize)(size_t entries, const void *X, unsigned lengthlog, const double *scales, unsigned levels, const MuonKernelStream *stream, uint64_t first, unsigned char *codes)
{
  const REAL *x   = (const REAL *)X;
  const float top = (float)levels;

  for (size_t e = 0; e < entries; e += CHUNK) {
    const size_t  count = entries - e < CHUNK ? entries - e : CHUNK;
    uint32_t      words[CHUNK];
    float         y[CHUNK];
    unsigned char rounded[CHUNK];

    MuonKernelStreamWords(stream, first + e, count, words);
    for (size_t g = 0; g < count; g += GROUP) {
      const double scale = scales[(e + g) >> lengthlog], factor = scale > 0 ? (double)levels / scale : 0;

      for (size_t i = g; i < (g + GROUP <= count ? g + GROUP : count); i++) y[i] = (float)((double)x[e + i] * factor);
    }
    for (size_t i = count; i < CHUNK; i++) {
      words[i] = 0;
      y[i]     = 0;
    }
    for (size_t i = 0; i < CHUNK; i++) rounded[i] = QuantizedCode(y[i], top, words[i]);
    memcpy(codes + e, rounded, count);
  }
}
#endif
