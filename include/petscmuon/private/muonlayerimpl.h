#pragma once

#include <petscmuon/private/petscmuonimpl.h>
#include <petscmuoncompressor.h>
#include <petscmuonlayer.h>

/* What a rule needs to know of the step it takes part in */
typedef struct {
  PetscInt step;
  double   rate;   /* the layer's learning rate times schedule */
  double   decay;  /* the weight decay that the rule applies to the weights in this step, 0 where none */
  double   radius; /* rate times the layer's scale and shape factor; with blocks, the largest of theirs */
  double   dual;   /* output: <G,-D> where an oracle gave D, else 0 */

  PetscBool cautious; /* decay only the entries that the step does not move away from zero */
  PetscBool measure;  /* squares is asked for */
  double    squares;  /* output: sum of squares of what rate multiplies in the step */
} MuonLayerStepInfo;

/* A step of one layer among those of several: what MuonLayerStep() gets, and its status */
typedef struct {
  MuonLayer         layer;
  MuonLayerStepInfo info;
  MuonArray         G, X, Xnew;
  MuonStatus        status;
} MuonLayerTask;

/*
   The operations of a rule. G has the precision of the state and may be only read, X and Xnew that of the
   weights; all have the layer's shape, order of memory and any distance of lines. Nothing of the rule's own
   state changes before commit.

   A rule that moves every entry by itself fills step alone, which may see rows of the layer only. One that
   needs whole blocks fills oracle, which makes D of a block of G that is all here or spread over the ranks of
   a worker, and move, which moves rows of the block by the same rows of D
*/
struct _MuonLayerOps {
  PetscErrorCode (*step)(MuonLayer, MuonLayerStepInfo *, const MuonArray *G, const MuonArray *X, const MuonArray *Xnew, MuonStatus *); /* Xnew is scratch, not X */
  PetscErrorCode (*stepmany)(PetscInt n, MuonLayerTask *const task[]); /* step, for layers of the same rule in the memory of a device; NULL where nothing is gained by several at a time */
  PetscErrorCode (*oracle)(MuonLayer, const MuonMatrix *G, const MuonMatrix *D, double *dual, MuonStatus *);
  PetscErrorCode (*move)(MuonLayer, MuonLayerStepInfo *, PetscInt b, const MuonArray *X, const MuonArray *D, const MuonArray *Xnew, MuonStatus *);
  /*
     The same step as a message, which the rule lmo alone has: encode writes what G gives, validate checks
     what came, decode turns X into what step would make of it, bit for bit
  */
  PetscErrorCode (*maxstepbytes)(MuonLayer, size_t *);
  PetscErrorCode (*encode)(MuonLayer, MuonLayerStepInfo *, const MuonArray *G, size_t, unsigned char[], size_t *, PetscBool entropy, MuonCompressorCost *, MuonStatus *);
  PetscErrorCode (*validate)(MuonLayer, size_t, const unsigned char[], PetscBool entropy, MuonCompressorCost *, PetscBool *);
  PetscErrorCode (*decode)(MuonLayer, const MuonLayerStepInfo *, size_t, const unsigned char[], const MuonArray *X);
  PetscErrorCode (*commit)(MuonLayer);
  PetscErrorCode (*setup)(MuonLayer); /* what a step would refuse is refused here, on every rank */
  PetscErrorCode (*getflops)(MuonLayer, PetscLogDouble *);
  PetscErrorCode (*visitstate)(MuonLayer, MuonStateVisitor *);
  PetscErrorCode (*choices)(MuonLayer, size_t, char[]); /* in text, what ranks must not differ in */
  PetscErrorCode (*setfromoptions)(MuonLayer, MuonOptionItems);
  PetscErrorCode (*view)(MuonLayer, PetscViewer);
  PetscErrorCode (*reset)(MuonLayer);
  PetscErrorCode (*destroy)(MuonLayer);
};

