/*
   One worker's step of EF21 as calls of kernels alone, in the order of the driver: Top-K both ways, five steps of Newton and Schulz on matrices of
   one shape at a time; layers that AdamW moves send all they have. tests/device_order.c compares the order.
*/
#pragma once

#include <petscmuon/private/muonkernelsdevice.h>
#include "kernels/dense/muonpolarkernels.h"
#include "kernels/dense/muonpolarreal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS 5

/* As src/polar/muonpolarbatch.c has them */
#define BATCH       64
#define BATCH_BYTES ((size_t)1 << 30)

static const MuonDevice *device;

static inline void *Allocated(size_t bytes)
{
  void *data = device->allocate(bytes);

  if (data == NULL) {
    fprintf(stderr, "no room for %zu bytes\n", bytes);
    exit(1);
  }
  return data;
}

/* Numbers in [-1, 1), the same each time */
static inline void *Uniform(const MuonKernelReal *real, size_t count, uint64_t state)
{
  char *host  = (char *)malloc(count * real->size + 1);
  void *there = Allocated(count * real->size);

  for (size_t k = 0; k < count; k++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    if (real->size == sizeof(float)) ((float *)host)[k] = (float)((double)(state >> 11) / 4503599627370496.0 - 1);
    else ((double *)host)[k] = (double)(state >> 11) / 4503599627370496.0 - 1;
  }
  device->copy(count * real->size, host, there);
  free(host);
  return there;
}

/* Scratch that only grows */
static inline void *Room(int which, size_t bytes)
{
  static void  *room[4];
  static size_t has[4];

  if (bytes > has[which]) {
    device->release(room[which]);
    room[which] = Allocated(bytes);
    has[which]  = bytes;
  }
  return room[which];
}

/* norm 2^exponent, as kernels find it */
typedef struct {
  double norm;
  int    exponent;
} StepNorm;

static inline StepNorm NormOf(size_t m, size_t n, MuonPrecision from, const void *G)
{
  StepNorm of;

  of.norm = MuonKernelsGet(from, MUON_DEVICE)->Norm(m, n, G, m, &of.exponent);
  return of;
}

/* The polynomials of kj for count panels of m x n, one behind the other in Y; returns Y or Z, in which the result is */
static inline char *NewtonSchulzSteps(const MuonKernelReal *real, size_t m, size_t n, size_t count, void *Y, void *Z, void *A, void *B)
{
  const MuonKernelPolynomial *p    = MuonKernelPolynomialFind("kj");
  const int                   left = m < n;
  const size_t                s = left ? m : n, l = left ? n : m, ld = left ? s : l;

  for (int k = 0; k < STEPS; k++) {
    double c[3];
    void  *swap = Y;

    MuonKernelPolynomialRow(p, k, c);
    real->gram(left, s, l, count, 1, Y, ld, 0, A);
    real->mirror(s, count, A);
    device->copy(count * s * s * real->size, A, B);
    real->gram(1, s, s, count, c[2], A, s, c[1], B);
    if (real->unit > 1.0 / 512.0) {
      device->copy(count * m * n * real->size, Y, Z);
      real->multiply(left, s, l, count, 1, B, real->hold(s, count, B), Z, ld, c[0], Y, ld);
      continue;
    }
    real->shift(s, count, c[0], B);
    real->multiply(left, s, l, count, 1, B, NULL, Y, ld, 0, Z, ld);
    Y = Z;
    Z = swap;
  }
  return (char *)Y;
}

/* Q = the factors of several matrices G of one shape (m x n, by columns), as MUONPOLARNEWTONSCHULZ has them */
static inline void NewtonSchulzBatch(const MuonKernelReal *real, size_t m, size_t n, size_t count, const StepNorm of[], MuonPrecision from, const void *G[], MuonPrecision to, void *Q[])
{
  const size_t s = m < n ? m : n, bytes = m * n * real->size, squares = count * s * s * real->size;
  char        *Y = (char *)Room(0, count * bytes), *Z = (char *)Room(1, count * bytes), *A = (char *)Room(2, squares), *B = (char *)Room(3, squares);

  for (size_t k = 0; k < count; k++) real->load(m, n, from, G[k], m, of[k].norm, of[k].exponent, Y + k * bytes, m);
  Y = NewtonSchulzSteps(real, m, n, count, Y, Z, A, B);
  for (size_t k = 0; k < count; k++) real->store(m, n, 1, Y + k * bytes, m, to, Q[k], m);
}

static inline void NewtonSchulz(const MuonKernelReal *real, size_t m, size_t n, MuonPrecision from, const void *G, MuonPrecision to, void *Q)
{
  const StepNorm of = NormOf(m, n, from, G);

  NewtonSchulzBatch(real, m, n, 1, &of, from, &G, to, &Q);
}

