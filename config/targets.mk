# What a user asks for

PYTHON3      ?= python3
# Names of tests or of programs, globs allowed
TESTS        ?=
# Tests at a time
J            ?= 3
# Ranks of quickstart and benchmarks
NP           ?= 2
FUZZ_SECONDS ?= 60
CARD_MINUTES ?= 50
# Faults below this folder of src, for so many minutes
MUTANTS         ?=
MUTANTS_MINUTES ?= 600
PREFIX       ?= /usr/local
QUICKSTART_OPTIONS ?=

.PHONY: all lib check test mutants programs fuzzers quickstart quickstart-controls study install clean checkstyle sanitize fuzz card benchmarks docs help info check-newest check-deb check-removable check-complex check-portable dist paper

all: lib
	@echo "PetscMuon is in $(BUILD); make check tries it, make install PREFIX=... installs it"
lib: $(LIBRARY) $(GENERATED)
programs: lib $(TEST_PROGRAMS) $(TUTORIAL_PROGRAMS) $(BENCH_PROGRAMS) $(NANOGPT) $(FORTRAN_PROGRAMS)
fuzzers: $(FUZZ_PROGRAMS)

# The runner builds the programs it needs, so that one which does not compile fails alone
RUNTESTS = $(PYTHON3) config/tools/runtests.py --build '$(BUILD)' --make '$(MAKE)' --cc '$(PCC)' --fortran '$(FORTRAN)' --mpiexec '$(MPIEXEC)' --petscconf '$(PETSCCONF)' \
           --petsc-dir '$(PETSC_DIR)' --petsc-arch '$(PETSC_ARCH)' --slepc-dir '$(SLEPC_DIR)' $(if $(SANITIZE),--sanitize) $(if $(UPDATE),--update)

test:
	@$(RUNTESTS) -j $(J) $(TESTS)

# The tests of the tutorials that are called check
check: lib
	@echo "Running PetscMuon check examples to verify correct installation"
	@echo "Using PETSC_DIR=$(PETSC_DIR), PETSC_ARCH=$(PETSC_ARCH), SLEPC_DIR=$(SLEPC_DIR)"
	@$(RUNTESTS) --check
	@echo "Completed PetscMuon check examples"

sanitize:
	@$(MAKE) --no-print-directory test BUILD=$(BUILD)-sanitize SANITIZE=1

# Which of the faults in tests/mutants.txt the tests catch
mutants:
	@$(PYTHON3) tests/mutants $(MUTANTS) --minutes $(MUTANTS_MINUTES)

fuzz: fuzzers
	@for f in $(FUZZ_PROGRAMS); do \
	  mkdir -p $$f.corpus && $$f -max_total_time=$(FUZZ_SECONDS) $$f.corpus $(wildcard $(FUZZ_SRC:%.c=%.corpus)) || exit 1; \
	done

# Whole runs that are killed, and what else of checkpoints takes long; the totals of all such runs are in the manual
card: lib $(NANOGPT) $(BUILD)/tests/muon_checkpoint $(BUILD)/tests/file_crash
	@MPIEXEC_COMMAND='$(MPIEXEC)' $(PYTHON3) tests/checkpoints/card.py --build '$(BUILD)' --mpiexec '$(CURDIR)/config/mpiexec' --minutes $(CARD_MINUTES) --totals '$(CURDIR)/share/petscmuon/doc/card.csv'

