"""Polar factors of every type recomputed by numpy from the matrices that tests/polar_oracle.c wrote.

cases.txt has, for each matrix, a line "case kind rows columns eps parameters" and what MuonPolarView says of the object after it made the factor; matrices.f64 has both, column-major doubles. Where rows of
a table of polynomials can be derived, they are: those of Polar Express by the greedy construction of their paper, a best odd polynomial of degree five on one interval after the other.
"""
import collections
import os
import re
import sys

import numpy as np

from philox import Stream

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
# Of the result where sigma / ||G||_F is in [l,1], l = 0.1, 0.01, 0.001, to three digits
RANGES = {
    ("kj", 5): [(0.682, 1.134), (0.682, 1.134), (0.471, 1.202)],
    ("quintic", 5): [(0.996, 1), (0.228, 1), (0.023, 1)],
    ("quintic", 10): [(1, 1), (1, 1), (0.499, 1)],
    ("cubic", 5): [(0.659, 1), (0.076, 1), (0.008, 1)],
    ("cubic", 15): [(1, 1), (1, 1), (0.417, 1)],
    ("you", 5): [(0.978, 1.032), (0.978, 1.032), (0.475, 1.145)],
    ("polarexpress", 5): [(0.870, 1.124), (0.870, 1.124), (0.840, 1.124)],
    ("polarexpress", 6): [(0.997, 1.001), (0.997, 1.001), (0.993, 1.001)],
    ("polarexpress", 10): [(1, 1), (1, 1), (1, 1)],
    ("pe105", 5): [(0.846, 1.124), (0.846, 1.124), (0.729, 1.124)],
    ("modded", 5): [(0.859, 1.141), (0.859, 1.141), (0.847, 1.141)],
    ("emerging", 5): [(0.870, 1.124), (0.870, 1.124), (0.846, 1.124)],
    ("cans", 5): [(0.884, 1.120), (0.884, 1.120), (0.884, 1.120)],
    ("deepseekv4", 10): [(1, 1.0005), (1, 1.0005), (1, 1.0005)],
    ("cubic5", 5): [(0.774, 1.3), (0.774, 1.3), (0.119, 1.3)],
}


def divided(row, f):
    return row[0] / f, row[1] / f**3, row[2] / f**5


def best_cubics(low, count):
    """The odd polynomials of degree three that are best on [low, 1] and on what it becomes; and the last interval."""
    rows, high = [], 1.0
    for _ in range(count):
        a = np.sqrt(3 / (high**2 + high * low + low**2))
        b = 4 / (2 + low * high * (low + high) * a**3)
        rows.append((1.5 * a * b, -0.5 * a**3 * b, 0.0))
        low = rows[-1][0] * low + rows[-1][1] * low**3
        high = 2 - low
    return rows, (low, high)


CUBICS, INTERVAL = best_cubics(0.01, 2)
# rows, cycle, factor of the norm, steps by default
SETS = {
    "kj": ([KJ], False, 1.0, 5),
    "quintic": ([(15 / 8, -10 / 8, 3 / 8)], False, 1.0, 10),
    "cubic": ([(3 / 2, -1 / 2, 0.0)], False, 1.0, 15),
    "you": (YOU, True, 1.0, 5),
    "polarexpress": ([divided(r, 1.01) for r in POLAREXPRESS[:-1]] + POLAREXPRESS[-1:], False, 1.01, 5),
    "pe105": ([divided(r, 1.05) for r in POLAREXPRESS[:5]], False, 1.0, 5),
    "modded": (MODDED, False, 1.02, 5),
    "emerging": (EMERGING, False, 1.0, 5),
    "cans": (CANS, False, 1.0, 5),
    "aol": (AOL, True, 1.0, 4),
    "deepseekv4": ([KJ] * 8 + [(2.0, -1.5, 0.5)] * 2, False, 1.0, 10),
    "cubic5": (CUBIC5, True, 1.0, 5),
    # Polynomials of the user by their number: what the iteration begins with, and the best cubic ones
    "user1": ([(1.0, 0.0, 0.0)], False, 1.0, 1),
    "user2": (CUBICS, False, 1.0, 2),
}


def near(what, x, y, bound):
    assert abs(x - y) <= bound, (what, x, y, bound)


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


