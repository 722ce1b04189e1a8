/*
   Entries that have a byte each in memory: the same sections as those of the entries, eight codes at a time.
*/
#include "muonwirebits.h"

/* The lowest width bits of eight bytes side by side, and back */
static uint64_t MuonWireCodesJoin(uint64_t x, unsigned width)
{
  x = (x & UINT64_C(0x00FF00FF00FF00FF)) | (x >> 8 & UINT64_C(0x00FF00FF00FF00FF)) << width;
  x = (x & UINT64_C(0x0000FFFF0000FFFF)) | (x >> 16 & UINT64_C(0x0000FFFF0000FFFF)) << 2 * width;
  return (x & UINT64_C(0x00000000FFFFFFFF)) | (x >> 32) << 4 * width;
}

static uint64_t MuonWireCodesPart(uint64_t x, unsigned width)
{
  const uint64_t one = (UINT64_C(1) << width) - 1, two = (UINT64_C(1) << 2 * width) - 1, four = (UINT64_C(1) << 4 * width) - 1;

  x = (x & four) | (x >> 4 * width & four) << 32;
  x = (x & (two | two << 32)) | (x >> 2 * width & (two | two << 32)) << 16;
  return (x & (one | one << 16 | one << 32 | one << 48)) | (x >> width & (one | one << 16 | one << 32 | one << 48)) << 8;
}

void MuonWireCodesEncode(unsigned width, uint64_t count, const unsigned char *codes, unsigned char *to)
{
  unsigned bytes;
  uint64_t word;

  /* A word of eight bytes is written whole where the next ones write over what is beyond it */
  for (; count >= 64; count -= 8, codes += 8, to += width) MuonWireStore64(to, MuonWireCodesJoin(MuonWireLoad64(codes), width));
  for (; count > 0; count -= count < 8 ? count : 8, codes += 8, to += width) {
    word  = MuonWireCodesJoin(MuonWireLoadPart(codes, count < 8 ? (unsigned)count : 8), width);
    bytes = count < 8 ? ((unsigned)count * width + 7) / 8 : width;
    for (unsigned b = 0; b < bytes; b++) to[b] = (unsigned char)(word >> 8 * b & 255);
  }
}

void MuonWireCodesDecode(unsigned width, uint64_t count, const unsigned char *from, uint64_t first, unsigned char *codes)
{
  from += first / 8 * width;
  for (; count >= 64; count -= 8, codes += 8, from += width) MuonWireStore64(codes, MuonWireCodesPart(MuonWireLoad64(from), width));
  for (; count > 0; count -= count < 8 ? count : 8, codes += 8, from += width) {
    const unsigned some = count < 8 ? (unsigned)count : 8;
    const uint64_t word = MuonWireCodesPart(MuonWireLoadPart(from, (some * width + 7) / 8), width);

    for (unsigned i = 0; i < some; i++) codes[i] = (unsigned char)(word >> 8 * i & 255);
  }
}
