/*
   The optimizer inside: one driver owns the round of a step, a type supplies small operations on one shard of
   a layer. Installed for types outside of the library; it may change.
*/
#pragma once

#include <petscmuon/private/muonlayerimpl.h>
#include <petscmuon/private/muonexchangeimpl.h>
#include <petscmuon/private/muoncompressorimpl.h>
#include <petscmuon/private/muonassemblyimpl.h>
#include <petscmuon/private/muonport.h>
#include <petscmuon.h>

PETSC_EXTERN PetscLogEvent MUON_Step, MUON_Gradient, MUON_Momentum, MUON_Aggregate, MUON_Measure, MUON_SetUpEvent;

/*
   The record that every rank sends to every other at the end of a step, in one call: its status and numbers for monitors
*/
typedef struct {
  double status; /* a MuonStatus, or the error of the program's routine if negative */
  double nans, loss, dual, up, down;
  double options; /* hash of all parameters of a step that a user can set */
  double measure; /* this rank will measure the step, which all ranks do or none */
  /*
     The first active layer without a gradient here that the caller did not declare; the number of layers if there is none, more
     if a gradient was ready twice, -1 without any gradient
  */
  double missing;
  double save;  /* this rank asks to save the state behind the step */
  double score; /* this rank's part of the score of a group's operations */
} MuonRecord;
#define MUON_RECORD_COUNT 11

typedef struct _n_MuonGroup      *MuonGroup;
typedef struct _n_MuonWorkerGrid *MuonWorkerGrid;
typedef struct _n_MuonRounds     *MuonRounds;
typedef struct _MuonGroupOps      MuonGroupOps;
typedef struct _MuonUpOps         MuonUpOps;
typedef struct _MuonDownOps       MuonDownOps;

/*
   How the ranks of an optimizer are cut into workers of size ranks each; a worker has one gradient. This rank
   is at a position in a worker
*/
struct _n_MuonWorkerGrid {
  PetscMPIInt  size, position, nworkers, worker;
  PetscMPIInt *worker_of, *position_of; /* of all ranks */
  double      *weight;                  /* of all workers, with the mean 1; NULL where all are equal */
  double       share;                   /* of this rank in the mean over its worker's ranks, times their number */
  /*
     This rank's worker; the ranks of the same position in all workers. Both are MPI_COMM_NULL where every rank
     is a worker: it is alone inside, and the optimizer's communicator is across
  */
  MPI_Comm inside, across;
};

/*
   Data of one round of one shard, from the gradient to the new weights. Arrays are borrowed, but Tnew and change
*/
typedef struct {
  MuonLayerStepInfo info;             /* rate, decay, radius, momentum; what the step reports */
  MuonArray         gradient;         /* of the layer */
  MuonArray         T;                /* worker: what it sends, which becomes its momentum */
  MuonArray         Tnew;             /* memory for T where the gradient's is not ours, has another precision or is needed for the next one */
  MuonArray         input;            /* server of several ranks: of the LMO */
  MuonArray         step;             /* server: the step that the commit takes */
  MuonArray         change;           /* server: of the weights, which the correction adds; that of round[1] is the one before */
  MuonCompressor    sent;             /* what T was sent with */
  MuonValidated     up_own, down_got; /* validated messages: what this rank sent, where the type needs it, and the server's */
  double            figure[4];        /* bytes of this rank's messages up and down; lags, where they are measured */
} MuonRound;

/*
   Rows of a layer that are encoded, moved and owned as one; every rank knows all shards. Arrays without data
   are not kept. State has the precision of -muon_state_precision, weights and their difference that of the
   layer
*/
typedef struct _n_MuonShard {
  Muon      muon;
  MuonLayer layer;
  MuonGroup group;
  PetscInt  row, rows; /* of the layer */
  MuonPort *port;
  char     *name; /* enters random numbers and messages: the layer's where the shard is all of it */

  MuonCompressor up, down; /* of this rank as a worker, and of the server; their types are fixed at set-up */
  MuonDownlink   downlink;

  MuonArray M, Mnew;  /* momentum, where muon->momentum_at says, and at a server what it becomes at the commit */
  MuonArray sum;      /* server: sum of the messages, then what the type made of it; kept where the exchange writes it or MuonShardKeepsSum() */
  MuonArray X, Xnew;  /* server: weights where the workers' differ from them, and what they become; or the step that the commit takes, where the gradient's memory cannot have it */
  MuonArray weighted; /* what MPI sums, times the worker's weight where that is not 1 */
  void     *data;     /* the type's */

  MuonRound *round; /* depth of the group: round[0] is at work, MuonShardNext() is that of the gradients of this step */

} MuonShard;

