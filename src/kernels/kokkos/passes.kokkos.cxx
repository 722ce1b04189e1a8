/*
   The kernels of passes.c, and those of muonlmokernels.c. Entries, and the sums that those files form
   in blocks, have the host's bits. Norm, Dot and the lengths of vectors sum in another order than the host.
*/
#include "muonkokkos.hpp"
#include <climits>

namespace muon {

#include "../array/passes.c"

namespace {

/* The largest entry of a contiguous vector, by a team, and the first place where it is; NaN is none */
template <class REAL> struct TeamArgMax {
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

} // namespace

template <class REAL> void VectorSums(size_t m, size_t n, const void *X, size_t ldx, int strided, int power, double *sum)
{
  const size_t            vectors = strided ? m : n, length = strided ? n : m;
  const Lines<const REAL> sx("VectorSums", Reads, X, m, n, ldx);
  const Staged<double>    ss(Writes, sum, vectors);
  const REAL             *x = sx.get();
  double                 *s = ss.get();
  Scratch                 scratch(vectors * LANES * sizeof(double));
  double                 *lane = (double *)Raw((char *)scratch.data());

  if (vectors == 0) return;
  Each(
    "VectorSums", vectors * LANES, KOKKOS_LAMBDA(const int64_t t) {
      const size_t k = strided ? (size_t)t % vectors : (size_t)t / LANES, first = strided ? (size_t)t / vectors : (size_t)t % LANES;
      double       total = 0;

      for (size_t q = first; q < length; q += LANES) {
        const double a = (double)x[strided ? q * ldx + k : k * ldx + q];

        total += power == 1 ? fabs(a) : a * a;
      }
      lane[k * LANES + first] = total;
    });
  Each("VectorSums", vectors, FoldLanes{lane, s});
}

template <class REAL> void VectorArgMax(size_t m, size_t n, const void *X, size_t ldx, int strided, double *most, int64_t *place)
{
  const size_t            vectors = strided ? m : n;
  const Lines<const REAL> sx("VectorArgMax", Reads, X, m, n, ldx);
  const Staged<double>    sm(Writes, most, vectors);
  const Staged<int64_t>   sp(Writes, place, vectors);
  const REAL             *x     = sx.get();
  double                 *top   = sm.get();
  int64_t                *where = sp.get();

  /* A contiguous vector is read by neighbours together; of strided ones each has its own */
  if (!strided) {
    Tell("VectorArgMax");
    if (n > 0) Kokkos::parallel_for("VectorArgMax", Teams(Instance(), (int)n, IsHost ? 1 : m <= 1024 ? 32 : 256), TeamArgMax<REAL>{x, m, ldx, top, where});
    return;
  }
  Each(
    "VectorArgMax", vectors, KOKKOS_LAMBDA(const int64_t k) {
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

MUON_KERNELS_PASSES(MUON_KERNEL_INSTANTIATE)
MUON_KERNELS_NORMS(MUON_KERNEL_INSTANTIATE)

} // namespace muon
