static char help[] = "What workers that are several ranks send of their votes: what is counted, and a formula where votes are summed. equivalence has their weights.\n\n";

#include <petscmuon.h>
#include "parameter_common.h"
#include <math.h>
#include "mpicount.h"

typedef struct {
  const char *name, *type;
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
  PetscBool         votes; /* and nothing else: the last layer is frozen */
} Choices;

typedef struct {
  Muon        muon;
  MuonLayer   layer[NLAYERS];
  Mat         W[NLAYERS];
  PetscMPIInt worker;
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
    MuonLayerType type;
    Mat           G;

    PetscCall(MuonLayerGetType(run->layer[l], &type));
    PetscCall(PetscStrcmp(type, MUONLAYERFROZEN, &frozen));
    if (frozen) continue;
    PetscCall(MuonLayerGetGradient(run->layer[l], &G));
    PetscCall(MatGetOwnershipRange(G, &first, &end));
    PetscCall(MatDenseGetLDA(G, &lda));
    PetscCall(MatDenseGetArray(G, &g));
    for (PetscInt i = first; i < end; i++) {
      for (PetscInt j = 0; j < Shapes[l].n; j++) g[(i - first) + j * lda] = (PetscScalar)sin(1.0 + 3.1 * (double)l + 1.7 * (double)i + 0.9 * (double)j + 2.3 * (double)step + 0.37 * (double)(i * j) + 5.3 * (double)run->worker);
    }
    PetscCall(MatDenseRestoreArray(G, &g));
  }
  *loss = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* inside: ranks of a worker */
static PetscErrorCode RunCreate(MPI_Comm inside, PetscMPIInt worker, const Choices *choices, Run *run)
{
  MuonExchange exchange;

  PetscFunctionBegin;
  run->worker = worker;
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &run->muon));
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
    PetscCall(MuonLayerSetType(run->layer[l], choices->votes && l == BIAS ? MUONLAYERFROZEN : Shapes[l].type));
    PetscCall(MuonLayerGetLMO(run->layer[l], &lmo));
    PetscCall(MuonLMOSetType(lmo, MUONLMOSPECTRAL));
    PetscCall(MuonLMOGetPolar(lmo, &polar));
    PetscCall(MuonPolarSetType(polar, MUONPOLARSVD));
    if (Shapes[l].nblocks > 1) PetscCall(MuonLayerSetBlocks(run->layer[l], Shapes[l].nblocks, Shapes[l].block, 1, NULL));
  }
  PetscCall(MuonGetExchange(run->muon, &exchange));
  if (choices->exchange != NULL) PetscCall(MuonExchangeSetType(exchange, choices->exchange));
  if (choices->mode >= 0) PetscCall(MuonExchangeSetMode(exchange, (MuonExchangeMode)choices->mode));
  if (choices->kind != PETSC_DETERMINE) PetscCall(MuonSetParameter(run->muon, "muon_assembly", MuonAssemblyKinds[choices->kind]));
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
  PetscCheck(traffic.mpi == (double)(mpicount.sent + mpicount.reduced), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%lld bytes were sent and %lld summed, %g are said to be", mpicount.sent, mpicount.reduced, traffic.mpi);
  if (choices->mode != (PetscInt)MUON_EXCHANGE_MODE_ALLREDUCE || choices->direction == MUON_SIGN_DIRECTION_POLAR || choices->update >= MUON_SIGN_UPDATE_SPECTRAL) PetscFunctionReturn(PETSC_SUCCESS);
  if (nworkers == 1) expected = 0;
  PetscCheck(mpicount.sent == expected + agreement, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%lld bytes were sent, the formula gives %lld", mpicount.sent, expected + agreement);
  PetscCheck(traffic.up[1] == 8.0 * (double)expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%g bits up, the formula gives %lld", traffic.up[1], 8 * expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Check(PetscMPIInt s, const Choices *choices)
{
  MPI_Comm    inside;
  PetscMPIInt rank, size;
  Run         run;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank / s, rank, &inside));
  PetscCall(RunCreate(inside, rank / s, choices, &run));
  for (PetscInt k = 0; k < STEPS; k++) {
    mpicount_reset();
    PetscCall(MuonStep(run.muon));
    /* A debugging PETSc compares arguments by sums of its own */
    if (k > 0 && !PetscDefined(USE_DEBUG)) PetscCall(CheckBytes(choices, &run, size / s));
  }
  PetscCall(RunDestroy(&run));
  PetscCallMPI(MPI_Comm_free(&inside));
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
  PetscCall(PetscCommDuplicate(PETSC_COMM_SELF, &mpicount_ignored, NULL)); /* which decompositions use */
  for (PetscMPIInt s = 2; s <= size; s++) {
    /* Six ranks add what fewer have not: three workers of two, two of three */
    if (size % s != 0 || (size == 6 && s == 6)) continue;
    for (int direction = MUON_SIGN_DIRECTION_POLAR; direction <= MUON_SIGN_DIRECTION_ADAM; direction++) {
      for (int update = MUON_SIGN_UPDATE_NONE; update <= MUON_SIGN_UPDATE_POLAR; update++) {
        for (int k = 0; k < 2; k++) {
          Choices choices = {(MuonSignDirection)direction, (MuonSignUpdate)update, MUON_SIGN_TIE_ZERO, NULL, PETSC_DETERMINE, kinds[k], PETSC_FALSE};

          if (size == 6 && (direction + update + k) % 2 == 0) continue;
          PetscCall(Check(s, &choices));
        }
      }
    }
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(exchanges); k++) {
      Choices choices = {MUON_SIGN_DIRECTION_MOMENTUM, MUON_SIGN_UPDATE_NONE, MUON_SIGN_TIE_ZERO, exchanges[k].type, (PetscInt)exchanges[k].mode, PETSC_DETERMINE, PETSC_TRUE};

      PetscCall(Check(s, &choices));
      choices.tie = MUON_SIGN_TIE_RANDOM;
      PetscCall(Check(s, &choices));
      choices.tie       = MUON_SIGN_TIE_ZERO;
      choices.direction = MUON_SIGN_DIRECTION_POLAR;
      choices.update    = MUON_SIGN_UPDATE_SPECTRAL;
      PetscCall(Check(s, &choices));
    }
  }
  PetscCall(PetscCommDestroy(&mpicount_ignored));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{2 4 6}}
    output_file: output/kernels_ok.out

TEST*/
