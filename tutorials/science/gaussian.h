/* Functions of a Gaussian process on [0, 1] with the covariance exp(-d^2 / (2 0.2^2)), and their integrals; knows nothing of this library */
#pragma once

#include "normal.h"

#define PLACES 1000 /* a training function's integral is known at one of them */
#define GRID   100  /* points from 0 to 1 at which a test function's integral is known */
#define TERMS  33   /* of a Fourier series of period 2.5 */
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

static inline double Place(PetscInt i)
{
  return ((double)i + 0.5) / PLACES;
}

typedef struct {
  PetscInt n, all, tests, *place; /* training functions of this rank and of all, test functions, which each rank has; where s is */
  double  *c, *s;                 /* coefficients and a last 1 of each function, and its integral */
  double  *test_c, *test_s;
  double   trapezoid; /* mean relative error of the trapezoidal rule for the test functions */
} Data;

/* Numbers do not depend on the ranks: each rank draws all and keeps every size-th function */
static inline PetscErrorCode CreateData(PetscRandom random, PetscInt all, PetscInt tests, Data *data)
{
  PetscMPIInt rank, size;
  double      c[TERMS + 1];

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  data->all       = all;
  data->n         = all / size + (rank < all % size ? 1 : 0);
  data->tests     = tests;
  data->trapezoid = 0;
  PetscCall(PetscMalloc5((TERMS + 1) * data->n, &data->c, data->n, &data->s, data->n, &data->place, (TERMS + 1) * tests, &data->test_c, GRID * tests, &data->test_s));
  c[TERMS] = 1;
  for (PetscInt j = 0; j < all; j++) {
    const PetscInt to = j / size;
    PetscReal      u  = 0;

    for (PetscInt k = 0; k < TERMS; k++) PetscCall(Normal(random, &c[k]));
    PetscCall(PetscRandomGetValueReal(random, &u));
    if (j % size != rank) continue;
    data->place[to] = PetscMin((PetscInt)(u * PLACES), PLACES - 1);
    PetscCall(PetscArraycpy(data->c + to * (TERMS + 1), c, TERMS + 1));
    (void)Sum(c, Place(data->place[to]), &data->s[to]);
  }
  for (PetscInt j = 0; j < tests; j++) {
    double last = 0, rule = 0, above = 0, below = 0;

    for (PetscInt k = 0; k < TERMS; k++) PetscCall(Normal(random, &c[k]));
    PetscCall(PetscArraycpy(data->test_c + j * (TERMS + 1), c, TERMS + 1));
    for (PetscInt i = 0; i < GRID; i++) {
      double *const s = &data->test_s[j * GRID + i], u = Sum(c, (double)i / (GRID - 1), s);

      if (i > 0) rule += (last + u) / (2 * (GRID - 1));
      last = u;
      above += (rule - *s) * (rule - *s);
      below += *s * *s;
    }
    data->trapezoid += sqrt(above / below) / (double)tests;
  }
  PetscFunctionReturn(0);
}

static inline PetscErrorCode DestroyData(Data *data)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree5(data->c, data->s, data->place, data->test_c, data->test_s));
  PetscFunctionReturn(0);
}
