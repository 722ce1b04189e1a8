static char help[] = "Messages of all compressors: what they decode to, in any precision and order; zeros and no numbers, and state.\n";

#include "compressor_common.h"

/* A message decodes to what Apply() says, in place too; so does the next one, behind one that took effect: what the sender keeps of that, no receiver needs */
static PetscErrorCode CheckMessage(const char choice[], MuonPrecision precision, int rowmajor, PetscInt m, PetscInt n)
{
  MuonCompressor     c, receiver;
  MuonCompressorCost cost;
  Matrix             T, R, X, Y, Z, sum;
  Message            M;
  PetscBool          assignment;

  PetscFunctionBegin;
  PetscCall(Make(&c, choice));
  PetscCall(Make(&receiver, choice));
  PetscCall(NewArray(m, n, precision, rowmajor, &T, &R, &X, &Y, &Z, &sum));
  PetscCall(NewMessage(&M));
  Random(T, 1);
  Random(R, 0.5);
  Copy(T, X);
  assignment = c->assignment;
  TestCheck(assignment == Is(c, "identity"), "%s: assignment", choice);
  if (!assignment) Axpby(-1, R, 1, X);
  PetscCall(Ways(c, receiver, T, R, Y, sum, M, &cost));
  PetscCall(Apply(c, 5, X, Z));
  TestCheck(Same(Y, Z) && (!assignment || Same(Y, T)), "%s of %dx%d: the message is not what Apply() gives", choice, (int)m, (int)n);
  PetscCall(Apply(c, 5, X, X));
  TestCheck(Same(X, Y), "%s: not the same in place", choice);
  PetscCall(MuonCompressorCommit(c));
  PetscCall(MuonCompressorSetStep(c, 6));
  PetscCall(Ways(c, receiver, T, NULL, Y, sum, M, &cost));
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
  Matrix             X, Y, sum;
  Message            M;

  PetscFunctionBegin;
  PetscCall(Make(&c, choice));
  PetscCall(NewArray(m, n, precision, rowmajor, &X, &Y, &sum));
  PetscCall(NewMessage(&M));
  Random(Y, 1);
  PetscCall(Apply(c, 5, X, Y));
  TestCheck(Squares(Y, NULL) == 0, "%s: zero became something", choice);
  PetscCall(Ways(c, c, X, NULL, Y, sum, M, &cost));
  TestCheck(Squares(Y, NULL) == 0 && Squares(sum, NULL) == 0, "%s: zero was sent as something", choice);
  TestCheck(!Is(c, "rankk") || M->bytes == TestMessageBytes(0, 0), "%zu bytes for a zero matrix of %dx%d", M->bytes, (int)m, (int)n);
  if (Is(c, "rankk") && m > 0 && n > 0) {
    Set(X, m - 1, 0, 3);
    PetscCall(Encode(c, X, NULL, M));
    TestCheck(M->buf[6] == 1, "A matrix of rank 1 has a message of rank %d", (int)M->buf[6]);
  }
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is not finite, in T, in R or in their difference, is a status and no message; the receiver's matrix stays as it was, and the next message is well again */
static PetscErrorCode CheckEnd(const char choice[], MuonPrecision precision, int rowmajor, PetscInt at, double t, double r)
{
  MuonCompressor c;
  MuonStatus     expected = MUON_STATUS_NANORINF;
  Matrix         T, R, Y, kept;
  Message        M;

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
  if (c->assignment && r != 0) expected = MUON_STATUS_OK;
  PetscCall(Encode(c, T, R, M));
  TestCheck(M->status == expected, "%s of %g - %g: status %s, expected %s", choice, t, r, MuonStatuses[M->status], MuonStatuses[expected]);
  if (r == 0) {
    PetscCall(Apply(c, 5, T, Y));
    TestCheck(Same(Y, kept), "%s: Apply() wrote something of %g", choice, t);
  }
  PetscCall(Send(c, kept, NULL, M));
  PetscCall(Decode(c, M, PETSC_FALSE, 0, Y));
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   An n x m array by rows has the lines of an m x n array by columns: the messages of all types are the same, with rows and columns
   exchanged for those that know them. So they are whatever the gaps between the lines are; what is one line has no distance to the next
*/
static PetscErrorCode CheckTransposed(const char choice[], MuonPrecision precision, PetscInt m, PetscInt n)
{
  Choice             other;
  MuonCompressor     c[3]; /* the last for one line without a distance */
  MuonCompressorCost cost;
  Matrix             T, R, Y, U, S, Z, V, sum, sums;
  Message            M, N;

  PetscFunctionBegin;
  PetscCall(PetscStrncpy(other, choice, sizeof(other)));
  if (strncmp(choice, "columntopk", 10) == 0) PetscCall(PetscSNPrintf(other, sizeof(other), "rowtopk%s", choice + 10));
  if (strncmp(choice, "rowtopk", 7) == 0) PetscCall(PetscSNPrintf(other, sizeof(other), "columntopk%s", choice + 7));
  PetscCall(NewArray(m, n, precision, 0, &T, &R, &Y, &sum));
  PetscCall(NewArray(n, m, precision, 1, &U, &S, &Z, &V, &sums));
  PetscCall(NewMessage(&M, &N));
  for (int k = 0; k < 3; k++) PetscCall(Make(&c[k], "%s", k == 1 ? other : choice));
  Random(T, 1);
  Random(R, 0.25);
  Transpose(T, U);
  Transpose(R, S);
  for (int step = 0; step < 2; step++) {
    for (int k = 0; k < 3; k++) PetscCall(MuonCompressorSetStep(c[k], 5 + step));
    PetscCall(Ways(c[0], c[0], T, R, Y, sum, M, &cost));
    PetscCall(Ways(c[1], c[1], U, S, Z, sums, N, &cost));
    TestCheck(SameMessage(M, N), "%s: rows have another message", choice);
    Transpose(Y, V);
    TestCheck(Same(Z, V), "%s: rows are not columns of the transposed matrix", choice);
    Transpose(sum, V);
    TestCheck(Same(sums, V), "%s: sums of rows are not those of columns of the transposed matrix", choice);
    if (n == 1) {
      const size_t ldt = T->array.ld, ldr = R->array.ld;

      T->array.ld = R->array.ld = 0;
      PetscCall(Ways(c[2], c[2], T, R, Y, sum, N, &cost));
      T->array.ld = ldt;
      R->array.ld = ldr;
      TestCheck(SameMessage(M, N), "%s: one line has another message", choice);
    }
    for (int k = 0; k < 3; k++) PetscCall(MuonCompressorCommit(c[k]));
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
  PetscCall(CountState(c, MUON_SINGLE, &before));
  for (PetscInt step = 0; step < 2; step++) {
    PetscCall(MuonCompressorSetStep(c, step));
    PetscCall(Encode(c, T, NULL, M));
    PetscCall(MuonCompressorCommit(c));
  }
  PetscCall(CountState(c, MUON_SINGLE, &after));
  PetscCall(MuonCompressorReset(c));
  PetscCall(CountState(c, MUON_SINGLE, &reset));
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
  PetscBool             trap;
  Choice                choice;
  Matrix                other;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestStart(4));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-trap", &trap));
  for (PetscInt k = 0; TestChoice(k, choice); k++) {
    /* What is not finite is a status, and not a signal where traps are set */
    for (int b = 0; b < 12; b++) PetscCall(CheckEnd(choice, (MuonPrecision)(b % 2), b / 2 % 2, b < 8 ? 62 : 20, bad[b / 4], 0));
    if (trap) continue;
    PetscCall(CheckEnd(choice, TEST_SCALAR, 0, 62, -(double)PETSC_MAX_REAL, (double)PETSC_MAX_REAL));
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++) {
      const PetscInt m = shapes[s][0], n = shapes[s][1];

      for (int gaps = 0; gaps < 3; gaps++) {
        Test.compact = gaps == 0 ? PETSC_TRUE : PETSC_FALSE;
        if (gaps == 2) PetscCall(New(1, 1, &other));
        PetscCall(CheckMessage(choice, TEST_SCALAR, 0, m, n));
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
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:

  test:
    suffix: trap
    args: -trap -fp_trap

TEST*/
