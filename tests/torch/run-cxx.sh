#!/bin/sh
#TEST requires: torch
#TEST timeoutfactor: 4
# petscmuontorch.h with the libtorch of a Python that has torch: one program, because torch's headers take long to compile
set -eu
for python in "$PYTHON3" /usr/bin/python3; do
  if torch=$("$python" -c 'import os, torch; print(os.path.dirname(torch.__file__))' 2> /dev/null); then break; fi
done
conf=$BUILD/lib/petscmuon/conf/petscmuonvariables
libs=$(sed -n 's/^PETSCMUON_BASE_LIBS *= *//p' "$conf")
petsc=$(printf 'include %s/lib/petsc/conf/variables\nall:\n\t@echo $(PETSC_CC_INCLUDES)\n' "$PETSC_DIR" | "$MAKE" --no-print-directory -s -f - PETSC_DIR="$PETSC_DIR" PETSC_ARCH="$PETSC_ARCH" all)
${CXX:-mpicxx} -std=c++20 -O0 -Wall -Wextra -Werror -I"$PETSCMUON_DIR/include" -I"$BUILD/include" $(printf ' %s' $petsc | sed 's/ -I/ -isystem /g') -isystem "$torch/include" \
  -isystem "$torch/include/torch/csrc/api/include" "$PETSCMUON_DIR/tests/torch/optimizer.cxx" -o optimizer -L"$torch/lib" -Wl,--enable-new-dtags,--allow-shlib-undefined,-rpath,"$torch/lib" -ltorch -ltorch_cpu -lc10 -L"$BUILD/lib" -Wl,-rpath,"$BUILD/lib" -lpetscmuon $libs
# A process without mpiexec, and two ranks
for ranks in 0 2; do
  "$MPIEXEC" -n $ranks ./optimizer > run.log 2>&1 || { cat run.log; exit 1; }
  [ "$(grep -c 'below a tenth: yes' run.log)" = 2 ] || { cat run.log; exit 1; }
done
