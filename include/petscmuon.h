/*
   PetscMuon: the Muon family of optimizers, distributed and with compressed communication.
*/
#pragma once

#include <petscmuonsys.h>
#include <petscmuonpolar.h>
#include <petscmuonlmo.h>
#include <petscmuoncompressor.h>
#include <petscmuonexchange.h>
#include <petscmuonlayer.h>

/* MANSEC = ML */
/* SUBMANSEC = Muon */

/*S
   Muon - Optimizer of the Muon family, with its layers, its algorithm and its exchange

   Level: beginner

.seealso: `MuonCreate()`, `MuonAddLayer()`, `MuonSetObjectiveAndGradient()`, `MuonSetFromOptions()`, `MuonSolve()`, `MuonStep()`, `MuonType`
S*/
typedef struct _p_Muon *Muon;

/*J
   MuonType - String with the name of an algorithm

   Values:
+  `MUONEF21`  - EF21-Muon: error feedback and compression in both directions
.  `MUONEF14`  - classic error feedback: the compression error is added to the next gradient
.  `MUONSIGN`  - SignMuon: majority vote of the workers' signs, one bit an entry
.  `MUONLOCAL` - local steps of each worker; an outer optimizer averages the weights after every few of them
-  `MUONDENSE` - uncompressed Muon

   Level: beginner

.seealso: `MuonSetType()`, `Muon`, `MuonRegister()`
J*/
typedef const char *MuonType;
#define MUONEF21  "ef21"
#define MUONEF14  "ef14"
#define MUONSIGN  "sign"
#define MUONDENSE "dense"
#define MUONLOCAL "local"

/*E
   MuonConvergedReason - Why an optimizer stopped

   Values:
+  `MUON_CONVERGED_MAX_STEPS` - all steps were taken
.  `MUON_CONVERGED_ITERATING` - not stopped
.  `MUON_DIVERGED_NANORINF`   - a loss, a gradient or a result is NaN or Inf on some rank
.  `MUON_DIVERGED_CORRUPT`    - a received message is not one that its sender could have written
.  `MUON_DIVERGED_LMO`        - a factorization in an LMO or a compressor failed
-  `MUON_DIVERGED_WEIGHTS`    - replicated weights differ between ranks, see `MuonSetParameter()`

   Level: beginner

   Note:
   A diverged step leaves weights and state unchanged on every rank.

.seealso: `MuonGetConvergedReason()`, `MuonStep()`, `MuonSetParameter()`
E*/
typedef enum {
  MUON_CONVERGED_MAX_STEPS = 1,
  MUON_CONVERGED_ITERATING = 0,
  MUON_DIVERGED_NANORINF   = -1,
  MUON_DIVERGED_CORRUPT    = -2,
  MUON_DIVERGED_LMO        = -3,
  MUON_DIVERGED_WEIGHTS    = -4
} MuonConvergedReason;
PETSC_EXTERN const char *const *MuonConvergedReasons;

/*E
   MuonScheduleType - How the learning rate changes with the step s = 0, ..., K-1 of K

   Values:
+  `MUON_SCHEDULE_CONSTANT`  - 1
.  `MUON_SCHEDULE_TRAPEZOID` - min(1, (K-s)/((1-c)K)) with c the constant fraction
.  `MUON_SCHEDULE_LINEAR`    - (K-s)/K
-  `MUON_SCHEDULE_COSINE`    - (1 + cos(pi s/K))/2

   Level: beginner

   Note:
   With a minimum v (`MuonSetSchedule()`) a schedule f becomes v + (1-v) f. Warm-up over w steps multiplies it by
   min(1, (s+1)/w).

.seealso: `MuonSetSchedule()`, `MuonSetLearningRate()`, `MuonSetMaxSteps()`
E*/
typedef enum {
  MUON_SCHEDULE_CURRENT  = -2, /* leaves what is set */
  MUON_SCHEDULE_CONSTANT = 0,
  MUON_SCHEDULE_TRAPEZOID,
  MUON_SCHEDULE_LINEAR,
  MUON_SCHEDULE_COSINE
} MuonScheduleType;
PETSC_EXTERN const char *const MuonScheduleTypes[];

