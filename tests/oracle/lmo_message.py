"""Messages of steps, read by the second implementation of the wire format and compared with norms, dual norms and steps by numpy.

cases.txt has a line "norm rows columns kind rowmajor epsilon paper encoded entropy" for each triple <i>.G, <i>.D of doubles by columns and <i>.message. The layer's name is w; rowmajor tells the order in which the library had
the entries, which is that of the number of a single entry and of ties between single entries, and epsilon is that of the scalar in which singular values are computed.
"""
import os
import sys

import numpy as np

import ef21
import wire
from compressor import fnv1a
from entropy import entropy

FORMS = {'nuclear': wire.TRIPLES, 'l1': wire.SPARSE, 'rowsum': wire.PERROW, 'colsum': wire.PERCOLUMN, 'l21': wire.COLUMNS}

def bits(things):
    return 0 if things <= 1 else (things - 1).bit_length()

def steepest(norm, G, rowmajor):
    """The dual norm and minus the step, where it is unique or the first largest is taken. Squares of tiny and of huge numbers leave the range"""
    if norm == 'nuclear':
        return np.linalg.svd(G, compute_uv=False)[0], None
    size = np.abs(G).max() or 1.0
    E = ef21.steepest(norm, (G / size).T).T if norm == 'l1' and rowmajor else ef21.steepest(norm, G / size)
    return size * float(np.sum(G / size * E)), E

def paper(norm, m, n, count):
    """A magnitude, and a place and a sign for each line that is there; nothing of a step of zero."""
    one = {'nuclear': 32 * (1 + m + n), 'l1': bits(m * n) + 32, 'rowsum': count * (1 + bits(n)) + 32, 'colsum': count * (1 + bits(m)) + 32, 'l21': bits(n) + 32 * (1 + m)}[norm]
    return one if count > 0 else 0

def main():
    folder, seen, kinds = sys.argv[1], set(), set()
    with open(os.path.join(folder, 'cases.txt')) as file:
        lines = file.read().splitlines()
    for i, line in enumerate(lines):
        norm, m, n, kind, rowmajor, scalar, *costs = line.split()
        m, n, kind, rowmajor, scalar, costs = int(m), int(n), int(kind), int(rowmajor), float(scalar), [float(x) for x in costs]
        G, D = (np.fromfile(os.path.join(folder, '%d.%s' % (i, name))).reshape((m, n), order='F') for name in 'GD')
        with open(os.path.join(folder, '%d.message' % i), 'rb') as file:
            data = file.read()
        # A single entry is numbered as it lies
        turned = norm == 'l1' and not rowmajor
        message = wire.decode_message(data, fnv1a('w'), n, m) if turned else wire.decode_message(data, fnv1a('w'), m, n)
        assert message.encode() == data, line
        assert message.form == FORMS[norm], line
        eps = np.finfo('f4' if message.values == wire.SINGLE else 'f8').eps
        assert message.values in (wire.SINGLE, wire.DOUBLE), line
        seen.add((norm, message.indices, message.count > 0))
        kinds.add((norm, kind, message.values, rowmajor))

        # The message is G#, the magnitude is the dual norm, and D is minus the rest, which it holds exactly
        dual, E = steepest(norm, G, rowmajor)
        sharp, x = message.matrix().T if turned else message.matrix(), message.x
        magnitude = abs(x[0]) if message.count > 0 else 0.0
        size = max(float(np.abs(G).max()), np.finfo('f8').tiny)
        own = max(eps, scalar) if norm == 'nuclear' else eps
        assert abs(magnitude - dual) <= 64 * (m + n) * own * max(dual, size), (line, magnitude, dual)
        assert (message.count == 0) == (not G.any()), line
        if norm == 'nuclear':
            u, v = (x[1:1 + m], x[1 + m:]) if message.count > 0 else (np.zeros(m), np.zeros(n))
            exact = -np.outer(u, v)
            assert np.all(np.abs(D - exact) <= eps * np.abs(exact)), line
            assert message.count == 0 or (abs(u @ u - 1) <= 64 * m * own and abs(v @ v - 1) <= 64 * n * own), line
            assert abs(float(np.sum(G / size * D)) + dual / size) <= 1024 * (m + n) * own * dual / size, line
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
        assert costs[0] == paper(norm, m, n, message.count), (line, paper(norm, m, n, message.count))
        assert costs[1] == 8 * len(data), line
        assert abs(costs[2] - entropy(message)) <= 1e-9 * (1 + costs[2]), (line, entropy(message))
    # Whole and missing lines, and nothing at all, of every norm
    for norm, few in (('rowsum', wire.BITMAP), ('rowsum', wire.RAW), ('colsum', wire.BITMAP), ('colsum', wire.RAW)):
        assert (norm, few, True) in seen and (norm, wire.NONE, True) in seen, (norm, few)
    assert all((norm, indices, False) in seen for norm, indices in (('nuclear', wire.NONE), ('l1', wire.RAW), ('rowsum', wire.RAW), ('colsum', wire.RAW), ('l21', wire.RAW))), sorted(seen)
    assert len(kinds) == 5 * 8 * 2 * 2, len(kinds)
    print('%d messages agree' % len(lines))

if __name__ == '__main__':
    try:
        main()
    except AssertionError as error:
        sys.exit('lmo_message.py: %s' % error)
