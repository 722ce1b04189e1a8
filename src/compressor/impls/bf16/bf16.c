#include <petscmuon/private/muoncompressorcodec.h>

static const MuonCompressorDense dense = {MUON_WIRE_VALUES_BF16, MUON_COMPRESSOR_ROUND_NEAREST, "bfloat16"};

/*MC
   MUONCOMPRESSORBF16 - Rounds every entry to bfloat16

   Level: intermediate

   Notes:
   An entry is rounded to binary32, and from there to the nearest number with 8 binary digits and the
   exponents of binary32, ties to even: 16 bits, with an error of at most 2^-8 of the entry. The constant of
   contraction is 1 - 2^-16, in the Frobenius norm and in every norm of the entries that looks at their
   absolute values alone. It holds for entries that are not subnormal in binary32. An entry whose bfloat16 is
   not finite makes the message fail with `MUON_STATUS_NANORINF`.

   `-compressor_ratio`, `-compressor_rank`, `-compressor_values` and `-compressor_bits` have no meaning for
   this type. Sparse and low-rank types write bfloat16 with `-compressor_values bf16`.

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MuonCompressorSetValues()`, `MUONCOMPRESSORIDENTITY`, `MUONCOMPRESSORNEAREST`, `MUONCOMPRESSORNATURAL`
M*/
PETSC_INTERN PetscErrorCode MuonCompressorCreate_BF16(MuonCompressor c)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorSetDense_Private(c, &dense));
  PetscFunctionReturn(PETSC_SUCCESS);
}
