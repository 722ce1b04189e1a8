#include "../../muoncompressorcodec.h"

static PetscErrorCode MuonCompressorLayout_TopK(MuonCompressor c, PetscInt m, PetscInt n, MuonCompressorLayout *layout)
{
  PetscFunctionBegin;
  layout->form   = MUON_WIRE_SPARSE;
  layout->values = MuonCompressorCodec_Private(c->values);
  layout->count  = MuonCompressorKept_Private(c->ratio, (PetscInt64)m * n);
  layout->exact  = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorEncode_TopK(MuonCompressor c, PetscInt m, PetscInt n, const PetscScalar T[], PetscInt ldt, const PetscScalar R[], PetscInt ldr, PetscInt64 *count, unsigned char payload[])
{
  const size_t         d     = (size_t)m * n;
  const PetscInt64     kept  = MuonCompressorKept_Private(c->ratio, (PetscInt64)d);
  const MuonWireValues codec = MuonCompressorCodec_Private(c->values);
  MuonWireIndices      indices;
  PetscScalar         *rows;
  unsigned char       *bitmap;
  void                *work;

  PetscFunctionBegin;
  *count = kept;
  PetscCall(PetscCitationsRegister(MuonCitationEF21, &MuonCitationEF21Set));
  PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_A, d * sizeof(PetscScalar), &rows));
  PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_B, (d + 7) / 8, &bitmap));
  PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_C, PetscMax(MuonKernelSelectScratch(d), (size_t)kept * sizeof(PetscScalar)), &work));
  MuonKernelResidualRows((size_t)m, (size_t)n, T, (size_t)ldt, R, (size_t)ldr, rows);
  if (R != NULL) PetscCall(PetscLogFlops((PetscLogDouble)d));
  if (MuonKernelSelect(d, rows, (size_t)kept, bitmap, work) != 0) {
    c->status = MUON_STATUS_NANORINF;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  indices = MuonWireChooseIndices(d, (uint64_t)kept);
  MuonWireIndicesEncode(indices, d, (uint64_t)kept, bitmap, payload);
  PetscCall(MuonCompressorKeptEncode_Private(c, codec, (PetscInt64)d, rows, kept, bitmap, work, payload + MuonWireIndicesBytes(indices, d, (uint64_t)kept)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDecode_TopK(MuonCompressor c, PetscInt m, PetscInt n, PetscInt64 count, const unsigned char payload[], PetscBool add, PetscReal scale, PetscScalar Y[], PetscInt ldy)
{
  const uint64_t        d       = (uint64_t)m * (uint64_t)n;
  const MuonWireIndices indices = MuonWireChooseIndices(d, (uint64_t)count);
  MuonWireIndexReader   reader;

  PetscFunctionBegin;
  MuonWireIndexReaderInit(&reader, indices, d, (uint64_t)count, payload);
  PetscCall(MuonCompressorKeptDecode_Private(MuonCompressorCodec_Private(c->values), m, n, count, &reader, payload + MuonWireIndicesBytes(indices, d, (uint64_t)count), add, scale, Y, ldy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorAlpha_TopK(MuonCompressor c, PetscInt m, PetscInt n, PetscReal *alpha)
{
  const PetscInt64 d = (PetscInt64)m * n;

  PetscFunctionBegin;
  *alpha = d > 0 ? MuonCompressorCodecAlpha_Private(MuonCompressorCodec_Private(c->values)) * (PetscReal)MuonCompressorKept_Private(c->ratio, d) / (PetscReal)d : 1.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorView_TopK(MuonCompressor c, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "ratio: %g of the entries, values: %s\n", (double)c->ratio, MuonCompressorValuesTypes[c->values]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDescribe_TopK(MuonCompressor c, size_t length, char text[])
{
  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(text, length, " %g %s", (double)c->ratio, MuonCompressorValuesTypes[c->values]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MUONCOMPRESSORTOPK - Keeps the entries of largest absolute value

   Options Database Keys:
+  -compressor_ratio r                                    - keeps max(1, floor(r m n)) entries of an m x n matrix
-  -compressor_values (native|double|single|bf16|natural) - how the kept entries are written

   Level: beginner

   Notes:
   Of entries of equal absolute value those first in row-major order are kept: the result does not depend on the leading dimension, the machine or the number of ranks. The constant of
   contraction in the Frobenius norm is the kept part of the entries, 7/8 of it with natural values; in the spectral norm the compressor is not contractive.

   The positions are sent as codes of the gaps between them, as a bitmap or as raw numbers, whichever is smallest.

   Reference:
   K. Gruntkowska, A. Gaponov, Z. Tovmasyan, P. Richtarik, Error Feedback for Muon and Friends, https://arxiv.org/abs/2510.00643

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MuonCompressorSetRatio()`, `MuonCompressorSetValues()`, `MUONCOMPRESSORRANKK`, `MUONCOMPRESSORNATURAL`
M*/
PETSC_INTERN PetscErrorCode MuonCompressorCreate_TopK(MuonCompressor c)
{
  PetscFunctionBegin;
  c->ops->layout   = MuonCompressorLayout_TopK;
  c->ops->encode   = MuonCompressorEncode_TopK;
  c->ops->decode   = MuonCompressorDecode_TopK;
  c->ops->alpha    = MuonCompressorAlpha_TopK;
  c->ops->view     = MuonCompressorView_TopK;
  c->ops->describe = MuonCompressorDescribe_TopK;
  PetscFunctionReturn(PETSC_SUCCESS);
}
