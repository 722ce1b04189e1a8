#include <petscmuon/private/muoncompressorcodec.h>

typedef struct {
  MuonCompressorValues values; /* native, except in the first message of EF21 where the paper counts single */
} MuonCompressor_Identity;

static MuonWireValues MuonCompressorIdentityCodec_Private(MuonCompressor c, const MuonArray *A)
{
  return MuonCompressorCodec_Private(((MuonCompressor_Identity *)c->data)->values, A);
}

static PetscErrorCode MuonCompressorLayout_Identity(MuonCompressor c, const MuonArray *shape, MuonCompressorLayout *layout)
{
  PetscFunctionBegin;
  MuonCompressorWholeLayout_Private(shape, MUON_WIRE_DENSE, MuonCompressorIdentityCodec_Private(c, shape), layout);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In floating point R + (T - R) is not T: the message is T itself */
static PetscErrorCode MuonCompressorEncode_Identity(MuonCompressor c, const MuonArray *T, const MuonArray *R, PetscInt64 *count, unsigned char payload[])
{
  PetscFunctionBegin;
  *count = (PetscInt64)MuonArrayEntries(T);
  PetscCall(MuonCompressorDenseEncode_Private(c, MuonCompressorIdentityCodec_Private(c, T), MUON_COMPRESSOR_ROUND_RANDOM, 1.0, T, NULL, payload));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDecode_Identity(MuonCompressor c, PetscInt64 count, const unsigned char payload[], PetscBool add, double scale, const MuonArray *Y)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorDenseDecode_Private(c, MuonCompressorIdentityCodec_Private(c, Y), payload, add, scale, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorAlpha_Identity(MuonCompressor c, const MuonArray *shape, PetscReal *alpha)
{
  PetscFunctionBegin;
  *alpha = MuonCompressorCodecAlpha_Private(MuonCompressorIdentityCodec_Private(c, shape), shape->precision);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorView_Identity(MuonCompressor c, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "everything, as it is: ratio, rank, values and bits have no meaning for this type\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorIdentitySetValues_Private(MuonCompressor c, MuonCompressorValues values)
{
  PetscFunctionBegin;
  ((MuonCompressor_Identity *)c->data)->values = values;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MUONCOMPRESSORIDENTITY - Sends everything, in the precision of the matrix

   Level: beginner

   Notes:
   This is the default. With it a receiver gets a matrix and not a difference: `MuonCompressorEncode()` sends
   T whatever R is, and the receiver assigns it, so that the copies are equal to the last bit; see
   `MuonCompressorIsAssignment()`.

   `-compressor_ratio`, `-compressor_rank`, `-compressor_values` and `-compressor_bits` have no meaning for
   this type.

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MuonCompressorIsAssignment()`, `MUONCOMPRESSORNATURAL`, `MUONCOMPRESSORTOPK`, `MUONCOMPRESSORRANKK`
M*/
PETSC_INTERN PetscErrorCode MuonCompressorCreate_Identity(MuonCompressor c)
{
  MuonCompressor_Identity *identity;

  PetscFunctionBegin;
  PetscCall(PetscNew(&identity));
  identity->values = MUON_COMPRESSOR_VALUES_NATIVE;
  c->data          = identity;
  c->assignment    = PETSC_TRUE;
  c->ondevice      = PETSC_TRUE;
  c->ops->layout   = MuonCompressorLayout_Identity;
  c->ops->encode   = MuonCompressorEncode_Identity;
  c->ops->decode   = MuonCompressorDecode_Identity;
  c->ops->alpha    = MuonCompressorAlpha_Identity;
  c->ops->view     = MuonCompressorView_Identity;
  c->ops->destroy  = MuonCompressorDestroyData;
  PetscFunctionReturn(PETSC_SUCCESS);
}
