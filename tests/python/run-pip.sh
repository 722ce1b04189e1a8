#!/bin/sh
#TEST requires: numpy pip setuptools wheel
# pip installs the package without a network and a compiler; it finds the library by pkg-config, below PETSC_DIR, and else says what to do
set -eu
fail() {
  echo "$1"
  exit 1
}
for python in "$PYTHON3" /usr/bin/python3; do
  if "$python" -c 'import numpy, pip, setuptools, wheel' 2> /dev/null; then break; fi
done
cp -r "$PETSCMUON_DIR/share/petscmuon/python" source
"$python" -m pip install --quiet --disable-pip-version-check --no-index --no-build-isolation --no-deps --target site ./source > pip.log 2>&1 || { cat pip.log; exit 1; }
header=$PETSCMUON_DIR/include/petscmuonversion.h
version=$(awk '/#define PETSCMUON_VERSION_(MAJOR|MINOR|SUBMINOR) /{printf "%s%s", dot, $3; dot = "."}' "$header")
[ -d "site/petscmuon-$version.dist-info" ] || fail "installed $(ls -d site/*.dist-info), expected version $version of petscmuonversion.h"

# One process, and no MPI of Python's
cat > program.py <<'END'
import numpy, petscmuon
w = numpy.ones((2, 2))
with petscmuon.Muon(options="-lmo_type max -muon_momentum 0 -muon_learning_rate 0.5 -muon_schedule constant") as muon:
  layer = muon.add_layer("w", w)
  layer.set_gradient(w.copy())
  muon.step()
assert (w == 0.5).all(), w
print(petscmuon.__file__)
END
unset PETSCMUON_DIR PETSC_ARCH PKG_CONFIG_PATH
PYTHONPATH=$PWD/site PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH PYTHONDONTWRITEBYTECODE
PKG_CONFIG_PATH=$BUILD/lib/pkgconfig "$MPIEXEC" -n 0 "$python" program.py > run.log 2>&1 || { cat run.log; exit 1; }
grep -q "$PWD/site/petscmuon" run.log || fail "another package than the installed one was imported: $(cat run.log)"

found='import ctypes.util, petscmuon._library as library; ctypes.util.find_library = lambda name: None; print(library._find())'
mkdir -p petsc/arch/lib
touch petsc/arch/lib/libpetscmuon.so
for place in "$PWD/petsc arch" "$PWD/petsc/arch "; do
  set -- "${place%% *}" "${place#* }"
  [ "$(PKG_CONFIG=false PETSC_DIR=$1 PETSC_ARCH=$2 "$python" -c "$found")" = "$PWD/petsc/arch/lib/libpetscmuon.so" ] || fail "not found below PETSC_DIR=$1 PETSC_ARCH=$2"
done
if PKG_CONFIG=false PETSC_DIR=$PWD "$python" -c "$found" > none.log 2>&1; then fail "a library was found where there is none: $(cat none.log)"; fi
for word in "make install PREFIX=" PETSCMUON_DIR PKG_CONFIG_PATH; do
  grep -q "petscmuon._library.Error: .*$word" none.log || { cat none.log; fail "no word of $word"; }
done
