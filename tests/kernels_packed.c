/*
   State in 16 and 8 bits against its definition, written down a second time: neighbors, random words, bytes, rows in parts.
*/
#include "kernels_common.h"
#include <petscmuon/private/muonwire.h>

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
  uint64_t state = 1;

  (void)argc;
  (void)argv;
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

/*TEST

  link: internal

  test:
    nsize: 0
    output_file: output/kernels_ok.out

TEST*/
