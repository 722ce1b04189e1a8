/* The gradient of tutorials/science/fno.c in double precision, of a smaller network: both parts of complex weights, each layer; and two ranks take the steps of one */
#define FNO_DOUBLE
#define SIDE   9
#define PAD    2
#define MODES  2
#define WIDTH  3
#define HIDDEN 5
#include "../tutorials/science/fno.c"

/*TEST

  testset:
    requires: double
    args: -fno_functions 40 -fno_tests 4 -fno_cells 16
    table: suffix | nsize | args
      differences | 1       | -fno_epochs 1 -muon_max_steps 1 -muon_test_gradient
      ranks       | {{1 2}} | -fno_epochs 6 -muon_learning_rate 0.01 -muon_shape_factor moonlight -muon_adamw_learning_rate -1 -lmo_polar_precision double -muon_monitor_csv /dev/stdout
    filter: awk -F '[ ,]' '/^gradient of layer/ {n++; good += $NF < 1e-6} /^11,/ {printf "loss %.11e\n", $2} /^relative/ {print} END {if (n) print n " layers", good}' | sort

TEST*/
