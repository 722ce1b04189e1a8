#if !defined(REAL)
/*
   Products in panels are the products: with entries that are small integers every sum is exact, whatever its
   order, and so is the product that the BLAS makes in one piece. Whoever looks in between is called often
   enough, and changes no bit. The same by oneDNN, whatever the BLAS and the processor are.
*/
  #include <kernels/dense/muonpanels.h>
  #include "check_common.h"

static long looks;

static void Look(void *ctx)
{
  (void)ctx;
  looks++;
}

/*
   Panels have at most 2^29 operations, or 256 x 256 x 1100 where a side is long, and somebody looks at the
   first end of one after 2^27: at least once in the sum of both
*/
static void CheckLooks(double flops, int line)
{
  Check((double)looks >= flops / (134217728.0 + 805306368.0) - 1 && (double)looks <= flops / 134217728.0, "%ld looks in %g operations, from line %d", looks, flops, line);
  looks = 0;
}

  #define TWICE "../../../tests/kernels_panels.c"
  #include "kernels/array/muontwice.h"

/* Processors with vectors of 256 and 512 bits, and one that says nothing */
static void CheckRemedies(void)
{
  static const struct {
    const char *core, *remedy[3];
    int         bits;
  } rows[] = {{"Prescott", {NULL, "Haswell", "SkylakeX"}, 128},
              {"Sandybridge", {NULL, "Haswell", "SkylakeX"}, 128},
              {"Haswell", {NULL, NULL, "SkylakeX"}, 256},
              {"Zen", {NULL, NULL, "SkylakeX"}, 256},
              {"SkylakeX", {NULL, NULL, NULL}, 512},
              {"Cooperlake", {NULL, NULL, NULL}, 512},
              {"neoversen1", {NULL, NULL, NULL}, 0}};

  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    for (int p = 0; p < 3; p++) {
      int         bits;
      const char *remedy = MuonKernelBLASRemedy(rows[i].core, 256 * p, &bits), *want = rows[i].remedy[p];

      Check(bits == rows[i].bits && (want == NULL ? remedy == NULL : remedy != NULL && strcmp(remedy, want) == 0), "%s on %d bits: %s, %d bits", rows[i].core, 256 * p, remedy != NULL ? remedy : "none", bits);
    }
  }
}

int main(void)
{
  MuonKernelBLAS blas;

  CheckRemedies();
  MuonKernelProductsSet(MUON_PRODUCTS_BLAS);
  CheckSingle();
  CheckDouble();
  if (MuonKernelProductsSet(MUON_PRODUCTS_ONEDNN) == 0) {
    MuonKernelBLASGet(&blas);
    Check(blas.onednn, "oneDNN multiplies");
    CheckSingle();
  }
  return 0;
}

#else

/* From -2 to 2 */
static REAL *REAL_NAME(Integers)(size_t count, unsigned seed)
{
  REAL *x = (REAL *)Allocate(count * sizeof(REAL));

  for (size_t i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    x[i] = (REAL)((int)(seed >> 16) % 5 - 2);
  }
  return x;
}

/* Differences in an m x n result, or in its lower triangle */
static size_t REAL_NAME(Differ)(int lower, MuonBLASInt m, MuonBLASInt n, const REAL *x, const REAL *y, MuonBLASInt ld)
{
  size_t differ = 0;

  for (MuonBLASInt j = 0; j < n; j++) {
    for (MuonBLASInt i = lower ? j : 0; i < m; i++) differ += x[i + (size_t)j * (size_t)ld] != y[i + (size_t)j * (size_t)ld];
  }
  return differ;
}

