/*
   Loops of the codecs for processors with vectors of 512 bits. They write the same bytes as the C99 loops, and return the same
   result for bytes that are not a message. The caller checks MuonWireIsWide() first, and otherwise uses the C99 loops.
*/
#pragma once

#include "muonwirebits.h"

#if defined(__GNUC__) && defined(__x86_64__)
  #define MUON_WIRE_HAVE_WIDE 1
#endif

/* Lanes of a long chunk of entropy-coded codes: two vectors of states */
#define MUON_WIRE_WIDE 32u
/* Entries of a table that is held in vectors */
#define MUON_WIRE_WIDE_CODES 64u

MUON_C_BEGIN

/* Whether this processor can run these functions; tests switch them off and on */
int  MuonWireIsWide(void);
void MuonWireSetWide(int wide);

/*
   The table of an encoder. For each code it has the range, start << 16 | frequency, and the smaller of 2^32 - 1 and
   floor(2^(31 + bits of the frequency) / frequency). The place of a code is the value of its bits 0 to 7 minus base, at least
   0, plus 32 if bit 8 is set
*/
typedef struct {
  unsigned precision, base;
  uint32_t range[MUON_WIRE_WIDE_CODES], inverse[MUON_WIRE_WIDE_CODES];
} MuonWireWideTable;

#if defined(MUON_WIRE_HAVE_WIDE)
/* Convert groups of 32 codes of width <= 9 bits, with 16 bits for each code, to 4 width bytes, and back */
void MuonWirePackWide(unsigned width, uint64_t groups, const uint16_t *codes, unsigned char *to);
void MuonWireUnpackWide(unsigned width, uint64_t groups, const unsigned char *from, uint16_t *codes);
/* Encodes groups, the last one first, and writes the words before words + left. Returns the rest of left, at least 0 if left was 64 for each group */
int32_t MuonWirePutWide(const MuonWireWideTable *table, unsigned groups, const uint16_t *codes, uint32_t *state, unsigned char *words, int32_t left);
/*
   The inverse, for frequencies of sum 2^12. A slot is frequency - 1 | place in the range << 12 | bits 0 to 7 of the code << 24. Slots from
   high on belong to codes with bit 8 set. There must be 64 bytes for each group. Returns the end of the words that were used
*/
const unsigned char *MuonWireGetWide(const uint32_t *slots, uint32_t high, unsigned groups, uint32_t *state, const unsigned char *at, uint16_t *codes);
/* Counts the set bits of each group of each words, of length words. Returns the sum */
unsigned MuonWireCountsWide(const uint64_t *words, unsigned length, unsigned each, unsigned counts[]);
/* Writes the gaps between the set bits of words ^ flip below length as codes, up to the end of the writer */
void MuonWireGapsWide(const MuonWireGolomb *code, uint64_t flip, const uint64_t *words, unsigned length, MuonWireWriter *to);
#endif

MUON_C_END
