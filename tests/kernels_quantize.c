#if !defined(REAL)
/*
   Quantization against its definition, written down a second time: norms, levels that never exceed the last
   one, one random word an entry, and codes in as few bits as they need.
*/
  #include "kernels_common.h"
  #include <petscmuon/private/muonwire.h>

static uint32_t WordOf(const MuonKernelStream *stream, uint64_t entry)
{
  uint32_t word;

  MuonKernelStreamWords(stream, entry, 1, &word);
  return word;
}

/*
   Codes of a byte each fill as many bits as they need, in the order of a stream of bits, and nothing is
   written behind them
*/
static void CheckPacking(uint64_t *state)
{
  unsigned char codes[200], back[201], packed[201];
  uint64_t      wide[200];
  unsigned char entries[201];

  for (unsigned width = 1; width <= 8; width++) {
    for (size_t count = 0; count <= 200; count += count < 70 ? 1 : 13) {
      const size_t bytes = (width * count + 7) / 8;

      for (size_t i = 0; i < count; i++) wide[i] = codes[i] = (unsigned char)(NextBits(state) >> (64 - width));
      memset(packed, 0xA5, sizeof(packed));
      MuonWireCodesEncode(width, 1, count, codes, packed);
      for (size_t bit = 0; bit < 8 * bytes; bit++) {
        const unsigned expected = bit / width < count ? codes[bit / width] >> bit % width & 1u : 0;

        Check((packed[bit / 8] >> bit % 8 & 1u) == expected, "bit %d of %d codes of %u bits", (int)bit, (int)count, width);
      }
      Check(packed[bytes] == 0xA5, "written behind %d codes of %u bits", (int)count, width);
      Check(MuonWireCodesBytes(MuonWireEntryWidth((uint64_t)1 << (width - 1)), count) == bytes, "%d codes of %u bits take other bytes as entries", (int)count, width);
      MuonWireCodesEncode(MuonWireEntryWidth((uint64_t)1 << (width - 1)), 8, count, wide, entries);
      Check(memcmp(entries, packed, bytes) == 0, "%d codes of %u bits are other bytes as entries", (int)count, width);
      for (size_t first = 0; first <= count; first += 8) {
        unsigned char *exact = (unsigned char *)Allocate(bytes);

        /* Exactly so many bytes, so that tools that watch memory see a read past their end */
        memcpy(exact, packed, bytes);
        memset(back, 0x5A, sizeof(back));
        MuonWireCodesDecode(width, 1, count - first, exact, first, back);
        Check(memcmp(back, codes + first, count - first) == 0 && back[count - first] == 0x5A, "%d codes of %u bits from %d", (int)count, width, (int)first);
        free(exact);
      }
    }
  }
}

/* The numbers that state is packed to: what x lies between, with the largest number of its block; whether the random word lets it go up */
typedef struct {
  double low, up;
  int    goes;
} Between;

static Between BetweenOf(MuonPrecision kept, double x, double most, uint32_t word)
{
  const double sign = x < 0 ? -1 : 1;
  Between      b    = {0, 0, 0};

  if (kept == MUON_BF16) {
    int          exponent;
    const double size = ldexp(frexp(fabs(x), &exponent), 8), unit = ldexp(1, exponent - 8);

    b.low  = sign * floor(size) * unit;
    b.up   = sign * (floor(size) + 1) * unit;
    b.goes = (double)(word >> 16) / 65536 >= 1 - (size - floor(size));
  } else if (kept == MUON_INT8) {
    const double y = (double)(float)(most > 0 ? 127 * (fabs(x) / most) : 0), down = floor(y);

    b.low  = sign * down * most / 127;
    b.up   = sign * (down + 1) * most / 127;
    b.goes = (double)(word >> 8) / 16777216 < y - down;
  } else {
    int level = 0;

    while (level < 255 && pow((level + 1) / 255.0, 4) * most <= x) level++;
    b.low  = pow(level / 255.0, 4) * most;
    b.up   = pow((level + 1) / 255.0, 4) * most;
    b.goes = x > b.low && ((double)word / 4294967296.0 < (x - b.low) / (b.up - b.low) || level == 0);
  }
  return b;
}

static double PackedNumber(const MuonArray *A, size_t i, size_t j)
{
  return A->precision == MUON_SINGLE ? (double)*(float *)MuonArrayAt(A, i, j) : *(double *)MuonArrayAt(A, i, j);
}

static double PackedMost(const MuonArray *A, size_t i, size_t j)
{
  double most = 0;

  for (size_t k = j / 256 * 256; k < MuonArrayColumns(A) && k < (j / 256 + 1) * 256; k++) most = fmax(most, fabs(PackedNumber(A, i, k)));
  return (double)(float)most;
}

