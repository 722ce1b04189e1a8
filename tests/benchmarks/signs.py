#!/usr/bin/env python3
"""How many signs of a polar factor differ from those of the momentum that it is of: signs.py CHECKPOINT ... > signs.csv

A CHECKPOINT is a generation of a run of SignMuon (step-...), as -muon_checkpoint and -muon_checkpoint_interval make them. The hidden layers' momenta of all workers are read, and their polar factors are made with numpy: exact, and by
steps of the cubic iteration of the SignMuon paper, normalized by the Frobenius norm or by the largest singular value. A row has the mean, least and largest share over layers and workers. share/petscmuon/doc/studies/signmuon/signs.csv
is in the report of that study.
"""

import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "share", "petscmuon"))
from checkpoint import Checkpoint

def factors(M):
  """{method: polar factor, or what stands for it}"""
  U, s, V = np.linalg.svd(M, full_matrices=False)
  out = {"exact": U @ V}
  for name, size in (("Frobenius", np.linalg.norm(s)), ("spectral", s[0])):
    for steps in (1, 7):
      y = s / size # the iteration acts on singular values alone
      for _ in range(steps):
        y = 1.5 * y - 0.5 * y**3
      out["cubic %d %s" % (steps, name)] = (U * y) @ V
  return out

def shares(M):
  """{method: share of signs that differ}, of the entries that are not zero"""
  return {name: float(np.mean((np.sign(F) != np.sign(M))[M != 0])) for name, F in factors(M).items()}

def main(paths):
  print("step,method,mean,least,most")
  for path in paths:
    c, found = Checkpoint(*os.path.split(path.rstrip("/"))), {}
    for record in c.records:
      if record.state == "momentum" and record.layer.startswith("h"):
        for method, share in shares(record.array().astype(float)).items():
          found.setdefault(method, []).append(share)
    for method, some in found.items():
      print("%d,%s,%.4f,%.4f,%.4f" % (c.step, method, np.mean(some), min(some), max(some)))

if __name__ == "__main__":
  main(sys.argv[1:])
