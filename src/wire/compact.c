/*
   Messages in the codecs whose length depends on what they hold, from plain messages and back.
*/
#include "muonwirebits.h"

uint64_t MuonWireMessageCompact(const unsigned char *plain, uint64_t rows, uint64_t columns, unsigned char *to)
{
  const unsigned char *from;
  unsigned char       *at;
  MuonWireMessage      header;
  MuonWireLayout       layout;
  uint64_t             positions, entries, values, bytes;
  unsigned             before, after, bits, lengthlog;

  (void)MuonWireMessageRead(plain, SIZE_MAX, &header);
  (void)MuonWireMessageLayout(&header, rows, columns, &layout);
  before    = MuonWireMessageHeaderBytes(&header);
  from      = plain + before;
  at        = to + before;
  positions = layout.entriesat;
  entries   = layout.valuesat - layout.entriesat;
  values    = layout.bytes - layout.valuesat;
  if (positions > 0) {
    bytes = layout.seed > 0 ? MUON_WIRE_TOO_LONG : MuonWireGapsEncode((MuonWireIndices)header.indices, layout.numbered, layout.positions, from, positions - 1, at);
    if (bytes == MUON_WIRE_TOO_LONG) {
      memcpy(at, from, (size_t)positions);
      at += positions;
    } else {
      header.indices = MUON_WIRE_INDICES_GAPS;
      at += bytes;
    }
  }
  bytes = entries > 0 && header.form == MUON_WIRE_BLOCKS && MuonWireBlocksOfParameter(header.parameter, &bits, &lengthlog) == MUON_WIRE_OK ? MuonWireCodedEncode(bits, layout.entries, from + layout.entriesat, entries - 1, at) : MUON_WIRE_TOO_LONG;
  if (bytes == MUON_WIRE_TOO_LONG) {
    if (entries > 0) memcpy(at, from + layout.entriesat, (size_t)entries);
    at += entries;
  } else {
    header.indices = MUON_WIRE_INDICES_CODED;
    at += bytes;
  }
  bytes = header.values == MUON_WIRE_VALUES_NATURAL && values > 0 ? 0 : MUON_WIRE_TOO_LONG;
  for (unsigned s = 0; s < layout.sections && bytes != MUON_WIRE_TOO_LONG; s++) {
    const uint64_t some = MuonWireCodedEncode(9, layout.section[s], from + layout.sectionat[s], values - 1 - bytes, at + bytes);

    bytes = some == MUON_WIRE_TOO_LONG ? some : bytes + some;
  }
  if (bytes == MUON_WIRE_TOO_LONG) {
    if (values > 0) memcpy(at, from + layout.valuesat, (size_t)values);
    at += values;
  } else {
    header.values = MUON_WIRE_VALUES_CODED;
    at += bytes;
  }
  /* Fewer bytes may make a shorter header */
  header.bytes = (uint64_t)(at - to) - before;
  after        = MuonWireMessageHeaderBytes(&header);
  if (after < before) memmove(to + after, to + before, (size_t)header.bytes);
  (void)MuonWireMessageWrite(to, &header);
  return after + header.bytes;
}

