static char help[] = "What a caller may do to layers: give no gradient, freeze them, change their weights, begin again.\n";

#include "ef21_common.h"

#define STEPS 6
#define WAYS  8

static const TestCompression TopK = {MUONCOMPRESSORTOPK, MUONCOMPRESSORTOPK, MUON_COMPRESSOR_VALUES_NATURAL, MUON_COMPRESSOR_VALUES_SINGLE, (PetscReal)0.3};

typedef struct {
  MuonType         type;
  MuonExchangeType exchange;
  MuonExchangeMode mode;
} Way;

static const Way Ways[WAYS] = {{MUONDENSE, MUONEXCHANGESTAR, MUON_EXCHANGE_MODE_REDUCE},      {MUONDENSE, MUONEXCHANGELAYERWISE, MUON_EXCHANGE_MODE_REDUCE},  {MUONDENSE, MUONEXCHANGEREPLICATED, MUON_EXCHANGE_MODE_ALLREDUCE},
                               {MUONDENSE, MUONEXCHANGELAYERWISE, MUON_EXCHANGE_MODE_GATHER}, {MUONDENSE, MUONEXCHANGEREPLICATED, MUON_EXCHANGE_MODE_GATHER}, {MUONEF21, MUONEXCHANGESTAR, MUON_EXCHANGE_MODE_GATHER},
                               {MUONEF21, MUONEXCHANGELAYERWISE, MUON_EXCHANGE_MODE_GATHER},  {MUONEF21, MUONEXCHANGEREPLICATED, MUON_EXCHANGE_MODE_GATHER}};

