/*
   What is said of a step.
*/
#pragma once

#include "../plan/muonplan.h"

/* The validation, where this step asks for it */
PETSC_INTERN PetscErrorCode MuonValidate_Private(Muon, PetscInt step);
PETSC_INTERN PetscErrorCode MuonMonitorSetFromOptions_Private(Muon);
PETSC_INTERN PetscErrorCode MuonViewCostFromOptions_Private(Muon);
PETSC_INTERN PetscErrorCode MuonViewCost_Private(Muon, PetscViewer);
PETSC_INTERN PetscErrorCode MuonTestGradient_Private(Muon, PetscReal *);
