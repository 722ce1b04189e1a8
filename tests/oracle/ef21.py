"""Muon without compression, EF21-Muon and classic error feedback a second time, from their definitions and nothing of the C code.

    ef21.py DIR         do the run that tests/step_oracle.c wrote into DIR again and compare where it ends
    ef21.py DIR bf16    the same, with what oracles are given rounded to bfloat16 where several ranks assemble it
    ef21.py DIR single  the same, with new weights rounded to single precision, which all ranks have then

A step s of the library is the worker's half of iteration s - 1 of Algorithm 3 followed by the server's half of iteration s, so N steps end with X^N, W^N, M^{N-1}, G_j^{N-1} and G^{N-1}.

How close the two must be follows from the problem: the run is repeated with every gradient, momentum and direction multiplied by 1 + a few epsilon, and what that changes is what rounding may change. A run that does
not forgive this much (a tie broken the other way, a polar factor of a nearly singular matrix) is no test and fails.
"""
import math
import os
import sys

import numpy as np

from compressor import bf16, fnv1a, kept, natural, nearest, truncated
from lmo import mixed, singular
from philox import Stream
from subset import subset

EPSILON = 2.0 ** -52


# ---- The run that was written

class Settings(dict):
    """A line of parameters by the keys of the library's tables; what the library leaves to the type is filled in."""

    def __init__(self, line):
        for word in line.split():
            key, value = word.split('=')
            try:
                self[key] = int(value)
            except ValueError:
                try:
                    self[key] = float(value)
                except ValueError:
                    self[key] = {'true': True, 'false': False}.get(value, value)
        for way in ('up', 'down'):
            self.setdefault(way + '_type', 'identity')
            if self.setdefault(way + '_values', 'native') == 'auto':
                self[way + '_values'] = 'native' if self[way + '_type'] == 'identity' else 'single'
        if self.get('before_beta') == 'auto':
            self['before_beta'] = 0.95 if self['before'] == 'soap' else 0.0
        self.__dict__ = self


class Run:
    """Weights, H, B and noise follow from numbers: tests/problem.h."""

    def __init__(self, folder):
        self.folder, self.known = folder, {}
        with open(os.path.join(folder, 'settings')) as file:
            lines = file.read().splitlines()
        self.all, self.layers = Settings(lines[0]), [Settings(line) for line in lines[1:]]
        # The ranks of a node are one worker, whose gradient is the mean of theirs; rows of a worker may be spread over ranks
        self.all.ranks //= self.all.shards
        self.all.workers = self.all.ranks // self.all.node_size
        if self.all.type == 'local':
            self.all.delay, self.all.delay_correction = self.all.outer_delay, self.all.outer_delay_correction
        self.start = [self.numbers(i, 0, 1) for i in range(len(self.layers))]

    def numbers(self, i, worker, what):
        """One for each entry of a layer."""
        if (i, worker, what) not in self.known:
            m, n = self.layers[i].m, self.layers[i].n
            self.known[i, worker, what] = np.array([number(i, e, worker, what) for e in range(m * n)]).reshape(m, n)
        return self.known[i, worker, what]

    def read(self, rank, i, name):
        """Where a layer is spread over the ranks of a worker each has a file of its rows."""
        paths = ['%d.%d.%s' % (r, i, name) for r in range(rank * self.all.shards, (rank + 1) * self.all.shards)]
        parts = [np.fromfile(os.path.join(self.folder, path)) for path in paths if os.path.exists(os.path.join(self.folder, path))]
        assert len(parts) in (0, len(paths))
        return np.concatenate(parts).reshape(self.layers[i].m, self.layers[i].n) if parts else None

    def gradient(self, j, i, W, step, shake):
        """Of worker j for layer i, which only depends on that layer, with this step's noise."""
        g, e = 0.0, np.arange(W.size).reshape(W.shape)
        for r in range(j * self.all.node_size, (j + 1) * self.all.node_size):
            g = g + (1 + (e + r) % 3) / 2 * (W - 2 * self.numbers(i, r, 7) * self.all.optimum)
            if self.all.noise > 0:
                g = g + self.numbers(i, r, 100 + step) / self.all.noise
        if self.all.unseen:
            g = np.where((np.arange(len(W))[:, None] + np.arange(W.shape[1])) % 3 == 0, 0.0, g)
        return shake(self.all.scale * g / self.all.node_size)

    def loss(self):
        """Routines say the number of the step, from 1 on, and their rank."""
        return self.all.steps + (self.all.ranks * self.all.shards - 1) / 2


