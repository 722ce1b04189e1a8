static char help[] = "A physics-informed network: u(x) = x (1 - x) N(x) is trained to satisfy -u'' = f at points that the ranks share, and is held to the solution that it has never seen.\n\n"
                     "  mpiexec -n 2 ./pinn -muon_layer_types '*:adamw' -muon_adamw_learning_rate 1e-2\n\n";

#include "mlp.h"

#define POINTS 96 /* of all ranks together */
#define WIDTH  32

typedef struct {
  MLP          net;
  PetscInt     n;  /* points of this rank */
  PetscScalar *X;  /* for each point x, x' = 1 and x'' = 0: what the network carries through its layers */
  PetscScalar *dY; /* derivatives of the loss by N, N' and N'' */
} PINN;

static PetscReal Solution(PetscReal x)
{
  return PetscSinReal(2 * PETSC_PI * x) + PetscSinReal(5 * PETSC_PI * x) / 5;
}

static PetscReal RightHandSide(PetscReal x)
{
  return PETSC_PI * PETSC_PI * (4 * PetscSinReal(2 * PETSC_PI * x) + 5 * PetscSinReal(5 * PETSC_PI * x));
}

/*
   With p = x (1 - x) the residual is r = -(p N'' + 2 p' N' + p'' N) - f. The loss is its mean square over
   that of f, which is pi^4 (16 + 25)/2
*/
static PetscErrorCode FormLossAndGradient(Muon muon, PetscReal *loss, void *ctx)
{
  PINN              *pinn  = (PINN *)ctx;
  const PetscInt     n     = pinn->n;
  const PetscReal    scale = 2 / (41 * PetscPowRealInt(PETSC_PI, 4) * (PetscReal)n);
  const PetscScalar *Y;

  PetscFunctionBeginUser;
  PetscCall(MLPForward(&pinn->net, n, 3, pinn->X, &Y));
  *loss = 0;
  for (PetscInt i = 0; i < n; i++) {
    const PetscReal x = PetscRealPart(pinn->X[i]), p = x * (1 - x), p1 = 1 - 2 * x, p2 = -2;
    const PetscReal r = PetscRealPart(-(p * Y[i + 2 * n] + 2 * p1 * Y[i + n] + p2 * Y[i])) - RightHandSide(x);

    *loss += scale * r * r;
    pinn->dY[i]         = -2 * scale * r * p2;
    pinn->dY[i + n]     = -4 * scale * r * p1;
    pinn->dY[i + 2 * n] = -2 * scale * r * p;
  }
  PetscCall(MLPBackward(&pinn->net, pinn->dY, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The mean square of the error over that of the solution at 1000 points, as a root */
static PetscErrorCode ComputeError(PINN *pinn, PetscReal *error)
{
  PetscScalar        x[1000];
  const PetscScalar *Y;
  PetscReal          sum = 0, square = 0;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < 1000; i++) x[i] = ((PetscReal)i + (PetscReal)0.5) / 1000;
  PetscCall(MLPForward(&pinn->net, 1000, 1, x, &Y));
  for (PetscInt i = 0; i < 1000; i++) {
    const PetscReal at = PetscRealPart(x[i]), u = Solution(at);

    sum += PetscSqr(PetscRealPart(at * (1 - at) * Y[i]) - u);
    square += PetscSqr(u);
  }
  *error = PetscSqrtReal(sum / square);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt width[] = {1, WIDTH, WIDTH, WIDTH, 1};
  PetscInt       steps;
  PetscReal      loss, error = 0;
  PetscMPIInt    size, rank;
  PINN           pinn;
  Muon           muon;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCheck(POINTS % size == 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_SIZ, "%d points cannot be shared equally by %d ranks", POINTS, size);
  pinn.n = POINTS / size;
  PetscCall(PetscCalloc2(3 * pinn.n, &pinn.X, 3 * pinn.n, &pinn.dY));
  for (PetscInt i = 0; i < pinn.n; i++) {
    pinn.X[i]          = ((PetscReal)(rank + i * size) + (PetscReal)0.5) / POINTS;
    pinn.X[i + pinn.n] = 1;
  }

  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(MLPCreate(muon, "u", 4, width, 1, &pinn.net));
  PetscCall(MuonSetObjectiveAndGradient(muon, FormLossAndGradient, &pinn));
  PetscCall(MuonSetType(muon, MUONDENSE));
  PetscCall(MuonSetLayerTypes(muon, "*.b?:adamw,u.W0:adamw,u.W3:adamw")); /* the first matrix has one column, the last one row */
  PetscCall(MuonSetLearningRate(muon, (PetscReal)0.05));
  PetscCall(MuonSetAdamW(muon, (PetscReal)0.02, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSetSchedule(muon, MUON_SCHEDULE_LINEAR, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSetMaxSteps(muon, 1000));
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonGetMaxSteps(muon, &steps));
  for (PetscInt s = 0; s < steps; s++) {
    PetscCall(MuonStep(muon));
    if ((s + 1) % 200 != 0) continue;
    PetscCall(MuonGetLoss(muon, &loss));
    PetscCall(ComputeError(&pinn, &error));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "step %4" PetscInt_FMT " residual %.1e error %.1e\n", s + 1, (double)PetscSqrtReal(loss), (double)error));
  }
  PetscCall(MuonDestroy(&muon));
  PetscCall(MLPDestroy(&pinn.net));
  PetscCall(PetscFree2(pinn.X, pinn.dY));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  # the way there depends on roundings; where it ends hardly does
  test:
    suffix: text
    output_file: README.md
    filter: awk 'END {print $1, $2, $4 + 0 < 5e-3 && $6 + 0 < 1e-3 ? "residual and error are small" : $0}'
    filter_output: awk 'END {print $1, $2, $4 + 0 < 5e-3 && $6 + 0 < 1e-3 ? "residual and error are small" : $0}'

TEST*/
