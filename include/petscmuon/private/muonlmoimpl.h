/*
   What a norm is made of. A norm outside of the library fills the operations of an object as the library's
   own do, with the help of muonlmovectors.h and muonlmosingular.h.
*/
#pragma once

#include <petscmuon/private/petscmuonimpl.h>
#include <petscmuon/private/muonparameter.h>
#include <petscmuonlmo.h>

PETSC_INTERN PetscLogEvent MUON_LMO;

/*
   Operations get matrices of either precision and order of memory, on one rank or with their rows on many ranks,
   and then end with the same numbers on all of these. A matrix with an entry that is NaN or Inf has a norm that
   is NaN, or the status MUON_STATUS_NANORINF: the entries are not looked at before. A type may do without the
   operations behind getflops.

   apply() writes the minimizer, of the precision, order and distribution of G, and gives its value with the
   other sign; it leaves D alone where it sets lmo->status or where the value is NaN. A type has applymany() in its place, which does that for
   several matrices, each of its own object of the type, where these are computed together. factors() is for
   messages of a triple: D = -u v^T of a matrix that is all here, u and v rounded to its precision, the
   dual norm, and 1, or 0 for D = 0. shapefactor() is what the radius of a layer with rows and columns is
   multiplied with, 1 where it says nothing. setup() raises, on every rank alike, what a step would refuse of a
   user's parameters. setfromoptions() reads what the rows of the type cannot say. view() prints lines in an ASCII
   viewer; in a string viewer a few words.
*/
struct _MuonLMOOps {
  PetscErrorCode (*apply)(MuonLMO, const MuonMatrix *G, const MuonMatrix *D, double *dual);
  PetscErrorCode (*applymany)(PetscInt n, const MuonLMO lmo[], const MuonMatrix G[], const MuonMatrix D[], double dual[], MuonStatus status[]);
  PetscErrorCode (*norm)(MuonLMO, PetscBool dual, const MuonMatrix *, double *);
  PetscErrorCode (*getflops)(MuonLMO, PetscInt, PetscInt, PetscLogDouble *);
  PetscErrorCode (*factors)(MuonLMO, const MuonMatrix *, double u[], double v[], double *dual, PetscInt *);
  PetscErrorCode (*shapefactor)(MuonLMO, MuonShapeFactor, PetscReal m, PetscReal n, PetscReal *);
  PetscErrorCode (*setup)(MuonLMO);
  PetscErrorCode (*setfromoptions)(MuonLMO);
  PetscErrorCode (*view)(MuonLMO, PetscViewer);
};

/* The steps have no natural format */
#define MUON_LMO_NO_KIND 0

struct _p_MuonLMO {
  PETSCHEADER(struct _MuonLMOOps);
  MuonParameters parameters;
  MuonPolar      polar;
  MuonSVD        svd;    /* of types that called MuonLMOSetSingular() */
  MuonStatus     status; /* of the operation at work, and of the last message */
  double         dual;   /* of the last message */
  MuonWorkspace  work;
  /* Traits of the type, from kind to onpairs */
  int            kind;     /* the MuonWireKind of the messages of its steps */
  PetscBool      gathers;  /* apply() gathers a matrix that is on many ranks on one of them */
  PetscBool      ondevice; /* matrices in the memory of a device are legal */
  PetscBool      onpairs;  /* complex matrices are legal */
  MuonMemory     memory;   /* of the matrices to come; set by the caller */
  int            pairs;    /* 1 if they are complex; set by the caller */
  unsigned int   layer;    /* hash of the name that messages carry */
  MuonCompressor message;  /* writes and reads the messages of steps; NULL until there is one */
  void          *data;     /* one allocation, freed by the interface */
};

PETSC_EXTERN PetscErrorCode      MuonLMOCreate_Spectral(MuonLMO);
PETSC_EXTERN PetscErrorCode      MuonLMOCreate_Nuclear(MuonLMO);
PETSC_EXTERN PetscErrorCode      MuonLMOCreate_Schatten(MuonLMO);
PETSC_EXTERN const MuonParameter MuonLMOParameters_Schatten[];
PETSC_INTERN PetscErrorCode      MuonLMORegisterVectors_Private(void);

/*
   MuonLMOApply() and the norms of arrays, collective on the ranks of the matrix. D has the precision, order
   and distribution of G and is not G. The value is -<G, D>, the dual norm as the LMO sees it. status of a norm
   may be NULL: it is NaN where that is not MUON_STATUS_OK
*/
PETSC_EXTERN PetscErrorCode MuonLMOApplyMatrix(MuonLMO, const MuonMatrix *G, const MuonMatrix *D, double *value, MuonStatus *status);
PETSC_EXTERN PetscErrorCode MuonLMOComputeNormMatrix(MuonLMO, PetscBool dual, const MuonMatrix *, PetscReal *, MuonStatus *status);
/*
   The same for several that are all here, each with its own object: those of one type in one call of it where
   it takes several
*/
PETSC_EXTERN PetscErrorCode MuonLMOApplyMatrices(PetscInt n, const MuonLMO lmo[], const MuonMatrix G[], const MuonMatrix D[], double value[], MuonStatus status[]);
/* Factor of a step's radius for the shape of a layer or block: 1 if the norm has none, or without entries */
PETSC_EXTERN PetscErrorCode MuonLMOGetShapeFactor(MuonLMO, MuonShapeFactor, PetscInt m, PetscInt n, PetscReal *value);

