/*
   Messages: the header, the size, and the check after which a receiver can decode without further tests.
*/
#include "muonwirebits.h"

/* With this limit every size below fits into 64 bits. No layer comes near it */
#define MUON_WIRE_MAX_ENTRIES (UINT64_C(1) << 56)

/*
   Places of the fields of the header that have a fixed place. The kind and the codec of the positions share a byte
*/
enum {
  MUON_WIRE_AT_LAYER  = 0,
  MUON_WIRE_AT_FORM   = 4,
  MUON_WIRE_AT_VALUES = 5,
  MUON_WIRE_AT_REST   = 6
};

/* Whether the header of a kind has the byte of the parameter */
static int MuonWireHasParameter(unsigned kind)
{
  return kind == MUON_WIRE_BLOCKS || kind == MUON_WIRE_VOTES;
}

unsigned MuonWireMessageHeaderBytes(const MuonWireMessage *header)
{
  return MUON_WIRE_AT_REST + (unsigned)MuonWireHasParameter(header->kind) + MuonWireVarBytes(header->count) + MuonWireVarBytes(header->bytes);
}

uint64_t MuonWireMessageBytes(const MuonWireMessage *header)
{
  return MuonWireMessageHeaderBytes(header) + header->bytes;
}

unsigned MuonWireMessageWrite(unsigned char *to, const MuonWireMessage *header)
{
  unsigned at = MUON_WIRE_AT_REST;

  MuonWireStore32(to + MUON_WIRE_AT_LAYER, header->layer);
  to[MUON_WIRE_AT_FORM]   = (unsigned char)((header->kind & 15u) | (header->indices & 15u) << 4);
  to[MUON_WIRE_AT_VALUES] = header->values;
  if (MuonWireHasParameter(header->kind)) to[at++] = header->parameter;
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
  found.kind      = bytes[MUON_WIRE_AT_FORM] & 15u;
  found.indices   = bytes[MUON_WIRE_AT_FORM] >> 4;
  found.values    = bytes[MUON_WIRE_AT_VALUES];
  found.parameter = MuonWireHasParameter(found.kind) ? bytes[at++] : 0;
  some            = MuonWireLoadVar(bytes + at, length - at, &found.count);
  if (some == 0) return MUON_WIRE_CORRUPT;
  at += some;
  some = MuonWireLoadVar(bytes + at, length - at, &found.bytes);
  if (some == 0 || found.bytes > length - at - some) return MUON_WIRE_CORRUPT;
  *header = found;
  return MUON_WIRE_OK;
}

/* Units of the count, of positions and of sections */
enum {
  NOTHING,
  ONE,    /* one for each of the count */
  SHARED, /* one for the whole count */
  ROWS,   /* rows of the matrix */
  COLUMNS,
  SHORTER, /* the smaller number of rows and columns */
  ENTRIES,
  LEVELS, /* places of the scale of a block */
  SCALES  /* one for each block */
};

enum {
  AT_MOST,     /* the count is at most the limit, */
  ALL_OR_NONE, /* that or 0, */
  ALL          /* or exactly that */
};

/* The table of the kinds in README.md */
static const struct {
  uint8_t limit, counts;                                                              /* limit of the count, and how it applies; NOTHING: not a message by itself */
  uint8_t numbered;                                                                   /* unit of the positions */
  uint8_t length;                                                                     /* number of places for each of the count */
  uint8_t section[3];                                                                 /* values for each of the count */
  uint8_t positive;                                                                   /* the first section holds magnitudes */
} MuonWireKinds[16] = {{ENTRIES, ALL_OR_NONE, NOTHING, NOTHING, {ONE}, 0},            /* dense */
                       {ENTRIES, AT_MOST, ENTRIES, NOTHING, {ONE}, 0},                /* sparse */
                       {SHORTER, AT_MOST, NOTHING, NOTHING, {ROWS, COLUMNS}, 0},      /* low rank */
                       {ENTRIES, ALL_OR_NONE, NOTHING, ONE, {SHARED}, 1},             /* signs */
                       {SHORTER, AT_MOST, NOTHING, NOTHING, {ONE, ROWS, COLUMNS}, 1}, /* triples */
                       {ROWS, AT_MOST, ROWS, COLUMNS, {SHARED}, 1},                   /* entry a row */
                       {COLUMNS, AT_MOST, COLUMNS, ROWS, {SHARED}, 1},                /* entry a column */
                       {COLUMNS, AT_MOST, COLUMNS, NOTHING, {ONE, ROWS}, 1},          /* columns */
                       {ENTRIES, AT_MOST, NOTHING, NOTHING, {ONE}, 0},                /* seeded */
                       {COLUMNS, AT_MOST, COLUMNS, NOTHING, {ROWS}, 0},               /* whole columns */
                       {ROWS, AT_MOST, ROWS, NOTHING, {COLUMNS}, 0},                  /* whole rows */
                       {ENTRIES, ALL_OR_NONE, NOTHING, LEVELS, {SCALES}, 0},          /* blocks */
                       {NOTHING, AT_MOST, NOTHING, NOTHING, {NOTHING}, 0},            /* group */
                       {ENTRIES, ALL, NOTHING, ONE, {NOTHING}, 0},                    /* votes */
                       {NOTHING, AT_MOST, NOTHING, NOTHING, {NOTHING}, 0},
                       {NOTHING, AT_MOST, NOTHING, NOTHING, {NOTHING}, 0}};

static uint64_t MuonWireQuantity(unsigned what, uint64_t rows, uint64_t columns)
{
  switch (what) {
  case ROWS:
    return rows;
  case COLUMNS:
    return columns;
  case SHORTER:
    return rows < columns ? rows : columns;
  case ENTRIES:
    return rows * columns;
  default:
    return what == ONE;
  }
}

