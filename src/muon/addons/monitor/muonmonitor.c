#if !defined(_DEFAULT_SOURCE)
  #define _DEFAULT_SOURCE /* ftruncate(), fileno() */
#endif
#include "muonmonitor.h" /*I "petscmuon.h" I*/
#include <petscdraw.h>
#include <stdlib.h>
#include <unistd.h>

#define MUON_CSV_HEADER "step,loss,rate,dual_norm,bits_up,bits_down,relative_up,relative_down,reason,validation\n"

/* The parts of a line: loss, rate, dual norm, bits and ratios to fp32 up and down, validation. They are the columns of the file */
static const char *const MuonColumns[] = {" loss %14.12e", " rate %10.6e", " dual norm %10.6e", " bits up %.0f", " down %.0f", " of fp32 up %.4f", " down %.4f", " validation %14.12e"};
#define COLUMNS    PETSC_STATIC_ARRAY_LENGTH(MuonColumns)
#define LOSS       0
#define VALIDATION 7 /* behind the reason, in the file */

/* Whether there is a line or a row: every interval-th step, and steps with validation */
static PetscBool MuonMonitorHasLine_Private(Muon muon, PetscInt step)
{
  return MuonMonitorSpeaks(muon, step) || MuonMonitorsOf(muon)->validated == step + 1 ? PETSC_TRUE : PETSC_FALSE;
}

