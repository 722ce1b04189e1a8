#!/bin/bash
# Builds, tests and measures the kernels of a device on a machine that has CUDA, a C and a C++ compiler and a BLAS with LAPACK: tests/benchmarks/gpu.sh KOKKOS [ARCHITECTURE]
#
# KOKKOS is the prefix of a Kokkos that is built, or a folder with Kokkos' sources, which config/kokkos-cuda builds for ARCHITECTURE (sm_90) where there is cmake. Neither PETSc, MPI nor a network is needed. A Kokkos without CUDA
# serves to try this script. Environment:
#
#   RESULTS    the folder for gpu.csv, every number as it was measured; build-gpu, where everything is built, by default
#   J          jobs of the build, all processors by default
#   BLAS_LIBS, KOKKOS_LIBS   what links a BLAS with LAPACK, -lopenblas by default, and Kokkos, -lkokkoscore
#   SIZES      tiny takes a few entries of everything, to try it
#   CUDA_DIR   CUDA, /usr/local/cuda by default
#   BUILD_ONLY ends after the build
set -eu

if (($# < 1)); then
  sed -n '2,12s/^# \{0,1\}//p' "$0" >&2
  exit 1
fi
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
kokkos=$1
build=build-gpu
results=${RESULTS:-$build}
jobs=${J:-$(nproc)}
cuda=${CUDA_DIR:-/usr/local/cuda}
tiny=${SIZES:-}
PATH=$PATH:$cuda/bin
mkdir -p "$build/include" "$build/objects" "$build/tests" "$results"

headers_of() {
  local folder
  for folder in "$1/include" "$1/include/kokkos" "$1/include/trilinos"; do
    if [[ -f $folder/KokkosCore_config.h ]]; then echo "$folder" && return; fi
  done
}
headers=$(headers_of "$kokkos")
if [[ -z $headers ]]; then
  J="$jobs" config/kokkos-cuda "$kokkos" "${2:?the architecture, as sm_90}" "$build/kokkos"
  kokkos=$PWD/$build/kokkos/installed
  headers=$(headers_of "$kokkos")
  [[ -n $headers ]] || exit 1
fi
has() { grep -q "define $1\$" "$headers/KokkosCore_config.h"; }

# How BLAS is called, which make finds out from PETSc elsewhere
printf '#pragma once\n#define MUON_KERNEL_BLAS_UNDERSCORE 1\n#define PETSCMUON_HAVE_KOKKOS 1\n' >"$build/include/petscmuonconf.h"
standard=$(sed -n 's/^#define KOKKOS_ENABLE_CXX\([0-9]*\)$/\1/p' "$headers/KokkosCore_config.h" | tail -1)
includes=(-Iinclude "-I$build/include" -Isrc -Isrc/kernels -Isrc/kernels/kokkos -Itests)
read -ra cc <<<"${CC:-cc}"
read -ra host <<<"${CXX:-g++}"
cc+=(-O2 -std=c99 -ffp-contract=off "${includes[@]}")
read -ra blas <<<"${BLAS_LIBS:--lopenblas}"
if ! printf 'void sgesvd_(void);\nint main(void)\n{\n  sgesvd_();\n  return 0;\n}\n' | "${cc[@]}" -x c - -x none -o "$build/blas" "${blas[@]}"; then
  echo "gpu.sh: ${blas[*]} has no LAPACK; BLAS_LIBS names another" >&2
  exit 1
fi
libs=()
for folder in "$kokkos"/lib "$kokkos"/lib64 "$kokkos"/lib/*-linux-gnu; do
  if [[ -d $folder ]]; then libs+=("-L$folder" "-Wl,-rpath,$folder"); fi
done
read -ra more <<<"${KOKKOS_LIBS:--lkokkoscore}"
libs+=("${more[@]}" "${blas[@]}")
if has KOKKOS_ENABLE_CUDA; then
  arch=$(sed -n 's/^#define KOKKOS_ARCH_[A-Z]*\([0-9][0-9]*\)$/\1/p' "$headers/KokkosCore_config.h" | sort -n | tail -1)
  cxx=(nvcc -x cu)
  if [[ -x $kokkos/bin/nvcc_wrapper ]]; then cxx=("$kokkos/bin/nvcc_wrapper"); fi
  cxx+=(-arch="sm_$arch" --extended-lambda --expt-relaxed-constexpr --fmad=false -Xcompiler -ffp-contract=off)
  link=(nvcc -arch="sm_$arch")
  vendor=vendorcuda.cu
  # The driver is there when the program runs; where the toolkit is for linking only, so is its stand-in
  libs+=("-L$cuda/lib64" "-L$cuda/lib64/stubs" "-Wl,-rpath,$cuda/lib64" -lcublas -lcusolver -lcudart -lcuda)
else
  cxx=("${host[@]}" -ffp-contract=off)
  if has KOKKOS_ENABLE_OPENMP; then
    cxx+=(-fopenmp)
    libs+=(-fopenmp)
  fi
  link=("${host[@]}")
  vendor=vendorhost.c
fi
libs+=(-ldl -lm)
# nvcc passes on what is the linker's
if [[ ${link[0]} == nvcc ]]; then libs=("${libs[@]/#-Wl,/-Xlinker=}"); fi
cxx+=(-O2 -std=c++"$standard" -isystem "$headers" "${includes[@]}")

# The tests of the kernels on both columns, and what measures them; the slowest files first, as many at once as there are jobs
library=(src/kernels/kokkos/{messages,polar,passes,device}.kokkos.cxx "src/kernels/kokkos/$vendor" src/kernels/{array,codec,dense}/*.c src/wire/*.c)
mapfile -t programs < <(grep -l TestColumn tests/kernels_*.c)
programs+=(tests/benchmarks/gpu.c)
object_of() { echo "$build/objects/$(basename "$1").o"; }
compile() {
  local command="${cxx[*]}"
  [[ $1 != *.c ]] || command="${cc[*]}"
  printf '%s -c %s -o %s\0' "$command" "$1" "$(object_of "$1")"
}
for source in "${library[@]}" "${programs[@]}"; do compile "$source"; done | xargs -0 -P "$jobs" -I{} sh -c '{}'
objects=()
for source in "${library[@]}"; do objects+=("$(object_of "$source")"); done
for source in "${programs[@]}"; do "${link[@]}" "$(object_of "$source")" "${objects[@]}" -o "$build/tests/$(basename "$source" .c)" "${libs[@]}"; done
if [[ -n ${BUILD_ONLY:-} ]]; then exit 0; fi

# What ends badly does not stop the rest, and nothing hangs; the most wanted first
failed=()
run() {
  echo "== $*"
  timeout -k 5 60 "$@" 2>&1 || failed+=("$*: status $?")
}
gpu=("$build/tests/gpu" ${tiny:+tiny} csv "$results/gpu.csv")
rm -f "$results/gpu.csv"
for source in "${programs[@]}"; do
  if [[ $source == tests/kernels_* ]]; then run "$build/tests/$(basename "$source" .c)" device; fi
done
run "${gpu[@]}" check
for numbers in bf16 tf32 single double; do
  for part in polar many list step; do run "${gpu[@]}" $part $numbers; done
done
run "${gpu[@]}" messages
printf '%s: %s, Kokkos %s\n' "$results/gpu.csv" "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null || echo no GPU)" "$(sed -n 's/^#define KOKKOS_VERSION //p' "$headers/KokkosCore_config.h")"
if ((${#failed[@]} > 0)); then
  printf 'failed: %s\n' "${failed[@]}"
  exit 1
fi
