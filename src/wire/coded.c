/*
   Natural codes close to their entropy: chunks of 65,536 codes through an asymmetric numeral system with 12-bit frequencies, which stand before them, or packed
   in 9 bits where that is not longer. The frequencies follow from how often each code occurs, so that a chunk has one encoding.

   J. Duda, Asymmetric numeral systems, https://arxiv.org/abs/1311.2540; the 32-bit states that shed 16 bits at a time are those of F. Giesen, Interleaved entropy coders,
   https://arxiv.org/abs/1402.3392.
*/
#include "muonwirebits.h"

#define CHUNK   65536u
#define SYMBOLS 512u
#define SCALE   4096u
/* So many codes at most occur in a chunk that is coded: then each gets a frequency, whatever the others are (README.md) */
#define MOST 126u
/* Codes that are unpacked together; a multiple of 8 */
#define BLOCK 512u
/* Lanes of a chunk that is not a small one */
#define LANES 4u
#define SMALL 1024u
/* The longest table: each code with 1 + 9 + 4 + 12 bits */
#define TABLE (MOST * 26 / 8 + 16)
/* The least state */
#define LOWEST ((uint32_t)1 << 16)

typedef struct {
  unsigned symbols;
  uint16_t code[MOST], frequency[MOST];
} MuonWireModel;

static unsigned MuonWireLanes(unsigned count)
{
  return count < SMALL ? 1 : LANES;
}

/* Counts become frequencies of sum SCALE: rounded down, at least 1; what is left is the most frequent code's, the lowest of these. Returns 0 where too many codes occur */
static int MuonWireModelOf(const uint32_t counts[SYMBOLS], unsigned total, MuonWireModel *model)
{
  unsigned best = 0, left = SCALE;
  uint32_t most = 0;

  model->symbols = 0;
  for (unsigned code = 0; code < SYMBOLS; code++) {
    uint32_t frequency;

    if (counts[code] == 0) continue;
    if (model->symbols == MOST) return 0;
    if (counts[code] > most) {
      most = counts[code];
      best = model->symbols;
    }
    frequency = (uint32_t)((uint64_t)counts[code] * SCALE / total);
    if (frequency == 0) frequency = 1;
    model->code[model->symbols]        = (uint16_t)code;
    model->frequency[model->symbols++] = (uint16_t)frequency;
    left -= frequency;
  }
  model->frequency[best] = (uint16_t)(model->frequency[best] + left);
  return 1;
}

/* The number of symbols, then for each whether its code follows the last one, the code if not, the bits of its frequency and all of these but the highest. Returns the bytes */
static unsigned MuonWireModelWrite(const MuonWireModel *model, unsigned char *to)
{
  unsigned char *at   = to + 1;
  uint64_t       held = 0;
  unsigned       bits = 0, previous = SYMBOLS - 1;

  to[0] = (unsigned char)model->symbols;
  for (unsigned i = 0; i < model->symbols; i++) {
    const unsigned code = model->code[i], frequency = model->frequency[i];
    unsigned       width = 1;

    if (code == ((previous + 1) & (SYMBOLS - 1))) held |= (uint64_t)1 << bits++;
    else {
      held |= (uint64_t)code << (bits + 1);
      bits += 10;
    }
    while (frequency >> width != 0) width++;
    held |= ((uint64_t)width | (uint64_t)(frequency & ((1u << (width - 1)) - 1)) << 4) << bits;
    for (bits += 3 + width; bits >= 8; bits -= 8) {
      *at++ = (unsigned char)(held & 255);
      held >>= 8;
    }
    previous = code;
  }
  if (bits > 0) *at++ = (unsigned char)held;
  return (unsigned)(at - to);
}

/* The next width <= 16 bits of a stream that ends with byte bytes; zeros behind it */
static unsigned MuonWireBitsAt(const unsigned char *from, uint64_t bytes, uint64_t *bit, unsigned width)
{
  const uint64_t first = *bit / 8, rest = first < bytes ? bytes - first : 0;
  const uint64_t word  = MuonWireLoadPart(from + (rest > 0 ? first : 0), rest < 4 ? (unsigned)rest : 4);
  const unsigned field = (unsigned)(word >> *bit % 8) & ((1u << width) - 1);

  *bit += width;
  return field;
}

