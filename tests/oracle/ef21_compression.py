"""What compression does to the layers of EF21-Muon, by numpy, from the states that tests/ef21_compression.c wrote before and after each step.

    ef21_compression.py DIR [lossy|up|down]

The second argument tells in which directions something must have been left out. DIR/figures has the optimizer's own figures, a line for each step and layer; DIR/RANK.states the matrices of a rank by rows, before the first step and after each, layer by layer: a number whose bits
tell which of M, G_j and X are there, these, and the weights.
"""
import os
import sys

import numpy as np

SPECTRAL = {'spectral': (np.inf, 1), 'nuclear': (1, np.inf)}


def norms(type, kind, x):
    """Norm and dual norm of a layer."""
    if type != 'lmo' or kind == 'frobenius':
        return np.linalg.norm(x), np.linalg.norm(x)
    a = np.abs(x)
    if kind in SPECTRAL:
        sigma = np.linalg.svd(x, compute_uv=False)
        pair = sigma.max(), sigma.sum()
        return pair if kind == 'spectral' else pair[::-1]
    return {'max': (a.max(), a.sum()), 'l1': (a.sum(), a.max()), 'rowsum': (a.sum(1).max(), a.max(1).sum())}[kind]


def main():
    folder = sys.argv[1]
    lines = [line.split() for line in open(os.path.join(folder, 'figures'))]
    precision, size = lines[0][0], int(lines[0][1])
    eps = np.finfo(np.float32 if precision == 'single' else np.float64).eps
    shapes = {int(line[1]): (int(line[2]), int(line[3])) for line in lines[1:]}
    states = {}
    for rank in range(size):
        data = np.fromfile(os.path.join(folder, '%d.states' % rank))
        step = 0
        while len(data):
            for layer in sorted(shapes):
                m, n = shapes[layer]
                here, data = int(data[0]), data[1:]
                for name, bit in (('M', 1), ('Gj', 2), ('X', 4), ('W', 0)):
                    if bit == 0 or here & bit:
                        states[rank, step, layer, name], data = data[:m * n].reshape(m, n), data[m * n:]
            step += 1
    assert step == 7, step

    compared, positive = 0, np.zeros(6, int)
    for line in lines[1:]:
        step, layer, m, n = map(int, line[:4])
        type, kind = line[4:6]
        got = np.array(list(map(float, line[6:]))).reshape(2, 6)
        # Sums of m n terms and singular values, of differences that are rounded themselves, each entry a few eps off
        slack = 32 * (m + n) * min(m, n) * eps

        def pair(rest, dual):
            norm = norms(type, kind, rest)
            return np.array([np.linalg.norm(rest), norm[1 if dual else 0]])

        def measure(before, after, dual):
            b, a = pair(before, dual), pair(after, dual)
            return np.where(b > 0, (a / np.where(b > 0, b, 1)) ** 2, 0), a

        up = []
        for rank in range(size):
            if (rank, step + 1, layer, 'Gj') in states:
                target = states[rank, step + 1, layer, 'M']
                up.append(measure(target - states[rank, step, layer, 'Gj'], target - states[rank, step + 1, layer, 'Gj'], True))
            else:
                up.append((np.zeros(2), np.zeros(2)))
        servers = [rank for rank in range(size) if (rank, step + 1, layer, 'X') in states]
        assert servers, line
        target = states[servers[0], step + 1, layer, 'X']
        down = measure(target - states[servers[0], step, layer, 'W'], target - states[servers[0], step + 1, layer, 'W'], False)
        contraction, lag = np.array([x for x, _ in up]), np.array([x for _, x in up])
        for k in range(2):
            expected = contraction[:, k].mean(), contraction[:, k].max(), lag[:, k].mean(), lag[:, k].max(), down[0][k], down[1][k]
            positive += np.array(expected) > 0
            for value, want in zip(got[k], expected):
                assert abs(value - want) <= slack * want, (line, k, value, want)
                compared += 1
    assert compared >= 12 * 5 and compared == 12 * (len(lines) - 1), compared
    lossy = sys.argv[2] if len(sys.argv) > 2 else ''
    assert all((count > 0) == (lossy in ('lossy', 'up')) for count in positive[:4]) and all((count > 0) == (lossy in ('lossy', 'down')) for count in positive[4:]), positive


main()
