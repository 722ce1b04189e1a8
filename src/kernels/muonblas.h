/*
   The BLAS and LAPACK by their Fortran names, since PETSc's header that knows them stays outside this room. A source declares the routines that it calls with
   MUON_BLAS(s, syrk, SYRK), where the first argument is the letter of the precision.
*/
#pragma once

#include <petscmuonconf.h>
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
#elif defined(MUON_KERNEL_BLAS_UNDERSCORE)
  #define MUON_BLAS(precision, lower, upper) precision##lower##_
#else
  #define MUON_BLAS(precision, lower, upper) precision##lower
#endif
