/* Functions of a Gaussian process on [0, 1] with the covariance exp(-d^2 / (2 0.2^2)), and their integrals; knows nothing of this library */
#pragma once

#include "normal.h"

#define TERMS  33 /* of a Fourier series of period 2.5 */
#define PERIOD 2.5
#define SCALE  0.2

/*
   Term k at x, and its integral from 0 to x. With independent normal coefficients the series has the covariance of the process to
   1e-12: the next period adds as much, and what is cut off 1e-16
*/
static inline double Term(PetscInt k, double x, double *integral)
{
  const double omega = 2 * PETSC_PI * (double)((k + 1) / 2) / PERIOD, size = sqrt((k > 0 ? 2 : 1) * SCALE * sqrt(2 * PETSC_PI) / PERIOD) * exp(-omega * omega * SCALE * SCALE / 4);

  if (integral) *integral = size * (k == 0 ? x : (k % 2 ? sin(omega * x) : 1 - cos(omega * x)) / omega);
  return size * (k % 2 || k == 0 ? cos(omega * x) : sin(omega * x));
}

/* A function with so many coefficients at x, and its integral */
static inline double Sum(const double c[], double x, double *integral)
{
  double u = 0;

  *integral = 0;
  for (PetscInt k = 0; k < TERMS; k++) {
    double part;

    u += c[k] * Term(k, x, &part);
    *integral += c[k] * part;
  }
  return u;
}
