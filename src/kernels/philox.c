/*
   The counter-based generator Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011).

   A word depends on its counter and the key alone, so any rank can compute any entry's random number, in any order and without a state to carry.
*/
#include "muonkernels.h"
#include "muonclones.h"

#define PHILOX_M0 0xD2511F53u
#define PHILOX_M1 0xCD9E8D57u
#define PHILOX_W0 0x9E3779B9u
#define PHILOX_W1 0xBB67AE85u
#define ROUNDS    10

/* Blocks computed side by side; the loops over them have this constant length so that compilers make vector code of them */
#define LANES 32

void MuonKernelPhilox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4])
{
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0], k1 = key[1];

  for (int round = 0; round < ROUNDS; round++) {
    const uint64_t p0 = (uint64_t)PHILOX_M0 * c0, p1 = (uint64_t)PHILOX_M1 * c2;

    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c1 = (uint32_t)p1;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c3 = (uint32_t)p0;
    k0 += PHILOX_W0;
    k1 += PHILOX_W1;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

/* words[4 l + w] = word w of the block number[l], for all LANES lanes */
MUON_KERNEL_INLINE void PhiloxLanes(const MuonKernelStream *stream, const uint32_t number[LANES], uint32_t words[4 * LANES])
{
  const uint32_t who = stream->sender | stream->direction << 31;
  uint32_t       c0[LANES], c1[LANES], c2[LANES], c3[LANES], k0 = (uint32_t)stream->seed, k1 = (uint32_t)(stream->seed >> 32);

  for (int l = 0; l < LANES; l++) {
    c0[l] = number[l];
    c1[l] = stream->layer;
    c2[l] = stream->step;
    c3[l] = who;
  }
  for (int round = 0; round < ROUNDS; round++) {
    for (int l = 0; l < LANES; l++) {
      const uint64_t p0 = (uint64_t)PHILOX_M0 * c0[l], p1 = (uint64_t)PHILOX_M1 * c2[l];

      c0[l] = (uint32_t)(p1 >> 32) ^ c1[l] ^ k0;
      c1[l] = (uint32_t)p1;
      c2[l] = (uint32_t)(p0 >> 32) ^ c3[l] ^ k1;
      c3[l] = (uint32_t)p0;
    }
    k0 += PHILOX_W0;
    k1 += PHILOX_W1;
  }
  for (int l = 0; l < LANES; l++) {
    words[4 * l]     = c0[l];
    words[4 * l + 1] = c1[l];
    words[4 * l + 2] = c2[l];
    words[4 * l + 3] = c3[l];
  }
}

MUON_KERNEL_CLONES void MuonKernelStreamBlocks(const MuonKernelStream *stream, size_t count, const uint32_t *number, uint32_t *words)
{
  for (size_t b = 0; b < count; b += LANES) {
    const size_t left = count - b;

    if (left >= LANES) PhiloxLanes(stream, number + b, words + 4 * b);
    else {
      uint32_t padded[LANES], full[4 * LANES];

      for (size_t l = 0; l < LANES; l++) padded[l] = l < left ? number[b + l] : 0;
      PhiloxLanes(stream, padded, full);
      for (size_t w = 0; w < 4 * left; w++) words[4 * b + w] = full[w];
    }
  }
}

MUON_KERNEL_CLONES void MuonKernelStreamWords(const MuonKernelStream *stream, uint64_t first, size_t count, uint32_t *words)
{
  uint64_t block = first >> 2;
  size_t   skip = (size_t)(first & 3), done = 0;

  while (done < count) {
    uint32_t number[LANES], full[4 * LANES];
    size_t   take = 4 * LANES - skip;

    for (uint32_t l = 0; l < LANES; l++) number[l] = (uint32_t)block + l;
    if (take > count - done) take = count - done;
    if (take == 4 * LANES) PhiloxLanes(stream, number, words + done);
    else {
      PhiloxLanes(stream, number, full);
      for (size_t w = 0; w < take; w++) words[done + w] = full[skip + w];
    }
    done += take;
    block += LANES;
    skip = 0;
  }
}
