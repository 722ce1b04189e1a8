"""In the place of a Python with torch: known times, and the matrix itself for its factor. Arguments as of polar_torch.py, after that file's name."""
import os
import sys

m, n, threads, repetitions, clock, folder = sys.argv[2:8]
assert clock == "cpu" and threads == "1", sys.argv
with open(os.path.join(folder, "G.f32"), "rb") as f:
    g = f.read()
assert len(g) == 4 * int(m) * int(n)
print("torch 0.0 in %s threads" % threads)
for i, name in enumerate(("bf16", "single")):
    with open(os.path.join(folder, "Q-%s.f32" % name), "wb") as f:
        f.write(g)
    print("row", name, 1e9 * (i + 1), *(0.5 * (i + 1) + 0.25 * r for r in range(int(repetitions))))
