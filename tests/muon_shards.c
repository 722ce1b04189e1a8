static char help[] = "What layers in rows hand to MPI and keep in memory follows a formula; equivalence compares their steps.\n\n";

#include "problem.h"
#include "parameters.h"
#include "mpicount.h"

enum {
  M = 11,
  N = 6
};

#define LAYER "-problem_layers w:11x6 -lmo_type frobenius "

/* Messages of an assembly travel in units of 64 bytes */
static long long Padded(long long bytes)
{
  return (bytes + 63) / 64 * 64;
}

/*
   Bytes of a step beside the agreement, which is 8 (11 + 2 groups + 1) for the record and 8 for the vote: one worker of all ranks (-muon_type
   dense), whose gradients and steps are doubles or floats; or workers that keep rows of a layer which each has whole
*/
static PetscErrorCode CheckBytes(const char cut[], const char assembly[])
{
  const PetscBool whole = strstr(cut, "whole") != NULL ? PETSC_TRUE : PETSC_FALSE, rows = strstr(cut, "rows") != NULL ? PETSC_TRUE : PETSC_FALSE;
  const long long entry    = (long long)sizeof(PetscScalar);
  long long       expected = AGREEMENT_BYTES, here; /* here: bytes of the rows here */
  char            options[256];
  double          weights[M * N];
  Problem         p;
  MuonTraffic     traffic;
  PetscLogDouble  worker, server, scratch;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(options, sizeof(options), "%s %s", assembly, cut));
  PetscCall(ProblemCreateWith(&p, LAYER "-muon_type dense -muon_assembly %s", options));
  here = entry * N * (M / p.size + (p.rank < M % p.size ? 1 : 0));
  PetscCall(MuonStep(p.muon));
  mpicount_reset();
  PetscCall(MuonStep(p.muon));
  PetscCall(MuonGetTraffic(p.muon, &traffic));
  PetscCheck((long long)traffic.mpi == mpicount.sent, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %g bytes in the traffic, %lld counted", options, traffic.mpi, mpicount.sent);
  if (whole || rows) expected += entry * M * N; /* the sum of gradients */
  if (rows) expected += here;                   /* rows of new weights */
  if (strcmp(assembly, "allgather") == 0) expected += Padded(here);
  else {
    /* There is one item and so one owner: the others send it their rows, and it sends theirs back; what is its own does not travel */
    const long long more = mpicount.sent - expected, own = Padded(here);
    long long       all = own, total = more;

    PetscCallMPI(PMPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_LONG_LONG, MPI_SUM, PETSC_COMM_WORLD));
    PetscCallMPI(PMPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_LONG_LONG, MPI_SUM, PETSC_COMM_WORLD));
    PetscCheck((more == own || more == all - own) && total % 2 == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %lld bytes beside the agreement with rows of %lld, of %lld in all", options, more, own, all);
    expected = mpicount.sent;
  }
  PetscCheck(mpicount.sent == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %lld bytes, expected %lld", options, mpicount.sent, expected);
  /* State is kept in rows: momentum at the server, what it becomes, the sum, the new weights, and the mean gradient or the buffer of rows */
  PetscCall(MuonGetMemory(p.muon, &worker, &server, &scratch));
  PetscCheck((long long)server == 4 * here, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %g bytes of state at the server, expected %lld", options, server, 4 * here);
  PetscCheck((long long)worker == here + (whole || rows ? entry * M * N : 0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %g bytes of state at the worker", options, worker);
  /* The whole weights are the rows of all ranks */
  PetscCall(ProblemGatherWeights(&p, p.comm, weights));
  mpicount_reset();
  PetscCall(ProblemCheckRows(&p, 0, "full", weights, 0, options));
  PetscCheck(mpicount.sent == (rows || p.size == 1 ? 0 : here), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%lld bytes for whole weights", mpicount.sent);
  PetscCall(MuonViewFromOptions(p.muon, NULL, "-muon_view"));
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without a routine gradients are ready before the step, whose bytes their sum and the whole weights that were gathered belong to */
static PetscErrorCode CheckReady(PetscMPIInt ranks)
{
  Problem     p;
  MuonTraffic traffic;
  Mat         G, full;
  long long   before;

  PetscFunctionBegin;
  PetscCall(ProblemCreateWith(&p, LAYER "-muon_type dense -problem_whole -problem_ready backward -problem_ranks %d", ranks));
  PetscCall(MuonStep(p.muon));
  mpicount_reset();
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, M, N, NULL, &full));
  PetscCall(MuonSetObjectiveAndGradient(p.muon, NULL, NULL));
  PetscCall(MuonLayerGetFullWeights(p.layer[0].layer, full));
  PetscCall(MatDestroy(&full));
  before = mpicount.sent;
  PetscCall(ProblemSetGradients(&p, 1));
  PetscCheck(mpicount.sent == before + (long long)sizeof(PetscScalar) * M * N, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%lld bytes when a gradient was ready", mpicount.sent - before);
  PetscCall(MuonStep(p.muon));
  PetscCall(MuonGetTraffic(p.muon, &traffic));
  PetscCheck((long long)traffic.mpi == mpicount.sent, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%g bytes in the traffic, %lld counted", traffic.mpi, mpicount.sent);
  /* A sum under way when the optimizer is reset */
  PetscCall(MuonLayerGetGradient(p.layer[0].layer, &G));
  PetscCall(MuonLayerGradientReady(p.layer[0].layer));
  PetscCall(MuonReset(p.muon));
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What was chosen for a layer stays when something else of it is set */
static PetscErrorCode CheckOwnChoices(PetscMPIInt ranks)
{
  Problem p;

  PetscFunctionBegin;
  PetscCall(ProblemCreateWith(&p, LAYER "-problem_setup 0 -problem_ranks %d -muon_type ef21 -muon_layer_w_type adamw -ef21_downlink step -muon_layer_w_ef21_downlink weights -muon_layer_w_assembly allgather", ranks));
  PetscCall(MuonSetParameter(p.muon, "muon_layer_w_adamw_beta1", "0.5"));
  PetscCall(MuonSetParameter(p.muon, "muon_layer_w_adamw_beta2", "0.5"));
  PetscCall(MuonSetUp(p.muon));
  PetscCall(CheckParameter((PetscObject)p.muon, "muon_layer_w_assembly", "allgather"));
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscCommDuplicate(PETSC_COMM_SELF, &mpicount_ignored, NULL)); /* of objects of one rank */
  for (PetscMPIInt ranks = 1; ranks <= size; ranks++) {
    if (size % ranks != 0) continue;
    PetscCall(CheckReady(ranks));
    PetscCall(CheckOwnChoices(ranks));
  }
  for (int k = 0; k < 2; k++) {
    PetscCall(CheckBytes("-problem_ranks 0", k ? "owner" : "allgather"));
    PetscCall(CheckBytes("-problem_ranks 0 -problem_whole", k ? "owner" : "allgather"));
    PetscCall(CheckBytes("-muon_exchange_type rows", k ? "owner" : "allgather"));
  }
  PetscCall(PetscCommDestroy(&mpicount_ignored));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{2 3 4}}

  # What a user sees of layers in rows: the choices for all workers, the ranks of a worker, who assembles
  test:
    suffix: view
    nsize: 2
    requires: double
    filter: grep -e "type. layer" -e "assembly:" -e "w, 11 x 6" -e "memory"
    args: -muon_view

TEST*/
