/*
   What the benchmarks share: a clock, of the wall or of the processor, medians, products of matrices in a
   precision of their own and the bandwidth of the memory by it, and what is known of the BLAS below.
*/
#pragma once

#include <petscsys.h>
#include <petsctime.h>
#include <time.h>
#include <petscmuoncompat.h>
#include <kernels/dense/muonblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/* Bytes a second of a = b + s c, on every rank at once; three arrays are counted, though a write may first read */
static PETSC_UNUSED PetscErrorCode MeasureTriad(PetscInt repetitions, PetscReal times[], PetscLogDouble *rate)
{
  PetscScalar   *a, *b, *c;
  PetscLogDouble start, median;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3(TRIAD_ENTRIES, &a, TRIAD_ENTRIES, &b, TRIAD_ENTRIES, &c));
  FillArray(sizeof(PetscScalar), TRIAD_ENTRIES, a);
  FillArray(sizeof(PetscScalar), TRIAD_ENTRIES, b);
  FillArray(sizeof(PetscScalar), TRIAD_ENTRIES, c);
  for (PetscInt r = 0; r < repetitions; r++) {
    const PetscScalar s = (PetscScalar)r;

    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(Now(&start));
    for (PetscInt i = 0; i < TRIAD_ENTRIES; i++) a[i] = b[i] + s * c[i];
    PetscCall(Elapsed(start, &times[r]));
    PetscCheck(a[17] == b[17] + s * c[17], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Triad computed something else");
  }
  PetscCall(PetscFree3(a, b, c));
  PetscCall(Median(repetitions, times, &median));
  *rate = 3.0 * sizeof(PetscScalar) * TRIAD_ENTRIES / median;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Operations a second of a rank by products of matrices (m x k) (k x n), the best of so many, on every rank at once */
static PETSC_UNUSED PetscErrorCode MeasureProducts(void (*product)(size_t, PetscInt, PetscInt, PetscInt, const void *, const void *, void *), size_t bytes, PetscInt m, PetscInt k, PetscInt n, PetscInt repetitions, PetscLogDouble *rate)
{
  const PetscLogDouble flops = 2.0 * (PetscLogDouble)m * (PetscLogDouble)k * (PetscLogDouble)n;
  const PetscInt       inner = PetscMax(1, (PetscInt)(2e8 / flops)); /* short products are too quick for the clock */
  char                *A, *B, *C;
  PetscReal            seconds, best = PETSC_MAX_REAL;
  PetscLogDouble       start;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3(bytes * (size_t)m * k, &A, bytes * (size_t)k * n, &B, bytes * (size_t)m * n, &C));
  FillArray(bytes, (size_t)m * k, A);
  FillArray(bytes, (size_t)k * n, B);
  for (PetscInt r = -1; r < repetitions; r++) {
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(Now(&start));
    for (PetscInt i = 0; i < inner; i++) (*product)(bytes, m, k, n, A, B, C);
    PetscCall(Elapsed(start, &seconds));
    if (r >= 0) best = PetscMin(best, seconds);
  }
  PetscCall(PetscFree3(A, B, C));
  *rate = (PetscLogDouble)inner * flops / (PetscLogDouble)best;
  PetscFunctionReturn(PETSC_SUCCESS);
}
