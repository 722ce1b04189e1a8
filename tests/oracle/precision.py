"""Runs of layers in single and in double precision a second time, each array in the precision that it is to have.

    precision.py DIR         do the run that tests/step_oracle.c wrote into DIR again and compare where it ends

What is stored is rounded to the precision in which it is stored: weights and what the server makes of them to the layer's, momentum, estimate and aggregate to that of the state, momentum in 16 and 8 bits behind the
step. How close the two must be follows from the problem: the run is repeated with the result of each operation multiplied by 1 + a few units of its precision, and a run that does not forgive this (another entry among
the largest, another power of two) is no test and fails.
"""
import sys

import numpy as np

from ef21 import Run, Settings, compress, steepest, word


def units(dtype):
    return float(np.finfo(dtype).eps)


def prepare(s, layer):
    """The precisions of weights, state and oracle. Norms and singular vectors have PETSc's accuracy where the layer's is better; signs are signs."""
    layer.weights = np.float32 if layer.single else np.float64
    layer.kept = np.float32 if s.state_precision == 'single' else layer.weights
    layer.oracle = units(layer.kept) if layer.lmo_type == 'max' else max(units(layer.kept), s.machine)


def compressed(layer, way, x, step, sender, direction):
    if not layer.rowmajor:
        return compress(1, layer, way, x.astype(float), 0, step, sender, direction)
    # The memory is that of the transpose by columns
    turned = Settings('')
    turned.update(layer, m=layer.n, n=layer.m)
    return compress(1, turned, way, x.T.astype(float), 0, step, sender, direction).T


PACKED = {}


