static char help[] = "The error of the aggregate is what rounding leaves, and what is missing.\n\n";

#include "muon_common.h"
#include "parameter_common.h"
#include <petscmuon/private/muonimpl.h>

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

/*
   G and the G_j of this rank through their names; shifting one entry of the first worker's G_j by J makes the
   norm 1
*/
static PetscErrorCode CheckAggregateError(const Way *way)
{
  Problem          p;
  PetscReal        error, worst = 0;
  MuonTraffic      plain, measured;
  PetscLogDouble   bytes = 0;
  MuonShard       *shard;
  Shift            shift = {NULL, 0, 0};
  MuonStateVisitor visitor;
  PetscBool        kept;

  PetscFunctionBegin;
  PetscCall(ProblemCreateWay(PETSC_COMM_WORLD, way, &p));
  PetscCall(TestSetOfMuonType(p.muon, MUONEF21, "ef21_aggregate_error_interval", "4"));
  for (int k = 0; k < 3; k++) PetscCall(MuonStep(p.muon));
  PetscCall(MuonEF21GetAggregateError(p.muon, &error));
  PetscCheck(error == -1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: an aggregate error of %g before it is measured", way->name, (double)error);
  PetscCall(MuonGetTraffic(p.muon, &plain));
  PetscCall(MuonStep(p.muon));
  PetscCall(MuonGetTraffic(p.muon, &measured));
  PetscCall(MuonEF21GetAggregateError(p.muon, &error));
  /* Each of 4 steps rounds each of the sums once, of numbers that are below 8; entries are fewer than 256 */
  PetscCheck(error >= 0 && error <= 4 * 16 * 8 * (2 * p.size + 2) * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: an aggregate error of %g", way->name, (double)error);
  /* Estimates go whole, then the norm; messages of Top-K without codes are as long in each step */
  for (PetscInt l = 0; l < NLAYERS; l++) {
    if (strcmp(Shapes[l].type, MUONLAYERFROZEN) == 0) continue;
    PetscCall(MuonGetLayerState(p.muon, p.layer[l], "estimate", NULL, &kept));
    if (kept) bytes += (PetscLogDouble)(sizeof(PetscScalar) * (size_t)(Shapes[l].m * Shapes[l].n));
  }
  PetscCheck(measured.mpi - plain.mpi == bytes + sizeof(double), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %g bytes more in a step that measures, expected %g", way->name, measured.mpi - plain.mpi, bytes + 8);
  for (int k = 0; k < 3; k++) PetscCall(MuonStep(p.muon));
  PetscCall(MuonShardFind(p.muon, p.layer[1], &shard));
  PetscCall(PetscMemzero(&visitor, sizeof(visitor)));
  shift.shard   = shard->name;
  shift.add     = p.rank == 0 ? (PetscReal)p.size : 0;
  visitor.visit = ShiftEstimate;
  visitor.ctx   = &shift;
  PetscCall(MuonVisitState(p.muon, &visitor));
  PetscCall(MuonStep(p.muon));
  PetscCall(MuonEF21GetAggregateError(p.muon, &worst));
  PetscCheck(shift.found == 1 && PetscAbsReal(worst - 1) <= 10000 * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: an aggregate error of %g, expected 1", way->name, (double)worst);
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Way       way;
  PetscBool legal, last;
  PetscInt  number = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  do {
    PetscCall(WayGet(number, &way, &legal, &last));
    if (legal && way.compression == &Compressions[1]) PetscCall(CheckAggregateError(&way));
    number++;
  } while (last == PETSC_FALSE);
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 3}}

TEST*/
