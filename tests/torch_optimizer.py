"""petscmuon.torch.Muon beside torch.optim.Muon on the same gradients; state_dict() and load_state_dict(); schedulers, groups, copies of bfloat16, errors."""
import importlib
import inspect
import sys
import warnings

import mpi4py.MPI as MPI
import petscmuon
import petscmuon.torch
import torch

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
torch.set_num_threads(1)
data = torch.Generator().manual_seed(1 + rank)  # of this rank alone
x = 2 * torch.rand(64, 2, generator=data) - 1
y = torch.sin(torch.pi * x[:, :1]) * torch.cos(torch.pi * x[:, 1:])


def network(dtype=torch.float32, bias=True):
  torch.manual_seed(0)
  return torch.nn.Sequential(torch.nn.Linear(2, 32, bias=bias), torch.nn.Tanh(), torch.nn.Linear(32, 16, bias=bias), torch.nn.Tanh(), torch.nn.Linear(16, 1, bias=bias)).to(dtype)


def backward(net):
  dtype = next(net.parameters()).dtype
  loss = torch.nn.functional.mse_loss(net(x.to(dtype)), y.to(dtype))
  loss.backward()
  return loss


def run(net, optimizer, steps, scheduler=None):
  for _ in range(steps):
    optimizer.zero_grad()
    loss = backward(net)
    optimizer.step()
    if scheduler is not None:
      scheduler.step()
  return loss.item()


def optimizer_of(net, **more):
  return petscmuon.torch.Muon(net.named_parameters(), comm=comm, verbose=False, **more)


def expect(what, kind, text, call, *args, **kwargs):
  try:
    call(*args, **kwargs)
  except kind as error:
    assert text in str(error), (what, error)
    return
  sys.exit("%s: no error, expected %s about '%s'" % (what, kind, text))


def against_torch(bound):
  """20 steps beside torch.optim.Muon, which gets the mean of the gradients of the ranks. They do not depend on the weights, so that differences do not grow."""
  ours, theirs, start = network(bias=False), network(bias=False), network(bias=False)
  settings = dict(lr=0.02, momentum=0.95, weight_decay=0.1)
  optimizer, other = optimizer_of(ours, options="-muon_type dense -muon_preset torch", **settings), torch.optim.Muon(theirs.parameters(), **settings)
  scheduler, another = (torch.optim.lr_scheduler.LambdaLR(each, lambda step: 1 - step / 40) for each in (optimizer, other))
  for _ in range(20):
    for p, q in zip(ours.parameters(), theirs.parameters()):
      p.grad = torch.randn(p.shape, generator=data)
      q.grad = p.grad.clone()
      comm.Allreduce(MPI.IN_PLACE, q.grad.numpy())
      q.grad /= size
    for each in (optimizer, other, scheduler, another):
      each.step()
  distance = lambda net: sum(((p - q) ** 2).sum().item() for p, q in zip(theirs.parameters(), net.parameters())) ** 0.5
  assert distance(ours) <= bound * distance(start), "%g apart after a movement of %g, expected at most %g of it" % (distance(ours), distance(start), bound)


def in_float32():
  """torch.optim.Muon casts its input to bfloat16, and products and polynomials follow. The same function without that cast."""
  module = importlib.import_module("torch.optim._muon")
  source = inspect.getsource(module._zeropower_via_newtonschulz)
  if "bfloat16" not in source:
    sys.exit("torch.optim.Muon has no bfloat16 to be replaced: is its polar factor another?")
  exec(source.replace("torch.bfloat16", "torch.float32").replace(".bfloat16()", ".float()"), module.__dict__)


def state():
  """Two optimizers go on from one state, bit for bit; the state is a copy that later steps do not change."""
  more = dict(lr=0.03, adamw_lr=0.01, options="-muon_type ef21 -ef21_compressor topk -ef21_server_compressor qsgd")
  first, second = network(), network()
  a, b = optimizer_of(first, **more), optimizer_of(second, **more)
  run(first, a, 5)
  kept = a.state_dict()
  run(first, a, 4)
  b.load_state_dict(kept)
  run(second, b, 4)
  assert all(torch.equal(p, q) for p, q in zip(first.parameters(), second.parameters())), "other weights after load_state_dict()"
  assert not all(torch.equal(p, q) for p, q in zip(first.parameters(), network().parameters()))
  # The groups' numbers are those of the state, too
  a.param_groups[0]["lr"] = 0.5
  a.load_state_dict(kept)
  assert a.param_groups[0]["lr"] == 0.03
  # and what is set behind is what acts: with a rate of 0 the server's weights stay, which the downlink brings to the workers little by little
  third = network()
  c = optimizer_of(third)
  c.load_state_dict(c.state_dict())
  before = [p.detach().clone() for p in third.parameters()]
  c.param_groups[0]["lr"] = 0.0
  run(third, c, 1)
  assert all(torch.equal(p, q) for p, q in zip(third.parameters(), before)), "a rate of 0 after load_state_dict() had no effect"


