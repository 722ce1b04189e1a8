! Objects of PETSc's own Fortran interface as layers: they cross by their %v, in both directions, and -2 is NULL.
!
! One rank, dense Muon of the Frobenius norm without momentum: a step goes from W against the gradient G, as far as the learning rate says.
#include <petscconf.h>
#if defined(PETSC_HAVE_FORTRAN)
#include <petsc/finclude/petscmat.h>
program fortran_petsc
  use petscmat
  use petscmuon
  implicit none

  PetscInt, parameter :: m = 3, n = 2
  PetscInt :: i, j
  PetscReal, parameter :: rate = 0.5
  PetscReal :: norm, bound
  PetscScalar :: one
  PetscErrorCode :: ierr
  Mat :: W, G, D, back
  type(tMuon) :: muon
  type(tMuonLayer) :: layer
  type(tMuonLMO) :: lmo

  call PetscInitialize(ierr); call check(ierr == 0, 'PetscInitialize')
  call PetscMuonInitialize('', '', ierr); call check(ierr == 0, 'PetscMuonInitialize')
  call MatCreate(PETSC_COMM_SELF, W, ierr); call check(ierr == 0, 'MatCreate')
  call MatSetSizes(W, m, n, m, n, ierr); call check(ierr == 0, 'MatSetSizes')
  call MatSetType(W, MATSEQDENSE, ierr); call check(ierr == 0, 'MatSetType')
  call MatSetUp(W, ierr); call check(ierr == 0, 'MatSetUp')
  call MatDuplicate(W, MAT_DO_NOT_COPY_VALUES, D, ierr); call check(ierr == 0, 'MatDuplicate')
  call MuonCreate(PETSC_COMM_SELF, muon, ierr); call check(ierr == 0, 'MuonCreate')
  call MuonAddLayer(muon, 'w', W%v, layer, ierr); call check(ierr == 0, 'MuonAddLayer')
  call MuonLayerGetWeights(layer, back%v, ierr); call check(ierr == 0 .and. back%v == W%v, 'MuonLayerGetWeights')
  call MuonLayerGetLMO(layer, lmo, ierr); call check(ierr == 0, 'MuonLayerGetLMO')
  call MuonLMOSetType(lmo, MUONLMOFROBENIUS, ierr); call check(ierr == 0, 'MuonLMOSetType')
  call MuonSetMomentum(muon, 0.0_muon_real, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT, ierr)
  call check(ierr == 0, 'MuonSetMomentum')
  call MuonSetLearningRate(muon, real(rate, muon_real), ierr); call check(ierr == 0, 'MuonSetLearningRate')
  call MuonSetFromOptions(muon, ierr); call check(ierr == 0, 'MuonSetFromOptions')
  call MuonSetUp(muon, ierr); call check(ierr == 0, 'MuonSetUp')

  call MuonLayerGetGradient(layer, G%v, ierr); call check(ierr == 0, 'MuonLayerGetGradient')
  do j = 0, n - 1
    do i = 0, m - 1
      one = i - 2 * j + 1
      call MatSetValue(G, i, j, one, INSERT_VALUES, ierr); call check(ierr == 0, 'MatSetValue')
    end do
  end do
  call MatAssemblyBegin(G, MAT_FINAL_ASSEMBLY, ierr); call check(ierr == 0, 'MatAssemblyBegin')
  call MatAssemblyEnd(G, MAT_FINAL_ASSEMBLY, ierr); call check(ierr == 0, 'MatAssemblyEnd')
  call MatCopy(G, D, SAME_NONZERO_PATTERN, ierr); call check(ierr == 0, 'MatCopy')
  call MatNorm(D, NORM_FROBENIUS, norm, ierr); call check(ierr == 0, 'MatNorm')
  call MuonStep(muon, ierr); call check(ierr == 0, 'MuonStep')

  ! W was zero: W + rate / norm G is, but for a few roundings of numbers below one
  one = rate / norm
  call MatAXPY(W, one, D, SAME_NONZERO_PATTERN, ierr); call check(ierr == 0, 'MatAXPY')
  call MatNorm(W, NORM_INFINITY, norm, ierr); call check(ierr == 0, 'MatNorm')
  bound = 4 * n * epsilon(bound)
  call check(norm < bound, 'the step')

  ! NULL in the forms that PETSc has: an object that was never made, and no gradient in this step, which leaves the weights where they are
  call MatNorm(W, NORM_FROBENIUS, norm, ierr); call check(ierr == 0, 'MatNorm')
  call MuonLayerSetGradient(layer, MUON_NULL, ierr); call check(ierr == 0, 'MuonLayerSetGradient')
  call MuonStep(muon, ierr); call check(ierr == 0, 'MuonStep without a gradient')
  call MatNorm(W, NORM_FROBENIUS, bound, ierr); call check(ierr == 0 .and. abs(norm - bound) <= 0, 'a step without a gradient')
  call MuonAddLayer(muon, 'never', D%v - D%v - 2, layer, ierr); call check(ierr /= 0, 'MuonAddLayer of no matrix')

  call MuonDestroy(muon, ierr); call check(ierr == 0, 'MuonDestroy')
  call MatDestroy(W, ierr); call check(ierr == 0, 'MatDestroy')
  call MatDestroy(D, ierr); call check(ierr == 0, 'MatDestroy')
  call PetscMuonFinalize(ierr); call check(ierr == 0, 'PetscMuonFinalize')
  call PetscFinalize(ierr); call check(ierr == 0, 'PetscFinalize')

contains

  subroutine check(right, what)
    logical, intent(in) :: right
    character(len=*), intent(in) :: what
    if (right) return
    print '(2a)', 'wrong: ', what
    error stop
  end subroutine
end program
#else
program fortran_petsc
end program
#endif

!/*TEST
!
!  test:
!    requires: fortran defined(PETSC_HAVE_FORTRAN)
!
!TEST*/
