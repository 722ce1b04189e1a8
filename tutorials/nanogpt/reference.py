#!/usr/bin/env python3
"""The trainings of nanogpt a second time, in torch 2.9 or newer: reference.py OPTIONS OF nanogpt

From the same weights and batches, for the modern variant on files of text with -nanogpt_validation_data, with AdamW for all layers (-muon_layer_type adamw) or with torch.optim.Muon on the hidden
matrices and AdamW on the embedding (-muon_preset torch). Options mean what they mean to nanogpt, and one that is not known here is an error. torch's Muon multiplies in bf16; here it does in fp32, as nanogpt. Prints the validation loss in
nanogpt's words; -muon_monitor_csv writes the loss of each step.
"""

import math
import os
import sys

import torch
from torch.nn.functional import cross_entropy

MASK = (1 << 64) - 1
SCALE = 50  # of the hidden layers, what their rate is multiplied by
DEFAULTS = {
  "nanogpt_preset": "small", "nanogpt_width": 128, "nanogpt_heads": 4, "nanogpt_blocks": 2, "nanogpt_sequence": 128, "nanogpt_batch": 16, "nanogpt_steps": 500,
  "nanogpt_validation_end": 0, "nanogpt_seed": 1, "nanogpt_start": "scaled", "nanogpt_data": "", "nanogpt_validation_data": "", "nanogpt_split": "shuffled",
  "nanogpt_runs": "dense", "muon_preset": "", "muon_layer_type": "", "muon_layer_embed_type": "adamw", "muon_schedule_warmup": 0, "muon_shape_factor": "scion", "muon_monitor_csv": "",
  "muon_learning_rate": 5e-4, "muon_momentum": 0.7, "muon_weight_decay": 0.0, "muon_adamw_learning_rate": 1e-3, "muon_adamw_beta1": 0.9, "muon_adamw_beta2": 0.95, "muon_adamw_epsilon": 1e-10,
  "muon_adamw_weight_decay": 0.0,
}
TORCH = {"muon_adamw_beta2": 0.999, "muon_adamw_epsilon": 1e-8, "muon_adamw_weight_decay": 0.01, "muon_weight_decay": 0.1}
UNUSED = ("nanogpt_interval", "nanogpt_validation", "nanogpt_sample", "nanogpt_csv", "muon_seed")


def parse(words):
  given = dict(zip((word[1:] for word in words[::2]), words[1::2]))
  o = dict(DEFAULTS, **(TORCH if given.get("muon_preset") == "torch" else {}))
  for key, value in given.items():
    if key not in o and key not in UNUSED or len(words) % 2:
      sys.exit("reference.py: -%s %s is not known here" % (key, value))
    if key in o:
      o[key] = type(o[key])(value)
  wanted = {"nanogpt_preset": "small", "nanogpt_runs": "dense", "muon_shape_factor": "kj" if o["muon_preset"] else o["muon_shape_factor"], "muon_layer_embed_type": "adamw"}
  wrong = [key for key, value in wanted.items() if o[key] != value]
  if wrong or (o["muon_preset"], o["muon_layer_type"]) not in (("torch", ""), ("", "adamw")) or o["nanogpt_split"] not in ("shuffled", "folders"):
    sys.exit("reference.py: only -muon_layer_type adamw and -muon_preset torch are known here, with -nanogpt_split shuffled or folders%s" % "".join(" and -%s %s" % (key, wanted[key]) for key in wrong))
  return o


def uniform(seed, n):
  """n numbers in [0, 1) of PETSc's rander48, the generator of drand48()"""
  x = (seed & 0xFFFFFFFF) << 16 | 0x330E
  for _ in range(n):
    x = x * 0x5DEECE66D + 0xB & (1 << 48) - 1
    yield x / (1 << 48)


def weights(o):
  C, starts = o["nanogpt_width"], {}
  shapes = [("embed", 256, C)] + [("h%d.%s" % (b, name), rows * C, columns * C) for b in range(o["nanogpt_blocks"])
                                  for name, rows, columns in (("q", 1, 1), ("k", 1, 1), ("v", 1, 1), ("o", 1, 1), ("up", 4, 1), ("down", 1, 4))]
  for i, (name, rows, columns) in enumerate(shapes):
    bound = 0.02 * math.sqrt(3) if o["nanogpt_start"] == "gpt2" else 0.1 / columns if o["nanogpt_start"] == "small" and i == 0 else math.sqrt(3 / columns)
    if name.endswith((".o", ".down")):
      bound /= math.sqrt(2 * o["nanogpt_blocks"])
    values = torch.tensor([2 * bound * u - bound for u in uniform(1000 * o["nanogpt_seed"] + i, rows * columns)], dtype=torch.float64)
    starts[name] = values.reshape(columns, rows).T.contiguous().float().requires_grad_()
  return starts


def mix(x):
  x = x + 0x9E3779B97F4A7C15 & MASK
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
  x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
  return x ^ x >> 31


