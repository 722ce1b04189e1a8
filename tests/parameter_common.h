/* Parameters of a type in programs that go over several types */
#pragma once

#include <petscmuon.h>

/* Of an optimizer of this type; others are left alone */
static inline PetscErrorCode TestSetOfMuonType(Muon muon, MuonType type, const char key[], const char value[])
{
  PetscBool same;

  PetscFunctionBeginUser;
  PetscCall(PetscObjectTypeCompare((PetscObject)muon, type, &same));
  if (same) PetscCall(MuonSetParameter(muon, key, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}
