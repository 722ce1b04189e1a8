#include <petscmuon/private/muonlayerimpl.h> /*I "petscmuonlayer.h" I*/
#include <string.h>

typedef struct {
  PetscReal  beta1, beta2, epsilon;
  int        nesterov;
  int        parts;     /* of a complex layer: SPLIT where real and imaginary parts have squares of their own */
  PetscInt64 steps;     /* committed steps of this layer: the powers of the betas */
  MuonArray  moment[4]; /* in the gradient's precision: two, and what they become when the step is committed */
} MuonLayer_AdamW;

static const char *const Moments[] = {"adamw.mean", "adamw.square", "adamw.newmean", "adamw.newsquare"};

enum {
  MODULUS,
  SPLIT
};
static const char *const Parts[] = {"modulus", "split", "MuonAdamWComplex", "MUON_ADAMW_", NULL};

#define ROW(field, value, most, flag, help) \
  { \
    "adamw_" #field, MUON_PARAMETER_REAL, offsetof(MuonLayer_AdamW, field), value, 0, most, NULL, MUON_PARAMETER_DATA | (flag), help \
  }

/* Where they are not set, the optimizer's hold */
const MuonParameter MuonLayerParameters_AdamW[] = {ROW(beta1, MUON_ADAMW_BETA1, 1, MUON_PARAMETER_BELOW, "Decay of the mean of gradients"),
                                                   ROW(beta2, MUON_ADAMW_BETA2, 1, MUON_PARAMETER_BELOW, "Decay of the mean of squares"),
                                                   ROW(epsilon, MUON_ADAMW_EPSILON, MUON_UNBOUNDED, MUON_PARAMETER_ABOVE, "Added to the root of the mean of squares"),
                                                   {"adamw_complex", MUON_PARAMETER_ENUM, offsetof(MuonLayer_AdamW, parts), MODULUS, 0, 0, Parts, MUON_PARAMETER_DATA | MUON_PARAMETER_SHARED, "Of what complex layers have the mean of squares"},
                                                   {NULL, MUON_PARAMETER_REAL, 0, 0, 0, 0, NULL, 0, NULL}};

/* 1 - beta^steps, by squares */
static double Correction(double beta, PetscInt64 steps)
{
  double power = 1;

  for (; steps > 0; steps >>= 1, beta *= beta) {
    if (steps & 1) power *= beta;
  }
  return 1 - power;
}

/* New moments, and weights from X; 1 where all are finite */
static int MuonLayerAdamWRun_Private(MuonLayer_AdamW *adamw, const MuonArray *G, double c1, double c2, double rate, double keep, const MuonArray *X, const MuonArray *Xnew)
{
  return MuonArrayKernels(G)->AdamW(G->len, G->count, G->data, G->ld, adamw->beta1, adamw->beta2, adamw->epsilon, adamw->nesterov, c1, c2, rate, keep, adamw->moment[0].data, adamw->moment[1].data, X->data, X->ld, adamw->moment[2].data,
                                    adamw->moment[3].data, Xnew->data, Xnew->ld);
}

