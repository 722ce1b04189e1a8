/*
   Codes: numbers with the same number of bits, stored end to end, the lowest bit first. Entries, levels of blocks and
   natural values are codes. This file packs and unpacks them.
*/
#include "muonwirewide.h"

MUON_WIRE_EACH uint64_t MuonWireCodeGet(unsigned size, const void *codes, uint64_t i)
{
  return size == 1 ? ((const uint8_t *)codes)[i] : size == 2 ? ((const uint16_t *)codes)[i] : ((const uint64_t *)codes)[i];
}

MUON_WIRE_EACH void MuonWireCodePut(unsigned size, void *codes, uint64_t i, uint64_t code)
{
  if (size == 1) ((uint8_t *)codes)[i] = (uint8_t)code;
  else if (size == 2) ((uint16_t *)codes)[i] = (uint16_t)code;
  else ((uint64_t *)codes)[i] = code;
}

/* Joins the lowest width bits of eight bytes, and splits them again: much faster than byte by byte */
static inline uint64_t MuonWireBytesJoin(uint64_t x, unsigned width)
{
  x = (x & UINT64_C(0x00FF00FF00FF00FF)) | (x >> 8 & UINT64_C(0x00FF00FF00FF00FF)) << width;
  x = (x & UINT64_C(0x0000FFFF0000FFFF)) | (x >> 16 & UINT64_C(0x0000FFFF0000FFFF)) << 2 * width;
  return (x & UINT64_C(0x00000000FFFFFFFF)) | (x >> 32) << 4 * width;
}

static inline uint64_t MuonWireBytesPart(uint64_t x, unsigned width)
{
  const uint64_t one = (UINT64_C(1) << width) - 1, two = (UINT64_C(1) << 2 * width) - 1, four = (UINT64_C(1) << 4 * width) - 1;

  x = (x & four) | (x >> 4 * width & four) << 32;
  x = (x & (two | two << 32)) | (x >> 2 * width & (two | two << 32)) << 16;
  return (x & (one | one << 16 | one << 32 | one << 48)) | (x >> width & (one | one << 16 | one << 32 | one << 48)) << 8;
}

/*
   Inlined with a constant size, and for natural values with a constant width. Eight codes of up to 8 bits fill at most
   a word, eight codes of 9 bits one byte more. Whole words are written and read as long as the codes behind them have
   as many bytes. The remaining codes are processed one at a time
*/
MUON_WIRE_EACH void MuonWirePack(unsigned width, unsigned size, uint64_t count, const void *codes, unsigned char *to)
{
  unsigned held = 0;
  uint64_t rest = 0, i = 0;

  for (; width <= 9 && i + (width < 8 ? 64 : 8) <= count; i += 8, to += width) {
    uint64_t word = 0;

    if (size == 1) word = MuonWireBytesJoin(MuonWireLoad64((const unsigned char *)codes + i), width);
    else {
      MUON_WIRE_UNROLL
      for (unsigned k = 0; k < 8; k++) word |= MuonWireCodeGet(size, codes, i + k) << k * width;
    }
    MuonWireStore64(to, word);
    if (size > 1 && width == 9) to[8] = (unsigned char)(MuonWireCodeGet(size, codes, i + 7) >> 1);
  }
  for (; i < count; i++) {
    rest |= MuonWireCodeGet(size, codes, i) << held;
    for (held += width; held >= 8; held -= 8) {
      *to++ = (unsigned char)(rest & 255);
      rest >>= 8;
    }
  }
  if (held > 0) *to = (unsigned char)rest;
}

MUON_WIRE_EACH void MuonWireUnpack(unsigned width, unsigned size, uint64_t count, const unsigned char *from, void *codes)
{
  const uint64_t mask = ((uint64_t)1 << width) - 1;
  unsigned       held = 0;
  uint64_t       rest = 0, i = 0;

  for (; width <= 9 && i + (width < 8 ? 64 : 8) <= count; i += 8, from += width) {
    const uint64_t word = MuonWireLoad64(from);

    if (size == 1) {
      MuonWireStore64((unsigned char *)codes + i, MuonWireBytesPart(word, width));
      continue;
    }
    MUON_WIRE_UNROLL
    for (unsigned k = 0; k < 7; k++) MuonWireCodePut(size, codes, i + k, word >> k * width & mask);
    /* The last byte is read after these stores: otherwise gcc gathers all eight in a vector, which is slower */
    MuonWireCodePut(size, codes, i + 7, (width == 9 ? word >> 63 | (uint64_t)from[8] << 1 : word >> 7 * width) & mask);
  }
  for (; i < count; i++) {
    for (; held < width; held += 8) rest |= (uint64_t)*from++ << held;
    MuonWireCodePut(size, codes, i, rest & mask);
    rest >>= width;
    held -= width;
  }
}

void MuonWireCodesEncode(unsigned width, unsigned size, uint64_t count, const void *codes, unsigned char *to)
{
#if defined(MUON_WIRE_HAVE_WIDE)
  if (size == 2 && width <= 9 && count >= 32 && MuonWireIsWide()) {
    MuonWirePackWide(width, count / 32, (const uint16_t *)codes, to);
    codes = (const uint16_t *)codes + count / 32 * 32;
    to += count / 32 * 4 * width;
    count %= 32;
  }
#endif
  if (size == 1) MuonWirePack(width, 1, count, codes, to);
  else if (size == 2 && width == 9) MuonWirePack(9, 2, count, codes, to);
  else if (size == 2) MuonWirePack(width, 2, count, codes, to);
  else MuonWirePack(width, 8, count, codes, to);
}

void MuonWireCodesDecode(unsigned width, unsigned size, uint64_t count, const unsigned char *from, uint64_t first, void *codes)
{
  from += first / 8 * width;
#if defined(MUON_WIRE_HAVE_WIDE)
  if (size == 2 && width <= 9 && count >= 32 && MuonWireIsWide()) {
    MuonWireUnpackWide(width, count / 32, from, (uint16_t *)codes);
    codes = (uint16_t *)codes + count / 32 * 32;
    from += count / 32 * 4 * width;
    count %= 32;
  }
#endif
  if (size == 1) MuonWireUnpack(width, 1, count, from, codes);
  else if (size == 2 && width == 9) MuonWireUnpack(9, 2, count, from, codes);
  else if (size == 2) MuonWireUnpack(width, 2, count, from, codes);
  else MuonWireUnpack(width, 8, count, from, codes);
}

unsigned MuonWireEntryWidth(uint64_t length)
{
  unsigned width = 1;

  while (width < 57 && length > (uint64_t)1 << (width - 1)) width++;
  return width;
}

uint64_t MuonWireCodesBytes(unsigned width, uint64_t count)
{
  return count / 8 * width + (count % 8 * width + 7) / 8;
}

MuonWireResult MuonWireEntriesValidate(uint64_t length, uint64_t count, const unsigned char *from)
{
  uint64_t codes[64];

  /* If the number of places is a power of two, every code is valid */
  if (length != 0 && (length & (length - 1)) == 0) return MUON_WIRE_OK;
  for (uint64_t first = 0; first < count; first += 64) {
    const unsigned some = count - first < 64 ? (unsigned)(count - first) : 64;

    MuonWireCodesDecode(MuonWireEntryWidth(length), 8, some, from, first, codes);
    for (unsigned i = 0; i < some; i++) {
      if (codes[i] >> 1 >= length) return MUON_WIRE_CORRUPT;
    }
  }
  return MUON_WIRE_OK;
}
