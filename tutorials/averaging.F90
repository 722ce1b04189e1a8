! A surrogate that is trained inside a Fortran job: averaging gradients by MPI_Allreduce and stepping Adam, and what takes its place.
!
! Each rank has points of its own, as the ranks of a simulation have. A network with two hidden layers learns f(x) = sin(pi x1) cos(pi x2) from them. Trainers that live inside simulations sum each gradient over the
! ranks, one MPI_Allreduce a parameter, and every rank takes the same step of Adam: subroutine average() below. The other way gives the same arrays to an optimizer once, and then calls MuonStep(): subroutine replace().
! The program does both from the same weights and prints what they reach, and what each rank sent.
!
! Try -muon_type sign -muon_learning_rate 0.002, or -ef21_compressor_ratio 0.02, or -muon_monitor.
module network
  use, intrinsic :: iso_c_binding
  use petscmuon
  implicit none

  integer, parameter :: points = 128, hidden = 32, nlayers = 6, steps = 200
  real(muon_real), parameter :: pi = 3.14159265358979_muon_real

  type :: parameter_array
    character(len=2) :: name
    real(muon_real), pointer :: w(:, :) => null(), g(:, :) => null()
  end type

  real(muon_real) :: x(2, points), y(points)
  type(parameter_array) :: p(nlayers)

contains

  ! Weights of uniform random numbers, the same on all ranks, and points that differ
  subroutine start(rank)
    integer, intent(in) :: rank
    integer, parameter :: rows(nlayers) = [hidden, hidden, hidden, hidden, 1, 1], columns(nlayers) = [2, 1, hidden, 1, hidden, 1]
    character(len=2), parameter :: names(nlayers) = ['W1', 'b1', 'W2', 'b2', 'W3', 'b3']
    integer(c_int64_t) :: seed
    integer :: k
    seed = 1
    do k = 1, nlayers
      if (.not. associated(p(k)%w)) allocate (p(k)%w(rows(k), columns(k)), p(k)%g(rows(k), columns(k)))
      p(k)%name = names(k)
      call random(seed, p(k)%w)
      p(k)%w = merge(p(k)%w * sqrt(3 / real(columns(k), muon_real)), 0 * p(k)%w, names(k)(1:1) == 'W')
    end do
    seed = 1000 + rank
    call random(seed, x)
    y = sin(pi * x(1, :)) * cos(pi * x(2, :))
  end subroutine

  ! Numbers between -1 and 1 that are the same with every compiler
  subroutine random(seed, a)
    integer(c_int64_t), intent(inout) :: seed
    real(muon_real), intent(out) :: a(:, :)
    integer :: i, j
    do j = 1, size(a, 2)
      do i = 1, size(a, 1)
        seed = modulo(seed * 48271_c_int64_t, 2147483647_c_int64_t)
        a(i, j) = 2 * real(seed, muon_real) / 2147483647.0_muon_real - 1
      end do
    end do
  end subroutine

  ! The mean of the squares of the errors over the points of this rank, and its gradient, as any framework gives them
  subroutine loss_and_gradients(loss)
    real(muon_real), intent(out) :: loss
    real(muon_real) :: a1(hidden, points), a2(hidden, points), e(1, points), d(hidden, points)
    a1 = tanh(matmul(p(1)%w, x) + spread(p(2)%w(:, 1), 2, points))
    a2 = tanh(matmul(p(3)%w, a1) + spread(p(4)%w(:, 1), 2, points))
    e = matmul(p(5)%w, a2) + p(6)%w(1, 1) - reshape(y, [1, points])
    loss = sum(e**2) / points
    e = 2 * e / points
    p(5)%g = matmul(e, transpose(a2))
    p(6)%g = sum(e)
    d = matmul(transpose(p(5)%w), e) * (1 - a2**2)
    p(3)%g = matmul(d, transpose(a1))
    p(4)%g(:, 1) = sum(d, 2)
    d = matmul(transpose(p(3)%w), d) * (1 - a1**2)
    p(1)%g = matmul(d, transpose(x))
    p(2)%g(:, 1) = sum(d, 2)
  end subroutine
end module

program averaging
  use mpi
  use network
  implicit none

  integer(c_int) :: ierr
  integer :: rank
  real(muon_real) :: before, adam, muon, bytes

  call PetscMuonInitialize('', 'A surrogate trained by MPI_Allreduce and Adam, and by EF21-Muon', ierr); call check(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr); call check(ierr)
  call start(rank)
  before = mean_loss()
  call average(bytes)
  adam = mean_loss()
  call report('MPI_Allreduce and Adam', adam)
  call start(rank)
  call replace(bytes)
  muon = mean_loss()
  call report('MuonStep', muon)
  call PetscMuonFinalize(ierr); call check(ierr)

