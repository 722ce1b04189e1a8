#include <petscmuon/private/muonlayerimpl.h>
#include <petscmuon/private/muonlmoimpl.h>

/* One pass, which is that of the momentum: it finds what is not finite */
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

PetscErrorCode MuonLayerVisitState(MuonLayer layer, MuonStateVisitor *visitor)
{
  PetscFunctionBegin;
  visitor->layer  = ((PetscObject)layer)->name;
  visitor->holder = MUON_STATE_WORKER;
  PetscCall(MuonLayerVisitGradient_Private(layer, visitor));
  visitor->holder = visitor->alone ? MUON_STATE_WORKER : MuonLayerOwner(layer) < 0 ? MUON_STATE_EVERYONE : MUON_STATE_SERVER;
  PetscTryTypeMethod(layer, visitstate, visitor);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerGetFlops(MuonLayer layer, PetscLogDouble *flops)
{
  PetscFunctionBegin;
  *flops = layer->flops * (PetscLogDouble)MuonLayerEntries(layer);
  PetscTryTypeMethod(layer, getflops, flops);
  if (layer->shape.pairs) *flops *= layer->ops->applylmo != NULL ? 4 : 2; /* of complex products, and of parts */
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
  MuonLayerTask **many;
  PetscInt        count = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &many));
  for (PetscInt k = 0; k < n; k++) {
    MuonLayerTask *one = &task[k];

    one->info.dual = one->info.squares = 0;
    one->status                        = MUON_STATUS_OK;
    if (one->layer->ops->stepmany == NULL) PetscCall(MuonLayerStep(one->layer, &one->info, &one->G, &one->X, &one->Xnew, &one->status));
    else if (one->G.precision != one->X.precision) PetscCall((*one->layer->ops->stepmany)(1, &one));
    else many[count++] = one;
  }
  if (count > 0) PetscCall((*many[0]->layer->ops->stepmany)(count, many));
  PetscCall(PetscFree(many));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerCanEncode_Private(MuonLayer layer, size_t length, char reason[])
{
  const char *slot;
  MuonLMO     lmo;
  PetscBool   can;
  char        names[256];

  PetscFunctionBegin;
  reason[0] = '\0';
  if (layer->ops->applylmo == NULL) {
    PetscCall(PetscSNPrintf(reason, length, "its type is %s, expected %s", ((PetscObject)layer)->type_name, MUONLAYERLMO));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  slot = MuonLayerHasSlot(layer, MUON_SLOT_AFTER);
  if (slot == NULL) slot = MuonLayerHasSlot(layer, MUON_SLOT_MOVE);
  if (slot != NULL) {
    PetscCall(PetscSNPrintf(reason, length, "its steps are changed by -muon_layer_%s_%s, expected none of that", ((PetscObject)layer)->name, slot));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (layer->shape.pairs) {
    PetscCall(PetscSNPrintf(reason, length, "it is complex, and steps of complex layers have no natural format, expected a real one"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  PetscCall(MuonLMOCanEncode(lmo, &can));
  if (can) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonParametersListTypes(MUONLMO_CLASSID, offsetof(struct _p_MuonLMO, kind), sizeof(names), names));
  PetscCall(PetscSNPrintf(reason, length, "its norm is %s, whose steps have no natural format, expected %s", ((PetscObject)lmo)->type_name, names));
  PetscFunctionReturn(PETSC_SUCCESS);
}
