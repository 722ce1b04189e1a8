#pragma once

#include <petscmuon/private/petscmuonimpl.h>
#include <petscmuon/private/muonparameter.h>
#include <petscmuonlayer.h>

/* Places around an LMO: what it is about to get, the point that it gave, the weights that this moves */
typedef enum {
  MUON_SLOT_BEFORE,
  MUON_SLOT_AFTER,
  MUON_SLOT_MOVE
} MuonSlotPlace;

/* What a layer's optimizer needs to know of a step */
typedef struct {
  PetscInt step;
  double   rate;                  /* the layer's learning rate times schedule */
  double   decay;                 /* the weight decay that the optimizer applies to the weights in this step, 0 where none */
  double   radius;                /* rate times the layer's scale and shape factor, of a sharp step its square; with blocks, the largest of theirs */
  double   beta, gradient_weight; /* of momentum and gradient in the new momentum; these five, from rate on, are state of a round under way */
  double   dual;                  /* output: <G,-D> where an LMO gave D, else 0 */

  PetscBool cautious; /* decay only the entries whose magnitude the step does not increase */
  PetscBool measure;  /* squares is asked for */
  double    squares;  /* output: sum of squares of what rate multiplies in the step */
} MuonLayerStepInfo;

/*
   A step of one layer among those of several: what MuonLayerStep() gets, and its status. Where D has data the
   optimizer has an operation take(): the step goes there, and Xnew is not looked at
*/
typedef struct {
  MuonLayer         layer;
  MuonLayerStepInfo info;
  MuonArray         G, X, Xnew;
  MuonStatus        status;
  MuonArray         D;
} MuonLayerTask;

/*
   The operations of a layer's optimizer. G has the precision of the state and may be only read, X and Xnew that of the
   weights; all have the layer's shape, order of memory and any distance of lines. Nothing of its own
   state changes before commit.

   One that updates every entry by itself fills step alone, which may see rows of the layer only. One that
   needs whole blocks fills applylmo, which makes D of a block of G that is all here or spread over the ranks of
   a worker, times the dual norm where the layer's steps are sharp, and update, which updates rows of the block by
   the same rows of D
*/
struct _MuonLayerOps {
  PetscErrorCode (*step)(MuonLayer, MuonLayerStepInfo *, const MuonArray *G, const MuonArray *X, const MuonArray *Xnew, MuonStatus *); /* Xnew is scratch, not X */
  PetscErrorCode (*stepmany)(PetscInt n, MuonLayerTask *const task[]);                                                                 /* step, for several layers in one memory: of the LMO alone */
  PetscErrorCode (*take)(MuonLayer, MuonLayerStepInfo *, const MuonArray *D, const MuonArray *X);                                      /* takes the step that stepmany left in D, in place */
  PetscErrorCode (*applylmo)(MuonLayer, const MuonMatrix *G, const MuonMatrix *D, double *dual, MuonStatus *);
  PetscErrorCode (*update)(MuonLayer, MuonLayerStepInfo *, PetscInt b, const MuonArray *X, const MuonArray *D, const MuonArray *Xnew, MuonStatus *);
  PetscErrorCode (*slots)(MuonLayer, MuonSlotPlace, PetscInt b, const MuonLayerStepInfo *, const MuonMatrix *A, const MuonArray *B, MuonStatus *); /* what is done to a block around its LMO; collective where A is spread */
  PetscErrorCode (*commit)(MuonLayer);
  PetscErrorCode (*setup)(MuonLayer); /* what a step would refuse is refused here, on every rank */
  PetscErrorCode (*getflops)(MuonLayer, PetscLogDouble *);
  PetscErrorCode (*visitstate)(MuonLayer, MuonStateVisitor *);
  PetscErrorCode (*setfromoptions)(MuonLayer, MuonOptionItems);
  PetscErrorCode (*view)(MuonLayer, PetscViewer);
  PetscErrorCode (*reset)(MuonLayer);
  PetscErrorCode (*destroy)(MuonLayer);
};

/* Of the weights as they were written last, in all and a part that is another one each time, to see whether the program wrote since then */
typedef struct {
  PetscObjectState writes;
  PetscInt         sample;
  unsigned int     hashofall, hashofsample;
  PetscBool        edited; /* as the optimizer found them before the step */
} MuonLayerNote;

