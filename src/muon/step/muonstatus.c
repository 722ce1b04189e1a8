#include <petscmuon/private/muonimpl.h> /*I "petscmuon.h" I*/

/*
   On every rank: what failed first, and where. Who has no gradient that is a number is told before those that
   its messages made fail
*/
static PetscErrorCode MuonFindFailed_Private(Muon muon, const MuonRecord *record, MuonStatus worst)
{
  const char *const whats[] = {"", "the step of", "a message of", "the oracle of"};
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
  muon->group[0]->bytes += sizeof(first);
  if (first == none) PetscFunctionReturn(PETSC_SUCCESS);
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
  if (muon->drifted != NULL) PetscCall(PetscSNPrintf(text, length, " (layer \"%s\" has other weights on some ranks)", ((PetscObject)muon->drifted)->name));
  if (muon->drifted != NULL || muon->failed.rank < 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (muon->failed.layer != NULL) PetscCall(PetscSNPrintf(layer, sizeof(layer), " layer \"%s\"", ((PetscObject)muon->failed.layer)->name));
  PetscCall(PetscSNPrintf(text, length, " (%s%s on rank %d)", muon->failed.what, layer, muon->failed.rank));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The one call in which a step succeeds or fails everywhere. Sums run in the order of ranks, so that every
   rank has the same bits. Where each rank owns, the checksums of what they are about to apply are compared:
   ranks whose arithmetic differs would drift apart unseen. So are those of weights that several ranks have.
*/
PetscErrorCode MuonReduceStatus_Private(Muon muon, MuonRecord *record, PetscBool *ok)
{
  const PetscInt count = MUON_RECORD_COUNT + 2 * muon->ngroups;
  double        *mine, *theirs;
  MuonStatus     worst = MUON_STATUS_OK;
  PetscReal      loss = 0, dual = 0;
  double         nans    = 0;
  PetscMPIInt    missing = -1, twice = -1;
  PetscInt       naked = 0, again = 0;
  PetscBool      same = PETSC_TRUE, together = PETSC_TRUE, chosen = PETSC_TRUE, drifted = PETSC_FALSE, asked = muon->step > 0 ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(count, &mine, (size_t)count * (size_t)muon->size, &theirs));
  PetscCall(MuonCheckpointAsked_Private(muon, &record->save));
  muon->save = PETSC_FALSE;
  PetscCall(PetscMemcpy(mine, record, sizeof(*record)));
  for (PetscInt g = 0; g < muon->ngroups; g++) {
    mine[MUON_RECORD_COUNT + 2 * g]     = (double)muon->group[g]->replica;
    mine[MUON_RECORD_COUNT + 2 * g + 1] = (double)muon->group[g]->weights;
  }
  PetscCall(MuonExchangeGatherRecords(muon->exchange, count, mine, theirs));
  muon->meanup = muon->meandown = 0;
  muon->agreement               = -1;
  for (PetscInt g = 0; g < muon->ngroups; g++) muon->agreement = muon->group[g]->votes != NULL ? 0 : muon->agreement;
  for (PetscMPIInt r = 0; r < muon->size; r++) {
    const double     *one   = theirs + (size_t)count * (size_t)r;
    const MuonRecord *other = (const MuonRecord *)one, *first = (const MuonRecord *)theirs;
    const MuonStatus  status = (MuonStatus)(int)other->status;

    /*
       A corrupt message at one rank explains what failed at others, so it comes first; NaN before a failed
       factorization for the same reason
    */
    if (status != MUON_STATUS_OK && (worst == MUON_STATUS_OK || status == MUON_STATUS_CORRUPT || (status == MUON_STATUS_NANORINF && worst == MUON_STATUS_LMO))) worst = status;
    loss += (PetscReal)(other->loss * (muon->weights != NULL ? muon->weights[r] : 1));
    dual += (PetscReal)other->dual;
    nans += other->nans;
    if (muon->agreement >= 0) muon->agreement += (PetscReal)other->votes;
    muon->meanup += other->up / muon->size;
    muon->meandown += other->down / muon->size;
    if (other->choices != first->choices) chosen = PETSC_FALSE;
    if (other->measure != first->measure) together = PETSC_FALSE;
    if (other->asked >= 0) asked = PETSC_TRUE;
    if (other->asked < muon->nactive && missing < 0) missing = r;
    if (missing == r) naked = PetscMax((PetscInt)other->asked, 0);
    if (other->asked > muon->nactive && twice < 0) {
      twice = r;
      again = (PetscInt)other->asked - muon->nactive - 1;
    }
    if (other->save != 0) muon->save = PETSC_TRUE;
    /*
       Of ranks at one position in their workers, those that follow are compared with this one. Weights of
       layers that are cut are whole on every rank
    */
    for (PetscInt g = 0; g < muon->ngroups; g++) {
      const MuonGroup    group    = muon->group[g];
      const PetscMPIInt *position = group->grid->position_of;
      const PetscInt     at       = MUON_RECORD_COUNT + 2 * g;
      const double      *twin;
      PetscMPIInt        t = 0;

      while (position[t] != position[r]) t++;
      twin = theirs + (size_t)count * (size_t)t;
      if (one[at] != twin[at]) same = PETSC_FALSE;
      if (group->nshards > 0 && group->shard[0].cut) twin = theirs;
      if (one[at + 1] != twin[at + 1]) drifted = PETSC_TRUE;
    }
  }
  PetscCall(PetscFree2(mine, theirs));
  muon->loss = loss / (PetscReal)muon->size;
  muon->dual = dual;
  if (worst == MUON_STATUS_OK && PetscIsInfOrNanReal(muon->loss)) worst = MUON_STATUS_NANORINF;
  /* In the first step, which would be one of nothing */
  PetscCheck(asked || muon->objective != NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER, "There is no gradient: call MuonSetObjectiveAndGradient(), or fill MuonLayerGetGradient() of the layers before MuonStep()");
  PetscCheck(asked, PetscObjectComm((PetscObject)muon), PETSC_ERR_USER, "No layer got a gradient: the routine of MuonSetObjectiveAndGradient() must call MuonLayerGetGradient() for each, in Python the program set_gradient()");
  PetscCheck(muon->step == 0 || missing < 0, PetscObjectComm((PetscObject)muon), PETSC_ERR_USER,
             "Step %" PetscInt_FMT ": layer \"%s\" got no gradient on rank %d; each step must fill MuonLayerGetGradient() of every layer, and MuonLayerSetGradient() with NULL says that there is none", muon->step,
             ((PetscObject)muon->active[naked])->name, missing);
  PetscCheck(twice < 0, PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER,
             "Step %" PetscInt_FMT ": MuonLayerGradientReady() was called twice for layer \"%s\" on rank %d, expected one call in a step, when its gradient is there", muon->step, ((PetscObject)muon->active[again])->name, twice);
  PetscCheck(together, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_INCOMP,
             "Step %" PetscInt_FMT ": some ranks measure what it does to the layers and others do not; what is measured, -muon_monitor_interval and -muon_max_steps must be the same on each", muon->step);
  if (chosen == PETSC_FALSE) {
    char what[512];

    PetscCall(MuonFindChoice_Private(muon, sizeof(what), what));
    SETERRQ(PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_INCOMP,
            "Step %" PetscInt_FMT ": what was chosen of the optimizer, a layer, an oracle or a compressor differs between the ranks since the last step: %s; each setter must be called with the same values on every rank", muon->step, what);
  }
  PetscCall(MuonCheckSchedule_Private(muon));
  PetscCall(MuonVotesCheck_Private(muon));
  *ok = PETSC_FALSE;
  if (drifted && worst != MUON_STATUS_CORRUPT) {
    /* Weights that differ explain what failed */
    muon->reason = MUON_DIVERGED_WEIGHTS;
    PetscCall(MuonFindDrifted_Private(muon, muon->step % MUON_LAYER_SLICES, &muon->drifted));
    PetscCall(PetscInfo(muon, "Layer \"%s\": its weights differ between the ranks before step %" PetscInt_FMT "\n", muon->drifted != NULL ? ((PetscObject)muon->drifted)->name : "", muon->step));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(worst != MUON_STATUS_OK || same, PetscObjectComm((PetscObject)muon), PETSC_ERR_PLIB,
             "Step %" PetscInt_FMT ": ranks that are to compute the same weights computed different ones; where processors or libraries differ use -muon_exchange_type star or layerwise, and no -ef21_downlink step", muon->step);
  *ok = worst == MUON_STATUS_OK ? PETSC_TRUE : PETSC_FALSE;
  if (worst != MUON_STATUS_OK) PetscCall(MuonFindFailed_Private(muon, record, worst));
  switch (worst) {
  case MUON_STATUS_NANORINF:
    muon->reason = MUON_DIVERGED_NANORINF;
    break;
  case MUON_STATUS_CORRUPT:
    muon->reason = MUON_DIVERGED_CORRUPT;
    break;
  case MUON_STATUS_LMO:
    muon->reason = MUON_DIVERGED_LMO;
    break;
  case MUON_STATUS_OK:
    muon->nancount += (PetscInt64)nans;
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
