/*
   What makes and reads messages: the kernels of entries.c, and the device implementations of scatter.c,
   select.c, natural.c, quantize.c, signs.c and factors.c, with the host's bits for the same input but in
   products and factors, which are the vendor's.
*/
#include "muonkokkos.hpp"
#include "muonvendor.h"
#include <climits>

namespace muon {

#include "../codec/entries.c"

namespace {

KOKKOS_INLINE_FUNCTION uint32_t Word(const MuonKernelStream &stream, uint64_t entry)
{
  uint32_t c[4] = {(uint32_t)(entry >> 2), stream.layer, stream.step, stream.sender | stream.direction << 31};

  PhiloxBlock((uint32_t)stream.seed, (uint32_t)(stream.seed >> 32), c);
  return c[entry & 3];
}

/* Entry e of T - R */
template <class REAL> struct Difference {
  const REAL                 *t, *r;
  size_t                      m, ldt, ldr;
  KOKKOS_INLINE_FUNCTION REAL operator()(size_t e) const
  {
    const REAL x = t[At(m, ldt, e)];

    return r == NULL ? x : x - r[At(m, ldr, e)];
  }
};

/* Both arrays of a residual, for as long as a kernel runs */
template <class REAL> class Pair {
public:
  Pair(const char *kernel, size_t m, size_t n, const void *T, size_t ldt, const void *S, size_t ldr) : t_(kernel, Reads, T, m, n, ldt), r_(kernel, Reads, S, m, n, ldr), of(Difference<REAL>{t_.get(), r_.get(), m, ldt, ldr}) {}

private:
  Lines<const REAL> t_, r_;

public:
  const Difference<REAL> of;
};

/*
   Where the values of each word begin among those of all, from a bitmap in scratch or message, and how many
   there are
*/
struct Offsets {
  const unsigned char        *bits;
  size_t                      entries;
  uint64_t                   *offset;
  KOKKOS_INLINE_FUNCTION void operator()(const int64_t w, uint64_t &sum, const bool last) const
  {
    if (last) offset[w] = sum;
    sum += (uint64_t)CountOnes(LoadWord(bits, WORD * (size_t)w, SomeOf(entries, (size_t)w)));
  }
};

/* Returns how many there are where that is asked, which makes the host wait */
size_t CountBefore(const char *kernel, const unsigned char *bits, size_t entries, uint64_t *offset, bool ask)
{
  uint64_t count = 0;

  if (ask) Kokkos::parallel_scan(kernel, Range(Instance(), 0, (int64_t)Words(entries)), Offsets{bits, entries, offset}, count);
  else Kokkos::parallel_scan(kernel, Range(Instance(), 0, (int64_t)Words(entries)), Offsets{bits, entries, offset});
  return (size_t)count;
}

/* The values of f at the bits, in order */
template <class V, class F> void Compact(const char *kernel, const unsigned char *bits, size_t entries, const F &f, void *values)
{
  Scratch   scratch(Words(entries) * sizeof(uint64_t));
  uint64_t *offset = (uint64_t *)Raw((char *)scratch.data());

  if (entries == 0) return;
  const Staged<V> sv(Writes, values, CountBefore(kernel, bits, entries, offset, !Owns(values)));
  V              *to = sv.get();

  Each(
    kernel, entries, KOKKOS_LAMBDA(const int64_t e) {
      const size_t   w = (size_t)e / WORD, i = (size_t)e % WORD;
      const uint64_t word = LoadWord(bits, WORD * w, SomeOf(entries, w));

      if ((word >> i & 1u) != 0) to[offset[w] + (uint64_t)CountOnes(word & (((uint64_t)1 << i) - 1))] = (V)f((size_t)e);
    });
}

/* An array without its gaps where they are in none of two */
void FlattenPair(size_t *m, size_t *n, size_t ldt, const void *REAL, size_t ldr)
{
  Flatten(m, n, ldt, REAL != NULL ? ldr : ldt, ldt);
}

constexpr int    DigitBits = 12;
constexpr size_t Digits = (size_t)1 << DigitBits, Stretch = 16384;

/* Of an absolute value */
template <class K> KOKKOS_INLINE_FUNCTION constexpr int KeyBits()
{
  return 8 * (int)sizeof(K) - 1;
}

/*
   How far a radix selection is: with what bits keys begin, how many of those that begin so are wanted, 0
   where all of them are, how many bits are not known; whether a key is that of a number
*/
struct Search {
  uint64_t                   prefix, wanted;
  int                        above, infinite;
  KOKKOS_INLINE_FUNCTION int shift() const
  {
    return above > DigitBits ? above - DigitBits : 0;
  }
  KOKKOS_INLINE_FUNCTION bool over() const
  {
    return above == 0 || wanted == 0;
  }
};

/*
   How often each digit occurs among the keys that begin with the prefix; a team has a stretch of the entries
*/
template <class K, class REAL> struct Histogram {
  Difference<REAL>    of;
  size_t              entries;
  const Search       *search;
  unsigned long long *count;
  using Local = Kokkos::View<unsigned *, Space::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  KOKKOS_INLINE_FUNCTION void operator()(const Team &team) const
  {
    const Search   known = *search;
    const int      shift = known.shift();
    const size_t   first = (size_t)team.league_rank() * Stretch, end = first + Stretch < entries ? first + Stretch : entries;
    const uint64_t digits = ((uint64_t)1 << (known.above - shift)) - 1;
    Local          local(team.team_scratch(0), Digits);

    if (known.over()) return;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, (int)Digits), [&](const int d) { local(d) = 0; });
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, (int)(end - first)), [&](const int i) {
      const uint64_t key = (uint64_t)Magnitude((K)of(first + (size_t)i));

      if (key >> known.above == known.prefix) Kokkos::atomic_fetch_add(&local((int)(key >> shift & digits)), 1u);
    });
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, (int)Digits), [&](const int d) {
      if (local(d) != 0) Kokkos::atomic_fetch_add(&count[d], (unsigned long long)local(d));
    });
  }
};

