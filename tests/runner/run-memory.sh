#!/bin/sh
#TEST timeoutfactor: 2
# An allocation that fails on one of two ranks ends both, while the other one waits for it: early, in the steps, and late
set -eu
"$MAKE" --no-print-directory -s -C "$PETSCMUON_DIR" BUILD="$BUILD" "$BUILD/tests/muon_memory" > make.log 2>&1 || { cat make.log; exit 1; }
for fraction in 2 50 97; do
  status=0
  timeout 100 $MPIEXEC -n 2 "$BUILD/tests/muon_memory" -fraction $fraction > run.log 2>&1 || status=$?
  test $status != 0 && test $status != 124 || { cat run.log; echo "status $status after an allocation failed at $fraction hundredths"; exit 1; }
  grep -q "PETSC ERROR" run.log && ! grep -q "Nobody said" run.log || { cat run.log; echo "no error after an allocation failed at $fraction hundredths"; exit 1; }
done
