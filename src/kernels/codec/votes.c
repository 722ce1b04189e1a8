/*
   Majority votes on planes of bits: one bit for each entry and voter, LSB first, zero padding.

   The votes on 64 entries are counted in a few words, one word for each binary digit of the counts: bitwise adders add 64
   counts at a time. The loops run over blocks of words that stay in the first cache. Words are read and written in the byte
   order of the machine, because no bit changes its place.
*/
#include "../array/muonstretch.h"
#include "muonkernels.h"

#define BLOCK  128 /* words of a block: the bytes that are prefetched from each plane */
#define PLANES 32  /* the largest number of digits of a count */

/* A block of a plane. A shorter block at the end of the plane is copied and filled with zeros */
MUON_KERNEL_INLINE const unsigned char *Block(const unsigned char *plane, size_t bytes, uint64_t copy[BLOCK])
{
  if (bytes == BLOCK * sizeof(uint64_t)) return plane;
  memset(copy, 0, BLOCK * sizeof(uint64_t));
  memcpy(copy, plane, bytes);
  return (const unsigned char *)copy;
}

MUON_KERNEL_INLINE uint64_t Word(const unsigned char *block, size_t w)
{
  uint64_t word;

  memcpy(&word, block + w * sizeof(word), sizeof(word));
  return word;
}

/* Adds words to a digit of the counts, with carries into the higher digits */
MUON_KERNEL_INLINE void Ripple(unsigned planes, unsigned digit, uint64_t carry[BLOCK], uint64_t counts[][BLOCK])
{
  for (unsigned k = digit; k < planes; k++) {
    for (size_t w = 0; w < BLOCK; w++) {
      const uint64_t both = counts[k][w] & carry[w];

      counts[k][w] ^= carry[w];
      carry[w] = both;
    }
  }
}

/* Adds three bits. The first one becomes the sum; returns the carry */
MUON_KERNEL_INLINE uint64_t FullAdd(uint64_t *a, uint64_t b, uint64_t c)
{
  const uint64_t differ = *a ^ b, carry = (*a & b) | (differ & c);

  *a = differ ^ c;
  return carry;
}

/* Adds eight voters: seven additions, and one carry into the higher digits */
MUON_KERNEL_INLINE void AddEight(unsigned planes, const unsigned char *const x[8], uint64_t counts[][BLOCK])
{
  uint64_t carry[BLOCK];

  for (size_t w = 0; w < BLOCK; w++) {
    uint64_t one = counts[0][w], two = counts[1][w], four = counts[2][w];
    uint64_t a, b, c, d;

    a            = FullAdd(&one, Word(x[0], w), Word(x[1], w));
    b            = FullAdd(&one, Word(x[2], w), Word(x[3], w));
    c            = FullAdd(&two, a, b);
    a            = FullAdd(&one, Word(x[4], w), Word(x[5], w));
    b            = FullAdd(&one, Word(x[6], w), Word(x[7], w));
    d            = FullAdd(&two, a, b);
    carry[w]     = FullAdd(&four, c, d);
    counts[0][w] = one;
    counts[1][w] = two;
    counts[2][w] = four;
  }
  Ripple(planes, 3, carry, counts);
}

/* Prefetches a block of a plane: processors prefetch only a few streams by themselves */
MUON_KERNEL_INLINE void Ahead(const unsigned char *plane)
{
  for (size_t line = 0; line < BLOCK * sizeof(uint64_t); line += 64) MUON_KERNEL_PREFETCH(plane + line);
}

MUON_KERNEL_INLINE void Count(size_t voters, unsigned planes, const unsigned char *const bits[], size_t at, size_t bytes, uint64_t counts[][BLOCK])
{
  const size_t         next = at + BLOCK * sizeof(uint64_t);
  uint64_t             copy[8][BLOCK], carry[BLOCK];
  const unsigned char *x[8];
  size_t               v = 0;

  if (voters > 1 && voters < 8) { /* the first two voters need no carry */
    for (; v < 2; v++) x[v] = Block(bits[v] + at, bytes, copy[v]);
    for (size_t w = 0; w < BLOCK; w++) {
      const uint64_t a = Word(x[0], w), b = Word(x[1], w);

      counts[0][w] = a ^ b;
      counts[1][w] = a & b;
    }
    for (unsigned k = 2; k < planes; k++) memset(counts[k], 0, sizeof(counts[k]));
  } else memset(counts, 0, planes * sizeof(counts[0]));
  for (; v + 8 <= voters; v += 8) {
    for (size_t k = 0; k < 8; k++) {
      x[k] = Block(bits[v + k] + at, bytes, copy[k]);
      if (voters > 8) Ahead(bits[v + k] + next);
    }
    AddEight(planes, x, counts);
  }
  for (; v < voters; v++) {
    x[0] = Block(bits[v] + at, bytes, copy[0]);
    for (size_t w = 0; w < BLOCK; w++) carry[w] = Word(x[0], w);
    Ripple(planes, 0, carry, counts);
  }
}