static PetscErrorCode CreateWay(const Way *way, PetscInt n, const TestShape shape[], TestProblem *p)
{
  MuonExchange exchange;

  PetscFunctionBegin;
  PetscCall(TestCreate(PETSC_COMM_WORLD, way->type, n, shape, -1, p));
  p->noise = 2;
  if (strcmp(way->type, MUONEF21) == 0) PetscCall(TestCompress(p, &TopK));
  PetscCall(MuonGetExchange(p->muon, &exchange));
  PetscCall(MuonExchangeSetType(exchange, way->exchange));
  PetscCall(MuonExchangeSetMode(exchange, way->mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckSame(const Way *way, TestProblem *p, TestProblem *q, const char what[], PetscInt step)
{
  PetscReal difference;

  PetscFunctionBegin;
  PetscCall(TestCheckReplicas(p, what, step));
  PetscCall(TestCompareWeights(p, q, &difference));
  PetscCheck(difference == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s, %s: %s: weights differ by %g after step %" PetscInt_FMT, way->type, way->exchange, MuonExchangeModes[way->mode], what, (double)difference, step);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A gradient of the caller's own, with gaps where it is a matrix */
static PetscErrorCode GiveGradient(TestProblem *p, PetscInt l, const PetscReal rows[])
{
  Mat          G;
  Vec          g;
  PetscScalar *array;

  PetscFunctionBegin;
  if (p->shape[l].vec == PETSC_TRUE) {
    PetscCall(VecCreateSeq(PETSC_COMM_SELF, p->shape[l].m, &g));
    PetscCall(VecGetArray(g, &array));
    for (PetscInt e = 0; e < p->shape[l].m; e++) array[e] = rows[e];
    PetscCall(VecRestoreArray(g, &array));
    PetscCall(MuonLayerSetGradientVec(p->layer[l], g));
    PetscCall(VecDestroy(&g));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatCreate(PETSC_COMM_SELF, &G));
  PetscCall(MatSetSizes(G, p->shape[l].m, p->shape[l].n, p->shape[l].m, p->shape[l].n));
  PetscCall(MatSetType(G, MATSEQDENSE));
  PetscCall(MatDenseSetLDA(G, p->shape[l].m + 2));
  PetscCall(MatSeqDenseSetPreallocation(G, NULL));
  PetscCall(TestMatSetRows(G, rows));
  PetscCall(MuonLayerSetGradient(p->layer[l], G));
  PetscCall(MatDestroy(&G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetGivenGradient(TestProblem *p, PetscInt l, PetscReal rows[])
{
  Mat                G;
  Vec                g;
  const PetscScalar *array;

  PetscFunctionBegin;
  if (p->shape[l].vec == PETSC_TRUE) {
    PetscCall(MuonLayerGetGradientVec(p->layer[l], &g));
    PetscCall(VecGetArrayRead(g, &array));
    for (PetscInt e = 0; e < p->shape[l].m; e++) rows[e] = PetscRealPart(array[e]);
    PetscCall(VecRestoreArrayRead(g, &array));
  } else {
    PetscCall(MuonLayerGetGradient(p->layer[l], &G));
    PetscCall(TestMatGetRows(G, rows));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   No gradient is one of zeros, at some ranks or at all. Without a routine for the gradients, q in the
   caller's own matrices
*/
static PetscErrorCode CheckMissing(const Way *way)
{
  TestProblem p, q;

  PetscFunctionBegin;
  PetscCall(CreateWay(way, TEST_LAYERS, TestShapes, &p));
  PetscCall(CreateWay(way, TEST_LAYERS, TestShapes, &q));
  PetscCall(MuonSetObjectiveAndGradient(p.muon, NULL, NULL));
  PetscCall(MuonSetObjectiveAndGradient(q.muon, NULL, NULL));
  for (PetscInt s = 0; s < STEPS; s++) {
    for (PetscInt l = 0; l < p.n; l++) {
      const PetscInt  d       = TestEntries(&p.shape[l]);
      const PetscBool missing = (s + l + p.rank) % 3 == 0 || (s + l) % 4 == 0 ? PETSC_TRUE : PETSC_FALSE;
      PetscReal      *rows;

      PetscCall(PetscMalloc1(d, &rows));
      for (PetscInt e = 0; e < d; e++) rows[e] = missing == PETSC_TRUE ? 0 : TestNumber(l, e, p.rank, 100 + s);
      if (missing == PETSC_TRUE) PetscCall(MuonLayerSetGradient(p.layer[l], NULL));
      else PetscCall(TestSetGradient(&p, l, rows));
      PetscCall(GiveGradient(&q, l, rows));
      PetscCall(PetscFree(rows));
    }
    PetscCall(MuonStep(p.muon));
    PetscCall(MuonStep(q.muon));
    PetscCall(CheckSame(way, &p, &q, "no gradient", s));
    /* The caller's matrices are not written to */
    for (PetscInt l = 0; l < q.n; l++) {
      const PetscBool missing = (s + l + p.rank) % 3 == 0 || (s + l) % 4 == 0 ? PETSC_TRUE : PETSC_FALSE;
      PetscReal       rows[100];

      PetscCall(GetGivenGradient(&q, l, rows));
      for (PetscInt e = 0; e < TestEntries(&q.shape[l]); e++) PetscCheck(rows[e] == (missing == PETSC_TRUE ? 0 : TestNumber(l, e, p.rank, 100 + s)), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %s: the caller's gradient was changed", q.shape[l].name);
    }
  }
  PetscCall(TestDestroy(&p));
  PetscCall(TestDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Layers 3 and up frozen is the same as only having the layers below, in weights and in every count of bits
   and bytes
*/
static PetscErrorCode CheckFrozen(const Way *way)
{
  TestProblem p, q;
  PetscReal   rows[100];

  PetscFunctionBegin;
  PetscCall(CreateWay(way, TEST_LAYERS, TestShapes, &p));
  PetscCall(CreateWay(way, 3, TestShapes, &q));
  PetscCall(MuonSetParameter(p.muon, "muon_count_entropy", "true"));
  PetscCall(MuonSetParameter(q.muon, "muon_count_entropy", "true"));
  for (PetscInt l = 3; l < TEST_LAYERS; l++) PetscCall(MuonLayerSetType(p.layer[l], MUONLAYERFROZEN));
  for (PetscInt s = 0; s < STEPS; s++) {
    MuonTraffic a, b;
    PetscInt    m, n;

    PetscCall(MuonStep(p.muon));
    PetscCall(MuonStep(q.muon));
    for (PetscInt l = 0; l < 3; l++) {
      PetscReal other[100];

      PetscCall(TestGetWeights(&p, l, rows));
      PetscCall(TestGetWeights(&q, l, other));
      PetscCall(MuonLayerGetSize(p.layer[l], &m, &n));
      PetscCheck(memcmp(rows, other, (size_t)(m * n) * sizeof(*rows)) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %s moves differently beside frozen layers", p.shape[l].name);
    }
    for (PetscInt l = 3; l < TEST_LAYERS; l++) {
      PetscCall(TestGetWeights(&p, l, rows));
      for (PetscInt e = 0; e < TestEntries(&p.shape[l]); e++) PetscCheck(rows[e] == TestNumber(l, e, 0, 1), PETSC_COMM_SELF, PETSC_ERR_PLIB, "The frozen layer %s moved", p.shape[l].name);
    }
    PetscCall(MuonGetTraffic(p.muon, &a));
    PetscCall(MuonGetTraffic(q.muon, &b));
    PetscCheck(a.mpi == b.mpi && a.dense == b.dense, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: with frozen layers %g bytes of %g, without them %g of %g", way->type, way->exchange, a.mpi, a.dense / 8, b.mpi, b.dense / 8);
    for (PetscInt k = 0; k < 3; k++) {
      /* The paper charges each index what the largest matrix needs, which is the same here */
      PetscCheck(a.up[k] == b.up[k] && a.down[k] == b.down[k] && a.total_up[k] == b.total_up[k] && a.total_down[k] == b.total_down[k], PETSC_COMM_SELF, PETSC_ERR_PLIB,
                 "%s, %s: figure %" PetscInt_FMT " is %g and %g bits with frozen layers, %g and %g without them", way->type, way->exchange, k, a.up[k], a.down[k], b.up[k], b.down[k]);
    }
    PetscCheck(a.up[1] > 0 && a.dense > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Nothing was sent");
  }
  PetscCall(TestDestroy(&p));
  PetscCall(TestDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All frozen: nothing moves and nothing fails */
static PetscErrorCode CheckAllFrozen(const Way *way)
{
  TestProblem p;
  MuonTraffic traffic;
  PetscReal   rows[100];

  PetscFunctionBegin;
  PetscCall(CreateWay(way, 2, TestShapes, &p));
  for (PetscInt l = 0; l < p.n; l++) PetscCall(MuonLayerSetType(p.layer[l], MUONLAYERFROZEN));
  PetscCall(MuonStep(p.muon));
  PetscCall(MuonStep(p.muon));
  PetscCall(MuonGetTraffic(p.muon, &traffic));
  PetscCheck(traffic.up[1] == 0 && traffic.down[1] == 0 && traffic.dense == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Frozen layers sent %g bits up, %g down", traffic.up[1], traffic.down[1]);
  for (PetscInt l = 0; l < p.n; l++) {
    PetscCall(TestGetWeights(&p, l, rows));
    for (PetscInt e = 0; e < TestEntries(&p.shape[l]); e++) PetscCheck(rows[e] == TestNumber(l, e, 0, 1), PETSC_COMM_SELF, PETSC_ERR_PLIB, "The frozen layer %s moved", p.shape[l].name);
  }
  PetscCall(TestDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   After a reset, at the first weights, the same run has the same bits; without the reset it has not. The
   moments of types are forgotten too
*/
static PetscErrorCode CheckReset(const Way *way)
{
  TestProblem p, q;
  PetscInt    step;
  PetscReal   difference;

  PetscFunctionBegin;
  PetscCall(CreateWay(way, TEST_LAYERS, TestShapes, &p));
  PetscCall(CreateWay(way, TEST_LAYERS, TestShapes, &q));
  PetscCall(MuonLayerSetType(p.layer[4], MUONLAYERADAMW));
  PetscCall(MuonLayerSetType(q.layer[4], MUONLAYERADAMW));
  for (PetscInt s = 0; s < STEPS; s++) {
    PetscCall(MuonStep(p.muon));
    PetscCall(MuonStep(q.muon));
  }
  PetscCall(MuonReset(q.muon));
  PetscCall(MuonGetStepNumber(q.muon, &step));
  PetscCheck(step == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt_FMT " after a reset", step);
  PetscCall(TestStart(&q));
  for (PetscInt s = 0; s < STEPS; s++) PetscCall(MuonStep(q.muon));
  PetscCall(CheckSame(way, &p, &q, "reset", STEPS));
  /* Control: what a run that remembers would do */
  PetscCall(TestStart(&q));
  PetscCall(MuonWeightsChanged(q.muon));
  for (PetscInt s = 0; s < STEPS; s++) PetscCall(MuonStep(q.muon));
  PetscCall(TestCompareWeights(&p, &q, &difference));
  PetscCheck(difference > (PetscReal)1e-4, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The test does not see the state");
  PetscCall(TestDestroy(&p));
  PetscCall(TestDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   New weights are the servers' at once, and the next step begins from them: max and Frobenius layers move by
   their radius, in the norm
*/
static PetscErrorCode CheckWeightsChanged(const Way *way)
{
  const PetscReal t = (PetscReal)0.02;
  TestProblem     p;

  PetscFunctionBegin;
  PetscCall(CreateWay(way, TEST_LAYERS, TestShapes, &p));
  for (PetscInt s = 0; s < STEPS; s++) PetscCall(MuonStep(p.muon));
  for (PetscInt l = 0; l < p.n; l++) {
    PetscReal rows[100];

    for (PetscInt e = 0; e < TestEntries(&p.shape[l]); e++) rows[e] = 5 * TestNumber(l, e, 3, 3);
    PetscCall(TestSetWeights(&p, l, rows));
  }
  PetscCall(MuonWeightsChanged(p.muon));
  for (PetscInt after = 0; after < 2; after++) {
    if (after == 1) PetscCall(MuonStep(p.muon));
    for (PetscInt l = 0; l < p.n; l++) {
      PetscReal X[100], most = 0, square = 0, moved, allowed;
      PetscBool serves = PETSC_FALSE;

      PetscCall(TestGetServerWeights(&p, l, X, &serves));
      if (serves == PETSC_FALSE) continue;
      for (PetscInt e = 0; e < TestEntries(&p.shape[l]); e++) {
        const PetscReal r = PetscAbsReal(X[e] - 5 * TestNumber(l, e, 3, 3));

        most = PetscMax(most, r);
        square += r * r;
      }
      if (after == 0) {
        PetscCheck(most == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: layer %s: the server does not have the new weights", way->type, way->exchange, p.shape[l].name);
        continue;
      }
      moved = strcmp(p.shape[l].norm, MUONLMOMAX) == 0 ? most : PetscSqrtReal(square);
      /* Of a unit spectral norm, which has a Frobenius norm of at most the root of the rank */
      allowed = t * (strcmp(p.shape[l].norm, MUONLMOSPECTRAL) == 0 ? PetscSqrtReal((PetscReal)PetscMin(p.shape[l].m, p.shape[l].n)) : 1);
      PetscCheck(moved >= t * (1 - 1000 * PETSC_MACHINE_EPSILON) && moved <= allowed * (1 + 1000 * PETSC_MACHINE_EPSILON), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: layer %s moved by %g from the new weights, expected %g to %g", way->type,
                 way->exchange, p.shape[l].name, (double)moved, (double)t, (double)allowed);
    }
  }
  PetscCall(TestDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  for (PetscInt w = 0; w < WAYS; w++) {
    PetscCall(CheckMissing(&Ways[w]));
    PetscCall(CheckFrozen(&Ways[w]));
    PetscCall(CheckAllFrozen(&Ways[w]));
    PetscCall(CheckReset(&Ways[w]));
    PetscCall(CheckWeightsChanged(&Ways[w]));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 4}}

TEST*/
