#if !defined(REAL)
/*
   The kernels of matrices of few columns against what they are defined by: products, orthonormal columns of
   the same span, and the rotation that makes columns orthogonal, sorted by their lengths.
*/
  #include "kernels_common.h"

  #define TEST_FILE "kernels_factors.c"
  #define TEST_SEED 17
  #include "kernels_twice.h"

#else

static REAL *REAL_NAME(Create)(size_t entries, uint64_t *state)
{
  REAL *x = (REAL *)Allocate(entries * sizeof(*x));

  for (size_t k = 0; k < entries; k++) x[k] = (REAL)NextNormal(state);
  return x;
}

/* Entry (i, j) of op(A), in double */
static double REAL_NAME(Entry)(const REAL *A, size_t lda, int trans, size_t i, size_t j)
{
  return trans ? (double)A[j + i * lda] : (double)A[i + j * lda];
}

static void REAL_NAME(CheckMultiply)(size_t m, size_t n, size_t k, uint64_t *state)
{
  static const double factors[][2] = {{1, 0}, {-0.3, 0}, {1, 1}, {0.7, -2}};

  for (int t = 0; t < 4; t++) {
    const int    transa = t / 2, transb = t % 2;
    const size_t lda = (transa ? k : m) + 1, ldb = (transb ? n : k) + 2, ldy = m + 3;
    REAL        *A = REAL_NAME(Create)(lda * (transa ? m : k), state), *B = REAL_NAME(Create)(ldb * (transb ? k : n), state), *Y = (REAL *)Allocate(ldy * n * sizeof(*Y)), *Z = REAL_NAME(Create)(ldy * n, state);

    for (size_t c = 0; c < sizeof(factors) / sizeof(factors[0]); c++) {
      const double a = (double)(REAL)factors[c][0], b = (double)(REAL)factors[c][1];

      /* What is overwritten is not read */
      for (size_t e = 0; e < ldy * n; e++) Y[e] = b == 0 ? (REAL)NAN : Z[e];
      KERNELS->Multiply(transa, transb, m, n, k, factors[c][0], A, lda, B, ldb, factors[c][1], Y, ldy);
      for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i < m; i++) {
          double sum = 0, size = 0;

          for (size_t l = 0; l < k; l++) {
            const double product = REAL_NAME(Entry)(A, lda, transa, i, l) * REAL_NAME(Entry)(B, ldb, transb, l, j);

            sum += product;
            size += fabs(product);
          }
          sum  = a * sum + (b == 0 ? 0 : b * (double)Z[i + j * ldy]);
          size = fabs(a) * size + fabs(b * (double)Z[i + j * ldy]);
          Check(fabs((double)Y[i + j * ldy] - sum) <= (double)(k + 3) * REAL_EPSILON * size, "entry %d, %d of a product of %d x %d x %d is %g, expected %g", (int)i, (int)j, (int)m, (int)k, (int)n, (double)Y[i + j * ldy], sum);
        }
        for (size_t i = m; i < ldy; i++) Check(b == 0 ? Y[i + j * ldy] != Y[i + j * ldy] : Y[i + j * ldy] == Z[i + j * ldy], "a product wrote between the lines");
      }
    }
    free(A);
    free(B);
    free(Y);
    free(Z);
  }
}

