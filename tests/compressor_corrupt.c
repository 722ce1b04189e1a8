static char help[] = "No byte that came over a wire is trusted: messages with any bit flipped, cut, prolonged or meant for another layer are refused, or decode to finite numbers.\n";

#include "compressor_common.h"
#include "wire_header.h"
#include <petscmuon/private/muoncompressorcodec.h>
#include "parameters.h"

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
  unsigned char       *bitmap;
  void                *x;
  float                y;
  size_t               kept = 0;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1((d + 63) / 64 * 8, &bitmap));
  PetscCall(PetscMalloc(d * MuonArrayEntryBytes(T) + 1, &x));
  kernels->Residual(T->len, T->count, T->data, T->ld, R != NULL ? R->data : NULL, R != NULL ? R->ld : 0, 0, d, x);
  for (size_t e = 0; e < d; e++) {
    const double size = fabs(T->precision == MUON_SINGLE ? (double)((float *)x)[e] : ((double *)x)[e]);

    /* NaN is less than nothing */
    if (!(size < 1)) bitmap[e / 8] |= (unsigned char)(1 << e % 8);
    if (!(size < 1)) kept++;
  }
  if (kernels->Gather(T->len, T->count, T->data, T->ld, R != NULL ? R->data : NULL, R != NULL ? R->ld : 0, MuonCompressorCodecLimit_Private(codec, T->precision), bitmap, x) != 0) c->status = MUON_STATUS_NANORINF;
  PetscCall(MuonCompressorSetCount(c, layout, kept));
  MuonWireIndicesEncode((MuonWireIndices)layout->header.indices, d, kept, bitmap, payload);
  payload += layout->section.valuesat;
  if (codec != MUON_WIRE_VALUES_NATURAL) PetscCall(MuonCompressorValuesEncode_Private(c, codec, MUON_COMPRESSOR_ROUND_RANDOM, MUON_HOST, T->precision, kept, x, 0, payload));
  else {
    /* Natural values are rounded from binary32 */
    for (size_t k = 0; k < kept && T->precision == MUON_DOUBLE; k++) {
      y = (float)((double *)x)[k];
      memcpy((float *)x + k, &y, sizeof(y));
    }
    PetscCall(MuonCompressorKeptEncode_Private(c, codec, MUON_SINGLE, d, bitmap, (PetscInt64)kept, x, payload));
  }
  PetscCall(PetscFree(bitmap));
  PetscCall(PetscFree(x));
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

