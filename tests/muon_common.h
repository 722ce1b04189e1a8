/*
   A small problem for the tests of whole steps: layers of several shapes, norms and types, whose weights and
   gradients follow from numbers, so that every rank knows what any other one has, and a step that is taken
   again has the same gradients.
*/
#pragma once

#include <petscmuon.h>
#include "parameter_common.h"
#include <string.h>
#include "number_common.h"
#include "state_common.h"

#define NLAYERS 6

typedef struct {
  const char *name, *norm, *type;
  PetscInt    m, n;
  PetscBool   vec;
} LayerShape;

static const LayerShape Shapes[NLAYERS] = {{"embed", MUONLMOMAX, MUONLAYERLMO, 12, 5, PETSC_FALSE},      {"h0.qkv", MUONLMOSPECTRAL, MUONLAYERLMO, 9, 4, PETSC_FALSE}, {"fixed", MUONLMOSPECTRAL, MUONLAYERFROZEN, 5, 3, PETSC_FALSE},
                                           {"h0.out", MUONLMOSPECTRAL, MUONLAYERLMO, 4, 4, PETSC_FALSE}, {"bias", MUONLMOFROBENIUS, MUONLAYERLMO, 7, 1, PETSC_TRUE},   {"gain", MUONLMOFROBENIUS, MUONLAYERADAMW, 3, 1, PETSC_TRUE}};

typedef struct {
  Muon        muon;
  MuonLayer   layer[NLAYERS];
  Mat         W[NLAYERS];
  Vec         w[NLAYERS];
  PetscMPIInt rank, size;
  PetscInt    badlayer, badentry; /* where a test makes a gradient wrong */
} Problem;

static inline PetscScalar ProblemNumber(PetscInt a, PetscInt b, PetscInt c, PetscInt d)
{
  return (PetscScalar)((PetscReal)(TestHash(a, b, c, d) % 4096) / 2048 - 1);
}

