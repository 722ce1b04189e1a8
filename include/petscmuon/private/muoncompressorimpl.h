#pragma once

#include <petscmuon/private/petscmuonimpl.h>
#include <petscmuon/private/muonparameter.h>
#include <petscmuon/private/muonwire.h>
#include <petscmuoncompressor.h>

/* MUON_Decompress, which adds decoded messages to matrices, is inside MUON_Compress */
PETSC_INTERN PetscLogEvent MUON_Compress, MUON_Decompress;

/* For PetscCitationsRegister(), here and in the optimizer */
PETSC_INTERN const char MuonCitationEF21[];
PETSC_INTERN PetscBool  MuonCitationEF21Set;
PETSC_INTERN const char MuonCitationNatural[];
PETSC_INTERN PetscBool  MuonCitationNaturalSet;
PETSC_INTERN const char MuonCitationPowerSGD[];
PETSC_INTERN PetscBool  MuonCitationPowerSGDSet;
PETSC_INTERN const char MuonCitationRange[];
PETSC_INTERN PetscBool  MuonCitationRangeSet;

/*
   What a message of an array looks like in uncompressed codecs. A type sets kind, values and count of the header,
   and what else is not the usual
*/
typedef struct {
  MuonWireMessage header;        /* count: entries, kept entries or rank of a message, or the most there can be */
  uint64_t        rows, columns; /* of the matrix of the wire: vectors of the array, and the entries of one, where the type leaves it */
  PetscBool       exact;         /* every message has so many, else at most so many */
  PetscReal       chance;        /* that a message has any; 0 where the type leaves it, which is certainty */
  MuonWireLayout  section;       /* of the payload: follows from the header */
} MuonCompressorLayout;

/* A block of the arrays, the hash of its name, the layout of its largest message, and how long a message may be */
typedef struct {
  MuonBlock            block;
  unsigned int         hash;
  MuonCompressorLayout layout;
  uint64_t             bytes;
} MuonCompressorPart;

/*
   A type turns arrays into payloads in uncompressed codecs; the interface checks, writes the headers, makes
   messages entropy-coded and uncompressed again, and refuses those that do not fit the layout, so that decode()
   meets none of them. Arrays may have any precision and order, and gaps between their contiguous vectors;
   MuonArrayKernels() has the kernels of one. Of shape only the sizes, the precision and the order are looked at.

   encode() writes the payload of C(T - R), R NULL being zero, by a layout with the most there can be, and gives
   another count by MuonCompressorSetCount(); where it cannot it sets status and leaves the rest. decode() does
   Y = Y + scale C where add is true, and Y = C else, of a message that has anything. Types know
   nothing of blocks: alpha() is the constant in the Frobenius norm, or that of othernorm, alphaof() that in
   any norm of which the type knows one, else it leaves -1. T, R and Y are a block, in the memory of the layer. Where the layer has blocks commit() is
   called for each. changing() may refuse a parameter before it changes; visitstate() names what is kept from
   message to message. A type may do without any of them. A type that decomposes creates svd, which the interface sets up, shows and destroys.

   A family of types has one create(), which looks at the name of the type.
*/
struct _MuonCompressorOps {
  PetscErrorCode (*layout)(MuonCompressor, const MuonArray *shape, MuonCompressorLayout *);
  PetscErrorCode (*encode)(MuonCompressor, const MuonArray *T, const MuonArray *R, MuonCompressorLayout *, unsigned char payload[]);
  PetscErrorCode (*decode)(MuonCompressor, const MuonCompressorLayout *, const unsigned char payload[], PetscBool add, double scale, const MuonArray *Y);
  PetscErrorCode (*alpha)(MuonCompressor, const MuonArray *shape, PetscReal *);
  PetscErrorCode (*alphaof)(MuonCompressor, const MuonArray *shape, const MuonNorm *, PetscReal *);
  PetscErrorCode (*commit)(MuonCompressor);
  PetscErrorCode (*changing)(MuonCompressor, const MuonParameter *, double value);
  PetscErrorCode (*visitstate)(MuonCompressor, MuonStateVisitor *);
  PetscErrorCode (*reset)(MuonCompressor);
};

struct _p_MuonCompressor {
  PETSCHEADER(struct _MuonCompressorOps);
  /* parameters */
  MuonParameters       parameters;
  PetscReal            ratio;
  PetscInt             rank;
  PetscInt             bits;      /* of a quantized entry */
  MuonCompressorValues values;    /* MuonCompressorValuesOf() knows the default */
  PetscInt             paperbits; /* of an index in the paper's accounting */
  /* the layer, or the shard of one, of the messages, by its own name */
  PetscInt64   seed;
  char        *layer; /* NULL until known */
  unsigned int layerhash;
  PetscInt     sender, direction, step;
  MuonBlocks   blocks;
  /*
     what is at work: the hash of a block and its number, for which a type that has state keeps one; that of
     the layer and 0 where it has no blocks
  */
  unsigned int blockhash;
  PetscInt     block;
  /* the blocks of arrays of one shape, for the parameters with which the object had this state; none before the first message */
  PetscInt            nparts;
  MuonCompressorPart *part;
  MuonArray           partsof;
  PetscObjectState    partsstate;

