/*
   Norms of vectors, for entries of any precision. Raw pointers, no PETSc, no MPI.

   A norm is size 2^exponent with size in [1/2, 1), or size 0. No norm of finite entries overflows or underflows in this
   form. Norms are divided by the largest norm before powers are computed.
*/
#pragma once

#include <petscmuon/private/muonarray.h>

MUON_C_BEGIN

/* size[k] 2^exponent[k] = most[k] sum[k]^(1/p); most == NULL is 1 */
void MuonKernelVectorNorms(size_t count, double p, const double *most, const double *sum, double *size, int *exponent);
/* r with ||c||_p = r 2^*total for c_k = size[k] 2^exponent[k]; p in [1, HUGE_VAL] */
double MuonKernelScaledNorm(size_t count, double p, const double *size, const int *exponent, int *total);
/*
   The maximizer of <c, w> over ||w||_p <= 1: w_k = (c_k / ||c||_p*)^(p*-1) with 1/p + 1/p* = 1. For p = 1 the weight is 1
   for the first of the largest c_k, for p = HUGE_VAL for all c_k that are not 0. The weight of a zero is 0
*/
void MuonKernelScaledDual(size_t count, double p, const double *size, const int *exponent, double *weight);
/*
   f0[k] f1[k] = -weight[k] / c_k, or 0 if c_k is 0. Two factors, because one factor may not be representable
*/
void MuonKernelVectorFactors(size_t count, const double *size, const int *exponent, const double *weight, double *f0, double *f1);

MUON_C_END