struct _p_MuonLayer {
  PETSCHEADER(struct _MuonLayerOps);
  PetscInt         m, n;        /* of the whole matrix */
  MPI_Comm         comm;        /* of the ranks that hold its rows together: a worker; the caller's */
  PetscMPIInt      ranks;       /* how many these are */
  PetscInt         M, N;        /* of the matrix of which each of them has rows: m and n, or of a slice that is spread over them its m n entries in the order of memory, and 1 */
  PetscInt         first, rows; /* the rows of that which are here in memory */
  PetscInt        *ranges;      /* of rows on these ranks, known after MuonLayerSetUpRows_Private() */
  int              rowmajor;    /* the lines of the m x n matrix in memory are its rows */
  MuonLayerStorage storage;
  Mat              W; /* the caller's weights: one of W, w and array, by the storage */
  Vec              w;
  Vec              g;     /* of a slice of w, its gradient's vector, */
  PetscInt         start; /* the number of its first entry in both, */
  PetscInt         skip;  /* and how many entries here are before it */
  MuonLayerArray   array;
  MuonArray        shape; /* of the weights that are here, as rows of the M x N matrix, without data and gaps */
  /*
     The gradient: the caller's own for this step, in whatever storage, or our buffer, which has no gaps and
     the weights' precision and is made when first asked for
  */
  PetscBool        wholeasked;    /* on one rank, where it changes nothing but the type of the gradient's matrix */
  PetscBool        wholegradient; /* on every rank of the worker it is of the whole matrix, to be averaged over them; else it has the rows of the weights */
  PetscBool        nogradient;    /* the caller said that there is none */
  PetscBool        asked;         /* somebody took or gave a gradient since the last step */
  Mat              usermat;
  Vec              uservec;
  const void      *userarray;
  MuonArray        gradient;
  Mat              gradientmat; /* what the caller got to fill: one of them shows the buffer */
  Vec              gradientvec;
  PetscObjectState seen; /* of it, after the last step */

  MuonBlocks       blocks; /* on which the oracle acts by itself */
  MuonLMO          lmo;
  PetscReal        scale, momentum, weight_decay;
  MuonShapeFactor  shapefactor;
  PetscBool        momentumset, weight_decayset, shapefactorset; /* by the layer's own setter or option: else the optimizer's value holds */
  PetscBool        readsown;                                     /* while the layer reads its own keys its prefix is theirs */
  PetscBool        frozen;                                       /* the rule moves nothing: no gradient, no message, no state */
  PetscBool        workermomentum;                               /* the rule wants the workers' momentum; others keep their own moments at the owner */
  PetscBool        fixed;                                        /* set by the driver: the optimizer was set up with the rule and the blocks */
  PetscBool        keepsmomentum;                                /* set by the driver at its set-up: somebody keeps a momentum of this layer */
  PetscMPIInt      owner;                                        /* -1: every rank */
  PetscInt         assembly, downlink;                           /* set by the driver and its type: the layer's own kind of assembly, and MuonDownlink */
  PetscBool        assemblyset, downlinkset;
  const MuonArray *server;  /* set by the driver: the server's weights, without data where this rank does not serve the layer */
  PetscBool        watched; /* set by the driver: what was written last is noted, to see whether somebody else wrote since then */
  PetscObjectState writes;
  PetscInt         slice; /* that is noted beside the whole */
  unsigned int     hashofall, hashofslice;
  PetscErrorCode (*ready)(void *); /* set by the driver: takes the gradient that is ready, with readyctx */
  void          *readyctx;
  PetscLogDouble gathered;        /* bytes handed to MPI by MuonLayerGetFullWeights(), which the driver counts */
  PetscBool      serverisweights; /* set by the driver: the server's weights are the layer's own, and server is not looked at */
  MuonPrecision  state;           /* set by the driver: the precision of what rules see as G, at first that of the weights */
  unsigned int   hash;
  MuonWorkspace  work;
  void          *data;

  PetscReal learning_rate;
  PetscBool learning_rateset;
  PetscReal updaterms; /* set by the driver: root mean square of the last step's update, -1 where it was not measured here */
};

