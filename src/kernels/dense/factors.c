#if !defined(REAL)
/*
   Matrices of few columns, by BLAS and LAPACK. Arrays are column-major, without gaps unless a leading dimension is an
   argument.

   This file includes itself once for each precision, and again for products of complex matrices: REAL is the type of an
   entry, REAL_LETTER the letter of its BLAS routines, REAL_NAME(name) the name of a function.
*/
  #include <petscmuon/private/muonarray.h>
  #include "muonpanels.h"

  #define PAIRED
  #define TWICE "../dense/factors.c"
  #include "../array/muontwice.h"

void MuonKernelPairMultiply(MuonPrecision precision, int transa, int transb, size_t m, size_t n, size_t k, double a, const void *A, size_t lda, const void *B, size_t ldb, double b, void *Y, size_t ldy)
{
  (precision == MUON_SINGLE ? MuonKernelMultiplyPairSingle : MuonKernelMultiplyPairDouble)(transa, transb, m, n, k, a, A, lda, B, ldb, b, Y, ldy);
}

#else

void REAL_NAME(MuonKernelMultiply)(int transa, int transb, size_t m, size_t n, size_t k, double a, const void *A, size_t lda, const void *B, size_t ldb, double b, void *Y, size_t ldy)
{
  const MuonBLASInt bm = (MuonBLASInt)m, bn = (MuonBLASInt)n, bk = (MuonBLASInt)k, ba = (MuonBLASInt)lda, bb = (MuonBLASInt)ldb, by = (MuonBLASInt)ldy;
  const REAL        ra = REAL_OF(a), rb = REAL_OF(b);

  if (m == 0 || n == 0) return;
  REAL_NAME(MuonProduct)(transa ? REAL_T : "N", transb ? REAL_T : "N", &bm, &bn, &bk, &ra, (const REAL *)A, &ba, (const REAL *)B, &bb, &rb, (REAL *)Y, &by);
}

  #if !REAL_PAIRS
/* work == NULL returns the size of work */
int REAL_NAME(MuonKernelOrthonormalize)(size_t m, size_t l, void *P, size_t *entries, void *work)
{
  const MuonBLASInt bm = (MuonBLASInt)m, bl = (MuonBLASInt)l, query = -1;
  REAL             *tau = (REAL *)work, optimal[2] = {0, 0};
  MuonBLASInt       lwork, info, generated;

  if (work == NULL) {
    REAL_GEQRF(&bm, &bl, (REAL *)P, &bm, optimal, &optimal[0], &query, &info);
    REAL_ORGQR(&bm, &bl, &bl, (REAL *)P, &bm, optimal, &optimal[1], &query, &generated);
    *entries = l + (size_t)(optimal[0] > optimal[1] ? optimal[0] : optimal[1]);
  } else {
    lwork = (MuonBLASInt)(*entries - l);
    REAL_GEQRF(&bm, &bl, (REAL *)P, &bm, tau, tau + l, &lwork, &info);
    REAL_ORGQR(&bm, &bl, &bl, (REAL *)P, &bm, tau, tau + l, &lwork, &generated);
  }
  return info != 0 ? (int)info : (int)generated;
}

int REAL_NAME(MuonKernelRotation)(size_t n, size_t l, void *V, void *WT, void *S, size_t *entries, void *work)
{
  const MuonBLASInt bn = (MuonBLASInt)n, bl = (MuonBLASInt)l, one = 1;
  REAL              none = 0, optimal = 0;
  MuonBLASInt       lwork = work == NULL ? -1 : (MuonBLASInt)*entries, info;

  REAL_GESVD("N", "A", &bn, &bl, (REAL *)V, &bn, work == NULL ? &none : (REAL *)S, &none, &one, work == NULL ? &none : (REAL *)WT, &bl, work == NULL ? &optimal : (REAL *)work, &lwork, &info);
  if (work == NULL) *entries = (size_t)optimal;
  return (int)info;
}
  #endif
#endif
