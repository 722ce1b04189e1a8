static char help[] = "The rows of steps are those of the whole matrices, to the last bit, however these are assembled.\n\n";

#include "assembly_common.h"

int main(int argc, char **argv)
{
  const PetscInt counts[] = {0, 1, 5, MAXITEMS};
  PetscInt       wrong    = 0;
  TestProblem    p;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  for (int c = 0; c < 4; c++) {
    /* All of one kind, then mixed */
    for (int kind = 0; kind < 5; kind++) {
      for (int pattern = 0; pattern < 5; pattern++) {
        PetscCall(TestCreate(&p));
        p.n = counts[c];
        for (PetscInt k = 0; k < p.n; k++) TestItem(&p, k, (MuonAssemblyKind)(kind < 4 ? kind : (int)(Mix((uint32_t)k, 3, 3) % 4)), pattern < 4 ? pattern : (int)(Mix((uint32_t)k, 4, 4) % 4));
        for (int choice = 0; choice < 9; choice++) {
          const PetscInt chunks[] = {1, 2, 3, 5, PETSC_MAX_INT}, warmups[] = {1, 2, 3, 5, PETSC_MAX_INT};

          p.options.precision  = (MuonAssemblyPrecision)(choice % 3);
          p.options.assignment = (MuonExchangeAssignment)(choice / 3);
          if (choice > 0) p.options.chunk = chunks[(choice + pattern) % 5];
          if (choice > 0) p.options.warmup = warmups[(choice + kind) % 5];
          PetscCall(TestSetUp(&p));
          PetscCall(TestRun(&p));
          if (choice == 0) PetscCall(TestRun(&p));
        }
        wrong += p.wrong;
        PetscCall(TestDestroy(&p));
      }
    }
  }
  PetscCall(PetscFinalize());
  if (wrong != 0) return 1;
  return 0;
}

/*TEST

  link: internal

  test:
    nsize: {{1 2 3 4 6}}

TEST*/
