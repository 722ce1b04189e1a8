/*
   What the tests of the wire share: messages as what they say (positions and values), their bytes, and back,
   through every codec.
*/
#pragma once

#include "check_common.h"
#include <math.h>
#include <petscmuon/private/muonwire.h>

/* values are binary64 whatever the codec: each of them holds what the others can say */
typedef struct {
  MuonWireMessage header;
  uint64_t        rows, columns, numbers;
  uint64_t        numbered, length, lines, magnitudes; /* what positions number, places of a line with one entry (or levels), how many codes of them, positive values at the front */
  uint64_t        section[3];                          /* how many values each of their sections has */
  uint64_t        scales, block, seed;                 /* values at the front that are not negative, entries that share one, and what a seeded message begins with */
  uint64_t        planes;                              /* sections of entries, each of as many of the lines */
  uint64_t       *positions, *entries;
  double         *values;
} Content;

static inline void Put(unsigned char *to, unsigned bytes, uint64_t word)
{
  for (unsigned b = 0; b < bytes; b++) to[b] = (unsigned char)(word >> 8 * b & 255);
}

static inline uint64_t Get(const unsigned char *from, unsigned bytes)
{
  uint64_t word = 0;

  for (unsigned b = 0; b < bytes; b++) word |= (uint64_t)from[b] << 8 * b;
  return word;
}

static inline double FromBits64(uint64_t bits)
{
  double x;

  memcpy(&x, &bits, 8);
  return x;
}

static inline double FromBits32(uint32_t bits)
{
  float x;

  memcpy(&x, &bits, 4);
  return (double)x;
}

/* A natural code by its definition */
static inline double NaturalValue(unsigned code)
{
  const double power = (code & 255) == 0 ? 0 : ldexp(1.0, (int)(code & 255) - 127);

  return code >> 8 != 0 ? -power : power;
}

static inline uint16_t NaturalCode(double x)
{
  int exponent;

  if (x == 0) return signbit(x) ? 256 : 0;
  Check(frexp(fabs(x), &exponent) == 0.5, "%g is no power of two", x);
  return (uint16_t)((x < 0 ? 256 : 0) + exponent - 1 + 127);
}

static inline double RandomValue(unsigned values, uint64_t *state)
{
  for (;;) {
    const uint64_t bits = NextBits(state);
    double         x;

    if (values == MUON_WIRE_VALUES_CODED) {
      /* Like residuals: each octave down is half as frequent */
      unsigned below = 0;

      while (below < 40 && (bits >> below & 1) == 0) below++;
      return NaturalValue((unsigned)(bits >> 63) << 8 | (120 - below));
    }
    if (values == MUON_WIRE_VALUES_NATURAL) {
      if ((bits & 255) == 255 || (bits & 511) == 256) continue;
      return NaturalValue((unsigned)(bits & 511));
    }
    if (values == MUON_WIRE_VALUES_DOUBLE) x = FromBits64(bits);
    else x = FromBits32((uint32_t)bits & (values == MUON_WIRE_VALUES_BF16 ? 0xFFFF0000u : 0xFFFFFFFFu));
    if (x - x == 0) return x;
  }
}

static inline int HasPositions(const MuonWireMessage *header)
{
  return header->indices != MUON_WIRE_INDICES_NONE && header->indices != MUON_WIRE_INDICES_CODED;
}

/* What the header and the shape say of the sections */
static inline void ContentShape(Content *content)
{
  const MuonWireMessage *header = &content->header;
  const uint64_t         rows = content->rows, columns = content->columns, count = header->count;

  content->numbered   = rows * columns;
  content->length     = 0;
  content->lines      = 0;
  content->magnitudes = 0;
  content->scales     = 0;
  content->planes     = 1;
  content->block      = 0;
  content->section[0] = content->section[1] = content->section[2] = 0;
  content->numbers                                                = count;
  switch (header->kind) {
  case MUON_WIRE_LOWRANK:
    content->numbers    = count * (rows + columns);
    content->section[0] = count * rows;
    content->section[1] = count * columns;
    break;
  case MUON_WIRE_TRIPLES:
    content->numbers    = count * (1 + rows + columns);
    content->magnitudes = count;
    content->section[0] = count;
    content->section[1] = count * rows;
    content->section[2] = count * columns;
    break;
  case MUON_WIRE_PERROW:
  case MUON_WIRE_PERCOLUMN:
    content->numbered   = header->kind == MUON_WIRE_PERROW ? rows : columns;
    content->length     = header->kind == MUON_WIRE_PERROW ? columns : rows;
    content->lines      = count;
    content->magnitudes = count > 0 ? 1 : 0;
    content->numbers    = content->magnitudes;
    break;
  case MUON_WIRE_COLUMNS:
    content->numbered   = columns;
    content->numbers    = count * (1 + rows);
    content->magnitudes = count;
    content->section[0] = count;
    content->section[1] = count * rows;
    break;
  case MUON_WIRE_SIGNS:
    content->length     = 1;
    content->lines      = count;
    content->magnitudes = count > 0 ? 1 : 0;
    content->numbers    = content->magnitudes;
    break;
  case MUON_WIRE_VOTES:
    content->length  = 1;
    content->planes  = header->parameter;
    content->lines   = count * content->planes;
    content->numbers = 0;
    break;
  case MUON_WIRE_WHOLECOLUMNS:
    content->numbered = columns;
    content->numbers  = count * rows;
    break;
  case MUON_WIRE_WHOLEROWS:
    content->numbered = rows;
    content->numbers  = count * columns;
    break;
  case MUON_WIRE_BLOCKS:
    content->block   = (uint64_t)16 << header->parameter / 16;
    content->length  = (uint64_t)1 << (header->parameter % 16 - 1);
    content->lines   = count;
    content->numbers = (count + content->block - 1) / content->block;
    content->scales  = content->numbers;
    break;
  default:
    break;
  }
  if (content->section[0] + content->section[1] + content->section[2] == 0) content->section[0] = content->numbers;
}

