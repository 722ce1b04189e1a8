#!/usr/bin/env python3
#TEST timeoutfactor: 1
"""Tests the test runner: what it must accept and, above all, what it must not."""

import os
import sys
import tempfile
import time
import types
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "config", "tools"))
import runtests  # noqa: E402


def source(block):
  return "int main(void) {return 0;}\n\n/*TEST\n\n" + block + "\nTEST*/\n"


class Languages(unittest.TestCase):
  def test_blocks_in_comments(self):
    block = "/*TEST\n\n  test:\n    # two ranks\n    nsize: 2\n    args: -a 'b!'\n\nTEST*/\n"
    expected = vars(runtests.read_tests("tests/t.c", block)[0])["keys"]
    self.assertEqual(expected, {"nsize": "2", "args": "-a 'b!'"})
    for source, mark in (("tests/t.F90", "!"), ("tests/t.py", "#")):
      text = "first line\n" + "".join(mark + line + "\n" for line in block.splitlines())
      self.assertEqual(vars(runtests.read_tests(source, text)[0])["keys"], expected)


class Apart(unittest.TestCase):
  """Tests that run at once do not meet, and none meets a library that is installed already."""

  def test_session_folders(self):
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
      said = [runtests.run_command(["sh", "-c", "echo $OMPI_MCA_orte_tmpdir_base; test -d $OMPI_MCA_orte_tmpdir_base"], folder, dict(os.environ), 10) for folder in (one, other)]
    self.assertEqual([status for status, _, _ in said], [0, 0])
    self.assertTrue(said[0][1].startswith(one) and said[1][1].startswith(other))
    self.assertEqual(runtests.session_folder("/" + "long" * 20), "")

  def test_other_libraries(self):
    with tempfile.TemporaryDirectory() as ours, tempfile.TemporaryDirectory() as others:
      open(os.path.join(ours, "libpetscmuon.so.0.1"), "w").close()
      self.assertEqual(runtests.without_other_libraries(os.pathsep.join([others, ours, "/no/such/folder"])), os.pathsep.join([others, "/no/such/folder"]))


class Compare(unittest.TestCase):
  def differs(self, a, b, tolerance=0.0):
    return bool(runtests.compare(a, b, tolerance))

  def test_exact(self):
    self.assertFalse(self.differs("a 1.0\nb\n", "a  1.0 \nb\n\n"))
    self.assertTrue(self.differs("a 1.0\n", "a 1.00\n"))
    self.assertTrue(self.differs("a\n", "a\nb\n"))
    self.assertTrue(self.differs("a\nb\n", "a\n"))
    self.assertTrue(self.differs("a\n", ""))
    self.assertTrue(self.differs("", "a\n"))

  def test_tolerance(self):
    self.assertFalse(self.differs("x 1.0 y 2e-3", "x 1.0000001 y 2.0000001e-3", 1e-6))
    self.assertTrue(self.differs("x 1.0", "x 1.00001", 1e-6))
    self.assertTrue(self.differs("x 1.0", "x -1.0", 1e-6))
    self.assertTrue(self.differs("x 1.0", "y 1.0000001", 1e-6))
    self.assertTrue(self.differs("x 1.0 2.0", "x 1.0", 1e-6))
    self.assertTrue(self.differs("x 1.0", "x nan", 1e-6))
    self.assertTrue(self.differs("x 1.0", "x inf", 1e-6))
    self.assertTrue(self.differs("x 0.0", "x 1e-30", 1e-6))
    self.assertTrue(self.differs("x 1e300", "x 1e999", 1e-6))

  def test_integers_are_exact(self):
    self.assertTrue(self.differs("1000000 bytes", "1000001 bytes", 1e-3))
    self.assertFalse(self.differs("1000000. bytes", "1000001. bytes", 1e-3))

  def test_digits_of_words_are_text(self):
    self.assertTrue(self.differs("h0.attn", "h1.attn", 10.0))
    self.assertTrue(self.differs("v1.5x", "v1.6x", 10.0))

  def test_split_output(self):
    text = "one\n#PETSc Option Table entries:\n-foo 3\n#End of PETSc Option Table entries\nWARNING! There are options you set that were not used!\n" \
           "There are 2 unused database options. They are:\nOption left: name:-foo value: 3 source: command line\nOption left: name:-bar (no value)\n" \
           "[ 1] 16 bytes\n      [1]  main() at e.c:11\ntwo\n"
    own, unused, memory = runtests.split_output(text)
    self.assertEqual(own, "one\ntwo\n")
    self.assertEqual(unused, ["-foo", "-bar"])
    self.assertEqual(len(memory), 2)

  def test_quoted(self):
    test, = runtests.read_tests("tutorials/mpi/a.c", source("""
  test:
    nsize: 3
    args: -x  1
    output_file: README.md
"""))
    command = runtests.quoted_command(test)
    self.assertEqual(command, "mpiexec -n 3 ./a -x 1")
    text = "Text\n\n    $ mpiexec -n 3 ./a -x 1\n    one\n      two\n    $ ./b\n    three\n\nmore\n"
    self.assertEqual(runtests.quoted_lines(text, command), (3, 5))
    self.assertEqual(runtests.quoted_lines(text, "./b"), (6, 7))
    self.assertIsNone(runtests.quoted_lines(text, "./c"))
    with tempfile.TemporaryDirectory() as root:
      os.makedirs(os.path.join(root, "tutorials", "mpi"))
      with open(os.path.join(root, "tutorials", "mpi", "README.md"), "w") as f:
        f.write(text)
      self.assertEqual(runtests.unquoted_runs(root, [test]), [("tutorials/mpi/README.md", "no test runs './b'")])


