/*
   Integers as little-endian bytes, for the files of this component and of src/file. Written with shifts, so that
   nothing depends on the byte order or the alignment of the machine; compilers turn each of them into a
   single load or store where the machine is little-endian.
*/
#pragma once

#include <petscmuon/private/muonwire.h>
#include <string.h>

/* Compiled for each constant argument */
#if defined(__GNUC__)
  #define MUON_WIRE_EACH static inline __attribute__((always_inline))
#else
  #define MUON_WIRE_EACH static inline
#endif
/* Before a short loop over what stays in registers only where it is unrolled */
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
  #define MUON_WIRE_UNROLL _Pragma("GCC unroll 8")
#else
  #define MUON_WIRE_UNROLL
#endif

/* Whether so many messages follow one another without a gap and end with the bytes */
MuonWireResult MuonWireMessagesTile(const unsigned char *from, size_t length, uint64_t messages);

/*
   The sections of an uncompressed payload, layout->bytes long, for what a receiver refuses; positions and
   numbers that a decoder wrote need no check
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

/* The first bytes < 8 of a word; what follows them counts as zero and is not read */
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
   Integers below 2^63 in groups of seven bits, lowest first; all but the last have the highest bit of their
   byte set, and there are no more than needed
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

/* Returns how many bytes it has, 0 where there is none in that many bytes */
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

/* A constant after optimization: whether arrays of numbers are on the wire what they are in memory */
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

/* The number of the lowest bit that is set in a word that is not zero */
static inline unsigned MuonWireLowestBit(uint64_t word)
{
#if defined(__GNUC__)
  return (unsigned)__builtin_ctzll(word);
#else
  return MuonWirePopCount((word & (~word + 1)) - 1);
#endif
}

/* Bits that wait to be written, fewer than eight, and where */
typedef struct {
  unsigned char *at, *end; /* behind the end nothing is worth to be written */
  uint64_t       held;
  unsigned       bits;
} MuonWireWriter;

/* At most 57 of them with those that wait */
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
   Zeros that are written or read at once: with a rest of 16 bits they fit 57, what a word holds after any
   shift by less than a byte
*/
#define ZEROS 40u

/* Golomb's parameter M, and its truncated binary rests: below cut they have bits, else one more */
typedef struct {
  unsigned step, bits, cut;
  uint64_t inverse; /* gap / step is gap inverse / 2^32, exactly because both are below 2^16 */
} MuonWireGolomb;

/* The code of a gap: zeros, a one and the rest */
static inline void MuonWireGapWrite(const MuonWireGolomb *code, unsigned gap, MuonWireWriter *writer)
{
  unsigned       zeros = (unsigned)(gap * code->inverse >> 32), rest = gap - zeros * code->step;
  const unsigned more = rest >= code->cut, longer = rest + code->cut;

  /* Without a branch, which could not be foreseen */
  rest ^= (rest ^ (longer >> 1 | (longer & 1u) << code->bits)) & (0u - more);
  for (; zeros >= ZEROS && writer->at <= writer->end; zeros -= ZEROS) MuonWireWrite(writer, 0, ZEROS);
  if (zeros < ZEROS) MuonWireWrite(writer, ((uint64_t)1 | (uint64_t)rest << 1) << zeros, zeros + 1 + code->bits + more);
}
