/*
   What the tests of the wire share: messages as what they say (positions and values), their bytes, in the codecs that take the fewest or not, and back.
*/
#pragma once

#include "check_common.h"
#include <math.h>
#include <petscmuon/private/muonwire.h>
#include "wire/muonwirewide.h"

/* values are binary64 whatever the codec: each of them holds what the others can say. The header is that of the uncompressed message */
typedef struct {
  MuonWireMessage header;
  MuonWireLayout  layout;
  uint64_t        rows, columns, seed;
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

/* A copy that ends where it ends, so that a sanitizer sees who reads too much */
static inline unsigned char *CopyOf(const unsigned char *bytes, size_t length)
{
  unsigned char *copy = (unsigned char *)Allocate(length);

  if (length > 0) memcpy(copy, bytes, length);
  return copy;
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

/* Natural values like those of residuals: each octave down is half as frequent */
#define CORPUS_RESIDUALS 6u

static inline double RandomValue(unsigned values, uint64_t *state)
{
  for (;;) {
    const uint64_t bits = NextBits(state);
    double         x;

    if (values == CORPUS_RESIDUALS) {
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

/* For a header whose layer, kind, values, parameter and count are known: the rest of it, and room for what the message says */
static inline void ContentAllocate(Content *content)
{
  MuonWireMessage *header = &content->header;

  header->indices = (uint8_t)MuonWireKindIndices((MuonWireKind)header->kind, content->rows, content->columns, header->count);
  Check(MuonWireMessageLayout(header, content->rows, content->columns, &content->layout) == MUON_WIRE_OK, "form %d, values %d, count %d of %d x %d", header->kind, header->values, (int)header->count, (int)content->rows, (int)content->columns);
  header->bytes      = content->layout.bytes;
  content->positions = (uint64_t *)Allocate((size_t)content->layout.positions * 8);
  content->entries   = (uint64_t *)Allocate((size_t)(content->layout.entries * content->layout.planes) * 8);
  content->values    = (double *)Allocate((size_t)content->layout.values * 8);
}

/* Of form the lowest byte is the kind and the next one the parameter */
static inline void ContentCreate(Content *content, uint32_t layer, uint64_t rows, uint64_t columns, unsigned form, unsigned values, uint64_t count)
{
  memset(content, 0, sizeof(*content));
  content->header.layer     = layer;
  content->header.kind      = (uint8_t)(form & 255);
  content->header.parameter = (uint8_t)(form >> 8 & 255);
  content->header.values    = (uint8_t)(values >= CORPUS_RESIDUALS ? MUON_WIRE_VALUES_NATURAL : values);
  content->header.count     = count;
  content->rows             = rows;
  content->columns          = columns;
  ContentAllocate(content);
}

static inline int ContentEqual(const Content *a, const Content *b)
{
  const MuonWireMessage *g = &a->header, *h = &b->header;

  if (g->layer != h->layer || g->kind != h->kind || g->indices != h->indices || g->values != h->values || g->parameter != h->parameter || g->count != h->count || g->bytes != h->bytes) return 0;
  if (a->layout.seed > 0 && a->seed != b->seed) return 0;
  if (a->layout.values != b->layout.values || memcmp(a->values, b->values, (size_t)a->layout.values * 8) != 0) return 0;
  if (memcmp(a->entries, b->entries, (size_t)(a->layout.entries * a->layout.planes) * 8) != 0) return 0;
  return memcmp(a->positions, b->positions, (size_t)a->layout.positions * 8) == 0;
}

/* A section of values of a message that is not compressed */
static inline void ValuesEncode(unsigned values, uint64_t numbers, const double *x, unsigned char *to)
{
  const size_t here    = allocations;
  uint16_t    *codes   = (uint16_t *)Allocate((size_t)numbers * 2);
  float       *singles = (float *)Allocate((size_t)numbers * 4);

  for (uint64_t i = 0; i < numbers && values != MUON_WIRE_VALUES_DOUBLE; i++) {
    if (values == MUON_WIRE_VALUES_NATURAL) codes[i] = NaturalCode(x[i]);
    else singles[i] = (float)x[i];
  }
  MuonWireValuesEncode((MuonWireValues)values, numbers, values == MUON_WIRE_VALUES_DOUBLE ? (const void *)x : values == MUON_WIRE_VALUES_NATURAL ? (const void *)codes : (const void *)singles, to);
  FreeFrom(here);
}

/* In runs of at most 64 so that their first argument is used */
static inline void ValuesDecode(unsigned values, uint64_t numbers, const unsigned char *from, double *x)
{
  const uint64_t step = values == MUON_WIRE_VALUES_TWOBIT ? 64 : 24;

  for (uint64_t first = 0; first < numbers; first += step) {
    const uint64_t count = numbers - first < step ? numbers - first : step;
    uint16_t       codes[64];
    float          singles[64];

    MuonWireValuesDecode((MuonWireValues)values, count, from, first, values == MUON_WIRE_VALUES_DOUBLE ? (void *)(x + first) : values == MUON_WIRE_VALUES_NATURAL ? (void *)codes : (void *)singles);
    for (uint64_t i = 0; i < count && values != MUON_WIRE_VALUES_DOUBLE; i++) x[first + i] = values == MUON_WIRE_VALUES_NATURAL ? NaturalValue(codes[i]) : (double)singles[i];
  }
}

/*
   Positions at random: each entry in turn is kept with the probability that makes all choices equally likely. Above kind and parameter
   form has places that are crowded: in every other stretch of 256, in every third of 1000, or 68 or 67 of 100 in every other one of 256,
   on either side of where they are written in stretches. Values above CORPUS_CYCLE are as many different ones in turn
*/
#define CORPUS_CROWDED (1u << 20)
#define CORPUS_CYCLE   (1u << 8)

static inline int IsCrowded(unsigned form, uint64_t k)
{
  const unsigned way = form / CORPUS_CROWDED, few = 29 + way, place = (unsigned)(k % 256);

  return way == 1 ? k / 256 % 2 == 0 : way == 2 ? k / 1000 % 3 == 0 : way > 2 ? place < (k / 256 % 2 == 0 ? 100 - few : few) : 1;
}

static inline void ContentRandom(Content *content, uint32_t layer, uint64_t rows, uint64_t columns, unsigned form, unsigned values, uint64_t count, uint64_t *state)
{
  const MuonWireLayout *layout = &content->layout;
  const unsigned        cycle  = values / CORPUS_CYCLE;
  uint64_t              kept   = 0, block;

  ContentCreate(content, layer, rows, columns, form, values, count);
  for (uint64_t k = 0; kept < layout->positions; k++) {
    const uint64_t rest = layout->numbered - k, wanted = count - kept;

    if (rest == wanted || (IsCrowded(form, k) && (form >= 3 * CORPUS_CROWDED || (form >= CORPUS_CROWDED ? NextBits(state) % 8 > 0 : NextBits(state) % rest < wanted)))) content->positions[kept++] = k;
  }
  content->seed = NextBits(state);
  for (uint64_t i = 0; i < layout->entries * layout->planes; i++) content->entries[i] = NextBits(state) % (2 * layout->length);
  for (uint64_t i = 0; i < layout->values; i++) {
    do content->values[i] = cycle > 0 ? ldexp(1, -(int)(i % cycle)) : RandomValue(values, state);
    while (i < layout->magnitudes && content->values[i] == 0);
    if (i < layout->magnitudes || i < layout->scales) content->values[i] = fabs(content->values[i]);
    if (i < layout->scales && i % 3 == 1) content->values[i] = 0;
  }
  block = layout->scales > 0 ? (uint64_t)16 << content->header.parameter / 16 : 0;
  for (uint64_t i = 0; block > 0 && i < layout->entries; i++) {
    /* Levels as of numbers that are mostly small */
    content->entries[i] %= 2 + NextBits(state) % (2 * layout->length - 1);
    if (content->entries[i] == 1 || content->values[i / block] == 0) content->entries[i] = 0;
  }
  if (values == MUON_WIRE_VALUES_TWOBIT) {
    /* Values as those that two bits can say */
    unsigned char *room = (unsigned char *)Allocate((size_t)layout->bytes);

    ValuesEncode(values, count, content->values, room);
    ValuesDecode(values, count, room, content->values);
  }
}

/* The header, whose codec of the positions need not be the right one, and the payload; the length of both */
static inline size_t ContentEncode(const Content *content, unsigned char *message)
{
  const MuonWireMessage *header = &content->header;
  const MuonWireLayout  *layout = &content->layout;
  const MuonWireIndices  codec  = (MuonWireIndices)header->indices;
  const uint64_t         lines = layout->entries, x = layout->seed + MuonWireIndicesBytes(codec, layout->numbered, layout->positions);
  unsigned char         *to = message + MuonWireMessageWrite(message, header), *bitmap = (unsigned char *)Allocate((size_t)layout->numbered / 8 + 1);

  Check(to == message + MuonWireMessageHeaderBytes(header) && to <= message + MUON_WIRE_MESSAGE_HEADER_MOST, "%d bytes of header", (int)(to - message));
  if (layout->seed > 0) Put(to, 8, content->seed);
  memset(bitmap, 0, (size_t)layout->numbered / 8 + 1);
  for (uint64_t i = 0; i < layout->positions; i++) bitmap[content->positions[i] / 8] |= (unsigned char)(1 << content->positions[i] % 8);
  if (codec != MUON_WIRE_INDICES_NONE) MuonWireIndicesEncode(codec, layout->numbered, layout->positions, bitmap, to);
  to += x;
  for (uint64_t p = 0; p < layout->planes && lines > 0; p++, to += MuonWireCodesBytes(layout->width, lines)) MuonWireCodesEncode(layout->width, 8, lines, content->entries + p * lines, to);
  for (uint64_t s = 0, done = 0; s < layout->sections; done += layout->section[s++]) {
    ValuesEncode(header->values, layout->section[s], content->values + done, to);
    to += MuonWireValuesBytes((MuonWireValues)header->values, layout->section[s]);
  }
  return (size_t)(to - message);
}

/*
   An uncompressed message that is right in the fewest bytes, which are the same with vectors and without, and are exactly so many; and back, bit for bit.
   The caller frees it, and what it took
*/
static inline unsigned char *Shortest(const unsigned char *plain, size_t length, uint32_t layer, uint64_t rows, uint64_t columns, size_t *bytes)
{
  unsigned char       *shortest, *wide[2], *room = (unsigned char *)Allocate(length);
  const unsigned char *back;
  size_t               some[2];
  MuonWireMessage      header, found, again;

  for (int way = 0; way < 2; way++) {
    MuonWireSetWide(way);
    wide[way] = (unsigned char *)Allocate(length);
    some[way] = (size_t)MuonWireMessageCode(plain, rows, columns, wide[way]);
  }
  Check(some[0] <= length && some[0] == some[1] && memcmp(wide[0], wide[1], some[0]) == 0, "%d bytes of %d, or others with vectors", (int)some[0], (int)length);
  *bytes   = some[0];
  shortest = CopyOf(wide[0], *bytes);
  Check(MuonWireMessageRead(plain, length, &header) == MUON_WIRE_OK && MuonWireMessageRead(shortest, *bytes, &found) == MUON_WIRE_OK, "the headers");
  for (int way = 0; way < 2; way++) {
    MuonWireSetWide(way);
    Check(MuonWireMessageExpand(shortest, *bytes, layer, rows, columns, length, room, &back, &again) == MUON_WIRE_OK, "form %d, codecs %d and %d, %d of %d x %d", header.kind, found.indices, found.values, (int)header.count, (int)rows, (int)columns);
    Check(memcmp(back, plain, length) == 0 && again.bytes == header.bytes && again.indices == header.indices && again.values == header.values, "form %d, codecs %d and %d: another message comes back", header.kind, found.indices, found.values);
  }
  if (!MuonWireMessageIsUncompressed(&found)) {
    Check(*bytes < length, "nothing gained");
    Check(MuonWireMessageExpand(shortest, *bytes, layer, rows, columns, length - 1, room, &back, &again) == MUON_WIRE_CORRUPT, "room is too small");
    Check(MuonWireMessageExpand(shortest, *bytes - 1, layer, rows, columns, length, room, &back, &again) == MUON_WIRE_CORRUPT, "a byte less");
  }
  return shortest;
}

/* Decodes a message if it is valid, codes and values in runs so that their first argument is used */
static inline MuonWireResult ContentDecode(Content *content, const unsigned char *bytes, size_t length, uint32_t layer, uint64_t rows, uint64_t columns)
{
  const MuonWireMessage *header = &content->header;
  const MuonWireLayout  *layout = &content->layout;
  const unsigned char   *from;
  unsigned char         *room;
  MuonWireMessage        found;
  MuonWireIndexReader    reader;
  size_t                 most;

  memset(content, 0, sizeof(*content));
  content->rows    = rows;
  content->columns = columns;
  if (MuonWireMessageRead(bytes, length, &found) != MUON_WIRE_OK || MuonWireMessageUncompressed(&found, rows, columns, &content->header, &content->layout) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  /* Length and codecs are not proved yet; a layer of the tests is never so large that room for it could be missing */
  most = (size_t)MuonWireMessageBytes(header);
  room = (unsigned char *)Allocate(most);
  if (MuonWireMessageExpand(bytes, length, layer, rows, columns, most, room, &from, &content->header) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  from += MuonWireMessageHeaderBytes(header);
  ContentAllocate(content);
  if (layout->seed > 0) content->seed = Get(from, 8);
  if (header->indices != MUON_WIRE_INDICES_NONE) {
    MuonWireIndexReaderInit(&reader, (MuonWireIndices)header->indices, layout->numbered, layout->positions, from);
    for (uint64_t i = 0; i < layout->positions; i++) {
      content->positions[i] = MuonWireIndexReaderNext(&reader);
      Check(content->positions[i] < layout->numbered && (i == 0 || content->positions[i] > content->positions[i - 1]), "position %d", (int)i);
    }
    Check(MuonWireIndexReaderNext(&reader) == layout->numbered, "no position is left");
  }
  for (uint64_t p = 0; p < layout->planes; p++) {
    uint64_t *entries = content->entries + p * layout->entries;

    for (uint64_t first = 0; first < layout->entries; first += 24) {
      const uint64_t count = layout->entries - first < 24 ? layout->entries - first : 24;

      MuonWireCodesDecode(layout->width, 8, count, from + layout->entriesat + p * MuonWireCodesBytes(layout->width, layout->entries), first, entries + first);
      for (uint64_t i = first; i < first + count; i++) Check(entries[i] / 2 < layout->length, "entry %d", (int)i);
    }
  }
  for (uint64_t s = 0, done = 0; s < layout->sections; done += layout->section[s++]) ValuesDecode(header->values, layout->section[s], from + layout->sectionat[s], content->values + done);
  for (uint64_t i = 0; i < layout->values; i++) {
    Check(content->values[i] - content->values[i] == 0, "value %d is not finite", (int)i);
    Check(i >= layout->magnitudes || content->values[i] > 0, "magnitude %d is not positive", (int)i);
    Check(i >= layout->scales || content->values[i] >= 0, "scale %d is negative", (int)i);
  }
  return MUON_WIRE_OK;
}

/* Whether a message is valid; then it decodes within its bounds, and what it says survives being written again, and in the fewest bytes */
static inline MuonWireResult CheckMessage(const unsigned char *bytes, size_t length, uint32_t layer, uint64_t rows, uint64_t columns)
{
  const size_t   here = allocations;
  Content        content, back;
  unsigned char *again[2];
  size_t         size[2];

  if (ContentDecode(&content, bytes, length, layer, rows, columns) != MUON_WIRE_OK) {
    FreeFrom(here);
    return MUON_WIRE_CORRUPT;
  }
  again[0] = (unsigned char *)Allocate((size_t)MuonWireMessageBytes(&content.header));
  size[0]  = ContentEncode(&content, again[0]);
  Check(size[0] == MuonWireMessageBytes(&content.header), "form %d: %d bytes", content.header.kind, (int)size[0]);
  again[1] = Shortest(again[0], size[0], layer, rows, columns, &size[1]);
  for (int k = 0; k < 2; k++) {
    Check(ContentDecode(&back, again[k], size[k], layer, rows, columns) == MUON_WIRE_OK && ContentEqual(&content, &back), "form %d, codecs %d and %d, %d x %d", content.header.kind, content.header.indices, content.header.values, (int)rows,
          (int)columns);
  }
  FreeFrom(here);
  return MUON_WIRE_OK;
}

/* A set of packets with every form and codec and their edges, as they are or in the fewest bytes */
typedef struct {
  const char *name;
  int         shortest;
  uint32_t    status;
} CorpusKind;
static const CorpusKind CorpusKinds[] = {{"double", 0, 0}, {"single", 0, 0}, {"bf16", 0, 0}, {"natural", 0, 0}, {"edges", 0, 0}, {"small", 0, 0},  {"poison", 0, 4}, {"silent", 0, 0},
                                         {"votes", 0, 0},  {"twobit", 0, 0}, {"gaps", 1, 0}, {"coded", 1, 0},   {"lines", 1, 0}, {"blocks", 1, 0}, {"long", 1, 0}};
enum {
  CORPUS_NATURAL = 3, /* packets before it, and this one, have the rows of EACH in values of their own */
  CORPUS_EDGES,
  CORPUS_SMALL,
  CORPUS_VOTES = 8,
  CORPUS_TWOBIT,
  CORPUS_GAPS,
  CORPUS_CODED,
  CORPUS_LINES,
  CORPUS_BLOCKED,
  CORPUS_LONG, /* more than fits before a wall */
  CORPUS_PACKETS,
  CORPUS_EACH,
  CORPUS_MESSAGES = 26
};
#define CORPUS_BLOCKS(bits, lengthlog) (MUON_WIRE_BLOCKS | ((bits) + 16 * ((lengthlog)-4)) << 8)

typedef struct {
  unsigned packet;
  uint64_t rows, columns;
  unsigned form, values;
  uint64_t count;
} CorpusRow;
/* clang-format off */
#define DOUBLE    MUON_WIRE_VALUES_DOUBLE
#define SINGLE    MUON_WIRE_VALUES_SINGLE
#define BF16      MUON_WIRE_VALUES_BF16
#define NATURAL   MUON_WIRE_VALUES_NATURAL
#define TWOBIT    MUON_WIRE_VALUES_TWOBIT
#define RESIDUALS CORPUS_RESIDUALS
#define SPARSE    MUON_WIRE_SPARSE
static const CorpusRow CorpusRows[] = {
  {CORPUS_EACH, 5, 3, MUON_WIRE_DENSE, 0, 15}, {CORPUS_EACH, 5, 15, SPARSE, 0, 11}, {CORPUS_EACH, 15, 20, SPARSE, 0, 5}, {CORPUS_EACH, 3, 4, MUON_WIRE_LOWRANK, 0, 2},
  {CORPUS_EACH, 4, 3, MUON_WIRE_TRIPLES, 0, 2}, {CORPUS_EACH, 7, 20, MUON_WIRE_PERROW, 0, 7}, {CORPUS_EACH, 9, 5, MUON_WIRE_PERROW, 0, 8}, {CORPUS_EACH, 300, 3, MUON_WIRE_PERROW, 0, 4},
  {CORPUS_EACH, 9, 5, MUON_WIRE_PERCOLUMN, 0, 5}, {CORPUS_EACH, 11, 9, MUON_WIRE_PERCOLUMN, 0, 5}, {CORPUS_EACH, 5, 20, MUON_WIRE_PERCOLUMN, 0, 1}, {CORPUS_EACH, 5, 9, MUON_WIRE_COLUMNS, 0, 2},
  {CORPUS_EACH, 5, 9, MUON_WIRE_COLUMNS, 0, 1}, {CORPUS_EACH, 5, 6, MUON_WIRE_SIGNS, 0, 30}, {CORPUS_EACH, 7, 5, MUON_WIRE_SEEDED, 0, 6}, {CORPUS_EACH, 4, 17, MUON_WIRE_WHOLECOLUMNS, 0, 3},
  {CORPUS_EACH, 4, 17, MUON_WIRE_WHOLECOLUMNS, 0, 2}, {CORPUS_EACH, 30, 3, MUON_WIRE_WHOLEROWS, 0, 2}, {CORPUS_EACH, 30, 3, MUON_WIRE_WHOLEROWS, 0, 5}, {CORPUS_EACH, 5, 11, CORPUS_BLOCKS(3, 4), 0, 55},
  {CORPUS_EACH, 8, 8, CORPUS_BLOCKS(7, 5), 0, 64},
  {CORPUS_SMALL, 2, 4, SPARSE, NATURAL, 2},
  /* Nothing, all, one; numbers of entries around those of whole bytes */
  {CORPUS_EDGES, 8, 8, SPARSE, NATURAL, 64}, {CORPUS_EDGES, 0, 5, SPARSE, NATURAL, 0}, {CORPUS_EDGES, 7, 5, SPARSE, DOUBLE, 0}, {CORPUS_EDGES, 16, 16, SPARSE, BF16, 2}, {CORPUS_EDGES, 1, 257, SPARSE, NATURAL, 3},
  {CORPUS_EDGES, 1, 1, SPARSE, NATURAL, 1}, {CORPUS_EDGES, 0, 5, MUON_WIRE_DENSE, BF16, 0}, {CORPUS_EDGES, 5, 3, MUON_WIRE_DENSE, BF16, 0}, {CORPUS_EDGES, 7, 5, MUON_WIRE_LOWRANK, SINGLE, 0},
  {CORPUS_EDGES, 1, 1, MUON_WIRE_LOWRANK, NATURAL, 1}, {CORPUS_EDGES, 7, 5, MUON_WIRE_TRIPLES, SINGLE, 0}, {CORPUS_EDGES, 1, 1, MUON_WIRE_PERROW, SINGLE, 1}, {CORPUS_EDGES, 7, 3, MUON_WIRE_PERROW, SINGLE, 0},
  {CORPUS_EDGES, 70, 1, MUON_WIRE_PERCOLUMN, DOUBLE, 1}, {CORPUS_EDGES, 7, 3, MUON_WIRE_PERCOLUMN, SINGLE, 0}, {CORPUS_EDGES, 9, 1 << 20, MUON_WIRE_PERROW, BF16, 9}, {CORPUS_EDGES, 9, (1 << 20) + 1, MUON_WIRE_PERROW, BF16, 9},
  {CORPUS_EDGES, 7, 3, MUON_WIRE_COLUMNS, SINGLE, 0}, {CORPUS_EDGES, 0, 3, MUON_WIRE_COLUMNS, SINGLE, 2}, {CORPUS_EDGES, 5, 3, MUON_WIRE_SIGNS, SINGLE, 0}, {CORPUS_EDGES, 7, 3, MUON_WIRE_SEEDED, SINGLE, 0},
  {CORPUS_EDGES, 7, 3, MUON_WIRE_WHOLECOLUMNS, SINGLE, 0}, {CORPUS_EDGES, 7, 3, MUON_WIRE_WHOLEROWS, SINGLE, 0}, {CORPUS_EDGES, 1, 1, CORPUS_BLOCKS(3, 16), SINGLE, 1}, {CORPUS_EDGES, 3, 3, CORPUS_BLOCKS(2, 10), NATURAL, 0},
  /* Of one worker, of a majority with ties, and counts up to 31 digits, around whole bytes */
  {CORPUS_VOTES, 1, 7, MUON_WIRE_VOTES | 1 << 8, 0, 7}, {CORPUS_VOTES, 1, 8, MUON_WIRE_VOTES | 2 << 8, 0, 8}, {CORPUS_VOTES, 1, 9, MUON_WIRE_VOTES | 3 << 8, 0, 9}, {CORPUS_VOTES, 1, 10, MUON_WIRE_VOTES | 4 << 8, 0, 10},
  {CORPUS_VOTES, 1, 0, MUON_WIRE_VOTES | 1 << 8, 0, 0}, {CORPUS_VOTES, 3, 5, MUON_WIRE_VOTES | 32 << 8, 0, 15},
  /* Around a block of 64 values, and none. Fewer would take fewer bytes, and more positions another bit: a wrong count is seen */
  {CORPUS_TWOBIT, 15, 20, SPARSE, TWOBIT, 63}, {CORPUS_TWOBIT, 15, 20, SPARSE, TWOBIT, 64}, {CORPUS_TWOBIT, 15, 20, SPARSE, TWOBIT, 65}, {CORPUS_TWOBIT, 15, 20, SPARSE, TWOBIT, 213}, {CORPUS_TWOBIT, 15, 20, SPARSE, TWOBIT, 263},
  {CORPUS_TWOBIT, 30, 40, SPARSE, TWOBIT, 5}, {CORPUS_GAPS, 30, 40, SPARSE, TWOBIT, 65}, {CORPUS_TWOBIT, 7, 5, SPARSE, TWOBIT, 0},
  /* Few kept, many, none, all, and positions of lines */
  {CORPUS_GAPS, 30, 11, SPARSE, DOUBLE, 8}, {CORPUS_GAPS, 30, 11, SPARSE, SINGLE, 23}, {CORPUS_GAPS, 30, 11, SPARSE, BF16, 310}, {CORPUS_GAPS, 30, 11, SPARSE, NATURAL, 53}, {CORPUS_GAPS, 30, 11, SPARSE, RESIDUALS, 68},
  {CORPUS_GAPS, 17, 19, SPARSE, BF16, 161}, {CORPUS_GAPS, 17, 19, SPARSE, BF16, 162}, {CORPUS_GAPS, 17, 19, SPARSE, RESIDUALS, 300}, {CORPUS_GAPS, 7, 15, SPARSE, RESIDUALS, 0}, {CORPUS_GAPS, 7, 5, SPARSE, SINGLE, 35},
  {CORPUS_GAPS, 1, 300, SPARSE, SINGLE, 1}, {CORPUS_GAPS, 1, 300, SPARSE, BF16, 299}, {CORPUS_GAPS, 90, 5, MUON_WIRE_PERROW, SINGLE, 11}, {CORPUS_GAPS, 3, 200, MUON_WIRE_PERCOLUMN, DOUBLE, 170},
  {CORPUS_GAPS, 3, 300, MUON_WIRE_COLUMNS, BF16, 6}, {CORPUS_GAPS, 10, 110, SPARSE | CORPUS_CROWDED, NATURAL, 250}, {CORPUS_GAPS, 8, 128, SPARSE | 3 * CORPUS_CROWDED, NATURAL, 200}, {CORPUS_GAPS, 8, 128, SPARSE | 4 * CORPUS_CROWDED, NATURAL, 200},
  {CORPUS_CODED, 25, 5, MUON_WIRE_DENSE, RESIDUALS, 125}, {CORPUS_CODED, 15, 20, SPARSE, RESIDUALS, 100}, {CORPUS_CODED, 1, 100, SPARSE, RESIDUALS, 50}, {CORPUS_CODED, 40, 40, SPARSE, RESIDUALS, 60}, {CORPUS_CODED, 30, 40, MUON_WIRE_LOWRANK, RESIDUALS, 3},
  {CORPUS_CODED, 41, 30, MUON_WIRE_TRIPLES, RESIDUALS, 3}, {CORPUS_CODED, 40, 5, MUON_WIRE_SEEDED, RESIDUALS, 70}, {CORPUS_CODED, 9, 60, MUON_WIRE_WHOLEROWS, RESIDUALS, 2}, {CORPUS_CODED, 30, 60, MUON_WIRE_COLUMNS, RESIDUALS, 8},
  {CORPUS_CODED, 45, 60, MUON_WIRE_WHOLECOLUMNS, RESIDUALS, 7}, {CORPUS_CODED, 40, 30, CORPUS_BLOCKS(3, 4), RESIDUALS, 1200}, {CORPUS_CODED, 0, 1, MUON_WIRE_DENSE, NATURAL, 0}, {CORPUS_CODED, 1, 1, MUON_WIRE_DENSE, NATURAL, 1},
  {CORPUS_CODED, 1, 40, MUON_WIRE_DENSE, CORPUS_CYCLE, 40},
  /* Lines whose positions are gaps, and those of which all are there */
  {CORPUS_LINES, 5, 7, MUON_WIRE_SIGNS, NATURAL, 35}, {CORPUS_LINES, 4, 40, MUON_WIRE_WHOLECOLUMNS, DOUBLE, 9}, {CORPUS_LINES, 4, 40, MUON_WIRE_WHOLECOLUMNS, SINGLE, 30}, {CORPUS_LINES, 60, 3, MUON_WIRE_WHOLEROWS, BF16, 8},
  {CORPUS_LINES, 60, 3, MUON_WIRE_WHOLEROWS, SINGLE, 55}, {CORPUS_LINES, 60, 3, MUON_WIRE_WHOLEROWS, NATURAL, 4}, {CORPUS_LINES, 3, 90, MUON_WIRE_COLUMNS, SINGLE, 9}, {CORPUS_LINES, 3, 90, MUON_WIRE_COLUMNS, DOUBLE, 6}, {CORPUS_LINES, 3, 90, MUON_WIRE_COLUMNS, NATURAL, 6},
  {CORPUS_BLOCKED, 5, 28, CORPUS_BLOCKS(2, 6), SINGLE, 140}, {CORPUS_BLOCKED, 5, 32, CORPUS_BLOCKS(3, 4), NATURAL, 160}, {CORPUS_BLOCKED, 5, 36, CORPUS_BLOCKS(4, 5), SINGLE, 180}, {CORPUS_BLOCKED, 5, 40, CORPUS_BLOCKS(5, 6), DOUBLE, 200},
  {CORPUS_BLOCKED, 5, 44, CORPUS_BLOCKS(6, 4), BF16, 220}, {CORPUS_BLOCKED, 5, 48, CORPUS_BLOCKS(7, 5), NATURAL, 240}, {CORPUS_BLOCKED, 5, 52, CORPUS_BLOCKS(8, 6), SINGLE, 260}, {CORPUS_BLOCKED, 3, 3, CORPUS_BLOCKS(2, 10), SINGLE, 0},
  /* Of frequencies in twelve and fourteen bits; of one state, four and 32, in one chunk and in two */
  {CORPUS_LONG, 1, 1024, MUON_WIRE_DENSE, 126 * CORPUS_CYCLE, 1024}, {CORPUS_LONG, 1, 1023, MUON_WIRE_DENSE, 126 * CORPUS_CYCLE, 1023}, {CORPUS_LONG, 1, 1500, MUON_WIRE_DENSE, 127 * CORPUS_CYCLE, 1500},
  {CORPUS_LONG, 1, 32767, MUON_WIRE_DENSE, 5 * CORPUS_CYCLE, 32767}, {CORPUS_LONG, 1, 32768, MUON_WIRE_DENSE, 40 * CORPUS_CYCLE, 32768}, {CORPUS_LONG, 1, 70001, MUON_WIRE_DENSE, 3 * CORPUS_CYCLE, 70001},
  {CORPUS_LONG, 40, 30, CORPUS_BLOCKS(8, 4), SINGLE, 1200}, {CORPUS_LONG, 1, 70001, SPARSE, BF16, 20}};
#undef SINGLE
#undef DOUBLE
#undef BF16
#undef NATURAL
#undef TWOBIT
#undef RESIDUALS
#undef SPARSE
/* clang-format on */

typedef struct {
  const char    *name;
  MuonWirePacket who;
  Content        content[CORPUS_MESSAGES];
  uint32_t       messages;
  unsigned char *packet; /* the header, and the messages end to end */
  size_t         length;
  size_t         at[CORPUS_MESSAGES + 1]; /* where they begin, and the last one ends */
} CorpusPacket;

/* Makes the checksum fit what the packet says now */
static inline void Rectify(unsigned char *packet, size_t length)
{
  Put(packet + 32, 4, MuonWireCRC32C(MuonWireCRC32C(0, packet, 32), packet + 36, length - 36));
}

/* The packet of its contents */
static inline void PacketWrite(CorpusPacket *packet, int shortest)
{
  size_t most = MUON_WIRE_PACKET_HEADER;

  for (uint32_t i = 0; i < packet->messages; i++) most += (size_t)MuonWireMessageBytes(&packet->content[i].header);
  packet->packet = (unsigned char *)Allocate(most);
  memset(packet->packet, 0xA5, most);
  packet->at[0] = MUON_WIRE_PACKET_HEADER;
  for (uint32_t i = 0; i < packet->messages; i++) {
    const Content *c     = &packet->content[i];
    unsigned char *to    = packet->packet + packet->at[i];
    size_t         bytes = ContentEncode(c, to);

    if (shortest) {
      unsigned char *message = Shortest(to, bytes, c->header.layer, c->rows, c->columns, &bytes);

      memcpy(to, message, bytes);
    }
    packet->at[i + 1] = packet->at[i] + bytes;
  }
  packet->length       = packet->at[packet->messages];
  packet->who.messages = packet->messages;
  packet->who.bytes    = packet->length - MUON_WIRE_PACKET_HEADER;
  MuonWirePacketFinalize(packet->packet, &packet->who);
}

static inline void CorpusPacketCreate(CorpusPacket *packet, unsigned which)
{
  uint64_t state = which;

  memset(packet, 0, sizeof(*packet));
  packet->name          = CorpusKinds[which].name;
  packet->who.sender    = which + 2;
  packet->who.direction = which % 2;
  packet->who.status    = CorpusKinds[which].status;
  packet->who.step      = UINT64_C(1000000007) * which;
  for (size_t r = 0; r < sizeof(CorpusRows) / sizeof(CorpusRows[0]); r++) {
    const CorpusRow *row  = &CorpusRows[r];
    const int        each = row->packet == CORPUS_EACH && which <= CORPUS_NATURAL;

    if (row->packet != which && !each) continue;
    Check(packet->messages < CORPUS_MESSAGES, "%s has more than %d messages", packet->name, CORPUS_MESSAGES);
    ContentRandom(&packet->content[packet->messages++], (uint32_t)NextBits(&state), row->rows, row->columns, row->form, each ? which : row->values, row->count, &state);
  }
  PacketWrite(packet, CorpusKinds[which].shortest);
}

/* Opens a packet and decodes every message; contents of the layers say what is expected. The verdict on the whole */
static inline MuonWireResult PacketCheck(const unsigned char *packet, size_t length, const CorpusPacket *expected)
{
  MuonWireResult       result = MUON_WIRE_OK;
  MuonWirePacket       header;
  const unsigned char *from = packet + MUON_WIRE_PACKET_HEADER;

  if (MuonWirePacketOpen(packet, length, &expected->who, &header) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
  Check(header.bytes == length - MUON_WIRE_PACKET_HEADER, "%d bytes", (int)length);
  Check(header.status == 0 || header.messages == 0, "status %d", (int)header.status);
  if (header.messages != expected->messages && header.status == 0) result = MUON_WIRE_CORRUPT;
  for (uint32_t i = 0; i < header.messages; i++) {
    MuonWireMessage message;
    const size_t    rest = (size_t)(packet + length - from);
    const Content  *c    = &expected->content[i];

    Check(MuonWireMessageRead(from, rest, &message) == MUON_WIRE_OK, "message %d of an open packet", (int)i);
    if (i < expected->messages && CheckMessage(from, (size_t)MuonWireMessageBytes(&message), c->header.layer, c->rows, c->columns) != MUON_WIRE_OK) result = MUON_WIRE_CORRUPT;
    from += MuonWireMessageBytes(&message);
  }
  Check(from == packet + length, "the messages do not end with the packet");
  return result;
}