class Grammar(unittest.TestCase):
  def read(self, block):
    return runtests.read_tests("tests/ex2.c", source(block))

  def test_nesting(self):
    tests = self.read("""
  build:
    requires: double

  testset:
    nsize: {{1 2}}
    args: -m 24
    output_file: output/ex2_1.out
    test:
      suffix: ns
      args: -t newtonschulz
    test:
      suffix: svd
      args: -t svd -s {{lapack cross}shared output}

  test:
    # no suffix
    requires: !complex
""")
    self.assertEqual([t.full for t in tests], [
      "ex2_ns+nsize-1", "ex2_ns+nsize-2", "ex2_svd+nsize-1_s-lapack", "ex2_svd+nsize-1_s-cross", "ex2_svd+nsize-2_s-lapack", "ex2_svd+nsize-2_s-cross", "ex2_1"
    ])
    self.assertEqual(tests[3].keys["args"], "-m 24 -t svd -s cross")
    self.assertEqual(tests[3].keys["nsize"], "1")
    self.assertEqual(tests[3].output, "tests/output/ex2_1.out")
    self.assertEqual(tests[6].keys["requires"], "double !complex")
    self.assertEqual(tests[6].output, "tests/output/ex2_1.out")

  def test_tables(self):
    tests = self.read("""
  testset:
    nsize: 3
    table: suffix | nsize | args | error
      # ranks differ
      a | 2 | -x {{u v}} | {} is wrong
      b |   | -y         | "a|b"
      c | 4 | -z |
    test:
      suffix: d
""")
    self.assertEqual([(t.full, t.keys["nsize"], t.keys.get("args"), t.keys.get("error")) for t in tests], [
      ("ex2_a+x-u", "2", "-x u", "u is wrong"), ("ex2_a+x-v", "2", "-x v", "v is wrong"), ("ex2_b", "3", "-y", '"a|b"'), ("ex2_c", "4", "-z", None), ("ex2_d", "3", None, None)
    ])
    for block in ("  table: suffix | args\n", "  table: suffix | nonsense\n    a | b\n", "  table: suffix | args\n    a | b | c\n", "  table: suffix | args\n    args: b\n", "  table: suffix | args\n  a | b\n"):
      with self.assertRaises(runtests.TestError, msg=block):
        self.read("\n" + block)

  def test_separate_output(self):
    tests = self.read("\n  test:\n    suffix: a\n    nsize: {{1 2}}\n    args: -x {{u v}separate output}\n")
    self.assertEqual([t.output for t in tests], ["tests/output/ex2_a_x-u.out", "tests/output/ex2_a_x-v.out"] * 2)

  def test_refusals(self):
    for block in (
      "  test:\n    nonsense: 1\n", "  test:\n    suffix: a\n    suffix: b\n", "  test:\n  test:\n", "  testset:\n    args: -x\n", "  test:\n    args: {{a b}wrong}\n", "  test:\n    what\n",
      "  build:\n    requires: double\n", "", "  test:\n    filter: sed 's/.*/x/'\n", "  args: -x\n", "  test:\n    args: -x {{ }}\n", "  test:\n    test:\n      suffix: a\n"
    ):
      with self.assertRaises(runtests.TestError, msg=block):
        self.read("\n" + block)
    with self.assertRaises(runtests.TestError):
      runtests.read_tests("tests/a.c", "/*TEST\n  test:\n")
    self.assertEqual(runtests.read_tests("tests/a.c", "int main(void);\n"), [])
    self.assertEqual(self.read("\n  sources: tutorials/nanogpt/model.c\n"), [])

  def test_scripts(self):
    test, = runtests.read_script("tests/install/run-make.sh", "#!/bin/sh\n#TEST requires: cmake\n")
    self.assertEqual((test.full, test.keys["requires"]), ("install_make", "cmake"))
    with self.assertRaises(runtests.TestError):
      runtests.read_script("tests/run-x.sh", "#!/bin/sh\n")


