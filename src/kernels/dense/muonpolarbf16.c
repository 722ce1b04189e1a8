#include "muonpolarbf16.h"
#include "muonpanels.h"

#if defined(PETSCMUON_HAVE_ONEDNN)
  #include <oneapi/dnnl/dnnl.h>
  #include <math.h>
  #include <stdlib.h>
  #include <string.h>

/*
   oneDNN counts by rows: a matrix of ours by columns is its transpose by rows, and what is a lower triangle
   here is an upper one there.

   A primitive is code that oneDNN writes for one shape, a millisecond's work, so that primitives are kept.
   Operands are rounded by reorders into buffers, one for the symmetric s x s operand and one for a strip of
   the other. The products that fill the matrix registers of a processor are those of matrices without
   padding, the result included: hence symmetric results are computed as whole squares, which is faster than a
   triangle in pieces, and what has padding goes through a third buffer. A call that fails fills its result
   with NaN, which a method cannot take for a result.
*/
enum {
  CACHE     = 128,     /* primitives: a shape of a layer needs about a dozen */
  LEAST     = 256,     /* extents of a strip */
  GRAM      = 4194304, /* entries of a strip that is rounded at once: as the inner dimension, where a long one keeps the result in the registers, */
  MULTIPLY  = 1048576, /* and as the outer one, where the strip fits into the second level of the cache */
  REORDER   = 1,
  MATMUL    = 2,
  ARGUMENTS = 3
};

/* Entries that are 0 for a reorder belong to a product alone */
typedef struct {
  int64_t M, N, K, lda, ldb;
  float   a, b;
  int     kind, transa, transb;
} Key;

typedef struct {
  Key              key;
  unsigned long    used;
  int              reference; /* oneDNN has no fast code for it */
  dnnl_primitive_t primitive;
  dnnl_memory_t    memory[ARGUMENTS];
} Entry;

enum {
  STRIP,
  SQUARE,
  RESULT,
  BUFFERS
};

static struct {
  int           started;
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  unsigned long clock;
  Entry         entry[CACHE];
  void         *buffer[BUFFERS];
  size_t        bytes[BUFFERS];
} bf16;

  #define TRY(call) \
    do { \
      if ((call) != dnnl_success) return 1; \
    } while (0)

/*
   The interface in C changed between the versions 2 and 3 of oneDNN: a description became an object, and
   operations lost theirs
*/
  #if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t Layout;

static int LayoutCreate(Layout *layout, dnnl_data_type_t type, const dnnl_dims_t size, const dnnl_dims_t stride)
{
  return dnnl_memory_desc_create_with_strides(layout, 2, size, type, stride) != dnnl_success;
}

static void LayoutDestroy(Layout *layout)
{
  (void)dnnl_memory_desc_destroy(*layout);
}

static int LayoutMemory(const Layout *layout, dnnl_memory_t *memory)
{
  return dnnl_memory_create(memory, *layout, bf16.engine, DNNL_MEMORY_NONE) != dnnl_success;
}

static int LayoutReorder(const Layout *from, const Layout *to, dnnl_primitive_desc_t *description)
{
  return dnnl_reorder_primitive_desc_create(description, *from, bf16.engine, *to, bf16.engine, NULL) != dnnl_success;
}

static int LayoutMatmul(const Layout *A, const Layout *B, const Layout *C, dnnl_primitive_attr_t attributes, dnnl_primitive_desc_t *description)
{
  return dnnl_matmul_primitive_desc_create(description, bf16.engine, *A, *B, NULL, *C, attributes) != dnnl_success;
}

static int PostOps(dnnl_post_ops_t operations, float a, float b)
{
  if (a != 1.0f) TRY(dnnl_post_ops_append_eltwise(operations, dnnl_eltwise_linear, a, 0.0f));
  if (b != 0.0f) TRY(dnnl_post_ops_append_sum(operations, b, 0, dnnl_data_type_undef));
  return 0;
}
  #else
typedef dnnl_memory_desc_t Layout;

static int LayoutCreate(Layout *layout, dnnl_data_type_t type, const dnnl_dims_t size, const dnnl_dims_t stride)
{
  return dnnl_memory_desc_init_by_strides(layout, 2, size, type, stride) != dnnl_success;
}

