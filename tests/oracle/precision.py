"""Runs of layers in single and in double precision a second time, each array in the precision that it is to have.

    precision.py DIR         do the run that tests/muon_precision.c wrote into DIR again and compare where it ends

What is stored is rounded to the precision in which it is stored: weights and what the server makes of them to the layer's, momentum, estimate and aggregate to that of the state, momentum in 16 and 8 bits behind the step by random words. An operation of the library may round a few
times more, in the same precision or in a better one. How much that may change follows from the problem: the run is repeated with the result of each operation multiplied by 1 + a few units of its precision, and a run that
does not forgive this (another entry among the largest, another power of two) is no test and fails.
"""
import os
import sys

import numpy as np

from ef21 import Settings, compress, number, steepest, word

DTYPE = {'single': np.float32, 'double': np.float64}


def units(dtype):
    return float(np.finfo(dtype).eps)


class Layer(Settings):
    """A settings line, with the precisions of weights, state and oracle."""

    def prepare(self, s):
        self.weights = DTYPE[self.precision]
        self.kept = np.float32 if s.state == 'single' else self.weights
        # Norms and singular vectors have PETSc's accuracy where the layer's is better; signs are signs
        self.oracle = units(self.kept) if self.norm == 'max' else max(units(self.kept), s.epsilon)
        return self

    def compress(self, way, x, step, sender, direction):
        if not self.rowmajor:
            return compress(1, self, way, x.astype(float), 0, step, sender, direction)
        # The memory is that of the transpose by columns
        turned = Settings('')
        turned.update(self, m=self.n, n=self.m)
        return compress(1, turned, way, x.T.astype(float), 0, step, sender, direction).T


def gradient(s, layer, i, j, W, step):
    e = np.arange(W.size).reshape(W.shape)
    H = (1 + (e + j) % 3) / 2
    B = np.array([number(i, k, j, 7) for k in range(W.size)]).reshape(W.shape) * 1.6875
    noise = np.array([number(i, k, j, 100 + step) for k in range(W.size)]).reshape(W.shape) / 2
    return (H * (W.astype(float) - B) + noise).astype(layer.weights)


PACKED = {}