/*
   The digit with which the last wanted keys go on, by one team: that alone at which the counts from the
   highest digit on come to what is wanted
*/
template <class K> struct Narrow {
  Search                     *search;
  const unsigned long long   *count;
  KOKKOS_INLINE_FUNCTION void operator()(const Team &team) const
  {
    const Search known = *search;
    const int    shift = known.shift(), most = 1 << (known.above - shift);
    /* Exponents of ones, which the first digit has whole */
    const int none = known.above == KeyBits<K>() ? ((1 << Bits<K>::exponent) - 1) << (DigitBits - Bits<K>::exponent) : most;

    team.team_barrier();
    if (known.over()) return;
    Kokkos::parallel_scan(Kokkos::TeamThreadRange(team, most), [&](const int i, uint64_t &sum, const bool last) {
      const int      digit = most - 1 - i;
      const uint64_t here = (uint64_t)count[digit], before = sum;

      sum += here;
      if (!last || here == 0) return;
      if (digit >= none) search->infinite = 1;
      if (before >= known.wanted || sum < known.wanted) return;
      search->prefix = known.prefix << (known.above - shift) | (uint64_t)digit;
      search->wanted = sum == known.wanted ? 0 : known.wanted - before;
      search->above  = shift;
    });
  }
};

/* The bits that both masks of a word have, the first of ties that are still wanted */
struct Settle {
  const unsigned char        *ties;
  const uint64_t             *before;
  unsigned char              *bitmap;
  size_t                      entries;
  uint64_t                    equal;
  KOKKOS_INLINE_FUNCTION void operator()(const int64_t w) const
  {
    const size_t some = SomeOf(entries, (size_t)w);
    uint64_t     tie = LoadWord(ties, WORD * (size_t)w, some), keep = 0;

    for (uint64_t taken = before[w]; tie != 0 && taken < equal; taken++) {
      keep |= tie & (~tie + 1);
      tie &= tie - 1;
    }
    StoreWord(bitmap, WORD * (size_t)w, WORD, LoadWord(bitmap, WORD * (size_t)w, some) | keep);
  }
};

