/*
   Compiles a file of kernels once for each precision. The file defines TWICE, its own name, and includes this header, which
   includes the file again for each precision. It defines REAL, the type of an entry, OTHER, the type of the other precision,
   BITS, the integers with the width of REAL, REAL_LETTER, the letter of the BLAS routines, and REAL_NAME(name), the name of a
   function.

   If a file also defines PAIRED, it is compiled for complex numbers, too: REAL is then a struct of two numbers. PART is
   always the type of a real number. REAL_OF(x) converts a real number to an entry, REAL_PAIRS is 0 or 1, and REAL_T is the
   transposition for the BLAS.
*/
#pragma once

#include <stdint.h>

#if defined(TWICE)
  #define REAL_PAIRS 0
  #define REAL_T     "T"
  #define REAL_OF(x) ((REAL)(x))

  #define REAL            float
  #define PART            float
  #define OTHER           double
  #define BITS            uint32_t
  #define REAL_LETTER     s
  #define REAL_NAME(name) name##Single
  #include TWICE
  #undef REAL
  #undef PART
  #undef OTHER
  #undef BITS
  #undef REAL_LETTER
  #undef REAL_NAME

  #define REAL            double
  #define PART            double
  #define OTHER           float
  #define BITS            uint64_t
  #define REAL_LETTER     d
  #define REAL_NAME(name) name##Double
  #include TWICE
  #undef REAL
  #undef PART
  #undef OTHER
  #undef BITS
  #undef REAL_LETTER
  #undef REAL_NAME
  #undef REAL_PAIRS
  #undef REAL_T
  #undef REAL_OF

  #if defined(PAIRED)
    #define REAL_PAIRS 1
    #define REAL_T     "C"
    #define REAL_OF(x) \
      { \
        (PART)(x), 0 \
      }

    #define REAL            MuonPairSingle
    #define PART            float
    #define REAL_LETTER     c
    #define REAL_NAME(name) name##PairSingle
    #include TWICE
    #undef REAL
    #undef PART
    #undef REAL_LETTER
    #undef REAL_NAME

    #define REAL            MuonPairDouble
    #define PART            double
    #define REAL_LETTER     z
    #define REAL_NAME(name) name##PairDouble
    #include TWICE
    #undef REAL
    #undef PART
    #undef REAL_LETTER
    #undef REAL_NAME
    #undef REAL_PAIRS
    #undef REAL_T
    #undef REAL_OF
  #endif
#endif
