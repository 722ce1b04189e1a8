/*
   A file of kernels is written once and read for each precision: it defines TWICE, its own name, and includes
   this, which includes it again with REAL, the type of an entry, OTHER, that of the other precision, BITS,
   the integers of the width of REAL, REAL_LETTER, the letter of its BLAS routines, and REAL_NAME(name), the
   name of a function.
*/
#pragma once

#include <stdint.h>

#if defined(TWICE)
  #define REAL            float
  #define OTHER           double
  #define BITS            uint32_t
  #define REAL_LETTER     s
  #define REAL_NAME(name) name##Single
  #include TWICE
  #undef REAL
  #undef OTHER
  #undef BITS
  #undef REAL_LETTER
  #undef REAL_NAME

  #define REAL            double
  #define OTHER           float
  #define BITS            uint64_t
  #define REAL_LETTER     d
  #define REAL_NAME(name) name##Double
  #include TWICE
  #undef REAL
  #undef OTHER
  #undef BITS
  #undef REAL_LETTER
  #undef REAL_NAME
#endif
