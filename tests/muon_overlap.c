static char help[] = "While a server computes the step of a layer, the sums of the next ones are under way.\n\n";

#include "problem.h"

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
  Problem p;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(ProblemCreate(&p, 0, 0));
  for (PetscInt step = 0; step < 2; step++) {
    PetscInt served = 0, calls = p.n;

    PetscCall(ProblemSetGradients(&p, step));
    for (PetscInt l = 0; l < p.n; l++) {
      PetscMPIInt owner;

      PetscCall(MuonLayerGetOwner(p.layer[l].layer, &owner));
      served += owner < 0 || owner == p.rank;
      calls += owner >= 0;
    }
    begun = waited = meanwhile = 0;
    PetscCall(MuonStep(p.muon));
    PetscCheck(begun == calls && waited == calls, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Rank %d: %" PetscInt_FMT " sums and broadcasts were begun and %" PetscInt_FMT " waited for, of %" PetscInt_FMT, p.rank, begun, waited, calls);
    PetscCheck(meanwhile == (served == p.n ? p.n - 1 : 0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Rank %d: %" PetscInt_FMT " sums were under way during the oracle of the first layer", p.rank, meanwhile);
  }
  PetscCall(ProblemDestroy(&p));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  test:
    nsize: 2
    args: -muon_type dense -muon_exchange_type {{star replicated}} -muon_momentum_at server -problem_layers a:300x300,b:300x300,c:300x300 -problem_routine 0 -lmo_polar_type zolotarev

TEST*/
