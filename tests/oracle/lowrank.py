"""The low-rank compressors a second time: topsvd, rankk exactly and by its range finder and, with what it keeps from message to message, powersgd.

    lowrank.py DIR    check what tests/compressor_oracle.c -lowrank wrote into DIR

The matrices here have the lines of an array in memory for their columns. On the wire these are rows: Q comes before P.

Bounds are first-order: an error in the start or of a product of relative size eps turns a subspace by its size over the smallest singular value of what is orthonormalized.
"""
import math
import sys

import numpy as np

import wire
from compressor import NAMES, Written, check_written, kept, natural

def gaussian(stream, n, columns):
    """Entry (i, k) by the formula of the man page; stream has the step 2^32 - 1."""
    def entry(e):
        w, v = stream.word(2 * e), stream.word(2 * e + 1)
        return math.sqrt(-2 * math.log((w + 1) / 2.0 ** 32)) * math.cos(2 * math.pi * v / 2.0 ** 32)
    return np.array([[entry(k * n + i) for k in range(columns)] for i in range(n)])

def fresh(stream, n, columns):
    """The same of a start that is new in each message: entries come in pairs, the cosine and the sine; stream has the step."""
    def entry(e):
        w, v = (stream.word(2 ** 33 + e - e % 2 + k) for k in (0, 1))
        return math.sqrt(-2 * math.log((w + 1) / 2.0 ** 32)) * (math.sin if e % 2 else math.cos)(2 * math.pi * v / 2.0 ** 32)
    return np.array([[entry(k * n + i) for k in range(columns)] for i in range(n)])