/* What the optimizer that steps a layer says of it */
typedef struct {
  void            *shard;             /* its MuonShard */
  PetscMPIInt      owner;             /* -1: every rank */
  const MuonArray *server;            /* at an owner: the server's weights, without data where they are the layer's own; else NULL */
  PetscBool        keepsmomentum;     /* worker or server keeps a momentum of this layer; a type may clear it in configure() */
  PetscReal        updaterms;         /* root mean square of the last update, -1 where it was not measured here */
  PetscErrorCode (*ready)(MuonLayer); /* takes the gradient that is ready; NULL where nothing can begin before the step */
} MuonLayerDriver;

typedef struct _n_MuonLayerGradient MuonLayerGradient;

typedef struct _n_MuonSlots *MuonSlots; /* state of its slots, in src/layer/muonslot.h */

struct _p_MuonLayer {
  PETSCHEADER(struct _MuonLayerOps);
  MuonParameters parameters; /* their family is muon_layer_NAME_, and the prefix that of all layers */
  PetscInt       m, n;       /* of the full matrix */
  MPI_Comm       comm;       /* of the ranks that hold its rows together: a worker; the caller's */
  PetscMPIInt    ranks;      /* how many these are */
  /*
     Each of them has rows of an M x N matrix: m x n, or of a matrix whose entries are a range of a parallel Vec
     these entries in the order of memory, m n x 1
  */
  PetscInt         M;
  PetscInt         first;    /* of the rows that are here in memory */
  PetscInt        *ranges;   /* of rows on these ranks, known after MuonLayerSetUpRows_Private() */
  int              rowmajor; /* the contiguous vectors of the m x n matrix in memory are its rows */
  MuonLayerStorage storage;
  /*
     The weights: a Mat, or an array view. The memory of a view is that of array, or of a Vec, which it borrows for
     as long as it is used
  */
  PetscObject        weights;
  Vec                g;     /* of a range of a Vec: the Vec of its gradients, */
  PetscInt           start; /* the number of the layer's first entry in both, */
  PetscInt           skip;  /* and how many entries here are before it */
  MuonLayerArray     array;
  MuonArray          shape;         /* of the weights that are here, as rows of the M x N matrix, without data and gaps */
  MuonLayerGradient *gradient;      /* of this step, in layergradient.c */
  PetscBool          wholegradient; /* every rank of the worker has one of the full matrix, to be averaged; else it has the rows of the weights */

  MuonBlocks      blocks; /* to each of which the LMO is applied */
  MuonLMO         lmo;
  PetscReal       scale, learning_rate, momentum, weight_decay; /* the optimizer's where they are not set, but the scale */
  MuonShapeFactor shape_factor;
  MuonStepType    step;       /* the optimizer's where it is not set */
  PetscReal       given_rate; /* set by the driver: the learning rate that nothing else changes, 0 for none */
  PetscBool       chosen;     /* by the program or its options: the type, which no preset changes then */
  char            why[64];    /* the layer has its type, for the view */
  /* Traits of the type, from flops to workermomentum, and two that are true before */
  PetscLogDouble   flops;          /* of a step, an entry; getflops counts others */
  PetscBool        frozen;         /* nothing updates it: no gradient, no message, no state */
  PetscBool        workermomentum; /* the layer's optimizer takes the workers' momentum; others keep moments at the owner */
  PetscBool        onpairs;        /* likewise complex matrices are legal, unless the type says no */
  PetscBool        onrows;         /* and matrices whose rows are spread over ranks */
  int              assembly;       /* of the driver: a MuonAssemblyKind, or PETSC_DETERMINE */
  MuonLayerDriver *driver;         /* from its set-up to its reset; NULL where the layer is frozen */
  MuonLayerNote   *note;           /* made by the driver for layers that are watched, else NULL */
  MuonLayer        inner;          /* that takes steps from these weights between two steps of this layer, NULL for none */
  PetscInt         phase;          /* of the optimizer's phases, in which this layer takes steps */
  PetscLogDouble   gathered;       /* bytes handed to MPI by MuonLayerGetFullWeights(), which the driver counts */
  MuonStateForm    state;          /* set by the driver: its precision is that of what optimizers see as G, at first that of the weights */
  unsigned int     hash;
  MuonWorkspace    work;
  MuonSlots        slots;
  void            *data; /* of the type, from PetscNew(): freed after reset() and destroy() */
};