MuonWireResult MuonWireMessagePlainHeader(const MuonWireMessage *header, uint64_t rows, uint64_t columns, MuonWireMessage *plain)
{
  MuonWireMessage found = *header;
  MuonWireLayout  layout;

  if (found.values == MUON_WIRE_VALUES_CODED) found.values = MUON_WIRE_VALUES_NATURAL;
  if (found.indices == MUON_WIRE_INDICES_CODED && found.form == MUON_WIRE_BLOCKS) found.indices = MUON_WIRE_INDICES_NONE;
  if (found.indices == MUON_WIRE_INDICES_GAPS) {
    /* Of a layer that is too large or has not so many entries it is some codec, and the layout is refused */
    found.indices = (uint8_t)MuonWireFormIndices((MuonWireForm)found.form, rows, columns, found.count);
    if (found.indices == MUON_WIRE_INDICES_NONE) return MUON_WIRE_CORRUPT;
  }
  if (MuonWireMessageLayout(&found, rows, columns, &layout) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  found.bytes = layout.bytes;
  *plain      = found;
  return MUON_WIRE_OK;
}

int MuonWireMessageIsPlain(const MuonWireMessage *header)
{
  return header->indices != MUON_WIRE_INDICES_GAPS && header->indices != MUON_WIRE_INDICES_CODED && header->values != MUON_WIRE_VALUES_CODED;
}

static MuonWireResult MuonWireCopy(uint64_t bytes, const unsigned char *from, uint64_t room, unsigned char *to)
{
  if (bytes > room) return MUON_WIRE_CORRUPT;
  if (bytes > 0) memcpy(to, from, (size_t)bytes);
  return MUON_WIRE_OK;
}

MuonWireResult MuonWireMessageExpand(const unsigned char *bytes, size_t length, uint32_t layer, uint64_t rows, uint64_t columns, size_t capacity, unsigned char *room, const unsigned char **plain, MuonWireMessage *header)
{
  const unsigned char *from;
  unsigned char       *to;
  MuonWireMessage      found, whole;
  MuonWireLayout       layout;
  uint64_t             rest, used;
  unsigned             proved = 0, bits, lengthlog;

  if (MuonWireMessageRead(bytes, length, &found) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  if (found.layer != layer || MuonWireMessageBytes(&found) != length) return MUON_WIRE_CORRUPT;
  if (MuonWireMessageIsPlain(&found)) {
    *plain = bytes;
    return MuonWireMessageValidate(bytes, length, layer, rows, columns, header);
  }
  if (MuonWireMessagePlainHeader(&found, rows, columns, &whole) != MUON_WIRE_OK || MuonWireMessageLayout(&whole, rows, columns, &layout) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  if (MuonWireMessageBytes(&whole) > capacity) return MUON_WIRE_CORRUPT;
  /*
     Every section as it is when plain, which must be longer than what came where that was not plain; then
     what no decoder has proved is checked as in a message that came so
  */
  from = bytes + MuonWireMessageHeaderBytes(&found);
  to   = room + MuonWireMessageHeaderBytes(&whole);
  rest = found.bytes;
  used = layout.entriesat;
  if (found.indices == MUON_WIRE_INDICES_GAPS) {
    if (MuonWireGapsDecode(layout.numbered, layout.positions, from, rest, &used, (MuonWireIndices)whole.indices, to) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
    if (used >= layout.entriesat) return MUON_WIRE_CORRUPT;
    proved |= MUON_WIRE_PROVED_POSITIONS;
  } else if (MuonWireCopy(used, from, rest, to) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  from += used;
  rest -= used;
  used = layout.valuesat - layout.entriesat;
  if (found.indices == MUON_WIRE_INDICES_CODED) {
    (void)MuonWireBlocksOfParameter(whole.parameter, &bits, &lengthlog);
    if (MuonWireCodedDecode(bits, layout.entries, from, rest, &used, to + layout.entriesat) != MUON_WIRE_OK || used >= layout.valuesat - layout.entriesat) return MUON_WIRE_CORRUPT;
  } else if (MuonWireCopy(used, from, rest, to + layout.entriesat) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  from += used;
  rest -= used;
  used = layout.bytes - layout.valuesat;
  if (found.values == MUON_WIRE_VALUES_CODED) {
    if (rest >= layout.bytes - layout.valuesat) return MUON_WIRE_CORRUPT;
    for (unsigned s = 0; s < layout.sections; s++) {
      if (MuonWireCodedDecode(9, layout.section[s], from, rest, &used, to + layout.sectionat[s]) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
      from += used;
      rest -= used;
    }
    used = 0;
    proved |= MUON_WIRE_PROVED_VALUES;
  } else if (MuonWireCopy(used, from, rest, to + layout.valuesat) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  if (used != rest || MuonWirePayloadValidate(&whole, &layout, to, proved) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  (void)MuonWireMessageWrite(room, &whole);
  *plain  = room;
  *header = whole;
  return MUON_WIRE_OK;
}
