static char help[] = "Look-ahead: worked examples, and what is kept. equivalence has the optimizers that it is where it does nothing, and restarts.\n\n";

#include "problem.h"

#define KEPT "weights.lookahead"

/* The minimum T of |X - T|^2 / 2, X_3 and d_3 from X_0 = 0 */
static const double T[6] = {1, 0, 2, 0, -1, 1}, X3[6] = {0.165746919539, 0.074501540231, 0.256992298847, -0.074501540231, -0.277499229885, 0.128496149424};
static const double d3[6] = {0.015021225988, 0.006751887006, 0.023290564971, -0.006751887006, -0.025149056497, 0.011645282485}, Zeros[6] = {0};

typedef struct {
  Problem  p;
  double   noise;  /* of each rank's gradient */
  PetscInt fails;  /* the step whose post-step fails, -1 for none */
  double   x[8];   /* weights before the look-ahead, of the scalar */
  double   off[6]; /* by which a server's are not the workers', before the look-ahead */
} Run;

static double One(const Problem *p, PetscInt layer, PetscInt i, PetscInt j, PetscInt step, double w)
{
  return 1;
}

static double Gradient(const Problem *p, PetscInt layer, PetscInt i, PetscInt j, PetscInt step, double w)
{
  return w - T[3 * i + j] + ((const Run *)p->data)->noise * (double)((5 * (3 * i + j) + 3 * step + p->rank) % 7 - 3);
}

