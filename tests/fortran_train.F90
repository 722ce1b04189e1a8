! A Fortran program trains, on arrays of its own and through a routine of its own.
!
! Rank j of P has the loss |W - A_j|^2 / 2 with A_j = A + j (B - A). Its mean gradient is W - C with C the mean of the A_j. A step of the Frobenius norm goes straight to C, as far as the learning rate says:
! after K steps the distance is the first one less K times the rate, and W is on the line between. The mean loss is (|W - C|^2 + the mean of |A_j - C|^2) / 2.
module model
  use, intrinsic :: iso_c_binding
  use petscmuon
  implicit none

  integer, parameter :: rows = 7, columns = 3, steps = 5
  real(muon_real), parameter :: rate = 0.125_muon_real

  ! What the routine gets as its context
  type :: problem
    real(muon_real) :: A(rows, columns), W(rows, columns), G(rows, columns)
    integer :: calls = 0, seen = 0, error = 0
    real(muon_real) :: losses(0:steps - 1)
  end type

contains

  subroutine loss_and_gradient(muon, loss, ctx, ierr) bind(c)
    type(tMuon), intent(in) :: muon
    real(muon_real), intent(inout) :: loss
    type(c_ptr), intent(in) :: ctx
    integer(c_int), intent(inout) :: ierr
    type(problem), pointer :: p
    type(tMuonLayer) :: layer
    call c_f_pointer(ctx, p)
    p%G = p%W - p%A
    loss = sum(p%G**2) / 2
    p%calls = p%calls + 1
    ierr = p%error
    if (ierr /= 0) return
    call MuonGetLayerByName(muon, 'w', layer, ierr)
    if (ierr == 0) call MuonLayerSetGradientArray(layer, c_loc(p%G), ierr)
  end subroutine

  subroutine watch(muon, step, loss, ctx, ierr) bind(c)
    type(tMuon), intent(in) :: muon
    integer(muon_int), intent(in) :: step
    real(muon_real), intent(in) :: loss
    type(c_ptr), intent(in) :: ctx
    integer(c_int), intent(inout) :: ierr
    type(problem), pointer :: p
    call c_f_pointer(ctx, p)
    p%seen = p%seen + 1
    p%losses(step) = loss
    ierr = 0
  end subroutine

  ! 1, 1/2, 1/4, ...
  subroutine halve(muon, step, factor, momentum, decay, ctx, ierr) bind(c)
    type(tMuon), intent(in) :: muon
    integer(muon_int), intent(in) :: step
    real(muon_real), intent(inout) :: factor, momentum, decay
    type(c_ptr), intent(in) :: ctx
    integer(c_int), intent(inout) :: ierr
    factor = 0.5_muon_real**step
    ierr = 0
  end subroutine
end module

