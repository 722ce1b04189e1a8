static char help[] = "Estimates of smoothness and noise along a path: exact for an isotropic quadratic, never beyond the true constants, and those that tests/oracle/theory_estimate.py finds on the same path.\n";

#include <petscmuon.h>
#include <stdio.h>

enum {
  M     = 5,
  N     = 4,
  STEPS = 12
};

/* f_j = sum of H_j (W - B_j)^2 / 2 and, with noise, <S, W> with the numbers S of a batch */
typedef struct {
  Mat         W;
  MuonLayer   layer;
  PetscMPIInt rank;
  PetscBool   isotropic, noise, ask;
  PetscInt    batch; /* that was drawn last */
  FILE       *file;
} Problem;

static PetscReal Number(PetscInt what, PetscInt e, PetscInt batch)
{
  return PetscSinReal((PetscReal)(1 + what * 37 + e * 11 + batch * 101)) * 2;
}

static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  Problem       *p          = (Problem *)ctx;
  MuonEvaluation evaluation = MUON_EVALUATION_STEP;
  const char    *name;
  Mat            G;
  PetscScalar    w[M * N], g[M * N];
  PetscInt       rows[M], columns[N];

  PetscFunctionBegin;
  if (p->ask) PetscCall(MuonGetEvaluation(muon, &evaluation));
  if (evaluation != MUON_EVALUATION_AGAIN) p->batch++;
  *loss = 0;
  for (PetscInt i = 0; i < M; i++) rows[i] = i;
  for (PetscInt j = 0; j < N; j++) columns[j] = j;
  PetscCall(MatGetValues(p->W, M, rows, N, columns, w));
  for (PetscInt e = 0; e < M * N; e++) {
    const PetscReal h = p->isotropic ? (PetscReal)(1 + p->rank) : 3 + Number(p->rank, e, 0), d = PetscRealPart(w[e]) - Number(10 + p->rank, e, 0);

    *loss += h * d * d / 2;
    g[e] = h * d + (p->noise ? Number(20 + p->rank, e, p->batch) : 0);
  }
  PetscCall(MuonLayerGetGradient(p->layer, &G));
  PetscCall(MatSetValues(G, M, rows, N, columns, g, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(G, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(G, MAT_FINAL_ASSEMBLY));
  /* One line an evaluation: which, the weights, the gradient */
  name = evaluation == MUON_EVALUATION_STEP ? "step" : evaluation == MUON_EVALUATION_AGAIN ? "again" : "other";
  if (p->file != NULL) {
    fprintf(p->file, "%s", name);
    for (PetscInt e = 0; e < M * N; e++) fprintf(p->file, " %.17g", (double)PetscRealPart(w[e]));
    for (PetscInt e = 0; e < M * N; e++) fprintf(p->file, " %.17g", (double)PetscRealPart(g[e]));
    fprintf(p->file, "\n");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of c times the identity between a norm and its dual the constant is c times the largest of ||X||_F^2 / ||X||^2; in the Frobenius norm that is c, along every path */
static PetscErrorCode CheckIsotropic(const Problem *p, PetscMPIInt size, const MuonTheoryEstimate *e)
{
  PetscReal l = 0, lt = 0;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < size; j++) l += (PetscReal)(1 + j) / size;
  for (PetscInt j = 0; j < size; j++) lt += (PetscReal)((1 + j) * (1 + j)) / size;
  lt = PetscSqrtReal(lt);
  PetscCheck(PetscAbsReal(e->l - l) <= 1e-6 * l && PetscAbsReal(e->lt - lt) <= 1e-6 * lt, PETSC_COMM_SELF, PETSC_ERR_PLIB, "L is %.12g and Lt %.12g, expected %.12g and %.12g", (double)e->l, (double)e->lt, (double)l, (double)lt);
  PetscCheck(PetscAbsReal(e->l0 - l) <= 1e-6 * l && e->l1 <= 1e-6, PETSC_COMM_SELF, PETSC_ERR_PLIB, "L0 is %.12g and L1 %.12g, expected %.12g and 0", (double)e->l0, (double)e->l1, (double)l);
  PetscCheck(e->sigma == 0 || p->noise, PETSC_COMM_SELF, PETSC_ERR_PLIB, "sigma is %g, expected 0", (double)e->sigma);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Problem            p                       = {NULL, NULL, 0, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE, 0, NULL};
  char               dir[PETSC_MAX_PATH_LEN] = "", path[PETSC_MAX_PATH_LEN];
  PetscReal          factor;
  PetscMPIInt        size;
  MuonLMO            lmo;
  MuonLMOType        norm;
  MuonTheoryEstimate e;
  Muon               muon;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-oracle_dir", dir, sizeof(dir), NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-isotropic", &p.isotropic, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-noise", &p.noise, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-ask", &p.ask, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &p.rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/path.%d", dir, p.rank));
  if (dir[0] != '\0') p.file = fopen(path, "w");
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, M, N, NULL, &p.W));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(MuonAddLayer(muon, "w", p.W, &p.layer));
  PetscCall(MuonSetObjectiveAndGradient(muon, Objective, &p));
  PetscCall(MuonSetMaxSteps(muon, STEPS));
  PetscCall(MuonSetSchedule(muon, MUON_SCHEDULE_CONSTANT, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonSolve(muon));
  PetscCall(MuonGetTheoryEstimate(muon, p.layer, &e));
  PetscCheck((e.batches == 1) == (p.ask == PETSC_TRUE), PETSC_COMM_SELF, PETSC_ERR_PLIB, "The routine %s", p.ask ? "asked" : "did not ask");
  if (p.isotropic) PetscCall(CheckIsotropic(&p, size, &e));
  PetscCall(MuonLayerGetRadiusFactor(p.layer, &factor));
  PetscCall(MuonLayerGetLMO(p.layer, &lmo));
  PetscCall(MuonLMOGetType(lmo, &norm));
  if (p.file != NULL) {
    fprintf(p.file, "result %d %.17g %.17g %.17g %.17g %.17g %.17g %.17g %s\n", (int)e.samples, (double)e.l, (double)e.lt, (double)e.l0, (double)e.l1, (double)e.fit, (double)e.sigma, (double)factor, norm);
    fclose(p.file);
  }
  PetscCall(MuonDestroy(&muon));
  PetscCall(MatDestroy(&p.W));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  build:
    requires: double

  testset:
    requires: numpy
    nsize: 3
    filter: grep -v theory
    oracle: theory_estimate.py
    args: -noise -muon_learning_rate 0.1
    table: suffix | args
      norms    | -lmo_type {{max nuclear row}} -muon_theory_estimate 1 -muon_layer_w_scale 0.5
      interval | -lmo_polar_type svd -muon_theory_estimate 3 -muon_step sharp -muon_learning_rate 0.01 -ef21_compressor topk -ef21_compressor_ratio 0.5

  table: suffix | nsize | args | unused
    isotropic | 2 | -isotropic -lmo_type frobenius -muon_theory_estimate 1 -muon_theory_monitor -muon_theory_csv estimates.csv |
    ask       |   | -ask 0 -noise -lmo_type frobenius -muon_theory_estimate 5    |
    auto      | 2 | -isotropic -muon_theory auto -muon_theory_auto_steps 3 -muon_theory_gap 10 -muon_theory_safety 1.5 -muon_learning_rate 0.01 -lmo_type frobenius -ef21_init gradient -ef21_compressor damping -ef21_compressor_ratio 0.5 -ef21_compressor_values double |

TEST*/
