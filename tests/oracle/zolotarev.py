"""Zolotarev's coefficients by theta functions, another way to the same numbers, and by what defines them, that the error alternates.

    zolotarev.py DIR    check what tests/kernels_zolotarev.c wrote into DIR
"""
import collections
import os
import sys

import numpy as np

from polar import coefficients, near

# Errors, and a unit of the last digit. The printed value for 6 poles on [1e-3,1] was rounded twice, from 0.0017494 to 0.00175 to 0.0018
POLES = (1, 2, 3, 4, 6, 8)
TABLE = {
    1e-2: ((0.329, 0.0650, 0.0125, 2.4e-3, 9.0e-5, 3.3e-6), (1e-3, 1e-4, 1e-4, 1e-4, 1e-6, 1e-7)),
    3e-3: ((0.480, 0.129, 0.0329, 8.3e-3, 5.4e-4, 3.5e-5), (1e-3, 1e-3, 1e-4, 1e-4, 1e-5, 1e-6)),
    1e-3: ((0.603, 0.202, 0.0621, 0.0189, 1.8e-3, 1.6e-4), (1e-3, 1e-3, 1e-4, 1e-4, 1e-4, 1e-5)),
    1e-4: ((0.791, 0.375, 0.153, 0.0605, 9.4e-3, 1.5e-3), (1e-3, 1e-3, 1e-3, 1e-4, 1e-4, 1e-4)),
}
NESTED = {4: 1, 7: 2, 10: 3}


def read(words):
    """scale, the smallest value, a and c of a function."""
    poles = int(next(words))
    scale, lowest, *pairs = (np.longdouble(float(next(words))) for _ in range(2 + 2 * poles))
    return scale, lowest, np.array(pairs[::2]), np.array(pairs[1::2])


def values(z, x):
    scale, _, a, c = z
    return scale * x * (1 + (a / (x[:, None] ** 2 + c)).sum(axis=1))


def main():
    rows = collections.Counter()
    with open(os.path.join(sys.argv[1], "zolotarev.txt")) as f:
        for line in f:
            words = iter(line.split())
            low, poles, error, nested = float(next(words)), int(next(words)), float(next(words)), int(next(words))
            what, long, exact, z = "%d poles on [%g,1]" % (poles, low), np.longdouble(low), coefficients(poles, low), read(words)
            # A coefficient is a product of 2r - 1 differences, each right to a few units; 1e-14 is what is promised
            for got, expected in zip((z[0], *z[2], *z[3]), (exact[0], *exact[2], *exact[3])):
                near(what, got, expected, 1e-14 * abs(expected))
            assert len(z[2]) == len(exact[2]) == poles, what
            near(what, z[1], values(z, long[None])[0], 1e-13)
            near(what, z[1], exact[1], 1e-13)
            if low in TABLE and poles in POLES:
                printed, last = (row[POLES.index(poles)] for row in TABLE[low])
                near(what, error, printed, 0.52 * last)
                rows["table"] += 1
            # The error of the best approximation reaches its largest value 2r + 2 times with changing sign; where it is too small to be seen there is nothing to count
            if 1 - z[1] >= 1e-9:
                depth = (1 - values(z, long ** (1 - np.arange(8001, dtype=np.longdouble) / 8000))) / (1 - z[1])
                assert -1e-5 <= depth.min() and depth.max() <= 1 + 1e-5, (what, depth.min(), depth.max())
                sides = np.where(depth < 1e-3, 1, np.where(depth > 1 - 1e-3, -1, 0))
                sides = sides[sides != 0]
                near(what, 1 + np.count_nonzero(np.diff(sides)), 2 * poles + 2, 0)
                rows["alternating"] += 1
            assert nested == NESTED.get(poles, 0), (what, nested)
            if nested:
                first, second, x = read(words), read(words), long ** (np.longdouble(1.2) - np.longdouble(1.2) * np.arange(1001) / 1000)
                # The inner function is right to some units, and the outer one no steeper than 1/l_1 = 1/lowest of the first relative to its value
                assert (abs(values(second, values(first, x)) - values(exact, x)) <= 1e-13 * values(exact, x)).all(), what
            assert next(words, None) is None, what
            rows["all"] += 1
    assert rows["all"] == 11 * 12 and rows["table"] == 24 and rows["alternating"] > 90, rows


if __name__ == "__main__":
    try:
        main()
    except AssertionError as error:
        sys.exit("zolotarev.py: %s" % error)
