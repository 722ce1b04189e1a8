#include <petscmuon/private/muonlayerimpl.h> /*I "petscmuonlayer.h" I*/

typedef struct {
  PetscReal  beta1, beta2, epsilon;
  int        nesterov;
  int        parts;     /* of a complex layer: SPLIT where real and imaginary parts have squares of their own */
  PetscInt64 steps;     /* committed steps of this layer: the powers of the betas */
  MuonArray  moment[4]; /* in the precision in which the layer keeps them: two, and their values after the commit */
} MuonLayer_AdamW;

static const char *const Moments[] = {"adamw.mean", "adamw.square", "adamw.newmean", "adamw.newsquare"};

enum {
  MODULUS,
  SPLIT
};
static const char *const Parts[] = {"modulus", "split", "MuonAdamWComplex", "MUON_ADAMW_", NULL};

#define FLAGS                               (MUON_PARAMETER_DATA | MUON_PARAMETER_PARENT)
#define ROW(field, value, most, flag, help) MUON_ROW("adamw_" #field, REAL, MuonLayer_AdamW, field, value, 0, most, NULL, FLAGS | (flag), help)

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

/* Of the mean, or of the mean of squares */
static MuonPrecision MuonLayerAdamWKeeps_Private(MuonLayer layer, int k, MuonPrecision precision)
{
  return layer->state.kept <= MUON_DOUBLE ? precision : layer->state.kept == MUON_INT8 && k % 2 == 1 ? MUON_QUARTIC8 : layer->state.kept;
}

