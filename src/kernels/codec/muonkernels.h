/*
   Arithmetic that does not depend on the precision of an array: bits, sizes, the counter-based random
   numbers.

   Raw pointers, no PETSc, no MPI. The kernels of arrays are in petscmuon/private/muonarray.h.
*/
#pragma once

#include <petscmuon/private/muonarray.h>

MUON_C_BEGIN

/* How many of the bits first ... first + count - 1 are set, first a multiple of 64 */
size_t MuonKernelCountBits(const unsigned char *bitmap, size_t first, size_t count);

/*
   bitmap (LSB first, zero padding) of the count longest of some vectors, the lowest numbers first among equals;
   scratch holds a pointer for each vector
*/
void MuonKernelSelectVectors(size_t vectors, const MuonKernelLength *lengths, size_t count, unsigned char *bitmap, const MuonKernelLength **scratch);

/*
   bitmap (LSB first, zero padding) of count entries, which follow from these three numbers alone, as
   src/wire/README.md says: seeds that are random make all sets of so many equally likely. count <= entries <
   2^56
*/
void MuonKernelSubset(size_t entries, size_t count, uint64_t seed, unsigned char *bitmap);

/*
   Majority votes. The bits of a voter are a plane, LSB first with zero padding: 1 for a vote of plus, 0 for
   minus. Counts of ones have MuonKernelVotePlanes() planes, one behind the other, of ceil(entries / 8) bytes
   each, the lowest digit first: those of one voter are its bits. Vote gives the bits of the majority and, in
   ties where that is not NULL, which entries are tied; sumabs, where it is not NULL, is the sum of |votes for
   plus - votes for minus|. At a tie the bit is 1, but 0 with MUON_KERNEL_TIE_MINUS. There is at least one
   voter, and padding does not vote

   Vote             of the planes of so many voters, or of their counts where these are not NULL
   VoteSummed       of the sums of the signs +1 and -1, in integers of size 1 or 2 bytes
   VoteAdd          counts of two groups of voters together; to is none of them
   VoteSpread       the signs +1 and -1 of bits, in such integers; where coin is not NULL, twice the sign where its bit is 0, and 0 where it is 1
   CopyBits         count bits from bit at on to bit where on; the bits before that stay, what is behind the last one in its byte becomes 0
*/
typedef enum {
  MUON_KERNEL_TIE_PLUS,
  MUON_KERNEL_TIE_MINUS
} MuonKernelTie;
unsigned MuonKernelVotePlanes(size_t voters);
void     MuonKernelVote(size_t entries, size_t voters, const unsigned char *const bits[], const unsigned char *counted, MuonKernelTie tie, unsigned char *vote, unsigned char *ties, uint64_t *sumabs);
void     MuonKernelVoteSummed(size_t entries, unsigned size, const void *sums, MuonKernelTie tie, unsigned char *vote, unsigned char *ties, uint64_t *sumabs);
void     MuonKernelVoteAdd(size_t entries, size_t votersa, const unsigned char *a, size_t votersb, const unsigned char *b, unsigned char *to);
void     MuonKernelVoteSpread(size_t entries, const unsigned char *bits, const unsigned char *coin, unsigned size, void *signs);
void     MuonKernelCopyBits(size_t count, const unsigned char *from, size_t at, unsigned char *to, size_t where);

/* Random bits first ... first + count - 1, copied as by CopyBits: bit e is bit e % 32 of the stream's word e / 32 */
void MuonKernelStreamBits(const MuonKernelStream *stream, uint64_t first, size_t count, unsigned char *bits, size_t where);

/*
   Natural codes, as the kernel Natural makes them, for the entries in the bitmap only, whose values are
   without gaps and rounded to binary32. Returns 0, or 1 where a value is not finite
*/
int MuonKernelNaturalKept(size_t entries, const float *values, const unsigned char *bitmap, const MuonKernelStream *stream, uint16_t *codes);

MUON_C_END
