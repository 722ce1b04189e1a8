/*
   What the benchmarks share: who and how many the ranks are, options that count something, a clock, of the wall or of the processor, medians,
   products of matrices in a precision of their own and the bandwidth of the memory by it, what is known of the BLAS below, steps of an optimizer
   whose layers are alike.
*/
#pragma once

#include <petscmuon.h>
#include <petscmuon/private/muonpolarimpl.h>
#include <petsctime.h>
#include <time.h>
#include <petscmuoncompat.h>
#include <kernels/dense/muonblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static PetscMPIInt rank, size;

static PETSC_UNUSED PetscErrorCode BenchmarkInitialize(int *argc, char ***argv, const char help[])
{
  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(argc, argv, NULL, help));
  PetscCall(PetscLogDefaultBegin());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define Print(...) PetscCall(PetscPrintf(PETSC_COMM_WORLD, __VA_ARGS__))

#define CheckCount(name, value) PetscCheck((value) >= 1, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "%s %" PetscInt_FMT ": expected at least 1", name, value)
/* Between PetscOptionsBegin() and PetscOptionsEnd() */
#define OptionCount(name, text, value) \
  do { \
    PetscCall(PetscOptionsInt(name, text, NULL, value, &(value), NULL)); \
    CheckCount(name, value); \
  } while (0)
#define OptionString(name, text, value) PetscCall(PetscOptionsString(name, text, NULL, value, value, sizeof(value), NULL))
#define OptionClock(text)               PetscCall(PetscOptionsEnum("-benchmark_clock", text, NULL, Clocks, (PetscEnum)ticks, (PetscEnum *)&ticks, NULL))

static PETSC_UNUSED PetscErrorCode Median(PetscInt n, PetscReal values[], PetscLogDouble *median)
{
  PetscFunctionBeginUser;
  PetscCall(PetscSortReal(n, values));
  *median = (PetscLogDouble)(n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_EXTERN void MUON_BLAS(s, gemm, GEMM)(const char *, const char *, const MuonBLASInt *, const MuonBLASInt *, const MuonBLASInt *, const float *, const float *, const MuonBLASInt *, const float *, const MuonBLASInt *, const float *, float *,
                                           const MuonBLASInt *);
PETSC_EXTERN void MUON_BLAS(d, gemm, GEMM)(const char *, const char *, const MuonBLASInt *, const MuonBLASInt *, const MuonBLASInt *, const double *, const double *, const MuonBLASInt *, const double *, const MuonBLASInt *, const double *, double *,
                                           const MuonBLASInt *);

/* C (m x n) = A (m x k) B, of entries of so many bytes: 4 or 8 */
static PETSC_UNUSED void Gemm(size_t bytes, PetscInt m, PetscInt k, PetscInt n, const void *A, const void *B, void *C)
{
  const MuonBLASInt bm = (MuonBLASInt)m, bk = (MuonBLASInt)k, bn = (MuonBLASInt)n;
  const double      oned = 1, zerod = 0;
  const float       ones = 1, zeros = 0;

  if (bytes == sizeof(double)) MUON_BLAS(d, gemm, GEMM)("N", "N", &bm, &bn, &bk, &oned, (const double *)A, &bm, (const double *)B, &bk, &zerod, (double *)C, &bm);
  else MUON_BLAS(s, gemm, GEMM)("N", "N", &bm, &bn, &bk, &ones, (const float *)A, &bm, (const float *)B, &bk, &zeros, (float *)C, &bm);
}

/* Small numbers, of so many bytes each */
static PETSC_UNUSED void FillArray(size_t bytes, size_t count, void *X)
{
  for (size_t i = 0; i < count; i++) {
    if (bytes == sizeof(double)) ((double *)X)[i] = (double)(i % 17) / 17;
    else ((float *)X)[i] = (float)(i % 17) / 17;
  }
}

/* Which kernels OpenBLAS has chosen; it takes processors that are newer than itself for older ones */
static PETSC_UNUSED PetscErrorCode ReportBlas(void)
{
  MuonKernelBLAS blas;

  PetscFunctionBeginUser;
  MuonKernelBLASGet(&blas);
  if (blas.core == NULL) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "BLAS: not one that tells its kernels"));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "BLAS: OpenBLAS with its kernels for %s, vectors of %d bits; the processor has %d", blas.core, blas.bits, blas.processor));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, ", matrix tiles: %s%s\n", blas.tiles ? "yes" : "no", blas.onednn ? "; products in single precision by oneDNN" : ""));
  if (blas.remedy != NULL) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "WARNING: OpenBLAS uses narrower vectors than the processor has; try OPENBLAS_CORETYPE=%s in the environment\n", blas.remedy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Threads of the BLAS in a rank, 1 where it does not tell */
