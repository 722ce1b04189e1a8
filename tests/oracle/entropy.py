"""The entropy of a message a second time, from what it says, for compressor.py, lowrank.py and lmo_message.py.

An order-0 code that knows how often each symbol occurs: positions are one of all choices, a seed is its bits, the place in a line one of so many and its sign a bit. Natural values are symbols, a sign with an exponent,
but an exponent and a bit for the sign where the entries were kept one by one; P and Q are two alphabets. Magnitudes and values in other codecs have their full width.
"""
import math
from collections import Counter

import numpy as np

import wire

WIDTHS = {wire.DOUBLE: 64, wire.SINGLE: 32, wire.BF16: 16, wire.NATURAL: 9, wire.CODED: 9}

def order0(symbols):
    counts = Counter(symbols).values()
    return sum(k * math.log2(sum(counts) / k) for k in counts)

def section(message, x, signs=False):
    if message.values not in (wire.NATURAL, wire.CODED):
        return WIDTHS[message.values] * len(x)
    exponents = [math.frexp(abs(v)) for v in x]
    if signs:
        return order0(exponents) + len(x)
    return order0(list(zip(np.sign(x), exponents)))

def entropy(message):
    m, n, k, x, form = message.rows, message.columns, message.count, message.x, message.form
    if message.values == wire.TWOBIT:
        return math.log2(math.comb(m * n, k)) + 8 * wire.values_bytes(wire.TWOBIT, k)
    width = WIDTHS[message.values]
    if form == wire.SPARSE:
        return math.log2(math.comb(m * n, k)) + section(message, x, True)
    if form == wire.SEEDED:
        return 64 + section(message, x, True)
    if form == wire.LOWRANK:
        return section(message, x[:k * m]) + section(message, x[k * m:])
    if form == wire.TRIPLES:
        return k * width + section(message, x[k:k + k * m]) + section(message, x[k + k * m:])
    if form == wire.SIGNS:
        return k + width * len(x)
    if form in (wire.PERROW, wire.PERCOLUMN):
        lines, length = (m, n) if form == wire.PERROW else (n, m)
        return math.log2(math.comb(lines, k)) + (k * (1 + math.log2(length)) if k else 0) + width * len(x)
    if form == wire.COLUMNS:
        return math.log2(math.comb(n, k)) + k * width + section(message, x[k:])
    if form in (wire.WHOLECOLUMNS, wire.WHOLEROWS):
        return math.log2(math.comb(n if form == wire.WHOLECOLUMNS else m, k)) + section(message, x)
    if form == wire.BLOCKS:
        return order0(message.entries) + section(message, x)
    assert form == wire.DENSE, form
    return section(message, x)
