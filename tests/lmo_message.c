static char help[] = "Steps as messages: they hold D of MuonLMOApply() to the last bit, cost what the formulas say, and damaged ones are refused or are other messages. With -oracle_dir they are written for tests/oracle/lmo_message.py.\n";

#include "compressor_common.h"
#include "wire_header.h"
#include <petscmuonlmo.h>
#include <petscmuon/private/muoncompressorimpl.h>
#include "muonkernels.h"
#include <stdio.h>

static const char *const Norms[] = {MUONLMONUCLEAR, MUONLMOL1, MUONLMOROWSUM, MUONLMOCOLSUM, MUONLMOL21};
#define NNORMS 5

static const PetscInt Shapes[][2] = {{6, 5}, {5, 6}, {1, 9}, {9, 1}, {1, 1}, {17, 33}, {40, 3}, {3, 40}, {2, 4}, {300, 2}};
#define NSHAPES 10

typedef enum {
  RANDOM,
  INTEGERS, /* with ties */
  HOLES,    /* rows and columns of zeros, among them the first and the last */
  ALONE,    /* one entry is not zero */
  NEGATIVE, /* all entries negative */
  ZERO,
  TINY,
  HUGE_ENTRIES,
  KINDS
} Kind;

typedef struct {
  FILE    *file; /* NULL where nothing is written */
  char     folder[PETSC_MAX_PATH_LEN];
  PetscInt count;
} Dump;