/*
   Columns of length 1 and orthogonal, so many roundings away, also where the matrix has not as many
   directions; what it had is in their span
*/
static void REAL_NAME(CheckOrthonormalize)(size_t m, size_t l, int deficient, uint64_t *state)
{
  const double tolerance = 10 * (double)m * REAL_EPSILON;
  REAL        *P = REAL_NAME(Create)(m * l, state), *Q = (REAL *)Allocate(m * l * sizeof(*Q)), *work;
  size_t       entries = 0;

  for (size_t i = 0; i < m && deficient; i++) P[i + (l - 1) * m] = l > 1 ? P[i] : 0;
  memcpy(Q, P, m * l * sizeof(*Q));
  Check(KERNELS->Orthonormalize(m, l, Q, &entries, NULL) == 0 && entries > 0, "%d entries of work", (int)entries);
  Check(memcmp(P, Q, m * l * sizeof(*Q)) == 0, "a question wrote something");
  work = (REAL *)Allocate(entries * sizeof(*work));
  Check(KERNELS->Orthonormalize(m, l, Q, &entries, work) == 0, "%d x %d", (int)m, (int)l);
  for (size_t a = 0; a < l; a++) {
    for (size_t b = 0; b < l; b++) {
      double product = 0;

      for (size_t i = 0; i < m; i++) product += (double)Q[i + a * m] * (double)Q[i + b * m];
      Check(fabs(product - (a == b)) <= tolerance, "columns %d and %d of %d x %d: %g", (int)a, (int)b, (int)m, (int)l, product);
    }
  }
  for (size_t k = 0; k < l; k++) {
    double left = 0, all = 0;

    for (size_t i = 0; i < m; i++) {
      double x = (double)P[i + k * m];

      all += x * x;
      for (size_t a = 0; a < l; a++) {
        double product = 0;

        for (size_t r = 0; r < m; r++) product += (double)Q[r + a * m] * (double)P[r + k * m];
        x -= product * (double)Q[i + a * m];
      }
      left += x * x;
    }
    Check(sqrt(left) <= (double)(l + 1) * tolerance * sqrt(all), "column %d of %d x %d: %g of %g are not in the span", (int)k, (int)m, (int)l, sqrt(left), sqrt(all));
  }
  free(P);
  free(Q);
  free(work);
}

static void REAL_NAME(CheckRotation)(size_t n, size_t l, uint64_t *state)
{
  REAL  *V = REAL_NAME(Create)(n * l, state), *X = (REAL *)Allocate(n * l * sizeof(*X)), *WT = REAL_NAME(Create)(l * l, state), *S = REAL_NAME(Create)(l, state), *work;
  double tolerance = 20 * (double)(n + l) * REAL_EPSILON, largest;
  size_t entries   = 0;

  memcpy(X, V, n * l * sizeof(*X));
  Check(KERNELS->Rotation(n, l, X, WT, S, &entries, NULL) == 0 && entries > 0, "%d entries of work", (int)entries);
  Check(memcmp(X, V, n * l * sizeof(*X)) == 0, "a question wrote something");
  work = (REAL *)Allocate(entries * sizeof(*work));
  Check(KERNELS->Rotation(n, l, X, WT, S, &entries, work) == 0, "%d x %d", (int)n, (int)l);
  largest = (double)S[0];
  for (size_t a = 0; a < l; a++) {
    Check(S[a] >= 0 && (a == 0 || S[a] <= S[a - 1]), "lengths are not sorted");
    for (size_t b = 0; b < l; b++) {
      double rows = 0, columns = 0;

      for (size_t k = 0; k < l; k++) rows += (double)WT[a + k * l] * (double)WT[b + k * l];
      Check(fabs(rows - (a == b)) <= tolerance, "rows %d and %d of a rotation: %g", (int)a, (int)b, rows);
      /* Columns of V W */
      for (size_t i = 0; i < n; i++) {
        double x = 0, y = 0;

        for (size_t k = 0; k < l; k++) {
          x += (double)V[i + k * n] * (double)WT[a + k * l];
          y += (double)V[i + k * n] * (double)WT[b + k * l];
        }
        columns += x * y;
      }
      Check(fabs(columns - (a == b ? (double)S[a] * (double)S[a] : 0)) <= tolerance * largest * largest, "columns %d and %d of %d x %d: %g", (int)a, (int)b, (int)n, (int)l, columns);
    }
  }
  free(V);
  free(X);
  free(WT);
  free(S);
  free(work);
}

static void REAL_NAME(Check)(uint64_t *state)
{
  static const size_t sizes[][3] = {{1, 1, 1}, {7, 5, 3}, {3, 40, 2}, {33, 17, 8}, {64, 1, 9}, {1, 12, 4}, {0, 3, 2}, {3, 0, 2}};
  static const size_t tall[][2]  = {{1, 1}, {5, 5}, {9, 2}, {40, 7}, {130, 1}, {64, 33}};

  for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) REAL_NAME(CheckMultiply)(sizes[s][0], sizes[s][1], sizes[s][2], state);
  for (size_t s = 0; s < sizeof(tall) / sizeof(tall[0]); s++) {
    REAL_NAME(CheckOrthonormalize)(tall[s][0], tall[s][1], 0, state);
    REAL_NAME(CheckOrthonormalize)(tall[s][0], tall[s][1], 1, state);
    REAL_NAME(CheckRotation)(tall[s][0], tall[s][1], state);
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
