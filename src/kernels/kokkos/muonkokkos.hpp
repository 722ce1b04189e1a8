/*
   What the files of this component share: where pointers point to, scratch memory, loops over entries, sums in the
   host's order.
*/
#pragma once

#define MUON_KERNELS_DEVICE
#include "muonkokkoscompat.hpp"
#include <petscmuon/private/muonkernelsdevice.h>
#include "../codec/muonkernels.h"
#include "../array/muonpass.h"
#include <cfloat>
#include <cmath>
#include <cstring>
#include <type_traits>

extern "C" const MuonDevice *MuonDeviceKokkos(void);

/* These are not called from outside of the library */
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
/* Reports the name of a kernel, for traces */
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

/*
   Sums as the host forms them: entries of a line in blocks of 1024, each in eight partial sums which are then
   added up in pairs, and one block after the other. term(j, i) is that of entry i of line j
*/
template <class F> struct LaneSum {
  F                           term;
  size_t                      m, blocks;
  double                     *lane;
  KOKKOS_INLINE_FUNCTION void operator()(const int64_t t) const
  {
    const size_t b = (size_t)t / LANES, j = b / blocks, first = (b - j * blocks) * BLOCK, end = first + BLOCK < m ? first + BLOCK : m;
    double       sum = 0;

    for (size_t i = first + (size_t)t % LANES; i < end; i += LANES) sum += term(j, i);
    lane[t] = sum;
  }
};
struct FoldLanes {
  const double               *lane;
  double                     *sum;
  KOKKOS_INLINE_FUNCTION void operator()(const int64_t b) const
  {
    const double *s = lane + (size_t)b * LANES;

    sum[b] = ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
  }
};
/* count sums on the host */
void FetchSums(size_t count, const void *lanes, double *total);

template <class F> double Sum(const char *kernel, size_t m, size_t n, const F &term)
{
  const size_t blocks = (m + BLOCK - 1) / BLOCK, count = blocks * n;
  double       total = 0;
  Scratch      lanes(count * LANES * sizeof(double) + 1);

  if (count == 0) return 0;
  Each(kernel, count * LANES, LaneSum<F>{term, m, blocks, (double *)Raw((char *)lanes.data())});
  FetchSums(count, lanes.data(), &total);
  return total;
}

template <class B, class F> struct MostOf {
  F                           term;
  size_t                      m;
  KOKKOS_INLINE_FUNCTION void operator()(const int64_t e, B &most) const
  {
    const size_t j    = (size_t)e / m;
    const B      here = term(j, (size_t)e - j * m);

    most = here > most ? here : most;
  }
};

template <class B, class F> B Most(const char *kernel, size_t m, size_t n, const F &term)
{
  B most = 0;

  Tell(kernel);
  if (m * n > 0) Kokkos::parallel_reduce(kernel, Range(Instance(), 0, (int64_t)(m * n)), MostOf<B, F>{term, m}, Kokkos::Max<B>(most));
  return most;
}

/* The bits of numbers, whose absolute values they order */
template <class REAL> struct Bits;
template <> struct Bits<float> {
  using type                    = uint32_t;
  using other                   = double;
  static constexpr int exponent = 8;
};
template <> struct Bits<double> {
  using type                    = uint64_t;
  using other                   = float;
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

/*
   What muonpass.h has for the host, for templates of REAL: arrays of the host are copied where that is allowed.
   The name of a kernel is that of its function
*/
#define OTHER                typename Bits<REAL>::other
#define BITS                 typename Bits<REAL>::type
#define REAL_NAME(name)      name<REAL>
#define KERNEL(type, name)   template <class REAL> type name
#define LOCAL(type, name)    template <class REAL> static type name
#define FUNCTION(type, name) template <class REAL> KOKKOS_INLINE_FUNCTION type name
#define CALL(name)           name<REAL>
#define IS_DEVICE            1

#define READ(type, x, X) \
  const Lines<const type> x##_(__func__, Reads, X, m, n, ld##x); \
  const type             *x = x##_.get()
#define WRITE(type, x, X) \
  const Lines<type> x##_(__func__, Writes, X, m, n, ld##x); \
  type             *x = x##_.get()
#define LIST(type, x, X, length) \
  const Staged<type> x##_(std::is_const<type>::value ? Reads : Writes, X, length); \
  type              *x = x##_.get()

#define AT(x) x[j * ld##x + i]

#define EACH(k, count, ...) \
  Each( \
    __func__, count, KOKKOS_LAMBDA(const size_t k) { __VA_ARGS__; })
#define EACH_ANY(any, type, k, count, ...) \
  any = Any( \
    __func__, count, KOKKOS_LAMBDA(const size_t k) { \
      type reached = 0; \
      __VA_ARGS__; \
      return reached >> (8 * sizeof(type) - 1) != 0; \
    })
#define ENTRY_OF(e, ...) \
  const size_t j = e < m ? 0 : e / m, i = e - j * m; \
  __VA_ARGS__
#define PASS_WITH(declarations, ...) PASS(declarations; __VA_ARGS__)
#define PASS(...)                    EACH(e_, m *n, ENTRY_OF(e_, __VA_ARGS__))
#define PASS_ANY(any, ...)           EACH_ANY(any, BITS, e_, m *n, ENTRY_OF(e_, __VA_ARGS__))
#define RANGE(k, first, count, ...)  EACH(k, count, ENTRY_OF((first + k), __VA_ARGS__))
#define PASS_SUM(total, ...) \
  total = Sum( \
    __func__, m, n, KOKKOS_LAMBDA(const size_t j, const size_t i) { return (double)(__VA_ARGS__); })
#define PASS_ORDERED(total, ...) PASS_SUM(total, __VA_ARGS__)
#define PASS_MAX(most, type, ...) \
  most = Most<type>( \
    __func__, m, n, KOKKOS_LAMBDA(const size_t j, const size_t i) { return __VA_ARGS__; })

/* At the end of a file of kernels: makes them of the list that it has */
#define MUON_KERNEL_INSTANTIATE(type, name, arguments) \
  template type name<float> arguments; \
  template type name<double> arguments;
