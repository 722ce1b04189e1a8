/*
   What kernels of a device take: polar factors beside the products of the same library and precision, selections beside the memory, one worker's step of EF21. Without PETSc and MPI; tests/benchmarks/gpu.sh builds it on a machine
   that has CUDA and nothing else.

     gpu        the sizes of the README
     gpu tiny   a few entries of everything
*/
#define _POSIX_C_SOURCE 199309L
#include "gpu_step.h"
#include "muondevicecheck.h"
#include <stdint.h>
#include <time.h>

/* Times of one measure; the least counts */
#define REPETITIONS 5

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
      __VA_ARGS__; \
      if (repetition > 0 && Now() - start < seconds) seconds = Now() - start; \
    } \
  } while (0)

static const char *const Precisions[] = {"bf16", "tf32", "single", "double"};

/* Operations a second of products of side x side matrices */
static double Rate(const MuonKernelReal *real, size_t side)
{
  void       *A = Uniform(real, side * side, 1), *B = Uniform(real, side * side, 2), *C = Uniform(real, side * side, 3);
  const void *held = real->hold(side, A);
  double      seconds;

  TIME(seconds, real->multiply(1, side, side, 1, A, held, B, side, 0, C, side));
  device->release(A);
  device->release(B);
  device->release(C);
  return 2.0 * (double)side * (double)side * (double)side / seconds;
}

/* The largest difference of a factor from that in double, which is the same polynomials */
static double Error(const MuonKernelReal *real, size_t m, size_t n, const void *G)
{
  const size_t bytes = m * n * sizeof(double);
  double      *x = (double *)malloc(bytes), *y = (double *)malloc(bytes), most = 0;
  void        *Q = Allocated(bytes);

  NewtonSchulz(real, m, n, MUON_SINGLE, G, MUON_DOUBLE, Q);
  device->copy(bytes, Q, x);
  NewtonSchulz(MuonKernelRealOfDevice("double"), m, n, MUON_SINGLE, G, MUON_DOUBLE, Q);
  device->copy(bytes, Q, y);
  for (size_t k = 0; k < m * n; k++) most = fabs(x[k] - y[k]) > most ? fabs(x[k] - y[k]) : most;
  device->release(Q);
  free(x);
  free(y);
  return most;
}

static void MeasurePolar(int tiny)
{
  static const size_t large[][2] = {{768, 768}, {768, 3072}, {3072, 768}, {2048, 2048}, {4096, 4096}, {4096, 16384}}, small[][2] = {{24, 24}, {24, 40}, {40, 24}};
  const size_t        count = tiny ? 3 : 6;

  printf("%-8s %5s %6s %10s %10s %10s %6s %10s\n", "numbers", "m", "n", "ms", "TFLOP/s", "nominal", "% GEMM", "error");
  for (size_t p = 0; p < sizeof(Precisions) / sizeof(Precisions[0]); p++) {
    const MuonKernelReal *real = MuonKernelRealOfDevice(Precisions[p]);
    double                rate;

    if (real == NULL) {
      printf("%-8s this device has none\n", Precisions[p]);
      continue;
    }
    rate = Rate(real, tiny ? 64 : 4096);
    for (size_t k = 0; k < count; k++) {
      const size_t m = tiny ? small[k][0] : large[k][0], n = tiny ? small[k][1] : large[k][1];
      const double s = (double)(m < n ? m : n), l = (double)(m < n ? n : m), whole = STEPS * (4 * s * s * l + 2 * s * s * s), made = STEPS * (s * s * l * (s < 1024 ? 4 : 3.5) + s * s * s * (s < 1024 ? 2 : 1.5));
      void        *G = Uniform(MuonKernelRealOfDevice("single"), m * n, 7), *Q = Allocated(m * n * sizeof(float));
      double       seconds;

      TIME(seconds, NewtonSchulz(real, m, n, MUON_SINGLE, G, MUON_SINGLE, Q));
      printf("%-8s %5zu %6zu %10.4f %10.3f %10.3f %6.1f %10.2e\n", real->name, m, n, 1e3 * seconds, 1e-12 * made / seconds, 1e-12 * whole / seconds, 100 * made / seconds / rate, Error(real, m, n, G));
      device->release(G);
      device->release(Q);
    }
  }
}

