static char help[] = "What layers in rows hand to MPI and keep in memory follows a formula; equivalence compares their steps.\n\n";

#include <petscmuon.h>
#include "parameter_common.h"
#include <math.h>
#include "mpicount.h"
#include "layer_parameter.h"

enum {
  M = 11,
  N = 6
};

typedef struct {
  Muon        muon;
  MuonLayer   layer;
  Mat         W;
  PetscInt    first, rows;
  PetscMPIInt worker;
  PetscBool   ready; /* the routine says that the gradient is */
} Run;

static PetscScalar Number(PetscInt i, PetscInt j, PetscInt step, PetscInt worker)
{
  return (PetscScalar)sin(1.0 + 3.7 * (double)i + 1.3 * (double)j + 0.7 * (double)(i * j) + 2.9 * (double)step + 5.1 * (double)worker);
}

static PetscErrorCode Fill(Mat A, PetscInt first, PetscInt rows, PetscInt step, PetscInt worker)
{
  PetscScalar *a;
  PetscInt     ld;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(A, &ld));
  PetscCall(MatDenseGetArray(A, &a));
  for (PetscInt j = 0; j < N; j++) {
    for (PetscInt i = 0; i < rows; i++) a[j * ld + i] = Number(first + i, j, step, worker);
  }
  PetscCall(MatDenseRestoreArray(A, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  Run     *run = (Run *)ctx;
  Mat      G;
  PetscInt step, rows;

  PetscFunctionBegin;
  PetscCall(MuonGetStepNumber(muon, &step));
  PetscCall(MuonLayerGetGradient(run->layer, &G));
  PetscCall(MatGetLocalSize(G, &rows, NULL));
  PetscCall(Fill(G, rows == run->rows ? run->first : 0, rows, step, run->worker));
  *loss = 0;
  if (run->ready) PetscCall(MuonLayerGradientReady(run->layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One layer: of a matrix on comm, or of the rows of a shard of it on one rank */
static PetscErrorCode RunCreate(MPI_Comm all, MPI_Comm comm, const char prefix[], PetscInt first, PetscInt rows, PetscMPIInt worker, Run *run)
{
  PetscFunctionBegin;
  run->first  = first;
  run->rows   = rows;
  run->worker = worker;
  run->ready  = PETSC_FALSE;
  PetscCall(MatCreateDense(comm, rows, PETSC_DECIDE, PETSC_DETERMINE, N, NULL, &run->W));
  PetscCall(Fill(run->W, first, rows, -1, 0));
  PetscCall(MuonCreate(all, &run->muon));
  PetscCall(MuonSetOptionsPrefix(run->muon, prefix));
  PetscCall(MuonAddLayer(run->muon, "w", run->W, &run->layer));
  PetscCall(MuonSetObjectiveAndGradient(run->muon, Objective, run));
  PetscCall(MuonSetFromOptions(run->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunDestroy(Run *run)
{
  PetscFunctionBegin;
  PetscCall(MuonDestroy(&run->muon));
  PetscCall(MatDestroy(&run->W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Messages of an assembly travel in units of 64 bytes */
static long long Padded(long long bytes)
{
  return (bytes + 63) / 64 * 64;
}

/*
   Bytes of a step beside the agreement, which is 8 (11 + 2 groups + 1) for the record and 8 for the vote: one
   worker of s ranks (-muon_type dense), whose gradients and steps are doubles or floats
*/
static PetscErrorCode CheckBytes(MPI_Comm inside, const char prefix[], PetscInt first, PetscInt rows, PetscBool whole, PetscBool sequential, PetscInt kind)
{
  const long long entry = (long long)sizeof(PetscScalar);
  Run             run;
  MuonTraffic     traffic;
  PetscMPIInt     size;
  long long       expected = AGREEMENT_BYTES;
  PetscLogDouble  worker, server, scratch;
  Mat             full;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(RunCreate(PETSC_COMM_WORLD, sequential ? PETSC_COMM_SELF : inside, prefix, sequential ? 0 : first, sequential ? M : rows, 0, &run));
  if (whole) PetscCall(MuonLayerSetWholeGradient(run.layer, PETSC_TRUE));
  if (kind != PETSC_DETERMINE) PetscCall(MuonSetParameter(run.muon, "muon_assembly", MuonAssemblyKinds[kind]));
  PetscCall(MuonStep(run.muon));
  mpicount_reset();
  PetscCall(MuonStep(run.muon));
  PetscCall(MuonGetTraffic(run.muon, &traffic));
  PetscCheck((long long)traffic.mpi == mpicount.sent, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %g bytes in the traffic, %lld counted", prefix, traffic.mpi, mpicount.sent);
  if (whole || sequential) expected += entry * M * N; /* the sum of gradients */
  if (sequential) expected += entry * rows * N;       /* rows of new weights */
  if (kind == (PetscInt)MUON_ASSEMBLY_ALLGATHER) expected += Padded(entry * rows * N);
  if (kind == (PetscInt)MUON_ASSEMBLY_OWNER) {
    /*
       There is one item and so one owner: the others send it their rows, and it sends theirs back; what is
       its own does not travel
    */
    const long long more = mpicount.sent - expected, own = Padded(entry * rows * N);
    long long       all = own, total = more;

    PetscCallMPI(PMPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_LONG_LONG, MPI_SUM, PETSC_COMM_WORLD));
    PetscCallMPI(PMPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_LONG_LONG, MPI_SUM, PETSC_COMM_WORLD));
    PetscCheck((more == own || more == all - own) && total % 2 == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %lld bytes beside the agreement with rows of %lld, of %lld in all", prefix, more, own, all);
  } else PetscCheck(mpicount.sent == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %lld bytes, expected %lld", prefix, mpicount.sent, expected);
  /*
     State is kept in rows: momentum at the server, what it becomes, the sum, the new weights, and the mean
     gradient or the buffer of rows
  */
  PetscCall(MuonGetMemory(run.muon, &worker, &server, &scratch));
  PetscCheck((long long)server == 4 * entry * rows * N, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %g bytes of state at the server, expected %lld", prefix, server, 4 * entry * rows * N);
  PetscCheck((long long)worker == entry * N * (whole || sequential ? M + rows : rows), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %g bytes of state at the worker", prefix, worker);
  /* The whole weights are the rows of all ranks */
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, M, N, NULL, &full));
  mpicount_reset();
  PetscCall(MuonLayerGetFullWeights(run.layer, full));
  PetscCall(MuonGetTraffic(run.muon, &traffic));
  PetscCheck(mpicount.sent == (sequential || size == 1 ? 0 : entry * rows * N), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%lld bytes for whole weights", mpicount.sent);
  {
    const PetscScalar *f, *w;
    PetscInt           ld;

    PetscCall(MatDenseGetLDA(run.W, &ld));
    PetscCall(MatDenseGetArrayRead(full, &f));
    PetscCall(MatDenseGetArrayRead(run.W, &w));
    for (PetscInt j = 0; j < N; j++) {
      for (PetscInt i = 0; i < run.rows; i++) PetscCheck(f[j * M + run.first + i] == w[j * ld + i], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Whole weights differ at %" PetscInt_FMT ", %" PetscInt_FMT, i, j);
    }
    PetscCall(MatDenseRestoreArrayRead(run.W, &w));
    PetscCall(MatDenseRestoreArrayRead(full, &f));
  }
  PetscCall(MatDestroy(&full));
  PetscCall(MuonViewFromOptions(run.muon, NULL, "-muon_view"));
  PetscCall(RunDestroy(&run));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without a routine gradients are ready before the step, whose bytes their sum and the whole weights that were gathered belong to */
static PetscErrorCode CheckReady(MPI_Comm inside, PetscMPIInt worker, PetscInt first, PetscInt rows)
{
  Run         run;
  MuonTraffic traffic;
  Mat         G, full;
  long long   before;

  PetscFunctionBegin;
  PetscCall(RunCreate(PETSC_COMM_WORLD, inside, "c_", first, rows, worker, &run));
  PetscCall(MuonLayerSetWholeGradient(run.layer, PETSC_TRUE));
  run.ready = PETSC_TRUE;
  PetscCall(MuonStep(run.muon));
  mpicount_reset();
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, M, N, NULL, &full));
  PetscCall(MuonSetObjectiveAndGradient(run.muon, NULL, NULL));
  PetscCall(MuonLayerGetFullWeights(run.layer, full));
  PetscCall(MuonLayerGetGradient(run.layer, &G));
  PetscCall(Fill(G, 0, M, 1, worker));
  before = mpicount.sent;
  PetscCall(MuonLayerGradientReady(run.layer));
  PetscCheck(mpicount.sent == before + (long long)sizeof(PetscScalar) * M * N, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%lld bytes when a gradient was ready", mpicount.sent - before);
  PetscCall(MatDestroy(&full));
  PetscCall(MuonStep(run.muon));
  PetscCall(MuonGetTraffic(run.muon, &traffic));
  PetscCheck((long long)traffic.mpi == mpicount.sent, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%g bytes in the traffic, %lld counted", traffic.mpi, mpicount.sent);
  /* A sum under way when the optimizer is reset */
  PetscCall(MuonLayerGetGradient(run.layer, &G));
  PetscCall(MuonLayerGradientReady(run.layer));
  PetscCall(MuonReset(run.muon));
  PetscCall(RunDestroy(&run));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What was chosen for a layer stays when something else of it is set */
static PetscErrorCode CheckOwnChoices(MPI_Comm inside, PetscInt first, PetscInt rows)
{
  Run  run;
  char kind[32];

  PetscFunctionBegin;
  PetscCall(RunCreate(PETSC_COMM_WORLD, inside, "b_", first, rows, 0, &run));
  PetscCall(MuonLayerSetType(run.layer, MUONLAYERADAMW));
  PetscCall(TestSetOfMuonType(run.muon, MUONEF21, "ef21_downlink", "step"));
  PetscCall(MuonParametersAssign((PetscObject)run.layer, "ef21_downlink", (double)MUON_DOWNLINK_WEIGHTS));
  PetscCall(MuonParametersAssign((PetscObject)run.layer, "assembly", (double)MUON_ASSEMBLY_ALLGATHER));
  PetscCall(LayerSet(run.layer, "adamw_beta1", (PetscReal)0.5));
  PetscCall(LayerSet(run.layer, "adamw_beta2", (PetscReal)0.5));
  PetscCall(MuonSetUp(run.muon));
  PetscCall(MuonGetParameter(run.muon, "muon_layer_w_assembly", kind, sizeof(kind)));
  PetscCheck(strcmp(kind, "allgather") == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Assembly %s", kind);
  PetscCall(RunDestroy(&run));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt rank, size;

  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  mpicount_ignored = PETSC_COMM_SELF;
  for (PetscMPIInt s = 1; s <= size; s++) {
    const PetscMPIInt position = rank % s;
    const PetscInt    first = position * (M / s) + PetscMin((PetscInt)position, M % s), rows = M / s + (position < M % s ? 1 : 0);
    MPI_Comm          inside;

    if (size % s != 0) continue;
    PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank / s, rank, &inside));
    PetscCall(CheckReady(inside, rank / s, first, rows));
    PetscCall(CheckOwnChoices(inside, first, rows));
    if (s == size && s > 1) {
      for (PetscInt kind = (PetscInt)MUON_ASSEMBLY_ALLGATHER; kind <= (PetscInt)MUON_ASSEMBLY_OWNER; kind++) {
        PetscCall(CheckBytes(inside, "c_", first, rows, PETSC_FALSE, PETSC_FALSE, kind));
        PetscCall(CheckBytes(inside, "c_", first, rows, PETSC_TRUE, PETSC_FALSE, kind));
        PetscCall(CheckBytes(inside, "d_", first, rows, PETSC_FALSE, PETSC_TRUE, kind));
      }
    }
    PetscCallMPI(MPI_Comm_free(&inside));
  }
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{2 3 4}}
    args: -b_muon_type ef21 -c_muon_type dense -d_muon_type dense -d_muon_exchange_type rows

  # What a user sees of layers in rows: the choices for all workers, the ranks of a worker, who assembles
  test:
    suffix: view
    nsize: 2
    requires: double
     filter: grep -v "PetscMuon Rel"
    args: -c_muon_type dense -d_muon_type dense -d_muon_exchange_type rows -c_muon_view -d_muon_view -c_lmo_type frobenius -d_lmo_type frobenius -b_muon_type ef21

TEST*/
