#!/usr/bin/env python3
#TEST
"""The text of the studies: each file has one use, held-out folders are in no part to train on, and text that will not do is an error."""

import hashlib
import os
import sys

sys.path.insert(0, os.path.join(os.environ["PETSCMUON_DIR"], "tutorials", "nanogpt", "studies"))
sys.dont_write_bytecode = True

import text  # noqa: E402


def refused(words, *arguments):
  try:
    text.prepare(*arguments)
  except text.Bad as e:
    assert words in str(e), e
    return
  raise AssertionError(words + ": no error")


number = lambda name: int(hashlib.sha256(name.encode()).hexdigest()[:16], 16)
folders = ["%s/d%d" % (system, d) for system in ("drivers/net", "fs", "arch/x86", "sound") for d in range(60)]
names = ["%s/f%d.c" % (folder, f) for folder in folders for f in range(4)]
for name in names:
  os.makedirs(os.path.join("linux", os.path.dirname(name)), exist_ok=True)
  with open(os.path.join("linux", name), "w") as f:
    f.write("%s\n" % name)
with open("linux/table.c", "w") as f:
  f.write("x" * 100001)
found = text.prepare("made", "linux")
read = lambda path: open(path).read().splitlines()
for part, path in enumerate(found["paths"]["train"]):
  assert sorted(read(path)) == sorted(name for name in names if number(os.path.dirname(name)) % 8 > 1 and number(name) % 8 == part), path
for which, held in enumerate(("tune", "report")):
  assert sorted(read(found["paths"][held])) == sorted(name for name in names if number(os.path.dirname(name)) % 8 == which), held
assert all(name.startswith("fs/") and number(os.path.dirname(name)) % 8 > 1 for name in read(found["paths"]["unequal"]["train"][1]))
assert 0 < found["divergence"]["net fs"] < 5 and text.divergence(b"abcabc", b"abcabc") == 0
# Made once; another source, a file that was cut, no file, no archive, no package
made = os.stat("made/train0.txt").st_mtime_ns
assert text.prepare("made", "linux") == found and os.stat("made/train0.txt").st_mtime_ns == made
assert text.prepare("fs", "linux/fs")["sha256"] != found["sha256"] and "unequal" not in text.prepare("fs", "linux/fs")["paths"]
os.truncate("made/train3.txt", 7)
refused("made/train3.txt does not have the", "made", "linux")
os.mkdir("empty")
refused("empty: no file of up to 100000 bytes is for train0", "other", "empty")
refused("linux/table.c cannot be read as an archive", "other", "linux/table.c")
text.glob.glob = lambda pattern: []
refused("install Debian's package linux-source-6.1, or name a folder of text with DATA=FOLDER", "other")
