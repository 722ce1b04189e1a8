#!/usr/bin/env python3
"""Times the function behind torch.optim.Muon beside tests/benchmarks/polar, which starts this.

polar_torch.py M N THREADS REPETITIONS wall|cpu FOLDER

FOLDER has G.f32, an M x N matrix of singles by columns. For each precision the factor is left in Q-bf16.f32 or Q-single.f32 in the same form, and a line says

  row PRECISION RATE SECONDS ...

where RATE are the operations a second of torch's own products in that precision, at their best size, and the seconds are those of each repetition. The function rounds to bfloat16 by itself:
the one in single is the same source with that word replaced. Where torch is not there or knows no Muon, the only line is "none" and the reason.
"""
import ctypes
import os
import sys
import time

def stop(reason):
    print("none", reason)
    sys.exit(0)

try:
    import torch
except ImportError as e:
    stop("not installed" if isinstance(e, ModuleNotFoundError) and e.name == "torch" else "does not start: %s" % e)
try:
    import inspect
    import torch.optim._muon as muon
    function = muon._zeropower_via_newtonschulz
    constants = (muon.DEFAULT_A, muon.DEFAULT_B, muon.DEFAULT_C), muon.DEFAULT_NS_STEPS, muon.EPS
except (ImportError, AttributeError):
    stop("%s has no torch.optim.Muon; it came with 2.9" % torch.__version__)

def in_single():
    """The same function without the rounding to bfloat16; None where its source no longer says so in one place."""
    source = inspect.getsource(function)
    if source.count("torch.bfloat16") != 1:
        return None
    names = dict(vars(muon))
    exec(source.replace("torch.bfloat16", "torch.float32"), names)
    return names[function.__name__]

def products(m, n, dtype, clock):
    """The best rate of a few sizes, that of the matrix among them."""
    best, s, l = 0.0, min(m, n), max(m, n)
    for rows, inner, columns in ((1024, 1024, 1024), (2048, 2048, 2048), (s, l, s), (s, s, l)):
        a, b = torch.randn(rows, inner).to(dtype), torch.randn(inner, columns).to(dtype)
        times = []
        for _ in range(3):
            start = clock()
            a @ b
            times.append(clock() - start)
        best = max(best, 2.0 * rows * inner * columns / max(min(times[1:]), 1e-9))
    return best

def load(path, m, n):
    with open(path, "rb") as f:
        return torch.frombuffer(bytearray(f.read()), dtype=torch.float32).reshape(n, m).T.contiguous()

def save(path, q):
    q = q.to(torch.float32).T.contiguous()
    with open(path, "wb") as f:
        f.write((ctypes.c_char * (4 * q.numel())).from_address(q.data_ptr()))

def main():
    m, n, threads, repetitions = (int(word) for word in sys.argv[1:5])
    clock, folder = {"wall": time.perf_counter, "cpu": time.process_time}[sys.argv[5]], sys.argv[6]
    torch.set_num_threads(threads)
    g = load(os.path.join(folder, "G.f32"), m, n)
    isa = os.environ.get("ONEDNN_MAX_CPU_ISA")
    print("torch %s in %d threads%s" % (torch.__version__, torch.get_num_threads(), ", ONEDNN_MAX_CPU_ISA=" + isa if isa else ""))
    with torch.no_grad():
        for name, dtype, f in (("bf16", torch.bfloat16, function), ("single", torch.float32, in_single())):
            if f is None:
                continue
            rate = products(m, n, dtype, clock)
            q = f(g, *constants)
            times = []
            for _ in range(repetitions):
                start = clock()
                q = f(g, *constants)
                times.append(clock() - start)
            save(os.path.join(folder, "Q-%s.f32" % name), q)
            print("row", name, "%.6g" % max(rate, products(m, n, dtype, clock)), *("%.6g" % t for t in times), flush=True)

main()
