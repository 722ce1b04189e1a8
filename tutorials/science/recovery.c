static char help[] = "When is a matrix of low rank found from m < n^2 measurements without noise? Instances of one set of measurements are solved together by TAO, FISTA or factored descent, each with the same number of gradients.\n\n"
                     "  ./recovery -recovery_method fista\n"
                     "  ./recovery -recovery_method factored -recovery_rate 0.5\n"
                     "  ./recovery -dll_append $PETSCMUON/lib/libpetscmuon.so -tao_type muon -lmo_type nuclear -muon_learning_rate 0.01 -muon_schedule linear -muon_momentum 0\n\n"
                     "studies/recovery.py runs the study. The exact number of measurements from which minimization of the nuclear norm succeeds is known: 556 for rank 2 of 64 x 64.\n\n";

#include <petsctao.h>
#include <time.h>
#include "lowrank.h"

#define RESIDUAL 1e-6 /* relative: less ends a run */

typedef enum {
  METHOD_TAO,
  METHOD_FISTA,
  METHOD_FACTORED
} Method;
static const char *const Methods[] = {"tao", "fista", "factored", "Method", "METHOD_", NULL};

typedef struct {
  PetscInt  n, rank, measurements, instances, gradients, width, seed;
  Method    method;
  PetscReal rate;
  Mat       A, R, Y, X, G; /* a column of A is a measurement, one of X an instance; R = A^T X - Y; X and G lie on vectors */
  Vec       truth;         /* the instances one after the other, like all unknowns */
  PetscReal enough;        /* the objective at which the residual is RESIDUAL of Y */
  PetscInt  evaluations;   /* of the gradient */
} Recovery;

/* f = |A^T X - Y|^2 / (2 m), with gradient A (A^T X - Y) / m, summed over the ranks that measured */
static PetscErrorCode FormFunctionGradient(Tao tao, Vec x, PetscReal *f, Vec g, void *ctx)
{
  Recovery          *p = (Recovery *)ctx;
  const PetscScalar *xs;
  PetscScalar       *gs;
  PetscReal          norm;
  PetscMPIInt        count;

  PetscFunctionBeginUser;
  p->evaluations++;
  PetscCall(PetscMPIIntCast(p->n * p->n * p->instances, &count));
  PetscCall(VecGetArrayRead(x, &xs));
  PetscCall(VecGetArrayWrite(g, &gs));
  PetscCall(MatDensePlaceArray(p->X, xs));
  PetscCall(MatDensePlaceArray(p->G, gs));
  PetscCall(MatTransposeMatMult(p->A, p->X, MAT_REUSE_MATRIX, PETSC_DEFAULT, &p->R));
  PetscCall(MatAXPY(p->R, -1, p->Y, SAME_NONZERO_PATTERN));
  PetscCall(MatMatMult(p->A, p->R, MAT_REUSE_MATRIX, PETSC_DEFAULT, &p->G));
  PetscCall(MatDenseResetArray(p->X));
  PetscCall(MatDenseResetArray(p->G));
  PetscCall(VecRestoreArrayRead(x, &xs));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, gs, count, MPIU_SCALAR, MPIU_SUM, PETSC_COMM_WORLD));
  PetscCall(VecRestoreArrayWrite(g, &gs));
  PetscCall(VecScale(g, 1 / (PetscScalar)p->measurements));
  PetscCall(MatNorm(p->R, NORM_FROBENIUS, &norm));
  norm *= norm;
  PetscCallMPI(MPI_Allreduce(&norm, f, 1, MPIU_REAL, MPIU_SUM, PETSC_COMM_WORLD));
  *f /= 2 * (PetscReal)p->measurements;
  PetscFunctionReturn(0);
}