static inline void ContentAllocate(Content *content)
{
  ContentShape(content);
  content->positions = HasPositions(&content->header) ? (uint64_t *)Allocate((size_t)content->header.count * 8) : NULL;
  content->entries   = (uint64_t *)Allocate((size_t)content->lines * 8);
  content->values    = (double *)Allocate((size_t)content->numbers * 8);
}

static inline void ContentFree(Content *content)
{
  free(content->positions);
  free(content->entries);
  free(content->values);
}

static inline int ContentEqual(const Content *a, const Content *b)
{
  const MuonWireMessage *g = &a->header, *h = &b->header;

  if (g->layer != h->layer || g->kind != h->kind || g->indices != h->indices || g->values != h->values || g->parameter != h->parameter || g->count != h->count || g->bytes != h->bytes) return 0;
  if (g->kind == MUON_WIRE_SEEDED && a->seed != b->seed) return 0;
  if (a->numbers != b->numbers || memcmp(a->values, b->values, (size_t)a->numbers * 8) != 0) return 0;
  if (a->lines != b->lines || memcmp(a->entries, b->entries, (size_t)a->lines * 8) != 0) return 0;
  return !HasPositions(g) || memcmp(a->positions, b->positions, (size_t)g->count * 8) == 0;
}

/* At most so many bytes: chunks that nothing makes shorter, and their heads */
static inline uint64_t GapsMaxBytes(uint64_t entries)
{
  return entries / 8 + 1 + 6 * (entries / 65536 + 1);
}

static inline uint64_t CodedMaxBytes(unsigned width, uint64_t count)
{
  return (width * count + 7) / 8 + 3 * (count / 65536 + 1);
}

/*
   Room for every message of that content: where codecs are not plain its length is known when the message is
   written
*/
static inline size_t ContentRoom(const Content *content)
{
  return MUON_WIRE_MESSAGE_HEADER_MOST +
         (size_t)(GapsMaxBytes(content->numbered) + 8 * content->header.count + CodedMaxBytes(8, content->lines) + MuonWireCodesBytes(MuonWireEntryWidth(content->length), content->lines) + content->planes + 9 + 8 * content->numbers + 16);
}
static inline void ContentMeasure(Content *content);
static inline void ContentSettle(Content *content);
static inline void ContentRound(Content *content);

/* Positions at random: each entry in turn is kept with the probability that makes all choices equally likely. form holds the parameter of the header above its lowest byte; crowded ones
   are in every other stretch of 256 */
#define CORPUS_CROWDED (1u << 20)

static inline void ContentRandom(Content *content, uint32_t layer, uint64_t rows, uint64_t columns, unsigned form, unsigned indices, unsigned values, uint64_t count, uint64_t *state)
{
  uint64_t kept = 0;

  content->header.layer     = layer;
  content->header.kind      = (uint8_t)(form & 255);
  content->header.indices   = (uint8_t)indices;
  content->header.values    = (uint8_t)values;
  content->header.parameter = (uint8_t)(form >> 8);
  content->header.count     = count;
  content->rows             = rows;
  content->columns          = columns;
  ContentAllocate(content);
  if (HasPositions(&content->header)) {
    for (uint64_t k = 0; kept < count; k++) {
      if (form >= CORPUS_CROWDED && k / 256 % 2 == 1 && content->numbered - k > count - kept) continue;
      if (NextBits(state) % (content->numbered - k) < count - kept) content->positions[kept++] = k;
    }
  }
  content->seed = NextBits(state);
  for (uint64_t i = 0; i < content->lines; i++) content->entries[i] = NextBits(state) % (2 * content->length);
  for (uint64_t i = 0; i < content->numbers; i++) {
    do content->values[i] = RandomValue(values, state);
    while (i < content->magnitudes && content->values[i] == 0);
    if (i < content->magnitudes || i < content->scales) content->values[i] = fabs(content->values[i]);
    if (i < content->scales && i % 3 == 1) content->values[i] = 0;
  }
  for (uint64_t i = 0; content->block > 0 && i < content->lines; i++) {
    /* Levels as of numbers that are mostly small */
    if (indices == MUON_WIRE_INDICES_CODED) content->entries[i] %= 2 + NextBits(state) % (2 * content->length - 1);
    if (content->entries[i] == 1 || content->values[i / content->block] == 0) content->entries[i] = 0;
  }
  if (values == MUON_WIRE_VALUES_TWOBIT) ContentRound(content);
  ContentSettle(content);
  ContentMeasure(content);
}

