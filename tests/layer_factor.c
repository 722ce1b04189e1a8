static char help[] = "How the shape of a layer enters its radius, for every norm.\n\n";

#include <petscmuon.h>
#include <petscmuon/private/muonlayerimpl.h>
#include "layer_parameter.h"

/*
   The shape factors of an 8 x 2 layer, in the order of MuonShapeFactor; norms without a line have 1 in all
   columns
*/
typedef struct {
  MuonLMOType norm;
  double      factor[4];
} Row;

static const Row rows[] = {
  {MUONLMOSPECTRAL, {1.0, 2.0, 0.56568542494923802, 2.0}}, /* sqrt(max(1, m/n)), 0.2 sqrt(max(m, n)), sqrt(m/n) */
  {MUONLMOMAX, {1.0, 1.0, 1.0, 0.5}},                      /* 1/n */
  {MUONLMOCOLUMN, {1.0, 1.0, 1.0, 1.4142135623730951}},    /* sqrt(m)/n */
  {MUONLMOROW, {1.0, 1.0, 1.0, 0.70710678118654752}}       /* 1/sqrt(n) */
};

int main(int argc, char **argv)
{
  Mat          W;
  MuonLayer    layer;
  MuonLMO      lmo;
  const char **types;
  int          count, named = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 8, 2, NULL, &W));
  PetscCall(MuonLayerCreate("layer", W, &layer));
  PetscCall(MuonLayerSetScale(layer, 3.0));
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  PetscCall(PetscFunctionListGet(MuonLMOList, &types, &count));
  for (int t = 0; t < count && types[t] != NULL; t++) {
    PetscCall(MuonLMOSetType(lmo, types[t]));
    for (int f = 0; f < 4; f++) {
      double    expected = 3.0;
      PetscReal factor;

      for (size_t r = 0; r < PETSC_STATIC_ARRAY_LENGTH(rows); r++) {
        PetscBool same;

        PetscCall(PetscStrcmp(types[t], rows[r].norm, &same));
        if (same == PETSC_FALSE) continue;
        expected = 3.0 * rows[r].factor[f];
        named += f == 0;
      }
      PetscCall(LayerSetText(layer, "shape_factor", MuonShapeFactors[(MuonShapeFactor)f]));
      PetscCall(MuonLayerGetRadiusFactor(layer, &factor));
      PetscCheck(PetscAbsReal(factor - (PetscReal)expected) <= 4 * PETSC_MACHINE_EPSILON * expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: the factor is %.16g, expected %.16g", types[t], MuonShapeFactors[f], (double)factor, expected);
    }
  }
  PetscCheck(named == (int)PETSC_STATIC_ARRAY_LENGTH(rows), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d norms of the table were met", named);
  PetscCall(PetscFree(types));
  PetscCall(MuonLayerDestroy(&layer));
  PetscCall(MatDestroy(&W));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  test:

TEST*/
