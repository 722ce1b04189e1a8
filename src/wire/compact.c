/*
   Messages in the codecs whose length depends on what they hold, from uncompressed messages and back.
*/
#include "muonwirebits.h"

/* Behind a section that was coded in so many bytes, which has an id of its own, or that is copied as it is */
static unsigned char *MuonWireSectionEnd(uint64_t coded, uint8_t id, uint64_t bytes, const unsigned char *from, unsigned char *to, uint8_t *codec)
{
  if (coded != MUON_WIRE_TOO_LONG) {
    *codec = id;
    return to + coded;
  }
  if (bytes > 0) memcpy(to, from, (size_t)bytes);
  return to + bytes;
}

uint64_t MuonWireMessageCompact(const unsigned char *plain, uint64_t rows, uint64_t columns, unsigned char *to)
{
  const unsigned char *from;
  unsigned char       *at;
  MuonWireMessage      header;
  MuonWireLayout       layout;
  uint64_t             entries, values, coded = MUON_WIRE_TOO_LONG;
  unsigned             before, after, bits, lengthlog;

  (void)MuonWireMessageRead(plain, SIZE_MAX, &header);
  (void)MuonWireMessageLayout(&header, rows, columns, &layout);
  before  = MuonWireMessageHeaderBytes(&header);
  from    = plain + before;
  at      = to + before;
  entries = layout.valuesat - layout.entriesat;
  values  = layout.bytes - layout.valuesat;
  if (layout.entriesat > layout.seed) coded = MuonWireGapsEncode((MuonWireIndices)header.indices, layout.numbered, layout.positions, from, layout.entriesat - 1, at);
  at    = MuonWireSectionEnd(coded, MUON_WIRE_INDICES_GAPS, layout.entriesat, from, at, &header.indices);
  coded = MUON_WIRE_TOO_LONG;
  if (header.form == MUON_WIRE_BLOCKS && entries > 0 && MuonWireBlocksOfParameter(header.parameter, &bits, &lengthlog) == MUON_WIRE_OK) coded = MuonWireCodedEncode(bits, layout.entries, from + layout.entriesat, entries - 1, at);
  at    = MuonWireSectionEnd(coded, MUON_WIRE_INDICES_CODED, entries, from + layout.entriesat, at, &header.indices);
  coded = header.values == MUON_WIRE_VALUES_NATURAL && values > 0 ? 0 : MUON_WIRE_TOO_LONG;
  for (unsigned s = 0; s < layout.sections && coded != MUON_WIRE_TOO_LONG; s++) {
    const uint64_t some = MuonWireCodedEncode(9, layout.section[s], from + layout.sectionat[s], values - 1 - coded, at + coded);

    coded = some == MUON_WIRE_TOO_LONG ? some : coded + some;
  }
  at = MuonWireSectionEnd(coded, MUON_WIRE_VALUES_CODED, values, from + layout.valuesat, at, &header.values);
  /* Fewer bytes may make a shorter header */
  header.bytes = (uint64_t)(at - to) - before;
  after        = MuonWireMessageHeaderBytes(&header);
  if (after < before) memmove(to + after, to + before, (size_t)header.bytes);
  (void)MuonWireMessageWrite(to, &header);
  return after + header.bytes;
}