static void REAL_NAME(Check)(void)
{
  enum {
    LD = 1403
  };
  const REAL        a = 2, b[] = {0, -1};
  const MuonBLASInt ld = LD, sizes[][3] = {{30, 20, 10}, {700, 500, 900}, {500, 1100, 700}, {1101, 300, 650}, {1100, 1100, 300}};
  const char *const letters[] = {"N", "T", "L", "R"};
  const size_t      entries   = (size_t)LD * LD;
  REAL             *A = REAL_NAME(Integers)(entries, 1), *B = REAL_NAME(Integers)(entries, 2), *C = REAL_NAME(Integers)(entries, 3), *X = (REAL *)Allocate(entries * sizeof(REAL)), *Y = (REAL *)Allocate(entries * sizeof(REAL));
  REAL             *L = (REAL *)Allocate(entries * sizeof(REAL));

  /* A triangle whose solutions are integers too: the identity with a first column and a last row */
  for (size_t i = 0; i < entries; i++) L[i] = i % (LD + 1) == 0;
  for (size_t i = 1; i < LD; i++) L[i] = A[i];
  for (int c = 0; c < 5; c++) {
    const MuonBLASInt m = sizes[c][0], n = sizes[c][1], k = sizes[c][2];

    for (int choice = c % 2; choice < 4; choice += c == 0 ? 1 : 2 + c % 2) {
      const char *one = letters[choice % 2], *two = letters[choice / 2], *side = letters[2 + choice % 2];
      const REAL *beta = &b[choice / 2];

      memcpy(X, C, entries * sizeof(REAL));
      memcpy(Y, C, entries * sizeof(REAL));
      REAL_GEMM(one, two, &m, &n, &k, &a, A, &ld, B, &ld, beta, X, &ld);
      looks = 0;
      MuonKernelSetProgress(Look, NULL);
      REAL_NAME(MuonPanelGemm)(one, two, &m, &n, &k, &a, A, &ld, B, &ld, beta, Y, &ld);
      Check(REAL_NAME(Differ)(0, LD, LD, X, Y, ld) == 0, "%s %s %d x %d x %d", one, two, (int)m, (int)n, (int)k);
      CheckLooks(2.0 * m * n * k, __LINE__);

      REAL_SYRK("L", one, &m, &k, &a, A, &ld, beta, X, &ld);
      REAL_NAME(MuonPanelSyrk)(one, &m, &k, &a, A, &ld, beta, Y, &ld);
      Check(REAL_NAME(Differ)(1, m, m, X, Y, ld) == 0, "SYRK %s %d, %d", one, (int)m, (int)k);

      /* The lower triangle of a general product, whose upper one nobody looks at */
      memcpy(X, C, entries * sizeof(REAL));
      memcpy(Y, C, entries * sizeof(REAL));
      REAL_GEMM("N", "N", &m, &m, &k, &a, A, &ld, B, &ld, beta, X, &ld);
      REAL_NAME(MuonPanelLower)(&m, &k, &a, A, &ld, B, &ld, beta, Y, &ld);
      Check(REAL_NAME(Differ)(1, m, m, X, Y, ld) == 0, "lower triangle %d, %d", (int)m, (int)k);

      memcpy(X, B, entries * sizeof(REAL));
      memcpy(Y, B, entries * sizeof(REAL));
      REAL_TRMM(side, "L", two, "N", &m, &n, &a, A, &ld, X, &ld);
      REAL_NAME(MuonPanelTrmm)(side, two, &m, &n, &a, A, &ld, Y, &ld);
      Check(REAL_NAME(Differ)(0, LD, LD, X, Y, ld) == 0, "TRMM %s %s %d, %d", side, two, (int)m, (int)n);

      memcpy(X, B, entries * sizeof(REAL));
      memcpy(Y, B, entries * sizeof(REAL));
      REAL_TRSM(side, "L", two, "N", &m, &n, &a, L, &ld, X, &ld);
      REAL_NAME(MuonPanelTrsm)(side, two, &m, &n, &a, L, &ld, Y, &ld);
      Check(REAL_NAME(Differ)(0, LD, LD, X, Y, ld) == 0, "TRSM %s %s %d, %d", side, two, (int)m, (int)n);
      MuonKernelSetProgress(NULL, NULL);
    }
  }

  /* Numbers that are rounded: the same bits whether somebody looks or not */
  for (size_t i = 0; i < entries; i++) A[i] += (REAL)(i % 1009) / 1009;
  for (int c = 1; c < 5; c++) {
    const MuonBLASInt m = sizes[c][0], n = sizes[c][1];

    for (int look = 0; look < 2; look++) {
      looks = 0;
      MuonKernelSetProgress(look ? Look : NULL, NULL);
      memcpy(look ? Y : X, C, entries * sizeof(REAL));
      REAL_NAME(MuonPanelGemm)("N", "N", &m, &n, &m, &a, A, &ld, A, &ld, &b[1], look ? Y : X, &ld);
      MuonKernelSetProgress(NULL, NULL);
      Check((looks > 0) == look, "%ld looks", looks);
    }
    Check(memcmp(X, Y, entries * sizeof(REAL)) == 0, "a product depends on who looks");
  }
  FreeFrom(0);
}
#endif

/*TEST

  link: internal

  test:
    nsize: 0

TEST*/
