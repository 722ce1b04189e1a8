static char help[] = "The worked example of EF21-Muon: two workers, one 2 x 2 layer, Top-1 in both directions, exact polar factor. Every number is exact in binary but those of the polar factor.\n";

#include <petscmuon.h>
#include "parameter_common.h"
#include "state_common.h"

/*
   Weights, momenta and aggregates of the first three rounds, by rows; a dyadic computation by hand. Of X^1 -
   W^0 and of a residual of the third step two entries are equal: the one in the first column is sent
*/
static const double Xs[4][4]    = {{1, 1.5, 3.5, 4}, {1, 1, 4, 4}, {1, 0.5, 4.5, 4}, {1, 0, 5, 4}};
static const double Ws[3][4]    = {{1, 2, 3.5, 4}, {1, 1, 3.5, 4}, {1, 1, 4.5, 4}};
static const double Ms[2][4][4] = {{{0, 3, -6, -0.5}, {0, 3, -5, -0.5}, {0, 2.5, -4.5, -0.5}, {0, 2.25, -2.25, -0.5}}, {{0, 1, -2, 0.5}, {0, 1, -1.75, 0.5}, {0, -1, -1.625, 0.5}, {0, -2, -1.0625, 0.5}}};
static const double Gs[4][4]    = {{0, 2, -4, 0}, {0, 2, -3.375, 0}, {0, 1, -3.125, 0}, {0, 0.5, -2, 0}};
static const double G3[2][4]    = {{0, 3, -2.25, -0.5}, {0, -2, -1.75, 0.5}};

typedef struct {
  MuonLayer   layer;
  PetscMPIInt rank;
} Problem;

/* f_j(W) = 0.5 sum H_j (W - B_j)^2 */
static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  static const double H[2][4] = {{1, 1, 4, 1}, {1, 4, 1, 1}}, B[2][4] = {{1, -1, 4.5, 4.5}, {1, 1.75, 5, 3.5}};
  Problem            *p = (Problem *)ctx;
  Mat                 W, G;
  PetscScalar        *w, *g;

  PetscFunctionBeginUser;
  PetscCall(MuonLayerGetWeights(p->layer, &W));
  PetscCall(MuonLayerGetGradient(p->layer, &G));
  PetscCall(MatDenseGetArray(W, &w));
  PetscCall(MatDenseGetArray(G, &g));
  *loss = 0;
  for (int e = 0; e < 4; e++) {
    const int         c = (e % 2) * 2 + e / 2; /* entry e by rows lies at c by columns */
    const PetscScalar r = w[c] - B[p->rank][e];

    g[c] = H[p->rank][e] * r;
    *loss += 0.5 * H[p->rank][e] * r * r;
  }
  PetscCall(MatDenseRestoreArray(G, &g));
  PetscCall(MatDenseRestoreArray(W, &w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   tolerance: the polar factor's singular vectors are accurate to a few units in the last place, times three
   steps of radius 0.5
*/
static PetscErrorCode Compare(const char what[], PetscInt step, Mat A, const double expected[4], PetscReal tolerance)
{
  const PetscScalar *a;

  PetscFunctionBeginUser;
  PetscCall(MatDenseGetArrayRead(A, &a));
  for (int e = 0; e < 4; e++) {
    const PetscReal got = PetscRealPart(a[(e % 2) * 2 + e / 2]);

    PetscCheck(PetscAbsReal(got - (PetscReal)expected[e]) <= tolerance, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s after step %" PetscInt_FMT ", entry %d: %.17g, expected %.17g", what, step, e, (double)got, expected[e]);
  }
  PetscCall(MatDenseRestoreArrayRead(A, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscReal   tolerance = 64 * PETSC_MACHINE_EPSILON;
  const PetscInt    ij[]      = {0, 1};
  const PetscScalar start[]   = {1, 2, 3, 4}; /* by rows */
  Problem           p;
  Muon              muon;
  MuonLMO           lmo;
  MuonPolar         polar;
  MuonCompressor    up, down;
  Mat               W, X, M, Gj, G;
  PetscReal         loss;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &p.rank));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 2, 2, NULL, &W));
  PetscCall(MatSetValues(W, 2, ij, 2, ij, start, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(W, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(W, MAT_FINAL_ASSEMBLY));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(MuonAddLayer(muon, "w", W, &p.layer));
  PetscCall(MuonSetObjectiveAndGradient(muon, Objective, &p));
  PetscCall(MuonSetType(muon, MUONEF21));
  PetscCall(MuonSetLearningRate(muon, 0.5));
  PetscCall(MuonSetMomentum(muon, 0.5, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
  PetscCall(TestSetOfMuonType(muon, MUONEF21, "ef21_init", "gradient"));
  PetscCall(MuonGetLayerCompressors(muon, NULL, &up, NULL));
  PetscCall(MuonGetLayerCompressors(muon, NULL, NULL, &down));
  PetscCall(MuonCompressorSetType(up, MUONCOMPRESSORTOPK));
  PetscCall(MuonCompressorSetRatio(up, 0.25));
  PetscCall(MuonCompressorSetType(down, MUONCOMPRESSORTOPK));
  PetscCall(MuonCompressorSetRatio(down, 0.25));
  PetscCall(MuonObjectSetParameter((PetscObject)up, "compressor_values", "native"));
  PetscCall(MuonObjectSetParameter((PetscObject)down, "compressor_values", "native"));
  PetscCall(MuonLayerGetLMO(p.layer, &lmo));
  PetscCall(MuonLMOSetType(lmo, MUONLMOSPECTRAL));
  PetscCall(MuonLMOGetPolar(lmo, &polar));
  PetscCall(MuonPolarSetType(polar, MUONPOLARSVD));
  PetscCall(MuonSetFromOptions(muon));
  for (PetscInt s = 0; s < 4; s++) {
    PetscCall(MuonStep(muon));
    PetscCall(TestGetLayerServerWeights(p.layer, &X));
    PetscCall(TestGetEF21State(muon, p.layer, &M, &Gj, &G));
    PetscCall(Compare("M", s, M, Ms[p.rank][s], tolerance));
    if (X != NULL) PetscCall(Compare("X", s, X, Xs[s], tolerance));
    if (G != NULL) PetscCall(Compare("G", s, G, Gs[s], tolerance));
    if (s < 3) PetscCall(Compare("W", s, W, Ws[s], tolerance));
    if (s == 3) PetscCall(Compare("G_j", s, Gj, G3[p.rank], tolerance));
  }
  /*
     The loss of step 3 is that of W^3 = ((1, 1), (4.5, 4)): the mean of 0.5 (4 + 0.25) and 0.5 (4 0.5625 +
     0.25 + 0.25)
  */
  PetscCall(MuonGetLoss(muon, &loss));
  PetscCheck(PetscAbsReal(loss - (PetscReal)(0.25 * (4 + 0.25) + 0.25 * (2.25 + 0.25 + 0.25))) <= 64 * tolerance, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Loss %.17g", (double)loss);
  PetscCall(MuonDestroy(&muon));
  PetscCall(MatDestroy(&W));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: 2
    args: -muon_exchange_type {{star layerwise replicated}shared output}

TEST*/
