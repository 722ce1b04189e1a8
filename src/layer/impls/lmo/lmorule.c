#include <petscmuon/private/muonlayerimpl.h>
#include <petscmuon/private/muonlmoimpl.h>
#include "../../../kernels/muonkernels.h"

static PetscErrorCode MuonLayerStep_LMO(MuonLayer layer, MuonLayerStepInfo *info, Mat G, Mat X, Mat Xnew, MuonStatus *status)
{
  const PetscScalar *x;
  PetscScalar       *y;
  PetscInt           ldx, ldy;
  MuonLMO            lmo;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  PetscCall(MuonLMOApply(lmo, G, Xnew));
  PetscCall(MuonLMOGetStatus(lmo, status));
  if (*status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLMOGetLastDual(lmo, &info->dual));
  PetscCall(MatDenseGetLDA(X, &ldx));
  PetscCall(MatDenseGetLDA(Xnew, &ldy));
  PetscCall(MatDenseGetArrayRead(X, &x));
  PetscCall(MatDenseGetArray(Xnew, &y));
  MuonKernelAxpby((size_t)layer->m, (size_t)layer->n, 1 - info->rate * layer->weight_decay, x, (size_t)ldx, info->radius, y, (size_t)ldy);
  PetscCall(MatDenseRestoreArray(Xnew, &y));
  PetscCall(MatDenseRestoreArrayRead(X, &x));
  PetscCall(PetscLogFlops(3.0 * (PetscLogDouble)layer->m * (PetscLogDouble)layer->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerEncode_LMO(MuonLayer layer, MuonLayerStepInfo *info, Mat G, size_t most, unsigned char message[], size_t *bytes, MuonStatus *status)
{
  MuonLMO lmo;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  PetscCall(MuonLMOEncode(lmo, G, most, message, bytes));
  PetscCall(MuonLMOGetStatus(lmo, status));
  if (*status == MUON_STATUS_OK) PetscCall(MuonLMOGetLastDual(lmo, &info->dual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerDecode_LMO(MuonLayer layer, const MuonLayerStepInfo *info, size_t bytes, const unsigned char message[], Mat X)
{
  MuonLMO lmo;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  PetscCall(MuonLMODecodeAxpby_Private(lmo, 1 - info->rate * layer->weight_decay, info->radius, bytes, message, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerGetFlops_LMO(MuonLayer layer, PetscLogDouble *flops)
{
  MuonLMO lmo;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  PetscCall(MuonLMOGetFlops(lmo, layer->m, layer->n, flops));
  *flops += 3.0 * (PetscLogDouble)layer->m * (PetscLogDouble)layer->n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerView_LMO(MuonLayer layer, PetscViewer viewer)
{
  MuonLMO lmo;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  PetscCall(MuonLMOView(lmo, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONLAYERLMO - Moves a layer by a step inside a norm ball: X becomes (1 - rate decay) X + radius D, with D the point of the unit ball where <G,D> is least

  Level: beginner

  Note:
  The norm is that of the layer's `MuonLMO`, for the spectral norm this is Muon.

.seealso: `MuonLayer`, `MuonLayerSetRule()`, `MuonLayerRule`, `MuonLMO`, `MuonLayerGetLMO()`, `MUONCOMPRESSORSHARP`
M*/
PETSC_EXTERN PetscErrorCode MuonLayerRuleCreate_LMO(MuonLayer layer)
{
  PetscFunctionBegin;
  layer->workermomentum = PETSC_TRUE;
  layer->ops->step      = MuonLayerStep_LMO;
  layer->ops->encode    = MuonLayerEncode_LMO;
  layer->ops->decode    = MuonLayerDecode_LMO;
  layer->ops->getflops  = MuonLayerGetFlops_LMO;
  layer->ops->view      = MuonLayerView_LMO;
  PetscFunctionReturn(PETSC_SUCCESS);
}
