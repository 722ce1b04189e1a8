/*
   Philox4x32-10 against the vectors that its authors published (Random123), and the layout of the streams
   against single blocks. tests/oracle/philox.py computes the same streams a second time.
*/
#include "kernels_common.h"
#include "kernels/array/muonentry.h"

typedef struct {
  uint32_t counter[4], key[2], out[4];
} Known;

static const Known known[3] = {{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
                               {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
                               {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}, {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};

static uint32_t WordOf(const MuonKernelStream *stream, uint64_t entry)
{
  uint32_t out[4] = {(uint32_t)(entry / 4), stream->layer, stream->step, stream->sender + (stream->direction == 1 ? 0x80000000u : 0)};

  PhiloxBlock((uint32_t)(stream->seed & 0xffffffff), (uint32_t)(stream->seed >> 32), out);
  return out[entry % 4];
}

int main(int argc, char **argv)
{
  static const size_t    counts[]  = {0, 1, 2, 3, 4, 5, 63, 64, 65, 127, 128, 129, 131, 300};
  const MuonKernelStream streams[] = {{0, 0, 0, 0, 0}, {1, 0xF20BDDB7, 7, 3, 0}, {0xDEADBEEF12345678u, 0xFFFFFFFF, 0xFFFFFFFF, 0x7FFFFFFF, 1}, {(uint64_t)-1, 2166136261, 1000, 0, 1}};
  static unsigned char   bits[1000], expected[1000];
  uint32_t               words[300], number[300], blocks[1200];
  char                   path[4096];
  const char            *dir = NULL;
  FILE                  *file;

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
        for (size_t k = 0; k < counts[c]; k++) Check(words[k] == WordOf(&streams[s], at + k), "stream %d from %d, word %d", (int)s, (int)first, (int)k);
        for (size_t k = counts[c]; k < 300; k++) Check(words[k] == 0, "written past %d words", (int)counts[c]);
      }
      for (size_t k = 0; k < counts[c]; k++) number[k] = (uint32_t)(k * k * 2654435761u);
      MuonKernelStreamBlocks(&streams[s], counts[c], number, blocks);
      for (size_t k = 0; k < 4 * counts[c]; k++) Check(blocks[k] == WordOf(&streams[s], 4 * (uint64_t)number[k / 4] + k % 4), "stream %d, block %d", (int)s, (int)(k / 4));
    }
    /* Bits from anywhere to anywhere; those before them stay, and what is behind in their last byte is 0 */
    for (size_t k = 0; k < 60; k++) {
      const size_t   where = k % 19, count = 2 * k * k;
      const uint64_t at = (uint64_t)k * k * k << (k % 3) * 8;

      memset(bits, 0xFF, sizeof(bits));
      memset(expected, 0xFF, sizeof(expected));
      for (size_t b = where; count > 0 && b < (where + count + 7) / 8 * 8; b++) {
        expected[b / 8] &= (unsigned char)~(1u << b % 8);
        if (b < where + count) expected[b / 8] |= (unsigned char)((WordOf(&streams[s], (at + b - where) / 32) >> (at + b - where) % 32 & 1u) << b % 8);
      }
      MuonKernelStreamBits(&streams[s], at, count, bits, where);
      Check(memcmp(bits, expected, sizeof(bits)) == 0, "stream %d, %d bits from %d", (int)s, (int)count, (int)at);
    }
  }

  for (int a = 1; a + 1 < argc; a++) {
    if (strcmp(argv[a], "-oracle_dir") == 0) dir = argv[a + 1];
  }
  Check(dir != NULL, "-oracle_dir names the folder to write into");
  snprintf(path, sizeof(path), "%s/philox.txt", dir);
  file = fopen(path, "w");
  Check(file != NULL, "cannot write %s", path);
  for (size_t s = 0; s < sizeof(streams) / sizeof(streams[0]); s++) {
    for (uint64_t first = 5; first < 50000000000u; first *= 1009) {
      fprintf(file, "%llu %lu %lu %lu %lu %llu", (unsigned long long)streams[s].seed, (unsigned long)streams[s].layer, (unsigned long)streams[s].step, (unsigned long)streams[s].sender, (unsigned long)streams[s].direction, (unsigned long long)first);
      MuonKernelStreamWords(&streams[s], first, 100, words);
      for (size_t k = 0; k < 100; k++) fprintf(file, " %lu", (unsigned long)words[k]);
      fprintf(file, "\n");
    }
  }
  Check(fclose(file) == 0, "cannot write %s", path);
  printf("ok\n");
  return 0;
}

/*TEST

  test:
    nsize: 0
    link: internal
    oracle: philox.py
    output_file: output/kernels_ok.out

TEST*/
