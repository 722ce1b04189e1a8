/*
   Majority votes against counting vote by vote: 1 to 16, 128 and 300 voters, by planes, by sums, along every
   shape of a tree; bits copied to and from every place.
*/
#include "kernels_common.h"

enum {
  BLOCK   = 8192, /* entries that the kernels look at together */
  MOST    = 2 * BLOCK + 331,
  TINYS   = 70,
  VOTERS  = 300,
  CANARY  = 0xA5,
  ROOM    = MOST / 8 + 1,
  BORDERS = 8 /* bytes behind a row that must stay */
};

static void CheckRow(size_t entries, const unsigned char *row, const char *expected, const char *what, size_t voters)
{
  const size_t bytes = (entries + 7) / 8;

  for (size_t i = 0; i < entries; i++) Check(Bit(row, i) == expected[i], "%s of %d: entry %d of %d", what, (int)voters, (int)i, (int)entries);
  for (size_t i = entries; i < 8 * bytes; i++) Check(Bit(row, i) == 0, "%s of %d: padding of %d", what, (int)voters, (int)entries);
  for (size_t i = 0; i < BORDERS; i++) Check(row[bytes + i] == CANARY, "%s of %d: behind the end of %d", what, (int)voters, (int)entries);
}

/* All ways to count the same votes */
static void CheckVotes(size_t entries, size_t voters, unsigned char *const plane[], const int *sum)
{
  const size_t   here     = allocations;
  const size_t   bytes    = (entries + 7) / 8;
  char          *majority = (char *)Allocate(entries), *tied = (char *)Allocate(entries);
  unsigned char *vote = (unsigned char *)Allocate(bytes + BORDERS), *ties = (unsigned char *)Allocate(bytes + BORDERS);
  int8_t        *narrow = (int8_t *)Allocate(entries);
  int16_t       *wide = (int16_t *)Allocate(entries * sizeof(int16_t)), *signs = (int16_t *)Allocate(entries * sizeof(int16_t));
  uint64_t       expected = 0, found;

  for (size_t i = 0; i < entries; i++) {
    expected += (uint64_t)abs(sum[i]);
    wide[i]   = (int16_t)sum[i];
    narrow[i] = (int8_t)sum[i];
    tied[i]   = sum[i] == 0;
  }
  for (int tie = 0; tie < 2; tie++) {
    for (size_t i = 0; i < entries; i++) majority[i] = tie == MUON_KERNEL_TIE_PLUS ? sum[i] >= 0 : sum[i] > 0;
    memset(vote, CANARY, bytes + BORDERS);
    memset(ties, CANARY, bytes + BORDERS);
    MuonKernelVote(entries, voters, (const unsigned char *const *)plane, NULL, (MuonKernelTie)tie, vote, ties, &found);
    CheckRow(entries, vote, majority, "majority", voters);
    CheckRow(entries, ties, tied, "ties", voters);
    Check(found == expected, "sum of %d votes on %d entries is %g, not %g", (int)voters, (int)entries, (double)found, (double)expected);
    memset(vote, CANARY, bytes + BORDERS);
    MuonKernelVote(entries, voters, (const unsigned char *const *)plane, NULL, (MuonKernelTie)tie, vote, NULL, NULL);
    CheckRow(entries, vote, majority, "majority alone", voters);
    for (unsigned size = voters <= 127 ? 1 : 2; size <= 2; size++) {
      memset(vote, CANARY, bytes + BORDERS);
      memset(ties, CANARY, bytes + BORDERS);
      MuonKernelVoteSummed(entries, size, size == 1 ? (const void *)narrow : wide, (MuonKernelTie)tie, vote, ties, &found);
      CheckRow(entries, vote, majority, "majority of sums", voters);
      CheckRow(entries, ties, tied, "ties of sums", voters);
      Check(found == expected, "sum of sums");
    }
  }
  /* What is summed, in both sizes */
  for (size_t j = 0; j < voters && j < 3; j++) {
    const unsigned char *coin = j == 2 ? plane[0] : NULL;

    MuonKernelVoteSpread(entries, plane[j], coin, 1, narrow);
    MuonKernelVoteSpread(entries, plane[j], coin, 2, signs);
    for (size_t i = 0; i < entries; i++) Check(narrow[i] == (2 * Bit(plane[j], i) - 1) * (coin == NULL ? 1 : Bit(coin, i) ? 0 : 2) && signs[i] == narrow[i], "sign %d", (int)i);
  }
  FreeFrom(here);
}

