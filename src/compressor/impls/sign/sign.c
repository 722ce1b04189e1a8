#include <petscmuon/private/muoncompressorcodec.h>

/* 2^-64: a sum of 2^64 numbers times this does not overflow */
#define HUGE_SCALE 5.421010862427522e-20

static PetscErrorCode MuonCompressorLayout_Sign(MuonCompressor c, const MuonArray *shape, MuonCompressorLayout *layout)
{
  PetscFunctionBegin;
  layout->header.kind   = MUON_WIRE_SIGNS;
  layout->header.values = (uint8_t)MuonCompressorCodec_Private(c, shape);
  layout->header.count  = MuonArrayEntries(shape);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The mean of finite absolute values with a sum that overflows: from a fraction of each */
static PetscErrorCode MuonCompressorHugeMean_Sign(MuonCompressor c, const MuonArray *T, const MuonArray *R, double *mean)
{
  const MuonKernels *kernels = MuonArrayKernels(T);
  void              *vector;
  double             sum = 0;

  PetscFunctionBegin;
  PetscCall(MuonCompressorDenseEncode_Private(c, MUON_WIRE_VALUES_DOUBLE, MUON_COMPRESSOR_ROUND_RANDOM, 1.0, T, R, NULL));
  if (c->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonWorkspaceGetIn(c->work, T->memory, T->len * kernels->size, &vector));
  for (size_t j = 0; j < T->count; j++) {
    kernels->Residual(T->len, T->count, T->data, T->ld, R != NULL ? R->data : NULL, R != NULL ? R->ld : 0, j * T->len, T->len, vector);
    kernels->Axpby(T->len, 1, HUGE_SCALE, vector, T->len, 0, vector, T->len);
    sum += kernels->SumAbs(T->len, 1, vector, T->len);
  }
  *mean = sum / (double)MuonArrayEntries(T) / HUGE_SCALE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorEncode_Sign(MuonCompressor c, const MuonArray *T, const MuonArray *R, MuonCompressorLayout *layout, unsigned char payload[])
{
  const MuonKernels   *kernels = MuonArrayKernels(T);
  const size_t         d       = MuonArrayEntries(T);
  const MuonWireValues codec   = (MuonWireValues)layout->header.values;
  unsigned char       *value = payload + layout->section.valuesat, *bits = payload;
  float                rounded;
  double               sum, mean = 0;

  PetscFunctionBegin;
  if (d == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (T->memory != MUON_HOST) PetscCall(MuonWorkspaceGetPinned(c->work, T->memory, (d + 7) / 8, &bits));
  if (kernels->Signs(T->len, T->count, T->data, T->ld, R != NULL ? R->data : NULL, R != NULL ? R->ld : 0, bits, NULL, &sum) == 0) mean = sum / (double)d;
  else {
    PetscCall(MuonCompressorHugeMean_Sign(c, T, R, &mean));
    if (c->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (bits != payload) PetscCall(PetscMemcpy(payload, bits, (d + 7) / 8));
  PetscCall(PetscLogFlops((R != NULL ? 2.0 : 1.0) * (PetscLogDouble)d));
  if (codec == MUON_WIRE_VALUES_NATURAL) PetscCall(PetscCitationsRegister(MuonCitationNatural, &MuonCitationNaturalSet));
  /* A magnitude that the array can hold */
  rounded = (float)mean;
  PetscCall(MuonCompressorValuesEncode_Private(c, codec, MUON_COMPRESSOR_ROUND_RANDOM, MUON_HOST, T->precision, 1, T->precision == MUON_SINGLE ? (const void *)&rounded : (const void *)&mean, 0, value));
  /* A magnitude that is too small to be written is zero, and a zero matrix has no signs */
  if (MuonWireValuesAreMagnitudes(codec, 0, 1, value) != MUON_WIRE_OK) PetscCall(MuonCompressorSetCount(c, layout, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDecode_Sign(MuonCompressor c, const MuonCompressorLayout *layout, const unsigned char payload[], PetscBool add, double scale, const MuonArray *Y)
{
  const MuonKernels *kernels = MuonArrayKernels(Y);
  const size_t       count   = MuonArrayEntries(Y);
  unsigned char     *bits    = (unsigned char *)payload;
  double             magnitude;

  PetscFunctionBegin;
  PetscCall(MuonCompressorValuesDecode_Private(c, (MuonWireValues)layout->header.values, MUON_HOST, MUON_DOUBLE, 1, payload + layout->section.valuesat, 0, &magnitude));
  if (Y->memory != MUON_HOST) {
    PetscCall(MuonWorkspaceGetPinned(c->work, Y->memory, (count + 7) / 8, &bits));
    PetscCall(PetscMemcpy(bits, payload, (count + 7) / 8));
  }
  kernels->SignsAxpby(Y->len, Y->count, bits, NULL, add ? 1 : 0, Y->data, Y->ld, add ? scale * magnitude : magnitude, Y->data, Y->ld);
  if (add) PetscCall(PetscLogFlops((PetscLogDouble)count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   If the magnitude is (1 + e) times the mean a of the d absolute values, the square of the error is ||X||^2 - d a^2 (1 - e^2),
   and d a >= ||X||. A random e has the mean 0
*/
static PetscErrorCode MuonCompressorAlpha_Sign(MuonCompressor c, const MuonArray *shape, PetscReal *alpha)
{
  const PetscInt64 d = (PetscInt64)MuonArrayEntries(shape);

  PetscFunctionBegin;
  *alpha = MuonCompressorRoundDown_Private((double)MuonCompressorCodecAlpha_Private(MuonCompressorCodec_Private(c, shape), shape->precision) / (double)d);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MUONCOMPRESSORSIGN - Keeps the signs of the entries, and the mean of their absolute values as the common magnitude

   Options Database Key:
.  -compressor_values (native|double|single|bf16|natural) - format of the magnitude

   Level: beginner

   Notes:
   $C(X) = (\|X\|_1 / d) \, \mathrm{sign}(X)$ for a matrix of d entries, in one bit an entry. A zero counts as positive. A zero matrix, or one whose magnitude underflows, has an empty message.

   The constant of contraction in the Frobenius norm is $\|X\|_1^2 / (d \|X\|^2)$, 2/pi for normally
   distributed entries, times $1 - e^2$ where the magnitude was written with the relative error e.
   `MuonCompressorGetAlpha()` gives the bound for any X, 1/d, which a matrix with one nonzero entry attains, times 7/8
   with a natural magnitude, 1 - 2^-16 with bf16 and 1 - 2^-48 with single. It holds if the magnitude is in the normal
   range of its format, which is not certain for a few large entries of many. This bound is enough for error feedback.

   `-compressor_ratio`, `-compressor_rank` and `-compressor_bits` have no meaning for this type.

   Reference:
   S. P. Karimireddy, Q. Rebjock, S. U. Stich, M. Jaggi, Error Feedback Fixes SignSGD and other Gradient
   Compression Schemes, https://arxiv.org/abs/1901.09847

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MUONCOMPRESSORNATURAL`
M*/
PetscErrorCode MuonCompressorCreate_Sign(MuonCompressor c)
{
  PetscFunctionBegin;
  c->keys        = "values";
  c->ondevice    = PETSC_TRUE;
  c->ops->layout = MuonCompressorLayout_Sign;
  c->ops->encode = MuonCompressorEncode_Sign;
  c->ops->decode = MuonCompressorDecode_Sign;
  c->ops->alpha  = MuonCompressorAlpha_Sign;
  PetscFunctionReturn(PETSC_SUCCESS);
}