static PETSC_UNUSED PetscErrorCode GetBlasThreads(PetscInt *threads)
{
  void *symbol = NULL;

  PetscFunctionBeginUser;
  *threads = 1;
  PetscCall(PetscDLSym(NULL, "openblas_get_num_threads", &symbol));
  if (symbol != NULL) *threads = (PetscInt)((int (*)(void))symbol)();
  else if (getenv("OMP_NUM_THREADS") != NULL) *threads = PetscMax(1, (PetscInt)atoi(getenv("OMP_NUM_THREADS")));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Three arrays of the triad exceed the caches of today's processors */
#define TRIAD_ENTRIES 16777216

typedef enum {
  CLOCK_OF_WALL,
  CLOCK_OF_CPU
} Clock;
static PETSC_UNUSED const char *const Clocks[] = {"wall", "cpu", "Clock", "CLOCK_OF_", NULL};
static Clock                          ticks    = CLOCK_OF_WALL;

static PETSC_UNUSED PetscErrorCode Now(PetscLogDouble *now)
{
  PetscFunctionBeginUser;
  if (ticks == CLOCK_OF_CPU) *now = (PetscLogDouble)clock() / CLOCKS_PER_SEC;
  else PetscCall(PetscTime(now));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the rank that took longest; a clock of processor time may not have moved */
static PETSC_UNUSED PetscErrorCode Elapsed(PetscLogDouble start, PetscReal *seconds)
{
  PetscLogDouble now;

  PetscFunctionBeginUser;
  PetscCall(Now(&now));
  now -= start;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &now, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  *seconds = (PetscReal)PetscMax(now, 1e-7);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The median seconds of a statement, which runs once more before, uncounted; seconds of each in times, the least first */
#define TIME(repetitions, times, median, ...) \
  do { \
    for (PetscInt run_ = -1; run_ < (repetitions); run_++) { \
      PetscLogDouble start_; \
\
      PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD)); \
      PetscCall(Now(&start_)); \
      __VA_ARGS__; \
      PetscCall(Elapsed(start_, &(times)[PetscMax(run_, 0)])); \
    } \
    PetscCall(Median(repetitions, times, median)); \
  } while (0)

/* Bytes a second of a = b + s c, on every rank at once; three arrays are counted, though a write may first read */
static PETSC_UNUSED PetscErrorCode MeasureTriad(PetscInt repetitions, PetscReal times[], PetscLogDouble *rate)
{
  PetscScalar   *a, *b, *c, s = 0;
  PetscLogDouble median;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3(TRIAD_ENTRIES, &a, TRIAD_ENTRIES, &b, TRIAD_ENTRIES, &c));
  FillArray(sizeof(PetscScalar), TRIAD_ENTRIES, a);
  FillArray(sizeof(PetscScalar), TRIAD_ENTRIES, b);
  FillArray(sizeof(PetscScalar), TRIAD_ENTRIES, c);
  TIME(repetitions, times, &median, s += 1; for (PetscInt i = 0; i < TRIAD_ENTRIES; i++) a[i] = b[i] + s * c[i]);
  PetscCheck(a[17] == b[17] + s * c[17], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Triad computed something else");
  PetscCall(PetscFree3(a, b, c));
  *rate = 3.0 * sizeof(PetscScalar) * TRIAD_ENTRIES / median;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Operations a second of a rank by products of matrices (m x k) (k x n), the best of so many, on every rank at once */
static PETSC_UNUSED PetscErrorCode MeasureProducts(void (*product)(size_t, PetscInt, PetscInt, PetscInt, const void *, const void *, void *), size_t bytes, PetscInt m, PetscInt k, PetscInt n, PetscInt repetitions, PetscLogDouble *rate)
{
  const PetscLogDouble flops = 2.0 * (PetscLogDouble)m * (PetscLogDouble)k * (PetscLogDouble)n;
  const PetscInt       inner = PetscMax(1, (PetscInt)(2e8 / flops)); /* short products are too quick for the clock */
  char                *A, *B, *C;
  PetscReal           *times;
  PetscLogDouble       median;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc4(bytes * (size_t)m * k, &A, bytes * (size_t)k * n, &B, bytes * (size_t)m * n, &C, repetitions, &times));
  FillArray(bytes, (size_t)m * k, A);
  FillArray(bytes, (size_t)k * n, B);
  TIME(repetitions, times, &median, for (PetscInt i = 0; i < inner; i++)(*product)(bytes, m, k, n, A, B, C));
  *rate = (PetscLogDouble)inner * flops / (PetscLogDouble)times[0];
  PetscCall(PetscFree4(A, B, C, times));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An event of the log so far, on this rank */
static PETSC_UNUSED PetscErrorCode ReadEvent(const char name[], PetscEventPerfInfo *info)
{
  PetscLogEvent event;

  PetscFunctionBeginUser;
  PetscCall(PetscLogEventGetId(name, &event));
  PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, info));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The polar factor of a layer, and the bytes of an entry in its kernels; bf16 is held against products of singles */
static PETSC_UNUSED PetscErrorCode GetPolar(MuonLayer layer, MuonPolar *polar, size_t *bytes)
{
  MuonLMO            lmo;
  MuonPolarPrecision precision;

  PetscFunctionBeginUser;
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  PetscCall(MuonLMOGetPolar(lmo, polar));
  PetscCall(MuonPolarGetPrecision(*polar, &precision));
  *bytes = precision == MUON_POLAR_PRECISION_DOUBLE ? sizeof(double) : sizeof(float);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PETSC_UNUSED PetscErrorCode StepOnce(Muon muon)
{
  MuonConvergedReason reason;
  PetscInt            step;

  PetscFunctionBeginUser;
  PetscCall(MuonStep(muon));
  PetscCall(MuonGetConvergedReason(muon, &reason));
  PetscCall(MuonGetStepNumber(muon, &step));
  PetscCheck(reason >= 0, PetscObjectComm((PetscObject)muon), PETSC_ERR_NOT_CONVERGED, "Step %" PetscInt_FMT ": %s", step, MuonConvergedReasons[reason]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers in [-1/2, 1/2), the next ones each time */
static PETSC_UNUSED PetscErrorCode FillMat(Mat A, unsigned long long *state)
{
  PetscScalar *a;
  PetscInt     m, n, lda;

  PetscFunctionBeginUser;
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(MatGetSize(A, NULL, &n));
  PetscCall(MatDenseGetLDA(A, &lda));
  PetscCall(MatDenseGetArrayWrite(A, &a));
  for (PetscInt e = 0; e < m * n; e++) {
    *state                 = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    a[e % m + e / m * lda] = (PetscScalar)(*state >> 40) / 16777216 - (PetscScalar)0.5;
  }
  PetscCall(MatDenseRestoreArrayWrite(A, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other numbers in the gradient of each layer */
static PETSC_UNUSED PetscErrorCode FillGradients(Muon muon, unsigned long long *state)
{
  PetscInt  n;
  MuonLayer layer;
  Mat       G;

  PetscFunctionBeginUser;
  PetscCall(MuonGetNumLayers(muon, &n));
  for (PetscInt l = 0; l < n; l++) {
    PetscCall(MuonGetLayer(muon, l, &layer));
    PetscCall(MuonLayerGetGradient(layer, &G));
    PetscCall(FillMat(G, state));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* So many square matrices of zeros over the ranks of a worker each, and an optimizer of them, whose options are not read yet */
static PETSC_UNUSED PetscErrorCode MatsCreate(MPI_Comm worker, PetscInt n, PetscInt width, Mat *W[])
{
  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(n, W));
  for (PetscInt l = 0; l < n; l++) {
    PetscCall(MatCreateDense(worker, PETSC_DECIDE, PETSC_DECIDE, width, width, NULL, &(*W)[l]));
    PetscCall(MatSetOptionsPrefix((*W)[l], "weights_"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PETSC_UNUSED PetscErrorCode MatsDestroy(PetscInt n, Mat *W[])
{
  PetscFunctionBeginUser;
  for (PetscInt l = 0; l < n; l++) PetscCall(MatDestroy(&(*W)[l]));
  PetscCall(PetscFree(*W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PETSC_UNUSED PetscErrorCode MuonOfMats(MPI_Comm comm, PetscInt n, Mat W[], Muon *muon)
{
  PetscFunctionBeginUser;
  PetscCall(MuonCreate(comm, muon));
  PetscCall(MuonSetLearningRate(*muon, (PetscReal)1e-3));
  for (PetscInt l = 0; l < n; l++) {
    char name[32];

    PetscCall(PetscSNPrintf(name, sizeof(name), "l%" PetscInt_FMT, l));
    PetscCall(MuonAddLayer(*muon, name, W[l], NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
