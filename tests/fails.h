/*
   Calls that must fail on this rank, with what the user reads of the first error.
*/
#pragma once

#include <petscsys.h>
#include <string.h>

#define FAILS_ANY ((PetscErrorCode)-1) /* whatever the code is */

static char FailsMessage[4096];

static inline PetscErrorCode FailsCatch(MPI_Comm comm, int line, const char *function, const char *file, PetscErrorCode code, PetscErrorType type, const char *message, void *ctx)
{
  PetscFunctionBegin;
  if (type == PETSC_ERROR_INITIAL && message != NULL && FailsMessage[0] == '\0') (void)PetscStrncpy(FailsMessage, message, sizeof(FailsMessage));
  PetscFunctionReturn(code);
}

/* words: parts that the message has, with | between them */
static inline PetscBool FailsSays(const char words[])
{
  char part[512];

  for (const char *at = words, *end = at; end != NULL; at = end + 1) {
    end = strchr(at, '|');
    (void)PetscStrncpy(part, at, end != NULL ? (size_t)(end - at) + 1 : sizeof(part));
    if (strstr(FailsMessage, part) == NULL) return PETSC_FALSE;
    if (end == NULL) break;
  }
  return PETSC_TRUE;
}

#define Fails(call, expected, words) \
  do { \
    PetscErrorCode code_; \
    FailsMessage[0] = '\0'; \
    PetscCall(PetscPushErrorHandler(FailsCatch, NULL)); \
    code_ = (call); \
    PetscCall(PetscPopErrorHandler()); \
    PetscCheck(((expected) == FAILS_ANY ? code_ != PETSC_SUCCESS : code_ == (expected)) && FailsSays(words), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: error %d, '%s', expected %d, '%s'", #call, (int)code_, FailsMessage, (int)(expected), words); \
  } while (0)
