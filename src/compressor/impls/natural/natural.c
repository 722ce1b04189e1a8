#include <petscmuon/private/muoncompressorcodec.h>

static const MuonCompressorDense dense = {MUON_WIRE_VALUES_NATURAL, MUON_COMPRESSOR_ROUND_RANDOM, "sign and power of two in at most 9 bits"};

static PetscErrorCode MuonCompressorView_Natural(MuonCompressor c, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "every entry, as sign and power of two in at most 9 bits; seed %" PetscInt64_FMT "; ratio, rank, values and bits have no meaning for this type\n", c->seed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MUONCOMPRESSORNATURAL - Rounds every entry to one of the two nearest powers of two, at random and without
   bias

   Level: beginner

   Notes:
   An entry is rounded to binary32, then its mantissa is dropped or carried into the exponent with the
   probability that makes the expectation exact: an unbiased compressor with variance at most 1/8 of the
   square, contractive with constant 7/8, less 2e-8 where entries are doubles, by the rounding to binary32.
   Zero stays zero, what is subnormal in binary32 becomes zero, and the largest magnitude is 2^127. An entry
   takes at most 9 bits, 3.6 of normally distributed ones.

   The random number of an entry depends on what `MuonCompressorSetStream()` and `MuonCompressorSetStep()` set
   and on the entry's number in the order of memory: different senders and steps draw independently, and any
   rank can reproduce them.

   `-compressor_ratio`, `-compressor_rank`, `-compressor_values` and `-compressor_bits` have no meaning for
   this type. To round what `MUONCOMPRESSORTOPK` or `MUONCOMPRESSORRANKK` keep, use `-compressor_values
   natural` with them.

   Reference:
   S. Horvath, C.-Y. Ho, L. Horvath, A. N. Sahu, M. Canini, P. Richtarik, Natural Compression for Distributed
   Deep Learning, https://arxiv.org/abs/1905.10988

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MuonCompressorSetValues()`, `MuonCompressorSetStream()`, `MUONCOMPRESSORTOPK`, `MUONCOMPRESSORRANKK`
M*/
PETSC_INTERN PetscErrorCode MuonCompressorCreate_Natural(MuonCompressor c)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorSetDense_Private(c, &dense));
  c->ops->view = MuonCompressorView_Natural;
  PetscFunctionReturn(PETSC_SUCCESS);
}
