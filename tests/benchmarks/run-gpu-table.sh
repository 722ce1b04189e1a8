#!/bin/sh
#TEST timeoutfactor: 1
# The tables of measurements on a card, from rows whose ratios are known: the least percentage of the large shapes, the faster of both torches, bytes over times of both directions, the better rate of products
set -eu
cd "$PETSCMUON_DIR/tests/benchmarks"
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cat > "$here/gpu.csv" <<EOF
check,Cuda,,0,0,0,,,,,0
gemm,petscmuon,bf16,4096,4096,1,1,600,,,
gemm,petscmuon,bf16,8192,8192,1,1,700,,,
gemm,torch,bf16,8192,8192,1,1,,710,,
polar,petscmuon,bf16,768,768,1,0.5,100,110,14,0.02
polar,petscmuon,bf16,2048,2048,1,2,500,600,71,0.02
polar,petscmuon,bf16,4096,4096,1,8,600,700,86,0.02
polar,petscmuon,single,768,768,1,5,10,11,50,1e-7
polar,petscmuon,bf16,768,3072,48,10,500,600,71,0.02
polar,petscmuon one by one,bf16,768,3072,48,20,250,300,36,0.02
list,petscmuon,bf16,0,0,72,4,400,450,57,0.02
step,matrices,bf16,0,0,72,15,,,,
step,embedding,bf16,50304,768,1,6,,,,
step,both,bf16,0,0,73,21,,,,
message,copy,single,8192,8192,1,1,4000,,100,
message,topk encode,single,8192,8192,1,3,1000,,25,
message,topk decode,single,8192,8192,1,1,5000,,125,
polar,torch eager,bf16,768,768,1,1,,50,,0.01
polar,torch compiled,bf16,768,768,1,0.75,,60,,0.01
polar,torch eager,bf16,768,3072,48,45,,50,,
list,torch eager,bf16,0,0,72,10,,50,,
EOF
awk -f gpu_table.awk "$here/gpu.csv" > "$here/gpu.md"
expect() {
  grep -qxF "$1" "$here/gpu.md" || { cat "$here/gpu.md"; echo "there is no line: $1"; exit 1; }
}
expect '| products alone, TFLOP/s | 700 | - |'
expect '| 768 x 768 | single | 5 | 10 | 11 | 50 | 1.0e-07 |'
expect '| 48 of 768 x 3072 | bf16 | 10 | 500 | 600 | 71 | 2.0e-02 |'
expect '| ms | bf16 | petscmuon one by one | torch eager | torch compiled | error of torch |'
expect '| 768 x 768 | 0.5 | - | 1 | 0.75 | 1.0e-02 |'
expect '| 72 of a 124M model | 4 | - | 10 | - | - |'
expect '| topk decode | 1 | 5000 | 125 |'
expect '| bf16 | 15 | 6 | 21 |'
expect '| bf16, the large shapes, % of products | 85 | 71 at least |'
expect '| times as fast as torch, every shape | more than 1 | 1.5 at least |'
expect '| times as fast as torch, many small matrices | 3 | 4.5 of one shape, 2.5 of a model |'
expect '| encode and decode, % of a copy | 50 | topk 50 |'
expect '| kernels of a step, bf16, ms | 20 at most | 21 |'
# Nothing measured is said so
printf 'check,Cuda,,0,0,0,,,,,0\n' | awk -f gpu_table.awk | grep -c 'not measured' | grep -qx 5
