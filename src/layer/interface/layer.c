#include <petscmuon/private/muonlayerimpl.h> /*I "petscmuonlayer.h" I*/
#include <petscmuon/private/muonlmoimpl.h>
#include <ctype.h>

const char *const MuonShapeFactors[] = {"none", "kj", "moonlight", "scion", "MuonShapeFactor", "MUON_SHAPE_FACTOR_", NULL};

/* Names become parts of option keys, where PETSc reads _digits_ as a prefix's number and drops it */
static PetscErrorCode MuonLayerCheckName_Private(const char name[])
{
  size_t length;

  PetscFunctionBegin;
  PetscCheck(name != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL, "A layer needs a name");
  PetscCall(PetscStrlen(name, &length));
  PetscCheck(length > 0 && isalpha((unsigned char)name[0]), PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "Layer name \"%s\" does not start with a letter", name);
  for (size_t i = 0; i < length; i++) {
    const unsigned char c = (unsigned char)name[i];

    PetscCheck(isalnum(c) || c == '.' || c == '_', PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "Layer name \"%s\" has a character that is not a letter, a digit, a point or an underscore", name);
    if (c == '_') {
      size_t end = i + 1;

      while (end < length && isdigit((unsigned char)name[end])) end++;
      PetscCheck(end == i + 1 || (end < length && name[end] != '_'), PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "Layer name \"%s\" has digits between underscores, which PETSc drops from option keys: write h0.q, not h_0_q", name);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerCreate_Private(const char name[], PetscInt m, PetscInt n, MuonLayer *newlayer)
{
  MuonLayer layer;

  PetscFunctionBegin;
  PetscCall(MuonLayerInitializePackage());
  PetscCall(MuonLayerCheckName_Private(name));
  PetscCall(PetscHeaderCreate(layer, MUONLAYER_CLASSID, "MuonLayer", "Layer of an optimizer", "MuonLayer", PETSC_COMM_SELF, MuonLayerDestroy, MuonLayerView));
  PetscCall(PetscObjectSetName((PetscObject)layer, name));
  PetscCall(MuonNameHash_Private(name, &layer->hash));
  layer->m              = m;
  layer->n              = n;
  layer->scale          = 1.0;
  layer->owner          = -1;
  layer->workermomentum = PETSC_TRUE;
  PetscCall(MuonBlocksSet_Private(&layer->blocks, 1, NULL, 1, NULL));
  *newlayer = layer;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerCreate - Makes a layer of a matrix of weights

  Not Collective; No Fortran Support

  Input Parameters:
+ name - name of the layer: a letter, then letters, digits, points and underscores
- W    - the weights, a `MATSEQDENSE`, rows are outputs and columns inputs; the layer keeps a reference

  Output Parameter:
. layer - the layer

  Level: developer

  Note:
  `MuonAddLayer()` makes the layers of an optimizer.

.seealso: `MuonLayer`, `MuonAddLayer()`, `MuonLayerCreateFromVec()`, `MuonLayerDestroy()`
@*/
PetscErrorCode MuonLayerCreate(const char name[], Mat W, MuonLayer *layer)
{
  PetscInt  m, n;
  PetscBool seqdense;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(W, MAT_CLASSID, 2);
  PetscAssertPointer(layer, 3);
  PetscCall(PetscObjectTypeCompare((PetscObject)W, MATSEQDENSE, &seqdense));
  PetscCheck(seqdense, PetscObjectComm((PetscObject)W), PETSC_ERR_SUP, "Layer \"%s\": weights of type %s; a layer is a sequential dense matrix (%s) on every rank", name, ((PetscObject)W)->type_name ? ((PetscObject)W)->type_name : "not set",
             MATSEQDENSE);
  PetscCall(MatGetSize(W, &m, &n));
  PetscCall(MuonLayerCreate_Private(name, m, n, layer));
  PetscCall(PetscObjectReference((PetscObject)W));
  (*layer)->W = W;
  PetscCall(MuonLayerSetRule(*layer, MUONLAYERLMO));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerCreateFromVec - Makes a layer of a vector of weights, which is treated as a matrix of one column

  Not Collective; No Fortran Support

  Input Parameters:
+ name - name of the layer: a letter, then letters, digits, points and underscores
- w    - the weights, a sequential vector; the layer keeps a reference

  Output Parameter:
. layer - the layer

  Level: developer

  Note:
  `MuonAddVecLayer()` makes the layers of an optimizer.

.seealso: `MuonLayer`, `MuonAddVecLayer()`, `MuonLayerCreate()`, `MuonLayerDestroy()`
@*/
PetscErrorCode MuonLayerCreateFromVec(const char name[], Vec w, MuonLayer *layer)
{
  PetscInt  m;
  PetscBool seq;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(w, VEC_CLASSID, 2);
  PetscAssertPointer(layer, 3);
  PetscCall(PetscObjectTypeCompare((PetscObject)w, VECSEQ, &seq));
  PetscCheck(seq, PetscObjectComm((PetscObject)w), PETSC_ERR_SUP, "Layer \"%s\": weights of type %s; a layer is a sequential vector (%s) on every rank", name, ((PetscObject)w)->type_name ? ((PetscObject)w)->type_name : "not set", VECSEQ);
  PetscCall(VecGetSize(w, &m));
  PetscCall(MuonLayerCreate_Private(name, m, 1, layer));
  PetscCall(PetscObjectReference((PetscObject)w));
  (*layer)->w = w;
  PetscCall(MuonLayerSetRule(*layer, MUONLAYERLMO));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerSetRule - Chooses the rule that moves a layer

  Not Collective; No Fortran Support

  Input Parameters:
+ layer - the layer
- rule  - `MUONLAYERLMO`, `MUONLAYERADAMW`, `MUONLAYERNADAMW`, `MUONLAYERSGD` or `MUONLAYERFROZEN`

  Options Database Key:
. -muon_layer_NAME_rule rule - the rule (lmo|adamw|nadamw|sgd|frozen) of the layer called NAME

  Level: intermediate

  Notes:
  The default is `MUONLAYERLMO`. The other rules are for parameters that have no natural norm ball; they keep their own moments at the layer's owner, and the workers then send
  gradients without momentum.

.seealso: `MuonLayer`, `MuonLayerRule`, `MuonLayerGetRule()`, `MuonLayerRuleRegister()`
@*/
PetscErrorCode MuonLayerSetRule(MuonLayer layer, MuonLayerRule rule)
{
  PetscBool same;
  PetscErrorCode (*create)(MuonLayer);

  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscAssertPointer(rule, 2);
  PetscCall(PetscObjectTypeCompare((PetscObject)layer, rule, &same));
  if (same) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFunctionListFind(MuonLayerRuleList, rule, &create));
  MuonLayerCheck(layer, create != NULL, PETSC_ERR_ARG_UNKNOWN_TYPE, "rule %s: unknown rule, expected one of lmo, adamw, nadamw, sgd, frozen or a registered one", rule);
  PetscTryTypeMethod(layer, destroy);
  PetscCall(PetscMemzero(layer->ops, sizeof(struct _MuonLayerOps)));
  layer->data           = NULL;
  layer->frozen         = PETSC_FALSE;
  layer->workermomentum = PETSC_FALSE;
  PetscCall(PetscObjectChangeTypeName((PetscObject)layer, rule));
  PetscCall((*create)(layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetRule - Gets the rule that moves a layer

  Not Collective; No Fortran Support

  Input Parameter:
. layer - the layer

  Output Parameter:
. rule - name of the rule

  Level: intermediate

.seealso: `MuonLayer`, `MuonLayerSetRule()`
@*/
PetscErrorCode MuonLayerGetRule(MuonLayer layer, MuonLayerRule *rule)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscAssertPointer(rule, 2);
  *rule = ((PetscObject)layer)->type_name;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerSetOptionsPrefix - Sets the prefix of the keys that all layers of an optimizer share

  Not Collective; No Fortran Support

  Input Parameters:
+ layer  - the layer
- prefix - the prefix, without a leading hyphen

  Level: advanced

  Note:
  A key is looked up behind this prefix, then behind `muon_layer_NAME_` appended to it: `-lmo_type max` speaks to all layers, `-muon_layer_embed_lmo_type max` to one.

.seealso: `MuonLayer`, `MuonLayerGetOptionsPrefix()`, `MuonSetOptionsPrefix()`
@*/
PetscErrorCode MuonLayerSetOptionsPrefix(MuonLayer layer, const char prefix[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscCall(PetscObjectSetOptionsPrefix((PetscObject)layer, prefix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetOptionsPrefix - Gets the prefix of the keys that all layers of an optimizer share

  Not Collective; No Fortran Support

  Input Parameter:
. layer - the layer

  Output Parameter:
. prefix - the prefix, `NULL` where there is none

  Level: advanced

.seealso: `MuonLayer`, `MuonLayerSetOptionsPrefix()`
@*/
PetscErrorCode MuonLayerGetOptionsPrefix(MuonLayer layer, const char *prefix[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscAssertPointer(prefix, 2);
  PetscCall(PetscObjectGetOptionsPrefix((PetscObject)layer, prefix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerGetOwnPrefix_Private(MuonLayer layer, size_t length, char own[])
{
  const char *prefix = ((PetscObject)layer)->prefix;

  PetscFunctionBegin;
  if (layer->readsown) PetscCall(PetscStrncpy(own, prefix, length));
  else PetscCall(PetscSNPrintf(own, length, "%smuon_layer_%s_", prefix ? prefix : "", ((PetscObject)layer)->name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerHasOwnOptions_Private(MuonLayer layer, PetscBool *has)
{
  char  key[PETSC_MAX_OPTION_NAME + 1] = "-";
  char *all, *found;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetOwnPrefix_Private(layer, sizeof(key) - 1, key + 1));
  PetscCall(PetscOptionsGetAll(((PetscObject)layer)->options, &all));
  PetscCall(PetscStrtolower(all));
  PetscCall(PetscStrtolower(key));
  PetscCall(PetscStrstr(all, key, &found));
  *has = found != NULL ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerSetFromOptions_Own(MuonLayer layer)
{
  char            rule[256];
  PetscReal       value;
  MuonShapeFactor factor = layer->shapefactor;
  PetscBool       flg;

  PetscFunctionBegin;
  PetscObjectOptionsBegin((PetscObject)layer);
  PetscCall(PetscOptionsFList("-rule", "Rule that moves the layer", "MuonLayerSetRule", MuonLayerRuleList, ((PetscObject)layer)->type_name, rule, sizeof(rule), &flg));
  if (flg) PetscCall(MuonLayerSetRule(layer, rule));
  PetscCall(PetscOptionsReal("-scale", "Factor of the layer's radius", "MuonLayerSetScale", layer->scale, &value, &flg));
  if (flg) PetscCall(MuonLayerSetScale(layer, value));
  PetscCall(PetscOptionsEnum("-shape_factor", "How the layer's shape enters its radius", "MuonLayerSetShapeFactor", MuonShapeFactors, (PetscEnum)factor, (PetscEnum *)&factor, &flg));
  if (flg) PetscCall(MuonLayerSetShapeFactor(layer, factor));
  PetscCall(PetscOptionsReal("-momentum", "Weight of the old momentum", "MuonLayerSetMomentum", layer->momentum, &value, &flg));
  if (flg) PetscCall(MuonLayerSetMomentum(layer, value));
  PetscCall(PetscOptionsReal("-weight_decay", "Decoupled weight decay", "MuonLayerSetWeightDecay", layer->weight_decay, &value, &flg));
  if (flg) PetscCall(MuonLayerSetWeightDecay(layer, value));
  PetscCall(MuonLayerSetBlocksFromOptions_Private(layer, PetscOptionsObject));
  PetscTryTypeMethod(layer, setfromoptions, PetscOptionsObject);
  PetscOptionsEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerSetFromOptions - Sets a layer and its linear minimization oracle from the options database

  Not Collective; No Fortran Support

  Input Parameter:
. layer - the layer

  Options Database Keys:
+ -muon_layer_NAME_rule rule                - the rule that moves the layer (lmo|adamw|nadamw|sgd|frozen)
. -muon_layer_NAME_scale scale              - factor of the layer's radius
. -muon_layer_NAME_shape_factor factor      - how the layer's shape enters its radius (none|kj|moonlight|scion)
. -muon_layer_NAME_momentum momentum        - weight of the old momentum
. -muon_layer_NAME_weight_decay decay       - decoupled weight decay
. -muon_layer_NAME_blocks_rows m1,m2,...    - sizes of the blocks of rows, see `MuonLayerSetBlocks()`
- -muon_layer_NAME_blocks_columns n1,n2,... - sizes of the blocks of columns

  Level: developer

  Notes:
  NAME is the layer's name. Keys of the oracle (`-lmo_type`, ...) are looked up for all layers first, then as `-muon_layer_NAME_lmo_type`, ... for this one.
  `MuonSetFromOptions()` calls this routine for each layer.

.seealso: `MuonLayer`, `MuonSetFromOptions()`, `MuonLMOSetFromOptions()`
@*/
PetscErrorCode MuonLayerSetFromOptions(MuonLayer layer)
{
  MuonLMO   lmo;
  PetscBool own, same;
  char      prefix[PETSC_MAX_OPTION_NAME], *shared = NULL, *norm;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscCall(PetscStrallocpy(((PetscObject)layer)->prefix, &shared));
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  PetscCall(MuonLMOSetOptionsPrefix(lmo, shared));
  PetscCall(MuonLMOSetFromOptions(lmo));
  PetscCall(MuonLayerHasOwnOptions_Private(layer, &own));
  if (own) {
    PetscCall(MuonLayerGetOwnPrefix_Private(layer, sizeof(prefix), prefix));
    PetscCall(PetscObjectSetOptionsPrefix((PetscObject)layer, prefix));
    layer->readsown = PETSC_TRUE;
    PetscCall(MuonLayerSetFromOptions_Own(layer));
    layer->readsown = PETSC_FALSE;
    PetscCall(PetscObjectSetOptionsPrefix((PetscObject)layer, shared));
    PetscCall(PetscStrallocpy(((PetscObject)lmo)->type_name, &norm));
    PetscCall(MuonLMOSetOptionsPrefix(lmo, prefix));
    PetscCall(MuonLMOSetFromOptions(lmo));
    PetscCall(PetscObjectTypeCompare((PetscObject)lmo, norm, &same));
    PetscCall(PetscFree(norm));
    if (same == PETSC_FALSE) {
      /* Of a norm that is the layer's alone nobody has read the keys for all layers */
      PetscCall(MuonLMOSetOptionsPrefix(lmo, shared));
      PetscCall(MuonLMOTypeSetFromOptions_Private(lmo));
      PetscCall(MuonLMOSetOptionsPrefix(lmo, prefix));
      PetscCall(MuonLMOSetFromOptions(lmo));
    }
  }
  PetscCall(PetscFree(shared));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetName - Gets the name of a layer

  Not Collective; No Fortran Support

  Input Parameter:
. layer - the layer

  Output Parameter:
. name - the name, borrowed

  Level: beginner

.seealso: `MuonLayer`, `MuonAddLayer()`, `MuonGetLayerByName()`
@*/
PetscErrorCode MuonLayerGetName(MuonLayer layer, const char *name[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscAssertPointer(name, 2);
  *name = ((PetscObject)layer)->name;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetSize - Gets the shape of a layer

  Not Collective; No Fortran Support

  Input Parameter:
. layer - the layer

  Output Parameters:
+ m - number of rows (outputs)
- n - number of columns (inputs), 1 for a vector

  Level: beginner

.seealso: `MuonLayer`, `MuonLayerGetWeights()`
@*/
PetscErrorCode MuonLayerGetSize(MuonLayer layer, PetscInt *m, PetscInt *n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  if (m != NULL) *m = layer->m;
  if (n != NULL) *n = layer->n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetWeights - Gets the matrix of weights of a layer

  Not Collective; No Fortran Support

  Input Parameter:
. layer - the layer

  Output Parameter:
. W - the weights, borrowed

  Level: beginner

  Note:
  A caller who changes the weights between two steps must tell the optimizer by `MuonWeightsChanged()`.

.seealso: `MuonLayer`, `MuonLayerGetWeightsVec()`, `MuonLayerGetServerWeights()`, `MuonLayerGetGradient()`, `MuonWeightsChanged()`
@*/
PetscErrorCode MuonLayerGetWeights(MuonLayer layer, Mat *W)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscAssertPointer(W, 2);
  PetscCheck(layer->w == NULL, PetscObjectComm((PetscObject)layer), PETSC_ERR_ARG_WRONGSTATE, "Layer \"%s\" is a vector: use MuonLayerGetWeightsVec()", ((PetscObject)layer)->name);
  *W = layer->W;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetWeightsVec - Gets the vector of weights of a layer that was added with `MuonAddVecLayer()`

  Not Collective; No Fortran Support

  Input Parameter:
. layer - the layer

  Output Parameter:
. w - the weights, borrowed

  Level: beginner

.seealso: `MuonLayer`, `MuonLayerGetWeights()`, `MuonLayerGetGradientVec()`, `MuonAddVecLayer()`
@*/
PetscErrorCode MuonLayerGetWeightsVec(MuonLayer layer, Vec *w)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscAssertPointer(w, 2);
  PetscCheck(layer->w != NULL, PetscObjectComm((PetscObject)layer), PETSC_ERR_ARG_WRONGSTATE, "Layer \"%s\" is a matrix: use MuonLayerGetWeights()", ((PetscObject)layer)->name);
  *w = layer->w;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetGradient - Gets the matrix where the callback puts the worker's mean gradient of a layer

  Not Collective; No Fortran Support

  Input Parameter:
. layer - the layer

  Output Parameter:
. G - the gradient, borrowed, of the shape of the weights and without gaps between its columns

  Level: beginner

  Note:
  A step overwrites the gradient: the new momentum takes its place.

.seealso: `MuonLayer`, `MuonLayerSetGradient()`, `MuonLayerGetGradientVec()`, `MuonSetObjectiveAndGradient()`, `MuonStep()`
@*/
PetscErrorCode MuonLayerGetGradient(MuonLayer layer, Mat *G)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscAssertPointer(G, 2);
  if (layer->gradient == NULL) PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, layer->m, layer->n, NULL, &layer->gradient));
  layer->nogradient = PETSC_FALSE;
  *G                = layer->usergradient != NULL ? layer->usergradient : layer->gradient;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetGradientVec - Gets the vector where the callback puts the worker's mean gradient of a vector layer

  Not Collective; No Fortran Support

  Input Parameter:
. layer - the layer

  Output Parameter:
. g - the gradient, borrowed

  Level: beginner

  Note:
  It takes the place of a matrix that `MuonLayerSetGradient()` gave.

.seealso: `MuonLayer`, `MuonLayerGetGradient()`, `MuonLayerSetGradient()`, `MuonLayerGetWeightsVec()`
@*/
PetscErrorCode MuonLayerGetGradientVec(MuonLayer layer, Vec *g)
{
  Mat          G;
  PetscScalar *array;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscAssertPointer(g, 2);
  PetscCheck(layer->w != NULL, PetscObjectComm((PetscObject)layer), PETSC_ERR_ARG_WRONGSTATE, "Layer \"%s\" is a matrix: use MuonLayerGetGradient()", ((PetscObject)layer)->name);
  PetscCall(MatDestroy(&layer->usergradient));
  PetscCall(MuonLayerGetGradient(layer, &G));
  if (layer->gradientvec == NULL) {
    PetscCall(MatDenseGetArray(layer->gradient, &array));
    PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, layer->m, array, &layer->gradientvec));
    PetscCall(MatDenseRestoreArray(layer->gradient, &array));
  }
  *g = layer->gradientvec;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerSetGradient - Gives a layer the caller's own gradient matrix, or says that there is no gradient in this step

  Not Collective; No Fortran Support

  Input Parameters:
+ layer - the layer
- G     - the worker's mean gradient, a `MATSEQDENSE` of the shape of the weights, or `NULL` for none

  Level: intermediate

  Notes:
  The layer keeps a reference and copies the matrix at each step, so that the caller's matrix is not modified. No gradient counts as a gradient of zeros, in the coming step
  and until the gradient is asked for or set again; the layer still takes part, on every rank, so that no call waits for another.

.seealso: `MuonLayer`, `MuonLayerGetGradient()`, `MuonSetObjectiveAndGradient()`
@*/
PetscErrorCode MuonLayerSetGradient(MuonLayer layer, Mat G)
{
  PetscInt  m, n;
  PetscBool seqdense;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  if (G != NULL) {
    PetscValidHeaderSpecific(G, MAT_CLASSID, 2);
    PetscCall(PetscObjectTypeCompare((PetscObject)G, MATSEQDENSE, &seqdense));
    PetscCheck(seqdense, PetscObjectComm((PetscObject)G), PETSC_ERR_SUP, "Layer \"%s\": gradient of type %s, expected %s", ((PetscObject)layer)->name, ((PetscObject)G)->type_name, MATSEQDENSE);
    PetscCall(MatGetSize(G, &m, &n));
    PetscCheck(m == layer->m && n == layer->n, PetscObjectComm((PetscObject)layer), PETSC_ERR_ARG_SIZ, "Layer \"%s\": gradient of shape %" PetscInt_FMT " x %" PetscInt_FMT ", expected %" PetscInt_FMT " x %" PetscInt_FMT, ((PetscObject)layer)->name,
               m, n, layer->m, layer->n);
    PetscCall(PetscObjectReference((PetscObject)G));
  }
  PetscCall(MatDestroy(&layer->usergradient));
  layer->usergradient = G;
  layer->nogradient   = G == NULL ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetServerWeights - Gets the weights that the server of a layer holds

  Not Collective; No Fortran Support

  Input Parameter:
. layer - the layer

  Output Parameter:
. X - the server's weights, borrowed, `NULL` on a rank that does not serve the layer

  Level: intermediate

  Note:
  Under `MUONEF21` with a compressor from server to workers the workers compute gradients at W, which follows the server's X; both become the same as the radius goes to zero.

.seealso: `MuonLayer`, `MuonLayerGetWeights()`, `MuonLayerGetOwner()`, `MUONEF21`
@*/
PetscErrorCode MuonLayerGetServerWeights(MuonLayer layer, Mat *X)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscAssertPointer(X, 2);
  *X = layer->X;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetOwner - Gets the rank that serves a layer

  Not Collective; No Fortran Support

  Input Parameter:
. layer - the layer

  Output Parameter:
. owner - the rank in the optimizer's communicator, -1 where every rank serves the layer

  Level: intermediate

  Note:
  Owners are known after `MuonSetUp()`.

.seealso: `MuonLayer`, `MuonLayerGetServerWeights()`, `MuonExchangeSetAssignment()`, `MuonSetUp()`
@*/
PetscErrorCode MuonLayerGetOwner(MuonLayer layer, PetscMPIInt *owner)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscAssertPointer(owner, 2);
  *owner = layer->owner;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetLMO - Gets the linear minimization oracle of a layer

  Not Collective; No Fortran Support

  Input Parameter:
. layer - the layer

  Output Parameter:
. lmo - the oracle, borrowed

  Level: intermediate

.seealso: `MuonLayer`, `MuonLMO`, `MuonLMOSetType()`
@*/
PetscErrorCode MuonLayerGetLMO(MuonLayer layer, MuonLMO *lmo)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscAssertPointer(lmo, 2);
  if (layer->lmo == NULL) {
    PetscCall(MuonLMOCreate(PETSC_COMM_SELF, &layer->lmo));
    PetscCall(PetscObjectIncrementTabLevel((PetscObject)layer->lmo, (PetscObject)layer, 1));
    PetscCall(PetscObjectSetOptions((PetscObject)layer->lmo, ((PetscObject)layer)->options));
    PetscCall(MuonLMOSetOptionsPrefix(layer->lmo, ((PetscObject)layer)->prefix));
    PetscCall(MuonLMOSetLayerName(layer->lmo, ((PetscObject)layer)->name));
    if (layer->work != NULL) PetscCall(MuonLMOSetWorkspace(layer->lmo, layer->work));
  }
  *lmo = layer->lmo;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerSetWorkspace_Private(MuonLayer layer, MuonWorkspace work)
{
  PetscFunctionBegin;
  PetscCall(MuonWorkspaceReference(work));
  PetscCall(MuonWorkspaceDestroy(&layer->work));
  layer->work = work;
  if (layer->lmo != NULL) PetscCall(MuonLMOSetWorkspace(layer->lmo, work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerSetScale - Sets the factor of a layer's radius

  Not Collective; No Fortran Support

  Input Parameters:
+ layer - the layer
- scale - the factor, at least 0

  Options Database Key:
. -muon_layer_NAME_scale scale - the factor of the layer called NAME

  Level: intermediate

  Note:
  The radius of a step is learning rate x schedule x scale x shape factor.

.seealso: `MuonLayer`, `MuonLayerGetScale()`, `MuonLayerGetRadiusFactor()`, `MuonSetLearningRate()`
@*/
PetscErrorCode MuonLayerSetScale(MuonLayer layer, PetscReal scale)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  MuonLayerCheck(layer, scale >= 0 && !PetscIsInfOrNanReal(scale), PETSC_ERR_ARG_OUTOFRANGE, "scale %g must be finite and at least 0", (double)scale);
  layer->scale = scale;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetScale - Gets the factor of a layer's radius

  Not Collective; No Fortran Support

  Input Parameter:
. layer - the layer

  Output Parameter:
. scale - the factor

  Level: intermediate

.seealso: `MuonLayer`, `MuonLayerSetScale()`
@*/
PetscErrorCode MuonLayerGetScale(MuonLayer layer, PetscReal *scale)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscAssertPointer(scale, 2);
  *scale = layer->scale;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerSetShapeFactor - Sets how the shape of this layer enters its radius

  Not Collective; No Fortran Support

  Input Parameters:
+ layer  - the layer
- factor - `MUON_SHAPE_FACTOR_NONE`, `MUON_SHAPE_FACTOR_KJ`, `MUON_SHAPE_FACTOR_MOONLIGHT` or `MUON_SHAPE_FACTOR_SCION`

  Options Database Key:
. -muon_layer_NAME_shape_factor factor - the factor (none|kj|moonlight|scion) of the layer called NAME

  Level: intermediate

.seealso: `MuonLayer`, `MuonLayerGetShapeFactor()`, `MuonSetShapeFactor()`, `MuonShapeFactor`
@*/
PetscErrorCode MuonLayerSetShapeFactor(MuonLayer layer, MuonShapeFactor factor)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  layer->shapefactor    = factor;
  layer->shapefactorset = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetShapeFactor - Gets how the shape of this layer enters its radius

  Not Collective; No Fortran Support

  Input Parameter:
. layer - the layer

  Output Parameter:
. factor - the factor; the optimizer's holds after `MuonSetUp()` where the layer has none of its own

  Level: intermediate

.seealso: `MuonLayer`, `MuonLayerSetShapeFactor()`
@*/
PetscErrorCode MuonLayerGetShapeFactor(MuonLayer layer, MuonShapeFactor *factor)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscAssertPointer(factor, 2);
  *factor = layer->shapefactor;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerSetMomentum - Sets the momentum of this layer alone

  Not Collective; No Fortran Support

  Input Parameters:
+ layer    - the layer
- momentum - weight of the old momentum, in [0,1)

  Options Database Key:
. -muon_layer_NAME_momentum momentum - the momentum of the layer called NAME

  Level: intermediate

.seealso: `MuonLayer`, `MuonLayerGetMomentum()`, `MuonSetMomentum()`
@*/
PetscErrorCode MuonLayerSetMomentum(MuonLayer layer, PetscReal momentum)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  MuonLayerCheck(layer, momentum >= 0 && momentum < 1, PETSC_ERR_ARG_OUTOFRANGE, "momentum %g must be in [0,1)", (double)momentum);
  layer->momentum    = momentum;
  layer->momentumset = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetMomentum - Gets the momentum of this layer

  Not Collective; No Fortran Support

  Input Parameter:
. layer - the layer

  Output Parameter:
. momentum - weight of the old momentum; the optimizer's holds after `MuonSetUp()` where the layer has none of its own

  Level: intermediate

.seealso: `MuonLayer`, `MuonLayerSetMomentum()`, `MuonGetMomentum()`
@*/
PetscErrorCode MuonLayerGetMomentum(MuonLayer layer, PetscReal *momentum)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscAssertPointer(momentum, 2);
  *momentum = layer->momentum;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerSetWeightDecay - Sets the weight decay of this layer alone

  Not Collective; No Fortran Support

  Input Parameters:
+ layer - the layer
- decay - X is multiplied by 1 - (learning rate x schedule) x decay before a step; at least 0

  Options Database Key:
. -muon_layer_NAME_weight_decay decay - the weight decay of the layer called NAME

  Level: intermediate

.seealso: `MuonLayer`, `MuonLayerGetWeightDecay()`, `MuonSetWeightDecay()`
@*/
PetscErrorCode MuonLayerSetWeightDecay(MuonLayer layer, PetscReal decay)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  MuonLayerCheck(layer, decay >= 0 && !PetscIsInfOrNanReal(decay), PETSC_ERR_ARG_OUTOFRANGE, "weight_decay %g must be finite and at least 0", (double)decay);
  layer->weight_decay    = decay;
  layer->weight_decayset = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetWeightDecay - Gets the weight decay of this layer

  Not Collective; No Fortran Support

  Input Parameter:
. layer - the layer

  Output Parameter:
. decay - the weight decay; the optimizer's holds after `MuonSetUp()` where the layer has none of its own

  Level: intermediate

.seealso: `MuonLayer`, `MuonLayerSetWeightDecay()`, `MuonGetWeightDecay()`
@*/
PetscErrorCode MuonLayerGetWeightDecay(MuonLayer layer, PetscReal *decay)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscAssertPointer(decay, 2);
  *decay = layer->weight_decay;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetRadiusFactor - Gets what the learning rate is multiplied by to give a layer's radius

  Not Collective; No Fortran Support

  Input Parameter:
. layer - the layer

  Output Parameter:
. factor - scale x shape factor for a layer of m rows and n columns under the norm it has

  Level: intermediate

  Note:
  Each block of a layer (`MuonLayerSetBlocks()`) has the factor of its own m and n; this is the largest of them.

.seealso: `MuonLayer`, `MuonLayerSetScale()`, `MuonLayerSetShapeFactor()`, `MuonLayerSetBlocks()`, `MuonShapeFactor`
@*/
PetscErrorCode MuonLayerGetRadiusFactor(MuonLayer layer, PetscReal *factor)
{
  const PetscInt count = MuonBlocksCount_Private(&layer->blocks);

  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscAssertPointer(factor, 2);
  *factor = 0;
  for (PetscInt b = 0; b < count; b++) {
    MuonBlock block;
    PetscReal one;

    PetscCall(MuonLayerGetBlock_Private(layer, b, &block));
    PetscCall(MuonLayerGetBlockFactor_Private(layer, &block, &one));
    *factor = PetscMax(*factor, one);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerGetBlockFactor_Private(MuonLayer layer, const MuonBlock *block, PetscReal *factor)
{
  const PetscReal m = (PetscReal)block->m, n = (PetscReal)block->n;
  MuonLMO         lmo;
  PetscBool       spectral, max, column, row;
  PetscReal       shape = 1.0;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  PetscCall(PetscObjectTypeCompare((PetscObject)lmo, MUONLMOSPECTRAL, &spectral));
  PetscCall(PetscObjectTypeCompare((PetscObject)lmo, MUONLMOMAX, &max));
  PetscCall(PetscObjectTypeCompare((PetscObject)lmo, MUONLMOCOLUMN, &column));
  PetscCall(PetscObjectTypeCompare((PetscObject)lmo, MUONLMOROW, &row));
  if (block->m > 0 && block->n > 0) {
    if (layer->shapefactor == MUON_SHAPE_FACTOR_KJ && spectral) shape = PetscSqrtReal(PetscMax((PetscReal)1.0, m / n));
    else if (layer->shapefactor == MUON_SHAPE_FACTOR_MOONLIGHT && spectral) shape = (PetscReal)0.2 * PetscSqrtReal(PetscMax(m, n));
    else if (layer->shapefactor == MUON_SHAPE_FACTOR_SCION && spectral) shape = PetscSqrtReal(m / n);
    else if (layer->shapefactor == MUON_SHAPE_FACTOR_SCION && max) shape = 1 / n;
    else if (layer->shapefactor == MUON_SHAPE_FACTOR_SCION && column) shape = PetscSqrtReal(m) / n;
    else if (layer->shapefactor == MUON_SHAPE_FACTOR_SCION && row) shape = 1 / PetscSqrtReal(n);
  }
  *factor = layer->scale * shape;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerGradientBegin_Private(MuonLayer layer, Mat *G)
{
  PetscFunctionBegin;
  if (layer->gradient == NULL) PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, layer->m, layer->n, NULL, &layer->gradient));
  if (layer->nogradient) PetscCall(MatZeroEntries(layer->gradient));
  else if (layer->usergradient != NULL) PetscCall(MatCopy(layer->usergradient, layer->gradient, SAME_NONZERO_PATTERN));
  *G = layer->gradient;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerWeightsBegin_Private(MuonLayer layer, Mat *W)
{
  PetscScalar *array;

  PetscFunctionBegin;
  if (layer->w != NULL) {
    PetscCall(VecGetArray(layer->w, &array));
    if (layer->W == NULL) PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, layer->m, 1, array, &layer->W));
    PetscCall(MatDensePlaceArray(layer->W, array));
    PetscCall(VecRestoreArray(layer->w, &array));
  }
  *W = layer->W;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerWeightsEnd_Private(MuonLayer layer, PetscBool changed)
{
  PetscFunctionBegin;
  if (layer->w != NULL) {
    PetscCall(MatDenseResetArray(layer->W));
    if (changed) PetscCall(PetscObjectStateIncrease((PetscObject)layer->w));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerStep_Private(MuonLayer layer, MuonLayerStepInfo *info, Mat G, Mat X, Mat Xnew, MuonStatus *status)
{
  PetscFunctionBegin;
  info->dual = 0;
  PetscUseTypeMethod(layer, step, info, G, X, Xnew, status);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerCanEncode_Private(MuonLayer layer, size_t length, char reason[])
{
  MuonLMO     lmo;
  MuonLMOType norm;
  PetscBool   can;
  char        names[256];

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
  PetscCall(MuonLMOEncodableNames_Private(sizeof(names), names));
  PetscCall(PetscSNPrintf(reason, length, "the steps of its norm %s have no natural format, expected one of: %s", norm, names));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerEncodeStep_Private(MuonLayer layer, MuonLayerStepInfo *info, Mat G, size_t most, unsigned char message[], size_t *bytes, MuonStatus *status)
{
  PetscFunctionBegin;
  info->dual = 0;
  PetscUseTypeMethod(layer, encode, info, G, most, message, bytes, status);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerDecodeStep_Private(MuonLayer layer, const MuonLayerStepInfo *info, size_t bytes, const unsigned char message[], Mat X)
{
  PetscFunctionBegin;
  PetscUseTypeMethod(layer, decode, info, bytes, message, X);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerCommit_Private(MuonLayer layer)
{
  PetscFunctionBegin;
  PetscTryTypeMethod(layer, commit);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerGetFlops_Private(MuonLayer layer, PetscLogDouble *flops)
{
  PetscFunctionBegin;
  *flops = 0;
  PetscTryTypeMethod(layer, getflops, flops);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerGetMemory_Private(MuonLayer layer, PetscLogDouble *bytes)
{
  PetscFunctionBegin;
  *bytes = 0;
  PetscTryTypeMethod(layer, getmemory, bytes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerView - Prints a layer

  Not Collective; No Fortran Support

  Input Parameters:
+ layer  - the layer
- viewer - where to

  Level: beginner

.seealso: `MuonLayer`, `MuonView()`
@*/
PetscErrorCode MuonLayerView(MuonLayer layer, PetscViewer viewer)
{
  PetscReal factor;
  PetscBool ascii;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  if (viewer == NULL) PetscCall(PetscViewerASCIIGetStdout(PetscObjectComm((PetscObject)layer), &viewer));
  PetscValidHeaderSpecific(viewer, PETSC_VIEWER_CLASSID, 2);
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (ascii) {
    PetscCall(PetscObjectPrintClassNamePrefixType((PetscObject)layer, viewer));
    PetscCall(MuonLayerGetRadiusFactor(layer, &factor));
    PetscCall(PetscViewerASCIIPushTab(viewer));
    PetscCall(PetscViewerASCIIPrintf(viewer, "name %s, %" PetscInt_FMT " x %" PetscInt_FMT ", scale %g, shape factor %s, radius factor %g\n", ((PetscObject)layer)->name, layer->m, layer->n, (double)layer->scale, MuonShapeFactors[layer->shapefactor],
                                     (double)factor));
    if (MuonBlocksCount_Private(&layer->blocks) > 1) {
      char rows[256], columns[256];

      PetscCall(MuonBlocksPrintSide_Private(layer->blocks.nrows, layer->blocks.rows, layer->m, sizeof(rows), rows));
      PetscCall(MuonBlocksPrintSide_Private(layer->blocks.ncolumns, layer->blocks.columns, layer->n, sizeof(columns), columns));
      PetscCall(PetscViewerASCIIPrintf(viewer, "blocks: %" PetscInt_FMT " x %" PetscInt_FMT ", rows %s, columns %s\n", layer->blocks.nrows, layer->blocks.ncolumns, rows, columns));
    }
    PetscCall(PetscViewerASCIIPrintf(viewer, "momentum %g, weight decay %g\n", (double)layer->momentum, (double)layer->weight_decay));
    PetscTryTypeMethod(layer, view, viewer);
    PetscCall(PetscViewerASCIIPopTab(viewer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerReset - Drops what a layer computed, its gradient and its rule's moments; keeps weights and options

  Not Collective; No Fortran Support

  Input Parameter:
. layer - the layer

  Level: intermediate

.seealso: `MuonLayer`, `MuonReset()`
@*/
PetscErrorCode MuonLayerReset(MuonLayer layer)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscTryTypeMethod(layer, reset);
  PetscCall(VecDestroy(&layer->gradientvec));
  PetscCall(MatDestroy(&layer->gradient));
  PetscCall(MatDestroy(&layer->usergradient));
  if (layer->lmo != NULL) PetscCall(MuonLMOReset(layer->lmo));
  layer->X           = NULL;
  layer->owner       = -1;
  layer->nogradient  = PETSC_FALSE;
  layer->blocksfixed = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerDestroy - Frees a layer

  Not Collective; No Fortran Support

  Input Parameter:
. layer - the layer

  Level: developer

.seealso: `MuonLayer`, `MuonLayerCreate()`, `MuonDestroy()`
@*/
PetscErrorCode MuonLayerDestroy(MuonLayer *layer)
{
  PetscFunctionBegin;
  if (*layer == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscValidHeaderSpecific(*layer, MUONLAYER_CLASSID, 1);
  if (--((PetscObject)*layer)->refct > 0) {
    *layer = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonLayerReset(*layer));
  PetscTryTypeMethod(*layer, destroy);
  PetscCall(MuonLMODestroy(&(*layer)->lmo));
  PetscCall(MuonBlocksDestroy_Private(&(*layer)->blocks));
  PetscCall(MatDestroy(&(*layer)->W));
  PetscCall(VecDestroy(&(*layer)->w));
  PetscCall(MuonWorkspaceDestroy(&(*layer)->work));
  PetscCall(PetscHeaderDestroy(layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