/*E
   MuonMomentumStyle - How a gradient g enters the momentum M, with mu the weight of the old momentum

   Values:
+  `MUON_MOMENTUM_EMA` - M becomes mu M + (1-mu) g
-  `MUON_MOMENTUM_SGD` - M becomes mu M + (1-dampening) g

   Level: intermediate

.seealso: `MuonSetMomentum()`, `MuonSetParameter()`
E*/
typedef enum {
  MUON_MOMENTUM_CURRENT = -2, /* leaves what is set */
  MUON_MOMENTUM_EMA     = 0,
  MUON_MOMENTUM_SGD
} MuonMomentumStyle;
PETSC_EXTERN const char *const MuonMomentumStyles[];

/*E
   MuonNesterovType - Input of the LMO, with g the gradient, M the new momentum and mu its weight

   Values:
+  `MUON_NESTEROV_NONE`     - M
.  `MUON_NESTEROV_EMA`      - (1-mu) g + mu M
.  `MUON_NESTEROV_SGD`      - g + mu M, for the momentum style `MUON_MOMENTUM_SGD`
-  `MUON_NESTEROV_UNDAMPED` - g + mu M, for the momentum style `MUON_MOMENTUM_EMA`

   Level: intermediate

.seealso: `MuonSetMomentum()`
E*/
typedef enum {
  MUON_NESTEROV_CURRENT = -2, /* leaves what is set */
  MUON_NESTEROV_NONE    = 0,
  MUON_NESTEROV_EMA,
  MUON_NESTEROV_SGD,
  MUON_NESTEROV_UNDAMPED
} MuonNesterovType;
PETSC_EXTERN const char *const MuonNesterovTypes[];

/*E
   MuonWeightDecayStyle - How weight decay enters a step

   Values:
+  `MUON_WEIGHT_DECAY_DECOUPLED` - the weights are multiplied by 1 - rate x decay before the step
.  `MUON_WEIGHT_DECAY_COUPLED`   - decay x weights, the gradient of the penalty decay/2 ||X||^2, is added to the gradient before the momentum
-  `MUON_WEIGHT_DECAY_CAUTIOUS`  - as decoupled, but only for entries that the step does not move away from zero

   Level: intermediate

   References:
.  * - L. Chen et al., Cautious weight decay, 2025

.seealso: `MuonSetWeightDecay()`
E*/
typedef enum {
  MUON_WEIGHT_DECAY_CURRENT   = -2, /* leaves what is set */
  MUON_WEIGHT_DECAY_DECOUPLED = 0,
  MUON_WEIGHT_DECAY_COUPLED,
  MUON_WEIGHT_DECAY_CAUTIOUS
} MuonWeightDecayStyle;
PETSC_EXTERN const char *const MuonWeightDecayStyles[];

/*E
   MuonClipLayers - Layers whose gradients are clipped

   Values:
+  `MUON_CLIP_OTHERS` - the layers whose optimizer is not `MUONLAYERLMO`
-  `MUON_CLIP_ALL`    - all layers; the norm is that of all gradients together

   Level: intermediate

.seealso: `MuonSetParameter()`
E*/
typedef enum {
  MUON_CLIP_OTHERS,
  MUON_CLIP_ALL
} MuonClipLayers;
PETSC_EXTERN const char *const MuonClipLayersTypes[];

