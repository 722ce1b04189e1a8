#include <petscmuon/private/muonlmoimpl.h>
#include "../../muonslot.h"
#include <petscmuon/private/muonwire.h>

static PetscErrorCode MuonLayerApplyLMO_LMO(MuonLayer layer, const MuonMatrix *G, const MuonMatrix *D, double *dual, MuonStatus *status)
{
  double value;

  PetscFunctionBegin;
  PetscCall(MuonLMOApplyMatrix(layer->lmo, G, D, &value, status));
  if (*status == MUON_STATUS_OK) *dual += value;
  /* Ranks that get rows of D do not get the dual norm */
  if (*status == MUON_STATUS_OK && layer->step == MUON_STEP_SHARP) MuonArrayAxpby(value, &D->here, 0, &D->here);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The factor of a block's rate, besides D, and besides the dual norm in a sharp step */
static PetscErrorCode MuonLayerGetFactor_LMO(MuonLayer layer, PetscInt b, double *factor)
{
  PetscReal one;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetBlockFactor_Private(layer, b, &one));
  *factor = (double)(layer->step == MUON_STEP_SHARP ? one * one : one);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* D is yet to be multiplied with times */
static PetscErrorCode MuonLayerMove_LMO(MuonLayer layer, MuonLayerStepInfo *info, PetscInt b, double times, const MuonArray *X, const MuonArray *D, const MuonArray *Xnew, MuonStatus *status)
{
  const MuonSlotStep *step = &layer->slots->step;
  MuonArray           d    = *D;
  double              factor;
  PetscLogDouble      flops;

  PetscFunctionBegin;
  PetscCall(MuonLogDeviceBegin(X->memory, &flops));
  PetscCall(MuonLayerGetFactor_LMO(layer, b, &factor));
  factor *= times;
  /* As when a message is decoded: D is rounded to single first */
  if (d.precision == MUON_DOUBLE && Xnew->precision == MUON_SINGLE) {
    MuonArrayAxpby(1, &d, 0, Xnew);
    d = *Xnew;
  }
  if (step->held) {
    *status = (d.precision == Xnew->precision ? MuonArrayKernels(Xnew)->Momentum : MuonArrayKernels(Xnew)->MomentumOther)(Xnew->len, Xnew->count, step->keep, X->data, X->ld, step->by, d.data, d.ld, Xnew->data, Xnew->ld) ? MUON_STATUS_OK
                                                                                                                                                                                                                            : MUON_STATUS_NANORINF;
    PetscCall(MuonLogDeviceEnd(X->memory, flops));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (info->measure) info->squares += factor * factor * MuonLayerSumSquares(&d);
  *status = MuonLayerUpdate(info, X, info->rate * factor, &d, Xnew);
  PetscCall(PetscLogFlops(3.0 * (PetscLogDouble)MuonArrayEntries(X)));
  PetscCall(MuonLogDeviceEnd(X->memory, flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerUpdate_LMO(MuonLayer layer, MuonLayerStepInfo *info, PetscInt b, const MuonArray *X, const MuonArray *D, const MuonArray *Xnew, MuonStatus *status)
{
  PetscFunctionBegin;
  PetscCall(MuonLayerMove_LMO(layer, info, b, 1, X, D, Xnew, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether the step from X gives finite weights: by bounds of X and D or, if these are too large, by taking it
*/
static PetscErrorCode MuonLayerForesee_LMO(MuonLayer layer, const MuonLayerStepInfo *info, PetscInt b, double times, const MuonArray *X, const MuonArray *D, MuonStatus *status)
{
  const double      far = 1e12, most = (X->precision == MUON_SINGLE ? (double)FLT_MAX : DBL_MAX) / 4;
  MuonLayerStepInfo copy = *info;
  double            factor;
  MuonArray         Xnew;
  MuonMark          mark;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetFactor_LMO(layer, b, &factor));
  if (layer->slots->step.held == PETSC_FALSE && info->rate * factor * times * far < most && MuonArrayKernels(D)->IsBelow(D->len, D->count, D->data, D->ld, far) &&
      MuonArrayKernels(X)->IsBelow(X->len, X->count, X->data, X->ld, most / fmax(1, fabs(1 - info->rate * info->decay))))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonWorkspaceMark(layer->work, &mark));
  PetscCall(MuonWorkspaceGetArray(layer->work, X, X->precision, &Xnew));
  PetscCall(MuonLayerMove_LMO(layer, &copy, b, times, X, D, &Xnew, status));
  PetscCall(MuonWorkspaceRelease(layer->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The LMOs of all blocks of all layers, then the steps. D is where it stays until it is taken, or where the new weights
   come, or in scratch where these have another precision, which is so for one task alone
*/
static PetscErrorCode MuonLayerStepMany_LMO(PetscInt n, MuonLayerTask *const task[])
{
  MuonLMO    *lmo;
  MuonMatrix *from, *to;
  double     *dual;
  MuonStatus *status;
  PetscInt    blocks = 0, k = 0;
  MuonArray   g, d, x, xnew;
  MuonMark    mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(task[0]->layer->work, &mark));
  for (PetscInt t = 0; t < n; t++) blocks += MuonBlocksCount_Private(&task[t]->layer->blocks);
  PetscCall(PetscMalloc5(blocks, &lmo, blocks, &from, blocks, &to, blocks, &dual, blocks, &status));
  for (PetscInt t = 0; t < n; t++) {
    MuonArray whole = task[t]->D.data != NULL ? task[t]->D : task[t]->Xnew;

    if (task[t]->G.precision != whole.precision) PetscCall(MuonWorkspaceGetArray(task[t]->layer->work, &task[t]->G, task[t]->G.precision, &whole));
    for (PetscInt b = 0; b < MuonBlocksCount_Private(&task[t]->layer->blocks); b++, k++) {
      PetscCall(MuonLayerGetBlockArray(task[t]->layer, b, &task[t]->G, &g));
      PetscCall(MuonLayerGetBlockArray(task[t]->layer, b, &whole, &d));
      lmo[k]  = task[t]->layer->lmo;
      from[k] = MuonMatrixOfArray(&g);
      to[k]   = MuonMatrixOfArray(&d);
    }
  }
  PetscCall(MuonLMOApplyMatrices(k, lmo, from, to, dual, status));
  k = 0;
  for (PetscInt t = 0; t < n; t++) {
    for (PetscInt b = 0; b < MuonBlocksCount_Private(&task[t]->layer->blocks); b++, k++) {
      const double times = task[t]->layer->step == MUON_STEP_SHARP ? dual[k] : 1;

      if (task[t]->status == MUON_STATUS_OK) task[t]->status = status[k];
      if (task[t]->status == MUON_STATUS_OK) PetscCall(MuonSlotsApply(task[t]->layer, MUON_SLOT_AFTER, b, &task[t]->info, &to[k], &to[k].here, &task[t]->status));
      if (task[t]->status != MUON_STATUS_OK) continue;
      task[t]->info.dual += dual[k];
      PetscCall(MuonLayerGetBlockArray(task[t]->layer, b, &task[t]->X, &x));
      PetscCall(MuonSlotsApply(task[t]->layer, MUON_SLOT_MOVE, b, &task[t]->info, &to[k], &x, &task[t]->status));
      if (task[t]->status != MUON_STATUS_OK) continue;
      if (task[t]->D.data != NULL) {
        PetscCall(MuonLayerForesee_LMO(task[t]->layer, &task[t]->info, b, times, &x, &to[k].here, &task[t]->status));
        continue;
      }
      PetscCall(MuonLayerGetBlockArray(task[t]->layer, b, &task[t]->Xnew, &xnew));
      PetscCall(MuonLayerMove_LMO(task[t]->layer, &task[t]->info, b, times, &x, &to[k].here, &xnew, &task[t]->status));
    }
  }
  PetscCall(PetscFree5(lmo, from, to, dual, status));
  PetscCall(MuonWorkspaceRelease(task[0]->layer->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sharp steps of blocks, each with its own dual norm, are taken immediately */
static PetscErrorCode MuonLayerTake_LMO(MuonLayer layer, MuonLayerStepInfo *info, const MuonArray *D, const MuonArray *X)
{
  MuonArray  d, x, same;
  MuonMatrix matrix;
  MuonStatus taken; /* it was foreseen */
  MuonMark   mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(layer->work, &mark));
  for (PetscInt b = 0; b < MuonBlocksCount_Private(&layer->blocks); b++) {
    PetscCall(MuonLayerGetBlockArray(layer, b, D, &d));
    PetscCall(MuonLayerGetBlockArray(layer, b, X, &x));
    if (info->cautious && d.precision != x.precision) {
      PetscCall(MuonWorkspaceGetArray(layer->work, &x, x.precision, &same));
      MuonArrayAxpby(1, &d, 0, &same);
      d = same;
    }
    matrix = MuonMatrixOfArray(&d);
    PetscCall(MuonSlotsApply(layer, MUON_SLOT_MOVE, b, info, &matrix, &x, &taken));
    PetscCall(MuonLayerMove_LMO(layer, info, b, layer->step == MUON_STEP_SHARP ? info->dual : 1, &x, &d, &x, &taken));
    PetscCall(MuonWorkspaceRelease(layer->work, &mark));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerStep_LMO(MuonLayer layer, MuonLayerStepInfo *info, const MuonArray *G, const MuonArray *X, const MuonArray *Xnew, MuonStatus *status)
{
  MuonLayerTask one = {layer, *info, *G, *X, *Xnew, MUON_STATUS_OK, MuonArrayLike(G, G->precision, NULL)}, *const task[] = {&one};

  PetscFunctionBegin;
  PetscCall(MuonLayerStepMany_LMO(1, task));
  *info   = one.info;
  *status = one.status;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A block of an array that has the shape of the layer and the precision of its state. The LMO writes and reads
   messages by the block's name; after the last one it gets back the layer's
*/
static PetscErrorCode MuonLayerBeginBlock_LMO(MuonLayer layer, PetscInt b, const MuonArray *A, MuonArray *part)
{
  MuonArray whole = MuonArrayLike(&layer->shape, layer->state.precision, NULL);
  char      name[MUON_LAYER_NAME_MAX + 32];

  PetscFunctionBegin;
  PetscCall(MuonLayerGetBlockArray(layer, b, A != NULL ? A : &whole, part));
  if (MuonBlocksCount_Private(&layer->blocks) == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonBlockName_Private(((PetscObject)layer)->name, b, sizeof(name), name));
  PetscCall(MuonNameHash_Private(name, &layer->lmo->layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerGetMaxStepBytes(MuonLayer layer, size_t *bytes)
{
  const PetscInt count = MuonBlocksCount_Private(&layer->blocks);

  PetscFunctionBegin;
  *bytes = count > 1 ? MUON_WIRE_MESSAGE_HEADER_MOST : 0;
  for (PetscInt b = 0; b < count; b++) {
    MuonArray part;
    size_t    some;

    PetscCall(MuonLayerBeginBlock_LMO(layer, b, NULL, &part));
    PetscCall(MuonLMOGetMaxBytesOf(layer->lmo, &part, &some));
    *bytes += some;
  }
  if (count > 1) layer->lmo->layer = layer->hash;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerEncodeStep(MuonLayer layer, MuonLayerStepInfo *info, const MuonArray *G, size_t capacity, unsigned char message[], size_t *bytes, MuonStatus *status)
{
  const PetscInt count = MuonBlocksCount_Private(&layer->blocks);

  PetscFunctionBegin;
  info->dual = 0;
  *status    = MUON_STATUS_OK;
  *bytes     = count > 1 ? MUON_WIRE_MESSAGE_HEADER_MOST : 0;
  for (PetscInt b = 0; b < count && *status == MUON_STATUS_OK; b++) {
    MuonArray part;
    size_t    some;

    PetscCall(MuonLayerBeginBlock_LMO(layer, b, G, &part));
    PetscCall(MuonLMOEncodeArray(layer->lmo, &part, capacity - *bytes, message + *bytes, &some));
    *status = layer->lmo->status;
    if (*status != MUON_STATUS_OK) continue;
    info->dual += layer->lmo->dual;
    *bytes += some;
  }
  if (count > 1) layer->lmo->layer = layer->hash;
  if (*status != MUON_STATUS_OK) *bytes = 0;
  else if (count > 1) *bytes = (size_t)MuonWireGroupClose((uint32_t)layer->hash, (uint64_t)count, *bytes - MUON_WIRE_MESSAGE_HEADER_MOST, message);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerValidateStep(MuonLayer layer, size_t bytes, const unsigned char message[], PetscBool entropy, MuonCompressorCost *cost, PetscBool *valid)
{
  const PetscInt     count = MuonBlocksCount_Private(&layer->blocks);
  MuonCompressorCost all   = {0, 8.0 * (PetscLogDouble)bytes, entropy ? 0 : -1}, one;
  MuonWireGroup      group;

  PetscFunctionBegin;
  *valid = count == 1 || MuonWireGroupOpen(message, bytes, (uint32_t)layer->hash, (uint64_t)count, &group) == MUON_WIRE_OK ? PETSC_TRUE : PETSC_FALSE;
  for (PetscInt b = 0; b < count && *valid; b++) {
    const unsigned char *some = count > 1 ? MuonWireGroupNext(&group, &bytes) : message;
    MuonArray            part;

    PetscCall(MuonLayerBeginBlock_LMO(layer, b, NULL, &part));
    PetscCall(MuonLMOValidateArray(layer->lmo, &part, bytes, some, entropy, &one, valid));
    if (!*valid) break;
    all.paper += one.paper;
    if (entropy) all.entropy += one.entropy;
  }
  if (count > 1) layer->lmo->layer = layer->hash;
  if (cost != NULL) *cost = all;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerDecodeStep(MuonLayer layer, const MuonLayerStepInfo *info, size_t bytes, const unsigned char message[], const MuonArray *X)
{
  const PetscInt count = MuonBlocksCount_Private(&layer->blocks);
  MuonWireGroup  group;

  PetscFunctionBegin;
  PetscCheck(count == 1 || MuonWireGroupOpen(message, bytes, (uint32_t)layer->hash, (uint64_t)count, &group) == MUON_WIRE_OK, PetscObjectComm((PetscObject)layer), PETSC_ERR_ARG_WRONG,
             "Layer \"%s\": %zu bytes are no message of its %" PetscInt_FMT " blocks", ((PetscObject)layer)->name, bytes, count);
  for (PetscInt b = 0; b < count; b++) {
    const unsigned char *some  = count > 1 ? MuonWireGroupNext(&group, &bytes) : message;
    const PetscBool      sharp = layer->step == MUON_STEP_SHARP ? PETSC_TRUE : PETSC_FALSE;
    MuonArray            part, d;
    double               factor;
    MuonMark             mark;

    PetscCall(MuonWorkspaceMark(layer->work, &mark));
    PetscCall(MuonLayerBeginBlock_LMO(layer, b, X, &part));
    PetscCall(MuonLayerGetFactor_LMO(layer, b, &factor));
    if (info->cautious && info->decay != 0) {
      PetscCall(MuonWorkspaceGetArray(layer->work, &part, part.precision, &d));
      PetscCall(MuonArrayZero(&d));
      PetscCall(MuonLMODecodeAxpbyArray(layer->lmo, 0, 1, sharp, bytes, some, &d));
      (void)MuonLayerUpdate(info, &part, info->rate * factor, &d, &part);
    } else PetscCall(MuonLMODecodeAxpbyArray(layer->lmo, 1 - info->rate * info->decay, info->rate * factor, sharp, bytes, some, &part));
    PetscCall(MuonWorkspaceRelease(layer->work, &mark));
  }
  if (count > 1) layer->lmo->layer = layer->hash;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerSetUp_LMO(MuonLayer layer)
{
  MuonLMO lmo;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  lmo->memory = layer->shape.memory;
  lmo->pairs  = layer->shape.pairs;
  PetscCall(MuonLMOSetUp(lmo));
  PetscCall(MuonSlotsSetUp(layer));
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
  PetscCall(MuonSlotsView(layer, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONLAYERLMO - Updates a layer by a step inside a norm ball: X becomes (1 - rate decay) X + radius D, with D the
  point of the unit ball that minimizes <G,D>

  Level: beginner

  Notes:
  With `-muon_step sharp` the radius is multiplied by scale, shape factor and dual norm, see `MuonStepType`.

  The norm is that of the layer's `MuonLMO`. With the spectral norm this is Muon. Each block of a layer
  (`MuonLayerSetBlocks()`) has its own step, with the radius factor of its own shape.

  `MUONLAYERBEFORE` and `MUONLAYERAFTER` scale the input and the result of the LMO by rows, columns or entries.
  `MUONLAYERHYPERBALL` keeps the norm of the weights.

.seealso: `MuonLayer`, `MuonLayerSetBlocks()`, `MuonLayerSetType()`, `MuonLayerType`, `MuonLMO`, `MuonLayerGetLMO()`, `MUONLAYERBEFORE`, `MUONLAYERAFTER`, `MUONLAYERHYPERBALL`
M*/
PETSC_EXTERN PetscErrorCode MuonLayerCreate_LMO(MuonLayer layer)
{
  PetscFunctionBegin;
  layer->workermomentum  = PETSC_TRUE;
  layer->ops->step       = MuonLayerStep_LMO;
  layer->ops->stepmany   = MuonLayerStepMany_LMO;
  layer->ops->take       = MuonLayerTake_LMO;
  layer->ops->applylmo   = MuonLayerApplyLMO_LMO;
  layer->ops->update     = MuonLayerUpdate_LMO;
  layer->ops->setup      = MuonLayerSetUp_LMO;
  layer->ops->getflops   = MuonLayerGetFlops_LMO;
  layer->ops->view       = MuonLayerView_LMO;
  layer->ops->slots      = MuonSlotsApply;
  layer->ops->commit     = MuonSlotsCommit;
  layer->ops->visitstate = MuonSlotsVisitState;
  layer->ops->reset      = MuonSlotsReset;
  PetscFunctionReturn(PETSC_SUCCESS);
}
