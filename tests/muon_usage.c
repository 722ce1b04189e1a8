static char help[] = "Mistakes of usage are seen at the set-up, on every rank and with the same error, under an error handler that returns: nobody waits for a rank that has left.\n\n";

#include "muon_common.h"

/* The first message of an error, which names what is wrong */
static char message[1024];

static PetscErrorCode Record(MPI_Comm comm, int line, const char function[], const char file[], PetscErrorCode n, PetscErrorType type, const char text[], void *ctx)
{
  if (type == PETSC_ERROR_INITIAL && text != NULL && message[0] == '\0') snprintf(message, sizeof(message), "%s", text);
  return n;
}

typedef struct {
  const char *name, *options, *expected;
  PetscErrorCode (*call)(Problem *);
} Mistake;

static PetscErrorCode Nothing(Muon muon, PetscReal *loss, void *ctx)
{
  PetscFunctionBegin;
  *loss = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetUp(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MuonSetFromOptions(p->muon));
  PetscCall(MuonSetUp(p->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode StepWithout(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MuonSetObjectiveAndGradient(p->muon, NULL, NULL));
  PetscCall(MuonStep(p->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolveWithout(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MuonSetObjectiveAndGradient(p->muon, NULL, NULL));
  PetscCall(MuonSolve(p->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The gradient of one layer, and none of the others; not on the first rank after the first step */
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

static PetscErrorCode StepForgets(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MuonSetObjectiveAndGradient(p->muon, ForgetfulObjective, p));
  PetscCall(MuonStep(p->muon));
  PetscCall(MuonStep(p->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The gradients are finite, and what one layer becomes is not */
static PetscErrorCode StepOverflows(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MuonSetParameter(p->muon, "muon_error_if_not_converged", "true"));
  PetscCall(MuonSetLearningRate(p->muon, PETSC_MAX_REAL / 16));
  for (PetscInt l = 0; l < NLAYERS; l++) PetscCall(MuonLayerSetScale(p->layer[l], l == 3 ? 1000 : 0));
  PetscCall(MuonStep(p->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolveNothing(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MuonSetObjectiveAndGradient(p->muon, Nothing, NULL));
  PetscCall(MuonSolve(p->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MonitorNull(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MuonMonitorSet(p->muon, NULL, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LayerNull(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MuonAddLayer(p->muon, "more", NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecLayerNull(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MuonAddVecLayer(p->muon, "more", NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ArrayNull(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MuonAddLayerArray(p->muon, "more", NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AddArray(Problem *p, PetscInt M, PetscInt N, PetscInt ld, PetscDataType type, const void *w)
{
  MuonLayerArray array;

  PetscFunctionBegin;
  PetscCall(MuonLayerArrayInitialize(&array));
  array.type = type;
  array.M    = M;
  array.N    = N;
  array.ld   = ld;
  array.w    = (void *)w;
  PetscCall(MuonAddLayerArray(p->muon, "more", &array, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const double Zeros[12] = {0};

static PetscErrorCode ArrayWithout(Problem *p)
{
  return AddArray(p, 3, 4, PETSC_DECIDE, PETSC_DOUBLE, NULL);
}

static PetscErrorCode ArrayType(Problem *p)
{
  return AddArray(p, 3, 4, PETSC_DECIDE, PETSC_INT, Zeros);
}

static PetscErrorCode ArrayLd(Problem *p)
{
  return AddArray(p, 3, 4, 2, PETSC_DOUBLE, Zeros);
}

static PetscErrorCode ArraySize(Problem *p)
{
  return AddArray(p, -3, 4, PETSC_DECIDE, PETSC_DOUBLE, Zeros);
}

static PetscErrorCode ArrayDevice(Problem *p)
{
  MuonLayerArray array;

  PetscFunctionBegin;
  PetscCall(MuonLayerArrayInitialize(&array));
  array.type    = PETSC_DOUBLE;
  array.memtype = PETSC_MEMTYPE_DEVICE;
  array.M       = 3;
  array.N       = 4;
  array.w       = (void *)Zeros;
  PetscCall(MuonAddLayerArray(p->muon, "more", &array, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LongName(Problem *p)
{
  char name[501];
  Mat  W;

  PetscFunctionBegin;
  for (int i = 0; i < 500; i++) name[i] = 'a';
  name[500] = '\0';
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 3, 2, NULL, &W));
  PetscCall(PetscObjectCompose((PetscObject)p->muon, "W", (PetscObject)W));
  PetscCall(MatDestroy(&W));
  PetscCall(PetscObjectQuery((PetscObject)p->muon, "W", (PetscObject *)&W));
  PetscCall(MuonAddLayer(p->muon, name, W, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gradients of another size than the vector, on some ranks of which it has nothing */
static PetscErrorCode SliceGradients(Problem *p)
{
  const char *const name = "more";
  const PetscInt    m = 29, n = 3;
  Vec               x, g;

  PetscFunctionBegin;
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, p->rank == 0 ? 87 : 0, 87, &x));
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, PETSC_DECIDE, 88, &g));
  PetscCall(MuonAddVecLayers(p->muon, x, g, 1, &name, &m, &n, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecAsMat(Problem *p)
{
  Mat W;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetWeights(p->layer[4], &W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecAsArray(Problem *p)
{
  MuonLayerArray array;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetWeightsArray(p->layer[4], &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GradientOfMatAsVec(Problem *p)
{
  Vec g;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetGradientVec(p->layer[1], &g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const Mistake Mistakes[] = {
  {"bf16 of svd", "-lmo_polar_type svd -lmo_polar_precision bf16", "lmo_polar_precision", SetUp},
  {"bf16 of qdwh", "-lmo_polar_type qdwh -lmo_polar_precision bf16", "lmo_polar_precision", SetUp},
  {"bf16 of one layer", "-muon_layer_h0.out_lmo_polar_type svd -muon_layer_h0.out_lmo_polar_precision bf16", "muon_layer_h0.out_lmo_polar_precision", SetUp},
  {"a monitor that draws", "-lmo_polar_monitor draw", "lmo_polar_monitor", SetUp},
  {"a monitor of no known kind", "-lmo_polar_monitor bogus", "bogus", SetUp},
  {"type of the polar factor's solver", "-lmo_polar_type svd -lmo_polar_svd_type bogus", "bogus", SetUp},
  {"type of one layer's solver", "-muon_layer_h0.out_lmo_polar_type svd -muon_layer_h0.out_lmo_polar_svd_type bogus", "bogus", SetUp},
  {"type of a norm's solver", "-lmo_type schatten -lmo_svd_type bogus", "bogus", SetUp},
  {"type of one norm's solver", "-muon_layer_embed_lmo_type nuclear -muon_layer_embed_lmo_svd_type bogus", "bogus", SetUp},
  {"values of a norm's solver", "-lmo_type schatten -lmo_svd_nsv 3", "svd_nsv", SetUp},
  {"type of a compressor's solver", "-ef21_compressor rankk -ef21_compressor_svd_type bogus", "bogus", SetUp},
  {"type of a server's solver", "-ef21_server_compressor rankk -ef21_server_compressor_svd_type bogus", "bogus", SetUp},
  {"type of one server's solver", "-muon_layer_h0.out_ef21_server_compressor topsvd -muon_layer_h0.out_ef21_server_compressor_svd_type bogus", "bogus", SetUp},
  {"ranges without votes", "-muon_exchange_type range", "muon_exchange_type range", SetUp},
  {"sums of ranges", "-muon_type sign -lmo_type spectral -muon_exchange_type range -muon_exchange_mode allreduce", "muon_exchange_mode allreduce", SetUp},
  {"sums of a layer's votes", "-muon_type sign -lmo_type spectral -muon_exchange_type layerwise -muon_exchange_mode reduce", "legal here: gather", SetUp},
  {"votes' momentum at the server", "-muon_type sign -lmo_type spectral -muon_momentum_at server", "muon_momentum_at server", SetUp},
  {"votes with a Nesterov term", "-muon_type sign -lmo_type spectral -muon_momentum_at server -muon_nesterov ema", "muon_nesterov ema", SetUp},
  {"votes of a norm", "-muon_type sign", "muon_layer_embed_lmo_type max", SetUp},
  {"direction", "-muon_type sign -sign_direction bogus", "bogus", SetUp},
  {"update", "-muon_type sign -sign_update bogus", "bogus", SetUp},
  {"tie", "-muon_type sign -sign_tie bogus", "bogus", SetUp},
  {"epsilon", "-muon_layer_gain_adamw_epsilon inf", "inf", SetUp},
  {"downlink", "-muon_layer_h0.qkv_ef21_downlink step", "muon_layer_h0.qkv_ef21_downlink weights", SetUp},
  {"no objective, a step", "", "MuonSetObjectiveAndGradient", StepWithout},
  {"no objective, a solver", "", "MuonSetObjectiveAndGradient", SolveWithout},
  {"no gradient", "", "MuonLayerGetGradient", SolveNothing},
  {"no gradient of a layer", "", "Step 1: layer \"h0.out\" got no gradient on rank 0", StepForgets},
  {"a step that overflows", "", "DIVERGED_NANORINF (the step of layer \"h0.out\" on rank ", StepOverflows},
  {"no monitor", "", "MuonMonitorSet", MonitorNull},
  {"no matrix", "", "Layer \"more\"", LayerNull},
  {"no vector", "", "Layer \"more\"", VecLayerNull},
  {"no array", "", "Layer \"more\"", ArrayNull},
  {"an array without weights", "", "Layer \"more\"", ArrayWithout},
  {"an array of integers", "", "PETSC_FLOAT or PETSC_DOUBLE", ArrayType},
  {"an array of short columns", "", "ld 2", ArrayLd},
  {"an array of negative size", "", "-3 x 4", ArraySize},
  {"an array of a device", "", "in the memory of", ArrayDevice},
  {"a long name", "", "500 characters", LongName},
  {"slices with other gradients", "", "Layer \"more\": gradient of shape 88 x 1, expected 87 x 1", SliceGradients},
  {"a vector as a matrix", "", "MuonLayerGetWeightsVec", VecAsMat},
  {"a vector as an array", "", "MuonLayerGetWeightsVec", VecAsArray},
  {"a matrix's gradient as a vector", "", "MuonLayerGetGradient()", GradientOfMatAsVec},
};
#define NMISTAKES ((PetscInt)(sizeof(Mistakes) / sizeof(Mistakes[0])))

static PetscErrorCode Try(Problem *p, const char options[], PetscErrorCode (*call)(Problem *), PetscErrorCode *ierr)
{
  PetscOptions database;

  PetscFunctionBegin;
  message[0] = '\0';
  PetscCall(PetscOptionsCreate(&database));
  PetscCall(PetscOptionsPush(database));
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(PetscPushErrorHandler(Record, NULL));
  *ierr = (*call)(p);
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
  PetscCall(Try(&p, mistake->options, mistake->call, &ierr));
  PetscCheck(ierr != PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s, %s: no error", mistake->name, type, exchangetype);
  PetscCheck(strstr(message, mistake->expected) != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: \"%s\" does not say \"%s\"", mistake->name, message, mistake->expected);
  mine[0] = (int)ierr;
  mine[1] = -(int)ierr;
  PetscCallMPI(MPI_Allreduce(mine, most, 2, MPI_INT, MPI_MAX, PETSC_COMM_WORLD));
  PetscCheck(most[0] == -most[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the ranks have errors from %d to %d", mistake->name, -most[1], most[0]);
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OneStep(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MuonStep(p->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the machine decides: what the set-up takes a step can do */
static PetscErrorCode CheckMachine(void)
{
  Problem        p;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(PETSC_COMM_WORLD, MUONEF21, &p));
  PetscCall(Try(&p, "-lmo_polar_type newtonschulz -lmo_polar_precision bf16", SetUp, &ierr));
  if (ierr == PETSC_SUCCESS) {
    PetscCall(Try(&p, "", OneStep, &ierr));
    PetscCheck(ierr == PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "bf16 passes the set-up and not the step: %s", message);
  } else PetscCheck(strstr(message, "lmo_polar_precision") != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "bf16: \"%s\"", message);
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