/*
   Layers are made by the optimizer. W is dense, sequential or parallel, in any memory. A Vec holds m x n
   entries from number start on, PETSC_DECIDE x 1 for all; g is the Vec of gradients, NULL for a buffer of the layer's own. The memory of
   an array is borrowed, the struct is copied
*/
PETSC_EXTERN PetscErrorCode MuonLayerCreate(const char[], Mat W, MuonLayer *);
PETSC_EXTERN PetscErrorCode MuonLayerCreateFromVec(const char[], Vec w, Vec g, PetscInt start, PetscInt m, PetscInt n, PetscBool rowmajor, MuonLayer *);
PETSC_EXTERN PetscErrorCode MuonLayerCreateFromArray(const char[], const MuonLayerArray *, MuonLayer *);
PETSC_EXTERN PetscErrorCode MuonLayerReplaceVec_Private(MuonLayer, Vec w, Vec g);
PETSC_EXTERN PetscErrorCode MuonLayerSetFromOptions(PetscObject);
PETSC_EXTERN PetscErrorCode MuonLayerReset(MuonLayer);
PETSC_EXTERN PetscErrorCode MuonLayerDestroy(MuonLayer *);

/* Of the class, of AdamW and NAdamW, and of SOAP; what the class says of itself */
PETSC_INTERN const MuonParameter MuonLayerParameters_Private[], MuonLayerParameters_AdamW[], MuonLayerParameters_SOAP[];
PETSC_INTERN PetscErrorCode      MuonLayerChanging_Private(PetscObject, const MuonParameter *, double);
PETSC_INTERN PetscErrorCode      MuonLayerChildren_Private(PetscObject, MuonParameterObjectFn *, void *);
static inline PetscBool          MuonLayerIsSet(MuonLayer layer, const char key[])
{
  return MuonParametersIsSet((PetscObject)layer, key);
}
/* -1: every rank, or not assigned */
static inline PetscMPIInt MuonLayerOwner(MuonLayer layer)
{
  return layer->driver != NULL ? layer->driver->owner : -1;
}
/* This rank has a server of the layer */
static inline PetscBool MuonLayerIsServed(MuonLayer layer)
{
  return layer->driver != NULL && layer->driver->server != NULL ? PETSC_TRUE : PETSC_FALSE;
}
static inline PetscReal MuonLayerRate(MuonLayer layer)
{
  return layer->given_rate > 0 ? layer->given_rate : layer->learning_rate;
}

PETSC_EXTERN PetscErrorCode MuonLayerCreate_LMO(MuonLayer);
PETSC_EXTERN PetscErrorCode MuonLayerCreate_Frozen(MuonLayer);
PETSC_EXTERN PetscErrorCode MuonLayerCreate_SGD(MuonLayer);
PETSC_EXTERN PetscErrorCode MuonLayerCreate_AdamW(MuonLayer);
PETSC_EXTERN PetscErrorCode MuonLayerCreate_SOAP(MuonLayer);

/* Longer names would not fit into option keys behind a prefix */
#define MUON_LAYER_NAME_MAX 128
/* Prefix of the keys of this layer alone: the layer's general prefix, then muon_layer_<name>_ */
PETSC_EXTERN PetscErrorCode MuonLayerGetOwnPrefix_Private(MuonLayer, size_t, char[]);

/*
   An error of a user's choice: names layer and key with its prefix. The message begins with the key as it
   goes on behind the layer's name
*/
#define MuonLayerCheck(layer, condition, code, ...) \
  do { \
    if (PetscUnlikely(!(condition))) { \
      char own_[PETSC_MAX_OPTION_NAME], text_[1024]; \
\
      PetscCall(MuonLayerGetOwnPrefix_Private(layer, sizeof(own_), own_)); \
      PetscCall(PetscSNPrintf(text_, sizeof(text_), __VA_ARGS__)); \
      SETERRQ(PetscObjectComm((PetscObject)(layer)), code, "Layer \"%s\": -%s%s", ((PetscObject)(layer))->name, own_, text_); \
    } \
  } while (0)

/* Of the M x N matrix: the rows here, and N */
static inline PetscInt MuonLayerRows(MuonLayer layer)
{
  return (PetscInt)MuonArrayRows(&layer->shape);
}
static inline PetscInt MuonLayerColumns(MuonLayer layer)
{
  return (PetscInt)MuonArrayColumns(&layer->shape);
}

/* What a layer has in a place, NULL for nothing */
PETSC_EXTERN const char *MuonLayerHasSlot(MuonLayer, MuonSlotPlace);
/* What it has of slots that are given the gradient beside the momentum, NULL for nothing */
PETSC_EXTERN const char *MuonLayerReadsGradient(MuonLayer);

PETSC_INTERN PetscErrorCode MuonLayerSetWorkspace_Private(MuonLayer, MuonWorkspace);

/* Defaults of AdamW and NAdamW, of the optimizer and its layers */
#define MUON_ADAMW_BETA1   0.9
#define MUON_ADAMW_BETA2   0.95
#define MUON_ADAMW_EPSILON 1e-10

