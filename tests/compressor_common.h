/*
   What the tests of compressors share: matrices of either precision and order with gaps between their lines, compressors by a line of
   text, messages, and random numbers. What a check makes lies on one stack, which Free() empties down to where it was.
*/
#pragma once

#include <petscmuon/private/muoncompressorimpl.h>
#include <petscmuoncompat.h>
#include <float.h>
#include <stdarg.h>
#include "near.h"
#include "parameters.h"
#include "wire_header.h"

#define TEST_SCALAR  (PetscDefined(USE_REAL_SINGLE) ? MUON_SINGLE : MUON_DOUBLE)
#define TEST_EPSILON ((double)PETSC_MACHINE_EPSILON)

typedef struct _n_Matrix *Matrix;
struct _n_Matrix {
  MuonArray array;
  Mat       mat; /* of the same memory where PETSc has such matrices, scalars by columns; else NULL */
  PetscInt  m, n;
  PetscBool part; /* of the memory of another */
};

typedef struct _n_Message *Message;
struct _n_Message {
  unsigned char *buf;
  size_t         bytes, room;
  MuonStatus     status;
};

enum {
  TEST_MOST = 256
};

static struct {
  unsigned long long state;   /* of the random numbers */
  PetscBool          compact; /* no gaps between lines */
  PetscInt           count;
  struct {
    Matrix         A;
    MuonCompressor c;
    Message        M;
  } made[TEST_MOST];
} Test;

/* SplitMix64: the tests of Philox must not be made of it */
static inline unsigned long long Bits(void)
{
  unsigned long long z = (Test.state += 0x9E3779B97F4A7C15ull);

  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  return z ^ z >> 31;
}

static inline double Uniform(void)
{
  return (double)(Bits() >> 40) / 16777216.0;
}

static inline double Normal(void)
{
  const double u = Uniform(), v = Uniform();

  return sqrt(-2 * log(1 - u)) * cos(2 * (double)PETSC_PI * v);
}

/* The number at a place of the memory, gaps included */
static inline double GetRaw(const MuonArray *A, size_t k)
{
  return A->precision == MUON_SINGLE ? (double)((float *)A->data)[k] : ((double *)A->data)[k];
}

static inline void SetRaw(const MuonArray *A, size_t k, double x)
{
  if (A->precision == MUON_SINGLE) ((float *)A->data)[k] = (float)x;
  else ((double *)A->data)[k] = x;
}