  /* Traits of the type, from keys to othernorm */
  const char   *keys;       /* those of all types that have a meaning for it, with blanks between them; NULL for none */
  PetscBool     assignment; /* the message is T itself, whatever R is */
  PetscBool     ondevice;   /* arrays in the memory of a device are legal */
  PetscBool     onpairs;    /* likewise complex ones */
  PetscBool     factors;    /* messages are two factors, one of which spans the rows that are here */
  PetscBool     othernorm;  /* alpha is of another norm than Frobenius' */
  MuonSVD       svd;        /* set by the type, else NULL */
  MuonStatus    status;
  MuonWorkspace work;
  void         *data; /* of the type, from PetscNew(): freed after reset() */
};

/*
   A validated message, in uncompressed codecs: in the buffer, or where it came or was written, where it is
   uncompressed there. With blocks these are the messages of the blocks, end to end. Zero-initialized; the
   buffer grows and is kept from step to step, or is scratch memory of work, of which the caller has the mark
*/
typedef struct {
  const unsigned char *data;
  size_t               bytes;
  unsigned char       *buffer;
  size_t               capacity;
  MuonWorkspace        work;
} MuonValidated;

/*
   Messages of arrays, of either precision and in either order. Rows of the wire are the contiguous vectors of
   the array, columns the entries of one, and entries are numbered in the order of memory. shape says all but
   the memory.

   GetMaxBytesOf    the largest number of bytes of a message, by the parameters as they are: asked before each,
                    as a user may change the ratio between steps
   EncodeArray      C(T - R), or T itself where the type is an assignment; R NULL is zero. capacity is at least
                    what GetMaxBytesOf says. own, where it is not NULL, becomes what ValidateArray() would make of
                    the message: it may point into buf. The entropy in cost is -1 where it is not asked for
   ValidateArray    checks a message, once, and counts it; the result may point into buf, or is NULL
   DecodeValidated  Y = Y + scale C where add is true, and Y = C else
   DecodeArray      both in one pass; Y is scratch where the message is not valid
   VisitState       names what is kept from message to message
*/
PETSC_EXTERN PetscErrorCode MuonValidatedDestroy(MuonValidated *);
PETSC_EXTERN PetscErrorCode MuonCompressorGetMaxBytesOf(MuonCompressor, const MuonArray *shape, size_t *max);
PETSC_EXTERN PetscErrorCode MuonCompressorEncodeArray(MuonCompressor, const MuonArray *T, const MuonArray *R, size_t capacity, unsigned char buf[], size_t *bytes, PetscBool entropy, MuonCompressorCost *cost, MuonValidated *own);
PETSC_EXTERN PetscErrorCode MuonCompressorValidateArray(MuonCompressor, const MuonArray *shape, size_t bytes, const unsigned char buf[], PetscBool entropy, MuonCompressorCost *cost, MuonValidated *, PetscBool *valid);
PETSC_EXTERN PetscErrorCode MuonCompressorDecodeValidated(MuonCompressor, const MuonValidated *, PetscBool add, double scale, const MuonArray *Y);
PETSC_EXTERN PetscErrorCode MuonCompressorDecodeArray(MuonCompressor, PetscBool add, double scale, size_t bytes, const unsigned char buf[], const MuonArray *Y, PetscBool *valid);
PETSC_EXTERN PetscErrorCode MuonCompressorVisitState(MuonCompressor, MuonStateVisitor *);
/* MuonCompressorGetAlpha() in a norm: of the type, or from that in the Frobenius norm where this is any; -1 where none is known, and with blocks */
PETSC_EXTERN PetscErrorCode MuonCompressorGetAlphaOf(MuonCompressor, const MuonArray *shape, const MuonNorm *, PetscReal *);
/* The layout of a message of another count */
PETSC_EXTERN PetscErrorCode MuonCompressorSetCount(MuonCompressor, MuonCompressorLayout *, uint64_t count);

