# Kokkos, where there is one, makes the kernels of devices: PETSc's own, the one that KOKKOS_DIR names, or the system's; never two of them. KOKKOS=0 leaves it out

KOKKOS       ?= 1
PETSC_KOKKOS := $(call petsc_has,PETSC_HAVE_KOKKOS)
$(if $(and $(PETSC_KOKKOS),$(strip $(KOKKOS_DIR))),$(error KOKKOS_DIR=$(KOKKOS_DIR) and the Kokkos of PETSc in $(PETSC_ARCH_DIR) are two; leave KOKKOS_DIR unset, or say KOKKOS=0))

# Debian has it in a folder of its own, and up to its release 12 as a part of Trilinos
KOKKOS_PLACES := $(if $(KOKKOS_DIR),$(KOKKOS_DIR)/include,$(if $(PETSC_KOKKOS),$(patsubst -I%,%,$(filter -I%,$(PETSC_CC_INCLUDES) $(KOKKOS_INCLUDE))),/usr/include))
KOKKOS_ROOTS := $(foreach d,$(KOKKOS_PLACES),$d $d/kokkos) $(KOKKOS_PLACES:%=%/trilinos)
KOKKOS_CONF  := $(if $(filter-out 0,$(KOKKOS)),$(firstword $(wildcard $(KOKKOS_ROOTS:%=%/KokkosCore_config.h))))
$(if $(and $(strip $(KOKKOS_DIR)),$(filter-out 0,$(KOKKOS))),$(if $(KOKKOS_CONF),,$(error KOKKOS_DIR=$(KOKKOS_DIR) holds no include/KokkosCore_config.h)))
kokkos_has    = $(shell awk '$$1 ~ /^.define$$/ && $$2 == "$1" {print 1; exit}' $(KOKKOS_CONF))
KOKKOS_OMP   := $(if $(KOKKOS_CONF),$(if $(call kokkos_has,KOKKOS_ENABLE_OPENMP),-fopenmp))
KOKKOS_CUDA  := $(if $(KOKKOS_CONF),$(call kokkos_has,KOKKOS_ENABLE_CUDA))
# A library that is linked with CUDA does not start without a driver: only where PETSc has it anyway
KOKKOS_OUT   := $(if $(KOKKOS_CUDA),$(if $(call petsc_has,PETSC_HAVE_CUDA),,CUDA, which PETSc has not))
HAVE_KOKKOS  := $(if $(KOKKOS_CONF),$(if $(KOKKOS_OUT),,yes))

KOKKOS_HEADERS := $(patsubst %/KokkosCore_config.h,%,$(KOKKOS_CONF))
KOKKOS_PREFIX  := $(patsubst %/include,%,$(patsubst %/kokkos,%,$(KOKKOS_HEADERS:%/trilinos=%)))
KOKKOS_LIBRARY := $(firstword $(wildcard $(foreach d,lib lib64 lib/*-linux-gnu,$(foreach l,libkokkoscore libtrilinos_kokkoscore,$(KOKKOS_PREFIX)/$d/$l.so $(KOKKOS_PREFIX)/$d/$l.a))))
KOKKOS_LIBDIR  := $(patsubst %/,%,$(dir $(KOKKOS_LIBRARY)))
CUDA_DIR       ?= /usr/local/cuda
# By its file: other libraries in that folder, another PETSc among them, are not looked for
KOKKOS_LIBS    := $(if $(HAVE_KOKKOS),$(KOKKOS_LIBRARY) $(call rpath_to,$(KOKKOS_LIBDIR)) $(if $(KOKKOS_CUDA),-L$(CUDA_DIR)/lib64 -lcublas -lcusolver -lcudart -lcuda) $(KOKKOS_OMP) -ldl -lstdc++)
# The standard of C++ is the one that Kokkos was built with
KOKKOS_STD   := $(if $(KOKKOS_CONF),$(addprefix -std=c++,$(lastword $(foreach s,14 17 20 23,$(if $(call kokkos_has,KOKKOS_ENABLE_CXX$s),$s)))))
KOKKOS_CXX   ?= $(if $(KOKKOS_CUDA),$(KOKKOS_PREFIX)/bin/nvcc_wrapper,$(or $(CXX),g++))
# No product and sum in one operation there either; the architecture is Kokkos' own
KOKKOS_ARCH  := $(if $(KOKKOS_CUDA),$(shell sed -n 's/^.define KOKKOS_ARCH_[A-Z]*\([0-9][0-9]*\)$$/\1/p' $(KOKKOS_CONF) | sort -n | tail -1))
KOKKOS_CUDA_FLAGS := $(KOKKOS_ARCH:%=-arch=sm_%) --extended-lambda --expt-relaxed-constexpr --fmad=false -Xcompiler -ffp-contract=off
KOKKOS_BASE  := $(filter-out -std=%,$(CXX_FLAGS)) $(filter -O% -g%,$(PCC_FLAGS)) $(CPP_FLAGS) -fPIC $(WARN) $(SANITIZE_FLAGS) $(if $(KOKKOS_CUDA),$(KOKKOS_CUDA_FLAGS) $(KOKKOS_OMP:%=-Xcompiler %),$(KERNEL_FLAGS) $(KOKKOS_OMP))
KOKKOS_FLAGS  = $(KOKKOS_STD) $(KOKKOS_BASE) $(OUR_INCLUDES) -isystem $(KOKKOS_HEADERS) $(CPPFLAGS)

# nvcc_wrapper takes no -MP, and names the object without its folder
KOKKOS_DEPS   = -MMD $(if $(KOKKOS_CUDA),-MT $@,-MP) -MF $(@:.o=.d)

KOKKOS_SRC   := $(if $(and $(HAVE_KOKKOS),$(filter kernels,$(ROOMS))),$(wildcard src/kernels/kokkos/*.kokkos.cxx) src/kernels/kokkos/$(if $(KOKKOS_CUDA),vendorcuda.cu,vendorhost.c))
KOKKOS_OBJ   := $(addprefix $(OBJ)/,$(addsuffix .o,$(basename $(KOKKOS_SRC))))

$(OBJ)/%.kokkos.o: %.kokkos.cxx | $(GENERATED)
	@mkdir -p $(@D)
	$(call say,CXX,$<)
	$(Q)$(KOKKOS_CXX) $(KOKKOS_FLAGS) $(KOKKOS_DEPS) -c $< -o $@

$(OBJ)/%.o: %.cu | $(GENERATED)
	@mkdir -p $(@D)
	$(call say,NVCC,$<)
	$(Q)$(KOKKOS_CXX) $(KOKKOS_FLAGS) $(KOKKOS_DEPS) -c $< -o $@