/* Radix selection, from the highest digit: the largest count entries as K compares them */
template <class REAL, class K> int Select(const char *kernel, size_t m, size_t n, const void *T, size_t ldt, const void *S, size_t ldr, size_t count, unsigned char *bitmap, void *kept)
{
  const size_t entries = m * n, words = Words(entries);
  Search       known = {0, count, KeyBits<K>(), 0};

  if (entries == 0) return 0;
  FlattenPair(&m, &n, ldt, S, ldr);
  const Pair<REAL>       pair(kernel, m, n, T, ldt, S, ldr);
  Staged<unsigned char>  sb(Writes, bitmap, words * 8);
  Scratch                histogram(Digits * sizeof(unsigned long long)), progress(sizeof(known)), scratch(words * 8), offsets(words * sizeof(uint64_t));
  const Difference<REAL> of   = pair.of;
  unsigned char         *bits = sb.get(), *ties = (unsigned char *)Raw((char *)scratch.data());
  uint64_t              *before = (uint64_t *)Raw((char *)offsets.data());
  unsigned long long    *found  = (unsigned long long *)Raw((char *)histogram.data());
  Search                *search = (Search *)Raw((char *)progress.data());
  Teams                  policy(Instance(), (int)((entries + Stretch - 1) / Stretch), Kokkos::AUTO);

  /* The host looks at the end alone; what has nothing left to do returns at once */
  Copy(sizeof(known), &known, progress.data());
  for (int bit = 0; bit < KeyBits<K>(); bit += DigitBits) {
    Kokkos::deep_copy(Instance(), Kokkos::View<char *, Space::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>((char *)found, Digits * sizeof(*found)), (char)0);
    Kokkos::parallel_for(kernel, policy.set_scratch_size(0, Kokkos::PerTeam(Histogram<K, REAL>::Local::shmem_size(Digits))), Histogram<K, REAL>{of, entries, search, found});
    /* Scans of a team want a power of two */
    Kokkos::parallel_for(kernel, Teams(Instance(), 1, IsHost ? 1 : 256), Narrow<K>{search, found});
  }
  Copy(sizeof(known), progress.data(), &known);
  if (known.infinite) return 1;
  const uint64_t least = known.prefix << known.above, wanted = known.wanted;
  const bool     all = wanted == 0;

  Each(
    kernel, words, KOKKOS_LAMBDA(const int64_t w) {
      const size_t some = SomeOf(entries, (size_t)w);
      uint64_t     more = 0, equal = 0;

      for (size_t i = 0; i < some && count > 0; i++) {
        const uint64_t key = (uint64_t)Magnitude((K)of((size_t)w * WORD + i));

        more |= (uint64_t)(key > least || (all && key == least)) << i;
        equal |= (uint64_t)(key == least) << i;
      }
      StoreWord(bits, WORD * (size_t)w, WORD, more);
      StoreWord(ties, WORD * (size_t)w, WORD, equal);
    });
  if (!all) {
    (void)CountBefore(kernel, ties, entries, before, false);
    Each(kernel, words, Settle{ties, before, bits, entries, wanted});
  }
  Compact<K>(kernel, bits, entries, of, kept);
  return 0;
}

/* minus with the sign that the bit of entry e gives */
template <class REAL> KOKKOS_INLINE_FUNCTION REAL Signed(const unsigned char *bits, size_t e, REAL minus)
{
  return Number<REAL>(Image(minus) ^ (typename Bits<REAL>::type)(bits[e / 8] >> (e % 8) & 1u) << (8 * sizeof(REAL) - 1));
}

} // namespace

template <class REAL> int Top(size_t m, size_t n, const void *T, size_t ldt, const void *S, size_t ldr, size_t count, unsigned char *bitmap, void *kept, void *scratch)
{
  return Select<REAL, REAL>("Top", m, n, T, ldt, S, ldr, count, bitmap, kept);
}

template <class REAL> int TopRounded(size_t m, size_t n, const void *T, size_t ldt, const void *S, size_t ldr, size_t count, unsigned char *bitmap, float *kept, void *scratch)
{
  return Select<REAL, float>("TopRounded", m, n, T, ldt, S, ldr, count, bitmap, kept);
}

