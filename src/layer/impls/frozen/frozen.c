#include <petscmuon/private/muonlayerimpl.h>

/*MC
  MUONLAYERFROZEN - Does not update a layer

  Level: beginner

  Note:
  A frozen layer needs no gradient, sends no message and has no state.

.seealso: `MuonLayer`, `MuonLayerSetType()`, `MuonLayerType`
M*/
PETSC_EXTERN PetscErrorCode MuonLayerCreate_Frozen(MuonLayer layer)
{
  PetscFunctionBegin;
  layer->frozen = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
