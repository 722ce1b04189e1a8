# Finds PETSc and SLEPc: PETSC_DIR, PETSC_ARCH and SLEPC_DIR where they are set, else what pkg-config knows.
#
# Only PETSc's variables are read, not its rules, so that none of its targets mixes with ours.

PKG_CONFIG ?= pkg-config
# $(call pc_prefix,names): the prefix of the first of these that pkg-config knows
pc_prefix = $(firstword $(shell for p in $1; do $(PKG_CONFIG) --variable=prefix $$p 2>/dev/null; done))

ifeq ($(strip $(PETSC_DIR)),)
  override PETSC_DIR  := $(call pc_prefix,petsc PETSc)
  override PETSC_ARCH :=
  $(if $(PETSC_DIR),,$(error PETSc was not found: set PETSC_DIR (and PETSC_ARCH), or let pkg-config find it, or run ./config/bootstrap))
  # The prefix of a PETSc used from its source tree is $PETSC_DIR/$PETSC_ARCH
  ifeq ($(wildcard $(PETSC_DIR)/lib/petsc/conf/variables),)
    override PETSC_ARCH := $(notdir $(PETSC_DIR))
    override PETSC_DIR  := $(patsubst %/,%,$(dir $(PETSC_DIR)))
  endif
endif
$(if $(wildcard $(PETSC_DIR)/lib/petsc/conf/variables),,$(error PETSC_DIR=$(PETSC_DIR) holds no lib/petsc/conf/variables))
$(if $(wildcard $(PETSC_DIR)/$(PETSC_ARCH)/lib/petsc/conf/petscvariables),,$(error PETSC_DIR=$(PETSC_DIR) has not been configured for PETSC_ARCH='$(PETSC_ARCH)'))
PETSC_ARCH_DIR := $(patsubst %/,%,$(PETSC_DIR)/$(PETSC_ARCH))

# A SLEPc of the source tree that belongs to this PETSC_ARCH, an installed one otherwise
ifeq ($(strip $(SLEPC_DIR)),)
  override SLEPC_DIR := $(call pc_prefix,slepc SLEPc)
  $(if $(SLEPC_DIR),,$(error SLEPc was not found: set SLEPC_DIR, or let pkg-config find it, or run ./config/bootstrap))
  ifneq ($(PETSC_ARCH),)
    override SLEPC_DIR := $(patsubst %/$(PETSC_ARCH),%,$(SLEPC_DIR))
  endif
endif
SLEPC_ARCH_DIR := $(firstword $(patsubst %/lib/slepc/conf/slepcvariables,%,$(wildcard $(addsuffix /lib/slepc/conf/slepcvariables,$(SLEPC_DIR)/$(PETSC_ARCH) $(SLEPC_DIR)))))
SLEPC_ARCH_DIR := $(patsubst %/,%,$(SLEPC_ARCH_DIR))
$(if $(SLEPC_ARCH_DIR),,$(error SLEPC_DIR=$(SLEPC_DIR) holds no SLEPc for PETSC_ARCH='$(PETSC_ARCH)'))

include $(PETSC_DIR)/lib/petsc/conf/variables
# SLEPc's list of libraries has the same name as PETSc's
SHLIBS        :=
include $(SLEPC_ARCH_DIR)/lib/slepc/conf/slepcvariables
SLEPC_LIBS    := $(patsubst lib%,-l%,$(SHLIBS))
PETSC_LIBS    := $(firstword $(PETSC_LIB_BASIC))
# make leads with the user's shell commands, which PETSc's choice of bash would change
SHELL         := /bin/sh

# $(call header_number,file,macro)
header_number = $(shell awk '$$2 == "$2" {print $$3; exit}' $1)
PETSC_MINOR   := $(call header_number,$(PETSC_DIR)/include/petscversion.h,PETSC_VERSION_MINOR)
PETSC_VERSION := $(call header_number,$(PETSC_DIR)/include/petscversion.h,PETSC_VERSION_MAJOR).$(PETSC_MINOR).$(call header_number,$(PETSC_DIR)/include/petscversion.h,PETSC_VERSION_SUBMINOR)
SLEPC_VERSION_H := $(firstword $(wildcard $(SLEPC_DIR)/include/slepcversion.h $(SLEPC_ARCH_DIR)/include/slepcversion.h))
SLEPC_MINOR   := $(call header_number,$(SLEPC_VERSION_H),SLEPC_VERSION_MINOR)
SLEPC_VERSION := $(call header_number,$(SLEPC_VERSION_H),SLEPC_VERSION_MAJOR).$(SLEPC_MINOR).$(call header_number,$(SLEPC_VERSION_H),SLEPC_VERSION_SUBMINOR)

$(if $(filter double single,$(PETSC_PRECISION)),,$(error PetscMuon needs a PETSc in double or single precision, and the one in $(PETSC_ARCH_DIR) is $(PETSC_PRECISION)))
$(if $(shell test "$(PETSC_MINOR)" -ge 18 && echo yes),,$(error PetscMuon needs PETSc 3.18 or newer, and the one in $(PETSC_ARCH_DIR) is $(PETSC_VERSION)))
$(if $(filter $(PETSC_MINOR),$(SLEPC_MINOR)),,$(error SLEPc $(SLEPC_VERSION) in $(SLEPC_DIR) does not belong to PETSc $(PETSC_VERSION) in $(PETSC_ARCH_DIR)))
$(if $(filter yes,$(BUILDSHAREDLIB)),,$(error PetscMuon needs a PETSc built as a shared library, and the one in $(PETSC_ARCH_DIR) is not))

PETSCCONF     := $(firstword $(wildcard $(PETSC_ARCH_DIR)/include/petscconf.h))
# $(call petsc_has,macro): not empty where petscconf.h defines it
petsc_has = $(shell awk '$$2 == "$1" {print 1; exit}' $(PETSCCONF))
PETSC_DEBUG   := $(call petsc_has,PETSC_USE_DEBUG)
