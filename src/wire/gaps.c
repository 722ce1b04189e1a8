/*
   Positions as gaps. A chunk has 65,536 entries. It is written as Golomb codes of the distances between kept entries,
   or between missing entries if these are fewer, or as a bitmap if that is not longer. The parameter of the codes
   follows from the number of kept entries in the chunk. If kept entries cluster, each stretch of 256 entries has its
   own parameter, and the codes contain the count of each stretch.
*/
#include "muonwirebits.h"
#include "muonwirewide.h"

#define CHUNK       65536u
#define CHUNK_WORDS (CHUNK / 64)
#define CHUNK_BYTES (CHUNK / 8)
/* A word of the bitmap gives at most 64 codes of less than 64 bits; a load or a store touches 8 bytes */
#define ROOM (CHUNK_BYTES + 64 * 8 + 16)
/* Bytes before a chunk: the number of kept entries and the number of bytes */
#define HEAD 8
/* Entries of a stretch, and its words of the bitmap */
#define STRETCH 256u
/*
   A look-up decodes all codes that are complete in so many bits. A reader has bits for at least five look-ups. The
   second number limits the entries of one look-up: a word must hold their numbers beside their bits
*/
#define PEEK         10u
#define PEEKS        5u
#define PEEK_ENTRIES 48u
/* For larger parameters at most one code fits. For fewer codes than the second number the table does not pay */
#define PEEK_STEP  16u
#define PEEK_CODES 2048u
/* For fewer codes vectors do not pay */
#define WIDE_CODES 8u
static MuonWireGolomb MuonWireGolombOf(unsigned length, unsigned listed)
{
  MuonWireGolomb code;
  unsigned       width = 0;

  code.step = listed > 0 ? (9 * length + 2 * listed) / (13 * listed) : 1;
  while ((1u << width) < code.step) width++;
  code.inverse = ((uint64_t)1 << 32) / code.step + 1;
  code.bits    = width > 0 ? width - 1 : 0;
  code.cut     = (1u << width) - code.step;
  /* A single remainder has no bits */
  if (width == 0) code.cut = 1;
  return code;
}

/* The counts of the stretches, at most CHUNK / STRETCH of them, and their sum */
static unsigned MuonWireCountsOf(const uint64_t *words, unsigned length, unsigned counts[])
{
  const unsigned end  = (length + 63) / 64;
  unsigned       kept = 0;

#if defined(MUON_WIRE_HAVE_WIDE)
  if (MuonWireIsWide()) return MuonWireCountsWide(words, end, STRETCH / 64, counts);
#endif
  memset(counts, 0, (length + STRETCH - 1) / STRETCH * sizeof(*counts));
  for (unsigned w = 0; w < end; w++) counts[w / (STRETCH / 64)] += MuonWirePopCount(words[w]);
  for (unsigned first = 0; first < length; first += STRETCH) kept += counts[first / STRETCH];
  return kept;
}

/*
   Whether stretches have their own parameters: if the variance of their counts is more than eight times the variance by
   chance, the gain pays for the counts. Squares are below 2^48, both sides of the comparison below 2^56
*/
static int MuonWireHasStretches(const unsigned counts[], unsigned length, unsigned kept)
{
  uint64_t sum = 0;

  for (unsigned first = 0; first < length; first += STRETCH) {
    const unsigned some = length - first < STRETCH ? length - first : STRETCH;
    const int64_t  away = (int64_t)length * counts[first / STRETCH] - (int64_t)kept * some;

    sum += (uint64_t)(away * away);
  }
  return sum > 8 * (uint64_t)length * kept * (length - kept);
}

