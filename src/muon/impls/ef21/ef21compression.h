/*
   What compression does to the layers of EF21-Muon, measured around the commit of a step.
*/
#pragma once

#include <petscmuon/private/muonimpl.h>
#include <petscmuon/private/muoncompressorimpl.h>

/* What one rank measured of one layer: by how much a message fell short, squared and relative, and by how much after all; in the Frobenius norm and in the layer's */
typedef struct {
  double up[2], lag[2], down[2], gap[2];
} EF21Figures;
#define EF21_FIGURES 8

typedef struct {
  PetscBool            wanted, active; /* by the user; in this step */
  PetscInt             n;
  EF21Figures         *mine;   /* of this rank */
  MuonEF21Compression *result; /* of all */
} EF21Meter;

PETSC_INTERN PetscErrorCode EF21MeterCreate_Private(EF21Meter *, PetscInt);
PETSC_INTERN PetscErrorCode EF21MeterDestroy_Private(EF21Meter *);
/* Before the ranks agree on a step: tells them whether this one measures it. Nothing is measured, and no rank waits for another, in the steps of which monitors do not speak */
PETSC_INTERN PetscErrorCode EF21MeterBegin_Private(Muon, EF21Meter *, MuonRecord *);
/* What layer i's receiver lacks of A while it has B; called before it gets the message and after. up: the dual norm counts, and no commit was before */
PETSC_INTERN PetscErrorCode EF21MeterUp_Private(Muon, EF21Meter *, PetscInt i, PetscBool after, Mat A, Mat B);
PETSC_INTERN PetscErrorCode EF21MeterDown_Private(Muon, EF21Meter *, PetscInt i, PetscBool after, Mat A, Mat B);
/* Every rank learns what the others measured; up[i] and down[i] are the compressors of layer i */
PETSC_INTERN PetscErrorCode EF21MeterEnd_Private(Muon, EF21Meter *, const MuonCompressor up[], const MuonCompressor down[]);
PETSC_INTERN PetscErrorCode EF21MeterSetFromOptions_Private(Muon);
