/*
   What kernels of a device take: polar factors beside the products of the same library and precision,
   messages beside the memory, one worker's step of EF21. Without PETSc and MPI; tests/benchmarks/gpu.sh
   builds it on a machine that has CUDA and nothing else.

     gpu [tiny] [csv FILE] [PART [NUMBERS]]

   PART is check (kernels beside the host's, the same bits twice), polar, many (48 matrices of one shape),
   list (the matrices of a model), messages, step or all; NUMBERS are bf16, tf32, single or double, all of
   them by default. tiny takes small sizes. Rows are added to FILE as they are measured: part, how, numbers,
   m, n, count, ms, rate, nominal, percent, error. Rates are TFLOP/s that were executed and those of three
   whole products a step, or GB/s of what has to be read and written; the percentage is that of products of
   the same precision, or of a copy, in the same run.
*/
#define _POSIX_C_SOURCE 199309L
#include "gpu_step.h"
#include "kernels/kokkos/muonvendor.h"
#include "kernels/array/muondevicecheck.h"
#include <stdint.h>
#include <time.h>

/* Times of one measure; the least counts */
#define REPETITIONS 7

static int         tiny;
static const char *csv, *numbers;

static double Now(void)
{
  struct timespec now;

  device->fence();
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#define TIME(seconds, ...) \
  do { \
    seconds = 1e30; \
    for (int repetition = 0; repetition <= REPETITIONS; repetition++) { \
      const double start = Now(); \
      double       taken; \
      __VA_ARGS__; \
      taken = Now() - start; \
      if (repetition > 0 && taken < seconds) seconds = taken; \
    } \
  } while (0)

/* Numbers below 0 are left out */
static void Row(const char *part, const char *how, const char *precision, size_t m, size_t n, size_t count, double seconds, double rate, double nominal, double percent, double error)
{
  const double number[5] = {1e3 * seconds, rate, nominal, percent, error};
  FILE        *file      = csv == NULL ? NULL : fopen(csv, "a");

  fflush(stdout);
  if (file == NULL) return;
  fprintf(file, "%s,%s,%s,%zu,%zu,%zu", part, how, precision, m, n, count);
  for (int k = 0; k < 5; k++) {
    if (number[k] < 0) fprintf(file, ",");
    else fprintf(file, ",%.5g", number[k]);
  }
  fprintf(file, "\n");
  fclose(file);
}

static const struct {
  const char          *name;
  MuonVendorArithmetic arithmetic;
} Precisions[] = {{"bf16", MUON_VENDOR_BF16}, {"tf32", MUON_VENDOR_TF32}, {"single", MUON_VENDOR_SINGLE}, {"double", MUON_VENDOR_DOUBLE}};
#define PRECISIONS (sizeof(Precisions) / sizeof(Precisions[0]))

/* NULL where it was not asked for, or the device has none */
static const MuonKernelReal *Precision(size_t p)
{
  return numbers == NULL || strcmp(numbers, Precisions[p].name) == 0 ? MuonKernelRealOfDevice(Precisions[p].name) : NULL;
}

/* A library without Kokkos has none of these, and no device to come here for */
static void Square(size_t p, size_t side, const void *A, void *C)
{
#if defined(PETSCMUON_HAVE_KOKKOS)
  MuonVendorProducts(Precisions[p].arithmetic, 0, 0, side, side, side, 1, A, side, 0, A, side, 0, 0, device->bare(C), side, 0, 1);
#else
  (void)p;
  (void)side;
  (void)A;
  (void)C;
#endif
}

/* Operations a second of products of large square matrices and nothing else, the best of two sizes */
static double Rate(size_t p)
{
  static double         rate[PRECISIONS];
  const MuonKernelReal *real = Precision(p);

  for (int k = rate[p] > 0 ? 2 : 0; k < 2; k++) {
    const size_t side = (size_t)(tiny ? 32 : 4096) << k;
    void        *A = Uniform(real, side * side, 1), *C = Allocated(side * side * real->size);
    const void  *whole = real->hold(side, 1, A);
    double       seconds, now;

    TIME(seconds, Square(p, side, whole, C));
    now = 2.0 * (double)side * (double)side * (double)side / seconds;
    if (now > rate[p]) rate[p] = now;
    printf("%-8s products of %zu x %zu: %.3f TFLOP/s\n", real->name, side, side, 1e-12 * now);
    Row("gemm", "petscmuon", real->name, side, side, 1, seconds, 1e-12 * now, -1, -1, -1);
    device->release(A);
    device->release(C);
  }
  return rate[p];
}

/* Operations of the steps: of whole products, and of those that polar.kokkos.cxx makes, which leaves out blocks of symmetric ones */
static double Operations(size_t m, size_t n, int whole)
{
  const double s = (double)(m < n ? m : n), l = (double)(m < n ? n : m), part = whole || s < 1024 ? 1 : s < 2048 ? 0.75 : 0.625;

  return STEPS * (2 * s * s * l + part * (2 * s * s * l + 2 * s * s * s));
}

static void PrintPolar(const char *how, size_t p, size_t m, size_t n, size_t count, double seconds, double whole, double made, double error)
{
  const double percent = 100 * made / seconds / Rate(p);

  printf("%-8s %5zu %6zu %5zu %10.4f %10.3f %10.3f %6.1f %10.2e  %s\n", Precisions[p].name, m, n, count, 1e3 * seconds, 1e-12 * made / seconds, 1e-12 * whole / seconds, percent, error, how);
  Row(count == 72 ? "list" : "polar", how, Precisions[p].name, m, n, count, seconds, 1e-12 * made / seconds, 1e-12 * whole / seconds, percent, error);
}

static void PrintPolarHead(void)
{
  printf("%-8s %5s %6s %5s %10s %10s %10s %6s %10s\n", "numbers", "m", "n", "count", "ms", "TFLOP/s", "nominal", "% GEMM", "error");
}

/* The largest difference of entries, which NaN makes infinite; R is lost */
static double Difference(MuonPrecision precision, size_t d, const void *Q, void *R)
{
  const MuonKernels *kernels = MuonKernelsGet(precision, MUON_DEVICE);

  kernels->Axpby(d, 1, -1, Q, d, 1, R, d);
  return kernels->MaxAbs(d, 1, R, d);
}

/* From the factor in double, which is the same polynomials */
static double Error(const MuonKernelReal *real, size_t m, size_t n, const void *G)
{
  void  *Q = Allocated(m * n * sizeof(double)), *R = Allocated(m * n * sizeof(double));
  double error;

  NewtonSchulz(real, m, n, MUON_SINGLE, G, MUON_DOUBLE, Q);
  NewtonSchulz(MuonKernelRealOfDevice("double"), m, n, MUON_SINGLE, G, MUON_DOUBLE, R);
  error = Difference(MUON_DOUBLE, m * n, Q, R);
  device->release(Q);
  device->release(R);
  return error;
}

static void MeasurePolar(void)
{
  static const size_t large[][2] = {{768, 768}, {768, 3072}, {3072, 768}, {2048, 2048}, {4096, 4096}, {4096, 16384}}, small[][2] = {{24, 24}, {24, 40}, {40, 24}};
  const size_t        count = tiny ? 3 : 6;

  for (size_t p = 0; p < PRECISIONS; p++) {
    const MuonKernelReal *real = Precision(p);

    if (real == NULL) continue;
    (void)Rate(p);
    PrintPolarHead();
    for (size_t k = 0; k < count; k++) {
      const size_t m = tiny ? small[k][0] : large[k][0], n = tiny ? small[k][1] : large[k][1];
      void        *G = Uniform(MuonKernelRealOfDevice("single"), m * n, 7), *Q = Allocated(m * n * sizeof(float));
      double       seconds;

      TIME(seconds, NewtonSchulz(real, m, n, MUON_SINGLE, G, MUON_SINGLE, Q));
      PrintPolar("petscmuon", p, m, n, 1, seconds, Operations(m, n, 1), Operations(m, n, 0), Error(real, m, n, G));
      device->release(G);
      device->release(Q);
    }
  }
}

/* Factors of so many matrices of one shape, 48 at most, in one call and one by one; norms included, and what comes out is the same polynomials */
static void NewtonSchulzMany(const MuonKernelReal *real, size_t m, size_t n, size_t count, const float *G, float *Q)
{
  const void *from[48];
  void       *to[48];
  StepNorm    of[48];

  for (size_t k = 0; k < count; k++) {
    from[k] = G + k * m * n;
    to[k]   = Q + k * m * n;
    of[k]   = NormOf(m, n, MUON_SINGLE, from[k]);
  }
  NewtonSchulzBatch(real, m, n, count, of, MUON_SINGLE, from, MUON_SINGLE, to);
}

static void NewtonSchulzEach(const MuonKernelReal *real, size_t m, size_t n, size_t count, const float *G, float *Q)
{
  for (size_t k = 0; k < count; k++) NewtonSchulz(real, m, n, MUON_SINGLE, G + k * m * n, MUON_SINGLE, Q + k * m * n);
}

/* Groups of matrices of one shape, each in one call and one by one */
static void MeasureGroups(size_t groups, const size_t shape[][3])
{
  float *G[3], *Q[3], *R[3];
  size_t count = 0;

  for (size_t g = 0; g < groups; g++) {
    const size_t d = shape[g][0] * shape[g][1] * shape[g][2];

    G[g] = (float *)Uniform(MuonKernelRealOfDevice("single"), d, 11);
    Q[g] = (float *)Allocated(d * sizeof(float));
    R[g] = (float *)Allocated(d * sizeof(float));
    count += shape[g][2];
  }
  for (size_t p = 0; p < PRECISIONS; p++) {
    const MuonKernelReal *real = Precision(p);
    const size_t          m = groups == 1 ? shape[0][0] : 0, n = groups == 1 ? shape[0][1] : 0;
    double                together, each, whole = 0, made = 0, error = 0, other = 0;

    if (real == NULL) continue;
    (void)Rate(p);
    TIME(together, for (size_t g = 0; g < groups; g++) NewtonSchulzMany(real, shape[g][0], shape[g][1], shape[g][2], G[g], Q[g]));
    TIME(each, for (size_t g = 0; g < groups; g++) NewtonSchulzEach(real, shape[g][0], shape[g][1], shape[g][2], G[g], R[g]));
    for (size_t g = 0; g < groups; g++) {
      const double difference = Difference(MUON_SINGLE, shape[g][0] * shape[g][1] * shape[g][2], Q[g], R[g]), one = Error(real, shape[g][0], shape[g][1], G[g]);

      other = difference > other ? difference : other;
      error = one > error ? one : error;
      whole += (double)shape[g][2] * Operations(shape[g][0], shape[g][1], 1);
      made += (double)shape[g][2] * Operations(shape[g][0], shape[g][1], 0);
    }
    PrintPolarHead();
    PrintPolar("petscmuon", p, m, n, count, together, whole, made, error);
    PrintPolar("petscmuon one by one", p, m, n, count, each, whole, made, error);
    printf("%-8s difference of the two %.2e\n", real->name, other);
  }
  for (size_t g = 0; g < groups; g++) {
    device->release(G[g]);
    device->release(Q[g]);
    device->release(R[g]);
  }
}

static void MeasureMany(void)
{
  const size_t shape[1][3] = {{tiny ? 24 : 768, tiny ? 40 : 3072, tiny ? 3 : 48}};

  printf("\nmatrices of one shape in one call\n");
  MeasureGroups(1, shape);
}

/* The matrices of GPT-2 with 124 million entries */
static void MeasureList(void)
{
  const size_t by = tiny ? 32 : 1, shape[3][3] = {{768 / by, 768 / by, 48}, {3072 / by, 768 / by, 12}, {768 / by, 3072 / by, 12}};

  printf("\nthe matrices of a model, those of one shape in one call\n");
  MeasureGroups(3, shape);
}

static void MeasureMessages(void)
{
  enum {
    LENGTHLOG = 9
  };
  const MuonKernels     *kernels = MuonKernelsGet(MUON_SINGLE, MUON_DEVICE);
  const MuonKernelReal  *single  = MuonKernelRealOfDevice("single");
  const MuonKernelStream stream  = {1, 2, 3, 4, 0};
  const size_t           m = tiny ? 300 : 8192, n = tiny ? 20 : 8192, d = m * n, count = d / 10, blocks = (d >> LENGTHLOG) + 1;
  const double           bytes = 4.0 * (double)d, kept = 4.0 * (double)count, bit = 0.125 * (double)d;
  void                  *T = Uniform(single, d, 1), *R = Uniform(single, d, 2), *x = Uniform(single, d, 3), *values = Allocated(d * sizeof(float)), *bits = Allocated((d + 63) / 64 * 8), *codes = Allocated(2 * d);
  double                 rate = 0, seconds, sum, *one = (double *)malloc(blocks * sizeof(double)), *scales = (double *)Allocated(blocks * sizeof(double));

  for (size_t k = 0; k < blocks; k++) one[k] = 1;
  device->copy(blocks * sizeof(double), one, scales);
  free(one);
  printf("\n%-24s %10s %10s %10s\n", "kernel", "ms", "GB/s", "% copy");
#define LINE(name, moved, ...) \
  TIME(seconds, __VA_ARGS__); \
  if (rate == 0) rate = (moved) / seconds; \
  printf("%-24s %10.4f %10.1f %10.1f\n", name, 1e3 * seconds, 1e-9 * (moved) / seconds, 100 * (moved) / seconds / rate); \
  Row("message", name, "single", m, n, 1, seconds, 1e-9 * (moved) / seconds, -1, 100 * (moved) / seconds / rate, -1)
  LINE("copy", 2 * bytes, device->copy(d * sizeof(float), T, values));
  LINE("momentum", 3 * bytes, kernels->Momentum(m, n, 0.9, T, m, 0.1, R, m, x, m));
  LINE("topk encode", 2 * bytes + kept + bit, kernels->Top(m, n, T, m, R, m, count, (unsigned char *)bits, values, NULL));
  LINE("topk decode", 3 * kept + bit, kernels->Scatter(m, n, (unsigned char *)bits, 0, d, values, 1, 1, x, m));
  LINE("randk encode", 2 * bytes + kept + bit, kernels->Gather(m, n, T, m, R, m, HUGE_VAL, (unsigned char *)bits, values));
  LINE("natural encode", 1.5 * bytes, kernels->Natural(d, T, &stream, 0, 1, (uint16_t *)codes));
  LINE("natural decode", 1.5 * bytes, kernels->NaturalValues(d, (uint16_t *)codes, x));
  LINE("qsgd encode", 1.25 * bytes, kernels->Quantize(d, T, LENGTHLOG, scales, 15, &stream, 0, (unsigned char *)codes));
  LINE("qsgd decode", 1.25 * bytes, kernels->Dequantize(d, (unsigned char *)codes, 0.1, x));
  LINE("sign encode", 2 * bytes + bit, kernels->Signs(m, n, T, m, R, m, (unsigned char *)bits, NULL, &sum));
  LINE("sign decode", 2 * bytes + bit, kernels->SignsAxpby(m, n, (unsigned char *)bits, NULL, 1, x, m, 0.1, x, m));
#undef LINE
  device->release(T);
  device->release(R);
  device->release(x);
  device->release(values);
  device->release(bits);
  device->release(codes);
  device->release(scales);
}

/* The same model, last the embedding, which AdamW moves */
static void MeasureStep(void)
{
  static const size_t block[6][2] = {{768, 768}, {768, 768}, {768, 768}, {768, 768}, {3072, 768}, {768, 3072}};
  const int           layers = tiny ? 6 : 72, by = tiny ? 32 : 1;
  StepLayer          *layer = (StepLayer *)calloc((size_t)layers + 1, sizeof(*layer));

  for (int l = 0; l < layers; l++) StepLayerCreate(block[l % 6][0] / (size_t)by, block[l % 6][1] / (size_t)by, 0.1, 0, &layer[l]);
  StepLayerCreate(50304 / (size_t)by, 768 / (size_t)by, 0.1, 1, &layer[layers]);
  printf("\nkernels of a worker's step of EF21, ms\n");
  for (size_t p = 0; p < PRECISIONS; p++) {
    const MuonKernelReal *real = Precision(p);
    double                seconds[3];

    if (real == NULL) continue;
    TIME(seconds[0], Step(real, layers, layer));
    TIME(seconds[1], Step(real, 1, layer + layers));
    TIME(seconds[2], Step(real, layers + 1, layer));
    printf("step %-8s %d matrices %.3f, the embedding %.3f, both %.3f\n", real->name, layers, 1e3 * seconds[0], 1e3 * seconds[1], 1e3 * seconds[2]);
    Row("step", "matrices", real->name, 0, 0, (size_t)layers, seconds[0], -1, -1, -1, -1);
    Row("step", "embedding", real->name, layer[layers].m, layer[layers].n, 1, seconds[1], -1, -1, -1, -1);
    Row("step", "both", real->name, 0, 0, (size_t)layers + 1, seconds[2], -1, -1, -1, -1);
  }
  for (int l = 0; l <= layers; l++) StepLayerDestroy(&layer[l]);
  free(layer);
}

/* Two steps, and the weights after them */
static float *Twice(const MuonKernelReal *real, const size_t shape[3][2])
{
  const size_t d[3] = {shape[0][0] * shape[0][1], shape[1][0] * shape[1][1], shape[2][0] * shape[2][1]};
  float       *W = (float *)malloc((d[0] + d[1] + d[2]) * sizeof(*W)), *w = W;
  StepLayer    layer[3];

  for (int l = 0; l < 3; l++) StepLayerCreate(shape[l][0], shape[l][1], 0.1, l == 2, &layer[l]);
  for (int k = 0; k < 2; k++) Step(real, 3, layer);
  for (int l = 0; l < 3; l++) {
    device->copy(d[l] * sizeof(*w), layer[l].W, w);
    w += d[l];
    StepLayerDestroy(&layer[l]);
  }
  return W;
}

static int CheckDevice(void)
{
  const size_t shape[3][2] = {{tiny ? 60 : 1200, tiny ? 40 : 1100}, {tiny ? 24 : 768, tiny ? 40 : 3072}, {tiny ? 500 : 5000, 77}};
  const size_t bytes       = (shape[0][0] * shape[0][1] + shape[1][0] * shape[1][1] + shape[2][0] * shape[2][1]) * sizeof(float);
  char         what[128];

  for (int precision = MUON_SINGLE; precision <= MUON_DOUBLE; precision++) {
    const size_t side = tiny ? 60 : 500;

    if (!MuonKernelDeviceCheck((MuonPrecision)precision, side, side + 7, sizeof(what), what)) {
      printf("device %s: %s differs from the host's\n", device->name, what);
      return 1;
    }
  }
  for (size_t p = 0; p < PRECISIONS; p++) {
    const MuonKernelReal *real = Precision(p);
    float                *first, *second;
    int                   same;

    if (real == NULL) {
      printf("%-8s not here\n", Precisions[p].name);
      continue;
    }
    first  = Twice(real, shape);
    second = Twice(real, shape);
    same   = memcmp(first, second, bytes) == 0;
    free(first);
    free(second);
    if (!same) {
      printf("device %s: two steps in %s have other bits the second time\n", device->name, real->name);
      return 1;
    }
  }
  printf("device %s: kernels agree with the host's, and steps have the same bits twice\n", device->name);
  Row("check", device->name, "", 0, 0, 0, -1, -1, -1, -1, 0);
  return 0;
}

static const struct {
  const char *name;
  void (*measure)(void);
} Parts[] = {{"polar", MeasurePolar}, {"many", MeasureMany}, {"list", MeasureList}, {"step", MeasureStep}, {"messages", MeasureMessages}};

int main(int argc, char **argv)
{
  const char *part = "all", *reason;
  int         k    = 1, all;

  if (k < argc && strcmp(argv[k], "tiny") == 0) {
    tiny = 1;
    k++;
  }
  if (k + 1 < argc && strcmp(argv[k], "csv") == 0) {
    csv = argv[k + 1];
    k += 2;
  }
  if (k < argc) part = argv[k++];
  if (k < argc) numbers = argv[k];
  all    = strcmp(part, "all") == 0;
  device = MuonDeviceGet();
  reason = device == NULL ? "built without Kokkos" : device->start();
  if (reason != NULL) {
    printf("no device: %s\n", reason);
    return 1;
  }
  if ((all || strcmp(part, "check") == 0) && CheckDevice() != 0) return 1;
  for (size_t p = 0; p < sizeof(Parts) / sizeof(Parts[0]); p++) {
    if (all || strcmp(part, Parts[p].name) == 0) Parts[p].measure();
  }
  return 0;
}

/*TEST

  link: internal

  test:
    nsize: 0
    requires: kokkos
    args: tiny
    filter: grep -c -e '^device .*kernels agree.*the same bits twice' -e ' [0-9.e+-]*  petscmuon$' -e '^step \(bf16\|tf32\|single\|double\)' -e '^[a-z]* \(en\|de\)code' -e 'difference of the two 0.00e+00$'

TEST*/