/* The counts of voters first ... first + voters - 1, put together from two parts wherever these are cut */
static unsigned char *Counted(size_t entries, size_t first, size_t voters, unsigned char *const plane[], uint64_t *state)
{
  const size_t   bytes = (entries + 7) / 8, all = MuonKernelVotePlanes(voters) * bytes;
  unsigned char *counts = (unsigned char *)Allocate(all + BORDERS);

  memset(counts, CANARY, all + BORDERS);
  if (voters == 1) memcpy(counts, plane[first], bytes);
  else {
    const size_t   left = 1 + (size_t)(NextBits(state) % (voters - 1));
    unsigned char *a = Counted(entries, first, left, plane, state), *b = Counted(entries, first + left, voters - left, plane, state);

    MuonKernelVoteAdd(entries, left, a, voters - left, b, counts);
  }
  for (size_t i = 0; i < BORDERS; i++) Check(counts[all + i] == CANARY, "behind the end of counts");
  return counts;
}

static void CheckTree(size_t entries, size_t voters, unsigned char *const plane[], const int *sum, uint64_t *state)
{
  const size_t   here   = allocations;
  const size_t   bytes  = (entries + 7) / 8;
  unsigned char *counts = Counted(entries, 0, voters, plane, state), *vote = (unsigned char *)Allocate(bytes), *ties = (unsigned char *)Allocate(bytes);
  uint64_t       found, expected = 0;

  for (size_t i = 0; i < entries; i++) {
    size_t ones = 0;

    for (unsigned k = 0; k < MuonKernelVotePlanes(voters); k++) ones += (size_t)Bit(counts + k * bytes, i) << k;
    Check(2 * (int)ones - (int)voters == sum[i], "%d ones of %d votes", (int)ones, (int)voters);
    expected += (uint64_t)abs(sum[i]);
  }
  for (int tie = 0; tie < 2; tie++) {
    MuonKernelVote(entries, voters, NULL, counts, (MuonKernelTie)tie, vote, ties, &found);
    for (size_t i = 0; i < entries; i++) Check(Bit(vote, i) == (sum[i] > 0 || (sum[i] == 0 && tie == MUON_KERNEL_TIE_PLUS)) && Bit(ties, i) == (sum[i] == 0), "majority of counts");
    Check(found == expected, "sum of counts");
  }
  FreeFrom(here);
}

/* Random votes, those in which all agree, and as many for as against where the number is even */
static void Votes(uint64_t *state)
{
  unsigned char *plane[VOTERS];
  int           *sum = (int *)Allocate(MOST * sizeof(int));

  for (size_t j = 0; j < VOTERS; j++) plane[j] = (unsigned char *)Allocate(ROOM);
  for (size_t voters = 1; voters <= VOTERS; voters = voters < 16 ? voters + 1 : voters == 16 ? 128 : voters == 128 ? 255 : voters == 255 ? 256 : voters == 256 ? VOTERS : VOTERS + 1) {
    for (int kind = 0; kind < 3; kind++) {
      static const size_t sizes[] = {1, 7, 8, 9, 63, 64, 65, BLOCK - 1, BLOCK, BLOCK + 1, MOST};

      for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        const size_t entries = sizes[s];

        memset(sum, 0, entries * sizeof(*sum));
        for (size_t j = 0; j < voters; j++) {
          memset(plane[j], 0, ROOM);
          for (size_t i = 0; i < entries; i++) {
            const int one = kind == 0 ? (int)(NextBits(state) >> 40 & 1) : kind == 1 ? (int)(i % 2) : (int)((j + i) % 2);

            plane[j][i / 8] = (unsigned char)(plane[j][i / 8] | one << i % 8);
            sum[i] += 2 * one - 1;
          }
        }
        CheckVotes(entries, voters, plane, sum);
        CheckTree(entries, voters, plane, sum, state);
      }
    }
  }
  FreeFrom(0);
}

static void Copies(uint64_t *state)
{
  unsigned char from[TINYS], to[TINYS], before[TINYS];

  for (size_t at = 0; at < 17; at++) {
    for (size_t where = 0; where < 17; where++) {
      for (size_t count = 0; count < 200; count++) {
        const size_t end = where + count;

        for (size_t i = 0; i < TINYS; i++) {
          from[i]   = (unsigned char)(NextBits(state) >> 9 & 255);
          before[i] = to[i] = (unsigned char)(NextBits(state) >> 9 & 255);
        }
        MuonKernelCopyBits(count, from, at, to, where);
        for (size_t i = 0; i < 8 * TINYS; i++) {
          const int ours = i >= where && i<end, padding = count> 0 && i >= end && i < (end + 7) / 8 * 8;

          Check(Bit(to, i) == (ours ? Bit(from, at + i - where) : padding ? 0 : Bit(before, i)), "bit %d of %d from %d to %d", (int)i, (int)count, (int)at, (int)where);
        }
      }
    }
  }
}

int main(void)
{
  uint64_t state = 11;

  for (size_t voters = 1; voters < 1000; voters++) Check((voters >> MuonKernelVotePlanes(voters)) == 0 && (voters >> (MuonKernelVotePlanes(voters) - 1)) == 1, "planes of %d", (int)voters);
  Votes(&state);
  Copies(&state);
  printf("ok\n");
  return 0;
}

/*TEST

  test:
    nsize: 0
    link: internal
    output_file: output/kernels_ok.out

TEST*/
