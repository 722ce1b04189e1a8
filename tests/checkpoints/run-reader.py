#!/usr/bin/env python3
#TEST requires: numpy
"""Tests the reader of checkpoints in Python: a kept checkpoint of each version against the formula of its entries, a generation written here from the description of the format, and damage."""

import os
import shutil
import struct
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
READER = os.path.join(ROOT, "share", "petscmuon", "checkpoint.py")
KEPT = os.path.join(ROOT, "tests", "checkpoints", "version1")
sys.path.insert(0, os.path.dirname(READER))
sys.dont_write_bytecode = True

import numpy as np  # noqa: E402

import checkpoint  # noqa: E402


def crc32c(data, state=0):
  """By definition, one bit at a time."""
  state ^= 0xFFFFFFFF
  for byte in data:
    state ^= byte
    for _ in range(8):
      state = state >> 1 ^ (0x82F63B78 if state & 1 else 0)
  return state ^ 0xFFFFFFFF


def entries(step, rows, columns, first=0, whose=0, mean=False):
  """The state of the kept checkpoint, a formula of step and entry."""
  i, j = np.mgrid[first:first + rows, 0:columns]
  return step + 0.25 * i - 0.125 * j + 100 * whose + (0.0625 if mean else 0)


def write_file(path, step, counter, rank, ranks, records):
  """A file by src/file/README.md: records are (layer, state, holder, whose, array, whole shape, first row), the array float32 or float64 by rows, or bytes. Its seal."""
  header = struct.pack("<4sI16sQQII12x", b"PMCP", 1, bytes(range(16)), step, counter, rank, ranks)
  header += struct.pack("<I", crc32c(header))
  body, index = header, b""
  for layer, state, holder, whose, array, shape, row in records:
    flat = array.tobytes()
    padded = flat + bytes(-len(flat) % 64)
    kind = {1: 0, 4: 1, 8: 2}[array.itemsize]
    rows, columns = array.shape
    index += struct.pack("<6B2xI4x6Q", holder, kind, kind > 0, 1, len(layer), len(state), whose, shape[0], shape[1], row, 0, rows, columns)
    index += layer.encode() + b"\0" + state.encode() + b"\0"
    # The kept checkpoint says that this is CRC-32C; a megabyte of it by definition would take a minute
    index += b"".join(struct.pack("<I", checkpoint.crc32c(padded[at:at + (1 << 20)])) for at in range(0, len(padded), 1 << 20))
    body += padded
  trailer = struct.pack("<QQ", len(index), len(records))
  digest = crc32c(header + index + trailer)
  with open(path, "wb") as f:
    f.write(body + index + trailer + struct.pack("<I", digest))
  return os.path.getsize(path), digest


