#if !defined(REAL)
/*
   Norms of any magnitude, what one look at the entries tells, and the small operations of the polar kernels
   in both precisions
*/
  #include "kernels_common.h"
  #include "kernels/dense/muonpolarkernels.h"
  #include "kernels/dense/muonpolarreal.h"

enum {
  ROWS    = 13,
  COLUMNS = 7,
  LD      = 16
};

static double Get(const MuonKernelReal *real, const void *x, size_t i)
{
  return real->size == sizeof(float) ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

  #define TEST_FILE "kernels_norm.c"
  #include "kernels_twice.h"

int main(int argc, char **argv)
{
  uint64_t state = 7;

  TestColumn(argc, argv);
  CheckSingle(&state);
  CheckDouble(&state);
  printf("ok\n");
  return 0;
}

#else

static void REAL_NAME(Check)(uint64_t *state)
{
  const MuonKernelReal *const kinds[2] = {&MuonKernelRealSingle, &MuonKernelRealDouble};
  const int                   most     = IS_SINGLE ? 88 : 1000;
  REAL                        X[LD * COLUMNS], Q[LD * COLUMNS];
  double                      x[LD * COLUMNS], squares = 0;

  for (size_t i = 0; i < LD * COLUMNS; i++) {
    x[i] = i % LD < ROWS ? (double)(float)NextNormal(state) : 0;
    squares += x[i] * x[i];
  }
  for (int shift = -most; shift <= most; shift += most / 4) {
    const MuonPrecision precision = IS_SINGLE ? MUON_SINGLE : MUON_DOUBLE;
    double              norm;
    int                 exponent;

    /* Padding is NaN */
    for (size_t i = 0; i < LD * COLUMNS; i++) X[i] = i % LD < ROWS ? (REAL)ldexp(x[i], shift) : (REAL)NAN;
    norm = KERNELS->Norm(ROWS, COLUMNS, X, LD, &exponent);
    Check(fabs(ldexp(norm, exponent - shift) - sqrt(squares)) <= 100 * DBL_EPSILON * sqrt(squares), "norm of 2^%d X: %g 2^%d", shift, norm, exponent);
    Check(KERNELS->IsOrdinary(ROWS, COLUMNS, X, LD) == (IS_SINGLE || abs(shift) <= most / 4), "2^%d X", shift);
    for (int k = 0; k < 2; k++) {
      const MuonKernelReal *real = kinds[k];
      double                Y[ROWS * COLUMNS], sums[COLUMNS], d[ROWS], A[COLUMNS * COLUMNS], sum = 0;

      /*
         Divided by the norm in double, then rounded: an entry of any magnitude arrives with the roundoff of
         the kernel, and goes back
      */
      real->load(ROWS, COLUMNS, precision, X, LD, norm, exponent, Y, ROWS);
      for (size_t j = 0; j < COLUMNS; j++) {
        for (size_t i = 0; i < ROWS; i++) {
          const double expected = x[i + j * LD] / sqrt(squares);

          Check(fabs(Get(real, Y, i + j * ROWS) - expected) <= (real->unit + 100 * DBL_EPSILON) * fabs(expected), "load of 2^%d X as %s", shift, real->name);
          sum += Get(real, Y, i + j * ROWS) * Get(real, Y, i + j * ROWS);
        }
      }
      Check(fabs(real->arrays->SumSquares(ROWS, COLUMNS, Y, ROWS) - sum) <= 100 * DBL_EPSILON && fabs(sum - 1) <= 4 * real->unit + 200 * DBL_EPSILON, "the squares as %s add up to %.17g", real->name, sum);
      for (size_t i = 0; i < LD * COLUMNS; i++) Q[i] = 7;
      real->store(ROWS, COLUMNS, 4, Y, ROWS, precision, Q, LD);
      for (size_t i = 0; i < LD * COLUMNS; i++) Check(Q[i] == (i % LD < ROWS ? (REAL)(4 * Get(real, Y, i % LD + i / LD * ROWS)) : 7), "store of entry %d", (int)i);

      /* diag(d) on the short side, for either layout, by powers of two; row sums of a triangle */
      for (size_t i = 0; i < ROWS; i++) d[i] = ldexp(1.0, (int)i % 5 - 2);
      real->scale(1, ROWS, COLUMNS, d, Y, ROWS);
      real->scale(0, COLUMNS, ROWS, d, Y, ROWS);
      for (size_t i = 0; i < ROWS * COLUMNS; i++) Check(Get(real, Y, i) * 4 == (double)Q[i % ROWS + i / ROWS * LD] * d[i % ROWS] * d[i / ROWS] || sizeof(REAL) < real->size, "scale of entry %d", (int)i);
      for (size_t i = 0; i < COLUMNS * COLUMNS; i++) {
        const double a = i % COLUMNS < i / COLUMNS ? (double)NAN : (double)((i * 7) % 11) - 5;

        if (real->size == sizeof(float)) ((float *)A)[i] = (float)a;
        else A[i] = a;
      }
      real->shift(COLUMNS, 100, A);
      real->rowsums(COLUMNS, A, sums);
      for (size_t i = 0; i < COLUMNS; i++) {
        double expected = 0;

        for (size_t j = 0; j < COLUMNS; j++) expected += i == j ? fabs((double)((i * (COLUMNS + 1) * 7) % 11) - 5 + 100) : fabs((double)(((i > j ? i + j * COLUMNS : j + i * COLUMNS) * 7) % 11) - 5);
        Check(sums[i] == expected, "row %d adds up to %g as %s, expected %g", (int)i, sums[i], real->name, expected);
      }
    }
  }

  /* Zero, nothing, NaN and Inf */
  for (size_t i = 0; i < LD * COLUMNS; i++) X[i] = 0;
  for (int kind = 0; kind < 3; kind++) {
    int exponent;

    Check(KERNELS->IsOrdinary(ROWS, COLUMNS, X, LD) == 0 && KERNELS->IsOrdinary(0, COLUMNS, X, LD) == 0, "kind %d", kind);
    if (kind == 0) Check(KERNELS->Norm(ROWS, COLUMNS, X, LD, &exponent) == 0 && KERNELS->Norm(0, COLUMNS, X, 1, &exponent) == 0 && exponent == 0, "norm of zero");
    X[5 + 3 * LD] = kind == 0 ? (REAL)NAN : (REAL)INFINITY;
    X[0]          = 1;
  }
}
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
