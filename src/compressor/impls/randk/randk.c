#include <petscmuon/private/muoncompressorcodec.h>
#include "../../../kernels/codec/muonkernels.h"

/* Bytes of a seed */
enum {
  SEED = 8
};

static PetscErrorCode MuonCompressorLayout_RandK(MuonCompressor c, const MuonArray *shape, MuonCompressorLayout *layout)
{
  PetscFunctionBegin;
  layout->form   = MUON_WIRE_SEEDED;
  layout->values = MuonCompressorCodec_Private(c->values, shape);
  layout->count  = MuonCompressorKept_Private(c->ratio, (PetscInt64)MuonArrayEntries(shape));
  layout->exact  = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorEncode_RandK(MuonCompressor c, const MuonArray *T, const MuonArray *R, PetscInt64 *count, unsigned char payload[])
{
  const size_t         d         = MuonArrayEntries(T);
  const PetscInt64     kept      = MuonCompressorKept_Private(c->ratio, (PetscInt64)d);
  const MuonWireValues codec     = MuonCompressorCodec_Private(c->values, T);
  MuonPrecision        precision = T->precision;
  uint32_t             words[4];
  uint64_t             seed;
  void                *values;
  unsigned char       *bitmap;

  PetscFunctionBegin;
  *count = kept;
  PetscCall(MuonWorkspaceGetIn(c->work, T->memory, (size_t)kept * MuonArrayEntryBytes(T), &values));
  PetscCall(MuonWorkspaceGetPinned(c->work, T->memory, (d + 63) / 64 * 8, &bitmap));
  MuonCompressorWords_Private(c, words);
  seed = (uint64_t)words[0] | (uint64_t)words[1] << 32;
  for (int b = 0; b < SEED; b++) payload[b] = (unsigned char)(seed >> 8 * b & 255u);
  payload += SEED;
  MuonKernelSubset(d, (size_t)kept, seed, bitmap);
  if (R != NULL) PetscCall(PetscLogFlops((PetscLogDouble)d));
  /* Whether a step fails must not depend on which entries were drawn: the others are looked at too */
  if (MuonArrayKernels(T)->Gather(T->len, T->count, T->data, T->ld, R != NULL ? R->data : NULL, R != NULL ? R->ld : 0, MuonCompressorCodecLimit_Private(codec, T->precision), bitmap, values) != 0) c->status = MUON_STATUS_NANORINF;
  else {
    if (T->memory != MUON_HOST) PetscCall(MuonCompressorFetch_Private(c, codec, (size_t)kept, values, &precision, &values));
    PetscCall(MuonCompressorKeptEncode_Private(c, codec, precision, d, bitmap, kept, values, payload));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Any seed is one */
static PetscErrorCode MuonCompressorDecode_RandK(MuonCompressor c, PetscInt64 count, const unsigned char payload[], PetscBool add, double scale, const MuonArray *Y)
{
  const size_t        d    = MuonArrayEntries(Y);
  uint64_t            seed = 0;
  unsigned char      *bitmap;
  MuonWireIndexReader reader;

  PetscFunctionBegin;
  for (int b = 0; b < SEED; b++) seed |= (uint64_t)payload[b] << 8 * b;
  PetscCall(MuonWorkspaceGetPinned(c->work, Y->memory, (d + 63) / 64 * 8, &bitmap));
  MuonKernelSubset(d, (size_t)count, seed, bitmap);
  MuonWireIndexReaderInit(&reader, MUON_WIRE_INDICES_BITMAP, d, (uint64_t)count, bitmap);
  PetscCall(MuonCompressorKeptDecode_Private(c, MuonCompressorCodec_Private(c->values, Y), count, &reader, payload + SEED, add, scale, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* E ||C(X) - X||^2 is (1 - K/d) ||X||^2, and of the kept K/d what the values lose */
static PetscErrorCode MuonCompressorAlpha_RandK(MuonCompressor c, const MuonArray *shape, PetscReal *alpha)
{
  const PetscInt64 d = (PetscInt64)MuonArrayEntries(shape);

  PetscFunctionBegin;
  *alpha = MuonCompressorRoundDown_Private((double)MuonCompressorCodecAlpha_Private(MuonCompressorCodec_Private(c->values, shape), shape->precision) * (double)MuonCompressorKept_Private(c->ratio, d) / (double)d);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorView_RandK(MuonCompressor c, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "ratio: %g of the entries, at random, values: %s, seed %" PetscInt64_FMT "\n", (double)c->ratio, MuonCompressorValuesTypes[c->values], c->seed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MUONCOMPRESSORRANDK - Keeps entries chosen at random

   Options Database Keys:
+  -compressor_ratio r                                    - keeps max(1, floor(r m n)) entries of an m x n matrix
-  -compressor_values (native|double|single|bf16|natural) - how the kept entries are written

   Level: intermediate

   Notes:
   Every set of that many entries is equally likely, up to what the 64 bits of a seed can tell apart. Kept
   entries are not scaled, so that the compressor is biased and contracts: the constant in the Frobenius norm
   is the kept fraction K/(m n) of the entries, times 7/8 with natural values, and with exact values E ||C(X)
   - X||^2 = (1 - K/(m n)) ||X||^2 for every X.

   The message holds the seed and the values, no positions: the receiver draws them again. The seed is a
   random number of the stream that `MuonCompressorSetStream()` and `MuonCompressorSetStep()` choose: words 0
   and 1 of Philox4x32-10 at the counter (2^32 - 1, hash of the name, step, sender + 2^31 direction). What it
   stands for is defined in src/wire/README.md. Senders, steps, layers and directions have different seeds,
   the same object has the same for the same step.

   An entry that is not finite, or too large for how values are written, makes the message fail, whether or
   not it is kept.

.seealso: `MuonCompressor`, `MuonCompressorType`, `MuonCompressorSetType()`, `MuonCompressorSetRatio()`, `MuonCompressorSetValues()`, `MuonCompressorSetStream()`, `MUONCOMPRESSORTOPK`
M*/
PETSC_INTERN PetscErrorCode MuonCompressorCreate_RandK(MuonCompressor c)
{
  PetscFunctionBegin;
  c->ondevice      = PETSC_TRUE;
  c->ops->layout   = MuonCompressorLayout_RandK;
  c->ops->encode   = MuonCompressorEncode_RandK;
  c->ops->decode   = MuonCompressorDecode_RandK;
  c->ops->alpha    = MuonCompressorAlpha_RandK;
  c->ops->view     = MuonCompressorView_RandK;
  c->ops->describe = MuonCompressorDescribe_Ratio;
  PetscFunctionReturn(PETSC_SUCCESS);
}
