/*
   Products and factors that are the vendor's: cuBLAS and cuSOLVER on a GPU, the BLAS and LAPACK where the
   device is the host. Matrices are by columns, in the memory of the device; pointers are as its kernels use
   them.

   vendorhost.c and vendorcuda.cu have the same functions. The second needs CUDA and nothing else of this
   component.
*/
#pragma once

#include <petscmuon/private/muonarray.h>

MUON_C_BEGIN

/*
   In what numbers a product is computed: operands are rounded to 8 bits (bf16) or 11 (tf32) where they are
   single; sums are single, or double
*/
typedef enum {
  MUON_VENDOR_SINGLE,
  MUON_VENDOR_DOUBLE,
  MUON_VENDOR_TF32,
  MUON_VENDOR_BF16
} MuonVendorArithmetic;

/* The order in which calls are computed: a stream of the back end, NULL for its own */
void MuonVendorSetStream(void *stream);
/* Memory of the host that the device copies fast, NULL where memory is short */
void *MuonVendorPin(size_t bytes);
void  MuonVendorUnpin(void *data);
/* 0 where there is no arithmetic of that kind on this device */
int MuonVendorHas(MuonVendorArithmetic);

/*
   C = a op(A) op(B) + b C for so many matrices, each the stride of entries behind the one before; bf16
   operands are 16 bits wide and C is single
*/
void MuonVendorProducts(MuonVendorArithmetic, int transa, int transb, size_t m, size_t n, size_t k, double a, const void *A, size_t lda, size_t stridea, const void *B, size_t ldb, size_t strideb, double b, void *C, size_t ldc, size_t stridec,
                        size_t count);

/*
   As the kernels and the operations of muonpolarreal.h of these names, on matrices without gaps but where a
   leading dimension is named; *entries is that of the caller's work, which a device may leave alone
*/
typedef struct {
  void (*multiply)(int transa, int transb, size_t m, size_t n, size_t k, double a, const void *A, size_t lda, const void *B, size_t ldb, double b, void *Y, size_t ldy);
  int (*orthonormalize)(size_t m, size_t l, void *P, size_t *entries, void *work);
  int (*rotation)(size_t n, size_t l, void *V, void *WT, void *S, size_t *entries, void *work);
  int (*decompose)(size_t m, size_t n, void *A, void *S, void *U, void *V);
  int (*cholesky)(size_t s, void *A);
  int (*inverse)(size_t s, void *A);
  void (*solve)(int left, int transposed, size_t s, size_t l, const void *L, void *Y, size_t ldy);
  void (*times)(int left, int transposed, size_t s, size_t l, const void *L, void *Y, size_t ldy);
} MuonVendorFactors;

const MuonVendorFactors *MuonVendorGet(MuonPrecision);

MUON_C_END
