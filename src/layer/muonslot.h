#pragma once

#include <petscmuon/private/muonlayerimpl.h>

/* The distribution of a state: for the rows here, the same on each rank of a worker, or entrywise, in the shape of the layer's state */
typedef enum {
  MUON_SLOT_OWN,
  MUON_SLOT_ALIKE,
  MUON_SLOT_ENTRYWISE
} MuonSlotKind;

/* The state of a slot for a block, and its value after the commit; on the host unless it is entrywise */
typedef struct {
  MuonArray    now, next;
  char         name[64];
  MuonSlotKind kind;
} MuonSlotState;

/* If the weights keep their norm, the new ones of a block are keep X + by D, for any rate and decay */
typedef struct {
  PetscBool held;
  double    keep, by;
} MuonSlotStep;

/*
   A slot changes the matrix of a block before its LMO, the LMO's point, or the weights that it updates: rows of parameters, and a
   routine. Each is a folder of src/layer/slots and a line of the table in slots.c.

   Slots act at the owner of a layer and send nothing between workers. If the rows of a layer are distributed over the ranks of a
   worker, the routine gets the rows here and is collective on these ranks.
*/
typedef struct {
  const char          *name; /* the key that chooses it, and what its state is called */
  MuonSlotPlace        place;
  const MuonParameter *rows; /* for all layers behind "muon_layer_", of one behind its name */
  size_t               size; /* of the data that the rows are of */
  PetscBool (*chosen)(const void *data);
  PetscErrorCode (*setup)(MuonLayer, void *data, PetscInt *nstates, MuonSlotKind kind[2]); /* kinds of a block's first and other arrays */
  /*
     B = the changed block A. Before the LMO A is read only, and where gradient() says so B initially is the gradient that entered the server's momentum, or A without one.
     After the LMO B is A. For the update of weights B are the old weights, read only
  */
  PetscErrorCode (*apply)(MuonLayer, void *data, MuonSlotState state[], const MuonLayerStepInfo *info, MuonSlotStep *, const MuonMatrix *A, const MuonArray *B, MuonStatus *);
  PetscErrorCode (*view)(MuonLayer, void *data, const MuonSlotState state[], PetscViewer);
  PetscBool (*gradient)(const void *data); /* NULL for no */
} MuonSlotOps;

PETSC_INTERN const MuonSlotOps MuonSlotBefore, MuonSlotAfter, MuonSlotHyperball;

/* The state of all slots of a layer: by slots, then by blocks; or that of a type of layers */
#define MUON_SLOTS_MOST 8
struct _n_MuonSlots {
  void          *data[MUON_SLOTS_MOST]; /* of the rows */
  PetscInt       count[MUON_SLOTS_MOST], nstates;
  MuonSlotState *state;
  MuonSlotStep   step; /* of the block that is moved */
};

PETSC_INTERN PetscErrorCode MuonSlotsRegister(void);
PETSC_INTERN PetscErrorCode MuonSlotsCreate(MuonLayer);
PETSC_INTERN PetscErrorCode MuonSlotsSetUp(MuonLayer);
PETSC_INTERN PetscErrorCode MuonSlotsView(MuonLayer, PetscViewer);
/* Operations of types of layers that have slots, or state of this form */
PETSC_INTERN PetscErrorCode MuonSlotsApply(MuonLayer, MuonSlotPlace, PetscInt b, const MuonLayerStepInfo *, const MuonMatrix *A, const MuonArray *B, MuonStatus *);
PETSC_INTERN PetscErrorCode MuonSlotsCommit(MuonLayer);
PETSC_INTERN PetscErrorCode MuonSlotsVisitState(MuonLayer, MuonStateVisitor *);
PETSC_INTERN PetscErrorCode MuonSlotsReset(MuonLayer);

/* The Euclidean norms size[k] 2^exponent[k] of the rows or columns of a matrix, in scratch that the caller releases */
typedef struct {
  PetscBool rows;
  size_t    count, length; /* of those here, and of the entries of each, wherever these are */
  double   *size, *weight, *f0, *f1;
  int      *exponent;
} MuonSlotVectors;
/* Of A, over all ranks that have entries of it */
PETSC_INTERN PetscErrorCode MuonSlotGetNorms(MuonLayer, const MuonMatrix *A, PetscBool rows, MuonSlotVectors *, MuonStatus *);
/* Creates both arrays of a state with this shape, precision and memory, as zeros; and vectors of doubles of this length */
PETSC_INTERN PetscErrorCode MuonSlotMakeArray(const MuonArray *like, MuonSlotState *);
PETSC_INTERN PetscErrorCode MuonSlotMakeState(size_t count, MuonSlotState *);
/* Replaces the norms by means over the steps: the roots of next = beta now + (1 - beta) norm^2 / over */
PETSC_INTERN PetscErrorCode MuonSlotAverage(MuonSlotVectors *, double beta, double over, MuonSlotState *);
/* B = A with each vector times its weight over its norm, and 0 where that is 0 */
PETSC_INTERN PetscErrorCode MuonSlotDivide(const MuonMatrix *A, const MuonSlotVectors *, const MuonArray *B);
