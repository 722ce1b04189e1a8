/* Types outside of the library, each made with its installed headers alone */
#pragma once

#include <petscmuon.h>

PETSC_EXTERN PetscErrorCode MuonLMOCreate_RowL21(MuonLMO);
PETSC_EXTERN PetscErrorCode MuonCompressorRegister_Halve(void);
PETSC_EXTERN PetscErrorCode MuonLayerCreate_SignSGD(MuonLayer);
PETSC_EXTERN PetscErrorCode MuonCreate_Descent(Muon);
