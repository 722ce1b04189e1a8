/*
   Entropy coding of codes of 2 to 9 bits: natural values, and levels of blocks. A chunk has 65,536 codes. It is
   written by an asymmetric numeral system, behind a table of frequencies of 12 bits, or of 14 bits if many codes
   occur. A chunk that does not get shorter by this is packed.

   J. Duda, Asymmetric numeral systems, https://arxiv.org/abs/1311.2540; the 32-bit states that shed 16 bits
   at a time are those of F. Giesen, Interleaved entropy coders, https://arxiv.org/abs/1402.3392.
*/
#include "muonwirewide.h"

#define CHUNK   65536u
#define SYMBOLS 512u
/*
   Bits of the frequencies, and the largest number of different codes in a chunk with frequencies of so many bits:
   up to this number each code gets a frequency, for any counts (README.md)
*/
#define FEW_BITS  12u
#define FEW       126u
#define MANY_BITS 14u
#define MOST      255u
/* Codes that are unpacked at a time; a multiple of 8 */
#define BLOCK 512u
/* Lanes of a chunk with at least SMALL codes; one with at least LONG codes has MUON_WIRE_WIDE lanes */
#define LANES 4u
#define SMALL 1024u
#define LONG  32768u
/* The longest table: each code with 1 + 9 + 4 + 14 bits */
#define TABLE (MOST * 28 / 8 + 16)
/* The least state */
#define LOWEST ((uint32_t)1 << 16)

typedef struct {
  unsigned symbols, precision; /* the sum of the frequencies is 2^precision */
  uint16_t code[MOST], frequency[MOST];
} MuonWireModel;

static unsigned MuonWireLanes(unsigned count)
{
  return count < SMALL ? 1 : count < LONG ? LANES : MUON_WIRE_WIDE;
}

/*
   Turns counts into frequencies of sum 2^precision: each is rounded down and is at least 1. The most frequent code
   gets the remainder; of several such codes, the lowest. Returns 0 if too many codes occur
*/
static int MuonWireModelOf(const uint32_t counts[SYMBOLS], unsigned total, MuonWireModel *model)
{
  unsigned best = 0, left, symbols = 0;
  uint32_t most = 0;

  for (unsigned code = 0; code < SYMBOLS; code++) symbols += counts[code] != 0;
  if (symbols > MOST) return 0;
  model->symbols   = 0;
  model->precision = symbols > FEW ? MANY_BITS : FEW_BITS;
  left             = 1u << model->precision;
  for (unsigned code = 0; code < SYMBOLS; code++) {
    uint32_t frequency;

    if (counts[code] == 0) continue;
    if (counts[code] > most) {
      most = counts[code];
      best = model->symbols;
    }
    frequency = (uint32_t)(((uint64_t)counts[code] << model->precision) / total);
    if (frequency == 0) frequency = 1;
    model->code[model->symbols]        = (uint16_t)code;
    model->frequency[model->symbols++] = (uint16_t)frequency;
    left -= frequency;
  }
  model->frequency[best] = (uint16_t)(model->frequency[best] + left);
  return 1;
}

/*
   Writes the number of symbols. Then for each symbol: a bit that tells whether its code is the last code plus one, the
   code if it is not, the number of bits of its frequency, and these bits without the highest. Returns the bytes
*/
static unsigned MuonWireModelWrite(unsigned codebits, const MuonWireModel *model, unsigned char *to)
{
  MuonWireWriter writer   = {to + 1, to + TABLE, 0, 0};
  unsigned       previous = SYMBOLS - 1;

  to[0] = (unsigned char)model->symbols;
  for (unsigned i = 0; i < model->symbols; i++) {
    const unsigned code = model->code[i], frequency = model->frequency[i];
    unsigned       width = 1;

    if (code == ((previous + 1) & (SYMBOLS - 1))) MuonWireWrite(&writer, 1, 1);
    else MuonWireWrite(&writer, (uint64_t)code << 1, 1 + codebits);
    while (frequency >> width != 0) width++;
    MuonWireWrite(&writer, (uint64_t)width | (uint64_t)(frequency & ((1u << (width - 1)) - 1)) << 4, 3 + width);
    previous = code;
  }
  return (unsigned)(writer.at - to) + (writer.bits > 0);
}

