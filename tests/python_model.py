"""A network in numpy is trained by EF21-Muon: the twin, without torch, of tutorials/torchmodel.py.

The gradients are checked by differences, the loss falls below a tenth, and all ranks end with the same weights.
"""

import mpi4py.MPI as MPI
import numpy as np
import petscmuon

comm = MPI.COMM_WORLD
steps = 100
hidden = 24
random = np.random.default_rng(0)
weights = {"W1": random.uniform(-1, 1, (hidden, 2)), "b1": np.zeros(hidden), "W2": random.uniform(-1, 1, (hidden, hidden)) / 3, "b2": np.zeros(hidden), "W3": random.uniform(-1, 1, (1, hidden)) / 3, "b3": np.zeros(1)}
x = np.random.default_rng(1 + comm.Get_rank()).uniform(-1, 1, (2, 64))
y = np.sin(np.pi * x[:1]) * np.cos(np.pi * x[1:])


def loss_and_gradients(w):
  a1 = np.tanh(w["W1"] @ x + w["b1"][:, None])
  a2 = np.tanh(w["W2"] @ a1 + w["b2"][:, None])
  error = w["W3"] @ a2 + w["b3"][:, None] - y
  d3 = 2 * error / error.size
  d2 = (w["W3"].T @ d3) * (1 - a2**2)
  d1 = (w["W2"].T @ d2) * (1 - a1**2)
  return float(np.mean(error**2)), {"W1": d1 @ x.T, "b1": d1.sum(1), "W2": d2 @ a1.T, "b2": d2.sum(1), "W3": d3 @ a2.T, "b3": d3.sum(1)}


for name in ("W1", "b2", "W3"):
  _, gradient = loss_and_gradients(weights)
  entry = tuple(0 for _ in weights[name].shape)
  h, values = 1e-5, []
  for sign in (1, -1):
    weights[name][entry] += sign * h
    values.append(loss_and_gradients(weights)[0])
    weights[name][entry] -= sign * h
  # The error of a central difference is of the order of h^2, and of eps/h by rounding
  assert abs((values[0] - values[1]) / (2 * h) - gradient[name][entry]) < 1e-7, name

before = comm.allreduce(loss_and_gradients(weights)[0]) / comm.Get_size()
options = "-muon_type ef21 -ef21_compressor rankk -ef21_compressor_ratio 0.1 -muon_learning_rate 0.05 -muon_adamw_learning_rate 0.02 -muon_schedule linear -muon_max_steps %d" % steps
with petscmuon.Muon(comm, options) as muon:
  layers = {name: muon.add_layer(name, w, None if name == "W2" else "adamw") for name, w in weights.items()}

  def closure():
    loss, gradients = loss_and_gradients(weights)
    for name, layer in layers.items():
      layer.set_gradient(gradients[name])
    return loss

  muon.solve(closure)
  assert muon.reason == "CONVERGED_MAX_STEPS" and muon.step_number == steps
  sent, dense = muon.traffic.up.encoded, muon.traffic.dense
after = comm.allreduce(loss_and_gradients(weights)[0]) / comm.Get_size()
assert after < before / 10, (before, after)
assert sent < dense, (sent, dense)
for name, w in weights.items():
  assert np.array_equal(w, comm.bcast(w)), "rank %d has other weights %s" % (comm.Get_rank(), name)

#/*TEST
#
#  test:
#    requires: numpy mpi4py
#    nsize: 2
#
#TEST*/
