#include "muonplan.h"

/*
   Routines of the program. If one fails on one rank only, the others would wait for it.
*/

PetscErrorCode MuonErrorOfAll_Private(Muon muon, const char routine[], PetscErrorCode ierr)
{
  const PetscInt64 none  = (PetscInt64)1 << 62;
  PetscInt64       first = ierr != PETSC_SUCCESS ? ((PetscInt64)muon->rank << 32) + (PetscInt64)ierr : none;

  PetscFunctionBegin;
  /* Not traffic of a step: these routines run between steps, and any number of times in a test of gradients */
  if (muon->size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPIU_INT64, MPI_MIN, PetscObjectComm((PetscObject)muon)));
  PetscCall(ierr);
  PetscCheck(first == none, PETSC_COMM_SELF, (PetscErrorCode)(first & 0xffffffff), "The routine of %s failed on rank %d with the error %d, which ends the call on all ranks", routine, (int)(first >> 32), (int)(first & 0xffffffff));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A rank in another call, or without set-up, would wait for others, and they for it. Call, set-up and number of layers are
   digits of one number, in the order of their errors, followed by the hash
*/
PetscErrorCode MuonMeet_Private(Muon muon, MuonCall call, unsigned int hash, PetscBool *same, PetscInt *most)
{
  static const char *const calls[] = {"MuonStep()", "MuonSetUp(), or a call that begins with it", "the end of MuonSolve()", "MuonWeightsChanged()", "MuonReset() or MuonSetType()", "MuonLayerClipHeads()"};
  const MPI_Comm           comm    = PetscObjectComm((PetscObject)muon);
  const PetscInt64         own = 1, ready = (muon->setupcalled ? 1 : 0) + (muon->nested != NULL && muon->nested->setupcalled ? 2 : 0);
  const PetscInt64         number = (PetscInt64)call << 58 | ready << 56 | (PetscInt64)(muon->nlayers & 0xffffff) << 32 | (PetscInt64)hash;
  PetscInt64               all[3] = {number, -number, most != NULL ? (PetscInt64)*most : 0}, low, high, differs;

  PetscFunctionBegin;
  /* No traffic of a step, as above */
  if (muon->size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, all, 3, MPIU_INT64, MPI_MAX, comm));
  high    = all[0];
  low     = -all[1];
  differs = high ^ low;
  *same   = differs == 0 ? PETSC_TRUE : PETSC_FALSE;
  if (most != NULL) *most = (PetscInt)all[2];
  if (differs < own << 32) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(differs < own << 58, comm, PETSC_ERR_ORDER, "Some ranks are in %s and others in %s, expected the same calls on every rank", calls[low >> 58], calls[high >> 58]);
  PetscCheck(differs < own << 56, comm, PETSC_ERR_ORDER, "%s is set up on some ranks and not on others (here %s): MuonReset() and MuonSetType() must be called on every rank, expected it on the others too",
             muon->nested != NULL && (differs >> 56 & 1) == 0 ? "The outer optimizer" : "The optimizer", ready & (differs >> 56 & 1 ? 1 : 2) ? "it is" : "it is not");
  SETERRQ(comm, PETSC_ERR_ARG_INCOMP, "The ranks have between %d and %d layers, expected as many on each", (int)(low >> 32 & 0xffffff), (int)(high >> 32 & 0xffffff));
}
