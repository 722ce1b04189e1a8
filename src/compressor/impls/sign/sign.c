#include "../../muoncompressorcodec.h"

/* 2^-64: a sum of so many of the largest numbers */
#define HUGE_SCALE 5.421010862427522e-20

static PetscErrorCode MuonCompressorLayout_Sign(MuonCompressor c, PetscInt m, PetscInt n, MuonCompressorLayout *layout)
{
  PetscFunctionBegin;
  layout->form   = MUON_WIRE_SIGNS;
  layout->values = MuonCompressorCodec_Private(c->values);
  layout->count  = (PetscInt64)m * n;
  layout->exact  = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The mean of absolute values whose sum is not finite, where these are: from a part of each */
static PetscErrorCode MuonCompressorHugeMean_Sign(MuonCompressor c, PetscInt m, PetscInt n, const PetscScalar T[], PetscInt ldt, const PetscScalar R[], PetscInt ldr, double *mean)
{
  PetscScalar *column;
  double       sum = 0;

  PetscFunctionBegin;
  PetscCall(MuonCompressorDenseFits_Private(c, MUON_WIRE_VALUES_DOUBLE, m, n, T, ldt, R, ldr));
  if (c->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_A, (size_t)m * sizeof(PetscScalar), &column));
  for (PetscInt j = 0; j < n; j++) {
    MuonKernelResidualRows((size_t)m, 1, T + (size_t)j * (size_t)ldt, (size_t)ldt, R != NULL ? R + (size_t)j * (size_t)ldr : NULL, (size_t)ldr, column);
    MuonKernelAxpby((size_t)m, 1, (PetscScalar)HUGE_SCALE, column, (size_t)m, 0, column, (size_t)m);
    sum += MuonKernelSumAbs((size_t)m, 1, column, (size_t)m);
  }
  *mean = sum / ((double)m * (double)n) / HUGE_SCALE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorEncode_Sign(MuonCompressor c, PetscInt m, PetscInt n, const PetscScalar T[], PetscInt ldt, const PetscScalar R[], PetscInt ldr, PetscInt64 *count, unsigned char payload[])
{
  const PetscInt64     d     = (PetscInt64)m * n;
  const MuonWireValues codec = MuonCompressorCodec_Private(c->values);
  unsigned char       *value = payload + MuonWireEntriesBytes(1, (uint64_t)d);
  PetscScalar          magnitude;
  double               sum, mean = 0;

  PetscFunctionBegin;
  *count = 0;
  if (d == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (MuonKernelSigns((size_t)m, (size_t)n, T, (size_t)ldt, R, (size_t)ldr, payload, &sum) == 0) mean = sum / (double)d;
  else {
    PetscCall(MuonCompressorHugeMean_Sign(c, m, n, T, ldt, R, ldr, &mean));
    if (c->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscLogFlops((R != NULL ? 2.0 : 1.0) * (PetscLogDouble)d));
  if (codec == MUON_WIRE_VALUES_NATURAL) PetscCall(PetscCitationsRegister(MuonCitationNatural, &MuonCitationNaturalSet));
  magnitude = (PetscScalar)mean;
  PetscCall(MuonCompressorValuesEncode_Private(c, codec, 1, &magnitude, 0, value));
  /* What is too small to be written is zero, and a zero matrix has no signs */
  if (MuonWireValuesAreMagnitudes(codec, 0, 1, value) == MUON_WIRE_OK) *count = d;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDecode_Sign(MuonCompressor c, PetscInt m, PetscInt n, PetscInt64 count, const unsigned char payload[], PetscBool add, PetscReal scale, PetscScalar Y[], PetscInt ldy)
{
  PetscScalar magnitude;

  PetscFunctionBegin;
  if (add == PETSC_FALSE) PetscCall(MuonCompressorZero_Private(m, n, Y, ldy));
  if (count == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonCompressorValuesDecode_Private(MuonCompressorCodec_Private(c->values), 1, payload + MuonWireEntriesBytes(1, (uint64_t)count), 0, &magnitude));
  MuonKernelSignsAxpby((size_t)m, (size_t)n, payload, add == PETSC_TRUE ? scale * magnitude : magnitude, Y, (size_t)ldy);
  if (add == PETSC_TRUE) PetscCall(PetscLogFlops((PetscLogDouble)count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With (1 + e) times the mean a of the d absolute values, the square of the error is ||X||^2 - d a^2 (1 - e^2), and d a >= ||X||; where e is random, its mean is 0 */
static PetscErrorCode MuonCompressorAlpha_Sign(MuonCompressor c, PetscInt m, PetscInt n, PetscReal *alpha)
{
  const PetscInt64 d = (PetscInt64)m * n;

  PetscFunctionBegin;
  *alpha = MuonCompressorRoundDown_Private((double)MuonCompressorCodecAlpha_Private(MuonCompressorCodec_Private(c->values)) / (double)d);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorView_Sign(MuonCompressor c, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "a bit an entry, magnitude: %s; ratio, rank and bits have no meaning for this type\n", MuonCompressorValuesTypes[c->values]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDescribe_Sign(MuonCompressor c, size_t length, char text[])
{
  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(text, length, " %s", MuonCompressorValuesTypes[c->values]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MUONCOMPRESSORSIGN - Keeps the sign of every entry, and the mean of their absolute values as the magnitude of all

   Options Database Key:
.  -compressor_values (native|double|single|bf16|natural) - how the magnitude is written

   Level: beginner

   Notes:
   $C(X) = (\|X\|_1 / d) \, \mathrm{sign}(X)$ for a matrix of d entries, in one bit an entry; a zero counts as positive. A zero matrix, or one whose magnitude is too small for how it is written, has an empty message.

   The constant of contraction in the Frobenius norm is $\|X\|_1^2 / (d \|X\|^2)$, 2/pi for normally distributed entries, times $1 - e^2$ where the magnitude was written with the relative error e.
   `MuonCompressorGetAlpha()` gives what holds for any X: 1/d, which a matrix with one entry that is not zero reaches, times 7/8 with a natural magnitude, 1 - 2^-16 with bf16 and 1 - 2^-48 with single. It holds where the
   magnitude is in the normal range of how it is written, which few large entries of many do not ensure. Error feedback needs no more.

   `-compressor_ratio`, `-compressor_rank` and `-compressor_bits` have no meaning for this type.

   Reference:
   S. P. Karimireddy, Q. Rebjock, S. U. Stich, M. Jaggi, Error Feedback Fixes SignSGD and other Gradient Compression Schemes, https://arxiv.org/abs/1901.09847

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MuonCompressorSetValues()`, `MUONCOMPRESSORNATURAL`
M*/
PETSC_INTERN PetscErrorCode MuonCompressorCreate_Sign(MuonCompressor c)
{
  PetscFunctionBegin;
  c->ops->layout   = MuonCompressorLayout_Sign;
  c->ops->encode   = MuonCompressorEncode_Sign;
  c->ops->decode   = MuonCompressorDecode_Sign;
  c->ops->alpha    = MuonCompressorAlpha_Sign;
  c->ops->view     = MuonCompressorView_Sign;
  c->ops->describe = MuonCompressorDescribe_Sign;
  PetscFunctionReturn(PETSC_SUCCESS);
}