/* Writes the codes of a span of length entries with kept bits set, up to the end of the writer */
static void MuonWireSpanEncode(const uint64_t *words, unsigned length, unsigned kept, MuonWireWriter *to)
{
  const int      missing = 2 * kept > length;
  const unsigned listed  = missing ? length - kept : kept;
  const uint64_t flip    = missing ? ~UINT64_C(0) : 0;
  MuonWireWriter writer  = *to;
  MuonWireGolomb code;
  unsigned       next = 0;

  if (listed == 0) return;
  code = MuonWireGolombOf(length, listed);
#if defined(MUON_WIRE_HAVE_WIDE)
  if (listed >= WIDE_CODES && MuonWireIsWide()) {
    MuonWireGapsWide(&code, flip, words, length, to);
    return;
  }
#endif
  for (unsigned w = 0; 64 * w < length && writer.at <= writer.end; w++) {
    for (uint64_t word = (words[w] ^ flip) & (64 * w + 64 <= length ? ~UINT64_C(0) : MuonWireTail(length)); word != 0; word &= word - 1) {
      const unsigned entry = 64 * w + MuonWireLowestBit(word);

      MuonWireGapWrite(&code, entry - next, &writer);
      if (writer.at > writer.end) break;
      next = entry + 1;
    }
  }
  *to = writer;
}

/*
   Writes the codes of a chunk, at most ROOM bytes. Returns the length of the bitmap if the codes are not shorter. What is written of a
   count is a turn: its difference to the count before it, as an unsigned number, even for a difference that is not negative. The first
   count is compared with the mean. Bits of a turn: the upper part plus 1 as zeros, a one and as many bits, then the two lowest bits
*/
static unsigned MuonWireChunkEncode(int stretches, const uint64_t *words, const unsigned counts[], unsigned length, unsigned kept, unsigned char *to)
{
  const unsigned bitmap = (length + 7) / 8, stretch = stretches ? STRETCH : CHUNK;
  MuonWireWriter writer = {to, to + CHUNK_BYTES, 0, 0};
  unsigned       before = (unsigned)((uint64_t)STRETCH * kept / length);

  for (unsigned first = 0; first < length && writer.at <= writer.end; first += stretch) {
    const unsigned some = length - first < stretch ? length - first : stretch, here = stretches ? counts[first / STRETCH] : kept;

    if (stretches) {
      const unsigned turn = here >= before ? 2 * (here - before) : 2 * (before - here) - 1, upper = turn / 4 + 1;
      unsigned       zeros = 0;

      while (upper >> (zeros + 1) != 0) zeros++;
      MuonWireWrite(&writer, ((uint64_t)1 | (uint64_t)(upper - (1u << zeros)) << 1 | (uint64_t)(turn % 4) << (1 + zeros)) << zeros, 3 + 2 * zeros);
      before = here;
    }
    MuonWireSpanEncode(words + first / 64, some, here, &writer);
  }
  writer.at += writer.bits > 0;
  return writer.at - to < (ptrdiff_t)bitmap ? (unsigned)(writer.at - to) : bitmap;
}

/* At most 63 bits that were read and not yet used; the bytes behind them, and their end */
typedef struct {
  const unsigned char *at, *end;
  uint64_t             held;
  unsigned             bits;
} MuonWireReader;

/* Fills the word to at least 56 bits, with zeros behind the end */
static inline void MuonWireRefill(MuonWireReader *reader)
{
  reader->held |= MuonWireLoad64(reader->at) << reader->bits;
  reader->at += (63 - reader->bits) >> 3;
  reader->bits |= 56;
}

/*
   Reads zeros up to a one, and the one. At least 16 bits are ready behind it. More zeros than a chunk has entries, or
   bits beyond the end, are refused
*/
static inline MuonWireResult MuonWireZeros(MuonWireReader *reader, unsigned *zeros)
{
  unsigned used;

  *zeros = 0;
  for (;;) {
    MuonWireRefill(reader);
    if ((reader->held & (((uint64_t)1 << ZEROS) - 1)) != 0) break;
    *zeros += ZEROS;
    reader->held >>= ZEROS;
    reader->bits -= ZEROS;
    if (*zeros > CHUNK || reader->at > reader->end + 8) return MUON_WIRE_CORRUPT;
  }
  used = MuonWireLowestBit(reader->held);
  *zeros += used;
  reader->held >>= used;
  reader->held >>= 1;
  reader->bits -= used + 1;
  return reader->at > reader->end + 8 ? MUON_WIRE_CORRUPT : MUON_WIRE_OK;
}

/*
   The result of one look-up: the bits of the codes, their entries up to the last listed one, the number of codes, and
   from bit 16 on a one for each listed entry among these. 0 if no code is complete
*/
typedef uint64_t MuonWireFound;

