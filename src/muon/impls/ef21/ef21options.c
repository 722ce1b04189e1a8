#include "ef21.h" /*I "petscmuon.h" I*/

const char *const MuonEF21Inits[]                = {"zero", "gradient", "MuonEF21Init", "MUON_EF21_INIT_", NULL};
const char *const MuonEF21CompressorRulesTypes[] = {"lmo", "all", "MuonEF21CompressorRules", "MUON_EF21_COMPRESSOR_RULES_", NULL};

static PetscErrorCode MuonEF21CheckBeforeSetUp_Private(Muon muon, const char key[])
{
  PetscFunctionBegin;
  PetscCheck(muon->setupcalled == PETSC_FALSE, PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER, "-%s%s must be set before MuonSetUp(), or after MuonReset()", MuonPrefix(muon), key);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21SetInit - Sets what EF21 starts from

  Logically Collective

  Input Parameters:
+ muon - the optimizer
- init - `MUON_EF21_INIT_ZERO` or `MUON_EF21_INIT_GRADIENT`

  Options Database Key:
. -ef21_init init - what EF21 starts from (zero|gradient)

  Level: intermediate

  Notes:
  The default is zero: momentum and estimates are 0 before the first step, the first momentum is (1-momentum)
  g, and all messages are compressed. With gradient, as in the paper, momentum and estimates are the first
  gradient, which is sent whole: in single precision, unless the compressor's values are double, or native;
  the estimates are what was sent.

.seealso: `Muon`, `MUONEF21`, `MuonEF21GetInit()`, `MuonEF21Init`
@*/
PetscErrorCode MuonEF21SetInit(Muon muon, MuonEF21Init init)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  MuonIgnoreUnlessType(muon, MUONEF21);
  PetscCheck(init == MUON_EF21_INIT_ZERO || init == MUON_EF21_INIT_GRADIENT, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "-%sef21_init %d is no MuonEF21Init", MuonPrefix(muon), (int)init);
  if (init != ((Muon_EF21 *)muon->data)->init) PetscCall(MuonEF21CheckBeforeSetUp_Private(muon, "ef21_init"));
  ((Muon_EF21 *)muon->data)->init = init;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21GetInit - Gets what EF21 starts from

  Not Collective

  Input Parameter:
. muon - an optimizer of type `MUONEF21`

  Output Parameter:
. init - `MUON_EF21_INIT_ZERO` or `MUON_EF21_INIT_GRADIENT`

  Level: intermediate

.seealso: `Muon`, `MUONEF21`, `MuonEF21SetInit()`
@*/
PetscErrorCode MuonEF21GetInit(Muon muon, MuonEF21Init *init)
{
  PetscFunctionBegin;
  MuonGetOfType(muon, MUON_CLASSID, MUONEF21, init, ((Muon_EF21 *)muon->data)->init);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21SetCompressorRules - Sets which layers the compressors for all layers are for

  Logically Collective

  Input Parameters:
+ muon  - an optimizer that has the type `MUONEF21` already, else the call is ignored
- rules - `MUON_EF21_COMPRESSOR_RULES_LMO` or `MUON_EF21_COMPRESSOR_RULES_ALL`

  Options Database Key:
. -ef21_compressor_rules rules - which (lmo|all)

  Level: intermediate

  Notes:
  The default is lmo, in both directions\: layers of another rule send their gradients and get their weights
  as they are. AdamW and its like divide each entry by its own size and answer to entries that a message
  leaves out with steps of full length when they come; what they move is most often small.

  A key that begins with `-muon_layer_NAME_ef21_compressor`, or with
  `-muon_layer_NAME_ef21_server_compressor`, tells otherwise for one layer and this direction. `MuonView()`
  prints the split.

.seealso: `Muon`, `MUONEF21`, `MuonEF21CompressorRules`, `MuonEF21GetCompressorRules()`, `MuonEF21SetCompressorMinEntries()`, `MuonEF21GetCompressor()`, `MuonLayerSetRule()`
@*/
PetscErrorCode MuonEF21SetCompressorRules(Muon muon, MuonEF21CompressorRules rules)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(muon, rules, 2);
  MuonIgnoreUnlessType(muon, MUONEF21);
  PetscCheck(rules == MUON_EF21_COMPRESSOR_RULES_LMO || rules == MUON_EF21_COMPRESSOR_RULES_ALL, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "-%sef21_compressor_rules %d is no MuonEF21CompressorRules", MuonPrefix(muon), (int)rules);
  if (rules != ((Muon_EF21 *)muon->data)->rules) PetscCall(MuonEF21CheckBeforeSetUp_Private(muon, "ef21_compressor_rules"));
  ((Muon_EF21 *)muon->data)->rules = rules;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21GetCompressorRules - Gets which layers the compressors for all layers are for

  Not Collective

  Input Parameter:
. muon - an optimizer of type `MUONEF21`

  Output Parameter:
. rules - which

  Level: intermediate

.seealso: `Muon`, `MUONEF21`, `MuonEF21SetCompressorRules()`
@*/
PetscErrorCode MuonEF21GetCompressorRules(Muon muon, MuonEF21CompressorRules *rules)
{
  PetscFunctionBegin;
  MuonGetOfType(muon, MUON_CLASSID, MUONEF21, rules, ((Muon_EF21 *)muon->data)->rules);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21SetCompressorMinEntries - Sets how many entries a layer has at least that the compressors for all
  layers are for

  Logically Collective

  Input Parameters:
+ muon    - an optimizer that has the type `MUONEF21` already, else the call is ignored
- entries - rows times columns, at least 0

  Options Database Key:
. -ef21_compressor_min_entries entries - how many

  Level: intermediate

  Notes:
  The default is 0. Layers that are smaller send what they have as it is, in both directions\: biases and
  gains are a small fraction of what is sent, and headers weigh most there. The whole layer counts, where
  ranks have rows of it or where it is cut into blocks too.

  Keys of a layer's own tell otherwise, as for `MuonEF21SetCompressorRules()`.

.seealso: `Muon`, `MUONEF21`, `MuonEF21GetCompressorMinEntries()`, `MuonEF21SetCompressorRules()`, `MuonEF21GetCompressor()`
@*/
PetscErrorCode MuonEF21SetCompressorMinEntries(Muon muon, PetscInt entries)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscValidLogicalCollectiveInt(muon, entries, 2);
  MuonIgnoreUnlessType(muon, MUONEF21);
  PetscCheck(entries >= 0, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "-%sef21_compressor_min_entries %" PetscInt_FMT " must be at least 0", MuonPrefix(muon), entries);
  if (entries != ((Muon_EF21 *)muon->data)->min_entries) PetscCall(MuonEF21CheckBeforeSetUp_Private(muon, "ef21_compressor_min_entries"));
  ((Muon_EF21 *)muon->data)->min_entries = entries;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21GetCompressorMinEntries - Gets how many entries a layer has at least that the compressors for all
  layers are for

  Not Collective

  Input Parameter:
. muon - an optimizer of type `MUONEF21`

  Output Parameter:
. entries - how many

  Level: intermediate

.seealso: `Muon`, `MUONEF21`, `MuonEF21SetCompressorMinEntries()`
@*/
PetscErrorCode MuonEF21GetCompressorMinEntries(Muon muon, PetscInt *entries)
{
  PetscFunctionBegin;
  MuonGetOfType(muon, MUON_CLASSID, MUONEF21, entries, ((Muon_EF21 *)muon->data)->min_entries);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonEF21SetDownlink_Private(Muon muon, MuonLayer layer, MuonDownlink downlink)
{
  PetscFunctionBegin;
  MuonIgnoreUnlessType(muon, MUONEF21);
  PetscCall(MuonEF21CheckBeforeSetUp_Private(muon, "ef21_downlink"));
  PetscCheck(downlink == MUON_DOWNLINK_WEIGHTS || downlink == MUON_DOWNLINK_STEP, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "-%sef21_downlink %d is no MuonDownlink", MuonPrefix(muon), (int)downlink);
  if (layer == NULL) ((Muon_EF21 *)muon->data)->downlink = downlink;
  else {
    layer->downlink    = (PetscInt)downlink;
    layer->downlinkset = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonEF21GetDownlink_Private(Muon muon, MuonLayer layer, MuonDownlink *downlink)
{
  PetscFunctionBegin;
  MuonCheckType(muon, MUONEF21);
  *downlink = layer != NULL && layer->downlinkset ? (MuonDownlink)layer->downlink : ((Muon_EF21 *)muon->data)->downlink;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21SetDownlink - Sets how servers tell the workers of new weights

  Logically Collective

  Input Parameters:
+ muon     - an optimizer that has the type `MUONEF21` already, else the call is ignored
- downlink - `MUON_DOWNLINK_WEIGHTS`, by the compressor of `MuonEF21GetServerCompressor()`, or `MUON_DOWNLINK_STEP`

  Options Database Key:
. -ef21_downlink downlink - how (weights|step), weights by default

  Level: intermediate

  Note:
  `MuonEF21SetLayerDownlink()`, and `-muon_layer_NAME_ef21_downlink`, speak of one layer.

.seealso: `Muon`, `MUONEF21`, `MuonDownlink`, `MuonEF21GetDownlink()`, `MuonEF21SetLayerDownlink()`
@*/
PetscErrorCode MuonEF21SetDownlink(Muon muon, MuonDownlink downlink)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(muon, downlink, 2);
  PetscCall(MuonEF21SetDownlink_Private(muon, NULL, downlink));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21GetDownlink - Gets how servers tell the workers of new weights

  Not Collective

  Input Parameter:
. muon - an optimizer of type `MUONEF21`

  Output Parameter:
. downlink - how, for layers that have no choice of their own

  Level: intermediate

.seealso: `Muon`, `MUONEF21`, `MuonEF21SetDownlink()`
@*/
PetscErrorCode MuonEF21GetDownlink(Muon muon, MuonDownlink *downlink)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(downlink, 2);
  PetscCall(MuonEF21GetDownlink_Private(muon, NULL, downlink));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21SetLayerDownlink - Sets how the server of one layer tells the workers of new weights

  Logically Collective

  Input Parameters:
+ muon     - an optimizer that has the type `MUONEF21` already, else the call is ignored
. layer    - one of its layers
- downlink - `MUON_DOWNLINK_WEIGHTS` or `MUON_DOWNLINK_STEP`

  Options Database Key:
. -muon_layer_NAME_ef21_downlink downlink - how (weights|step), the optimizer's by default

  Level: intermediate

.seealso: `Muon`, `MUONEF21`, `MuonDownlink`, `MuonEF21SetDownlink()`, `MuonEF21GetLayerDownlink()`
@*/
PetscErrorCode MuonEF21SetLayerDownlink(Muon muon, MuonLayer layer, MuonDownlink downlink)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 2);
  PetscValidLogicalCollectiveEnum(muon, downlink, 3);
  PetscCall(MuonEF21SetDownlink_Private(muon, layer, downlink));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21GetLayerDownlink - Gets how the server of one layer tells the workers of new weights

  Not Collective

  Input Parameters:
+ muon  - an optimizer of type `MUONEF21`
- layer - one of its layers

  Output Parameter:
. downlink - how

  Level: intermediate

.seealso: `Muon`, `MUONEF21`, `MuonEF21SetLayerDownlink()`
@*/
PetscErrorCode MuonEF21GetLayerDownlink(Muon muon, MuonLayer layer, MuonDownlink *downlink)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 2);
  PetscAssertPointer(downlink, 3);
  PetscCall(MuonEF21GetDownlink_Private(muon, layer, downlink));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonSetFromOptions_EF21(Muon muon, MuonOptionItems PetscOptionsObject)
{
  Muon_EF21   *ef21     = (Muon_EF21 *)muon->data;
  MuonEF21Init init     = ef21->init;
  MuonDownlink downlink = ef21->downlink;
  PetscInt     entries  = ef21->min_entries, interval;

  MuonEF21CompressorRules rules = ef21->rules;
  char                    viewer[PETSC_MAX_PATH_LEN];
  PetscBool               flg;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "EF21-Muon options");
  PetscCall(PetscOptionsEnum("-ef21_init", "What EF21 starts from", "MuonEF21SetInit", MuonEF21Inits, (PetscEnum)init, (PetscEnum *)&init, &flg));
  if (flg) PetscCall(MuonEF21SetInit(muon, init));
  PetscCall(PetscOptionsEnum("-ef21_downlink", "How servers tell of new weights", "MuonEF21SetDownlink", MuonDownlinks, (PetscEnum)downlink, (PetscEnum *)&downlink, &flg));
  if (flg) PetscCall(MuonEF21SetDownlink(muon, downlink));
  PetscCall(PetscOptionsInt("-ef21_drift_interval", "Of how many steps one measures the drift of the aggregate", "MuonEF21SetDriftInterval", ef21->driftinterval, &interval, &flg));
  if (flg) PetscCall(MuonEF21SetDriftInterval(muon, interval));
  PetscCall(PetscOptionsEnum("-ef21_compressor_rules", "Layers that the compressors are for", "MuonEF21SetCompressorRules", MuonEF21CompressorRulesTypes, (PetscEnum)rules, (PetscEnum *)&rules, &flg));
  if (flg) PetscCall(MuonEF21SetCompressorRules(muon, rules));
  PetscCall(PetscOptionsInt("-ef21_compressor_min_entries", "Entries of the smallest layer that they are for", "MuonEF21SetCompressorMinEntries", entries, &entries, &flg));
  if (flg) PetscCall(MuonEF21SetCompressorMinEntries(muon, entries));
  PetscCall(PetscOptionsString("-ef21_monitor_compression", "Two lines a layer: contraction, lag and gap", "MuonEF21SetMonitorCompression", "stdout", viewer, sizeof(viewer), NULL));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The prefix may have changed since the compressors were made */
PetscErrorCode MuonSetObjectsFromOptions_EF21(Muon muon)
{
  Muon_EF21  *ef21   = (Muon_EF21 *)muon->data;
  const char *before = ((PetscObject)muon)->prefix ? ((PetscObject)muon)->prefix : "";
  char        prefix[PETSC_MAX_OPTION_NAME];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "%sef21_", before));
  PetscCall(MuonCompressorSetOptionsPrefix(ef21->up, prefix));
  PetscCall(MuonCompressorSetFromOptions(ef21->up));
  PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "%sef21_server_", before));
  PetscCall(MuonCompressorSetOptionsPrefix(ef21->down, prefix));
  PetscCall(MuonCompressorSetFromOptions(ef21->down));
  PetscCall(EF21MeterSetFromOptions_Private(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}
