static char help[] = "Exact ties on a dyadic grid: Top-K keeps the first entries in the order of memory, which is column by column, though matrices have gaps. Every number is exact, and done again by rows here.\n";

#include "ef21_common.h"

#define ENTRIES 60

/* Tall and wide, with gaps between the columns of the weights and without, a vector */
static const TestShape Shapes[4] = {{"tall", MUONLMOMAX, 12, 5, 4, PETSC_FALSE}, {"wide", MUONLMOMAX, 5, 12, 0, PETSC_FALSE}, {"odd", MUONLMOMAX, 7, 7, 1, PETSC_FALSE}, {"vec", MUONLMOMAX, 13, 1, 0, PETSC_TRUE}};

#define RATIO ((PetscReal)0.3)

/* out becomes out + C(x); repeatedly the first column by column of the largest entries that are left */
static void TopKAdd(const TestShape *shape, const PetscReal x[], PetscReal out[])
{
  const PetscInt m = shape->m, n = shape->n;
  PetscBool      kept[ENTRIES] = {PETSC_FALSE};
  PetscInt       K             = (PetscInt)(RATIO * (PetscReal)(m * n) + (PetscReal)1e-4);

  for (PetscInt left = PetscMax(1, K); left > 0; left--) {
    PetscInt best = -1;

    for (PetscInt k = 0; k < m * n; k++) {
      const PetscInt e = k % m * n + k / m;

      if (kept[e] == PETSC_FALSE && (best < 0 || PetscAbsReal(x[e]) > PetscAbsReal(x[best]))) best = e;
    }
    kept[best] = PETSC_TRUE;
    out[best] += x[best];
  }
}

/* What one layer of all workers should be, by rows */
typedef struct {
  PetscReal W[ENTRIES], X[ENTRIES], G[ENTRIES], M[4][ENTRIES], Gj[4][ENTRIES];
  PetscReal B[4][ENTRIES];
} Expected;

static void ExpectedStep(Expected *x, const TestShape *shape, PetscInt workers, PetscReal t)
{
  const PetscInt d            = TestEntries(shape);
  PetscReal      sum[ENTRIES] = {0}, residual[ENTRIES];

  for (PetscInt j = 0; j < workers; j++) {
    for (PetscInt e = 0; e < d; e++) {
      x->M[j][e]  = (x->M[j][e] + (x->W[e] - x->B[j][e])) / 2;
      residual[e] = x->M[j][e] - x->Gj[j][e];
    }
    TopKAdd(shape, residual, x->Gj[j]);
    TopKAdd(shape, residual, sum);
  }
  for (PetscInt e = 0; e < d; e++) {
    x->G[e] += sum[e] / (PetscReal)workers;
    x->X[e] -= x->G[e] > 0 ? t : x->G[e] < 0 ? -t : 0;
    residual[e] = x->X[e] - x->W[e];
  }
  TopKAdd(shape, residual, x->W);
}

static PetscErrorCode Compare(const char what[], const char layer[], PetscInt step, PetscInt d, const PetscReal got[], const PetscReal expected[])
{
  PetscFunctionBegin;
  for (PetscInt e = 0; e < d; e++)
    PetscCheck(got[e] == expected[e], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %s, step %" PetscInt_FMT ": %s at entry %" PetscInt_FMT " is %.17g, expected %.17g", layer, step, what, e, (double)got[e], (double)expected[e]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const TestCompression topk = {MUONCOMPRESSORTOPK, MUONCOMPRESSORTOPK, MUON_COMPRESSOR_VALUES_NATIVE, MUON_COMPRESSOR_VALUES_NATIVE, RATIO};
  /* A step of momentum 1/2 adds a bit to the mantissa */
  const PetscInt steps = PETSC_MACHINE_EPSILON < 1e-10 ? 30 : 12;
  Expected      *expected;
  TestProblem    p;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestCreate(PETSC_COMM_WORLD, MUONEF21, 4, Shapes, -1, &p));
  PetscCall(TestCompress(&p, &topk));
  PetscCall(MuonSetMomentum(p.muon, (PetscReal)0.5, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
  PetscCall(MuonSetLearningRate(p.muon, (PetscReal)0.25));
  PetscCall(MuonSetFromOptions(p.muon));
  PetscCall(PetscCalloc1(4, &expected));
  for (PetscInt l = 0; l < 4; l++) {
    const PetscInt d = TestEntries(&Shapes[l]);

    /*
       Few different numbers: weights in multiples of 1/2, optima in odd multiples of 1/8, so that nothing is
       zero
    */
    for (PetscInt e = 0; e < d; e++) {
      expected[l].W[e] = expected[l].X[e] = PetscFloorReal(3 * TestNumber(l, e, 0, 1)) / 2;
      for (PetscInt j = 0; j < p.size; j++) expected[l].B[j][e] = PetscFloorReal(3 * TestNumber(l, e, j, 7)) + (PetscReal)0.125;
      p.B[l][e] = expected[l].B[p.rank][e];
      p.H[l][e] = 1;
    }
    PetscCall(TestSetWeights(&p, l, expected[l].W));
  }
  for (PetscInt s = 0; s < steps; s++) {
    PetscCall(MuonStep(p.muon));
    for (PetscInt l = 0; l < 4; l++) {
      const PetscInt d = TestEntries(&Shapes[l]);
      PetscReal      rows[ENTRIES];
      PetscBool      serves = PETSC_FALSE;
      Mat            M, Gj, G;

      ExpectedStep(&expected[l], &Shapes[l], p.size, (PetscReal)0.25);
      PetscCall(TestGetWeights(&p, l, rows));
      PetscCall(Compare("W", Shapes[l].name, s, d, rows, expected[l].W));
      PetscCall(TestGetEF21State(p.muon, p.layer[l], &M, &Gj, &G));
      PetscCall(TestMatGetRows(M, rows));
      PetscCall(Compare("M", Shapes[l].name, s, d, rows, expected[l].M[p.rank]));
      PetscCall(TestMatGetRows(Gj, rows));
      PetscCall(Compare("G_j", Shapes[l].name, s, d, rows, expected[l].Gj[p.rank]));
      PetscCall(TestGetServerWeights(&p, l, rows, &serves));
      if (serves == PETSC_TRUE) PetscCall(Compare("X", Shapes[l].name, s, d, rows, expected[l].X));
      if (serves == PETSC_TRUE) PetscCall(TestMatGetRows(G, rows));
      /* A third is not on the grid: there only the sign of G must be right, which X shows */
      if (serves == PETSC_TRUE && p.size != 3) PetscCall(Compare("G", Shapes[l].name, s, d, rows, expected[l].G));
    }
  }
  PetscCall(PetscFree(expected));
  PetscCall(TestDestroy(&p));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3 4}}
    args: -muon_exchange_type {{star layerwise}}

TEST*/
