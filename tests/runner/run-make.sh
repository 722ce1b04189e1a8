#!/bin/sh
#TEST timeoutfactor: 1
# A make with nothing to do does nothing, and several at once do not get into each other's way
set -eu
unset MAKEFLAGS

make_it() { "$MAKE" --no-print-directory -C "$PETSCMUON_DIR" lib BUILD="$PWD/build" ROOMS=transport PETSC_DIR="$PETSC_DIR" PETSC_ARCH="$PETSC_ARCH" SLEPC_DIR="$SLEPC_DIR" "$@"; }
make_it > log 2>&1 || { cat log; exit 1; }
for i in 1 2 3 4; do
  (make_it > "log.$i" 2>&1 && touch "done.$i") &
done
wait
for i in 1 2 3 4; do
  if [ ! -e "done.$i" ] || [ -s "log.$i" ]; then
    echo "one of four makes at once failed or did something:"
    cat "log.$i"
    exit 1
  fi
done
if find build -name '*.[0-9]*[0-9]' ! -name '*.so.*' | grep .; then
  echo "something was left over"
  exit 1
fi
