# Untried: Spack was not at hand. tests/install/run-recipes.py parses this and tries its commands of make by make -n
from spack.package import *


class Petscmuon(MakefilePackage):
    """Distributed Muon optimizers on PETSc and SLEPc, with compressed messages."""

    homepage = "https://example.org/petscmuon"  # a placeholder, as in CITATION.cff
    git = "https://example.org/petscmuon.git"
    license("BSD-2-Clause")

    version("main", branch="main")
    version("0.2.0", tag="v0.2.0")

    variant("kokkos", default=False, description="Memory of devices, by Kokkos")
    variant("cuda", default=False, description="Kokkos for CUDA")
    variant("complex", default=False, description="Complex scalars: the library is petscmuon_complex")
    variant("python", default=False, description="The Python package")
    variant("fortran", default=True, description="The Fortran module is compiled and tried")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+kokkos")
    depends_on("fortran", type=("build", "test"), when="+fortran")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.7:", type=("build", "run"))
    depends_on("py-numpy", type="run", when="+python")
    depends_on("mpi")
    depends_on("petsc@3.18: +shared")
    depends_on("petsc +complex", when="+complex")
    depends_on("petsc ~complex", when="~complex")
    for minor in range(18, 28):
        depends_on(f"slepc@3.{minor}", when=f"^petsc@3.{minor}")
    depends_on("kokkos@3.4:", when="+kokkos")
    depends_on("kokkos +cuda", when="+cuda")
    depends_on("petsc +cuda", when="+cuda")
    conflicts("+cuda", when="~kokkos")
    conflicts("+python", when="+complex", msg="The Python package is for real scalars")

    @property
    def arguments(self):
        spec = self.spec
        found = [f"PETSC_DIR={spec['petsc'].prefix}", "PETSC_ARCH=", f"SLEPC_DIR={spec['slepc'].prefix}", "BUILD=build-spack", "ONEDNN=0"]
        return found + ([f"KOKKOS_DIR={spec['kokkos'].prefix}"] if spec.satisfies("+kokkos") else ["KOKKOS=0"])

    def build(self, spec, prefix):
        make("lib", *self.arguments)

    def check(self):
        make("check", *self.arguments, parallel=False)

    def install(self, spec, prefix):
        make("install", f"PREFIX={prefix}", *self.arguments)

    def setup_run_environment(self, env):
        env.set("PETSCMUON_DIR", self.prefix)
        if self.spec.satisfies("+python"):
            env.prepend_path("PYTHONPATH", join_path(self.prefix, "share", "petscmuon", "python"))

    def test_step(self):
        """A program outside of the tree takes a step"""
        mpiexec = Executable(join_path(self.prefix, "share", "petscmuon", "bin", "petscmuon-mpiexec"))
        with working_dir(self.test_suite.current_test_cache_dir if hasattr(self, "test_suite") else "."):
            copy(join_path(self.prefix, "share", "petscmuon", "tutorials", "ex1.c"), ".")
            make("-f", join_path(self.prefix, "share", "petscmuon", "Makefile.user"), "ex1", f"PETSCMUON_DIR={self.prefix}")
            mpiexec("-n", "2", "./ex1")
