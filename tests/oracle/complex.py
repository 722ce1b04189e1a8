"""Norm balls, polar factors and compressors of complex matrices, recomputed by numpy from what tests/complex_oracle.c wrote.

index has a line "kind type rows columns variant number number number key=value ..." for each case, data its complex matrices one behind the other, by rows: G and the
result D; of a compressor G, what came of the first message, that plus the message of what it lacked, and the mean of all messages of G. Variant: 0 and 1 are of
binary32, 1 and 3 row-major in memory.
"""
import os
import sys

import numpy as np

from lmo import mixed, singular

KJ = [(3.4445, -4.7750, 2.0315)] * 5


VECTORS = {"frobenius": (2, 2), "max": (np.inf, np.inf), "l1": (1, 1), "column": (2, np.inf), "colsum": (1, np.inf), "l21": (2, 1), "mixed": (3, 1.5)}
ROWS = {"row": (2, np.inf), "rowsum": (1, np.inf)}
SINGULAR = {"spectral": np.inf, "nuclear": 1, "schatten": 3}


def check_lmo(name, g, d, numbers, eps):
    if name in VECTORS:
        primal, dual, point = mixed(*VECTORS[name], g, False, 2.0**-52, d)
    elif name in ROWS:
        primal, dual, point = mixed(*ROWS[name], g.T, False, 2.0**-52, d.T)
        point = point.T
    else:
        primal, dual, point = singular(SINGULAR[name], g, 2.0**-52)
    # Sums of as many terms as entries, in double; entries are rounded to their own precision
    np.testing.assert_allclose(numbers[1:], (primal, dual), rtol=4 * g.size * 2.0**-52)
    np.testing.assert_allclose(numbers[0], dual, rtol=max(4 * g.size * 2.0**-52, 4 * eps if name == "spectral" else 0))
    # Vectors of singular values that lie close are as inexact as these are close: 100 x the gap of a Gaussian matrix
    np.testing.assert_allclose(d, point, atol=(4e4 if name in ("nuclear", "schatten") else 8 * g.shape[0] + 100) * max(g.shape) * 2.0**-52 + 2 * eps)
    # And it is what it is to be, whatever numpy makes of it
    np.testing.assert_allclose(-np.sum(g.conj() * d).real, dual, rtol=1e-12 + 8 * eps)


def check_polar(name, g, d, keys, eps):
    u, s, vh = np.linalg.svd(g, full_matrices=False)
    f = u.conj().T @ d @ vh.conj().T
    unit = 2.0**-53 if keys.get("lmo_polar_precision") == "double" or name in ("svd", "qdwh") else 2.0**-24
    unit = max(unit, eps / 2)
    if name in ("svd", "qdwh"):
        np.testing.assert_allclose(d, u @ vh, atol=40 * min(g.shape) * unit * (s[0] / s[-1] if name == "qdwh" else 1))
        return
    if name == "newtonschulz" and "lmo_polar_coefficients" not in keys and "lmo_polar_normalization" not in keys:
        y = s / np.linalg.norm(s)
        for a, b, c in KJ:
            y = a * y + b * y**3 + c * y**5
        # Each step multiplies what was rounded by up to 8.2, the derivative of kj, and is a few products
        np.testing.assert_allclose(d, (u * y) @ vh, atol=3.5**5 * 8 * min(g.shape) * unit)
    if "aol" in keys.values():
        y = np.linalg.svd(d, compute_uv=False)
        assert y.max() < 1.2 and np.abs(d).max() > 0, y
        gram = g @ g.conj().T if g.shape[0] < g.shape[1] else g.conj().T @ g
        balance = 1 / np.sqrt(np.abs(gram / np.linalg.norm(g) ** 2).sum(axis=1))
        x = g / np.linalg.norm(g)
        x = balance[:, None] * x if g.shape[0] < g.shape[1] else x * balance
        for a, b, c in [(4.0098, -7.0585, 2.4635), (3.4585, -5.5479, 2.5959), (2.7573, -3.2939, 1.4254), (2.7215, -3.0494, 1.3169)]:
            h = x.conj().T @ x
            x = a * x + x @ (b * h + c * h @ h)
        # Either side of a square matrix may be the one that is balanced
        if g.shape[0] != g.shape[1]:
            np.testing.assert_allclose(d, x, atol=1e4 * min(g.shape) * unit)
        return
    # U f(S) V^H: no other part, and values within what the page of the method says
    low, high = {"zolotarev": (0.85, 1 + 64 * unit), "newtonschulz": (0.45, 1.21), "gram": (0.45, 1.21)}[name]
    np.testing.assert_allclose(f, np.diag(np.diag(f).real), atol=2e4 * min(g.shape) * unit)
    values = np.diag(f).real[s > 2e-3 * (np.linalg.norm(s) if name != "zolotarev" else s[0])]
    assert values.min() > low and values.max() < high, values