def number(*arguments):
    h = sum(a * b for a, b in zip(arguments, (2654435761, 2246822519, 3266489917, 668265263))) & 0xFFFFFFFF
    h ^= h >> 15
    h = h * 2246822519 & 0xFFFFFFFF
    h ^= h >> 13
    h = h * 3266489917 & 0xFFFFFFFF
    h ^= h >> 16
    return (h % 2048) / 1024 - 1


# ---- Norm balls and types

def steepest(layer, G):
    """The point D of the unit ball where <G,D> is largest."""
    norm = layer if isinstance(layer, str) else layer.lmo_type
    if not G.any():
        return np.zeros_like(G)
    if norm == 'max':
        return np.sign(G)
    if norm == 'frobenius':
        return G / np.sqrt(np.sum(G ** 2))
    A, E = np.abs(G), np.zeros_like(G)
    if norm == 'l1':
        # Of equal ones the first in memory
        k = np.unravel_index(int(np.argmax(A.ravel('F'))), A.shape, order='F')
        E[k] = np.sign(G[k])
        return E
    if norm == 'rowsum':
        E[np.arange(len(G)), np.argmax(A, axis=1)] = 1
        return E * np.sign(G)
    if norm == 'colsum':
        E[np.argmax(A, axis=0), np.arange(G.shape[1])] = 1
        return E * np.sign(G)
    if norm == 'l21':
        c = np.argmax(np.sum(G ** 2, axis=0))
        E[:, c] = G[:, c] / np.sqrt(np.sum(G[:, c] ** 2))
        return E
    if norm in ('column', 'row'):
        return G / np.sqrt(np.sum(G ** 2, axis=0 if norm == 'column' else 1, keepdims=True))
    if norm == 'mixed':
        return -mixed(layer.lmo_mixed_exponent_p, layer.lmo_mixed_exponent_q, G, False, EPSILON, G)[2]
    if norm == 'schatten':
        return -singular(layer.lmo_schatten_exponent, G, EPSILON)[2]
    U, s, Vt = np.linalg.svd(G, full_matrices=False)
    r = 1 if norm == 'nuclear' else int((s > s[0] * max(G.shape) * EPSILON).sum())
    return U[:, :r] @ Vt[:r]