MuonWireIndices MuonWireKindIndices(MuonWireKind kind, uint64_t rows, uint64_t columns, uint64_t count)
{
  const uint64_t numbered = MuonWireQuantity(MuonWireKinds[kind & 15].numbered, rows, columns);

  if (MuonWireKinds[kind & 15].numbered == NOTHING) return MUON_WIRE_INDICES_NONE;
  /* If every row has an entry, positions are not necessary */
  if (MuonWireKinds[kind & 15].length != NOTHING && count == numbered) return MUON_WIRE_INDICES_NONE;
  return MuonWireChooseIndices(numbered, count);
}

int MuonWireKindIsCoded(MuonWireKind kind, MuonWireValues values)
{
  if (MuonWireKinds[kind & 15].numbered != NOTHING || kind == MUON_WIRE_BLOCKS) return 1;
  /* Entropy coding cannot make a single value shorter */
  return MuonWireKinds[kind & 15].section[0] != SHARED && values == MUON_WIRE_VALUES_NATURAL;
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
  uint64_t       limit;
  unsigned       kind = header->kind & 15u, bits = 1, lengthlog = 0;

  memset(layout, 0, sizeof(*layout));
  if (rows > MUON_WIRE_MAX_ENTRIES || columns > MUON_WIRE_MAX_ENTRIES || (columns != 0 && rows > MUON_WIRE_MAX_ENTRIES / columns)) return MUON_WIRE_CORRUPT;
  if (header->kind != kind || MuonWireKinds[kind].limit == NOTHING) return MUON_WIRE_CORRUPT;
  if (header->values > MUON_WIRE_VALUES_NATURAL && (header->values != MUON_WIRE_VALUES_TWOBIT || kind != MUON_WIRE_SPARSE)) return MUON_WIRE_CORRUPT;
  limit = MuonWireQuantity(MuonWireKinds[kind].limit, rows, columns);
  if (count > limit || (count != limit && (MuonWireKinds[kind].counts == ALL || (MuonWireKinds[kind].counts == ALL_OR_NONE && count != 0)))) return MUON_WIRE_CORRUPT;
  if (kind == MUON_WIRE_BLOCKS) {
    if (MuonWireBlocksOfParameter(header->parameter, &bits, &lengthlog) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  } else if (kind == MUON_WIRE_VOTES) {
    if (header->values != 0 || header->parameter < 1 || header->parameter > 32) return MUON_WIRE_CORRUPT;
  } else if (header->parameter != 0) return MUON_WIRE_CORRUPT;
  if (header->indices != MuonWireKindIndices((MuonWireKind)kind, rows, columns, count)) return MUON_WIRE_CORRUPT;
  if (header->indices != MUON_WIRE_INDICES_NONE) {
    layout->numbered  = MuonWireQuantity(MuonWireKinds[kind].numbered, rows, columns);
    layout->positions = count;
  }
  if (MuonWireKinds[kind].length != NOTHING) {
    layout->length  = kind == MUON_WIRE_BLOCKS ? UINT64_C(1) << (bits - 1) : MuonWireQuantity(MuonWireKinds[kind].length, rows, columns);
    layout->width   = MuonWireEntryWidth(layout->length);
    layout->entries = count;
  }
  layout->seed      = kind == MUON_WIRE_SEEDED ? 8 : 0;
  layout->planes    = kind == MUON_WIRE_VOTES ? header->parameter : 1;
  layout->entriesat = layout->seed + MuonWireIndicesBytes((MuonWireIndices)header->indices, layout->numbered, layout->positions);
  layout->valuesat  = layout->entriesat + layout->planes * MuonWireCodesBytes(layout->width, count);
  layout->bytes     = layout->valuesat;
  for (unsigned s = 0; s < 3 && (s == 0 || MuonWireKinds[kind].section[s] != NOTHING); s++) {
    const unsigned what = MuonWireKinds[kind].section[s];
    uint64_t       some = count * MuonWireQuantity(what, rows, columns);

    if (what == SHARED) some = count > 0;
    if (what == SCALES) some = (count >> lengthlog) + ((count & ((UINT64_C(1) << lengthlog) - 1)) != 0);
    layout->section[s]   = some;
    layout->sectionat[s] = layout->bytes;
    layout->sections     = s + 1;
    layout->values += some;
    layout->bytes += MuonWireValuesBytes((MuonWireValues)header->values, some);
  }
  layout->magnitudes = MuonWireKinds[kind].positive ? layout->section[0] : 0;
  layout->scales     = kind == MUON_WIRE_BLOCKS ? layout->section[0] : 0;
  return MUON_WIRE_OK;
}

MuonWireResult MuonWirePayloadValidate(const MuonWireMessage *header, const MuonWireLayout *layout, const unsigned char *payload, int positions, int numbers)
{
  const MuonWireValues values = (MuonWireValues)header->values;
  const uint64_t       plane  = MuonWireCodesBytes(layout->width, layout->entries);

  if (positions && header->indices != MUON_WIRE_INDICES_NONE && MuonWireIndicesValidate((MuonWireIndices)header->indices, layout->numbered, layout->positions, payload) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  for (uint64_t p = 0; p < layout->planes; p++) {
    if (MuonWireEntriesValidate(layout->length, layout->entries, payload + layout->entriesat + p * plane) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  }
  for (unsigned s = 0; s < layout->sections && numbers; s++) {
    if (MuonWireValuesValidate(values, layout->section[s], payload + layout->sectionat[s]) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  }
  if (MuonWireValuesAreMagnitudes(values, 0, layout->magnitudes, payload + layout->valuesat) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  return MuonWireValuesAreMagnitudes(values, 1, layout->scales, payload + layout->valuesat);
}
