"""The step sizes of EF21-Muon's theorems a second time, from their formulas.

    theory.py DIR     compare what tests/theory_rates.c wrote into DIR with rates, beta and bound computed here

Free numbers (eta, beta) must be the minimum of the bound to the last digits that a minimum shows: their bound is that of a search, and what follows from them is compared to 1e-12.
"""
import math
import os
import sys

import numpy as np

INF = math.inf
# (singular values, rows, p, q)
NORMS = {'spectral': (True, False, INF, 2), 'nuclear': (True, False, 1, 2), 'frobenius': (False, False, 2, 2), 'max': (False, False, INF, INF), 'l1': (False, False, 1, 1), 'column': (False, False, 2, INF),
         'row': (False, True, 2, INF), 'colsum': (False, False, 1, INF), 'rowsum': (False, True, 1, INF), 'l21': (False, False, 2, 1)}


def read(folder):
    return {words[0]: words[1:] for words in (line.split() for line in open(os.path.join(folder, 'rates')))}


def dual(norm):
    star = lambda p: INF if p == 1 else 1 if p == INF else p / (p - 1)
    return norm[:2] + (star(norm[2]), star(norm[3]))


def value(norm, X):
    if norm[0]:
        return np.linalg.norm(np.linalg.svd(X, compute_uv=False), norm[2])
    return np.linalg.norm([np.linalg.norm(x, norm[2]) for x in (X if norm[1] else X.T)], norm[3])


def bounds(norm, m, n):
    """The extremes of ||X||_F / ||X||: among a single entry, one row, one column, all entries alike, and an orthogonal matrix."""
    one = np.zeros((m, n))
    one[0, 0] = 1
    row, column = np.zeros((m, n)), np.zeros((m, n))
    row[0] = column[:, 0] = 1
    ratios = [np.linalg.norm(X) / value(norm, X) for X in (one, row, column, np.ones((m, n)), np.eye(m, n))]
    return min(ratios), max(ratios)


def alpha(kind, ratio, norm, m, n):
    """Constants of contraction in the norm, of exact values."""
    kept = lambda things: max(1, math.floor(ratio * things + 1e-9)) / things
    part = lambda fraction, q: 1 - (1 - fraction) ** (2 / q)
    entries = not norm[0] and norm[2] == norm[3]
    frobenius = norm[2] == 2 and (norm[0] or norm[3] == 2)
    if kind == 'identity':
        return 1.0
    if kind == 'damping':
        return 1 - (1 - ratio) ** 2
    if kind == 'dropout':
        return ratio
    if kind == 'natural' and (frobenius or (not norm[0] and max(norm[2:]) <= 2)):
        return 1 - 1 / 8 * (1 + 2.0 ** -24) ** 2 - 2.0 ** -48
    if kind == 'topk' and (entries or frobenius):
        return part(kept(m * n), norm[2])
    if kind == 'randk' and frobenius:
        return kept(m * n)
    if kind == 'topsvd' and (norm[0] or frobenius):
        return part(kept(min(m, n)), norm[2])
    if kind == 'columntopk' and not norm[0] and not norm[1] and norm[2] == 2:
        return part(kept(n), norm[3])
    raise AssertionError('no constant of %s' % kind)


class Layer:
    def __init__(self, data, name, theorem):
        one = lambda key, otherwise=None: float(data[key][0]) if data[key][0] != 'auto' else otherwise
        self.m, self.n = (int(x) for x in data[name + '_size'])
        self.norm = NORMS[data[name + '_norm'][0]]
        J = int(data['workers'][0])
        for key in ('l', 'lt', 'l0', 'l1', 'l0b', 'l1max', 'sigma'):
            setattr(self, key, one('muon_layer_%s_theory_%s' % (name, key), one('muon_theory_' + key)))
        if J == 1:
            self.lt, self.l0b, self.l1max = self.l, self.l0, self.l1
        self.rate, c = one('muon_layer_%s_learning_rate' % name), float(data[name + '_factor'][0])
        least, most = bounds(self.norm, self.m, self.n)
        self.least, self.most = c * least, c * most
        exact = theorem in ('smooth', 'l0l1')
        up, down = data.get(name + '_up', ['identity', '1']), data.get(name + '_down', ['identity', '1'])
        self.up = alpha(up[0], float(up[1]), dual(self.norm) if exact else NORMS['frobenius'], self.m, self.n)
        self.down = alpha(down[0], float(down[1]), self.norm, self.m, self.n)


def smooth(layers, J, K, gap, beta, noise):
    """Theorems 3 (14) and 5 (19): rates and the bound of the sum over layers of squares."""
    rates, total = [], 4 * gap / K
    for x in layers:
        if not noise:
            gamma = 1 / (2 * x.l + 4 * x.lt / x.up * math.sqrt(12 + 66 / x.down ** 2))
        else:
            kappa = x.most / x.least
            zeta = kappa ** 2 * (12 * x.l ** 2 / beta ** 2 + 24 * (beta + 2) * x.l ** 2 / x.down ** 2 + 36 * (beta ** 2 + 4) * x.lt ** 2 / x.up ** 2 + 144 * beta ** 2 * (2 * beta + 5) * x.lt ** 2 / (x.down ** 2 * x.up ** 2))
            gamma = 1 / (2 * math.sqrt(zeta) + 2 * x.l)
            s = 24 * x.most ** 2 * x.sigma ** 2
            total += gamma * (s / K * (1 / (J * beta) + 12 * beta / x.up ** 2) + s * (beta / J + (1 - x.up) * beta ** 2 / x.up + 12 * beta ** 3 / x.up ** 2))
        rates.append(gamma)
    return rates, total / min(rates)


