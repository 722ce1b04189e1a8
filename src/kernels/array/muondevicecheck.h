/*
   The kernels of a device beside those of the host, on the same numbers. Raw pointers, no PETSc, no MPI.
*/
#pragma once

#include <petscmuon/private/muonkernelsdevice.h>

MUON_C_BEGIN

/*
   1 where all agree on arrays of n lines of m entries of that precision: to the last bit, or within the
   rounding of sums where sums have another order. Else what names the first kernel that does not; it is empty
   where memory ran out
*/
int MuonKernelDeviceCheck(MuonPrecision precision, size_t m, size_t n, size_t length, char what[]);

MUON_C_END