static PetscErrorCode Fill(Mat G, Kind kind, unsigned long long *state)
{
  PetscInt m, n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(G, &m, &n));
  PetscCall(TestMatNormal(G, 1.0, state));
  for (PetscInt i = 0; i < m; i++) {
    for (PetscInt j = 0; j < n; j++) {
      const PetscReal x = TestNormal(state);

      if (kind == INTEGERS) PetscCall(TestMatSet(G, i, j, (PetscReal)((PetscInt)(TestBits(state) % 5) - 2)));
      if (kind == HOLES && (i % 3 == 0 || j % 4 == 0 || i + 1 == m || j + 1 == n)) PetscCall(TestMatSet(G, i, j, (PetscReal)(j % 2 == 0 ? 0.0 : -0.0)));
      if (kind == ALONE) PetscCall(TestMatSet(G, i, j, i == m / 2 && j == n / 2 ? -3 : 0));
      if (kind == NEGATIVE) PetscCall(TestMatSet(G, i, j, -PetscAbsReal(x) - 1));
      if (kind == ZERO) PetscCall(TestMatSet(G, i, j, 0));
      if (kind == TINY) PetscCall(TestMatSet(G, i, j, x * PETSC_MACHINE_EPSILON * PETSC_MACHINE_EPSILON));
      if (kind == HUGE_ENTRIES) PetscCall(TestMatSet(G, i, j, x / (PETSC_MACHINE_EPSILON * PETSC_MACHINE_EPSILON)));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WriteFile(const Dump *dump, const char suffix[], const void *data, size_t bytes)
{
  char  path[PETSC_MAX_PATH_LEN];
  FILE *file;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/%" PetscInt_FMT ".%s", dump->folder, dump->count, suffix));
  file = fopen(path, "wb");
  TestCheck(file != NULL && (bytes == 0 || fwrite(data, bytes, 1, file) == 1) && fclose(file) == 0, "%s was not written", path);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WriteMat(const Dump *dump, const char suffix[], Mat A)
{
  PetscScalar *rows;
  double      *x;
  PetscInt     m, n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(TestMatGetRows(A, &rows));
  PetscCall(PetscMalloc1(m * n, &x));
  for (PetscInt e = 0; e < m * n; e++) x[e] = (double)PetscRealPart(rows[e]);
  PetscCall(WriteFile(dump, suffix, x, (size_t)(m * n) * sizeof(*x)));
  PetscCall(PetscFree(x));
  PetscCall(PetscFree(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y = a X + b Y as a step does it */
static PetscErrorCode Step(PetscReal a, Mat X, PetscReal b, Mat Y)
{
  const PetscScalar *x;
  PetscScalar       *y;
  PetscInt           m, n, ldx, ldy;

  PetscFunctionBegin;
  PetscCall(MatGetSize(X, &m, &n));
  PetscCall(MatDenseGetLDA(X, &ldx));
  PetscCall(MatDenseGetLDA(Y, &ldy));
  PetscCall(MatDenseGetArrayRead(X, &x));
  PetscCall(MatDenseGetArray(Y, &y));
  MuonKernelAxpby((size_t)m, (size_t)n, a, x, (size_t)ldx, b, y, (size_t)ldy);
  PetscCall(MatDenseRestoreArray(Y, &y));
  PetscCall(MatDenseRestoreArrayRead(X, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same bits, the signs of zeros included */
static PetscErrorCode CheckBits(Mat A, Mat B, const char what[])
{
  PetscScalar *a, *b;
  PetscInt     m, n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(TestMatGetRows(A, &a));
  PetscCall(TestMatGetRows(B, &b));
  for (PetscInt e = 0; e < m * n; e++)
    TestCheck(memcmp(&a[e], &b[e], sizeof(*a)) == 0, "%s: entry %" PetscInt_FMT " of %" PetscInt_FMT " x %" PetscInt_FMT " is %.17g, expected %.17g", what, e, m, n, (double)PetscRealPart(a[e]), (double)PetscRealPart(b[e]));
  PetscCall(PetscFree(a));
  PetscCall(PetscFree(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In memory of its own, so that a byte read past the end is seen */
static PetscErrorCode ValidateCopy(MuonLMO lmo, PetscInt m, PetscInt n, size_t bytes, const unsigned char message[], PetscBool *valid)
{
  unsigned char *copy;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(bytes + 1, &copy));
  PetscCall(PetscArraycpy(copy + 1, message, bytes));
  PetscCall(MuonLMOValidate(lmo, m, n, bytes, copy + 1, valid));
  PetscCall(PetscFree(copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The message of G against the D of another object, the compressor, and the formulas */
static PetscErrorCode CheckMessage(const char norm[], Mat G, Kind kind, Dump *dump)
{
  MuonLMO            lmo, other;
  MuonCompressor     c;
  MuonCompressorCost cost;
  Mat                D, S, X, Y, Z, before;
  PetscInt           m, n;
  PetscReal          alpha, gs, ss;
  PetscBool          valid, same;
  MuonStatus         status;
  unsigned char     *message, *again;
  size_t             most, bytes, length, compressormost;
  unsigned long long state = 77;
  char               what[128];

  PetscFunctionBegin;
  PetscCall(MatGetSize(G, &m, &n));
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s, matrix %d", norm, (int)kind));
  PetscCall(MuonLMOCreate(PETSC_COMM_SELF, &lmo));
  PetscCall(MuonLMOSetType(lmo, norm));
  PetscCall(MuonLMOSetLayerName(lmo, "w"));
  PetscCall(MuonLMOCreate(PETSC_COMM_SELF, &other));
  PetscCall(MuonLMOSetType(other, norm));
  PetscCall(MuonLMOSetLayerName(other, "w"));
  PetscCall(TestMatCreate(m, n, 3, &D));
  PetscCall(TestMatCreate(m, n, 0, &S));
  PetscCall(TestMatCreate(m, n, 1, &X));
  PetscCall(TestMatCreate(m, n, 1, &Y));
  PetscCall(TestMatCreate(m, n, 0, &Z));
  PetscCall(TestMatCreate(m, n, 0, &before));
  PetscCall(TestMatAxpby(1.0, G, 0.0, before));

  PetscCall(MuonLMOGetMaxBytes(lmo, m, n, &most));
  PetscCall(PetscMalloc1(most + 8, &message));
  memset(message, 0xA5, most + 8);
  PetscCall(MuonLMOEncode(lmo, G, most, message, &bytes));
  PetscCall(MuonLMOGetStatus(lmo, &status));
  TestCheck(status == MUON_STATUS_OK && bytes >= 8 && bytes <= most, "%s: status %d, %zu of at most %zu bytes", what, (int)status, bytes, most);
  for (int i = 0; i < 8; i++) TestCheck(message[most + (size_t)i] == 0xA5, "%s: byte %d behind the message was written", what, i);
  PetscCall(CheckBits(G, before, "the matrix"));
  PetscCall(ValidateCopy(other, m, n, bytes, message, &valid));
  TestCheck(valid == PETSC_TRUE, "%s: a good message of %" PetscInt_FMT " x %" PetscInt_FMT " is refused", what, m, n);

  /* D itself, with factors that take each way through a sum */
  PetscCall(MuonLMOApply(other, G, D));
  for (int k = 0; k < 4; k++) {
    const PetscReal scale = k == 0 ? (PetscReal)-0.3 : k == 1 ? 1 : k == 2 ? 0 : (PetscReal)1e-3;

    PetscCall(TestMatNormal(X, 1.0, &state));
    if (k == 1) PetscCall(MatZeroEntries(X));
    if (k == 3) PetscCall(TestMatSet(X, 0, 0, (PetscReal)-0.0));
    PetscCall(TestMatAxpby(1.0, D, 0.0, Z));
    PetscCall(Step(1, X, scale, Z));
    PetscCall(TestMatAxpby(1.0, X, 0.0, Y));
    PetscCall(MuonLMODecodeAdd(lmo, scale, bytes, message, Y));
    PetscCall(CheckBits(Y, Z, what));
  }

  /* The compressor writes the same message, and decodes it to the sharp operator */
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, &c));
  PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORSHARP));
  PetscCall(MuonCompressorSharpSetLMO(c, other));
  PetscCall(MuonCompressorSetStream(c, 1, "w", 0, 1));
  PetscCall(MuonCompressorSetPaperIndexBits(c, 26)); /* the paper's, of Top-K */
  PetscCall(MuonCompressorGetMaxBytes(c, m, n, &compressormost));
  TestCheck(compressormost == most, "%s: the compressor needs %zu bytes, expected %zu", what, compressormost, most);
  PetscCall(TestEncode(c, G, NULL, &again, &length));
  TestCheck(length == bytes && memcmp(again, message, bytes) == 0, "%s: the compressor writes another message", what);
  PetscCall(PetscFree(again));
  PetscCall(TestMatNormal(X, 1.0, &state));
  PetscCall(TestMatAxpby(1.0, G, 0.0, Y));
  PetscCall(TestMatAxpby(1.0, X, 1.0, Y));
  PetscCall(TestMatAxpby(1.0, Y, 0.0, Z));
  PetscCall(TestMatAxpby(-1.0, X, 1.0, Z));
  PetscCall(TestEncode(c, Y, X, &again, &length)); /* of a difference */
  PetscCall(MuonLMOEncode(lmo, Z, most, message + 0, &bytes));
  TestCheck(length == bytes && memcmp(again, message, bytes) == 0, "%s: the message of a difference is not that of the difference", what);
  PetscCall(PetscFree(again));
  PetscCall(MuonLMOEncode(lmo, G, most, message, &bytes));
  PetscCall(MuonLMOSharp(lmo, G, S));
  PetscCall(MuonCompressorDecode(c, bytes, message, Y));
  PetscCall(TestMatSame(Y, S, &same));
  TestCheck(same == PETSC_TRUE, "%s: the compressor does not decode the sharp operator", what);
  PetscCall(TestMatNormal(X, 1.0, &state));
  PetscCall(TestMatAxpby(1.0, X, 0.0, Y));
  PetscCall(MuonCompressorDecodeAdd(c, 2, bytes, message, Y));
  PetscCall(TestMatAxpby(2.0, S, 1.0, X));
  PetscCall(TestMatSame(Y, X, &same)); /* twice a number is exact */
  TestCheck(same == PETSC_TRUE, "%s: the compressor does not add the sharp operator", what);

  /* What is claimed of the contraction; the sharp operator is as long as G is in the dual norm, where rounding may take a little */
  PetscCall(MuonCompressorGetAlpha(c, m, n, &alpha));
  if (alpha > 0 && kind != TINY && kind != HUGE_ENTRIES) {
    PetscCall(TestMatSquares(G, &gs));
    PetscCall(TestMatAxpby(1.0, G, 0.0, Z));
    PetscCall(TestMatAxpby(-1.0, S, 1.0, Z));
    PetscCall(TestMatSquares(Z, &ss));
    TestCheck(ss <= (1 - alpha) * gs + 100 * (PetscReal)(m + n) * PETSC_MACHINE_EPSILON * gs, "%s: %g of %g is left, alpha %g", what, (double)ss, (double)gs, (double)alpha);
  }
  TestCheck((alpha > 0) == (strcmp(norm, MUONLMOROWSUM) != 0 && strcmp(norm, MUONLMOCOLSUM) != 0), "%s: alpha %g", what, (double)alpha);

  PetscCall(MuonCompressorGetCost(c, m, n, bytes, message, &cost));
  TestCheck(cost.encoded == 8.0 * (double)bytes, "%s: %g bits are sent, expected %zu", what, cost.encoded, 8 * bytes);
  if (dump->file != NULL) {
    fprintf(dump->file, "%s %d %d %d %.17g %.17g %.17g %.17g\n", norm, (int)m, (int)n, (int)kind, cost.paper, cost.encoded, cost.entropy, (double)alpha);
    PetscCall(WriteMat(dump, "G", G));
    PetscCall(WriteMat(dump, "D", D));
    PetscCall(WriteFile(dump, "message", message, bytes));
    dump->count++;
  }
  PetscCall(PetscFree(message));
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(MuonLMODestroy(&lmo));
  PetscCall(MuonLMODestroy(&other));
  PetscCall(TestMatDestroy(&D));
  PetscCall(TestMatDestroy(&S));
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(TestMatDestroy(&Z));
  PetscCall(TestMatDestroy(&before));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A message that is accepted can be decoded, within the matrix */
static PetscErrorCode TryDecode(MuonLMO lmo, size_t bytes, const unsigned char message[], Mat Y, PetscBool *valid)
{
  PetscInt m, n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(Y, &m, &n));
  PetscCall(ValidateCopy(lmo, m, n, bytes, message, valid));
  if (*valid == PETSC_TRUE) PetscCall(MuonLMODecodeAdd(lmo, 1, bytes, message, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every bit and every length; then what fits another layer, another shape, another norm */
static PetscErrorCode CheckDamage(const char norm[], PetscInt m, PetscInt n, Kind kind)
{
  MuonLMO            lmo;
  MuonCompressor     c;
  Mat                G, Y;
  unsigned char     *message;
  size_t             most, bytes;
  PetscBool          valid, compressor;
  PetscInt           refused = 0;
  unsigned long long state   = 5;
  unsigned long long count, payload;
  size_t             head;

  PetscFunctionBegin;
  PetscCall(MuonLMOCreate(PETSC_COMM_SELF, &lmo));
  PetscCall(MuonLMOSetType(lmo, norm));
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, &c));
  PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORSHARP));
  PetscCall(MuonCompressorSharpSetLMO(c, lmo));
  PetscCall(TestMatCreate(m, n, 1, &G));
  PetscCall(TestMatCreate(m, n, 2, &Y));
  PetscCall(Fill(G, kind, &state));
  PetscCall(MuonLMOGetMaxBytes(lmo, m, n, &most));
  PetscCall(PetscMalloc1(most + 1, &message));
  PetscCall(MuonLMOEncode(lmo, G, most, message, &bytes));
  head = TestHeader(message, &count, &payload);
  for (size_t bit = 0; bit < 8 * bytes; bit++) {
    message[bit / 8] ^= (unsigned char)(1 << bit % 8);
    PetscCall(TryDecode(lmo, bytes, message, Y, &valid));
    TestCheck(valid == PETSC_FALSE || bit / 8 >= head, "%s: bit %zu of the header does not matter", norm, bit);
    PetscCall(MuonCompressorValidate(c, m, n, bytes, message, &compressor));
    TestCheck(compressor == valid, "%s: the compressor has another opinion of bit %zu", norm, bit);
    if (valid == PETSC_FALSE) refused++;
    message[bit / 8] ^= (unsigned char)(1 << bit % 8);
  }
  TestCheck(refused >= 8 * (PetscInt)head, "%s: %" PetscInt_FMT " bits are refused", norm, refused);
  for (size_t cut = 0; cut < bytes; cut++) {
    PetscCall(TryDecode(lmo, cut, message, Y, &valid));
    TestCheck(valid == PETSC_FALSE, "%s: %zu of %zu bytes are accepted", norm, cut, bytes);
  }
  message[bytes] = 0;
  PetscCall(TryDecode(lmo, bytes + 1, message, Y, &valid));
  TestCheck(valid == PETSC_FALSE, "%s: a byte too many is accepted", norm);
  for (PetscInt k = 0; k < 500; k++) {
    unsigned char header[32];

    PetscCall(PetscArraycpy(header, message, head));
    for (PetscInt b = 0; b < 1 + k % 4; b++) message[TestBits(&state) % head] = (unsigned char)(TestBits(&state) % 3 == 0 ? 0xFF : TestBits(&state) % 256);
    PetscCall(TryDecode(lmo, bytes, message, Y, &valid));
    PetscCall(PetscArraycpy(message, header, head));
  }
  PetscCall(MuonLMOSetLayerName(lmo, "v"));
  PetscCall(ValidateCopy(lmo, m, n, bytes, message, &valid));
  TestCheck(valid == PETSC_FALSE, "%s: the message of another layer is accepted", norm);
  PetscCall(MuonLMOSetLayerName(lmo, ""));
  PetscCall(ValidateCopy(lmo, m, n, bytes, message, &valid));
  TestCheck(valid == PETSC_TRUE, "%s: the message is refused", norm);
  for (int k = 0; k < NNORMS; k++) {
    PetscCall(MuonLMOSetType(lmo, Norms[k]));
    PetscCall(ValidateCopy(lmo, m, n, bytes, message, &valid));
    TestCheck(valid == (strcmp(norm, Norms[k]) == 0 ? PETSC_TRUE : PETSC_FALSE), "A message of %s is %s by %s", norm, valid == PETSC_TRUE ? "accepted" : "refused", Norms[k]);
  }
  PetscCall(PetscFree(message));
  PetscCall(TestMatDestroy(&G));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(MuonLMODestroy(&lmo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Layers without entries have messages of a header alone */
static PetscErrorCode CheckEmpty(void)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2 * NNORMS; k++) {
    const PetscInt m = k % 2 == 0 ? 0 : 3, n = 3 - m;
    MuonLMO        lmo;
    Mat            G;
    unsigned char  message[8];
    size_t         most, bytes;
    PetscBool      valid;

    PetscCall(MuonLMOCreate(PETSC_COMM_SELF, &lmo));
    PetscCall(MuonLMOSetType(lmo, Norms[k / 2]));
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, m, n, NULL, &G));
    PetscCall(MuonLMOGetMaxBytes(lmo, m, n, &most));
    PetscCall(MuonLMOEncode(lmo, G, sizeof(message), message, &bytes));
    TestCheck(most == 8 && bytes == 8, "%s: %zu of at most %zu bytes for %" PetscInt_FMT " x %" PetscInt_FMT, Norms[k / 2], bytes, most, m, n);
    PetscCall(MuonLMOValidate(lmo, m, n, bytes, message, &valid));
    TestCheck(valid == PETSC_TRUE, "%s: the message of %" PetscInt_FMT " x %" PetscInt_FMT " is refused", Norms[k / 2], m, n);
    PetscCall(MuonLMODecodeAdd(lmo, 1, bytes, message, G));
    PetscCall(MatDestroy(&G));
    PetscCall(MuonLMODestroy(&lmo));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An entry of 0 is a second way to say nothing */
static PetscErrorCode CheckZeroEntry(void)
{
  MuonLMO       lmo;
  Mat           G;
  unsigned char message[64];
  size_t        bytes;
  PetscBool     valid;

  PetscFunctionBegin;
  PetscCall(MuonLMOCreate(PETSC_COMM_SELF, &lmo));
  PetscCall(MuonLMOSetType(lmo, MUONLMOL1));
  PetscCall(TestMatCreate(5, 4, 0, &G));
  PetscCall(TestMatSet(G, 2, 3, -2));
  PetscCall(MuonLMOEncode(lmo, G, sizeof(message), message, &bytes));
  PetscCall(PetscMemzero(message + bytes - sizeof(PetscScalar), sizeof(PetscScalar)));
  for (int sign = 0; sign < 2; sign++) {
    message[bytes - 1] = (unsigned char)(sign == 0 ? 0 : 0x80);
    PetscCall(MuonLMOValidate(lmo, 5, 4, bytes, message, &valid));
    TestCheck(valid == PETSC_FALSE, "An entry that is %s0 is accepted", sign == 0 ? "" : "-");
  }
  PetscCall(TestMatDestroy(&G));
  PetscCall(MuonLMODestroy(&lmo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No message, and no harm, where entries are not finite; where the sum over rows is too large for a number there is a D, but no dual norm to send */
static PetscErrorCode CheckInfinite(void)
{
  PetscFunctionBegin;
  for (int k = 0; k < NNORMS; k++) {
    MuonLMO       lmo;
    Mat           G;
    MuonStatus    status;
    unsigned char message[512], before[512];
    size_t        bytes = 7;

    PetscCall(MuonLMOCreate(PETSC_COMM_SELF, &lmo));
    PetscCall(MuonLMOSetType(lmo, Norms[k]));
    PetscCall(TestMatCreate(4, 3, 0, &G));
    memset(message, 0x5A, sizeof(message));
    PetscCall(PetscArraycpy(before, message, sizeof(message)));
    PetscCall(TestMatSet(G, 1, 1, (PetscScalar)(k % 2 == 0 ? NAN : INFINITY)));
    PetscCall(MuonLMOEncode(lmo, G, sizeof(message), message, &bytes));
    PetscCall(MuonLMOGetStatus(lmo, &status));
    TestCheck(status == MUON_STATUS_NANORINF && bytes == 0 && memcmp(message, before, sizeof(message)) == 0, "%s: status %d, %zu bytes", Norms[k], (int)status, bytes);
    if (strcmp(Norms[k], MUONLMOROWSUM) == 0 || strcmp(Norms[k], MUONLMOCOLSUM) == 0) {
      for (PetscInt e = 0; e < 12; e++) PetscCall(TestMatSet(G, e / 3, e % 3, (PetscReal)0.9 * PETSC_MAX_REAL));
      PetscCall(MuonLMOEncode(lmo, G, sizeof(message), message, &bytes));
      PetscCall(MuonLMOGetStatus(lmo, &status));
      TestCheck(status == MUON_STATUS_NANORINF && bytes == 0 && memcmp(message, before, sizeof(message)) == 0, "%s: an infinite dual norm gives status %d, %zu bytes", Norms[k], (int)status, bytes);
    }
    PetscCall(TestMatDestroy(&G));
    PetscCall(MuonLMODestroy(&lmo));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckWhich(void)
{
  const char *const all[] = {MUONLMOSPECTRAL, MUONLMONUCLEAR, MUONLMOSCHATTEN, MUONLMOFROBENIUS, MUONLMOMAX, MUONLMOL1, MUONLMOCOLUMN, MUONLMOROW, MUONLMOCOLSUM, MUONLMOROWSUM, MUONLMOL21, MUONLMOMIXED};
  MuonLMO           lmo;
  PetscBool         can;
  PetscInt          found = 0;

  PetscFunctionBegin;
  PetscCall(MuonLMOCreate(PETSC_COMM_SELF, &lmo));
  for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
    PetscBool expected = PETSC_FALSE;

    for (int i = 0; i < NNORMS; i++) expected = expected == PETSC_TRUE || strcmp(all[k], Norms[i]) == 0 ? PETSC_TRUE : PETSC_FALSE;
    PetscCall(MuonLMOSetType(lmo, all[k]));
    PetscCall(MuonLMOCanEncode(lmo, &can));
    TestCheck(can == expected, "%s %s be encoded", all[k], can == PETSC_TRUE ? "can" : "cannot");
    found += can == PETSC_TRUE;
  }
  TestCheck(found == NNORMS, "%" PetscInt_FMT " norms can be encoded", found);
  PetscCall(MuonLMODestroy(&lmo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Wrong(const char wrong[])
{
  MuonLMO        lmo;
  MuonCompressor c;
  Mat            G;
  unsigned char  message[512] = {0};
  size_t         bytes;

  PetscFunctionBegin;
  PetscCall(MuonLMOCreate(PETSC_COMM_WORLD, &lmo));
  PetscCall(MuonLMOSetOptionsPrefix(lmo, "some_"));
  PetscCall(MuonLMOSetType(lmo, strcmp(wrong, "norm") == 0 ? MUONLMOFROBENIUS : MUONLMOROWSUM));
  PetscCall(MatCreateDense(strcmp(wrong, "parallel") == 0 ? PETSC_COMM_WORLD : PETSC_COMM_SELF, PETSC_DECIDE, PETSC_DECIDE, 5, 4, NULL, &G));
  if (strcmp(wrong, "room") == 0) PetscCall(MuonLMOEncode(lmo, G, 8, message, &bytes));
  if (strcmp(wrong, "norm") == 0 || strcmp(wrong, "parallel") == 0) PetscCall(MuonLMOEncode(lmo, G, sizeof(message), message, &bytes));
  if (strcmp(wrong, "message") == 0) PetscCall(MuonLMODecodeAdd(lmo, 1, 40, message, G));
  if (strcmp(wrong, "oracle") == 0) {
    PetscCall(MuonCompressorCreate(PETSC_COMM_WORLD, &c));
    PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORSHARP));
    PetscCall(MuonCompressorEncode(c, G, NULL, sizeof(message), message, &bytes));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Dump               dump;
  PetscBool          flg;
  unsigned long long state = 3;
  char               path[PETSC_MAX_PATH_LEN], wrong[32];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-wrong", wrong, sizeof(wrong), &flg));
  if (flg == PETSC_TRUE) PetscCall(Wrong(wrong));
  PetscCall(PetscMemzero(&dump, sizeof(dump)));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-oracle_dir", dump.folder, sizeof(dump.folder), &flg));
  if (flg == PETSC_TRUE) {
    PetscCall(PetscSNPrintf(path, sizeof(path), "%s/cases.txt", dump.folder));
    dump.file = fopen(path, "w");
    TestCheck(dump.file != NULL, "%s cannot be written", path);
  }
  PetscCall(CheckWhich());
  for (int k = 0; k < NNORMS; k++) {
    for (int s = 0; s < NSHAPES; s++) {
      for (int kind = 0; kind < KINDS; kind++) {
        Mat G;

        PetscCall(TestMatCreate(Shapes[s][0], Shapes[s][1], (s + kind) % 3, &G));
        PetscCall(Fill(G, (Kind)kind, &state));
        PetscCall(CheckMessage(Norms[k], G, (Kind)kind, &dump));
        PetscCall(TestMatDestroy(&G));
      }
    }
    PetscCall(CheckDamage(Norms[k], 9, 13, RANDOM));
    PetscCall(CheckDamage(Norms[k], 9, 13, HOLES));
    PetscCall(CheckDamage(Norms[k], 6, 5, ZERO));
    PetscCall(CheckDamage(Norms[k], 40, 3, HOLES));
    PetscCall(CheckDamage(Norms[k], 4, 8, RANDOM));
  }
  PetscCall(CheckEmpty());
  PetscCall(CheckZeroEntry());
  PetscCall(CheckInfinite());
  if (dump.file != NULL) TestCheck(fclose(dump.file) == 0, "cases.txt was not written");
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  # For the kernels
  link: internal

  test:

  test:
    suffix: oracle
    requires: numpy
    oracle: lmo_message.py

  testset:
    nsize: 2
    test:
      suffix: norm
      args: -wrong norm
      error: -some_lmo_type frobenius have no natural format, expected one of: colsum, l1, l21, nuclear, rowsum
    test:
      suffix: room
      args: -wrong room
      error: Room for 8 bytes, expected
    test:
      suffix: parallel
      args: -wrong parallel
      error: for messages of -some_lmo_type rowsum
    test:
      suffix: message
      args: -wrong message
      error: 40 bytes are no message for 5 x 4
    test:
      suffix: oracle_missing
      args: -wrong oracle
      error: expected a call of MuonCompressorSharpSetLMO()

TEST*/
