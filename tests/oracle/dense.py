"""Muon without compression a second time: one machine that has the mean of all gradients, in numpy.

    dense.py DIR         do the run that tests/step_oracle.c wrote into DIR again and compare where it ends
    dense.py DIR bf16    the same, with what oracles are given rounded to bfloat16 where several ranks assemble it
    dense.py DIR single  the same, with new weights rounded to single precision, which all ranks have then
"""
import sys

import numpy as np

from ef21 import Type, Run, compare, penalized, rate, shortened, weights


def bf16(x):
    """To the nearest number of 8 binary digits, to an even last digit from the middle."""
    digits, exponent = np.frexp(x)
    return np.ldexp(np.rint(np.ldexp(digits, 8)), exponent - 8)


def muon(run, shake, rounded=lambda u: u, sent=lambda w: w):
    s, L, J = run.all, range(len(run.layers)), range(run.all.workers)
    types = [Type(s, layer) for layer in run.layers]
    W, M = [x.copy() for x in run.start], [0.0] * len(L)
    for k in range(s.steps):
        g = [[run.gradient(j, i, W[i], k, shake) for i in L] for j in J]
        if s.momentum_at == 'worker':
            g = [shortened(s, run.layers, g[j]) for j in J]
        g = [shake(sum(g[j][i] for j in J) / s.workers) for i in L]
        if s.momentum_at == 'server':
            g = shortened(s, run.layers, g)
        for i in L:
            layer = run.layers[i]
            u = h = penalized(s, layer, g[i], W[i])
            if layer.type == 'lmo':
                mu, fresh = weights(s, layer, k)
                M[i] = shake(mu * M[i] + fresh * h)
                u = {'none': M[i], 'ema': (1 - mu) * h + mu * M[i], 'sgd': h + mu * M[i], 'undamped': h + mu * M[i]}[s.nesterov]
                u = rounded(u)
            W[i] = sent(types[i].step(W[i], u, rate(s, k), shake, h if s.momentum_at == 'server' else None))
    out = {'dual': sum(type.dual for type in types)}
    for i in L:
        out[i, 'W', None] = out[i, 'X', None] = W[i]
    return out


if __name__ == '__main__':
    try:
        run = Run(sys.argv[1])
        assert run.all.type == 'dense'
        choices = {'rounded': bf16} if sys.argv[2:] == ['bf16'] and run.all.workers > 1 else {}
        if sys.argv[2:] == ['single']:
            choices['sent'] = lambda w: w.astype(np.float32).astype(float)
        compare(run, lambda run, shake: muon(run, shake, **choices), run.all.workers * len(run.layers))
    except AssertionError as error:
        sys.exit('dense.py: %s' % error)