/*E
   MuonTheory - Theorem of EF21-Muon or SignMuon that gives the step sizes

   Values:
+  `MUON_THEORY_NONE`              - none: `MuonSetLearningRate()` and `MuonSetMomentum()` give them
.  `MUON_THEORY_SMOOTH`            - Theorem 3, by layers 14: exact gradients that are Lipschitz; sharp steps, constant gamma
.  `MUON_THEORY_SMOOTH_STOCHASTIC` - Theorem 5, by layers 19: the same with noise; sharp steps, constant gamma and beta
.  `MUON_THEORY_L0L1`              - Theorem 4, by layers 17: exact gradients, (L0,L1)-smooth; the radius eta / sqrt(K + 1)
.  `MUON_THEORY_L0L1_STOCHASTIC`   - Theorem 6, by layers 24: the same with noise; the radius eta (K + 1)^(-3/4), beta = (K + 1)^(-1/2)
-  `MUON_THEORY_AUTO`              - Theorem 3, or 5 with `-muon_theory_beta`, with constants estimated in the first steps

   Options Database Keys:
+  -muon_theory theorem        - the theorem (none|smooth|smooth_stochastic|l0l1|l0l1_stochastic|auto)
.  -muon_theory_l L            - Lipschitz constant of the gradient of f, from the layer's norm to its dual norm
.  -muon_theory_lt Lt          - sqrt((1/J) sum L_j^2) of the J workers' functions f_j; L for one worker
.  -muon_theory_l0 L0          - L0 of f: L0 + L1 x (dual norm of the gradient at X) takes the place of L
.  -muon_theory_l1 L1          - L1 of f
.  -muon_theory_l0b L0b        - mean of the workers' L0; L0 for one worker
.  -muon_theory_l1max L1max    - largest of the workers' L1; L1 for one worker
.  -muon_theory_sigma sigma    - largest standard deviation of a worker's gradient, in the Frobenius norm
.  -muon_theory_alpha a        - measured contraction of the workers' messages, in (0,1], in place of `MuonCompressorGetAlpha()`
.  -muon_theory_alpha_server a - the same of the servers' messages
.  -muon_theory_h h            - f* - (1/J) sum f_j*, the minimum of f minus the mean of the minima of the f_j; 0 for one worker
.  -muon_theory_gap gap        - f(X^0) - f*
.  -muon_theory_eta eta        - factor of the radius; by default the one that minimizes the bound
.  -muon_theory_beta beta      - weight of a new gradient; by default the one that minimizes the bound
.  -muon_theory_estimate n     - estimates the constants every n steps, see `MuonGetTheoryEstimate()`
.  -muon_theory_csv file       - writes each estimate to a file, a row a layer
.  -muon_theory_auto_steps n   - number of steps after which `auto` uses the estimates, 10 by default
-  -muon_theory_safety x       - factor by which `auto` multiplies estimated constants, 2 by default

   Level: advanced

   Notes:
   These step sizes are safe and small. The theorem's condition is sufficient, not necessary: steps a hundred times as
   long often work.

   All constants except h and gap can be set for one layer, as in `-muon_layer_NAME_theory_l`. They refer to the layer's
   norm divided by scale x shape factor. `-muon_layer_NAME_theory_eta w` makes a layer's eta w times the optimizer's; the
   bound is then one of a sum of norms with these weights (Theorems 17 and 24, SignMuon). `-muon_max_steps` must be set.
   `MuonSetUp()` and `MuonView()` print the step sizes, the constants and the bound.

   Compressors must have a constant of contraction in the theorem's norm\: those of servers in the norm of the layer, those
   of workers in its dual norm (Theorems 3 and 4) or the Frobenius norm (5 and 6). Theorems 4 and 6 exclude server
   compressors. An error names the layers that do not fit. The theorems assume `-ef21_init gradient` and equal weights of
   the workers. Momentum by hand, Nesterov terms, decay, clipping and schedules are errors.

   By layers, the smoothness of layer i is that of its gradient with respect to X_i alone. This holds along a path, and for
   sums of functions of one layer each.

   With `MUONSIGN`, `-sign_direction gradient` and `-sign_update none` or frobenius, the first two values mean the theorem
   of SignMuon\: a constant rate, and a bound of (1/K) sum_k E of the sum over the layers of ||grad_i f||_1 / sqrt(m n).

   The constants of Theorems 3 and 5 were derived anew by the paper's method. Those of 4, 6 and 24 are derived in the
   manual's page on theory.

   References:
+  * - K. Gruntkowska, A. Gaponov, Z. Tovmasyan, P. Richtarik, Error feedback for Muon and friends, 2025
-  * - N. Mishra, K. Trivedi, P. Kumar, SignMuon\: Communication-efficient distributed Muon optimization, 2026

.seealso: `Muon`, `MUONEF21`, `MUONSIGN`, `MuonStepType`, `MuonGetTheoryBound()`, `MuonGetTheoryEstimate()`, `MuonCompressorGetAlpha()`
E*/
typedef enum {
  MUON_THEORY_NONE,
  MUON_THEORY_SMOOTH,
  MUON_THEORY_SMOOTH_STOCHASTIC,
  MUON_THEORY_L0L1,
  MUON_THEORY_L0L1_STOCHASTIC,
  MUON_THEORY_AUTO
} MuonTheory;
PETSC_EXTERN const char *const MuonTheories[];

