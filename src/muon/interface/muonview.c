#include "muoninterface.h" /*I "petscmuon.h" I*/
#include <petscmuon/private/muonpolarimpl.h>

/* The ranks that hold the rows of a layer, or of its state, and those that assemble it for its LMO */
static PetscErrorCode MuonDescribeRows_Private(Muon muon, MuonLayer layer, const char **owner, size_t length, char text[])
{
  MuonShard *const shard = MuonShardOf(layer);
  MuonAssemblyKind kind;
  PetscLogDouble   flops;

  PetscFunctionBegin;
  if (shard != NULL) PetscCall(MuonPortDescribe(shard->port, owner, length, text));
  if (shard == NULL || shard->port->ranges == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonShardGetAssembly_Private(muon, shard, 0, &kind, &flops));
  PetscCall(PetscSNPrintf(text, length, ", %s on %d ranks%s, assembly %s",
                          shard->port->whole          ? "rows of state"
                          : MuonLayerIsEntries(layer) ? "entries"
                                                      : "rows",
                          shard->group->grid->size, MuonGroupHasReplicas(muon, shard->group) ? "" : " and no other copy", MuonAssemblyKinds[kind]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The compressors of a layer, if known. Ranks with rows of a matrix compress them separately: factors on the side of the columns
   are sent once for each such rank
*/
static PetscErrorCode MuonDescribeMessages_Private(const MuonShard *shard, size_t length, char text[])
{
  const MuonCompressor both[2] = {shard->up, shard->downlink == MUON_DOWNLINK_WEIGHTS ? shard->down : NULL};
  char                 one[2][140];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscStrncpy(one[k], MuonDownlinks[MUON_DOWNLINK_STEP], sizeof(one[k])));
    if (both[k] != NULL) PetscCall(MuonCompressorDescribe_Private(both[k], 100, one[k]));
    if (both[k] != NULL && both[k]->factors && shard->port->ranges != NULL) PetscCall(PetscSNPrintf(one[k] + strlen(one[k]), 40, " (V %d times)", shard->group->grid->size));
  }
  if (shard->group->ops->bits != NULL) PetscCall(PetscStrncpy(text, shard->group->ops->bits, length));
  else PetscCall(PetscSNPrintf(text, length, "up %s, down %s", one[0], one[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonViewLayers_Private(Muon muon, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "%" PetscInt_FMT " layers: name, shape, type, norm, radius factor, owner, messages\n", muon->nlayers));
  PetscCall(PetscViewerASCIIPushTab(viewer));
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    MuonLayer       layer = muon->layer[l];
    MuonLMO         lmo;
    PetscViewer     string;
    PetscReal       factor;
    char            owner[32] = "", radius[32] = "-", messages[256] = "", norm[128] = " ", blocks[64] = "", rows[128] = "";
    const char     *type = ((PetscObject)layer)->type_name, *who = "rank";
    const PetscBool islmo = layer->ops->applylmo != NULL ? PETSC_TRUE : PETSC_FALSE;

    PetscCall(MuonLayerGetLMO(layer, &lmo));
    PetscCall(PetscViewerStringOpen(PETSC_COMM_SELF, norm, sizeof(norm), &string));
    if (islmo) PetscCall(MuonLMOView(lmo, string));
    PetscCall(PetscViewerDestroy(&string));
    PetscCall(MuonLayerGetRadiusFactor(layer, &factor));
    if (islmo) PetscCall(PetscSNPrintf(radius, sizeof(radius), "%g", (double)factor));
    if (MuonBlocksCount_Private(&layer->blocks) > 1) PetscCall(PetscSNPrintf(blocks, sizeof(blocks), " in %" PetscInt_FMT " x %" PetscInt_FMT " blocks", layer->blocks.nrows, layer->blocks.ncolumns));
    PetscCall(MuonDescribeRows_Private(muon, layer, &who, sizeof(rows), rows));
    if (layer->frozen) PetscCall(PetscStrncpy(owner, "none", sizeof(owner)));
    else if (muon->setupcalled == PETSC_FALSE) PetscCall(PetscStrncpy(owner, "not assigned", sizeof(owner)));
    else if (MuonLayerOwner(layer) < 0) PetscCall(PetscSNPrintf(owner, sizeof(owner), "every %s", who));
    else PetscCall(PetscSNPrintf(owner, sizeof(owner), "%s %d", who, MuonLayerOwner(layer)));
    if (MuonShardOf(layer) != NULL) PetscCall(MuonDescribeMessages_Private(MuonShardOf(layer), sizeof(messages), messages));
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s, %" PetscInt_FMT " x %" PetscInt_FMT "%s, %s%s, %s, %s, %s", ((PetscObject)layer)->name, layer->m, layer->n, blocks, type, layer->why, islmo ? norm + 1 : "-", radius, owner));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s%s%s\n", rows, messages[0] ? ", " : "", messages));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  }
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonView - Prints an optimizer: its parameters, exchange, layers, compressors and memory

  Collective

  Input Parameters:
+ muon   - the optimizer
- viewer - the viewer, `NULL` for standard output

  Options Database Key:
. -muon_view [viewer] - prints at the end of `MuonSolve()`

  Level: beginner

  Note:
  The viewer must be a `PETSCVIEWERASCII` or a `PETSCVIEWERSTRING`. `MuonSaveCheckpoint()` writes state,
  `MuonViewWeights()` writes weights.

.seealso: `Muon`, `MuonSaveCheckpoint()`, `MuonViewWeights()`, `MuonViewFromOptions()`, `MuonGetMemory()`, `MuonLayerView()`
@*/
PetscErrorCode MuonView(Muon muon, PetscViewer viewer)
{
  PetscLogDouble mine[3], most[3], entries = 0;
  PetscBool      ascii, string, binary, slow;
  char           blas[512], version[256];

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERBINARY, &binary));
  PetscCheck(!binary, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP, "A viewer of type %s: state goes to a folder, by -%smuon_checkpoint FOLDER or MuonSaveCheckpoint(); weights by MuonViewWeights()", PETSCVIEWERBINARY, MuonPrefix(muon));
  PetscCall(MuonViewBegin((PetscObject)muon, &viewer, &ascii, &string));
  PetscCheckSameComm(muon, 1, viewer, 2);
  if (string) PetscCall(PetscViewerStringSPrintf(viewer, " %-7.7s", ((PetscObject)muon)->type_name ? ((PetscObject)muon)->type_name : "not set"));
  if (ascii == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectPrintClassNamePrefixType((PetscObject)muon, viewer));
  PetscCall(PetscViewerASCIIPushTab(viewer));
  PetscCall(PetscMuonGetVersion(version, sizeof(version)));
  PetscCall(PetscViewerASCIIPrintf(viewer, "%s\n", version));
  PetscCall(PetscViewerASCIIPrintf(viewer, "step %" PetscInt_FMT " of %" PetscInt_FMT ", %s\n", muon->step, muon->max_steps, MuonConvergedReasons[muon->reason]));
  MuonTryAddons(muon, view, muon, viewer);
  if (muon->rates->preset != NULL) PetscCall(MuonPresetView_Private(muon, viewer));
  PetscCall(MuonCheckLayerTypes_Private(muon, viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer, "learning rate %g, momentum %g at the %s%s\n", (double)muon->rates->learning_rate, (double)muon->rates->momentum,
                                   muon->momentum_at < 0  ? "type's own place"
                                   : muon->nested != NULL ? "worker"
                                                          : MuonMomentumAts[muon->momentum_at],
                                   muon->rates->fn != NULL ? ", then a function of the user's" : ""));
  PetscCall(MuonParametersView((PetscObject)muon, viewer));
  if (muon->nancount > 0) PetscCall(PetscViewerASCIIPrintf(viewer, "NaN or Inf %" PetscInt64_FMT " times so far\n", muon->nancount));
  if (muon->weights != NULL) {
    double least = muon->weights[0], most = least;

    for (PetscMPIInt r = 1; r < muon->size; r++) {
      least = PetscMin(least, muon->weights[r]);
      most  = PetscMax(most, muon->weights[r]);
    }
    PetscCall(PetscViewerASCIIPrintf(viewer, "ranks weigh %g to %g, 1 in the mean\n", least, most));
  }
  PetscCall(MuonPolarDescribeBLAS(sizeof(blas), blas, &slow));
  if (blas[0] != '\0') PetscCall(PetscViewerASCIIPrintf(viewer, "BLAS: %s\n", blas));
  PetscTryTypeMethod(muon, view, viewer);
  if (muon->exchange != NULL && (muon->exchange->nitems > 0 || MuonRoundsDepth(muon) == 1 || muon->setupcalled == PETSC_FALSE)) PetscCall(MuonExchangeView(muon->exchange, viewer));
  for (PetscInt g = 0; g < muon->ngroups; g++) {
    const MuonGroup group = muon->group[g], before = g > 0 ? muon->group[g - 1] : NULL;
    const PetscBool other = (before != NULL && before->ops->bits != NULL) || group->depth > (before == NULL ? 1 : before->depth) ? PETSC_TRUE : PETSC_FALSE;

    if (other && MuonGroupFollows(muon, group) == PETSC_FALSE) PetscCall(MuonExchangeView(group->exchange, viewer)); /* of means, beside counts; of another depth */
  }
  PetscCall(MuonViewLayerTypes_Private(muon, viewer));
  PetscCall(MuonViewLayers_Private(muon, viewer));
  for (PetscInt l = 0; l < muon->nlayers; l++) entries += (PetscLogDouble)muon->layer[l]->m * (PetscLogDouble)muon->layer[l]->n;
  PetscCall(MuonGetMemory(muon, &mine[0], &mine[1], &mine[2]));
  PetscCallMPI(MPI_Allreduce(mine, most, 3, MPI_DOUBLE, MPI_MAX, PetscObjectComm((PetscObject)muon)));
  PetscCall(PetscViewerASCIIPrintf(viewer, "memory of the rank that has most: worker %.0f bytes (%.2f an entry), server %.0f bytes (%.2f an entry), scratch and messages %.0f bytes\n", (double)most[0], (double)(most[0] / PetscMax(entries, 1.0)),
                                   (double)most[1], (double)(most[1] / PetscMax(entries, 1.0)), (double)most[2]));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonViewFromOptions - Views an optimizer as set in the options database

  Collective

  Input Parameters:
