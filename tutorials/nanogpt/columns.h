/*
   What a study wants to know of a run beside -muon_monitor_csv: a row for each line of progress, for the studies'
   program, which puts both together. Of a run of type ef21 a second file, with .layers behind the name, has a row for
   each layer: how long its messages are at most, and in a step that was measured what they left out. A file is of one start of the program; seconds are those of process 0 since then.
*/
#pragma once

#include <petscmuon.h>

typedef struct _n_Columns *Columns;

/* Whatever the file had is gone. Switches PETSc's log of events on, from which the seconds come */
PetscErrorCode ColumnsCreate(const char file[], Columns *);
/* Collective: steps that are done, their tokens, and the seconds since the first of them without validations */
PetscErrorCode ColumnsRow(Columns, Muon, PetscInt steps, PetscInt64 tokens, PetscLogDouble seconds);
PetscErrorCode ColumnsDestroy(Columns *);
