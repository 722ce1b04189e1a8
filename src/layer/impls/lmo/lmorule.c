#include <petscmuon/private/muonlayerimpl.h>
#include <petscmuon/private/muonlmoimpl.h>
#include <petscmuon/private/muonwire.h>

static PetscErrorCode MuonLayerApplyLMO_LMO(MuonLayer layer, const MuonMatrix *G, const MuonMatrix *D, double *dual, MuonStatus *status)
{
  MuonLMO lmo;
  double  value;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  PetscCall(MuonLMOApplyMatrix(lmo, G, D, &value, status));
  if (*status == MUON_STATUS_OK) *dual += value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerUpdate_LMO(MuonLayer layer, MuonLayerStepInfo *info, PetscInt b, const MuonArray *X, const MuonArray *D, const MuonArray *Xnew, MuonStatus *status)
{
  MuonArray      d = *D;
  MuonBlock      block;
  PetscReal      factor;
  PetscLogDouble flops;

  PetscFunctionBegin;
  PetscCall(MuonLogDeviceBegin(X->memory, &flops));
  PetscCall(MuonLayerGetBlock_Private(layer, b, &block));
  PetscCall(MuonLayerGetBlockFactor_Private(layer, &block, &factor));
  /* As who decodes a message: D is rounded to single before anything else */
  if (d.precision == MUON_DOUBLE && Xnew->precision == MUON_SINGLE) {
    MuonArrayAxpby(1, &d, 0, Xnew);
    d = *Xnew;
  }
  if (info->measure) info->squares += (double)(factor * factor) * MuonLayerSumSquares(&d);
  *status = MuonLayerUpdate(info, X, info->rate * factor, &d, Xnew);
  PetscCall(PetscLogFlops(3.0 * (PetscLogDouble)MuonArrayEntries(X)));
  PetscCall(MuonLogDeviceEnd(X->memory, flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerStep_LMO(MuonLayer layer, MuonLayerStepInfo *info, const MuonArray *G, const MuonArray *X, const MuonArray *Xnew, MuonStatus *status)
{
  PetscFunctionBegin;
  for (PetscInt b = 0; b < MuonBlocksCount_Private(&layer->blocks) && *status == MUON_STATUS_OK; b++) {
    MuonArray  g, x, xnew, d;
    MuonMatrix from, to;
    MuonMark   mark;

    PetscCall(MuonLayerMark_Private(layer, &mark));
    PetscCall(MuonLayerGetBlockArray(layer, b, G, &g));
    PetscCall(MuonLayerGetBlockArray(layer, b, X, &x));
    PetscCall(MuonLayerGetBlockArray(layer, b, Xnew, &xnew));
    d = xnew;
    if (G->precision != Xnew->precision) PetscCall(MuonLayerGetScratch(layer, &g, &d));
    from = MuonMatrixOfArray(&g);
    to   = MuonMatrixOfArray(&d);
    PetscCall(MuonLayerApplyLMO_LMO(layer, &from, &to, &info->dual, status));
    if (*status == MUON_STATUS_OK) PetscCall(MuonLayerUpdate_LMO(layer, info, b, &x, &d, &xnew, status));
    PetscCall(MuonWorkspaceRelease(layer->work, &mark));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Oracles of all blocks of all layers, then the steps. D is where the new weights come; where it has another
   precision it needs scratch, of which there is one: such a layer goes alone
*/
static PetscErrorCode MuonLayerStepMany_LMO(PetscInt n, MuonLayerTask *const task[])
{
  MuonLMO    *lmo;
  MuonMatrix *from, *to;
  double     *dual;
  MuonStatus *status;
  PetscInt    blocks = 0, k = 0;

  PetscFunctionBegin;
  for (PetscInt t = 0; t < n; t++) blocks += MuonBlocksCount_Private(&task[t]->layer->blocks);
  PetscCall(PetscMalloc5(blocks, &lmo, blocks, &from, blocks, &to, blocks, &dual, blocks, &status));
  for (PetscInt t = 0; t < n; t++) {
    MuonLayerTask *one = task[t];

    if (one->G.precision != one->Xnew.precision) {
      PetscCall(MuonLayerStep_LMO(one->layer, &one->info, &one->G, &one->X, &one->Xnew, &one->status));
      continue;
    }
    for (PetscInt b = 0; b < MuonBlocksCount_Private(&one->layer->blocks); b++, k++) {
      MuonArray g, d;

      PetscCall(MuonLayerGetLMO(one->layer, &lmo[k]));
      PetscCall(MuonLayerGetBlockArray(one->layer, b, &one->G, &g));
      PetscCall(MuonLayerGetBlockArray(one->layer, b, &one->Xnew, &d));
      from[k] = MuonMatrixOfArray(&g);
      to[k]   = MuonMatrixOfArray(&d);
    }
  }
  PetscCall(MuonLMOApplyMatrices(k, lmo, from, to, dual, status));
  k = 0;
  for (PetscInt t = 0; t < n; t++) {
    MuonLayerTask *one = task[t];

    if (one->G.precision != one->Xnew.precision) continue;
    for (PetscInt b = 0; b < MuonBlocksCount_Private(&one->layer->blocks); b++, k++) {
      MuonArray x;

      if (one->status == MUON_STATUS_OK) one->status = status[k];
      if (one->status != MUON_STATUS_OK) continue;
      one->info.dual += dual[k];
      PetscCall(MuonLayerGetBlockArray(one->layer, b, &one->X, &x));
      PetscCall(MuonLayerUpdate_LMO(one->layer, &one->info, b, &x, &to[k].here, &to[k].here, &one->status));
    }
  }
  PetscCall(PetscFree5(lmo, from, to, dual, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The LMO writes and reads messages of a layer, or of a block by the block's name. It gets back the
   layer's, unless there is a PETSc error before, after which nothing of it is used
*/
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
  PetscCall(MuonNameHash_Private(name, &lmo->layer));
  PetscCall(PetscFree(name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A block of an array that has the shape of the layer and the precision of its state, whose name the LMO
   gets where it is not the layer's
*/
static PetscErrorCode MuonLayerBeginBlock_LMO(MuonLayer layer, MuonLMO lmo, PetscInt b, const MuonArray *A, MuonArray *part)
{
  MuonArray whole = MuonArrayLike(&layer->shape, layer->state, NULL);

  PetscFunctionBegin;
  PetscCall(MuonLayerGetBlockArray(layer, b, A != NULL ? A : &whole, part));
  if (MuonBlocksCount_Private(&layer->blocks) > 1) PetscCall(MuonLayerNameBlock_LMO(layer, lmo, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerMaxStepBytes_LMO(MuonLayer layer, size_t *bytes)
{
  const PetscInt count = MuonBlocksCount_Private(&layer->blocks);
  MuonLMO        lmo;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  *bytes = count > 1 ? MUON_WIRE_MESSAGE_HEADER_MOST : 0;
  for (PetscInt b = 0; b < count; b++) {
    MuonArray part;
    size_t    some;

    PetscCall(MuonLayerBeginBlock_LMO(layer, lmo, b, NULL, &part));
    PetscCall(MuonLMOGetMaxBytesOf(lmo, &part, &some));
    *bytes += some;
  }
  if (count > 1) PetscCall(MuonLayerNameBlock_LMO(layer, lmo, -1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void MuonLayerAddCost_LMO(const MuonCompressorCost *part, PetscBool entropy, MuonCompressorCost *cost)
{
  cost->paper += part->paper;
  cost->entropy = entropy ? cost->entropy + part->entropy : -1;
}

static PetscErrorCode MuonLayerEncode_LMO(MuonLayer layer, MuonLayerStepInfo *info, const MuonArray *G, size_t most, unsigned char message[], size_t *bytes, PetscBool entropy, MuonCompressorCost *cost, MuonStatus *status)
{
  const PetscInt     count = MuonBlocksCount_Private(&layer->blocks);
  MuonCompressorCost all   = {0, 0, 0}, one;
  MuonLMO            lmo;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  *bytes = count > 1 ? MUON_WIRE_MESSAGE_HEADER_MOST : 0;
  for (PetscInt b = 0; b < count; b++) {
    MuonArray part;
    size_t    some;

    PetscCall(MuonLayerBeginBlock_LMO(layer, lmo, b, G, &part));
    PetscCall(MuonLMOEncodeArray(lmo, &part, most - *bytes, message + *bytes, &some, entropy, &one));
    *status = lmo->status;
    if (*status != MUON_STATUS_OK) break;
    info->dual += lmo->dual;
    *bytes += some;
    MuonLayerAddCost_LMO(&one, entropy, &all);
  }
  if (count > 1) PetscCall(MuonLayerNameBlock_LMO(layer, lmo, -1));
  if (*status != MUON_STATUS_OK) *bytes = 0;
  else if (count > 1) *bytes = (size_t)MuonWireGroupClose((uint32_t)layer->hash, (uint64_t)count, *bytes - MUON_WIRE_MESSAGE_HEADER_MOST, message);
  all.encoded = 8.0 * (PetscLogDouble)*bytes;
  if (cost != NULL) *cost = all;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerValidate_LMO(MuonLayer layer, size_t bytes, const unsigned char message[], PetscBool entropy, MuonCompressorCost *cost, PetscBool *valid)
{
  const PetscInt     count = MuonBlocksCount_Private(&layer->blocks);
  MuonCompressorCost all   = {0, 0, 0}, one;
  MuonWireGroup      group;
  MuonLMO            lmo;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  all.encoded = 8.0 * (PetscLogDouble)bytes;
  *valid      = count == 1 || MuonWireGroupOpen(message, bytes, (uint32_t)layer->hash, (uint64_t)count, &group) == MUON_WIRE_OK ? PETSC_TRUE : PETSC_FALSE;
  for (PetscInt b = 0; b < count && *valid; b++) {
    const unsigned char *some = count > 1 ? MuonWireGroupNext(&group, &bytes) : message;
    MuonArray            part;

    PetscCall(MuonLayerBeginBlock_LMO(layer, lmo, b, NULL, &part));
    PetscCall(MuonLMOValidateArray(lmo, &part, bytes, some, entropy, &one, valid));
    if (*valid) MuonLayerAddCost_LMO(&one, entropy, &all);
  }
  if (count > 1) PetscCall(MuonLayerNameBlock_LMO(layer, lmo, -1));
  if (cost != NULL) *cost = all;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerDecode_LMO(MuonLayer layer, const MuonLayerStepInfo *info, size_t bytes, const unsigned char message[], const MuonArray *X)
{
  const PetscInt count = MuonBlocksCount_Private(&layer->blocks);
  MuonWireGroup  group;
  MuonLMO        lmo;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  PetscCheck(count == 1 || MuonWireGroupOpen(message, bytes, (uint32_t)layer->hash, (uint64_t)count, &group) == MUON_WIRE_OK, PetscObjectComm((PetscObject)layer), PETSC_ERR_ARG_WRONG,
             "Layer \"%s\": %zu bytes are no message of its %" PetscInt_FMT " blocks", ((PetscObject)layer)->name, bytes, count);
  for (PetscInt b = 0; b < count; b++) {
    const unsigned char *some = count > 1 ? MuonWireGroupNext(&group, &bytes) : message;
    MuonBlock            block;
    MuonArray            part, d;
    PetscReal            factor;
    MuonMark             mark;

    PetscCall(MuonLayerMark_Private(layer, &mark));
    PetscCall(MuonLayerBeginBlock_LMO(layer, lmo, b, X, &part));
    PetscCall(MuonLayerGetBlock_Private(layer, b, &block));
    PetscCall(MuonLayerGetBlockFactor_Private(layer, &block, &factor));
    if (info->cautious && info->decay != 0) {
      PetscCall(MuonLayerGetScratch(layer, &part, &d));
      PetscCall(MuonArrayZero(&d));
      PetscCall(MuonLMODecodeAxpbyArray(lmo, 0, 1, bytes, some, &d));
      (void)MuonLayerUpdate(info, &part, info->rate * factor, &d, &part);
    } else PetscCall(MuonLMODecodeAxpbyArray(lmo, 1 - info->rate * info->decay, info->rate * factor, bytes, some, &part));
    PetscCall(MuonWorkspaceRelease(layer->work, &mark));
  }
  if (count > 1) PetscCall(MuonLayerNameBlock_LMO(layer, lmo, -1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerSetUp_LMO(MuonLayer layer)
{
  MuonLMO lmo;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  lmo->memory = layer->shape.memory;
  PetscCall(MuonLMOSetUp(lmo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerGetFlops_LMO(MuonLayer layer, PetscLogDouble *flops)
{
  MuonLMO lmo;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  *flops = 3.0 * (PetscLogDouble)MuonLayerEntries(layer);
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
  MUONLAYERLMO - Moves a layer by a step inside a norm ball: X becomes (1 - rate decay) X + radius D, with D
  the point of the unit ball where <G,D> is least

  Level: beginner

  Note:
  The norm is that of the layer's `MuonLMO`, for the spectral norm this is Muon. Where the layer has blocks
  (`MuonLayerSetBlocks()`) each is moved by itself, with the radius factor of its own shape.

.seealso: `MuonLayer`, `MuonLayerSetBlocks()`, `MuonLayerSetRule()`, `MuonLayerRule`, `MuonLMO`, `MuonLayerGetLMO()`
M*/
PETSC_EXTERN PetscErrorCode MuonLayerRuleCreate_LMO(MuonLayer layer)
{
  PetscFunctionBegin;
  layer->workermomentum    = PETSC_TRUE;
  layer->ops->step         = MuonLayerStep_LMO;
  layer->ops->stepmany     = MuonLayerStepMany_LMO;
  layer->ops->applylmo     = MuonLayerApplyLMO_LMO;
  layer->ops->update       = MuonLayerUpdate_LMO;
  layer->ops->maxstepbytes = MuonLayerMaxStepBytes_LMO;
  layer->ops->encode       = MuonLayerEncode_LMO;
  layer->ops->validate     = MuonLayerValidate_LMO;
  layer->ops->decode       = MuonLayerDecode_LMO;
  layer->ops->setup        = MuonLayerSetUp_LMO;
  layer->ops->getflops     = MuonLayerGetFlops_LMO;
  layer->ops->view         = MuonLayerView_LMO;
  PetscFunctionReturn(PETSC_SUCCESS);
}
