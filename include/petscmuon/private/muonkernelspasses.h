/*
   The list of the kernels that pass over whole arrays: linear combinations, norms, what is finite. An array
   is m, n, X, ldx: n lines of m entries.

   IsBelow          1 when all absolute values are less than limit, which may be infinite
   Axpby            Y = a X + b Y; b == 0 overwrites whatever Y holds
   AxpbyOther       the same with an X of the other precision: in double, and rounded once
   Momentum         Z = previous M + fresh G, and 1 where Z is finite; M is not read where previous == 0; Z may be G or M
   MomentumOther    the same with a G of the other precision, and Z not G
   MomentumMend     previous M takes the place of the entries of Z that are not finite, zero where previous == 0; returns how many
   Cautious         Z = X + by D, with keep X in place of X where by D and X do not have the same sign; 1 where Z is finite; Z may be D
   SumSquares       sum of squares, accumulated in double by blocks
   SumAbs           sum of absolute values, in the same way
   MaxAbs           largest absolute value
   IsOrdinary       1 where the sum of squares neither overflows nor vanishes, which one look at the entries tells: X is finite and not zero. 0 tells nothing
   Norm             r with ||X||_F = r 2^*exponent, without overflow or underflow on the way; 0 when X is zero, HUGE_VAL when an entry is not finite
   Divide           Y = X / (norm 2^exponent)
   Sign             Y = s sign(X), where sign(0) is 0
   Dot              sum of X_ij Y_ij
   AdamW            one step of Adam with decoupled decay from the gradient G: moments M and V become Mnew and Vnew, all without gaps, and Xnew = keep X - rate (mhat / (sqrt(Vnew / c2) + epsilon)),
                    mhat = Mnew / c1, with nesterov (beta1 Mnew + (1 - beta1) G) / c1. Returns 1 where Xnew
                    and Vnew are finite
*/
#pragma once

/* clang-format off */
#define MUON_KERNELS_PASSES(KERNEL) \
  KERNEL(int, IsBelow, (size_t m, size_t n, const void *X, size_t ldx, double limit)) \
  KERNEL(void, Axpby, (size_t m, size_t n, double a, const void *X, size_t ldx, double b, void *Y, size_t ldy)) \
  KERNEL(void, AxpbyOther, (size_t m, size_t n, double a, const void *X, size_t ldx, double b, void *Y, size_t ldy)) \
  KERNEL(int, Momentum, (size_t m, size_t n, double previous, const void *M, size_t ldm, double fresh, const void *G, size_t ldg, void *Z, size_t ldz)) \
  KERNEL(int, MomentumOther, (size_t m, size_t n, double previous, const void *M, size_t ldm, double fresh, const void *G, size_t ldg, void *Z, size_t ldz)) \
  KERNEL(size_t, MomentumMend, (size_t m, size_t n, double previous, const void *M, size_t ldm, void *Z, size_t ldz)) \
  KERNEL(int, Cautious, (size_t m, size_t n, double keep, const void *X, size_t ldx, double by, const void *D, size_t ldd, void *Z, size_t ldz)) \
  KERNEL(double, SumSquares, (size_t m, size_t n, const void *X, size_t ldx)) \
  KERNEL(double, SumAbs, (size_t m, size_t n, const void *X, size_t ldx)) \
  KERNEL(double, MaxAbs, (size_t m, size_t n, const void *X, size_t ldx)) \
  KERNEL(int, IsOrdinary, (size_t m, size_t n, const void *X, size_t ldx)) \
  KERNEL(double, Norm, (size_t m, size_t n, const void *X, size_t ldx, int *exponent)) \
  KERNEL(void, Divide, (size_t m, size_t n, const void *X, size_t ldx, double norm, int exponent, void *Y, size_t ldy)) \
  KERNEL(void, Sign, (size_t m, size_t n, double s, const void *X, size_t ldx, void *Y, size_t ldy)) \
  KERNEL(double, Dot, (size_t m, size_t n, const void *X, size_t ldx, const void *Y, size_t ldy)) \
  KERNEL(int, AdamW, (size_t m, size_t n, const void *G, size_t ldg, double beta1, double beta2, double epsilon, int nesterov, double c1, double c2, double rate, double keep, const void *M, const void *V, \
                      const void *X, size_t ldx, void *Mnew, void *Vnew, void *Xnew, size_t ldn))
/* clang-format on */
