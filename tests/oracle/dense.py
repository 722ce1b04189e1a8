"""Muon without compression a second time: one machine that has the mean of all gradients, in numpy.

    dense.py DIR    do the run that tests/dense_oracle.c wrote into DIR again and compare where it ends
"""
import sys

from ef21 import Rule, Run, compare, penalized, rate, shortened, weights


def muon(run, shake):
    s, L, J = run.all, range(len(run.layers)), range(run.all.workers)
    rules = [Rule(s, layer) for layer in run.layers]
    W, M = [x.copy() for x in run.start], [0.0] * len(L)
    for k in range(s.steps):
        last = run.loss(W)
        g = [[run.gradient(j, i, W[i], k, shake) for i in L] for j in J]
        if s.at == 'worker':
            g = [shortened(s, run.layers, g[j]) for j in J]
        g = [shake(sum(g[j][i] for j in J) / s.workers) for i in L]
        if s.at == 'server':
            g = shortened(s, run.layers, g)
        for i in L:
            layer = run.layers[i]
            u = h = penalized(s, layer, g[i], W[i])
            if layer.rule == 'lmo':
                mu, fresh = weights(s, layer, k)
                M[i] = shake(mu * M[i] + fresh * h)
                u = {'none': M[i], 'ema': (1 - mu) * h + mu * M[i], 'sgd': h + mu * M[i], 'undamped': h + mu * M[i]}[s.nesterov]
            W[i] = rules[i].step(W[i], u, rate(s, k), shake)
    out = {'loss': last, 'dual': sum(rule.dual for rule in rules)}
    for i in L:
        out[i, 'W', None] = out[i, 'X', None] = W[i]
    return out


if __name__ == '__main__':
    try:
        run = Run(sys.argv[1])
        assert run.all.type == 'dense'
        compare(run, muon, run.all.workers * len(run.layers))
    except AssertionError as error:
        sys.exit('dense.py: %s' % error)