static MuonWireResult MuonWireModelRead(const unsigned char *from, uint64_t bytes, MuonWireModel *model, uint64_t *used)
{
  uint64_t bit = 8;
  unsigned sum = 0, previous = SYMBOLS - 1;

  if (bytes == 0 || from[0] == 0 || from[0] > MOST) return MUON_WIRE_CORRUPT;
  model->symbols = from[0];
  for (unsigned i = 0; i < model->symbols; i++) {
    const unsigned follows = MuonWireBitsAt(from, bytes, &bit, 1);
    const unsigned next    = (previous + 1) & (SYMBOLS - 1);
    const unsigned code    = follows ? next : MuonWireBitsAt(from, bytes, &bit, 9);
    const unsigned width   = MuonWireBitsAt(from, bytes, &bit, 4);
    unsigned       frequency;

    /* In increasing order, one way to write it; a code that a value can have */
    if ((i > 0 && code <= previous) || (!follows && code == next) || (code & 255) == 255 || code == 256) return MUON_WIRE_CORRUPT;
    if (width == 0 || width > 13) return MUON_WIRE_CORRUPT;
    frequency = 1u << (width - 1);
    frequency |= MuonWireBitsAt(from, bytes, &bit, width - 1);
    model->code[i]      = (uint16_t)code;
    model->frequency[i] = (uint16_t)frequency;
    sum += frequency;
    previous = code;
    if (sum > SCALE || bit > 8 * bytes) return MUON_WIRE_CORRUPT;
  }
  *used = (bit + 7) / 8;
  if (sum != SCALE || (bit % 8 != 0 && from[bit / 8] >> bit % 8 != 0)) return MUON_WIRE_CORRUPT;
  return MUON_WIRE_OK;
}

/* A step of the encoder: state / frequency by a multiplication, exact because state < 2^20 frequency and frequency <= 2^12 */
typedef struct {
  uint64_t inverse;
  uint32_t frequency, start;
} MuonWireStep;

static inline uint32_t MuonWireStepBack(uint32_t state, const MuonWireStep *step)
{
  const uint32_t quotient = (uint32_t)(state * step->inverse >> 44);

  return quotient * SCALE + step->start + (state - quotient * step->frequency);
}

/* Sheds a word where the step would overflow, to the end of the room that is left; where none is, left becomes negative */
static inline uint32_t MuonWireShed(uint32_t state, const MuonWireStep *step, unsigned char *words, int32_t *left)
{
  if (state >> 20 >= step->frequency) {
    *left -= 2;
    if (*left >= 0) MuonWireStore16(words + *left, state & 0xFFFFu);
    state >>= 16;
  }
  return state;
}

/* Both at once, where there is room: without a branch, which could not be foreseen */
static inline uint32_t MuonWirePut(uint32_t state, const MuonWireStep *step, unsigned char *words, int32_t *left)
{
  const uint32_t shed = state >> 20 >= step->frequency;

  MuonWireStore16(words + *left - 2, state & 0xFFFFu);
  *left -= (int32_t)(2 * shed);
  return MuonWireStepBack(state >> (16 * shed), step);
}

/* The inverse of it: the state behind a slot, and a word where it is too small */
static inline uint32_t MuonWireGet(uint32_t state, uint32_t slot, const unsigned char **at)
{
  const uint32_t next = (slot & 0xFFFFu) * (state >> 12) + (slot >> 16), few = next < LOWEST;
  const uint32_t full = next << 16 | MuonWireLoad16(*at);

  *at += 2 * few;
  return few ? full : next;
}