/*
   What is assembled at a time of a server's shards: a block of a layer, or all of a shard whose optimizer updates
   each entry by itself
*/
typedef struct {
  MuonShard       *shard;
  PetscInt         number; /* of the block */
  MuonBlock        block;
  PetscInt         first, rows;  /* of the layer: those of the block that are here */
  PetscBool        begins, ends; /* the shard */
  MuonAssemblyKind kind;
} MuonItem;

/* A server of several ranks: blocks of a group's shards are assembled in it */
typedef struct {
  MuonAssembly assembly;
  PetscInt     nitems;
  MuonItem    *item;
} MuonServer;

/*
   Shards that share an exchange: a grid of the ranks, a communicator across its workers, owners, ways of messages.
   All ranks run the groups in the same order
*/
struct _n_MuonGroup {
  const MuonGroupOps *ops;
  void               *data; /* of the operations */
  MuonWorkerGrid      grid;
  MuonExchange        exchange;
  const MuonUpOps    *up;     /* how T comes to the servers */
  const MuonDownOps  *down;   /* how new weights come from them */
  MuonServer         *server; /* NULL where workers are one rank, or need no whole blocks */
  PetscInt            nshards;
  MuonShard          *shard;
  unsigned int        replica; /* checksum of what this rank is about to apply where others compute the same */
  unsigned int        alike;   /* and of what an addon has found before the step, which ranks with the same rows have, too */
  PetscInt            depth;   /* 1: a round ends in its step; 2: in the next one, while the next round begins */
};

/*
   The operations of a group's shards in a step: the driver has those of a mean, a type may have others. create() and
   destroy() are for group->data. setup() chooses the ways of messages, too. check() rejects, on all ranks, what a group cannot do, at set-up
   and in each step
*/
struct _MuonGroupOps {
  const char *bits; /* of entries that go up and are counted, by their name in a view: no shard has an owner, every worker steps each; NULL where owners step */
  PetscErrorCode (*create)(Muon, MuonGroup);
  PetscErrorCode (*setup)(Muon, MuonGroup); /* owners, ways, sizes of messages, assembly */
  PetscErrorCode (*check)(Muon, MuonGroup);
  PetscBool (*rowwise)(const MuonGroup);                                  /* nothing of a step needs whole blocks */
  PetscErrorCode (*servers)(Muon, MuonGroup, MuonRecord *, MuonStatus *); /* from the received messages to new weights at the servers and messages of them */
  PetscErrorCode (*getmemory)(MuonGroup, PetscLogDouble *);
  PetscErrorCode (*destroy)(MuonGroup);
  const char *score; /* what servers() adds to the record, as monitors call it; NULL for none */
};

/* A monitor of a type: the key of its viewer, and what makes steps measure what it prints */
typedef struct {
  const char    *key;
  MuonMonitorFn *monitor;
  PetscErrorCode (*measure)(Muon, PetscBool);
} MuonTypeMonitor;

/* What a worker sends of a shard in this step: the driver fills it, a type may change it */
typedef struct {
  MuonCompressor   compressor;
  const MuonArray *T, *R; /* the message is of T, relative to R; where there is an R shard->round->up_own has what was sent, for commit() */
  MuonStatus       status;
} MuonUpload;

/*
   Any may be NULL. configure() creates the type's data of the shards, so that ranks can compare options.

   In a step the driver calls for each shard: send() chooses the message for T, the new momentum. serve() turns the sum of count
   messages into the input of the server's momentum and LMO (the mean if it is NULL). commit() changes the type's state, after
   all ranks have agreed. None of them returns early on numerical trouble; it sets status.

   visitstate() names the state of a shard by MuonShardVisitArray(), which creates it at set-up, when owners are known.
   setfromoptions() is for sub-objects with their own options. Work beside the algorithm, once a step, is an addon registered
   with the type's name. An algorithm with a step of its own is a type of layers.
*/
struct _MuonOps {
  MuonMomentumAt         momentum_at; /* where the momentum is kept, if no option says it */
  PetscBool              asis;        /* see MuonShardIsAsIs() */
  const MuonTypeMonitor *monitor;
  const MuonGroupOps    *lmogroup; /* operations of the groups of layers of LMOs, NULL where a mean is formed of them, too */
  PetscErrorCode (*configure)(Muon);
  PetscErrorCode (*send)(Muon, MuonShard *, MuonUpload *);
  PetscErrorCode (*serve)(Muon, MuonShard *, const MuonArray *sum, PetscInt count);
  PetscErrorCode (*commit)(Muon, MuonShard *);
  PetscErrorCode (*visitstate)(Muon, MuonShard *, MuonStateVisitor *);
  PetscErrorCode (*setfromoptions)(Muon);
  PetscErrorCode (*view)(Muon, PetscViewer);
  PetscErrorCode (*reset)(Muon);
  PetscErrorCode (*destroy)(Muon);
};

