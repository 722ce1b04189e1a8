static char help[] =
  "Steps as messages, of arrays of both precisions and orders: they hold D to the last bit, cost what formulas say, and damaged ones are refused or other messages. With -oracle_dir they are written for tests/oracle/lmo_message.py.\n";

#include "lmo_common.h"
#include "wire_header.h"

static const char *const Norms[] = {MUONLMONUCLEAR, MUONLMOL1, MUONLMOROWSUM, MUONLMOCOLSUM, MUONLMOL21};
#define NNORMS 5

static const int Shapes[][2] = {{6, 5}, {5, 6}, {1, 9}, {9, 1}, {1, 1}, {17, 33}, {40, 3}, {3, 40}, {2, 4}, {300, 2}};
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

/* Of a layer of that name, or of none */
static PetscErrorCode Make(const char norm[], const char layer[], MuonLMO *lmo)
{
  PetscFunctionBeginUser;
  PetscCall(MuonLMOCreate(PETSC_COMM_SELF, lmo));
  PetscCall(MuonLMOSetType(*lmo, norm));
  if (layer != NULL) PetscCall(MuonNameHash_Private(layer, &(*lmo)->layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By columns, in the precision of the variant */
static void Fill(int variant, Kind kind, int m, int n, double *A)
{
  const double far = TestPrecision(variant) == MUON_SINGLE ? 0x1p-46 : 0x1p-104;

  for (int j = 0; j < n; j++) {
    for (int i = 0; i < m; i++) {
      double a = TestGaussian();

      if (kind == INTEGERS) a = floor(5.0 * TestUniform()) - 2.0;
      if (kind == HOLES && (i % 3 == 0 || j % 4 == 0 || i + 1 == m || j + 1 == n)) a = j % 2 == 0 ? 0.0 : -0.0;
      if (kind == ALONE) a = i == m / 2 && j == n / 2 ? -3.0 : 0.0;
      if (kind == NEGATIVE) a = -fabs(a) - 1.0;
      if (kind == ZERO) a = 0.0;
      if (kind == TINY) a *= far;
      if (kind == HUGE_ENTRIES) a /= far;
      A[i + j * m] = TestPrecision(variant) == MUON_SINGLE ? (double)(float)a : a;
    }
  }
}

/* The same bits, the signs of zeros included */
static PetscErrorCode CheckBits(int mn, const double *a, const double *b, const char what[])
{
  PetscFunctionBeginUser;
  for (int e = 0; e < mn; e++) TestCheck(memcmp(&a[e], &b[e], sizeof(*a)) == 0, "%s: entry %d is %.17g, expected %.17g", what, e, a[e], b[e]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In memory of its own, so that a byte read past the end is seen */
static PetscErrorCode ValidateCopy(MuonLMO lmo, const MuonArray *shape, size_t bytes, const unsigned char message[], MuonCompressorCost *cost, PetscBool *valid)
{
  MuonArray      nothing = *shape;
  unsigned char *copy;

  PetscFunctionBeginUser;
  nothing.data = NULL;
  PetscCall(PetscMalloc1(bytes + 1, &copy));
  PetscCall(PetscArraycpy(copy + 1, message, bytes));
  PetscCall(MuonLMOValidateArray(lmo, &nothing, bytes, copy + 1, cost != NULL ? PETSC_TRUE : PETSC_FALSE, cost, valid));
  PetscCall(PetscFree(copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Y = a X + b D by the message, and by the whole D. Y may have the other precision: D is exact in double, and rounded in single before anything else
*/
static PetscErrorCode CheckDecode(MuonLMO lmo, int variant, int m, int n, const double *D, size_t bytes, const unsigned char message[], const char what[])
{
  const double factors[][2] = {{1.0, -0.3}, {1.0, 1.0}, {1.0, 0.0}, {0.875, 1e-3}, {0.0, 2.0}};
  double      *x, *y, *z;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3(m * n, &x, m * n, &y, m * n, &z));
  for (int k = 0; k < (int)PETSC_STATIC_ARRAY_LENGTH(factors); k++) {
    TestInput X, Y, Z;

    for (int e = 0; e < m * n; e++) x[e] = k == 1 ? 0.0 : (k == 3 && e == 0 ? -0.0 : TestGaussian());
    PetscCall(TestCreate(variant, TEST_ALONE, m, n, 3, x, &X));
    PetscCall(TestCreate(variant, TEST_ALONE, m, n, 1, x, &Y));
    PetscCall(TestCreate(variant, TEST_ALONE, m, n, 0, D, &Z));
    MuonArrayAxpby(factors[k][0], &X.matrix.here, factors[k][1], &Z.matrix.here);
    PetscCall(MuonLMODecodeAxpbyArray(lmo, factors[k][0], factors[k][1], PETSC_FALSE, bytes, message, &Y.matrix.here));
    PetscCall(TestGet(&Y, y));
    PetscCall(TestGet(&Z, z));
    PetscCall(CheckBits(m * n, y, z, what));
    PetscCall(TestDestroy(&X));
    PetscCall(TestDestroy(&Y));
    PetscCall(TestDestroy(&Z));
  }
  PetscCall(PetscFree3(x, y, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The message of G against the D of another object, and the formulas */
static PetscErrorCode CheckMessage(const char norm[], int variant, int m, int n, Kind kind, TestOracle *oracle)
{
  const int          other_variant = variant <= TEST_SINGLE_ROWS ? variant + 2 : variant - 2, columns = !TestIsByRows(variant);
  MuonLMO            lmo, other;
  MuonCompressorCost cost, again;
  TestInput          G, D;
  double             dual;
  PetscBool          valid;
  MuonStatus         status;
  unsigned char     *message;
  size_t             most, bytes, length;
  double            *A, *a, *d;
  char               what[128];

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s, %d x %d, %s, matrix %d", norm, m, n, testvariants[variant], (int)kind));
  PetscCall(PetscMalloc3(m * n, &A, m * n, &a, m * n, &d));
  Fill(variant, kind, m, n, A);
  PetscCall(Make(norm, "w", &lmo));
  PetscCall(Make(norm, "w", &other));
  PetscCall(TestCreate(variant, TEST_ALONE, m, n, 2, A, &G));
  PetscCall(TestCreate(variant, TEST_ALONE, m, n, 3, NULL, &D));

  PetscCall(MuonLMOGetMaxBytesOf(lmo, &G.matrix.here, &most));
  PetscCall(PetscMalloc1(most + 8, &message));
  memset(message, 0xA5, most + 8);
  PetscCall(MuonLMOEncodeArray(lmo, &G.matrix.here, most, message, &length));
  PetscCall(MuonLMOEncodeArray(lmo, &G.matrix.here, most, message, &bytes));
  status = lmo->status;
  TestCheck(status == MUON_STATUS_OK && bytes >= 8 && bytes <= most && length == bytes, "%s: status %d, %zu and %zu of at most %zu bytes", what, (int)status, length, bytes, most);
  for (int i = 0; i < 8; i++) TestCheck(message[most + (size_t)i] == 0xA5, "%s: byte %d behind the message was written", what, i);
  PetscCall(TestGet(&G, a));
  PetscCall(CheckBits(m * n, a, A, "the matrix"));
  PetscCall(ValidateCopy(other, &G.matrix.here, bytes, message, &cost, &valid));
  TestCheck(valid == PETSC_TRUE, "%s: a good message is refused", what);
  PetscCall(MuonLMOValidateArray(other, &G.matrix.here, bytes, message, PETSC_FALSE, &again, &valid));
  TestCheck(cost.encoded == 8.0 * (double)bytes && again.encoded == cost.encoded && again.paper == cost.paper && again.entropy == -1.0 && cost.entropy >= 0.0, "%s: costs %g %g %g and %g %g %g", what, cost.paper, cost.encoded, cost.entropy,
            again.paper, again.encoded, again.entropy);

  /* D itself, with factors that take each way through a sum, for the precision of the step and for the other */
  PetscCall(MuonLMOApplyMatrix(other, &G.matrix, &D.matrix, &dual, &status));
  PetscCall(TestGet(&D, d));
  TestCheck(lmo->dual == dual, "%s: the dual norm is %g, expected %g", what, lmo->dual, dual);
  PetscCall(CheckDecode(lmo, variant, m, n, d, bytes, message, what));
  PetscCall(CheckDecode(lmo, other_variant, m, n, d, bytes, message, what));

  if (oracle->list != NULL) {
    fprintf(oracle->list, "%s %d %d %d %d %.17g %.17g %.17g %.17g\n", norm, m, n, (int)kind, columns ? 0 : 1, (double)PETSC_MACHINE_EPSILON, cost.paper, cost.encoded, cost.entropy);
    PetscCall(TestOracleWrite(oracle, "", "G", A, (size_t)(m * n) * sizeof(*A)));
    PetscCall(TestOracleWrite(oracle, "", "D", d, (size_t)(m * n) * sizeof(*d)));
    PetscCall(TestOracleWrite(oracle, "", "message", message, bytes));
    oracle->count++;
  }
  PetscCall(PetscFree(message));
  PetscCall(PetscFree3(A, a, d));
  PetscCall(MuonLMODestroy(&lmo));
  PetscCall(MuonLMODestroy(&other));
  PetscCall(TestDestroy(&G));
  PetscCall(TestDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A message that is accepted can be decoded, within the matrix */
static PetscErrorCode TryDecode(MuonLMO lmo, size_t bytes, const unsigned char message[], TestInput *Y, PetscBool *valid)
{
  PetscFunctionBeginUser;
  PetscCall(ValidateCopy(lmo, &Y->matrix.here, bytes, message, NULL, valid));
  if (*valid == PETSC_TRUE) PetscCall(MuonLMODecodeAxpbyArray(lmo, 1, 1, PETSC_FALSE, bytes, message, &Y->matrix.here));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every bit and every length; then what fits another layer, another precision, another norm */
static PetscErrorCode CheckDamage(const char norm[], int variant, int m, int n, Kind kind)
{
  MuonLMO            lmo;
  TestInput          G, Y;
  unsigned char     *message;
  size_t             most, bytes;
  PetscBool          valid;
  PetscInt           refused = 0;
  unsigned long long count, payload;
  size_t             head;
  MuonArray          shape;
  double            *A;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(m * n, &A));
  Fill(variant, kind, m, n, A);
  PetscCall(Make(norm, NULL, &lmo));
  PetscCall(TestCreate(variant, TEST_ALONE, m, n, 1, A, &G));
  PetscCall(TestCreate(variant, TEST_ALONE, m, n, 2, A, &Y));
  shape = G.matrix.here;
  PetscCall(MuonLMOGetMaxBytesOf(lmo, &shape, &most));
  PetscCall(PetscMalloc1(most + 1, &message));
  PetscCall(MuonLMOEncodeArray(lmo, &G.matrix.here, most, message, &bytes));
  head = TestHeader(message, &count, &payload);
  for (size_t bit = 0; bit < 8 * bytes; bit++) {
    message[bit / 8] ^= (unsigned char)(1 << bit % 8);
    PetscCall(TryDecode(lmo, bytes, message, &Y, &valid));
    TestCheck(valid == PETSC_FALSE || bit / 8 >= head, "%s: bit %zu of the header does not matter", norm, bit);
    if (valid == PETSC_FALSE) refused++;
    message[bit / 8] ^= (unsigned char)(1 << bit % 8);
  }
  TestCheck(refused >= 8 * (PetscInt)head, "%s: %" PetscInt_FMT " bits are refused", norm, refused);
  for (size_t cut = 0; cut < bytes; cut++) {
    PetscCall(TryDecode(lmo, cut, message, &Y, &valid));
    TestCheck(valid == PETSC_FALSE, "%s: %zu of %zu bytes are accepted", norm, cut, bytes);
  }
  message[bytes] = 0;
  PetscCall(TryDecode(lmo, bytes + 1, message, &Y, &valid));
  TestCheck(valid == PETSC_FALSE, "%s: a byte too many is accepted", norm);
  for (PetscInt k = 0; k < 500; k++) {
    unsigned char header[32];

    PetscCall(PetscArraycpy(header, message, head));
    for (PetscInt b = 0; b < 1 + k % 4; b++) message[(size_t)(TestUniform() * (double)head)] = (unsigned char)(TestUniform() < 1.0 / 3.0 ? 255.0 : 256.0 * TestUniform());
    PetscCall(TryDecode(lmo, bytes, message, &Y, &valid));
    PetscCall(PetscArraycpy(message, header, head));
  }
  PetscCall(MuonNameHash_Private("v", &lmo->layer));
  PetscCall(ValidateCopy(lmo, &shape, bytes, message, NULL, &valid));
  TestCheck(valid == PETSC_FALSE, "%s: the message of another layer is accepted", norm);
  PetscCall(MuonNameHash_Private("", &lmo->layer));
  PetscCall(ValidateCopy(lmo, &shape, bytes, message, NULL, &valid));
  TestCheck(valid == PETSC_TRUE, "%s: the message is refused", norm);
  shape.precision = variant <= TEST_SINGLE_ROWS ? MUON_DOUBLE : MUON_SINGLE;
  PetscCall(ValidateCopy(lmo, &shape, bytes, message, NULL, &valid));
  TestCheck(valid == PETSC_FALSE, "%s: a message of the other precision is accepted", norm);
  for (int k = 0; k < NNORMS; k++) {
    PetscCall(MuonLMOSetType(lmo, Norms[k]));
    PetscCall(ValidateCopy(lmo, &G.matrix.here, bytes, message, NULL, &valid));
    TestCheck(valid == (strcmp(norm, Norms[k]) == 0 ? PETSC_TRUE : PETSC_FALSE), "A message of %s is %s by %s", norm, valid == PETSC_TRUE ? "accepted" : "refused", Norms[k]);
  }
  PetscCall(PetscFree(message));
  PetscCall(PetscFree(A));
  PetscCall(TestDestroy(&G));
  PetscCall(TestDestroy(&Y));
  PetscCall(MuonLMODestroy(&lmo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Layers without entries have messages of a header alone */
static PetscErrorCode CheckEmpty(void)
{
  PetscFunctionBeginUser;
  for (int k = 0; k < 2 * NNORMS; k++) {
    const PetscInt m = k % 2 == 0 ? 0 : 3, n = 3 - m;
    MuonArray      G = MuonArrayOfScalars(m, n, NULL, m);
    MuonLMO        lmo;
    unsigned char  message[8];
    size_t         most, bytes;
    PetscBool      valid;

    PetscCall(Make(Norms[k / 2], NULL, &lmo));
    PetscCall(MuonLMOGetMaxBytesOf(lmo, &G, &most));
    PetscCall(MuonLMOEncodeArray(lmo, &G, sizeof(message), message, &bytes));
    TestCheck(most == 8 && bytes == 8, "%s: %zu of at most %zu bytes for %" PetscInt_FMT " x %" PetscInt_FMT, Norms[k / 2], bytes, most, m, n);
    PetscCall(MuonLMOValidateArray(lmo, &G, bytes, message, PETSC_FALSE, NULL, &valid));
    TestCheck(valid == PETSC_TRUE, "%s: the message of %" PetscInt_FMT " x %" PetscInt_FMT " is refused", Norms[k / 2], m, n);
    PetscCall(MuonLMODecodeAxpbyArray(lmo, 1, 1, PETSC_FALSE, bytes, message, &G));
    PetscCall(MuonLMODestroy(&lmo));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No message, and no harm, where entries are not finite; where the sum over rows is too large for a number there is a D, but no dual norm to send */
static PetscErrorCode CheckInfinite(void)
{
  PetscFunctionBeginUser;
  for (int k = 0; k < NNORMS; k++) {
    MuonLMO       lmo;
    PetscScalar   A[12] = {0};
    MuonArray     G     = MuonArrayOfScalars(4, 3, A, 4);
    unsigned char message[512], before[512];
    size_t        bytes;

    PetscCall(Make(Norms[k], NULL, &lmo));
    memset(message, 0x5A, sizeof(message));
    PetscCall(PetscArraycpy(before, message, sizeof(message)));
    for (int way = 0; way < (strcmp(Norms[k], MUONLMOROWSUM) == 0 || strcmp(Norms[k], MUONLMOCOLSUM) == 0 ? 2 : 1); way++) {
      for (int e = 0; e < 12 && way == 1; e++) A[e] = 0.9 * PETSC_MAX_REAL;
      if (way == 0) A[5] = k % 2 == 0 ? NAN : INFINITY;
      bytes = 7;
      PetscCall(MuonLMOEncodeArray(lmo, &G, sizeof(message), message, &bytes));
      PetscCall(TestStatus(PETSC_COMM_SELF, lmo->status, MUON_STATUS_NANORINF, Norms[k]));
      TestCheck(bytes == 0 && memcmp(message, before, sizeof(message)) == 0, "%s: %zu bytes", Norms[k], bytes);
    }
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

  PetscFunctionBeginUser;
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

/* A norm without messages */
static PetscErrorCode Wrong(void)
{
  MuonArray G = MuonArrayOfScalars(5, 4, NULL, 5);
  MuonLMO   lmo;
  size_t    bytes;

  PetscFunctionBeginUser;
  PetscCall(MuonLMOCreate(PETSC_COMM_WORLD, &lmo));
  PetscCall(MuonLMOSetOptionsPrefix(lmo, "some_"));
  PetscCall(MuonLMOSetType(lmo, MUONLMOFROBENIUS));
  PetscCall(MuonLMOGetMaxBytesOf(lmo, &G, &bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  TestOracle oracle;
  PetscBool  flg;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-wrong", &flg));
  if (flg) PetscCall(Wrong());
  PetscCall(TestOracleOpen(&oracle));
  PetscCall(CheckWhich());
  for (int k = 0; k < NNORMS; k++) {
    for (int s = 0; s < NSHAPES; s++) {
      for (int kind = 0; kind < KINDS; kind++) {
        /* Each norm with each matrix in each shape, and in two of the four precisions and orders */
        PetscCall(CheckMessage(Norms[k], 1 + (s + kind) % 4, Shapes[s][0], Shapes[s][1], (Kind)kind, &oracle));
        PetscCall(CheckMessage(Norms[k], 1 + (s + kind + 1 + kind % 3) % 4, Shapes[s][0], Shapes[s][1], (Kind)kind, &oracle));
      }
    }
    PetscCall(CheckDamage(Norms[k], TEST_DOUBLE_COLUMNS, 9, 13, RANDOM));
    PetscCall(CheckDamage(Norms[k], TEST_SINGLE_ROWS, 9, 13, HOLES));
    PetscCall(CheckDamage(Norms[k], TEST_DOUBLE_ROWS, 6, 5, ZERO));
    PetscCall(CheckDamage(Norms[k], TEST_SINGLE_COLUMNS, 40, 3, HOLES));
    PetscCall(CheckDamage(Norms[k], TEST_SINGLE_ROWS, 4, 8, RANDOM));
  }
  PetscCall(CheckEmpty());
  PetscCall(CheckInfinite());
  PetscCall(TestOracleClose(&oracle));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    oracle: lmo_message.py

  test:
    suffix: norm
    nsize: 2
    args: -wrong
    error: -some_lmo_type frobenius: its steps have no natural format, expected nuclear, l1, colsum, rowsum or l21

TEST*/