static MuonArray PackedArray(size_t m, size_t n, size_t gap, int rowmajor, MuonPrecision precision)
{
  MuonArray A = {NULL, rowmajor ? n : m, rowmajor ? m : n, 0, precision, MUON_HOST, rowmajor};

  A.ld   = A.len + gap;
  A.data = calloc(1, precision > MUON_DOUBLE ? MuonArrayBytes(&A) : A.ld * A.count * sizeof(double));
  return A;
}

/*
   State that is packed is what its definition says, whatever part of a layer's rows is here; once more to nearest it is the same.
   The mean over 4096 streams differs from the number by less than t = 0.054 of the distance of its neighbors: by Hoeffding the probability
   of more is 2 exp(-2 4096 t^2) = 8e-11 for each number, beside the rounding of 24 bits
*/
static void CheckPacked(MuonPrecision kept, MuonPrecision precision, int rowmajor, size_t m, size_t n, size_t streams, uint64_t *state)
{
  MuonStateForm form = {precision, kept, {1234, 5, 6, 7, kept == MUON_QUARTIC8}, 0, 0};
  MuonArray     x = PackedArray(m, n, 3, rowmajor, precision), y = PackedArray(m, n, 1, rowmajor, precision);
  MuonArray     packed = PackedArray(m, n, 0, rowmajor, kept), again = PackedArray(m, n, 0, rowmajor, kept);
  double       *sum = (double *)calloc(m * n, sizeof(*sum));
  size_t        ups = 0;

  packed.ld = again.ld = packed.len;
  form.rows            = m;
  Check(MuonArrayBytes(&packed) == (kept == MUON_BF16 ? 2 * m * n : m * n + 4 * m * ((n + 255) / 256)), "packed state has other bytes");
  for (size_t i = 0; i < m; i++) {
    for (size_t j = 0; j < n; j++) {
      const double number = i % 4 == 2 ? 0 : NextNormal(state) * (i % 4 == 3 ? 1e-30 : 1), mine = kept == MUON_QUARTIC8 ? pow(number, 4) : number;

      if (precision == MUON_SINGLE) *(float *)MuonArrayAt(&x, i, j) = (float)mine;
      else *(double *)MuonArrayAt(&x, i, j) = (double)(float)mine * (i % 4 == 1 && kept != MUON_BF16 ? 1 + 1e-9 : 1);
    }
  }
  for (size_t s = 0; s < streams; s++) {
    form.stream.step = (uint32_t)s;
    Check(MuonPackedSet(&form, &x, 0, 0, &packed), "finite numbers are not when they are packed");
    MuonPackedGet(&packed, 0, 0, &y);
    for (size_t e = 0; e < m * n; e++) sum[e] += PackedNumber(&y, e / n, e % n);
  }
  for (size_t e = 0; e < m * n; e++) {
    const size_t  i = e / n, j = e % n;
    const double  number = PackedNumber(&x, i, j), most = PackedMost(&x, i, j), got = PackedNumber(&y, i, j);
    const Between b        = BetweenOf(kept, (double)(float)number, most, WordOf(&form.stream, rowmajor ? i * n + j : j * m + i));
    const double  expected = number == 0 ? 0 : b.goes ? b.up : b.low, error = ldexp(fabs(number) + fabs(expected), -23);

    ups += (size_t)b.goes;
    Check(fabs(got - expected) <= error, "entry %d of row %d of %d is packed to %.9g, expected %.9g", (int)j, (int)i, (int)m, got, expected);
    /* Of the smallest numbers above zero none becomes zero, and their mean is more */
    if (kept == MUON_QUARTIC8 && b.low == 0) continue;
    sum[e] /= (double)streams;
    Check(streams == 1 || fabs(sum[e] - number) <= 0.054 * fabs(b.up - b.low) + error, "%.9g is %.9g in the mean over the streams", number, sum[e]);
  }
  Check(m * n < 100 || (ups > 0 && ups < m * n), "%d of %d went up", (int)ups, (int)(m * n));
  Check(MuonPackedSet(NULL, &y, 0, 0, &again) && memcmp(packed.data, again.data, MuonArrayBytes(&packed)) == 0, "packed again it is other bits");
  /* Rows in two parts, and the columns of a block */
  for (size_t part = 0; part < 2; part++) {
    const size_t first = part == 0 ? 0 : m / 3, rows = part == 0 ? m / 3 : m - m / 3, from = n > 256 ? 256 : 0;
    MuonArray    some = MuonArrayPart(&x, first, 0, rows, n), there = PackedArray(rows, n, 0, rowmajor, kept);
    MuonArray    wide = PackedArray(rows, n - from, 2, rowmajor, precision);

    there.ld = there.len;
    form.row = first;
    MuonPackedSet(&form, &some, 0, 0, &there);
    MuonPackedGet(&there, 0, from, &wide);
    for (size_t e = 0; e < rows * (n - from); e++) {
      const size_t i = e / (n - from), j = e % (n - from);

      Check(PackedNumber(&wide, i, j) == PackedNumber(&y, first + i, from + j), "rows from %d on are packed otherwise", (int)first);
    }
    free(there.data);
    free(wide.data);
  }
  form.row = 0;
  for (int bad = 0; bad < 2; bad++) {
    if (precision == MUON_SINGLE) *(float *)MuonArrayAt(&x, m - 1, n - 1) = bad ? NAN : INFINITY;
    else *(double *)MuonArrayAt(&x, m - 1, n - 1) = bad ? NAN : 1e300;
    Check(MuonPackedSet(&form, &x, 0, 0, &packed) == 0, "what is not finite is, when it is packed");
  }
  free(x.data);
  free(y.data);
  free(packed.data);
  free(again.data);
  free(sum);
}

  #define TEST_FILE "kernels_quantize.c"
  #include "kernels_twice.h"