class Case(Written):
    def __init__(self, fields, scalar):
        super().__init__(fields, scalar)
        self.m, self.n = self.n, self.m
        self.sweeps, self.oversampling = int(self.keys.get('powersgd_sweeps', 1)), int(self.keys.get('powersgd_oversampling', 0))
        self.p = float(self.keys.get('topsvd_schatten', 2))
        least = min(self.m, self.n)
        self.rank = kept(self.ratio, least) if self.rank < 0 else min(self.rank, least)
        self.codec = NAMES[self.native if self.values == 'native' else self.values]
        self.columns = min(self.rank + self.oversampling, least)
        self.start = gaussian(self.stream_of(2 ** 32 - 1), self.n, self.columns)
        self.Q, self.dQ = self.start, self.epsilon
        # The constant is told for matrices of PETSc
        self.range = self.keys.get('rankk_method') == 'range'
        if self.native == scalar:
            self.check_alpha()

    def check_alpha(self):
        # Natural values are rounded to binary32 first, and drawn with a variance of 1/8 from there, three times
        single = 2.0 ** -24 if self.native == 'double' else 0.0
        part, u = self.rank / min(self.m, self.n), {0: 0.0, 1: single, 2: 2.0 ** -8, 3: single}[self.codec]
        drawn = ((9 / 8) ** 3 - 1) * (1 + u) ** 6 if self.codec == 3 else 0.0
        if self.kind == 'powersgd':
            expected = -1.0
        elif self.kind == 'rankk':
            # Two factors are rounded, of which the orthonormal one is not orthogonal to what is left out
            mixed = u * u * math.sqrt(self.rank)
            drawn = ((9 / 8) ** 2 - 1) * (1 + u) ** 4 if self.codec == 3 else 0.0
            expected = part * (1 - drawn - (2 * u + mixed) ** 2) - mixed - (u if self.range else 0.0)
        elif drawn > 0 and self.p != 2:
            expected = -1.0
        else:
            mixed = u * u * (1 + u) * math.sqrt(self.rank)
            e = 3 * u + 2 * u * u + mixed
            if self.p == 2:
                expected = part * (1 - drawn - e * e) - mixed
            else:
                rank = min(2 * self.rank, min(self.m, self.n)) if self.p < 2 else self.rank
                left = (1 - part) ** (1 / self.p) if part < 1 else 0.0
                expected = 1 - (left + e * rank ** abs(0.5 - 1 / self.p)) ** 2
            expected = -1.0 if expected < 0 or (self.p == 2 and expected == 0) else expected
        assert abs(float(self.alpha) - expected) <= 20 * self.epsilon, 'alpha %s, expected %.17g' % (self.alpha, expected)

    def check(self, step, committed, costs, A, decoded, data):
        A, decoded = A.T, decoded.T
        message = wire.decode_message(data, self.layer, self.n, self.m)
        triples = self.kind == 'topsvd'
        count, codec = message.count, 3 if message.values == 4 else message.values
        assert message.form == (4 if triples else 2) and codec == self.codec, 'header'
        head = count if triples else 0
        s, Q, P = message.x[:head], message.x[head:head + count * self.n].reshape(count, self.n).T, message.x[head + count * self.n:].reshape(count, self.m).T
        matrix = P @ (s[:, None] * Q.T if triples else Q.T)
        size = np.abs(P) @ np.abs(s[:, None] * Q.T if triples else Q.T)
        assert np.all(np.abs(matrix - decoded) <= (count + 2) * self.epsilon * size), 'product'
        value = 16 if self.codec in (2, 3) else 32
        self.check_costs(costs, count * (triples + self.m + self.n) * value, message, data)
        if not A.any():
            assert count == 0 and not decoded.any(), 'zero'
            return
        most = np.linalg.matrix_rank(A, 1e-5 * np.linalg.norm(A))
        assert count == min(self.rank, most), 'rank %d' % count
        if self.range:
            self.check_range(A, P, Q, step, most)
        elif self.kind != 'powersgd':
            self.check_exact(A, s, P, Q, step, count)
        else:
            self.check_powersgd(A, P, Q, step, committed, min(most, self.columns))

    def check_rounded(self, got, x, error, entries, stream):
        """got is the rounding of numbers that are known up to error; random numbers decide the natural ones that are far enough from a border."""
        if self.codec < 3:
            unit = 0.0 if self.codec == NAMES[self.native] else {0: 0.0, 1: 2.0 ** -24, 2: 2.0 ** -8}[self.codec]
            assert np.all(np.abs(got - x) <= unit * np.abs(x) + 2 * error), 'values are off by %g, expected %g' % (np.max(np.abs(got - x)), error)
            return 0
        checked = 0
        for value, number, e in zip(got, x, entries):
            low, high = (natural(number + f * error, stream.word(e)) for f in (-1, 1))
            if low == high:
                checked += 1
                assert value == low, 'entry %d is %g, expected %g' % (e, value, low)
        return checked

    def check_exact(self, A, s, P, Q, step, count):
        """Triples, or two factors that share the singular values."""
        U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
        stream, scale = self.stream_of(step), np.ones(count) if len(s) else np.sqrt(sigma[:count])
        tolerance = 100 * self.unit if self.unit < 1e-10 else 1e-5
        Case.checked += self.check_rounded(s, sigma[:len(s)], tolerance * sigma[0], range(len(s)), stream)
        for first, F, X in ((len(s), Q, Vt.T), (len(s) + count * self.n, P, U)):
            length = len(F)
            for k in range(count):
                gap = min([abs(sigma[k] - sigma[j]) for j in range(len(sigma)) if j != k] + [sigma[k]])
                error = (1e-8 if self.unit < 1e-10 else 1e-4) * sigma[0] / gap
                entries = range(first + k * length, first + (k + 1) * length)
                failures = []
                for sign in (1, -1):
                    try:
                        Case.checked += self.check_rounded(F[:, k], sign * scale[k] * X[:, k], scale[k] * error, entries, stream)
                    except AssertionError as failure:
                        failures.append(failure)
                assert len(failures) < 2, 'column %d: %s' % (k, failures)

    def check_range(self, A, P, Q, step, most):
        """Polynomials of the Gram matrix of the short side, here of its eigenvalues, of which the leading directions are sent."""
        X, V, Y = (A, P, Q) if self.m >= self.n else (A.T, Q, P)
        small = X.shape[1]
        columns = min(small, self.rank + 10)
        values, vectors = np.linalg.eigh(X.T @ X)
        total, B = np.sum(X ** 2), fresh(self.stream_of(step), small, columns)
        polynomials = 1 + sum(7 * 8 ** k * columns < small for k in range(10))
        captures = close = False
        while polynomials > 0:
            Z, left, others = X.T @ (X @ B), total, small
            if captures:
                left, others = total - np.sum(B * Z), small - columns
                damps = others > 0 and left > small * self.epsilon / 2 * total
                # What is left is known up to rounding; a close decision may fall the other way
                close |= others > 0 and left <= 1e3 * small * self.epsilon * total
            else:
                margin = 1 - 0.4 * small * np.sum(Z ** 2) / (columns * total ** 2)
                damps, close = 4 * columns <= small and margin >= 0, abs(margin) <= 1e-6
            if damps:
                growth = np.polynomial.chebyshev.chebval(2 * values / min(left / others, total / small) - 1, [0, 0, 1] if captures else [0, 0, 0, 1])
                Z = vectors @ (growth[:, None] * (vectors.T @ B))
                Case.damped[captures] += 1
            B = np.linalg.qr(Z)[0]
            polynomials = polynomials - 1 if damps else 0 if captures else polynomials
            captures = True
        ritz = np.linalg.svd(X @ B, compute_uv=False)
        W = np.linalg.svd(X @ B)[2].T[:, :min(self.rank, most)]
        B, sigma = B @ W, np.linalg.svd(X, compute_uv=False)
        best = np.sum(sigma[:self.rank] ** 2)
        assert np.linalg.norm(X @ B) ** 2 >= 0.95 * best, '%g of what the best has' % (np.linalg.norm(X @ B) ** 2 / best)
        unit = {0: 0.0 if self.codec == NAMES[self.native] else 2.0 ** -24, 1: 0.0 if self.codec == NAMES[self.native] else 2.0 ** -23, 2: 2.0 ** -8}.get(self.codec)
        if unit is None:
            return
        rounding = 10 * max(self.m, self.n) * self.epsilon
        norm = np.linalg.norm(A)
        assert np.linalg.norm(Y.T @ Y - np.eye(Y.shape[1])) <= rounding + 2.1 * unit * math.sqrt(Y.shape[1]), 'columns are not orthonormal'
        assert np.linalg.norm(V - X @ Y) <= (rounding + 2.1 * unit * math.sqrt(Y.shape[1])) * norm, 'no projection'
        assert abs(np.linalg.norm(V) - np.linalg.norm(X @ B)) <= 1e-2 * norm, 'another square is captured'
        # Directions that the last of those that are sent is close to turn into one another
        gap = (ritz[self.rank - 1] - (ritz[self.rank] if self.rank < columns else 0.0)) / ritz[0]
        if self.native == 'double' and gap > 1e-3 and most > self.rank and not close:
            assert np.linalg.norm(V @ Y.T - X @ B @ B.T) <= (1e-9 / gap + 2.1 * unit) * norm, 'another subspace, off by %g' % (np.linalg.norm(V @ Y.T - X @ B @ B.T) / norm)
            Case.ranges += 1

    def check_powersgd(self, A, P, Q, step, committed, most):
        """most columns can be told apart; those behind them are what rounding left."""
        norm, rounding = np.linalg.norm(A), 4 * max(self.m, self.n) * self.epsilon
        # A positive factor of a column of the start changes nothing
        V = self.Q / np.linalg.norm(self.Q, axis=0)
        dV = self.dQ
        for _ in range(self.sweeps):
            Y = A @ V
            dP = (norm * dV + rounding * norm * math.sqrt(self.columns)) / np.linalg.svd(Y[:, :most], compute_uv=False)[-1]
            F, _ = np.linalg.qr(Y)
            W = A.T @ F
            dW = norm * (dP + rounding * math.sqrt(self.columns))
            lengths = np.linalg.norm(W, axis=0)
            V, dV = W / np.where(lengths > 0, lengths, 1), 2 * dW / np.min(lengths[:most])
        # A column that vanished begins anew
        V[:, most:] = self.start[:, most:] / np.linalg.norm(self.start[:, most:], axis=0)
        if committed:
            self.Q, self.dQ = V, dV
        # The bound grows with every sweep, though errors do not: past this it tells nothing
        if dW > (1e-7 if self.native == 'double' else 0.1) * norm:
            return
        if self.columns == self.rank:
            stream = self.stream_of(step)
            Case.checked += self.check_rounded(Q.T.ravel(), W[:, :most].T.ravel(), dW, range(Q.size), stream)
            Case.checked += self.check_rounded(P.T.ravel(), F[:, :most].T.ravel(), dP, range(Q.size, Q.size + P.size), stream)
            # What was written without rounding, and agrees, is what the sender keeps
            if committed and self.codec == NAMES[self.native] and most == self.columns:
                self.Q, self.dQ = Q, self.epsilon
        else:
            X, sigma, Y = np.linalg.svd(F @ W.T, full_matrices=False)
            sent = min(self.rank, most)
            best = (X[:, :sent] * sigma[:sent]) @ Y[:sent]
            gap = sigma[sent - 1] - sigma[sent]
            unit = 0.0 if self.codec == NAMES[self.native] else {0: 0.0, 1: 2.0 ** -23}[self.codec]
            assert np.linalg.norm(P @ Q.T - best) <= (2 * dW + norm * dP) * (1 + 2 * sigma[0] / gap) + unit * norm, 'not the best directions of the subspace: %g' % np.linalg.norm(P @ Q.T - best)
        Case.subspaces += 1

Case.checked = Case.subspaces = Case.ranges = 0
Case.damped = {False: 0, True: 0}

def main():
    messages, scalar = check_written('lowrank.py', Case, sys.argv[1])
    assert messages > 250 and Case.subspaces > 80 and Case.ranges > 50 and min(Case.damped.values()) > 20 and Case.checked > (3000 if scalar == 'double' else 300), (messages, Case.subspaces, Case.ranges, Case.damped, Case.checked)
    print('lowrank.py: %d messages agree, with %d random entries of factors' % (messages, Case.checked))

if __name__ == '__main__':
    main()
