"""Linear minimization oracles recomputed by numpy from the matrices that tests/lmo_ball.c wrote.

cases.txt has a line "kind p q spectrum rows columns rowmajor eps real primal dual" for each triple of matrices in data.f64, column-major doubles: the matrix, the
minimizer over the unit ball and the result of the sharp operator; rowmajor tells the order in which the library had the entries; eps is the roundoff of
entries, real that of norms. Kind 0 is the p-norm of the singular values, 1 the q-norm of the p-norms of the columns, 2 that of the rows.
"""
import os
import sys

import numpy as np


def conjugate(p):
    return np.inf if p == 1 else 1.0 if np.isinf(p) else p / (p - 1)


def norm(x, p):
    """The p-norm of a vector, scaled."""
    most = np.abs(x).max()
    return most if np.isinf(p) or most == 0 else most * ((np.abs(x) / most) ** p).sum() ** (1 / p)


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
    primal = norm(np.array([norm(x, p) for x in g.T]), q)
    c = np.array([norm(x, conjugate(p)) for x in g.T])
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


def main():
    folder = sys.argv[1]
    seen = {}
    compared = 0
    data = np.fromfile(os.path.join(folder, "data.f64"))
    for line in open(os.path.join(folder, "cases.txt")):
        kind, p, q, spectrum, m, n, rowmajor, eps, real, primal, dual = line.split()
        kind, p, q, m, n, rowmajor, eps, real, primal, dual = int(kind), float(p), float(q), int(m), int(n), int(rowmajor), float(eps), float(real), float(primal), float(dual)
        g, d, s = (x.reshape((m, n), order="F") for x in np.split(data[: 3 * m * n], 3))
        data = data[3 * m * n :]
        size = max(np.linalg.norm(g), np.finfo(float).tiny)
        if kind == 0:
            a, b, e = singular(p, g, eps)
            sigma = np.linalg.svd(g, compute_uv=False)
            bound = 16 * (m + n) * slack(p, sigma[sigma > max(m, n) * eps * sigma[0]], eps)
        else:
            a, b, e = mixed(p, q, g, rowmajor, eps, d) if kind == 1 else mixed(p, q, g.T, rowmajor, eps, d.T)
            e = e if kind == 1 else e.T
            # A quotient that is off by eps is that much off, times the power that it is raised to
            powers = [1 / (x - 1) if 1 < x < np.inf else 1 for x in (p, q)]
            bound = 8 * (m + n) * eps * max(1, *powers)
        # Sums of m n terms, and LAPACK's factors of two precisions
        values = 8 * (m + n) * min(m, n) * real
        assert abs(primal - a) <= values * size + m * n * real * a, (line, a)
        assert abs(dual - b) <= values * size + m * n * real * b, (line, b)
        assert np.linalg.norm(s + b * d) <= (values + m * n * real) * max(np.linalg.norm(s), size), line
        if np.isfinite(bound):
            assert np.linalg.norm(d - e) <= bound * max(1, np.linalg.norm(e)), (line, np.linalg.norm(d - e), bound)
            compared += 1
        seen[kind, p, q] = seen.get((kind, p, q), 0) + 1
    assert data.size == 0, data.size
    assert len(seen) >= 20 and min(seen.values()) >= 90, seen
    assert compared > 0.9 * sum(seen.values()), (compared, seen)


if __name__ == "__main__":
    main()
