#include "muonstep.h" /*I "petscmuon.h" I*/

/*
   On every rank: the first failure and its place. Gradients that are not finite come before the failures that they caused on
   other ranks
*/
static PetscErrorCode MuonFindFailed_Private(Muon muon, const MuonRecord *record, MuonStatus worst)
{
  const char *const whats[] = {"", "the step of", "a message of", "the LMO of"};
  enum {
    NOWHERE,
    LOSS,
    LAYERS
  };
  const PetscInt64 places = LAYERS + muon->nactive, none = (PetscInt64)1 << 62;
  PetscInt64       at = record->status == (double)worst ? 1 + (PetscInt64)muon->failed.at : -1, place = NOWHERE, first;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < muon->nactive; l++) {
    if (muon->active[l] == muon->failed.layer) place = LAYERS + l;
  }
  for (PetscInt l = 0; l < muon->nactive && worst == MUON_STATUS_NANORINF && muon->nan != MUON_NAN_ZERO && at != 0; l++) {
    MuonArray G;
    PetscBool ours;

    PetscCall(MuonLayerGetGradientMemory(muon->active[l], &G, &ours));
    if (G.data != NULL && MuonArrayIsFinite(&G) == 0) {
      at    = 0;
      place = LAYERS + l;
    }
    PetscCall(MuonLayerRestoreGradientMemory(muon->active[l], &G));
  }
  if (worst == MUON_STATUS_NANORINF && PetscIsInfOrNanReal((PetscReal)record->loss)) {
    at    = 0;
    place = LOSS;
  }
  first = at < 0 ? none : (at * muon->size + muon->rank) * places + place;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPIU_INT64, MPI_MIN, PetscObjectComm((PetscObject)muon)));
  muon->bytes[0] += sizeof(first);
  if (first == none) PetscFunctionReturn(PETSC_SUCCESS);
  if (worst == MUON_STATUS_LMO || (worst == MUON_STATUS_NANORINF && first / places >= muon->size)) muon->rounds->pending = -1; /* no gradient of this step is to blame, and the round would fail again */
  place              = first % places;
  muon->failed.rank  = (PetscMPIInt)(first / places % muon->size);
  muon->failed.layer = place < LAYERS ? NULL : muon->active[place - LAYERS];
  muon->failed.what  = place == LOSS ? "the loss" : first / places < muon->size ? "the gradient of" : whats[worst];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonDescribeReason_Private(Muon muon, size_t length, char text[])
{
  char layer[PETSC_MAX_OPTION_NAME] = "";

  PetscFunctionBegin;
  text[0] = '\0';
  if (muon->failed.layer != NULL) PetscCall(PetscSNPrintf(layer, sizeof(layer), " layer \"%s\"", ((PetscObject)muon->failed.layer)->name));
  if (muon->failed.rank >= 0) PetscCall(PetscSNPrintf(text, length, " (%s%s on rank %d)", muon->failed.what, layer, muon->failed.rank));
  else if (muon->failed.what != NULL && layer[0] != '\0') PetscCall(PetscSNPrintf(text, length, " (%s has %s)", layer + 1, muon->failed.what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What all ranks know of a step */
typedef struct {
  MuonStatus  worst;
  double      nans;
  PetscMPIInt failed; /* the first rank whose routine failed, and its error */
  int         error;
  PetscMPIInt missing; /* the first rank without a gradient of a layer, and the layer */
  PetscInt    layer;
  PetscMPIInt twice; /* the first rank with a gradient that was ready twice, and the layer */
  PetscInt    again;
  PetscBool   gradient;                          /* some rank has one */
  PetscBool   replicas, alike, measure, options; /* are the same where they should be */
} MuonOutcome;

/*
   A corrupt message at one rank explains what failed at others, so it comes first; NaN before a failed
   factorization for the same reason
*/
static MuonStatus MuonWorseStatus_Private(MuonStatus one, MuonStatus other)
{
  return other != MUON_STATUS_OK && (one == MUON_STATUS_OK || other == MUON_STATUS_CORRUPT || (other == MUON_STATUS_NANORINF && one == MUON_STATUS_LMO)) ? other : one;
}

/*
   The checksums of rank r, to be compared with the first rank with the same rows, of the same position in a worker. Layers with
   only their state in rows have all weights on every rank
*/
static void MuonCompareReplicas_Private(Muon muon, PetscMPIInt r, PetscInt count, const double all[], MuonOutcome *outcome)
{
  for (PetscInt g = 0; g < muon->ngroups; g++) {
    const MuonGroup    group    = muon->group[g];
    const PetscMPIInt *position = group->grid->position_of;
    const double      *own      = all + (size_t)count * (size_t)r + MUON_RECORD_COUNT + 2 * g, *first;
    PetscMPIInt        t        = 0;

    while (position[t] != position[r]) t++;
    first = all + (size_t)count * (size_t)t + MUON_RECORD_COUNT + 2 * g;
    if (own[0] != first[0]) outcome->replicas = PETSC_FALSE;
    if (group->nshards > 0 && group->shard[0].port->whole) first = all + MUON_RECORD_COUNT + 2 * g;
    if (own[1] != first[1]) outcome->alike = PETSC_FALSE;
  }
}

/*
   The one call in which a step succeeds or fails everywhere. Sums run in the order of ranks, so that every rank gets the same
   bits. If every rank owns the layers, checksums of the new weights are compared: ranks with different arithmetic would diverge
   silently. Checksums of addons are compared, too.
*/
static PetscErrorCode MuonGatherStatus_Private(Muon muon, const MuonRecord *record, MuonOutcome *outcome)
{
  const PetscInt count = MUON_RECORD_COUNT + 2 * muon->ngroups;
  double        *mine, *all;
  PetscReal      loss = 0, dual = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(count, &mine, (size_t)count * (size_t)muon->size, &all));
  PetscCall(PetscMemcpy(mine, record, sizeof(*record)));
  for (PetscInt g = 0; g < muon->ngroups; g++) {
    mine[MUON_RECORD_COUNT + 2 * g]     = (double)muon->group[g]->replica;
    mine[MUON_RECORD_COUNT + 2 * g + 1] = (double)muon->group[g]->alike;
  }
  PetscCall(MuonExchangeGatherRecords(muon->exchange, count, mine, all));
  outcome->worst    = MUON_STATUS_OK;
  outcome->gradient = muon->step > 0 ? PETSC_TRUE : PETSC_FALSE;
  outcome->missing = outcome->twice = outcome->failed = -1;
  outcome->replicas = outcome->alike = outcome->measure = outcome->options = PETSC_TRUE;
  muon->save                                                               = PETSC_FALSE;
  muon->mean[0] = muon->mean[1] = 0;
  muon->score                   = -1;
  for (PetscInt g = 0; g < muon->ngroups; g++) muon->score = muon->group[g]->ops->score != NULL ? 0 : muon->score;
  for (PetscMPIInt r = 0; r < muon->size; r++) {
    const MuonRecord *one = (const MuonRecord *)(all + (size_t)count * (size_t)r), *first = (const MuonRecord *)all;

    if (one->status < 0 && outcome->failed < 0) {
      outcome->failed = r;
      outcome->error  = -(int)one->status;
    }
    outcome->worst = MuonWorseStatus_Private(outcome->worst, one->status < 0 ? MUON_STATUS_OK : (MuonStatus)(int)one->status);
    outcome->nans += one->nans;
    loss += (PetscReal)(one->loss * (muon->weights != NULL ? muon->weights[r] : 1));
    dual += (PetscReal)one->dual;
    if (muon->score >= 0) muon->score += (PetscReal)one->score;
    muon->mean[0] += one->up / muon->size;
    muon->mean[1] += one->down / muon->size;
    if (one->options != first->options) outcome->options = PETSC_FALSE;
    if (one->measure != first->measure) outcome->measure = PETSC_FALSE;
    if (one->missing >= 0) outcome->gradient = PETSC_TRUE;
    if (one->missing < muon->nactive && outcome->missing < 0) outcome->missing = r;
    if (outcome->missing == r) outcome->layer = PetscMax((PetscInt)one->missing, 0);
    if (one->missing > muon->nactive && outcome->twice < 0) {
      outcome->twice = r;
      outcome->again = (PetscInt)one->missing - muon->nactive - 1;
    }
    if (one->save != 0) muon->save = PETSC_TRUE;
    MuonCompareReplicas_Private(muon, r, count, all, outcome);
  }
  PetscCall(PetscFree2(mine, all));
  muon->loss = loss / (PetscReal)muon->size;
  if (outcome->worst == MUON_STATUS_OK && PetscIsInfOrNanReal(muon->loss)) outcome->worst = MUON_STATUS_NANORINF;
  muon->dual = outcome->worst == MUON_STATUS_OK ? dual : 0; /* ranks that heard of a failure skipped theirs */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonReduceStatus_Private(Muon muon, const MuonRecord *record, PetscBool *ok, PetscBool *differs)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)muon);
  MuonOutcome    outcome;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&outcome, sizeof(outcome)));
  PetscCall(MuonGatherStatus_Private(muon, record, &outcome));
  *ok = *differs = PETSC_FALSE;
  if (record->status < 0) PetscFunctionReturn(PETSC_SUCCESS); /* this rank raises its own error */
  PetscCheck(outcome.failed < 0, PETSC_COMM_SELF, (PetscErrorCode)outcome.error, "Step %" PetscInt_FMT ": the routine of MuonSetObjectiveAndGradient() failed on rank %d with the error %d, which is one of all ranks", muon->step, outcome.failed,
             outcome.error);
  /* In the first step, which would be one of nothing */
  PetscCheck(outcome.gradient || muon->objective != NULL, comm, PETSC_ERR_ORDER, "There is no gradient: call MuonSetObjectiveAndGradient(), or fill MuonLayerGetGradient() of the layers before MuonStep()");
  PetscCheck(outcome.gradient, comm, PETSC_ERR_USER, "No layer got a gradient: the routine of MuonSetObjectiveAndGradient() must call MuonLayerGetGradient() for each, in Python the program set_gradient()");
  PetscCheck(muon->step == 0 || outcome.missing < 0, comm, PETSC_ERR_USER,
             "Step %" PetscInt_FMT ": layer \"%s\" got no gradient on rank %d; each step must fill MuonLayerGetGradient() of every layer, and MuonLayerSetGradient() with NULL says that there is none", muon->step,
             ((PetscObject)muon->active[outcome.layer])->name, outcome.missing);
  PetscCheck(outcome.twice < 0, comm, PETSC_ERR_ORDER, "Step %" PetscInt_FMT ": MuonLayerGradientReady() was called twice for layer \"%s\" on rank %d, expected one call in a step, when its gradient is there", muon->step,
             ((PetscObject)muon->active[outcome.again])->name, outcome.twice);
  PetscCheck(outcome.measure, comm, PETSC_ERR_ARG_INCOMP, "Step %" PetscInt_FMT ": some ranks measure what it does to the layers and others do not; what is measured, -muon_monitor_interval and -muon_max_steps must be the same on each", muon->step);
  *differs = outcome.options ? PETSC_FALSE : PETSC_TRUE;
  if (*differs) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt g = 0; g < muon->ngroups; g++) {
    if (muon->group[g]->ops->check != NULL) PetscCall((*muon->group[g]->ops->check)(muon, muon->group[g]));
  }
  if (outcome.alike == PETSC_FALSE && outcome.worst != MUON_STATUS_CORRUPT) {
    MuonTryAddons(muon, differ, muon); /* which explains what failed */
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(outcome.worst != MUON_STATUS_OK || outcome.replicas, comm, PETSC_ERR_PLIB,
             "Step %" PetscInt_FMT ": ranks that are to compute the same weights computed different ones; where processors or libraries differ use -muon_exchange_type star or layerwise, and weights as messages, not steps", muon->step);
  *ok = outcome.worst == MUON_STATUS_OK ? PETSC_TRUE : PETSC_FALSE;
  if (*ok) muon->nancount += (PetscInt64)outcome.nans;
  else PetscCall(MuonFindFailed_Private(muon, record, outcome.worst));
  if (outcome.worst == MUON_STATUS_NANORINF) muon->reason = MUON_DIVERGED_NANORINF;
  else if (outcome.worst == MUON_STATUS_CORRUPT) muon->reason = MUON_DIVERGED_CORRUPT;
  else if (outcome.worst == MUON_STATUS_LMO) muon->reason = MUON_DIVERGED_LMO;
  PetscFunctionReturn(PETSC_SUCCESS);
}