def header(count, payload):
    """Bytes of a message before its payload"""
    return 6 + sum(max(1, -(-number.bit_length() // 7)) for number in (count, payload))


def step_bits(norm, D):
    """What a message of the step D costs: by the paper, with its header, and at least; numbers are doubles. A place that stands alone takes whole bytes"""
    (m, n), number = D.shape, lambda things: (things - 1).bit_length()
    if norm == 'nuclear':
        count, paper, least = int(D.any()), 32 * (1 + m + n), 64 * (1 + m + n)
        return np.array([count * paper, 8 * header(count, count * least // 8) + count * least, count * least])
    if norm in ('l1', 'l21'):
        things, numbers, count = (m * n, 1, int(D.any())) if norm == 'l1' else (n, 1 + m, int(D.any()))
        places = min(8 * count * max(1, -(-number(things) // 8)), 8 * -(-things // 8))
        return np.array([count * (number(things) + 32 * numbers), 8 * header(count, (places + 64 * count * numbers) // 8) + places + 64 * count * numbers, count * (math.log2(things) + 64 * numbers)])
    lines, length = (m, n) if norm == 'rowsum' else (n, m)
    count = int(np.count_nonzero(D))
    places = 0 if count == lines else min(8 * count * max(1, -(-number(lines) // 8)), 8 * -(-lines // 8))
    entries = 8 * -(-count * (1 + number(length)) // 8)
    return np.array([count * (1 + number(length)) + 32, 8 * header(count, (places + entries + 64 * (count > 0)) // 8) + places + entries + 64 * (count > 0), math.log2(math.comb(lines, count)) + count * (1 + math.log2(length)) + 64 * (count > 0)])


def shape_factor(layer, m, n):
    if layer.lmo_type == 'spectral':
        return {'none': 1.0, 'kj': math.sqrt(max(1.0, m / n)), 'moonlight': 0.2 * math.sqrt(max(m, n)), 'scion': math.sqrt(m / n)}[layer.shape_factor]
    return {'max': 1.0 / n, 'column': math.sqrt(m) / n, 'row': 1.0 / math.sqrt(n)}.get(layer.lmo_type, 1.0) if layer.shape_factor == 'scion' else 1.0


def blocks(layer):
    """The parts that the layer is cut into, by rows of their grid."""
    def parts(sizes, whole):
        ends = np.cumsum([int(size) for size in sizes.split(',')]) if sizes else [whole]
        assert ends[-1] == whole
        return [slice(start, end) for start, end in zip([0, *ends], ends)]
    return [(row, column) for row in parts(layer.get('rows'), layer.m) for column in parts(layer.get('columns'), layer.n)]


def momentum(s, layer, step):
    """A layer with a momentum of its own has another one than the optimizer: those do not warm up."""
    if step >= s.momentum_warmup:
        return layer.momentum
    return s.momentum_warmup_start + step / s.momentum_warmup * (s.momentum - s.momentum_warmup_start)


def shortened(s, layers, gradients):
    """Gradients, of one worker or their means, with the norm of all that are clipped at most that of -muon_clip."""
    chosen = [i for i, layer in enumerate(layers) if layer.type != 'frozen' and (s.clip_layers == 'all' or layer.type != 'lmo')]
    norm = math.sqrt(sum(float(np.sum(gradients[i] ** 2)) for i in chosen))
    short = s.clip / norm if 0 < s.clip < norm else 1.0
    return [short * g if i in chosen else g for i, g in enumerate(gradients)]


def penalized(s, layer, g, W):
    return g + layer.weight_decay * W if s.weight_decay_style == 'coupled' else g


def nesterov(s, g, M, previous):
    return {'none': M, 'ema': (1 - previous) * g + previous * M, 'sgd': g + previous * M, 'undamped': g + previous * M}[s.nesterov]


def rate(s, step):
    """What learning rates are multiplied by."""
    K = s.max_steps
    factor = {'constant': 1.0, 'trapezoid': min(1.0, (K - step) / ((1 - s.schedule_constant) * K)), 'linear': (K - step) / K, 'cosine': (1 + math.cos(math.pi * step / K)) / 2}[s.schedule]
    factor = s.schedule_minimum + (1 - s.schedule_minimum) * factor
    return factor * (min(1.0, (step + 1) / s.schedule_warmup) if s.schedule_warmup > 0 else 1.0)


class Basis:
    """The eigenvectors of the covariance of one side; of the rows, or of the columns as the rows of the transpose."""

    def __init__(self, beta, interval, kind):
        self.beta, self.interval, self.kind, self.steps = beta, interval, kind, 0
        self.C, self.Q = 0.0, None

    def update(self, g):
        """After a step with the gradient g: the order that the vectors come into, and the basis that they had."""
        self.C = self.beta * self.C + (1 - self.beta) * g @ g.T
        order, old = np.arange(len(g)), self.Q
        if self.steps % self.interval == 0:
            if old is not None:
                order = np.argsort(-np.diag(old.T @ self.C @ old), kind='stable')
            self.Q = np.linalg.qr(self.C @ old[:, order])[0] if old is not None and self.kind == 'qr' else np.linalg.eigh(self.C)[1][:, ::-1]
        self.steps += 1
        return order, old


class Type:
    """What moves the weights of a layer; the dual norm of the last step where it has one."""

    def __init__(self, s, layer):
        self.style, self.layer, self.t, self.dual = s.weight_decay_style, layer, 0, 0.0
        self.m = self.v = 0.0
        self.squares = [0.0 for _ in blocks(layer)]
        rule = {'soap': ('soap_beta2', 'soap_interval', 'soap_basis'), 'lmo': ('before_beta', 'before_soap_interval', 'before_soap_basis')}.get(layer.type)
        self.bases = [[Basis(*(layer[key] for key in rule)) for _ in range(2)] for _ in blocks(layer)] if rule else None
        self.means = [0.0 for _ in blocks(layer)]

    def before(self, b, U, g, shake):
        """What the LMO gets of block b, from its input and the gradient."""
        kind, beta = self.layer.before, self.layer.before_beta
        if kind in ('rows', 'columns'):
            self.squares[b] = beta * self.squares[b] + (1 - beta) * np.sum(U ** 2, axis=1 if kind == 'rows' else 0, keepdims=True)
            return np.divide(U, np.sqrt(self.squares[b]), out=np.zeros(U.shape), where=self.squares[b] > 0)
        if kind == 'entries':
            self.squares[b] = beta * self.squares[b] + (1 - beta) * U ** 2
            return U / (np.sqrt(self.squares[b]) + 1e-10)
        if kind == 'none':
            return U
        turn = (lambda x: x) if U.shape[0] <= U.shape[1] else np.transpose
        order, Q = self.bases[b][0].update(turn(g))
        if Q is None:
            return U
        P = shake(Q.T @ turn(U))
        V = beta * self.squares[b] + (1 - beta) * P ** 2
        self.squares[b] = V[order]
        return turn(shake(Q @ (P / (np.sqrt(V) + 1e-10))))

    def soap(self, b, g, shake):
        """Adam's direction of block b in the eigenvectors of both sides, none in the first step."""
        layer, (left, right) = self.layer, self.bases[b]
        (rows, QL), (columns, QR) = left.update(g), right.update(g.T)
        if QL is None:
            return None
        t, P = left.steps - 1, shake(QL.T @ g @ QR)
        M = layer.soap_beta1 * self.means[b] + (1 - layer.soap_beta1) * P
        V = layer.soap_beta2 * self.squares[b] + (1 - layer.soap_beta2) * P ** 2
        back = lambda x: QL @ x @ QR.T
        self.means[b], self.squares[b] = left.Q.T @ back(M) @ right.Q, V[rows][:, columns]
        return back(shake(M / (1 - layer.soap_beta1 ** t) / (np.sqrt(V / (1 - layer.soap_beta2 ** t)) + layer.soap_epsilon)))

    def decayed(self, X, eta, move):
        if self.style == 'coupled':
            return X + move
        return np.where((self.style == 'decoupled') | (X * move <= 0), 1 - eta * self.layer.weight_decay, 1.0) * X + move

    def step(self, X, G, factor, shake, gradient=None):
        """G is what the LMO gets, gradient that from which the server's momentum became G, if it has one."""
        layer, eta = self.layer, self.layer.learning_rate * factor
        if layer.type == 'frozen':
            return X
        if layer.type == 'lmo':
            out, self.dual, self.bits = np.zeros(X.shape), 0.0, np.zeros(3)
            for b, block in enumerate(blocks(layer)):
                U = self.before(b, G[block], (G if gradient is None else gradient)[block], shake)
                D = steepest(layer, U)
                dual, c = float(np.sum(U * D)), layer.scale * shape_factor(layer, *D.shape)
                self.dual += dual
                if layer.get('steps'):
                    assert len(blocks(layer)) == 1, 'the header of a group is not counted here'
                    self.bits += step_bits(layer.lmo_type, D)
                # Signs are exact, and so are the ties that they make in X - W
                D = D if layer.lmo_type in ('max', 'l1', 'rowsum', 'colsum') else shake(D)
                out[block] = self.decayed(X[block], eta, -eta * (c ** 2 * dual if layer.step == 'sharp' else c) * D)
            return out
        if layer.type == 'sgd':
            return self.decayed(X, eta, -eta * G)
        if layer.type == 'soap':
            out = X.copy()
            for b, block in enumerate(blocks(layer)):
                move = self.soap(b, G[block], shake)
                if move is not None:
                    out[block] = self.decayed(X[block], eta, -eta * move)
            return out
        self.t += 1
        self.m = layer.adamw_beta1 * self.m + (1 - layer.adamw_beta1) * G
        self.v = layer.adamw_beta2 * self.v + (1 - layer.adamw_beta2) * G ** 2
        top = layer.adamw_beta1 * self.m + (1 - layer.adamw_beta1) * G if layer.type == 'nadamw' else self.m
        top, bottom = top / (1 - layer.adamw_beta1 ** self.t), self.v / (1 - layer.adamw_beta2 ** self.t)
        return self.decayed(X, eta, -eta * shake(top / (np.sqrt(bottom) + layer.adamw_epsilon)))


def weights(s, layer, step):
    """Of the old momentum and of the new gradient, at a worker: types other than lmo have their own moments."""
    if layer.type != 'lmo':
        return 0.0, 1.0
    mu = momentum(s, layer, step)
    return mu, 1 - (mu if s.momentum_style == 'ema' else s.dampening)


# ---- Compressors

_streams = {}


def word(seed, name, step, sender, direction, entry):
    key = (seed, name, step, sender, direction)
    if key not in _streams:
        _streams[key] = Stream(seed & 0xFFFFFFFFFFFFFFFF, fnv1a(name), step, sender, direction)
    return _streams[key].word(entry)


def rounded(values, x):
    if values in ('native', 'double'):
        return x
    if values == 'single':
        return x.astype(np.float32).astype(float)
    assert values == 'bf16', values
    return np.array([bf16(v) for v in x.ravel()]).reshape(x.shape)


def to_bf16(x):
    """Doubles to the nearest number of 8 binary digits, to an even last digit from the middle."""
    digits, exponent = np.frexp(x)
    return np.ldexp(np.rint(np.ldexp(digits, 8)), exponent - 8)


def assigned(layer, way, x):
    """What arrives of a layer that is not compressed: single where that was asked for, or where a lossy compressor for the others leaves it out."""
    return rounded('single', x) if layer[way + '_values'] == 'single' else x


def pieces(layer, shards):
    """What is encoded and sent as one: the layer, or the rows of it on each rank of a worker, with what of its blocks is there."""
    if shards == 1:
        return [(layer.name, blocks(layer))]
    ends, out = np.cumsum([layer.m // shards + (r < layer.m % shards) for r in range(shards)]), []
    for first, end in zip([0, *ends], ends):
        cut = [(slice(max(rows.start, first), min(rows.stop, end)), columns) for rows, columns in blocks(layer)]
        out.append(('%s@%d' % (layer.name, first), [block for block in cut if block[0].start < block[0].stop]))
    return out


def compress(shards, layer, way, x, seed, step, sender, direction):
    """Each piece and each block by itself; the number of a block is part of the name that its random numbers follow from."""
    out = np.zeros(x.shape)
    for name, grid in pieces(layer, shards):
        for k, block in enumerate(grid):
            out[block] = compress_block(layer, name if len(grid) == 1 else '%s[%d]' % (name, k), way, x[block], seed, step, sender, direction)
    return out


def compress_block(layer, name, way, x, seed, step, sender, direction):
    kind, values = layer[way + '_type'], layer[way + '_values']
    if kind == 'identity':
        return assigned(layer, way, x)
    if kind == 'rankk':
        assert values != 'natural', 'its result depends on the signs of the singular vectors'
        most = min(x.shape)
        rank = kept(layer[way + '_ratio'], most) if layer[way + '_rank'] == 'auto' else min(layer[way + '_rank'], most)
        U, s, Vt = np.linalg.svd(x, full_matrices=False)
        return rounded(values, U[:, :rank] * np.sqrt(s[:rank])) @ rounded(values, Vt[:rank].T * np.sqrt(s[:rank])).T
    # In the order of memory, which is column by column
    flat, out, back = x.ravel('F'), np.zeros(x.size), lambda entries: np.asarray(entries).reshape(x.shape, order='F')
    chosen = range(flat.size)
    if kind in ('nearest', 'truncated', 'bf16'):
        return back([{'nearest': nearest, 'truncated': truncated, 'bf16': bf16}[kind](v) for v in flat])
    if kind == 'damping':
        flat = layer[way + '_ratio'] * flat
    if kind == 'dropout' and word(seed, name, step, sender, direction, 4 * 0xFFFFFFFF) >= layer[way + '_ratio'] * 2.0 ** 32:
        return back(out)
    if kind == 'topk':
        compared = np.abs(flat.astype(np.float32) if values in ('single', 'bf16', 'natural') else flat)
        chosen = sorted(chosen, key=lambda e: (-compared[e], e))[:kept(layer[way + '_ratio'], flat.size)]
    if kind == 'randk':
        seeds = [word(seed, name, step, sender, direction, 4 * 0xFFFFFFFF + w) for w in range(2)]
        chosen = subset(flat.size, kept(layer[way + '_ratio'], flat.size), seeds[0] + (seeds[1] << 32))
    if kind in ('columntopk', 'rowtopk'):
        lengths = np.linalg.norm(x, layer[way + '_line_norm'], axis=0 if kind == 'columntopk' else 1)
        lines = sorted(range(lengths.size), key=lambda k: (-lengths[k], k))[:kept(layer[way + '_ratio'], lengths.size)]
        chosen = [e for e in chosen if (e // len(x) if kind == 'columntopk' else e % len(x)) in lines]
    if kind == 'natural' or values == 'natural':
        for e in chosen:
            out[e] = natural(flat[e], word(seed, name, step, sender, direction, e))
    else:
        out[chosen] = rounded(values, flat[chosen])
    return back(out)


# ---- Steps

def delivered(s, layer, X, W, step):
    """The workers' weights after the message of the server, which keeps none of its own where nothing is compressed."""
    if layer.down_type == 'identity':
        return assigned(layer, 'down', X)
    return X if layer.get('steps') else W + compress(s.shards, layer, 'down', X - W, s.seed, step, 0, 1)


def receive(s, layer, kept, r, T, kind, feedback=None, first=False):
    """The mean of what comes of T_j from all workers, and what is kept of it: what the server believes, or what messages left out. The first of EF21 may come whole."""
    sent = []
    for j in range(s.workers):
        if layer.up_type == 'identity':
            sent.append(assigned(layer, 'up', T[j]))
        elif kind == 'ef21':
            whole = T[j] if layer.up_values in ('native', 'double') else rounded('single', T[j])
            sent.append(whole if first else compress(s.shards, layer, 'up', T[j] - kept[j], s.seed, r, j, 0))
            kept[j] = kept[j] + sent[-1]
        else:
            p = T[j] + kept[j]
            sent.append(compress(s.shards, layer, 'up', p, s.seed, r, j, 0))
            kept[j] = feedback * (p - sent[-1])
    return sum(sent) / s.workers


def rounds(run, shake, assembled=lambda u: u, sent_down=lambda W: W):
    """Step k sends the momenta of its gradients, and ends its round; with a delay layers of type lmo end the round that step k - 1 has sent."""
    s, L, workers = run.all, [i for i in range(len(run.layers)) if run.layers[i].type != 'frozen'], range(run.all.workers)
    at_server, ef21 = s.momentum_at == 'server', s.type == 'ef21'
    types = [Type(s, layer) for layer in run.layers]
    X, W = [x.copy() for x in run.start], [x.copy() for x in run.start]
    M = [[0.0] * len(X) for j in workers]
    kept = [[np.zeros(x.shape) for j in workers] for x in X]
    G, Ms, change, waiting, down = [0.0] * len(X), [0.0] * len(X), [0.0] * len(X), [None] * len(X), np.zeros(3)

    first = lambda r: ef21 and s.ef21_init == 'gradient' and r == 0
    def finish(i, r, came):
        layer = run.layers[i]
        G[i] = came if layer.up_type == 'identity' or not ef21 else G[i] + came
        u, h = G[i], None
        if at_server:
            previous, fresh = (0.0, 1.0) if first(r) else weights(s, layer, r)
            h = penalized(s, layer, G[i], W[i])
            Ms[i] = shake(previous * Ms[i] + fresh * h)
            u = nesterov(s, h, Ms[i], previous)
        before = X[i]
        X[i] = sent_down(types[i].step(before, assembled(u) if layer.type == 'lmo' else u, rate(s, r), shake, h))
        if layer.get('steps'):
            down[:] += types[i].bits
        if s.delay_correction and layer.type == 'lmo':
            X[i], change[i] = X[i] + (X[i] - before) - change[i], X[i] - before
        W[i] = delivered(s, layer, X[i], W[i], r)
        X[i] = W[i] if layer.down_type == 'identity' else X[i]

    for k in range(s.steps):
        g = [[run.gradient(j, i, W[i], k, shake) for i in range(len(X))] for j in workers]
        if ef21 or not at_server:
            g = [shortened(s, run.layers, one) for one in g]
        came, ended = [np.zeros(1) for x in X], {}
        for i in L:
            layer = run.layers[i]
            previous, fresh = (0.0, 1.0) if at_server or first(k) else weights(s, layer, k)
            for j in workers:
                M[j][i] = shake(previous * M[j][i] + fresh * (g[j][i] if at_server else penalized(s, layer, g[j][i], W[i])))
            ready, waiting[i] = waiting[i], (k, [M[j][i] for j in workers])
            if not s.delay or layer.type != 'lmo':
                ready = waiting[i]
            if ready is not None:
                ended[i], came[i] = ready[0], shake(receive(s, layer, kept[i], *ready, s.type, s.get('ef14_feedback'), first(ready[0])))
        if at_server and not ef21:
            came = shortened(s, run.layers, came)
        for i, r in ended.items():
            finish(i, r, came[i])
    out = {'dual': sum(type.dual for type in types)}
    if all(run.layers[i].get('steps') for i in L) and s.exchange != 'replicated' and not s.delay:
        out.update(zip(('paper', 'encoded', 'entropy'), down))
    for i in L:
        out[i, 'W', None], out[i, 'X', None], out[i, 'G', None] = W[i], X[i], G[i]
        for j in workers:
            out[i, 'M', j], out[i, 'Gj', j], out[i, 'E', j] = Ms[i] if at_server else M[j][i], kept[i][j], -kept[i][j]
    for i in set(range(len(run.layers))) - set(L):
        out[i, 'W', None] = out[i, 'X', None] = run.start[i]
    return out


# ---- Steps of each worker alone, then one of an outer optimizer along the ways that they went

def last_steps(run):
    """After which step of a round the weights of each layer are exchanged: the largest goes where there is least."""
    s, active = run.all, [i for i in range(len(run.layers)) if run.layers[i].type != 'frozen']
    parts = min(s.local_steps, len(active)) if s.local_stagger else 1
    load, out = [(0, 0, part) for part in range(parts)], {}
    size = lambda i: run.start[i].size * (2 if controlled(run, i) else 1)
    for i in sorted(active, key=lambda i: (-size(i), run.layers[i].name)):
        least, count, part = min(load)
        load[part] = least + size(i), count + 1, part
        out[i] = (part + 1) * s.local_steps // parts - 1
    return out


def controlled(run, i):
    return run.all.local_control and run.layers[i].type in ('lmo', 'sgd')


def local(run, shake):
    s, L, workers = run.all, [i for i in range(len(run.layers)) if run.layers[i].type != 'frozen'], range(run.all.workers)
    types = [[Type(s, layer) for layer in run.layers] for j in workers]
    X, W, u, G = [x.copy() for x in run.start], [x.copy() for x in run.start], [0.0] * len(run.start), [0.0] * len(run.start)
    own = [[x.copy() for x in run.start] for j in workers]
    M = [[0.0] * len(run.start) for j in workers]
    kept = [[np.zeros(x.shape) for j in workers] for x in run.start]
    began = [[x.copy() for x in run.start] for j in workers]  # where each worker's round began: elsewhere than the others' where rounds are late
    change, waiting, at = [0.0] * len(run.start), [None] * len(run.start), last_steps(run)
    # Control variates: a worker's own, what the server believes of them, their mean at the server, and what workers know of that
    c, believed, mean, C = ([[np.zeros(x.shape) for x in run.start] for j in workers] for _ in range(4))
    mean, C = mean[0], C[0]
    for k in range(s.steps):
        for j in workers:
            g = [run.gradient(j, i, own[j][i], k, shake) for i in range(len(run.layers))]
            for i in L:
                layer = run.layers[i]
                h, (previous, fresh) = penalized(s, layer, g[i], own[j][i]), weights(s, layer, k)
                M[j][i] = shake(previous * M[j][i] + fresh * h)
                seen = nesterov(s, h, M[j][i], previous)
                own[j][i] = types[j][i].step(own[j][i], seen + (C[i] - c[j][i]), rate(s, k), shake)
                if controlled(run, i) and k % s.local_steps == at[i]:
                    c[j][i] = seen
        r = k // s.local_steps
        for i in L:
            if k % s.local_steps != at[i]:
                continue
            layer, went = run.layers[i], [shake(began[j][i] - own[j][i]) for j in workers]
            ready, waiting[i] = waiting[i], (r, went)
            if s.delay == 0:
                ready = r, went
            if ready is not None:
                came = shake(receive(s, layer, kept[i], *ready, s.outer_type, s.get('outer_ef14_feedback')))
                G[i] = G[i] + came if s.outer_type == 'ef21' and layer.up_type != 'identity' else came
                u[i] = shake(s.outer_momentum * u[i] + G[i])
                before, X[i] = X[i], X[i] - s.outer_learning_rate * (G[i] + s.outer_momentum * u[i])
                if s.delay_correction:
                    X[i], change[i] = X[i] + (X[i] - before) - change[i], X[i] - before
                W[i] = X[i] if s.outer_type == 'dense' else delivered(s, layer, X[i], W[i], ready[0])
                X[i] = W[i] if s.outer_type == 'dense' or layer.down_type == 'identity' else X[i]
            if controlled(run, i):
                other = dict(layer, name=layer.name + '.control')
                other = type('', (dict,), {'__getattr__': dict.__getitem__})(other)
                for j in workers:
                    compressed = s.outer_type == 'ef21' and layer.up_type != 'identity'
                    believed[j][i] = believed[j][i] - compress(s.shards, other, 'up', believed[j][i] - c[j][i], s.seed, r, j, 0) if compressed else c[j][i]
                mean[i] = shake(sum(believed[j][i] for j in workers) / s.workers)
                C[i] = mean[i] if s.outer_type != 'ef21' or layer.down_type == 'identity' else delivered(s, other, mean[i], C[i], r)
            for j in workers:
                own[j][i] = W[i] - went[j] if s.delay else W[i].copy()
                began[j][i] = own[j][i].copy()
    out = {}
    for i in L:
        for j in workers:
            out[i, 'W', j] = out[i, 'X', j] = own[j][i]
            out[i, 'M', j] = M[j][i]
    for i in set(range(len(run.layers))) - set(L):
        out[i, 'W', None] = run.start[i]
    return out


# ---- Comparison

def bounds(run, algorithm):
    """The result, and for each of its arrays how much rounding may change it."""
    exact = algorithm(run, lambda x: x)
    random = np.random.default_rng(2510)
    shake = lambda x: x * (1 + 4 * EPSILON * random.uniform(-1, 1, x.shape))
    shaken = [algorithm(run, shake) for _ in range(4)]
    allowed = {}
    for key, value in exact.items():
        if value is None:
            continue
        size = float(np.max(np.abs(value)))
        allowed[key] = 16 * max(float(np.max(np.abs(other[key] - value))) for other in shaken) + 64 * EPSILON * size
        assert allowed[key] <= 1e-8 * (1 + size), 'the run is too sensitive to be a test: %s may change by %g' % (key, allowed[key])
    return exact, allowed


def compare(run, algorithm, least):
    exact, allowed = bounds(run, algorithm)
    compared, worst = 0, 0.0
    for rank in range(run.all.ranks):
        for i in range(len(run.layers)):
            for name in ('W', 'X', 'G', 'M', 'Gj', 'E'):
                got, key = run.read(rank, i, name), (i, name, rank // run.all.node_size if (i, name, rank // run.all.node_size) in exact else None)
                if got is None or key not in exact:
                    assert name not in ('W', 'X') or got is None and name == 'X'
                    continue
                error = float(np.max(np.abs(got - exact[key])))
                assert error <= allowed[key], '%s of layer %s at rank %d is off by %g, allowed %g' % (name, run.layers[i].name, rank, error, allowed[key])
                worst = max(worst, error / allowed[key] if error > 0 else 0.0)
                compared += 1
    assert abs(run.all.loss - run.loss()) <= 64 * EPSILON * run.loss(), 'loss %.17g, expected %.17g' % (run.all.loss, run.loss())
    for name in ('dual', 'agreement', 'paper', 'encoded', 'entropy'):
        if name not in exact:
            continue
        error = abs(run.all[name] - exact[name])
        assert error <= allowed[name] + 64 * EPSILON * len(run.layers) * abs(exact[name]), '%s %.17g, expected %.17g' % (name, run.all[name], exact[name])
    moved = max(float(np.max(np.abs(run.read(0, i, 'W') - run.start[i]))) for i in range(len(run.layers)))
    assert moved > 0.1, 'nothing moved'
    assert compared >= least, compared
    print('%d arrays agree, %.2g of what is allowed; the largest bound is %.2g' % (compared, worst, max(allowed.values())))


def main():
    run, algorithm = Run(sys.argv[1]), rounds
    if run.all.type == 'local':
        algorithm = local
    elif sys.argv[2:] == ['bf16'] and run.all.workers > 1:
        algorithm = lambda run, shake: rounds(run, shake, assembled=to_bf16)
    elif sys.argv[2:] == ['single']:
        algorithm = lambda run, shake: rounds(run, shake, sent_down=lambda W: rounded('single', W))
    compare(run, algorithm, run.all.ranks * len(run.layers))


if __name__ == '__main__':
    try:
        main()
    except AssertionError as error:
        sys.exit('ef21.py: %s' % error)
