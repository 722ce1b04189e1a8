#pragma once

#include <petscmuon/private/petscmuonimpl.h>
#include <petscmuonlmo.h>

PETSC_INTERN PetscLogEvent MUON_LMO;
PETSC_INTERN PetscBool     MuonLMORegisterAllCalled;

struct _MuonLMOOps {
  /* for finite input, sequential or parallel: the minimizer and its value with the other sign; leaves the output alone where it sets a status, the same on all ranks of the matrix */
  PetscErrorCode (*apply)(MuonLMO, Mat, Mat, PetscReal *);
  PetscErrorCode (*norm)(MuonLMO, Mat, PetscReal *); /* for finite input, as the next */
  PetscErrorCode (*dualnorm)(MuonLMO, Mat, PetscReal *);
  PetscErrorCode (*getflops)(MuonLMO, PetscInt, PetscInt, PetscLogDouble *);
  PetscErrorCode (*setfromoptions)(MuonLMO, MuonOptionItems);
  PetscErrorCode (*view)(MuonLMO, PetscViewer);
  PetscErrorCode (*reset)(MuonLMO);
  PetscErrorCode (*destroy)(MuonLMO);
};

struct _p_MuonLMO {
  PETSCHEADER(struct _MuonLMOOps);
  MuonPolar     polar;
  MuonStatus    status;
  PetscReal     dual; /* of the last apply */
  MuonWorkspace work;
  void         *data;
};

PETSC_EXTERN PetscErrorCode MuonLMOCreate_Spectral(MuonLMO);
PETSC_EXTERN PetscErrorCode MuonLMOCreate_Nuclear(MuonLMO);
PETSC_EXTERN PetscErrorCode MuonLMOCreate_Schatten(MuonLMO);
PETSC_EXTERN PetscErrorCode MuonLMOCreate_Frobenius(MuonLMO);
PETSC_EXTERN PetscErrorCode MuonLMOCreate_Max(MuonLMO);
PETSC_EXTERN PetscErrorCode MuonLMOCreate_L1(MuonLMO);
PETSC_EXTERN PetscErrorCode MuonLMOCreate_Column(MuonLMO);
PETSC_EXTERN PetscErrorCode MuonLMOCreate_Row(MuonLMO);
PETSC_EXTERN PetscErrorCode MuonLMOCreate_ColSum(MuonLMO);
PETSC_EXTERN PetscErrorCode MuonLMOCreate_RowSum(MuonLMO);
PETSC_EXTERN PetscErrorCode MuonLMOCreate_L21(MuonLMO);
PETSC_EXTERN PetscErrorCode MuonLMOCreate_Mixed(MuonLMO);

/* Scratch that the object shares with others; it makes its own where none was given */
PETSC_INTERN PetscErrorCode MuonLMOSetWorkspace(MuonLMO, MuonWorkspace);
PETSC_INTERN PetscErrorCode MuonLMOGetMemory(MuonLMO, PetscLogDouble *);
/* -<G, D> of the last MuonLMOApply() or MuonLMOSharp() with status OK: the dual norm as the oracle sees it, at no cost */
PETSC_INTERN PetscErrorCode MuonLMOGetLastDual(MuonLMO, PetscReal *);
