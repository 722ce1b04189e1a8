/*
   Matrices whose rows are spread over ranks, for the tests of assemblies: every entry follows from its place,
   so that each rank knows the whole, and the oracle is a sum in a fixed order that looks at all of them.
*/
#pragma once

#include <assembly/muonassemblychunks.h>
#include <math.h>
#include "number_common.h"

#define MAXITEMS 14
#define MAXRANKS 64

typedef struct {
  PetscInt rows, columns, ranges[MAXRANKS + 1];
} TestShape;

typedef struct {
  MuonAssembly        assembly;
  MuonAssemblyOptions options;
  MuonWorkspace       work;
  MPI_Comm            comm;
  PetscMPIInt         rank, size;
  PetscInt            n;
  MuonAssemblyItem    item[MAXITEMS];
  TestShape           shape[MAXITEMS];
  int                 run; /* other entries in every run */
  /* what was called */
  PetscInt inputs, outputs, oracles[MAXITEMS], lastinput, lastoutput, wrong;
  void    *buffer; /* of the rows that were handed in last */
  size_t   bytes;
} TestProblem;

/* To p binary digits, to nearest even */
static inline double TestNearest(double x, int p)
{
  int exponent;

  if (x == 0) return x;
  (void)frexp(x, &exponent);
  return ldexp(rint(ldexp(x, p - exponent)), exponent - p);
}

/* An entry of G, with as many digits as its precision has */
static inline double TestEntry(const TestProblem *p, PetscInt k, PetscInt i, PetscInt j)
{
  const uint32_t h = TestHash((uint32_t)(100 * p->run + k), (uint32_t)i, (uint32_t)j, 0), l = TestHash(h, 7, 9, 0);
  const double   x = ((double)h + (double)l / 4294967296.) / 2147483648. - 1;

  return p->item[k].precision == MUON_SINGLE ? TestNearest(x, 24) : x;
}

/* The same as the oracle sees it */
static inline double TestSeen(const TestProblem *p, PetscInt k, PetscInt i, PetscInt j)
{
  const double x = TestEntry(p, k, i, j);

  if (p->item[k].kind == MUON_ASSEMBLY_GRAM || p->options.precision == MUON_ASSEMBLY_PRECISION_NATIVE) return x;
  return p->options.precision == MUON_ASSEMBLY_PRECISION_SINGLE ? TestNearest(x, 24) : TestNearest(TestNearest(x, 24), 8);
}

static inline double TestGet(const MuonArray *A, PetscInt i, PetscInt j)
{
  const void *at = MuonArrayAt(A, (size_t)i, (size_t)j);

  return A->precision == MUON_SINGLE ? (double)*(const float *)at : *(const double *)at;
}

static inline void TestSet(const MuonArray *A, PetscInt i, PetscInt j, double value)
{
  void *at = MuonArrayAt(A, (size_t)i, (size_t)j);

  if (A->precision == MUON_SINGLE) *(float *)at = (float)value;
  else *(double *)at = value;
}

/* What the oracle makes of an entry and of the sum of them all */
static inline double TestStep(const TestProblem *p, PetscInt k, double g, double sum)
{
  const double d = 3 * g - sum;

  return p->item[k].precision == MUON_SINGLE ? (double)(float)d : d;
}

static inline double TestWeight(PetscInt i, PetscInt j)
{
  return (double)(1 + TestHash(5, (uint32_t)i, (uint32_t)j, 0) % 1000) / 512;
}

