/*
   Positions as gaps: chunks of 65,536 entries, each as Golomb codes of the distances between the kept entries, or between the missing ones where these are fewer, or as
   a bitmap where that is not longer. The parameter follows from the counts, so that a chunk has one encoding.
*/
#include "muonwirebits.h"

#define CHUNK       65536u
#define CHUNK_WORDS (CHUNK / 64)
#define CHUNK_BYTES (CHUNK / 8)
/* A word of the bitmap becomes at most 64 codes of less than 64 bits; a load or a store touches 8 bytes */
#define ROOM (CHUNK_BYTES + 64 * 8 + 16)
/* How many are kept and how many bytes there are, before a chunk */
#define HEAD 8
/* Zeros that are written or read at once: with a rest of 16 bits they fit 57, what a word holds after any shift by less than a byte */
#define ZEROS 40u

/* Golomb's parameter M, and its truncated binary rests: below cut they have bits, else one more */
typedef struct {
  unsigned step, bits, cut;
  uint64_t inverse; /* gap / step is gap inverse / 2^32, exactly because both are below 2^16 */
} MuonWireGolomb;

static MuonWireGolomb MuonWireGolombOf(unsigned length, unsigned listed)
{
  MuonWireGolomb code;
  unsigned       width = 0;

  code.step = listed > 0 ? (9 * length + 2 * listed) / (13 * listed) : 1;
  while ((1u << width) < code.step) width++;
  code.inverse = ((uint64_t)1 << 32) / code.step + 1;
  code.bits    = width > 0 ? width - 1 : 0;
  code.cut     = (1u << width) - code.step;
  /* One rest alone has no bits at all */
  if (width == 0) code.cut = 1;
  return code;
}

/* The bits of the last word that stand for entries */
static uint64_t MuonWireTail(unsigned length)
{
  return length % 64 == 0 ? ~UINT64_C(0) : ((uint64_t)1 << length % 64) - 1;
}

/* The codes of a chunk of length entries, kept of them set; at most ROOM bytes are written, and what is not shorter than the bitmap has its length */
static unsigned MuonWireChunkEncode(const uint64_t *words, unsigned length, unsigned kept, unsigned char *to)
{
  const unsigned bitmap = (length + 7) / 8, count = (length + 63) / 64;
  const int      missing = 2 * kept > length;
  const unsigned listed  = missing ? length - kept : kept;
  const uint64_t flip    = missing ? ~UINT64_C(0) : 0;
  MuonWireGolomb code;
  unsigned char *at   = to;
  uint64_t       held = 0;
  unsigned       bits = 0, next = 0;

  if (listed == 0) return 0;
  code = MuonWireGolombOf(length, listed);
  for (unsigned w = 0; w < count; w++) {
    uint64_t word = (words[w] ^ flip) & (w + 1 < count ? ~UINT64_C(0) : MuonWireTail(length));

    if (at - to > (ptrdiff_t)CHUNK_BYTES) return bitmap;
    for (; word != 0; word &= word - 1) {
      const unsigned entry = 64 * w + MuonWireLowestBit(word), gap = entry - next;
      unsigned       zeros = (unsigned)(gap * code.inverse >> 32), rest = gap - zeros * code.step;
      const unsigned more = rest >= code.cut, longer = rest + code.cut;

      next = entry + 1;
      /* Without a branch, which could not be foreseen */
      rest ^= (rest ^ (longer >> 1 | (longer & 1u) << code.bits)) & (0u - more);
      for (; zeros >= ZEROS; zeros -= ZEROS) {
        MuonWireStore64(at, held);
        bits += ZEROS;
        at += bits / 8;
        held >>= bits & 56u;
        bits %= 8;
        if (at - to > (ptrdiff_t)CHUNK_BYTES) return bitmap;
      }
      held |= ((uint64_t)1 | (uint64_t)rest << 1) << zeros << bits;
      bits += zeros + 1 + code.bits + more;
      MuonWireStore64(at, held);
      at += bits / 8;
      held >>= bits & 56u;
      bits %= 8;
    }
  }
  if (bits > 0) *at++ = (unsigned char)(held & 255);
  return at - to < (ptrdiff_t)bitmap ? (unsigned)(at - to) : bitmap;
}

