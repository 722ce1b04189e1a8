/*
   The optimizer as a type of TAO.
*/
#pragma once

#include <petscmuon.h>
#include <petsctao.h>

/* MANSEC = ML */
/* SUBMANSEC = TaoMuon */

#define TAOMUON "muon"

PETSC_EXTERN PetscErrorCode TaoMuonRegister(void);
PETSC_EXTERN PetscErrorCode TaoMuonGetMuon(Tao, Muon *);
PETSC_EXTERN PetscErrorCode TaoMuonSetLayers(Tao, const char[]);