PETSC_EXTERN PetscErrorCode MuonLayerRuleCreate_LMO(MuonLayer);
PETSC_EXTERN PetscErrorCode MuonLayerRuleCreate_Frozen(MuonLayer);
PETSC_EXTERN PetscErrorCode MuonLayerRuleCreate_SGD(MuonLayer);
PETSC_EXTERN PetscErrorCode MuonLayerRuleCreate_AdamW(MuonLayer);
PETSC_EXTERN PetscErrorCode MuonLayerRuleCreate_NAdamW(MuonLayer);

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

PETSC_INTERN PetscErrorCode MuonLayerSetWorkspace_Private(MuonLayer, MuonWorkspace);

/*
   The optimizer's numbers for a layer that AdamW or NAdamW moves and that has none of its own; nothing to
   another
*/
#define MUON_ADAMW_BETA1   0.9
#define MUON_ADAMW_BETA2   0.95
#define MUON_ADAMW_EPSILON 1e-10
PETSC_INTERN PetscErrorCode MuonLayerAdamWInherit_Private(MuonLayer, PetscReal beta1, PetscReal beta2, PetscReal epsilon);

/*
   A block by its number, the part of an array of the layer's shape that it is, and the radius factor of its
   shape
*/
PETSC_EXTERN PetscErrorCode MuonLayerGetBlock_Private(MuonLayer, PetscInt, MuonBlock *);
PETSC_EXTERN PetscErrorCode MuonLayerGetBlockArray(MuonLayer, PetscInt, const MuonArray *, MuonArray *part);
PETSC_EXTERN PetscErrorCode MuonLayerGetBlockFactor_Private(MuonLayer, const MuonBlock *, PetscReal *);
PETSC_INTERN PetscErrorCode MuonLayerSetBlocksFromOptions_Private(MuonLayer, MuonOptionItems);
/*
   The norm of an array of the layer's shape, the largest of those of its blocks, or the sum of their dual
   norms; NaN where MuonLMOGetStatus() says why
*/
PETSC_EXTERN PetscErrorCode MuonLayerComputeNormArray(MuonLayer, const MuonArray *, PetscBool dual, PetscReal *);

