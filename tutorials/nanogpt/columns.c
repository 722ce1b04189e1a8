#include "columns.h"
#include <stdio.h>

#define PHASES 4

struct _n_Columns {
  char  name[PETSC_MAX_PATH_LEN];
  FILE *file; /* of process 0 */
};

static const char *const Events[PHASES] = {"MuonGradient", "MuonLMO", "MuonCompress", "MuonExchange"};

/* An error of process 0 is one of all */
static PetscErrorCode Check(Columns columns, PetscBool failed, const char what[])
{
  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Bcast(&failed, 1, MPIU_BOOL, 0, PETSC_COMM_WORLD));
  PetscCheck(failed == PETSC_FALSE, PETSC_COMM_WORLD, PETSC_ERR_FILE_WRITE, "-nanogpt_csv %s: the file cannot be %s", columns->name, what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ColumnsCreate(const char file[], Columns *columns)
{
  PetscMPIInt rank;
  PetscBool   failed = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscNew(columns));
  PetscCall(PetscStrncpy((*columns)->name, file, sizeof((*columns)->name)));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank == 0) {
    (*columns)->file = fopen(file, "w");
    failed = (*columns)->file == NULL || fputs("step,tokens,seconds,seconds_gradient,seconds_lmo,seconds_compress,seconds_exchange,paper_up,paper_down,agreement,contraction_up,contraction_down\n", (*columns)->file) < 0 ? PETSC_TRUE : PETSC_FALSE;
  }
  PetscCall(Check(*columns, failed, "opened for writing"));
  PetscCall(PetscLogDefaultBegin());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Means over the layers of what messages left out in the last step, squared and relative; -1 where nothing measures it */
static PetscErrorCode Contraction(Muon muon, PetscReal contraction[2])
{
  PetscInt  n, measured = 0;
  PetscBool is;

  PetscFunctionBeginUser;
  contraction[0] = contraction[1] = 0;
  PetscCall(PetscObjectTypeCompare((PetscObject)muon, MUONEF21, &is));
  PetscCall(MuonGetNumLayers(muon, &n));
  for (PetscInt l = 0; l < n && is == PETSC_TRUE; l++) {
    MuonLayer           layer;
    MuonLayerRule       rule;
    MuonEF21Compression c;
    PetscBool           frozen;

    PetscCall(MuonGetLayer(muon, l, &layer));
    PetscCall(MuonLayerGetRule(layer, &rule));
    PetscCall(PetscStrcmp(rule, MUONLAYERFROZEN, &frozen));
    if (frozen == PETSC_TRUE) continue;
    PetscCall(MuonEF21GetLayerCompression(muon, layer, &c));
    if (c.step < 0) continue;
    for (int down = 0; down < 2; down++) contraction[down] += c.mean[down][0];
    measured++;
  }
  for (int down = 0; down < 2; down++) contraction[down] = measured > 0 ? contraction[down] / (PetscReal)measured : -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ColumnsRow(Columns columns, Muon muon, PetscInt steps, PetscInt64 tokens, PetscLogDouble seconds)
{
  MuonTraffic    traffic;
  PetscReal      contraction[2], agreement = -1;
  double         paper[2];
  PetscLogDouble phase[PHASES];
  PetscMPIInt    size;
  PetscBool      sign, failed = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(MuonGetTraffic(muon, &traffic));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  paper[0] = traffic.total_up[0] / size;
  paper[1] = traffic.total_down[0] / size;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, paper, 2, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscObjectTypeCompare((PetscObject)muon, MUONSIGN, &sign));
  if (sign == PETSC_TRUE) PetscCall(MuonSignGetAgreement(muon, &agreement));
  PetscCall(Contraction(muon, contraction));
  for (int p = 0; p < PHASES; p++) {
    PetscLogEvent      event;
    PetscEventPerfInfo info;

    PetscCall(PetscLogEventGetId(Events[p], &event));
    PetscCall(PetscLogEventGetPerfInfo(0, event, &info));
    phase[p] = info.time;
  }
  if (columns->file != NULL) {
    failed = fprintf(columns->file, "%lld,%lld,%.6f,%.6f,%.6f,%.6f,%.6f,%.17g,%.17g,%.9g,%.9g,%.9g\n", (long long)steps, (long long)tokens, seconds, phase[0], phase[1], phase[2], phase[3], paper[0], paper[1], (double)agreement,
                     (double)contraction[0], (double)contraction[1]) < 0 ||
                 fflush(columns->file) != 0
             ? PETSC_TRUE
             : PETSC_FALSE;
  }
  PetscCall(Check(columns, failed, "written"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ColumnsDestroy(Columns *columns)
{
  PetscBool failed = PETSC_FALSE;

  PetscFunctionBeginUser;
  if (*columns == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if ((*columns)->file != NULL && fclose((*columns)->file) != 0) failed = PETSC_TRUE;
  PetscCall(Check(*columns, failed, "closed"));
  PetscCall(PetscFree(*columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}
