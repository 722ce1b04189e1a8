/*
   The optimizer inside: one driver owns the round of a step, a type supplies small operations on one piece of a layer. Installed for types outside of the library; it may change.
*/
#pragma once

#include <petscmuon/private/petscmuonimpl.h>
#include <petscmuon/private/muonlayerimpl.h>
#include <petscmuon/private/muonexchangeimpl.h>
#include <petscmuon/private/muoncompressorimpl.h>
#include <petscmuon.h>

PETSC_EXTERN PetscLogEvent MUON_Step, MUON_Gradient, MUON_Momentum, MUON_Aggregate, MUON_Measure, MUON_SetUpEvent;

#define MAXMUONMONITORS 5

/* What every rank tells every other at the end of a step, in one call: what became of it and what monitors print */
typedef struct {
  double status, nans, loss, dual, up, down;
  double replica; /* checksum of what this rank is about to apply where others compute the same */
  double choices; /* hash of all that a step depends on and a user can set */
  double measure; /* this rank is going to look at what the step does, which all do together or none */
} MuonRecord;
#define MUON_RECORD_COUNT 9

typedef struct _n_MuonGroup *MuonGroup;

/*
   Rows of a layer that are encoded, moved and served as one; every rank knows all pieces. Arrays without data are not kept. State has the precision of -muon_state_precision, weights and their difference that of the layer
*/
typedef struct {
  MuonLayer   layer;
  MuonGroup   group;
  PetscInt    item;      /* its number in the group's exchange */
  PetscInt    row, rows; /* of the layer */
  const char *name;      /* enters random numbers and messages: the layer's where the piece is all of it */
  PetscBool   serves;
  double      previous, fresh; /* weights of momentum and gradient in this step */

  MuonCompressor up, down;            /* of this rank as a worker, and of the server */
  char          *up_type, *down_type; /* of the compressors at set-up, which decided what state there is */
  MuonDownlink   downlink;
  PetscBool      down_assigns;     /* what comes down are the weights, not a difference */
  MuonOpened     up_own, down_got; /* messages that were checked: what this rank sent, where the type needs it, and what came down */
  ptrdiff_t      own_at;           /* where up_own lies in the message that was sent, -1 where it has memory of its own */

  MuonArray      M;        /* momentum, where muon->momentum_at says */
  MuonArray      Mnew;     /* what it becomes at the commit, at a server */
  MuonArray      gradient; /* of the layer, borrowed for a step */
  MuonArray      T, Tnew;  /* worker: what it sends in this step, which becomes its momentum; in the layer's gradient, or in Tnew where that lies in memory that is not ours or has another precision */
  PetscBool      in_place; /* T is the layer's own gradient */
  MuonCompressor sent;     /* what T was sent with in this step */
  MuonArray      sum;      /* server: sum of what came, then what the type made of it; kept where the exchange writes it or keep_sum is set */
  PetscBool      keep_sum; /* set by the type in configure() */
  MuonArray      X, Xnew;  /* server: weights where the workers' differ from them, and what they become */
  void          *data;     /* the type's */
} MuonPiece;

/* Pieces that share an exchange: a communicator across workers, a partition, a mode. All ranks run the groups in the same order */
struct _n_MuonGroup {
  MuonExchange     exchange;
  MuonExchangeMode mode;
  PetscBool        direct; /* every rank computes the new weights of every piece: no message down */
  PetscInt         npieces;
  MuonPiece       *piece;
};

/* What a worker sends of a piece in this step: the driver fills it, a type may change it */
typedef struct {
  MuonCompressor   compressor;
  const MuonArray *T, *R; /* the message is of T, relative to R; where there is an R piece->up_own has what was sent, for commit() */
} MuonUpload;

