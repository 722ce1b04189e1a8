#include "muonplan.h"

/*
   Routines of the program's. One that fails on one rank alone would leave the others waiting for it.
*/

PetscErrorCode MuonErrorOfAll_Private(Muon muon, const char routine[], PetscErrorCode ierr)
{
  const PetscInt64 none  = (PetscInt64)1 << 62;
  PetscInt64       first = ierr != PETSC_SUCCESS ? ((PetscInt64)muon->rank << 32) + (PetscInt64)ierr : none;

  PetscFunctionBegin;
  /* No traffic of a step: these routines run between the steps, and any number of times in a test of gradients */
  if (muon->size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPIU_INT64, MPI_MIN, PetscObjectComm((PetscObject)muon)));
  PetscCall(ierr);
  PetscCheck(first == none, PETSC_COMM_SELF, (PetscErrorCode)(first & 0xffffffff), "The routine of %s failed on rank %d with the error %d, which ends the call on all ranks", routine, (int)(first >> 32), (int)(first & 0xffffffff));
  PetscFunctionReturn(PETSC_SUCCESS);
}