/*
   Truths of nuclear norm 1 first, then one measurement after the other, so that fewer measurements are the first of more. Each
   rank draws all numbers and keeps its own
*/
static PetscErrorCode CreateRecovery(Recovery *p)
{
  const PetscInt entries = p->n * p->n;
  PetscInt       local   = PETSC_DECIDE;
  PetscRandom    random;
  PetscScalar   *a, *t;
  PetscMPIInt    rank, size;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &local, &p->measurements));
  PetscCall(CreateRandom((unsigned long)p->seed, &random));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, entries * p->instances, &p->truth));
  PetscCall(PetscMalloc1(entries, &a));
  PetscCall(VecGetArrayWrite(p->truth, &t));
  for (PetscInt k = 0; k < p->instances; k++) {
    PetscCall(FillLowRank(random, p->n, p->n, p->rank, t + k * entries));
    PetscCall(NormalizeNuclear(p->n, t + k * entries));
  }
  PetscCall(VecRestoreArrayWrite(p->truth, &t));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, entries, local, NULL, &p->A));
  PetscCall(MatDenseGetArrayWrite(p->A, &t));
  for (PetscInt i = 0, mine = 0; i < p->measurements; i++) {
    PetscCall(FillNormal(random, 1, entries, a));
    if (i % size == rank) PetscCall(PetscArraycpy(t + entries * mine++, a, entries));
  }
  PetscCall(MatDenseRestoreArrayWrite(p->A, &t));
  PetscCall(PetscFree(a));
  PetscCall(PetscRandomDestroy(&random));

  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, entries, p->instances, NULL, &p->X));
  PetscCall(VecGetArray(p->truth, &t));
  PetscCall(MatDensePlaceArray(p->X, t));
  PetscCall(MatTransposeMatMult(p->A, p->X, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &p->R));
  PetscCall(MatDenseResetArray(p->X));
  PetscCall(VecRestoreArray(p->truth, &t));
  PetscCall(MatDuplicate(p->R, MAT_COPY_VALUES, &p->Y));
  PetscCall(MatMatMult(p->A, p->R, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &p->G));
  PetscFunctionReturn(0);
}

/*
   FISTA of Beck and Teboulle on f + lambda |X|_*, by singular-value thresholding, started again where its momentum points uphill
   (arXiv:1204.3982). lambda falls geometrically from where the answer is zero to a fraction of that, the rate
*/
static PetscErrorCode SolveFista(Recovery *p, Vec z)
{
  const PetscInt  n = p->n, entries = n * n;
  const PetscReal step = 1 / PetscSqr(1 + (PetscReal)n / PetscSqrtReal((PetscReal)p->measurements)); /* 1/L: |A| is near sqrt(m) + n */
  PetscScalar    *zs, *gs, *xs, *v, *xv, *w;
  PetscReal      *sigma, *first, *t, f = 0;
  Vec             g;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(z, &g));
  PetscCall(PetscMalloc7(entries * p->instances, &xs, entries, &v, entries, &xv, entries, &w, n, &sigma, p->instances, &first, p->instances, &t));
  PetscCall(PetscArrayzero(xs, entries * p->instances));
  for (PetscInt s = 0; s < p->gradients; s++) {
    PetscCall(FormFunctionGradient(NULL, z, &f, g, p));
    if (f <= p->enough) break;
    PetscCall(VecGetArray(z, &zs));
    PetscCall(VecGetArray(g, &gs));
    for (PetscInt k = 0; k < p->instances; k++) {
      PetscScalar *const zk = zs + k * entries, *const gk = gs + k * entries, *const xk = xs + k * entries;
      PetscReal uphill = 0, last;

      if (s == 0) {
        PetscCall(RightSingular(n, gk, v, sigma));
        first[k] = sigma[n - 1];
        t[k]     = 1;
      }
      for (PetscInt i = 0; i < entries; i++) gk[i] = zk[i] - step * gk[i];
      PetscCall(Shrink(n, step * first[k] * PetscPowReal(p->rate, (PetscReal)(s + 1) / (PetscReal)p->gradients), gk, v, xv, w, sigma));
      for (PetscInt i = 0; i < entries; i++) uphill += (zk[i] - gk[i]) * (gk[i] - xk[i]);
      last = uphill > 0 || s == p->gradients - 1 ? 1 : t[k]; /* without momentum z is x */
      t[k] = (1 + PetscSqrtReal(1 + 4 * last * last)) / 2;
      for (PetscInt i = 0; i < entries; i++) {
        zk[i] = gk[i] + (last - 1) / t[k] * (gk[i] - xk[i]);
        xk[i] = gk[i];
      }
    }
    PetscCall(VecRestoreArray(z, &zs));
    PetscCall(VecRestoreArray(g, &gs));
  }
  PetscCall(PetscFree7(xs, v, xv, w, sigma, first, t));
  PetscCall(VecDestroy(&g));
  PetscFunctionReturn(0);
}

