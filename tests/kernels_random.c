/*
   Random numbers: Philox4x32-10 against the vectors that its authors published (Random123), and the layout of the streams
   against single blocks; MuonKernelSubset(): sets of the right size, all of them equally often. tests/oracle/subset.py
   computes the same sets a second time; the streams are those of tests/oracle/compressor.py.
*/
#include "kernels_common.h"
#include "kernels/array/muonentry.h"

typedef struct {
  uint32_t counter[4], key[2], out[4];
} Known;

static const Known known[3] = {{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
                               {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
                               {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}, {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};

static uint32_t BlockWord(const MuonKernelStream *stream, uint64_t entry)
{
  uint32_t out[4] = {(uint32_t)(entry / 4), stream->layer, stream->step, stream->sender + (stream->direction == 1 ? 0x80000000u : 0)};

  PhiloxBlock((uint32_t)(stream->seed & 0xffffffff), (uint32_t)(stream->seed >> 32), out);
  return out[entry % 4];
}

static void CheckStreams(void)
{
  static const size_t    counts[]  = {0, 1, 2, 3, 4, 5, 63, 64, 65, 127, 128, 129, 131, 300};
  const MuonKernelStream streams[] = {{0, 0, 0, 0, 0}, {1, 0xF20BDDB7, 7, 3, 0}, {0xDEADBEEF12345678u, 0xFFFFFFFF, 0xFFFFFFFF, 0x7FFFFFFF, 1}, {(uint64_t)-1, 2166136261, 1000, 0, 1}};
  static unsigned char   bits[1000], expected[1000];
  uint32_t               words[300], number[300], blocks[1200];

  for (int v = 0; v < 3; v++) {
    uint32_t out[4];

    memcpy(out, known[v].counter, sizeof(out));
    PhiloxBlock(known[v].key[0], known[v].key[1], out);
    Check(memcmp(out, known[v].out, sizeof(out)) == 0, "vector %d", v);
  }
  for (size_t s = 0; s < sizeof(streams) / sizeof(streams[0]); s++) {
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
      for (uint64_t first = 0; first < 9; first++) {
        const uint64_t at = first < 8 ? first : 0x3FFFFFE00u;

        memset(words, 0, sizeof(words));
        MuonKernelStreamWords(&streams[s], at, counts[c], words);
        for (size_t k = 0; k < counts[c]; k++) Check(words[k] == BlockWord(&streams[s], at + k), "stream %d from %d, word %d", (int)s, (int)first, (int)k);
        for (size_t k = counts[c]; k < 300; k++) Check(words[k] == 0, "written past %d words", (int)counts[c]);
      }
      for (size_t k = 0; k < counts[c]; k++) number[k] = (uint32_t)(k * k * 2654435761u);
      MuonKernelStreamBlocks(&streams[s], counts[c], number, blocks);
      for (size_t k = 0; k < 4 * counts[c]; k++) Check(blocks[k] == BlockWord(&streams[s], 4 * (uint64_t)number[k / 4] + k % 4), "stream %d, block %d", (int)s, (int)(k / 4));
    }
    /* Bits from anywhere to anywhere; those before them stay, and what is behind in their last byte is 0 */
    for (size_t k = 0; k < 60; k++) {
      const size_t   where = k % 19, count = 2 * k * k;
      const uint64_t at = (uint64_t)k * k * k << (k % 3) * 8;

      memset(bits, 0xFF, sizeof(bits));
      memset(expected, 0xFF, sizeof(expected));
      for (size_t b = where; count > 0 && b < (where + count + 7) / 8 * 8; b++) {
        expected[b / 8] &= (unsigned char)~(1u << b % 8);
        if (b < where + count) expected[b / 8] |= (unsigned char)((BlockWord(&streams[s], (at + b - where) / 32) >> (at + b - where) % 32 & 1u) << b % 8);
      }
      MuonKernelStreamBits(&streams[s], at, count, bits, where);
      Check(memcmp(bits, expected, sizeof(bits)) == 0, "stream %d, %d bits from %d", (int)s, (int)count, (int)at);
    }
  }
}

/* So many of the entries and no more, nothing behind the last one, whatever the bytes held before */
static void CheckSize(size_t entries, size_t count, uint64_t seed)
{
  const size_t   here   = allocations;
  const size_t   bytes  = (entries + 7) / 8;
  unsigned char *bitmap = (unsigned char *)Allocate(bytes + 1), *again = (unsigned char *)Allocate(bytes + 1);
  size_t         found = 0;

  memset(bitmap, 0xA5, bytes + 1);
  memset(again, 0x5A, bytes + 1);
  MuonKernelSubset(entries, count, seed, bitmap);
  MuonKernelSubset(entries, count, seed, again);
  for (size_t e = 0; e < 8 * bytes; e++) {
    found += (size_t)Bit(bitmap, e);
    Check(e < entries || !Bit(bitmap, e), "%d of %d: padding", (int)count, (int)entries);
  }
  Check(found == count, "%d of %d: %d found", (int)count, (int)entries, (int)found);
  Check(memcmp(bitmap, again, bytes) == 0 && bitmap[bytes] == 0xA5, "%d of %d: written elsewhere", (int)count, (int)entries);
  FreeFrom(here);
}

/*
   A sum of chi-square with that many degrees of freedom is outside of this with a probability of 2 exp(-20)
   (Laurent and Massart, 2000, lemma 1)
*/
static void CheckChiSquare(double sum, double freedom, const char what[])
{
  const double x = 20;

  Check(sum <= freedom + 2 * sqrt(freedom * x) + 2 * x, "%s: chi-square %g with %g degrees of freedom", what, sum, freedom);
  Check(sum >= freedom - 2 * sqrt(freedom * x), "%s: chi-square %g with %g degrees of freedom is too even", what, sum, freedom);
}

/* Every set of count of up to eight entries, as often as any other */
static void CheckSets(size_t entries, size_t count)
{
  size_t seen[256] = {0}, sets = 0;
  double sum = 0;

  for (size_t set = 0; set < (size_t)1 << entries; set++) {
    size_t ones = 0;

    for (size_t e = 0; e < entries; e++) ones += set >> e & 1u;
    sets += ones == count;
  }
  for (uint64_t seed = 0; seed < 500 * sets; seed++) {
    unsigned char bitmap;

    MuonKernelSubset(entries, count, seed << 20 | entries << 8 | count, &bitmap);
    seen[bitmap]++;
  }
  for (size_t set = 0; set < 256; set++) {
    if (seen[set] > 0) sum += (double)seen[set] * (double)seen[set] / 500;
  }
  /* sum of (seen - 500)^2 / 500 */
  CheckChiSquare(sum - 500 * (double)sets, (double)sets - 1, "sets");
}

static void CheckSubsets(FILE *file)
{
  static const size_t   sizes[][2] = {{0, 0}, {1, 0}, {1, 1}, {7, 3}, {8, 4}, {8, 8}, {9, 8}, {64, 1}, {300, 150}, {300, 151}, {960, 96}, {1000, 257}, {1537, 1025}, {4096, 513}, {20000, 19000}, {100003, 30000}};
  static const uint64_t seeds[]    = {0, 1, 0x123456789ABCDEF0u, (uint64_t)1 << 32, UINT64_MAX};
  unsigned char         example;

  /* The example of src/wire/README.md: 4, 6 and, as 4 is drawn twice, 7 */
  MuonKernelSubset(8, 3, 4, &example);
  Check(example == 0xD0, "the example is %02x", (unsigned)example);
  for (size_t entries = 0; entries < 40; entries++) {
    for (size_t count = 0; count <= entries; count++) CheckSize(entries, count, 7 * entries + count);
  }
  for (size_t count = 0; count <= 3000; count += 50) CheckSize(3000, count, count);
  for (size_t entries = 2; entries <= 8; entries++) {
    for (size_t count = 1; count < entries; count++) CheckSets(entries, count);
  }
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    const size_t   bytes  = (sizes[i][0] + 7) / 8;
    unsigned char *bitmap = (unsigned char *)Allocate(bytes);

    for (size_t s = 0; s < sizeof(seeds) / sizeof(seeds[0]); s++) {
      MuonKernelSubset(sizes[i][0], sizes[i][1], seeds[s], bitmap);
      fprintf(file, "%lu %lu %llu ", (unsigned long)sizes[i][0], (unsigned long)sizes[i][1], (unsigned long long)seeds[s]);
      for (size_t b = 0; b < bytes; b++) fprintf(file, "%02x", (unsigned)bitmap[b]);
      fprintf(file, "\n");
    }
  }
}

int main(int argc, char **argv)
{
  FILE *file = OracleFile(argc, argv, "subset.txt");

  CheckStreams();
  CheckSubsets(file);
  Check(fclose(file) == 0, "not written");
  printf("ok\n");
  return 0;
}

/*TEST

  test:
    nsize: 0
    link: internal
    output_file: output/kernels_ok.out
    oracle: subset.py

TEST*/
