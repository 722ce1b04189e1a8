#include <petscmuon/private/muonpolarimpl.h> /*I "petscmuonpolar.h" I*/

static PetscErrorCode MuonPolarGetQuality_Private(MuonPolar polar, const MuonMatrix *G, const MuonMatrix *Q, MuonPolarQuality *quality)
{
  const PetscInt s       = PetscMin(G->rows, G->columns);
  const size_t   bytes   = (size_t)s * sizeof(PetscReal);
  double         nuclear = 0.0, departure, inner = 0.0;
  MuonMatrix     from = *G, to = *Q;
  MuonStatus     first, second = MUON_STATUS_OK;
  PetscReal     *sigma;
  PetscInt       rank;
  MuonMark       mark;

  PetscFunctionBegin;
  quality->smallest = quality->largest = quality->orthogonality = quality->alignment = (PetscReal)NAN;
  if (s == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (polar->work == NULL) PetscCall(MuonWorkspaceCreate(&polar->work));
  if (polar->svd == NULL) PetscCall(MuonSVDCreate(PETSC_COMM_SELF, &polar->svd));
  PetscCall(MuonSVDSetWorkspace(polar->svd, polar->work));
  PetscCall(MuonWorkspaceMark(polar->work, &mark));
  PetscCall(MuonWorkspaceGet(polar->work, bytes, &sigma));
  PetscCall(MuonArrayOnHost(&G->here, PETSC_TRUE, &from.here));
  PetscCall(MuonArrayOnHost(&Q->here, PETSC_TRUE, &to.here));
  PetscCall(MuonSVDCompute(polar->svd, &from, s, sigma, NULL, NULL, &rank, &first));
  for (PetscInt i = 0; i < rank; i++) nuclear += (double)sigma[i];
  PetscCall(MuonSVDCompute(polar->svd, &to, s, sigma, NULL, NULL, &rank, &second));
  if (first == MUON_STATUS_OK && second == MUON_STATUS_OK) {
    departure = (double)(s - rank);
    for (PetscInt i = 0; i < rank; i++) departure += ((double)sigma[i] * (double)sigma[i] - 1.0) * ((double)sigma[i] * (double)sigma[i] - 1.0);
    inner = MuonArrayKernels(&from.here)->Dot(from.here.len, from.here.count, from.here.data, from.here.ld, to.here.data, to.here.ld);
    if (G->size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &inner, 1, MPI_DOUBLE, MPI_SUM, G->comm));
    quality->smallest      = rank < s ? (PetscReal)0.0 : sigma[s - 1];
    quality->largest       = rank > 0 ? sigma[0] : (PetscReal)0.0;
    quality->orthogonality = (PetscReal)sqrt(departure / (double)s);
    quality->alignment     = (PetscReal)(nuclear > 0.0 ? inner / nuclear : 1.0);
  }
  PetscCall(MuonArrayOffHost(&Q->here, PETSC_FALSE, &to.here));
  PetscCall(MuonArrayOffHost(&G->here, PETSC_FALSE, &from.here));
  PetscCall(MuonWorkspaceRelease(polar->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonPolarComputeQuality - Computes the accuracy of a polar factor

  Collective on G

  Input Parameters:
+ polar - the object, for its options prefix in messages and its scratch memory
. G     - the matrix, `MATSEQDENSE` or `MATMPIDENSE`
- Q     - its factor, of the same type, shape and distribution

  Output Parameter:
. quality - the accuracy, see `MuonPolarQuality`

  Options Database Key:
. -lmo_polar_monitor [viewer] - prints them after each factor

  Level: intermediate

  Notes:
  It computes the singular values of `G` and `Q` by SLEPc in the precision of `PetscScalar`, which costs many times as
  much as the factor. A parallel matrix is gathered on its first rank. A matrix with NaN or Inf gives NaN. For a zero
  matrix the alignment is one.

.seealso: `MuonPolar`, `MuonPolarQuality`, `MuonPolarApply()`, `MuonPolarSetFromOptions()`
@*/
PetscErrorCode MuonPolarComputeQuality(MuonPolar polar, Mat G, Mat Q, MuonPolarQuality *quality)
{
  MuonMatrix from, to;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscValidHeaderSpecific(G, MAT_CLASSID, 2);
  PetscValidHeaderSpecific(Q, MAT_CLASSID, 3);
  PetscAssertPointer(quality, 4);
  PetscCall(MuonCheckMats_Private((PetscObject)polar, G, Q));
  PetscCall(MuonMatGetMatrix(G, PETSC_FALSE, &from));
  PetscCall(MuonMatGetMatrix(Q, PETSC_FALSE, &to));
  PetscCall(MuonPolarGetQuality_Private(polar, &from, &to, quality));
  PetscCall(MuonMatRestoreMatrix(Q, PETSC_FALSE, &to));
  PetscCall(MuonMatRestoreMatrix(G, PETSC_FALSE, &from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarMonitor_Private(MuonPolar polar, double sign, const MuonMatrix *G, const MuonMatrix *Q, MuonStatus status)
{
  const char      *prefix = MuonPolarPrefix_Private(polar);
  MuonPolarQuality q;
  char             text[256], name[256] = "";

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(text, sizeof(text), "status %s", MuonStatuses[status]));
  if (status == MUON_STATUS_OK) {
    PetscCall(MuonPolarGetQuality_Private(polar, G, Q, &q));
    PetscCall(PetscSNPrintf(text, sizeof(text), "singular values %.4f to %.4f orthogonality error %.3e <G,Q>/nuclear norm %.4f", (double)q.smallest, (double)q.largest, (double)q.orthogonality, sign * (double)q.alignment));
  }
  if (G->rank > 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (prefix[0] != '\0') PetscCall(PetscSNPrintf(name, sizeof(name), " (%s)", prefix));
  /* One call for the line, which others may write to the same file */
  PetscCall(PetscViewerPushFormat(polar->monitor->viewer, polar->monitor->format));
  PetscCall(PetscViewerASCIIPrintf(polar->monitor->viewer, "MuonPolar%s %" PetscInt_FMT " x %" PetscInt_FMT " %s %s\n", name, G->rows, G->columns, ((PetscObject)polar)->type_name, text));
  PetscCall(PetscViewerPopFormat(polar->monitor->viewer));
  PetscCall(PetscViewerFlush(polar->monitor->viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* If options are read again with another prefix, the later viewer replaces the earlier one */
PetscErrorCode MuonPolarMonitorSetFromOptions_Private(MuonPolar polar)
{
  PetscViewer       viewer;
  PetscViewerFormat format;
  PetscViewerType   type;
  PetscBool         set, ascii;

  PetscFunctionBegin;
  PetscCall(PetscOptionsHasName(((PetscObject)polar)->options, ((PetscObject)polar)->prefix, "-lmo_polar_monitor", &set));
  if (!set && PetscGlobalRank > 0) PetscFunctionReturn(PETSC_SUCCESS); /* rank 0 prints -help */
  PetscCall(PetscOptionsCreateViewer(PETSC_COMM_SELF, ((PetscObject)polar)->options, ((PetscObject)polar)->prefix, "-lmo_polar_monitor", &viewer, &format, &set));
  if (!set) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  PetscCall(PetscViewerGetType(viewer, &type));
  PetscCheck(ascii, PetscObjectComm((PetscObject)polar), PETSC_ERR_SUP, "Option -%slmo_polar_monitor names a viewer of type %s, expected %s", MuonPolarPrefix_Private(polar), type, PETSCVIEWERASCII);
  PetscCall(MuonSVDStart());
  PetscCall(MuonViewerAndFormatDestroy((void **)&polar->monitor));
  PetscCall(PetscViewerAndFormatCreate(viewer, format, &polar->monitor));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
