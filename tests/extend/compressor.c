/* A compressor that the library does not have: a half of every entry, or another part, as it is */
#include <petscmuon/private/muoncompressorcodec.h>
#include "extend.h"

typedef struct {
  PetscReal factor;
} Halve;

static PetscErrorCode MuonCompressorSetFromOptions_Halve(MuonCompressor c, MuonOptionItems PetscOptionsObject)
{
  Halve *halve = (Halve *)c->data;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "MuonCompressor halve options");
  PetscCall(PetscOptionsReal("-compressor_halve_factor", "What every entry is multiplied with", "", halve->factor, &halve->factor, NULL));
  MuonCompressorCheck(c, halve->factor > 0 && halve->factor <= 1, PETSC_ERR_ARG_OUTOFRANGE, "_halve_factor", "%g must be in (0, 1]", (double)halve->factor);
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorLayout_Halve(MuonCompressor c, const MuonArray *shape, MuonCompressorLayout *layout)
{
  PetscFunctionBegin;
  MuonCompressorWholeLayout_Private(shape, MUON_WIRE_DENSE, MuonCompressorCodec_Private(MUON_COMPRESSOR_VALUES_NATIVE, shape), layout);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorEncode_Halve(MuonCompressor c, const MuonArray *T, const MuonArray *R, PetscInt64 *count, unsigned char payload[])
{
  PetscFunctionBegin;
  *count = (PetscInt64)MuonArrayEntries(T);
  PetscCall(MuonCompressorDenseEncode_Private(c, MuonCompressorCodec_Private(MUON_COMPRESSOR_VALUES_NATIVE, T), MUON_COMPRESSOR_ROUND_NEAREST, (double)((Halve *)c->data)->factor, T, R, payload));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDecode_Halve(MuonCompressor c, PetscInt64 count, const unsigned char payload[], PetscBool add, double scale, const MuonArray *Y)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorDenseDecode_Private(c, MuonCompressorCodec_Private(MUON_COMPRESSOR_VALUES_NATIVE, Y), payload, add, scale, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorAlpha_Halve(MuonCompressor c, const MuonArray *shape, PetscReal *alpha)
{
  PetscFunctionBegin;
  *alpha = 1 - PetscSqr(1 - ((Halve *)c->data)->factor);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorCopy_Halve(MuonCompressor from, MuonCompressor to)
{
  PetscFunctionBegin;
  ((Halve *)to->data)->factor = ((Halve *)from->data)->factor;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorChoices_Halve(MuonCompressor c, size_t length, char text[])
{
  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(text, length, "-compressor_halve_factor %.17g", (double)((Halve *)c->data)->factor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDestroy_Halve(MuonCompressor c)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(c->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorCreate_Halve(MuonCompressor c)
{
  Halve *halve;

  PetscFunctionBegin;
  PetscCall(PetscNew(&halve));
  halve->factor          = (PetscReal)0.5;
  c->data                = halve;
  c->ops->setfromoptions = MuonCompressorSetFromOptions_Halve;
  c->ops->layout         = MuonCompressorLayout_Halve;
  c->ops->encode         = MuonCompressorEncode_Halve;
  c->ops->decode         = MuonCompressorDecode_Halve;
  c->ops->alpha          = MuonCompressorAlpha_Halve;
  c->ops->copy           = MuonCompressorCopy_Halve;
  c->ops->choices        = MuonCompressorChoices_Halve;
  c->ops->destroy        = MuonCompressorDestroy_Halve;
  PetscFunctionReturn(PETSC_SUCCESS);
}
