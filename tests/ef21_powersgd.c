static char help[] = "EF21 with compressors that keep something: every rank and every exchange the same, a step that fails leaves no trace, layers have their own choices, and memory is counted.\n";

#include "ef21_common.h"
#include "parameters.h"

#define STEPS 6
#define RATIO 0.4

static PetscBool BadLoss = PETSC_FALSE;

static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(TestObjective(muon, loss, ctx));
  if (BadLoss) *loss = (PetscReal)NAN;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One key for all layers, one for h0.up alone, in each direction; two sweeps are set by a call */
static PetscErrorCode Create(MuonExchangeType exchange, MuonCompressorType type, PetscBool options, TestProblem *p)
{
  const TestCompression compression = {type, type, MUON_COMPRESSOR_VALUES_NATURAL, MUON_COMPRESSOR_VALUES_SINGLE, RATIO};
  const char *const     keys[][2]   = {{"-ef21_server_compressor_powersgd_sweeps", "3"}, {"-muon_layer_h0.up_ef21_compressor_powersgd_sweeps", "4"}, {"-muon_layer_h0.up_ef21_server_compressor_powersgd_oversampling", "2"}};
  MuonExchange          e;
  MuonCompressor        c;

  PetscFunctionBegin;
  PetscCall(TestCreate(PETSC_COMM_WORLD, MUONEF21, TEST_LAYERS, TestShapes, -1, p));
  PetscCall(MuonSetObjectiveAndGradient(p->muon, Objective, p));
  p->noise = 4;
  PetscCall(MuonGetExchange(p->muon, &e));
  PetscCall(MuonExchangeSetType(e, exchange));
  PetscCall(TestCompress(p, &compression));
  PetscCall(MuonEF21GetCompressor(p->muon, &c));
  if (strcmp(type, MUONCOMPRESSORPOWERSGD) == 0) PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_powersgd_sweeps", "2"));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(keys) && options; k++) PetscCall(PetscOptionsSetValue(NULL, keys[k][0], keys[k][1]));
  PetscCall(MuonSetFromOptions(p->muon));
  PetscCall(MuonSetUp(p->muon));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(keys) && options; k++) PetscCall(PetscOptionsClearValue(NULL, keys[k][0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Step(TestProblem *p, MuonConvergedReason wanted)
{
  MuonConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(MuonStep(p->muon));
  PetscCall(MuonGetConvergedReason(p->muon, &reason));
  PetscCheck(reason == wanted, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, expected %s", MuonConvergedReasons[reason], MuonConvergedReasons[wanted]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckChoices(TestProblem *p)
{
  PetscFunctionBegin;
  for (PetscInt l = 0; l < p->n; l++) {
    const PetscBool own = strcmp(p->shape[l].name, "h0.up") == 0 ? PETSC_TRUE : PETSC_FALSE;
    MuonCompressor  up, down;
    PetscInt        found[4];

    PetscCall(MuonEF21GetLayerCompressors(p->muon, p->layer[l], &up, &down));
    PetscCall(GetInt((PetscObject)up, "compressor_powersgd_sweeps", &found[0]));
    PetscCall(GetInt((PetscObject)up, "compressor_powersgd_oversampling", &found[1]));
    PetscCall(GetInt((PetscObject)down, "compressor_powersgd_sweeps", &found[2]));
    PetscCall(GetInt((PetscObject)down, "compressor_powersgd_oversampling", &found[3]));
    PetscCheck(found[0] == (own ? 4 : 2) && found[1] == 0 && found[2] == 3 && found[3] == (own ? 2 : 0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %s: %" PetscInt_FMT " and %" PetscInt_FMT " up, %" PetscInt_FMT " and %" PetscInt_FMT " down",
               p->shape[l].name, found[0], found[1], found[2], found[3]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What powersgd holds more than rankk: two bases a sender and layer, those of the servers at the servers */
static PetscErrorCode CheckMemory(TestProblem *p, TestProblem *without)
{
  PetscLogDouble worker[2], server[2], expected[2] = {0, 0};

  PetscFunctionBegin;
  PetscCall(MuonGetMemory(p->muon, &worker[0], &server[0], NULL));
  PetscCall(MuonGetMemory(without->muon, &worker[1], &server[1], NULL));
  for (PetscInt l = 0; l < p->n; l++) {
    const PetscInt least = PetscMin(p->shape[l].m, p->shape[l].n), rank = PetscMax(1, (PetscInt)(RATIO * (double)least + 1e-6));
    Mat            X;

    PetscCall(TestGetLayerServerWeights(p->layer[l], &X));
    expected[0] += 2.0 * sizeof(PetscScalar) * p->shape[l].n * rank;
    if (X != NULL) expected[1] += 2.0 * sizeof(PetscScalar) * p->shape[l].n * PetscMin(least, strcmp(p->shape[l].name, "h0.up") == 0 ? rank + 2 : rank);
  }
  PetscCheck(worker[0] - worker[1] == expected[0] && server[0] - server[1] == expected[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%g and %g bytes of state, expected %g and %g", worker[0] - worker[1], server[0] - server[1], expected[0], expected[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const MuonExchangeType exchanges[] = {MUONEXCHANGESTAR, MUONEXCHANGELAYERWISE, MUONEXCHANGEREPLICATED};
  TestProblem            star, rankk;
  PetscReal              difference;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(Create(MUONEXCHANGESTAR, MUONCOMPRESSORPOWERSGD, PETSC_TRUE, &star));
  PetscCall(CheckChoices(&star));
  for (PetscInt k = 0; k < STEPS; k++) PetscCall(Step(&star, MUON_CONVERGED_ITERATING));
  for (size_t e = 0; e < PETSC_STATIC_ARRAY_LENGTH(exchanges); e++) {
    TestProblem p;

    PetscCall(Create(exchanges[e], MUONCOMPRESSORPOWERSGD, PETSC_TRUE, &p));
    for (PetscInt k = 0; k < STEPS; k++) {
      const PetscReal scale = p.scale;

      /*
         Two steps that fail: one worker cannot write its message, and all have written theirs when the loss
         of one is no number
      */
      if (k % 2 == 1 && p.rank == p.size - 1) p.scale = (PetscReal)NAN;
      if (k % 2 == 1) PetscCall(Step(&p, MUON_DIVERGED_NANORINF));
      p.scale = scale;
      BadLoss = k % 3 == 2 && p.rank == 0 ? PETSC_TRUE : PETSC_FALSE;
      if (k % 3 == 2) PetscCall(Step(&p, MUON_DIVERGED_NANORINF));
      BadLoss = PETSC_FALSE;
      PetscCall(Step(&p, MUON_CONVERGED_ITERATING));
      PetscCall(TestCheckReplicas(&p, exchanges[e], k));
    }
    PetscCall(TestCompareWeights(&p, &star, &difference));
    PetscCheck(difference == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s with steps that failed and star without differ by %g", exchanges[e], (double)difference);
    PetscCall(Create(exchanges[e], MUONCOMPRESSORRANKK, PETSC_FALSE, &rankk));
    for (PetscInt k = 0; k < 2; k++) PetscCall(Step(&rankk, MUON_CONVERGED_ITERATING));
    PetscCall(CheckMemory(&p, &rankk));
    PetscCall(TestDestroy(&rankk));
    PetscCall(TestDestroy(&p));
  }
  PetscCall(TestDestroy(&star));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 3}}

TEST*/
