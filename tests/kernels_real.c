static char help[] = "Products of the polar kernels in each precision: exact where the entries are small integers, rounded operands where they are not.\n\n";

#include "polar_common.h"
#include "kernels/dense/muonpolarbf16.h"

static size_t Number(const MuonKernelReal *real, size_t i)
{
  return i * real->size;
}

static double Get(const MuonKernelReal *real, const void *x, size_t i)
{
  return real->size == sizeof(float) ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

static void Put(const MuonKernelReal *real, void *x, size_t i, double value)
{
  if (real->size == sizeof(float)) ((float *)x)[i] = (float)value;
  else ((double *)x)[i] = value;
}

/* An entry that all precisions hold exactly, or one that none but double does */
static double Entry(PetscBool integer)
{
  const double u = TestUniform();

  return integer == PETSC_TRUE ? floor(17.0 * u) - 8.0 : 2.0 * u - 1.0;
}

/* As an operand of a product of that precision: to nearest, ties to even */
static double Rounded(const MuonKernelReal *real, double x)
{
  int    e;
  double scale;

  if (x == 0.0) return 0.0;
  (void)frexp(x, &e);
  scale = ldexp(2.0 * real->unit, e - 1);
  return nearbyint(x / scale) * scale;
}

/* Columns of the long side that are compared where there are too many */
static size_t Next(size_t i, size_t l)
{
  return l < 1000 || i + 1 == l ? i + 1 : PetscMin(i + l / 7, l - 1);
}

static PetscErrorCode Check(const MuonKernelReal *real, int left, size_t s, size_t l, size_t pad, PetscBool integer, PetscBool hold)
{
  const size_t ld = (left ? s : l) + pad, columns = left ? l : s;
  const double a = integer == PETSC_TRUE ? 3.0 : 1.25, b = integer == PETSC_TRUE ? -2.0 : 0.75;
  double      *y, *z, *w;
  const void  *held = NULL;
  void        *Y, *Z, *A, *B;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc4(ld * columns + 1, &y, ld * columns + 1, &z, s * s + 1, &w, Number(real, ld * columns + 1), (char **)&Y));
  PetscCall(PetscMalloc3(Number(real, ld * columns + 1), (char **)&Z, Number(real, s * s + 1), (char **)&A, Number(real, s * s + 1), (char **)&B));
  /* Padding is NaN, and so is what lies above the diagonal: who reads them shows it */
  for (size_t i = 0; i < ld * columns; i++) {
    const PetscBool padding = i % ld >= ld - pad ? PETSC_TRUE : PETSC_FALSE;

    y[i] = Entry(integer);
    z[i] = Entry(integer);
    Put(real, Y, i, padding == PETSC_TRUE ? (double)NAN : y[i]);
    Put(real, Z, i, padding == PETSC_TRUE ? (double)NAN : z[i]);
    y[i] = Rounded(real, Get(real, Y, i));
    z[i] = Get(real, Z, i);
  }
  for (size_t j = 0; j < s; j++) {
    for (size_t i = j; i < s; i++) {
      w[i + j * s] = Entry(integer);
      Put(real, A, i + j * s, w[i + j * s]);
      Put(real, B, i + j * s, w[i + j * s]);
      w[i + j * s] = Get(real, A, i + j * s);
      if (i > j) Put(real, A, j + i * s, (double)NAN);
      if (i > j) Put(real, B, j + i * s, (double)NAN);
    }
  }

  /*
     B = a Y Y^T + b B. A sum of l products in the precision of the sums is off by at most l of its roundoffs,
     times the sum of the absolute values
  */
  real->gram(left, s, l, a, Y, ld, b, B);
  for (size_t j = 0; j < s; j++) {
    for (size_t i = j; i < s; i++) {
      double sum = b * w[i + j * s], most = fabs(sum), unit = real->size == sizeof(float) ? ldexp(1.0, -24) : ldexp(1.0, -53);

      if (s > 64 && (i * 31 + j * 17) % 13 != 0) continue;
      for (size_t k = 0; k < l; k++) {
        const double term = left ? y[i + k * ld] * y[j + k * ld] : y[k + i * ld] * y[k + j * ld];

        sum += a * term;
        most += fabs(a * term);
      }
      PetscCheck(fabs(Get(real, B, i + j * s) - sum) <= (integer == PETSC_TRUE ? 0.0 : (l + 8.0) * unit * most), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s gram, left %d, s = %d, l = %d: entry %d %d is %.17g, expected %.17g", real->name, left, (int)s,
                 (int)l, (int)i, (int)j, Get(real, B, i + j * s), sum);
    }
  }

  /* Z = a A Y + b Z */
  if (hold == PETSC_TRUE) held = real->hold(s, A);
  for (int again = 0; again < (hold == PETSC_TRUE ? 2 : 1); again++) {
    for (size_t i = 0; i < ld * columns; i++) {
      if (i % ld < ld - pad) Put(real, Z, i, z[i]);
    }
    real->multiply(left, s, l, a, A, held, Y, ld, b, Z, ld);
    for (size_t j = 0; j < l; j = Next(j, l)) {
      for (size_t i = 0; i < s; i++) {
        const size_t at  = left ? i + j * ld : j + i * ld;
        double       sum = b * z[at], most = fabs(sum), unit = real->size == sizeof(float) ? ldexp(1.0, -24) : ldexp(1.0, -53);

        for (size_t k = 0; k < s; k++) {
          const double term = Rounded(real, i > k ? w[i + k * s] : w[k + i * s]) * (left ? y[k + j * ld] : y[j + k * ld]);

          sum += a * term;
          most += fabs(a * term);
        }
        PetscCheck(fabs(Get(real, Z, at) - sum) <= (integer == PETSC_TRUE ? 0.0 : (s + 8.0) * unit * most), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s multiply, left %d, s = %d, l = %d: entry %d %d is %.17g, expected %.17g", real->name, left, (int)s,
                   (int)l, (int)i, (int)j, Get(real, Z, at), sum);
      }
    }
  }
  for (size_t i = 0; i < ld * columns; i++) PetscCheck(i % ld < ld - pad || PetscIsNanReal((PetscReal)Get(real, Z, i)), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s multiply wrote padding", real->name);

  /*
     Two that commute, A and c I + A A for instance: here multiples of each other, A and its double. C = a A
     2A + b C
  */
  if (l == s) {
    void *C, *D;

    PetscCall(PetscMalloc2(Number(real, s * s + 1), (char **)&C, Number(real, s * s + 1), (char **)&D));
    real->mirror(s, A);
    for (size_t i = 0; i < s * s; i++) {
      Put(real, C, i, 2.0 * Get(real, A, i));
      Put(real, D, i, i % s < i / s ? (double)NAN : 1.0);
    }
    real->product(s, a, A, C, b, D);
    for (size_t j = 0; j < s; j++) {
      for (size_t i = j; i < s; i++) {
        double sum = b, most = fabs(sum), unit = real->size == sizeof(float) ? ldexp(1.0, -24) : ldexp(1.0, -53);

        for (size_t k = 0; k < s; k++) {
          const double term = Rounded(real, Get(real, A, i + k * s)) * Rounded(real, Get(real, C, k + j * s));

          sum += a * term;
          most += fabs(a * term);
        }
        PetscCheck(fabs(Get(real, D, i + j * s) - sum) <= (integer == PETSC_TRUE ? 0.0 : (s + 8.0) * unit * most), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s product, s = %d: entry %d %d is %.17g, expected %.17g", real->name, (int)s, (int)i, (int)j,
                   Get(real, D, i + j * s), sum);
      }
    }
    PetscCall(PetscFree2(C, D));
  }
  PetscCall(PetscFree4(y, z, w, Y));
  PetscCall(PetscFree3(Z, A, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Entries of either precision and of sizes that the other one cannot hold, divided and brought back; padding
   stays
*/
static PetscErrorCode CheckMove(const MuonKernelReal *real, MuonPrecision precision, size_t m, size_t n, size_t pad)
{
  const size_t ld       = m + pad;
  const int    exponent = precision == MUON_DOUBLE ? 900 : 100;
  const double norm = 0.75, scale = 1.5, unit = PetscMax(ldexp(1.0, precision == MUON_DOUBLE ? -53 : -24), ldexp(1.0, real->size == sizeof(float) ? -24 : -53));
  double      *x;
  float       *single;
  void        *Y;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3(ld * n + 1, &x, ld * n + 1, &single, Number(real, ld * n + 1), (char **)&Y));
  for (int e = -exponent; e <= exponent; e += exponent) {
    for (size_t i = 0; i < ld * n; i++) {
      x[i]      = i % ld < m ? ldexp(Entry(PETSC_FALSE), e) : (double)NAN;
      single[i] = (float)x[i];
      Put(real, Y, i, (double)NAN);
    }
    real->load(m, n, precision, precision == MUON_DOUBLE ? (void *)x : (void *)single, ld, norm, e, Y, ld);
    for (size_t i = 0; i < ld * n; i++) {
      const double expected = ldexp(precision == MUON_DOUBLE ? x[i] : (double)single[i], -e) / norm, got = Get(real, Y, i);

      PetscCheck(i % ld < m ? fabs(got - expected) <= 4.0 * unit * fabs(expected) : got != got, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s load, 2^%d: entry %d is %.17g, expected %.17g", real->name, e, (int)i, got, expected);
    }
    real->store(m, n, scale, Y, ld, precision, precision == MUON_DOUBLE ? (void *)x : (void *)single, ld);
    for (size_t i = 0; i < ld * n; i++) {
      const double expected = scale * Get(real, Y, i), got = precision == MUON_DOUBLE ? x[i] : (double)single[i];

      PetscCheck(i % ld < m ? fabs(got - expected) <= 4.0 * unit * fabs(expected) : got != got, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s store: entry %d is %.17g, expected %.17g", real->name, (int)i, got, expected);
    }
  }
  PetscCall(PetscFree3(x, single, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const MuonKernelReal *const reals[]     = {&MuonKernelRealSingle, &MuonKernelRealDouble, MuonKernelRealBF16};
  static const size_t         shapes[][2] = {{0, 0}, {0, 3}, {1, 1}, {2, 0}, {1, 9}, {5, 5}, {33, 40}, {129, 129}, {150, 70}};
  char                        name[16]    = "single";

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-precision", name, sizeof(name), NULL));
  for (size_t r = 0; r < PETSC_STATIC_ARRAY_LENGTH(reals); r++) {
    PetscBool same = PETSC_FALSE, large = PETSC_FALSE;

    if (reals[r] != NULL) PetscCall(PetscStrcmp(reals[r]->name, name, &same));
    if (same == PETSC_FALSE) continue;
    if (reals[r] == MuonKernelRealBF16) {
      large = PETSC_TRUE;
      PetscCheck(MuonKernelBF16Usable(), PETSC_COMM_SELF, PETSC_ERR_PLIB, "oneDNN does not multiply bfloat16 matrices on this processor");
    }
    for (int left = 0; left < 2; left++) {
      for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
        for (int p = 0; p < 2; p++) PetscCall(CheckMove(reals[r], p > 0 ? MUON_DOUBLE : MUON_SINGLE, shapes[k][0], shapes[k][1], k % 3));
        for (int integer = 0; integer < 2; integer++) PetscCall(Check(reals[r], left, shapes[k][0], shapes[k][1], k % 3, integer ? PETSC_TRUE : PETSC_FALSE, k % 2 ? PETSC_TRUE : PETSC_FALSE));
      }
      /* So long that operands are rounded in strips. The sums stay below 2^24, hence exact */
      if (large == PETSC_TRUE) PetscCall(Check(reals[r], left, 130, 33000, 0, PETSC_TRUE, PETSC_FALSE));
    }
    if (large == PETSC_TRUE) {
      PetscCheck(MuonKernelBF16Bytes() > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No memory for rounded operands");
      /* More shapes than primitives are kept */
      for (size_t s = 1; s <= 50; s++) PetscCall(Check(reals[r], 1, s, s + 1, 0, PETSC_TRUE, PETSC_FALSE));
      PetscCall(Check(reals[r], 1, 7, 8, 0, PETSC_TRUE, PETSC_FALSE));
      /* After it is freed it starts anew */
      MuonKernelBF16Free();
      PetscCheck(MuonKernelBF16Bytes() == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d bytes are left", (int)MuonKernelBF16Bytes());
      PetscCall(Check(reals[r], 0, 33, 40, 1, PETSC_TRUE, PETSC_TRUE));
    }
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s\n", reals[r]->name));
  }
  MuonKernelBF16Free();
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  link: internal

  test:
    suffix: blas
    args: -precision {{single double}separate output}

  test:
    suffix: bf16
    requires: onednn
    env: OMP_NUM_THREADS=1
    args: -precision bf16

TEST*/
