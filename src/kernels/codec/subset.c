/*
   A random subset of given size, the same on every machine, by Floyd's algorithm (Bentley and Floyd, "A sample of
   brilliance", 1987) with words of Philox. src/wire/README.md has the complete definition.
*/
#include "muonkernels.h"
#include <string.h>

/*
   The number of candidates that are drawn before any of them is marked. It divides 2^33, so that they have the same upper
   half of the counter
*/
#define BATCH 256

/* floor(a b / 2^64) */
static uint64_t UpperHalf(uint64_t a, uint64_t b)
{
  const uint64_t half = 0xFFFFFFFFu, a0 = a & half, a1 = a >> 32, b0 = b & half, b1 = b >> 32;
  const uint64_t middle = a1 * b0 + (a0 * b0 >> 32), cross = a0 * b1 + (middle & half);

  return a1 * b1 + (middle >> 32) + (cross >> 32);
}

void MuonKernelSubset(size_t entries, size_t count, uint64_t seed, unsigned char *bitmap)
{
  const size_t bytes = (entries + 7) / 8, drawn = count <= entries - count ? count : entries - count;

  if (bytes > 0) memset(bitmap, 0, bytes);
  for (size_t k = 0; k < drawn; k += BATCH) {
    const size_t     some   = drawn - k < BATCH ? drawn - k : BATCH;
    const uint64_t   block  = (uint64_t)k / 2;
    MuonKernelStream stream = {0, 0, 0, 0, 0};
    uint32_t         words[2 * BATCH];
    size_t           candidate[BATCH];

    stream.seed  = seed;
    stream.layer = (uint32_t)(block >> 32);
    MuonKernelStreamWords(&stream, (block & 0xFFFFFFFFu) << 2, 2 * some, words);
    /*
       Candidates do not depend on the marks, so that the accesses to a large bitmap can overlap
    */
    for (size_t i = 0; i < some; i++) {
      candidate[i] = (size_t)UpperHalf((uint64_t)words[2 * i] | (uint64_t)words[2 * i + 1] << 32, (uint64_t)(entries - drawn + k + i) + 1);
#if defined(__GNUC__)
      __builtin_prefetch(bitmap + candidate[i] / 8, 1);
#endif
    }
    for (size_t i = 0; i < some; i++) {
      const unsigned taken = bitmap[candidate[i] / 8] >> candidate[i] % 8 & 1u;
      const size_t   at    = taken != 0 ? entries - drawn + k + i : candidate[i];

      bitmap[at / 8] |= (unsigned char)(1u << at % 8);
    }
  }
  /* For more than half of the entries, the missing ones were drawn */
  if (drawn < count) {
    for (size_t b = 0; b < bytes; b++) bitmap[b] = (unsigned char)~bitmap[b];
    if (entries % 8 != 0) bitmap[bytes - 1] &= (unsigned char)((1u << entries % 8) - 1);
  }
}
