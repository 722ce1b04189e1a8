#if !defined(REAL)
/*
   The kernels Top and TopRounded against a full sort by (-|x|, number), on arrays around the sizes of words,
   stretches and samples, with gaps and without, and on data that a sample knows nothing of.
*/
  #include "kernels_common.h"

typedef struct {
  double magnitude;
  size_t number;
} Item;

static int Before(const void *a, const void *b)
{
  const Item *p = (const Item *)a, *q = (const Item *)b;

  if (p->magnitude != q->magnitude) return p->magnitude > q->magnitude ? -1 : 1;
  return p->number < q->number ? -1 : p->number > q->number;
}

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
  const size_t samples = entries / 64 < 64 ? 0 : entries / 64 > 4096 ? 4096 : entries / 64, stretch = samples > 0 ? entries / samples : 1, k = number / stretch;

  return k < samples && number == k * stretch + (size_t)((uint64_t)((uint32_t)k * 0x9E3779B9u >> 8) * stretch >> 24);
}

  #define TEST_FILE "kernels_select.c"
  #define TEST_SEED 1
  #include "kernels_twice.h"

#else

static REAL REAL_NAME(Adjacent)(REAL x, uint64_t steps)
{
  uint32_t bits = 0;
  uint64_t wide = 0;

  /* Of the integer of the same width */
  if (IS_SINGLE) {
    memcpy(&bits, &x, sizeof(bits));
    bits += (uint32_t)steps;
    memcpy(&x, &bits, sizeof(bits));
  } else {
    memcpy(&wide, &x, sizeof(x));
    wide += steps;
    memcpy(&x, &wide, sizeof(x));
  }
  return x;
}

static REAL REAL_NAME(Make)(int kind, size_t m, size_t n, size_t i, uint64_t *state)
{
  const uint64_t bits = NextBits(state);
  const REAL     sign = bits >> 63 != 0 ? (REAL)-1 : (REAL)1;

  switch (kind) {
  case NORMAL:
    return (REAL)NextNormal(state);
  case GRID:
    return sign * (REAL)(bits % 5) / 4;
  case EQUAL:
    return sign * (REAL)0.7;
  case ZERO:
    return sign * 0;
  case RANGE:
    return sign * (REAL)ldexp(1 + NextUniform(state), (int)(bits % 276) - 149);
  case NEIGHBORS:
    return sign * REAL_NAME(Adjacent)((REAL)1.625, bits % 40);
  case FEW:
    return i % 37 == 5 ? sign * (REAL)NextNormal(state) : sign * 0;
  case UP:
    return sign * (REAL)(1 + i);
  case DOWN:
    return sign * (REAL)(1 + m * n - i);
  case ACROSS:
    return sign * (REAL)(1 + i % n);
  case DECEIT:
    return IsSampled(m * n, i) ? 0 : sign * REAL_NAME(Adjacent)((REAL)1.625, bits % 40);
  default:
    return IsSampled(m * n, i) ? 100 : (REAL)NextNormal(state);
  }
}

typedef struct {
  size_t      m, n, ldt, ldr;
  const REAL *T, *R; /* R may be NULL */
} REAL_NAME(Problem);
  #define Problem REAL_NAME(Problem)

/* What is sent of an entry */
static double REAL_NAME(Value)(const Problem *p, size_t number, int single)
{
  const size_t i = number % p->m, j = number / p->m;
  const REAL   x = p->R == NULL ? p->T[i + j * p->ldt] : p->T[i + j * p->ldt] - p->R[i + j * p->ldr];

  return single ? (double)(float)x : (double)x;
}

static void REAL_NAME(CheckSelection)(const Problem *p, const Item *sorted, size_t count, int single, int kind)
{
  const size_t   entries = p->m * p->n, bytes = (entries + 63) / 64 * 8, room = MuonKernelTopRoom(entries, count), size = single ? sizeof(float) : sizeof(REAL);
  unsigned char *expected = (unsigned char *)Allocate(bytes), *bitmap = (unsigned char *)Allocate(bytes + 1), *kept = (unsigned char *)Allocate(room * size + 1), *scratch = (unsigned char *)Allocate(MuonKernelTopScratch(entries, size) + 1);
  size_t         found = 0;

  Check(room >= count, "room for %d of %d entries", (int)count, (int)entries);
  memset(expected, 0, bytes);
  for (size_t k = 0; k < count; k++) expected[sorted[k].number / 8] |= (unsigned char)(1 << sorted[k].number % 8);
  memset(bitmap, 0xA5, bytes + 1);
  kept[room * size] = scratch[MuonKernelTopScratch(entries, size)] = 0xA5;
  if (single) Check(KERNELS->TopRounded(p->m, p->n, p->T, p->ldt, p->R, p->ldr, count, bitmap, (float *)kept, scratch) == 0, "kind %d: %d entries are finite", kind, (int)entries);
  else Check(KERNELS->Top(p->m, p->n, p->T, p->ldt, p->R, p->ldr, count, bitmap, (REAL *)kept, scratch) == 0, "kind %d: %d entries are finite", kind, (int)entries);
  Check(memcmp(bitmap, expected, bytes) == 0, "kind %d, %s: wrong selection of %d from %d x %d", kind, single ? "rounded" : "as they are", (int)count, (int)p->m, (int)p->n);
  Check(bitmap[bytes] == 0xA5 && kept[room * size] == 0xA5 && scratch[MuonKernelTopScratch(entries, size)] == 0xA5, "kind %d: written past the arrays of %d entries", kind, (int)entries);
  for (size_t e = 0; e < entries; e++) {
    if ((expected[e / 8] >> e % 8 & 1) == 0) continue;
    Check(REAL_NAME(Value)(p, e, single) == (single ? (double)((float *)kept)[found] : (double)((REAL *)kept)[found]), "kind %d: value of entry %d of %d x %d", kind, (int)e, (int)p->m, (int)p->n);
    found++;
  }
  free(expected);
  free(bitmap);
  free(kept);
  free(scratch);
}

