/*
   The counter-based generator Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy
   as 1, 2, 3", 2011).

   A word depends only on its counter and the key. Any rank can therefore compute the random number of any entry, in any
   order and without state.
*/
#include "muonkernels.h"
#include "../array/muonentry.h"

#define PHILOX_M0 0xD2511F53u
#define PHILOX_M1 0xCD9E8D57u
#define PHILOX_W0 0x9E3779B9u
#define PHILOX_W1 0xBB67AE85u
#define ROUNDS    10

/*
   The number of blocks that are computed side by side. It is constant, so that compilers can use vectors
*/
#define LANES 32

/* words[4 l + w] = word w of the block number[l], for all LANES lanes */
MUON_KERNEL_CLONES static void PhiloxLanesPlain(const MuonKernelStream *stream, const uint32_t number[LANES], uint32_t words[4 * LANES])
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

#if defined(MUON_KERNEL_CLONES_X86)
  #include <immintrin.h>

typedef uint64_t Wide __attribute__((vector_size(64)));

  #define WIDE 8
  #define LOW  0xFFFFFFFFu
  #define ALL  0xFFu

/*
   The same with a word in the lower half of 64 bits, as the multiplication of the processor reads it. Compilers do not find
   this by themselves
*/
__attribute__((target("avx512f"), optimize("O3"))) static void PhiloxLanesWide(const MuonKernelStream *stream, const uint32_t number[LANES], uint32_t words[4 * LANES])
{
  const Wide m0 = (Wide)_mm512_set1_epi64(PHILOX_M0), m1 = (Wide)_mm512_set1_epi64(PHILOX_M1), layer = (Wide)_mm512_set1_epi64(stream->layer), step = (Wide)_mm512_set1_epi64(stream->step);
  const Wide who   = (Wide)_mm512_set1_epi64(stream->sender | stream->direction << 31);
  const Wide lower = {0, 8, 1, 9, 2, 10, 3, 11}, upper = {4, 12, 5, 13, 6, 14, 7, 15};
  uint32_t   k0 = (uint32_t)stream->seed, k1 = (uint32_t)(stream->seed >> 32);
  Wide       c0[LANES / WIDE], c1[LANES / WIDE], c2[LANES / WIDE], c3[LANES / WIDE];

  for (int v = 0; v < LANES / WIDE; v++) {
    c0[v] = (Wide)_mm512_maskz_cvtepu32_epi64(ALL, _mm256_loadu_si256((const __m256i *)(number + WIDE * v)));
    c1[v] = layer;
    c2[v] = step;
    c3[v] = who;
  }
  for (int round = 0; round < ROUNDS; round++) {
    const Wide w0 = (Wide)_mm512_set1_epi64(k0), w1 = (Wide)_mm512_set1_epi64(k1);

    for (int v = 0; v < LANES / WIDE; v++) {
      const Wide p0 = (Wide)_mm512_maskz_mul_epu32(ALL, (__m512i)c0[v], (__m512i)m0), p1 = (Wide)_mm512_maskz_mul_epu32(ALL, (__m512i)c2[v], (__m512i)m1);

      c0[v] = p1 >> 32 ^ c1[v] ^ w0;
      c1[v] = p1;
      c2[v] = p0 >> 32 ^ c3[v] ^ w1;
      c3[v] = p0;
    }
    k0 += PHILOX_W0;
    k1 += PHILOX_W1;
  }
  for (int v = 0; v < LANES / WIDE; v++) {
    const Wide even = (c0[v] & LOW) | c1[v] << 32, odd = (c2[v] & LOW) | c3[v] << 32;
    const Wide first = __builtin_shuffle(even, odd, lower), second = __builtin_shuffle(even, odd, upper);

    memcpy(words + 4 * WIDE * v, &first, sizeof(first));
    memcpy(words + 4 * WIDE * v + 2 * WIDE, &second, sizeof(second));
  }
}

static void PhiloxLanes(const MuonKernelStream *stream, const uint32_t number[LANES], uint32_t words[4 * LANES])
{
  if (__builtin_cpu_supports("avx512f")) PhiloxLanesWide(stream, number, words);
  else PhiloxLanesPlain(stream, number, words);
}
#else
static void PhiloxLanes(const MuonKernelStream *stream, const uint32_t number[LANES], uint32_t words[4 * LANES])
{
  PhiloxLanesPlain(stream, number, words);
}
#endif

void MuonKernelStreamBlocks(const MuonKernelStream *stream, size_t count, const uint32_t *number, uint32_t *words)
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

void MuonKernelStreamWords(const MuonKernelStream *stream, uint64_t first, size_t count, uint32_t *words)
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

void MuonKernelStreamBits(const MuonKernelStream *stream, uint64_t first, size_t count, unsigned char *bits, size_t where)
{
  uint32_t      words[4 * LANES];
  unsigned char bytes[sizeof(words)];

  for (size_t done = 0, some; done < count; done += some) {
    const size_t skip = (size_t)((first + done) % 32), left = 8 * sizeof(words) - skip;

    some = count - done < left ? count - done : left;
    MuonKernelStreamWords(stream, (first + done) / 32, (skip + some + 31) / 32, words);
    for (size_t b = 0; b < (skip + some + 7) / 8; b++) bytes[b] = (unsigned char)(words[b / 4] >> 8 * (b % 4) & 255u);
    MuonKernelCopyBits(some, bytes, skip, bits, where + done);
  }
}
