/*
   MuonKernelTop() and MuonKernelTopSingle() against a full sort by (-|x|, number), on matrices around the sizes of squares, panels and samples, on vectors, and on data that a sample knows nothing of.
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

static MuonKernelScalar Adjacent(MuonKernelScalar x, uint64_t steps)
{
#if defined(MUON_KERNEL_SINGLE)
  uint32_t bits;
#else
  uint64_t bits;
#endif

  memcpy(&bits, &x, sizeof(bits));
  bits += steps;
  memcpy(&x, &bits, sizeof(bits));
  return x;
}

enum {
  NORMAL,
  GRID, /* few different values: exact ties */
  EQUAL,
  ZERO,
  RANGE,     /* all exponents, subnormal ones too */
  NEIGHBORS, /* equal but for the last bits, of which binary32 sees none */
  FEW,       /* zeros but for some */
  UP,        /* sorted by rows, so that every entry is larger than all before it */
  DOWN,
  COLUMNS,  /* the largest side by side in memory */
  DECEIT,   /* small entries wherever one is sampled */
  FLATTERY, /* large ones there */
  KINDS
};

/* As select.c samples */
static int IsSampled(size_t m, size_t n, size_t number)
{
  const size_t entries = m * n, samples = entries / 64 < 64 ? 0 : entries / 64 > 16384 ? 16384 : entries / 64, stretch = samples > 0 ? entries / samples : 1, at = number % n * m + number / n, k = at / stretch;

  return k < samples && at == k * stretch + (size_t)((uint64_t)((uint32_t)k * 0x9E3779B9u >> 8) * stretch >> 24);
}

static MuonKernelScalar Make(int kind, size_t m, size_t n, size_t i, uint64_t *state)
{
  const uint64_t         bits = NextBits(state);
  const MuonKernelScalar sign = bits >> 63 != 0 ? (MuonKernelScalar)-1 : (MuonKernelScalar)1;

  switch (kind) {
  case NORMAL:
    return (MuonKernelScalar)NextNormal(state);
  case GRID:
    return sign * (MuonKernelScalar)(bits % 5) / 4;
  case EQUAL:
    return sign * (MuonKernelScalar)0.7;
  case ZERO:
    return sign * 0;
  case RANGE:
    return sign * (MuonKernelScalar)ldexp(1 + NextUniform(state), (int)(bits % 276) - 149);
  case NEIGHBORS:
    return sign * Adjacent((MuonKernelScalar)1.625, bits % 40);
  case FEW:
    return i % 37 == 5 ? sign * (MuonKernelScalar)NextNormal(state) : sign * 0;
  case UP:
    return sign * (MuonKernelScalar)(1 + i);
  case DOWN:
    return sign * (MuonKernelScalar)(1 + m * n - i);
  case COLUMNS:
    return sign * (MuonKernelScalar)(1 + i % n);
  case DECEIT:
    return IsSampled(m, n, i) ? 0 : sign * Adjacent((MuonKernelScalar)1.625, bits % 40);
  default:
    return IsSampled(m, n, i) ? 100 : (MuonKernelScalar)NextNormal(state);
  }
}

typedef struct {
  size_t                  m, n, ldt, ldr;
  const MuonKernelScalar *T, *R; /* R may be NULL */
} Problem;

/* What is sent of an entry */
static double Value(const Problem *p, size_t number, int single)
{
  const size_t           i = number / p->n, j = number % p->n;
  const MuonKernelScalar x = p->R == NULL ? p->T[i + j * p->ldt] : p->T[i + j * p->ldt] - p->R[i + j * p->ldr];

  return single ? (double)(float)x : (double)x;
}

static void CheckSelection(const Problem *p, const Item *sorted, size_t count, int single, int kind)
{
  const size_t   entries = p->m * p->n, bytes = (entries + 63) / 64 * 8, room = MuonKernelTopRoom(p->m, p->n, count), size = single ? sizeof(float) : sizeof(MuonKernelScalar);
  unsigned char *expected = (unsigned char *)Allocate(bytes), *bitmap = (unsigned char *)Allocate(bytes + 1), *kept = (unsigned char *)Allocate(room * size + 1), *scratch = (unsigned char *)Allocate(MuonKernelTopScratch(p->m, p->n, size) + 1);
  size_t         found = 0;

  Check(room >= count, "room for %d of %d entries", (int)count, (int)entries);
  memset(expected, 0, bytes);
  for (size_t k = 0; k < count; k++) expected[sorted[k].number / 8] |= (unsigned char)(1 << sorted[k].number % 8);
  memset(bitmap, 0xA5, bytes + 1);
  kept[room * size] = scratch[MuonKernelTopScratch(p->m, p->n, size)] = 0xA5;
  if (single) Check(MuonKernelTopSingle(p->m, p->n, p->T, p->ldt, p->R, p->ldr, count, bitmap, (float *)kept, scratch) == 0, "kind %d: %d entries are finite", kind, (int)entries);
  else Check(MuonKernelTop(p->m, p->n, p->T, p->ldt, p->R, p->ldr, count, bitmap, (MuonKernelScalar *)kept, scratch) == 0, "kind %d: %d entries are finite", kind, (int)entries);
  Check(memcmp(bitmap, expected, bytes) == 0, "kind %d, %s: wrong selection of %d from %d x %d", kind, single ? "single" : "native", (int)count, (int)p->m, (int)p->n);
  Check(bitmap[bytes] == 0xA5 && kept[room * size] == 0xA5 && scratch[MuonKernelTopScratch(p->m, p->n, size)] == 0xA5, "kind %d: written past the arrays of %d entries", kind, (int)entries);
  for (size_t e = 0; e < entries; e++) {
    if ((expected[e / 8] >> e % 8 & 1) == 0) continue;
    Check(Value(p, e, single) == (single ? (double)((float *)kept)[found] : (double)((MuonKernelScalar *)kept)[found]), "kind %d: value of entry %d of %d x %d", kind, (int)e, (int)p->m, (int)p->n);
    found++;
  }
  free(expected);
  free(bitmap);
  free(kept);
  free(scratch);
}