/*E
   MuonEvaluation - Samples that a routine for gradients should use

   Values:
+  `MUON_EVALUATION_STEP`  - those of a new step
.  `MUON_EVALUATION_AGAIN` - the same samples again, at other weights
-  `MUON_EVALUATION_OTHER` - other samples, which no step uses

   Level: advanced

.seealso: `MuonGetEvaluation()`
E*/
typedef enum {
  MUON_EVALUATION_STEP,
  MUON_EVALUATION_AGAIN,
  MUON_EVALUATION_OTHER
} MuonEvaluation;

/*S
   MuonTheoryEstimate - Smoothness and noise of a layer, estimated along a run

   Level: advanced

.seealso: `MuonGetTheoryEstimate()`, `MuonTheory`
S*/
typedef struct {
  PetscInt  samples; /* pairs of gradients */
  PetscReal l, lt;   /* largest ratio of the mean gradient; square root of the mean of the squares of the workers' largest */
  PetscReal l0, l1;  /* L0 + L1 ||grad f||_* fitted to the ratios, by the medians of Theil and Sen */
  PetscReal fit;     /* 1 where all are on that line, 0 where it says no more than their median */
  PetscReal sigma;   /* of the worker with most noise, in the Frobenius norm */
  PetscInt  batches; /* 1 where the routine asked MuonGetEvaluation(): both gradients of a pair are of the same samples */
} MuonTheoryEstimate;

/*E
   MuonMomentumAt - Where the momentum is kept

   Values:
+  `MUON_MOMENTUM_AT_WORKER` - each worker keeps a momentum of its own gradients, before the exchange
-  `MUON_MOMENTUM_AT_SERVER` - the layer's server keeps one momentum of the mean gradient

   Level: intermediate

.seealso: `MuonSetParameter()`
E*/
typedef enum {
  MUON_MOMENTUM_AT_WORKER,
  MUON_MOMENTUM_AT_SERVER
} MuonMomentumAt;
PETSC_EXTERN const char *const MuonMomentumAts[];

/*E
   MuonNaNPolicy - Action on a NaN or Inf

   Values:
+  `MUON_NAN_STOP` - the step ends with `MUON_DIVERGED_NANORINF`
.  `MUON_NAN_SKIP` - the step changes nothing and is counted; the run goes on
-  `MUON_NAN_ZERO` - entries of a worker's gradient that are not finite become zero and are counted; elsewhere as `MUON_NAN_STOP`

   Level: intermediate

.seealso: `MuonSetParameter()`, `MuonGetNaNCount()`
E*/
typedef enum {
  MUON_NAN_STOP,
  MUON_NAN_SKIP,
  MUON_NAN_ZERO
} MuonNaNPolicy;
PETSC_EXTERN const char *const MuonNaNPolicies[];

/*E
   MuonRestartState - Part of a checkpoint that is loaded

   Values:
+  `MUON_RESTART_ALL`     - everything: the run continues
-  `MUON_RESTART_WEIGHTS` - the weights only: a new run starts from them at step 0

   Level: intermediate

.seealso: `MuonSetRestart()`
E*/
typedef enum {
  MUON_RESTART_ALL,
  MUON_RESTART_WEIGHTS
} MuonRestartState;
PETSC_EXTERN const char *const MuonRestartStates[];

/*E
   MuonStatePrecision - Precision of an optimizer's state

   Values:
+  `MUON_STATE_PRECISION_NATIVE` - that of each layer's weights
.  `MUON_STATE_PRECISION_SINGLE` - single
.  `MUON_STATE_PRECISION_BF16`   - momentum and moments in bfloat16, 2 bytes an entry, the rest as native
-  `MUON_STATE_PRECISION_INT8`   - momentum and moments in 8 bits with a scale for at most 256 entries of a row, 1 + 4/256 bytes an entry

   Level: intermediate

   Notes:
   It applies to momentum, estimates, aggregates, moments and scratch. Weights, including a server's own, keep the
   precision in which they were given.

   With bf16 and int8 the momentum, and the moments of `MUONLAYERADAMW` and `MUONLAYERNADAMW`, are rounded at the end of a step, up or
   down at random and without bias. The step itself takes what they were before. The random numbers are those of Philox under the seed,
   counted by layer, step and place of the entry in the layer\: they do not depend on owners, on rows that are spread and on restarts.
   The levels of int8 are scale times k/127, those of mean squares scale times (k/255)^4, where nothing above zero becomes zero.

   The rest is as with native\: estimates of `MUONEF21` and `MUONEF14`, what `MUONLAYERSOAP` and `MUONLAYERBEFORE` keep, and with int8
   state of vectors. Layers in the memory of a device are errors, ranges of a parallel vector with int8, and `-muon_layer_before soap`
   with the momentum at the server.

.seealso: `MuonSetParameter()`, `MuonAddLayerArray()`
E*/
typedef enum {
  MUON_STATE_PRECISION_NATIVE,
  MUON_STATE_PRECISION_SINGLE,
  MUON_STATE_PRECISION_BF16,
  MUON_STATE_PRECISION_INT8
} MuonStatePrecision;
PETSC_EXTERN const char *const MuonStatePrecisions[];

