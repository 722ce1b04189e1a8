/*
   The kernels of messages in both precisions against their definitions, written down a second time: the largest
   entries against a sort, quantized blocks, natural compression.
*/
#include "kernels_common.h"
#include "kernels/array/muonentry.h"

static uint64_t state = 1;
#define Random(k, m, n, gap) NewArray(k, m, n, gap, &state)
#define Zeros(k, m, n, gap)  NewArray(k, m, n, gap, NULL)

static const double bad[] = {NAN, INFINITY, -INFINITY, -1e39}; /* the last is no binary32 */

enum {
  NORMAL,
  GRID, /* few different values: exact ties */
  EQUAL,
  ZERO,
  RANGE,     /* all exponents, subnormal ones too */
  NEIGHBORS, /* equal but for the last bits, of which binary32 sees none */
  FEW,       /* zeros but for some */
  UP,        /* sorted, so that every entry is larger than all before it */
  DOWN,
  ACROSS,   /* the largest side by side in memory, or far from each other */
  DECEIT,   /* small entries wherever one is sampled */
  FLATTERY, /* large ones there */
  KINDS
};

/* As select.c samples */
static int IsSampled(size_t entries, size_t number)
{
  const size_t samples = entries / 64 < 64 ? 0 : entries / 64 > 4096 ? 4096 : entries / 64;
  const size_t stretch = samples > 0 ? entries / samples : 1, k = number / stretch;

  return k < samples && number == k * stretch + (size_t)((uint64_t)((uint32_t)k * 0x9E3779B9u >> 8) * stretch >> 24);
}

/* Entry i of an m x n array; neighbors of 1.625 are units of the precision away */
static double Make(const MuonKernels *k, int kind, size_t m, size_t n, size_t i)
{
  const uint64_t bits = NextBits(&state);
  const double   sign = bits >> 63 != 0 ? -1 : 1, neighbor = sign * (1.625 + (double)(bits % 40) * 2 * k->unit);

  switch (kind) {
  case NORMAL:
    return NextNormal(&state);
  case GRID:
    return sign * (double)(bits % 5) / 4;
  case EQUAL:
    return sign * 0.7;
  case ZERO:
    return sign * 0;
  case RANGE:
    return sign * ldexp(1 + NextUniform(&state), (int)(bits % 276) - 149);
  case NEIGHBORS:
    return neighbor;
  case FEW:
    return i % 37 == 5 ? sign * NextNormal(&state) : sign * 0;
  case UP:
    return sign * (double)(1 + i);
  case DOWN:
    return sign * (double)(1 + m * n - i);
  case ACROSS:
    return sign * (double)(1 + i % n);
  case DECEIT:
    return IsSampled(m * n, i) ? 0 : neighbor;
  default:
    return IsSampled(m * n, i) ? 100 : NextNormal(&state);
  }
}

/* Top of T - R, or of T where R is NULL; TopRounded where single is true, of values as they are in binary32 */
static int Top(int single, const Array *T, const Array *R, size_t count, unsigned char *bitmap, void *kept, void *scratch)
{
  const void  *r  = R != NULL ? R->x : NULL;
  const size_t ld = R != NULL ? R->ld : 1;

  if (single) return T->k->TopRounded(T->m, T->n, T->x, T->ld, r, ld, count, bitmap, (float *)kept, scratch);
  return T->k->Top(T->m, T->n, T->x, T->ld, r, ld, count, bitmap, kept, scratch);
}

