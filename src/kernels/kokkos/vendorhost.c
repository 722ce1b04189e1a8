/*
   The vendor of a device that is the host: the host's own operations.
*/
#include "muonvendor.h"
#include "../dense/muonpolarreal.h"
#include <stdlib.h>
#include <string.h>

#define FACTORS(name) \
  { \
    MuonKernelMultiply##name, MuonKernelOrthonormalize##name, MuonKernelRotation##name, MuonDenseDecompose##name, MuonDenseCholesky##name, MuonDenseInverse##name, MuonDenseSolve##name, MuonDenseTimes##name \
  }

const MuonVendorFactors *MuonVendorGet(MuonPrecision precision)
{
  static const MuonVendorFactors single = FACTORS(Single), wide = FACTORS(Double);

  return precision == MUON_SINGLE ? &single : &wide;
}

/* To 11 bits, to nearest even: what a tensor core reads of a binary32 */
static float ToTF32(float x)
{
  uint32_t bits;

  memcpy(&bits, &x, sizeof(bits));
  if ((bits & 0x7F800000u) != 0x7F800000u) bits = (bits + 0x0FFFu + (bits >> 13 & 1u)) & 0xFFFFE000u;
  memcpy(&x, &bits, sizeof(x));
  return x;
}

static float FromBF16(uint16_t x)
{
  const uint32_t bits = (uint32_t)x << 16;
  float          y;

  memcpy(&y, &bits, sizeof(y));
  return y;
}

/* The operand in binary32 without gaps, rounded as the arithmetic says */
static float *Rounded(MuonVendorArithmetic arithmetic, size_t rows, size_t columns, const void *A, size_t lda)
{
  float *copy = (float *)malloc((rows * columns + 1) * sizeof(*copy));

  for (size_t j = 0; j < columns && copy != NULL; j++) {
    for (size_t i = 0; i < rows; i++) copy[j * rows + i] = arithmetic == MUON_VENDOR_BF16 ? FromBF16(((const uint16_t *)A)[j * lda + i]) : ToTF32(((const float *)A)[j * lda + i]);
  }
  return copy;
}

void MuonVendorSetStream(void *stream) {}

void *MuonVendorPin(size_t bytes)
{
  return malloc(bytes > 0 ? bytes : 1);
}

void MuonVendorUnpin(void *data)
{
  free(data);
}

int MuonVendorHas(MuonVendorArithmetic arithmetic)
{
  return 1;
}

void MuonVendorProducts(MuonVendorArithmetic arithmetic, int transa, int transb, size_t m, size_t n, size_t k, double a, const void *A, size_t lda, size_t stridea, const void *B, size_t ldb, size_t strideb, double b, void *C, size_t ldc,
                        size_t stridec, size_t count)
{
  const size_t size = arithmetic == MUON_VENDOR_DOUBLE ? sizeof(double) : arithmetic == MUON_VENDOR_BF16 ? sizeof(uint16_t) : sizeof(float), rowsa = transa ? k : m, rowsb = transb ? n : k;

  for (size_t c = 0; c < count; c++) {
    const char *from = (const char *)A + c * stridea * size, *with = (const char *)B + c * strideb * size;

    if (arithmetic == MUON_VENDOR_DOUBLE) MuonVendorGet(MUON_DOUBLE)->multiply(transa, transb, m, n, k, a, from, lda, with, ldb, b, (double *)C + c * stridec, ldc);
    else if (arithmetic == MUON_VENDOR_SINGLE) MuonVendorGet(MUON_SINGLE)->multiply(transa, transb, m, n, k, a, from, lda, with, ldb, b, (float *)C + c * stridec, ldc);
    else {
      float *x = Rounded(arithmetic, rowsa, transa ? m : k, from, lda), *y = Rounded(arithmetic, rowsb, transb ? k : n, with, ldb);

      if (x == NULL || y == NULL) abort();
      MuonVendorGet(MUON_SINGLE)->multiply(transa, transb, m, n, k, a, x, rowsa > 0 ? rowsa : 1, y, rowsb > 0 ? rowsb : 1, b, (float *)C + c * stridec, ldc);
      free(x);
      free(y);
    }
  }
}
