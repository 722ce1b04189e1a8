/*
   A convex problem whose solution and gradients are known entry by entry, f_j(W) = 1/2 sum H_j (W - B_j)^2,
   for the tests of whole steps of EF21-Muon and Muon. Weights may have gaps between their columns; the tests
   see all matrices as arrays by rows.
*/
#pragma once

#include <petscmuon.h>
#include <string.h>
#include "number_common.h"
#include "state_common.h"

#define TEST_LAYERS 6

typedef struct {
  const char *name, *norm;
  PetscInt    m, n, gap; /* gap: the leading dimension of the weights is m + gap */
  PetscBool   vec;
} TestShape;

/* Square, tall, wide, one row, a column that is a vector, one entry */
static const TestShape TestShapes[TEST_LAYERS] = {{"h0.attn", MUONLMOSPECTRAL, 6, 6, 0, PETSC_FALSE}, {"h0.up", MUONLMOSPECTRAL, 9, 4, 3, PETSC_FALSE}, {"h0.down", MUONLMOSPECTRAL, 4, 9, 0, PETSC_FALSE},
                                                  {"row", MUONLMOMAX, 1, 7, 2, PETSC_FALSE},          {"gain", MUONLMOFROBENIUS, 11, 1, 0, PETSC_TRUE}, {"embed", MUONLMOMAX, 10, 3, 0, PETSC_FALSE}};

typedef struct {
  Muon             muon;
  PetscInt         n;
  const TestShape *shape;
  MuonLayer        layer[TEST_LAYERS];
  Mat              W[TEST_LAYERS];
  Vec              w[TEST_LAYERS];
  PetscReal       *H[TEST_LAYERS], *B[TEST_LAYERS]; /* by rows, of this worker */
  PetscReal        scale;                           /* of the loss and all gradients */
  PetscInt         noise;                           /* 0, or the denominator of what each step adds to the gradient's entries, which are then between -1/noise and 1/noise */
  PetscMPIInt      rank, size, worker;              /* worker: whose gradients this rank has */
  PetscMPIInt      shards, position;                /* ranks of a worker, and the place of this one among them */
} TestProblem;

/* A multiple of 2^-10 in [-1, 1) that depends on its arguments alone */
static inline PetscReal TestNumber(PetscInt a, PetscInt b, PetscInt c, PetscInt d)
{
  return (PetscReal)(TestHash(a, b, c, d) % 2048) / 1024 - 1;
}

static inline PetscInt TestEntries(const TestShape *shape)
{
  return shape->m * shape->n;
}

