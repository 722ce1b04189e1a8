static char help[] = "A network inside the right-hand side of a TS: oscillators u' = v, v' = -u + N(u, v) with an unknown N, which is trained through TSAdjoint to bring each oscillator where it was seen at the end.\n"
                     "The truth is van der Pol's N = (1 - u^2) v. Each rank has oscillators of its own.\n\n";

#include <petscmuon.h>
#include "oscillators.h"

#define OSCILLATORS 48 /* of all ranks together */

/*
   Loss |x(T) - seen|^2 / (2 n). TSAdjoint takes its derivative by x(T) back to the parameters: mu lies in the
   memory that the layers have their gradients in
*/
static PetscErrorCode FormLossAndGradient(Muon muon, PetscReal *loss, void *ctx)
{
  Closure *closure = (Closure *)ctx;

  PetscFunctionBeginUser;
  PetscCall(SolveForward(closure));
  PetscCall(VecWAXPY(closure->lambda, -1, closure->seen, closure->x));
  PetscCall(VecNorm(closure->lambda, NORM_2, loss));
  *loss = PetscSqr(*loss) / (2 * (PetscReal)closure->n);
  PetscCall(VecScale(closure->lambda, 1 / (PetscScalar)closure->n));
  PetscCall(VecSet(closure->mu, 0));
  PetscCall(TSAdjointSolve(closure->ts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The network against the truth where the oscillators were, u^2 + v^2 <= 2: root of the mean squares, of the
   difference over the truth
*/
static PetscReal Error(const Closure *closure)
{
  PetscReal sum = 0, square = 0;

  for (PetscInt i = 0; i <= 20; i++) {
    for (PetscInt j = 0; j <= 20; j++) {
      const PetscReal u = (PetscReal)(0.15 * (double)(i - 10)), v = (PetscReal)(0.15 * (double)(j - 10)), truth = (1 - u * u) * v;

      if (u * u + v * v > 2) continue;
      sum += PetscSqr(PetscRealPart(Network(closure->p, u, v, NULL, NULL)) - truth);
      square += PetscSqr(truth);
    }
  }
  return PetscSqrtReal(sum / square);
}

static PetscErrorCode AddLayer(Muon muon, const char name[], PetscInt M, PetscInt N, PetscScalar w[], PetscScalar g[])
{
  MuonLayerArray array;

  PetscFunctionBeginUser;
  PetscCall(MuonLayerArrayInitialize(&array));
  array.type = PETSC_SCALAR;
  array.M    = M;
  array.N    = N;
  array.w    = w;
  array.g    = g;
  PetscCall(MuonAddLayerArray(muon, name, &array, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Closure      closure;
  PetscScalar *x;
  PetscInt     steps;
  PetscMPIInt  size, rank;
  Muon         muon;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCheck(OSCILLATORS % size == 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_SIZ, "%d oscillators cannot be shared equally by %d ranks", OSCILLATORS, size);
  closure.n = OSCILLATORS / size;
  for (PetscInt k = 0; k < PARAMETERS; k++) closure.p[k] = PetscSinReal((PetscReal)(k * k + 1)) * (k < 3 * WIDTH ? 1 : (PetscReal)0.1);
  PetscCall(CreateTS(&closure));

  /* Oscillators begin on a spiral; the truth says where they are seen at the end */
  PetscCall(VecGetArrayWrite(closure.start, &x));
  for (PetscInt i = 0; i < closure.n; i++) {
    const PetscReal k = (PetscReal)(i * size + rank), radius = (PetscReal)1.6 * PetscSqrtReal((k + 1) / OSCILLATORS);

    x[i]             = radius * PetscCosReal((PetscReal)2.4 * k);
    x[i + closure.n] = radius * PetscSinReal((PetscReal)2.4 * k);
  }
  PetscCall(VecRestoreArrayWrite(closure.start, &x));
  closure.truth = PETSC_TRUE;
  PetscCall(SolveForward(&closure));
  PetscCall(VecCopy(closure.x, closure.seen));
  PetscCall(TSResetTrajectory(closure.ts)); /* nobody goes back along this one */
  closure.truth = PETSC_FALSE;

  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(AddLayer(muon, "A", WIDTH, 2, closure.p, closure.g));
  PetscCall(AddLayer(muon, "b", WIDTH, 1, closure.p + 2 * WIDTH, closure.g + 2 * WIDTH));
  PetscCall(AddLayer(muon, "c", 1, WIDTH, closure.p + 3 * WIDTH, closure.g + 3 * WIDTH));
  PetscCall(MuonSetObjectiveAndGradient(muon, FormLossAndGradient, &closure));
  PetscCall(MuonSetType(muon, MUONDENSE));
  PetscCall(MuonSetLayerTypes(muon, "b:adamw,c:adamw"));
  PetscCall(MuonSetLearningRate(muon, (PetscReal)0.1));
  PetscCall(MuonSetAdamW(muon, (PetscReal)0.1, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSetSchedule(muon, MUON_SCHEDULE_LINEAR, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSetMaxSteps(muon, 200));
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonGetMaxSteps(muon, &steps));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "before   error of the closure %.2f\n", (double)Error(&closure)));
  for (PetscInt s = 0; s < steps; s++) {
    PetscReal loss;

    PetscCall(MuonStep(muon));
    PetscCall(MuonGetLoss(muon, &loss));
    if ((s + 1) % 50 == 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "step %3" PetscInt_FMT " error of the closure %.2f, loss %.1e\n", s + 1, (double)Error(&closure), (double)loss));
  }

  PetscCall(MuonDestroy(&muon));
  PetscCall(TSDestroy(&closure.ts));
  PetscCall(VecDestroy(&closure.x));
  PetscCall(VecDestroy(&closure.start));
  PetscCall(VecDestroy(&closure.seen));
  PetscCall(VecDestroy(&closure.lambda));
  PetscCall(VecDestroy(&closure.mu));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: README.md
    # roundings grow on the way
    tolerance: 5e-2
    test:
      suffix: text
      filter: awk 'NR < 3 {print} END {print $1, $2, $7 + 0 < 0.15 && $9 + 0 < 3e-3 ? "error and loss are small" : $0}'
      filter_output: awk 'NR < 3 {print} END {print $1, $2, $7 + 0 < 0.15 && $9 + 0 < 3e-3 ? "error and loss are small" : $0}'
    test:
      suffix: ranks
      nsize: 3
      args: -muon_max_steps 50

TEST*/