class Case:
    """A matrix g, the factor q, and what is said of both; s <= l are its sides, u, values, vt its singular value decomposition."""

    def __init__(self, line, view, data):
        kind, m, n, eps, ranks, parameters = (line.split(" ", 5) + [""])[:6]
        self.line, self.text, self.kind, self.m, self.n, self.eps, self.ranks = line, view, kind, int(m), int(n), float(eps), int(ranks)
        self.g, self.q = (x.reshape((self.m, self.n), order="F") for x in np.split(data[: 2 * self.m * self.n], 2))
        self.s, self.l = sorted((self.m, self.n))
        self.words = tuple(parameters.split())
        self.parameters = dict(zip(self.words[::2], self.words[1::2]))
        self.view = dict(re.findall(r"([a-z][A-Za-z _]*): ([^,\n]+)", view))
        self.precision = self.view["precision"]
        self.unit = 2.0**-53 if self.precision == "double" and self.eps < 1e-10 else 2.0**-24
        assert self.parameters.get("precision", self.precision) == self.precision, view
        if kind != "pairs":
            self.u, self.values, self.vt = np.linalg.svd(self.g, full_matrices=False)
            self.nuclear = self.values.sum()
            self.rank = int((self.values > self.l * self.eps * self.values[0]).sum())


def exact(case, seen):
    """Where the matrix is well conditioned a second way to the factor is taken, g (g^T g)^(-1/2)."""
    sizes, last = 16 * (case.m + case.n) * case.eps, case.values[case.rank - 1]
    near(case.line, np.linalg.norm(case.q - case.u[:, : case.rank] @ case.vt[: case.rank]), 0, sizes * case.values[0] / last)
    near(case.line, (case.q * case.g).sum(), case.values[: case.rank].sum(), sizes * case.s * case.values[0])
    if case.rank == case.s and last > 1e-3 * case.values[0]:
        g, q = (x.T if case.m < case.n else x for x in (case.g, case.q))
        w, v = np.linalg.eigh(g.T @ g)
        condition = case.values[0] / last
        near(case.line, np.linalg.norm(q - g @ (v / np.sqrt(w)) @ v.T), 0, 16 * (case.m + case.n) * (case.eps + np.finfo(float).eps * condition**2) * condition)
        seen["by eigenvalues"] += 1


def scalar(case, name, row, norm, steps):
    """
    Of pairs, diagonal matrices of two values whose squares have a sum of 49: the polynomials of numbers, and a running bound of the rounding: a step makes less than 16 eps times the sum of its terms without
    their signs, and enlarges what was there by its slope.
    """
    x = (np.sign(case.g) if name == "aol" else case.g / 7) / norm
    error = np.full_like(x, 16 * case.eps)
    for a, b, c in (row(k) for k in range(steps)):
        terms = a * x, b * x**3, c * x**5
        error = error * abs(a + 3 * b * x**2 + 5 * c * x**4) + 16 * case.eps * sum(map(abs, terms))
        x = sum(terms)
    assert (abs(case.q - x) <= error).all(), (case.line, np.max(abs(case.q - x) / error))
    # The scan finds what is printed, but for the peak between two of its points
    for k, (least, most) in enumerate(RANGES.get((name, steps), [])):
        inside = case.q[case.g / 7 >= 0.1 ** (k + 1) * (1 - 1e-9)]
        near(case.line, inside.min(), least, 2e-3)
        near(case.line, inside.max(), most, 2e-3)
    if name == "user2":
        # Optimal means that both ends are reached; their bound is (1 - l^2)^(2^2)
        low, high = INTERVAL
        inside = case.q[case.g / 7 >= 0.01 * (1 - 1e-9)]
        near(case.line, inside.min(), low, 1e4 * case.eps + 1e-9)
        near(case.line, inside.max(), high - 5e-4, 5e-4 + 1e4 * case.eps)
        assert 1 - low <= (1 - 1e-4) ** 4


def normalized(case, y):
    """y divided by what is estimated of its largest singular value: by power iterations, and by more of them, a watch."""
    iterations, watch = int(case.parameters.get("power_iterations", 2)), 8
    stream = Stream(0x506F6C6172, 0, 0, 0, 0)
    start = np.array([stream.word(i) / 2**31 - 1 for i in range(case.s)])
    w, estimates, largest = start, [], case.values[0] / np.linalg.norm(case.g)
    for _ in range(iterations + 1 + watch):
        w = y @ (y.T @ (w / np.linalg.norm(w)))
        estimates.append(np.sqrt(np.linalg.norm(w)))
    estimate = estimates[iterations]
    assert estimates[-1] <= largest * (1 + 1e-12) and np.all(np.diff(estimates) > -1e-12), case.line
    if case.rank == case.s:
        # What SignMuon's PolarNS estimates, from a v whose image is the start
        v = np.linalg.lstsq(y, start, rcond=None)[0]
        for _ in range(iterations):
            u = y @ v
            v = y.T @ (u / np.linalg.norm(u))
            sigma = np.linalg.norm(v)
            v /= sigma
        assert estimate >= sigma * (1 - 1e-9), case.line
    divisor = min(1.0, max(1.2 * estimate, estimates[-1]))
    assert largest / divisor < np.sqrt(2), case.line
    return y / divisor, 1.2 * estimate < estimates[-1]


