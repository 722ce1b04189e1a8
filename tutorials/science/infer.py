#!/usr/bin/env python3
"""Reads the weights that weights.c wrote, matrices and vectors in PETSc's binary format, and runs the network with numpy alone.

  python3 infer.py weights.bin [single]      for a PETSc in single precision
"""

import sys

import numpy as np

VEC, MAT, DENSE = 1211214, 1211216, -1


def read_weights(name, real):
  """The arrays of a file, in its order. Everything is big-endian; a matrix lies by rows."""
  with open(name, "rb") as f:
    data = f.read()
  integer = np.dtype(">i4") if np.frombuffer(data, ">i4", 1)[0] in (VEC, MAT) else np.dtype(">i8")  # PETSc with 64-bit indices
  arrays, at = [], 0
  while at < len(data):
    kind = np.frombuffer(data, integer, 1, at)[0]
    if kind == VEC:
      shape, length = np.frombuffer(data, integer, 2, at)[1:], 2
    elif kind == MAT and np.frombuffer(data, integer, 4, at)[3] == DENSE:
      shape, length = np.frombuffer(data, integer, 4, at)[1:3], 4
    else:
      raise ValueError("%s: neither a vector nor a dense matrix at byte %d" % (name, at))
    at += length * integer.itemsize
    count = int(np.prod(shape))
    arrays.append(np.frombuffer(data, real, count, at).reshape(shape))
    at += count * real.itemsize
  return arrays


def run(arrays, x):
  """Matrices and biases in turn, with tanh between; a column is a sample."""
  for i in range(0, len(arrays), 2):
    x = arrays[i] @ (x if i == 0 else np.tanh(x)) + arrays[i + 1][:, None]
  return x


weights = read_weights(sys.argv[1], np.dtype(">f4" if sys.argv[2:] == ["single"] else ">f8"))
points = np.array([[-0.5, 0.25, 0.75]])
print("numpy:" + "".join(" sine(%.2f) = %.3f" % pair for pair in zip(3 * points[0], run(weights, points)[0])))
