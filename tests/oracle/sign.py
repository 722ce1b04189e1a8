"""SignMuon a second time: all workers in one program, in numpy, with the votes counted in integers.

    sign.py DIR    do the run that tests/step_oracle.c wrote into DIR again and compare where it ends
"""
import sys

import numpy as np

from ef21 import Type, Run, blocks, compare, penalized, rate, shape_factor, shortened, steepest, weights, word


def majority(signs, tie, coin):
    votes = sum(signs)
    return np.where(votes == 0, {'plus': 1, 'minus': -1, 'zero': 0, 'random': signs[0] * coin}[tie], np.sign(votes)), votes


def bits(seed, layer, step, sender, direction):
    """+1 where a bit is 1, else -1: one an entry, as the columns lie one behind the other."""
    bit = [word(seed, layer.name, step, sender, direction, e // 32) >> e % 32 & 1 for e in range(layer.m * layer.n)]
    return 2 * np.array(bit).reshape(layer.n, layer.m).T - 1


def scaled(S, update):
    if update == 'frobenius':
        return S / np.sqrt(S.size)
    if update == 'spectral':
        norm = np.linalg.norm(S, 2)
        return S / norm if norm > 0 else S
    return steepest('spectral', S) if update == 'polar' else S


class Adam:
    """All of it, though only its sign is wanted"""

    def __init__(self, beta):
        self.beta, self.t, self.m, self.v = beta, 0, 0.0, 0.0

    def step(self, g):
        self.t += 1
        self.m, self.v = self.beta * self.m + (1 - self.beta) * g, 0.999 * self.v + 0.001 * g * g
        return self.m / (1 - self.beta ** self.t) / (np.sqrt(self.v / (1 - 0.999 ** self.t)) + 1e-8)


def sign(run, shake):
    s, L, workers = run.all, range(len(run.layers)), range(run.all.workers)
    types = [Type(s, layer) for layer in run.layers]
    adam = [[Adam(layer.momentum) for layer in run.layers] for j in workers]
    W, M = [x.copy() for x in run.start], [[0.0] * len(L) for j in workers]
    agreed = measured = 0.0
    for k in range(s.steps):
        factor, agreed, measured, entries = rate(s, k), 0.0, 0.0, 0
        each = [shortened(s, run.layers, [run.gradient(j, i, W[i], k, shake) for i in L]) for j in workers]
        for i in L:
            layer = run.layers[i]
            eta, g = layer.learning_rate * factor, [penalized(s, layer, each[j][i], W[i]) for j in workers]
            if layer.type != 'lmo':
                W[i] = types[i].step(W[i], shake(sum(g) / s.workers), factor, shake)
                continue
            previous, fresh = weights(s, layer, k)
            for j in workers:
                M[j][i] = shake(previous * M[j][i] + fresh * g[j])
            out = np.zeros(W[i].shape)
            coin, own = -bits(s.seed, layer, k, 0, 1), [bits(s.seed, layer, k, j, 0) for j in workers]
            for block in blocks(layer):
                signs = []
                for j in workers:
                    U = {'polar': steepest('spectral', M[j][i][block]), 'momentum': M[j][i][block], 'gradient': g[j][block]}.get(s.sign_direction)
                    if s.sign_direction == 'adam':
                        assert len(blocks(layer)) == 1
                        U = adam[j][i].step(g[j])
                    signs.append(np.where(U == 0, own[j][block], np.where(shake(U) >= 0, 1, -1)))
                    measured += float(np.sum(np.abs(g[j][block]))) / np.sqrt(U.size) / s.workers
                S, votes = majority(signs, s.sign_tie, coin[block])
                agreed, entries = agreed + float(np.sum(np.abs(votes))) / s.workers, entries + votes.size
                radius = eta * (layer.scale * shape_factor(layer, *S.shape))
                out[block] = (1 if s.weight_decay_style == 'coupled' else 1 - eta * layer.weight_decay) * W[i][block] - radius * scaled(S.astype(float), s.sign_update)
            W[i] = out
    result = {'dual': measured if s.sign_measure else 0.0, 'agreement': agreed / entries}
    for i in L:
        result[i, 'W', None] = result[i, 'X', None] = W[i]
    return result


if __name__ == '__main__':
    try:
        run = Run(sys.argv[1])
        assert run.all.type == 'sign'
        compare(run, sign, run.all.workers * len(run.layers))
    except AssertionError as error:
        sys.exit('sign.py: %s' % error)