class Requirements(unittest.TestCase):
  config = runtests.Config("#define PETSC_USE_INFO 1\n", "")

  def test_requirements(self):
    missing = self.config.missing
    self.assertIsNone(missing("double !complex defined(PETSC_USE_INFO) sh !single"))
    self.assertEqual(missing("single"), ("build", "single"))
    self.assertEqual(missing("!double"), ("build", "!double"))
    self.assertEqual(missing("debug"), ("build", "debug"))
    self.assertEqual(missing("double cuda"), ("package", "cuda"))
    self.assertEqual(missing("complex"), ("build", "complex"))
    self.assertEqual(missing("no-such-program"), ("program", "no-such-program"))


class Running(unittest.TestCase):
  """With shell scripts as programs and without MPI."""

  def setUp(self):
    self.folder = tempfile.TemporaryDirectory()
    self.build = self.folder.name
    os.makedirs(os.path.join(self.build, "tests"))
    options = types.SimpleNamespace(build=self.build, update=False, limit=20.0, mpiexec="mpiexec", petscconf="", cc="mpicc", fortran="mpif90", make="", petsc_dir="", petsc_arch="", slepc_dir="", sanitize=False)
    self.runner = runtests.Runner(options)

  def tearDown(self):
    self.runner.end()
    self.folder.cleanup()

  def write(self, name, script):
    name = os.path.join(self.build, name)
    with open(name, "w") as f:
      f.write("#!/bin/sh\n" + script + "\n")
    os.chmod(name, 0o755)
    return name

  def outcome(self, script, **keys):
    self.write("tests/p", script)
    test = runtests.Test("p_1", "", "tests/p.c", dict({"nsize": "0"}, **keys), "tests/output/no-such-output.out", "output_file" in keys)
    return self.runner.run(test)

  def test_status(self):
    self.assertEqual(self.outcome("exit 0")[0], "pass")
    self.assertEqual(self.outcome("exit 3"), ("fail", ["exit status 3"]))

  def test_missing_program(self):
    test = runtests.Test("q_1", "", "tests/q.c", {}, "tests/output/q_1.out")
    self.assertEqual(self.runner.run(test)[0], "fail")

  def test_stale_program(self):
    make, good, bad = self.write("make", "for target; do :; done\ncase $target in */bad) exit 2;; esac"), self.write("good", ""), self.write("bad", "")
    runtests.drop_stale_programs([make], [good, bad], dict(os.environ))
    self.assertTrue(os.path.exists(good))
    self.assertFalse(os.path.exists(bad))

  def test_missing_output(self):
    self.assertEqual(self.outcome("exit 0", output_file="output/x.out")[0], "fail")

  def test_unused_and_memory(self):
    self.assertEqual(self.outcome("echo 'Option left: name:-foo value: 3'")[0], "fail")
    self.assertEqual(self.outcome("echo 'Option left: name:-foo value: 3'", unused="-foo")[0], "pass")
    self.assertEqual(self.outcome("echo '[ 0] 16 bytes main() at e.c:11'")[0], "fail")

  def test_environment(self):
    self.assertEqual(self.outcome('test "$A" = "b c" && test "$1" = "$PETSCMUON_DIR"', env="'A=b c'", args="${PETSCMUON_DIR}")[0], "pass")

  def test_error(self):
    self.assertEqual(self.outcome("echo the ratio is bad >&2; exit 62", error="ratio is bad")[0], "pass")
    self.assertEqual(self.outcome("echo the ratio is fine >&2; exit 62", error="ratio is bad")[0], "fail")
    self.assertEqual(self.outcome("echo the ratio is bad >&2", error="ratio is bad")[0], "fail")

  @unittest.skipUnless(os.path.exists("/proc/self/stat"), "only /proc tells who started whom")
  def test_time_limit_ends_children(self):
    self.runner.limit, runtests.GRACE = 1.0, 1.0
    mark = os.path.join(self.build, "alive")
    # The grandchild leaves the process group and ignores the polite signal, as the ranks of an MPI job may
    script = "setsid sh -c 'trap \"\" TERM; i=0; while [ $i -lt 300 ]; do i=$((i + 1)); date +%%s%%N > %s; sleep 0.1; done' &\nwait" % mark
    start = time.monotonic()
    outcome, lines = self.outcome(script)
    self.assertEqual((outcome, lines[0]), ("fail", "still running after 1 s"))
    self.assertLess(time.monotonic() - start, 15.0)
    time.sleep(0.3)
    with open(mark) as f:
      before = f.read()
    time.sleep(0.5)
    with open(mark) as f:
      self.assertEqual(before, f.read())

  def test_skips(self):
    self.assertEqual(self.outcome("exit 0", requires="cuda"), ("skip", ["requires cuda"]))
    self.assertEqual(self.outcome("exit 0", requires="no-such-program")[0], "fail")
    self.assertEqual(self.outcome("exit 0", requires="single"), ("other", ["requires single"]))

  def test_together(self):
    # A program that runs its cases as tests/runner/main.c does: the second fails where it is not alone, the third always
    self.write("tests/p", """
if [ -z "${MUON_TEST_CASES:-}" ]; then
  [ "$1" != third ]
  exit
fi
while read -r folder && read -r arg && read -r end; do
  echo "one start" > "$folder/.rank.0.out"
  : > "$folder/.rank.0.text"
  [ "$arg" = first ] || echo "Option left: name:-foo" >> "$folder/.rank.0.out"
done < "$MUON_TEST_CASES"
""")
    tests = [runtests.Test("p_" + arg, "", "tests/p.c", {"nsize": "0", "args": arg}, "tests/output/no-such-output.out") for arg in ("first", "second", "third")]
    found = self.runner.run_together(tests)
    self.assertEqual([found.get(test) for test in tests], [("pass", []), None, None])
    self.assertEqual([self.runner.run(test)[0] for test in tests], ["pass", "pass", "fail"])

  def test_failing_together(self):
    # The second case says something else, the third does not fail, and then the start ends
    self.write("tests/p", """
while read -r folder && read -r text && read -r status && read -r end; do
  echo "$text" > "$folder/.rank.0.text"
  echo "$status" > "$folder/.rank.0.status"
  [ "$status$MUON_TEST_ERRORS" = 11 ] || exit 1
done < "$MUON_TEST_CASES"
""")
    make = lambda args: runtests.Test("p_" + args, "", "tests/p.c", {"nsize": "0", "args": args, "error": "is bad"}, "tests/output/no-such-output.out")
    tests = [make("'ratio is bad' 1"), make("'ratio is good' 1"), make("'ratio is  bad' 1"), make("'ratio is bad' 0"), make("'ratio is bad' 1")]
    found = self.runner.run_together(tests)
    self.assertEqual([found.get(test) for test in tests], [("pass", []), None, ("pass", []), None, None])

  def test_grouped(self):
    source = lambda **keys: runtests.Test("muon_lifecycle_1", "", "tests/muon_lifecycle.c", dict({"nsize": "2"}, **keys))
    tests = [source(), source(args="-a"), source(nsize="3"), source(error="wrong"), source(env="A=b"), source(requires="cuda"), source(args="-b"), source(error="wrong")]
    tests.append(runtests.Test("kernels_norm_1", "", "tests/kernels_norm.c", {"nsize": "2"}))
    self.assertEqual([[tests.index(test) for test in group] for group in runtests.grouped(tests, self.runner)], [[0, 1, 6], [2], [3, 7], [4], [5], [8]])

  def test_oracle(self):
    self.assertEqual(self.outcome("exit 0", oracle="no_such_oracle.py")[0], "fail")
    self.runner.limit = 1.0
    for name, text, expected in (("a", "import sys; sys.exit(sys.argv[2] != 'b c')", []), ("b", "assert 1 > 2, 'too small'", ["AssertionError: too small"]), ("c", "while True: pass", ["the oracle failed: still running after 1 s"])):
      oracle = os.path.join(self.build, name + ".py")
      with open(oracle, "w") as f:
        f.write(text + "\n")
      outcome, lines = self.outcome("exit 0", oracle=oracle + " 'b c'")
      self.assertEqual((outcome, lines[-1:]), ("fail" if expected else "pass", expected))


if __name__ == "__main__":
  unittest.main()
