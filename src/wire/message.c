/*
   Messages: their header, their size, and the check that lets a receiver decode without looking back.
*/
#include "muonwirebits.h"

/* Keeps every size below within 64 bits; no layer comes near it */
#define MUON_WIRE_MAX_ENTRIES (UINT64_C(1) << 56)

/* Where the fields of the header lie */
enum {
  MUON_WIRE_AT_LAYER     = 0,
  MUON_WIRE_AT_FORM      = 4,
  MUON_WIRE_AT_INDICES   = 5,
  MUON_WIRE_AT_VALUES    = 6,
  MUON_WIRE_AT_PARAMETER = 7,
  MUON_WIRE_AT_COUNT     = 8,
  MUON_WIRE_AT_PAYLOAD   = 16
};

void MuonWireMessageWrite(unsigned char *to, const MuonWireMessage *header)
{
  MuonWireStore32(to + MUON_WIRE_AT_LAYER, header->layer);
  to[MUON_WIRE_AT_FORM]      = header->form;
  to[MUON_WIRE_AT_INDICES]   = header->indices;
  to[MUON_WIRE_AT_VALUES]    = header->values;
  to[MUON_WIRE_AT_PARAMETER] = 0;
  MuonWireStore64(to + MUON_WIRE_AT_COUNT, header->count);
  MuonWireStore64(to + MUON_WIRE_AT_PAYLOAD, header->bytes);
}

MuonWireResult MuonWireMessageRead(const unsigned char *bytes, size_t length, MuonWireMessage *header)
{
  uint64_t payload;

  if (length < MUON_WIRE_MESSAGE_HEADER) return MUON_WIRE_CORRUPT;
  payload = MuonWireLoad64(bytes + MUON_WIRE_AT_PAYLOAD);
  if (payload > length - MUON_WIRE_MESSAGE_HEADER) return MUON_WIRE_CORRUPT;
  if (bytes[MUON_WIRE_AT_PARAMETER] != 0) return MUON_WIRE_CORRUPT;
  header->layer   = MuonWireLoad32(bytes + MUON_WIRE_AT_LAYER);
  header->form    = bytes[MUON_WIRE_AT_FORM];
  header->indices = bytes[MUON_WIRE_AT_INDICES];
  header->values  = bytes[MUON_WIRE_AT_VALUES];
  header->count   = MuonWireLoad64(bytes + MUON_WIRE_AT_COUNT);
  header->bytes   = payload;
  return MUON_WIRE_OK;
}

/* How many values the payload holds, and how many entries its positions number: 0 where it has no positions */
static MuonWireResult MuonWireMessageCounts(const MuonWireMessage *header, uint64_t rows, uint64_t columns, uint64_t *values, uint64_t *numbered)
{
  uint64_t entries;

  if (rows > MUON_WIRE_MAX_ENTRIES || columns > MUON_WIRE_MAX_ENTRIES) return MUON_WIRE_CORRUPT;
  if (columns != 0 && rows > MUON_WIRE_MAX_ENTRIES / columns) return MUON_WIRE_CORRUPT;
  if (header->values > MUON_WIRE_VALUES_NATURAL) return MUON_WIRE_CORRUPT;
  entries = rows * columns;
  switch (header->form) {
  case MUON_WIRE_DENSE:
    if (header->indices != MUON_WIRE_INDICES_NONE || header->count != entries) return MUON_WIRE_CORRUPT;
    *values   = entries;
    *numbered = 0;
    return MUON_WIRE_OK;
  case MUON_WIRE_SPARSE:
    if (header->indices != MUON_WIRE_INDICES_BITMAP && header->indices != MUON_WIRE_INDICES_RAW) return MUON_WIRE_CORRUPT;
    if (header->count > entries) return MUON_WIRE_CORRUPT;
    *values   = header->count;
    *numbered = entries;
    return MUON_WIRE_OK;
  case MUON_WIRE_LOWRANK:
    if (header->indices != MUON_WIRE_INDICES_NONE || header->count > rows || header->count > columns) return MUON_WIRE_CORRUPT;
    *values   = header->count * (rows + columns);
    *numbered = 0;
    return MUON_WIRE_OK;
  default:
    return MUON_WIRE_CORRUPT;
  }
}

MuonWireResult MuonWirePayloadBytes(const MuonWireMessage *header, uint64_t rows, uint64_t columns, uint64_t *bytes)
{
  uint64_t values, numbered;

  *bytes = 0;
  if (MuonWireMessageCounts(header, rows, columns, &values, &numbered) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  *bytes = MuonWireIndicesBytes((MuonWireIndices)header->indices, numbered, values) + MuonWireValuesBytes((MuonWireValues)header->values, values);
  return MUON_WIRE_OK;
}

MuonWireResult MuonWireMessageValidate(const unsigned char *bytes, size_t length, uint32_t layer, uint64_t rows, uint64_t columns, MuonWireMessage *header)
{
  const unsigned char *payload;
  MuonWireMessage      found;
  uint64_t             values, numbered, positions;

  if (MuonWireMessageRead(bytes, length, &found) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  if (found.layer != layer || found.bytes != length - MUON_WIRE_MESSAGE_HEADER) return MUON_WIRE_CORRUPT;
  if (MuonWireMessageCounts(&found, rows, columns, &values, &numbered) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  payload   = bytes + MUON_WIRE_MESSAGE_HEADER;
  positions = MuonWireIndicesBytes((MuonWireIndices)found.indices, numbered, values);
  if (found.bytes != positions + MuonWireValuesBytes((MuonWireValues)found.values, values)) return MUON_WIRE_CORRUPT;
  if (found.form == MUON_WIRE_SPARSE && MuonWireIndicesValidate((MuonWireIndices)found.indices, numbered, values, payload) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  if (MuonWireValuesValidate((MuonWireValues)found.values, values, payload + positions) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  *header = found;
  return MUON_WIRE_OK;
}
