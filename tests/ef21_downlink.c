static char help[] = "-ef21_downlink step: the steps themselves as messages give the weights of -ef21_server_compressor identity, bit for bit, in fewer bytes and without a matrix of the server's.\n";

#include "ef21_common.h"
#include "wire_header.h"
#include "layer_parameter.h"

#define STEPS 5

/*
   The norms whose steps have a natural format, on square, tall and wide layers with gaps, one row, one
   column, a vector
*/
static const TestShape Steps[][TEST_LAYERS] = {{{"a", MUONLMONUCLEAR, 6, 5, 2, PETSC_FALSE},
                                                {"b", MUONLMOL1, 7, 12, 0, PETSC_FALSE},
                                                {"c", MUONLMOROWSUM, 9, 4, 3, PETSC_FALSE},
                                                {"d", MUONLMOCOLSUM, 4, 9, 1, PETSC_FALSE},
                                                {"e", MUONLMOL21, 8, 6, 0, PETSC_FALSE},
                                                {"f", MUONLMOROWSUM, 11, 1, 0, PETSC_TRUE}},
                                               {{"a", MUONLMONUCLEAR, 1, 7, 0, PETSC_FALSE},
                                                {"b", MUONLMOL1, 1, 1, 1, PETSC_FALSE},
                                                {"c", MUONLMOROWSUM, 5, 16, 0, PETSC_FALSE},
                                                {"d", MUONLMOCOLSUM, 1, 9, 0, PETSC_FALSE},
                                                {"e", MUONLMOL21, 1, 5, 2, PETSC_FALSE},
                                                {"f", MUONLMONUCLEAR, 11, 1, 0, PETSC_TRUE}},
                                               {{"a", MUONLMOL21, 7, 3, 0, PETSC_FALSE},
                                                {"b", MUONLMOL1, 9, 1, 0, PETSC_TRUE},
                                                {"c", MUONLMOCOLSUM, 20, 3, 0, PETSC_FALSE},
                                                {"d", MUONLMOROWSUM, 3, 20, 0, PETSC_FALSE},
                                                {"e", MUONLMONUCLEAR, 4, 12, 1, PETSC_FALSE},
                                                {"f", MUONLMOL21, 1, 1, 0, PETSC_FALSE}}};
#define NSETS ((PetscInt)(sizeof(Steps) / sizeof(Steps[0])))

/*
   How the two problems are alike: the way of the messages, and numbers that meet each case of the arithmetic
*/
typedef struct {
  const char      *exchange, *up;
  MuonExchangeMode mode;
  PetscReal        rate, decay;
  PetscBool        mixed; /* the layer "a" sends a difference, so that nothing is computed directly where every rank serves */
  PetscBool        zeros; /* rows, columns and a layer without gradient, and weights that are -0 */
} Case;

