#!/bin/bash
# Builds, tests and measures the kernels of a device on a machine that has CUDA, a C++ compiler, a BLAS and cmake: tests/benchmarks/gpu.sh KOKKOS ARCHITECTURE
#
# KOKKOS is a folder with Kokkos' sources, which config/kokkos-cuda builds for ARCHITECTURE (sm_90), or the prefix of a Kokkos that is built. Needs neither PETSc nor MPI. BLAS_LIBS links a BLAS and LAPACK, -lopenblas by default.
# What is built lies in build-gpu. torch.optim.Muon is measured on the same card where PYTHON (python3) has torch.
set -eu

if (($# < 1)); then
  sed -n '2,5s/^# \{0,1\}//p' "$0" >&2
  exit 1
fi
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
kokkos=$1
build=build-gpu
mkdir -p "$build/include"
if [[ ! -f $kokkos/include/KokkosCore_config.h ]]; then kokkos=$(config/kokkos-cuda "$kokkos" "${2:?the architecture, as sm_90}" | tail -1); fi
# How BLAS is called, which make finds out from PETSc elsewhere
printf '#pragma once\n#define MUON_KERNEL_BLAS_UNDERSCORE 1\n#define PETSCMUON_HAVE_KOKKOS 1\n' >"$build/include/petscmuonconf.h"

headers=$kokkos/include
cuda=$(grep -c 'define KOKKOS_ENABLE_CUDA$' "$headers/KokkosCore_config.h" || true)
standard=$(sed -n 's/^#define KOKKOS_ENABLE_CXX\([0-9]*\)$/\1/p' "$headers/KokkosCore_config.h" | tail -1)
cflags=(-O2 -std=c99 -ffp-contract=off -Iinclude -I"$build/include" -Isrc/kernels -Isrc/kernels/kokkos)
if [[ $cuda != 0 ]]; then
  arch=$(sed -n 's/^#define KOKKOS_ARCH_[A-Z]*\([0-9][0-9]*\)$/sm_\1/p' "$headers/KokkosCore_config.h" | tail -1)
  cxx=("$kokkos/bin/nvcc_wrapper" -arch="$arch" --extended-lambda --expt-relaxed-constexpr --fmad=false -Xcompiler -ffp-contract=off)
  vendor=src/kernels/kokkos/vendorcuda.cu
  libs=(-lcublas -lcusolver -lcuda)
else
  cxx=("${CXX:-g++}" -ffp-contract=off)
  vendor=src/kernels/kokkos/vendorhost.c
  libs=()
fi
cxx+=(-O2 -std=c++"$standard" -isystem "$headers" -Iinclude -I"$build/include" -Isrc/kernels -Isrc/kernels/kokkos)

objects=()
# compile SOURCE COMMAND...
compile() {
  local object
  object=$build/$(basename "$1").o
  objects+=("$object")
  echo "  $1"
  "${@:2}" -c "$1" -o "$object"
}
for source in src/kernels/*.c; do compile "$source" "${CC:-cc}" "${cflags[@]}"; done
for source in src/kernels/kokkos/*.kokkos.cxx; do compile "$source" "${cxx[@]}"; done
if [[ $vendor == *.cu ]]; then compile "$vendor" "${cxx[@]}"; else compile "$vendor" "${CC:-cc}" "${cflags[@]}"; fi
compile tests/benchmarks/gpu.c "${CC:-cc}" "${cflags[@]}"
# shellcheck disable=SC2086
"${cxx[@]}" "${objects[@]}" -o "$build/gpu" -L"$kokkos/lib" ${KOKKOS_LIBS:--lkokkoscore} "${libs[@]}" ${BLAS_LIBS:--lopenblas} -ldl -lm
if [[ -n ${BUILD_ONLY:-} ]]; then exit 0; fi

# The tests of the kernels on both columns, and of the polar factors' arithmetic
for test in arithmetic lines natural norm quantize select slices factors; do
  "${CC:-cc}" "${cflags[@]}" -Itests -c "tests/kernels_$test.c" -o "$build/test.o"
  # shellcheck disable=SC2086
  "${cxx[@]}" "$build/test.o" $(printf '%s\n' "${objects[@]}" | grep -v '/gpu.c.o$') -o "$build/test" -L"$kokkos/lib" ${KOKKOS_LIBS:--lkokkoscore} "${libs[@]}" ${BLAS_LIBS:--lopenblas} -ldl -lm
  printf 'kernels_%s: ' "$test"
  "$build/test" device
done
"$build/gpu" "${SIZES:-all}"
if "${PYTHON:-python3}" -c 'import torch' 2>/dev/null; then "${PYTHON:-python3}" tests/benchmarks/gpu_torch.py; fi