/* Factors of so many matrices of one shape, in one call and one by one; norms included, and what comes out is the same polynomials */
static void NewtonSchulzMany(const MuonKernelReal *real, size_t m, size_t n, size_t count, const float *G, float *Q)
{
  const MuonKernelPolynomial *p = MuonKernelPolynomialFind("kj");
  const size_t                d = m * n, s = m < n ? m : n, l = m < n ? n : m, panels = count * d * real->size, squares = count * s * s * real->size;
  char                       *Y = (char *)Room(0, panels), *result;
  double                      c[3 * STEPS];

  for (int k = 0; k < STEPS; k++) MuonKernelPolynomialRow(p, k, c + 3 * k);
  for (size_t k = 0; k < count; k++) {
    int          exponent;
    const double norm = MuonKernelsGet(MUON_SINGLE, MUON_DEVICE)->Norm(m, n, G + k * d, m, &exponent);

    real->load(m, n, MUON_SINGLE, G + k * d, m, norm, exponent, Y + k * d * real->size, m);
  }
  result = (char *)real->polynomials(m < n, s, l, count, STEPS, c, NULL, Y, Room(1, panels), Room(2, 2 * squares));
  for (size_t k = 0; k < count; k++) real->store(m, n, 1, result + k * d * real->size, m, MUON_SINGLE, Q + k * d, m);
}

static void NewtonSchulzEach(const MuonKernelReal *real, size_t m, size_t n, size_t count, const float *G, float *Q)
{
  for (size_t k = 0; k < count; k++) NewtonSchulz(real, m, n, MUON_SINGLE, G + k * m * n, MUON_SINGLE, Q + k * m * n);
}

static void MeasureMany(int tiny)
{
  const size_t m = tiny ? 24 : 768, n = tiny ? 40 : 3072, count = tiny ? 3 : 48, d = m * n;
  float       *G = (float *)Uniform(MuonKernelRealOfDevice("single"), count * d, 11), *Q = (float *)Allocated(count * d * sizeof(float)), *R = (float *)Allocated(count * d * sizeof(float));

  printf("\n%zu of %zu x %zu %10s %10s %10s\n", count, m, n, "ms", "one by one", "difference");
  for (size_t p = 0; p < sizeof(Precisions) / sizeof(Precisions[0]); p++) {
    const MuonKernelReal *real = MuonKernelRealOfDevice(Precisions[p]);
    double                together, each;

    if (real == NULL) continue;
    TIME(together, NewtonSchulzMany(real, m, n, count, G, Q));
    TIME(each, NewtonSchulzEach(real, m, n, count, G, R));
    MuonKernelsGet(MUON_SINGLE, MUON_DEVICE)->Axpby(d, count, -1, Q, d, 1, R, d);
    printf("many %-12s %10.4f %10.4f %10.2e\n", real->name, 1e3 * together, 1e3 * each, MuonKernelsGet(MUON_SINGLE, MUON_DEVICE)->MaxAbs(d, count, R, d));
  }
  device->release(G);
  device->release(Q);
  device->release(R);
}

