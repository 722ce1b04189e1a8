/*
   A file of kernels is written once and read for each precision: it defines TWICE, its own name, and includes
   this, which includes it again with REAL, the type of an entry, OTHER, that of the other precision, BITS,
   the integers of the width of REAL, REAL_LETTER, the letter of its BLAS routines, and REAL_NAME(name), the
   name of a function.

   What defines PAIRED as well is read for pairs of reals, too, complex numbers: REAL is then a struct of two,
   PART always the type of one. REAL_OF(x) makes an entry of a real, REAL_PAIRS is 0 or 1, and
   REAL_T the transposition that the BLAS is asked for.
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