static PetscErrorCode CreateCase(const Case *c, PetscInt set, const char down[], TestProblem *p)
{
  MuonExchange   exchange;
  MuonCompressor compressor;

  PetscFunctionBegin;
  PetscCall(TestCreate(PETSC_COMM_WORLD, MUONEF21, TEST_LAYERS, Steps[set], -1, p));
  p->noise = c->zeros == PETSC_TRUE ? 0 : 2;
  PetscCall(MuonGetExchange(p->muon, &exchange));
  PetscCall(MuonExchangeSetType(exchange, c->exchange));
  PetscCall(MuonExchangeSetMode(exchange, c->mode));
  PetscCall(MuonSetLearningRate(p->muon, c->rate));
  PetscCall(MuonSetWeightDecay(p->muon, c->decay, MUON_WEIGHT_DECAY_CURRENT));
  PetscCall(MuonLayerSetScale(p->layer[2], (PetscReal)1.5));
  PetscCall(LayerSet(p->layer[3], "weight_decay", (PetscReal)0.3));
  PetscCall(MuonEF21GetCompressor(p->muon, &compressor));
  PetscCall(MuonCompressorSetType(compressor, c->up));
  PetscCall(MuonCompressorSetRatio(compressor, (PetscReal)0.4));
  PetscCall(TestSetDown(p->muon, down, &compressor));
  PetscCall(MuonSetParameter(p->muon, "muon_count_entropy", "true"));
  if (c->mixed == PETSC_TRUE) {
    PetscCall(PetscOptionsSetValue(NULL, "-muon_layer_a_ef21_server_compressor", MUONCOMPRESSORTOPK));
    PetscCall(PetscOptionsSetValue(NULL, "-muon_layer_a_ef21_downlink", "weights"));
    PetscCall(MuonSetFromOptions(p->muon));
  }
  for (PetscInt l = 0; l < p->n && c->zeros == PETSC_TRUE; l++) {
    const PetscInt m = p->shape[l].m, n = p->shape[l].n;
    PetscReal     *rows;

    PetscCall(PetscMalloc1(m * n, &rows));
    PetscCall(TestGetWeights(p, l, rows));
    for (PetscInt e = 0; e < m * n; e++) {
      if (e % 3 == 0) rows[e] = (PetscReal)-0.0;
      if (l == 4 || e / n % 3 == 1 || e % n % 4 == 2) p->H[l][e] = 0;
    }
    PetscCall(TestSetWeights(p, l, rows));
    PetscCall(PetscFree(rows));
  }
  PetscCall(MuonSetUp(p->muon));
  if (c->mixed == PETSC_TRUE) {
    PetscCall(PetscOptionsClearValue(NULL, "-muon_layer_a_ef21_server_compressor"));
    PetscCall(PetscOptionsClearValue(NULL, "-muon_layer_a_ef21_downlink"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Bytes of a server's message about a layer where no row and no column is missing, by the tables of
   src/wire/README.md; bits by the paper
*/
static size_t MessageBytes(const TestShape *shape, PetscLogDouble *paper)
{
  const size_t m = (size_t)shape->m, n = (size_t)shape->n, s = sizeof(PetscReal);
  size_t       places = 0, all = 0, w = 0;

  while (((size_t)1 << all) < m * n) all++;
  if (strcmp(shape->norm, MUONLMONUCLEAR) == 0) {
    *paper = 32. * (double)(1 + m + n);
    return TestMessageBytes(1, s * (1 + m + n));
  }
  if (strcmp(shape->norm, MUONLMOL1) == 0) {
    *paper = 32. + (double)all;
    return TestMessageBytes(1, 1 + s);
  }
  if (strcmp(shape->norm, MUONLMOL21) == 0) {
    while (((size_t)1 << w) < n) w++;
    *paper = (double)w + 32. * (double)(1 + m);
    return TestMessageBytes(1, 1 + s * (1 + m));
  }
  places = strcmp(shape->norm, MUONLMOROWSUM) == 0 ? n : m;
  while (((size_t)1 << w) < places) w++;
  *paper = 32. + (double)(m * n / places) * (double)(1 + w);
  return TestMessageBytes(m * n / places, (m * n / places * (1 + w) + 7) / 8 + s);
}

static PetscErrorCode CheckTraffic(TestProblem *q, PetscBool nothing, const char what[])
{
  MuonTraffic    traffic;
  PetscLogDouble bytes = 0, bits = 0, paper;

  PetscFunctionBegin;
  PetscCall(MuonGetTraffic(q->muon, &traffic));
  for (PetscInt l = 0; l < q->n && nothing == PETSC_FALSE; l++) {
    bytes += (PetscLogDouble)MessageBytes(&q->shape[l], &paper);
    bits += paper;
  }
  PetscCheck(traffic.down[0] == bits && traffic.down[1] == 8 * bytes, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %g bits down by the paper and %g sent, expected %g and %g", what, traffic.down[0], traffic.down[1], bits, 8 * bytes);
  PetscCheck(nothing == PETSC_TRUE ? traffic.down[2] == 0 : traffic.down[2] > 0 && traffic.down[2] < traffic.down[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entropy %g of %g bits", what, traffic.down[2], traffic.down[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the problem p, which sends weights, and q, which sends steps, have at the same time */
static PetscErrorCode Compare(TestProblem *p, TestProblem *q, const Case *c, const char what[], PetscInt step)
{
  const PetscInt d = TestTotal(p);
  PetscReal     *a, *b, x, y;

  PetscFunctionBegin;
  PetscCall(TestCheckReplicas(q, what, step));
  PetscCall(PetscMalloc2(d, &a, d, &b));
  PetscCall(TestGetAllWeights(p, a));
  PetscCall(TestGetAllWeights(q, b));
  for (PetscInt e = 0; e < d; e++) PetscCheck(memcmp(&a[e], &b[e], sizeof(*a)) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: after step %" PetscInt_FMT " weight %" PetscInt_FMT " is %.17g, expected %.17g", what, step, e, (double)b[e], (double)a[e]);
  PetscCall(PetscFree2(a, b));
  PetscCall(MuonGetGradientDualNorm(p->muon, &x));
  PetscCall(MuonGetGradientDualNorm(q->muon, &y));
  PetscCheck(x == y, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: dual norm %g, expected %g", what, (double)y, (double)x);
  PetscCall(MuonGetLoss(p->muon, &x));
  PetscCall(MuonGetLoss(q->muon, &y));
  PetscCheck(x == y, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: loss %g, expected %g", what, (double)y, (double)x);
  for (PetscInt l = c->mixed == PETSC_TRUE ? 1 : 0; l < q->n; l++) {
    PetscBool kept;

    PetscCall(MuonGetLayerState(q->muon, q->layer[l], "weights", NULL, &kept));
    PetscCheck(kept == PETSC_FALSE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: layer %s has weights at the server that are not the worker's", what, q->shape[l].name);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckCase(const Case *c, PetscInt set)
{
  const PetscBool everywhere = strcmp(c->exchange, MUONEXCHANGEREPLICATED) == 0 ? PETSC_TRUE : PETSC_FALSE;
  TestProblem     p, q;
  PetscReal      *before, *after, moved = 0;
  PetscLogDouble  memory[2];
  char            what[256];
  PetscInt        d;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "set %" PetscInt_FMT ", %s %s, up %s, rate %g, decay %g%s%s", set, c->exchange, MuonExchangeModes[c->mode], c->up, (double)c->rate, (double)c->decay, c->mixed == PETSC_TRUE ? ", mixed" : "",
                          c->zeros == PETSC_TRUE ? ", zeros" : ""));
  PetscCall(CreateCase(c, set, MUONCOMPRESSORIDENTITY, &p));
  PetscCall(CreateCase(c, set, TEST_STEP, &q));
  d = TestTotal(&p);
  PetscCall(PetscMalloc2(d, &before, d, &after));
  PetscCall(TestGetAllWeights(&q, before));
  for (PetscInt s = 0; s < STEPS; s++) {
    PetscCall(MuonStep(p.muon));
    PetscCall(MuonStep(q.muon));
    PetscCall(Compare(&p, &q, c, what, s));
    if (c->zeros == PETSC_FALSE && c->mixed == PETSC_FALSE) PetscCall(CheckTraffic(&q, everywhere, what));
  }
  PetscCall(TestGetAllWeights(&q, after));
  for (PetscInt e = 0; e < d; e++) moved = PetscMax(moved, PetscAbsReal(after[e] - before[e]));
  PetscCheck(moved >= (PetscReal)0.01, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: no weight moved by more than %g", what, (double)moved);
  PetscCall(MuonGetMemory(p.muon, NULL, &memory[0], NULL));
  PetscCall(MuonGetMemory(q.muon, NULL, &memory[1], NULL));
  /* Uncompressed both ways, the owner keeps the step until the commit, and no message */
  PetscCheck(memory[0] == memory[1] || (strcmp(c->up, MUONCOMPRESSORIDENTITY) == 0 && memory[1] < memory[0]), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the server holds %g bytes, expected the %g of identity", what, memory[1], memory[0]);
  PetscCall(PetscFree2(before, after));
  PetscCall(TestDestroy(&p));
  PetscCall(TestDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The gradient W + i j / 8 + (-1)^i of a row i and a column j */
static PetscErrorCode PlainObjective(Muon muon, PetscReal *loss, void *ctx)
{
  MuonLayer layer;
  PetscReal rows[30];
  Mat       W, G;

  PetscFunctionBegin;
  PetscCall(MuonGetLayerByName(muon, "w", &layer));
  PetscCall(MuonLayerGetWeights(layer, &W));
  PetscCall(MuonLayerGetGradient(layer, &G));
  PetscCall(TestMatGetRows(W, rows));
  for (PetscInt e = 0; e < 30; e++) rows[e] += (PetscReal)(e / 5 * (e % 5)) / 8 + (e / 5 % 2 == 0 ? 1 : -1);
  PetscCall(TestMatSetRows(G, rows));
  *loss = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The program of the README with the keys of steps, before anything else was called: its types are those of
   PetscInitialize() and MuonCreate() alone. And a layer in blocks
*/
static PetscErrorCode CheckPlain(void)
{
  const char *keys = "-step_ef21_downlink step -step_lmo_type nuclear -whole_lmo_type nuclear -step_muon_layer_w_blocks_rows 2,4 -whole_muon_layer_w_blocks_rows 2,4 "
                     "-step_muon_layer_w_blocks_columns 3,2 -whole_muon_layer_w_blocks_columns 3,2";
  PetscReal   rows[2][30], start[30];

  PetscFunctionBegin;
  PetscCall(PetscOptionsInsertString(NULL, keys));
  for (PetscInt e = 0; e < 30; e++) start[e] = TestNumber(e, 0, 0, 0);
  for (int k = 0; k < 2; k++) {
    Muon     muon;
    Mat      W;
    MuonType type;

    PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
    PetscCall(MuonSetOptionsPrefix(muon, k == 0 ? "step_" : "whole_"));
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 6, 5, NULL, &W));
    PetscCall(TestMatSetRows(W, start));
    PetscCall(MuonAddLayer(muon, "w", W, NULL));
    PetscCall(MuonSetObjectiveAndGradient(muon, PlainObjective, NULL));
    PetscCall(MuonSetMaxSteps(muon, 4));
    PetscCall(MuonSetFromOptions(muon));
    PetscCall(MuonGetType(muon, &type));
    PetscCheck(strcmp(type, MUONEF21) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The default is %s", type);
    PetscCall(MuonSolve(muon));
    PetscCall(TestMatGetRows(W, rows[k]));
    PetscCall(MuonDestroy(&muon));
    PetscCall(MatDestroy(&W));
  }
  PetscCheck(memcmp(rows[0], start, sizeof(start)) != 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Blocks: no weight moved");
  PetscCheck(memcmp(rows[0], rows[1], sizeof(start)) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Blocks: weights with steps are not those with identity");
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *exchanges[] = {MUONEXCHANGESTAR, MUONEXCHANGELAYERWISE, MUONEXCHANGEREPLICATED};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(CheckPlain());
  for (PetscInt e = 0; e < 3; e++) {
    const MuonExchangeMode sum = e == 2 ? MUON_EXCHANGE_MODE_ALLREDUCE : MUON_EXCHANGE_MODE_REDUCE;

    for (PetscInt set = 0; set < NSETS; set++) {
      const Case cases[] = {
        {exchanges[e], MUONCOMPRESSORIDENTITY, MUON_EXCHANGE_MODE_GATHER, (PetscReal)0.03, (PetscReal)0.1, PETSC_FALSE, PETSC_FALSE},
        {exchanges[e], MUONCOMPRESSORIDENTITY, sum, (PetscReal)0.03, 0, PETSC_FALSE, PETSC_FALSE},
        {exchanges[e], MUONCOMPRESSORTOPK, MUON_EXCHANGE_MODE_GATHER, 1, (PetscReal)0.1, PETSC_TRUE, PETSC_FALSE},
        {exchanges[e], MUONCOMPRESSORIDENTITY, MUON_EXCHANGE_MODE_GATHER, (PetscReal)0.25, 0, PETSC_FALSE, PETSC_TRUE},
        {exchanges[e], MUONCOMPRESSORTOPK, MUON_EXCHANGE_MODE_GATHER, (PetscReal)0.25, (PetscReal)0.5, PETSC_TRUE, PETSC_TRUE},
      };

      for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        /* Each exchange with each set and each case, but not all of them with all */
        if (k == 0 || ((PetscInt)k + e) % NSETS == set) PetscCall(CheckCase(&cases[k], set));
      }
    }
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3 4}}

TEST*/