# The training run on the headers of the user's own PETSc
# OpenBLAS older than the processor runs a narrow kernel, several times slower; where it does, the run names a better one
WITH_KERNEL = kernel=$$($(PYTHON3) config/openblas.py); if [ -n "$$kernel" ]; then OPENBLAS_CORETYPE=$$kernel; export OPENBLAS_CORETYPE; fi;
RUN        = MPIEXEC_COMMAND='$(MPIEXEC)' config/mpiexec -n $(NP)
QUICKSTART = $(RUN) $(NANOGPT) -nanogpt_preset quickstart -nanogpt_data $(PETSC_DIR)/include
# Validation against bytes, as a picture where a Python has matplotlib, and as the files that it is drawn from
PICTURE = $(BUILD)/quickstart
quickstart: lib $(NANOGPT)
	@mkdir -p $(PICTURE) && rm -f $(PICTURE)/*
	@$(WITH_KERNEL) $(QUICKSTART) -muon_monitor_csv $(PICTURE)/compressed.csv -dense_muon_monitor_csv $(PICTURE)/uncompressed.csv $(QUICKSTART_OPTIONS)
	@for python in $(PYTHON3) /usr/bin/python3; do \
	  if $$python -c 'import matplotlib' 2>/dev/null; then $$python share/petscmuon/plot.py -o $(PICTURE)/quickstart.png $(PICTURE)/*.csv && break; fi; done; \
	echo; if [ -f $(PICTURE)/quickstart.png ]; then echo "Picture: $(PICTURE)/quickstart.png, drawn from the files beside it"; else echo "No picture: share/petscmuon/plot.py draws $(PICTURE)/*.csv where Python has matplotlib"; fi
	@cat config/quickstart.txt
quickstart-controls: lib $(NANOGPT)
	@$(WITH_KERNEL) $(QUICKSTART) -nanogpt_runs ef21,dense,frozen -nanogpt_check_controls $(QUICKSTART_OPTIONS)

# A plan of runs, made and reported; one that was stopped goes on
STUDY ?= quick
study: $(if $(filter help,$(STUDY)),,lib $(NANOGPT))
	@python=$(PYTHON3); $$python -c 'import matplotlib' 2>/dev/null || python=/usr/bin/python3; \
	$(WITH_KERNEL) MPIEXEC_COMMAND='$(MPIEXEC)' $$python tutorials/nanogpt/studies/study.py --plan '$(STUDY)' --program '$(NANOGPT)' -o '$(BUILD)/studies' $(if $(DATA),--data '$(DATA)') $(STUDY_OPTIONS)

# Messages are measured on what a training run makes them of, too
TENTH     = $(foreach way,ef21 ef21_server,-$(way)_compressor topk -$(way)_compressor_ratio 0.1 -$(way)_compressor_values natural)
RESIDUALS = $(BUILD)/tests/benchmarks/residuals.bin
$(RESIDUALS): | lib $(NANOGPT)
	@mkdir -p $(@D)
	@$(WITH_KERNEL) $(QUICKSTART) -nanogpt_runs ef21 $(TENTH) -nanogpt_steps 200 -nanogpt_sample 0 -nanogpt_validation_end 16 -nanogpt_residuals $@.part -nanogpt_residuals_steps 50,199
	@mv $@.part $@

# Ranks share out a step; polar factors and messages are measured on one
benchmarks: lib $(BENCH_PROGRAMS) $(RESIDUALS)
	@$(WITH_KERNEL) for b in $(BENCH_PROGRAMS); do \
	  case $$b in */polar|*/wire|*/table2) ranks=1;; */simulate) continue;; *) ranks=$(NP);; esac; \
	  case $$b in */wire) options='-benchmark_residuals $(RESIDUALS)';; *) options=;; esac; \
	  echo "== $$b"; MPIEXEC_COMMAND='$(MPIEXEC)' config/mpiexec -n $$ranks $$b $$options $(BENCHMARK_OPTIONS) || exit 1; \
	done; echo "== tests/benchmarks/simulate.py"; $(PYTHON3) tests/benchmarks/simulate.py -ranks 8 $(BUILD)/tests/benchmarks/step

