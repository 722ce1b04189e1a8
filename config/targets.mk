# What a user asks for

PYTHON3 ?= python3
TESTS   ?=
# Tests at a time
J       ?= 2

.PHONY: all lib check test programs fuzzers quickstart quickstart-controls install clean checkstyle sanitize fuzz benchmarks help info

all: lib
lib: $(LIBRARY) $(GENERATED)
programs: lib $(TEST_PROGRAMS) $(TUTORIAL_PROGRAMS) $(BENCH_PROGRAMS) $(NANOGPT)
fuzzers: $(FUZZ_PROGRAMS)

RUNTESTS = $(PYTHON3) config/runtests.py --build $(BUILD) -j $(J) --make $(MAKE) --mpiexec '$(MPIEXEC)' --petscconf '$(PETSCCONF)' \
           --petsc-dir '$(PETSC_DIR)' --petsc-arch '$(PETSC_ARCH)' --slepc-dir '$(SLEPC_DIR)' $(if $(SANITIZE),--sanitize) $(if $(UPDATE),--update)

# The runner builds the programs it needs, so that one which does not compile fails alone
test:
	@$(RUNTESTS) $(TESTS)

checkstyle:
	@$(PYTHON3) config/checkstyle.py

clean:
	rm -rf $(or $(BUILD),build-*)

help:
	@echo "make                      the library in \$$(BUILD), build-\$$PETSC_ARCH or build-installed by default"
	@echo "make lib ROOMS=\"wire sys\" some rooms of it only"
	@echo "make programs             tests, tutorials and benchmarks"
	@echo "make test TESTS=glob J=2  the tests whose names match"
	@echo "V=1 prints the commands, SANITIZE=1 and WERROR=1 change them"
