/*
   The BLAS and LAPACK by their Fortran names, because this component does not include PETSc's headers:
   MUON_BLAS(s, syrk, SYRK), with the letter of the precision as the first argument. Sources that are compiled for each
   precision, see muontwice.h, call REAL_SYRK.
*/
#pragma once

#include <petscmuonconf.h>
#include <petscmuon/private/muonexport.h>
#include <stddef.h>
#include <stdint.h>

#if defined(MUON_KERNEL_BLAS_INT64)
typedef int64_t MuonBLASInt;
#else
typedef int MuonBLASInt;
#endif

#if defined(MUON_KERNEL_BLAS_CAPS)
  #define MUON_BLAS(precision, lower, upper) MUON_BLAS_CAPS_##precision(upper)
  #define MUON_BLAS_CAPS_s(upper)            S##upper
  #define MUON_BLAS_CAPS_d(upper)            D##upper
  #define MUON_BLAS_CAPS_c(upper)            C##upper
  #define MUON_BLAS_CAPS_z(upper)            Z##upper
#elif defined(MUON_KERNEL_BLAS_UNDERSCORE)
  #define MUON_BLAS(precision, lower, upper) precision##lower##_
#else
  #define MUON_BLAS(precision, lower, upper) precision##lower
#endif

/* Complex numbers: C and C++ have different types for them */
typedef struct {
  float re, im;
} MuonPairSingle;
typedef struct {
  double re, im;
} MuonPairDouble;

#define REAL_BLAS(lower, upper)               REAL_BLAS_OF(REAL_LETTER, lower, upper)
#define REAL_BLAS_OF(precision, lower, upper) MUON_BLAS(precision, lower, upper)
#define REAL_GEMM                             REAL_BLAS(gemm, GEMM)
#define REAL_GEMMT                            REAL_BLAS(gemmt, GEMMT)
#define REAL_GEMV                             REAL_BLAS(gemv, GEMV)
#define REAL_SYRK                             REAL_BLAS(syrk, SYRK)
#define REAL_HERK                             REAL_BLAS(herk, HERK)
#define REAL_TRMM                             REAL_BLAS(trmm, TRMM)
#define REAL_TRSM                             REAL_BLAS(trsm, TRSM)
#define REAL_POTRF                            REAL_BLAS(potrf, POTRF)
#define REAL_POTRI                            REAL_BLAS(potri, POTRI)
#define REAL_LAUUM                            REAL_BLAS(lauum, LAUUM)
#define REAL_GEQRF                            REAL_BLAS(geqrf, GEQRF)
#define REAL_ORGQR                            REAL_BLAS(orgqr, ORGQR)
#define REAL_GESVD                            REAL_BLAS(gesvd, GESVD)
#define REAL_SYEVD                            REAL_BLAS(syevd, SYEVD)

#define MUON_BLAS_DECLARE(letter, real) \
  void MUON_BLAS(letter, gemm, GEMM)(const char *, const char *, const MuonBLASInt *, const MuonBLASInt *, const MuonBLASInt *, const real *, const real *, const MuonBLASInt *, const real *, const MuonBLASInt *, const real *, real *, \
                                     const MuonBLASInt *); \
  void MUON_BLAS(letter, gemmt, GEMMT)(const char *, const char *, const char *, const MuonBLASInt *, const MuonBLASInt *, const real *, const real *, const MuonBLASInt *, const real *, const MuonBLASInt *, const real *, real *, \
                                       const MuonBLASInt *); \
  void MUON_BLAS(letter, gemv, GEMV)(const char *, const MuonBLASInt *, const MuonBLASInt *, const real *, const real *, const MuonBLASInt *, const real *, const MuonBLASInt *, const real *, real *, const MuonBLASInt *); \
  void MUON_BLAS(letter, trmm, TRMM)(const char *, const char *, const char *, const char *, const MuonBLASInt *, const MuonBLASInt *, const real *, const real *, const MuonBLASInt *, real *, const MuonBLASInt *); \
  void MUON_BLAS(letter, trsm, TRSM)(const char *, const char *, const char *, const char *, const MuonBLASInt *, const MuonBLASInt *, const real *, const real *, const MuonBLASInt *, real *, const MuonBLASInt *); \
  void MUON_BLAS(letter, potrf, POTRF)(const char *, const MuonBLASInt *, real *, const MuonBLASInt *, MuonBLASInt *);

