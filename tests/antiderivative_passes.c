static char help[] = "The passes of tutorials/science/antiderivative against plain loops.\n\n";

#include <petscmuon.h>
#include "../tutorials/science/antiderivative.h"
#include "operatorpasses.h"

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(CheckPasses());
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  build:
    requires: double

  test:

TEST*/
