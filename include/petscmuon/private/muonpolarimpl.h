#pragma once

#include <petscmuon/private/petscmuonimpl.h>
#include <petscmuonpolar.h>

PETSC_INTERN PetscLogEvent MUON_Polar;
PETSC_INTERN PetscBool     MuonPolarRegisterAllCalled;

enum {
  MAXMUONPOLARROWS     = 32, /* the polynomials that a user may give */
  MAXMUONPOLARMONITORS = 5
};

#if defined(PETSC_USE_REAL_SINGLE)
  #define MUON_POLAR_PRECISION_PETSCSCALAR MUON_POLAR_PRECISION_SINGLE
#else
  #define MUON_POLAR_PRECISION_PETSCSCALAR MUON_POLAR_PRECISION_DOUBLE
#endif

struct _MuonPolarOps {
  PetscErrorCode (*apply)(MuonPolar, Mat, Mat); /* for finite input that is not zero, sequential or parallel; leaves the output alone where it sets a status, the same on all ranks of the matrix */
  PetscErrorCode (*getflops)(MuonPolar, PetscInt, PetscInt, PetscLogDouble *);
  PetscErrorCode (*getsteps)(MuonPolar, PetscInt *); /* that apply makes; NULL where the method does not iterate */
  /* What the method takes where the user sets nothing. NULL: the precision of PetscScalar and no other; no tolerance; no polynomials */
  PetscErrorCode (*getprecision)(MuonPolar, MuonPolarPrecision *);
  PetscErrorCode (*gettolerance)(MuonPolar, PetscReal *);
  PetscErrorCode (*getcoefficients)(MuonPolar, MuonPolarCoefficients *);
  PetscErrorCode (*setfromoptions)(MuonPolar, MuonOptionItems);
  PetscErrorCode (*view)(MuonPolar, PetscViewer); /* lines in an ASCII viewer; in a string viewer, within 64 characters, the choices in which ranks must not differ */
  PetscErrorCode (*reset)(MuonPolar);
  PetscErrorCode (*destroy)(MuonPolar);
};

struct _p_MuonPolar {
  PETSCHEADER(struct _MuonPolarOps);
  PetscInt               steps;         /* PETSC_DETERMINE: what the coefficients were made for */
  char                  *coefficients;  /* NULL: the default of the type */
  PetscInt               ncoefficients; /* rows of three values of the user's, which replace the name; 0: none */
  double                *values;
  PetscInt               precision;  /* a MuonPolarPrecision; PETSC_DETERMINE: that of the type */
  PetscReal              tolerance;  /* PETSC_DETERMINE: that of the type */
  PetscBool              normalizes; /* the type asks for the normalization */
  MuonPolarNormalization normalization;
  PetscInt               poweriterations;
  MuonStatus             status;
  PetscInt               nmonitors;
  MuonPolarMonitorFn    *monitor[MAXMUONPOLARMONITORS];
  void                  *monitorctx[MAXMUONPOLARMONITORS];
  PetscErrorCode (*monitordestroy[MAXMUONPOLARMONITORS])(void **);
  MuonWorkspace work;
  void         *data;
};

PETSC_EXTERN PetscErrorCode MuonPolarCreate_SVD(MuonPolar);
PETSC_EXTERN PetscErrorCode MuonPolarCreate_NewtonSchulz(MuonPolar);
PETSC_EXTERN PetscErrorCode MuonPolarCreate_Gram(MuonPolar);
PETSC_EXTERN PetscErrorCode MuonPolarCreate_QDWH(MuonPolar);
PETSC_EXTERN PetscErrorCode MuonPolarCreate_Zolotarev(MuonPolar);

/* Scratch that the object shares with others; it makes its own where none was given */
PETSC_INTERN PetscErrorCode MuonPolarSetWorkspace(MuonPolar, MuonWorkspace);
PETSC_INTERN PetscErrorCode MuonPolarGetMemory(MuonPolar, PetscLogDouble *);

/* Called inside MuonPolarSetFromOptions() */
PETSC_INTERN PetscErrorCode MuonPolarMonitorSetFromOptions_Private(MuonPolar);

/* Q = the polar factor of G by a singular value decomposition; collective on G, of which a parallel one is gathered on its first rank. Sets the status of the object */
PETSC_INTERN PetscErrorCode MuonPolarExact_Private(MuonPolar, MuonSVD, Mat G, Mat Q);

/* The names in a list of types, for messages */
PETSC_INTERN PetscErrorCode MuonListNames_Private(PetscFunctionList, size_t, char[]);
/* Errors unless the matrix is dense, sequential or parallel, and unless there are two of the same type, shape and distribution */
PETSC_INTERN PetscErrorCode MuonCheckMat_Private(PetscObject, Mat);
PETSC_INTERN PetscErrorCode MuonCheckMats_Private(PetscObject, Mat, Mat);
