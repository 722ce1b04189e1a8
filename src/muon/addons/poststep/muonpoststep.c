#include "../../interface/muoninterface.h" /*I "petscmuon.h" I*/

typedef struct {
  MuonPostStepFn *fn;
  void           *ctx;
  PetscBool       taken; /* the step */
} MuonPostStep;

/*@C
  MuonSetPostStep - Sets a routine that is called after each successful step

  Logically Collective

  Input Parameters:
+ muon - the optimizer
. fn   - the routine, or `NULL` for none
- ctx  - its context, or `NULL`

  Calling sequence of `fn`:
+ muon - the optimizer
. step - the step that was taken
- ctx  - the context

  Level: intermediate

  Notes:
  Every rank calls the routine, after the step was committed and counted, before validation, monitors and look-ahead (`-muon_lookahead`). It may
  communicate, and may change weights in the same way on all ranks, by `MuonLayerClipHeads()`, or directly, followed by `MuonWeightsChanged()`.

  It is not called after a step that was refused or left out. It is an error on all ranks if only some have a routine,
  or if it fails on some; the step is not undone.

.seealso: `Muon`, `MuonStep()`, `MuonLayerClipHeads()`, `MuonWeightsChanged()`, `MuonMonitorSet()`
@*/
PetscErrorCode MuonSetPostStep(Muon muon, MuonPostStepFn *fn, void *ctx)
{
  MuonPostStep *post;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  post      = (MuonPostStep *)MuonAddonData(muon, "poststep");
  post->fn  = fn;
  post->ctx = ctx;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ranks compare whether there is one */
static PetscErrorCode MuonPostStepBegin_Private(Muon muon, MuonRecord *record)
{
  MuonPostStep *post = (MuonPostStep *)MuonAddonData(muon, "poststep");

  PetscFunctionBegin;
  if (post->fn != NULL) record->options += 0.5;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPostStepEnd_Private(Muon muon, PetscBool ok)
{
  PetscFunctionBegin;
  ((MuonPostStep *)MuonAddonData(muon, "poststep"))->taken = ok;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPostStepCounted_Private(Muon muon, PetscInt step)
{
  MuonPostStep *post = (MuonPostStep *)MuonAddonData(muon, "poststep");

  PetscFunctionBegin;
  if (post->fn != NULL && post->taken) PetscCall(MuonErrorOfAll_Private(muon, "MuonSetPostStep()", (*post->fn)(muon, step, post->ctx)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_INTERN PetscErrorCode MuonAddonRegister_PostStep(void)
{
  MuonAddonOps ops = {0};

  PetscFunctionBegin;
  ops.size    = sizeof(MuonPostStep);
  ops.begin   = MuonPostStepBegin_Private;
  ops.end     = MuonPostStepEnd_Private;
  ops.counted = MuonPostStepCounted_Private;
  PetscCall(MuonAddonRegister("poststep", &ops));
  PetscFunctionReturn(PETSC_SUCCESS);
}