def permute(n, seed, i):
  """The keyed permutation of data.c: which of n sequences is the i-th to be used"""
  key, x, half = mix(mix(seed) + i // n & MASK), i % n, 1
  while 1 << 2 * half < n:
    half += 1
  mask = (1 << half) - 1
  while True:
    left, right = x >> half, x & mask
    for r in range(4):
      left, right = right, left ^ mix(key ^ r << 56 ^ right) & mask
    x = left << half | right
    if x < n:
      return x


class Text:
  """The parts that are trained on and the one that validates, as (bytes, the first token of each sequence)"""

  def __init__(self, o):
    self.o, T = o, o["nanogpt_sequence"]
    paths = o["nanogpt_data"].split(",")
    read = lambda names: torch.frombuffer(bytearray(b"".join(open(name, "rb").read() for name in names)), dtype=torch.uint8).long()
    starts = lambda text: list(range(0, len(text) - T, T))
    parts = [read([path]) for path in paths] if o["nanogpt_split"] == "folders" else [read(sorted(paths))]
    self.train = [(text, starts(text)) for text in parts]
    text = read(sorted(o["nanogpt_validation_data"].split(",")))
    self.held = text, starts(text)

  def cut(self, chosen):
    both = torch.stack([text[start:start + self.o["nanogpt_sequence"] + 1] for text, start in chosen])
    return both[:, :-1], both[:, 1:]

  def batch(self, step):
    each = self.o["nanogpt_batch"] // len(self.train)
    return self.cut([(text, starts[permute(len(starts), self.o["nanogpt_seed"], step * each + k)]) for text, starts in self.train for k in range(each)])

  def validation(self):
    text, starts = self.held
    count = min(self.o["nanogpt_validation_end"] or len(starts), len(starts))
    return [self.cut([(text, starts[i * len(starts) // count]) for i in range(first, min(first + 64, count))]) for first in range(0, count, 64)], count


def loss_of(W, o, tokens, targets):
  B, T = tokens.shape
  H, D = o["nanogpt_heads"], o["nanogpt_width"] // o["nanogpt_heads"]
  angle = torch.arange(T, dtype=torch.float64)[:, None] * 1e4 ** (-torch.arange(D // 2, dtype=torch.float64) / (D // 2))
  cosine, sine = angle.cos().float(), angle.sin().float()
  future = torch.full((T, T), -math.inf).triu(1)

  def norm(x):
    return x * (x.square().mean(-1, keepdim=True) + 1e-8).rsqrt()

  def heads(x):
    return x.view(B, T, H, D).transpose(1, 2)

  def rotate(x):
    a, b = x[..., :D // 2], x[..., D // 2:]
    return torch.cat((cosine * a - sine * b, cosine * b + sine * a), -1)

  x = W["embed"][tokens]
  for b in range(o["nanogpt_blocks"]):
    q, k, v, out, up, down = (W["h%d.%s" % (b, name)] for name in ("q", "k", "v", "o", "up", "down"))
    n = norm(x)
    scores = rotate(heads(n @ q.T)) @ rotate(heads(n @ k.T)).transpose(2, 3) / math.sqrt(D) + future
    x = x + (scores.softmax(-1) @ heads(n @ v.T)).transpose(1, 2).reshape(B, T, H * D) @ out.T
    x = x + (norm(x) @ up.T).relu().square() @ down.T
  return cross_entropy((norm(x) @ W["embed"].T).flatten(0, 1), targets.flatten())


def main(words):
  o = parse(words)
  torch.set_num_threads(1)
  torch.Tensor.bfloat16 = torch.Tensor.clone  # what torch's Muon makes its products of
  W, text, steps = weights(o), Text(o), o["nanogpt_steps"]
  hidden = [matrix for name, matrix in W.items() if name != "embed"] if o["muon_preset"] else []
  optimizers = [torch.optim.AdamW([W["embed"]] if hidden else W.values(), lr=o["muon_adamw_learning_rate"], betas=(o["muon_adamw_beta1"], o["muon_adamw_beta2"]), eps=o["muon_adamw_epsilon"],
                                  weight_decay=o["muon_adamw_weight_decay"])]
  if hidden:
    optimizers.append(torch.optim.Muon(hidden, lr=SCALE * o["muon_learning_rate"], momentum=o["muon_momentum"], weight_decay=o["muon_weight_decay"] / SCALE))
  rates = [optimizer.param_groups[0]["lr"] for optimizer in optimizers]
  losses = []
  for step in range(steps):
    factor = (steps - step) / steps * min(1, (step + 1) / max(1, o["muon_schedule_warmup"]))
    for optimizer, rate in zip(optimizers, rates):
      optimizer.param_groups[0]["lr"] = factor * rate
      optimizer.zero_grad()
    loss = loss_of(W, o, *text.batch(step))
    loss.backward()
    for optimizer in optimizers:
      optimizer.step()
    losses.append(loss.item())
  if o["muon_monitor_csv"]:
    with open(o["muon_monitor_csv"], "w") as f:
      f.write("step,loss\n" + "".join("%d,%.9g\n" % one for one in enumerate(losses)))
  with torch.no_grad():
    batches, count = text.validation()
    print("torch: validation loss %.4f (%d sequences) after %d steps" % (sum(loss_of(W, o, *batch).item() * len(batch[0]) for batch in batches) / count, count, steps))


if __name__ == "__main__":
  main(sys.argv[1:])
