/*
   Includes TEST_FILE, which is the test itself, once for each precision: REAL is the type of an entry there,
   IS_SINGLE tells which it is, and REAL_NAME(name) is the name of a function
*/
#pragma once

#define REAL            float
#define IS_SINGLE       1
#define REAL_NAME(name) name##Single
#include TEST_FILE
#undef REAL
#undef IS_SINGLE
#undef REAL_NAME

#define REAL            double
#define IS_SINGLE       0
#define REAL_NAME(name) name##Double
#include TEST_FILE
#undef REAL
#undef IS_SINGLE
#undef REAL_NAME