/* What a worker that is the server too keeps of a layer, and its messages on the host */
typedef struct {
  size_t         m, n, count;
  void          *W, *G, *M, *T, *Gj, *Gs, *sum, *X, *Xnew;
  void          *mean, *square, *newmean, *newsquare; /* where AdamW moves it, else NULL */
  unsigned char *bits, *down;
  float         *values, *kept;
  StepNorm       norm;
  int            done;
} StepLayer;

static inline void StepLayerCreate(size_t m, size_t n, double ratio, int adamw, StepLayer *layer)
{
  const MuonKernelReal *single = MuonKernelRealOfDevice("single");
  const size_t          d      = m * n;
  void                **all[] = {&layer->sum, &layer->X, &layer->Xnew, &layer->M, &layer->T, &layer->Gj, &layer->Gs}, **moments[] = {&layer->mean, &layer->square, &layer->newmean, &layer->newsquare};

  memset(layer, 0, sizeof(*layer));
  layer->m     = m;
  layer->n     = n;
  layer->count = (size_t)(ratio * (double)d) + 1;
  layer->W     = Uniform(single, d, 1);
  layer->G     = Uniform(single, d, 2);
  for (size_t k = 0; k < 7; k++) {
    void **array = k < 3 || !adamw ? all[k] : moments[k - 3];

    *array = Allocated(d * sizeof(float));
    device->zero(d * sizeof(float), *array);
  }
  device->copy(d * sizeof(float), layer->W, layer->X);
  layer->bits   = (unsigned char *)device->pin(2 * ((d + 63) / 64 * 8));
  layer->down   = layer->bits + (d + 63) / 64 * 8;
  layer->values = (float *)device->pin(2 * (layer->count + d) * sizeof(float));
  layer->kept   = layer->values + layer->count + d;
}

static inline void StepLayerDestroy(StepLayer *layer)
{
  void *all[] = {layer->W, layer->G, layer->M, layer->T, layer->Gj, layer->Gs, layer->sum, layer->X, layer->Xnew, layer->mean, layer->square, layer->newmean, layer->newsquare};

  for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++) device->release(all[k]);
  device->unpin(layer->bits);
  device->unpin(layer->values);
}

/* The entries of a message that is on the host */
static inline void Scatter(const StepLayer *x, const unsigned char *bits, const float *values, int add, void *Y)
{
  float *there = (float *)Room(0, x->count * sizeof(float));

  device->copy(x->count * sizeof(float), values, there);
  MuonKernelsGet(MUON_SINGLE, MUON_DEVICE)->Scatter(x->m, x->n, bits, 0, x->m * x->n, there, add, 1, Y, x->m);
}

/* All entries as they are, in the strips of the driver: to a message, or from it */
static inline void StepWhole(const StepLayer *x, int encode, void *array, float *message)
{
  const MuonKernels *kernels = MuonKernelsGet(MUON_SINGLE, MUON_DEVICE);
  const size_t       d = x->m * x->n, strip = (size_t)1 << 20;

  for (size_t first = 0; first < d; first += strip) {
    const size_t some = d - first < strip ? d - first : strip;

    if (encode) kernels->Residual(x->m, x->n, array, x->m, NULL, 0, first, some, message + first);
    else kernels->Spread(x->m, x->n, first, some, message + first, 0, 1, array, x->m);
  }
}

static inline void StepSwap(void **a, void **b)
{
  void *swap = *a;

  *a = *b;
  *b = swap;
}

static inline size_t Least(size_t a, size_t b)
{
  return a < b ? a : b;
}

/*
   Whether x comes before y: by decreasing shorter sides, what is not wide first, and by decreasing longer
   sides. Without padding, which shapes of one model hardly need
*/
static inline int Before(const StepLayer *x, const StepLayer *y)
{
  const size_t sx = Least(x->m, x->n), sy = Least(y->m, y->n);

  if (sx != sy) return sx > sy;
  if ((x->m < x->n) != (y->m < y->n)) return x->m >= x->n;
  return x->m + x->n > y->m + y->n;
}

