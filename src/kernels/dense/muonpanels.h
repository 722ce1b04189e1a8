/*
   Large products in panels of a few milliseconds, between which a callback may do a little work: MPI makes no
   progress on messages between its calls.

   The arguments are those of the BLAS, symmetric and triangular matrices being lower ones. How a product is
   cut follows from its sizes alone, so that no result depends on the callback. Of complex matrices symmetric
   means Hermitian, the transpose is the conjugate one, "C", and the factors of Syrk are real.
*/
#pragma once

#include "muonblas.h"

MUON_C_BEGIN

/*
   What is called about every 2^27 operations inside the products, NULL for nothing. It must not call them
   itself. There is one in a process, and two threads may not use it at once
*/
MUON_EXPORT void MuonKernelSetProgress(void (*progress)(void *), void *ctx);
/* So many operations were done */
void MuonKernelProgress(double flops);

#define MUON_PANELS_DECLARE(real, precision) \
  /* One product, by the library that MuonKernelProductsSet() says */ \
  void MuonProduct##precision(const char *transa, const char *transb, const MuonBLASInt *m, const MuonBLASInt *n, const MuonBLASInt *k, const real *alpha, const real *A, const MuonBLASInt *lda, const real *B, const MuonBLASInt *ldb, \
                              const real *beta, real *C, const MuonBLASInt *ldc); \
  void MuonPanelGemm##precision(const char *transa, const char *transb, const MuonBLASInt *m, const MuonBLASInt *n, const MuonBLASInt *k, const real *alpha, const real *A, const MuonBLASInt *lda, const real *B, const MuonBLASInt *ldb, \
                                const real *beta, real *C, const MuonBLASInt *ldc); \
  void MuonPanelSyrk##precision(const char *trans, const MuonBLASInt *n, const MuonBLASInt *k, const real *alpha, const real *A, const MuonBLASInt *lda, const real *beta, real *C, const MuonBLASInt *ldc); \
  /* The lower triangle of C = alpha A B + beta C, n x n; what is above it may be overwritten, as by Syrk */ \
  void MuonPanelLower##precision(const MuonBLASInt *n, const MuonBLASInt *k, const real *alpha, const real *A, const MuonBLASInt *lda, const real *B, const MuonBLASInt *ldb, const real *beta, real *C, const MuonBLASInt *ldc); \
  void MuonPanelTrmm##precision(const char *side, const char *trans, const MuonBLASInt *m, const MuonBLASInt *n, const real *alpha, const real *A, const MuonBLASInt *lda, real *B, const MuonBLASInt *ldb); \
  void MuonPanelTrsm##precision(const char *side, const char *trans, const MuonBLASInt *m, const MuonBLASInt *n, const real *alpha, const real *A, const MuonBLASInt *lda, real *B, const MuonBLASInt *ldb);
MUON_PANELS_DECLARE(float, Single)
MUON_PANELS_DECLARE(double, Double)
MUON_PANELS_DECLARE(MuonPairSingle, PairSingle)
MUON_PANELS_DECLARE(MuonPairDouble, PairDouble)

MUON_C_END
