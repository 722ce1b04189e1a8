#!/bin/sh
#TEST timeoutfactor: 2
# What tutorials/nanogpt saves is measured in both directions, every row of it, and the table of comma-separated values has what is printed
set -eu
"$MAKE" --no-print-directory -s -C "$PETSCMUON_DIR" BUILD="$BUILD" "$BUILD/tutorials/nanogpt/nanogpt" "$BUILD/tests/benchmarks/wire" > make.log 2>&1 || { cat make.log; exit 1; }
$MPIEXEC -n 2 "$BUILD/tutorials/nanogpt/nanogpt" -nanogpt_preset quickstart -nanogpt_data "$PETSCMUON_DIR/README.md" -nanogpt_width 32 -nanogpt_heads 2 -nanogpt_blocks 1 -nanogpt_sequence 32 -nanogpt_batch 4 -nanogpt_holdout blocks \
  -nanogpt_steps 3 -nanogpt_runs ef21 -nanogpt_validation_end 4 -nanogpt_sample 0 -nanogpt_residuals residuals.bin -nanogpt_residuals_steps 0,2 > nanogpt.log
"$BUILD/tests/benchmarks/wire" -benchmark_rows 20 -benchmark_columns 30 -benchmark_rank_rows 10 -benchmark_repetitions 1 -benchmark_model_divide 32 -benchmark_residuals residuals.bin -benchmark_csv wire.csv > wire.log
grep -q "^up and down: 14 matrices each" wire.log || { echo "not 7 layers of 2 steps:"; grep "^up and down" wire.log; exit 1; }
for data in gaussian up down; do
  for table in costs rates; do sed -n "/^$table/,/^\$/p" wire.log | grep -c "^$data " > "$data.$table" || true; done
  grep -c "^$data," wire.csv > "$data.csv"
  test "$(sort -u "$data.costs" "$data.rates" "$data.csv" | wc -l)" = 1 || { echo "tables of $data have different rows"; exit 1; }
done
cmp gaussian.csv up.csv && cmp up.csv down.csv
# Top-10% with natural values costs the paper 0.1 (16 + 26) / 32 of 32 bits, but for what rounding down leaves out, and three times more than it sends
awk -F, '$2 == "topk 0.1 natural" && ($1 == "up" || $1 == "down") {n++; if ($3 != 40960 || $6 < 0.130 || $6 > 0.1313 || $7 > $6 / 3 || $8 > $7) bad = 1} END {exit bad || n != 2}' wire.csv || { echo "costs of the saved residuals:"; grep "topk 0.1 natural" wire.csv; exit 1; }
"$NUMPY_PYTHON3" "$PETSCMUON_DIR/share/petscmuon/plot.py" --wire -o wire.svg wire.csv
grep -q "topk 0.1 natural" wire.svg