static void MeasureMessages(int tiny)
{
  const MuonKernels     *kernels = MuonKernelsGet(MUON_SINGLE, MUON_DEVICE);
  const MuonKernelReal  *single  = MuonKernelRealOfDevice("single");
  const MuonKernelStream stream  = {1, 2, 3, 4, 0};
  const size_t           m = tiny ? 300 : 4096, n = tiny ? 20 : 4096, d = m * n, count = d / 10;
  const double           bytes = 4.0 * (double)d;
  void                  *T = Uniform(single, d, 1), *R = Uniform(single, d, 2), *x = Allocated(d * sizeof(float)), *kept = Allocated(d * sizeof(float)), *bits = Allocated((d + 63) / 64 * 8), *codes = Allocated(2 * d);
  double                 copy, seconds, sum;

  TIME(copy, kernels->Axpby(m, n, 1, T, m, 0, x, m));
  printf("\n%-24s %10s %10s %10s\n", "kernel", "ms", "GB/s", "% copy");
#define LINE(name, moved, ...) \
  TIME(seconds, __VA_ARGS__); \
  printf("%-24s %10.4f %10.1f %10.1f\n", name, 1e3 * seconds, 1e-9 * (moved) / seconds, 100 * (moved) / seconds / (2 * bytes / copy))
  LINE("copy", 2 * bytes, kernels->Axpby(m, n, 1, T, m, 0, x, m));
  LINE("momentum", 3 * bytes, kernels->Momentum(m, n, 0.9, T, m, 0.1, R, m, x, m));
  LINE("top 10%", 2 * bytes, kernels->Top(m, n, T, m, R, m, count, (unsigned char *)bits, kept, NULL));
  LINE("add top 10%", 0.2 * bytes, kernels->Scatter(m, n, (unsigned char *)bits, 0, d, kept, 1, 1, x, m));
  LINE("natural", 1.5 * bytes, kernels->Natural(d, T, &stream, 0, 1, (uint16_t *)codes));
  LINE("signs", 2 * bytes, kernels->Signs(m, n, T, m, R, m, (unsigned char *)bits, &sum));
#undef LINE
  device->release(T);
  device->release(R);
  device->release(x);
  device->release(kept);
  device->release(bits);
  device->release(codes);
}

/* The matrices of GPT-2 with 124 million entries, and the embedding, whose rule moves each entry by itself: without it here */
static void MeasureStep(int tiny)
{
  static const size_t block[6][2] = {{768, 768}, {768, 768}, {768, 768}, {768, 768}, {3072, 768}, {768, 3072}};
  const int           layers      = tiny ? 3 : 72;
  StepLayer          *layer       = (StepLayer *)calloc((size_t)layers, sizeof(*layer));
  double              seconds;

  for (int l = 0; l < layers; l++) StepLayerCreate(block[l % 6][0] / (tiny ? 32 : 1), block[l % 6][1] / (tiny ? 32 : 1), 0.1, &layer[l]);
  TIME(seconds, Step(MuonKernelRealOfDevice("single"), layers, layer));
  printf("\na step of EF21 with %d matrices, single: %.3f ms\n", layers, 1e3 * seconds);
  for (int l = 0; l < layers; l++) StepLayerDestroy(&layer[l]);
  free(layer);
}

int main(int argc, char **argv)
{
  const int   tiny = argc > 1 && strcmp(argv[1], "tiny") == 0;
  char        what[128];
  const char *reason;

  device = MuonDeviceGet();
  reason = device == NULL ? "built without Kokkos" : device->start();
  if (reason != NULL) {
    printf("no device: %s\n", reason);
    return 0;
  }
  for (int precision = MUON_SINGLE; precision <= MUON_DOUBLE; precision++) {
    const size_t side = tiny ? 60 : 500;

    if (!MuonKernelDeviceCheck((MuonPrecision)precision, side, side + 7, sizeof(what), what)) {
      fprintf(stderr, "%s differs from the host's\n", what);
      return 1;
    }
  }
  printf("device %s: kernels agree with the host's\n\n", device->name);
  MeasurePolar(tiny);
  MeasureMany(tiny);
  MeasureMessages(tiny);
  MeasureStep(tiny);
  return 0;
}

/*TEST

  link: internal

  test:
    nsize: 0
    requires: kokkos
    args: tiny
    filter: grep -c -e '^device .*kernels agree' -e '^bf16' -e '^tf32' -e '^single' -e '^double' -e '^add top' -e '^a step' -e '^many .* 0.00e+00$'

TEST*/
