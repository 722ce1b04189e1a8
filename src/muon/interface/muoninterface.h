/*
   What the files of this folder share; it may include all folders below.
*/
#pragma once

#include "../schedule/muonschedule.h"
#include "../step/muonstep.h"

/*
   Layers that are ranges become those of another vector with the same entries on each rank, before
   MuonSetUp()
*/
PETSC_INTERN PetscErrorCode MuonReplaceVec_Private(Muon, Vec x, Vec g);
/* Names the keys that no object reads, each with the nearest one that exists */
PETSC_INTERN PetscErrorCode MuonCheckOptions_Private(Muon);
/* Whether the first word of a key without prefix is a family of this library: of a class, or the name of a registered type */
PETSC_INTERN PetscErrorCode MuonKnowsFamily_Private(const char key[], PetscBool *);
/* The key without prefix that is nearest to this one and can have this value; for Python */
PETSC_EXTERN PetscErrorCode MuonGetNearestOption_Private(Muon, const char key[], const char value[], size_t, char text[]);
/* The parameters, and what their rows cannot say */
PETSC_INTERN const MuonParameter MuonParameters_Private[];
PETSC_INTERN PetscErrorCode      MuonChanging_Private(PetscObject, const MuonParameter *, double);
PETSC_INTERN PetscErrorCode      MuonChangingText_Private(PetscObject, const MuonParameter *, const char[]);
PETSC_INTERN const char         *MuonHeading_Private(PetscObject, const MuonParameter *);
PETSC_INTERN PetscErrorCode      MuonChanged_Private(PetscObject, const MuonParameter *);
PETSC_INTERN PetscErrorCode      MuonChildren_Private(PetscObject, MuonParameterObjectFn *, void *);
/* The addons registered so far; an addon of a type is active for optimizers of this type */
PETSC_INTERN PetscErrorCode MuonAddonsCreate_Private(Muon);
PETSC_INTERN PetscErrorCode MuonAddonsSetType_Private(Muon, MuonType);
/* Where -help is given, one line, once, on the keys of a layer's own */
PETSC_INTERN PetscErrorCode MuonHelpLayer_Private(Muon, MuonLayer);
PETSC_INTERN PetscErrorCode MuonResetShards_Private(Muon);
/* If ranks differ in layers, options or, when workers are known, weights, one error on all ranks names the layer */
PETSC_INTERN PetscErrorCode MuonCheckRanksAgree_Private(Muon, PetscBool workers);
PETSC_INTERN PetscErrorCode MuonCompareRows_Private(Muon, PetscInt stride, PetscInt weights, const unsigned int mine[], unsigned int first[]);
/* Collective, first in each call that communicates: an error on all ranks unless they are in the same call with the same options */
PETSC_INTERN PetscErrorCode MuonAgree_Private(Muon, MuonCall);
/* MuonSetUp() behind it */
PETSC_INTERN PetscErrorCode MuonSetUpAgreed_Private(Muon);
/*
   The weights of an active layer, to be changed in the same way on all ranks and restored, and its server's own weights, without
   data if there are none. These first take over changes by the program, which the restore would hide
*/
PETSC_INTERN PetscErrorCode MuonGetAllWeights_Private(MuonLayer, MuonArray *W, MuonArray *X);
/* Hash of all that a step depends on */
PETSC_INTERN PetscErrorCode MuonHashOptions_Private(Muon, unsigned int *);
/* Collective: the error that names the first choice that differs between the ranks */
PETSC_INTERN PetscErrorCode MuonRaiseDifference_Private(Muon);
