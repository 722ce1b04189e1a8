/*
   Monitors: the list of them, those of this library, and the value of a validation.
*/
#pragma once

#include "../../schedule/muonschedule.h"

#define MAXMUONMONITORS 5

typedef struct {
  PetscInt count;
  struct {
    MuonMonitorFn *fn;
    void          *ctx;
    PetscErrorCode (*destroy)(void **);
  } list[MAXMUONMONITORS];
  MuonValidationFn *validation;
  void             *validationctx;
  PetscInt          interval;  /* of validations, 0 for none */
  PetscInt          validated; /* steps that were taken when value was found, 0 where there is none */
  PetscReal         value;
  PetscReal         rate;    /* of the last step */
  PetscBool         measure; /* the size of updates */
} MuonMonitors;

static inline MuonMonitors *MuonMonitorsOf(Muon muon)
{
  return (MuonMonitors *)MuonAddonData(muon, "monitor");
}
