"""What torchmodel.py trains by EF21-Muon, trained by torch.optim.Muon with averaged gradients: from the same weights and on the same data.

    mpiexec -n 2 python3 torchmuon.py
"""
import mpi4py.MPI as MPI
import torch
from torchmodel import backward, comm, net, report, steps, types


def train():
  """Each gradient is summed over the ranks, and all ranks take the same step."""
  moved_by = lambda which: [p for name, p in net.named_parameters() if types[name] == which]
  optimizers = [torch.optim.Muon(moved_by(None), lr=0.02, weight_decay=0), torch.optim.AdamW(moved_by("adamw"), lr=0.01, weight_decay=0)]
  schedules = [torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps) for optimizer in optimizers]
  for step in range(steps):
    backward()
    for p in net.parameters():
      comm.Allreduce(MPI.IN_PLACE, p.grad.numpy())
      p.grad /= comm.Get_size()
    for each in optimizers + schedules:
      each.step()
  return sum(4 * p.numel() for p in net.parameters())


report("torch.optim.Muon", train)

#/*TEST
#
#  test:
#    requires: numpy mpi4py torch
#    nsize: 2
#    filter: sed 's/: loss.*below/: below/'
#
#TEST*/
