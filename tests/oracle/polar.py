"""Polar factors recomputed by numpy from the matrices that tests/polar_coefficients.c wrote.

cases.txt has a line "spectrum method steps rows columns eps" for each pair G<i>.f64, Q<i>.f64 of column-major doubles. The method is svd, or the name of
polynomials for Newton-Schulz. The factor is recomputed without a singular value decomposition of G where that is possible: the iteration with full matrix
products for the polynomials, eigenvectors of the Gram matrix where G is well conditioned.
"""
import os
import sys

import numpy as np

POLYNOMIALS = {"kj": (3.4445, -4.7750, 2.0315), "quintic": (15 / 8, -10 / 8, 3 / 8), "cubic": (3 / 2, -1 / 2, 0.0)}


def newton_schulz(g, coefficients, steps):
    """Plain products with the long side inside, transposed to rows <= columns."""
    norm = np.linalg.norm(g)
    if norm == 0:
        return np.zeros_like(g)
    y = g / norm
    if g.shape[0] > g.shape[1]:
        y = y.T
    a, b, c = coefficients
    for _ in range(steps):
        r = y @ y.T
        y = a * y + (b * r + c * (r @ r)) @ y
    return y.T if g.shape[0] > g.shape[1] else y


def polar(g, eps):
    u, s, vt = np.linalg.svd(g, full_matrices=False)
    if s[0] == 0:
        return np.zeros_like(g), 0, s
    rank = int((s > max(g.shape) * eps * s[0]).sum())
    return u[:, :rank] @ vt[:rank], rank, s


def polar_by_eigenvalues(g):
    """g (g^T g)^(-1/2), for full rank only."""
    if g.shape[0] < g.shape[1]:
        return polar_by_eigenvalues(g.T).T
    w, v = np.linalg.eigh(g.T @ g)
    return g @ (v / np.sqrt(w)) @ v.T


def slope(coefficients, steps):
    """Largest factor by which an error made before any step has grown at the end."""
    a, b, c = coefficients
    most = 1.0
    x = np.linspace(0, 1, 2001)
    slopes = []
    for _ in range(steps):
        slopes.append(np.abs(a + 3 * b * x**2 + 5 * c * x**4))
        x = a * x + b * x**3 + c * x**5
    product = np.ones_like(x)
    for s in reversed(slopes):
        product = product * s
        most = max(most, product.max())
    return most


def main():
    folder = sys.argv[1]
    count = by_eigenvalues = 0
    for i, line in enumerate(open(os.path.join(folder, "cases.txt"))):
        spectrum, method, steps, m, n, eps = line.split()
        steps, m, n, eps = int(steps), int(m), int(n), float(eps)
        g = np.fromfile(os.path.join(folder, f"G{i}.f64")).reshape((m, n), order="F")
        q = np.fromfile(os.path.join(folder, f"Q{i}.f64")).reshape((m, n), order="F")
        assert np.isfinite(q).all()
        if spectrum == "zero":
            assert not q.any(), "a zero matrix has the factor zero"
        elif method == "svd":
            expected, rank, s = polar(g, eps)
            bound = 16 * (m + n) * eps * s[0] / s[rank - 1]
            assert np.linalg.norm(q - expected) <= bound, (line, np.linalg.norm(q - expected), bound)
            assert abs((q * g).sum() - s[:rank].sum()) <= 16 * (m + n) * eps * min(m, n) * s[0], line
            if rank == min(m, n) and s[-1] > 1e-3 * s[0]:
                expected = polar_by_eigenvalues(g)
                bound = 16 * (m + n) * (eps + np.finfo(float).eps * (s[0] / s[-1]) ** 2) * s[0] / s[-1]
                assert np.linalg.norm(q - expected) <= bound, (line, np.linalg.norm(q - expected), bound)
                by_eigenvalues += 1
        else:
            expected = newton_schulz(g, POLYNOMIALS[method], steps)
            bound = 4 * (m + n) * eps * (steps + 1) * slope(POLYNOMIALS[method], steps)
            assert np.linalg.norm(q - expected) <= bound, (line, np.linalg.norm(q - expected), bound)
        count += 1
    assert count >= 50, f"only {count} cases"
    assert method != "svd" or by_eigenvalues >= 10, f"only {by_eigenvalues} cases by eigenvalues"


main()