/* A section of values, coded ones in at most limit bytes; returns its length */
static inline uint64_t ContentValues(const MuonWireMessage *header, uint64_t numbers, const double *x, uint64_t limit, unsigned char *to)
{
  if (header->values == MUON_WIRE_VALUES_DOUBLE) MuonWireValuesEncode(MUON_WIRE_VALUES_DOUBLE, numbers, x, to);
  else if (header->values == MUON_WIRE_VALUES_NATURAL || header->values == MUON_WIRE_VALUES_CODED) {
    uint16_t      *codes  = (uint16_t *)Allocate((size_t)numbers * 2);
    unsigned char *packed = (unsigned char *)Allocate((size_t)numbers * 2);
    uint64_t       bytes  = 0;

    for (uint64_t i = 0; i < numbers; i++) codes[i] = NaturalCode(x[i]);
    if (header->values == MUON_WIRE_VALUES_NATURAL) MuonWireValuesEncode(MUON_WIRE_VALUES_NATURAL, numbers, codes, to);
    else {
      MuonWireValuesEncode(MUON_WIRE_VALUES_NATURAL, numbers, codes, packed);
      bytes = MuonWireCodedEncode(9, numbers, packed, limit, to);
    }
    free(packed);
    free(codes);
    if (header->values == MUON_WIRE_VALUES_CODED) return bytes;
  } else {
    float *singles = (float *)Allocate((size_t)numbers * 4);

    for (uint64_t i = 0; i < numbers; i++) singles[i] = (float)x[i];
    if (header->values == MUON_WIRE_VALUES_SINGLE) MuonWireValuesEncode(MUON_WIRE_VALUES_SINGLE, numbers, singles, to);
    else MuonWireValuesEncode((MuonWireValues)header->values, numbers, singles, to);
    free(singles);
  }
  return MuonWireValuesBytes((MuonWireValues)header->values, numbers);
}

/* Values as those that two bits can say */
static inline void ContentRound(Content *content)
{
  const uint64_t numbers = content->header.count;
  float         *singles = (float *)Allocate((size_t)numbers * 4);
  unsigned char *room    = (unsigned char *)Allocate((size_t)MuonWireValuesBytes(MUON_WIRE_VALUES_TWOBIT, numbers));

  (void)ContentValues(&content->header, numbers, content->values, 0, room);
  MuonWireValuesDecode(MUON_WIRE_VALUES_TWOBIT, numbers, room, 0, singles);
  for (uint64_t i = 0; i < numbers; i++) content->values[i] = (double)singles[i];
  free(room);
  free(singles);
}

/* Writes the payload and returns its length, coded values in no more than limit bytes of it */
static inline uint64_t ContentPayload(const Content *content, uint64_t limit, unsigned char *to)
{
  const MuonWireMessage *header   = &content->header;
  const uint64_t         numbered = content->numbered;
  const double          *x        = content->values;
  unsigned char         *start    = to;

  if (header->kind == MUON_WIRE_SEEDED) {
    Put(to, 8, content->seed);
    to += 8;
  }
  if (HasPositions(header)) {
    unsigned char *bitmap = (unsigned char *)Allocate((size_t)(numbered + 7) / 8);

    memset(bitmap, 0, (size_t)(numbered + 7) / 8);
    for (uint64_t i = 0; i < header->count; i++) bitmap[content->positions[i] / 8] = (unsigned char)(bitmap[content->positions[i] / 8] | 1 << (content->positions[i] % 8));
    if (header->indices == MUON_WIRE_INDICES_GAPS) to += MuonWireGapsEncode(MUON_WIRE_INDICES_BITMAP, numbered, header->count, bitmap, limit, to);
    else {
      MuonWireIndicesEncode((MuonWireIndices)header->indices, numbered, header->count, bitmap, to);
      to += MuonWireIndicesBytes((MuonWireIndices)header->indices, numbered, header->count);
    }
    free(bitmap);
  }
  if (header->indices == MUON_WIRE_INDICES_CODED) {
    unsigned char *packed = (unsigned char *)Allocate((size_t)content->lines + 8);

    MuonWireCodesEncode(MuonWireEntryWidth(content->length), 8, content->lines, content->entries, packed);
    to += MuonWireCodedEncode(header->parameter % 16, content->lines, packed, limit - (uint64_t)(to - start), to);
    free(packed);
  } else {
    const uint64_t lines = content->lines / content->planes;

    for (uint64_t p = 0; p < content->planes; p++) {
      MuonWireCodesEncode(MuonWireEntryWidth(content->length), 8, lines, content->entries + p * lines, to);
      to += MuonWireCodesBytes(MuonWireEntryWidth(content->length), lines);
    }
  }
  for (unsigned s = 0; s < 3; s++) {
    to += ContentValues(header, content->section[s], x, limit - (uint64_t)(to - start), to);
    x += content->section[s];
  }
  return (uint64_t)(to - start);
}

/* Writes the whole message and returns the bytes of its payload */
static inline uint64_t ContentEncode(const Content *content, unsigned char *to)
{
  const unsigned head = MuonWireMessageWrite(to, &content->header);

  Check(head == MuonWireMessageHeaderBytes(&content->header) && head <= MUON_WIRE_MESSAGE_HEADER_MOST, "%u bytes of header", head);
  return ContentPayload(content, content->header.bytes, to + head);
}

