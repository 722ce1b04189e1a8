#!/usr/bin/env python3
#TEST requires: torch
#TEST timeoutfactor: 3
"""20 steps of nanogpt, and of the same network and optimizers in torch: AdamW, and torch.optim.Muon with AdamW. Losses are of some nats in single precision, whose rounding 20 steps do not make 1e-4 of."""

import contextlib
import csv
import io
import os
import subprocess
import sys

ROOT = os.environ["PETSCMUON_DIR"]
sys.path.insert(0, ROOT + "/tutorials/nanogpt")
sys.dont_write_bytecode = True

import reference  # noqa: E402

FROZEN = ROOT + "/tests/checkpoints/optimizer1/step-000000000003-000001"  # files that never change
OPTIONS = "-nanogpt_width 24 -nanogpt_heads 2 -nanogpt_sequence 16 -nanogpt_batch 8 -nanogpt_sample 0 -nanogpt_runs dense -nanogpt_steps 20 -nanogpt_interval 10 -muon_schedule_warmup 5 -nanogpt_validation_end 7 -muon_monitor_csv losses.csv"
ADAMW = "-muon_layer_type adamw -muon_adamw_learning_rate 8e-3 -muon_adamw_beta1 .7 -muon_adamw_weight_decay .1 "
MUON = "-muon_preset torch -muon_shape_factor kj -muon_learning_rate 4e-4 -muon_weight_decay 5 -muon_momentum .8 -muon_layer_embed_type adamw -muon_adamw_learning_rate .02 -muon_adamw_beta1 .8 "
PARTS = "-nanogpt_split folders -nanogpt_data %s/LICENSE,%s/rank-000000 -nanogpt_validation_data %s/manifest " % (ROOT, FROZEN, FROZEN)
CASES = (ADAMW + "-nanogpt_start small -nanogpt_seed 3 -nanogpt_data %s/LICENSE -nanogpt_validation_data %s/manifest" % (ROOT, FROZEN), ADAMW + PARTS, MUON + "-nanogpt_start gpt2 " + PARTS)


def losses(said):
  with open("losses.csv", newline="") as f:
    found = [float(row["loss"]) for row in csv.DictReader(f)] + [float(line.split()[3]) for line in said.splitlines() if "after 20 steps" in line]
  os.remove("losses.csv")
  return found


for case in CASES:
  words, said = OPTIONS.split() + case.split(), io.StringIO()
  ours = losses(subprocess.run([os.environ["BUILD"] + "/tutorials/nanogpt/nanogpt"] + words, stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout)
  with contextlib.redirect_stdout(said):
    reference.main(words)
  theirs = losses(said.getvalue())
  if len(ours) != 21 or len(theirs) != 21 or not max(abs(a - b) for a, b in zip(ours, theirs)) < 1e-4:
    sys.exit("%s\n%s\n%s" % (case, ours, theirs))
for bad, word in (("-muon_nesterov ema", "-muon_nesterov ema is not known here"), ("-nanogpt_runs ef21 -muon_layer_type adamw", "and -nanogpt_runs dense")):
  try:
    reference.main(bad.split())
    sys.exit(bad + " is no error")
  except SystemExit as e:
    if word not in str(e):
      raise
