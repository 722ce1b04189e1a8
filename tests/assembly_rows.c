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
        PetscCall(MuonAssemblySetItems(p.assembly, p.n, p.item));
        for (int choice = 0; choice < 9; choice++) {
          const PetscInt chunks[] = {1, 2, 3, 5, PETSC_MAX_INT}, warmups[] = {1, 2, 3, 5, PETSC_MAX_INT};

          PetscCall(MuonAssemblySetPrecision(p.assembly, (MuonAssemblyPrecision)(choice % 3)));
          PetscCall(MuonAssemblySetAssignment(p.assembly, (MuonExchangeAssignment)(choice / 3)));
          if (choice > 0) PetscCall(MuonAssemblySetChunk(p.assembly, chunks[(choice + pattern) % 5]));
          if (choice > 0) PetscCall(MuonAssemblySetWarmup(p.assembly, warmups[(choice + kind) % 5]));
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

  test:
    nsize: {{1 2 3 4 6 8}}

TEST*/