/* Reads width <= 16 bits of a stream that ends at byte bytes; the bits behind its end are zero */
static unsigned MuonWireBitsAt(const unsigned char *from, uint64_t bytes, uint64_t *bit, unsigned width)
{
  const uint64_t first = *bit / 8, rest = first < bytes ? bytes - first : 0;
  const uint64_t word  = MuonWireLoadPart(from + (rest > 0 ? first : 0), rest < 4 ? (unsigned)rest : 4);
  const unsigned field = (unsigned)(word >> *bit % 8) & ((1u << width) - 1);

  *bit += width;
  return field;
}

/* Reads the frequencies. They must have the sum 2^precision, and each code must have at most codebits bits */
static MuonWireResult MuonWireModelRead(unsigned codebits, const unsigned char *from, uint64_t bytes, MuonWireModel *model, uint64_t *used)
{
  uint64_t bit = 8;
  unsigned sum = 0, code = SYMBOLS - 1;

  if (bytes == 0 || from[0] == 0) return MUON_WIRE_CORRUPT;
  model->symbols   = from[0];
  model->precision = model->symbols > FEW ? MANY_BITS : FEW_BITS;
  for (unsigned i = 0; i < model->symbols; i++) {
    const unsigned follows = MuonWireBitsAt(from, bytes, &bit, 1);
    unsigned       width, frequency;

    code  = follows ? (code + 1) & (SYMBOLS - 1) : MuonWireBitsAt(from, bytes, &bit, codebits);
    width = MuonWireBitsAt(from, bytes, &bit, 4);
    if (code >> codebits != 0 || (codebits == 9 && (code & 255) == 255) || width == 0) return MUON_WIRE_CORRUPT;
    frequency = 1u << (width - 1);
    frequency |= MuonWireBitsAt(from, bytes, &bit, width - 1);
    model->code[i]      = (uint16_t)code;
    model->frequency[i] = (uint16_t)frequency;
    sum += frequency;
    if (sum > 1u << model->precision) return MUON_WIRE_CORRUPT;
  }
  *used = (bit + 7) / 8;
  return sum == 1u << model->precision && *used <= bytes ? MUON_WIRE_OK : MUON_WIRE_CORRUPT;
}

/*
   A step of the encoder: state / frequency by a multiplication with floor(2^(32 + p) / frequency) + 1, p
   being the precision. It is exact because state < 2^(32 - p) frequency and frequency <= 2^p: the error of
   the factor is at most frequency / 2^(32 + p), and state frequency < 2^(32 + p). The product is below 2^64
   because (2^(32 - p) f - 1) (2^(32 + p) / f + 1) = 2^64 + 2^(32 - p) f - 2^(32 + p) / f - 1 and f <= 2^p
*/
typedef struct {
  uint64_t inverse;
  uint32_t most;        /* the largest state that the step does not overflow: 2^(32 - p) frequency - 1 */
  uint16_t rest, start; /* 2^p - frequency, and where the range of the code begins */
} MuonWireStep;

/* 2^p quotient + start + state mod frequency */
MUON_WIRE_EACH uint32_t MuonWireStepBack(unsigned precision, uint32_t state, const MuonWireStep *step)
{
  return state + step->start + (uint32_t)(state * step->inverse >> (32 + precision)) * step->rest;
}

/*
   Writes a word, to the end of the free room, if the step would overflow. left becomes negative if there is no room
*/
MUON_WIRE_EACH uint32_t MuonWireShed(uint32_t state, const MuonWireStep *step, unsigned char *words, int32_t *left)
{
  if (state > step->most) {
    *left -= 2;
    if (*left >= 0) MuonWireStore16(words + *left, state & 0xFFFFu);
    state >>= 16;
  }
  return state;
}

