#if !defined(REAL)
/*
   The longest of many rows or columns.

   A length is a fraction and an exponent of its own, so that squares neither overflow nor underflow, and
   lengths that are equal without rounding compare as equal.

   This file includes itself once for each precision: REAL is the type of an entry, REAL_NAME(name) the name
   of a function.
*/
  #include "../codec/muonkernels.h"
  #include <float.h>
  #include <limits.h>
  #include <math.h>

/* What a sum of squares that is not less has lost to underflow is far below its last bit */
  #define LEAST_SQUARES 1e-250

static void SetLength(double fraction, int exponent, MuonKernelLength *length)
{
  int shift = 0;

  length->fraction = frexp(fraction, &shift);
  length->exponent = fraction > 0 ? exponent + shift : INT_MIN;
}

/* Whether line a comes before line b: no two are equal */
static int IsBefore(const MuonKernelLength *lengths, size_t a, size_t b)
{
  if (lengths[a].exponent != lengths[b].exponent) return lengths[a].exponent > lengths[b].exponent;
  if (lengths[a].fraction != lengths[b].fraction) return lengths[a].fraction > lengths[b].fraction;
  return a < b;
}

/*
   The line at the root goes down to its place in a heap of size lines, of which the first of all is at the
   top
*/
static void SiftDown(const MuonKernelLength *lengths, size_t size, size_t root, size_t *heap)
{
  const size_t line = heap[root];

  for (size_t child = 2 * root + 1; child < size; child = 2 * root + 1) {
    if (child + 1 < size && IsBefore(lengths, heap[child + 1], heap[child])) child++;
    if (IsBefore(lengths, line, heap[child])) break;
    heap[root] = heap[child];
    root       = child;
  }
  heap[root] = line;
}

void MuonKernelSelectLines(size_t lines, const MuonKernelLength *lengths, size_t count, unsigned char *bitmap, size_t *scratch)
{
  size_t size = lines;

  for (size_t b = 0; b < (lines + 7) / 8; b++) bitmap[b] = 0;
  for (size_t k = 0; k < lines; k++) scratch[k] = k;
  for (size_t root = lines / 2; root > 0; root--) SiftDown(lengths, lines, root - 1, scratch);
  for (size_t k = 0; k < count; k++) {
    bitmap[scratch[0] / 8] |= (unsigned char)(1u << scratch[0] % 8);
    scratch[0] = scratch[--size];
    if (size > 0) SiftDown(lengths, size, 0, scratch);
  }
}

  #define TWICE "lines.c"
  #include "muontwice.h"

#else

int REAL_NAME(MuonKernelLineLength)(size_t count, const void *X, double p, MuonKernelLength *length)
{
  const REAL *x       = (const REAL *)X;
  double      biggest = 0, sum;
  int         exponent;

  sum = p == 1 ? REAL_NAME(MuonKernelSumAbs)(count, 1, x, count) : p == 2 ? REAL_NAME(MuonKernelSumSquares)(count, 1, x, count) : 0;
  /* Comparisons that a NaN does not trap */
  if (islessequal(sum, DBL_MAX) && isgreaterequal(sum, LEAST_SQUARES)) {
    SetLength(sum, 0, length);
    return 0;
  }
  if (REAL_NAME(MuonKernelIsBelow)(count, 1, x, count, HUGE_VAL) == 0) return 1;
  for (size_t k = 0; k < count; k++) {
    const double magnitude = fabs((double)x[k]);

    biggest = magnitude > biggest ? magnitude : biggest;
  }
  if (biggest == 0 || p >= HUGE_VAL) {
    SetLength(biggest, 0, length);
    return 0;
  }
  (void)frexp(biggest, &exponent);
  sum = 0;
  if (p == 1 || p == 2) {
    for (size_t k = 0; k < count; k++) {
      const double scaled = ldexp(fabs((double)x[k]), -exponent);

      sum += p == 1 ? scaled : scaled * scaled;
    }
    SetLength(sum, (int)p * exponent, length);
  } else {
    for (size_t k = 0; k < count; k++) sum += pow(fabs((double)x[k]) / biggest, p);
    SetLength(ldexp(biggest, -exponent) * pow(sum, 1 / p), exponent, length);
  }
  return 0;
}
#endif
