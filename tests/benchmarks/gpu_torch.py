#!/usr/bin/env python3
"""Times the function behind torch.optim.Muon on a GPU, as it is and compiled, on the shapes of tests/benchmarks/gpu.c; a line each: how, m, n, milliseconds; and 48 matrices of one shape, one by one."""
import sys
import time

import torch

try:
  from torch.optim import _muon
except ImportError:
  sys.exit("torch %s has no torch.optim.Muon; it came with 2.9" % torch.__version__)
if not torch.cuda.is_available():
  sys.exit("torch %s sees no GPU" % torch.__version__)


def milliseconds(function, matrix):
  constants = (_muon.DEFAULT_A, _muon.DEFAULT_B, _muon.DEFAULT_C), _muon.DEFAULT_NS_STEPS, _muon.EPS
  best = float("inf")
  for repetition in range(8):
    torch.cuda.synchronize()
    start = time.perf_counter()
    function(matrix, *constants)
    torch.cuda.synchronize()
    if repetition > 2:
      best = min(best, time.perf_counter() - start)
  return 1e3 * best


print("torch %s on %s" % (torch.__version__, torch.cuda.get_device_name()))
for name, function in (("eager", _muon._zeropower_via_newtonschulz), ("compiled", torch.compile(_muon._zeropower_via_newtonschulz))):
  for m, n in ((768, 768), (768, 3072), (3072, 768), (2048, 2048), (4096, 4096), (4096, 16384)):
    print("%-8s %5d %6d %10.4f" % (name, m, n, milliseconds(function, torch.randn(m, n, device="cuda"))))
  many = [torch.randn(768, 3072, device="cuda") for _ in range(48)]
  print("%-8s 48 of 768 x 3072 %10.4f" % (name, milliseconds(lambda matrices, *constants: [function(matrix, *constants) for matrix in matrices], many)))
