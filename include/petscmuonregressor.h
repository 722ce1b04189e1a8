/*
   A network as a type of PETSc's regressors, trained by the optimizer. PETSc 3.24 and newer have the class.
*/
#pragma once

#include <petscmuon.h>
#include <petscmuonconf.h>

/* MANSEC = ML */
/* SUBMANSEC = PetscRegressorMLP */

#define PETSCREGRESSORMLP "mlp"

PETSC_EXTERN PetscErrorCode PetscRegressorMLPRegister(void);

#if defined(PETSCMUON_HAVE_REGRESSOR)
  #include <petscregressor.h>
#endif