template <class REAL> int Gather(size_t m, size_t n, const void *T, size_t ldt, const void *S, size_t ldr, double limit, const unsigned char *bitmap, void *values)
{
  const size_t                    entries = m * n;
  const typename Bits<REAL>::type most    = Image((REAL)limit);

  FlattenPair(&m, &n, ldt, S, ldr);
  const Pair<REAL>                  pair("Gather", m, n, T, ldt, S, ldr);
  const Staged<const unsigned char> sb(Reads, bitmap, (entries + 7) / 8);
  const Difference<REAL>            of = pair.of;

  Compact<REAL>("Gather", sb.get(), entries, of, values);
  return Any(
    "Gather", entries, KOKKOS_LAMBDA(const size_t e) { return Magnitude(of(e)) >= most; });
}

template <class REAL> void Scatter(size_t m, size_t n, const unsigned char *bitmap, size_t first, size_t count, const void *values, int add, double a, void *Y, size_t ldy)
{
  Flatten(&m, &n, ldy, ldy, ldy);
  if (count == 0) return;
  const Staged<const unsigned char> sb(Reads, bitmap + first / 8, (count + 7) / 8);
  const Lines<REAL>                 sy("Scatter", Reads | Writes, Y, m, n, ldy);
  Scratch                           scratch(Words(count) * sizeof(uint64_t));
  const unsigned char              *bits   = sb.get();
  uint64_t                         *offset = (uint64_t *)Raw((char *)scratch.data());
  REAL                             *y = sy.get(), ra = (REAL)a;
  /* How many values there are matters where they must be brought here */
  const Staged<const REAL> sx(Reads, values, CountBefore("Scatter", bits, count, offset, !Owns(values)));
  const REAL              *x = sx.get();

  Each(
    "Scatter", count, KOKKOS_LAMBDA(const int64_t k) {
      const size_t   w = (size_t)k / WORD, i = (size_t)k % WORD;
      const uint64_t word = LoadWord(bits, WORD * w, SomeOf(count, w));

      if ((word >> i & 1u) != 0) {
        const REAL value = x[offset[w] + (uint64_t)CountOnes(word & (((uint64_t)1 << i) - 1))];
        REAL      &to    = y[At(m, ldy, first + (size_t)k)];

        to = add ? to + ra * value : value;
      }
    });
}

template <class REAL> int Natural(size_t entries, const void *X, const MuonKernelStream *stream, uint64_t first, uint64_t stride, uint16_t *codes)
{
  const Staged<const REAL> sx(Reads, X, entries);
  const Staged<uint16_t>   sc(Writes, codes, entries);
  const REAL              *x     = sx.get();
  uint16_t                *c     = sc.get();
  const MuonKernelStream   words = *stream;

  return Any(
    "Natural", entries, KOKKOS_LAMBDA(const size_t e) {
      const uint32_t bits = FloatBits((float)x[e]);

      c[e] = NaturalCode(bits, Word(words, first + e * stride));
      return (FloatReached(bits) & SIGN_BIT) != 0;
    });
}

template <class REAL> void Quantize(size_t entries, const void *X, unsigned lengthlog, const double *scales, unsigned levels, const MuonKernelStream *stream, uint64_t first, unsigned char *codes)
{
  const Staged<const REAL>    sx(Reads, X, entries);
  const Staged<const double>  ss(Reads, scales, entries == 0 ? 0 : ((entries - 1) >> lengthlog) + 1);
  const Staged<unsigned char> sc(Writes, codes, entries);
  const REAL                 *x     = sx.get();
  const double               *scale = ss.get();
  unsigned char              *code  = sc.get();
  const MuonKernelStream      words = *stream;
  const float                 top   = (float)levels;

  Each(
    "Quantize", entries, KOKKOS_LAMBDA(const int64_t e) {
      const double s = scale[(size_t)e >> lengthlog], factor = s > 0 ? (double)levels / s : 0;

      code[e] = QuantizedCode((float)((double)x[e] * factor), top, Word(words, first + (uint64_t)e));
    });
}