def polynomials(case, seen):
    name, steps = case.view["coefficients"], int(case.view["steps"])
    gram, spectral = case.view["type"] == "gram", case.view.get("normalization") == "spectral"
    if name == "user":
        name += str(len(case.parameters["coefficient_values"].split(",")) // 3)
    rows, cycle, norm, default = SETS[name]
    asked = int(case.parameters.get("steps", -1))
    assert steps == (default if asked < 0 else asked), case.line
    if gram:
        # The rule, by hand for the steps that the sets were made for
        given = case.parameters.get("gram_restart", "empty")
        restarts = {"quintic": "6", "cubic": "10"}.get(name, "2") if given == "empty" else ",".join(x for x in given.split(",") if 0 < int(x) < steps)
        assert re.search("restarts after: (.*)", case.text).group(1) == (restarts or "none"), case.text
    row = lambda k: rows[k % len(rows) if cycle else min(k, len(rows) - 1)]
    if case.kind == "pairs":
        scalar(case, name, row, norm, steps)
        return
    y = case.g / (np.linalg.norm(case.g) * norm)
    y = y.T if case.m >= case.n else y
    if spectral:
        y, watched = normalized(case, y)
        seen["rescued"] += watched
    if name == "aol":
        y = y / np.sqrt(np.abs(y @ y.T).sum(axis=1))[:, None]
        assert np.linalg.norm(y, 2) <= 1 + 1e-12
    values = np.linalg.svd(y, compute_uv=False)
    slope = np.ones_like(values)
    for a, b, c in map(row, range(steps)):
        r = y @ y.T
        y = a * y + (b * r + c * (r @ r)) @ y
        slope *= np.maximum(np.abs(a + 3 * b * values**2 + 5 * c * values**4), 1)
        values = a * values + b * values**3 + c * values**5
    error = np.linalg.norm(case.q - (y.T if case.m >= case.n else y))
    if case.precision == "bf16":
        # Each operand of a product is off by at most 2^-8; polynomials that converge forget that but for the last step or two. Those of kj do not: on the values that their steps visit the slope is at most 1.7
        # in absolute value, four times over
        near(case.line, error, 0, (8 if name == "kj" else 1) * 2e-2 * np.linalg.norm(y))
        seen["rounded to bf16"] += error > 1e-4 * np.linalg.norm(y)
        return
    # Each step rounds as a product does, a modest multiple of (m + n) eps, and what follows enlarges that as the largest product of slopes; a divisor from the Gram matrix has that of a product too
    bound = 4 * (case.m + case.n) * case.eps * (steps + (2 if spectral else 1)) * slope.max()
    if gram and case.kind == "decades:1" and case.eps < 1e-10:
        # The Gram matrix is off by a modest multiple of s roundoffs, which changes a singular value x of the normalized matrix by that over x. Then Q, whose condition number is at most 128 between restarts of the
        # rule, passes it on. x is at least 0.1/sqrt(s), and the result is rounded. A segment of 5 steps without restart has condition numbers of 1e3 for such x and no eigenvalue below zero to speak of
        bound = np.sqrt(case.s) * (8 * case.s * (1e3 if case.parameters.get("gram_restart") == "0" else 128) * 10 * 2.0**-53 + 4 * case.eps)
    elif gram:
        bound = 1e4 * (case.m + case.n) * case.eps
    near(case.line, error, 0, bound)
    assert bound < 1e-4 or case.eps > 1e-10, (case.line, bound)


def mean(complement):
    """pi / (2 K) for the modulus whose complement is given."""
    a, b = np.longdouble(1), complement
    for _ in range(12):
        a, b = (a + b) / 2, np.sqrt(a * b)
    return a


def nodes(poles, low):
    """
    Zolotarev's nodes by theta functions, where the library descends along the arithmetic-geometric mean: - l^2 sn^2 of imaginary arguments for the modulus l, quotients whose series converge at once where l is
    small.
    """
    low = np.longdouble(low)
    pi, ratio = np.longdouble("3.14159265358979323846264338327950288"), mean(np.sqrt((1 - low) * (1 + low))) / mean(low)
    v, n = pi * ratio * np.arange(1, 2 * poles + 1)[:, None] / (4 * poles + 2), np.arange(40)
    sign, half, whole = (-1.0) ** n, -pi * ratio * (n + 0.5) ** 2, -pi * ratio * n**2
    # sinh and cosh grow as fast as powers of the nome fall; together they fit
    theta1 = (sign * (np.exp(half + (2 * n + 1) * v) - np.exp(half - (2 * n + 1) * v))).sum(axis=1)
    theta4 = (sign * (np.exp(whole + 2 * n * v) + np.exp(whole - 2 * n * v)))[:, 1:].sum(axis=1) + 1
    theta2, theta3 = 2 * np.exp(half).sum(), 1 + 2 * np.exp(whole[1:]).sum()
    return ((low * theta3 * theta1 / (theta2 * theta4)) ** 2).astype(float)


def zolotarev(case, seen):
    poles, low = int(case.view["poles"]), float(case.view["interval"])
    c = nodes(poles, low)
    odd, even = c[::2], c[1::2]
    a = np.array([-np.prod(x - even) / np.prod(np.delete(x - odd, j)) for j, x in enumerate(odd)])
    scale = np.prod((1 + odd) / (1 + even))
    lowest = scale * low * np.prod((low**2 + even) / (low**2 + odd))
    gram = case.g @ case.g.T if case.m < case.n else case.g.T @ case.g
    x = case.values / np.sqrt(min(abs(gram).sum(axis=1).max(), np.linalg.norm(gram)))
    q = 1 + (a / (x[:, None] ** 2 + odd)).sum(axis=1)
    y = scale * x * q
    inside, largest = x >= low, np.linalg.norm(case.q, 2)
    assert (y[inside] >= lowest - 1e-12).all() and (y[inside] <= 1 + 1e-12).all(), case.line
    seen["on", poles, low] += inside.sum()
    seen["below", poles, low] += (~inside).sum()
    gap = 1 - (case.g * case.q).sum() / case.nuclear
    if poles == 4 and low == 1e-3:
        # What is promised of the default in single precision, .022 more in bfloat16
        assert gap <= 0.03 + (0.022 if case.precision == "bf16" else 0), (case.line, gap)
    if case.precision == "bf16":
        assert largest <= 1.01 and gap <= 1 - (case.values * y).sum() / case.nuclear + 1e-3 + 0.022, case.line
        seen["rounded to bf16"] += np.linalg.norm(case.q - (case.u * y) @ case.vt) > 1e-4 * np.linalg.norm(y)
        return
    # The Gram matrix, its Cholesky factors and what they leave are wrong by some (s + l)^{1/2} u. By how much the function of it changes along two singular vectors for an error of norm 1 is a divided
    # difference times the singular value that is multiplied by it. The matrix of the function has the norm top, and is rounded as the input is. To first order the product with the gradient feels what is on
    # the diagonal only
    sensitivity = scale * (a / ((x[:, None, None] ** 2 + odd) * (x[None, :, None] ** 2 + odd))).sum(axis=2) * x
    top, rounding = max(0, (scale * q).max()), np.sqrt(case.m + case.n) * case.unit
    bound = 16 * rounding * (max(0, sensitivity.max()) + top)
    slack = 8 * rounding * ((case.values * (np.diag(sensitivity) + top * x)).sum() + case.nuclear) + bound**2 * case.nuclear
    near(case.line, np.linalg.norm(case.q - (case.u * y) @ case.vt), 0, bound)
    near(case.line, (case.g * case.q).sum(), (case.values * y).sum(), slack)
    # In the ball, up to what eight steps of Lanczos leave of an excess in single precision
    assert largest <= 1 + (min(bound, 0.01) if case.unit > 1e-10 else bound), (case.line, largest)


def qdwh(case, seen):
    """The factor to working accuracy, in at most six steps, of which those by QR need memory."""
    steps, qr, decompositions = (int(case.view[x]) for x in ("steps of the last matrix", "by QR", "matrices left to a singular value decomposition"))
    g, q, s, unit = case.g, case.q, case.s, case.unit
    # To ten roundoffs for each of the s sums of a product q is an isometry of that rank; g^T q over the long side is symmetric, positive semidefinite
    near(case.line, np.linalg.norm(q @ q.T @ q - q), 0, 10 * s**1.5 * unit)
    near(case.line, (q * q).sum(), case.rank, 20 * s * s * unit)
    near(case.line, (g * q).sum(), case.nuclear, (20 if case.ranks == 1 else 40) * s * unit * case.nuclear)
    h = g.T @ q if case.m >= case.n else g @ q.T
    if case.ranks == 1:
        near(case.line, np.linalg.norm(h - h.T), 0, 20 * s * unit * np.linalg.norm(g))
        # A backward error of so many roundoffs of sigma_1 moves the factor by at most twice that over the smallest singular value (the sum of the two smallest for square matrices, no less)
        near(case.line, np.linalg.norm(case.u[:, : case.rank] @ case.vt[: case.rank] - q), 0, 40 * s * unit * case.values[0] / case.values[case.rank - 1])
    # The interval is estimated or guessed from below, never too large by much. A rank with less than s of the long side has no memory for the QR factorization, and makes more steps
    room = case.l // case.ranks >= s
    assert steps <= (6 if room else 16) and (0 if room else -1) <= qr <= (2 if room else 0), case.line
    if case.kind == "decades:12" and s > 1 and room:
        assert qr == 2 if case.ranks == 1 else qr > 0, case.line
    near(case.line, decompositions - seen["decompositions", case.words], case.rank < s, 0)
    seen["decompositions", case.words] = decompositions


def unit_rows(q, least):
    norms = np.linalg.norm(q, axis=1)
    zero = norms <= least
    return np.where(zero[:, None], 0.0, q / np.where(zero, 1.0, norms)[:, None])


def mud(case, seen):
    passes = int(case.parameters.get("mud_passes", 1))
    g, got = (case.g.T, case.q.T) if case.m > case.n else (case.g, case.q)
    q = start = unit_rows(g, 0.0)
    for _ in range(passes):
        # A sweep of Gauss and Seidel, row by row
        gram, done = q @ q.T, np.zeros_like(q)
        for i in range(len(q)):
            done[i] = q[i] - gram[i, :i] @ done[:i]
        q = unit_rows(done, 1e-9)
    # What a row keeps may be small beside what it lost: its error grows by that, in each pass, and the solve at most doubles it. The result may be in single precision whatever the arithmetic is
    kept = np.linalg.solve(np.tril(start @ start.T) + np.diag(np.linalg.norm(start, axis=1) == 0), start)
    kept = min(x for x in np.linalg.norm(kept, axis=1) if x > 1e-9)
    near(case.line, np.linalg.norm(got - q, axis=1).max(), 0, 16 * (case.m + case.n) * case.unit / kept**passes + 2.0**-22)
    # It is another thing than the polar factor
    assert case.s <= 8 or case.kind != "gaussian" or passes > 1 or 1.05 < np.linalg.norm(got, 2) < 4, case.line


def main():
    for derived, printed in zip(greedy(1e-3, 6), POLAREXPRESS):
        assert np.allclose(derived, printed, rtol=1e-7, atol=0), (derived, printed)
    assert np.allclose([divided(r, 1.01) for r in POLAREXPRESS[:7]], EMERGING[:7], rtol=0, atol=1e-4)
    types = {"svd": exact, "newtonschulz": polynomials, "gram": polynomials, "zolotarev": zolotarev, "qdwh": qdwh, "mud": mud}
    data = np.fromfile(os.path.join(sys.argv[1], "matrices.f64"))
    seen = collections.Counter()
    with open(os.path.join(sys.argv[1], "cases.txt")) as f:
        blocks = f.read().split("case ")[1:]
    for block in blocks:
        case = Case(*block.split("\n", 1), data)
        data = data[2 * case.m * case.n :]
        if case.g.any():
            types[case.view["type"]](case, seen)
        else:
            assert not case.q.any(), "a zero matrix has the factor zero: " + case.line
    assert blocks and not len(data), len(data)
    # What the matrices are chosen for was met
    assert case.view.get("normalization") != "spectral" or seen["rescued"] > 0, "no case in which the watch mattered"
    assert case.view["type"] != "svd" or seen["by eigenvalues"] >= 10, seen
    assert case.precision != "bf16" or seen["rounded to bf16"] > 0, seen
    for key in [key for key in seen if key[0] == "on"]:
        assert case.precision == "bf16" or seen[key] > 300 and (seen["below", *key[1:]] > 10 or key[2] < 1e-3), seen


main()