def pack(s, layer, x, step, sender, random):
    """What momentum is rounded to by the random words of its places: the upper half of binary32, or level / 127 of the largest of a row, of at most 256 columns. A run that is shaken goes up and down where the exact one does: a few units hardly ever decide that, and not what is compared."""
    key = layer.name, step, sender
    if not s.packs:
        return x
    if random is not None:
        return (PACKED[key][1] + (x.astype(float) - PACKED[key][0])).astype(x.dtype)
    single, out = x.astype(np.float32), np.zeros(x.shape)
    for i in range(layer.m):
        for j in range(layer.n):
            drawn = word(0, layer.name, step, 1 << 30 | sender, 0, i * layer.n + j if layer.rowmajor else j * layer.m + i)
            value = float(single[i, j])
            if s.state == 'bf16':
                unit = 2.0 ** (np.frexp(abs(value))[1] - 8)
                level = np.floor(abs(value) / unit) + (abs(value) / unit % 1 >= 1 - (drawn >> 16) / 65536)
            else:
                unit = float(np.max(np.abs(single[i, j // 256 * 256:(j // 256 + 1) * 256]))) / 127
                y = float(np.float32(abs(value) / unit)) if unit > 0 else 0.0
                level = np.floor(y) + ((drawn >> 8) / 16777216 < y % 1)
            out[i, j] = np.float32(np.copysign(level * unit, value))
    PACKED[key] = x.astype(float), out
    return out.astype(x.dtype)


def run(s, layers, random):
    """All arrays at the end; random is None, or what operations are changed by."""
    def store(x, dtype, eps=None):
        if random is not None:
            x = x * (1 + 4 * (units(dtype) if eps is None else eps) * random.uniform(-1, 1, x.shape))
        return x.astype(dtype)

    out = {}
    for i, layer in enumerate(layers):
        kept, weights = layer.kept, layer.weights
        X = np.array([number(i, k, 0, 1) for k in range(layer.m * layer.n)]).reshape(layer.m, layer.n).astype(weights)
        W, zero = X, np.zeros((layer.m, layer.n), kept)
        M, Gj, G, at_server = [zero] * s.workers, [zero] * s.workers, zero, s.type == 'dense'
        served = zero
        for step in range(s.steps):
            g = [store(gradient(s, layer, i, j, W, step), kept) for j in range(s.workers)]
            if at_server:
                mean = store(sum(x.astype(float) for x in g) / s.workers, kept)
                seen = store(s.momentum * served.astype(float) + (1 - s.momentum) * mean.astype(float), kept)
                served = pack(s, layer, seen, step, 0, random)
            else:
                T = [store(s.momentum * M[j].astype(float) + (1 - s.momentum) * g[j].astype(float), kept) for j in range(s.workers)]
                M = [pack(s, layer, T[j], step, j, random) for j in range(s.workers)]
                if layer.up == 'identity':
                    G = store(sum(x.astype(float) for x in T) / s.workers, kept)
                else:
                    sent = [layer.compress('up', store(T[j] - Gj[j], kept), step, j, 0) for j in range(s.workers)]
                    Gj = [store(Gj[j].astype(float) + sent[j], kept) for j in range(s.workers)]
                    G = store(G.astype(float) + sum(sent) / s.workers, kept)
                seen = G
            D = steepest(layer, seen.astype(float))
            if layer.norm != 'max':
                D = store(D, np.float64, layer.oracle)
            X = store((1 - s.rate * s.decay) * X.astype(float) - s.rate * D, weights)
            if at_server or layer.down == 'identity':
                W = X
            else:
                W = store(W.astype(float) + layer.compress('down', store(X - W, weights), step, 0, 1), weights)
        out[i, 'W', None], out[i, 'weights', None], out[i, 'aggregate', None] = W, X, G
        for j in range(s.workers):
            out[i, 'momentum', j], out[i, 'estimate', j] = (served, zero) if at_server else (M[j], Gj[j])
    return {key: value.astype(float) for key, value in out.items()}


def main():
    folder = sys.argv[1]
    with open(os.path.join(folder, 'settings')) as file:
        lines = file.read().splitlines()
    s = Settings(lines[0])
    s.packs = s.state in ('bf16', 'int8')
    layers = [Layer(line).prepare(s) for line in lines[1:]]
    exact = run(s, layers, None)
    random = np.random.default_rng(2510)
    shaken = [run(s, layers, random) for _ in range(4)]
    compared, worst = 0, 0.0
    for (i, name, owner), value in exact.items():
        layer = layers[i]
        # Matrices of PETSc's show a state no better than they are; weights are seen where they lie
        seen = 0.0 if name == 'W' else s.epsilon
        eps = max(units(layer.weights if name in ('W', 'weights') else layer.kept), seen)
        coarse = max(units(np.float32 if s.packs else layer.kept), layer.oracle, eps)
        size = 1 + float(np.max(np.abs(value)))
        allowed = 16 * max(float(np.max(np.abs(other[i, name, owner] - value))) for other in shaken) + 8 * eps * size
        assert allowed <= 4000 * coarse * size, 'the run is too sensitive to be a test: %s of %s may change by %g' % (name, layer.name, allowed)
        for rank in range(s.workers) if owner is None or s.type == 'dense' else [owner]:
            path = os.path.join(folder, '%d.%d.%s' % (rank, i, name))
            if not os.path.exists(path):
                assert name != 'W'
                continue
            got = np.fromfile(path).reshape(layer.m, layer.n)
            error = float(np.max(np.abs(got - value)))
            assert error <= allowed, '%s of %s at rank %d is off by %g, allowed %g' % (name, layer.name, rank, error, allowed)
            worst, compared = max(worst, error / allowed), compared + 1
        if name == 'W':
            start = np.array([number(i, k, 0, 1) for k in range(value.size)]).reshape(value.shape)
            assert float(np.max(np.abs(value - start))) > 0.05, 'nothing moved'
    # Weights of all ranks, and the state that the configuration needs
    least = len(layers) * (s.workers + (1 if s.type == 'dense' else s.workers if layers[0].up == 'identity' else 2 * s.workers + 1))
    assert compared >= least, '%d arrays compared, expected %d' % (compared, least)
    print('%d arrays agree, %.2g of what is allowed' % (compared, worst))


if __name__ == '__main__':
    try:
        main()
    except AssertionError as error:
        sys.exit('precision.py: %s' % error)