/*
   Steps as messages, of a whole layer or of a block by its name. shape says rows, columns, order and the
   precision of what was encoded, which is that of the numbers on the wire; its data is not read. The receiver of a message
   counts it. entropy asks for that figure of the cost, which is -1 otherwise; cost may be NULL.
   Decode makes Y = a Y + b D, or with sharp a Y + b dual D, as MuonArrayAxpby() does with a whole D, to the last
   bit, and takes messages that Validate accepted for the shape of Y with either precision
*/
PETSC_EXTERN PetscErrorCode MuonLMOCanEncode(MuonLMO, PetscBool *);
PETSC_EXTERN PetscErrorCode MuonLMOGetMaxBytesOf(MuonLMO, const MuonArray *shape, size_t *bytes);
PETSC_EXTERN PetscErrorCode MuonLMOEncodeArray(MuonLMO, const MuonArray *G, size_t capacity, unsigned char buf[], size_t *bytes);
PETSC_EXTERN PetscErrorCode MuonLMOValidateArray(MuonLMO, const MuonArray *shape, size_t bytes, const unsigned char buf[], PetscBool entropy, MuonCompressorCost *cost, PetscBool *valid);
PETSC_EXTERN PetscErrorCode MuonLMODecodeAxpbyArray(MuonLMO, double a, double b, PetscBool sharp, size_t bytes, const unsigned char buf[], const MuonArray *Y);

/* The norm where it is one of the library's; known says so */
PETSC_EXTERN PetscErrorCode MuonLMOGetNorm(MuonLMO, MuonNorm *, PetscBool *known);
/* Whether the object gathers a matrix that is on many ranks on one of them */
PETSC_EXTERN PetscBool MuonLMOGathers(MuonLMO);
/* Scratch that the object shares with others; it makes its own where none was given */
PETSC_EXTERN PetscErrorCode MuonLMOSetWorkspace(MuonLMO, MuonWorkspace);
/* Before an operation: type and scratch memory are there, and the status is good */
PETSC_INTERN PetscErrorCode MuonLMOStart_Private(MuonLMO);

/*
   Norms that are made of norms of columns, or of rows: the q-norm of the p-norms of these vectors, with p and
   q in [1, HUGE_VAL], and q HUGE_VAL for rows.

   The norms of a complex matrix are those of the moduli of its numbers, and its minimizer has the point of these, an
   entry times the phase of the number.

   All is collective on the ranks of the matrix and ends with the same numbers on all of them. Results are the
   same bits for a matrix in row-major and in column-major memory, up to the order of ties between entries of
   the matrix where p = q = 1. Arithmetic is in double.
*/
/*
   The type is the norm of these exponents: its operations and its data, which is a MuonLMOVectors. A type may
   fill in others afterwards
*/
typedef struct {
  PetscBool rows;
  PetscReal p, q; /* at least PETSC_INFINITY: HUGE_VAL */
} MuonLMOVectors;
PETSC_EXTERN PetscErrorCode MuonLMOSetVectors(MuonLMO, PetscBool rows, double p, double q);

/*
   Its operations, for those that call them: powers, roots and divisions are one operation each, comparisons none
*/
PETSC_EXTERN PetscErrorCode MuonLMONorm_Vectors(MuonLMO, PetscBool dual, const MuonMatrix *, double *);
PETSC_EXTERN PetscErrorCode MuonLMOApply_Vectors(MuonLMO, const MuonMatrix *, const MuonMatrix *, double *);
PETSC_EXTERN PetscErrorCode MuonLMOGetFlops_Vectors(MuonLMO, PetscInt m, PetscInt n, PetscLogDouble *flops);

/* size 2^exponent = the Euclidean norms of the rows or columns of a matrix, in scratch of which the caller has the mark; finite where no entry says otherwise */
PETSC_EXTERN PetscErrorCode MuonLMOGetVectorNorms(MuonLMO, PetscBool rows, const MuonMatrix *, double **size, int **exponent, PetscBool *finite);
/* The p-norm, p in {1, 2, HUGE_VAL}, of one number size 2^*exponent of each rank, in the same form */
PETSC_EXTERN PetscErrorCode MuonLMOCombine(MuonLMO, const MuonMatrix *, double p, double *size, int *exponent);
/* x = the sum over ranks in their order, the same bits on all */
PETSC_EXTERN PetscErrorCode MuonLMOSum(MuonLMO, const MuonMatrix *, PetscInt n, double x[]);

/* p* with 1/p + 1/p* = 1 */
PETSC_EXTERN double MuonLMOConjugate(double p);
/* An exponent as a user gives it, with HUGE_VAL for PETSC_INFINITY */
PETSC_EXTERN double MuonLMOExponent(PetscReal p);

/*
   Norms of the singular values: p-norms of them, p in [1, HUGE_VAL], by decompositions. All is collective on
   the ranks of the matrix, which is gathered on the first of them.
*/

/*
   For a type's create(): all operations of the p-norm, and its data, a MuonLMOVectors. The object decomposes with
   lmo->svd, which the interface gives SLEPc's keys, sets up and destroys. A type may fill in others afterwards
*/
PETSC_EXTERN PetscErrorCode MuonLMOSetSingular(MuonLMO, double p);
/* The operation that makes the minimizer, for types that have another one for some matrices */
PETSC_EXTERN PetscErrorCode MuonLMOApply_Singular(MuonLMO, const MuonMatrix *G, const MuonMatrix *D, double *dual);
/*
   The largest triple of a real matrix: count is 1, or 0 where the matrix is zero. u are the entries of this rank's
   rows; either of u and v may be NULL
*/
PETSC_EXTERN PetscErrorCode MuonLMOSingularTriple(MuonLMO, const MuonMatrix *, double u[], double v[], double *sigma, PetscInt *count);
