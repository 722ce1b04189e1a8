/*
   Integers as little-endian bytes, for the files of this component and of src/file. Shifts make the code independent of
   the byte order and the alignment of the machine. On a little-endian machine compilers turn each function into a single
   load or store.
*/
#pragma once

#include <petscmuon/private/muonwire.h>
#include <string.h>

/* A function that is compiled once for each constant argument */
#if defined(__GNUC__)
  #define MUON_WIRE_EACH static inline __attribute__((always_inline))
#else
  #define MUON_WIRE_EACH static inline
#endif
/* Before a short loop: its variables stay in registers only if it is unrolled */
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
  #define MUON_WIRE_UNROLL _Pragma("GCC unroll 8")
#else
  #define MUON_WIRE_UNROLL
#endif

/* Whether the bytes are exactly this number of messages, without gaps */
MuonWireResult MuonWireMessagesTile(const unsigned char *from, size_t length, uint64_t messages);

/*
   Checks the sections of an uncompressed payload of layout->bytes bytes. positions and numbers are 0 if a decoder wrote
   them: these need no check
*/
MuonWireResult MuonWirePayloadValidate(const MuonWireMessage *header, const MuonWireLayout *layout, const unsigned char *payload, int positions, int numbers);

static inline uint32_t MuonWireLoad16(const unsigned char *from)
{
  return (uint32_t)from[0] | (uint32_t)from[1] << 8;
}