/* The entries of a layer's weights or gradient, wherever they are */
static inline PetscErrorCode ProblemGetArray(Problem *p, PetscInt l, PetscBool gradient, PetscScalar **array)
{
  Mat A = p->W[l];
  Vec a = p->w[l];

  PetscFunctionBegin;
  if (gradient == PETSC_TRUE && Shapes[l].vec == PETSC_TRUE) PetscCall(MuonLayerGetGradientVec(p->layer[l], &a));
  if (gradient == PETSC_TRUE && Shapes[l].vec == PETSC_FALSE) PetscCall(MuonLayerGetGradient(p->layer[l], &A));
  if (Shapes[l].vec == PETSC_TRUE) {
    PetscScalar *borrowed;

    PetscCall(VecGetArray(a, array));
    borrowed = *array;
    PetscCall(VecRestoreArray(a, &borrowed));
  } else {
    PetscScalar *borrowed;

    PetscCall(MatDenseGetArray(A, array));
    borrowed = *array;
    PetscCall(MatDenseRestoreArray(A, &borrowed));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ProblemObjective(Muon muon, PetscReal *loss, void *ctx)
{
  Problem *p = (Problem *)ctx;
  PetscInt step;

  PetscFunctionBegin;
  PetscCall(MuonGetStepNumber(muon, &step));
  *loss = 0;
  for (PetscInt l = 0; l < NLAYERS; l++) {
    MuonLayerType type;
    PetscScalar  *w, *g;

    PetscCall(MuonLayerGetType(p->layer[l], &type));
    if (strcmp(type, MUONLAYERFROZEN) == 0) continue;
    PetscCall(ProblemGetArray(p, l, PETSC_FALSE, &w));
    PetscCall(ProblemGetArray(p, l, PETSC_TRUE, &g));
    for (PetscInt e = 0; e < Shapes[l].m * Shapes[l].n; e++) {
      const PetscReal H = (PetscReal)(1 + e % 3) / 2;

      g[e] = H * (w[e] - ProblemNumber(l, e, p->rank, 7)) + ProblemNumber(l, e, p->rank, 100 + step) / 4;
      *loss += PetscRealPart(g[e] * g[e]) / 2;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ProblemCreate(MPI_Comm comm, MuonType type, Problem *p)
{
  MuonLMO   lmo;
  MuonPolar polar;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(p, sizeof(*p)));
  p->badlayer = -1;
  PetscCallMPI(MPI_Comm_rank(comm, &p->rank));
  PetscCallMPI(MPI_Comm_size(comm, &p->size));
  PetscCall(MuonCreate(comm, &p->muon));
  if (type != NULL) PetscCall(MuonSetType(p->muon, type));
  for (PetscInt l = 0; l < NLAYERS; l++) {
    PetscScalar *w;

    if (Shapes[l].vec == PETSC_TRUE) {
      PetscCall(VecCreateSeq(PETSC_COMM_SELF, Shapes[l].m, &p->w[l]));
      PetscCall(MuonAddVecLayer(p->muon, Shapes[l].name, p->w[l], &p->layer[l]));
    } else {
      PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, Shapes[l].m, Shapes[l].n, NULL, &p->W[l]));
      PetscCall(MuonAddLayer(p->muon, Shapes[l].name, p->W[l], &p->layer[l]));
    }
    PetscCall(ProblemGetArray(p, l, PETSC_FALSE, &w));
    for (PetscInt e = 0; e < Shapes[l].m * Shapes[l].n; e++) w[e] = ProblemNumber(l, e, 0, 1);
    PetscCall(MuonLayerSetType(p->layer[l], Shapes[l].type));
    PetscCall(MuonLayerGetLMO(p->layer[l], &lmo));
    PetscCall(MuonLMOSetType(lmo, Shapes[l].norm));
    if (strcmp(Shapes[l].norm, MUONLMOSPECTRAL) == 0) {
      PetscCall(MuonLMOGetPolar(lmo, &polar));
      PetscCall(MuonPolarSetType(polar, MUONPOLARNEWTONSCHULZ));
    }
  }
  PetscCall(MuonSetObjectiveAndGradient(p->muon, ProblemObjective, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ProblemDestroy(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MuonDestroy(&p->muon));
  for (PetscInt l = 0; l < NLAYERS; l++) {
    PetscCall(MatDestroy(&p->W[l]));
    PetscCall(VecDestroy(&p->w[l]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is compressed how; the sum over ranks needs identity up */
typedef struct {
  const char          *up, *down;
  MuonCompressorValues upvalues, downvalues;
  MuonEF21Init         init;
} Compression;

#define PROBLEM_RATIO ((PetscReal)0.25)

/* Whether all that goes up (0) or down (1) is uncompressed, so that arrays travel and no messages */
static inline PetscBool CompressionIsNone(const Compression *compression, int down)
{
  return compression == NULL || strcmp(down ? compression->down : compression->up, MUONCOMPRESSORIDENTITY) == 0 ? PETSC_TRUE : PETSC_FALSE;
}

static const Compression Compressions[] = {{MUONCOMPRESSORIDENTITY, MUONCOMPRESSORIDENTITY, MUON_COMPRESSOR_VALUES_NATIVE, MUON_COMPRESSOR_VALUES_NATIVE, MUON_EF21_INIT_ZERO},
                                           {MUONCOMPRESSORTOPK, MUONCOMPRESSORTOPK, MUON_COMPRESSOR_VALUES_NATURAL, MUON_COMPRESSOR_VALUES_SINGLE, MUON_EF21_INIT_ZERO},
                                           {MUONCOMPRESSORTOPK, MUONCOMPRESSORNATURAL, MUON_COMPRESSOR_VALUES_BF16, MUON_COMPRESSOR_VALUES_SINGLE, MUON_EF21_INIT_GRADIENT},
                                           {MUONCOMPRESSORIDENTITY, MUONCOMPRESSORTOPK, MUON_COMPRESSOR_VALUES_NATIVE, MUON_COMPRESSOR_VALUES_NATIVE, MUON_EF21_INIT_ZERO},
                                           {MUONCOMPRESSORRANKK, MUONCOMPRESSORIDENTITY, MUON_COMPRESSOR_VALUES_SINGLE, MUON_COMPRESSOR_VALUES_NATIVE, MUON_EF21_INIT_ZERO},
                                           {MUONCOMPRESSORNATURAL, MUONCOMPRESSORRANKK, MUON_COMPRESSOR_VALUES_SINGLE, MUON_COMPRESSOR_VALUES_NATURAL, MUON_EF21_INIT_ZERO},
                                           {MUONCOMPRESSORIDENTITY, TEST_STEP, MUON_COMPRESSOR_VALUES_NATIVE, MUON_COMPRESSOR_VALUES_NATIVE, MUON_EF21_INIT_ZERO}};
#define NCOMPRESSIONS ((PetscInt)(sizeof(Compressions) / sizeof(Compressions[0])))

/* Steps that are messages are those of other norms, and of no other type */
static const char *const StepNorms[NLAYERS] = {MUONLMOROWSUM, MUONLMONUCLEAR, MUONLMOSPECTRAL, MUONLMOL21, MUONLMOCOLSUM, MUONLMOL1};

/* A way to take a step. Numbers from 0 on until *last: ef21 with each compression, dense with the momentum at server and worker, each over all exchanges, with sums where they are legal and with
   gather; then these with the sums of layers with owners going to all */
typedef struct {
  MuonType           type;
  MuonExchangeType   exchange;
  MuonExchangeMode   mode;
  const Compression *compression; /* NULL for dense */
  PetscBool          atworker;
  char               name[128];
} Way;

static inline PetscErrorCode WayGet(PetscInt number, Way *way, PetscBool *legal, PetscBool *last)
{
  static const MuonExchangeType exchanges[] = {MUONEXCHANGESTAR, MUONEXCHANGELAYERWISE, MUONEXCHANGEREPLICATED};
  const PetscInt                behind = number - 6 * (NCOMPRESSIONS + 2), e = behind >= 0 ? 1 : number % 3, sum = behind >= 0 ? 1 : (number / 3) % 2, what = behind == 0 ? 0 : behind > 0 ? NCOMPRESSIONS + behind - 1 : number / 6;

  PetscFunctionBegin;
  way->exchange    = exchanges[e];
  way->mode        = sum == 0 ? MUON_EXCHANGE_MODE_GATHER : e == 2 || behind >= 0 ? MUON_EXCHANGE_MODE_ALLREDUCE : MUON_EXCHANGE_MODE_REDUCE;
  way->compression = what < NCOMPRESSIONS ? &Compressions[what] : NULL;
  way->type        = what < NCOMPRESSIONS ? MUONEF21 : MUONDENSE;
  way->atworker    = what == NCOMPRESSIONS ? PETSC_FALSE : PETSC_TRUE;
  *legal           = sum == 0 || way->compression == NULL || strcmp(way->compression->up, MUONCOMPRESSORIDENTITY) == 0 ? PETSC_TRUE : PETSC_FALSE;
  *last            = behind == 2 ? PETSC_TRUE : PETSC_FALSE;
  if (way->compression != NULL) {
    PetscCall(PetscSNPrintf(way->name, sizeof(way->name), "ef21 %s %s up, %s %s down, init %s, %s %s", way->compression->up, MuonCompressorValuesTypes[way->compression->upvalues], way->compression->down,
                            MuonCompressorValuesTypes[way->compression->downvalues], MuonEF21Inits[way->compression->init], way->exchange, MuonExchangeModes[way->mode]));
  } else PetscCall(PetscSNPrintf(way->name, sizeof(way->name), "dense, momentum at the %s, %s %s", way->atworker == PETSC_TRUE ? "worker" : "server", way->exchange, MuonExchangeModes[way->mode]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ProblemCreateWay(MPI_Comm comm, const Way *way, Problem *p)
{
  MuonExchange       exchange;
  MuonCompressor     c;
  MuonCompressorType type;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(comm, way->type, p));
  PetscCall(MuonGetExchange(p->muon, &exchange));
  PetscCall(MuonExchangeSetType(exchange, way->exchange));
  PetscCall(MuonExchangeSetMode(exchange, way->mode));
  if (way->compression == NULL) {
    PetscCall(MuonSetParameter(p->muon, "muon_momentum_at", MuonMomentumAts[way->atworker == PETSC_TRUE ? MUON_MOMENTUM_AT_WORKER : MUON_MOMENTUM_AT_SERVER]));
    if (way->atworker == PETSC_FALSE) PetscCall(MuonSetMomentum(p->muon, PETSC_CURRENT, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_EMA));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(TestSetOfMuonType(p->muon, MUONEF21, "ef21_init", MuonEF21Inits[way->compression->init]));
  PetscCall(TestSetOfMuonType(p->muon, MUONEF21, "ef21_compressor_layers", "all"));
  PetscCall(MuonGetLayerCompressors(p->muon, NULL, &c, NULL));
  PetscCall(MuonCompressorSetType(c, way->compression->up));
  PetscCall(MuonCompressorSetRatio(c, PROBLEM_RATIO));
  PetscCall(MuonCompressorGetType(c, &type));
  if (strcmp(type, MUONCOMPRESSORIDENTITY) != 0) PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_values", MuonCompressorValuesTypes[way->compression->upvalues]));
  PetscCall(TestSetDown(p->muon, way->compression->down, &c));
  PetscCall(MuonCompressorSetRatio(c, PROBLEM_RATIO));
  PetscCall(MuonCompressorGetType(c, &type));
  if (strcmp(type, MUONCOMPRESSORIDENTITY) != 0) PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_values", MuonCompressorValuesTypes[way->compression->downvalues]));
  for (PetscInt l = 0; l < NLAYERS && TestIsStep(way->compression->down) == PETSC_TRUE; l++) {
    MuonLMO lmo;

    PetscCall(MuonLayerGetLMO(p->layer[l], &lmo));
    PetscCall(MuonLMOSetType(lmo, StepNorms[l]));
    if (strcmp(Shapes[l].type, MUONLAYERFROZEN) != 0) PetscCall(MuonLayerSetType(p->layer[l], MUONLAYERLMO));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   All state that can be seen: weights, and X, momentum, G_j, G and moments where this rank has them. data is
   NULL or as long as a first call says
*/
static inline PetscErrorCode ProblemCopyState(Problem *p, size_t *length, PetscScalar data[])
{
  const char *const names[] = {"momentum", "estimate", "aggregate", "adamw.mean", "adamw.square"};

  PetscFunctionBegin;
  *length = 0;
  for (PetscInt l = 0; l < NLAYERS; l++) {
    const size_t d = (size_t)Shapes[l].m * (size_t)Shapes[l].n;
    Mat          A[6];
    PetscScalar *w;

    PetscCall(ProblemGetArray(p, l, PETSC_FALSE, &w));
    for (size_t e = 0; e < d && data != NULL; e++) data[*length + e] = w[e];
    *length += d;
    if (strcmp(Shapes[l].type, MUONLAYERFROZEN) == 0) continue;
    PetscCall(TestGetLayerServerWeights(p->layer[l], &A[0]));
    for (int k = 0; k < 5; k++) PetscCall(TestGetState(p->muon, p->layer[l], names[k], &A[k + 1]));
    for (int k = 0; k < 6; k++) {
      const PetscScalar *a;
      PetscInt           lda;

      /* Moments are made by the first step, and are zeros before it */
      if (A[k] == NULL && k >= 4) {
        if (data != NULL) PetscCall(PetscArrayzero(data + *length, d));
        *length += d;
      }
      if (A[k] == NULL) continue;
      PetscCall(MatDenseGetLDA(A[k], &lda));
      PetscCall(MatDenseGetArrayRead(A[k], &a));
      for (size_t e = 0; e < d && data != NULL; e++) data[*length + e] = a[e % (size_t)Shapes[l].m + e / (size_t)Shapes[l].m * (size_t)lda];
      PetscCall(MatDenseRestoreArrayRead(A[k], &a));
      *length += d;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  size_t       length;
  PetscScalar *data;
  PetscInt     step;
} State;

static inline PetscErrorCode StateTake(Problem *p, State *state)
{
  PetscFunctionBegin;
  PetscCall(ProblemCopyState(p, &state->length, NULL));
  PetscCall(PetscMalloc1(state->length, &state->data));
  PetscCall(ProblemCopyState(p, &state->length, state->data));
  PetscCall(MuonGetStepNumber(p->muon, &state->step));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode StateFree(State *state)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(state->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bit for bit, on this rank */
static inline PetscBool StateIsSame(const State *a, const State *b)
{
  return a->step == b->step && a->length == b->length && memcmp(a->data, b->data, a->length * sizeof(*a->data)) == 0 ? PETSC_TRUE : PETSC_FALSE;
}

static inline PetscErrorCode ProblemsSame(Problem *p, Problem *q, const char name[], const char what[])
{
  State a, b;

  PetscFunctionBegin;
  PetscCall(StateTake(p, &a));
  PetscCall(StateTake(q, &b));
  PetscCheck(StateIsSame(&a, &b), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s: not the same bits after steps %" PetscInt_FMT " and %" PetscInt_FMT, name, what, a.step, b.step);
  PetscCall(StateFree(&a));
  PetscCall(StateFree(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All is as it was, which is given back */
static inline PetscErrorCode StateStays(Problem *p, State *before, const char name[], const char what[])
{
  State after;

  PetscFunctionBegin;
  PetscCall(StateTake(p, &after));
  PetscCheck(StateIsSame(before, &after), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s left its traces", name, what);
  PetscCall(StateFree(before));
  PetscCall(StateFree(&after));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ProblemReason(Problem *p, MuonConvergedReason expected, const char name[], const char what[])
{
  MuonConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(MuonGetConvergedReason(p->muon, &reason));
  PetscCheck(reason == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s: %s, expected %s", name, what, MuonConvergedReasons[reason], MuonConvergedReasons[expected]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A step of p that something disturbs, which counts on this rank how often it did and goes with stop(): where it did on any rank the step fails so, leaves no trace, and is taken again. Then p is where q is, which nothing disturbs */
static inline PetscErrorCode ProblemDisturbed(Problem *p, Problem *q, const PetscInt *done, void (*stop)(void), MuonConvergedReason wrong, const char name[], const char what[], PetscInt *all)
{
  State before;

  PetscFunctionBegin;
  PetscCall(StateTake(p, &before));
  PetscCall(MuonStep(p->muon));
  (*stop)();
  PetscCallMPI(PMPI_Allreduce(done, all, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(ProblemReason(p, *all > 0 ? wrong : MUON_CONVERGED_ITERATING, name, what));
  if (*all > 0) {
    PetscCall(StateStays(p, &before, name, what));
    PetscCall(MuonStep(p->muon));
    PetscCall(ProblemReason(p, MUON_CONVERGED_ITERATING, name, "the step after"));
  } else PetscCall(StateFree(&before));
  PetscCall(MuonStep(q->muon));
  PetscCall(ProblemsSame(p, q, name, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}