program fortran_train
  use mpi
  use model
  implicit none

  type(problem), target :: p
  type(tMuon) :: muon
  type(tMuonLayer) :: layer
  type(tMuonLMO) :: lmo
  type(MuonLayerArray) :: array
  real(muon_real), dimension(rows, columns) :: A, B, C, W0, expected
  real(muon_real) :: first, spread, gone, bound, distance
  integer(c_int) :: ierr, reason
  integer :: rank, ranks, i, j, k
  integer(muon_int) :: step
  logical :: halving

  call PetscMuonInitialize(' ', 'Trains in Fortran', ierr); call check(ierr == 0, 'PetscMuonInitialize')
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  do j = 1, columns
    do i = 1, rows
      A(i, j) = real(modulo(3*i + 5*j, 11), muon_real) / 4
      B(i, j) = real(modulo(7*i + 2*j, 13), muon_real) / 8
      W0(i, j) = real(modulo(2*i + 3*j, 5), muon_real) / 2
    end do
  end do
  p%A = A + rank * (B - A)
  p%W = W0
  C = A + real(ranks - 1, muon_real) / 2 * (B - A)
  spread = 0
  do k = 0, ranks - 1
    spread = spread + sum((A + k * (B - A) - C)**2) / ranks
  end do

  call MuonCreate(MPI_COMM_WORLD, muon, ierr); call check(ierr == 0, 'MuonCreate')
  call MuonLayerArrayInitialize(array, ierr); call check(ierr == 0, 'MuonLayerArrayInitialize')
  array%M = rows
  array%N = columns
  array%w = c_loc(p%W)
  call MuonAddLayerArray(muon, 'w', array, layer, ierr); call check(ierr == 0, 'MuonAddLayerArray')
  call MuonLayerGetLMO(layer, lmo, ierr); call check(ierr == 0, 'MuonLayerGetLMO')
  call MuonLMOSetType(lmo, MUONLMOFROBENIUS, ierr); call check(ierr == 0, 'MuonLMOSetType')
  call MuonSetType(muon, MUONDENSE, ierr); call check(ierr == 0, 'MuonSetType')
  call MuonSetMomentum(muon, 0.0_muon_real, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT, ierr)
  call check(ierr == 0, 'MuonSetMomentum')
  call MuonSetLearningRate(muon, rate, ierr); call check(ierr == 0, 'MuonSetLearningRate')
  call MuonSetSchedule(muon, MUON_SCHEDULE_CONSTANT, MUON_CURRENT, MUON_CURRENT_REAL, MUON_CURRENT_REAL, ierr)
  call check(ierr == 0, 'MuonSetSchedule')
  call MuonSetMaxSteps(muon, int(steps, muon_int), ierr); call check(ierr == 0, 'MuonSetMaxSteps')
  call MuonSetObjectiveAndGradient(muon, loss_and_gradient, c_loc(p), ierr); call check(ierr == 0, 'MuonSetObjectiveAndGradient')
  call MuonMonitorSet(muon, watch, c_loc(p), ierr); call check(ierr == 0, 'MuonMonitorSet')
  halving = command_argument_count() > 0
  if (halving) call MuonSetScheduleFunction(muon, halve, c_null_ptr, ierr); call check(ierr == 0, 'MuonSetScheduleFunction')
  call MuonSetFromOptions(muon, ierr); call check(ierr == 0, 'MuonSetFromOptions')
  call MuonSolve(muon, ierr); call check(ierr == 0, 'MuonSolve')

  call MuonGetConvergedReason(muon, reason, ierr); call check(ierr == 0, 'MuonGetConvergedReason')
  call check(reason == MUON_CONVERGED_MAX_STEPS, 'all steps are taken')
  call MuonGetStepNumber(muon, step, ierr); call check(ierr == 0 .and. step == steps, 'MuonGetStepNumber')
  call check(p%calls == steps .and. p%seen == steps, 'the routines are called once a step')
  ! Each step rounds entries below 16 a few times, each distance sums rows*columns squares
  bound = 16 * steps * rows * columns * epsilon(bound)
  first = sqrt(sum((W0 - C)**2))
  gone = 0
  do k = 0, steps - 1
    distance = first - gone
    call check(abs(p%losses(k) - (distance**2 + spread) / 2) < bound * (first**2 + spread), 'the loss of a step')
    gone = gone + merge(rate * 0.5_muon_real**k, rate, halving)
  end do
  expected = W0 + gone / first * (C - W0)
  call check(maxval(abs(p%W - expected)) < bound, 'the weights are where the steps end')

  ! What a routine says with its error code is what the step says
  p%error = 83
  call MuonStep(muon, ierr); call check(ierr == p%error, 'the error code of a routine')

  call MuonDestroy(muon, ierr); call check(ierr == 0, 'MuonDestroy')
  call check(muon%v == MUON_NULL, 'what is destroyed is -2')
  call PetscMuonFinalize(ierr); call check(ierr == 0, 'PetscMuonFinalize')

contains

  subroutine check(right, what)
    logical, intent(in) :: right
    character(len=*), intent(in) :: what
    integer :: error
    if (right) return
    print '(2a)', 'wrong: ', what
    call MPI_Abort(MPI_COMM_WORLD, 1, error)
  end subroutine
end program

!/*TEST
!
!  build:
!    requires: fortran
!
!  test:
!    suffix: 1
!    nsize: {{1 3}}
!
!  test:
!    suffix: schedule
!    nsize: 2
!    args: -muon_exchange_type layerwise
!
!TEST*/
