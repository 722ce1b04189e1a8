static char help[] = "What one can ask of layers whose rows are spread over the ranks of a worker, beside others that are whole: the size of updates, state in matrices that are spread alike, the view.\n\n";

#include <petscmuon.h>
#include <math.h>
#include "number_common.h"

enum {
  M = 10,
  N = 6
};

typedef struct {
  MuonLayer layer[2];
  Mat       W[2];
} Run;

static PetscErrorCode Fill(Mat A, PetscInt what, PetscInt step, PetscInt worker)
{
  PetscScalar *a;
  PetscInt     first, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  PetscCall(MatDenseGetArray(A, &a));
  for (PetscInt j = 0; j < N; j++) {
    for (PetscInt i = 0; i < end - first; i++) a[j * (end - first) + i] = (PetscScalar)((PetscReal)(TestHash((uint32_t)((first + i) * N + j), (uint32_t)what, (uint32_t)step, (uint32_t)worker) % 4096) / 2048 - 1);
  }
  PetscCall(MatDenseRestoreArray(A, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  Run        *run = (Run *)ctx;
  PetscInt    step;
  PetscMPIInt rank;
  Mat         G;

  PetscFunctionBegin;
  *loss = 0;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MuonGetStepNumber(muon, &step));
  for (PetscInt l = 0; l < 2; l++) {
    PetscCall(MuonLayerGetGradient(run->layer[l], &G));
    PetscCall(Fill(G, 2 + l, step, l == 0 ? rank / 2 : rank));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Without decay, and where all that is computed goes down, a step moves the weights by the rate times the
   update; differences of weights below 4 are exact to their roundoff
*/
static PetscErrorCode CheckUpdates(Muon muon, Run *run, const Mat before[2])
{
  PetscReal rate, rms, norm, bound;

  PetscFunctionBegin;
  PetscCall(MuonGetLearningRate(muon, &rate));
  bound = 16 * PETSC_MACHINE_EPSILON / rate;
  for (PetscInt l = 0; l < 2; l++) {
    PetscCall(MatAXPY(before[l], -1, run->W[l], SAME_NONZERO_PATTERN));
    PetscCall(MatNorm(before[l], NORM_FROBENIUS, &norm));
    PetscCall(MuonLayerGetUpdateRMS(run->layer[l], &rms));
    PetscCheck(rms == -1 || PetscAbsReal(rms - norm / (rate * PetscSqrtReal((PetscReal)(M * N)))) <= bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %" PetscInt_FMT ": an update of %g, expected %g", l, (double)rms,
               (double)(norm / (rate * PetscSqrtReal((PetscReal)(M * N)))));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &rms, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
    PetscCheck(rms > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %" PetscInt_FMT ": nobody measured its update", l);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   In a matrix that is spread as the weights are, and in one of the rows here; then zeros through the spread
   one
*/
static PetscErrorCode CheckState(Muon muon, MuonLayer layer, Mat W)
{
  const PetscScalar *a, *b;
  PetscInt           rows;
  PetscBool          kept[2];
  PetscReal          norm;
  Mat                spread, here;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(W, &rows, NULL));
  PetscCall(MatDuplicate(W, MAT_DO_NOT_COPY_VALUES, &spread));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, rows, N, NULL, &here));
  PetscCall(MuonGetLayerState(muon, layer, "momentum", spread, &kept[0]));
  PetscCall(MuonGetLayerState(muon, layer, "momentum", here, &kept[1]));
  PetscCheck(kept[0] && kept[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "No momentum");
  PetscCall(MatNorm(spread, NORM_FROBENIUS, &norm));
  PetscCheck(norm > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A momentum of zeros");
  PetscCall(MatDenseGetArrayRead(spread, &a));
  PetscCall(MatDenseGetArrayRead(here, &b));
  for (PetscInt e = 0; e < rows * N; e++) PetscCheck(a[e] == b[e], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Entry %" PetscInt_FMT " of the momentum is %g in the spread matrix and %g here", e, (double)PetscRealPart(a[e]), (double)PetscRealPart(b[e]));
  PetscCall(MatDenseRestoreArrayRead(spread, &a));
  PetscCall(MatDenseRestoreArrayRead(here, &b));
  PetscCall(MatDestroy(&spread));
  PetscCall(MatDestroy(&here));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt   rank;
  MPI_Comm      comm;
  Muon          muon;
  Run           run;
  MuonLayerType type;
  PetscBool     lmo, exact = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-exact", &exact, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank / 2, rank, &comm));
  PetscCall(MatCreateDense(comm, PETSC_DECIDE, PETSC_DECIDE, M, N, NULL, &run.W[0]));
  PetscCallMPI(MPI_Comm_free(&comm));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, M, N, NULL, &run.W[1]));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  for (PetscInt l = 0; l < 2; l++) {
    PetscCall(Fill(run.W[l], l, 0, 0));
    PetscCall(MuonAddLayer(muon, l == 0 ? "spread" : "whole", run.W[l], &run.layer[l]));
  }
  PetscCall(MuonSetObjectiveAndGradient(muon, Objective, &run));
  PetscCall(MuonSetParameter(muon, "muon_measure_update_rms", "true"));
  PetscCall(MuonSetFromOptions(muon));
  for (PetscInt k = 0; k < 3; k++) {
    Mat before[2];

    for (PetscInt l = 0; l < 2; l++) PetscCall(MatDuplicate(run.W[l], MAT_COPY_VALUES, &before[l]));
    PetscCall(MuonStep(muon));
    if (exact) PetscCall(CheckUpdates(muon, &run, before));
    for (PetscInt l = 0; l < 2; l++) PetscCall(MatDestroy(&before[l]));
  }
  PetscCall(MuonLayerGetType(run.layer[0], &type));
  PetscCall(PetscStrcmp(type, MUONLAYERLMO, &lmo)); /* others have no momentum of workers */
  if (lmo) PetscCall(CheckState(muon, run.layer[0], run.W[0]));
  PetscCall(MuonViewFromOptions(muon, NULL, "-muon_view"));
  PetscCall(MuonDestroy(&muon));
  for (PetscInt l = 0; l < 2; l++) PetscCall(MatDestroy(&run.W[l]));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: 4
    test:
      args: -exact -muon_learning_rate 0.25 -muon_adamw_learning_rate 0.25 -muon_type ef21 -ef21_compressor topk -lmo_polar_type svd -muon_layer_spread_type {{lmo adamw sgd}} -muon_layer_whole_type {{lmo adamw}}

    # Factors of rows that each rank compresses by itself
    test:
      suffix: view
      requires: double
      args: -muon_type ef21 -ef21_compressor rankk -ef21_compressor_rank 1 -ef21_server_compressor powersgd -lmo_type frobenius -muon_view
      filter: grep -o "^ *\(spread\|whole\),.*"

    # Workers of several sizes have no gradient in common
    test:
      suffix: clip
      args: -muon_type ef21 -muon_clip 1
      error: layers are of workers of several sizes

TEST*/
