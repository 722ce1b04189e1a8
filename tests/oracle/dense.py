"""Muon without compression a second time: one machine that has the mean of all gradients, in numpy.

    dense.py DIR    do the run that tests/dense_oracle.c wrote into DIR again and compare where it ends
"""
import sys

from ef21 import Rule, Run, compare, rate


def muon(run, shake):
    s, L = run.all, range(len(run.layers))
    rules = [Rule(layer) for layer in run.layers]
    W, M = [x.copy() for x in run.start], [0.0] * len(L)
    for k in range(s.steps):
        last = run.loss(W)
        for i in L:
            layer = run.layers[i]
            g = shake(sum(run.gradient(j, i, W[i], k, shake) for j in range(s.workers)) / s.workers)
            u = g
            if layer.rule == 'lmo':
                mu = layer.momentum
                M[i] = shake(mu * M[i] + (1 - (mu if s.style == 'ema' else s.dampening)) * g)
                u = {'none': M[i], 'ema': (1 - mu) * g + mu * M[i], 'sgd': g + mu * M[i], 'undamped': g + mu * M[i]}[s.nesterov]
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
