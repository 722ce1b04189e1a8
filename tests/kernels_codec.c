/*
   The kernels of src/kernels/codec against their definitions, written down a second time. Of both columns and precisions: the largest entries against a
   sort, quantized blocks, natural compression. Philox4x32-10 against the vectors that its authors published (Random123), and the layout of the streams
   against single blocks; MuonKernelSubset(): sets of the right size, all of them equally often, which tests/oracle/subset.py computes a second time. Majority
   votes against counting vote by vote: 1 to 16, 128 and 300 voters, by planes, by sums, along every shape of a tree; bits copied to and from every place.
   State in 16 and 8 bits: neighbors, random words, bytes, rows in parts.
*/
#include "kernels_common.h"
#include "kernels/array/muonentry.h"

static uint64_t state = 1; /* of the random numbers */

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

/* Natural compression: |x| in [2^a, 2^(a+1)) becomes 2^(a+1) exactly where the entry's random fraction of 23 bits reaches (2^(a+1) - |x|) / 2^a */
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

typedef struct {
  uint32_t counter[4], key[2], out[4];
} Known;

static const Known known[3] = {{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
                               {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
                               {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}, {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};

static uint32_t BlockWord(const MuonKernelStream *stream, uint64_t entry)
{
  uint32_t out[4] = {(uint32_t)(entry / 4), stream->layer, stream->step, stream->sender + (stream->direction == 1 ? 0x80000000u : 0)};

  PhiloxBlock((uint32_t)(stream->seed & 0xffffffff), (uint32_t)(stream->seed >> 32), out);
  return out[entry % 4];
}

static void CheckStreams(void)
{
  static const size_t    counts[]  = {0, 1, 2, 3, 4, 5, 63, 64, 65, 127, 128, 129, 131, 300};
  const MuonKernelStream streams[] = {{0, 0, 0, 0, 0}, {1, 0xF20BDDB7, 7, 3, 0}, {0xDEADBEEF12345678u, 0xFFFFFFFF, 0xFFFFFFFF, 0x7FFFFFFF, 1}, {(uint64_t)-1, 2166136261, 1000, 0, 1}};
  static unsigned char   bits[1000], expected[1000];
  uint32_t               words[300], number[300], blocks[1200];

  for (int v = 0; v < 3; v++) {
    uint32_t out[4];

    memcpy(out, known[v].counter, sizeof(out));
    PhiloxBlock(known[v].key[0], known[v].key[1], out);
    Check(memcmp(out, known[v].out, sizeof(out)) == 0, "vector %d", v);
  }
  for (size_t s = 0; s < sizeof(streams) / sizeof(streams[0]); s++) {
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
      for (uint64_t first = 0; first < 9; first++) {
        const uint64_t at = first < 8 ? first : 0x3FFFFFE00u;

        memset(words, 0, sizeof(words));
        MuonKernelStreamWords(&streams[s], at, counts[c], words);
        for (size_t k = 0; k < counts[c]; k++) Check(words[k] == BlockWord(&streams[s], at + k), "stream %d from %d, word %d", (int)s, (int)first, (int)k);
        for (size_t k = counts[c]; k < 300; k++) Check(words[k] == 0, "written past %d words", (int)counts[c]);
      }
      for (size_t k = 0; k < counts[c]; k++) number[k] = (uint32_t)(k * k * 2654435761u);
      MuonKernelStreamBlocks(&streams[s], counts[c], number, blocks);
      for (size_t k = 0; k < 4 * counts[c]; k++) Check(blocks[k] == BlockWord(&streams[s], 4 * (uint64_t)number[k / 4] + k % 4), "stream %d, block %d", (int)s, (int)(k / 4));
    }
    /* Bits from anywhere to anywhere; those before them stay, and what is behind in their last byte is 0 */
    for (size_t k = 0; k < 60; k++) {
      const size_t   where = k % 19, count = 2 * k * k;
      const uint64_t at = (uint64_t)k * k * k << (k % 3) * 8;

      memset(bits, 0xFF, sizeof(bits));
      memset(expected, 0xFF, sizeof(expected));
      for (size_t b = where; count > 0 && b < (where + count + 7) / 8 * 8; b++) {
        expected[b / 8] &= (unsigned char)~(1u << b % 8);
        if (b < where + count) expected[b / 8] |= (unsigned char)((BlockWord(&streams[s], (at + b - where) / 32) >> (at + b - where) % 32 & 1u) << b % 8);
      }
      MuonKernelStreamBits(&streams[s], at, count, bits, where);
      Check(memcmp(bits, expected, sizeof(bits)) == 0, "stream %d, %d bits from %d", (int)s, (int)count, (int)at);
    }
  }
}

/* So many of the entries and no more, nothing behind the last one, whatever the bytes held before */
static void CheckSize(size_t entries, size_t count, uint64_t seed)
{
  const size_t   here   = allocations;
  const size_t   bytes  = (entries + 7) / 8;
  unsigned char *bitmap = (unsigned char *)Allocate(bytes + 1), *again = (unsigned char *)Allocate(bytes + 1);
  size_t         found = 0;

  memset(bitmap, 0xA5, bytes + 1);
  memset(again, 0x5A, bytes + 1);
  MuonKernelSubset(entries, count, seed, bitmap);
  MuonKernelSubset(entries, count, seed, again);
  for (size_t e = 0; e < 8 * bytes; e++) {
    found += (size_t)Bit(bitmap, e);
    Check(e < entries || !Bit(bitmap, e), "%d of %d: padding", (int)count, (int)entries);
  }
  Check(found == count, "%d of %d: %d found", (int)count, (int)entries, (int)found);
  Check(memcmp(bitmap, again, bytes) == 0 && bitmap[bytes] == 0xA5, "%d of %d: written elsewhere", (int)count, (int)entries);
  FreeFrom(here);
}

/* A sum of chi-square with that many degrees of freedom is outside of this with a probability of 2 exp(-20) (Laurent and Massart, 2000, lemma 1) */
static void CheckChiSquare(double sum, double freedom, const char what[])
{
  const double x = 20;

  Check(sum <= freedom + 2 * sqrt(freedom * x) + 2 * x, "%s: chi-square %g with %g degrees of freedom", what, sum, freedom);
  Check(sum >= freedom - 2 * sqrt(freedom * x), "%s: chi-square %g with %g degrees of freedom is too even", what, sum, freedom);
}

/* Every set of count of up to eight entries, as often as any other */
static void CheckSets(size_t entries, size_t count)
{
  size_t seen[256] = {0}, sets = 0;
  double sum = 0;

  for (size_t set = 0; set < (size_t)1 << entries; set++) {
    size_t ones = 0;

    for (size_t e = 0; e < entries; e++) ones += set >> e & 1u;
    sets += ones == count;
  }
  for (uint64_t seed = 0; seed < 500 * sets; seed++) {
    unsigned char bitmap;

    MuonKernelSubset(entries, count, seed << 20 | entries << 8 | count, &bitmap);
    seen[bitmap]++;
  }
  for (size_t set = 0; set < 256; set++) {
    if (seen[set] > 0) sum += (double)seen[set] * (double)seen[set] / 500;
  }
  /* sum of (seen - 500)^2 / 500 */
  CheckChiSquare(sum - 500 * (double)sets, (double)sets - 1, "sets");
}

static void CheckSubsets(FILE *file)
{
  static const size_t   sizes[][2] = {{0, 0}, {1, 0}, {1, 1}, {7, 3}, {8, 4}, {8, 8}, {9, 8}, {64, 1}, {300, 150}, {300, 151}, {960, 96}, {1000, 257}, {1537, 1025}, {4096, 513}, {20000, 19000}, {100003, 30000}};
  static const uint64_t seeds[]    = {0, 1, 0x123456789ABCDEF0u, (uint64_t)1 << 32, UINT64_MAX};
  unsigned char         example;

  /* The example of src/wire/README.md: 4, 6 and, as 4 is drawn twice, 7 */
  MuonKernelSubset(8, 3, 4, &example);
  Check(example == 0xD0, "the example is %02x", (unsigned)example);
  for (size_t entries = 0; entries < 40; entries++) {
    for (size_t count = 0; count <= entries; count++) CheckSize(entries, count, 7 * entries + count);
  }
  for (size_t count = 0; count <= 3000; count += 50) CheckSize(3000, count, count);
  for (size_t entries = 2; entries <= 8; entries++) {
    for (size_t count = 1; count < entries; count++) CheckSets(entries, count);
  }
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    const size_t   bytes  = (sizes[i][0] + 7) / 8;
    unsigned char *bitmap = (unsigned char *)Allocate(bytes);

    for (size_t s = 0; s < sizeof(seeds) / sizeof(seeds[0]); s++) {
      MuonKernelSubset(sizes[i][0], sizes[i][1], seeds[s], bitmap);
      fprintf(file, "%lu %lu %llu ", (unsigned long)sizes[i][0], (unsigned long)sizes[i][1], (unsigned long long)seeds[s]);
      for (size_t b = 0; b < bytes; b++) fprintf(file, "%02x", (unsigned)bitmap[b]);
      fprintf(file, "\n");
    }
  }
}

enum {
  BLOCK   = 8192, /* entries that the kernels look at together */
  MOST    = 2 * BLOCK + 331,
  TINYS   = 70,
  VOTERS  = 300,
  CANARY  = 0xA5,
  ROOM    = MOST / 8 + 1,
  BORDERS = 8 /* bytes behind a row that must stay */
};

static void CheckRow(size_t entries, const unsigned char *row, const char *expected, const char *what, size_t voters)
{
  const size_t bytes = (entries + 7) / 8;

  for (size_t i = 0; i < entries; i++) Check(Bit(row, i) == expected[i], "%s of %d: entry %d of %d", what, (int)voters, (int)i, (int)entries);
  for (size_t i = entries; i < 8 * bytes; i++) Check(Bit(row, i) == 0, "%s of %d: padding of %d", what, (int)voters, (int)entries);
  for (size_t i = 0; i < BORDERS; i++) Check(row[bytes + i] == CANARY, "%s of %d: behind the end of %d", what, (int)voters, (int)entries);
}

/* All ways to count the same votes */
static void CheckVotes(size_t entries, size_t voters, unsigned char *const plane[], const int *sum)
{
  const size_t   here     = allocations;
  const size_t   bytes    = (entries + 7) / 8;
  char          *majority = (char *)Allocate(entries), *tied = (char *)Allocate(entries);
  unsigned char *vote = (unsigned char *)Allocate(bytes + BORDERS), *ties = (unsigned char *)Allocate(bytes + BORDERS);
  int8_t        *narrow = (int8_t *)Allocate(entries);
  int16_t       *wide = (int16_t *)Allocate(entries * sizeof(int16_t)), *signs = (int16_t *)Allocate(entries * sizeof(int16_t));
  uint64_t       expected = 0, found;

  for (size_t i = 0; i < entries; i++) {
    expected += (uint64_t)abs(sum[i]);
    wide[i]   = (int16_t)sum[i];
    narrow[i] = (int8_t)sum[i];
    tied[i]   = sum[i] == 0;
  }
  for (int tie = 0; tie < 2; tie++) {
    for (size_t i = 0; i < entries; i++) majority[i] = tie == MUON_KERNEL_TIE_PLUS ? sum[i] >= 0 : sum[i] > 0;
    memset(vote, CANARY, bytes + BORDERS);
    memset(ties, CANARY, bytes + BORDERS);
    MuonKernelVote(entries, voters, (const unsigned char *const *)plane, NULL, (MuonKernelTie)tie, vote, ties, &found);
    CheckRow(entries, vote, majority, "majority", voters);
    CheckRow(entries, ties, tied, "ties", voters);
    Check(found == expected, "sum of %d votes on %d entries is %g, not %g", (int)voters, (int)entries, (double)found, (double)expected);
    memset(vote, CANARY, bytes + BORDERS);
    MuonKernelVote(entries, voters, (const unsigned char *const *)plane, NULL, (MuonKernelTie)tie, vote, NULL, NULL);
    CheckRow(entries, vote, majority, "majority alone", voters);
    for (unsigned size = voters <= 127 ? 1 : 2; size <= 2; size++) {
      memset(vote, CANARY, bytes + BORDERS);
      memset(ties, CANARY, bytes + BORDERS);
      MuonKernelVoteSummed(entries, size, size == 1 ? (const void *)narrow : wide, (MuonKernelTie)tie, vote, ties, &found);
      CheckRow(entries, vote, majority, "majority of sums", voters);
      CheckRow(entries, ties, tied, "ties of sums", voters);
      Check(found == expected, "sum of sums");
    }
  }
  /* What is summed, in both sizes */
  for (size_t j = 0; j < voters && j < 3; j++) {
    const unsigned char *coin = j == 2 ? plane[0] : NULL;

    MuonKernelVoteSpread(entries, plane[j], coin, 1, narrow);
    MuonKernelVoteSpread(entries, plane[j], coin, 2, signs);
    for (size_t i = 0; i < entries; i++) Check(narrow[i] == (2 * Bit(plane[j], i) - 1) * (coin == NULL ? 1 : Bit(coin, i) ? 0 : 2) && signs[i] == narrow[i], "sign %d", (int)i);
  }
  FreeFrom(here);
}

/* The counts of voters first ... first + voters - 1, put together from two parts wherever these are cut */
static unsigned char *Counted(size_t entries, size_t first, size_t voters, unsigned char *const plane[], uint64_t *state)
{
  const size_t   bytes = (entries + 7) / 8, all = MuonKernelVotePlanes(voters) * bytes;
  unsigned char *counts = (unsigned char *)Allocate(all + BORDERS);

  memset(counts, CANARY, all + BORDERS);
  if (voters == 1) memcpy(counts, plane[first], bytes);
  else {
    const size_t   left = 1 + (size_t)(NextBits(state) % (voters - 1));
    unsigned char *a = Counted(entries, first, left, plane, state), *b = Counted(entries, first + left, voters - left, plane, state);

    MuonKernelVoteAdd(entries, left, a, voters - left, b, counts);
  }
  for (size_t i = 0; i < BORDERS; i++) Check(counts[all + i] == CANARY, "behind the end of counts");
  return counts;
}

static void CheckTree(size_t entries, size_t voters, unsigned char *const plane[], const int *sum, uint64_t *state)
{
  const size_t   here   = allocations;
  const size_t   bytes  = (entries + 7) / 8;
  unsigned char *counts = Counted(entries, 0, voters, plane, state), *vote = (unsigned char *)Allocate(bytes), *ties = (unsigned char *)Allocate(bytes);
  uint64_t       found, expected = 0;

  for (size_t i = 0; i < entries; i++) {
    size_t ones = 0;

    for (unsigned k = 0; k < MuonKernelVotePlanes(voters); k++) ones += (size_t)Bit(counts + k * bytes, i) << k;
    Check(2 * (int)ones - (int)voters == sum[i], "%d ones of %d votes", (int)ones, (int)voters);
    expected += (uint64_t)abs(sum[i]);
  }
  for (int tie = 0; tie < 2; tie++) {
    MuonKernelVote(entries, voters, NULL, counts, (MuonKernelTie)tie, vote, ties, &found);
    for (size_t i = 0; i < entries; i++) Check(Bit(vote, i) == (sum[i] > 0 || (sum[i] == 0 && tie == MUON_KERNEL_TIE_PLUS)) && Bit(ties, i) == (sum[i] == 0), "majority of counts");
    Check(found == expected, "sum of counts");
  }
  FreeFrom(here);
}

/* Random votes, those in which all agree, and as many for as against where the number is even */
static void Votes(uint64_t *state)
{
  unsigned char *plane[VOTERS];
  int           *sum = (int *)Allocate(MOST * sizeof(int));

  for (size_t j = 0; j < VOTERS; j++) plane[j] = (unsigned char *)Allocate(ROOM);
  for (size_t voters = 1; voters <= VOTERS; voters = voters < 16 ? voters + 1 : voters == 16 ? 128 : voters == 128 ? 255 : voters == 255 ? 256 : voters == 256 ? VOTERS : VOTERS + 1) {
    for (int kind = 0; kind < 3; kind++) {
      static const size_t sizes[] = {1, 7, 8, 9, 63, 64, 65, BLOCK - 1, BLOCK, BLOCK + 1, MOST};

      for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        const size_t entries = sizes[s];

        memset(sum, 0, entries * sizeof(*sum));
        for (size_t j = 0; j < voters; j++) {
          memset(plane[j], 0, ROOM);
          for (size_t i = 0; i < entries; i++) {
            const int one = kind == 0 ? (int)(NextBits(state) >> 40 & 1) : kind == 1 ? (int)(i % 2) : (int)((j + i) % 2);

            plane[j][i / 8] = (unsigned char)(plane[j][i / 8] | one << i % 8);
            sum[i] += 2 * one - 1;
          }
        }
        CheckVotes(entries, voters, plane, sum);
        CheckTree(entries, voters, plane, sum, state);
      }
    }
  }
  FreeFrom(0);
}