/*
   An addon: work beside the algorithm. Each is a line of MuonRegisterAll() and a folder of src/muon/addons, with its own options, data and public
   functions. The optimizer knows this table only. It calls all addons in the order of their registration, on all ranks. An addon with the name of a
   type is called for optimizers of this type only. Operations may be NULL. Those of a step, in their order: start() before the gradients. begin()
   after them and before the workers' momenta; it may set fields of the record, of the groups and of the round, such as beta and gradient_weight; if
   the record's status is negative, there are no gradients. input() may replace the input of a layer's optimizer by scratch. differ() before the
   commit, if alike of a group differs between ranks with the same rows; it gives the reason. committing() before the commit, for which all ranks are
   ready; it may refuse it. look() during the commit, before and after the workers' weights W get the message for Xnew. end() after it, with ok if the
   step was taken. counted() after the step was counted, before show(), the monitors. saving() before the state is saved; it measures, and does not
   change the state. visitstate() names state that is saved, with layer and holder of the visitor. Data and texts of rows are freed with the
   optimizer, everything else by reset(), or by destroy() if it outlives a reset
*/
typedef struct {
  const MuonParameter *rows;      /* each with MUON_PARAMETER_DATA; NULL for none */
  size_t               size;      /* of the data: zeros and the defaults of the rows at MuonCreate() */
  const MuonParameter *layerrows; /* of each layer, behind "muon_layer_NAME_" */
  size_t               layersize;
  const char *const   *keys; /* options that are no rows, up to a NULL: they are known for misspelled ones. One that ends in _ is the prefix of a compressor */
  PetscErrorCode (*setfromoptions)(Muon, MuonOptionItems);
  PetscErrorCode (*configure)(Muon);                 /* in MuonSetUp(), when shards are known and before state is allocated */
  PetscErrorCode (*setup)(Muon);                     /* when it is */
  PetscErrorCode (*resume)(Muon, PetscBool fresh);   /* at the end of each MuonSetUp(); fresh: it made the state */
  PetscErrorCode (*schedule)(Muon, PetscBool *free); /* false: the addon gives the rates of steps, and no schedule is chosen where none was set */
  PetscErrorCode (*start)(Muon);
  PetscErrorCode (*begin)(Muon, MuonRecord *);
  PetscErrorCode (*input)(Muon, MuonShard *, MuonArray *);
  PetscErrorCode (*differ)(Muon);
  PetscErrorCode (*committing)(Muon, PetscBool *ok);
  PetscErrorCode (*look)(Muon, MuonShard *, PetscBool after, const MuonArray *Xnew, const MuonArray *W);
  PetscErrorCode (*end)(Muon, PetscBool ok);
  PetscErrorCode (*counted)(Muon, PetscInt step);
  PetscErrorCode (*show)(Muon, PetscInt step, PetscReal loss); /* when all addons have counted it: monitors, then what saves it */
  PetscErrorCode (*solved)(Muon);                              /* at the end of MuonSolve() */
  PetscErrorCode (*saving)(Muon);
  PetscErrorCode (*visitstate)(Muon, MuonStateVisitor *);
  PetscErrorCode (*view)(Muon, PetscViewer);
  PetscErrorCode (*reset)(Muon);
  PetscErrorCode (*destroy)(Muon);
} MuonAddonOps;

typedef struct {
  const char         *name;
  const MuonAddonOps *ops;
  void               *data;
  PetscBool           idle; /* of a type that the optimizer does not have */
} MuonAddon;

/* For the optimizers that are made afterwards. Names and rows are not copied. A type registers what every optimizer has of it under its own name */
PETSC_EXTERN PetscErrorCode MuonAddonRegister(const char name[], const MuonAddonOps *);
/* NULL where the optimizer has no such addon */
PETSC_EXTERN void *MuonAddonData(Muon, const char name[]);

