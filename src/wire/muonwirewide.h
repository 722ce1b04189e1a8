/*
   Loops of the codecs in a form for processors with vectors of 512 bits, with the same bytes, and the same result for bytes that
   are no message. The caller checks MuonWireIsWide() first, and uses the C99 form otherwise.
*/
#pragma once

#include "muonwirebits.h"

#if defined(__GNUC__) && defined(__x86_64__)
  #define MUON_WIRE_HAVE_WIDE 1
#endif

/* Lanes of a long chunk of coded codes: two vectors of states */
#define MUON_WIRE_WIDE 32u
/* Codes that have an entry in a table of one lane of vectors */
#define MUON_WIRE_WIDE_CODES 64u

MUON_C_BEGIN

/* Whether these functions run here; tests take them away, and give them back */
int  MuonWireIsWide(void);
void MuonWireSetWide(int wide);

/*
   An encoder's table: the range of a code, start << 16 | frequency, and floor(2^(31 + bits of the frequency) / frequency), at
   most 2^32 - 1; at the place of the code in bits 0 to 7 above base (0 for those at most base), plus 32 for one with the bit
   8
*/
typedef struct {
  unsigned precision, base;
  uint32_t range[MUON_WIRE_WIDE_CODES], inverse[MUON_WIRE_WIDE_CODES];
} MuonWireWideTable;

#if defined(MUON_WIRE_HAVE_WIDE)
/* Groups of 32 codes of width <= 9 bits between 16 bits each and 4 width bytes */
void MuonWirePackWide(unsigned width, uint64_t groups, const uint16_t *codes, unsigned char *to);
void MuonWireUnpackWide(unsigned width, uint64_t groups, const unsigned char *from, uint16_t *codes);
/* The last of these groups first; writes the words that lanes shed before words + left. Returns what is left, at least 0 where it was 64 for each group */
int32_t MuonWirePutWide(const MuonWireWideTable *table, unsigned groups, const uint16_t *codes, uint32_t *state, unsigned char *words, int32_t left);
/*
   The inverse: frequencies of sum 2^12. A slot is frequency - 1, its place in the range << 12, bits 0 to 7 of the code << 24; from high on
   slots are of codes with the bit 8. There are 64 bytes for each group. Returns where the words end that were used
*/
const unsigned char *MuonWireGetWide(const uint32_t *slots, uint32_t high, unsigned groups, uint32_t *state, const unsigned char *at, uint16_t *codes);
/* How many bits are set in each so many of length words; returns the sum */
unsigned MuonWireCountsWide(const uint64_t *words, unsigned length, unsigned each, unsigned counts[]);
/* The codes of gaps of the numbers below length that words, each turned over by flip, list; until the writer is at its end */
void MuonWireGapsWide(const MuonWireGolomb *code, uint64_t flip, const uint64_t *words, unsigned length, MuonWireWriter *to);
#endif

MUON_C_END
