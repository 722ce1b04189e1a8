#if !defined(REAL)
/*
   Signs as bits in the order of memory, and back.

   This file includes itself once for each precision: REAL is the type of an entry, BITS the integers of its
   width, REAL_NAME(name) the name of a function.
*/
  #include "../array/muonstretch.h"
  #include <math.h>

  /* The number of partial sums, and the stretches of a block. At the end of a block the partial sums are added up */
  #define SUMS  8
  #define BLOCK 16

  #if defined(MUON_KERNEL_CLONES_X86)
    #include <immintrin.h>
    #define WIDE_LOAD_Single(from)       _mm512_cvtps_pd(_mm256_loadu_ps(from))
    #define WIDE_LOAD_Double(from)       _mm512_loadu_pd(from)
    #define WIDE_DIFFERENCE_Single(t, r) _mm512_cvtps_pd(_mm256_sub_ps(_mm256_loadu_ps(t), _mm256_loadu_ps(r)))
    #define WIDE_DIFFERENCE_Double(t, r) _mm512_sub_pd(_mm512_loadu_pd(t), _mm512_loadu_pd(r))
  #endif

  #define TWICE "../codec/signs.c"
  #include "../array/muontwice.h"

#else

/*
   Returns a bit for each number, 1 if it is not negative, and adds the absolute values to the partial sums. If zero is not
   NULL, the bits of numbers that are zero are set in it. The loops are simple, so that compilers can use vectors
*/
MUON_KERNEL_INLINE uint64_t REAL_NAME(SignsOf)(size_t some, const REAL *t, const REAL *r, uint64_t *zero, double *sums)
{
  REAL     x[WORD];
  BITS     below[WORD];
  uint64_t word = 0;

  for (size_t i = 0; i < some; i++) x[i] = r == NULL ? t[i] : t[i] - r[i];
  for (size_t i = some; i < WORD; i++) x[i] = 0;
  for (size_t i = 0; i < WORD; i += SUMS) {
    for (size_t s = 0; s < SUMS; s++) sums[s] += fabs((double)x[i + s]);
  }
  /* The top bit is set for a negative number. Subtracting 1 clears it for a negative zero */
  memcpy(below, x, sizeof(below));
  for (size_t i = 0; i < WORD && zero != NULL; i++) *zero |= (uint64_t)(x[i] == 0) << i;
  for (size_t i = 0; i < WORD; i++) word |= (uint64_t)((below[i] & (below[i] - 1)) >> (8 * sizeof(BITS) - 1)) << i;
  return ~word;
}

  #if defined(MUON_KERNEL_CLONES_X86)
/* The same for a block of words without gaps, with the same sums. The bits are those of a comparison */
__attribute__((target("avx512f"), optimize("O3"))) static void REAL_NAME(SignsWide)(const REAL *t, const REAL *r, unsigned char *bits, unsigned char *zeros, double *sums)
{
  __m512d sum = _mm512_setzero_pd();

  for (size_t w = 0; w < BLOCK; w++) {
    uint64_t word = 0, zero = 0;

    for (size_t i = 0; i < WORD; i += SUMS) {
      const __m512d x = r == NULL ? REAL_NAME(WIDE_LOAD_)(t + w * WORD + i) : REAL_NAME(WIDE_DIFFERENCE_)(t + w * WORD + i, r + w * WORD + i);

      sum = _mm512_add_pd(sum, _mm512_abs_pd(x));
      word |= (uint64_t)_mm512_cmp_pd_mask(x, _mm512_setzero_pd(), _CMP_LT_OQ) << i;
      zero |= (uint64_t)_mm512_cmp_pd_mask(x, _mm512_setzero_pd(), _CMP_EQ_OQ) << i;
    }
    StoreWord(bits, w * WORD, WORD, ~word);
    if (zeros != NULL) StoreWord(zeros, w * WORD, WORD, zero);
  }
  _mm512_storeu_pd(sums, sum);
}
  #endif

