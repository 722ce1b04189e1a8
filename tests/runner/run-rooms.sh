#!/bin/sh
#TEST requires: clang++
# The rooms that know nothing of PETSc compile without its headers, as pedantic C99 and as C++11, and every header of ours stands alone
set -eu
cd "$PETSCMUON_DIR"
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
files=0
for f in src/wire/*.[ch] src/file/*.[ch] src/transport/*.[ch] src/kernels/[!k]*/*.[ch]; do
  printf '#include "%s"\n' "$PWD/$f" > "$here/one.c"
  $PCC -std=c99 -Wpedantic -Wall -Wextra -Wno-unused-parameter -Wno-unused-function -Wno-unused-const-variable -Werror -fsyntax-only -Iinclude -I"$BUILD/include" "$here/one.c" || { echo "$f is not C99 by itself"; exit 1; }
  OMPI_CC=clang++ MPICH_CC=clang++ $PCC -x c++ -std=c++11 -Wno-unused-command-line-argument -Wall -Wextra -Wno-unused-parameter -Wno-unused-function -Wno-unused-const-variable -Werror -fsyntax-only -Iinclude -I"$BUILD/include" "$here/one.c" || {
    echo "$f is not C++11 by itself"
    exit 1
  }
  files=$((files + 1))
done
test $files -gt 40
