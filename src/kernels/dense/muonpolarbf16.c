#include "muonpolarreal.h"
#include "muonpanels.h"

#if defined(PETSCMUON_HAVE_ONEDNN)
  #include <oneapi/dnnl/dnnl.h>
  #include <math.h>
  #include <stdlib.h>
  #include <string.h>

/*
   oneDNN is row-major: a column-major matrix is its transpose there, and a lower triangle is an upper triangle.

   A primitive is code that oneDNN generates for one shape, in about a millisecond, and keeps in its own cache. Reorders round
   operands into buffers: one for the symmetric s x s operand, one for a strip of the other operand. Products use the matrix
   registers of a processor only for operands and results without padding. Symmetric results are therefore computed as whole
   squares, which is faster than a triangle in parts, and matrices with padding go through a third buffer. A call that fails
   fills its result with NaN, which no method accepts.
*/
enum {
  LEAST    = 256,     /* extents of a strip */
  GRAM     = 4194304, /* entries of a strip along the inner dimension: a long strip keeps the result in the registers */
  MULTIPLY = 1048576  /* entries of a strip along the outer dimension: it fits into the second level of the cache */
};

enum {
  STRIP,
  SQUARE,
  RESULT,
  BUFFERS
};

static struct {
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  int           reference; /* oneDNN has no fast code for the last product */
  void         *buffer[BUFFERS];
  size_t        bytes[BUFFERS];
} bf16;

/* A row-major matrix. ld is the distance of its rows or, if it is transposed, of its columns */
typedef struct {
  size_t           rows, columns, ld;
  int              transposed;
  dnnl_data_type_t type;
  const void      *data;
} Operand;

  /*
     The interface in C differs between the versions 2 and 3 of oneDNN: a memory description became an object, and
     operations have none any more
  */
  #if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t Layout;
    #define DescriptionCreate(description, size, stride, type) dnnl_memory_desc_create_with_strides(description, 2, size, type, stride)
    #define DescriptionOf(description)                         (description)
    #define DescriptionDestroy(description)                    dnnl_memory_desc_destroy(description)
    #define AppendScale(operations, a)                         dnnl_post_ops_append_eltwise(operations, dnnl_eltwise_linear, a, 0.0f)
    #define AppendSum(operations, b)                           dnnl_post_ops_append_sum(operations, b, 0, dnnl_data_type_undef)
    #define MatmulCreate(primitive, layout, attributes)        dnnl_matmul_primitive_desc_create(primitive, bf16.engine, (layout)[0], (layout)[1], NULL, (layout)[2], attributes)
  #else
typedef const dnnl_memory_desc_t *Layout;
    #define DescriptionCreate(description, size, stride, type) dnnl_memory_desc_init_by_strides(description, 2, size, type, stride)
    #define DescriptionOf(description)                         (&(description))
    #define DescriptionDestroy(description)                    dnnl_success
    #define AppendScale(operations, a)                         dnnl_post_ops_append_eltwise(operations, 1.0f, dnnl_eltwise_linear, a, 0.0f)
    #define AppendSum(operations, b)                           dnnl_post_ops_append_sum(operations, b)

static dnnl_status_t MatmulCreate(dnnl_primitive_desc_t *primitive, const Layout layout[], dnnl_primitive_attr_t attributes)
{
  dnnl_matmul_desc_t operation;
  dnnl_status_t      status = dnnl_matmul_desc_init(&operation, layout[0], layout[1], NULL, layout[2]);

  return status != dnnl_success ? status : dnnl_primitive_desc_create(primitive, &operation, attributes, bf16.engine, NULL);
}
  #endif

