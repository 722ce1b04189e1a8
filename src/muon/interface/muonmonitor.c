#include "muoninterface.h" /*I "petscmuon.h" I*/

/*@
  MuonMonitor - Calls the monitors of an optimizer

  Collective

  Input Parameters:
+ muon - the optimizer
. step - the step that was taken
- loss - mean over the workers of the loss at the weights before it

  Level: developer

  Note:
  `MuonStep()` calls this routine. A program with its own step calls it at the step's end.

.seealso: `Muon`, `MuonMonitorSet()`, `MuonStep()`
@*/
PetscErrorCode MuonMonitor(Muon muon, PetscInt step, PetscReal loss)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  for (PetscInt i = 0; i < muon->nmonitors; i++) {
    const PetscBool      ours = muon->monitordestroy[i] == MuonViewerAndFormatDestroy ? PETSC_TRUE : PETSC_FALSE; /* whose errors are those of all ranks */
    const PetscErrorCode ierr = (*muon->monitor[i])(muon, step, loss, muon->monitorctx[i]);

    if (ours) PetscCall(ierr);
    else PetscCall(MuonErrorOfAll_Private(muon, "MuonMonitorSet()", ierr));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonMonitorSet - Adds a routine that is called after each step

  Logically Collective

  Input Parameters:
+ muon    - the optimizer
. monitor - the routine, see `MuonMonitorFn`
. ctx     - its context, or `NULL`
- destroy - frees the context, or `NULL`

  Calling sequence of `monitor`:
+ muon - the optimizer
. step - the step that was taken
. loss - mean over the workers of the loss at the weights before it
- ctx  - the context

  Options Database Keys:
+ -muon_monitor [viewer]   - prints one line a step, or draws graphs of the loss and of the layers, `draw::draw_lg`
. -muon_monitor_csv file   - writes one row a step to a file
- -muon_monitor_interval n - calls monitors every n steps only

  Level: intermediate

  Note:
  A routine that is set twice with the same context is called once.

.seealso: `Muon`, `MuonMonitorCancel()`, `MuonMonitorDefault()`, `MuonMonitorSetCSV()`, `MuonGetTraffic()`
@*/
PetscErrorCode MuonMonitorSet(Muon muon, MuonMonitorFn *monitor, void *ctx, PetscErrorCode (*destroy)(void **))
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCheck(monitor != NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_NULL, "MuonMonitorSet(): the routine is NULL; MuonMonitorCancel() removes monitors");
  for (PetscInt i = 0; i < muon->nmonitors; i++) {
    if (muon->monitor[i] == monitor && muon->monitorctx[i] == ctx && muon->monitordestroy[i] == destroy) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(muon->nmonitors < MAXMUONMONITORS, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "An optimizer has at most %d monitors", MAXMUONMONITORS);
  muon->monitor[muon->nmonitors]        = monitor;
  muon->monitorctx[muon->nmonitors]     = ctx;
  muon->monitordestroy[muon->nmonitors] = destroy;
  muon->nmonitors++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonMonitorCancel - Removes all monitors

  Logically Collective

  Input Parameter:
. muon - the optimizer

  Options Database Key:
. -muon_monitor_cancel - removes the monitors that the program set, but not those of the options database

  Level: intermediate

.seealso: `Muon`, `MuonMonitorSet()`
@*/
PetscErrorCode MuonMonitorCancel(Muon muon)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  for (PetscInt i = 0; i < muon->nmonitors; i++) {
    if (muon->monitordestroy[i] != NULL) PetscCall((*muon->monitordestroy[i])(&muon->monitorctx[i]));
  }
  muon->nmonitors = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}
