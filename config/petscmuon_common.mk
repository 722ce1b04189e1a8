# For user makefiles: include ${PETSCMUON_DIR}/lib/petscmuon/conf/petscmuon_common
#
# Brings the variables and rules of PETSc and SLEPc and makes `make ex1` build ex1 from ex1.c or ex1.F90 with PetscMuon.
# PETSCMUON_INCLUDE is for the compiler and PETSCMUON_LIB for the linker in rules of your own.
PETSCMUON_CONF := $(dir $(abspath $(lastword $(MAKEFILE_LIST))))
PETSCMUON_DIR  := $(abspath $(PETSCMUON_CONF)/../../..)

include ${PETSCMUON_CONF}/petscmuonvariables
include ${SLEPC_DIR}/lib/slepc/conf/slepc_common

PETSCMUON_INCLUDE = -I${PETSCMUON_DIR}/include
PETSCMUON_LIB     = -L${PETSCMUON_DIR}/lib -Wl,-rpath,${PETSCMUON_DIR}/lib -l${PETSCMUON_NAME} ${PETSCMUON_BASE_LIBS}
CCPPFLAGS        += ${PETSCMUON_INCLUDE}
CXXCPPFLAGS      += ${PETSCMUON_INCLUDE}
LDLIBS            = ${PETSCMUON_LIB}
LINK.c            = ${CLINKER} ${CCPPFLAGS} ${CPPFLAGS} ${LDFLAGS}

# PETSc's own rules for this differ between its releases
%.o : %.c
	${PCC} -o $@ -c ${PCC_FLAGS} ${CFLAGS} ${CCPPFLAGS} $<
% : %.o
	${CLINKER} -o $@ $^ ${LDFLAGS} ${LDLIBS}
% : %.c
	${LINK.c} -o $@ $^ ${LDLIBS}
# Fortran: the module is compiled with the program; one of several files makes petscmuon.o first
PETSCMUON_FORTRAN = $(or $(filter-out f77,${FC}),mpif90) ${FC_FLAGS} ${FFLAGS} ${PETSCMUON_INCLUDE} $(or ${PETSC_FC_INCLUDES},$(filter -I%,${PETSC_CC_INCLUDES}))
petscmuon.o : ${PETSCMUON_DIR}/include/petscmuon.f90
	${PETSCMUON_FORTRAN} -c $< -o $@
%.o : %.F90
	${PETSCMUON_FORTRAN} -c $< -o $@
% : %.F90
	${PETSCMUON_FORTRAN} -o $@ ${PETSCMUON_DIR}/include/petscmuon.f90 $< ${LDFLAGS} ${LDLIBS}