/*
   An error that names the function to call instead, where the storage is another: function without Vec or
   Array at its end
*/
PETSC_INTERN PetscErrorCode MuonLayerCheckStorage_Private(MuonLayer, MuonLayerStorage, const char function[]);
/* An error where what is not NULL is in another memory */
PETSC_INTERN PetscErrorCode MuonLayerCheckMemory_Private(const char name[], MuonMemory, const char what[], const void *data);
/* Memory that is laid out as the weights are */
PETSC_INTERN PetscErrorCode MuonLayerMemoryOf_Private(MuonLayer, const void *data, MuonArray *);
PETSC_INTERN PetscErrorCode MuonLayerResetGradient_Private(MuonLayer);
/* Of the whole matrix: more than a PetscInt may hold */
static inline PetscInt64 MuonLayerEntries(MuonLayer layer)
{
  return (PetscInt64)layer->m * (PetscInt64)layer->n;
}
/* An array without data and gaps that says lines, order and precision of the weights that are here */
PETSC_EXTERN PetscErrorCode MuonLayerGetShape(MuonLayer, MuonArray *);
/* Likewise of all rows, wherever they are */
PETSC_EXTERN PetscErrorCode MuonLayerGetWholeShape(MuonLayer, MuonArray *);
/*
   Whether the ranks of a worker have ranges of its entries, which need not be rows; and the m x n matrix that
   all of them in one memory without gaps are, which is the array itself for other layers
*/
static inline PetscBool MuonLayerIsEntries(MuonLayer layer)
{
  return layer->M != layer->m || layer->N != layer->n ? PETSC_TRUE : PETSC_FALSE;
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
   A checksum, on from that in hash, of the weights that are here, or of one of so many slices of them, one
   entry behind the other. A negative slice is all
*/
#define MUON_LAYER_SLICES 64
PETSC_EXTERN PetscErrorCode MuonLayerHashWeights(MuonLayer, PetscInt slice, unsigned int *hash);
/*
   Notes what the weights are, which MuonLayerRestoreWeightsMemory() does after each write of the library's to
   a layer that is watched; and tells whether they are something else now. Weights in an object that counts
   its writes are looked at whole where there was one; of others, and of memory that is not PETSc's, a slice
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
   At the end of a step: what our buffer holds is undefined from here on, NaN in debug builds, and nobody has
   asked for it yet
*/
PETSC_EXTERN PetscErrorCode MuonLayerSpoilGradient(MuonLayer);
/*
   Whether somebody took our buffer to fill it, filled the object that he has of it, gave a gradient of his
   own, or said that there is none
*/
PETSC_EXTERN PetscErrorCode MuonLayerWasGradientAsked(MuonLayer, PetscBool *);

/* The LMO and the rule are made ready: usage errors are seen here, on every rank */
PETSC_EXTERN PetscErrorCode MuonLayerSetUp(MuonLayer);
/* In text, all that a step of this layer depends on and ranks must not differ in */
PETSC_EXTERN PetscErrorCode MuonLayerChoices(MuonLayer, size_t, char[]);
/* Names the gradient's buffer and the rule's state */
PETSC_EXTERN PetscErrorCode MuonLayerVisitState(MuonLayer, MuonStateVisitor *);
PETSC_EXTERN PetscErrorCode MuonLayerGetFlops(MuonLayer, PetscLogDouble *);

/*
   Xnew from X and G, as the operations of a rule have it. Weights that would not be finite are
   MUON_STATUS_NANORINF; where the status is not MUON_STATUS_OK Xnew holds nothing of worth
*/
PETSC_EXTERN PetscErrorCode MuonLayerStep(MuonLayer, MuonLayerStepInfo *, const MuonArray *G, const MuonArray *X, const MuonArray *Xnew, MuonStatus *);
/* The same for several layers, each a part of whose rule's work may be done together with that of others */
PETSC_EXTERN PetscErrorCode MuonLayerStepMany(PetscInt n, MuonLayerTask task[]);
/*
   What a rule ends with: Xnew = (1 - rate decay) X + by D with rate and decay of the step, and with decay
   where it is cautious; whatever the precision of D, which may be Xnew where it is the same;
   MUON_STATUS_NANORINF where not all of Xnew is finite
*/
PETSC_EXTERN MuonStatus MuonLayerMove(const MuonLayerStepInfo *, const MuonArray *X, double by, const MuonArray *D, const MuonArray *Xnew);
/* The sum of the squares of an array, which a rule adds to info->squares where it is asked for */
static inline double MuonLayerSumSquares(const MuonArray *D)
{
  return MuonArrayKernels(D)->SumSquares(D->len, D->count, D->data, D->ld);
}
/* Scratch of a rule, without gaps: until its operation ends or asks again */
PETSC_EXTERN PetscErrorCode MuonLayerGetScratch(MuonLayer, const MuonArray *like, MuonArray *);
/* Before it; MuonWorkspaceRelease() with layer->work ends it */
PETSC_EXTERN PetscErrorCode MuonLayerMark_Private(MuonLayer, MuonMark *);
/*
   Steps as messages of the whole layer. reason: why a layer cannot, or nothing; rate, decay and radius are
   those of the same step at sender and receiver. Validate tells whether bytes are such a message, Decode
   takes only those
*/
PETSC_EXTERN PetscErrorCode MuonLayerCanEncode_Private(MuonLayer, size_t, char reason[]);
PETSC_EXTERN PetscErrorCode MuonLayerGetMaxStepBytes(MuonLayer, size_t *);
PETSC_EXTERN PetscErrorCode MuonLayerEncodeStep(MuonLayer, MuonLayerStepInfo *, const MuonArray *G, size_t, unsigned char message[], size_t *, PetscBool entropy, MuonCompressorCost *, MuonStatus *);
PETSC_EXTERN PetscErrorCode MuonLayerValidateStep(MuonLayer, size_t, const unsigned char message[], PetscBool entropy, MuonCompressorCost *, PetscBool *valid);
PETSC_EXTERN PetscErrorCode MuonLayerDecodeStep(MuonLayer, const MuonLayerStepInfo *, size_t, const unsigned char message[], const MuonArray *X);
PETSC_EXTERN PetscErrorCode MuonLayerCommit(MuonLayer);
