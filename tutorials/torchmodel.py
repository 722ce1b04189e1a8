"""A model of torch on the ranks of MPI: trained by torch.optim.Muon with averaged gradients, then by EF21-Muon, from the same weights and on the same data.

    mpiexec -n 2 python3 torchmodel.py [options of PetscMuon, -muon_monitor or -ef21_compressor_values natural for instance]

A network with two hidden layers learns f(x) = sin(pi x1) cos(pi x2) from points that each rank has for itself. What each rank sends in a step is printed beside the loss. The middle of the network, its 2-D weights but the
last, is moved by Muon, the rest by AdamW, in both.
"""

import sys

import mpi4py.MPI as MPI
import petscmuon
import torch

comm = MPI.COMM_WORLD
steps = 300
torch.set_num_threads(1)


def model():
  torch.manual_seed(0)
  return torch.nn.Sequential(torch.nn.Linear(2, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))


def is_hidden(name, p):
  return p.ndim == 2 and name != "4.weight"


torch.manual_seed(1 + comm.Get_rank())
x = 2 * torch.rand(256, 2) - 1
y = torch.sin(torch.pi * x[:, :1]) * torch.cos(torch.pi * x[:, 1:])


def backward(net):
  net.zero_grad()
  loss = torch.nn.functional.mse_loss(net(x), y)
  loss.backward()
  return loss.item()


def by_torch(net):
  """Each gradient is summed over the ranks, and all ranks take the same step."""
  named = list(net.named_parameters())
  optimizers = [torch.optim.Muon([p for n, p in named if is_hidden(n, p)], lr=0.02, weight_decay=0), torch.optim.AdamW([p for n, p in named if not is_hidden(n, p)], lr=0.01, weight_decay=0)]
  schedules = [torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps) for optimizer in optimizers]
  for step in range(steps):
    backward(net)
    for p in net.parameters():
      comm.Allreduce(MPI.IN_PLACE, p.grad.numpy())
      p.grad /= comm.Get_size()
    for each in optimizers + schedules:
      each.step()
  return sum(4 * p.numel() for p in net.parameters())


def by_petscmuon(net):
  """Each rank sends the leading singular triples, a tenth of them, of what its momentum gained; the server of a layer sends the weights."""
  options = "-muon_type ef21 -ef21_compressor rankk -ef21_compressor_ratio 0.1 -muon_learning_rate 0.03 -muon_adamw_learning_rate 0.01 -muon_schedule linear -muon_max_steps %d " % steps
  with petscmuon.Muon(comm, options + " ".join(sys.argv[1:])) as muon:
    layers = [muon.add_layer("net." + name, p, None if is_hidden(name, p) else "adamw") for name, p in net.named_parameters()]
    for step in range(steps):
      loss = backward(net)
      for layer in layers:
        layer.set_gradient(layer.tensor.grad)
      muon.step(loss)
    return muon.traffic.up.encoded / 8


for name, train in (("torch.optim.Muon", by_torch), ("petscmuon", by_petscmuon)):
  net = model()
  before = comm.allreduce(backward(net)) / comm.Get_size()
  sent = train(net)
  after = comm.allreduce(backward(net)) / comm.Get_size()
  if comm.Get_rank() == 0:
    print("%-17s loss %.5f to %.5f, %d bytes up a step" % (name, before, after, sent))
    if after < before / 10:
      print("%-17s the loss fell below a tenth" % "")

#/*TEST
#
#  test:
#    requires: numpy mpi4py torch
#    nsize: 2
#    filter: grep -c "the loss fell below a tenth"
#    output_file: output/averaging_check.out
#
#TEST*/
