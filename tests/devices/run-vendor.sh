#!/bin/sh
#TEST requires: nvcc
# The calls of cuBLAS and cuSOLVER compile for two kinds of GPU, with the headers of CUDA and without those of Kokkos and PETSc
set -eu
cd "$PETSCMUON_DIR"
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
for arch in sm_80 sm_90; do
  nvcc -std=c++17 -arch=$arch -Xcompiler -Wall,-Wextra,-Werror -Iinclude -I"$BUILD/include" -c src/kernels/kokkos/vendorcuda.cu -o "$here/$arch.o"
done
# Every function of the header is there
for name in $(sed -n 's/^\(int\|void\)[ *]*\(MuonVendor[A-Za-z]*\)(.*/\2/p' src/kernels/kokkos/muonvendor.h); do
  nm "$here/sm_90.o" | grep -q " T $name\$" || { echo "vendorcuda.cu has no $name()"; exit 1; }
done
