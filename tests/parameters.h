/* Parameters by their keys, as numbers, too: a truth is 0 or 1, one of a few is its place among the names. */
#pragma once

#include <petscmuon.h>
#include <stdlib.h>
#include <string.h>

static inline PetscErrorCode CheckParameter(PetscObject object, const char key[], const char expected[])
{
  char value[64];

  PetscFunctionBegin;
  PetscCall(MuonObjectGetParameter(object, key, value, sizeof(value)));
  PetscCheck(strcmp(value, expected) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s is %s, expected %s", key, value, expected);
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
