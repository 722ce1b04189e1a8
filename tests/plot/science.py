"""What the tests of the studies in tutorials/science share: a program that fails, and the report in the manual."""

import importlib.util
import os
import shutil
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STORE = os.path.join(ROOT, "share", "petscmuon", "doc", "studies", "science")


def load(name):
  """The script of a study as a module."""
  spec = importlib.util.spec_from_file_location(name, os.path.join(ROOT, "tutorials", "science", "studies", name + ".py"))
  module = importlib.util.module_from_spec(spec)
  spec.loader.exec_module(module)
  return module


class Tests:
  """Beside unittest.TestCase. The class has the module, the names of its csv and of its page, options of the problem, and run_it(); setUp() keeps run and draw of the module."""

  problem = []

  def test_program(self):
    self.module.subprocess.run = self.run
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