static void LayoutDestroy(Layout *layout)
{
  (void)layout;
}

static int LayoutMemory(const Layout *layout, dnnl_memory_t *memory)
{
  return dnnl_memory_create(memory, layout, bf16.engine, DNNL_MEMORY_NONE) != dnnl_success;
}

static int LayoutReorder(const Layout *from, const Layout *to, dnnl_primitive_desc_t *description)
{
  return dnnl_reorder_primitive_desc_create(description, from, bf16.engine, to, bf16.engine, NULL) != dnnl_success;
}

static int LayoutMatmul(const Layout *A, const Layout *B, const Layout *C, dnnl_primitive_attr_t attributes, dnnl_primitive_desc_t *description)
{
  dnnl_matmul_desc_t operation;

  TRY(dnnl_matmul_desc_init(&operation, A, B, NULL, C));
  return dnnl_primitive_desc_create(description, &operation, attributes, bf16.engine, NULL) != dnnl_success;
}

static int PostOps(dnnl_post_ops_t operations, float a, float b)
{
  if (a != 1.0f) TRY(dnnl_post_ops_append_eltwise(operations, 1.0f, dnnl_eltwise_linear, a, 0.0f));
  if (b != 0.0f) TRY(dnnl_post_ops_append_sum(operations, b));
  return 0;
}
  #endif

static int Start(void)
{
  if (bf16.started) return 0;
  TRY(dnnl_engine_create(&bf16.engine, dnnl_cpu, 0));
  if (dnnl_stream_create(&bf16.stream, bf16.engine, dnnl_stream_default_flags) != dnnl_success) {
    (void)dnnl_engine_destroy(bf16.engine);
    return 1;
  }
  bf16.started = 1;
  return 0;
}

static void EntryDestroy(Entry *entry)
{
  if (entry->primitive != NULL) (void)dnnl_primitive_destroy(entry->primitive);
  for (int i = 0; i < ARGUMENTS; i++) {
    if (entry->memory[i] != NULL) (void)dnnl_memory_destroy(entry->memory[i]);
  }
  memset(entry, 0, sizeof(*entry));
}

/* What the primitive does with its memories: the last of them is the result */
static int EntryCreate(const Key *key, Entry *entry)
{
  const int             arguments = key->kind == REORDER ? 2 : 3;
  dnnl_dims_t           size[ARGUMENTS], stride[ARGUMENTS];
  Layout                layout[ARGUMENTS];
  dnnl_data_type_t      type[ARGUMENTS];
  dnnl_primitive_attr_t attributes  = NULL;
  dnnl_post_ops_t       operations  = NULL;
  dnnl_primitive_desc_t description = NULL;
  const char           *name        = "";
  int                   failed = 0, made = 0;

  memset(entry, 0, sizeof(*entry));
  size[0][0]   = key->M;
  size[0][1]   = key->kind == REORDER ? key->N : key->K;
  stride[0][0] = key->transa ? 1 : key->lda;
  stride[0][1] = key->transa ? key->lda : 1;
  type[0]      = key->kind == REORDER ? dnnl_f32 : dnnl_bf16;
  size[1][0]   = key->kind == REORDER ? key->M : key->K;
  size[1][1]   = key->N;
  stride[1][0] = key->transb ? 1 : key->ldb;
  stride[1][1] = key->transb ? key->ldb : 1;
  type[1]      = dnnl_bf16;
  size[2][0]   = key->M;
  size[2][1]   = key->N;
  stride[2][0] = key->N;
  stride[2][1] = 1;
  type[2]      = dnnl_f32;
  while (!failed && made < arguments) {
    failed = LayoutCreate(&layout[made], type[made], size[made], stride[made]);
    if (!failed) failed = LayoutMemory(&layout[made], &entry->memory[made]) && (LayoutDestroy(&layout[made]), 1);
    if (!failed) made++;
  }
  if (!failed && key->kind == REORDER) failed = LayoutReorder(&layout[0], &layout[1], &description);
  if (!failed && key->kind == MATMUL) {
    failed = dnnl_primitive_attr_create(&attributes) != dnnl_success || dnnl_post_ops_create(&operations) != dnnl_success || PostOps(operations, key->a, key->b) || dnnl_primitive_attr_set_post_ops(attributes, operations) != dnnl_success;
    if (!failed) failed = LayoutMatmul(&layout[0], &layout[1], &layout[2], attributes, &description);
  }
  if (!failed) failed = dnnl_primitive_desc_query(description, dnnl_query_impl_info_str, 0, (void *)&name) != dnnl_success || dnnl_primitive_create(&entry->primitive, description) != dnnl_success;
  if (!failed) entry->reference = strncmp(name, "ref", 3) == 0;
  if (description != NULL) (void)dnnl_primitive_desc_destroy(description);
  if (operations != NULL) (void)dnnl_post_ops_destroy(operations);
  if (attributes != NULL) (void)dnnl_primitive_attr_destroy(attributes);
  for (int i = 0; i < made; i++) LayoutDestroy(&layout[i]);
  if (failed) EntryDestroy(entry);
  else entry->key = *key;
  return failed;
}

