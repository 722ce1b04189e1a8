#!/usr/bin/env python3
"""Reads checkpoints of PetscMuon with numpy alone.

checkpoint.py FOLDER                  lists the latest generation that is in order
checkpoint.py FOLDER --npz FILE.npz   writes its weights to a file of numpy, an array a layer; --state all of its state

In Python:

  from checkpoint import Checkpoint
  c = Checkpoint("folder")            # the latest generation that is in order, or generation="step-000000000120-000003"
  c.weights()["attn.qkv"]             # an array of the layer's shape
  c.state("attn.qkv", "momentum", 1)  # of worker 1
  c.records                           # what there is

All of a generation is checked before any of it is given. src/file/README.md is the format.
"""

import argparse
import os
import re
import struct
import sys

import numpy as np

VERSION = 1
MANIFEST = 0xFFFFFFFF
CHUNK = 1 << 20
ALIGN = 64
HEADER = struct.Struct("<4sI16sQQII12xI")
TRAILER = struct.Struct("<QQI")
ENTRY = struct.Struct("<6B2xI4x6Q")
SEAL = struct.Struct("<QI")
HOLDERS = ("worker", "server", "everyone")
TYPES = (np.dtype("u1"), np.dtype("<f4"), np.dtype("<f8"), np.dtype("<c8"), np.dtype("<c16"))
LANE = 512


class Damaged(Exception):
  """A file is not what was written, or not what it should be."""


class Later(Exception):
  """A file is of a version of the format that this reader does not know."""


def crc_table():
  table = np.arange(256, dtype=np.uint32)
  for _ in range(8):
    table = table >> np.uint32(1) ^ np.where(table & np.uint32(1), np.uint32(0x82F63B78), np.uint32(0))
  return table


TABLE = crc_table()
BYTES = TABLE.tolist()


def apply(operator, words):
  """A linear map of 32 bits, given by what it makes of each bit, of each word."""
  result = np.zeros_like(words)
  for bit in range(32):
    result ^= np.where(words >> np.uint32(bit) & np.uint32(1), operator[bit], np.uint32(0))
  return result


def lane_operator():
  """What a register becomes when a lane of zeros passes through it."""
  words = np.uint32(1) << np.arange(32, dtype=np.uint32)
  for _ in range(LANE):
    words = words >> np.uint32(8) ^ TABLE[words & np.uint32(255)]
  return words


OPERATORS = [lane_operator()]


