#include "muonblas.h"
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
  #include <cpuid.h>
  #define ON_X86
#endif

/* Weak symbols: functions that another BLAS, or a program without OpenMP, does not have */
#if defined(__GNUC__) && defined(__ELF__)
  #pragma weak openblas_get_corename
  #pragma weak openblas_get_num_threads
  #pragma weak omp_get_max_threads
  #pragma weak omp_set_num_threads
MUON_C_BEGIN
extern char *openblas_get_corename(void);
extern int   openblas_get_num_threads(void);
extern int   omp_get_max_threads(void);
extern void  omp_set_num_threads(int);
MUON_C_END
#else
  #define openblas_get_corename    ((char *(*)(void))NULL)
  #define openblas_get_num_threads ((int (*)(void))NULL)
  #define omp_get_max_threads      ((int (*)(void))NULL)
  #define omp_set_num_threads      ((void (*)(int))NULL)
#endif

const char *MuonKernelBLASRemedy(const char core[], int processor, int *bits)
{
  /* The last two of the first line have vectors of 256 bits, but do not multiply and add two of them at once */
  static const char *const names[] = {"Generic",      "Katmai",    "Coppermine", "Northwood",   "Prescott",  "Banias",  "Core2", "Penryn",     "Dunnington",  "Nehalem",   "Atom",     "Nano",       "Athlon",        "Opteron",
                                      "Opteron_SSE3", "Barcelona", "Bobcat",     "Sandybridge", "Bulldozer", "Haswell", "Zen",   "Piledriver", "Steamroller", "Excavator", "SkylakeX", "Cooperlake", "SapphireRapids"};

  *bits = 0;
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    if (strcmp(core, names[i]) == 0) *bits = i < 19 ? 128 : i < 24 ? 256 : 512;
  }
  return *bits == 0 || *bits >= processor ? NULL : processor == 512 ? "SkylakeX" : "Haswell";
}

void MuonKernelBLASGet(MuonKernelBLAS *blas)
{
  const char *set = getenv("OPENBLAS_CORETYPE");

  memset(blas, 0, sizeof(*blas));
#if defined(ON_X86)
  {
    unsigned int a, b, c, d;

    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) blas->processor = 256;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) blas->processor = 512;
    blas->tiles = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 22 & 1) && (d >> 24 & 1);
  }
#endif
  if (openblas_get_corename != NULL) {
    blas->core   = openblas_get_corename();
    blas->remedy = MuonKernelBLASRemedy(blas->core, blas->processor, &blas->bits);
  }
  /* If the user has set it, the kernels are the user's choice */
  if (set != NULL && set[0] != '\0') blas->remedy = NULL;
  blas->onednn = MuonKernelProductsByOneDNN(sizeof(float));
}

static MuonKernelProducts chosen = MUON_PRODUCTS_AUTO;

int MuonKernelProductsSet(MuonKernelProducts products)
{
#if !defined(PETSCMUON_HAVE_ONEDNN)
  if (products == MUON_PRODUCTS_ONEDNN) return 1;
#endif
  chosen = products;
  return 0;
}

int MuonKernelProductsByOneDNN(size_t size)
{
#if defined(PETSCMUON_HAVE_ONEDNN)
  static int narrow = -1;

  if (size != sizeof(float) || chosen == MUON_PRODUCTS_BLAS) return 0;
  if (chosen == MUON_PRODUCTS_AUTO && narrow < 0) {
    MuonKernelBLAS blas;

    narrow = 0;
    MuonKernelBLASGet(&blas);
    narrow = blas.remedy != NULL;
  }
  return chosen == MUON_PRODUCTS_ONEDNN || narrow > 0;
#else
  return 0;
#endif
}

int MuonKernelThreadsBegin(void)
{
  const int threads = omp_get_max_threads != NULL && openblas_get_num_threads != NULL ? omp_get_max_threads() : 0;

  if (threads > 0) omp_set_num_threads(openblas_get_num_threads());
  return threads;
}

void MuonKernelThreadsEnd(int threads)
{
  if (threads > 0) omp_set_num_threads(threads);
}
