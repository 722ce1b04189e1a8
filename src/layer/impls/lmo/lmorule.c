#include <petscmuon/private/muonlayerimpl.h>
#include <petscmuon/private/muonlmoimpl.h>
#include "../../../kernels/muonkernels.h"
#include "../../../wire/muonwire.h"

static PetscErrorCode MuonLayerStep_LMO(MuonLayer layer, MuonLayerStepInfo *info, Mat G, Mat X, Mat Xnew, MuonStatus *status)
{
  const PetscScalar *x;
  PetscScalar       *y;
  PetscInt           ldx, ldy;
  MuonLMO            lmo;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  PetscCall(MatDenseGetLDA(X, &ldx));
  PetscCall(MatDenseGetLDA(Xnew, &ldy));
  for (PetscInt b = 0; b < MuonBlocksCount_Private(&layer->blocks); b++) {
    MuonBlock block;
    Mat       Gb, Db;
    PetscReal factor, dual;

    PetscCall(MuonLayerGetBlock_Private(layer, b, &block));
    PetscCall(MuonLayerGetBlockMat_Private(layer, &block, G, &Gb));
    PetscCall(MuonLayerGetBlockMat_Private(layer, &block, Xnew, &Db));
    PetscCall(MuonLMOApply(lmo, Gb, Db));
    PetscCall(MatDestroy(&Gb));
    PetscCall(MatDestroy(&Db));
    PetscCall(MuonLMOGetStatus(lmo, status));
    if (*status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(MuonLMOGetLastDual(lmo, &dual));
    info->dual += dual;
    PetscCall(MuonLayerGetBlockFactor_Private(layer, &block, &factor));
    PetscCall(MatDenseGetArrayRead(X, &x));
    PetscCall(MatDenseGetArray(Xnew, &y));
    MuonKernelAxpby((size_t)block.m, (size_t)block.n, 1 - info->rate * layer->weight_decay, x + block.row + (size_t)block.column * (size_t)ldx, (size_t)ldx, info->rate * factor, y + block.row + (size_t)block.column * (size_t)ldy, (size_t)ldy);
    PetscCall(MatDenseRestoreArray(Xnew, &y));
    PetscCall(MatDenseRestoreArrayRead(X, &x));
  }
  PetscCall(PetscLogFlops(3.0 * (PetscLogDouble)layer->m * (PetscLogDouble)layer->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The oracle writes and reads messages of a layer, or of a block by the block's name. It gets back the layer's, unless there is a PETSc error before, after which nothing of it is used */
static PetscErrorCode MuonLayerNameBlock_LMO(MuonLayer layer, MuonLMO lmo, PetscInt b)
{
  const char *layername = ((PetscObject)layer)->name;
  char       *name;
  size_t      length;

  PetscFunctionBegin;
  PetscCall(PetscStrlen(layername, &length));
  PetscCall(PetscMalloc1(length + 32, &name));
  if (b < 0) PetscCall(PetscStrncpy(name, layername, length + 32));
  else PetscCall(MuonBlockName_Private(layername, b, length + 32, name));
  PetscCall(MuonLMOSetLayerName(lmo, name));
  PetscCall(PetscFree(name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerEncode_LMO(MuonLayer layer, MuonLayerStepInfo *info, Mat G, size_t most, unsigned char message[], size_t *bytes, MuonStatus *status)
{
  const PetscInt count = MuonBlocksCount_Private(&layer->blocks);
  MuonLMO        lmo;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  *bytes = count > 1 ? MUON_WIRE_MESSAGE_HEADER_MOST : 0;
  for (PetscInt b = 0; b < count; b++) {
    MuonBlock block;
    Mat       Gb;
    size_t    part;
    PetscReal dual;

    PetscCall(MuonLayerGetBlock_Private(layer, b, &block));
    PetscCall(MuonLayerGetBlockMat_Private(layer, &block, G, &Gb));
    if (count > 1) PetscCall(MuonLayerNameBlock_LMO(layer, lmo, b));
    PetscCall(MuonLMOEncode(lmo, Gb, most - *bytes, message + *bytes, &part));
    PetscCall(MatDestroy(&Gb));
    PetscCall(MuonLMOGetStatus(lmo, status));
    if (*status != MUON_STATUS_OK) break;
    PetscCall(MuonLMOGetLastDual(lmo, &dual));
    info->dual += dual;
    *bytes += part;
  }
  if (count > 1) PetscCall(MuonLayerNameBlock_LMO(layer, lmo, -1));
  if (*status != MUON_STATUS_OK) *bytes = 0;
  else if (count > 1) *bytes = (size_t)MuonWireGroupClose((uint32_t)layer->hash, (uint64_t)count, *bytes - MUON_WIRE_MESSAGE_HEADER_MOST, message);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerDecode_LMO(MuonLayer layer, const MuonLayerStepInfo *info, size_t bytes, const unsigned char message[], Mat X)
{
  const PetscInt count = MuonBlocksCount_Private(&layer->blocks);
  MuonWireGroup  group;
  MuonLMO        lmo;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  PetscCheck(count == 1 || MuonWireGroupOpen(message, bytes, (uint32_t)layer->hash, (uint64_t)count, &group) == MUON_WIRE_OK, PetscObjectComm((PetscObject)layer), PETSC_ERR_ARG_WRONG,
             "Layer \"%s\": %zu bytes are no message of its %" PetscInt_FMT " blocks", ((PetscObject)layer)->name, bytes, count);
  for (PetscInt b = 0; b < count; b++) {
    const unsigned char *part = message;
    size_t               some = bytes;
    MuonBlock            block;
    Mat                  Xb;
    PetscReal            factor;

    PetscCall(MuonLayerGetBlock_Private(layer, b, &block));
    PetscCall(MuonLayerGetBlockMat_Private(layer, &block, X, &Xb));
    PetscCall(MuonLayerGetBlockFactor_Private(layer, &block, &factor));
    if (count > 1) {
      PetscCall(MuonLayerNameBlock_LMO(layer, lmo, b));
      part = MuonWireGroupNext(&group, &some);
    }
    PetscCall(MuonLMODecodeAxpby_Private(lmo, 1 - info->rate * layer->weight_decay, info->rate * factor, some, part, Xb));
    PetscCall(MatDestroy(&Xb));
  }
  if (count > 1) PetscCall(MuonLayerNameBlock_LMO(layer, lmo, -1));
  PetscCall(PetscObjectStateIncrease((PetscObject)X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerGetFlops_LMO(MuonLayer layer, PetscLogDouble *flops)
{
  MuonLMO lmo;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  *flops = 3.0 * (PetscLogDouble)layer->m * (PetscLogDouble)layer->n;
  for (PetscInt b = 0; b < MuonBlocksCount_Private(&layer->blocks); b++) {
    MuonBlock      block;
    PetscLogDouble one;

    PetscCall(MuonLayerGetBlock_Private(layer, b, &block));
    PetscCall(MuonLMOGetFlops(lmo, block.m, block.n, &one));
    *flops += one;
  }
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
  The norm is that of the layer's `MuonLMO`, for the spectral norm this is Muon. Where the layer has blocks (`MuonLayerSetBlocks()`) each is moved by itself, with the radius factor of its own shape.

.seealso: `MuonLayer`, `MuonLayerSetBlocks()`, `MuonLayerSetRule()`, `MuonLayerRule`, `MuonLMO`, `MuonLayerGetLMO()`, `MUONCOMPRESSORSHARP`
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