/*E
   MuonEF21Init - Initial momentum and estimates of EF21

   Values:
+  `MUON_EF21_INIT_ZERO`     - zero: only compressed messages are sent
-  `MUON_EF21_INIT_GRADIENT` - the first gradient, which is sent uncompressed

   Level: intermediate

.seealso: `MUONEF21`
E*/
typedef enum {
  MUON_EF21_INIT_ZERO,
  MUON_EF21_INIT_GRADIENT
} MuonEF21Init;
PETSC_EXTERN const char *const MuonEF21Inits[];

/*E
   MuonCompressorLayers - Layers that the optimizer's compressors apply to

   Values:
+  `MUON_COMPRESSOR_LAYERS_LMO` - layers whose optimizer is `MUONLAYERLMO`
-  `MUON_COMPRESSOR_LAYERS_ALL` - all layers

   Level: intermediate

.seealso: `MUONEF21`, `MUONEF14`
E*/
typedef enum {
  MUON_COMPRESSOR_LAYERS_LMO,
  MUON_COMPRESSOR_LAYERS_ALL
} MuonCompressorLayers;
PETSC_EXTERN const char *const MuonCompressorLayersTypes[];

/*E
   MuonSignDirection - Matrix whose signs a worker of SignMuon votes with

   Values:
+  `MUON_SIGN_DIRECTION_POLAR`    - the polar factor of the momentum
.  `MUON_SIGN_DIRECTION_MOMENTUM` - the momentum
.  `MUON_SIGN_DIRECTION_GRADIENT` - the gradient
-  `MUON_SIGN_DIRECTION_ADAM`     - the step of Adam

   Level: intermediate

.seealso: `MUONSIGN`
E*/
typedef enum {
  MUON_SIGN_DIRECTION_POLAR,
  MUON_SIGN_DIRECTION_MOMENTUM,
  MUON_SIGN_DIRECTION_GRADIENT,
  MUON_SIGN_DIRECTION_ADAM
} MuonSignDirection;
PETSC_EXTERN const char *const MuonSignDirections[];

/*E
   MuonSignUpdate - Step of SignMuon for the majority S of an m x n layer

   Values:
+  `MUON_SIGN_UPDATE_NONE`      - S itself
.  `MUON_SIGN_UPDATE_FROBENIUS` - S / sqrt(m n)
.  `MUON_SIGN_UPDATE_SPECTRAL`  - S over its largest singular value
-  `MUON_SIGN_UPDATE_POLAR`     - the polar factor of S

   Level: intermediate

.seealso: `MUONSIGN`
E*/
typedef enum {
  MUON_SIGN_UPDATE_NONE,
  MUON_SIGN_UPDATE_FROBENIUS,
  MUON_SIGN_UPDATE_SPECTRAL,
  MUON_SIGN_UPDATE_POLAR
} MuonSignUpdate;
PETSC_EXTERN const char *const MuonSignUpdates[];

/*E
   MuonSignTie - Result of a tie of votes

   Values:
+  `MUON_SIGN_TIE_PLUS`   - a plus
.  `MUON_SIGN_TIE_MINUS`  - a minus
.  `MUON_SIGN_TIE_ZERO`   - zero: the entry does not move
-  `MUON_SIGN_TIE_RANDOM` - the first worker's vote or its opposite, by a random bit that all workers know

   Level: intermediate

.seealso: `MUONSIGN`
E*/
typedef enum {
  MUON_SIGN_TIE_PLUS,
  MUON_SIGN_TIE_MINUS,
  MUON_SIGN_TIE_ZERO,
  MUON_SIGN_TIE_RANDOM
} MuonSignTie;
PETSC_EXTERN const char *const MuonSignTies[];