static int KeyEqual(const Key *x, const Key *y)
{
  return x->kind == y->kind && x->M == y->M && x->N == y->N && x->K == y->K && x->lda == y->lda && x->ldb == y->ldb && x->a == y->a && x->b == y->b && x->transa == y->transa && x->transb == y->transb;
}

/*
   Runs the primitive of the key, one from the cache or one that takes the place of the one used longest ago
*/
static int Run(const Key *key, const void *A, void *B, void *C)
{
  Entry          *entry = NULL, *oldest = &bf16.entry[0];
  dnnl_exec_arg_t argument[ARGUMENTS];
  const int       arguments = key->kind == REORDER ? 2 : 3;

  if (Start()) return 1;
  for (int i = 0; i < CACHE && entry == NULL; i++) {
    if (bf16.entry[i].used < oldest->used) oldest = &bf16.entry[i];
    if (KeyEqual(&bf16.entry[i].key, key)) entry = &bf16.entry[i];
  }
  if (entry == NULL) {
    entry = oldest;
    EntryDestroy(entry);
    if (EntryCreate(key, entry)) return 1;
  }
  entry->used = ++bf16.clock;
  TRY(dnnl_memory_set_data_handle(entry->memory[0], (void *)A));
  TRY(dnnl_memory_set_data_handle(entry->memory[1], B));
  if (arguments == 3) TRY(dnnl_memory_set_data_handle(entry->memory[2], C));
  argument[0].arg = key->kind == REORDER ? DNNL_ARG_FROM : DNNL_ARG_SRC;
  argument[1].arg = key->kind == REORDER ? DNNL_ARG_TO : DNNL_ARG_WEIGHTS;
  argument[2].arg = DNNL_ARG_DST;
  for (int i = 0; i < arguments; i++) argument[i].memory = entry->memory[i];
  TRY(dnnl_primitive_execute(entry->primitive, bf16.stream, arguments, argument));
  TRY(dnnl_stream_wait(bf16.stream));
  return 0;
}

/* NULL where there is no memory */
static void *Buffer(int which, size_t bytes)
{
  if (bf16.bytes[which] < bytes) {
    free(bf16.buffer[which]);
    bf16.buffer[which] = malloc(bytes);
    bf16.bytes[which]  = bf16.buffer[which] != NULL ? bytes : 0;
  }
  return bf16.buffer[which];
}

/* to (M x N, by rows without padding) = from rounded */
static int Round(size_t M, size_t N, const float *from, size_t ld, uint16_t *to)
{
  Key key;

  memset(&key, 0, sizeof(key));
  key.kind = REORDER;
  key.M    = (int64_t)M;
  key.N    = (int64_t)N;
  key.lda  = (int64_t)ld;
  key.ldb  = (int64_t)N;
  return Run(&key, from, to, NULL);
}

