"""petscmuon.torch.Muon beside torch.optim.Muon on the same gradients; state_dict() and load_state_dict(); schedulers, groups, copies of bfloat16, errors."""
import ctypes
import importlib
import inspect
import os
import random
import sys
import warnings

import mpi4py.MPI as MPI
import petscmuon
import petscmuon._library
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
  exec(source.replace("torch.bfloat16", "torch.float32").replace(".bfloat16()", ".float().clone()"), module.__dict__)


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


def other_ranks():
  """A state goes back to as many ranks as it came from; save() and load() take others."""
  net, more = network(), dict(options="-muon_type ef21 -ef21_compressor topk", verbose=False)
  optimizer = optimizer_of(net, options=more["options"])
  run(net, optimizer, 3)
  kept, folder, alone = optimizer.state_dict(), os.path.join(os.getcwd(), "saved"), network()
  optimizer.save(folder)
  single = petscmuon.torch.Muon(alone.named_parameters(), comm=MPI.COMM_SELF, **more)
  if size > 1:
    expect("other ranks", ValueError, "saved on %d ranks, expected one of 1" % size, single.load_state_dict, kept)
  single.load(folder)
  assert single.muon.step_number == 3 and all(torch.equal(p, q) for p, q in zip(net.parameters(), alone.parameters()))
  run(alone, single, 1)
  single.destroy()


def successors():
  """An optimizer ends when another is made on its parameters, as a cell of a notebook that runs again does; where that fails it goes on."""
  for dtype in (torch.float32, torch.bfloat16):
    net = network(dtype)
    old = optimizer_of(net)
    run(net, old, 2)
    expect("no successor", ValueError, "are both given", optimizer_of, net, lr=0.5, options="-muon_learning_rate 0.5")
    expect("nor this one", TypeError, "parameter 'c'", petscmuon.torch.Muon, [*net.named_parameters(), ("c", torch.zeros(2, dtype=torch.int32))], comm=comm)
    run(net, old, 1)
    new = optimizer_of(net)
    run(net, new, 1)
    assert new.muon.step_number == 1
    expect("the old one", petscmuon.Error, "the optimizer was destroyed: a new one has its parameters", old.step)
    new.destroy()


def groups():
  """A rate of 0 leaves the weights of a group where they are; so does the type frozen."""
  net = network()
  start = [p.detach().clone() for p in net.parameters()]
  named = list(net.named_parameters())
  optimizer = petscmuon.torch.Muon([{"params": named[:2], "lr": 0.0}, {"params": named[2:4]}, {"params": named[4:], "type": "frozen"}], comm=comm, verbose=False)
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
          type = next(layer.type for layer in optimizer.muon.layers if layer.tensor is p)
          assert type == expected, "%s: %s is updated by %s, expected %s" % (preset, name, type, expected)
        optimizer.destroy()
  # A type of a group and -muon_layer_types go before, and AdamW has its own rate
  groups = [{"params": [("wte.weight", gpt2["wte"].weight)], "type": "lmo"}, {"params": [("wpe.weight", gpt2["wpe"].weight), ("lm_head.weight", gpt2["lm_head"].weight)], "lr": 0.0}]
  optimizer = petscmuon.torch.Muon(groups, comm=comm, verbose=False, options='-muon_preset torch -muon_layer_types "lm*:sgd"')
  assert [layer.type for layer in optimizer.muon.layers] == ["lmo", "adamw", "sgd"]
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
  expect("memory of another's", ValueError, 'layer "pa": its memory is that of layer "p2.weight" of another optimizer', make, ("pa", torch.nn.Parameter(net[2].weight.detach())))
  expect("an integer", TypeError, "parameter 'i' is dense of torch.int32", make, ("i", torch.nn.Parameter(torch.zeros(2, 2, dtype=torch.int32), requires_grad=False)))
  expect("no memory", ValueError, 'layer "m"', make, ("m", torch.nn.Parameter(torch.zeros(2, 2, device="meta"))))
  expect("no name", ValueError, "without a name", make, ("", torch.nn.Parameter(torch.zeros(2, 2))))
  if size > 1:
    other = make(("w%d" % rank, torch.nn.Parameter(torch.zeros(2, 2))))
    other.param_groups[0]["params"][0].grad = torch.ones(2, 2)
    expect("other parameters on another rank", petscmuon.Error, "w%d" % rank, other.step)


