/*
   The optimizer inside: one driver owns the round of a step, a type supplies small operations on one shard of
   a layer. Installed for types outside of the library; it may change.
*/
#pragma once

#include <petscmuon/private/petscmuonimpl.h>
#include <petscmuon/private/muonparameter.h>
#include <petscmuon/private/muonlayerimpl.h>
#include <petscmuon/private/muonexchangeimpl.h>
#include <petscmuon/private/muoncompressorimpl.h>
#include <petscmuon/private/muonassemblyimpl.h>
#include <petscmuon.h>
#include <signal.h>

PETSC_EXTERN PetscLogEvent MUON_Step, MUON_Gradient, MUON_Momentum, MUON_Aggregate, MUON_Measure, MUON_SetUpEvent;

#define MAXMUONMONITORS 5

/*
   What every rank tells every other at the end of a step, in one call: what became of it and what monitors
   print
*/
typedef struct {
  double status, nans, loss, dual, up, down;
  double choices; /* hash of all that a step depends on and a user can set */
  double measure; /* this rank is going to look at what the step does, which all do together or none */
  /*
     The first active layer that this rank has no gradient of, where the caller did not say so; their number
     where there is none, more where a gradient was ready twice, -1 where this rank has no gradient at all
  */
  double asked;
  double save;    /* this rank was asked for a checkpoint */
  double votes;   /* sum of |votes| over the entries on which this rank counted them, over workers and entries of all layers that vote */
} MuonRecord;
#define MUON_RECORD_COUNT 11

typedef struct _n_MuonGroup      *MuonGroup;
typedef struct _n_MuonWorkerGrid *MuonWorkerGrid;
typedef struct _n_MuonVotes      *MuonVotes;

/*
   How the ranks of an optimizer are cut into workers of size ranks each; a worker has one gradient. This rank
   is at a position in a worker
*/
struct _n_MuonWorkerGrid {
  PetscMPIInt  size, position, nworkers, worker;
  PetscMPIInt *worker_of, *position_of; /* of all ranks */
  double      *weight;                  /* of all workers, with the mean 1; NULL where all are equal */
  double       share;                   /* of this rank in the mean over its worker's ranks, times their number */
  MPI_Comm     inside, across;          /* this rank's worker; the ranks of the same position in all workers. Both are MPI_COMM_NULL where every rank is a worker: it is alone inside, and the optimizer's communicator is across */
};

/*
   Rows of a layer that are encoded, moved and served as one; every rank knows all shards. Arrays without data
   are not kept. State has the precision of -muon_state_precision, weights and their difference that of the
   layer
*/
typedef struct {
  Muon      muon;
  MuonLayer layer;
  MuonGroup group;
  PetscInt  item;      /* its number in the group's exchange */
  PetscInt  row, rows; /* of the layer */
  PetscInt *ranges;    /* of the layer's rows on the ranks of the worker, NULL where it is one rank */
  char     *name;      /* enters random numbers and messages: the layer's where the shard is all of it */
  PetscBool owns;
  PetscBool edited;          /* somebody changed the weights since the last step: X is not looked at in this one */
  double    previous, fresh; /* weights of momentum and gradient in this step */
  PetscBool summed;          /* what came up is in sum already */
  double    squares;         /* of the update of this step, where it is measured */

  MuonCompressor up, down;            /* of this rank as a worker, and of the server */
  char          *up_type, *down_type; /* of the compressors at set-up, which decided what state there is */
  MuonDownlink   downlink;
  PetscBool      down_assigns;     /* what comes down are the weights, not a difference */
  MuonValidated     up_own, down_got; /* messages that were checked: what this rank sent, where the type needs it, and what came down */
  ptrdiff_t      own_at;           /* where up_own lies in the message that was sent, -1 where it has memory of its own */

  MuonArray      M;         /* momentum, where muon->momentum_at says */
  MuonArray      Mnew;      /* what it becomes at the commit, at a server */
  PetscBool      cut;       /* the layer is whole in the memory of each of the worker's ranks, which keep rows of its state: gradients are summed, weights gathered */
  MuonArray      gradient;  /* of the layer, borrowed for a step */
  MuonArray      mean;      /* its rows here, of the mean over the ranks of the worker, where each has a whole gradient */
  MuonArray      weighted;  /* what MPI sums, times the worker's weight where that is not 1 */
  MuonArray      packed;    /* whole gradient, or weights, with the rows of each rank side by side */
  MuonArray      staged[2]; /* on the host, while they are summed there, the whole gradient and the rows of the mean that are in the memory of a device */
  MPI_Request    summing;   /* of the gradients, MPI_REQUEST_NULL where none is under way */
  PetscBool      ready;     /* MuonLayerGradientReady() was called since the last step */
  PetscBool      begun;     /* the sum of T over the workers is under way already, in the exchange */
  MuonArray      T, Tnew;   /* worker: what it sends in this step, which becomes its momentum; in the layer's gradient, or in Tnew where that lies in memory that is not ours or has another precision */
  PetscBool      in_place;  /* T is the layer's own gradient */
  MuonCompressor sent;      /* what T was sent with in this step */
  MuonArray      sum;       /* server: sum of what came, then what the type made of it; kept where the exchange writes it or keep_sum is set */
  PetscBool      keep_sum;  /* set by the type in configure() */
  MuonArray      seen;      /* by the oracle, in sum or Mnew or scratch; of a server that is several ranks */
  MuonArray      X, Xnew;   /* server: weights where the workers' differ from them, and what they become */
  void          *data;      /* the type's */

  /*
     Set by the type in configure(): workers keep no momentum of this shard; it votes with, or is moved by,
     what is made of whole blocks
  */
  PetscBool no_momentum, whole_vote, whole_majority;
} MuonShard;

