/*
   Messages: their header, their size, and the check that lets a receiver decode without looking back.
*/
#include "muonwirebits.h"

/* Keeps every size below within 64 bits; no layer comes near it */
#define MUON_WIRE_MAX_ENTRIES (UINT64_C(1) << 56)

/*
   Where the fields of the header lie that have a place of their own: form and codec of the positions share a
   byte
*/
enum {
  MUON_WIRE_AT_LAYER  = 0,
  MUON_WIRE_AT_FORM   = 4,
  MUON_WIRE_AT_VALUES = 5,
  MUON_WIRE_AT_REST   = 6
};

/* Forms whose header has the byte of the parameter */
static int MuonWireHasParameter(unsigned form)
{
  return form == MUON_WIRE_BLOCKS || form == MUON_WIRE_VOTES;
}

unsigned MuonWireMessageHeaderBytes(const MuonWireMessage *header)
{
  return MUON_WIRE_AT_REST + (unsigned)MuonWireHasParameter(header->form) + MuonWireVarBytes(header->count) + MuonWireVarBytes(header->bytes);
}

uint64_t MuonWireMessageBytes(const MuonWireMessage *header)
{
  return MuonWireMessageHeaderBytes(header) + header->bytes;
}

unsigned MuonWireMessageWrite(unsigned char *to, const MuonWireMessage *header)
{
  unsigned at = MUON_WIRE_AT_REST;

  MuonWireStore32(to + MUON_WIRE_AT_LAYER, header->layer);
  to[MUON_WIRE_AT_FORM]   = (unsigned char)((header->form & 15u) | (header->indices & 15u) << 4);
  to[MUON_WIRE_AT_VALUES] = header->values;
  if (MuonWireHasParameter(header->form)) to[at++] = header->parameter;
  at += MuonWireStoreVar(to + at, header->count);
  at += MuonWireStoreVar(to + at, header->bytes);
  return at;
}

MuonWireResult MuonWireMessageRead(const unsigned char *bytes, size_t length, MuonWireMessage *header)
{
  MuonWireMessage found;
  size_t          at = MUON_WIRE_AT_REST;
  unsigned        some;

  if (length <= MUON_WIRE_AT_REST) return MUON_WIRE_CORRUPT;
  found.layer     = MuonWireLoad32(bytes + MUON_WIRE_AT_LAYER);
  found.form      = bytes[MUON_WIRE_AT_FORM] & 15u;
  found.indices   = bytes[MUON_WIRE_AT_FORM] >> 4;
  found.values    = bytes[MUON_WIRE_AT_VALUES];
  found.parameter = MuonWireHasParameter(found.form) ? bytes[at++] : 0;
  some            = MuonWireLoadVar(bytes + at, length - at, &found.count);
  if (some == 0) return MUON_WIRE_CORRUPT;
  at += some;
  some = MuonWireLoadVar(bytes + at, length - at, &found.bytes);
  if (some == 0 || found.bytes > length - at - some) return MUON_WIRE_CORRUPT;
  *header = found;
  return MUON_WIRE_OK;
}

/* Entries of the layer; not more than MUON_WIRE_MAX_ENTRIES, and neither are its rows or its columns */
static MuonWireResult MuonWireEntries(uint64_t rows, uint64_t columns, uint64_t *entries)
{
  if (rows > MUON_WIRE_MAX_ENTRIES || columns > MUON_WIRE_MAX_ENTRIES) return MUON_WIRE_CORRUPT;
  if (columns != 0 && rows > MUON_WIRE_MAX_ENTRIES / columns) return MUON_WIRE_CORRUPT;
  *entries = rows * columns;
  return MUON_WIRE_OK;
}

MuonWireIndices MuonWireFormIndices(MuonWireForm form, uint64_t rows, uint64_t columns, uint64_t count)
{
  switch (form) {
  case MUON_WIRE_SPARSE:
    return MuonWireChooseIndices(rows * columns, count);
  case MUON_WIRE_PERROW:
    return count == rows ? MUON_WIRE_INDICES_NONE : MuonWireChooseIndices(rows, count);
  case MUON_WIRE_PERCOLUMN:
    return count == columns ? MUON_WIRE_INDICES_NONE : MuonWireChooseIndices(columns, count);
  case MUON_WIRE_COLUMNS:
  case MUON_WIRE_WHOLECOLUMNS:
    return MuonWireChooseIndices(columns, count);
  case MUON_WIRE_WHOLEROWS:
    return MuonWireChooseIndices(rows, count);
  default:
    return MUON_WIRE_INDICES_NONE;
  }
}

int MuonWireFormCompacts(MuonWireForm form, MuonWireValues values)
{
  switch (form) {
  case MUON_WIRE_SPARSE:
  case MUON_WIRE_PERROW:
  case MUON_WIRE_PERCOLUMN:
  case MUON_WIRE_COLUMNS:
  case MUON_WIRE_WHOLECOLUMNS:
  case MUON_WIRE_WHOLEROWS:
  case MUON_WIRE_BLOCKS:
    return 1;
  case MUON_WIRE_SIGNS:
    /* One value, which no table makes shorter */
    return 0;
  default:
    return values == MUON_WIRE_VALUES_NATURAL;
  }
}