static int MemoryCreate(const Operand *x, dnnl_memory_t *memory, Layout *layout)
{
  const dnnl_dims_t  size = {(int64_t)x->rows, (int64_t)x->columns}, stride = {x->transposed ? 1 : (int64_t)x->ld, x->transposed ? (int64_t)x->ld : 1};
  dnnl_memory_desc_t description;
  int                failed = DescriptionCreate(&description, size, stride, x->type) != dnnl_success;

  if (failed) return 1;
  failed = dnnl_memory_create(memory, DescriptionOf(description), bf16.engine, (void *)x->data) != dnnl_success;
  (void)DescriptionDestroy(description);
  return failed || dnnl_memory_get_memory_desc(*memory, layout) != dnnl_success;
}

/* The last operand is the result: the first one rounded or, of three, a times the product of two plus b times itself */
static int Run(int count, const Operand x[], float a, float b)
{
  static const int      names[2][3] = {{DNNL_ARG_FROM, DNNL_ARG_TO, 0}, {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST}};
  dnnl_exec_arg_t       argument[3];
  Layout                layout[3];
  dnnl_primitive_attr_t attributes  = NULL;
  dnnl_post_ops_t       operations  = NULL;
  dnnl_primitive_desc_t description = NULL;
  dnnl_primitive_t      primitive   = NULL;
  const char           *name        = "";
  int                   failed      = 0;

  if (bf16.engine == NULL && dnnl_engine_create(&bf16.engine, dnnl_cpu, 0) != dnnl_success) return 1;
  if (bf16.stream == NULL && dnnl_stream_create(&bf16.stream, bf16.engine, dnnl_stream_default_flags) != dnnl_success) return 1;
  for (int i = 0; i < count; i++) {
    argument[i].arg    = names[count - 2][i];
    argument[i].memory = NULL;
    failed             = failed || MemoryCreate(&x[i], &argument[i].memory, &layout[i]);
  }
  if (!failed && count == 2) failed = dnnl_reorder_primitive_desc_create(&description, layout[0], bf16.engine, layout[1], bf16.engine, NULL) != dnnl_success;
  else if (!failed) {
    failed = dnnl_primitive_attr_create(&attributes) != dnnl_success || dnnl_post_ops_create(&operations) != dnnl_success;
    if (!failed && a != 1.0f) failed = AppendScale(operations, a) != dnnl_success;
    if (!failed && b != 0.0f) failed = AppendSum(operations, b) != dnnl_success;
    failed         = failed || dnnl_primitive_attr_set_post_ops(attributes, operations) != dnnl_success || MatmulCreate(&description, layout, attributes) != dnnl_success;
    failed         = failed || dnnl_primitive_desc_query(description, dnnl_query_impl_info_str, 0, (void *)&name) != dnnl_success;
    bf16.reference = strncmp(name, "ref", 3) == 0;
  }
  failed = failed || dnnl_primitive_create(&primitive, description) != dnnl_success;
  failed = failed || dnnl_primitive_execute(primitive, bf16.stream, count, argument) != dnnl_success || dnnl_stream_wait(bf16.stream) != dnnl_success;
  if (primitive != NULL) (void)dnnl_primitive_destroy(primitive);
  if (description != NULL) (void)dnnl_primitive_desc_destroy(description);
  if (operations != NULL) (void)dnnl_post_ops_destroy(operations);
  if (attributes != NULL) (void)dnnl_primitive_attr_destroy(attributes);
  for (int i = 0; i < count; i++) (void)dnnl_memory_destroy(argument[i].memory);
  return failed;
}

/* NULL if there is no memory */
static void *Buffer(int which, size_t bytes)
{
  if (bf16.bytes[which] < bytes) {
    free(bf16.buffer[which]);
    bf16.buffer[which] = malloc(bytes);
    bf16.bytes[which]  = bf16.buffer[which] != NULL ? bytes : 0;
  }
  return bf16.buffer[which];
}

/* to (M x N, row-major without padding) = from, rounded */
static int Round(size_t M, size_t N, const float *from, size_t ld, uint16_t *to)
{
  const Operand x[] = {{M, N, ld, 0, dnnl_f32, from}, {M, N, N, 0, dnnl_bf16, to}};

  return Run(2, x, 1.0f, 0.0f);
}