/* C (M x N) = a op(A) op(B) + b C, all without padding */
static int Matmul(size_t M, size_t N, size_t K, double a, const uint16_t *A, int transa, const uint16_t *B, int transb, double b, float *C)
{
  Key key;

  memset(&key, 0, sizeof(key));
  key.kind   = MATMUL;
  key.M      = (int64_t)M;
  key.N      = (int64_t)N;
  key.K      = (int64_t)K;
  key.lda    = (int64_t)(transa ? M : K);
  key.ldb    = (int64_t)(transb ? K : N);
  key.a      = (float)a;
  key.b      = (float)b;
  key.transa = transa;
  key.transb = transb;
  if (Run(&key, A, (void *)B, C)) return 1;
  MuonKernelProgress(2.0 * (double)M * (double)N * (double)K);
  return 0;
}

/* A symmetric operand as a whole from its lower triangle; NULL where that fails */
static const uint16_t *Square(size_t s, const void *B)
{
  const size_t block = 64;
  uint16_t    *whole = (uint16_t *)Buffer(SQUARE, s * s * sizeof(*whole));

  if (whole == NULL || Round(s, s, (const float *)B, s, whole)) return NULL;
  /* By rows the lower triangle is the upper one: the lower one follows by blocks that stay in cache */
  for (size_t I = 0; I < s; I += block) {
    for (size_t J = I; J < s; J += block) {
      for (size_t i = I; i < I + block && i < s; i++) {
        for (size_t j = J > i ? J : i + 1; j < J + block && j < s; j++) whole[j * s + i] = whole[i * s + j];
      }
    }
  }
  return whole;
}

static void Spoil(size_t rows, size_t columns, float *Z, size_t ld)
{
  for (size_t j = 0; j < columns; j++) {
    for (size_t i = 0; i < rows; i++) Z[i + j * ld] = NAN;
  }
}

static const void *Hold(size_t s, const void *B)
{
  return s > 0 ? Square(s, B) : NULL;
}

/* So many extents of the long side that a strip has about that many entries */
static size_t Strip(size_t s, size_t l, size_t entries)
{
  const size_t strip = entries / s > LEAST ? entries / s : LEAST;

  return strip < l ? strip : l;
}

/* Each strip adds to the result */
static void Gram(int left, size_t s, size_t l, double a, const void *Y, size_t ldy, double b, void *A)
{
  const float *y = (const float *)Y;
  size_t       strip;
  int          failed;
  uint16_t    *buffer;

  if (s == 0) return;
  if (l == 0) {
    MuonKernelRealSingle.gram(left, s, l, a, Y, ldy, b, A);
    return;
  }
  strip  = Strip(s, l, GRAM);
  buffer = (uint16_t *)Buffer(STRIP, s * strip * sizeof(*buffer));
  failed = buffer == NULL;
  for (size_t k = 0; k < l && !failed; k += strip) {
    const size_t length = l - k < strip ? l - k : strip;

    /* s x l by columns is l x s by rows */
    if (left) failed = Round(length, s, y + k * ldy, ldy, buffer);
    else failed = Round(s, length, y + k, ldy, buffer);
    if (!failed) failed = Matmul(s, s, length, a, buffer, left, buffer, !left, k == 0 ? b : 1.0, (float *)A);
  }
  if (failed) Spoil(s, s, (float *)A, s);
}

static void Multiply(int left, size_t s, size_t l, double a, const void *B, const void *held, const void *Y, size_t ldy, double b, void *Z, size_t ldz)
{
  const uint16_t *whole = (const uint16_t *)held;
  const float    *y     = (const float *)Y;
  float          *z = (float *)Z, *result = NULL;
  size_t          strip;
  int             failed, padded;
  uint16_t       *buffer;

  if (s == 0 || l == 0) return;
  strip  = Strip(s, l, MULTIPLY);
  padded = left ? ldz != s : ldz != strip;
  buffer = (uint16_t *)Buffer(STRIP, s * strip * sizeof(*buffer));
  if (padded) result = (float *)Buffer(RESULT, s * strip * sizeof(*result));
  if (whole == NULL) whole = Square(s, B);
  failed = buffer == NULL || (padded && result == NULL) || whole == NULL;
  for (size_t k = 0; k < l && !failed; k += strip) {
    const size_t length = l - k < strip ? l - k : strip, rows = left ? length : s, columns = left ? s : length;
    float       *to = left ? z + k * ldz : z + k;

    failed = Round(rows, columns, left ? y + k * ldy : y + k, ldy, buffer);
    if (!failed) failed = Matmul(rows, columns, s, padded ? 1.0 : a, left ? buffer : whole, 0, left ? whole : buffer, 0, padded ? 0.0 : b, padded ? result : to);
    for (size_t i = 0; i < rows && padded && !failed; i++) {
      const float *from = result + i * columns;
      float       *row = to + i * ldz, alpha = (float)a, beta = (float)b;

      if (b == 0.0) {
        for (size_t j = 0; j < columns; j++) row[j] = alpha * from[j];
      } else {
        for (size_t j = 0; j < columns; j++) row[j] = alpha * from[j] + beta * row[j];
      }
    }
  }
  if (failed) Spoil(left ? s : l, left ? l : s, z, ldz);
}

