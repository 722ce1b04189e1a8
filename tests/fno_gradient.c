/* The gradient of tutorials/science/fno.c in double precision, of a smaller network: both parts of complex weights, each layer */
#define FNO_DOUBLE
#define SIDE   9
#define PAD    2
#define MODES  2
#define WIDTH  3
#define HIDDEN 5
#include "../tutorials/science/fno.c"

/*TEST

  test:
    requires: double
    args: -fno_functions 20 -fno_tests 2 -fno_epochs 1 -fno_cells 16 -muon_test_gradient

TEST*/
