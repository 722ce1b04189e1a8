/*
   What the tests of the kernels share: the column of the table that is tested, arrays with gaps between their lines, and random numbers.
*/
#pragma once

#include "kernels/codec/muonkernels.h"
#include <petscmuon/private/muonkernelsdevice.h>
#include "check_common.h"
#include <float.h>
#include <math.h>

/*
   Which column of the table of kernels is tested: the host's, or that of the device where the program's first
   argument is device. Its kernels then copy what the test has on the host
*/
static MuonMemory TestMemory = MUON_HOST;

static inline void TestColumn(int argc, char **argv)
{
  const MuonDevice *device = MuonDeviceGet();

  TestMemory = MUON_HOST;
  if (argc < 2 || strcmp(argv[1], "device") != 0) return;
  Check(device != NULL && device->start() == NULL, "no device");
  device->stage(1);
  TestMemory = MUON_DEVICE;
}

static inline double NextUniform(uint64_t *state)
{
  return (double)(NextBits(state) >> 11) / 9007199254740992.0;
}

static inline double NextNormal(uint64_t *state)
{
  const double u = NextUniform(state), v = NextUniform(state);

  return sqrt(-2 * log(1 - u)) * cos(6.283185307179586 * v);
}

/* n lines of m entries of the precision of k, ld from one to the next; what is between them is NaN, so that it shows who reads it */
typedef struct {
  const MuonKernels *k;
  size_t             m, n, ld;
  void              *x;
} Array;

enum {
  ARRAYS = 32
};

static Array  TestArrays[ARRAYS];
static size_t TestCount;

/* A number as k has it */
static inline double Round(const MuonKernels *k, double x)
{
  return k->size == sizeof(float) ? (double)(float)x : x;
}

/* At a place of the memory, and entry number e in the order of memory */
static inline double GetRaw(const Array *A, size_t at)
{
  return A->k->size == sizeof(float) ? (double)((const float *)A->x)[at] : ((const double *)A->x)[at];
}

static inline void SetRaw(const Array *A, size_t at, double x)
{
  if (A->k->size == sizeof(float)) ((float *)A->x)[at] = (float)x;
  else ((double *)A->x)[at] = x;
}

static inline size_t At(const Array *A, size_t e)
{
  const uint32_t m = (uint32_t)A->m, i = (uint32_t)e;

  return A->ld == A->m ? e : i % m + i / m * A->ld;
}

static inline double Get(const Array *A, size_t e)
{
  return GetRaw(A, At(A, e));
}

static inline void Set(const Array *A, size_t e, double x)
{
  SetRaw(A, At(A, e), x);
}

static inline void Copy(const Array *A, const Array *B)
{
  for (size_t e = 0; e < A->m * A->n; e++) Set(B, e, Get(A, e));
}

/* Of zeros, or of normal numbers; until FreeArrays() */
static inline const Array *NewArray(const MuonKernels *k, size_t m, size_t n, size_t gap, uint64_t *state)
{
  Array *A = &TestArrays[TestCount++];

  Check(TestCount <= ARRAYS, "more than %d arrays", ARRAYS);
  A->k  = k;
  A->m  = m;
  A->n  = n;
  A->ld = m + gap;
  A->x  = Allocate(A->ld * n * k->size);
  for (size_t at = 0; at < A->ld * n; at++) SetRaw(A, at, at % A->ld >= m ? (double)NAN : state != NULL ? NextNormal(state) : 0);
  return A;
}

#define Random(k, m, n, gap) NewArray(k, m, n, gap, &state)
#define Zeros(k, m, n, gap)  NewArray(k, m, n, gap, NULL)

/* All memory, once it is known that nothing was written between the lines */
static inline void FreeArrays(void)
{
  while (TestCount > 0) {
    const Array *A = &TestArrays[--TestCount];

    for (size_t at = 0; at < A->ld * A->n; at++) Check(at % A->ld < A->m || isnan(GetRaw(A, at)), "written between lines of %d", (int)TestCount);
  }
  FreeFrom(0);
}

/* A statement with each of some numbers in the place of every step-th of the first entries of an array: with, and at */
#define WITH(A, entries, step, numbers, ...) \
  for (size_t at = 0; at < (entries); at += (step)) { \
    const double was = Get(A, at); \
\
    for (size_t number_ = 0; number_ < sizeof(numbers) / sizeof((numbers)[0]); number_++) { \
      const double with = (numbers)[number_]; \
\
      Set(A, at, with); \
      __VA_ARGS__; \
    } \
    Set(A, at, was); \
  }

static inline double Epsilon(const MuonKernels *k)
{
  return 2 * k->unit;
}

/* x is y up to a bound; 0: the same number */
#define Near(x, y, bound) Check(fabs((x) - (y)) <= (bound), "%.17g, expected %.17g within %g", (double)(x), (double)(y), (double)(bound))

static inline int Bit(const unsigned char *bits, size_t e)
{
  return bits[e / 8] >> e % 8 & 1;
}

/* Of a selection: the larger first, of equal ones that of the smaller number */
typedef struct {
  double magnitude;
  size_t number;
} Item;

static inline int Before(const void *a, const void *b)
{
  const Item *p = (const Item *)a, *q = (const Item *)b;

  if (p->magnitude != q->magnitude) return p->magnitude > q->magnitude ? -1 : 1;
  return p->number < q->number ? -1 : p->number > q->number;
}

/* The word of an entry, by a call of its own */
static inline uint32_t WordOf(const MuonKernelStream *stream, uint64_t entry)
{
  uint32_t word;

  MuonKernelStreamWords(stream, entry, 1, &word);
  return word;
}

/* A file in the folder behind -oracle_dir, for the second implementation in Python */
static inline FILE *OracleFile(int argc, char **argv, const char name[])
{
  char        path[4096];
  const char *folder = NULL;
  FILE       *file;

  for (int a = 1; a + 1 < argc; a++) {
    if (strcmp(argv[a], "-oracle_dir") == 0) folder = argv[a + 1];
  }
  Check(folder != NULL, "-oracle_dir names the folder to write into");
  (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
  file = fopen(path, "w");
  Check(file != NULL, "cannot write %s", path);
  return file;
}
