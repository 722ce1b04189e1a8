/*
   cuBLAS and cuSOLVER behind muonvendor.h. It needs CUDA and nothing of Kokkos.

   There is one handle of each library in a process, with a workspace of its own and of constant size, so that
   the same call has the same bits. Calls are queued on the stream and do not wait; those that give LAPACK's
   info do. The caller waits for a stream before it sets another one: workspace and scratch memory are the same. An error of
   these libraries ends the program with the name of the call.
*/
#include "muonvendor.h"
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusolverDn.h>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr size_t Workspace = (size_t)32 << 20;

cublasHandle_t     blas      = NULL;
cusolverDnHandle_t solver    = NULL;
cudaStream_t       stream    = NULL;
void              *workspace = NULL, *scratch = NULL;
size_t             scratched = 0;
int               *info      = NULL;

void Check(bool right, const char *call, int status)
{
  if (right) return;
  std::fprintf(stderr, "PetscMuon: %s ended with status %d\n", call, status);
  std::abort();
}

#define CUDA(call) \
  do { \
    const cudaError_t status_ = call; \
    Check(status_ == cudaSuccess, #call, (int)status_); \
  } while (0)
#define BLAS(call) \
  do { \
    const cublasStatus_t status_ = call; \
    Check(status_ == CUBLAS_STATUS_SUCCESS, #call, (int)status_); \
  } while (0)
#define SOLVER(call) \
  do { \
    const cusolverStatus_t status_ = call; \
    Check(status_ == CUSOLVER_STATUS_SUCCESS, #call, (int)status_); \
  } while (0)

void Start()
{
  if (blas != NULL) return;
  BLAS(cublasCreate(&blas));
  SOLVER(cusolverDnCreate(&solver));
  CUDA(cudaMalloc(&workspace, Workspace));
  CUDA(cudaMalloc((void **)&info, sizeof(*info)));
  BLAS(cublasSetStream(blas, stream));
  BLAS(cublasSetWorkspace(blas, workspace, Workspace));
  SOLVER(cusolverDnSetStream(solver, stream));
}

/* Grows only */
void *Scratch(size_t bytes)
{
  if (bytes > scratched) {
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaFree(scratch));
    CUDA(cudaMalloc(&scratch, bytes));
    scratched = bytes;
  }
  return scratch;
}

int Info()
{
  int result;

  CUDA(cudaMemcpyAsync(&result, info, sizeof(result), cudaMemcpyDeviceToHost, stream));
  CUDA(cudaStreamSynchronize(stream));
  return result;
}

cublasOperation_t Op(int transposed)
{
  return transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

/* The libraries' names for both precisions */
template <class R> struct Calls;
#define CALLS(R, X) \
  template <> struct Calls<R> { \
    static constexpr auto GeqrfSize  = cusolverDn##X##geqrf_bufferSize; \
    static constexpr auto Geqrf      = cusolverDn##X##geqrf; \
    static constexpr auto OrgqrSize  = cusolverDn##X##orgqr_bufferSize; \
    static constexpr auto Orgqr      = cusolverDn##X##orgqr; \
    static constexpr auto GesvdjSize = cusolverDn##X##gesvdj_bufferSize; \
    static constexpr auto Gesvdj     = cusolverDn##X##gesvdj; \
    static constexpr auto PotrfSize  = cusolverDn##X##potrf_bufferSize; \
    static constexpr auto Potrf      = cusolverDn##X##potrf; \
    static constexpr auto PotriSize  = cusolverDn##X##potri_bufferSize; \
    static constexpr auto Potri      = cusolverDn##X##potri; \
    static constexpr auto Trsm       = cublas##X##trsm; \
    static constexpr auto Trmm       = cublas##X##trmm; \
  }
CALLS(float, S);
CALLS(double, D);

template <class R> int Factor(size_t m, size_t n, R *A, size_t lda)
{
  int form, make;
  R  *tau;

  Start();
  SOLVER(Calls<R>::GeqrfSize(solver, (int)m, (int)n, A, (int)lda, &form));
  SOLVER(Calls<R>::OrgqrSize(solver, (int)m, (int)n, (int)n, A, (int)lda, A, &make));
  tau = (R *)Scratch((n + (size_t)(form > make ? form : make)) * sizeof(R));
  SOLVER(Calls<R>::Geqrf(solver, (int)m, (int)n, A, (int)lda, tau, tau + n, form, info));
  /* Its info tells of arguments alone, which its status does too */
  SOLVER(Calls<R>::Orgqr(solver, (int)m, (int)n, (int)n, A, (int)lda, tau, tau + n, make, info));
  return Info();
}

/* One-sided Jacobi, which is accurate and takes m >= n */
template <class R> int SVD(size_t m, size_t n, R *A, size_t lda, R *S, R *U, R *V)
{
  gesvdjInfo_t parameters;
  int          size;

  Start();
  SOLVER(cusolverDnCreateGesvdjInfo(&parameters));
  SOLVER(Calls<R>::GesvdjSize(solver, CUSOLVER_EIG_MODE_VECTOR, 1, (int)m, (int)n, A, (int)lda, S, U, (int)m, V, (int)n, &size, parameters));
  SOLVER(Calls<R>::Gesvdj(solver, CUSOLVER_EIG_MODE_VECTOR, 1, (int)m, (int)n, A, (int)lda, S, U, (int)m, V, (int)n, (R *)Scratch((size_t)size * sizeof(R)), size, info, parameters));
  size = Info();
  SOLVER(cusolverDnDestroyGesvdjInfo(parameters));
  return size;
}

template <class R> int Decompose(size_t m, size_t n, void *A, void *S, void *U, void *V)
{
  return SVD(m, n, (R *)A, m, (R *)S, (R *)U, (R *)V);
}

template <class R> int Cholesky(size_t n, void *matrix)
{
  R  *A = (R *)matrix;
  int size;

  Start();
  SOLVER(Calls<R>::PotrfSize(solver, CUBLAS_FILL_MODE_LOWER, (int)n, A, (int)n, &size));
  SOLVER(Calls<R>::Potrf(solver, CUBLAS_FILL_MODE_LOWER, (int)n, A, (int)n, (R *)Scratch((size_t)size * sizeof(R)), size, info));
  return Info();
}

template <class R> int Inverse(size_t n, void *matrix)
{
  R  *L    = (R *)matrix;
  int size = Cholesky<R>(n, L);

  if (size != 0) return size;
  SOLVER(Calls<R>::PotriSize(solver, CUBLAS_FILL_MODE_LOWER, (int)n, L, (int)n, &size));
  SOLVER(Calls<R>::Potri(solver, CUBLAS_FILL_MODE_LOWER, (int)n, L, (int)n, (R *)Scratch((size_t)size * sizeof(R)), size, info));
  return Info();
}

/* What multiplies a panel of columns from the left multiplies one of rows, transposed, from the right */
struct Triangle {
  cublasSideMode_t  side;
  cublasOperation_t op;
  int               rows, columns;
};

Triangle Place(int left, int transposed, size_t s, size_t l)
{
  return {left ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT, Op(!transposed == !left), (int)(left ? s : l), (int)(left ? l : s)};
}

template <class R> void Solve(int left, int transposed, size_t s, size_t l, const void *L, void *Y, size_t ldy)
{
  const Triangle t   = Place(left, transposed, s, l);
  const R        one = 1;

  Start();
  BLAS(Calls<R>::Trsm(blas, t.side, CUBLAS_FILL_MODE_LOWER, t.op, CUBLAS_DIAG_NON_UNIT, t.rows, t.columns, &one, (const R *)L, (int)s, (R *)Y, (int)ldy));
}

/* In place, which cuBLAS allows where both pointers and leading dimensions are the same */
template <class R> void Times(int left, int transposed, size_t s, size_t l, const void *L, void *Y, size_t ldy)
{
  const Triangle t   = Place(left, transposed, s, l);
  const R        one = 1;

  Start();
  BLAS(Calls<R>::Trmm(blas, t.side, CUBLAS_FILL_MODE_LOWER, t.op, CUBLAS_DIAG_NON_UNIT, t.rows, t.columns, &one, (const R *)L, (int)s, (R *)Y, (int)ldy, (R *)Y, (int)ldy));
}

/* W^T of V = Z S W^T: gesvdj gives W */
template <class R> __global__ void Transpose(size_t l, const R *W, R *WT)
{
  const size_t e = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

  if (e < l * l) WT[e] = W[e % l * l + e / l];
}

template <class R> int Rotation(size_t n, size_t l, R *V, R *WT, R *S)
{
  R  *size;
  int result;

  CUDA(cudaMallocAsync((void **)&size, (n * l + l * l) * sizeof(R), stream));
  result = SVD(n, l, V, n, S, size, size + n * l);
  Transpose<<<(unsigned)((l * l + 255) / 256), 256, 0, stream>>>(l, size + n * l, WT);
  CUDA(cudaGetLastError());
  CUDA(cudaFreeAsync(size, stream));
  return result;
}

} // namespace

/* A stream that is set takes the workspace from the handle */
void MuonVendorSetStream(void *to)
{
  stream = (cudaStream_t)to;
  if (blas == NULL) return;
  BLAS(cublasSetStream(blas, stream));
  BLAS(cublasSetWorkspace(blas, workspace, Workspace));
  SOLVER(cusolverDnSetStream(solver, stream));
}

void *MuonVendorPin(size_t bytes)
{
  void *data;

  if (cudaHostAlloc(&data, bytes > 0 ? bytes : 1, cudaHostAllocDefault) == cudaSuccess) return data;
  (void)cudaGetLastError();
  return NULL;
}

void MuonVendorUnpin(void *data)
{
  CUDA(cudaFreeHost(data));
}

int MuonVendorHas(MuonVendorArithmetic arithmetic)
{
  int device, major = 0;

  if (cudaGetDevice(&device) != cudaSuccess || cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess) return 0;
  return major >= 8 || arithmetic == MUON_VENDOR_SINGLE || arithmetic == MUON_VENDOR_DOUBLE;
}

void MuonVendorProducts(MuonVendorArithmetic arithmetic, int transa, int transb, size_t m, size_t n, size_t k, double a, const void *A, size_t lda, size_t stridea, const void *B, size_t ldb, size_t strideb, double b, void *C, size_t ldc,
                        size_t stridec, size_t count)
{
  const bool                wide    = arithmetic == MUON_VENDOR_DOUBLE;
  const cudaDataType        operand = arithmetic == MUON_VENDOR_BF16 ? CUDA_R_16BF : wide ? CUDA_R_64F : CUDA_R_32F;
  const cudaDataType        result  = wide ? CUDA_R_64F : CUDA_R_32F;
  const cublasComputeType_t compute = wide ? CUBLAS_COMPUTE_64F : arithmetic == MUON_VENDOR_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  const float               sa = (float)a, sb = (float)b;

  Start();
  BLAS(cublasGemmStridedBatchedEx(blas, Op(transa), Op(transb), (int)m, (int)n, (int)k, wide ? (const void *)&a : &sa, A, operand, (int)lda, (long long)stridea, B, operand, (int)ldb, (long long)strideb, wide ? (const void *)&b : &sb, C, result,
                                  (int)ldc, (long long)stridec, (int)count, compute, CUBLAS_GEMM_DEFAULT));
}

namespace {

template <class R> void Multiply(int transa, int transb, size_t m, size_t n, size_t k, double a, const void *A, size_t lda, const void *B, size_t ldb, double b, void *Y, size_t ldy)
{
  MuonVendorProducts(sizeof(R) == sizeof(float) ? MUON_VENDOR_SINGLE : MUON_VENDOR_DOUBLE, transa, transb, m, n, k, a, A, lda, 0, B, ldb, 0, b, Y, ldy, 0, 1);
}

/* Work is its own */
template <class R> int Orthonormalize(size_t m, size_t l, void *P, size_t *entries, void *work)
{
  *entries = work == NULL ? 1 : *entries;
  return work == NULL ? 0 : Factor(m, l, (R *)P, m);
}

template <class R> int Rotate(size_t n, size_t l, void *V, void *WT, void *S, size_t *entries, void *work)
{
  *entries = work == NULL ? 1 : *entries;
  return work == NULL ? 0 : Rotation(n, l, (R *)V, (R *)WT, (R *)S);
}

template <class R> const MuonVendorFactors *Factors()
{
  static const MuonVendorFactors factors = {Multiply<R>, Orthonormalize<R>, Rotate<R>, Decompose<R>, Cholesky<R>, Inverse<R>, Solve<R>, Times<R>};

  return &factors;
}

} // namespace

const MuonVendorFactors *MuonVendorGet(MuonPrecision precision)
{
  return precision == MUON_SINGLE ? Factors<float>() : Factors<double>();
}
