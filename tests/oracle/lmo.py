"""Linear minimization oracles recomputed by numpy from the matrices that tests/lmo_ball.c wrote.

cases.txt has a line "kind p q exact spectrum rows columns variant eps real primal dual" for each triple of matrices in data.f64, column-major doubles: the matrix, the
minimizer over the unit ball and the result of the sharp operator; variant tells the precision and the order in which the library had the entries; eps is the roundoff of
entries, real that of norms. Kind 0 is the p-norm of the singular values, 1 the q-norm of the p-norms of the columns, 2 that of the rows; exact: the minimizer has the entries 0, 1 and -1 only.
"""
import os
import sys

import numpy as np

def conjugate(p):
    return np.inf if p == 1 else 1.0 if np.isinf(p) else p / (p - 1)

def norm(x, p):
    """The p-norm of a vector, or of each column, scaled."""
    most = np.abs(x).max(axis=0)
    return most if np.isinf(p) else most * ((np.abs(x) / np.where(most > 0, most, 1)) ** p).sum(axis=0) ** (1 / p)

def norm_of(kind, p, q, x):
    return norm(np.linalg.svd(x, compute_uv=False), p) if kind == 0 else norm(norm(x if kind == 1 else x.T, p), q)

def phase(x):
    """The sign, of complex numbers, too; 0 of 0."""
    return x / np.maximum(np.abs(x), np.finfo(float).tiny)

def dual_vector(x, p, largest=None):
    """The maximizer of <x, w> over the unit ball of the p-norm: of several largest the first, where there are several, or the one that is given."""
    w = np.zeros_like(x)
    c = norm(x, conjugate(p))
    if c == 0:
        return w
    if p == 1:
        i = np.abs(x).argmax() if largest is None else largest
        w[i] = phase(x[i])
        return w
    # The power before the product, so that 0^0 is not taken
    nonzero = x != 0
    w[nonzero] = phase(x[nonzero]) * np.exp(np.log(np.abs(x[nonzero]) / c) / (p - 1) if np.isfinite(p) else 0.0)
    return w

def mixed(p, q, g, rowmajor, eps, found):
    """Norm, dual norm and minimizer of the q-norm of the p-norms of the columns. Where these are equal but for rounding, found may have any of the largest."""
    primal, c = norm(norm(g, p), q), norm(g, conjugate(p))
    if p == 1 and q == 1:
        # The first in the order of the memory, by columns
        d = np.zeros_like(g)
        i = np.unravel_index(np.abs(g).argmax() if rowmajor else np.abs(g).ravel(order="F").argmax(), g.shape, order="C" if rowmajor else "F")
        d[i] = -phase(g[i])
    else:
        tie = np.linalg.norm(found, axis=0).argmax()
        tie = tie if p != 1 and c[tie] >= c.max() * (1 - 8 * sum(g.shape) * eps) else None
        d = -np.stack([dual_vector(x, p) for x in g.T], axis=1) * dual_vector(c, q, tie)
    return primal, norm(c, conjugate(q)), d

def singular(p, g, eps):
    u, s, vt = np.linalg.svd(g, full_matrices=False)
    rank = int((s > max(g.shape) * eps * s[0]).sum())
    return norm(s, p), norm(s, conjugate(p)), -(u[:, :rank] * dual_vector(s[:rank], p)) @ vt[:rank] if rank else 0 * g

def slack(p, kept, eps):
    """How far a minimizer of the singular values' norm may be off: factors turn by a few eps over the gap between the singular values that weigh unlike, or over the smallest where all weigh 1."""
    if len(kept) == 0:
        return 0.0
    if np.isinf(p):
        return eps * kept[0] / kept[-1]
    if p == 1:
        return np.inf if len(kept) > 1 and kept[1] > 0.7 * kept[0] else eps * kept[0] / (kept[0] - (kept[1] if len(kept) > 1 else 0.0))
    # The derivative of sigma^(1/(p-1)) is largest at the largest for an exponent above 1, else at the smallest
    power = 1 / (p - 1)
    return eps * max(power, 1) * (1.0 if power >= 1 else (kept[0] / kept[-1]) ** (1 - power))