def groups():
  """A rate of 0 leaves the weights of a group where they are; so does the rule frozen."""
  net = network()
  start = [p.detach().clone() for p in net.parameters()]
  named = list(net.named_parameters())
  optimizer = petscmuon.torch.Muon([{"params": named[:2], "lr": 0.0}, {"params": named[2:4]}, {"params": named[4:], "rule": "frozen"}], comm=comm, verbose=False)
  run(net, optimizer, 2)
  assert [torch.equal(p, q) for p, q in zip(net.parameters(), start)] == [True, True, False, False, True, True]
  expect("a group later", petscmuon.Error, "add_param_group()", optimizer.add_param_group, {"params": [torch.nn.Parameter(torch.zeros(2, 2))]})


def tree(parts):
  return torch.nn.ModuleDict({name: tree(part) if isinstance(part, dict) else part for name, part in parts.items()})


def presets():
  """GPT-2 and ResNet-18, small, beside what the sources leave to AdamW: all that is no matrix, embeddings, heads, and first filters; an embedding of any name where the door sees the module."""
  nn = torch.nn
  block = lambda: tree({"ln_1": nn.LayerNorm(4), "attn": tree({"c_attn": nn.Linear(4, 12), "c_proj": nn.Linear(4, 4)}), "ln_2": nn.LayerNorm(4), "mlp": tree({"c_fc": nn.Linear(4, 16), "c_proj": nn.Linear(16, 4)})})
  basic = lambda: tree({"conv1": nn.Conv2d(4, 4, 3, bias=False), "bn1": nn.BatchNorm2d(4), "conv2": nn.Conv2d(4, 4, 3, bias=False), "bn2": nn.BatchNorm2d(4)})
  gpt2 = tree({"wte": nn.Embedding(9, 4), "wpe": nn.Embedding(8, 4), "h": nn.ModuleList(block() for _ in range(12)), "ln_f": nn.LayerNorm(4), "lm_head": nn.Linear(4, 9, bias=False)})
  resnet = tree({"conv1": nn.Conv2d(3, 4, 7, bias=False), "bn1": nn.BatchNorm2d(4), **{"layer%d" % l: nn.ModuleList([basic(), basic()]) for l in range(1, 5)}, "fc": nn.Linear(4, 10)})
  odd = tree({"tokens": nn.Embedding(5, 4), "hidden": nn.Linear(4, 1), "attn": tree({"heads": nn.Linear(4, 4)})})
  for preset in ("torch", "kj", "moonlight", "algoperf"):
    edges = {"algoperf": (), "moonlight": ("lm_head",)}.get(preset, ("lm_head", "conv1", "fc"))
    for model in (gpt2, resnet, odd):
      tables = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
      for params in (model, model.named_parameters()):
        optimizer = petscmuon.torch.Muon(params, comm=comm, verbose=False, options="-muon_preset " + preset)
        for name, p in model.named_parameters():
          table = id(p) in tables and (params is model or model is not odd)
          expected = "adamw" if p.dim() < 2 or table or name.split(".")[0] in edges else "lmo"
          rule = next(layer.rule for layer in optimizer.muon.layers if layer.tensor is p)
          assert rule == expected, "%s: %s is updated by %s, expected %s" % (preset, name, rule, expected)
        optimizer.destroy()
  # A rule of a group and -muon_rule_match go before, and AdamW has its own rate
  groups = [{"params": [("wte.weight", gpt2["wte"].weight)], "rule": "lmo"}, {"params": [("wpe.weight", gpt2["wpe"].weight), ("lm_head.weight", gpt2["lm_head"].weight)], "lr": 0.0}]
  optimizer = petscmuon.torch.Muon(groups, comm=comm, verbose=False, options='-muon_preset torch -muon_rule_match "lm*:sgd"')
  assert [layer.rule for layer in optimizer.muon.layers] == ["lmo", "adamw", "sgd"]
  optimizer.destroy()