/*
   Of bitmap and raw positions the shorter; codecs that would not be shorter than the plain ones become these:
   a receiver refuses others
*/
static inline void ContentSettle(Content *content)
{
  MuonWireMessage *header = &content->header;
  unsigned char   *room   = (unsigned char *)Allocate(ContentRoom(content));
  Content          part   = *content;

  part.section[0] = part.section[1] = part.section[2] = 0;
  if (header->indices == MUON_WIRE_INDICES_BITMAP || header->indices == MUON_WIRE_INDICES_RAW) header->indices = (uint8_t)MuonWireKindIndices((MuonWireKind)header->kind, content->rows, content->columns, header->count);
  if (header->indices == MUON_WIRE_INDICES_GAPS || header->indices == MUON_WIRE_INDICES_CODED) {
    const MuonWireIndices plain = MuonWireKindIndices((MuonWireKind)header->kind, content->rows, content->columns, header->count);
    const uint64_t        after = header->indices == MUON_WIRE_INDICES_GAPS ? MuonWireCodesBytes(MuonWireEntryWidth(content->length), content->lines) : 0;

    if (ContentPayload(&part, ContentRoom(content), room) - after >=
        (header->indices == MUON_WIRE_INDICES_GAPS ? MuonWireIndicesBytes(plain, content->numbered, header->count) : MuonWireCodesBytes(MuonWireEntryWidth(content->length), content->lines)))
      header->indices = (uint8_t)plain;
  }
  if (header->values == MUON_WIRE_VALUES_CODED) {
    uint64_t      coded = 0, natural = 0;
    const double *x = content->values;

    for (unsigned s = 0; s < 3; s++, x += content->section[s - 1]) {
      coded += ContentValues(header, content->section[s], x, ContentRoom(content), room);
      natural += MuonWireValuesBytes(MUON_WIRE_VALUES_NATURAL, content->section[s]);
    }
    if (coded >= natural) header->values = MUON_WIRE_VALUES_NATURAL;
  }
  free(room);
}

static inline void ContentMeasure(Content *content)
{
  unsigned char *message = (unsigned char *)Allocate(ContentRoom(content));

  content->header.bytes = ContentPayload(content, ContentRoom(content) - MUON_WIRE_MESSAGE_HEADER_MOST, message);
  if (content->header.indices <= MUON_WIRE_INDICES_RAW && content->header.values != MUON_WIRE_VALUES_CODED) {
    MuonWireLayout layout;

    Check(MuonWireMessageLayout(&content->header, content->rows, content->columns, &layout) == MUON_WIRE_OK && content->header.bytes == layout.bytes, "form %d, codecs %d and %d, count %d", content->header.kind, content->header.indices,
          content->header.values, (int)content->header.count);
  }
  free(message);
}

