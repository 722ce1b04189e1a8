#include "muonschedule.h" /*I "petscmuon.h" I*/
#include <fnmatch.h>

/*
   The optimizers of layers, and the parameters of those that are not lmo. A number that was not set is PETSC_DETERMINE, which
   means the optimizer's own.
*/

/* Up to case, as names of layers are */
static PetscErrorCode MuonMatches_Private(const char pattern[], const char end[], const char name[], PetscBool *matches)
{
  char text[2][PETSC_MAX_OPTION_NAME];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(text[0], sizeof(text[0]), "%.*s", (int)(end - pattern), pattern));
  PetscCall(PetscStrncpy(text[1], name, sizeof(text[1])));
  for (int k = 0; k < 2; k++) PetscCall(PetscStrtolower(text[k]));
  *matches = fnmatch(text[0], text[1], 0) == 0 ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCheckKnown_Private(Muon muon, const char key[], const char type[], const char of[])
{
  char names[256];
  PetscErrorCode (*create)(MuonLayer) = NULL;

  PetscFunctionBegin;
  PetscCall(PetscFunctionListFind(MuonLayerList, type, &create));
  PetscCall(MuonListNames_Private(MuonLayerList, sizeof(names), names));
  PetscCheck(create != NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_UNKNOWN_TYPE, "-%smuon_%s: unknown type \"%s\"%s, expected one of: %s", MuonPrefix(muon), key, type, of, names);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The pattern at the beginning of text, its optimizer, and the position of the next one; an error if there are none
*/
static PetscErrorCode MuonNextMatch_Private(Muon muon, const char **text, const char **pattern, const char **end, char type[64])
{
  const char *colon = NULL, *comma;
  char        of[PETSC_MAX_OPTION_NAME];

  PetscFunctionBegin;
  for (comma = *text; *comma != '\0' && *comma != ','; comma++) {
    if (*comma == ':' && colon == NULL) colon = comma;
  }
  PetscCheck(colon != NULL && colon > *text, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_WRONG, "-%smuon_layer_types: \"%.*s\", expected pattern:type, and commas between them", MuonPrefix(muon), (int)(comma - *text), *text);
  PetscCall(PetscSNPrintf(type, 64, "%.*s", (int)PetscMin(comma - colon - 1, 63), colon + 1));
  PetscCall(PetscSNPrintf(of, sizeof(of), " of pattern \"%.*s\"", (int)(colon - *text), *text));
  PetscCall(MuonCheckKnown_Private(muon, "layer_types", type, of));
  *pattern = *text;
  *end     = colon;
  *text    = *comma == ',' ? comma + 1 : comma;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Number of the first pattern that matches a layer's name, and its optimizer; -1 if there is none */
static PetscErrorCode MuonFindMatch_Private(Muon muon, MuonLayer layer, PetscInt *number, char type[64], char why[64])
{
  const char *text = muon->rates->layer_types, *pattern, *end;
  PetscBool   matches;

  PetscFunctionBegin;
  *number = -1;
  for (PetscInt k = 0; text != NULL && *text != '\0'; k++) {
    PetscCall(MuonNextMatch_Private(muon, &text, &pattern, &end, type));
    PetscCall(MuonMatches_Private(pattern, end, ((PetscObject)layer)->name, &matches));
    if (!matches) continue;
    PetscCall(PetscSNPrintf(why, 64, " by pattern %.*s", (int)(end - pattern), pattern));
    *number = k;
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonMatchLayerType_Private(Muon muon, MuonLayer layer)
{
  const PetscBool chosen = layer->chosen;
  const char     *edge, *norm;
  MuonLayerType   byname;
  PetscInt        number;
  char            type[64], why[64] = " by -muon_layer_type";

  PetscFunctionBegin;
  PetscCall(MuonFindMatch_Private(muon, layer, &number, type, why));
  PetscCall(MuonPresetFindEdge_Private(muon, layer, &edge, &norm, &byname));
  if (number < 0 && muon->rates->layer_type == NULL) {
    if (chosen) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PetscSNPrintf(why, sizeof(why), edge != NULL ? " by preset (%s)" : "", edge));
    PetscCall(MuonLayerSetType(layer, byname));
    layer->chosen = PETSC_FALSE;
  } else PetscCall(MuonLayerSetType(layer, number >= 0 ? type : muon->rates->layer_type));
  PetscCall(PetscStrncpy(layer->why, why, sizeof(layer->why)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCheckLayerTypes_Private(Muon muon, PetscViewer viewer)
{
  const char *text = muon->rates->layer_types, *pattern, *end;
  char        type[64], said[PETSC_MAX_PATH_LEN];

  PetscFunctionBegin;
  for (PetscInt k = 0; text != NULL && *text != '\0'; k++) {
    PetscBool decides = PETSC_FALSE;

    PetscCall(MuonNextMatch_Private(muon, &text, &pattern, &end, type));
    for (PetscInt l = 0; l < muon->nlayers && decides == PETSC_FALSE; l++) {
      PetscInt number;

      PetscCall(MuonFindMatch_Private(muon, muon->layer[l], &number, type, said));
      if (number == k) decides = PETSC_TRUE;
    }
    if (decides) continue;
    PetscCall(PetscSNPrintf(said, sizeof(said), "pattern %.*s of -%smuon_layer_types matches no layer that the patterns before it leave\n", (int)(end - pattern), pattern, MuonPrefix(muon)));
    if (viewer != NULL) PetscCall(PetscViewerASCIIPrintf(viewer, "%s", said));
    else PetscCall(MuonNotice(PetscObjectComm((PetscObject)muon), "PetscMuon warning: %s", said));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonGetShownRate_Private(Muon muon, PetscReal *rate)
{
  PetscReal factor;
  PetscBool lmo = muon->nactive == 0 ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MuonGetRate(muon, rate));
  for (PetscInt l = 0; l < muon->nactive && lmo == PETSC_FALSE; l++) lmo = muon->active[l]->ops->applylmo != NULL ? PETSC_TRUE : PETSC_FALSE;
  if (lmo) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonGetScheduleFactor_Private(muon, &factor));
  *rate = MuonLayerRate(muon->active[0]) * factor;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonViewLayerTypes_Private(Muon muon, PetscViewer viewer)
{
  PetscFunctionBegin;
  for (PetscInt first = 0; first < muon->nlayers; first++) {
    const char *const type    = ((PetscObject)muon->layer[first])->type_name;
    PetscInt64        entries = 0;
    PetscInt          layers = 0, before = 0;
    PetscReal         least = PETSC_MAX_REAL, most = -1;
    char              rates[64] = "";
    PetscBool         same;

    for (same = PETSC_FALSE; before < first && same == PETSC_FALSE; before++) PetscCall(PetscStrcmp(((PetscObject)muon->layer[before])->type_name, type, &same));
    if (same) continue;
    for (PetscInt l = first; l < muon->nlayers; l++) {
      const MuonLayer layer = muon->layer[l];

      PetscCall(PetscStrcmp(((PetscObject)layer)->type_name, type, &same));
      if (same == PETSC_FALSE) continue;
      layers++;
      entries += MuonLayerEntries(layer);
      if (layer->frozen) continue;
      least = PetscMin(least, MuonLayerRate(layer));
      most  = PetscMax(most, MuonLayerRate(layer));
    }
    if (least == most) PetscCall(PetscSNPrintf(rates, sizeof(rates), ", learning rate %g", (double)most));
    else if (most >= 0) PetscCall(PetscSNPrintf(rates, sizeof(rates), ", learning rates %g to %g", (double)least, (double)most));
    PetscCall(PetscViewerASCIIPrintf(viewer, "type %s: layers %" PetscInt_FMT ", parameters %" PetscInt64_FMT "%s\n", type, layers, entries, rates));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCheckLayerTypesText_Private(Muon muon, const char match[])
{
  const char *text = match, *pattern, *end;
  char        type[64];

  PetscFunctionBegin;
  PetscCall(MuonLayerInitializePackage()); /* the optimizers that there are */
  while (*text != '\0') PetscCall(MuonNextMatch_Private(muon, &text, &pattern, &end, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCheckLayerTypeText_Private(Muon muon, const char type[])
{
  PetscFunctionBegin;
  PetscCall(MuonLayerInitializePackage());
  if (type[0] != '\0') PetscCall(MuonCheckKnown_Private(muon, "layer_type", type, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetLayerTypes - Sets the optimizers of layers by patterns for their names

  Logically Collective

  Input Parameters:
+ muon  - the optimizer
- match - pattern:type with commas between them, or `NULL`

  Options Database Key:
. -muon_layer_types match - the patterns and optimizers, as in `"*embed*:adamw,*norm*:adamw,*.bias:sgd"`

  Level: intermediate

  Notes:
  The first pattern that matches a name decides. A layer that no pattern matches keeps its optimizer. In a pattern *
  stands for any number of characters, even none, and ? for one. Case does not matter. Existing layers get their
  optimizer immediately, others when they are added. A later `MuonLayerSetType()` and `-muon_layer_NAME_type` override
  it.

  The patterns are fixed at `MuonSetUp()`, where ranks compare them and unused patterns are reported. `MuonView()` prints the number of layers and
  parameters of each optimizer.

.seealso: `Muon`, `MuonLayerSetType()`, `MuonLayerType`, `MuonSetAdamW()`
@*/
PetscErrorCode MuonSetLayerTypes(Muon muon, const char match[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonParametersAssignText((PetscObject)muon, "layer_types", match != NULL ? match : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonSetStepInfo_Private(Muon muon)
{
  PetscReal schedule;

  PetscFunctionBegin;
  PetscCall(MuonGetScheduleFactor_Private(muon, &schedule));
  for (PetscInt p = 0; p < muon->nshards; p++) {
    MuonShard         *shard = &muon->shard[p];
    MuonLayer          layer = shard->layer;
    MuonLayerStepInfo *info = &MuonShardNext(shard)->info, *served = &shard->round->info;
    PetscReal          factor;

    PetscCall(MuonLayerGetRadiusFactor(layer, &factor));
    info->step            = muon->step;
    info->rate            = (double)(MuonLayerRate(layer) * schedule);
    info->decay           = muon->weight_decay_style == MUON_WEIGHT_DECAY_COUPLED ? 0 : (double)layer->weight_decay;
    info->radius          = info->rate * (double)(layer->step == MUON_STEP_SHARP ? factor * factor : factor);
    info->beta            = layer->workermomentum ? (double)layer->momentum : 0;
    info->gradient_weight = muon->rates->momentum_style == MUON_MOMENTUM_EMA ? 1 - info->beta : (layer->workermomentum ? 1 - (double)muon->rates->dampening : 1);
    served->cautious      = muon->weight_decay_style == MUON_WEIGHT_DECAY_CAUTIOUS ? PETSC_TRUE : PETSC_FALSE;
    served->dual = served->squares = 0;
    PetscCall(PetscArrayzero(shard->round->figure + 1, 3)); /* the way up is of when it was begun */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
