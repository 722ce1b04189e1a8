#if !defined(REAL)
/*
   Entries of arrays as strings without gaps, by their numbers or by a bitmap, and back.

   This file includes itself once for each precision: REAL is the type of an entry, BITS the integers of its
   width, REAL_NAME(name) the name of a function.
*/
  #include "muonkernels.h"
  #include "../array/muonstretch.h"

  /* Contiguous vectors of which entries are taken together where strided ones are read */
  #define TOGETHER ((size_t)16)

MUON_KERNEL_CLONES size_t MuonKernelCountBits(const unsigned char *bitmap, size_t first, size_t count)
{
  size_t found = 0;

  for (size_t k = 0; k < count; k += WORD) found += CountOnes(LoadWord(bitmap, first + k, count - k < WORD ? count - k : WORD));
  return found;
}

  #define TWICE "../codec/scatter.c"
  #include "../array/muontwice.h"

#else

MUON_KERNEL_CLONES void REAL_NAME(MuonKernelResidualStrided)(size_t n, const void *T, size_t ldt, const void *R, size_t ldr, size_t first, size_t count, void *X)
{
  for (size_t left = 0; left < n; left += TOGETHER) {
    const size_t wide = n - left < TOGETHER ? n - left : TOGETHER;
    const REAL  *t = (const REAL *)T + left * ldt + first, *r = R != NULL ? (const REAL *)R + left * ldr + first : NULL;

    for (size_t i = 0; i < count; i++) {
      REAL *x = (REAL *)X + i * n + left;

      if (r == NULL) {
        for (size_t j = 0; j < wide; j++) x[j] = t[j * ldt + i];
      } else {
        for (size_t j = 0; j < wide; j++) x[j] = t[j * ldt + i] - r[j * ldr + i];
      }
    }
  }
}

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
       The top bit exactly where the limit is reached. Numbers that are not finite must not be computed with:
       that may be trapped
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

  Flatten(&m, &n, ldy, ldy, ldy);
  place = PlaceOf(m, first);
  for (size_t done = 0; done < count; done += WORD) {
    const size_t some = count - done < WORD ? count - done : WORD;
    uint64_t     word = LoadWord(bitmap, first + done, some);
    REAL        *y    = (REAL *)Y + place.line * ldy + place.at;

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
