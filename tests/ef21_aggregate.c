static char help[] = "Over 1000 steps: the server's G is the mean of the workers' G_j, all ranks have the same W, and each step of X ends on the sphere of its radius.\n";

#include "ef21_common.h"

typedef struct {
  PetscReal *X, *Xold, *bound, *Gj, *G, *sum, *old;
} Store;

/*
   Sums over the workers, in one call for all layers: of G_j, of its absolute value and of the absolute value
   of its change
*/
static PetscErrorCode SumWorkers(TestProblem *p, Store store[])
{
  PetscInt total = 0;
  Mat      Gj;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < p->n; l++) {
    const PetscInt d = TestEntries(&p->shape[l]);
    Store         *s = &store[l];

    PetscCall(TestGetEF21State(p->muon, p->layer[l], NULL, &Gj, NULL));
    PetscCall(PetscArraycpy(s->old, s->Gj, d));
    PetscCall(TestMatGetRows(Gj, s->Gj));
    for (PetscInt e = 0; e < d; e++) {
      s->sum[e]         = s->Gj[e];
      s->sum[d + e]     = PetscAbsReal(s->Gj[e]);
      s->sum[2 * d + e] = PetscAbsReal(s->Gj[e] - s->old[e]);
    }
    total += 3 * d;
  }
  /* The layers' sums lie behind one another */
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, store[0].sum, (PetscMPIInt)total, MPIU_REAL, MPI_SUM, PetscObjectComm((PetscObject)p->muon)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   T1. One step rounds, with u = epsilon/2, the sum of J messages J - 1 times, its product with 1/J and 1/J
   itself, then G; and each worker its G_j. So entry by entry the difference grows by at most u ((J + 1) mean
   |R_j| + |G|) + u mean |G_j|, and comparing them here costs (J + 1) u mean |G_j| once. |R_j| is the change
   of G_j up to u |G_j|.
