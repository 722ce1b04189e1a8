#include "../../interface/muoninterface.h"

/*
   EMA-Nesterov: gradients are taken at y = x + beta d, with d a mean of the steps' displacements. Weights hold y between
   two steps, on all ranks, and d is the same on all of them. Before the commit d becomes gamma d - (1 - gamma) x, for which
   y is still there, and after it gets (1 - gamma) x+: no other array is needed.
*/

typedef struct {
  MuonArray d;
  double    ahead; /* what of d is in the weights as they are */
} MuonLookAheadLayer;

typedef struct {
  PetscReal           beta, gamma;
  double              next;  /* what of d will be in the weights after this step */
  PetscBool           moved; /* it is not yet */
  PetscInt            count;
  MuonLookAheadLayer *layer; /* that are active, none where there is no look-ahead */
} MuonLookAhead;

static inline MuonLookAhead *MuonLookAheadOf(Muon muon)
{
  return (MuonLookAhead *)MuonAddonData(muon, "lookahead");
}

static PetscErrorCode MuonLookAheadReset_Private(Muon muon)
{
  MuonLookAhead *look = MuonLookAheadOf(muon);

  PetscFunctionBegin;
  for (PetscInt l = 0; l < look->count; l++) PetscCall(MuonArrayDestroy(&look->layer[l].d));
  PetscCall(PetscFree(look->layer));
  look->count = 0;
  look->moved = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLookAheadConfigure_Private(Muon muon)
{
  const MuonLookAhead *look = MuonLookAheadOf(muon);
  PetscBool            free = PETSC_TRUE;

  PetscFunctionBegin;
  if (look->beta == 0) PetscFunctionReturn(PETSC_SUCCESS);
  MuonTryAddons(muon, schedule, muon, &free);
  PetscCheck(free, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP, "-%smuon_lookahead %g: step sizes follow from a theorem, which knows of no look-ahead, expected 0", MuonPrefix(muon), (double)look->beta);
  PetscCheck(muon->nested == NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP, "-%smuon_lookahead %g: with -%smuon_type %s weights are a worker's own, expected 0, or -%souter_muon_lookahead", MuonPrefix(muon), (double)look->beta,
             MuonPrefix(muon), ((PetscObject)muon)->type_name, MuonPrefix(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLookAheadSetUp_Private(Muon muon)
{
  MuonLookAhead *look = MuonLookAheadOf(muon);

  PetscFunctionBegin;
  PetscCall(MuonLookAheadReset_Private(muon));
  if (look->beta == 0 || look->gamma == 1) PetscFunctionReturn(PETSC_SUCCESS); /* d would stay 0 */
  PetscCall(PetscCalloc1(muon->nactive, &look->layer));
  look->count = muon->nactive;
  for (PetscInt l = 0; l < look->count; l++) PetscCall(MuonArrayCreate(&muon->active[l]->shape, muon->active[l]->shape.precision, &look->layer[l].d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* d = a W + b d of layers that move in this step */
static PetscErrorCode MuonLookAheadMix_Private(Muon muon, PetscBool committed)
{
  const MuonLookAhead *look  = MuonLookAheadOf(muon);
  const double         gamma = (double)look->gamma;
  MuonArray            W;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < look->count; l++) {
    MuonLookAheadLayer *layer = &look->layer[l];

    if (MuonGroupRests(MuonShardOf(muon->active[l])->group)) continue;
    PetscCall(MuonLayerGetWeightsMemory(muon->active[l], PETSC_FALSE, &W));
    if (committed) MuonArrayAxpby(1 - gamma, &W, 1, &layer->d);
    else MuonArrayAxpby(gamma - 1, &W, gamma + (1 - gamma) * layer->ahead, &layer->d);
    PetscCall(MuonLayerRestoreWeightsMemory(muon->active[l], PETSC_FALSE, &W));
    layer->ahead = 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLookAheadCommitting_Private(Muon muon, PetscBool *ok)
{
  MuonLookAhead *look = MuonLookAheadOf(muon);
  PetscReal      factor;

  PetscFunctionBegin;
  if (*ok == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonGetScheduleFactor_Private(muon, &factor));
  look->next = (double)(look->beta * factor);
  PetscCall(MuonLookAheadMix_Private(muon, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLookAheadEnd_Private(Muon muon, PetscBool ok)
{
  PetscFunctionBegin;
  if (ok == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLookAheadMix_Private(muon, PETSC_TRUE));
  MuonLookAheadOf(muon)->moved = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After the program's and validation's use of x. The difference between a server's own weights and the others does not change */
static PetscErrorCode MuonLookAheadCounted_Private(Muon muon, PetscInt step)
{
  MuonLookAhead *look = MuonLookAheadOf(muon);

  PetscFunctionBegin;
  if (look->moved == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt l = 0; l < look->count; l++) {
    const MuonShard    *shard = MuonShardOf(muon->active[l]);
    MuonLookAheadLayer *layer = &look->layer[l];
    MuonArray           W, X;

    if (MuonGroupRests(shard->group)) continue;
    PetscCall(MuonGetAllWeights_Private(shard->layer, &W, &X));
    MuonArrayAxpby(look->next, &layer->d, 1, &W);
    if (X.data != NULL) {
      const MuonArray d = MuonShardPart(shard, &layer->d);

      MuonArrayAxpby(look->next, &d, 1, &X);
    }
    PetscCall(MuonLayerRestoreWeightsMemory(shard->layer, PETSC_TRUE, &W));
    layer->ahead = look->next;
  }
  look->moved = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What was saved without look-ahead is that of d = 0 */
static PetscErrorCode MuonLookAheadVisitState_Private(Muon muon, MuonStateVisitor *visitor)
{
  MuonLookAhead *look = MuonLookAheadOf(muon);

  PetscFunctionBegin;
  visitor->holder = MUON_STATE_EVERYONE;
  visitor->late   = PETSC_TRUE;
  for (PetscInt l = 0; l < look->count; l++) {
    visitor->layer = ((PetscObject)muon->active[l])->name;
    PetscCall(MuonStateVisitArray(visitor, "weights.lookahead", PETSC_TRUE, PETSC_FALSE, &look->layer[l].d));
    PetscCall(MuonStateVisitBytes(visitor, "lookahead.ahead", sizeof(double), &look->layer[l].ahead));
  }
  visitor->late = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const MuonParameter MuonLookAheadParameters[] = {
  {"lookahead", MUON_PARAMETER_REAL, offsetof(MuonLookAhead, beta), 0, 0, MUON_UNBOUNDED, NULL, MUON_PARAMETER_DATA | MUON_PARAMETER_FIXED, "How far gradients are taken ahead of the weights, in mean steps; times the schedule"},
  {"lookahead_gamma", MUON_PARAMETER_REAL, offsetof(MuonLookAhead, gamma), 0.99, 0, 1, NULL, MUON_PARAMETER_DATA | MUON_PARAMETER_FIXED, "Weight of the old mean of the steps in the look-ahead"},
  {NULL, MUON_PARAMETER_REAL, 0, 0, 0, 0, NULL, 0, NULL}};

PETSC_INTERN PetscErrorCode MuonAddonRegister_LookAhead(void)
{
  MuonAddonOps ops = {0};

  PetscFunctionBegin;
  ops.rows       = MuonLookAheadParameters;
  ops.size       = sizeof(MuonLookAhead);
  ops.configure  = MuonLookAheadConfigure_Private;
  ops.setup      = MuonLookAheadSetUp_Private;
  ops.committing = MuonLookAheadCommitting_Private;
  ops.end        = MuonLookAheadEnd_Private;
  ops.counted    = MuonLookAheadCounted_Private;
  ops.visitstate = MuonLookAheadVisitState_Private;
  ops.reset      = MuonLookAheadReset_Private;
  PetscCall(MuonAddonRegister("lookahead", &ops));
  PetscFunctionReturn(PETSC_SUCCESS);
}
