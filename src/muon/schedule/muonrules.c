#include <petscmuon/private/muonimpl.h> /*I "petscmuon.h" I*/
#include <ctype.h>

/*
   Which layer takes which rule, and the numbers of the rules that are not lmo. A number that was not set is
   PETSC_DETERMINE and means the optimizer's own.
*/

/* Up to case, as names of layers are; * stands for any letters, ? for one */
static PetscBool MuonMatches_Private(const char *pattern, const char *end, const char *name)
{
  const char *star = NULL, *from = NULL;

  while (*name != '\0') {
    if (pattern < end && *pattern == '*') {
      star = ++pattern;
      from = name;
    } else if (pattern < end && (*pattern == '?' || tolower((unsigned char)*pattern) == tolower((unsigned char)*name))) {
      pattern++;
      name++;
    } else if (star != NULL) {
      pattern = star;
      name    = ++from;
    } else return PETSC_FALSE;
  }
  while (pattern < end && *pattern == '*') pattern++;
  return pattern == end ? PETSC_TRUE : PETSC_FALSE;
}

/*
   The pattern that text begins with, the rule behind it, and where the next one begins; an error where there
   are none
*/
static PetscErrorCode MuonNextMatch_Private(Muon muon, const char **text, const char **pattern, const char **end, char rule[64])
{
  const char *colon = NULL, *comma;
  char        names[256];
  PetscErrorCode (*create)(MuonLayer) = NULL;

  PetscFunctionBegin;
  for (comma = *text; *comma != '\0' && *comma != ','; comma++) {
    if (*comma == ':' && colon == NULL) colon = comma;
  }
  PetscCheck(colon != NULL && colon > *text, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_WRONG, "-%smuon_rule_match: \"%.*s\", expected pattern:rule, and commas between them", MuonPrefix(muon), (int)(comma - *text), *text);
  PetscCall(PetscSNPrintf(rule, 64, "%.*s", (int)PetscMin(comma - colon - 1, 63), colon + 1));
  PetscCall(PetscFunctionListFind(MuonLayerRuleList, rule, &create));
  if (create == NULL) PetscCall(MuonListNames_Private(MuonLayerRuleList, sizeof(names), names));
  PetscCheck(create != NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_UNKNOWN_TYPE, "-%smuon_rule_match: unknown rule \"%s\" of pattern \"%.*s\", expected one of: %s", MuonPrefix(muon), rule, (int)(colon - *text), *text, names);
  *pattern = *text;
  *end     = colon;
  *text    = *comma == ',' ? comma + 1 : comma;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Number of the first pattern that a layer's name matches and its rule, -1 where there is none */
static PetscErrorCode MuonFindMatch_Private(Muon muon, MuonLayer layer, PetscInt *number, char rule[64])
{
  const char *text = muon->rule_match, *pattern, *end;

  PetscFunctionBegin;
  *number = -1;
  for (PetscInt k = 0; text != NULL && *text != '\0'; k++) {
    PetscCall(MuonNextMatch_Private(muon, &text, &pattern, &end, rule));
    if (MuonMatches_Private(pattern, end, ((PetscObject)layer)->name) == PETSC_FALSE) continue;
    *number = k;
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonMatchRule_Private(Muon muon, MuonLayer layer)
{
  PetscInt number;
  char     rule[64];

  PetscFunctionBegin;
  PetscCall(MuonFindMatch_Private(muon, layer, &number, rule));
  if (number >= 0 || muon->layer_rule != NULL) PetscCall(MuonLayerSetRule(layer, number >= 0 ? rule : muon->layer_rule));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCheckRuleMatch_Private(Muon muon)
{
  const char *text = muon->rule_match, *pattern, *end;
  char        rule[64];

  PetscFunctionBegin;
  for (PetscInt k = 0; text != NULL && *text != '\0'; k++) {
    PetscBool decides = PETSC_FALSE;

    PetscCall(MuonNextMatch_Private(muon, &text, &pattern, &end, rule));
    for (PetscInt l = 0; l < muon->nlayers && decides == PETSC_FALSE; l++) {
      PetscInt number;

      PetscCall(MuonFindMatch_Private(muon, muon->layer[l], &number, rule));
      if (number == k) decides = PETSC_TRUE;
    }
    if (decides) continue;
    PetscCall(PetscPrintf(PetscObjectComm((PetscObject)muon), "PetscMuon warning: pattern %.*s of -%smuon_rule_match matches no layer that the patterns before it leave\n", (int)(end - pattern), pattern, MuonPrefix(muon)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCheckRateIsRead_Private(Muon muon)
{
  PetscBool reads                       = muon->learning_rateset && muon->nactive > 0 ? PETSC_FALSE : PETSC_TRUE, adamw, given;
  char      what[PETSC_MAX_OPTION_NAME] = "MuonSetLearningRate()";

  PetscFunctionBegin;
  for (PetscInt l = 0; l < muon->nactive && reads == PETSC_FALSE; l++) {
    PetscCall(PetscObjectTypeCompareAny((PetscObject)muon->active[l], &adamw, MUONLAYERADAMW, MUONLAYERNADAMW, ""));
    if (adamw == PETSC_FALSE || muon->adamw_learning_rate == PETSC_DETERMINE) reads = PETSC_TRUE;
  }
  if (reads) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscOptionsHasName(((PetscObject)muon)->options, ((PetscObject)muon)->prefix, "-muon_learning_rate", &given));
  if (given) PetscCall(PetscSNPrintf(what, sizeof(what), "-%smuon_learning_rate", MuonPrefix(muon)));
  PetscCall(PetscPrintf(PetscObjectComm((PetscObject)muon), "PetscMuon warning: learning rate %g of %s is that of no layer: AdamW moves all of them, by -%smuon_adamw_learning_rate %g\n", (double)muon->learning_rate, what, MuonPrefix(muon),
                        (double)muon->adamw_learning_rate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonGetShownRate_Private(Muon muon, PetscReal *rate)
{
  PetscReal factor, decay;
  PetscBool lmo = muon->nactive == 0 ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MuonGetRate(muon, rate));
  for (PetscInt l = 0; l < muon->nactive && lmo == PETSC_FALSE; l++) PetscCall(PetscObjectTypeCompare((PetscObject)muon->active[l], MUONLAYERLMO, &lmo));
  if (lmo) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonGetScheduleFactor_Private(muon, &factor));
  PetscCall(MuonGetLayerRates_Private(muon, muon->active[0], rate, &decay));
  *rate *= factor;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonViewRules_Private(Muon muon, PetscViewer viewer)
{
  PetscFunctionBegin;
  for (PetscInt first = 0; first < muon->nlayers; first++) {
    const char *const rule    = ((PetscObject)muon->layer[first])->type_name;
    PetscInt64        entries = 0;
    PetscInt          layers = 0, before = 0;
    PetscReal         rate, decay, least = PETSC_MAX_REAL, most = -1;
    char              rates[64] = "";

    for (PetscInt l = 0; l < muon->nlayers; l++) {
      const MuonLayer layer = muon->layer[l];
      PetscBool       same;

      PetscCall(PetscStrcmp(((PetscObject)layer)->type_name, rule, &same));
      if (same == PETSC_FALSE) continue;
      if (l < first) before++;
      layers++;
      entries += MuonLayerEntries(layer);
      if (layer->frozen) continue;
      PetscCall(MuonGetLayerRates_Private(muon, layer, &rate, &decay));
      least = PetscMin(least, rate);
      most  = PetscMax(most, rate);
    }
    if (before > 0) continue;
    if (least == most) PetscCall(PetscSNPrintf(rates, sizeof(rates), ", learning rate %g", (double)most));
    else if (most >= 0) PetscCall(PetscSNPrintf(rates, sizeof(rates), ", learning rates %g to %g", (double)least, (double)most));
    PetscCall(PetscViewerASCIIPrintf(viewer, "rule %s: layers %" PetscInt_FMT ", parameters %" PetscInt64_FMT "%s\n", rule, layers, entries, rates));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonGetLayerRates_Private(Muon muon, MuonLayer layer, PetscReal *rate, PetscReal *decay)
{
  PetscBool adamw, sgd;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)layer, &adamw, MUONLAYERADAMW, MUONLAYERNADAMW, ""));
  PetscCall(PetscObjectTypeCompare((PetscObject)layer, MUONLAYERSGD, &sgd));
  *rate  = adamw ? muon->adamw_learning_rate : sgd ? muon->sgd_learning_rate : PETSC_DETERMINE;
  *decay = adamw ? muon->adamw_weight_decay : sgd ? muon->sgd_weight_decay : PETSC_DETERMINE;
  if (layer->learning_rateset) *rate = layer->learning_rate;
  else if (*rate == PETSC_DETERMINE) *rate = muon->learning_rate;
  if (layer->weight_decayset) *decay = layer->weight_decay;
  else if (*decay == PETSC_DETERMINE) *decay = muon->schedulefn != NULL && muon->scheduled.valid ? muon->scheduled.decay : muon->weight_decay;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetRuleMatch - Chooses the rules of layers by their names

  Logically Collective

  Input Parameters:
+ muon  - the optimizer
- match - pattern:rule with commas between them, or `NULL`

  Options Database Key:
. -muon_rule_match match - the patterns and rules, as in `"*embed*:adamw,*norm*:adamw,*.bias:sgd"`

  Level: intermediate

  Notes:
  The first pattern that a name matches decides; a layer whose name none matches keeps its rule. In a pattern
  * stands for any letters, none among them, and ? for one; large and small letters are the same. The layers
  that are there take the rule at once, the others when they are added; `MuonLayerSetRule()` after that, and
  `-muon_layer_NAME_rule`, go before.

  A pattern that decides nothing is named at `MuonSetUp()`. `MuonView()` prints how many layers and parameters
  each rule moves.

.seealso: `Muon`, `MuonGetRuleMatch()`, `MuonLayerSetRule()`, `MuonLayerRule`, `MuonSetAdamWLearningRate()`
@*/
PetscErrorCode MuonSetRuleMatch(Muon muon, const char match[])
{
  const char *text = match, *pattern, *end;
  char       *copy, rule[64];

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonLayerInitializePackage()); /* the rules that there are */
  while (text != NULL && *text != '\0') PetscCall(MuonNextMatch_Private(muon, &text, &pattern, &end, rule));
  PetscCall(PetscStrallocpy(match, &copy)); /* which may be what is freed */
  PetscCall(PetscFree(muon->rule_match));
  muon->rule_match = copy;
  for (PetscInt l = 0; l < muon->nlayers; l++) PetscCall(MuonMatchRule_Private(muon, muon->layer[l]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetRuleMatch - Gets the patterns by which layers take rules

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. match - the patterns and rules, borrowed; `NULL` where there are none

  Level: intermediate

.seealso: `Muon`, `MuonSetRuleMatch()`
@*/
PetscErrorCode MuonGetRuleMatch(Muon muon, const char *match[])
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, match, muon->rule_match);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetLayerRule - Chooses the rule of all layers

  Logically Collective

  Input Parameters:
+ muon - the optimizer
- rule - one of the values of `MuonLayerRule`, or `NULL`

  Options Database Key:
. -muon_layer_rule rule - the rule (lmo|adamw|nadamw|sgd|frozen)

  Level: intermediate

  Note:
  The layers that are there take the rule at once, the others when they are added. The patterns of
  `MuonSetRuleMatch()` go before, as do `MuonLayerSetRule()` after that and `-muon_layer_NAME_rule`.

.seealso: `Muon`, `MuonGetLayerRule()`, `MuonSetRuleMatch()`, `MuonLayerSetRule()`, `MuonLayerRule`
@*/
PetscErrorCode MuonSetLayerRule(Muon muon, MuonLayerRule rule)
{
  PetscErrorCode (*create)(MuonLayer) = NULL;
  char names[256], *copy;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonLayerInitializePackage()); /* the rules that there are */
  if (rule != NULL) PetscCall(PetscFunctionListFind(MuonLayerRuleList, rule, &create));
  if (rule != NULL && create == NULL) PetscCall(MuonListNames_Private(MuonLayerRuleList, sizeof(names), names));
  PetscCheck(rule == NULL || create != NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_UNKNOWN_TYPE, "-%smuon_layer_rule: unknown rule \"%s\", expected one of: %s", MuonPrefix(muon), rule, names);
  PetscCall(PetscStrallocpy(rule, &copy)); /* which may be what is freed */
  PetscCall(PetscFree(muon->layer_rule));
  muon->layer_rule = copy;
  for (PetscInt l = 0; l < muon->nlayers; l++) PetscCall(MuonMatchRule_Private(muon, muon->layer[l]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetLayerRule - Gets the rule of all layers

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. rule - the rule, borrowed; `NULL` where none was set

  Level: intermediate

.seealso: `Muon`, `MuonSetLayerRule()`
@*/
PetscErrorCode MuonGetLayerRule(Muon muon, MuonLayerRule *rule)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, rule, muon->layer_rule);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCheckRuleNumber_Private(Muon muon, const char key[], PetscReal number)
{
  PetscFunctionBegin;
  PetscCheck(number == PETSC_DETERMINE || (number >= 0 && number < PETSC_INFINITY), PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "-%s%s %g must be finite and at least 0", MuonPrefix(muon), key, (double)number);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetAdamWLearningRate - Sets the learning rate of layers that AdamW or NAdamW moves

  Logically Collective

  Input Parameters:
+ muon - the optimizer
- rate - the rate, finite and at least 0; `PETSC_DETERMINE` for that of the optimizer

  Options Database Key:
. -muon_adamw_learning_rate rate - the learning rate of layers that AdamW or NAdamW moves

  Level: intermediate

  Note:
  The default is 1e-3, whatever that of `MuonSetLearningRate()` is: every entry moves by about the rate in a
  step, where the rate of Muon is the length of all singular values. `MuonSetUp()` warns where
  `MuonSetLearningRate()` was called and no layer has its rate. The schedule multiplies it, the scales of
  layers do not; `MuonLayerSetLearningRate()` goes before.

.seealso: `Muon`, `MuonGetAdamWLearningRate()`, `MuonSetLearningRate()`, `MuonLayerSetLearningRate()`, `MuonSetRuleMatch()`, `MuonSetAdamWWeightDecay()`
@*/
PetscErrorCode MuonSetAdamWLearningRate(Muon muon, PetscReal rate)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonCheckRuleNumber_Private(muon, "muon_adamw_learning_rate", rate));
  muon->adamw_learning_rate = rate;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetAdamWLearningRate - Gets the learning rate of layers that AdamW or NAdamW moves

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. rate - the rate, `PETSC_DETERMINE` where it is that of the optimizer

  Level: intermediate

.seealso: `Muon`, `MuonSetAdamWLearningRate()`
@*/
PetscErrorCode MuonGetAdamWLearningRate(Muon muon, PetscReal *rate)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, rate, muon->adamw_learning_rate);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetAdamWWeightDecay - Sets the weight decay of layers that AdamW or NAdamW moves

  Logically Collective

  Input Parameters:
+ muon  - the optimizer
- decay - the decay, finite and at least 0; `PETSC_DETERMINE` for that of the optimizer

  Options Database Key:
. -muon_adamw_weight_decay decay - the weight decay of layers that AdamW or NAdamW moves

  Level: intermediate

  Note:
  The default is the decay of `MuonSetWeightDecay()`; `MuonLayerSetWeightDecay()` goes before.

.seealso: `Muon`, `MuonGetAdamWWeightDecay()`, `MuonSetWeightDecay()`, `MuonSetWeightDecayStyle()`, `MuonLayerSetWeightDecay()`, `MuonSetAdamWLearningRate()`
@*/
PetscErrorCode MuonSetAdamWWeightDecay(Muon muon, PetscReal decay)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonCheckRuleNumber_Private(muon, "muon_adamw_weight_decay", decay));
  muon->adamw_weight_decay = decay;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetAdamWWeightDecay - Gets the weight decay of layers that AdamW or NAdamW moves

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. decay - the decay, `PETSC_DETERMINE` where it is that of the optimizer

  Level: intermediate

.seealso: `Muon`, `MuonSetAdamWWeightDecay()`
@*/
PetscErrorCode MuonGetAdamWWeightDecay(Muon muon, PetscReal *decay)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, decay, muon->adamw_weight_decay);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetAdamWBetas - Sets the decay rates of the moments of layers that AdamW or NAdamW moves

  Logically Collective

  Input Parameters:
+ muon  - the optimizer
. beta1 - decay of the mean of gradients, in [0,1)
- beta2 - decay of the mean of squares, in [0,1)

  Options Database Keys:
+ -muon_adamw_beta1 beta1 - decay of the mean of gradients, 0.9 by default
- -muon_adamw_beta2 beta2 - decay of the mean of squares, 0.95 by default

  Level: intermediate

  Note:
  The defaults are 0.9 and 0.95; `MuonLayerAdamWSetBetas()` goes before.

.seealso: `Muon`, `MuonGetAdamWBetas()`, `MuonSetAdamWEpsilon()`, `MuonLayerAdamWSetBetas()`, `MUONLAYERADAMW`, `MUONLAYERNADAMW`
@*/
PetscErrorCode MuonSetAdamWBetas(Muon muon, PetscReal beta1, PetscReal beta2)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCheck(beta1 >= 0 && beta1 < 1, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "-%smuon_adamw_beta1 %g must be in [0,1)", MuonPrefix(muon), (double)beta1);
  PetscCheck(beta2 >= 0 && beta2 < 1, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "-%smuon_adamw_beta2 %g must be in [0,1)", MuonPrefix(muon), (double)beta2);
  muon->adamw_beta1 = beta1;
  muon->adamw_beta2 = beta2;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetAdamWBetas - Gets the decay rates of the moments of layers that AdamW or NAdamW moves

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameters:
+ beta1 - decay of the mean of gradients; may be `NULL`
- beta2 - decay of the mean of squares; may be `NULL`

  Level: intermediate

.seealso: `Muon`, `MuonSetAdamWBetas()`
@*/
PetscErrorCode MuonGetAdamWBetas(Muon muon, PetscReal *beta1, PetscReal *beta2)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  if (beta1 != NULL) *beta1 = muon->adamw_beta1;
  if (beta2 != NULL) *beta2 = muon->adamw_beta2;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetAdamWEpsilon - Sets what is added to the root of the mean of squares in AdamW and NAdamW

  Logically Collective

  Input Parameters:
+ muon    - the optimizer
- epsilon - a positive number, finite

  Options Database Key:
. -muon_adamw_epsilon epsilon - what is added to the root of the mean of squares in AdamW and NAdamW

  Level: intermediate

  Note:
  The default is 1e-10; `MuonLayerAdamWSetEpsilon()` goes before.

.seealso: `Muon`, `MuonGetAdamWEpsilon()`, `MuonSetAdamWBetas()`, `MuonLayerAdamWSetEpsilon()`
@*/
PetscErrorCode MuonSetAdamWEpsilon(Muon muon, PetscReal epsilon)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCheck(epsilon > 0 && epsilon < PETSC_INFINITY, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "-%smuon_adamw_epsilon %g must be positive and finite", MuonPrefix(muon), (double)epsilon);
  muon->adamw_epsilon = epsilon;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetAdamWEpsilon - Gets what is added to the root of the mean of squares in AdamW and NAdamW

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. epsilon - the number

  Level: intermediate

.seealso: `Muon`, `MuonSetAdamWEpsilon()`
@*/
PetscErrorCode MuonGetAdamWEpsilon(Muon muon, PetscReal *epsilon)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, epsilon, muon->adamw_epsilon);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetSGDLearningRate - Sets the learning rate of layers that gradient descent moves

  Logically Collective

  Input Parameters:
+ muon - the optimizer
- rate - the rate, finite and at least 0; `PETSC_DETERMINE` for that of the optimizer

  Options Database Key:
. -muon_sgd_learning_rate rate - the learning rate of layers that gradient descent moves

  Level: intermediate

  Note:
  The default is the rate of `MuonSetLearningRate()`. The schedule multiplies it, the scales of
  layers do not; `MuonLayerSetLearningRate()` goes before.

.seealso: `Muon`, `MuonGetSGDLearningRate()`, `MuonSetLearningRate()`, `MuonLayerSetLearningRate()`, `MuonSetRuleMatch()`, `MuonSetSGDWeightDecay()`
@*/
PetscErrorCode MuonSetSGDLearningRate(Muon muon, PetscReal rate)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonCheckRuleNumber_Private(muon, "muon_sgd_learning_rate", rate));
  muon->sgd_learning_rate = rate;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetSGDLearningRate - Gets the learning rate of layers that gradient descent moves

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. rate - the rate, `PETSC_DETERMINE` where it is that of the optimizer

  Level: intermediate

.seealso: `Muon`, `MuonSetSGDLearningRate()`
@*/
PetscErrorCode MuonGetSGDLearningRate(Muon muon, PetscReal *rate)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, rate, muon->sgd_learning_rate);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetSGDWeightDecay - Sets the weight decay of layers that gradient descent moves

  Logically Collective

  Input Parameters:
+ muon  - the optimizer
- decay - the decay, finite and at least 0; `PETSC_DETERMINE` for that of the optimizer

  Options Database Key:
. -muon_sgd_weight_decay decay - the weight decay of layers that gradient descent moves

  Level: intermediate

  Note:
  The default is the decay of `MuonSetWeightDecay()`; `MuonLayerSetWeightDecay()` goes before.

.seealso: `Muon`, `MuonGetSGDWeightDecay()`, `MuonSetWeightDecay()`, `MuonSetWeightDecayStyle()`, `MuonLayerSetWeightDecay()`, `MuonSetSGDLearningRate()`
@*/
PetscErrorCode MuonSetSGDWeightDecay(Muon muon, PetscReal decay)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonCheckRuleNumber_Private(muon, "muon_sgd_weight_decay", decay));
  muon->sgd_weight_decay = decay;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetSGDWeightDecay - Gets the weight decay of layers that gradient descent moves

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. decay - the decay, `PETSC_DETERMINE` where it is that of the optimizer

  Level: intermediate

.seealso: `Muon`, `MuonSetSGDWeightDecay()`
@*/
PetscErrorCode MuonGetSGDWeightDecay(Muon muon, PetscReal *decay)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, decay, muon->sgd_weight_decay);
  PetscFunctionReturn(PETSC_SUCCESS);
}
