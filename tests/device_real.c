/*
   The arithmetic of the polar factors in the memory of a device, in all its precisions, beside sums in
   double: exact for small integers, whose products all precisions hold, and for other numbers the sums of
   rounded operands.
*/
#include "kernels_common.h"
#include "kernels/dense/muonpolarreal.h"

static const MuonDevice *device;

/* On the device, from doubles */
static void *Send(const MuonKernelReal *real, size_t count, const double *x)
{
  void *host = Allocate(count * real->size), *there = device->allocate(count * real->size);

  for (size_t k = 0; k < count; k++) {
    if (real->size == sizeof(float)) ((float *)host)[k] = (float)x[k];
    else ((double *)host)[k] = x[k];
  }
  device->copy(count * real->size, host, there);
  free(host);
  return there;
}

static void Receive(const MuonKernelReal *real, size_t count, void *there, double *x)
{
  void *host = Allocate(count * real->size);

  device->copy(count * real->size, there, host);
  for (size_t k = 0; k < count; k++) x[k] = real->size == sizeof(float) ? (double)((float *)host)[k] : ((double *)host)[k];
  free(host);
  device->release(there);
}

/* An operand of a product, to nearest and ties to even: bits of its significand */
static double Rounded(const MuonKernelReal *real, double x)
{
  int    exponent;
  double fraction = frexp(real->size == sizeof(float) ? (double)(float)x : x, &exponent);

  if (real->unit < 1e-6) return ldexp(fraction, exponent);
  return ldexp(nearbyint(fraction / real->unit), exponent) * real->unit;
}

static double At(const double *B, size_t s, size_t i, size_t j)
{
  return i < j ? B[i * s + j] : B[j * s + i];
}

/*
   Lower triangles of s x s and a panel, with leading dimensions of their own; bound is what a sum of so many
   products may be off
*/
static void CheckProducts(const MuonKernelReal *real, int left, size_t s, size_t l, int integers, uint64_t *state)
{
  const size_t rows = left ? s : l, columns = left ? l : s, ldy = rows + 2, sums = s + l;
  const double bound = integers ? 0 : 4 * (double)sums * (real->size == sizeof(float) ? 1.0 / 16777216.0 : 1.0 / 9007199254740992.0);
  double      *Y = (double *)Allocate(ldy * columns * sizeof(double)), *B = (double *)Allocate(s * s * sizeof(double)), *found = (double *)Allocate((ldy * columns + s * s) * sizeof(double)), *d = (double *)Allocate(s * sizeof(double));
  void        *y, *b, *z;

  for (size_t k = 0; k < ldy * columns; k++) Y[k] = integers ? floor(9 * NextUniform(state)) - 4 : 2 * NextUniform(state) - 1;
  for (size_t k = 0; k < s * s; k++) B[k] = integers ? floor(9 * NextUniform(state)) - 4 : 2 * NextUniform(state) - 1;
  for (size_t i = 0; i < s; i++) d[i] = ldexp(1.0, (int)(i % 5) - 2);

  y = Send(real, ldy * columns, Y);
  b = Send(real, s * s, B);
  real->gram(left, s, l, 2, y, ldy, -1, b);
  Receive(real, s * s, b, found);
  for (size_t j = 0; j < s; j += 1 + s / 20) {
    for (size_t i = j; i < s; i += 1 + s / 20) {
      double sum = 0;

      for (size_t k = 0; k < l; k++) sum += Rounded(real, left ? Y[k * ldy + i] : Y[i * ldy + k]) * Rounded(real, left ? Y[k * ldy + j] : Y[j * ldy + k]);
      Check(fabs(found[j * s + i] - (2 * sum - B[j * s + i])) <= bound, "%s: entry %d,%d of the Gram matrix of %d x %d is %.17g, expected %.17g", real->name, (int)i, (int)j, (int)rows, (int)columns, found[j * s + i], 2 * sum - B[j * s + i]);
    }
  }
  for (int held = 0; held < 2; held++) {
    b = Send(real, s * s, B);
    z = Send(real, ldy * columns, Y);
    real->multiply(left, s, l, 0.5, b, held ? real->hold(s, b) : NULL, y, ldy, held ? 0 : 2, z, ldy);
    Receive(real, ldy * columns, z, found);
    for (size_t j = 0; j < columns; j += 1 + columns / 20) {
      for (size_t i = 0; i < rows; i += 1 + rows / 20) {
        double sum = 0;

        for (size_t k = 0; k < s; k++) sum += Rounded(real, At(B, s, left ? i : k, left ? k : j)) * Rounded(real, left ? Y[j * ldy + k] : Y[k * ldy + i]);
        sum = 0.5 * sum + (held ? 0 : 2 * Y[j * ldy + i]);
        Check(fabs(found[j * ldy + i] - sum) <= bound, "%s: entry %d,%d of a product with %d x %d is %.17g, expected %.17g", real->name, (int)i, (int)j, (int)rows, (int)columns, found[j * ldy + i], sum);
      }
    }
    device->release(b);
  }
  device->release(y);

  /* A matrix with itself commutes; then its passes */
  b = Send(real, s * s, B);
  z = Send(real, s * s, B);
  real->mirror(s, b);
  real->product(s, 1, b, b, 0, z);
  Receive(real, s * s, z, found);
  for (size_t j = 0; j < s; j += 1 + s / 10) {
    for (size_t i = j; i < s; i += 1 + s / 10) {
      double sum = 0;

      for (size_t k = 0; k < s; k++) sum += Rounded(real, At(B, s, i, k)) * Rounded(real, At(B, s, k, j));
      Check(fabs(found[j * s + i] - sum) <= bound * (double)s, "%s: entry %d,%d of a square of %d is %.17g, expected %.17g", real->name, (int)i, (int)j, (int)s, found[j * s + i], sum);
    }
  }
  real->shift(s, 3, b);
  real->scale(1, s, s, d, b, s);
  real->rowsums(s, b, found);
  for (size_t i = 0; i < s; i++) {
    double sum = 0;

    for (size_t j = 0; j < s; j++) {
      const double x = At(B, s, i, j) + (i == j ? 3 : 0);

      sum += fabs((real->size == sizeof(float) ? (double)(float)x : x) * d[i < j ? j : i]);
    }
    Check(fabs(found[i] - sum) <= (integers ? 0 : 1e-5 * (double)s), "%s: the sum of row %d of %d is %.17g, expected %.17g", real->name, (int)i, (int)s, found[i], sum);
  }
  device->release(b);
  free(Y);
  free(B);
  free(found);
  free(d);
}