/* Gradient descent on both factors of X = U V^T, from the leading singular triplets of A Y / m (arXiv:1507.03566) */
static PetscErrorCode SolveFactored(Recovery *p, Vec x)
{
  const PetscInt n = p->n, w = p->width, entries = n * n;
  PetscScalar   *xs, *gs, *u, *v, *old, *all;
  PetscReal     *sigma, *first, f = 0;
  Vec            g;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(x, &g));
  PetscCall(PetscMalloc6(n * w * p->instances, &u, n * w * p->instances, &v, n * w, &old, entries, &all, n, &sigma, p->instances, &first));
  for (PetscInt s = 0; s < p->gradients; s++) {
    PetscCall(FormFunctionGradient(NULL, x, &f, g, p));
    if (f <= p->enough) break;
    PetscCall(VecGetArray(x, &xs));
    PetscCall(VecGetArray(g, &gs));
    for (PetscInt k = 0; k < p->instances; k++) {
      PetscScalar *const uk = u + k * n * w, *const vk = v + k * n * w, *const gk = gs + k * entries;

      if (s == 0) {
        PetscCall(RightSingular(n, gk, all, sigma));
        first[k] = sigma[n - 1];
        for (PetscInt i = 0; i < n * w; i++) vk[i] = all[(n - w) * n + i] / PetscSqrtReal(sigma[n - w + i / n]);
        PetscCall(Gemm("N", "N", n, w, n, -1, gk, vk, 0, uk));
        for (PetscInt i = 0; i < n * w; i++) vk[i] *= sigma[n - w + i / n];
      } else {
        PetscCall(PetscArraycpy(old, uk, n * w));
        PetscCall(Gemm("N", "N", n, w, n, -p->rate / first[k], gk, vk, 1, uk));
        PetscCall(Gemm("T", "N", n, w, n, -p->rate / first[k], gk, old, 1, vk));
      }
      PetscCall(Gemm("N", "T", n, n, w, 1, uk, vk, 0, xs + k * entries));
    }
    PetscCall(VecRestoreArray(x, &xs));
    PetscCall(VecRestoreArray(g, &gs));
  }
  PetscCall(PetscFree6(u, v, old, all, sigma, first));
  PetscCall(VecDestroy(&g));
  PetscFunctionReturn(0);
}

/* Whatever -tao_type says; a rank solves the whole problem, with gradients that are sums over all */
static PetscErrorCode SolveTao(Recovery *p, Vec x)
{
  Tao tao;

  PetscFunctionBeginUser;
  PetscCall(SetLayers(x, p->instances, p->n, p->n));
  PetscCall(TaoCreate(PETSC_COMM_SELF, &tao));
  PetscCall(TaoSetSolution(tao, x));
  PetscCall(TaoSetObjectiveAndGradient(tao, NULL, FormFunctionGradient, p));
  PetscCall(TaoSetTolerances(tao, 0, 0, 0));
  PetscCall(TaoSetFunctionLowerBound(tao, p->enough));
  PetscCall(TaoSetMaximumIterations(tao, p->gradients));
  PetscCall(TaoSetMaximumFunctionEvaluations(tao, p->gradients));
  PetscCall(TaoSetFromOptions(tao));
  PetscCall(TaoSolve(tao));
  PetscCall(TaoDestroy(&tao));
  PetscFunctionReturn(0);
}