static inline uint32_t MuonWireLoad32(const unsigned char *from)
{
  return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

static inline uint64_t MuonWireLoad64(const unsigned char *from)
{
  return (uint64_t)from[0] | (uint64_t)from[1] << 8 | (uint64_t)from[2] << 16 | (uint64_t)from[3] << 24 | (uint64_t)from[4] << 32 | (uint64_t)from[5] << 40 | (uint64_t)from[6] << 48 | (uint64_t)from[7] << 56;
}

/* The first bytes < 8 of a word. The other bytes are zero and are not read */
static inline uint64_t MuonWireLoadPart(const unsigned char *from, unsigned bytes)
{
  uint64_t word = 0;

  for (unsigned b = 0; b < bytes; b++) word |= (uint64_t)from[b] << (8 * b);
  return word;
}

static inline void MuonWireStore16(unsigned char *to, uint32_t word)
{
  to[0] = (unsigned char)(word & 255);
  to[1] = (unsigned char)(word >> 8 & 255);
}

static inline void MuonWireStore32(unsigned char *to, uint32_t word)
{
  MuonWireStore16(to, word);
  MuonWireStore16(to + 2, word >> 16);
}

static inline void MuonWireStore64(unsigned char *to, uint64_t word)
{
  MuonWireStore32(to, (uint32_t)(word & 0xFFFFFFFFu));
  MuonWireStore32(to + 4, (uint32_t)(word >> 32));
}

/* The lowest bytes <= 8 of a word */
static inline void MuonWireStorePart(unsigned char *to, unsigned bytes, uint64_t word)
{
  for (unsigned b = 0; b < bytes; b++) to[b] = (unsigned char)(word >> (8 * b) & 255);
}

/*
   Integers below 2^63 in groups of seven bits, the lowest first. All bytes but the last have the highest bit set. A number
   has as few bytes as possible
*/
static inline unsigned MuonWireVarBytes(uint64_t word)
{
  unsigned bytes = 1;

  while (word >>= 7) bytes++;
  return bytes;
}

static inline unsigned MuonWireStoreVar(unsigned char *to, uint64_t word)
{
  unsigned bytes = 0;

  for (; word >> 7 != 0; word >>= 7) to[bytes++] = (unsigned char)((word & 127) | 128);
  to[bytes++] = (unsigned char)word;
  return bytes;
}

/* Returns the number of bytes read, 0 if the room does not contain a whole number */
static inline unsigned MuonWireLoadVar(const unsigned char *from, uint64_t room, uint64_t *word)
{
  *word = 0;
  for (unsigned b = 0; b < 9 && b < room; b++) {
    *word |= (uint64_t)(from[b] & 127u) << (7 * b);
    if (from[b] < 128) return b > 0 && from[b] == 0 ? 0 : b + 1;
  }
  return 0;
}

/* The 64 bits from entry base on, a multiple of 64; bits past the bitmap's last byte are zero */
static inline uint64_t MuonWireBitmapWord(const unsigned char *bitmap, uint64_t entries, uint64_t base)
{
  const uint64_t rest = (entries - base + 7) / 8;

  return rest >= 8 ? MuonWireLoad64(bitmap + base / 8) : MuonWireLoadPart(bitmap + base / 8, (unsigned)rest);
}

/* Whether arrays of numbers have the same bytes on the wire and in memory. A constant after optimization */
static inline int MuonWireIsLittleEndian(void)
{
  const uint16_t one = 1;
  unsigned char  first;

  memcpy(&first, &one, 1);
  return first == 1;
}

static inline unsigned MuonWirePopCount(uint64_t word)
{
  word -= word >> 1 & UINT64_C(0x5555555555555555);
  word = (word & UINT64_C(0x3333333333333333)) + (word >> 2 & UINT64_C(0x3333333333333333));
  word = (word + (word >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
  return (unsigned)(word * UINT64_C(0x0101010101010101) >> 56);
}

/* The number of the lowest set bit of a word that is not zero */
static inline unsigned MuonWireLowestBit(uint64_t word)
{
#if defined(__GNUC__)
  return (unsigned)__builtin_ctzll(word);
#else
  return MuonWirePopCount((word & (~word + 1)) - 1);
#endif
}

/* Fewer than eight bits that are not yet written, and the place for them */
typedef struct {
  unsigned char *at, *end; /* bytes behind the end are not needed */
  uint64_t       held;
  unsigned       bits;
} MuonWireWriter;

/* At most 57 bits, including those that are not yet written */
static inline void MuonWireWrite(MuonWireWriter *writer, uint64_t field, unsigned bits)
{
  writer->held |= field << writer->bits;
  writer->bits += bits;
  MuonWireStore64(writer->at, writer->held);
  writer->at += writer->bits / 8;
  writer->held >>= writer->bits & 56u;
  writer->bits %= 8;
}

/* The bits of the last word that stand for entries */
static inline uint64_t MuonWireTail(unsigned length)
{
  return length % 64 == 0 ? ~UINT64_C(0) : ((uint64_t)1 << length % 64) - 1;
}

/*
   Zeros that are written or read at a time. With a one and a remainder of 16 bits they are 57 bits: a word has room for
   these after any shift by less than a byte
*/
#define ZEROS 40u

/* Golomb's parameter M, and its truncated binary remainders: those below cut have bits bits, the others one more */
typedef struct {
  unsigned step, bits, cut;
  uint64_t inverse; /* gap / step is gap inverse / 2^32, exactly because both are below 2^16 */
} MuonWireGolomb;

/* The code of a gap: zeros, a one and the remainder */
static inline void MuonWireGapWrite(const MuonWireGolomb *code, unsigned gap, MuonWireWriter *writer)
{
  unsigned       zeros = (unsigned)(gap * code->inverse >> 32), rest = gap - zeros * code->step;
  const unsigned more = rest >= code->cut, longer = rest + code->cut;

  /* There is no branch, because processors could not predict it */
  rest ^= (rest ^ (longer >> 1 | (longer & 1u) << code->bits)) & (0u - more);
  for (; zeros >= ZEROS && writer->at <= writer->end; zeros -= ZEROS) MuonWireWrite(writer, 0, ZEROS);
  if (zeros < ZEROS) MuonWireWrite(writer, ((uint64_t)1 | (uint64_t)rest << 1) << zeros, zeros + 1 + code->bits + more);
}
