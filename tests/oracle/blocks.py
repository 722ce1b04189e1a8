"""A message of blocks a second time: what tests/compressor_blocks.c wrote, taken apart and put together again by wire.py.

    blocks.py DIR

DIR has the settings, name, shape and sizes of the blocks, the bytes of the message and the matrix, by rows, that the library made of it.
"""
import os
import sys

import numpy as np

from compressor import fnv1a
from wire import BITMAP, GROUP, NATURAL, SPARSE, Corrupt, Message, decode_group, encode_group, read_header, write_header

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

    pieces, body = [part.encode() for part in parts], b''.join(part.encode() for part in parts)
    head = lambda form=GROUP, indices=0, values=0, count=len(parts), size=len(body): write_header(layer, form, indices, values, 0, count, size)
    assert head() + body == data and read_header(data)[0][-1] == len(body)
    bad = {'the form': head(form=1) + body, 'positions': head(indices=1) + body, 'values': head(values=1) + body, 'a block less': head(count=len(parts) - 1) + body, 'a block more': head(count=len(parts) + 1) + body,
           'no last block': head(size=len(body) - len(pieces[-1])) + body[:-len(pieces[-1])], 'a byte more': head(size=len(body) + 1) + body + b'\0', 'bytes behind it': data + b'\0', 'no end': data[:-1],
           'blocks in another order': head() + b''.join(pieces[1:] + pieces[:1]), 'a group in a group': head(size=len(data) + len(body) - len(pieces[0])) + data + b''.join(pieces[1:])}
    for what, message in bad.items():
        try:
            decode_group(message, layer, blocks)
        except Corrupt:
            continue
        raise AssertionError('accepted: ' + what)
    for what, others in (('another layer', None), ('another grid', [(hash, columns, rows) for hash, rows, columns in blocks[:-1]]), ('blocks of other names', [(hash ^ 1, rows, columns) for hash, rows, columns in blocks])):
        try:
            decode_group(data, layer if others else layer ^ 1, others or blocks)
        except Corrupt:
            continue
        raise AssertionError('accepted: ' + what)
    example = [Message(fnv1a('w[%d]' % k), 1, 4, SPARSE, BITMAP, NATURAL, 1, [place], [value]) for k, place, value in ((0, 1, -2.0), (1, 2, 0.5))]
    assert encode_group(fnv1a('w'), example) == bytes.fromhex(EXAMPLE), 'the example'
    print('%d blocks, %d bytes' % (len(parts), len(data)))


if __name__ == '__main__':
    try:
        main()
    except AssertionError as error:
        sys.exit('blocks.py: %s' % error)
