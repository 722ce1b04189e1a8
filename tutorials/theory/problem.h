/*
   Functions of a matrix whose constants are known, each of WORKERS with data of its own: quadratics with different curvatures and
   minimizers, and softmax regression. Every rank can compute all of them.
*/
#pragma once

#include <petscmuon.h>

#define WORKERS 4
#define M       6
#define N       5
#define SAMPLES 12 /* of a worker, for the regression: N features, M classes */

typedef struct {
  PetscBool logistic;
  PetscReal h[WORKERS][M * N], b[WORKERS][M * N];              /* f_j = sum h (x - b)^2 / 2 */
  PetscReal x[WORKERS][SAMPLES * N];                           /* f_j = mean of -log softmax(W x)_class */
  PetscReal curvature[WORKERS], mean, largest, gap, h_, sigma; /* of f_j and f between Frobenius norms */
} Problem;

/* Numbers in (-1, 1) that are the same everywhere */
static PetscReal Number(PetscInt what, PetscInt j, PetscInt e)
{
  const PetscReal y = PetscSinReal((PetscReal)(12.9898 * (e + 1) + 78.233 * (j + 1) + 37.719 * (what + 1))) * (PetscReal)43758.5453;

  return 2 * (y - PetscFloorReal(y)) - 1;
}

/* Adds this part of the gradient of f_j at w; loss may be NULL */
static void AddGradient(const Problem *p, PetscInt j, const PetscReal w[], PetscReal part, PetscReal g[], PetscReal *loss)
{
  for (PetscInt e = 0; e < M * N && !p->logistic; e++) {
    const PetscReal d = w[e] - p->b[j][e];

    g[e] += part * p->h[j][e] * d;
    if (loss != NULL) *loss += part * p->h[j][e] * d * d / 2;
  }
  for (PetscInt s = 0; s < SAMPLES && p->logistic; s++) {
    const PetscReal *x   = &p->x[j][s * N];
    const PetscInt class = (s + j * j) % M;
    PetscReal z[M], sum = 0;

    for (PetscInt i = 0; i < M; i++) {
      z[i] = 0;
      for (PetscInt k = 0; k < N; k++) z[i] += w[i + k * M] * x[k];
      sum += PetscExpReal(z[i]);
    }
    if (loss != NULL) *loss += part * (PetscLogReal(sum) - z[class]) / SAMPLES;
    for (PetscInt i = 0; i < M; i++) {
      const PetscReal d = PetscExpReal(z[i]) / sum - (i == class ? 1 : 0);

      for (PetscInt k = 0; k < N; k++) g[i + k * M] += part * d * x[k] / SAMPLES;
    }
  }
}

/* The Hessian of softmax is at most 1/2, that of f_j then half the largest eigenvalue of the mean of x x^T, which is at most its trace */
static void CreateProblem(PetscBool logistic, PetscReal sigma, Problem *p)
{
  p->logistic = logistic;
  p->sigma    = sigma;
  p->mean = p->largest = p->gap = p->h_ = 0;
  for (PetscInt j = 0; j < WORKERS; j++) {
    p->curvature[j] = 0;
    for (PetscInt e = 0; e < M * N; e++) {
      p->h[j][e]      = 1 + (PetscReal)0.9 * Number(0, j, e);
      p->b[j][e]      = Number(1, j, e);
      p->curvature[j] = logistic ? 0 : PetscMax(p->curvature[j], p->h[j][e]);
    }
    for (PetscInt e = 0; e < SAMPLES * N; e++) p->x[j][e] = Number(2, j, e);
    for (PetscInt e = 0; e < SAMPLES * N && logistic; e++) p->curvature[j] += p->x[j][e] * p->x[j][e] / (2 * SAMPLES);
    p->mean += p->curvature[j] / WORKERS;
    p->largest += p->curvature[j] * p->curvature[j] / WORKERS;
  }
  p->largest = PetscSqrtReal(p->largest);
  /* f_j >= 0 and f(0) = log M for the regression; of quadratics the minimum is that of each entry, and that of each f_j is 0 */
  if (logistic) p->gap = p->h_ = PetscLogReal((PetscReal)M);
  for (PetscInt e = 0; e < M * N && !logistic; e++) {
    PetscReal h = 0, hb = 0, hbb = 0;

    for (PetscInt j = 0; j < WORKERS; j++) {
      h += p->h[j][e] / WORKERS;
      hb += p->h[j][e] * p->b[j][e] / WORKERS;
      hbb += p->h[j][e] * p->b[j][e] * p->b[j][e] / WORKERS;
    }
    p->gap += hb * hb / h / 2;
    p->h_ += (hbb - hb * hb / h) / 2;
  }
}

/* The largest quotient of the dual norm and the norm: constants between Frobenius norms times it are those of the norm */
static PetscErrorCode GetSpread(MuonLMO lmo, PetscReal *spread)
{
  const struct {
    MuonLMOType type;
    PetscReal   spread;
  } norms[] = {{MUONLMOSPECTRAL, PetscMin(M, N)}, {MUONLMOFROBENIUS, 1}, {MUONLMONUCLEAR, 1}, {MUONLMOMAX, M * N}, {MUONLMOL1, 1}, {MUONLMOCOLUMN, N}, {MUONLMOROW, M}, {MUONLMOCOLSUM, N}, {MUONLMOROWSUM, M}, {MUONLMOL21, 1}};
  MuonLMOType type;

  PetscFunctionBeginUser;
  PetscCall(MuonLMOGetType(lmo, &type));
  *spread = 0;
  for (size_t k = 0; k < sizeof(norms) / sizeof(norms[0]); k++) {
    PetscBool same;

    PetscCall(PetscStrcmp(type, norms[k].type, &same));
    if (same) *spread = norms[k].spread;
  }
  PetscCheck(*spread > 0, PETSC_COMM_WORLD, PETSC_ERR_SUP, "-lmo_type %s: its constants are not known here", type);
  PetscFunctionReturn(PETSC_SUCCESS);
}
