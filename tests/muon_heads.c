static char help[] = "Heads whose logits are too large are clipped after a step: a worked example, and servers whose weights are not those of the workers.\n\n";

#include "problem.h"

/* W_q, W_k and tokens, and what becomes of the first rows for tau = 2: S = (15, 1.875), gamma = 2/15; with one key head S = (15, 3.75) */
static const double Rows[6][3] = {{2, -1, 2}, {0.25, 0.5, -0.25}, {1, 0.5, -1}, {0.5, -1, 0.25}, {3, 5, 7}, {11, 13, 17}}, Tokens[3][3] = {{1, 2, 0}, {2, 0, -1}, {0, -1, 2}};
static const double ClippedA[3] = {0.730296743340, -0.365148371670, 0.730296743340}, ClippedB[3] = {0.365148371670, 0.182574185835, -0.365148371670};

typedef enum {
  PAIR,
  QUERIES, /* the power is 1 */
  GROUP,   /* two query heads with one key head */
  FUSED,   /* one layer of queries, keys and values */
  SERVED,  /* many steps, with gradients of each rank's own */
  FORMS
} Form;

static const char *const Layers[] = {"q:2x3,k:2x3", "q:2x3,k:2x3", "q:2x3,k:1x3", "q:6x3", "q:2x3,k:2x3"};

typedef struct {
  Problem     p;
  Form        form;
  const char *bad;
  MuonLayer   q, k;
  PetscInt    called;
} Run;

static double Gradient(const Problem *p, PetscInt layer, PetscInt i, PetscInt j, PetscInt step, double w)
{
  return ((const Run *)p->data)->form != SERVED ? 0 : (double)(((3 * i + j) * 5 + layer + 3 * p->rank + step) % 7 - 3) / 8;
}

