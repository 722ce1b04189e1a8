/*
   The checksum: published vectors, both implementations against the definition, pieces against the whole.
*/
#include "wire/muonwirecrc.h"
#include "wire_corpus.h"

/* One bit at a time: the register holds the remainder of the division by the reflected polynomial */
static uint32_t CRCByDefinition(uint32_t crc, const unsigned char *data, size_t bytes)
{
  uint32_t state = ~crc;

  for (size_t i = 0; i < 8 * bytes; i++) {
    const uint32_t bit = (state ^ (uint32_t)data[i / 8] >> i % 8) & 1;

    state = state >> 1 ^ (bit != 0 ? 0x82F63B78u : 0);
  }
  return ~state;
}

static void CheckAll(uint32_t crc, const unsigned char *data, size_t bytes, uint32_t expected)
{
  Check(MuonWireCRC32C(crc, data, bytes) == expected, "%d bytes", (int)bytes);
  Check(MuonWireCRC32CTable(crc, data, bytes) == expected, "%d bytes", (int)bytes);
#if defined(MUON_WIRE_HAVE_SSE42)
  if (__builtin_cpu_supports("sse4.2")) Check(MuonWireCRC32CSSE42(crc, data, bytes) == expected, "%d bytes", (int)bytes);
#endif
}

int main(void)
{
  const size_t   most  = 10000;
  uint64_t       state = 1;
  unsigned char *data  = (unsigned char *)Allocate(most), fixed[32];

  /* RFC 3720, B.4, and the check value of the catalogues */
  CheckAll(0, (const unsigned char *)"123456789", 9, 0xE3069283u);
  memset(fixed, 0, 32);
  CheckAll(0, fixed, 32, 0x8A9136AAu);
  memset(fixed, 255, 32);
  CheckAll(0, fixed, 32, 0x62A8AB43u);
  for (unsigned i = 0; i < 32; i++) fixed[i] = (unsigned char)i;
  CheckAll(0, fixed, 32, 0x46DD794Eu);
  for (unsigned i = 0; i < 32; i++) fixed[i] = (unsigned char)(31 - i);
  CheckAll(0, fixed, 32, 0x113FDB5Cu);
  CheckAll(0, fixed, 0, 0);

  for (size_t i = 0; i < most; i++) data[i] = (unsigned char)(NextBits(&state) & 255);
  for (size_t first = 0; first < 9; first++) {
    for (size_t bytes = 0; bytes < 70; bytes++) CheckAll((uint32_t)state, data + first, bytes, CRCByDefinition((uint32_t)state, data + first, bytes));
  }
  for (size_t i = 0; i < 60; i++) {
    const size_t first = i % 8, bytes = 3072 * (i % 3 + 1) - 17 + (size_t)(NextBits(&state) % 33);

    CheckAll((uint32_t)i, data + first, bytes, CRCByDefinition((uint32_t)i, data + first, bytes));
  }
  /*
     A state of the register uses one entry in 256 of the tables that join the three strides: enough states to
     meet all of them
  */
  for (size_t i = 0; i < 2500; i++) {
    const uint32_t crc = (uint32_t)NextBits(&state);

    CheckAll(crc, data, 3072, MuonWireCRC32CTable(crc, data, 3072));
  }
  for (size_t i = 0; i < 200; i++) {
    const size_t cut = (size_t)(NextBits(&state) % (most + 1));

    CheckAll(MuonWireCRC32C(0, data, cut), data + cut, most - cut, MuonWireCRC32C(0, data, most));
  }
  free(data);
  printf("ok\n");
  return 0;
}

/*TEST

  test:
    nsize: 0
    link: internal
    output_file: output/wire_ok.out

TEST*/
