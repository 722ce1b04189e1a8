/*
   Compares the kernels of a device with those of the host, on the same numbers. Raw pointers, no PETSc, no MPI.
*/
#pragma once

#include <petscmuon/private/muonkernelsdevice.h>

MUON_C_BEGIN

/*
   Returns 1 if all kernels agree on arrays of n lines of m entries of that precision: to the last bit, or within rounding if
   sums have another order. Otherwise what names the first kernel that differs. It is empty if there was no memory
*/
int MuonKernelDeviceCheck(MuonPrecision precision, size_t m, size_t n, size_t length, char what[]);

MUON_C_END