def pack(s, layer, x, step, sender, random):
    """What momentum is rounded to by the random words of its places: the upper half of binary32, or level / 127 of the largest of a row, of at most 256 columns. A run that is shaken goes up and down where the exact one does: a few units hardly ever decide that, and not what is compared."""
    key = layer.name, step, sender
    if s.state_precision not in ('bf16', 'int8'):
        return x
    if random is not None:
        return (PACKED[key][1] + (x.astype(float) - PACKED[key][0])).astype(x.dtype)
    single, out = x.astype(np.float32), np.zeros(x.shape)
    for i in range(layer.m):
        for j in range(layer.n):
            drawn = word(0, layer.name, step, 1 << 30 | sender, 0, i * layer.n + j if layer.rowmajor else j * layer.m + i)
            value = float(single[i, j])
            if s.state_precision == 'bf16':
                unit = 2.0 ** (np.frexp(abs(value))[1] - 8)
                level = np.floor(abs(value) / unit) + (abs(value) / unit % 1 >= 1 - (drawn >> 16) / 65536)
            else:
                unit = float(np.max(np.abs(single[i, j // 256 * 256:(j // 256 + 1) * 256]))) / 127
                y = float(np.float32(abs(value) / unit)) if unit > 0 else 0.0
                level = np.floor(y) + ((drawn >> 8) / 16777216 < y % 1)
            out[i, j] = np.float32(np.copysign(level * unit, value))
    PACKED[key] = x.astype(float), out
    return out.astype(x.dtype)


def again(run, random):
    """All arrays at the end; random is None, or what operations are changed by."""
    def store(x, dtype, eps=None):
        if random is not None:
            x = x * (1 + 4 * (units(dtype) if eps is None else eps) * random.uniform(-1, 1, x.shape))
        return x.astype(dtype)

    s, out = run.all, {}
    for i, layer in enumerate(run.layers):
        kept, weights = layer.kept, layer.weights
        X = run.start[i].astype(weights)
        W, zero = X, np.zeros((layer.m, layer.n), kept)
        M, Gj, G, at_server = [zero] * s.workers, [zero] * s.workers, zero, s.type == 'dense'
        served = zero
        for step in range(s.steps):
            g = [store(run.gradient(j, i, W.astype(float), step, lambda x: x).astype(weights), kept) for j in range(s.workers)]
            if at_server:
                mean = store(sum(x.astype(float) for x in g) / s.workers, kept)
                seen = store(s.momentum * served.astype(float) + (1 - s.momentum) * mean.astype(float), kept)
                served = pack(s, layer, seen, step, 0, random)
            else:
                T = [store(s.momentum * M[j].astype(float) + (1 - s.momentum) * g[j].astype(float), kept) for j in range(s.workers)]
                M = [pack(s, layer, T[j], step, j, random) for j in range(s.workers)]
                if layer.up_type == 'identity':
                    G = store(sum(x.astype(float) for x in T) / s.workers, kept)
                else:
                    sent = [compressed(layer, 'up', store(T[j] - Gj[j], kept), step, j, 0) for j in range(s.workers)]
                    Gj = [store(Gj[j].astype(float) + sent[j], kept) for j in range(s.workers)]
                    G = store(G.astype(float) + sum(sent) / s.workers, kept)
                seen = G
            D = steepest(layer, seen.astype(float))
            if layer.lmo_type != 'max':
                D = store(D, np.float64, layer.oracle)
            X = store((1 - s.learning_rate * s.weight_decay) * X.astype(float) - s.learning_rate * D, weights)
            if at_server or layer.down_type == 'identity':
                W = X
            else:
                W = store(W.astype(float) + compressed(layer, 'down', store(X - W, weights), step, 0, 1), weights)
        out[i, 'W', None], out[i, 'X', None], out[i, 'G', None] = W, X, G
        for j in range(s.workers):
            out[i, 'M', j], out[i, 'Gj', j] = (served, zero) if at_server else (M[j], Gj[j])
    return {key: value.astype(float) for key, value in out.items()}


def main():
    run = Run(sys.argv[1])
    s, layers = run.all, run.layers
    packs = s.state_precision in ('bf16', 'int8')
    for layer in layers:
        prepare(s, layer)
    exact = again(run, None)
    random = np.random.default_rng(2510)
    shaken = [again(run, random) for _ in range(4)]
    compared, worst = 0, 0.0
    for (i, name, owner), value in exact.items():
        layer = layers[i]
        # Matrices of PETSc's show a state no better than they are; weights are seen where they lie
        seen = 0.0 if name == 'W' else s.machine
        eps = max(units(layer.weights if name in ('W', 'X') else layer.kept), seen)
        coarse = max(units(np.float32 if packs else layer.kept), layer.oracle, eps)
        size = 1 + float(np.max(np.abs(value)))
        allowed = 16 * max(float(np.max(np.abs(other[i, name, owner] - value))) for other in shaken) + 8 * eps * size
        assert allowed <= 4000 * coarse * size, 'the run is too sensitive to be a test: %s of %s may change by %g' % (name, layer.name, allowed)
        for rank in range(s.workers) if owner is None or s.type == 'dense' else [owner]:
            got = run.read(rank, i, name)
            if got is None:
                assert name != 'W'
                continue
            error = float(np.max(np.abs(got - value)))
            assert error <= allowed, '%s of %s at rank %d is off by %g, allowed %g' % (name, layer.name, rank, error, allowed)
            worst, compared = max(worst, error / allowed), compared + 1
            # State in single precision and packed momenta are that and no more, weights and momenta in double precision are more. Accessors of a single PETSc cannot show that
            single = layer.single or s.state_precision == 'single' and name not in ('W', 'X') or packs and name == 'M'
            if name in ('W', 'M') or single and name != 'X':
                assert (s.machine > 1e-10 and name != 'W') or np.array_equal(got, got.astype(np.float32)) == single, '%s of %s has another precision' % (name, layer.name)
        if name == 'W':
            assert float(np.max(np.abs(value - run.start[i]))) > 0.05, 'nothing moved'
    # Weights of all ranks, and the state that the configuration needs
    least = len(layers) * (s.workers + (1 if s.type == 'dense' else s.workers if layers[0].up_type == 'identity' else 2 * s.workers + 1))
    assert compared >= least, '%d arrays compared, expected %d' % (compared, least)
    print('%d arrays agree, %.2g of what is allowed' % (compared, worst))


if __name__ == '__main__':
    try:
        main()
    except AssertionError as error:
        sys.exit('precision.py: %s' % error)
