#include <petscmuon/private/muoncompressorcodec.h>

static const MuonCompressorDense dense = {MUON_WIRE_VALUES_NATURAL, MUON_COMPRESSOR_ROUND_DOWN, "sign and the largest power of two that is not above it, in at most 9 bits"};

/*
   What is rounded to a power of two in binary32 has that small error alone; everything else is less than
   twice the power that is left, as a double too
*/
static PetscErrorCode MuonCompressorAlpha_Truncated(MuonCompressor c, const MuonArray *shape, PetscReal *alpha)
{
  PetscFunctionBegin;
  *alpha = 3.0 / 4.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MUONCOMPRESSORTRUNCATED - Drops the mantissa of every entry

   Level: intermediate

   Notes:
   An entry is rounded to binary32, then its mantissa is dropped: what is left is the largest power of two
   that is not above it. The error of an entry is less than a half of it, which gives the constant of
   contraction 3/4, in the Frobenius norm and in every norm of the entries that looks at their absolute values
   alone. No binary32 grows; a double that is rounded up to a power of two in binary32 does, by 2^-24 of it at
   most.

   Zero stays zero and what is subnormal in binary32 becomes zero. An entry takes at most 9 bits, fewer where
   some powers are frequent.

   `-compressor_ratio`, `-compressor_rank`, `-compressor_values` and `-compressor_bits` have no meaning for
   this type.

   Reference:
   A. Beznosikov, S. Horvath, P. Richtarik, M. Safaryan, On Biased Compression for Distributed Learning,
   https://arxiv.org/abs/2002.12410

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MUONCOMPRESSORNEAREST`, `MUONCOMPRESSORNATURAL`, `MUONCOMPRESSORBF16`
M*/
PETSC_INTERN PetscErrorCode MuonCompressorCreate_Truncated(MuonCompressor c)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorSetDense_Private(c, &dense));
  c->ops->alpha = MuonCompressorAlpha_Truncated;
  PetscFunctionReturn(PETSC_SUCCESS);
}
