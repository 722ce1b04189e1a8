#!/usr/bin/env python3
"""The text of the studies, from the C files of Debian's package linux-source-6.1: text.py FOLDER [SOURCE]

Writes files into FOLDER: eight parts to train on (train0.txt, ...), as many as workers may be, of 2.5 million bytes, one after another so that 20 million are not repeated; tune.txt and report.txt, each
half a million bytes of folders that are held out, one to choose rates by and one for what is published; and four parts of 1.25 million bytes of one subsystem each (net.txt, fs.txt, x86.txt,
sound.txt), with tune-unequal.txt and report-unequal.txt in equal shares. What a file is for follows from a SHA-256 of its name, or of its folder's where folders are held out: an eighth of all for
each of the two. Files are taken in the order of that hash until there are bytes enough. Those above 100,000 bytes, most of them tables, are left out.

SOURCE is the archive, or a folder of text in its place, whose files are all taken; subsystems are the package's.
"""

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
PARTS, BYTES, HELD, OWN, LARGEST = 8, 2500000, 500000, 1250000, 100000
SUBSYSTEMS = {"net": "drivers/net/", "fs": "fs/", "x86": "arch/x86/", "sound": "sound/"}


class Bad(Exception):
  """What is wrong with the text."""


def number(name):
  return int.from_bytes(hashlib.sha256(name.encode(errors="surrogateescape")).digest()[:8], "big")


def files_of(source):
  """(name without the archive's folder, a function that reads it, its size) of every file that may be taken"""
  if source is None:
    found = sorted(glob.glob("/usr/src/%s.tar.*" % PACKAGE))
    if not found:
      raise Bad("There is no /usr/src/%s.tar.xz, the text of the studies: install Debian's package %s, or name a folder of text with DATA=FOLDER" % (PACKAGE, PACKAGE))
    source = found[0]
  if os.path.isdir(source):
    for folder, folders, names in os.walk(source):
      folders.sort()
      for name in sorted(names):
        path = os.path.join(folder, name)
        if not name.startswith(".") and os.path.isfile(path):
          yield os.path.relpath(path, source), lambda: open(path, "rb"), os.path.getsize(path)
    return
  try:
    with tarfile.open(source, "r|*") as archive:
      for member in archive:
        if member.isfile() and member.name.endswith(".c"):
          yield member.name.partition("/")[2], lambda: archive.extractfile(member), member.size
  except (OSError, EOFError, lzma.LZMAError, tarfile.TarError) as e:
    raise Bad("%s cannot be read as an archive: %s" % (source, e)) from None


def held(name):
  """Which of the files of held-out folders a file is for, else None"""
  return {0: "tune", 1: "report"}.get(number(os.path.dirname(name)) % 8)


def uses(name):
  """The texts that a file may be in"""
  system = [key for key, folder in SUBSYSTEMS.items() if name.startswith(folder)]
  if held(name):
    return [held(name)] + ["%s-unequal:%s" % (held(name), key) for key in system]
  return ["train%d" % (number(name) % PARTS)] + system


def divergence(a, b):
  """Kullback and Leibler's, in nats a byte, of the bytes of b from a model of a that knows the byte before; counts begin at one"""
  pairs = [Counter(zip(text, text[1:])) for text in (a, b)]
  first = [Counter(text[:-1]) for text in (a, b)]
  chance = lambda k, pair: (pairs[k][pair] + 1) / (first[k][pair[0]] + 256)
  return sum(n * math.log(chance(1, pair) / chance(0, pair)) for pair, n in pairs[1].items()) / (len(b) - 1)


