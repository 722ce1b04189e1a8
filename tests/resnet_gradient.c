/* The gradient of tutorials/resnet in double precision, where differences prove most: in single precision they tell next to nothing of so many layers */
#define NET_DOUBLE
#include "../tutorials/resnet/resnet.c"

/*TEST

  # Kernels of size 3 and 1, strides of 1 and 2. A relu that changes its side between two losses costs a few digits
  test:
    requires: double
    args: -resnet_width 4 -resnet_images 4 -resnet_batch 2 -resnet_epochs 1 -muon_max_steps 1 -muon_test_gradient
    filter: awk '/^gradient of layer/ {n++; good += $NF < 1e-6; if ($NF > 0.05) print} END {print n " layers", good > 25}'

TEST*/
