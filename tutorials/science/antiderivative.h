/* The problem of antiderivative.c: s' = u, s(0) = 0. Sizes are those of a published program, arXiv:2103.10974 */
#pragma once

#define PROBLEM   "antiderivative"
#define FORMULA   "by the trapezoidal rule"
#define FUNCTIONS 10000 /* to train with */
#define TESTS     1000
#define BATCH     0 /* the gradient of all functions */
#define STEPS     40000
#define DECAY     1000 /* steps for a factor of the published schedule */
#define SENSORS   100  /* from 0 to 1 */
#define INPUTS    1    /* of the trunk */
#define WIDTH     100  /* of all layers of both networks */
#define HIDDEN    1    /* layers of each, of relu */
#define POINTS    1    /* of a training function with an image, which are some of so many places */
#define PLACES    1000
#define GRID      100 /* points of the test; at most PLACES */

static inline void Place(int i, double x[INPUTS])
{
  x[0] = ((double)i + 0.5) / PLACES;
}

/* From 0 to 1 */
static inline void GridPoint(int i, double x[INPUTS])
{
  x[0] = (double)i / (GRID - 1);
}

#include "operator.h"

/* Integrals, and the error of the trapezoidal rule */
static inline PetscErrorCode CreateImages(Data *data)
{
  double x;

  PetscFunctionBeginUser;
  for (PetscInt j = 0; j < data->n; j++) {
    Place((int)data->place[j], &x);
    (void)Sum(data->c + j * (TERMS + 1), x, &data->s[j]);
  }
  data->simple = 0;
  for (PetscInt j = 0; j < data->tests; j++) {
    double last = 0, rule = 0, above = 0, below = 0;

    for (PetscInt i = 0; i < GRID; i++) {
      double *const s = &data->test_s[j * GRID + i], u;

      GridPoint((int)i, &x);
      u = Sum(data->test_c + j * (TERMS + 1), x, s);
      if (i > 0) rule += (last + u) / (2 * (GRID - 1));
      last = u;
      above += (rule - *s) * (rule - *s);
      below += *s * *s;
    }
    data->simple += sqrt(above / below) / (double)data->tests;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
