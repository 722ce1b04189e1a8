/*
   What is said of a step.
*/
#pragma once

#include "../plan/muonplan.h"

/* The validation, where this step asks for it */
PETSC_INTERN PetscErrorCode MuonValidate_Private(Muon, PetscInt step);
PETSC_INTERN PetscErrorCode MuonMonitorSetFromOptions_Private(Muon);
