#if !defined(REAL)
/*
   The kernel VectorLength against sums in long double and lengths that are known, MuonKernelSelectVectors()
   against a sort, strides of the kernel Natural against the codes of all entries.
*/
  #include "kernels_common.h"
  #include <limits.h>

typedef struct {
  double size;
  size_t line;
} Item;

static int Before(const void *a, const void *b)
{
  const Item *p = (const Item *)a, *q = (const Item *)b;

  if (p->size != q->size) return p->size > q->size ? -1 : 1;
  return p->line < q->line ? -1 : 1;
}

  #define TEST_FILE "kernels_lines.c"
  #define TEST_SEED 8
  #include "kernels_twice.h"

#else

/* fraction 2^exponent is size 2^scale, up to that many roundings of a double; 0 of them: exactly */
static void REAL_NAME(CheckLength)(const char what[], size_t count, const REAL *x, double p, double size, int scale, double roundings)
{
  MuonKernelLength length;
  double           found;

  Check(KERNELS->VectorLength(count, x, p, &length) == 0, "%s: not finite", what);
  if (size == 0) {
    Check(length.fraction == 0, "%s: p = %g: zero has the length %g", what, p, length.fraction);
    return;
  }
  Check(length.fraction >= 0.5 && length.fraction < 1, "%s: p = %g: fraction %g", what, p, length.fraction);
  found = ldexp(length.fraction, length.exponent - scale);
  Check(fabs(found - size) <= roundings * DBL_EPSILON * size, "%s: p = %g: %.17g, expected %.17g", what, p, found, size);
}

static void REAL_NAME(CheckLengths)(void)
{
  static const int    scales[] = {0, 1, -1, 60, -60, 120, -120};
  static const double large[]  = {1, 2, 3, 1.5, 700, HUGE_VAL};
  REAL                x[1000], y[1000];
  uint64_t            state = 3;

  /* 3, 4, 12 with the length 13: at every size that the scalar has, and the same to the last bit */
  for (size_t s = 0; s < sizeof(scales) / sizeof(scales[0]); s++) {
    const int scale = scales[s] * (IS_SINGLE ? 1 : 8);

    x[0] = (REAL)ldexp(-3, scale);
    x[1] = (REAL)ldexp(4, scale);
    x[2] = (REAL)ldexp(12, scale);
    REAL_NAME(CheckLength)("3, 4, 12", 3, x, 1, 19, scale, 0);
    REAL_NAME(CheckLength)("3, 4, 12", 3, x, 2, 169, 2 * scale, 0);
    REAL_NAME(CheckLength)("3, 4, 12", 3, x, HUGE_VAL, 12, scale, 0);
    REAL_NAME(CheckLength)("3, 4, 12", 3, x, 3, pow(27 + 64 + 1728, 1.0 / 3), scale, 10);
  }
  /* A thousand of the largest numbers, and of the smallest */
  for (size_t k = 0; k < 1000; k++) {
    x[k] = k % 2 == 0 ? (REAL)(1 - REAL_EPSILON / 2) : -(REAL)(1 - REAL_EPSILON / 2);
    y[k] = IS_SINGLE ? (REAL)ldexp(1, -149) : (REAL)ldexp(1, -1074);
  }
  for (size_t q = 0; q < sizeof(large) / sizeof(large[0]); q++) {
    const double p = large[q], one = 1 - REAL_EPSILON / 2.0, size = p >= HUGE_VAL ? one : pow(1000, 1 / p) * one;
    const int    most = IS_SINGLE ? 127 : 1023, least = IS_SINGLE ? -149 : -1074;

    REAL_NAME(CheckLength)("below one", 1000, x, p, p == 2 ? size * size : size, 0, 2000);
    for (size_t k = 0; k < 1000; k++) x[k] = (REAL)ldexp(x[k] > 0 ? one : -one, most + 1);
    REAL_NAME(CheckLength)("largest", 1000, x, p, p == 2 ? size * size : size, (p == 2 ? 2 : 1) * (most + 1), 2000);
    for (size_t k = 0; k < 1000; k++) x[k] = (REAL)ldexp(x[k] > 0 ? one : -one, 0);
    REAL_NAME(CheckLength)("smallest", 1000, y, p, p >= HUGE_VAL ? 1 : p == 2 ? 1000 : pow(1000, 1 / p), (p == 2 ? 2 : 1) * least, 2000);
  }
  for (size_t count = 0; count < 1000; count = 3 * count + 1) {
    for (size_t q = 0; q < sizeof(large) / sizeof(large[0]); q++) {
      const double p   = large[q];
      long double  sum = 0;

      for (size_t k = 0; k < count; k++) {
        x[k] = (REAL)NextNormal(&state);
        if (p >= HUGE_VAL) sum = fabsl((long double)x[k]) > sum ? fabsl((long double)x[k]) : sum;
        else sum += powl(fabsl((long double)x[k]), (long double)p);
      }
      if (p < HUGE_VAL && p != 2) sum = powl(sum, 1 / (long double)p);
      /* A sum of count terms, each with a power of a quotient that is rounded p times as much */
      REAL_NAME(CheckLength)("normal", count, x, p, (double)sum, 0, 4 + (double)count + 2 * (p < HUGE_VAL ? p : 0));
      REAL_NAME(CheckLength)("zero", count, memset(y, 0, sizeof(y)), p, 0, 0, 0);
      for (size_t k = 0; k < count; k += 1 + count / 3) {
        static const double bad[] = {NAN, INFINITY, -INFINITY};

        for (size_t b = 0; b < 3; b++) {
          MuonKernelLength length;
          const REAL       was = x[k];

          x[k] = (REAL)bad[b];
          Check(KERNELS->VectorLength(count, x, p, &length) == 1, "p = %g: %g at %d is finite", p, bad[b], (int)k);
          x[k] = was;
        }
      }
    }
  }
}

