static char help[] = "No byte that came over a wire is trusted: flipped, cut, prolonged and foreign messages are refused, or are finite.\n";

#include "compressor_common.h"
#include <petscmuon/private/muoncompressorcodec.h>

/* A type of which no size tells how much it keeps: the entries of at least 1 */
static PetscErrorCode MuonCompressorLayout_AtLeast(MuonCompressor c, const MuonArray *shape, MuonCompressorLayout *layout)
{
  PetscFunctionBegin;
  layout->header.kind   = MUON_WIRE_SPARSE;
  layout->header.values = (uint8_t)MuonCompressorCodec_Private(c, shape);
  layout->header.count  = MuonArrayEntries(shape);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorEncode_AtLeast(MuonCompressor c, const MuonArray *T, const MuonArray *R, MuonCompressorLayout *layout, unsigned char payload[])
{
  const MuonKernels   *kernels = MuonArrayKernels(T);
  const size_t         d       = MuonArrayEntries(T);
  const MuonWireValues codec   = MuonCompressorCodec_Private(c, T);
  MuonArray            x       = *T;
  unsigned char       *bitmap;
  size_t               kept = 0;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1((d + 63) / 64 * 8, &bitmap));
  PetscCall(PetscMalloc(d * sizeof(double) + 1, &x.data));
  kernels->Residual(T->len, T->count, T->data, T->ld, R != NULL ? R->data : NULL, R != NULL ? R->ld : 0, 0, d, x.data);
  for (size_t e = 0; e < d; e++) {
    /* NaN is less than nothing */
    if (fabs(GetRaw(&x, e)) < 1) continue;
    bitmap[e / 8] |= (unsigned char)(1 << e % 8);
    SetRaw(&x, kept++, GetRaw(&x, e));
    if (!(fabs(GetRaw(&x, e)) < MuonCompressorCodecLimit_Private(codec, T->precision))) c->status = MUON_STATUS_NANORINF;
  }
  PetscCall(MuonCompressorSetCount(c, layout, kept));
  MuonWireIndicesEncode((MuonWireIndices)layout->header.indices, d, kept, bitmap, payload);
  payload += layout->section.valuesat;
  if (codec != MUON_WIRE_VALUES_NATURAL) PetscCall(MuonCompressorValuesEncode_Private(c, codec, MUON_COMPRESSOR_ROUND_RANDOM, MUON_HOST, T->precision, kept, x.data, 0, payload));
  else {
    /* Natural values are rounded from binary32 */
    for (size_t k = 0; k < kept; k++) ((float *)x.data)[k] = (float)GetRaw(&x, k);
    PetscCall(MuonCompressorKeptEncode_Private(c, codec, MUON_SINGLE, d, bitmap, (PetscInt64)kept, x.data, payload));
  }
  PetscCall(PetscFree(bitmap));
  PetscCall(PetscFree(x.data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDecode_AtLeast(MuonCompressor c, const MuonCompressorLayout *layout, const unsigned char payload[], PetscBool add, double scale, const MuonArray *Y)
{
  MuonWireIndexReader reader;

  PetscFunctionBegin;
  MuonWireIndexReaderInit(&reader, (MuonWireIndices)layout->header.indices, layout->section.numbered, layout->header.count, payload);
  PetscCall(MuonCompressorKeptDecode_Private(c, (MuonWireValues)layout->header.values, (PetscInt64)layout->header.count, &reader, payload + layout->section.valuesat, add, scale, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorCreate_AtLeast(MuonCompressor c)
{
  PetscFunctionBegin;
  c->ops->layout = MuonCompressorLayout_AtLeast;
  c->ops->encode = MuonCompressorEncode_AtLeast;
  c->ops->decode = MuonCompressorDecode_AtLeast;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How much messages of a matrix keep */
static PetscErrorCode GetLayout(MuonCompressor c, Matrix shape, MuonCompressorLayout *layout)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(layout, sizeof(*layout)));
  PetscCall((*c->ops->layout)(c, &shape->array, layout));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   MuonCompressorDecode() must refuse, with a PETSc error and not by writing somewhere, exactly what MuonCompressorValidateArray() refuses. A copy of
   exactly so many bytes, so that tools that watch memory see a read past its end
*/
static PetscErrorCode CheckBytes(MuonCompressor c, size_t bytes, const unsigned char buf[], Matrix Y, PetscBool *valid)
{
  PetscErrorCode ierr;
  unsigned char *copy;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(bytes, &copy));
  PetscCall(PetscArraycpy(copy, buf, bytes));
  PetscCall(MuonCompressorValidateArray(c, &Y->array, bytes, copy, PETSC_FALSE, NULL, NULL, valid));
  if (*valid) {
    PetscCall(MuonCompressorDecode(c, PETSC_FALSE, 1, bytes, copy, Y->mat));
    TestCheck(!isnan(Squares(Y, NULL)), "A valid message holds NaN");
  } else {
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = MuonCompressorDecode(c, PETSC_FALSE, 1, bytes, copy, Y->mat);
    if (ierr != PETSC_SUCCESS) ierr = MuonCompressorDecode(c, PETSC_TRUE, 1.0, bytes, copy, Y->mat);
    PetscCall(PetscPopErrorHandler());
    TestCheck(ierr != PETSC_SUCCESS, "A message that is not valid was decoded");
  }
  PetscCall(PetscFree(copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckMessage(const char choice[], PetscInt m, PetscInt n)
{
  MuonCompressor       c, other;
  Matrix               X, Y, Z;
  Message              M, longer;
  size_t               bytes, most, othermost, head;
  PetscInt             accepted = 0;
  PetscBool            valid;
  unsigned long long   count, payload;
  MuonCompressorLayout layout;

  PetscFunctionBegin;
  PetscCall(Make(&c, choice));
  PetscCall(New(m, n, &X, &Y));
  PetscCall(New(m + 1, n, &Z));
  PetscCall(NewMessage(&M, &longer));
  Random(X, 1);
  PetscCall(Send(c, X, NULL, M));
  bytes = M->bytes;
  PetscCall(CheckBytes(c, bytes, M->buf, Y, &valid));
  TestCheck(valid, "%s: a good message is refused", choice);

  head = TestHeader(M->buf, &count, &payload);
  for (size_t bit = 0; bit < 8 * bytes; bit++) {
    M->buf[bit / 8] ^= (unsigned char)(1 << bit % 8);
    PetscCall(CheckBytes(c, bytes, M->buf, Y, &valid));
    TestCheck(!valid || bit / 8 >= head, "%s: bit %zu of the header does not matter", choice, bit);
    accepted += valid;
    M->buf[bit / 8] ^= (unsigned char)(1 << bit % 8);
  }
  /* Without a checksum, which packets have, a flipped bit of a value is another value */
  TestCheck(accepted > 0 || payload == 0, "%s: no value can be changed", choice);
  for (size_t cut = 0; cut < bytes; cut++) {
    PetscCall(CheckBytes(c, cut, M->buf, Y, &valid));
    TestCheck(!valid, "%s: %zu of %zu bytes are accepted", choice, cut, bytes);
  }
  PetscCall(PetscCalloc1(bytes + 1, &longer->buf));
  memcpy(longer->buf, M->buf, bytes);
  PetscCall(CheckBytes(c, bytes + 1, longer->buf, Y, &valid));
  TestCheck(!valid, "%s: a byte too many is accepted", choice);

  /* Numbers drawn at random in the places of the header */
  for (PetscInt k = 0; k < 2000; k++) {
    for (PetscInt b = 0; b < 1 + k % 4; b++) M->buf[Bits() % head] = (unsigned char)(Bits() % 3 == 0 ? 0xFF : Bits() % 256);
    PetscCall(CheckBytes(c, bytes, M->buf, Y, &valid));
    memcpy(M->buf, longer->buf, head);
  }

  /* Other layers, other shapes, other choices */
  PetscCall(MuonCompressorSetStream(c, 1, "v", 0, 0));
  PetscCall(CheckBytes(c, bytes, M->buf, Y, &valid));
  TestCheck(!valid, "%s: the message of another layer is accepted", choice);
  PetscCall(MuonCompressorSetStream(c, 11, "attn.qkv", 3, 1));
  PetscCall(CheckBytes(c, bytes, M->buf, Z, &valid));
  /*
     One entry among a few, or none, may be one of either size; so may be entries among others where nobody
     knows how many there are
  */
  PetscCall(MuonCompressorGetMaxBytes(c, m, n, &most));
  PetscCall(MuonCompressorGetMaxBytes(c, m + 1, n, &othermost));
  PetscCall(GetLayout(c, X, &layout));
  if (!layout.exact && layout.header.kind == MUON_WIRE_SPARSE) valid = PETSC_FALSE;
  TestCheck(!valid || payload == 0 || most == othermost, "%s: a message of another size is accepted", choice);
  PetscCall(Make(&other, Is(c, "identity") ? "natural" : "identity values native"));
  PetscCall(CheckBytes(other, bytes, M->buf, Y, &valid));
  /* Every entry in the width of PetscScalar looks alike, whoever sends it */
  if (M->buf[4] == 0 && payload == (unsigned long long)m * n * sizeof(PetscScalar)) valid = PETSC_FALSE;
  TestCheck(!valid, "A message of %s is accepted by another type", choice);
  /*
     Objects that choose otherwise: what has values of another kind is of another size, and what keeps less
     takes no more than that; codes have other bits, and blocks another length
  */
  for (int k = 0; k < (Is(c, "qsgd") ? 4 : 2); k++) {
    PetscBool expected = PETSC_FALSE;

    PetscCall(Make(&other, choice));
    if (k == 3) PetscCall(Tune(other, "bits %d", c->bits == 8 ? 7 : (int)c->bits + 1));
    else if (k == 2) PetscCall(Tune(other, "qsgd_block_length 512"));
    else if (k == 1) PetscCall(MuonCompressorSetRatio(other, c->ratio / 2));
    else PetscCall(Tune(other, "values %s", MuonCompressorValuesOf(c) == MUON_COMPRESSOR_VALUES_SINGLE ? "bf16" : "single"));
    PetscCall(MuonCompressorGetMaxBytes(other, m, n, &othermost));
    PetscCall(GetLayout(other, X, &layout));
    if (k == 0) expected = most == othermost ? PETSC_TRUE : PETSC_FALSE;
    if (k == 1) expected = count == layout.header.count || (!layout.exact && count < layout.header.count) ? PETSC_TRUE : PETSC_FALSE;
    PetscCall(CheckBytes(other, bytes, M->buf, Y, &valid));
    TestCheck(valid == expected, "%s: %s", choice, k == 0 ? "values of another kind" : k == 1 ? "a message that keeps more" : "other blocks");
  }
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of zero there may be a header alone: each of its bits matters all the same */
static PetscErrorCode CheckEmpty(const char choice[])
{
  MuonCompressor     c;
  Matrix             X, Y;
  Message            M;
  PetscBool          valid;
  unsigned long long count, payload;

  PetscFunctionBegin;
  PetscCall(Make(&c, choice));
  PetscCall(New(6, 5, &X, &Y));
  PetscCall(NewMessage(&M));
  PetscCall(Send(c, X, NULL, M));
  for (size_t bit = 0; bit < 8 * TestHeader(M->buf, &count, &payload); bit++) {
    TestCheck(payload == 0 || !Is(c, "rankk sign"), "%s: %zu bytes for a zero matrix", choice, M->bytes);
    M->buf[bit / 8] ^= (unsigned char)(1 << bit % 8);
    PetscCall(CheckBytes(c, M->bytes, M->buf, Y, &valid));
    /* No codes at all may be coded */
    if (M->buf[4] == (MUON_WIRE_BLOCKS | MUON_WIRE_INDICES_CODED << 4) && payload == 0) valid = PETSC_FALSE;
    TestCheck(!valid, "%s: bit %zu of the header of a zero matrix does not matter", choice, bit);
    M->buf[bit / 8] ^= (unsigned char)(1 << bit % 8);
  }
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Choice choice;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestStart(7));
  PetscCall(MuonCompressorRegister("atleast", MuonCompressorCreate_AtLeast, NULL));
  for (PetscInt k = 0; TestChoice(k, choice); k++) {
    PetscCall(CheckMessage(choice, 9, 13));
    PetscCall(CheckMessage(choice, 5, 3));
    PetscCall(CheckEmpty(choice));
  }
  for (int values = MUON_COMPRESSOR_VALUES_NATIVE; values <= MUON_COMPRESSOR_VALUES_NATURAL; values++) {
    PetscCall(PetscSNPrintf(choice, sizeof(choice), "topk ratio 0.05 values %s", MuonCompressorValuesTypes[values]));
    PetscCall(CheckMessage(choice, 21, 33));
    PetscCall(PetscSNPrintf(choice, sizeof(choice), "randk ratio 0.9 values %s", MuonCompressorValuesTypes[values]));
    PetscCall(CheckMessage(choice, 11, 5));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  # Numbers of double precision that a forged message has are infinite in single
  build:
    requires: double

  test:

TEST*/
