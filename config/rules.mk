# How sources become objects, the library and programs. Sources are found, never listed.

BUILD        ?= build-$(or $(PETSC_ARCH),installed)
# Restricts the library to some rooms, for instance ROOMS="wire transport"
ROOMS        ?= $(notdir $(patsubst %/,%,$(wildcard src/*/)))

VERSION_H    := include/petscmuonversion.h
MAJOR_MINOR  := $(call header_number,$(VERSION_H),PETSCMUON_VERSION_MAJOR).$(call header_number,$(VERSION_H),PETSCMUON_VERSION_MINOR)
VERSION      := $(MAJOR_MINOR).$(call header_number,$(VERSION_H),PETSCMUON_VERSION_SUBMINOR)

# These rooms know nothing of PETSc: they are compiled without its include path
FREE_ROOMS   := wire file transport kernels

LIB_SRC      := $(filter-out src/kernels/kokkos/%,$(wildcard $(foreach r,$(ROOMS),src/$r/*.c src/$r/*/*.c src/$r/*/*/*.c)))
TEST_SRC     := $(wildcard tests/*.c)
TUTORIAL_SRC := $(wildcard tutorials/*.c tutorials/mpi/*.c tutorials/science/*.c tutorials/theory/*.c tutorials/resnet/*.c)
NANOGPT_SRC  := $(wildcard tutorials/nanogpt/*.c)
BENCH_SRC    := $(wildcard tests/benchmarks/*.c)
FUZZ_SRC     := $(wildcard tests/fuzz/*.c)
FORTRAN_SRC  := $(wildcard tests/*.F90 tutorials/*.F90)

OBJ          := $(BUILD)/obj
LIB_OBJ       = $(LIB_SRC:%.c=$(OBJ)/%.o) $(KOKKOS_OBJ)
# Builds with real and with complex scalars have names of their own, as Debian's PETSc has: both fit into one folder of libraries
NAME         := petscmuon$(if $(filter complex,$(PETSC_SCALAR)),_complex)
LIBRARY      := $(BUILD)/lib/lib$(NAME).$(SL_LINKER_SUFFIX)
SONAME       := $(notdir $(LIBRARY)).$(MAJOR_MINOR)
INTERNAL     := $(BUILD)/libpetscmuon_internal.a
CONF_H       := $(BUILD)/include/petscmuonconf.h
PC           := $(BUILD)/lib/pkgconfig/$(NAME).pc
CONF_COMMON  := $(BUILD)/lib/petscmuon/conf/petscmuon_common
CONF_VARS    := $(BUILD)/lib/petscmuon/conf/petscmuonvariables
MODULE       := $(BUILD)/include/petscmuon.f90
GENERATED    := $(CONF_H) $(PC) $(CONF_COMMON) $(CONF_VARS)
BUILD_H      := $(BUILD)/include/petscmuonbuild.h

comma        := ,

# SANITIZE and WERROR are set by the targets of the same names, and by hand
SANITIZE_FLAGS := $(if $(SANITIZE),-fsanitize=address$(comma)undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g -O1)
WARN         := -Wall -Wextra -Wno-unused-parameter $(if $(WERROR),-Werror)
STD_C        := $(if $(filter C,$(CLANGUAGE)),-std=c99)
# PETSc's headers are not ours to warn about
SYSTEM_INCLUDES = $(patsubst -I%,-isystem %,$(filter-out -I/usr/include -I/usr/local/include,$1))
PETSC_INCLUDES := $(call SYSTEM_INCLUDES,-I$(SLEPC_ARCH_DIR)/include -I$(SLEPC_DIR)/include $(filter -I%,$(PETSC_CC_INCLUDES)))
OUR_INCLUDES := -Iinclude -I$(BUILD)/include
HIDDEN       := $(if $(call petsc_has,PETSC_USE_VISIBILITY_C),-fvisibility=hidden)

BASE_FLAGS   := $(PCC_FLAGS) $(CPP_FLAGS) $(WARN) $(SANITIZE_FLAGS)
# A product and a sum are two operations on every processor: results do not depend on which one it is
CONTRACT_TRY := $(PCC) -ffp-contract=off -o /dev/null -c -x c /dev/null 2>/dev/null && echo -ffp-contract=off
KERNEL_FLAGS := $(shell $(CONTRACT_TRY))
FREE_FLAGS   = $(BASE_FLAGS) $(STD_C) -Wpedantic $(HIDDEN) $(OUR_INCLUDES) $(ONEDNN_INCLUDES)
LIB_FLAGS    := $(BASE_FLAGS) $(STD_C) $(HIDDEN) $(OUR_INCLUDES) $(PETSC_INCLUDES)
# Tests and tutorials that start PETSc have a main() that can call theirs several times
CASES_MAIN   := tests/runner/main.c
CASES_SRC    := $(shell grep -lE '(Petsc|PetscMuon)Initialize.&argc' $(TEST_SRC) $(TUTORIAL_SRC) /dev/null)
PROGRAM_FLAGS := $(BASE_FLAGS) $(OUR_INCLUDES) -Isrc -Isrc/wire -Isrc/file -Isrc/transport -Isrc/kernels $(PETSC_INCLUDES)
# Most tests run for less time than -O2 takes to compile them; with -O1 compilers see paths on which nothing was set where there are none
TEST_FLAGS   := $(patsubst -O2,-O1 -Wno-uninitialized,$(patsubst -O3,-O2,$(PROGRAM_FLAGS)))
# $(call flags_of,source)
flags_of = $(if $(filter src/kernels/%,$1),$(KERNEL_FLAGS)) $(if $(filter $(FREE_ROOMS:%=src/%/%),$1),$(FREE_FLAGS),$(if $(filter src/%,$1),$(LIB_FLAGS),$(if $(filter $(TEST_SRC),$1),$(TEST_FLAGS),$(PROGRAM_FLAGS)))) $(if $(filter $(CASES_SRC),$1),-Dmain=MuonTestMain) $(CPPFLAGS) $(CFLAGS)

# What lies under the system's own library folders needs no rpath
rpath_to = $(patsubst %,-Wl$(comma)-rpath$(comma)%,$(filter-out /usr/lib/% /usr/lib64/%,$1))
BASE_LIBS    := -L$(SLEPC_ARCH_DIR)/lib $(call rpath_to,$(SLEPC_ARCH_DIR)/lib) $(SLEPC_LIBS) \
                -L$(PETSC_ARCH_DIR)/lib $(call rpath_to,$(PETSC_ARCH_DIR)/lib) $(PETSC_LIBS) $(BLASLAPACK_LIB) $(MPI_LIB) -lm
MUON_LIBS    := -L$(BUILD)/lib -Wl,-rpath,$(abspath $(BUILD)/lib) -l$(NAME)

# oneDNN, where there is one, multiplies bfloat16 matrices, and those in single precision where OpenBLAS is slow. ONEDNN_DIR is a prefix other than the system's, ONEDNN=0 leaves it out
ONEDNN       ?= 1
ONEDNN_INCLUDES := $(if $(ONEDNN_DIR),-isystem $(ONEDNN_DIR)/include)
ONEDNN_LIBS  := $(if $(ONEDNN_DIR),-L$(ONEDNN_DIR)/lib $(call rpath_to,$(ONEDNN_DIR)/lib)) -ldnnl
ONEDNN_TRY   := printf '\#include <oneapi/dnnl/dnnl.h>\nint main(void) { return dnnl_version()->major < 2; }\n' | $(PCC) $(ONEDNN_INCLUDES) -o /dev/null -x c - -x none $(ONEDNN_LIBS) 2>/dev/null && echo yes
HAVE_ONEDNN  := $(if $(filter-out 0,$(ONEDNN)),$(shell $(ONEDNN_TRY)))
ifeq ($(HAVE_ONEDNN),)
  ONEDNN_INCLUDES :=
  ONEDNN_LIBS     :=
endif

include config/kokkos.mk

# V=1 prints the commands
Q            := $(if $(V),,@)
say          = $(if $(V),,@printf '  %-8s %s\n' $1 $2)

# Objects and the library
$(OBJ)/%.o: %.c | $(GENERATED)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(PCC) $(call flags_of,$<) -MMD -MP -MF $(@:.o=.d) -c $< -o $@

$(CASES_SRC:%.c=$(OBJ)/%.o): $(CASES_MAIN)

$(LIBRARY): $(LIB_OBJ) $(OBJ)/sources.list | $(GENERATED)
	@mkdir -p $(@D)
	$(call say,LD,$@.$(VERSION))
	$(Q)$(PCC_LINKER) -shared $(PCC_LINKER_FLAGS) $(SANITIZE_FLAGS) -Wl,-soname,$(SONAME) -o $@.$(VERSION) $(LIB_OBJ) $(ONEDNN_LIBS) $(KOKKOS_LIBS) $(BASE_LIBS) $(LDFLAGS)
	@ln -sf $(notdir $@).$(VERSION) $(@D)/$(SONAME)
	@ln -sf $(SONAME) $@

# The same objects, for tests of what the library does not export
$(INTERNAL): $(LIB_OBJ) $(OBJ)/sources.list
	@rm -f $@
	$(call say,AR,$@)
	$(Q)$(AR) cr $@ $(LIB_OBJ)

# $(call refresh,file,command): what the command prints, where that is not there already. The file beside it is this shell's own: several makes may run at once
refresh = @mkdir -p $(dir $1); new=$1.$$$$; trap 'rm -f $$new' EXIT; $2 > $$new && { cmp -s $$new $1 || mv -f $$new $1; }

# Changes only when a source comes or goes, so that the library forgets the objects of deleted sources
$(OBJ)/sources.list: FORCE
	$(call refresh,$@,printf '%s\n' $(LIB_SRC) $(KOKKOS_SRC))

# Programs
# A test names what else it is made of in its TEST block: `link: internal` takes the archive in place of the library,
# `sources: tutorials/nanogpt/model.c` adds objects.
BLOCK_KEYS   := $(shell awk '/^ *(link|sources): / {key = $$1; $$1 = ""; gsub(/^ +| +$$/, ""); gsub(/ +/, ","); print FILENAME "=" key $$0}' $(TEST_SRC) $(TUTORIAL_SRC) $(BENCH_SRC) /dev/null)
# $(call block_key,source,key)
block_key    = $(sort $(subst $(comma), ,$(patsubst $1=$2:%,%,$(filter $1=$2:%,$(BLOCK_KEYS)))))
is_internal  = $(filter internal,$(call block_key,$1,link))
objects_of   = $(OBJ)/$(1:.c=.o) $(if $(filter $(CASES_SRC),$1),$(OBJ)/$(CASES_MAIN:.c=.o)) $(patsubst %.c,$(OBJ)/%.o,$(call block_key,$1,sources))
link_program = $(PCC_LINKER) $(PCC_LINKER_FLAGS) $(SANITIZE_FLAGS) -o $1 $2 $3 $(BASE_LIBS) $(LDFLAGS)
# $(call link_rule,program,objects): one that is linked with the library
define link_rule
$1: $2 | $(LIBRARY)
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)
	$$(Q)$$(call link_program,$$@.$$$$$$$$,$2,$$(MUON_LIBS)) && mv -f $$@.$$$$$$$$ $$@
endef

TEST_PROGRAMS     := $(TEST_SRC:%.c=$(BUILD)/%)
TUTORIAL_PROGRAMS := $(TUTORIAL_SRC:%.c=$(BUILD)/%)
BENCH_PROGRAMS    := $(BENCH_SRC:%.c=$(BUILD)/%)
NANOGPT           := $(if $(NANOGPT_SRC),$(BUILD)/tutorials/nanogpt/nanogpt)

define program_rule
$(BUILD)/$(1:.c=): $(call objects_of,$1) $(if $(call is_internal,$1),$(INTERNAL),| $(LIBRARY))
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)
	$$(Q)$$(call link_program,$$@,$(call objects_of,$1),$(if $(call is_internal,$1),$(INTERNAL) $$(ONEDNN_LIBS) $$(KOKKOS_LIBS),$$(MUON_LIBS)))
endef
$(foreach s,$(TEST_SRC) $(TUTORIAL_SRC) $(BENCH_SRC),$(eval $(call program_rule,$s)))

$(eval $(call link_rule,$(BUILD)/tutorials/nanogpt/nanogpt,$(NANOGPT_SRC:%.c=$(OBJ)/%.o)))

# The tables of parameters as text, for the manual
$(eval $(call link_rule,$(BUILD)/config/tools/parameters,$(OBJ)/config/tools/parameters.o))
$(BUILD)/parameters.tsv: $(BUILD)/config/tools/parameters $(LIBRARY)
	$(call refresh,$@,PETSC_OPTIONS= ASAN_OPTIONS=detect_leaks=0 config/mpiexec -n 0 $<)

# Fortran: the module is compiled for the programs of the tests, and installed as source
FORTRAN          ?= $(or $(filter-out f77,$(FC)),mpif90)
FORTRAN_FLAGS    ?= -O1 -g -Wall -Wno-unused-dummy-argument $(if $(WERROR),-Werror)
FORTRAN_OBJ      := $(OBJ)/fortran
FORTRAN_PROGRAMS := $(FORTRAN_SRC:%.F90=$(BUILD)/%)
PETSC_BOOL       := $(if $(shell grep -x 'typedef bool PetscBool;' $(PETSC_DIR)/include/petscsystypes.h),bool,enum)
$(MODULE): config/tools/fortran.py config/tools/checkstyle.py $(wildcard include/*.h) $(LIB_SRC) | $(CONF_H)
	@mkdir -p $(@D)
	$(Q)$(PYTHON3) config/tools/fortran.py --indices $(PETSC_INDEX_SIZE) --precision $(PETSC_PRECISION) --bool $(PETSC_BOOL) > $@
$(FORTRAN_OBJ)/petscmuon.o: $(MODULE)
	@mkdir -p $(@D)
	$(call say,FC,$<)
	$(Q)$(FORTRAN) $(FORTRAN_FLAGS) -std=f2018 -J$(@D) -c $< -o $@
# Modules of a program lie in a folder of its own
$(FORTRAN_PROGRAMS): $(BUILD)/%: %.F90 $(FORTRAN_OBJ)/petscmuon.o | $(LIBRARY)
	@mkdir -p $(@D) $(FORTRAN_OBJ)/$(*F)
	$(call say,FC,$<)
	$(Q)$(FORTRAN) $(FORTRAN_FLAGS) -J$(FORTRAN_OBJ)/$(*F) -I$(FORTRAN_OBJ) $(or $(PETSC_FC_INCLUDES),$(filter -I%,$(PETSC_CC_INCLUDES))) -o $@ $^ $(MUON_LIBS) $(BASE_LIBS) $(LDFLAGS)

# Fuzzers: the rooms of messages and of files alone, under clang's sanitizers
FUZZ_CC       ?= clang
FUZZ_FLAGS    := -g -O2 -std=c99 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION $(WARN) $(OUR_INCLUDES) -Isrc -Isrc/wire -Isrc/file
FUZZ_PROGRAMS := $(FUZZ_SRC:%.c=$(BUILD)/%)
FUZZ_OBJ      := $(OBJ)/fuzz
FUZZ_COMMON   := $(patsubst %.c,$(FUZZ_OBJ)/%.o,$(wildcard src/wire/*.c))
$(FUZZ_OBJ)/%.o: %.c | $(GENERATED)
	@mkdir -p $(@D)
	$(call say,FUZZ,$<)
	$(Q)$(FUZZ_CC) $(FUZZ_FLAGS) -MMD -MP -MF $(@:.o=.d) -c $< -o $@
$(FUZZ_PROGRAMS): $(BUILD)/%: $(FUZZ_OBJ)/%.o $(FUZZ_COMMON)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(FUZZ_CC) $(FUZZ_FLAGS) -o $@ $^

# Generated files
$(filter-out $(CONF_H),$(GENERATED)): $(CONF_H) ;
# Changes when an optional library comes or goes
$(BUILD)/optional.list: FORCE
	$(call refresh,$@,echo 'onednn $(HAVE_ONEDNN) kokkos $(HAVE_KOKKOS) $(KOKKOS_LIBRARY)')
$(CONF_H): $(BUILD)/optional.list config/generate.sh config/petscmuon_common.mk config/petsc.mk config/rules.mk $(VERSION_H) $(PETSC_ARCH_DIR)/lib/petsc/conf/petscvariables $(SLEPC_ARCH_DIR)/lib/slepc/conf/slepcvariables
	@echo "PETSc $(PETSC_VERSION), $(PETSC_PRECISION), $(if $(PETSC_DEBUG),debug,optimized): $(PETSC_ARCH_DIR)"
	@echo "SLEPc $(SLEPC_VERSION): $(SLEPC_ARCH_DIR)"
	@echo "oneDNN: $(if $(HAVE_ONEDNN),yes,no)"
	@echo "Kokkos: $(if $(HAVE_KOKKOS),$(KOKKOS_LIBRARY),no$(if $(KOKKOS_OUT),$(comma) the one in $(KOKKOS_PREFIX) is linked with $(KOKKOS_OUT)))"
	@BUILD='$(BUILD)' HAVE_ONEDNN='$(HAVE_ONEDNN)' HAVE_KOKKOS='$(HAVE_KOKKOS)' PCC='$(PCC)' BLAS_LIBS='$(BLASLAPACK_LIB)' NAME='$(NAME)' VERSION='$(VERSION)' PETSC_DIR='$(PETSC_DIR)' PETSC_ARCH='$(PETSC_ARCH)' \
	 SLEPC_DIR='$(SLEPC_DIR)' PETSC_PRECISION='$(PETSC_PRECISION)' \
	 PETSC_MINOR='$(PETSC_MINOR)' PETSCCONF='$(PETSCCONF)' BASE_LIBS='$(strip $(BASE_LIBS))' RPATH='$(call rpath_to,$(PETSC_ARCH_DIR)/lib) $(call rpath_to,$(SLEPC_ARCH_DIR)/lib)' sh config/generate.sh

# The commit and its date: an archive of git has them in config/commit.txt, a clone asks git. One object is made again when they change
COMMIT_OF  = { grep -v Format config/commit.txt || { test -e .git && git log -1 --format='%h %cs'; } || echo 'unknown unknown'; } 2>/dev/null
BUILT_WITH = PETSc $(PETSC_VERSION) ($(PETSC_PRECISION), $(PETSC_INDEX_SIZE)-bit indices, $(if $(PETSC_DEBUG),debug,optimized)), SLEPc $(SLEPC_VERSION)$(if $(HAVE_ONEDNN),$(comma) oneDNN)$(if $(HAVE_KOKKOS),$(comma) Kokkos)
$(BUILD_H): FORCE
	$(call refresh,$@,$(COMMIT_OF) | while read -r commit date; do printf '#pragma once\n#define PETSCMUON_%s "%s"\n#define PETSCMUON_%s "%s"\n#define PETSCMUON_%s "%s"\n' COMMIT "$$commit" COMMIT_DATE "$$date" BUILT_WITH '$(BUILT_WITH)'; done)
$(OBJ)/src/sys/muonversion.o: $(BUILD_H)

ALL_OBJ := $(LIB_OBJ) $(foreach s,$(CASES_MAIN) $(TEST_SRC) $(TUTORIAL_SRC) $(BENCH_SRC) $(NANOGPT_SRC),$(OBJ)/$(s:.c=.o)) $(FUZZ_COMMON) $(FUZZ_SRC:%.c=$(FUZZ_OBJ)/%.o)
-include $(wildcard $(ALL_OBJ:.o=.d))
.PHONY: FORCE
FORCE:
