static char help[] = "Look-ahead: worked examples, and what is kept. equivalence has the optimizers that it is where it does nothing, and restarts.\n\n";

#include <petscmuon.h>
#include <math.h>
#include "fails.h"

#define D "weights.lookahead"

/* The minimum T of |X - T|^2 / 2, X_3 and d_3 from X_0 = 0 */
static const PetscReal T[6] = {1, 0, 2, 0, -1, 1}, X3[6] = {0.165746919539, 0.074501540231, 0.256992298847, -0.074501540231, -0.277499229885, 0.128496149424};
static const PetscReal d3[6] = {0.015021225988, 0.006751887006, 0.023290564971, -0.006751887006, -0.025149056497, 0.011645282485};

typedef struct {
  PetscBool scalar, spread; /* the inner step is -1; the rows are spread over the ranks */
  PetscReal noise;          /* of each rank's gradient */
  PetscInt  fails;          /* the step whose post-step fails, -1 for none */
  PetscReal x[8];           /* weights before the look-ahead, of the scalar */
  PetscReal off[6];         /* by which a server's are not the workers', before the look-ahead */
  Mat       W;
  MuonLayer layer;
  Muon      muon;
} Run;

/* Entry k of the rows that are here, by rows of the whole matrix */
static PetscInt Entry(const Run *run, PetscInt k, PetscInt m)
{
  PetscMPIInt rank, size;

  (void)MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  (void)MPI_Comm_size(PETSC_COMM_WORLD, &size);
  return 3 * (k % m + (run->spread && rank == 1 && size > 1 ? 1 : 0)) + k / m;
}

