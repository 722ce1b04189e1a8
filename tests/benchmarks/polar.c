static char help[] = "Times every method for the polar factor beside the matrix products of the same BLAS and the function of torch.optim.Muon, all measured in the same run.\n\n"
                     "  ./polar\n"
                     "  ./polar -benchmark_shapes 768x768,768x3072 -benchmark_methods zolotarev,kj -benchmark_csv polar.csv\n"
                     "  ./polar -lmo_polar_type zolotarev -lmo_polar_tolerance 0.05\n\n"
                     "-lmo_polar_type adds a row called options with the keys of the command line. With several ranks the rows of each matrix are cut over them.\n\n";

#include <kernels/dense/muonpolarreal.h>
#include "benchmark_common.h"
#include "../polar_common.h"

#define MAX_SHAPES  32
#define MAX_METHODS 64
#define MAX_SIZES   8
/* Times that a product is measured before the methods of a shape, and again after them */
#define REPETITIONS 3
#define PRECISIONS  3

PETSC_EXTERN void MUON_BLAS(d, syrk, SYRK)(const char *, const char *, const MuonBLASInt *, const MuonBLASInt *, const double *, const double *, const MuonBLASInt *, const double *, double *, const MuonBLASInt *);
PETSC_EXTERN void MUON_BLAS(d, syev, SYEV)(const char *, const char *, const MuonBLASInt *, double *, const MuonBLASInt *, double *, double *, const MuonBLASInt *, MuonBLASInt *);
PETSC_EXTERN void MUON_BLAS(d, gesdd, GESDD)(const char *, const MuonBLASInt *, const MuonBLASInt *, double *, const MuonBLASInt *, double *, double *, const MuonBLASInt *, double *, const MuonBLASInt *, double *, const MuonBLASInt *, MuonBLASInt *,
                                             MuonBLASInt *);
PETSC_EXTERN void MUON_BLAS(d, geqrf, GEQRF)(const MuonBLASInt *, const MuonBLASInt *, double *, const MuonBLASInt *, double *, double *, const MuonBLASInt *, MuonBLASInt *);
PETSC_EXTERN void MUON_BLAS(d, orgqr, ORGQR)(const MuonBLASInt *, const MuonBLASInt *, const MuonBLASInt *, double *, const MuonBLASInt *, const double *, double *, const MuonBLASInt *, MuonBLASInt *);

typedef struct {
  const char *name;
  char        line[96]; /* as TestTune() has lines; that of the row of the command line is empty */
} Method;

/* A type of the list that has no line here gets one with its defaults; the last is made where it is asked for */
#define SLOW MUONPOLARSVD
static const Method methods[] = {{"zolotarev-2", "type zolotarev zolotarev_poles 2"},
                                 {"zolotarev-3", "type zolotarev zolotarev_poles 3"},
                                 {"zolotarev-4", "type zolotarev zolotarev_poles 4"},
                                 {"zolotarev-3-bf16", "type zolotarev zolotarev_poles 3 zolotarev_interval 3e-3 precision bf16"},
                                 {"zolotarev-4-bf16", "type zolotarev zolotarev_poles 4 precision bf16"},
                                 {"zolotarev-4-double", "type zolotarev zolotarev_poles 4 precision double"},
                                 {"zolotarev-7", "type zolotarev zolotarev_poles 7 zolotarev_interval 3e-3 precision double"},
                                 {"kj", "type newtonschulz coefficients kj precision single"},
                                 {"kj-double", "type newtonschulz coefficients kj precision double"},
                                 {"kj-bf16", "type newtonschulz coefficients kj precision bf16"},
                                 {"polarexpress", "type newtonschulz coefficients polarexpress precision single"},
                                 {"polarexpress-bf16", "type newtonschulz coefficients polarexpress precision bf16"},
                                 {"gram", "type gram"},
                                 {"gram-kj", "type gram coefficients kj"},
                                 {"gram-bf16", "type gram precision bf16"},
                                 {"qdwh", "type qdwh"},
                                 {"svd", "type svd"}};

typedef enum {
  SPECTRUM_GAUSSIAN,
  SPECTRUM_HARMONIC,
  SPECTRUM_GEOMETRIC,
  SPECTRUM_DECADES,
  SPECTRUM_SPIKES
} Spectrum;
static const char *const Spectra[] = {"gaussian", "harmonic", "geometric", "decades", "spikes", "Spectrum", "SPECTRUM_", NULL};