#define FOUND_BITS(found)    ((unsigned)((found)&63))
#define FOUND_ENTRIES(found) ((unsigned)((found) >> 6 & 63))
#define FOUND_CODES(found)   ((unsigned)((found) >> 12 & 15))
#define FOUND_LISTED(found)  ((found) >> 16)

/*
   The look-up table of one parameter: for each pattern of bits the codes that are complete in it. The parameter is 0
   before the table is made. Shorter patterns, behind a code, are stored with a one before them, which makes each index
   unique
*/
typedef struct {
  unsigned      step;
  MuonWireFound found[2u << PEEK];
} MuonWirePeek;

static void MuonWirePeekOf(const MuonWireGolomb *code, MuonWirePeek *peek)
{
  unsigned width = 0;

  peek->step     = code->step;
  peek->found[0] = 0;
  peek->found[1] = 0;
  for (unsigned index = 2; index < 2u << PEEK; index++) {
    const unsigned zeros = MuonWireLowestBit(index);
    unsigned       bits = zeros + 1 + code->bits, rest = index >> (zeros + 1) & ((1u << code->bits) - 1), entries;
    MuonWireFound  behind;

    width += (index & (index - 1)) == 0;
    if (rest >= code->cut) rest += rest + (index >> bits++ & 1) - code->cut;
    entries            = zeros * code->step + rest + 1;
    peek->found[index] = 0;
    if (bits > width || entries > PEEK_ENTRIES) continue;
    behind             = peek->found[index >> bits];
    peek->found[index] = (uint64_t)1 << (16 + entries - 1) | 1u << 12 | entries << 6 | bits;
    if (behind != 0 && entries + FOUND_ENTRIES(behind) <= PEEK_ENTRIES) peek->found[index] += FOUND_LISTED(behind) << (16 + entries) | (behind & 0xFFFFu);
  }
}

/*
   Decodes the codes of a span of length entries, listed of them, as long as enough entries and codes are certain to be
   left and the table has the next codes. done counts codes, next counts entries
*/
static MuonWireResult MuonWirePeekDecode(MuonWireReader *from, const MuonWirePeek *peek, unsigned length, unsigned listed, unsigned *done, unsigned *next, uint64_t *words)
{
  const MuonWireFound *table  = peek->found + (1u << PEEK);
  MuonWireReader       reader = *from;
  unsigned             k = *done, entry = *next, before = listed;

  while (k != before && listed - k > PEEKS * PEEK && length - entry > PEEKS * PEEK_ENTRIES) {
    uint64_t word = words[entry / 64];

    MuonWireRefill(&reader);
    if (reader.at > reader.end + 8) return MUON_WIRE_CORRUPT;
    before = k;
    for (unsigned i = 0; i < PEEKS; i++) {
      const MuonWireFound found = table[reader.held & ((1u << PEEK) - 1)];
      const unsigned      first = entry % 64;
      const uint64_t      full  = 0 - (uint64_t)((first + FOUND_ENTRIES(found)) / 64);

      reader.held >>= FOUND_BITS(found);
      reader.bits -= FOUND_BITS(found);
      k += FOUND_CODES(found);
      word |= FOUND_LISTED(found) << first;
      words[entry / 64] = word;
      /* Bits that do not fit begin the next word. There is no branch, because processors could not predict it */
      word ^= (word ^ FOUND_LISTED(found) >> 1 >> (63 - first)) & full;
      entry += FOUND_ENTRIES(found);
    }
    words[entry / 64] = word;
  }
  *from = reader;
  *done = k;
  *next = entry;
  return MUON_WIRE_OK;
}