/* All rows of both, behind each other: those of keys from the third on */
static PetscErrorCode Weights(const Run *run, double rows[6][3])
{
  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&rows[0][0], 18));
  for (PetscInt l = 0; l < run->p.n; l++) PetscCall(ProblemGetRows(&run->p, l, "full", rows[2 * l], NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest logits of queries of the tokens that this rank has, or of all ranks' */
static void Logits(const Run *run, double rows[6][3], PetscBool all, PetscReal S[2])
{
  for (PetscInt h = 0; h < 2; h++) {
    S[h] = 0;
    for (PetscInt i = 0; i < 3; i++) {
      for (PetscInt j = 0; j < 3 && (all || i % run->p.size == run->p.rank); j++) {
        double q = 0, k = 0;

        for (PetscInt c = 0; c < 3; c++) {
          q += rows[h][c] * Tokens[i][c];
          k += rows[2 + (run->form == GROUP ? 0 : h)][c] * Tokens[j][c];
        }
        S[h] = PetscMax(S[h], (PetscReal)(q * k));
      }
    }
  }
}

static PetscErrorCode Bad(Run *run, PetscReal S[2])
{
  const char *const bad   = run->bad;
  const PetscInt    heads = strcmp(bad, "tile") == 0 ? 3 : 2;

  PetscFunctionBegin;
  if (strcmp(bad, "nan") == 0 && run->p.rank == run->p.size - 1) S[1] = (PetscReal)-HUGE_VAL;
  PetscCall(MuonLayerClipHeads(run->q, run->k, heads, strcmp(bad, "groups") == 0 ? 4 : heads, S, strcmp(bad, "tau") == 0 ? 0 : strcmp(bad, "differ") == 0 && run->p.rank > 0 ? 3 : 2, (PetscReal)0.5, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The weights that a server has of its own are scaled as those of the workers, and stay those of the server */
static PetscErrorCode Served(Run *run)
{
  const PetscReal S[2] = {200, 1};
  double          old[2][6], now[2][6];
  PetscBool       kept;
  PetscReal       least = 0;
  PetscInt        count = 0;

  PetscFunctionBegin;
  for (int after = 0; after < 2; after++) {
    PetscCall(ProblemGetRows(&run->p, 0, NULL, after ? now[0] : old[0], &kept));
    PetscCall(ProblemGetRows(&run->p, 0, "weights", after ? now[1] : old[1], &kept));
    if (!after) PetscCall(MuonLayerClipHeads(run->q, run->k, 2, 2, S, 2, (PetscReal)0.5, &count, &least));
  }
  PetscCheck(count == 1 && PetscAbsReal(least - (PetscReal)0.01) < 4 * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d heads by %g", (int)count, (double)least);
  for (int server = 0; server < (kept ? 2 : 1); server++) {
    for (PetscInt e = 0; e < 3 * run->p.layer[0].weights.count; e++) {
      const PetscBool scaled   = run->p.layer[0].weights.first + e / 3 == 0 ? PETSC_TRUE : PETSC_FALSE;
      const double    expected = (scaled ? 0.1 : 1) * old[server][e];

      PetscCheck(fabs(now[server][e] - expected) <= (scaled ? 8 * (double)PETSC_MACHINE_EPSILON * fabs(expected) : 0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Entry %d of %s is %g, expected %g", (int)e, server ? "X" : "W", now[server][e], expected);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Post(Muon muon, PetscInt step, void *ctx)
{
  Run            *run       = (Run *)ctx;
  const PetscInt  keys      = run->form == GROUP ? 1 : 2;
  const PetscReal power     = run->form == QUERIES ? 1 : (PetscReal)0.5;
  const double    tolerance = PetscMax(2e-12, 32 * (double)PETSC_MACHINE_EPSILON);
  PetscReal       S[2], least;
  double          before[6][3], after[6][3], again[6][3];
  PetscInt        count;

  PetscFunctionBegin;
  PetscCheck(step == run->called++, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %d in call %d", (int)step, (int)run->called);
  if (run->form == SERVED) {
    PetscCall(Served(run));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(Weights(run, before));
  Logits(run, before, PETSC_FALSE, S);
  if (run->bad[0] != '\0') PetscCall(Bad(run, S));
  PetscCall(MuonLayerClipHeads(run->q, run->k, 2, keys, S, 100, power, &count, &least)); /* nothing to do */
  PetscCall(Weights(run, after));
  PetscCheck(count == 0 && least == 1 && memcmp(before, after, sizeof(before)) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Form %d: small logits changed weights", (int)run->form);
  PetscCall(MuonLayerClipHeads(run->q, run->k, 2, keys, S, 2, power, &count, &least));
  PetscCall(Weights(run, after));
  PetscCheck(count == (run->form == GROUP ? 2 : 1) && PetscAbsReal(least - (PetscReal)2 / 15) < tolerance, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Form %d: %d heads by %g", (int)run->form, (int)count, (double)least);
  for (PetscInt i = 0; i < 6; i++) {
    for (PetscInt j = 0; j < 3; j++) {
      double expected = before[i][j];

      if (i == 0) expected = run->form == QUERIES ? before[i][j] * 2 / 15 : ClippedA[j];
      if (i == 1 && run->form == GROUP) expected *= sqrt(2. / 15);
      if (i == 2 && run->form != QUERIES) expected = ClippedB[j];
      PetscCheck(fabs(after[i][j] - expected) <= (expected == before[i][j] ? 0 : tolerance), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Form %d: row %d, column %d is %.12g, expected %.12g", (int)run->form, (int)i, (int)j, after[i][j], expected);
    }
  }
  Logits(run, after, PETSC_TRUE, S);
  PetscCheck(PetscAbsReal(S[0] - 2) < tolerance && PetscAbsReal(S[1] - (run->form == GROUP ? (PetscReal)0.5 : (PetscReal)1.875)) < tolerance, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Form %d: logits of %g and %g after the clip", (int)run->form,
             (double)S[0], (double)S[1]);
  S[0] = PetscMin(S[0], 2); /* to rounding */
  PetscCall(MuonLayerClipHeads(run->q, run->k, 2, keys, S, 2, power, &count, NULL));
  PetscCall(Weights(run, again));
  PetscCheck(count == 0 && memcmp(again, after, sizeof(after)) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Form %d: a second call changed weights", (int)run->form);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A run; what its weights are in the end */
static PetscErrorCode Go(Form form, PetscBool check, double end[6][3])
{
  const PetscInt steps   = form == SERVED ? 6 : 1;
  char           bad[16] = "";
  PetscBool      alone;
  Run            run;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&run, sizeof(run)));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-bad", bad, sizeof(bad), NULL));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-alone", &alone));
  PetscCall(PetscOptionsSetValue(NULL, "-problem_layers", Layers[form]));
  PetscCall(PetscOptionsSetValue(NULL, "-muon_check_weights", check ? "true" : "false"));
  PetscCall(ProblemCreate(&run.p, 0, 0));
  run.form   = form;
  run.bad    = bad;
  run.q      = run.p.layer[0].layer;
  run.k      = run.p.layer[run.p.n - 1].layer;
  run.p.form = Gradient;
  run.p.data = &run;
  for (PetscInt l = 0; l < run.p.n; l++) PetscCall(ProblemSetRows(&run.p, l, Rows[2 * l + run.p.layer[l].weights.first]));
  if (!alone || run.p.rank == 0) PetscCall(MuonSetPostStep(run.p.muon, Post, &run));
  for (PetscInt k = 0; k < steps; k++) PetscCall(MuonStep(run.p.muon));
  PetscCheck(run.called == steps, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d calls", (int)run.called);
  PetscCall(Weights(&run, end));
  PetscCall(MuonSetPostStep(run.p.muon, NULL, NULL));
  PetscCall(MuonStep(run.p.muon));
  PetscCheck(run.called == steps, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A routine that was removed is called");
  PetscCall(ProblemDestroy(&run.p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  double end[2][6][3];

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  for (int form = PAIR; form < FORMS; form++) {
    for (int check = 0; check < 2; check++) PetscCall(Go((Form)form, check ? PETSC_TRUE : PETSC_FALSE, end[check]));
    /* The watch over weights takes no clip for a change of the program's */
    PetscCheck(memcmp(end[0], end[1], sizeof(end[0])) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Form %d: servers took over other weights", form);
  }
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{1 2 3}}
    args: -problem_setup 0 -problem_ranks {{1 0}}
    table: suffix | args
      dense | -muon_type dense
      ef21  | -muon_type ef21 -ef21_compressor topk -ef21_server_compressor topk -ef21_server_compressor_ratio 0.4 -ef21_compressor_ratio 0.4

  testset:
    args: -problem_setup 0
    table: suffix | nsize | args | error
      nan       | 2 | -muon_type dense -bad nan | Layer "q": the largest logit of head 1 is NaN or Inf on some rank, expected finite numbers
      tile      | 2 | -bad tile                 | Layer "q": it has 2 rows, expected those of 3 heads, each of as many rows as the others, in the other layer too
      groups    | 2 | -bad groups               | Layer "q": 2 query heads and 4 key heads, expected as many query heads for each key head
      tau       | 2 | -bad tau                  | Layer "q": logits of at most 0. and a power of 0.5, expected a number above 0, and one in [0,1]
      differ    | 2 | -bad differ               | Layer "q": the arguments of MuonLayerClipHeads() differ between the ranks, expected the same but for logits
      frozen    | 2 | -muon_layer_k_type frozen | Layer "k": it is frozen, expected a layer that steps move
      hyperball | 2 | -muon_layer_k_hyperball   | Layer "k": -muon_layer_k_hyperball: the weights keep their norm, which a clip would change, expected none
      alone     | 3 | -muon_type {{dense ef21}} -alone | or whether there is a routine of MuonSetPostStep(), is not
      local     | 2 | -muon_type local          | Layer "q": with -muon_type local weights are a worker's own, expected another type

TEST*/
