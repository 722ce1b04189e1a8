static char help[] = "Wrong usage of an optimizer: -wrong names what, and -setup says that the set-up sees it. Each is an error on all ranks together.\n\n";

#include "problem.h"
#include <petscmuon/private/muonparameter.h>

#define LAYERS "-problem_layers embed,tall,wide,square,gain,bias -problem_setup 0 -muon_layer_wide_type frozen"

static PetscErrorCode AddMat(Muon muon, const char name[], PetscInt m, PetscInt n, PetscScalar value)
{
  Mat          W;
  PetscScalar *w;

  PetscFunctionBegin;
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, m, n, NULL, &W));
  PetscCall(MatDenseGetArray(W, &w));
  for (PetscInt e = 0; e < m * n; e++) w[e] = value;
  PetscCall(MatDenseRestoreArray(W, &w));
  PetscCall(MuonAddLayer(muon, name, W, NULL));
  PetscCall(MatDestroy(&W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* m x 2 zeros on the ranks of one color; rows here, or PETSC_DECIDE */
static PetscErrorCode CreateSpread(PetscMPIInt color, PetscInt rows, PetscInt m, Mat *W)
{
  MPI_Comm comm;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, color, 0, &comm));
  PetscCall(MatCreateDense(comm, rows, PETSC_DECIDE, m, 2, NULL, W));
  PetscCallMPI(MPI_Comm_free(&comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On workers of so many ranks */
static PetscErrorCode AddSpread(Problem *p, const char name[], PetscMPIInt ranks, PetscInt rows, PetscInt m, MuonLayer *layer)
{
  Mat W;

  PetscFunctionBegin;
  PetscCall(CreateSpread(p->rank / ranks, rows, m, &W));
  PetscCall(MuonAddLayer(p->muon, name, W, layer));
  PetscCall(MatDestroy(&W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two of the 6 entries of a vector of all ranks */
static PetscErrorCode AddRows(Problem *p, PetscInt first)
{
  static PetscReal rows[2];
  MuonLayerArray   array;

  PetscFunctionBegin;
  PetscCall(MuonLayerArrayInitialize(&array));
  array.comm  = PETSC_COMM_WORLD;
  array.type  = PETSC_REAL;
  array.M     = 6;
  array.N     = 1;
  array.first = first;
  array.rows  = 2;
  array.w     = rows;
  PetscCall(MuonAddLayerArray(p->muon, "more", &array, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool Is(const char a[], const char b[])
{
  return strcmp(a, b) == 0 ? PETSC_TRUE : PETSC_FALSE;
}

static PetscErrorCode MonitorNothing(Muon muon, PetscInt step, PetscReal loss, void *ctx)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Nothing(Muon muon, PetscReal *loss, void *ctx)
{
  PetscFunctionBegin;
  *loss = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The gradient of one layer alone; on the first rank not after the first step */
static PetscErrorCode ForgetfulObjective(Muon muon, PetscReal *loss, void *ctx)
{
  Problem *p = (Problem *)ctx;
  PetscInt step;
  Mat      G;

  PetscFunctionBegin;
  PetscCall(MuonGetStepNumber(muon, &step));
  *loss = 0;
  for (PetscInt l = 0; l < p->n; l++) {
    if (l != 3) PetscCall(MuonLayerSetGradient(p->layer[l].layer, NULL));
  }
  if (step > 0 && p->rank == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLayerGetGradient(p->layer[3].layer, &G));
  PetscCall(MatZeroEntries(G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Parameters that the last rank alone, or with another value, sets */
static const struct {
  const char *wrong, *key, *value, *last;
} Differ[] = {{"rank_scale", "muon_layer_tall_scale", NULL, "2"},
              {"rank_layer_momentum", "muon_layer_tall_momentum", NULL, "0.5"},
              {"rank_exponent", "muon_layer_tall_lmo_mixed_exponent_q", "3", "3.25"},
              {"rank_poles", "muon_layer_tall_lmo_polar_zolotarev_poles", "4", "3"},
              {"rank_values", "ef21_server_compressor_values", "single", "bf16"},
              {"rank_paper_index_bits", "ef21_compressor_paper_index_bits", "25", "26"},
              {"rank_block_length", "ef21_compressor_qsgd_block_length", "64", "16"},
              {"rank_block_norm", "ef21_compressor_qsgd_block_norm", "max", "l2"},
              {"rank_line_norm", "ef21_compressor_line_norm", "2", "2.0000001"},
              {"rank_schatten", "ef21_compressor_topsvd_schatten", "2", "1"},
              {"rank_sweeps", "ef21_compressor_powersgd_sweeps", "1", "2"},
              {"rank_oversampling", "ef21_compressor_powersgd_oversampling", "1", "2"},
              {"rank_learning_rate", "muon_learning_rate", NULL, "1"},
              {"rank_init", "ef21_init", "zero", "gradient"},
              {"rank_raises", "muon_error_if_not_converged", "false", "true"},
              {"rank_chunk", "muon_assembly_chunk", NULL, "2"},
              {"rank_nodes", "muon_node_size", "2", "1"}};

/* What is wrong before the first step */
static PetscErrorCode Before(Problem *p, const char wrong[])
{
  const PetscBool last = p->rank == p->size - 1 ? PETSC_TRUE : PETSC_FALSE;
  MuonExchange    exchange;
  MuonLayer       layer;
  MuonLMO         lmo;
  Mat             A, B;
  Vec             v;
  PetscBool       kept;
  PetscInt        contexts[8];

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(Differ); k++) {
    const char *value = last ? Differ[k].last : Differ[k].value;

    if (Is(wrong, Differ[k].wrong) && value != NULL) PetscCall(MuonSetParameter(p->muon, Differ[k].key, value));
  }
  if (strncmp(wrong, "weight_", 7) == 0) PetscCall(MuonSetWorkerWeight(p->muon, Is(wrong, "weight_zero") ? 0 : last ? (PetscReal)(Is(wrong, "weight_negative") ? -2 : 2) : 1));
  if (Is(wrong, "same_name")) PetscCall(AddMat(p->muon, "tall", 3, 2, 0));
  if (Is(wrong, "same_name_but_case")) PetscCall(AddMat(p->muon, "TALL", 3, 2, 0));
  if (Is(wrong, "same_hash")) {
    PetscCall(AddMat(p->muon, "shvnq", 4, 2, 0));
    PetscCall(AddMat(p->muon, "ytzay", 4, 2, 0));
    PetscCall(MuonGetLayerByName(p->muon, "shvnq", &layer));
    PetscCall(MuonLayerSetBlocks(layer, 1, NULL, 2, NULL));
    PetscCall(MuonGetLayerByName(p->muon, "ytzay", &layer));
    PetscCall(MuonLayerSetBlocks(layer, 4, NULL, 1, NULL));
  }
  if (Is(wrong, "name_empty")) PetscCall(AddMat(p->muon, "", 3, 2, 0));
  if (Is(wrong, "name_digit")) PetscCall(AddMat(p->muon, "0.h", 3, 2, 0));
  if (Is(wrong, "name_space")) PetscCall(AddMat(p->muon, "h 0", 3, 2, 0));
  if (Is(wrong, "name_hyphen")) PetscCall(AddMat(p->muon, "h-0", 3, 2, 0));
  if (Is(wrong, "name_digits_between")) PetscCall(AddMat(p->muon, "h_0_q", 3, 2, 0));
  if (Is(wrong, "name_null")) PetscCall(AddMat(p->muon, NULL, 3, 2, 0));
  if (Is(wrong, "rank_shape")) PetscCall(AddMat(p->muon, "more", last ? 4 : 3, 2, 0));
  if (Is(wrong, "rank_shape_turned")) PetscCall(AddMat(p->muon, "more", last ? 2 : 3, last ? 3 : 2, 0));
  if (Is(wrong, "rank_name")) PetscCall(AddMat(p->muon, last ? "more" : "less", 3, 2, 0));
  if (Is(wrong, "rank_weights")) PetscCall(AddMat(p->muon, "more", 3, 2, last ? 1 : 0));
  if (Is(wrong, "rank_number") && last) PetscCall(AddMat(p->muon, "more", 3, 2, 0));
  if (Is(wrong, "rank_order")) {
    PetscCall(AddMat(p->muon, last ? "x" : "y", 3, 2, 0));
    PetscCall(AddMat(p->muon, last ? "y" : "x", 3, 2, 0));
  }
  if (Is(wrong, "rank_layer_type") && last) PetscCall(MuonLayerSetType(p->layer[1].layer, MUONLAYERSGD));
  if (Is(wrong, "rank_frozen") && last) PetscCall(MuonLayerSetType(p->layer[1].layer, MUONLAYERFROZEN));
  if (Is(wrong, "rank_norm") && last) {
    PetscCall(MuonLayerGetLMO(p->layer[1].layer, &lmo));
    PetscCall(MuonLMOSetType(lmo, MUONLMOMAX));
  }
  if (Is(wrong, "rank_polynomial")) {
    const PetscReal c[3] = {1.5, -0.5, last ? (PetscReal)0.25 : 0};
    MuonPolar       polar;

    PetscCall(MuonLayerGetLMO(p->layer[1].layer, &lmo));
    PetscCall(MuonLMOGetPolar(lmo, &polar));
    PetscCall(MuonPolarSetType(polar, MUONPOLARNEWTONSCHULZ));
    PetscCall(MuonPolarSetCoefficientValues(polar, 3, c));
  }
  if (Is(wrong, "rank_compressor") && last) {
    MuonCompressor c;

    PetscCall(MuonGetLayerCompressors(p->muon, NULL, &c, NULL));
    PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORTOPK));
  }
  if (Is(wrong, "rank_measure")) PetscCall(MuonEF21SetMonitorCompression(p->muon, last));
  if (Is(wrong, "rank_interval") || Is(wrong, "rank_last_step")) {
    PetscCall(MuonEF21SetMonitorCompression(p->muon, PETSC_TRUE));
    PetscCall(MuonSetParameter(p->muon, "muon_monitor_interval", last || Is(wrong, "rank_last_step") ? "5" : "1"));
  }
  if (Is(wrong, "rank_type")) PetscCall(MuonSetType(p->muon, last ? MUONDENSE : MUONEF21));
  if (Is(wrong, "rank_exchange")) {
    PetscCall(MuonGetExchange(p->muon, &exchange));
    PetscCall(MuonExchangeSetType(exchange, last ? MUONEXCHANGESTAR : MUONEXCHANGELAYERWISE));
  }
  if (Is(wrong, "sparse")) {
    PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, 3, 2, 2, NULL, &A));
    PetscCall(MuonAddLayer(p->muon, "more", A, NULL));
  }
  /* Ranks 0 and 1, 2 and 3; for the last one 0 and 3 */
  if (Is(wrong, "workers_mixed")) {
    PetscCall(CreateSpread(p->rank / 2, PETSC_DECIDE, 6, &A));
    PetscCall(CreateSpread(p->rank % 3 == 0 ? 0 : 1, PETSC_DECIDE, 6, &B));
    PetscCall(MuonAddLayer(p->muon, "more", last ? B : A, NULL));
    PetscCall(MatDestroy(&B));
  }
  /* Two ranks and one; or, for those two, another matrix on all ranks is the layer */
  if (Is(wrong, "workers_size") || Is(wrong, "workers_overlap")) {
    PetscCall(CreateSpread(last ? 1 : 0, PETSC_DECIDE, 6, &A));
    PetscCall(CreateSpread(0, PETSC_DECIDE, 6, &B));
    PetscCall(MuonAddLayer(p->muon, "more", last && Is(wrong, "workers_overlap") ? B : A, NULL));
    PetscCall(MatDestroy(&B));
  }
  if (Is(wrong, "workers_rows")) PetscCall(AddRows(p, last ? 2 : 0));
  if (Is(wrong, "workers_layout")) PetscCall(AddSpread(p, "more", 2, p->rank % 2 == p->rank / 2 ? 4 : 2, 6, NULL));
  if (Is(wrong, "workers_storage")) {
    PetscCall(VecCreateMPI(PETSC_COMM_WORLD, 2, 6, &v));
    PetscCall(last ? MuonAddVecLayer(p->muon, "more", v, NULL) : AddRows(p, 2 * p->rank));
    PetscCall(VecDestroy(&v));
  }
  /* On the second rank alone: what it has of them is kjna@2 and zagef@3 */
  if (Is(wrong, "same_hash_of_rows")) {
    PetscCall(AddSpread(p, "kjna", 3, 2, 6, NULL));
    PetscCall(AddSpread(p, "zagef", 3, 3, 9, NULL));
  }
  if (Is(wrong, "gram_oracle") || Is(wrong, "gram_blocks") || Is(wrong, "gram_frobenius")) {
    PetscCall(AddSpread(p, "more", 2, PETSC_DECIDE, 6, &layer));
    PetscCall(MuonParametersAssign((PetscObject)layer, "assembly", (double)MUON_ASSEMBLY_GRAM));
    PetscCall(MuonLayerGetLMO(layer, &lmo));
    PetscCall(MuonLMOSetType(lmo, Is(wrong, "gram_oracle") ? MUONLMONUCLEAR : MUONLMOFROBENIUS));
    if (Is(wrong, "gram_blocks")) PetscCall(MuonLayerSetBlocks(layer, 2, NULL, 1, NULL));
  }
  if (Is(wrong, "spread") || Is(wrong, "rank_assembly") || Is(wrong, "rank_whole") || Is(wrong, "rank_chunk")) {
    PetscCall(AddSpread(p, "more", 3, PETSC_DECIDE, 6, &layer));
    if (Is(wrong, "rank_assembly") && last) PetscCall(MuonParametersAssign((PetscObject)layer, "assembly", (double)MUON_ASSEMBLY_ALLGATHER));
    if (Is(wrong, "rank_whole") && last) PetscCall(MuonLayerSetWholeGradient(layer, PETSC_TRUE));
  }
  if (Is(wrong, "rows_parallel")) {
    PetscCall(VecCreateMPI(PETSC_COMM_WORLD, PETSC_DECIDE, 6, &v));
    PetscCall(MuonAddVecLayer(p->muon, "more", v, NULL));
    PetscCall(MuonGetExchange(p->muon, &exchange));
    PetscCall(MuonExchangeSetType(exchange, MUONEXCHANGEROWS));
  }
  if (Is(wrong, "gradient_shape")) {
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 4, 9, NULL, &A));
    PetscCall(MuonLayerSetGradient(p->layer[1].layer, A));
  }
  if (Is(wrong, "gradient_type")) {
    PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, 9, 4, 2, NULL, &A));
    PetscCall(MuonLayerSetGradient(p->layer[1].layer, A));
  }
  if (Is(wrong, "matrix_as_vector")) PetscCall(MuonLayerGetWeightsVec(p->layer[1].layer, &v));
  if (Is(wrong, "vector_as_matrix")) PetscCall(MuonLayerGetWeights(p->layer[4].layer, &A));
  if (Is(wrong, "layer_number")) PetscCall(MuonGetLayer(p->muon, p->n, &layer));
  if (Is(wrong, "monitors")) {
    for (int k = 0; k < 6; k++) PetscCall(MuonMonitorSet(p->muon, MonitorNothing, &contexts[k], NULL));
  }
  if (strncmp(wrong, "array_", 6) == 0) {
    static double  zeros[12] = {0};
    MuonLayerArray array;

    PetscCall(MuonLayerArrayInitialize(&array));
    array.type = Is(wrong, "array_type") ? PETSC_INT : PETSC_DOUBLE;
    array.M    = Is(wrong, "array_size") ? -3 : 3;
    array.N    = 4;
    array.ld   = Is(wrong, "array_ld") ? 2 : PETSC_DECIDE;
    array.w    = Is(wrong, "array_without") ? NULL : zeros;
    if (Is(wrong, "array_device")) array.memtype = PETSC_MEMTYPE_DEVICE;
    PetscCall(MuonAddLayerArray(p->muon, "more", Is(wrong, "array_null") ? NULL : &array, NULL));
  }
  if (Is(wrong, "slice_gradients")) { /* of another size than the vector, of which some ranks have nothing */
    const char *const more = "more";
    const PetscInt    m = 29, n = 3;
    Vec               g;

    PetscCall(VecCreateMPI(PETSC_COMM_WORLD, p->rank == 0 ? 87 : 0, 87, &v));
    PetscCall(VecCreateMPI(PETSC_COMM_WORLD, PETSC_DECIDE, 88, &g));
    PetscCall(MuonAddVecLayers(p->muon, v, g, 1, &more, &m, &n, NULL));
  }
  if (Is(wrong, "overflow")) { /* the gradients are finite, and what one layer becomes is not */
    PetscCall(MuonSetParameter(p->muon, "muon_error_if_not_converged", "true"));
    PetscCall(MuonSetLearningRate(p->muon, PETSC_MAX_REAL / 16));
    for (PetscInt l = 0; l < p->n; l++) PetscCall(MuonLayerSetScale(p->layer[l].layer, l == 3 ? 1000 : 0));
  }
  if (Is(wrong, "name_long")) {
    char name[501];

    memset(name, 'a', 500);
    name[500] = '\0';
    PetscCall(AddMat(p->muon, name, 3, 2, 0));
  }
  if (Is(wrong, "no_objective") || Is(wrong, "no_objective_solve")) PetscCall(MuonSetObjectiveAndGradient(p->muon, NULL, NULL));
  if (Is(wrong, "no_gradient")) PetscCall(MuonSetObjectiveAndGradient(p->muon, Nothing, NULL));
  if (Is(wrong, "forgotten")) PetscCall(MuonSetObjectiveAndGradient(p->muon, ForgetfulObjective, p));
  if (Is(wrong, "no_objective_solve") || Is(wrong, "no_gradient")) PetscCall(MuonSolve(p->muon));
  if (Is(wrong, "no_monitor")) PetscCall(MuonMonitorSet(p->muon, NULL, NULL, NULL));
  if (Is(wrong, "no_matrix")) PetscCall(MuonAddLayer(p->muon, "more", NULL, NULL));
  if (Is(wrong, "no_vector")) PetscCall(MuonAddVecLayer(p->muon, "more", NULL, NULL));
  if (Is(wrong, "vector_as_array")) {
    MuonLayerArray array;

    PetscCall(MuonLayerGetWeightsArray(p->layer[4].layer, &array));
  }
  if (Is(wrong, "gradient_as_vector")) PetscCall(MuonLayerGetGradientVec(p->layer[1].layer, &v));
  if (Is(wrong, "state_before")) PetscCall(MuonGetLayerState(p->muon, p->layer[1].layer, "momentum", NULL, &kept));
  if (Is(wrong, "learning_rate_nan")) {
    volatile PetscReal zero = 0;

    PetscCall(MuonSetLearningRate(p->muon, zero / zero));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is wrong after it */
static PetscErrorCode After(Problem *p, const char wrong[])
{
  const PetscBool     last = p->rank == p->size - 1 ? PETSC_TRUE : PETSC_FALSE;
  ProblemArray *const w    = &p->layer[1].weights;
  PetscBool           kept;

  PetscFunctionBegin;
  if (Is(wrong, "late_layer")) PetscCall(AddMat(p->muon, "more", 3, 2, 0));
  if (Is(wrong, "late_init")) PetscCall(MuonSetParameter(p->muon, "ef21_init", "gradient"));
  if (Is(wrong, "late_momentum_at")) PetscCall(MuonSetParameter(p->muon, "muon_momentum_at", "server"));
  if (Is(wrong, "late_exchange")) {
    MuonExchange exchange;

    PetscCall(MuonGetExchange(p->muon, &exchange));
    PetscCall(MuonExchangeSetType(exchange, MUONEXCHANGESTAR));
    PetscCall(MuonStep(p->muon));
  }
  if (Is(wrong, "late_cautious")) {
    PetscCall(MuonSetWeightDecay(p->muon, PETSC_CURRENT, MUON_WEIGHT_DECAY_CAUTIOUS));
    PetscCall(MuonStep(p->muon));
  }
  if (Is(wrong, "late_norm")) {
    MuonLMO lmo;

    PetscCall(MuonLayerGetLMO(p->layer[1].layer, &lmo));
    PetscCall(MuonLMOSetType(lmo, MUONLMOSPECTRAL));
    PetscCall(MuonStep(p->muon));
  }
  if (Is(wrong, "state_frozen")) PetscCall(MuonGetLayerState(p->muon, p->layer[2].layer, "momentum", NULL, &kept));
  if (last) ProblemPut(w, 0, 0, ProblemGet(w, 0, 0) + 1);
  if (Is(wrong, "weights_changed")) PetscCall(MuonWeightsChanged(p->muon));
  /* Each rank would go on from weights of its own: seen where all compute the new ones */
  if (Is(wrong, "late_rate") && last) PetscCall(MuonSetLearningRate(p->muon, (PetscReal)0.75));
  if (Is(wrong, "rank_last_step") && last) PetscCall(MuonSetMaxSteps(p->muon, 2));
  if (Is(wrong, "forgotten")) PetscCall(MuonStep(p->muon));
  if (Is(wrong, "replicas") || Is(wrong, "late_rate") || Is(wrong, "rank_interval") || Is(wrong, "rank_last_step")) PetscCall(MuonStep(p->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char      wrong[64] = "";
  PetscBool setup, step, refused, polar;
  Muon      muon;
  Problem   p;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-wrong", wrong, sizeof(wrong), NULL));
  if (Is(wrong, "no_layers") || Is(wrong, "no_layers_solve")) {
    PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
    PetscCall(MuonSetFromOptions(muon));
    if (Is(wrong, "no_layers")) PetscCall(MuonStep(muon));
    else PetscCall(MuonSolve(muon));
    PetscCall(MuonDestroy(&muon));
  }
  PetscCall(PetscOptionsHasName(NULL, NULL, "-lmo_polar_type", &polar));
  PetscCall(PetscOptionsInsertString(NULL, polar ? LAYERS : LAYERS " -lmo_polar_type newtonschulz"));
  PetscCall(ProblemCreate(&p, 0, 0));
  PetscCall(Before(&p, wrong));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-setup", &setup));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-or_step", &step));
  if (step) { /* what the set-up takes a step can do */
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    refused = MuonSetUp(p.muon) != PETSC_SUCCESS ? PETSC_TRUE : PETSC_FALSE;
    PetscCall(PetscPopErrorHandler());
    if (refused == PETSC_FALSE) PetscCall(MuonStep(p.muon));
  } else {
    if (setup) PetscCall(MuonSetUp(p.muon));
    PetscCheck(setup == PETSC_FALSE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The set-up sees nothing");
    PetscCall(MuonStep(p.muon));
    PetscCall(After(&p, wrong));
  }
  PetscCall(ProblemDestroy(&p));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: 3
    table: suffix | nsize | requires | args | error
      nosuch                     |   |        | {{-muon_type -muon_exchange_type -lmo_type -lmo_polar_type -lmo_polar_coefficients -ef21_compressor -ef21_server_compressor -muon_layer_tall_ef21_compressor -muon_layer_tall_type -muon_layer_tall_lmo_type}} nosuch | {}
      nosuch_name                |   |        | -{{muon_exchange_mode muon_exchange_assignment muon_schedule muon_nan ef21_downlink}} nosuch | {}
      zero                       |   |        | {{-lmo_polar_steps -muon_layer_bias_adamw_epsilon -muon_monitor_interval}} 0 | {}
      ratio                      |   |        | -ef21_compressor topk -ef21_compressor_ratio {{0 -0.5 1.5 2}} | -ef21_compressor_ratio
      server_ratio               |   |        | -ef21_server_compressor topk -ef21_server_compressor_ratio 2 | -ef21_server_compressor_ratio
      rank                       |   |        | -ef21_compressor rankk -ef21_compressor_rank {{0 -3}}        | -ef21_compressor_rank
      values                     |   |        | -ef21_compressor topk -ef21_compressor_values nosuch         | compressor_values
      below                      |   |        | {{-muon_layer_tall_scale -muon_layer_tall_weight_decay -muon_learning_rate -muon_schedule_warmup -muon_weight_decay -muon_max_steps -muon_checkpoint_seconds}} -1 | {}
      one                        |   |        | {{-muon_layer_tall_momentum -muon_layer_bias_adamw_beta2 -muon_dampening}} 1 | {}
      constant                   |   |        | -muon_schedule_constant {{1 -0.1}}                           | -muon_schedule_constant
      momentum                   |   |        | -muon_momentum {{1 -0.1 2}}                                  | -muon_momentum
      lookahead_local            | 2 |        | -muon_lookahead 0.5 -muon_type local                         | -muon_lookahead 0.5: with -muon_type local weights are a worker's own, expected 0, or -outer_muon_lookahead
      lookahead_gamma            | 1 |        | -muon_lookahead_gamma 2                                      | -muon_lookahead_gamma 2. must be in [0.,1.]
      lookahead_theory           | 1 |        | -muon_lookahead 0.5 -muon_type ef21 -muon_layer_bias_type lmo -muon_theory smooth -muon_theory_l 1 -muon_theory_lt 1 -muon_max_steps 9 -ef21_init gradient | -muon_lookahead 0.5: step sizes follow from a theorem, which knows of no look-ahead, expected 0
      validation                 |   |        | -muon_validation_interval 1                                  | -muon_validation_interval 1: there is no routine of MuonSetValidation()
      csv                        |   |        | -muon_monitor_csv no/such/folder.csv                         | -muon_monitor_csv no/such/folder.csv
      downlink_precision         |   |        | -muon_downlink_precision {{bf16 int8}}                       | -muon_downlink_precision
      restart_state              |   |        | -muon_restart_state some                                     | -muon_restart_state
      nesterov                   |   |        | -muon_nesterov {{ema sgd undamped}}                          | -muon_nesterov
      momentum_at                |   |        | -muon_momentum_at server -muon_clip 0.5                      | -muon_clip 0.5: with -muon_momentum_at server
      dense_nesterov_sgd         |   |        | -muon_type dense -muon_nesterov sgd                          | -muon_momentum_style sgd
      dense_nesterov_ema         |   |        | -muon_type dense -muon_nesterov {{ema undamped}} -muon_momentum_style sgd | -muon_momentum_style ema
      dense_nesterov_worker      |   |        | -muon_type dense -muon_nesterov ema -muon_momentum_at worker | -muon_momentum_at server
      mode_star                  |   |        | -muon_exchange_type star -muon_exchange_mode allreduce       | legal here: reduce, gather
      mode_replicated            |   |        | -muon_exchange_type replicated -muon_exchange_mode reduce    | legal here: allreduce, gather
      # Steps as messages: the first layer whose norm has none, a type that makes none, a norm that comes late
      sharp                      |   |        | -muon_type sign -lmo_type spectral -muon_layer_embed_lmo_type spectral -muon_layer_tall_step sharp | -muon_step sharp of layer "tall": -muon_type sign makes steps of its own, expected lmo
      downlink                   |   |        | -ef21_downlink step -muon_exchange_type {{star layerwise replicated}} | -muon_layer_embed_ef21_downlink weights sends
      downlink_norms             |   |        | -ef21_downlink step -muon_layer_embed_lmo_type l1            | its norm is spectral, whose steps have no natural format, expected nuclear, l1, colsum, rowsum or l21
      downlink_layer             |   |        | -muon_layer_tall_ef21_downlink step                        | -muon_layer_tall_ef21_downlink weights sends
      downlink_type              |   |        | -ef21_downlink step -lmo_type colsum                         | -ef21_downlink step of layer "bias": its type is adamw, expected lmo
      downlink_late              |   |        | -ef21_downlink step -lmo_type rowsum -muon_layer_bias_ef21_downlink weights -wrong late_norm | -muon_layer_tall_ef21_downlink weights sends
      # Workers send no steps, and steps are no type of a compressor
      step_up                    |   |        | {{-ef21_compressor -ef21_server_compressor}} step -lmo_type colsum | compressor: unknown type step
      mode_topk                  |   |        | -muon_exchange_mode reduce -ef21_compressor topk             | -muon_exchange_mode reduce
      mode_layer                 |   |        | -muon_exchange_mode reduce -muon_layer_square_ef21_compressor natural | -muon_exchange_mode reduce
      weight_votes               |   |        | -wrong weight_votes -muon_type sign                          | the workers of -muon_type sign have one vote each, expected equal weights
      weight_negative            |   |        | -wrong weight_negative                                       | of rank 2 must be finite and at least 0
      weight_zero                |   |        | -wrong weight_zero                                           | the sum over the ranks is 0., expected a positive and finite one
      same_name                  |   |        | -wrong same_name                                             | there is a layer
      same_name_but_case         |   |        | -wrong same_name_but_case                                    | names must differ by more than case
      same_hash                  |   |        | -wrong same_hash                                             | "shvnq[1]" and "ytzay[2]": their names have the same hash
      name_empty                 |   |        | -wrong {{name_empty name_digit}}                             | does not start with a letter
      name_space                 |   |        | -wrong {{name_space name_hyphen}}                            | a character that is not a letter
      name_digits_between        |   |        | -wrong name_digits_between                                   | digits between underscores
      name_null                  |   |        | -wrong name_null                                             | A layer needs a name
      rank_shape                 |   |        | -wrong {{rank_shape rank_shape_turned}}                      | Layer "more": its shape differs
      rank_name                  |   |        | -wrong {{rank_name rank_order}}                              | its name differs
      rank_weights               |   |        | -wrong rank_weights                                          | Layer "more": its weights differ
      rank_number                |   |        | -wrong rank_number                                           | between 6 and 7 layers
      rank_scale                 |   |        | -wrong {{rank_scale rank_layer_momentum rank_layer_type rank_frozen rank_norm rank_polynomial}} | The options of the optimizer differ between the ranks: layer tall: -
      rank_exponent              |   |        | -wrong rank_exponent -muon_layer_tall_lmo_type mixed       | layer tall: -muon_layer_tall_lmo_mixed_exponent_q 3 on rank 0 and 3.25
      rank_poles                 |   |        | -wrong rank_poles -muon_layer_tall_lmo_polar_type zolotarev | -muon_layer_tall_lmo_polar_zolotarev_poles 4 on rank 0 and 3 on rank
      rank_compressor            |   |        | -wrong rank_compressor                                       | The options of the optimizer differ between the ranks: -ef21_
      # What tables leave out
      rank_values                |   |        | -wrong rank_values -ef21_server_compressor topk              | The options of the optimizer differ between the ranks: -ef21_
      rank_paper_index_bits      |   |        | -wrong rank_paper_index_bits -ef21_compressor randk          | The options of the optimizer differ between the ranks: -ef21_
      rank_block                 |   |        | -wrong {{rank_block_length rank_block_norm}} -ef21_compressor qsgd | The options of the optimizer differ between the ranks: -ef21_
      rank_line_norm             |   | double | -wrong rank_line_norm -ef21_compressor {{columntopk rowtopk}} | The options of the optimizer differ between the ranks: -ef21_
      rank_schatten              |   |        | -wrong rank_schatten -ef21_compressor topsvd                 | The options of the optimizer differ between the ranks: -ef21_
      rank_powersgd              |   |        | -wrong {{rank_sweeps rank_oversampling}} -ef21_compressor powersgd | The options of the optimizer differ between the ranks: -ef21_
      # Ranks that measure would wait for those that do not; a debugging PETSc refuses the first two in the call
      rank_measure               |   | !debug | -wrong rank_measure -ef21_compressor topk                    | some ranks measure what it does to the layers and others do not
      rank_interval              |   | !debug | -wrong rank_interval -ef21_compressor topk                   | options of the optimizer differ
      rank_last_step             |   |        | -wrong rank_last_step -ef21_compressor topk                  | since the last step: -muon_max_steps
      monitor_viewer             |   |        | -muon_monitor binary:monitor.bin                             | -muon_monitor: a viewer of type binary prints no lines
      monitor_compression_viewer |   |        | -ef21_monitor_compression binary:monitor.bin                 | -ef21_monitor_compression: a viewer of type binary prints no lines
      rank_learning_rate         |   |        | -wrong {{rank_learning_rate rank_exchange rank_raises}}      | options of the optimizer differ
      rank_type                  |   |        | -wrong rank_type                                             | differ
      rank_init                  |   |        | -wrong rank_init                                             | options of the optimizer differ between the ranks: -ef21_init zero on rank 0 and gradient on rank
      sparse                     |   |        | -wrong sparse                                                | weights of type seqaij
      workers                    |   |        | -wrong workers_size                                          | Layer "more": the communicators of its matrices
      # PETSc's own checks in a debug build are collective on the matrix, which two ranks do not give
      workers_overlap            | 3 | !debug | -wrong workers_overlap                                       | Layer "more": the communicators of its matrices
      workers_mixed              | 4 |        | -wrong workers_mixed                                         | Layer "more": the communicators of its matrices
      workers_rows               |   |        | -wrong workers_rows                                          | do not hold its 6 rows one behind the other
      workers_layout             | 4 |        | -wrong workers_layout                                        | Layer "more": its rows on the ranks of a worker differ between the ranks
      workers_storage            |   |        | -wrong workers_storage                                       | Layer "more": its name, or what holds its weights, differs between the ranks
      same_hash_of_rows          |   |        | -wrong same_hash_of_rows                                     | Layers or blocks of layers "kjna@2" and "zagef@3": their names have the same hash
      gram_oracle                | 4 |        | -wrong gram_oracle                                           | -muon_assembly gram of layer "more": its LMO gathers the matrix on one rank
      gram_blocks                | 4 |        | -wrong gram_blocks                                           | -muon_assembly gram of layer "more": it is cut into blocks
      gram_replicated            | 4 |        | -wrong gram_frobenius -muon_exchange_type replicated         | -muon_assembly gram of layer "more": with -muon_exchange_type replicated, and wherever every worker computes the step, sums
      rank_assembly              |   | !debug | -wrong rank_assembly                                         | The options of the optimizer differ between the ranks: layer more: -muon_layer_more_assembly auto on rank 0 and allgather on rank
      rank_whole                 |   |        | -wrong rank_whole                                            | The options of the optimizer differ between the ranks: layer more: gradient rows on rank 0 and whole on rank
      rank_chunk                 |   | !debug | -wrong rank_chunk                                            | The options of the optimizer differ between the ranks: -muon_assembly_chunk auto on rank 0 and 2 on rank
      rank_nodes                 | 4 |        | -wrong rank_nodes                                            | -muon_node_size 2 on rank 0 and 1 on rank
      nodes_divisor              | 4 |        | -muon_node_size 3                                            | -muon_node_size 3: a node has 4 of the optimizer's ranks, expected a divisor of them
      nodes_rows                 | 4 |        | -muon_node_size 2 -muon_exchange_type rows                   | -muon_node_size with -muon_exchange_type rows
      nodes_zero                 | 4 |        | -muon_node_size 0                                            | -muon_node_size 0. must be
      chunk                      |   |        | -wrong spread -muon_assembly_chunk {{0 -2}}                  | -muon_assembly_chunk
      warmup                     |   |        | -wrong spread -muon_assembly_warmup {{0 -2}}                 | -muon_assembly_warmup
      step_spread                |   |        | -wrong spread -lmo_type rowsum -muon_layer_bias_ef21_downlink weights -ef21_downlink step | -ef21_downlink step of layer "more": its rows are spread over 3 ranks
      rows_parallel              |   |        | -wrong rows_parallel                                         | -muon_exchange_type rows cuts layers that are whole on every rank
      gradient_shape             |   |        | -wrong gradient_shape                                        | gradient of shape 4 x 9, expected 9 x 4
      gradient_type              |   |        | -wrong gradient_type                                         | gradient of type seqaij
      matrix_as_vector           |   |        | -wrong matrix_as_vector                                      | is a matrix
      vector_as_matrix           |   |        | -wrong vector_as_matrix                                      | is a vector
      layer_number               |   |        | -wrong layer_number                                          | must be in [0,6)
      monitors                   |   |        | -wrong monitors                                              | at most 5 monitors
      state_before               |   |        | -wrong state_before                                          | MuonSetUp() first
      learning_rate_nan          |   |        | -wrong learning_rate_nan                                     | -muon_learning_rate
      late_layer                 |   |        | -wrong late_layer                                            | layers are added before
      late_init                  |   |        | -wrong late_init                                             | -ef21_init
      csv_full                   |   |        | -muon_monitor_csv /dev/full                                  | -muon_monitor_csv /dev/full: the file cannot be written
      late_exchange              |   |        | -wrong late_exchange                                         | The exchange was changed after MuonSetUp()
      late_cautious              | 2 |        | -wrong late_cautious -muon_type sign -muon_momentum_at worker -lmo_type spectral | -muon_weight_decay_style cautious: layer "embed" is moved by the signs of a vote
      cautious_votes             | 2 |        | -muon_type sign -muon_momentum_at worker -lmo_type spectral -muon_weight_decay_style cautious | -muon_weight_decay_style cautious: layer "embed" is moved by the signs of a vote
      late_momentum_at           |   |        | -wrong late_momentum_at                                      | -muon_momentum_at
      state_frozen               |   |        | -wrong state_frozen                                          | is frozen
      weights_changed            |   |        | -wrong weights_changed                                       | Layer "tall": its weights differ
      no_layers                  |   |        | -wrong {{no_layers no_layers_solve}}                         | MuonAddLayer
      replicas                   |   |        | -wrong replicas -muon_exchange_type replicated -ef21_server_compressor {{identity topk}} | ranks that are to compute the same weights computed different ones
    test:
      suffix: late_rate
      args: -wrong late_rate -lmo_type rowsum -muon_layer_bias_ef21_downlink weights -muon_exchange_type {{star layerwise replicated}} -ef21_downlink {{weights step}}
      error: differs between the ranks since the last step: -muon_learning_rate 0.02 on rank 0 and 0.75 on rank

  # Seen at the set-up, whichever ranks serve
  testset:
    nsize: 3
    args: -setup -muon_exchange_type {{star layerwise replicated}}
    table: suffix | args | error
      set_bf16_svd                      | -lmo_polar_type svd -lmo_polar_precision bf16                | lmo_polar_precision
      set_bf16_qdwh                     | -lmo_polar_type qdwh -lmo_polar_precision bf16               | lmo_polar_precision
      set_bf16_one_layer                | -muon_layer_square_lmo_polar_type svd -muon_layer_square_lmo_polar_precision bf16 | muon_layer_square_lmo_polar_precision
      set_a_monitor_that_draws          | -lmo_polar_monitor draw                                      | lmo_polar_monitor
      set_a_monitor_no_known_kind       | -lmo_polar_monitor bogus                                     | bogus
      set_type_the_polar_factors_solver | -lmo_polar_type svd -lmo_polar_svd_type bogus                | bogus
      set_type_one_layers_solver        | -muon_layer_square_lmo_polar_type svd -muon_layer_square_lmo_polar_svd_type bogus | bogus
      set_type_a_norms_solver           | -lmo_type schatten -lmo_svd_type bogus                       | bogus
      set_type_one_norms_solver         | -muon_layer_embed_lmo_type nuclear -muon_layer_embed_lmo_svd_type bogus | bogus
      set_values_a_norms_solver         | -lmo_type schatten -lmo_svd_nsv 3                            | svd_nsv
      set_type_a_compressors_solver     | -ef21_compressor rankk -ef21_compressor_svd_type bogus       | bogus
      set_type_a_servers_solver         | -ef21_server_compressor rankk -ef21_server_compressor_svd_type bogus | bogus
      set_type_one_servers_solver       | -muon_layer_square_ef21_server_compressor topsvd -muon_layer_square_ef21_server_compressor_svd_type bogus | bogus
      set_ranges_without_votes          | -muon_exchange_type range                                    | muon_exchange_type range
      set_sums_ranges                   | -muon_type sign -lmo_type spectral -muon_exchange_type range -muon_exchange_mode allreduce | muon_exchange_mode allreduce
      set_sums_a_layers_votes           | -muon_type sign -lmo_type spectral -muon_exchange_type layerwise -muon_exchange_mode reduce | legal here: gather
      set_votes_momentum_at_server      | -muon_type sign -lmo_type spectral -muon_momentum_at server  | muon_momentum_at server
      set_votes_with_Nesterov_term      | -muon_type sign -lmo_type spectral -muon_momentum_at server -muon_nesterov ema | muon_nesterov ema
      set_votes_a_norm                  | -muon_type sign                                              | muon_layer_embed_lmo_type max
      set_direction                     | -muon_type sign -sign_direction bogus                        | bogus
      set_update                        | -muon_type sign -sign_update bogus                           | bogus
      set_tie                           | -muon_type sign -sign_tie bogus                              | bogus
      set_epsilon                       | -muon_layer_bias_adamw_epsilon inf                           | inf
      set_downlink                      | -muon_layer_tall_ef21_downlink step                        | muon_layer_tall_ef21_downlink weights
  testset:
    nsize: 3
    table: suffix | args | error
      no_objective       | -wrong {{no_objective no_objective_solve}} -muon_exchange_type {{star layerwise replicated}} -muon_type {{ef21 dense}} | There is no gradient: call MuonSetObjectiveAndGradient()
      no_gradient        | -wrong no_gradient -muon_exchange_type {{star layerwise replicated}} -muon_type {{ef21 dense}} | No layer got a gradient: the routine of MuonSetObjectiveAndGradient() must call MuonLayerGetGradient()
      forgotten          | -wrong forgotten -muon_exchange_type {{star layerwise replicated}} -muon_type {{ef21 dense}} | Step 1: layer "square" got no gradient on rank 0
      overflow           | -wrong overflow -muon_exchange_type {{star layerwise replicated}} -muon_type {{ef21 dense}} | DIVERGED_NANORINF (the step of layer "square" on rank
      no_monitor         | -wrong no_monitor                                            | MuonMonitorSet
      no_matrix          | -wrong {{no_matrix no_vector array_null array_without}}      | Layer "more"
      array_type         | -wrong array_type                                            | PETSC_FLOAT or PETSC_DOUBLE
      array_ld           | -wrong array_ld                                              | ld 2
      array_size         | -wrong array_size                                            | -3 x 4
      array_device       | -wrong array_device                                          | in the memory of
      name_long          | -wrong name_long                                             | 500 characters
      slice_gradients    | -wrong slice_gradients                                       | 1 layers of a vector: gradients of type mpi and size 88, weights of type mpi and size 87
      vector_as_array    | -wrong {{vector_as_array vector_as_matrix}}                  | MuonLayerGetWeightsVec
      gradient_as_vector | -wrong gradient_as_vector                                    | MuonLayerGetGradient()

  # Where the machine decides
  test:
    suffix: bf16
    nsize: {{1 3}}
    args: -or_step -lmo_polar_type newtonschulz -lmo_polar_precision bf16

TEST*/