/* Into the precision, divided, and back: powers of two lose nothing */
static void CheckBorder(const MuonKernelReal *real, uint64_t *state)
{
  const size_t m = 37, n = 5, ld = 40;
  double      *G = (double *)Allocate(ld * n * sizeof(double)), *Q = (double *)Allocate(ld * n * sizeof(double));
  void        *g = device->allocate(ld * n * sizeof(double)), *q = device->allocate(ld * n * sizeof(double)), *y = device->allocate(m * n * real->size);

  for (size_t k = 0; k < ld * n; k++) G[k] = ldexp(floor(1000 * NextUniform(state)), 20);
  device->copy(ld * n * sizeof(double), G, g);
  device->copy(ld * n * sizeof(double), G, q);
  real->load(m, n, MUON_DOUBLE, g, ld, 0.5, 40, y, m);
  real->store(m, n, 8, y, m, MUON_DOUBLE, q, ld);
  device->copy(ld * n * sizeof(double), q, Q);
  for (size_t k = 0; k < ld * n; k++) Check(Q[k] == (k % ld < m ? ldexp(G[k], -36) : G[k]), "%s: entry %d becomes %.17g of %.17g", real->name, (int)k, Q[k], G[k]);
  device->release(g);
  device->release(q);
  device->release(y);
  free(G);
  free(Q);
}

int main(void)
{
  const char *const names[] = {"single", "double", "tf32", "bf16"};
  uint64_t          state   = 4;

  device = MuonDeviceGet();
  Check(device != NULL && device->start() == NULL, "no device");
  Check(MuonKernelRealOfDevice("half") == NULL, "a precision of no name");
  for (size_t p = 0; p < sizeof(names) / sizeof(names[0]); p++) {
    const MuonKernelReal *real = MuonKernelRealOfDevice(names[p]);

    Check(real != NULL && real->memory == MUON_DEVICE, "no precision %s", names[p]);
    CheckBorder(real, &state);
    for (int left = 0; left < 2; left++) {
      for (int integers = 0; integers < 2; integers++) {
        CheckProducts(real, left, 1, 1, integers, &state);
        CheckProducts(real, left, 13, 40, integers, &state);
      }
    }
  }
  /* A triangle of several blocks */
  CheckProducts(MuonKernelRealOfDevice("single"), 1, 1031, 3, 1, &state);
  printf("ok\n");
  return 0;
}

/*TEST

  link: internal

  test:
    nsize: 0
    requires: kokkos
    output_file: output/kernels_ok.out

TEST*/
