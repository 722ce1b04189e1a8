#include <petscmuon/private/muoncompressorcodec.h>

static PetscErrorCode MuonCompressorLayout_Dropout(MuonCompressor c, const MuonArray *shape, MuonCompressorLayout *layout)
{
  PetscFunctionBegin;
  MuonCompressorWholeLayout_Private(shape, MUON_WIRE_DENSE, MuonCompressorCodec_Private(c->values, shape), layout);
  layout->exact  = PETSC_FALSE;
  layout->chance = c->ratio;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorEncode_Dropout(MuonCompressor c, const MuonArray *T, const MuonArray *R, PetscInt64 *count, unsigned char payload[])
{
  uint32_t word;

  PetscFunctionBegin;
  *count = 0;
  /*
     The coin, a number below 2^32, compared exactly: with probability 1 everything is sent. What cannot be
     written is told whether it is sent or not
  */
  PetscCall(MuonCompressorCoin_Private(c, &word));
  if ((double)word >= 4294967296.0 * (double)c->ratio) {
    PetscCall(MuonCompressorDenseFits_Private(c, MuonCompressorCodec_Private(c->values, T), T, R));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *count = (PetscInt64)MuonArrayEntries(T);
  PetscCall(MuonCompressorDenseEncode_Private(c, MuonCompressorCodec_Private(c->values, T), MUON_COMPRESSOR_ROUND_RANDOM, 1.0, T, R, payload));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDecode_Dropout(MuonCompressor c, PetscInt64 count, const unsigned char payload[], PetscBool add, double scale, const MuonArray *Y)
{
  PetscFunctionBegin;
  if (count > 0) PetscCall(MuonCompressorDenseDecode_Private(c, MuonCompressorCodec_Private(c->values, Y), payload, add, scale, Y));
  else if (add == PETSC_FALSE) PetscCall(MuonArrayZero(Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorAlpha_Dropout(MuonCompressor c, const MuonArray *shape, PetscReal *alpha)
{
  PetscFunctionBegin;
  *alpha = MuonCompressorRoundDown_Private((double)c->ratio * (double)MuonCompressorCodecAlpha_Private(MuonCompressorCodec_Private(c->values, shape), shape->precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorView_Dropout(MuonCompressor c, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "ratio: everything with probability %g, else nothing, values: %s; seed %" PetscInt64_FMT "; rank and bits have no meaning for this type\n", (double)c->ratio, MuonCompressorValuesTypes[c->values], c->seed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MUONCOMPRESSORDROPOUT - Sends the whole matrix with some probability, and else nothing

   Options Database Keys:
+  -compressor_ratio p                                    - the probability, in (0, 1]
-  -compressor_values (native|double|single|bf16|natural) - how the entries are written

   Level: intermediate

   Notes:
   A message holds T - R as it is, not divided by p, or is a header alone. In expectation the squared error is
   1 - p of the square, in every norm: p, rounded up to the next multiple of 2^-32, is the constant of
   contraction, exactly, times that of how values are written; `MuonCompressorGetAlpha()` gives p.

   The coin is one 32-bit random number of the object's own, word 0 of the block 2^32 - 1 that no entry has,
   see `MuonCompressorSetStream()`: the matrix is sent where the number is below p 2^32. Layers, senders,
   directions and steps throw independently, and any rank can know how a coin fell. With probability 1
   everything is sent.

   An entry that is not finite, or too large for how values are written, makes the message fail, whether or
   not it is sent.

   The paper's accounting counts p times the matrix, whatever becomes of it. `-compressor_rank` and
   `-compressor_bits` have no meaning for this type.

   Reference:
   K. Gruntkowska, A. Gaponov, Z. Tovmasyan, P. Richtarik, Error Feedback for Muon and Friends,
   https://arxiv.org/abs/2510.00643

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MuonCompressorSetRatio()`, `MuonCompressorSetValues()`, `MuonCompressorSetStream()`, `MUONCOMPRESSORDAMPING`
M*/
PETSC_INTERN PetscErrorCode MuonCompressorCreate_Dropout(MuonCompressor c)
{
  PetscFunctionBegin;
  c->ondevice      = PETSC_TRUE;
  c->ops->layout   = MuonCompressorLayout_Dropout;
  c->ops->encode   = MuonCompressorEncode_Dropout;
  c->ops->decode   = MuonCompressorDecode_Dropout;
  c->ops->alpha    = MuonCompressorAlpha_Dropout;
  c->ops->view     = MuonCompressorView_Dropout;
  c->ops->describe = MuonCompressorDescribe_Ratio;
  PetscFunctionReturn(PETSC_SUCCESS);
}