/* What a server has still to send */
static PetscErrorCode GetOff(const Run *run, double off[6])
{
  double    w[6] = {0}, x[6] = {0};
  PetscBool kept;

  PetscFunctionBegin;
  PetscCall(ProblemGetRows(&run->p, 0, NULL, w, &kept));
  PetscCall(ProblemGetRows(&run->p, 0, "weights", x, &kept));
  for (int k = 0; k < 6; k++) off[k] = kept ? x[k] - w[k] : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Post(Muon muon, PetscInt step, void *ctx)
{
  Run *run = (Run *)ctx;

  PetscFunctionBegin;
  PetscCheck(step != run->fails, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "as it is asked to");
  if (run->p.form == One && step < 8 && run->p.layer[0].weights.count > 0) run->x[step] = ProblemGet(&run->p.layer[0].weights, 0, 0);
  PetscCall(GetOff(run, run->off));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(const char layer[], double noise, const char beta[], const char gamma[], Run *run)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(run, sizeof(*run)));
  PetscCall(PetscOptionsSetValue(NULL, "-problem_layers", layer));
  PetscCall(ProblemCreate(&run->p, 0, 0));
  run->noise  = noise;
  run->fails  = -1;
  run->p.form = strcmp(layer, "entry") == 0 ? One : Gradient;
  run->p.data = run;
  PetscCall(ProblemSetRows(&run->p, 0, Zeros));
  PetscCall(MuonSetPostStep(run->p.muon, Post, run));
  PetscCall(MuonSetParameter(run->p.muon, "muon_learning_rate", strcmp(layer, "entry") == 0 ? "1" : "0.1"));
  if (beta != NULL) PetscCall(MuonSetParameter(run->p.muon, "muon_lookahead", beta));
  if (gamma != NULL) PetscCall(MuonSetParameter(run->p.muon, "muon_lookahead_gamma", gamma));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Steps(Run *run, PetscInt steps)
{
  double off[6];

  PetscFunctionBegin;
  for (PetscInt k = 0; k < steps; k++) {
    PetscCall(MuonStep(run->p.muon));
    PetscCall(GetOff(run, off));
    for (int e = 0; e < 6; e++) PetscCheck(fabs(off[e] - run->off[e]) < 16 * (double)PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A server's weights were off by %g before the look-ahead, and are by %g", run->off[e], off[e]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const double scalar[4] = {-1, -2.25, -3.6875, -5.265625}, means[4] = {-0.5, -0.875, -1.15625, -1.3671875};
  const double        tolerance = PetscMax(2e-12, 64 * (double)PETSC_MACHINE_EPSILON);
  Run                 a;
  double              d[6], w[6];
  PetscBool           kept, compressed;
  PetscLogDouble      server[2] = {0, 0};

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-ef21_compressor", &compressed));

  /* Exact numbers, of weights before the look-ahead and of d. The fifth step moves by the mean with half of the schedule */
  if (compressed == PETSC_FALSE) {
    PetscCall(Create("entry", 0, "0.5", "0.5", &a));
    for (PetscInt k = 0; k < 5; k++) {
      if (k == 4) PetscCall(MuonSetParameter(a.p.muon, "muon_max_steps", "10"));
      if (k == 4) PetscCall(MuonSetParameter(a.p.muon, "muon_schedule", "linear")); /* a factor of .6 in step 4 */
      PetscCall(MuonStep(a.p.muon));
      PetscCall(ProblemGetRows(&a.p, 0, KEPT, d, &kept));
      PetscCall(ProblemGetRows(&a.p, 0, NULL, w, &kept));
      if (a.p.layer[0].weights.count == 0) continue; /* the entry is another rank's */
      PetscCheck(k == 4 || (a.x[k] == scalar[k] && d[0] == means[k] && w[0] == scalar[k] + means[k] / 2), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %d: x %g, d %g, weights %g", (int)k, a.x[k], d[0], w[0]);
      PetscCheck(k < 4 || fabs(w[0] - a.x[4] - 0.3 * d[0]) < tolerance, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The look-ahead is %g of %g, expected the schedule's part", w[0] - a.x[4], d[0]);
    }
    PetscCall(ProblemDestroy(&a.p));
  }

  /* Of matrices */
  PetscCall(Create("w:2x3", 0, "0.5", "0.9", &a));
  PetscCall(Steps(&a, 3));
  PetscCall(ProblemGetRows(&a.p, 0, KEPT, d, &kept));
  PetscCall(ProblemGetRows(&a.p, 0, NULL, w, &kept));
  for (PetscInt k = 0; k < 3 * a.p.layer[0].weights.count && compressed == PETSC_FALSE; k++) {
    const PetscInt e = 3 * a.p.layer[0].weights.first + k;

    PetscCheck(fabs(d[k] - d3[e]) < tolerance && fabs(w[k] - d[k] / 2 - X3[e]) < tolerance, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Entry %d: x %.12g, d %.12g", (int)e, w[k] - d[k] / 2, d[k]);
  }
  PetscCall(ProblemDestroy(&a.p));

  /* What is kept beside the optimizer inside: nothing where the look-ahead does nothing, else the mean of the steps */
  for (int k = 0; k < 4; k++) {
    const char *const betas[] = {NULL, "0", "0.5", "0.5"}, *const gammas[] = {NULL, "0.5", "1", NULL};

    PetscCall(Create("w:2x3", 0.125, betas[k], gammas[k], &a));
    PetscCall(Steps(&a, 1));
    PetscCall(MuonGetMemory(a.p.muon, NULL, &server[k == 0 ? 0 : 1], NULL));
    PetscCall(ProblemGetRows(&a.p, 0, KEPT, d, &kept));
    PetscCheck(k == 0 || (server[1] - server[0] == (k == 3 ? 3.0 * (double)(a.p.layer[0].weights.count * (PetscInt)sizeof(PetscReal)) : 0) && kept == (k == 3 ? PETSC_TRUE : PETSC_FALSE)), PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "beta %s: %g bytes more, and a mean is %skept", betas[k], server[1] - server[0], kept ? "" : "not ");
    PetscCall(ProblemDestroy(&a.p));
  }

  /* A post-step that fails leaves a state that the next steps go on from, without a look-ahead in one of them */
  PetscCall(Create("w:2x3", 0.125, "0.5", "0.75", &a));
  a.fails = 1;
  PetscCall(MuonStep(a.p.muon));
  Fails(MuonStep(a.p.muon), FAILS_ANY, "");
  PetscCall(Steps(&a, 2));
  PetscCall(ProblemDestroy(&a.p));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  testset:
    args: -muon_momentum 0 -muon_shape_factor none -problem_setup 0
    nsize: {{1 2 3}}
    table: suffix | args
      1    | -muon_type {{dense ef21}} -problem_ranks {{1 0}}
      topk | -muon_type ef21 -ef21_compressor topk -ef21_server_compressor topk -ef21_server_compressor_ratio 0.4 -problem_ranks {{1 0}}

  test:
    suffix: nodes
    nsize: {{2 4}}
    args: -muon_momentum 0 -muon_shape_factor none -problem_setup 0 -muon_type {{dense ef21}} -muon_node_size 2

TEST*/
