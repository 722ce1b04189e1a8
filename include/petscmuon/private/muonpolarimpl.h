#pragma once

#include <petscmuon/private/petscmuonimpl.h>
#include <petscmuon/private/muonparameter.h>
#include <petscmuonpolar.h>

PETSC_INTERN PetscLogEvent MUON_Polar;

#if defined(PETSC_USE_REAL_SINGLE)
  #define MUON_POLAR_PRECISION_PETSCSCALAR MUON_POLAR_PRECISION_SINGLE
#else
  #define MUON_POLAR_PRECISION_PETSCSCALAR MUON_POLAR_PRECISION_DOUBLE
#endif

/*
   A matrix that is finite and not zero, on one rank or many, in either precision, and where its factor goes.
   The vectors of a matrix on one rank are its columns: the factor of the transpose is the transpose of the
   factor. On many ranks they may be rows. A type sets Q to scale times the factor, or the status, the same on
   all ranks of the matrix
*/
typedef struct {
  MuonMatrix G, Q;
  double     norm; /* the Frobenius norm of G is norm 2^exponent */
  int        exponent;
  MuonStatus status;
  double     scale; /* 1 or -1 */
} MuonPolarTask;

struct _MuonPolarOps {
  PetscErrorCode (*apply)(MuonPolar, PetscInt n, MuonPolarTask *const[]); /* n is 1 without the next operation */
  /*
     Sequential matrices with a shorter side s, the longest being s x l, may be computed together, on the host complex ones of one shape in the
     lanes of vectors: how many s x s matrices each needs beside two of its size, 0 where they go one by one
  */
  PetscErrorCode (*batch)(MuonPolar, MuonMemory, size_t s, size_t l, PetscInt *squares);
  PetscErrorCode (*setup)(MuonPolar);                                           /* refuses what apply would, on all ranks of the object alike; cheap, or remembers what it has seen */
  PetscErrorCode (*checktext)(MuonPolar, const char key[], const char value[]); /* before a text of the rows changes */
  PetscErrorCode (*setfromoptions)(MuonPolar);                                  /* what the rows of the type cannot say, once they have been read */
  PetscErrorCode (*getflops)(MuonPolar, PetscInt, PetscInt, PetscLogDouble *);
  PetscErrorCode (*getprecision)(MuonPolar, MuonPolarPrecision *); /* where it follows from other parameters; else NULL */
  PetscErrorCode (*view)(MuonPolar, PetscViewer);                  /* lines in an ASCII viewer; in a string viewer a few words */
};

struct _p_MuonPolar {
  PETSCHEADER(struct _MuonPolarOps);
  MuonParameters parameters;
  int            precision;    /* a MuonPolarPrecision; PETSC_DETERMINE: that of the type */
  int            library;      /* a MuonKernelProducts less one; PETSC_DETERMINE: the faster one */
  PetscInt       ownprecision; /* set by the type; PETSC_DETERMINE: the precision of PetscScalar and no other */
  /* Traits of the type, from products to onpairs */
  PetscBool             products; /* of matrices and nothing else: precisions below single are legal */
  PetscBool             gathers;  /* a matrix on many ranks is gathered on one */
  PetscBool             leaves;   /* its result may be outside the unit ball */
  PetscBool             rowwise;  /* works on the rows of a square matrix; else on its columns, which give the same factor */
  PetscBool             ondevice; /* matrices in the memory of a device are legal */
  PetscBool             onpairs;  /* complex matrices are legal */
  MuonMemory            memory;   /* of the matrices to come, for which setup checks precisions; set by the caller */
  int                   pairs;    /* 1 if they are complex; set by the caller */
  PetscViewerAndFormat *monitor;  /* prints a line for each factor; NULL for none */
  MuonWorkspace         work;
  MuonSVD               svd;  /* of MuonPolarExact_Private(), made when it is needed first; a type that reads SLEPc's options makes it */
  void                 *data; /* one allocation, freed by the interface */
};

/* For messages */
static inline const char *MuonPolarPrefix_Private(MuonPolar polar)
{
  return ((PetscObject)polar)->prefix != NULL ? ((PetscObject)polar)->prefix : "";
}

PETSC_EXTERN PetscErrorCode      MuonPolarCreate_SVD(MuonPolar);
PETSC_EXTERN PetscErrorCode      MuonPolarCreate_NewtonSchulz(MuonPolar);
PETSC_EXTERN PetscErrorCode      MuonPolarCreate_Gram(MuonPolar);
PETSC_EXTERN PetscErrorCode      MuonPolarCreate_QDWH(MuonPolar);
PETSC_EXTERN PetscErrorCode      MuonPolarCreate_Zolotarev(MuonPolar);
PETSC_EXTERN PetscErrorCode      MuonPolarCreate_MUD(MuonPolar);
PETSC_EXTERN const MuonParameter MuonPolarParameters_NewtonSchulz[], MuonPolarParameters_Gram[], MuonPolarParameters_Zolotarev[], MuonPolarParameters_MUD[];

/*
   Q[k] = scale, 1 or -1, times the polar factor of G[k], each with its own object, whatever their precision and the order of their
   entries, which G and Q have in common; collective on each matrix. Matrices on a device whose objects have
   the same parameters are given to the type in one call where it takes several
*/
PETSC_EXTERN PetscErrorCode MuonPolarApplyMatrices(double scale, PetscInt n, const MuonPolar polar[], const MuonMatrix G[], const MuonMatrix Q[], MuonStatus status[]);
/* The precision that was set, or else what the method takes */
PETSC_EXTERN PetscErrorCode MuonPolarGetPrecision(MuonPolar, MuonPolarPrecision *);
/*
   What is to be said of the BLAS on this processor, in the words of -muon_view; an empty text where it suits the
   processor. slow: its kernels are narrower than they could be
*/
PETSC_EXTERN PetscErrorCode MuonPolarDescribeBLAS(size_t length, char text[], PetscBool *slow);
/* Prints that text to stderr where kernels are narrow, once in a process; collective, from the first rank */
PETSC_EXTERN PetscErrorCode MuonPolarWarnBLAS(MPI_Comm comm);

PETSC_INTERN PetscErrorCode MuonPolarSetDefaultType_Private(MuonPolar);
/* ||G||_F = norm 2^exponent, of all ranks; NaN or Inf where an entry is */
PETSC_INTERN PetscErrorCode MuonPolarNorm_Private(const MuonMatrix *G, double *norm, int *exponent);
/* The option -lmo_polar_monitor, and its line for a factor times sign that ended with the status */
PETSC_INTERN PetscErrorCode MuonPolarMonitorSetFromOptions_Private(MuonPolar);
PETSC_INTERN PetscErrorCode MuonPolarMonitor_Private(MuonPolar, double sign, const MuonMatrix *G, const MuonMatrix *Q, MuonStatus);
/*
   Q = the polar factor of G by a singular value decomposition; collective on G, of which one on many ranks is
   gathered on its first one
*/
PETSC_EXTERN PetscErrorCode MuonPolarExact_Private(MuonPolar, PetscInt n, MuonPolarTask *const[]);
