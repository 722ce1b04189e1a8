"""Linear minimization oracles recomputed by numpy from the matrices that tests/lmo_ball.c wrote.

cases.txt has a line "norm spectrum rows columns eps primal dual" for each triple G<i>.f64, D<i>.f64, S<i>.f64 of column-major doubles: the matrix, the
minimizer over the unit ball and the sharp operator.
"""
import os
import sys

import numpy as np


def oracle(norm, g, eps):
    """Norm, dual norm and minimizer, which is None where it depends on the rank that rounding gives."""
    if norm == "max":
        return np.abs(g).max(), np.abs(g).sum(), -np.sign(g)
    if norm == "frobenius":
        f = np.linalg.norm(g)
        return f, f, -g / f if f > 0 else 0 * g
    u, s, vt = np.linalg.svd(g, full_matrices=False)
    rank = int((s > max(g.shape) * eps * s[0]).sum())
    return s[0], s.sum(), -(u[:, :rank] @ vt[:rank])


def main():
    folder = sys.argv[1]
    seen = {}
    for i, line in enumerate(open(os.path.join(folder, "cases.txt"))):
        norm, spectrum, m, n, eps, primal, dual = line.split()
        m, n, eps, primal, dual = int(m), int(n), float(eps), float(primal), float(dual)
        g, d, s = (np.fromfile(os.path.join(folder, f"{x}{i}.f64")).reshape((m, n), order="F") for x in "GDS")
        p, q, e = oracle(norm, g, eps)
        size = max(np.linalg.norm(g), np.finfo(float).tiny)
        # Sums of m n terms, and LAPACK's factors of two precisions
        bound = 8 * (m + n) * min(m, n) * eps
        assert abs(primal - p) <= bound * size, (line, p)
        assert abs(dual - q) <= bound * size + m * n * eps * q, (line, q)
        assert np.linalg.norm(s + q * d) <= (bound + m * n * eps) * np.linalg.norm(s), line
        if norm == "spectral" and spectrum != "zero":
            sigma = np.linalg.svd(g, compute_uv=False)
            smallest = sigma[sigma > max(m, n) * eps * sigma[0]][-1]
            bound = 16 * (m + n) * eps * sigma[0] / smallest
        assert np.linalg.norm(d - e) <= bound * max(1, np.linalg.norm(e)), (line, np.linalg.norm(d - e), bound)
        seen[norm] = seen.get(norm, 0) + 1
    assert len(seen) == 3 and min(seen.values()) >= 50, seen


main()