class Reader(unittest.TestCase):
  @classmethod
  def setUpClass(cls):
    # Weights of several chunks, on three ranks; the second has no rows
    shutil.copytree(KEPT, "made")
    os.mkdir("made/step-000000000121-000002")
    rng = np.random.default_rng(1)
    cls.weights = rng.standard_normal((901, 300))
    seals = []
    for rank, (first, last) in enumerate(((0, 650), (650, 650), (650, 901))):
      records = [("w", "weights", 2, 0, cls.weights[first:last], cls.weights.shape, first), ("w", "momentum", 0, rank, cls.weights[:4].astype(np.float32) + rank, (4, 300), 0)]
      seals.append(write_file("made/step-000000000121-000002/rank-%06d" % rank, 121, 2, rank, 3, records))
    seal = np.frombuffer(b"".join(struct.pack("<QI", *s) for s in seals), np.uint8)
    write_file("made/step-000000000121-000002/manifest", 121, 2, 0xFFFFFFFF, 3, [("", "seals", 2, 0, seal.reshape(-1, 1), (0, 0), 0)])

  def setUp(self):
    shutil.rmtree("run", ignore_errors=True)
    shutil.copytree("made", "run")

  def test_checksum(self):
    # RFC 3720, B.4, and the check value of the catalogues
    self.assertEqual(checkpoint.crc32c(b"123456789"), 0xE3069283)
    self.assertEqual(checkpoint.crc32c(bytes(32)), 0x8A9136AA)
    data = np.random.default_rng(2).integers(0, 256, 5000, dtype=np.uint8).tobytes()
    for length in (4, 5, 63, 511, 512, 513, 1024, 1537, 3000, 5000):
      self.assertEqual(checkpoint.crc32c(data[:length]), crc32c(data[:length]))

  def test_kept(self):
    c = checkpoint.Checkpoint(KEPT)
    self.assertEqual((c.step, c.counter, c.ranks, c.run), (120, 1, 2, "00112233445566778899aabbccddeeff"))
    self.assertEqual([(r.layer, r.state, r.holder, r.whose) for r in c.records[:3]], [("attn.qkv", "momentum", "worker", 0), ("attn.qkv", "adamw.mean", "server", 0), ("", "options", "everyone", 0)])
    for rank, (first, rows) in enumerate(((0, 3), (3, 2))):
      momentum, mean, options = c.records[3 * rank:3 * rank + 3]
      np.testing.assert_array_equal(momentum.array(), entries(120, rows, 3, first, rank).astype(np.float32))
      np.testing.assert_array_equal(mean.array(), entries(120, rows, 3, first, mean=True))
      np.testing.assert_array_equal(options.array().ravel(), (120 + 31 * np.arange(5)) % 256)
    np.testing.assert_array_equal(c.state("attn.qkv", "adamw.mean"), entries(120, 5, 3, mean=True))
    with self.assertRaisesRegex(checkpoint.Damaged, "has a part of momentum"):
      c.state("attn.qkv", "momentum", 1)
    with self.assertRaises(KeyError):
      c.state("attn.qkv", "weights")

  def test_latest(self):
    c = checkpoint.Checkpoint("run")
    self.assertEqual(c.step, 121)
    np.testing.assert_array_equal(c.weights()["w"], self.weights)
    for rank in range(3):
      np.testing.assert_array_equal(c.state("w", "momentum", rank), self.weights[:4].astype(np.float32) + rank)

  def test_damage(self):
    for name in ("rank-000000", "rank-000001", "manifest"):
      path = "run/step-000000000121-000002/" + name
      with open(path, "rb") as f:
        whole = f.read()
      for at in range(0, len(whole), max(len(whole) // 12, 1)):
        for damaged in (whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1:], whole[:at]):
          with open(path, "wb") as f:
            f.write(damaged)
          said = []
          self.assertEqual(checkpoint.Checkpoint("run", message=said.append).step, 120)
          self.assertEqual(len(said), 1)
      with open(path, "wb") as f:
        f.write(whole)
    os.remove("run/step-000000000121-000002/rank-000002")
    with self.assertRaises(OSError):
      checkpoint.Checkpoint("run", "step-000000000121-000002")
    os.remove("run/step-000000000121-000002/manifest")
    self.assertEqual(checkpoint.Checkpoint("run", message=self.fail).step, 120)

  def test_lies(self):
    """Fields of the index that lie while every checksum agrees: what cannot be is Damaged, and nothing else comes out of the reader."""
    folder, refused = "run/step-000000000120-000001/", 0
    with open(folder + "rank-000000", "rb") as f:
      whole = f.read()
    with open(folder + "manifest", "rb") as f:
      manifest = f.read()
    length = struct.unpack_from("<Q", whole, len(whole) - 20)[0]
    start = len(whole) - 20 - length
    for at in range(start, len(whole) - 4):
      for value in (0, 1, 0x80, 0xFF):
        body = bytearray(whole)
        body[at] = value
        digest = checkpoint.crc32c(bytes(body[:64] + body[start:-4]))
        body[-4:] = struct.pack("<I", digest)
        with open(folder + "rank-000000", "wb") as f:
          f.write(body)
        seals = bytearray(manifest)
        seals[64:76] = struct.pack("<QI", len(body), digest)
        index = len(seals) - 20 - struct.unpack_from("<Q", seals, len(seals) - 20)[0]
        seals[index + 64 + 2 + len("seals"):index + 68 + 2 + len("seals")] = struct.pack("<I", checkpoint.crc32c(bytes(seals[64:index])))
        seals[-4:] = struct.pack("<I", checkpoint.crc32c(bytes(seals[:64] + seals[index:-4])))
        with open(folder + "manifest", "wb") as f:
          f.write(seals)
        try:
          c = checkpoint.Checkpoint("run", "step-000000000120-000001")
          for r in c.records:
            c.state(r.layer, r.state, r.whose, r.holder)
          c.weights()
        except checkpoint.Damaged:
          refused += 1
    self.assertGreater(refused, 1000)

  def test_later(self):
    path = "run/step-000000000120-000001/manifest"
    with open(path, "rb") as f:
      whole = f.read()
    head = whole[:4] + struct.pack("<I", 2) + whole[8:60]
    with open(path, "wb") as f:
      f.write(head + struct.pack("<I", crc32c(head)) + whole[64:])
    with self.assertRaisesRegex(checkpoint.Later, "version 2"):
      checkpoint.Checkpoint("run", "step-000000000120-000001")

  def test_program(self):
    done = subprocess.run([sys.executable, READER, "run", "--npz", "all.npz", "--state"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    self.assertEqual((done.returncode, done.stderr), (0, ""))
    self.assertIn("step 121", done.stdout)
    with np.load("all.npz") as arrays:
      np.testing.assert_array_equal(arrays["w/weights/everyone/0"], self.weights)
      self.assertEqual(len(arrays.files), 4)
    done = subprocess.run([sys.executable, READER, "nowhere"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    self.assertNotEqual(done.returncode, 0)
    self.assertIn("nowhere", done.stderr)


if __name__ == "__main__":
  unittest.main(testRunner=unittest.TextTestRunner(stream=sys.stderr))
