/*
   The longest of many rows or columns.
*/
#include "../codec/muonkernels.h"
#include <stdlib.h>
#include <string.h>

/* No two are equal: they are compared by their places at last */
static int Compare(const void *a, const void *b)
{
  const MuonKernelLength *x = *(const MuonKernelLength *const *)a, *y = *(const MuonKernelLength *const *)b;

  if (x->exponent != y->exponent) return x->exponent > y->exponent ? -1 : 1;
  if (x->fraction != y->fraction) return x->fraction > y->fraction ? -1 : 1;
  return x < y ? -1 : x > y;
}

void MuonKernelSelectVectors(size_t vectors, const MuonKernelLength *lengths, size_t count, unsigned char *bitmap, const MuonKernelLength **scratch)
{
  if (vectors == 0) return;
  memset(bitmap, 0, (vectors + 7) / 8);
  for (size_t k = 0; k < vectors; k++) scratch[k] = lengths + k;
  qsort(scratch, vectors, sizeof(*scratch), Compare);
  for (size_t k = 0; k < count; k++) bitmap[(scratch[k] - lengths) / 8] |= (unsigned char)(1u << (scratch[k] - lengths) % 8);
}
