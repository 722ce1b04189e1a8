static char help[] = "What a caller may do to layers: give no gradient, freeze them, change their weights, begin again.\n\n";

#include "problem.h"

enum {
  STEPS = 6,
  MOST  = 6 * 6 + 9 * 4 + 4 * 9 + 7 + 11 + 10 * 3
};

static PetscErrorCode CheckSame(Problem *p, Problem *q, const char what[])
{
  double a[MOST] = {0}, b[MOST] = {0};

  PetscFunctionBegin;
  PetscCall(ProblemGatherWeights(p, PETSC_COMM_WORLD, a));
  PetscCall(ProblemGatherWeights(q, PETSC_COMM_WORLD, b));
  PetscCheck(memcmp(a, b, sizeof(a)) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: other weights", what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A gradient of the caller's own, with gaps where it is a matrix */
static PetscErrorCode GiveGradient(const ProblemLayer *l)
{
  Mat G;
  Vec g;

  PetscFunctionBegin;
  if (l->shape->kind == PROBLEM_VEC) {
    PetscCall(VecCreateSeq(PETSC_COMM_SELF, l->shape->m, &g));
    PetscCall(MuonLayerSetGradientVec(l->layer, g));
    PetscCall(VecDestroy(&g));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatCreate(PETSC_COMM_SELF, &G));
  PetscCall(MatSetSizes(G, l->shape->m, l->shape->n, l->shape->m, l->shape->n));
  PetscCall(MatSetType(G, MATSEQDENSE));
  PetscCall(MatDenseSetLDA(G, l->shape->m + 2));
  PetscCall(MatSeqDenseSetPreallocation(G, NULL));
  PetscCall(MuonLayerSetGradient(l->layer, G));
  PetscCall(MatDestroy(&G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Zeros take the place of a gradient that is missing; or all entries are looked at, which depend on no weights */
static PetscErrorCode MoveGradient(Problem *q, PetscInt l, PetscInt step, PetscBool missing, PetscBool look)
{
  ProblemArray g;
  void        *far;

  PetscFunctionBegin;
  PetscCall(ProblemGetGradient(q, &q->layer[l], &g, &far));
  for (PetscInt i = 0; i < g.count; i++) {
    for (PetscInt j = 0; j < q->layer[l].shape->n; j++) {
      if (missing && !look) ProblemPut(&g, i, j, 0);
      PetscCheck(!look || ProblemGet(&g, i, j) == (missing ? 0 : ProblemGradient(q, l, i, j, step, 0)), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %s: the caller's gradient was changed", q->layer[l].shape->name);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No gradient is one of zeros, at some ranks or at all. Without a routine for the gradients, q in the caller's own matrices, which are not written to */
static PetscErrorCode CheckMissing(void)
{
  Problem p, q;

  PetscFunctionBegin;
  PetscCall(PetscOptionsInsertString(NULL, "-problem_routine 0 -problem_curvature 0"));
  PetscCall(ProblemCreate(&p, 0, 0));
  PetscCall(ProblemCreate(&q, 0, 0));
  PetscCall(PetscOptionsClearValue(NULL, "-problem_routine"));
  PetscCall(PetscOptionsClearValue(NULL, "-problem_curvature"));
  for (PetscInt l = 0; l < q.n; l++) PetscCall(GiveGradient(&q.layer[l]));
  for (PetscInt s = 0; s < STEPS; s++) {
    PetscCall(ProblemSetGradients(&p, s));
    PetscCall(ProblemSetGradients(&q, s));
    for (int look = 0; look < 2; look++) {
      for (PetscInt l = 0; l < p.n; l++) {
        const PetscBool missing = (s + l + p.rank) % 3 == 0 || (s + l) % 4 == 0 ? PETSC_TRUE : PETSC_FALSE;

        if (missing && look == 0) PetscCall(MuonLayerSetGradient(p.layer[l].layer, NULL));
        PetscCall(MoveGradient(&q, l, s, missing, look ? PETSC_TRUE : PETSC_FALSE));
      }
      if (look) continue;
      PetscCall(MuonStep(p.muon));
      PetscCall(MuonStep(q.muon));
      PetscCall(CheckSame(&p, &q, "no gradient"));
    }
  }
  PetscCall(ProblemDestroy(&p));
  PetscCall(ProblemDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Layers from the n-th on frozen are the same as only having the layers before, in weights and in every count of bits and bytes; where all are, nothing moves and nothing fails */
static PetscErrorCode CheckFrozen(PetscInt n)
{
  double  a[MOST] = {0}, b[MOST] = {0};
  Problem p, q;

  PetscFunctionBegin;
  PetscCall(PetscOptionsInsertString(NULL, "-muon_count_entropy"));
  PetscCall(ProblemCreate(&p, 0, 0));
  PetscCall(PetscOptionsInsertString(NULL, "-problem_layers square,tall,wide"));
  PetscCall(ProblemCreate(&q, 0, 0));
  PetscCall(PetscOptionsClearValue(NULL, "-problem_layers"));
  PetscCall(PetscOptionsClearValue(NULL, "-muon_count_entropy"));
  for (PetscInt l = n; l < p.n; l++) PetscCall(MuonLayerSetType(p.layer[l].layer, MUONLAYERFROZEN));
  for (PetscInt s = 0; s < STEPS; s++) {
    PetscInt    at = 0;
    MuonTraffic x, y;

    PetscCall(MuonStep(p.muon));
    PetscCall(MuonStep(q.muon));
    PetscCall(ProblemGatherWeights(&p, PETSC_COMM_WORLD, a));
    PetscCall(ProblemGatherWeights(&q, PETSC_COMM_WORLD, b));
    PetscCall(MuonGetTraffic(p.muon, &x));
    PetscCall(MuonGetTraffic(q.muon, &y));
    if (n == 0) {
      PetscCall(PetscMemzero(&y, sizeof(y)));
      y.mpi = x.mpi; /* of the agreement */
    }
    for (PetscInt l = 0; l < p.n; l++) {
      const PetscInt d = p.layer[l].shape->m * p.layer[l].shape->n;

      for (PetscInt e = 0; e < d; e++) PetscCheck(a[at + e] == (l < n ? b[at + e] : ProblemNumber(l, e, 0, 1)), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %s of which those from %" PetscInt_FMT " on are frozen", p.layer[l].shape->name, n);
      at += d;
    }
    PetscCheck(x.mpi == y.mpi && x.dense == y.dense, PETSC_COMM_SELF, PETSC_ERR_PLIB, "With frozen layers %g bytes of %g, without them %g of %g", x.mpi, x.dense / 8, y.mpi, y.dense / 8);
    /* The paper charges each index what the largest matrix needs, which is the same here */
    for (int k = 0; k < (n > 0 ? 3 : 2); k++) {
      PetscCheck(x.up[k] == y.up[k] && x.down[k] == y.down[k] && x.total_up[k] == y.total_up[k] && x.total_down[k] == y.total_down[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Figure %d is %g and %g bits with frozen layers, %g and %g without them", k,
                 x.up[k], x.down[k], y.up[k], y.down[k]);
    }
    PetscCheck(n == 0 || (x.up[1] > 0 && x.dense > 0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Nothing was sent");
  }
  PetscCall(ProblemDestroy(&p));
  PetscCall(ProblemDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From the first weights again */
static PetscErrorCode Again(Problem *q)
{
  PetscFunctionBegin;
  for (PetscInt l = 0; l < q->n; l++) PetscCall(ProblemStart(q, l));
  PetscCall(MuonWeightsChanged(q->muon));
  for (PetscInt s = 0; s < STEPS; s++) PetscCall(MuonStep(q->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After a reset, at the first weights, the same run has the same bits; without the reset it has not. The moments of types are forgotten too */
static PetscErrorCode CheckReset(void)
{
  double    a[MOST] = {0}, b[MOST] = {0}, difference = 0;
  Problem   p, q;
  PetscInt  step;
  PetscBool moments = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&p, 0, 0));
  PetscCall(ProblemCreate(&q, 0, 0));
  for (Problem *one = &p; moments; one = &q) {
    PetscCall(MuonLayerSetType(one->layer[4].layer, MUONLAYERADAMW));
    for (PetscInt s = 0; s < STEPS; s++) PetscCall(MuonStep(one->muon));
    moments = one == &p ? PETSC_TRUE : PETSC_FALSE;
  }
  PetscCall(MuonReset(q.muon));
  PetscCall(MuonGetStepNumber(q.muon, &step));
  PetscCheck(step == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt_FMT " after a reset", step);
  PetscCall(Again(&q));
  PetscCall(CheckSame(&p, &q, "after a reset"));
  /* Control: what a run that remembers would do */
  PetscCall(Again(&q));
  PetscCall(ProblemGatherWeights(&p, PETSC_COMM_WORLD, a));
  PetscCall(ProblemGatherWeights(&q, PETSC_COMM_WORLD, b));
  for (int e = 0; e < MOST; e++) difference = PetscMax(difference, fabs(a[e] - b[e]));
  PetscCheck(difference > 1e-4, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The test does not see the state");
  PetscCall(ProblemDestroy(&p));
  PetscCall(ProblemDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New weights are the servers' at once, and the next step begins from them: max and Frobenius layers move by their radius, in the norm */
static PetscErrorCode CheckWeightsChanged(void)
{
  const double t = 0.02, few = 1000 * (double)PETSC_MACHINE_EPSILON;
  Problem      p;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&p, 0, 0));
  for (PetscInt s = 0; s < STEPS; s++) PetscCall(MuonStep(p.muon));
  for (PetscInt l = 0; l < p.n; l++) {
    for (PetscInt e = 0; e < p.layer[l].shape->m * p.layer[l].shape->n; e++) ProblemPut(&p.layer[l].weights, e / p.layer[l].shape->n, e % p.layer[l].shape->n, 5 * ProblemNumber(l, e, 3, 3));
  }
  PetscCall(MuonWeightsChanged(p.muon));
  for (int after = 0; after < 2; after++) {
    if (after == 1) PetscCall(MuonStep(p.muon));
    for (PetscInt l = 0; l < p.n; l++) {
      const ProblemShape *s    = p.layer[l].shape;
      double              most = 0, square = 0, moved, allowed;
      const PetscScalar  *x;
      PetscBool           serves;
      Mat                 X;

      PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, s->m, s->n, NULL, &X));
      PetscCall(MuonLayerGetServerWeights(p.layer[l].layer, X, &serves));
      PetscCall(MatDenseGetArrayRead(X, &x));
      for (PetscInt e = 0; e < s->m * s->n; e++) {
        const double r = fabs((double)PetscRealPart(x[e / s->n + e % s->n * s->m]) - 5 * ProblemNumber(l, e, 3, 3));

        most = PetscMax(most, r);
        square += r * r;
      }
      PetscCall(MatDenseRestoreArrayRead(X, &x));
      PetscCall(MatDestroy(&X));
      moved = strcmp(s->norm, MUONLMOMAX) == 0 ? most : sqrt(square);
      /* Of a unit spectral norm, which has a Frobenius norm of at most the root of the rank */
      allowed = t * (strcmp(s->norm, MUONLMOSPECTRAL) == 0 ? sqrt((double)PetscMin(s->m, s->n)) : 1);
      PetscCheck(!serves || (after == 0 ? most == 0 : moved >= t * (1 - few) && moved <= allowed * (1 + few)), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %s moved by %g from the new weights in step %d, expected %g to %g", s->name, moved, after, t,
                 allowed);
    }
  }
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(CheckMissing());
  PetscCall(CheckFrozen(3));
  PetscCall(CheckFrozen(0));
  PetscCall(CheckReset());
  PetscCall(CheckWeightsChanged());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{1 2 4}}
    args: -problem_setup 0
    table: suffix | args
      dense   | -muon_type dense -muon_exchange_type {{star layerwise}} -muon_exchange_mode reduce
      gathers | -muon_type dense -muon_exchange_type {{layerwise replicated}} -muon_exchange_mode gather
      all     | -muon_type dense -muon_exchange_type replicated -muon_exchange_mode allreduce
      ef21    | -muon_type ef21 -muon_exchange_type {{star layerwise replicated}} -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_compressor_values natural -ef21_server_compressor topk -ef21_server_compressor_ratio 0.3

TEST*/