/*
   What is assembled at a time of a server's shards: a block of a layer, or all of a shard whose rule moves
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

/*
   Shards that share an exchange: a grid of the ranks, a communicator across its workers, owners, a mode.
   All ranks run the groups in the same order
*/
struct _n_MuonGroup {
  MuonWorkerGrid   grid;
  MuonExchange     exchange;
  MuonAssembly     assembly; /* inside the worker, NULL where that is one rank */
  PetscInt         nitems;   /* of the assembly */
  MuonItem        *item;
  PetscLogDouble   bytes;   /* handed to MPI in this step, for gradients that are summed and weights that are gathered inside the worker */
  unsigned int     replica; /* checksum of what this rank is about to apply where others compute the same */
  unsigned int     weights; /* and of a slice of the weights that others have too, before the step */
  MuonExchangeMode mode;
  PetscBool        direct; /* every rank computes the new weights of every shard: no message down */
  MuonVotes        votes;  /* of a group that votes (muonvote.c), else NULL: then a mean is formed */
  PetscInt         nshards;
  MuonShard       *shard;
};

/* What a worker sends of a shard in this step: the driver fills it, a type may change it */
typedef struct {
  MuonCompressor   compressor;
  const MuonArray *T, *R; /* the message is of T, relative to R; where there is an R shard->up_own has what was sent, for commit() */
  MuonStatus       status;
} MuonUpload;