def halves():
  """bfloat16 is trained as float32, of which the parameters are roundings."""
  half, single = network(torch.bfloat16), network()
  with torch.no_grad():
    for p, q in zip(half.parameters(), single.parameters()):
      q.copy_(p)
  a, b = optimizer_of(half), optimizer_of(single)
  backward(half)
  for p, q in zip(half.parameters(), single.parameters()):
    q.grad = p.grad.float()
  a.step()
  b.step()
  assert all(torch.equal(p, q.to(torch.bfloat16)) for p, q in zip(half.parameters(), single.parameters()))


def strided():
  """Rows with gaps, whose gradients torch makes without: the steps are those of a matrix without gaps."""
  start = torch.arange(24.0).reshape(4, 6)
  gaps, packed = torch.nn.Parameter(start[:, :3]), torch.nn.Parameter(start[:, :3].contiguous())
  for p in (gaps, packed):
    optimizer = petscmuon.torch.Muon([("w", p)], comm=comm, verbose=False)
    (p**2).sum().backward()
    optimizer.step()
  assert gaps.stride() == (6, 1) and torch.equal(gaps, packed) and torch.equal(start[:, 3:], torch.arange(24.0).reshape(4, 6)[:, 3:])


def errors():
  net = network()
  optimizer = optimizer_of(net)
  backward(net)
  kept = [p.detach().clone() for p in net.parameters()]
  gradient, net[2].weight.grad = net[2].weight.grad, None
  expect("no gradient", petscmuon.Error, "parameter '2.weight' has no gradient", optimizer.step)
  net[2].weight.grad = gradient if rank == 0 else None
  if size > 1:
    # The other ranks hear of it, and nobody moves
    expect("no gradient on one rank", petscmuon.Error, "another rank" if rank == 0 else "2.weight", optimizer.step)
  assert all(torch.equal(p, q) for p, q in zip(net.parameters(), kept))
  optimizer.zero_grad()
  loss = optimizer.step(lambda: backward(net))
  assert loss.item() > 0 and not torch.equal(net[2].weight, kept[2])
  expect("complex", TypeError, "complex64", petscmuon.torch.Muon, [("c", torch.nn.Parameter(torch.zeros(2, 2, dtype=torch.complex64)))], comm=comm)
  twice = torch.nn.Parameter(torch.zeros(3, 3))
  make = lambda *pairs: petscmuon.torch.Muon(list(pairs), comm=comm, verbose=False)
  expect("one twice", ValueError, "", petscmuon.torch.Muon, [{"params": [("a", twice)]}, {"params": [("b", twice)]}], comm=comm)
  with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch warns, and takes it
    expect("twice in a group", ValueError, 'layer "b": its memory is that of layer "a"', make, ("a", twice), ("b", twice))
  expect("two optimizers", ValueError, 'layer "pa": its memory is that of layer "p2.weight" of another optimizer', make, ("pa", net[2].weight))
  expect("an integer", TypeError, "parameter 'i' is dense of torch.int32", make, ("i", torch.nn.Parameter(torch.zeros(2, 2, dtype=torch.int32), requires_grad=False)))
  expect("no memory", ValueError, 'layer "m"', make, ("m", torch.nn.Parameter(torch.zeros(2, 2, device="meta"))))
  expect("no name", ValueError, "without a name", make, ("", torch.nn.Parameter(torch.zeros(2, 2))))
  if size > 1:
    other = make(("w%d" % rank, torch.nn.Parameter(torch.zeros(2, 2))))
    other.param_groups[0]["params"][0].grad = torch.ones(2, 2)
    expect("other parameters on another rank", petscmuon.Error, "w%d" % rank, other.step)


if hasattr(torch.optim, "Muon"):
  against_torch(2e-2)  # whose products are in bfloat16
  in_float32()
  against_torch(1e-5)
state()
groups()
presets()
halves()
strided()
errors()

#/*TEST
#
#  test:
#    requires: numpy mpi4py torch
#    nsize: {{1 2}}
#
#TEST*/
