/*
   The point D of a unit ball in its natural format: how a message is made of it, and D of a message, column by column. One kind for each form of message, whatever norm it belongs to.
*/
#pragma once

#include <petscmuon/private/muonlmoimpl.h>
#include "../wire/muonwire.h"

/* A message, or D = 0 where count is 0; the arrays are in MUON_WORK_LMO_C and MUON_WORK_LMO_D */
typedef struct {
  MuonWireForm       form;
  PetscInt           m, n;
  PetscInt64         count;
  PetscReal          magnitude; /* the dual norm */
  PetscInt64         place;     /* the entry of a sparse message, by rows; the column of a message of columns */
  const PetscScalar *u, *v;     /* -D is u v^T, or u in one column */
  const int64_t     *code;      /* of each row or column: 2 place + (1 where D is positive there), or -1 */
  const int64_t     *head, *next;
} MuonLMOPoint;

/* The most things of which a message of an m x n layer tells */
PETSC_INTERN PetscInt64     MuonLMOMost_Private(MuonLMO, PetscInt m, PetscInt n);
PETSC_INTERN MuonWireValues MuonLMOCodec_Private(void);
/* The header of a message of count things */
PETSC_INTERN PetscErrorCode MuonLMOHeader_Private(MuonLMO, PetscInt m, PetscInt n, PetscInt64 count, MuonWireMessage *);
/* D of a finite or infinite G as a payload; sets the status and the last dual norm, and writes nothing where the status is not OK. No event */
PETSC_INTERN PetscErrorCode MuonLMOPayload_Private(MuonLMO, Mat G, PetscInt64 *count, unsigned char payload[]);
/* What the wire room cannot know of a payload whose sizes are right */
PETSC_INTERN PetscErrorCode MuonLMOPayloadCheck_Private(MuonLMO, PetscInt m, PetscInt n, PetscInt64 count, const unsigned char payload[], PetscBool *valid);
PETSC_INTERN PetscErrorCode MuonLMOPointOpen_Private(MuonLMO, PetscInt m, PetscInt n, PetscInt64 count, const unsigned char payload[], MuonLMOPoint *);
/* d[0..m) = column j of D */
PETSC_INTERN PetscErrorCode MuonLMOPointColumn_Private(const MuonLMOPoint *, PetscInt j, PetscScalar d[]);
