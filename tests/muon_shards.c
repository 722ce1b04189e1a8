static char help[] = "Rows of a layer that is spread over the ranks of a worker are compressed as layers of their own; NaN on one of them ends the step everywhere; what is handed to MPI and kept in memory follows a formula.\n\n";

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
  PetscInt    badstep;
  PetscInt    zerostep;     /* in which an entry is zero that is NaN in badstep */
  PetscBool   ready, fails; /* the routine says that the gradient is ready; it then fails, or leaves this to the others */
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
  Run         *run = (Run *)ctx;
  Mat          G;
  PetscScalar *g;
  PetscInt     step, rows;

  PetscFunctionBegin;
  PetscCall(MuonGetStepNumber(muon, &step));
  PetscCall(MuonLayerGetGradient(run->layer, &G));
  PetscCall(MatGetLocalSize(G, &rows, NULL));
  PetscCall(Fill(G, rows == run->rows ? run->first : 0, rows, step, run->worker));
  if ((step == run->badstep || step == run->zerostep) && rows > 0) {
    PetscCall(MatDenseGetArray(G, &g));
    g[0] = step == run->badstep ? (PetscScalar)NAN : 0;
    PetscCall(MatDenseRestoreArray(G, &g));
  }
  *loss = 0;
  if (run->ready) PetscCall(MuonLayerGradientReady(run->layer));
  if (run->fails) PetscFunctionReturn(PETSC_ERR_USER);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One layer: of a matrix on comm, or of the rows of a shard of it on one rank */
