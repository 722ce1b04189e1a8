"""The compressors a second time, from their definitions, src/wire/README.md and nothing of the C code.

    compressor.py DIR    check what tests/compressor_oracle.c wrote into DIR

Every message is decoded by wire.py, its contents are computed again from what was compressed, and its costs from the decoded arrays.

The matrices of this file are those of the wire: their rows are the lines of an array, one behind the other in memory. They are the columns of a matrix that is stored by columns and the rows of one that is stored by rows.
"""
import math
import os
import sys
from fractions import Fraction

import numpy as np

import wire
from entropy import entropy
from philox import Stream, philox
from subset import subset

NAMES = {'double': wire.DOUBLE, 'single': wire.SINGLE, 'bf16': wire.BF16, 'natural': wire.NATURAL, '2bit': wire.TWOBIT}

def fnv1a(name):
    value = 2166136261
    for byte in name.encode():
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return value

# ---- Compressing again

def natural(x, word):
    """Definition: |x| = (1 + f) 2^a goes up where the random fraction reaches 1 - f."""
    x = float(np.float32(x))
    if abs(x) < 2.0 ** -126:
        return 0.0
    mantissa, exponent = math.frexp(abs(x))
    power = 2.0 ** (exponent - 1)
    if (word >> 9) / 2.0 ** 23 >= 2.0 - abs(x) / power:
        power *= 2
    return math.copysign(min(power, 2.0 ** 127), x)

def nearest(x):
    """|x| / 2^a from 1.5 on goes up."""
    x = float(np.float32(x))
    if abs(x) < 2.0 ** -126:
        return 0.0
    power = 2.0 ** (math.frexp(abs(x))[1] - 1)
    return math.copysign(min(2 * power if abs(x) >= 1.5 * power else power, 2.0 ** 127), x)

def truncated(x):
    x = float(np.float32(x))
    return 0.0 if abs(x) < 2.0 ** -126 else math.copysign(2.0 ** (math.frexp(abs(x))[1] - 1), x)

def bf16(x):
    """To the nearest multiple of 2^(a - 7), ties to even; round() of Python does just that."""
    x = float(np.float32(x))
    if x == 0:
        return 0.0
    unit = 2.0 ** (math.frexp(x)[1] - 8)
    return round(x / unit) * unit

def rounded(codec, values, entries, stream):
    if codec == 0:
        return [float(x) for x in values]
    if codec == 1:
        return [float(np.float32(x)) for x in values]
    if codec == 2:
        return [bf16(x) for x in values]
    if codec == NAMES['2bit']:
        singles = np.asarray(values).astype(np.float32)
        return wire.decode_values(codec, len(singles), wire.encode_values(codec, singles))
    return [natural(x, stream.word(e)) for x, e in zip(values, entries)]

def kept(ratio, most):
    return min(most, max(1, math.floor(ratio * most + 1e-9)))

def parts(most, entries):
    """The numbers of each block"""
    return [range(first, min(first + entries, most)) for first in range(0, most, entries)]

# ---- The formula of the paper

