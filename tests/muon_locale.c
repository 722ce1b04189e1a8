static char help[] = "Numbers of files have no locale: the rows of a monitor, one of a loop without a routine that gives losses among them, and checkpoints, from where the decimal point is a comma and back.\n\n";

#include "problem.h"
#include <locale.h>
#include <stdlib.h>

/* A locale whose numbers have a decimal comma. It is made in the folder of the test, as none may be installed */
static PetscErrorCode SetCommaLocale(void)
{
  const char source[] = "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \"\"\ngrouping -1\nEND LC_NUMERIC\n";
  FILE      *file     = fopen("comma.source", "w");
  char       number[8];

  PetscFunctionBegin;
  PetscCheck(file != NULL && fputs(source, file) >= 0 && fclose(file) == 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "comma.source");
  /* It warns of all other categories, and its status says so */
  PetscCheck(system("localedef -c -f ANSI_X3.4-1968 -i ./comma.source ./comma 2> comma.log") >= 0 && setenv("LOCPATH", ".", 1) == 0, PETSC_COMM_SELF, PETSC_ERR_SYS, "localedef");
  PetscCheck(setlocale(LC_NUMERIC, "comma") != NULL, PETSC_COMM_SELF, PETSC_ERR_SYS, "No locale was made; see comma.log");
  (void)snprintf(number, sizeof(number), "%g", 0.5);
  PetscCheck(number[1] == ',', PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s has no comma", number);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What checkpoints find that is another option is printed, and compared by the runner */
static PetscErrorCode Run(PetscReal rate, const char to[], const char from[])
{
  Problem p;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&p, 0, 0));
  PetscCall(MuonSetLearningRate(p.muon, rate));
  PetscCall(MuonLayerSetScale(p.layer[1].layer, (PetscReal)1.5));
  PetscCall(MuonLayerSetScale(p.layer[0].layer, (PetscReal)0.0625));
  PetscCall(MuonMonitorSetCSV(p.muon, "locale.csv"));
  if (from != NULL) PetscCall(MuonLoadCheckpoint(p.muon, from));
  PetscCall(MuonStep(p.muon));
  if (from == NULL) {
    PetscCall(MuonSetObjectiveAndGradient(p.muon, NULL, NULL));
    PetscCall(ProblemSetGradients(&p, 1));
    PetscCall(MuonStep(p.muon));
  }
  PetscCall(MuonMonitorCancel(p.muon));
  if (to != NULL) PetscCall(MuonSaveCheckpoint(p.muon, to, 1));
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckRows(void)
{
  FILE    *file = fopen("locale.csv", "r");
  char     line[512];
  PetscInt rows = 0;

  PetscFunctionBegin;
  PetscCheck(file != NULL, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "There is no file");
  for (; fgets(line, sizeof(line), file) != NULL; rows++) {
    PetscInt commas = 0;

    for (const char *c = line; *c != '\0'; c++) commas += *c == ',';
    PetscCheck(commas == 9, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Row %d has %d commas: %s", (int)rows, (int)commas, line);
    PetscCheck(rows == 0 || strstr(line, ",0.125,") != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No rate in row %d: %s", (int)rows, line);
    PetscCheck(rows != 2 || strncmp(line, "1,,", 3) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A loss without a routine: %s", line);
  }
  PetscCheck(rows == 3, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d rows", (int)rows);
  (void)fclose(file);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(Run((PetscReal)0.125, "point", NULL));
  PetscCall(SetCommaLocale());
  PetscCall(Run((PetscReal)0.125, NULL, NULL));
  PetscCall(CheckRows());
  PetscCall(Run((PetscReal)0.125, "comma", "point"));
  PetscCall(Run((PetscReal)0.25, NULL, "point")); /* the one difference */
  (void)setlocale(LC_NUMERIC, "C");
  PetscCall(Run((PetscReal)0.125, NULL, "comma"));
  PetscCall(Run((PetscReal)0.25, NULL, "comma"));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  test:
    nsize: 0
    args: -muon_type ef21 -ef21_compressor topk -ef21_compressor_ratio 0.375

TEST*/
