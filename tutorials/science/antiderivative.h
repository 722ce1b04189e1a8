/* The network of antiderivative.c in single and double precision, see antiderivative.inc */
#pragma once

#include <petscblaslapack.h>
#include "gaussian.h"

#define SENSORS 100 /* from 0 to 1 */
#define WIDTH   100 /* of all layers of both networks; a multiple of 4, and at least GRID - 1 */
#define BLOCK   500 /* functions whose activations stay in the cache */
#define BRANCH1 (WIDTH * (SENSORS + 1))
#define TRUNK0  (BRANCH1 + WIDTH * (WIDTH + 1))
#define TRUNK1  (TRUNK0 + WIDTH * 2)
#define ENTRIES (TRUNK1 + WIDTH * (WIDTH + 1))

#define REAL        float
#define NAME(f)     f##Single
#define LETTER      s
#define LETTER_CAPS S
#include "antiderivative.inc"
#undef REAL
#undef NAME
#undef LETTER
#undef LETTER_CAPS

#define REAL        double
#define NAME(f)     f##Double
#define LETTER      d
#define LETTER_CAPS D
#include "antiderivative.inc"
#undef REAL
#undef NAME
#undef LETTER
#undef LETTER_CAPS
