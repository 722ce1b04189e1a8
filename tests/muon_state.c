static char help[] = "The error of the aggregate is what rounding leaves, and what is missing.\n\n";

#include "problem.h"

/* Adds a number to the third entry of a worker's estimate of a layer */
typedef struct {
  const char *shard;
  PetscReal   add;
  PetscInt    found;
} Shift;

static PetscErrorCode ShiftEstimate(MuonStateVisitor *visitor, const MuonState *state)
{
  Shift *shift = (Shift *)visitor->ctx;

  PetscFunctionBegin;
  if (state->scratch || strcmp(state->name, "estimate") != 0 || strcmp(state->layer, shift->shard) != 0) PetscFunctionReturn(PETSC_SUCCESS);
  ((PetscScalar *)state->data)[2] += (PetscScalar)shift->add;
  shift->found++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Step(const Problem *p, PetscInt steps, PetscReal *error, double *mpi)
{
  MuonTraffic traffic;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < steps; k++) PetscCall(MuonStep(p->muon));
  PetscCall(MuonEF21GetAggregateError(p->muon, error));
  PetscCall(MuonGetTraffic(p->muon, &traffic));
  *mpi = traffic.mpi;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Shifting one entry of the first worker's G_j by J makes the norm 1 */
int main(int argc, char **argv)
{
  Problem          p;
  PetscReal        error;
  double           mpi[2], bytes = sizeof(double); /* the norm, behind whole estimates */
  MuonShard       *shard;
  Shift            shift = {NULL, 0, 0};
  MuonStateVisitor visitor;
  PetscBool        kept;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(ProblemCreate(&p, 0, 0));
  PetscCall(Step(&p, 3, &error, &mpi[0]));
  PetscCheck(error == -1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "An aggregate error of %g before it is measured", (double)error);
  PetscCall(Step(&p, 1, &error, &mpi[1]));
  /* Each of 4 steps rounds each of the sums once, of numbers that are below 8; entries are fewer than 256 */
  PetscCheck(error >= 0 && error <= 4 * 16 * 8 * (2 * p.size + 2) * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "An aggregate error of %g", (double)error);
  for (PetscInt l = 0; l < p.n; l++) {
    MuonLayerType type;

    PetscCall(MuonLayerGetType(p.layer[l].layer, &type));
    if (strcmp(type, MUONLAYERFROZEN) == 0) continue;
    PetscCall(MuonGetLayerState(p.muon, p.layer[l].layer, "estimate", NULL, &kept));
    if (kept) bytes += (double)(sizeof(PetscScalar) * (size_t)(p.layer[l].shape->m * p.layer[l].shape->n));
  }
  /* Messages of Top-K without codes are as long in each step */
  PetscCheck(mpi[1] - mpi[0] == bytes, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%g bytes more in a step that measures, expected %g", mpi[1] - mpi[0], bytes);
  PetscCall(Step(&p, 3, &error, &mpi[0]));
  PetscCall(MuonShardFind(p.muon, p.layer[1].layer, &shard));
  PetscCall(PetscMemzero(&visitor, sizeof(visitor)));
  shift.shard   = shard->name;
  shift.add     = p.rank == 0 ? (PetscReal)p.size : 0;
  visitor.visit = ShiftEstimate;
  visitor.ctx   = &shift;
  PetscCall(MuonVisitState(p.muon, &visitor));
  PetscCall(Step(&p, 1, &error, &mpi[0]));
  PetscCheck(shift.found == 1 && PetscAbsReal(error - 1) <= 10000 * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "An aggregate error of %g, expected 1", (double)error);
  PetscCall(ProblemDestroy(&p));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 3}}
    args: -muon_exchange_type {{star layerwise replicated}} -ef21_aggregate_error_interval 4 -ef21_compressor_layers all -muon_layer_types wide:frozen,gain:adamw
    args: -ef21_compressor topk -ef21_compressor_ratio 0.25 -ef21_compressor_values natural -ef21_server_compressor topk -ef21_server_compressor_ratio 0.25

TEST*/
