/*
   The list of the kernels that norm balls are made of: norms of slices, and the matrices made of them. An
   array is m, n, X, ldx: n lines of m entries. A slice is one of the lines or, with across, what crosses them
   at one place: there are n slices, or m. What is said of a slice is an array of doubles, and sums are in
   double. Results are the same bits for a slice whichever way it lies: slices are read line by line all the
   same.

   SliceSums        sum[k] = sum of |x|^power over slice k, power 1 or 2, in eight partial sums
   SlicePowers      sum[k] = sum of (|x| / most[k])^p, 0 where most[k] is 0
   SliceArgMax      most[k] = largest |x| and place[k] where it is first, -1 in a slice of zeros
   SliceScale       y = x f0[k] f1[k], and 0 where f1[k] is 0
   SliceSign        y = f[k] sign(x); sign(0) is 0
   SlicePower       y = f[k] sign(x) (|x| / most[k])^power, power > 0
   SlicePick        y = f[k] sign(x) at place[k], and 0 elsewhere; -1 picks nothing
   RankOne          Y = a u v^T, u along the lines, v across them
*/
#pragma once

#define MUON_KERNELS_NORMS(KERNEL) \
  KERNEL(void, SliceSums, (size_t m, size_t n, const void *X, size_t ldx, int across, int power, double *sum)) \
  KERNEL(void, SlicePowers, (size_t m, size_t n, const void *X, size_t ldx, int across, double p, const double *most, double *sum)) \
  KERNEL(void, SliceArgMax, (size_t m, size_t n, const void *X, size_t ldx, int across, double *most, int64_t *place)) \
  KERNEL(void, SliceScale, (size_t m, size_t n, const void *X, size_t ldx, int across, const double *f0, const double *f1, void *Y, size_t ldy)) \
  KERNEL(void, SliceSign, (size_t m, size_t n, const void *X, size_t ldx, int across, const double *f, void *Y, size_t ldy)) \
  KERNEL(void, SlicePower, (size_t m, size_t n, const void *X, size_t ldx, int across, double power, const double *most, const double *f, void *Y, size_t ldy)) \
  KERNEL(void, SlicePick, (size_t m, size_t n, const void *X, size_t ldx, int across, const int64_t *place, const double *f, void *Y, size_t ldy)) \
  KERNEL(void, RankOne, (size_t m, size_t n, double a, const double *u, const double *v, void *Y, size_t ldy))