#define MuonTryAddons(muon, op, ...) \
  do { \
    for (PetscInt addon_ = 0; addon_ < (muon)->naddons; addon_++) { \
      if ((muon)->addon[addon_].ops->op != NULL && (muon)->addon[addon_].idle == PETSC_FALSE) PetscCall((*(muon)->addon[addon_].ops->op)(__VA_ARGS__)); \
    } \
  } while (0)

struct _p_Muon {
  PETSCHEADER(struct _MuonOps);
  MuonParameters              parameters;
  PetscInt                    naddons;
  MuonAddon                  *addon;
  PetscMPIInt                 rank, size;
  PetscInt                    nlayers, maxlayers;
  MuonLayer                  *layer; /* in the order they were added */
  PetscInt                   *names; /* their numbers, from 1 on, by hashes of their names: twice maxlayers slots */
  PetscInt                    nactive;
  MuonLayer                  *active; /* those that are not frozen */
  PetscInt                    ngrids;
  MuonWorkerGrid             *grid;
  MuonPlace                  *place; /* of each layer */
  PetscInt                    ngroups;
  MuonGroup                  *group;
  PetscInt                    nshards;
  MuonShard                  *shard;    /* of all groups, one group behind the other */
  MuonExchange                exchange; /* what is chosen for all groups; where every rank is a worker it is the group's own. Ranks agree on it */
  MuonAssemblyOptions         assembly; /* of all groups */
  MuonWorkspace               work;
  MuonObjectiveAndGradientFn *objective;
  void                       *objectivectx;

  PetscInt           max_steps;
  MuonPortOptions    ports;
  MuonNesterovType   nesterov;
  int                momentum_at;  /* MuonMomentumAt, or PETSC_DETERMINE for the type's own */
  PetscBool          leaveswarned; /* that a polar factor may be outside of the unit ball, in sharp steps */
  MuonStatePrecision state_precision, downlink_precision;
  PetscInt64         seed;
  MuonNaNPolicy      nan;
  PetscBool          error_if_not_converged, count_entropy;

  /*
     Set by a type whose workers take steps alone, where nothing but the status goes to others: its other optimizer, whose state
     is saved with this one's
  */
  Muon nested;

  MuonWeightDecayStyle weight_decay_style;
  MuonClipLayers       clip_layers;
  PetscReal            clip;       /* 0 for none */
  double               clipfactor; /* of this step */

  PetscBool           setupcalled, setfromoptionscalled, optionschecked;
  PetscInt            step;
  PetscReal           loss, dual; /* of the last step */
  PetscInt64          nancount;
  PetscLogDouble      bytes[2];      /* handed to MPI in this step beside exchanges and assemblies; of these, what ports count as the rank's own */
  PetscLogDouble      counted[2][4]; /* bits up and down since the last status: three as in MuonTraffic, and those encoded that left this rank or came to it */
  PetscLogDouble      mean[2];       /* of the last over the ranks, in this step */
  MuonConvergedReason reason;
  PetscInt            nsums;     /* of the active layers, the first so many have no sum under way that began before the step */
  PetscBool           computing; /* the user's routine computes gradients, or failed when it did */
  struct {
    /*
       Of the round: the phase at work, and that in which this rank's status ceased to be MUON_STATUS_OK, -1 for
       none. What failed in one phase makes others fail in later ones. what without a rank is what the layer has
    */
    PetscInt    phase, at;
    MuonLayer   layer; /* at which, of this rank, and then of rank; NULL where it was none */
    PetscMPIInt rank;  /* the first that failed, -1 for none */
    const char *what;
  } failed;
  MuonTraffic traffic;

  PetscReal worker_weight; /* of this rank as it was set */
  double   *weights;       /* of all ranks, with the mean 1; NULL where all are equal, and before the set-up */

  PetscInt             monitor_interval;
  PetscReal            score;           /* of the last step, -1 where no group has one */
  PetscBool            save, continues; /* some rank asks to save the state; a run that was saved goes on: files of monitors too */
  unsigned int         registered;      /* hash of the names of routines that addons have from the program, which ranks compare */
  struct _n_MuonRates *rates;           /* of momentum and steps, types of layers, the preset: in muonschedule.h */
  MuonRounds           rounds;          /* what does not end in its step: in muonround.h */

  MuonCompressor compressor[2]; /* up and down, made by a type: what its options say of all layers; else NULL */
  void          *data;
};

/* The first status that is not MUON_STATUS_OK stays */
static inline void MuonStatusMerge(MuonStatus status, MuonStatus *first)
{
  if (*first == MUON_STATUS_OK) *first = status;
}

