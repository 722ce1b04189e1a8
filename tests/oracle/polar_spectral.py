"""The spectral normalization of Newton-Schulz recomputed by numpy from the matrices that tests/polar_types.c wrote.

cases.txt has a line "set steps iterations rows columns eps" for each pair G<i>.f64, Q<i>.f64 of column-major doubles; the set "start" means the matrix before the first step.
"""
import os
import sys

import numpy as np

from philox import Stream
from polar_coefficients import iterate, row

WATCH = 8

def random_start(s):
    stream = Stream(0x506F6C6172, 0, 0, 0, 0)
    return np.array([stream.word(i) / 2**31 - 1 for i in range(s)])

def polar_ns(y, iterations, start):
    """The largest singular value as SignMuon's PolarNS estimates it, from a v whose image is the start."""
    v = np.linalg.lstsq(y, start, rcond=None)[0]
    for _ in range(iterations):
        u = y @ v
        u /= np.linalg.norm(u)
        v = y.T @ u
        s = np.linalg.norm(v)
        v /= s
    return s

def main():
    folder = sys.argv[1]
    rescued = 0
    for i, line in enumerate(open(os.path.join(folder, "cases.txt"))):
        name, steps, iterations, m, n, eps = line.split()
        steps, iterations, m, n, eps = int(steps), int(iterations), int(m), int(n), float(eps)
        g = np.fromfile(os.path.join(folder, f"G{i}.f64")).reshape((m, n), order="F")
        q = np.fromfile(os.path.join(folder, f"Q{i}.f64")).reshape((m, n), order="F")
        y = g / np.linalg.norm(g)
        y = y.T if m >= n else y
        w = random_start(min(m, n))
        estimates = []
        for _ in range(iterations + 1 + WATCH):
            w = y @ (y.T @ (w / np.linalg.norm(w)))
            estimates.append(np.sqrt(np.linalg.norm(w)))
        largest = np.linalg.norm(y, 2)
        estimate = estimates[iterations]
        assert estimates[-1] <= largest * (1 + 1e-12) and np.all(np.diff(estimates) > -1e-12), line
        if np.linalg.matrix_rank(y) == min(m, n):
            assert estimate >= polar_ns(y, iterations, random_start(min(m, n))) * (1 - 1e-9), line
        rescued += 1.2 * estimate < estimates[-1]
        divisor = min(1.0, max(1.2 * estimate, estimates[-1]))
        assert largest / divisor < np.sqrt(2), (line, largest / divisor)
        y, slope = iterate(y / divisor, [(1, 0, 0) if name == "start" else row(name, 0)] * steps)
        # Rounding of each step, enlarged by what follows; the divisor, from the Gram matrix, has that of a product too
        bound = 4 * (m + n) * eps * (steps + 2) * slope
        expected = y.T if m >= n else y
        assert np.linalg.norm(q - expected) <= bound, (line, np.linalg.norm(q - expected), bound)
    assert i > 200, i
    assert rescued > 0, "no case in which the watch mattered"

main()
