#pragma once

#include <petscmuon/private/muonlayerimpl.h>

/* Whose numbers a state has: those of the rows here, each rank of a worker the same, or those of entries, in the shape of the layer's state */
typedef enum {
  MUON_SLOT_OWN,
  MUON_SLOT_ALIKE,
  MUON_SLOT_ENTRYWISE
} MuonSlotKind;

/* What a slot keeps of a block from step to step, and what it becomes when the step is committed; on the host but for what is entrywise */
typedef struct {
  MuonArray    now, next;
  char         name[64];
  MuonSlotKind kind;
} MuonSlotState;

/* Where the weights have a norm to keep, the new ones of a block are keep X + by D, whatever rate and decay are */
typedef struct {
  PetscBool held;
  double    keep, by;
} MuonSlotStep;

/*
   A slot is what happens to the matrix of a block before its LMO, to the point of the norm ball after it, or to the weights
   that this point moves: rows of parameters, and a routine. Each is a folder of src/layer/slots and a line of the table in slots.c.

   Slots act at the owner of a layer: nothing of them is sent between workers. Where the rows of a layer are spread over
   the ranks of a worker the routine gets the rows that are here, and is collective on these ranks.
*/
typedef struct {
  const char          *name; /* the key that chooses it, and what its state is called */
  MuonSlotPlace        place;
  const MuonParameter *rows; /* for all layers behind "muon_layer_", of one behind its name */
  size_t               size; /* of the data that the rows are of */
  PetscBool (*chosen)(const void *data);
  PetscErrorCode (*setup)(MuonLayer, void *data, PetscInt *nstates, MuonSlotKind kind[2]); /* what is kept of each block: the first state, and the others */
  /*
     B = what becomes of the block A. Before the LMO A may be only read, and where gradient() says so B begins as the gradient that the server's momentum
     took in, or as A where it has none; after it B is A, and where weights are moved B are the old ones, which may be only read
  */
  PetscErrorCode (*apply)(MuonLayer, void *data, MuonSlotState state[], const MuonLayerStepInfo *info, MuonSlotStep *, const MuonMatrix *A, const MuonArray *B, MuonStatus *);
  PetscErrorCode (*view)(MuonLayer, void *data, const MuonSlotState state[], PetscViewer);
  PetscBool (*gradient)(const void *data); /* NULL for no */
} MuonSlotOps;

PETSC_INTERN const MuonSlotOps MuonSlotBefore, MuonSlotAfter, MuonSlotHyperball;

/* The state of all slots, in the data of a layer's optimizer: by slots, then by blocks */
#define MUON_SLOTS_MOST 8
typedef struct {
  PetscInt       count[MUON_SLOTS_MOST], nstates;
  MuonSlotState *state;
  MuonSlotStep   step; /* of the block that is moved */
} MuonSlots;

PETSC_INTERN PetscErrorCode MuonSlotsRegister(void);
PETSC_INTERN PetscErrorCode MuonSlotsCreate(MuonLayer);
PETSC_INTERN PetscErrorCode MuonSlotsSetUp(MuonLayer, MuonSlots *);
PETSC_INTERN PetscErrorCode MuonSlotsApply(MuonLayer, MuonSlots *, MuonSlotPlace, PetscInt b, const MuonLayerStepInfo *, const MuonMatrix *A, const MuonArray *B, MuonStatus *);
PETSC_INTERN PetscErrorCode MuonSlotsCommit(MuonSlots *);
PETSC_INTERN PetscErrorCode MuonSlotsVisitState(MuonLayer, MuonSlots *, MuonStateVisitor *);
PETSC_INTERN PetscErrorCode MuonSlotsView(MuonLayer, const MuonSlots *, PetscViewer);
PETSC_INTERN PetscErrorCode MuonSlotsReset(MuonSlots *);

/* The Euclidean norms size[k] 2^exponent[k] of the rows or columns of a matrix, in scratch of which the caller has the mark */
typedef struct {
  PetscBool rows;
  size_t    count, length; /* of those here, and of the entries of each, wherever these are */
  double   *size, *weight, *f0, *f1;
  int      *exponent;
} MuonSlotVectors;
/* Of A, over all ranks that have entries of it */
PETSC_INTERN PetscErrorCode MuonSlotGetNorms(MuonLayer, const MuonMatrix *A, PetscBool rows, MuonSlotVectors *, MuonStatus *);
/* Both arrays of a state, of this shape, precision and memory, zeros at first; and vectors of doubles of this length */
PETSC_INTERN PetscErrorCode MuonSlotMakeArray(const MuonArray *like, MuonSlotState *);
PETSC_INTERN PetscErrorCode MuonSlotMakeState(size_t count, MuonSlotState *);
/* A mean over the steps takes the place of the norms: the roots of next = beta now + (1 - beta) norm^2 / over */
PETSC_INTERN PetscErrorCode MuonSlotAverage(MuonSlotVectors *, double beta, double over, MuonSlotState *);
/* B = A with each vector times its weight over its norm, and 0 where that is 0 */
PETSC_INTERN PetscErrorCode MuonSlotDivide(const MuonMatrix *A, const MuonSlotVectors *, const MuonArray *B);
