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
  int wrong = failed ? 1 : 0;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Bcast(&wrong, 1, MPI_INT, 0, PETSC_COMM_WORLD));
  PetscCheck(wrong == 0, PETSC_COMM_WORLD, PETSC_ERR_FILE_WRITE, "-nanogpt_csv %s: the file cannot be %s", columns->name, what);
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

/*
   Means over the layers of what messages left out in the last step, squared and relative; -1 where nothing measures
   it. Another file has a row for each layer: bytes are those that left a rank in the last step, or where nothing measures
   these the most that a message takes
*/
static PetscErrorCode Layers(Columns columns, Muon muon, PetscReal contraction[2])
{
  char      name[PETSC_MAX_PATH_LEN];
  FILE     *file = NULL;
  PetscInt  n, measured = 0;
  PetscReal sum[2] = {0, 0};
  PetscBool is, failed = PETSC_FALSE;

  PetscFunctionBeginUser;
  contraction[0] = contraction[1] = -1;
  PetscCall(PetscObjectTypeCompare((PetscObject)muon, MUONEF21, &is));
  if (is == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSNPrintf(name, sizeof(name), "%s.layers", columns->name));
  if (columns->file != NULL) file = fopen(name, "w");
  if (columns->file != NULL && (file == NULL || fputs("layer,entries,bytes_up,bytes_down,contraction_up,contraction_down,lag_up,lag_down\n", file) < 0)) failed = PETSC_TRUE;
  PetscCall(MuonGetNumLayers(muon, &n));
  for (PetscInt l = 0; l < n; l++) {
    MuonLayer           layer;
    MuonLayerType       type;
    const char         *called;
    MuonEF21Compression c;
    MuonCompressor      way[2];
    PetscInt            rows, width;
    size_t              most[2];
    PetscBool           frozen;

    PetscCall(MuonGetLayer(muon, l, &layer));
    PetscCall(MuonLayerGetType(layer, &type));
    PetscCall(PetscObjectGetName((PetscObject)layer, &called));
    PetscCall(PetscStrcmp(type, MUONLAYERFROZEN, &frozen));
    if (frozen == PETSC_TRUE) continue;
    PetscCall(MuonLayerGetSize(layer, &rows, &width));
    PetscCall(MuonGetLayerCompressors(muon, layer, &way[0], &way[1]));
    for (int down = 0; down < 2; down++) PetscCall(MuonCompressorGetMaxBytes(way[down], rows, width, &most[down]));
    PetscCall(MuonEF21GetLayerCompression(muon, layer, &c));
    if (c.step >= 0) {
      for (int down = 0; down < 2; down++) sum[down] += c.mean[down][0];
      measured++;
    }
    if (file != NULL && fprintf(file, "%s,%lld", called, (long long)rows * width) < 0) failed = PETSC_TRUE;
    if (file != NULL && (c.step >= 0 ? fprintf(file, ",%.17g,%.17g,%.9g,%.9g,%.9g,%.9g\n", (double)c.bytes[0], (double)c.bytes[1], (double)c.mean[0][0], (double)c.mean[1][0], (double)c.lag_mean[0][0], (double)c.lag_mean[1][0])
                                     : fprintf(file, ",%zu,%zu,,,,\n", most[0], most[1])) < 0) {
      failed = PETSC_TRUE;
    }
  }
  for (int down = 0; down < 2 && measured > 0; down++) contraction[down] = sum[down] / (PetscReal)measured;
  if (file != NULL && fclose(file) != 0) failed = PETSC_TRUE;
  PetscCall(Check(columns, failed, "written, or its .layers"));
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
  paper[0] = traffic.total_up[MUON_TRAFFIC_PAPER] / size;
  paper[1] = traffic.total_down[MUON_TRAFFIC_PAPER] / size;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, paper, 2, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscObjectTypeCompare((PetscObject)muon, MUONSIGN, &sign));
  if (sign == PETSC_TRUE) PetscCall(MuonSignGetAgreement(muon, &agreement));
  PetscCall(Layers(columns, muon, contraction));
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
