/*
   A number that depends on its arguments alone: every rank knows what any other one has.
*/
#pragma once

#include <stdint.h>

static inline uint32_t TestHash(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
  uint32_t h = a * 2654435761u + b * 2246822519u + c * 3266489917u + d * 668265263u;

  h ^= h >> 15;
  h *= 2246822519u;
  h ^= h >> 13;
  h *= 3266489917u;
  return h ^ h >> 16;
}
