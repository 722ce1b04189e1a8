/*
   Common to EF21 and EF14: compressors of both directions for all layers, from which each shard gets its own, and the reference
   of a worker's messages; and the measures of EF21 around the commit of a step (compression.c).
*/
#pragma once

#include "../../step/muonstep.h"

/* The data of a type begins with it. The keys of its compressors, muon->compressor, begin with its name: "ef21_server_compressor" */
typedef struct {
  MuonDownlink         downlink;
  MuonCompressorLayers types; /* other layers, and those of fewer entries, send what they have as it is */
  PetscInt             min_entries;
  size_t               bytes; /* of what the type keeps of a shard */
} MuonFeedback;

/* What a type keeps of one shard begins with it */
typedef struct {
  PetscBool keeps;    /* messages leave something out; else they are T itself */
  MuonArray relative; /* worker: what its messages are relative to */
} FeedbackShard;

#define MUON_FEEDBACK_ROW(key, kind, field, names, help) \
  { \
    key, MUON_PARAMETER_##kind, offsetof(MuonFeedback, field), 0, 0, MUON_UNBOUNDED, names, MUON_PARAMETER_BARE | MUON_PARAMETER_DATA | MUON_PARAMETER_FIXED, help \
  }
#define MUON_FEEDBACK_ROWS(family) \
  MUON_FEEDBACK_ROW(family "downlink", ENUM, downlink, MuonDownlinks, "How owners tell the workers of new weights"), \
    MUON_FEEDBACK_ROW(family "compressor_layers", ENUM, types, MuonCompressorLayersTypes, "Layers that the compressors are for; the others are sent uncompressed"), \
    MUON_FEEDBACK_ROW(family "compressor_min_entries", INT, min_entries, NULL, "Entries of the smallest layer that the compressors are for")

/* Registration of a type: a row of layers, and the prefixes of its compressors before its options that are not rows */
#define MUON_FEEDBACK_LAYER_ROWS(family) \
  { \
    {family "downlink", \
     MUON_PARAMETER_ENUM, \
     0, \
     0, \
     0, \
     0, \
     MuonDownlinks, \
     MUON_PARAMETER_DATA | MUON_PARAMETER_FIXED | MUON_PARAMETER_PARENT | MUON_PARAMETER_HIDDEN, \
     "How the owner tells the workers of new weights, as the optimizer says where not set"}, \
    { \
      NULL, MUON_PARAMETER_REAL, 0, 0, 0, 0, NULL, 0, NULL \
    } \
  }
#define MUON_FEEDBACK_KEYS(family) family, family "server_"

/* data begins with a MuonFeedback, so many bytes are of each shard; the operations that both types have */
PETSC_INTERN PetscErrorCode MuonCreate_Feedback(Muon, void *data, size_t bytes);
PETSC_INTERN PetscErrorCode MuonRegister_EF21(void);
PETSC_INTERN PetscErrorCode MuonRegister_EF14(void);
PETSC_INTERN PetscErrorCode MuonFeedbackRegister_Private(const char type[], MuonAddonOps *, const MuonParameter layerrows[], const char *const keys[]);
/* The shards' compressors and data */
PETSC_INTERN PetscErrorCode MuonConfigure_Feedback(Muon);
PETSC_INTERN PetscErrorCode MuonView_Feedback(Muon, PetscViewer);
PETSC_INTERN PetscErrorCode MuonReset_Feedback(Muon);
PETSC_INTERN PetscErrorCode MuonDestroy_Feedback(Muon);
/* One more compressor with the keys of one of them */
PETSC_INTERN PetscErrorCode MuonFeedbackMake_Private(Muon, int down, MuonCompressor *);

/*
   The measures of one rank for one layer, up and down, in the Frobenius norm and in the layer's norm: the relative squared error
   of a message, and the error after it; and the bytes of its messages
*/
typedef struct {
  double contraction[2][2], lag[2][2], bytes[2];
} EF21Figures;
#define EF21_FIGURES 10

typedef struct {
  PetscBool            wanted, active; /* by the user; in this step */
  EF21Figures         *mine;           /* of this rank */
  MuonEF21Compression *result;         /* of all */
} EF21Meter;

typedef struct {
  FeedbackShard  feedback; /* relative is the estimate G_j of the worker's momentum */
  MuonArray      G;        /* server: aggregate, whose next value is shard->sum until the commit */
  MuonArray      Gnew;     /* or this one, where the driver makes the server's momentum of the sum */
  MuonCompressor first;    /* sends the first gradient whole */
} EF21Shard;

typedef struct {
  MuonFeedback feedback;
  MuonEF21Init init;
  int          started; /* steps that were committed, at most 2: with depth 2 the first round is sent behind the first */
  EF21Meter    meter;
  PetscInt     errorinterval;
  PetscBool    errordue; /* after this step */
  PetscReal    error;    /* of the aggregate, as it was measured last, -1 before */
} Muon_EF21;

/* Whether the first gradient is sent uncompressed and becomes momentum and estimates, after this number of steps */
static inline PetscBool EF21IsFirst(Muon muon, int taken)
{
  const Muon_EF21 *ef21 = (Muon_EF21 *)muon->data;

  return ef21->init == MUON_EF21_INIT_GRADIENT && ef21->started <= taken ? PETSC_TRUE : PETSC_FALSE;
}

/* Measures contraction and lag of each layer in the steps of monitors, and ||G - mean of G_j|| when requested and before state is saved */
PETSC_INTERN PetscErrorCode EF21MeterCreate_Private(Muon);
PETSC_INTERN PetscErrorCode EF21MeterSetUp_Private(Muon);
PETSC_INTERN PetscErrorCode EF21MeterBegin_Private(Muon, MuonRecord *);
PETSC_INTERN PetscErrorCode EF21MeterSetFromOptions_Private(Muon, MuonOptionItems);
PETSC_INTERN PetscErrorCode EF21Measure_Private(Muon, MuonShard *, int down, PetscBool after, const MuonArray *A, const MuonArray *B);
PETSC_INTERN PetscErrorCode EF21MeterLook_Private(Muon, MuonShard *, PetscBool after, const MuonArray *Xnew, const MuonArray *W);
PETSC_INTERN PetscErrorCode EF21MeterSaving_Private(Muon);
PETSC_INTERN PetscErrorCode EF21MeterEnd_Private(Muon);
PETSC_INTERN PetscErrorCode EF21MeterReset_Private(Muon);
