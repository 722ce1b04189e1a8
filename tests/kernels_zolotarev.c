/*
   Zolotarev's coefficients against theta functions, another way to the same numbers, and against what defines
   them, that the error alternates.
*/
#include "kernels_common.h"
#include "kernels/dense/muonpolarzolotarev.h"
#include "zolotarev_common.h"

static const double intervals[] = {1e-12, 1e-9, 1e-6, 1e-4, 1e-3, 3e-3, 1e-2, 0.1, 0.5, 0.9, 0.999};

static long double Value(const MuonKernelZolotarev *z, long double x)
{
  long double sum = 1;

  for (int j = 0; j < z->poles; j++) sum += z->a[j] / (x * x + z->c[j]);
  return z->scale * x * sum;
}

static void CheckCoefficients(int r, double l)
{
  /* A coefficient is a product of 2r - 1 differences, each right to a few units; 1e-14 is what is promised */
  const long double   tolerance = 1e-14L;
  MuonKernelZolotarev z;
  long double         node[2 * MAXMUONKERNELPOLES + 1], scale = 1, last = 0;
  int                 alternations = 0, side = 0;

  MuonKernelZolotarevSet(r, l, &z);
  for (int i = 1; i <= 2 * r; i++) node[i] = Node(r, (long double)l, i);
  for (int j = 0; j < r; j++) {
    long double a = -1;

    for (int k = 0; k < r; k++) {
      a *= node[2 * j + 1] - node[2 * k + 2];
      if (k != j) a /= node[2 * j + 1] - node[2 * k + 1];
    }
    scale *= (1 + node[2 * j + 1]) / (1 + node[2 * j + 2]);
    Check(fabsl(z.c[j] - node[2 * j + 1]) <= tolerance * node[2 * j + 1], "r %d l %g: c_%d is %.17g, by theta functions %.17Lg", r, l, 2 * j + 1, z.c[j], node[2 * j + 1]);
    Check(fabsl(z.a[j] - a) <= tolerance * fabsl(a), "r %d l %g: a_%d is %.17g, by theta functions %.17Lg", r, l, j + 1, z.a[j], a);
  }
  Check(z.poles == r && fabsl(z.scale - scale) <= tolerance * scale, "r %d l %g: scale %.17g, by theta functions %.17Lg", r, l, z.scale, scale);
  Check(fabsl(z.lowest - Value(&z, (long double)l)) <= 1e-13L, "r %d l %g: smallest value %.17g, at l %.17Lg", r, l, z.lowest, Value(&z, (long double)l));

  /*
     The error of the best approximation reaches its largest value 2r + 2 times with changing sign; where it
     is too small to be seen there is nothing to count
  */
  if (1 - z.lowest < 1e-9) return;
  for (int k = 0; k <= 8000; k++) {
    const long double x = powl((long double)l, 1 - k / 8000.0L), y = Value(&z, x), depth = (1 - y) / (1 - z.lowest);

    Check(depth >= -1e-5L && depth <= 1 + 1e-5L, "r %d l %g: the value at %Lg is %.17Lg, outside of [%.17g,1]", r, l, x, y, z.lowest);
    if (depth < 1e-3L && side != 1) {
      side = 1;
      alternations++;
    } else if (depth > 1 - 1e-3L && side != -1) {
      side = -1;
      alternations++;
    }
    Check(k == 0 || x > last, "the grid increases");
    last = x;
  }
  Check(alternations == 2 * r + 2, "r %d l %g: the error alternates %d times", r, l, alternations);
}

static void CheckTable(void)
{
  static const int    poles[]    = {1, 2, 3, 4, 6, 8};
  static const double l[]        = {1e-2, 3e-3, 1e-3, 1e-4};
  static const double e[4][6]    = {{0.329, 0.0650, 0.0125, 2.4e-3, 9.0e-5, 3.3e-6}, {0.480, 0.129, 0.0329, 8.3e-3, 5.4e-4, 3.5e-5}, {0.603, 0.202, 0.0621, 0.0189, 1.8e-3, 1.6e-4}, {0.791, 0.375, 0.153, 0.0605, 9.4e-3, 1.5e-3}};
  static const double last[4][6] = {{1e-3, 1e-4, 1e-4, 1e-4, 1e-6, 1e-7}, {1e-3, 1e-3, 1e-4, 1e-4, 1e-5, 1e-6}, {1e-3, 1e-3, 1e-4, 1e-4, 1e-4, 1e-5}, {1e-3, 1e-3, 1e-3, 1e-4, 1e-4, 1e-4}};

  /* The printed value for r = 6, l = 1e-3 was rounded twice, from 0.0017494 to 0.00175 to 0.0018 */
  for (int i = 0; i < 4; i++) {
    for (int j = 0; j < 6; j++) Check(fabs(MuonKernelZolotarevError(poles[j], l[i]) - e[i][j]) <= 0.52 * last[i][j], "r %d l %g: error %g, in the table %g", poles[j], l[i], MuonKernelZolotarevError(poles[j], l[i]), e[i][j]);
  }
}

static void CheckNest(double l)
{
  for (int r = 1; r <= MAXMUONKERNELPOLES; r++) {
    MuonKernelZolotarev z, first, second;
    const int           expected = r == 4 ? 1 : r == 7 ? 2 : r == 10 ? 3 : 0;

    Check(MuonKernelZolotarevNest(r, l, &first, &second) == expected, "r %d is not nested as expected", r);
    if (expected == 0) continue;
    MuonKernelZolotarevSet(r, l, &z);
    for (int k = 0; k <= 1000; k++) {
      const long double x = powl((long double)l, 1.2L - 1.2L * k / 1000), y = Value(&z, x);

      /*
         The inner function is right to some units, and the outer one no steeper than 1/l_1 = 1/first.lowest
         relative to its value
      */
      Check(fabsl(Value(&second, Value(&first, x)) - y) <= 1e-13L * y, "r %d l %g: %.17Lg at %Lg, nested %.17Lg", r, l, y, x, Value(&second, Value(&first, x)));
    }
  }
}

int main(void)
{
  for (size_t k = 0; k < sizeof(intervals) / sizeof(intervals[0]); k++) {
    for (int r = 1; r <= MAXMUONKERNELPOLES; r++) CheckCoefficients(r, intervals[k]);
    CheckNest(intervals[k]);
  }
  CheckTable();
  printf("ok\n");
  return 0;
}

/*TEST

  test:
    nsize: 0
    link: internal
    output_file: output/kernels_ok.out

TEST*/
