/*
   What a norm is made of. A norm outside of the library fills the operations of an object as the library's
   own do, with the help of muonlmoslices.h and muonlmosingular.h.
*/
#pragma once

#include <petscmuon/private/petscmuonimpl.h>
#include <petscmuonlmo.h>

PETSC_INTERN PetscLogEvent MUON_LMO;
PETSC_INTERN PetscBool     MuonLMORegisterAllCalled;

/*
   Operations get finite matrices of either precision and order of memory, whole or with their rows on many
   ranks, and then end with the same numbers on all of these. A type may do without those behind getflops.

   apply() writes the minimizer, of the precision, order and distribution of G, and gives its value with the
   other sign; it leaves D alone where it sets the status. applymany() does that for matrices that are all
   here, each of its own object of the type, and finds out itself which are not finite; NULL where nothing is
   gained. factors() is for messages of a triple: D = -u v^T of a matrix that is all here, u and v rounded to
   its precision, the dual norm, and 1, or 0 for D = 0. shapefactor() is what the radius of a layer with rows
   and columns is multiplied with, 1 where it says nothing. setup() raises, on every rank alike, what a step
   would refuse of a user's choices. view() prints lines in an ASCII viewer; in a string viewer the choices in
   which ranks must not differ, in few words, and choices() says more of them, where there are more.
*/
struct _MuonLMOOps {
  PetscErrorCode (*apply)(MuonLMO, const MuonMatrix *G, const MuonMatrix *D, double *dual);
  PetscErrorCode (*applymany)(PetscInt n, const MuonLMO lmo[], const MuonMatrix G[], const MuonMatrix D[], double dual[], MuonStatus status[]);
  PetscErrorCode (*norm)(MuonLMO, const MuonMatrix *, double *);
  PetscErrorCode (*dualnorm)(MuonLMO, const MuonMatrix *, double *);
  PetscErrorCode (*getflops)(MuonLMO, PetscInt, PetscInt, PetscLogDouble *);
  PetscErrorCode (*factors)(MuonLMO, const MuonMatrix *, double u[], double v[], double *dual, PetscInt *);
  PetscErrorCode (*shapefactor)(MuonLMO, MuonShapeFactor, PetscReal m, PetscReal n, PetscReal *);
  PetscErrorCode (*setup)(MuonLMO);
  PetscErrorCode (*choices)(MuonLMO, size_t, char[]);
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
  MuonSVD       svd; /* of types that called MuonLMOSetSingular() */
  MuonStatus    status;
  double        dual; /* of the last apply */
  MuonWorkspace work;
  PetscBool     gathers;  /* set by the type: apply() gathers a matrix that is on many ranks on one of them */
  PetscBool     ondevice; /* set by the type: matrices in the memory of a device are legal */
  MuonMemory    memory;   /* that of the matrices to come; set by who knows */
  int           form;     /* set by the type: the MuonWireForm of the messages of its steps */
  unsigned int  layer;    /* hash of the name that messages carry */
  MuonCompressor message; /* writes and reads the messages of steps; NULL until there is one */
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

/*
   MuonLMOApply() and the norms of arrays, collective on the ranks of the matrix. D has the precision, order
   and distribution of G and is not G
*/
PETSC_EXTERN PetscErrorCode MuonLMOApplyMatrix(MuonLMO, const MuonMatrix *G, const MuonMatrix *D);
/*
   The same for several that are all here, each with its own oracle: those of one type in one call of it where
   it takes several. dual is that of MuonLMOGetLastDual(), status that of MuonLMOGetStatus()
*/
PETSC_EXTERN PetscErrorCode MuonLMOApplyMatrices(PetscInt n, const MuonLMO lmo[], const MuonMatrix G[], const MuonMatrix D[], double dual[], MuonStatus status[]);
PETSC_EXTERN PetscErrorCode MuonLMOComputeNormMatrix(MuonLMO, const MuonMatrix *, PetscReal *);
PETSC_EXTERN PetscErrorCode MuonLMOComputeDualNormMatrix(MuonLMO, const MuonMatrix *, PetscReal *);
/*
   -<G, D> of the last step with status OK, applied or encoded: the dual norm as the oracle sees it, at no
   cost
*/
PETSC_EXTERN PetscErrorCode MuonLMOGetLastDual(MuonLMO, PetscReal *);

/*
   Steps as messages, of a whole layer or of a block by its name. shape says rows, columns, order and the
   precision of what was encoded, which is that of the numbers on the wire; its data is not looked at. entropy
   asks for that figure of the cost, which is -1 else; cost may be NULL. Decode makes Y = a Y + b D, as
   MuonArrayAxpby() does with a whole D, to the last bit, and takes messages that Validate accepted for the
   shape of Y with either precision
*/
PETSC_EXTERN PetscErrorCode MuonLMOGetMaxBytesOf(MuonLMO, const MuonArray *shape, size_t *bytes);
PETSC_EXTERN PetscErrorCode MuonLMOEncodeArray(MuonLMO, const MuonArray *G, size_t capacity, unsigned char buf[], size_t *bytes, PetscBool entropy, MuonCompressorCost *cost);
PETSC_EXTERN PetscErrorCode MuonLMOValidateArray(MuonLMO, const MuonArray *shape, size_t bytes, const unsigned char buf[], PetscBool entropy, MuonCompressorCost *cost, PetscBool *valid);
PETSC_EXTERN PetscErrorCode MuonLMODecodeAxpbyArray(MuonLMO, double a, double b, size_t bytes, const unsigned char buf[], const MuonArray *Y);
/* An error where the steps have no natural format, and the names of the norms whose steps have one */
PETSC_INTERN PetscErrorCode MuonLMOCheckForm_Private(MuonLMO);
PETSC_EXTERN PetscErrorCode MuonLMOEncodableNames_Private(size_t, char[]);

/* Whether the oracle gathers a matrix that is on many ranks on one of them */
PETSC_EXTERN PetscErrorCode MuonLMOGathers(MuonLMO, PetscBool *);
/*
   All in which ranks must not differ, in words: the norm and its exponents, the method of the polar factor,
   SLEPc's keys
*/
PETSC_EXTERN PetscErrorCode MuonLMOChoices(MuonLMO, size_t length, char text[]);
/* The keys of the norm alone: for an object that got its norm from other keys than the rest of its choices */
PETSC_EXTERN PetscErrorCode MuonLMOTypeSetFromOptions_Private(MuonLMO);
/* For types whose data is one allocation */
PETSC_EXTERN PetscErrorCode MuonLMODestroyData(MuonLMO);
/* Scratch that the object shares with others; it makes its own where none was given */
PETSC_EXTERN PetscErrorCode MuonLMOSetWorkspace(MuonLMO, MuonWorkspace);
/*
   Type, scratch memory and status before an operation on the entries of a matrix; finite tells whether to go
   on. Workspace: the scratch memory alone
*/
PETSC_INTERN PetscErrorCode MuonLMOBegin_Private(MuonLMO, const MuonMatrix *, PetscBool *finite);
PETSC_INTERN PetscErrorCode MuonLMOWorkspace_Private(MuonLMO);