/* The same message without entropy coding: its header and its sections */
static MuonWireResult MuonWireMessagePlain(const MuonWireMessage *header, uint64_t rows, uint64_t columns, MuonWireMessage *plain, MuonWireLayout *layout)
{
  MuonWireMessage found = *header;

  if (found.values == MUON_WIRE_VALUES_CODED) found.values = MUON_WIRE_VALUES_NATURAL;
  if (found.indices == MUON_WIRE_INDICES_CODED && found.form == MUON_WIRE_BLOCKS) found.indices = MUON_WIRE_INDICES_NONE;
  if (found.indices == MUON_WIRE_INDICES_GAPS) {
    /* Of a layer that is too large or has not so many entries it is some codec, and the layout is refused */
    found.indices = (uint8_t)MuonWireFormIndices((MuonWireForm)found.form, rows, columns, found.count);
    if (found.indices == MUON_WIRE_INDICES_NONE) return MUON_WIRE_CORRUPT;
  }
  if (MuonWireMessageLayout(&found, rows, columns, layout) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  found.bytes = layout->bytes;
  *plain      = found;
  return MUON_WIRE_OK;
}

MuonWireResult MuonWireMessagePlainHeader(const MuonWireMessage *header, uint64_t rows, uint64_t columns, MuonWireMessage *plain)
{
  MuonWireLayout layout;

  return MuonWireMessagePlain(header, rows, columns, plain, &layout);
}

int MuonWireMessageIsPlain(const MuonWireMessage *header)
{
  return header->indices != MUON_WIRE_INDICES_GAPS && header->indices != MUON_WIRE_INDICES_CODED && header->values != MUON_WIRE_VALUES_CODED;
}

/* What is left of a payload */
typedef struct {
  const unsigned char *at;
  uint64_t             rest;
} MuonWireSource;

/* A section that has the same bytes when it is uncompressed */
static MuonWireResult MuonWireCopy(MuonWireSource *from, uint64_t bytes, unsigned char *to)
{
  if (bytes > from->rest) return MUON_WIRE_CORRUPT;
  if (bytes > 0) memcpy(to, from->at, (size_t)bytes);
  from->at += bytes;
  from->rest -= bytes;
  return MUON_WIRE_OK;
}

static MuonWireResult MuonWireCoded(MuonWireSource *from, unsigned width, uint64_t count, unsigned char *to)
{
  uint64_t used;

  if (MuonWireCodedDecode(width, count, from->at, from->rest, &used, to) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  from->at += used;
  from->rest -= used;
  return MUON_WIRE_OK;
}

static MuonWireResult MuonWireGaps(MuonWireSource *from, MuonWireIndices indices, const MuonWireLayout *layout, unsigned char *to)
{
  uint64_t used;

  if (MuonWireGapsDecode(layout->numbered, layout->positions, from->at, from->rest, &used, indices, to) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  from->at += used;
  from->rest -= used;
  return MUON_WIRE_OK;
}

MuonWireResult MuonWireMessageExpand(const unsigned char *bytes, size_t length, uint32_t layer, uint64_t rows, uint64_t columns, size_t capacity, unsigned char *room, const unsigned char **plain, MuonWireMessage *header)
{
  MuonWireSource  from;
  MuonWireMessage found, expanded;
  MuonWireLayout  layout;
  MuonWireResult  result;
  unsigned char  *to;
  unsigned        bits, lengthlog;

  if (MuonWireMessageRead(bytes, length, &found) != MUON_WIRE_OK || found.layer != layer || MuonWireMessageBytes(&found) != length) return MUON_WIRE_CORRUPT;
  if (MuonWireMessageIsPlain(&found)) {
    *plain = bytes;
    return MuonWireMessageValidate(bytes, length, layer, rows, columns, header);
  }
  if (MuonWireMessagePlain(&found, rows, columns, &expanded, &layout) != MUON_WIRE_OK || MuonWireMessageBytes(&expanded) > capacity) return MUON_WIRE_CORRUPT;
  from.at   = bytes + MuonWireMessageHeaderBytes(&found);
  from.rest = found.bytes;
  to        = room + MuonWireMessageHeaderBytes(&expanded);
  if (found.indices == MUON_WIRE_INDICES_GAPS) result = MuonWireGaps(&from, (MuonWireIndices)expanded.indices, &layout, to);
  else result = MuonWireCopy(&from, layout.entriesat, to);
  if (result != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  if (found.indices == MUON_WIRE_INDICES_CODED && MuonWireBlocksOfParameter(expanded.parameter, &bits, &lengthlog) == MUON_WIRE_OK) result = MuonWireCoded(&from, bits, layout.entries, to + layout.entriesat);
  else result = MuonWireCopy(&from, layout.valuesat - layout.entriesat, to + layout.entriesat);
  for (unsigned s = 0; s < layout.sections && result == MUON_WIRE_OK; s++) {
    if (found.values == MUON_WIRE_VALUES_CODED) result = MuonWireCoded(&from, 9, layout.section[s], to + layout.sectionat[s]);
    else result = MuonWireCopy(&from, MuonWireValuesBytes((MuonWireValues)found.values, layout.section[s]), to + layout.sectionat[s]);
  }
  if (result != MUON_WIRE_OK || from.rest != 0 || MuonWirePayloadValidate(&expanded, &layout, to, found.indices != MUON_WIRE_INDICES_GAPS, found.values != MUON_WIRE_VALUES_CODED) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  (void)MuonWireMessageWrite(room, &expanded);
  *plain  = room;
  *header = expanded;
  return MUON_WIRE_OK;
}
