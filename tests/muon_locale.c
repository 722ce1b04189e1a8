static char help[] = "Files of a program whose locale has decimal commas, and of a loop without a routine that gives losses.\n\n";

#include "muon_common.h"
#include <locale.h>

int main(int argc, char **argv)
{
  const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8", "nl_NL.UTF-8", "es_ES.UTF-8"};
  char              line[512];
  FILE             *file;
  Problem           p;
  PetscInt          rows = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  for (size_t k = 0; k < sizeof(names) / sizeof(names[0]) && setlocale(LC_NUMERIC, names[k]) == NULL; k++) {}
  PetscCall(ProblemCreate(PETSC_COMM_SELF, MUONDENSE, &p));
  PetscCall(MuonSetParameter(p.muon, "muon_learning_rate", "0.125"));
  PetscCall(MuonMonitorSetCSV(p.muon, "locale.csv"));
  PetscCall(MuonStep(p.muon));
  PetscCall(MuonSetObjectiveAndGradient(p.muon, NULL, NULL));
  for (PetscInt l = 0; l < NLAYERS; l++) {
    Mat G;
    Vec g;

    if (strcmp(Shapes[l].type, MUONLAYERFROZEN) == 0) continue;
    if (Shapes[l].vec == PETSC_TRUE) {
      PetscCall(MuonLayerGetGradientVec(p.layer[l], &g));
      PetscCall(VecSet(g, 1));
    } else {
      PetscCall(MuonLayerGetGradient(p.layer[l], &G));
      PetscCall(MatZeroEntries(G));
    }
  }
  PetscCall(MuonStep(p.muon));
  PetscCall(MuonMonitorCancel(p.muon));
  PetscCall(ProblemDestroy(&p));
  (void)setlocale(LC_NUMERIC, "C");
  file = fopen("locale.csv", "r");
  PetscCheck(file != NULL, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "There is no file");
  while (fgets(line, sizeof(line), file) != NULL) {
    PetscInt commas = 0;

    for (const char *c = line; *c != '\0'; c++) commas += *c == ',';
    PetscCheck(commas == 9, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Row %d has %d commas: %s", (int)rows, (int)commas, line);
    PetscCheck(rows == 0 || strstr(line, ",0.125,") != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No rate in row %d: %s", (int)rows, line);
    PetscCheck(rows != 2 || strncmp(line, "1,,", 3) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A loss without a routine: %s", line);
    rows++;
  }
  PetscCheck(rows == 3, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d rows", (int)rows);
  (void)fclose(file);
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:

TEST*/