/*
   Bits are the mean over the ranks of the bits sent to others, as are those of messages of 32 bits an entry by which they are
   divided: one of J workers' messages to an owner does not leave its rank
*/
static PetscErrorCode MuonGetColumns_Private(Muon muon, PetscInt step, PetscReal loss, double value[], PetscBool has[])
{
  const MuonMonitors *monitors = MuonMonitorsOf(muon);
  const Muon          sent     = muon->nested != NULL ? muon->nested : muon;
  double              fp32[2]  = {0, 0};
  PetscBool           dual     = PETSC_FALSE;

  PetscFunctionBegin;
  for (PetscInt p = 0; p < sent->nshards; p++) {
    const MuonShard *shard = &sent->shard[p];
    const double     J = shard->group->exchange->nworkers, bits = (MuonGroupRests(shard->group) ? 0.0 : 32.0) * (double)shard->rows * (double)MuonLayerColumns(shard->layer) * MuonPortCountRanks(shard->port) / sent->size;

    if (MuonGroupHasOwners(shard->group) && (sent != muon && shard->layer->inner != NULL ? shard->layer->inner : shard->layer)->ops->applylmo != NULL) dual = PETSC_TRUE;
    fp32[0] += MuonGroupKeepsOwn(shard->group) ? bits * (J - 1) / J : bits;
    fp32[1] += bits * (J - 1) / J;
  }
  {
    const double    known[] = {(double)loss, (double)monitors->rate, (double)muon->dual, muon->mean[0], muon->mean[1], muon->mean[0] / PetscMax(fp32[0], 1), muon->mean[1] / PetscMax(fp32[1], 1), (double)monitors->value};
    const PetscBool there[] = {muon->objective != NULL ? PETSC_TRUE : PETSC_FALSE, PETSC_TRUE, dual, PETSC_TRUE, PETSC_TRUE, PETSC_TRUE, PETSC_TRUE, monitors->validated == step + 1 ? PETSC_TRUE : PETSC_FALSE};

    PetscCall(PetscArraycpy(value, known, COLUMNS));
    PetscCall(PetscArraycpy(has, there, COLUMNS));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The CSV file of one optimizer: rank 0 holds it open, so that a run of many steps writes lines, not files.
   Its errors are those of all ranks
*/
typedef struct {
  FILE       *file;
  char       *name;
  MPI_Comm    comm;
  PetscMPIInt failed;
  PetscBool   begun; /* earlier rows of the file were removed, or belong to this run */
} MuonCSV;

/*@C
  MuonSetValidation - Sets a routine that evaluates the weights on data that no worker trains on

  Logically Collective

  Input Parameters:
+ muon     - the optimizer
. fn       - the routine, or `NULL` for none
. interval - number of steps between two calls, at least 1; the routine is called after the last step of `MuonSetMaxSteps()`, too
- ctx      - its context, or `NULL`

  Calling sequence of `fn`:
+ muon  - the optimizer
. value - the value on this rank; its mean over the ranks, weighted by `MuonSetWorkerWeight()`, is shown
- ctx   - the context

  Options Database Key:
. -muon_validation_interval interval - the interval, 0 for no validation

  Level: intermediate

  Note:
  All ranks call the routine together, after the step was committed. `-muon_monitor` prints the value, and
  `-muon_monitor_csv` has it in the column validation, which is empty for the other steps. Both report a step with
  validation for any `-muon_monitor_interval`.

.seealso: `Muon`, `MuonGetValidation()`, `MuonMonitorSet()`, `MuonMonitorSetCSV()`, `MuonSetObjectiveAndGradient()`
@*/
PetscErrorCode MuonSetValidation(Muon muon, MuonValidationFn *fn, PetscInt interval, void *ctx)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscValidLogicalCollectiveInt(muon, interval, 3);
  PetscCheck(interval >= 1, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "MuonSetValidation(): interval %" PetscInt_FMT " must be at least 1", interval);
  MuonMonitorsOf(muon)->validation    = fn;
  MuonMonitorsOf(muon)->validationctx = ctx;
  PetscCall(MuonParametersAssign((PetscObject)muon, "validation_interval", fn != NULL ? (double)interval : 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetValidation - Gets the last value of the routine of `MuonSetValidation()`

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameters:
+ value - the mean over the ranks; may be `NULL`
- step  - the step of this value, -1 if there is none; may be `NULL`

  Level: intermediate

.seealso: `Muon`, `MuonSetValidation()`
@*/
PetscErrorCode MuonGetValidation(Muon muon, PetscReal *value, PetscInt *step)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  if (value != NULL) *value = MuonMonitorsOf(muon)->value;
  if (step != NULL) *step = MuonMonitorsOf(muon)->validated - 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonValidateHere_Private(Muon muon, MuonMonitors *monitor)
{
  PetscFunctionBegin;
  PetscCheck(monitor->validation != NULL, PETSC_COMM_SELF, PETSC_ERR_ORDER, "-%smuon_validation_interval %" PetscInt_FMT ": there is no routine of MuonSetValidation()", MuonPrefix(muon), monitor->interval);
  PetscCall((*monitor->validation)(muon, &monitor->value, monitor->validationctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The validation, where this step asks for it */
static PetscErrorCode MuonValidate_Private(Muon muon, PetscInt step)
{
  MuonMonitors *monitor = MuonMonitorsOf(muon);

  PetscFunctionBegin;
  if (monitor->interval == 0 || muon->reason < 0 || ((step + 1) % monitor->interval != 0 && step + 1 != muon->max_steps)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonErrorOfAll_Private(muon, "MuonSetValidation()", MuonValidateHere_Private(muon, monitor)));
  if (muon->weights != NULL) monitor->value *= (PetscReal)muon->weights[muon->rank];
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &monitor->value, 1, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)muon)));
  monitor->value /= (PetscReal)muon->size;
  monitor->validated = step + 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Servers measure what they do where the round says so */
static PetscErrorCode MuonMonitorBegin_Private(Muon muon, MuonRecord *record)
{
  const PetscBool measure = MuonMonitorsOf(muon)->measure;

  PetscFunctionBegin;
  for (PetscInt p = 0; p < muon->nshards; p++) muon->shard[p].round->info.measure = measure;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The layers that the optimizer inside of this one moved in this step */
static PetscInt MuonMonitorMoved_Private(Muon muon)
{
  PetscInt moved = 0;

  for (PetscInt p = 0; muon->nested != NULL && p < muon->nested->nshards; p++) moved += MuonGroupRests(muon->nested->shard[p].group) ? 0 : 1;
  return moved;
}

/*
   The loss over the steps, if it is a number, and bars of the layers: mean bytes sent by a rank, and lags if they are measured.
   Layers without owners are sent together and have none
*/
static PetscErrorCode MuonMonitorDraw_Private(Muon muon, PetscInt step, PetscReal loss, PetscViewer viewer)
{
  static const char *const titles[] = {"Bytes up", "Bytes down", "Lag up", "Lag down"};
  const Muon               sent     = MuonMonitorMoved_Private(muon) > 0 ? muon->nested : muon;
  const PetscReal          x        = (PetscReal)step;
  const char             **names;
  PetscReal               *values;
  PetscDraw                draw;
  PetscDrawLG              lg;
  PetscDrawAxis            axis;
  PetscDrawBar             bar;

  PetscFunctionBegin;
  if (muon->objective != NULL) {
    PetscCall(PetscViewerDrawGetDrawLG(viewer, 0, &lg));
    PetscCall(PetscDrawLGGetAxis(lg, &axis));
    PetscCall(PetscDrawAxisSetLabels(axis, "Muon", "Step", "Loss"));
    if (step == 0) PetscCall(PetscDrawLGReset(lg));
    if (!PetscIsInfOrNanReal(loss)) PetscCall(PetscDrawLGAddPoint(lg, &x, &loss));
    PetscCall(PetscDrawLGDraw(lg));
    PetscCall(PetscDrawLGSave(lg));
  }
  PetscCall(PetscCalloc2(sent->nshards + 1, &names, sent->nshards, &values));
  for (PetscInt p = 0; p < sent->nshards; p++) names[p] = sent->shard[p].name;
  for (int k = 0; k < 4; k++) {
    PetscReal most = 0;

    for (PetscInt p = 0; p < sent->nshards; p++) values[p] = (PetscReal)sent->shard[p].round->figure[k] / (PetscReal)sent->size;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, values, (PetscMPIInt)sent->nshards, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)muon)));
    for (PetscInt p = 0; p < sent->nshards; p++) most = PetscMax(most, values[p]);
    if (most == 0) continue;
    PetscCall(PetscViewerDrawGetDraw(viewer, k + 1, &draw));
    PetscCall(PetscDrawSetTitle(draw, titles[k]));
    PetscCall(PetscDrawBarCreate(draw, &bar));
    PetscCall(PetscDrawBarSetLimits(bar, 0, most));
    PetscCall(PetscDrawBarSetData(bar, sent->nshards, values, names));
    PetscCall(PetscDrawBarDraw(bar));
    PetscCall(PetscDrawBarSave(bar));
    PetscCall(PetscDrawBarDestroy(&bar));
  }
  PetscCall(PetscFree2(names, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The largest root mean square of an update, where updates are measured, and the layer; servers know theirs
*/
static PetscErrorCode MuonMonitorUpdate_Private(Muon muon, PetscViewer viewer)
{
  struct {
    double rms;
    int    layer;
  } most = {-1, 0};

  PetscFunctionBegin;
  if (MuonMonitorsOf(muon)->measure == PETSC_FALSE || muon->reason < 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt l = 0; l < muon->nactive; l++) {
    if ((double)muon->active[l]->driver->updaterms <= most.rms) continue;
    most.rms   = (double)muon->active[l]->driver->updaterms;
    most.layer = (int)l;
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, PetscObjectComm((PetscObject)muon)));
  if (most.rms >= 0) PetscCall(PetscViewerASCIIPrintf(viewer, " update rms %.4e of %s", most.rms, ((PetscObject)muon->active[most.layer])->name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonMonitorDefault - Prints one line a step: step, loss, learning rate, dual norm of the gradient, bits in both
  directions and their ratio to fp32

  Collective; No Fortran Support

  Input Parameters:
+ muon - the optimizer
. step - the step
. loss - the loss
- vf   - viewer and format

  Options Database Keys:
+ -muon_monitor [viewer]      - prints the lines
- -muon_monitor draw::draw_lg - draws the loss and the bytes of each layer instead

  Level: intermediate

  Notes:
  A viewer of type `PETSCVIEWERDRAW` shows a line graph of the loss over the steps, and bars of the step's layers\: bytes up and
  down, and with `-ef21_monitor_compression` the lags in the Frobenius norm. Layers whose bits are counted (`MUONSIGN`) have no bars.

  The loss is left out without a routine of `MuonSetObjectiveAndGradient()`, as in a program with its own loop.
  The rate is that of `MuonGetRate()`. If no layer has the optimizer `lmo`, it is the rate of the first layer.

  The dual norm is the sum over the layers of <G,-D>, with G the LMO's input and D its point\: the fastest decrease of
  the loss in the product of the unit balls. It is left out if all layers are those of `MUONSIGN` or have another optimizer.

  Bits are means over the ranks of what the network carries, with the headers of messages and without messages of a rank to itself. `MuonGetTraffic()`
  counts all messages. The ratios compare them with the same messages in fp32, 32 bits an entry. The value of `MuonSetValidation()` follows in steps
  that have one. With `MUONSIGN` the score of the step follows, with `-muon_measure_update_rms` the largest root mean square of an
  update and its layer.

.seealso: `Muon`, `MuonMonitorSet()`, `MuonGetGradientDualNorm()`, `MuonGetTraffic()`
@*/
PetscErrorCode MuonMonitorDefault(Muon muon, PetscInt step, PetscReal loss, PetscViewerAndFormat *vf)
{
  PetscViewer viewer = vf->viewer;
  PetscInt    tablevel, moved = MuonMonitorMoved_Private(muon);
  double      value[COLUMNS];
  PetscBool   draw, has[COLUMNS];
  const char *score = NULL;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  if (MuonMonitorHasLine_Private(muon, step) == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERDRAW, &draw));
  if (draw) {
    PetscCall(MuonMonitorDraw_Private(muon, step, loss, viewer));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscObjectGetTabLevel((PetscObject)muon, &tablevel));
  PetscCall(PetscViewerPushFormat(viewer, vf->format));
  PetscCall(PetscViewerASCIIAddTab(viewer, tablevel));
  PetscCall(MuonGetColumns_Private(muon, step, loss, value, has));
  PetscCall(PetscViewerASCIIPrintf(viewer, "%3" PetscInt_FMT " Muon", step));
  for (size_t k = 0; k < COLUMNS; k++) {
    if (has[k]) PetscCall(PetscViewerASCIIPrintf(viewer, MuonColumns[k], value[k]));
  }
  for (PetscInt g = 0; g < muon->ngroups; g++) score = muon->group[g]->ops->score != NULL ? muon->group[g]->ops->score : score;
  if (score != NULL) PetscCall(PetscViewerASCIIPrintf(viewer, " %s %.4f", score, (double)muon->score));
  PetscCall(MuonMonitorUpdate_Private(muon, viewer));
  if (moved > 0 && MuonPhases(muon->nested) > 1) PetscCall(PetscViewerASCIIPrintf(viewer, " synchronized %" PetscInt_FMT " of %" PetscInt_FMT " layers", moved, muon->nested->nshards));
  PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
  PetscCall(PetscViewerASCIISubtractTab(viewer, tablevel));
  PetscCall(PetscViewerPopFormat(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonMonitorDefault_Private(Muon muon, PetscInt step, PetscReal loss, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(MuonMonitorDefault(muon, step, loss, (PetscViewerAndFormat *)ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Before the first row: the file of a run that continues keeps its rows of earlier steps, and loses those of
   steps that this run repeats, and incomplete rows. Any other file is overwritten. Returns whether that failed
*/
static int MuonCSVBegin_Private(MuonCSV *csv, PetscInt step, PetscBool continues)
{
  char line[512];
  long keep = 0;

  csv->begun = PETSC_TRUE;
  if (fseek(csv->file, 0, SEEK_END) != 0 || ftell(csv->file) <= 0) return fputs(MUON_CSV_HEADER, csv->file) < 0; /* nothing is there, or it is no file */
  if (continues && fseek(csv->file, 0, SEEK_SET) == 0 && fgets(line, sizeof(line), csv->file) != NULL && strcmp(line, MUON_CSV_HEADER) == 0) {
    do {
      keep = ftell(csv->file);
    } while (keep >= 0 && fgets(line, sizeof(line), csv->file) != NULL && line[strlen(line) - 1] == '\n' && strtoll(line, NULL, 10) < (long long)step);
  }
  if (keep < 0 || fflush(csv->file) != 0 || ftruncate(fileno(csv->file), (off_t)keep) != 0 || fseek(csv->file, keep, SEEK_SET) != 0) return 1;
  return keep == 0 && fputs(MUON_CSV_HEADER, csv->file) < 0;
}

/* Without the locale, whose decimal comma would be another column. Not by PetscFPrintf(), whose error would be that of this rank alone */
static PetscErrorCode MuonCSVRow_Private(Muon muon, PetscInt step, PetscReal loss, MuonCSV *csv)
{
  MuonLocale locale;
  double     value[COLUMNS];
  PetscBool  has[COLUMNS];

  PetscFunctionBegin;
  PetscCall(MuonGetColumns_Private(muon, step, loss, value, has));
  PetscCall(MuonLocaleBegin(&locale));
  csv->failed = fprintf(csv->file, "%" PetscInt_FMT, step) < 0;
  csv->failed = csv->failed || (has[LOSS] ? fprintf(csv->file, ",%.17g", value[LOSS]) : fprintf(csv->file, ",")) < 0;
  for (int k = LOSS + 1; k < VALIDATION; k++) csv->failed = csv->failed || fprintf(csv->file, ",%.17g", value[k]) < 0;
  csv->failed = csv->failed || fprintf(csv->file, ",%s,", MuonConvergedReasons[muon->reason]) < 0;
  if (has[VALIDATION]) csv->failed = csv->failed || fprintf(csv->file, "%.17g", value[VALIDATION]) < 0;
  csv->failed = csv->failed || fputs("\n", csv->file) < 0 || fflush(csv->file) != 0;
  PetscCall(MuonLocaleEnd(&locale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonMonitorCSV_Private(Muon muon, PetscInt step, PetscReal loss, void *ctx)
{
  MuonCSV *csv = (MuonCSV *)ctx;

  PetscFunctionBegin;
  if (MuonMonitorHasLine_Private(muon, step) == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  csv->failed = csv->file != NULL && csv->begun == PETSC_FALSE && MuonCSVBegin_Private(csv, step, muon->continues);
  if (csv->file != NULL && csv->failed == 0) PetscCall(MuonCSVRow_Private(muon, step, loss, csv));
  PetscCallMPI(MPI_Bcast(&csv->failed, 1, MPI_INT, 0, csv->comm));
  PetscCheck(csv->failed == 0, csv->comm, PETSC_ERR_FILE_WRITE, "-muon_monitor_csv %s: the file cannot be written", csv->name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonMonitorCSVDestroy_Private(void **ctx)
{
  MuonCSV       *csv    = (MuonCSV *)*ctx;
  const MPI_Comm comm   = csv->comm;
  PetscMPIInt    failed = 0;

  PetscFunctionBegin;
  /* What could not be written was reported before */
  if (csv->file != NULL) failed = fclose(csv->file) != 0 && csv->failed == 0;
  PetscCallMPI(MPI_Bcast(&failed, 1, MPI_INT, 0, comm));
  PetscCall(PetscFree(csv->name));
  PetscCall(PetscFree(csv));
  *ctx = NULL;
  PetscCheck(failed == 0, comm, PETSC_ERR_FILE_WRITE, "The file of -muon_monitor_csv cannot be closed");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonMonitorSetCSV - Writes one row a step to a file of comma-separated values, for plotting

  Collective

  Input Parameters:
+ muon - the optimizer
- file - name of the file

  Options Database Key:
. -muon_monitor_csv file - name of the file

  Level: intermediate

  Notes:
  The first row names the columns\: step, loss, rate, dual norm, bits up, bits down, their ratios to fp32, reason, and
  validation, empty in steps without one. Bits are counted as by `MuonMonitorDefault()`.

  An existing file is overwritten. A run that continues (`MuonSetRestart()`) appends to it\: it keeps the rows up
  to the step that was loaded and removes the later ones, whose steps are taken again.

.seealso: `Muon`, `MuonMonitorSet()`, `MuonMonitorDefault()`
@*/
PetscErrorCode MuonMonitorSetCSV(Muon muon, const char file[])
{
  MuonCSV    *csv;
  PetscMPIInt failed;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(file, 2);
  PetscCall(PetscNew(&csv));
  csv->comm = PetscObjectComm((PetscObject)muon);
  if (muon->rank == 0) {
    csv->file = fopen(file, "r+");
    if (csv->file == NULL) csv->file = fopen(file, "w+");
  }
  failed = muon->rank == 0 && csv->file == NULL;
  PetscCallMPI(MPI_Bcast(&failed, 1, MPI_INT, 0, csv->comm));
  if (failed) PetscCall(PetscFree(csv));
  PetscCheck(failed == 0, PetscObjectComm((PetscObject)muon), PETSC_ERR_FILE_OPEN, "-muon_monitor_csv %s: the file cannot be opened for writing", file);
  PetscCall(PetscStrallocpy(file, &csv->name));
  PetscCall(MuonMonitorSet(muon, MuonMonitorCSV_Private, csv, MuonMonitorCSVDestroy_Private));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonMonitorViewerFromOptions_Private(Muon muon, const char key[], MuonMonitorFn *monitor, PetscBool *set)
{
  const MuonMonitors   *monitors = MuonMonitorsOf(muon);
  PetscViewerAndFormat *vf;
  PetscViewer           viewer;
  PetscViewerFormat     format;
  PetscViewerType       type;
  PetscBool             lines, same = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscOptionsCreateViewer(PetscObjectComm((PetscObject)muon), ((PetscObject)muon)->options, ((PetscObject)muon)->prefix, key, &viewer, &format, set));
  if (*set == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  /* Monitors print lines, and one draws them: another viewer would fail in the first step */
  PetscCall(PetscObjectTypeCompareAny((PetscObject)viewer, &lines, PETSCVIEWERASCII, monitor == MuonMonitorDefault_Private ? PETSCVIEWERDRAW : "", ""));
  PetscCall(PetscViewerGetType(viewer, &type));
  PetscCheck(lines, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP, "-%s%s: a viewer of type %s prints no lines, expected one of type ascii", ((PetscObject)muon)->prefix ? ((PetscObject)muon)->prefix : "", key + 1, type);
  for (PetscInt i = 0; i < monitors->count; i++) {
    if (monitors->list[i].fn == monitor && ((PetscViewerAndFormat *)monitors->list[i].ctx)->viewer == viewer) same = PETSC_TRUE;
  }
  if (same == PETSC_FALSE) {
    PetscCall(PetscViewerAndFormatCreate(viewer, format, &vf));
    PetscCall(MuonMonitorSet(muon, monitor, vf, MuonViewerAndFormatDestroy));
  }
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonMonitorSetFromOptions_Private(Muon muon, MuonOptionItems PetscOptionsObject)
{
  const MuonMonitors *monitors = MuonMonitorsOf(muon);
  char                text[PETSC_MAX_PATH_LEN];
  PetscBool           flg, same = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscOptionsName("-muon_monitor_cancel", "Remove the monitors that the program set", "MuonMonitorCancel", &flg));
  if (flg) PetscCall(MuonMonitorCancel(muon)); /* those of options follow */
  PetscCall(PetscOptionsString("-muon_monitor", "One line a step", "MuonMonitorSet", "stdout", text, sizeof(text), NULL));
  PetscCall(MuonMonitorViewerFromOptions_Private(muon, "-muon_monitor", MuonMonitorDefault_Private, &flg));
  if (muon->ops->monitor != NULL) {
    PetscCall(MuonMonitorViewerFromOptions_Private(muon, muon->ops->monitor->key, muon->ops->monitor->monitor, &flg));
    if (flg) PetscCall((*muon->ops->monitor->measure)(muon, PETSC_TRUE));
  }
  PetscCall(PetscOptionsString("-muon_monitor_csv", "One row a step in a file", "MuonMonitorSetCSV", NULL, text, sizeof(text), &flg));
  for (PetscInt i = 0; i < monitors->count && flg; i++) {
    if (monitors->list[i].fn == MuonMonitorCSV_Private && strcmp(((const MuonCSV *)monitors->list[i].ctx)->name, text) == 0) same = PETSC_TRUE;
  }
  if (flg && same == PETSC_FALSE) PetscCall(MuonMonitorSetCSV(muon, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define ROW(key, kind, field, most, help) MUON_ROW(key, kind, MuonMonitors, field, 0, 0, most, NULL, 0, help)

static const MuonParameter MuonMonitorParameters[] = {
  ROW("validation_interval", INT, interval, MUON_UNBOUNDED, "Of how many steps one is validated, 0: none"), ROW("measure_update_rms", BOOL, measure, 1, "Measure the size of updates"), {NULL, MUON_PARAMETER_REAL, 0, 0, 0, 0, NULL, 0, NULL}};

/* Before the step is counted */
static PetscErrorCode MuonMonitorEnd_Private(Muon muon, PetscBool ok)
{
  PetscFunctionBegin;
  PetscCall(MuonGetShownRate_Private(muon, &MuonMonitorsOf(muon)->rate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *const MuonMonitorKeys[] = {"muon_monitor", "muon_monitor_cancel", "muon_monitor_csv", NULL};

PETSC_INTERN PetscErrorCode MuonAddonRegister_Monitor(void)
{
  MuonAddonOps ops = {0};

  PetscFunctionBegin;
  ops.rows           = MuonMonitorParameters;
  ops.size           = sizeof(MuonMonitors);
  ops.keys           = MuonMonitorKeys;
  ops.setfromoptions = MuonMonitorSetFromOptions_Private;
  ops.begin          = MuonMonitorBegin_Private;
  ops.end            = MuonMonitorEnd_Private;
  ops.counted        = MuonValidate_Private;
  ops.show           = MuonMonitor;
  ops.destroy        = MuonMonitorCancel;
  PetscCall(MuonAddonRegister("monitor", &ops));
  PetscFunctionReturn(PETSC_SUCCESS);
}
