#include "../muonpolarpanel.h" /*I "petscmuonpolar.h" I*/
#include <petscblaslapack.h>

/* The matrix divided by norm 2^exponent, and the eigenvalues of the Gram matrix of its short side, increasing */
static PetscErrorCode MuonPolarSpectrum_Private(MuonPolar polar, const MuonMatrix *A, MuonPolarTask *task, MuonPolarPanel *panel, PetscReal lambda[])
{
  PetscScalar *gram, *work;
  PetscBLASInt s, lwork, info;

  PetscFunctionBegin;
  task->G = *A;
  PetscCall(MuonPolarNorm_Private(A, &task->norm, &task->exponent));
  if (!(task->norm < HUGE_VAL)) PetscFunctionReturn(PETSC_SUCCESS);
  if (task->norm == 0.0) {
    task->norm     = 1.0;
    task->exponent = 0;
  }
  PetscCall(MuonPolarPanelLoad(polar, MUON_PETSCSCALAR == MUON_SINGLE ? &MuonKernelRealSingle : &MuonKernelRealDouble, task, panel));
  PetscCall(PetscBLASIntCast((PetscInt)panel->s, &s));
  lwork = 64 * s;
  PetscCall(PetscMalloc2(panel->s * panel->s, &gram, lwork, &work));
  PetscCall(MuonPolarPanelGram(panel, gram));
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  PetscCallBLAS("LAPACKsyev", LAPACKsyev_("N", "L", &s, gram, &s, lambda, work, &lwork, &info));
  PetscCall(PetscFPTrapPop());
  PetscCheck(info == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "Error in LAPACK routine xSYEV: info %" PetscInt_FMT, (PetscInt)info);
  PetscCall(PetscFree2(gram, work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarGetQuality_Private(MuonPolar polar, const MuonMatrix *G, const MuonMatrix *Q, MuonPolarQuality *quality)
{
  const PetscInt s       = PetscMin(G->rows, G->columns);
  double         nuclear = 0.0, departure = 0.0, inner, scale;
  MuonPolarTask  g, q;
  MuonPolarPanel panel;
  PetscReal     *lambda;
  MuonMark       mark;
  char          *copy;
  size_t         entries;

  PetscFunctionBegin;
  quality->smallest = quality->largest = quality->orthogonality = quality->alignment = (PetscReal)NAN;
  if (s == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonWorkspaceMark(polar->work, &mark));
  PetscCall(PetscMalloc1(s, &lambda));
  PetscCall(MuonPolarSpectrum_Private(polar, G, &g, &panel, lambda));
  if (g.norm < HUGE_VAL) {
    for (PetscInt i = 0; i < s; i++) nuclear += sqrt(PetscMax((double)lambda[i], 0.0));
    entries = panel.s * panel.local;
    PetscCall(PetscMalloc(entries * panel.real->size, &copy));
    PetscCall(PetscMemcpy(copy, panel.Y, entries * panel.real->size));
    PetscCall(MuonWorkspaceRelease(polar->work, &mark));
    PetscCall(MuonPolarSpectrum_Private(polar, Q, &q, &panel, lambda));
    if (q.norm < HUGE_VAL) {
      scale = ldexp(q.norm, q.exponent);
      inner = panel.real->arrays->Dot(entries, 1, copy, entries, panel.Y, entries);
      if (panel.size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &inner, 1, MPI_DOUBLE, MPI_SUM, panel.comm));
      for (PetscInt i = 0; i < s; i++) departure += ((double)lambda[i] * scale * scale - 1.0) * ((double)lambda[i] * scale * scale - 1.0);
      quality->smallest      = (PetscReal)(sqrt(PetscMax((double)lambda[0], 0.0)) * scale);
      quality->largest       = (PetscReal)(sqrt(PetscMax((double)lambda[s - 1], 0.0)) * scale);
      quality->orthogonality = (PetscReal)sqrt(departure / (double)s);
      quality->alignment     = (PetscReal)(nuclear > 0.0 ? inner * scale / nuclear : 1.0);
    }
    PetscCall(PetscFree(copy));
  }
  PetscCall(PetscFree(lambda));
  PetscCall(MuonWorkspaceRelease(polar->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same for matrices in any memory */
static PetscErrorCode MuonPolarGetQualityOnHost_Private(MuonPolar polar, const MuonMatrix *G, const MuonMatrix *Q, MuonPolarQuality *quality)
{
  MuonMatrix from = *G, to = *Q;

  PetscFunctionBegin;
  if (polar->work == NULL) PetscCall(MuonWorkspaceCreate(&polar->work));
  PetscCall(MuonArrayOnHost(&G->here, PETSC_TRUE, &from.here));
  PetscCall(MuonArrayOnHost(&Q->here, PETSC_TRUE, &to.here));
  PetscCall(MuonPolarGetQuality_Private(polar, &from, &to, quality));
  PetscCall(MuonArrayOffHost(&Q->here, PETSC_FALSE, &to.here));
  PetscCall(MuonArrayOffHost(&G->here, PETSC_FALSE, &from.here));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonPolarComputeQuality - Computes how good a polar factor is, whatever computed it

  Collective on G

  Input Parameters:
+ polar - the object, for its options prefix in messages and its scratch memory
. G     - the matrix, `MATSEQDENSE` or `MATMPIDENSE`
- Q     - its factor, of the same type, shape and distribution

  Output Parameter:
. quality - the numbers, see `MuonPolarQuality`

  Options Database Key:
. -lmo_polar_monitor [viewer] - prints them after each factor

  Level: intermediate

  Notes:
  They come from the eigenvalues of the Gram matrices of `G` and `Q` on the shorter side, in the precision of
  `PetscScalar`. Singular values below the square root of its roundoff, relative to the largest, are not
  resolved, and the nuclear norm is off by at most $\sqrt{\epsilon}$ times the largest one for each.

  The eigenvalues cost more than the factor. A matrix with NaN or Inf gives NaN; for a zero matrix the
  alignment is one.

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
  PetscCall(MuonPolarGetQualityOnHost_Private(polar, &from, &to, quality));
  PetscCall(MuonMatRestoreMatrix(Q, PETSC_FALSE, &to));
  PetscCall(MuonMatRestoreMatrix(G, PETSC_FALSE, &from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarMonitor_Private(MuonPolar polar, const MuonMatrix *G, const MuonMatrix *Q, MuonStatus status)
{
  const char      *prefix = MuonPolarPrefix_Private(polar);
  MuonPolarQuality q;
  char             text[256], name[256] = "";

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(text, sizeof(text), "status %s", MuonStatuses[status]));
  if (status == MUON_STATUS_OK) {
    PetscCall(MuonPolarGetQualityOnHost_Private(polar, G, Q, &q));
    PetscCall(PetscSNPrintf(text, sizeof(text), "singular values %.4f to %.4f orthogonality error %.3e <G,Q>/nuclear norm %.4f", (double)q.smallest, (double)q.largest, (double)q.orthogonality, (double)q.alignment));
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

/* Read again behind another prefix, the later viewer takes the place of the earlier one */
PetscErrorCode MuonPolarMonitorSetFromOptions_Private(MuonPolar polar)
{
  PetscViewer       viewer;
  PetscViewerFormat format;
  PetscBool         set, ascii;
  char              type[64];

  PetscFunctionBegin;
  PetscCall(PetscOptionsCreateViewer(PETSC_COMM_SELF, ((PetscObject)polar)->options, ((PetscObject)polar)->prefix, "-lmo_polar_monitor", &viewer, &format, &set));
  if (!set) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  PetscCall(PetscStrncpy(type, ((PetscObject)viewer)->type_name, sizeof(type)));
  if (ascii) {
    if (polar->monitor != NULL) PetscCall(PetscViewerAndFormatDestroy(&polar->monitor));
    PetscCall(PetscViewerAndFormatCreate(viewer, format, &polar->monitor));
  }
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCheck(ascii, PetscObjectComm((PetscObject)polar), PETSC_ERR_SUP, "Option -%slmo_polar_monitor names a viewer of type %s, expected %s", MuonPolarPrefix_Private(polar), type, PETSCVIEWERASCII);
  PetscFunctionReturn(PETSC_SUCCESS);
}
