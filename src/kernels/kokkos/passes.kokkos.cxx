/*
   Linear combinations, norms, what is finite; norms of slices: the device implementations of passes.c and muonlmokernels.c.
   entries, and the sums that those files form in blocks, have the host's bits. Norm, IsOrdinary, Dot and the
   scaled lengths of lines sum in another order than the host.
*/
#include "muonkokkos.hpp"

namespace muon {

namespace {

KOKKOS_INLINE_FUNCTION double Power(double t, double p)
{
  return p == 2.0 ? t * t : (p == 1.0 ? t : pow(t, p));
}

/* No negative zero */
template <class REAL> KOKKOS_INLINE_FUNCTION REAL SignTimes(REAL x, double f)
{
  return (REAL)fabs(f) * (REAL)((f < 0 ? -1 : 1) * ((x > 0) - (x < 0)));
}

template <class REAL> using Other = typename std::conditional<sizeof(REAL) == sizeof(float), double, float>::type;

/* Y = a X + b Y in the precision REAL of its entries, through double where X has another */
template <class REAL, class X> void Combine(const char *kernel, size_t m, size_t n, double a, const void *X0, size_t ldx, double b, void *Y, size_t ldy)
{
  const REAL ra = (REAL)a, rb = (REAL)b;
  const bool none = b == 0, copy = a == 1 && none, add = b == 1;

  Pass<false, REAL, X>(
    kernel, m, n, {X0, ldx}, {NULL, 0}, none ? Writes : Reads | Writes, Y, ldy, KOKKOS_LAMBDA(const X x, const REAL, REAL &y, const size_t)->bool {
      if (sizeof(REAL) != sizeof(X)) y = none ? (REAL)(a * (double)x) : (REAL)(a * (double)x + b * (double)y);
      else y = copy ? (REAL)x : none ? ra * (REAL)x : add ? y + ra * (REAL)x : ra * (REAL)x + rb * y;
      return false;
    });
}

template <class REAL, class X> int Mix(const char *kernel, size_t m, size_t n, double previous, const void *M, size_t ldm, double fresh, const void *G, size_t ldg, void *Z, size_t ldz)
{
  const bool none = previous == 0;
  const REAL a = (REAL)previous, b = (REAL)fresh;

  return !Pass<true, REAL, X>(
    kernel, m, n, {G, ldg}, {none ? NULL : M, ldm}, Writes, Z, ldz, KOKKOS_LAMBDA(const X g, const REAL old, REAL &z, const size_t)->bool {
      if (sizeof(REAL) != sizeof(X)) z = (REAL)(none ? fresh * (double)g : previous * (double)old + fresh * (double)g);
      else z = none ? b * (REAL)g : a * old + b * (REAL)g;
      return !IsFinite(z);
    });
}

bool InRange(double sum)
{
  return sum > 1e-200 && sum < 1e300;
}

/* The largest entry of a line, by a team, and the first place where it is; NaN is none */
template <class REAL> struct LineArgMax {
  const REAL                 *x;
  size_t                      m, ldx;
  double                     *most;
  int64_t                    *place;
  KOKKOS_INLINE_FUNCTION void operator()(const Team &team) const
  {
    const size_t k     = (size_t)team.league_rank();
    const REAL  *line  = x + k * ldx;
    uint64_t     top   = 0;
    int64_t      first = (int64_t)m;

    Kokkos::parallel_reduce(
      Kokkos::TeamThreadRange(team, (int64_t)m),
      [&](const int64_t i, uint64_t &best) {
        const uint64_t key = (uint64_t)Magnitude(line[i]);

        if (key > best && line[i] == line[i]) best = key;
      },
      Kokkos::Max<uint64_t>(top));
    Kokkos::parallel_reduce(
      Kokkos::TeamThreadRange(team, (int64_t)m),
      [&](const int64_t i, int64_t &at) {
        if (i < at && (uint64_t)Magnitude(line[i]) == top) at = i;
      },
      Kokkos::Min<int64_t>(first));
    Kokkos::single(Kokkos::PerTeam(team), [&]() {
      most[k]  = (double)Number<REAL>((typename Bits<REAL>::type)top);
      place[k] = top == 0 ? -1 : first;
    });
  }
};

/* Numbers of slices, which are on the host or not */
template <class T> using Slices = Staged<T>;

} // namespace

template <class REAL> int IsBelow(size_t m, size_t n, const void *X, size_t ldx, double limit)
{
  const typename Bits<REAL>::type most = Image((REAL)limit);

  Flatten(&m, &n, ldx, ldx, ldx);
  const Lines<const REAL> sx("IsBelow", Reads, X, m, n, ldx);
  const REAL             *x = sx.get();

  return !Any(
    "IsBelow", m * n, KOKKOS_LAMBDA(const size_t e) { return Magnitude(x[At(m, ldx, e)]) >= most; });
}

template <class REAL> void Axpby(size_t m, size_t n, double a, const void *X, size_t ldx, double b, void *Y, size_t ldy)
{
  Combine<REAL, REAL>("Axpby", m, n, a, X, ldx, b, Y, ldy);
}

template <class REAL> void AxpbyOther(size_t m, size_t n, double a, const void *X, size_t ldx, double b, void *Y, size_t ldy)
{
  Combine<REAL, Other<REAL>>("AxpbyOther", m, n, a, X, ldx, b, Y, ldy);
}

template <class REAL> int Momentum(size_t m, size_t n, double previous, const void *M, size_t ldm, double fresh, const void *G, size_t ldg, void *Z, size_t ldz)
{
  return Mix<REAL, REAL>("Momentum", m, n, previous, M, ldm, fresh, G, ldg, Z, ldz);
}

template <class REAL> int MomentumOther(size_t m, size_t n, double previous, const void *M, size_t ldm, double fresh, const void *G, size_t ldg, void *Z, size_t ldz)
{
  return Mix<REAL, Other<REAL>>("MomentumOther", m, n, previous, M, ldm, fresh, G, ldg, Z, ldz);
}

template <class REAL> size_t MomentumMend(size_t m, size_t n, double previous, const void *M, size_t ldm, void *Z, size_t ldz)
{
  Flatten(&m, &n, previous == 0 ? ldz : ldm, ldz, ldz);
  const Lines<const REAL> sm("MomentumMend", Reads, previous == 0 ? NULL : M, m, n, ldm);
  const Lines<REAL>       sz("MomentumMend", Reads | Writes, Z, m, n, ldz);
  const REAL             *old = sm.get(), a = (REAL)previous;
  REAL                   *z     = sz.get();
  const bool              none  = previous == 0;
  uint64_t                count = 0;

  if (m * n == 0) return 0;
  Kokkos::parallel_reduce(
    "MomentumMend", Range(Instance(), 0, (int64_t)(m * n)),
    KOKKOS_LAMBDA(const int64_t e, uint64_t &mended) {
      REAL &x = z[At(m, ldz, e)];

      if (IsFinite(x)) return;
      x = none ? (REAL)0 : a * old[At(m, ldm, e)];
      mended++;
    },
    count);
  return (size_t)count;
}

template <class REAL> int Cautious(size_t m, size_t n, double keep, const void *X, size_t ldx, double by, const void *D, size_t ldd, void *Z, size_t ldz)
{
  const REAL a = (REAL)keep, b = (REAL)by;

  return !Pass<true, REAL, REAL>(
    "Cautious", m, n, {X, ldx}, {D, ldd}, Writes, Z, ldz, KOKKOS_LAMBDA(const REAL x, const REAL d, REAL &z, const size_t)->bool {
      const REAL move = b * d;

      z = ((move > 0 && x > 0) || (move < 0 && x < 0) ? x : a * x) + move;
      return !IsFinite(z);
    });
}

template <class REAL> double SumSquares(size_t m, size_t n, const void *X, size_t ldx)
{
  Flatten(&m, &n, ldx, ldx, ldx);
  const Lines<const REAL> sx("SumSquares", Reads, X, m, n, ldx);

  return ScaledSumSquares("SumSquares", m, n, sx.get(), ldx, 1.0, 1.0);
}

template <class REAL> double SumAbs(size_t m, size_t n, const void *X, size_t ldx)
{
  Flatten(&m, &n, ldx, ldx, ldx);
  const Lines<const REAL> sx("SumAbs", Reads, X, m, n, ldx);
  const REAL             *x = sx.get();

  return Sum(
    "SumAbs", m, n, KOKKOS_LAMBDA(const size_t j, const size_t i) { return fabs((double)x[j * ldx + i]); });
}

template <class REAL> double MaxAbs(size_t m, size_t n, const void *X, size_t ldx)
{
  const Lines<const REAL> sx("MaxAbs", Reads, X, m, n, ldx);

  return (double)Most<REAL, true>("MaxAbs", m, n, sx.get(), ldx);
}

template <class REAL> int IsOrdinary(size_t m, size_t n, const void *X, size_t ldx)
{
  return InRange(SumSquares<REAL>(m, n, X, ldx));
}

template <class REAL> double Norm(size_t m, size_t n, const void *X, size_t ldx, int *exponent)
{
  Flatten(&m, &n, ldx, ldx, ldx);
  const Lines<const REAL> sx("Norm", Reads, X, m, n, ldx);
  const double            sum = ScaledSumSquares("Norm", m, n, sx.get(), ldx, 1.0, 1.0);
  double                  f[2], most;

  *exponent = 0;
  if (InRange(sum)) return frexp(sqrt(sum), exponent);
  most = (double)Most<REAL, false>("Norm", m, n, sx.get(), ldx);
  if (!(most <= DBL_MAX)) return HUGE_VAL;
  if (most == 0.0) return 0.0;
  (void)frexp(most, exponent);
  PowerOfTwo(*exponent, f);
  return sqrt(ScaledSumSquares("Norm", m, n, sx.get(), ldx, f[0], f[1]));
}

template <class REAL> void Divide(size_t m, size_t n, const void *X, size_t ldx, double norm, int exponent, void *Y, size_t ldy)
{
  double f[2];

  PowerOfTwo(exponent, f);
  const double f0 = f[0], f1 = f[1];

  Pass<false, REAL, REAL>(
    "Divide", m, n, {X, ldx}, {NULL, 0}, Writes, Y, ldy, KOKKOS_LAMBDA(const REAL x, const REAL, REAL &y, const size_t)->bool {
      y = (REAL)(x * f0 * f1 / norm);
      return false;
    });
}

template <class REAL> void Sign(size_t m, size_t n, double s, const void *X, size_t ldx, void *Y, size_t ldy)
{
  Pass<false, REAL, REAL>(
    "Sign", m, n, {X, ldx}, {NULL, 0}, Writes, Y, ldy, KOKKOS_LAMBDA(const REAL x, const REAL, REAL &y, const size_t)->bool {
      y = SignTimes(x, s);
      return false;
    });
}

template <class REAL> double Dot(size_t m, size_t n, const void *X, size_t ldx, const void *Y, size_t ldy)
{
  const Lines<const REAL> sx("Dot", Reads, X, m, n, ldx), sy("Dot", Reads, Y, m, n, ldy);
  const REAL             *x = sx.get(), *y = sy.get();

  return Sum(
    "Dot", m, n, KOKKOS_LAMBDA(const size_t j, const size_t i) { return (double)x[j * ldx + i] * (double)y[j * ldy + i]; });
}

template <class REAL>
int AdamW(size_t m, size_t n, const void *G, size_t ldg, double beta1, double beta2, double epsilon, int nesterov, double c1, double c2, double rate, double keep, const void *M, const void *V, const void *X, size_t ldx, void *Mnew, void *Vnew,
          void *Xnew, size_t ldn)
{
  Flatten(&m, &n, ldg, ldx, ldn);
  const REAL              b1 = (REAL)beta1, b2 = (REAL)beta2, a1 = (REAL)(1 - beta1), a2 = (REAL)(1 - beta2), epsilon0 = (REAL)epsilon, r1 = (REAL)c1, r2 = (REAL)c2, r = (REAL)rate, k = (REAL)keep;
  const Lines<const REAL> sg("AdamW", Reads, G, m, n, ldg), sx("AdamW", Reads, X, m, n, ldx), sm("AdamW", Reads, M, m, n, m), sv("AdamW", Reads, V, m, n, m);
  const Lines<REAL>       tm("AdamW", Writes, Mnew, m, n, m), tv("AdamW", Writes, Vnew, m, n, m), tx("AdamW", Writes, Xnew, m, n, ldn);
  const REAL             *g = sg.get(), *x = sx.get(), *m0 = sm.get(), *v0 = sv.get();
  REAL                   *m1 = tm.get(), *v1 = tv.get(), *y = tx.get();

  return !Any(
    "AdamW", m * n, KOKKOS_LAMBDA(const size_t e) {
      const REAL gradient = g[At(m, ldg, e)], mean = b1 * m0[e] + a1 * gradient, square = b2 * v0[e] + a2 * gradient * gradient;
      const REAL seen = (nesterov ? b1 * mean + a1 * gradient : mean) / r1, sum = k * x[At(m, ldx, e)] - r * seen / ((REAL)sqrt((double)(square / r2)) + epsilon0);

      m1[e]            = mean;
      v1[e]            = square;
      y[At(m, ldn, e)] = sum;
      return !IsFinite(sum) || !IsFinite(square);
    });
}

/*
   Norms of slices: slice k is line k or, across, entry k of every line; its entry q is entry q of the line,
   or of line q
*/
template <class REAL> void SliceSums(size_t m, size_t n, const void *X, size_t ldx, int across, int power, double *sum)
{
  const size_t            slices = across ? m : n, length = across ? n : m;
  const Lines<const REAL> sx("SliceSums", Reads, X, m, n, ldx);
  const Slices<double>    ss(Writes, sum, slices);
  const REAL             *x = sx.get();
  double                 *s = ss.get();
  Scratch                 scratch(slices * Lanes * sizeof(double));
  double                 *lane = (double *)Raw((char *)scratch.data());

  if (slices == 0) return;
  Each(
    "SliceSums", slices * Lanes, KOKKOS_LAMBDA(const int64_t t) {
      const size_t k = across ? (size_t)t % slices : (size_t)t / Lanes, first = across ? (size_t)t / slices : (size_t)t % Lanes;
      double       total = 0;

      for (size_t q = first; q < length; q += Lanes) {
        const double a = (double)x[across ? q * ldx + k : k * ldx + q];

        total += power == 1 ? fabs(a) : a * a;
      }
      lane[k * Lanes + first] = total;
    });
  Each("SliceSums", slices, FoldLanes{lane, s});
}

template <class REAL> void SlicePowers(size_t m, size_t n, const void *X, size_t ldx, int across, double p, const double *most, double *sum)
{
  const size_t               slices = across ? m : n, length = across ? n : m;
  const Lines<const REAL>    sx("SlicePowers", Reads, X, m, n, ldx);
  const Slices<const double> sm(Reads, most, slices);
  const Slices<double>       ss(Writes, sum, slices);
  const REAL                *x   = sx.get();
  const double              *top = sm.get();
  double                    *s   = ss.get();

  Each(
    "SlicePowers", slices, KOKKOS_LAMBDA(const int64_t k) {
      double total = 0;

      for (size_t q = 0; q < length && top[k] != 0; q++) total += Power(fabs((double)x[across ? q * ldx + k : k * ldx + q]) / top[k], p);
      s[k] = total;
    });
}

template <class REAL> void SliceArgMax(size_t m, size_t n, const void *X, size_t ldx, int across, double *most, int64_t *place)
{
  const size_t            slices = across ? m : n;
  const Lines<const REAL> sx("SliceArgMax", Reads, X, m, n, ldx);
  const Slices<double>    sm(Writes, most, slices);
  const Slices<int64_t>   sp(Writes, place, slices);
  const REAL             *x     = sx.get();
  double                 *top   = sm.get();
  int64_t                *where = sp.get();

  /* Lines are read by neighbours together; across them neighbours have lines of their own */
  if (!across) {
    Tell("SliceArgMax");
    if (n > 0) Kokkos::parallel_for("SliceArgMax", Teams(Instance(), (int)n, IsHost ? 1 : m <= 1024 ? 32 : 256), LineArgMax<REAL>{x, m, ldx, top, where});
    return;
  }
  Each(
    "SliceArgMax", slices, KOKKOS_LAMBDA(const int64_t k) {
      double  best  = 0;
      int64_t first = -1;

      for (size_t q = 0; q < n; q++) {
        const double a = fabs((double)x[q * ldx + k]);

        if (a > best) {
          best  = a;
          first = (int64_t)q;
        }
      }
      top[k]   = best;
      where[k] = first;
    });
}

template <class REAL> void SliceScale(size_t m, size_t n, const void *X, size_t ldx, int across, const double *f0, const double *f1, void *Y, size_t ldy)
{
  const Slices<const double> s0(Reads, f0, across ? m : n), s1(Reads, f1, across ? m : n);
  const double              *a = s0.get(), *b = s1.get();

  Pass<false, REAL, REAL>(
    "SliceScale", m, n, {X, ldx}, {NULL, 0}, Writes, Y, ldy, KOKKOS_LAMBDA(const REAL x, const REAL, REAL &y, const size_t e)->bool {
      const size_t k = across ? e % m : e / m;

      y = b[k] == 0 ? (REAL)0 : (REAL)(x * a[k] * b[k]);
      return false;
    });
}

template <class REAL> void SliceSign(size_t m, size_t n, const void *X, size_t ldx, int across, const double *f, void *Y, size_t ldy)
{
  const Slices<const double> sf(Reads, f, across ? m : n);
  const double              *factor = sf.get();

  Pass<false, REAL, REAL>(
    "SliceSign", m, n, {X, ldx}, {NULL, 0}, Writes, Y, ldy, KOKKOS_LAMBDA(const REAL x, const REAL, REAL &y, const size_t e)->bool {
      y = SignTimes(x, factor[across ? e % m : e / m]);
      return false;
    });
}

template <class REAL> void SlicePower(size_t m, size_t n, const void *X, size_t ldx, int across, double power, const double *most, const double *f, void *Y, size_t ldy)
{
  const Slices<const double> sm(Reads, most, across ? m : n), sf(Reads, f, across ? m : n);
  const double              *top = sm.get(), *factor = sf.get();

  Pass<false, REAL, REAL>(
    "SlicePower", m, n, {X, ldx}, {NULL, 0}, Writes, Y, ldy, KOKKOS_LAMBDA(const REAL x, const REAL, REAL &y, const size_t e)->bool {
      const size_t k = across ? e % m : e / m;

      y = x == 0 ? (REAL)0 : (REAL)((x > 0 ? factor[k] : -factor[k]) * Power(fabs((double)x) / top[k], power));
      return false;
    });
}

template <class REAL> void SlicePick(size_t m, size_t n, const void *X, size_t ldx, int across, const int64_t *place, const double *f, void *Y, size_t ldy)
{
  const Slices<const int64_t> sp(Reads, place, across ? m : n);
  const Slices<const double>  sf(Reads, f, across ? m : n);
  const int64_t              *where  = sp.get();
  const double               *factor = sf.get();

  Pass<false, REAL, REAL>(
    "SlicePick", m, n, {X, ldx}, {NULL, 0}, Writes, Y, ldy, KOKKOS_LAMBDA(const REAL x, const REAL, REAL &y, const size_t e)->bool {
      const size_t j = e / m, i = e - j * m, k = across ? i : j, q = across ? j : i;

      y = where[k] != (int64_t)q ? (REAL)0 : (REAL)(x > 0 ? factor[k] : -factor[k]);
      return false;
    });
}

template <class REAL> void RankOne(size_t m, size_t n, double a, const double *u, const double *v, void *Y, size_t ldy)
{
  const Slices<const double> su(Reads, u, m), sv(Reads, v, n);
  const double              *along = su.get(), *across = sv.get();

  Pass<false, REAL, REAL>(
    "RankOne", m, n, {NULL, 0}, {NULL, 0}, Writes, Y, ldy, KOKKOS_LAMBDA(const REAL, const REAL, REAL &y, const size_t e)->bool {
      y = (REAL)(a * across[e / m] * along[e % m]);
      return false;
    });
}

MUON_KERNELS_PASSES(MUON_KERNEL_INSTANTIATE)
MUON_KERNELS_NORMS(MUON_KERNEL_INSTANTIATE)

} // namespace muon
