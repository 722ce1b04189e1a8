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
  /*
     For finite input that is not zero, on one rank or many, in either precision. A matrix on one rank is
     column-major, its transpose where the caller's is row-major; on many ranks rows may be lines. Leaves the
     output alone where it sets a status, the same on all ranks of the matrix
  */
  PetscErrorCode (*apply)(MuonPolar, const MuonMatrix *, const MuonMatrix *);
  PetscErrorCode (*setup)(MuonPolar);                   /* refuses what apply would, on all ranks of the object alike; cheap, or remembers what it has seen */
  PetscErrorCode (*choices)(MuonPolar, size_t, char[]); /* in text, in what ranks must not differ beside what all types have */
  PetscErrorCode (*getflops)(MuonPolar, PetscInt, PetscInt, PetscLogDouble *);
  PetscErrorCode (*getsteps)(MuonPolar, PetscInt *); /* that apply makes; NULL where the method does not iterate */
  /*
     n matrices in the memory of a device, of any shapes, finite and not zero, and how each ended; NULL where
     they are computed one by one
  */
  PetscErrorCode (*applymany)(MuonPolar, PetscInt n, const MuonMatrix G[], const MuonMatrix Q[], MuonStatus status[]);
  PetscErrorCode (*getprecision)(MuonPolar, MuonPolarPrecision *); /* where it follows from other choices; else NULL */
  PetscErrorCode (*setfromoptions)(MuonPolar, MuonOptionItems);
  PetscErrorCode (*view)(MuonPolar, PetscViewer); /* lines in an ASCII viewer; in a string viewer, within 64 characters, the choices in which ranks must not differ */
  PetscErrorCode (*reset)(MuonPolar);
  PetscErrorCode (*destroy)(MuonPolar);
};

struct _p_MuonPolar {
  PETSCHEADER(struct _MuonPolarOps);
  PetscInt  steps;         /* PETSC_DETERMINE: what the coefficients were made for */
  char     *coefficients;  /* NULL: the default of the type */
  PetscInt  ncoefficients; /* rows of three values of the user's, which replace the name; 0: none */
  double   *values;
  PetscInt  precision; /* a MuonPolarPrecision; PETSC_DETERMINE: that of the type */
  PetscReal tolerance; /* PETSC_DETERMINE: that of the type */
  /*
     What the type takes where the user sets nothing. PETSC_DETERMINE: the precision of PetscScalar and no
     other; 0: no tolerance; NULL: no polynomials, and no normalization that could be chosen
  */
  PetscInt               ownprecision;
  PetscReal              owntolerance;
  PetscBool              products; /* of matrices and nothing else: precisions below single are legal */
  PetscBool              gathers;  /* a matrix on many ranks is gathered on one */
  PetscBool              ondevice; /* matrices in the memory of a device are legal */
  MuonMemory             memory;   /* that of the matrices to come, whose precisions setup looks for; set by who knows */
  MuonPolarCoefficients  owncoefficients;
  MuonPolarNormalization normalization;
  PetscInt               poweriterations;
  MuonStatus             status;
  PetscInt               nmonitors;
  MuonPolarMonitorFn    *monitor[MAXMUONPOLARMONITORS];
  void                  *monitorctx[MAXMUONPOLARMONITORS];
  PetscErrorCode (*monitordestroy[MAXMUONPOLARMONITORS])(void **);
  char            *choices; /* the words of MuonPolarChoices() when the state of the object was chosen; NULL before somebody asked */
  PetscObjectState chosen;
  MuonWorkspace    work;
  MuonSVD          svd; /* of MuonPolarExact_Private(), made when it is needed first; a type that reads SLEPc's options makes it */
  void            *data;
};

/* For messages */
static inline const char *MuonPolarPrefix_Private(MuonPolar polar)
{
  return ((PetscObject)polar)->prefix != NULL ? ((PetscObject)polar)->prefix : "";
}

PETSC_EXTERN PetscErrorCode MuonPolarCreate_SVD(MuonPolar);
PETSC_EXTERN PetscErrorCode MuonPolarCreate_NewtonSchulz(MuonPolar);
PETSC_EXTERN PetscErrorCode MuonPolarCreate_Gram(MuonPolar);
PETSC_EXTERN PetscErrorCode MuonPolarCreate_QDWH(MuonPolar);
PETSC_EXTERN PetscErrorCode MuonPolarCreate_Zolotarev(MuonPolar);

/*
   Q = the polar factor of G, whatever their precision and the order of their entries, which G and Q have in
   common, and whatever PetscScalar is; collective on G. The status is that of MuonPolarGetStatus()
*/
PETSC_EXTERN PetscErrorCode MuonPolarApplyMatrix(MuonPolar, const MuonMatrix *G, const MuonMatrix *Q);
/*
   The same for several matrices, each with its own object. Their looks for NaN, Inf and zero share a message;
   those on a device whose objects have the same choices are given to the type in one call where it takes
   several. status[k] is that of matrix k
*/
PETSC_EXTERN PetscErrorCode MuonPolarApplyMatrices(PetscInt n, const MuonPolar polar[], const MuonMatrix G[], const MuonMatrix Q[], MuonStatus status[]);
/* In text, all in which ranks must not differ */
PETSC_EXTERN PetscErrorCode MuonPolarChoices(MuonPolar, size_t, char[]);

/* For types whose data is one allocation */
PETSC_EXTERN PetscErrorCode MuonPolarDestroyData(MuonPolar);
/* Scratch that the object shares with others; it makes its own where none was given */
PETSC_EXTERN PetscErrorCode MuonPolarSetWorkspace(MuonPolar, MuonWorkspace);
PETSC_INTERN PetscErrorCode MuonPolarGetMemory(MuonPolar, PetscLogDouble *);

/* That of a new object, where none is set */
PETSC_INTERN PetscErrorCode MuonPolarSetDefaultType_Private(MuonPolar);
/* Called inside MuonPolarSetFromOptions() */
PETSC_INTERN PetscErrorCode MuonPolarMonitorSetFromOptions_Private(MuonPolar);
/* Calls the monitors, where there are some, with copies of the arrays in matrices */
PETSC_INTERN PetscErrorCode MuonPolarMonitorMatrix_Private(MuonPolar, const MuonMatrix *G, const MuonMatrix *Q);

/*
   Q = the polar factor of G by a singular value decomposition; collective on G, of which one on many ranks is
   gathered on its first one. Sets the status of the object
*/
PETSC_EXTERN PetscErrorCode MuonPolarExact_Private(MuonPolar, const MuonMatrix *G, const MuonMatrix *Q);