/* Decodes a message if it is valid, the values in runs of at most 24 so that their first argument is used */
static inline MuonWireResult ContentDecode(Content *content, const unsigned char *bytes, size_t length, uint32_t layer, uint64_t rows, uint64_t columns)
{
  const MuonWireMessage *header = &content->header;
  const unsigned char   *from;
  unsigned char         *room;
  double                *x;
  MuonWireMessage        found;
  MuonWireLayout         layout;

  content->rows    = rows;
  content->columns = columns;
  if (MuonWireMessageRead(bytes, length, &found) != MUON_WIRE_OK || MuonWireMessageUncompressed(&found, rows, columns, &content->header, &layout) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  /*
     Length and codecs are not proved yet; a layer of the tests is never so large that room for it could be
     missing
  */
  room = (unsigned char *)Allocate((size_t)MuonWireMessageBytes(&content->header));
  if (MuonWireMessageExpand(bytes, length, layer, rows, columns, (size_t)MuonWireMessageBytes(&content->header), room, &from, &content->header) != MUON_WIRE_OK) {
    free(room);
    return MUON_WIRE_CORRUPT;
  }
  from += MuonWireMessageHeaderBytes(header);
  ContentAllocate(content);
  if (header->kind == MUON_WIRE_SEEDED) {
    content->seed = Get(from, 8);
    from += 8;
  }
  if (HasPositions(header)) {
    MuonWireIndexReader reader;

    MuonWireIndexReaderInit(&reader, (MuonWireIndices)header->indices, content->numbered, header->count, from);
    for (uint64_t i = 0; i < header->count; i++) {
      content->positions[i] = MuonWireIndexReaderNext(&reader);
      Check(content->positions[i] < content->numbered, "position %d", (int)i);
      Check(i == 0 || content->positions[i] > content->positions[i - 1], "position %d", (int)i);
    }
    Check(MuonWireIndexReaderNext(&reader) == content->numbered, "no position is left");
    from += MuonWireIndicesBytes((MuonWireIndices)header->indices, content->numbered, header->count);
  }
  for (uint64_t p = 0; p < content->planes; p++) {
    const uint64_t lines = content->lines / content->planes;

    for (uint64_t first = 0; first < lines; first += 24) {
      const uint64_t count = lines - first < 24 ? lines - first : 24;

      MuonWireCodesDecode(MuonWireEntryWidth(content->length), 8, count, from, first, content->entries + p * lines + first);
      for (uint64_t i = first; i < first + count; i++) Check(content->entries[p * lines + i] / 2 < content->length, "entry %d", (int)i);
    }
    from += MuonWireCodesBytes(MuonWireEntryWidth(content->length), lines);
  }
  x = content->values;
  for (unsigned s = 0; s < 3; s++) {
    const uint64_t step = header->values == MUON_WIRE_VALUES_TWOBIT ? 64 : 24;

    for (uint64_t first = 0; first < content->section[s]; first += step) {
      const uint64_t count = content->section[s] - first < step ? content->section[s] - first : step;

      if (header->values == MUON_WIRE_VALUES_DOUBLE) MuonWireValuesDecode(MUON_WIRE_VALUES_DOUBLE, count, from, first, x + first);
      else if (header->values == MUON_WIRE_VALUES_NATURAL) {
        uint16_t codes[24];

        MuonWireValuesDecode(MUON_WIRE_VALUES_NATURAL, count, from, first, codes);
        for (uint64_t i = 0; i < count; i++) x[first + i] = NaturalValue(codes[i]);
      } else {
        float singles[64];

        MuonWireValuesDecode((MuonWireValues)header->values, count, from, first, singles);
        for (uint64_t i = 0; i < count; i++) x[first + i] = (double)singles[i];
      }
    }
    from += MuonWireValuesBytes((MuonWireValues)header->values, content->section[s]);
    x += content->section[s];
  }
  for (uint64_t i = 0; i < content->numbers; i++) {
    Check(content->values[i] - content->values[i] == 0, "value %d is not finite", (int)i);
    Check(i >= content->magnitudes || content->values[i] > 0, "magnitude %d is not positive", (int)i);
    Check(i >= content->scales || content->values[i] >= 0, "scale %d is negative", (int)i);
  }
  content->header = found;
  free(room);
  return MUON_WIRE_OK;
}

/* A valid message in the shortest codecs and back: the same without entropy coding */
static inline void CheckCompact(const unsigned char *bytes, size_t length, const MuonWireMessage *header, uint64_t rows, uint64_t columns)
{
  MuonWireMessage      plain, again;
  MuonWireLayout       layout;
  const unsigned char *from, *back;
  unsigned char       *room, *other, *compact;
  size_t               whole, some;

  Check(MuonWireMessageUncompressed(header, rows, columns, &plain, &layout) == MUON_WIRE_OK, "form %d", header->kind);
  whole   = (size_t)MuonWireMessageBytes(&plain);
  room    = (unsigned char *)Allocate(whole);
  other   = (unsigned char *)Allocate(whole);
  compact = (unsigned char *)Allocate(whole);
  Check(MuonWireMessageExpand(bytes, length, header->layer, rows, columns, whole, room, &from, &plain) == MUON_WIRE_OK, "form %d", header->kind);
  some = (size_t)MuonWireMessageCode(from, rows, columns, compact);
  Check(some <= whole, "form %d, codecs %d and %d: %d bytes of %d", header->kind, header->indices, header->values, (int)some, (int)whole);
  Check(MuonWireMessageExpand(compact, some, header->layer, rows, columns, whole, other, &back, &again) == MUON_WIRE_OK, "form %d, codecs %d and %d", header->kind, header->indices, header->values);
  Check(MuonWireMessageBytes(&again) == whole, "form %d, codecs %d and %d", header->kind, header->indices, header->values);
  free(compact);
  free(other);
  free(room);
}

/* Whether a message is valid; then it decodes within its bounds, and what it says survives being written again */
static inline MuonWireResult CheckMessage(const unsigned char *bytes, size_t length, uint32_t layer, uint64_t rows, uint64_t columns)
{
  Content        content, back;
  unsigned char *again;
  uint64_t       size;

  if (ContentDecode(&content, bytes, length, layer, rows, columns) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  Check(MuonWireMessageBytes(&content.header) == length, "form %d", content.header.kind);
  CheckCompact(bytes, length, &content.header, rows, columns);
  ContentMeasure(&content);
  again = (unsigned char *)Allocate(ContentRoom(&content));
  size  = MuonWireMessageHeaderBytes(&content.header) + ContentEncode(&content, again);
  Check(ContentDecode(&back, again, (size_t)size, layer, rows, columns) == MUON_WIRE_OK && ContentEqual(&content, &back), "form %d, codecs %d and %d, %d x %d", content.header.kind, content.header.indices, content.header.values, (int)rows,
        (int)columns);
  free(again);
  ContentFree(&content);
  ContentFree(&back);
  return MUON_WIRE_OK;
}

/* A packet of these messages; the caller frees it */
static inline unsigned char *PacketOf(const MuonWirePacket *who, const Content *contents, uint32_t messages, size_t *length)
{
  MuonWirePacket header = *who;
  unsigned char *packet, *to;

  header.messages = messages;
  header.bytes    = 0;
  for (uint32_t i = 0; i < messages; i++) header.bytes += MuonWireMessageBytes(&contents[i].header);
  *length = MUON_WIRE_PACKET_HEADER + (size_t)header.bytes;
  packet  = (unsigned char *)Allocate(*length);
  memset(packet, 0xA5, *length);
  to = packet + MUON_WIRE_PACKET_HEADER;
  for (uint32_t i = 0; i < messages; i++) {
    ContentEncode(&contents[i], to);
    to += MuonWireMessageBytes(&contents[i].header);
  }
  MuonWirePacketFinalize(packet, &header);
  return packet;
}

/* Makes the checksum fit what the packet says now */
static inline void Rectify(unsigned char *packet, size_t length)
{
  Put(packet + 32, 4, MuonWireCRC32C(MuonWireCRC32C(0, packet, 32), packet + 36, length - 36));
}

/*
   Opens a packet and decodes every message; contents of the layers say what is expected. The verdict on the
   whole
*/
static inline MuonWireResult PacketCheck(const unsigned char *packet, size_t length, const MuonWirePacket *expected, const Content *contents, uint32_t messages)
{
  MuonWireResult       result = MUON_WIRE_OK;
  MuonWirePacket       header;
  const unsigned char *from = packet + MUON_WIRE_PACKET_HEADER;

  if (MuonWirePacketOpen(packet, length, expected, &header) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  Check(header.bytes == length - MUON_WIRE_PACKET_HEADER, "%d bytes", (int)length);
  Check(header.status == 0 || header.messages == 0, "status %d", (int)header.status);
  if (header.messages != messages && header.status == 0) result = MUON_WIRE_CORRUPT;
  for (uint32_t i = 0; i < header.messages; i++) {
    MuonWireMessage message;
    const size_t    rest = (size_t)(packet + length - from);

    Check(MuonWireMessageRead(from, rest, &message) == MUON_WIRE_OK, "message %d of an open packet", (int)i);
    if (i < messages && CheckMessage(from, (size_t)MuonWireMessageBytes(&message), contents[i].header.layer, contents[i].rows, contents[i].columns) != MUON_WIRE_OK) result = MUON_WIRE_CORRUPT;
    from += MuonWireMessageBytes(&message);
  }
  Check(from == packet + length, "the messages do not end with the packet");
  return result;
}

/* A set of packets with every form and codec and their edges */
#define CORPUS_PACKETS                 16
#define CORPUS_BLOCKS(bits, lengthlog) (MUON_WIRE_BLOCKS | ((bits) + 16 * ((lengthlog)-4)) << 8)
#define CORPUS_MESSAGES                22

typedef struct {
  const char    *name;
  MuonWirePacket who;
  uint32_t       messages;
  Content        contents[CORPUS_MESSAGES];
} CorpusPacket;

static inline void CorpusPacketCreate(CorpusPacket *packet, unsigned which)
{
  static const char *const names[CORPUS_PACKETS] = {"double", "single", "bf16", "natural", "edges", "small", "poison", "silent", "steps", "missing", "gaps", "coded", "lines", "blocks", "votes", "twobit"};
  uint64_t                 state                 = which;
  uint32_t                 m                     = 0;
  Content                 *c                     = packet->contents;

  packet->name          = names[which];
  packet->who.sender    = which + 2;
  packet->who.direction = which % 2;
  packet->who.status    = which == 6 ? 4 : 0;
  packet->who.messages  = 0;
  packet->who.step      = UINT64_C(1000000007) * which;
  packet->who.bytes     = 0;
  if (which < 4) {
    ContentRandom(&c[m++], (uint32_t)NextBits(&state), 5, 3, MUON_WIRE_DENSE, MUON_WIRE_INDICES_NONE, which, 15, &state);
    ContentRandom(&c[m++], (uint32_t)NextBits(&state), 5, 15, MUON_WIRE_SPARSE, MUON_WIRE_INDICES_BITMAP, which, 11, &state);
    ContentRandom(&c[m++], (uint32_t)NextBits(&state), 15, 20, MUON_WIRE_SPARSE, MUON_WIRE_INDICES_RAW, which, 5, &state);
    ContentRandom(&c[m++], (uint32_t)NextBits(&state), 3, 4, MUON_WIRE_LOWRANK, MUON_WIRE_INDICES_NONE, which, 2, &state);
    ContentRandom(&c[m++], (uint32_t)NextBits(&state), 4, 3, MUON_WIRE_TRIPLES, MUON_WIRE_INDICES_NONE, which, 1 + which % 3, &state);
    ContentRandom(&c[m++], (uint32_t)NextBits(&state), 7, 20, MUON_WIRE_PERROW, MUON_WIRE_INDICES_NONE, which, 7, &state);
    ContentRandom(&c[m++], (uint32_t)NextBits(&state), 11, 9, MUON_WIRE_PERCOLUMN, MUON_WIRE_INDICES_BITMAP, which, 5, &state);
    ContentRandom(&c[m++], (uint32_t)NextBits(&state), 300, 3, MUON_WIRE_PERROW, MUON_WIRE_INDICES_RAW, which, 4, &state);
    ContentRandom(&c[m++], (uint32_t)NextBits(&state), 5, 9, MUON_WIRE_COLUMNS, MUON_WIRE_INDICES_BITMAP, which, 2, &state);
  } else if (which == 4) {
    ContentRandom(&c[m++], 1, 8, 8, MUON_WIRE_SPARSE, MUON_WIRE_INDICES_BITMAP, MUON_WIRE_VALUES_NATURAL, 64, &state);
    ContentRandom(&c[m++], 2, 0, 5, MUON_WIRE_SPARSE, MUON_WIRE_INDICES_BITMAP, MUON_WIRE_VALUES_NATURAL, 0, &state);
    ContentRandom(&c[m++], 3, 7, 5, MUON_WIRE_SPARSE, MUON_WIRE_INDICES_RAW, MUON_WIRE_VALUES_DOUBLE, 0, &state);
    ContentRandom(&c[m++], 4, 7, 5, MUON_WIRE_LOWRANK, MUON_WIRE_INDICES_NONE, MUON_WIRE_VALUES_SINGLE, 0, &state);
    ContentRandom(&c[m++], 5, 0, 5, MUON_WIRE_DENSE, MUON_WIRE_INDICES_NONE, MUON_WIRE_VALUES_BF16, 0, &state);
    ContentRandom(&c[m++], 6, 16, 16, MUON_WIRE_SPARSE, MUON_WIRE_INDICES_RAW, MUON_WIRE_VALUES_BF16, 3, &state);
    ContentRandom(&c[m++], 7, 1, 257, MUON_WIRE_SPARSE, MUON_WIRE_INDICES_RAW, MUON_WIRE_VALUES_NATURAL, 3, &state);
    ContentRandom(&c[m++], 8, 1, 1, MUON_WIRE_LOWRANK, MUON_WIRE_INDICES_NONE, MUON_WIRE_VALUES_NATURAL, 1, &state);
  } else if (which == 14) {
    /* Of one worker, of a majority with ties, and counts up to 31 digits, around whole bytes */
    for (unsigned planes = 1; planes <= 4; planes++) ContentRandom(&c[m++], planes, 1, 6 + planes, MUON_WIRE_VOTES | planes << 8, MUON_WIRE_INDICES_NONE, 0, 6 + planes, &state);
    ContentRandom(&c[m++], 5, 1, 0, MUON_WIRE_VOTES | 1 << 8, MUON_WIRE_INDICES_NONE, 0, 0, &state);
    ContentRandom(&c[m++], 6, 3, 5, MUON_WIRE_VOTES | 32 << 8, MUON_WIRE_INDICES_NONE, 0, 15, &state);
  } else if (which == 15) {
    /* Around a block of 64 values, and none */
    for (unsigned k = 0; k < 5; k++) ContentRandom(&c[m++], k, 15, 20, MUON_WIRE_SPARSE, MUON_WIRE_INDICES_BITMAP, MUON_WIRE_VALUES_TWOBIT, 63 + (k < 3 ? k : 50 * k), &state);
    ContentRandom(&c[m++], 5, 30, 40, MUON_WIRE_SPARSE, MUON_WIRE_INDICES_RAW, MUON_WIRE_VALUES_TWOBIT, 5, &state);
    /* Fewer would take fewer bytes, and more positions another bit: a wrong count is seen */
    ContentRandom(&c[m++], 6, 30, 40, MUON_WIRE_SPARSE, MUON_WIRE_INDICES_GAPS, MUON_WIRE_VALUES_TWOBIT, 65, &state);
    ContentRandom(&c[m++], 7, 7, 5, MUON_WIRE_SPARSE, MUON_WIRE_INDICES_RAW, MUON_WIRE_VALUES_TWOBIT, 0, &state);
  } else if (which == 5) {
    ContentRandom(&c[m++], 1, 2, 4, MUON_WIRE_SPARSE, MUON_WIRE_INDICES_BITMAP, MUON_WIRE_VALUES_NATURAL, 2, &state);
  } else if (which == 8) {
    /* Whole steps, and the codecs that the first packets lack */
    for (unsigned values = MUON_WIRE_VALUES_DOUBLE; values <= MUON_WIRE_VALUES_NATURAL; values++) {
      ContentRandom(&c[m++], values, 9, 5, MUON_WIRE_PERCOLUMN, MUON_WIRE_INDICES_NONE, values, 5, &state);
      ContentRandom(&c[m++], values + 10, 5, 9, MUON_WIRE_COLUMNS, MUON_WIRE_INDICES_RAW, values, 1, &state);
    }
    ContentRandom(&c[m++], 20, 1, 1, MUON_WIRE_PERROW, MUON_WIRE_INDICES_NONE, MUON_WIRE_VALUES_SINGLE, 1, &state);
  } else if (which == 9) {
    for (unsigned values = MUON_WIRE_VALUES_DOUBLE; values <= MUON_WIRE_VALUES_NATURAL; values++) {
      ContentRandom(&c[m++], values, 9, 5, MUON_WIRE_PERROW, MUON_WIRE_INDICES_BITMAP, values, 8, &state);
      ContentRandom(&c[m++], values + 10, 5, 20, MUON_WIRE_PERCOLUMN, MUON_WIRE_INDICES_RAW, values, values % 3, &state);
    }
    ContentRandom(&c[m++], 20, 7, 5, MUON_WIRE_TRIPLES, MUON_WIRE_INDICES_NONE, MUON_WIRE_VALUES_SINGLE, 0, &state);
  } else if (which == 10) {
    /* Few kept, many, none, all, and positions of lines */
    for (unsigned values = MUON_WIRE_VALUES_DOUBLE; values <= MUON_WIRE_VALUES_CODED; values++) ContentRandom(&c[m++], values, 30, 11, MUON_WIRE_SPARSE, MUON_WIRE_INDICES_GAPS, values, values == 2 ? 310 : 8 + 15 * values, &state);
    ContentRandom(&c[m++], 20, 7, 15, MUON_WIRE_SPARSE, MUON_WIRE_INDICES_GAPS, MUON_WIRE_VALUES_CODED, 0, &state);
    ContentRandom(&c[m++], 21, 7, 5, MUON_WIRE_SPARSE, MUON_WIRE_INDICES_GAPS, MUON_WIRE_VALUES_SINGLE, 35, &state);
    ContentRandom(&c[m++], 22, 90, 5, MUON_WIRE_PERROW, MUON_WIRE_INDICES_GAPS, MUON_WIRE_VALUES_SINGLE, 11, &state);
    ContentRandom(&c[m++], 23, 3, 200, MUON_WIRE_PERCOLUMN, MUON_WIRE_INDICES_GAPS, MUON_WIRE_VALUES_DOUBLE, 170, &state);
    ContentRandom(&c[m++], 25, 10, 110, MUON_WIRE_SPARSE | CORPUS_CROWDED, MUON_WIRE_INDICES_GAPS, MUON_WIRE_VALUES_NATURAL, 250, &state);
    ContentRandom(&c[m++], 24, 3, 300, MUON_WIRE_COLUMNS, MUON_WIRE_INDICES_GAPS, MUON_WIRE_VALUES_BF16, 6, &state);
  } else if (which == 11) {
    ContentRandom(&c[m++], 1, 25, 5, MUON_WIRE_DENSE, MUON_WIRE_INDICES_NONE, MUON_WIRE_VALUES_CODED, 125, &state);
    ContentRandom(&c[m++], 2, 15, 20, MUON_WIRE_SPARSE, MUON_WIRE_INDICES_BITMAP, MUON_WIRE_VALUES_CODED, 100, &state);
    ContentRandom(&c[m++], 3, 40, 40, MUON_WIRE_SPARSE, MUON_WIRE_INDICES_RAW, MUON_WIRE_VALUES_CODED, 60, &state);
    ContentRandom(&c[m++], 4, 30, 40, MUON_WIRE_LOWRANK, MUON_WIRE_INDICES_NONE, MUON_WIRE_VALUES_CODED, 3, &state);
    ContentRandom(&c[m++], 5, 41, 30, MUON_WIRE_TRIPLES, MUON_WIRE_INDICES_NONE, MUON_WIRE_VALUES_CODED, 3, &state);
    ContentRandom(&c[m++], 6, 40, 5, MUON_WIRE_SEEDED, MUON_WIRE_INDICES_NONE, MUON_WIRE_VALUES_CODED, 70, &state);
    ContentRandom(&c[m++], 7, 9, 60, MUON_WIRE_WHOLEROWS, MUON_WIRE_INDICES_BITMAP, MUON_WIRE_VALUES_CODED, 2, &state);
    ContentRandom(&c[m++], 8, 30, 60, MUON_WIRE_COLUMNS, MUON_WIRE_INDICES_GAPS, MUON_WIRE_VALUES_CODED, 8, &state);
    ContentRandom(&c[m++], 9, 45, 60, MUON_WIRE_WHOLECOLUMNS, MUON_WIRE_INDICES_GAPS, MUON_WIRE_VALUES_CODED, 7, &state);
    ContentRandom(&c[m++], 10, 40, 30, CORPUS_BLOCKS(3, 4), MUON_WIRE_INDICES_CODED, MUON_WIRE_VALUES_CODED, 1200, &state);
  } else if (which == 12) {
    /* Signs, seeds, whole lines; nothing of them */
    for (unsigned values = MUON_WIRE_VALUES_DOUBLE; values <= MUON_WIRE_VALUES_CODED; values++) {
      ContentRandom(&c[m++], values, 5, 5 + values, MUON_WIRE_SIGNS, MUON_WIRE_INDICES_NONE, values, 5 * (5 + values), &state);
      ContentRandom(&c[m++], values + 10, 7, 5, MUON_WIRE_SEEDED, MUON_WIRE_INDICES_NONE, values, 3 * values, &state);
      ContentRandom(&c[m++], values + 20, 4, 17, MUON_WIRE_WHOLECOLUMNS, values < 3 ? MUON_WIRE_INDICES_BITMAP : (values == 3 ? MUON_WIRE_INDICES_RAW : MUON_WIRE_INDICES_GAPS), values, 5 - values, &state);
      ContentRandom(&c[m++], values + 30, values < 4 ? 30 : 60, 3, MUON_WIRE_WHOLEROWS, values < 3 ? MUON_WIRE_INDICES_RAW : (values == 3 ? MUON_WIRE_INDICES_BITMAP : MUON_WIRE_INDICES_GAPS), values, values < 3 ? values : 4 * values - 8, &state);
    }
    ContentRandom(&c[m++], 40, 5, 3, MUON_WIRE_SIGNS, MUON_WIRE_INDICES_NONE, MUON_WIRE_VALUES_SINGLE, 0, &state);
    ContentRandom(&c[m++], 41, 5, 3, MUON_WIRE_DENSE, MUON_WIRE_INDICES_NONE, MUON_WIRE_VALUES_BF16, 0, &state);
  } else if (which == 13) {
    for (unsigned values = MUON_WIRE_VALUES_DOUBLE; values <= MUON_WIRE_VALUES_CODED; values++) {
      ContentRandom(&c[m++], values, 5, 11, CORPUS_BLOCKS(2 + values, 4), MUON_WIRE_INDICES_NONE, values, 55, &state);
      ContentRandom(&c[m++], values + 10, 8, 8, CORPUS_BLOCKS(8 - values, 4 + values), MUON_WIRE_INDICES_NONE, values, 64, &state);
    }
    for (unsigned bits = 2; bits <= 8; bits++)
      ContentRandom(&c[m++], bits + 30, 5, 20 + 4 * bits, CORPUS_BLOCKS(bits, 4 + bits % 3), MUON_WIRE_INDICES_CODED, bits % 2 == 0 ? MUON_WIRE_VALUES_SINGLE : MUON_WIRE_VALUES_NATURAL, 100 + 20 * bits, &state);
    ContentRandom(&c[m++], 50, 3, 3, CORPUS_BLOCKS(2, 10), MUON_WIRE_INDICES_CODED, MUON_WIRE_VALUES_SINGLE, 0, &state);
    ContentRandom(&c[m++], 20, 1, 1, CORPUS_BLOCKS(3, 16), MUON_WIRE_INDICES_NONE, MUON_WIRE_VALUES_SINGLE, 1, &state);
    ContentRandom(&c[m++], 21, 3, 3, CORPUS_BLOCKS(2, 10), MUON_WIRE_INDICES_NONE, MUON_WIRE_VALUES_NATURAL, 0, &state);
  }
  packet->messages = m;
}

static inline void CorpusPacketDestroy(CorpusPacket *packet)
{
  for (uint32_t i = 0; i < packet->messages; i++) ContentFree(&packet->contents[i]);
}
