/* For programs that recover a matrix of low rank: normally distributed numbers, layers of a vector, singular values */
#pragma once

#include <petscmat.h>
#include <string.h>
#include "gemm.h"

/* Two normally distributed numbers by the method of Box and Muller */
static inline PetscErrorCode Normal(PetscRandom random, PetscReal z[2])
{
  PetscReal u = 0, v = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscRandomGetValueReal(random, &u));
  PetscCall(PetscRandomGetValueReal(random, &v));
  u    = PetscSqrtReal(-2 * PetscLogReal(1 - u));
  z[0] = u * PetscCosReal(2 * PETSC_PI * v);
  z[1] = u * PetscSinReal(2 * PETSC_PI * v);
  PetscFunctionReturn(0);
}

static inline PetscErrorCode FillNormal(PetscRandom random, PetscReal scale, PetscInt n, PetscScalar to[])
{
  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < n; k += 2) {
    PetscReal z[2] = {0, 0};

    PetscCall(Normal(random, z));
    to[k] = scale * z[0];
    if (k + 1 < n) to[k + 1] = scale * z[1];
  }
  PetscFunctionReturn(0);
}

/* The m x n matrix U V^T of a rank, column by column, with normally distributed U and V */
static inline PetscErrorCode FillLowRank(PetscRandom random, PetscInt m, PetscInt n, PetscInt rank, PetscScalar x[])
{
  PetscScalar *u, *v;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(m * rank, &u, n * rank, &v));
  PetscCall(FillNormal(random, 1, m * rank, u));
  PetscCall(FillNormal(random, 1, n * rank, v));
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = 0; i < m; i++) {
      x[i + j * m] = 0;
      for (PetscInt k = 0; k < rank; k++) x[i + j * m] += u[i + k * m] * v[j + k * n];
    }
  }
  PetscCall(PetscFree2(u, v));
  PetscFunctionReturn(0);
}

/* -tao_type muon reads which ranges of the vector are matrices, here so many of m x n, column by column; other types do not look */
static inline PetscErrorCode SetLayers(Vec x, PetscInt matrices, PetscInt m, PetscInt n)
{
  const size_t   length = 64 * (size_t)matrices;
  char          *text;
  const char    *name;
  PetscContainer container;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(length, &text));
  for (size_t k = 0, used = 0; k < (size_t)matrices; k++) {
    PetscCall(PetscSNPrintf(text + used, length - used, "%sX%d:%dx%d:column", k > 0 ? "," : "", (int)k, (int)m, (int)n));
    used += strlen(text + used);
  }
  PetscCall(PetscContainerCreate(PETSC_COMM_SELF, &container));
  PetscCall(PetscObjectSetName((PetscObject)container, text)); /* a copy, which lives as long as the container */
  PetscCall(PetscObjectGetName((PetscObject)container, &name));
  PetscCall(PetscContainerSetPointer(container, (void *)name));
  PetscCall(PetscFree(text));
  PetscCall(PetscObjectCompose((PetscObject)x, "MuonLayers", (PetscObject)container));
  PetscCall(PetscContainerDestroy(&container));
  PetscFunctionReturn(0);
}

static inline PetscErrorCode CreateRandom(unsigned long seed, PetscRandom *random)
{
  PetscFunctionBeginUser;
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, random));
  PetscCall(PetscRandomSetType(*random, PETSCRAND48));
  PetscCall(PetscRandomSetSeed(*random, seed));
  PetscCall(PetscRandomSeed(*random));
  PetscFunctionReturn(0);
}

/* Right singular vectors and values of an n x n matrix, the largest last, by its Gram matrix: good to 1e-8 of the largest */
static inline PetscErrorCode RightSingular(PetscInt n, const PetscScalar g[], PetscScalar v[], PetscReal sigma[])
{
  PetscScalar *work;
  PetscBLASInt bn, lwork, info;

  PetscFunctionBeginUser;
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast(34 * n, &lwork));
  PetscCall(PetscMalloc1(lwork, &work));
  PetscCall(Gemm("T", "N", n, n, n, 1, g, g, 0, v));
  PetscCallBLAS("LAPACKsyev", LAPACKsyev_("V", "L", &bn, v, &bn, sigma, work, &lwork, &info));
  PetscCheck(info == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "syev: %d", (int)info);
  for (PetscInt j = 0; j < n; j++) sigma[j] = PetscSqrtReal(PetscMax(sigma[j], 0));
  PetscCall(PetscFree(work));
  PetscFunctionReturn(0);
}

/* x <- the matrix nearest to x with its singular values less by lambda: x V diag(1 - lambda / sigma)_+ V^T */
static inline PetscErrorCode Shrink(PetscInt n, PetscReal lambda, PetscScalar x[], PetscScalar v[], PetscScalar xv[], PetscScalar w[], PetscReal sigma[])
{
  PetscInt kept = 0;

  PetscFunctionBeginUser;
  PetscCall(RightSingular(n, x, v, sigma));
  while (kept < n && sigma[n - 1 - kept] > lambda) kept++;
  for (PetscInt j = n - kept; j < n; j++) {
    for (PetscInt i = 0; i < n; i++) w[i + j * n] = v[i + j * n] * (1 - lambda / sigma[j]);
  }
  PetscCall(Gemm("N", "N", n, kept, n, 1, x, v + (n - kept) * n, 0, xv));
  PetscCall(Gemm("N", "T", n, n, kept, 1, xv, w + (n - kept) * n, 0, x));
  PetscFunctionReturn(0);
}

/* Divides an n x n matrix by its nuclear norm */
static inline PetscErrorCode NormalizeNuclear(PetscInt n, PetscScalar x[])
{
  PetscScalar *v;
  PetscReal   *sigma, sum = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(n * n, &v, n, &sigma));
  PetscCall(RightSingular(n, x, v, sigma));
  for (PetscInt j = 0; j < n; j++) sum += sigma[j];
  for (PetscInt i = 0; i < n * n; i++) x[i] /= sum;
  PetscCall(PetscFree2(v, sigma));
  PetscFunctionReturn(0);
}

/* |x - y| / |y| in the Frobenius norm */
static inline PetscReal RelativeError(PetscInt entries, const PetscScalar x[], const PetscScalar y[])
{
  PetscReal difference = 0, square = 0;

  for (PetscInt i = 0; i < entries; i++) {
    difference += PetscSqr(x[i] - y[i]);
    square += PetscSqr(y[i]);
  }
  return PetscSqrtReal(difference / square);
}
