static char help[] = "Messages of all compressors: what they decode to, in any precision and order; zeros and no numbers, and state.\n";

#include "compressor_common.h"

/* A message decodes to what Apply() says; nothing but the result changes; adding adds */
static PetscErrorCode CheckMessage(const char choice[], PetscInt m, PetscInt n)
{
  MuonCompressor c, receiver;
  Matrix         T, R, X, Y, Z, before, Tkept, Rkept;
  Message        M, again;
  PetscBool      valid, assignment, lowrank;
  double         largest;

  PetscFunctionBegin;
  PetscCall(Make(&c, choice));
  PetscCall(Make(&receiver, choice));
  PetscCall(New(m, n, &T, &R, &X, &Y, &Z, &before, &Tkept, &Rkept));
  PetscCall(NewMessage(&M, &again));
  Random(T, 1);
  Random(R, 0.5);
  Copy(T, Tkept);
  Copy(R, Rkept);
  Copy(T, X);
  assignment = c->assignment;
  TestCheck(assignment == Is(c, "identity"), "%s: assignment", choice);
  if (!assignment) Axpby(-1, R, 1, X);

  PetscCall(Send(c, T, R, M));
  lowrank = M->buf[4] == 2 || M->buf[4] == 4 ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(Valid(receiver, T, M, &valid));
  PetscCall(Encode(c, T, R, again));
  TestCheck(valid && SameMessage(M, again), "%s: refused, or another message the second time", choice);
  Random(Y, 1);
  PetscCall(Decode(receiver, M, PETSC_FALSE, 1, Y));
  PetscCall(Apply(c, 5, X, Z));
  TestCheck(Same(Y, Z) && (!assignment || Same(Y, T)), "%s of %dx%d: the message is not what Apply() gives", choice, (int)m, (int)n);

  /*
     Two roundings in a sum, and for a low-rank message min(m, n) terms of a product with factors of singular
     values: each entry of |P| |Q|^T is at most sigma_1
  */
  largest = lowrank ? 2 * (2 + (double)PetscMin(m, n)) * sqrt(Squares(X, NULL)) : 0;
  Random(Z, 1);
  Copy(Z, before);
  PetscCall(Decode(receiver, M, PETSC_TRUE, -0.3, Z));
  for (PetscInt e = 0; e < m * n; e++) {
    const double z = GetAt(before, e), y = GetAt(Y, e), off = z - (double)(PetscReal)0.3 * y - GetAt(Z, e);

    TestCheck(fabs(off) <= TEST_EPSILON * (fabs(z) + 2 * fabs(y) + largest), "%s: adding gave %g", choice, GetAt(Z, e));
  }
  TestCheck(Same(T, Tkept) && Same(R, Rkept), "%s: T or R was changed", choice);
  PetscCall(Apply(c, 5, X, X));
  TestCheck(Same(X, Y), "%s: not the same in place", choice);

  /* A message that took effect, and the one after it: what the sender keeps of the first, no receiver needs */
  PetscCall(MuonCompressorCommit(c));
  PetscCall(MuonCompressorSetStep(c, 6));
  PetscCall(Encode(c, T, NULL, M));
  PetscCall(Decode(receiver, M, PETSC_FALSE, 1, Y));
  PetscCall(Apply(c, 6, T, Z));
  TestCheck(Same(Y, Z), "%s of %dx%d: the second message is not what Apply() gives", choice, (int)m, (int)n);
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Zero in, zero out; a low-rank message has no triples then, and as many as there are for a matrix of small rank */
static PetscErrorCode CheckZero(const char choice[], MuonPrecision precision, int rowmajor, PetscInt m, PetscInt n)
{
  MuonCompressor     c;
  MuonCompressorCost cost;
  Matrix             X, Y;
  Message            M;

  PetscFunctionBegin;
  PetscCall(Make(&c, choice));
  PetscCall(NewArray(m, n, precision, rowmajor, &X, &Y));
  PetscCall(NewMessage(&M));
  Random(Y, 1);
  PetscCall(Apply(c, 5, X, Y));
  TestCheck(Squares(Y, NULL) == 0, "%s: zero became something", choice);
  PetscCall(Send(c, X, NULL, M));
  TestCheck(!Is(c, "rankk") || M->bytes == TestMessageBytes(0, 0), "%zu bytes for a zero matrix of %dx%d", M->bytes, (int)m, (int)n);
  PetscCall(Decode(c, M, PETSC_TRUE, 2, Y));
  TestCheck(Squares(Y, NULL) == 0, "%s: zero was added as something", choice);
  PetscCall(Cost(c, X, M, &cost));
  TestCheck(cost.encoded == 8.0 * (double)M->bytes && cost.entropy >= 0, "%s: cost of zero", choice);
  if (Is(c, "rankk") && m > 0 && n > 0) {
    Set(X, m - 1, 0, 3);
    PetscCall(Encode(c, X, NULL, M));
    TestCheck(M->buf[6] == 1, "A matrix of rank 1 has a message of rank %d", (int)M->buf[6]);
  }
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is not finite, or does not fit, is a status and no message; the receiver's matrix stays as it was, and the next message is well again */
static PetscErrorCode CheckEnd(const char choice[], MuonPrecision precision, int rowmajor, PetscInt at, double t, double r, MuonStatus expected)
{
  MuonCompressor c;
  Matrix         T, R, Y, kept;
  Message        M;
  PetscBool      assignment;

  PetscFunctionBegin;
  PetscCall(Make(&c, choice));
  PetscCall(NewArray(9, 7, precision, rowmajor, &T, &R, &Y, &kept));
  PetscCall(NewMessage(&M));
  Random(T, 1);
  Random(Y, 1);
  Copy(Y, kept);
  Set(T, at / 7, at % 7, t);
  Set(R, at / 7, at % 7, r);
  /* An assignment has nothing to do with R */
  assignment = c->assignment;
  if (assignment && r != 0) expected = MUON_STATUS_OK;
  PetscCall(Encode(c, T, R, M));
  TestCheck(M->status == expected, "%s of %g - %g: status %s, expected %s", choice, t, r, MuonStatuses[M->status], MuonStatuses[expected]);
  if (r == 0 && expected != MUON_STATUS_OK) {
    PetscCall(Apply(c, 5, T, Y));
    TestCheck(Same(Y, kept), "%s: Apply() wrote something of %g", choice, t);
  }
  PetscCall(Send(c, kept, NULL, M));
  PetscCall(Decode(c, M, PETSC_FALSE, 0, Y));
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The first number that a type cannot write fails whether the number is drawn or not, what is not kept does no
   harm, and what is just below is written. Numbers above 1e38 that are rounded to binary32 first
*/
static PetscErrorCode CheckEnds(void)
{
  const struct {
    const char *choice;
    double      t;
    MuonStatus  status;
  } rows[] = {{"topk ratio 0.2 values native", 1e300, MUON_STATUS_OK},
              {"topk ratio 0.2 values single", 1e300, MUON_STATUS_NANORINF},
              {"topk ratio 0.2 values bf16", 3.4e38, MUON_STATUS_NANORINF},
              {"topk ratio 0.2 values natural", -1e300, MUON_STATUS_NANORINF},
              {"natural", 1e39, MUON_STATUS_NANORINF},
              {"nearest", 1e39, MUON_STATUS_NANORINF},
              {"truncated", 1e39, MUON_STATUS_NANORINF},
              {"bf16", 3.4e38, MUON_STATUS_NANORINF},
              {"damping ratio 0.2 values single", 1e39, MUON_STATUS_OK},
              {"damping ratio 0.2 values single", 2e39, MUON_STATUS_NANORINF}};

  const char *const *names = MuonCompressorValuesTypes;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(rows); k++) PetscCall(CheckEnd(rows[k].choice, MUON_DOUBLE, 0, 62, rows[k].t, 0, rows[k].status));
  for (int k = 0; k < 12; k++) {
    const int    values = MUON_COMPRESSOR_VALUES_SINGLE + k % 3;
    const double limit  = ldexp(1.0, 128) - ldexp(1.0, 103) - (values == MUON_COMPRESSOR_VALUES_BF16 ? ldexp(1.0, 119) : 0);
    Choice       choice;

    PetscCall(PetscSNPrintf(choice, sizeof(choice), "%s ratio %s values %s", k % 2 ? "dropout" : "randk", k < 6 ? "1" : "1e-7", names[values]));
    PetscCall(CheckEnd(choice, MUON_DOUBLE, 0, 62, nextafter(-limit, 0), 0, MUON_STATUS_OK));
    PetscCall(CheckEnd(choice, MUON_DOUBLE, 0, 62, -limit, 0, MUON_STATUS_NANORINF));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a sparse message leaves out is not touched, whatever it is */
static PetscErrorCode CheckUntouched(void)
{
  MuonCompressor c;
  Matrix         X, Y;
  Message        M;

  PetscFunctionBegin;
  PetscCall(Make(&c, "topk ratio 0.1 values single"));
  PetscCall(New(2, 6, &X, &Y));
  PetscCall(NewMessage(&M));
  Set(X, 1, 2, 8);
  for (PetscInt e = 0; e < 12; e++) SetAt(Y, e, e == 5 ? 1 : (double)NAN);
  PetscCall(Encode(c, X, NULL, M));
  PetscCall(Decode(c, M, PETSC_TRUE, 0.5, Y));
  for (PetscInt e = 0; e < 12; e++) TestCheck(e == 5 ? GetAt(Y, e) == 5 : isnan(GetAt(Y, e)), "Entry %d is %g", (int)e, GetAt(Y, e));
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two messages in a row, the first of which takes effect, and what they add to Y, which has R in it */
static PetscErrorCode SendTwo(const char choice[], Matrix T, Matrix R, Matrix Y, Message M[2])
{
  MuonCompressor c;
  MuonValidated  own = {NULL, 0, NULL, 0, NULL};
  MuonStatus     status;
  size_t         most;

  PetscFunctionBegin;
  PetscCall(Make(&c, choice));
  Copy(R, Y);
  PetscCall(MuonCompressorGetMaxBytesOf(c, &T->array, &most));
  for (int k = 0; k < 2; k++) {
    PetscCall(NewMessage(&M[k]));
    PetscCall(PetscMalloc1(most, &M[k]->buf));
    PetscCall(MuonCompressorSetStep(c, 5 + k));
    PetscCall(MuonCompressorEncodeArray(c, &T->array, &Y->array, most, M[k]->buf, &M[k]->bytes, PETSC_FALSE, NULL, &own));
    status = c->status;
    TestCheck(status == MUON_STATUS_OK, "%s: status %s", choice, MuonStatuses[status]);
    PetscCall(MuonCompressorDecodeValidated(c, &own, PETSC_TRUE, 0.75, &Y->array));
    PetscCall(MuonCompressorCommit(c));
  }
  PetscCall(MuonValidatedDestroy(&own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   An n x m array by rows has the lines of an m x n array by columns: the messages of all types are the same, with rows and columns
   exchanged for those that know them. So they are whatever the gaps between the lines are; what is one line has no distance to the next
*/
static PetscErrorCode CheckTransposed(const char choice[], MuonPrecision precision, PetscInt m, PetscInt n)
{
  Choice  other;
  Matrix  T, R, Y, U, S, Z, V;
  Message columns[2], rows[2];

  PetscFunctionBegin;
  PetscCall(PetscStrncpy(other, choice, sizeof(other)));
  if (strncmp(choice, "columntopk", 10) == 0) PetscCall(PetscSNPrintf(other, sizeof(other), "rowtopk%s", choice + 10));
  if (strncmp(choice, "rowtopk", 7) == 0) PetscCall(PetscSNPrintf(other, sizeof(other), "columntopk%s", choice + 7));
  PetscCall(NewArray(m, n, precision, 0, &T, &R, &Y));
  PetscCall(NewArray(n, m, precision, 1, &U, &S, &Z, &V));
  Random(T, 1);
  Random(R, 0.25);
  Transpose(T, U);
  Transpose(R, S);
  PetscCall(SendTwo(choice, T, R, Y, columns));
  PetscCall(SendTwo(other, U, S, Z, rows));
  Transpose(Y, V);
  TestCheck(Same(Z, V), "%s: rows are not columns of the transposed matrix", choice);
  TestCheck(SameMessage(columns[0], rows[0]) && SameMessage(columns[1], rows[1]), "%s: rows have another message", choice);
  if (n == 1) {
    const size_t ldt = T->array.ld, ldr = R->array.ld;

    T->array.ld = R->array.ld = 0;
    PetscCall(SendTwo(choice, T, R, Y, rows));
    T->array.ld = ldt;
    R->array.ld = ldr;
    TestCheck(SameMessage(columns[0], rows[0]) && SameMessage(columns[1], rows[1]), "%s: one line has another message", choice);
  }
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Bases of power iterations are state: one for each line of the array, or entry of a line, and direction, of
   each block; nothing else is kept by any type
*/
static PetscErrorCode CheckState(const char choice[], PetscInt blocks)
{
  const size_t   entries = (size_t)blocks * 3 * 8;
  MuonCompressor c;
  Matrix         T;
  Message        M;
  Count          before, after, reset;

  PetscFunctionBegin;
  PetscCall(Make(&c, choice));
  PetscCall(Tune(c, "rank 3"));
  PetscCall(MuonCompressorSetBlocks(c, blocks, NULL, 1, NULL));
  PetscCall(NewArray(12, 8, MUON_SINGLE, 0, &T));
  PetscCall(NewMessage(&M));
  Random(T, 1);
  PetscCall(CountState(c, &before));
  for (PetscInt step = 0; step < 2; step++) {
    PetscCall(MuonCompressorSetStep(c, step));
    PetscCall(Encode(c, T, NULL, M));
    PetscCall(MuonCompressorCommit(c));
  }
  PetscCall(CountState(c, &after));
  PetscCall(MuonCompressorReset(c));
  PetscCall(CountState(c, &reset));
  TestCheck(before.bytes == 0 && reset.bytes == 0, "%s: %zu bytes of state at first, %zu after a reset", choice, before.bytes, reset.bytes);
  TestCheck((after.bytes > 0) == Is(c, "powersgd"), "%s: %zu bytes of state", choice, after.bytes);
  /* The start of the next message, and room for that of the one after it */
  TestCheck(!Is(c, "powersgd") || after.entries == entries || after.entries == 2 * entries, "%zu entries of state", after.entries);
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const PetscInt shapes[][2] = {{1, 1}, {1, 9}, {9, 1}, {5, 3}, {8, 8}, {12, 31}, {40, 16}, {17, 129}, {0, 4}, {4, 0}};
  static const PetscInt arrays[][2] = {{1, 1}, {1, 9}, {9, 1}, {5, 3}, {12, 31}, {40, 16}, {70, 65}};
  static const double   bad[]       = {NAN, INFINITY, -INFINITY};
  PetscBool             trap, more;
  Choice                choice;
  Matrix                other;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestStart(4));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-trap", &trap));
  for (PetscInt k = 0;; k++) {
    PetscCall(GetChoice(k, choice, &more));
    if (!more) break;
    /* What is not finite is a status, and not a signal where traps are set */
    for (int b = 0; b < 12; b++) PetscCall(CheckEnd(choice, (MuonPrecision)(b % 2), b / 2 % 2, b < 8 ? 62 : 20, bad[b / 4], 0, MUON_STATUS_NANORINF));
    if (trap) continue;
    PetscCall(CheckEnd(choice, TEST_SCALAR, 0, 62, -(double)PETSC_MAX_REAL, (double)PETSC_MAX_REAL, MUON_STATUS_NANORINF));
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++) {
      const PetscInt m = shapes[s][0], n = shapes[s][1];

      for (int gaps = 0; gaps < 3; gaps++) {
        Test.compact = gaps == 0 ? PETSC_TRUE : PETSC_FALSE;
        if (gaps == 2) PetscCall(New(1, 1, &other));
        PetscCall(CheckMessage(choice, m, n));
      }
      PetscCall(CheckZero(choice, TEST_SCALAR, 0, m, n));
      for (int way = 0; way < 4 && m * n < 2; way++) PetscCall(CheckZero(choice, (MuonPrecision)(way / 2), way % 2, m, n));
    }
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(arrays); s++) {
      PetscCall(CheckTransposed(choice, MUON_SINGLE, arrays[s][0], arrays[s][1]));
      PetscCall(CheckTransposed(choice, MUON_DOUBLE, arrays[s][0], arrays[s][1]));
    }
    for (PetscInt blocks = 1; blocks < 3; blocks++) PetscCall(CheckState(choice, blocks));
  }
  if (!PetscDefined(USE_REAL_SINGLE) && !trap) PetscCall(CheckEnds());
  if (!trap) PetscCall(CheckUntouched());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:

  test:
    suffix: trap
    args: -trap -fp_trap

TEST*/
