"""The columns of tests/benchmarks/polar that are not times, recomputed by numpy; those that are, against one another.

polar_benchmark.py FOLDER RANKS METHOD,METHOD,... where rows.csv is the benchmark's file and G-<i>.f64, <method>-<i>.f64 are the matrices of the i-th shape, column-major doubles. The methods are
those that every shape must have.
"""
import csv
import os
import sys

import numpy as np

POLYNOMIALS = {"kj": [(3.4445, -4.7750, 2.0315)] * 5}

def newton_schulz_flops(s, l):
    """SYRK of the matrix, SYRK of its Gram matrix, SYMM, five times."""
    return 5 * (s * (s + 1) * l + s * s * (s + 1) + 2 * s * s * l)

def newton_schulz_bf16_flops(s, l):
    """The same, and the sum of squares that tells whether the products were made."""
    return newton_schulz_flops(s, l) + 2 * s * l

def zolotarev_flops(inverses, lanczos=0):
    """SYRK, the inverses, or what is as dear, SYMM, and in single precision 8 products of a vector with the Gram matrix of the result."""
    return lambda s, l: s * (s + 1) * l + inverses * s**3 + 2 * s * s * l + (lanczos * s * l if s > 1 else 0)

def torch_flops(s, l):
    """The same by GEMM alone."""
    return 5 * (4 * s * s * l + 2 * s**3)

FLOPS = {
    "kj": newton_schulz_flops, "kj-double": newton_schulz_flops, "kj-bf16": newton_schulz_bf16_flops, "polarexpress": newton_schulz_flops, "polarexpress-bf16": newton_schulz_bf16_flops,
    "torch-bf16": torch_flops, "torch-single": torch_flops,
    "zolotarev-2": zolotarev_flops(2, 32), "zolotarev-3": zolotarev_flops(3, 32), "zolotarev-4": zolotarev_flops(3 + 2 / 3, 32), "zolotarev-4-double": zolotarev_flops(3 + 2 / 3), "zolotarev-7": zolotarev_flops(5),
    "zolotarev-3-bf16": lambda s, l: zolotarev_flops(3, 32)(s, l) + 2 * s * s * l, "zolotarev-4-bf16": lambda s, l: zolotarev_flops(3 + 2 / 3, 32)(s, l) + 2 * s * s * l,
    "mud": lambda s, l: 2 * s * s * l + s * l + 6 * s * l
}
# As fractions of what is promised: the steps that the matrix needs decide
DEPENDS = {"qdwh": (0.05, 2.0)}

def near(a, b, tolerance, what):
    assert abs(a - b) <= tolerance, f"{what}: {a!r} is not within {tolerance:.1e} of {b!r}"

def main():
    folder, ranks, names = sys.argv[1], int(sys.argv[2]), set(sys.argv[3].split(","))
    shapes = {}
    with open(os.path.join(folder, "rows.csv"), newline="") as f:
        for row in csv.DictReader(f):
            shapes.setdefault((int(row["rows"]), int(row["columns"])), {})[row["method"]] = row
    assert len(shapes) == 3, f"{len(shapes)} shapes"
    for i, ((m, n), rows) in enumerate(shapes.items()):
        assert names <= set(rows), f"{m}x{n} lacks {names - set(rows)}"
        s, l, eps = min(m, n), max(m, n), np.finfo(float).eps
        g = np.fromfile(os.path.join(folder, f"G-{i}.f64")).reshape((m, n), order="F")
        assert (g == g.astype(np.float32)).all(), "torch gets other entries"
        sigma = np.linalg.svd(g, compute_uv=False)
        for name, row in rows.items():
            what = f"{name} {m}x{n}"
            q = np.fromfile(os.path.join(folder, f"{name}-{i}.f64")).reshape((m, n), order="F")
            values = np.linalg.svd(q, compute_uv=False)
            near(float(row["nuclear_norm"]), sigma.sum(), 16 * l * eps * sigma.sum(), what + " nuclear norm")
            near(float(row["gap"]), 1 - (g * q).sum() / sigma.sum(), 64 * l * eps * max(1, values[0] * np.linalg.norm(g) * np.sqrt(s) / sigma.sum()), what + " gap")
            # Eigenvalues of the Gram matrix: their errors are absolute
            near(float(row["largest"]) ** 2, values[0] ** 2, 16 * l * eps * values[0] ** 2, what + " largest")
            near(float(row["smallest"]) ** 2, values[-1] ** 2, 16 * l * eps * values[0] ** 2, what + " smallest")
            # What the method should give, from the singular values of G alone
            if name in POLYNOMIALS:
                f = sigma / np.linalg.norm(g)
                for a, b, c in POLYNOMIALS[name]:
                    f = a * f + b * f**3 + c * f**5
                near(float(row["gap"]), 1 - (sigma * f).sum() / sigma.sum(), 2e-5, what + " gap by the polynomial")
            elif not name.startswith("torch"):
                # Nearer to the polar factor than the matrix divided by its norm
                assert -0.1 <= float(row["gap"]) <= 0.9 * (1 - sigma @ sigma / sigma[0] / sigma.sum()) + 1e-6, what + " gap " + row["gap"]
            flops, seconds, products = float(row["flops"]), float(row["seconds"]), float(row["products"])
            assert 0 < float(row["seconds_best"]) <= seconds and products > 0, what
            near(float(row["fraction"]), flops / seconds / products, 1e-6 * flops / seconds / products, what + " fraction")
            promised = float(row["flops_promised"])
            if name in FLOPS:
                assert promised == FLOPS[name](s, l), f"{what}: {promised} operations, expected {FLOPS[name](s, l)}"
            low, high = DEPENDS.get(name, (1.0, 1.0)) if ranks == 1 else (1.0, 1.0)
            # What was logged is the difference of two sums
            assert low - 1e-9 <= flops / promised <= high + 1e-9, f"{what}: {flops} operations logged, {promised} promised"
            assert int(row["ranks"]) == ranks and row["precision"] in ("single", "double", "bf16"), what
            if name.startswith("torch"):
                first = 1.0 if name.endswith("single") else 0.5
                assert (products, float(row["seconds_best"]), seconds) == (2e9 * first, first, first + 0.125), row
                assert (q == g).all(), what

main()
