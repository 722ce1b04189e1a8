#include <petscmuon/private/muoncompressorcodec.h>
#include "../../../kernels/codec/muonkernels.h"

static PetscErrorCode MuonCompressorLayout_TopK(MuonCompressor c, const MuonArray *shape, MuonCompressorLayout *layout)
{
  PetscFunctionBegin;
  layout->form   = MUON_WIRE_SPARSE;
  layout->values = MuonCompressorCodec_Private(c->values, shape);
  layout->count  = MuonCompressorKept_Private(c->ratio, (PetscInt64)MuonArrayEntries(shape));
  layout->exact  = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries are compared as they are written: in binary32, from where all codecs but double begin */
static PetscErrorCode MuonCompressorEncode_TopK(MuonCompressor c, const MuonArray *T, const MuonArray *R, PetscInt64 *count, unsigned char payload[])
{
  const MuonKernels   *kernels = MuonArrayKernels(T);
  const size_t         d = MuonArrayEntries(T), ldr = R != NULL ? R->ld : 0;
  const PetscInt64     kept      = MuonCompressorKept_Private(c->ratio, (PetscInt64)d);
  const MuonWireValues codec     = MuonCompressorCodec_Private(c->values, T);
  const MuonPrecision  precision = codec == MUON_WIRE_VALUES_DOUBLE ? T->precision : MUON_SINGLE;
  const size_t         size      = MuonKernelsGet(precision, MUON_HOST)->size;
  const void          *r         = R != NULL ? R->data : NULL;
  MuonWireIndices      indices;
  unsigned char       *bitmap;
  void                *values, *work;
  int                  infinite;

  PetscFunctionBegin;
  *count = kept;
  PetscCall(PetscCitationsRegister(MuonCitationEF21, &MuonCitationEF21Set));
  PetscCall(MuonWorkspaceGetPinned(c->work, T->memory, MuonKernelTopRoom(d, (size_t)kept) * size, &values));
  PetscCall(MuonWorkspaceGetPinned(c->work, T->memory, (d + 63) / 64 * 8, &bitmap));
  PetscCall(MuonWorkspaceGet(c->work, MuonKernelTopScratch(d, size), &work));
  if (precision == T->precision) infinite = kernels->Top(T->len, T->count, T->data, T->ld, r, ldr, (size_t)kept, bitmap, values, work);
  else infinite = kernels->TopRounded(T->len, T->count, T->data, T->ld, r, ldr, (size_t)kept, bitmap, (float *)values, work);
  if (R != NULL) PetscCall(PetscLogFlops((PetscLogDouble)d));
  if (infinite != 0) {
    c->status = MUON_STATUS_NANORINF;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  indices = MuonWireChooseIndices(d, (uint64_t)kept);
  MuonWireIndicesEncode(indices, d, (uint64_t)kept, bitmap, payload);
  PetscCall(MuonCompressorKeptEncode_Private(c, codec, precision, d, bitmap, kept, values, payload + MuonWireIndicesBytes(indices, d, (uint64_t)kept)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDecode_TopK(MuonCompressor c, PetscInt64 count, const unsigned char payload[], PetscBool add, double scale, const MuonArray *Y)
{
  const uint64_t        d       = MuonArrayEntries(Y);
  const MuonWireIndices indices = MuonWireChooseIndices(d, (uint64_t)count);
  MuonWireIndexReader   reader;

  PetscFunctionBegin;
  MuonWireIndexReaderInit(&reader, indices, d, (uint64_t)count, payload);
  PetscCall(MuonCompressorKeptDecode_Private(c, MuonCompressorCodec_Private(c->values, Y), count, &reader, payload + MuonWireIndicesBytes(indices, d, (uint64_t)count), add, scale, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorAlpha_TopK(MuonCompressor c, const MuonArray *shape, PetscReal *alpha)
{
  const PetscInt64     d = (PetscInt64)MuonArrayEntries(shape), kept = MuonCompressorKept_Private(c->ratio, d);
  const MuonWireValues codec    = MuonCompressorCodec_Private(c->values, shape);
  double               fraction = (double)kept / (double)d;

  PetscFunctionBegin;
  /*
     The smallest of the doubles that are one number in binary32 may be the kept ones: with u = 2^-24 its
     square is at least ((1 - u) / (1 + u))^2 > 1 - 4 u of the others'
  */
  if (shape->precision == MUON_DOUBLE && codec != MUON_WIRE_VALUES_DOUBLE && kept < d) fraction *= 1.0 - 1.0 / 4194304.0;
  *alpha = MuonCompressorRoundDown_Private((double)MuonCompressorCodecAlpha_Private(codec, shape->precision) * fraction);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorView_TopK(MuonCompressor c, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "ratio: %g of the entries, values: %s\n", (double)c->ratio, MuonCompressorValuesTypes[c->values]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MUONCOMPRESSORTOPK - Keeps the entries of largest absolute value

   Options Database Keys:
+  -compressor_ratio r                                    - keeps max(1, floor(r m n)) entries of an m x n matrix
-  -compressor_values (native|double|single|bf16|natural) - how the kept entries are written

   Level: beginner

   Notes:
   Entries are compared as they are sent: rounded to binary32 where the values are single, bf16 or natural,
   and as they are where they are double. Of entries of equal absolute value those first in the order of
   memory are kept: the result does not depend on the leading dimension, the machine or the number of ranks.
   The constant of contraction in the Frobenius norm is the kept fraction of the entries, 7/8 of it with
   natural values; in the spectral norm the compressor is not contractive.

   The two matrices are read once, rarely twice. The scratch memory holds, of K kept entries, K + max(K/4,
   4096) values, and a bit for each entry of the matrix: no copy of the matrix is made.

   The positions are sent as codes of the gaps between them, as a bitmap or as raw numbers, whichever is
   smallest.

   Reference:
   K. Gruntkowska, A. Gaponov, Z. Tovmasyan, P. Richtarik, Error Feedback for Muon and Friends,
   https://arxiv.org/abs/2510.00643

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MuonCompressorSetRatio()`, `MuonCompressorSetValues()`, `MUONCOMPRESSORRANKK`, `MUONCOMPRESSORNATURAL`
M*/
PETSC_INTERN PetscErrorCode MuonCompressorCreate_TopK(MuonCompressor c)
{
  PetscFunctionBegin;
  c->ondevice      = PETSC_TRUE;
  c->ops->layout   = MuonCompressorLayout_TopK;
  c->ops->encode   = MuonCompressorEncode_TopK;
  c->ops->decode   = MuonCompressorDecode_TopK;
  c->ops->alpha    = MuonCompressorAlpha_TopK;
  c->ops->view     = MuonCompressorView_TopK;
  c->ops->describe = MuonCompressorDescribe_Ratio;
  PetscFunctionReturn(PETSC_SUCCESS);
}
