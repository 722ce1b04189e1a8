"""Polar factors and polynomials of Newton-Schulz recomputed by numpy from the matrices that tests/polar_coefficients.c wrote.

    polar_coefficients.py DIR          all sets, one after the other
    polar_coefficients.py DIR one      one method on all spectra; gram: the polynomials on the Gram matrix

cases.txt has a line "spectrum set steps rows columns eps" for each pair G<i>.f64, Q<i>.f64 of column-major doubles; the set svd is the exact factor, and each column of the spectrum scan a diagonal matrix. Where rows of a table can be derived, they are: those of
Polar Express by the greedy construction of their paper, a best odd polynomial of degree five on one interval after the other.
"""
import os
import sys

import numpy as np

KJ = (3.4445, -4.7750, 2.0315)
POLAREXPRESS = [
    (8.28721201814563, -23.595886519098837, 17.300387312530933),
    (4.107059111542203, -2.9478499167379106, 0.5448431082926601),
    (3.9486908534822946, -2.908902115962949, 0.5518191394370137),
    (3.3184196573706015, -2.488488024314874, 0.51004894012372),
    (2.300652019954817, -1.6689039845747493, 0.4188073119525673),
    (1.891301407787398, -1.2679958271945868, 0.37680408948524835),
    (1.8750014808534479, -1.2500016453999487, 0.3750001645474248),
    (1.875, -1.25, 0.375),
]
YOU = [(4.0848, -6.8946, 2.9270), (3.9505, -6.3029, 2.6377), (3.7418, -5.5913, 2.3037), (2.8769, -3.1427, 1.2046), (2.8366, -3.0525, 1.2012)]
MODDED = [
    (8.156554524902461, -22.48329292557795, 15.878769915207462),
    (4.042929935166739, -2.808917465908714, 0.5000178451051316),
    (3.8916678022926607, -2.772484153217685, 0.5060648178503393),
    (3.285753657755655, -2.3681294933425376, 0.46449024233003106),
    (2.3465413258596377, -1.7097828382687081, 0.42323551169305323),
]
EMERGING = [
    (8.2051, -22.9019, 16.4607),
    (4.0664, -2.8612, 0.5184),
    (3.9096, -2.8234, 0.5250),
    (3.2856, -2.4153, 0.4853),
    (2.2779, -1.6198, 0.3985),
    (1.8726, -1.2307, 0.3585),
    (1.8564, -1.2132, 0.3568),
    (1.8750, -1.25, 0.375),
]
CANS = [(8.4703, -25.1081, 18.6293), (4.1828, -3.1087, 0.5806), (3.9619, -2.9541, 0.5630), (3.2866, -2.4647, 0.5074), (2.2737, -1.6447, 0.4162)]
AOL = [(4.0098, -7.0585, 2.4635), (3.4585, -5.5479, 2.5959), (2.7573, -3.2939, 1.4254), (2.7215, -3.0494, 1.3169)]
CUBIC5 = [(3.3656576, -3.3420992, 0.0), (2.5744352, -1.4957376, 0.0), (2.5368962, -1.4312570, 0.0), (2.4418906, -1.2764040, 0.0), (2.2230472, -0.9630650, 0.0)]

def divided(row, f):
    return row[0] / f, row[1] / f**3, row[2] / f**5

# rows, cycle, factor of the norm
SETS = {
    "kj": ([KJ], False, 1.0),
    "quintic": ([(15 / 8, -10 / 8, 3 / 8)], False, 1.0),
    "cubic": ([(3 / 2, -1 / 2, 0.0)], False, 1.0),
    "you": (YOU, True, 1.0),
    "polarexpress": ([divided(r, 1.01) for r in POLAREXPRESS[:-1]] + POLAREXPRESS[-1:], False, 1.01),
    "pe105": ([divided(r, 1.05) for r in POLAREXPRESS[:5]], False, 1.0),
    "modded": (MODDED, False, 1.02),
    "emerging": (EMERGING, False, 1.0),
    "cans": (CANS, False, 1.0),
    "aol": (AOL, True, 1.0),
    "deepseekv4": ([KJ] * 8 + [(2.0, -1.5, 0.5)] * 2, False, 1.0),
    "cubic5": (CUBIC5, True, 1.0),
}

