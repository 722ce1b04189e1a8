#!/bin/sh
#TEST timeoutfactor: 2
# A TAO program that was built with PETSc alone trains with -tao_type muon, which comes by -dll_append
set -eu
export PKG_CONFIG_PATH="$PETSC_DIR/$PETSC_ARCH/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
$PCC "$PETSCMUON_DIR/tutorials/ex6.c" -o unaware $(pkg-config --cflags --libs PETSc) -Wl,-rpath,"$(pkg-config --variable=libdir PETSc)" -lm
if ldd unaware | grep -i petscmuon || grep -c "MuonCreate" unaware; then
  echo "the program knows the library"
  exit 1
fi
run() { "$MPIEXEC" -n 2 ./unaware -options_left "$@" > run.log 2>&1 || { cat run.log; exit 1; }; }
expect() { grep -q "$1" run.log || { cat run.log; exit 1; }; }
muon="-dll_append $BUILD/lib/libpetscmuon.so -tao_type muon"

run $muon -compose
expect "muon: DIVERGED_MAXITS after 300 iterations, loss below a tenth of what it was: yes"
run $muon -muon_adamw_learning_rate 0.05
expect "the solution is one vector, layer \"x\", updated by the type adamw"
expect "muon: DIVERGED_MAXITS after 300 iterations, loss below a tenth of what it was: yes"
# All of TAO's own types are still there
run -dll_append "$BUILD/lib/libpetscmuon.so" -tao_type lmvm
expect "lmvm: "
