#include <petscmuon/private/muonpolarimpl.h> /*I "petscmuonpolar.h" I*/

/*@
  MuonPolarMonitor - Calls the monitors of a polar factor

  Collective on G

  Input Parameters:
+ polar - the object
. G     - the matrix
- Q     - its factor

  Level: developer

  Note:
  `MuonPolarApply()` and `MuonPolarApplyMany()` call this routine for each matrix, after the event of
  `-log_view` has ended.

.seealso: `MuonPolar`, `MuonPolarMonitorSet()`, `MuonPolarApply()`
@*/
PetscErrorCode MuonPolarMonitor(MuonPolar polar, Mat G, Mat Q)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  for (PetscInt i = 0; i < polar->nmonitors; i++) PetscCall((*polar->monitor[i])(polar, G, Q, polar->monitorctx[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A copy, with columns as lines */
static PetscErrorCode MuonPolarMonitorMat_Private(const MuonMatrix *A, Mat *M)
{
  MuonMatrix to;
  MuonArray  from;

  PetscFunctionBegin;
  PetscCall(MuonArrayOnHost(&A->here, PETSC_TRUE, &from));
  PetscCall(MatCreateDense(A->comm, (PetscInt)MuonArrayRows(&A->here), PETSC_DECIDE, A->rows, A->columns, NULL, M));
  PetscCall(MuonMatGetMatrix(*M, PETSC_TRUE, &to));
  for (size_t j = 0; j < from.count; j++) {
    MuonArray line = from, column = to.here;

    /* As so many lines of one entry each */
    line.data   = (char *)from.data + j * from.ld * MuonArrayEntryBytes(&from);
    column.data = from.rowmajor ? MuonArrayAt(&to.here, j, 0) : MuonArrayAt(&to.here, 0, j);
    line.len = column.len = 1;
    line.count = column.count = from.len;
    line.ld                   = 1;
    if (!from.rowmajor) column.ld = 1;
    MuonArrayAxpby(1.0, &line, 0.0, &column);
  }
  PetscCall(MuonMatRestoreMatrix(*M, PETSC_TRUE, &to));
  PetscCall(MuonArrayOffHost(&A->here, PETSC_FALSE, &from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarMonitorMatrix_Private(MuonPolar polar, const MuonMatrix *G, const MuonMatrix *Q)
{
  Mat from, to;

  PetscFunctionBegin;
  if (polar->nmonitors == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonPolarMonitorMat_Private(G, &from));
  PetscCall(MuonPolarMonitorMat_Private(Q, &to));
  PetscCall(MuonPolarMonitor(polar, from, to));
  PetscCall(MatDestroy(&to));
  PetscCall(MatDestroy(&from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonPolarMonitorSet - Adds a routine that is called after each polar factor

  Logically Collective

  Input Parameters:
+ polar   - the object
. monitor - the routine, see `MuonPolarMonitorFn`
. ctx     - its context, or `NULL`
- destroy - frees the context, or `NULL`

  Calling sequence of `monitor`:
+ polar - the object
. G     - the matrix
. Q     - its factor
- ctx   - the context

  Options Database Key:
. -lmo_polar_monitor [viewer] - one line for each factor

  Level: intermediate

  Note:
  A routine that is set twice with the same context is called once. For a parallel matrix it is called on all
  of its ranks.

.seealso: `MuonPolar`, `MuonPolarMonitorCancel()`, `MuonPolarMonitorDefault()`, `MuonPolarComputeQuality()`, `MuonPolarGetStatus()`
@*/
PetscErrorCode MuonPolarMonitorSet(MuonPolar polar, MuonPolarMonitorFn *monitor, void *ctx, PetscErrorCode (*destroy)(void **))
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  for (PetscInt i = 0; i < polar->nmonitors; i++) {
    if (polar->monitor[i] == monitor && polar->monitorctx[i] == ctx && polar->monitordestroy[i] == destroy) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(polar->nmonitors < MAXMUONPOLARMONITORS, PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_OUTOFRANGE, "A polar factor has at most %d monitors", MAXMUONPOLARMONITORS);
  polar->monitor[polar->nmonitors]        = monitor;
  polar->monitorctx[polar->nmonitors]     = ctx;
  polar->monitordestroy[polar->nmonitors] = destroy;
  polar->nmonitors++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarMonitorCancel - Removes all monitors

  Logically Collective

  Input Parameter:
. polar - the object

  Level: intermediate

.seealso: `MuonPolar`, `MuonPolarMonitorSet()`
@*/
PetscErrorCode MuonPolarMonitorCancel(MuonPolar polar)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  for (PetscInt i = 0; i < polar->nmonitors; i++) {
    if (polar->monitordestroy[i] != NULL) PetscCall((*polar->monitordestroy[i])(&polar->monitorctx[i]));
  }
  polar->nmonitors = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonPolarMonitorDefault - Prints one line for each factor: shape, method, spread of the singular values
  reached, orthogonality error, and how much of the nuclear norm it gets

  Collective on G; No Fortran Support

  Input Parameters:
+ polar - the object
. G     - the matrix
. Q     - its factor
- vf    - viewer and format

  Options Database Key:
. -lmo_polar_monitor [viewer] - prints the lines

  Level: intermediate

  Notes:
  The numbers are those of `MuonPolarComputeQuality()`, and cost more than the factor. A matrix that has no
  factor is named with its status.

  With the option every rank has a viewer of its own, and the first rank of a matrix prints: the layers of an
  optimizer are computed by different ranks at different times. Several objects and ranks write to one file
  where it is given as `ascii:FILE::append`.

.seealso: `MuonPolar`, `MuonPolarMonitorSet()`, `MuonPolarComputeQuality()`
@*/
PetscErrorCode MuonPolarMonitorDefault(MuonPolar polar, Mat G, Mat Q, PetscViewerAndFormat *vf)
{
  const char      *prefix = ((PetscObject)polar)->prefix;
  MuonPolarQuality q;
  char             numbers[256];
  PetscInt         m, n;
  PetscMPIInt      rank;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscCall(MatGetSize(G, &m, &n));
  if (polar->status == MUON_STATUS_OK) PetscCall(MuonPolarComputeQuality(polar, G, Q, &q));
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)G), &rank));
  if (rank > 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (polar->status != MUON_STATUS_OK) PetscCall(PetscSNPrintf(numbers, sizeof(numbers), "status %s", MuonStatuses[polar->status]));
  else
    PetscCall(PetscSNPrintf(numbers, sizeof(numbers), "singular values %.4f to %.4f orthogonality error %.3e +- %.0e <G,Q>/nuclear norm %.4f +- %.0e", (double)q.smallest, (double)q.largest, (double)q.orthogonality, (double)q.orthogonality_error,
                            (double)q.alignment, (double)q.alignment_error));
  /* One call for the line, which others may write to the same file */
  PetscCall(PetscViewerPushFormat(vf->viewer, vf->format));
  PetscCall(PetscViewerASCIIPrintf(vf->viewer, "MuonPolar%s%s%s %" PetscInt_FMT " x %" PetscInt_FMT " %s %s\n", prefix != NULL ? " (" : "", prefix != NULL ? prefix : "", prefix != NULL ? ")" : "", m, n, ((PetscObject)polar)->type_name, numbers));
  PetscCall(PetscViewerPopFormat(vf->viewer));
  PetscCall(PetscViewerFlush(vf->viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarMonitorDefault_Private(MuonPolar polar, Mat G, Mat Q, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(MuonPolarMonitorDefault(polar, G, Q, (PetscViewerAndFormat *)ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   An object may be asked again, behind another prefix: the monitor of the option is one, and the later viewer
   takes its place
*/
PetscErrorCode MuonPolarMonitorSetFromOptions_Private(MuonPolar polar)
{
  PetscViewerAndFormat *vf;
  PetscViewer           viewer;
  PetscViewerFormat     format;
  PetscBool             set, ascii;
  char                  type[64];

  PetscFunctionBegin;
  PetscCall(PetscOptionsCreateViewer(PETSC_COMM_SELF, ((PetscObject)polar)->options, ((PetscObject)polar)->prefix, "-lmo_polar_monitor", &viewer, &format, &set));
  if (set == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (ascii == PETSC_FALSE) {
    PetscCall(PetscStrncpy(type, ((PetscObject)viewer)->type_name, sizeof(type)));
    PetscCall(PetscViewerDestroy(&viewer));
    SETERRQ(PetscObjectComm((PetscObject)polar), PETSC_ERR_SUP, "Option -%slmo_polar_monitor names a viewer of type %s, expected %s", MuonPolarPrefix_Private(polar), type, PETSCVIEWERASCII);
  }
  PetscCall(PetscViewerAndFormatCreate(viewer, format, &vf));
  PetscCall(PetscViewerDestroy(&viewer));
  for (PetscInt i = 0; i < polar->nmonitors; i++) {
    if (polar->monitor[i] != MuonPolarMonitorDefault_Private) continue;
    PetscCall((*polar->monitordestroy[i])(&polar->monitorctx[i]));
    polar->monitorctx[i] = vf;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonPolarMonitorSet(polar, MuonPolarMonitorDefault_Private, vf, MuonViewerAndFormatDestroy));
  PetscFunctionReturn(PETSC_SUCCESS);
}
