#include <petscmuon/private/muonlayerimpl.h>

static PetscErrorCode MuonLayerStep_SGD(MuonLayer layer, MuonLayerStepInfo *info, const MuonArray *G, const MuonArray *X, const MuonArray *Xnew, MuonStatus *status)
{
  PetscFunctionBegin;
  if (info->measure) info->squares = MuonLayerSumSquares(G);
  *status = MuonLayerUpdate(info, X, -info->rate, G, Xnew);
  PetscCall(PetscLogFlops(layer->flops * (PetscLogDouble)MuonArrayEntries(X)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONLAYERSGD - Updates a layer by gradient descent: X becomes (1 - rate decay) X - rate G, without momentum

  Level: intermediate

.seealso: `MuonLayer`, `MuonLayerSetType()`, `MuonLayerType`
M*/
PETSC_EXTERN PetscErrorCode MuonLayerCreate_SGD(MuonLayer layer)
{
  PetscFunctionBegin;
  layer->flops              = 4;
  layer->ops->step          = MuonLayerStep_SGD;
  layer->parameters.variant = "sgd_";
  PetscFunctionReturn(PETSC_SUCCESS);
}
