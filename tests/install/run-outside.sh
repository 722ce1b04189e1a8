#!/bin/sh
#TEST timeoutfactor: 2
# Installs into a new prefix and behind DESTDIR, and builds and runs programs outside the tree: with petscmuon_common, with pkg-config and, where it is there, with CMake; in Fortran and in Python
set -eu
here=$PWD
prefix=$here/prefix
install() { "$MAKE" --no-print-directory -s -C "$PETSCMUON_DIR" install BUILD="$BUILD" "$@" >install.log 2>&1 || { cat install.log; exit 1; }; }
run() {
  "$prefix/share/petscmuon/bin/petscmuon-mpiexec" -n 2 "$@" -ef21_compressor topk -ef21_compressor_ratio 0.5 -ef21_server_compressor topk -ef21_server_compressor_ratio 0.5 >run.log 2>&1 || { cat run.log; exit 1; }
  grep -q "the loss fell below a tenth" run.log || { cat run.log; exit 1; }
}

install PREFIX="$prefix"
install PREFIX=/somewhere DESTDIR="$here/stage"
(cd "$prefix" && find . | sort) > prefix.list
(cd "$here/stage/somewhere" && find . | sort) > stage.list
cmp prefix.list stage.list
for name in man/man3/MuonStep.3 petscmuon/tutorials/ex1.c petscmuon/tutorials/torch.ipynb petscmuon/tutorials/nanogpt/README.md; do
  [ -s "$prefix/share/$name" ] || { echo "$name was not installed"; exit 1; }
done
# What is installed can be moved and knows nothing of the tree it came from
path() { printf '(^|[^[:alnum:]_.}-]|-[IL])%s(/|[^[:alnum:]_.-]|$)' "$(printf '%s' "$1" | sed 's/[][\\.*^$(){}?+|]/\\&/g')"; }
if grep -rE -e "$(path "$PETSCMUON_DIR")" -e "$(path "$BUILD")" "$prefix/include" "$prefix/lib/pkgconfig" "$prefix/lib/petscmuon" "$prefix/share"; then
  echo "names the tree"
  exit 1
fi
mv "$prefix" "$here/moved"
prefix=$here/moved

mkdir make pkgconfig cmake
cp "$PETSCMUON_DIR/tests/install/ex1.c" make
cp "$prefix/share/petscmuon/Makefile.user" make/makefile
MAKEFLAGS= "$MAKE" --no-print-directory -C make ex1 PETSCMUON_DIR="$prefix" > make.log 2>&1 || { cat make.log; exit 1; }
run make/ex1

PKG_CONFIG_PATH=$prefix/lib/pkgconfig:$PETSC_DIR/$PETSC_ARCH/lib/pkgconfig:$SLEPC_DIR/$PETSC_ARCH/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH
name=$(basename "$prefix"/lib/pkgconfig/*.pc .pc)
$PCC "$PETSCMUON_DIR/tests/install/ex1.c" -o pkgconfig/ex1 $(pkg-config --cflags --libs "$name") -lm
run pkgconfig/ex1

# The Fortran module is compiled beside the program, and the Python package finds the library by its own place; both are of real scalars
if [ "$name" = petscmuon ]; then
  mkdir fortran
  cp "$PETSCMUON_DIR/tests/fortran_train.F90" fortran/train.F90
  MAKEFLAGS= "$MAKE" --no-print-directory -C fortran -f "$prefix/share/petscmuon/Makefile.user" train PETSCMUON_DIR="$prefix" > fortran.log 2>&1 || { cat fortran.log; exit 1; }
  "$MPIEXEC" -n 2 fortran/train > fortran.log 2>&1 || { cat fortran.log; exit 1; }
  PETSCMUON_DIR= PYTHONPATH=$prefix/share/petscmuon/python "$PYTHON3" -c 'import petscmuon; petscmuon.Muon().destroy(); print(petscmuon._library.library().c._name)' > python.log 2>&1 || { cat python.log; exit 1; }
  grep -q "^$prefix/" python.log || { cat python.log; exit 1; }
fi
# What the README says to start with is there, and mpiexec for root and small machines
mkdir tutorial
for f in ex1.c ex2.c ex3.c nanogpt/nanogpt.c nanogpt/README.md; do test -f "$prefix/share/petscmuon/tutorials/$f"; done
cp "$prefix/share/petscmuon/tutorials/ex1.c" "$prefix/share/petscmuon/Makefile.user" tutorial
MAKEFLAGS= "$MAKE" --no-print-directory -C tutorial -f Makefile.user ex1 PETSCMUON_DIR="$prefix" > tutorial.log 2>&1 || { cat tutorial.log; exit 1; }
"$prefix/share/petscmuon/bin/petscmuon-mpiexec" -n 1 tutorial/ex1 > tutorial.log 2>&1 || { cat tutorial.log; exit 1; }

# A program of other headers says so, with both versions
mkdir other
cp "$prefix"/include/petscmuon*.h other
sed -i 's/\(VERSION_MINOR *\).*/\19/' other/petscmuonversion.h
$PCC -Iother "$PETSCMUON_DIR/tutorials/ex1.c" -o other/ex1 $(pkg-config --cflags --libs "$name") -lm
if "$MPIEXEC" -n 1 other/ex1 > other.log 2>&1 || ! grep -q "headers of PetscMuon 0.9.*the library that it runs with is $(pkg-config --modversion "$name")" other.log; then cat other.log; exit 1; fi

if command -v cmake > /dev/null; then
  cp "$PETSCMUON_DIR/tests/install/ex1.c" "$prefix/share/petscmuon/CMakeLists.txt" cmake
  { cmake -S cmake -B cmake/build && cmake --build cmake/build; } > cmake.log 2>&1 || { cat cmake.log; exit 1; }
  run cmake/build/ex1
fi
