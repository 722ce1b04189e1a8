! How arguments of each kind cross from Fortran to C and back, and what wrong ones do.
program fortran_usage
  use mpi
  use, intrinsic :: iso_c_binding
  use petscmuon
  implicit none

  type(tMuon) :: muon, never
  type(tMuonLayer) :: layer, other
  type(tMuonCompressor) :: up, down
  type(tMuonPolar) :: polar
  type(MuonLayerArray) :: array, back
  type(MuonTraffic) :: traffic
  real(c_float), target :: w(4, 6), g(4, 6)
  real(muon_real) :: rate
  real(c_double) :: flops
  integer(c_int) :: ierr
  integer(muon_int) :: m, n, rows, columns, cuts(2)
  type(c_ptr) :: p, q
  integer(muon_int), pointer :: cut(:)
  logical :: flag
  character(len=8) :: short
  character(len=64) :: text

  call PetscMuonInitialize('', '', ierr); call check(ierr == 0, 'PetscMuonInitialize')
  if (command_argument_count() > 0) then
    ! Alone, because PETSc 3.18 prints no second error
    call MuonCreate(MPI_COMM_SELF, muon, ierr); call check(ierr == 0, 'MuonCreate')
    call MuonDestroy(muon, ierr); call check(ierr == 0, 'MuonDestroy')
    call MuonSetLearningRate(muon, 1.0_muon_real, ierr)
    error stop
  end if
  call PetscMuonInitialized(flag, ierr); call check(ierr == 0 .and. flag, 'PetscMuonInitialized')
  call MuonCreate(MPI_COMM_SELF, muon, ierr); call check(ierr == 0 .and. muon%v /= MUON_NULL, 'MuonCreate')

  ! Text: trailing blanks do not count, what is too long for the variable is cut, blank is NULL
  call MuonSetType(muon, 'ef21   ', ierr); call check(ierr == 0, 'MuonSetType')
  call MuonGetType(muon, text, ierr); call check(ierr == 0 .and. text == MUONEF21, 'MuonGetType')
  call MuonSetOptionsPrefix(muon, 'some_long_prefix_', ierr); call check(ierr == 0, 'MuonSetOptionsPrefix')
  call MuonGetOptionsPrefix(muon, short, ierr); call check(ierr == 0 .and. short == 'some_lon', 'MuonGetOptionsPrefix')
  call MuonSetOptionsPrefix(muon, ' ', ierr); call check(ierr == 0, 'MuonSetOptionsPrefix')
  call MuonGetOptionsPrefix(muon, text, ierr); call check(ierr == 0 .and. text == ' ', 'MuonGetOptionsPrefix')

  ! Numbers and logicals
  call MuonSetParameter(muon, 'muon_seed', '5000000000', ierr); call check(ierr == 0, 'MuonSetParameter')
  call MuonGetParameter(muon, 'muon_seed', text, 64_c_size_t, ierr)
  call check(ierr == 0 .and. text == '5000000000', 'MuonGetParameter')
  call MuonSetMaxSteps(muon, 17_muon_int, ierr); call check(ierr == 0, 'MuonSetMaxSteps')
  call MuonGetMaxSteps(muon, n, ierr); call check(ierr == 0 .and. n == 17, 'MuonGetMaxSteps')
  call MuonSetLearningRate(muon, 0.5_muon_real, ierr); call check(ierr == 0, 'MuonSetLearningRate')
  call MuonGetLearningRate(muon, rate, ierr); call check(ierr == 0, 'MuonGetLearningRate')
  call check(abs(rate - 0.5_muon_real) <= 0, 'MuonGetLearningRate')
  call MuonSetSchedule(muon, MUON_SCHEDULE_COSINE, 3_muon_int, MUON_CURRENT_REAL, 0.25_muon_real, ierr)
  call check(ierr == 0, 'MuonSetSchedule')
  call MuonSetSchedule(muon, MUON_SCHEDULE_CURRENT, MUON_CURRENT, MUON_CURRENT_REAL, MUON_CURRENT_REAL, ierr)
  call MuonGetParameter(muon, 'muon_schedule', text, 64_c_size_t, ierr)
  call check(ierr == 0 .and. text == 'cosine', 'MuonGetParameter')
  call MuonGetParameter(muon, 'muon_schedule_warmup', text, 64_c_size_t, ierr)
  call check(ierr == 0 .and. text == '3', 'MuonGetParameter')
  call MuonGetParameter(muon, 'muon_schedule_minimum', text, 64_c_size_t, ierr)
  call check(ierr == 0 .and. text == '0.25', 'MuonGetParameter')

  ! A layer in single precision, whatever PetscReal is
  call MuonLayerArrayInitialize(array, ierr); call check(ierr == 0, 'MuonLayerArrayInitialize')
  call check(array%type == merge(MUON_DOUBLE, MUON_FLOAT, muon_real == c_double), 'type of MuonLayerArrayInitialize')
  call check(array%comm == MPI_COMM_SELF .and. array%rows == MUON_DECIDE, 'numbers of MuonLayerArrayInitialize')
  call check(array%rowmajor == 0 .and. .not. c_associated(array%w), 'weights of MuonLayerArrayInitialize')
  w = 1
  array%type = MUON_FLOAT
  array%M = 4
  array%N = 6
  array%w = c_loc(w)
  call MuonAddLayerArray(muon, 'w', array, layer, ierr); call check(ierr == 0, 'MuonAddLayerArray')
  call MuonGetLayer(muon, 0_muon_int, other, ierr); call check(ierr == 0 .and. other%v == layer%v, 'MuonGetLayer')
  call MuonLayerGetSize(layer, m, n, ierr); call check(ierr == 0 .and. m == 4 .and. n == 6, 'MuonLayerGetSize')
  call MuonLayerGetWeightsArray(layer, back, ierr); call check(ierr == 0, 'MuonLayerGetWeightsArray')
  call check(c_associated(back%w, c_loc(w)), 'memory of MuonLayerGetWeightsArray')
  call check(back%ld == 4 .and. back%rows == 4, 'numbers of MuonLayerGetWeightsArray')

  ! Arrays in, pointers out
  cuts = [2, 4]
  call MuonLayerSetBlocks(layer, 1_muon_int, ncolumns=2_muon_int, columns=cuts, ierr=ierr)
  call check(ierr == 0, 'MuonLayerSetBlocks')
  call MuonLayerGetBlocks(layer, rows, p, columns, q, ierr); call check(ierr == 0 .and. columns == 2, 'MuonLayerGetBlocks')
  call c_f_pointer(q, cut, [2])
  call check(cut(1) == 2 .and. cut(2) == 4, 'MuonLayerGetBlocks')

  ! Two objects from one call, and one of our own
  call MuonSetUp(muon, ierr); call check(ierr == 0, 'MuonSetUp')
  call MuonGetLayerCompressors(muon, layer, up, down, ierr); call check(ierr == 0, 'MuonGetLayerCompressors')
  call check(up%v /= down%v .and. up%v /= MUON_NULL .and. down%v /= MUON_NULL, 'MuonGetLayerCompressors')
  call MuonPolarCreate(MPI_COMM_WORLD, polar, ierr); call check(ierr == 0, 'MuonPolarCreate')
  call MuonPolarSetType(polar, MUONPOLARNEWTONSCHULZ, ierr); call check(ierr == 0, 'MuonPolarSetType')
  call MuonPolarGetFlops(polar, 4_muon_int, 4_muon_int, flops, ierr); call check(ierr == 0 .and. flops > 0, 'MuonPolarGetFlops')
  call MuonPolarDestroy(polar, ierr); call check(ierr == 0 .and. polar%v == MUON_NULL, 'MuonPolarDestroy')
  call MuonPolarDestroy(polar, ierr); call check(ierr == 0 .and. polar%v == MUON_NULL, 'MuonPolarDestroy of nothing')

  ! A blank name is none: no checkpoints are written
  call MuonSetCheckpoint(muon, 'nowhere', 1_muon_int, ierr); call check(ierr == 0, 'MuonSetCheckpoint')
  call MuonSetCheckpoint(muon, ' ', 1_muon_int, ierr); call check(ierr == 0, 'MuonSetCheckpoint of nothing')

  ! A struct, with numbers that are known: 4 x 6 entries, 32 bits each, and a header on the message down
  g = 1
  call MuonLayerSetGradientArray(layer, c_loc(g), ierr); call check(ierr == 0, 'MuonLayerSetGradientArray')
  call MuonStep(muon, ierr); call check(ierr == 0, 'MuonStep')
  call MuonGetTraffic(muon, traffic, ierr); call check(ierr == 0, 'MuonGetTraffic')
  call check(nint(traffic%dense) == 32 * 24 .and. nint(traffic%up(1)) == 32 * 24, 'MuonGetTraffic')
  call check(traffic%down(2) > traffic%down(1) .and. abs(traffic%total_down(2) - traffic%down(2)) <= 0, 'MuonGetTraffic')
  call check(any(abs(w - 1) > 0), 'the step changes the array of the program')

  ! What is wrong is an error code, and the program goes on
  print '(a)', 'errors begin'
  call MuonStep(never, ierr); call check(ierr /= 0, 'MuonStep of an object that was never made')
  call MuonSetType(muon, 'no such type', ierr); call check(ierr /= 0, 'MuonSetType of no type')
  call MuonLayerSetScale(other, -1.0_muon_real, ierr); call check(ierr /= 0, 'MuonLayerSetScale below zero')
  array%type = 2
  call MuonAddLayerArray(muon, 'complex', array, other, ierr); call check(ierr /= 0, 'MuonAddLayerArray of complex numbers')
  array%type = MUON_FLOAT
  array%ld = 3
  call MuonAddLayerArray(muon, 'gaps', array, other, ierr); call check(ierr /= 0, 'MuonAddLayerArray of columns that overlap')
  array%ld = 4
  call MuonDestroy(muon, ierr); call check(ierr == 0, 'MuonDestroy')
  call MuonCreate(MPI_COMM_SELF, muon, ierr); call check(ierr == 0, 'MuonCreate')
  call MuonAddLayerArray(muon, 'w', array, other, ierr); call check(ierr == 0, 'MuonAddLayerArray')
  call MuonAddLayerArray(muon, 'W', array, layer, ierr); call check(ierr /= 0, 'MuonAddLayerArray of a name that is there')
  call MuonAddLayer(muon, 'nothing', MUON_NULL, other, ierr); call check(ierr /= 0, 'MuonAddLayer of no matrix')
  call MuonDestroy(muon, ierr); call check(ierr == 0, 'MuonDestroy')
  call MuonSetLearningRate(muon, 1.0_muon_real, ierr); call check(ierr /= 0, 'MuonSetLearningRate of what was destroyed')
  print '(a)', 'errors end'
  call PetscMuonFinalize(ierr); call check(ierr == 0, 'PetscMuonFinalize')

contains

  subroutine check(right, what)
    logical, intent(in) :: right
    character(len=*), intent(in) :: what
    if (right) return
    print '(2a)', 'wrong: ', what
    error stop
  end subroutine
end program

!/*TEST
!
!  build:
!    requires: fortran
!
!  test:
!
!  test:
!    suffix: gone
!    args: gone
!    error: MuonSetLearningRate(): argument 1 is an object that was never made or was destroyed
!
!TEST*/
