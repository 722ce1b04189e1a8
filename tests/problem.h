/*
   The problem that tests of whole steps train: layers of a table in any storage, over any ranks of a worker,
   with gradients that every rank knows of every other one. What it is made of are options, -problem_...:

     layers NAME,...          rows of ProblemShapes, the first six by default; NAME:MxN is a matrix of so many rows and columns, spectral;
                              with f or d behind it an array of floats or doubles
     storage mat|rows|columns|both|transposed|slices   as the table says, or arrays by rows, by columns, the one and the other, or of the
                              transposes by columns, or ranges of one vector of the worker, of which its second rank has nothing
     single                   arrays are floats
     complex X                arrays are complex, those of the real problem times exp(i X), and matrices where PETSc's scalars are
     device                   arrays are in the memory of a device, and so are matrices, those of a worker and of the caller too
     apart                    blocks of a layer, by the keys of the optimizer, are layers of their own: arrays of the same memory
     alone                    so are the rows of a rank, for workers that have rows of the same number
     ranks S,...              ranks of a worker of each layer, again from the first where there are more layers, 0 for all
     whole                    each rank of a worker has a whole gradient, of which the worker's is the mean
     mean K                   one rank has the mean of the gradients of K ranks (0: of all), and is a worker with one rank of each
                              other K ranks; what is made of nodes, or of rows, is compared with it
     same                     all workers have the data of the first
     weighted                 the worker of rank r weighs 1 + r
     scale X                  of all gradients
     noise N                  each step adds numbers between -1/N and 1/N to the gradient, 0 for none
     optimum X                B is X times as large
     curvature 0              gradients do not depend on the weights, so that sums of them are exact
     ready PATTERN            in what order MuonLayerGradientReady() is called
     routine 0                gradients are there before the step, and no routine is called
     prefix P                 of the optimizer's keys
     setup 0                  the caller, or the first step, sets the optimizer up
     breaks ROUTINE           objective, after half of its layers, monitor, validation, poststep or csv, a file on a full disk, fails once, in break_step (1),
     break_rank R             on this rank or, -1, on all. The step is an error on all; it was taken, unless the objective failed
     own                      gradients of matrices and vectors are the caller's, too. No step changes a bit of those, nor their states
     half S                   the routine leaves out the second half of each gradient in step S, once: a debugging library sees that
     unseen                   a third of the entries has no gradient
     missing N                layers have none in some steps, at some ranks or at all (1), or one of zeros (2)
     zeros                    whole rows, columns and the fifth layer have none, and weights begin as -0
     bad S                    the last rank has a NaN in step S, the first time it is taken, in all layers,
     bad_layer L              or in this one
     bad_sign N               instead of NaN, an infinity of this sign
     edit S                   before step S all weights are halved, and stay so where the learning rate is below 1e-20
     told                     and the optimizer is told
     mismatch S               step S is tried first with the weights of a layer, bad_layer or the second, doubled on the last rank; it is refused, or heals
                              that where -muon_check_weights false
     mismatch_entry           instead, one entry is another, which is found within 64 steps
     overflow S               step S is tried first with a rate and a decay that no number holds, or the scale or decay of bad_layer; it is refused
     huge S                   in step S, and with the other sign in the next one, gradients are so large that no message holds their difference
     bad_loss                 instead, the loss of the first rank is no number
     bad_zero                 instead, its worker has a zero there
     fails S                  the routine fails in step S, once, behind other gradients that were ready; none is, where S is
                              even, when it is called again

   A program may give a formula of its own for the entries of gradients, in form, and weights by ProblemSetRows(). Else the gradient of a worker is that of 1/2 sum H (W - B)^2, with H among 1/2, 1, 3/2 and B, W and the noise multiples
   of 2^-11.
*/
#pragma once

#include <petscmuon.h>
#include <petscmuon/private/muonkernelsdevice.h>
#include "far_mat.h"
#include <petscmuon/private/muonimpl.h>
#include <petscmuon/private/muonlmoimpl.h>
#include <petscmuon/private/petscmuonimpl.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "fails.h"
#include "number_common.h"

typedef enum {
  PROBLEM_MAT,
  PROBLEM_VEC,
  PROBLEM_ARRAY, /* arrays by rows, of PetscReal, floats or doubles */
  PROBLEM_ARRAY_SINGLE,
  PROBLEM_ARRAY_DOUBLE
} ProblemKind;

typedef struct {
  const char *name, *norm, *polar, *type;
  PetscInt    m, n, gap; /* gap: room behind each column of the matrix, or line of the array */
  ProblemKind kind;
} ProblemShape;

/*
   Square, tall, wide, one row, a column that is a vector, one matrix that is moved entry by entry; a second one of
   the same shape; what moves smoothly with its gradient; polar factors by an iteration; norms of singular values, blocks
   that straddle ranks, one entry, fewer rows than ranks, other types, other precisions and orders; more entries than
   a block of a device's sums has; 8 x 40 or its transpose, three times, with 36 in place of 40
*/
static const ProblemShape ProblemShapes[] = {
  {"square", MUONLMOSPECTRAL, MUONPOLARSVD, MUONLAYERLMO, 6, 6, 0, PROBLEM_MAT},
  {"tall", MUONLMOSPECTRAL, MUONPOLARSVD, MUONLAYERLMO, 9, 4, 3, PROBLEM_MAT},
  {"wide", MUONLMOSPECTRAL, MUONPOLARSVD, MUONLAYERLMO, 4, 9, 0, PROBLEM_MAT},
  {"row", MUONLMOMAX, NULL, MUONLAYERLMO, 1, 7, 2, PROBLEM_MAT},
  {"gain", MUONLMOFROBENIUS, NULL, MUONLAYERLMO, 11, 1, 0, PROBLEM_VEC},
  {"embed", MUONLMOMAX, NULL, MUONLAYERLMO, 10, 3, 0, PROBLEM_MAT},
  {"twin", MUONLMOSPECTRAL, MUONPOLARSVD, MUONLAYERLMO, 9, 4, 0, PROBLEM_MAT},
  {"mat", MUONLMOFROBENIUS, NULL, MUONLAYERLMO, 6, 5, 1, PROBLEM_MAT},
  {"polar", MUONLMOSPECTRAL, MUONPOLARQDWH, MUONLAYERLMO, 4, 9, 0, PROBLEM_MAT},
  {"nuclear", MUONLMONUCLEAR, NULL, MUONLAYERLMO, 5, 6, 0, PROBLEM_MAT},
  {"blocks", MUONLMOSPECTRAL, MUONPOLARSVD, MUONLAYERLMO, 9, 4, 0, PROBLEM_MAT},
  {"entry", MUONLMOMAX, NULL, MUONLAYERLMO, 1, 1, 0, PROBLEM_MAT},
  {"column", MUONLMOCOLUMN, NULL, MUONLAYERLMO, 2, 3, 0, PROBLEM_MAT},
  {"bias", MUONLMOFROBENIUS, NULL, MUONLAYERADAMW, 8, 1, 0, PROBLEM_VEC},
  {"head", MUONLMOROW, NULL, MUONLAYERLMO, 6, 5, 0, PROBLEM_ARRAY_SINGLE},
  {"tail", MUONLMOSPECTRAL, MUONPOLARSVD, MUONLAYERLMO, 6, 4, 0, PROBLEM_ARRAY_DOUBLE},
  {"plain", MUONLMOMAX, NULL, MUONLAYERSGD, 4, 4, 0, PROBLEM_MAT},
  {"one", MUONLMOMAX, NULL, MUONLAYERLMO, 7, 1, 2, PROBLEM_MAT},
  {"slab", MUONLMOSPECTRAL, MUONPOLARSVD, MUONLAYERLMO, 4, 6, 0, PROBLEM_ARRAY},
  {"grid", MUONLMOSPECTRAL, MUONPOLARSVD, MUONLAYERLMO, 12, 6, 2, PROBLEM_MAT},
  {"heads", MUONLMOSPECTRAL, MUONPOLARSVD, MUONLAYERLMO, 8, 10, 0, PROBLEM_MAT},
  {"table", MUONLMOMAX, NULL, MUONLAYERADAMW, 6, 4, 3, PROBLEM_MAT},
  {"grand", MUONLMOFROBENIUS, NULL, MUONLAYERLMO, 70, 33, 2, PROBLEM_ARRAY_DOUBLE},
  {"broad", MUONLMOFROBENIUS, NULL, MUONLAYERLMO, 21, 64, 0, PROBLEM_ARRAY_SINGLE},
  {"shift", MUONLMOFROBENIUS, NULL, MUONLAYERADAMW, 29, 1, 0, PROBLEM_ARRAY_SINGLE},
  {"a", MUONLMOSPECTRAL, NULL, MUONLAYERLMO, 40, 8, 3, PROBLEM_ARRAY_SINGLE},
  {"b", MUONLMOSPECTRAL, NULL, MUONLAYERLMO, 8, 40, 0, PROBLEM_ARRAY_SINGLE},
  {"c", MUONLMOSPECTRAL, NULL, MUONLAYERLMO, 8, 40, 2, PROBLEM_ARRAY_SINGLE},
  {"d", MUONLMOSPECTRAL, NULL, MUONLAYERLMO, 40, 8, 0, PROBLEM_ARRAY_SINGLE},
  {"e", MUONLMOSPECTRAL, NULL, MUONLAYERLMO, 8, 40, 0, PROBLEM_ARRAY_SINGLE},
  {"qkv", MUONLMOSPECTRAL, NULL, MUONLAYERLMO, 24, 40, 1, PROBLEM_ARRAY_SINGLE},
  {"short", MUONLMOSPECTRAL, NULL, MUONLAYERLMO, 36, 8, 0, PROBLEM_ARRAY_DOUBLE},
};

