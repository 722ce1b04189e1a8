#include <petscmuon/private/muoncompressorcodec.h>

static const MuonCompressorDense dense = {MUON_WIRE_VALUES_NATURAL, MUON_COMPRESSOR_ROUND_NEAREST, "sign and nearest power of two, in at most 9 bits"};

/*
   In units of the power below: with u = 2^-24 everything from 3/2 - u on is rounded to 3/2 in binary32, and
   from there to 2
*/
static PetscErrorCode MuonCompressorAlpha_Nearest(MuonCompressor c, const MuonArray *shape, PetscReal *alpha)
{
  double u, variance, error;

  PetscFunctionBegin;
  PetscCall(MuonCompressorCodecErrors_Private(MUON_WIRE_VALUES_NATURAL, shape->precision, &u, &variance));
  error  = (0.5 + u) / (1.5 - u);
  *alpha = MuonCompressorRoundDown_Private(1.0 - error * error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MUONCOMPRESSORNEAREST - Rounds every entry to the nearest power of two

   Level: intermediate

   Notes:
   An entry is rounded to binary32, then to the power of two that is nearest, the larger one from the middle,
   1.5 2^a, on. The error of an entry is at most a third of it, but for the rounding to binary32, which gives
   the constant of contraction 8/9, less 6e-8 where entries are doubles, in the Frobenius norm and in every
   norm of the entries that looks at their absolute values alone. It is biased: `MUONCOMPRESSORNATURAL` is
   not, at a constant of 7/8.

   Zero stays zero and what is subnormal in binary32 becomes zero. The largest magnitude is 2^127: for entries
   of 1.5 2^127 and more the constant does not hold. An entry takes at most 9 bits, fewer where some powers
   are frequent.

   `-compressor_ratio`, `-compressor_rank`, `-compressor_values` and `-compressor_bits` have no meaning for
   this type.

   Reference:
   A. Beznosikov, S. Horvath, P. Richtarik, M. Safaryan, On Biased Compression for Distributed Learning,
   https://arxiv.org/abs/2002.12410

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MUONCOMPRESSORTRUNCATED`, `MUONCOMPRESSORNATURAL`, `MUONCOMPRESSORBF16`
M*/
PETSC_INTERN PetscErrorCode MuonCompressorCreate_Nearest(MuonCompressor c)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorSetDense_Private(c, &dense));
  c->ops->alpha = MuonCompressorAlpha_Nearest;
  PetscFunctionReturn(PETSC_SUCCESS);
}