def check_compressor(name, g, first, second, mean, numbers, keys, eps):
    kept = first != 0
    parts = np.stack([g.real, g.imag], -1)
    sent = np.stack([first.real, first.imag], -1)
    alpha = numbers[1]
    draws = 400 if g.size < 60 else 1
    values = keys.get("compressor_values", "single")
    wrong = np.linalg.norm(first - g) ** 2 / np.linalg.norm(g) ** 2
    if name == "identity":
        assert np.array_equal(first, g) and np.array_equal(second, g)
        return
    if name in ("topk", "randk"):
        count = max(1, int(0.3 * g.size + 1e-9))
        assert kept.sum() == count, (kept.sum(), count)
        if name == "topk":
            assert np.abs(g[kept]).min() >= np.abs(g[~kept]).max(initial=0)
            assert wrong <= 1 - alpha + 1e-12 and alpha <= count / g.size
        if values == "natural":
            assert np.all(np.abs(np.log2(np.abs(sent[kept]))) % 1 == 0)
        else:
            np.testing.assert_allclose(first[kept], g[kept], rtol=0 if values == "double" else 2.0**-23)
        # Of what is left the largest come next: by their moduli again
        if name == "topk" and values == "double" and 2 * count < g.size:
            rest = second != first
            assert rest.sum() == count and not np.any(rest & kept) and np.abs(g[rest]).min() >= np.abs(g[~rest & ~kept]).max(initial=0)
        return
    if name in ("rankk", "topsvd"):
        u, s, vh = np.linalg.svd(g, full_matrices=False)
        rank = min(2, s.size)
        unit = max(eps, 2.0**-53 if values == "double" else 2.0**-24)
        np.testing.assert_allclose(first, (u[:, :rank] * s[:rank]) @ vh[:rank], atol=s[0] * (8 * unit + 4e4 * max(g.shape) * 2.0**-52))
        assert alpha <= rank / s.size and wrong <= 1 - alpha + 1e-12
        # As many reals as both factors have, behind some bytes of a header
        width = 8 if values == "double" else 4
        assert 0 <= numbers[0] - width * (2 * rank * sum(g.shape) + (rank if name == "topsvd" else 0)) <= 64, numbers
        return
    # Drawn parts: unbiased, each by itself; five sigma of a mean of so many
    if name == "natural":
        assert np.all(np.abs(np.log2(np.abs(sent))) % 1 == 0)
        ratio = sent / parts
        assert ratio.min() > 0.5 and ratio.max() < 2
        omega = 1 / 8
        bound = 5 * np.sqrt(omega / draws) * np.abs(parts)
    else:
        flat = parts.reshape(-1) if keys["order"] == "rows" else np.swapaxes(parts, 0, 1).reshape(-1)
        wide = np.concatenate([flat, np.zeros(-flat.size % 16)]).reshape(-1, 16)
        scale = np.repeat(np.abs(wide).max(axis=1), 16)[: flat.size]
        level = (sent.reshape(-1) if keys["order"] == "rows" else np.swapaxes(sent, 0, 1).reshape(-1)) / scale * 7
        np.testing.assert_allclose(level, np.round(level), atol=1e-5)
        assert np.all(np.abs(level - flat / scale * 7) < 1 + 1e-5)
        omega = (np.sqrt(1 + (min(16, parts.size) - 1) / 49) - 1) / 2
        back = scale.reshape(parts.shape) if keys["order"] == "rows" else np.swapaxes(scale.reshape(g.shape[1], g.shape[0], 2), 0, 1)
        bound = 5 * 0.5 / np.sqrt(draws) * back / 7
        assert alpha <= 1 - omega
    if draws > 1:
        average = np.stack([mean.real, mean.imag], -1)
        assert np.all(np.abs(average - parts) <= bound + 2 * draws * (eps + 2.0**-24) * np.abs(parts)), np.abs(average - parts).max()


def main(folder):
    data = np.fromfile(os.path.join(folder, "data"), dtype=np.complex128)
    at = cases = 0
    with open(os.path.join(folder, "index")) as f:
        for line in f:
            kind, name, m, n, variant, *rest = line.split()
            shape, count = (int(m), int(n)), int(m) * int(n)
            eps = 2.0**-24 if int(variant) < 2 else 0.0
            numbers = [float(x) for x in rest[:3]]
            keys = dict(word.split("=") for word in rest[3:])
            matrices = [data[at + k * count : at + (k + 1) * count].reshape(shape) for k in range(4 if kind == "compressor" else 2)]
            at += len(matrices) * count
            try:
                if kind == "lmo":
                    check_lmo(name, *matrices, numbers, eps)
                elif kind == "polar":
                    check_polar(name, *matrices, keys, eps)
                else:
                    keys["order"] = "rows" if int(variant) % 2 else "columns"
                    check_compressor(name, *matrices, numbers, keys, eps)
            except AssertionError as e:
                sys.exit("%s%s" % (line, e))
            cases += 1
    assert at == data.size and cases > 0
    print("%d cases" % cases)


main(sys.argv[1])
