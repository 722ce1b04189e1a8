/*
   Converts uncompressed messages to messages in codecs of variable length, and back.
*/
#include "muonwirebits.h"

/* Ends a section: either it was coded in so many bytes and has its own id, or it is copied */
static unsigned char *MuonWireSectionEnd(uint64_t coded, uint8_t id, uint64_t bytes, const unsigned char *from, unsigned char *to, uint8_t *codec)
{
  if (coded != MUON_WIRE_TOO_LONG) {
    *codec = id;
    return to + coded;
  }
  if (bytes > 0) memcpy(to, from, (size_t)bytes);
  return to + bytes;
}

uint64_t MuonWireMessageCode(const unsigned char *plain, uint64_t rows, uint64_t columns, unsigned char *to)
{
  const unsigned char *from;
  unsigned char       *at;
  MuonWireMessage      header;
  MuonWireLayout       layout;
  uint64_t             entries, values, coded = MUON_WIRE_TOO_LONG;
  unsigned             before, after;

  (void)MuonWireMessageRead(plain, SIZE_MAX, &header);
  (void)MuonWireMessageLayout(&header, rows, columns, &layout);
  before  = MuonWireMessageHeaderBytes(&header);
  from    = plain + before;
  at      = to + before;
  entries = layout.valuesat - layout.entriesat;
  values  = layout.bytes - layout.valuesat;
  if (layout.entriesat > layout.seed) coded = MuonWireGapsEncode((MuonWireIndices)header.indices, layout.numbered, layout.positions, from, layout.entriesat - 1, at);
  at    = MuonWireSectionEnd(coded, MUON_WIRE_INDICES_GAPS, layout.entriesat, from, at, &header.indices);
  coded = header.kind == MUON_WIRE_BLOCKS && entries > 0 ? MuonWireCodedEncode(layout.width, layout.entries, from + layout.entriesat, entries - 1, at) : MUON_WIRE_TOO_LONG;
  at    = MuonWireSectionEnd(coded, MUON_WIRE_INDICES_CODED, entries, from + layout.entriesat, at, &header.indices);
  coded = header.values == MUON_WIRE_VALUES_NATURAL && values > 0 ? 0 : MUON_WIRE_TOO_LONG;
  for (unsigned s = 0; s < layout.sections && coded != MUON_WIRE_TOO_LONG; s++) {
    const uint64_t some = MuonWireCodedEncode(9, layout.section[s], from + layout.sectionat[s], values - 1 - coded, at + coded);

    coded = some == MUON_WIRE_TOO_LONG ? some : coded + some;
  }
  at = MuonWireSectionEnd(coded, MUON_WIRE_VALUES_CODED, values, from + layout.valuesat, at, &header.values);
  /* A shorter payload can have a shorter header */
  header.bytes = (uint64_t)(at - to) - before;
  after        = MuonWireMessageHeaderBytes(&header);
  if (after < before) memmove(to + after, to + before, (size_t)header.bytes);
  (void)MuonWireMessageWrite(to, &header);
  return after + header.bytes;
}

int MuonWireMessageIsUncompressed(const MuonWireMessage *header)
{
  return header->indices != MUON_WIRE_INDICES_GAPS && header->indices != MUON_WIRE_INDICES_CODED && header->values != MUON_WIRE_VALUES_CODED;
}

