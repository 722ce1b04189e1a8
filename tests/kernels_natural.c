#if !defined(REAL)
/*
   Natural compression against its definition: |x| in [2^a, 2^(a+1)) becomes 2^(a+1) exactly where the entry's
   random fraction of 23 bits reaches (2^(a+1) - |x|) / 2^a. The mean and the variance over many random
   numbers are those of the theory.
*/
  #include "kernels_common.h"
  #include "kernels/array/muonentry.h"

static uint32_t WordOf(const MuonKernelStream *stream, uint64_t entry)
{
  uint32_t word;

  MuonKernelStreamWords(stream, entry, 1, &word);
  return word;
}

static double Expected(double x, uint32_t word)
{
  const double y = (double)(float)x, fraction = (double)(word >> 9) / 8388608.0;
  double       power;
  int          exponent;

  if (fabs(y) < FLT_MIN) return 0;
  (void)frexp(y, &exponent);
  power = ldexp(1.0, exponent - 1);
  if (fraction >= (2 * power - fabs(y)) / power) power *= 2;
  if (power > ldexp(1.0, 127)) power = ldexp(1.0, 127);
  return y < 0 ? -power : power;
}

static double Draw(size_t i, uint64_t *state)
{
  const double special[] = {0, -0.0, 1, -1, 1.5, 3, FLT_MIN, -FLT_MIN, FLT_MIN / 2, -1e-44, FLT_MAX, -FLT_MAX, ldexp(1.0, 127), 1 - FLT_EPSILON / 2, 2 - FLT_EPSILON};

  if (i < sizeof(special) / sizeof(special[0])) return special[i];
  return ldexp(NextNormal(state), (int)(NextBits(state) % 285) - 160);
}

  #define TEST_FILE "kernels_natural.c"
  #include "kernels_twice.h"

int main(int argc, char **argv)
{
  TestColumn(argc, argv);
  CheckSingle();
  CheckDouble();
  printf("ok\n");
  return 0;
}

#else

static void REAL_NAME(CheckCodes)(size_t entries, uint64_t first, const MuonKernelStream *stream, uint64_t *state)
{
  REAL          *x = (REAL *)Allocate(entries * sizeof(*x)), *values = (REAL *)Allocate(entries * sizeof(*values));
  uint16_t      *codes = (uint16_t *)Allocate(entries * sizeof(*codes)), *selected = (uint16_t *)Allocate((entries + 1) * sizeof(*selected));
  float         *singles = (float *)Allocate((entries + 1) * sizeof(*singles));
  unsigned char *bitmap  = (unsigned char *)Allocate(entries / 8 + 1);

  for (size_t i = 0; i < entries; i++) x[i] = (REAL)Draw(i, state);
  Check(KERNELS->Natural(entries, x, stream, first, 1, codes) == 0, "%d entries are finite", (int)entries);
  KERNELS->NaturalValues(entries, codes, values);
  for (size_t i = 0; i < entries; i++) {
    const double expected = Expected((double)x[i], WordOf(stream, first + i));

    Check((codes[i] & 255) != 255 && codes[i] < 512 && codes[i] != 256, "code %d", codes[i]);
    Check((double)values[i] == expected && (double)NaturalValue(codes[i]) == expected, "%.9g gave %g, expected %g", (double)x[i], (double)values[i], expected);
  }

  /*
     One fraction for all: a half goes to the nearest power, up from the middle, and none drops the mantissa
  */
  for (int half = 0; half < 2; half++) {
    const uint32_t addend = half ? MUON_KERNEL_HALF : 0;

    Check(KERNELS->Powers(entries, x, addend, codes) == 0, "%d entries are finite", (int)entries);
    for (size_t i = 0; i < entries; i++) {
      Check((codes[i] & 255) != 255 && codes[i] < 512 && codes[i] != 256, "code %d", codes[i]);
      Check((double)NaturalValue(codes[i]) == Expected((double)x[i], half ? 0x80000000u : 0), "%.9g gave %g without a random number", (double)x[i], (double)NaturalValue(codes[i]));
    }
  }
  Check(KERNELS->Natural(entries, x, stream, first, 1, codes) == 0, "%d entries are finite", (int)entries);

  /* Kept entries have the codes that they have among all */
  if (first == 0) {
    for (unsigned density = 0; density <= 4; density++) {
      size_t kept = 0;

      memset(bitmap, 0, entries / 8 + 1);
      for (size_t i = 0; i < entries; i++) {
        if (NextBits(state) % 4 < density) bitmap[i / 8] |= (unsigned char)(1 << i % 8);
      }
      for (size_t i = 0; i <= entries; i++) selected[i] = 9999;
      for (size_t i = 0; i < entries; i++) {
        if (bitmap[i / 8] >> i % 8 & 1) singles[kept++] = (float)x[i];
      }
      Check(MuonKernelNaturalKept(entries, singles, bitmap, stream, selected) == 0, "%d entries are finite", (int)entries);
      kept = 0;
      for (size_t i = 0; i < entries; i++) {
        if (bitmap[i / 8] >> i % 8 & 1) Check(selected[kept++] == codes[i], "code of entry %d of %d", (int)i, (int)entries);
      }
      Check(selected[kept] == 9999, "written past the kept entries");
    }
  }

  for (size_t at = 0; at < entries; at += entries / 5 + 1) {
    const REAL kept = x[at];

    for (int bad = 0; bad < 3; bad++) {
      x[at] = (REAL)(bad == 0 ? NAN : bad == 1 ? INFINITY : -INFINITY);
      Check(KERNELS->Natural(entries, x, stream, first, 1, codes) == 1, "entry %d is not finite", (int)at);
      Check(KERNELS->Powers(entries, x, MUON_KERNEL_HALF, codes) == 1, "entry %d is not finite", (int)at);
      memset(bitmap, 0, entries / 8 + 1);
      bitmap[at / 8] |= (unsigned char)(1 << at % 8);
      singles[0] = (float)x[at];
      Check(MuonKernelNaturalKept(entries, singles, bitmap, stream, selected) == 1, "kept entry %d is not finite", (int)at);
    }
    if (!IS_SINGLE) {
      x[at] = (REAL)-1e39;
      Check(KERNELS->Natural(entries, x, stream, first, 1, codes) == 1, "-1e39 is no binary32");
    }
    x[at] = kept;
  }
  free(x);
  free(values);
  free(codes);
  free(selected);
  free(singles);
  free(bitmap);
}

