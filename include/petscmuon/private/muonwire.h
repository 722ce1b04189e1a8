/*
   Messages of the Muon family as bytes: packets that hold messages, the codecs of positions and of values,
   and the checksum that guards them.

   Pure C, without PETSc, without MPI and without allocation: the caller gives the buffers. README.md
   beside this file is the format, exactly enough for a second implementation. All bytes are little-endian and
   written one by one, so that no struct, alignment or byte order leaks into a message.
*/
#pragma once

#include <petscmuon/private/muonexport.h>
#include <stddef.h>
#include <stdint.h>

MUON_C_BEGIN

enum {
  MUON_WIRE_PACKET_HEADER       = 36, /* bytes before the first message of a packet */
  MUON_WIRE_MESSAGE_HEADER_MOST = 25  /* bytes before the payload of a message, at most: MuonWireMessageHeaderBytes() */
};

/* What a decoder answers; it never aborts and it trusts no length that came with the bytes */
typedef enum {
  MUON_WIRE_OK      = 0,
  MUON_WIRE_CORRUPT = 1
} MuonWireResult;

/* How the entries of a matrix became a payload */
typedef enum {
  MUON_WIRE_DENSE        = 0,  /* every entry, by rows */
  MUON_WIRE_SPARSE       = 1,  /* positions of the kept entries (row-major, increasing), then their values in the same order */
  MUON_WIRE_LOWRANK      = 2,  /* count columns of P (rows x count), then of Q (columns x count), a section of values each: the matrix is P Q^T */
  MUON_WIRE_SIGNS        = 3,  /* one bit an entry in row-major order, 1 where it is not negative, then the magnitude that all share */
  MUON_WIRE_TRIPLES      = 4,  /* count magnitudes s, then P and Q as above: the matrix is P diag(s) Q^T */
  MUON_WIRE_PERROW       = 5,  /* one entry in each of count rows: their positions where rows are missing, place and sign of each entry, the magnitude that all share */
  MUON_WIRE_PERCOLUMN    = 6,  /* one entry in each of count columns, likewise */
  MUON_WIRE_COLUMNS      = 7,  /* positions of count columns, then their magnitudes, then their entries by columns: a column is its entries times its magnitude */
  MUON_WIRE_SEEDED       = 8,  /* the seed of the positions, then the values of the kept entries in increasing order of these */
  MUON_WIRE_WHOLECOLUMNS = 9,  /* positions of count columns, then their entries by columns */
  MUON_WIRE_WHOLEROWS    = 10, /* positions of count rows, then their entries by rows */
  MUON_WIRE_BLOCKS       = 11, /* blocks of entries in row-major order: a level and a sign for each entry, then a scale for each block */
  MUON_WIRE_GROUP        = 12, /* the whole messages of the count parts of a layer, end to end; these are of other kinds */
  MUON_WIRE_VOTES        = 13  /* a number of as many bits as the parameter says for each entry: planes of one bit an entry, the lowest digit first */
} MuonWireKind;

typedef enum {
  MUON_WIRE_INDICES_NONE   = 0,
  MUON_WIRE_INDICES_BITMAP = 1, /* one bit an entry, LSB first, zero padding */
  MUON_WIRE_INDICES_RAW    = 2, /* bytes an index: the fewest that hold the last entry's number */
  MUON_WIRE_INDICES_GAPS   = 3, /* chunks of Golomb codes: what MuonWireMessageCode() makes of the two above */
  MUON_WIRE_INDICES_CODED  = 4  /* of blocks, which have no positions: their entries in chunks of an entropy coder */
} MuonWireIndices;

typedef enum {
  MUON_WIRE_VALUES_DOUBLE  = 0,
  MUON_WIRE_VALUES_SINGLE  = 1,
  MUON_WIRE_VALUES_BF16    = 2,
  MUON_WIRE_VALUES_NATURAL = 3, /* sign and binary32 exponent: 9 bits, LSB first, zero padding */
  MUON_WIRE_VALUES_CODED   = 4, /* the same in chunks of an entropy coder: what MuonWireMessageCode() makes of them */
  MUON_WIRE_VALUES_TWOBIT  = 5  /* of sparse messages: 64 at a time two magnitudes in bf16, then a sign and which of the two for each */
} MuonWireValues;