/* from: bytes of codes and 16 zeros; words: all zero. Refuses what MuonWireChunkEncode() does not write */
static MuonWireResult MuonWireChunkDecode(const unsigned char *from, unsigned bytes, unsigned length, unsigned kept, uint64_t *words)
{
  const int            missing = 2 * kept > length;
  const unsigned       listed  = missing ? length - kept : kept;
  MuonWireGolomb       code;
  const unsigned char *at   = from;
  uint64_t             held = 0;
  unsigned             bits = 0, next = 0;

  code = MuonWireGolombOf(length, listed);
  for (unsigned k = 0; k < listed; k++) {
    unsigned zeros = 0, rest, more, used;

    for (;;) {
      /* At least 56 bits */
      held |= MuonWireLoad64(at) << bits;
      at += (63 - bits) >> 3;
      bits |= 56;
      if ((held & (((uint64_t)1 << ZEROS) - 1)) != 0) break;
      zeros += ZEROS;
      held >>= ZEROS;
      bits -= ZEROS;
      if (zeros > CHUNK || at - from > (ptrdiff_t)bytes + 8) return MUON_WIRE_CORRUPT;
    }
    used = MuonWireLowestBit(held);
    zeros += used;
    held >>= used;
    held >>= 1;
    rest = (unsigned)(held & ((1u << code.bits) - 1));
    more = rest >= code.cut;
    rest += more * (rest + (unsigned)(held >> code.bits & 1) - code.cut);
    held >>= code.bits + more;
    bits -= used + 1 + code.bits + more;
    /* zeros and step are below 2^17 and 2^16: their product is compared as 64 bits */
    if ((uint64_t)zeros * code.step + rest >= length - next || at - from > (ptrdiff_t)bytes + 8) return MUON_WIRE_CORRUPT;
    next += zeros * code.step + rest;
    words[next / 64] |= (uint64_t)1 << next % 64;
    next++;
  }
  {
    /* Bits that were used up: they end in the last byte, and the rest of it is zero */
    const uint64_t end = 8 * (uint64_t)(at - from) - bits;

    if ((end + 7) / 8 != bytes || (end % 8 != 0 && from[end / 8] >> end % 8 != 0)) return MUON_WIRE_CORRUPT;
  }
  if (missing) {
    for (unsigned w = 0; w < (length + 63) / 64; w++) words[w] = ~words[w];
    words[(length - 1) / 64] &= MuonWireTail(length);
  }
  return MUON_WIRE_OK;
}

static void MuonWireWordsOf(const unsigned char *bitmap, unsigned length, uint64_t *words)
{
  const unsigned bytes = (length + 7) / 8;
  unsigned       w     = 0;

  for (; 8 * w + 8 <= bytes; w++) words[w] = MuonWireLoad64(bitmap + 8 * w);
  if (8 * w < bytes) words[w] = MuonWireLoadPart(bitmap + 8 * w, bytes - 8 * w);
}

static void MuonWireBitmapOf(const uint64_t *words, unsigned length, unsigned char *bitmap)
{
  const unsigned bytes = (length + 7) / 8;
  unsigned       w     = 0;

  for (; 8 * w + 8 <= bytes; w++) MuonWireStore64(bitmap + 8 * w, words[w]);
  if (8 * w < bytes) MuonWireStorePart(bitmap + 8 * w, bytes - 8 * w, words[w]);
}

static unsigned MuonWireCountOf(const uint64_t *words, unsigned length)
{
  unsigned kept = 0;

  for (unsigned w = 0; w < (length + 63) / 64; w++) kept += MuonWirePopCount(words[w]);
  return kept;
}