MuonWireResult MuonWireMessageUncompressed(const MuonWireMessage *header, uint64_t rows, uint64_t columns, MuonWireMessage *plain, MuonWireLayout *layout)
{
  *plain = *header;
  if (plain->values == MUON_WIRE_VALUES_CODED) plain->values = MUON_WIRE_VALUES_NATURAL;
  if (plain->indices == MUON_WIRE_INDICES_CODED && plain->kind == MUON_WIRE_BLOCKS) plain->indices = MUON_WIRE_INDICES_NONE;
  if (plain->indices == MUON_WIRE_INDICES_GAPS) {
    /* If the layer is too large or has fewer entries, any codec is returned: the layout is refused later */
    plain->indices = (uint8_t)MuonWireKindIndices((MuonWireKind)plain->kind, rows, columns, plain->count);
    if (plain->indices == MUON_WIRE_INDICES_NONE) return MUON_WIRE_CORRUPT;
  }
  if (MuonWireMessageLayout(plain, rows, columns, layout) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  plain->bytes = layout->bytes;
  return MUON_WIRE_OK;
}

/* The rest of a payload */
typedef struct {
  const unsigned char *at;
  uint64_t             rest;
} MuonWireSource;

/* A section: entropy-coded codes of width bits, or bytes that are copied if width is 0 */
static MuonWireResult MuonWireTake(MuonWireSource *from, unsigned width, uint64_t count, uint64_t bytes, unsigned char *to)
{
  uint64_t used = bytes;

  if (width > 0) {
    if (MuonWireCodedDecode(width, count, from->at, from->rest, &used, to) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  } else if (bytes > from->rest) return MUON_WIRE_CORRUPT;
  else if (bytes > 0) memcpy(to, from->at, (size_t)bytes);
  from->at += used;
  from->rest -= used;
  return MUON_WIRE_OK;
}

/* Decodes the sections of a received payload, one behind the other */
static MuonWireResult MuonWirePayloadExpand(const MuonWireMessage *came, const MuonWireMessage *plain, const MuonWireLayout *layout, const unsigned char *payload, unsigned char *to)
{
  MuonWireSource from = {payload, came->bytes};
  uint64_t       used = 0;

  if (came->indices == MUON_WIRE_INDICES_GAPS) {
    if (MuonWireGapsDecode(layout->numbered, layout->positions, from.at, from.rest, &used, (MuonWireIndices)plain->indices, to) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
    from.at += used;
    from.rest -= used;
  } else if (MuonWireTake(&from, 0, 0, layout->entriesat, to) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  if (MuonWireTake(&from, came->indices == MUON_WIRE_INDICES_CODED ? layout->width : 0, layout->entries, layout->valuesat - layout->entriesat, to + layout->entriesat) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  for (unsigned s = 0; s < layout->sections; s++) {
    if (MuonWireTake(&from, came->values == MUON_WIRE_VALUES_CODED ? 9 : 0, layout->section[s], MuonWireValuesBytes((MuonWireValues)plain->values, layout->section[s]), to + layout->sectionat[s]) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  }
  return from.rest == 0 ? MUON_WIRE_OK : MUON_WIRE_CORRUPT;
}

MuonWireResult MuonWireMessageExpand(const unsigned char *bytes, size_t length, uint32_t layer, uint64_t rows, uint64_t columns, size_t capacity, unsigned char *buffer, const unsigned char **plain, MuonWireMessage *header)
{
  MuonWireMessage      came, expanded;
  MuonWireLayout       layout;
  const unsigned char *payload;

  if (MuonWireMessageRead(bytes, length, &came) != MUON_WIRE_OK || came.layer != layer || MuonWireMessageBytes(&came) != length) return MUON_WIRE_CORRUPT;
  if (MuonWireMessageUncompressed(&came, rows, columns, &expanded, &layout) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  payload = bytes + MuonWireMessageHeaderBytes(&came);
  *plain  = bytes;
  if (!MuonWireMessageIsUncompressed(&came)) {
    unsigned char *to;

    if (MuonWireMessageBytes(&expanded) > capacity) return MUON_WIRE_CORRUPT;
    to = buffer + MuonWireMessageWrite(buffer, &expanded);
    if (MuonWirePayloadExpand(&came, &expanded, &layout, payload, to) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
    payload = to;
    *plain  = buffer;
  } else if (came.bytes != layout.bytes) return MUON_WIRE_CORRUPT;
  *header = expanded;
  /* Positions and numbers from a decoder need no check */
  return MuonWirePayloadValidate(&expanded, &layout, payload, came.indices != MUON_WIRE_INDICES_GAPS, came.values != MUON_WIRE_VALUES_CODED);
}
