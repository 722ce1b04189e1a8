#!/bin/bash
# Builds, tests and measures the kernels of a device on a machine that has CUDA, a C and a C++ compiler and a BLAS with LAPACK: tests/benchmarks/gpu.sh KOKKOS [ARCHITECTURE]
#
# KOKKOS is the prefix of a Kokkos that is built, or a folder with Kokkos' sources, which config/kokkos-cuda builds for ARCHITECTURE (sm_90) where there is cmake. Neither PETSc, MPI nor a network is needed. A Kokkos without CUDA
# serves to try this script. Environment:
#
#   RESULTS    the folder for gpu.csv, every number as it was measured, and gpu.md, the tables for the page on performance; build-gpu, where everything is built, by default
#   LIMIT      seconds for all of it, 540 by default: each stage has a limit too, so that one that hangs leaves the others their time
#   J          jobs of the build, all processors by default
#   BLAS_LIBS, KOKKOS_LIBS   what links a BLAS with LAPACK, -lopenblas by default, and Kokkos, -lkokkoscore
#   SIZES      tiny takes a few entries of everything, to try it
#   PYTHON     a Python; where it has torch, torch.optim.Muon is measured on the same card, and the packages that gpu_torch.py names where it has these
#   CUDA_DIR   CUDA, /usr/local/cuda by default
#   BUILD_ONLY ends after the build
set -eu

