/* An algorithm that the library does not have: layers see twice the mean gradient */
#include <petscmuon/private/muonimpl.h>
#include "extend.h"

static PetscErrorCode MuonServe_Descent(Muon muon, MuonShard *shard, const MuonArray *sum, PetscInt count)
{
  PetscFunctionBegin;
  MuonArrayAxpby(2 / (double)count, sum, 0, sum);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCreate_Descent(Muon muon)
{
  PetscFunctionBegin;
  muon->ops->serve       = MuonServe_Descent;
  muon->ops->momentum_at = MUON_MOMENTUM_AT_SERVER;
  PetscFunctionReturn(PETSC_SUCCESS);
}