typedef enum {
  PROBLEM_STORAGE_MAT,
  PROBLEM_STORAGE_ROWS,
  PROBLEM_STORAGE_COLUMNS,
  PROBLEM_STORAGE_BOTH,
  PROBLEM_STORAGE_TRANSPOSED,
  PROBLEM_STORAGE_SLICES
} ProblemStorage;
static const char *const ProblemStorages[] = {"mat", "rows", "columns", "both", "transposed", "slices", "ProblemStorage", "PROBLEM_STORAGE_", NULL};

typedef enum {
  PROBLEM_READY_NONE,
  PROBLEM_READY_BACKWARD, /* the last layer first */
  PROBLEM_READY_REVERSED, /* on the last rank in the other order */
  PROBLEM_READY_MISSING,  /* the last rank leaves out a layer */
  PROBLEM_READY_TWICE,    /* the last rank says it twice of a layer in the first step, which is an error on all; then backward */
  PROBLEM_READY_ODD       /* of every other layer */
} ProblemReady;
static const char *const ProblemReadys[] = {"none", "backward", "reversed", "missing", "twice", "odd", "ProblemReady", "PROBLEM_READY_", NULL};

typedef enum {
  PROBLEM_BREAKS_NONE,
  PROBLEM_BREAKS_OBJECTIVE,
  PROBLEM_BREAKS_MONITOR,
  PROBLEM_BREAKS_VALIDATION,
  PROBLEM_BREAKS_POSTSTEP,
  PROBLEM_BREAKS_CSV
} ProblemBreaks;
static const char *const ProblemBreakNames[] = {"none", "objective", "monitor", "validation", "poststep", "csv", "ProblemBreaks", "PROBLEM_BREAKS_", NULL};

enum {
  PROBLEM_LAYERS = PETSC_STATIC_ARRAY_LENGTH(ProblemShapes),
  PROBLEM_BLOCKS = 6,    /* of a layer, at most */
  PROBLEM_FILL   = 12345 /* in gaps, where it must stay */
};

/* Entries of a layer that are here: weights or a gradient */
typedef struct {
  void         *data;
  PetscDataType type;
  PetscBool     rows; /* entries of a row, or of a column of the transpose, lie side by side */
  PetscInt      first, count, ld;
  PetscInt      from, room; /* of a slice: where data begins in it, and the entries of data; else 0 */
  const double *phase;      /* of complex numbers: what real ones are multiplied by; else NULL */
} ProblemArray;

typedef struct {
  const ProblemShape *shape;
  ProblemShape        given; /* of a shape that is not in the table */
  char                name[16];
  MuonLayer           layer, block[PROBLEM_BLOCKS];
  PetscInt            nblocks; /* that are layers of their own, else 0 */
  Mat                 W;
  Vec                 w;
  ProblemArray        weights;
  Mat                 G; /* gradients of the caller's, */
  Vec                 gradient;
  char               *image; /* and what one was when it was given to a step */
  size_t              imaged;
  PetscObjectState    state;
  void               *own, *g; /* memory of an array, and of its gradient where that is the caller's */
  void               *far[2];  /* both in the memory of a device, where own and g are their copies here */
  size_t              bytes;
  MPI_Comm            comm; /* of a worker's ranks, where they are several */
  PetscMPIInt         ranks, position;
} ProblemLayer;

typedef struct Problem {
  Muon             muon;
  MPI_Comm         comm, across; /* of all whose weights there are, and of the optimizer */
  PetscInt         n;
  ProblemLayer     layer[PROBLEM_LAYERS];
  Vec              x, g;        /* of slices */
  PetscObjectState filled;      /* that of g behind the routine */
  PetscMPIInt      rank, size;  /* of all ranks */
  PetscMPIInt      first, mean; /* ranks whose gradients are averaged here */
  ProblemStorage   storage;
  ProblemReady     ready;
  ProblemBreaks    breaks, breaking; /* breaking: on this rank, now */
  PetscInt         breakstep, breakrank;
  PetscBool        single, device, apart, alone, zero, badloss, zeros, whole, same, weighted, curvature, routine, unseen, told, entry, own;
  double           phase[2], side;               /* side: how far weights came off the line of the phase */
  PetscReal        scale, optimum, angle, shake; /* shake: by how many roundings gradients are changed, by numbers of this seed */
  PetscInt         noise, seed, bad, badlayer, badsign, huge, fails, overflow, edit, mismatch, half, missing;
  PetscInt         products; /* calls of a device in the last step, */
  double           fetched;  /* and bytes that came from it */
  double (*form)(const struct Problem *, PetscInt layer, PetscInt i, PetscInt j, PetscInt step, double w);
  const void *data; /* of the form */
} Problem;

/* Options of one number each: an integer, a truth or a real */
static const struct {
  const char *name;
  char        kind;
  size_t      at;
} ProblemNumbers[] = {{"break_step", 'i', offsetof(Problem, breakstep)},
                      {"break_rank", 'i', offsetof(Problem, breakrank)},
                      {"noise", 'i', offsetof(Problem, noise)},
                      {"bad", 'i', offsetof(Problem, bad)},
                      {"bad_sign", 'i', offsetof(Problem, badsign)},
                      {"edit", 'i', offsetof(Problem, edit)},
                      {"half", 'i', offsetof(Problem, half)},
                      {"missing", 'i', offsetof(Problem, missing)},
                      {"mismatch", 'i', offsetof(Problem, mismatch)},
                      {"overflow", 'i', offsetof(Problem, overflow)},
                      {"huge", 'i', offsetof(Problem, huge)},
                      {"fails", 'i', offsetof(Problem, fails)},
                      {"bad_layer", 'i', offsetof(Problem, badlayer)},
                      {"own", 'b', offsetof(Problem, own)},
                      {"told", 'b', offsetof(Problem, told)},
                      {"mismatch_entry", 'b', offsetof(Problem, entry)},
                      {"bad_loss", 'b', offsetof(Problem, badloss)},
                      {"bad_zero", 'b', offsetof(Problem, zero)},
                      {"apart", 'b', offsetof(Problem, apart)},
                      {"alone", 'b', offsetof(Problem, alone)},
                      {"single", 'b', offsetof(Problem, single)},
                      {"device", 'b', offsetof(Problem, device)},
                      {"whole", 'b', offsetof(Problem, whole)},
                      {"same", 'b', offsetof(Problem, same)},
                      {"weighted", 'b', offsetof(Problem, weighted)},
                      {"curvature", 'b', offsetof(Problem, curvature)},
                      {"zeros", 'b', offsetof(Problem, zeros)},
                      {"unseen", 'b', offsetof(Problem, unseen)},
                      {"routine", 'b', offsetof(Problem, routine)},
                      {"scale", 'r', offsetof(Problem, scale)},
                      {"optimum", 'r', offsetof(Problem, optimum)},
                      {"complex", 'r', offsetof(Problem, angle)}};

/* A multiple of 2^-10 in [-1, 1) */
static inline double ProblemNumber(PetscInt a, PetscInt b, PetscInt c, PetscInt d)
{
  return (double)(TestHash((uint32_t)a, (uint32_t)b, (uint32_t)c, (uint32_t)d) % 2048) / 1024 - 1;
}

static inline PetscInt ProblemAt(const ProblemArray *a, PetscInt i, PetscInt j)
{
  return (a->rows ? i * a->ld + j : i + j * a->ld) - a->from;
}

/* Of a slice a row may be on several ranks */
static inline PetscBool ProblemHas(const ProblemArray *a, PetscInt i, PetscInt j)
{
  const PetscInt at = ProblemAt(a, i, j);

  return i >= 0 && i < a->count && at >= 0 && (a->room == 0 || at < a->room) ? PETSC_TRUE : PETSC_FALSE;
}

/* What multiplies the phase, and what stands across it */
static inline double ProblemGetBoth(const ProblemArray *a, PetscInt i, PetscInt j, double *across)
{
  const PetscInt at = ProblemAt(a, i, j), parts = a->phase != NULL ? 2 : 1;
  double         x[2] = {0, 0};

  for (PetscInt k = 0; k < parts; k++) {
    if (a->type == PETSC_FLOAT) x[k] = (double)((const float *)a->data)[parts * at + k];
    else if (a->type == PETSC_DOUBLE) x[k] = ((const double *)a->data)[parts * at + k];
    else x[k] = (double)(k == 0 ? PetscRealPart(((const PetscScalar *)a->data)[at]) : PetscImaginaryPart(((const PetscScalar *)a->data)[at]));
  }
  *across = a->phase != NULL ? x[1] * a->phase[0] - x[0] * a->phase[1] : 0;
  return a->phase != NULL ? x[0] * a->phase[0] + x[1] * a->phase[1] : x[0];
}

static inline double ProblemGet(const ProblemArray *a, PetscInt i, PetscInt j)
{
  double across;

  return ProblemGetBoth(a, i, j, &across);
}

/* A NaN in one part is enough */
static inline void ProblemPut(const ProblemArray *a, PetscInt i, PetscInt j, double x)
{
  const PetscInt at = ProblemAt(a, i, j), parts = a->phase != NULL ? 2 : 1;

  for (PetscInt k = 0; k < parts; k++) {
    const double part = a->phase == NULL ? x : k == 0 && isnan(x) ? 1 : x * a->phase[k];

    if (a->type == PETSC_FLOAT) ((float *)a->data)[parts * at + k] = (float)part;
    else if (a->type == PETSC_DOUBLE) ((double *)a->data)[parts * at + k] = part;
    else if (k == 0) ((PetscScalar *)a->data)[at] = (PetscScalar)part;
    else ((PetscScalar *)a->data)[at] += (PetscScalar)part * PETSC_i;
  }
}