/* Both in one, if there is room. There is no branch, because processors could not predict it */
MUON_WIRE_EACH uint32_t MuonWirePut(unsigned precision, uint32_t state, const MuonWireStep *step, unsigned char *words, int32_t *left)
{
  const uint32_t shed = state > step->most;

  MuonWireStore16(words + *left - 2, state & 0xFFFFu);
  *left -= (int32_t)(2 * shed);
  return MuonWireStepBack(precision, state ^ ((state ^ state >> 16) & (0u - shed)), step);
}

/*
   The inverse of the step: the state behind a slot. A state that is too small takes the next word; used counts the
   bits that were taken. There is no branch here either
*/
MUON_WIRE_EACH uint32_t MuonWireGet(unsigned precision, uint32_t state, uint32_t slot, uint64_t words, unsigned *used)
{
  const uint32_t next = (slot & 0xFFFFu) * (state >> precision) + (slot >> 16), few = next < LOWEST, mask = 0u - few;
  const uint32_t word = (uint32_t)(words >> *used) & mask & 0xFFFFu;

  *used += 16 * few;
  return (next ^ ((next ^ next << 16) & mask)) | word;
}

#if defined(MUON_WIRE_HAVE_WIDE)
/* Whether the codes of a model have their places in it; those of width 9 have an exponent in 8 bits of which 0 is zero */
static int MuonWireWideTableOf(unsigned width, const MuonWireModel *model, MuonWireWideTable *table)
{
  const unsigned limit = width > 8 ? MUON_WIRE_WIDE_CODES / 2 : MUON_WIRE_WIDE_CODES;
  unsigned       start = 0, least = 256;

  table->precision = model->precision;
  for (unsigned i = 0; i < model->symbols; i++) {
    if ((model->code[i] & 255u) != 0 && (model->code[i] & 255u) < least) least = model->code[i] & 255u;
  }
  table->base = least - 1;
  for (unsigned i = 0; i < model->symbols; i++) {
    const unsigned frequency = model->frequency[i], code = model->code[i] & 255u, place = code == 0 ? 0 : code - table->base;
    unsigned       bits = 0;

    if (place >= limit) return 0;
    while (frequency >> bits != 0) bits++;
    table->range[place + model->code[i] / 256u * 32]   = start << 16 | frequency;
    table->inverse[place + model->code[i] / 256u * 32] = (frequency & (frequency - 1)) == 0 ? UINT32_MAX : (uint32_t)(((uint64_t)1 << (31 + bits)) / frequency);
    start += frequency;
  }
  return 1;
}
#endif

/*
   Writes the words of a chunk to the end of the room, and the states before them. Returns the room that is left, less
   than 0 if it was too small. wide is NULL, or the table of vectors
*/
MUON_WIRE_EACH int32_t MuonWireWordsEncode(unsigned precision, unsigned width, unsigned count, const unsigned char *from, const MuonWireStep *steps, const MuonWireWideTable *wide, unsigned lanes, uint32_t *state, unsigned char *words, int32_t left)
{
  uint16_t codes[BLOCK];

  for (unsigned first = (count - 1) / BLOCK * BLOCK;; first -= BLOCK) {
    unsigned some = count - first < BLOCK ? count - first : BLOCK;

    MuonWireCodesDecode(width, 2, some, from, first, codes);
    /* Each code writes at most one word */
    if (left >= (int32_t)(2 * BLOCK)) {
      for (; some % lanes != 0; some--) state[(some - 1) & (lanes - 1)] = MuonWirePut(precision, state[(some - 1) & (lanes - 1)], steps + codes[some - 1], words, &left);
#if defined(MUON_WIRE_HAVE_WIDE)
      if (wide != NULL) {
        left = MuonWirePutWide(wide, some / MUON_WIRE_WIDE, codes, state, words, left);
        some = 0;
      }
#endif
      if (lanes == LANES) {
        uint32_t s[LANES];

        memcpy(s, state, sizeof(s));
        for (; some > 0; some -= LANES) {
          MUON_WIRE_UNROLL
          for (unsigned lane = LANES; lane-- > 0;) s[lane] = MuonWirePut(precision, s[lane], steps + codes[some - LANES + lane], words, &left);
        }
        memcpy(state, s, sizeof(s));
      }
      for (; some > 0; some--) state[(some - 1) & (lanes - 1)] = MuonWirePut(precision, state[(some - 1) & (lanes - 1)], steps + codes[some - 1], words, &left);
    }
    for (; some > 0; some--) {
      const MuonWireStep *step = steps + codes[some - 1];
      const unsigned      lane = (some - 1) & (lanes - 1);

      state[lane] = MuonWireStepBack(precision, MuonWireShed(state[lane], step, words, &left), step);
    }
    if (first == 0 || left < 0) return left;
  }
}

