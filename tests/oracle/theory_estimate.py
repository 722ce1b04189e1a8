"""Estimates of smoothness and noise a second time, from the weights and gradients of every evaluation.

    theory_estimate.py DIR     compare what tests/theory_estimate.c wrote into DIR

The ratios are those of numpy's norms along the same path; the constants that they must not exceed are those of the quadratic functions.
"""
import glob
import os
import sys

import numpy as np

from theory import NORMS, close, dual, value

SHAPE = (5, 4)


def number(what, e, batch):
    return np.sin(1 + what * 37 + e * 11 + batch * 101) * 2


def main(folder):
    runs = []
    for path in sorted(glob.glob(os.path.join(folder, 'path.*'))):
        lines = [line.split() for line in open(path)]
        numbers = [(words[0], np.array(words[1:], dtype=float).reshape((2,) + SHAPE)) for words in lines[:-1]]
        runs.append((numbers, lines[-1]))
    J, result = len(runs), runs[0][1]
    samples, l, lt, l0, l1, fit, sigma, c = (float(x) for x in result[1:9])
    norm = NORMS[result[9]]
    assert all(run[1] == result for run in runs), 'ranks differ'
    pairs = [k for k, (name, _) in enumerate(runs[0][0]) if name == 'again']
    assert samples == len(pairs) > 0
    ratios, duals, own, squares = [], [], np.zeros(J), np.zeros(J)
    for k in pairs:
        evaluations = [[run[0][k + i] for i in (-1, 0, 1)] for run in runs]
        assert [name for name, _ in evaluations[0]] == ['step', 'again', 'other']
        moved = value(norm, evaluations[0][1][1][0] - evaluations[0][0][1][0])
        changes = [e[1][1][1] - e[0][1][1] for e in evaluations]
        ratios.append(c ** 2 * value(dual(norm), sum(changes) / J) / moved)
        duals.append(c * value(dual(norm), sum(e[0][1][1] for e in evaluations) / J))
        own = np.maximum(own, [c ** 2 * value(dual(norm), change) / moved for change in changes])
        squares += [np.sum((e[2][1][1] - e[1][1][1]) ** 2) / 2 for e in evaluations]
    close(l, max(ratios), 'L', 1e-9)
    close(lt, max(max(ratios), np.sqrt(np.mean(own ** 2))), 'Lt', 1e-9)
    close(sigma, np.sqrt(max(squares) / len(pairs)), 'sigma', 1e-12)
    # The medians of Theil and Sen
    x, y = np.array(duals), np.array(ratios)
    slopes = [(y[i] - y[j]) / (x[i] - x[j]) for i in range(len(x)) for j in range(i)]
    slope = max(np.median(slopes), 0)
    level = max(np.median(y - slope * x), 0)
    alike = np.sum(np.abs(y - np.median(y))) <= len(y) * 2.0 ** -26 * np.median(y)
    quality = 1 if alike else 1 - np.sum(np.abs(y - level - slope * x)) / np.sum(np.abs(y - np.median(y)))
    for got, expected, what in ((l1, slope, 'L1'), (l0, level, 'L0'), (fit, quality, 'fit')):
        assert abs(got - expected) <= 1e-6 * (1 + abs(expected)), '%s is %.12g, expected %.12g' % (what, got, expected)
    # ||H X||_* <= sum of the entries' |h x| <= (sum |h|) max |x|, and <X, H X> of a quadratic: of diagonal H the constant between a norm and its dual is max <Z, H X>, at most largest h times (most ||X||_F / ||X||)^2
    h = [np.array([3 + number(j, e, 0) for e in range(20)]) for j in range(J)]
    most = {'max': np.sqrt(20), 'nuclear': 1, 'row': np.sqrt(5), 'spectral': 2}[result[9]]
    true = [c ** 2 * most ** 2 * x.max() for x in h]
    assert l <= c ** 2 * most ** 2 * (sum(h) / J).max() * (1 + 1e-9) and lt <= np.sqrt(np.mean(np.square(true))) * (1 + 1e-9), 'beyond the true constants'
    print('L %g of %g, Lt %g, sigma %g' % (l, most ** 2 * (sum(h) / J).max(), lt, sigma))


if __name__ == '__main__':
    try:
        main(sys.argv[1])
    except AssertionError as error:
        sys.exit('theory_estimate.py: %s' % error)
