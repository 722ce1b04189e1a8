/* Parameters of a layer by their keys: as numbers, and as text, which is read as options are */
#pragma once

#include <petscmuon.h>
#include <petscmuon/private/muonparameter.h>
#include <stdlib.h>

static inline PetscErrorCode LayerKey(MuonLayer layer, const char what[], size_t length, char key[])
{
  const char *name;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetName(layer, &name));
  PetscCall(PetscSNPrintf(key, length, "muon_layer_%s_%s", name, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode LayerSetText(MuonLayer layer, const char what[], const char value[])
{
  char key[256];

  PetscFunctionBegin;
  PetscCall(LayerKey(layer, what, sizeof(key), key));
  PetscCall(MuonObjectSetParameter((PetscObject)layer, key, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode LayerSet(MuonLayer layer, const char what[], PetscReal value)
{
  PetscFunctionBegin;
  PetscCall(MuonParametersAssign((PetscObject)layer, what, (double)value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode LayerGetText(MuonLayer layer, const char what[], size_t length, char value[])
{
  char key[256];

  PetscFunctionBegin;
  PetscCall(LayerKey(layer, what, sizeof(key), key));
  PetscCall(MuonObjectGetParameter((PetscObject)layer, key, value, length));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode LayerGet(MuonLayer layer, const char what[], PetscReal *value)
{
  char text[64];

  PetscFunctionBegin;
  PetscCall(LayerGetText(layer, what, sizeof(text), text));
  *value = (PetscReal)strtod(text, NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}