/*
   Encodes one chunk of packed codes. If the result is not shorter, the chunk stays packed. Returns its bytes, or
   MUON_WIRE_TOO_LONG if they are more than limit. Writes at most min(limit, packed) bytes
*/
static uint64_t MuonWireChunkEncode(unsigned width, unsigned count, const unsigned char *from, uint64_t limit, unsigned char *to)
{
  const uint64_t packed = MuonWireCodesBytes(width, count), room = limit < packed ? limit : packed;
  const unsigned lanes = MuonWireLanes(count);
  uint32_t       counts[4][SYMBOLS];
  uint16_t       codes[BLOCK];
  MuonWireModel  model;

  memset(counts, 0, sizeof(counts));
  for (unsigned first = 0; first < count; first += BLOCK) {
    const unsigned some = count - first < BLOCK ? count - first : BLOCK;
    unsigned       i    = 0;

    MuonWireCodesDecode(width, 2, some, from, first, codes);
    /* Four tables by turns: a counter does not wait for its own last increment if a code occurs twice in a row */
    for (; i + 4 <= some; i += 4) {
      MUON_WIRE_UNROLL
      for (unsigned k = 0; k < 4; k++) counts[k][codes[i + k]]++;
    }
    for (; i < some; i++) counts[0][codes[i]]++;
  }
  for (unsigned code = 0; code < SYMBOLS; code++) counts[0][code] += counts[1][code] + counts[2][code] + counts[3][code];
  if (MuonWireModelOf(counts[0], count, &model)) {
    MuonWireStep             steps[SYMBOLS];
    unsigned char            table[TABLE];
    uint32_t                 state[MUON_WIRE_WIDE], start = 0;
    const uint64_t           head = MuonWireModelWrite(width, &model, table) + (uint64_t)4 * lanes;
    const MuonWireWideTable *wide = NULL;
#if defined(MUON_WIRE_HAVE_WIDE)
    MuonWireWideTable vectors;

    if (lanes == MUON_WIRE_WIDE && MuonWireIsWide() && MuonWireWideTableOf(width, &model, &vectors)) wide = &vectors;
#endif
    for (unsigned lane = 0; lane < lanes; lane++) state[lane] = LOWEST;
    for (unsigned i = 0; i < model.symbols; i++) {
      MuonWireStep *step = steps + model.code[i];

      step->inverse = ((uint64_t)1 << (32 + model.precision)) / model.frequency[i] + 1;
      step->most    = (uint32_t)(((uint64_t)model.frequency[i] << (32 - model.precision)) - 1);
      step->rest    = (uint16_t)((1u << model.precision) - model.frequency[i]);
      step->start   = (uint16_t)start;
      start += model.frequency[i];
    }
    if (head <= room) {
      unsigned char *words = to + head;
      const int32_t  whole = (int32_t)(room - head);
      const int32_t  left  = model.precision == FEW_BITS ? MuonWireWordsEncode(FEW_BITS, width, count, from, steps, wide, lanes, state, words, whole) : MuonWireWordsEncode(MANY_BITS, width, count, from, steps, wide, lanes, state, words, whole);

      if (left >= 0 && head + (uint64_t)(whole - left) < packed) {
        memcpy(to, table, (size_t)head - 4 * lanes);
        for (unsigned lane = 0; lane < lanes; lane++) MuonWireStore32(words - 4 * lanes + 4 * lane, state[lane]);
        memmove(words, words + left, (size_t)(whole - left));
        return head + (uint64_t)(whole - left);
      }
    }
  }
  if (limit < packed) return MUON_WIRE_TOO_LONG;
  memcpy(to, from, (size_t)packed);
  return packed;
}