static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  const Run         *run = (const Run *)ctx;
  const PetscScalar *w;
  PetscScalar       *g;
  PetscInt           m, n, step;
  PetscMPIInt        rank;
  Mat                G;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MuonGetStepNumber(muon, &step));
  *loss = 0;
  PetscCall(MuonLayerGetGradient(run->layer, &G));
  PetscCall(MatGetLocalSize(G, &m, NULL));
  PetscCall(MatGetSize(G, NULL, &n));
  PetscCall(MatDenseGetArrayRead(run->W, &w));
  PetscCall(MatDenseGetArray(G, &g));
  for (PetscInt k = 0; k < m * n; k++) g[k] = run->scalar ? 1 : w[k] - T[Entry(run, k, m)] + run->noise * (PetscScalar)((5 * k + 3 * step + rank) % 7 - 3);
  PetscCall(MatDenseRestoreArray(G, &g));
  PetscCall(MatDenseRestoreArrayRead(run->W, &w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is kept of a layer, or its weights where there is no name; zeros where nothing is */
static PetscErrorCode Get(const Run *run, const char state[], PetscReal entries[6], PetscBool *kept)
{
  const PetscScalar *a;
  PetscInt           m, n;
  Mat                A;

  PetscFunctionBegin;
  *kept = PETSC_TRUE;
  PetscCall(MatDuplicate(run->W, MAT_COPY_VALUES, &A));
  if (state != NULL) PetscCall(MuonGetLayerState(run->muon, run->layer, state, A, kept));
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(MatGetSize(A, NULL, &n));
  PetscCall(PetscArrayzero(entries, 6));
  PetscCall(MatDenseGetArrayRead(A, &a));
  for (PetscInt k = 0; k < m * n && *kept; k++) entries[k] = PetscRealPart(a[k]);
  PetscCall(MatDenseRestoreArrayRead(A, &a));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a server has still to send */
static PetscErrorCode GetOff(const Run *run, PetscReal off[6])
{
  PetscReal w[6];
  PetscBool kept;

  PetscFunctionBegin;
  PetscCall(Get(run, NULL, w, &kept));
  PetscCall(Get(run, "weights", off, &kept));
  for (int k = 0; k < 6; k++) off[k] = kept ? off[k] - w[k] : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Weights of before the look-ahead */
static PetscErrorCode Post(Muon muon, PetscInt step, void *ctx)
{
  Run               *run = (Run *)ctx;
  const PetscScalar *w;

  PetscFunctionBegin;
  PetscCheck(step != run->fails, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "as it is asked to");
  PetscCall(MatDenseGetArrayRead(run->W, &w));
  if (run->scalar && step < 8) run->x[step] = PetscRealPart(w[0]);
  PetscCall(MatDenseRestoreArrayRead(run->W, &w));
  PetscCall(GetOff(run, run->off));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(PetscBool scalar, PetscReal noise, const char beta[], const char gamma[], Run *run)
{
  PetscBool theory;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(run, sizeof(*run)));
  run->scalar = scalar;
  run->noise  = noise;
  run->fails  = -1;
  if (!scalar) PetscCall(PetscOptionsGetBool(NULL, NULL, "-spread", &run->spread, NULL));
  PetscCall(MatCreateDense(run->spread ? PETSC_COMM_WORLD : PETSC_COMM_SELF, PETSC_DECIDE, PETSC_DECIDE, scalar ? 1 : 2, scalar ? 1 : 3, NULL, &run->W));
  PetscCall(MatSetUp(run->W));
  PetscCall(MatZeroEntries(run->W));
  PetscCall(MatAssemblyBegin(run->W, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(run->W, MAT_FINAL_ASSEMBLY));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &run->muon));
  PetscCall(MuonAddLayer(run->muon, "w", run->W, &run->layer));
  PetscCall(MuonSetObjectiveAndGradient(run->muon, Objective, run));
  PetscCall(MuonSetPostStep(run->muon, Post, run));
  PetscCall(MuonSetFromOptions(run->muon));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-muon_theory", &theory));
  if (!theory) PetscCall(MuonSetParameter(run->muon, "muon_learning_rate", scalar ? "1" : "0.1"));
  if (beta != NULL) PetscCall(MuonSetParameter(run->muon, "muon_lookahead", beta));
  if (gamma != NULL) PetscCall(MuonSetParameter(run->muon, "muon_lookahead_gamma", gamma));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(Run *run)
{
  PetscFunctionBegin;
  PetscCall(MuonDestroy(&run->muon));
  PetscCall(MatDestroy(&run->W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Steps(Run *run, PetscInt steps)
{
  PetscReal off[6];

  PetscFunctionBegin;
  for (PetscInt k = 0; k < steps; k++) {
    PetscCall(MuonStep(run->muon));
    PetscCall(GetOff(run, off));
    for (int e = 0; e < 6; e++)
      PetscCheck(PetscAbsReal(off[e] - run->off[e]) < 16 * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A server's weights were off by %g before the look-ahead, and are by %g", (double)run->off[e], (double)off[e]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscReal scalar[4] = {-1, -2.25, -3.6875, -5.265625}, means[4] = {-0.5, -0.875, -1.15625, -1.3671875}, tolerance = PetscMax((PetscReal)2e-12, 64 * PETSC_MACHINE_EPSILON);
  Run             a;
  PetscReal       d[6], w[6];
  PetscBool       kept, compressed;
  PetscInt        m;
  PetscLogDouble  server[2];

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-ef21_compressor", &compressed));

  /* Exact numbers, of weights before the look-ahead and of d. The fifth step moves by the mean with half of the schedule */
  PetscCall(Create(PETSC_TRUE, 0, "0.5", "0.5", &a));
  for (PetscInt k = 0; k < 4; k++) {
    PetscCall(MuonStep(a.muon));
    PetscCall(Get(&a, D, d, &kept));
    PetscCall(Get(&a, NULL, w, &kept));
    PetscCheck(a.x[k] == scalar[k] && d[0] == means[k] && w[0] == scalar[k] + means[k] / 2, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %d: x %g, d %g, weights %g", (int)k, (double)a.x[k], (double)d[0], (double)w[0]);
  }
  PetscCall(MuonSetParameter(a.muon, "muon_max_steps", "10"));
  PetscCall(MuonSetParameter(a.muon, "muon_schedule", "linear")); /* a factor of .6 in step 4 */
  PetscCall(MuonStep(a.muon));
  PetscCall(Get(&a, D, d, &kept));
  PetscCall(Get(&a, NULL, w, &kept));
  PetscCheck(PetscAbsReal(w[0] - a.x[4] - (PetscReal)0.3 * d[0]) < tolerance, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The look-ahead is %g of %g, expected the schedule's part", (double)(w[0] - a.x[4]), (double)d[0]);
  PetscCall(Destroy(&a));

  /* Of matrices */
  PetscCall(Create(PETSC_FALSE, 0, "0.5", "0.9", &a));
  PetscCall(Steps(&a, 3));
  PetscCall(Get(&a, D, d, &kept));
  PetscCall(Get(&a, NULL, w, &kept));
  PetscCall(MatGetLocalSize(a.W, &m, NULL));
  for (PetscInt k = 0; k < 3 * m && !compressed; k++) {
    const PetscInt e = Entry(&a, k, m);

    PetscCheck(PetscAbsReal(d[k] - d3[e]) < tolerance && PetscAbsReal(w[k] - d[k] / 2 - X3[e]) < tolerance, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Entry %d: x %.12g, d %.12g", (int)e, (double)(w[k] - d[k] / 2), (double)d[k]);
  }
  PetscCall(Destroy(&a));

  /* What is kept beside the optimizer inside: nothing where the look-ahead does nothing, else the mean of the steps */
  for (int k = 0; k < 4; k++) {
    const char *const betas[] = {NULL, "0", "0.5", "0.5"}, *const gammas[] = {NULL, "0.5", "1", NULL};

    PetscCall(Create(PETSC_FALSE, (PetscReal)0.125, betas[k], gammas[k], &a));
    PetscCall(Steps(&a, 1));
    PetscCall(MuonGetMemory(a.muon, NULL, &server[k == 0 ? 0 : 1], NULL));
    PetscCall(Get(&a, D, d, &kept));
    PetscCall(MatGetLocalSize(a.W, &m, NULL));
    PetscCheck(k == 0 || (server[1] - server[0] == (k == 3 ? 3.0 * (PetscLogDouble)m * sizeof(PetscReal) : 0) && kept == (k == 3 ? PETSC_TRUE : PETSC_FALSE)), PETSC_COMM_SELF, PETSC_ERR_PLIB, "beta %s: %g bytes more, and a mean is %skept", betas[k],
               server[1] - server[0], kept ? "" : "not ");
    PetscCall(Destroy(&a));
  }

  /* A post-step that fails leaves a state that the next steps go on from, without a look-ahead in one of them */
  PetscCall(Create(PETSC_FALSE, (PetscReal)0.125, "0.5", "0.75", &a));
  a.fails = 1;
  PetscCall(MuonStep(a.muon));
  Fails(MuonStep(a.muon), FAILS_ANY, "");
  PetscCall(Steps(&a, 2));
  PetscCall(Destroy(&a));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  testset:
    args: -muon_momentum 0 -muon_shape_factor none -lmo_polar_type svd
    nsize: {{1 2 3}}
    table: suffix | args
      1    | -muon_type {{dense ef21}} -spread {{0 1}}
      topk | -muon_type ef21 -ef21_compressor topk -ef21_server_compressor topk -ef21_server_compressor_ratio 0.4 -spread {{0 1}}

  test:
    suffix: nodes
    nsize: {{2 4}}
    args: -muon_momentum 0 -muon_shape_factor none -lmo_polar_type svd -muon_type {{dense ef21}} -muon_node_size 2 -spread 0

  table: suffix | nsize | args | error
    theory | 1 | -muon_type ef21 -muon_theory smooth -muon_theory_l 1 -muon_theory_lt 1 -muon_max_steps 9 -ef21_init gradient | -muon_lookahead 0.5: step sizes follow from a theorem, which knows of no look-ahead, expected 0
    local  | 2 | -muon_type local | -muon_lookahead 0.5: with -muon_type local weights are a worker's own, expected 0, or -outer_muon_lookahead
    gamma  | 1 | -muon_lookahead_gamma 2 | -muon_lookahead_gamma 2. must be in [0.,1.]

TEST*/