typedef struct {
  PetscInt nshapes, shape[MAX_SHAPES][2];
  PetscInt nmethods;
  Method   method[MAX_METHODS];
  PetscInt nsizes, size[MAX_SIZES];
  PetscInt repetitions, threads;
  Spectrum spectrum;
  char     csv[PETSC_MAX_PATH_LEN], torch[PETSC_MAX_PATH_LEN], oracle[PETSC_MAX_PATH_LEN];
} Plan;

/* A row of the table; seconds is 0 where there is nothing to say but the note */
typedef struct {
  char               name[32];
  MuonPolarPrecision precision;
  PetscLogDouble     seconds, best;   /* median and least of the repetitions */
  PetscLogDouble     flops, promised; /* as the library logged them in one call, for a matrix on several ranks what MuonPolarGetFlops() says, and what it says */
  PetscLogDouble     products;        /* operations a second of a product in that precision */
  double             gap, largest, smallest;
  char               note[128];
} Row;

/* The matrix of the moment, and the exact answer */
typedef struct {
  PetscInt       m, n, nrows;
  double        *G, *Q; /* whole, on every rank; the entries of G are singles, so that torch gets the same */
  TestInput      A, B;
  double         nuclear;
  PetscLogDouble products[PRECISIONS];
  Row            row[MAX_METHODS + 2];
} Problem;

static void ProductBF16(size_t bytes, PetscInt m, PetscInt k, PetscInt n, const void *A, const void *B, void *C)
{
  MuonKernelRealOfBF16()->multiply(1, (size_t)k, (size_t)n, 1, 1.0, A, NULL, B, (size_t)k, 0.0, C, (size_t)k);
}

