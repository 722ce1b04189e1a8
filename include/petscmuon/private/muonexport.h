/*
   What types outside of the library may call of the components that know nothing of PETSc, and what stands around
   the C of a header that C++ includes
*/
#pragma once

#if defined(__GNUC__)
  #define MUON_EXPORT __attribute__((visibility("default")))
#else
  #define MUON_EXPORT
#endif

#if defined(__cplusplus)
  #define MUON_C_BEGIN extern "C" {
  #define MUON_C_END   }
#else
  #define MUON_C_BEGIN
  #define MUON_C_END
#endif