/*
   Any may be NULL. configure() makes a type's sub-objects, so that their options can be compared between the
   ranks; setup() allocates its state when owners are known.

   In a step the driver calls, for each shard: momentum() may change the weights shard->previous and
   shard->fresh; worker() tells what is sent, T being the new momentum; aggregate() turns the sum of what
   came, of which there are count, into what momentum and oracle of the server see (the mean where it is
   NULL); apply() makes new weights of it (a step of the layer's rule where it is NULL); commit() changes the
   type's state, after all ranks have agreed. None of them returns early on numerical trouble: it sets status.

   Layers of which votes() says so vote by the signs of T, or where whole_vote is set of the U that
   direction() makes of it, of n blocks at once. Every worker applies the majority S. length() tells of a
   block the number that S is divided by before it is multiplied with the radius, 1 where it is NULL; it gets
   S where whole_majority is set, else NULL. Where setup() has made shard->Xnew the step is that of the
   layer's rule to S in place of a gradient. Blocks are whole, in one memory or with their rows on the ranks
   of the worker.
*/
struct _MuonOps {
  PetscErrorCode (*votes)(Muon, MuonLayer, PetscBool *);
  PetscErrorCode (*direction)(Muon, PetscInt n, MuonShard *const shard[], const MuonMatrix T[], const MuonMatrix U[], MuonStatus status[]);
  PetscErrorCode (*length)(Muon, MuonShard *, const MuonBlock *, const MuonMatrix *S, double *, MuonStatus *);
  PetscErrorCode (*configure)(Muon);
  PetscErrorCode (*setup)(Muon, MuonShard *);
  PetscErrorCode (*momentum)(Muon, MuonShard *);
  PetscErrorCode (*worker)(Muon, MuonShard *, MuonUpload *);
  PetscErrorCode (*aggregate)(Muon, MuonShard *, const MuonArray *sum, PetscInt count);
  PetscErrorCode (*apply)(Muon, MuonShard *, MuonLayerStepInfo *, const MuonArray *seen, const MuonArray *X, const MuonArray *Xnew, MuonStatus *);
  PetscErrorCode (*commit)(Muon, MuonShard *);
  PetscErrorCode (*begin)(Muon, MuonRecord *);                                                           /* before a step's round */
  PetscErrorCode (*look)(Muon, MuonShard *, PetscBool after, const MuonArray *Xnew, const MuonArray *W); /* at the commit, before and after the workers' weights get the message that is to bring them to Xnew */
  PetscErrorCode (*end)(Muon);                                                                           /* after the commit of all shards */
  PetscErrorCode (*saving)(Muon);                                                                        /* before a checkpoint is written: measures, and leaves the state as it is */
  PetscErrorCode (*visitstate)(Muon, MuonShard *, MuonStateVisitor *);
  PetscErrorCode (*setfromoptions)(Muon, MuonOptionItems);
  PetscErrorCode (*setobjectsfromoptions)(Muon);   /* the type's sub-objects, which begin options of their own */
  PetscErrorCode (*choices)(Muon, size_t, char[]); /* what was chosen beside compressors and must be the same on all ranks */
  PetscErrorCode (*children)(Muon, MuonParameterObjectFn *, void *); /* calls the routine for the type's sub-objects */
  PetscErrorCode (*view)(Muon, PetscViewer);
  PetscErrorCode (*reset)(Muon);
  PetscErrorCode (*destroy)(Muon);
};

struct _p_Muon {
  PETSCHEADER(struct _MuonOps);
  MuonParameters              parameters;
  PetscMPIInt                 rank, size;
  PetscInt                    nlayers, maxlayers;
  MuonLayer                  *layer; /* in the order they were added */
  PetscInt                    nactive;
  MuonLayer                  *active; /* those that are not frozen */
  PetscInt                    ngrids;
  MuonWorkerGrid             *grid;
  PetscInt                   *grid_of; /* of each layer */
  PetscInt                    ngroups;
  MuonGroup                  *group;
  PetscInt                    nshards;
  MuonShard                  *shard;         /* of all groups, one group behind the other */
  MuonExchange                exchange;      /* what is chosen for all groups; where every rank is a worker it is the group's own. Ranks agree on it */
  MuonAssemblyOptions         assembly;      /* of all groups */
  int                         assembly_kind; /* a MuonAssemblyKind, or PETSC_DETERMINE */
  MuonWorkspace               work;
  MuonObjectiveAndGradientFn *objective;
  void                       *objectivectx;

  PetscReal          learning_rate, momentum, dampening, weight_decay, schedule_constant;
  MuonScheduleType   schedule;
  PetscInt           schedule_warmup, max_steps;
  MuonMomentumStyle  momentum_style;
  MuonNesterovType   nesterov;
  int                momentum_at; /* MuonMomentumAt, or PETSC_DETERMINE for the type's own */
  MuonMomentumAt     momentum_default; /* set by the type */
  MuonShapeFactor    shape_factor;
  MuonStatePrecision state_precision;
  PetscInt64         seed;
  MuonNaNPolicy      nan;
  PetscBool          error_if_not_converged, count_entropy;
  char              *cost_alpha, *cost_beta, *cost_gamma; /* with their units, NULL where not set */
  PetscInt           cost_workers;
  PetscReal          cost_entries;