/* A packet is all that one sender says to one receiver in one step */
typedef struct {
  uint32_t sender;
  uint32_t direction; /* 0 from a worker, 1 from a server */
  uint32_t status;    /* 0, or why the sender has nothing to say this step: then there are no messages */
  uint32_t messages;
  uint64_t step;
  uint64_t bytes; /* of the messages, their headers included */
} MuonWirePacket;

/* A message is what a packet says of one layer */
typedef struct {
  uint32_t layer; /* hash of the layer's name */
  uint8_t  kind, indices, values;
  uint8_t  parameter; /* blocks: MuonWireBlocksParameter(); votes: planes, 1 to 32; else 0 */
  uint64_t count;     /* entries (votes), or 0 for a zero matrix (dense, signs, blocks), kept entries (sparse, seeded), rank (lowrank, triples), rows or columns that have entries (the others) */
  uint64_t bytes;     /* of the payload */
} MuonWireMessage;

/* CRC-32C of what crc covers and of data behind it; 0 covers nothing */
MUON_EXPORT uint32_t MuonWireCRC32C(uint32_t crc, const unsigned char *data, size_t bytes);

/*
   packet holds MUON_WIRE_PACKET_HEADER bytes, then bytes of messages that are in place already: writes the
   header with the checksum
*/
MUON_EXPORT void MuonWirePacketFinalize(unsigned char *packet, const MuonWirePacket *header);
/*
   The packet as it came, length bytes of it and no more; expected gives sender, direction and step. Checks
   everything but the messages' contents: that there are header->messages of them, end to end
*/
MUON_EXPORT MuonWireResult MuonWirePacketOpen(const unsigned char *packet, size_t length, const MuonWirePacket *expected, MuonWirePacket *header);

/*
   Bytes of a header, which follow from its fields, and of the whole message. Write writes the header and
   returns how many bytes it has
*/
MUON_EXPORT unsigned MuonWireMessageHeaderBytes(const MuonWireMessage *header);
MUON_EXPORT uint64_t MuonWireMessageBytes(const MuonWireMessage *header);
MUON_EXPORT unsigned MuonWireMessageWrite(unsigned char *to, const MuonWireMessage *header);
/*
   The message at the start of bytes[0..length): header and payload must lie inside. Codecs and count are not
   looked at
*/
MUON_EXPORT MuonWireResult MuonWireMessageRead(const unsigned char *bytes, size_t length, MuonWireMessage *header);

/*
   Sizes. indices == the smaller of bitmap and raw for count of entries kept
*/
MUON_EXPORT MuonWireIndices MuonWireChooseIndices(uint64_t entries, uint64_t count);
/*
   the codec of the positions of an uncompressed message of that kind and count, NONE where it has none: no other is
   accepted
*/
MUON_EXPORT MuonWireIndices MuonWireKindIndices(MuonWireKind kind, uint64_t rows, uint64_t columns, uint64_t count);
MUON_EXPORT uint64_t        MuonWireIndicesBytes(MuonWireIndices indices, uint64_t entries, uint64_t count);
MUON_EXPORT uint64_t        MuonWireValuesBytes(MuonWireValues values, uint64_t count);

/*
   Blocks of 2^lengthlog entries (4 to 16) with bits (2 to 8) an entry as the parameter of a message, and
   back; 0 where the numbers are not these
*/
MUON_EXPORT uint8_t        MuonWireBlocksParameter(unsigned bits, unsigned lengthlog);
MUON_EXPORT MuonWireResult MuonWireBlocksOfParameter(uint8_t parameter, unsigned *bits, unsigned *lengthlog);
/* Whether MuonWireMessageCode() can make uncompressed messages of that kind and those values shorter */
MUON_EXPORT int MuonWireKindIsCoded(MuonWireKind kind, MuonWireValues values);

