#!/bin/sh
#TEST timeoutfactor: 1
# config/mpiexec does not start itself where its folder is first on PATH, and starts what is first there; --help of config/bootstrap is help; a machine without git
set -eu
fail() { echo "run-start.sh: $1"; exit 1; }

mkdir bin other
cp "$PETSCMUON_DIR/config/mpiexec" bin/mpiexec
printf '#!/bin/sh\necho "other $*"\n' > other/mpiexec
chmod +x other/mpiexec
found=$(PATH=$PWD/bin:$PWD/other:$PATH MPIEXEC_COMMAND="mpiexec -x" timeout 20 mpiexec -n 2 program)
[ "$found" = "other -x -n 2 program" ] || fail "expected the other mpiexec, got '$found'"
if PATH=$PWD/bin:/usr/bin:/bin MPIEXEC_COMMAND=no_such_command timeout 20 bin/mpiexec -n 1 program 2>text; then fail "a command that is not there was started"; fi
grep -q 'no other no_such_command' text || fail "an error that does not say what is missing: $(cat text)"

# As in a virtual environment: Open MPI would look beside its own mpiexec first
mkdir first
printf '#!/bin/sh\necho first\n' > first/true
chmod +x first/true
found=$(PATH=$PWD/first:$PATH MPIEXEC_COMMAND=mpiexec "$PETSCMUON_DIR/config/mpiexec" -n 1 true)
[ "$found" = first ] || fail "expected the program that is first on PATH, got '$found'"

# The files that man pages are made of, with git and without
mkdir -p tree/src
touch tree/src/a.c
python=$(command -v "$PYTHON3")
(PATH=$PWD/first; "$python" -c "import sys; sys.path.insert(0, '$PETSCMUON_DIR/config/tools'); sys.dont_write_bytecode = True; import checkstyle; assert checkstyle.all_files('tree') == ['src/a.c']")

# Whoever asks for help gets nothing installed: a package manager that is started leaves a trace
printf '#!/bin/sh\ntouch "%s/installed"\n' "$PWD" > other/apt-get
chmod +x other/apt-get
for word in --help -h; do
  PATH=$PWD/other:/usr/bin:/bin "$PETSCMUON_DIR/config/bootstrap" "$word" </dev/null | grep -q '^usage' || fail "$word prints no usage"
done
[ ! -e installed ] || fail "help installs"