/* New moments, and weights from X; finite: 1 where all are. Of packed moments a tile is unpacked at a time */
static PetscErrorCode MuonLayerAdamWRun_Private(MuonLayer layer, const MuonLayer_AdamW *adamw, const MuonLayerStepInfo *info, const MuonArray *G, double c1, double c2, double rate, double keep, const MuonArray *X, const MuonArray *Xnew, int *finite)
{
  const PetscBool packs = MuonArrayIsPacked(&adamw->moment[0]) ? PETSC_TRUE : PETSC_FALSE;
  const size_t    m = MuonArrayRows(G), n = MuonArrayColumns(G), rows = packs ? MUON_PACKED_BLOCK : m, columns = packs ? MUON_PACKED_BLOCK : n;
  MuonStateForm   form = layer->state;
  MuonArray       tile[4];
  MuonMark        mark;

  PetscFunctionBegin;
  *finite          = 1;
  form.stream.step = (uint32_t)info->step;
  PetscCall(MuonWorkspaceMark(layer->work, &mark));
  for (int k = 0; k < 4; k++) {
    const MuonArray most = MuonArrayPart(G, 0, 0, PetscMin(m, rows), PetscMin(n, columns));

    tile[k] = adamw->moment[k];
    if (packs) PetscCall(MuonWorkspaceGetArray(layer->work, &most, G->precision, &tile[k]));
  }
  for (size_t j = 0; j < n; j += columns) {
    for (size_t i = 0; i < m; i += rows) {
      const size_t    some = PetscMin(m - i, rows), wide = PetscMin(n - j, columns);
      const MuonArray g = MuonArrayPart(G, i, j, some, wide), x = MuonArrayPart(X, i, j, some, wide), y = MuonArrayPart(Xnew, i, j, some, wide);

      for (int k = 0; k < 4 && packs; k++) tile[k] = MuonArrayLike(&g, g.precision, tile[k].data);
      for (int k = 0; k < 2 && packs; k++) MuonPackedGet(&adamw->moment[k], i, j, &tile[k]);
      *finite &= MuonArrayKernels(G)->AdamW(g.len, g.count, g.data, g.ld, adamw->beta1, adamw->beta2, adamw->epsilon, adamw->nesterov, c1, c2, rate, keep, tile[0].data, tile[1].data, x.data, x.ld, tile[2].data, tile[3].data, y.data, y.ld);
      for (int k = 0; k < 2 && packs; k++) {
        form.stream.direction = (uint32_t)k;
        *finite &= MuonPackedSet(&form, &tile[k + 2], i, j, &adamw->moment[k + 2]);
      }
    }
  }
  PetscCall(MuonWorkspaceRelease(layer->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Both parts of a number of H are the modulus of that of G. The mean of their squares, which a step of H makes, takes the place of the
   old mean in a step of G that changes it no more
*/
static PetscErrorCode MuonLayerAdamWModuli_Private(MuonLayer layer, const MuonLayerStepInfo *info, const MuonArray *G, double c1, double c2)
{
  MuonLayer_AdamW adamw = *(MuonLayer_AdamW *)layer->data;
  MuonArray       R     = MuonArrayOfNumbers(G), H;
  int             finite;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGet(layer->work, MuonArrayBytes(&R), &R.data));
  PetscCall(MuonWorkspaceGetArray(layer->work, G, G->precision, &H));
  PetscCall(MuonWorkspaceGetArray(layer->work, G, G->precision, &adamw.moment[2])); /* no mean of moduli is kept */
  MuonArrayModuli(G, &R);
  for (size_t k = 0; k < MuonArrayEntries(&H); k++) {
    if (H.precision == MUON_SINGLE) ((float *)H.data)[k] = (float)((double *)R.data)[k / 2];
    else ((double *)H.data)[k] = ((double *)R.data)[k / 2];
  }
  PetscCall(MuonLayerAdamWRun_Private(layer, &adamw, info, &H, c1, c2, 0, 0, &H, &H, &finite));
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
    if (adamw->moment[k].data == NULL) PetscCall(MuonArrayCreate(G, MuonLayerAdamWKeeps_Private(layer, k, G->precision), &adamw->moment[k]));
  }
  given = *adamw;
  if (G->pairs && adamw->parts == MODULUS) {
    PetscCall(MuonLayerAdamWModuli_Private(layer, info, G, c1, c2));
    given.moment[1] = adamw->moment[3];
    given.beta2     = 1;
  }
  /*
     Weights of another precision, and weights with decay both here and there, are updated by the result of a step from zero
  */
  if (same == PETSC_FALSE || info->measure) PetscCall(MuonWorkspaceGetArray(layer->work, G, G->precision, &to));
  if (info->measure) {
    PetscCall(MuonLayerAdamWRun_Private(layer, &given, info, G, c1, c2, 1, 0, G, &to, &finite));
    info->squares = MuonLayerSumSquares(&to);
  }
  if (same) to = *Xnew;
  PetscCall(MuonLayerAdamWRun_Private(layer, &given, info, G, c1, c2, info->rate, whole ? 1 - info->rate * info->decay : 0, whole ? X : G, &to, &finite));
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
    const PetscBool made = adamw->moment[k].data == NULL && k < 2 && visitor->make != NULL && MuonLayerIsServed(layer) ? PETSC_TRUE : PETSC_FALSE;

    if (made) PetscCall((*visitor->make)(visitor, Moments[k], PETSC_TRUE, &adamw->moment[k]));
    if (made && adamw->moment[k].data != NULL && layer->state.kept > MUON_DOUBLE) {
      const MuonArray shape = adamw->moment[k];

      PetscCall(MuonArrayDestroy(&adamw->moment[k]));
      PetscCall(MuonArrayCreate(&shape, MuonLayerAdamWKeeps_Private(layer, k, shape.precision), &adamw->moment[k]));
    }
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

/*MC
  MUONLAYERADAMW - Updates a layer by AdamW

  Options Database Keys:
+ -muon_layer_NAME_adamw_beta1 beta1     - decay of the mean of gradients, by default that of `MuonSetAdamW()`
. -muon_layer_NAME_adamw_beta2 beta2     - decay of the mean of squares, likewise
. -muon_layer_NAME_adamw_epsilon epsilon - added to the root of the mean of squares, likewise
- -muon_layer_NAME_adamw_complex what    - mean of squares of a complex layer (modulus|split), modulus by default; without NAME_ of all layers

  Level: intermediate

  Notes:
  In step t = 1, 2, ... m becomes b1 m + (1-b1) G, v becomes b2 v + (1-b2) G^2, X becomes (1 - rate decay) X - rate
  (m/(1-b1^t)) / (sqrt(v/(1-b2^t)) + epsilon); rate is learning rate x schedule. Scale and shape factor of the
  layer apply to norm balls only.

  The learning rate is that of `-muon_adamw_learning_rate`, 1e-3 by default, independent of `-muon_learning_rate`.

  For a complex layer with modulus, G^2 is |G|^2, so that a step does not depend on the phase of the weights. With split, real and
  imaginary parts are independent numbers, as in PyTorch.

  The layer's owner keeps the moments, in the precision of the optimizer's state (`MuonStatePrecision`). Parameters take
  effect at the next step.

.seealso: `MuonLayer`, `MuonLayerSetType()`, `MuonLayerType`, `MUONLAYERNADAMW`
M*/

/*MC
  MUONLAYERNADAMW - Updates a layer by AdamW with Nesterov momentum, as the Muon entries to AlgoPerf do

  Level: intermediate

  Note:
  As `MUONLAYERADAMW` with the numerator (b1 m + (1-b1) G)/(1-b1^t), m the updated moment.

.seealso: `MuonLayer`, `MuonLayerSetType()`, `MuonLayerType`, `MUONLAYERADAMW`
M*/
PETSC_EXTERN PetscErrorCode MuonLayerCreate_AdamW(MuonLayer layer)
{
  MuonLayer_AdamW *adamw;

  PetscFunctionBegin;
  PetscCall(PetscNew(&adamw));
  adamw->nesterov           = strcmp(((PetscObject)layer)->type_name, MUONLAYERNADAMW) == 0;
  layer->flops              = 16;
  layer->data               = adamw;
  layer->parameters.variant = "adamw_";
  layer->ops->step          = MuonLayerStep_AdamW;
  layer->ops->commit        = MuonLayerCommit_AdamW;
  layer->ops->visitstate    = MuonLayerVisitState_AdamW;
  layer->ops->reset         = MuonLayerReset_AdamW;
  PetscFunctionReturn(PETSC_SUCCESS);
}