static void Product(size_t s, double a, const void *A, const void *B, double b, void *C)
{
  uint16_t *left, *right;

  if (s == 0) return;
  left  = (uint16_t *)Buffer(STRIP, s * s * sizeof(*left));
  right = (uint16_t *)Buffer(SQUARE, s * s * sizeof(*right));
  if (left == NULL || right == NULL || Round(s, s, (const float *)A, s, left) || Round(s, s, (const float *)B, s, right) || Matmul(s, s, s, a, left, 0, right, 0, b, (float *)C)) Spoil(s, s, (float *)C, s);
}

/*
   Where the processor has no such products, there is none, or one by oneDNN's reference code, slower than
   those of binary32 by far
*/
int MuonKernelBF16Usable(void)
{
  enum {
    SIDE = 64
  };
  float Y[SIDE * SIDE] = {3}, A[SIDE * SIDE];
  int   found          = 0;

  Gram(1, SIDE, SIDE, 1.0, Y, SIDE, 0.0, A);
  for (int i = 0; i < CACHE; i++) found = found || (bf16.entry[i].key.kind == MATMUL && bf16.entry[i].used == bf16.clock && !bf16.entry[i].reference);
  return found && A[0] == 9.0f;
}

size_t MuonKernelBF16Bytes(void)
{
  return bf16.bytes[STRIP] + bf16.bytes[SQUARE] + bf16.bytes[RESULT];
}

void MuonKernelBF16Free(void)
{
  for (int i = 0; i < CACHE; i++) EntryDestroy(&bf16.entry[i]);
  for (int i = 0; i < BUFFERS; i++) free(bf16.buffer[i]);
  if (bf16.started) {
    (void)dnnl_stream_destroy(bf16.stream);
    (void)dnnl_engine_destroy(bf16.engine);
  }
  memset(&bf16, 0, sizeof(bf16));
}

/* Products alone are rounded */
  #define DENSE_BF16(type, member, name, arguments) Of##name,
  #define OfLoad                                    MuonDenseLoadSingle
  #define OfStore                                   MuonDenseStoreSingle
  #define OfGram                                    Gram
  #define OfMultiply                                Multiply
  #define OfMirror                                  MuonDenseMirrorSingle
  #define OfProduct                                 Product
  #define OfHold                                    Hold
  #define OfRowSums                                 MuonDenseRowSumsSingle
  #define OfScale                                   MuonDenseScaleSingle
  #define OfShift                                   MuonDenseShiftSingle
  #define OfIdentity                                MuonDenseIdentitySingle
  #define OfCholesky                                MuonDenseCholeskySingle
  #define OfInvert                                  MuonDenseInvertSingle
  #define OfSolve                                   MuonDenseSolveSingle
  #define OfTimes                                   MuonDenseTimesSingle
  #define OfDistance                                MuonDenseDistanceSingle
  #define OfTrace                                   MuonDenseTraceSingle
  #define OfDecompose                               MuonDenseDecomposeSingle

static const MuonKernelReal table = {"bf16", sizeof(float), 1.0 / 256.0, MUON_HOST, &MuonKernelsHost[MUON_SINGLE], MUON_DENSE(DENSE_BF16)};

const MuonKernelReal *const MuonKernelRealBF16 = &table;

#else

const MuonKernelReal *const MuonKernelRealBF16 = NULL;

int MuonKernelBF16Usable(void)
{
  return 0;
}

size_t MuonKernelBF16Bytes(void)
{
  return 0;
}

void MuonKernelBF16Free(void) {}
#endif