*/
static PetscErrorCode CheckAggregate(TestProblem *p, PetscInt l, PetscInt step, Store *s, PetscReal worst[2])
{
  const PetscReal u = PETSC_MACHINE_EPSILON / 2, J = (PetscReal)p->size;
  const PetscInt  d = TestEntries(&p->shape[l]);
  Mat             G;

  PetscFunctionBegin;
  PetscCall(TestGetEF21State(p->muon, p->layer[l], NULL, NULL, &G));
  for (PetscInt e = 0; e < d; e++) s->bound[e] += u * ((J + 1) * s->sum[2 * d + e] / J + (J + 3) * s->sum[d + e] / J);
  if (G == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TestMatGetRows(G, s->G));
  for (PetscInt e = 0; e < d; e++) {
    const PetscReal difference = PetscAbsReal(s->G[e] - s->sum[e] / J), bound = (1 + 10 * J * u) * s->bound[e] + (J + 1) * u * s->sum[d + e] / J;

    PetscCheck(difference <= bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "T1: layer %s, step %" PetscInt_FMT ", entry %" PetscInt_FMT ": G is off the mean of G_j by %g, bound %g", p->shape[l].name, step, e, (double)difference, (double)bound);
    worst[0] = PetscMax(worst[0], difference);
    if (bound > 0) worst[1] = PetscMax(worst[1], difference / bound);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   T8. D = (X^{s+1} - X^s)/t has norm 1 where G is not zero: D has entries of absolute value 1 or 0, or unit
   Frobenius norm, or singular values 1 or 0, which is D D^T D = D. X^{s+1} is rounded once and the difference
   is exact up to another u, so that D is off by 2 u max|X|/t; an exact polar factor is off by a few u times
   the shape.
*/
static PetscErrorCode CheckRadius(TestProblem *p, PetscInt l, PetscInt step, PetscReal rate, Store *s, PetscReal *worst)
{
  const TestShape *shape = &p->shape[l];
  const PetscInt   m = shape->m, n = shape->n, d = m * n;
  PetscReal        t, largest = 0, off = 0, size = 0, nonzero = 0, tolerance;
  PetscReal       *D      = s->sum;
  PetscBool        serves = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscArraycpy(s->Xold, s->X, d));
  PetscCall(TestGetServerWeights(p, l, s->X, &serves));
  if (serves == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLayerGetRadiusFactor(p->layer[l], &t));
  t *= rate;
  for (PetscInt e = 0; e < d; e++) {
    D[e]    = (s->X[e] - s->Xold[e]) / t;
    largest = PetscMax(largest, PetscAbsReal(s->X[e]));
    size += D[e] * D[e];
    nonzero = PetscMax(nonzero, PetscAbsReal(s->G[e]));
  }
  tolerance = PETSC_MACHINE_EPSILON * (largest / t + 8) * (PetscReal)(m + n);
  if (strcmp(shape->norm, MUONLMOMAX) == 0) {
    for (PetscInt e = 0; e < d; e++) off = PetscMax(off, PetscAbsReal(PetscAbsReal(D[e]) - (s->G[e] != 0 ? 1 : 0)));
  } else if (strcmp(shape->norm, MUONLMOFROBENIUS) == 0) {
    off = PetscAbsReal(size - (nonzero > 0 ? 1 : 0));
  } else {
    for (PetscInt i = 0; i < m; i++) {
      for (PetscInt j = 0; j < n; j++) {
        PetscReal cube = 0;

        for (PetscInt k = 0; k < m; k++) {
          PetscReal gram = 0;

          for (PetscInt c = 0; c < n; c++) gram += D[i * n + c] * D[k * n + c];
          cube += gram * D[k * n + j];
        }
        off = PetscMax(off, PetscAbsReal(cube - D[i * n + j]));
      }
    }
    PetscCheck((nonzero > 0) == (size > 0.5), PETSC_COMM_SELF, PETSC_ERR_PLIB, "T8: layer %s, step %" PetscInt_FMT ": the step has size %g, the largest entry of G is %g", shape->name, step, (double)size, (double)nonzero);
  }
  PetscCheck(off <= tolerance, PETSC_COMM_SELF, PETSC_ERR_PLIB, "T8: layer %s, step %" PetscInt_FMT ": the step is off the sphere by %g, bound %g", shape->name, step, (double)off, (double)tolerance);
  *worst = PetscMax(*worst, off / tolerance);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Store       store[TEST_LAYERS];
  TestProblem p;
  PetscInt    steps = 1000;
  PetscReal  *sums, worst[3] = {0, 0, 0};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  PetscCall(TestCreate(PETSC_COMM_WORLD, MUONEF21, TEST_LAYERS, TestShapes, -1, &p));
  p.noise = 4;
  PetscCall(MuonSetFromOptions(p.muon));
  PetscCall(MuonSetUp(p.muon));
  PetscCall(PetscMalloc1(3 * TestTotal(&p), &sums));
  for (PetscInt l = 0; l < p.n; l++) {
    const PetscInt d = TestEntries(&p.shape[l]);
    PetscBool      serves;

    PetscCall(PetscCalloc6(d, &store[l].X, d, &store[l].Xold, d, &store[l].bound, d, &store[l].Gj, d, &store[l].G, d, &store[l].old));
    store[l].sum = l == 0 ? sums : store[l - 1].sum + 3 * TestEntries(&p.shape[l - 1]);
    PetscCall(TestGetServerWeights(&p, l, store[l].X, &serves));
  }
  for (PetscInt s = 0; s < steps; s++) {
    PetscReal rate;

    PetscCall(MuonGetRate(p.muon, &rate));
    PetscCall(MuonStep(p.muon));
    PetscCall(TestCheckReplicas(&p, "T2", s));
    PetscCall(SumWorkers(&p, store));
    for (PetscInt l = 0; l < p.n; l++) {
      PetscCall(CheckAggregate(&p, l, s, &store[l], worst));
      PetscCall(CheckRadius(&p, l, s, rate, &store[l], &worst[2]));
    }
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, worst, 3, MPIU_REAL, MPI_MAX, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "G is off the mean of G_j by at most %g, %g of the bound; steps are off their spheres by %g of the bound\n", (double)worst[0], (double)worst[1], (double)worst[2]));
  for (PetscInt l = 0; l < p.n; l++) PetscCall(PetscFree6(store[l].X, store[l].Xold, store[l].bound, store[l].Gj, store[l].G, store[l].old));
  PetscCall(PetscFree(sums));
  PetscCall(TestDestroy(&p));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{1 2 3 4}}
    args: -steps 200 -ef21_compressor_values natural -ef21_server_compressor_values natural -ef21_compressor_ratio 0.25 -ef21_server_compressor_ratio 0.25 -muon_learning_rate 0.01
    table: suffix | args
      topk  | -ef21_compressor topk -ef21_server_compressor topk
      rankk | -ef21_compressor rankk -ef21_server_compressor rankk -muon_exchange_type star

  # Natural values are sums of few bits, and their mean over 1, 2 or 4 workers is exact: these are not
  test:
    suffix: native
    nsize: {{2 3}}
    timeoutfactor: 3
    args: -ef21_compressor topk -ef21_compressor_ratio 0.25 -ef21_server_compressor natural -ef21_compressor_values native -muon_learning_rate 0.01

  test:
    suffix: gradient
    nsize: 3
    args: -ef21_init gradient -ef21_compressor natural -ef21_server_compressor topk -ef21_server_compressor_ratio 0.5 -muon_learning_rate 0.01 -muon_exchange_type replicated -steps 100

TEST*/
