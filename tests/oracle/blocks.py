"""A message of blocks a second time: what tests/compressor_blocks.c wrote, taken apart and put together again by wire.py.

    blocks.py DIR

DIR has the settings, name, shape and sizes of the blocks, the bytes of the message and the matrix, by rows, that the library made of it.
"""
import os
import sys

import numpy as np

from compressor import fnv1a
from wire import BITMAP, NATURAL, SPARSE, Message, decode_group, encode_group

# Of src/wire/README.md
EXAMPLE = '36 3F 0C F2 0C 00 02 16 A8 2B 05 0F 11 03 01 03 02 80 01 9D 8E 02 D3 11 03 01 03 04 7E 00'


def main():
    folder = sys.argv[1]
    with open(os.path.join(folder, 'settings')) as file:
        name, m, n, rows, columns = file.read().split()
    m, n = int(m), int(n)
    with open(os.path.join(folder, 'group'), 'rb') as file:
        data = file.read()
    expected = np.fromfile(os.path.join(folder, 'matrix')).reshape(m, n)
    sizes = [[int(size) for size in side.split(',')] for side in (rows, columns)]
    starts = [np.cumsum([0] + side) for side in sizes]
    assert starts[0][-1] == m and starts[1][-1] == n
    grid = [(i, j) for i in range(len(sizes[0])) for j in range(len(sizes[1]))]
    layer = fnv1a(name)
    # Rows on the wire are the columns of a matrix that is stored by columns
    blocks = [(fnv1a('%s[%d]' % (name, k)), sizes[1][j], sizes[0][i]) for k, (i, j) in enumerate(grid)]

    parts = decode_group(data, layer, blocks)
    matrix = np.full((m, n), np.nan)
    for (i, j), part in zip(grid, parts):
        matrix[starts[0][i]:starts[0][i + 1], starts[1][j]:starts[1][j + 1]] = part.matrix().T
    assert (matrix == expected).all(), 'the matrix is another'
    assert expected.any() and (expected == 0).any()
    assert encode_group(layer, parts) == data, 'encoded here it has other bytes'

    example = [Message(fnv1a('w[%d]' % k), 1, 4, SPARSE, BITMAP, NATURAL, 1, [place], [value]) for k, place, value in ((0, 1, -2.0), (1, 2, 0.5))]
    assert encode_group(fnv1a('w'), example) == bytes.fromhex(EXAMPLE), 'the example'
    print('%d blocks, %d bytes' % (len(parts), len(data)))


if __name__ == '__main__':
    try:
        main()
    except AssertionError as error:
        sys.exit('blocks.py: %s' % error)
