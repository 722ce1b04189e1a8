static char help[] = "Messages of all compressors: what they decode to, how long they are, in any precision and order; zeros and no numbers.\n";

#include "compressor_common.h"

/* Bytes of a message, written down a second time. In the codecs 3 of positions and 4 of values it is shorter, how much tells the oracle */
static PetscErrorCode CheckBytes(const char choice[], MuonCompressor c, PetscInt m, PetscInt n, Message M)
{
  const char *const  fixed[]  = {"identity", "", "", "bf16", "natural nearest truncated"}; /* by their values */
  const int          codecs[] = {PetscDefined(USE_REAL_SINGLE) ? 1 : 0, 0, 1, 2, 3};
  const size_t       widths[] = {64, 32, 16, 9, 9}, d = (size_t)m * (size_t)n, block = strstr(choice, "block_entries") != NULL ? 64 : PetscMax(d, 1);
  const int          form = M->buf[4] % 16, indices = M->buf[4] / 16, codec = M->buf[5];
  const size_t       lines  = form == 10 ? (size_t)n : (size_t)m; /* rows on the wire are the columns of a matrix of PETSc */
  int                values = (int)c->values == PETSC_DETERMINE ? MUON_COMPRESSOR_VALUES_SINGLE : (int)c->values;
  unsigned long long head, payload;
  size_t             expected, count, numbered = 0, nvalues, width = 1, kept = 0;

  PetscFunctionBegin;
  for (size_t at = 0; at < d; at += block) kept += PetscMax(1, (size_t)((double)c->ratio * (double)PetscMin(block, d - at) + 1e-6));
  expected = TestHeader(M->buf, &head, &payload);
  TestCheck(M->bytes == expected + (size_t)payload, "%s: %zu bytes, the header says %llu", choice, M->bytes, payload);
  nvalues = count = (size_t)head;
  TestCheck((form != 0 && form != 3 && form != 11) || count == d || count == 0, "%s: %zu entries of %zu", choice, count, d);
  switch (form) {
  case 0: /* dense */
    break;
  case 1: /* sparse */
    numbered = d;
    break;
  case 2: /* low rank */
  case 4: /* triples, which have singular values, too */
    expected += (count * (size_t)m * widths[codec] + 7) / 8 + (form == 4 ? (count * widths[codec] + 7) / 8 : 0);
    nvalues = count * (size_t)n;
    break;
  case 3: /* signs */
    expected += (count + 7) / 8;
    nvalues = count > 0;
    break;
  case 8: /* seeded */
    expected += 8;
    break;
  case 9:  /* whole columns */
  case 10: /* whole rows */
    numbered = lines;
    nvalues  = lines > 0 ? count * (d / lines) : 0;
    break;
  case 11: /* blocks */
    expected += (count * (M->buf[6] & 15u) + 7) / 8;
    nvalues = (count + ((size_t)16 << (M->buf[6] >> 4)) - 1) >> ((M->buf[6] >> 4) + 4);
    break;
  default:
    TestCheck(PETSC_FALSE, "%s: form %d", choice, form);
  }
  if (numbered > 0) {
    while ((size_t)1 << 8 * width < numbered) width++;
    expected += PetscMin((numbered + 7) / 8, count * width);
  }
  expected += (nvalues * widths[codec] + 7) / 8;
  TestCheck(indices >= 3 || codec == 4 ? M->bytes < expected : M->bytes == expected, "%s: %zu bytes, expected %zu", choice, M->bytes, expected);
  for (int v = MUON_COMPRESSOR_VALUES_NATIVE; v <= MUON_COMPRESSOR_VALUES_NATURAL; v++) values = Is(c, fixed[v]) ? v : values;
  TestCheck(codec == codecs[values] || (codec == 4 && values == MUON_COMPRESSOR_VALUES_NATURAL), "%s: codec %d of values", choice, codec);
  TestCheck(!Is(c, "topk") || count == kept, "%s: %zu entries kept, expected %zu", choice, count, kept);
  TestCheck(!Is(c, "dropout") || count == (c->ratio == 1 ? d : 0), "%s: %zu entries", choice, count);
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
  PetscCall(CheckBytes(choice, c, m, n, M));
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

/* Top-K against choosing K times the first largest entry in the order of memory, on a grid of few values */
static PetscErrorCode CheckTies(PetscInt m, PetscInt n, double ratio)
{
  MuonCompressor c;
  Matrix         X, Y, expected;

  PetscFunctionBegin;
  PetscCall(Make(&c, "topk values native ratio %g", ratio));
  PetscCall(New(m, n, &X, &Y, &expected));
  for (PetscInt e = 0; e < m * n; e++) SetAt(X, e, ((double)(Bits() % 7) - 3) / 4);
  PetscCall(Apply(c, 5, X, Y));
  for (PetscInt k = 0; k < PetscMax(1, (PetscInt)(ratio * (double)(m * n) + 1e-6)); k++) {
    PetscInt best = 0;

    for (PetscInt e = 1; e < m * n; e++) best = fabs(GetAt(X, e)) > fabs(GetAt(X, best)) ? e : best;
    SetAt(expected, best, GetAt(X, best));
    SetAt(X, best, 0);
  }
  for (PetscInt e = 0; e < m * n; e++) TestCheck(GetAt(Y, e) == GetAt(expected, e), "Entry %d is %g", (int)e, GetAt(Y, e));
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
   Types that draw nothing and look at entries, rows or columns: of the same matrix they make the same,
   whichever way it is stored; also of its blocks
*/
static PetscErrorCode CheckOrders(MuonPrecision precision, PetscInt m, PetscInt n, int blocks)
{
  static const char *const types[] = {"identity", "nearest", "truncated", "bf16", "damping", "topk", "columntopk", "rowtopk"};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(types) * MUON_COMPRESSOR_VALUES_NATURAL; k++) {
    const char *type = types[k / MUON_COMPRESSOR_VALUES_NATURAL], *values = MuonCompressorValuesTypes[k % MUON_COMPRESSOR_VALUES_NATURAL];
    Matrix      T[2], R[2], Y[2];
    Message     M;

    PetscCall(NewMessage(&M));
    for (int order = 0; order < 2; order++) {
      MuonCompressor c;

      PetscCall(NewArray(m, n, precision, order, &T[order], &R[order], &Y[order]));
      if (order == 0) Random(T[0], 1);
      else Copy(T[0], T[1]);
      if (order == 0) Random(R[0], 0.25);
      else Copy(R[0], R[1]);
      PetscCall(Make(&c, "%s ratio 0.3 values %s", type, values));
      if (blocks) PetscCall(MuonCompressorSetBlocks(c, 3, NULL, 2, NULL));
      PetscCall(Encode(c, T[order], R[order], M));
      PetscCall(Decode(c, M, PETSC_FALSE, 0, Y[order]));
    }
    TestCheck(Same(Y[0], Y[1]), "%s %s of %dx%d%s: by rows it is something else", type, values, (int)m, (int)n, blocks ? " in blocks" : "");
    PetscCall(Free(0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* X = U diag(16, 15, ...) V^T with U and V Hadamard matrices of 16 over 4, exact in binary: the leading triples of X are known */
static double Hadamard(int i, int j)
{
  int bits = i & j, ones = 0;

  for (; bits > 0; bits /= 2) ones += bits % 2;
  return ones % 2 == 0 ? 0.25 : -0.25;
}

static PetscErrorCode CheckTriples(const char choice[], MuonPrecision precision, int rowmajor, int keep)
{
  const int n = 16;
  /*
     SLEPc computes in PETSc's scalars. The vectors move by eps ||X|| over the distance to the next singular
     value, which is 1, or by twice that where X^T X is formed; n covers the constants of the solvers
  */
  const double   bound = n * n * n * (precision == MUON_SINGLE ? 1.2e-7 : TEST_EPSILON);
  MuonCompressor c;
  Matrix         X, Y;

  PetscFunctionBegin;
  PetscCall(Make(&c, "%s rank %d", choice, keep));
  PetscCall(NewArray(n, n, precision, rowmajor, &X, &Y));
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) {
      double x = 0;

      for (int k = 0; k < n; k++) x += Hadamard(i, k) * (n - k) * Hadamard(k, j);
      Set(X, i, j, x);
    }
  }
  PetscCall(Apply(c, 5, X, Y));
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) {
      double x = 0;

      for (int k = 0; k < keep; k++) x += Hadamard(i, k) * (n - k) * Hadamard(k, j);
      TestCheck(fabs(Get(Y, i, j) - x) <= bound, "%s, rank %d: entry (%d, %d) is off by %g", choice, keep, i, j, Get(Y, i, j) - x);
    }
  }
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same numbers as floats and as doubles have the same message, where values are as wide; native ones have the width of the entries */
static PetscErrorCode CheckPrecisions(const char choice[], PetscInt m, PetscInt n)
{
  MuonCompressor c, wide;
  Matrix         T, U, Y, Z;
  Message        M, N;
  PetscBool      native, computes;

  PetscFunctionBegin;
  PetscCall(Make(&c, choice));
  PetscCall(Make(&wide, choice));
  native = c->values == MUON_COMPRESSOR_VALUES_NATIVE ? PETSC_TRUE : PETSC_FALSE;
  /*
     These compute with entries before they write them, the values of identity are no choice, and the magnitude
     of signs is a number that the array can hold
  */
  computes = Is(c, "rankk topsvd powersgd identity");
  if (Is(c, "damping") && c->ratio < 1) computes = PETSC_TRUE;
  if (computes || (Is(c, "sign") && c->values == MUON_COMPRESSOR_VALUES_DOUBLE)) {
    PetscCall(Free(0));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (native) PetscCall(Tune(wide, "values single"));
  PetscCall(NewArray(m, n, MUON_SINGLE, 0, &T, &Y));
  PetscCall(NewArray(m, n, MUON_DOUBLE, 0, &U, &Z));
  PetscCall(NewMessage(&M, &N));
  Random(T, 1);
  Copy(T, U);
  PetscCall(Encode(c, T, NULL, M));
  PetscCall(Encode(wide, U, NULL, N));
  TestCheck(SameMessage(M, N), "%s: the message of floats is not that of doubles", choice);
  PetscCall(Decode(c, M, PETSC_FALSE, 0, Y));
  PetscCall(Decode(wide, N, PETSC_FALSE, 0, Z));
  for (PetscInt e = 0; e < m * n; e++) {
    const double y = GetAt(Y, e), z = GetAt(Z, e);

    /* A level is a product, and the quotient before it another rounding */
    TestCheck(Is(c, "qsgd") ? fabs(y - z) <= 1.2e-7 * fabs(z) : y == z, "%s: %g among floats, %g among doubles", choice, y, z);
  }
  if (native) {
    /* Nor is the native message of doubles another than that in double */
    PetscCall(Tune(wide, "values double"));
    PetscCall(Encode(c, U, NULL, M));
    PetscCall(Encode(wide, U, NULL, N));
    TestCheck(SameMessage(M, N), "%s: native values of doubles are not double", choice);
  }
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  size_t    entries, bytes;
  PetscBool wrong;
} Count;

static PetscErrorCode Visit(MuonStateVisitor *visitor, const MuonState *state)
{
  Count *count = (Count *)visitor->ctx;

  PetscFunctionBegin;
  count->bytes += state->array != NULL ? MuonArrayBytes(state->array) : state->bytes;
  if (state->array != NULL) {
    count->entries += MuonArrayEntries(state->array);
    if (state->array->data == NULL || state->array->precision != MUON_SINGLE) count->wrong = PETSC_TRUE;
  }
  if (state->holder != MUON_STATE_WORKER || strcmp(state->layer, "attn.qkv") != 0) count->wrong = PETSC_TRUE;
  if (state->name[0] == '\0' || state->entrywise) count->wrong = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CountState(MuonCompressor c, Count *count)
{
  MuonStateVisitor visitor;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(count, sizeof(*count)));
  PetscCall(PetscMemzero(&visitor, sizeof(visitor)));
  visitor.visit  = Visit;
  visitor.layer  = "attn.qkv";
  visitor.holder = MUON_STATE_WORKER;
  visitor.ctx    = count;
  PetscCall(MuonCompressorVisitState(c, &visitor));
  TestCheck(!count->wrong, "State that is none of this compressor");
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
      PetscCall(CheckPrecisions(choice, arrays[s][0], arrays[s][1]));
    }
    for (PetscInt blocks = 1; blocks < 3; blocks++) PetscCall(CheckState(choice, blocks));
  }
  for (int way = 0; way < 4 && !trap; way++) {
    const MuonPrecision precision = (MuonPrecision)(way / 2);

    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(arrays) && way % 2 == 0; s++) PetscCall(CheckOrders(precision, arrays[s][0], arrays[s][1], 0));
    if (way % 2 == 0) PetscCall(CheckOrders(precision, 12, 10, 1));
    for (int keep = 1; keep < 16; keep++) {
      if (keep % 3 == 1 || way == 2) PetscCall(CheckTriples("rankk values native", precision, way % 2, keep));
      if (keep % 3 == 1) PetscCall(CheckTriples("topsvd values native", precision, way % 2, keep));
    }
  }
  if (!PetscDefined(USE_REAL_SINGLE) && !trap) PetscCall(CheckEnds());
  for (int gaps = 0; gaps < 2 && !trap; gaps++) {
    Test.compact = gaps == 0 ? PETSC_TRUE : PETSC_FALSE;
    PetscCall(CheckTies(12, 11, 0.1));
    PetscCall(CheckTies(7, 40, 0.5));
    PetscCall(CheckTies(65, 9, 0.83));
  }
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
