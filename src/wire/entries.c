/*
   Entries: place and sign of the one entry that each of some rows, or columns, has.
*/
#include "muonwirebits.h"

/*
   Bits of a code: the fewest that hold 2 length - 1, at least one for the sign; at most 57, because no line
   is longer than 2^56
*/
static unsigned MuonWireEntryWidth(uint64_t length)
{
  unsigned width = 1;

  while (width < 57 && length > (uint64_t)1 << (width - 1)) width++;
  return width;
}

uint64_t MuonWireEntriesBytes(uint64_t length, uint64_t count)
{
  const uint64_t width = MuonWireEntryWidth(length);

  /* Eight codes are width bytes */
  return count / 8 * width + (count % 8 * width + 7) / 8;
}

/* rest holds the bits that do not fill a byte, at most seven */
void MuonWireEntriesEncode(uint64_t length, uint64_t count, const uint64_t *codes, unsigned char *to)
{
  const unsigned width = MuonWireEntryWidth(length);
  unsigned       held  = 0;
  uint64_t       rest  = 0;

  for (uint64_t i = 0; i < count; i++) {
    rest |= codes[i] << held;
    for (held += width; held >= 8; held -= 8) {
      *to++ = (unsigned char)(rest & 255);
      rest >>= 8;
    }
  }
  if (held > 0) *to = (unsigned char)rest;
}

void MuonWireEntriesDecode(uint64_t length, uint64_t count, const unsigned char *from, uint64_t first, uint64_t *codes)
{
  const unsigned width = MuonWireEntryWidth(length);
  unsigned       held  = 0;
  uint64_t       rest  = 0;

  from += first / 8 * width;
  for (uint64_t i = 0; i < count; i++) {
    for (; held < width; held += 8) rest |= (uint64_t)*from++ << held;
    codes[i] = rest & (((uint64_t)1 << width) - 1);
    rest >>= width;
    held -= width;
  }
}

MuonWireResult MuonWireEntriesValidate(uint64_t length, uint64_t count, const unsigned char *from)
{
  uint64_t codes[64];

  /* Where the length is a power of two there is no other code */
  if (length != 0 && (length & (length - 1)) == 0) return MUON_WIRE_OK;
  for (uint64_t first = 0; first < count; first += 64) {
    const unsigned some = count - first < 64 ? (unsigned)(count - first) : 64;
    unsigned       bad  = 0;

    MuonWireEntriesDecode(length, some, from, first, codes);
    for (unsigned i = 0; i < some; i++) bad |= (unsigned)(codes[i] >> 1 >= length);
    if (bad != 0) return MUON_WIRE_CORRUPT;
  }
  return MUON_WIRE_OK;
}
