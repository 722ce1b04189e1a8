static char help[] = "Messages of arrays: in either order and precision, with gaps and without. What depends on rows and columns knows them in both orders, and what does not sees memory alone.\n";

#include "compressor_common.h"
#include "parameters.h"

/* Of a message that is sent twice: what it is, what it decodes to, what it adds to */
typedef struct {
  unsigned char *buf[2];
  size_t         bytes[2];
} Messages;

static PetscErrorCode MessagesFree(Messages *messages)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(PetscFree(messages->buf[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two messages in a row, the first of which takes effect, and what they add to Y, which has R in it */
static PetscErrorCode Send(const TestChoice *choice, const MuonArray *T, const MuonArray *R, const MuonArray *Y, Messages *messages)
{
  MuonCompressor c;
  MuonValidated  own = {NULL, 0, NULL, 0, NULL};
  MuonStatus     status;

  PetscFunctionBegin;
  PetscCall(TestCreate(choice, &c));
  TestArrayCopy(R, Y);
  for (int k = 0; k < 2; k++) {
    PetscCall(MuonCompressorSetStep(c, 5 + k));
    PetscCall(TestEncodeArray(c, T, Y, &messages->buf[k], &messages->bytes[k], NULL, &own));
    PetscCall(MuonCompressorGetStatus(c, &status));
    TestCheck(status == MUON_STATUS_OK, "%s: status %s", choice->type, MuonStatuses[status]);
    PetscCall(MuonCompressorDecodeValidated(c, &own, PETSC_TRUE, 0.75, Y));
    PetscCall(MuonCompressorCommit(c));
  }
  PetscCall(MuonValidatedDestroy(&own));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckSame(const TestChoice *choice, const char what[], const Messages *a, const Messages *b)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) TestCheck(a->bytes[k] == b->bytes[k] && memcmp(a->buf[k], b->buf[k], a->bytes[k]) == 0, "%s %s, %s: message %d is another", choice->type, MuonCompressorValuesTypes[choice->values], what, k);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* B = A^T */
static void Transpose(const MuonArray *A, const MuonArray *B)
{
  for (size_t j = 0; j < MuonArrayColumns(A); j++) {
    for (size_t i = 0; i < MuonArrayRows(A); i++) TestArraySet(B, j, i, TestArrayGet(A, i, j));
  }
}

/*
   An n x m array by rows has the lines of an m x n array by columns: the messages of all types are the same,
   with rows and columns exchanged for those that know them. So they are whatever the gaps between the lines
   are
*/
static PetscErrorCode CheckTransposed(const TestChoice *choice, MuonPrecision precision, PetscInt m, PetscInt n, unsigned long long *state)
{
  TestChoice exchanged = *choice;
  MuonArray  T, R, Y, U, S, Z, V;
  Messages   columns, rows;
  PetscBool  is;

  PetscFunctionBegin;
  PetscCall(TestIs(choice, MUONCOMPRESSORCOLUMNTOPK, &is));
  if (is) exchanged.type = MUONCOMPRESSORROWTOPK;
  PetscCall(TestIs(choice, MUONCOMPRESSORROWTOPK, &is));
  if (is) exchanged.type = MUONCOMPRESSORCOLUMNTOPK;
  PetscCall(TestArrayCreate(m, n, precision, 0, 3, &T));
  PetscCall(TestArrayCreate(m, n, precision, 0, 1, &R));
  PetscCall(TestArrayCreate(m, n, precision, 0, 0, &Y));
  PetscCall(TestArrayCreate(n, m, precision, 1, 0, &U));
  PetscCall(TestArrayCreate(n, m, precision, 1, 2, &S));
  PetscCall(TestArrayCreate(n, m, precision, 1, 4, &Z));
  PetscCall(TestArrayCreate(n, m, precision, 1, 0, &V));
  TestArrayNormal(&T, 1.0, state);
  TestArrayNormal(&R, 0.25, state);
  Transpose(&T, &U);
  Transpose(&R, &S);
  PetscCall(Send(choice, &T, &R, &Y, &columns));
  PetscCall(Send(&exchanged, &U, &S, &Z, &rows));
  PetscCall(CheckSame(choice, "by rows", &columns, &rows));
  Transpose(&Y, &V);
  TestCheck(TestArraySame(&Z, &V), "%s: rows are not columns of the transposed matrix", choice->type);
  /* What is one line has no distance to the next */
  if (T.count == 1) {
    MuonArray one = T, other = R;

    PetscCall(MessagesFree(&rows));
    one.ld = other.ld = 0;
    PetscCall(Send(choice, &one, &other, &Y, &rows));
    PetscCall(CheckSame(choice, "one line", &columns, &rows));
  }
  PetscCall(MessagesFree(&columns));
  PetscCall(MessagesFree(&rows));
  PetscCall(TestArrayDestroy(&T));
  PetscCall(TestArrayDestroy(&R));
  PetscCall(TestArrayDestroy(&Y));
  PetscCall(TestArrayDestroy(&U));
  PetscCall(TestArrayDestroy(&S));
  PetscCall(TestArrayDestroy(&Z));
  PetscCall(TestArrayDestroy(&V));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Types that draw nothing and look at entries, rows or columns: of the same matrix they make the same,
   whichever way it is stored; also of its blocks
*/
static PetscErrorCode CheckOrders(MuonPrecision precision, PetscInt m, PetscInt n, PetscBool blocks, unsigned long long *state)
{
  const char *const types[] = {MUONCOMPRESSORIDENTITY, MUONCOMPRESSORNEAREST, MUONCOMPRESSORTRUNCATED, MUONCOMPRESSORBF16, MUONCOMPRESSORDAMPING, MUONCOMPRESSORTOPK, MUONCOMPRESSORCOLUMNTOPK, MUONCOMPRESSORROWTOPK};

  PetscFunctionBegin;
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    for (int values = MUON_COMPRESSOR_VALUES_NATIVE; values < MUON_COMPRESSOR_VALUES_NATURAL; values++) {
      const TestChoice choice = {types[t], 0.3, PETSC_DETERMINE, (MuonCompressorValues)values, 0};
      MuonArray        T[2], R[2], Y[2];

      for (int order = 0; order < 2; order++) {
        MuonCompressor c;
        MuonValidated  own = {NULL, 0, NULL, 0, NULL};
        unsigned char *buf;
        size_t         bytes;

        PetscCall(TestArrayCreate(m, n, precision, order, 2 - order, &T[order]));
        PetscCall(TestArrayCreate(m, n, precision, order, order, &R[order]));
        PetscCall(TestArrayCreate(m, n, precision, order, 1, &Y[order]));
        if (order == 0) {
          TestArrayNormal(&T[0], 1.0, state);
          TestArrayNormal(&R[0], 0.25, state);
        } else {
          TestArrayCopy(&T[0], &T[1]);
          TestArrayCopy(&R[0], &R[1]);
        }
        PetscCall(TestCreate(&choice, &c));
        if (blocks) PetscCall(MuonCompressorSetBlocks(c, 3, NULL, 2, NULL));
        PetscCall(TestEncodeArray(c, &T[order], &R[order], &buf, &bytes, NULL, &own));
        PetscCall(MuonCompressorDecodeValidated(c, &own, PETSC_FALSE, 0.0, &Y[order]));
        PetscCall(PetscFree(buf));
        PetscCall(MuonValidatedDestroy(&own));
        PetscCall(MuonCompressorDestroy(&c));
      }
      TestCheck(TestArraySame(&Y[0], &Y[1]), "%s %s of %" PetscInt_FMT " x %" PetscInt_FMT "%s: by rows it is something else", types[t], MuonCompressorValuesTypes[values], m, n, blocks ? " in blocks" : "");
      for (int order = 0; order < 2; order++) {
        PetscCall(TestArrayDestroy(&T[order]));
        PetscCall(TestArrayDestroy(&R[order]));
        PetscCall(TestArrayDestroy(&Y[order]));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   X = U diag(16, 15, ...) V^T with U and V Hadamard matrices of 16 over 4, exact in binary: the leading
   triples of X are known
*/
static double Hadamard(int i, int j)
{
  int bits = i & j, ones = 0;

  for (; bits > 0; bits /= 2) ones += bits % 2;
  return ones % 2 == 0 ? 0.25 : -0.25;
}

static PetscErrorCode CheckLowRank(const char type[], MuonPrecision precision, int rowmajor, int keep)
{
  const int        n      = 16;
  const TestChoice choice = {type, 0.5, keep, MUON_COMPRESSOR_VALUES_NATIVE, 0};
  /*
     SLEPc computes in PETSc's scalars. The vectors move by eps ||X|| over the distance to the next singular
     value, which is 1, or by twice that where X^T X is formed; n covers the constants of the solvers
  */
  const double   eps = precision == MUON_SINGLE ? 1.2e-7 : (double)PETSC_MACHINE_EPSILON, bound = n * n * n * eps;
  MuonCompressor c;
  MuonValidated  own = {NULL, 0, NULL, 0, NULL};
  MuonArray      X, Y;
  unsigned char *buf;
  size_t         bytes;

  PetscFunctionBegin;
  PetscCall(TestCreate(&choice, &c));
  PetscCall(TestArrayCreate(n, n, precision, rowmajor, 3, &X));
  PetscCall(TestArrayCreate(n, n, precision, rowmajor, 1, &Y));
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) {
      double x = 0;

      for (int k = 0; k < n; k++) x += Hadamard(i, k) * (n - k) * Hadamard(k, j);
      TestArraySet(&X, (size_t)i, (size_t)j, x);
    }
  }
  PetscCall(TestEncodeArray(c, &X, NULL, &buf, &bytes, NULL, &own));
  PetscCall(MuonCompressorDecodeValidated(c, &own, PETSC_FALSE, 0.0, &Y));
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) {
      double x = 0;

      for (int k = 0; k < keep; k++) x += Hadamard(i, k) * (n - k) * Hadamard(k, j);
      TestCheck(fabs(TestArrayGet(&Y, (size_t)i, (size_t)j) - x) <= bound, "%s, rank %d: entry (%d, %d) is off by %g", type, keep, i, j, TestArrayGet(&Y, (size_t)i, (size_t)j) - x);
    }
  }
  PetscCall(PetscFree(buf));
  PetscCall(MuonValidatedDestroy(&own));
  PetscCall(TestArrayDestroy(&X));
  PetscCall(TestArrayDestroy(&Y));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether the type computes with entries before it writes them, so that their precision matters: products,
   singular vectors
*/
static PetscErrorCode Computes(const TestChoice *choice, PetscBool *computes)
{
  const char *const types[] = {MUONCOMPRESSORRANKK, MUONCOMPRESSORTOPSVD, MUONCOMPRESSORPOWERSGD};
  PetscBool         is;

  PetscFunctionBegin;
  PetscCall(TestIs(choice, MUONCOMPRESSORDAMPING, computes));
  if (choice->ratio == 1.0) *computes = PETSC_FALSE;
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types) && *computes == PETSC_FALSE; t++) {
    PetscCall(TestIs(choice, types[t], &is));
    *computes = is;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The same numbers as floats and as doubles have the same message, where values are as wide; native ones have
   the width of the entries
*/
static PetscErrorCode CheckPrecisions(const TestChoice *choice, PetscInt m, PetscInt n, unsigned long long *state)
{
  const PetscBool native = choice->values == MUON_COMPRESSOR_VALUES_NATIVE ? PETSC_TRUE : PETSC_FALSE;
  TestChoice      wide   = *choice;
  PetscBool       computes, sign, identity, quantized;
  MuonArray       T, U, Y, Z;
  MuonCompressor  c, d;
  MuonValidated   own[2] = {{NULL, 0, NULL, 0, NULL}, {NULL, 0, NULL, 0, NULL}};
  unsigned char  *buf[2];
  size_t          bytes[2];

  PetscFunctionBegin;
  PetscCall(Computes(choice, &computes));
  PetscCall(TestIs(choice, MUONCOMPRESSORSIGN, &sign));
  PetscCall(TestIs(choice, MUONCOMPRESSORIDENTITY, &identity));
  PetscCall(TestIs(choice, MUONCOMPRESSORQSGD, &quantized));
  /* The magnitude of signs is a number that the array can hold. The values of identity are no choice */
  if (computes || identity || (sign && choice->values == MUON_COMPRESSOR_VALUES_DOUBLE)) PetscFunctionReturn(PETSC_SUCCESS);
  if (native) wide.values = MUON_COMPRESSOR_VALUES_SINGLE;
  PetscCall(TestArrayCreate(m, n, MUON_SINGLE, 0, 1, &T));
  PetscCall(TestArrayCreate(m, n, MUON_DOUBLE, 0, 2, &U));
  PetscCall(TestArrayCreate(m, n, MUON_SINGLE, 0, 0, &Y));
  PetscCall(TestArrayCreate(m, n, MUON_DOUBLE, 0, 0, &Z));
  TestArrayNormal(&T, 1.0, state);
  TestArrayCopy(&T, &U);
  PetscCall(TestCreate(choice, &c));
  PetscCall(TestCreate(&wide, &d));
  PetscCall(TestEncodeArray(c, &T, NULL, &buf[0], &bytes[0], NULL, &own[0]));
  PetscCall(TestEncodeArray(d, &U, NULL, &buf[1], &bytes[1], NULL, &own[1]));
  TestCheck(bytes[0] == bytes[1] && memcmp(buf[0], buf[1], bytes[0]) == 0, "%s %s: the message of floats is not that of doubles", choice->type, MuonCompressorValuesTypes[choice->values]);
  PetscCall(MuonCompressorDecodeValidated(c, &own[0], PETSC_FALSE, 0.0, &Y));
  PetscCall(MuonCompressorDecodeValidated(d, &own[1], PETSC_FALSE, 0.0, &Z));
  for (size_t j = 0; j < (size_t)n; j++) {
    for (size_t i = 0; i < (size_t)m; i++) {
      const double y = TestArrayGet(&Y, i, j), z = TestArrayGet(&Z, i, j);

      /* A level is a product, and the quotient before it another rounding */
      TestCheck(quantized ? fabs(y - z) <= 1.2e-7 * fabs(z) : y == z, "%s %s: %g among floats, %g among doubles", choice->type, MuonCompressorValuesTypes[choice->values], y, z);
    }
  }
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscFree(buf[k]));
    PetscCall(MuonValidatedDestroy(&own[k]));
  }
  if (native) {
    /* Nor is the native message of doubles another than that in double */
    wide.values = MUON_COMPRESSOR_VALUES_DOUBLE;
    PetscCall(MuonCompressorDestroy(&d));
    PetscCall(TestCreate(&wide, &d));
    PetscCall(TestEncodeArray(c, &U, NULL, &buf[0], &bytes[0], NULL, NULL));
    PetscCall(TestEncodeArray(d, &U, NULL, &buf[1], &bytes[1], NULL, NULL));
    TestCheck(bytes[0] == bytes[1] && memcmp(buf[0], buf[1], bytes[0]) == 0, "%s: native values of doubles are not double", choice->type);
    for (int k = 0; k < 2; k++) PetscCall(PetscFree(buf[k]));
  }
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(MuonCompressorDestroy(&d));
  PetscCall(TestArrayDestroy(&T));
  PetscCall(TestArrayDestroy(&U));
  PetscCall(TestArrayDestroy(&Y));
  PetscCall(TestArrayDestroy(&Z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What is not finite has a status and no message, in either precision and order; what has no entries has a
   message
*/
static PetscErrorCode CheckEdges(const TestChoice *choice, MuonPrecision precision, int rowmajor, unsigned long long *state)
{
  const PetscInt shapes[][2] = {{7, 5}, {0, 4}, {4, 0}};
  const double   bad[]       = {NAN, INFINITY, -INFINITY};
  MuonCompressor c;
  MuonStatus     status;
  MuonValidated  own = {NULL, 0, NULL, 0, NULL}, opened = {NULL, 0, NULL, 0, NULL};
  MuonArray      T, Y;
  unsigned char *buf;
  size_t         bytes;
  PetscBool      valid;

  PetscFunctionBegin;
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++) {
    PetscCall(TestCreate(choice, &c));
    PetscCall(TestArrayCreate(shapes[s][0], shapes[s][1], precision, rowmajor, 1, &T));
    PetscCall(TestArrayCreate(shapes[s][0], shapes[s][1], precision, rowmajor, 2, &Y));
    TestArrayNormal(&T, 1.0, state);
    for (int b = 0; b < 4; b++) {
      if (b < 3 && s > 0) continue;
      if (s == 0) TestArraySet(&T, 6, 4, b < 3 ? bad[b] : 1.0);
      PetscCall(TestEncodeArray(c, &T, NULL, &buf, &bytes, NULL, &own));
      PetscCall(MuonCompressorGetStatus(c, &status));
      TestCheck((status == MUON_STATUS_OK) == (b == 3) && (bytes > 0) == (b == 3), "%s of %g: status %s, %zu bytes", choice->type, b < 3 ? bad[b] : 1.0, MuonStatuses[status], bytes);
      if (b == 3) {
        PetscCall(MuonCompressorValidateArray(c, &T, bytes, buf, PETSC_FALSE, NULL, &opened, &valid));
        TestCheck(valid == PETSC_TRUE, "%s: a good message is refused", choice->type);
        PetscCall(MuonCompressorDecodeValidated(c, &own, PETSC_FALSE, 0.0, &Y));
      }
      PetscCall(PetscFree(buf));
    }
    PetscCall(TestArrayDestroy(&T));
    PetscCall(TestArrayDestroy(&Y));
    PetscCall(MuonCompressorDestroy(&c));
  }
  PetscCall(MuonValidatedDestroy(&own));
  PetscCall(MuonValidatedDestroy(&opened));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  PetscInt  arrays;
  size_t    entries, bytes;
  PetscBool wrong;
} Count;

static PetscErrorCode Visit(MuonStateVisitor *visitor, const MuonState *state)
{
  Count *count = (Count *)visitor->ctx;

  PetscFunctionBegin;
  if (state->array != NULL) {
    count->arrays++;
    count->entries += MuonArrayEntries(state->array);
    count->bytes += MuonArrayBytes(state->array);
    if (state->array->data == NULL || state->array->precision != MUON_SINGLE) count->wrong = PETSC_TRUE;
  } else count->bytes += state->bytes;
  if (state->holder != MUON_STATE_WORKER || strcmp(state->layer, "attn.qkv") != 0 || state->name[0] == '\0' || state->entrywise) count->wrong = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CountState(MuonCompressor c, Count *count)
{
  MuonStateVisitor visitor = {Visit, "attn.qkv", MUON_STATE_WORKER, NULL};

  PetscFunctionBegin;
  count->arrays  = 0;
  count->entries = count->bytes = 0;
  count->wrong                  = PETSC_FALSE;
  visitor.ctx                   = count;
  PetscCall(MuonCompressorVisitState(c, &visitor));
  TestCheck(!count->wrong, "State that is none of this compressor");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Bases of power iterations are state: one for each line of the array, or entry of a line, and direction, of
   each block; nothing else is kept by any type
*/
static PetscErrorCode CheckState(unsigned long long *state)
{
  const PetscInt m = 12, n = 8, rank = 3;
  TestChoice     choices[TEST_MOST_CHOICES];
  PetscInt       nchoices = 0;

  PetscFunctionBegin;
  PetscCall(TestGetChoices(&nchoices, choices));
  for (PetscInt k = 0; k < nchoices; k++) {
    for (PetscInt blocks = 1; blocks < 3; blocks++) {
      MuonCompressor c;
      MuonArray      T;
      Count          before, after, reset;
      unsigned char *buf;
      size_t         bytes;
      PetscBool      powersgd;

      PetscCall(TestIs(&choices[k], MUONCOMPRESSORPOWERSGD, &powersgd));
      PetscCall(TestCreate(&choices[k], &c));
      PetscCall(SetNumber((PetscObject)c, "compressor_rank", rank));
      PetscCall(MuonCompressorSetBlocks(c, blocks, NULL, 1, NULL));
      PetscCall(TestArrayCreate(m, n, MUON_SINGLE, 0, 1, &T));
      TestArrayNormal(&T, 1.0, state);
      PetscCall(CountState(c, &before));
      for (PetscInt step = 0; step < 2; step++) {
        PetscCall(MuonCompressorSetStep(c, step));
        PetscCall(TestEncodeArray(c, &T, NULL, &buf, &bytes, NULL, NULL));
        PetscCall(MuonCompressorCommit(c));
        PetscCall(PetscFree(buf));
      }
      PetscCall(CountState(c, &after));
      PetscCall(MuonCompressorReset(c));
      PetscCall(CountState(c, &reset));
      TestCheck(before.bytes == 0 && reset.bytes == 0 && (after.bytes > 0) == (powersgd == PETSC_TRUE), "%s: %zu bytes of state, %zu before the first message, %zu after a reset", choices[k].type, after.bytes, before.bytes, reset.bytes);
      /* The start of the next message, and room for that of the one after it */
      if (powersgd) TestCheck(after.entries == (size_t)(blocks * rank * n) || after.entries == (size_t)(2 * blocks * rank * n), "%zu entries of state in %" PetscInt_FMT " arrays", after.entries, after.arrays);
      PetscCall(TestArrayDestroy(&T));
      PetscCall(MuonCompressorDestroy(&c));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt     shapes[][2] = {{1, 1}, {1, 9}, {9, 1}, {5, 3}, {12, 31}, {40, 16}, {70, 65}};
  const char *const  lowrank[]   = {MUONCOMPRESSORRANKK, MUONCOMPRESSORTOPSVD};
  TestChoice         choices[TEST_MOST_CHOICES];
  PetscInt           nchoices = 0;
  unsigned long long state    = 41;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestGetChoices(&nchoices, choices));
  for (PetscInt k = 0; k < nchoices; k++) {
    for (int precision = MUON_SINGLE; precision <= MUON_DOUBLE; precision++) {
      for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++) PetscCall(CheckTransposed(&choices[k], (MuonPrecision)precision, shapes[s][0], shapes[s][1], &state));
      for (int rowmajor = 0; rowmajor < 2; rowmajor++) PetscCall(CheckEdges(&choices[k], (MuonPrecision)precision, rowmajor, &state));
    }
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++) PetscCall(CheckPrecisions(&choices[k], shapes[s][0], shapes[s][1], &state));
  }
  for (int precision = MUON_SINGLE; precision <= MUON_DOUBLE; precision++) {
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++) PetscCall(CheckOrders((MuonPrecision)precision, shapes[s][0], shapes[s][1], PETSC_FALSE, &state));
    PetscCall(CheckOrders((MuonPrecision)precision, 12, 10, PETSC_TRUE, &state));
    for (int rowmajor = 0; rowmajor < 2; rowmajor++) {
      for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(lowrank); t++) {
        for (int keep = 1; keep < 16; keep += 3) PetscCall(CheckLowRank(lowrank[t], (MuonPrecision)precision, rowmajor, keep));
      }
    }
  }
  PetscCall(CheckState(&state));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:

TEST*/