/* What an array of this shape takes in scratch memory among others: as a device places its arrays */
static inline size_t MuonScratchBytes(const MuonArray *shape)
{
  const size_t unit = 256;

  return (MuonArrayBytes(shape) + unit - 1) / unit * unit;
}

/* Where this rank's status ceased to be MUON_STATUS_OK */
static inline void MuonNoteStatus(Muon muon, MuonLayer layer, MuonStatus status)
{
  if (status == MUON_STATUS_OK || muon->failed.at >= 0) return;
  muon->failed.at    = muon->failed.phase;
  muon->failed.layer = layer;
}

/* On all ranks alike */
static inline void MuonNextPhase(Muon muon, MuonStatus status)
{
  MuonNoteStatus(muon, NULL, status);
  muon->failed.phase++;
}

/* NULL where the layer is frozen, and before the set-up */
static inline MuonShard *MuonShardOf(const MuonLayer layer)
{
  return layer->driver != NULL ? (MuonShard *)layer->driver->shard : NULL;
}

/* The rows of the shard out of an array of those rows of the layer that are here in memory */
static inline MuonArray MuonShardPart(const MuonShard *shard, const MuonArray *whole)
{
  return MuonArrayPart(whole, (size_t)(shard->row - shard->layer->first), 0, (size_t)shard->rows, MuonArrayColumns(whole));
}

/* The rows of a gradient; where whole ones are summed they are in the mean */
static inline MuonArray MuonShardGradient(const MuonShard *shard, const MuonArray *whole)
{
  return shard->port->mean.data != NULL ? shard->port->mean : MuonShardPart(shard, whole);
}

static inline PetscBool MuonGroupIsRowwise(const MuonGroup group)
{
  return group->ops->rowwise != NULL ? (*group->ops->rowwise)(group) : PETSC_FALSE;
}

/* The group is of another phase than this step */
PETSC_EXTERN PetscBool MuonGroupRests(const MuonGroup);
/* Nothing of a step happens here */
static inline PetscBool MuonGroupSkips(const MuonGroup group)
{
  return group->nshards == 0 || MuonGroupRests(group) || MuonPortServes(group->shard->port) == PETSC_FALSE ? PETSC_TRUE : PETSC_FALSE;
}

/* Each shard has a worker that steps it */
static inline PetscBool MuonGroupHasOwners(const MuonGroup group)
{
  return group->ops->bits == NULL ? PETSC_TRUE : PETSC_FALSE;
}

/* In the group and its exchange */
static inline PetscInt MuonShardNumber(const MuonShard *shard)
{
  return (PetscInt)(shard - shard->group->shard);
}

/* This rank steps the shard, for all workers or as each of them does */
static inline PetscBool MuonShardOwns(const MuonShard *shard)
{
  const MuonExchange exchange = shard->group->exchange;

  if (MuonGroupHasOwners(shard->group) == PETSC_FALSE || MuonPortServes(shard->port) == PETSC_FALSE) return PETSC_FALSE;
  return exchange->owner[MuonShardNumber(shard)] == exchange->worker ? PETSC_TRUE : PETSC_FALSE;
}

/* What several ranks compute alike counts once */
static inline PetscBool MuonShardCounts(const MuonShard *shard)
{
  return MuonLayerOwner(shard->layer) >= 0 || shard->group->exchange->worker == 0 ? PETSC_TRUE : PETSC_FALSE;
}

/* An owner sends its own part to itself: the network sees none of it */
static inline PetscBool MuonGroupKeepsOwn(const MuonGroup group)
{
  return group->exchange->nworkers == 1 || (group->exchange->everywhere == PETSC_FALSE && group->exchange->mode != MUON_EXCHANGE_MODE_ALLREDUCE) ? PETSC_TRUE : PETSC_FALSE;
}

/* The step whose gradients are at work in round[0], -1 for none */
PETSC_EXTERN PetscInt64 MuonGroupStep(Muon, const MuonGroup);

/* The round that the gradients of this step are for */
static inline MuonRound *MuonShardNext(const MuonShard *shard)
{
  return &shard->round[shard->group->depth - 1];
}

/* What servers step from: weights of their own, or the workers' W */
static inline MuonArray MuonShardServerWeights(const MuonShard *shard, const MuonArray *W)
{
  const MuonLayerNote *note = shard->layer->note;

  return shard->X.data != NULL && (note == NULL || note->edited == PETSC_FALSE) ? shard->X : *W;
}

