#include <petscmuon/private/muoncompressorcodec.h>

static PetscErrorCode MuonCompressorLayout_Damping(MuonCompressor c, const MuonArray *shape, MuonCompressorLayout *layout)
{
  PetscFunctionBegin;
  MuonCompressorWholeLayout_Private(shape, MUON_WIRE_DENSE, MuonCompressorCodec_Private(c->values, shape), layout);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorEncode_Damping(MuonCompressor c, const MuonArray *T, const MuonArray *R, PetscInt64 *count, unsigned char payload[])
{
  PetscFunctionBegin;
  *count = (PetscInt64)MuonArrayEntries(T);
  PetscCall(MuonCompressorDenseEncode_Private(c, MuonCompressorCodec_Private(c->values, T), MUON_COMPRESSOR_ROUND_RANDOM, (double)c->ratio, T, R, payload));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDecode_Damping(MuonCompressor c, PetscInt64 count, const unsigned char payload[], PetscBool add, double scale, const MuonArray *Y)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorDenseDecode_Private(c, MuonCompressorCodec_Private(c->values, Y), payload, add, scale, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What is left out and the rounding of the rest, which is that of r x and that to the codec: at most (1 - r)
   + u r, and what is drawn from there is not correlated to it
*/
static PetscErrorCode MuonCompressorAlpha_Damping(MuonCompressor c, const MuonArray *shape, PetscReal *alpha)
{
  const double r = (double)c->ratio;
  double       u, variance;

  PetscFunctionBegin;
  PetscCall(MuonCompressorCodecErrors_Private(MuonCompressorCodec_Private(c->values, shape), shape->precision, &u, &variance));
  if (r < 1.0) u += 2.0 * MuonArrayKernels(shape)->unit;
  *alpha = MuonCompressorRoundDown_Private(1.0 - variance * PetscSqr((1.0 + u) * r) - PetscSqr(1.0 - r + u * r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorView_Damping(MuonCompressor c, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "ratio: %g times every entry, values: %s; rank and bits have no meaning for this type\n", (double)c->ratio, MuonCompressorValuesTypes[c->values]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MUONCOMPRESSORDAMPING - Sends a multiple of the matrix

   Options Database Keys:
+  -compressor_ratio r                                    - the factor, in (0, 1]
-  -compressor_values (native|double|single|bf16|natural) - how the entries are written

   Level: intermediate

   Notes:
   The message is r (T - R), every entry of it in the width that the values have. It saves nothing beyond that
   width: it is the simplest operator that contracts in every norm, by 1 - (1 - r)^2, and stands in where a
   theory asks for that, such as the servers' messages under the spectral norm.

   The constant of contraction in the Frobenius norm includes the rounding: 1 - (1 - r)^2 - r^2 / 8 with
   natural values, 1 - (1 - r + u r)^2 where values are rounded to nearest with relative errors of at most u,
   the rounding of r times an entry included.

   `-compressor_rank` and `-compressor_bits` have no meaning for this type.

   Reference:
   K. Gruntkowska, A. Gaponov, Z. Tovmasyan, P. Richtarik, Error Feedback for Muon and Friends,
   https://arxiv.org/abs/2510.00643

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MuonCompressorSetRatio()`, `MuonCompressorSetValues()`, `MUONCOMPRESSORDROPOUT`, `MUONCOMPRESSORIDENTITY`
M*/
PETSC_INTERN PetscErrorCode MuonCompressorCreate_Damping(MuonCompressor c)
{
  PetscFunctionBegin;
  c->ondevice      = PETSC_TRUE;
  c->ops->layout   = MuonCompressorLayout_Damping;
  c->ops->encode   = MuonCompressorEncode_Damping;
  c->ops->decode   = MuonCompressorDecode_Damping;
  c->ops->alpha    = MuonCompressorAlpha_Damping;
  c->ops->view     = MuonCompressorView_Damping;
  c->ops->describe = MuonCompressorDescribe_Ratio;
  PetscFunctionReturn(PETSC_SUCCESS);
}
