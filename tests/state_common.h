/*
   State of an optimizer as matrices that live as long as the layer whose they are: NULL where this rank keeps
   none.
*/
#pragma once

#include <petscmuon.h>
#include "parameter_common.h"
#include <string.h>

/* In tables of what is sent how: the server sends steps, and its compressor has nothing to do */
#define TEST_STEP "step"

static inline PetscBool TestIsStep(const char down[])
{
  return strcmp(down, TEST_STEP) == 0 ? PETSC_TRUE : PETSC_FALSE;
}

/* What the servers of all layers send; the compressor is the server's, for what else there is to set */
static inline PetscErrorCode TestSetDown(Muon muon, const char down[], MuonCompressor *compressor)
{
  PetscFunctionBegin;
  PetscCall(TestSetOfMuonType(muon, MUONEF21, "ef21_downlink", TestIsStep(down) == PETSC_TRUE ? "step" : "weights"));
  PetscCall(MuonGetLayerCompressors(muon, NULL, NULL, compressor));
  PetscCall(MuonCompressorSetType(*compressor, TestIsStep(down) == PETSC_TRUE ? MUONCOMPRESSORIDENTITY : down));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of the layer's shape, the same at each call with that name */
static inline PetscErrorCode TestStateMat(MuonLayer layer, const char name[], Mat *A)
{
  PetscInt m, n;
  Mat      B;

  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)layer, name, (PetscObject *)A));
  if (*A != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLayerGetSize(layer, &m, &n));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, m, n, NULL, &B));
  PetscCall(PetscObjectCompose((PetscObject)layer, name, (PetscObject)B));
  *A = B;
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode TestGetState(Muon muon, MuonLayer layer, const char name[], Mat *A)
{
  PetscBool kept;

  PetscFunctionBegin;
  PetscCall(TestStateMat(layer, name, A));
  PetscCall(MuonGetLayerState(muon, layer, name, *A, &kept));
  if (kept == PETSC_FALSE) *A = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Momentum, estimate and aggregate of EF21; arguments may be NULL */
static inline PetscErrorCode TestGetEF21State(Muon muon, MuonLayer layer, Mat *M, Mat *Gj, Mat *G)
{
  PetscFunctionBegin;
  if (M != NULL) PetscCall(TestGetState(muon, layer, "momentum", M));
  if (Gj != NULL) PetscCall(TestGetState(muon, layer, "estimate", Gj));
  if (G != NULL) PetscCall(TestGetState(muon, layer, "aggregate", G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The server's weights, which are those of the workers where messages down leave nothing out */
static inline PetscErrorCode TestGetLayerServerWeights(MuonLayer layer, Mat *X)
{
  PetscBool serves;

  PetscFunctionBegin;
  PetscCall(TestStateMat(layer, "server weights", X));
  PetscCall(MuonLayerGetServerWeights(layer, *X, &serves));
  if (serves == PETSC_FALSE) *X = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
