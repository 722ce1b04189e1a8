#!/usr/bin/env python3
"""The GPT of tutorials/nanogpt a second time: batched arrays of rows and reverse mode on a tape, in double precision.

usage: nanogpt.py DIR

Reads what tests/nanogpt_gradient.c wrote to DIR, computes each case anew from its weights and tokens alone, and compares the loss and every
matrix of the gradient.
"""
import os
import sys

import numpy as np


class Node:
    """A value on the tape; back maps the gradient of the value to the gradients of the parents."""

    def __init__(self, value, parents=(), back=None):
        self.value, self.parents, self.back, self.grad = value, parents, back, None


def fit(grad, shape):
    """Sums a gradient over the axes along which an operand of this shape was repeated."""
    while grad.ndim > len(shape):
        grad = grad.sum(axis=0)
    for axis, length in enumerate(shape):
        if length == 1:
            grad = grad.sum(axis=axis, keepdims=True)
    return grad


def add(a, b):
    return Node(a.value + b.value, (a, b), lambda g: (fit(g, a.value.shape), fit(g, b.value.shape)))


def multiply(a, b):
    return Node(a.value * b.value, (a, b), lambda g: (fit(g * b.value, a.value.shape), fit(g * a.value, b.value.shape)))


def constant(value):
    return Node(np.asarray(value, dtype=np.float64))


def matmul(a, b):
    def back(g):
        return fit(g @ b.value.swapaxes(-1, -2), a.value.shape), fit(a.value.swapaxes(-1, -2) @ g, b.value.shape)

    return Node(a.value @ b.value, (a, b), back)


def transpose(a, axes):
    return Node(a.value.transpose(axes), (a,), lambda g: (g.transpose(np.argsort(axes)),))


def reshape(a, shape):
    return Node(a.value.reshape(shape), (a,), lambda g: (g.reshape(a.value.shape),))


def power(a, exponent):
    return Node(a.value**exponent, (a,), lambda g: (g * exponent * a.value ** (exponent - 1),))


def relu(a):
    return Node(np.maximum(a.value, 0), (a,), lambda g: (np.where(a.value > 0, g, 0),))


def exp(a):
    value = np.exp(a.value)
    return Node(value, (a,), lambda g: (g * value,))


def log(a):
    return Node(np.log(a.value), (a,), lambda g: (g / a.value,))


def total(a, axis):
    return Node(a.value.sum(axis=axis, keepdims=True), (a,), lambda g: (np.broadcast_to(g, a.value.shape),))


def rows(table, index):
    def back(g):
        out = np.zeros_like(table.value)
        np.add.at(out, index.ravel(), g.reshape(-1, g.shape[-1]))
        return (out,)

    return Node(table.value[index], (table,), back)


def backward(root):
    """Gradients of a scalar for every node below it, each node after all that use it."""
    order, seen, stack = [], set(), [(root, False)]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((parent, False) for parent in node.parents)
    root.grad = np.ones_like(root.value)
    for node in reversed(order):
        if node.back is not None:
            for parent, g in zip(node.parents, node.back(node.grad)):
                parent.grad = g if parent.grad is None else parent.grad + g


def average(x):
    return multiply(total(x, -1), constant(1.0 / x.value.shape[-1]))


def normalize(x, gain=None):
    if gain is not None:
        x = add(x, multiply(average(x), constant(-1.0)))
    y = multiply(x, power(add(average(multiply(x, x)), constant(1e-8)), -0.5))
    return y if gain is None else multiply(y, transpose(gain, (1, 0)))


def gelu(x):
    """x (1 + tanh u) / 2 with tanh u = 1 - 2 / (e^2u + 1)."""
    u = multiply(add(x, multiply(constant(0.044715), power(x, 3))), constant(np.sqrt(2 / np.pi)))
    return multiply(x, add(constant(1.0), multiply(constant(-1.0), power(add(exp(multiply(constant(2.0), u)), constant(1.0)), -1.0))))


