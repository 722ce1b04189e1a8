/*
   Linear combinations, norms, what is finite; norms of slices. Twins of passes.c and muonlmokernels.c:
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

template <class REAL> using Other = typename std::conditional<sizeof(REAL) == sizeof(float), double, float>::type;

/* Y = a X + b Y in the precision REAL of its entries, through double where X has another */
template <class REAL, class X> void Combine(const char *kernel, size_t m, size_t n, double a, const void *X0, size_t ldx, double b, void *Y0, size_t ldy)
{
  Flatten(&m, &n, ldx, ldy, ldy);
  const Lines<const X> sx(kernel, Reads, X0, m, n, ldx);
  const Lines<REAL>    sy(kernel, b == 0 ? Writes : Reads | Writes, Y0, m, n, ldy);
  const X             *x = sx.get();
  REAL                *y = sy.get();

  if (sizeof(REAL) != sizeof(X)) {
    Each(
      kernel, m * n, KOKKOS_LAMBDA(const int64_t e) {
        REAL &to = y[At(m, ldy, e)];

        to = b == 0 ? (REAL)(a * (double)x[At(m, ldx, e)]) : (REAL)(a * (double)x[At(m, ldx, e)] + b * (double)to);
      });
  } else {
    const REAL ra = (REAL)a, rb = (REAL)b;
    const bool copy = a == 1 && b == 0, none = b == 0, add = b == 1;

    Each(
      kernel, m * n, KOKKOS_LAMBDA(const int64_t e) {
        const REAL from = (REAL)x[At(m, ldx, e)];
        REAL      &to   = y[At(m, ldy, e)];

        to = copy ? from : none ? ra * from : add ? to + ra * from : ra * from + rb * to;
      });
  }
}

