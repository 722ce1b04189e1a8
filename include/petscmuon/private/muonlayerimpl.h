#pragma once

#include <petscmuon/private/petscmuonimpl.h>
#include <petscmuonlayer.h>

/* What a rule needs to know of the step it takes part in */
typedef struct {
  PetscInt  step;
  PetscReal rate;   /* learning rate times schedule */
  PetscReal radius; /* rate times the layer's scale and shape factor; with blocks, the largest of theirs */
  PetscReal dual;   /* output: <G,-D> where an oracle gave D, else 0 */
} MuonLayerStepInfo;

struct _MuonLayerOps {
  PetscErrorCode (*step)(MuonLayer, MuonLayerStepInfo *, Mat, Mat, Mat, MuonStatus *);
  PetscErrorCode (*encode)(MuonLayer, MuonLayerStepInfo *, Mat, size_t, unsigned char[], size_t *, MuonStatus *);
  PetscErrorCode (*decode)(MuonLayer, const MuonLayerStepInfo *, size_t, const unsigned char[], Mat);
  PetscErrorCode (*commit)(MuonLayer);
  PetscErrorCode (*getflops)(MuonLayer, PetscLogDouble *);
  PetscErrorCode (*getmemory)(MuonLayer, PetscLogDouble *);
  PetscErrorCode (*setfromoptions)(MuonLayer, MuonOptionItems);
  PetscErrorCode (*view)(MuonLayer, PetscViewer);
  PetscErrorCode (*reset)(MuonLayer);
  PetscErrorCode (*destroy)(MuonLayer);
};

struct _p_MuonLayer {
  PETSCHEADER(struct _MuonLayerOps);
  PetscInt        m, n;
  Mat             W;            /* the caller's; for a Vec layer the n x 1 matrix that borrows its array during a step */
  Vec             w;            /* NULL for a matrix */
  Mat             gradient;     /* ours, compact; becomes the new momentum during a step */
  Mat             usergradient; /* the caller's, for this step */
  Vec             gradientvec;  /* the same memory as gradient */
  PetscBool       nogradient;   /* the caller said that there is none */
  MuonBlocks      blocks;       /* on which the oracle acts by itself */
  PetscBool       blocksfixed;  /* the optimizer was set up with them */
  PetscBool       readsown;     /* while the layer reads its own keys its prefix is theirs */
  MuonLMO         lmo;
  PetscReal       scale, momentum, weight_decay;
  MuonShapeFactor shapefactor;
  PetscBool       momentumset, weight_decayset, shapefactorset; /* by the layer's own setter or option: else the optimizer's value holds */
  PetscBool       frozen;                                       /* the rule moves nothing: no gradient, no message, no state */
  PetscBool       workermomentum;                               /* the rule wants the workers' momentum; others keep their own moments at the owner */
  PetscMPIInt     owner;                                        /* -1: every rank */
  Mat             X;                                            /* the server's weights where this rank serves the layer */
  unsigned int    hash;
  MuonWorkspace   work;
  void           *data;
};

PETSC_EXTERN PetscErrorCode MuonLayerRuleCreate_LMO(MuonLayer);
PETSC_EXTERN PetscErrorCode MuonLayerRuleCreate_Frozen(MuonLayer);
PETSC_EXTERN PetscErrorCode MuonLayerRuleCreate_SGD(MuonLayer);
PETSC_EXTERN PetscErrorCode MuonLayerRuleCreate_AdamW(MuonLayer);
PETSC_EXTERN PetscErrorCode MuonLayerRuleCreate_NAdamW(MuonLayer);

/* An error of a user's choice: names layer and key with its prefix. The message begins with the key as it goes on behind the layer's name */
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
/* A block by its number, the radius factor of its shape, and a view of it in a matrix of the layer's shape, which is that matrix where the layer is not cut */
PETSC_INTERN PetscErrorCode MuonLayerGetBlock_Private(MuonLayer, PetscInt, MuonBlock *);
PETSC_INTERN PetscErrorCode MuonLayerGetBlockFactor_Private(MuonLayer, const MuonBlock *, PetscReal *);
PETSC_INTERN PetscErrorCode MuonLayerGetBlockMat_Private(MuonLayer, const MuonBlock *, Mat, Mat *);
PETSC_INTERN PetscErrorCode MuonLayerSetBlocksFromOptions_Private(MuonLayer, MuonOptionItems);
/* The gradient of this step in the layer's own compact buffer, zeros where the caller has none */
PETSC_INTERN PetscErrorCode MuonLayerGradientBegin_Private(MuonLayer, Mat *);
/* Between Begin and End the weights can be used as a matrix, whatever the storage */
PETSC_INTERN PetscErrorCode MuonLayerWeightsBegin_Private(MuonLayer, Mat *);
PETSC_INTERN PetscErrorCode MuonLayerWeightsEnd_Private(MuonLayer, PetscBool changed);
/* Xnew from X and G; nothing of the layer's state changes before Commit */
PETSC_INTERN PetscErrorCode MuonLayerStep_Private(MuonLayer, MuonLayerStepInfo *, Mat G, Mat X, Mat Xnew, MuonStatus *);
/*
   The same step as a message, for rules whose steps have a natural format and no state: Encode writes what G gives, Decode turns X into what Step would make of it, bit for bit, with rate and radius of the same
   step. reason: why a layer cannot, or nothing
*/
PETSC_INTERN PetscErrorCode MuonLayerCanEncode_Private(MuonLayer, size_t, char reason[]);
PETSC_INTERN PetscErrorCode MuonLayerEncodeStep_Private(MuonLayer, MuonLayerStepInfo *, Mat G, size_t, unsigned char message[], size_t *, MuonStatus *);
PETSC_INTERN PetscErrorCode MuonLayerDecodeStep_Private(MuonLayer, const MuonLayerStepInfo *, size_t, const unsigned char message[], Mat X);
PETSC_INTERN PetscErrorCode MuonLayerCommit_Private(MuonLayer);
PETSC_INTERN PetscErrorCode MuonLayerGetFlops_Private(MuonLayer, PetscLogDouble *);
PETSC_INTERN PetscErrorCode MuonLayerGetMemory_Private(MuonLayer, PetscLogDouble *);
/* Prefix of the keys of this layer alone: the layer's general prefix, then muon_layer_<name>_ */
PETSC_INTERN PetscErrorCode MuonLayerGetOwnPrefix_Private(MuonLayer, size_t, char[]);
/* Whether the options database has any key behind a layer's own prefix: most layers have none and need no second look-up */
PETSC_INTERN PetscErrorCode MuonLayerHasOwnOptions_Private(MuonLayer, PetscBool *);