/*
   x rounds to 2^a with probability 1 - p and to 2^(a+1) with probability p = (|x| - 2^a) / 2^a: mean |x|,
   variance s^2 = (|x| - 2^a)(2^(a+1) - |x|). Over N independent numbers the mean lies within 6 s / sqrt(N),
   but for a chance of 2e-9
*/
static void REAL_NAME(CheckStatistics)(double x, const MuonKernelStream *stream)
{
  enum {
    N = 200000
  };
  REAL     *line  = (REAL *)Allocate(N * sizeof(*line));
  uint16_t *codes = (uint16_t *)Allocate(N * sizeof(*codes));
  double    sum = 0, square = 0, power, variance;
  int       exponent;

  (void)frexp(x, &exponent);
  power    = ldexp(1.0, exponent - 1);
  variance = (fabs(x) - power) * (2 * power - fabs(x));
  for (int i = 0; i < N; i++) line[i] = (REAL)x;
  Check(KERNELS->Natural(N, line, stream, 0, 1, codes) == 0, "%g is finite", x);
  for (int i = 0; i < N; i++) {
    const double error = (double)NaturalValue(codes[i]) - x;

    sum += error;
    square += error * error;
  }
  Check(fabs(sum / N) <= 6 * sqrt(variance / N), "mean of %g is off by %g", x, sum / N);
  /* The error takes two values, whose squares differ by at most power^2: so does the deviation of a square */
  Check(fabs(square / N - variance) <= 6 * power * power / sqrt((double)N), "variance of %g is %g, expected %g", x, square / N, variance);
  Check(square / N <= x * x / 8 + 6 * power * power / sqrt((double)N), "variance of %g exceeds an eighth", x);
  free(line);
  free(codes);
}

static void REAL_NAME(Check)(void)
{
  static const size_t sizes[]   = {0, 1, 3, 4, 5, 15, 63, 64, 65, 511, 512, 513, 1030, 5000};
  const double        numbers[] = {1, 1.5, 4.0 / 3, 1.999, -3, 1e-30, -2.5e20};
  MuonKernelStream    stream    = {77, 123456789, 5, 2, 0};
  uint64_t            state     = 3;

  for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
    for (uint64_t first = 0; first < 6; first++) REAL_NAME(CheckCodes)(sizes[s], first, &stream, &state);
    stream.direction ^= 1;
    stream.step++;
  }
  for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++) {
    stream.step = (uint32_t)(100 + k);
    REAL_NAME(CheckStatistics)(numbers[k], &stream);
  }
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
