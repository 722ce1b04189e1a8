#!/bin/sh
#TEST timeoutfactor: 1
# make refuses a PETSc that PetscMuon cannot work with, with one clear line and before it writes anything
set -eu
unset MAKEFLAGS

# petsc SCALAR PRECISION MINOR SHARED SLEPC_MINOR
petsc() {
  rm -rf petsc slepc build
  mkdir -p petsc/lib/petsc/conf petsc/include slepc/lib/slepc/conf slepc/include
  echo "include $PWD/petsc/lib/petsc/conf/petscvariables" > petsc/lib/petsc/conf/variables
  printf 'PETSC_SCALAR = %s\nPETSC_PRECISION = %s\nBUILDSHAREDLIB = %s\nCLANGUAGE = C\nPCC = cc\nPETSC_LIB_BASIC = -lpetsc\n' "$1" "$2" "$4" > petsc/lib/petsc/conf/petscvariables
  printf '#define PETSC_VERSION_MAJOR 3\n#define PETSC_VERSION_MINOR %s\n#define PETSC_VERSION_SUBMINOR 1\n' "$3" > petsc/include/petscversion.h
  : > petsc/include/petscconf.h
  echo 'SHLIBS = libslepc' > slepc/lib/slepc/conf/slepcvariables
  printf '#define SLEPC_VERSION_MAJOR 3\n#define SLEPC_VERSION_MINOR %s\n#define SLEPC_VERSION_SUBMINOR 1\n' "$5" > slepc/include/slepcversion.h
}
make_it() { "$MAKE" --no-print-directory -C "$PETSCMUON_DIR" lib BUILD="$PWD/build" PETSC_DIR="$PWD/petsc" PETSC_ARCH="${ARCH:-}" SLEPC_DIR="$PWD/slepc" "$@" > log 2>&1; }
refuses() {
  if make_it; then
    echo "accepted: expected '$1'"
    exit 1
  fi
  if ! grep -q -e "$1" log || [ "$(wc -l < log)" -ne 1 ] || [ -e build ]; then
    echo "expected the one line '$1', found"
    cat log
    exit 1
  fi
}

petsc real __float128 26 yes 26
refuses "double or single precision"
petsc real double 17 yes 17
refuses "PetscMuon needs PETSc 3.18 or newer"
petsc real double 26 yes 25
refuses "does not belong to PETSc 3.26.1"
petsc real double 26 no 26
refuses "shared library"
petsc real double 26 yes 26
ARCH=no-such-arch refuses "has not been configured for PETSC_ARCH='no-such-arch'"
rm -rf petsc
refuses "holds no lib/petsc/conf/variables"

# What is not refused is built with
petsc real single 26 yes 26
make_it -n || { cat log; exit 1; }