/* Errors relative to the truths, and how many are below 1e-3 */
static PetscErrorCode Report(Recovery *p, Vec x, double seconds, PetscBool all)
{
  const PetscInt     entries = p->n * p->n;
  const PetscScalar *xs, *ts;
  PetscInt           recovered = 0;

  PetscFunctionBeginUser;
  PetscCall(VecGetArrayRead(x, &xs));
  PetscCall(VecGetArrayRead(p->truth, &ts));
  for (PetscInt k = 0; k < p->instances; k++) {
    const PetscReal error = RelativeError(entries, xs + k * entries, ts + k * entries);

    if (error < (PetscReal)1e-3) recovered++;
    if (all) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s%.4g%s", k == 0 ? "errors " : " ", (double)error, k == p->instances - 1 ? "\n" : ""));
  }
  PetscCall(VecRestoreArrayRead(x, &xs));
  PetscCall(VecRestoreArrayRead(p->truth, &ts));
  if (all) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "gradients %" PetscInt_FMT " seconds %.3g\n", p->evaluations, seconds));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "rank %" PetscInt_FMT ", %" PetscInt_FMT " measurements of %" PetscInt_FMT " entries: %" PetscInt_FMT " of %" PetscInt_FMT " recovered\n", p->rank, p->measurements, entries, recovered, p->instances));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  Recovery  p   = {64, 2, 700, 2, 500, 2, 1, METHOD_TAO, (PetscReal)1e-4, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0};
  PetscBool all = PETSC_FALSE;
  clock_t   start;
  Vec       x, g;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscOptionsBegin(PETSC_COMM_WORLD, "recovery_", "Recovery of matrices of low rank", NULL);
  PetscCall(PetscOptionsBoundedInt("-size", "Rows and columns of a matrix", NULL, p.n, &p.n, NULL, 2));
  PetscCall(PetscOptionsRangeInt("-rank", "Of the truths", NULL, p.rank, &p.rank, NULL, 1, p.n));
  PetscCall(PetscOptionsBoundedInt("-measurements", "Of all ranks", NULL, p.measurements, &p.measurements, NULL, 1));
  PetscCall(PetscOptionsRangeInt("-instances", "Truths that are measured alike", NULL, p.instances, &p.instances, NULL, 1, 1000));
  PetscCall(PetscOptionsBoundedInt("-seed", "Of truths and measurements", NULL, p.seed, &p.seed, NULL, 1));
  PetscCall(PetscOptionsBoundedInt("-gradients", "That a method may take", NULL, p.gradients, &p.gradients, NULL, 1));
  PetscCall(PetscOptionsEnum("-method", "A type of TAO, FISTA or factored gradient descent", NULL, Methods, (PetscEnum)p.method, (PetscEnum *)&p.method, NULL));
  PetscCall(PetscOptionsReal("-rate", "Step of factored descent; the last fraction of lambda of FISTA", NULL, p.rate, &p.rate, NULL));
  p.width = p.rank;
  PetscCall(PetscOptionsRangeInt("-width", "Columns of the factors", NULL, p.width, &p.width, NULL, 1, p.n));
  PetscCall(PetscOptionsBool("-errors", "Print the error of each instance, gradients and seconds of the processor", NULL, all, &all, NULL));
  PetscOptionsEnd();
  PetscCheck(p.rate > 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-recovery_rate %g: expected a positive number", (double)p.rate);
  PetscCall(CreateRecovery(&p));
  PetscCall(VecDuplicate(p.truth, &x));
  PetscCall(VecDuplicate(x, &g));
  PetscCall(VecSet(x, 0));
  PetscCall(FormFunctionGradient(NULL, x, &p.enough, g, &p)); /* half of the mean square of Y */
  p.enough *= (PetscReal)(RESIDUAL * RESIDUAL);
  p.evaluations = 0;
  start         = clock(); /* PetscGetCPUTime() has other units in PETSc 3.18 */
  if (p.method == METHOD_TAO) PetscCall(SolveTao(&p, x));
  else if (p.method == METHOD_FISTA) PetscCall(SolveFista(&p, x));
  else PetscCall(SolveFactored(&p, x));
  PetscCall(Report(&p, x, (double)(clock() - start) / CLOCKS_PER_SEC, all));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&g));
  PetscCall(VecDestroy(&p.truth));
  PetscCall(MatDestroy(&p.A));
  PetscCall(MatDestroy(&p.R));
  PetscCall(MatDestroy(&p.Y));
  PetscCall(MatDestroy(&p.X));
  PetscCall(MatDestroy(&p.G));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    requires: double
    output_file: README.md
    args: -recovery_size 16 -recovery_rank 1 -recovery_measurements 120 -recovery_gradients 300
    table: suffix | nsize | args
      fista    | 2 | -recovery_method fista
      factored | 1 | -recovery_method factored -recovery_rate 0.5
      lmvm     | 1 | -tao_type lmvm
      nuclear  | 1 | -dll_append ${BUILD}/lib/libpetscmuon.so -tao_type muon -lmo_type nuclear -muon_learning_rate 0.01 -muon_schedule linear -muon_momentum 0
  table: suffix | args | error
    rate | -recovery_rate 0 | -recovery_rate 0

TEST*/
