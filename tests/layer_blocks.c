static char help[] = "A layer that is cut into blocks: its norms and meters, what is shown and refused. equivalence compares its steps with those of a layer for each block, ef21_forged damages its messages.\n\n";

#include "problem.h"

/* What compression does to a layer is what it does to its blocks, in the layer's norm and its dual */
static PetscErrorCode CheckMeter(Problem *a, Problem *b)
{
  PetscFunctionBegin;
  for (PetscInt l = 0; l < a->n; l++) {
    const char         *name = a->layer[l].shape->name;
    MuonEF21Compression whole;
    PetscReal           lag = 0, gap = 0, squares = 0, up = 0, down = 0;

    if (strcmp(a->layer[l].shape->type, MUONLAYERLMO) != 0) continue; /* has no norm */
    PetscCall(MuonEF21GetLayerCompression(a->muon, a->layer[l].layer, &whole));
    for (PetscInt k = 0; k < b->layer[l].nblocks; k++) {
      MuonEF21Compression one;

      PetscCall(MuonEF21GetLayerCompression(b->muon, b->layer[l].block[k], &one));
      lag += one.lag_mean[0][1];
      gap = PetscMax(gap, one.lag_mean[1][1]);
      squares += one.lag_mean[1][0] * one.lag_mean[1][0];
      up   = PetscMax(up, one.bound[0]);
      down = PetscMax(down, one.bound[1]);
    }
    PetscCheck(lag > 0 && PetscAbsReal(whole.lag_mean[0][1] - lag) <= 64 * PETSC_MACHINE_EPSILON * lag, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: lag %g, %g is the sum of the blocks", name, (double)whole.lag_mean[0][1], (double)lag);
    PetscCheck(gap > 0 && PetscAbsReal(whole.lag_mean[1][1] - gap) <= 64 * PETSC_MACHINE_EPSILON * gap, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: gap %g, %g is the largest of the blocks", name, (double)whole.lag_mean[1][1], (double)gap);
    PetscCheck(PetscAbsReal(whole.lag_mean[1][0] - PetscSqrtReal(squares)) <= 64 * PETSC_MACHINE_EPSILON * whole.lag_mean[1][0], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: gap %g, %g is that of the blocks", name, (double)whole.lag_mean[1][0],
               (double)PetscSqrtReal(squares));
    PetscCheck(whole.bound[0] == up && whole.bound[1] == down, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: bounds %g and %g, %g and %g are the largest of the blocks", name, (double)whole.bound[0], (double)whole.bound[1], (double)up, (double)down);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The norm of a layer is the largest of its blocks, the dual norm their sum, the radius factor the largest */
static PetscErrorCode CheckNorms(Problem *a, Problem *b)
{
  PetscFunctionBegin;
  for (PetscInt l = 0; l < a->n; l++) {
    const char *name = a->layer[l].shape->name;
    PetscInt    m, n;
    PetscReal   norm, dual, factor, most = 0, sum = 0, largest = 0;
    Mat         W = a->layer[l].W, B;
    MuonMatrix  matrix;

    if (W == NULL) continue;
    PetscCall(MuonMatGetMatrix(W, PETSC_FALSE, &matrix));
    PetscCall(MuonLayerComputeNormArray(a->layer[l].layer, &matrix.here, PETSC_FALSE, &norm));
    PetscCall(MuonLayerComputeNormArray(a->layer[l].layer, &matrix.here, PETSC_TRUE, &dual));
    PetscCall(MuonMatRestoreMatrix(W, PETSC_FALSE, &matrix));
    PetscCall(MuonLayerGetRadiusFactor(a->layer[l].layer, &factor));
    for (PetscInt k = 0; k < b->layer[l].nblocks; k++) {
      MuonLMO   lmo;
      PetscReal one;

      PetscCall(MuonLayerGetSize(b->layer[l].block[k], &m, &n));
      PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, m, n, NULL, &B));
      PetscCall(MuonLayerGetFullWeights(b->layer[l].block[k], B));
      PetscCall(MuonLayerGetLMO(b->layer[l].block[k], &lmo));
      PetscCall(MuonLMOComputeNorm(lmo, B, &one));
      most = PetscMax(most, one);
      PetscCall(MuonLMOComputeDualNorm(lmo, B, &one));
      sum += one;
      PetscCall(MuonLayerGetRadiusFactor(b->layer[l].block[k], &one));
      largest = PetscMax(largest, one);
      PetscCall(MatDestroy(&B));
    }
    PetscCheck(PetscAbsReal(norm - most) <= 64 * PETSC_MACHINE_EPSILON * most, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: norm %g, %g is the largest of the blocks", name, (double)norm, (double)most);
    PetscCheck(PetscAbsReal(dual - sum) <= 64 * PETSC_MACHINE_EPSILON * sum, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: dual norm %g, %g is the sum of the blocks", name, (double)dual, (double)sum);
    PetscCheck(factor == largest, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: radius factor %g, %g is the largest of the blocks", name, (double)factor, (double)largest);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the API tells and refuses, besides the errors of the tests below */
static PetscErrorCode CheckUsage(Problem *p)
{
  static const PetscInt twos[4] = {2, 2, 2, 2};
  MuonLayer             heads   = p->layer[1].layer;
  PetscInt              nrows, ncolumns;
  const PetscInt       *rows, *columns;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetBlocks(p->layer[0].layer, &nrows, &rows, &ncolumns, &columns));
  PetscCheck(nrows == 3 && ncolumns == 2 && rows[0] == 4 && rows[1] == 5 && rows[2] == 3 && columns[0] == 4 && columns[1] == 2, PETSC_COMM_SELF, PETSC_ERR_PLIB, "grid has %" PetscInt_FMT " x %" PetscInt_FMT " blocks", nrows, ncolumns);
  /* The same again is no change */
  PetscCall(MuonLayerSetBlocks(p->layer[0].layer, 3, rows, 2, columns));
  PetscCall(MuonLayerSetBlocks(heads, 4, twos, 1, NULL));
  PetscCall(MuonLayerSetBlocks(heads, 4, NULL, 1, NULL));
  /* A reset gives the choice back */
  PetscCall(MuonReset(p->muon));
  PetscCall(MuonLayerSetBlocks(p->layer[0].layer, 2, NULL, 3, NULL));
  PetscCall(MuonLayerSetBlocks(heads, 2, NULL, 1, NULL));
  PetscCall(MuonLayerGetBlocks(heads, &nrows, &rows, NULL, NULL));
  PetscCheck(nrows == 2 && rows == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "heads has %" PetscInt_FMT " blocks", nrows);
  PetscCall(MuonStep(p->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One rank has another grid. What did not come to be can be mended: a grid is not fixed by a failure */
static PetscErrorCode CheckDiffers(PetscBool again)
{
  const PetscInt rows[2] = {1, 3};
  PetscMPIInt    rank;
  MuonLayer      layer;
  Muon           muon;
  Mat            W;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(MuonSetOptionsPrefix(muon, "some_"));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 4, 6, NULL, &W));
  PetscCall(MuonAddLayer(muon, "w", W, &layer));
  PetscCall(MatDestroy(&W));
  PetscCall(MuonSetFromOptions(muon));
  if (again) {
    PetscCall(MuonLayerSetBlocks(layer, rank == 1 ? 1 : 2, NULL, rank == 1 ? 2 : 1, NULL));
    Fails(MuonSetUp(muon), PETSC_ERR_ARG_INCOMP, "cut into blocks differs");
    PetscCall(MuonLayerSetBlocks(layer, 2, NULL, 3, NULL));
    PetscCall(MuonSetUp(muon));
    Fails(MuonLayerSetBlocks(layer, 2, NULL, 1, NULL), PETSC_ERR_ORDER, "Layer \"w\": -some_muon_layer_w_blocks_columns: blocks were changed after MuonSetUp()");
  } else PetscCall(MuonLayerSetBlocks(layer, 2, rank == 1 ? rows : NULL, 2, NULL));
  PetscCall(MuonSetUp(muon));
  PetscCall(MuonDestroy(&muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool      again = PETSC_FALSE, norms = PETSC_FALSE, view = PETSC_FALSE, meter = PETSC_FALSE, differs;
  const PetscInt rows[3] = {4, 5, 3};
  PetscInt       late    = -1;
  Problem        a, b;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-norms", &norms, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-meter", &meter, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-view", &view, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-late", &late, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-differs", &again, &differs));
  if (differs) PetscCall(CheckDiffers(again));
  else {
    PetscCall(ProblemCreate(&a, 0, 0));
    if (view) {
      PetscCall(MuonView(a.muon, NULL));
      if (a.rank == 0) PetscCall(MuonLayerView(a.layer[0].layer, PETSC_VIEWER_STDOUT_SELF));
    }
    if (late >= 0) PetscCall(MuonLayerSetBlocks(a.layer[0].layer, late ? 3 : 1, late ? rows : NULL, 1, NULL));
    if (norms || meter) {
      PetscCall(PetscOptionsInsertString(NULL, "-problem_apart -problem_storage columns"));
      PetscCall(ProblemCreate(&b, 0, 0));
      if (norms) PetscCall(CheckNorms(&a, &b));
      if (meter) {
        PetscCall(MuonEF21SetMonitorCompression(a.muon, PETSC_TRUE));
        PetscCall(MuonEF21SetMonitorCompression(b.muon, PETSC_TRUE));
      }
      for (PetscInt step = 0; step < 8 && meter; step++) {
        PetscCall(MuonStep(a.muon));
        PetscCall(MuonStep(b.muon));
        PetscCall(CheckMeter(&a, &b));
      }
      PetscCall(ProblemDestroy(&b));
    } else PetscCall(CheckUsage(&a));
    PetscCall(ProblemDestroy(&a));
  }
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  build:
    link: internal

  testset:
    args: -problem_layers grid,heads,square,gain,table -muon_layer_grid_blocks_rows 4,5,3 -muon_layer_grid_blocks_columns 4,2 -muon_layer_heads_blocks_rows 2,2,2,2 -muon_layer_gain_blocks_rows 4,7 -muon_layer_table_blocks_rows 2,4
    table: suffix | nsize | args
      norms | {{1 2}} | -norms -lmo_type {{spectral max row column}} -muon_shape_factor {{kj scion}}
      meter | 2       | -meter -ef21_compressor topk -ef21_server_compressor topk
    table: suffix | nsize | args | filter
      view    | 2 | -view -ef21_compressor topk                                                                                  | grep blocks
      # By options, which come after the calls
      options |   | -view -muon_layer_square_blocks_rows 2,4 -muon_layer_square_blocks_columns 4,2 -muon_layer_heads_type frozen | grep blocks
    table: suffix | args | error
      late         | -late 0                                 | Layer "grid": -muon_layer_grid_blocks_rows: blocks were changed after MuonSetUp(), expected a call before it or after MuonReset()
      late_columns | -late 1                                 | Layer "grid": -muon_layer_grid_blocks_columns: blocks were changed after MuonSetUp(), expected a call before it or after MuonReset()
      sum          | -muon_layer_grid_blocks_rows 4,4,3      | Layer "grid": -muon_layer_grid_blocks_rows: 4,4,3 has the sum 11, expected the number of rows, 12
      columns      | -muon_layer_heads_blocks_columns 4,-2,8 | Layer "heads": -muon_layer_heads_blocks_columns: 4,-2,8 has a block of -2 columns, expected at least 1

  table: suffix | nsize | args | error
    differs | 2 | -differs 0 | Layer "w": its cut into blocks differs between the ranks (here 2 x 2 blocks), expected the same on each
    again   | 2 | -differs 1 |
    prefix  |   | -differs 1 -some_muon_layer_w_blocks_rows 3,2 | Layer "w": -some_muon_layer_w_blocks_rows: 3,2 has the sum 5, expected the number of rows, 4

TEST*/
