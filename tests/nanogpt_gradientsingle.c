/* The gradient of tests/nanogpt_gradient.c in the precision of the tutorial */
#define NANOGPT_SINGLE
#include "nanogpt_gradient.c"

/*TEST

  test:

TEST*/