/* C (M x N) = a op(A) op(B) + b C, all without padding */
static int Matmul(size_t M, size_t N, size_t K, double a, const uint16_t *A, int transa, const uint16_t *B, int transb, double b, float *C)
{
  const Operand x[] = {{M, K, transa ? M : K, transa, dnnl_bf16, A}, {K, N, transb ? K : N, transb, dnnl_bf16, B}, {M, N, N, 0, dnnl_f32, C}};

  if (Run(3, x, (float)a, (float)b)) return 1;
  MuonKernelProgress(2.0 * (double)M * (double)N * (double)K);
  return 0;
}

/* A symmetric operand as a whole matrix from its lower triangle; NULL if that fails */
static const uint16_t *Square(size_t s, const void *B)
{
  const size_t block = 64;
  uint16_t    *whole = (uint16_t *)Buffer(SQUARE, s * s * sizeof(*whole));

  if (whole == NULL || Round(s, s, (const float *)B, s, whole)) return NULL;
  /* Row-major, the triangle is the upper one. The lower one is copied from it by blocks that stay in the cache */
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

static const void *Hold(size_t s, size_t count, const void *B)
{
  return s > 0 ? Square(s, B) : NULL;
}

/* The extent of the long side for a strip with about that many entries */
static size_t Strip(size_t s, size_t l, size_t entries)
{
  const size_t strip = entries / s > LEAST ? entries / s : LEAST;

  return strip < l ? strip : l;
}

/* Each strip adds to the result */
static void Gram(int left, size_t s, size_t l, size_t count, double a, const void *Y, size_t ldy, double b, void *A)
{
  const float *y = (const float *)Y;
  size_t       strip;
  int          failed;
  uint16_t    *buffer;

  if (s == 0) return;
  if (l == 0) {
    MuonKernelRealSingle.gram(left, s, l, count, a, Y, ldy, b, A);
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

static void Multiply(int left, size_t s, size_t l, size_t count, double a, const void *B, const void *held, const void *Y, size_t ldy, double b, void *Z, size_t ldz)
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

static void Product(size_t s, size_t count, double a, const void *A, const void *B, double b, void *C)
{
  uint16_t *left, *right;

  if (s == 0) return;
  left  = (uint16_t *)Buffer(STRIP, s * s * sizeof(*left));
  right = (uint16_t *)Buffer(SQUARE, s * s * sizeof(*right));
  if (left == NULL || right == NULL || Round(s, s, (const float *)A, s, left) || Round(s, s, (const float *)B, s, right) || Matmul(s, s, s, a, left, 0, right, 0, b, (float *)C)) Spoil(s, s, (float *)C, s);
}

/*
   On a processor without such products oneDNN has none, or one by its reference code, which is much slower than products in
   binary32
*/
const MuonKernelReal *MuonKernelRealOfBF16(void)
{
  enum {
    SIDE = 64
  };
  static MuonKernelReal table;
  float                 Y[SIDE * SIDE] = {3}, A[SIDE * SIDE];

  /* Only products are rounded */
  table          = MuonKernelRealSingle;
  table.name     = "bf16";
  table.unit     = 1.0 / 256.0;
  table.gram     = Gram;
  table.multiply = Multiply;
  table.product  = Product;
  table.hold     = Hold;
  Gram(1, SIDE, SIDE, 1, 1.0, Y, SIDE, 0.0, A);
  return A[0] == 9.0f && !bf16.reference ? &table : NULL;
}

void MuonKernelBF16Free(void)
{
  for (int i = 0; i < BUFFERS; i++) free(bf16.buffer[i]);
  if (bf16.stream != NULL) (void)dnnl_stream_destroy(bf16.stream);
  if (bf16.engine != NULL) (void)dnnl_engine_destroy(bf16.engine);
  memset(&bf16, 0, sizeof(bf16));
}

#else

const MuonKernelReal *MuonKernelRealOfBF16(void)
{
  return NULL;
}

void MuonKernelBF16Free(void) {}
#endif