/*E
   MuonTrafficCount - Index of a figure in the arrays of `MuonTraffic`, one less than the index in Fortran

   Values:
+  `MUON_TRAFFIC_PAPER`   - bits by the paper's formula
.  `MUON_TRAFFIC_ENCODED` - bits of the encoded messages with their headers
-  `MUON_TRAFFIC_ENTROPY` - lower bound by entropy for the same messages, -1 without `-muon_count_entropy`

   Level: intermediate

.seealso: `MuonTraffic`, `MuonGetTraffic()`
E*/
typedef enum {
  MUON_TRAFFIC_PAPER,
  MUON_TRAFFIC_ENCODED,
  MUON_TRAFFIC_ENTROPY
} MuonTrafficCount;

/*S
   MuonTraffic - Bits that a rank sent and received

   Level: intermediate

   Note:
   A rank counts the messages that it encoded as a worker (`up`), each once, also those to itself. It counts the
   server messages that it decoded (`down`), each layer once.

.seealso: `MuonGetTraffic()`, `MuonTrafficCount`
S*/
typedef struct {
  PetscLogDouble up[3], down[3];             /* this step, by `MuonTrafficCount` */
  PetscLogDouble total_up[3], total_down[3]; /* all steps */
  PetscLogDouble mpi;                        /* bytes this rank handed to MPI in this step */
  PetscLogDouble dense;                      /* 32 bits times the entries of one direction */
  PetscLogDouble own;                        /* of `mpi`, what this rank sent to itself in sums and sizes, and no network sees */
} MuonTraffic;

/*S
   MuonEF21Compression - Measured compression error of a layer in one step

   Level: intermediate

   Notes:
   The first index is 0 for messages up, $x = M_j - G_j$, and 1 for messages down, $x = X - W$. The second index is 0 for
   the Frobenius norm. It is 1 for the norms in the theory of EF21-Muon: the dual norm of the layer up, its norm down.

   A contraction is $\|C(x) - x\|^2 / \|x\|^2$, 0 if $x$ is 0. A lag is the norm of the receiver's error after the
   message. Mean and worst are over the workers; down, both are the server's. A bound is 1 - alpha of
   `MuonCompressorGetAlpha()`, -1 if none is known in the Frobenius norm. Bytes are means over the ranks of the bytes
   sent for this layer, without messages of a rank to itself.

.seealso: `MuonEF21GetLayerCompression()`, `MuonEF21SetMonitorCompression()`
S*/
typedef struct {
  PetscInt  step; /* of which the figures are, -1 where there are none */
  PetscReal bound[2];
  PetscReal mean[2][2], worst[2][2];         /* contraction */
  PetscReal lag_mean[2][2], lag_worst[2][2]; /* what is left after the step */
  PetscReal bytes[2];                        /* of its messages in the step */
} MuonEF21Compression;

PETSC_EXTERN PetscClassId      MUON_CLASSID;
PETSC_EXTERN PetscFunctionList MuonList;

typedef PetscErrorCode MuonObjectiveAndGradientFn(Muon muon, PetscReal *loss, void *ctx);
typedef PetscErrorCode MuonValidationFn(Muon muon, PetscReal *value, void *ctx);
typedef PetscErrorCode MuonScheduleFn(Muon muon, PetscInt step, PetscReal *factor, PetscReal *momentum, PetscReal *decay, void *ctx);
typedef PetscErrorCode MuonPostStepFn(Muon muon, PetscInt step, void *ctx);
typedef PetscErrorCode MuonMonitorFn(Muon muon, PetscInt step, PetscReal loss, void *ctx);
typedef PetscErrorCode MuonCheckpointSaveFn(Muon muon, PetscInt64 *bytes, const void **data, void *ctx);
typedef PetscErrorCode MuonCheckpointLoadFn(Muon muon, PetscMPIInt ranks, const PetscInt64 bytes[], const void *const data[], void *ctx);

PETSC_EXTERN PetscErrorCode MuonInitializePackage(void);
PETSC_EXTERN PetscErrorCode MuonRegister(const char[], PetscErrorCode (*)(Muon), const struct _MuonParameter *);
PETSC_EXTERN PetscErrorCode MuonRegisterAll(void);