/* An object without a type gets the default one */
PETSC_INTERN PetscErrorCode MuonCompressorSetDefaultType_Private(MuonCompressor);
/*
   The grid of blocks of an array, 1 x 1 where it is compressed in full, as assignments are; an error where it does not fit. The
   number of blocks, and c->part, which is made again where the shape is another one, or a parameter has changed. From Begin on a
   type is at work on one block, or on the layer, by its hash and its number, with the layout of the largest message. Nothing but
   the type's operations looks at these, so that there is nothing to be put back, after an error either
*/
PETSC_INTERN PetscErrorCode MuonCompressorGetGrid_Private(MuonCompressor, const MuonArray *shape, const MuonBlocks **);
PETSC_INTERN PetscErrorCode MuonCompressorGetParts_Private(MuonCompressor, const MuonArray *shape, PetscInt *count);
static inline MuonArray     MuonCompressorBlock_Private(const MuonArray *A, const MuonBlock *block)
{
  return MuonArrayPart(A, (size_t)block->row, (size_t)block->column, (size_t)block->m, (size_t)block->n);
}
static inline const MuonBlock *MuonCompressorBegin_Private(MuonCompressor c, PetscInt b, MuonCompressorLayout *max)
{
  c->block          = b;
  c->blockhash      = c->nparts > 1 ? c->part[b].hash : c->layerhash;
  *max              = c->part[b].layout;
  max->header.layer = (uint32_t)c->blockhash;
  return &c->part[b].block;
}
/* As a message of so many things: header, its length included, and sections; false, and nothing changes, where there is no such message */
PETSC_INTERN PetscBool MuonCompressorTryCount_Private(MuonCompressorLayout *, uint64_t count);
/* The type and how much it keeps, as one entry of a table */
PETSC_INTERN PetscErrorCode MuonCompressorDescribe_Private(MuonCompressor, size_t length, char text[]);
PETSC_INTERN PetscErrorCode MuonCompressorGetWorkspace(MuonCompressor, MuonWorkspace *);

/* Drops state and scratch memory and keeps the parameters */
PETSC_EXTERN PetscErrorCode MuonCompressorReset(MuonCompressor);

/*
   Steps of a norm as messages of one kind: a compressor of no type that a user can choose. data is
   a MuonCompressorStep, of which magnitude is set before a message is encoded, and the factors of a triple,
   D = -u v^T, where found is 1; found 0 is D = 0. Arrays are on the host, and a step is assigned
*/
typedef struct {
  int           kind;
  double        magnitude; /* that all entries share: the dual norm; decode() leaves that of its message here */
  PetscInt      found;
  const double *u, *v;
} MuonCompressorStep;
PETSC_EXTERN PetscErrorCode MuonCompressorCreateStep_Private(MPI_Comm, int kind, MuonCompressor *);

/* Families of types */
PETSC_INTERN PetscErrorCode      MuonCompressorRegister_Dense(void);
PETSC_INTERN PetscErrorCode      MuonCompressorCreate_Sparse(MuonCompressor);
PETSC_INTERN PetscErrorCode      MuonCompressorCreate_RowColumn(MuonCompressor);
PETSC_INTERN PetscErrorCode      MuonCompressorCreate_SVD(MuonCompressor);
PETSC_INTERN PetscErrorCode      MuonCompressorCreate_PowerSGD(MuonCompressor);
PETSC_INTERN PetscErrorCode      MuonCompressorCreate_Sign(MuonCompressor);
PETSC_INTERN PetscErrorCode      MuonCompressorCreate_QSGD(MuonCompressor);
PETSC_INTERN const MuonParameter MuonCompressorParameters_TopK[], MuonCompressorParameters_RowColumn[], MuonCompressorParameters_RankK[], MuonCompressorParameters_TopSVD[];
PETSC_INTERN const MuonParameter MuonCompressorParameters_PowerSGD[], MuonCompressorParameters_QSGD[];

/*
   An error of a parameter or an argument: names the key with its prefix and, where it is known, the layer. The
   message begins with the value
*/
#define MuonCompressorCheck(c, condition, code, key, message, ...) \
  PetscCheck(condition, PetscObjectComm((PetscObject)(c)), code, "-%scompressor%s%s%s: " message, MuonCompressorPrefix_Private(c), key, (c)->layer != NULL ? " of layer " : "", (c)->layer != NULL ? (c)->layer : "", __VA_ARGS__)

/* The format of values: an uncompressed message is native, or single if that was set */
static inline MuonCompressorValues MuonCompressorValuesOf(MuonCompressor c)
{
  if (c->assignment) return c->values == MUON_COMPRESSOR_VALUES_SINGLE ? c->values : MUON_COMPRESSOR_VALUES_NATIVE;
  return (int)c->values == PETSC_DETERMINE ? MUON_COMPRESSOR_VALUES_SINGLE : c->values;
}

static inline const char *MuonCompressorPrefix_Private(MuonCompressor c)
{
  return ((PetscObject)c)->prefix != NULL ? ((PetscObject)c)->prefix : "";
}
