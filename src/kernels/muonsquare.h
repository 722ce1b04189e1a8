/*
   Squares of 64 x 64 bits: how bits that belong to matrices by columns get to and from strings of bits in row-major order (LSB first). For the files of this room alone.
*/
#pragma once

#include "muonclones.h"
#include <string.h>

#define SQUARE 64

/* Bits under mask of the words j further down change places with those j to the left */
MUON_KERNEL_INLINE void SquareSwap(uint64_t *square, size_t j, uint64_t mask)
{
  for (size_t top = 0; top < SQUARE; top += 2 * j) {
    for (size_t k = top; k < top + j; k++) {
      const uint64_t different = (square[k] >> j ^ square[k + j]) & mask;

      square[k] ^= different << j;
      square[k + j] ^= different;
    }
  }
}

MUON_KERNEL_INLINE void SquareTranspose(uint64_t *square)
{
  SquareSwap(square, 32, UINT64_C(0x00000000FFFFFFFF));
  SquareSwap(square, 16, UINT64_C(0x0000FFFF0000FFFF));
  SquareSwap(square, 8, UINT64_C(0x00FF00FF00FF00FF));
  SquareSwap(square, 4, UINT64_C(0x0F0F0F0F0F0F0F0F));
  SquareSwap(square, 2, UINT64_C(0x3333333333333333));
  SquareSwap(square, 1, UINT64_C(0x5555555555555555));
}

/* A constant after optimization */
MUON_KERNEL_INLINE int IsLittleEndian(void)
{
  const uint16_t one = 1;
  unsigned char  first;

  memcpy(&first, &one, 1);
  return first == 1;
}

/* Eight bytes of a string of bits */
MUON_KERNEL_INLINE uint64_t LoadWord(const unsigned char *from)
{
  uint64_t word = 0;

  if (IsLittleEndian()) memcpy(&word, from, sizeof(word));
  else {
    for (size_t b = 0; b < 8; b++) word |= (uint64_t)from[b] << (8 * b);
  }
  return word;
}

MUON_KERNEL_INLINE void StoreWord(unsigned char *to, uint64_t word)
{
  if (IsLittleEndian()) memcpy(to, &word, sizeof(word));
  else {
    for (size_t b = 0; b < 8; b++) to[b] = (unsigned char)(word >> (8 * b) & 255);
  }
}

/* Sets bits first ... first + width - 1, which are zero, to the lowest bits of word; the others of word are zero */
MUON_KERNEL_INLINE void PutBits(unsigned char *bits, size_t first, size_t width, uint64_t word)
{
  unsigned char *to    = bits + first / 8;
  const unsigned shift = (unsigned)(first % 8);

  if (width == SQUARE) {
    StoreWord(to, LoadWord(to) | word << shift);
    if (shift > 0) to[8] |= (unsigned char)(word >> (SQUARE - shift));
    return;
  }
  to[0] |= (unsigned char)(word << shift & 255);
  for (size_t b = 1; 8 * b < shift + width; b++) to[b] |= (unsigned char)(word >> (8 * b - shift) & 255);
}

MUON_KERNEL_INLINE uint64_t GetBits(const unsigned char *bits, size_t first, size_t width)
{
  const unsigned char *from  = bits + first / 8;
  const unsigned       shift = (unsigned)(first % 8);
  uint64_t             word;

  if (width == SQUARE) {
    word = LoadWord(from);
    return shift > 0 ? word >> shift | (uint64_t)from[8] << (SQUARE - shift) : word;
  }
  word = (uint64_t)from[0] >> shift;
  for (size_t b = 1; 8 * b < shift + width; b++) word |= (uint64_t)from[b] << (8 * b - shift);
  return word & (((uint64_t)1 << width) - 1);
}

/* The number of the lowest bit of a word that is not zero */
MUON_KERNEL_INLINE unsigned LowestBit(uint64_t word)
{
#if defined(__GNUC__)
  return (unsigned)__builtin_ctzll(word);
#else
  unsigned bit = 0;

  while ((word >> bit & 1u) == 0) ++bit;
  return bit;
#endif
}