/*
   Any may be NULL. configure() makes a type's sub-objects, so that their options can be compared between the ranks; setup() allocates its state when owners are known.

   In a step the driver calls, for each piece: momentum() may change the weights piece->previous and piece->fresh; worker() tells what is sent, T being the new momentum; aggregate() turns the sum of what came, of which there are
   count, into what momentum and oracle of the server see (the mean where it is NULL); apply() makes new weights of it (a step of the layer's rule where it is NULL); commit() changes the type's state, after all ranks have agreed.
   None of them returns early on numerical trouble: it sets status.
*/
struct _MuonOps {
  PetscErrorCode (*configure)(Muon);
  PetscErrorCode (*setup)(Muon, MuonPiece *);
  PetscErrorCode (*momentum)(Muon, MuonPiece *);
  PetscErrorCode (*worker)(Muon, MuonPiece *, MuonUpload *);
  PetscErrorCode (*aggregate)(Muon, MuonPiece *, const MuonArray *sum, PetscInt count);
  PetscErrorCode (*apply)(Muon, MuonPiece *, MuonLayerStepInfo *, const MuonArray *seen, const MuonArray *X, const MuonArray *Xnew, MuonStatus *);
  PetscErrorCode (*commit)(Muon, MuonPiece *);
  PetscErrorCode (*begin)(Muon, MuonRecord *);                                                           /* before a step's round */
  PetscErrorCode (*look)(Muon, MuonPiece *, PetscBool after, const MuonArray *Xnew, const MuonArray *W); /* at the commit, before and after the workers' weights get the message that is to bring them to Xnew */
  PetscErrorCode (*end)(Muon);                                                                           /* after the commit of all pieces */
  PetscErrorCode (*visitstate)(Muon, MuonPiece *, MuonStateVisitor *);
  PetscErrorCode (*setfromoptions)(Muon, MuonOptionItems);
  PetscErrorCode (*setobjectsfromoptions)(Muon);   /* the type's sub-objects, which begin options of their own */
  PetscErrorCode (*choices)(Muon, size_t, char[]); /* what was chosen beside compressors and must be the same on all ranks */
  PetscErrorCode (*view)(Muon, PetscViewer);
  PetscErrorCode (*reset)(Muon);
  PetscErrorCode (*destroy)(Muon);
};

struct _p_Muon {
  PETSCHEADER(struct _MuonOps);
  PetscMPIInt                 rank, size;
  PetscInt                    nlayers, maxlayers;
  MuonLayer                  *layer; /* in the order they were added */
  PetscInt                    nactive;
  MuonLayer                  *active; /* those that are not frozen */
  PetscInt                    ngroups;
  MuonGroup                  *group;
  PetscInt                    npieces;
  MuonPiece                  *piece; /* of all groups, one group behind the other */
  MuonExchange                exchange;
  MuonWorkspace               work;
  MuonObjectiveAndGradientFn *objective;
  void                       *objectivectx;

  PetscReal          learning_rate, momentum, dampening, weight_decay, schedule_constant;
  MuonScheduleType   schedule;
  PetscInt           schedule_warmup, max_steps;
  MuonMomentumStyle  momentum_style;
  MuonNesterovType   nesterov;
  PetscInt           momentum_at; /* MuonMomentumAt, or PETSC_DETERMINE for the type's own */
  PetscBool          momentum_atset;
  MuonMomentumAt     momentum_default; /* set by the type */
  MuonShapeFactor    shape_factor;
  MuonStatePrecision state_precision;
  PetscInt64         seed;
  MuonNaNPolicy      nan;
  PetscBool          error_if_not_converged, count_entropy;

  PetscBool           setupcalled, setfromoptionscalled, optionschecked;
  PetscInt            step;
  PetscReal           loss, dual, rate; /* of the last step */
  PetscInt64          nancount;
  PetscLogDouble      meanup, meandown; /* encoded bits of this step, mean over the ranks */
  MuonConvergedReason reason;
  MuonTraffic         traffic;
  PetscObjectState    chosen;  /* the sum of the states of all objects that have options, when texts was computed */
  unsigned int        choices; /* hash of what these say */

