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
        measured = [one('muon_layer_%s_theory_%s' % (name, key), one('muon_theory_' + key)) for key in ('alpha', 'alpha_server')]
        self.up = measured[0] if measured[0] is not None else alpha(up[0], float(up[1]), dual(self.norm) if exact else NORMS['frobenius'], self.m, self.n)
        self.down = measured[1] if measured[1] is not None else alpha(down[0], float(down[1]), self.norm, self.m, self.n)
        self.eta, self.c = one('muon_layer_%s_theory_eta' % name, 1.0), c


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
    """Theorems 4 and 17, the eta of a layer as a multiple of this one, which its norm is multiplied with."""
    c1 = sum(x.eta ** 2 * (2 * x.l1 ** 2 + 8 * chi(x) * x.l1max ** 2) for x in layers)
    c3 = sum(x.eta ** 2 * (x.l0 + 4 * chi(x) * x.l0b + 8 * chi(x) * x.l1max ** 2 * h) for x in layers)
    return [x.eta * eta / math.sqrt(steps) for x in layers], math.exp(c1 * eta ** 2) * gap / (eta * math.sqrt(steps)) + c3 * eta / math.sqrt(steps)


def l0l1_noise(layers, J, steps, gap, h, eta):
    """Theorem 24, of whose terms one layer has Theorem 6."""
    bound = 8 / 3 * gap / eta * steps ** -0.25
    for x in layers:
        s, kappa = x.most * x.sigma, x.most / x.least
        bound += 8 / 3 * (x.eta * 2 * s / math.sqrt(J) * (steps ** -0.25 + steps ** -0.5) + 2.5 * x.eta ** 2 * eta * x.l0 * steps ** -0.25 + x.eta * chi(x) * s * (4 * steps ** -0.5 + 2 / steps)
                          + 4 * kappa * chi(x) * x.eta ** 2 * eta * (2 * x.l0b + 4 * x.l1max ** 2 * h) * steps ** -0.75)
    return bound


def votes(layers, J, steps, gap, eta):
    """SignMuon: f falls by eta times what is bounded, less L eta^2/2, and wrong signs take 2 sigma/sqrt(J) of each layer."""
    return gap / (eta * steps) + sum(x.eta ** 2 * x.l for x in layers) * eta / 2 + sum(2 * x.eta * x.c * (x.sigma or 0) / math.sqrt(J) for x in layers)


