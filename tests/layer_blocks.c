static char help[] = "A layer that is cut into blocks: its norms and meters, what is shown and refused; damaged messages of blocks end a step as corrupt and leave no trace. equivalence compares its steps with those of a layer for each block.\n\n";

#include "problem.h"
#include <petscmuon/private/muonwire.h>
#include "mpicount.h"

enum {
  ENTRIES = 12 * 6 + 8 * 10 + 6 * 6 + 11 + 6 * 4 /* of grid, heads, square, gain and table */
};

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

/*
   What is forged in the first group of the next packet that comes in a direction: its own header, or that of
   its first part; checksums then fit
*/
static struct {
  PetscBool armed;
  uint32_t  direction;
  int       what;
  PetscInt  done;
} forge;
#define FORGERIES 6

static void PutWord(unsigned char to[], uint32_t word)
{
  for (int b = 0; b < 4; b++) to[b] = (unsigned char)(word >> 8 * b & 255);
}

static void Forge(MPICountKind kind, int sender, unsigned char *data, size_t bytes)
{
  size_t length;

  if (forge.armed == PETSC_FALSE || bytes <= MUON_WIRE_PACKET_HEADER || memcmp(data, "PMW1", 4) != 0 || data[6] != forge.direction) return;
  /* Room behind a packet is not of it */
  length = MUON_WIRE_PACKET_HEADER + (size_t)data[24] + 256 * (size_t)data[25];
  for (size_t at = MUON_WIRE_PACKET_HEADER; at < length;) {
    MuonWireMessage header, part;
    size_t          first;

    if (MuonWireMessageRead(data + at, length - at, &header) != MUON_WIRE_OK) return;
    first = MuonWireMessageHeaderBytes(&header);
    if (header.kind == MUON_WIRE_GROUP && MuonWireMessageRead(data + at + first, length - at - first, &part) == MUON_WIRE_OK) {
      switch (forge.what) {
      case 0:
        header.count--;
        break;
      case 1:
        header.layer ^= 1;
        break;
      case 2:
        header.kind = MUON_WIRE_SPARSE;
        break;
      case 3:
        part.layer ^= 1;
        break;
      case 4:
        part.kind = MUON_WIRE_GROUP;
        break;
      default:
        part.count++;
      }
      MuonWireMessageWrite(data + at, &header);
      MuonWireMessageWrite(data + at + first, &part);
      PutWord(data + 32, MuonWireCRC32C(MuonWireCRC32C(0, data, 32), data + MUON_WIRE_PACKET_HEADER, length - MUON_WIRE_PACKET_HEADER));
      forge.done++;
      forge.armed = PETSC_FALSE;
      return;
    }
    at += (size_t)MuonWireMessageBytes(&header);
  }
}

static PetscErrorCode CheckForged(Problem *a, Problem *b)
{
  PetscInt forged = 0, done;

  PetscFunctionBegin;
  mpicount_received = Forge;
  for (PetscInt k = 0; k < 2 * FORGERIES; k++) {
    double              before[ENTRIES], after[ENTRIES], other[ENTRIES];
    MuonConvergedReason reason;

    PetscCall(ProblemGatherWeights(a, PETSC_COMM_SELF, before));
    forge.done      = 0;
    forge.what      = (int)(k / 2);
    forge.direction = (uint32_t)(k % 2);
    forge.armed     = a->rank == 1 ? PETSC_TRUE : PETSC_FALSE;
    PetscCall(MuonStep(a->muon));
    forge.armed = PETSC_FALSE;
    PetscCallMPI(PMPI_Allreduce(&forge.done, &done, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
    PetscCall(MuonGetConvergedReason(a->muon, &reason));
    PetscCheck(reason == (done > 0 ? MUON_DIVERGED_CORRUPT : MUON_CONVERGED_ITERATING), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Forgery %" PetscInt_FMT ", %" PetscInt_FMT " times: %s", k, done, MuonConvergedReasons[reason]);
    if (done > 0) {
      forged++;
      PetscCall(ProblemGatherWeights(a, PETSC_COMM_SELF, after));
      PetscCheck(memcmp(before, after, sizeof(before)) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Forgery %" PetscInt_FMT ": a step that failed left its traces", k);
      PetscCall(MuonStep(a->muon));
      PetscCall(MuonGetConvergedReason(a->muon, &reason));
      PetscCheck(reason == MUON_CONVERGED_ITERATING, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Forgery %" PetscInt_FMT ", the step after: %s", k, MuonConvergedReasons[reason]);
    }
    PetscCall(MuonStep(b->muon));
    PetscCall(ProblemGatherWeights(a, PETSC_COMM_SELF, after));
    PetscCall(ProblemGatherWeights(b, PETSC_COMM_SELF, other));
    PetscCheck(memcmp(after, other, sizeof(after)) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Forgery %" PetscInt_FMT ": weights are others in layers of their own", k);
  }
  PetscCheck(forged >= FORGERIES, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " messages were forged", forged);
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
  PetscBool      forged = PETSC_FALSE, again = PETSC_FALSE, norms = PETSC_FALSE, view = PETSC_FALSE, meter = PETSC_FALSE, differs;
  const PetscInt rows[3] = {4, 5, 3};
  PetscInt       late    = -1;
  Problem        a, b;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-forged", &forged, NULL));
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
    if (norms || meter || forged) {
      PetscCall(PetscOptionsInsertString(NULL, "-problem_apart -problem_storage columns"));
      PetscCall(ProblemCreate(&b, 0, 0));
      if (norms) PetscCall(CheckNorms(&a, &b));
      if (forged) PetscCall(CheckForged(&a, &b));
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

  # For the wire and the checksum
  build:
    link: internal

  testset:
    args: -problem_layers grid,heads,square,gain,table -muon_layer_grid_blocks_rows 4,5,3 -muon_layer_grid_blocks_columns 4,2 -muon_layer_heads_blocks_rows 2,2,2,2 -muon_layer_gain_blocks_rows 4,7 -muon_layer_table_blocks_rows 2,4
    table: suffix | nsize | args
      norms  | {{1 2}} | -norms -lmo_type {{spectral max row column}} -muon_shape_factor {{kj scion}}
      meter  | 2       | -meter -ef21_compressor topk -ef21_server_compressor topk
      forged | {{2 3}} | -forged -ef21_compressor topk -ef21_server_compressor topk -ef21_server_compressor_values natural -muon_exchange_type {{star layerwise}}
    test:
      suffix: view
      nsize: 2
      args: -view -ef21_compressor topk
      filter: grep blocks
    # By options, which come after the calls
    test:
      suffix: options
      args: -view -muon_layer_square_blocks_rows 2,4 -muon_layer_square_blocks_columns 4,2 -muon_layer_heads_type frozen
      filter: grep blocks
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
