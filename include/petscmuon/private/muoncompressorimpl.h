#pragma once

#include <petscmuon/private/petscmuonimpl.h>
#include <petscmuoncompressor.h>

PETSC_INTERN PetscLogEvent MUON_Compress;
PETSC_INTERN PetscBool     MuonCompressorRegisterAllCalled;

/* For PetscCitationsRegister(), here and in the optimizer */
PETSC_INTERN const char MuonCitationEF21[];
PETSC_INTERN PetscBool  MuonCitationEF21Set;
PETSC_INTERN const char MuonCitationNatural[];
PETSC_INTERN PetscBool  MuonCitationNaturalSet;
PETSC_INTERN const char MuonCitationPowerSGD[];
PETSC_INTERN PetscBool  MuonCitationPowerSGDSet;

/* What the messages of an m x n layer look like: form and values are a MuonWireForm and a MuonWireValues */
typedef struct {
  int        form, values;
  int        parameter; /* of the header; 0 where the type leaves it */
  PetscInt64 count;     /* entries, kept entries or rank */
  PetscBool  exact;     /* every message has so many, else at most so many */
  PetscReal  chance;    /* that a message has any; 0 where the type leaves it, which is certainty */
  PetscBool  ownindex;  /* an index costs the bits that number the entries, whatever MuonCompressorSetPaperIndexBits() says */
} MuonCompressorLayout;

/*
   A type turns arrays into payloads in plain codecs; the interface checks, writes the headers, makes messages compact and plain again, and refuses those that do not fit the layout, so that decode() meets
   none of them.

   encode() writes the payload of C(T - R), R NULL being zero, and gives the count of it; where it cannot it sets status and leaves the rest.
   decode() does Y = Y + scale C where add is true, and Y = C else.
   validate() refuses payloads whose sections are in order and that encode() does not write all the same; a type may do without.
   Types know nothing of blocks: m and n are those of a block, T, R and Y point into the layer. Where the layer has blocks commit() is called for each.
   copy() gives another object of the type the choices that the interface does not know of, choices() says them all, each with its name; describe() says in few words how much is kept, for tables; getmemory() how many
   bytes of state are kept from message to message. A type may do without any of them.
*/
struct _MuonCompressorOps {
  PetscErrorCode (*setfromoptions)(MuonCompressor, MuonOptionItems);
  PetscErrorCode (*layout)(MuonCompressor, PetscInt m, PetscInt n, MuonCompressorLayout *);
  PetscErrorCode (*encode)(MuonCompressor, PetscInt m, PetscInt n, const PetscScalar T[], PetscInt ldt, const PetscScalar R[], PetscInt ldr, PetscInt64 *count, unsigned char payload[]);
  PetscErrorCode (*decode)(MuonCompressor, PetscInt m, PetscInt n, PetscInt64 count, const unsigned char payload[], PetscBool add, PetscReal scale, PetscScalar Y[], PetscInt ldy);
  PetscErrorCode (*validate)(MuonCompressor, PetscInt m, PetscInt n, PetscInt64 count, const unsigned char payload[], PetscBool *valid);
  PetscErrorCode (*alpha)(MuonCompressor, PetscInt m, PetscInt n, PetscReal *);
  PetscErrorCode (*commit)(MuonCompressor);
  PetscErrorCode (*copy)(MuonCompressor from, MuonCompressor to);
  PetscErrorCode (*choices)(MuonCompressor, size_t length, char text[]);
  PetscErrorCode (*describe)(MuonCompressor, size_t length, char text[]);
  PetscErrorCode (*getmemory)(MuonCompressor, PetscLogDouble *bytes);
  PetscErrorCode (*view)(MuonCompressor, PetscViewer);
  PetscErrorCode (*reset)(MuonCompressor);
  PetscErrorCode (*destroy)(MuonCompressor);
};

struct _p_MuonCompressor {
  PETSCHEADER(struct _MuonCompressorOps);
  /* what the user chose */
  PetscReal            ratio;
  PetscInt             rank;
  PetscInt             bits; /* of a quantized entry */
  MuonCompressorValues values;
  PetscInt             paperbits; /* of an index in the paper's accounting */
  /* whose messages these are */
  PetscInt64   seed;
  char        *layer; /* NULL until known */
  unsigned int layerhash;
  PetscInt     sender, direction, step;
  MuonBlocks   blocks;
  /* what is at work: the hash of a block and its number, for which a type that has state keeps one; that of the layer and 0 where it is whole */
  unsigned int parthash;
  PetscInt     block;

