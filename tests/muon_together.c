static char help[] = "Each parameter of the tables, and calls that undo a set-up, on one rank alone in the middle of a run: the next step is the same error on all ranks, or none on any, and never waits. What was put back leaves no trace.\n\n";

#include "problem.h"
#include <petscmuon/private/muonparameter.h>

#define KEYS 1024

typedef struct {
  Problem   p;
  PetscBool byhand; /* gradients are there before the step */
  PetscInt  taken;
} Run;

/* Calls that may fail: the code, and FailsMessage has the words of the first error */
#define Try(code, call) \
  do { \
    FailsMessage[0] = '\0'; \
    PetscCall(PetscPushErrorHandler(FailsCatch, NULL)); \
    (code) = (call); \
    PetscCall(PetscPopErrorHandler()); \
  } while (0)

/* The keys of this program's optimizers: of all tables, behind what they stand behind here */
typedef struct {
  const char *type;
  PetscInt    n;
  char        key[KEYS][96];

  const MuonParameter *row[KEYS];
} Keys;

static PetscErrorCode AddKey(Keys *keys, const char before[], const char family[], const MuonParameter *row)
{
  PetscFunctionBegin;
  PetscCheck(keys->n < KEYS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "More than %d keys", KEYS);
  keys->row[keys->n] = row;
  PetscCall(PetscSNPrintf(keys->key[keys->n++], sizeof(keys->key[0]), "%s%s%s", before, family, row->key));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Collect(const char family[], const char type[], const MuonParameter *row, void *ctx)
{
  Keys           *keys       = (Keys *)ctx;
  const PetscBool compressor = strcmp(family, "compressor_") == 0 ? PETSC_TRUE : PETSC_FALSE, outer = strcmp(keys->type, MUONLOCAL) == 0 ? PETSC_TRUE : PETSC_FALSE;
  char            before[64];

  PetscFunctionBegin;
  if (strcmp(row->help, "The type") == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (row->kind == MUON_PARAMETER_ENUM && (row->flags & MUON_PARAMETER_AUTO) != 0) PetscFunctionReturn(PETSC_SUCCESS); /* no option says auto again */
  if (compressor) {
    for (int down = 0; down < 2; down++) {
      PetscCall(PetscSNPrintf(before, sizeof(before), "%s_%s", outer ? "outer_ef21" : keys->type, down ? "server_" : ""));
      PetscCall(AddKey(keys, before, family, row));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (strstr(family, "NAME_") != NULL) PetscCall(AddKey(keys, "", "muon_layer_a_", row));
  else PetscCall(AddKey(keys, "", family, row));
  if (outer && (strncmp(family, "muon_", 5) == 0 || family[0] == '\0') && strstr(family, "NAME_") == NULL) PetscCall(AddKey(keys, "outer_", family, row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Step(Run *r)
{
  PetscInt step;

  PetscFunctionBegin;
  PetscCall(MuonGetStepNumber(r->p.muon, &step));
  if (r->byhand) PetscCall(ProblemSetGradients(&r->p, step));
  PetscCall(MuonStep(r->p.muon));
  r->taken++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(const char type[], PetscBool byhand, Run *r)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(r, sizeof(*r)));
  PetscCall(PetscOptionsSetValue(NULL, "-muon_type", type));
  PetscCall(ProblemCreate(&r->p, 0, 0));
  if (byhand) PetscCall(MuonSetObjectiveAndGradient(r->p.muon, NULL, NULL));
  r->byhand = byhand;
  PetscCall(Step(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What all ranks say of a step, before which the last one may have failed already */
static PetscErrorCode StepTogether(Run *r, const char what[], PetscErrorCode before, PetscErrorCode *code)
{
  unsigned int hash = 0;
  int          mine[4], all[4];

  PetscFunctionBegin;
  *code = before;
  if (before == PETSC_SUCCESS) Try(*code, Step(r));
  for (const char *c = FailsMessage; *c != '\0' && *c != '('; c++) hash = 31 * hash + (unsigned char)*c; /* in brackets is what is here */
  mine[0] = (int)*code;
  mine[1] = -mine[0];
  mine[2] = (int)(hash & 0xffff);
  mine[3] = -mine[2];
  PetscCallMPI(MPI_Allreduce(mine, all, 4, MPI_INT, MPI_MAX, PETSC_COMM_WORLD));
  PetscCheck(all[0] == -all[1] && all[2] == -all[3], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: rank %d has error %d, others %d to %d: %s", what, r->p.rank, (int)*code, -all[1], all[0], FailsMessage);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On the last rank: another legal value, and the old one; changed is false where there is none */
static PetscErrorCode Change(Run *r, const char key[], const MuonParameter *row, char old[], size_t length, PetscBool *changed)
{
  /* As enumerations of PETSc, with a type and a prefix behind the names */
  const char *const ints[] = {"1", "2", "3", "", "", NULL}, *const reals[] = {"1", "2", "0.5", "3", "0.25", "", "", NULL}, *const bools[] = {"true", "false", "", "", NULL};
  const char *const        texts[]  = {"kj", "quintic", "other", "a:sgd", "1", "", "", NULL};
  const char *const *const values[] = {row->kind == MUON_PARAMETER_REAL ? reals : ints, row->kind == MUON_PARAMETER_BOOL ? bools : texts};
  const char *const       *value    = row->kind == MUON_PARAMETER_ENUM ? row->names : values[row->kind == MUON_PARAMETER_BOOL || row->kind == MUON_PARAMETER_TEXT ? 1 : 0];
  PetscErrorCode           ierr;
  char                     now[PETSC_MAX_PATH_LEN];

  PetscFunctionBegin;
  *changed = PETSC_FALSE;
  Try(ierr, MuonGetParameter(r->p.muon, key, old, length));
  for (; ierr == PETSC_SUCCESS && *changed == PETSC_FALSE && value[2] != NULL; value++) {
    PetscErrorCode refused;

    Try(refused, MuonSetParameter(r->p.muon, key, *value));
    if (refused != PETSC_SUCCESS) continue;
    PetscCall(MuonGetParameter(r->p.muon, key, now, sizeof(now)));
    *changed = strcmp(now, old) != 0 ? PETSC_TRUE : PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  STEP_NUMBER,
  RESET,
  RESET_OUTER,
  TYPE,
  TYPE_LOCAL, /* its outer optimizer has a communicator of its own, which all ranks make */
  SOLVE
} Kind;

static PetscErrorCode Call(Run *r, Kind kind)
{
  MuonType  first = kind == TYPE ? MUONDENSE : MUONLOCAL, second = kind == TYPE ? MUONEF14 : MUONDENSE;
  Muon      muon = r->p.muon;
  PetscBool is;

  PetscFunctionBegin;
  switch (kind) {
  case STEP_NUMBER:
    PetscCall(MuonSetStepNumber(muon, PETSC_MAX_INT));
    break;
  case SOLVE:
    PetscCall(MuonSolve(muon));
    break;
  case RESET_OUTER:
    PetscCall(PetscObjectTypeCompare((PetscObject)muon, MUONLOCAL, &is));
    if (is) PetscCall(MuonLocalGetOuter(muon, &muon)); /* fall through */
  case RESET:
    PetscCall(MuonReset(muon));
    break;
  default: /* the first type, or the second where it is the first already */
    PetscCall(PetscObjectTypeCompare((PetscObject)muon, first, &is));
    PetscCall(MuonSetType(muon, is ? second : first));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckTables(const char type[], PetscBool byhand)
{
  Keys          *keys;
  Run            r, undisturbed;
  ProblemImage   before;
  PetscInt       refused = 0;
  PetscErrorCode code;

  PetscFunctionBegin;
  PetscCall(PetscNew(&keys));
  keys->type = type;
  PetscCall(Create(type, byhand, &r));
  PetscCall(MuonParametersForEach(Collect, keys));
  for (PetscInt k = 0; k < keys->n; k++) {
    const PetscBool last = r.p.rank == r.p.size - 1 ? PETSC_TRUE : PETSC_FALSE;
    const char     *key  = keys->key[k];
    char            old[PETSC_MAX_PATH_LEN];
    PetscBool       changed = PETSC_FALSE;
    PetscErrorCode  ierr    = PETSC_SUCCESS;

    if (last) PetscCall(Change(&r, key, keys->row[k], old, sizeof(old), &changed));
    PetscCallMPI(MPI_Bcast(&changed, 1, MPI_INT, r.p.size - 1, PETSC_COMM_WORLD));
    if (changed == PETSC_FALSE) continue; /* no such object here, or fixed at the set-up */
    PetscCall(ProblemTakeImage(&r.p, &before));
    PetscCall(StepTogether(&r, key, PETSC_SUCCESS, &code));
    if (code != PETSC_SUCCESS) {
      refused++;
      PetscCall(ProblemCheckImage(&r.p, &before, key, "a step that was refused"));
      PetscCheck(strstr(FailsMessage, strstr(key, "layer_a_") != NULL ? strstr(key, "layer_a_") + 8 : key) != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the error does not name it: %s", key, FailsMessage);
    } else PetscCall(PetscFree(before.data));
    if (last) Try(ierr, MuonSetParameter(r.p.muon, key, old));
    if (ierr != PETSC_SUCCESS && strcmp(old, "auto") == 0) Try(ierr, MuonSetParameter(r.p.muon, key, "-1")); /* as options of reals have it */
    PetscCheck(ierr == PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: \"%s\" cannot be put back", key, old);
    if (code == PETSC_SUCCESS) continue;
    PetscCall(StepTogether(&r, key, PETSC_SUCCESS, &code));
    PetscCheck(code == PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s was put back, and the step gives error %d: %s", key, (int)code, FailsMessage);
  }
  PetscCheck(refused >= 30, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " parameters were refused, expected more", type, refused);
  PetscCall(Create(type, byhand, &undisturbed));
  while (undisturbed.taken < r.taken) PetscCall(Step(&undisturbed));
  PetscCall(ProblemCheckSame(&r.p, &undisturbed.p, type, "a run that was disturbed"));
  PetscCall(ProblemDestroy(&undisturbed.p));
  PetscCall(ProblemDestroy(&r.p));
  PetscCall(PetscFree(keys));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Types, which are put back by their names, and calls, after which all ranks begin anew */
static PetscErrorCode CheckCalls(const char type[], PetscBool byhand)
{
  static const struct {
    const char *name;
    Kind        kind;
  } calls[]                           = {{"MuonSetStepNumber()", STEP_NUMBER}, {"MuonReset()", RESET}, {"MuonReset() of the outer optimizer", RESET_OUTER}, {"MuonSetType()", TYPE}, {"MuonSetType() to local", TYPE_LOCAL}, {"MuonSolve()", SOLVE}};
  static const char *const types[][3] = {{"muon_exchange_type", "star", "layerwise"}, {"muon_layer_a_lmo_type", "nuclear", "spectral"}, {"muon_layer_a_lmo_polar_type", "svd", "newtonschulz"}};
  PetscErrorCode           code;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(types) + PETSC_STATIC_ARRAY_LENGTH(calls); k++) {
    const PetscBool key  = k < PETSC_STATIC_ARRAY_LENGTH(types) ? PETSC_TRUE : PETSC_FALSE;
    const char     *name = key ? types[k][0] : calls[k - PETSC_STATIC_ARRAY_LENGTH(types)].name;
    PetscErrorCode  ierr = PETSC_SUCCESS;
    Run             r;

    FailsMessage[0] = '\0';
    PetscCall(Create(type, byhand, &r));
    if (r.p.rank == r.p.size - 1) Try(ierr, key ? MuonSetParameter(r.p.muon, name, types[k][1]) : Call(&r, calls[k - PETSC_STATIC_ARRAY_LENGTH(types)].kind));
    PetscCall(StepTogether(&r, name, ierr, &code));
    PetscCheck(code != PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s on one rank is no error", type, name);
    if (key && r.p.rank == r.p.size - 1) PetscCall(MuonSetParameter(r.p.muon, name, k == 0 && strcmp(type, MUONSIGN) == 0 ? "replicated" : types[k][2]));
    if (key == PETSC_FALSE) {
      if (strncmp(name, "MuonSetType()", 13) == 0) { /* the others follow, and all go back */
        if (r.p.rank < r.p.size - 1 || ierr != PETSC_SUCCESS) PetscCall(Call(&r, TYPE));
        PetscCall(MuonSetType(r.p.muon, type));
      }
      PetscCall(MuonReset(r.p.muon));
      for (PetscInt l = 0; l < r.p.n; l++) PetscCall(ProblemStart(&r.p, l));
    }
    PetscCall(StepTogether(&r, name, PETSC_SUCCESS, &code));
    PetscCheck(code == PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s was put back, and the step gives error %d: %s", type, name, (int)code, FailsMessage);
    PetscCall(ProblemDestroy(&r.p));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char      type[32] = MUONDENSE;
  PetscBool byhand;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-type", type, sizeof(type), NULL));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-by_hand", &byhand));
  PetscCall(CheckTables(type, byhand));
  PetscCall(CheckCalls(type, byhand));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: 2
    # PETSc keeps what it had allocated where an error was raised
    args: -problem_layers a:8x3,g:7x1,e:4x6 -muon_layer_g_lmo_type frobenius -muon_layer_e_lmo_type max -muon_momentum 0.5 -lmo_polar_type newtonschulz -malloc_dump 0
    table: suffix | args
      tables  | -type {{dense ef21 ef14 sign}} -muon_layer_g_type adamw -muon_layer_e_type sgd
      local   | -type local -local_steps 2 -local_stagger -outer_muon_type ef21 -outer_ef21_compressor topk
      by_hand | -by_hand -type {{dense local}} -muon_momentum_at server

TEST*/
