"""A loop of DistributedDataParallel and AdamW, and the same loop with what takes their place. Compare the two optimizers and the lines around them: the loop is one.

    mpiexec -n 2 python3 torchddp.py          by EF21-Muon, which sends 4 bits an entry
    mpiexec -n 2 python3 torchddp.py ddp      by DistributedDataParallel with gloo
"""
import sys

import mpi4py.MPI as MPI
import torch

rank, size, steps = MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size(), 300
ddp = "ddp" in sys.argv
torch.set_num_threads(1)
torch.manual_seed(0)  # the same weights on all ranks
net = torch.nn.Sequential(torch.nn.Linear(2, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
x = 2 * torch.rand(512, 2) - 1
data = torch.utils.data.TensorDataset(x, torch.sin(torch.pi * x[:, :1]) * torch.cos(torch.pi * x[:, 1:]))
sampler = torch.utils.data.DistributedSampler(data, num_replicas=size, rank=rank)
loader = torch.utils.data.DataLoader(data, batch_size=128, sampler=sampler)

if ddp:
  import torch.distributed
  torch.distributed.init_process_group("gloo", init_method="tcp://127.0.0.1:29500", rank=rank, world_size=size)
  net = torch.nn.parallel.DistributedDataParallel(net)
  optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
else:
  import petscmuon.torch
  optimizer = petscmuon.torch.Muon(net.named_parameters(), lr=0.03, adamw_lr=0.01, options="-muon_type ef21 -ef21_compressor qsgd")
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)

step, before = 0, torch.nn.functional.mse_loss(net(x), data.tensors[1]).item()
while step < steps:
  sampler.set_epoch(step)
  for inputs, targets in loader:
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(net(inputs), targets).backward()
    optimizer.step()
    scheduler.step()
    step += 1

after = torch.nn.functional.mse_loss(net(x), data.tensors[1]).item()
if rank == 0:
  print("loss %.5f to %.5f, below a tenth: %s" % (before, after, "yes" if after < before / 10 else "no"))
if ddp:
  torch.distributed.destroy_process_group()

#/*TEST
#
#  test:
#    requires: numpy mpi4py torch
#    nsize: 2
#    filter: sed 's/^loss.*below/below/'
#
#TEST*/
