static char help[] = "Estimates of smoothness and noise along a path: exact for an isotropic quadratic, never beyond the true constants, and those that tests/oracle/theory_estimate.py finds on the same path.\n";

#include "problem.h"

enum {
  M = 5,
  N = 4
};

/* f_j = sum of H_j (W - B_j)^2 / 2 and, with noise, <S, W> with the numbers S of a batch */
typedef struct {
  Problem   p;
  PetscBool isotropic, noise, ask;
  PetscInt  batch; /* that was drawn last */
  FILE     *file;
} Run;

static PetscReal Number(PetscInt what, PetscInt e, PetscInt batch)
{
  return PetscSinReal((PetscReal)(1 + what * 37 + e * 11 + batch * 101)) * 2;
}

static double Gradient(const Problem *p, PetscInt layer, PetscInt i, PetscInt j, PetscInt step, double w)
{
  const Run     *run = (const Run *)p->data;
  const PetscInt e   = i * N + j;
  const double   h   = run->isotropic ? 1 + p->rank : (double)(3 + Number(p->rank, e, 0));

  return h * (w - (double)Number(10 + p->rank, e, 0)) + (run->noise ? (double)Number(20 + p->rank, e, run->batch) : 0);
}

/* One line an evaluation: which, the weights, the gradient */
static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  Run           *run        = (Run *)ctx;
  MuonEvaluation evaluation = MUON_EVALUATION_STEP;
  double         w[M * N];

  PetscFunctionBegin;
  if (run->ask) PetscCall(MuonGetEvaluation(muon, &evaluation));
  if (evaluation != MUON_EVALUATION_AGAIN) run->batch++;
  PetscCall(ProblemObjective(muon, loss, &run->p));
  if (run->file == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ProblemGetRows(&run->p, 0, NULL, w, NULL));
  fprintf(run->file, "%s", evaluation == MUON_EVALUATION_STEP ? "step" : evaluation == MUON_EVALUATION_AGAIN ? "again" : "other");
  for (PetscInt e = 0; e < M * N; e++) fprintf(run->file, " %.17g", w[e]);
  for (PetscInt e = 0; e < M * N; e++) fprintf(run->file, " %.17g", Gradient(&run->p, 0, e / N, e % N, 0, w[e]));
  fprintf(run->file, "\n");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of c times the identity between a norm and its dual the constant is c times the largest of ||X||_F^2 / ||X||^2; in the Frobenius norm that is c, along every path */
static PetscErrorCode CheckIsotropic(const Run *run, const MuonTheoryEstimate *e)
{
  PetscReal l = 0, lt = 0;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < run->p.size; j++) l += (PetscReal)(1 + j) / run->p.size;
  for (PetscInt j = 0; j < run->p.size; j++) lt += (PetscReal)((1 + j) * (1 + j)) / run->p.size;
  lt = PetscSqrtReal(lt);
  PetscCheck(PetscAbsReal(e->l - l) <= 1e-6 * l && PetscAbsReal(e->lt - lt) <= 1e-6 * lt, PETSC_COMM_SELF, PETSC_ERR_PLIB, "L is %.12g and Lt %.12g, expected %.12g and %.12g", (double)e->l, (double)e->lt, (double)l, (double)lt);
  PetscCheck(PetscAbsReal(e->l0 - l) <= 1e-6 * l && e->l1 <= 1e-6, PETSC_COMM_SELF, PETSC_ERR_PLIB, "L0 is %.12g and L1 %.12g, expected %.12g and 0", (double)e->l0, (double)e->l1, (double)l);
  PetscCheck(e->sigma == 0 || run->noise, PETSC_COMM_SELF, PETSC_ERR_PLIB, "sigma is %g, expected 0", (double)e->sigma);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const double       zeros[M * N] = {0};
  Run                run;
  char               dir[PETSC_MAX_PATH_LEN] = "", path[PETSC_MAX_PATH_LEN];
  PetscReal          factor;
  MuonLMO            lmo;
  MuonLMOType        norm;
  MuonTheoryEstimate e;
  Muon               muon;
  MuonLayer          layer;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscMemzero(&run, sizeof(run)));
  run.ask = PETSC_TRUE;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-oracle_dir", dir, sizeof(dir), NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-isotropic", &run.isotropic, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-noise", &run.noise, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-ask", &run.ask, NULL));
  PetscCall(PetscOptionsInsertString(NULL, "-problem_layers w:5x4 -problem_setup 0 -muon_max_steps 12 -muon_schedule constant"));
  PetscCall(ProblemCreate(&run.p, 0, 0));
  muon       = run.p.muon;
  layer      = run.p.layer[0].layer;
  run.p.form = Gradient;
  run.p.data = &run;
  PetscCall(ProblemSetRows(&run.p, 0, zeros));
  PetscCall(MuonSetObjectiveAndGradient(muon, Objective, &run));
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/path.%d", dir, run.p.rank));
  if (dir[0] != '\0') run.file = fopen(path, "w");
  PetscCall(MuonSolve(muon));
  PetscCall(MuonGetTheoryEstimate(muon, layer, &e));
  PetscCheck((e.batches == 1) == (run.ask == PETSC_TRUE), PETSC_COMM_SELF, PETSC_ERR_PLIB, "The routine %s", run.ask ? "asked" : "did not ask");
  if (run.isotropic) PetscCall(CheckIsotropic(&run, &e));
  PetscCall(MuonLayerGetRadiusFactor(layer, &factor));
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  PetscCall(MuonLMOGetType(lmo, &norm));
  if (run.file != NULL) {
    fprintf(run.file, "result %d %.17g %.17g %.17g %.17g %.17g %.17g %.17g %s\n", (int)e.samples, (double)e.l, (double)e.lt, (double)e.l0, (double)e.l1, (double)e.fit, (double)e.sigma, (double)factor, norm);
    fclose(run.file);
  }
  PetscCall(ProblemDestroy(&run.p));
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
