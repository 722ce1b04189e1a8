"""The wire format PMW1 a second time, written from src/wire/README.md and independent of the C code.

    wire.py DIR                   check what tests/wire_oracle.c wrote into DIR
    wire.py DIR --wrong PROGRAM   write packets and sections that break a rule to DIR/wrong.txt, and have tests/wire_oracle.c refuse them
"""
import copy
import math
import os
import struct
import subprocess
import sys
from fractions import Fraction

import numpy as np

from subset import subset

DENSE, SPARSE, LOWRANK, SIGNS, TRIPLES, PERROW, PERCOLUMN, COLUMNS, SEEDED, WHOLECOLUMNS, WHOLEROWS, BLOCKS, GROUP, VOTES = range(14)
NONE, BITMAP, RAW, GAPS, LEVELS = range(5)
DOUBLE, SINGLE, BF16, NATURAL, CODED, TWOBIT = range(6)
CHUNK = 65536
POLYNOMIAL = 0x82F63B78

class Corrupt(Exception):
    pass

def refuse_if(condition, reason):
    if condition:
        raise Corrupt(reason)

# ---- CRC-32C

def crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (POLYNOMIAL if byte & 1 else 0)
        table.append(byte)
    return table

TABLE = crc_table()

def crc32c(data):
    register = 0xFFFFFFFF
    for byte in data:
        register = register >> 8 ^ TABLE[(register ^ byte) & 255]
    return register ^ 0xFFFFFFFF

# ---- Sections: bit streams are integers, so that none of the C code's shifts and masks appear here