/*
   One chunk, out of packed codes. Returns the bytes, those of the packed codes where a code would not be shorter, MUON_WIRE_TOO_LONG where they are more than limit. Writes at most min(limit, packed) bytes
*/
static uint64_t MuonWireChunkEncode(unsigned count, const unsigned char *from, uint64_t limit, unsigned char *to)
{
  const uint64_t packed = MuonWireValuesBytes(MUON_WIRE_VALUES_NATURAL, count), room = limit < packed ? limit : packed;
  const unsigned lanes = MuonWireLanes(count);
  uint32_t       counts[4][SYMBOLS], state[LANES] = {LOWEST, LOWEST, LOWEST, LOWEST};
  uint16_t       codes[BLOCK];
  MuonWireModel  model;
  unsigned char  table[TABLE];
  uint64_t       head, bytes;

  memset(counts, 0, sizeof(counts));
  for (unsigned first = 0; first < count; first += BLOCK) {
    const unsigned some = count - first < BLOCK ? count - first : BLOCK;

    MuonWireNaturalDecode(some, from, first, codes);
    for (unsigned i = 0; i < some; i++) counts[i & 3][codes[i]]++;
  }
  for (unsigned code = 0; code < SYMBOLS; code++) counts[0][code] += counts[1][code] + counts[2][code] + counts[3][code];
  bytes = packed;
  if (MuonWireModelOf(counts[0], count, &model)) {
    MuonWireStep   steps[SYMBOLS];
    unsigned char *words;
    int32_t        left, whole;
    uint32_t       start = 0;

    head = MuonWireModelWrite(&model, table);
    for (unsigned i = 0; i < model.symbols; i++) {
      MuonWireStep *step = steps + model.code[i];

      step->frequency = model.frequency[i];
      step->start     = start;
      step->inverse   = ((uint64_t)1 << 44) / step->frequency + 1;
      start += step->frequency;
    }
    if (head + 4 * lanes <= room) {
      words = to + head + 4 * lanes;
      whole = (int32_t)(room - head - 4 * lanes);
      left  = whole;
      for (unsigned first = (count - 1) / BLOCK * BLOCK;; first -= BLOCK) {
        unsigned some = count - first < BLOCK ? count - first : BLOCK;

        MuonWireNaturalDecode(some, from, first, codes);
        /* A word for each code at most */
        if (lanes == LANES && left >= (int32_t)(2 * BLOCK)) {
          {
            uint32_t s0, s1, s2, s3;

            for (; some % LANES != 0; some--) state[(some - 1) % LANES] = MuonWirePut(state[(some - 1) % LANES], steps + codes[some - 1], words, &left);
            s0 = state[0];
            s1 = state[1];
            s2 = state[2];
            s3 = state[3];
            for (; some > 0; some -= LANES) {
              s3 = MuonWirePut(s3, steps + codes[some - 1], words, &left);
              s2 = MuonWirePut(s2, steps + codes[some - 2], words, &left);
              s1 = MuonWirePut(s1, steps + codes[some - 3], words, &left);
              s0 = MuonWirePut(s0, steps + codes[some - 4], words, &left);
            }
            state[0] = s0;
            state[1] = s1;
            state[2] = s2;
            state[3] = s3;
          }
        }
        for (; some > 0; some--) {
          const MuonWireStep *step = steps + codes[some - 1];
          const unsigned      lane = (some - 1) % lanes;

          state[lane] = MuonWireStepBack(MuonWireShed(state[lane], step, words, &left), step);
        }
        if (first == 0 || left < 0) break;
      }
      if (left >= 0) {
        bytes = head + 4 * lanes + (uint64_t)(whole - left);
        if (bytes < packed) {
          memcpy(to, table, (size_t)head);
          for (unsigned lane = 0; lane < lanes; lane++) MuonWireStore32(to + head + 4 * lane, state[lane]);
          memmove(words, words + left, (size_t)(whole - left));
          return bytes;
        }
        bytes = packed;
      }
    }
  }
  if (limit < packed) return MUON_WIRE_TOO_LONG;
  memcpy(to, from, (size_t)packed);
  return packed;
}

