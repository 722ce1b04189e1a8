static char help[] = "A checkpoint of an optimizer that was written by an earlier version loads for ever, on the same ranks and on others. -write FOLDER writes one.\n";

#include <petscmuon.h>

enum {
  LAYERS = 3,
  ROWS   = 5,
  STEPS  = 3
};

typedef struct {
  MuonLayer   layer[LAYERS];
  PetscMPIInt rank;
} Run;

/*
   Dyadic numbers, which no machine rounds: what is compared is the same everywhere, but for what AdamW
   divides
*/
static PetscReal Number(PetscInt layer, PetscInt entry, PetscInt step, PetscInt rank)
{
  return (PetscReal)((7 * layer + 5 * entry + 3 * step + 11 * rank) % 13 - 6) / 8;
}

static PetscErrorCode Fill(Mat A, PetscInt layer, PetscInt step, PetscInt rank)
{
  PetscScalar *a;
  PetscInt     m, n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(MatDenseGetArrayWrite(A, &a));
  for (PetscInt e = 0; e < m * n; e++) a[e] = (PetscScalar)Number(layer, e, step, rank);
  PetscCall(MatDenseRestoreArrayWrite(A, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  Run     *run = (Run *)ctx;
  PetscInt step;
  Mat      G;

  PetscFunctionBegin;
  PetscCall(MuonGetStepNumber(muon, &step));
  for (PetscInt l = 0; l < LAYERS; l++) {
    PetscCall(MuonLayerGetGradient(run->layer[l], &G));
    PetscCall(Fill(G, l, step, run->rank));
  }
  *loss = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(MPI_Comm comm, PetscInt start, Run *run, Muon *muon)
{
  const char *const names[LAYERS] = {"first", "second", "gain"};
  MuonCompressor    compressor;
  MuonExchange      exchange;
  MuonLMO           lmo;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &run->rank));
  PetscCall(MuonCreate(comm, muon));
  PetscCall(MuonSetType(*muon, MUONEF21));
  PetscCall(MuonSetObjectiveAndGradient(*muon, Objective, run));
  PetscCall(MuonSetLearningRate(*muon, (PetscReal)0.125));
  PetscCall(MuonSetMomentum(*muon, (PetscReal)0.5, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
  PetscCall(MuonGetExchange(*muon, &exchange));
  PetscCall(MuonExchangeSetType(exchange, MUONEXCHANGELAYERWISE));
  PetscCall(MuonGetLayerCompressors(*muon, NULL, &compressor, NULL));
  PetscCall(MuonCompressorSetType(compressor, MUONCOMPRESSORTOPK));
  PetscCall(MuonCompressorSetRatio(compressor, (PetscReal)0.4));
  PetscCall(MuonGetLayerCompressors(*muon, NULL, NULL, &compressor));
  PetscCall(MuonCompressorSetType(compressor, MUONCOMPRESSORTOPK));
  PetscCall(MuonCompressorSetRatio(compressor, (PetscReal)0.4));
  for (PetscInt l = 0; l < LAYERS; l++) {
    Mat W;

    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, ROWS, l + 1, NULL, &W));
    PetscCall(Fill(W, l, start, 5));
    PetscCall(MuonAddLayer(*muon, names[l], W, &run->layer[l]));
    PetscCall(MuonLayerGetLMO(run->layer[l], &lmo));
    PetscCall(MuonLMOSetType(lmo, MUONLMOMAX));
    PetscCall(MatDestroy(&W));
  }
  /* Nothing is left to defaults, which may change */
  PetscCall(MuonLayerSetType(run->layer[2], MUONLAYERADAMW));
  PetscCall(PetscOptionsSetValue(NULL, "-muon_layer_gain_ef21_compressor", MUONCOMPRESSORNEAREST));
  PetscCall(PetscOptionsSetValue(NULL, "-muon_layer_gain_ef21_server_compressor", MUONCOMPRESSORIDENTITY));
  PetscCall(MuonSetFromOptions(*muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The same weights and momenta, which have been rounded nowhere; those of AdamW by some roundings of each
   step
*/
static PetscErrorCode Compare(Muon muon, Muon kept, Run *a, Run *b, PetscBool workers)
{
  PetscFunctionBegin;
  for (PetscInt l = 0; l < LAYERS; l++) {
    for (PetscInt what = 0; what < (l < 2 && workers ? 3 : 1); what++) {
      const char *const state[] = {"", "momentum", "estimate"};
      const PetscReal   bound   = l == 2 ? 100 * PETSC_MACHINE_EPSILON : 0;
      Mat               A, B;
      PetscReal         norm;
      PetscBool         has[2] = {PETSC_TRUE, PETSC_TRUE};

      PetscCall(MuonLayerGetWeights(a->layer[l], &A));
      PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &A));
      PetscCall(MuonLayerGetWeights(b->layer[l], &B));
      PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &B));
      if (what > 0) PetscCall(MuonGetLayerState(muon, a->layer[l], state[what], A, &has[0]));
      if (what > 0) PetscCall(MuonGetLayerState(kept, b->layer[l], state[what], B, &has[1]));
      PetscCall(MatAXPY(A, -1, B, SAME_NONZERO_PATTERN));
      PetscCall(MatNorm(A, NORM_INFINITY, &norm));
      PetscCheck(has[0] && has[1] && norm <= bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %" PetscInt_FMT ": %s differs by %g", l, what > 0 ? state[what] : "weights", (double)norm);
      PetscCall(MatDestroy(&A));
      PetscCall(MatDestroy(&B));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char        folder[PETSC_MAX_PATH_LEN];
  PetscMPIInt rank, size;
  PetscInt    step;
  PetscBool   flg;
  Run         a, b;
  Muon        muon, kept;
  MPI_Comm    comm;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  /* The first two ranks do what was done then */
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank < 2 ? 0 : 1, rank, &comm));
  PetscCall(Create(comm, 0, &a, &muon));
  for (PetscInt s = 0; s < STEPS; s++) PetscCall(MuonStep(muon));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-write", folder, sizeof(folder), &flg));
  if (flg) PetscCall(MuonSaveCheckpoint(muon, folder, 1));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-read", folder, sizeof(folder), &flg));
  if (flg) {
    PetscCall(Create(PETSC_COMM_WORLD, 1, &b, &kept));
    PetscCall(MuonSetParameter(kept, "muon_restart_convert", "true")); /* it was written in double precision */
    PetscCall(MuonLoadCheckpoint(kept, folder));
    PetscCall(MuonGetStepNumber(kept, &step));
    PetscCheck(step == STEPS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt_FMT, step);
    if (rank < 2) PetscCall(Compare(muon, kept, &a, &b, size == 2 ? PETSC_TRUE : PETSC_FALSE));
    PetscCall(MuonStep(kept));
    PetscCall(MuonDestroy(&kept));
  }
  PetscCall(MuonDestroy(&muon));
  PetscCallMPI(MPI_Comm_free(&comm));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{2 3}}
    args: -read ${PETSCMUON_DIR}/tests/checkpoints/optimizer1
    filter: grep -v -e "^Checkpoint: ranks was"

TEST*/