static void Copies(uint64_t *state)
{
  unsigned char from[TINYS], to[TINYS], before[TINYS];

  for (size_t at = 0; at < 17; at++) {
    for (size_t where = 0; where < 17; where++) {
      for (size_t count = 0; count < 200; count++) {
        const size_t end = where + count;

        for (size_t i = 0; i < TINYS; i++) {
          from[i]   = (unsigned char)(NextBits(state) >> 9 & 255);
          before[i] = to[i] = (unsigned char)(NextBits(state) >> 9 & 255);
        }
        MuonKernelCopyBits(count, from, at, to, where);
        for (size_t i = 0; i < 8 * TINYS; i++) {
          const int ours = i >= where && i<end, padding = count> 0 && i >= end && i < (end + 7) / 8 * 8;

          Check(Bit(to, i) == (ours ? Bit(from, at + i - where) : padding ? 0 : Bit(before, i)), "bit %d of %d from %d to %d", (int)i, (int)count, (int)at, (int)where);
        }
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
  size_t    bytes;
  MuonArray A = {NULL, rowmajor ? n : m, rowmajor ? m : n, 0, precision, MUON_HOST, rowmajor, 0};

  A.ld   = A.len + gap;
  bytes  = precision > MUON_DOUBLE ? MuonArrayBytes(&A) : A.ld * A.count * sizeof(double);
  A.data = memset(Allocate(bytes), 0, bytes);
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
  double       *sum = (double *)memset(Allocate(m * n * sizeof(*sum)), 0, m * n * sizeof(*sum));
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
  }
  form.row = 0;
  for (int bad = 0; bad < 2; bad++) {
    if (precision == MUON_SINGLE) *(float *)MuonArrayAt(&x, m - 1, n - 1) = bad ? NAN : INFINITY;
    else *(double *)MuonArrayAt(&x, m - 1, n - 1) = bad ? NAN : 1e300;
    Check(MuonPackedSet(&form, &x, 0, 0, &packed) == 0, "what is not finite is, when it is packed");
  }
  FreeFrom(0);
}

int main(int argc, char **argv)
{
  static const size_t sizes[][2] = {{1, 1},   {2, 1},   {1, 3},   {3, 3},   {1, 64},    {65, 1},    {8, 8},    {9, 7}, /* and larger ones */
                                    {64, 64}, {63, 65}, {130, 3}, {2, 200}, {1, 20000}, {20000, 1}, {577, 70}, {150, 300}};
  /* Entries, the logarithm of a block's, and the first one */
  static const uint64_t quantized[][3] = {{1, 4, 0}, {15, 4, 16}, {16, 6, 128}, {333, 4, 32}, {512, 9, 512}, {1537, 5, 1 << 20}, {1300, 10, 0}};
  static const size_t   natural[]      = {0, 1, 3, 4, 5, 15, 63, 64, 65, 511, 512, 513, 1030, 5000};
  FILE                 *file;

  TestColumn(argc, argv);
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
  if (TestMemory == MUON_DEVICE) return 0;
  file = OracleFile(argc, argv, "subset.txt");
  CheckStreams();
  CheckSubsets(file);
  Check(fclose(file) == 0, "not written");
  for (size_t voters = 1; voters < 1000; voters++) Check((voters >> MuonKernelVotePlanes(voters)) == 0 && (voters >> (MuonKernelVotePlanes(voters) - 1)) == 1, "planes of %d", (int)voters);
  Votes(&state);
  Copies(&state);
  for (int kept = MUON_BF16; kept <= MUON_QUARTIC8; kept++) {
    for (int k = 0; k < 4; k++) {
      CheckPacked((MuonPrecision)kept, (MuonPrecision)(k / 2), k % 2, 300, 517, 1, &state);
      CheckPacked((MuonPrecision)kept, (MuonPrecision)(k / 2), k % 2, 1, 9, 1, &state);
      CheckPacked((MuonPrecision)kept, (MuonPrecision)(k / 2), k % 2, 4, 30, 4096, &state);
    }
  }
  return 0;
}

/*TEST

  link: internal

  table: suffix | nsize | requires | args | oracle
           | 0 |        |        | subset.py
    device | 0 | kokkos | device |

TEST*/
