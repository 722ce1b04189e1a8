static char help[] = "What the theorems of EF21-Muon promise of the gradients of a run, and what they are: four workers with different data and known constants.\n"
                     "Prints the mean over the steps of the squares of the dual norms (smooth), or the smallest dual norm (l0l1), beside the bound.\n\n"
                     "  mpiexec -n 4 ./bounds -muon_theory smooth -ef21_init gradient -ef21_compressor topk -lmo_type max\n"
                     "  -steps 100,1000  numbers of steps\n"
                     "  -logistic        softmax regression in place of quadratics\n"
                     "  -sigma s         noise of each gradient\n"
                     "  -larger n        then steps 4, 16, ... 4^n times as long as guaranteed\n"
                     "  -csv file        appends a row for each run\n\n";

#include "problem.h"
#include <stdio.h>

typedef struct {
  Problem   problem;
  MuonLayer layer;
  PetscInt  rank;
} Context;

/* The gradient of this rank's function at the weights of the workers, with noise of length sigma in the mean */
static PetscErrorCode FormLossAndGradient(Muon muon, PetscReal *loss, void *ctx)
{
  Context     *c = (Context *)ctx;
  PetscReal    w[M * N], g[M * N] = {0};
  PetscScalar *array;
  PetscInt     step;
  Mat          W, G;

  PetscFunctionBeginUser;
  PetscCall(MuonGetStepNumber(muon, &step));
  PetscCall(MuonLayerGetWeights(c->layer, &W));
  PetscCall(MatDenseGetArray(W, &array));
  for (PetscInt e = 0; e < M * N; e++) w[e] = PetscRealPart(array[e]);
  PetscCall(MatDenseRestoreArray(W, &array));
  *loss = 0;
  AddGradient(&c->problem, c->rank, w, 1, g, loss);
  PetscCall(MuonLayerGetGradient(c->layer, &G));
  PetscCall(MatDenseGetArray(G, &array));
  for (PetscInt e = 0; e < M * N; e++) array[e] = g[e] + c->problem.sigma * PetscSqrtReal((PetscReal)3 / (M * N)) * Number(3 + step, c->rank, e);
  PetscCall(MatDenseRestoreArray(G, &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The dual norm of the gradient of f at the server's weights, on the rank that has them; 0 on the others */
static PetscErrorCode Measure(Context *c, Mat A, PetscReal *dual)
{
  PetscReal    w[M * N], g[M * N] = {0};
  PetscScalar *array;
  PetscBool    has;
  MuonLMO      lmo;

  PetscFunctionBeginUser;
  *dual = 0;
  PetscCall(MuonLayerGetServerWeights(c->layer, A, &has));
  if (!has) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDenseGetArray(A, &array));
  for (PetscInt e = 0; e < M * N; e++) w[e] = PetscRealPart(array[e]);
  for (PetscInt j = 0; j < WORKERS; j++) AddGradient(&c->problem, j, w, (PetscReal)1 / WORKERS, g, NULL);
  for (PetscInt e = 0; e < M * N; e++) array[e] = g[e];
  PetscCall(MatDenseRestoreArray(A, &array));
  PetscCall(MuonLayerGetLMO(c->layer, &lmo));
  PetscCall(MuonLMOComputeDualNorm(lmo, A, dual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetConstant(Muon muon, const char key[], PetscReal value)
{
  char text[64];

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(text, sizeof(text), "%.16e", (double)value));
  PetscCall(MuonSetParameter(muon, key, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A run of K steps that are longer by a factor; what is measured of the gradients, and the bound */
static PetscErrorCode Run(Context *c, PetscInt K, PetscReal longer, PetscReal *measured, PetscReal *bound)
{
  const Problem *p   = &c->problem;
  PetscReal      sum = 0, least = PETSC_MAX_REAL, dual, spread = 0;
  char           theory[32], step[8];
  PetscBool      sharp;
  MuonLMO        lmo;
  Muon           muon;
  Mat            W, A;

  PetscFunctionBeginUser;
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, M, N, NULL, &W));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, M, N, NULL, &A));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(MuonAddLayer(muon, "w", W, &c->layer));
  PetscCall(MuonSetObjectiveAndGradient(muon, FormLossAndGradient, c));
  PetscCall(MuonSetMaxSteps(muon, K));
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonLayerGetLMO(c->layer, &lmo));
  PetscCall(GetSpread(lmo, &spread));
  PetscCall(SetConstant(muon, "muon_theory_l", p->mean * spread));
  PetscCall(SetConstant(muon, "muon_theory_lt", p->largest * spread));
  PetscCall(SetConstant(muon, "muon_theory_l0", p->mean * spread)); /* with L1 = 0 both are one assumption */
  PetscCall(SetConstant(muon, "muon_theory_l0b", p->mean * spread));
  PetscCall(SetConstant(muon, "muon_theory_l1", 0));
  PetscCall(SetConstant(muon, "muon_theory_l1max", 0));
  PetscCall(SetConstant(muon, "muon_theory_sigma", p->sigma));
  PetscCall(SetConstant(muon, "muon_theory_gap", p->gap));
  PetscCall(SetConstant(muon, "muon_theory_h", p->h_));
  PetscCall(MuonSetUp(muon));
  PetscCall(MuonGetTheoryBound(muon, bound));
  PetscCall(MuonGetParameter(muon, "muon_theory", theory, sizeof(theory)));
  PetscCall(MuonGetParameter(muon, "muon_step", step, sizeof(step)));
  PetscCall(PetscStrcmp(step, "sharp", &sharp));
  PetscCall(MuonLayerSetScale(c->layer, sharp ? PetscSqrtReal(longer) : longer)); /* after the theorem: it enters a sharp step twice */
  for (PetscInt k = 0; k < K; k++) {
    PetscCall(Measure(c, A, &dual));
    sum += dual * dual / (PetscReal)K;
    least = PetscMin(least, dual);
    PetscCall(MuonStep(muon));
  }
  *measured = sharp ? sum : least;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, measured, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  PetscCall(MuonDestroy(&muon));
  PetscCall(MatDestroy(&W));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt    steps[8] = {100, 1000}, many = 8, larger = 0;
  char        csv[PETSC_MAX_PATH_LEN] = "", name[256] = "";
  PetscBool   set, logistic                           = PETSC_FALSE;
  PetscReal   sigma = 0, measured = 0, bound = 0;
  PetscMPIInt rank, size;
  FILE       *file;
  Context     c;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-steps", steps, &many, &set));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-larger", &larger, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-sigma", &sigma, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-logistic", &logistic, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-csv", csv, sizeof(csv), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-name", name, sizeof(name), NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCheck(size == WORKERS, PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONG, "%d ranks, expected %d", size, WORKERS);
  c.rank = rank;
  CreateProblem(logistic, sigma, &c.problem);
  for (PetscInt k = 0; k < (set ? many : 2); k++) {
    PetscReal longer = 1;

    for (PetscInt n = 0; n <= larger; n++, longer *= 4) {
      PetscCall(Run(&c, steps[k], longer, &measured, &bound));
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " steps, %g times as long: %.3e, guaranteed %.3e%s\n", steps[k], (double)longer, (double)measured, (double)bound, measured <= bound ? "" : ", exceeded"));
      PetscCheck(longer > 1 || measured <= bound, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The theorem's bound %g is exceeded: %g", (double)bound, (double)measured);
      file = rank == 0 && csv[0] != '\0' ? fopen(csv, "a") : NULL;
      if (file != NULL) {
        fprintf(file, "%s,%d,%g,%.6e,%.6e\n", name, (int)steps[k], (double)longer, (double)measured, (double)bound);
        fclose(file);
      }
    }
  }
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  testset:
    requires: double
    nsize: 4
    args: -steps 100 -ef21_init gradient -ef21_compressor topk
    # The program compares with the bound itself
    test:
      suffix: smooth
      args: -muon_theory smooth -lmo_type max
    test:
      suffix: logistic
      args: -muon_theory smooth -lmo_type frobenius -logistic -ef21_server_compressor topk
    test:
      suffix: stochastic
      args: -muon_theory {{smooth_stochastic l0l1_stochastic}} -sigma 0.5 -lmo_type column
    test:
      suffix: l0l1
      args: -muon_theory l0l1 -lmo_type max -larger 1

TEST*/