def value_of(optimizer, key):
  text = ctypes.create_string_buffer(64)
  petscmuon._library.library().call("MuonGetParameter", optimizer.muon._handle, key.encode(), text, ctypes.c_size_t(64))
  return float(text.value)


def numbers():
  """What no argument says is as options and presets say: the steps are those of petscmuon.Muon, to the bit, and groups show it. What both say is an error."""
  shown = {"torch": (1e-3, 0.95, 0.1, 1e-3), "kj": (0.02, 0.95, 0.0, 3e-4), "modded-nanogpt": (0.02, 0.95, 0.0, 1e-3), "scion": (1e-3, 0.9, 1.0, 1e-3), "ef21": (3.6e-4, 0.9, 0.0, 1e-3), "diloco": (0.02, 0.9, 0.1, 4e-4)}
  for preset, expected in shown.items():
    options = "-muon_preset %s -muon_exchange_type replicated" % preset if preset == "diloco" else "-muon_preset %s" % preset
    ours, theirs = network(), network()
    optimizer, other = optimizer_of(ours, options=options), petscmuon.Muon(comm, options)
    group = optimizer.param_groups[0]
    assert tuple(group[key] for key in ("lr", "momentum", "weight_decay", "adamw_lr")) == expected, (preset, group)
    layers = [other.add_layer("p" + name, p, "lmo" if p.dim() > 1 else "adamw") for name, p in theirs.named_parameters()]
    for _ in range(3):
      run(ours, optimizer, 1)
      theirs.zero_grad()
      backward(theirs)
      for layer in layers:
        layer.set_gradient(layer.tensor.grad)
      other.step()
    assert all(torch.equal(p, q) for p, q in zip(ours.parameters(), theirs.parameters())), "the preset %s is another in petscmuon.torch" % preset
    other.destroy()
    optimizer.destroy()
  for key, option in (("lr", "muon_learning_rate"), ("momentum", "muon_momentum"), ("weight_decay", "muon_weight_decay"), ("adamw_lr", "muon_adamw_learning_rate")):
    expect("both", ValueError, "%s=0.25 and the option -a_%s are both given" % (key, option), optimizer_of, network(), options={option: 0.5}, prefix="a_", **{key: 0.25})
    optimizer = optimizer_of(network(), options="-%s 0.5" % option)
    assert optimizer.param_groups[0][key] == 0.5
    optimizer.destroy()
  # An argument takes the place of a preset's number; a group's own number and a layer's own option, that of all
  net = network()
  named = list(net.named_parameters())
  optimizer = petscmuon.torch.Muon([{"params": named[:2], "lr": 0.5}, {"params": named[2:4]}, {"params": named[4:], "type": "adamw"}], lr=0.25, comm=comm, options="-muon_preset torch -muon_layer_p2.weight_learning_rate 0.125", verbose=False)
  assert [group["lr"] for group in optimizer.param_groups] == [0.5, 0.25, 0.25] and optimizer.param_groups[2]["weight_decay"] == 0.01
  run(net, optimizer, 1)
  for group in optimizer.param_groups:
    group["lr"] /= 2
  run(net, optimizer, 1)
  rates = [value_of(optimizer, "muon_layer_p%s_learning_rate" % name) for name, _ in named]
  assert rates == [0.25, 5e-4, 0.0625, 5e-4, 0.125, 0.125], rates
  optimizer.destroy()


