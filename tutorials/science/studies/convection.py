#!/usr/bin/env python3
"""Runs what is missing of the study of convection.c and reports all that is there: convection.py --program convection

The rules are those of antiderivative.py, with the published length for every method. The rate of Adam as published is chosen, too, as in its source.
"""

import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import antiderivative  # noqa: E402
from antiderivative import ADAM, ADAM_RATE, HISTORY, LINEAR, MUON, RATE, Report, number  # noqa: E402
from runs import carry_out, chosen  # noqa: E402

LMVM = " -tao_type lmvm -tao_max_it {passes} -tao_max_funcs {passes}"
# As in antiderivative.py
METHODS = {
  "adamw": ("AdamW", LINEAR + " -muon_layer_types *:adamw", ADAM_RATE, (-6, -5, -4), 1),
  "spectral": ("Muon", MUON, RATE, (-6, -5, -4), 1),
  "lmvm": ("L-BFGS of TAO, `lmvm`", "-muon_max_steps 0" + LMVM, HISTORY, (2, 3, 4), 1),
  "adamw-lmvm": ("AdamW, then `lmvm`", None, None, (), 1),
  "spectral-lmvm": ("Muon, then `lmvm`", None, None, (), 1),
  "published": ("Adam as published, constant rate", "-muon_max_steps {passes} -muon_schedule constant -muon_layer_types *:adamw" + ADAM, ADAM_RATE, (-7, -6, -5), 1),
  "soap": ("SOAP", LINEAR + " -muon_layer_types *.b?:adamw,u.W3:adamw,*:soap", ADAM_RATE, (-6, -5, -4), 1),
  "frobenius": ("Muon, Frobenius norm", MUON + " -lmo_type frobenius -muon_layer_u.W1_scale 7.071 -muon_layer_u.W2_scale 7.071", RATE, (-6, -5, -4), 1),
}
PROBLEM = {
  "program": "convection", "command": "convection.py", "published": 5.96e-2, "repeats": True, "simple": "",
  "title": "A physics-informed network for convection",
  "text": "u_t + 40 u_x = 0 with u = sin(x) at first, periodic in x: three hidden layers of 50 with tanh, %d points of the interior. The error is the relative L2 error on 257 x 101 points.",
  "anchor": "Published, the least errors over widths, rates and seeds: %.2e after 41000 steps of Adam, 8.26e-03 after 41000 of L-BFGS, 4.19e-03 by L-BFGS after Adam.",
  "equal": "Every method has %d gradients, those of line searches included. Of two phases the first has a quarter of them, with a rate that falls to zero.",
  "pass": "A pass is a gradient.",
}


class Study(antiderivative.Study):
  methods, script = METHODS, "convection.py"
  columns = tuple(column for column in antiderivative.COLUMNS if column not in ("deviation", "rule"))

  def __init__(self, options):
    options.problem = "convection"
    self.options, self.problem, self.began, self.passes, self.functions = options, PROBLEM, time.time(), options.passes, options.points
    self.read()

  def words(self, method, rate):
    fill = lambda text, passes: text.format(passes=passes, warmup=passes // 50)
    value = lambda key, rate: " %s %s" % (key, number(key, rate))
    first, second = (method.split("-") + [""])[:2]
    _, words, key, _, _ = METHODS[first]
    if second:
      words = fill(words, self.passes // 4) + value(key, rate[0]) + fill(LMVM, self.passes - self.passes // 4) + value(HISTORY, rate[1])
    else:
      words = fill(words, self.passes) + value(key, rate)
    return words + " -convection_points %d -convection_history %d" % (self.functions, self.passes // 20)

  def printed(self, lines):
    _, error, _, loss = lines["relative"].replace(",", "").split()
    passes, _, seconds, _, sent = lines["passes"].split()
    return error, passes, seconds, sent, loss

  def rate(self, method):
    rates = tuple(chosen(self.tuning(part)) for part in method.split("-"))
    return False if False in rates else rates[0] if len(rates) == 1 else rates

  def everything(self):
    rates = {method: self.rate(method) for method in METHODS}
    for seed in self.seeds("adamw"):
      for method, rate in rates.items():
        if rate is not False:
          self.make(method, rate, seed)


def main():
  carry_out(__doc__, "convection", Report, Study, {"--passes": (41000, "of a run"), "--points": (10000, "of the interior")}, seeds=3)


if __name__ == "__main__":
  main()
