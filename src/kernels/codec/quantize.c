#if !defined(REAL)
/*
   Quantization of blocks: the largest entry or the Euclidean norm of a block, levels between 0 and a scale,
   rounded at random and without bias.

   This file includes itself once for each precision: REAL is the type of an entry, BITS the integers of its
   width, REAL_NAME(name) the name of a function.
*/
  #include "muonkernels.h"
  #include "../array/muonclones.h"
  #include <float.h>
  #include <math.h>
  #include <string.h>

/* Independent partial results */
  #define LANES 8
/* Entries of the shortest block, which have one scale */
  #define GROUP 16
/* Entries for which random words are made at once */
  #define CHUNK 512

  #define TWICE "../codec/quantize.c"
  #include "../array/muontwice.h"

#else

/* Absolute values are in the order of their bits, those that are not finite at the end */
MUON_KERNEL_CLONES double REAL_NAME(MuonKernelLargest)(size_t entries, const void *X)
{
  const REAL *x           = (const REAL *)X;
  const BITS  top         = (BITS)1 << (8 * sizeof(BITS) - 1);
  BITS        most[LANES] = {0, 0, 0, 0, 0, 0, 0, 0}, bits;
  REAL        largest;
  size_t      k = 0;

  for (; k + LANES <= entries; k += LANES) {
    for (size_t l = 0; l < LANES; l++) {
      memcpy(&bits, x + k + l, sizeof(bits));
      bits &= ~top;
      most[l] = bits > most[l] ? bits : most[l];
    }
  }
  for (; k < entries; k++) {
    memcpy(&bits, x + k, sizeof(bits));
    bits &= ~top;
    most[0] = bits > most[0] ? bits : most[0];
  }
  for (size_t l = 1; l < LANES; l++) most[0] = most[l] > most[0] ? most[l] : most[0];
  memcpy(&largest, most, sizeof(largest));
  /* A comparison that a NaN does not trap */
  return islessequal((double)largest, DBL_MAX) ? (double)largest : HUGE_VAL;
}

double REAL_NAME(MuonKernelEuclidean)(size_t entries, const void *X)
{
  double largest, sum = REAL_NAME(MuonKernelSumSquares)(entries, 1, X, entries);
  int    exponent;

  /* Squares that neither overflow nor lose digits at the lower end: most squares are like that */
  if (isgreater(sum, 1e-250) && isless(sum, 1e250)) return sqrt(sum);
  largest = REAL_NAME(MuonKernelLargest)(entries, X);
  if (!(largest > 0) || largest > DBL_MAX) return largest;
  (void)frexp(largest, &exponent);
  sum = 0;
  for (size_t k = 0; k < entries; k++) {
    const double y = ldexp((double)((const REAL *)X)[k], -exponent);

    sum += y * y;
  }
  return ldexp(sqrt(sum), exponent);
}

/* Each loop does one thing to a constant number of entries, so that compilers make vector code of it */
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

      if (g + GROUP <= count) {
        for (size_t i = g; i < g + GROUP; i++) y[i] = (float)((double)x[e + i] * factor);
      } else {
        for (size_t i = g; i < count; i++) y[i] = (float)((double)x[e + i] * factor);
      }
    }
    for (size_t i = count; i < CHUNK; i++) {
      words[i] = 0;
      y[i]     = 0;
    }
    for (size_t i = 0; i < CHUNK; i++) {
      const float   size = fabsf(y[i]) < top ? fabsf(y[i]) : top, fraction = (float)(int32_t)(words[i] >> 8) * (1.0f / 16777216.0f);
      const int32_t down = (int32_t)size, level = down + (fraction < size - (float)down), negative = y[i] < 0;

      rounded[i] = (unsigned char)(2 * level + (negative & (level > 0)));
    }
    memcpy(codes + e, rounded, count);
  }
}

MUON_KERNEL_CLONES void REAL_NAME(MuonKernelDequantize)(size_t entries, const unsigned char *codes, double step, void *X)
{
  const REAL size = (REAL)step;
  REAL      *x    = (REAL *)X;

  for (size_t k = 0; k < entries; k++) {
    const int32_t level = codes[k] >> 1, sign = -(int32_t)(codes[k] & 1u);

    x[k] = (REAL)((level ^ sign) - sign) * size;
  }
}
#endif
