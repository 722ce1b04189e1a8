"""Published optimizers a second time, from their own definitions and nothing of the C code or of the other oracles here.

    published.py DIR kj       K. Jordan's Muon with its auxiliary Adam
    published.py DIR numpy    torch.optim.Muon, with torch.optim.AdamW for the rest
    published.py DIR torch    the same by torch itself, in double precision, which its polar factors take bfloat16 for

Each does the run that tests/step_oracle.c wrote into DIR again, with the mean of all gradients on one machine, and compares where it ends.
"""
import importlib
import inspect
import sys

import numpy as np

from ef21 import Run, compare


def newton_schulz(G, divide):
    X = G.T if G.shape[0] > G.shape[1] else G
    X = divide(X)
    for _ in range(5):
        A = X @ X.T
        X = 3.4445 * X + (-4.7750 * A + 2.0315 * A @ A) @ X
    return X.T if G.shape[0] > G.shape[1] else X


class Muon:
    """X becomes (1 - rate decay) X - rate sqrt(max(1, m/n)) O(u), with the mean of gradients m = 0.95 m + 0.05 g and u = 0.05 g + 0.95 m."""

    def __init__(self, rate, decay, divide):
        self.rate, self.decay, self.divide, self.mean = rate, decay, divide, 0.0

    def step(self, X, g, shake):
        self.mean = shake(0.95 * self.mean + 0.05 * g)
        O = shake(newton_schulz(0.05 * g + 0.95 * self.mean, self.divide))
        return (1 - self.rate * self.decay) * X - self.rate * max(1.0, X.shape[0] / X.shape[1]) ** 0.5 * O


class Adam:
    def __init__(self, rate, decay, beta1, beta2, epsilon):
        self.rate, self.decay, self.beta1, self.beta2, self.epsilon, self.t = rate, decay, beta1, beta2, epsilon, 0
        self.m = self.v = 0.0

    def step(self, X, g, shake):
        self.t += 1
        self.m = self.beta1 * self.m + (1 - self.beta1) * g
        self.v = self.beta2 * self.v + (1 - self.beta2) * g ** 2
        move = (self.m / (1 - self.beta1 ** self.t)) / (np.sqrt(self.v / (1 - self.beta2 ** self.t)) + self.epsilon)
        return (1 - self.rate * self.decay) * X - self.rate * shake(move)


def kj(matrix):
    return Muon(0.02, 0.0, lambda X: X / (np.linalg.norm(X) + 1e-7)) if matrix else Adam(3e-4, 0.0, 0.9, 0.95, 1e-10)


def torch_by_numpy(matrix):
    return Muon(1e-3, 0.1, lambda X: X / max(np.linalg.norm(X), 1e-7)) if matrix else Adam(1e-3, 0.01, 0.9, 0.999, 1e-8)


def torch_in_double():
    """torch.optim.Muon casts the input of its polar factor to bfloat16. The same function without that cast."""
    module = importlib.import_module('torch.optim._muon')
    source = inspect.getsource(module._zeropower_via_newtonschulz)
    if 'bfloat16' not in source:
        sys.exit('torch.optim.Muon has no bfloat16 to be replaced: is its polar factor another?')
    exec(source.replace('torch.bfloat16', 'torch.float64').replace('.bfloat16()', '.double()'), module.__dict__)


class Torch:
    def __init__(self, matrix):
        self.matrix, self.optimizer = matrix, None

    def step(self, X, g, shake):
        import torch
        if self.optimizer is None:
            self.X = torch.nn.Parameter(torch.tensor(X))
            self.optimizer = torch.optim.Muon([self.X]) if self.matrix else torch.optim.AdamW([self.X])
        self.X.grad = torch.tensor(np.ascontiguousarray(g))
        self.optimizer.step()
        return self.X.detach().numpy().copy()


def algorithm(make):
    def again(run, shake):
        L, J = range(len(run.layers)), range(run.all.workers)
        types = [make(layer.type == 'lmo') for layer in run.layers]
        W = [x.copy() for x in run.start]
        for k in range(run.all.steps):
            W = [types[i].step(W[i], shake(sum(run.gradient(j, i, W[i], k, shake) for j in J) / run.all.workers), shake) for i in L]
        out = {}
        for i in L:
            out[i, 'W', None] = out[i, 'X', None] = W[i]
        return out
    return again


if __name__ == '__main__':
    try:
        run = Run(sys.argv[1])
        assert {layer.type for layer in run.layers} == {'lmo', 'adamw'} and all(min(layer.m, layer.n) > 1 for layer in run.layers if layer.type == 'lmo')
        if sys.argv[2] == 'torch':
            torch_in_double()
        compare(run, algorithm({'kj': kj, 'numpy': torch_by_numpy, 'torch': Torch}[sys.argv[2]]), run.all.workers * len(run.layers))
    except AssertionError as error:
        sys.exit('published.py: %s' % error)
