/*
   The point D of a unit ball in its natural format: how a message is made of it, and D of a message, line by
   line. One kind for each form of message, whatever norm it belongs to.
*/
#pragma once

#include <petscmuon/private/muonlmoimpl.h>
#include <petscmuon/private/muonwire.h>

/*
   What messages look like for arrays of a shape. Rows and columns are those of the matrix, whichever way it
   lies, as the forms of steps tell of rows and columns; the number of the one entry of a sparse message is in
   the order of the memory
*/
typedef struct {
  MuonWireForm   form;
  MuonWireValues values; /* of the precision of the array */
  PetscInt64     rows, columns, most;
  PetscBool      rowmajor;
} MuonLMOFormat;

/* A message, or D = 0 where count is 0; the arrays are scratch, of which the caller has the mark */
typedef struct {
  MuonLMOFormat  format;
  PetscInt64     count;
  double         magnitude; /* the dual norm */
  PetscInt64     place;     /* the entry of a sparse message; the column of a message of columns */
  const double  *u, *v;     /* -D is u v^T, or u in one column */
  const int64_t *code;      /* of each row or column: 2 place + (1 where D is positive there), or -1 */
  const int64_t *head, *next;
} MuonLMOPoint;

PETSC_INTERN PetscErrorCode MuonLMOGetFormat_Private(MuonLMO, const MuonArray *shape, MuonLMOFormat *);
/* The header of a message of count things */
PETSC_INTERN PetscErrorCode MuonLMOHeader_Private(MuonLMO, const MuonLMOFormat *, PetscInt64 count, MuonWireMessage *);
/*
   D of G as a payload; sets the status and the last dual norm, and writes nothing where the status is not OK.
   No event
*/
PETSC_INTERN PetscErrorCode MuonLMOPayload_Private(MuonLMO, const MuonArray *G, PetscInt64 *count, unsigned char payload[]);
/* What the wire room cannot know of a payload whose sizes are right */
PETSC_INTERN PetscErrorCode MuonLMOPayloadCheck_Private(MuonLMO, const MuonLMOFormat *, PetscInt64 count, const unsigned char payload[], PetscBool *valid);
PETSC_INTERN PetscErrorCode MuonLMOPointOpen_Private(MuonLMO, const MuonLMOFormat *, PetscInt64 count, const unsigned char payload[], MuonLMOPoint *);
/* d = line number j of D, an array of one line of the memory in any precision */
PETSC_INTERN PetscErrorCode MuonLMOPointLine_Private(MuonLMO, const MuonLMOPoint *, PetscInt64 j, const MuonArray *d);
