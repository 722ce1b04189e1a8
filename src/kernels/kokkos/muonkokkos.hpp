/*
   What the files of this component share: where pointers point to, scratch memory, loops over entries, sums in the
   host's order.
*/
#pragma once

#include <petscmuon/private/muonkernelsdevice.h>
#include "../codec/muonkernels.h"
#include "../array/muonstretch.h"
#include "muonkokkoscompat.hpp"
#include <cfloat>
#include <cmath>
#include <cstring>
#include <type_traits>

extern "C" const MuonDevice *MuonDeviceKokkos(void);

/* Nobody outside of the library calls these */
#if defined(__GNUC__)
  #pragma GCC visibility push(hidden)
#endif
namespace muon {

using Space = Kokkos::DefaultExecutionSpace;
using Range = Kokkos::RangePolicy<Space, Kokkos::IndexType<int64_t>>;
using Teams = Kokkos::TeamPolicy<Space>;
using Team  = Teams::member_type;

constexpr bool IsHost = Kokkos::SpaceAccessibility<Kokkos::DefaultHostExecutionSpace, Space::memory_space>::accessible;
/* No address of a program has this bit where the device is the host */
constexpr uintptr_t Mark = (uintptr_t)1 << 55;

/* Started if need be; NULL or the reason why it cannot be */
const char *Start();
/* The instance, on the caller's stream, that all kernels run on */
const Space &Instance();
bool         Owns(const void *data);
void         Copy(size_t bytes, const void *from, void *to);
/* To who follows the kernels */
void Tell(const char *kernel);
/* Ends the program unless arrays of the host may be staged */
void CheckStaged(const char *what);

/* A pointer of the device as its kernels use it */
template <class T> T *Raw(T *data)
{
  return IsHost ? (T *)((uintptr_t)data & ~Mark) : data;
}

/* Scratch memory, given back in the opposite order: each depth has a buffer that only grows */
class Scratch {
public:
  explicit Scratch(size_t bytes);
  ~Scratch();
  Scratch(const Scratch &)            = delete;
  Scratch &operator=(const Scratch &) = delete;
  void    *data() const
  {
    return data_;
  }

private:
  void *data_;
};

/*
   One of two buffers that stay between kernels, as these use it; it only grows, and what is in it is lost
   then
*/
void *Kept(int which, size_t bytes);

/*
   What a kernel reads, writes or both: there already, or a copy of what is on the host for as long as this
   lives
*/
enum Use {
  Reads  = 1,
  Writes = 2
};
template <class T> class Staged {
public:
  Staged(int use, const void *data, size_t count, const char *array = NULL) : use_(use), host_(NULL), bytes_(count * sizeof(T)), scratch_(data == NULL || Owns(data) ? 0 : bytes_ + 1)
  {
    if (data == NULL || Owns(data)) raw_ = (T *)Raw((char *)data);
    else {
      if (array != NULL) CheckStaged(array);
      host_ = (void *)data;
      raw_  = (T *)Raw((char *)scratch_.data());
      if ((use & Reads) != 0) Copy(bytes_, host_, scratch_.data());
    }
  }
  ~Staged()
  {
    if (host_ != NULL && (use_ & Writes) != 0) Copy(bytes_, scratch_.data(), host_);
  }
  Staged(const Staged &)            = delete;
  Staged &operator=(const Staged &) = delete;
  T      *get() const
  {
    return raw_;
  }

private:
  int     use_;
  void   *host_;
  size_t  bytes_;
  Scratch scratch_;
  T      *raw_;
};

/* n lines of m entries, ld from one to the next; what lies in gaps stays */
template <class T> class Lines : public Staged<T> {
public:
  Lines(const char *kernel, int use, const void *data, size_t m, size_t n, size_t ld) : Staged<T>((use & Writes) != 0 ? Reads | Writes : use, m * n == 0 ? NULL : data, m * n == 0 ? 0 : (n - 1) * ld + m, kernel) {}
};

/* Where entry e lies, in the order of memory; arrays without gaps are one line */
KOKKOS_INLINE_FUNCTION size_t At(size_t m, size_t ld, size_t e)
{
  return e < m ? e : e / m * ld + e % m;
}

template <class REAL> constexpr MuonPrecision PrecisionOf()
{
  return sizeof(REAL) == sizeof(float) ? MUON_SINGLE : MUON_DOUBLE;
}

template <class F> void Each(const char *kernel, size_t count, const F &f)
{
  Tell(kernel);
  if (count > 0) Kokkos::parallel_for(kernel, Range(Instance(), 0, (int64_t)count), f);
}

template <class F> struct AnyOf {
  F                           f;
  KOKKOS_INLINE_FUNCTION void operator()(const int64_t e, int &any) const
  {
    if (f((size_t)e)) any = 1;
  }
};

/* Whether f() is true of any number below count; it is called once for each of them */
template <class F> bool Any(const char *kernel, size_t count, const F &f)
{
  int any = 0;

  Tell(kernel);
  if (count > 0) Kokkos::parallel_reduce(kernel, Range(Instance(), 0, (int64_t)count), AnyOf<F>{f}, Kokkos::Max<int>(any));
  return any > 0;
}

template <class F> void Run(std::false_type, const char *kernel, size_t count, const F &f, bool &)
{
  Each(kernel, count, f);
}
template <class F> void Run(std::true_type, const char *kernel, size_t count, const F &f, bool &any)
{
  any = Any(kernel, count, f);
}

/* An array that a pass reads, or none */
struct In {
  const void *data;
  size_t      ld;
};

/*
   f(x, z, y, e) for every entry y of an m x n array, x and z being those of two others, 0 where there is
   none, and e its number in the order of memory. Says whether f is true of any where that is asked, which
   makes the host wait
*/
template <bool ask, class REAL, class X, class F> bool Pass(const char *kernel, size_t m, size_t n, const In &X0, const In &Z0, int use, void *Y0, size_t ldy, const F &f)
{
  Flatten(&m, &n, X0.data != NULL ? X0.ld : ldy, Z0.data != NULL ? Z0.ld : ldy, ldy);
  const Lines<const X>    sx(kernel, Reads, X0.data, m, n, X0.ld);
  const Lines<const REAL> sz(kernel, Reads, Z0.data, m, n, Z0.ld);
  const Lines<REAL>       sy(kernel, use, Y0, m, n, ldy);
  const size_t            ldx = X0.ld, ldz = Z0.ld;
  const X                *x   = sx.get();
  const REAL             *z   = sz.get();
  REAL                   *y   = sy.get();
  bool                    any = false;

  Run(
    std::integral_constant<bool, ask>(), kernel, m * n, KOKKOS_LAMBDA(const size_t e)->bool { return f(x != NULL ? x[At(m, ldx, e)] : (X)0, z != NULL ? z[At(m, ldz, e)] : (REAL)0, y[At(m, ldy, e)], e); }, any);
  return any;
}

/*
   Sums as the host forms them: entries of a line in blocks of 1024, each in eight partial sums which are then
   added up in pairs, and one block after the other. term(j, i) is that of entry i of line j
*/
constexpr size_t Block = 1024, Lanes = 8;

template <class F> struct LaneSum {
  F                           term;
  size_t                      m, blocks;
  double                     *lane;
  KOKKOS_INLINE_FUNCTION void operator()(const int64_t t) const
  {
    const size_t b = (size_t)t / Lanes, j = b / blocks, first = (b - j * blocks) * Block, end = first + Block < m ? first + Block : m;
    double       sum = 0;

    for (size_t i = first + (size_t)t % Lanes; i < end; i += Lanes) sum += term(j, i);
    lane[t] = sum;
  }
};
struct FoldLanes {
  const double               *lane;
  double                     *sum;
  KOKKOS_INLINE_FUNCTION void operator()(const int64_t b) const
  {
    const double *s = lane + (size_t)b * Lanes;

    sum[b] = ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
  }
};
/* count sums on the host */
void FetchSums(size_t count, const void *lanes, double *total);

template <class F> double Sum(const char *kernel, size_t m, size_t n, const F &term)
{
  const size_t blocks = (m + Block - 1) / Block, count = blocks * n;
  double       total = 0;
  Scratch      lanes(count * Lanes * sizeof(double) + 1);

  if (count == 0) return 0;
  Each(kernel, count * Lanes, LaneSum<F>{term, m, blocks, (double *)Raw((char *)lanes.data())});
  FetchSums(count, lanes.data(), &total);
  return total;
}

/* The bits of numbers, whose absolute values they order */
template <class REAL> struct Bits;
template <> struct Bits<float> {
  using type                    = uint32_t;
  static constexpr int exponent = 8;
};
template <> struct Bits<double> {
  using type                    = uint64_t;
  static constexpr int exponent = 11;
};

template <class REAL> KOKKOS_INLINE_FUNCTION typename Bits<REAL>::type Image(REAL x)
{
  typename Bits<REAL>::type bits;

  memcpy(&bits, &x, sizeof(bits));
  return bits;
}

template <class REAL> KOKKOS_INLINE_FUNCTION REAL Number(typename Bits<REAL>::type bits)
{
  REAL x;

  memcpy(&x, &bits, sizeof(x));
  return x;
}

template <class REAL> KOKKOS_INLINE_FUNCTION typename Bits<REAL>::type Magnitude(REAL x)
{
  return Image(x) & ((typename Bits<REAL>::type) - 1 >> 1);
}

/* Not less than the number whose magnitude is limit; NaN reaches all */
template <class REAL> KOKKOS_INLINE_FUNCTION bool IsFinite(REAL x)
{
  return Magnitude(x) < (typename Bits<REAL>::type)((((uint64_t)1 << Bits<REAL>::exponent) - 1) << (8 * sizeof(REAL) - 1 - Bits<REAL>::exponent));
}

/* 2^-exponent as the product of two factors: one alone may not be representable */
inline void PowerOfTwo(int exponent, double factor[2])
{
  factor[0] = ldexp(1.0, -(exponent / 2));
  factor[1] = ldexp(1.0, -(exponent - exponent / 2));
}

/* The sum of squares of x f0 f1 */
template <class REAL> double ScaledSumSquares(const char *kernel, size_t m, size_t n, const REAL *x, size_t ldx, double f0, double f1)
{
  return Sum(
    kernel, m, n, KOKKOS_LAMBDA(const size_t j, const size_t i) {
      const double a = x[j * ldx + i] * f0 * f1;

      return a * a;
    });
}

template <class REAL, bool numbers> struct LargestOf {
  const REAL                 *x;
  size_t                      m, ldx;
  KOKKOS_INLINE_FUNCTION void operator()(const int64_t e, uint64_t &most) const
  {
    const REAL     number = x[At(m, ldx, (size_t)e)];
    const uint64_t key    = (uint64_t)Magnitude(number);

    if (key > most && !(numbers && number != number)) most = key;
  }
};

/* numbers: a NaN is none and counts for nothing; else it is the largest of all */
template <class REAL, bool numbers> REAL Most(const char *kernel, size_t m, size_t n, const REAL *x, size_t ldx)
{
  uint64_t most = 0;

  Flatten(&m, &n, ldx, ldx, ldx);
  Tell(kernel);
  if (m * n > 0) Kokkos::parallel_reduce(kernel, Range(Instance(), 0, (int64_t)(m * n)), LargestOf<REAL, numbers>{x, m, ldx}, Kokkos::Max<uint64_t>(most));
  return Number<REAL>((typename Bits<REAL>::type)most);
}

/* Words of 64 bits, LSB first, of which some belong to a string */
KOKKOS_INLINE_FUNCTION uint64_t ReadWord(const unsigned char *bits, size_t w, size_t some)
{
  uint64_t word = 0;

  for (size_t b = 0; 8 * b < some; b++) word |= (uint64_t)bits[8 * w + b] << (8 * b);
  return some < WORD ? word & (((uint64_t)1 << some) - 1) : word;
}

KOKKOS_INLINE_FUNCTION void WriteWord(unsigned char *bits, size_t w, size_t some, uint64_t word)
{
  for (size_t b = 0; 8 * b < some; b++) bits[8 * w + b] = (unsigned char)(word >> (8 * b) & 255u);
}

KOKKOS_INLINE_FUNCTION int Ones(uint64_t word)
{
  word -= word >> 1 & 0x5555555555555555u;
  word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u);
  word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
  return (int)(word * 0x0101010101010101u >> 56);
}

/* The numbers of the words of so many bits, and the bits of one of them */
inline size_t Words(size_t entries)
{
  return (entries + WORD - 1) / WORD;
}
KOKKOS_INLINE_FUNCTION size_t SomeOf(size_t entries, size_t w)
{
  return entries - w * WORD < WORD ? entries - w * WORD : (size_t)WORD;
}

} // namespace muon

/* The kernels by their names, one set for each precision, which device.kokkos.cxx puts into the table */
namespace muon {
#define MUON_KERNEL_TEMPLATE(type, name, arguments) template <class REAL> type name arguments;
MUON_KERNELS_PASSES(MUON_KERNEL_TEMPLATE)
MUON_KERNELS_MESSAGES(MUON_KERNEL_TEMPLATE)
MUON_KERNELS_NORMS(MUON_KERNEL_TEMPLATE)
#undef MUON_KERNEL_TEMPLATE
} // namespace muon

/* At the end of a file of kernels: makes them of the list that it has */
#define MUON_KERNEL_INSTANTIATE(type, name, arguments) \
  template type name<float> arguments; \
  template type name<double> arguments;