static void CheckTop(const Array *T, const Array *R, const Item *sorted, size_t count, int single, int kind)
{
  const size_t   here    = allocations;
  const size_t   entries = T->m * T->n, bytes = (entries + 63) / 64 * 8, size = single ? sizeof(float) : T->k->size;
  const size_t   room = MuonKernelTopRoom(entries, count), most = MuonKernelTopScratch(entries, size);
  unsigned char *expected = (unsigned char *)Allocate(bytes), *bitmap = (unsigned char *)Allocate(bytes + 1);
  unsigned char *kept = (unsigned char *)Allocate(room * size + 1), *scratch = (unsigned char *)Allocate(most + 1);
  size_t         found = 0;

  memset(expected, 0, bytes);
  for (size_t i = 0; i < count; i++) expected[sorted[i].number / 8] |= (unsigned char)(1 << sorted[i].number % 8);
  memset(bitmap, 0xA5, bytes + 1);
  kept[room * size] = scratch[most] = 0xA5;
  Check(room >= count && Top(single, T, R, count, bitmap, kept, scratch) == 0, "kind %d: %d entries are finite", kind, (int)entries);
  Check(memcmp(bitmap, expected, bytes) == 0, "kind %d, %d: wrong selection of %d from %d x %d", kind, single, (int)count, (int)T->m, (int)T->n);
  Check(bitmap[bytes] == 0xA5 && kept[room * size] == 0xA5 && scratch[most] == 0xA5, "kind %d: written past the arrays", kind);
  for (size_t e = 0; e < entries; e++) {
    const double x = Round(T->k, Get(T, e) - (R != NULL ? Get(R, e) : 0));

    if (!Bit(expected, e)) continue;
    Near(size == sizeof(float) ? (double)((float *)kept)[found] : ((double *)kept)[found], single ? (double)(float)x : x, 0);
    found++;
  }
  FreeFrom(here);
}

static void CheckSelection(const MuonKernels *k, size_t m, size_t n, size_t gap)
{
  const size_t entries = m * n, bytes = (entries + 63) / 64 * 8;
  const Array *T = Zeros(k, m, n, gap % 3), *R = Zeros(k, m, n, gap % 2);
  Item        *sorted = (Item *)Allocate(entries * sizeof(*sorted));

  for (int kind = 0; kind < KINDS; kind++) {
    const Array *without = kind % 2 == 0 ? R : NULL;

    for (size_t e = 0; e < entries; e++) {
      Set(T, e, Make(k, kind, m, n, e));
      Set(R, e, kind == NORMAL ? NextNormal(&state) : 0);
    }
    for (int single = 0; single < 2; single++) {
      for (size_t e = 0; e < entries; e++) {
        const double x = Round(k, Get(T, e) - (without != NULL ? Get(R, e) : 0));

        sorted[e].magnitude = fabs(single ? (double)(float)x : x);
        sorted[e].number    = e;
      }
      qsort(sorted, entries, sizeof(*sorted), Before);
      for (size_t count = 0; count<entries; count = entries> 10 ? 5 * count + 1 : count + 1) {
        if (count > 0 || entries <= 10) CheckTop(T, without, sorted, count, single, kind);
      }
      if (entries > 10) CheckTop(T, without, sorted, entries / 10, single, kind);
      if (entries > 10) CheckTop(T, without, sorted, entries - 1, single, kind);
      CheckTop(T, without, sorted, entries, single, kind);
    }
  }
  /* One entry that is not finite, or not in binary32, wherever it is, however many are wanted */
  for (int b = 0; b < 4; b++) {
    const size_t at  = b == 0 ? 0 : b == 1 ? entries - 1 : m / 2 + n / 2 * m;
    const double was = Get(T, at);

    Set(T, at, bad[b]);
    for (size_t count = 1; count <= entries; count += entries / 3 + 1) {
      unsigned char *bitmap = (unsigned char *)Allocate(bytes);
      void          *values = Allocate(MuonKernelTopRoom(entries, count) * k->size), *scratch = Allocate(MuonKernelTopScratch(entries, k->size));

      Check(Top(1, T, NULL, count, bitmap, values, scratch) == 1, "an entry of %d is not finite", (int)entries);
      Check(Top(0, T, NULL, count, bitmap, values, scratch) == (b < 3 || k->size == sizeof(float)), "%g of %d entries", bad[b], (int)entries);
    }
    Set(T, at, was);
  }
  FreeArrays();
}