/*
   The sections of a payload, in their order: positions (or the bytes of a seed) at 0, entries, up to three
   sections of values; MUON_WIRE_CORRUPT where no such message exists (count too large, unknown codec, overflow). magnitudes: how many values at the front must be positive,
   scales: not negative
*/
typedef struct {
  uint64_t numbered, positions, seed;            /* what the positions number, and how many there are; or the bytes of a seed */
  uint64_t length, entries, entriesat;           /* places in a line, how many codes, where they begin */
  unsigned width;                                /* bits of such a code */
  uint64_t planes;                               /* how many sections of entries there are, end to end: 1 but in votes */
  uint64_t values, magnitudes, scales, valuesat; /* of all sections of values together */
  unsigned sections;
  uint64_t section[3], sectionat[3]; /* how many values, where they begin */
  uint64_t bytes;
} MuonWireLayout;
MUON_EXPORT MuonWireResult MuonWireMessageLayout(const MuonWireMessage *header, uint64_t rows, uint64_t columns, MuonWireLayout *layout);

/*
   Positions: bitmap has one bit an entry (LSB first, zero padding), count of them set, and is the form in
   which a caller holds a selection. Validate is a full check: exactly count positions, increasing, below
   entries, padding zero
*/
MUON_EXPORT void           MuonWireIndicesEncode(MuonWireIndices indices, uint64_t entries, uint64_t count, const unsigned char *bitmap, unsigned char *to);
MUON_EXPORT MuonWireResult MuonWireIndicesValidate(MuonWireIndices indices, uint64_t entries, uint64_t count, const unsigned char *from);

/* Walks the positions of a validated section in increasing order */
typedef struct {
  const unsigned char *from;
  uint64_t             entries, count, next, word;
  unsigned             width;
  MuonWireIndices      indices;
} MuonWireIndexReader;
MUON_EXPORT void     MuonWireIndexReaderInit(MuonWireIndexReader *reader, MuonWireIndices indices, uint64_t entries, uint64_t count, const unsigned char *from);
MUON_EXPORT uint64_t MuonWireIndexReaderNext(MuonWireIndexReader *reader); /* entries where no position is left */

/*
   Codes: numbers of width bits, end to end; in memory each has size bytes, 1, 2 or 8. Decode begins with code
   number first, a multiple of 8. Entries, one in each of count lines of length places, are codes 2 place + s with
   s = 1 for a negative one, of EntryWidth bits. Validate checks that places exist
*/
MUON_EXPORT uint64_t       MuonWireCodesBytes(unsigned width, uint64_t count);
MUON_EXPORT void           MuonWireCodesEncode(unsigned width, unsigned size, uint64_t count, const void *codes, unsigned char *to);
MUON_EXPORT void           MuonWireCodesDecode(unsigned width, unsigned size, uint64_t count, const unsigned char *from, uint64_t first, void *codes);
MUON_EXPORT unsigned       MuonWireEntryWidth(uint64_t length);
MUON_EXPORT MuonWireResult MuonWireEntriesValidate(uint64_t length, uint64_t count, const unsigned char *from);

/*
   Values, those of a section from number first on. In memory they are binary64, binary32 for single and bf16,
   which must be numbers that bf16 has, for two bits, which Encode rounds them to, or natural codes of 16 bits: sign << 8 | exponent,
   exponent 0 is zero and 255 does not occur. first is a multiple of 8 for natural values and of 64 for those of two bits. Validate refuses
   NaN, Inf, code 255 and negative magnitudes
*/
MUON_EXPORT void           MuonWireValuesEncode(MuonWireValues values, uint64_t count, const void *x, unsigned char *to);
MUON_EXPORT void           MuonWireValuesDecode(MuonWireValues values, uint64_t count, const unsigned char *from, uint64_t first, void *x);
MUON_EXPORT MuonWireResult MuonWireValuesValidate(MuonWireValues values, uint64_t count, const unsigned char *from);
MUON_EXPORT MuonWireResult MuonWireValuesAreMagnitudes(MuonWireValues values, int zero, uint64_t count, const unsigned char *from); /* the first count values of a section that is valid: positive, or 0 where zero is true */