PETSC_EXTERN PetscErrorCode MuonCreate(MPI_Comm, Muon *);
PETSC_EXTERN PetscErrorCode MuonSetType(Muon, MuonType);
PETSC_EXTERN PetscErrorCode MuonGetType(Muon, MuonType *);
PETSC_EXTERN PetscErrorCode MuonSetOptionsPrefix(Muon, const char[]);
PETSC_EXTERN PetscErrorCode MuonAppendOptionsPrefix(Muon, const char[]);
PETSC_EXTERN PetscErrorCode MuonGetOptionsPrefix(Muon, const char *[]);
PETSC_EXTERN PetscErrorCode MuonSetFromOptions(Muon);
PETSC_EXTERN PetscErrorCode MuonSetUp(Muon);
PETSC_EXTERN PetscErrorCode MuonAddLayer(Muon, const char[], Mat, MuonLayer *);
PETSC_EXTERN PetscErrorCode MuonAddVecLayer(Muon, const char[], Vec, MuonLayer *);
PETSC_EXTERN PetscErrorCode MuonAddVecLayers(Muon, Vec, Vec, PetscInt, const char *const[], const PetscInt[], const PetscInt[], const PetscBool[]);
PETSC_EXTERN PetscErrorCode MuonAddLayerArray(Muon, const char[], const MuonLayerArray *, MuonLayer *);
PETSC_EXTERN PetscErrorCode MuonGetNumLayers(Muon, PetscInt *);
PETSC_EXTERN PetscErrorCode MuonGetLayer(Muon, PetscInt, MuonLayer *);
PETSC_EXTERN PetscErrorCode MuonGetLayerByName(Muon, const char[], MuonLayer *);
PETSC_EXTERN PetscErrorCode MuonGetExchange(Muon, MuonExchange *);
PETSC_EXTERN PetscErrorCode MuonSetObjectiveAndGradient(Muon, MuonObjectiveAndGradientFn *, void *);
PETSC_EXTERN PetscErrorCode MuonTestGradient(Muon, PetscReal *);
PETSC_EXTERN PetscErrorCode MuonSetValidation(Muon, MuonValidationFn *, PetscInt, void *);
PETSC_EXTERN PetscErrorCode MuonGetValidation(Muon, PetscReal *, PetscInt *);
PETSC_EXTERN PetscErrorCode MuonSetPostStep(Muon, MuonPostStepFn *, void *);
PETSC_EXTERN PetscErrorCode MuonLayerClipHeads(MuonLayer, MuonLayer, PetscInt, PetscInt, const PetscReal[], PetscReal, PetscReal, PetscInt *, PetscReal *);
PETSC_EXTERN PetscErrorCode MuonSetWorkerWeight(Muon, PetscReal);
PETSC_EXTERN PetscErrorCode MuonStep(Muon);
PETSC_EXTERN PetscErrorCode MuonProgress(Muon);
PETSC_EXTERN PetscErrorCode MuonSolve(Muon);
PETSC_EXTERN PetscErrorCode MuonWeightsChanged(Muon);
PETSC_EXTERN PetscErrorCode MuonGetMismatchedLayer(Muon, MuonLayer *);
PETSC_EXTERN PetscErrorCode MuonSetStepNumber(Muon, PetscInt);
PETSC_EXTERN PetscErrorCode MuonGetStepNumber(Muon, PetscInt *);
PETSC_EXTERN PetscErrorCode MuonGetLoss(Muon, PetscReal *);
PETSC_EXTERN PetscErrorCode MuonGetGradientDualNorm(Muon, PetscReal *);
PETSC_EXTERN PetscErrorCode MuonGetConvergedReason(Muon, MuonConvergedReason *);
PETSC_EXTERN PetscErrorCode MuonGetNaNCount(Muon, PetscInt64 *);
PETSC_EXTERN PetscErrorCode MuonGetTraffic(Muon, MuonTraffic *);
PETSC_EXTERN PetscErrorCode MuonGetLayerState(Muon, MuonLayer, const char[], Mat, PetscBool *);
PETSC_EXTERN PetscErrorCode MuonGetMemory(Muon, PetscLogDouble *, PetscLogDouble *, PetscLogDouble *);

