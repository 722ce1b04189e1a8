#!/usr/bin/env python3
#TEST
"""The text of the studies: each file has one use, held-out folders are in no part to train on, and text that will not do is an error."""

import hashlib
import os
import sys

sys.path.insert(0, os.path.join(os.environ["PETSCMUON_DIR"], "tutorials", "nanogpt", "studies"))
sys.dont_write_bytecode = True

import text  # noqa: E402

number = lambda name: int(hashlib.sha256(name.encode()).hexdigest()[:16], 16)
folder = lambda name: number(os.path.dirname(name)) % 8  # 0 and 1 are held out
read = lambda path: sorted(open(path).read().splitlines())
names = ["%s/d%d/f%d.c" % (system, d, f) for system in ("drivers/net", "fs", "arch/x86", "sound") for d in range(60) for f in range(4)]
for name, content in [(name, name + "\n") for name in names] + [("table.c", "x" * 100001)]:
  os.makedirs(os.path.join("linux", os.path.dirname(name)), exist_ok=True)
  with open(os.path.join("linux", name), "w") as f:
    f.write(content)
found = text.prepare("made", "linux")
for part, path in enumerate(found["paths"]["train"]):
  assert read(path) == sorted(name for name in names if folder(name) > 1 and number(name) % 8 == part), path
assert [read(found["paths"][held]) for held in ("tune", "report")] == [sorted(name for name in names if folder(name) == which) for which in (0, 1)]
assert read(found["paths"]["unequal"]["train"][1]) == sorted(name for name in names if folder(name) > 1 and name.startswith("fs/"))
assert 0 < found["divergence"]["net fs"] < 5 and text.divergence(b"abcabc", b"abcabc") == 0
# Help is text, and makes no folder
import subprocess  # noqa: E402
for words, status in ((["--help"], 0), (["-x"], 1), ([], 1)):
  done = subprocess.run([sys.executable, text.__file__] + words, stdout=subprocess.PIPE, universal_newlines=True)
  assert (done.returncode, "text.py FOLDER [SOURCE]" in done.stdout, os.path.exists("".join(words) or "none")) == (status, True, False), words
# Made once; another source, a file that was cut, no file, no archive, no package
made = os.stat("made/train0.txt").st_mtime_ns
assert text.prepare("made", "linux") == found and os.stat("made/train0.txt").st_mtime_ns == made
other = text.prepare("fs", "linux/fs")
assert other["sha256"] != found["sha256"] and "unequal" not in other["paths"]
os.truncate("made/train3.txt", 7)
os.mkdir("empty")
text.glob.glob = lambda pattern: []
for arguments, words in ((("made", "linux"), "made/train3.txt does not have the"), (("bad", "empty"), "empty: no file of up to 100000 bytes is for train0"),
                         (("bad", "linux/table.c"), "linux/table.c cannot be read as an archive"), (("bad",), "install Debian's package linux-source-6.1, or name a folder of text with DATA=FOLDER")):
  try:
    text.prepare(*arguments)
    sys.exit(words + ": no error")
  except text.Bad as e:
    assert words in str(e), e
