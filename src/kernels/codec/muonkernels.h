/*
   Kernels that do not depend on the precision of an array: bits, sizes, and the counter-based random numbers.

   Raw pointers, no PETSc, no MPI. The kernels of arrays are in petscmuon/private/muonarray.h.
*/
#pragma once

#include <petscmuon/private/muonarray.h>

MUON_C_BEGIN

/* The number of set bits among the bits first ... first + count - 1; first is a multiple of 64 */
size_t MuonKernelCountBits(const unsigned char *bitmap, size_t first, size_t count);

/*
   The bitmap (LSB first, zero padding) of the count longest vectors. Of vectors with equal lengths those with the lowest
   numbers are chosen. scratch has a pointer for each vector
*/
void MuonKernelSelectVectors(size_t vectors, const MuonKernelLength *lengths, size_t count, unsigned char *bitmap, const MuonKernelLength **scratch);

/*
   The bitmap (LSB first, zero padding) of count entries. They depend only on these three numbers, see src/wire/README.md.
   With random seeds all sets of count entries are equally likely. count <= entries < 2^56
*/
void MuonKernelSubset(size_t entries, size_t count, uint64_t seed, unsigned char *bitmap);

/*
   Majority votes. The bits of a voter are a plane, LSB first with zero padding: 1 is a vote for plus, 0 a vote for minus.
   Counts of ones have MuonKernelVotePlanes() planes of ceil(entries / 8) bytes, one behind the other, the lowest binary digit
   first. The counts of one voter are its bits. Vote computes the bits of the majority. If ties is not NULL, it gets a bit for
   each entry with a tie. If sumabs is not NULL, it gets the sum of |votes for plus - votes for minus|. The bit of a tie is 1,
   or 0 with MUON_KERNEL_TIE_MINUS. There is at least one voter, and padding does not vote

   Vote             from the planes of the voters, or from their counts if these are not NULL
   VoteSummed       from the sums of the signs +1 and -1, in integers of size 1 or 2 bytes
   VoteAdd          adds the counts of two groups of voters; to is neither of them
   VoteSpread       the signs +1 and -1 of bits, in such integers; if coin is not NULL, twice the sign for a bit 0 of coin, and 0 for a bit 1
   CopyBits         copies count bits from bit at on to bit where on; the bits before stay, the bits behind the last one in its byte become 0
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

/* Random bits first ... first + count - 1, stored as by CopyBits: bit e is bit e % 32 of the stream's word e / 32 */
void MuonKernelStreamBits(const MuonKernelStream *stream, uint64_t first, size_t count, unsigned char *bits, size_t where);

/*
   Natural codes, as the kernel Natural computes them, for the entries of the bitmap only. Their values are a list without
   gaps, rounded to binary32. Returns 0, or 1 if a value is not finite
*/
int MuonKernelNaturalKept(size_t entries, const float *values, const unsigned char *bitmap, const MuonKernelStream *stream, uint16_t *codes);

MUON_C_END
