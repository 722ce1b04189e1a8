"""Whole runs of tutorials/nanogpt that are killed at random and go on: what the short form in the suite and the long one of `make card` do."""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STEPS = 24
INTERVAL = 4
# All that a run needs, and nothing that takes long
MODEL = "-nanogpt_width 32 -nanogpt_heads 2 -nanogpt_blocks 1 -nanogpt_sequence 16 -nanogpt_batch 12 -nanogpt_holdout_every 4 -nanogpt_validation_end 4 -nanogpt_sample 0 -nanogpt_steps %d -nanogpt_interval %d" % (STEPS, STEPS)
SECONDS = 10  # in which a job ends after one of its ranks was killed


sys.path.insert(0, os.path.join(ROOT, "share", "petscmuon"))
import checkpoint  # noqa: E402


class Failed(Exception):
  """A run did what it must not do."""


def descendants(pid):
  """Processes that a process started, and those that they started."""
  found, children = [], {}
  for name in os.listdir("/proc"):
    if name.isdigit():
      try:
        with open("/proc/%s/stat" % name) as f:
          children.setdefault(int(f.read().rsplit(")", 1)[1].split()[1]), []).append(int(name))
      except (OSError, IndexError):
        pass
  todo = [pid]
  while todo:
    mine = children.get(todo.pop(), [])
    found += mine
    todo += mine
  return found


def weights(folder):
  """Those of the last checkpoint, by layers in their order."""
  return checkpoint.Checkpoint(folder).weights()


class Runs:
  """Runs of one kind: so many ranks, and options of the optimizer."""

  def __init__(self, mpiexec, program, ranks, options, seed):
    self.command = mpiexec.split() + ["-n", str(ranks), program] + MODEL.split() + ["-nanogpt_data", os.path.join(ROOT, "LICENSE")] + options
    self.ranks, self.program = ranks, program
    self.random = random.Random(seed)

  def start(self, folder, *more):
    self.log = open(folder + ".log", "ab")
    checkpoints = ["-muon_checkpoint", folder, "-muon_checkpoint_interval", str(INTERVAL), "-muon_restart", folder, "-muon_restart_if_present", "-muon_monitor_csv", folder + ".csv"]
    return subprocess.Popen(self.command + checkpoints + list(more), stdout=self.log, stderr=subprocess.STDOUT)

  def finish(self, folder, *more):
    status = self.start(folder, *more).wait()
    self.log.close()
    if status != 0:
      raise Failed("a run in %s ended with status %d" % (folder, status))

  def generations(self, folder):
    """Those with a manifest, the latest first, as (counter, step, name)."""
    names = os.listdir(folder) if os.path.isdir(folder) else []
    found = [(int(m.group(2)), int(m.group(1)), m.group(0)) for m in (re.fullmatch(r"step-(\d+)-(\d+)", n) for n in names) if m]
    return sorted((g for g in found if os.path.exists(os.path.join(folder, g[2], "manifest"))), reverse=True)

  def processes(self, job):
    """Those of the program, not of mpiexec."""
    ranks = []
    for pid in descendants(job.pid):
      try:
        if os.path.samefile("/proc/%d/exe" % pid, self.program):
          ranks.append(pid)
      except OSError:
        pass
    return ranks

  def kill(self, folder, when):
    """Starts a run and kills one of its ranks when when() says so, or at once if it ends before: the job must end, soon and with an error."""
    job = self.start(folder)
    while job.poll() is None and not when():
      time.sleep(0.002)
    time.sleep(self.random.uniform(0, 0.02))
    ranks = self.processes(job)
    if not ranks:
      job.wait()
      self.log.close()
      return None
    os.kill(self.random.choice(ranks), signal.SIGKILL)
    start = time.monotonic()
    try:
      status = job.wait(SECONDS)
    except subprocess.TimeoutExpired:
      for pid in descendants(job.pid) + [job.pid]:
        os.kill(pid, signal.SIGKILL)
      raise Failed("%s: the job was there %d s after one of its ranks was killed" % (folder, SECONDS))
    finally:
      self.log.close()
    if status == 0:
      return None  # the rank had done all that it had to do
    return time.monotonic() - start

  def kill_somewhere(self, folder):
    """Behind a checkpoint of a random step, while the next steps or the next checkpoint are under way."""
    step = INTERVAL * self.random.randrange(0, STEPS // INTERVAL - 2)
    return self.kill(folder, lambda: step == 0 or any(g[1] >= step for g in self.generations(folder)))

  def compare(self, folder, whole):
    """A run that was killed has the weights and the rows of the monitor that one has which was not."""
    with open(folder + ".csv", "rb") as f, open(whole + ".csv", "rb") as g:
      if f.read() != g.read():
        raise Failed("%s.csv is another than %s.csv" % (folder, whole))
    mine, its = weights(folder), weights(whole)
    if mine.keys() != its.keys() or any(mine[name].tobytes() != its[name].tobytes() for name in its):
      raise Failed("%s has other weights than %s" % (folder, whole))

  def killed(self, folder, whole, times=1):
    """A run whose ranks are killed so many times, and which then goes on to its end. Gives how many kills hit, before the run was over, and the longest time that a job took to end."""
    took = [t for t in (self.kill_somewhere(folder) for _ in range(times)) if t is not None]
    self.finish(folder)
    self.compare(folder, whole)
    return len(took), max(took, default=0)

  def double(self, folder, whole):
    """A crash, and another as soon as the run goes on; all but what it went on with is deleted, and it goes on again."""
    self.kill(folder, lambda: any(g[1] >= 2 * INTERVAL for g in self.generations(folder)))
    before = self.generations(folder)
    size = os.path.getsize(folder + ".log")

    def restored():
      with open(folder + ".log", "rb") as f:
        f.seek(size)
        return b"goes on at step" in f.read()

    self.kill(folder, restored)
    for name in os.listdir(folder):
      if before and name not in (before[0][2], "lock"):
        shutil.rmtree(os.path.join(folder, name))
    self.finish(folder)
    self.compare(folder, whole)


def from_environment(ranks, options, seed):
  """As a script of the suite is called."""
  build, make = os.environ["BUILD"], os.environ.get("MAKE", "make")
  program = os.path.join(build, "tutorials", "nanogpt", "nanogpt")
  done = subprocess.run([make, "--no-print-directory", "-s", "-C", ROOT, "BUILD=" + build, program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
  if done.returncode != 0:
    sys.exit(done.stdout)
  return Runs(os.environ["MPIEXEC"], program, ranks, options, seed)


COMPRESSED = ["-ef21_compressor", "topk", "-ef21_compressor_ratio", "0.1", "-ef21_server_compressor", "topk", "-ef21_server_compressor_ratio", "0.1"]
