/*
   A multilayer perceptron whose weights are layers of a Muon: H_0 = X, Z_l = W_l H_l + b_l, H_{l+1} =
   tanh(Z_l), and the last Z is the output. A column is a sample.

   With jets = 3 it also carries the first and second derivative by a scalar input: the columns of X, Z and H
   are then three blocks, values, first and second derivatives.
*/
#pragma once

#include <petscmuon.h>
#include "gemm.h"

#define MLP_MAX 6

typedef struct {
  PetscInt     n, width[MLP_MAX + 1]; /* linear layers; layer l has width[l] inputs and width[l + 1] outputs */
  PetscInt     samples, jets;         /* of the last forward pass */
  PetscInt     room;                  /* columns that the arrays have room for */
  MuonLayer    W[MLP_MAX], b[MLP_MAX];
  PetscScalar *H[MLP_MAX], *Z[MLP_MAX], *D[2];
} MLP;

/*
   Layers name.W0, name.b0, name.W1, ...: weights of variance 1/inputs, the same on all ranks, and biases of
   zero
*/
static inline PetscErrorCode MLPCreate(Muon muon, const char name[], PetscInt n, const PetscInt width[], PetscInt seed, MLP *net)
{
  PetscRandom random;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(net, sizeof(*net)));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetType(random, PETSCRANDER48));
  PetscCall(PetscRandomSetSeed(random, (unsigned long)seed));
  PetscCall(PetscRandomSeed(random));
  net->n = n;
  PetscCall(PetscArraycpy(net->width, width, n + 1));
  for (PetscInt l = 0; l < n; l++) {
    const PetscReal bound = PetscSqrtReal(3 / (PetscReal)width[l]);
    char            layer[64];
    Mat             W;
    Vec             b;
    PetscScalar    *w;

    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, width[l + 1], width[l], NULL, &W));
    PetscCall(MatDenseGetArrayWrite(W, &w));
    for (PetscInt i = 0; i < width[l] * width[l + 1]; i++) {
      PetscCall(PetscRandomGetValue(random, &w[i]));
      w[i] = bound * (2 * w[i] - 1);
    }
    PetscCall(MatDenseRestoreArrayWrite(W, &w));
    PetscCall(VecCreateSeq(PETSC_COMM_SELF, width[l + 1], &b));
    PetscCall(VecSet(b, 0));
    PetscCall(PetscSNPrintf(layer, sizeof(layer), "%s.W%" PetscInt_FMT, name, l));
    PetscCall(MuonAddLayer(muon, layer, W, &net->W[l]));
    PetscCall(PetscSNPrintf(layer, sizeof(layer), "%s.b%" PetscInt_FMT, name, l));
    PetscCall(MuonAddVecLayer(muon, layer, b, &net->b[l]));
    PetscCall(MatDestroy(&W)); /* the layers keep references */
    PetscCall(VecDestroy(&b));
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode MLPDestroy(MLP *net)
{
  PetscFunctionBeginUser;
  for (PetscInt l = 0; l < net->n; l++) {
    PetscCall(PetscFree(net->H[l]));
    PetscCall(PetscFree(net->Z[l]));
  }
  for (PetscInt i = 0; i < 2; i++) PetscCall(PetscFree(net->D[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Room for so many columns; what the arrays held is lost */
static inline PetscErrorCode MLPReserve(MLP *net, PetscInt columns)
{
  PetscInt widest = 0;

  PetscFunctionBeginUser;
  if (columns <= net->room) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MLPDestroy(net));
  for (PetscInt l = 0; l < net->n; l++) {
    PetscCall(PetscMalloc1(net->width[l] * columns, &net->H[l]));
    PetscCall(PetscMalloc1(net->width[l + 1] * columns, &net->Z[l]));
    widest = PetscMax(widest, PetscMax(net->width[l], net->width[l + 1]));
  }
  for (PetscInt i = 0; i < 2; i++) PetscCall(PetscMalloc1(widest * columns, &net->D[i]));
  net->room = columns;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* X has jets * samples columns; Y is the last Z, borrowed until the next pass */
static inline PetscErrorCode MLPForward(MLP *net, PetscInt samples, PetscInt jets, const PetscScalar X[], const PetscScalar **Y)
{
  const PetscInt columns = jets * samples;

  PetscFunctionBeginUser;
  PetscCall(MLPReserve(net, columns));
  net->samples = samples;
  net->jets    = jets;
  PetscCall(PetscArraycpy(net->H[0], X, net->width[0] * columns));
  for (PetscInt l = 0; l < net->n; l++) {
    const PetscInt     m = net->width[l + 1], values = m * samples;
    const PetscScalar *w, *b;
    PetscScalar       *z = net->Z[l], *h = l + 1 < net->n ? net->H[l + 1] : NULL;
    Mat                W;
    Vec                bias;

    PetscCall(MuonLayerGetWeights(net->W[l], &W));
    PetscCall(MuonLayerGetWeightsVec(net->b[l], &bias));
    PetscCall(MatDenseGetArrayRead(W, &w));
    PetscCall(Gemm("N", "N", m, columns, net->width[l], 1, w, net->H[l], 0, z));
    PetscCall(MatDenseRestoreArrayRead(W, &w));
    PetscCall(VecGetArrayRead(bias, &b));
    for (PetscInt i = 0; i < values; i++) z[i] += b[i % m];
    PetscCall(VecRestoreArrayRead(bias, &b));
    for (PetscInt i = 0; i < values && h != NULL; i++) {
      const PetscScalar t = PetscTanhScalar(z[i]), s = 1 - t * t;

      h[i] = t;
      if (jets == 3) {
        const PetscScalar z1 = z[i + values], z2 = z[i + 2 * values];

        h[i + values]     = s * z1;
        h[i + 2 * values] = s * (z2 - 2 * t * z1 * z1);
      }
    }
  }
  *Y = net->Z[net->n - 1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   dY are the derivatives of the loss by the output of the last forward pass; fills the gradients of the
   layers, and dX where that is not NULL
*/
static inline PetscErrorCode MLPBackward(MLP *net, const PetscScalar dY[], PetscScalar dX[])
{
  const PetscInt columns = net->jets * net->samples;

  PetscFunctionBeginUser;
  PetscCall(PetscArraycpy(net->D[(net->n - 1) % 2], dY, net->width[net->n] * columns));
  for (PetscInt l = net->n - 1; l >= 0; l--) {
    const PetscInt     m = net->width[l + 1], n = net->width[l], values = n * net->samples;
    const PetscScalar *d = net->D[l % 2], *w;
    PetscScalar       *g, *b, *e = l > 0 ? net->D[(l - 1) % 2] : dX;
    Mat                W, G;
    Vec                bias;

    PetscCall(MuonLayerGetGradient(net->W[l], &G));
    PetscCall(MatDenseGetArrayWrite(G, &g));
    PetscCall(Gemm("N", "T", m, n, columns, 1, d, net->H[l], 0, g));
    PetscCall(MatDenseRestoreArrayWrite(G, &g));
    PetscCall(MuonLayerGetGradientVec(net->b[l], &bias));
    PetscCall(VecSet(bias, 0));
    PetscCall(VecGetArray(bias, &b));
    for (PetscInt i = 0; i < m * net->samples; i++) b[i % m] += d[i];
    PetscCall(VecRestoreArray(bias, &b));
    if (e == NULL) break;
    PetscCall(MuonLayerGetWeights(net->W[l], &W));
    PetscCall(MatDenseGetArrayRead(W, &w));
    PetscCall(Gemm("T", "N", n, columns, m, 1, w, d, 0, e));
    PetscCall(MatDenseRestoreArrayRead(W, &w));
    /*
       e is by H_l; the chain rule of t = tanh(z), s z', s (z'' - 2 t z'^2) with s = 1 - t^2 makes it one by
       Z_{l-1}
    */
    for (PetscInt i = 0; i < values && l > 0; i++) {
      const PetscScalar t = net->H[l][i], s = 1 - t * t, e0 = e[i];

      e[i] = s * e0;
      if (net->jets == 3) {
        const PetscScalar z1 = net->Z[l - 1][i + values], z2 = net->Z[l - 1][i + 2 * values], e1 = e[i + values], e2 = e[i + 2 * values];

        e[i] += -2 * t * s * (e1 * z1 + e2 * z2) + e2 * s * (6 * t * t - 2) * z1 * z1;
        e[i + values]     = s * (e1 - 4 * t * e2 * z1);
        e[i + 2 * values] = s * e2;
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