PETSC_EXTERN PetscErrorCode MuonSetParameter(Muon, const char[], const char[]);
PETSC_EXTERN PetscErrorCode MuonGetParameter(Muon, const char[], char[], size_t);
PETSC_EXTERN PetscErrorCode MuonLocalGetOuter(Muon, Muon *);
PETSC_EXTERN PetscErrorCode MuonSetLearningRate(Muon, PetscReal);
PETSC_EXTERN PetscErrorCode MuonGetLearningRate(Muon, PetscReal *);
PETSC_EXTERN PetscErrorCode MuonGetRate(Muon, PetscReal *);
PETSC_EXTERN PetscErrorCode MuonSetSchedule(Muon, MuonScheduleType, PetscInt, PetscReal, PetscReal);
PETSC_EXTERN PetscErrorCode MuonSetScheduleFunction(Muon, MuonScheduleFn *, void *);
PETSC_EXTERN PetscErrorCode MuonSetMomentum(Muon, PetscReal, MuonMomentumStyle, MuonNesterovType);
PETSC_EXTERN PetscErrorCode MuonSetWeightDecay(Muon, PetscReal, MuonWeightDecayStyle);
PETSC_EXTERN PetscErrorCode MuonSetAdamW(Muon, PetscReal, PetscReal, PetscReal, PetscReal, PetscReal);
PETSC_EXTERN PetscErrorCode MuonSetLayerTypes(Muon, const char[]);
PETSC_EXTERN PetscErrorCode MuonSetPreset(Muon, const char[]);
PETSC_EXTERN PetscErrorCode MuonSetMaxSteps(Muon, PetscInt);
PETSC_EXTERN PetscErrorCode MuonGetMaxSteps(Muon, PetscInt *);
PETSC_EXTERN PetscErrorCode MuonSetDeviceStream(Muon, void *);

PETSC_EXTERN PetscErrorCode MuonGetTheoryBound(Muon, PetscReal *);
PETSC_EXTERN PetscErrorCode MuonGetTheoryEstimate(Muon, MuonLayer, MuonTheoryEstimate *);
PETSC_EXTERN PetscErrorCode MuonGetEvaluation(Muon, MuonEvaluation *);

PETSC_EXTERN PetscErrorCode MuonViewCost(Muon, PetscViewer);

PETSC_EXTERN PetscErrorCode MuonMonitor(Muon, PetscInt, PetscReal);
PETSC_EXTERN PetscErrorCode MuonMonitorSet(Muon, MuonMonitorFn *, void *, PetscErrorCode (*)(void **));
PETSC_EXTERN PetscErrorCode MuonMonitorCancel(Muon);
PETSC_EXTERN PetscErrorCode MuonMonitorDefault(Muon, PetscInt, PetscReal, PetscViewerAndFormat *);
PETSC_EXTERN PetscErrorCode MuonMonitorSetCSV(Muon, const char[]);

PETSC_EXTERN PetscErrorCode MuonView(Muon, PetscViewer);
PETSC_EXTERN PetscErrorCode MuonViewFromOptions(Muon, PetscObject, const char[]);
PETSC_EXTERN PetscErrorCode MuonConvergedReasonView(Muon, PetscViewer);
PETSC_EXTERN PetscErrorCode MuonConvergedReasonViewFromOptions(Muon);
PETSC_EXTERN PetscErrorCode MuonSaveCheckpoint(Muon, const char[], PetscInt);
PETSC_EXTERN PetscErrorCode MuonLoadCheckpoint(Muon, const char[]);
PETSC_EXTERN PetscErrorCode MuonSetCheckpoint(Muon, const char[], PetscInt);
PETSC_EXTERN void           MuonCheckpointRequest(Muon);
PETSC_EXTERN PetscErrorCode MuonSetRestart(Muon, const char[]);
PETSC_EXTERN PetscErrorCode MuonCheckpointRegister(Muon, const char[], MuonCheckpointSaveFn *, MuonCheckpointLoadFn *, void *);
PETSC_EXTERN PetscErrorCode MuonViewWeights(Muon, PetscViewer);
PETSC_EXTERN PetscErrorCode MuonReset(Muon);
PETSC_EXTERN PetscErrorCode MuonDestroy(Muon *);

PETSC_EXTERN PetscErrorCode MuonGetLayerCompressors(Muon, MuonLayer, MuonCompressor *, MuonCompressor *);
PETSC_EXTERN PetscErrorCode MuonEF21SetMonitorCompression(Muon, PetscBool);
PETSC_EXTERN PetscErrorCode MuonEF21GetLayerCompression(Muon, MuonLayer, MuonEF21Compression *);
PETSC_EXTERN PetscErrorCode MuonEF21GetAggregateError(Muon, PetscReal *);

PETSC_EXTERN PetscErrorCode MuonSignGetAgreement(Muon, PetscReal *);
