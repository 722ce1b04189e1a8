static char help[] = "All state can be read and set by its names: an optimizer that gets that of another one goes on as that one does, bit for bit. The drift of the aggregate is what rounding leaves, and what is missing.\n\n";

#include "muon_common.h"

/* Step number, weights and all state of p for q */
static PetscErrorCode Copy(Problem *p, Problem *q, const char what[])
{
  PetscInt step;

  PetscFunctionBegin;
  PetscCall(MuonSetUp(q->muon));
  PetscCall(MuonGetStepNumber(p->muon, &step));
  PetscCall(MuonSetStepNumber(q->muon, step));
  for (PetscInt l = 0; l < NLAYERS; l++) {
    PetscScalar *w, *v;

    PetscCall(ProblemGetArray(p, l, PETSC_FALSE, &w));
    PetscCall(ProblemGetArray(q, l, PETSC_FALSE, &v));
    PetscCall(PetscArraycpy(v, w, ProblemGetLDA(p, l) * Shapes[l].n));
    if (strcmp(Shapes[l].rule, MUONLAYERFROZEN) == 0) continue;
    for (PetscInt i = 0; i >= 0; i++) {
      char      name[64];
      PetscInt  rows, columns;
      PetscBool kept;
      Mat       A;

      PetscCall(MuonGetLayerStateName(p->muon, p->layer[l], i, sizeof(name), name, &rows, &columns));
      if (name[0] == '\0') break;
      PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, rows, columns, NULL, &A));
      PetscCall(MuonGetLayerState(p->muon, p->layer[l], name, A, &kept));
      PetscCheck(kept, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s of layer %s is named and not kept", what, name, Shapes[l].name);
      PetscCall(MuonSetLayerState(q->muon, q->layer[l], name, A, &kept));
      PetscCheck(kept, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s of layer %s cannot be set", what, name, Shapes[l].name);
      PetscCall(MatDestroy(&A));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckCopied(const Way *way, PetscBool lowrank)
{
  Problem     p, q;
  const char *what = lowrank ? "powersgd" : way->name;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    Problem       *one = k == 0 ? &p : &q;
    MuonCompressor c[2];

    PetscCall(ProblemCreateWay(PETSC_COMM_WORLD, way, one));
    if (lowrank == PETSC_FALSE) continue;
    PetscCall(MuonEF21GetCompressor(one->muon, &c[0]));
    PetscCall(MuonEF21GetServerCompressor(one->muon, &c[1]));
    for (int j = 0; j < 2; j++) PetscCall(MuonCompressorSetType(c[j], MUONCOMPRESSORPOWERSGD));
  }
  for (int k = 0; k < 3; k++) PetscCall(MuonStep(p.muon));
  PetscCall(Copy(&p, &q, what));
  for (int k = 0; k < 3; k++) {
    State a, b;

    PetscCall(MuonStep(p.muon));
    PetscCall(MuonStep(q.muon));
    PetscCall(StateTake(&p, &a));
    PetscCall(StateTake(&q, &b));
    PetscCheck(StateIsSame(&a, &b), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: an optimizer with the state of another one goes another way in step %d", what, k);
    PetscCall(StateFree(&a));
    PetscCall(StateFree(&b));
  }
  PetscCall(ProblemDestroy(&p));
  PetscCall(ProblemDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   G and the G_j of this rank through their names; shifting one entry of the first worker's G_j by J makes the
   norm 1
*/
static PetscErrorCode CheckDrift(const Way *way)
{
  Problem        p;
  PetscReal      drift, worst = 0;
  MuonTraffic    plain, measured;
  PetscLogDouble bytes = 0;
  PetscScalar   *a;
  Mat            A;
  PetscBool      kept;

  PetscFunctionBegin;
  PetscCall(ProblemCreateWay(PETSC_COMM_WORLD, way, &p));
  PetscCall(MuonEF21SetDriftInterval(p.muon, 4));
  for (int k = 0; k < 3; k++) PetscCall(MuonStep(p.muon));
  PetscCall(MuonEF21GetDrift(p.muon, &drift));
  PetscCheck(drift == -1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a drift of %g before it is measured", way->name, (double)drift);
  PetscCall(MuonGetTraffic(p.muon, &plain));
  PetscCall(MuonStep(p.muon));
  PetscCall(MuonGetTraffic(p.muon, &measured));
  PetscCall(MuonEF21GetDrift(p.muon, &drift));
  /* Each of 4 steps rounds each of the sums once, of numbers that are below 8; entries are fewer than 256 */
  PetscCheck(drift >= 0 && drift <= 4 * 16 * 8 * (2 * p.size + 2) * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a drift of %g", way->name, (double)drift);
  /* Estimates go whole, then the norm; messages of Top-K without codes are as long in each step */
  for (PetscInt l = 0; l < NLAYERS; l++) {
    if (strcmp(Shapes[l].rule, MUONLAYERFROZEN) == 0) continue;
    PetscCall(MuonGetLayerState(p.muon, p.layer[l], "estimate", NULL, &kept));
    if (kept) bytes += (PetscLogDouble)(sizeof(PetscScalar) * (size_t)(Shapes[l].m * Shapes[l].n));
  }
  PetscCheck(measured.mpi - plain.mpi == bytes + sizeof(double), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %g bytes more in a step that measures, expected %g", way->name, measured.mpi - plain.mpi, bytes + 8);
  for (int k = 0; k < 3; k++) PetscCall(MuonStep(p.muon));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, Shapes[1].m, Shapes[1].n, NULL, &A));
  PetscCall(MuonGetLayerState(p.muon, p.layer[1], "estimate", A, &kept));
  PetscCall(MatDenseGetArray(A, &a));
  if (p.rank == 0) a[2] += (PetscScalar)p.size;
  PetscCall(MatDenseRestoreArray(A, &a));
  PetscCall(MuonSetLayerState(p.muon, p.layer[1], "estimate", A, &kept));
  PetscCall(MatDestroy(&A));
  PetscCall(MuonStep(p.muon));
  PetscCall(MuonEF21GetDrift(p.muon, &worst));
  PetscCheck(kept && PetscAbsReal(worst - 1) <= 10000 * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a drift of %g, expected 1", way->name, (double)worst);
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
    if (legal) PetscCall(CheckCopied(&way, PETSC_FALSE));
    if (number < 3) PetscCall(CheckCopied(&way, PETSC_TRUE));
    if (legal && way.compression == &Compressions[1]) PetscCall(CheckDrift(&way));
    number++;
  } while (last == PETSC_FALSE);
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 3}}

TEST*/
