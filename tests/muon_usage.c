static char help[] = "Mistakes of usage are seen at the set-up, on every rank and with the same error, under an error handler that returns: nobody waits for a rank that has left.\n\n";

#include "fails.h"
#include "muon_common.h"

/* What is called */
typedef enum {
  SET_UP,
  STEP_WITHOUT, /* an objective */
  SOLVE_WITHOUT,
  SOLVE_NOTHING, /* an objective that gives no gradient */
  STEP_FORGETS,  /* the gradient of one layer alone; on the first rank not after the first step */
  STEP_OVERFLOWS,
  MONITOR_NULL,
  MAT_NULL,
  VEC_NULL,
  ARRAY_NULL,
  ARRAY_WITHOUT, /* weights */
  ARRAY_TYPE,
  ARRAY_LD,
  ARRAY_SIZE,
  ARRAY_DEVICE,
  LONG_NAME,
  SLICE_GRADIENTS, /* of another size than the vector, of which some ranks have nothing */
  VEC_AS_MAT,
  VEC_AS_ARRAY,
  GRADIENT_OF_MAT_AS_VEC,
  ONE_STEP
} Kind;

typedef struct {
  const char *name, *options, *expected;
  Kind        kind;
} Mistake;

static PetscErrorCode Nothing(Muon muon, PetscReal *loss, void *ctx)
{
  PetscFunctionBegin;
  *loss = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ForgetfulObjective(Muon muon, PetscReal *loss, void *ctx)
{
  Problem *p = (Problem *)ctx;
  PetscInt step;
  Mat      G;

  PetscFunctionBegin;
  PetscCall(MuonGetStepNumber(muon, &step));
  *loss = 0;
  for (PetscInt l = 0; l < NLAYERS; l++) {
    if (l != 3) PetscCall(MuonLayerSetGradient(p->layer[l], NULL));
  }
  if (step > 0 && p->rank == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLayerGetGradient(p->layer[3], &G));
  PetscCall(MatZeroEntries(G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Call(Problem *p, Kind kind)
{
  static double     zeros[12] = {0};
  const char *const more      = "more";
  const PetscInt    m = 29, n = 3;
  char              name[501];
  MuonLayerArray    array;
  Mat               W;
  Vec               x, g;

  PetscFunctionBegin;
  if (kind == STEP_WITHOUT || kind == SOLVE_WITHOUT) PetscCall(MuonSetObjectiveAndGradient(p->muon, NULL, NULL));
  PetscCall(MuonLayerArrayInitialize(&array));
  array.type = kind == ARRAY_TYPE ? PETSC_INT : PETSC_DOUBLE;
  array.M    = kind == ARRAY_SIZE ? -3 : 3;
  array.N    = 4;
  array.ld   = kind == ARRAY_LD ? 2 : PETSC_DECIDE;
  array.w    = kind == ARRAY_WITHOUT ? NULL : zeros;
  if (kind == ARRAY_DEVICE) array.memtype = PETSC_MEMTYPE_DEVICE;
  switch (kind) {
  case SET_UP:
    PetscCall(MuonSetFromOptions(p->muon));
    PetscCall(MuonSetUp(p->muon));
    break;
  case SOLVE_NOTHING:
    PetscCall(MuonSetObjectiveAndGradient(p->muon, Nothing, NULL)); /* fall through */
  case SOLVE_WITHOUT:
    PetscCall(MuonSolve(p->muon));
    break;
  case STEP_FORGETS:
    PetscCall(MuonSetObjectiveAndGradient(p->muon, ForgetfulObjective, p));
    PetscCall(MuonStep(p->muon)); /* fall through */
  case STEP_WITHOUT:
  case ONE_STEP:
    PetscCall(MuonStep(p->muon));
    break;
  case STEP_OVERFLOWS: /* the gradients are finite, and what one layer becomes is not */
    PetscCall(MuonSetParameter(p->muon, "muon_error_if_not_converged", "true"));
    PetscCall(MuonSetLearningRate(p->muon, PETSC_MAX_REAL / 16));
    for (PetscInt l = 0; l < NLAYERS; l++) PetscCall(MuonLayerSetScale(p->layer[l], l == 3 ? 1000 : 0));
    PetscCall(MuonStep(p->muon));
    break;
  case MONITOR_NULL:
    PetscCall(MuonMonitorSet(p->muon, NULL, NULL, NULL));
    break;
  case MAT_NULL:
    PetscCall(MuonAddLayer(p->muon, more, NULL, NULL));
    break;
  case VEC_NULL:
    PetscCall(MuonAddVecLayer(p->muon, more, NULL, NULL));
    break;
  case LONG_NAME:
    memset(name, 'a', 500);
    name[500] = '\0';
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 3, 2, NULL, &W));
    PetscCall(MuonAddLayer(p->muon, name, W, NULL));
    break;
  case SLICE_GRADIENTS:
    PetscCall(VecCreateMPI(PETSC_COMM_WORLD, p->rank == 0 ? 87 : 0, 87, &x));
    PetscCall(VecCreateMPI(PETSC_COMM_WORLD, PETSC_DECIDE, 88, &g));
    PetscCall(MuonAddVecLayers(p->muon, x, g, 1, &more, &m, &n, NULL));
    break;
  case VEC_AS_MAT:
    PetscCall(MuonLayerGetWeights(p->layer[4], &W));
    break;
  case VEC_AS_ARRAY:
    PetscCall(MuonLayerGetWeightsArray(p->layer[4], &array));
    break;
  case GRADIENT_OF_MAT_AS_VEC:
    PetscCall(MuonLayerGetGradientVec(p->layer[1], &g));
    break;
  default:
    PetscCall(MuonAddLayerArray(p->muon, more, kind == ARRAY_NULL ? NULL : &array, NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const Mistake Mistakes[] = {
  {"bf16 of svd", "-lmo_polar_type svd -lmo_polar_precision bf16", "lmo_polar_precision", SET_UP},
  {"bf16 of qdwh", "-lmo_polar_type qdwh -lmo_polar_precision bf16", "lmo_polar_precision", SET_UP},
  {"bf16 of one layer", "-muon_layer_h0.out_lmo_polar_type svd -muon_layer_h0.out_lmo_polar_precision bf16", "muon_layer_h0.out_lmo_polar_precision", SET_UP},
  {"a monitor that draws", "-lmo_polar_monitor draw", "lmo_polar_monitor", SET_UP},
  {"a monitor of no known kind", "-lmo_polar_monitor bogus", "bogus", SET_UP},
  {"type of the polar factor's solver", "-lmo_polar_type svd -lmo_polar_svd_type bogus", "bogus", SET_UP},
  {"type of one layer's solver", "-muon_layer_h0.out_lmo_polar_type svd -muon_layer_h0.out_lmo_polar_svd_type bogus", "bogus", SET_UP},
  {"type of a norm's solver", "-lmo_type schatten -lmo_svd_type bogus", "bogus", SET_UP},
  {"type of one norm's solver", "-muon_layer_embed_lmo_type nuclear -muon_layer_embed_lmo_svd_type bogus", "bogus", SET_UP},
  {"values of a norm's solver", "-lmo_type schatten -lmo_svd_nsv 3", "svd_nsv", SET_UP},
  {"type of a compressor's solver", "-ef21_compressor rankk -ef21_compressor_svd_type bogus", "bogus", SET_UP},
  {"type of a server's solver", "-ef21_server_compressor rankk -ef21_server_compressor_svd_type bogus", "bogus", SET_UP},
  {"type of one server's solver", "-muon_layer_h0.out_ef21_server_compressor topsvd -muon_layer_h0.out_ef21_server_compressor_svd_type bogus", "bogus", SET_UP},
  {"ranges without votes", "-muon_exchange_type range", "muon_exchange_type range", SET_UP},
  {"sums of ranges", "-muon_type sign -lmo_type spectral -muon_exchange_type range -muon_exchange_mode allreduce", "muon_exchange_mode allreduce", SET_UP},
  {"sums of a layer's votes", "-muon_type sign -lmo_type spectral -muon_exchange_type layerwise -muon_exchange_mode reduce", "legal here: gather", SET_UP},
  {"votes' momentum at the server", "-muon_type sign -lmo_type spectral -muon_momentum_at server", "muon_momentum_at server", SET_UP},
  {"votes with a Nesterov term", "-muon_type sign -lmo_type spectral -muon_momentum_at server -muon_nesterov ema", "muon_nesterov ema", SET_UP},
  {"votes of a norm", "-muon_type sign", "muon_layer_embed_lmo_type max", SET_UP},
  {"direction", "-muon_type sign -sign_direction bogus", "bogus", SET_UP},
  {"update", "-muon_type sign -sign_update bogus", "bogus", SET_UP},
  {"tie", "-muon_type sign -sign_tie bogus", "bogus", SET_UP},
  {"epsilon", "-muon_layer_gain_adamw_epsilon inf", "inf", SET_UP},
  {"downlink", "-muon_layer_h0.qkv_ef21_downlink step", "muon_layer_h0.qkv_ef21_downlink weights", SET_UP},
  {"no objective, a step", "", "MuonSetObjectiveAndGradient", STEP_WITHOUT},
  {"no objective, a solver", "", "MuonSetObjectiveAndGradient", SOLVE_WITHOUT},
  {"no gradient", "", "MuonLayerGetGradient", SOLVE_NOTHING},
  {"no gradient of a layer", "", "Step 1: layer \"h0.out\" got no gradient on rank 0", STEP_FORGETS},
  {"a step that overflows", "", "DIVERGED_NANORINF (the step of layer \"h0.out\" on rank ", STEP_OVERFLOWS},
  {"no monitor", "", "MuonMonitorSet", MONITOR_NULL},
  {"no matrix", "", "Layer \"more\"", MAT_NULL},
  {"no vector", "", "Layer \"more\"", VEC_NULL},
  {"no array", "", "Layer \"more\"", ARRAY_NULL},
  {"an array without weights", "", "Layer \"more\"", ARRAY_WITHOUT},
  {"an array of integers", "", "PETSC_FLOAT or PETSC_DOUBLE", ARRAY_TYPE},
  {"an array of short columns", "", "ld 2", ARRAY_LD},
  {"an array of negative size", "", "-3 x 4", ARRAY_SIZE},
  {"an array of a device", "", "in the memory of", ARRAY_DEVICE},
  {"a long name", "", "500 characters", LONG_NAME},
  {"slices with other gradients", "", "1 layers of a vector: gradients of type mpi and size 88, weights of type mpi and size 87", SLICE_GRADIENTS},
  {"a vector as a matrix", "", "MuonLayerGetWeightsVec", VEC_AS_MAT},
  {"a vector as an array", "", "MuonLayerGetWeightsVec", VEC_AS_ARRAY},
  {"a matrix's gradient as a vector", "", "MuonLayerGetGradient()", GRADIENT_OF_MAT_AS_VEC},
};
#define NMISTAKES ((PetscInt)(sizeof(Mistakes) / sizeof(Mistakes[0])))

static PetscErrorCode Try(Problem *p, const char options[], Kind kind, PetscErrorCode *ierr)
{
  PetscOptions database;

  PetscFunctionBegin;
  FailsMessage[0] = '\0';
  PetscCall(PetscOptionsCreate(&database));
  PetscCall(PetscOptionsPush(database));
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(PetscPushErrorHandler(FailsCatch, NULL));
  *ierr = Call(p, kind);
  PetscCall(PetscPopErrorHandler());
  PetscCall(PetscOptionsPop());
  PetscCall(PetscOptionsDestroy(&database));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Check(const Mistake *mistake, MuonType type, MuonExchangeType exchangetype)
{
  Problem        p;
  MuonExchange   exchange;
  PetscErrorCode ierr;
  int            mine[2], most[2];

  PetscFunctionBegin;
  PetscCall(ProblemCreate(PETSC_COMM_WORLD, type, &p));
  PetscCall(MuonGetExchange(p.muon, &exchange));
  PetscCall(MuonExchangeSetType(exchange, exchangetype));
  PetscCall(Try(&p, mistake->options, mistake->kind, &ierr));
  PetscCheck(ierr != PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s, %s: no error", mistake->name, type, exchangetype);
  PetscCheck(strstr(FailsMessage, mistake->expected) != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: \"%s\" does not say \"%s\"", mistake->name, FailsMessage, mistake->expected);
  mine[0] = (int)ierr;
  mine[1] = -(int)ierr;
  PetscCallMPI(MPI_Allreduce(mine, most, 2, MPI_INT, MPI_MAX, PETSC_COMM_WORLD));
  PetscCheck(most[0] == -most[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the ranks have errors from %d to %d", mistake->name, -most[1], most[0]);
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the machine decides: what the set-up takes a step can do */
static PetscErrorCode CheckMachine(void)
{
  Problem        p;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(PETSC_COMM_WORLD, MUONEF21, &p));
  PetscCall(Try(&p, "-lmo_polar_type newtonschulz -lmo_polar_precision bf16", SET_UP, &ierr));
  if (ierr == PETSC_SUCCESS) {
    PetscCall(Try(&p, "", ONE_STEP, &ierr));
    PetscCheck(ierr == PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "bf16 passes the set-up and not the step: %s", FailsMessage);
  } else PetscCheck(strstr(FailsMessage, "lmo_polar_precision") != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "bf16: \"%s\"", FailsMessage);
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const MuonExchangeType types[]  = {MUONEXCHANGESTAR, MUONEXCHANGELAYERWISE, MUONEXCHANGEREPLICATED};
  char                   only[64] = "";

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-only", only, sizeof(only), NULL));
  for (PetscInt k = 0; k < NMISTAKES; k++) {
    if (only[0] != '\0' && strcmp(only, Mistakes[k].name) != 0) continue;
    for (int t = 0; t < 3; t++) {
      const PetscBool ef21 = strstr(Mistakes[k].options, "ef21") != NULL ? PETSC_TRUE : PETSC_FALSE;

      PetscCall(Check(&Mistakes[k], MUONEF21, types[t]));
      if (ef21 == PETSC_FALSE) PetscCall(Check(&Mistakes[k], MUONDENSE, types[t]));
    }
  }
  PetscCall(CheckMachine());
  /*
     PETSc itself keeps what it had begun where a call ends with an error, as in the middle of a list of
     options
  */
  PetscCall(PetscOptionsClearValue(NULL, "-malloc_dump"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3}}

TEST*/