/*
   Majorities from the counts of ones, the number of voters and the rule for ties. Let an entry have c ones from J voters, and
   let r be 1 if 2 c >= J, else 0. The sum of |2 c - J| is the sum of (2 r - 1) (2 c - J). For a digit x of c, the sum of
   (2 r - 1) x is the number of entries with x = r minus the number of entries with r = 0. Entries behind the end count in both numbers
*/
MUON_KERNEL_INLINE uint64_t Decide(size_t voters, unsigned planes, uint64_t counts[][BLOCK], MuonKernelTie tie, size_t at, size_t bytes, size_t entries, unsigned char *vote, unsigned char *ties, int sums)
{
  const uint64_t least = tie == MUON_KERNEL_TIE_MINUS ? voters / 2 + 1 : (voters + 1) / 2;
  uint64_t       most[BLOCK], equal[BLOCK], sum = 0, ones = 0;

  for (size_t w = 0; w < BLOCK; w++) most[w] = ~(uint64_t)0;
  for (unsigned k = 0; k < planes; k++) {
    if ((least >> k & 1u) != 0) {
      for (size_t w = 0; w < BLOCK; w++) most[w] &= counts[k][w];
    } else {
      for (size_t w = 0; w < BLOCK; w++) most[w] |= counts[k][w];
    }
  }
  memcpy(vote + at, most, bytes);
  if (ties != NULL) {
    for (size_t w = 0; w < BLOCK; w++) equal[w] = voters % 2 == 0 ? ~(uint64_t)0 : 0;
    for (unsigned k = 0; k < planes; k++) {
      const uint64_t digit = (voters / 2 >> k & 1u) != 0 ? 0 : ~(uint64_t)0;

      for (size_t w = 0; w < BLOCK; w++) equal[w] &= counts[k][w] ^ digit;
    }
    memcpy(ties + at, equal, bytes);
  }
  if (!sums) return 0;
  for (size_t w = 0; w < BLOCK; w++) ones += CountOnes(most[w]);
  for (unsigned k = 0; k < planes; k++) {
    uint64_t same = 0;

    for (size_t w = 0; w < BLOCK; w++) same += CountOnes(~(counts[k][w] ^ most[w]));
    sum += (same + ones - BLOCK * WORD) << (k + 1);
  }
  return sum + voters * entries - 2 * voters * ones;
}

unsigned MuonKernelVotePlanes(size_t voters)
{
  unsigned planes = 1;

  while (voters >> planes > 0) planes++;
  return planes;
}

MUON_KERNEL_CLONES void MuonKernelVote(size_t entries, size_t voters, const unsigned char *const bits[], const unsigned char *counted, MuonKernelTie tie, unsigned char *vote, unsigned char *ties, uint64_t *sumabs)
{
  const unsigned planes = MuonKernelVotePlanes(voters);
  const size_t   bytes = entries / 8 + (entries % 8 != 0), block = BLOCK * sizeof(uint64_t);
  uint64_t       counts[PLANES][BLOCK], sum                      = 0;

  for (size_t at = 0; at < bytes; at += block) {
    const size_t some = bytes - at < block ? bytes - at : block, here = entries - 8 * at < 8 * some ? entries - 8 * at : 8 * some;

    if (counted == NULL) Count(voters, planes, bits, at, some, counts);
    else {
      memset(counts, 0, planes * sizeof(counts[0]));
      for (unsigned k = 0; k < planes; k++) memcpy(counts[k], counted + k * bytes + at, some);
    }
    sum += Decide(voters, planes, counts, tie, at, some, here, vote, ties, sumabs != NULL);
  }
  if (sumabs != NULL) *sumabs = sum;
}