def chi(x):
    q = math.sqrt(1 - x.up)
    return q / (1 - q)


def l0l1(layers, steps, gap, h, eta):
    """Theorems 4 and 17, one eta."""
    c1 = sum(2 * x.l1 ** 2 + 8 * chi(x) * x.l1max ** 2 for x in layers)
    c3 = sum(x.l0 + 4 * chi(x) * x.l0b + 8 * chi(x) * x.l1max ** 2 * h for x in layers)
    return [eta / math.sqrt(steps)] * len(layers), math.exp(c1 * eta ** 2) * gap / (eta * math.sqrt(steps)) + c3 * eta / math.sqrt(steps)


def joined(layers):
    x = layers[0]
    x.most, x.least, x.up = math.sqrt(sum(y.most ** 2 for y in layers)), min(y.least for y in layers), min(y.up for y in layers)
    return x


def l0l1_noise(x, J, steps, gap, h, eta):
    """Theorem 6."""
    s, kappa = x.most * x.sigma, x.most / x.least
    bound = 8 / 3 * ((gap / eta + 2 * s / math.sqrt(J) + 2.5 * eta * x.l0) * steps ** -0.25 + (2 * s / math.sqrt(J) + 4 * s * chi(x)) * steps ** -0.5
                     + 4 * kappa * chi(x) * eta * (2 * x.l0b + 4 * x.l1max ** 2 * h) * steps ** -0.75 + 2 * s * chi(x) / steps)
    return eta * steps ** -0.75, bound


def close(got, expected, what, relative=1e-12):
    assert abs(got - expected) <= relative * abs(expected), '%s is %.17g, expected %.17g' % (what, got, expected)


def minimum(bound, points, found, what):
    """found is given or a minimum: no point has a smaller bound, but for rounding."""
    best = min(bound(x) for x in points)
    assert bound(found) <= best * (1 + 1e-12), '%s %.17g has the bound %.17g, and another one %.17g' % (what, found, bound(found), best)


def main(folder):
    data = read(folder)
    one = lambda key: float(data[key][0]) if data[key][0] != 'auto' else None
    theorem, J, steps, gap, h = data['muon_theory'][0], int(data['workers'][0]), int(data['muon_max_steps'][0]), one('muon_theory_gap'), one('muon_theory_h') or 0.0
    layers = [Layer(data, name, theorem) for name in 'ab'[:int(data['layers'][0])]]
    beta, got = 1 - one('muon_momentum'), [x.rate for x in layers]
    if theorem in ('smooth', 'smooth_stochastic'):
        noise = theorem == 'smooth_stochastic'
        if one('muon_theory_beta') is not None:
            close(beta, one('muon_theory_beta'), 'beta')
        elif noise:
            minimum(lambda x: smooth(layers, J, steps, gap, x, True)[1], np.exp(np.linspace(math.log(1e-4), 0, 4001)), beta, 'beta')
        else:
            assert beta == 1
        rates, bound = smooth(layers, J, steps, gap, beta, noise)
        step = 'sharp'
    else:
        exact = theorem == 'l0l1'
        power = -0.5 if exact else -0.75
        eta = got[0] / steps ** power
        largest = INF
        whole = None if exact else joined(layers)
        bounded = (lambda x: l0l1(layers, steps, gap, h, x)[1]) if exact else (lambda x: l0l1_noise(whole, J, steps, gap, h, x)[1])
        if not exact:
            largest = min(steps ** 0.25 / (10 * whole.l1), math.sqrt(steps ** 0.5 / (32 * whole.most / whole.least * chi(whole) * whole.l1max ** 2)))
            assert eta <= largest * (1 + 1e-12), 'eta %g is beyond %g' % (eta, largest)
            close(beta, steps ** -0.5, 'beta', 1e-12)
        if one('muon_theory_eta') is not None:
            close(eta, one('muon_theory_eta'), 'eta')
        else:
            minimum(bounded, np.exp(np.linspace(math.log(min(eta * 0.05, largest)), math.log(min(eta * 20, largest)), 8001)), min(eta, largest), 'eta')
        bound = bounded(eta)
        rates = [eta * steps ** power] * len(layers)
        step = 'lmo'
    for name, x, rate in zip('ab', got, rates):
        close(x, rate, 'the rate of layer ' + name)
        assert data['muon_layer_%s_step' % name] == [step]
    close(one('bound'), bound, 'the bound')
    print('rates', rates, 'beta', beta, 'bound', bound)


if __name__ == '__main__':
    try:
        main(sys.argv[1])
    except AssertionError as error:
        sys.exit('theory.py: %s' % error)