/* Operations a second, of all ranks together, of C (m x n) = A (m x k) B; bf16 has symmetric A only */
static PetscErrorCode MeasureProduct(MuonPolarPrecision precision, PetscInt m, PetscInt k, PetscInt n, PetscLogDouble *rate)
{
  PetscFunctionBeginUser;
  PetscCall(MeasureProducts(precision == MUON_POLAR_PRECISION_BF16 ? ProductBF16 : Gemm, precision == MUON_POLAR_PRECISION_DOUBLE ? sizeof(double) : sizeof(float), m, k, n, REPETITIONS, rate));
  *rate *= size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The best of squares and of the two products that the matrix has with its short side; better of before and after the methods */
static PetscErrorCode MeasureAllProducts(const Plan *plan, Problem *problem, const PetscBool used[])
{
  const PetscInt s = PetscMin(problem->m, problem->n), l = PetscMax(problem->m, problem->n);

  PetscFunctionBeginUser;
  for (int p = 0; p < PRECISIONS; p++) {
    PetscLogDouble rate;

    if (used[p] == PETSC_FALSE) continue;
    for (PetscInt i = 0; i < plan->nsizes; i++) {
      PetscCall(MeasureProduct((MuonPolarPrecision)p, plan->size[i], plan->size[i], plan->size[i], &rate));
      problem->products[p] = PetscMax(problem->products[p], rate);
    }
    PetscCall(MeasureProduct((MuonPolarPrecision)p, s, s, l, &rate));
    problem->products[p] = PetscMax(problem->products[p], rate);
    if (p == MUON_POLAR_PRECISION_BF16) continue;
    PetscCall(MeasureProduct((MuonPolarPrecision)p, s, l, s, &rate));
    problem->products[p] = PetscMax(problem->products[p], rate);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* k <= m orthonormal columns */
static PetscErrorCode Orthonormal(PetscInt m, PetscInt k, double *Q)
{
  MuonBLASInt bm = (MuonBLASInt)m, bk = (MuonBLASInt)k, lwork = 64 * bk, info;
  double     *tau, *work;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < m * k; i++) Q[i] = TestGaussian();
  PetscCall(PetscMalloc2(k, &tau, lwork, &work));
  MUON_BLAS(d, geqrf, GEQRF)(&bm, &bk, Q, &bm, tau, work, &lwork, &info);
  PetscCheck(info == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "geqrf: %d", (int)info);
  MUON_BLAS(d, orgqr, ORGQR)(&bm, &bk, &bk, Q, &bm, tau, work, &lwork, &info);
  PetscCheck(info == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "orgqr: %d", (int)info);
  PetscCall(PetscFree2(tau, work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillMatrix(const Plan *plan, Problem *problem)
{
  const PetscInt m = problem->m, n = problem->n, s = PetscMin(m, n);

  PetscFunctionBeginUser;
  if (plan->spectrum == SPECTRUM_GAUSSIAN) {
    for (PetscInt i = 0; i < m * n; i++) problem->G[i] = TestGaussian();
  } else {
    const MuonBLASInt bm = (MuonBLASInt)m, bn = (MuonBLASInt)n, bs = (MuonBLASInt)s;
    const double      one = 1, zero = 0;
    double           *U, *V;

    PetscCall(PetscMalloc2(m * s, &U, n * s, &V));
    PetscCall(Orthonormal(m, s, U));
    PetscCall(Orthonormal(n, s, V));
    for (PetscInt j = 0; j < s; j++) {
      const double smallest = plan->spectrum == SPECTRUM_DECADES ? 1e-3 : 1e-6;
      double       sigma    = pow(smallest, s > 1 ? (double)j / (double)(s - 1) : 0.0);

      if (plan->spectrum == SPECTRUM_HARMONIC) sigma = 1.0 / (double)(j + 1);
      else if (plan->spectrum == SPECTRUM_SPIKES) sigma = j < 40 ? 1.0 : 0.002;

      for (PetscInt i = 0; i < m; i++) U[i + j * m] *= sigma;
    }
    MUON_BLAS(d, gemm, GEMM)("N", "T", &bm, &bn, &bs, &one, U, &bm, V, &bn, &zero, problem->G, &bm);
    PetscCall(PetscFree2(U, V));
  }
  for (PetscInt i = 0; i < m * n; i++) problem->G[i] = (double)(float)problem->G[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sum of the singular values, by a singular value decomposition in double */
static PetscErrorCode NuclearNorm(PetscInt m, PetscInt n, const double *G, double *nuclear)
{
  MuonBLASInt bm = (MuonBLASInt)m, bn = (MuonBLASInt)n, one = 1, lwork = -1, info, *iwork;
  PetscInt    s = PetscMin(m, n);
  double     *copy, *sigma, *work, size, none = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3(m * n, &copy, s, &sigma, 8 * s, &iwork));
  PetscCall(PetscArraycpy(copy, G, m * n));
  MUON_BLAS(d, gesdd, GESDD)("N", &bm, &bn, copy, &bm, sigma, &none, &one, &none, &one, &size, &lwork, iwork, &info);
  lwork = (MuonBLASInt)size;
  PetscCall(PetscMalloc1(lwork, &work));
  MUON_BLAS(d, gesdd, GESDD)("N", &bm, &bn, copy, &bm, sigma, &none, &one, &none, &one, work, &lwork, iwork, &info);
  PetscCheck(info == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "gesdd: %d", (int)info);
  *nuclear = 0;
  for (PetscInt i = s - 1; i >= 0; i--) *nuclear += sigma[i];
  PetscCall(PetscFree(work));
  PetscCall(PetscFree3(copy, sigma, iwork));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What <G,Q> lacks of the nuclear norm, and the extreme singular values of Q by the eigenvalues of its Gram
   matrix: good to 1e-8, which is enough for a table
*/
static PetscErrorCode Judge(const Problem *problem, Row *row)
{
  const PetscInt m = problem->m, n = problem->n, s = PetscMin(m, n);
  MuonBLASInt    bm = (MuonBLASInt)m, bs = (MuonBLASInt)s, bl = (MuonBLASInt)PetscMax(m, n), lwork = 64 * bs, info;
  const double   one = 1, zero = 0;
  double        *gram, *lambda, *work, dot = 0;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < m * n; i++) dot += problem->G[i] * problem->Q[i];
  row->gap = 1 - dot / problem->nuclear;
  PetscCall(PetscMalloc3(s * s, &gram, s, &lambda, lwork, &work));
  MUON_BLAS(d, syrk, SYRK)("L", m <= n ? "N" : "T", &bs, &bl, &one, problem->Q, &bm, &zero, gram, &bs);
  MUON_BLAS(d, syev, SYEV)("N", "L", &bs, gram, &bs, lambda, work, &lwork, &info);
  PetscCheck(info == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "syev: %d", (int)info);
  row->smallest = sqrt(PetscMax(lambda[0], 0.0));
  row->largest  = sqrt(PetscMax(lambda[s - 1], 0.0));
  PetscCall(PetscFree3(gram, lambda, work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An object with what the line says and nothing else, so that no row depends on the command line but that called options */
static PetscErrorCode CreatePolar(const Method *method, MuonPolar *polar)
{
  PetscFunctionBeginUser;
  if (method->line[0] == '\0') PetscCall(TestMake(PETSC_COMM_WORLD, "", polar));
  else {
    PetscCall(MuonPolarCreate(PETSC_COMM_WORLD, polar));
    PetscCall(TestTune(*polar, "%s", method->line));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Dump(const Plan *plan, const Problem *problem, PetscInt shape, const Row *row)
{
  char       name[64];
  TestOracle oracle;

  PetscFunctionBeginUser;
  if (plan->oracle[0] == '\0' || rank > 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSNPrintf(name, sizeof(name), "%s-", row != NULL ? row->name : "G"));
  PetscCall(PetscMemzero(&oracle, sizeof(oracle)));
  PetscCall(PetscStrncpy(oracle.folder, plan->oracle, sizeof(oracle.folder)));
  oracle.count = (int)shape;
  PetscCall(TestOracleWrite(&oracle, name, "f64", row != NULL ? problem->Q : problem->G, (size_t)(problem->m * problem->n) * sizeof(double)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TimeMethod(const Plan *plan, PetscInt shape, Problem *problem, const Method *method)
{
  Row           *row = &problem->row[problem->nrows++];
  MuonPolar      polar;
  MuonStatus     status;
  PetscReal     *times;
  PetscLogDouble before, after;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(row, sizeof(*row)));
  PetscCall(PetscStrncpy(row->name, method->name, sizeof(row->name)));
  PetscCall(CreatePolar(method, &polar));
  PetscCall(MuonPolarGetPrecision(polar, &row->precision));
  PetscCall(MuonPolarGetFlops(polar, problem->m, problem->n, &row->promised));
  PetscCall(PetscMalloc1(plan->repetitions, &times));
  TIME(plan->repetitions, times, &row->seconds, PetscCall(PetscGetFlops(&before)); PetscCall(MuonPolarApply(polar, problem->A.mat, problem->B.mat, &status)));
  PetscCall(PetscGetFlops(&after));
  row->flops = size == 1 ? after - before : row->promised;
  if (status == MUON_STATUS_OK) {
    row->best     = (PetscLogDouble)times[0];
    row->products = problem->products[row->precision];
    PetscCall(TestGet(&problem->B, problem->Q));
    PetscCall(Judge(problem, row));
    PetscCall(Dump(plan, problem, shape, row));
  } else {
    row->seconds = 0;
    PetscCall(PetscSNPrintf(row->note, sizeof(row->note), "failed: %s", MuonStatuses[status]));
  }
  PetscCall(PetscFree(times));
  PetscCall(MuonPolarDestroy(&polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x to a file of singles, or from it */
static PetscErrorCode MoveSingles(PetscBool write, const char path[], PetscInt count, double *x)
{
  FILE  *file = fopen(path, write ? "wb" : "rb");
  float *s;
  size_t moved;

  PetscFunctionBeginUser;
  PetscCheck(file != NULL, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot open %s", path);
  PetscCall(PetscMalloc1(count, &s));
  for (PetscInt i = 0; i < count; i++) s[i] = (float)x[i];
  moved = write ? fwrite(s, sizeof(float), (size_t)count, file) : fread(s, sizeof(float), (size_t)count, file);
  PetscCheck(fclose(file) == 0 && moved == (size_t)count, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "%zu of %" PetscInt_FMT " numbers of %s", moved, count, path);
  for (PetscInt i = 0; i < count; i++) x[i] = (double)s[i];
  PetscCall(PetscFree(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operations that torch's function makes: five steps, none of them knowing that A = Y Y^T and its square are symmetric */
static PetscLogDouble TorchFlops(PetscInt m, PetscInt n)
{
  const PetscLogDouble s = (PetscLogDouble)PetscMin(m, n), l = (PetscLogDouble)PetscMax(m, n);

  return 5 * (4 * s * s * l + 2 * s * s * s);
}

/* A line "row PRECISION RATE SECONDS ..." */
static PetscErrorCode ReadTorchRow(const Plan *plan, PetscInt shape, Problem *problem, const char folder[], const char words[], Row *row)
{
  char       path[PETSC_MAX_PATH_LEN], precision[16] = "";
  PetscReal *times;
  double     value;
  int        skip;

  PetscFunctionBeginUser;
  PetscCheck(sscanf(words, "%15s %lf%n", precision, &row->products, &skip) == 2, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "torch's row %s", words);
  row->precision = strcmp(precision, "bf16") == 0 ? MUON_POLAR_PRECISION_BF16 : MUON_POLAR_PRECISION_SINGLE;
  PetscCall(PetscSNPrintf(row->name, sizeof(row->name), "torch-%s", precision));
  PetscCall(PetscMalloc1(plan->repetitions, &times));
  words += skip;
  for (PetscInt r = 0; r < plan->repetitions; r++) {
    PetscCheck(sscanf(words, "%lf%n", &value, &skip) == 1, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "torch's row %s ends after %" PetscInt_FMT " times", precision, r);
    times[r] = (PetscReal)PetscMax(value, 1e-9);
    words += skip;
  }
  PetscCall(Median(plan->repetitions, times, &row->seconds));
  row->best  = (PetscLogDouble)times[0];
  row->flops = row->promised = TorchFlops(problem->m, problem->n);
  PetscCall(PetscFree(times));
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/Q-%s.f32", folder, precision));
  PetscCall(MoveSingles(PETSC_FALSE, path, problem->m * problem->n, problem->Q));
  PetscCall(Judge(problem, row));
  PetscCall(Dump(plan, problem, shape, row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Starts tests/benchmarks/polar_torch.py on the same matrix, on the processors that this rank may use; a row says so where it gives nothing */
static PetscErrorCode TimeTorch(const Plan *plan, PetscInt shape, Problem *problem)
{
  char        folder[PETSC_MAX_PATH_LEN], path[PETSC_MAX_PATH_LEN], script[PETSC_MAX_PATH_LEN], command[4 * PETSC_MAX_PATH_LEN], line[4096];
  char       *slash;
  const char *tmp  = getenv("TMPDIR");
  PetscInt    rows = problem->nrows;
  Row        *row  = &problem->row[rows];
  FILE       *pipe;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(row, 2 * sizeof(*row)));
  PetscCall(PetscStrncpy(row->name, "torch", sizeof(row->name)));
  /* Beside the source of this program, which lies under the folder where make was called */
  PetscCall(PetscStrncpy(script, __FILE__, sizeof(script)));
  PetscCall(PetscStrrchr(script, '/', &slash));
  *slash = '\0';
  PetscCall(PetscStrlcat(script, "polar_torch.py", sizeof(script)));
  if (tmp != NULL) PetscCall(PetscStrncpy(folder, tmp, sizeof(folder)));
  else PetscCall(PetscGetTmp(PETSC_COMM_SELF, folder, sizeof(folder)));
  PetscCall(PetscStrlcat(folder, "/petscmuon-XXXXXX", sizeof(folder)));
  PetscCall(PetscMkdtemp(folder));
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/G.f32", folder));
  PetscCall(MoveSingles(PETSC_TRUE, path, problem->m * problem->n, problem->G));
  PetscCall(PetscSNPrintf(command, sizeof(command), "OMP_NUM_THREADS=%d %s '%s' %d %d ", (int)plan->threads, plan->torch, script, (int)problem->m, (int)problem->n));
  PetscCall(PetscSNPrintf(line, sizeof(line), "%d %d %s '%s'", (int)plan->threads, (int)plan->repetitions, Clocks[ticks], folder));
  PetscCall(PetscStrlcat(command, line, sizeof(command)));
  PetscCall(PetscPOpen(PETSC_COMM_SELF, NULL, command, "r", &pipe));
  while (fgets(line, sizeof(line), pipe) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, "row ", 4) == 0 && problem->nrows < rows + 2) PetscCall(ReadTorchRow(plan, shape, problem, folder, line + 4, &problem->row[problem->nrows++]));
    else if (strncmp(line, "none ", 5) == 0) PetscCall(PetscStrncpy(row->note, line + 5, sizeof(row->note)));
    else if (strncmp(line, "torch ", 6) == 0 && shape == 0) Print("%s\n", line);
  }
  PetscCall(PetscPClose(PETSC_COMM_SELF, pipe));
  PetscCall(PetscRMTree(folder));
  if (problem->nrows == rows) {
    problem->nrows++;
    if (row->note[0] == '\0') PetscCall(PetscSNPrintf(row->note, sizeof(row->note), "%s gave nothing", plan->torch));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const Row *FindRow(const Problem *problem, const char name[])
{
  for (PetscInt i = 0; i < problem->nrows; i++) {
    if (strcmp(problem->row[i].name, name) == 0 && problem->row[i].seconds > 0) return &problem->row[i];
  }
  return NULL;
}

static PetscErrorCode PrintTable(const Plan *plan, const Problem *problem)
{
  const Row *torch[2] = {FindRow(problem, "torch-bf16"), FindRow(problem, "torch-single")};

  PetscFunctionBeginUser;
  Print("\n%" PetscInt_FMT "x%" PetscInt_FMT ", %s; products:", problem->m, problem->n, Spectra[plan->spectrum]);
  for (int p = 0; p < PRECISIONS; p++) {
    if (problem->products[p] > 0) Print(" %.1f GFLOP/s %s", problem->products[p] / 1e9, MuonPolarPrecisions[p]);
  }
  Print("\n%-18s %-6s %10s %8s %8s %8s", "method", "kernel", "seconds", "GFLOP", "GFLOP/s", "of rate");
  for (int t = 0; t < 2; t++) {
    if (torch[t] != NULL) Print(" %8s", t == 0 ? "to bf16" : "to fp32");
  }
  Print(" %10s %8s %9s\n", "1-GQ/nuc", "||Q||_2", "smallest");
  for (PetscInt i = 0; i < problem->nrows; i++) {
    const Row *row = &problem->row[i];

    if (row->seconds == 0) {
      Print("%s: %s\n", row->name, row->note);
      continue;
    }
    Print("%-18s %-6s %10.6f %8.3f %8.1f %7.1f%%", row->name, MuonPolarPrecisions[row->precision], row->seconds, row->flops / 1e9, row->flops / 1e9 / row->seconds, 100 * row->flops / row->seconds / row->products);
    for (int t = 0; t < 2; t++) {
      if (torch[t] != NULL) Print(" %7.2fx", torch[t]->seconds / row->seconds);
    }
    Print(" %10.2e %8.5f %9.2e\n", row->gap, row->largest, row->smallest);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WriteCSV(const Plan *plan, const Problem *problem, FILE *file)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < problem->nrows; i++) {
    const Row *row = &problem->row[i];

    if (row->seconds == 0) continue;
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, file, "%" PetscInt_FMT ",%" PetscInt_FMT ",%s,%s,%s,%d,%" PetscInt_FMT ",%s,%" PetscInt_FMT ",%.9g,%.9g,%.17g,%.17g,%.9g,%.9g,%.17g,%.17g,%.17g,%.17g\n", problem->m, problem->n, Spectra[plan->spectrum],
                           row->name, MuonPolarPrecisions[row->precision], (int)size, plan->threads, Clocks[ticks], plan->repetitions, row->seconds, row->best, row->flops, row->promised, row->products, row->flops / row->seconds / row->products,
                           problem->nuclear, row->gap, row->largest, row->smallest));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunShape(const Plan *plan, PetscInt shape, FILE *csv)
{
  PetscBool used[PRECISIONS] = {PETSC_TRUE, PETSC_FALSE, PETSC_FALSE};
  Problem   problem;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(&problem, sizeof(problem)));
  problem.m = plan->shape[shape][0];
  problem.n = plan->shape[shape][1];
  for (PetscInt i = 0; i < plan->nmethods; i++) {
    MuonPolar          polar;
    MuonPolarPrecision precision;

    PetscCall(CreatePolar(&plan->method[i], &polar));
    PetscCall(MuonPolarGetPrecision(polar, &precision));
    used[precision] = PETSC_TRUE;
    PetscCall(MuonPolarDestroy(&polar));
  }
  PetscCall(PetscMalloc2(problem.m * problem.n, &problem.G, problem.m * problem.n, &problem.Q));
  PetscCall(FillMatrix(plan, &problem));
  PetscCall(NuclearNorm(problem.m, problem.n, problem.G, &problem.nuclear));
  PetscCall(Dump(plan, &problem, shape, NULL));
  PetscCall(TestCreate(TEST_MAT, TEST_EVEN, (int)problem.m, (int)problem.n, 0, problem.G, &problem.A));
  PetscCall(TestCreate(TEST_MAT, TEST_EVEN, (int)problem.m, (int)problem.n, 0, NULL, &problem.B));
  PetscCall(MeasureAllProducts(plan, &problem, used));
  for (PetscInt i = 0; i < plan->nmethods; i++) PetscCall(TimeMethod(plan, shape, &problem, &plan->method[i]));
  if (plan->torch[0] != '\0' && size == 1) PetscCall(TimeTorch(plan, shape, &problem));
  PetscCall(MeasureAllProducts(plan, &problem, used));
  for (PetscInt i = 0; i < plan->nmethods; i++) problem.row[i].products = problem.products[problem.row[i].precision];
  PetscCall(PrintTable(plan, &problem));
  if (csv != NULL) PetscCall(WriteCSV(plan, &problem, csv));
  PetscCall(TestDestroy(&problem.A));
  PetscCall(TestDestroy(&problem.B));
  PetscCall(PetscFree2(problem.G, problem.Q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool Has(PetscInt n, char *words[], const char word[], PetscBool found[])
{
  PetscBool has = PETSC_FALSE;

  for (PetscInt w = 0; w < n; w++) {
    if (strcmp(words[w], word) == 0) has = found[w] = PETSC_TRUE;
  }
  return has;
}

/* The methods of which words name the type or the row; words are none: all that are not slow, "all": all */
static PetscErrorCode ChooseMethods(Plan *plan, PetscInt nwords, char *words[])
{
  const char **types;
  int          ntypes;
  PetscBool    found[MAX_METHODS] = {PETSC_FALSE}, has;
  char         names[1024]        = "";

  PetscFunctionBeginUser;
  PetscCall(PetscFunctionListGet(MuonPolarList, &types, &ntypes));
  for (int t = 0; t < ntypes && types[t] != NULL; t++) {
    Method   all[PETSC_STATIC_ARRAY_LENGTH(methods)];
    PetscInt count = 0;

    for (size_t m = 0; m < PETSC_STATIC_ARRAY_LENGTH(methods); m++) {
      const char *type = methods[m].line + strlen("type ");

      if (strncmp(type, types[t], strcspn(type, " ")) == 0 && strlen(types[t]) == strcspn(type, " ")) all[count++] = methods[m];
    }
    if (count == 0) {
      all[count].name = types[t];
      PetscCall(PetscSNPrintf(all[count++].line, sizeof(all[0].line), "type %s", types[t]));
    }
    for (PetscInt i = 0; i < count; i++) {
      const int named = (int)Has(nwords, words, all[i].name, found) + (int)Has(nwords, words, types[t], found) + (int)Has(nwords, words, "all", found);

      PetscCall(PetscStrlcat(names, " ", sizeof(names)));
      PetscCall(PetscStrlcat(names, all[i].name, sizeof(names)));
      if (MuonKernelRealOfBF16() == NULL && strstr(all[i].line, "bf16") != NULL) continue;
      if ((named > 0 || (nwords == 0 && strcmp(all[i].name, SLOW) != 0)) && plan->nmethods < MAX_METHODS) plan->method[plan->nmethods++] = all[i];
    }
  }
  PetscCall(PetscFree(types));
  for (PetscInt w = 0; w < nwords; w++) PetscCheck(found[w], PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-benchmark_methods %s: expected all, a type or one of%s", words[w], names);
  PetscCall(PetscOptionsHasName(NULL, NULL, "-lmo_polar_type", &has));
  if (has && plan->nmethods < MAX_METHODS) plan->method[plan->nmethods++].name = "options";
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadOptions(Plan *plan)
{
  const char *const usual[] = {"768x768", "768x3072", "3072x768", "2048x2048", "4096x1024"};
  char             *shapes[MAX_SHAPES], *words[MAX_METHODS];
  PetscInt          nwords = MAX_METHODS;
  PetscBool         set;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(plan, sizeof(*plan)));
  PetscCall(PetscStrncpy(plan->torch, "python3", sizeof(plan->torch)));
  PetscCall(GetBlasThreads(&plan->threads));
  plan->repetitions = 5;
  plan->nshapes     = MAX_SHAPES;
  plan->nsizes      = MAX_SIZES;
  plan->size[0]     = 1024;
  plan->size[1]     = 2048;
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Benchmark of the polar factors", NULL);
  PetscCall(PetscOptionsStringArray("-benchmark_shapes", "Rows x columns, with commas between", NULL, shapes, &plan->nshapes, &set));
  if (set == PETSC_FALSE) {
    plan->nshapes = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(usual);
    for (PetscInt i = 0; i < plan->nshapes; i++) PetscCall(PetscStrallocpy(usual[i], &shapes[i]));
  }
  PetscCall(PetscOptionsStringArray("-benchmark_methods", "Types or rows, with commas between; all but the slow ones by default", NULL, words, &nwords, &set));
  if (set == PETSC_FALSE) nwords = 0;
  PetscCall(PetscOptionsIntArray("-benchmark_products", "Sizes of square products that are measured, besides the shape's own", NULL, plan->size, &plan->nsizes, &set));
  if (set == PETSC_FALSE) plan->nsizes = 2;
  OptionCount("-benchmark_repetitions", "Runs of which the median is taken", plan->repetitions);
  PetscCall(PetscOptionsEnum("-benchmark_spectrum", "Singular values of the matrices", NULL, Spectra, (PetscEnum)plan->spectrum, (PetscEnum *)&plan->spectrum, NULL));
  OptionClock("Wall time, or processor time where others use the machine");
  OptionString("-benchmark_csv", "File for the rows", plan->csv);
  OptionString("-benchmark_torch", "Python that may have torch, none to leave it out", plan->torch);
  OptionString("-oracle_dir", "Folder for the matrices and factors, for a test", plan->oracle);
  PetscOptionsEnd();
  for (PetscInt i = 0; i < plan->nshapes; i++) {
    int m = 0, n = 0, end = 0;

    PetscCheck(sscanf(shapes[i], "%dx%d%n", &m, &n, &end) == 2 && shapes[i][end] == '\0' && m > 0 && n > 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-benchmark_shapes %s: expected ROWSxCOLUMNS", shapes[i]);
    plan->shape[i][0] = m;
    plan->shape[i][1] = n;
    PetscCall(PetscFree(shapes[i]));
  }
  for (PetscInt i = 0; i < plan->nsizes; i++) CheckCount("-benchmark_products", plan->size[i]);
  PetscCheck(ticks == CLOCK_OF_WALL || plan->threads == 1, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-benchmark_clock cpu: the BLAS has %" PetscInt_FMT " threads, expected 1 (OPENBLAS_NUM_THREADS)", plan->threads);
  if (strcmp(plan->torch, "none") == 0) plan->torch[0] = '\0';
  PetscCall(ChooseMethods(plan, nwords, words));
  for (PetscInt i = 0; i < nwords; i++) PetscCall(PetscFree(words[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Plan  plan;
  FILE *csv = NULL;

  PetscFunctionBeginUser;
  PetscCall(BenchmarkInitialize(&argc, &argv, help));
  PetscCall(ReadOptions(&plan));
  if (plan.csv[0] != '\0') {
    PetscCall(PetscFOpen(PETSC_COMM_WORLD, plan.csv, "w", &csv));
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, csv, "rows,columns,spectrum,method,precision,ranks,threads,clock,repetitions,seconds,seconds_best,flops,flops_promised,products,fraction,nuclear_norm,gap,largest,smallest\n"));
  }
  PetscCall(ReportBlas());
  Print("%d ranks, %" PetscInt_FMT " threads each, scalars of %d bytes; median of %" PetscInt_FMT " runs in %s time\n", size, plan.threads, (int)sizeof(PetscScalar), plan.repetitions, ticks == CLOCK_OF_CPU ? "processor" : "wall");
  for (PetscInt k = 0; k < plan.nshapes; k++) PetscCall(RunShape(&plan, k, csv));
  if (plan.torch[0] != '\0' && size > 1) Print("torch: compared where there is one rank\n");
  if (csv != NULL) PetscCall(PetscFClose(PETSC_COMM_WORLD, csv));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  link: internal

  # The numbers are the oracle's, and times are nobody's
  testset:
    args: -benchmark_shapes 40x56,56x40,48x48 -benchmark_methods all -benchmark_repetitions 2 -benchmark_products 64 -benchmark_csv rows.csv
    table: suffix | nsize | args | oracle
      methods |   | -benchmark_torch none -benchmark_spectrum {{gaussian harmonic}} | polar_benchmark.py 1 kj,kj-double,svd
      ranks   | 2 | -benchmark_torch none                                           | polar_benchmark.py 2 kj,kj-double,svd
    test:
      suffix: torch
      localrunfiles: polar_standin.py
      args: -benchmark_clock cpu -benchmark_torch "python3 polar_standin.py"
      oracle: polar_benchmark.py 1 kj,kj-double,svd,torch-bf16,torch-single

  test:
    suffix: none
    args: -benchmark_shapes 8x8 -benchmark_methods kj -benchmark_repetitions 1 -benchmark_products 8 -benchmark_torch false
    filter: grep torch

  test:
    suffix: options
    args: -benchmark_shapes 8x8 -benchmark_methods kj -benchmark_repetitions 1 -benchmark_products 8 -benchmark_torch none -lmo_polar_type svd
    filter: grep options | cut -d ' ' -f 1

  table: suffix | args | error
    shape  | -benchmark_shapes 24         | -benchmark_shapes 24: expected ROWSxCOLUMNS
    method | -benchmark_methods kj,schulz | -benchmark_methods schulz: expected all, a type or one of

TEST*/
