/*
   What the tests of wrong usage share: calls that must fail, each with its code and its words.
*/
#pragma once

/* The last error: its code, and what the user reads */
static struct {
  PetscErrorCode code;
  char           text[1024];
} seen;

static PetscErrorCode Catch(MPI_Comm comm, int line, const char *function, const char *file, PetscErrorCode code, PetscErrorType type, const char *message, void *ctx)
{
  if (type == PETSC_ERROR_INITIAL) {
    seen.code = code;
    snprintf(seen.text, sizeof(seen.text), "%s", message);
  }
  return code;
}

static PetscInt failures = 0;

#define Check(condition) \
  do { \
    if (!(condition)) { \
      fprintf(stderr, "line %d: %s; the last error is %d, %s\n", __LINE__, #condition, (int)seen.code, seen.text); \
      failures++; \
    } \
  } while (0)

/* The call fails on this rank, and the message names all of these words */
#define Fails(call, errorcode, word1, word2, word3) \
  do { \
    seen.code    = (PetscErrorCode)0; \
    seen.text[0] = '\0'; \
    Check((call) == (errorcode)); \
    Check(seen.code == (errorcode) && strstr(seen.text, word1) != NULL && strstr(seen.text, word2) != NULL && strstr(seen.text, word3) != NULL); \
  } while (0)
