static char help[] = "One rank's gradient is not a number. All ranks must learn of it in the same step, without one that waits for a rank that has left, and the weights must stay as they were.\n\n";

#include "step.h"

enum {
  STEPS  = 4,
  BROKEN = 2 /* the step in which the last rank computes a NaN */
};

/*
   By hand: the sum has one entry more, in which each rank says whether it is in trouble. A rank in trouble
   joins the call all the same: to return early is to leave the others waiting in MPI_Allreduce()
*/
static PetscErrorCode StepByHand(PetscMPIInt rank, PetscBool broken, PetscScalar w[], PetscBool *moved)
{
  PetscScalar g[ENTRIES + 1], sum[ENTRIES + 1];

  PetscFunctionBeginUser;
  for (PetscInt l = 0; l < LAYERS; l++) Gradient(rank, l, w + begin[l], g + begin[l]);
  if (broken) g[0] = PETSC_MAX_REAL * 2;
  g[ENTRIES] = 0;
  for (int i = 0; i < ENTRIES; i++) {
    if (PetscIsInfOrNanScalar(g[i])) g[ENTRIES] = 1;
  }
  PetscCallMPI(MPI_Allreduce(g, sum, ENTRIES + 1, MPIU_SCALAR, MPIU_SUM, PETSC_COMM_WORLD));
  *moved = PetscRealPart(sum[ENTRIES]) == 0 ? PETSC_TRUE : PETSC_FALSE; /* small whole numbers: the same on all ranks whatever the order */
  for (PetscInt l = 0; l < LAYERS && *moved; l++) Move(l, sum + begin[l], w + begin[l]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  Context   context; /* first: the routine of step.h is called with this struct, too */
  PetscBool broken;
} Broken;

static PetscErrorCode FormBrokenGradient(Muon muon, PetscReal *loss, void *ctx)
{
  Broken      *b = (Broken *)ctx;
  Mat          G;
  PetscScalar *g;

  PetscFunctionBeginUser;
  PetscCall(FormLossAndGradient(muon, loss, &b->context));
  if (b->broken) {
    PetscCall(MuonLayerGetGradient(b->context.layer[0], &G));
    PetscCall(MatDenseGetArray(G, &g));
    g[0] = PETSC_MAX_REAL * 2;
    PetscCall(MatDenseRestoreArray(G, &g));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ours, with both policies. Prints what each rank knows, which is the same */
static PetscErrorCode RunOurs(MuonNaNPolicy policy, PetscMPIInt size, PetscMPIInt rank, const PetscScalar expected[])
{
  PetscScalar w[ENTRIES] = {0}, before[ENTRIES];
  Broken      b;
  Muon        muon;

  PetscFunctionBeginUser;
  b.context.overlap = PETSC_FALSE;
  PetscCall(CreateOptimizer("-muon_type dense -lmo_type frobenius", w, &b.context, &muon));
  PetscCall(MuonSetObjectiveAndGradient(muon, FormBrokenGradient, &b));
  PetscCall(MuonSetParameter(muon, "muon_nan", MuonNaNPolicies[policy]));
  for (int s = 0; s < STEPS; s++) {
    MuonConvergedReason reason, all[MAXRANKS];
    PetscBool           same;

    b.broken = s == BROKEN && rank == size - 1 ? PETSC_TRUE : PETSC_FALSE;
    memcpy(before, w, sizeof(w));
    PetscCall(MuonStep(muon));
    PetscCall(MuonGetConvergedReason(muon, &reason));
    same = memcmp(before, w, sizeof(w)) == 0 ? PETSC_TRUE : PETSC_FALSE;
    PetscCallMPI(MPI_Allgather(&reason, 1, MPI_INT, all, 1, MPI_INT, PETSC_COMM_WORLD));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ours, -muon_nan %s: step %d %s, ranks say", MuonNaNPolicies[policy], s, same ? "moved nothing" : "moved"));
    for (PetscMPIInt r = 0; r < size; r++) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %s", MuonConvergedReasons[all[r]]));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
    if (reason < 0) break;
  }
  for (int i = 0; i < ENTRIES && policy == MUON_NAN_SKIP; i++)
    PetscCheck(PetscAbsScalar(w[i] - expected[i]) < STEPS * 2048 * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Entry %d is %g, by hand %g", i, (double)PetscRealPart(w[i]), (double)PetscRealPart(expected[i]));
  PetscCall(MuonDestroy(&muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscScalar w[ENTRIES] = {0};
  PetscMPIInt size, rank;
  PetscBool   moved = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(GetRanks(&size, &rank));
  for (int s = 0; s < STEPS; s++) {
    PetscCall(StepByHand(rank, s == BROKEN && rank == size - 1 ? PETSC_TRUE : PETSC_FALSE, w, &moved));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "by hand: step %d %s\n", s, moved ? "moved" : "moved nothing"));
  }
  PetscCall(RunOurs(MUON_NAN_STOP, size, rank, w));
  PetscCall(RunOurs(MUON_NAN_SKIP, size, rank, w));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  test:
    suffix: text
    nsize: 3
    output_file: README.md

TEST*/
