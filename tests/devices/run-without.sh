#!/bin/sh
#TEST requires: kokkos
# Without Kokkos: the sources that ask for it are compiled anew and linked with the other objects of the library. Layers on the host are moved, and one on a device is an error that names it
set -eu
cd "$PETSCMUON_DIR"
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
export PKG_CONFIG_PATH="$PETSC_DIR/$PETSC_ARCH/lib/pkgconfig:$SLEPC_DIR/$PETSC_ARCH/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
mkdir "$here/include"
cp "$BUILD"/include/*.h "$here/include"
sed -i '/PETSCMUON_HAVE_KOKKOS/d' "$here/include/petscmuonconf.h"
flags="-Iinclude $(pkg-config --cflags SLEPc PETSc)"
asks=$(grep -rl PETSCMUON_HAVE_KOKKOS src --include='*.c')
objects=
if nm "$BUILD/obj/src/kernels/table.o" | grep -q __asan_; then flags="$flags -fsanitize=address,undefined"; fi
for source in $(grep -v src/kernels/kokkos/ "$BUILD/obj/sources.list"); do
  object=$BUILD/obj/${source%.c}.o
  if echo "$asks" | grep -qx "$source"; then
    object=$here/$(basename "$source" .c).o
    $PCC -ffp-contract=off -I"$here/include" $flags -c "$source" -o "$object"
  fi
  objects="$objects $object"
done
libs=$(sed -n 's/^PETSCMUON_BASE_LIBS *= *//p' "$BUILD/lib/petscmuon/conf/petscmuonvariables")
if grep -q PETSCMUON_HAVE_ONEDNN "$here/include/petscmuonconf.h"; then libs="$libs ${ONEDNN_DIR:+-L$ONEDNN_DIR/lib -Wl,-rpath,$ONEDNN_DIR/lib} -ldnnl"; fi
$PCC tests/devices/without.c -o "$here/without" -I"$here/include" $flags $objects $libs
if nm "$here/without" | grep -i kokkos; then
  echo "the program knows Kokkos"
  exit 1
fi
cd "$here"
"$MPIEXEC" -n 2 ./without -lmo_type frobenius > run.log 2>&1 && grep -q "a step on the host" run.log || { cat run.log; exit 1; }
if "$MPIEXEC" -n 1 ./without -device > run.log 2>&1 || ! grep -q 'Layer "q": an array in the memory of a device, and this PetscMuon was built without Kokkos, expected that of the host' run.log; then
  cat run.log
  exit 1
fi