def paper(kind, values, ratio, m, n, bits, quantization, entries):
    value = 16 if values in ('natural', 'bf16', '2bit') else 32
    if kind == 'identity':
        return 32 * m * n
    if kind in ('natural', 'nearest', 'truncated', 'bf16'):
        return 16 * m * n
    if kind == 'damping':
        return value * m * n
    if kind == 'sign':
        return m * n + value
    if kind == 'qsgd':
        return m * n * quantization[0] + -(-m * n // quantization[1]) * value
    if kind == 'dropout':
        return ratio * (value * m * n)
    if kind in ('columntopk', 'rowtopk'):
        lines, length = (n, m) if kind == 'columntopk' else (m, n)
        return kept(ratio, lines) * (length * value + math.ceil(math.log2(lines)))
    if kind in ('topk', 'randk'):
        return sum(kept(ratio, len(part)) for part in parts(m * n, entries)) * (value + (bits if bits >= 0 else math.ceil(math.log2(m * n))))
    raise AssertionError(kind)

# ---- What tests/compressor_oracle.c writes

class Written:
    """A compressor, by its type and keys, and of which arrays."""

    def __init__(self, fields, scalar):
        (_, self.number, m, n, seed, layer, sender, direction, self.alpha, self.native, order, self.kind, *words), self.scalar = fields, scalar
        self.keys = dict(zip(words[::2], words[1::2]))
        self.shape, self.rowmajor = (int(m), int(n)), order == 'rows'
        self.m, self.n = self.lines = self.shape if self.rowmajor else self.shape[::-1]
        self.ratio, self.rank, self.values = float(self.keys.get('ratio', 0.1)), int(self.keys.get('rank', -1)), self.keys.get('values', 'single')
        self.factor = float(np.float32(self.ratio)) if scalar == 'single' else self.ratio  # as it is multiplied with, and not as it was meant
        # Of the entries, and of PETSc's scalars, in which SLEPc computes
        self.epsilon = 2.0 ** -23 if self.native == 'single' else 2.0 ** -52
        self.unit = 2.0 ** -23 if 'single' in (self.native, scalar) else 2.0 ** -52
        self.layer = fnv1a(layer)
        self.stream_of = lambda step: Stream(int(seed), self.layer, step, int(sender), int(direction))

    def read(self, fields, path):
        """Step, whether it took effect, costs; what was compressed, what the message decodes to, and the message."""
        _, step, committed, *costs = fields
        with open(path, 'rb') as file:
            data = file.read()
        size = 8 * self.m * self.n
        X, decoded = (np.frombuffer(data[first:first + size]).reshape(self.lines) for first in (0, size))
        return int(step), committed == '1', [float(cost) for cost in costs], X, decoded, data[2 * size:]

    def check_costs(self, costs, paper, message, data):
        assert costs[0] == paper, 'paper bits'
        assert costs[1] == 8 * len(data), 'encoded bits'
        bound = entropy(message)
        assert abs(costs[2] - bound) <= 1e-9 * (bound + 1), 'entropy %.17g, expected %g' % (costs[2], bound)

def check_written(program, kind, folder):
    """Checks every message of all cases; returns their number, and the scalar."""
    messages = 0
    with open(os.path.join(folder, 'cases')) as file:
        scalar, *lines = file.read().splitlines()
    assert scalar in ('double', 'single'), 'cases'
    for line in lines:
        fields = line.split()
        try:
            if fields[0] == 'case':
                case, k, what = kind(fields, scalar), 0, line
                continue
            case.check(*case.read(fields, os.path.join(folder, '%s.%d' % (case.number, k))))
        except (AssertionError, wire.Corrupt) as error:
            sys.exit('%s: %s\n  %s\n  %s' % (program, error, what, line))
        k, messages = k + 1, messages + 1
    return messages, scalar

class Case(Written):
    def __init__(self, fields, scalar):
        super().__init__(fields, scalar)
        self.ties = int(self.number) % 3 == 1  # of which the first are kept, side by side
        self.entries = int(self.keys.get('block_entries', 0)) or self.m * self.n
        self.norm, self.bits = float(self.keys.get('line_norm', 2)), int(self.keys.get('paper_index_bits', -1))
        self.quantization = tuple(int(self.keys.get(key, 0)) for key in ('bits', 'qsgd_block_length')) + (self.keys.get('qsgd_block_norm'),)

    def codec(self):
        if self.kind == 'identity':
            return NAMES[self.native]
        if self.kind in ('natural', 'nearest', 'truncated'):
            return 3
        if self.kind == 'bf16':
            return 2
        return NAMES[self.native if self.values == 'native' else self.values]

    def check(self, step, committed, costs, residual, decoded, data):
        message = wire.decode_message(data, self.layer, self.m, self.n)
        compact = wire.compact(message)
        assert (message.indices, message.values) == (compact.indices, compact.values), 'not the smallest codecs'
        message.codec = wire.NATURAL if message.values == wire.CODED else message.values
        message.matrix = message.matrix()
        assert message.codec == self.codec(), 'codec'
        self.stream, self.decoded, self.data = self.stream_of(step), decoded, data
        getattr(self, 'check_' + self.kind)(message, residual)
        if self.entries == 4096 and not self.ties:
            # The logarithm of the choices of 1/64 is 7.43 bits an entry, to which Golomb codes add 3% at most; 2.5 bits of a value; header and chunk have 13 bytes
            bits = (costs[1] - 8 * 13) / message.count
            assert message.indices == wire.GAPS and 9.85 < bits < 1.03 * 7.43 + 2.5, '%g bits a kept entry' % bits
            assert costs[1] <= 1.03 * costs[2] + 8 * 13, 'more than the entropy'
        ratio = self.factor if self.kind == 'dropout' else self.ratio
        self.check_costs(costs, paper(self.kind, self.values, ratio, *self.shape, self.bits, self.quantization, self.entries), message, data)

    def check_identity(self, message, residual):
        assert message.form == 0 and np.array_equal(message.matrix, residual) and np.array_equal(self.decoded, residual), 'identity'

    def check_natural(self, message, residual):
        assert message.form == 0
        expected = rounded(3, residual.ravel(), range(residual.size), self.stream)
        assert np.array_equal(message.matrix.ravel(), expected) and np.array_equal(self.decoded.ravel(), expected), 'natural'

    def check_whole(self, message, expected, alpha):
        """A dense message with these entries, from an operator with that constant."""
        expected = np.array(expected).reshape(self.m, self.n)
        assert message.form == 0 and message.count == self.m * self.n, 'header'
        assert np.array_equal(message.matrix, expected) and np.array_equal(self.decoded, expected), 'entries'
        self.check_alpha(alpha, 4)

    def check_alpha(self, alpha, slack):
        """The constant is told for matrices of PETSc."""
        assert self.native != self.scalar or abs(float(self.alpha) - alpha) <= slack * self.epsilon, 'alpha %s, expected %g' % (self.alpha, alpha)

    def check_nearest(self, message, residual):
        # The worst double is the smallest that binary32 takes for 3/2
        u = self.single()
        self.check_whole(message, [nearest(x) for x in residual.ravel()], 1 - ((0.5 + u) / (1.5 - u)) ** 2)

    def check_truncated(self, message, residual):
        self.check_whole(message, [truncated(x) for x in residual.ravel()], 3 / 4)

    def check_bf16(self, message, residual):
        self.check_whole(message, [bf16(x) for x in residual.ravel()], 1 - 2.0 ** -16)

    def single(self):
        """The relative error of rounding PetscScalar to binary32, from where powers of two begin."""
        return 2.0 ** -24 if self.native == 'double' else 0.0

    def rounding(self):
        """Squares of relative errors, at most or, at random, in the mean: of values that have the width of PetscScalar there is none."""
        return 0.0 if self.codec() == NAMES[self.native] else {0: 0.0, 1: 2.0 ** -48, 2: 2.0 ** -16, 3: (1 + self.single()) ** 2 / 8 + self.single() ** 2}[self.codec()]

    def check_damping(self, message, residual):
        scaled, left = (float(np.float32(self.factor)) if self.native == 'single' else self.factor) * residual, 1 - self.factor
        # Of the product and, for a power of two, to binary32
        u = (self.single() if self.codec() == 3 else math.sqrt(self.rounding())) + (self.epsilon if self.factor < 1 else 0)
        if self.native == 'single':
            scaled = scaled.astype(np.float32).astype(float)
        alpha = 1 - (left + u * self.factor) ** 2 - (((1 + u) * self.factor) ** 2 / 8 if self.codec() == 3 else 0)
        self.check_whole(message, rounded(message.codec, scaled.ravel(), range(residual.size), self.stream), alpha)

    def check_dropout(self, message, residual):
        sent = self.stream.word(4 * (2 ** 32 - 1)) < self.factor * 2.0 ** 32
        alpha = self.factor * (1 - self.rounding())
        Case.coins[sent] += self.factor < 1
        if sent:
            self.check_whole(message, rounded(message.codec, residual.ravel(), range(residual.size), self.stream), alpha)
        else:
            assert message.form == 0 and message.count == 0 and len(self.data) == 8 and not self.decoded.any(), 'dropped'
            self.check_alpha(alpha, 4)

    def check_sign(self, message, residual):
        assert message.form == 3 and np.array_equal(message.matrix, self.decoded), 'sign'
        assert np.array_equal(message.matrix > 0, residual >= 0), 'signs'
        # The sum of d numbers in double is known up to d roundings, which may cross the border of a decision
        mean = math.fsum(abs(residual.ravel())) / residual.size
        around = [mean * (1 + k * residual.size * 2.0 ** -53) for k in (-1, 0, 1)]
        if message.codec == 0:
            low, high = (around[0], around[2]) if self.native == 'double' else (np.float32(mean), np.float32(mean))
            assert low <= message.x[0] <= high, 'magnitude'
        else:
            around = [float(np.float32(a)) for a in around] if self.native == 'single' else around
            assert message.x[0] in [rounded(message.codec, [a], [0], self.stream)[0] for a in around], 'magnitude'
        self.check_alpha((1 - self.rounding()) / residual.size, 4)

    def round_up(self, codec, x):
        """The smallest number of a codec that is not less than x: of 53, 24, 8 bits or one."""
        if x == 0:
            return 0.0
        unit = 2.0 ** (math.frexp(x)[1] - {0: 24 if self.native == 'single' else 53, 1: 24, 2: 8, 3: 1}[codec])
        return math.ceil(x / unit) * unit

    def check_qsgd(self, message, residual):
        bits, length, norm = self.quantization
        assert message.form == wire.BLOCKS and (message.parameter & 15, 16 << (message.parameter >> 4)) == (bits, length), 'header'
        scalar = np.float32 if self.native == 'single' else np.float64
        s, flat = 2 ** (bits - 1) - 1, residual.ravel()
        words = np.array([self.stream.word(e) for e in range(flat.size)])
        codes, decoded = [], []
        for b, scale in enumerate(message.x):
            x = flat[length * b:length * (b + 1)]
            if norm == 'max':
                assert scale == self.round_up(message.codec, float(np.max(np.abs(x)))), 'scale'
            else:
                # The sum of so many squares in double is known up to its roundings
                exact = math.sqrt(math.fsum(x * x))
                low, high = (self.round_up(message.codec, exact * (1 + k * len(x) * 2.0 ** -53)) for k in (-1, 1))
                assert low <= scale <= high and scale == self.round_up(message.codec, scale), 'scale'
            y = (np.abs(x) * (s / scale if scale > 0 else 0.0)).astype(np.float32)
            y = np.minimum(y, np.float32(s))
            level = np.floor(y) + ((words[length * b:length * (b + 1)] >> 8) / 2.0 ** 24 < y - np.floor(y))
            codes += list(2 * level + ((x < 0) & (level > 0)))
            step = scalar(scale) / scalar(s)
            decoded += list(np.where(x < 0, -1, 1).astype(scalar) * (level.astype(scalar) * step) + scalar(0))
        assert np.array_equal(message.entries, codes), 'codes'
        message.matrix = np.array(decoded, dtype=float).reshape(self.m, self.n)
        assert np.array_equal(message.matrix, self.decoded), 'decoded'
        # omega for scales that are not rounded, or hardly
        B = min(length, flat.size)
        omega = (math.sqrt(1 + (B - 1) / s ** 2) - 1) / 2 if norm == 'max' else B / (4 * s ** 2) if B < 4 * s ** 2 else math.sqrt(B) / s - 1
        slack = 2.0 ** -19 * (1 + B / s ** 2)
        if self.native != self.scalar:
            return
        if message.codec < 2:
            assert (self.alpha == '-1' and omega + slack >= 1) or abs(float(self.alpha) - (1 - omega)) <= slack, 'alpha %s, expected %g' % (self.alpha, 1 - omega)
        else:
            assert float(self.alpha) <= max(1 - omega, -1), 'alpha'

    def check_topk(self, message, residual):
        flat = residual.ravel()
        # Compared as they are sent: in binary32 unless they are doubles
        compared = np.abs(flat if message.codec == 0 else flat.astype(np.float32))
        chosen = [k for part in parts(flat.size, self.entries) for k in sorted(sorted(part, key=lambda k: (-compared[k], k))[:kept(self.ratio, len(part))])]
        assert message.form == 1 and message.positions == chosen, 'selection'
        expected = np.zeros(flat.size)
        expected[chosen] = rounded(message.codec, flat[chosen], chosen, self.stream)
        assert np.array_equal(message.matrix.ravel(), expected) and np.array_equal(self.decoded.ravel(), expected), 'values'
        # Other codes and magnitudes may say the same
        assert self.values != '2bit' or self.data.endswith(wire.encode_values(message.codec, flat[chosen].astype(np.float32))), 'two bits'
        if self.values in ('native', '2bit'):
            self.check_alpha(-1 if self.values == '2bit' else min(kept(self.ratio, len(part)) / len(part) for part in parts(flat.size, self.entries)), 4)

    def check_randk(self, message, residual):
        flat = residual.ravel()
        words = philox([0xFFFFFFFF] + self.stream.rest, self.stream.key)
        assert message.form == 8 and message.seed == words[0] + (words[1] << 32), 'seed'
        assert message.count == kept(self.ratio, flat.size), 'count'
        message.positions = subset(flat.size, message.count, message.seed)
        expected = np.zeros(flat.size)
        expected[message.positions] = rounded(message.codec, flat[message.positions], message.positions, self.stream)
        assert np.array_equal(message.matrix.ravel(), expected) and np.array_equal(self.decoded.ravel(), expected), 'values'

    def check_columntopk(self, message, residual):
        self.check_lines(message, *((residual.T, 9) if self.rowmajor else (residual, 10)))

    def check_rowtopk(self, message, residual):
        self.check_lines(message, *((residual, 10) if self.rowmajor else (residual.T, 9)))

    def check_lines(self, message, lines, form):
        """The lengths are exact numbers here; where the norm is neither 1, 2 nor inf, those that agree to 12 digits are in any order."""
        number, length = lines.shape
        count = kept(self.ratio, number)
        if self.norm == math.inf:
            lengths = [max(abs(x) for x in line) for line in lines]
        else:
            lengths = [sum(abs(Fraction(x)) ** int(self.norm) for x in line) for line in lines]
        chosen = sorted(sorted(range(number), key=lambda k: (-lengths[k], k))[:count])
        assert message.form == form and message.count == count, 'header'
        if self.norm == 3:
            left = [lengths[k] for k in range(number) if k not in message.positions]
            assert not left or min(lengths[k] for k in message.positions) >= max(left) * (1 - Fraction(1, 10 ** 12)), 'selection'
        else:
            assert message.positions == chosen, 'selection'
        chosen = message.positions
        places = [[k * length + i if form == 10 else i * number + k for i in range(length)] for k in chosen]
        expected = np.zeros(lines.shape)
        expected[chosen] = np.reshape([rounded(message.codec, lines[k], place, self.stream) for k, place in zip(chosen, places)], (count, length))
        expected = expected if form == 10 else expected.T
        assert np.array_equal(message.matrix, expected) and np.array_equal(self.decoded, expected), 'values'
        part = count / (count + (number - count) * length ** abs(1 - 2 / self.norm))
        codec = 1 - self.rounding()
        self.check_alpha(codec * part, 8)

Case.coins = [0, 0]

def main():
    messages, _ = check_written('compressor.py', Case, sys.argv[1])
    assert messages > 100 and min(Case.coins) > 4, (messages, Case.coins)
    print('compressor.py: %d cases agree' % messages)

if __name__ == '__main__':
    main()
