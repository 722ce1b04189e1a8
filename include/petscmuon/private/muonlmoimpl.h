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
  PetscErrorCode (*factors)(MuonLMO, Mat, PetscScalar u[], PetscScalar v[], PetscReal *, PetscInt *); /* of a sequential matrix, where the message is a triple: D = -u v^T, the dual norm, and 1, or 0 for D = 0 */
  PetscErrorCode (*getflops)(MuonLMO, PetscInt, PetscInt, PetscLogDouble *);
  PetscErrorCode (*setfromoptions)(MuonLMO, MuonOptionItems);
  PetscErrorCode (*view)(MuonLMO, PetscViewer);
  PetscErrorCode (*reset)(MuonLMO);
  PetscErrorCode (*destroy)(MuonLMO);
};

/* The steps have no natural format */
#define MUON_LMO_NO_FORM (-1)

struct _p_MuonLMO {
  PETSCHEADER(struct _MuonLMOOps);
  MuonPolar     polar;
  MuonStatus    status;
  PetscReal     dual; /* of the last apply */
  MuonWorkspace work;
  int           form;  /* set by the type: the MuonWireForm of the messages of its steps */
  unsigned int  layer; /* hash of the name that messages carry */
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
/* The keys of the norm alone: for an object that got its norm from other keys than the rest of its choices */
PETSC_INTERN PetscErrorCode MuonLMOTypeSetFromOptions_Private(MuonLMO);
PETSC_INTERN PetscErrorCode MuonLMOGetMemory(MuonLMO, PetscLogDouble *);
/* Type, scratch memory and status before an operation on the finite entries of a matrix; finite tells whether to go on. Workspace: the scratch memory alone */
PETSC_INTERN PetscErrorCode MuonLMOBegin_Private(MuonLMO, Mat, PetscBool *finite);
PETSC_INTERN PetscErrorCode MuonLMOWorkspace_Private(MuonLMO);
/* An error where the steps have no natural format, and the names of the norms whose steps have one */
PETSC_INTERN PetscErrorCode MuonLMOCheckForm_Private(MuonLMO);
PETSC_INTERN PetscErrorCode MuonLMOEncodableNames_Private(size_t, char[]);
/* Y = a Y + b D with the step D of a message: what MuonKernelAxpby() does with a whole D, to the last bit */
PETSC_INTERN PetscErrorCode MuonLMODecodeAxpby_Private(MuonLMO, PetscReal a, PetscReal b, size_t bytes, const unsigned char message[], Mat Y);
/* -<G, D> of the last MuonLMOApply(), MuonLMOSharp() or MuonLMOEncode() with status OK: the dual norm as the oracle sees it, at no cost */
PETSC_INTERN PetscErrorCode MuonLMOGetLastDual(MuonLMO, PetscReal *);
