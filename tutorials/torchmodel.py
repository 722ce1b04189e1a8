"""A model of torch is trained by EF21-Muon on the ranks of MPI, each of which has data of its own. torchmuon.py does the same by torch.optim.Muon.

    mpiexec -n 2 python3 torchmodel.py [options of PetscMuon, -muon_monitor or -ef21_compressor_values natural for instance]

A network with two hidden layers learns f(x) = sin(pi x1) cos(pi x2). Muon moves the matrix between them, AdamW the rest.
"""
import sys

import mpi4py.MPI as MPI
import petscmuon
import torch

comm, steps = MPI.COMM_WORLD, 300
torch.set_num_threads(1)
torch.manual_seed(0)  # the same weights on all ranks
net = torch.nn.Sequential(torch.nn.Linear(2, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
types = {name: None if name == "2.weight" else "adamw" for name, _ in net.named_parameters()}
torch.manual_seed(1 + comm.Get_rank())  # points of this rank alone
x = 2 * torch.rand(256, 2) - 1
y = torch.sin(torch.pi * x[:, :1]) * torch.cos(torch.pi * x[:, 1:])


def backward():
  net.zero_grad()
  loss = torch.nn.functional.mse_loss(net(x), y)
  loss.backward()
  return loss.item()


def train():
  """Each rank sends the leading singular triples, a tenth of them, of what its momentum gained; the server of a layer sends the weights."""
  options = "-muon_type ef21 -ef21_compressor rankk -ef21_compressor_ratio 0.1 -muon_learning_rate 0.03 -muon_adamw_learning_rate 0.01 -muon_schedule linear -muon_max_steps %d " % steps
  with petscmuon.Muon(comm, options + " ".join(sys.argv[1:])) as muon:
    layers = [muon.add_layer("net." + name, p, types[name]) for name, p in net.named_parameters()]
    for step in range(steps):
      loss = backward()
      for layer in layers:
        layer.set_gradient(layer.tensor.grad)
      muon.step(loss)
    return muon.traffic.up.encoded / 8


def report(name, train):
  before, sent = comm.allreduce(backward()) / comm.Get_size(), train()
  after = comm.allreduce(backward()) / comm.Get_size()
  if comm.Get_rank() == 0:
    print("%s: loss %.5f to %.5f, %d bytes up a step, below a tenth: %s" % (name, before, after, sent, "yes" if after < before / 10 else "no"))


if __name__ == "__main__":
  report("petscmuon", train)

#/*TEST
#
#  test:
#    requires: numpy mpi4py torch
#    nsize: 2
#    filter: sed 's/: loss.*below/: below/'
#
#TEST*/
