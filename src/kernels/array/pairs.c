#if !defined(REAL)
/*
   Complex matrices as arrays of pairs, on the host: moduli and phases. This file includes itself once for each
   precision: REAL is the type of an entry, REAL_NAME(name) the name of a function.
*/
  #include "muonentry.h"

  #define TWICE "pairs.c"
  #include "muontwice.h"

void MuonArrayModuli(const MuonArray *Z, const MuonArray *R)
{
  (Z->precision == MUON_SINGLE ? ModuliSingle : ModuliDouble)(R->len, R->count, Z->data, Z->ld, (double *)R->data);
}

void MuonArrayPhases(const MuonArray *R, const MuonArray *Z, const MuonArray *Y)
{
  (Z->precision == MUON_SINGLE ? PhasesSingle : PhasesDouble)(R->len, R->count, (const double *)R->data, Z->data, Z->ld, Y->data, Y->ld);
}

void MuonKernelPairBits(size_t count, const unsigned char *bits, unsigned char *pairs)
{
  memset(pairs, 0, (2 * count + 63) / 64 * 8);
  for (size_t k = 0; k < count; k++) pairs[k / 4] |= (unsigned char)((bits[k / 8] >> k % 8 & 1u) * 3u << 2 * (k % 4));
}

#else

/* In single precision squares and their sum are normal numbers in double */
static double REAL_NAME(Modulus)(REAL x, REAL y)
{
  return sizeof(REAL) == sizeof(float) ? sqrt((double)x * (double)x + (double)y * (double)y) : hypot((double)x, (double)y);
}

MUON_KERNEL_CLONES static void REAL_NAME(Moduli)(size_t m, size_t n, const void *Z, size_t ldz, double *r)
{
  for (size_t j = 0; j < n; j++, r += m) {
    const REAL *z = (const REAL *)Z + j * ldz;

    for (size_t i = 0; i < m; i++) r[i] = REAL_NAME(Modulus)(z[2 * i], z[2 * i + 1]);
  }
}

MUON_KERNEL_CLONES static void REAL_NAME(Phases)(size_t m, size_t n, const double *r, const void *Z, size_t ldz, void *Y, size_t ldy)
{
  for (size_t j = 0; j < n; j++, r += m) {
    const REAL *z = (const REAL *)Z + j * ldz;
    REAL       *y = (REAL *)Y + j * ldy;

    for (size_t i = 0; i < m; i++) {
      const double modulus = REAL_NAME(Modulus)(z[2 * i], z[2 * i + 1]), x = (double)z[2 * i], w = (double)z[2 * i + 1];

      y[2 * i]     = (REAL)(modulus > 0.0 ? r[i] * (x / modulus) : 0.0);
      y[2 * i + 1] = (REAL)(modulus > 0.0 ? r[i] * (w / modulus) : 0.0);
    }
  }
}
#endif
