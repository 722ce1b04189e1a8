# The rows of tests/benchmarks/gpu.c and gpu_torch.py as tables for the page on performance, and what was aimed at beside what was reached: awk -f gpu_table.awk gpu.csv
BEGIN { FS = "," }
function put(x, form) { return x == "" ? "-" : sprintf(form, x) }
function name(key,   of) {
  split(key, of, ",")
  return of[1] == "list" ? of[4] " of a 124M model" : (of[4] > 1 ? of[4] " of " : "") of[2] " x " of[3]
}
function aim(what, wanted, reached) { print "| " what " | " wanted " | " (reached == "" ? "not measured" : reached) " |" }
$1 == "gemm" && $2 == "petscmuon" && $8 > gemm[$3] { gemm[$3] = $8 }
$1 == "gemm" && $2 == "petscmuon" && !($3 in isnumber) { isnumber[$3] = 1; number[++numbers] = $3 }
$1 == "polar" || $1 == "list" {
  key = $1 "," $4 "," $5 "," $6
  if (!(key in isshape)) { isshape[key] = 1; shape[++shapes] = key }
  if (!($2 in ishow) && $2 != "petscmuon") { ishow[$2] = 1; how[++hows] = $2 }
  if ($2 == "petscmuon") line[key, $3] = $0
  if ($2 == "petscmuon" && !($3 in isnumber)) { isnumber[$3] = 1; number[++numbers] = $3 }
  if ($2 != "petscmuon" && (!((key, $2) in other) || $3 == "bf16")) other[key, $2] = $7
  if ($2 == "torch eager") torcherror[key] = $11
}
$1 == "message" { message[++messages] = $0; ms[$2] = $7; gb[$2] = $8; if ($2 == "copy") copy = $8 }
$1 == "step" { if (!($3 in isstep)) { isstep[$3] = 1; step[++steps] = $3 } took[$3, $2] = $7 }
END {
  printf "| numbers |"; for (k = 1; k <= numbers; k++) printf " %s |", number[k]
  printf "\n|---|"; for (k = 1; k <= numbers; k++) printf "---|"
  printf "\n| products alone, TFLOP/s |"; for (k = 1; k <= numbers; k++) printf " %s |", put(gemm[number[k]], "%.4g")
  print "\n\n| matrices | numbers | ms | TFLOP/s | nominal | % of products | error |\n|---|---|---|---|---|---|---|"
  for (k = 1; k <= shapes; k++) for (p = 1; p <= numbers; p++) if ((shape[k], number[p]) in line) {
    split(line[shape[k], number[p]], of)
    printf "| %s | %s | %s | %s | %s | %s | %s |\n", name(shape[k]), number[p], put(of[7], "%.4g"), put(of[8], "%.4g"), put(of[9], "%.4g"), put(of[10], "%.3g"), put(of[11], "%.1e")
  }
  if (hows > 0) {
    printf "\n| ms | bf16 |"; for (k = 1; k <= hows; k++) printf " %s |", how[k]
    printf " error of torch |\n|---|---|"; for (k = 0; k <= hows; k++) printf "---|"
    print ""
    for (k = 1; k <= shapes; k++) {
      split(line[shape[k], "bf16"], of)
      printf "| %s | %s |", name(shape[k]), put(of[7], "%.4g")
      for (h = 1; h <= hows; h++) printf " %s |", put(other[shape[k], how[h]], "%.4g")
      printf " %s |\n", put(torcherror[shape[k]], "%.1e")
    }
  }
  if (messages > 0) {
    print "\n| kernel | ms | GB/s | % of a copy |\n|---|---|---|---|"
    for (k = 1; k <= messages; k++) { split(message[k], of); printf "| %s | %s | %s | %s |\n", of[2], put(of[7], "%.4g"), put(of[8], "%.4g"), put(of[10], "%.3g") }
  }
  if (steps > 0) {
    print "\n| kernels of a step, ms | matrices | embedding | both |\n|---|---|---|---|"
    for (k = 1; k <= steps; k++) printf "| %s | %.4g | %.4g | %.4g |\n", step[k], took[step[k], "matrices"], took[step[k], "embedding"], took[step[k], "both"]
  }
  # What was aimed at. Large is at least 2048 on both sides; torch is the faster of both
  least = slower = small = list = ""
  for (k = 1; k <= shapes; k++) {
    split(shape[k], of); split(line[shape[k], "bf16"], ours)
    if (ours[7] == "") continue
    if (of[1] == "polar" && of[2] >= 2048 && of[3] >= 2048 && (least == "" || ours[10] < least)) least = ours[10]
    best = ""
    for (h = 1; h <= hows; h++) if (how[h] ~ /^torch/ && other[shape[k], how[h]] != "" && (best == "" || other[shape[k], how[h]] + 0 < best + 0)) best = other[shape[k], how[h]]
    if (best == "") continue
    if (slower == "" || best / ours[7] < slower) slower = best / ours[7]
    if (of[1] == "polar" && of[4] > 1) small = best / ours[7]
    if (of[1] == "list") list = best / ours[7]
  }
  half = ""
  split("topk,natural,qsgd,sign", kind)
  for (k = 1; k <= 4; k++) if ((kind[k] " decode") in ms && copy > 0) {
    moved = gb[kind[k] " encode"] * ms[kind[k] " encode"] + gb[kind[k] " decode"] * ms[kind[k] " decode"]
    half = half sprintf("%s%s %.3g", half == "" ? "" : ", ", kind[k], 100 * moved / (ms[kind[k] " encode"] + ms[kind[k] " decode"]) / copy)
  }
  print "\n| aim | wanted | reached |\n|---|---|---|"
  aim("bf16, the large shapes, % of products", "85", least == "" ? "" : sprintf("%.3g at least", least))
  aim("times as fast as torch, every shape", "more than 1", slower == "" ? "" : sprintf("%.3g at least", slower))
  aim("times as fast as torch, many small matrices", "3", small == "" && list == "" ? "" : sprintf("%s of one shape, %s of a model", put(small, "%.3g"), put(list, "%.3g")))
  aim("encode and decode, % of a copy", "50", half)
  aim("kernels of a step, bf16, ms", "20 at most", (("bf16", "both") in took) ? sprintf("%.4g", took["bf16", "both"]) : "")
}