static void CheckCounts(const Problem *p, Item *sorted, int kind)
{
  const size_t entries = p->m * p->n;

  for (int single = 0; single < 2; single++) {
    for (size_t e = 0; e < entries; e++) {
      sorted[e].magnitude = fabs(Value(p, e, single));
      sorted[e].number    = e;
    }
    qsort(sorted, entries, sizeof(*sorted), Before);
    if (entries <= 10) {
      for (size_t count = 0; count <= entries; count++) CheckSelection(p, sorted, count, single, kind);
    } else {
      for (size_t count = 1; count < entries; count = 5 * count + 1) CheckSelection(p, sorted, count, single, kind);
      CheckSelection(p, sorted, entries / 10, single, kind);
      CheckSelection(p, sorted, entries - 1, single, kind);
      CheckSelection(p, sorted, entries, single, kind);
    }
  }
}

/* One entry that is not finite, or not in binary32, wherever it is, however many are wanted */
static void CheckInfinite(const Problem *p, MuonKernelScalar *T)
{
  const size_t   entries = p->m * p->n;
  unsigned char *bitmap  = (unsigned char *)Allocate((entries + 63) / 64 * 8);

  for (int bad = 0; bad < 4; bad++) {
    const size_t           at   = bad == 0 ? 0 : bad == 1 ? p->m - 1 + (p->n - 1) * p->ldt : p->m / 2 + p->n / 2 * p->ldt;
    const MuonKernelScalar kept = T[at];

    T[at] = (MuonKernelScalar)(bad == 0 ? NAN : bad == 1 ? INFINITY : bad == 2 ? -INFINITY : -1e39);
    for (size_t count = 1; count <= entries; count += entries / 3 + 1) {
      void *values = Allocate(MuonKernelTopRoom(p->m, p->n, count) * sizeof(MuonKernelScalar)), *scratch = Allocate(MuonKernelTopScratch(p->m, p->n, sizeof(MuonKernelScalar)));

      Check(MuonKernelTopSingle(p->m, p->n, p->T, p->ldt, p->R, p->ldr, count, bitmap, (float *)values, scratch) == 1, "an entry of %d is not finite", (int)entries);
      Check(MuonKernelTop(p->m, p->n, p->T, p->ldt, p->R, p->ldr, count, bitmap, (MuonKernelScalar *)values, scratch) == (bad < 3 || sizeof(MuonKernelScalar) == 4), "an entry of %d is not finite", (int)entries);
      free(values);
      free(scratch);
    }
    T[at] = kept;
  }
  free(bitmap);
}

int main(void)
{
  static const size_t sizes[][2] = {{1, 1}, {2, 1}, {1, 3}, {3, 3}, {1, 64}, {65, 1}, {8, 8}, {9, 7}, {64, 64}, {63, 65}, {130, 3}, {2, 200}, {1, 20000}, {20000, 1}, {577, 70}, {150, 300}};
  uint64_t            state      = 1;

  for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
    const size_t      m = sizes[s][0], n = sizes[s][1], ldt = m + s % 3, ldr = m + s % 2;
    MuonKernelScalar *T = (MuonKernelScalar *)Allocate(ldt * n * sizeof(*T)), *R = (MuonKernelScalar *)Allocate(ldr * n * sizeof(*R));
    Item             *sorted = (Item *)Allocate(m * n * sizeof(*sorted));
    Problem           p;

    p.m = m, p.n = n, p.ldt = ldt, p.ldr = ldr, p.T = T;
    for (int kind = 0; kind < KINDS; kind++) {
      /* The gaps hold NaN: whoever reads them shows it */
      for (size_t k = 0; k < ldt * n; k++) T[k] = (MuonKernelScalar)NAN;
      for (size_t k = 0; k < ldr * n; k++) R[k] = (MuonKernelScalar)NAN;
      for (size_t e = 0; e < m * n; e++) {
        T[e / n + e % n * ldt] = Make(kind, m, n, e, &state);
        R[e / n + e % n * ldr] = kind == NORMAL ? (MuonKernelScalar)NextNormal(&state) : 0;
      }
      p.R = kind % 2 == 0 ? R : NULL;
      CheckCounts(&p, sorted, kind);
    }
    CheckInfinite(&p, T);
    free(T);
    free(R);
    free(sorted);
  }
  {
    unsigned char bitmap = 0xA5;

    Check(MuonKernelTop(0, 5, NULL, 1, NULL, 1, 0, &bitmap, NULL, NULL) == 0 && MuonKernelTopSingle(5, 0, NULL, 5, NULL, 5, 0, &bitmap, NULL, NULL) == 0 && bitmap == 0xA5, "no entries");
  }
  printf("ok\n");
  return 0;
}

/*TEST

  test:
    nsize: 0
    link: internal
    output_file: output/kernels_ok.out

TEST*/
