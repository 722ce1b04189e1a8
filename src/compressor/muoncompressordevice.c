/*
   Values of messages whose arrays are in the memory of a device. What crosses to the host and from there is
   as wide as what is written: codes for natural values, and binary32 for bfloat16.
*/
#include <petscmuon/private/muoncompressorcodec.h>

/* Values that cross at once; a multiple of 8, because eight natural codes fill whole bytes */
#define CHUNK ((size_t)1 << 20)

static MuonPrecision Crosses(MuonWireValues codec, MuonPrecision precision)
{
  return codec == MUON_WIRE_VALUES_DOUBLE ? precision : MUON_SINGLE;
}

PetscErrorCode MuonCompressorFetch_Private(MuonCompressor c, MuonWireValues codec, size_t count, const void *x, MuonPrecision *precision, void **near)
{
  const MuonKernels  *kernels = MuonKernelsGet(*precision, MUON_DEVICE);
  const MuonPrecision crosses = Crosses(codec, *precision);

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGetPinned(c->work, MUON_DEVICE, count * MuonKernelsGet(crosses, MUON_HOST)->size, near));
  /* What is not finite then is met by who writes it */
  if (crosses != *precision) (void)kernels->ToSingle(count, x, (float *)*near);
  else MuonDeviceGet()->copy(count * kernels->size, x, *near);
  *precision = crosses;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorFarEncode_Private(MuonCompressor c, MuonWireValues codec, MuonCompressorRounding rounding, MuonPrecision precision, size_t count, const void *x, uint64_t first, unsigned char to[])
{
  const MuonKernelStream stream  = MuonCompressorStream_Private(c);
  const MuonKernels     *kernels = MuonKernelsGet(precision, MUON_DEVICE);

  PetscFunctionBegin;
  for (size_t k = 0; k < count && c->status == MUON_STATUS_OK; k += CHUNK) {
    const size_t   some    = PetscMin(CHUNK, count - k);
    const void    *from    = (const char *)x + k * kernels->size;
    unsigned char *section = to + MuonWireValuesBytes(codec, k);
    MuonMark       mark;

    PetscCall(MuonWorkspaceMark(c->work, &mark));
    if (codec == MUON_WIRE_VALUES_NATURAL) {
      uint16_t *codes;
      int       infinite;

      PetscCall(MuonWorkspaceGetPinned(c->work, MUON_DEVICE, some * sizeof(*codes), &codes));
      if (rounding == MUON_COMPRESSOR_ROUND_RANDOM) infinite = kernels->Natural(some, from, &stream, first + k, 1, codes);
      else infinite = kernels->Powers(some, from, rounding == MUON_COMPRESSOR_ROUND_NEAREST ? MUON_KERNEL_HALF : 0, codes);
      if (infinite != 0) c->status = MUON_STATUS_NANORINF;
      else MuonWireNaturalEncode(some, codes, section);
    } else {
      MuonPrecision crosses = precision;
      void         *y;

      PetscCall(MuonCompressorFetch_Private(c, codec, some, from, &crosses, &y));
      PetscCall(MuonCompressorValuesEncode_Private(c, codec, crosses, (PetscInt64)some, y, 0, section));
    }
    PetscCall(MuonWorkspaceRelease(c->work, &mark));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorFarDecode_Private(MuonCompressor c, MuonWireValues codec, MuonPrecision precision, size_t count, const unsigned char from[], uint64_t first, void *x)
{
  const MuonKernels  *kernels = MuonKernelsGet(precision, MUON_DEVICE);
  const MuonPrecision crosses = Crosses(codec, precision);
  const size_t        size    = codec == MUON_WIRE_VALUES_NATURAL ? sizeof(uint16_t) : MuonKernelsGet(crosses, MUON_HOST)->size;

  PetscFunctionBegin;
  for (size_t k = 0; k < count; k += CHUNK) {
    const size_t some = PetscMin(CHUNK, count - k);
    void        *to   = (char *)x + k * kernels->size, *y, *singles;
    MuonMark     mark;

    PetscCall(MuonWorkspaceMark(c->work, &mark));
    PetscCall(MuonWorkspaceGetPinned(c->work, MUON_DEVICE, some * size, &y));
    if (codec == MUON_WIRE_VALUES_NATURAL) {
      MuonWireNaturalDecode(some, from, first + k, (uint16_t *)y);
      kernels->NaturalValues(some, (uint16_t *)y, to);
    } else {
      PetscCall(MuonCompressorValuesDecode_Private(codec, crosses, (PetscInt64)some, from, (PetscInt64)(first + k), y));
      if (crosses == precision) MuonDeviceGet()->copy(some * size, y, to);
      else {
        PetscCall(MuonWorkspaceGetIn(c->work, MUON_DEVICE, some * size, &singles));
        MuonDeviceGet()->copy(some * size, y, singles);
        kernels->AxpbyOther(some, 1, 1.0, singles, some, 0.0, to, some);
      }
    }
    PetscCall(MuonWorkspaceRelease(c->work, &mark));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
