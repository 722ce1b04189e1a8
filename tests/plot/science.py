"""What the tests of the studies in tutorials/science share: a program that fails, and the report in the manual."""

import importlib.util
import os
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STORE = os.path.join(ROOT, "share", "petscmuon", "doc", "studies", "science")


STARTED = [] # commands of the test


def load(name):
  """The script of a study as a module."""
  spec = importlib.util.spec_from_file_location(name, os.path.join(ROOT, "tutorials", "science", "studies", name + ".py"))
  module = importlib.util.module_from_spec(spec)
  spec.loader.exec_module(module)
  return module


def words(command):
  """{option: the word after it}"""
  return {word: following for word, following in zip(command, command[1:] + [""]) if word[:1] == "-"}


class Tests:
  """Beside unittest.TestCase. The class has the module, the names of its csv and of its page, options of the script in a test and of the problem, and program(), which is in the place of the program of the study."""

  size, problem = [], []

  def setUp(self):
    def start(command, **_):
      STARTED.append(command)
      return subprocess.CompletedProcess(command, 0, self.program(command), "")

    shutil.rmtree("store", ignore_errors=True)
    STARTED.clear()
    self.start, self.draw, subprocess.run = subprocess.run, self.module.Report.draw, start
    self.module.Report.draw = lambda report, path: None # but in the last test

  def tearDown(self):
    subprocess.run, self.module.Report.draw = self.start, self.draw

  def run_it(self, *more):
    """The report, and what the script says of errors."""
    sys.argv = [self.module.__name__ + ".py", "--program", "./program", "--store", "store", *self.size, *self.problem, *more]
    err = StringIO()
    with redirect_stdout(StringIO()), redirect_stderr(err):
      self.module.main()
    with open(os.path.join("store", self.page)) as f:
      return f.read(), err.getvalue()

  def again(self, change, *more):
    """run_it() when change() has made other lines of the file."""
    path = os.path.join("store", self.name + ".csv")
    with open(path) as f:
      lines = f.read().splitlines(True)
    with open(path, "w") as f:
      f.write("".join(change(lines)))
    return self.run_it(*more)

  def test_program(self):
    subprocess.run = self.start
    with open("program", "w") as f:
      f.write("#!/bin/sh\necho no; exit 3\n")
    os.chmod("program", 0o755)
    with self.assertRaisesRegex(SystemExit, "(?s)%s.py: ./program .*\nno" % self.module.__name__):
      self.run_it()

  def test_manual(self):
    self.module.Report.draw = self.draw
    os.mkdir("store")
    shutil.copy(os.path.join(STORE, self.name + ".csv"), "store")
    sys.argv = [self.module.__name__ + ".py", "--store", "store", "--report"] + self.problem
    self.module.main()
    with open(os.path.join(STORE, self.page)) as ours, open(os.path.join("store", self.page)) as made:
      self.assertEqual(made.read(), ours.read())
    self.assertEqual(os.path.exists(os.path.join("store", self.name + ".svg")), os.path.exists(os.path.join(STORE, self.name + ".svg")))
