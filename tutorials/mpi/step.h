/*
   The problem of these tutorials. Rank j wants the matrices of three layers to be its own targets T_j: f_j(W)
   = |W - T_j|^2 / 2, with gradient W - T_j. All want the mean of the f_j to be small. A step moves each layer
   by RATE along the mean gradient G, over its Frobenius norm: W <- W - RATE G / |G|. Sums are exact, since
   targets are multiples of 1/16: whatever way they take they are the same.
*/
#pragma once

#include <petscmuon.h>
#include "count.h"

/* A program may have layers of so many times as many rows */
#if !defined(TALLER)
  #define TALLER 1
#endif

enum {
  LAYERS   = 3,
  ENTRIES  = TALLER * (48 * 32 + 32 * 64 + 24 * 24),
  MAXRANKS = 64
};

#define RATE ((PetscReal)0.5)

static const PetscInt rows[LAYERS] = {TALLER * 48, TALLER * 32, TALLER * 24}, columns[LAYERS] = {32, 64, 24};
static const int      begin[LAYERS + 1] = {0, TALLER * 48 * 32, TALLER *(48 * 32 + 32 * 64), ENTRIES}; /* of the layers in an array of all entries */

/* The gradient g of layer l at its weights w, without zeros: these have no sign */
static inline void Gradient(PetscMPIInt rank, PetscInt l, const PetscScalar w[], PetscScalar g[])
{
  for (int i = 0; i < begin[l + 1] - begin[l]; i++) g[i] = w[i] - (PetscReal)((37 * i + 11 * rank * (i % 5) + 3 * rank + (int)l) % 61 - 30.5) / 16;
}

/* The step of layer l along the sum of the gradients, of which the length does not matter */
static inline void Move(PetscInt l, const PetscScalar sum[], PetscScalar w[])
{
  PetscReal square = 0;

  for (int i = 0; i < begin[l + 1] - begin[l]; i++) square += PetscRealPart(sum[i] * sum[i]);
  for (int i = 0; i < begin[l + 1] - begin[l]; i++) w[i] -= RATE * sum[i] / PetscSqrtReal(square);
}

static inline PetscErrorCode GetRanks(PetscMPIInt *size, PetscMPIInt *rank)
{
  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, rank));
  PetscCheck(*size <= MAXRANKS, PETSC_COMM_WORLD, PETSC_ERR_ARG_SIZ, "%d ranks, expected at most %d", *size, MAXRANKS);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each layer has one owner; those of a rank follow one another in an array of all entries */
static inline PetscMPIInt Owner(PetscInt l, PetscMPIInt size)
{
  return (PetscMPIInt)(l * size / LAYERS);
}

/* How many entries each rank owns, and where they begin */
static inline void Ranges(PetscMPIInt size, int counts[], int starts[])
{
  for (PetscMPIInt r = 0; r < size; r++) counts[r] = 0;
  for (PetscInt l = 0; l < LAYERS; l++) counts[Owner(l, size)] += begin[l + 1] - begin[l];
  starts[0] = 0;
  for (PetscMPIInt r = 1; r < size; r++) starts[r] = starts[r - 1] + counts[r - 1];
}

typedef struct {
  MuonLayer   layer[LAYERS];
  PetscMPIInt rank;
  PetscBool   overlap; /* says of each gradient when it is ready */
  int         begun;   /* sums that had begun when the last gradient was computed */
} Context;

static inline PetscErrorCode FormLossAndGradient(Muon muon, PetscReal *loss, void *ctx)
{
  Context *context = (Context *)ctx;

  PetscFunctionBeginUser;
  *loss = 0;                                   /* nobody asks for it here */
  for (PetscInt l = LAYERS - 1; l >= 0; l--) { /* as a backward pass has them */
    Mat          W, G;
    PetscScalar *w, *g;

    PetscCall(MuonLayerGetWeights(context->layer[l], &W));
    PetscCall(MuonLayerGetGradient(context->layer[l], &G));
    PetscCall(MatDenseGetArray(W, &w));
    PetscCall(MatDenseGetArray(G, &g));
    if (l == 0) context->begun = CountCalls("MPI_Iallreduce");
    Gradient(context->rank, l, w, g);
    PetscCall(MatDenseRestoreArray(G, &g));
    PetscCall(MatDenseRestoreArray(W, &w));
    if (context->overlap) PetscCall(MuonLayerGradientReady(context->layer[l]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An optimizer whose layers have their weights in w, with options as on a command line */
static inline PetscErrorCode CreateOptimizer(const char options[], PetscScalar w[], Context *context, Muon *muon)
{
  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &context->rank));
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, muon));
  for (PetscInt l = 0; l < LAYERS; l++) {
    char name[2] = {(char)('a' + l), '\0'};
    Mat  W;

    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, rows[l], columns[l], w + begin[l], &W));
    PetscCall(MuonAddLayer(*muon, name, W, &context->layer[l]));
    PetscCall(MatDestroy(&W));
  }
  PetscCall(MuonSetObjectiveAndGradient(*muon, FormLossAndGradient, context));
  PetscCall(MuonSetLearningRate(*muon, RATE));
  PetscCall(MuonSetMomentum(*muon, 0, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
  PetscCall(MuonSetFromOptions(*muon));
  PetscCall(MuonSetUp(*muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One step of ours from the same weights of zero, counted, which must lead where the one by hand led */
static inline PetscErrorCode CompareWithOurs(const char options[], PetscBool overlap, const PetscScalar w[])
{
  Context     context;
  PetscScalar v[ENTRIES] = {0};
  PetscReal   difference = 0;
  Muon        muon;

  PetscFunctionBeginUser;
  context.overlap = overlap;
  PetscCall(CreateOptimizer(options, v, &context, &muon));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ours, %s\n", options));
  CountBegin(PetscObjectComm((PetscObject)muon));
  PetscCall(MuonStep(muon));
  CountEnd();
  if (overlap) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  sums begun before the last gradient: %d\n", context.begun));
  for (PetscInt i = 0; i < ENTRIES; i++) difference = PetscMax(difference, PetscAbsScalar(w[i] - v[i]));
  /* The norm is a sum of at most TALLER * 2048 squares, in two orders */
  PetscCheck(difference < TALLER * 2048 * PETSC_MACHINE_EPSILON * RATE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The weights differ by %g", (double)difference);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "the weights are the same\n"));
  PetscCall(MuonDestroy(&muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}