static void REAL_NAME(CheckCounts)(const Problem *p, Item *sorted, int kind)
{
  const size_t entries = p->m * p->n;

  for (int single = 0; single < 2; single++) {
    for (size_t e = 0; e < entries; e++) {
      sorted[e].magnitude = fabs(REAL_NAME(Value)(p, e, single));
      sorted[e].number    = e;
    }
    qsort(sorted, entries, sizeof(*sorted), Before);
    if (entries <= 10) {
      for (size_t count = 0; count <= entries; count++) REAL_NAME(CheckSelection)(p, sorted, count, single, kind);
    } else {
      for (size_t count = 1; count < entries; count = 5 * count + 1) REAL_NAME(CheckSelection)(p, sorted, count, single, kind);
      REAL_NAME(CheckSelection)(p, sorted, entries / 10, single, kind);
      REAL_NAME(CheckSelection)(p, sorted, entries - 1, single, kind);
      REAL_NAME(CheckSelection)(p, sorted, entries, single, kind);
    }
  }
}

/* One entry that is not finite, or not in binary32, wherever it is, however many are wanted */
static void REAL_NAME(CheckInfinite)(const Problem *p, REAL *T)
{
  const size_t   entries = p->m * p->n;
  unsigned char *bitmap  = (unsigned char *)Allocate((entries + 63) / 64 * 8);

  for (int bad = 0; bad < 4; bad++) {
    const size_t at   = bad == 0 ? 0 : bad == 1 ? p->m - 1 + (p->n - 1) * p->ldt : p->m / 2 + p->n / 2 * p->ldt;
    const REAL   kept = T[at];

    T[at] = (REAL)(bad == 0 ? NAN : bad == 1 ? INFINITY : bad == 2 ? -INFINITY : -1e39);
    for (size_t count = 1; count <= entries; count += entries / 3 + 1) {
      void *values = Allocate(MuonKernelTopRoom(entries, count) * sizeof(REAL)), *scratch = Allocate(MuonKernelTopScratch(entries, sizeof(REAL)));

      Check(KERNELS->TopRounded(p->m, p->n, p->T, p->ldt, p->R, p->ldr, count, bitmap, (float *)values, scratch) == 1, "an entry of %d is not finite", (int)entries);
      Check(KERNELS->Top(p->m, p->n, p->T, p->ldt, p->R, p->ldr, count, bitmap, (REAL *)values, scratch) == (bad < 3 || IS_SINGLE), "an entry of %d is not finite", (int)entries);
      free(values);
      free(scratch);
    }
    T[at] = kept;
  }
  free(bitmap);
}

static void REAL_NAME(Check)(uint64_t *state)
{
  static const size_t sizes[][2] = {{1, 1}, {2, 1}, {1, 3}, {3, 3}, {1, 64}, {65, 1}, {8, 8}, {9, 7}, {64, 64}, {63, 65}, {130, 3}, {2, 200}, {1, 20000}, {20000, 1}, {577, 70}, {150, 300}};

  for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
    const size_t m = sizes[s][0], n = sizes[s][1], ldt = m + s % 3, ldr = m + s % 2;
    REAL        *T = (REAL *)Allocate(ldt * n * sizeof(*T)), *R = (REAL *)Allocate(ldr * n * sizeof(*R));
    Item        *sorted = (Item *)Allocate(m * n * sizeof(*sorted));
    Problem      p;

    p.m = m, p.n = n, p.ldt = ldt, p.ldr = ldr, p.T = T;
    for (int kind = 0; kind < KINDS; kind++) {
      /* The gaps hold NaN: whoever reads them shows it */
      for (size_t k = 0; k < ldt * n; k++) T[k] = (REAL)NAN;
      for (size_t k = 0; k < ldr * n; k++) R[k] = (REAL)NAN;
      for (size_t e = 0; e < m * n; e++) {
        T[e % m + e / m * ldt] = REAL_NAME(Make)(kind, m, n, e, state);
        R[e % m + e / m * ldr] = kind == NORMAL ? (REAL)NextNormal(state) : 0;
      }
      p.R = kind % 2 == 0 ? R : NULL;
      REAL_NAME(CheckCounts)(&p, sorted, kind);
    }
    REAL_NAME(CheckInfinite)(&p, T);
    free(T);
    free(R);
    free(sorted);
  }
  {
    unsigned char bitmap = 0xA5;

    Check(KERNELS->Top(0, 5, NULL, 1, NULL, 1, 0, &bitmap, NULL, NULL) == 0 && KERNELS->TopRounded(5, 0, NULL, 5, NULL, 5, 0, &bitmap, NULL, NULL) == 0 && bitmap == 0xA5, "no entries");
  }
}

  #undef Problem
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
