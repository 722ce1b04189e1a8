static char help[] = "Over 1000 steps: the server's G is the mean of the workers' G_j, all ranks have the same W, and each step of X ends on the sphere of its radius.\n";

#include "problem.h"

typedef struct {
  double X[36], bound[36], Gj[36], G[36], sum[3 * 36]; /* sums over the workers: of G_j, of its absolute value and of that of its change */
} Store;

static PetscErrorCode SumWorkers(const Problem *p, Store store[])
{
  double Gj[36];

  PetscFunctionBegin;
  for (PetscInt l = 0; l < p->n; l++) {
    const PetscInt d = p->layer[l].shape->m * p->layer[l].shape->n;
    Store         *s = &store[l];

    PetscCall(ProblemGetRows(p, l, "estimate", Gj, NULL));
    for (PetscInt e = 0; e < d; e++) {
      s->sum[e]         = Gj[e];
      s->sum[d + e]     = fabs(Gj[e]);
      s->sum[2 * d + e] = fabs(Gj[e] - s->Gj[e]);
      s->Gj[e]          = Gj[e];
    }
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, s->sum, (PetscMPIInt)(3 * d), MPI_DOUBLE, MPI_SUM, p->comm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   T1. One step rounds, with u = epsilon/2, the sum of J messages J - 1 times, its product with 1/J and 1/J
   itself, then G; and each worker its G_j. So entry by entry the difference grows by at most u ((J + 1) mean
   |R_j| + |G|) + u mean |G_j|, and comparing them here costs (J + 1) u mean |G_j| once. |R_j| is the change
   of G_j up to u |G_j|.
*/
static PetscErrorCode CheckAggregate(const Problem *p, PetscInt l, PetscInt step, Store *s, double worst[2])
{
  const double   u = (double)PETSC_MACHINE_EPSILON / 2, J = p->size;
  const PetscInt d = p->layer[l].shape->m * p->layer[l].shape->n;
  PetscBool      kept;

  PetscFunctionBegin;
  PetscCall(ProblemGetRows(p, l, "aggregate", s->G, &kept));
  for (PetscInt e = 0; e < d; e++) {
    double difference, bound;

    s->bound[e] += u * ((J + 1) * s->sum[2 * d + e] / J + (J + 3) * s->sum[d + e] / J);
    if (kept == PETSC_FALSE) continue;
    difference = fabs(s->G[e] - s->sum[e] / J);
    bound      = (1 + 10 * J * u) * s->bound[e] + (J + 1) * u * s->sum[d + e] / J;
    PetscCheck(difference <= bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "T1: layer %s, step %" PetscInt_FMT ", entry %" PetscInt_FMT ": G is off the mean of G_j by %g, bound %g", p->layer[l].shape->name, step, e, difference, bound);
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
static PetscErrorCode CheckRadius(const Problem *p, PetscInt l, PetscInt step, PetscReal rate, Store *s, double *worst)
{
  const ProblemShape *shape = p->layer[l].shape;
  const PetscInt      m = shape->m, n = shape->n, d = m * n;
  double              X[36], D[36], t, largest = 0, off = 0, size = 0, nonzero = 0, tolerance;
  PetscReal           factor;
  PetscBool           serves;

  PetscFunctionBegin;
  PetscCall(ProblemGetRows(p, l, "served", X, &serves));
  if (serves == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLayerGetRadiusFactor(p->layer[l].layer, &factor));
  t = (double)(factor * rate);
  for (PetscInt e = 0; e < d; e++) {
    D[e]    = (X[e] - s->X[e]) / t;
    s->X[e] = X[e];
    largest = PetscMax(largest, fabs(X[e]));
    size += D[e] * D[e];
    nonzero = PetscMax(nonzero, fabs(s->G[e]));
  }
  tolerance = (double)PETSC_MACHINE_EPSILON * (largest / t + 8) * (double)(m + n);
  if (strcmp(shape->norm, MUONLMOMAX) == 0) {
    for (PetscInt e = 0; e < d; e++) off = PetscMax(off, fabs(fabs(D[e]) - (s->G[e] != 0 ? 1 : 0)));
  } else if (strcmp(shape->norm, MUONLMOFROBENIUS) == 0) {
    off = fabs(size - (nonzero > 0 ? 1 : 0));
  } else {
    for (PetscInt e = 0; e < d; e++) {
      double cube = 0;

      for (PetscInt k = 0; k < m; k++) {
        double gram = 0;

        for (PetscInt c = 0; c < n; c++) gram += D[e / n * n + c] * D[k * n + c];
        cube += gram * D[k * n + e % n];
      }
      off = PetscMax(off, fabs(cube - D[e]));
    }
    PetscCheck((nonzero > 0) == (size > 0.5), PETSC_COMM_SELF, PETSC_ERR_PLIB, "T8: layer %s, step %" PetscInt_FMT ": the step has size %g, the largest entry of G is %g", shape->name, step, size, nonzero);
  }
  PetscCheck(off <= tolerance, PETSC_COMM_SELF, PETSC_ERR_PLIB, "T8: layer %s, step %" PetscInt_FMT ": the step is off the sphere by %g, bound %g", shape->name, step, off, tolerance);
  *worst = PetscMax(*worst, off / tolerance);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds a number to the third entry of a worker's estimate of a layer */
typedef struct {
  const char *shard;
  PetscReal   add;
  PetscInt    found;
} Shift;

static PetscErrorCode ShiftEstimate(MuonStateVisitor *visitor, const MuonState *state)
{
  Shift *shift = (Shift *)visitor->ctx;

  PetscFunctionBegin;
  if (state->scratch || strcmp(state->name, "estimate") != 0 || strcmp(state->layer, shift->shard) != 0) PetscFunctionReturn(PETSC_SUCCESS);
  ((PetscScalar *)state->data)[2] += (PetscScalar)shift->add;
  shift->found++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Steps(const Problem *p, PetscInt steps, PetscReal *error, double *mpi)
{
  MuonTraffic traffic;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < steps; k++) PetscCall(MuonStep(p->muon));
  PetscCall(MuonEF21GetAggregateError(p->muon, error));
  PetscCall(MuonGetTraffic(p->muon, &traffic));
  *mpi = traffic.mpi;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The error that is measured is what rounding leaves, and what is missing: shifting one entry of the first worker's G_j by J makes the norm 1 */
static PetscErrorCode CheckError(const Problem *p)
{
  PetscReal        error;
  double           mpi[2], bytes = sizeof(double); /* the norm, behind whole estimates */
  MuonShard       *shard;
  Shift            shift = {NULL, 0, 0};
  MuonStateVisitor visitor;
  PetscBool        kept;

  PetscFunctionBegin;
  PetscCall(Steps(p, 3, &error, &mpi[0]));
  PetscCheck(error == -1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "An aggregate error of %g before it is measured", (double)error);
  PetscCall(Steps(p, 1, &error, &mpi[1]));
  /* Each of 4 steps rounds each of the sums once, of numbers that are below 8; entries are fewer than 256 */
  PetscCheck(error >= 0 && error <= 4 * 16 * 8 * (2 * p->size + 2) * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "An aggregate error of %g", (double)error);
  for (PetscInt l = 0; l < p->n; l++) {
    MuonLayerType type;

    PetscCall(MuonLayerGetType(p->layer[l].layer, &type));
    if (strcmp(type, MUONLAYERFROZEN) == 0) continue;
    PetscCall(MuonGetLayerState(p->muon, p->layer[l].layer, "estimate", NULL, &kept));
    if (kept) bytes += (double)(sizeof(PetscScalar) * (size_t)(p->layer[l].shape->m * p->layer[l].shape->n));
  }
  /* Messages of Top-K without codes are as long in each step */
  PetscCheck(mpi[1] - mpi[0] == bytes, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%g bytes more in a step that measures, expected %g", mpi[1] - mpi[0], bytes);
  PetscCall(Steps(p, 3, &error, &mpi[0]));
  PetscCall(MuonShardFind(p->muon, p->layer[1].layer, &shard));
  PetscCall(PetscMemzero(&visitor, sizeof(visitor)));
  shift.shard   = shard->name;
  shift.add     = p->rank == 0 ? (PetscReal)p->size : 0;
  visitor.visit = ShiftEstimate;
  visitor.ctx   = &shift;
  PetscCall(MuonVisitState(p->muon, &visitor));
  PetscCall(Steps(p, 1, &error, &mpi[0]));
  PetscCheck(shift.found == 1 && PetscAbsReal(error - 1) <= 10000 * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "An aggregate error of %g, expected 1", (double)error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static Store store[6];
  Problem      p;
  PetscInt     steps    = 1000;
  double       worst[3] = {0, 0, 0}, w[2 * 156];
  PetscBool    serves, measured;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-ef21_aggregate_error_interval", &measured));
  PetscCall(ProblemCreate(&p, 0, 0));
  if (measured) PetscCall(CheckError(&p));
  PetscCall(PetscMemzero(store, sizeof(store)));
  for (PetscInt l = 0; l < p.n; l++) PetscCall(ProblemGetRows(&p, l, "served", store[l].X, &serves));
  for (PetscInt s = 0; s < steps && !measured; s++) {
    PetscReal rate;

    PetscCall(MuonGetRate(p.muon, &rate));
    PetscCall(MuonStep(p.muon));
    PetscCall(ProblemGatherWeights(&p, p.comm, w)); /* T2: the ranks have the same bits */
    PetscCall(SumWorkers(&p, store));
    for (PetscInt l = 0; l < p.n; l++) {
      PetscCall(CheckAggregate(&p, l, s, &store[l], worst));
      PetscCall(CheckRadius(&p, l, s, rate, &store[l], &worst[2]));
    }
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, worst, 3, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "G is off the mean of G_j by at most %g, %g of the bound; steps are off their spheres by %g of the bound\n", worst[0], worst[1], worst[2]));
  PetscCall(ProblemDestroy(&p));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{1 2 3 4}}
    args: -steps 200 -problem_noise 4 -ef21_compressor_values natural -ef21_server_compressor_values natural -ef21_compressor_ratio 0.25 -ef21_server_compressor_ratio 0.25 -muon_learning_rate 0.01
    table: suffix | args
      topk  | -ef21_compressor topk -ef21_server_compressor topk
      rankk | -ef21_compressor rankk -ef21_server_compressor rankk -muon_exchange_type star

  # Natural values are sums of few bits, and their mean over 1, 2 or 4 workers is exact: these are not
  test:
    suffix: native
    nsize: {{2 3}}
    timeoutfactor: 3
    args: -problem_noise 4 -ef21_compressor topk -ef21_compressor_ratio 0.25 -ef21_server_compressor natural -ef21_compressor_values native -muon_learning_rate 0.01

  test:
    suffix: gradient
    nsize: 3
    args: -problem_noise 4 -ef21_init gradient -ef21_compressor natural -ef21_server_compressor topk -ef21_server_compressor_ratio 0.5 -muon_learning_rate 0.01 -muon_exchange_type replicated -steps 100

  test:
    suffix: error
    nsize: {{1 3}}
    args: -muon_exchange_type {{star layerwise replicated}} -ef21_aggregate_error_interval 4 -ef21_compressor_layers all -muon_layer_types wide:frozen,gain:adamw
    args: -ef21_compressor topk -ef21_compressor_ratio 0.25 -ef21_compressor_values natural -ef21_server_compressor topk -ef21_server_compressor_ratio 0.25

TEST*/