/*
   Messages are made and used in uncompressed codecs, whose sizes follow from the header. Code writes an uncompressed
   message that is valid in the codecs that take the fewest bytes, GAPS and CODED among them, and returns its
   length, at most that of the uncompressed one; to has as many bytes. Expand is its inverse and a full
   check against the layer that the receiver knows: header, sizes, positions and values. What it accepts can be
   decoded without further checks. *plain is bytes where these are uncompressed already and buffer may be NULL, else
   buffer, which holds capacity bytes. header is that of the uncompressed message. Uncompressed gives it for a header
   that came, and its sections; MUON_WIRE_CORRUPT as above.
*/
MUON_EXPORT int            MuonWireMessageIsUncompressed(const MuonWireMessage *header);
MUON_EXPORT uint64_t       MuonWireMessageCode(const unsigned char *plain, uint64_t rows, uint64_t columns, unsigned char *to);
MUON_EXPORT MuonWireResult MuonWireMessageUncompressed(const MuonWireMessage *header, uint64_t rows, uint64_t columns, MuonWireMessage *plain, MuonWireLayout *layout);
MUON_EXPORT MuonWireResult MuonWireMessageExpand(const unsigned char *bytes, size_t length, uint32_t layer, uint64_t rows, uint64_t columns, size_t capacity, unsigned char *buffer, const unsigned char **plain, MuonWireMessage *header);

/*
   The sections of these codecs, from and to the uncompressed ones. Encode returns the bytes, or MUON_WIRE_TOO_LONG
   where they are more than limit, and then has written no more than limit. Coded has codes of width bits,
   packed: 9 are natural ones, 2 to 8 those of blocks. Decode trusts nothing, reads at most room bytes and
   sets *used to how many the section has; natural codes that come out are values. They have no
   memory but the stack, up to 112 kB of it
*/
#define MUON_WIRE_TOO_LONG UINT64_MAX
MUON_EXPORT uint64_t       MuonWireGapsEncode(MuonWireIndices indices, uint64_t entries, uint64_t count, const unsigned char *from, uint64_t limit, unsigned char *to);
MUON_EXPORT MuonWireResult MuonWireGapsDecode(uint64_t entries, uint64_t count, const unsigned char *from, uint64_t room, uint64_t *used, MuonWireIndices indices, unsigned char *to);
MUON_EXPORT uint64_t       MuonWireCodedEncode(unsigned width, uint64_t count, const unsigned char *from, uint64_t limit, unsigned char *to);
MUON_EXPORT MuonWireResult MuonWireCodedDecode(unsigned width, uint64_t count, const unsigned char *from, uint64_t room, uint64_t *used, unsigned char *to);

/*
   Groups: the messages of the parts into which a layer is cut, each with its own header, as the payload of
   one message. Close takes count of them that stand, bytes long together, at to +
   MUON_WIRE_MESSAGE_HEADER_MOST, makes them the group at to and returns its length. Open takes length bytes
   and no more and checks the header, and that the headers of count messages lead from one to the next and to
   the end. What they hold is not looked at: each is to be validated against its part. Next gives them one
   after the other; there is one more as long as count of them were not taken.
*/
typedef struct {
  const unsigned char *from;
  size_t               rest;
} MuonWireGroup;
MUON_EXPORT uint64_t             MuonWireGroupClose(uint32_t layer, uint64_t count, uint64_t bytes, unsigned char *to);
MUON_EXPORT MuonWireResult       MuonWireGroupOpen(const unsigned char *bytes, size_t length, uint32_t layer, uint64_t count, MuonWireGroup *group);
MUON_EXPORT const unsigned char *MuonWireGroupNext(MuonWireGroup *group, size_t *length);

MUON_C_END