def crc32c(data):
  """CRC-32C, of more than one lane as lanes side by side that are joined in pairs."""
  if len(data) <= LANE:
    word = 0xFFFFFFFF
    for byte in bytes(data):
      word = word >> 8 ^ BYTES[(word ^ byte) & 255]
    return word ^ 0xFFFFFFFF
  data = np.frombuffer(data, np.uint8)
  lanes = -(-len(data) // LANE)
  padded = np.zeros(lanes * LANE, np.uint8)
  padded[-len(data):] = data
  # Zeros in front leave a register of zeros as it is, and one of ones is these four bytes
  padded[len(padded) - len(data):][:4] ^= 255
  columns = np.ascontiguousarray(padded.reshape(lanes, LANE).T)
  words = np.zeros(lanes, np.uint32)
  for column in columns:
    words = words >> np.uint32(8) ^ TABLE[(words ^ column) & np.uint32(255)]
  level = 0
  while len(words) > 1:
    if len(words) % 2:
      words = np.concatenate(([np.uint32(0)], words))
    if len(OPERATORS) == level:
      OPERATORS.append(apply(OPERATORS[-1], OPERATORS[-1]))
    words = apply(OPERATORS[level], words[0::2]) ^ words[1::2]
    level += 1
  return int(words[0]) ^ 0xFFFFFFFF


def aligned(count):
  return (count + ALIGN - 1) // ALIGN * ALIGN


class Record:
  """A state of a layer, or the part of it from row and column on; array() gives its entries, which were checked."""

  def __init__(self, owner, entry, names):
    holder, kind, self.entrywise, self.rowmajor, _, _, self.whose, self.layer_rows, self.layer_columns, self.row, self.column, self.rows, self.columns = entry
    if holder >= len(HOLDERS) or kind >= len(TYPES) or self.entrywise > 1 or self.rowmajor > 1:
      raise Damaged("%s: its index" % owner.path)
    self.owner, self.holder, self.type = owner, HOLDERS[holder], TYPES[kind]
    self.layer, self.state = names
    if self.entrywise and (self.row + self.rows > self.layer_rows or self.column + self.columns > self.layer_columns):
      raise Damaged("%s: its index" % owner.path)
    self.bytes = self.rows * self.columns * self.type.itemsize

  def array(self):
    flat = self.owner.data[self.at:self.at + self.bytes].view(self.type)
    return flat.reshape(self.rows, self.columns) if self.rowmajor else flat.reshape(self.columns, self.rows).T


class File:
  """One file, of a rank or the manifest. What it says of itself is compared with what is expected of it."""

  def __init__(self, path, step, counter, rank, expected=None, seal=None):
    self.path = path
    self.size = os.path.getsize(path)
    if self.size < HEADER.size + TRAILER.size:
      raise Damaged("%s: too short" % path)
    self.data = np.memmap(path, np.uint8, "r")
    header = self.data[:HEADER.size].tobytes()
    magic, version, self.run, has_step, has_counter, has_rank, self.ranks, check = HEADER.unpack(header)
    if magic != b"PMCP" or crc32c(header[:60]) != check:
      raise Damaged("%s: the header" % path)
    if version > VERSION:
      raise Later("%s: version %d of the format, this reads versions up to %d" % (path, version, VERSION))
    run, ranks = expected or (self.run, self.ranks)
    for what, has, wanted in (("version", version, VERSION), ("step", has_step, step), ("counter", has_counter, counter), ("rank", has_rank, rank), ("run", self.run.hex(), run.hex()), ("number of ranks", self.ranks, ranks)):
      if has != wanted:
        raise Damaged("%s: the %s is %s, expected %s" % (path, what, has, wanted))
    trailer = self.data[-TRAILER.size:].tobytes()
    length, count, digest = TRAILER.unpack(trailer)
    if length > self.size - HEADER.size - TRAILER.size:
      raise Damaged("%s: the length of its index" % path)
    self.end = self.size - TRAILER.size - length
    index = self.data[self.end:self.size - TRAILER.size].tobytes()
    if crc32c(header + index + trailer[:16]) != digest:
      raise Damaged("%s: its index" % path)
    if seal is not None and seal != (self.size, digest):
      raise Damaged("%s: in order, but not the file that the manifest means" % path)
    self.read_index(index, count)

  def read_index(self, index, count):
    self.records = []
    used, at = 0, HEADER.size
    for _ in range(count):
      if len(index) - used < ENTRY.size:
        raise Damaged("%s: its index" % self.path)
      entry = ENTRY.unpack_from(index, used)
      used += ENTRY.size
      names = index[used:used + entry[4] + entry[5] + 2].decode("ascii", "replace").split("\0")
      used += entry[4] + entry[5] + 2
      if len(names) != 3 or len(names[0]) != entry[4] or len(names[1]) != entry[5]:
        raise Damaged("%s: its index" % self.path)
      record = Record(self, entry, names[:2])
      chunks = -(-record.bytes // CHUNK)
      if aligned(record.bytes) > self.end - at or 4 * chunks > len(index) - used:
        raise Damaged("%s: its index" % self.path)
      record.at, at = at, at + aligned(record.bytes)
      record.checks = struct.unpack_from("<%dI" % chunks, index, used)
      used += 4 * chunks
      self.records.append(record)
    if used != len(index) or at != self.end:
      raise Damaged("%s: its index" % self.path)

  def verify(self):
    for record in self.records:
      end = record.at + aligned(record.bytes)
      for number, check in enumerate(record.checks):
        at = record.at + number * CHUNK
        if crc32c(self.data[at:min(at + CHUNK, end)]) != check:
          raise Damaged("%s: %s of layer \"%s\"" % (self.path, record.state, record.layer))


class Checkpoint:
  """The latest generation of a folder that is in order: of the last two, or the one that is named."""

  def __init__(self, folder, generation=None, message=lambda text: print(text, file=sys.stderr)):
    names = [(int(m.group(2)), int(m.group(1)), name) for name in os.listdir(folder) for m in [re.fullmatch(r"step-(\d{12,18})-(\d{6,18})", name)] if m]
    found = [n for n in sorted(names, reverse=True) if os.path.exists(os.path.join(folder, n[2], "manifest")) and generation in (None, n[2])]
    if not found:
      raise Damaged("%s: no generation%s" % (folder, " " + generation if generation else ""))
    for number, (counter, step, name) in enumerate(found[:2]):
      try:
        self.open(os.path.join(folder, name), step, counter)
        return
      except (Damaged, OSError) as error:
        if number + 1 == len(found[:2]):
          raise
        message("%s; the generation before is tried" % error)

  def open(self, folder, step, counter):
    manifest = File(os.path.join(folder, "manifest"), step, counter, MANIFEST)
    manifest.verify()
    first = manifest.records[0] if manifest.records else None
    if first is None or (first.layer, first.state, first.bytes) != ("", "seals", SEAL.size * manifest.ranks):
      raise Damaged("%s: it does not name the files" % manifest.path)
    seals = list(SEAL.iter_unpack(first.array().tobytes()))
    files = [File(os.path.join(folder, "rank-%06d" % rank), step, counter, rank, (manifest.run, manifest.ranks), seal) for rank, seal in enumerate(seals)]
    for f in files:
      f.verify()
    self.path, self.step, self.counter, self.run, self.ranks = folder, step, counter, manifest.run.hex(), manifest.ranks
    self.manifest = manifest.records
    self.records = [record for f in files for record in f.records]

  def state(self, layer, state, whose=0, holder=None):
    """A state of a layer, put together from its pieces; the state of a worker is that of worker number whose."""
    parts = [r for r in self.records if r.layer == layer and r.state == state and (r.holder != "worker" or r.whose == whose) and holder in (None, r.holder)]
    if not parts:
      raise KeyError("layer \"%s\" has no %s%s" % (layer, state, "" if holder is None else " of " + holder))
    if not parts[0].entrywise:
      return parts[0].array()
    shape = parts[0].layer_rows, parts[0].layer_columns
    # No memory for a layer of which there is little
    if any((r.layer_rows, r.layer_columns, r.entrywise) != shape + (1,) for r in parts) or sum(r.rows * r.columns for r in parts) < shape[0] * shape[1]:
      raise Damaged("%s: layer \"%s\" has a part of %s" % (self.path, layer, state))
    whole = np.zeros(shape, parts[0].type)
    covered = np.zeros(shape, bool)
    for r in parts:
      whole[r.row:r.row + r.rows, r.column:r.column + r.columns] = r.array()
      covered[r.row:r.row + r.rows, r.column:r.column + r.columns] = True
    if not covered.all():
      raise Damaged("%s: layer \"%s\" has a part of %s" % (self.path, layer, state))
    return whole

  def weights(self):
    """The weights of all layers, as they are at every worker."""
    names = {r.layer: None for r in self.records if r.state == "weights" and r.holder == "everyone"}
    return {name: self.state(name, "weights", holder="everyone") for name in names}


def main():
  parser = argparse.ArgumentParser(description="Lists a checkpoint of PetscMuon, or writes it to a file of numpy.")
  parser.add_argument("folder")
  parser.add_argument("--generation", help="a generation other than the latest that is in order")
  parser.add_argument("--npz", help="write weights to this file, an array a layer")
  parser.add_argument("--state", action="store_true", help="write every record, as layer/state/holder/number, not only the weights")
  options = parser.parse_args()
  try:
    c = Checkpoint(options.folder, options.generation)
    if options.npz:
      arrays = c.weights()
      if options.state:
        arrays = {"%s/%s/%s/%d" % key: c.state(key[0], key[1], key[3], key[2]) for key in {(r.layer, r.state, r.holder, r.whose): None for r in c.records}}
      np.savez(options.npz, **arrays)
  except (Damaged, Later, KeyError, OSError) as error:
    sys.exit("checkpoint.py: %s" % error)
  print("%s: step %d, run %s, %d ranks" % (c.path, c.step, c.run, c.ranks))
  for r in c.records:
    print("%-24s %-20s %-8s %4d %s %d x %d from (%d, %d) of %d x %d" % (r.layer, r.state, r.holder, r.whose, r.type.name, r.rows, r.columns, r.row, r.column, r.layer_rows, r.layer_columns))


if __name__ == "__main__":
  main()
