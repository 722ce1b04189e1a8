static char help[] = "Votes of workers that are several ranks: the weights of whole layers, the agreement, the bytes, and a rank with a NaN that all see.\n\n";

#include <petscmuon.h>
#include "parameter_common.h"
#include <math.h>
#include "mpicount.h"

typedef struct {
  const char *name, *rule;
  PetscInt    m, n, nblocks, block[3];
} Shape;

/*
   More ranks than rows, one entry, blocks that straddle ranks, a layer of which a mean is formed. No piece is
   a multiple of eight entries for long
*/
static const Shape Shapes[] = {
  {"matrix", MUONLAYERLMO, 7, 5, 1, {0}}, {"blocks", MUONLAYERLMO, 9, 4, 3, {2, 4, 3}}, {"entry", MUONLAYERLMO, 1, 1, 1, {0}}, {"wide", MUONLAYERLMO, 2, 3, 1, {0}}, {"bias", MUONLAYERADAMW, 5, 1, 1, {0}},
};
enum {
  NLAYERS = PETSC_STATIC_ARRAY_LENGTH(Shapes),
  BIAS    = 4,
  STEPS   = 3
};

/* What a run is made of */
typedef struct {
  MuonSignDirection direction;
  MuonSignUpdate    update;
  MuonSignTie       tie;
  MuonExchangeType  exchange; /* NULL for the default */
  PetscInt          mode, kind;
  const char       *polar;
  PetscBool         votes; /* and nothing else: the last layer is frozen */
  PetscBool         gram;  /* layers without blocks */
} Choices;

typedef struct {
  Muon        muon;
  MuonLayer   layer[NLAYERS];
  Mat         W[NLAYERS];
  PetscMPIInt worker;
  PetscBool   unseen; /* a third of the entries has no gradient */
  PetscBool   bad;    /* this rank has a NaN in the second step */
} Run;

static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  Run     *run = (Run *)ctx;
  PetscInt step;

  PetscFunctionBegin;
  PetscCall(MuonGetStepNumber(muon, &step));
  for (PetscInt l = 0; l < NLAYERS; l++) {
    PetscScalar  *g;
    PetscInt      first, end, lda;
    PetscBool     frozen;
    MuonLayerRule rule;
    Mat           G;

    PetscCall(MuonLayerGetRule(run->layer[l], &rule));
    PetscCall(PetscStrcmp(rule, MUONLAYERFROZEN, &frozen));
    if (frozen) continue;
    PetscCall(MuonLayerGetGradient(run->layer[l], &G));
    PetscCall(MatGetOwnershipRange(G, &first, &end));
    PetscCall(MatDenseGetLDA(G, &lda));
    PetscCall(MatDenseGetArray(G, &g));
    for (PetscInt i = first; i < end; i++) {
      for (PetscInt j = 0; j < Shapes[l].n; j++)
        g[(i - first) + j * lda] = run->unseen && (i + j) % 3 == 0 ? 0 : (PetscScalar)sin(1.0 + 3.1 * (double)l + 1.7 * (double)i + 0.9 * (double)j + 2.3 * (double)step + 0.37 * (double)(i * j) + 5.3 * (double)run->worker);
    }
    if (run->bad && step == 1 && end > first) g[0] = (PetscScalar)NAN;
    PetscCall(MatDenseRestoreArray(G, &g));
  }
  *loss = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* comm: ranks of the optimizer; inside: ranks of a worker */