+ muon - the optimizer
. obj  - object whose prefix is used, `NULL` for the optimizer
- name - the key

  Options Database Key:
. -name [viewertype]:[filename]:[format] - see `PetscObjectViewFromOptions()`

  Level: intermediate

.seealso: `Muon`, `MuonView()`, `PetscObjectViewFromOptions()`
@*/
PetscErrorCode MuonViewFromOptions(Muon muon, PetscObject obj, const char name[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(PetscObjectViewFromOptions((PetscObject)muon, obj, name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonConvergedReasonView - Prints why an optimizer stopped

  Collective

  Input Parameters:
+ muon   - the optimizer
- viewer - the viewer, `NULL` for standard output

  Options Database Key:
. -muon_converged_reason - prints the reason at the end of `MuonSolve()`

  Level: beginner

.seealso: `Muon`, `MuonConvergedReason`, `MuonGetConvergedReason()`
@*/
PetscErrorCode MuonConvergedReasonView(Muon muon, PetscViewer viewer)
{
  const char *prefix = MuonPrefix(muon);
  char        where[256];
  PetscBool   ascii, string;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonViewBegin((PetscObject)muon, &viewer, &ascii, &string));
  if (ascii == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonDescribeReason_Private(muon, sizeof(where), where));
  PetscCall(PetscViewerASCIIAddTab(viewer, ((PetscObject)muon)->tablevel));
  PetscCall(PetscViewerASCIIPrintf(viewer, "Muon %s%s%s %s%s, %s %" PetscInt_FMT "\n", prefix, prefix[0] != '\0' ? " " : "", muon->reason == MUON_CONVERGED_ITERATING ? "has not stopped:" : "stopped due to", MuonConvergedReasons[muon->reason], where,
                                   muon->reason < 0 ? "in step" : "steps", muon->step));
  PetscCall(PetscViewerASCIISubtractTab(viewer, ((PetscObject)muon)->tablevel));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonConvergedReasonViewFromOptions - Prints why an optimizer stopped, as set in the options database

  Collective

  Input Parameter:
. muon - the optimizer

  Options Database Key:
. -muon_converged_reason - prints the reason

  Level: developer

.seealso: `Muon`, `MuonConvergedReasonView()`
@*/
PetscErrorCode MuonConvergedReasonViewFromOptions(Muon muon)
{
  PetscViewer       viewer;
  PetscViewerFormat format;
  PetscBool         flg;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(PetscOptionsCreateViewer(PetscObjectComm((PetscObject)muon), ((PetscObject)muon)->options, ((PetscObject)muon)->prefix, "-muon_converged_reason", &viewer, &format, &flg));
  if (flg) {
    PetscCall(PetscViewerPushFormat(viewer, format));
    PetscCall(MuonConvergedReasonView(muon, viewer));
    PetscCall(PetscViewerPopFormat(viewer));
    PetscCall(PetscViewerDestroy(&viewer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
