#!/bin/sh
#TEST requires: !cuda
# What make reads off a Kokkos that is installed, in the layouts of Kokkos, Debian and Trilinos: the standard of C++, OpenMP, the library; one with CUDA is left out where PETSc has none
set -eu
unset MAKEFLAGS
for kokkos in $(sed -n 's/^#define \(PETSC_HAVE_KOKKOS\) 1$/\1/p' "$PETSC_DIR/$PETSC_ARCH/include/petscconf.h"); do
  echo "PETSc has a Kokkos, beside which there is no other ($kokkos)"
  exit 0
done
make_it() { "$MAKE" --no-print-directory -C "$PETSCMUON_DIR" BUILD="$PWD/build" PETSC_DIR="$PETSC_DIR" PETSC_ARCH="$PETSC_ARCH" SLEPC_DIR="$SLEPC_DIR" KOKKOS_DIR="$PWD/$1" "$2" "$3"; }
# layout NAME HEADERS LIBRARY MACRO...
layout() {
  mkdir -p "$1/include/$2" "$1/$(dirname "$3")"
  : > "$1/$3"
  name=$1 headers=$1/include/$2
  shift 3
  for macro; do echo "#define KOKKOS_ENABLE_$macro"; done > "$headers/KokkosCore_config.h"
  echo '/* #undef KOKKOS_ENABLE_CXX17 */' >> "$headers/KokkosCore_config.h"
}
# expect WORD...: words of the commands for a source of the room
expect() {
  make_it "$name" -n "$PWD/build/obj/src/kernels/kokkos/passes.kokkos.o" > commands 2>&1 || { cat commands; exit 1; }
  for word; do grep -q -e " $word " commands || { cat commands; echo "$name: no $word"; exit 1; }; done
}
found() { make_it "$name" -s info | grep -qx "Kokkos *$1" || { make_it "$name" -s info; echo "$name: not $1"; exit 1; }; }
layout own . lib/libkokkoscore.a SERIAL CXX17
expect -std=c++17 "-isystem $PWD/own/include"
layout debian kokkos lib/x86_64-linux-gnu/libkokkoscore.so SERIAL OPENMP CXX20
expect -std=c++20 -fopenmp "-isystem $PWD/debian/include/kokkos"
found "$PWD/debian/lib/x86_64-linux-gnu/libkokkoscore.so"
layout trilinos trilinos lib/x86_64-linux-gnu/libtrilinos_kokkoscore.so SERIAL CXX14
expect -std=c++14 "-isystem $PWD/trilinos/include/trilinos"
found "$PWD/trilinos/lib/x86_64-linux-gnu/libtrilinos_kokkoscore.so"
layout card . lib/libkokkoscore.a SERIAL CUDA CXX17
found no
