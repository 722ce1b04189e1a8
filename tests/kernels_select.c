/*
   MuonKernelSelect() against a full sort by (-|x|, number).
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
  NEIGHBORS, /* equal but for the last bits */
  FEW,       /* zeros but for some */
  KINDS
};

static MuonKernelScalar Make(int kind, size_t i, uint64_t *state)
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
    return sign * (MuonKernelScalar)ldexp(1 + NextUniform(state), sizeof(MuonKernelScalar) == 4 ? (int)(bits % 276) - 149 : (int)(bits % 2096) - 1074);
  case NEIGHBORS:
    return sign * Adjacent((MuonKernelScalar)1.625, bits % 40);
  default:
    return i % 37 == 5 ? sign * (MuonKernelScalar)NextNormal(state) : sign * 0;
  }
}

static void CheckSelection(size_t entries, const MuonKernelScalar *x, const Item *sorted, size_t count, unsigned char *bitmap, void *scratch, int kind)
{
  const size_t   bytes    = (entries + 7) / 8;
  unsigned char *expected = (unsigned char *)Allocate(bytes);

  memset(expected, 0, bytes);
  for (size_t k = 0; k < count; k++) expected[sorted[k].number / 8] |= (unsigned char)(1 << sorted[k].number % 8);
  memset(bitmap, 0xA5, bytes + 1);
  Check(MuonKernelSelect(entries, x, count, bitmap, scratch) == 0, "kind %d: %d entries are finite", kind, (int)entries);
  Check(memcmp(bitmap, expected, bytes) == 0, "kind %d: wrong selection of %d from %d", kind, (int)count, (int)entries);
  Check(bitmap[bytes] == 0xA5, "kind %d: written past the bitmap of %d entries", kind, (int)entries);
  free(expected);
}

int main(void)
{
  static const size_t sizes[] = {1, 2, 7, 8, 9, 63, 64, 65, 128, 130, 1000, 4097, 100003};
  uint64_t            state   = 1;

  for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
    const size_t      entries = sizes[s];
    MuonKernelScalar *x       = (MuonKernelScalar *)Allocate(entries * sizeof(*x));
    Item             *sorted  = (Item *)Allocate(entries * sizeof(*sorted));
    unsigned char    *bitmap  = (unsigned char *)Allocate(entries / 8 + 2);
    void             *scratch = Allocate(MuonKernelSelectScratch(entries));

    for (int kind = 0; kind < KINDS; kind++) {
      for (size_t i = 0; i < entries; i++) {
        x[i]                = Make(kind, i, &state);
        sorted[i].magnitude = fabs((double)x[i]);
        sorted[i].number    = i;
      }
      qsort(sorted, entries, sizeof(*sorted), Before);
      if (entries <= 130) {
        for (size_t count = 0; count <= entries; count++) CheckSelection(entries, x, sorted, count, bitmap, scratch, kind);
      } else {
        for (size_t count = 1; count < entries; count = 3 * count + 1) CheckSelection(entries, x, sorted, count, bitmap, scratch, kind);
        CheckSelection(entries, x, sorted, 0, bitmap, scratch, kind);
        CheckSelection(entries, x, sorted, entries / 10, bitmap, scratch, kind);
        CheckSelection(entries, x, sorted, entries - 1, bitmap, scratch, kind);
        CheckSelection(entries, x, sorted, entries, bitmap, scratch, kind);
      }
      /* One entry that is not finite, wherever it is, however many are wanted */
      for (int bad = 0; bad < 3; bad++) {
        const size_t           at   = bad == 0 ? 0 : bad == 1 ? entries - 1 : entries / 2;
        const MuonKernelScalar kept = x[at];

        x[at] = (MuonKernelScalar)(bad == 0 ? NAN : bad == 1 ? INFINITY : -INFINITY);
        for (size_t count = 0; count <= entries; count += entries / 3 + 1) Check(MuonKernelSelect(entries, x, count, bitmap, scratch) == 1, "kind %d: an entry of %d is not finite", kind, (int)entries);
        x[at] = kept;
      }
    }
    free(x);
    free(sorted);
    free(bitmap);
    free(scratch);
  }
  {
    void         *scratch = Allocate(MuonKernelSelectScratch(0));
    unsigned char bitmap  = 0xA5;

    Check(MuonKernelSelect(0, NULL, 0, &bitmap, scratch) == 0 && bitmap == 0xA5, "no entries");
    free(scratch);
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