MUON_KERNEL_CLONES void MuonKernelVoteAdd(size_t entries, size_t votersa, const unsigned char *a, size_t votersb, const unsigned char *b, unsigned char *to)
{
  const unsigned planes = MuonKernelVotePlanes(votersa + votersb), planesa = MuonKernelVotePlanes(votersa), planesb = MuonKernelVotePlanes(votersb);
  const size_t   bytes = entries / 8 + (entries % 8 != 0), block = BLOCK * sizeof(uint64_t);

  for (size_t at = 0; at < bytes; at += block) {
    const size_t some         = bytes - at < block ? bytes - at : block;
    uint64_t     carry[BLOCK] = {0};

    for (unsigned k = 0; k < planes; k++) {
      uint64_t x[BLOCK] = {0}, y[BLOCK] = {0};

      if (k < planesa) memcpy(x, a + k * bytes + at, some);
      if (k < planesb) memcpy(y, b + k * bytes + at, some);
      for (size_t w = 0; w < BLOCK; w++) carry[w] = FullAdd(&x[w], y[w], carry[w]);
      memcpy(to + k * bytes + at, x, some);
    }
  }
}

MUON_KERNEL_CLONES void MuonKernelVoteSpread(size_t entries, const unsigned char *bits, const unsigned char *coin, unsigned size, void *signs)
{
  for (size_t first = 0; first < entries; first += WORD) {
    const size_t   some = entries - first < WORD ? entries - first : WORD;
    const uint64_t word = LoadWord(bits, first, some), tails = coin == NULL ? 0 : LoadWord(coin, first, some);
    int8_t         x[WORD];
    int16_t        wide[WORD];

    for (size_t i = 0; i < WORD; i++) x[i] = (int8_t)((2 * (int)(word >> i & 1u) - 1) * (coin == NULL ? 1 : 2 - 2 * (int)(tails >> i & 1u)));
    for (size_t i = 0; i < WORD; i++) wide[i] = x[i];
    if (size == 1) memcpy((int8_t *)signs + first, x, some);
    else memcpy((int16_t *)signs + first, wide, some * sizeof(wide[0]));
  }
}

/* From sums in 8 or 16 bits */
MUON_KERNEL_CLONES void MuonKernelVoteSummed(size_t entries, unsigned size, const void *sums, MuonKernelTie tie, unsigned char *vote, unsigned char *ties, uint64_t *sumabs)
{
  const int least = tie == MUON_KERNEL_TIE_MINUS ? 1 : 0;
  uint64_t  sum   = 0;

  for (size_t first = 0; first < entries; first += WORD) {
    const size_t some    = entries - first < WORD ? entries - first : WORD;
    int16_t      x[WORD] = {0};
    uint64_t     most = 0, equal = 0;

    for (size_t i = 0; i < some; i++) x[i] = size == 1 ? ((const int8_t *)sums)[first + i] : ((const int16_t *)sums)[first + i];
    for (size_t i = 0; i < some; i++) {
      most |= (uint64_t)(x[i] >= least) << i;
      equal |= (uint64_t)(x[i] == 0) << i;
      sum += (uint64_t)(x[i] < 0 ? -x[i] : x[i]);
    }
    StoreWord(vote, first, some, most);
    if (ties != NULL) StoreWord(ties, first, some, equal);
  }
  if (sumabs != NULL) *sumabs = sum;
}

void MuonKernelCopyBits(size_t count, const unsigned char *from, size_t at, unsigned char *to, size_t where)
{
  const unsigned       right = (unsigned)(at % 8), left = (unsigned)(where % 8);
  const unsigned char *x     = from + at / 8;
  unsigned char       *y     = to + where / 8;
  const size_t         bytes = (right + count + 7) / 8; /* bytes of from that have one of these bits */
  unsigned             have  = left > 0 ? *y & ((1u << left) - 1) : 0;

  if (count == 0) return;
  if (left == 0 && right == 0) {
    memcpy(y, x, count / 8);
    if (count % 8 != 0) y[count / 8] = (unsigned char)(x[count / 8] & ((1u << count % 8) - 1));
    return;
  }
  for (size_t done = 0, i = 0; done < count; done += 8, i++) {
    const unsigned some = count - done < 8 ? (unsigned)(count - done) : 8;
    unsigned       byte = x[i] >> right;

    if (right > 0 && i + 1 < bytes) byte |= (unsigned)x[i + 1] << (8 - right);
    byte &= (1u << some) - 1;
    have |= byte << left;
    y[i] = (unsigned char)(have & 255u);
    have >>= 8;
    if (left + some > 8) y[i + 1] = (unsigned char)have;
  }
}
