/*
   Messages with every entry of a matrix.
*/
#include "muoncompressorcodec.h"

enum {
  ROWS  = 64, /* rounded or decoded at once: they begin on a byte because their entries are a multiple of 8 */
  CHUNK = 512 /* codes made at once; a multiple of 8 */
};

/* A section of powers of two: addend is what goes to every mantissa */
static PetscErrorCode MuonCompressorPowersEncode_Private(MuonCompressor c, uint32_t addend, PetscInt64 count, const PetscScalar x[], unsigned char to[])
{
  int infinite = 0;

  PetscFunctionBegin;
  for (PetscInt64 k = 0; k < count && infinite == 0; k += CHUNK) {
    const size_t some = (size_t)PetscMin(CHUNK, count - k);
    uint16_t     codes[CHUNK];

    infinite = MuonKernelPowers(some, x + k, addend, codes);
    MuonWireNaturalEncode(some, codes, to + k / 8 * 9);
  }
  if (infinite != 0) c->status = MUON_STATUS_NANORINF;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In floating point factor (T - R) is no combination of T and R */
static PetscErrorCode MuonCompressorScale_Private(PetscReal factor, size_t count, PetscScalar x[])
{
  PetscFunctionBegin;
  if (factor != 1.0) {
    MuonKernelAxpby(count, 1, factor, x, count, 0, x, count);
    PetscCall(PetscLogFlops((PetscLogDouble)count));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorDenseEncode_Private(MuonCompressor c, MuonWireValues codec, MuonCompressorRounding rounding, PetscReal factor, PetscInt m, PetscInt n, const PetscScalar T[], PetscInt ldt, const PetscScalar R[], PetscInt ldr,
                                                 unsigned char payload[])
{
  const size_t stride  = (size_t)MuonWireValuesBytes(codec, (uint64_t)m);
  PetscScalar *scratch = NULL;

  PetscFunctionBegin;
  if (codec == MUON_WIRE_VALUES_NATURAL) {
    PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_A, (size_t)PetscMin(ROWS, m) * (size_t)n * sizeof(PetscScalar), &scratch));
    if (rounding == MUON_COMPRESSOR_ROUND_RANDOM) PetscCall(PetscCitationsRegister(MuonCitationNatural, &MuonCitationNaturalSet));
    for (PetscInt i = 0; i < m && c->status == MUON_STATUS_OK; i += ROWS) {
      const PetscInt   some  = PetscMin(ROWS, m - i);
      const PetscInt64 first = (PetscInt64)i * n;

      MuonKernelResidualRows((size_t)some, (size_t)n, T + i, (size_t)ldt, R != NULL ? R + i : NULL, (size_t)ldr, scratch);
      PetscCall(MuonCompressorScale_Private(factor, (size_t)some * n, scratch));
      if (rounding == MUON_COMPRESSOR_ROUND_RANDOM) PetscCall(MuonCompressorValuesEncode_Private(c, codec, (PetscInt64)some * n, scratch, first, payload + first / 8 * 9));
      else PetscCall(MuonCompressorPowersEncode_Private(c, rounding == MUON_COMPRESSOR_ROUND_NEAREST ? MUON_KERNEL_HALF : 0, (PetscInt64)some * n, scratch, payload + first / 8 * 9));
    }
  } else {
    /* Columns that are sent as they are need no scratch memory */
    if (R != NULL || factor != 1.0) PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_A, (size_t)m * sizeof(PetscScalar), &scratch));
    for (PetscInt j = 0; j < n && c->status == MUON_STATUS_OK; j++) {
      const PetscScalar *t = T + (size_t)j * ldt;

      if (scratch != NULL) {
        MuonKernelResidualRows((size_t)m, 1, t, (size_t)ldt, R != NULL ? R + (size_t)j * ldr : NULL, (size_t)ldr, scratch);
        PetscCall(MuonCompressorScale_Private(factor, (size_t)m, scratch));
      }
      PetscCall(MuonCompressorValuesEncode_Private(c, codec, m, scratch != NULL ? scratch : t, 0, payload + (size_t)j * stride));
    }
  }
  if (R != NULL) PetscCall(PetscLogFlops((PetscLogDouble)m * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorDenseFits_Private(MuonCompressor c, MuonWireValues codec, PetscInt m, PetscInt n, const PetscScalar T[], PetscInt ldt, const PetscScalar R[], PetscInt ldr)
{
  PetscScalar *column;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_A, (size_t)m * sizeof(PetscScalar), &column));
  for (PetscInt j = 0; j < n; j++) {
    MuonKernelResidualRows((size_t)m, 1, T + (size_t)j * ldt, (size_t)ldt, R != NULL ? R + (size_t)j * ldr : NULL, (size_t)ldr, column);
    if (!MuonKernelIsBelow((size_t)m, 1, column, (size_t)m, MuonCompressorCodecLimit_Private(codec))) c->status = MUON_STATUS_NANORINF;
  }
  if (R != NULL) PetscCall(PetscLogFlops((PetscLogDouble)m * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorDenseDecode_Private(MuonCompressor c, MuonWireValues codec, PetscInt m, PetscInt n, const unsigned char payload[], PetscBool add, PetscReal scale, PetscScalar Y[], PetscInt ldy)
{
  const size_t stride  = (size_t)MuonWireValuesBytes(codec, (uint64_t)m);
  PetscScalar *scratch = NULL;

  PetscFunctionBegin;
  if (codec == MUON_WIRE_VALUES_NATURAL) {
    PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_A, (size_t)PetscMin(ROWS, m) * (size_t)n * sizeof(PetscScalar), &scratch));
    for (PetscInt i = 0; i < m; i += ROWS) {
      const PetscInt some = PetscMin(ROWS, m - i);

      PetscCall(MuonCompressorValuesDecode_Private(codec, (PetscInt64)some * n, payload, (PetscInt64)i * n, scratch));
      MuonKernelRowsAxpby((size_t)some, (size_t)n, add == PETSC_TRUE ? scale : (PetscScalar)1, scratch, add == PETSC_TRUE, Y + i, (size_t)ldy);
    }
  } else {
    if (add == PETSC_TRUE) PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_A, (size_t)m * sizeof(PetscScalar), &scratch));
    for (PetscInt j = 0; j < n; j++) {
      PetscScalar *y = Y + (size_t)j * ldy;

      PetscCall(MuonCompressorValuesDecode_Private(codec, m, payload + (size_t)j * stride, 0, add == PETSC_TRUE ? scratch : y));
      if (add == PETSC_TRUE) MuonKernelAxpby((size_t)m, 1, scale, scratch, (size_t)m, 1, y, (size_t)m);
    }
  }
  if (add == PETSC_TRUE) PetscCall(PetscLogFlops(2.0 * m * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorLayout_Dense(MuonCompressor c, PetscInt m, PetscInt n, MuonCompressorLayout *layout)
{
  PetscFunctionBegin;
  layout->form   = MUON_WIRE_DENSE;
  layout->values = ((const MuonCompressorDense *)c->data)->codec;
  layout->count  = (PetscInt64)m * n;
  layout->exact  = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorEncode_Dense(MuonCompressor c, PetscInt m, PetscInt n, const PetscScalar T[], PetscInt ldt, const PetscScalar R[], PetscInt ldr, PetscInt64 *count, unsigned char payload[])
{
  const MuonCompressorDense *dense = (const MuonCompressorDense *)c->data;

  PetscFunctionBegin;
  *count = (PetscInt64)m * n;
  PetscCall(MuonCompressorDenseEncode_Private(c, dense->codec, dense->rounding, 1.0, m, n, T, ldt, R, ldr, payload));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDecode_Dense(MuonCompressor c, PetscInt m, PetscInt n, PetscInt64 count, const unsigned char payload[], PetscBool add, PetscReal scale, PetscScalar Y[], PetscInt ldy)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorDenseDecode_Private(c, ((const MuonCompressorDense *)c->data)->codec, m, n, payload, add, scale, Y, ldy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorSetDense_Private(MuonCompressor c, const MuonCompressorDense *dense)
{
  PetscFunctionBegin;
  c->data        = (void *)dense;
  c->ops->layout = MuonCompressorLayout_Dense;
  c->ops->encode = MuonCompressorEncode_Dense;
  c->ops->decode = MuonCompressorDecode_Dense;
  PetscFunctionReturn(PETSC_SUCCESS);
}
