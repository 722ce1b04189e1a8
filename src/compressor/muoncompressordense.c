/*
   Messages with every entry of a matrix, in the order of memory.
*/
#include <petscmuon/private/muoncompressorcodec.h>

enum {
  STRIP     = 4096, /* entries rounded or decoded at once: they begin on a byte */
  FAR_STRIP = 1 << 20,
  CHUNK     = 512 /* codes made at once; a multiple of 8 */
};

/*
   Each look at an array that is not on the host takes a while: then strips are long, and in the workspace.
   few is room for a short one
*/
static PetscErrorCode MuonCompressorGetStrip_Private(MuonCompressor c, const MuonArray *T, double few[], size_t *strip, void **scratch)
{
  PetscFunctionBegin;
  *strip   = T->memory == MUON_HOST ? STRIP : FAR_STRIP;
  *scratch = few;
  if (T->memory != MUON_HOST) PetscCall(MuonWorkspaceGetIn(c->work, T->memory, PetscMin(MuonArrayEntries(T), FAR_STRIP) * MuonArrayEntryBytes(T), scratch));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Entries first ... first + count - 1 of factor (T - R), in the same memory: in scratch, or where they are
   there. In floating point that is no combination of T and R
*/
static const void *Strip(const MuonArray *T, const MuonArray *R, double factor, size_t first, size_t count, void *scratch)
{
  const MuonKernels *kernels = MuonArrayKernels(T);

  if (R == NULL && factor == 1.0 && (T->ld == T->len || T->count < 2)) return (const char *)T->data + first * kernels->size;
  kernels->Residual(T->len, T->count, T->data, T->ld, R != NULL ? R->data : NULL, R != NULL ? R->ld : 0, first, count, scratch);
  if (factor != 1.0) kernels->Axpby(count, 1, factor, scratch, count, 0, scratch, count);
  return scratch;
}

PetscErrorCode MuonCompressorDenseEncode_Private(MuonCompressor c, MuonWireValues codec, MuonCompressorRounding rounding, double factor, const MuonArray *T, const MuonArray *R, unsigned char payload[])
{
  const size_t entries = MuonArrayEntries(T);
  double       few[STRIP];
  void        *scratch;
  size_t       strip;

  PetscFunctionBegin;
  PetscCall(MuonCompressorGetStrip_Private(c, T, few, &strip, &scratch));
  if (codec == MUON_WIRE_VALUES_NATURAL && rounding == MUON_COMPRESSOR_ROUND_RANDOM) PetscCall(PetscCitationsRegister(MuonCitationNatural, &MuonCitationNaturalSet));
  for (size_t first = 0; first < entries && c->status == MUON_STATUS_OK; first += strip) {
    const size_t   some = PetscMin(strip, entries - first);
    unsigned char *to   = payload + MuonWireValuesBytes(codec, first);
    const char    *x;

    x = (const char *)Strip(T, R, factor, first, some, scratch);
    if (T->memory != MUON_HOST) PetscCall(MuonCompressorFarEncode_Private(c, codec, rounding, T->precision, some, x, first, to));
    else if (codec != MUON_WIRE_VALUES_NATURAL || rounding == MUON_COMPRESSOR_ROUND_RANDOM) PetscCall(MuonCompressorValuesEncode_Private(c, codec, T->precision, (PetscInt64)some, x, (PetscInt64)first, to));
    else {
      for (size_t k = 0; k < some; k += CHUNK) {
        const size_t count = PetscMin(CHUNK, some - k);
        uint16_t     codes[CHUNK];

        if (MuonArrayKernels(T)->Powers(count, x + k * MuonArrayEntryBytes(T), rounding == MUON_COMPRESSOR_ROUND_NEAREST ? MUON_KERNEL_HALF : 0, codes) != 0) c->status = MUON_STATUS_NANORINF;
        MuonWireNaturalEncode(count, codes, to + k / 8 * 9);
      }
    }
  }
  PetscCall(PetscLogFlops(((R != NULL ? 1.0 : 0.0) + (factor != 1.0 ? 1.0 : 0.0)) * (PetscLogDouble)entries));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorDenseFits_Private(MuonCompressor c, MuonWireValues codec, const MuonArray *T, const MuonArray *R)
{
  const size_t entries = MuonArrayEntries(T);
  double       few[STRIP];
  void        *scratch;
  size_t       strip;

  PetscFunctionBegin;
  PetscCall(MuonCompressorGetStrip_Private(c, T, few, &strip, &scratch));
  for (size_t first = 0; first < entries; first += strip) {
    const size_t some = PetscMin(strip, entries - first);

    if (!MuonArrayKernels(T)->IsBelow(some, 1, Strip(T, R, 1.0, first, some, scratch), some, MuonCompressorCodecLimit_Private(codec, T->precision))) c->status = MUON_STATUS_NANORINF;
  }
  if (R != NULL) PetscCall(PetscLogFlops((PetscLogDouble)entries));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorDenseDecode_Private(MuonCompressor c, MuonWireValues codec, const unsigned char payload[], PetscBool add, double scale, const MuonArray *Y)
{
  const MuonKernels *kernels = MuonArrayKernels(Y);
  const size_t       entries = MuonArrayEntries(Y);
  double             few[STRIP];
  void              *x;
  size_t             strip;

  PetscFunctionBegin;
  PetscCall(MuonCompressorGetStrip_Private(c, Y, few, &strip, &x));
  for (size_t first = 0; first < entries; first += strip) {
    const size_t some = PetscMin(strip, entries - first);

    if (Y->memory != MUON_HOST) PetscCall(MuonCompressorFarDecode_Private(c, codec, Y->precision, some, payload, first, x));
    else PetscCall(MuonCompressorValuesDecode_Private(codec, Y->precision, (PetscInt64)some, payload, (PetscInt64)first, x));
    kernels->Spread(Y->len, Y->count, first, some, x, add == PETSC_TRUE, scale, Y->data, Y->ld);
  }
  if (add == PETSC_TRUE) PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)entries));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void MuonCompressorWholeLayout_Private(const MuonArray *shape, MuonWireForm form, MuonWireValues codec, MuonCompressorLayout *layout)
{
  layout->form   = form;
  layout->values = codec;
  layout->count  = (PetscInt64)MuonArrayEntries(shape);
  layout->exact  = form == MUON_WIRE_DENSE ? PETSC_TRUE : PETSC_FALSE;
}

static PetscErrorCode MuonCompressorLayout_Dense(MuonCompressor c, const MuonArray *shape, MuonCompressorLayout *layout)
{
  PetscFunctionBegin;
  MuonCompressorWholeLayout_Private(shape, MUON_WIRE_DENSE, ((const MuonCompressorDense *)c->data)->codec, layout);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorEncode_Dense(MuonCompressor c, const MuonArray *T, const MuonArray *R, PetscInt64 *count, unsigned char payload[])
{
  const MuonCompressorDense *dense = (const MuonCompressorDense *)c->data;

  PetscFunctionBegin;
  *count = (PetscInt64)MuonArrayEntries(T);
  PetscCall(MuonCompressorDenseEncode_Private(c, dense->codec, dense->rounding, 1.0, T, R, payload));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDecode_Dense(MuonCompressor c, PetscInt64 count, const unsigned char payload[], PetscBool add, double scale, const MuonArray *Y)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorDenseDecode_Private(c, ((const MuonCompressorDense *)c->data)->codec, payload, add, scale, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorAlpha_Dense(MuonCompressor c, const MuonArray *shape, PetscReal *alpha)
{
  PetscFunctionBegin;
  *alpha = MuonCompressorCodecAlpha_Private(((const MuonCompressorDense *)c->data)->codec, shape->precision);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorView_Dense(MuonCompressor c, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "every entry, as %s: ratio, rank, values and bits have no meaning for this type\n", ((const MuonCompressorDense *)c->data)->as));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorSetDense_Private(MuonCompressor c, const MuonCompressorDense *dense)
{
  PetscFunctionBegin;
  c->data        = (void *)dense;
  c->ondevice    = PETSC_TRUE;
  c->ops->layout = MuonCompressorLayout_Dense;
  c->ops->encode = MuonCompressorEncode_Dense;
  c->ops->decode = MuonCompressorDecode_Dense;
  c->ops->alpha  = MuonCompressorAlpha_Dense;
  c->ops->view   = MuonCompressorView_Dense;
  PetscFunctionReturn(PETSC_SUCCESS);
}
