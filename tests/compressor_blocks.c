/*
   A compressor with blocks is one compressor for each block, to the last bit: messages, what is decoded,
   costs, constants and state. What the message of the blocks is refused for, and that a grid of one block is
   none.
*/
#include "compressor_common.h"
#include <petscmuon/private/muonwire.h>
#include "parameters.h"

enum {
  M    = 12,
  N    = 10,
  STEP = 3 /* messages in a row, for types with state */
};

typedef struct {
  PetscInt        nrows, ncolumns;
  const PetscInt *rows, *columns;
  PetscInt        rowstart[8], columnstart[8];
} Grid;

static void GridStarts(PetscInt count, const PetscInt sizes[], PetscInt whole, PetscInt start[])
{
  start[0] = 0;
  for (PetscInt i = 0; i < count; i++) start[i + 1] = start[i] + (sizes != NULL ? sizes[i] : whole / count);
}

/* Entries of a block of A to B, or of B to that block of A */
static PetscErrorCode CopyBlock(const Grid *grid, PetscInt k, Mat A, Mat B, PetscBool back)
{
  const PetscInt i0 = grid->rowstart[k / grid->ncolumns], j0 = grid->columnstart[k % grid->ncolumns];
  PetscScalar   *a, *b;
  PetscInt       m, n, lda, ldb;

  PetscFunctionBegin;
  PetscCall(MatGetSize(B, &m, &n));
  PetscCall(MatDenseGetLDA(A, &lda));
  PetscCall(MatDenseGetLDA(B, &ldb));
  PetscCall(MatDenseGetArray(A, &a));
  PetscCall(MatDenseGetArray(B, &b));
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = 0; i < m; i++) {
      if (back) a[i0 + i + (j0 + j) * lda] = b[i + j * ldb];
      else b[i + j * ldb] = a[i0 + i + (j0 + j) * lda];
    }
  }
  PetscCall(MatDenseRestoreArray(A, &a));
  PetscCall(MatDenseRestoreArray(B, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateCompressor(const char type[], const char name[], PetscReal ratio, MuonCompressorValues values, MuonCompressor *c)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, c));
  PetscCall(MuonCompressorSetType(*c, type));
  PetscCall(MuonCompressorSetRatio(*c, ratio));
  PetscCall(MuonObjectSetParameter((PetscObject)(*c), "compressor_values", MuonCompressorValuesTypes[values]));
  PetscCall(MuonCompressorSetStream(*c, 11, name, 3, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckSame(Mat X, Mat Y, const char type[], const char what[])
{
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(TestMatSame(X, Y, &same));
  TestCheck(same, "%s: %s is not that of the blocks", type, what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The object with blocks beside one object for each of them */
static PetscErrorCode CheckGrid(const char type[], MuonCompressorValues values, const Grid *grid, unsigned long long *state)
{
  const PetscInt count = grid->nrows * grid->ncolumns;
  MuonCompressor whole, *part;
  Mat            T, R, Y, Z;
  PetscReal      alpha, least = 2;
  size_t         most, sum    = 0, bytes, partbytes;
  unsigned char *buf, *partbuf;
  MuonStatus     status;

  PetscFunctionBegin;
  PetscCall(CreateCompressor(type, "w", (PetscReal)0.3, values, &whole));
  PetscCall(MuonCompressorSetBlocks(whole, grid->nrows, grid->rows, grid->ncolumns, grid->columns));
  PetscCall(TestMatCreate(M, N, 3, &T));
  PetscCall(TestMatCreate(M, N, 1, &R));
  PetscCall(TestMatCreate(M, N, 2, &Y));
  PetscCall(TestMatCreate(M, N, 0, &Z));
  PetscCall(PetscMalloc1(count, &part));
  for (PetscInt k = 0; k < count; k++) {
    const PetscInt m = grid->rowstart[k / grid->ncolumns + 1] - grid->rowstart[k / grid->ncolumns], n = grid->columnstart[k % grid->ncolumns + 1] - grid->columnstart[k % grid->ncolumns];
    char           name[16];

    PetscCall(PetscSNPrintf(name, sizeof(name), "w[%" PetscInt_FMT "]", k));
    PetscCall(CreateCompressor(type, name, (PetscReal)0.3, values, &part[k]));
    PetscCall(MuonCompressorGetAlpha(part[k], m, n, &alpha));
    least = PetscMin(least, alpha);
    PetscCall(MuonCompressorGetMaxBytes(part[k], m, n, &partbytes));
    sum += partbytes;
  }
  PetscCall(MuonCompressorGetAlpha(whole, M, N, &alpha));
  TestCheck(alpha == least, "%s: alpha %g, the least of the blocks is %g", type, (double)alpha, (double)least);
  PetscCall(MuonCompressorGetMaxBytes(whole, M, N, &most));
  TestCheck(most == sum + MUON_WIRE_MESSAGE_HEADER_MOST, "%s: at most %zu bytes, %zu in the blocks", type, most, sum);
  for (PetscInt step = 0; step < STEP; step++) {
    MuonCompressorCost cost, total = {0, 0, 0}, one;
    MuonWireGroup      group;
    unsigned int       hash = 2166136261u;
    PetscBool          valid;

    PetscCall(TestMatNormal(T, 1, state));
    PetscCall(TestMatNormal(R, step == 1 ? (PetscReal)1e-3 : 1, state));
    PetscCall(TestMatNormal(Y, 1, state));
    PetscCall(TestMatAxpby(1, Y, 0, Z));
    PetscCall(MuonCompressorSetStep(whole, step));
    PetscCall(TestEncode(whole, T, R, &buf, &bytes));
    PetscCall(MuonCompressorGetStatus(whole, &status));
    TestCheck(status == MUON_STATUS_OK && bytes <= most, "%s: status %d, %zu bytes of %zu", type, (int)status, bytes, most);
    PetscCall(MuonCompressorValidate(whole, M, N, bytes, buf, &valid));
    TestCheck(valid, "%s: not valid", type);
    hash = (hash ^ 'w') * 16777619u;
    TestCheck(MuonWireGroupOpen(buf, bytes, hash, (uint64_t)count, &group) == MUON_WIRE_OK, "%s: no group", type);
    PetscCall(MuonCompressorDecode(whole, PETSC_TRUE, (PetscReal)0.7, bytes, buf, Y));
    PetscCall(TestCost(whole, M, N, bytes, buf, &cost));
    PetscCall(MuonCompressorCommit(whole));
    for (PetscInt k = 0; k < count; k++) {
      const PetscInt       m = grid->rowstart[k / grid->ncolumns + 1] - grid->rowstart[k / grid->ncolumns], n = grid->columnstart[k % grid->ncolumns + 1] - grid->columnstart[k % grid->ncolumns];
      const unsigned char *from;
      size_t               length;
      PetscBool            same;
      Mat                  t, r, z;

      PetscCall(TestMatCreate(m, n, 0, &t));
      PetscCall(TestMatCreate(m, n, 0, &r));
      PetscCall(TestMatCreate(m, n, 0, &z));
      PetscCall(CopyBlock(grid, k, T, t, PETSC_FALSE));
      PetscCall(CopyBlock(grid, k, R, r, PETSC_FALSE));
      PetscCall(CopyBlock(grid, k, Z, z, PETSC_FALSE));
      PetscCall(MuonCompressorSetStep(part[k], step));
      PetscCall(TestEncode(part[k], t, r, &partbuf, &partbytes));
      from = MuonWireGroupNext(&group, &length);
      PetscCall(PetscMemcmp(from, partbuf, PetscMin(length, partbytes), &same));
      TestCheck(same && length == partbytes, "%s: message of block %" PetscInt_FMT " in step %" PetscInt_FMT " differs", type, k, step);
      PetscCall(MuonCompressorDecode(part[k], PETSC_TRUE, (PetscReal)0.7, partbytes, partbuf, z));
      PetscCall(TestCost(part[k], m, n, partbytes, partbuf, &one));
      total.paper += one.paper;
      total.encoded += one.encoded;
      total.entropy += one.entropy;
      PetscCall(MuonCompressorCommit(part[k]));
      PetscCall(CopyBlock(grid, k, Z, z, PETSC_TRUE));
      PetscCall(PetscFree(partbuf));
      PetscCall(TestMatDestroy(&t));
      PetscCall(TestMatDestroy(&r));
      PetscCall(TestMatDestroy(&z));
    }
    PetscCall(CheckSame(Y, Z, type, "what is added"));
    TestCheck(cost.paper == total.paper && cost.entropy == total.entropy, "%s: %g and %g bits, %g and %g in the blocks", type, cost.paper, cost.entropy, total.paper, total.entropy);
    TestCheck(cost.encoded == 8.0 * (double)bytes && cost.encoded > total.encoded && cost.encoded <= total.encoded + 8 * MUON_WIRE_MESSAGE_HEADER_MOST, "%s: %g bits are sent, %g in the blocks", type, cost.encoded, total.encoded);
    PetscCall(MuonCompressorDecode(whole, PETSC_FALSE, 1, bytes, buf, Y));
    PetscCall(PetscFree(buf));
    if (step == STEP - 1) {
      PetscCall(MuonCompressorReset(whole));
      PetscCall(TestEncode(whole, T, NULL, &buf, &bytes));
      PetscCall(MuonCompressorDecode(whole, PETSC_FALSE, 1, bytes, buf, Y));
      PetscCall(MuonCompressorApply(whole, T, Z));
      PetscCall(CheckSame(Y, Z, type, "what Apply() gives"));
      PetscCall(PetscFree(buf));
    }
  }
  /* A number that is none, in the last block */
  PetscCall(TestMatSet(T, M - 1, N - 1, NAN));
  PetscCall(TestEncode(whole, T, NULL, &buf, &bytes));
  PetscCall(MuonCompressorGetStatus(whole, &status));
  TestCheck(status == MUON_STATUS_NANORINF && bytes == 0, "%s: status %d and %zu bytes for a NaN", type, (int)status, bytes);
  PetscCall(PetscFree(buf));
  for (PetscInt k = 0; k < count; k++) PetscCall(MuonCompressorDestroy(&part[k]));
  PetscCall(PetscFree(part));
  PetscCall(MuonCompressorDestroy(&whole));
  PetscCall(TestMatDestroy(&T));
  PetscCall(TestMatDestroy(&R));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(TestMatDestroy(&Z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The same with arrays of either precision and order, of which blocks are parts in the memory of the whole:
   messages, what the sender opens of its own and a receiver of what came, what is decoded
*/
static PetscErrorCode CheckArrays(const char type[], MuonCompressorValues values, const Grid *grid, MuonPrecision precision, int rowmajor, unsigned long long *state)
{
  const PetscInt count = grid->nrows * grid->ncolumns;
  MuonCompressor whole;
  MuonValidated  own = {NULL, 0, NULL, 0, NULL}, opened = {NULL, 0, NULL, 0, NULL};
  MuonArray      T, R, Y, Z;
  MuonWireGroup  group;
  unsigned char *buf, *partbuf;
  size_t         bytes, partbytes;
  PetscBool      valid;

  PetscFunctionBegin;
  PetscCall(TestArrayCreate(M, N, precision, rowmajor, 3, &T));
  PetscCall(TestArrayCreate(M, N, precision, rowmajor, 1, &R));
  PetscCall(TestArrayCreate(M, N, precision, rowmajor, 2, &Y));
  PetscCall(TestArrayCreate(M, N, precision, rowmajor, 0, &Z));
  TestArrayNormal(&T, 1, state);
  TestArrayNormal(&R, 0.5, state);
  PetscCall(CreateCompressor(type, "w", (PetscReal)0.3, values, &whole));
  PetscCall(MuonCompressorSetBlocks(whole, grid->nrows, grid->rows, grid->ncolumns, grid->columns));
  PetscCall(TestEncodeArray(whole, &T, &R, &buf, &bytes, NULL, &own));
  PetscCall(MuonCompressorValidateArray(whole, &T, bytes, buf, PETSC_FALSE, NULL, &opened, &valid));
  TestCheck(valid && opened.bytes == own.bytes && memcmp(opened.data, own.data, own.bytes) == 0, "%s: the sender has opened something else", type);
  TestCheck(MuonWireGroupOpen(buf, bytes, (2166136261u ^ 'w') * 16777619u, (uint64_t)count, &group) == MUON_WIRE_OK, "%s: no group", type);
  for (PetscInt k = 0; k < count; k++) {
    const PetscInt       i = k / grid->ncolumns, j = k % grid->ncolumns, i0 = grid->rowstart[i], j0 = grid->columnstart[j], m = grid->rowstart[i + 1] - i0, n = grid->columnstart[j + 1] - j0;
    const MuonArray      t = MuonArrayPart(&T, (size_t)i0, (size_t)j0, (size_t)m, (size_t)n), r = MuonArrayPart(&R, (size_t)i0, (size_t)j0, (size_t)m, (size_t)n), z = MuonArrayPart(&Z, (size_t)i0, (size_t)j0, (size_t)m, (size_t)n);
    const unsigned char *from;
    size_t               length;
    MuonCompressor       part;
    char                 name[16];

    PetscCall(PetscSNPrintf(name, sizeof(name), "w[%" PetscInt_FMT "]", k));
    PetscCall(CreateCompressor(type, name, (PetscReal)0.3, values, &part));
    PetscCall(TestEncodeArray(part, &t, &r, &partbuf, &partbytes, NULL, NULL));
    from = MuonWireGroupNext(&group, &length);
    TestCheck(length == partbytes && memcmp(from, partbuf, length) == 0, "%s: the message of block %" PetscInt_FMT " of an array by %s differs", type, k, rowmajor ? "rows" : "columns");
    PetscCall(MuonCompressorDecodeArray(part, PETSC_FALSE, 0.0, partbytes, partbuf, &z, &valid));
    TestCheck(valid, "%s: the message of block %" PetscInt_FMT " is refused", type, k);
    PetscCall(PetscFree(partbuf));
    PetscCall(MuonCompressorDestroy(&part));
  }
  PetscCall(MuonCompressorDecodeValidated(whole, &own, PETSC_FALSE, 0.0, &Y));
  TestCheck(TestArraySame(&Y, &Z), "%s: what is decoded is not that of the blocks", type);
  PetscCall(MuonCompressorDecodeArray(whole, PETSC_FALSE, 0.0, bytes, buf, &Y, &valid));
  TestCheck(valid && TestArraySame(&Y, &Z), "%s: what is decoded at once is not that of the blocks", type);
  TestArrayCopy(&R, &Y);
  TestArrayCopy(&R, &Z);
  PetscCall(MuonCompressorDecodeValidated(whole, &opened, PETSC_TRUE, 0.7, &Y));
  PetscCall(MuonCompressorDecodeArray(whole, PETSC_TRUE, 0.7, bytes, buf, &Z, &valid));
  TestCheck(valid && TestArraySame(&Y, &Z), "%s: what is added at once is something else", type);
  PetscCall(PetscFree(buf));
  PetscCall(MuonValidatedDestroy(&own));
  PetscCall(MuonValidatedDestroy(&opened));
  PetscCall(MuonCompressorDestroy(&whole));
  PetscCall(TestArrayDestroy(&T));
  PetscCall(TestArrayDestroy(&R));
  PetscCall(TestArrayDestroy(&Y));
  PetscCall(TestArrayDestroy(&Z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A grid of one block, and blocks of what is sent whole, leave the bytes as they were */
static PetscErrorCode CheckWhole(const char type[], PetscInt nrows, unsigned long long *state)
{
  MuonCompressor without, with;
  Mat            T;
  size_t         bytes, again;
  unsigned char *buf, *other;
  const PetscInt all[1] = {M};
  PetscBool      same;

  PetscFunctionBegin;
  PetscCall(TestMatCreate(M, N, 1, &T));
  PetscCall(TestMatNormal(T, 1, state));
  PetscCall(CreateCompressor(type, "w", (PetscReal)0.3, MUON_COMPRESSOR_VALUES_SINGLE, &without));
  PetscCall(CreateCompressor(type, "w", (PetscReal)0.3, MUON_COMPRESSOR_VALUES_SINGLE, &with));
  PetscCall(MuonCompressorSetBlocks(with, nrows, nrows == 1 ? all : NULL, 1, NULL));
  PetscCall(TestEncode(without, T, NULL, &buf, &bytes));
  PetscCall(TestEncode(with, T, NULL, &other, &again));
  PetscCall(PetscMemcmp(buf, other, PetscMin(bytes, again), &same));
  TestCheck(same && bytes == again, "%s: %zu bytes with one block, %zu without", type, again, bytes);
  PetscCall(PetscFree(buf));
  PetscCall(PetscFree(other));
  PetscCall(MuonCompressorDestroy(&with));
  PetscCall(MuonCompressorDestroy(&without));
  PetscCall(TestMatDestroy(&T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckValid(MuonCompressor c, size_t bytes, const unsigned char buf[], PetscBool expected, const char what[])
{
  PetscBool valid;

  PetscFunctionBegin;
  PetscCall(MuonCompressorValidate(c, M, N, bytes, buf, &valid));
  TestCheck(valid == expected, "%s: %s", what, valid ? "accepted" : "refused");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckRefused(unsigned long long *state)
{
  const PetscInt       rows[2] = {5, 7}, columns[2] = {4, 6};
  MuonCompressor       c, other;
  Mat                  T, Y;
  size_t               bytes, length[2], wholebytes;
  unsigned char       *buf, *copy, *whole;
  const unsigned char *from[2];
  MuonWireGroup        group;
  unsigned int         hash    = (2166136261u ^ 'w') * 16777619u;
  PetscInt             refused = 0, accepted = 0;

  PetscFunctionBegin;
  PetscCall(TestMatCreate(M, N, 1, &T));
  PetscCall(TestMatCreate(M, N, 1, &Y));
  PetscCall(TestMatNormal(T, 1, state));
  PetscCall(CreateCompressor(MUONCOMPRESSORTOPK, "w", (PetscReal)0.3, MUON_COMPRESSOR_VALUES_NATURAL, &c));
  PetscCall(TestEncode(c, T, NULL, &whole, &wholebytes));
  PetscCall(MuonCompressorSetBlocks(c, 2, NULL, 2, NULL));
  PetscCall(TestEncode(c, T, NULL, &buf, &bytes));
  PetscCall(PetscMalloc1(bytes + 1, &copy));
  PetscCall(CheckValid(c, bytes, buf, PETSC_TRUE, "as it is"));
  PetscCall(CheckValid(c, wholebytes, whole, PETSC_FALSE, "a message without blocks"));
  for (size_t cut = 0; cut < bytes; cut++) PetscCall(CheckValid(c, cut, buf, PETSC_FALSE, "a message that was cut"));
  PetscCall(PetscArraycpy(copy, buf, bytes));
  copy[bytes] = 0;
  PetscCall(CheckValid(c, bytes + 1, copy, PETSC_FALSE, "a byte more"));
  for (size_t bit = 0; bit < 8 * bytes; bit++) {
    PetscBool valid;

    copy[bit / 8] = (unsigned char)(copy[bit / 8] ^ 1 << bit % 8);
    PetscCall(MuonCompressorValidate(c, M, N, bytes, copy, &valid));
    if (valid) PetscCall(MuonCompressorDecode(c, PETSC_FALSE, 1, bytes, copy, Y));
    if (valid) accepted++;
    else refused++;
    copy[bit / 8] = (unsigned char)(copy[bit / 8] ^ 1 << bit % 8);
  }
  TestCheck(refused > accepted && accepted > 0, "%" PetscInt_FMT " flipped bits were refused, %" PetscInt_FMT " gave other values", refused, accepted);
  /* Blocks of one shape are known by their names */
  TestCheck(MuonWireGroupOpen(buf, bytes, hash, 4, &group) == MUON_WIRE_OK, "no group");
  for (PetscInt k = 0; k < 2; k++) from[k] = MuonWireGroupNext(&group, &length[k]);
  PetscCall(PetscArraycpy(copy + (from[0] - buf), from[1], length[1]));
  PetscCall(PetscArraycpy(copy + (from[0] - buf) + length[1], from[0], length[0]));
  PetscCall(CheckValid(c, bytes, copy, PETSC_FALSE, "two blocks in each other's place"));
  /* Other grids, another layer, no grid */
  PetscCall(MuonCompressorSetBlocks(c, 2, NULL, 1, NULL));
  PetscCall(CheckValid(c, bytes, buf, PETSC_FALSE, "four blocks for two"));
  PetscCall(MuonCompressorSetBlocks(c, 2, rows, 2, columns));
  PetscCall(CheckValid(c, bytes, buf, PETSC_FALSE, "blocks of 6 x 5 for others"));
  PetscCall(MuonCompressorSetBlocks(c, 1, NULL, 1, NULL));
  PetscCall(CheckValid(c, bytes, buf, PETSC_FALSE, "blocks where there are none"));
  PetscCall(CheckValid(c, wholebytes, whole, PETSC_TRUE, "none again"));
  PetscCall(CreateCompressor(MUONCOMPRESSORTOPK, "v", (PetscReal)0.3, MUON_COMPRESSOR_VALUES_NATURAL, &other));
  PetscCall(MuonCompressorSetBlocks(other, 2, NULL, 2, NULL));
  PetscCall(CheckValid(other, bytes, buf, PETSC_FALSE, "another layer"));
  PetscCall(MuonCompressorDestroy(&other));
  PetscCall(PetscFree(copy));
  PetscCall(PetscFree(buf));
  PetscCall(PetscFree(whole));
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(TestMatDestroy(&T));
  PetscCall(TestMatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   An error inside a block is one of that call alone, and a message whose last block is none changes nothing
*/
static PetscErrorCode CheckErrors(unsigned long long *state)
{
  MuonCompressor c;
  Mat            T, Y, Z;
  size_t         bytes, most;
  unsigned char *buf;
  PetscErrorCode ierr, added, assigned;
  PetscBool      same;

  PetscFunctionBegin;
  PetscCall(TestMatCreate(M, N, 1, &T));
  PetscCall(TestMatCreate(M, N, 2, &Y));
  PetscCall(TestMatCreate(M, N, 0, &Z));
  PetscCall(TestMatNormal(T, 1, state));
  PetscCall(TestMatNormal(Y, 1, state));
  PetscCall(TestMatAxpby(1, Y, 0, Z));
  PetscCall(CreateCompressor(MUONCOMPRESSORQSGD, "w", (PetscReal)0.3, MUON_COMPRESSOR_VALUES_SINGLE, &c));
  PetscCall(MuonCompressorSetBlocks(c, 2, NULL, 1, NULL));
  PetscCall(TestEncode(c, T, NULL, &buf, &bytes));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MuonCompressorGetMaxBytes(c, 1 << 18, 1 << 17, &most);
  PetscCall(PetscPopErrorHandler());
  TestCheck(ierr == PETSC_ERR_SUP, "Blocks of 2^34 entries gave the error %d", (int)ierr);
  PetscCall(CheckValid(c, bytes, buf, PETSC_TRUE, "after an error in a block"));
  buf[bytes - 1] |= 0x80; /* the sign of the last scale */
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  added    = MuonCompressorDecode(c, PETSC_TRUE, 1, bytes, buf, Y);
  assigned = MuonCompressorDecode(c, PETSC_FALSE, 1, bytes, buf, Y);
  PetscCall(PetscPopErrorHandler());
  TestCheck(added == PETSC_ERR_ARG_WRONG && assigned == PETSC_ERR_ARG_WRONG, "A message whose last block is none gave the errors %d and %d", (int)added, (int)assigned);
  PetscCall(TestMatSame(Y, Z, &same));
  TestCheck(same, "A message whose last block is none was decoded in part");
  PetscCall(PetscFree(buf));
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(TestMatDestroy(&T));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(TestMatDestroy(&Z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Scratch memory for two long rows: not that of the many rows that are walked together elsewhere. T - R is
   one copy of the layer, a plain message and what it is made of may be two more
*/
static PetscErrorCode CheckScratch(const char type[], MuonCompressorValues values, unsigned long long *state)
{
  const PetscInt m = 2, n = 40000;
  MuonCompressor c;
  MuonWorkspace  work;
  Mat            T, R;
  size_t         bytes, held;
  unsigned char *buf;

  PetscFunctionBegin;
  PetscCall(TestMatCreate(m, n, 1, &T));
  PetscCall(TestMatNormal(T, 1, state));
  PetscCall(TestMatCreate(m, n, 0, &R));
  PetscCall(CreateCompressor(type, "w", (PetscReal)0.3, values, &c));
  PetscCall(TestEncode(c, T, R, &buf, &bytes));
  PetscCall(MuonCompressorDecode(c, PETSC_TRUE, 1, bytes, buf, T));
  PetscCall(MuonCompressorGetWorkspace(c, &work));
  PetscCall(MuonWorkspaceGetBytes(work, &held));
  TestCheck(held <= 3 * (size_t)(m * n) * sizeof(double), "%s: %zu bytes of scratch memory for a layer of %" PetscInt_FMT " entries", type, held, m * n);
  PetscCall(PetscFree(buf));
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(TestMatDestroy(&R));
  PetscCall(TestMatDestroy(&T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AddBytes(MuonStateVisitor *visitor, const MuonState *state)
{
  PetscFunctionBegin;
  *(PetscLogDouble *)visitor->ctx += (PetscLogDouble)state->bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes of state */
static PetscErrorCode Held(MuonCompressor c, PetscLogDouble *bytes)
{
  MuonStateVisitor visitor;

  PetscFunctionBegin;
  *bytes = 0;
  PetscCall(PetscMemzero(&visitor, sizeof(visitor)));
  visitor.visit  = AddBytes;
  visitor.layer  = "w";
  visitor.holder = MUON_STATE_WORKER;
  visitor.ctx    = bytes;
  PetscCall(MuonCompressorVisitState(c, &visitor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   State of power iterations: a new grid drops it, and a message of which one block could not be written does
   not make it
*/
static PetscErrorCode CheckState(unsigned long long *state)
{
  MuonCompressor c, twin;
  Mat            T, bad;
  PetscLogDouble held;
  unsigned char *buf, *other;
  size_t         bytes, again;
  PetscBool      same;

  PetscFunctionBegin;
  PetscCall(TestMatCreate(M, N, 1, &T));
  PetscCall(TestMatCreate(M, N, 0, &bad));
  PetscCall(TestMatNormal(T, 1, state));
  PetscCall(TestMatNormal(bad, 1, state));
  PetscCall(TestMatSet(bad, M - 1, N - 1, NAN));
  PetscCall(CreateCompressor(MUONCOMPRESSORPOWERSGD, "w", (PetscReal)0.3, MUON_COMPRESSOR_VALUES_SINGLE, &c));
  PetscCall(CreateCompressor(MUONCOMPRESSORPOWERSGD, "w", (PetscReal)0.3, MUON_COMPRESSOR_VALUES_SINGLE, &twin));
  PetscCall(TestEncode(c, T, NULL, &buf, &bytes));
  PetscCall(PetscFree(buf));
  PetscCall(MuonCompressorCommit(c));
  PetscCall(Held(c, &held));
  TestCheck(held > 0, "No state");
  PetscCall(MuonCompressorSetBlocks(c, 2, NULL, 1, NULL));
  PetscCall(MuonCompressorSetBlocks(twin, 2, NULL, 1, NULL));
  PetscCall(Held(c, &held));
  TestCheck(held == 0, "%g bytes of state after a change of the blocks", held);
  PetscCall(TestEncode(c, bad, NULL, &buf, &bytes));
  TestCheck(bytes == 0, "A NaN was written");
  PetscCall(PetscFree(buf));
  PetscCall(MuonCompressorCommit(c));
  PetscCall(TestEncode(c, T, NULL, &buf, &bytes));
  PetscCall(TestEncode(twin, T, NULL, &other, &again));
  PetscCall(PetscMemcmp(buf, other, PetscMin(bytes, again), &same));
  TestCheck(same && bytes == again, "A message that could not be written has changed the state");
  PetscCall(PetscFree(buf));
  PetscCall(PetscFree(other));
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(MuonCompressorDestroy(&twin));
  PetscCall(TestMatDestroy(&T));
  PetscCall(TestMatDestroy(&bad));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A compressor has the parameters of its parent, of the type too, but for those that it was given, and follows it */
static PetscErrorCode CheckParent(void)
{
  MuonCompressor c, child;
  PetscInt       oversampling, sweeps;
  PetscReal      p;

  PetscFunctionBegin;
  PetscCall(CreateCompressor(MUONCOMPRESSORPOWERSGD, "w", (PetscReal)0.3, MUON_COMPRESSOR_VALUES_SINGLE, &c));
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, &child));
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_powersgd_oversampling", "3"));
  PetscCall(MuonParametersSetParent((PetscObject)child, (PetscObject)c));
  PetscCall(MuonCompressorSetType(child, MUONCOMPRESSORPOWERSGD));
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_powersgd_sweeps", "4"));
  PetscCall(GetInt((PetscObject)child, "compressor_powersgd_oversampling", &oversampling));
  PetscCall(GetInt((PetscObject)child, "compressor_powersgd_sweeps", &sweeps));
  TestCheck(oversampling == 3 && sweeps == 4, "A child has oversampling %" PetscInt_FMT " and %" PetscInt_FMT " sweeps", oversampling, sweeps);
  PetscCall(MuonObjectSetParameter((PetscObject)child, "compressor_powersgd_sweeps", "2"));
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_powersgd_sweeps", "5"));
  PetscCall(GetInt((PetscObject)child, "compressor_powersgd_sweeps", &sweeps));
  TestCheck(sweeps == 2, "A child that was given 2 sweeps has %" PetscInt_FMT, sweeps);
  PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORTOPSVD));
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_topsvd_schatten", "1"));
  PetscCall(MuonCompressorSetType(child, MUONCOMPRESSORTOPSVD));
  PetscCall(GetReal((PetscObject)child, "compressor_topsvd_schatten", &p));
  TestCheck(p == 1, "A child has the exponent %g", (double)p);
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(MuonCompressorSetRatio(child, (PetscReal)0.5)); /* which has no parent now */
  PetscCall(MuonCompressorDestroy(&child));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Two constants at their ends. Of a flat spectrum without its last value nothing is gained in the spectral
   norm, and by rounding nothing is lost. A single entry just above 1 has the natural scale 2, is one and a
   half of its three levels, and goes to one or two of them: its error is a third of it, whatever is drawn
*/
static PetscErrorCode CheckEnds(void)
{
  const PetscInt    n = 5;
  MuonCompressor    c;
  Mat               X, Y;
  PetscReal         alpha, squares = 0;
  const PetscScalar x = 1 + (PetscScalar)1 / 1048576;

  PetscFunctionBegin;
  PetscCall(CreateCompressor(MUONCOMPRESSORTOPSVD, "w", (PetscReal)0.3, MUON_COMPRESSOR_VALUES_NATIVE, &c));
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_topsvd_schatten", "inf"));
  PetscCall(SetNumber((PetscObject)c, "compressor_rank", n - 1));
  PetscCall(TestMatCreate(n, n, 1, &X));
  PetscCall(TestMatCreate(n, n, 0, &Y));
  for (PetscInt k = 0; k < 40; k++) {
    for (PetscInt i = 0; i < n; i++) PetscCall(TestMatSet(X, i, i, 1 + (PetscScalar)k / 41));
    PetscCall(MuonCompressorApply(c, X, Y));
  }
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORQSGD));
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_values", "natural"));
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_bits", "3"));
  PetscCall(MuonCompressorGetAlpha(c, 1, 1, &alpha));
  PetscCall(TestMatCreate(1, 1, 1, &X));
  PetscCall(TestMatCreate(1, 1, 0, &Y));
  PetscCall(TestMatSet(X, 0, 0, x));
  for (PetscInt k = 0; k < 10; k++) {
    PetscCall(MuonCompressorSetStep(c, k));
    PetscCall(MuonCompressorApply(c, X, Y));
    PetscCall(TestMatAxpby(-1, X, 1, Y));
    PetscCall(TestMatSquares(Y, &squares));
    TestCheck(alpha > (PetscReal)0.88 && squares <= (1 - alpha) * x * x && squares >= (1 - alpha) * x * x - (PetscReal)1e-4, "A natural scale has the error %g, alpha %g", (double)squares, (double)alpha);
  }
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What was set is shown */
static PetscErrorCode CheckView(void)
{
  const PetscInt rows[3] = {5, 4, 3};
  MuonCompressor c;

  PetscFunctionBegin;
  PetscCall(CreateCompressor(MUONCOMPRESSORTOPK, "w", (PetscReal)0.3, MUON_COMPRESSOR_VALUES_SINGLE, &c));
  PetscCall(MuonCompressorSetBlocks(c, 3, rows, 2, NULL));
  PetscCall(MuonCompressorView(c, NULL));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A message of blocks, and what it decodes to, for an oracle */
static PetscErrorCode WriteOracle(const char dir[], const Grid *grid, unsigned long long *state)
{
  const char *const names[3] = {"settings", "group", "matrix"};
  MuonCompressor    c;
  Mat               T, Y;
  PetscScalar      *rows;
  unsigned char    *buf;
  size_t            bytes;
  FILE             *file[3];

  PetscFunctionBegin;
  PetscCall(CreateCompressor(MUONCOMPRESSORTOPK, "h0.attn.qkv", (PetscReal)0.3, MUON_COMPRESSOR_VALUES_NATURAL, &c));
  PetscCall(MuonCompressorSetBlocks(c, grid->nrows, grid->rows, grid->ncolumns, grid->columns));
  PetscCall(TestMatCreate(M, N, 2, &T));
  PetscCall(TestMatCreate(M, N, 1, &Y));
  PetscCall(TestMatNormal(T, 1, state));
  PetscCall(TestEncode(c, T, NULL, &buf, &bytes));
  PetscCall(MuonCompressorDecode(c, PETSC_FALSE, 1, bytes, buf, Y));
  PetscCall(TestMatGet(Y, PETSC_TRUE, &rows));
  for (int i = 0; i < 3; i++) {
    char path[PETSC_MAX_PATH_LEN];

    PetscCall(PetscSNPrintf(path, sizeof(path), "%s/%s", dir, names[i]));
    file[i] = fopen(path, "wb");
    TestCheck(file[i] != NULL, "Cannot write %s", path);
  }
  fprintf(file[0], "h0.attn.qkv %d %d 5,4,3 7,3\n", M, N);
  TestCheck(fwrite(buf, 1, bytes, file[1]) == bytes, "Cannot write the message");
  for (PetscInt k = 0; k < M * N; k++) {
    const double x = (double)PetscRealPart(rows[k]);

    TestCheck(fwrite(&x, sizeof(x), 1, file[2]) == 1, "Cannot write the matrix");
  }
  for (int i = 0; i < 3; i++) TestCheck(fclose(file[i]) == 0, "Cannot write %s", names[i]);
  PetscCall(PetscFree(rows));
  PetscCall(PetscFree(buf));
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(TestMatDestroy(&T));
  PetscCall(TestMatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt     rows[3] = {5, 4, 3}, columns[2] = {7, 3};
  const char       **types;
  int                ntypes, tried = 0;
  unsigned long long state = 7;
  PetscBool          wrong = PETSC_FALSE;
  PetscInt           r     = 1;
  char               dir[PETSC_MAX_PATH_LEN];
  Grid               grids[3];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(MuonCompressorInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-rows", &r, &wrong));
  if (wrong) {
    /* Sizes that do not fit, seen where there is a matrix or at once */
    MuonCompressor c;
    PetscInt       sizes[2] = {5, 6}, huge[2] = {PETSC_MAX_INT, PETSC_MAX_INT};
    size_t         most;

    PetscCall(CreateCompressor(MUONCOMPRESSORTOPK, "w", (PetscReal)0.3, MUON_COMPRESSOR_VALUES_SINGLE, &c));
    if (r == 2) PetscCall(MuonCompressorSetBlocks(c, 2, sizes, 1, NULL));
    else if (r == 3) PetscCall(MuonCompressorSetBlocks(c, 1, NULL, 2, huge));
    else PetscCall(MuonCompressorSetBlocks(c, r, NULL, 1, NULL));
    PetscCall(MuonCompressorGetMaxBytes(c, M, N, &most));
    PetscCall(MuonCompressorDestroy(&c));
  }
  grids[0].nrows    = 3;
  grids[0].rows     = rows;
  grids[0].ncolumns = 2;
  grids[0].columns  = columns;
  grids[1].nrows    = 4;
  grids[1].rows     = NULL;
  grids[1].ncolumns = 1;
  grids[1].columns  = NULL;
  grids[2].nrows    = 1;
  grids[2].rows     = NULL;
  grids[2].ncolumns = 5;
  grids[2].columns  = NULL;
  for (PetscInt g = 0; g < 3; g++) {
    GridStarts(grids[g].nrows, grids[g].rows, M, grids[g].rowstart);
    GridStarts(grids[g].ncolumns, grids[g].columns, N, grids[g].columnstart);
  }
  PetscCall(PetscOptionsGetString(NULL, NULL, "-oracle_dir", dir, sizeof(dir), &wrong));
  if (wrong) {
    PetscCall(WriteOracle(dir, &grids[0], &state));
    PetscCall(PetscFinalize());
    return 0;
  }
  PetscCall(PetscFunctionListGet(MuonCompressorList, &types, &ntypes));
  for (int i = 0; i < ntypes && types[i] != NULL; i++) {
    MuonCompressor c;
    PetscBool      assigns;

    PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, &c));
    PetscCall(MuonCompressorSetType(c, types[i]));
    PetscCall(MuonCompressorIsAssignment(c, &assigns));
    PetscCall(MuonCompressorDestroy(&c));
    PetscCall(CheckWhole(types[i], assigns ? 4 : 1, &state));
    PetscCall(CheckScratch(types[i], MUON_COMPRESSOR_VALUES_SINGLE, &state));
    PetscCall(CheckScratch(types[i], MUON_COMPRESSOR_VALUES_NATURAL, &state));
    if (assigns) continue;
    tried++;
    for (PetscInt g = 0; g < 3; g++) {
      PetscCall(CheckGrid(types[i], MUON_COMPRESSOR_VALUES_SINGLE, &grids[g], &state));
      PetscCall(CheckGrid(types[i], MUON_COMPRESSOR_VALUES_NATURAL, &grids[g], &state));
      for (int k = 0; k < 4; k++) PetscCall(CheckArrays(types[i], k % 2 == 0 ? MUON_COMPRESSOR_VALUES_NATIVE : MUON_COMPRESSOR_VALUES_NATURAL, &grids[g], (MuonPrecision)(k / 2), (int)g % 2 == k % 2, &state));
    }
  }
  PetscCall(PetscFree(types));
  TestCheck(tried >= 3, "%d types were tried", tried);
  PetscCall(CheckRefused(&state));
  PetscCall(CheckErrors(&state));
  PetscCall(CheckState(&state));
  PetscCall(CheckParent());
  PetscCall(CheckEnds());
  PetscCall(CheckView());
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "ok\n"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    link: internal

  test:

  test:
    suffix: oracle
    requires: numpy
    oracle: blocks.py

  table: suffix | args | error
    sum     | -rows 2 | of layer w: 5,6 has the sum 11, expected the number of rows, 12
    huge    | -rows 3 | has a sum above
    divisor | -rows 5 | of layer w: 5 equal blocks of the 12 rows, expected a divisor of that number
    none    | -rows 0 | of layer w: 0 blocks of rows, expected at least 1

TEST*/