/* Codes of quantized blocks and the numbers that they stand for; some blocks are tiny, some are zero */
static void CheckQuantized(const MuonKernels *k, size_t entries, unsigned lengthlog, unsigned levels, uint64_t first)
{
  const MuonKernelStream stream = {77, 5, 6, 7, 1};
  const size_t           length = (size_t)1 << lengthlog, blocks = (entries + length - 1) / length;
  const Array           *x = Zeros(k, entries, 1, 0), *back = Zeros(k, entries + 1, 1, 0);
  double                *scales = (double *)Allocate(blocks * sizeof(*scales));
  unsigned char         *codes  = (unsigned char *)Allocate(entries + 1);
  unsigned               ups    = 0;

  for (size_t b = 0; b < blocks; b++) {
    double largest = 0;

    for (size_t i = b * length; i < (b + 1) * length && i < entries; i++) {
      SetRaw(x, i, b % 5 == 4 ? 0 : i % 7 == 3 ? -0.0 : Round(k, NextNormal(&state)) * (b % 5 == 2 ? 1e-37 : 1));
      largest = fmax(largest, fabs(GetRaw(x, i)));
    }
    scales[b] = b % 3 == 1 ? 1.5 * largest : largest;
  }
  codes[entries] = 99;
  k->Quantize(entries, x->x, lengthlog, scales, levels, &stream, first, codes);
  SetRaw(back, entries, 99);
  k->Dequantize(entries, codes, 0.3, back->x);
  Check(codes[entries] == 99 && GetRaw(back, entries) == 99, "written behind the codes or the numbers");
  for (size_t i = 0; i < entries; i++) {
    const double scale = scales[i >> lengthlog], z = Round(k, (double)(codes[i] / 2) * Round(k, 0.3));
    float        y = scale > 0 ? (float)(fabs(GetRaw(x, i)) * ((double)levels / scale)) : 0;
    unsigned     level;

    if (y > (float)levels) y = (float)levels;
    level = (unsigned)floorf(y);
    if ((double)(WordOf(&stream, first + i) >> 8) / 16777216.0 < (double)(y - floorf(y))) {
      level++;
      ups++;
    }
    Check(level <= levels && codes[i] == 2 * level + (level > 0 && GetRaw(x, i) < 0), "%g: code %d, level %u", GetRaw(x, i), codes[i], level);
    Near(GetRaw(back, i), codes[i] % 2 ? -z : z, 0);
    Check(codes[i] != 0 || !signbit(GetRaw(back, i)), "-0");
  }
  Check(entries < 100 || (ups > 0 && ups < entries), "%u of %d went up", ups, (int)entries);
  FreeArrays();
}

/* Norms of a block at every size; of one number it is the number: nothing is lost by the square and the root */
static void CheckNorms(const MuonKernels *k)
{
  const int    single = k->size == sizeof(float), powers[] = {0, 90, -90, single ? 100 : 900, single ? -120 : -1000, 1};
  const Array *x = Zeros(k, 70, 1, 0);

  for (size_t entries = 0; entries < 70; entries += entries < 20 ? 1 : 7) {
    for (int p = 0; p < 6; p++) {
      double largest = 0, sum = 0, norm;

      for (size_t i = 0; i < entries; i++) {
        SetRaw(x, i, ldexp(NextNormal(&state), powers[p]));
        largest = fmax(largest, fabs(GetRaw(x, i)));
        sum += ldexp(GetRaw(x, i), -powers[p]) * ldexp(GetRaw(x, i), -powers[p]);
      }
      norm = ldexp(sqrt(sum), powers[p]);
      Near(k->MaxAbs(entries, 1, x->x, entries), largest, 0);
      /* A sum of so many squares, and where they are scaled the rounding of subnormal numbers */
      Near(k->Euclidean(entries, x->x), norm, 80 * DBL_EPSILON * norm);
      Check(k->Euclidean(entries, x->x) >= largest, "the norm of %d is below the largest", (int)entries);
      WITH(x, entries, 1, bad, if (!isfinite(with)) Check(k->MaxAbs(entries, 1, x->x, entries) == HUGE_VAL && k->Euclidean(entries, x->x) == HUGE_VAL, "%g at %d", with, (int)at))
    }
  }
  for (int i = 0; i < 1000; i++) {
    SetRaw(x, 0, NextNormal(&state));
    Near(k->Euclidean(1, x->x), fabs(GetRaw(x, 0)), 0);
  }
  FreeArrays();
}