#define MUON_BLAS_DECLARE_REAL(letter, real) \
  void MUON_BLAS(letter, geqrf, GEQRF)(const MuonBLASInt *, const MuonBLASInt *, real *, const MuonBLASInt *, real *, real *, const MuonBLASInt *, MuonBLASInt *); \
  void MUON_BLAS(letter, syrk, SYRK)(const char *, const char *, const MuonBLASInt *, const MuonBLASInt *, const real *, const real *, const MuonBLASInt *, const real *, real *, const MuonBLASInt *); \
  void MUON_BLAS(letter, lauum, LAUUM)(const char *, const MuonBLASInt *, real *, const MuonBLASInt *, MuonBLASInt *); \
  void MUON_BLAS(letter, orgqr, ORGQR)(const MuonBLASInt *, const MuonBLASInt *, const MuonBLASInt *, real *, const MuonBLASInt *, const real *, real *, const MuonBLASInt *, MuonBLASInt *); \
  void MUON_BLAS(letter, gesvd, GESVD)(const char *, const char *, const MuonBLASInt *, const MuonBLASInt *, real *, const MuonBLASInt *, real *, real *, const MuonBLASInt *, real *, const MuonBLASInt *, real *, const MuonBLASInt *, MuonBLASInt *); \
  void MUON_BLAS(letter, syevd, SYEVD)(const char *, const char *, const MuonBLASInt *, real *, const MuonBLASInt *, real *, real *, const MuonBLASInt *, MuonBLASInt *, const MuonBLASInt *, MuonBLASInt *);

#define MUON_BLAS_DECLARE_PAIR(letter, real, part) \
  void MUON_BLAS(letter, herk, HERK)(const char *, const char *, const MuonBLASInt *, const MuonBLASInt *, const part *, const real *, const MuonBLASInt *, const part *, real *, const MuonBLASInt *); \
  void MUON_BLAS(letter, potri, POTRI)(const char *, const MuonBLASInt *, real *, const MuonBLASInt *, MuonBLASInt *); \
  void MUON_BLAS(letter, gesvd, GESVD)(const char *, const char *, const MuonBLASInt *, const MuonBLASInt *, real *, const MuonBLASInt *, part *, real *, const MuonBLASInt *, real *, const MuonBLASInt *, real *, const MuonBLASInt *, part *, \
                                       MuonBLASInt *);

MUON_C_BEGIN
MUON_BLAS_DECLARE(s, float)
MUON_BLAS_DECLARE(d, double)
MUON_BLAS_DECLARE(c, MuonPairSingle)
MUON_BLAS_DECLARE(z, MuonPairDouble)
MUON_BLAS_DECLARE_REAL(s, float)
MUON_BLAS_DECLARE_REAL(d, double)
MUON_BLAS_DECLARE_PAIR(c, MuonPairSingle, float)
MUON_BLAS_DECLARE_PAIR(z, MuonPairDouble, double)

/*
   The library that computes products. OpenBLAS takes a processor that is newer than itself for an older one. It then runs
   kernels for shorter vectors, which are several times slower
*/
typedef struct {
  const char *core;      /* the name of OpenBLAS's kernels, NULL for another BLAS */
  int         bits;      /* bits of their vectors, 0 if not known */
  int         processor; /* bits of the vectors of the processor, 0 if not known */
  const char *remedy;    /* the OPENBLAS_CORETYPE that suits the processor, NULL if the kernels suit it or the variable is set */
  int         onednn;    /* oneDNN computes products in single precision, see MuonKernelProductsSet() */
  int         tiles;     /* the processor has registers for tiles of matrices in bfloat16 */
} MuonKernelBLAS;

MUON_EXPORT void MuonKernelBLASGet(MuonKernelBLAS *);
/* The remedy for kernels of that name on a processor with vectors of that many bits, and the bits of the kernels */
MUON_EXPORT const char *MuonKernelBLASRemedy(const char core[], int processor, int *bits);

typedef enum {
  MUON_PRODUCTS_AUTO, /* oneDNN if there is a remedy and the library was built with oneDNN */
  MUON_PRODUCTS_BLAS,
  MUON_PRODUCTS_ONEDNN
} MuonKernelProducts;

/*
   Selects the library that multiplies matrices in single precision in this process from now on. Returns 1 if PetscMuon was
   built without it. Symmetric and triangular matrices are cut, so that almost all operations are in products
*/
MUON_EXPORT int MuonKernelProductsSet(MuonKernelProducts);
/* Whether the library is oneDNN, for entries of that size */
int MuonKernelProductsByOneDNN(size_t size);
/* Between these two calls OpenMP has as many threads as OpenBLAS. The second one takes the result of the first one */
int  MuonKernelThreadsBegin(void);
void MuonKernelThreadsEnd(int threads);
MUON_C_END