static PetscErrorCode RunCreate(MPI_Comm comm, MPI_Comm inside, PetscMPIInt worker, const Choices *choices, Run *run)
{
  MuonExchange exchange;

  PetscFunctionBegin;
  run->worker = worker;
  run->unseen = choices->tie == MUON_SIGN_TIE_RANDOM ? PETSC_TRUE : PETSC_FALSE;
  run->bad    = PETSC_FALSE;
  PetscCall(MuonCreate(comm, &run->muon));
  PetscCall(MuonSetType(run->muon, MUONSIGN));
  PetscCall(MuonSetObjectiveAndGradient(run->muon, Objective, run));
  PetscCall(MuonSetLearningRate(run->muon, (PetscReal)0.1));
  PetscCall(MuonSetWeightDecay(run->muon, (PetscReal)0.05, MUON_WEIGHT_DECAY_CURRENT));
  PetscCall(MuonSetParameter(run->muon, "muon_shape_factor", "moonlight"));
  PetscCall(TestSetOfMuonType(run->muon, MUONSIGN, "sign_direction", MuonSignDirections[choices->direction]));
  PetscCall(TestSetOfMuonType(run->muon, MUONSIGN, "sign_update", MuonSignUpdates[choices->update]));
  PetscCall(TestSetOfMuonType(run->muon, MUONSIGN, "sign_tie", MuonSignTies[choices->tie]));
  PetscCall(TestSetOfMuonType(run->muon, MUONSIGN, "sign_measure", "true"));
  for (PetscInt l = 0; l < NLAYERS; l++) {
    PetscScalar *w;
    PetscInt     first, end, lda;
    MuonLMO      lmo;
    MuonPolar    polar;

    PetscCall(MatCreateDense(inside, PETSC_DECIDE, PETSC_DECIDE, Shapes[l].m, Shapes[l].n, NULL, &run->W[l]));
    PetscCall(MatGetOwnershipRange(run->W[l], &first, &end));
    PetscCall(MatDenseGetLDA(run->W[l], &lda));
    PetscCall(MatDenseGetArray(run->W[l], &w));
    for (PetscInt i = first; i < end; i++) {
      for (PetscInt j = 0; j < Shapes[l].n; j++) w[(i - first) + j * lda] = (PetscScalar)cos((double)(l + 7 * i + 3 * j));
    }
    PetscCall(MatDenseRestoreArray(run->W[l], &w));
    PetscCall(MuonAddLayer(run->muon, Shapes[l].name, run->W[l], &run->layer[l]));
    PetscCall(MuonLayerSetRule(run->layer[l], choices->votes && l == BIAS ? MUONLAYERFROZEN : Shapes[l].rule));
    PetscCall(MuonLayerGetLMO(run->layer[l], &lmo));
    PetscCall(MuonLMOSetType(lmo, MUONLMOSPECTRAL));
    PetscCall(MuonLMOGetPolar(lmo, &polar));
    PetscCall(MuonPolarSetType(polar, choices->polar));
    if (Shapes[l].nblocks > 1) PetscCall(MuonLayerSetBlocks(run->layer[l], Shapes[l].nblocks, Shapes[l].block, 1, NULL));
  }
  PetscCall(MuonGetExchange(run->muon, &exchange));
  if (choices->exchange != NULL) PetscCall(MuonExchangeSetType(exchange, choices->exchange));
  if (choices->mode >= 0) PetscCall(MuonExchangeSetMode(exchange, (MuonExchangeMode)choices->mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunDestroy(Run *run)
{
  PetscFunctionBegin;
  PetscCall(MuonDestroy(&run->muon));
  for (PetscInt l = 0; l < NLAYERS; l++) PetscCall(MatDestroy(&run->W[l]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The rows here against those of the run of whole layers: votes have the same bits, and so has what is made
   of them entry by entry
*/
static PetscErrorCode Compare(const char what[], const Choices *choices, Run *run, Run *reference)
{
  PetscFunctionBegin;
  for (PetscInt l = 0; l < NLAYERS; l++) {
    const PetscBool    exact = l != BIAS && choices->update != MUON_SIGN_UPDATE_SPECTRAL && choices->update != MUON_SIGN_UPDATE_POLAR ? PETSC_TRUE : PETSC_FALSE;
    const PetscScalar *a, *b;
    PetscInt           first, end, lda, ldb;

    PetscCall(MatGetOwnershipRange(run->W[l], &first, &end));
    PetscCall(MatDenseGetLDA(run->W[l], &lda));
    PetscCall(MatDenseGetLDA(reference->W[l], &ldb));
    PetscCall(MatDenseGetArrayRead(run->W[l], &a));
    PetscCall(MatDenseGetArrayRead(reference->W[l], &b));
    for (PetscInt i = first; i < end; i++) {
      for (PetscInt j = 0; j < Shapes[l].n; j++) {
        const PetscReal difference = PetscAbsScalar(a[(i - first) + j * lda] - b[i + j * ldb]);

        /*
           Norms and polar factors of matrices of signs, whose condition is some hundreds at most, and sums of
           a few gradients
        */
        PetscCheck(difference <= (exact ? 0 : 4500 * PETSC_MACHINE_EPSILON), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, sign of %s, update %s: entry %" PetscInt_FMT ",%" PetscInt_FMT " of %s differs by %g", what, MuonSignDirections[choices->direction],
                   MuonSignUpdates[choices->update], i, j, Shapes[l].name, (double)difference);
      }
    }
    PetscCall(MatDenseRestoreArrayRead(run->W[l], &a));
    PetscCall(MatDenseRestoreArrayRead(reference->W[l], &b));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   After the first step, in which PETSc makes the gradients. What a rank hands to MPI where its votes are
   summed as integers: one byte an entry of its rows, and the agreement of ten numbers, a checksum for the one
   group, one of the message, and a vote of 8 bytes. One worker sends no votes. What products of spread
   matrices send is in no traffic
*/
static PetscErrorCode CheckBytes(const Choices *choices, Run *run, PetscMPIInt nworkers)
{
  const long long agreement = AGREEMENT_BYTES;
  long long       expected  = 0;
  MuonTraffic     traffic;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < NLAYERS; l++) {
    PetscInt first, end;

    PetscCall(MatGetOwnershipRange(run->W[l], &first, &end));
    if (l != BIAS) expected += (end - first) * Shapes[l].n;
  }
  PetscCall(MuonGetTraffic(run->muon, &traffic));
  PetscCheck(choices->gram || traffic.mpi == (double)(mpicount.sent + mpicount.reduced), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%lld bytes were sent and %lld summed, %g are said to be", mpicount.sent, mpicount.reduced, traffic.mpi);
  if (choices->mode != (PetscInt)MUON_EXCHANGE_MODE_ALLREDUCE || choices->direction == MUON_SIGN_DIRECTION_POLAR || choices->update >= MUON_SIGN_UPDATE_SPECTRAL) PetscFunctionReturn(PETSC_SUCCESS);
  if (nworkers == 1) expected = 0;
  PetscCheck(mpicount.sent == expected + agreement, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%lld bytes were sent, the formula gives %lld", mpicount.sent, expected + agreement);
  PetscCheck(traffic.up[1] == 8.0 * (double)expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%g bits up, the formula gives %lld", traffic.up[1], 8 * expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Check(const char what[], PetscMPIInt s, const Choices *choices, PetscBool bad)
{
  MPI_Comm    inside, across;
  PetscMPIInt rank, size;
  Choices     whole = *choices;
  Run         run, reference;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank / s, rank, &inside));
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank % s, rank, &across));
  PetscCall(PetscInfo(NULL, "%s: workers of %d ranks, direction %s, update %s\n", what, s, MuonSignDirections[choices->direction], MuonSignUpdates[choices->update]));
  PetscCall(RunCreate(PETSC_COMM_WORLD, inside, rank / s, choices, &run));
  if (choices->kind != PETSC_DETERMINE) PetscCall(MuonSetParameter(run.muon, "muon_assembly", MuonAssemblyKinds[choices->kind]));
  for (PetscInt l = 0; l < NLAYERS && choices->gram; l++) {
    if (Shapes[l].nblocks == 1) PetscCall(MuonParametersAssign((PetscObject)run.layer[l], "assembly", (double)MUON_ASSEMBLY_GRAM));
  }
  run.bad = bad && rank == size - 1 ? PETSC_TRUE : PETSC_FALSE;
  /* At each position all workers with whole layers, which exchange their votes in their own way */
  whole.exchange = NULL;
  whole.mode     = PETSC_DETERMINE;
  PetscCall(RunCreate(across, PETSC_COMM_SELF, rank / s, &whole, &reference));
  PetscCall(MuonSetUp(run.muon));
  mpicount_ignored = PetscObjectComm((PetscObject)reference.W[0]); /* one rank's, which decompositions use */
  for (PetscInt k = 0; k < STEPS; k++) {
    const PetscBool     fails = bad && k == 1 ? PETSC_TRUE : PETSC_FALSE;
    MuonConvergedReason reason;
    PetscReal           agreement[2], dual[2];

    mpicount_reset();
    PetscCall(MuonStep(run.muon));
    /* A debugging PETSc compares arguments by sums of its own */
    if (k > 0 && fails == PETSC_FALSE && !PetscDefined(USE_DEBUG)) PetscCall(CheckBytes(choices, &run, size / s));
    PetscCall(MuonGetConvergedReason(run.muon, &reason));
    PetscCheck(reason == (fails ? MUON_DIVERGED_NANORINF : MUON_CONVERGED_ITERATING), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s", what, MuonConvergedReasons[reason]);
    if (fails == PETSC_FALSE) PetscCall(MuonStep(reference.muon));
    PetscCall(Compare(what, choices, &run, &reference));
    if (fails) break;
    PetscCall(MuonSignGetAgreement(run.muon, &agreement[0]));
    PetscCall(MuonSignGetAgreement(reference.muon, &agreement[1]));
    PetscCheck(PetscAbsReal(agreement[0] - agreement[1]) <= 100 * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: agreement %g, of whole layers %g", what, (double)agreement[0], (double)agreement[1]);
    PetscCall(MuonGetGradientDualNorm(run.muon, &dual[0]));
    PetscCall(MuonGetGradientDualNorm(reference.muon, &dual[1]));
    PetscCheck(PetscAbsReal(dual[0] - dual[1]) <= 1000 * PETSC_MACHINE_EPSILON * dual[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: measure %g, of whole layers %g", what, (double)dual[0], (double)dual[1]);
  }
  PetscCall(RunDestroy(&run));
  PetscCall(RunDestroy(&reference));
  PetscCallMPI(MPI_Comm_free(&inside));
  PetscCallMPI(MPI_Comm_free(&across));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   All ranks are one worker that keeps rows of the state of layers which each of them has whole, and sums
   their gradients
*/
static PetscErrorCode CheckRows(const Choices *choices)
{
  Choices alone = *choices;
  Run     run, reference;

  PetscFunctionBegin;
  alone.exchange = NULL;
  PetscCall(RunCreate(PETSC_COMM_WORLD, PETSC_COMM_SELF, 0, choices, &run));
  if (choices->kind != PETSC_DETERMINE) PetscCall(MuonSetParameter(run.muon, "muon_assembly", MuonAssemblyKinds[choices->kind]));
  PetscCall(RunCreate(PETSC_COMM_SELF, PETSC_COMM_SELF, 0, &alone, &reference));
  for (PetscInt k = 0; k < STEPS; k++) {
    PetscCall(MuonStep(run.muon));
    PetscCall(MuonStep(reference.muon));
    PetscCall(Compare("rows", choices, &run, &reference));
  }
  PetscCall(RunDestroy(&run));
  PetscCall(RunDestroy(&reference));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A polar factor that works on rows as they are spread: each worker has a vote of its own, and one worker a
   step of its own; where more scale the majority it is refused
*/
static PetscErrorCode CheckGram(PetscMPIInt size)
{
  Choices choices = {MUON_SIGN_DIRECTION_POLAR, MUON_SIGN_UPDATE_NONE, MUON_SIGN_TIE_ZERO, NULL, PETSC_DETERMINE, PETSC_DETERMINE, MUONPOLARQDWH, PETSC_FALSE, PETSC_TRUE};

  PetscFunctionBegin;
  PetscCall(Check("gram", 2, &choices, PETSC_FALSE));
  PetscCall(Check("gram, NaN", 2, &choices, PETSC_TRUE));
  choices.update = MUON_SIGN_UPDATE_POLAR;
  PetscCall(Check("gram", size, &choices, PETSC_FALSE));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-refused", &choices.votes));
  if (choices.votes) PetscCall(Check("gram", 2, &choices, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const struct {
    MuonExchangeType type;
    MuonExchangeMode mode;
  } exchanges[]          = {{MUONEXCHANGERANGE, MUON_EXCHANGE_MODE_GATHER}, {MUONEXCHANGEREPLICATED, MUON_EXCHANGE_MODE_GATHER}, {MUONEXCHANGEREPLICATED, MUON_EXCHANGE_MODE_ALLREDUCE},
                            {MUONEXCHANGESTAR, MUON_EXCHANGE_MODE_GATHER},  {MUONEXCHANGESTAR, MUON_EXCHANGE_MODE_REDUCE},       {MUONEXCHANGELAYERWISE, MUON_EXCHANGE_MODE_GATHER}};
  const PetscInt kinds[] = {(PetscInt)MUON_ASSEMBLY_ALLGATHER, (PetscInt)MUON_ASSEMBLY_OWNER};
  PetscMPIInt    size;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(CheckGram(size));
  for (PetscMPIInt s = 2; s <= size; s++) {
    /* Six ranks add what fewer have not: three workers of two, two of three */
    if (size % s != 0 || (size == 6 && s == 6)) continue;
    for (int direction = MUON_SIGN_DIRECTION_POLAR; direction <= MUON_SIGN_DIRECTION_ADAM; direction++) {
      for (int update = MUON_SIGN_UPDATE_NONE; update <= MUON_SIGN_UPDATE_POLAR; update++) {
        for (int k = 0; k < 2; k++) {
          Choices choices = {(MuonSignDirection)direction, (MuonSignUpdate)update, MUON_SIGN_TIE_ZERO, NULL, PETSC_DETERMINE, kinds[k], MUONPOLARSVD, PETSC_FALSE, PETSC_FALSE};

          if (size == 6 && (direction + update + k) % 2 == 0) continue;
          PetscCall(Check("default", s, &choices, PETSC_FALSE));
          PetscCall(Check("NaN", s, &choices, PETSC_TRUE));
          choices.exchange = MUONEXCHANGEROWS;
          if (s == size) PetscCall(CheckRows(&choices));
        }
      }
    }
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(exchanges); k++) {
      Choices choices = {MUON_SIGN_DIRECTION_MOMENTUM, MUON_SIGN_UPDATE_NONE, MUON_SIGN_TIE_ZERO, exchanges[k].type, (PetscInt)exchanges[k].mode, PETSC_DETERMINE, MUONPOLARSVD, PETSC_TRUE, PETSC_FALSE};

      PetscCall(Check(exchanges[k].type, s, &choices, PETSC_FALSE));
      choices.tie = MUON_SIGN_TIE_RANDOM;
      PetscCall(Check(exchanges[k].type, s, &choices, PETSC_FALSE));
      choices.tie       = MUON_SIGN_TIE_ZERO;
      choices.direction = MUON_SIGN_DIRECTION_POLAR;
      choices.update    = MUON_SIGN_UPDATE_SPECTRAL;
      PetscCall(Check(exchanges[k].type, s, &choices, PETSC_FALSE));
    }
  }
  {
    Choices choices = {MUON_SIGN_DIRECTION_MOMENTUM, MUON_SIGN_UPDATE_NONE, MUON_SIGN_TIE_RANDOM, MUONEXCHANGEROWS, PETSC_DETERMINE, PETSC_DETERMINE, MUONPOLARSVD, PETSC_TRUE, PETSC_FALSE};

    PetscCall(CheckRows(&choices));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{2 4 6}}
    output_file: output/kernels_ok.out
  test:
    suffix: refused
    nsize: 4
    args: -refused
    error: -muon_assembly gram of layer "matrix"

TEST*/
