#!/usr/bin/env python3
"""Times what others have for the factors of tests/benchmarks/gpu.c, on the same card and shapes: gpu_torch.py [tiny] [csv FILE] [eager|compiled|packages]

eager and compiled are the function behind torch.optim.Muon (torch 2.9 and later), as it is and by torch.compile(). packages are those that can be imported here; their own pages say how they are fetched:

  gram_newton_schulz  the Gram form, and the ordinary one with the symmetric products of quack (PyPI: gram-newton-schulz, quack-kernels; Hopper and Blackwell)
  flash_muon          symmetric products in Triton (github.com/nil0x9/flash-muon)
  dion                likewise, with polynomials of its own (github.com/microsoft/dion)

Of a package only the functions that its page or its own benchmark calls are called. tiny takes small sizes, on the host where there is no GPU, to try this file.
"""
import importlib
import sys
import time

arguments = sys.argv[1:]
tiny = "tiny" in arguments
csv = arguments[arguments.index("csv") + 1] if "csv" in arguments else None
parts = [word for word in arguments if word in ("eager", "compiled", "packages")] or ["eager", "compiled", "packages"]

try:
  import torch
except ImportError as e:
  sys.exit("torch: %s" % e)
device = "cuda" if torch.cuda.is_available() else "cpu"
if device == "cpu" and not tiny:
  sys.exit("torch %s sees no GPU" % torch.__version__)

SHAPES = ((24, 24), (24, 40), (40, 24)) if tiny else ((768, 768), (768, 3072), (3072, 768), (2048, 2048), (4096, 4096), (4096, 16384))
MANY = (3, 24, 40) if tiny else (48, 768, 3072)
LIST = ((48, 24, 24), (12, 96, 24), (12, 24, 96)) if tiny else ((48, 768, 768), (12, 3072, 768), (12, 768, 3072))
KJ, STEPS, EPSILON = (3.4445, -4.7750, 2.0315), 5, 1e-7
REPETITIONS = 7


def finish():
  if device == "cuda":
    torch.cuda.synchronize()


def seconds(function):
  best = float("inf")
  for repetition in range(REPETITIONS + 3):
    finish()
    start = time.perf_counter()
    function()
    finish()
    if repetition > 2:
      best = min(best, time.perf_counter() - start)
  return best


def uniform(*shape):
  torch.manual_seed(7)
  return torch.rand(*shape, device=device) * 2 - 1


def operations(m, n):
  s, l = min(m, n), max(m, n)
  return STEPS * (4.0 * s * s * l + 2.0 * s**3)


def exact(matrix):
  """The same polynomials in double precision."""
  x = matrix.double()
  if x.size(0) > x.size(1):
    return exact(matrix.mT).mT
  x = x / (x.norm() + EPSILON)
  for _ in range(STEPS):
    a = x @ x.mT
    x = KJ[0] * x + (KJ[1] * a + KJ[2] * a @ a) @ x
  return x


def row(part, how, numbers, m, n, count, taken, nominal, error=None):
  print("%-5s %-28s %-5s %5d %6d %4d %10.4f ms %9.3f TFLOP/s %s" % (part, how, numbers, m, n, count, 1e3 * taken, nominal, "" if error is None else "%.2e" % error), flush=True)
  if csv:
    with open(csv, "a") as f:
      f.write("%s,%s,%s,%d,%d,%d,%.5g,,%.5g,,%s\n" % (part, how, numbers, m, n, count, 1e3 * taken, nominal, "" if error is None else "%.5g" % error))


def measure(how, numbers, function, batched, same):
  """All shapes of one function. batched: it takes several matrices at once; same: its polynomials are those of torch, so that there is an error to tell."""
  for m, n in SHAPES:
    g = uniform(m, n)
    taken = seconds(lambda: function(g))
    row("polar", how, numbers, m, n, 1, taken, 1e-12 * operations(m, n) / taken, (function(g).double() - exact(g)).abs().max().item() if same else None)
  for part, groups in (("polar", (MANY, )), ("list", LIST)):
    data = [uniform(*group) for group in groups]
    whole = sum(count * operations(m, n) for count, m, n in groups)
    taken = seconds((lambda: [function(g) for g in data]) if batched else (lambda: [function(matrix) for g in data for matrix in g]))
    row(part, how, numbers, groups[0][1] if len(groups) == 1 else 0, groups[0][2] if len(groups) == 1 else 0, sum(group[0] for group in groups), taken, 1e-12 * whole / taken)


def attempt(how, *rest):
  """What one of them cannot do is no reason to leave out the others."""
  try:
    measure(how, *rest)
  except Exception as e:  # theirs, of any kind
    print("%s ended: %s: %s" % (how, type(e).__name__, str(e).split("\n")[0]), flush=True)


def public(module, *names):
  """Functions of a module that may not be there."""
  try:
    there = importlib.import_module(module)
    return [getattr(there, name) for name in names]
  except Exception as e:  # an import may end in any way
    print("%s: not there (%s: %s)" % (module, type(e).__name__, str(e).split("\n")[0]), flush=True)
    return None


def of_packages():
  found = public("gram_newton_schulz", "GramNewtonSchulz", "StandardNewtonSchulz")
  if found:
    # Without a GPU there are neither kernels nor reason to compile
    own = {} if device == "cuda" else {"ns_use_kernels": False, "compile_kwargs": None}
    for how, make in zip(("gram-newton-schulz", "quack symmetric products"), found):
      try:
        function = make(ns_coefficients=[list(KJ)] * STEPS, **own)
      except Exception as e:
        print("%s ended: %s: %s" % (how, type(e).__name__, str(e).split("\n")[0]), flush=True)
        continue
      attempt(how, "fp16", function, True, True)
  found = public("flash_muon", "fast_newtonschulz") if device == "cuda" else None
  if found:
    attempt("flash-muon", "bf16", lambda g: found[0](g, STEPS), False, True)
  found = public("dion.newton_schulz_triton", "newton_schulz_triton") if device == "cuda" else None
  if found:
    attempt("dion", "bf16", found[0], True, False)


def of_torch():
  try:
    from torch.optim import _muon
  except ImportError:
    print("torch %s has no torch.optim.Muon; it came with 2.9" % torch.__version__)
    return
  constants = KJ, STEPS, EPSILON
  if "eager" in parts:
    attempt("torch eager", "bf16", lambda g: _muon._zeropower_via_newtonschulz(g, *constants), False, True)
  if "compiled" in parts:
    torch._dynamo.config.recompile_limit = 64
    compiled = torch.compile(_muon._zeropower_via_newtonschulz, dynamic=False)
    attempt("torch compiled", "bf16", lambda g: compiled(g, *constants), False, True)


print("torch %s on %s" % (torch.__version__, torch.cuda.get_device_name() if device == "cuda" else device), flush=True)
with torch.no_grad():
  if "eager" in parts:
    side = 64 if tiny else 8192
    a = uniform(side, side).bfloat16()
    taken = seconds(lambda: a @ a)
    row("gemm", "torch", "bf16", side, side, 1, taken, 2e-12 * side**3 / taken)
  of_torch()
  if "packages" in parts:
    of_packages()