  PetscInt       nmonitors, monitorinterval;
  MuonMonitorFn *monitor[MAXMUONMONITORS];
  void          *monitorctx[MAXMUONMONITORS];
  PetscErrorCode (*monitordestroy[MAXMUONMONITORS])(void **);
  char *csv;

  struct _n_MuonCheckpoints *checkpoints; /* NULL until one is saved */

  void *data;
};

PETSC_EXTERN PetscErrorCode MuonCreate_EF21(Muon);
PETSC_EXTERN PetscErrorCode MuonCreate_Dense(Muon);

/* The first status that is not MUON_STATUS_OK stays */
static inline void MuonStatusMerge(MuonStatus status, MuonStatus *first)
{
  if (*first == MUON_STATUS_OK) *first = status;
}

/* The rows of the piece out of an array of the layer's shape */
static inline MuonArray MuonPiecePart(const MuonPiece *piece, const MuonArray *whole)
{
  return MuonArrayPart(whole, (size_t)piece->row, 0, (size_t)piece->rows, MuonArrayColumns(whole));
}

/* Shape, order and precision of the piece's state */
PETSC_EXTERN PetscErrorCode MuonPieceGetStateShape(Muon, const MuonPiece *, MuonArray *);
PETSC_EXTERN PetscErrorCode MuonPieceFind(Muon, MuonLayer, MuonPiece **);
/* For a type's own kind of error message: the optimizer's prefix, never NULL */
PETSC_EXTERN const char *MuonPrefix(Muon);
/* An error where these do not go together */
PETSC_INTERN PetscErrorCode MuonCheckMomentum_Private(Muon, PetscInt at, MuonMomentumStyle, MuonNesterovType);

/* Names the keys that no object reads, each with the nearest one that exists */
PETSC_INTERN PetscErrorCode MuonCheckOptions_Private(Muon);
/* Rate, decay and radius of this step for a layer */
PETSC_EXTERN PetscErrorCode MuonGetStepInfo(Muon, MuonLayer, MuonLayerStepInfo *);
/* Ranks that differ in layers, options or weights raise one error that names the layer */
PETSC_INTERN PetscErrorCode MuonCheckRanksAgree_Private(Muon);
/* What a layer takes over from the optimizer where it has no choice of its own */
PETSC_INTERN PetscErrorCode MuonInheritChoices_Private(Muon, MuonLayer);
/* Hash of all that a step depends on */
PETSC_INTERN PetscErrorCode MuonHashChoices_Private(Muon, unsigned int *);
PETSC_INTERN PetscErrorCode MuonResetPieces_Private(Muon);
PETSC_INTERN PetscErrorCode MuonCheckPieces_Private(Muon);
/* Worker, exchange, server, exchange, agreement, commit */
PETSC_INTERN PetscErrorCode MuonRound_Private(Muon, PetscReal loss);
/* Every rank learns what became of the step; ok where it can be committed everywhere */
PETSC_INTERN PetscErrorCode MuonAgree_Private(Muon, MuonRecord *, PetscBool *ok);
/* All state of an optimizer, piece by piece, in one order */
PETSC_EXTERN PetscErrorCode MuonVisitState(Muon, MuonStateVisitor *);
/* Lets go of the folder of checkpoints */
PETSC_INTERN PetscErrorCode MuonCheckpointsDestroy_Private(Muon);
PETSC_INTERN PetscErrorCode MuonMonitorSetFromOptions_Private(Muon);
/* Whether monitors speak of this step: every interval-th one, and the last */
PETSC_EXTERN PetscBool MuonMonitorSpeaks(Muon, PetscInt step);
/* A monitor whose context is the viewer of a key, where the key is set; a viewer that it has already is not given twice */
PETSC_EXTERN PetscErrorCode MuonMonitorViewerFromOptions(Muon, const char key[], MuonMonitorFn *, PetscBool *set);