def pack_bits(fields, width):
    stream = 0
    for i, field in enumerate(fields):
        stream |= field << (width * i)
    return stream.to_bytes(-(-width * len(fields) // 8), 'little')

def unpack_bits(section, width, number):
    stream = int.from_bytes(section, 'little')
    return [stream >> (width * i) & ((1 << width) - 1) for i in range(number)]

def index_width(entries):
    width = 1
    while 256 ** width < entries:
        width += 1
    return width

class Bits:
    """Fields of a bit stream one after another; what is read must be there"""

    def __init__(self, section):
        self.stream, self.left, self.size = int.from_bytes(section, 'little'), 8 * len(section), len(section)

    def take(self, width):
        refuse_if(width > self.left, 'bits')
        field = self.stream & ((1 << width) - 1)
        self.stream >>= width
        self.left -= width
        return field

def join_bits(fields):
    stream = at = 0
    for field, width in fields:
        stream |= field << at
        at += width
    return stream.to_bytes(-(-at // 8), 'little')

def log2_up(x):
    return max(x - 1, 0).bit_length()

def gap_parameters(length, kept):
    missing = 2 * kept > length
    listed = length - kept if missing else kept
    M = (9 * length + 2 * listed) // (13 * listed) if listed else 1
    w = log2_up(M)
    return missing, listed, M, w, 2 ** w - M

def gap_fields(length, kept):
    """kept: the numbers that are kept of 0 ... length - 1"""
    missing, _, M, w, c = gap_parameters(length, len(kept))
    names = set(kept)
    fields, before = [], -1
    for number in [k for k in range(length) if k not in names] if missing else kept:
        q, r = divmod(number - before - 1, M)
        before = number
        fields.append((1 << q, q + 1))
        if M > 1 and r < c:
            fields.append((r, w - 1))
        elif M > 1:
            fields += [((r + c) // 2, w - 1), ((r + c) % 2, 1)]
    return fields

def stretch_fields(length, kept):
    """The same in stretches of 256 numbers, each behind how many it keeps"""
    fields, before, parts = [], 256 * len(kept) // length, {}
    for number in kept:
        parts.setdefault(number // 256, []).append(number % 256)
    for s in range(-(-length // 256)):
        part = parts.get(s, [])
        d = len(part) - before
        z = 2 * d if d >= 0 else -2 * d - 1
        before = len(part)
        v = z // 4 + 1
        e = v.bit_length() - 1
        fields += [(1 << e, e + 1), (v - 2 ** e, e), (z % 4, 2)]
        fields += gap_fields(min(256, length - 256 * s), part)
    return fields

def gap_chunk(length, kept):
    """A bitmap where the stream is not shorter, and whether it is one of stretches"""
    counts = [0] * -(-length // 256)
    for number in kept:
        counts[number // 256] += 1
    sizes = [min(256, length - 256 * s) for s in range(len(counts))]
    mode = sum((length * n - len(kept) * size) ** 2 for n, size in zip(counts, sizes)) > 8 * length * len(kept) * (length - len(kept))
    stream = join_bits((stretch_fields if mode else gap_fields)(length, kept))
    return (stream, int(mode)) if len(stream) < -(-length // 8) else (sum(1 << k for k in kept).to_bytes(-(-length // 8), 'little'), 0)

def gap_numbers(bits, length, count):
    missing, listed, M, w, c = gap_parameters(length, count)
    numbers, before = [], -1
    for _ in range(listed):
        q = r = 0
        while not bits.take(1):
            q += 1
        if M > 1:
            r = bits.take(w - 1)
            if r >= c:
                r = 2 * r + bits.take(1) - c
        before += 1 + q * M + r
        refuse_if(before >= length, 'gap')
        numbers.append(before)
    return sorted(set(range(length)) - set(numbers)) if missing else numbers

def stretch_numbers(bits, length, count):
    before, numbers = 256 * count // length, []
    for first in range(0, length, 256):
        e = 0
        while not bits.take(1):
            e += 1
        refuse_if(e > 7, 'count of a stretch')
        v = 2 ** e + bits.take(e)
        z = 4 * (v - 1) + bits.take(2)
        before += -(z + 1) // 2 if z % 2 else z // 2
        refuse_if(not 0 <= before <= min(256, length - first), 'count of a stretch')
        numbers += [first + k for k in gap_numbers(bits, min(256, length - first), before)]
    refuse_if(len(numbers) != count, 'counts of stretches')
    return numbers

def encode_gaps(entries, positions):
    section = b''
    for first in range(0, entries, CHUNK):
        length = min(CHUNK, entries - first)
        kept = [p - first for p in positions if first <= p < first + length]
        chunk, mode = gap_chunk(length, kept)
        section += (write_number(len(kept)) if first + length < entries else b'') + write_number(2 * len(chunk) + mode) + chunk
    return section

def decode_gaps(entries, count, data):
    """The positions, and the bytes of the section"""
    at, positions = 0, []
    for first in range(0, entries, CHUNK):
        length = min(CHUNK, entries - first)
        n = count - len(positions)
        if first + length < entries:
            n, at = read_number(data, at)
        b, at = read_number(data, at)
        b, mode = divmod(b, 2)
        refuse_if(n > length or n > count - len(positions) or b > -(-length // 8) or b > len(data) - at, 'head of a chunk')
        section = data[at:at + b]
        at += b
        if b < -(-length // 8):
            kept = (stretch_numbers if mode else gap_numbers)(Bits(section), length, n)
        else:
            kept = decode_positions(BITMAP, length, n, section)
        positions += [first + k for k in kept]
    refuse_if(len(positions) != count, 'count')
    return positions, at

def precision(number):
    """Bits of the frequencies of so many codes"""
    return 12 if number <= 126 else 14

def frequencies(codes):
    """Of the codes that occur, in increasing order"""
    times = {code: 0 for code in sorted(set(codes))}
    for code in codes:
        times[code] += 1
    scale = 2 ** precision(len(times))
    f = {code: max(1, scale * k // len(codes)) for code, k in times.items()}
    most = max(times, key=lambda code: (times[code], -code))
    f[most] += scale - sum(f.values())
    return f

def lanes(number):
    return 1 if number < 1024 else 4 if number < 32768 else 32

def no_code(width, code):
    return width == 9 and code % 256 == 255

def encode_chunk(codes, width=9):
    packed = -(-width * len(codes) // 8)
    f = frequencies(codes)
    if len(f) > 255:
        return pack_bits(codes, width)
    coded = code_chunk(codes, f, width=width)
    return coded if len(coded) < packed else pack_bits(codes, width)

def code_chunk(codes, f, width=9):
    fields, before, start, F, p = [(len(f), 8)], -1, {}, 0, precision(len(f))
    for code, frequency in f.items():
        fields += [(1, 1)] if code == before + 1 else [(0, 1), (code, width)]
        W = frequency.bit_length()
        fields += [(W, 4), (frequency - 2 ** (W - 1), W - 1)]
        before = code
        start[code] = F
        F += frequency
    S = lanes(len(codes))
    states, words = [65536] * S, []
    for i in reversed(range(len(codes))):
        s, frequency = states[i % S], f[codes[i]]
        if s >= frequency << 32 - p:
            words.append(s % 65536)
            s //= 65536
        states[i % S] = (s // frequency << p) + start[codes[i]] + s % frequency
    return join_bits(fields) + struct.pack('<%dI' % S, *states) + struct.pack('<%dH' % len(words), *reversed(words))

def decode_chunk(number, section, width=9):
    packed = -(-width * number // 8)
    refuse_if(len(section) > packed, 'longer than packed')
    if len(section) == packed:
        codes = unpack_bits(section, width, number)
        refuse_if(any(no_code(width, code) for code in codes), 'code')
        return codes
    refuse_if(not section or section[0] == 0, 'number of codes')
    bits, table, before, p = Bits(section[1:]), [], -1, precision(section[0])
    for _ in range(section[0]):
        follows = bits.take(1)
        code = before + 1 if follows else bits.take(width)
        code %= 512
        refuse_if(code >= 2 ** width or no_code(width, code), 'code')
        W = bits.take(4)
        refuse_if(W == 0, 'width')
        table.append((code, 2 ** (W - 1) + bits.take(W - 1)))
        before = code
    head = len(section) - bits.left // 8
    refuse_if(sum(f for _, f in table) != 2 ** p, 'sum of frequencies')
    slots = [(code, f, k) for code, f in table for k in range(f)]
    S = lanes(number)
    rest = section[head:]
    refuse_if(len(rest) < 4 * S or len(rest) % 2 != 0, 'states')
    states = list(struct.unpack('<%dI' % S, rest[:4 * S]))
    words = list(struct.unpack('<%dH' % (len(rest) // 2 - 2 * S), rest[4 * S:]))
    at, codes = 0, []
    for i in range(number):
        s = states[i % S]
        code, f, k = slots[s % 2 ** p]
        codes.append(code)
        s = f * (s >> p) + k
        if s < 65536:
            refuse_if(at == len(words), 'words')
            s = 65536 * s + words[at]
            at += 1
        states[i % S] = s
    refuse_if(at != len(words) or states != [65536] * S, 'end')
    return codes

def encode_codes(codes, width):
    section = b''
    for i in range(0, len(codes), CHUNK):
        chunk = encode_chunk(codes[i:i + CHUNK], width)
        section += write_number(len(chunk)) + chunk
    return section

def decode_codes(number, data, width):
    """The codes, and the bytes of the section"""
    at, codes = 0, []
    for first in range(0, number, CHUNK):
        size, at = read_number(data, at)
        refuse_if(size > len(data) - at, 'chunk')
        codes += decode_chunk(min(CHUNK, number - first), data[at:at + size], width)
        at += size
    return codes, at

def natural_codes(x):
    mantissas, exponents = np.frexp(np.abs(x))
    assert np.all((x == 0) | (mantissas == 0.5))
    return [0 if value == 0 else 256 * int(value < 0) + int(exponent) - 1 + 127 for value, exponent in zip(x, exponents)]

def encode_coded(x):
    return encode_codes(natural_codes(np.asarray(x, dtype=np.float64)), 9)

def decode_coded(number, data):
    """The values, and the bytes of the section"""
    codes, used = decode_codes(number, data, 9)
    return natural_values(codes), used

def natural_values(codes):
    return np.array([(-1.0) ** (code // 256) * (2.0 ** (code % 256 - 127) if code % 256 else 0.0) for code in codes], dtype=np.float64)

def positions_bytes(indices, entries, count):
    return {NONE: 0, BITMAP: -(-entries // 8), RAW: count * index_width(entries)}[indices]

def plain_positions(entries, count):
    """The codec of the positions of a plain message"""
    return RAW if positions_bytes(RAW, entries, count) < positions_bytes(BITMAP, entries, count) else BITMAP

def encode_positions(indices, entries, positions):
    if indices == GAPS:
        return encode_gaps(entries, positions)
    if indices == BITMAP:
        kept = set(positions)
        return pack_bits([int(k in kept) for k in range(entries)], 1)
    width = index_width(entries)
    return b''.join(p.to_bytes(width, 'little') for p in positions)

def decode_positions(indices, entries, count, section):
    if indices == BITMAP:
        refuse_if(int.from_bytes(section, 'little') >> entries != 0, 'position')
        positions = [k for k, bit in enumerate(unpack_bits(section, 1, entries)) if bit]
        refuse_if(len(positions) != count, 'number of bits')
        return positions
    width = index_width(entries)
    positions = [int.from_bytes(section[width * i:width * (i + 1)], 'little') for i in range(count)]
    refuse_if(any(p >= entries for p in positions), 'position')
    refuse_if(any(a >= b for a, b in zip(positions, positions[1:])), 'order')
    return positions

def entry_bits(length):
    """1 + ceil(log2 length)"""
    width = 0
    while 2 ** width < length:
        width += 1
    return 1 + width

def decode_entries(length, count, section):
    entries = unpack_bits(section, entry_bits(length), count)
    refuse_if(any(code >= 2 * length for code in entries), 'place')
    return entries

def values_bytes(values, number):
    return {DOUBLE: 8 * number, SINGLE: 4 * number, BF16: 2 * number, NATURAL: -(-9 * number // 8), TWOBIT: -(-number // 4) + 4 * -(-number // 64)}[values]

def mean_bf16(sizes):
    """Of absolute values, rounded to binary32 and then to bf16, to nearest even, never to infinity"""
    mean = np.float32(math.fsum(sizes) / len(sizes))
    bits = int(mean.view(np.uint32))
    low = bits % 65536
    return min(bits // 65536 + (low > 32768 or (low == 32768 and bits // 65536 % 2 == 1)), 0x7F7F)

def encode_two_bits(x):
    section = b''
    for first in range(0, len(x), 64):
        block = [float(v) for v in x[first:first + 64]]
        large = [len(block) * Fraction(abs(v)) > sum(Fraction(abs(u)) for u in block) for v in block]
        few, many = ([abs(v) for v, is_large in zip(block, large) if is_large == k] for k in (False, True))
        section += struct.pack('<HH', mean_bf16(few), mean_bf16(many or few)) + pack_bits([2 * k + (v < 0) for v, k in zip(block, large)], 2)
    return section

def decode_two_bits(number, section):
    x, at = [], 0
    for first in range(0, number, 64):
        some = min(64, number - first)
        sizes = [decode_values(BF16, 1, section[at + k:at + k + 2])[0] for k in (0, 2)]
        refuse_if(any(np.signbit(size) for size in sizes), 'negative magnitude')
        x += [(-1.0) ** (code % 2) * sizes[code // 2] for code in unpack_bits(section[at + 4:at + 4 + -(-some // 4)], 2, some)]
        at += 4 + -(-some // 4)
    return np.array(x, dtype=np.float64)

def encode_values(values, x):
    x = np.asarray(x, dtype=np.float64)
    if values == DOUBLE:
        return x.astype('<f8').tobytes()
    if values == SINGLE:
        return x.astype('<f4').tobytes()
    if values == CODED:
        return encode_coded(x)
    if values == TWOBIT:
        return encode_two_bits(x)
    if values == BF16:
        return b''.join(x.astype('<f4').tobytes()[4 * i + 2:4 * i + 4] for i in range(len(x)))
    return pack_bits(natural_codes(x), 9)

def decode_values(values, number, section):
    if values == NATURAL:
        codes = unpack_bits(section, 9, number)
        refuse_if(any(code % 256 == 255 for code in codes), 'natural code')
        return natural_values(codes)
    refuse_if(len(section) != values_bytes(values, number), 'size')
    if values == TWOBIT:
        return decode_two_bits(number, section)
    if values == BF16:
        section = b''.join(b'\0\0' + section[2 * i:2 * i + 2] for i in range(number))
    x = np.frombuffer(section, dtype='<f8' if values == DOUBLE else '<f4')
    refuse_if(not np.isfinite(x).all(), 'not finite')
    return x.astype(np.float64)

# ---- Messages and packets

class Message:
    """What a message says of a layer: positions is None where the form has none, entries are the codes of the section of entries, x the values in the order of the section"""

    def __init__(self, layer, rows, columns, form, indices, values, count, positions, x, entries=(), parameter=0, seed=0):
        self.layer, self.rows, self.columns, self.parameter, self.seed = layer, rows, columns, parameter, seed
        self.form, self.indices, self.values, self.count = form, indices, values, count
        self.positions, self.entries, self.x = positions, list(entries), np.asarray(x, dtype=np.float64)

    def encode(self):
        parts = Sections(self.form, self.parameter, self.rows, self.columns, self.count)
        payload = self.seed.to_bytes(parts.seed, 'little')
        payload += b'' if self.indices in (NONE, LEVELS) else encode_positions(self.indices, parts.numbered, self.positions)
        if self.indices == LEVELS:
            payload += encode_codes(self.entries, entry_bits(parts.length))
        elif self.entries:
            lines = len(self.entries) // parts.planes
            payload += b''.join(pack_bits(self.entries[p * lines:(p + 1) * lines], entry_bits(parts.length)) for p in range(parts.planes))
        for first, number in parts.values():
            payload += encode_values(self.values, self.x[first:first + number])
        return write_header(self.layer, self.form, self.indices, self.values, self.parameter, self.count, len(payload)) + payload

    def says(self, other):
        mine, others = ((m.layer, m.form, m.indices, m.values, m.parameter, m.count, m.seed, m.positions, m.entries) for m in (self, other))
        return mine == others and self.x.tobytes() == other.x.tobytes()

    def matrix(self):
        """The matrix itself, exact but for the products of factors"""
        A, x = np.zeros((self.rows, self.columns)), self.x
        if self.form == DENSE and self.count > 0:
            return x.reshape(A.shape)
        if self.form == SPARSE:
            A.flat[self.positions] = x
        elif self.form in (LOWRANK, TRIPLES):
            first = self.count if self.form == TRIPLES else 0
            s = x[:first] if self.form == TRIPLES else np.ones(self.count)
            P = x[first:first + self.count * self.rows].reshape(self.count, self.rows)
            Q = x[first + self.count * self.rows:].reshape(self.count, self.columns)
            A = (P.T * s) @ Q
        elif self.form == SEEDED:
            A.flat[subset(A.size, self.count, self.seed)] = x
        elif self.form == SIGNS and self.count > 0:
            A.flat = [x[0] if bit else -x[0] for bit in self.entries]
        elif self.form == WHOLECOLUMNS:
            A[:, self.positions] = x.reshape(self.count, self.rows).T
        elif self.form == WHOLEROWS:
            A[self.positions, :] = x.reshape(self.count, self.columns)
        elif self.form == BLOCKS and self.count > 0:
            b, block = self.parameter % 16, 2 ** (4 + self.parameter // 16)
            A.flat = [(-1.0) ** (code % 2) * (code // 2) * x[k // block] / (2 ** (b - 1) - 1) for k, code in enumerate(self.entries)]
        elif self.form == COLUMNS:
            for k, c in enumerate(self.positions):
                A[:, c] = x[k] * x[self.count + k * self.rows:self.count + (k + 1) * self.rows]
        elif self.form in (PERROW, PERCOLUMN):
            lines = range(self.count) if self.indices == NONE else self.positions
            for line, code in zip(lines, self.entries):
                at = (line, code // 2) if self.form == PERROW else (code // 2, line)
                A[at] = -x[0] if code % 2 else x[0]
        return A

class Sections:
    """Of a payload: what the positions number, bytes of a seed, how many codes of entries and the length of their lines, how many values and how many of these are greater than 0 or not less"""

    def __init__(self, form, parameter, rows, columns, count):
        self.numbered, self.seed, self.entries, self.length = rows * columns, 0, 0, 0
        self.number, self.magnitudes, self.scales = count, 0, 0
        self.sections, self.planes = None, 1
        if form in (PERROW, PERCOLUMN):
            self.numbered, self.length = (rows, columns) if form == PERROW else (columns, rows)
            self.entries, self.number = count, min(count, 1)
            self.magnitudes = self.number
        elif form == COLUMNS:
            self.numbered, self.magnitudes, self.sections = columns, count, [count, count * rows]
        elif form == LOWRANK:
            self.sections = [count * rows, count * columns]
        elif form == TRIPLES:
            self.magnitudes, self.sections = count, [count, count * rows, count * columns]
        elif form == SIGNS:
            self.entries, self.length, self.number, self.magnitudes = count, 1, min(count, 1), min(count, 1)
        elif form == VOTES:
            self.planes, self.entries, self.length, self.number = parameter, count * parameter, 1, 0
        elif form == SEEDED:
            self.seed = 8
        elif form == WHOLECOLUMNS:
            self.numbered, self.number = columns, count * rows
        elif form == WHOLEROWS:
            self.numbered, self.number = rows, count * columns
        elif form == BLOCKS:
            self.entries, self.length = count, 2 ** (parameter % 16 - 1)
            self.number = self.scales = -(-count // 2 ** (4 + parameter // 16))
        if self.sections is None:
            self.sections = [self.number]
        self.number = sum(self.sections)

    def values(self):
        """The first value of each section, and how many it has"""
        return [(sum(self.sections[:k]), number) for k, number in enumerate(self.sections)]

def write_number(number):
    """Groups of seven bits, the lowest first, each but the last with 128 added"""
    groups = []
    while number >= 128:
        groups.append(number % 128 + 128)
        number //= 128
    return bytes(groups + [number])

def read_number(data, at):
    """The number, and where it ends"""
    number = 0
    for k in range(9):
        refuse_if(at + k >= len(data), 'truncated number')
        number += data[at + k] % 128 << 7 * k
        if data[at + k] < 128:
            refuse_if(k > 0 and data[at + k] == 0, 'longer number')
            return number, at + k + 1
    raise Corrupt('large number')

def write_header(layer, form, indices, values, parameter, count, size):
    return struct.pack('<IBB', layer, form + 16 * indices, values) + (bytes([parameter]) if form in (BLOCKS, VOTES) else b'') + write_number(count) + write_number(size)

def read_header(data):
    """The arguments of write_header(), and how many bytes they take"""
    refuse_if(len(data) < 7, 'truncated header')
    layer, codes, values = struct.unpack('<IBB', data[:6])
    blocks = codes % 16 in (BLOCKS, VOTES)
    refuse_if(blocks and len(data) < 8, 'truncated header')
    count, at = read_number(data, 7 if blocks else 6)
    size, at = read_number(data, at)
    return (layer, codes % 16, codes // 16, values, data[6] if blocks else 0, count, size), at

def decode_message(data, layer, rows, columns):
    (got, form, indices, values, parameter, count, size), head = read_header(data)
    payload = data[head:]
    refuse_if(size != len(payload), 'length')
    refuse_if(got != layer, 'layer')
    refuse_if((form > BLOCKS and form != VOTES) or indices > LEVELS or (indices == LEVELS and form != BLOCKS) or values > TWOBIT or (values == TWOBIT and form != SPARSE), 'unknown codec')
    refuse_if({BLOCKS: not 2 <= parameter % 16 <= 8 or parameter // 16 > 12, VOTES: not 1 <= parameter <= 32 or values != 0}.get(form, parameter != 0), 'parameter')
    most = {LOWRANK: min(rows, columns), TRIPLES: min(rows, columns), PERROW: rows, WHOLEROWS: rows, PERCOLUMN: columns, COLUMNS: columns, WHOLECOLUMNS: columns}.get(form, rows * columns)
    refuse_if(count > most or (form in (DENSE, SIGNS, BLOCKS) and count not in (0, most)) or (form == VOTES and count != most), 'count')
    positioned = form in (SPARSE, COLUMNS, WHOLECOLUMNS, WHOLEROWS) or (form in (PERROW, PERCOLUMN) and count < most)
    refuse_if(positioned != (indices not in (NONE, LEVELS)), 'positions')
    parts = Sections(form, parameter, rows, columns, count)
    positions, head = None, parts.seed
    refuse_if(size < head, 'size')
    seed = int.from_bytes(payload[:head], 'little')
    if indices == GAPS:
        positions, head = decode_gaps(parts.numbered, count, payload)
    elif positioned:
        refuse_if(indices != plain_positions(parts.numbered, count), 'the longer of bitmap and raw positions')
        head = positions_bytes(indices, parts.numbered, count)
        refuse_if(head > size, 'size')
        positions = decode_positions(indices, parts.numbered, count, payload[:head])
    if indices == LEVELS:
        codes, used = decode_codes(parts.entries, payload[head:], entry_bits(parts.length))
        middle = head + used
    else:
        lines = parts.entries // parts.planes
        some = -(-lines * entry_bits(parts.length) // 8) if lines else 0
        middle = head + parts.planes * some
        refuse_if(size < middle, 'size')
        codes = [code for p in range(parts.planes) for code in decode_entries(parts.length, lines, payload[head + p * some:head + (p + 1) * some])]
    refuse_if(values != CODED and size != middle + sum(values_bytes(values, number) for number in parts.sections), 'size')
    x, at = [], middle
    for number in parts.sections:
        if values == CODED:
            section, used = decode_coded(number, payload[at:])
        else:
            used = values_bytes(values, number)
            section = decode_values(values, number, payload[at:at + used])
        x.append(section)
        at += used
    refuse_if(at != size, 'behind the values')
    x = np.concatenate(x)
    refuse_if(not (x[:parts.magnitudes] > 0).all(), 'magnitude')
    refuse_if(np.signbit(x[:parts.scales]).any(), 'scale')
    return Message(layer, rows, columns, form, indices, values, count, positions, x, codes, parameter, seed)

def encode_group(layer, parts):
    body = b''.join(part.encode() for part in parts)
    return write_header(layer, GROUP, NONE, 0, 0, len(parts), len(body)) + body

def decode_group(data, layer, blocks):
    """The messages of the blocks; blocks gives (layer, rows, columns) of each"""
    (got, form, indices, values, _, count, size), head = read_header(data)
    refuse_if(got != layer or form != GROUP or indices != NONE or values != 0, 'header')
    refuse_if(count != len(blocks), 'number of blocks')
    refuse_if(size != len(data) - head, 'length')
    return [decode_message(piece, *block) for piece, block in zip(pieces_of(data[head:], count), blocks)]

def pieces_of(body, number):
    """The bytes of so many messages, which end where the body ends"""
    pieces = []
    while body and len(pieces) < number:
        fields, end = read_header(body)
        end += fields[-1]
        refuse_if(end > len(body), 'truncated payload')
        pieces.append(body[:end])
        body = body[end:]
    refuse_if(body or len(pieces) != number, 'messages')
    return pieces

def encode_packet(sender, direction, status, step, messages, body=None, major=3, minor=0, number=None, size=None, magic=b'PMW1'):
    """The arguments behind messages are for packets that break a rule"""
    body = b''.join(m.encode() for m in messages) if body is None else body
    head = magic + struct.pack('<BBBBIIQQ', major, minor, direction, status, sender, len(messages) if number is None else number, step, len(body) if size is None else size)
    return head + struct.pack('<I', crc32c(head + body)) + body

def decode_packet(data, sender, direction, step, layers):
    """The status and the messages; layers gives (layer, rows, columns) of each message"""
    refuse_if(len(data) < 36, 'truncated header')
    magic, major, _, got_direction, status, got_sender, number, got_step, size, crc = struct.unpack('<4sBBBBIIQQI', data[:36])
    body = data[36:]
    refuse_if(magic != b'PMW1' or major != 3, 'version')
    refuse_if((got_sender, got_direction, got_step) != (sender, direction, step), 'not expected')
    refuse_if(size != len(body), 'length')
    refuse_if(crc != crc32c(data[:32] + body), 'CRC')
    refuse_if(status != 0 and number != 0, 'status')
    pieces = pieces_of(body, number)
    refuse_if(status == 0 and number != len(layers), 'number of messages')
    return status, [decode_message(piece, *layer) for piece, layer in zip(pieces, layers)]

def settled(message):
    """With the shorter of bitmap and raw positions, and plain codecs where the others are not shorter"""
    parts = Sections(message.form, message.parameter, message.rows, message.columns, message.count)
    if message.indices not in (NONE, LEVELS):
        plain = plain_positions(parts.numbered, message.count)
        if message.indices != GAPS or len(encode_gaps(parts.numbered, message.positions)) >= positions_bytes(plain, parts.numbered, message.count):
            message.indices = plain
    if message.indices == LEVELS and len(encode_codes(message.entries, entry_bits(parts.length))) >= -(-parts.entries * entry_bits(parts.length) // 8):
        message.indices = NONE
    if message.values == CODED:
        some = [message.x[first:first + number] for first, number in parts.values()]
        if sum(len(encode_coded(x)) for x in some) >= sum(values_bytes(NATURAL, len(x)) for x in some):
            message.values = NATURAL
    return message

def compact(message):
    """The same in the codecs that a sender must choose"""
    indices = GAPS if message.indices in (BITMAP, RAW) else LEVELS if message.form == BLOCKS else message.indices
    other = copy.copy(message)
    other.indices, other.values = indices, CODED if message.values == NATURAL else message.values
    return settled(other)

# ---- What this program gives to the C code

WHOLE = 99

def bad_sections():
    """Each breaks one rule: name, 0 for gaps or the width of coded codes, entries (of gaps), count, section"""
    good = encode_gaps(40, [1, 3, 20, 21])
    stream = good[1:]
    sections = []

    def gaps(name, n, section, b=None, entries=40, count=None):
        sections.append((name, 0, entries, n if count is None else count, write_number(2 * (len(section) if b is None else b)) + section))

    def coded(name, count, chunk, size=None):
        sections.append((name, 9, 0, count, write_number(len(chunk) if size is None else size) + chunk))

    assert len(stream) == 3
    gaps('a byte too few', 4, stream[:2])
    gaps('longer than a bitmap', 4, stream + bytes(3))
    gaps('five kept', 5, stream)
    gaps('five counted', 4, stream, count=5)
    gaps('more kept than there are', 41, stream)
    gaps('beyond the section', 4, stream, b=4)
    gaps('all bytes beyond the section', 4, stream, b=5)
    gaps('zeros alone', 4, b'\x00\x00\x00')
    gaps('one kept behind the last', 1, join_bits([(2, 2), (13, 4)]), entries=40)
    gaps('many zeros', 1, b'\x00' * 60 + b'\x80', entries=65536)
    gaps('bitmap with padding', 20, b'\x55\x55\x55\x55\x95', entries=39)
    gaps('bitmap of another count', 20, b'\x55\x55\x55\x55\x51', entries=39)
    sections.append(('no chunk', 0, 40, 0, b''))
    sections.append(('half a length', 0, 40, 4, b'\x86'))
    sections.append(('a length of two bytes', 0, 40, 4, b'\x86\x00' + stream))
    crowd = [k for k in range(1100) if k // 256 % 2 == 0 and k % 3 < 2]
    stretches, mode = gap_chunk(1100, crowd)
    assert mode == 1
    for name, section, count in (('a count too many', stretches, len(crowd) + 1), ('a count too few', stretches, len(crowd) - 1), ('a byte of stretches missing', stretches[:-1], len(crowd)), ('eight zeros', b'\x00\x01' + stretches[2:], len(crowd)), ('nine zeros', b'\x00\x02' + stretches[2:], len(crowd))):
        sections.append((name, 0, 1100, count, write_number(2 * len(section) + 1) + section))
    sections.append(('stretches told as one stream', 0, 1100, len(crowd), write_number(2 * len(stretches)) + stretches))
    sections.append(('stretches of one stretch', 0, 40, 4, b'\x07' + stream))
    sections.append(('a large length', 0, 40, 4, b'\xff' * 8 + b'\x7f' + stream))
    two = encode_gaps(65577, [65537, 65539, 65556, 65557])
    assert two == b'\x00\x00' + encode_gaps(41, [1, 3, 20, 21])
    sections.append(('the second chunk missing', 0, 65577, 4, two[:2]))
    sections.append(('four in the first chunk', 0, 65577, 4, b'\x04' + two[1:]))
    sections.append(('five in the first chunk', 0, 65577, 4, b'\x05' + two[1:]))
    sections.append(('a number of two bytes', 0, 65577, 4, b'\x80\x00' + two[1:]))
    ones = [127] * 16

    def table(fields, states=(65536,), words=(), count=16, name=''):
        coded(name, count, join_bits([(len([f for f in fields if f[1] == 4]), 8)] + fields) + struct.pack('<%dI' % len(states), *states) + struct.pack('<%dH' % len(words), *words))

    whole = [(13, 4), (0, 12)]
    assert code_chunk(ones, {127: 4096}) == join_bits([(1, 8), (0, 1), (127, 9)] + whole) + struct.pack('<I', 65536)
    table([(0, 1), (255, 9)] + whole, name='code 255')
    table([(0, 1), (511, 9)] + whole, name='code 511')
    table([(0, 1), (127, 9), (0, 4)], name='width 0')
    table([(0, 1), (127, 9), (14, 4), (0, 13)], name='width 14')
    table([(0, 1), (127, 9), (12, 4), (2047, 11)], name='sum 4095')
    table([(0, 1), (127, 9), (13, 4), (1, 12)], name='sum 4097')
    table([(0, 1), (127, 9)] + whole, states=(65535,), name='state 65535')
    table([(0, 1), (127, 9)] + whole, states=(65537,), name='state 65537 at the end')
    table([(0, 1), (127, 9)] + whole, states=(2 ** 32 - 1,), name='largest state')
    table([(0, 1), (127, 9)] + whole, states=(), name='no state')
    table([(0, 1), (127, 9)] + whole, words=(0,), name='a word behind')
    table([(0, 1), (127, 9)] + whole, states=(65536,) * 4, name='four states of few', count=1023)
    table([(0, 1), (127, 9)] + whole, name='one state of many', count=1024)
    table([(0, 1), (127, 9)] + whole, states=(65536,) * 32, name='32 states of fewer', count=32767)
    table([(0, 1), (127, 9)] + whole, states=(65536,) * 4, name='four states of a long chunk', count=32768)
    table([(0, 1), (127, 9)] + whole, states=(65536,) * 31 + (65537,), name='the last of 32 states', count=32768)
    coded('a byte behind', 16, code_chunk(ones, {127: 4096}) + b'\x00')
    two = [127, 128, 127, 127] * 8
    right = frequencies(two)
    assert right == {127: 3072, 128: 1024} and len(code_chunk(two, right)) < 36
    coded('the last word missing', 32, code_chunk(two, right)[:-2])
    coded('one value more', 33, code_chunk(two, right))
    coded('one value less', 31, code_chunk(two, right))
    coded('more than packed', 32, pack_bits(two, 9) + b'\x00')
    coded('more than there is', 32, code_chunk(two, right), size=len(code_chunk(two, right)) + 1)
    coded('most bytes', 32, code_chunk(two, right), size=2 ** 32 - 1)
    coded('no bytes', 32, code_chunk(two, right), size=0)
    coded('no codes', 16, b'\x00' + code_chunk(ones, {127: 4096})[1:])
    coded('127 codes', 16, b'\x7f' + code_chunk(ones, {127: 4096})[1:])
    coded('255 codes', 16, b'\xff' + code_chunk(ones, {127: 4096})[1:])
    coded('a table that ends early', 16, b'\x02' + code_chunk(ones, {127: 4096})[1:])
    sections.append(('no length', 9, 0, 16, b''))
    sections.append(('half a length', 9, 0, 16, b'\x89'))
    sections.append(('a length of two bytes of coded values', 9, 0, 32, b'\x8c\x00' + encode_coded([1.0, 2.0, 1.0, 1.0] * 8)[1:]))
    assert encode_coded([1.0, 2.0, 1.0, 1.0] * 8)[0] == 0x0c
    sections.append(('one chunk of two', 9, 0, 65537, encode_coded([1.0] * 65536)))
    chunk = code_chunk([4] + [3] * 63, frequencies([4] + [3] * 63), 2)
    sections.append(('a level behind the last that follows it', 2, 0, 64, write_number(len(chunk)) + chunk))
    return sections

def bad_packets():
    """Each breaks one rule of what a payload says; sender 3, direction 0, step 7, one layer F20C3F36: name, rows, columns, packet.

    Headers, lengths and counts are broken by tests/wire_messages.c and wire_mutation.c.
    """
    layer = 0xF20C3F36

    def message(form=SPARSE, indices=BITMAP, values=NATURAL, count=2, payload=b'\x42\x80\xfd\x00', parameter=0, size=None, name=layer):
        return write_header(name, form, indices, values, parameter, count, len(payload) if size is None else size) + payload

    def packet(**change):
        body = change.pop('body', message())
        return encode_packet(change.pop('sender', 3), change.pop('direction', 0), change.pop('status', 0), change.pop('step', 7), [], body=body, **{'number': 1, **change})

    def doubles(*x):
        return struct.pack('<%dd' % len(x), *x)

    def singles(*x):
        return struct.pack('<%df' % len(x), *x)

    good = message()
    raw = b'\x80\xfd\x00'
    small = [
        ('status with bytes', packet(status=1, number=0)),
        ('signs of magnitude 0', packet(body=message(form=SIGNS, indices=NONE, values=SINGLE, count=8, payload=b'\x42' + singles(0)))),
        ('signs of magnitude -1', packet(body=message(form=SIGNS, indices=NONE, values=SINGLE, count=8, payload=b'\x42' + singles(-1)))),
        ('signs without magnitude', packet(body=message(form=SIGNS, indices=NONE, values=SINGLE, count=8, payload=b'\x42'))),
        ('magnitude of no signs', packet(body=message(form=SIGNS, indices=NONE, values=SINGLE, count=0, payload=singles(1)))),
        ('seven bytes of seed', packet(body=message(form=SEEDED, indices=NONE, count=0, payload=bytes(7)))),
        ('padding of whole rows', packet(body=message(form=WHOLEROWS, indices=BITMAP, values=BF16, count=1, payload=b'\x05' + bytes(8)))),
        ('blocks of scale -1', packet(body=message(form=BLOCKS, indices=NONE, values=SINGLE, parameter=4, count=8, payload=b'\x20\x00\x00\x00' + singles(-1)))),
        ('blocks of scale -0', packet(body=message(form=BLOCKS, indices=NONE, values=SINGLE, parameter=4, count=8, payload=b'\x00\x00\x00\x00' + singles(-0.0)))),
        ('blocks of infinite scale', packet(body=message(form=BLOCKS, indices=NONE, values=SINGLE, parameter=4, count=8, payload=b'\x20\x00\x00\x00' + singles(float('inf'))))),
        ('a byte behind blocks', packet(body=message(form=BLOCKS, indices=NONE, values=SINGLE, parameter=3, count=8, payload=b'\x00\x00\x00' + singles(1) + b'\x00'))),
        ('votes of two digits in one', packet(body=message(form=VOTES, indices=NONE, values=DOUBLE, parameter=2, count=8, payload=bytes(1)))),
        ('bitmap as gaps', packet(body=message(indices=GAPS))),
        ('gaps without directory', packet(body=message(indices=GAPS, payload=b'\x42' + raw))),
        ('gaps of three', packet(body=message(indices=GAPS, payload=b'\x02\x43' + raw))),
        ('gaps without a byte', packet(body=message(indices=GAPS, payload=b'\x00' + raw))),
        ('gaps with a byte more', packet(body=message(indices=GAPS, payload=b'\x04\x42\x00' + raw))),
        ('gaps with a length of two bytes', packet(body=message(indices=GAPS, payload=b'\x82\x00\x42' + raw))),
        ('all rows with gaps', packet(body=message(form=PERROW, indices=GAPS, values=SINGLE, payload=b'\x02\x03\x21' + singles(1)))),
        ('natural as coded', packet(body=message(values=CODED))),
        ('coded in two bytes', packet(body=message(values=CODED, payload=b'\x42\x02' + raw[:2]))),
        ('coded in four bytes', packet(body=message(values=CODED, payload=b'\x42\x04' + raw + b'\x00'))),
        ('coded with a byte behind', packet(body=message(values=CODED, payload=b'\x42\x03' + raw + b'\x00'))),
        ('rows of coded magnitude 0', packet(body=message(form=PERROW, indices=NONE, values=CODED, payload=b'\x21\x02\x00\x00'))),
        ('count that wraps', packet(body=message(count=2 ** 61 + 2, values=DOUBLE, payload=b'\x42' + doubles(1, 2)))),
        ('rank that wraps', packet(body=message(form=LOWRANK, indices=NONE, count=2 ** 63, values=BF16, payload=b''))),
        ('one bit', packet(body=message(payload=b'\x40' + raw))),
        ('three bits', packet(body=message(payload=b'\x43' + raw))),
        ('triples without magnitude', packet(body=message(form=TRIPLES, indices=NONE, values=SINGLE, count=1, payload=singles(1, 1, 1, 1, 1, 1)))),
        ('triples of magnitude 0', packet(body=message(form=TRIPLES, indices=NONE, values=SINGLE, count=1, payload=singles(0, 1, 1, 1, 1, 1, 1)))),
        ('a row missing without positions', packet(body=message(form=PERROW, indices=NONE, values=SINGLE, count=1, payload=b'\x01' + singles(1)))),
        ('rows of magnitude 0', packet(body=message(form=PERROW, indices=NONE, values=SINGLE, payload=b'\x21' + singles(0)))),
        ('rows of magnitude -1', packet(body=message(form=PERROW, indices=NONE, values=SINGLE, payload=b'\x21' + singles(-1)))),
        ('rows of magnitude -0', packet(body=message(form=PERROW, indices=NONE, values=SINGLE, payload=b'\x21' + singles(-0.0)))),
        ('rows of infinite magnitude', packet(body=message(form=PERROW, indices=NONE, values=SINGLE, payload=b'\x21' + singles(float('inf'))))),
        ('magnitude of no row', packet(body=message(form=PERROW, indices=RAW, values=SINGLE, count=0, payload=singles(1)))),
        ('rows of natural magnitude 0', packet(body=message(form=PERROW, indices=NONE, payload=b'\x21\x00\x00'))),
        ('raw positions that are as long as a bitmap', packet(body=message(indices=RAW, count=1, payload=b'\x01\x80\x01'))),
        ('a bitmap of no positions', packet(body=message(count=0, payload=b'\x00'))),
    ]
    # Where a raw position is the shorter: two bytes for an entry, one for a row or a column
    large = [
        ('whole columns twice', packet(body=message(form=WHOLECOLUMNS, indices=RAW, values=BF16, payload=b'\x01\x01' + bytes(80)))),
        ('whole columns past the end', packet(body=message(form=WHOLECOLUMNS, indices=RAW, values=BF16, count=1, payload=b'\x14' + bytes(40)))),
        ('whole rows past the end', packet(body=message(form=WHOLEROWS, indices=RAW, values=BF16, count=1, payload=b'\x14' + bytes(40)))),
        ('raw decreasing', packet(body=message(indices=RAW, payload=b'\x06\x00\x01\x00' + raw))),
        ('raw twice', packet(body=message(indices=RAW, payload=b'\x06\x00\x06\x00' + raw))),
        ('raw past the end', packet(body=message(indices=RAW, payload=b'\x01\x00\x90\x01' + raw))),
        ('raw 65535', packet(body=message(indices=RAW, payload=b'\x01\x00\xff\xff' + raw))),
        ('a bitmap that is longer than raw positions', packet(body=message(payload=b'\x42' + bytes(49) + raw))),
        ('a bitmap of columns that is longer', packet(body=message(form=COLUMNS, values=SINGLE, count=1, payload=b'\x02\x00\x00' + singles(*[1] * 21)))),
        ('row past the end', packet(body=message(form=PERROW, indices=RAW, values=SINGLE, count=1, payload=b'\x14\x01' + singles(1)))),
        ('columns past the end', packet(body=message(form=PERCOLUMN, indices=RAW, values=SINGLE, count=1, payload=b'\x14\x01' + singles(1)))),
        ('columns of magnitude -2', packet(body=message(form=COLUMNS, indices=RAW, values=SINGLE, count=1, payload=b'\x01' + singles(-2, *[1] * 20)))),
        ('columns twice', packet(body=message(form=COLUMNS, indices=RAW, values=SINGLE, count=2, payload=b'\x01\x01' + singles(*[1] * 42)))),
        ('columns with NaN', packet(body=message(form=COLUMNS, indices=RAW, values=SINGLE, count=1, payload=b'\x01' + singles(2, *[1] * 19, float('nan'))))),
    ]
    return [(name, 2, 4, data) for name, data in small] + [(name, 20, 20, data) for name, data in large]

def wrong():
    """Name, width (0 of gaps, WHOLE of a packet), rows or entries, columns or count, bytes of all that is to be refused"""
    return [(name, WHOLE, rows, columns, data) for name, rows, columns, data in bad_packets()] + bad_sections()

def write_wrong(folder, program):
    path = os.path.join(folder, 'wrong.txt')
    with open(path, 'w') as file:
        for name, width, rows, columns, data in wrong():
            file.write('%s %d %d %d %s\n' % (name.replace(' ', '_'), width, rows, columns, data.hex() or '-'))
    done = subprocess.run([program, '-wrong', path], stdout=subprocess.PIPE, check=True)
    assert done.stdout == b'%d refused\n' % len(wrong()), done.stdout

# ---- What the C code gives to this program

def check(folder):
    with open(os.path.join(folder, 'cases.txt')) as file:
        words = [line.split() for line in file]
    packets = []
    for line in words:
        if line[0] == 'packet':
            packets.append((line[1], [int(word) for word in line[2:]], []))
        elif line[0] == 'message':
            packets[-1][2].append([int(word) for word in line[1:]] + [None, [], []])
        elif line[0] == 'positions':
            packets[-1][2][-1][-3] = [int(word) for word in line[1:]]
        elif line[0] == 'entries':
            packets[-1][2][-1][-2] = [int(word) for word in line[1:]]
        else:
            assert line[0] == 'values', line
            packets[-1][2][-1][-1] = [float.fromhex(word) for word in line[1:]]
    assert len(packets) >= 15, 'too few packets'
    codecs = set()
    for name, (shortest, sender, direction, status, step, number), messages in packets:
        expected = [Message(layer, rows, columns, form, indices, values, count, positions if indices not in (NONE, LEVELS) else None, x, entries, parameter, seed) for layer, rows, columns, form, indices, values, count, parameter, seed, positions, entries, x in messages]
        assert number == len(expected), name
        layers = [(m.layer, m.rows, m.columns) for m in expected]
        data, group = (open(os.path.join(folder, name + suffix), 'rb').read() for suffix in ('.packet', '.group'))
        got_status, got = decode_packet(data, sender, direction, step, layers)
        assert got_status == status, name
        for i, (a, b, c) in enumerate(zip(got, expected, decode_group(group, 77, layers))):
            assert a.says(b) and c.says(b), '%s: message %d says something else' % (name, i)
            codecs.add((a.form, a.indices, a.values))
            short = compact(a)
            assert not shortest or (a.indices, a.values) == (short.indices, short.values), '%s: message %d is not in the shortest codecs' % (name, i)
        assert encode_packet(sender, direction, status, step, expected) == data, '%s: encoded here it has other bytes' % name
        assert encode_group(77, expected) == group, '%s: as a group it has other bytes' % name
    assert len(codecs) == 108, 'only the codecs %s occur' % sorted(codecs)
    assert {form for form, indices, _ in codecs if indices == GAPS} == {SPARSE, PERROW, PERCOLUMN, COLUMNS, WHOLECOLUMNS, WHOLEROWS}, 'gaps'
    assert {form for form, _, values in codecs if values == CODED} == {DENSE, SPARSE, LOWRANK, TRIPLES, COLUMNS, SEEDED, WHOLECOLUMNS, WHOLEROWS, BLOCKS}, 'coded values'
    assert {values for form, indices, values in codecs if indices == LEVELS} == {DOUBLE, SINGLE, NATURAL, CODED}, 'coded entries'
    # The example of src/wire/README.md: the layer w, and w[0] and w[1] of it
    parts = [Message(layer, 1, 4, SPARSE, BITMAP, NATURAL, 1, [place], [value]) for layer, place, value in ((0x0F052BA8, 1, -2.0), (0xD3028E9D, 2, 0.5))]
    assert encode_group(0xF20C3F36, parts) == bytes.fromhex('363F0CF20C000216 A82B050F110301030280 019D8E02D3110301 03047E00'), 'the example'

    with open(os.path.join(folder, 'mutations.bin'), 'rb') as file:
        data = file.read()
    at = seen = accepted = 0
    while at < len(data):
        which, verdict, size = struct.unpack('<BBI', data[at:at + 6])
        packet = data[at + 6:at + 6 + size]
        at += 6 + size
        name, (_, sender, direction, _, step, _), messages = packets[which]
        try:
            decode_packet(packet, sender, direction, step, [message[:3] for message in messages])
            mine, why = 1, 'accepted'
        except Corrupt as reason:
            mine, why = 0, reason
        assert mine == verdict, 'mutation %d of %s: %s here, %s there' % (seen, name, why, 'accepted' if verdict else 'refused')
        seen += 1
        accepted += mine
    assert seen >= 1000 and 0 < accepted < seen, 'mutations: %d, %d of them accepted' % (seen, accepted)

    for name, width, rows, columns, data in wrong():
        try:
            if width == WHOLE:
                decode_packet(data, 3, 0, 7, [(0xF20C3F36, rows, columns)])
            else:
                # A section may be followed by others: what it leaves is for the next, and here there is none
                refuse_if((decode_codes(columns, data, width) if width else decode_gaps(rows, columns, data))[1] != len(data), 'behind')
        except Corrupt:
            continue
        raise AssertionError('accepted: ' + name)

def main():
    if len(sys.argv) == 4 and sys.argv[2] == '--wrong':
        write_wrong(sys.argv[1], sys.argv[3])
    elif len(sys.argv) == 2 and not sys.argv[1].startswith('-'):
        check(sys.argv[1])
    else:
        sys.exit(__doc__)

if __name__ == '__main__':
    main()
