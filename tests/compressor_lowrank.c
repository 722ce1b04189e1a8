static char help[] = "Low-rank types: projections no worse than they must be, what is kept from message to message, and what comes back.\n";

#include "compressor_common.h"

/* C(X) in Y, which takes effect where commit is true, and the columns of the message */
static PetscErrorCode Step(MuonCompressor c, Matrix X, PetscBool commit, Matrix Y, PetscInt *columns)
{
  const PetscInt mark = Test.count;
  Message        M;

  PetscFunctionBegin;
  PetscCall(NewMessage(&M));
  PetscCall(Send(c, X, NULL, M));
  PetscCall(Decode(c, M, PETSC_FALSE, 1, Y));
  if (commit) PetscCall(MuonCompressorCommit(c));
  if (columns != NULL) *columns = M->buf[6];
  PetscCall(Free(mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A Gaussian matrix of that rank, of which entry (i, j) is divided by (ij)^decay */
static PetscErrorCode SetRank(Matrix X, PetscInt rank, int decay)
{
  const PetscInt mark = Test.count;
  Matrix         A, B;

  PetscFunctionBegin;
  PetscCall(New(X->m, rank, &A));
  PetscCall(New(rank, X->n, &B));
  Random(X, 1);
  Random(A, 1);
  Random(B, 1);
  for (PetscInt i = 0; i < X->m; i++) {
    for (PetscInt j = 0; j < X->n; j++) {
      double x = rank < PetscMin(X->m, X->n) ? 0 : Get(X, i, j);

      for (PetscInt k = 0; k < rank && rank < PetscMin(X->m, X->n); k++) x += Get(A, i, k) * Get(B, k, j);
      Set(X, i, j, x / pow((double)((i + 1) * (j + 1)), decay));
    }
  }
  PetscCall(Free(mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What the range finder sends is a projection of X: ||X - C||^2 = ||X||^2 - ||C||^2, which is no less than what the best of that rank
   leaves (Eckart and Young), has its columns, and at least .95 of its square. A matrix of that rank comes over but for rounding
*/
static PetscErrorCode CheckRange(void)
{
  /*
     Rows, columns, rank of the message and of the matrix, and its decay: with the Gram matrix and without, with more columns than
     are sent and without, with one polynomial and with more, with few that have most of the square and without
  */
  static const PetscInt shapes[][5] = {{60, 60, 9, 60, 0},   {40, 160, 6, 40, 0},   {160, 40, 6, 40, 0},  {100, 96, 1, 96, 0},  /* full */
                                       {96, 100, 1, 96, 0},  {90, 110, 70, 90, 0},  {110, 90, 70, 90, 0}, {40, 30, 6, 4, 0},    /* and low */
                                       {200, 100, 2, 2, 0},  {1, 7, 1, 1, 0},       {7, 1, 1, 1, 0},      {70, 80, 6, 70, 0},   /* and small */
                                       {400, 90, 12, 90, 0}, {650, 630, 1, 630, 0}, {70, 80, 6, 70, 1},   {400, 90, 12, 90, 1}, /* and large */
                                       {80, 70, 6, 70, 3},   {100, 120, 70, 100, 1}};

  PetscFunctionBegin;
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++) {
    const PetscInt m = shapes[s][0], n = shapes[s][1], rank = shapes[s][2];
    const double   slack = 40 * (double)PetscMax(m, n) * TEST_EPSILON;
    MuonCompressor c, best;
    Matrix         X, Y;
    PetscInt       sent, columns;
    double         all, rest, least;

    PetscCall(Make(&c, "rankk rank %d values native rankk_method range", (int)rank));
    PetscCall(Make(&best, "rankk rank %d values native rankk_method exact", (int)rank));
    PetscCall(New(m, n, &X, &Y));
    PetscCall(SetRank(X, shapes[s][3], (int)shapes[s][4]));
    PetscCall(Step(best, X, PETSC_TRUE, Y, &columns));
    least = Squares(X, Y);
    PetscCall(Step(c, X, PETSC_TRUE, Y, &sent));
    rest = Squares(X, Y);
    all  = Squares(X, NULL);
    TestCheck(sent == columns, "%dx%d: %d columns, expected %d", (int)m, (int)n, (int)sent, (int)columns);
    TestNear("projection", rest + Squares(Y, NULL), all, slack * all);
    TestMost("the best", least, rest + slack * all);
    TestMost("range", 0.95 * (all - least), all - rest);
    if (shapes[s][3] <= rank) TestMost("range of all", rest, PetscSqr(500 * (double)PetscMax(m, n) * TEST_EPSILON) * all);
    PetscCall(Free(0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two objects that were shown different matrices write the same bytes for X if what they keep is the same */
static PetscErrorCode CheckTwins(MuonCompressor c, MuonCompressor twin, Matrix X, PetscBool expected, const char what[])
{
  const PetscInt mark = Test.count;
  Message        M, N;

  PetscFunctionBegin;
  PetscCall(NewMessage(&M, &N));
  PetscCall(Send(c, X, NULL, M));
  PetscCall(Send(twin, X, NULL, N));
  TestCheck(SameMessage(M, N) == expected, "After %s: %s message", what, expected ? "another" : "the same");
  PetscCall(Free(mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckState(PetscInt m, PetscInt n, int oversampling)
{
  MuonCompressor c, twin, fresh, *all[3] = {&c, &twin, &fresh};
  Matrix         A, B, Z, bad, small, Y;
  Message        M;
  PetscInt       rank;

  PetscFunctionBegin;
  PetscCall(New(m, n, &A, &B, &Z, &bad, &Y));
  PetscCall(New(m, n - 1, &small));
  PetscCall(NewMessage(&M));
  Random(A, 1);
  Random(B, 1);
  Random(bad, 1);
  Random(small, 1);
  Set(bad, m - 1, n - 1, (double)NAN);
  for (int k = 0; k < 3; k++) PetscCall(Make(all[k], "powersgd rank 2 values native powersgd_oversampling %d", oversampling));
  PetscCall(Step(c, A, PETSC_FALSE, Y, NULL));
  PetscCall(CheckTwins(c, twin, B, PETSC_TRUE, "a message that did not take effect"));
  PetscCall(MuonCompressorReset(c));
  PetscCall(MuonCompressorReset(twin));
  PetscCall(Step(c, A, PETSC_TRUE, Y, NULL));
  PetscCall(CheckTwins(c, twin, B, PETSC_FALSE, "a message that took effect"));
  PetscCall(Step(twin, A, PETSC_TRUE, Y, NULL));
  PetscCall(CheckTwins(c, twin, A, PETSC_TRUE, "the same messages"));
  /* A step that diverges, then the one that replaces it */
  PetscCall(Step(c, B, PETSC_FALSE, Y, NULL));
  PetscCall(CheckTwins(c, twin, A, PETSC_TRUE, "a step that diverged"));
  PetscCall(MuonCompressorCommit(c));
  PetscCall(MuonCompressorCommit(twin));
  PetscCall(MuonCompressorCommit(c));
  PetscCall(CheckTwins(c, twin, B, PETSC_TRUE, "a commit without a message"));
  PetscCall(Step(c, Z, PETSC_TRUE, Y, &rank));
  TestCheck(rank == 0, "Zero has rank %d", (int)rank);
  PetscCall(CheckTwins(c, twin, B, PETSC_TRUE, "a zero matrix"));
  PetscCall(Encode(c, bad, NULL, M));
  TestCheck(M->status == MUON_STATUS_NANORINF, "NaN has status %s", MuonStatuses[M->status]);
  PetscCall(MuonCompressorCommit(c));
  PetscCall(CheckTwins(c, twin, B, PETSC_TRUE, "NaN"));
  PetscCall(CheckTwins(c, fresh, B, PETSC_FALSE, "some messages"));
  PetscCall(CheckTwins(c, fresh, small, PETSC_TRUE, "a change of the size"));
  PetscCall(Tune(c, "rank 3"));
  PetscCall(Tune(fresh, "rank 3"));
  PetscCall(CheckTwins(c, fresh, B, PETSC_TRUE, "a change of the rank"));
  PetscCall(Tune(c, "rank 2"));
  PetscCall(CheckTwins(c, twin, B, PETSC_TRUE, "the old rank again"));
  PetscCall(MuonCompressorReset(c));
  PetscCall(Tune(fresh, "rank 2"));
  PetscCall(CheckTwins(c, fresh, B, PETSC_TRUE, "a reset"));
  /* The start is the sender's own, and the same in each step */
  PetscCall(MuonCompressorSetStep(c, 77));
  PetscCall(CheckTwins(c, fresh, B, PETSC_TRUE, "a step"));
  PetscCall(MuonCompressorSetStream(c, 11, "attn.qkv", 4, 1));
  PetscCall(CheckTwins(c, fresh, B, PETSC_FALSE, "a change of the sender"));
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A message of the range finder is the same wherever and whenever it is made again, and starts anew in each step and for each sender */
static PetscErrorCode CheckStart(void)
{
  MuonCompressor c, twin;
  Matrix         X, Y;

  PetscFunctionBegin;
  PetscCall(New(30, 30, &X, &Y));
  Random(X, 1);
  PetscCall(Make(&c, "rankk rank 2 values native rankk_method range"));
  PetscCall(Make(&twin, "rankk rank 2 values native rankk_method range"));
  PetscCall(CheckTwins(c, twin, X, PETSC_TRUE, "nothing"));
  PetscCall(Step(c, X, PETSC_TRUE, Y, NULL));
  PetscCall(CheckTwins(c, twin, X, PETSC_TRUE, "a message"));
  PetscCall(MuonCompressorSetStep(twin, 6));
  PetscCall(CheckTwins(c, twin, X, PETSC_FALSE, "a step"));
  PetscCall(MuonCompressorSetStep(twin, 5));
  PetscCall(CheckTwins(c, twin, X, PETSC_TRUE, "the step again"));
  PetscCall(MuonCompressorSetStream(twin, 11, "attn.qkv", 4, 1));
  PetscCall(CheckTwins(c, twin, X, PETSC_FALSE, "a change of the sender"));
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Directions that vanish come back: after a matrix of rank 1 the next one has all its columns, and one that
   is orthogonal to all that was kept is met at once
*/
static PetscErrorCode CheckVanish(int oversampling)
{
  const PetscInt m = 9, n = 12;
  MuonCompressor c;
  Matrix         X, Y;
  PetscInt       rank;

  PetscFunctionBegin;
  PetscCall(New(m, n, &X, &Y));
  PetscCall(Make(&c, "powersgd rank 4 values native powersgd_oversampling %d", oversampling));
  for (PetscInt j = 0; j < n; j++) {
    /* Only column j, by turns of one entry, which leaves exact zeros everywhere, and of all */
    Axpby(0, X, 0, X);
    for (PetscInt i = 0; i < (j % 2 == 0 ? 1 : m); i++) Set(X, i, j, Normal());
    PetscCall(Step(c, X, PETSC_TRUE, Y, &rank));
    TestCheck(rank == 1, "Column %d: rank %d", (int)j, (int)rank);
    TestMost("column", Squares(X, Y), PetscSqr(100 * TEST_EPSILON) * Squares(X, NULL));
  }
  Random(X, 1);
  PetscCall(Step(c, X, PETSC_TRUE, Y, &rank));
  TestCheck(rank == 4, "%d columns after matrices of rank 1", (int)rank);
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A power of two times the matrix has that power times the message, though its squares are out of range; a state goes on */
static PetscErrorCode CheckScale(const char choice[])
{
  const int      powers[] = {PetscDefined(USE_REAL_SINGLE) ? 100 : 800, PetscDefined(USE_REAL_SINGLE) ? -60 : -800};
  MuonCompressor c, scaled;
  Matrix         X, Y, Z;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(powers); k++) {
    PetscCall(New(11, 7, &X, &Y, &Z));
    PetscCall(Make(&c, choice));
    PetscCall(Make(&scaled, choice));
    for (PetscInt step = 0; step < 3; step++) {
      Random(X, 1);
      PetscCall(Step(c, X, PETSC_TRUE, Y, NULL));
      Axpby(ldexp(1, powers[k]), Y, 0, Y);
      Axpby(ldexp(1, powers[k]), X, 0, X);
      PetscCall(Step(scaled, X, PETSC_TRUE, Z, NULL));
      TestCheck(Same(Y, Z), "%s: 2^%d times the matrix is not 2^%d times the message", choice, powers[k], powers[k]);
    }
    PetscCall(Free(0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Of singular values that are all alike no subspace of the range finder has more than its part, so that the constant of contraction, K/r, is
   reached, at every size; zero has no columns, and what is not finite no message
*/
static PetscErrorCode CheckFlat(PetscInt m, PetscInt n, int rank)
{
  const int      powers[] = {0, PetscDefined(USE_REAL_SINGLE) ? 100 : 800, PetscDefined(USE_REAL_SINGLE) ? -60 : -800};
  const double   r        = (double)PetscMin(m, n);
  MuonCompressor c;
  Matrix         X, Y;
  Message        M;
  PetscInt       sent;

  PetscFunctionBegin;
  PetscCall(New(m, n, &X, &Y));
  PetscCall(NewMessage(&M));
  PetscCall(Make(&c, "rankk rank %d values native rankk_method range", rank));
  PetscCall(Step(c, X, PETSC_FALSE, Y, &sent));
  TestCheck(sent == 0 && Squares(Y, NULL) == 0, "Zero has %d columns", (int)sent);
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(powers); k++) {
    for (PetscInt i = 0; i < PetscMin(m, n); i++) Set(X, m - 1 - i, i, ldexp(1, powers[k]));
    PetscCall(Step(c, X, PETSC_FALSE, Y, &sent));
    Axpby(ldexp(1, -powers[k]), X, 0, X);
    Axpby(ldexp(1, -powers[k]), Y, 0, Y);
    TestCheck(sent == rank, "2^%d: %d columns", powers[k], (int)sent);
    TestNear("flat", Squares(X, Y) / r, 1 - rank / r, 40 * (double)PetscMax(m, n) * TEST_EPSILON);
    Axpby(0, X, 0, X);
  }
  Set(X, m - 1, n - 1, (double)NAN);
  PetscCall(Encode(c, X, NULL, M));
  TestCheck(M->status == MUON_STATUS_NANORINF, "NaN has status %s", MuonStatuses[M->status]);
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestStart(21));
  PetscCall(CheckRange());
  for (int oversampling = 0; oversampling < 4; oversampling += 3) {
    PetscCall(CheckState(14, 9, oversampling));
    PetscCall(CheckState(9, 14, oversampling));
    PetscCall(CheckVanish(oversampling));
  }
  PetscCall(CheckStart());
  PetscCall(CheckScale("powersgd rank 3 values native"));
  PetscCall(CheckScale("powersgd rank 3 values native powersgd_oversampling 3"));
  PetscCall(CheckFlat(30, 20, 3));
  PetscCall(CheckFlat(20, 30, 3));
  PetscCall(CheckFlat(100, 100, 1));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:

TEST*/