MUON_KERNEL_CLONES int REAL_NAME(MuonKernelSigns)(size_t m, size_t n, const void *T, size_t ldt, const void *R, size_t ldr, unsigned char *bits, unsigned char *zeros, double *sumabs)
{
  const size_t entries = m * n;
  Place        place   = {0, 0};
  double       total   = 0;
  uint64_t     image;
  #if defined(MUON_KERNEL_CLONES_X86)
  const int    wide = __builtin_cpu_supports("avx512f");
  #endif

  Flatten(&m, &n, ldt, R != NULL ? ldr : ldt, ldt);
  for (size_t first = 0; first < entries;) {
    double sums[SUMS] = {0, 0, 0, 0, 0, 0, 0, 0};
    size_t b          = 0;

  #if defined(MUON_KERNEL_CLONES_X86)
    if (wide && place.at + BLOCK * WORD <= m) {
      REAL_NAME(SignsWide)((const REAL *)T + place.line * ldt + place.at, R == NULL ? NULL : (const REAL *)R + place.line * ldr + place.at, bits + first / 8, zeros == NULL ? NULL : zeros + first / 8, sums);
      b = BLOCK;
      first += BLOCK * WORD;
      Advance(m, BLOCK * WORD, &place);
    }
  #endif
    for (; b < BLOCK && first < entries; b++, first += WORD) {
      const size_t some = entries - first < WORD ? entries - first : WORD;
      REAL         here[WORD], there[WORD];
      const REAL  *t = (const REAL *)Stretch(sizeof(REAL), m, T, ldt, place, some, here), *r = R == NULL ? NULL : (const REAL *)Stretch(sizeof(REAL), m, R, ldr, place, some, there);
      uint64_t word, zero = 0, *const is = zeros == NULL ? NULL : &zero;

      if (some < WORD) word = REAL_NAME(SignsOf)(some, t, r, is, sums) & (((uint64_t)1 << some) - 1);
      else word = r == NULL ? REAL_NAME(SignsOf)(WORD, t, NULL, is, sums) : REAL_NAME(SignsOf)(WORD, t, r, is, sums);
      StoreWord(bits, first, some, word);
      if (zeros != NULL) StoreWord(zeros, first, some, some < WORD ? zero & (((uint64_t)1 << some) - 1) : zero);
      Advance(m, some, &place);
    }
    total += ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
  }
  *sumabs = total;
  /* A number that is not finite makes the total not finite. Its bits are tested, because compiler flags can remove other tests */
  memcpy(&image, &total, sizeof(image));
  return (image >> 52 & 2047) == 2047;
}

/* The decay is usually 1: then there is no product */
MUON_KERNEL_INLINE void REAL_NAME(AddSigns)(size_t run, REAL decay, const REAL *x, const REAL *s, REAL *y)
{
  if (decay == 0) memcpy(y, s, run * sizeof(*y));
  else if (decay == 1) {
    for (size_t i = 0; i < run; i++) y[i] = x[i] + s[i];
  } else {
    for (size_t i = 0; i < run; i++) y[i] = decay * x[i] + s[i];
  }
}

MUON_KERNEL_CLONES void REAL_NAME(MuonKernelSignsAxpby)(size_t m, size_t n, const unsigned char *bits, const unsigned char *ties, double decay, const void *X, size_t ldx, double scale, void *Y, size_t ldy)
{
  const size_t   entries = m * n;
  const REAL     minus   = -(REAL)scale;
  const unsigned top     = 8 * sizeof(BITS) - 1;
  Place          place   = {0, 0};
  BITS           negative;

  memcpy(&negative, &minus, sizeof(negative));
  Flatten(&m, &n, ldx, ldy, ldy);
  for (size_t first = 0; first < entries; first += WORD) {
    const size_t   some = entries - first < WORD ? entries - first : WORD;
    const uint64_t word = LoadWord(bits, first, some), tied = ties == NULL ? 0 : LoadWord(ties, first, some);
    BITS           image[WORD];
    REAL           s[WORD];

    for (size_t i = 0; i < WORD; i++) image[i] = negative ^ (BITS)(word >> i & 1u) << top;
    if (tied != 0) {
      for (size_t i = 0; i < WORD; i++) image[i] &= (BITS)(tied >> i & 1u) - 1;
    }
    memcpy(s, image, sizeof(s));
    for (size_t done = 0, run; done < some; done += run) {
      const REAL *x = (const REAL *)X + place.line * ldx + place.at;
      REAL       *y = (REAL *)Y + place.line * ldy + place.at;

      run = m - place.at < some - done ? m - place.at : some - done;
      if (run == WORD) REAL_NAME(AddSigns)(WORD, (REAL)decay, x, s, y);
      else REAL_NAME(AddSigns)(run, (REAL)decay, x, s + done, y);
      Advance(m, run, &place);
    }
  }
}
#endif
