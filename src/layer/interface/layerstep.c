#include <petscmuon/private/muonlayerimpl.h>
#include <petscmuon/private/muonlmoimpl.h>

/*
   What the driver asks of a rule: a step, a step as a message, its state.
*/
PetscErrorCode MuonLayerMark_Private(MuonLayer layer, MuonMark *mark)
{
  MuonWorkspace work;

  PetscFunctionBegin;
  if (layer->work == NULL) {
    PetscCall(MuonWorkspaceCreate(&work));
    PetscCall(MuonLayerSetWorkspace_Private(layer, work));
    PetscCall(MuonWorkspaceDestroy(&work));
  }
  PetscCall(MuonWorkspaceMark(layer->work, mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerGetScratch(MuonLayer layer, const MuonArray *like, MuonArray *scratch)
{
  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGetArray(layer->work, like, like->precision, scratch));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One pass, which is that of the momentum: it tells what is finite */
MuonStatus MuonLayerUpdate(const MuonLayerStepInfo *info, const MuonArray *X, double by, const MuonArray *D, const MuonArray *Xnew)
{
  const MuonKernels *kernels = MuonArrayKernels(Xnew);
  const PetscBool    same    = D->precision == Xnew->precision ? PETSC_TRUE : PETSC_FALSE;
  const double       keep    = 1 - info->rate * info->decay;
  int                finite;

  if (info->cautious && keep != 1) {
    if (same == PETSC_FALSE) MuonArrayAxpby(1, D, 0, Xnew);
    finite = kernels->Cautious(Xnew->len, Xnew->count, keep, X->data, X->ld, by, same ? D->data : Xnew->data, same ? D->ld : Xnew->ld, Xnew->data, Xnew->ld);
  } else finite = (same ? kernels->Momentum : kernels->MomentumOther)(Xnew->len, Xnew->count, keep, X->data, X->ld, by, D->data, D->ld, Xnew->data, Xnew->ld);
  return finite ? MUON_STATUS_OK : MUON_STATUS_NANORINF;
}

PetscErrorCode MuonLayerSetUp(MuonLayer layer)
{
  MuonLMO     lmo;
  MuonLMOType norm;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  PetscCall(MuonLMOGetType(lmo, &norm));
  if (norm == NULL) PetscCall(MuonLMOSetType(lmo, MUONLMOSPECTRAL));
  PetscTryTypeMethod(layer, setup);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerVisitState(MuonLayer layer, MuonStateVisitor *visitor)
{
  PetscFunctionBegin;
  visitor->layer  = ((PetscObject)layer)->name;
  visitor->holder = MUON_STATE_WORKER;
  PetscCall(MuonStateVisitArray(visitor, "gradient", PETSC_TRUE, PETSC_TRUE, &layer->gradient));
  visitor->holder = layer->owner < 0 ? MUON_STATE_EVERYONE : MUON_STATE_SERVER;
  PetscTryTypeMethod(layer, visitstate, visitor);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerGetFlops(MuonLayer layer, PetscLogDouble *flops)
{
  PetscFunctionBegin;
  *flops = 0;
  PetscTryTypeMethod(layer, getflops, flops);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerStep(MuonLayer layer, MuonLayerStepInfo *info, const MuonArray *G, const MuonArray *X, const MuonArray *Xnew, MuonStatus *status)
{
  PetscFunctionBegin;
  info->dual = info->squares = 0;
  *status                    = MUON_STATUS_OK;
  PetscUseTypeMethod(layer, step, info, G, X, Xnew, status);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerStepMany(PetscInt n, MuonLayerTask task[])
{
  MuonLayerTask **alike;
  PetscBool      *done;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n, &alike, n, &done));
  for (PetscInt k = 0; k < n; k++) done[k] = PETSC_FALSE;
  for (PetscInt k = 0; k < n; k++) {
    const struct _MuonLayerOps *ops   = task[k].layer->ops;
    PetscInt                    count = 0;

    if (done[k]) continue;
    if (ops->stepmany == NULL || task[k].X.memory == MUON_HOST) {
      PetscCall(MuonLayerStep(task[k].layer, &task[k].info, &task[k].G, &task[k].X, &task[k].Xnew, &task[k].status));
      continue;
    }
    for (PetscInt i = k; i < n; i++) {
      if (task[i].layer->ops->stepmany != ops->stepmany || task[i].X.memory == MUON_HOST) continue;
      task[i].info.dual = task[i].info.squares = 0;
      task[i].status                           = MUON_STATUS_OK;
      alike[count++]                           = &task[i];
      done[i]                                  = PETSC_TRUE;
    }
    PetscCall((*ops->stepmany)(count, alike));
  }
  PetscCall(PetscFree2(alike, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerCanEncode_Private(MuonLayer layer, size_t length, char reason[])
{
  MuonLMO     lmo;
  MuonLMOType norm;
  PetscBool   can;

  PetscFunctionBegin;
  reason[0] = '\0';
  if (layer->ops->encode == NULL) {
    PetscCall(PetscSNPrintf(reason, length, "its rule is %s, expected %s", ((PetscObject)layer)->type_name, MUONLAYERLMO));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  PetscCall(MuonLMOCanEncode(lmo, &can));
  if (can) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLMOGetType(lmo, &norm));
  PetscCall(PetscSNPrintf(reason, length, "its norm is %s, whose steps have no natural format, expected one of: %s", norm, MUON_LMO_ENCODABLE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerGetMaxStepBytes(MuonLayer layer, size_t *bytes)
{
  PetscFunctionBegin;
  PetscUseTypeMethod(layer, maxstepbytes, bytes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerEncodeStep(MuonLayer layer, MuonLayerStepInfo *info, const MuonArray *G, size_t most, unsigned char message[], size_t *bytes, PetscBool entropy, MuonCompressorCost *cost, MuonStatus *status)
{
  PetscFunctionBegin;
  info->dual = 0;
  *status    = MUON_STATUS_OK;
  PetscUseTypeMethod(layer, encode, info, G, most, message, bytes, entropy, cost, status);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerValidateStep(MuonLayer layer, size_t bytes, const unsigned char message[], PetscBool entropy, MuonCompressorCost *cost, PetscBool *valid)
{
  PetscFunctionBegin;
  PetscUseTypeMethod(layer, validate, bytes, message, entropy, cost, valid);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerDecodeStep(MuonLayer layer, const MuonLayerStepInfo *info, size_t bytes, const unsigned char message[], const MuonArray *X)
{
  PetscFunctionBegin;
  PetscUseTypeMethod(layer, decode, info, bytes, message, X);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerCommit(MuonLayer layer)
{
  PetscFunctionBegin;
  PetscTryTypeMethod(layer, commit);
  PetscFunctionReturn(PETSC_SUCCESS);
}
