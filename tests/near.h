/*
   What a test found, compared with what it must be: an error says where, and both numbers.
*/
#pragma once

#include <petscmuoncompat.h>

#define TestCheck(condition, ...) PetscCheck(condition, PETSC_COMM_SELF, PETSC_ERR_PLIB, __VA_ARGS__)

/* A found number is that which it must be, up to a bound, or is at most so large; what names the case */
#define TestNear(what, x, y, bound) PetscCall(TestCompare(what, #x, fabs((double)(x) - (double)(y)) <= (bound), (double)(x), (double)(y)))
#define TestMost(what, x, most)     PetscCall(TestCompare(what, #x, (double)(x) <= (double)(most), (double)(x), (double)(most)))

static inline PetscErrorCode TestCompare(const char what[], const char expression[], int right, double x, double y)
{
  PetscFunctionBegin;
  TestCheck(right, "%s: %s is %.12g, compared with %.12g", what, expression, x, y);
  PetscFunctionReturn(PETSC_SUCCESS);
}
