#include "muoninterface.h" /*I "petscmuon.h" I*/

PetscErrorCode MuonResetShards_Private(Muon muon)
{
  PetscFunctionBegin;
  PetscCall(MuonDropSums_Private(muon));
  PetscTryTypeMethod(muon, reset);
  PetscCall(MuonRoundsDrop_Private(muon));
  muon->rounds->pending = -1;
  PetscCall(MuonDestroyGroups_Private(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetUp - Prepares an optimizer for its first step: fixes layers, assigns owners, allocates state

  Collective

  Input Parameter:
. muon - the optimizer

  Level: intermediate

  Note:
  The ranks compare names, shapes, blocks, options and weights. A difference is an error on all of them. `MuonStep()`
  calls this routine. At its end it loads the state of `MuonSetRestart()`.

.seealso: `Muon`, `MuonSetRestart()`, `MuonStep()`, `MuonSolve()`, `MuonReset()`
@*/
PetscErrorCode MuonSetUp(Muon muon)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonAgree_Private(muon, MUON_CALL_SETUP));
  PetscCall(MuonSetUpAgreed_Private(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonSetUpAgreed_Private(Muon muon)
{
  MuonExchange exchange;
  PetscBool    is;

  PetscFunctionBegin;
  if (muon->setupcalled) {
    PetscCall(MuonExchangeIsSetUp(muon->exchange, &is));
    PetscCheck(is, PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER, "The exchange was changed after MuonSetUp(), where state has its owners already; call MuonReset() before");
    MuonTryAddons(muon, resume, muon, PETSC_FALSE);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscLogEventBegin(MUON_SetUpEvent, muon, 0, 0, 0));
  if (((PetscObject)muon)->type_name == NULL) PetscCall(MuonSetType(muon, MUONEF21));
  if (muon->momentum_at == PETSC_DETERMINE) PetscCall(MuonParametersPut((PetscObject)muon, "momentum_at", (double)muon->ops->momentum_at));
  PetscCall(MuonCheckRanksAgree_Private(muon, PETSC_FALSE));
  PetscCall(MuonCheckMomentum_Private(muon, muon->momentum_at, muon->rates->momentum_style, muon->nesterov));
  PetscCall(PetscFree(muon->active));
  PetscCall(PetscMalloc1(muon->nlayers, &muon->active));
  muon->nactive       = 0;
  muon->traffic.dense = 0;
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    MuonLayer layer = muon->layer[l];

    PetscCall(MuonLayerSetWorkspace_Private(layer, muon->work)); /* a reset drops it */
    if (layer->frozen) continue;
    muon->active[muon->nactive++] = layer;
    muon->traffic.dense += 32.0 * (PetscLogDouble)MuonLayerRows(layer) * (PetscLogDouble)MuonLayerColumns(layer);
  }
  muon->nsums = muon->nactive;
  PetscCall(MuonResetShards_Private(muon));
  PetscCall(MuonGetExchange(muon, &exchange));
  PetscCall(MuonFindWorkerGrids_Private(muon, muon->exchange->rowwise));
  PetscCall(MuonSetUpWeights_Private(muon));
  PetscCall(MuonRoundsPlace_Private(muon));
  PetscCall(MuonCreateGroups_Private(muon, &MuonGroupMean));
  PetscTryTypeMethod(muon, configure);
  PetscCall(MuonRoundsCheck_Private(muon));
  /* What only a step would refuse is refused here, on every rank alike */
  for (PetscInt p = 0; p < muon->nshards; p++) {
    MuonShard *shard = &muon->shard[p];

    MuonShardSetForm_Private(muon, shard); /* of the messages of its steps, too */
    PetscTryTypeMethod(shard->layer, setup);
    /* A type's own compressors may have chosen already */
    if (muon->downlink_precision == MUON_STATE_PRECISION_SINGLE && shard->down->assignment && (int)shard->down->values == PETSC_DETERMINE) PetscCall(MuonParametersAssign((PetscObject)shard->down, "values", MUON_COMPRESSOR_VALUES_SINGLE));
    PetscCall(MuonCompressorSetUp(shard->up));
    PetscCall(MuonCompressorSetUp(shard->down));
    shard->up->parameters.fixed = shard->down->parameters.fixed = PETSC_TRUE; /* their types decide what state there is */
  }
  MuonTryAddons(muon, configure, muon);
  PetscCall(MuonFollowSchedule_Private(muon));
  PetscCall(MuonCheckShards_Private(muon));
  PetscCall(MuonCheckRanksAgree_Private(muon, PETSC_TRUE));
  PetscCall(MuonCheckLayerTypes_Private(muon, NULL));
  PetscCall(MuonClipSetUp_Private(muon));
  PetscCall(MuonCheckHashes_Private(muon));
  for (PetscInt g = 0; g < muon->ngroups; g++) PetscCall((*muon->group[g]->ops->setup)(muon, muon->group[g]));
  PetscCall(MuonExchangeSetUp(muon->exchange));
  for (PetscInt p = 0; p < muon->nshards; p++) {
    if (MuonNeedsMomentum_Private(muon, muon->shard[p].layer) == PETSC_FALSE) muon->shard[p].layer->driver->keepsmomentum = PETSC_FALSE;
    PetscCall(MuonShardSetUpState_Private(muon, &muon->shard[p]));
    if (MuonPortServes(muon->shard[p].port)) PetscCall(MuonShardMakeState_Private(muon, &muon->shard[p]));
  }
  for (PetscInt g = 0; g < muon->ngroups; g++) {
    if (muon->group[g]->ops->check != NULL) PetscCall((*muon->group[g]->ops->check)(muon, muon->group[g]));
  }
  for (PetscInt l = 0; l < muon->nlayers; l++) muon->layer[l]->parameters.fixed = PETSC_TRUE;
  MuonTryAddons(muon, setup, muon);
  PetscCall(MuonExchangeIsSetUp(muon->exchange, &is)); /* which notes what it was made with */
  muon->setupcalled = muon->parameters.fixed = PETSC_TRUE;
  PetscCall(PetscLogEventEnd(MUON_SetUpEvent, muon, 0, 0, 0));
  MuonTryAddons(muon, resume, muon, PETSC_TRUE);
  PetscFunctionReturn(PETSC_SUCCESS);
}
