"""The positions of a seeded message a second time, from src/wire/README.md.

    subset.py DIR    check the sets that tests/kernels_codec.c wrote into DIR
"""
import os
import sys

from philox import MASK, philox

def subset(entries, count, seed):
    """The kept entries, increasing."""
    drawn = min(count, entries - count)
    key = [seed & MASK, seed >> 32]
    taken = set()
    for k in range(drawn):
        if k % 2 == 0:
            block = philox([k // 2 & MASK, k // 2 >> 32, 0, 0], key)
        word = block[k % 2 * 2] + (block[k % 2 * 2 + 1] << 32)
        last = entries - drawn + k
        candidate = word * (last + 1) >> 64
        taken.add(last if candidate in taken else candidate)
    return sorted(taken if drawn == count else set(range(entries)) - taken)

def main():
    checked = 0
    with open(os.path.join(sys.argv[1], 'subset.txt')) as file:
        for line in file:
            entries, count, seed, *digits = line.split()
            found = [8 * b + i for b, byte in enumerate(bytes.fromhex(''.join(digits))) for i in range(8) if byte >> i & 1]
            expected = subset(int(entries), int(count), int(seed))
            assert found == expected and len(expected) == int(count), line[:60]
            checked += len(expected)
    assert checked > 100000, checked
    print('subset.py: %d positions agree' % checked)

if __name__ == '__main__':
    main()