/*
   A block by its number, the part of an array of the layer's shape that it is, and the radius factor of its
   shape
*/
PETSC_EXTERN PetscErrorCode MuonLayerGetBlock_Private(MuonLayer, PetscInt, MuonBlock *);
PETSC_EXTERN PetscErrorCode MuonLayerGetBlockArray(MuonLayer, PetscInt, const MuonArray *, MuonArray *part);
PETSC_EXTERN PetscErrorCode MuonLayerGetBlockFactor_Private(MuonLayer, PetscInt, PetscReal *);
PETSC_INTERN PetscErrorCode MuonLayerSetBlocksFromOptions_Private(MuonLayer, const char own[]);
/*
   The norm of an array of the layer's shape, the largest of those of its blocks, or the sum of their dual
   norms; NaN as MuonLMOComputeNorm() gives it
*/
PETSC_EXTERN PetscErrorCode MuonLayerComputeNormArray(MuonLayer, const MuonArray *, PetscBool dual, PetscReal *);

/* An error that names the function to call instead, where the storage is another: function without Vec or Array at its end */
PETSC_INTERN PetscErrorCode MuonLayerCheckStorage_Private(MuonLayer, MuonLayerStorage, const char function[]);
/* An error where the numbers of a layer do not fit into a matrix of PETSc's */
PETSC_EXTERN PetscErrorCode MuonLayerCheckReal_Private(MuonLayer);
/* An error where what is not NULL is in another memory */
PETSC_INTERN PetscErrorCode MuonLayerCheckMemory_Private(const char name[], MuonMemory, const char what[], const void *data);
/* A Mat, or the part of a Vec or of memory that is the layer's, as an array that has the shape of its rows here */
PETSC_INTERN PetscErrorCode MuonLayerOpen_Private(MuonLayer, PetscObject, const void *data, PetscBool write, MuonArray *);
PETSC_INTERN PetscErrorCode MuonLayerClose_Private(MuonLayer, PetscObject, PetscBool write, MuonArray *);
PETSC_INTERN PetscErrorCode MuonLayerResetGradient_Private(MuonLayer);
/* While it is hidden, a step finds that there is none */
PETSC_EXTERN void           MuonLayerHideGradient_Private(MuonLayer, PetscBool hidden);
PETSC_INTERN PetscErrorCode MuonLayerVisitGradient_Private(MuonLayer, MuonStateVisitor *);
/* Of the whole matrix: more than a PetscInt may hold */
static inline PetscInt64 MuonLayerEntries(MuonLayer layer)
{
  return (PetscInt64)layer->m * (PetscInt64)layer->n;
}
/* As shape, of all rows, wherever they are */
PETSC_EXTERN MuonArray MuonLayerGetWholeShape(MuonLayer);
/*
   Whether the ranks of a worker have ranges of its entries, which need not be rows; and the m x n matrix that
   all of them in one memory without gaps are, which is the array itself for other layers
*/
static inline PetscBool MuonLayerIsEntries(MuonLayer layer)
{
  return layer->M != layer->m || MuonLayerColumns(layer) != layer->n ? PETSC_TRUE : PETSC_FALSE;
}
PETSC_EXTERN MuonArray MuonLayerMatrixOf(MuonLayer, const MuonArray *whole);
/* A block as a part of the M x N matrix */
PETSC_EXTERN PetscErrorCode MuonLayerGetRowsBlock(MuonLayer, PetscInt, MuonBlock *);
/*
   Learns the ranges of rows of an array; collective on the layer's own communicator, which was found to be a
   worker
*/
PETSC_INTERN PetscErrorCode MuonLayerSetUpRows_Private(MuonLayer);
/* Between Get and Restore the weights are an array in their own memory, whatever the storage */
PETSC_EXTERN PetscErrorCode MuonLayerGetWeightsMemory(MuonLayer, PetscBool write, MuonArray *);
PETSC_EXTERN PetscErrorCode MuonLayerRestoreWeightsMemory(MuonLayer, PetscBool write, MuonArray *);
/*
   A checksum, on from that in hash, of the weights that are here, or of one of so many samples of them, one
   entry behind the other. A negative sample is all
*/
#define MUON_LAYER_SAMPLES 64
PETSC_EXTERN PetscErrorCode MuonLayerHashWeights(MuonLayer, PetscInt sample, unsigned int *hash);
/*
   Notes what the weights are, which MuonLayerRestoreWeightsMemory() does after each write of the library's to
   a layer that is watched; and tells whether they are something else now. Weights in an object that counts
   its writes are looked at whole where there was one; of others, and of memory that is not PETSc's, a sample
   is, another one each time
*/
PETSC_EXTERN PetscErrorCode MuonLayerNoteWeights(MuonLayer);
PETSC_EXTERN PetscErrorCode MuonLayerWereWeightsEdited(MuonLayer, PetscBool *);
/*
   The gradient of this step, without data where there is none, which means zeros. ours: the layer's own
   buffer, without gaps and in the weights' precision, which the step may overwrite and swap; else it is the
   caller's and only read
*/
PETSC_EXTERN PetscErrorCode MuonLayerGetGradientMemory(MuonLayer, MuonArray *, PetscBool *ours);
PETSC_EXTERN PetscErrorCode MuonLayerRestoreGradientMemory(MuonLayer, MuonArray *);
/*
   Our buffer and an array of the same shape and precision, without gaps, exchange memory. What
   MuonLayerGetGradient() and its kin handed out stays the same object and shows the new memory. Not between
   Get and Restore
*/
PETSC_EXTERN PetscErrorCode MuonLayerSwapGradientMemory(MuonLayer, MuonArray *);
/*
   At the end of a step: what our buffer holds is undefined from here on, NaN in debug builds, and it
   was not asked for yet
*/
PETSC_EXTERN PetscErrorCode MuonLayerInvalidateGradient(MuonLayer);
/*
   Whether the program took our buffer to fill it, filled the object that it has of it, gave a gradient of its
   own, or said that there is none
*/
PETSC_EXTERN PetscErrorCode MuonLayerIsGradientProvided(MuonLayer, PetscBool *);

