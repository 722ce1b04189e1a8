#pragma once

#include <petscmuon/private/petscmuonimpl.h>
#include <petscmuon/private/muonlayerimpl.h>
#include <petscmuon/private/muonexchangeimpl.h>
#include <petscmuon.h>

PETSC_EXTERN PetscLogEvent MUON_Step, MUON_Gradient, MUON_Momentum, MUON_Aggregate, MUON_Measure, MUON_SetUpEvent;

#define MAXMUONMONITORS 5

/* What every rank tells every other at the end of a step, in one call: what became of it and what monitors print */
typedef struct {
  double status, nans, loss, dual, up, down, replica, measure; /* measure: this rank is going to look at what the step does, which all do together or none */
} MuonRecord;
#define MUON_RECORD_COUNT 8

struct _MuonOps {
  PetscErrorCode (*configure)(Muon); /* makes the type's sub-objects, so that their options can be compared between the ranks */
  PetscErrorCode (*setup)(Muon);     /* allocates state, after the owners are known */
  PetscErrorCode (*step)(Muon, MuonRecord *);
  PetscErrorCode (*weightschanged)(Muon);
  PetscErrorCode (*setfromoptions)(Muon, MuonOptionItems);
  PetscErrorCode (*setobjectsfromoptions)(Muon); /* the type's sub-objects, which begin options of their own */
  PetscErrorCode (*getmemory)(Muon, PetscLogDouble *, PetscLogDouble *);
  PetscErrorCode (*viewlayer)(Muon, MuonLayer, size_t, char[]);
  PetscErrorCode (*layerchoices)(Muon, MuonLayer, size_t, char[]); /* all that was chosen for a layer, to be compared between the ranks; viewlayer is for tables */
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
  MuonLayer                  *active; /* those that are not frozen: the items of the exchange */
  MuonExchange                exchange;
  MuonWorkspace               work;
  MuonObjectiveAndGradientFn *objective;
  void                       *objectivectx;

  PetscReal         learning_rate, momentum, dampening, weight_decay, schedule_constant;
  MuonScheduleType  schedule;
  PetscInt          schedule_warmup, max_steps;
  MuonMomentumStyle momentum_style;
  MuonNesterovType  nesterov;
  PetscInt          momentum_at; /* MuonMomentumAt, or PETSC_DETERMINE for the type's own */
  PetscBool         momentum_atset;
  MuonShapeFactor   shape_factor;
  PetscInt64        seed;
  MuonNaNPolicy     nan;
  PetscBool         error_if_not_converged;

  PetscBool           setupcalled, setfromoptionscalled, optionschecked;
  PetscInt            step;
  PetscReal           loss, dual;
  PetscInt64          nancount;
  PetscLogDouble      meanup, meandown; /* encoded bits of this step, mean over the ranks */
  MuonConvergedReason reason;
  MuonTraffic         traffic;

  PetscInt       nmonitors, monitorinterval;
  MuonMonitorFn *monitor[MAXMUONMONITORS];
  void          *monitorctx[MAXMUONMONITORS];
  PetscErrorCode (*monitordestroy[MAXMUONMONITORS])(void **);
  char *csv;

  void *data;
};

PETSC_EXTERN PetscErrorCode MuonCreate_EF21(Muon);
PETSC_EXTERN PetscErrorCode MuonCreate_Dense(Muon);