/*
   Natural compression: |x| in [2^a, 2^(a+1)) becomes 2^(a+1) exactly where the entry's random fraction of 23 bits
   reaches (2^(a+1) - |x|) / 2^a
*/
static double Natural(double x, uint32_t word)
{
  const double y = (double)(float)x, fraction = (double)(word >> 9) / 8388608.0;
  double       power;
  int          exponent;

  if (fabs(y) < FLT_MIN) return 0;
  (void)frexp(y, &exponent);
  power = ldexp(1.0, exponent - 1);
  if (fraction >= (2 * power - fabs(y)) / power) power *= 2;
  power = fmin(power, ldexp(1.0, 127));
  return y < 0 ? -power : power;
}

static void CheckNatural(const MuonKernels *k, size_t entries, uint64_t first, const MuonKernelStream *stream)
{
  static const double special[] = {0, -0.0, 1, -1, 1.5, 3, FLT_MIN, -FLT_MIN, FLT_MIN / 2, -1e-44, FLT_MAX, -FLT_MAX, 1.7014118346046923e38, 1 - FLT_EPSILON / 2, 2 - FLT_EPSILON};
  const Array        *x = Zeros(k, entries, 1, 0), *values = Zeros(k, entries, 1, 0);
  uint16_t           *codes = (uint16_t *)Allocate(entries * sizeof(*codes)), *selected = (uint16_t *)Allocate((entries + 1) * sizeof(*selected));
  float              *singles = (float *)Allocate((entries + 1) * sizeof(*singles));
  unsigned char      *bitmap  = (unsigned char *)Allocate(entries / 8 + 1);

  for (size_t i = 0; i < entries; i++) SetRaw(x, i, i < 15 ? special[i] : ldexp(NextNormal(&state), (int)(NextBits(&state) % 285) - 160));
  /* One fraction for all: none drops the mantissa, a half goes to the nearest power, up from the middle; and the entry's own */
  for (int way = 0; way < 3; way++) {
    if (way < 2) Check(k->Powers(entries, x->x, way ? MUON_KERNEL_HALF : 0, codes) == 0, "%d entries are finite", (int)entries);
    else Check(k->Natural(entries, x->x, stream, first, 1, codes) == 0, "%d entries are finite", (int)entries);
    k->NaturalValues(entries, codes, values->x);
    for (size_t i = 0; i < entries; i++) {
      const double expected = Natural(GetRaw(x, i), way == 2 ? WordOf(stream, first + i) : way == 1 ? 0x80000000u : 0);

      Check((codes[i] & 255) != 255 && codes[i] < 512 && codes[i] != 256, "code %d", codes[i]);
      Near(GetRaw(values, i), expected, 0);
      Near((double)NaturalValue(codes[i]), expected, 0);
    }
  }
  /* Every so many-th entry, and kept ones, have the codes that they have among all */
  for (size_t stride = 2; stride < entries && first < entries; stride = 3 * stride - 1) {
    const size_t some = (entries - (size_t)first - 1) / stride + 1;

    for (size_t i = 0; i < some; i++) SetRaw(values, i, GetRaw(x, (size_t)first + i * stride));
    Check(k->Natural(some, values->x, stream, 2 * first, stride, selected) == 0, "finite");
    for (size_t i = 0; i < some; i++) Check(selected[i] == codes[(size_t)first + i * stride], "stride %d: entry %d", (int)stride, (int)i);
    SetRaw(values, some - 1, (double)NAN);
    Check(k->Natural(some, values->x, stream, first, stride, selected) == 1, "NaN is finite");
  }
  for (unsigned density = 0; density <= 4 && first == 0; density++) {
    size_t kept = 0;

    memset(bitmap, 0, entries / 8 + 1);
    for (size_t i = 0; i < entries; i++) bitmap[i / 8] |= (unsigned char)((NextBits(&state) % 4 < density) << i % 8);
    for (size_t i = 0; i <= entries; i++) selected[i] = 9999;
    for (size_t i = 0; i < entries; i++) {
      if (Bit(bitmap, i)) singles[kept++] = (float)GetRaw(x, i);
    }
    Check(MuonKernelNaturalKept(entries, singles, bitmap, stream, selected) == 0, "%d entries are finite", (int)entries);
    kept = 0;
    for (size_t i = 0; i < entries; i++) {
      if (Bit(bitmap, i)) Check(selected[kept++] == codes[i], "code of entry %d of %d", (int)i, (int)entries);
    }
    Check(selected[kept] == 9999, "written past the kept entries");
  }
  for (int b = 0; b < 4; b++) {
    memset(bitmap, 0, entries / 8 + 1);
    singles[0] = (float)bad[b];
    for (size_t at = 0; at < entries; at += entries / 5 + 1) {
      bitmap[at / 8] |= (unsigned char)(1 << at % 8);
      Check(MuonKernelNaturalKept(entries, singles, bitmap, stream, selected) == 1, "kept entry %d is not finite", (int)at);
      bitmap[at / 8] = 0;
    }
  }
  WITH(x, entries, entries / 5 + 1, bad, Check(k->Natural(entries, x->x, stream, first, 1, codes) == 1 && k->Powers(entries, x->x, MUON_KERNEL_HALF, codes) == 1, "entry %d is not finite", (int)at))
  FreeArrays();
}

