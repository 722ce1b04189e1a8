#!/bin/sh
#TEST timeoutfactor: 1
# A make with nothing to do does nothing, and several at once do not get into each other's way
set -eu
unset MAKEFLAGS

make_it() { "$MAKE" --no-print-directory -C "$PETSCMUON_DIR" lib BUILD="$PWD/build" ROOMS=transport PETSC_DIR="$PETSC_DIR" PETSC_ARCH="$PETSC_ARCH" SLEPC_DIR="$SLEPC_DIR" "$@"; }
make_it > log 2>&1 || { cat log; exit 1; }
keys=$(stat -c %Y build/include/petscmuonkeys.h)

# As after a change of a source that left its keys alone, and of one that left the list of sources alone
touch -d 2000-01-01 build/keys.stamp build/include/petscmuonkeys.h
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
test "$(stat -c %Y build/include/petscmuonkeys.h)" -lt "$keys"
stamp=$(stat -c %y build/keys.stamp)
make_it
if [ "$stamp" != "$(stat -c %y build/keys.stamp)" ] || find build -name '*.[0-9]*[0-9]' ! -name '*.so.*' | grep .; then
  echo "the keys are looked for at every make, or something was left over"
  exit 1
fi
