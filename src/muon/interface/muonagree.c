#include <petscmuon/private/muonimpl.h> /*I "petscmuon.h" I*/

/*
   The one call in which a step succeeds or fails everywhere. Sums run in the order of ranks, so that every rank has the same bits. Where each rank serves, the checksums of
   what they are about to apply are compared: ranks whose arithmetic differs would drift apart unseen.
*/
PetscErrorCode MuonAgree_Private(Muon muon, MuonRecord *record, PetscBool *ok)
{
  MuonRecord *all;
  MuonStatus  worst = MUON_STATUS_OK;
  PetscReal   loss = 0, dual = 0;
  double      nans = 0;
  PetscBool   intact, same = PETSC_TRUE, together = PETSC_TRUE, chosen = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(muon->size, &all));
  PetscCall(MuonExchangeAgree(muon->exchange, (PetscInt64)muon->step, MUON_RECORD_COUNT, (const double *)record, (double *)all, &intact));
  if (intact == PETSC_FALSE) worst = MUON_STATUS_CORRUPT;
  muon->meanup = muon->meandown = 0;
  muon->agreement               = 0;
  for (PetscMPIInt r = 0; r < muon->size && intact; r++) {
    const MuonStatus status = (MuonStatus)(int)all[r].status;

    /* A corrupt message at one rank explains what failed at others, so it comes first; NaN before a failed factorization for the same reason */
    if (status != MUON_STATUS_OK && (worst == MUON_STATUS_OK || status == MUON_STATUS_CORRUPT || (status == MUON_STATUS_NANORINF && worst == MUON_STATUS_LMO))) worst = status;
    loss += (PetscReal)all[r].loss;
    dual += (PetscReal)all[r].dual;
    nans += all[r].nans;
    muon->agreement += (PetscReal)all[r].votes;
    muon->meanup += all[r].up / muon->size;
    muon->meandown += all[r].down / muon->size;
    if (all[r].replica != all[0].replica) same = PETSC_FALSE;
    if (all[r].choices != all[0].choices) chosen = PETSC_FALSE;
    if (all[r].measure != all[0].measure) together = PETSC_FALSE;
  }
  PetscCall(PetscFree(all));
  muon->loss = loss / (PetscReal)muon->size;
  muon->dual = dual;
  if (muon->group[0]->votes == NULL) muon->agreement = -1;
  if (worst == MUON_STATUS_OK && PetscIsInfOrNanReal(muon->loss)) worst = MUON_STATUS_NANORINF;
  PetscCheck(together, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_INCOMP,
             "Step %" PetscInt_FMT ": some ranks measure what it does to the layers and others do not; what is measured, -muon_monitor_interval and -muon_max_steps must be the same on each", muon->step);
  PetscCheck(chosen, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_INCOMP,
             "Step %" PetscInt_FMT ": what was chosen of the optimizer, a layer, an oracle or a compressor differs between the ranks since the last step; each setter must be called with the same values on every rank", muon->step);
  PetscCheck(worst != MUON_STATUS_OK || same, PetscObjectComm((PetscObject)muon), PETSC_ERR_PLIB,
             "Step %" PetscInt_FMT ": ranks that are to compute the same weights computed different ones; where processors or libraries differ use -muon_exchange_type star or layerwise, and no -ef21_downlink step", muon->step);
  *ok = worst == MUON_STATUS_OK ? PETSC_TRUE : PETSC_FALSE;
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
