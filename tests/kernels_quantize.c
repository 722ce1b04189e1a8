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

  #define TEST_FILE "kernels_quantize.c"
  #include "kernels_twice.h"

int main(int argc, char **argv)
{
  uint64_t state = 21;

  TestColumn(argc, argv);
  CheckSingle(&state);
  CheckDouble(&state);
  CheckPacking(&state);
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