int main(int argc, char **argv)
{
  static const size_t sizes[][2] = {{1, 1},   {2, 1},   {1, 3},   {3, 3},   {1, 64},    {65, 1},    {8, 8},    {9, 7}, /* and larger ones */
                                    {64, 64}, {63, 65}, {130, 3}, {2, 200}, {1, 20000}, {20000, 1}, {577, 70}, {150, 300}};
  /* Entries, the logarithm of a block's, and the first one */
  static const uint64_t quantized[][3] = {{1, 4, 0}, {15, 4, 16}, {16, 6, 128}, {333, 4, 32}, {512, 9, 512}, {1537, 5, 1 << 20}, {1300, 10, 0}};
  static const size_t   natural[]      = {0, 1, 3, 4, 5, 15, 63, 64, 65, 511, 512, 513, 1030, 5000};

  TestColumn(argc, argv);
  state = 1;
  for (int precision = MUON_SINGLE; precision <= MUON_DOUBLE; precision++) {
    const MuonKernels *k      = MuonKernelsGet((MuonPrecision)precision, TestMemory);
    MuonKernelStream   stream = {77, 123456789, 5, 2, 0};
    unsigned char      bitmap = 0xA5;

    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) CheckSelection(k, sizes[s][0], sizes[s][1], s);
    Check(k->Top(0, 5, NULL, 1, NULL, 1, 0, &bitmap, NULL, NULL) == 0 && bitmap == 0xA5, "no entries");
    Check(k->TopRounded(5, 0, NULL, 5, NULL, 5, 0, &bitmap, NULL, NULL) == 0 && bitmap == 0xA5, "no entries");
    for (unsigned levels = 1; levels < 128; levels = 2 * levels + 1) {
      for (int s = 0; s < 7; s++) CheckQuantized(k, (size_t)quantized[s][0], (unsigned)quantized[s][1], levels, quantized[s][2]);
    }
    CheckQuantized(k, 0, 4, 7, 0);
    CheckNorms(k);
    for (size_t s = 0; s < sizeof(natural) / sizeof(natural[0]); s++) {
      for (uint64_t first = 0; first < 6; first++) CheckNatural(k, natural[s], first, &stream);
      stream.direction ^= 1;
      stream.step++;
    }
  }
  printf("ok\n");
  return 0;
}

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
