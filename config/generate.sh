#!/bin/sh
# Writes what depends on PETSc into $BUILD: petscmuonconf.h, petscmuon.pc and the fragments for user makefiles. Called by make, which sets the variables.
set -eu

has() { awk -v m="$1" '$1 == "#define" && $2 == m {found = 1} END {exit !found}' "$PETSCCONF"; }
# A routine of the BLAS in double by its name there, as a program links with it
blas_has() {
  name=d$1
  if has PETSC_BLASLAPACK_UNDERSCORE; then name=${name}_; fi
  if has PETSC_BLASLAPACK_CAPS; then name=$(echo "$name" | tr a-z A-Z); fi
  printf 'void %s(void);\nint main(void) { %s(); return 0; }\n' "$name" "$name" | $PCC -o /dev/null -x c - -x none $BLAS_LIBS 2>/dev/null
}
# Whole or not at all, for a make that reads while another writes
write() { cat > "$BUILD/$1.$$" && mv -f "$BUILD/$1.$$" "$BUILD/$1"; }
define() { printf '#define %s %s\n' "$1" "$2"; }

mkdir -p "$BUILD/include" "$BUILD/lib/pkgconfig" "$BUILD/lib/petscmuon/conf"

{
  echo "#pragma once"
  echo
  echo "/* How this PetscMuon was built; generated. The rooms that know nothing of PETSc read the precision, the BLAS interface and the optional libraries here */"
  define PETSCMUON_PETSC_VERSION_MINOR "$PETSC_MINOR"
  # PetscRegressor came with 3.24; ours is of real numbers
  if [ "$PETSC_MINOR" -ge 24 ] && ! has PETSC_USE_COMPLEX; then define PETSCMUON_HAVE_REGRESSOR 1; fi
  if has PETSC_HAVE_64BIT_BLAS_INDICES; then define MUON_KERNEL_BLAS_INT64 1; fi
  if has PETSC_BLASLAPACK_UNDERSCORE; then define MUON_KERNEL_BLAS_UNDERSCORE 1; fi
  if has PETSC_BLASLAPACK_CAPS; then define MUON_KERNEL_BLAS_CAPS 1; fi
  if blas_has gemmt; then define MUON_KERNEL_HAVE_GEMMT 1; fi
  if [ -n "$HAVE_ONEDNN" ]; then define PETSCMUON_HAVE_ONEDNN 1; fi
  if [ -n "$HAVE_KOKKOS" ]; then define PETSCMUON_HAVE_KOKKOS 1; fi
} | write include/petscmuonconf.h

# The fragments find the prefix from their own place, so that an installation can be moved or staged behind DESTDIR
write "lib/pkgconfig/$NAME.pc" <<END
prefix=\${pcfiledir}/../..
includedir=\${prefix}/include
libdir=\${prefix}/lib

Name: PetscMuon
Description: Distributed, communication-compressed Muon optimizers for PETSc
Version: $VERSION
Requires: PETSc >= 3.$PETSC_MINOR, PETSc < 3.$((PETSC_MINOR + 1))
Requires.private: SLEPc >= 3.$PETSC_MINOR, SLEPc < 3.$((PETSC_MINOR + 1))
Cflags: -I\${includedir}
Libs: -L\${libdir} -Wl,-rpath,\${libdir} -l$NAME $RPATH
END

write lib/petscmuon/conf/petscmuonvariables <<END
PETSCMUON_VERSION   = $VERSION
PETSCMUON_NAME      = $NAME
PETSCMUON_BASE_LIBS = $BASE_LIBS
# The PETSc and the SLEPc that this PetscMuon was built with
PETSC_DIR  = $PETSC_DIR
PETSC_ARCH = $PETSC_ARCH
SLEPC_DIR  = $SLEPC_DIR
END

write lib/petscmuon/conf/petscmuon_common < config/petscmuon_common.mk
