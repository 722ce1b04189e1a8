/*
   Positions: the places of the entries of a sparse message.
*/
#include "muonwirebits.h"

/* Bytes of a raw index: as few as possible for the number of the last entry, at least one */
static unsigned MuonWireIndexWidth(uint64_t entries)
{
  unsigned width = 1;

  while (width < 8 && entries > (uint64_t)1 << (8 * width)) width++;
  return width;
}

uint64_t MuonWireIndicesBytes(MuonWireIndices indices, uint64_t entries, uint64_t count)
{
  switch (indices) {
  case MUON_WIRE_INDICES_BITMAP:
    return MuonWireCodesBytes(1, entries);
  case MUON_WIRE_INDICES_RAW:
    return count * MuonWireIndexWidth(entries);
  default:
    return 0;
  }
}

MuonWireIndices MuonWireChooseIndices(uint64_t entries, uint64_t count)
{
  return MuonWireIndicesBytes(MUON_WIRE_INDICES_RAW, entries, count) < MuonWireIndicesBytes(MUON_WIRE_INDICES_BITMAP, entries, count) ? MUON_WIRE_INDICES_RAW : MUON_WIRE_INDICES_BITMAP;
}

void MuonWireIndicesEncode(MuonWireIndices indices, uint64_t entries, uint64_t count, const unsigned char *bitmap, unsigned char *to)
{
  const unsigned width = MuonWireIndexWidth(entries);

  if (entries == 0) return;
  if (indices == MUON_WIRE_INDICES_BITMAP) {
    memcpy(to, bitmap, (size_t)MuonWireCodesBytes(1, entries));
    return;
  }
  for (uint64_t base = 0; base < entries && count > 0; base += 64) {
    for (uint64_t word = MuonWireBitmapWord(bitmap, entries, base); word != 0 && count > 0; word &= word - 1) {
      MuonWireStorePart(to, width, base + MuonWireLowestBit(word));
      to += width;
      count--;
    }
  }
}

MuonWireResult MuonWireIndicesValidate(MuonWireIndices indices, uint64_t entries, uint64_t count, const unsigned char *from)
{
  const unsigned width = MuonWireIndexWidth(entries);
  uint64_t       found = 0, least = 0;

  switch (indices) {
  case MUON_WIRE_INDICES_BITMAP:
    if (entries % 8 != 0 && from[entries / 8] >> (entries % 8) != 0) return MUON_WIRE_CORRUPT;
    for (uint64_t base = 0; base < entries; base += 64) found += MuonWirePopCount(MuonWireBitmapWord(from, entries, base));
    return found == count ? MUON_WIRE_OK : MUON_WIRE_CORRUPT;
  case MUON_WIRE_INDICES_RAW:
    for (uint64_t i = 0; i < count; i++) {
      const uint64_t position = MuonWireLoadPart(from + i * width, width);

      if (position < least || position >= entries) return MUON_WIRE_CORRUPT;
      least = position + 1;
    }
    return MUON_WIRE_OK;
  default:
    return MUON_WIRE_CORRUPT;
  }
}

void MuonWireIndexReaderInit(MuonWireIndexReader *reader, MuonWireIndices indices, uint64_t entries, uint64_t count, const unsigned char *from)
{
  reader->from    = from;
  reader->entries = entries;
  reader->count   = count;
  reader->next    = 0;
  reader->word    = 0;
  reader->width   = MuonWireIndexWidth(entries);
  reader->indices = indices;
}

/*
   next is the number of the next raw index, or the first entry of the next word of the bitmap. word holds the remaining
   bits of the word before it
*/
uint64_t MuonWireIndexReaderNext(MuonWireIndexReader *reader)
{
  uint64_t position;

  if (reader->count == 0) return reader->entries;
  reader->count--;
  if (reader->indices == MUON_WIRE_INDICES_RAW) return MuonWireLoadPart(reader->from + reader->next++ * reader->width, reader->width);
  while (reader->word == 0) {
    reader->word = MuonWireBitmapWord(reader->from, reader->entries, reader->next);
    reader->next += 64;
  }
  position = reader->next - 64 + MuonWireLowestBit(reader->word);
  reader->word &= reader->word - 1;
  return position;
}
