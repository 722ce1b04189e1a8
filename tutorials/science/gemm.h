/* The product of dense arrays that programs here share; it knows nothing of this library */
#pragma once

#include <petscblaslapack.h>

/* C = alpha op(A) op(B) + beta C of column-major arrays without gaps; C is m x n, k the inner size */
static inline PetscErrorCode Gemm(const char opa[], const char opb[], PetscInt m, PetscInt n, PetscInt k, PetscScalar alpha, const PetscScalar A[], const PetscScalar B[], PetscScalar beta, PetscScalar C[])
{
  PetscBLASInt bm, bn, bk, lda, ldb;

  PetscFunctionBeginUser;
  PetscCall(PetscBLASIntCast(m, &bm));
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast(k, &bk));
  lda = opa[0] == 'N' ? bm : bk;
  ldb = opb[0] == 'N' ? bk : bn;
  PetscCallBLAS("BLASgemm", BLASgemm_(opa, opb, &bm, &bn, &bk, &alpha, A, &lda, B, &ldb, &beta, C, &bm));
  PetscFunctionReturn(0);
}
