# PetscMuon. `make help` lists the targets.
#
# There is no configure step: PETSc and SLEPc are found by config/petsc.mk and what depends on them is generated into the build folder.

.DEFAULT_GOAL := all
.SUFFIXES:
.DELETE_ON_ERROR:

# These need no PETSc
PLAIN_GOALS := help clean checkstyle mutants check-newest check-deb check-removable
NEEDS_PETSC := $(if $(MAKECMDGOALS),$(filter-out $(PLAIN_GOALS),$(MAKECMDGOALS)),all)

ifneq ($(NEEDS_PETSC),)
include config/petsc.mk
include config/rules.mk
endif
include config/targets.mk
