/*
   Learning rates, momentum and optimizers of the layers over the steps; presets.
*/
#pragma once

#include "../plan/muonplan.h"

/* Parameters of momentum and steps, which layers inherit, and of the types of layers; state of what changes with the step */
struct _n_MuonRates {
  PetscReal         learning_rate, momentum, dampening, weight_decay;
  MuonMomentumStyle momentum_style;
  MuonShapeFactor   shape_factor;
  MuonStepType      step;
  char             *preset, *layer_types, *layer_type;
  MuonScheduleType  schedule;
  PetscInt          schedule_warmup, momentum_warmup;
  PetscReal         schedule_constant, schedule_minimum, momentum_warmup_start;
  MuonScheduleFn   *fn;
  void             *ctx;
  struct {
    PetscBool valid, legal;
    PetscReal factor, momentum, decay;
  } scheduled;                                                                            /* what fn gave for the step that is taken, or was taken last */
  PetscReal adamw_learning_rate, adamw_weight_decay, sgd_learning_rate, sgd_weight_decay; /* PETSC_DETERMINE for those of the optimizer */
  PetscReal adamw_beta1, adamw_beta2, adamw_epsilon;
};

/* An error where these do not go together */
PETSC_INTERN PetscErrorCode MuonCheckMomentum_Private(Muon, int at, MuonMomentumStyle, MuonNesterovType);
/* If the number of steps was set, but no schedule, the rate decreases to 0 */
PETSC_INTERN PetscErrorCode MuonScheduleDefault_Private(Muon);
/* schedule x warm-up of the coming step, or of the one that is taken */
PETSC_INTERN PetscErrorCode MuonGetScheduleFactor_Private(Muon, PetscReal *);
/* Whether a layer may need memory for a momentum */
PETSC_INTERN PetscBool MuonNeedsMomentum_Private(Muon, MuonLayer);
/*
   Calls the function of MuonSetScheduleFunction() for this step; after all ranks were found to have the same result, an error on
   every rank if it is illegal
*/
PETSC_INTERN PetscErrorCode MuonSchedule_Private(Muon);
PETSC_INTERN PetscErrorCode MuonCheckSchedule_Private(Muon);
/* The layers without a rate, a momentum or a decay of their own get those of this step */
PETSC_INTERN PetscErrorCode MuonFollowSchedule_Private(Muon);
/*
   The optimizer of the first pattern of -muon_layer_types that matches a layer's name, or that of the preset; prints patterns on a viewer, or warns of
   unused patterns; the number of layers and entries of each optimizer
*/
/* An error where a text is not one of -muon_layer_types, or no type */
PETSC_INTERN PetscErrorCode MuonCheckLayerTypesText_Private(Muon, const char[]);
PETSC_INTERN PetscErrorCode MuonCheckLayerTypeText_Private(Muon, const char[]);
PETSC_INTERN PetscErrorCode MuonMatchLayerType_Private(Muon, MuonLayer);
PETSC_INTERN PetscErrorCode MuonCheckLayerTypes_Private(Muon, PetscViewer);
/*
   The rate of the coming step that monitors show: Muon's own where a layer has the optimizer lmo, else that of the
   first layer
*/
PETSC_INTERN PetscErrorCode MuonGetShownRate_Private(Muon, PetscReal *);
PETSC_INTERN PetscErrorCode MuonViewLayerTypes_Private(Muon, PetscViewer);
/* The type that a preset is of */
PETSC_INTERN PetscErrorCode MuonPresetGetType_Private(Muon, const char name[], const char *type[]);
/*
   The preset's name for a layer that is not a hidden matrix, NULL for others; the preset's norm for such layers, NULL for none,
   and the optimizer of this one
*/
PETSC_INTERN PetscErrorCode MuonPresetFindEdge_Private(Muon, MuonLayer, const char **edge, const char **norm, MuonLayerType *type);
PETSC_INTERN PetscErrorCode MuonPresetView_Private(Muon, PetscViewer);
/* The optimizer or one of its layers reads the keys of the preset, and no others */
PETSC_INTERN PetscErrorCode MuonPresetRead_Private(Muon, PetscObject);
PETSC_INTERN PetscErrorCode MuonCheckMomentumKept_Private(Muon, const char key[], PetscReal momentum);
/* Rate, decay and radius of this step for each shard */
PETSC_INTERN PetscErrorCode MuonSetStepInfo_Private(Muon);