def prepare(folder, source=None):
  """Makes the text, where it is not there from this source, and returns what is known of it: sha256 of all of it; paths, {"train": [...], "tune": ..., "report": ...} and the same of "unequal" where there are subsystems;
  divergence, {"net fs": nats a byte, ...}"""
  known = os.path.join(folder, "text.json")
  sizes = {"train%d" % part: BYTES for part in range(PARTS)}
  sizes.update({"tune": HELD, "report": HELD}, **{key: OWN for key in SUBSYSTEMS})
  sizes.update({"%s-unequal:%s" % (which, key): HELD // len(SUBSYSTEMS) for which in ("tune", "report") for key in SUBSYSTEMS})
  record = {}
  if os.path.exists(known):
    with open(known) as f:
      record = json.load(f)
  if record.get("source") != (source or PACKAGE):
    chosen = {use: [] for use in sizes}
    total = {use: 0 for use in sizes}
    limit = {use: 2**64 for use in sizes}
    for name, read, size in files_of(source):
      wanted = [use for use in uses(name) if number(name) < limit[use]] if 0 < size <= LARGEST else []
      if wanted:
        with read() as f:
          text = f.read()
        for use in wanted:
          chosen[use].append((number(name), name, text))
          total[use] += size
          while total[use] - len(max(chosen[use])[2]) >= sizes[use]: # the last ones in order are not needed any more
            chosen[use].remove(max(chosen[use]))
            limit[use] = max(chosen[use])[0]
            total[use] = sum(len(one[2]) for one in chosen[use])
    texts = {use: b"".join(text for _, _, text in sorted(chosen[use]))[:sizes[use]] for use in sizes}
    for which in ("tune", "report"):
      shares = [texts.pop("%s-unequal:%s" % (which, key)) for key in SUBSYSTEMS]
      texts[which + "-unequal"] = b"".join(share[:min(map(len, shares))] for share in shares)
    unequal = list(SUBSYSTEMS) + ["tune-unequal", "report-unequal"]
    if not all(texts[use] for use in unequal):
      texts = {use: text for use, text in texts.items() if use not in unequal}
    for use, text in texts.items():
      if not text:
        raise Bad("%s: no file of up to %d bytes is for %s: the text has too few files or folders" % (source or PACKAGE, LARGEST, use))
    os.makedirs(folder, exist_ok=True)
    for use, text in texts.items():
      with open(os.path.join(folder, use + ".txt"), "wb") as f:
        f.write(text)
    groups = [["train%d" % part for part in range(PARTS)][:4], list(SUBSYSTEMS) if "net" in texts else []]
    record = {"source": source or PACKAGE, "bytes": {use: len(text) for use, text in sorted(texts.items())}, "divergence": {"%s %s" % (a, b): round(divergence(texts[a], texts[b]), 4) for group in groups for a in group for b in group if a != b}}
    with open(known + ".part", "w") as f:
      json.dump(record, f, indent=1)
    os.replace(known + ".part", known)
  sha = hashlib.sha256()
  for use, size in sorted(record["bytes"].items()):
    path = os.path.join(folder, use + ".txt")
    if not os.path.exists(path) or os.path.getsize(path) != size:
      raise Bad("%s does not have the %d bytes that %s says: remove the folder, and it is made again" % (path, size, known))
    with open(path, "rb") as f:
      sha.update(("%s %d\n" % (use, size)).encode() + f.read())
  path = lambda use: os.path.join(folder, use + ".txt")
  paths = {"train": [path("train%d" % part) for part in range(PARTS)], "tune": path("tune"), "report": path("report")}
  if "net" in record["bytes"]:
    paths["unequal"] = {"train": [path(key) for key in SUBSYSTEMS], "tune": path("tune-unequal"), "report": path("report-unequal")}
  return {"sha256": sha.hexdigest(), "paths": paths, "divergence": record["divergence"], "bytes": record["bytes"]}


def main(arguments):
  if len(arguments) not in (1, 2):
    print(__doc__, file=sys.stderr)
    return 2
  try:
    print(json.dumps(prepare(*arguments), indent=1))
  except (Bad, OSError) as e:
    print("text.py: %s" % e, file=sys.stderr)
    return 1
  return 0


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
