/*
   A locale whose numbers have a decimal comma. It is made here, in the folder of the test, as none may be
   installed.
*/
#pragma once

#include <petscsys.h>
#include <locale.h>
#include <stdlib.h>

static inline PetscErrorCode TestSetCommaLocale(void)
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