def check_ball(kind, p, q, exact, single, eps, real, g, d, s, primal, dual, random):
    """The minimizer is in the ball, at the value of minus the dual norm; no random point of the ball, and none near the minimizer, has a smaller inner product."""
    (m, n), size, truth = g.shape, norm_of(kind, p, q, g), norm_of(kind, conjugate(p), conjugate(q), g)
    # Entries of d are at most 1 and a few roundings off: their products with g are eps of the absolute sum off, times what sums of mn terms add; LAPACK's factors add (m + n) eps s sigma_1
    bound = eps * (8 * (m + n) * min(m, n) * np.linalg.norm(g, 2) if kind == 0 else 4 * truth) + eps * m * n * np.abs(g).sum() * (0.1 if single else 1.0)
    slack, value, length = 8 * (m + n) * eps, (g * d).sum(), norm_of(kind, p, q, d)
    assert length <= 1 + slack and (length == 0 if truth == 0 else length >= 1 - slack), ('||D||', length)
    assert abs(value + truth) <= bound, ('<G,D>', value, truth)
    if kind > 0:
        assert not d[g == 0].any() and (g * d <= 0).all() and (not exact or set(np.abs(d).flat) <= {0.0, 1.0}), 'signs'
    for trial in range(6):
        z = random.standard_normal(g.shape)
        z = d + 0.01 * z if trial % 2 else z
        assert (g * z).sum() / norm_of(kind, p, q, z) >= value - bound, 'a point of the ball is better'
    assert abs(primal - size) <= bound + 4 * real * size, ('norm', size)
    assert abs(dual - truth) <= bound + 4 * (real - eps) * truth, ('dual norm', truth)
    # G# = -dual D, <G,G#> = dual^2 = ||G#||^2
    assert np.linalg.norm(s + truth * d) <= bound * np.linalg.norm(d) + 4 * real * truth * np.linalg.norm(d), 'the sharp operator'
    assert abs((g * s).sum() - truth**2) <= (2 * bound + 2 * slack / eps * real * truth) * truth, '<G,G#>'
    assert abs(norm_of(kind, p, q, s) - truth) <= bound + 2 * slack / eps * real * truth, '||G#||'

def main():
    folder = sys.argv[1]
    seen = {}
    compared = 0
    random = np.random.default_rng(1)
    data = np.fromfile(os.path.join(folder, "data.f64"))
    for line in open(os.path.join(folder, "cases.txt")):
        kind, p, q, exact, spectrum, m, n, variant, eps, real, primal, dual = line.split()
        kind, exact, m, n, variant = int(kind), int(exact), int(m), int(n), int(variant)
        p, q, eps, real, primal, dual = float(p), float(q), float(eps), float(real), float(primal), float(dual)
        g, d, s = (x.reshape((m, n), order="F") for x in np.split(data[: 3 * m * n], 3))
        data = data[3 * m * n :]
        try:
            check_ball(kind, p, q, exact, variant in (1, 2), eps, real, g, d, s, primal, dual, random)
        except AssertionError as error:
            sys.exit("%s%s" % (line, error))
        if kind == 0:
            e = singular(p, g, eps)[2]
            sigma = np.linalg.svd(g, compute_uv=False)
            bound = 16 * (m + n) * slack(p, sigma[sigma > max(m, n) * eps * sigma[0]], eps)
        else:
            e = mixed(p, q, g, variant in (2, 4), eps, d)[2] if kind == 1 else mixed(p, q, g.T, variant in (2, 4), eps, d.T)[2].T
            # A quotient that is off by eps is that much off, times the power that it is raised to
            powers = [1 / (x - 1) if 1 < x < np.inf else 1 for x in (p, q)]
            bound = 8 * (m + n) * eps * max(1, *powers)
        if np.isfinite(bound):
            assert np.linalg.norm(d - e) <= bound * max(1, np.linalg.norm(e)), (line, np.linalg.norm(d - e), bound)
            compared += 1
        seen[kind, p, q] = seen.get((kind, p, q), 0) + 1
    assert data.size == 0, data.size
    assert len(seen) >= 20 and min(seen.values()) >= 90, seen
    assert compared > 0.9 * sum(seen.values()), (compared, seen)

if __name__ == "__main__":
    main()
