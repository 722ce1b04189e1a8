static char help[] = "Data and waves of tutorials/science/fno.c: solutions against series, also where a jumps; waves of modes against sums; the transpose.\n";

#define FNO_DOUBLE
#define SIDE   21
#define PAD    4
#define MODES  5
#define WIDTH  2
#define HIDDEN 3
#include "../tutorials/science/fno.h"
#include "../tutorials/science/darcy.h"

#define Check(condition, ...) PetscCheck(condition, PETSC_COMM_SELF, PETSC_ERR_PLIB, __VA_ARGS__)
#define TERMS_Y               1600 /* they decrease as k^-3 */

/*
   The solution for a = 12 left of x0 and 3 right of it, a series of sines in y whose coefficients solve -(a v')' + a q^2 v = 4 / q with
   q = k pi. With the distance z from the boundary, w of x0, v = f / a (1 - cosh(q (z - w/2)) / cosh(q w/2)) + b sinh(q z) / sinh(q w)
   with f = 4 / q^3 on each side: b is the value at x0, for which what flows out of both sides is zero
*/
static double Series(double x0, double x, double y)
{
  const double a[2] = {12, 3}, w[2] = {x0, 1 - x0}, z = x < x0 ? x : 1 - x;
  const int    i = x < x0 ? 0 : 1;
  double       u = 0;

  for (int k = 1; k < TERMS_Y; k += 2) {
    const double q = k * PETSC_PI, f = 4 / (q * q * q), near = exp(-q * z), far = exp(-q * (w[i] - z)), both = exp(-q * w[i]);
    const double b = x0 > 0 ? f * (tanh(q * w[0] / 2) + tanh(q * w[1] / 2)) / (a[0] / tanh(q * w[0]) + a[1] / tanh(q * w[1])) : 0;

    u += sin(q * y) * (f / a[i] * (1 - (near + far) / (1 + both)) + b * far * (1 - near * near) / (1 - both * both));
  }
  return u;
}

/* Fields that do not depend on y: positive everywhere is a = 12, and 1/2 + cos(pi x) changes its sign at x = 2/3, a point of no grid here */
static PetscErrorCode CheckSolutions(PetscInt cells, double x0, double tolerance)
{
  float  a[POINTS], u[POINTS];
  double above = 0, below = 0;
  Darcy  d;

  PetscFunctionBegin;
  PetscCall(DarcyCreate(cells, SIDE, &d));
  PetscCall(PetscArrayzero(d.c, TERMS * TERMS));
  d.c[0] = x0 < 1 ? 0.5 : 1;
  if (x0 < 1) d.c[1] = 1 / PetscSqrtReal(2);
  PetscCall(DarcySolve(&d, a, u));
  for (PetscInt i = 0; i < POINTS; i++) {
    const double x = (double)(i % SIDE) / (SIDE - 1), y = (double)(i / SIDE) / (SIDE - 1), exact = x0 < 1 ? Series(x0, x, y) : Series(0, x, y) / 4;

    Check((double)a[i] == (x < x0 ? 12 : 3), "a(%g) = %g", x, (double)a[i]);
    above += PetscSqr((double)u[i] - exact);
    below += PetscSqr(exact);
  }
  Check(sqrt(above / below) < tolerance && below > 0, "%" PetscInt_FMT " cells: solutions differ by %g, expected at most %g", cells, sqrt(above / below), tolerance);
  PetscCall(DarcyDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double Number(PetscInt i)
{
  return sin((double)(i * i % 1009) + 0.3);
}

/* The frequencies of two functions, by their definition, and <A h, x> = <h, A^T x> of both transforms */
static PetscErrorCode CheckWaves(void)
{
  Fno      f;
  FnoReal *H, *X, *back;
  double   worst = 0, size = 0;

  PetscFunctionBegin;
  PetscCall(FnoCreate(2, &f));
  PetscCall(PetscMalloc3(STATE, &H, 4 * HARMONICS * WIDTH, &X, STATE, &back));
  for (PetscInt i = 0; i < STATE; i++) H[i] = Number(i);
  for (PetscInt i = 0; i < 4 * HARMONICS * WIDTH; i++) X[i] = Number(7 * i + 5);
  for (int inverse = 0; inverse < 2; inverse++) {
    double left = 0, right = 0;

    PetscCall(PetscArrayzero(back, STATE));
    PetscCall(FnoSynthesize(&f, inverse ? PETSC_TRUE : PETSC_FALSE, 2, 1, X, back));
    PetscCall(PetscArrayzero(f.Y, 4 * HARMONICS * WIDTH));
    PetscCall(FnoAnalyze(&f, inverse ? PETSC_TRUE : PETSC_FALSE, 2, 1, H, f.Y));
    for (PetscInt i = 0; i < STATE; i++) left += H[i] * back[i];
    for (PetscInt i = 0; i < 4 * HARMONICS * WIDTH; i++) right += X[i] * f.Y[i]; /* those of the first function are zero */
    Check(fabs(left - right) < 1e-12 * (fabs(left) + 1) && left != 0, "The transpose differs: %g and %g", left, right);
    for (PetscInt mode = 0; mode < HARMONICS; mode++) {
      const PetscInt k = mode % MODES, j = mode / MODES, ky = j < MODES ? j : -(j - MODES + 1);

      for (PetscInt c = 0; c < WIDTH; c++) {
        double sum[2] = {0, 0};

        for (PetscInt i = 0; i < PLANE; i++) {
          const double angle = 2 * PETSC_PI * (double)(k * (i % PADDED) + ky * (i / PADDED)) / PADDED;

          sum[0] += H[c * PLANE + i] * cos(angle);
          sum[1] -= H[c * PLANE + i] * sin(angle);
        }
        for (PetscInt part = 0; part < 2; part++) {
          const double factor = inverse ? (k ? 2.0 : 1.0) / PLANE : 1;

          worst = PetscMax(worst, fabs(factor * sum[part] - f.Y[((mode * 2 + part) * 2 + 1) * WIDTH + c]));
          size  = PetscMax(size, fabs(sum[part]));
        }
      }
    }
  }
  Check(worst < 1e-12 * size, "Frequencies differ by %g of %g", worst, size);
  PetscCall(PetscFree3(H, X, back));
  PetscCall(FnoDestroy(&f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(CheckSolutions(40, 2, 1e-3));
  PetscCall(CheckSolutions(160, 2, 7e-5)); /* of second order */
  PetscCall(CheckSolutions(160, 2.0 / 3, 2e-3));
  PetscCall(CheckWaves());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    requires: double

TEST*/
