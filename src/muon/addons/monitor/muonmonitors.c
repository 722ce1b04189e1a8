#include "muonmonitor.h" /*I "petscmuon.h" I*/

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
  const MuonMonitors *monitors;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  monitors = MuonMonitorsOf(muon);
  for (PetscInt i = 0; i < monitors->count; i++) {
    const PetscBool      ours = monitors->list[i].destroy == MuonViewerAndFormatDestroy ? PETSC_TRUE : PETSC_FALSE; /* whose errors are those of all ranks */
    const PetscErrorCode ierr = (*monitors->list[i].fn)(muon, step, loss, monitors->list[i].ctx);

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
  MuonMonitors *monitors;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCheck(monitor != NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_NULL, "MuonMonitorSet(): the routine is NULL; MuonMonitorCancel() removes monitors");
  monitors = MuonMonitorsOf(muon);
  for (PetscInt i = 0; i < monitors->count; i++) {
    if (monitors->list[i].fn == monitor && monitors->list[i].ctx == ctx && monitors->list[i].destroy == destroy) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(monitors->count < MAXMUONMONITORS, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "An optimizer has at most %d monitors", MAXMUONMONITORS);
  monitors->list[monitors->count].fn        = monitor;
  monitors->list[monitors->count].ctx       = ctx;
  monitors->list[monitors->count++].destroy = destroy;
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
  MuonMonitors *monitors;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  monitors = MuonMonitorsOf(muon);
  for (PetscInt i = 0; i < monitors->count; i++) {
    if (monitors->list[i].destroy != NULL) PetscCall((*monitors->list[i].destroy)(&monitors->list[i].ctx));
  }
  monitors->count = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}