def check_signs():
    """What SignMuon's theorem stands on: exact probabilities that at least half of the workers have the wrong sign, for symmetric noise with one mode and the deviation 1; steps of the theorem's rate."""
    laws = [lambda r: math.erfc(r / math.sqrt(2)) / 2, lambda r: max(0.0, 0.5 - r / math.sqrt(12)), lambda r: math.exp(-math.sqrt(2) * r) / 2]
    for wrong in laws:
        for J in (1, 2, 3, 4, 7, 16, 31):
            for r in np.exp(np.linspace(math.log(1e-3), math.log(20), 60)):
                q = wrong(r)
                assert sum(math.comb(J, k) * q ** k * (1 - q) ** (J - k) for k in range((J + 1) // 2, J + 1)) <= 1 / (math.sqrt(J) * r), (J, r)
    random, x, J, steps = np.random.default_rng(16), type('', (), {})(), 3, 200
    x.m, x.n, x.eta, x.c, x.sigma = 4, 3, 1.0, 1.0, 0.5 * math.sqrt(12)
    x.l = 2.0 * 3  # of (2/2) |X - B|^2, from the spectral norm to the nuclear one
    X, B = np.zeros((4, 3)), random.standard_normal((4, 3))
    gap = float(np.sum(B ** 2))
    eta, mean = math.sqrt(2 * gap / (x.l * steps)), 0.0
    for k in range(steps):
        g = 2 * (X - B)
        mean += np.sum(np.abs(g)) / math.sqrt(12) / steps
        X = X - eta * np.sign(sum(np.sign(g + 0.5 * random.standard_normal(g.shape)) for j in range(J))) / math.sqrt(12)
    assert 0.1 * votes([x], J, steps, gap, eta) < mean <= votes([x], J, steps, gap, eta), mean


def check_polar():
    """Muon along polar factors of Newton and Schulz' cubic iteration: E = I - Y^T Y becomes 3/4 E^2 + 1/4 E^3, and <G, Y> is at least sqrt(1 - |E|) of the nuclear norm."""
    random, eye = np.random.default_rng(17), np.eye(3)
    for _ in range(50):
        G = random.standard_normal((5, 3))
        Y, nuclear = G / np.linalg.norm(G), np.linalg.norm(G, 'nuc')
        for _ in range(20):
            E, Y = eye - Y.T @ Y, Y @ (3 * eye - Y.T @ Y) / 2
            e = np.linalg.norm(eye - Y.T @ Y, 2)
            assert np.linalg.norm(eye - Y.T @ Y - (3 * E @ E + E @ E @ E) / 4) <= 1e-13 and e <= np.linalg.norm(E, 2) ** 2 + 1e-13
            assert np.linalg.norm(Y, 2) <= 1 + 1e-14 and np.sum(G * Y) >= math.sqrt(max(0.0, 1 - e)) * nuclear - 1e-13
        # The rate that makes f + <G, -t Y> + (L/2) t^2 least, here with L = 2 and an exact Y
        assert min(-t * nuclear + t * t for t in np.linspace(0, nuclear, 101)) >= -nuclear ** 2 / 4 - 1e-13


def check_layers():
    """Theorem 24 by layers along a path: two layers with an eta each, gradient steps of a unit Frobenius norm, two workers whose messages keep half of a difference, noise."""
    random, J, steps, sizes = np.random.default_rng(24), 2, 400, (3, 8)
    A, h, weights = [[random.standard_normal(n) for n in sizes] for _ in range(J)], (1.0, 0.25), (1.0, 3.0)
    mean = [sum(a[i] for a in A) / J for i in range(2)]
    layers, start = [type('', (), {})() for _ in sizes], [4 * random.standard_normal(n) for n in sizes]
    for i, x in enumerate(layers):
        x.most = x.least = 1.0
        x.up, x.l0, x.l0b, x.l1, x.l1max, x.sigma, x.eta = 0.75, h[i], h[i], 0.0, 0.0, 0.3, weights[i]
    gap = sum(h[i] / 2 * float(np.sum((start[i] - mean[i]) ** 2)) for i in range(2))
    beta, least, X = steps ** -0.5, INF, [x.copy() for x in start]
    eta = 1.0
    noisy = lambda j, i: h[i] * (X[i] - A[j][i]) + 0.3 / math.sqrt(sizes[i]) * random.standard_normal(sizes[i])
    M = [[noisy(j, i) for i in range(2)] for j in range(J)]
    Gj = [[M[j][i].copy() for i in range(2)] for j in range(J)]
    for k in range(steps):
        least = min(least, sum(weights[i] * np.linalg.norm(h[i] * (X[i] - mean[i])) for i in range(2)))
        for i in range(2):
            G = sum(Gj[j][i] for j in range(J)) / J
            X[i] = X[i] - eta * weights[i] * steps ** -0.75 * G / np.linalg.norm(G)
            for j in range(J):
                M[j][i] = (1 - beta) * M[j][i] + beta * noisy(j, i)
                Gj[j][i] = Gj[j][i] + (M[j][i] - Gj[j][i]) / 2
    assert 0.01 * l0l1_noise(layers, J, steps, gap, 0.0, eta) < least <= l0l1_noise(layers, J, steps, gap, 0.0, eta), least


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
    if 'sign_update' in data:
        check_signs()
        check_polar()
        for x in layers:
            x.sigma = x.sigma if theorem == 'smooth_stochastic' else 0
        length = [math.sqrt(x.m * x.n) if data['sign_update'][0] == 'none' else 1.0 for x in layers]
        eta = got[0] * length[0] / layers[0].eta
        minimum(lambda x: votes(layers, J, steps, gap, x), np.exp(np.linspace(math.log(eta / 20), math.log(20 * eta), 8001)), eta, 'eta')
        rates, bound, step = [eta * x.eta / y for x, y in zip(layers, length)], votes(layers, J, steps, gap, eta), 'lmo'
        assert beta == 1
    elif theorem in ('smooth', 'smooth_stochastic'):
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
        check_layers()
        power = -0.5 if exact else -0.75
        eta = got[0] / (layers[0].eta * steps ** power)
        largest = INF
        bounded = (lambda x: l0l1(layers, steps, gap, h, x)[1]) if exact else (lambda x: l0l1_noise(layers, J, steps, gap, h, x))
        if not exact:
            largest = min([steps ** 0.25 / (10 * x.eta * x.l1) for x in layers] + [math.sqrt(steps ** 0.5 / sum(32 * x.most / x.least * chi(x) * x.eta ** 2 * x.l1max ** 2 for x in layers))])
            assert eta <= largest * (1 + 1e-12), 'eta %g is beyond %g' % (eta, largest)
            close(beta, steps ** -0.5, 'beta', 1e-12)
        if one('muon_theory_eta') is not None:
            close(eta, one('muon_theory_eta'), 'eta')
        else:
            minimum(bounded, np.exp(np.linspace(math.log(min(eta * 0.05, largest)), math.log(min(eta * 20, largest)), 8001)), min(eta, largest), 'eta')
        bound = bounded(eta)
        rates = [eta * x.eta * steps ** power for x in layers]
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