static inline PetscErrorCode Free(PetscInt mark)
{
  PetscFunctionBegin;
  while (Test.count > mark) {
    Matrix  A = Test.made[--Test.count].A;
    Message M = Test.made[Test.count].M;

    PetscCall(MuonCompressorDestroy(&Test.made[Test.count].c));
    if (A != NULL && !A->part) {
      const MuonArray *a = &A->array;

      for (size_t k = 0; k < a->ld * a->count; k++) TestCheck(k % a->ld < a->len || isnan(GetRaw(a, k)), "Written between the lines");
      PetscCall(MatDestroy(&A->mat));
      PetscCall(PetscFree(A->array.data));
    }
    if (M != NULL) PetscCall(PetscFree(M->buf));
    PetscCall(PetscFree(A));
    PetscCall(PetscFree(M));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode TestKeep(Matrix A, MuonCompressor c, Message M)
{
  PetscFunctionBegin;
  TestCheck(Test.count < TEST_MOST, "More than %d things", TEST_MOST);
  Test.made[Test.count].A   = A;
  Test.made[Test.count].c   = c;
  Test.made[Test.count++].M = M;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* m x n zeros of any number of matrices. Where there are gaps between lines they hold NaN: what uses them shows it */
static inline PetscErrorCode NewArrays(PetscInt m, PetscInt n, MuonPrecision precision, int rowmajor, ...)
{
  va_list args;
  Matrix *A;

  PetscFunctionBegin;
  va_start(args, rowmajor);
  while ((A = va_arg(args, Matrix *)) != NULL) {
    const size_t len = (size_t)(rowmajor ? n : m), ld = PetscMax(len + (Test.compact ? 0 : (size_t)(Test.count % 3)), 1);
    MuonArray   *a;

    PetscCall(PetscNew(A));
    PetscCall(TestKeep(*A, NULL, NULL));
    (*A)->m      = m;
    (*A)->n      = n;
    a            = &(*A)->array;
    a->len       = len;
    a->count     = (size_t)(rowmajor ? m : n);
    a->ld        = ld;
    a->rowmajor  = rowmajor;
    a->pairs     = 0;
    a->precision = precision;
    PetscCall(PetscMalloc(ld * PetscMax(a->count, 1) * MuonArrayEntryBytes(a), &a->data));
    for (size_t k = 0; k < ld * a->count; k++) SetRaw(a, k, k % ld < len ? 0 : (double)NAN);
    if (rowmajor || precision != TEST_SCALAR) continue;
    PetscCall(MatCreate(PETSC_COMM_SELF, &(*A)->mat));
    PetscCall(MatSetSizes((*A)->mat, m, n, m, n));
    PetscCall(MatSetType((*A)->mat, MATSEQDENSE));
    PetscCall(MatDenseSetLDA((*A)->mat, (PetscInt)ld));
    PetscCall(MatSeqDenseSetPreallocation((*A)->mat, (PetscScalar *)a->data));
  }
  va_end(args);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A block of A, in its memory */
static inline PetscErrorCode NewPart(Matrix A, PetscInt i, PetscInt j, PetscInt m, PetscInt n, Matrix *part)
{
  PetscFunctionBegin;
  PetscCall(PetscNew(part));
  PetscCall(TestKeep(*part, NULL, NULL));
  (*part)->array = MuonArrayPart(&A->array, (size_t)i, (size_t)j, (size_t)m, (size_t)n);
  (*part)->m     = m;
  (*part)->n     = n;
  (*part)->part  = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New(m, n, &A, &B), of PETSc's scalars by columns */
#define New(m, n, ...)                           NewArrays(m, n, TEST_SCALAR, 0, __VA_ARGS__, (Matrix *)NULL)
#define NewArray(m, n, precision, rowmajor, ...) NewArrays(m, n, precision, rowmajor, __VA_ARGS__, (Matrix *)NULL)

static inline double Get(Matrix A, PetscInt i, PetscInt j)
{
  return GetRaw(&A->array, A->array.rowmajor ? (size_t)i * A->array.ld + (size_t)j : (size_t)j * A->array.ld + (size_t)i);
}

static inline void Set(Matrix A, PetscInt i, PetscInt j, double x)
{
  SetRaw(&A->array, A->array.rowmajor ? (size_t)i * A->array.ld + (size_t)j : (size_t)j * A->array.ld + (size_t)i, x);
}

/* Entry number e in the order of memory */
static inline double GetAt(Matrix A, PetscInt e)
{
  return GetRaw(&A->array, (size_t)e / A->array.len * A->array.ld + (size_t)e % A->array.len);
}

static inline void SetAt(Matrix A, PetscInt e, double x)
{
  SetRaw(&A->array, (size_t)e / A->array.len * A->array.ld + (size_t)e % A->array.len, x);
}

/* The same matrix for the same state, whatever its precision and its order are, but for the rounding of its entries */
static inline void Random(Matrix A, double scale)
{
  for (PetscInt e = 0; e < A->m * A->n; e++) Set(A, e % A->m, e / A->m, scale * Normal());
}

/* Y = a X + b Y; what is overwritten is not read */
static inline void Axpby(double a, Matrix X, double b, Matrix Y)
{
  for (PetscInt j = 0; j < X->n; j++) {
    for (PetscInt i = 0; i < X->m; i++) Set(Y, i, j, b == 0 ? a * Get(X, i, j) : a * Get(X, i, j) + b * Get(Y, i, j));
  }
}

static inline void Copy(Matrix X, Matrix Y)
{
  Axpby(1, X, 0, Y);
}

static inline void Transpose(Matrix X, Matrix Y)
{
  for (PetscInt e = 0; e < X->m * X->n; e++) Set(Y, e % X->n, e / X->n, Get(X, e / X->n, e % X->n));
}

static inline PetscErrorCode TestStart(unsigned long long seed)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(&Test, sizeof(Test)));
  Test.state = seed;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the entries are the same numbers, bit for bit */
static inline PetscBool Same(Matrix X, Matrix Y)
{
  for (PetscInt j = 0; j < X->n; j++) {
    for (PetscInt i = 0; i < X->m; i++) {
      const double x = Get(X, i, j), y = Get(Y, i, j);

      if (memcmp(&x, &y, sizeof(x)) != 0) return PETSC_FALSE;
    }
  }
  return PETSC_TRUE;
}

/* ||X - Y||^2, of X alone where Y is NULL; differences are rounded as those of PETSc's scalars are */
static inline double Squares(Matrix X, Matrix Y)
{
  double sum = 0;

  for (PetscInt j = 0; j < X->n; j++) {
    for (PetscInt i = 0; i < X->m; i++) sum += PetscSqr((double)(PetscReal)(Get(X, i, j) - (Y != NULL ? Get(Y, i, j) : 0)));
  }
  return sum;
}

static inline PetscErrorCode NewMessages(Message *M, ...)
{
  va_list args;

  PetscFunctionBegin;
  va_start(args, M);
  for (; M != NULL; M = va_arg(args, Message *)) {
    PetscCall(PetscNew(M));
    PetscCall(TestKeep(NULL, NULL, *M));
  }
  va_end(args);
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define NewMessage(...) NewMessages(__VA_ARGS__, (Message *)NULL)

static inline PetscBool SameMessage(Message M, Message N)
{
  return M->bytes == N->bytes && memcmp(M->buf, N->buf, M->bytes) == 0 ? PETSC_TRUE : PETSC_FALSE;
}

typedef char Choice[128];

/* Parameters by their keys without compressor_, "values natural rank 3"; one that the type does not have is an error */
static inline PetscErrorCode TuneV(MuonCompressor c, const char format[], va_list args)
{
  Choice choice;
  char   key[64], **word;
  int    n;

  PetscFunctionBegin;
  PetscCall(PetscVSNPrintf(choice, sizeof(choice), format, NULL, args));
  PetscCall(PetscStrToArray(choice, ' ', &n, &word));
  /* The first of an odd number of words is the type */
  if (n % 2 == 1) PetscCall(MuonCompressorSetType(c, word[0]));
  for (int k = n % 2; k < n; k += 2) {
    PetscCall(PetscSNPrintf(key, sizeof(key), "compressor_%s", word[k]));
    PetscCall(MuonObjectSetParameter((PetscObject)c, key, word[k + 1]));
  }
  PetscCall(PetscStrToArrayDestroy(n, word));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode Tune(MuonCompressor c, const char format[], ...)
{
  va_list args;

  PetscFunctionBegin;
  va_start(args, format);
  PetscCall(TuneV(c, format, args));
  va_end(args);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* "topk ratio 0.1 values native": the type, and its parameters */
static inline PetscErrorCode Make(MuonCompressor *c, const char format[], ...)
{
  va_list args;

  PetscFunctionBegin;
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, c));
  PetscCall(TestKeep(NULL, *c, NULL));
  va_start(args, format);
  PetscCall(TuneV(*c, format, args));
  va_end(args);
  PetscCall(MuonCompressorSetStream(*c, 11, "attn.qkv", 3, 1));
  PetscCall(MuonCompressorSetStep(*c, 5));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether c is of one of some types, with blanks between them */
static inline PetscBool Is(MuonCompressor c, const char types[])
{
  char type[64];
  int  used;

  for (; sscanf(types, "%63s%n", type, &used) == 1; types += used) {
    if (strcmp(type, ((PetscObject)c)->type_name) == 0) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/* The message of T - R, by matrices of PETSc where they are such; where there is none there are no bytes, and a status */
static inline PetscErrorCode Encode(MuonCompressor c, Matrix T, Matrix R, Message M)
{
  size_t most;

  PetscFunctionBegin;
  PetscCall(MuonCompressorGetMaxBytesOf(c, &T->array, &most));
  if (most > M->room) {
    PetscCall(PetscFree(M->buf));
    PetscCall(PetscMalloc1(most, &M->buf));
    M->room = most;
  }
  if (T->mat != NULL) PetscCall(MuonCompressorEncode(c, T->mat, R != NULL ? R->mat : NULL, most, M->buf, &M->bytes));
  else PetscCall(MuonCompressorEncodeArray(c, &T->array, R != NULL ? &R->array : NULL, most, M->buf, &M->bytes, PETSC_FALSE, NULL, NULL));
  M->status = c->status;
  TestCheck((M->bytes > 0) == (M->status == MUON_STATUS_OK) && M->bytes <= most, "%zu bytes, status %s", M->bytes, MuonStatuses[M->status]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* That there is a message */
static inline PetscErrorCode Send(MuonCompressor c, Matrix T, Matrix R, Message M)
{
  PetscFunctionBegin;
  PetscCall(Encode(c, T, R, M));
  TestCheck(M->status == MUON_STATUS_OK, "%s: status %s", ((PetscObject)c)->type_name, MuonStatuses[M->status]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y = Y + scale C where add is true, and Y = C else; a message that is none is an error */
static inline PetscErrorCode Decode(MuonCompressor c, Message M, PetscBool add, double scale, Matrix Y)
{
  PetscBool valid = PETSC_TRUE;

  PetscFunctionBegin;
  if (Y->mat != NULL) PetscCall(MuonCompressorDecode(c, add, (PetscReal)scale, M->bytes, M->buf, Y->mat));
  else PetscCall(MuonCompressorDecodeArray(c, add, scale, M->bytes, M->buf, &Y->array, &valid));
  TestCheck(valid, "A good message is refused");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y = C(X) in that step; where there is no message Y stays as it is */
static inline PetscErrorCode Apply(MuonCompressor c, PetscInt step, Matrix X, Matrix Y)
{
  const PetscInt mark = Test.count;
  Message        M;

  PetscFunctionBegin;
  PetscCall(MuonCompressorSetStep(c, step));
  if (X->mat != NULL) PetscCall(MuonCompressorApply(c, X->mat, Y->mat, NULL));
  else {
    PetscCall(NewMessage(&M));
    PetscCall(Encode(c, X, NULL, M));
    if (M->bytes > 0) PetscCall(Decode(c, M, PETSC_FALSE, 1, Y));
    PetscCall(Free(mark));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a message costs, with its entropy */
static inline PetscErrorCode Cost(MuonCompressor c, Matrix shape, Message M, MuonCompressorCost *cost)
{
  PetscBool valid;

  PetscFunctionBegin;
  PetscCall(MuonCompressorValidateArray(c, &shape->array, M->bytes, M->buf, PETSC_TRUE, cost, NULL, &valid));
  TestCheck(valid, "%zu bytes are no message", M->bytes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscBool SameCost(const MuonCompressorCost *a, const MuonCompressorCost *b, PetscBool entropy)
{
  return a->paper == b->paper && a->encoded == b->encoded && (entropy ? a->entropy == b->entropy : b->entropy == -1) ? PETSC_TRUE : PETSC_FALSE;
}

/*
   Y becomes what the message M of T - R says, or that of T where R is NULL, and sum what is R, or zero, and -0.3 of it. All ways to make and to take apart
   a message are one: matrices of PETSc and arrays, what the sender opens of its own and a receiver of what came, at once and later. T and R stay
   as they are, and a message without its end is none
*/
static inline PetscErrorCode Ways(MuonCompressor c, MuonCompressor receiver, Matrix T, Matrix R, Matrix Y, Matrix sum, Message M, MuonCompressorCost *cost)
{
  const PetscInt     mark = Test.count;
  const MuonArray   *a    = &T->array;
  const char        *type = ((PetscObject)c)->type_name;
  const double       unit = a->precision == MUON_SINGLE ? 1.2e-7 : 2.3e-16, scale = a->precision == MUON_SINGLE ? (double)-0.3f : -0.3;
  double             terms;
  MuonValidated      own = {NULL, 0, NULL, 0, NULL}, opened = {NULL, 0, NULL, 0, NULL};
  MuonCompressorCost count;
  Matrix             base, Z, t;
  Message            again;
  PetscBool          valid;

  PetscFunctionBegin;
  PetscCall(NewArray(T->m, T->n, a->precision, a->rowmajor, &base, &Z, &t));
  PetscCall(NewMessage(&again));
  Copy(T, t);
  if (R != NULL) Copy(R, base);
  PetscCall(Send(c, T, R, M));
  PetscCall(PetscMalloc1(M->room, &again->buf));
  PetscCall(MuonCompressorEncodeArray(c, a, R != NULL ? &R->array : NULL, M->room, again->buf, &again->bytes, PETSC_TRUE, cost, &own));
  TestCheck(SameMessage(M, again), "%s: matrices have another message than arrays, or the second one differs", type);
  PetscCall(MuonCompressorValidateArray(receiver, a, M->bytes, M->buf, PETSC_TRUE, &count, &opened, &valid));
  TestCheck(valid && opened.bytes == own.bytes && memcmp(opened.data, own.data, own.bytes) == 0, "%s: the sender has opened something else", type);
  TestCheck(SameCost(cost, &count, PETSC_TRUE), "%s: counted as %g, %g and %g", type, count.paper, count.encoded, count.entropy);
  TestCheck(cost->encoded == 8.0 * (double)M->bytes && cost->entropy >= 0, "%s: %g bits of %zu bytes, entropy %g", type, cost->encoded, M->bytes, cost->entropy);
  PetscCall(MuonCompressorValidateArray(receiver, a, M->bytes, M->buf, PETSC_FALSE, &count, &opened, &valid));
  TestCheck(valid && SameCost(cost, &count, PETSC_FALSE), "%s: without the entropy it is %g", type, count.entropy);
  Random(Y, 1);
  PetscCall(MuonCompressorDecodeValidated(receiver, &own, PETSC_FALSE, 0, &Y->array));
  Copy(base, sum);
  PetscCall(MuonCompressorDecodeValidated(receiver, &own, PETSC_TRUE, scale, &sum->array));
  /*
     Two roundings in a sum, and for a low-rank message min(m, n) terms of a product with factors of singular
     values: each entry of |P| |Q|^T is at most sigma_1
  */
  terms = M->buf[4] == 2 || M->buf[4] == 4 ? 2 * (2 + (double)PetscMin(T->m, T->n)) * (sqrt(Squares(T, NULL)) + sqrt(Squares(base, NULL))) : 0;
  for (PetscInt e = 0; e < T->m * T->n; e++) {
    const double b = GetAt(base, e), y = GetAt(Y, e);

    TestNear(type, GetAt(sum, e), b + scale * y, unit * (fabs(b) + 2 * fabs(y) + terms));
  }
  for (int way = 0; way < 6; way++) {
    const PetscBool add = way % 2 ? PETSC_TRUE : PETSC_FALSE;

    Copy(base, Z);
    if (way < 2) PetscCall(MuonCompressorDecodeValidated(receiver, &opened, add, scale * add, &Z->array));
    else if (way < 4) PetscCall(MuonCompressorDecodeArray(receiver, add, scale * add, M->bytes, M->buf, &Z->array, &valid));
    else PetscCall(Decode(receiver, M, add, scale * add, Z));
    TestCheck(valid && Same(add ? sum : Y, Z), "%s: way %d to decode a message says something else", type, way);
  }
  PetscCall(MuonCompressorDecodeArray(receiver, PETSC_FALSE, 0, M->bytes - 1, M->buf, &Z->array, &valid));
  TestCheck(!valid, "%s: a message without its end is decoded", type);
  /* No message, no cost */
  count.encoded = -1;
  PetscCall(MuonCompressorValidateArray(receiver, a, M->bytes - 1, M->buf, PETSC_TRUE, &count, &opened, &valid));
  TestCheck(!valid && count.encoded == -1, "%s: a message without its end is opened", type);
  TestCheck(Same(T, t) && (R == NULL || Same(R, base)), "%s: T or R was changed", type);
  PetscCall(MuonValidatedDestroy(&own));
  PetscCall(MuonValidatedDestroy(&opened));
  PetscCall(Free(mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The state of a compressor: bytes, entries of arrays, and arrays in the memory of a device. Its visitor is told of arrays of that precision, their names and their sender */
typedef struct {
  size_t        entries, bytes;
  PetscInt      far;
  MuonPrecision precision; /* that they must have */
  PetscBool     wrong;
} Count;

static inline PetscErrorCode TestVisit(MuonStateVisitor *visitor, const MuonState *state)
{
  Count *count = (Count *)visitor->ctx;

  PetscFunctionBegin;
  count->bytes += state->array != NULL ? MuonArrayBytes(state->array) : state->bytes;
  if (state->array != NULL) {
    count->entries += MuonArrayEntries(state->array);
    count->far += state->array->memory == MUON_DEVICE;
    if (state->array->data == NULL || state->array->precision != count->precision) count->wrong = PETSC_TRUE;
  }
  if (state->holder != MUON_STATE_WORKER || strcmp(state->layer, "attn.qkv") != 0 || state->name[0] == '\0' || state->entrywise) count->wrong = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode CountState(MuonCompressor c, MuonPrecision precision, Count *count)
{
  MuonStateVisitor visitor;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(count, sizeof(*count)));
  PetscCall(PetscMemzero(&visitor, sizeof(visitor)));
  count->precision = precision;
  visitor.visit    = TestVisit;
  visitor.layer    = "attn.qkv";
  visitor.holder   = MUON_STATE_WORKER;
  visitor.ctx      = count;
  PetscCall(MuonCompressorVisitState(c, &visitor));
  TestCheck(!count->wrong, "State that is none of this compressor");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Choices that cover every type that is registered: those below, and for a type that is not among them one for each kind of values.
   Dropout is sent in some and dropped in others
*/
static const char TestKnown[] = "identity|natural|nearest|truncated|bf16|damping ratio 1 values native|damping ratio 0.7 values native|"
                                "damping ratio 0.7 values double|damping ratio 0.3 values single|damping ratio 0.5 values bf16|"
                                "damping ratio 0.9 values natural|dropout ratio 1 values native|dropout ratio 1e-7 values double|"
                                "dropout ratio 1 values single|dropout ratio 1 values bf16|dropout ratio 1 values natural|"
                                "dropout ratio 1e-7 values natural|topk ratio 0.001 values native|topk ratio 0.1 values native|"
                                "topk ratio 0.1 values double|topk ratio 0.1 values single|topk ratio 0.5 values bf16|"
                                "topk ratio 0.02 values natural|topk ratio 1 values natural|topk ratio 0.3 values bf16 block_entries 64|"
                                "rankk ratio 0.1 values native|rankk ratio 0.3 values double|rankk ratio 0.3 values single|"
                                "rankk ratio 0.3 rank 2 values bf16|rankk ratio 0.3 rank 1000 values natural";

/* Choice k of them, in the order above and then by types; false behind the last */
static inline PetscBool TestChoice(PetscInt k, Choice choice)
{
  const char **types;
  int          ntypes;
  PetscBool    more = PETSC_FALSE;

  PetscCallAbort(PETSC_COMM_SELF, MuonCompressorInitializePackage());
  for (const char *at = TestKnown; *at != '\0' && !more; at += strcspn(at, "|"), at += *at == '|') {
    more = k-- == 0 ? PETSC_TRUE : PETSC_FALSE;
    if (more) PetscCallAbort(PETSC_COMM_SELF, PetscStrncpy(choice, at, strcspn(at, "|") + 1));
  }
  PetscCallAbort(PETSC_COMM_SELF, PetscFunctionListGet(MuonCompressorList, &types, &ntypes));
  /* Some releases count an empty name at the end */
  for (int t = 0; t < ntypes && types[t] != NULL && !more; t++) {
    const size_t length = strlen(types[t]);
    PetscBool    known  = PETSC_FALSE;

    for (const char *at = strstr(TestKnown, types[t]); at != NULL; at = strstr(at + 1, types[t])) {
      if ((at == TestKnown || at[-1] == '|') && (at[length] == ' ' || at[length] == '|')) known = PETSC_TRUE;
    }
    if (known) continue;
    more = k <= MUON_COMPRESSOR_VALUES_NATURAL ? PETSC_TRUE : PETSC_FALSE;
    if (more) (void)snprintf(choice, sizeof(Choice), "%s ratio 0.%d values %s bits %d", types[t], k % 2 ? 4 : 1, MuonCompressorValuesTypes[k], (int)k + 2);
    k -= MUON_COMPRESSOR_VALUES_NATURAL + 1;
  }
  PetscCallAbort(PETSC_COMM_SELF, PetscFree(types));
  return more;
}