/* Shape, order and precision of the shard's weights, and of its state */
static inline MuonArray MuonShardWeightsShape(const MuonShard *shard)
{
  return MuonShardPart(shard, &shard->layer->shape);
}

static inline MuonArray MuonShardStateShape(const MuonShard *shard)
{
  const MuonArray weights = MuonShardWeightsShape(shard);

  return MuonArrayLike(&weights, shard->muon->state_precision == MUON_STATE_PRECISION_SINGLE ? MUON_SINGLE : weights.precision, NULL);
}

/* The compressor up is an assignment, and the type sends T as it is and takes the mean: send() and serve() are left out, and commit() does not look at T */
static inline PetscBool MuonShardIsAsIs(const MuonShard *shard)
{
  return shard->muon->ops->asis && shard->up->assignment ? PETSC_TRUE : PETSC_FALSE;
}

/* What goes up is T as it is */
static inline PetscBool MuonShardSendsAsIs(const MuonShard *shard)
{
  return (shard->muon->ops->send == NULL || shard->muon->ops->asis) && shard->up->assignment && MuonCompressorValuesOf(shard->up) == MUON_COMPRESSOR_VALUES_NATIVE ? PETSC_TRUE : PETSC_FALSE;
}

/* What comes down are weights as they are */
static inline PetscBool MuonShardComesAsIs(const MuonShard *shard)
{
  return shard->downlink == MUON_DOWNLINK_WEIGHTS && shard->down->assignment && MuonCompressorValuesOf(shard->down) == MUON_COMPRESSOR_VALUES_NATIVE ? PETSC_TRUE : PETSC_FALSE;
}

/* What serve() makes of the sum stays until the commit, if no momentum is made of it; and the input of the LMO until that of the last block */
static inline PetscBool MuonShardKeepsSum(const MuonShard *shard)
{
  return (shard->muon->ops->serve != NULL && shard->muon->momentum_at == (int)MUON_MOMENTUM_AT_WORKER && MuonShardIsAsIs(shard) == PETSC_FALSE) || (shard->port->ranges != NULL && MuonBlocksCount_Private(&shard->layer->blocks) > 1) ? PETSC_TRUE
                                                                                                                                                                                                                                       : PETSC_FALSE;
}

/* The workers of a layer */
static inline MuonWorkerGrid MuonGridOf(Muon muon, PetscInt l)
{
  return muon->grid[muon->place[l][MUON_PLACE_GRID]];
}

/* Of the layers, in which they take their steps: 1 where all layers take all steps */
static inline PetscInt MuonPhases(Muon muon)
{
  PetscInt phases = 1;

  for (PetscInt l = 0; l < muon->nlayers; l++) phases = PetscMax(phases, muon->layer[l]->phase + 1);
  return phases;
}

/* In visitstate() of a type: names an array like the shard's state, which is made at set-up; that of a server where this rank is it */
PETSC_EXTERN PetscErrorCode MuonShardVisitArray(MuonShard *, MuonStateVisitor *, const char name[], PetscBool scratch, MuonArray *);
/* The shard of a layer */
PETSC_EXTERN PetscErrorCode MuonShardFind(Muon, MuonLayer, MuonShard **);
/* For a type's own kind of error message: the optimizer's prefix, never NULL */
static inline const char *MuonPrefix(Muon muon)
{
  return ((PetscObject)muon)->prefix != NULL ? ((PetscObject)muon)->prefix : "";
}
/*
   The blocks of the layer, as far as they are in the shard: sizes of their rows and columns, or NULL for
   equal ones; what is in cut must be freed
*/
PETSC_EXTERN PetscErrorCode MuonShardGetBlocks(const MuonShard *, PetscInt *nrows, PetscInt **cut, PetscInt *ncolumns, const PetscInt *columns[]);
/* All state of an optimizer, shard by shard, in one order */
PETSC_EXTERN PetscErrorCode MuonVisitState(Muon, MuonStateVisitor *);

/* Whether monitors speak of this step: every interval-th one, and the last */
static inline PetscBool MuonMonitorSpeaks(Muon muon, PetscInt step)
{
  return (step % muon->monitor_interval == 0 || step == muon->max_steps - 1 || muon->reason < 0) ? PETSC_TRUE : PETSC_FALSE;
}

/* The keys of an optimizer and of all that belongs to it, in whatever database is the default one; those of its preset and of monitors too */
PETSC_INTERN PetscErrorCode MuonReadAllOptions_Private(PetscObject);
