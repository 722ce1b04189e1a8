static char help[] = "How small a gradient a vote of M workers sees in noise: 1/sqrt(M) of what one of them does. Each entry of a matrix is g = +-gradient x noise / sqrt(M), each worker has\n"
                     "noise of its own, and the majority of their signs is compared with the sign of g. The part of wrong votes is that of a binomial distribution, about the same for every M.\n\n"
                     "  mpiexec -n 5 ./majority -majority_gradient 1\n\n";

#include <petscmuon.h>

#define SIDE 64

typedef struct {
  MuonLayer          layer;
  PetscReal          size; /* of each entry of the gradient; the noise is 1 */
  unsigned long long state;
} Problem;

/* A number in (0,1) of this rank's sequence (splitmix64) */
static PetscReal Uniform(Problem *p)
{
  unsigned long long x = p->state += 0x9E3779B97F4A7C15ULL;

  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return ((PetscReal)((x ^ (x >> 31)) >> 32) + (PetscReal)0.5) / (PetscReal)4294967296.0;
}

/* Half of the entries are positive */
static PetscReal Sign(PetscInt e)
{
  return (e + e / SIDE) % 2 == 0 ? 1 : -1;
}

static PetscErrorCode FormGradient(Muon muon, PetscReal *loss, void *ctx)
{
  Problem     *p = (Problem *)ctx;
  Mat          G;
  PetscScalar *g;

  PetscFunctionBeginUser;
  PetscCall(MuonLayerGetGradient(p->layer, &G));
  PetscCall(MatDenseGetArrayWrite(G, &g));
  for (PetscInt e = 0; e < SIDE * SIDE; e++) {
    const PetscReal radius = PetscSqrtReal(-2 * PetscLogReal(Uniform(p)));

    g[e] = Sign(e) * p->size + radius * PetscCosReal(2 * PETSC_PI * Uniform(p));
  }
  PetscCall(MatDenseRestoreArrayWrite(G, &g));
  *loss = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* That more than half of M voters are wrong, each with the chance q, and half of the chance that they are as many as the others */
static double Binomial(int M, double q)
{
  double sum = 0;

  for (int k = 0; k <= M; k++) {
    const double chance = exp(lgamma(M + 1) - lgamma(k + 1) - lgamma(M - k + 1) + k * log(q) + (M - k) * log1p(-q));

    sum += 2 * k > M ? chance : 2 * k == M ? chance / 2 : 0;
  }
  return sum;
}

int main(int argc, char **argv)
{
  PetscReal    gradient = 1;
  PetscInt     steps = 20, wrong = 0;
  PetscMPIInt  size, rank;
  double       part, exact, deviation;
  Problem      p;
  Muon         muon;
  Mat          W;
  PetscScalar *w;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-majority_gradient", &gradient, NULL));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  p.size  = gradient / PetscSqrtReal((PetscReal)size);
  p.state = (unsigned long long)rank << 40;
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, SIDE, SIDE, NULL, &W));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(MuonAddLayer(muon, "w", W, &p.layer));
  PetscCall(MuonSetObjectiveAndGradient(muon, FormGradient, &p));
  PetscCall(MuonSetType(muon, MUONSIGN));
  PetscCall(MuonSetParameter(muon, "sign_direction", "gradient"));
  PetscCall(MuonSetMomentum(muon, 0, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
  PetscCall(MuonSetLearningRate(muon, 1));
  PetscCall(MuonSetFromOptions(muon));
  for (PetscInt s = 0; s < steps; s++) { /* from zero, a step of 1 against each vote */
    PetscCall(MatZeroEntries(W));
    PetscCall(MuonStep(muon));
    PetscCall(MatDenseGetArray(W, &w));
    for (PetscInt e = 0; e < SIDE * SIDE; e++) wrong += 1 + (PetscInt)(PetscRealPart(w[e]) * Sign(e)); /* 2, or 1 for a tie */
    PetscCall(MatDenseRestoreArray(W, &w));
  }
  part      = (double)wrong / (double)(2 * steps * SIDE * SIDE);
  exact     = Binomial(size, 0.5 * erfc((double)p.size / sqrt(2.0)));
  deviation = sqrt(exact * (1 - exact) / (double)(steps * SIDE * SIDE));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%2d workers, |g| = %.3f of the noise: %.3f of the votes are wrong; binomial %.3f, many workers %.3f\n", size, (double)p.size, part, exact, 0.5 * erfc((double)gradient / sqrt(PETSC_PI))));
  PetscCheck(fabs(part - exact) <= 5 * deviation, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%g of the votes are wrong, %g were expected with a deviation of %g", part, exact, deviation);
  PetscCall(MuonDestroy(&muon));
  PetscCall(MatDestroy(&W));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  test:
    suffix: text
    nsize: {{1 2 5}}
    output_file: README.md
    tolerance: 2e-2
    requires: double

  # As many wrong votes as one worker fewer has
  test:
    suffix: random
    nsize: {{2 4}}
    args: -sign_tie random
    requires: double

TEST*/