/* Decodes codes of neighboring lanes. Their words have at most 64 bits together. Returns the place of the next words */
MUON_WIRE_EACH const unsigned char *MuonWireGetLanes(unsigned precision, const uint32_t *slots, const uint16_t *names, uint32_t *s, const unsigned char *at, uint16_t *codes)
{
  const uint64_t words = MuonWireLoad64(at);
  unsigned       used  = 0;

  MUON_WIRE_UNROLL
  for (unsigned lane = 0; lane < LANES; lane++) {
    const uint32_t slot = s[lane] & ((1u << precision) - 1);

    codes[lane] = names[slot];
    s[lane]     = MuonWireGet(precision, s[lane], slots[slot], words, &used);
  }
  return at + used / 8;
}

/*
   slots has for each slot the frequency of its code and the place in the range of the code, names has the code. Slots
   from high on belong to codes with bit 8 set. wide is NULL, or the slots of vectors
*/
MUON_WIRE_EACH MuonWireResult MuonWireWordsDecode(unsigned precision, unsigned width, unsigned count, const uint32_t *slots, const uint16_t *names, uint32_t high, const uint32_t *wide, unsigned lanes, uint32_t *state, const unsigned char *at,
                                                  const unsigned char *end, unsigned char *to)
{
  const uint32_t mask = (1u << precision) - 1;
  uint16_t       codes[BLOCK];

  for (unsigned first = 0; first < count; first += BLOCK) {
    const unsigned some = count - first < BLOCK ? count - first : BLOCK;
    unsigned       i    = 0;

    /* Each code reads at most one word: far from the end no test is necessary */
    if (end - at >= (ptrdiff_t)(2 * BLOCK)) {
#if defined(MUON_WIRE_HAVE_WIDE)
      if (wide != NULL) {
        at = MuonWireGetWide(wide, high, some / MUON_WIRE_WIDE, state, at, codes);
        i  = some / MUON_WIRE_WIDE * MUON_WIRE_WIDE;
      }
#endif
      if (lanes == LANES) {
        uint32_t s[LANES];

        memcpy(s, state, sizeof(s));
        for (; i + LANES <= some; i += LANES) at = MuonWireGetLanes(precision, slots, names, s, at, codes + i);
        memcpy(state, s, sizeof(s));
      }
      for (; lanes > LANES && i + LANES <= some; i += LANES) at = MuonWireGetLanes(precision, slots, names, state + (i & (lanes - 1)), at, codes + i);
    }
    for (; i < some; i++) {
      const unsigned lane = i & (lanes - 1);
      const uint32_t slot = state[lane] & mask;
      unsigned       used = 0;

      codes[i]    = names[slot];
      state[lane] = MuonWireGet(precision, state[lane], slots[slot], MuonWireLoadPart(at, end - at < 2 ? 0 : 2), &used);
      at += used / 8;
      if (at > end) return MUON_WIRE_CORRUPT;
    }
    MuonWireCodesEncode(width, 2, some, codes, to + first / 8 * width);
  }
  for (unsigned lane = 0; lane < lanes; lane++) {
    if (state[lane] != LOWEST) return MUON_WIRE_CORRUPT;
  }
  return at == end ? MUON_WIRE_OK : MUON_WIRE_CORRUPT;
}