def diverged():
  """A NaN on one rank is an exception on all, which leaves everything as it was; or a warning, once."""
  net = network()
  optimizer = optimizer_of(net)
  run(net, optimizer, 1)
  kept = [p.detach().clone() for p in net.parameters()]
  if rank == size - 1:
    net[2].weight.grad[0, 0] = float("nan")
  expect("a NaN", petscmuon.Diverged, 'DIVERGED_NANORINF (the gradient of layer "p2.weight" on rank %d)' % (size - 1), optimizer.step)
  assert all(torch.equal(p, q) for p, q in zip(net.parameters(), kept))
  run(net, optimizer, 1)
  assert not torch.equal(net[2].weight, kept[2])
  optimizer.destroy()
  optimizer = optimizer_of(net, on_nan="warn")
  with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    for _ in range(3):
      kept = net[2].weight.detach().clone()
      net[2].weight.grad[0, 0] = float("nan")
      optimizer.step()
      assert torch.equal(net[2].weight, kept)
      run(net, optimizer, 1)
      assert not torch.equal(net[2].weight, kept)
  assert [str(each.message).count("DIVERGED_NANORINF") for each in said] == ([1] if rank == 0 else []), said
  optimizer.destroy()
  expect("no such word", ValueError, "on_nan is 'no', expected 'raise' or 'warn'", optimizer_of, net, on_nan="no")


def names():
  """What PETSc cannot tell apart has names that differ, or an error with both names."""
  make = lambda *names: petscmuon.torch.Muon([(name, torch.nn.Parameter(torch.zeros(2, 2))) for name in names], comm=comm, verbose=False)
  optimizer = make("a_1", "a.1", "a_1_2", "a_1.2", "a.1_2", "a.1.2")
  assert len({layer.name for layer in optimizer.muon.layers}) == 6
  optimizer.destroy()
  for one, other in (("1.w", "p1.w"), ("w", "W"), ("a_1", "a_.1")):
    expect(one, ValueError, "parameters '%s' and '%s'" % (one, other), make, one, other)