static inline PetscErrorCode TestMatGetRows(Mat A, PetscReal rows[])
{
  const PetscScalar *a;
  PetscInt           m, n, lda;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(MatDenseGetLDA(A, &lda));
  PetscCall(MatDenseGetArrayRead(A, &a));
  for (PetscInt i = 0; i < m; i++) {
    for (PetscInt j = 0; j < n; j++) rows[i * n + j] = PetscRealPart(a[i + j * lda]);
  }
  PetscCall(MatDenseRestoreArrayRead(A, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode TestMatSetRows(Mat A, const PetscReal rows[])
{
  PetscScalar *a;
  PetscInt     m, n, lda;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(MatDenseGetLDA(A, &lda));
  PetscCall(MatDenseGetArray(A, &a));
  for (PetscInt i = 0; i < m; i++) {
    for (PetscInt j = 0; j < n; j++) a[i + j * lda] = rows[i * n + j];
  }
  PetscCall(MatDenseRestoreArray(A, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode TestGetWeights(TestProblem *p, PetscInt l, PetscReal rows[])
{
  const PetscScalar *w;

  PetscFunctionBegin;
  if (p->shape[l].vec == PETSC_TRUE) {
    PetscCall(VecGetArrayRead(p->w[l], &w));
    for (PetscInt e = 0; e < p->shape[l].m; e++) rows[e] = PetscRealPart(w[e]);
    PetscCall(VecRestoreArrayRead(p->w[l], &w));
  } else PetscCall(TestMatGetRows(p->W[l], rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode TestSetWeights(TestProblem *p, PetscInt l, const PetscReal rows[])
{
  PetscScalar *w;

  PetscFunctionBegin;
  if (p->shape[l].vec == PETSC_TRUE) {
    PetscCall(VecGetArray(p->w[l], &w));
    for (PetscInt e = 0; e < p->shape[l].m; e++) w[e] = rows[e];
    PetscCall(VecRestoreArray(p->w[l], &w));
  } else PetscCall(TestMatSetRows(p->W[l], rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The weights that every rank begins with */
static inline PetscErrorCode TestStart(TestProblem *p)
{
  PetscFunctionBegin;
  for (PetscInt l = 0; l < p->n; l++) {
    const PetscInt d = TestEntries(&p->shape[l]);
    PetscReal     *rows;

    PetscCall(PetscMalloc1(d, &rows));
    for (PetscInt e = 0; e < d; e++) rows[e] = TestNumber(l, e, 0, 1);
    PetscCall(TestSetWeights(p, l, rows));
    PetscCall(PetscFree(rows));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The gradient of this step by rows, into the layer's own buffer */
static inline PetscErrorCode TestSetGradient(TestProblem *p, PetscInt l, const PetscReal rows[])
{
  Mat          G;
  Vec          g;
  PetscScalar *array;

  PetscFunctionBegin;
  if (p->shape[l].vec == PETSC_TRUE) {
    PetscCall(MuonLayerGetGradientVec(p->layer[l], &g));
    PetscCall(VecGetArray(g, &array));
    for (PetscInt e = 0; e < p->shape[l].m; e++) array[e] = rows[e];
    PetscCall(VecRestoreArray(g, &array));
  } else {
    PetscCall(MuonLayerGetGradient(p->layer[l], &G));
    PetscCall(TestMatSetRows(G, rows));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode TestObjective(Muon muon, PetscReal *loss, void *ctx)
{
  TestProblem *p = (TestProblem *)ctx;
  PetscInt     step;

  PetscFunctionBegin;
  PetscCall(MuonGetStepNumber(muon, &step));
  *loss = 0;
  for (PetscInt l = 0; l < p->n; l++) {
    const PetscInt d = TestEntries(&p->shape[l]);
    PetscReal     *rows;

    PetscCall(PetscMalloc1(d, &rows));
    PetscCall(TestGetWeights(p, l, rows));
    for (PetscInt e = 0; e < d; e++) {
      const PetscReal r = rows[e] - p->B[l][e];

      *loss += p->scale * p->H[l][e] * r * r / 2;
      rows[e] = p->H[l][e] * r;
      if (p->noise > 0) rows[e] += TestNumber(l, e, p->worker, 100 + step) / (PetscReal)p->noise;
      rows[e] *= p->scale;
    }
    PetscCall(TestSetGradient(p, l, rows));
    PetscCall(PetscFree(rows));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Polar factors are exact, so that D can be told from a wrong one */
static inline PetscErrorCode TestSetNorm(TestProblem *p, PetscInt l)
{
  MuonLMO   lmo;
  MuonPolar polar;
  PetscBool spectral;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetLMO(p->layer[l], &lmo));
  PetscCall(MuonLMOSetType(lmo, p->shape[l].norm));
  PetscCall(PetscStrcmp(p->shape[l].norm, MUONLMOSPECTRAL, &spectral));
  if (spectral == PETSC_TRUE) {
    PetscCall(MuonLMOGetPolar(lmo, &polar));
    PetscCall(MuonPolarSetType(polar, MUONPOLARSVD));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* worker < 0: each rank its own gradients */
static inline PetscErrorCode TestCreate(MPI_Comm comm, MuonType type, PetscInt n, const TestShape shape[], PetscInt worker, TestProblem *p)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(p, sizeof(*p)));
  p->n     = n;
  p->shape = shape;
  p->scale = p->shards = 1;
  PetscCallMPI(MPI_Comm_rank(comm, &p->rank));
  PetscCallMPI(MPI_Comm_size(comm, &p->size));
  p->worker = worker < 0 ? p->rank : (PetscMPIInt)worker;
  PetscCall(MuonCreate(comm, &p->muon));
  PetscCall(MuonSetType(p->muon, type));
  for (PetscInt l = 0; l < n; l++) {
    const PetscInt d = TestEntries(&shape[l]);

    if (shape[l].vec == PETSC_TRUE) {
      PetscCall(VecCreateSeq(PETSC_COMM_SELF, shape[l].m, &p->w[l]));
      PetscCall(MuonAddVecLayer(p->muon, shape[l].name, p->w[l], &p->layer[l]));
    } else {
      PetscCall(MatCreate(PETSC_COMM_SELF, &p->W[l]));
      PetscCall(MatSetSizes(p->W[l], shape[l].m, shape[l].n, shape[l].m, shape[l].n));
      PetscCall(MatSetType(p->W[l], MATSEQDENSE));
      PetscCall(MatDenseSetLDA(p->W[l], shape[l].m + shape[l].gap));
      PetscCall(MatSeqDenseSetPreallocation(p->W[l], NULL));
      PetscCall(MuonAddLayer(p->muon, shape[l].name, p->W[l], &p->layer[l]));
    }
    PetscCall(TestSetNorm(p, l));
    PetscCall(PetscMalloc2(d, &p->H[l], d, &p->B[l]));
    for (PetscInt e = 0; e < d; e++) {
      p->H[l][e] = (PetscReal)(1 + (e + p->worker) % 3) / 2;
      p->B[l][e] = 2 * TestNumber(l, e, p->worker, 7);
    }
  }
  PetscCall(TestStart(p));
  PetscCall(MuonSetObjectiveAndGradient(p->muon, TestObjective, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode TestDestroy(TestProblem *p)
{
  PetscFunctionBegin;
  PetscCall(MuonDestroy(&p->muon));
  for (PetscInt l = 0; l < p->n; l++) {
    PetscCall(MatDestroy(&p->W[l]));
    PetscCall(VecDestroy(&p->w[l]));
    PetscCall(PetscFree2(p->H[l], p->B[l]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  MuonCompressorType   up, down;
  MuonCompressorValues upvalues, downvalues;
  PetscReal            ratio;
} TestCompression;

/* Uncompressed messages are native unless single is asked for */
static inline PetscErrorCode TestSetValues(MuonCompressor c, MuonCompressorValues values)
{
  PetscBool identity;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)c, MUONCOMPRESSORIDENTITY, &identity));
  if (!identity) PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_values", MuonCompressorValuesTypes[values]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode TestCompress(TestProblem *p, const TestCompression *compression)
{
  MuonCompressor c;

  PetscFunctionBegin;
  PetscCall(MuonGetLayerCompressors(p->muon, NULL, &c, NULL));
  PetscCall(MuonCompressorSetType(c, compression->up));
  PetscCall(TestSetValues(c, compression->upvalues));
  PetscCall(MuonCompressorSetRatio(c, compression->ratio));
  PetscCall(MuonGetLayerCompressors(p->muon, NULL, NULL, &c));
  PetscCall(MuonCompressorSetType(c, compression->down));
  PetscCall(TestSetValues(c, compression->downvalues));
  PetscCall(MuonCompressorSetRatio(c, compression->ratio));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Server weights by rows; found is PETSC_FALSE off the servers */
static inline PetscErrorCode TestGetServerWeights(TestProblem *p, PetscInt l, PetscReal rows[], PetscBool *found)
{
  Mat X;

  PetscFunctionBegin;
  PetscCall(TestGetLayerServerWeights(p->layer[l], &X));
  *found = X != NULL ? PETSC_TRUE : PETSC_FALSE;
  if (X != NULL) PetscCall(TestMatGetRows(X, rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All weights behind one another; data has room for TestTotal() */
static inline PetscInt TestTotal(const TestProblem *p)
{
  PetscInt total = 0;

  for (PetscInt l = 0; l < p->n; l++) total += TestEntries(&p->shape[l]);
  return total;
}

static inline PetscErrorCode TestGetAllWeights(TestProblem *p, PetscReal data[])
{
  PetscFunctionBegin;
  for (PetscInt l = 0; l < p->n; l++) {
    PetscCall(TestGetWeights(p, l, data));
    data += TestEntries(&p->shape[l]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the weights of the two problems are not the same: the largest difference of two entries */
static inline PetscErrorCode TestCompareWeights(TestProblem *p, TestProblem *q, PetscReal *difference)
{
  const PetscInt d = TestTotal(p);
  PetscReal     *a, *b;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(d, &a, d, &b));
  PetscCall(TestGetAllWeights(p, a));
  PetscCall(TestGetAllWeights(q, b));
  *difference = 0;
  for (PetscInt e = 0; e < d; e++) *difference = PetscMax(*difference, PetscAbsReal(a[e] - b[e]));
  PetscCall(PetscFree2(a, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* T2: the workers' weights have the same bits on every rank */
static inline PetscErrorCode TestCheckReplicas(TestProblem *p, const char what[], PetscInt step)
{
  const PetscInt d    = TestTotal(p);
  MPI_Comm       comm = PetscObjectComm((PetscObject)p->muon);
  PetscReal     *mine, *first;
  int            same, all;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(d, &mine, d, &first));
  PetscCall(TestGetAllWeights(p, mine));
  PetscCall(PetscArraycpy(first, mine, d));
  PetscCallMPI(MPI_Bcast(first, (PetscMPIInt)d, MPIU_REAL, 0, comm));
  same = memcmp(mine, first, (size_t)d * sizeof(*mine)) == 0;
  PetscCallMPI(MPI_Allreduce(&same, &all, 1, MPI_INT, MPI_MIN, comm));
  PetscCheck(all == 1, comm, PETSC_ERR_PLIB, "%s: the ranks have different weights after step %" PetscInt_FMT, what, step);
  PetscCall(PetscFree2(mine, first));
  PetscFunctionReturn(PETSC_SUCCESS);
}
