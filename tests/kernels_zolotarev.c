/*
   Zolotarev's coefficients against theta functions, another way to the same numbers, and against what defines
   them, that the error alternates.
*/
#include "kernels_common.h"
#include "kernels/dense/muonpolarzolotarev.h"
#include "zolotarev_common.h"

static const double intervals[] = {1e-12, 1e-9, 1e-6, 1e-4, 1e-3, 3e-3, 1e-2, 0.1, 0.5, 0.9, 0.999};

/* As the library has it */
static Zolotarev Found(const MuonKernelZolotarev *from)
{
  Zolotarev z;

  z.poles  = from->poles;
  z.scale  = from->scale;
  z.lowest = from->lowest;
  for (int j = 0; j < z.poles; j++) {
    z.a[j] = from->a[j];
    z.c[j] = from->c[j];
  }
  return z;
}

static void CheckCoefficients(int r, double l)
{
  /* A coefficient is a product of 2r - 1 differences, each right to a few units; 1e-14 is what is promised */
  const long double   tolerance = 1e-14L;
  const Zolotarev     exact     = ZolotarevOf(r, (long double)l);
  MuonKernelZolotarev set;
  Zolotarev           z;
  int                 alternations = 0, side = 0;

  MuonKernelZolotarevSet(r, l, &set);
  z = Found(&set);
  for (int j = 0; j < r; j++) {
    Check(fabsl(z.c[j] - exact.c[j]) <= tolerance * exact.c[j], "r %d l %g: c_%d is %.17Lg, by theta functions %.17Lg", r, l, 2 * j + 1, z.c[j], exact.c[j]);
    Check(fabsl(z.a[j] - exact.a[j]) <= tolerance * fabsl(exact.a[j]), "r %d l %g: a_%d is %.17Lg, by theta functions %.17Lg", r, l, j + 1, z.a[j], exact.a[j]);
  }
  Check(z.poles == r && fabsl(z.scale - exact.scale) <= tolerance * exact.scale, "r %d l %g: scale %.17Lg, by theta functions %.17Lg", r, l, z.scale, exact.scale);
  Check(fabsl(z.lowest - ZolotarevAt(&z, (long double)l)) <= 1e-13L && fabsl(z.lowest - exact.lowest) <= 1e-13L, "r %d l %g: smallest value %.17Lg, at l %.17Lg", r, l, z.lowest, exact.lowest);

  /*
     The error of the best approximation reaches its largest value 2r + 2 times with changing sign; where it
     is too small to be seen there is nothing to count
  */
  if (1 - z.lowest < 1e-9L) return;
  for (int k = 0; k <= 8000; k++) {
    const long double x = powl((long double)l, 1 - k / 8000.0L), y = ZolotarevAt(&z, x), depth = (1 - y) / (1 - z.lowest);

    Check(depth >= -1e-5L && depth <= 1 + 1e-5L, "r %d l %g: the value at %Lg is %.17Lg, outside of [%.17Lg,1]", r, l, x, y, z.lowest);
    if (depth < 1e-3L && side != 1) {
      side = 1;
      alternations++;
    } else if (depth > 1 - 1e-3L && side != -1) {
      side = -1;
      alternations++;
    }
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
    const int           expected = r == 4 ? 1 : r == 7 ? 2 : r == 10 ? 3 : 0;
    MuonKernelZolotarev one, two;
    Zolotarev           z, first, second;

    Check(MuonKernelZolotarevNest(r, l, &one, &two) == expected, "r %d is not nested as expected", r);
    if (expected == 0) continue;
    z      = ZolotarevOf(r, (long double)l);
    first  = Found(&one);
    second = Found(&two);
    for (int k = 0; k <= 1000; k++) {
      const long double x = powl((long double)l, 1.2L - 1.2L * k / 1000), y = ZolotarevAt(&z, x);

      /*
         The inner function is right to some units, and the outer one no steeper than 1/l_1 = 1/first.lowest
         relative to its value
      */
      Check(fabsl(ZolotarevAt(&second, ZolotarevAt(&first, x)) - y) <= 1e-13L * y, "r %d l %g: %.17Lg at %Lg, nested %.17Lg", r, l, y, x, ZolotarevAt(&second, ZolotarevAt(&first, x)));
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