/*
   peeks is NULL, or two tables, for even and odd parameters: similar chunks then reuse them. words must be zero
*/
static MuonWireResult MuonWireSpanDecode(MuonWireReader *from, unsigned length, unsigned kept, MuonWirePeek *peeks, uint64_t *words)
{
  const int      missing = 2 * kept > length;
  const unsigned listed  = missing ? length - kept : kept;
  MuonWireReader reader  = *from;
  MuonWireGolomb code;
  unsigned       next = 0;

  code  = MuonWireGolombOf(length, listed);
  peeks = peeks != NULL && listed >= PEEK_CODES && code.step <= PEEK_STEP ? peeks + code.step % 2 : NULL;
  if (peeks != NULL && peeks->step != code.step) MuonWirePeekOf(&code, peeks);
  for (unsigned k = 0; k < listed; k++) {
    unsigned zeros, rest, more;

    if (peeks != NULL && MuonWirePeekDecode(&reader, peeks, length, listed, &k, &next, words) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
    if (MuonWireZeros(&reader, &zeros) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
    rest = (unsigned)(reader.held & ((1u << code.bits) - 1));
    more = rest >= code.cut;
    rest += more * (rest + (unsigned)(reader.held >> code.bits & 1) - code.cut);
    reader.held >>= code.bits + more;
    reader.bits -= code.bits + more;
    /* zeros and step are below 2^17 and 2^16: their product is compared as 64 bits */
    if ((uint64_t)zeros * code.step + rest >= length - next) return MUON_WIRE_CORRUPT;
    next += zeros * code.step + rest;
    words[next / 64] |= (uint64_t)1 << next % 64;
    next++;
  }
  if (missing) {
    for (unsigned w = 0; w < (length + 63) / 64; w++) words[w] = ~words[w];
    words[(length - 1) / 64] &= MuonWireTail(length);
  }
  *from = reader;
  return MUON_WIRE_OK;
}

/* from has the bytes of the codes and 24 zero bytes behind them, peeks two tables; words must be zero */
static MuonWireResult MuonWireChunkDecode(int stretches, const unsigned char *from, unsigned bytes, unsigned length, unsigned kept, MuonWirePeek *peeks, uint64_t *words)
{
  const unsigned stretch = stretches ? STRETCH : CHUNK;
  MuonWireReader reader  = {from, from + bytes, 0, 0};
  unsigned       here = (unsigned)((uint64_t)STRETCH * kept / length), rest = kept;

  for (unsigned first = 0; first < length; first += stretch) {
    const unsigned some = length - first < stretch ? length - first : stretch;
    unsigned       zeros, turn;

    if (stretches) {
      /* Two counts differ by at most 256: at most 7 zeros */
      if (MuonWireZeros(&reader, &zeros) != MUON_WIRE_OK || zeros > 7) return MUON_WIRE_CORRUPT;
      turn = 4 * ((1u << zeros) + (unsigned)(reader.held & ((1u << zeros) - 1)) - 1) + (unsigned)(reader.held >> zeros & 3);
      reader.held >>= zeros + 2;
      reader.bits -= zeros + 2;
      if (turn % 2 == 1 && (turn + 1) / 2 > here) return MUON_WIRE_CORRUPT;
      here = turn % 2 == 1 ? here - (turn + 1) / 2 : here + turn / 2;
    } else here = kept;
    if (here > some || here > rest || MuonWireSpanDecode(&reader, some, here, stretches ? NULL : peeks, words + first / 64) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
    rest -= here;
  }
  /* Not more bits were used than there are */
  return rest == 0 && 8 * (uint64_t)(reader.at - from) - reader.bits <= 8 * (uint64_t)bytes ? MUON_WIRE_OK : MUON_WIRE_CORRUPT;
}

static void MuonWireWordsOf(const unsigned char *bitmap, unsigned length, uint64_t *words)
{
  for (unsigned first = 0; first < length; first += 64) words[first / 64] = MuonWireBitmapWord(bitmap, length, first);
}

static void MuonWireBitmapOf(const uint64_t *words, unsigned length, unsigned char *bitmap)
{
  const unsigned bytes = (length + 7) / 8;

  for (unsigned at = 0; at < bytes; at += 8) {
    if (at + 8 <= bytes) MuonWireStore64(bitmap + at, words[at / 8]);
    else MuonWireStorePart(bitmap + at, bytes - at, words[at / 8]);
  }
}

uint64_t MuonWireGapsEncode(MuonWireIndices indices, uint64_t entries, uint64_t count, const unsigned char *from, uint64_t limit, unsigned char *to)
{
  uint64_t            used = 0, position;
  MuonWireIndexReader reader;

  MuonWireIndexReaderInit(&reader, indices, entries, count, from);
  position = indices == MUON_WIRE_INDICES_RAW ? MuonWireIndexReaderNext(&reader) : 0;
  for (uint64_t first = 0; first < entries; first += CHUNK) {
    const unsigned length = entries - first < CHUNK ? (unsigned)(entries - first) : CHUNK;
    uint64_t       words[CHUNK_WORDS];
    unsigned char  codes[ROOM], head[HEAD];
    unsigned       counts[CHUNK / STRETCH], kept, bytes, before;
    int            stretches;

    if (indices == MUON_WIRE_INDICES_RAW) {
      memset(words, 0, (length + 63) / 64 * 8);
      for (; position < first + length; position = MuonWireIndexReaderNext(&reader)) words[(position - first) / 64] |= (uint64_t)1 << position % 64;
    } else MuonWireWordsOf(from + first / 8, length, words);
    kept      = MuonWireCountsOf(words, length, counts);
    stretches = MuonWireHasStretches(counts, length, kept);
    bytes     = MuonWireChunkEncode(stretches, words, counts, length, kept, codes);
    if (bytes == (length + 7) / 8) {
      MuonWireBitmapOf(words, length, codes);
      stretches = 0;
    }
    before = length < entries - first ? MuonWireStoreVar(head, kept) : 0;
    before += MuonWireStoreVar(head + before, 2 * bytes + (unsigned)stretches);
    if (before + bytes > limit - used) return MUON_WIRE_TOO_LONG;
    memcpy(to + used, head, before);
    memcpy(to + used + before, codes, bytes);
    used += before + bytes;
  }
  return used;
}

MuonWireResult MuonWireGapsDecode(uint64_t entries, uint64_t count, const unsigned char *from, uint64_t room, uint64_t *used, MuonWireIndices indices, unsigned char *to)
{
  const unsigned width = (unsigned)MuonWireIndicesBytes(MUON_WIRE_INDICES_RAW, entries, 1);
  uint64_t       rest  = count;
  MuonWirePeek   peeks[2];

  peeks[0].step = 0;
  peeks[1].step = 0;
  *used         = 0;
  for (uint64_t first = 0; first < entries; first += CHUNK) {
    const unsigned length = entries - first < CHUNK ? (unsigned)(entries - first) : CHUNK, bitmap = (length + 7) / 8;
    uint64_t       words[CHUNK_WORDS], some                                                       = rest, bytes;
    unsigned char  codes[ROOM];
    unsigned       counts[CHUNK / STRETCH], before, stretches;

    if (length < entries - first) {
      before = MuonWireLoadVar(from + *used, room - *used, &some);
      if (before == 0) return MUON_WIRE_CORRUPT;
      *used += before;
    }
    before    = MuonWireLoadVar(from + *used, room - *used, &bytes);
    stretches = bytes % 2 == 1;
    bytes /= 2;
    if (before == 0 || some > length || some > rest || bytes > bitmap || bytes > room - *used - before) return MUON_WIRE_CORRUPT;
    *used += before;
    rest -= some;
    memset(words, 0, (length + 63) / 64 * 8);
    if (bytes == bitmap) {
      MuonWireWordsOf(from + *used, length, words);
      if ((words[(length - 1) / 64] & ~MuonWireTail(length)) != 0 || MuonWireCountsOf(words, length, counts) != some) return MUON_WIRE_CORRUPT;
    } else {
      memcpy(codes, from + *used, (size_t)bytes);
      memset(codes + bytes, 0, 24);
      if (MuonWireChunkDecode((int)stretches, codes, (unsigned)bytes, length, (unsigned)some, peeks, words) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
    }
    *used += bytes;
    if (indices == MUON_WIRE_INDICES_BITMAP) MuonWireBitmapOf(words, length, to + first / 8);
    else {
      for (unsigned w = 0; w < (length + 63) / 64; w++) {
        for (uint64_t word = words[w]; word != 0; word &= word - 1) {
          MuonWireStorePart(to, width, first + 64 * w + MuonWireLowestBit(word));
          to += width;
        }
      }
    }
  }
  /* Without entries there is no chunk */
  return entries == 0 && count != 0 ? MUON_WIRE_CORRUPT : MUON_WIRE_OK;
}
