static char help[] = "Layers that a caller freezes. equivalence has layers without a gradient and weights that are changed, muon_lifecycle what a reset forgets.\n\n";

#include "problem.h"

enum {
  STEPS = 6,
  MOST  = 6 * 6 + 9 * 4 + 4 * 9 + 7 + 11 + 10 * 3
};

/* Layers from the n-th on frozen are the same as only having the layers before, in weights and in every count of bits and bytes; where all are, nothing moves and nothing fails */
static PetscErrorCode CheckFrozen(PetscInt n)
{
  double  a[MOST] = {0}, b[MOST] = {0};
  Problem p, q;

  PetscFunctionBegin;
  PetscCall(PetscOptionsInsertString(NULL, "-muon_count_entropy"));
  PetscCall(ProblemCreate(&p, 0, 0));
  PetscCall(PetscOptionsInsertString(NULL, "-problem_layers square,tall,wide"));
  PetscCall(ProblemCreate(&q, 0, 0));
  PetscCall(PetscOptionsClearValue(NULL, "-problem_layers"));
  PetscCall(PetscOptionsClearValue(NULL, "-muon_count_entropy"));
  for (PetscInt l = n; l < p.n; l++) PetscCall(MuonLayerSetType(p.layer[l].layer, MUONLAYERFROZEN));
  for (PetscInt s = 0; s < STEPS; s++) {
    PetscInt    at = 0;
    MuonTraffic x, y;

    PetscCall(MuonStep(p.muon));
    PetscCall(MuonStep(q.muon));
    PetscCall(ProblemGatherWeights(&p, PETSC_COMM_WORLD, a));
    PetscCall(ProblemGatherWeights(&q, PETSC_COMM_WORLD, b));
    PetscCall(MuonGetTraffic(p.muon, &x));
    PetscCall(MuonGetTraffic(q.muon, &y));
    if (n == 0) {
      PetscCall(PetscMemzero(&y, sizeof(y)));
      y.mpi = x.mpi; /* of the agreement */
    }
    for (PetscInt l = 0; l < p.n; l++) {
      const PetscInt d = p.layer[l].shape->m * p.layer[l].shape->n;

      for (PetscInt e = 0; e < d; e++) PetscCheck(a[at + e] == (l < n ? b[at + e] : ProblemNumber(l, e, 0, 1)), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %s of which those from %" PetscInt_FMT " on are frozen", p.layer[l].shape->name, n);
      at += d;
    }
    PetscCheck(x.mpi == y.mpi && x.dense == y.dense, PETSC_COMM_SELF, PETSC_ERR_PLIB, "With frozen layers %g bytes of %g, without them %g of %g", x.mpi, x.dense / 8, y.mpi, y.dense / 8);
    /* The paper charges each index what the largest matrix needs, which is the same here */
    for (int k = 0; k < (n > 0 ? 3 : 2); k++) {
      PetscCheck(x.up[k] == y.up[k] && x.down[k] == y.down[k] && x.total_up[k] == y.total_up[k] && x.total_down[k] == y.total_down[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Figure %d is %g and %g bits with frozen layers, %g and %g without them", k,
                 x.up[k], x.down[k], y.up[k], y.down[k]);
    }
    PetscCheck(n == 0 || (x.up[1] > 0 && x.dense > 0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Nothing was sent");
  }
  PetscCall(ProblemDestroy(&p));
  PetscCall(ProblemDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(CheckFrozen(3));
  PetscCall(CheckFrozen(0));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{1 2 4}}
    args: -problem_setup 0
    table: suffix | args
      dense   | -muon_type dense -muon_exchange_type {{star layerwise}} -muon_exchange_mode reduce
      gathers | -muon_type dense -muon_exchange_type {{layerwise replicated}} -muon_exchange_mode gather
      all     | -muon_type dense -muon_exchange_type replicated -muon_exchange_mode allreduce
      ef21    | -muon_type ef21 -muon_exchange_type {{star layerwise replicated}} -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_compressor_values natural -ef21_server_compressor topk -ef21_server_compressor_ratio 0.3

TEST*/
