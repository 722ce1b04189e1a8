static char help[] = "While a server computes the step of a layer, the sums of the next ones are under way.\n\n";

#include <petscmuon.h>

#define NLAYERS 3
#define N       300

/*
   What this rank asked MPI for in a step: sums and broadcasts that were begun, those that were waited for, and the most that
   were under way when MPI was called in between
*/
static PetscInt begun, waited, meanwhile;

#undef MPI_Ireduce
#undef MPI_Iallreduce
#undef MPI_Ibcast
#undef MPI_Waitall
#undef MPI_Testall

int MPI_Ireduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm, MPI_Request *request)
{
  begun++;
  return PMPI_Ireduce(in, out, count, type, op, root, comm, request);
}

int MPI_Iallreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
  begun++;
  return PMPI_Iallreduce(in, out, count, type, op, comm, request);
}

/* New weights, behind all oracles */
int MPI_Ibcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request)
{
  begun++;
  return PMPI_Ibcast(buffer, count, type, root, comm, request);
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
  for (int k = 0; k < count && begun > 0; k++) waited += requests[k] != MPI_REQUEST_NULL;
  return PMPI_Waitall(count, requests, statuses);
}

/* Looks alone: what is under way stays so until somebody waits for it */
int MPI_Testall(int count, MPI_Request requests[], int *all, MPI_Status statuses[])
{
  PetscInt pending = 0;

  (void)statuses;
  for (int k = 0; k < count; k++) pending += requests[k] != MPI_REQUEST_NULL;
  if (waited > 0) meanwhile = PetscMax(meanwhile, pending);
  *all = 0;
  return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
  const char *const names[NLAYERS] = {"a", "b", "c"};
  Mat               W[NLAYERS];
  MuonLayer         layer[NLAYERS];
  Muon              muon;
  PetscMPIInt       rank;
  PetscBool         serves;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  for (PetscInt l = 0; l < NLAYERS; l++) {
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, N, N, NULL, &W[l]));
    PetscCall(MatZeroEntries(W[l]));
    PetscCall(MuonAddLayer(muon, names[l], W[l], &layer[l]));
  }
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonSetUp(muon));
  for (PetscInt step = 0; step < 2; step++) {
    PetscInt served = 0, calls = NLAYERS;

    for (PetscInt l = 0; l < NLAYERS; l++) {
      PetscMPIInt owner;
      Mat         G;

      PetscCall(MuonLayerGetGradient(layer[l], &G));
      PetscCall(MatZeroEntries(G));
      PetscCall(MatShift(G, 1 + (PetscScalar)l));
      PetscCall(MuonLayerGetOwner(layer[l], &owner));
      served += owner < 0 || owner == rank;
      calls += owner >= 0;
    }
    serves = served == NLAYERS ? PETSC_TRUE : PETSC_FALSE;
    begun = waited = meanwhile = 0;
    PetscCall(MuonStep(muon));
    PetscCheck(begun == calls && waited == calls, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Rank %d: %" PetscInt_FMT " sums and broadcasts were begun and %" PetscInt_FMT " waited for, of %" PetscInt_FMT, rank, begun, waited, calls);
    PetscCheck(meanwhile == (serves ? NLAYERS - 1 : 0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Rank %d: %" PetscInt_FMT " sums were under way during the oracle of the first layer", rank, meanwhile);
  }
  for (PetscInt l = 0; l < NLAYERS; l++) PetscCall(MatDestroy(&W[l]));
  PetscCall(MuonDestroy(&muon));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  test:
    nsize: 2
    args: -muon_type dense -muon_exchange_type {{star replicated}} -muon_momentum_at server

TEST*/