  PetscBool     assignment; /* set by the type: the message is T itself, whatever R is */
  PetscBool     othernorm;  /* set by the type: alpha is of another norm than Frobenius' */
  MuonStatus    status;
  MuonWorkspace work;
  void         *data;
};

PETSC_INTERN PetscErrorCode MuonCompressorSetUp_Private(MuonCompressor);
/*
   The blocks of an m x n layer: how many there are, 1 where it is compressed whole, as assignments are; an error where they do not fit. From Begin on a type is at work on one block, or on the layer, by its hash and its
   number. Nothing but the type's operations looks at these, so that there is nothing to be put back, after an error either.
*/
PETSC_INTERN PetscErrorCode MuonCompressorCountBlocks_Private(MuonCompressor, PetscInt m, PetscInt n, PetscInt *count);
PETSC_INTERN PetscErrorCode MuonCompressorBeginBlock_Private(MuonCompressor, PetscInt count, PetscInt b, PetscInt m, PetscInt n, MuonBlock *);
/* Type and choices of one object for another, not whose messages it writes */
PETSC_INTERN PetscErrorCode MuonCompressorCopyOptions_Private(MuonCompressor from, MuonCompressor to);
/* Bytes that are kept from message to message */
PETSC_INTERN PetscErrorCode MuonCompressorGetMemory_Private(MuonCompressor, PetscLogDouble *);
/* The keys of the type alone: for an object that got its type from other keys than the rest of its choices */
PETSC_INTERN PetscErrorCode MuonCompressorTypeSetFromOptions_Private(MuonCompressor);
/* Everything that MuonCompressorCopyOptions_Private() copies, in words: objects that say the same encode and decode alike */
PETSC_INTERN PetscErrorCode MuonCompressorChoices_Private(MuonCompressor, size_t length, char text[]);
/* The type and how much it keeps, as one entry of a table */
PETSC_INTERN PetscErrorCode MuonCompressorDescribe_Private(MuonCompressor, size_t length, char text[]);
PETSC_INTERN PetscErrorCode MuonCompressorSetWorkspace(MuonCompressor, MuonWorkspace);
PETSC_INTERN PetscErrorCode MuonCompressorGetWorkspace(MuonCompressor, MuonWorkspace *);
/* Y = Y + scale C where add is true, and Y = C else, if the message is one that MuonCompressorValidate() accepts; where valid is not true Y stays as it was, but for the blocks before the one that is not */
PETSC_INTERN PetscErrorCode MuonCompressorDecodeValid_Private(MuonCompressor, PetscBool add, PetscReal scale, size_t bytes, const unsigned char buf[], Mat Y, PetscBool *valid);
/* The same where the message was accepted before: one that is not is an error */
PETSC_INTERN PetscErrorCode MuonCompressorDecodeChecked_Private(MuonCompressor, PetscBool add, PetscReal scale, size_t bytes, const unsigned char buf[], Mat Y);
/* MuonCompressorEncode() and MuonCompressorValidate() that tell the cost of a message, where there is one, from the plain payload that they have at hand; cost may be NULL */
PETSC_INTERN PetscErrorCode MuonCompressorEncodeCost_Private(MuonCompressor, Mat T, Mat R, size_t capacity, unsigned char buf[], size_t *bytes, MuonCompressorCost *cost);
PETSC_INTERN PetscErrorCode MuonCompressorValidateCost_Private(MuonCompressor, PetscInt m, PetscInt n, size_t bytes, const unsigned char buf[], PetscBool *valid, MuonCompressorCost *cost);
/* Bits of one message of an m x n layer by the formula of the EF21-Muon paper: a function of the sizes alone */
PETSC_INTERN PetscErrorCode MuonCompressorGetPaperBits(MuonCompressor, PetscInt, PetscInt, PetscLogDouble *);

/* The width of the values of a compressor of type identity, which is native otherwise */
PETSC_INTERN PetscErrorCode MuonCompressorIdentitySetValues_Private(MuonCompressor, MuonCompressorValues);

/* An error of a user's choice: names the key with its prefix and, where it is known, the layer. The message begins with what was chosen */
#define MuonCompressorCheck(c, condition, code, key, message, ...) \
  PetscCheck(condition, PetscObjectComm((PetscObject)(c)), code, "-%scompressor%s%s%s: " message, MuonCompressorPrefix_Private(c), key, (c)->layer != NULL ? " of layer " : "", (c)->layer != NULL ? (c)->layer : "", __VA_ARGS__)

static inline const char *MuonCompressorPrefix_Private(MuonCompressor c)
{
  return ((PetscObject)c)->prefix != NULL ? ((PetscObject)c)->prefix : "";
}
