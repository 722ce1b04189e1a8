/*
   Norms of vectors as numbers, whatever the precision of the entries was. Raw pointers, no PETSc, no MPI.

   A norm is size 2^exponent with size in [1/2, 1), or size 0: no norm of finite entries leaves this range,
   and no power of it is taken before a division by the largest.
*/
#pragma once

#include <petscmuon/private/muonarray.h>

MUON_C_BEGIN

/* size[k] 2^exponent[k] = most[k] sum[k]^(1/p); most == NULL is 1 */
void MuonKernelVectorNorms(size_t count, double p, const double *most, const double *sum, double *size, int *exponent);
/* r with ||c||_p = r 2^*total for c_k = size[k] 2^exponent[k]; p in [1, HUGE_VAL] */
double MuonKernelScaledNorm(size_t count, double p, const double *size, const int *exponent, int *total);
/*
   The maximizer of <c, w> over ||w||_p <= 1: w_k = (c_k / ||c||_p*)^(p*-1) with 1/p + 1/p* = 1; for p = 1 the
   lowest largest has 1, for p = HUGE_VAL all that are not 0 have. Zeros have 0
*/
void MuonKernelScaledDual(size_t count, double p, const double *size, const int *exponent, double *weight);
/*
   f0[k] f1[k] = -weight[k] / c_k, 0 where c_k is 0. Two factors, because one alone may not be representable
*/
void MuonKernelVectorFactors(size_t count, const double *size, const int *exponent, const double *weight, double *f0, double *f1);

MUON_C_END
