#if !defined(REAL)
/*
   Copies entries of arrays to lists without gaps, by their numbers or by a bitmap, and back.

   This file includes itself once for each precision: REAL is the type of an entry, BITS the integers of its
   width, REAL_NAME(name) the name of a function.
*/
  #include "muonkernels.h"
  #include "../array/muonstretch.h"

MUON_KERNEL_CLONES size_t MuonKernelCountBits(const unsigned char *bitmap, size_t first, size_t count)
{
  size_t found = 0;

  for (size_t k = 0; k < count; k += WORD) found += CountOnes(LoadWord(bitmap, first + k, count - k < WORD ? count - k : WORD));
  return found;
}

  #if defined(MUON_KERNEL_CLONES_X86)
    #include <immintrin.h>

    #define ADD_WIDE __attribute__((target("avx512f,popcnt"), optimize("O3"))) static

/* y += a x for whole words of entries without gaps. Returns the number of entries of x that were added */
ADD_WIDE size_t AddWideSingle(size_t words, const unsigned char *bitmap, const float *x, float a, float *y)
{
  const float *from = x;

  for (size_t k = 0; k < WORD * words; k += 16) {
    const __mmask16 some = (__mmask16)(bitmap[k / 8] | bitmap[k / 8 + 1] << 8);
    const __m512    here = _mm512_loadu_ps(y + k);

    _mm512_storeu_ps(y + k, _mm512_mask_add_ps(here, some, here, _mm512_mul_ps(_mm512_set1_ps(a), _mm512_maskz_expandloadu_ps(some, from))));
    from += CountOnes(some);
  }
  return (size_t)(from - x);
}

ADD_WIDE size_t AddWideDouble(size_t words, const unsigned char *bitmap, const double *x, double a, double *y)
{
  const double *from = x;

  for (size_t k = 0; k < WORD * words; k += 8) {
    const __mmask8 some = (__mmask8)bitmap[k / 8];
    const __m512d  here = _mm512_loadu_pd(y + k);

    _mm512_storeu_pd(y + k, _mm512_mask_add_pd(here, some, here, _mm512_mul_pd(_mm512_set1_pd(a), _mm512_maskz_expandloadu_pd(some, from))));
    from += CountOnes(some);
  }
  return (size_t)(from - x);
}
  #endif

  #define TWICE "../codec/scatter.c"
  #include "../array/muontwice.h"

#else

MUON_KERNEL_CLONES int REAL_NAME(MuonKernelGather)(size_t m, size_t n, const void *T, size_t ldt, const void *R, size_t ldr, double limit, const unsigned char *bitmap, void *values)
{
  const size_t entries = m * n;
  const BITS   top     = (BITS)1 << (8 * sizeof(BITS) - 1);
  const REAL   most    = (REAL)limit;
  Place        place   = {0, 0};
  REAL        *kept    = (REAL *)values;
  BITS         image, reached = 0;

  memcpy(&image, &most, sizeof(image));
  Flatten(&m, &n, ldt, R != NULL ? ldr : ldt, ldt);
  for (size_t first = 0; first < entries; first += WORD) {
    const size_t some = entries - first < WORD ? entries - first : WORD;
    REAL         x[WORD], there[WORD];
    BITS         bits[WORD];
    const REAL  *t = (const REAL *)Stretch(sizeof(REAL), m, T, ldt, place, some, x);

    if (R != NULL) {
      const REAL *r = (const REAL *)Stretch(sizeof(REAL), m, R, ldr, place, some, there);

      for (size_t i = 0; i < some; i++) x[i] = t[i] - r[i];
      t = x;
    }
    /*
       The top bit is set exactly if the limit is reached. There is no arithmetic with numbers that are not finite, because
       it could trap
    */
    memcpy(bits, t, some * sizeof(*bits));
    for (size_t i = 0; i < some; i++) reached |= (bits[i] & ~top) + (top - image);
    for (uint64_t word = LoadWord(bitmap, first, some); word != 0; word &= word - 1) *kept++ = t[LowestBit(word)];
    Advance(m, some, &place);
  }
  return (reached & top) != 0;
}

MUON_KERNEL_CLONES void REAL_NAME(MuonKernelScatter)(size_t m, size_t n, const unsigned char *bitmap, size_t first, size_t count, const void *values, int add, double a, void *Y, size_t ldy)
{
  const REAL *x = (const REAL *)values, ra = (REAL)a;
  Place       place;
  #if defined(MUON_KERNEL_CLONES_X86)
  const int   wide = add && __builtin_cpu_supports("avx512f");
  #endif

  Flatten(&m, &n, ldy, ldy, ldy);
  place = PlaceOf(m, first);
  for (size_t done = 0, some; done < count; done += some) {
    REAL    *y = (REAL *)Y + place.line * ldy + place.at;
    uint64_t word;

  #if defined(MUON_KERNEL_CLONES_X86)
    some = (m - place.at < count - done ? m - place.at : count - done) / WORD * WORD;
    if (wide && some > 0) {
      x += REAL_NAME(AddWide)(some / WORD, bitmap + (first + done) / 8, x, ra, y);
      Advance(m, some, &place);
      continue;
    }
  #endif
    some = count - done < WORD ? count - done : WORD;
    word = LoadWord(bitmap, first + done, some);
    if (place.at + some <= m) {
      if (add) {
        for (; word != 0; word &= word - 1) y[LowestBit(word)] += ra * *x++;
      } else {
        for (; word != 0; word &= word - 1) y[LowestBit(word)] = *x++;
      }
    } else {
      for (; word != 0; word &= word - 1) {
        Place at = place;

        Advance(m, LowestBit(word), &at);
        y  = (REAL *)Y + at.line * ldy + at.at;
        *y = add ? *y + ra * *x : *x;
        x++;
      }
    }
    Advance(m, some, &place);
  }
}
#endif
