# For PETSc's configure: a copy of this file in config/BuildSystem/config/packages makes --download-petscmuon. config/packaging/petsc/README.md says how
import config.package
import os

class Configure(config.package.Package):
  def __init__(self, framework):
    config.package.Package.__init__(self, framework)
    self.version                = '0.2.0'
    self.download               = ['file://petscmuon-' + self.version + '.tar.gz'] # its name on the command line is what counts: --download-petscmuon=FILE
    self.functions              = []
    self.includes               = []
    self.providesDocs           = 1
    self.docsDirs               = ['src', 'include']
    self.precisions             = ['single', 'double']
    self.skippackagewithoptions = 1
    self.useddirectly           = 0
    self.linkedbypetsc          = 0
    self.builtafterpetsc        = 1
    return

  def setupDependencies(self, framework):
    config.package.Package.setupDependencies(self, framework)
    self.sharedLibraries = framework.require('PETSc.options.sharedLibraries', self)
    self.scalartypes     = framework.require('PETSc.options.scalarTypes', self)
    self.mpi             = framework.require('config.packages.MPI', self)
    self.blasLapack      = framework.require('config.packages.BlasLapack', self)
    self.slepc           = framework.require('config.packages.SLEPc', self)
    self.deps            = [self.mpi, self.blasLapack, self.slepc]
    return

  def consistencyChecks(self):
    config.package.Package.consistencyChecks(self)
    if self.argDB['download-petscmuon'] and not self.argDB['download-slepc']:
      raise RuntimeError('--download-petscmuon requires --download-slepc')
    return

  def Install(self):
    if not self.checkSharedLibrariesEnabled():
      raise RuntimeError('--download-petscmuon requires shared libraries')
    # Where PETSc and SLEPc will be when the library is built
    if self.argDB['prefix'] and not 'package-prefix-hash' in self.argDB:
      prefix = os.path.abspath(os.path.expanduser(self.argDB['prefix']))
      args   = 'PETSC_DIR=' + prefix + ' PETSC_ARCH="" SLEPC_DIR=' + prefix
    else:
      prefix = os.path.join(self.petscdir.dir, self.arch)
      args   = 'PETSC_DIR=${PETSC_DIR} PETSC_ARCH=${PETSC_ARCH} SLEPC_DIR=' + prefix
    self.include = [os.path.join(prefix, 'include')]
    self.lib     = [os.path.join(prefix, 'lib', 'libpetscmuon' + ('_complex' if self.scalartypes.scalartype == 'complex' else ''))]
    self.addPost(self.packageDir, ['${OMAKE} ' + args, '${OMAKE} ' + args + ' PREFIX=' + prefix + ' install'])
    self.addMakeCheck(self.packageDir, '${OMAKE} ' + args + ' check')
    return self.installDir
