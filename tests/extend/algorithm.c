/*
   An algorithm that the library does not have: plain descent along the mean gradient, whose step the
   algorithm takes itself in place of the layer's rule
*/
#include <petscmuon/private/muonimpl.h>
#include "extend.h"

static PetscErrorCode MuonApply_Descent(Muon muon, MuonShard *shard, MuonLayerStepInfo *info, const MuonArray *seen, const MuonArray *X, const MuonArray *Xnew, MuonStatus *status)
{
  PetscFunctionBegin;
  *status = MuonLayerUpdate(info, X, -info->rate, seen, Xnew);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCreate_Descent(Muon muon)
{
  PetscFunctionBegin;
  muon->ops->apply       = MuonApply_Descent;
  muon->momentum_default = MUON_MOMENTUM_AT_SERVER;
  PetscFunctionReturn(PETSC_SUCCESS);
}
