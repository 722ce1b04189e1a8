"""Beside petsc4py the package takes the libpetsc that petsc4py has loaded: one database of options, one start and one end."""

import sys

import petsc4py
petsc4py.init(sys.argv[:1] + ["-muon_learning_rate", "0.5", "-muon_type", "dense", "-lmo_type", "max", "-muon_momentum", "0"])
from petsc4py import PETSc

import numpy as np
import petscmuon

options = PETSc.Options()
options["muon_weight_decay"] = 0.25
w = np.full((3, 2), 2.0)
with petscmuon.Muon(PETSc.COMM_WORLD) as muon:
  layer = muon.add_layer("w", w)
  layer.set_gradient(np.ones((3, 2)))
  assert muon.step()
  assert muon.learning_rate == 0.5
  # Decay multiplies by 1 - rate x decay, then each entry goes down by the rate
  assert np.max(np.abs(w - (2 * (1 - 0.5 * 0.25) - 0.5))) < 4 * np.finfo(np.float32).eps, w
# An option that only the step above has read is one that petsc4py set, and what petsc4py does afterwards works
x = PETSc.Vec().createMPI(4)
x.set(1)
assert x.sum() == 4

#/*TEST
#
#  test:
#    requires: numpy mpi4py petsc4py
#    nsize: 2
#
#TEST*/
