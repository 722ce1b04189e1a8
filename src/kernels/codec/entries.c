#if !defined(REAL) && !defined(MUON_KERNELS_DEVICE)
/*
   Copies entries to lists without gaps, by their numbers, and converts them to the values and codes of messages, for the
   host and for devices (muonpass.h). REAL is the type of an entry.
*/
  #include "muonkernels.h"
  #include "../array/muonpass.h"

  #define TWICE "../codec/entries.c"
  #include "../array/muontwice.h"

#else

KERNEL(void, Residual)(size_t m, size_t n, const void *T, size_t ldt, const void *R, size_t ldr, size_t first, size_t count, void *X)
{
  Flatten(&m, &n, ldt, R != NULL ? ldr : ldt, ldt);
  READ(REAL, t, T);
  READ(REAL, r, R);
  LIST(REAL, x, X, count);
  RANGE(k, first, count, x[k] = r == NULL ? AT(t) : AT(t) - AT(r));
}

KERNEL(void, ResidualStrided)(size_t n, const void *T, size_t ldt, const void *R, size_t ldr, size_t first, size_t m, void *X)
{
  const size_t size = sizeof(REAL);

  READ(REAL, t, (const char *)T + first * size);
  READ(REAL, r, R == NULL ? NULL : (const char *)R + first * size);
  LIST(REAL, x, X, m * n);
  PASS(x[i * n + j] = r == NULL ? AT(t) : AT(t) - AT(r));
}

KERNEL(void, Spread)(size_t m, size_t n, size_t first, size_t count, const void *X, int add, double a, void *Y, size_t ldy)
{
  const REAL scale = (REAL)a;

  Flatten(&m, &n, ldy, ldy, ldy);
  WRITE(REAL, y, Y);
  LIST(const REAL, x, X, count);
  RANGE(k, first, count, AT(y) = add ? AT(y) + scale * x[k] : x[k]);
}

KERNEL(int, Powers)(size_t entries, const void *X, uint32_t addend, uint16_t *codes)
{
  const uint32_t word = addend << 9;
  int            any;

  LIST(const REAL, x, X, entries);
  LIST(uint16_t, c, codes, entries);
  EACH_ANY(any, uint32_t, k, entries, {
    const uint32_t bits = FloatBits((float)x[k]);

    c[k] = NaturalCode(bits, word);
    reached |= FloatReached(bits);
  });
  return any;
}

KERNEL(void, NaturalValues)(size_t count, const uint16_t *codes, void *X)
{
  LIST(const uint16_t, c, codes, count);
  LIST(REAL, x, X, count);
  EACH(k, count, x[k] = (REAL)NaturalValue(c[k]));
}

KERNEL(int, ToSingle)(size_t count, const void *X, int bf16, float *Y)
{
  int any;

  LIST(const REAL, x, X, count);
  LIST(float, y, Y, count);
  EACH_ANY(any, uint32_t, k, count, {
    const uint32_t bits = FloatBits((float)x[k]), magnitude = bits & ~SIGN_BIT, rounded = bf16 ? RoundBF16(magnitude) : magnitude;

    /* A NaN is detected before the rounding, an Inf that the rounding makes after it */
    y[k] = BitsFloat(rounded | (bits & SIGN_BIT));
    reached |= FloatReached(bits) | FloatReached(rounded);
  });
  return any;
}

KERNEL(void, Dequantize)(size_t entries, const unsigned char *codes, double step, void *X)
{
  const REAL size = (REAL)step;

  LIST(const unsigned char, code, codes, entries);
  LIST(REAL, x, X, entries);
  EACH(k, entries, {
    const int32_t level = code[k] >> 1, sign = -(int32_t)(code[k] & 1u);

    x[k] = (REAL)((level ^ sign) - sign) * size;
  });
}
#endif
