/*
   The longest of many rows or columns.
*/
#include "../codec/muonkernels.h"
#include <string.h>

/* No two lengths are equal: equal values are ordered by their places */
static int Precedes(const MuonKernelLength *x, const MuonKernelLength *y)
{
  if (x->exponent != y->exponent) return x->exponent > y->exponent;
  return x->fraction != y->fraction ? x->fraction > y->fraction : x < y;
}

/* Moves the root down to its place in a heap with the longest at the top */
static void SiftDown(size_t size, size_t root, const MuonKernelLength **heap)
{
  const MuonKernelLength *moved = heap[root];

  for (size_t child = 2 * root + 1; child < size; child = 2 * root + 1) {
    if (child + 1 < size && Precedes(heap[child + 1], heap[child])) child++;
    if (Precedes(moved, heap[child])) break;
    heap[root] = heap[child];
    root       = child;
  }
  heap[root] = moved;
}

/* A heap, because usually a tenth is kept: sorting all lengths takes five times as long */
void MuonKernelSelectVectors(size_t vectors, const MuonKernelLength *lengths, size_t count, unsigned char *bitmap, const MuonKernelLength **scratch)
{
  memset(bitmap, 0, (vectors + 7) / 8);
  for (size_t k = 0; k < vectors; k++) scratch[k] = lengths + k;
  for (size_t root = vectors / 2; root > 0; root--) SiftDown(vectors, root - 1, scratch);
  for (size_t k = 0; k < count; k++) {
    bitmap[(scratch[0] - lengths) / 8] |= (unsigned char)(1u << (scratch[0] - lengths) % 8);
    scratch[0] = scratch[vectors - 1 - k];
    SiftDown(vectors - 1 - k, 0, scratch);
  }
}