static MuonWireResult MuonWireChunkDecode(unsigned count, const unsigned char *from, uint64_t bytes, unsigned char *to)
{
  const unsigned       lanes = MuonWireLanes(count);
  const unsigned char *at, *end = from + bytes;
  uint32_t             slots[SCALE], counts[4][SYMBOLS], state[LANES] = {LOWEST, LOWEST, LOWEST, LOWEST}, start = 0;
  uint16_t             names[SCALE], codes[BLOCK];
  MuonWireModel        model, again;
  uint64_t             head;

  if (MuonWireModelRead(from, bytes, &model, &head) != MUON_WIRE_OK || bytes - head < 4 * lanes) return MUON_WIRE_CORRUPT;
  at = from + head;
  for (unsigned lane = 0; lane < lanes; lane++, at += 4) {
    state[lane] = MuonWireLoad32(at);
    if (state[lane] < LOWEST) return MUON_WIRE_CORRUPT;
  }
  /* Behind each slot: the frequency, and the place in the range of its code */
  for (unsigned i = 0; i < model.symbols; i++) {
    for (uint32_t k = 0; k < model.frequency[i]; k++) {
      slots[start + k] = (uint32_t)model.frequency[i] | k << 16;
      names[start + k] = model.code[i];
    }
    start += model.frequency[i];
  }
  memset(counts, 0, sizeof(counts));
  for (unsigned first = 0; first < count; first += BLOCK) {
    const unsigned some = count - first < BLOCK ? count - first : BLOCK;
    unsigned       i    = 0;

    /* A word for each code at most: away from the end none needs a test of its own */
    if (lanes == LANES && end - at >= 2 * BLOCK) {
      uint32_t s0 = state[0], s1 = state[1], s2 = state[2], s3 = state[3];

      for (; i + LANES <= some; i += LANES) {
        const uint32_t k0 = s0 & (SCALE - 1), k1 = s1 & (SCALE - 1), k2 = s2 & (SCALE - 1), k3 = s3 & (SCALE - 1);

        codes[i]     = names[k0];
        codes[i + 1] = names[k1];
        codes[i + 2] = names[k2];
        codes[i + 3] = names[k3];
        s0           = MuonWireGet(s0, slots[k0], &at);
        s1           = MuonWireGet(s1, slots[k1], &at);
        s2           = MuonWireGet(s2, slots[k2], &at);
        s3           = MuonWireGet(s3, slots[k3], &at);
      }
      state[0] = s0;
      state[1] = s1;
      state[2] = s2;
      state[3] = s3;
    }
    for (; i < some; i++) {
      const unsigned lane = lanes == 1 ? 0 : i % LANES;
      const uint32_t slot = state[lane] & (SCALE - 1);

      codes[i]    = names[slot];
      state[lane] = (slots[slot] & 0xFFFFu) * (state[lane] >> 12) + (slots[slot] >> 16);
      if (state[lane] < LOWEST) {
        if (end - at < 2) return MUON_WIRE_CORRUPT;
        state[lane] = state[lane] << 16 | MuonWireLoad16(at);
        at += 2;
      }
    }
    for (i = 0; i < some; i++) counts[i & 3][codes[i]]++;
    MuonWireNaturalEncode(some, codes, to + first / 8 * 9);
  }
  if (at != end) return MUON_WIRE_CORRUPT;
  for (unsigned lane = 0; lane < lanes; lane++) {
    if (state[lane] != LOWEST) return MUON_WIRE_CORRUPT;
  }
  /* The frequencies are those of what came out */
  for (unsigned code = 0; code < SYMBOLS; code++) counts[0][code] += counts[1][code] + counts[2][code] + counts[3][code];
  if (!MuonWireModelOf(counts[0], count, &again) || again.symbols != model.symbols) return MUON_WIRE_CORRUPT;
  return memcmp(again.code, model.code, model.symbols * sizeof(model.code[0])) == 0 && memcmp(again.frequency, model.frequency, model.symbols * sizeof(model.frequency[0])) == 0 ? MUON_WIRE_OK : MUON_WIRE_CORRUPT;
}

static uint64_t MuonWireChunks(uint64_t count)
{
  return count / CHUNK + (count % CHUNK != 0);
}

uint64_t MuonWireCodedMaxBytes(uint64_t count)
{
  return 4 * MuonWireChunks(count) + MuonWireValuesBytes(MUON_WIRE_VALUES_NATURAL, count);
}

uint64_t MuonWireCodedEncode(uint64_t count, const unsigned char *from, uint64_t limit, unsigned char *to)
{
  const uint64_t chunks = MuonWireChunks(count);
  uint64_t       used   = 4 * chunks;

  if (used > limit) return MUON_WIRE_TOO_LONG;
  for (uint64_t c = 0; c < chunks; c++) {
    const unsigned some  = count - c * CHUNK < CHUNK ? (unsigned)(count - c * CHUNK) : CHUNK;
    const uint64_t bytes = MuonWireChunkEncode(some, from + c * (CHUNK / 8 * 9), limit - used, to + used);

    if (bytes == MUON_WIRE_TOO_LONG) return MUON_WIRE_TOO_LONG;
    MuonWireStore32(to + 4 * c, (uint32_t)bytes);
    used += bytes;
  }
  return used;
}

MuonWireResult MuonWireCodedDecode(uint64_t count, const unsigned char *from, uint64_t room, uint64_t *used, unsigned char *to)
{
  const uint64_t chunks = MuonWireChunks(count);

  if (chunks > room / 4) return MUON_WIRE_CORRUPT;
  *used = 4 * chunks;
  for (uint64_t c = 0; c < chunks; c++, to += CHUNK / 8 * 9) {
    const unsigned some   = count - c * CHUNK < CHUNK ? (unsigned)(count - c * CHUNK) : CHUNK;
    const uint64_t packed = MuonWireValuesBytes(MUON_WIRE_VALUES_NATURAL, some), bytes = MuonWireLoad32(from + 4 * c);

    if (bytes > packed || bytes > room - *used) return MUON_WIRE_CORRUPT;
    if (bytes < packed) {
      if (MuonWireChunkDecode(some, from + *used, bytes, to) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
    } else {
      /* Packed codes: to holds what an encoder makes of them until it is known that this is not shorter */
      if (MuonWireValuesValidate(MUON_WIRE_VALUES_NATURAL, some, from + *used) != MUON_WIRE_OK) return MUON_WIRE_CORRUPT;
      if (MuonWireChunkEncode(some, from + *used, packed, to) != packed) return MUON_WIRE_CORRUPT;
    }
    *used += bytes;
  }
  return MUON_WIRE_OK;
}
