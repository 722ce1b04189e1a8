/*
   The memory of a device and the kernels that work in it, which Kokkos makes: on a GPU, or on the host where
   Kokkos has no other back end.

   An array in that memory has kernels of the same names as the host's, in MuonKernelsGet(precision,
   MUON_DEVICE). They take pointers to entries of arrays in the memory of the device. What is not an array of
   entries, that is bitmaps, codes, values without gaps, numbers of rows or columns, may lie in either memory: a kernel
   copies what is on the host. Scalars come back to the host.

   Where the back end is the host itself, the memory is one of its own all the same: pointers are marked, so
   that the processor stops a read of them as of the host's.

   Raw pointers, no PETSc, no MPI. One thread at a time. Kokkos is started when it is first needed, unless
   it was already, and then ended with the program.
*/
#pragma once

#include <petscmuon/private/muonarray.h>

MUON_C_BEGIN

typedef struct {
  const char *name;       /* of the back end as Kokkos says it */
  int         ishost;     /* there is no other memory than the host's */
  MuonKernels kernels[2]; /* by MuonPrecision */
  /* Starts what the rest needs. NULL, or why there is no device here */
  const char *(*start)(void);
  /* NULL where memory is short */
  void *(*allocate)(size_t bytes);
  void (*release)(void *data);
  /* 1 for a pointer to its memory */
  int (*owns)(const void *data);
  /*
     Between two memories or in one: the pointers tell. What is read on the host is there when the call
     returns
  */
  void (*copy)(size_t bytes, const void *from, void *to);
  /*
     Bytes that were copied to the device [0] and to the host [1] since the program began, and in how many
     copies
  */
  void (*moved)(double bytes[2], double copies[2]);
  void (*zero)(size_t bytes, void *data);
  /* Memory of the host that is copied fast, NULL where memory is short */
  void *(*pin)(size_t bytes);
  void (*unpin)(void *data);
  /* A pointer to its memory in the form that other libraries take, such as MPI */
  void *(*bare)(void *data);
  /*
     Kernels work in the order of that stream of the back end, NULL being its own; those of the host have none
  */
  void (*setstream)(void *stream);
  void (*fence)(void);
  /*
     For tests and for comparisons with the host: kernels copy arrays that are on the host as well, where
     staged is 1; else they end the program with a message
  */
  void (*stage)(int staged);
  /* Tells the name of each kernel before it is queued, until NULL is given */
  void (*trace)(void (*told)(const char kernel[]));
} MuonDevice;

/* NULL where the library was built without Kokkos */
MUON_EXPORT const MuonDevice *MuonDeviceGet(void);

MUON_C_END