contains

  subroutine report(what, after)
    character(len=*), intent(in) :: what
    real(muon_real), intent(in) :: after
    if (rank /= 0) return
    print '(a, t24, a, f8.5, a, f8.5)', what, 'loss', before, ' to', after
    print '(t24, i0, a)', nint(bytes), ' bytes a step from each rank'
    if (after < before / 10) print '(t24, a)', 'the loss fell below a tenth'
  end subroutine

  ! The way there was: one sum for each parameter, and Adam on every rank
  subroutine average(bytes)
    real(muon_real), intent(out) :: bytes
    real(muon_real), parameter :: rate = 0.01_muon_real, beta1 = 0.9_muon_real, beta2 = 0.999_muon_real
    type(parameter_array) :: first(nlayers), second(nlayers)
    real(muon_real) :: loss
    integer :: k, step, ranks, kind_of
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
    kind_of = merge(MPI_DOUBLE_PRECISION, MPI_REAL, muon_real == c_double)
    do k = 1, nlayers
      allocate (first(k)%w, source=0 * p(k)%w)
      allocate (second(k)%w, source=0 * p(k)%w)
    end do
    do step = 1, steps
      call loss_and_gradients(loss)
      bytes = 0
      do k = 1, nlayers
        call MPI_Allreduce(MPI_IN_PLACE, p(k)%g, size(p(k)%g), kind_of, MPI_SUM, MPI_COMM_WORLD, ierr)
        bytes = bytes + size(p(k)%g) * storage_size(p(k)%g) / 8
        p(k)%g = p(k)%g / ranks
        first(k)%w = beta1 * first(k)%w + (1 - beta1) * p(k)%g
        second(k)%w = beta2 * second(k)%w + (1 - beta2) * p(k)%g**2
        p(k)%w = p(k)%w - rate * (first(k)%w / (1 - beta1**step)) / (sqrt(second(k)%w / (1 - beta2**step)) + 1e-8_muon_real)
      end do
    end do
  end subroutine

  ! What takes its place: the arrays are named once, and a step averages, compresses and moves them
  subroutine replace(bytes)
    real(muon_real), intent(out) :: bytes
    type(tMuon) :: opt
    type(tMuonLayer) :: layer, none
    type(tMuonCompressor) :: compressor, down
    type(MuonLayerArray) :: array
    type(MuonTraffic) :: traffic
    real(muon_real) :: loss
    integer :: k, step
    call MuonCreate(MPI_COMM_WORLD, opt, ierr); call check(ierr)
    do k = 1, nlayers
      call MuonLayerArrayInitialize(array, ierr); call check(ierr)
      array%M = size(p(k)%w, 1)
      array%N = size(p(k)%w, 2)
      array%w = c_loc(p(k)%w)
      array%g = c_loc(p(k)%g) ! where each step finds the gradient of this rank
      call MuonAddLayerArray(opt, p(k)%name, array, layer, ierr); call check(ierr)
      ! Muon is for matrices in the middle of a network; vectors and the last layer are left to AdamW
      if (p(k)%name /= 'W1' .and. p(k)%name /= 'W2') call MuonLayerSetType(layer, MUONLAYERADAMW, ierr); call check(ierr)
    end do
    call MuonSetType(opt, MUONEF21, ierr); call check(ierr)
    call MuonGetLayerCompressors(opt, none, compressor, down, ierr); call check(ierr)
    call MuonCompressorSetType(compressor, MUONCOMPRESSORTOPK, ierr); call check(ierr)
    call MuonCompressorSetRatio(compressor, 0.1_muon_real, ierr); call check(ierr)
    call MuonSetLearningRate(opt, 0.05_muon_real, ierr); call check(ierr)
    call MuonSetParameter(opt, 'muon_adamw_learning_rate', '0.01', ierr); call check(ierr)
    call MuonSetSchedule(opt, MUON_SCHEDULE_LINEAR, MUON_CURRENT, MUON_CURRENT_REAL, MUON_CURRENT_REAL, ierr); call check(ierr)
    call MuonSetMaxSteps(opt, int(steps, muon_int), ierr); call check(ierr)
    call MuonSetFromOptions(opt, ierr); call check(ierr)
    do step = 1, steps
      call loss_and_gradients(loss)
      call MuonStep(opt, ierr); call check(ierr)
    end do
    call MuonGetTraffic(opt, traffic, ierr); call check(ierr)
    bytes = real(traffic%up(2) / 8, muon_real)
    call MuonDestroy(opt, ierr); call check(ierr)
  end subroutine

  function mean_loss() result(mean)
    real(muon_real) :: mean, loss
    integer :: ranks
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
    call loss_and_gradients(loss)
    call MPI_Allreduce(loss, mean, 1, merge(MPI_DOUBLE_PRECISION, MPI_REAL, muon_real == c_double), MPI_SUM, MPI_COMM_WORLD, ierr)
    mean = mean / ranks
  end function

  subroutine check(ierr)
    integer(c_int), intent(in) :: ierr
    if (ierr /= 0) call MPI_Abort(MPI_COMM_WORLD, ierr, rank)
  end subroutine
end program

!/*TEST
!
!  test:
!    requires: fortran
!    suffix: check
!    nsize: 2
!    filter: grep -c 'the loss fell below a tenth'
!
!TEST*/
