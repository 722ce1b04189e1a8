/*
   What is said of a step.
*/
#pragma once

#include "../plan/muonplan.h"

/* The validation, where this step asks for it */
PETSC_INTERN PetscErrorCode MuonValidate_Private(Muon, PetscInt step);
PETSC_INTERN PetscErrorCode MuonMonitorSetFromOptions_Private(Muon);
/* -muon_advise: before the first step, and the monitor */
PETSC_INTERN PetscErrorCode MuonAdviseBegin_Private(Muon);
PETSC_INTERN PetscErrorCode MuonMonitorAdvise_Private(Muon, PetscInt, PetscReal, void *);
