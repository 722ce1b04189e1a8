/*
   Stretches of 64 entries in the order of memory, and the words of a bitmap that belong to them. Only for the files of
   this component.
*/
#pragma once

#include <petscmuon/private/muonarray.h>
#include "muonclones.h"
#include <string.h>

#define WORD 64

/* The place of an entry: the line, and the place in the line */
typedef struct {
  size_t line, at;
} Place;

/* If all three arrays have no gaps, their lines are one line */
static inline void Flatten(size_t *m, size_t *n, size_t ld1, size_t ld2, size_t ld3)
{
  if (*n < 2 || (*m == ld1 && *m == ld2 && *m == ld3)) {
    *m *= *n;
    *n = *m > 0;
  }
}

MUON_KERNEL_INLINE Place PlaceOf(size_t m, size_t number)
{
  Place place;

  place.line = number < m || number == 0 ? 0 : number / m;
  place.at   = number - place.line * m;
  return place;
}

MUON_KERNEL_INLINE void Advance(size_t m, size_t some, Place *place)
{
  for (place->at += some; place->at >= m; place->at -= m) place->line++;
}

/*
   Returns some entries of size bytes from a place on: in memory if they lie in one line, otherwise a copy
*/
MUON_KERNEL_INLINE const void *Stretch(size_t size, size_t m, const void *X, size_t ldx, Place place, size_t some, void *copy)
{
  const char *x = (const char *)X + (place.line * ldx + place.at) * size;

  if (place.at + some <= m) return x;
  for (size_t done = 0; done < some;) {
    const size_t run = m - place.at < some - done ? m - place.at : some - done;

    memcpy((char *)copy + done * size, (const char *)X + (place.line * ldx + place.at) * size, run * size);
    done += run;
    Advance(m, run, &place);
  }
  return copy;
}

/* A constant after optimization */
MUON_ENTRY int IsLittleEndian(void)
{
  const uint16_t one = 1;
  unsigned char  first;

  memcpy(&first, &one, 1);
  return first == 1;
}

/*
   The word of a bitmap that begins at bit first, a multiple of 64. Only its first some bits are used
*/
MUON_ENTRY uint64_t LoadWord(const unsigned char *bits, size_t first, size_t some)
{
  const unsigned char *from = bits + first / 8;
  uint64_t             word = 0;

  if (some == WORD && IsLittleEndian()) {
    memcpy(&word, from, sizeof(word));
    return word;
  }
  for (size_t b = 0; 8 * b < some; b++) word |= (uint64_t)from[b] << (8 * b);
  return some < WORD ? word & (((uint64_t)1 << some) - 1) : word;
}

MUON_ENTRY void StoreWord(unsigned char *bits, size_t first, size_t some, uint64_t word)
{
  unsigned char *to = bits + first / 8;

  if (some == WORD && IsLittleEndian()) memcpy(to, &word, sizeof(word));
  else {
    for (size_t b = 0; 8 * b < some; b++) to[b] = (unsigned char)(word >> (8 * b) & 255);
  }
}

MUON_ENTRY size_t CountOnes(uint64_t word)
{
#if defined(__GNUC__) && !defined(MUON_KERNELS_DEVICE)
  return (size_t)__builtin_popcountll(word);
#else
  word -= word >> 1 & 0x5555555555555555u;
  word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u);
  word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
  return (size_t)(word * 0x0101010101010101u >> 56);
#endif
}

/* The number of the lowest set bit of a word that is not zero */
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