  void           *device_stream;
  PetscBool       on_device;                         /* a layer is */
  PetscLogDouble  device_bytes[2], device_copies[2]; /* to it and from it before this round */
  PetscBool       check_device;
  PetscReal       device_batch_bytes; /* which the scratch memory knows too */
  PetscBool       device_mpi;         /* whether MPI is given the memory of a device; where nobody set it what MPI says decides */
  char           *preset, *rule_match, *layer_rule;
  PetscBool       measure_update_rms, check_weights;
  PetscReal       schedule_minimum, momentum_warmup_start;
  PetscInt        momentum_warmup;
  MuonScheduleFn *schedulefn;
  void           *schedulectx;
  struct {
    PetscBool valid, legal;
    PetscReal factor, momentum, decay;
  } scheduled;                                                                                       /* what schedulefn gave for the step that is taken, or was taken last */
  PetscReal            adamw_learning_rate, adamw_weight_decay, sgd_learning_rate, sgd_weight_decay; /* PETSC_DETERMINE for those of the optimizer */
  PetscReal            adamw_beta1, adamw_beta2, adamw_epsilon;
  MuonWeightDecayStyle weight_decay_style;
  MuonClipLayers       clip_layers;
  PetscReal            clip;       /* 0 for none */
  double               clipfactor; /* of this step */

  PetscBool           setupcalled, setfromoptionscalled, optionschecked;
  PetscInt            step;
  PetscReal           loss, dual, rate; /* of the last step */
  PetscInt64          nancount;
  PetscLogDouble      meanup, meandown; /* encoded bits of this step, mean over the ranks */
  MuonConvergedReason reason;
  MuonLayer           drifted; /* with MUON_DIVERGED_WEIGHTS, else NULL */
  PetscInt            nsums;     /* of the active layers, the first so many have no sum under way that began before the step */
  PetscBool           computing; /* the user's routine computes gradients, or failed when it did */
  MuonLayer           readytwice;
  struct {
    PetscInt    phase, at; /* of the round: that at work, and that in which this rank's status ceased to be MUON_STATUS_OK, -1 for none. What failed in one phase makes others fail in later ones */
    MuonLayer   layer;     /* at which, of this rank, and then of rank; NULL where it was none */
    PetscMPIInt rank;      /* the first that failed, -1 for none */
    const char *what;
  } failed;
  MuonTraffic      traffic;
  PetscObjectState chosen;  /* the sum of the states of all objects that have options, when texts was computed */
  unsigned int     choices; /* hash of what these say */

  PetscReal worker_weight; /* of this rank as it was set */
  double   *weights;       /* of all ranks, with the mean 1; NULL where all are equal, and before the set-up */
  PetscBool test_gradient, gradienttested;

  MuonValidationFn *validation;
  void             *validationctx;
  PetscInt          validationinterval, validated; /* the step after which value was found, -1 where there is none */
  PetscReal         value;

  PetscInt       nmonitors, monitor_interval;
  MuonMonitorFn *monitor[MAXMUONMONITORS];
  void          *monitorctx[MAXMUONMONITORS];
  PetscErrorCode (*monitordestroy[MAXMUONMONITORS])(void **);
  char *csv;

  /*
     Of votes: mean of |votes| over workers in the last step, -1 where nothing votes; what the type says of
     ties: the vote is minus, nobody moves
  */
  PetscReal                  agreement;
  PetscBool                  tieminus, tieszero;
  struct _n_MuonCheckpoints *checkpoints;          /* NULL until one is saved */
  struct _n_MuonPrograms    *programs;             /* what the program gives to checkpoints */
  char                      *checkpoint, *restart; /* folders */
  char                      *checkpoint_weights;   /* file */
  char                      *checkpoint_agreed;    /* the folder when the ranks last compared their options */
  char                      *restarted;            /* the folder that was loaded */
  PetscInt                   checkpoint_interval, checkpoint_keep;
  PetscReal                  checkpoint_seconds; /* 0 for never */
  PetscLogDouble             checkpointed;       /* when the last one was written, or the run began */
  MuonRestartState           restart_state;
  PetscBool                  restart_if_present, restart_convert, save; /* some rank was asked for a checkpoint */
  PetscBool                  continues;                                            /* a run that was saved: files of monitors too */
  volatile sig_atomic_t      requested;                                            /* this rank was asked */

  void *data;
};