# The least and the largest value for sigma / ||G||_F in [l,1], l = 0.1, 0.01, 0.001; three digits
RANGES = {
    ("kj", 5): (.682, 1.134, .682, 1.134, .471, 1.202), ("quintic", 5): (.996, 1, .228, 1, .023, 1), ("quintic", 10): (1, 1, 1, 1, .499, 1), ("cubic", 5): (.659, 1, .076, 1, .008, 1),
    ("cubic", 15): (1, 1, 1, 1, .417, 1), ("you", 5): (.978, 1.032, .978, 1.032, .475, 1.145), ("polarexpress", 5): (.870, 1.124, .870, 1.124, .840, 1.124),
    ("polarexpress", 6): (.997, 1.001, .997, 1.001, .993, 1.001), ("polarexpress", 10): (1, 1, 1, 1, 1, 1), ("pe105", 5): (.846, 1.124, .846, 1.124, .729, 1.124),
    ("modded", 5): (.859, 1.141, .859, 1.141, .847, 1.141), ("emerging", 5): (.870, 1.124, .870, 1.124, .846, 1.124), ("cans", 5): (.884, 1.120, .884, 1.120, .884, 1.120),
    ("deepseekv4", 10): (1, 1.0005, 1, 1.0005, 1, 1.0005), ("cubic5", 5): (.774, 1.3, .774, 1.3, .119, 1.3),
}

def row(name, step):
    rows, cycle, _ = SETS[name]
    return rows[step % len(rows) if cycle else min(step, len(rows) - 1)]

def iterate(y, rows):
    """And the largest product of slopes along the way."""
    values = np.linalg.svd(y, compute_uv=False)
    slope = np.ones_like(values)
    for a, b, c in rows:
        r = y @ y.T
        y = a * y + (b * r + c * (r @ r)) @ y
        slope *= np.maximum(np.abs(a + 3 * b * values**2 + 5 * c * values**4), 1)
        values = a * values + b * values**3 + c * values**5
    return y, slope.max()

def newton_schulz(g, name, steps):
    y = g / (np.linalg.norm(g) * SETS[name][2])
    if g.shape[0] >= g.shape[1]:
        y = y.T
    if name == "aol":
        y = y / np.sqrt(np.abs(y @ y.T).sum(axis=1))[:, None]
        assert np.linalg.norm(y, 2) <= 1 + 1e-12
    y, slope = iterate(y, [row(name, step) for step in range(steps)])
    return (y.T if g.shape[0] >= g.shape[1] else y), slope

def check_scan(g, q, name, steps, eps, line):
    """Of diagonal matrices, a column each. A step makes less than 16 eps times the sum of its terms without their signs, and enlarges what was there by its slope."""
    sigma = g / np.sqrt((g * g).sum(axis=0))
    x, error = sigma / SETS[name][2], 16 * eps
    for step in range(steps):
        a, b, c = row(name, step)
        error = error * np.abs(a + 3 * b * x**2 + 5 * c * x**4) + 16 * eps * (np.abs(a * x) + np.abs(b * x**3) + np.abs(c * x**5))
        x = a * x + b * x**3 + c * x**5
    assert (np.abs(q - x) <= error).all(), (line, np.abs(q - x).max())
    if g.shape[1] > 1:
        found = [f(q[sigma >= l * (1 - 1e-9)]) for l in (0.1, 0.01, 0.001) for f in (np.min, np.max)]
        # The scan leaves out at most the peak between two of its points
        assert np.allclose(found, RANGES[name, steps], rtol=0, atol=2e-3), (line, found)

def remez(lower, upper):
    """The odd polynomial of degree five closest to one on [lower, upper], and its error, by exchange of the two extrema inside."""
    q, r = (3 * lower + upper) / 4, (lower + 3 * upper) / 4
    for _ in range(100):
        points = np.array([lower, q, r, upper])
        a, b, c, error = np.linalg.solve(np.column_stack([points, points**3, points**5, [1, -1, 1, -1]]), np.ones(4))
        q, r = np.sqrt((-3 * b + np.array([-1, 1]) * np.sqrt(9 * b * b - 20 * a * c)) / (10 * c))
    return (a, b, c), error

