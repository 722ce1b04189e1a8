#include "../../muoncompressorcodec.h"

/* Rows decoded at once: they begin on a byte because their entries are a multiple of 8 */
enum {
  ROWS = 8
};

static PetscErrorCode MuonCompressorLayout_Natural(MuonCompressor c, PetscInt m, PetscInt n, MuonCompressorLayout *layout)
{
  PetscFunctionBegin;
  layout->form   = MUON_WIRE_DENSE;
  layout->values = MUON_WIRE_VALUES_NATURAL;
  layout->count  = (PetscInt64)m * n;
  layout->exact  = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorEncode_Natural(MuonCompressor c, PetscInt m, PetscInt n, const PetscScalar T[], PetscInt ldt, const PetscScalar R[], PetscInt ldr, PetscInt64 *count, unsigned char payload[])
{
  PetscScalar *rows;

  PetscFunctionBegin;
  *count = (PetscInt64)m * n;
  PetscCall(PetscCitationsRegister(MuonCitationNatural, &MuonCitationNaturalSet));
  PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_A, (size_t)ROWS * n * sizeof(PetscScalar), &rows));
  for (PetscInt i = 0; i < m && c->status == MUON_STATUS_OK; i += ROWS) {
    const PetscInt   some  = PetscMin(ROWS, m - i);
    const PetscInt64 first = (PetscInt64)i * n;

    MuonKernelResidualRows((size_t)some, (size_t)n, T + i, (size_t)ldt, R != NULL ? R + i : NULL, (size_t)ldr, rows);
    PetscCall(MuonCompressorValuesEncode_Private(c, MUON_WIRE_VALUES_NATURAL, (PetscInt64)some * n, rows, first, payload + first / 8 * 9));
  }
  if (R != NULL) PetscCall(PetscLogFlops((PetscLogDouble)m * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDecode_Natural(MuonCompressor c, PetscInt m, PetscInt n, PetscInt64 count, const unsigned char payload[], PetscBool add, PetscReal scale, PetscScalar Y[], PetscInt ldy)
{
  PetscScalar *rows;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_A, (size_t)ROWS * n * sizeof(PetscScalar), &rows));
  for (PetscInt i = 0; i < m; i += ROWS) {
    const PetscInt some = PetscMin(ROWS, m - i);

    PetscCall(MuonCompressorValuesDecode_Private(MUON_WIRE_VALUES_NATURAL, (PetscInt64)some * n, payload, (PetscInt64)i * n, rows));
    MuonKernelRowsAxpby((size_t)some, (size_t)n, add == PETSC_TRUE ? scale : (PetscScalar)1, rows, add == PETSC_TRUE, Y + i, (size_t)ldy);
  }
  if (add == PETSC_TRUE) PetscCall(PetscLogFlops(2.0 * m * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorAlpha_Natural(MuonCompressor c, PetscInt m, PetscInt n, PetscReal *alpha)
{
  PetscFunctionBegin;
  *alpha = MuonCompressorCodecAlpha_Private(MUON_WIRE_VALUES_NATURAL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorView_Natural(MuonCompressor c, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "every entry, as sign and power of two in at most 9 bits; seed %" PetscInt64_FMT "; ratio, rank and values have no meaning for this type\n", c->seed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MUONCOMPRESSORNATURAL - Rounds every entry to one of the two nearest powers of two, at random and without bias

   Level: beginner

   Notes:
   An entry is rounded to binary32, then its mantissa is dropped or carried into the exponent with the probability that makes the expectation exact: an unbiased compressor with
   variance at most 1/8 of the square, contractive with constant 7/8. Zero stays zero, what is subnormal in binary32 becomes zero, and the largest magnitude is 2^127. An entry takes at most 9 bits, 3.6 of normally distributed ones.

   The random number of an entry depends on what `MuonCompressorSetStream()` and `MuonCompressorSetStep()` set and on the entry's number in row-major order: different senders and
   steps draw independently, and any rank can reproduce them.

   `-compressor_ratio`, `-compressor_rank` and `-compressor_values` have no meaning for this type. To round what `MUONCOMPRESSORTOPK` or `MUONCOMPRESSORRANKK` keep, use
   `-compressor_values natural` with them.

   Reference:
   S. Horvath, C.-Y. Ho, L. Horvath, A. N. Sahu, M. Canini, P. Richtarik, Natural Compression for Distributed Deep Learning, https://arxiv.org/abs/1905.10988

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MuonCompressorSetValues()`, `MuonCompressorSetStream()`, `MUONCOMPRESSORTOPK`, `MUONCOMPRESSORRANKK`
M*/
PETSC_INTERN PetscErrorCode MuonCompressorCreate_Natural(MuonCompressor c)
{
  PetscFunctionBegin;
  c->ops->layout = MuonCompressorLayout_Natural;
  c->ops->encode = MuonCompressorEncode_Natural;
  c->ops->decode = MuonCompressorDecode_Natural;
  c->ops->alpha  = MuonCompressorAlpha_Natural;
  c->ops->view   = MuonCompressorView_Natural;
  PetscFunctionReturn(PETSC_SUCCESS);
}