PETSC_EXTERN PetscErrorCode MuonCreate_EF21(Muon);
PETSC_EXTERN PetscErrorCode MuonCreate_Dense(Muon);
PETSC_EXTERN PetscErrorCode MuonCreate_Sign(Muon);

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

/* The rows of the shard out of an array of those rows of the layer that are here in memory */
static inline MuonArray MuonShardPart(const MuonShard *shard, const MuonArray *whole)
{
  return MuonArrayPart(whole, (size_t)(shard->row - shard->layer->first), 0, (size_t)shard->rows, MuonArrayColumns(whole));
}

/* Shape, order and precision of the shard's state */
/* What servers step from: weights of their own, or the workers' W */
static inline MuonArray MuonShardServerWeights(const MuonShard *shard, const MuonArray *W)
{
  return shard->X.data != NULL && shard->edited == PETSC_FALSE ? shard->X : *W;
}

PETSC_EXTERN PetscErrorCode MuonShardGetStateShape(Muon, const MuonShard *, MuonArray *);
PETSC_EXTERN PetscErrorCode MuonShardFind(Muon, MuonLayer, MuonShard **);
/* For a type's own kind of error message: the optimizer's prefix, never NULL */
PETSC_EXTERN const char *MuonPrefix(Muon);
/* An error where these do not go together */
PETSC_INTERN PetscErrorCode MuonCheckMomentum_Private(Muon, int at, MuonMomentumStyle, MuonNesterovType);

/* schedule x warm-up of the coming step, or of the one that is taken */
PETSC_INTERN PetscErrorCode MuonGetScheduleFactor_Private(Muon, PetscReal *);
/*
   The momentum of the coming step, or of the one that is taken; whether a layer may come to need what is kept
   of one
*/
PETSC_INTERN PetscReal MuonGetMomentumNow_Private(Muon);
PETSC_INTERN PetscBool MuonNeedsMomentum_Private(Muon, MuonLayer);
/*
   Calls the function of MuonSetScheduleFunction() for this step; an error, on every rank, where what it gave
   is illegal, after all were found to have the same
*/
PETSC_INTERN PetscErrorCode MuonSchedule_Private(Muon);
PETSC_INTERN PetscErrorCode MuonCheckSchedule_Private(Muon);
/*
   The learning rate of a layer without the schedule: its own, its rule's or the optimizer's; likewise its
   decay
*/
PETSC_INTERN PetscErrorCode MuonGetLayerRates_Private(Muon, MuonLayer, PetscReal *rate, PetscReal *decay);
/*
   The rule of the first pattern of -muon_rule_match that a layer's name matches; warns of patterns that
   decide nothing; how many layers and entries each rule moves
*/
PETSC_INTERN PetscErrorCode MuonMatchRule_Private(Muon, MuonLayer);
PETSC_INTERN PetscErrorCode MuonCheckRuleMatch_Private(Muon);
/* Warns where somebody set the learning rate and no layer has it */
PETSC_INTERN PetscErrorCode MuonCheckRateIsRead_Private(Muon);
/*
   The rate of the coming step that monitors show: Muon's own where a layer has the rule lmo, else that of the
   first layer
*/
PETSC_INTERN PetscErrorCode MuonGetShownRate_Private(Muon, PetscReal *);
PETSC_INTERN PetscErrorCode MuonViewRules_Private(Muon, PetscViewer);
/*
   By how much the gradients of this step are shortened: those of this worker before it sends, or their means
   at the servers
*/
PETSC_INTERN PetscBool      MuonClipsLayer_Private(Muon, MuonLayer);
PETSC_INTERN PetscErrorCode MuonClipWorker_Private(Muon);
PETSC_INTERN PetscErrorCode MuonClipSetUp_Private(Muon);
PETSC_INTERN PetscErrorCode MuonClipServers_Private(Muon, MuonStatus *);
PETSC_INTERN PetscErrorCode MuonSumMessages_Private(MuonShard *, PetscInt nworkers, const MuonArray *sum, MuonStatus *);
/*
   Between Begin and End the default options database has the keys of the optimizer's preset and nothing else.
   An error where a type contradicts it
*/
PETSC_INTERN PetscErrorCode MuonPresetBegin_Private(Muon, PetscOptions *);
PETSC_INTERN PetscErrorCode MuonPresetEnd_Private(Muon, PetscOptions *);
PETSC_INTERN PetscErrorCode MuonPresetCheckType_Private(Muon, MuonType);
/* The keys of an optimizer and of all that belongs to it, in whatever database is the default one; those of its preset and of monitors too */
PETSC_INTERN PetscErrorCode MuonReadOptions_Private(Muon);
PETSC_INTERN PetscErrorCode MuonReadAllOptions_Private(PetscObject);
/* The parameters, and what their rows cannot say */
PETSC_INTERN const MuonParameter MuonParameters_Private[];
PETSC_INTERN PetscErrorCode      MuonChanging_Private(PetscObject, const MuonParameter *, double);
PETSC_INTERN PetscErrorCode      MuonChangingText_Private(PetscObject, const MuonParameter *, const char[]);
PETSC_INTERN PetscErrorCode      MuonChanged_Private(PetscObject, const MuonParameter *);
PETSC_INTERN PetscErrorCode      MuonChildren_Private(PetscObject, MuonParameterObjectFn *, void *);
PETSC_INTERN PetscErrorCode      MuonSetWaiting_Private(Muon);
/* An error where a text is not one of -muon_rule_match, or no rule */
PETSC_INTERN PetscErrorCode MuonCheckRuleMatchText_Private(Muon, const char[]);
PETSC_INTERN PetscErrorCode MuonCheckRuleText_Private(Muon, const char[]);
PETSC_INTERN PetscErrorCode MuonCheckMomentumKept_Private(Muon, const char key[], PetscReal momentum);