static unsigned MuonWireChunkLength(uint64_t entries, uint64_t first)
{
  return entries - first < CHUNK ? (unsigned)(entries - first) : CHUNK;
}

uint64_t MuonWireGapsEncode(MuonWireIndices indices, uint64_t entries, uint64_t count, const unsigned char *from, uint64_t limit, unsigned char *to)
{
  uint64_t            used = 0, position;
  MuonWireIndexReader reader;

  MuonWireIndexReaderInit(&reader, indices, entries, count, from);
  position = indices == MUON_WIRE_INDICES_RAW ? MuonWireIndexReaderNext(&reader) : 0;
  for (uint64_t first = 0; first < entries; first += CHUNK) {
    const unsigned length = MuonWireChunkLength(entries, first);
    uint64_t       words[CHUNK_WORDS];
    unsigned char  codes[ROOM], head[HEAD];
    unsigned       kept, bytes, before;

    if (indices == MUON_WIRE_INDICES_RAW) {
      memset(words, 0, (length + 63) / 64 * 8);
      for (; position < first + length; position = MuonWireIndexReaderNext(&reader)) words[(position - first) / 64] |= (uint64_t)1 << position % 64;
    } else MuonWireWordsOf(from + first / 8, length, words);
    kept   = MuonWireCountOf(words, length);
    bytes  = MuonWireChunkEncode(words, length, kept, codes);
    before = length < entries - first ? MuonWireStoreVar(head, kept) : 0;
    before += MuonWireStoreVar(head + before, bytes);
    if (before + bytes > limit - used) return MUON_WIRE_TOO_LONG;
    memcpy(to + used, head, before);
    used += before;
    if (bytes == (length + 7) / 8) MuonWireBitmapOf(words, length, to + used);
    else memcpy(to + used, codes, bytes);
    used += bytes;
  }
  return used;
}

MuonWireResult MuonWireGapsDecode(uint64_t entries, uint64_t count, const unsigned char *from, uint64_t room, uint64_t *used, MuonWireIndices indices, unsigned char *to)
{
  const unsigned width = (unsigned)MuonWireIndicesBytes(MUON_WIRE_INDICES_RAW, entries, 1);
  uint64_t       rest  = count;

  *used = 0;
  for (uint64_t first = 0; first < entries; first += CHUNK) {
    const unsigned length = MuonWireChunkLength(entries, first), bitmap = (length + 7) / 8;
    uint64_t       words[CHUNK_WORDS], some                             = rest, bytes;
    unsigned char  codes[ROOM];
    unsigned       before, kept;

    if (length < entries - first) {
      before = MuonWireLoadVar(from + *used, room - *used, &some);
      if (before == 0) return MUON_WIRE_CORRUPT;
      *used += before;
    }
    before = MuonWireLoadVar(from + *used, room - *used, &bytes);
    if (before == 0 || some > length || some > rest || bytes > bitmap || bytes > room - *used - before) return MUON_WIRE_CORRUPT;
    *used += before;
    kept = (unsigned)some;
    rest -= some;
    memset(words, 0, (length + 63) / 64 * 8);
    if (bytes == bitmap) {
      MuonWireWordsOf(from + *used, length, words);
      if ((words[(length - 1) / 64] & ~MuonWireTail(length)) != 0 || MuonWireCountOf(words, length) != kept) return MUON_WIRE_CORRUPT;
      if (MuonWireChunkEncode(words, length, kept, codes) != bitmap) return MUON_WIRE_CORRUPT;
    } else {
      memcpy(codes, from + *used, (size_t)bytes);
      memset(codes + bytes, 0, 24);
      if (MuonWireChunkDecode(codes, (unsigned)bytes, length, kept, words) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
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
  /* Without entries there is no chunk that could have none of them */
  return entries == 0 && count != 0 ? MUON_WIRE_CORRUPT : MUON_WIRE_OK;
}
