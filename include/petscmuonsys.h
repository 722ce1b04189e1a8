/*
   Start and end of the library, and what every class of it shares.
*/
#pragma once

#include <petscsys.h>
#include <petscmuoncompat.h>
#include <petscmuonversion.h>

/* MANSEC = ML */
/* SUBMANSEC = Muon */

/*E
   MuonStatus - Result of a computation on a layer's data

   Values:
+  `MUON_STATUS_OK`       - the result is valid
.  `MUON_STATUS_NANORINF` - the input or a result has entries that are NaN or Inf
.  `MUON_STATUS_CORRUPT`  - a received message is not one that its sender could have written
-  `MUON_STATUS_LMO`      - a factorization or an iteration of an LMO, or of a compressor, failed

   Level: intermediate

   Note:
   Numerical trouble is a status, which a caller can handle. Wrong usage is a PETSc error.

.seealso: `MuonConvergedReason`, `MuonLMOApply()`, `MuonPolarApply()`, `MuonCompressorApply()`
E*/
typedef enum {
  MUON_STATUS_OK       = 0,
  MUON_STATUS_NANORINF = 1,
  MUON_STATUS_CORRUPT  = 2,
  MUON_STATUS_LMO      = 3
} MuonStatus;
PETSC_EXTERN const char *const MuonStatuses[];

PETSC_EXTERN PetscErrorCode PetscMuonInitialize(int *, char ***, const char[], const char[]);
PETSC_EXTERN PetscErrorCode PetscMuonInitializeVersion(int *, char ***, const char[], const char[], int, int, int);
PETSC_EXTERN PetscErrorCode PetscMuonFinalize(void);
PETSC_EXTERN PetscErrorCode PetscMuonInitialized(PetscBool *);
PETSC_EXTERN PetscErrorCode PetscMuonSetQuiet(PetscBool);
PETSC_EXTERN PetscErrorCode PetscMuonGetVersion(char[], size_t);
PETSC_EXTERN PetscErrorCode PetscMuonGetVersionNumber(PetscInt *, PetscInt *, PetscInt *, PetscInt *);

/* The version of the headers goes along, for a comparison with that of the library */
#define PetscMuonInitialize(argc, args, file, help) PetscMuonInitializeVersion(argc, args, file, help, PETSCMUON_VERSION_MAJOR, PETSCMUON_VERSION_MINOR, PETSCMUON_VERSION_SUBMINOR)

/* Parameters of any object of the library by the keys of their options */
PETSC_EXTERN PetscErrorCode MuonObjectSetParameter(PetscObject, const char[], const char[]);
PETSC_EXTERN PetscErrorCode MuonObjectGetParameter(PetscObject, const char[], char[], size_t);
