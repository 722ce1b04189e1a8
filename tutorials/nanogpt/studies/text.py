#!/usr/bin/env python3
"""The text of the studies, from the C files of Debian's package linux-source-6.1: text.py FOLDER [SOURCE]

Writes files into FOLDER: eight parts to train on, as many as workers may be, train0.txt to train7.txt, of 2.5 million bytes each; tune.txt and report.txt, half a million bytes of folders that are held out,
one to choose rates by and one for what is published; four parts of 1.25 million bytes, each of one subsystem, net.txt, fs.txt, x86.txt and sound.txt, with tune-unequal.txt and report-unequal.txt in equal
shares. What a file is for follows from a SHA-256 of its name, or of its folder's where folders are held out: an eighth of all for each of the two. Files are taken in the order of that hash until
there are bytes enough. Those above 100,000 bytes, most of them tables, are left out.

SOURCE is another archive, or a folder, whose files are all taken; subsystems are the package's.
"""

import bisect
import glob
import hashlib
import json
import lzma
import math
import os
import sys
import tarfile
from collections import Counter

PACKAGE = "linux-source-6.1"
LARGEST, HELD = 100000, ("tune", "report")
SUBSYSTEMS = {"net": "drivers/net/", "fs": "fs/", "x86": "arch/x86/", "sound": "sound/"}
SIZES = dict({"train%d" % part: 2500000 for part in range(8)}, tune=500000, report=500000, **dict.fromkeys(SUBSYSTEMS, 1250000))
SIZES.update({"%s-unequal:%s" % (held, key): 125000 for held in HELD for key in SUBSYSTEMS})


class Bad(Exception):
  """What is wrong with the text."""


def number(name):
  return int.from_bytes(hashlib.sha256(name.encode(errors="surrogateescape")).digest()[:8], "big")


def files_of(source):
  """(name without the archive's folder, content) of every file that may be taken"""
  if source is None:
    source = (glob.glob("/usr/src/%s.tar.*" % PACKAGE) + [None])[0]
    if source is None:
      raise Bad("There is no /usr/src/%s.tar.xz, the text of the studies: install Debian's package %s, or name a folder of text with DATA=FOLDER" % (PACKAGE, PACKAGE))
  if os.path.isdir(source):
    for folder, _, names in os.walk(source):
      for path in (os.path.join(folder, name) for name in names if not name.startswith(".")):
        if os.path.isfile(path) and 0 < os.path.getsize(path) <= LARGEST:
          with open(path, "rb") as f:
            yield os.path.relpath(path, source), f.read()
    return
  try:
    with tarfile.open(source, "r|*") as archive:
      for member in archive:
        if member.isfile() and member.name.endswith(".c") and 0 < member.size <= LARGEST:
          yield member.name.partition("/")[2], archive.extractfile(member).read()
  except (OSError, EOFError, lzma.LZMAError, tarfile.TarError) as e:
    raise Bad("%s cannot be read as an archive: %s" % (source, e)) from None


def uses(name):
  """The texts that a file may be in"""
  system, which = [key for key, folder in SUBSYSTEMS.items() if name.startswith(folder)], number(os.path.dirname(name)) % 8
  if which < len(HELD):
    return [HELD[which]] + ["%s-unequal:%s" % (HELD[which], key) for key in system]
  return ["train%d" % (number(name) % 8)] + system


def divergence(a, b):
  """Kullback and Leibler's, in nats a byte, of a model of b from one of a, on b; the models know the byte before, and counts begin at one"""
  pairs, first = [Counter(zip(text, text[1:])) for text in (a, b)], [Counter(text[:-1]) for text in (a, b)]
  chance = lambda k, pair: (pairs[k][pair] + 1) / (first[k][pair[0]] + 256)
  return sum(n * math.log(chance(1, pair) / chance(0, pair)) for pair, n in pairs[1].items()) / (len(b) - 1)


def make(folder, source):
  """Writes the files, and text.json behind them, which is returned"""
  chosen, total = {use: [] for use in SIZES}, dict.fromkeys(SIZES, 0)
  for name, text in files_of(source):
    for use in uses(name):
      bisect.insort(chosen[use], (number(name), name, text))
      total[use] += len(text)
      while total[use] - len(chosen[use][-1][2]) >= SIZES[use]: # the last ones in order are not needed any more
        total[use] -= len(chosen[use].pop()[2])
  texts = {use: b"".join(text for _, _, text in chosen[use])[:SIZES[use]] for use in SIZES}
  for held in HELD:
    shares = [texts.pop("%s-unequal:%s" % (held, key)) for key in SUBSYSTEMS]
    texts[held + "-unequal"] = b"".join(share[:min(map(len, shares))] for share in shares)
  unequal = list(SUBSYSTEMS) + [held + "-unequal" for held in HELD]
  texts = {use: text for use, text in texts.items() if use not in unequal or all(texts[one] for one in unequal)}
  os.makedirs(folder, exist_ok=True)
  for use, text in texts.items():
    if not text:
      raise Bad("%s: no file of up to %d bytes is for %s: too few files or folders" % (source or PACKAGE, LARGEST, use))
    with open(os.path.join(folder, use + ".txt"), "wb") as f:
      f.write(text)
  pairs = [(a, b) for group in (["train0", "train1", "train2", "train3"], list(SUBSYSTEMS)) for a in group for b in group if a != b and a in texts]
  record = {"source": source or PACKAGE, "bytes": {use: len(text) for use, text in sorted(texts.items())}, "divergence": {"%s %s" % (a, b): round(divergence(texts[a], texts[b]), 4) for a, b in pairs}}
  with open(os.path.join(folder, "text.json"), "w") as f:
    json.dump(record, f, indent=1)
  return record


def prepare(folder, source=None):
  """Makes the text, where it is not there from this source, and returns what is known of it: sha256 of all of it; paths, {"train": [...], "tune": ..., "report": ...} and the same of "unequal" where there are
  subsystems; bytes; divergence, {"net fs": nats a byte, ...}"""
  known, record, sha = os.path.join(folder, "text.json"), {}, hashlib.sha256()
  if os.path.exists(known):
    with open(known) as f:
      record = json.load(f)
  if record.get("source") != (source or PACKAGE):
    record = make(folder, source)
  path = lambda use: os.path.join(folder, use + ".txt")
  for use, size in record["bytes"].items():
    if not os.path.exists(path(use)) or os.path.getsize(path(use)) != size:
      raise Bad("%s does not have the %d bytes that %s says: remove the folder, and it is made again" % (path(use), size, known))
    with open(path(use), "rb") as f:
      sha.update(("%s %d\n" % (use, size)).encode() + f.read())
  paths = {"train": [path("train%d" % part) for part in range(8)], "tune": path("tune"), "report": path("report")}
  if "net" in record["bytes"]:
    paths["unequal"] = {"train": [path(key) for key in SUBSYSTEMS], "tune": path("tune-unequal"), "report": path("report-unequal")}
  return dict(record, sha256=sha.hexdigest(), paths=paths)


if __name__ == "__main__":
  if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
    print(__doc__)
    sys.exit(0 if sys.argv[1:] in (["--help"], ["-h"]) else 1)
  try:
    print(json.dumps(prepare(*sys.argv[1:3]), indent=1))
  except (Bad, OSError, TypeError) as e:
    sys.exit("text.py: %s" % e)
