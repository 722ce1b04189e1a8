/*
   Parameters by their keys as numbers: a truth is 0 or 1, one of a few is its place among the names.
*/
#pragma once

#include <petscmuon.h>
#include <stdlib.h>

static inline PetscErrorCode SetNumber(PetscObject object, const char key[], double value)
{
  char text[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(text, sizeof(text), "%.17g", value));
  PetscCall(MuonObjectSetParameter(object, key, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* names: those of an enumeration, else NULL. PETSC_DETERMINE where something else decides */
static inline PetscErrorCode GetNumber(PetscObject object, const char key[], const char *const names[], double *value)
{
  char      text[64], *end;
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(MuonObjectGetParameter(object, key, text, sizeof(text)));
  *value = strtod(text, &end);
  if (*end == '\0') PetscFunctionReturn(PETSC_SUCCESS);
  *value = PETSC_DETERMINE;
  PetscCall(PetscStrcmp(text, "true", &is));
  if (is) *value = 1;
  PetscCall(PetscStrcmp(text, "false", &is));
  if (is) *value = 0;
  for (PetscInt k = 0; names != NULL && names[k] != NULL; k++) {
    PetscCall(PetscStrcmp(text, names[k], &is));
    if (is) *value = (double)k;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode GetReal(PetscObject object, const char key[], PetscReal *value)
{
  double number = 0;

  PetscFunctionBegin;
  PetscCall(GetNumber(object, key, NULL, &number));
  *value = (PetscReal)number;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode GetInt(PetscObject object, const char key[], PetscInt *value)
{
  double number = 0;

  PetscFunctionBegin;
  PetscCall(GetNumber(object, key, NULL, &number));
  *value = (PetscInt)number;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode GetEnum(PetscObject object, const char key[], const char *const names[], int *value)
{
  double number = 0;

  PetscFunctionBegin;
  PetscCall(GetNumber(object, key, names, &number));
  *value = (int)number;
  PetscFunctionReturn(PETSC_SUCCESS);
}
