/*
   What the types that keep whole rows or columns share: all but the name and the man page.
*/
#pragma once

#include <petscmuon/private/muoncompressorcodec.h>

/* Fills the operations of a type that keeps rows, or columns */
PETSC_INTERN PetscErrorCode MuonCompressorCreateLines_Private(MuonCompressor, PetscBool rows);