#define TestCheck(p, condition) \
  do { \
    if (!(condition)) { \
      if ((p)->wrong++ < 5) fprintf(stderr, "[%d of %d] line %d: %s\n", (p)->rank, (p)->size, __LINE__, #condition); \
    } \
  } while (0)

/* What was handed in before is no longer there */
static inline void TestForget(TestProblem *p)
{
  if (p->buffer != NULL) memset(p->buffer, 0xff, p->bytes);
}

/* Rows with gaps of NaN between the lines */
static inline PetscErrorCode TestInput(void *ctx, PetscInt k, MuonArray *G)
{
  TestProblem            *p     = (TestProblem *)ctx;
  const MuonAssemblyItem *item  = &p->item[k];
  const PetscInt          first = item->ranges[p->rank], rows = item->ranges[p->rank + 1] - first;

  PetscFunctionBegin;
  TestForget(p);
  TestCheck(p, item->kind == MUON_ASSEMBLY_NONE || item->kind == MUON_ASSEMBLY_GRAM || k > p->lastinput);
  if (item->kind == MUON_ASSEMBLY_OWNER || item->kind == MUON_ASSEMBLY_ALLGATHER) p->lastinput = k;
  p->inputs++;
  G->len       = (size_t)(item->rowmajor ? item->columns : rows);
  G->count     = (size_t)(item->rowmajor ? rows : item->columns);
  G->ld        = G->len + (size_t)(k % 3);
  G->precision = item->precision;
  G->memory    = MUON_HOST;
  G->rowmajor  = item->rowmajor;
  G->pairs     = 0;
  if (p->bytes < G->ld * G->count * sizeof(double)) {
    PetscCall(PetscFree(p->buffer));
    p->bytes = G->ld * G->count * sizeof(double);
    PetscCall(PetscMalloc(p->bytes, &p->buffer));
    TestForget(p);
  }
  G->data = rows * item->columns == 0 ? NULL : p->buffer;
  for (PetscInt i = 0; i < rows; i++) {
    for (PetscInt j = 0; j < item->columns; j++) TestSet(G, i, j, TestEntry(p, k, first + i, j));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode TestOracle(void *ctx, PetscInt k, const MuonMatrix *G, const MuonMatrix *D)
{
  TestProblem            *p    = (TestProblem *)ctx;
  const MuonAssemblyItem *item = &p->item[k];
  double                  sum  = 0;

  PetscFunctionBegin;
  p->oracles[k]++;
  TestCheck(p, item->kind != MUON_ASSEMBLY_NONE && G->rows == item->rows && G->columns == item->columns && D->rows == item->rows && D->columns == item->columns);
  TestCheck(p, G->here.precision == item->precision && D->here.precision == item->precision && !G->here.rowmajor == !item->rowmajor && !D->here.rowmajor == !item->rowmajor);
  TestCheck(p, G->size == (item->kind == MUON_ASSEMBLY_GRAM ? p->size : 1));
  for (size_t i = 0; i < MuonArrayRows(&G->here); i++) {
    for (size_t j = 0; j < MuonArrayColumns(&G->here); j++) {
      TestCheck(p, TestGet(&G->here, (PetscInt)i, (PetscInt)j) == TestSeen(p, k, G->first + (PetscInt)i, (PetscInt)j));
      sum += TestWeight(G->first + (PetscInt)i, (PetscInt)j) * TestGet(&G->here, (PetscInt)i, (PetscInt)j);
    }
  }
  for (size_t i = 0; i < MuonArrayRows(&G->here); i++) {
    for (size_t j = 0; j < MuonArrayColumns(&G->here); j++) TestSet(&D->here, (PetscInt)i, (PetscInt)j, TestStep(p, k, TestGet(&G->here, (PetscInt)i, (PetscInt)j), item->kind == MUON_ASSEMBLY_GRAM ? 0 : sum));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every entry is that of the step of the whole matrix, to the last bit */
static inline PetscErrorCode TestOutput(void *ctx, PetscInt k, const MuonArray *D)
{
  TestProblem            *p     = (TestProblem *)ctx;
  const MuonAssemblyItem *item  = &p->item[k];
  const PetscInt          first = item->ranges[p->rank], rows = item->ranges[p->rank + 1] - first;
  double                  sum = 0;

  PetscFunctionBegin;
  TestForget(p);
  TestCheck(p, k == p->lastoutput + 1);
  p->lastoutput = k;
  p->outputs++;
  TestCheck(p, MuonArrayRows(D) == (size_t)rows && MuonArrayColumns(D) == (size_t)item->columns && D->precision == item->precision && !D->rowmajor == !item->rowmajor);
  TestCheck(p, item->kind == MUON_ASSEMBLY_NONE ? D->data == NULL : D->data != NULL || rows == 0);
  if (item->kind == MUON_ASSEMBLY_NONE) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < item->rows && item->kind != MUON_ASSEMBLY_GRAM; i++) {
    for (PetscInt j = 0; j < item->columns; j++) sum += TestWeight(i, j) * TestSeen(p, k, i, j);
  }
  for (PetscInt i = 0; i < rows; i++) {
    for (PetscInt j = 0; j < item->columns; j++) TestCheck(p, TestGet(D, i, j) == TestStep(p, k, TestSeen(p, k, first + i, j), sum));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which rank has which rows: as PETSc lays them out; all at the last rank; none at every second one; one row at the first and the rest at the last */
static inline void TestRanges(PetscInt rows, PetscMPIInt size, int pattern, PetscInt ranges[])
{
  ranges[0] = 0;
  for (PetscMPIInt r = 0; r < size; r++) {
    const PetscInt had = ranges[r], rest = rows - had;
    PetscInt       mine;

    if (pattern == 0) mine = rows / size + (r < rows % size);
    else if (pattern == 1) mine = 0;
    else if (pattern == 2) mine = r % 2 == 0 ? 0 : (rest + 1) / 2;
    else mine = r == 0 ? PetscMin(rows, 1) : 0;
    if (r == size - 1) mine = rest;
    ranges[r + 1] = had + mine;
  }
}

/*
   The k-th matrix of each problem: shapes from 1 x 1 up, of both precisions and orders, three of one shape,
   and one that a strip of bfloat16 does not hold
*/
static inline void TestItem(TestProblem *p, PetscInt k, MuonAssemblyKind kind, int pattern)
{
  const PetscInt    shapes[MAXITEMS][2] = {{4, 6}, {1, 1}, {7, 3}, {4, 6}, {16, 16}, {1, 9}, {9, 1}, {4, 6}, {13, 5}, {2, 1100}, {5, 12}, {1100, 2}, {3, 3}, {8, 2}};
  const char *const names[MAXITEMS]     = {"q", "k", "v", "o", "up", "down", "embed", "norm", "w8", "w9", "a", "b", "c", "d"};
  MuonAssemblyItem *item                = &p->item[k];

  item->name      = names[k];
  item->rows      = shapes[k][0];
  item->columns   = shapes[k][1];
  item->precision = TestHash((uint32_t)k, 1, 1, 0) % 2 == 0 ? MUON_DOUBLE : MUON_SINGLE;
  item->memory    = MUON_HOST;
  item->rowmajor  = (int)(TestHash((uint32_t)k, 2, 2, 0) % 2);
  item->kind      = kind;
  item->flops     = (PetscLogDouble)(item->rows * item->columns * PetscMin(item->rows, item->columns));
  TestRanges(item->rows, p->size, pattern, p->shape[k].ranges);
  item->ranges = p->shape[k].ranges;
}

static inline PetscErrorCode TestCreate(TestProblem *p)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(p, sizeof(*p)));
  p->comm = PETSC_COMM_WORLD;
  PetscCallMPI(MPI_Comm_rank(p->comm, &p->rank));
  PetscCallMPI(MPI_Comm_size(p->comm, &p->size));
  p->options.chunk  = PETSC_DETERMINE;
  p->options.warmup = 5;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With the options as they are */
static inline PetscErrorCode TestSetUp(TestProblem *p)
{
  PetscFunctionBegin;
  PetscCall(MuonAssemblyDestroy(&p->assembly));
  PetscCall(MuonAssemblyCreate(p->comm, &p->options, p->work, p->n, p->item, &p->assembly));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode TestDestroy(TestProblem *p)
{
  PetscFunctionBegin;
  PetscCall(MuonAssemblyDestroy(&p->assembly));
  PetscCall(PetscFree(p->buffer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One run, and that everything was called as often as it should */
static inline PetscErrorCode TestRun(TestProblem *p)
{
  const MuonAssemblyClient client = {TestInput, TestOracle, TestOutput, p};

  PetscFunctionBegin;
  p->run++;
  p->inputs = p->outputs = 0;
  p->lastinput = p->lastoutput = -1;
  PetscCall(PetscArrayzero(p->oracles, MAXITEMS));
  PetscCall(MuonAssemblyRun(p->assembly, &client));
  TestCheck(p, p->inputs == p->n && p->outputs == p->n);
  for (PetscInt k = 0; k < p->n; k++) {
    const PetscMPIInt owner = p->assembly->owner[k];

    TestCheck(p, (p->item[k].kind == MUON_ASSEMBLY_OWNER) == (owner >= 0) && owner < p->size);
    TestCheck(p, p->oracles[k] == (p->item[k].kind == MUON_ASSEMBLY_NONE || (owner >= 0 && owner != p->rank) ? 0 : 1));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
