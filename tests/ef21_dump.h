/*
   A run whose beginning, settings and end are written into files, for an oracle that does the same from the
   definitions.
*/
#pragma once

#include "parameters.h"
#include "ef21_common.h"
#include <petscmuon/private/muonimpl.h>
#include <stdio.h>
#include "parameters.h"
#include "layer_parameter.h"

typedef struct {
  const char *dir;
  FILE       *file; /* settings */
} Dump;

static PetscErrorCode DumpRows(const Dump *dump, PetscMPIInt rank, PetscInt l, const char name[], PetscInt d, const PetscReal rows[])
{
  char  path[PETSC_MAX_PATH_LEN];
  FILE *file;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/%d.%" PetscInt_FMT ".%s", dump->dir, rank, l, name));
  file = fopen(path, "wb");
  PetscCheck(file != NULL, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot write %s", path);
  for (PetscInt e = 0; e < d; e++) {
    const double x = (double)rows[e];

    PetscCheck(fwrite(&x, sizeof(x), 1, file) == 1, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write %s", path);
  }
  PetscCheck(fclose(file) == 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write %s", path);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DumpCompressor(const Dump *dump, const char name[], MuonCompressor c, PetscBool step)
{
  MuonCompressorType   type;
  MuonCompressorValues values;
  PetscReal            ratio, norm;
  PetscInt             rank;
  PetscBool            lines, identity;

  PetscFunctionBegin;
  PetscCall(MuonCompressorGetType(c, &type));
  PetscCall(GetEnum((PetscObject)c, "compressor_values", MuonCompressorValuesTypes, (int *)&values));
  PetscCall(GetReal((PetscObject)c, "compressor_ratio", &ratio));
  PetscCall(GetInt((PetscObject)c, "compressor_rank", &rank));
  PetscCall(PetscObjectTypeCompare((PetscObject)c, MUONCOMPRESSORIDENTITY, &identity));
  if ((int)values < 0) values = identity == PETSC_TRUE ? MUON_COMPRESSOR_VALUES_NATIVE : MUON_COMPRESSOR_VALUES_SINGLE;
  if (step == PETSC_TRUE) type = TEST_STEP;
  fprintf(dump->file, " %s=%s %s_values=%s %s_ratio=%.17g %s_rank=%d", name, type, name, MuonCompressorValuesTypes[values], name, (double)ratio, name, rank == PETSC_DETERMINE ? -1 : (int)rank);
  PetscCall(PetscObjectTypeCompareAny((PetscObject)c, &lines, MUONCOMPRESSORCOLUMNTOPK, MUONCOMPRESSORROWTOPK, ""));
  if (lines == PETSC_TRUE) {
    PetscCall(GetReal((PetscObject)c, "compressor_line_norm", &norm));
    fprintf(dump->file, " %s_norm=%.17g", name, norm >= PETSC_INFINITY ? HUGE_VAL : (double)norm);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the norms that have some */
static PetscErrorCode DumpExponents(const Dump *dump, MuonLMO lmo)
{
  PetscReal p, q;
  PetscBool mixed, schatten;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)lmo, MUONLMOMIXED, &mixed));
  PetscCall(PetscObjectTypeCompare((PetscObject)lmo, MUONLMOSCHATTEN, &schatten));
  if (mixed == PETSC_TRUE) {
    PetscCall(GetReal((PetscObject)lmo, "lmo_mixed_exponent_p", &p));
    PetscCall(GetReal((PetscObject)lmo, "lmo_mixed_exponent_q", &q));
    fprintf(dump->file, " p=%.17g q=%.17g", (double)p, (double)q);
  } else if (schatten == PETSC_TRUE) {
    PetscCall(GetReal((PetscObject)lmo, "lmo_schatten_exponent", &p));
    fprintf(dump->file, " p=%.17g", (double)p);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sizes that options gave */
static PetscErrorCode DumpBlocks(const Dump *dump, MuonLayer layer)
{
  PetscInt        nrows, ncolumns;
  const PetscInt *rows, *columns;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetBlocks(layer, &nrows, &rows, &ncolumns, &columns));
  for (PetscInt i = 0; i < nrows && nrows > 1; i++) fprintf(dump->file, "%s%d", i == 0 ? " rows=" : ",", (int)rows[i]);
  for (PetscInt j = 0; j < ncolumns && ncolumns > 1; j++) fprintf(dump->file, "%s%d", j == 0 ? " columns=" : ",", (int)columns[j]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is done before the LMO, and the bases of SOAP there or as a rule */
static PetscErrorCode DumpSOAP(const Dump *dump, MuonLayer layer, MuonLayerType type)
{
  PetscBool   soap, before, lmo;
  char        kind[32], basis[32];
  const char *prefix;
  PetscReal   beta[2], epsilon, interval;

  PetscFunctionBegin;
  PetscCall(LayerGetText(layer, "before", sizeof(kind), kind));
  PetscCall(PetscStrcmp(kind, "soap", &before));
  PetscCall(PetscStrcmp(type, MUONLAYERSOAP, &soap));
  PetscCall(PetscStrcmp(type, MUONLAYERLMO, &lmo));
  if (lmo) {
    PetscCall(LayerGetText(layer, "before_beta", sizeof(basis), basis));
    beta[1] = (PetscReal)(strcmp(basis, "auto") != 0 ? strtod(basis, NULL) : before ? 0.95 : 0);
    fprintf(dump->file, " before=%s before_beta=%.17g", kind, (double)beta[1]);
  }
  if (!soap && !(lmo && before)) PetscFunctionReturn(PETSC_SUCCESS);
  prefix = soap ? "soap" : "before_soap";
  if (soap) {
    PetscCall(LayerGet(layer, "soap_beta1", &beta[0]));
    PetscCall(LayerGet(layer, "soap_beta2", &beta[1]));
    PetscCall(LayerGet(layer, "soap_epsilon", &epsilon));
    fprintf(dump->file, " beta1=%.17g beta2=%.17g epsilon=%.17g", (double)beta[0], (double)beta[1], (double)epsilon);
  }
  PetscCall(PetscSNPrintf(kind, sizeof(kind), "%s_interval", prefix));
  PetscCall(LayerGet(layer, kind, &interval));
  PetscCall(PetscSNPrintf(kind, sizeof(kind), "%s_basis", prefix));
  PetscCall(LayerGetText(layer, kind, sizeof(basis), basis));
  fprintf(dump->file, " soap_beta=%.17g soap_interval=%d soap_basis=%s", (double)beta[1], (int)interval, basis);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DumpSettings(const Dump *dump, TestProblem *p, PetscInt steps)
{
  MuonType             type;
  MuonScheduleType     schedule;
  MuonMomentumStyle    style;
  MuonNesterovType     nesterov;
  MuonMomentumAt       at;
  MuonWeightDecayStyle decaystyle;
  MuonClipLayers       clipped;
  PetscReal            minimum, start, clip, lr, constant, dampening, momentum, decay, scale, loss, dual, beta1, beta2, epsilon;
  PetscInt             warmup, max, momentumwarmup, node, delay;
  char                 correction[16];
  PetscReal            seed;
  PetscBool            ef21, ef14, sign, local;
  Muon                 sends; /* the optimizer whose messages there are */

  PetscFunctionBegin;
  PetscCall(MuonGetType(p->muon, &type));
  PetscCall(MuonGetLearningRate(p->muon, &lr));
  PetscCall(GetEnum((PetscObject)p->muon, "muon_schedule", MuonScheduleTypes, (int *)&schedule));
  PetscCall(GetReal((PetscObject)p->muon, "muon_schedule_constant", &constant));
  PetscCall(GetInt((PetscObject)p->muon, "muon_schedule_warmup", &warmup));
  PetscCall(MuonGetMaxSteps(p->muon, &max));
  PetscCall(GetEnum((PetscObject)p->muon, "muon_momentum_style", MuonMomentumStyles, (int *)&style));
  PetscCall(GetReal((PetscObject)p->muon, "muon_dampening", &dampening));
  PetscCall(GetEnum((PetscObject)p->muon, "muon_nesterov", MuonNesterovTypes, (int *)&nesterov));
  PetscCall(GetEnum((PetscObject)p->muon, "muon_momentum_at", MuonMomentumAts, (int *)&at));
  PetscCall(GetReal((PetscObject)p->muon, "muon_seed", &seed));
  PetscCall(GetReal((PetscObject)p->muon, "muon_schedule_minimum", &minimum));
  PetscCall(GetInt((PetscObject)p->muon, "muon_momentum_warmup", &momentumwarmup));
  PetscCall(GetReal((PetscObject)p->muon, "muon_momentum_warmup_start", &start));
  PetscCall(GetEnum((PetscObject)p->muon, "muon_weight_decay_style", MuonWeightDecayStyles, (int *)&decaystyle));
  PetscCall(GetReal((PetscObject)p->muon, "muon_clip", &clip));
  PetscCall(GetEnum((PetscObject)p->muon, "muon_clip_layers", MuonClipLayersTypes, (int *)&clipped));
  PetscCall(GetReal((PetscObject)p->muon, "muon_momentum", &momentum));
  fprintf(dump->file, "minimum=%.17g momentum=%.17g momentum_warmup=%d momentum_start=%.17g decay_style=%s clip=%.17g clip_layers=%s ", (double)minimum, (double)momentum, (int)momentumwarmup, (double)start, MuonWeightDecayStyles[decaystyle],
          (double)clip, MuonClipLayersTypes[clipped]);
  sends = p->muon;
  PetscCall(PetscStrcmp(type, MUONLOCAL, &local));
  if (local == PETSC_TRUE) PetscCall(MuonLocalGetOuter(p->muon, &sends));
  PetscCall(GetInt((PetscObject)p->muon, "muon_node_size", &node));
  PetscCall(GetInt((PetscObject)sends, "muon_delay", &delay));
  PetscCall(MuonGetParameter(sends, "muon_delay_correction", correction, sizeof(correction)));
  fprintf(dump->file, "shards=%d node=%d delay=%d correction=%d ", (int)p->shards, (int)node, (int)delay, correction[0] == 't');
  PetscCall(MuonGetLoss(p->muon, &loss));
  PetscCall(MuonGetGradientDualNorm(p->muon, &dual));
  PetscCall(PetscStrcmp(type, MUONEF21, &ef21));
  PetscCall(PetscStrcmp(type, MUONEF14, &ef14));
  fprintf(dump->file, "type=%s workers=%d steps=%d lr=%.17g schedule=%s constant=%.17g warmup=%d max_steps=%d style=%s dampening=%.17g nesterov=%s at=%s seed=%lld noise=%d scale=%.17g loss=%.17g dual=%.17g", type, p->size, (int)steps, (double)lr,
          MuonScheduleTypes[schedule], (double)constant, (int)warmup, (int)max, MuonMomentumStyles[style], (double)dampening, MuonNesterovTypes[nesterov], MuonMomentumAts[at], (long long)seed, (int)p->noise, (double)p->scale, (double)loss,
          (double)dual);
  if (ef21 == PETSC_TRUE || ef14 == PETSC_TRUE) {
    char             text[32];
    MuonTraffic      traffic;
    MuonExchange     exchange;
    MuonExchangeType where;

    PetscCall(MuonGetParameter(p->muon, ef21 == PETSC_TRUE ? "ef21_init" : "ef14_feedback", text, sizeof(text)));
    PetscCall(MuonGetTraffic(p->muon, &traffic));
    PetscCall(MuonGetExchange(p->muon, &exchange));
    PetscCall(MuonExchangeGetType(exchange, &where));
    fprintf(dump->file, " %s=%s exchange=%s paper=%.17g encoded=%.17g entropy=%.17g", ef21 == PETSC_TRUE ? "init" : "feedback", text, where, traffic.total_down[0], traffic.total_down[1], traffic.total_down[2]);
  }
  if (local == PETSC_TRUE) {
    MuonType  outer;
    PetscInt  every, stagger, control;
    PetscReal feedback = 1;

    PetscCall(MuonGetType(sends, &outer));
    PetscCall(PetscStrcmp(outer, MUONEF21, &ef21));
    PetscCall(PetscStrcmp(outer, MUONEF14, &ef14));
    PetscCall(GetInt((PetscObject)p->muon, "local_steps", &every));
    PetscCall(MuonGetLearningRate(sends, &lr));
    PetscCall(GetReal((PetscObject)sends, "muon_momentum", &momentum));
    if (ef14 == PETSC_TRUE) PetscCall(GetReal((PetscObject)sends, "ef14_feedback", &feedback));
    PetscCall(GetInt((PetscObject)p->muon, "local_stagger", &stagger));
    PetscCall(GetInt((PetscObject)p->muon, "local_control", &control));
    fprintf(dump->file, " local_steps=%d stagger=%d control=%d outer=%s outer_lr=%.17g outer_momentum=%.17g feedback=%.17g", (int)every, (int)stagger, (int)control, outer, (double)lr, (double)momentum, (double)feedback);
  }
  PetscCall(PetscStrcmp(type, MUONSIGN, &sign));
  if (sign == PETSC_TRUE) {
    char      direction[32], update[32], tie[32], measure[32];
    PetscReal agreement;

    PetscCall(MuonGetParameter(p->muon, "sign_direction", direction, sizeof(direction)));
    PetscCall(MuonGetParameter(p->muon, "sign_update", update, sizeof(update)));
    PetscCall(MuonGetParameter(p->muon, "sign_tie", tie, sizeof(tie)));
    PetscCall(MuonGetParameter(p->muon, "sign_measure", measure, sizeof(measure)));
    PetscCall(MuonSignGetAgreement(p->muon, &agreement));
    fprintf(dump->file, " direction=%s update=%s tie=%s measure=%d agreement=%.17g", direction, update, tie, measure[0] == 't' ? 1 : 0, (double)agreement);
  }
  fprintf(dump->file, "\n");
  for (PetscInt l = 0; l < p->n; l++) {
    MuonLayerType type;
    char          factor[32], text[32];
    MuonLMO       lmo;
    MuonLMOType   norm;
    MuonShard    *shard;
    PetscBool     adamw, nadamw, frozen;

    PetscCall(MuonLayerGetType(p->layer[l], &type));
    PetscCall(LayerGetText(p->layer[l], "shape_factor", sizeof(factor), factor));
    PetscCall(LayerGet(p->layer[l], "momentum", &momentum));
    PetscCall(LayerGet(p->layer[l], "weight_decay", &decay));
    PetscCall(LayerGet(p->layer[l], "scale", &scale));
    PetscCall(LayerGet(p->layer[l], "learning_rate", &lr));
    PetscCall(MuonLayerGetLMO(p->layer[l], &lmo));
    PetscCall(MuonLMOGetType(lmo, &norm));
    fprintf(dump->file, "name=%s m=%d n=%d type=%s norm=%s scale=%.17g shape_factor=%s momentum=%.17g decay=%.17g lr=%.17g", p->shape[l].name, (int)p->shape[l].m, (int)p->shape[l].n, type, norm, (double)scale, factor, (double)momentum, (double)decay,
            (double)lr);
    PetscCall(LayerGetText(p->layer[l], "step", sizeof(text), text));
    fprintf(dump->file, " step=%s", text);
    PetscCall(DumpExponents(dump, lmo));
    PetscCall(DumpBlocks(dump, p->layer[l]));
    PetscCall(PetscStrcmp(type, MUONLAYERADAMW, &adamw));
    PetscCall(PetscStrcmp(type, MUONLAYERNADAMW, &nadamw));
    PetscCall(PetscStrcmp(type, MUONLAYERFROZEN, &frozen));
    if (adamw == PETSC_TRUE || nadamw == PETSC_TRUE) {
      PetscCall(LayerGet(p->layer[l], "adamw_beta1", &beta1));
      PetscCall(LayerGet(p->layer[l], "adamw_beta2", &beta2));
      PetscCall(LayerGet(p->layer[l], "adamw_epsilon", &epsilon));
      fprintf(dump->file, " beta1=%.17g beta2=%.17g epsilon=%.17g", (double)beta1, (double)beta2, (double)epsilon);
    }
    PetscCall(DumpSOAP(dump, p->layer[l], type));
    if ((ef21 == PETSC_TRUE || ef14 == PETSC_TRUE) && frozen == PETSC_FALSE) {
      PetscCall(MuonShardFind(sends, sends->layer[l], &shard));
      PetscCall(DumpCompressor(dump, "up", shard->up, PETSC_FALSE));
      PetscCall(DumpCompressor(dump, "down", shard->down, shard->downlink == MUON_DOWNLINK_STEP ? PETSC_TRUE : PETSC_FALSE));
    }
    fprintf(dump->file, "\n");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The whole weights, which the ranks of a worker have rows of, come into the problem's own */
static PetscErrorCode DumpGather(TestProblem *p)
{
  PetscFunctionBegin;
  for (PetscInt l = 0; l < p->n && p->shards > 1; l++) {
    PetscReal *rows;
    Mat        full;

    PetscCall(PetscMalloc1(TestEntries(&p->shape[l]), &rows));
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, p->shape[l].m, p->shape[l].n, NULL, &full));
    PetscCall(MuonLayerGetFullWeights(p->layer[l], full));
    PetscCall(TestMatGetRows(full, rows));
    PetscCall(TestSetWeights(p, l, rows));
    PetscCall(MatDestroy(&full));
    PetscCall(PetscFree(rows));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DumpObjective(Muon muon, PetscReal *loss, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(DumpGather((TestProblem *)ctx));
  PetscCall(TestObjective(muon, loss, ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Another optimizer takes the place of the problem's, with the rows of all layers on the ranks of workers.
   Each of these has the worker's gradient whole
*/
static PetscErrorCode DumpSpread(TestProblem *p, MuonType type, PetscMPIInt shards)
{
  MPI_Comm comm;

  PetscFunctionBegin;
  PetscCall(MuonDestroy(&p->muon));
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, p->rank / shards, p->rank, &comm));
  p->shards   = shards;
  p->position = p->rank % shards;
  p->rank     = p->worker;
  p->size     = p->size / shards;
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &p->muon));
  PetscCall(MuonSetType(p->muon, type));
  for (PetscInt l = 0; l < p->n; l++) {
    const TestShape *shape = &p->shape[l];
    PetscInt         first, last;
    PetscScalar     *array;
    PetscReal       *rows;
    Mat              W;
    Vec              w;

    PetscCall(PetscMalloc1(TestEntries(shape), &rows));
    PetscCall(TestGetWeights(p, l, rows));
    if (shape->vec == PETSC_TRUE) {
      PetscCall(VecCreateMPI(comm, PETSC_DECIDE, shape->m, &w));
      PetscCall(VecGetOwnershipRange(w, &first, &last));
      PetscCall(VecGetArray(w, &array));
    } else {
      PetscCall(MatCreateDense(comm, PETSC_DECIDE, PETSC_DECIDE, shape->m, shape->n, NULL, &W));
      PetscCall(MatGetOwnershipRange(W, &first, &last));
      PetscCall(MatDenseGetArray(W, &array));
    }
    for (PetscInt i = first; i < last; i++) {
      for (PetscInt j = 0; j < shape->n; j++) array[i - first + j * (last - first)] = rows[i * shape->n + j];
    }
    if (shape->vec == PETSC_TRUE) {
      PetscCall(VecRestoreArray(w, &array));
      PetscCall(MuonAddVecLayer(p->muon, shape->name, w, &p->layer[l]));
      PetscCall(VecDestroy(&w));
    } else {
      PetscCall(MatDenseRestoreArray(W, &array));
      PetscCall(MuonAddLayer(p->muon, shape->name, W, &p->layer[l]));
      PetscCall(MatDestroy(&W));
    }
    PetscCall(MuonLayerSetWholeGradient(p->layer[l], PETSC_TRUE));
    PetscCall(TestSetNorm(p, l));
    PetscCall(PetscFree(rows));
  }
  PetscCallMPI(MPI_Comm_free(&comm));
  PetscCall(MuonSetObjectiveAndGradient(p->muon, DumpObjective, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows that each rank of a worker has of its state are a file each */
static PetscErrorCode DumpShards(const Dump *dump, TestProblem *p, PetscInt l)
{
  const TestShape *shape   = &p->shape[l];
  const char      *names[] = {"X", "M", "Gj", "G", "E"}, *states[] = {NULL, "momentum", "estimate", "aggregate", "excess"};
  const PetscInt   here = shape->m / p->shards + (p->position < shape->m % p->shards ? 1 : 0);
  PetscReal       *rows;
  Mat              A;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(TestEntries(shape), &rows));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, here, shape->n, NULL, &A));
  for (PetscInt k = 0; k < 5; k++) {
    char      name[16];
    PetscBool kept;

    if (k == 0) PetscCall(MuonLayerGetServerWeights(p->layer[l], A, &kept));
    else PetscCall(MuonGetLayerState(p->muon, p->layer[l], states[k], A, &kept));
    if (kept == PETSC_FALSE) continue;
    PetscCall(TestMatGetRows(A, rows));
    PetscCall(PetscSNPrintf(name, sizeof(name), "%s.%d", names[k], p->position));
    PetscCall(DumpRows(dump, p->rank, l, name, here * shape->n, rows));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DumpState(const Dump *dump, TestProblem *p)
{
  PetscBool feedback;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)p->muon, &feedback, MUONEF21, MUONEF14, ""));
  PetscCall(DumpGather(p));
  for (PetscInt l = 0; l < p->n; l++) {
    const char    *names[] = {"X", "M", "Gj", "G", "E"};
    const PetscInt d       = TestEntries(&p->shape[l]);
    Mat            A[5]    = {NULL, NULL, NULL, NULL, NULL};
    MuonLayerType  type;
    PetscBool      frozen;
    PetscReal     *rows;

    PetscCall(PetscMalloc1(d, &rows));
    PetscCall(TestGetWeights(p, l, rows));
    PetscCall(DumpRows(dump, p->rank, l, "W", d, rows));
    PetscCall(MuonLayerGetType(p->layer[l], &type));
    PetscCall(PetscStrcmp(type, MUONLAYERFROZEN, &frozen));
    if (frozen == PETSC_FALSE && p->shards > 1) PetscCall(DumpShards(dump, p, l));
    else if (frozen == PETSC_FALSE) PetscCall(TestGetLayerServerWeights(p->layer[l], &A[0]));
    if (frozen == PETSC_FALSE && p->shards == 1 && feedback == PETSC_TRUE) {
      PetscCall(TestGetEF21State(p->muon, p->layer[l], &A[1], &A[2], &A[3]));
      PetscCall(TestGetState(p->muon, p->layer[l], "excess", &A[4]));
    }
    for (PetscInt k = 0; k < 5; k++) {
      if (A[k] == NULL) continue;
      PetscCall(TestMatGetRows(A[k], rows));
      PetscCall(DumpRows(dump, p->rank, l, names[k], d, rows));
    }
    PetscCall(PetscFree(rows));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The options -steps, -noise and -scale say how long, how much each step's gradients differ and how large
   they are; -shards on how many ranks the rows of layers are
*/
static PetscErrorCode DumpRun(MuonType type)
{
  char        dir[PETSC_MAX_PATH_LEN] = ".", path[PETSC_MAX_PATH_LEN];
  PetscInt    steps = 30, shards = 1;
  PetscMPIInt rank;
  PetscBool   unseen = PETSC_FALSE; /* rows that have no gradient */
  Dump        dump;
  TestProblem p;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-unseen", &unseen, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-oracle_dir", dir, sizeof(dir), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-shards", &shards, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  dump.dir  = dir;
  dump.file = NULL;
  PetscCall(TestCreate(PETSC_COMM_WORLD, type, TEST_LAYERS, TestShapes, rank / shards, &p));
  if (shards > 1) PetscCall(DumpSpread(&p, type, (PetscMPIInt)shards));
  p.noise = 2;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-noise", &p.noise, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-scale", &p.scale, NULL));
  PetscCall(MuonSetMaxSteps(p.muon, steps));
  PetscCall(MuonSetParameter(p.muon, "muon_count_entropy", "true"));
  PetscCall(MuonSetFromOptions(p.muon));
  for (PetscInt l = 0; l < p.n; l++) {
    const PetscInt d = TestEntries(&p.shape[l]);
    PetscReal     *rows;

    for (PetscInt e = 0; e < d && unseen; e++) p.H[l][e] *= e / p.shape[l].n % 3 == 1 ? 0 : 1;
    /* Off the grid of the weights: on it the first gradients would have entries of equal size */
    for (PetscInt e = 0; e < d; e++) p.B[l][e] *= PetscSqrtReal((PetscReal)0.7);
    PetscCall(PetscMalloc1(d, &rows));
    PetscCall(TestGetWeights(&p, l, rows));
    PetscCall(DumpRows(&dump, p.rank, l, "start", d, rows));
    PetscCall(DumpRows(&dump, p.rank, l, "H", d, p.H[l]));
    PetscCall(DumpRows(&dump, p.rank, l, "B", d, p.B[l]));
    PetscCall(PetscFree(rows));
  }
  PetscCall(MuonSolve(p.muon));
  PetscCall(DumpState(&dump, &p));
  if (rank == 0) {
    PetscCall(PetscSNPrintf(path, sizeof(path), "%s/settings", dir));
    dump.file = fopen(path, "w");
    PetscCheck(dump.file != NULL, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot write %s", path);
    PetscCall(DumpSettings(&dump, &p, steps));
    PetscCheck(fclose(dump.file) == 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write %s", path);
  }
  PetscCall(TestDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}
