/*
   Arithmetic of the norm balls: norms of columns and of rows, their largest entries, and the matrices made of them.

   Raw pointers, no PETSc, no MPI; matrices are column-major with a leading dimension and are read column by column, rows by strips whose results stay in cache.
   A slice is a column or a row. Sums are accumulated in double whatever the scalar is. A norm is size 2^exponent with size in [1/2, 1), or size 0: no norm of finite
   entries leaves this range, and no power of it is taken before a division by the largest.
*/
#pragma once

#include "muonkernels.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* sum[j] = sum over i of |X_ij|^power with power 1 or 2 */
void MuonKernelColumnSums(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, int power, double *sum);
/* 0 where such a sum overflowed or may have lost digits to underflow: then the next two compute what it stands for */
int MuonKernelSumInRange(int power, double sum);
/* most[j] = largest |X_ij| over i; sum[j] = sum over i of (|X_ij| / most[j])^p, 0 where most[j] is 0 */
void MuonKernelColumnMost(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, double *most);
void MuonKernelColumnPowers(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, double p, const double *most, double *sum);
/* size[i] 2^exponent[i] = norm of row i, with power 1 the sum of absolute values, with 2 the Euclidean norm */
void MuonKernelRowNorms(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, int power, double *size, int *exponent);
/* The same most[j], and row[j] the lowest i where it is, -1 in a column of zeros */
void MuonKernelColumnArgMax(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, double *most, int64_t *row);
/* most[i] = largest |X_ij| over j and column[i] the lowest j where it is, -1 in a row of zeros */
void MuonKernelRowArgMax(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, MuonKernelScalar *most, int64_t *column);

/* size[k] 2^exponent[k] = most[k] sum[k]^(1/p); most == NULL is 1 */
void MuonKernelSliceNorms(size_t count, double p, const double *most, const double *sum, double *size, int *exponent);
/* r with r 2^*exponent = the sum of x_k >= 0 */
double MuonKernelScaledSum(size_t count, const MuonKernelScalar *x, int *exponent);
/* r with ||c||_p = r 2^*total for c_k = size[k] 2^exponent[k]; p in [1, HUGE_VAL] */
double MuonKernelVectorNorm(size_t count, double p, const double *size, const int *exponent, int *total);
/* The maximizer of <c, w> over ||w||_p <= 1: w_k = (c_k / ||c||_p*)^(p*-1) with 1/p + 1/p* = 1; for p = 1 the lowest largest has 1, for p = HUGE_VAL all that are not 0 have. Zeros have 0 */
void MuonKernelVectorDual(size_t count, double p, const double *size, const int *exponent, double *weight);
/* f0[k] f1[k] = -weight[k] / c_k, 0 where c_k is 0; weight == NULL is 1. Two factors, because one alone may not be representable */
void MuonKernelSliceFactors(size_t count, const double *size, const int *exponent, const double *weight, double *f0, double *f1);

/* Y_ij = X_ij f0[j] f1[j], and X_ij f0[i] f1[i] */
void MuonKernelColumnsScale(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, const double *f0, const double *f1, MuonKernelScalar *Y, size_t ldy);
void MuonKernelRowsScale(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, const double *f0, const double *f1, MuonKernelScalar *Y, size_t ldy);
/* Y_ij = f[j] sign(X_ij), and f[j] sign(X_ij) (|X_ij| / most[j])^power for power > 0; sign(0) is 0 */
void MuonKernelColumnsSign(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, const double *f, MuonKernelScalar *Y, size_t ldy);
void MuonKernelColumnsPower(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, double power, const double *most, const double *f, MuonKernelScalar *Y, size_t ldy);
/* Y_ij = f[j] sign(X_ij) where i = row[j], f sign(X_ij) where j = column[i], and 0 elsewhere; -1 picks nothing */
void MuonKernelColumnsPick(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, const int64_t *row, const double *f, MuonKernelScalar *Y, size_t ldy);
void MuonKernelRowsPick(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, const int64_t *column, double f, MuonKernelScalar *Y, size_t ldy);
/* Y = a u v^T */
void MuonKernelRankOne(size_t m, size_t n, double a, const MuonKernelScalar *u, const MuonKernelScalar *v, MuonKernelScalar *Y, size_t ldy);

#if defined(__cplusplus)
}
#endif