static MuonWireResult MuonWireChunkDecode(unsigned width, unsigned count, const unsigned char *from, uint64_t bytes, unsigned char *to)
{
  const unsigned       lanes = MuonWireLanes(count);
  const unsigned char *end   = from + bytes;
  uint32_t             slots[1u << MANY_BITS], vectors[1u << FEW_BITS], state[MUON_WIRE_WIDE], start = 0, high = UINT32_MAX;
  uint16_t             names[1u << MANY_BITS];
  MuonWireModel        model;
  uint64_t             head;
  int                  wide;

  if (MuonWireModelRead(width, from, bytes, &model, &head) != MUON_WIRE_OK || bytes - head < 4 * lanes) return MUON_WIRE_CORRUPT;
  from += head;
  wide = lanes == MUON_WIRE_WIDE && model.precision == FEW_BITS && MuonWireIsWide();
  for (unsigned lane = 0; lane < lanes; lane++, from += 4) state[lane] = MuonWireLoad32(from);
  for (unsigned i = 0; i < model.symbols; i++) {
    const uint32_t frequency = model.frequency[i], code = model.code[i];

    if (code > 255 && high == UINT32_MAX) high = start;
    /* The codes of a table increase */
    if (code < 256 && high != UINT32_MAX) wide = 0;
    for (uint32_t k = 0; k < frequency; k++, start++) {
      slots[start] = frequency | k << 16;
      names[start] = (uint16_t)code;
      if (model.precision == FEW_BITS) vectors[start] = (frequency - 1) | k << 12 | (code & 255u) << 24;
    }
  }
  if (model.precision == FEW_BITS) return MuonWireWordsDecode(FEW_BITS, width, count, slots, names, high, wide ? vectors : NULL, lanes, state, from, end, to);
  return MuonWireWordsDecode(MANY_BITS, width, count, slots, names, high, NULL, lanes, state, from, end, to);
}

uint64_t MuonWireCodedEncode(unsigned width, uint64_t count, const unsigned char *from, uint64_t limit, unsigned char *to)
{
  uint64_t used = 0;

  for (uint64_t first = 0; first < count; first += CHUNK) {
    const unsigned some = count - first < CHUNK ? (unsigned)(count - first) : CHUNK;
    uint64_t       bytes;
    unsigned       before;

    /* Behind a length of one byte; moved if the length has more bytes */
    if (used >= limit) return MUON_WIRE_TOO_LONG;
    bytes = MuonWireChunkEncode(width, some, from + first / 8 * width, limit - used - 1, to + used + 1);
    if (bytes == MUON_WIRE_TOO_LONG) return MUON_WIRE_TOO_LONG;
    before = MuonWireVarBytes(bytes);
    if (before + bytes > limit - used) return MUON_WIRE_TOO_LONG;
    if (before > 1) memmove(to + used + before, to + used + 1, (size_t)bytes);
    (void)MuonWireStoreVar(to + used, bytes);
    used += before + bytes;
  }
  return used;
}

MuonWireResult MuonWireCodedDecode(unsigned width, uint64_t count, const unsigned char *from, uint64_t room, uint64_t *used, unsigned char *to)
{
  *used = 0;
  for (uint64_t first = 0; first < count; first += CHUNK, to += CHUNK / 8 * width) {
    const unsigned some   = count - first < CHUNK ? (unsigned)(count - first) : CHUNK;
    const uint64_t packed = MuonWireCodesBytes(width, some);
    uint64_t       bytes;
    const unsigned before = MuonWireLoadVar(from + *used, room - *used, &bytes);

    if (before == 0 || bytes > packed || bytes > room - *used - before) return MUON_WIRE_CORRUPT;
    *used += before;
    if (bytes == packed) {
      if (width == 9 && MuonWireValuesValidate(MUON_WIRE_VALUES_NATURAL, some, from + *used) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
      memcpy(to, from + *used, (size_t)bytes);
    } else if (MuonWireChunkDecode(width, some, from + *used, bytes, to) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
    *used += bytes;
  }
  return MUON_WIRE_OK;
}