def together():
  """What one rank refuses, or has not called, is said; an exception of one rank is one of all, and leaves everything as it was."""
  net, last = network(), rank == size - 1
  optimizer = optimizer_of(net)
  run(net, optimizer, 2)
  kept = optimizer.state_dict()
  before, groups = [p.detach().clone() for p in net.parameters()], optimizer.param_groups

  def refused(what, kind, text, call, *args, **kwargs):
    expect(what, kind if last else petscmuon.Error, text if last else "rank %d raised an exception" % (size - 1), call, *args, **kwargs)

  (own,) = [name for name in kept["petscmuon"] if "rank" in name]
  folder = os.path.join(os.getcwd(), "mine%d" % rank)
  os.makedirs(os.path.join(folder, "below"))
  home = os.path.dirname(own)
  for k, name in enumerate(("../../x", "../" + os.path.basename(folder) + "/x", os.path.join(folder, "x"), home + "/../../x", home + "/./rank-%06d" % rank, own + "\0", "\0" + own, home + "/" + 300 * "x", 300 * "step-", own + "\n", home + "/lock", "",
                            "step-%s/rank-%06d" % (60 * "1" + "-000001", rank), "step-\u0661\u0661%010d-000001/rank-%06d" % (0, rank), "%s/rank-%06d" % (home, rank + 1))):
    state = dict(kept, petscmuon={**kept["petscmuon"], name: b"written"} if last else kept["petscmuon"])
    optimizer._folder = os.path.join(folder, "below")
    refused(name, ValueError, "each rank loads what it kept itself", optimizer.load_state_dict, state)
    assert [files for _, _, files in os.walk(folder) if files] == [] and not os.path.exists("x"), name
  # The folder is new: what others put there is not followed, and stays
  optimizer._folder, draw = comm.bcast(os.getcwd()), random.SystemRandom.randrange
  if rank == 0:
    os.symlink(folder, "petscmuon-%08x" % 7)
  random.SystemRandom.randrange = lambda self, most: 7
  for call in (optimizer.state_dict, lambda: optimizer.load_state_dict(kept)):
    expect("a link", FileExistsError if rank == 0 else petscmuon.Error, "petscmuon-00000007" if rank == 0 else "rank 0 raised", call)
  random.SystemRandom.randrange = draw
  assert rank > 0 or os.path.islink("petscmuon-%08x" % 7) and os.listdir(folder) == ["below"]

  def fails(*args):
    if last:
      raise ArithmeticError("a hook")

  refused("a state without a key", KeyError, "petscmuon", optimizer.load_state_dict, {key: value for key, value in kept.items() if not last or key != "petscmuon"})
  refused("other groups", ValueError, "parameter group", optimizer.load_state_dict, dict(kept, param_groups=2 * kept["param_groups"]) if last else kept)
  refused("a group without a key", KeyError, "lr", optimizer.load_state_dict, dict(kept, param_groups=[{key: value for key, value in group.items() if not last or key != "lr"} for group in kept["param_groups"]]))
  hook = optimizer.register_state_dict_pre_hook(fails)
  refused("a hook of state_dict()", ArithmeticError, "a hook", optimizer.state_dict)
  hook.remove()
  assert optimizer.param_groups is groups and all(torch.equal(p, q) for p, q in zip(net.parameters(), before))
  run(net, optimizer, 1)
  after = [p.detach().clone() for p in net.parameters()]
  optimizer.load_state_dict(kept)
  assert all(torch.equal(p, q) for p, q in zip(net.parameters(), before))
  rate = optimizer.param_groups[0]["lr"]
  optimizer.param_groups[0]["lr"] = -1.0 if last else rate
  expect("a rate on one rank", petscmuon.Error, "learning_rate" if last else "", optimizer.step)
  refused("a rate on one rank, saved", petscmuon.Error, "learning_rate", optimizer.save, "never")
  optimizer.param_groups[0]["lr"] = rate
  run(net, optimizer, 1)
  assert all(torch.equal(p, q) for p, q in zip(net.parameters(), after))
  other = torch.nn.Parameter(torch.zeros(2, 2))
  refused("an integer on one rank", TypeError, "parameter 'i'", petscmuon.torch.Muon, [("w", other)] + [("i", torch.zeros(2, 2, dtype=torch.int32))] * last, comm=comm)
  refused("options on one rank", TypeError, "the value None", petscmuon.torch.Muon, [("w", other)], comm=comm, options={"muon_max_steps": [None]} if last else None)
  refused("both on one rank", ValueError, "are both given", petscmuon.torch.Muon, [("w", other)], comm=comm, lr=0.5, options="-muon_learning_rate 0.5" if last else None)
  petscmuon.torch.Muon([("w", other)], comm=comm, verbose=False).destroy()  # which no optimizer has kept

  class Listener:
    """Standard error of rank 0, which tells the last rank what was printed."""
    def write(self, text):
      if "waits in" in text:
        comm.send(text, size - 1)

    def flush(self):
      pass

  os.environ["PETSCMUON_PATIENCE"] = "0"
  for what, call in (("state_dict()", optimizer.state_dict), ("load_state_dict()", lambda: optimizer.load_state_dict(kept)), ("step()", lambda: run(net, optimizer, 1))):
    sys.stderr = Listener() if rank == 0 else sys.__stderr__
    if last and rank > 0:
      text = comm.recv()
      assert "rank 0 waits in %s for rank " % what in text and "%d: call %s on all ranks" % (rank, what) in text, text
    call()
    sys.stderr = sys.__stderr__
  os.environ["PETSCMUON_PATIENCE"] = "30"
  assert all(torch.equal(p, q) for p, q in zip(net.parameters(), after))


if hasattr(torch.optim, "Muon"):
  against_torch(2e-2)  # whose products are in bfloat16
  in_float32()
  against_torch(1e-5)
state()
other_ranks()
successors()
groups()
presets()
halves()
strided()
numbers()
diverged()
names()
together()
errors()

#/*TEST
#
#  test:
#    requires: numpy mpi4py torch
#    nsize: {{1 3}}
#    env: PETSC_OPTIONS="-malloc_dump 0 -options_left"
#
#TEST*/
