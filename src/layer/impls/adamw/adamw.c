#include <petscmuon/private/muonlayerimpl.h> /*I "petscmuonlayer.h" I*/

typedef struct {
  PetscReal    beta1, beta2, epsilon;
  PetscBool    nesterov;
  PetscInt     steps;               /* committed steps of this layer: the powers of the betas */
  PetscScalar *m, *v, *mnew, *vnew; /* moments and what they become when the step is committed */
} MuonLayer_AdamW;

static PetscErrorCode MuonLayerStep_AdamW(MuonLayer layer, MuonLayerStepInfo *info, Mat G, Mat X, Mat Xnew, MuonStatus *status)
{
  MuonLayer_AdamW   *adamw = (MuonLayer_AdamW *)layer->data;
  const PetscReal    b1 = adamw->beta1, b2 = adamw->beta2, rate = info->rate * layer->scale, keep = 1 - rate * layer->weight_decay;
  const PetscReal    c1 = 1 - PetscPowRealInt(b1, (int)adamw->steps + 1), c2 = 1 - PetscPowRealInt(b2, (int)adamw->steps + 1);
  const PetscScalar *g, *x;
  PetscScalar       *y;
  PetscInt           ldg, ldx, ldy;

  PetscFunctionBegin;
  if (adamw->m == NULL) {
    const size_t d = (size_t)layer->m * (size_t)layer->n;

    PetscCall(PetscCalloc1(d, &adamw->m));
    PetscCall(PetscCalloc1(d, &adamw->v));
    PetscCall(PetscMalloc1(d, &adamw->mnew));
    PetscCall(PetscMalloc1(d, &adamw->vnew));
  }
  PetscCall(MatDenseGetLDA(G, &ldg));
  PetscCall(MatDenseGetLDA(X, &ldx));
  PetscCall(MatDenseGetLDA(Xnew, &ldy));
  PetscCall(MatDenseGetArrayRead(G, &g));
  PetscCall(MatDenseGetArrayRead(X, &x));
  PetscCall(MatDenseGetArrayWrite(Xnew, &y));
  *status = MUON_STATUS_OK;
  for (PetscInt j = 0; j < layer->n; j++) {
    for (PetscInt i = 0; i < layer->m; i++) {
      const size_t      e  = (size_t)j * (size_t)layer->m + (size_t)i;
      const PetscScalar gi = g[i + (size_t)j * (size_t)ldg];
      const PetscScalar m  = b1 * adamw->m[e] + (1 - b1) * gi;
      const PetscScalar v  = b2 * adamw->v[e] + (1 - b2) * gi * gi;
      const PetscScalar up = (adamw->nesterov ? b1 * m + (1 - b1) * gi : m) / c1;

      adamw->mnew[e]                 = m;
      adamw->vnew[e]                 = v;
      y[i + (size_t)j * (size_t)ldy] = keep * x[i + (size_t)j * (size_t)ldx] - rate * up / (PetscSqrtReal(v / c2) + adamw->epsilon);
      if (PetscIsInfOrNanScalar(y[i + (size_t)j * (size_t)ldy]) || PetscIsInfOrNanScalar(v)) *status = MUON_STATUS_NANORINF;
    }
  }
  PetscCall(MatDenseRestoreArrayWrite(Xnew, &y));
  PetscCall(MatDenseRestoreArrayRead(X, &x));
  PetscCall(MatDenseRestoreArrayRead(G, &g));
  PetscCall(PetscLogFlops(16.0 * (PetscLogDouble)layer->m * (PetscLogDouble)layer->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerCommit_AdamW(MuonLayer layer)
{
  MuonLayer_AdamW *adamw = (MuonLayer_AdamW *)layer->data;
  PetscScalar     *swap;

  PetscFunctionBegin;
  adamw->steps++;
  if (adamw->m == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  swap        = adamw->m;
  adamw->m    = adamw->mnew;
  adamw->mnew = swap;
  swap        = adamw->v;
  adamw->v    = adamw->vnew;
  adamw->vnew = swap;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerGetFlops_AdamW(MuonLayer layer, PetscLogDouble *flops)
{
  PetscFunctionBegin;
  *flops = 16.0 * (PetscLogDouble)layer->m * (PetscLogDouble)layer->n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerGetMemory_AdamW(MuonLayer layer, PetscLogDouble *bytes)
{
  MuonLayer_AdamW *adamw = (MuonLayer_AdamW *)layer->data;

  PetscFunctionBegin;
  if (adamw->m != NULL) *bytes = 4.0 * sizeof(PetscScalar) * (PetscLogDouble)layer->m * (PetscLogDouble)layer->n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerReset_AdamW(MuonLayer layer)
{
  MuonLayer_AdamW *adamw = (MuonLayer_AdamW *)layer->data;

  PetscFunctionBegin;
  PetscCall(PetscFree(adamw->m));
  PetscCall(PetscFree(adamw->v));
  PetscCall(PetscFree(adamw->mnew));
  PetscCall(PetscFree(adamw->vnew));
  adamw->steps = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerAdamWSetBetas_AdamW(MuonLayer layer, PetscReal beta1, PetscReal beta2)
{
  MuonLayer_AdamW *adamw = (MuonLayer_AdamW *)layer->data;

  PetscFunctionBegin;
  MuonLayerCheck(layer, beta1 >= 0 && beta1 < 1, PETSC_ERR_ARG_OUTOFRANGE, "adamw_beta1 %g must be in [0,1)", (double)beta1);
  MuonLayerCheck(layer, beta2 >= 0 && beta2 < 1, PETSC_ERR_ARG_OUTOFRANGE, "adamw_beta2 %g must be in [0,1)", (double)beta2);
  adamw->beta1 = beta1;
  adamw->beta2 = beta2;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerAdamWGetBetas_AdamW(MuonLayer layer, PetscReal *beta1, PetscReal *beta2)
{
  MuonLayer_AdamW *adamw = (MuonLayer_AdamW *)layer->data;

  PetscFunctionBegin;
  if (beta1 != NULL) *beta1 = adamw->beta1;
  if (beta2 != NULL) *beta2 = adamw->beta2;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerAdamWSetEpsilon_AdamW(MuonLayer layer, PetscReal epsilon)
{
  PetscFunctionBegin;
  MuonLayerCheck(layer, epsilon > 0, PETSC_ERR_ARG_OUTOFRANGE, "adamw_epsilon %g must be positive", (double)epsilon);
  ((MuonLayer_AdamW *)layer->data)->epsilon = epsilon;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerAdamWGetEpsilon_AdamW(MuonLayer layer, PetscReal *epsilon)
{
  PetscFunctionBegin;
  *epsilon = ((MuonLayer_AdamW *)layer->data)->epsilon;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerSetFromOptions_AdamW(MuonLayer layer, MuonOptionItems PetscOptionsObject)
{
  MuonLayer_AdamW *adamw = (MuonLayer_AdamW *)layer->data;
  PetscReal        beta1 = adamw->beta1, beta2 = adamw->beta2, epsilon = adamw->epsilon;
  PetscBool        set1, set2, set;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "AdamW options of a layer");
  PetscCall(PetscOptionsReal("-adamw_beta1", "Decay of the mean of gradients", "MuonLayerAdamWSetBetas", beta1, &beta1, &set1));
  PetscCall(PetscOptionsReal("-adamw_beta2", "Decay of the mean of squares", "MuonLayerAdamWSetBetas", beta2, &beta2, &set2));
  if (set1 || set2) PetscCall(MuonLayerAdamWSetBetas(layer, beta1, beta2));
  PetscCall(PetscOptionsReal("-adamw_epsilon", "Added to the root of the mean of squares", "MuonLayerAdamWSetEpsilon", epsilon, &epsilon, &set));
  if (set) PetscCall(MuonLayerAdamWSetEpsilon(layer, epsilon));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerView_AdamW(MuonLayer layer, PetscViewer viewer)
{
  MuonLayer_AdamW *adamw = (MuonLayer_AdamW *)layer->data;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "betas %g %g, epsilon %g\n", (double)adamw->beta1, (double)adamw->beta2, (double)adamw->epsilon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerDestroy_AdamW(MuonLayer layer)
{
  PetscFunctionBegin;
  PetscCall(MuonLayerReset_AdamW(layer));
  PetscCall(PetscObjectComposeFunction((PetscObject)layer, "MuonLayerAdamWSetBetas_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)layer, "MuonLayerAdamWGetBetas_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)layer, "MuonLayerAdamWSetEpsilon_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)layer, "MuonLayerAdamWGetEpsilon_C", NULL));
  PetscCall(PetscFree(layer->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerRuleCreate_AdamW_Private(MuonLayer layer, PetscBool nesterov)
{
  MuonLayer_AdamW *adamw;

  PetscFunctionBegin;
  PetscCall(PetscNew(&adamw));
  adamw->beta1               = (PetscReal)0.9;
  adamw->beta2               = (PetscReal)0.95;
  adamw->epsilon             = (PetscReal)1e-10;
  adamw->nesterov            = nesterov;
  layer->data                = adamw;
  layer->ops->step           = MuonLayerStep_AdamW;
  layer->ops->commit         = MuonLayerCommit_AdamW;
  layer->ops->getflops       = MuonLayerGetFlops_AdamW;
  layer->ops->getmemory      = MuonLayerGetMemory_AdamW;
  layer->ops->setfromoptions = MuonLayerSetFromOptions_AdamW;
  layer->ops->view           = MuonLayerView_AdamW;
  layer->ops->reset          = MuonLayerReset_AdamW;
  layer->ops->destroy        = MuonLayerDestroy_AdamW;
  PetscCall(PetscObjectComposeFunction((PetscObject)layer, "MuonLayerAdamWSetBetas_C", MuonLayerAdamWSetBetas_AdamW));
  PetscCall(PetscObjectComposeFunction((PetscObject)layer, "MuonLayerAdamWGetBetas_C", MuonLayerAdamWGetBetas_AdamW));
  PetscCall(PetscObjectComposeFunction((PetscObject)layer, "MuonLayerAdamWSetEpsilon_C", MuonLayerAdamWSetEpsilon_AdamW));
  PetscCall(PetscObjectComposeFunction((PetscObject)layer, "MuonLayerAdamWGetEpsilon_C", MuonLayerAdamWGetEpsilon_AdamW));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerAdamWSetBetas - Sets the decay rates of the moments of a layer that AdamW or NAdamW moves

  Not Collective; No Fortran Support

  Input Parameters:
+ layer - the layer
. beta1 - decay of the mean of gradients, in [0,1)
- beta2 - decay of the mean of squares, in [0,1)

  Options Database Keys:
+ -muon_layer_NAME_adamw_beta1 beta1 - decay of the mean of gradients of the layer called NAME
- -muon_layer_NAME_adamw_beta2 beta2 - decay of the mean of squares

  Level: intermediate

.seealso: `MuonLayer`, `MUONLAYERADAMW`, `MUONLAYERNADAMW`, `MuonLayerAdamWGetBetas()`
@*/
PetscErrorCode MuonLayerAdamWSetBetas(MuonLayer layer, PetscReal beta1, PetscReal beta2)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscTryMethod(layer, "MuonLayerAdamWSetBetas_C", (MuonLayer, PetscReal, PetscReal), (layer, beta1, beta2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerAdamWGetBetas - Gets the decay rates of the moments of a layer that AdamW or NAdamW moves

  Not Collective; No Fortran Support

  Input Parameter:
. layer - the layer

  Output Parameters:
+ beta1 - decay of the mean of gradients
- beta2 - decay of the mean of squares

  Level: intermediate

.seealso: `MuonLayer`, `MUONLAYERADAMW`, `MuonLayerAdamWSetBetas()`
@*/
PetscErrorCode MuonLayerAdamWGetBetas(MuonLayer layer, PetscReal *beta1, PetscReal *beta2)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscUseMethod(layer, "MuonLayerAdamWGetBetas_C", (MuonLayer, PetscReal *, PetscReal *), (layer, beta1, beta2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerAdamWSetEpsilon - Sets what is added to the root of the mean of squares in AdamW and NAdamW

  Not Collective; No Fortran Support

  Input Parameters:
+ layer   - the layer
- epsilon - a positive number

  Options Database Key:
. -muon_layer_NAME_adamw_epsilon epsilon - the number for the layer called NAME

  Level: intermediate

.seealso: `MuonLayer`, `MUONLAYERADAMW`, `MUONLAYERNADAMW`, `MuonLayerAdamWGetEpsilon()`
@*/
PetscErrorCode MuonLayerAdamWSetEpsilon(MuonLayer layer, PetscReal epsilon)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscTryMethod(layer, "MuonLayerAdamWSetEpsilon_C", (MuonLayer, PetscReal), (layer, epsilon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerAdamWGetEpsilon - Gets what is added to the root of the mean of squares in AdamW and NAdamW

  Not Collective; No Fortran Support

  Input Parameter:
. layer - the layer

  Output Parameter:
. epsilon - the number

  Level: intermediate

.seealso: `MuonLayer`, `MUONLAYERADAMW`, `MuonLayerAdamWSetEpsilon()`
@*/
PetscErrorCode MuonLayerAdamWGetEpsilon(MuonLayer layer, PetscReal *epsilon)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscUseMethod(layer, "MuonLayerAdamWGetEpsilon_C", (MuonLayer, PetscReal *), (layer, epsilon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONLAYERADAMW - Moves a layer by AdamW

  Level: intermediate

  Notes:
  With t = 1, 2, ... m becomes b1 m + (1-b1) G, v becomes b2 v + (1-b2) G^2, X becomes (1 - rate decay) X - rate (m/(1-b1^t)) / (sqrt(v/(1-b2^t)) + epsilon); rate is learning rate x schedule x the layer's scale.

  The moments live at the layer's owner.

.seealso: `MuonLayer`, `MuonLayerSetRule()`, `MuonLayerRule`, `MUONLAYERNADAMW`, `MuonLayerAdamWSetBetas()`, `MuonLayerAdamWSetEpsilon()`
M*/
PETSC_EXTERN PetscErrorCode MuonLayerRuleCreate_AdamW(MuonLayer layer)
{
  PetscFunctionBegin;
  PetscCall(MuonLayerRuleCreate_AdamW_Private(layer, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONLAYERNADAMW - Moves a layer by AdamW with Nesterov momentum, as the Muon entries to AlgoPerf do

  Level: intermediate

  Note:
  As `MUONLAYERADAMW` with the numerator (b1 m + (1-b1) G)/(1-b1^t), m the updated moment.

.seealso: `MuonLayer`, `MuonLayerSetRule()`, `MuonLayerRule`, `MUONLAYERADAMW`, `MuonLayerAdamWSetBetas()`, `MuonLayerAdamWSetEpsilon()`
M*/
PETSC_EXTERN PetscErrorCode MuonLayerRuleCreate_NAdamW(MuonLayer layer)
{
  PetscFunctionBegin;
  PetscCall(MuonLayerRuleCreate_AdamW_Private(layer, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