# Installation
SHARED_FILES   = LICENSE $(addprefix share/petscmuon/,Makefile.user CMakeLists.txt lab/README.md python/pyproject.toml) $(wildcard share/petscmuon/python/petscmuon/*.py)
TUTORIAL_FILES = $(shell find tutorials -name '*.[ch]' -o -name '*.inc' -o -name '*.cxx' -o -name '*.F90' -o -name '*.py' -o -name '*.ipynb' -o -name '*.md' -o -name '*.txt' -o -name makefile)
DEST = $(DESTDIR)$(PREFIX)
OTHER_LIBRARY  = $(DEST)/lib/lib$(filter-out $(NAME),petscmuon petscmuon_complex).$(SL_LINKER_SUFFIX)
install: lib $(MODULE)
	@test ! -e $(OTHER_LIBRARY) || \
	  { echo "$(OTHER_LIBRARY) is there: builds with real and with complex scalars need prefixes of their own, as those of PETSc do"; exit 1; }
	install -d $(DEST)/include/petscmuon/private $(DEST)/lib/pkgconfig $(DEST)/lib/petscmuon/conf
	install -m 644 $(wildcard include/*.h) $(CONF_H) $(MODULE) $(DEST)/include
	install -m 644 $(wildcard include/petscmuon/private/*.h) $(DEST)/include/petscmuon/private
	install -m 755 $(LIBRARY).$(VERSION) $(DEST)/lib
	ln -sf $(notdir $(LIBRARY)).$(VERSION) $(DEST)/lib/$(SONAME)
	ln -sf $(SONAME) $(DEST)/lib/$(notdir $(LIBRARY))
	install -m 644 $(PC) $(DEST)/lib/pkgconfig
	install -m 644 $(CONF_COMMON) $(CONF_VARS) $(DEST)/lib/petscmuon/conf
	for f in $(SHARED_FILES) $(TUTORIAL_FILES); do install -D -m 644 $$f $(DEST)/share/petscmuon/$${f#share/petscmuon/} || exit 1; done
	for f in advise plot.py checkpoint.py lab/run lab/scaling lab/agent; do install -D -m 755 share/petscmuon/$$f $(DEST)/share/petscmuon/$$f || exit 1; done
	install -D -m 755 config/mpiexec $(DEST)/share/petscmuon/bin/petscmuon-mpiexec
	$(PYTHON3) config/tools/manual.py man $(DEST)/share/man/man3

# The manual and the reference as a site. Debian's Sphinx belongs to Debian's Python
SPHINX ?= $(or $(shell $(PYTHON3) -c 'import sphinx, myst_parser' 2>/dev/null && echo '$(PYTHON3) -m sphinx'),/usr/bin/python3 -m sphinx)
DOCS    = $(BUILD)/docs
# Formulas are drawn by MathJax 2.7, a copy of which the site gets, and are text where there is none
MATHJAX_DIR ?= /usr/share/javascript/mathjax
docs: $(BUILD)/parameters.tsv
	@$(PYTHON3) config/tools/manual.py site $(DOCS)/made --parameters $< --mathjax '$(patsubst %/MathJax.js,%,$(wildcard $(MATHJAX_DIR)/MathJax.js))'
	@PETSCMUON_VERSION=$(VERSION) PYTHONDONTWRITEBYTECODE=1 $(SPHINX) -q -W --keep-going -b html -d $(DOCS)/made/doctrees $(DOCS)/made/source $(DOCS)/html
	@echo "The manual is $(DOCS)/html/index.html"

checkstyle:
	@$(PYTHON3) config/tools/checkstyle.py && $(PYTHON3) config/counters --hold

# Whether each addon and each type of the optimizer but dense can be left out: REMOVABLE="addons/cost impls/sign" some of them
check-removable:
	@$(PYTHON3) tests/removable $(REMOVABLE)

# With the PETSc of complex scalars that Debian has beside the real one: what does not ask for real numbers
COMPLEX_TESTS = complex_* muon_complex* equivalence_complex* ex1* ex2* wire_messages* wire_mutation* wire_oracle* kernels_* file_* install_outside
check-complex:
	@test -e '$(PETSC_DIR:-real=-complex)/lib/petsc/conf/variables' -a '$(PETSC_DIR:-real=-complex)' != '$(PETSC_DIR)' || { echo "check-complex takes Debian's libpetsc-complex-dev and libslepc-complex3.18-dev"; exit 1; }
	@$(MAKE) --no-print-directory test BUILD='$(BUILD)-complex' PETSC_DIR='$(PETSC_DIR:-real=-complex)' PETSC_ARCH= SLEPC_DIR='$(SLEPC_DIR:-real=-complex)' TESTS='$(COMPLEX_TESTS)'

# Compilers, a processor, indices and an MPI that are not those of the build
check-portable:
	@BUILD='$(BUILD)' PCC='$(PCC)' SYSTEM_INCLUDES='$(PETSC_INCLUDES)' PETSC='$(PETSC_VERSION)$(if $(filter 64,$(PETSC_INDEX_SIZE)),$(comma) 64-bit indices)' \
	 GIVEN='$(if $(filter override,$(origin PETSC_DIR)),,$(PETSC_DIR))' PETSC_ARCH='$(PETSC_ARCH)' SLEPC_DIR='$(SLEPC_DIR)' MAKE='$(MAKE)' tests/check-portable

# What packagers need, outside of the suite: both take what is committed
check-newest check-deb:
	@J='$(J)' PYTHON3='$(PYTHON3)' config/packaging/$@

# The sources of HEAD; config/commit.txt has the commit there
DIST = petscmuon-$(VERSION).tar.gz
dist:
	@git archive --prefix=petscmuon-$(VERSION)/ -o $(DIST) HEAD && echo "The sources are in $(DIST)"

# The paper, by LaTeX: share/petscmuon/paper/README.md names what it needs
PAPER = $(CURDIR)/share/petscmuon/paper
LATEX = pdflatex -interaction=nonstopmode -halt-on-error paper.tex >/dev/null
paper:
	@$(PYTHON3) $(PAPER)/makenumbers.py
	@mkdir -p $(BUILD)/paper && cd $(BUILD)/paper && export TEXINPUTS="$(PAPER):$$TEXINPUTS" BIBINPUTS="$(PAPER):" && \
	if $(LATEX) && bibtex -terse paper && $(LATEX) && $(LATEX); then echo "The paper is $(BUILD)/paper/paper.pdf"; else grep -A3 '^!' paper.log; exit 1; fi

# Every build folder, or the one that BUILD names
clean:
	rm -rf $(if $(filter command line environment,$(origin BUILD)),$(BUILD),$(wildcard build-*))

info: $(CONF_H)
	@echo "PetscMuon $(VERSION) in $(BUILD)"
	@echo "PETSc     $(PETSC_VERSION), $(PETSC_PRECISION), $(if $(PETSC_DEBUG),debug,optimized): PETSC_DIR=$(PETSC_DIR) PETSC_ARCH=$(PETSC_ARCH)"
	@echo "SLEPc     $(SLEPC_VERSION): SLEPC_DIR=$(SLEPC_DIR)"
	@echo "compiler  $(PCC) $(PCC_FLAGS)"
	@echo "link      $(BASE_LIBS)"
	@echo "oneDNN    $(if $(HAVE_ONEDNN),yes,no)"
	@echo "Kokkos    $(or $(if $(HAVE_KOKKOS),$(KOKKOS_LIBRARY)),no)"
	@echo "mpiexec   $(MPIEXEC)"

help:
	@echo "make                       the library, in \$$(BUILD): build-\$$PETSC_ARCH, or build-installed"
	@echo "make check                 a few small runs"
	@echo "make test                  the test suite; TESTS=\"ex1 wire_*\" some of it, J=4 so many at a time, UPDATE=1 writes expected outputs"
	@echo "make quickstart            trains a small GPT on the headers of your PETSc; quickstart-controls adds the control run"
	@echo "make study                 runs what is missing of a plan of trainings, and reports: STUDY=help lists them with their minutes, or a FILE; on Debian's linux-source-6.1 or DATA=FOLDER"
	@echo "make benchmarks            the tables behind the manual's figures; NP=2 ranks for a step, BENCHMARK_OPTIONS='-benchmark_torch PYTHON' for the program"
	@echo "make install               PREFIX=/usr/local DESTDIR="
	@echo "make docs                  the manual and the reference as a site, by Sphinx"
	@echo "make sanitize              the test suite under the address and undefined-behavior sanitizers"
	@echo "make fuzz FUZZ_SECONDS=60  each fuzzer for so long"
	@echo "make card CARD_MINUTES=50  checkpoints of runs that are killed at random; the totals go to share/petscmuon/doc/card.csv"
	@echo "make mutants               which faults of tests/mutants.txt the tests catch; MUTANTS=polar a folder of src, MUTANTS_MINUTES=20"
	@echo "make checkstyle            the rules of the code's form"
	@echo "make check-complex         builds with Debian's PETSc of complex scalars, and runs what does not ask for real ones"
	@echo "make check-removable       whether each addon and type of the optimizer can be left out; REMOVABLE=\"addons/cost impls/sign\" some of them"
	@echo "make paper                 the paper as PDF, by LaTeX"
	@echo "make dist                  the sources of the last commit as a tarball"
	@echo "make check-newest          the newest PETSc with --download-petscmuon; make check-deb the packages of Debian; make check-portable other compilers, processors, MPIs and indices"
	@echo "make info                  what was found; make clean removes build-*"
	@echo
	@echo "PETSC_DIR, PETSC_ARCH and SLEPC_DIR choose the PETSc, else pkg-config does. V=1 prints the commands, SANITIZE=1 and WERROR=1 change them,"
	@echo "ONEDNN_DIR names the prefix of oneDNN, ONEDNN=0 leaves it out; likewise KOKKOS_DIR and KOKKOS=0. CFLAGS, CPPFLAGS and LDFLAGS are added, ROOMS=\"wire kernels\" restricts the library to some rooms."
