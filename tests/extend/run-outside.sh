#!/bin/sh
#TEST timeoutfactor: 2
# A norm, a compressor, a type and an algorithm are made outside of the tree with the installed headers and library alone, and train together
set -eu
"$MAKE" --no-print-directory -s -C "$PETSCMUON_DIR" install BUILD="$BUILD" PREFIX="$PWD/prefix" > install.log 2>&1 || { cat install.log; exit 1; }
cp "$PETSCMUON_DIR"/tests/extend/*.[ch] .
PKG_CONFIG_PATH=$PWD/prefix/lib/pkgconfig:$PETSC_DIR/$PETSC_ARCH/lib/pkgconfig:$SLEPC_DIR/$PETSC_ARCH/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH
# One for each room's header, alone and with warnings as errors
for source in *.c; do
  $PCC -Wall -Wextra -Wno-unused-parameter -Werror -c "$source" $(pkg-config --cflags petscmuon)
done
$PCC ./*.o -o extend $(pkg-config --libs petscmuon) -lm
for ranks in 1 3; do
  "$MPIEXEC" -n $ranks ./extend -own_compressor halve -own_compressor_halve_factor 0.25 -lmo_type rowl21 -muon_layer_own_type signsgd -ef21_compressor_layers all -ef21_compressor halve -ef21_server_compressor halve -muon_weight_decay 0 > run.log 2>&1 || { cat run.log; exit 1; }
  grep -q "norm, compressor, type and algorithm work" run.log && ! grep "PetscMuon warning" run.log || { cat run.log; exit 1; }
done
# What is wrong is told of with the names of what is registered
if "$MPIEXEC" -n 1 ./extend -own_compressor halve -own_compressor_halve_factor 0.25 -lmo_type rowl2 > run.log 2>&1 || ! grep -q "rowl21" run.log; then
  cat run.log
  exit 1
fi
