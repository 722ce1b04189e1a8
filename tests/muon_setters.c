static char help[] = "Every setter in the middle of a run: the next steps are those of a run that had the value from its beginning, or the call, or the step, is an error of order that leaves all as it was; illegal values are refused.\n\n";

#include <petscmuon/private/muonparameter.h>
#include "setters_common.h"
#include <math.h>

static PetscErrorCode Differ(const char name[], const double a[RUN_NUMBERS], const double b[RUN_NUMBERS])
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < RUN_NUMBERS; k++) {
    if (a[k] != b[k]) PetscCall(PetscFPrintf(PETSC_COMM_SELF, PETSC_STDERR, "%s: number %" PetscInt_FMT " is %.17g, expected %.17g\n", name, k, a[k], b[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckSetter(const Setter *setter)
{
  Run            p, q, r; /* with a call in the middle, without any, with a call before the set-up */
  double         a[RUN_NUMBERS], b[RUN_NUMBERS], c[RUN_NUMBERS], before[RUN_NUMBERS], after[RUN_NUMBERS];
  PetscErrorCode ierr;
  PetscBool      same;

  PetscFunctionBegin;
  PetscCall(RunCreate(setter, NULL, &p));
  PetscCall(RunCreate(setter, NULL, &q));
  PetscCall(RunTry(&p, setter->set, &ierr));
  PetscCheck(ierr == (setter->kind == IS_REFUSED ? PETSC_ERR_ORDER : PETSC_SUCCESS), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: error %d", setter->name, (int)ierr);
  PetscCall(RunSteps(&q, SETTERS_STEPS, b));
  if (setter->kind == STOPS_STEP) {
    PetscCall(RunSteps(&p, 0, before));
    PetscCall(RunTry(&p, RunOneStep, &ierr));
    PetscCheck(ierr == PETSC_ERR_ORDER, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the step gives error %d", setter->name, (int)ierr);
    PetscCall(RunSteps(&p, 0, after));
    PetscCall(RunSame(before, after, &same));
    PetscCheck(same == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the step that was refused left its traces", setter->name);
    /* With a reset it is legal */
    PetscCall(MuonReset(p.problem.muon));
    PetscCall(MuonStep(p.problem.muon));
  } else {
    PetscCall(RunSteps(&p, SETTERS_STEPS, a));
    PetscCall(RunSame(a, b, &same));
    if (setter->kind == TAKES_EFFECT) {
      PetscCheck(same == PETSC_FALSE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the call has no effect", setter->name);
      PetscCall(RunCreate(setter, setter->set, &r));
      PetscCall(RunSteps(&r, SETTERS_STEPS, c));
      PetscCall(RunSame(a, c, &same));
      if (same == PETSC_FALSE) PetscCall(Differ(setter->name, a, c));
      PetscCheck(same == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the steps are not those of a run that had the value from the beginning", setter->name);
      PetscCall(RunDestroy(&r));
    } else {
      if (same == PETSC_FALSE) PetscCall(Differ(setter->name, a, b));
      PetscCheck(same == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the call changes the steps", setter->name);
    }
  }
  PetscCall(RunDestroy(&p));
  PetscCall(RunDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What no call takes, before and after the set-up */
typedef struct {
  const char *name, *options;
  PetscErrorCode (*set)(Run *);
} Illegal;

#define ILLEGAL(name, call) SETTER(Illegal_##name, call)
ILLEGAL(MatchNoType, MuonSetLayerTypes(RunMuon(run), "a"))
ILLEGAL(MatchNoPattern, MuonSetLayerTypes(RunMuon(run), ":sgd"))
ILLEGAL(MatchType, MuonSetLayerTypes(RunMuon(run), "z:sgd,y:nosuch"))
ILLEGAL(Preset, MuonSetPreset(RunMuon(run), "nosuch"))
ILLEGAL(TensorKind, MuonLayerSetTensor(RunLayer(run, 2), 3, SetterDims, (MuonTensorKind)2))
ILLEGAL(Monitor, MuonMonitorSet(RunMuon(run), NULL, NULL, NULL))
ILLEGAL(Type, MuonSetType(RunMuon(run), "nosuch"))
ILLEGAL(LayerType, MuonLayerSetType(RunLayer(run, 0), "nosuch"))
ILLEGAL(Blocks, MuonLayerSetBlocks(RunLayer(run, 0), 4, NULL, 1, NULL))
ILLEGAL(LMOType, MuonLMOSetType(RunLMO(run, 0), "nosuch"))
ILLEGAL(PolarType, MuonPolarSetType(RunPolar(run), "nosuch"))
static const PetscReal Zeros[6] = {0};
ILLEGAL(CoefficientValues, MuonPolarSetCoefficientValues(RunPolar(run), 2, Zeros))
ILLEGAL(CompressorType, MuonCompressorSetType(RunUp(run), "nosuch"))
ILLEGAL(ExchangeType, MuonExchangeSetType(RunExchange(run), "nosuch"))

#define REFUSED(options, name) \
  { \
    #name, options, Set_Illegal_##name \
  }
static const Illegal Illegals[] = {
  REFUSED(DENSE, MatchNoType),
  REFUSED(DENSE, MatchNoPattern),
  REFUSED(DENSE, MatchType),
  REFUSED(DENSE, Preset),
  REFUSED(DENSE, TensorKind),
  REFUSED(DENSE, Monitor),
  REFUSED(DENSE, Type),
  REFUSED(DENSE, LayerType),
  REFUSED(DENSE, Blocks),
  REFUSED(DENSE, LMOType),
  REFUSED(DENSE, PolarType),
  REFUSED(SCHULZ, CoefficientValues),
  REFUSED(UP "topk", CompressorType),
  REFUSED(DENSE, ExchangeType),
};
#define NILLEGALS ((PetscInt)(sizeof(Illegals) / sizeof(Illegals[0])))

static const Illegal *illegal; /* whose turn it is */

/* Before the set-up: where it is taken the run stops here */
static PetscErrorCode TryIllegal(Run *run)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = (*illegal->set)(run);
  PetscCall(PetscPopErrorHandler());
  PetscCheck(ierr != PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s is taken before the set-up", illegal->name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckIllegal(void)
{
  const Setter   base = {illegal->name, illegal->options, NULL, WITHOUT_EFFECT, 0, NULL, NULL};
  Run            p, q;
  double         a[RUN_NUMBERS], b[RUN_NUMBERS];
  PetscErrorCode ierr;
  PetscBool      same = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(RunCreate(&base, TryIllegal, &p));
  PetscCall(RunCreate(&base, NULL, &q));
  PetscCall(RunTry(&p, illegal->set, &ierr));
  PetscCheck(ierr != PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s is taken after the set-up", illegal->name);
  PetscCall(RunSteps(&p, SETTERS_STEPS, a));
  PetscCall(RunSteps(&q, SETTERS_STEPS, b));
  PetscCheck(q.error == PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the run is no run", illegal->name);
  PetscCall(RunSame(a, b, &same));
  if (same == PETSC_FALSE) PetscCall(Differ(illegal->name, a, b));
  PetscCheck(same == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s was refused and changes the steps", illegal->name);
  PetscCall(RunDestroy(&p));
  PetscCall(RunDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The rows of all objects below an optimizer: what a parameter is by default, what it is when it was set, and
   what it cannot be
*/
typedef struct {
  PetscBool late; /* after the set-up */
  PetscInt  count;
} RowsTest;

static PetscErrorCode TrySet(PetscObject object, const char key[], const char value[], PetscErrorCode *ierr)
{
  PetscFunctionBegin;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  *ierr = MuonObjectSetParameter(object, key, value);
  PetscCall(PetscPopErrorHandler());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A value other than this one that the row takes */
static PetscErrorCode OtherValue(const MuonParameter *row, double now, size_t length, char text[])
{
  double other = row->kind == MUON_PARAMETER_BOOL ? (now != 0 ? 0 : 1) : row->most < MUON_UNBOUNDED ? (row->least + row->most) / 2 : row->least > -MUON_UNBOUNDED ? row->least + 1 : 1;

  PetscFunctionBegin;
  if (row->kind == MUON_PARAMETER_INT || row->kind == MUON_PARAMETER_INT64) other = floor(other);
  if (other == now) other = row->most < MUON_UNBOUNDED ? (other + row->most) / 2 : other + 1;
  if (row->kind == MUON_PARAMETER_INT) other = ceil(other);
  if (row->kind == MUON_PARAMETER_ENUM) PetscCall(PetscStrncpy(text, row->names[(int)now == (int)row->least ? (int)row->least + 1 : (int)row->least], length));
  else if (row->kind == MUON_PARAMETER_BOOL) PetscCall(PetscStrncpy(text, other != 0 ? "true" : "false", length));
  else PetscCall(MuonNumberWrite(row->kind == MUON_PARAMETER_REAL ? (double)(PetscReal)other : other, length, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double RowValue(const MuonParameter *row, const void *field)
{
  if (row->kind == MUON_PARAMETER_BOOL) return *(const PetscBool *)field ? 1 : 0;
  return row->kind == MUON_PARAMETER_REAL ? (double)*(const PetscReal *)field : row->kind == MUON_PARAMETER_INT ? (double)*(const PetscInt *)field : row->kind == MUON_PARAMETER_INT64 ? (double)*(const PetscInt64 *)field : (double)*(const int *)field;
}

static PetscErrorCode CheckRow(PetscObject object, const char family[], const MuonParameter *row, RowsTest *test)
{
  const char *const bad[] = {"nan", "nosuch", "inf", "-inf"};
  char              key[128], before[64], after[64], other[64], outside[64];
  PetscErrorCode    ierr;
  void             *field = NULL;
  double            now, usual;
  PetscBool         free; /* another value is right, too */

  PetscFunctionBegin;
  test->count++;
  PetscCheck(MuonParametersFind(object, row->key, &field) == row, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s is not found", row->key);
  if (row->kind == MUON_PARAMETER_TEXT) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSNPrintf(key, sizeof(key), "%s%s", row->flags & MUON_PARAMETER_BARE ? "" : family, row->key));
  PetscCall(MuonObjectGetParameter(object, key, before, sizeof(before)));
  now   = RowValue(row, field);
  usual = row->kind == MUON_PARAMETER_REAL ? (double)(PetscReal)row->value : row->value;
  free  = test->late || MuonParametersIsSet(object, row->key) || (row->flags & MUON_PARAMETER_PARENT) ? PETSC_TRUE : PETSC_FALSE;
  PetscCheck(free || now == usual, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s is %s by default, expected %g", key, before, row->value);
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(bad); k++) {
    if (k >= 2 && (row->flags & MUON_PARAMETER_INF)) continue;
    PetscCall(TrySet(object, key, bad[k], &ierr));
    PetscCheck(ierr != PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s takes %s", key, bad[k]);
  }
  for (int end = 0; end < 2 && row->kind != MUON_PARAMETER_BOOL && row->kind != MUON_PARAMETER_ENUM; end++) {
    const double edge = end == 0 ? row->least : row->most, sign = end == 0 ? -1 : 1;

    if (edge <= -MUON_UNBOUNDED || edge >= MUON_UNBOUNDED) continue;
    PetscCall(MuonNumberWrite(row->flags & (end == 0 ? MUON_PARAMETER_ABOVE : MUON_PARAMETER_BELOW) ? edge : edge + (3 + floor(fabs(edge) / 1024)) * sign, sizeof(outside), outside));
    PetscCall(TrySet(object, key, outside, &ierr));
    PetscCheck(ierr != PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s takes %s", key, outside);
  }
  PetscCall(MuonObjectGetParameter(object, key, after, sizeof(after)));
  PetscCheck(strcmp(before, after) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s was %s and is %s after calls that were refused", key, before, after);
  PetscCall(OtherValue(row, now, sizeof(other), other));
  PetscCall(TrySet(object, key, other, &ierr));
  if (test->late && (row->flags & MUON_PARAMETER_FIXED)) {
    PetscCheck(ierr == PETSC_ERR_ORDER, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s takes %s after the set-up, error %d", key, other, (int)ierr);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(ierr == PETSC_SUCCESS || test->late, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s does not take %s, error %d", key, other, (int)ierr);
  if (ierr != PETSC_SUCCESS) PetscFunctionReturn(PETSC_SUCCESS); /* two values that depend on each other */
  PetscCall(MuonObjectGetParameter(object, key, after, sizeof(after)));
  PetscCheck(strcmp(other, after) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s was set to %s and is %s", key, other, after);
  if (strcmp(before, "auto") != 0) PetscCall(TrySet(object, key, before, &ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckObject(PetscObject object, void *ctx)
{
  const MuonParameterClass *what = MuonParametersClassOf_Private(object);
  const char               *family;

  PetscFunctionBegin;
  if (what == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  family = MuonParametersOf(object)->family != NULL ? MuonParametersOf(object)->family : what->family;
  for (int k = 0; k < 2; k++) {
    for (const MuonParameter *row = MuonParametersOf(object)->rows[k]; row != NULL && row->key != NULL; row++) PetscCall(CheckRow(object, family, row, (RowsTest *)ctx));
  }
  if (what->children != NULL) PetscCall((*what->children)(object, CheckObject, ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckText(PetscObject object, const char key[], const char expected[])
{
  char value[64];

  PetscFunctionBegin;
  PetscCall(MuonObjectGetParameter(object, key, value, sizeof(value)));
  PetscCheck(strcmp(value, expected) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s is %s, expected %s", key, value, expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a layer or a shard's compressor was not given is that of the optimizer, whenever this changes */
static PetscErrorCode CheckInherits(void)
{
  const char     options[] = EF21 "-ef21_compressor topk -ef21_compressor_layers all -muon_layer_g_ef21_compressor_values bf16 "
                                  "-muon_layer_e_type adamw";
  const Setter   base      = {"inherits", options, NULL, WITHOUT_EFFECT, 0, NULL, NULL};
  const char     name[]    = "age";
  Run            run;
  MuonCompressor all, up[2];
  Muon           muon;
  char           key[64];

  PetscFunctionBegin;
  PetscCall(RunCreate(&base, NULL, &run));
  muon = run.problem.muon;
  PetscCall(MuonSetParameter(muon, "muon_layer_g_momentum", "0.25"));
  PetscCall(MuonSetLearningRate(muon, (PetscReal)0.75));
  PetscCall(MuonSetMomentum(muon, (PetscReal)0.5, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
  PetscCall(MuonSetParameter(muon, "muon_shape_factor", "kj"));
  PetscCall(MuonSetParameter(muon, "muon_adamw_beta1", "0.125"));
  PetscCall(CheckText((PetscObject)muon, "muon_layer_e_adamw_beta1", "0.125"));
  for (int k = 0; k < 3; k++) {
    PetscCall(PetscSNPrintf(key, sizeof(key), "muon_layer_%c_momentum", name[k]));
    PetscCall(CheckText((PetscObject)muon, key, k == 1 ? "0.25" : "0.5"));
    PetscCall(PetscSNPrintf(key, sizeof(key), "muon_layer_%c_shape_factor", name[k]));
    PetscCall(CheckText((PetscObject)muon, key, "kj"));
    PetscCall(PetscSNPrintf(key, sizeof(key), "muon_layer_%c_learning_rate", name[k]));
    PetscCall(CheckText((PetscObject)muon, key, k == 2 ? "0.001" : "0.75")); /* that of AdamW */
  }
  PetscCall(MuonSetParameter(muon, "muon_adamw_learning_rate", "-1"));
  PetscCall(CheckText((PetscObject)muon, "muon_layer_e_learning_rate", "0.75"));
  PetscCall(MuonEF21GetCompressor(muon, &all));
  for (int k = 0; k < 2; k++) PetscCall(MuonEF21GetLayerCompressors(muon, run.problem.layer[k], &up[k], NULL));
  PetscCall(MuonCompressorSetRatio(all, (PetscReal)0.5));
  PetscCall(MuonObjectSetParameter((PetscObject)all, "compressor_values", "natural"));
  PetscCall(MuonObjectSetParameter((PetscObject)all, "compressor_block_entries", "128"));
  for (int k = 0; k < 2; k++) {
    PetscCall(CheckText((PetscObject)up[k], "compressor_ratio", "0.5"));
    PetscCall(CheckText((PetscObject)up[k], "compressor_values", k == 0 ? "natural" : "bf16"));
    PetscCall(CheckText((PetscObject)up[k], "compressor_block_entries", "128"));
  }
  PetscCall(MuonReset(muon)); /* the compressors of the shards go, and their parent stays */
  PetscCall(MuonCompressorSetRatio(all, (PetscReal)0.25));
  PetscCall(RunDestroy(&run));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckRows(const char options[])
{
  const Setter base = {"rows", options, NULL, WITHOUT_EFFECT, 0, NULL, NULL};
  RowsTest     test = {PETSC_FALSE, 0};
  TestProblem  fresh;
  Run          run;

  PetscFunctionBegin;
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(TestCreate(PETSC_COMM_WORLD, MUONEF21, SETTERS_LAYERS, SetterShapes, -1, &fresh));
  PetscCall(MuonSetFromOptions(fresh.muon));
  PetscCall(CheckObject((PetscObject)fresh.muon, &test));
  PetscCheck(test.count >= 40, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: only %" PetscInt_FMT " parameters", options, test.count);
  PetscCall(TestDestroy(&fresh));
  PetscCall(RunCreate(&base, NULL, &run));
  test.late = PETSC_TRUE;
  PetscCall(CheckObject((PetscObject)run.problem.muon, &test));
  PetscCall(RunDestroy(&run));
  PetscCall(PetscOptionsClear(NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char      only[64] = "";
  PetscBool match;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-only", only, sizeof(only), NULL));
  for (PetscInt k = 0; k < NSETTERS; k++) {
    PetscCall(PetscStrcmp(Setters[k].name, only, &match));
    if (only[0] == '\0' || match == PETSC_TRUE) PetscCall(CheckSetter(&Setters[k]));
  }
  if (only[0] == '\0') {
    PetscCall(CheckInherits());
    PetscCall(CheckRows(DENSE "-lmo_polar_type newtonschulz"));
    PetscCall(CheckRows(UP "qsgd -ef21_server_compressor topk -lmo_polar_type zolotarev"));
    PetscCall(CheckRows(SIGN "-lmo_polar_type gram"));
  }
  for (PetscInt k = 0; k < NILLEGALS; k++) {
    illegal = &Illegals[k];
    PetscCall(PetscStrcmp(illegal->name, only, &match));
    if (only[0] == '\0' || match == PETSC_TRUE) PetscCall(CheckIllegal());
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  link: internal

  test:
    nsize: {{1 2}}

TEST*/