static PetscErrorCode RunCreate(MPI_Comm all, MPI_Comm comm, const char prefix[], PetscInt first, PetscInt rows, PetscMPIInt worker, Run *run)
{
  PetscFunctionBegin;
  run->first   = first;
  run->rows    = rows;
  run->worker  = worker;
  run->badstep = run->zerostep = -1;
  run->ready = run->fails = PETSC_FALSE;
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

/*
   With a norm that sees every entry alone, and compressors without random numbers, a shard is a layer: bit
   for bit
*/
static PetscErrorCode CheckCompressors(MPI_Comm inside, MPI_Comm across, PetscMPIInt worker, PetscInt first, PetscInt rows)
{
  Run                spread, alone;
  const PetscScalar *a, *b;
  Mat                state;

  PetscFunctionBegin;
  PetscCall(RunCreate(PETSC_COMM_WORLD, inside, "a_", first, rows, worker, &spread));
  if (rows > 0) PetscCall(RunCreate(across, PETSC_COMM_SELF, "a_", first, rows, worker, &alone));
  for (PetscInt k = 0; k < 4; k++) {
    PetscCall(MuonStep(spread.muon));
    if (rows == 0) continue;
    PetscCall(MuonStep(alone.muon));
    PetscCall(MatDenseGetArrayRead(spread.W, &a));
    PetscCall(MatDenseGetArrayRead(alone.W, &b));
    for (PetscInt e = 0; e < rows * N; e++) PetscCheck(a[e] == b[e], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt_FMT ", entry %" PetscInt_FMT ": %g, expected %g", k, e, (double)PetscRealPart(a[e]), (double)PetscRealPart(b[e]));
    PetscCall(MatDenseRestoreArrayRead(alone.W, &b));
    PetscCall(MatDenseRestoreArrayRead(spread.W, &a));
  }
  /* So is its state */
  if (rows > 0) {
    PetscScalar *x, *y;
    PetscBool    kept[2];
    Mat          other;

    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, rows, N, NULL, &state));
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, rows, N, NULL, &other));
    PetscCall(MuonGetLayerState(spread.muon, spread.layer, "estimate", state, &kept[0]));
    PetscCall(MuonGetLayerState(alone.muon, alone.layer, "estimate", other, &kept[1]));
    PetscCheck(kept[0] && kept[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "No estimate");
    PetscCall(MatDenseGetArray(state, &x));
    PetscCall(MatDenseGetArray(other, &y));
    for (PetscInt e = 0; e < rows * N; e++) PetscCheck(x[e] == y[e], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Estimates differ");
    PetscCall(MatDenseRestoreArray(state, &x));
    PetscCall(MatDenseRestoreArray(other, &y));
    PetscCall(MatDestroy(&state));
    PetscCall(MatDestroy(&other));
    PetscCall(RunDestroy(&alone));
  }
  PetscCall(RunDestroy(&spread));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On the last rank alone; the next step is that of a run in which nothing happened */
static PetscErrorCode CheckNaN(MPI_Comm inside, PetscMPIInt worker, PetscInt first, PetscInt rows)
{
  Run                 bad, good;
  const PetscScalar  *a, *b;
  MuonConvergedReason reason;
  PetscMPIInt         rank, size;
  PetscInt            rowsoflast = rows;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Bcast(&rowsoflast, 1, MPIU_INT, size - 1, PETSC_COMM_WORLD));
  PetscCall(RunCreate(PETSC_COMM_WORLD, inside, "b_", first, rows, worker, &bad));
  PetscCall(RunCreate(PETSC_COMM_WORLD, inside, "b_", first, rows, worker, &good));
  if (rank == size - 1) bad.badstep = 1;
  for (PetscInt k = 0; k < 4; k++) {
    PetscCall(MuonStep(bad.muon));
    PetscCall(MuonGetConvergedReason(bad.muon, &reason));
    PetscCheck(reason == (k == 1 && rowsoflast > 0 ? MUON_DIVERGED_NANORINF : MUON_CONVERGED_ITERATING), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt_FMT ": %s", k, MuonConvergedReasons[reason]);
    if (reason == MUON_CONVERGED_ITERATING) PetscCall(MuonStep(good.muon));
    bad.badstep = k == 0 ? bad.badstep : -1;
    PetscCall(MatDenseGetArrayRead(bad.W, &a));
    PetscCall(MatDenseGetArrayRead(good.W, &b));
    for (PetscInt e = 0; e < rows * N; e++) PetscCheck(a[e] == b[e], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt_FMT ": NaN left its traces", k);
    PetscCall(MatDenseRestoreArrayRead(good.W, &b));
    PetscCall(MatDenseRestoreArrayRead(bad.W, &a));
  }
  PetscCall(RunDestroy(&bad));
  PetscCall(RunDestroy(&good));
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

static PetscErrorCode CheckSame(const char what[], Run *a, Run *b)
{
  const PetscScalar *x, *y;

  PetscFunctionBegin;
  PetscCall(MatDenseGetArrayRead(a->W, &x));
  PetscCall(MatDenseGetArrayRead(b->W, &y));
  for (PetscInt e = 0; e < a->rows * N; e++) PetscCheck(x[e] == y[e], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entry %" PetscInt_FMT " is %g, expected %g", what, e, (double)PetscRealPart(x[e]), (double)PetscRealPart(y[e]));
  PetscCall(MatDenseRestoreArrayRead(b->W, &y));
  PetscCall(MatDenseRestoreArrayRead(a->W, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A routine that fails when gradients were ready, on all ranks, leaves nothing behind: the next step is that
   of the gradients that come then, whether they are said to be ready or not. Without a routine gradients are
   ready before the step, whose bytes their sum and the whole weights that were gathered belong to
*/
static PetscErrorCode CheckReady(MPI_Comm inside, PetscMPIInt worker, PetscInt first, PetscInt rows)
{
  PetscErrorCode code;
  Run            run, good;
  MuonTraffic    traffic;
  Mat            G, full;
  long long      before;

  PetscFunctionBegin;
  PetscCall(RunCreate(PETSC_COMM_WORLD, inside, "c_", first, rows, worker, &run));
  PetscCall(RunCreate(PETSC_COMM_WORLD, inside, "c_", first, rows, worker, &good));
  PetscCall(MuonLayerSetWholeGradient(run.layer, PETSC_TRUE));
  PetscCall(MuonLayerSetWholeGradient(good.layer, PETSC_TRUE));
  for (PetscInt k = 0; k < 4; k++) {
    mpicount_reset();
    run.ready = PETSC_TRUE;
    if (k > 0) {
      run.worker += 100; /* other gradients */
      run.fails = PETSC_TRUE;
      PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
      code = MuonStep(run.muon);
      PetscCall(PetscPopErrorHandler());
      PetscCheck(code == PETSC_ERR_USER, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Error %d, expected that of the routine", (int)code);
      run.worker -= 100;
      run.fails = PETSC_FALSE;
      mpicount_reset(); /* what the step that failed sent is its own */
      run.ready = k == 1 ? PETSC_TRUE : PETSC_FALSE;
    }
    if (k == 3) {
      PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, M, N, NULL, &full));
      PetscCall(MuonSetObjectiveAndGradient(run.muon, NULL, NULL));
      PetscCall(MuonLayerGetFullWeights(run.layer, full));
      PetscCall(MuonLayerGetGradient(run.layer, &G));
      PetscCall(Fill(G, 0, M, k, worker));
      before = mpicount.sent;
      PetscCall(MuonLayerGradientReady(run.layer));
      PetscCheck(mpicount.sent == before + (long long)sizeof(PetscScalar) * M * N, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%lld bytes when a gradient was ready", mpicount.sent - before);
      PetscCall(MatDestroy(&full));
    }
    PetscCall(MuonStep(run.muon));
    PetscCall(MuonGetTraffic(run.muon, &traffic));
    PetscCheck(k == 0 || (long long)traffic.mpi == mpicount.sent, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%g bytes in the traffic, %lld counted", traffic.mpi, mpicount.sent);
    PetscCall(MuonStep(good.muon));
    PetscCall(CheckSame("After a routine that failed", &run, &good));
  }
  /* A sum under way when the optimizer is reset */
  PetscCall(MuonLayerGetGradient(run.layer, &G));
  PetscCall(MuonLayerGradientReady(run.layer));
  PetscCall(MuonReset(run.muon));
  PetscCall(RunDestroy(&run));
  PetscCall(RunDestroy(&good));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   NaN on one rank in a whole gradient: the entry of the mean is left out, as if it were zero on all ranks of
   the worker, or the step is
*/
static PetscErrorCode CheckPolicies(MPI_Comm inside, PetscMPIInt worker, PetscMPIInt nworkers, PetscInt first, PetscInt rows)
{
  PetscMPIInt rank, size;
  PetscInt64  count;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (int single = 0; single < 2; single++) {
    for (int policy = (int)MUON_NAN_SKIP; policy <= (int)MUON_NAN_ZERO; policy++) {
      Run bad, good;

      PetscCall(RunCreate(PETSC_COMM_WORLD, inside, "c_", first, rows, worker, &bad));
      PetscCall(RunCreate(PETSC_COMM_WORLD, inside, "c_", first, rows, worker, &good));
      for (int k = 0; k < 2; k++) {
        const Run *run = k == 0 ? &bad : &good;

        PetscCall(MuonLayerSetWholeGradient(run->layer, PETSC_TRUE));
        PetscCall(MuonSetParameter(run->muon, "muon_nan", MuonNaNPolicies[policy]));
        if (single) PetscCall(MuonSetParameter(run->muon, "muon_state_precision", "single"));
      }
      bad.ready    = PETSC_TRUE;
      bad.badstep  = rank == size - 1 ? 1 : -1;
      good.badstep = policy == (int)MUON_NAN_SKIP ? bad.badstep : -1;
      if (policy == (int)MUON_NAN_ZERO && worker == nworkers - 1) good.zerostep = 1;
      for (PetscInt k = 0; k < 3; k++) {
        PetscCall(MuonStep(bad.muon));
        PetscCall(MuonStep(good.muon));
        PetscCall(CheckSame("A policy on NaN", &bad, &good));
      }
      PetscCall(MuonGetNaNCount(bad.muon, &count));
      PetscCheck(count == 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt64_FMT " entries or steps were left out, expected one", count);
      PetscCall(RunDestroy(&bad));
      PetscCall(RunDestroy(&good));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What was chosen for a layer stays when something else of it is set */
static PetscErrorCode CheckOwnChoices(MPI_Comm inside, PetscInt first, PetscInt rows)
{
  Run  run;
  char kind[32];

  PetscFunctionBegin;
  PetscCall(RunCreate(PETSC_COMM_WORLD, inside, "b_", first, rows, 0, &run));
  PetscCall(MuonLayerSetRule(run.layer, MUONLAYERADAMW));
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
    MPI_Comm          inside, across;

    if (size % s != 0) continue;
    PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank / s, rank, &inside));
    PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, position, rank, &across));
    PetscCall(CheckCompressors(inside, across, rank / s, first, rows));
    PetscCall(CheckNaN(inside, rank / s, first, rows));
    PetscCall(CheckReady(inside, rank / s, first, rows));
    PetscCall(CheckOwnChoices(inside, first, rows));
    PetscCall(CheckPolicies(inside, rank / s, size / s, first, rows));
    if (s == size && s > 1) {
      for (PetscInt kind = (PetscInt)MUON_ASSEMBLY_ALLGATHER; kind <= (PetscInt)MUON_ASSEMBLY_OWNER; kind++) {
        PetscCall(CheckBytes(inside, "c_", first, rows, PETSC_FALSE, PETSC_FALSE, kind));
        PetscCall(CheckBytes(inside, "c_", first, rows, PETSC_TRUE, PETSC_FALSE, kind));
        PetscCall(CheckBytes(inside, "d_", first, rows, PETSC_FALSE, PETSC_TRUE, kind));
      }
    }
    PetscCallMPI(MPI_Comm_free(&inside));
    PetscCallMPI(MPI_Comm_free(&across));
  }
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{2 3 4}}
    args: -a_muon_type ef21 -a_ef21_compressor topk -a_ef21_compressor_ratio 0.3 -a_lmo_type max -a_muon_learning_rate 0.1
    test:
      args: -b_muon_type ef21 -b_ef21_compressor topk -b_ef21_server_compressor columntopk -c_muon_type dense -d_muon_type dense -d_muon_exchange_type rows -a_ef21_server_compressor columntopk -a_muon_exchange_type {{star layerwise replicated}}
    test:
      suffix: lowrank
      args: -b_muon_type ef21 -b_ef21_compressor topk -b_ef21_server_compressor columntopk -c_muon_type dense -d_muon_type dense -d_muon_exchange_type rows -a_ef21_server_compressor rankk -a_ef21_compressor_values single

  # What a user sees of layers in rows: the choices for all workers, the ranks of a worker, who assembles
  test:
    suffix: view
    nsize: 2
    requires: double
    filter: grep -v "PetscMuon Rel"
    args: -c_muon_type dense -d_muon_type dense -d_muon_exchange_type rows -c_muon_view -d_muon_view -c_lmo_type frobenius -d_lmo_type frobenius -b_muon_type ef21 -a_muon_type ef21 -a_ef21_compressor topk -a_lmo_type max

TEST*/