int main(int argc, char **argv)
{
  uint64_t state = 21;

  TestColumn(argc, argv);
  CheckSingle(&state);
  CheckDouble(&state);
  CheckPacking(&state);
  for (int kept = MUON_BF16; kept <= MUON_QUARTIC8; kept++) {
    for (int k = 0; k < 4; k++) {
      CheckPacked((MuonPrecision)kept, (MuonPrecision)(k / 2), k % 2, 300, 517, 1, &state);
      CheckPacked((MuonPrecision)kept, (MuonPrecision)(k / 2), k % 2, 1, 9, 1, &state);
      CheckPacked((MuonPrecision)kept, (MuonPrecision)(k / 2), k % 2, 4, 30, 4096, &state);
    }
  }
  printf("ok\n");
  return 0;
}

#else

/* The codes and the numbers that they stand for */
static void REAL_NAME(CheckCodes)(size_t entries, unsigned lengthlog, unsigned levels, uint64_t first, uint64_t *state)
{
  const MuonKernelStream stream = {77, 5, 6, 7, 1};
  const size_t           length = (size_t)1 << lengthlog, blocks = (entries + length - 1) / length;
  REAL                  *x = (REAL *)Allocate(entries * sizeof(*x)), *back = (REAL *)Allocate((entries + 1) * sizeof(*back));
  double                *scales = (double *)Allocate(blocks * sizeof(*scales));
  unsigned char         *codes  = (unsigned char *)Allocate(entries + 1);
  unsigned               ups    = 0;

  for (size_t i = 0; i < entries; i++) x[i] = i % 7 == 3 ? (REAL)-0.0 : (REAL)NextNormal(state);
  for (size_t b = 0; b < blocks; b++) {
    const size_t end     = (b + 1) * length < entries ? (b + 1) * length : entries;
    double       largest = 0;

    /* Some blocks are tiny, some are zero */
    for (size_t i = b * length; i < end; i++) {
      if (b % 5 == 2) x[i] *= (REAL)1e-37;
      if (b % 5 == 4) x[i] = 0;
      largest = fabs((double)x[i]) > largest ? fabs((double)x[i]) : largest;
    }
    scales[b] = b % 3 == 1 ? 1.5 * largest : largest;
  }
  codes[entries] = 99;
  KERNELS->Quantize(entries, x, lengthlog, scales, levels, &stream, first, codes);
  Check(codes[entries] == 99, "written behind the codes");
  for (size_t i = 0; i < entries; i++) {
    const double scale = scales[i >> lengthlog];
    float        y     = 0;
    unsigned     level;

    if (scale > 0) y = (float)(fabs((double)x[i]) * ((double)levels / scale));
    if (y > (float)levels) y = (float)levels;
    level = (unsigned)floorf(y);
    if ((double)(WordOf(&stream, first + i) >> 8) / 16777216.0 < (double)(y - floorf(y))) {
      level++;
      ups++;
    }
    Check(level <= levels && codes[i] == 2 * level + (level > 0 && x[i] < 0), "entry %d of %d, %g of %g: code %d, expected level %u of %u", (int)i, (int)entries, (double)x[i], scale, codes[i], level, levels);
  }
  Check(entries < 100 || (ups > 0 && ups < entries), "%u of %d went up", ups, (int)entries);
  back[entries] = 99;
  KERNELS->Dequantize(entries, codes, 0.3, back);
  Check(back[entries] == 99, "written behind the numbers");
  for (size_t i = 0; i < entries; i++) {
    const REAL level = (REAL)(codes[i] / 2), expected = level * (REAL)0.3;

    Check(back[i] == (codes[i] % 2 ? -expected : expected) && (codes[i] != 0 || !signbit(back[i])), "code %d became %g", codes[i], (double)back[i]);
  }
  free(x);
  free(back);
  free(scales);
  free(codes);
}

