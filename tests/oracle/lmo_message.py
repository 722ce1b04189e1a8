"""Messages of steps, read by the second implementation of the wire format and compared with norms, dual norms and steps by numpy.

cases.txt has a line "norm rows columns kind paper encoded entropy alpha" for each triple <i>.G, <i>.D of doubles by rows and <i>.message. The layer's name is w.
"""
import os
import sys

import numpy as np

import wire
from compressor import fnv1a
from entropy import entropy

FORMS = {'nuclear': wire.TRIPLES, 'l1': wire.SPARSE, 'rowsum': wire.PERROW, 'colsum': wire.PERCOLUMN, 'l21': wire.COLUMNS}


def bits(things):
    return 0 if things <= 1 else (things - 1).bit_length()


def steepest(norm, G):
    """The dual norm and minus the step, where it is unique or the first largest is taken"""
    A, E = np.abs(G), np.zeros_like(G)
    if norm == 'l1':
        k = int(np.argmax(A))
        E.flat[k] = np.sign(G.flat[k])
        return A.max(), E
    if norm == 'rowsum':
        for i, c in enumerate(np.argmax(A, axis=1)):
            E[i, c] = np.sign(G[i, c])
        return A.max(axis=1).sum(), E
    if norm == 'colsum':
        for j, r in enumerate(np.argmax(A, axis=0)):
            E[r, j] = np.sign(G[r, j])
        return A.max(axis=0).sum(), E
    if norm == 'l21':
        # Squares of tiny and of huge numbers leave the range
        scale = A.max() or 1.0
        lengths = scale * np.sqrt(np.sum((G / scale) ** 2, axis=0))
        c = int(np.argmax(lengths))
        E[:, c] = G[:, c] / lengths[c] if lengths[c] > 0 else 0
        return lengths[c], E
    return np.linalg.svd(G, compute_uv=False)[0], None


def paper(norm, m, n):
    return {'nuclear': 32 * (1 + m + n), 'l1': bits(m * n) + 32, 'rowsum': m * (1 + bits(n)) + 32, 'colsum': n * (1 + bits(m)) + 32, 'l21': bits(n) + 32 * (1 + m)}[norm]


def main():
    folder, seen, kinds = sys.argv[1], set(), set()
    with open(os.path.join(folder, 'cases.txt')) as file:
        lines = file.read().splitlines()
    for i, line in enumerate(lines):
        norm, m, n, kind, *costs = line.split()
        m, n, kind, costs = int(m), int(n), int(kind), [float(x) for x in costs]
        G, D = (np.fromfile(os.path.join(folder, '%d.%s' % (i, name))).reshape(m, n) for name in 'GD')
        with open(os.path.join(folder, '%d.message' % i), 'rb') as file:
            data = file.read()
        message = wire.decode_message(data, fnv1a('w'), m, n)
        assert message.encode() == data, line
        assert message.form == FORMS[norm], line
        eps = np.finfo('f4' if message.values == wire.SINGLE else 'f8').eps
        assert message.values in (wire.SINGLE, wire.DOUBLE), line
        seen.add((norm, message.indices, message.count > 0))
        kinds.add((norm, kind))

        # The message is G#, the magnitude is the dual norm, and D is minus the rest, which it holds exactly
        dual, E = steepest(norm, G)
        sharp, x = message.matrix(), message.x
        magnitude = abs(x[0]) if message.count > 0 else 0.0
        size = max(float(np.abs(G).max()), np.finfo('f8').tiny)
        assert abs(magnitude - dual) <= 64 * (m + n) * eps * max(dual, size), (line, magnitude, dual)
        assert (message.count == 0) == (not G.any()), line
        if norm == 'nuclear':
            u, v = (x[1:1 + m], x[1 + m:]) if message.count > 0 else (np.zeros(m), np.zeros(n))
            exact = -np.outer(u, v)
            assert np.all(np.abs(D - exact) <= eps * np.abs(exact)), line
            assert message.count == 0 or (abs(u @ u - 1) <= 64 * m * eps and abs(v @ v - 1) <= 64 * n * eps), line
            assert abs(float(np.sum(G / size * D)) + dual / size) <= 1024 * (m + n) * eps * dual / size, line
        else:
            assert np.all(np.abs(D + E) <= 64 * m * eps), line
            assert np.array_equal(D != 0, E != 0), line
            if norm == 'l21' and message.count > 0:
                assert np.array_equal(-D[:, message.positions[0]], x[1:]), line
            else:
                assert np.array_equal(sharp, -magnitude * D), line
            nonzero = {'l1': min(1, np.count_nonzero(E)), 'l21': min(1, np.count_nonzero(E)), 'rowsum': np.count_nonzero(E), 'colsum': np.count_nonzero(E)}[norm]
            assert message.count == nonzero, line

        # Costs
        assert costs[0] == paper(norm, m, n), (line, paper(norm, m, n))
        assert costs[1] == 8 * len(data), line
        assert abs(costs[2] - entropy(message)) <= 1e-9 * (1 + costs[2]), (line, entropy(message))
        alpha = {'nuclear': 1 / min(m, n), 'l1': 1 / (m * n), 'l21': 1 / n}.get(norm, -1)
        assert abs(costs[3] - alpha) <= 4 * eps, line
    # Whole and missing lines, and nothing at all, of every norm
    for norm, few in (('rowsum', wire.BITMAP), ('rowsum', wire.RAW), ('colsum', wire.BITMAP), ('colsum', wire.RAW)):
        assert (norm, few, True) in seen and (norm, wire.NONE, True) in seen, (norm, few)
    assert all((norm, indices, False) in seen for norm, indices in (('nuclear', wire.NONE), ('l1', wire.RAW), ('rowsum', wire.RAW), ('colsum', wire.RAW), ('l21', wire.RAW))), sorted(seen)
    assert len(kinds) == 5 * 8, len(kinds)
    print('%d messages agree' % len(lines))


if __name__ == '__main__':
    try:
        main()
    except AssertionError as error:
        sys.exit('lmo_message.py: %s' % error)