/*
   Layers that are slices become those of another vector with the same entries on each rank, before
   MuonSetUp()
*/
PETSC_INTERN PetscErrorCode MuonReplaceVec_Private(Muon, Vec x, Vec g);
/* Names the keys that no object reads, each with the nearest one that exists */
PETSC_INTERN PetscErrorCode MuonCheckOptions_Private(Muon);
/* The key without prefix that is most like this one; for Python */
PETSC_EXTERN PetscErrorCode MuonGetNearestOption_Private(Muon, const char key[], size_t, char text[]);
/* Where -help is given, one line, once, on the keys of a layer's own */
PETSC_INTERN PetscErrorCode MuonHelpLayer_Private(Muon, MuonLayer);
/* Tells -info what was decided at the set-up */
PETSC_INTERN PetscErrorCode MuonInfoSetUp_Private(Muon);
/* Rate, decay and radius of this step for a layer */
PETSC_EXTERN PetscErrorCode MuonGetStepInfo(Muon, MuonLayer, MuonLayerStepInfo *);
/* Ranks that differ in layers, options or weights raise one error that names the layer */
PETSC_INTERN PetscErrorCode MuonCheckRanksAgree_Private(Muon);
/*
   Weights that differ where they must not: looked for in the round of each step; the first layer where a
   slice of them does. Collective
*/
PETSC_INTERN PetscErrorCode MuonWatchWeights_Private(Muon);
PETSC_INTERN PetscBool      MuonGroupHasReplicas_Private(Muon, const MuonGroup);
PETSC_INTERN PetscErrorCode MuonFindDrifted_Private(Muon, PetscInt slice, MuonLayer *);
/* What a layer takes over from the optimizer where it has no choice of its own */
PETSC_INTERN PetscErrorCode MuonInheritChoices_Private(Muon, MuonLayer);
/* Hash of all that a step depends on */
PETSC_INTERN PetscErrorCode MuonHashChoices_Private(Muon, unsigned int *);
/* The first choice that differs between the ranks, in words; collective */
PETSC_INTERN PetscErrorCode MuonFindChoice_Private(Muon, size_t, char[]);
PETSC_INTERN PetscErrorCode MuonResetShards_Private(Muon);
/*
   Cuts the ranks into workers, for each layer. rows: layers are whole on every rank, and all ranks are one
   worker that keeps its state in rows
*/
PETSC_INTERN PetscErrorCode MuonFindWorkerGrids_Private(Muon, PetscBool rows);
PETSC_INTERN PetscErrorCode MuonResetWorkerGrids_Private(Muon);
/* Gives grids the weights of workers */
PETSC_INTERN PetscErrorCode MuonSetUpWeights_Private(Muon);
/* Worker: begins the sum of T over the workers */
PETSC_INTERN PetscErrorCode MuonShardReduceBegin_Private(MuonShard *, const MuonArray *T, const MuonArray *sum);
/*
   Worker: what a sum over the workers is of, where nothing comes between it and the gradient; and its
   beginning
*/
PETSC_INTERN PetscErrorCode MuonWorkerBeginSum_Private(Muon, MuonShard *);
/*
   Sums of gradients that can begin before the step: when a gradient is ready; at the beginning of the round
   those that are left, and the wait for means of whole gradients; collective: waits for those of a step that
   never came, where there may be any
*/
PETSC_INTERN PetscErrorCode MuonShardReady_Private(void *);
PETSC_INTERN PetscErrorCode MuonBeginSums_Private(Muon);
PETSC_INTERN PetscErrorCode MuonDropSums_Private(Muon);
/* The new weights of all ranks of a worker, where each has them whole */
PETSC_INTERN PetscErrorCode MuonShardGather_Private(Muon, MuonShard *, const MuonArray *rows, const MuonArray *whole);
/*
   The server's work on a shard: what its oracle sees, room for new weights, these by the type or the rule,
   their message. What has no memory of its own is in scratch, at so many bytes
*/
PETSC_INTERN PetscErrorCode MuonServerSees_Private(Muon, MuonShard *, MuonArray *seen, MuonStatus *);
/* Steps of n shards: G, X and Xnew of their tasks are given, the rest is filled */
PETSC_INTERN PetscErrorCode MuonServerApply_Private(Muon, PetscInt n, MuonShard *const shard[], MuonLayerTask task[], MuonRecord *);
PETSC_INTERN PetscErrorCode MuonServeWeights_Private(Muon, MuonShard *, const MuonArray *Xnew, const MuonArray *W, MuonStatus *);
PETSC_INTERN PetscBool      MuonShardCounts_Private(const MuonShard *);
/* Servers that are workers of several ranks */
PETSC_INTERN PetscErrorCode MuonReadLayerAssembly_Private(Muon, MuonLayer);
PETSC_INTERN PetscErrorCode MuonSetUpAssembly_Private(Muon, MuonGroup);
PETSC_INTERN PetscErrorCode MuonShardGetAssembly_Private(Muon, MuonShard *, PetscInt block, MuonAssemblyKind *, PetscLogDouble *flops);
PETSC_INTERN PetscErrorCode MuonServeAssembled_Private(Muon, MuonGroup, MuonRecord *, MuonStatus *);
PETSC_INTERN PetscErrorCode MuonVoteAssembled_Private(Muon, MuonGroup, MuonStatus *);
PETSC_INTERN PetscErrorCode MuonMajorityAssembled_Private(Muon, MuonGroup, MuonStatus *);
/*
   The blocks of the layer, as far as they are in the shard: sizes of their rows and columns, or NULL for
   equal ones; what is in cut must be freed
*/
PETSC_EXTERN PetscErrorCode MuonShardGetBlocks(const MuonShard *, PetscInt *nrows, PetscInt **cut, PetscInt *ncolumns, const PetscInt *columns[]);
PETSC_INTERN PetscErrorCode MuonCheckShards_Private(Muon);
/*
   Of layers in the memory of a device: an error where a choice has no kernels there, or where kernels differ
   from the host's and are to be compared
*/
PETSC_INTERN PetscErrorCode MuonCheckDevice_Private(Muon);
/* Before a round and behind it, which tells PETSc's log what was copied between the memories meanwhile */
PETSC_INTERN PetscErrorCode MuonDeviceBegin_Private(Muon);
PETSC_INTERN PetscErrorCode MuonDeviceEnd_Private(Muon);
/* The validation, where this step asks for it */
PETSC_INTERN PetscErrorCode MuonValidate_Private(Muon, PetscInt step);
/* Worker, exchange, server, exchange, agreement, commit */
PETSC_INTERN PetscErrorCode MuonRound_Private(Muon, PetscReal loss);
/* Every rank learns what became of the step; ok where it can be committed everywhere */
PETSC_INTERN PetscErrorCode MuonReduceStatus_Private(Muon, MuonRecord *, PetscBool *ok);
/* What a reason below zero has to say beside its name: what failed, and where */
PETSC_INTERN PetscErrorCode MuonDescribeReason_Private(Muon, size_t, char[]);
/* All state of an optimizer, shard by shard, in one order */
PETSC_EXTERN PetscErrorCode MuonVisitState(Muon, MuonStateVisitor *);
/* Votes: what the rest of the driver does of a group by messages of each shard */
PETSC_INTERN PetscErrorCode MuonVotesCreate_Private(MuonGroup);
PETSC_INTERN PetscErrorCode MuonVotesCheck_Private(Muon); /* an error, on every rank, where what was chosen does not go with votes */
PETSC_INTERN PetscErrorCode MuonVotesSetUp_Private(Muon, MuonGroup);
PETSC_INTERN PetscErrorCode MuonVotesWorkers_Private(Muon, MuonGroup, MuonStatus *);
PETSC_INTERN PetscErrorCode MuonVotesServers_Private(Muon, MuonGroup, MuonRecord *, MuonStatus *);
PETSC_INTERN PetscErrorCode MuonVotesCommit_Private(Muon, MuonShard *);
PETSC_INTERN PetscErrorCode MuonVotesDestroy_Private(MuonVotes *);
PETSC_INTERN PetscErrorCode MuonVotesGetMemory_Private(MuonVotes, PetscLogDouble *);
/*
   Of a shard that votes: its blocks, or what it has of them; one of them, with the block of the layer that it
   is of
*/
PETSC_EXTERN PetscInt       MuonVotesCount(const MuonShard *);
PETSC_EXTERN PetscErrorCode MuonVotesGetBlock(const MuonShard *, PetscInt, const MuonArray *whole, MuonArray *part, MuonBlock *block);
/*
   The rows here of a block by its number in the layer, of which there may be none: U becomes votes; the
   majority in it, +1, -1 or 0, until the next call; the number that it is divided by
*/
PETSC_INTERN PetscErrorCode MuonVotesFill_Private(Muon, MuonShard *, PetscInt, const MuonArray *U, MuonStatus *);
PETSC_INTERN PetscErrorCode MuonVotesExpand_Private(Muon, MuonShard *, PetscInt, MuonArray *);
PETSC_INTERN PetscErrorCode MuonVotesSetLength_Private(MuonShard *, PetscInt, double);
/*
   After a step that was counted, where one is due or asked for; at the end, where the last step wrote none;
   the one that a run begins with, once, where fresh says that nothing was done before
*/
PETSC_INTERN PetscErrorCode MuonCheckpointStart_Private(Muon, const char folder[]);
PETSC_INTERN PetscErrorCode MuonCheckpointSetUp_Private(Muon); /* when the ranks have compared their options */
PETSC_INTERN PetscErrorCode MuonCheckpointBeforeStep_Private(Muon);
PETSC_INTERN PetscErrorCode MuonCheckpointAfterStep_Private(Muon);
PETSC_INTERN PetscErrorCode MuonCheckpointAtEnd_Private(Muon);
PETSC_INTERN PetscErrorCode MuonRestart_Private(Muon, PetscBool fresh);
/* Whether this rank asks for a checkpoint, in the agreement of a step */
PETSC_INTERN PetscErrorCode MuonCheckpointAsked_Private(Muon, double *);
/* Lets go of the folder of checkpoints; and of all that the user set of them */
PETSC_INTERN PetscErrorCode MuonCheckpointsDestroy_Private(Muon);
PETSC_INTERN PetscErrorCode MuonRestartDestroy_Private(Muon);
PETSC_INTERN PetscErrorCode MuonMonitorSetFromOptions_Private(Muon);
PETSC_INTERN PetscErrorCode MuonViewCostFromOptions_Private(Muon);
/* Whether monitors speak of this step: every interval-th one, and the last */
PETSC_EXTERN PetscBool MuonMonitorSpeaks(Muon, PetscInt step);
/*
   A monitor whose context is the viewer of a key, where the key is set; a viewer that it has already is not
   given twice
*/
PETSC_EXTERN PetscErrorCode MuonMonitorViewerFromOptions(Muon, const char key[], MuonMonitorFn *, PetscBool *set);
