"""What -lmo_polar_type mud makes of the matrices that tests/polar_types.c wrote, by numpy in double: G<i>.f64 and Q<i>.f64 are column-major doubles.

polar_mud.py FOLDER PASSES single|double
"""
import os
import sys

import numpy as np

SHAPES = [(1, 1), (1, 9), (9, 1), (24, 24), (16, 40), (40, 16), (130, 300)]

def normalized(q, least):
    norms = np.linalg.norm(q, axis=1)
    zero = norms <= least
    return np.where(zero[:, None], 0.0, q / np.where(zero, 1.0, norms)[:, None])

def mud(g, passes):
    q = normalized(g, 0.0)
    for _ in range(passes):
        # A sweep of Gauss and Seidel, row by row
        gram, done = q @ q.T, np.zeros_like(q)
        for i in range(len(q)):
            done[i] = q[i] - gram[i, :i] @ done[:i]
        q = normalized(done, 1e-9)
    return q

def main():
    folder, passes, precision = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    unit = 2.0**-24 if precision == "single" else 2.0**-53
    for i in range(3 * len(SHAPES)):
        m, n = SHAPES[i // 3]
        g, q = (np.fromfile(os.path.join(folder, f"{x}{i}.f64")).reshape((m, n), order="F") for x in "GQ")
        if m > n:
            g, q = g.T, q.T
        want = mud(g, passes)
        s, l = g.shape
        # What a row keeps may be small beside what it lost: its error grows by that, in each pass, and the solve at most doubles it. The result may be in single precision whatever the arithmetic is
        kept = normalized(g, 0.0)
        kept = min(x for x in np.linalg.norm(np.linalg.solve(np.tril(kept @ kept.T) + np.diag(np.linalg.norm(kept, axis=1) == 0), kept), axis=1) if x > 1e-9)
        bound = 16 * (l + s) * unit / kept**passes + 2.0**-22
        error = np.linalg.norm(q - want, axis=1).max()
        assert error <= bound, f"{m}x{n}, matrix {i}: rows are off by {error:.2e}, expected at most {bound:.2e}"
        # It is another thing than the polar factor
        if s > 8 and i % 3 == 0 and passes == 1:
            largest = np.linalg.norm(q, 2)
            assert 1.05 < largest < 4, f"{m}x{n}: the largest singular value is {largest}"

main()
