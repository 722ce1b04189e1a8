/*
   Large products in panels of a few milliseconds. Between panels a callback can do a little work, because MPI makes no
   progress on messages outside of its calls.

   The arguments are those of the BLAS. Of symmetric and triangular matrices the lower triangle is stored. The panels depend
   only on the sizes of a product, so that no result depends on the callback. For complex matrices symmetric means Hermitian,
   the transpose is the conjugate transpose, "C", and the factors of Syrk are real.
*/
#pragma once

#include "muonblas.h"

MUON_C_BEGIN

/*
   Sets the callback, NULL for none. It is called about every 2^27 operations inside the products. It must not call them
   itself. A process has one callback, and two threads must not use it at the same time
*/
MUON_EXPORT void MuonKernelSetProgress(void (*progress)(void *), void *ctx);
/* Counts operations that were done */
void MuonKernelProgress(double flops);

#define MUON_PANELS_DECLARE(real, precision) \
  /* One product, by the library of MuonKernelProductsSet() */ \
  void MuonProduct##precision(const char *transa, const char *transb, const MuonBLASInt *m, const MuonBLASInt *n, const MuonBLASInt *k, const real *alpha, const real *A, const MuonBLASInt *lda, const real *B, const MuonBLASInt *ldb, \
                              const real *beta, real *C, const MuonBLASInt *ldc); \
  void MuonPanelGemm##precision(const char *transa, const char *transb, const MuonBLASInt *m, const MuonBLASInt *n, const MuonBLASInt *k, const real *alpha, const real *A, const MuonBLASInt *lda, const real *B, const MuonBLASInt *ldb, \
                                const real *beta, real *C, const MuonBLASInt *ldc); \
  void MuonPanelSyrk##precision(const char *trans, const MuonBLASInt *n, const MuonBLASInt *k, const real *alpha, const real *A, const MuonBLASInt *lda, const real *beta, real *C, const MuonBLASInt *ldc); \
  /* The lower triangle of C = alpha A B + beta C, n x n. Entries above it may be overwritten, as in Syrk */ \
  void MuonPanelLower##precision(const MuonBLASInt *n, const MuonBLASInt *k, const real *alpha, const real *A, const MuonBLASInt *lda, const real *B, const MuonBLASInt *ldb, const real *beta, real *C, const MuonBLASInt *ldc); \
  void MuonPanelTrmm##precision(const char *side, const char *trans, const MuonBLASInt *m, const MuonBLASInt *n, const real *alpha, const real *A, const MuonBLASInt *lda, real *B, const MuonBLASInt *ldb); \
  void MuonPanelTrsm##precision(const char *side, const char *trans, const MuonBLASInt *m, const MuonBLASInt *n, const real *alpha, const real *A, const MuonBLASInt *lda, real *B, const MuonBLASInt *ldb);
MUON_PANELS_DECLARE(float, Single)
MUON_PANELS_DECLARE(double, Double)
MUON_PANELS_DECLARE(MuonPairSingle, PairSingle)
MUON_PANELS_DECLARE(MuonPairDouble, PairDouble)

MUON_C_END