/* How much messages of an m x n matrix keep */
static PetscErrorCode GetLayout(MuonCompressor c, PetscInt m, PetscInt n, MuonCompressorLayout *layout)
{
  const MuonArray shape = {NULL, (size_t)m, (size_t)n, (size_t)m, PetscDefined(USE_REAL_SINGLE) ? MUON_SINGLE : MUON_DOUBLE, MUON_HOST, 0, 0};

  PetscFunctionBegin;
  PetscCall(PetscMemzero(layout, sizeof(*layout)));
  PetscCall((*c->ops->layout)(c, &shape, layout));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   MuonCompressorDecode() must refuse, with a PETSc error and not by writing somewhere, exactly what
   MuonCompressorValidate() refuses
*/
static PetscErrorCode CheckBytes(MuonCompressor c, size_t bytes, const unsigned char buf[], Mat Y, PetscBool *valid)
{
  PetscErrorCode ierr;
  PetscInt       m, n;
  PetscReal      squares = 0;

  PetscFunctionBegin;
  PetscCall(MatGetSize(Y, &m, &n));
  PetscCall(MuonCompressorValidate(c, m, n, bytes, buf, valid));
  if (*valid) {
    PetscCall(MuonCompressorDecode(c, PETSC_FALSE, 1, bytes, buf, Y));
    PetscCall(TestMatSquares(Y, &squares));
    TestCheck(!PetscIsNanReal(squares), "A valid message holds NaN");
  } else {
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = MuonCompressorDecode(c, PETSC_FALSE, 1, bytes, buf, Y);
    if (ierr != PETSC_SUCCESS) ierr = MuonCompressorDecode(c, PETSC_TRUE, 1.0, bytes, buf, Y);
    PetscCall(PetscPopErrorHandler());
    TestCheck(ierr != PETSC_SUCCESS, "A message that is not valid was decoded");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A copy of exactly so many bytes, so that tools that watch memory see a read past its end */
static PetscErrorCode CheckCopy(MuonCompressor c, size_t bytes, const unsigned char buf[], Mat Y, PetscBool *valid)
{
  unsigned char *copy;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(bytes, &copy));
  PetscCall(PetscArraycpy(copy, buf, bytes));
  PetscCall(CheckBytes(c, bytes, copy, Y, valid));
  PetscCall(PetscFree(copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckMessage(const TestChoice *choice, PetscInt m, PetscInt n)
{
  const char          *type = choice->type;
  TestChoice           otherchoice;
  MuonCompressor       c, other;
  Mat                  X, Y, Z;
  unsigned char       *buf;
  size_t               bytes, most, othermost;
  PetscInt             accepted = 0;
  PetscBool            valid, identity;
  unsigned long long   state = 7;
  unsigned long long   count, payload;
  size_t               head;
  MuonCompressorLayout layout;

  PetscFunctionBegin;
  PetscCall(TestCreate(choice, &c));
  PetscCall(MuonCompressorSetStream(c, 1, "w", 0, 0));
  PetscCall(TestMatCreate(m, n, 1, &X));
  PetscCall(TestMatCreate(m, n, 1, &Y));
  PetscCall(TestMatNormal(X, 1.0, &state));
  PetscCall(TestEncode(c, X, NULL, &buf, &bytes));
  PetscCall(CheckBytes(c, bytes, buf, Y, &valid));
  TestCheck(valid, "%s: a good message is refused", type);

  head = TestHeader(buf, &count, &payload);
  for (size_t bit = 0; bit < 8 * bytes; bit++) {
    buf[bit / 8] ^= (unsigned char)(1 << bit % 8);
    PetscCall(CheckBytes(c, bytes, buf, Y, &valid));
    TestCheck(!valid || bit / 8 >= head, "%s: bit %zu of the header does not matter", type, bit);
    if (valid) accepted++;
    buf[bit / 8] ^= (unsigned char)(1 << bit % 8);
  }
  /* Without a checksum, which packets have, a flipped bit of a value is another value */
  TestCheck(accepted > 0 || payload == 0, "%s: no value can be changed", type);

  for (size_t cut = 0; cut < bytes; cut++) {
    PetscCall(CheckCopy(c, cut, buf, Y, &valid));
    TestCheck(!valid, "%s: %zu of %zu bytes are accepted", type, cut, bytes);
  }
  {
    unsigned char *longer;

    PetscCall(PetscCalloc1(bytes + 1, &longer));
    PetscCall(PetscArraycpy(longer, buf, bytes));
    PetscCall(CheckBytes(c, bytes + 1, longer, Y, &valid));
    TestCheck(!valid, "%s: a byte too many is accepted", type);
    PetscCall(PetscFree(longer));
  }

  /* Numbers drawn at random in the places of the header, the payload as it is or all ones */
  for (PetscInt k = 0; k < 2000; k++) {
    unsigned char header[32];

    PetscCall(PetscArraycpy(header, buf, head));
    for (PetscInt b = 0; b < 1 + k % 4; b++) buf[TestBits(&state) % head] = (unsigned char)(TestBits(&state) % 3 == 0 ? 0xFF : TestBits(&state) % 256);
    PetscCall(CheckCopy(c, bytes, buf, Y, &valid));
    PetscCall(PetscArraycpy(buf, header, head));
  }

  /* Other layers, other shapes, other choices */
  PetscCall(MuonCompressorSetStream(c, 1, "v", 0, 0));
  PetscCall(CheckBytes(c, bytes, buf, Y, &valid));
  TestCheck(!valid, "%s: the message of another layer is accepted", type);
  PetscCall(MuonCompressorSetStream(c, 1, "w", 0, 0));
  PetscCall(TestMatCreate(m + 1, n, 0, &Z));
  PetscCall(CheckBytes(c, bytes, buf, Z, &valid));
  /*
     One entry among a few, or none, may be one of either size; so may be entries among others where nobody
     knows how many there are
  */
  PetscCall(MuonCompressorGetMaxBytes(c, m, n, &most));
  PetscCall(MuonCompressorGetMaxBytes(c, m + 1, n, &othermost));
  PetscCall(GetLayout(c, m, n, &layout));
  TestCheck(!valid || payload == 0 || most == othermost || (layout.exact == PETSC_FALSE && layout.header.kind == MUON_WIRE_SPARSE), "%s: a message of another size is accepted", type);
  PetscCall(TestMatDestroy(&Z));
  PetscCall(TestIs(choice, MUONCOMPRESSORIDENTITY, &identity));
  otherchoice      = *choice;
  otherchoice.type = identity ? MUONCOMPRESSORNATURAL : MUONCOMPRESSORIDENTITY;
  PetscCall(TestCreate(&otherchoice, &other));
  PetscCall(MuonCompressorSetStream(other, 1, "w", 0, 0));
  PetscCall(CheckBytes(other, bytes, buf, Y, &valid));
  /* Every entry in the width of PetscScalar looks alike, whoever sends it */
  TestCheck(!valid || (buf[4] == 0 && payload == (unsigned long long)m * n * sizeof(PetscScalar)), "A message of %s is accepted by another type", type);
  PetscCall(MuonCompressorDestroy(&other));
  /*
     Objects that choose otherwise: what has values of another kind is of another size, and what keeps less
     takes no more than that
  */
  for (int k = 0; k < 2; k++) {
    PetscBool expected;

    otherchoice = *choice;
    if (k == 0) otherchoice.values = choice->values == MUON_COMPRESSOR_VALUES_SINGLE ? MUON_COMPRESSOR_VALUES_BF16 : MUON_COMPRESSOR_VALUES_SINGLE;
    else otherchoice.ratio /= 2;
    PetscCall(TestCreate(&otherchoice, &other));
    PetscCall(MuonCompressorSetStream(other, 1, "w", 0, 0));
    PetscCall(MuonCompressorGetMaxBytes(c, m, n, &most));
    PetscCall(MuonCompressorGetMaxBytes(other, m, n, &othermost));
    PetscCall(GetLayout(other, m, n, &layout));
    if (k == 0) expected = most == othermost ? PETSC_TRUE : PETSC_FALSE;
    else expected = (layout.exact == PETSC_TRUE ? (uint64_t)count == layout.header.count : (uint64_t)count <= layout.header.count) ? PETSC_TRUE : PETSC_FALSE;
    PetscCall(CheckBytes(other, bytes, buf, Y, &valid));
    TestCheck(valid == expected, "%s: %s", type, k == 0 ? "values of another kind" : "a message that keeps more");
    PetscCall(MuonCompressorDestroy(&other));
  }

  PetscCall(PetscFree(buf));
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of zero there may be a header alone: each of its bits matters all the same */
static PetscErrorCode CheckEmpty(const TestChoice *choice)
{
  MuonCompressor     c;
  Mat                X, Y;
  unsigned char     *buf;
  size_t             bytes;
  PetscBool          valid, sign, rankk;
  unsigned long long count, payload;
  size_t             head;

  PetscFunctionBegin;
  PetscCall(TestCreate(choice, &c));
  PetscCall(TestMatCreate(6, 5, 0, &X));
  PetscCall(TestMatCreate(6, 5, 0, &Y));
  PetscCall(TestEncode(c, X, NULL, &buf, &bytes));
  head = TestHeader(buf, &count, &payload);
  PetscCall(TestIs(choice, MUONCOMPRESSORRANKK, &rankk));
  PetscCall(TestIs(choice, MUONCOMPRESSORSIGN, &sign));
  TestCheck(payload == 0 || (!rankk && !sign), "%s: %zu bytes for a zero matrix", choice->type, bytes);
  for (size_t bit = 0; bit < 8 * head; bit++) {
    buf[bit / 8] ^= (unsigned char)(1 << bit % 8);
    PetscCall(CheckBytes(c, bytes, buf, Y, &valid));
    /* No codes at all may be coded */
    TestCheck(!valid || (buf[4] == (MUON_WIRE_BLOCKS | MUON_WIRE_INDICES_CODED << 4) && payload == 0), "%s: bit %zu of the header of a zero matrix does not matter", choice->type, bit);
    buf[bit / 8] ^= (unsigned char)(1 << bit % 8);
  }
  PetscCall(PetscFree(buf));
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  TestChoice choices[TEST_MOST_CHOICES];
  PetscInt   nchoices = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(MuonCompressorRegister("atleast", MuonCompressorCreate_AtLeast, NULL));
  PetscCall(TestGetChoices(&nchoices, choices));
  for (PetscInt k = 0; k < nchoices; k++) {
    PetscCall(CheckMessage(&choices[k], 9, 13));
    PetscCall(CheckMessage(&choices[k], 5, 3));
    PetscCall(CheckEmpty(&choices[k]));
  }
  for (int values = MUON_COMPRESSOR_VALUES_NATIVE; values <= MUON_COMPRESSOR_VALUES_NATURAL; values++) {
    const TestChoice few = {MUONCOMPRESSORTOPK, 0.05, PETSC_DETERMINE, (MuonCompressorValues)values, 0}, many = {MUONCOMPRESSORRANDK, 0.9, PETSC_DETERMINE, (MuonCompressorValues)values, 0};

    PetscCall(CheckMessage(&few, 21, 33));
    PetscCall(CheckMessage(&many, 11, 5));
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