/* Xnew of all layers becomes the factor of their sums, batch by batch, once all norms are known */
static inline void Factors(const MuonKernelReal *real, int layers, StepLayer *layer)
{
  const void **G  = (const void **)calloc((size_t)layers, sizeof(*G));
  void       **Q  = (void **)calloc((size_t)layers, sizeof(*Q));
  StepNorm    *of = (StepNorm *)calloc((size_t)layers, sizeof(*of));

  for (StepLayer *x = layer; x < layer + layers; x++) {
    x->done = x->mean != NULL;
    if (!x->done) x->norm = NormOf(x->m, x->n, MUON_SINGLE, x->sum);
  }
  for (;;) {
    const StepLayer *first = NULL;
    size_t           count = 0, s, most, size;

    for (StepLayer *x = layer; x < layer + layers; x++) {
      if (!x->done && (first == NULL || Before(x, first))) first = x;
    }
    if (first == NULL) break;
    for (StepLayer *x = layer; x < layer + layers; x++) {
      if (x->done || x->m != first->m || x->n != first->n) continue;
      x->done    = 1;
      of[count]  = x->norm;
      G[count]   = x->sum;
      Q[count++] = x->Xnew;
    }
    s    = Least(first->m, first->n);
    most = Least(BATCH, BATCH_BYTES / (2 * (first->m * first->n + s * s) * real->size));
    if (most == 0) most = 1;
    for (size_t at = 0; at < count; at += size) {
      const size_t batches = (count - at + most - 1) / most;

      size = (count - at + batches - 1) / batches;
      NewtonSchulzBatch(real, first->m, first->n, size, of + at, MUON_SINGLE, G + at, MUON_SINGLE, Q + at);
    }
  }
  free(of);
  free(Q);
  free(G);
}

/* The steps of all layers in the order of MuonLayerStepMany(): AdamW's as they come, and then the others together */
static inline void StepMany(const MuonKernelReal *real, int layers, StepLayer *layer)
{
  const MuonKernels *kernels = MuonKernelsGet(MUON_SINGLE, MUON_DEVICE);

  for (StepLayer *x = layer; x < layer + layers; x++) {
    if (x->mean != NULL) (void)kernels->AdamW(x->m, x->n, x->sum, x->m, 0.9, 0.95, 1e-8, 0, 0.1, 0.05, 0.02, 1, x->mean, x->square, x->X, x->m, x->newmean, x->newsquare, x->Xnew, x->m);
  }
  Factors(real, layers, layer);
  for (StepLayer *x = layer; x < layer + layers; x++) {
    if (x->mean == NULL) (void)kernels->Dot(x->m, x->n, x->sum, x->m, x->Xnew, x->m);
  }
  for (StepLayer *x = layer; x < layer + layers; x++) {
    if (x->mean == NULL) (void)kernels->Momentum(x->m, x->n, 1, x->X, x->m, -0.02, x->Xnew, x->m, x->Xnew, x->m);
  }
}

static inline void Step(const MuonKernelReal *real, int layers, StepLayer *layer)
{
  const MuonKernels *kernels = MuonKernelsGet(MUON_SINGLE, MUON_DEVICE);

  for (StepLayer *x = layer; x < layer + layers; x++) {
    if (x->mean == NULL) (void)kernels->Momentum(x->m, x->n, 0.9, x->M, x->m, 0.1, x->G, x->m, x->T, x->m);
  }
  for (StepLayer *x = layer; x < layer + layers; x++) {
    if (x->mean != NULL) StepWhole(x, 1, x->G, x->values);
    else (void)kernels->Top(x->m, x->n, x->T, x->m, x->Gj, x->m, x->count, x->bits, x->values, NULL);
  }
  for (StepLayer *x = layer; x < layer + layers; x++) {
    if (x->mean != NULL) {
      StepWhole(x, 0, x->sum, x->values);
      continue;
    }
    device->zero(x->m * x->n * sizeof(float), x->sum);
    Scatter(x, x->bits, x->values, 0, x->sum);
    kernels->Axpby(x->m, x->n, 1, x->Gs, x->m, 1, x->sum, x->m);
  }
  StepMany(real, layers, layer);
  for (StepLayer *x = layer; x < layer + layers; x++) {
    if (x->mean != NULL) StepWhole(x, 1, x->Xnew, x->kept);
    else (void)kernels->Top(x->m, x->n, x->Xnew, x->m, x->W, x->m, x->count, x->down, x->kept, NULL);
  }
  for (StepLayer *x = layer; x < layer + layers; x++) {
    StepSwap(&x->X, &x->Xnew);
    if (x->mean != NULL) {
      StepWhole(x, 0, x->W, x->kept);
      StepSwap(&x->mean, &x->newmean);
      StepSwap(&x->square, &x->newsquare);
      continue;
    }
    Scatter(x, x->bits, x->values, 1, x->Gj);
    Scatter(x, x->down, x->kept, 1, x->W);
    StepSwap(&x->Gs, &x->sum);
    StepSwap(&x->M, &x->T);
  }
}