/* Entries at the last level stay there, whatever quotient and product are rounded to */
static void REAL_NAME(CheckLast)(uint64_t *state)
{
  const MuonKernelStream stream = {1, 2, 3, 4, 0};
  REAL                   x[16];
  double                 scale;
  unsigned char          codes[16];

  for (int k = 0; k < 2000; k++) {
    const unsigned levels = (2u << k % 7) - 1;

    scale = (double)(REAL)ldexp(1 + NextUniform(state), (int)(NextBits(state) % 200) - 100);
    for (int i = 0; i < 16; i++) x[i] = (REAL)(i % 2 == 0 ? scale : -scale);
    KERNELS->Quantize(16, x, 4, &scale, levels, &stream, 16 * (uint64_t)k, codes);
    for (int i = 0; i < 16; i++) Check(codes[i] == 2 * levels + (unsigned)(i % 2), "%g of %g: code %d for the last of %u levels", (double)x[i], scale, codes[i], levels);
  }
}

static void REAL_NAME(CheckNorms)(uint64_t *state)
{
  for (size_t entries = 0; entries < 70; entries += entries < 20 ? 1 : 7) {
    for (int k = 0; k < 6; k++) {
      const int powers[] = {0, 90, -90, IS_SINGLE ? 100 : 900, IS_SINGLE ? -120 : -1000, 1};
      REAL     *x        = (REAL *)Allocate(entries * sizeof(*x));
      double    largest = 0, sum = 0, norm;

      for (size_t i = 0; i < entries; i++) {
        x[i]    = (REAL)ldexp(NextNormal(state), powers[k]);
        largest = fabs((double)x[i]) > largest ? fabs((double)x[i]) : largest;
        sum += ldexp((double)x[i], -powers[k]) * ldexp((double)x[i], -powers[k]);
      }
      norm = ldexp(sqrt(sum), powers[k]);
      Check(KERNELS->MaxAbs(entries, 1, x, entries) == largest, "the largest of %d is %g, expected %g", (int)entries, KERNELS->MaxAbs(entries, 1, x, entries), largest);
      /* A sum of so many squares, and where they are scaled the rounding of subnormal numbers */
      Check(fabs(KERNELS->Euclidean(entries, x) - norm) <= 80 * DBL_EPSILON * norm && KERNELS->Euclidean(entries, x) >= largest, "the norm of %d is %g, expected %g", (int)entries, KERNELS->Euclidean(entries, x), norm);
      for (size_t at = 0; at < entries; at += 3) {
        const REAL bad[] = {(REAL)NAN, (REAL)INFINITY, (REAL)-INFINITY}, kept = x[at];

        for (int b = 0; b < 3; b++) {
          x[at] = bad[b];
          Check(KERNELS->MaxAbs(entries, 1, x, entries) == HUGE_VAL && KERNELS->Euclidean(entries, x) == HUGE_VAL, "%g at %d of %d", (double)bad[b], (int)at, (int)entries);
        }
        x[at] = kept;
      }
      free(x);
    }
  }
  {
    /* One number is its own norm: nothing is lost by the square and the root */
    REAL x;

    for (int k = 0; k < 1000; k++) {
      x = (REAL)NextNormal(state);
      Check(KERNELS->Euclidean(1, &x) == fabs((double)x), "the norm of %g is %g", (double)x, KERNELS->Euclidean(1, &x));
    }
  }
}

static void REAL_NAME(Check)(uint64_t *state)
{
  static const unsigned all[] = {1, 3, 7, 15, 31, 63, 127};

  for (size_t l = 0; l < sizeof(all) / sizeof(all[0]); l++) {
    REAL_NAME(CheckCodes)(1, 4, all[l], 0, state);
    REAL_NAME(CheckCodes)(15, 4, all[l], 16, state);
    REAL_NAME(CheckCodes)(16, 6, all[l], 128, state);
    REAL_NAME(CheckCodes)(333, 4, all[l], 32, state);
    REAL_NAME(CheckCodes)(512, 9, all[l], 512, state);
    REAL_NAME(CheckCodes)(1537, 5, all[l], (uint64_t)1 << 20, state);
    REAL_NAME(CheckCodes)(1300, 10, all[l], 0, state);
  }
  REAL_NAME(CheckCodes)(0, 4, 7, 0, state);
  REAL_NAME(CheckLast)(state);
  REAL_NAME(CheckNorms)(state);
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