/* Names the keys that no object reads, each with the nearest one that exists */
PETSC_INTERN PetscErrorCode MuonCheckOptions_Private(Muon);
/* Radius and rate of this step for a layer */
PETSC_INTERN PetscErrorCode MuonGetStepInfo_Private(Muon, MuonLayer, MuonLayerStepInfo *);
/*
   The gradient of a layer becomes its new momentum, in the gradient's buffer. M == NULL is a momentum of zero that is not stored: then the gradient keeps its scale
   where mu is 0. status tells a gradient with NaN or Inf, which the policy "zero" mends and counts.
*/
PETSC_INTERN PetscErrorCode MuonCheckGradient_Private(Muon, MuonLayer, Mat G, MuonRecord *, MuonStatus *);
PETSC_INTERN PetscErrorCode MuonGetMomentumWeights_Private(Muon, MuonLayer, PetscReal *previous, PetscReal *fresh);
PETSC_INTERN PetscErrorCode MuonMatAxpby_Private(PetscReal, Mat, PetscReal, Mat);
/* Every rank learns what became of the step; ok where it can be committed everywhere */
PETSC_INTERN PetscErrorCode MuonAgree_Private(Muon, MuonRecord *, PetscBool *ok);
PETSC_INTERN PetscErrorCode MuonWorse_Private(MuonStatus, MuonStatus *);
PETSC_INTERN PetscErrorCode MuonCountMessage_Private(const MuonCompressorCost *, PetscLogDouble[3]);
PETSC_INTERN PetscErrorCode MuonMonitorSetFromOptions_Private(Muon);
/* Whether monitors speak of this step: every interval-th one, and the last */
PETSC_INTERN PetscBool MuonMonitorSpeaks_Private(Muon, PetscInt step);
/* A monitor whose context is the viewer of a key, where the key is set; a viewer that it has already is not given twice */
PETSC_INTERN PetscErrorCode MuonMonitorViewerFromOptions_Private(Muon, const char key[], MuonMonitorFn *, PetscBool *set);

/*
   The ways of a step's messages, for the active layer i or all of them; c[i] is the compressor of layer i, reference[i] what its message is relative to.
   SendUp: out of the gradients' buffers; in the modes that sum arrays, sum[i] gets the sum where this rank serves. SumMessages: that sum out of messages, in the order of ranks.
   ServerStep: Xnew from X and G. SendDown encodes Xnew, ReceiveDown checks all messages of the servers, DecodeDown applies one of them to W.
   SendStep and DecodeStep take the place of ServerStep, SendDown and DecodeDown where the message is the step itself.
*/
PETSC_INTERN PetscErrorCode MuonSendUp_Private(Muon, MuonExchangeMode, const MuonCompressor c[], const Mat reference[], const Mat sum[], MuonStatus *);
PETSC_INTERN PetscErrorCode MuonSumMessages_Private(Muon, PetscInt i, MuonCompressor, Mat sum, MuonStatus *);
PETSC_INTERN PetscErrorCode MuonServerStep_Private(Muon, PetscInt i, Mat G, Mat X, Mat Xnew, MuonRecord *, MuonStatus *);
PETSC_INTERN PetscErrorCode MuonSendDown_Private(Muon, PetscInt i, MuonCompressor, Mat Xnew, Mat reference, MuonRecord *, MuonStatus *);
PETSC_INTERN PetscErrorCode MuonSendStep_Private(Muon, PetscInt i, MuonCompressor, Mat G, Mat W, MuonRecord *, MuonStatus *);
PETSC_INTERN PetscErrorCode MuonDecodeStep_Private(Muon, PetscInt i, Mat W);
PETSC_INTERN PetscErrorCode MuonHashReplica_Private(Mat Xnew, MuonRecord *);
PETSC_INTERN PetscErrorCode MuonHashStep_Private(Muon, PetscInt i, MuonRecord *);
PETSC_INTERN PetscErrorCode MuonReceiveDown_Private(Muon, const MuonCompressor c[], MuonStatus *);
PETSC_INTERN PetscErrorCode MuonDecodeDown_Private(Muon, PetscInt i, MuonCompressor, PetscBool assigns, Mat W);
PETSC_INTERN PetscErrorCode MuonDenseMatCreate_Private(MuonLayer, PetscBool zero, Mat *);
/* A matrix of the layer's shape on shared scratch, which a loop over the layers needs one at a time */
PETSC_INTERN PetscErrorCode MuonScratchMatCreate_Private(Muon, MuonWorkspaceSlot, MuonLayer, Mat *);
/* The worker's momentum of every active layer, in the gradients' buffers; M[i] == NULL is a momentum that is not stored. first: the gradient is the momentum */
PETSC_INTERN PetscErrorCode MuonWorkerMomentum_Private(Muon, const Mat M[], PetscBool first, MuonRecord *, MuonStatus *);