static void REAL_NAME(CheckSelection)(size_t lines, uint64_t different, uint64_t *state)
{
  MuonKernelLength        *lengths = (MuonKernelLength *)Allocate(lines * sizeof(*lengths));
  Item                    *sorted  = (Item *)Allocate(lines * sizeof(*sorted));
  const MuonKernelLength **scratch = (const MuonKernelLength **)Allocate(lines * sizeof(*scratch));
  unsigned char           *bitmap = (unsigned char *)Allocate((lines + 7) / 8 + 1), *expected = (unsigned char *)Allocate((lines + 7) / 8 + 1);

  for (size_t k = 0; k < lines; k++) {
    const REAL x = (REAL)(NextBits(state) % different);

    Check(KERNELS->VectorLength(1, &x, 2, &lengths[k]) == 0, "finite");
    sorted[k].size = (double)x;
    sorted[k].line = k;
  }
  qsort(sorted, lines, sizeof(*sorted), Before);
  memset(expected, 0, (lines + 7) / 8 + 1);
  for (size_t count = 0; count <= lines; count++) {
    memset(bitmap, 0xA5, (lines + 7) / 8);
    bitmap[(lines + 7) / 8] = 0;
    MuonKernelSelectVectors(lines, lengths, count, bitmap, scratch);
    Check(memcmp(bitmap, expected, (lines + 7) / 8 + 1) == 0, "%d of %d lines", (int)count, (int)lines);
    if (count < lines) expected[sorted[count].line / 8] |= (unsigned char)(1u << sorted[count].line % 8);
  }
  free(lengths);
  free(sorted);
  free(scratch);
  free(bitmap);
  free(expected);
}

static void REAL_NAME(CheckStrided)(uint64_t *state)
{
  enum {
    ENTRIES = 5000
  };
  static const size_t    strides[] = {1, 2, 3, 4, 7, 64, 129, 1000};
  const MuonKernelStream stream    = {0xDEADBEEF12345678u, 0xF20BDDB7, 7, 3, 1};
  REAL                   x[ENTRIES], some[ENTRIES];
  uint16_t               all[ENTRIES], codes[ENTRIES];

  for (size_t e = 0; e < ENTRIES; e++) x[e] = (REAL)NextNormal(state);
  Check(KERNELS->Natural(ENTRIES, x, &stream, 0, 1, all) == 0, "finite");
  for (size_t s = 0; s < sizeof(strides) / sizeof(strides[0]); s++) {
    for (size_t first = 0; first < 6; first++) {
      const size_t count = (ENTRIES - first - 1) / strides[s] + 1;

      for (size_t k = 0; k < count; k++) some[k] = x[first + k * strides[s]];
      Check(KERNELS->Natural(count, some, &stream, first, strides[s], codes) == 0, "finite");
      for (size_t k = 0; k < count; k++) Check(codes[k] == all[first + k * strides[s]], "stride %d from %d: entry %d", (int)strides[s], (int)first, (int)k);
      some[count - 1] = (REAL)NAN;
      Check(KERNELS->Natural(count, some, &stream, first, strides[s], codes) == 1, "NaN is finite");
    }
  }
}

static void REAL_NAME(Check)(uint64_t *state)
{
  REAL_NAME(CheckLengths)();
  for (size_t lines = 0; lines < 70; lines++) {
    REAL_NAME(CheckSelection)(lines, 5, state);
    REAL_NAME(CheckSelection)(lines, 1u << 20, state);
  }
  REAL_NAME(CheckSelection)(500, 40, state);
  REAL_NAME(CheckStrided)(state);
}
#endif

/*TEST

  link: internal

  testset:
    nsize: 0
    output_file: output/kernels_ok.out

    test:
    test:
      suffix: device
      requires: kokkos
      args: device

TEST*/
