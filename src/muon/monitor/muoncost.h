/*
   The cost of the exchanges of an optimizer: what the view prints, for programs inside of the house.
*/
#pragma once

#include "muonmonitor.h"
#include "muoncostmodel.h"

/* The link as it was given, measured or assumed; collective where it is measured */
PETSC_INTERN PetscErrorCode MuonGetCostLink_Private(Muon, MuonCostLink *);
/*
   A step's messages between workers if the exchange were of that type and mode; legal: whether the
   optimizer's messages can go that way. Collective, after MuonSetUp()
*/
PETSC_INTERN PetscErrorCode MuonGetCost_Private(Muon, MuonExchangeType, MuonExchangeMode, MuonCost *, PetscBool *legal);