/*
   Both parts of a number of H are the modulus of that of G. The mean of their squares, which a step of H makes, takes the place of the
   old mean in a step of G that changes it no more
*/
static PetscErrorCode MuonLayerAdamWModuli_Private(MuonLayer layer, const MuonArray *G, double c1, double c2)
{
  MuonLayer_AdamW adamw = *(MuonLayer_AdamW *)layer->data;
  MuonArray       R     = MuonArrayOfNumbers(G), H;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGet(layer->work, MuonArrayBytes(&R), &R.data));
  PetscCall(MuonWorkspaceGetArray(layer->work, G, G->precision, &H));
  PetscCall(MuonWorkspaceGetArray(layer->work, G, G->precision, &adamw.moment[2])); /* no mean of moduli is kept */
  MuonArrayModuli(G, &R);
  for (size_t k = 0; k < MuonArrayEntries(&H); k++) {
    if (H.precision == MUON_SINGLE) ((float *)H.data)[k] = (float)((double *)R.data)[k / 2];
    else ((double *)H.data)[k] = ((double *)R.data)[k / 2];
  }
  (void)MuonLayerAdamWRun_Private(&adamw, &H, c1, c2, 0, 0, &H, &H);
  PetscCall(PetscLogFlops((layer->flops + 4.0) * (PetscLogDouble)MuonArrayEntries(G)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerStep_AdamW(MuonLayer layer, MuonLayerStepInfo *info, const MuonArray *G, const MuonArray *X, const MuonArray *Xnew, MuonStatus *status)
{
  MuonLayer_AdamW *adamw = (MuonLayer_AdamW *)layer->data, given;
  const double     c1 = Correction(adamw->beta1, adamw->steps + 1), c2 = Correction(adamw->beta2, adamw->steps + 1);
  const PetscBool  same = X->precision == G->precision ? PETSC_TRUE : PETSC_FALSE, whole = same && (info->cautious == PETSC_FALSE || info->decay == 0) ? PETSC_TRUE : PETSC_FALSE;
  MuonArray        to = *Xnew;
  int              finite;
  PetscLogDouble   flops;
  MuonMark         mark;

  PetscFunctionBegin;
  PetscCall(MuonLogDeviceBegin(X->memory, &flops));
  PetscCall(MuonWorkspaceMark(layer->work, &mark));
  for (int k = 0; k < 4; k++) {
    if (adamw->moment[k].data == NULL) PetscCall(MuonArrayCreate(G, G->precision, &adamw->moment[k]));
  }
  given = *adamw;
  if (G->pairs && adamw->parts == MODULUS) {
    PetscCall(MuonLayerAdamWModuli_Private(layer, G, c1, c2));
    given.moment[1] = adamw->moment[3];
    given.beta2     = 1;
  }
  /*
     Weights of another precision, and those that decay here and there, are moved by what a step of zeros
     gives
  */
  if (same == PETSC_FALSE || info->measure) PetscCall(MuonWorkspaceGetArray(layer->work, G, G->precision, &to));
  if (info->measure) {
    (void)MuonLayerAdamWRun_Private(&given, G, c1, c2, 1, 0, G, &to);
    info->squares = MuonLayerSumSquares(&to);
  }
  if (same) to = *Xnew;
  finite  = MuonLayerAdamWRun_Private(&given, G, c1, c2, info->rate, whole ? 1 - info->rate * info->decay : 0, whole ? X : G, &to);
  *status = finite ? MUON_STATUS_OK : MUON_STATUS_NANORINF;
  if (finite && whole == PETSC_FALSE) *status = MuonLayerUpdate(info, X, 1, &to, Xnew);
  PetscCall(MuonWorkspaceRelease(layer->work, &mark));
  PetscCall(PetscLogFlops(layer->flops * (PetscLogDouble)MuonArrayEntries(X)));
  PetscCall(MuonLogDeviceEnd(X->memory, flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerCommit_AdamW(MuonLayer layer)
{
  MuonLayer_AdamW *adamw = (MuonLayer_AdamW *)layer->data;

  PetscFunctionBegin;
  adamw->steps++;
  for (int k = 0; k < 2; k++) MuonArraySwap(&adamw->moment[k], &adamw->moment[k + 2]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerVisitState_AdamW(MuonLayer layer, MuonStateVisitor *visitor)
{
  MuonLayer_AdamW *adamw = (MuonLayer_AdamW *)layer->data;

  PetscFunctionBegin;
  visitor->late = PETSC_TRUE;
  for (int k = 0; k < 4; k++) {
    if (k < 2 && visitor->make != NULL && layer->server != NULL) PetscCall((*visitor->make)(visitor, Moments[k], PETSC_TRUE, &adamw->moment[k]));
    PetscCall(MuonStateVisitArray(visitor, Moments[k], PETSC_TRUE, k < 2 ? PETSC_FALSE : PETSC_TRUE, &adamw->moment[k]));
  }
  /* One number of all workers */
  if (visitor->holder == MUON_STATE_WORKER) visitor->holder = MUON_STATE_EVERYONE;
  if (adamw->moment[0].data != NULL) PetscCall(MuonStateVisitBytes(visitor, "adamw.steps", sizeof(adamw->steps), &adamw->steps));
  visitor->late = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerReset_AdamW(MuonLayer layer)
{
  MuonLayer_AdamW *adamw = (MuonLayer_AdamW *)layer->data;

  PetscFunctionBegin;
  for (int k = 0; k < 4; k++) PetscCall(MuonArrayDestroy(&adamw->moment[k]));
  adamw->steps = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerDestroy_AdamW(MuonLayer layer)
{
  PetscFunctionBegin;
  PetscCall(MuonLayerReset_AdamW(layer));
  PetscCall(PetscFree(layer->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONLAYERADAMW - Updates a layer by AdamW

  Options Database Keys:
+ -muon_layer_NAME_adamw_beta1 beta1     - decay of the mean of gradients, the optimizer's by default
. -muon_layer_NAME_adamw_beta2 beta2     - decay of the mean of squares, the optimizer's by default
. -muon_layer_NAME_adamw_epsilon epsilon - added to the root of the mean of squares, the optimizer's by default
- -muon_layer_NAME_adamw_complex what    - of what complex layers have the mean of squares (modulus|split), modulus by default; without NAME_ of all layers

  Level: intermediate

  Notes:
  With t = 1, 2, ... m becomes b1 m + (1-b1) G, v becomes b2 v + (1-b2) G^2, X becomes (1 - rate decay) X -
  rate (m/(1-b1^t)) / (sqrt(v/(1-b2^t)) + epsilon); rate is learning rate x schedule. Scale and shape factor of
  the layer are those of its norm ball, and do not enter.

  The learning rate is that of `-muon_adamw_learning_rate`, 1e-3 by default, whatever the optimizer's is.

  Of a complex layer G^2 is |G|^2 with modulus, so that a step does not depend on the phase in which weights are written; with
  split real and imaginary parts are numbers of their own, as in PyTorch.

  The moments are kept at the layer's owner, in the precision of the optimizer's state. Parameters take effect
  at the next step.

.seealso: `MuonLayer`, `MuonLayerSetRule()`, `MuonLayerRule`, `MUONLAYERNADAMW`
M*/

/*MC
  MUONLAYERNADAMW - Updates a layer by AdamW with Nesterov momentum, as the Muon entries to AlgoPerf do

  Level: intermediate

  Note:
  As `MUONLAYERADAMW` with the numerator (b1 m + (1-b1) G)/(1-b1^t), m the updated moment.

.seealso: `MuonLayer`, `MuonLayerSetRule()`, `MuonLayerRule`, `MUONLAYERADAMW`
M*/
PETSC_EXTERN PetscErrorCode MuonLayerRuleCreate_AdamW(MuonLayer layer)
{
  MuonLayer_AdamW *adamw;

  PetscFunctionBegin;
  PetscCall(PetscNew(&adamw));
  adamw->nesterov        = strcmp(((PetscObject)layer)->type_name, MUONLAYERNADAMW) == 0;
  layer->flops           = 16;
  layer->data            = adamw;
  layer->ops->step       = MuonLayerStep_AdamW;
  layer->ops->commit     = MuonLayerCommit_AdamW;
  layer->ops->visitstate = MuonLayerVisitState_AdamW;
  layer->ops->reset      = MuonLayerReset_AdamW;
  layer->ops->destroy    = MuonLayerDestroy_AdamW;
  PetscFunctionReturn(PETSC_SUCCESS);
}