def greedy(lower, count, cushion=0.02407327424182761):
    """The construction of the Polar Express paper: intervals whose ratio is below the cushion are treated as if it were the cushion, and then recentred."""
    upper, rows = 1.0, []
    for _ in range(count):
        (a, b, c), _ = remez(max(lower, cushion * upper), upper)
        low = a * lower + b * lower**3 + c * lower**5
        high = a * upper + b * upper**3 + c * upper**5
        scale = 2 / (low + high)
        rows.append((a * scale, b * scale, c * scale))
        lower, upper = low * scale, 2 - low * scale
    return rows

def polar(g, eps):
    u, s, vt = np.linalg.svd(g, full_matrices=False)
    rank = int((s > max(g.shape) * eps * s[0]).sum())
    return u[:, :rank] @ vt[:rank], rank, s

def polar_by_eigenvalues(g):
    """g (g^T g)^(-1/2), for full rank only."""
    if g.shape[0] < g.shape[1]:
        return polar_by_eigenvalues(g.T).T
    w, v = np.linalg.eigh(g.T @ g)
    return g @ (v / np.sqrt(w)) @ v.T

def check_exact(g, q, eps, line):
    """Whether the matrix is well conditioned, so that a second way to the factor was taken."""
    (m, n), (expected, rank, s) = g.shape, polar(g, eps)
    assert np.linalg.norm(q - expected) <= 16 * (m + n) * eps * s[0] / s[rank - 1], line
    assert abs((q * g).sum() - s[:rank].sum()) <= 16 * (m + n) * eps * min(m, n) * s[0], line
    if rank < min(m, n) or s[-1] <= 1e-3 * s[0]:
        return False
    assert np.linalg.norm(q - polar_by_eigenvalues(g)) <= 16 * (m + n) * (eps + np.finfo(float).eps * (s[0] / s[-1]) ** 2) * s[0] / s[-1], line
    return True

def main():
    folder, gram = sys.argv[1], sys.argv[2:] == ["gram"]
    for derived, printed in zip(greedy(1e-3, 6), POLAREXPRESS):
        assert np.allclose(derived, printed, rtol=1e-7, atol=0), (derived, printed)
    assert np.allclose([divided(r, 1.01) for r in POLAREXPRESS[:7]], EMERGING[:7], rtol=0, atol=1e-4)
    count = by_eigenvalues = 0
    for i, line in enumerate(open(os.path.join(folder, "cases.txt"))):
        spectrum, name, steps, m, n, eps = line.split()
        steps, m, n, eps = int(steps), int(m), int(n), float(eps)
        g = np.fromfile(os.path.join(folder, f"G{i}.f64")).reshape((m, n), order="F")
        q = np.fromfile(os.path.join(folder, f"Q{i}.f64")).reshape((m, n), order="F")
        count += 1
        if spectrum == "scan":
            check_scan(g, q, name, steps, eps, line)
            continue
        if not g.any():
            assert not q.any(), "a zero matrix has the factor zero: " + line
            continue
        if name == "svd":
            by_eigenvalues += check_exact(g, q, eps, line)
            continue
        expected, slope = newton_schulz(g, name, steps)
        # Each step rounds as a product does, a modest multiple of (m + n) eps, and what follows enlarges that as the largest product of slopes. The Gram matrix has the squares of the singular values
        bound = 4 * (m + n) * eps * (steps + 1) * slope if not gram else 1e4 * (m + n) * eps
        assert np.linalg.norm(q - expected) <= bound, (line, np.linalg.norm(q - expected), bound)
        assert bound < 1e-4 or eps > 1e-10, (line, bound)
    assert count == (64 if sys.argv[2:] else 368 + 70), f"{count} cases"
    assert name != "svd" or by_eigenvalues >= 10, f"only {by_eigenvalues} cases by eigenvalues"

if __name__ == "__main__":
    main()