/* Names the gradient's buffer and the optimizer's state */
PETSC_EXTERN PetscErrorCode MuonLayerVisitState(MuonLayer, MuonStateVisitor *);
PETSC_EXTERN PetscErrorCode MuonLayerGetFlops(MuonLayer, PetscLogDouble *);

/*
   Xnew from X and G, as the operations have it. Weights that would not be finite are
   MUON_STATUS_NANORINF; where the status is not MUON_STATUS_OK Xnew holds nothing of worth
*/
PETSC_EXTERN PetscErrorCode MuonLayerStep(MuonLayer, MuonLayerStepInfo *, const MuonArray *G, const MuonArray *X, const MuonArray *Xnew, MuonStatus *);
/*
   The same for several layers; LMOs in the memory of a device are computed together, after the other layers.
   tests/benchmarks/gpu_step.h has the same order, which tests/device_order.c compares
*/
PETSC_EXTERN PetscErrorCode MuonLayerStepMany(PetscInt n, MuonLayerTask task[]);
/*
   What an optimizer ends with: Xnew = (1 - rate decay) X + by D with rate and decay of the step, and with decay
   where it is cautious; whatever the precision of D, which may be Xnew where it is the same;
   MUON_STATUS_NANORINF where not all of Xnew is finite
*/
PETSC_EXTERN MuonStatus MuonLayerUpdate(const MuonLayerStepInfo *, const MuonArray *X, double by, const MuonArray *D, const MuonArray *Xnew);
/* The sum of the squares of an array, which is added to info->squares where it is asked for */
static inline double MuonLayerSumSquares(const MuonArray *D)
{
  return MuonArrayKernels(D)->SumSquares(D->len, D->count, D->data, D->ld);
}
/*
   Steps of an LMO as messages of the whole layer. reason: why a layer cannot, or nothing; rate, decay and radius
   are those of the same step at sender and receiver. Validate says whether bytes are such a message, Decode
   takes only those and turns X into what the step would make of it, bit for bit
*/
PETSC_EXTERN PetscErrorCode MuonLayerCanEncode_Private(MuonLayer, size_t, char reason[]);
PETSC_EXTERN PetscErrorCode MuonLayerGetMaxStepBytes(MuonLayer, size_t *);
PETSC_EXTERN PetscErrorCode MuonLayerEncodeStep(MuonLayer, MuonLayerStepInfo *, const MuonArray *G, size_t, unsigned char message[], size_t *, MuonStatus *);
PETSC_EXTERN PetscErrorCode MuonLayerValidateStep(MuonLayer, size_t, const unsigned char message[], PetscBool entropy, MuonCompressorCost *, PetscBool *valid);
PETSC_EXTERN PetscErrorCode MuonLayerDecodeStep(MuonLayer, const MuonLayerStepInfo *, size_t, const unsigned char message[], const MuonArray *X);
