/*
   Arithmetic of the polar factors in the memory of the device, in four kinds of numbers, for muonpolarreal.h:
   products by the vendor's library, the passes between them here. Matrices are binary32 for bf16 and tf32
   too, whose operands are rounded as they are multiplied: the same numbers as on the host.

   Products with a symmetric result are made as blocks of its lower triangle: of 2 x 2 blocks three, and two
   of these in the same way, which is 5/8 of the work. No call waits for the device.
*/
#include "muonkokkos.hpp"
#include "muonvendor.h"
#include "../dense/muonpolarreal.h"
#include <algorithm>

namespace muon {

namespace {

/* Blocks whose products keep a GPU busy, and how often they are halved */
constexpr size_t LeastBlock = 512;
constexpr int    Halvings   = 2;

/* Slots of what stays: the symmetric matrix of several products, and a rounded operand */
enum {
  HELD,
  OPERAND
};

/* What a kind of arithmetic multiplies: Stored are the entries of matrices, Operand what products read */
template <class S, class O, MuonVendorArithmetic A> struct Kind {
  using Stored                                     = S;
  using Operand                                    = O;
  static constexpr MuonVendorArithmetic arithmetic = A;
};
using Single = Kind<float, float, MUON_VENDOR_SINGLE>;
using Double = Kind<double, double, MUON_VENDOR_DOUBLE>;
using TF32   = Kind<float, float, MUON_VENDOR_TF32>;
using BF16   = Kind<float, uint16_t, MUON_VENDOR_BF16>;

template <class R> KOKKOS_INLINE_FUNCTION void ToOperand(R x, R *y)
{
  *y = x;
}

/* To nearest even; a NaN stays one */
KOKKOS_INLINE_FUNCTION void ToOperand(float x, uint16_t *y)
{
  const uint32_t bits = Image(x);

  *y = x != x ? (uint16_t)(bits >> 16 | 0x40u) : (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

template <class T> T *Of(const void *data)
{
  return (T *)Raw((char *)data);
}

/* So many matrices, each the stride of entries behind the one before */
struct Many {
  size_t count, a, b, c;
};

/* A panel as an operand: where it is, or rounded and without gaps */
template <class K> const typename K::Operand *Operand(size_t rows, size_t columns, const void *Y, size_t ldy, size_t *ld)
{
  using S = typename K::Stored;
  using O = typename K::Operand;

  *ld = ldy;
  if (sizeof(S) == sizeof(O)) return Of<const O>(Y);
  const S *y = Of<const S>(Y);
  O       *x = (O *)Kept(OPERAND, rows * columns * sizeof(O));
  size_t   m = rows, n = columns;

  *ld = rows;
  Flatten(&m, &n, ldy, ldy, ldy);
  Each(
    "Operand", m * n, KOKKOS_LAMBDA(const int64_t e) { ToOperand(y[At(m, ldy, e)], &x[e]); });
  return x;
}

template <class K> void Products(int transa, int transb, size_t m, size_t n, size_t k, double a, const void *A, size_t lda, const void *B, size_t ldb, double b, void *C, size_t ldc, const Many &many)
{
  Tell("Products");
  MuonVendorProducts(K::arithmetic, transa, transb, m, n, k, a, A, lda, many.a, B, ldb, many.b, b, C, ldc, many.c, many.count);
}

/*
   The lower triangle of C = a A B + b C, from the diagonal on of its rows first ... first + s - 1: A is s x k
   or, transposed, k x s; what is above the diagonal in blocks may be overwritten
*/
template <class K>
void Lower(int halvings, int transa, int transb, size_t first, size_t s, size_t k, double a, const typename K::Operand *A, size_t lda, const typename K::Operand *B, size_t ldb, double b, typename K::Stored *C, size_t ldc, const Many &many)
{
  const size_t half = s / 2, rowa = transa ? lda : 1, columnb = transb ? 1 : ldb;

  if (halvings == 0 || s < 2 * LeastBlock) Products<K>(transa, transb, s, s, k, a, A + first * rowa, lda, B + first * columnb, ldb, b, C + first * (ldc + 1), ldc, many);
  else {
    Lower<K>(halvings - 1, transa, transb, first, half, k, a, A, lda, B, ldb, b, C, ldc, many);
    Lower<K>(halvings - 1, transa, transb, first + half, s - half, k, a, A, lda, B, ldb, b, C, ldc, many);
    Products<K>(transa, transb, s - half, half, k, a, A + (first + half) * rowa, lda, B + first * columnb, ldb, b, C + first * ldc + first + half, ldc, many);
  }
}

template <class S, class G> void LoadFrom(size_t m, size_t n, const void *data, size_t ldg, double f0, double f1, double inverse, S *y, size_t ldy)
{
  Flatten(&m, &n, ldg, ldy, ldy);
  const Lines<const G> sg(NULL, Reads, data, m, n, ldg); /* vectors come from the host */
  const G             *g = sg.get();

  Each(
    "Load", m * n, KOKKOS_LAMBDA(const int64_t e) { y[At(m, ldy, e)] = (S)(g[At(m, ldg, e)] * f0 * f1 * inverse); });
}

template <class K> void Load(size_t m, size_t n, MuonPrecision precision, const void *G, size_t ldg, double norm, int exponent, void *Y, size_t ldy)
{
  using S = typename K::Stored;
  double f[2];

  PowerOfTwo(exponent, f);
  if (precision == MUON_SINGLE) LoadFrom<S, float>(m, n, G, ldg, f[0], f[1], 1.0 / norm, Of<S>(Y), ldy);
  else LoadFrom<S, double>(m, n, G, ldg, f[0], f[1], 1.0 / norm, Of<S>(Y), ldy);
}

template <class S, class Q> void StoreTo(size_t m, size_t n, double scale, const S *y, size_t ldy, void *data, size_t ldq)
{
  Flatten(&m, &n, ldy, ldq, ldq);
  const Lines<Q> sq(NULL, Writes, data, m, n, ldq); /* and go there */
  Q             *q = sq.get();

  Each(
    "Store", m * n, KOKKOS_LAMBDA(const int64_t e) { q[At(m, ldq, e)] = (Q)(scale * y[At(m, ldy, e)]); });
}

template <class K> void Store(size_t m, size_t n, double scale, const void *Y, size_t ldy, MuonPrecision precision, void *Q, size_t ldq)
{
  using S = typename K::Stored;
  if (precision == MUON_SINGLE) StoreTo<S, float>(m, n, scale, Of<const S>(Y), ldy, Q, ldq);
  else StoreTo<S, double>(m, n, scale, Of<const S>(Y), ldy, Q, ldq);
}

/* Several panels, or matrices, have no gaps */
template <class K> void Gram(int left, size_t s, size_t l, size_t count, double a, const void *Y, size_t ldy, double b, void *A)
{
  size_t                     ld;
  const typename K::Operand *y = Operand<K>(left ? s : l, count * (left ? l : s), Y, ldy, &ld);

  if (s > 0) Lower<K>(Halvings, !left, left, 0, s, l, a, y, ld, y, ld, b, Of<typename K::Stored>(A), s, Many{count, s * l, s * l, s * s});
}

/* From the lower triangle */
template <class K> const void *Hold(size_t s, size_t count, const void *B)
{
  using O                         = typename K::Operand;
  const typename K::Stored *b     = Of<const typename K::Stored>(B);
  O                        *whole = (O *)Kept(HELD, count * s * s * sizeof(O));

  Each(
    "Hold", count * s * s, KOKKOS_LAMBDA(const int64_t e) {
      const size_t at = (size_t)e % (s * s), j = at / s, i = at - j * s;

      ToOperand(b[i < j ? (size_t)e - at + i * s + j : (size_t)e], &whole[e]);
    });
  return whole;
}

template <class K> void Multiply(int left, size_t s, size_t l, size_t count, double a, const void *B, const void *held, const void *Y, size_t ldy, double b, void *Z, size_t ldz)
{
  const void                *whole = held != NULL ? held : Hold<K>(s, count, B);
  size_t                     ld;
  const typename K::Operand *y = Operand<K>(left ? s : l, count * (left ? l : s), Y, ldy, &ld);

  if (s == 0 || l == 0) return;
  if (left) Products<K>(0, 0, s, l, s, a, whole, s, y, ld, b, Raw((char *)Z), ldz, Many{count, s * s, s * l, s * l});
  else Products<K>(0, 0, l, s, s, a, y, ld, whole, s, b, Raw((char *)Z), ldz, Many{count, s * l, s * s, s * l});
}

template <class K> void Mirror(size_t s, size_t count, void *A)
{
  typename K::Stored *a = Of<typename K::Stored>(A);

  Each(
    "Mirror", count * s * s, KOKKOS_LAMBDA(const int64_t e) {
      const size_t at = (size_t)e % (s * s), j = at / s, i = at - j * s;

      if (i < j) a[e] = a[(size_t)e - at + i * s + j];
    });
}

template <class K> void Product(size_t s, size_t count, double a, const void *A, const void *B, double b, void *C)
{
  using O = typename K::Operand;
  size_t   ld;
  const O *x = Operand<K>(s, count * s, A, s, &ld), *y = A == B ? x : (const O *)Hold<K>(s, count, B);

  if (s > 0) Lower<K>(Halvings, 0, 0, 0, s, s, a, x, s, y, s, b, Of<typename K::Stored>(C), s, Many{count, s * s, s * s, s * s});
}

template <class K> void RowSums(size_t s, const void *A, double *sums)
{
  const Staged<double>      ss(Writes, sums, s);
  const typename K::Stored *a   = Of<const typename K::Stored>(A);
  double                   *sum = ss.get();

  Each(
    "RowSums", s, KOKKOS_LAMBDA(const int64_t i) {
      double total = 0;

      for (size_t j = 0; j < s; j++) total += fabs((double)a[j <= (size_t)i ? j * s + (size_t)i : (size_t)i * s + j]);
      sum[i] = total;
    });
}

template <class K> void Scale(int left, size_t s, size_t l, const double *d, void *Y, size_t ldy)
{
  const Staged<const double> sd(Reads, d, s);
  const double              *f    = sd.get();
  typename K::Stored        *y    = Of<typename K::Stored>(Y);
  const size_t               rows = left ? s : l;

  Each(
    "Scale", s * l, KOKKOS_LAMBDA(const int64_t e) {
      const size_t        j = (size_t)e / rows, i = (size_t)e - j * rows;
      typename K::Stored &to = y[j * ldy + i];

      to = (typename K::Stored)(f[left ? i : j] * to);
    });
}

template <class K> void Shift(size_t s, size_t count, double shift, void *A)
{
  typename K::Stored      *a  = Of<typename K::Stored>(A);
  const typename K::Stored by = (typename K::Stored)shift;

  Each(
    "Shift", count * s, KOKKOS_LAMBDA(const int64_t e) { a[(size_t)e / s * s * s + (size_t)e % s * (s + 1)] += by; });
}

template <class K> void Combine(size_t s, double x, const void *A, double y, void *B, double z)
{
  using S    = typename K::Stored;
  const S *a = Of<const S>(A);
  S       *b = Of<S>(B);

  Each(
    "Combine", s * s, KOKKOS_LAMBDA(const int64_t e) { b[e] = (S)(x * a[e] + (y == 0 ? 0 : y * b[e]) + ((size_t)e % (s + 1) == 0 ? z : 0)); });
}

template <class K> void Identity(size_t s, double a, void *A)
{
  MuonDeviceKokkos()->zero(s * s * sizeof(typename K::Stored), A);
  Shift<K>(s, 1, a, A);
}

/* The vendor's factorizations */
template <class K> const MuonVendorFactors *Vendor(const char *call)
{
  Tell(call);
  return MuonVendorGet(PrecisionOf<typename K::Stored>());
}

template <class K> int Decompose(size_t m, size_t n, void *A, void *S, void *U, void *V)
{
  return Vendor<K>("Decompose")->decompose(m, n, Of<char>(A), Of<char>(S), Of<char>(U), Of<char>(V));
}

template <class K> int Cholesky(size_t s, void *A)
{
  return s > 0 ? Vendor<K>("Cholesky")->cholesky(s, Of<char>(A)) : 0;
}

template <class K> int Inverse(size_t s, void *A)
{
  return s > 0 ? Vendor<K>("Inverse")->inverse(s, Of<char>(A)) : 0;
}

template <class K> void Solve(int left, int transposed, size_t s, size_t l, const void *L, void *Y, size_t ldy)
{
  if (s > 0 && l > 0) Vendor<K>("Solve")->solve(left, transposed, s, l, Of<char>(L), Of<char>(Y), ldy);
}

template <class K> void Times(int left, int transposed, size_t s, size_t l, const void *L, void *Y, size_t ldy)
{
  if (s > 0 && l > 0) Vendor<K>("Times")->times(left, transposed, s, l, Of<char>(L), Of<char>(Y), ldy);
}

template <class K> double Distance(size_t s, const void *A, double scale)
{
  const typename K::Stored *a = Of<const typename K::Stored>(A);

  return sqrt(Sum(
    "Distance", s, s, KOKKOS_LAMBDA(const size_t j, const size_t i) {
      const double x = i < j ? 0 : a[j * s + i] / scale - (i == j ? 1.0 : 0.0);

      return i == j ? x * x : 2 * x * x;
    }));
}

template <class K> double Trace(size_t s, const void *A)
{
  const typename K::Stored *a = Of<const typename K::Stored>(A);

  return Sum(
    "Trace", s, 1, KOKKOS_LAMBDA(const size_t, const size_t i) { return (double)a[i * (s + 1)]; });
}

template <class K> double Bound(size_t s, void *A, double *rows)
{
  double most = 0;

  Mirror<K>(s, 1, A);
  RowSums<K>(s, A, rows);
  for (size_t i = 0; i < s; i++) most = rows[i] > most ? rows[i] : most;
  return std::min(most, sqrt(MuonDeviceKokkos()->kernels[PrecisionOf<typename K::Stored>()].SumSquares(s, s, A, s)));
}

template <class K> void Normal(int left, size_t s, size_t l, double x, const void *Y, size_t ldy, const void *v, void *u)
{
  using R = typename K::Stored;
  R *w    = (R *)Kept(OPERAND, l * sizeof(R));

  MuonVendorGet(PrecisionOf<R>())->multiply(left, 0, l, 1, s, 1.0, Of<const R>(Y), ldy, Of<const R>(v), s, 0.0, w, l);
  MuonVendorGet(PrecisionOf<R>())->multiply(!left, 0, s, 1, l, x * x, Of<const R>(Y), ldy, w, l, 0.0, Of<R>(u), s);
}

#define DENSE_DEVICE(type, member, name, arguments) name<K>,
#define DENSE_NONE(type, member, name, arguments)   NULL,
template <class K> const MuonKernelReal *Table(const char *name, double unit)
{
  using S                           = typename K::Stored;
  static const MuonKernelReal table = {name, sizeof(S), unit, MUON_DEVICE, &MuonDeviceKokkos()->kernels[PrecisionOf<S>()], 1, MUON_DENSE(DENSE_DEVICE) MUON_DENSE_HOST(DENSE_NONE)};

  return Start() == NULL && MuonVendorHas(K::arithmetic) ? &table : NULL;
}

} // namespace

} // namespace muon

extern "C" const MuonKernelReal *MuonKernelRealOfDevice(const char *name)
{
  if (strcmp(name, "single") == 0) return muon::Table<muon::Single>("single", 1.0 / 16777216.0);
  if (strcmp(name, "double") == 0) return muon::Table<muon::Double>("double", 1.0 / 9007199254740992.0);
  if (strcmp(name, "tf32") == 0) return muon::Table<muon::TF32>("tf32", 1.0 / 2048.0);
  return strcmp(name, "bf16") == 0 ? muon::Table<muon::BF16>("bf16", 1.0 / 256.0) : NULL;
}
