static char help[] = "Tensors as layers: which grid of blocks they are, or that they are none; the step of a batch is that of one matrix after the other.\n\n";

#include <petscmuon.h>
#include <petscmuon/private/muonlayerimpl.h>
#include <string.h>
#include "fails.h"

#define Check(condition) PetscCheck(condition, PETSC_COMM_SELF, PETSC_ERR_PLIB, "case %d, %" PetscInt_FMT " x %" PetscInt_FMT ": " #condition, (int)k, cases[k].m, cases[k].n)

/* A tensor in memory by rows or by columns, the layer's matrix, and its blocks, or what the error says */
static const struct {
  PetscBool      rowmajor;
  PetscInt       m, n, ndim, dims[5];
  MuonTensorKind kind;
  PetscInt       nrows, ncolumns;
  const char    *error;
} cases[] = {
  {PETSC_TRUE, 64, 27, 4, {64, 3, 3, 3}, MUON_TENSOR_FLATTEN, 1, 1, NULL},
  {PETSC_TRUE, 27, 64, 4, {3, 3, 3, 64}, MUON_TENSOR_FLATTEN, 1, 1, NULL},
  {PETSC_FALSE, 27, 64, 4, {64, 3, 3, 3}, MUON_TENSOR_FLATTEN, 1, 1, NULL},
  {PETSC_FALSE, 64, 27, 4, {3, 3, 3, 64}, MUON_TENSOR_FLATTEN, 1, 1, NULL},
  {PETSC_TRUE, 5, 7, 2, {5, 7}, MUON_TENSOR_FLATTEN, 1, 1, NULL},
  {PETSC_TRUE, 5, 7, 2, {5, 7}, MUON_TENSOR_BATCH, 1, 1, NULL},
  {PETSC_TRUE, 40, 6, 3, {8, 5, 6}, MUON_TENSOR_BATCH, 8, 1, NULL},
  {PETSC_TRUE, 576, 3, 4, {64, 3, 3, 3}, MUON_TENSOR_BATCH, 192, 1, NULL},
  {PETSC_FALSE, 6, 40, 3, {8, 5, 6}, MUON_TENSOR_BATCH, 1, 8, NULL},
  {PETSC_FALSE, 2, 60, 5, {2, 3, 2, 5, 2}, MUON_TENSOR_BATCH, 1, 12, NULL},
  {PETSC_TRUE, 64, 27, 4, {64, 3, 3, 3}, MUON_TENSOR_BATCH, 0, 0, "are no blocks"},
  {PETSC_TRUE, 192, 9, 4, {64, 3, 3, 3}, MUON_TENSOR_FLATTEN, 0, 0, "are no blocks"},
  {PETSC_FALSE, 40, 6, 3, {8, 5, 6}, MUON_TENSOR_BATCH, 0, 0, "are no blocks"},
  {PETSC_TRUE, 64, 27, 4, {64, 3, 3, 4}, MUON_TENSOR_FLATTEN, 0, 0, "expected 64 x 27"},
  {PETSC_TRUE, 64, 27, 4, {64, -3, -3, 3}, MUON_TENSOR_FLATTEN, 0, 0, "dimension 1"},
  {PETSC_TRUE, 64, 27, 1, {1728}, MUON_TENSOR_FLATTEN, 0, 0, "at least 2"},
  {PETSC_TRUE, 1, 4, 3, {1073741824, 1073741824, 16}, MUON_TENSOR_BATCH, 0, 0, "expected 1 x 4"},
};

/* The error for sizes is told before anything of the layer changes */
static PetscErrorCode CheckCase(size_t k)
{
  const PetscInt *rows, *columns;
  PetscInt        nrows, ncolumns;
  MuonLayerArray  array;
  MuonLayer       layer;
  double         *w;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(cases[k].m * cases[k].n, &w));
  PetscCall(MuonLayerArrayInitialize(&array));
  array.type     = PETSC_DOUBLE;
  array.rowmajor = cases[k].rowmajor;
  array.M        = cases[k].m;
  array.N        = cases[k].n;
  array.w        = w;
  PetscCall(MuonLayerCreateFromArray("conv", &array, &layer));
  FailsMessage[0] = '\0';
  PetscCall(PetscPushErrorHandler(FailsCatch, NULL));
  ierr = MuonLayerSetTensor(layer, cases[k].ndim, cases[k].dims, cases[k].kind);
  PetscCall(PetscPopErrorHandler());
  PetscCall(MuonLayerGetBlocks(layer, &nrows, &rows, &ncolumns, &columns));
  if (cases[k].error == NULL) {
    Check(ierr == PETSC_SUCCESS);
    Check(nrows == cases[k].nrows && ncolumns == cases[k].ncolumns && rows == NULL && columns == NULL);
  } else {
    Check(ierr != PETSC_SUCCESS && strstr(FailsMessage, cases[k].error) != NULL && strstr(FailsMessage, "\"conv\"") != NULL);
    Check(nrows == 1 && ncolumns == 1);
  }
  PetscCall(MuonLayerDestroy(&layer));
  PetscCall(PetscFree(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Experts, out, in: each expert's matrix goes where it goes as a layer of its own */
static PetscErrorCode CheckStep(void)
{
  enum {
    EXPERTS = 3,
    OUT     = 4,
    IN      = 5,
    SIZE    = OUT * IN
  };
  const PetscInt dims[3] = {EXPERTS, OUT, IN};
  double         w[2][EXPERTS * SIZE], g[EXPERTS * SIZE];

  PetscFunctionBegin;
  for (int e = 0; e < EXPERTS * SIZE; e++) {
    w[0][e] = w[1][e] = (e * 37 % 101) / 101.0 - 0.5;
    g[e]              = (e * 53 % 97) / 97.0 - 0.5;
  }
  for (int whole = 0; whole < 2; whole++) {
    Muon muon;

    PetscCall(MuonCreate(PETSC_COMM_SELF, &muon));
    PetscCall(MuonSetType(muon, MUONDENSE));
    PetscCall(MuonSetParameter(muon, "muon_shape_factor", "moonlight"));
    for (int x = 0; x < (whole ? 1 : EXPERTS); x++) {
      const char    *names[EXPERTS] = {"a", "b", "c"};
      MuonLayerArray array;
      MuonLayer      layer;

      PetscCall(MuonLayerArrayInitialize(&array));
      array.type     = PETSC_DOUBLE;
      array.rowmajor = PETSC_TRUE;
      array.M        = whole ? EXPERTS * OUT : OUT;
      array.N        = IN;
      array.w        = w[whole] + x * SIZE;
      array.g        = g + x * SIZE;
      PetscCall(MuonAddLayerArray(muon, names[x], &array, &layer));
      if (whole) PetscCall(MuonLayerSetTensor(layer, 3, dims, MUON_TENSOR_BATCH));
    }
    PetscCall(MuonStep(muon));
    PetscCall(MuonDestroy(&muon));
  }
  PetscCheck(memcmp(w[0], w[1], sizeof(w[0])) == 0 && w[0][0] != -0.5, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The experts of one layer go elsewhere than those of three");
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) PetscCall(CheckCase(k));
  PetscCall(CheckStep());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: 1

TEST*/
