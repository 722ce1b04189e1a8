"""AdamW of torch on complex numbers, with gradients by its own differentiation, beside the run that tests/muon_complex.c wrote.

torch has lines of rows x columns numbers: h, the roots of H, the target, and the weights before the first step and after each.
"""
import os
import sys

import numpy as np
import torch

data = np.fromfile(os.path.join(sys.argv[1], "torch"), dtype=np.complex128).reshape(-1, 24)
h, target = torch.tensor(data[0].real), torch.tensor(data[1])
W = torch.nn.Parameter(torch.tensor(data[2]))
optimizer = torch.optim.AdamW([W], lr=0.02, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
assert len(data) == 9, data.shape
for k, expected in enumerate(data[3:]):
    optimizer.zero_grad()
    (0.5 * (h * (W - target).abs()).square().sum()).backward()
    # 2 df / d conj(W)
    np.testing.assert_allclose(W.grad.numpy(), (h**2 * (W - target)).detach().numpy(), rtol=1e-12)
    optimizer.step()
    np.testing.assert_allclose(W.detach().numpy(), expected, rtol=0, atol=1e-13 * (k + 1), err_msg="step %d" % (k + 1))