uint8_t MuonWireBlocksParameter(unsigned bits, unsigned lengthlog)
{
  return bits >= 2 && bits <= 8 && lengthlog >= 4 && lengthlog <= 16 ? (uint8_t)(bits | (lengthlog - 4) << 4) : 0;
}

MuonWireResult MuonWireBlocksOfParameter(uint8_t parameter, unsigned *bits, unsigned *lengthlog)
{
  *bits      = parameter & 15u;
  *lengthlog = (parameter >> 4) + 4u;
  return MuonWireBlocksParameter(*bits, *lengthlog) == parameter && parameter != 0 ? MUON_WIRE_OK : MUON_WIRE_CORRUPT;
}

MuonWireResult MuonWireMessageLayout(const MuonWireMessage *header, uint64_t rows, uint64_t columns, MuonWireLayout *layout)
{
  const uint64_t count = header->count;
  uint64_t       entries;

  memset(layout, 0, sizeof(*layout));
  if (MuonWireEntries(rows, columns, &entries) != MUON_WIRE_OK || header->values > MUON_WIRE_VALUES_NATURAL) return MUON_WIRE_CORRUPT;
  if (!MuonWireHasParameter(header->form) && header->parameter != 0) return MUON_WIRE_CORRUPT;
  layout->planes = 1;
  switch (header->form) {
  case MUON_WIRE_DENSE:
    if (count != entries && count != 0) return MUON_WIRE_CORRUPT;
    layout->values = count;
    break;
  case MUON_WIRE_SIGNS:
    if (count != entries && count != 0) return MUON_WIRE_CORRUPT;
    layout->length     = 1;
    layout->entries    = count;
    layout->magnitudes = count > 0;
    layout->values     = layout->magnitudes;
    break;
  case MUON_WIRE_SEEDED:
    if (count > entries) return MUON_WIRE_CORRUPT;
    layout->seed   = 8;
    layout->values = count;
    break;
  case MUON_WIRE_WHOLECOLUMNS:
  case MUON_WIRE_WHOLEROWS: {
    const uint64_t lines = header->form == MUON_WIRE_WHOLEROWS ? rows : columns;

    if (count > lines) return MUON_WIRE_CORRUPT;
    layout->numbered = lines;
    layout->values   = count * (header->form == MUON_WIRE_WHOLEROWS ? columns : rows);
    break;
  }
  case MUON_WIRE_BLOCKS: {
    unsigned bits, lengthlog;

    if ((count != entries && count != 0) || MuonWireBlocksOfParameter(header->parameter, &bits, &lengthlog) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
    layout->length  = UINT64_C(1) << (bits - 1);
    layout->entries = count;
    layout->values  = (count >> lengthlog) + ((count & ((UINT64_C(1) << lengthlog) - 1)) != 0);
    layout->scales  = layout->values;
    break;
  }
  case MUON_WIRE_VOTES:
    if (count != entries || header->values != 0 || header->parameter < 1 || header->parameter > 32) return MUON_WIRE_CORRUPT;
    layout->length  = 1;
    layout->entries = count;
    layout->planes  = header->parameter;
    break;
  case MUON_WIRE_SPARSE:
    if (count > entries) return MUON_WIRE_CORRUPT;
    layout->numbered = entries;
    layout->values   = count;
    break;
  case MUON_WIRE_LOWRANK:
  case MUON_WIRE_TRIPLES:
    if (count > rows || count > columns) return MUON_WIRE_CORRUPT;
    if (header->form == MUON_WIRE_TRIPLES) layout->section[layout->sections++] = layout->magnitudes = count;
    layout->section[layout->sections++] = count * rows;
    layout->section[layout->sections++] = count * columns;
    break;
  case MUON_WIRE_PERROW:
  case MUON_WIRE_PERCOLUMN: {
    const uint64_t lines = header->form == MUON_WIRE_PERROW ? rows : columns;

    /* Positions tell which lines are there, hence nothing where all are */
    if (count > lines) return MUON_WIRE_CORRUPT;
    layout->numbered   = count == lines ? 0 : lines;
    layout->length     = header->form == MUON_WIRE_PERROW ? columns : rows;
    layout->entries    = count;
    layout->magnitudes = count > 0;
    layout->values     = layout->magnitudes;
    break;
  }
  case MUON_WIRE_COLUMNS:
    if (count > columns) return MUON_WIRE_CORRUPT;
    layout->numbered                    = columns;
    layout->section[layout->sections++] = layout->magnitudes = count;
    layout->section[layout->sections++]                      = count * rows;
    break;
  default:
    return MUON_WIRE_CORRUPT;
  }
  /* One codec for the positions of so many, so that a plain message has one encoding */
  if (header->indices != MuonWireFormIndices((MuonWireForm)header->form, rows, columns, count)) return MUON_WIRE_CORRUPT;
  layout->positions = header->indices == MUON_WIRE_INDICES_NONE ? 0 : count;
  layout->entriesat = layout->seed + MuonWireIndicesBytes((MuonWireIndices)header->indices, layout->numbered, layout->positions);
  layout->valuesat  = layout->entriesat + layout->planes * MuonWireEntriesBytes(layout->length, layout->entries);
  layout->bytes     = layout->valuesat;
  if (layout->sections == 0) layout->section[layout->sections++] = layout->values;
  layout->values = 0;
  for (unsigned s = 0; s < layout->sections; s++) {
    layout->sectionat[s] = layout->bytes;
    layout->values += layout->section[s];
    layout->bytes += MuonWireValuesBytes((MuonWireValues)header->values, layout->section[s]);
  }
  return MUON_WIRE_OK;
}

MuonWireResult MuonWirePayloadBytes(const MuonWireMessage *header, uint64_t rows, uint64_t columns, uint64_t *bytes)
{
  MuonWireLayout layout;

  *bytes = 0;
  if (MuonWireMessageLayout(header, rows, columns, &layout) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  *bytes = layout.bytes;
  return MUON_WIRE_OK;
}

/*
   A block of scale 0 holds zeros only, and a zero has no sign. Eight codes at a time, which are of one block:
   a byte of v is zero where a code is 1
*/
static MuonWireResult MuonWireBlocksValidate(const MuonWireMessage *header, const MuonWireLayout *layout, const unsigned char *payload)
{
  const uint64_t       ones  = UINT64_C(0x0101010101010101);
  const unsigned char *codes = payload + layout->entriesat, *scales = payload + layout->valuesat;
  uint64_t             most = 0;
  unsigned             bits, lengthlog;

  (void)MuonWireBlocksOfParameter(header->parameter, &bits, &lengthlog);
  for (uint64_t first = 0; first < layout->entries; first += 512) {
    const unsigned count     = layout->entries - first < 512 ? (unsigned)(layout->entries - first) : 512;
    unsigned char  some[512] = {0};
    uint64_t       bad       = 0;

    MuonWireCodesDecode(bits, count, codes, first, some);
    for (unsigned i = 0; i < count; i += 8) {
      const uint64_t word = MuonWireLoad64(some + i), v = word ^ ones;

      if (((first + i) & ((UINT64_C(1) << lengthlog) - 1)) == 0) most = MuonWireValueIsZero((MuonWireValues)header->values, scales, (first + i) >> lengthlog) ? 0 : UINT64_MAX;
      bad |= ((v - ones) & ~v & ones << 7) | (word & ~most);
    }
    if (bad != 0) return MUON_WIRE_CORRUPT;
  }
  return MUON_WIRE_OK;
}

MuonWireResult MuonWirePayloadValidate(const MuonWireMessage *header, const MuonWireLayout *layout, const unsigned char *payload, unsigned proved)
{
  const MuonWireValues codec  = (MuonWireValues)header->values;
  const unsigned char *values = payload + layout->valuesat;

  if (header->indices != MUON_WIRE_INDICES_NONE && (proved & MUON_WIRE_PROVED_POSITIONS) == 0 && MuonWireIndicesValidate((MuonWireIndices)header->indices, layout->numbered, layout->positions, payload) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  for (uint64_t p = 0; p < layout->planes; p++) {
    if (MuonWireEntriesValidate(layout->length, layout->entries, payload + layout->entriesat + p * MuonWireEntriesBytes(layout->length, layout->entries)) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  }
  for (unsigned s = 0; s < layout->sections && (proved & MUON_WIRE_PROVED_VALUES) == 0; s++) {
    if (MuonWireValuesValidate(codec, layout->section[s], payload + layout->sectionat[s]) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  }
  if (MuonWireValuesAreMagnitudes(codec, 0, layout->magnitudes, values) != MUON_WIRE_OK || MuonWireValuesAreMagnitudes(codec, 1, layout->scales, values) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  return header->form == MUON_WIRE_BLOCKS ? MuonWireBlocksValidate(header, layout, payload) : MUON_WIRE_OK;
}

MuonWireResult MuonWireMessageValidate(const unsigned char *bytes, size_t length, uint32_t layer, uint64_t rows, uint64_t columns, MuonWireMessage *header)
{
  MuonWireMessage found;
  MuonWireLayout  layout;

  if (MuonWireMessageRead(bytes, length, &found) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  if (found.layer != layer || MuonWireMessageBytes(&found) != length) return MUON_WIRE_CORRUPT;
  if (MuonWireMessageLayout(&found, rows, columns, &layout) != MUON_WIRE_OK || found.bytes != layout.bytes) return MUON_WIRE_CORRUPT;
  if (MuonWirePayloadValidate(&found, &layout, bytes + MuonWireMessageHeaderBytes(&found), 0) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  *header = found;
  return MUON_WIRE_OK;
}