if (($# < 1)); then
  sed -n '2,14s/^# \{0,1\}//p' "$0" >&2
  exit 1
fi
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
kokkos=$1
build=build-gpu
results=${RESULTS:-$build}
limit=${LIMIT:-540}
jobs=${J:-$(nproc)}
cuda=${CUDA_DIR:-/usr/local/cuda}
tiny=${SIZES:-}
python=${PYTHON:-python3}
PATH=$PATH:$cuda/bin
rm -rf "$build/objects" "$build/tests"
mkdir -p "$build/include" "$build/objects" "$build/tests" "$results"
results=$(cd "$results" && pwd)
rm -f "$results/gpu.csv" "$results/gpu.md"

# stage SECONDS NAME COMMAND...: within its limit and what is left of all; what ends badly is counted and does not stop the rest
failed=()
stage() {
  local left=$((limit - SECONDS)) most=$1 name=$2 status=0
  shift 2
  ((left < most)) && most=$left
  if ((most < 1)); then
    echo "== $name: no time left"
    failed+=("$name")
    return
  fi
  echo "== $name"
  timeout -k 5 "$most" "$@" 2>&1 || status=$?
  ((status == 0)) || failed+=("$name ($([[ $status == 124 || $status == 137 ]] && echo "$most s were not enough" || echo "status $status"))")
  echo "   $name: at $SECONDS s"
}

headers_of() {
  local folder
  for folder in "$1/include" "$1/include/kokkos" "$1/include/trilinos"; do
    if [[ -f $folder/KokkosCore_config.h ]]; then echo "$folder" && return; fi
  done
}
headers=$(headers_of "$kokkos")
if [[ -z $headers ]]; then
  stage 300 Kokkos env J="$jobs" config/kokkos-cuda "$kokkos" "${2:?the architecture, as sm_90}" "$build/kokkos"
  kokkos=$PWD/$build/kokkos/installed
  headers=$(headers_of "$kokkos")
  [[ -n $headers ]] || exit 1
fi
has() { grep -q "define $1\$" "$headers/KokkosCore_config.h"; }

# How BLAS is called, which make finds out from PETSc elsewhere
printf '#pragma once\n#define MUON_KERNEL_BLAS_UNDERSCORE 1\n#define PETSCMUON_HAVE_KOKKOS 1\n' >"$build/include/petscmuonconf.h"
standard=$(sed -n 's/^#define KOKKOS_ENABLE_CXX\([0-9]*\)$/\1/p' "$headers/KokkosCore_config.h" | tail -1)
includes=(-Iinclude "-I$build/include" -Isrc/kernels -Isrc/kernels/kokkos -Itests)
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

# The slowest first, as many at once as there are jobs
object_of() { echo "$build/objects/$(basename "$1").o"; }
compile_all() {
  local source running=0 bad=0 command
  for source in src/kernels/kokkos/messages.kokkos.cxx "${sources[@]}"; do
    if [[ -e $(object_of "$source").started ]]; then continue; fi
    : >"$(object_of "$source").started"
    case $source in
      *.c) command=("${cc[@]}") ;;
      *) command=("${cxx[@]}") ;;
    esac
    if ((running >= jobs)); then
      wait -n || bad=1
      running=$((running - 1))
    fi
    echo "  $source"
    "${command[@]}" -c "$source" -o "$(object_of "$source")" &
    running=$((running + 1))
  done
  while ((running > 0)); do
    wait -n || bad=1
    running=$((running - 1))
  done
  return $bad
}
library=(src/kernels/kokkos/*.kokkos.cxx src/kernels/kokkos/$vendor src/kernels/*.c src/wire/*.c)
# The tests of the kernels on both columns, and of the polar factors' arithmetic
tests=(tests/device_real.c)
for test in tests/kernels_*.c; do
  if grep -q TestColumn "$test"; then tests+=("$test"); fi
done
sources=("${library[@]}" "${tests[@]}" tests/benchmarks/gpu.c)
echo "== build, $jobs at once"
compile_all || exit 1
objects=()
for source in "${library[@]}"; do objects+=("$(object_of "$source")"); done
for source in "${tests[@]}" tests/benchmarks/gpu.c; do
  program=$build/tests/$(basename "$source" .c)
  "${link[@]}" "$(object_of "$source")" "${objects[@]}" -o "$program" "${libs[@]}"
done
echo "   build: at $SECONDS s"
if [[ -n ${BUILD_ONLY:-} ]]; then exit 0; fi

gpu=("$build/tests/gpu" ${tiny:+tiny} csv "$results/gpu.csv")
torch() {
  stage "$1" "torch, $2" env TORCHINDUCTOR_CACHE_DIR="$PWD/$build/inductor" "$python" tests/benchmarks/gpu_torch.py ${tiny:+tiny} csv "$results/gpu.csv" "$2"
}
for test in "${tests[@]}"; do stage 60 "$(basename "$test" .c)" "$build/tests/$(basename "$test" .c)" device; done
stage 60 check "${gpu[@]}" check
# The most wanted first
stage 60 "polar factors in bf16" "${gpu[@]}" polar bf16
stage 40 "many matrices in bf16" "${gpu[@]}" many bf16
stage 40 "the list in bf16" "${gpu[@]}" list bf16
stage 60 "the step in bf16" "${gpu[@]}" step bf16
have_torch=
if "$python" -c 'import torch' 2>/dev/null; then have_torch=1; else echo "== torch: $python has none"; fi
if [[ -n $have_torch ]]; then torch 60 eager; fi
stage 40 messages "${gpu[@]}" messages
if [[ -n $have_torch ]]; then torch 120 compiled; fi
for numbers in tf32 single double; do
  for part in polar many list step; do stage 40 "$part in $numbers" "${gpu[@]}" $part $numbers; done
done
if [[ -n $have_torch ]]; then torch 120 packages; fi

{
  card=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -1 | sed 's/, /, driver /') || true
  printf '%s, %s,' "$(date -u +%Y-%m-%d)" "${card:-no GPU}"
  if command -v nvcc >/dev/null; then printf ' CUDA %s,' "$(nvcc --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')"; fi
  printf ' Kokkos %s' "$(sed -n 's/^#define KOKKOS_VERSION \([0-9]*\)$/\1/p' "$headers/KokkosCore_config.h" | sed 's/^\(.*\)\(..\)\(..\)$/\1.\2.\3/; s/\.0/./g')"
  if [[ -n $have_torch ]]; then printf ', torch %s' "$("$python" -c 'import torch; print(torch.__version__)')"; fi
  printf '.\n\n'
  awk -f tests/benchmarks/gpu_table.awk "$results/gpu.csv"
} | tee "$results/gpu.md"
if ((${#failed[@]} > 0)); then
  printf 'failed: %s\n' "${failed[@]}"
  exit 1
fi
echo "all in $SECONDS s: $results/gpu.md, $results/gpu.csv"
