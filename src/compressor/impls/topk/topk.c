#include "../../muoncompressorcodec.h"

/* Values converted at once; a multiple of 8 */
enum {
  CHUNK = 512
};

static PetscErrorCode MuonCompressorLayout_TopK(MuonCompressor c, PetscInt m, PetscInt n, MuonCompressorLayout *layout)
{
  PetscFunctionBegin;
  layout->form   = MUON_WIRE_SPARSE;
  layout->values = MuonCompressorCodec_Private(c->values);
  layout->count  = MuonCompressorKept_Private(c->ratio, (PetscInt64)m * n);
  layout->exact  = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values of the kept entries in binary32, from where all codecs but double begin */
static PetscErrorCode MuonCompressorEncodeSingle_TopK(MuonCompressor c, MuonWireValues codec, size_t d, PetscInt64 kept, const float values[], const unsigned char bitmap[], void *work, unsigned char to[])
{
  PetscFunctionBegin;
  if (codec == MUON_WIRE_VALUES_NATURAL) {
    const MuonKernelStream stream = MuonCompressorStream_Private(c);
    uint16_t              *codes  = (uint16_t *)work;

    /* A kept entry has the random number of its place in the matrix, which does not depend on what else is kept */
    PetscCall(PetscCitationsRegister(MuonCitationNatural, &MuonCitationNaturalSet));
    if (MuonKernelNaturalKept(d, values, bitmap, &stream, codes) != 0) c->status = MUON_STATUS_NANORINF;
    MuonWireNaturalEncode((uint64_t)kept, codes, to);
  } else {
    for (PetscInt64 k = 0; k < kept; k += CHUNK) {
      const PetscInt64 some = PetscMin(CHUNK, kept - k);
      PetscScalar      x[CHUNK];

      for (PetscInt64 i = 0; i < some; i++) x[i] = (PetscScalar)values[k + i];
      PetscCall(MuonCompressorValuesEncode_Private(c, codec, some, x, 0, to + MuonWireValuesBytes(codec, (uint64_t)k)));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorEncode_TopK(MuonCompressor c, PetscInt m, PetscInt n, const PetscScalar T[], PetscInt ldt, const PetscScalar R[], PetscInt ldr, PetscInt64 *count, unsigned char payload[])
{
  const size_t         d     = (size_t)m * n;
  const PetscInt64     kept  = MuonCompressorKept_Private(c->ratio, (PetscInt64)d);
  const MuonWireValues codec = MuonCompressorCodec_Private(c->values);
  const size_t         size  = codec == MUON_WIRE_VALUES_DOUBLE ? sizeof(PetscScalar) : sizeof(float);
  MuonWireIndices      indices;
  unsigned char       *bitmap;
  void                *values, *work;
  int                  infinite;

  PetscFunctionBegin;
  *count = kept;
  PetscCall(PetscCitationsRegister(MuonCitationEF21, &MuonCitationEF21Set));
  PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_A, MuonKernelTopRoom((size_t)m, (size_t)n, (size_t)kept) * size, &values));
  PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_B, (d + 63) / 64 * 8, &bitmap));
  PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_C, PetscMax(MuonKernelTopScratch((size_t)m, (size_t)n, size), (size_t)kept * sizeof(uint16_t)), &work));
  if (codec == MUON_WIRE_VALUES_DOUBLE) infinite = MuonKernelTop((size_t)m, (size_t)n, T, (size_t)ldt, R, (size_t)ldr, (size_t)kept, bitmap, (PetscScalar *)values, work);
  else infinite = MuonKernelTopSingle((size_t)m, (size_t)n, T, (size_t)ldt, R, (size_t)ldr, (size_t)kept, bitmap, (float *)values, work);
  if (R != NULL) PetscCall(PetscLogFlops((PetscLogDouble)d));
  if (infinite != 0) {
    c->status = MUON_STATUS_NANORINF;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  indices = MuonWireChooseIndices(d, (uint64_t)kept);
  MuonWireIndicesEncode(indices, d, (uint64_t)kept, bitmap, payload);
  payload += MuonWireIndicesBytes(indices, d, (uint64_t)kept);
  if (codec == MUON_WIRE_VALUES_DOUBLE) PetscCall(MuonCompressorValuesEncode_Private(c, codec, kept, (PetscScalar *)values, 0, payload));
  else PetscCall(MuonCompressorEncodeSingle_TopK(c, codec, d, kept, (const float *)values, bitmap, work, payload));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDecode_TopK(MuonCompressor c, PetscInt m, PetscInt n, PetscInt64 count, const unsigned char payload[], PetscBool add, PetscReal scale, PetscScalar Y[], PetscInt ldy)
{
  const uint64_t        d       = (uint64_t)m * (uint64_t)n;
  const MuonWireIndices indices = MuonWireChooseIndices(d, (uint64_t)count);
  MuonWireIndexReader   reader;

  PetscFunctionBegin;
  MuonWireIndexReaderInit(&reader, indices, d, (uint64_t)count, payload);
  PetscCall(MuonCompressorKeptDecode_Private(c, MuonCompressorCodec_Private(c->values), m, n, count, &reader, payload + MuonWireIndicesBytes(indices, d, (uint64_t)count), add, scale, Y, ldy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorAlpha_TopK(MuonCompressor c, PetscInt m, PetscInt n, PetscReal *alpha)
{
  const PetscInt64     d = (PetscInt64)m * n, kept = MuonCompressorKept_Private(c->ratio, d);
  const MuonWireValues codec = MuonCompressorCodec_Private(c->values);
  double               part  = (double)kept / (double)d;

  PetscFunctionBegin;
  /* The smallest of the doubles that are one number in binary32 may be the kept ones: with u = 2^-24 its square is at least ((1 - u) / (1 + u))^2 > 1 - 4 u of the others' */
  if (!PetscDefined(USE_REAL_SINGLE) && codec != MUON_WIRE_VALUES_DOUBLE && kept < d) part *= 1.0 - 1.0 / 4194304.0;
  *alpha = MuonCompressorRoundDown_Private((double)MuonCompressorCodecAlpha_Private(codec) * part);
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
   Entries are compared as they are sent: rounded to binary32 where the values are single, bf16 or natural, and as they are where they are double. Of entries of equal absolute value those first in row-major
   order are kept: the result does not depend on the leading dimension, the machine or the number of ranks. The constant of contraction in the Frobenius norm is the kept part of the entries, 7/8 of it with
   natural values; in the spectral norm the compressor is not contractive.

   The two matrices are read once, rarely twice. The scratch memory holds, of K kept entries, K + max(K/4, 4096) + n values, a bit for each entry of the matrix, and what a panel of rows may have above a bound: at most 512 rows and at most
   2^20 entries, but 64 rows where these have more. Of a matrix beyond that size no copy is made.

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
  c->ops->describe = MuonCompressorDescribe_Ratio;
  PetscFunctionReturn(PETSC_SUCCESS);
}