/* Machine epsilon of what moves the layer */
static inline double ProblemEpsilon(const ProblemLayer *l)
{
  return l->weights.type == PETSC_FLOAT ? (double)FLT_EPSILON : (double)PETSC_MACHINE_EPSILON;
}

static inline PetscErrorCode ProblemOfMat(Mat A, ProblemArray *a)
{
  PetscScalar *data;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(A, &a->ld));
  PetscCall(MatDenseGetArray(A, &data));
  a->data = data;
  PetscCall(MatDenseRestoreArray(A, &data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ProblemOfVec(Vec v, ProblemArray *a)
{
  PetscScalar *data;

  PetscFunctionBegin;
  PetscCall(VecGetArray(v, &data));
  a->data = data;
  PetscCall(VecRestoreArray(v, &data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the gradient of a layer goes; far: and from there to a device */
static inline PetscErrorCode ProblemGetGradient(Problem *p, ProblemLayer *l, ProblemArray *a, void **far)
{
  MuonLayerStorage storage;

  PetscFunctionBegin;
  *far = NULL;
  *a   = l->weights;
  if (p->whole) {
    a->first = 0;
    a->count = l->shape->m;
    a->ld    = a->count;
  }
  PetscCall(MuonLayerGetStorage(l->layer, &storage));
  if (p->g != NULL) PetscCall(ProblemOfVec(p->g, a));
  else if (storage == MUON_LAYER_MAT) {
    Mat G, here;

    PetscCall(MuonLayerGetGradient(l->layer, &G));
    PetscCall(ProblemOfMat(G, a));
    if (p->device) {
      PetscCall(MatDenseGetLocalMatrix(G, &here));
      PetscCall(PetscFree(l->g));
      PetscCall(PetscCalloc1(FarMatOf(here)->bytes, (char **)&l->g));
      PetscCall(PetscObjectStateIncrease((PetscObject)G));
      a->data = l->g;
      *far    = FarMatOf(here)->data;
    }
  } else if (storage == MUON_LAYER_VEC) {
    Vec g;

    PetscCall(MuonLayerGetGradientVec(l->layer, &g));
    PetscCall(ProblemOfVec(g, a));
  } else {
    MuonLayerArray array;

    PetscCall(MuonLayerGetGradientArray(l->layer, &array));
    PetscCheck(p->storage == PROBLEM_STORAGE_TRANSPOSED || p->apart || p->alone || (array.rows == a->count && array.first == a->first), PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "%s: a gradient of rows %" PetscInt_FMT " and %" PetscInt_FMT " more, expected %" PetscInt_FMT " and %" PetscInt_FMT, l->shape->name, array.first, array.rows, a->first, a->count);
    a->data = l->g != NULL ? l->g : array.w;
    a->ld   = array.ld;
    if (p->device) *far = l->far[1] != NULL ? l->far[1] : array.w;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What steps made of the weights is on the device, and what is here goes there */
static inline void ProblemFetch(const Problem *p)
{
  for (PetscInt l = 0; l < p->n && p->device; l++) MuonDeviceGet()->copy(p->layer[l].bytes, p->layer[l].far[0], p->layer[l].own);
}

static inline double ProblemWeight(const Problem *p, PetscMPIInt rank)
{
  return p->weighted ? 1.0 + rank : 1.0;
}

static inline double ProblemBad(const Problem *p)
{
  return p->badsign == 0 ? (double)NAN : p->badsign * HUGE_VAL;
}

/* The gradient of a worker at an entry whose weight is w, or the mean of the gradients of those that are averaged here */
static inline double ProblemFormula(const Problem *p, PetscInt number, PetscInt i, PetscInt j, PetscInt step, double w)
{
  const ProblemLayer *l = &p->layer[number];
  const PetscInt      e = i * l->shape->n + j;
  double              g = 0, sum = 0;

  if (p->huge >= 0 && (step == p->huge || step == p->huge + 1)) return (step == p->huge ? 0.7 : -0.7) * (double)PETSC_MAX_REAL;
  if (p->zeros && (number == 4 || i % 3 == 1 || j % 4 == 2)) return 0;
  for (PetscMPIInt r = p->first; r < p->first + p->mean; r++) {
    const PetscInt worker = p->same ? 0 : r / l->ranks;
    double         one    = p->curvature ? (double)(1 + (e + worker) % 3) / 2 * (w - 2 * ProblemNumber(number, e, worker, 7) * (double)p->optimum) : 0;

    if (p->noise > 0) one += ProblemNumber(number, e, worker, 100 + step % 1000000000) / (double)p->noise;
    if (r % l->ranks != 0 && r > p->first) continue; /* of the same worker */
    g += ProblemWeight(p, r) * one;
    sum += ProblemWeight(p, r);
  }
  return g / sum * (double)p->scale * (1 + (double)p->shake * ProblemEpsilon(l) * ProblemNumber(number, e, step, 1000 + p->seed));
}

static inline double ProblemGradient(const Problem *p, PetscInt number, PetscInt i, PetscInt j, PetscInt step, double w)
{
  return p->form != NULL ? (*p->form)(p, number, i, j, step, w) : ProblemFormula(p, number, i, j, step, w);
}

/* What is the caller's is kept before a step, and must be the same behind it */
static inline PetscErrorCode ProblemLookAtGradient(const Problem *p, ProblemLayer *l, PetscBool after)
{
  PetscObject      object = l->G != NULL ? (PetscObject)l->G : (PetscObject)l->gradient;
  ProblemArray     a      = l->weights;
  PetscObjectState state  = 0;

  PetscFunctionBegin;
  if (p->device || (object == NULL && l->g == NULL) || (after && l->image == NULL)) PetscFunctionReturn(PETSC_SUCCESS);
  if (object != NULL && after) PetscCall(PetscObjectStateGet(object, &state));
  PetscCheck(after == PETSC_FALSE || state == l->state, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A step changed the state of the caller's gradient of %s", l->shape->name);
  if (object != NULL) PetscCall(l->G != NULL ? ProblemOfMat(l->G, &a) : ProblemOfVec(l->gradient, &a));
  else a.data = l->g;
  if (after) {
    PetscCheck(memcmp(l->image, a.data, l->imaged) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A step changed the caller's gradient of %s", l->shape->name);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  l->imaged = object == NULL ? l->bytes : (size_t)(a.ld * (l->G != NULL ? l->shape->n : 1)) * sizeof(PetscScalar);
  if (l->image == NULL) PetscCall(PetscMalloc1(l->imaged, &l->image));
  PetscCall(PetscMemcpy(l->image, a.data, l->imaged));
  if (object != NULL) PetscCall(PetscObjectStateGet(object, &l->state)); /* which the access has changed */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of a step, into the memory of all layers */
static inline PetscErrorCode ProblemSetGradients(Problem *p, PetscInt step)
{
  const PetscBool last = p->rank == p->size - 1 ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  ProblemFetch(p);
  for (PetscInt k = 0; k < p->n; k++) {
    const PetscInt      number = p->ready == PROBLEM_READY_REVERSED && last ? k : p->n - 1 - k;
    ProblemLayer *const l      = &p->layer[number];
    const PetscBool     mean   = p->whole && l->ranks > 1 && p->mean == 1 ? PETSC_TRUE : PETSC_FALSE;
    const PetscInt      none   = p->missing != 0 && ((step + number + p->rank) % 3 == 0 || (step + number) % 4 == 0) ? p->missing : 0;
    ProblemArray        g;
    void               *far;

    PetscCall(ProblemGetGradient(p, l, &g, &far));
    for (PetscInt i = 0; i < g.count; i++) {
      const PetscInt row = g.first + i, at = row - l->weights.first;

      for (PetscInt j = 0; j < l->shape->n; j++) {
        double x = ProblemHas(&l->weights, at, j) ? ProblemGradient(p, number, row, j, step, ProblemGet(&l->weights, at, j)) : 0;

        /* The mean of the ranks of a worker: only who has the row knows its weights, and what is added sums to zero */
        if (mean) x = x * l->ranks + (2 * l->position - l->ranks + 1) * ProblemNumber(number, row, j, step);
        if (step == p->bad && p->zero && (p->badlayer < 0 || p->badlayer == number) && row == 0 && j == 0 && p->rank / l->ranks == (p->size - 1) / l->ranks) x = 0;
        if (step == p->half && 2 * (i * l->shape->n + j) >= g.count * l->shape->n) continue;
        if (ProblemHas(&g, i, j)) ProblemPut(&g, i, j, none == 2 || (p->unseen && (row + j) % 3 == 0) ? 0 : x);
      }
    }
    if (step == p->bad && last && p->zero == PETSC_FALSE && p->badloss == PETSC_FALSE && (p->badlayer < 0 || p->badlayer == number) && g.count > 0) ProblemPut(&g, 0, 0, ProblemBad(p));
    if (far != NULL) MuonDeviceGet()->copy((size_t)(g.ld * (g.rows ? g.count : l->shape->n)) * (g.type == PETSC_FLOAT ? sizeof(float) : sizeof(double)), g.data, far);
    PetscCall(ProblemLookAtGradient(p, l, PETSC_FALSE));
    if (none == 1) PetscCall(MuonLayerSetGradient(l->layer, NULL));
    PetscCall(MuonProgress(p->muon));
    if (p->breaking == PROBLEM_BREAKS_OBJECTIVE && k == p->n / 2) PetscFunctionReturn(PETSC_ERR_USER);
    if (p->ready == PROBLEM_READY_NONE || (p->ready == PROBLEM_READY_MISSING && last && number == 2) || (p->ready == PROBLEM_READY_ODD && number % 2 == 0)) continue;
    PetscCall(MuonLayerGradientReady(l->layer));
    if (p->ready == PROBLEM_READY_TWICE && last && number == 1) PetscCall(MuonLayerGradientReady(l->layer));
  }
  if (p->g != NULL) PetscCall(PetscObjectStateGet((PetscObject)p->g, &p->filled));
  if (step == p->bad) p->bad = -1;
  if (step == p->half) p->half = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The loss is a number that tells ranks and steps apart */
static inline PetscErrorCode ProblemObjective(Muon muon, PetscReal *loss, void *ctx)
{
  Problem  *p   = (Problem *)ctx;
  double    all = 0, sum = 0;
  PetscBool bad;
  PetscInt  step;

  PetscFunctionBegin;
  PetscCall(MuonGetStepNumber(muon, &step));
  bad = p->badloss && step == p->bad && p->rank == 0 ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(ProblemSetGradients(p, step == p->fails ? step + 50 : step));
  if (step == p->fails) PetscFunctionReturn(PETSC_ERR_USER);
  for (PetscMPIInt r = p->first; r < p->first + p->mean; r++) {
    all += ProblemWeight(p, r) * (double)(step + 1 + r);
    sum += ProblemWeight(p, r);
  }
  *loss = bad ? (PetscReal)ProblemBad(p) : (PetscReal)(all / sum);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A step changes x, its state and what PETSc knows of its norm, and leaves g as it is; the layers are what was added */
static inline PetscErrorCode ProblemCheckSlices(Problem *p, PetscObjectState before)
{
  PetscObjectState   state;
  PetscReal          norm, sum = 0;
  PetscInt           m, n, at = 0, start, size;
  PetscBool          rows;
  const PetscScalar *x;

  PetscFunctionBegin;
  PetscCall(PetscObjectStateGet((PetscObject)p->x, &state));
  PetscCheck(state > before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The state of x is the same after a step");
  PetscCall(PetscObjectStateGet((PetscObject)p->g, &state));
  PetscCheck(state == p->filled, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The gradient was written to after the routine");
  PetscCall(VecGetLocalSize(p->x, &n));
  PetscCall(VecGetArrayRead(p->x, &x));
  for (PetscInt e = 0; e < n; e++) sum += PetscRealPart(PetscConj(x[e]) * x[e]);
  PetscCall(VecRestoreArrayRead(p->x, &x));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)p->x)));
  PetscCall(VecNorm(p->x, NORM_2, &norm));
  PetscCall(VecGetSize(p->x, &size));
  PetscCheck(PetscAbsReal(norm * norm - sum) <= (PetscReal)size * PETSC_MACHINE_EPSILON * sum, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The norm of x is %g, expected %g", (double)norm, (double)PetscSqrtReal(sum));
  for (PetscInt l = 0; l < p->n; at += m * n, l++) {
    const ProblemLayer *layer = &p->layer[l];
    Vec                 v, g;

    PetscCall(MuonLayerGetSize(layer->layer, &m, &n));
    PetscCall(MuonLayerGetVecRange(layer->layer, &start, &rows));
    PetscCall(MuonLayerGetWeightsVec(layer->layer, &v));
    PetscCall(MuonLayerGetGradientVec(layer->layer, &g));
    PetscCheck(m == layer->shape->m && n == layer->shape->n && start == at && (rows == layer->weights.rows || n == 1) && v == p->x && g == p->g, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %s is another range", layer->shape->name);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Matrices and vectors of PETSc's know it; those whose rows are spread, and arrays, do not */
static inline PetscErrorCode ProblemScale(ProblemLayer *l, double by)
{
  const ProblemArray *a = &l->weights;
  Mat                 here;

  PetscFunctionBegin;
  if (l->W != NULL) {
    PetscCall(MatDenseGetLocalMatrix(l->W, &here));
    PetscCall(MatScale(here, (PetscScalar)by));
  } else if (l->w != NULL) PetscCall(VecScale(l->w, (PetscScalar)by));
  else {
    for (PetscInt e = 0; e < a->count * l->shape->n; e++) {
      if (ProblemHas(a, e / l->shape->n, e % l->shape->n)) ProblemPut(a, e / l->shape->n, e % l->shape->n, by * ProblemGet(a, e / l->shape->n, e % l->shape->n));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ProblemGatherWeights(Problem *p, MPI_Comm comm, double w[]);
static inline PetscErrorCode ProblemCheckRows(const Problem *p, PetscInt number, const char what[], const double expected[], double tolerance, const char name[]);

/* On all ranks, before the step and after it: a step of next to no length leaves weights where they were set; servers have those that they were told of */
static inline PetscErrorCode ProblemStays(Problem *p, PetscBool after, double **set)
{
  PetscReal rate;
  int       d = 0;
  double   *now;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < p->n; k++) d += (int)(p->layer[k].shape->m * p->layer[k].shape->n);
  PetscCall(PetscMalloc1(d, &now));
  PetscCall(ProblemGatherWeights(p, p->comm, now));
  d = 0;
  for (PetscInt k = 0; k < p->n; d += (int)(p->layer[k].shape->m * p->layer[k].shape->n), k++) {
    if (p->told && after == PETSC_FALSE) PetscCall(ProblemCheckRows(p, k, "served", now + d, 0, "Weights that were set"));
  }
  PetscCall(MuonGetLearningRate(p->muon, &rate));
  for (int e = 0; e < d && after && rate < (PetscReal)1e-20; e++) PetscCheck(fabs(now[e] - (*set)[e]) <= 100 * (double)rate, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Weight %d was set to %g, and is %g after a step of no length", e, (*set)[e], now[e]);
  if (after) {
    PetscCall(PetscFree(*set));
    PetscCall(PetscFree(now));
  } else *set = now;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The weights of the last rank are others: the step, or one of the next ones, is refused on all and names the layer */
static inline PetscErrorCode ProblemMismatch(Problem *p)
{
  ProblemLayer *const l      = &p->layer[p->badlayer < 0 ? 1 : p->badlayer];
  const PetscBool     last   = p->rank == p->size - 1 ? PETSC_TRUE : PETSC_FALSE;
  MuonConvergedReason reason = MUON_CONVERGED_ITERATING;
  MuonLayer           layer;
  char                checks[8];

  PetscFunctionBegin;
  PetscCall(MuonGetParameter(p->muon, "muon_check_weights", checks, sizeof(checks)));
  if (last && p->entry == PETSC_FALSE) PetscCall(ProblemScale(l, 2));
  if (last && p->entry) ProblemPut(&l->weights, l->weights.count / 2, 0, 1 + ProblemGet(&l->weights, l->weights.count / 2, 0));
  for (PetscInt k = 0; k < (p->entry ? 64 : 1) && reason == MUON_CONVERGED_ITERATING; k++) {
    if (p->routine == PETSC_FALSE) PetscCall(ProblemSetGradients(p, p->mismatch));
    PetscCall(MuonStep(p->muon));
    PetscCall(MuonGetConvergedReason(p->muon, &reason));
  }
  PetscCall(MuonGetMismatchedLayer(p->muon, &layer));
  PetscCheck(reason == (checks[0] == 't' ? MUON_DIVERGED_WEIGHTS : MUON_CONVERGED_ITERATING) && layer == (checks[0] == 't' ? l->layer : NULL), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s where the last rank has other weights, or another layer is named",
             MuonConvergedReasons[reason]);
  if (last && p->entry == PETSC_FALSE && checks[0] == 't') PetscCall(ProblemScale(l, 0.5));
  if (last && p->entry) ProblemPut(&l->weights, l->weights.count / 2, 0, ProblemGet(&l->weights, l->weights.count / 2, 0) - 1);
  p->mismatch = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ProblemMonitor(Muon muon, PetscInt step, PetscReal loss, void *ctx)
{
  PetscFunctionBegin;
  PetscFunctionReturn(((Problem *)ctx)->breaking == PROBLEM_BREAKS_MONITOR ? PETSC_ERR_USER : PETSC_SUCCESS);
}

static inline PetscErrorCode ProblemValidation(Muon muon, PetscReal *value, void *ctx)
{
  PetscFunctionBegin;
  *value = 1;
  PetscFunctionReturn(((Problem *)ctx)->breaking == PROBLEM_BREAKS_VALIDATION ? PETSC_ERR_USER : PETSC_SUCCESS);
}

static inline PetscErrorCode ProblemPostStep(Muon muon, PetscInt step, void *ctx)
{
  PetscFunctionBegin;
  PetscFunctionReturn(((Problem *)ctx)->breaking == PROBLEM_BREAKS_POSTSTEP ? PETSC_ERR_USER : PETSC_SUCCESS);
}

/* The step whose routine fails; taken: whether it is one */
static inline PetscErrorCode ProblemBreak(Problem *p, PetscBool *taken)
{
  PetscInt            before, after;
  MuonConvergedReason reason;

  PetscFunctionBegin;
  *taken       = p->breaks == PROBLEM_BREAKS_OBJECTIVE ? PETSC_FALSE : PETSC_TRUE;
  p->breakstep = -1;
  PetscCall(MuonGetStepNumber(p->muon, &before));
  if (p->breaks == PROBLEM_BREAKS_CSV) PetscCall(MuonMonitorSetCSV(p->muon, "/dev/full"));
  if (p->breakrank < 0 || p->breakrank == p->rank) p->breaking = p->breaks;
  Fails(MuonStep(p->muon), p->breaks == PROBLEM_BREAKS_CSV ? PETSC_ERR_FILE_WRITE : PETSC_ERR_USER, "");
  p->breaking = PROBLEM_BREAKS_NONE;
  if (p->breaks == PROBLEM_BREAKS_CSV) PetscCall(MuonMonitorCancel(p->muon)); /* what could not be written was said */
  PetscCall(MuonGetStepNumber(p->muon, &after));
  PetscCall(MuonGetConvergedReason(p->muon, &reason));
  PetscCheck(after == before + (*taken ? 1 : 0) && reason == MUON_CONVERGED_ITERATING, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt_FMT " after step %" PetscInt_FMT ", in which %s failed: %s", after, before, ProblemBreakNames[p->breaks],
             MuonConvergedReasons[reason]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What becomes of finite gradients is not finite, in all layers or in one */
static inline PetscErrorCode ProblemOverflow(Problem *p)
{
  const PetscReal     large  = PETSC_MAX_REAL / 16;
  const char *const   keys[] = {"muon_learning_rate", "muon_adamw_learning_rate", "muon_weight_decay", "muon_adamw_weight_decay"};
  char                before[4][64];
  MuonLayer           layer = p->badlayer < 0 ? NULL : p->layer[p->badlayer].layer;
  MuonLayerType       type  = MUONLAYERADAMW;
  MuonConvergedReason reason;

  PetscFunctionBegin;
  if (layer != NULL) PetscCall(MuonLayerGetType(layer, &type));
  for (int k = 0; k < 4; k++) PetscCall(MuonGetParameter(p->muon, keys[k], before[k], sizeof(before[k])));
  PetscCall(MuonSetLearningRate(p->muon, large));
  PetscCall(MuonSetAdamW(p->muon, large, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, strcmp(type, MUONLAYERADAMW) == 0 ? large : PETSC_CURRENT));
  if (layer == NULL) PetscCall(MuonSetWeightDecay(p->muon, large, MUON_WEIGHT_DECAY_CURRENT));
  else PetscCall(MuonLayerSetScale(layer, large));
  PetscCall(MuonStep(p->muon));
  PetscCall(MuonGetConvergedReason(p->muon, &reason));
  PetscCheck(reason == MUON_DIVERGED_NANORINF, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A rate and a decay or scale of %g give %s", (double)large, MuonConvergedReasons[reason]);
  for (int k = 0; k < 4; k++) PetscCall(MuonSetParameter(p->muon, keys[k], strcmp(before[k], "auto") == 0 ? "-1" : before[k]));
  if (layer != NULL) PetscCall(MuonLayerSetScale(layer, 1));
  p->overflow = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscInt ProblemProducts;
static void (*ProblemAround)(PetscBool after) = NULL; /* called on both sides of a step */

static void ProblemTold(const char kernel[])
{
  if (strcmp(kernel, "Products") == 0) ProblemProducts++;
}

static inline PetscErrorCode ProblemStep(Problem *p)
{
  double           moved[2] = {0, 0}, copies[2], *set = NULL;
  PetscObjectState before = 0, written[2] = {0, 1};
  PetscReal        norm;
  PetscInt         step;
  PetscBool        taken;

  PetscFunctionBegin;
  PetscCall(MuonGetStepNumber(p->muon, &step));
  if (p->x != NULL) {
    PetscCall(VecNorm(p->x, NORM_2, &norm));
    PetscCall(PetscObjectStateGet((PetscObject)p->x, &before));
  }
  if (p->routine == PETSC_FALSE) PetscCall(ProblemSetGradients(p, step));
  if (p->ready == PROBLEM_READY_TWICE) {
    Fails(MuonStep(p->muon), PETSC_ERR_ORDER, "");
    p->ready = PROBLEM_READY_BACKWARD;
    if (p->routine == PETSC_FALSE) PetscCall(ProblemSetGradients(p, step));
  }
  if (p->breaks != PROBLEM_BREAKS_NONE && p->breakstep == step) {
    PetscCall(ProblemBreak(p, &taken));
    if (taken) PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (p->fails == step) {
    Fails(MuonStep(p->muon), PETSC_ERR_USER, "");
    if (step % 2 == 0) p->ready = PROBLEM_READY_NONE;
    p->fails = -1;
  }
  if (p->overflow == step) PetscCall(ProblemOverflow(p));
  if (p->mismatch == step) PetscCall(ProblemMismatch(p));
  for (PetscInt k = 0; k < p->n && p->edit == step; k++) PetscCall(ProblemScale(&p->layer[k], 0.5));
  if (p->edit == step && p->told) PetscCall(MuonWeightsChanged(p->muon));
  if (p->edit == step) PetscCall(ProblemStays(p, PETSC_FALSE, &set));
  ProblemProducts = 0;
  if (p->device) {
    MuonDeviceGet()->moved(moved, copies);
    MuonDeviceGet()->trace(ProblemTold);
  }
  p->fetched = moved[1];
  if (ProblemAround != NULL) (*ProblemAround)(PETSC_FALSE);
  if (p->device && p->layer[0].W != NULL) PetscCall(PetscObjectStateGet((PetscObject)p->layer[0].W, &written[0]));
  PetscCall(MuonStep(p->muon));
  if (p->device && p->layer[0].W != NULL) PetscCall(PetscObjectStateGet((PetscObject)p->layer[0].W, &written[1]));
  PetscCheck(written[1] > written[0], PETSC_COMM_SELF, PETSC_ERR_PLIB, "A step wrote to a matrix whose state is the same");
  if (ProblemAround != NULL) (*ProblemAround)(PETSC_TRUE);
  PetscCheck(FarTaken == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " arrays of matrices did not come back", FarTaken);
  for (PetscInt k = 0; k < p->n; k++) PetscCall(ProblemLookAtGradient(p, &p->layer[k], PETSC_TRUE));
  if (p->edit == step) PetscCall(ProblemStays(p, PETSC_TRUE, &set));
  if (p->device) {
    MuonDeviceGet()->trace(NULL);
    MuonDeviceGet()->moved(moved, copies);
  }
  p->fetched  = moved[1] - p->fetched;
  p->products = ProblemProducts;
  if (p->x != NULL) PetscCall(ProblemCheckSlices(p, before));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sizes of rows or columns of blocks, by the key of the optimizer; one is all where there is none */
static inline PetscErrorCode ProblemGetBlocks(const char name[], const char side[], PetscInt all, PetscInt *n, PetscInt sizes[PROBLEM_BLOCKS])
{
  PetscBool given;
  char      key[64];

  PetscFunctionBegin;
  *n = PROBLEM_BLOCKS;
  PetscCall(PetscSNPrintf(key, sizeof(key), "-muon_layer_%s_blocks_%s", name, side));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, key, sizes, n, &given));
  if (given == PETSC_FALSE) {
    *n       = 1;
    sizes[0] = all;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ProblemAddBlocks(Problem *p, ProblemLayer *l, const MuonLayerArray *whole)
{
  const ProblemShape *s    = l->shape;
  const size_t        size = whole->type == PETSC_FLOAT ? sizeof(float) : sizeof(double);
  PetscInt            m, n, rows[PROBLEM_BLOCKS], columns[PROBLEM_BLOCKS];

  PetscFunctionBegin;
  PetscCall(ProblemGetBlocks(s->name, "rows", s->m, &m, rows));
  PetscCall(ProblemGetBlocks(s->name, "columns", s->n, &n, columns));
  for (PetscInt i = 0, row = 0; i < m; row += rows[i++]) {
    for (PetscInt j = 0, column = 0; j < n; column += columns[j++]) {
      const size_t   at    = (size_t)(l->weights.rows ? row * whole->ld + column : row + column * whole->ld) * size;
      MuonLayerArray array = *whole;
      char           name[32];

      PetscCall(PetscSNPrintf(name, sizeof(name), m * n > 1 ? "%s.%d" : "%s", s->name, (int)l->nblocks));
      array.M = rows[i];
      array.N = columns[j];
      array.w = (char *)whole->w + at;
      array.g = (const char *)whole->g + at;
      PetscCall(MuonAddLayerArray(p->muon, name, &array, &l->block[l->nblocks++]));
    }
  }
  l->layer = l->block[0];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Hashes and random numbers of blocks, whose names no layer can have */
static inline PetscErrorCode ProblemNameBlocks(Problem *p)
{
  char     name[32];
  MuonType type;
  PetscInt seed = 0;

  PetscFunctionBegin;
  PetscCall(MuonGetType(p->muon, &type));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-muon_seed", &seed, NULL));
  for (PetscInt l = 0; l < p->n && strcmp(type, MUONEF21) == 0; l++) {
    for (PetscInt k = 0; k < p->layer[l].nblocks && p->layer[l].nblocks > 1; k++) {
      MuonCompressor up, down;
      MuonLMO        lmo;

      PetscCall(PetscSNPrintf(name, sizeof(name), "%s[%d]", p->layer[l].shape->name, (int)k));
      PetscCall(MuonGetLayerCompressors(p->muon, p->layer[l].block[k], &up, &down));
      PetscCall(MuonCompressorSetStream(up, (PetscInt64)seed, name, p->rank, 0));
      PetscCall(MuonCompressorSetStream(down, (PetscInt64)seed, name, 0, 1));
      PetscCall(MuonLayerGetLMO(p->layer[l].block[k], &lmo));
      PetscCall(MuonNameHash_Private(name, &lmo->layer));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ProblemAddArray(Problem *p, ProblemLayer *l, MPI_Comm comm, PetscBool owngradient)
{
  const ProblemShape *s          = l->shape;
  const PetscBool     transposed = p->storage == PROBLEM_STORAGE_TRANSPOSED ? PETSC_TRUE : PETSC_FALSE;
  PetscMPIInt         rank, size;
  MuonLayerArray      array;
  size_t              bytes;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  /* All rows but the last rank's are few: a layout that is not PETSc's */
  l->weights.first = PetscMin((PetscInt)rank, s->m);
  l->weights.count = (rank == size - 1 ? s->m : PetscMin((PetscInt)rank + 1, s->m)) - l->weights.first;
  l->weights.rows  = p->storage == PROBLEM_STORAGE_COLUMNS || (p->storage == PROBLEM_STORAGE_BOTH && (l - p->layer) % 2) ? PETSC_FALSE : PETSC_TRUE;
  l->weights.type  = p->single || s->kind == PROBLEM_ARRAY_SINGLE ? PETSC_FLOAT : s->kind == PROBLEM_ARRAY ? PETSC_REAL : PETSC_DOUBLE;
  l->weights.ld    = s->gap + (l->weights.rows ? s->n : l->weights.count);
  l->weights.phase = p->angle < 0 ? NULL : p->phase;
  bytes            = (size_t)(l->weights.ld * PetscMax(1, l->weights.rows ? l->weights.count : s->n)) * 2 * sizeof(double);
  l->bytes         = bytes;
  PetscCall(PetscCalloc1(bytes, (char **)&l->own));
  if (owngradient || p->device || p->apart) PetscCall(PetscCalloc1(bytes, (char **)&l->g));
  if (p->device) l->far[0] = MuonDeviceGet()->allocate(bytes);
  if (p->device && owngradient) l->far[1] = MuonDeviceGet()->allocate(bytes);
  l->weights.data = l->own;
  PetscCall(MuonLayerArrayInitialize(&array));
  array.comm     = comm;
  array.type     = l->weights.type;
  array.field    = p->angle < 0 ? MUON_FIELD_REAL : MUON_FIELD_COMPLEX;
  array.rowmajor = l->weights.rows && transposed == PETSC_FALSE ? PETSC_TRUE : PETSC_FALSE;
  array.M        = transposed ? s->n : s->m;
  array.N        = transposed ? s->m : s->n;
  if (p->alone) {
    array.comm = PETSC_COMM_SELF;
    array.M    = l->weights.count;
  } else if (size > 1) {
    array.first = l->weights.first;
    array.rows  = l->weights.count;
  }
  array.ld = l->weights.ld;
  array.w  = p->device ? l->far[0] : l->own;
  array.g  = p->device ? l->far[1] : l->g;
  /* Of one layer the pointers tell where it is */
  if (p->device && l != p->layer) array.memtype = PETSC_MEMTYPE_DEVICE;
  if (p->apart) PetscCall(ProblemAddBlocks(p, l, &array));
  else PetscCall(MuonAddLayerArray(p->muon, s->name, &array, &l->layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ProblemAddLayer(Problem *p, ProblemLayer *l, MPI_Comm comm, PetscBool owngradient)
{
  const ProblemShape *s = l->shape;
  PetscMPIInt         size;
  PetscInt            end;
  Mat                 here;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  l->weights.type  = PETSC_SCALAR;
  l->weights.phase = p->angle < 0 ? NULL : p->phase;
  if (p->storage != PROBLEM_STORAGE_MAT || s->kind >= PROBLEM_ARRAY) PetscCall(ProblemAddArray(p, l, comm, owngradient));
  else if (s->kind == PROBLEM_MAT) {
    PetscCall(MatCreate(comm, &l->W));
    PetscCall(MatSetSizes(l->W, PETSC_DECIDE, PETSC_DECIDE, s->m, s->n));
    PetscCall(MatSetType(l->W, MATDENSE));
    if (size == 1) PetscCall(MatDenseSetLDA(l->W, s->m + s->gap));
    PetscCall(MatSeqDenseSetPreallocation(l->W, NULL));
    PetscCall(MatMPIDenseSetPreallocation(l->W, NULL));
    PetscCall(MatGetOwnershipRange(l->W, &l->weights.first, &end));
    PetscCall(ProblemOfMat(l->W, &l->weights));
    l->weights.count = end - l->weights.first;
    if (p->device) {
      PetscCall(MatDenseGetLocalMatrix(l->W, &here));
      PetscCall(FarMatMake(here));
      l->bytes  = FarMatOf(here)->bytes;
      l->far[0] = FarMatOf(here)->data;
      PetscCall(PetscCalloc1(l->bytes, (char **)&l->own));
      l->weights.data = l->own;
    }
    PetscCall(MuonAddLayer(p->muon, s->name, l->W, &l->layer));
    if (p->own) {
      PetscCall(MatCreate(p->whole ? PETSC_COMM_SELF : comm, &l->G));
      PetscCall(MatSetSizes(l->G, PETSC_DECIDE, PETSC_DECIDE, s->m, s->n));
      PetscCall(MatSetType(l->G, MATDENSE));
      if (size == 1 || p->whole) PetscCall(MatDenseSetLDA(l->G, s->m + 2));
      PetscCall(MatSetUp(l->G));
      PetscCall(MatDenseGetLocalMatrix(l->G, &here));
      if (p->device) PetscCall(FarMatMake(here));
      PetscCall(MuonLayerSetGradient(l->layer, l->G));
    }
  } else {
    PetscCall(VecCreate(comm, &l->w));
    PetscCall(VecSetSizes(l->w, PETSC_DECIDE, s->m));
    PetscCall(VecSetType(l->w, VECSTANDARD));
    PetscCall(VecGetOwnershipRange(l->w, &l->weights.first, &end));
    PetscCall(ProblemOfVec(l->w, &l->weights));
    l->weights.ld = l->weights.count = end - l->weights.first;
    PetscCall(MuonAddVecLayer(p->muon, s->name, l->w, &l->layer));
    if (p->own) {
      PetscCall(VecDuplicate(l->w, &l->gradient));
      PetscCall(MuonLayerSetGradientVec(l->layer, l->gradient));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All layers on the same ranks, arrays by rows */
static inline PetscErrorCode ProblemAddSlices(Problem *p, MPI_Comm comm)
{
  const char *name[PROBLEM_LAYERS];
  PetscInt    m[PROBLEM_LAYERS], n[PROBLEM_LAYERS], all = 0, few, here, first;
  PetscBool   rows[PROBLEM_LAYERS];
  PetscMPIInt rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  for (PetscInt l = 0; l < p->n; l++) {
    name[l] = p->layer[l].shape->name;
    m[l]    = p->layer[l].shape->m;
    n[l]    = p->layer[l].shape->n;
    rows[l] = p->layer[l].shape->kind >= PROBLEM_ARRAY ? PETSC_TRUE : PETSC_FALSE;
    all += m[l] * n[l];
  }
  few  = all / 4 + 1; /* of the ranks behind the second; cuts rows and columns */
  here = size == 1 ? all : rank == 1 ? 0 : rank == 0 ? all - (size - 2) * few : few;
  PetscCall(VecCreate(comm, &p->x));
  PetscCall(VecSetSizes(p->x, here, all));
  PetscCall(VecSetType(p->x, VECSTANDARD));
  PetscCall(VecDuplicate(p->x, &p->g));
  PetscCall(MuonAddVecLayers(p->muon, p->x, p->g, p->n, name, m, n, rows));
  PetscCall(VecGetOwnershipRange(p->x, &first, NULL));
  for (PetscInt l = 0; l < p->n; l++) {
    ProblemArray *w = &p->layer[l].weights;

    PetscCall(MuonGetLayerByName(p->muon, name[l], &p->layer[l].layer));
    PetscCall(ProblemOfVec(p->x, w));
    w->type  = PETSC_SCALAR;
    w->phase = p->angle < 0 ? NULL : p->phase;
    w->rows  = rows[l];
    w->count = m[l];
    w->ld    = rows[l] ? n[l] : m[l];
    w->from  = here == 0 ? PETSC_MAX_INT / 2 : first;
    w->room  = here;
    first -= m[l] * n[l];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Norms and types; options go before the table */
static inline PetscErrorCode ProblemSetNorm(const Problem *p, const ProblemShape *s, MuonLayer layer)
{
  PetscBool norm, polar;
  MuonLMO   lmo;
  MuonPolar factor;

  PetscFunctionBegin;
  PetscCall(PetscOptionsHasName(NULL, NULL, "-lmo_type", &norm));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-lmo_polar_type", &polar));
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  if (norm == PETSC_FALSE) PetscCall(MuonLMOSetType(lmo, s->norm));
  if (norm == PETSC_FALSE && polar == PETSC_FALSE && s->polar != NULL) {
    PetscCall(MuonLMOGetPolar(lmo, &factor));
    PetscCall(MuonPolarSetType(factor, s->polar));
  }
  if (strcmp(s->type, MUONLAYERLMO) != 0) PetscCall(MuonLayerSetType(layer, s->type));
  if (p->whole) PetscCall(MuonLayerSetWholeGradient(layer, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The weights that every rank begins with */
static inline PetscErrorCode ProblemStart(Problem *p, PetscInt number)
{
  ProblemLayer *const l    = &p->layer[number];
  const ProblemArray *a    = &l->weights;
  const PetscInt      line = a->rows ? l->shape->n : a->count, lines = a->rows ? a->count : l->shape->n;
  const ProblemArray  all = {a->data, a->type, PETSC_TRUE, 0, lines, a->ld, 0, 0, a->phase};

  PetscFunctionBegin;
  for (PetscInt k = 0; k < lines; k++) {
    for (PetscInt e = line; e < a->ld; e++) ProblemPut(&all, k, e, PROBLEM_FILL);
  }
  for (PetscInt i = 0; i < a->count; i++) {
    for (PetscInt j = 0; j < l->shape->n; j++) {
      if (ProblemHas(a, i, j)) ProblemPut(a, i, j, p->zeros && ((a->first + i) * l->shape->n + j) % 3 == 0 ? -0.0 : ProblemNumber(number, (a->first + i) * l->shape->n + j, 0, 1));
    }
  }
  if (p->device) MuonDeviceGet()->copy(l->bytes, l->own, l->far[0]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The gaps are the caller's */
static inline PetscErrorCode ProblemCheckGaps(const Problem *p)
{
  PetscFunctionBegin;
  ProblemFetch(p);
  for (PetscInt number = 0; number < p->n; number++) {
    const ProblemArray *a = &p->layer[number].weights;
    const PetscInt      n = p->layer[number].shape->n, line = a->rows ? n : a->count, lines = a->rows ? a->count : n;
    const ProblemArray  all = {a->data, a->type, PETSC_TRUE, 0, lines, a->ld, 0, 0, a->phase};

    for (PetscInt k = 0; k < lines; k++) {
      for (PetscInt e = line; e < a->ld; e++) PetscCheck(fabs(ProblemGet(&all, k, e) - PROBLEM_FILL) <= (a->phase != NULL ? 1e-3 : 0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "A gap of layer %s was written to", p->layer[number].shape->name);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ProblemReadOptions(Problem *p, PetscMPIInt ranks[PROBLEM_LAYERS])
{
  char     *names[PROBLEM_LAYERS];
  PetscInt  values[PROBLEM_LAYERS], count = PROBLEM_LAYERS, mean = 1, storage = 0, ready = 0, breaks = 0;
  PetscBool given;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-problem_layers", names, &count, &given));
  p->n = given ? count : 6;
  for (PetscInt l = 0; l < p->n; l++) {
    PetscInt k = given ? 0 : l;

    while (given && k < PROBLEM_LAYERS && strcmp(ProblemShapes[k].name, names[l]) != 0) k++;
    if (k < PROBLEM_LAYERS) p->layer[l].shape = &ProblemShapes[k];
    else {
      int  m = 0, n = 0;
      char kind = 0;

      PetscCheck(sscanf(names[l], "%15[^:]:%dx%d%c", p->layer[l].name, &m, &n, &kind) >= 3, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-problem_layers: no layer %s", names[l]);
      p->layer[l].given      = ProblemShapes[0];
      p->layer[l].given.name = p->layer[l].name;
      p->layer[l].given.m    = m;
      p->layer[l].given.n    = n;
      p->layer[l].shape      = &p->layer[l].given;
      if (kind != 0) p->layer[l].given.kind = kind == 'f' ? PROBLEM_ARRAY_SINGLE : PROBLEM_ARRAY_DOUBLE;
      if (kind != 0) p->layer[l].given.gap = 2;
    }
    if (given) PetscCall(PetscFree(names[l]));
  }
  count = PROBLEM_LAYERS;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-problem_ranks", values, &count, &given));
  for (PetscInt l = 0; l < p->n; l++) ranks[l] = given == PETSC_FALSE ? 1 : values[l % count] == 0 ? p->size : (PetscMPIInt)values[l % count];
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-problem_storage", ProblemStorages, 6, &storage, NULL));
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-problem_ready", ProblemReadys, 6, &ready, NULL));
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-problem_breaks", ProblemBreakNames, 6, &breaks, NULL));
  p->breaks    = (ProblemBreaks)breaks;
  p->breakstep = 1;
  p->storage   = (ProblemStorage)storage;
  p->ready     = (ProblemReady)ready;
  p->routine = p->curvature = PETSC_TRUE;
  p->scale = p->optimum = 1;
  p->angle              = -1;
  p->noise              = 2;
  p->bad = p->badlayer = p->huge = p->fails = p->overflow = p->edit = p->mismatch = p->half = -1;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-problem_mean", &mean, NULL));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(ProblemNumbers); k++) {
    char *const field = (char *)p + ProblemNumbers[k].at;
    char        key[64];

    PetscCall(PetscSNPrintf(key, sizeof(key), "-problem_%s", ProblemNumbers[k].name));
    if (ProblemNumbers[k].kind == 'i') PetscCall(PetscOptionsGetInt(NULL, NULL, key, (PetscInt *)field, NULL));
    else if (ProblemNumbers[k].kind == 'b') PetscCall(PetscOptionsGetBool(NULL, NULL, key, (PetscBool *)field, NULL));
    else PetscCall(PetscOptionsGetReal(NULL, NULL, key, (PetscReal *)field, NULL));
  }
  PetscCheck(p->device == PETSC_FALSE || (MuonDeviceGet() != NULL && MuonDeviceGet()->start() == NULL), PETSC_COMM_WORLD, PETSC_ERR_SUP, "There is no device");
  p->phase[0] = cos((double)p->angle);
  p->phase[1] = sin((double)p->angle);
  p->mean     = mean == 0 ? p->size : (PetscMPIInt)mean;
  p->first    = p->rank / p->mean * p->mean;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As the options say, those of the optimizer included, and ready for its first step */
static inline PetscErrorCode ProblemCreate(Problem *p, PetscReal shake, PetscInt seed)
{
  PetscMPIInt ranks[PROBLEM_LAYERS];
  double      sum = 0;
  char        prefix[16];
  PetscBool   setup = PETSC_TRUE, given;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(p, sizeof(*p)));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &p->rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &p->size));
  PetscCall(ProblemReadOptions(p, ranks));
  p->shake = shake;
  p->seed  = seed;
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, p->rank % p->mean, p->rank, &p->comm));
  PetscCallMPI(MPI_Comm_split(p->comm, p->alone ? p->rank % ranks[0] : 0, p->rank, &p->across));
  PetscCall(MuonCreate(p->across, &p->muon));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-problem_prefix", prefix, sizeof(prefix), &given));
  if (given) PetscCall(MuonSetOptionsPrefix(p->muon, prefix));
  for (PetscInt l = 0; l < p->n; l++) {
    const PetscBool spread = p->mean == 1 && ranks[l] > 1 ? PETSC_TRUE : PETSC_FALSE;

    p->layer[l].ranks    = ranks[l];
    p->layer[l].position = p->rank % ranks[l];
    p->layer[l].comm     = MPI_COMM_NULL;
    if (spread) PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, p->rank / ranks[l], p->rank, &p->layer[l].comm));
    if (p->storage != PROBLEM_STORAGE_SLICES) PetscCall(ProblemAddLayer(p, &p->layer[l], spread ? p->layer[l].comm : PETSC_COMM_SELF, spread || l % 2 ? PETSC_FALSE : PETSC_TRUE));
    else if (l == 0) PetscCall(ProblemAddSlices(p, spread ? p->layer[l].comm : PETSC_COMM_SELF));
    PetscCall(ProblemSetNorm(p, p->layer[l].shape, p->layer[l].layer));
    for (PetscInt k = 1; k < p->layer[l].nblocks; k++) PetscCall(ProblemSetNorm(p, p->layer[l].shape, p->layer[l].block[k]));
    PetscCall(ProblemStart(p, l));
  }
  for (PetscMPIInt r = p->first; r < p->first + p->mean; r++) sum += ProblemWeight(p, r);
  if (p->weighted) PetscCall(MuonSetWorkerWeight(p->muon, (PetscReal)sum));
  if (p->routine) PetscCall(MuonSetObjectiveAndGradient(p->muon, ProblemObjective, p));
  if (p->breaks == PROBLEM_BREAKS_MONITOR) PetscCall(MuonMonitorSet(p->muon, ProblemMonitor, p, NULL));
  if (p->breaks == PROBLEM_BREAKS_VALIDATION) PetscCall(MuonSetValidation(p->muon, ProblemValidation, 1, p));
  if (p->breaks == PROBLEM_BREAKS_POSTSTEP) PetscCall(MuonSetPostStep(p->muon, ProblemPostStep, p));
  PetscCall(MuonSetFromOptions(p->muon));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-problem_setup", &setup, NULL));
  if (setup) PetscCall(MuonSetUp(p->muon));
  if (p->apart) PetscCall(ProblemNameBlocks(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ProblemDestroy(Problem *p)
{
  PetscInt step;

  PetscFunctionBegin;
  PetscCall(ProblemCheckGaps(p));
  /* Sums may be under way when the optimizer goes */
  PetscCall(MuonGetStepNumber(p->muon, &step));
  if (p->routine == PETSC_FALSE) PetscCall(ProblemSetGradients(p, step));
  PetscCall(MuonDestroy(&p->muon));
  for (PetscInt l = 0; l < p->n; l++) {
    for (int k = 0; k < 2; k++) {
      if (p->layer[l].far[k] != NULL && p->layer[l].W == NULL) MuonDeviceGet()->release(p->layer[l].far[k]);
    }
    PetscCall(MatDestroy(&p->layer[l].W));
    PetscCall(MatDestroy(&p->layer[l].G));
    PetscCall(VecDestroy(&p->layer[l].gradient));
    PetscCall(PetscFree(p->layer[l].image));
    PetscCall(VecDestroy(&p->layer[l].w));
    PetscCall(PetscFree(p->layer[l].own));
    PetscCall(PetscFree(p->layer[l].g));
    if (p->layer[l].comm != MPI_COMM_NULL) PetscCallMPI(MPI_Comm_free(&p->layer[l].comm));
  }
  PetscCall(VecDestroy(&p->x));
  PetscCall(VecDestroy(&p->g));
  PetscCallMPI(MPI_Comm_free(&p->across));
  PetscCallMPI(MPI_Comm_free(&p->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The weights of all layers behind one another, row by row, of the rows of all ranks of the communicator. Ranks that have
   the same rows must have the same bits: those that all have set and those that all have not are then all that there are
*/
static inline PetscErrorCode ProblemGatherWeights(Problem *p, MPI_Comm comm, double w[])
{
  uint64_t *bits;
  int       d = 0, at = 0;

  PetscFunctionBegin;
  ProblemFetch(p);
  for (PetscInt k = 0; k < p->n; k++) d += (int)(p->layer[k].shape->m * p->layer[k].shape->n);
  PetscCall(PetscMalloc1(2 * d, &bits));
  memset(bits, 0xFF, 2 * (size_t)d * sizeof(*bits));
  for (PetscInt k = 0; k < p->n; at += (int)(p->layer[k].shape->m * p->layer[k].shape->n), k++) {
    const ProblemArray *a = &p->layer[k].weights;
    const PetscInt      n = p->layer[k].shape->n;

    for (PetscInt e = 0; e < a->count * n; e++) {
      double       across = 0;
      const double x      = ProblemHas(a, e / n, e % n) ? ProblemGetBoth(a, e / n, e % n, &across) : 0;

      p->side = PetscMax(p->side, fabs(across));
      if (ProblemHas(a, e / n, e % n) == PETSC_FALSE) continue;
      memcpy(&bits[at + a->first * n + e], &x, sizeof(x));
      bits[d + at + a->first * n + e] = ~bits[at + a->first * n + e];
    }
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, bits, 2 * d, MPI_UINT64_T, MPI_BAND, comm));
  for (int e = 0; e < d; e++) PetscCheck(bits[e] == ~bits[d + e], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Ranks have different weights, or none has entry %d of %d", e, d);
  memcpy(w, bits, (size_t)d * sizeof(*w));
  PetscCall(PetscFree(bits));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscInt ProblemRows(const Problem *p, PetscInt number, const char what[])
{
  return what != NULL && strcmp(what, "full") == 0 ? p->layer[number].shape->m : p->layer[number].weights.count;
}

/* Weights that are here, by rows, all of them ("full"), what the server has ("served"), or a state; zeros where there is none of it, which kept, or NULL, says */
static inline PetscErrorCode ProblemGetRows(const Problem *p, PetscInt number, const char what[], double rows[], PetscBool *kept)
{
  const ProblemLayer *l = &p->layer[number];
  const PetscInt      n = l->shape->n, m = ProblemRows(p, number, what);
  ProblemArray        a = {NULL, PETSC_SCALAR, PETSC_FALSE, 0, m, m, 0, 0, NULL};
  MuonLayerType       type;
  PetscBool           there;
  Mat                 A;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetType(l->layer, &type));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, m, n, NULL, &A));
  there = what == NULL || strcmp(type, MUONLAYERFROZEN) != 0 ? PETSC_TRUE : PETSC_FALSE;
  if (what != NULL && strcmp(what, "full") == 0) {
    there = PETSC_TRUE;
    PetscCall(MuonLayerGetFullWeights(l->layer, A));
  } else if (what != NULL && there) PetscCall(strcmp(what, "served") == 0 ? MuonLayerGetServerWeights(l->layer, A, &there) : MuonGetLayerState(p->muon, l->layer, what, A, &there));
  PetscCall(ProblemOfMat(A, &a));
  if (what == NULL) a = l->weights;
  for (PetscInt e = 0; e < m * n; e++) rows[e] = there ? ProblemGet(&a, e / n, e % n) : 0;
  PetscCall(MatDestroy(&A));
  if (kept != NULL) *kept = there;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets the weights that are here, of which the optimizer is not told */
static inline PetscErrorCode ProblemSetRows(Problem *p, PetscInt number, const double rows[])
{
  const ProblemLayer *l = &p->layer[number];

  PetscFunctionBegin;
  for (PetscInt e = 0; e < l->weights.count * l->shape->n; e++) ProblemPut(&l->weights, e / l->shape->n, e % l->shape->n, rows[e]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What ProblemGetRows() gives where this rank keeps it: these numbers */
static inline PetscErrorCode ProblemCheckRows(const Problem *p, PetscInt number, const char what[], const double expected[], double tolerance, const char name[])
{
  const PetscInt d    = ProblemRows(p, number, what) * p->layer[number].shape->n;
  PetscBool      kept = PETSC_FALSE;
  double        *rows;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(d, &rows));
  PetscCall(ProblemGetRows(p, number, what, rows, &kept));
  for (PetscInt e = 0; e < d && kept; e++)
    PetscCheck(fabs(rows[e] - expected[e]) <= tolerance, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entry %" PetscInt_FMT " of %s of layer %s is %.17g, expected %.17g", name, e, what == NULL ? "the weights" : what, p->layer[number].shape->name, rows[e],
               expected[e]);
  PetscCall(PetscFree(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As these options say and no others */
static inline PetscErrorCode ProblemCreateWith(Problem *p, const char format[], ...)
{
  PetscOptions database;
  char         options[1024];
  va_list      args;

  PetscFunctionBegin;
  va_start(args, format);
  PetscCheck(vsnprintf(options, sizeof(options), format, args) < (int)sizeof(options), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Too many options: %s", options);
  va_end(args);
  PetscCall(PetscOptionsCreate(&database));
  PetscCall(PetscOptionsPush(database));
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(ProblemCreate(p, 0, 0));
  PetscCall(PetscOptionsPop());
  PetscCall(PetscOptionsDestroy(&database));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All that is kept on this rank, with its names, the weights and the number of the step */
typedef struct {
  size_t bytes, room;
  char  *data;
} ProblemImage;

static inline PetscErrorCode ProblemImageAdd(ProblemImage *image, size_t bytes, const void *data)
{
  PetscFunctionBegin;
  if (image->bytes + bytes > image->room) {
    image->room = 2 * (image->bytes + bytes);
    PetscCall(PetscRealloc(image->room, &image->data));
  }
  PetscCall(PetscMemcpy(image->data + image->bytes, data, bytes));
  image->bytes += bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A step that was refused may have made what is kept from the first one on, of zeros */
static inline PetscErrorCode ProblemImageVisit(MuonStateVisitor *visitor, const MuonState *state)
{
  size_t zeros = 0;

  PetscFunctionBegin;
  while (zeros < state->bytes && ((const char *)state->data)[zeros] == 0) zeros++;
  if (state->scratch || zeros == state->bytes) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ProblemImageAdd((ProblemImage *)visitor->ctx, strlen(state->name), state->name));
  PetscCall(ProblemImageAdd((ProblemImage *)visitor->ctx, state->bytes, state->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ProblemTakeImage(const Problem *p, ProblemImage *image)
{
  MuonStateVisitor visitor;
  PetscInt         step;
  PetscBool        kept;
  double          *rows;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(image, sizeof(*image)));
  PetscCall(PetscMemzero(&visitor, sizeof(visitor)));
  visitor.visit = ProblemImageVisit;
  visitor.ctx   = image;
  PetscCall(MuonVisitState(p->muon, &visitor));
  for (PetscInt l = 0; l < p->n; l++) {
    const PetscInt d = p->layer[l].weights.count * p->layer[l].shape->n;

    PetscCall(PetscMalloc1(d, &rows));
    PetscCall(ProblemGetRows(p, l, NULL, rows, &kept));
    PetscCall(ProblemImageAdd(image, (size_t)d * sizeof(*rows), rows));
    PetscCall(PetscFree(rows));
  }
  PetscCall(MuonGetStepNumber(p->muon, &step));
  PetscCall(ProblemImageAdd(image, sizeof(step), &step));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Everything is as it was, which is given back */
static inline PetscErrorCode ProblemCheckImage(const Problem *p, ProblemImage *before, const char name[], const char what[])
{
  ProblemImage now;

  PetscFunctionBegin;
  PetscCall(ProblemTakeImage(p, &now));
  PetscCheck(now.bytes == before->bytes && memcmp(now.data, before->data, now.bytes) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s: other bits, %zu and %zu bytes of state", name, what, now.bytes, before->bytes);
  PetscCall(PetscFree(now.data));
  PetscCall(PetscFree(before->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ProblemCheckSame(const Problem *p, const Problem *q, const char name[], const char what[])
{
  ProblemImage expected;

  PetscFunctionBegin;
  PetscCall(ProblemTakeImage(q, &expected));
  PetscCall(ProblemCheckImage(p, &expected, name, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ProblemSteps(const Problem *p, PetscInt steps)
{
  PetscFunctionBegin;
  for (PetscInt s = 0; s < steps; s++) PetscCall(MuonStep(p->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ProblemCheckStep(const Problem *p, PetscInt expected)
{
  PetscInt step;

  PetscFunctionBegin;
  PetscCall(MuonGetStepNumber(p->muon, &step));
  PetscCheck(step == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt_FMT ", expected %" PetscInt_FMT, step, expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ProblemCheckReason(const Problem *p, MuonConvergedReason expected, const char name[], const char what[])
{
  MuonConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(MuonGetConvergedReason(p->muon, &reason));
  PetscCheck(reason == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s: %s, expected %s", name, what, MuonConvergedReasons[reason], MuonConvergedReasons[expected]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A step of p that something disturbs, which counts on this rank how often it did and goes with stop(): where it did on any rank the step fails so, leaves no trace, and is taken again. Then p is where q is, which nothing disturbs */
static inline PetscErrorCode ProblemDisturbed(Problem *p, Problem *q, const PetscInt *done, void (*stop)(void), MuonConvergedReason wrong, const char name[], const char what[], PetscInt *all)
{
  ProblemImage before;

  PetscFunctionBegin;
  PetscCall(ProblemTakeImage(p, &before));
  PetscCall(MuonStep(p->muon));
  (*stop)();
  PetscCallMPI(PMPI_Allreduce(done, all, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(ProblemCheckReason(p, *all > 0 ? wrong : MUON_CONVERGED_ITERATING, name, what));
  if (*all > 0) {
    PetscCall(ProblemCheckImage(p, &before, name, what));
    PetscCall(MuonStep(p->muon));
    PetscCall(ProblemCheckReason(p, MUON_CONVERGED_ITERATING, name, "the step after"));
  } else PetscCall(PetscFree(before.data));
  PetscCall(MuonStep(q->muon));
  PetscCall(ProblemCheckSame(p, q, name, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}