template <class REAL, class X> int Mix(const char *kernel, size_t m, size_t n, double previous, const void *M, size_t ldm, double fresh, const void *G, size_t ldg, void *Z, size_t ldz)
{
  const bool none = previous == 0;

  Flatten(&m, &n, none ? ldg : ldm, ldg, ldz);
  const Lines<const REAL> sm(kernel, Reads, none ? NULL : M, m, n, ldm);
  const Lines<const X>    sg(kernel, Reads, G, m, n, ldg);
  const Lines<REAL>       sz(kernel, Writes, Z, m, n, ldz);
  const REAL             *old = sm.get(), a = (REAL)previous, b = (REAL)fresh;
  const X                *g = sg.get();
  REAL                   *z = sz.get();

  return !Any(
    kernel, m * n, KOKKOS_LAMBDA(const size_t e) {
      const X gradient = g[At(m, ldg, e)];
      REAL    sum;

      if (sizeof(REAL) != sizeof(X)) sum = (REAL)(none ? fresh * (double)gradient : previous * (double)old[At(m, ldm, e)] + fresh * (double)gradient);
      else sum = none ? b * (REAL)gradient : a * old[At(m, ldm, e)] + b * (REAL)gradient;
      z[At(m, ldz, e)] = sum;
      return !IsFinite(sum);
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

  Flatten(&m, &n, ldx, ldd, ldz);
  const Lines<const REAL> sx("Cautious", Reads, X, m, n, ldx), sd("Cautious", Reads, D, m, n, ldd);
  const Lines<REAL>       sz("Cautious", Writes, Z, m, n, ldz);
  const REAL             *x = sx.get(), *d = sd.get();
  REAL                   *z = sz.get();

  return !Any(
    "Cautious", m * n, KOKKOS_LAMBDA(const size_t e) {
      const REAL at = x[At(m, ldx, e)], move = b * d[At(m, ldd, e)], away = (move > 0 && at > 0) || (move < 0 && at < 0) ? at : a * at, sum = away + move;

      z[At(m, ldz, e)] = sum;
      return !IsFinite(sum);
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
  Flatten(&m, &n, ldx, ldy, ldy);
  const Lines<const REAL> sx("Divide", Reads, X, m, n, ldx);
  const Lines<REAL>       sy("Divide", Writes, Y, m, n, ldy);
  const REAL             *x = sx.get();
  REAL                   *y = sy.get();
  double                  f[2];

  PowerOfTwo(exponent, f);
  const double f0 = f[0], f1 = f[1];
  Each(
    "Divide", m * n, KOKKOS_LAMBDA(const int64_t e) { y[At(m, ldy, e)] = (REAL)(x[At(m, ldx, e)] * f0 * f1 / norm); });
}

template <class REAL> void Sign(size_t m, size_t n, double s, const void *X, size_t ldx, void *Y, size_t ldy)
{
  Flatten(&m, &n, ldx, ldy, ldy);
  const Lines<const REAL> sx("Sign", Reads, X, m, n, ldx);
  const Lines<REAL>       sy("Sign", Writes, Y, m, n, ldy);
  const REAL             *x = sx.get(), size = (REAL)fabs(s);
  REAL                   *y    = sy.get();
  const int               sign = s < 0 ? -1 : 1;

  Each(
    "Sign", m * n, KOKKOS_LAMBDA(const int64_t e) {
      const REAL a = x[At(m, ldx, e)];

      y[At(m, ldy, e)] = size * (REAL)(sign * ((a > 0) - (a < 0)));
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
  const Lines<const REAL>    sx("SliceScale", Reads, X, m, n, ldx);
  const Lines<REAL>          sy("SliceScale", Writes, Y, m, n, ldy);
  const Slices<const double> s0(Reads, f0, across ? m : n), s1(Reads, f1, across ? m : n);
  const REAL                *x = sx.get();
  const double              *a = s0.get(), *b = s1.get();
  REAL                      *y = sy.get();

  Each(
    "SliceScale", m * n, KOKKOS_LAMBDA(const int64_t e) {
      const size_t j = (size_t)e / m, i = (size_t)e - j * m, k = across ? i : j;

      y[j * ldy + i] = b[k] == 0 ? (REAL)0 : (REAL)(x[j * ldx + i] * a[k] * b[k]);
    });
}

template <class REAL> void SliceSign(size_t m, size_t n, const void *X, size_t ldx, int across, const double *f, void *Y, size_t ldy)
{
  const Lines<const REAL>    sx("SliceSign", Reads, X, m, n, ldx);
  const Lines<REAL>          sy("SliceSign", Writes, Y, m, n, ldy);
  const Slices<const double> sf(Reads, f, across ? m : n);
  const REAL                *x      = sx.get();
  const double              *factor = sf.get();
  REAL                      *y      = sy.get();

  Each(
    "SliceSign", m * n, KOKKOS_LAMBDA(const int64_t e) {
      const size_t j = (size_t)e / m, i = (size_t)e - j * m;
      const REAL   a = x[j * ldx + i];
      const double b = factor[across ? i : j];

      y[j * ldy + i] = (REAL)fabs(b) * (REAL)((b < 0 ? -1 : 1) * ((a > 0) - (a < 0)));
    });
}

template <class REAL> void SlicePower(size_t m, size_t n, const void *X, size_t ldx, int across, double power, const double *most, const double *f, void *Y, size_t ldy)
{
  const Lines<const REAL>    sx("SlicePower", Reads, X, m, n, ldx);
  const Lines<REAL>          sy("SlicePower", Writes, Y, m, n, ldy);
  const Slices<const double> sm(Reads, most, across ? m : n), sf(Reads, f, across ? m : n);
  const REAL                *x   = sx.get();
  const double              *top = sm.get(), *factor = sf.get();
  REAL                      *y = sy.get();

  Each(
    "SlicePower", m * n, KOKKOS_LAMBDA(const int64_t e) {
      const size_t j = (size_t)e / m, i = (size_t)e - j * m, k = across ? i : j;
      const REAL   a = x[j * ldx + i];

      y[j * ldy + i] = a == 0 ? (REAL)0 : (REAL)((a > 0 ? factor[k] : -factor[k]) * Power(fabs((double)a) / top[k], power));
    });
}

template <class REAL> void SlicePick(size_t m, size_t n, const void *X, size_t ldx, int across, const int64_t *place, const double *f, void *Y, size_t ldy)
{
  const Lines<const REAL>     sx("SlicePick", Reads, X, m, n, ldx);
  const Lines<REAL>           sy("SlicePick", Writes, Y, m, n, ldy);
  const Slices<const int64_t> sp(Reads, place, across ? m : n);
  const Slices<const double>  sf(Reads, f, across ? m : n);
  const REAL                 *x      = sx.get();
  const int64_t              *where  = sp.get();
  const double               *factor = sf.get();
  REAL                       *y      = sy.get();

  Each(
    "SlicePick", m * n, KOKKOS_LAMBDA(const int64_t e) {
      const size_t j = (size_t)e / m, i = (size_t)e - j * m, k = across ? i : j, q = across ? j : i;

      y[j * ldy + i] = where[k] != (int64_t)q ? (REAL)0 : (REAL)(x[j * ldx + i] > 0 ? factor[k] : -factor[k]);
    });
}

template <class REAL> void RankOne(size_t m, size_t n, double a, const double *u, const double *v, void *Y, size_t ldy)
{
  const Lines<REAL>          sy("RankOne", Writes, Y, m, n, ldy);
  const Slices<const double> su(Reads, u, m), sv(Reads, v, n);
  const double              *along = su.get(), *across = sv.get();
  REAL                      *y = sy.get();

  Each(
    "RankOne", m * n, KOKKOS_LAMBDA(const int64_t e) {
      const size_t j = (size_t)e / m, i = (size_t)e - j * m;

      y[j * ldy + i] = (REAL)(a * across[j] * along[i]);
    });
}

MUON_KERNELS_PASSES(MUON_KERNEL_INSTANTIATE)
MUON_KERNELS_NORMS(MUON_KERNEL_INSTANTIATE)

} // namespace muon
