/* A compressor that the library does not have: a half of every entry, or another part, as it is */
#include <petscmuon/private/muoncompressorcodec.h>
#include "extend.h"

typedef struct {
  PetscReal factor;
} Halve;

static const MuonParameter HalveParameters[] = {{"halve_factor", MUON_PARAMETER_REAL, offsetof(Halve, factor), 0.5, 0, 1, NULL, MUON_PARAMETER_DATA | MUON_PARAMETER_ABOVE, "What every entry is multiplied with"},
                                                {NULL, MUON_PARAMETER_INT, 0, 0, 0, 0, NULL, 0, NULL}};

static PetscErrorCode MuonCompressorLayout_Halve(MuonCompressor c, const MuonArray *shape, MuonCompressorLayout *layout)
{
  PetscFunctionBegin;
  layout->header.kind   = MUON_WIRE_DENSE;
  layout->header.values = (uint8_t)MuonCompressorCodec_Private(c, shape);
  layout->header.count  = MuonArrayEntries(shape);
  layout->exact         = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorEncode_Halve(MuonCompressor c, const MuonArray *T, const MuonArray *R, MuonCompressorLayout *layout, unsigned char payload[])
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorDenseEncode_Private(c, (MuonWireValues)layout->header.values, MUON_COMPRESSOR_ROUND_NEAREST, (double)((Halve *)c->data)->factor, T, R, payload));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDecode_Halve(MuonCompressor c, const MuonCompressorLayout *layout, const unsigned char payload[], PetscBool add, double scale, const MuonArray *Y)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorDenseDecode_Private(c, (MuonWireValues)layout->header.values, payload, add, scale, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorAlpha_Halve(MuonCompressor c, const MuonArray *shape, PetscReal *alpha)
{
  PetscFunctionBegin;
  *alpha = 1 - PetscSqr(1 - ((Halve *)c->data)->factor);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorCreate_Halve(MuonCompressor c)
{
  Halve *halve;

  PetscFunctionBegin;
  PetscCall(PetscNew(&halve));
  c->data        = halve;
  c->keys        = "values";
  c->ops->layout = MuonCompressorLayout_Halve;
  c->ops->encode = MuonCompressorEncode_Halve;
  c->ops->decode = MuonCompressorDecode_Halve;
  c->ops->alpha  = MuonCompressorAlpha_Halve;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorRegister_Halve(void)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorRegister("halve", MuonCompressorCreate_Halve, HalveParameters));
  PetscFunctionReturn(PETSC_SUCCESS);
}