template <class REAL> int Signs(size_t m, size_t n, const void *T, size_t ldt, const void *S, size_t ldr, unsigned char *bits, unsigned char *zeros, double *sumabs)
{
  const size_t entries = m * n;

  FlattenPair(&m, &n, ldt, S, ldr);
  const Pair<REAL>            pair("Signs", m, n, T, ldt, S, ldr);
  const Staged<unsigned char> sb(Writes, bits, (entries + 7) / 8), sz(Writes, zeros, (entries + 7) / 8);
  const Difference<REAL>      of = pair.of;
  unsigned char              *b = sb.get(), *z = sz.get();

  Each(
    "Signs", (entries + 7) / 8, KOKKOS_LAMBDA(const int64_t k) {
      unsigned byte = 0, zero = 0;

      /* NaN counts as the integer that its bits are */
      for (size_t e = 8 * (size_t)k; e < 8 * (size_t)k + 8 && e < entries; e++) {
        const typename Bits<REAL>::type below = Image(of(e));

        byte |= (unsigned)(1 - ((below & (below - 1)) >> (8 * sizeof(REAL) - 1))) << e % 8;
        zero |= (unsigned)(of(e) == 0) << e % 8;
      }
      b[k] = (unsigned char)byte;
      if (z != NULL) z[k] = (unsigned char)zero;
    });
  *sumabs = Sum(
    "Signs", entries, 1, KOKKOS_LAMBDA(const size_t, const size_t e) { return fabs((double)of(e)); });
  return !(*sumabs <= DBL_MAX);
}

template <class REAL> void SignsAxpby(size_t m, size_t n, const unsigned char *bits, const unsigned char *ties, double decay, const void *X, size_t ldx, double scale, void *Y, size_t ldy)
{
  const Staged<const unsigned char> sb(Reads, bits, (m * n + 7) / 8), st(Reads, ties, (m * n + 7) / 8);
  const unsigned char              *b = sb.get(), *t = st.get();
  const REAL                        minus = -(REAL)scale, a = (REAL)decay;

  Flatten(&m, &n, ldx, ldy, ldy);
  const Lines<const REAL> sx("SignsAxpby", Reads, decay == 0 ? NULL : X, m, n, ldx);
  const Lines<REAL>       sy("SignsAxpby", Writes, Y, m, n, ldy);
  const REAL             *x = sx.get();
  REAL                   *y = sy.get();

  Each(
    "SignsAxpby", m * n, KOKKOS_LAMBDA(const size_t e) {
      const bool tied = t != NULL && (t[e / 8] >> (e % 8) & 1u) != 0;
      const REAL s    = tied ? (REAL)0 : Signed(b, e, minus);

      y[At(m, ldy, e)] = x == NULL ? s : a * x[At(m, ldx, e)] + s;
    });
}

/* The vendor's, on matrices by columns */
template <class REAL> void Multiply(int transa, int transb, size_t m, size_t n, size_t k, double a, const void *A, size_t lda, const void *B, size_t ldb, double b, void *Y, size_t ldy)
{
  const Lines<const REAL> sa("Multiply", Reads, A, transa ? k : m, transa ? m : k, lda), sb("Multiply", Reads, B, transb ? n : k, transb ? k : n, ldb);
  const Lines<REAL>       sy("Multiply", Reads | Writes, Y, m, n, ldy);

  if (m == 0 || n == 0) return;
  MuonVendorGet(PrecisionOf<REAL>())->multiply(transa, transb, m, n, k, a, sa.get(), lda, sb.get(), ldb, b, sy.get(), ldy);
}

template <class REAL> int Orthonormalize(size_t m, size_t l, void *P, size_t *entries, void *work)
{
  const Lines<REAL>  sp("Orthonormalize", Reads | Writes, work == NULL ? NULL : P, m, l, m);
  const Staged<REAL> sw(Writes, work, work == NULL ? 0 : *entries);

  return MuonVendorGet(PrecisionOf<REAL>())->orthonormalize(m, l, sp.get(), entries, sw.get());
}

template <class REAL> int Rotation(size_t n, size_t l, void *V, void *WT, void *S, size_t *entries, void *work)
{
  const Lines<REAL>  sv("Rotation", Reads | Writes, work == NULL ? NULL : V, n, l, n);
  const Staged<REAL> st(Writes, WT, l * l), ss(Writes, S, l), sw(Writes, work, work == NULL ? 0 : *entries);

  return MuonVendorGet(PrecisionOf<REAL>())->rotation(n, l, sv.get(), st.get(), ss.get(), entries, sw.get());
}

MUON_KERNELS_MESSAGES(MUON_KERNEL_INSTANTIATE)

} // namespace muon