def rotations(T, D):
    """(T,D,D): for position t, the matrix that turns the plane of channels i and i + D/2 by t 10000^(-2i/D)."""
    R = np.zeros((T, D, D))
    for t in range(T):
        for i in range(D // 2):
            angle = t * 10000.0 ** (-2.0 * i / D)
            R[t, i, i] = R[t, i + D // 2, i + D // 2] = np.cos(angle)
            R[t, i + D // 2, i] = np.sin(angle)
            R[t, i, i + D // 2] = -np.sin(angle)
    return R


def model(weights, tokens, targets, heads, gpt2):
    B, T = tokens.shape
    embed = weights[0]
    C = embed.value.shape[1]
    D = C // heads
    turn = constant(rotations(T, D))
    mask = constant(np.where(np.tril(np.ones((T, T))) > 0, 0.0, -1e30))

    def split(x):  # (B,T,C) to (B,H,T,D)
        return transpose(reshape(x, (B, T, heads, D)), (0, 2, 1, 3))

    def rotate(x):  # one matrix-vector product for each position
        return reshape(matmul(turn, reshape(x, (B, heads, T, D, 1))), (B, heads, T, D))

    def linear(x, w):
        return matmul(x, transpose(w, (1, 0)))

    x = rows(embed, tokens)
    if gpt2:
        x = add(x, rows(weights[-1], np.broadcast_to(np.arange(T), (B, T))))
    turned, blocks, last = (split, weights[1:-2], weights[-2]) if gpt2 else (lambda y: rotate(split(y)), weights[1:], None)
    for q, k, v, o, up, down, *gains in zip(*[iter(blocks)] * (8 if gpt2 else 6)):
        first, second = gains or (None, None)
        n = normalize(x, first)
        qh, kh, vh = turned(linear(n, q)), turned(linear(n, k)), split(linear(n, v))
        score = add(multiply(matmul(qh, transpose(kh, (0, 1, 3, 2))), constant(D**-0.5)), mask)
        weight = exp(add(score, constant(-score.value.max(axis=-1, keepdims=True))))
        p = multiply(weight, power(total(weight, -1), -1.0))
        a = reshape(transpose(matmul(p, vh), (0, 2, 1, 3)), (B, T, C))
        x = add(x, linear(a, o))
        h = linear(normalize(x, second), up)
        x = add(x, linear(gelu(h) if gpt2 else multiply(relu(h), relu(h)), down))
    logits = linear(normalize(x, last), embed)
    shifted = add(logits, constant(-logits.value.max(axis=-1, keepdims=True)))
    onehot = np.zeros(logits.value.shape)
    np.put_along_axis(onehot, targets[..., None], 1.0, axis=-1)
    picked = total(multiply(shifted, constant(onehot)), -1)
    nats = add(log(total(exp(shifted), -1)), multiply(picked, constant(-1.0)))
    return total(multiply(reshape(nats, (B * T,)), constant(1.0 / (B * T))), 0)


def check(folder, case):
    def read(suffix):
        return np.fromfile(os.path.join(folder, f"nanogpt.{case}.{suffix}"), dtype="<f8")

    V, C, H, L, T, B, gpt2 = (int(i) for i in read("sizes"))
    shapes = [(V, C)] + ([(C, C), (C, C), (C, C), (C, C), (4 * C, C), (C, 4 * C)] + [(C, 1), (C, 1)] * gpt2) * L + [(C, 1), (T, C)] * gpt2
    loss, epsilon = read("loss")
    tokens, targets = read("tokens").astype(int).reshape(2, B, T)

    def matrices(suffix):
        flat, out = read(suffix), []
        for m, n in shapes:
            out.append(flat[: m * n].reshape(n, m).T)
            flat = flat[m * n :]
        assert flat.size == 0, f"{case}: {flat.size} numbers too many"
        return out

    weights = [Node(np.ascontiguousarray(w)) for w in matrices("W")]
    root = model(weights, tokens, targets, H, gpt2)
    backward(root)
    # the longest sum of the model times the rounding of one addition, relative to the largest entry
    bound = max(V, B * T, 4 * C) * epsilon
    errors = [abs(float(root.value[0]) - loss) / loss]
    for w, g in zip(weights, matrices("dW")):
        errors.append(float(np.abs(w.grad - g).max() / np.abs(w.grad).max()))
    print(f"{case}: loss {loss:.6f}, largest relative difference {max(errors):.1e}, bound {bound:.1e}")
    return all(e <= bound for e in errors) and bound < 0.05


def main():
    folder = sys.argv[1]
    cases = sorted(f.split(".")[1] for f in os.listdir(folder) if f.startswith("nanogpt.") and f.endswith(".sizes"))
    good = [check(folder, case) for case in cases]
    if len(good) < 4 or not all(good):
        sys.exit("nanogpt.py: the gradients differ")


if __name__ == "__main__":
    main()
