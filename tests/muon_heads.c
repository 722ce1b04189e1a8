static char help[] = "Heads whose logits are too large are clipped after a step: a worked example, and servers whose weights are not those of the workers.\n\n";

#include <petscmuon.h>

/* W_q, W_k and tokens, and what becomes of the first rows for tau = 2: S = (15, 1.875), gamma = 2/15; with one key head S = (15, 3.75) */
static const PetscReal A[2][3] = {{2, -1, 2}, {0.25, 0.5, -0.25}}, B[2][3] = {{1, 0.5, -1}, {0.5, -1, 0.25}}, Tokens[3][3] = {{1, 2, 0}, {2, 0, -1}, {0, -1, 2}};
static const PetscReal ClippedA[3] = {0.730296743340, -0.365148371670, 0.730296743340}, ClippedB[3] = {0.365148371670, 0.182574185835, -0.365148371670};

typedef enum {
  PAIR,
  QUERIES, /* the power is 1 */
  GROUP,   /* two query heads with one key head */
  FUSED,   /* one layer of queries, keys and values */
  SERVED,  /* many steps, with gradients of each rank's own */
  FORMS
} Form;

typedef struct {
  Form        form;
  const char *bad;
  Mat         W[2];
  MuonLayer   q, k;
  PetscInt    called, steps;
} Run;

static PetscErrorCode Layer(Muon muon, const char name[], PetscInt m, const PetscReal rows[][3], PetscBool spread, Mat *W, MuonLayer *layer)
{
  PetscInt first, last;

  PetscFunctionBegin;
  PetscCall(MatCreateDense(spread ? PETSC_COMM_WORLD : PETSC_COMM_SELF, PETSC_DECIDE, PETSC_DECIDE, m, 3, NULL, W));
  PetscCall(MatSetUp(*W));
  PetscCall(MatGetOwnershipRange(*W, &first, &last));
  for (PetscInt i = first; i < last; i++) {
    for (PetscInt j = 0; j < 3; j++) PetscCall(MatSetValue(*W, i, j, (PetscScalar)rows[i][j], INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*W, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*W, MAT_FINAL_ASSEMBLY));
  PetscCall(MuonAddLayer(muon, name, *W, layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  const Run  *run = (const Run *)ctx;
  PetscMPIInt rank;

  PetscFunctionBegin;
  *loss = 0;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  for (PetscInt l = 0; l < (run->q == run->k ? 1 : 2); l++) {
    PetscScalar *g;
    PetscInt     m, step;
    Mat          G;

    PetscCall(MuonGetStepNumber(muon, &step));
    PetscCall(MuonLayerGetGradient(l == 0 ? run->q : run->k, &G));
    PetscCall(MatGetLocalSize(G, &m, NULL));
    PetscCall(MatDenseGetArray(G, &g));
    for (PetscInt k = 0; k < 3 * m; k++) g[k] = run->form != SERVED ? 0 : (PetscScalar)((k * 5 + l + 3 * rank + step) % 7 - 3) / 8;
    PetscCall(MatDenseRestoreArray(G, &g));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All rows of both, behind each other: those of keys from the third on */
static PetscErrorCode Weights(const Run *run, PetscReal rows[6][3])
{
  PetscInt at = 0;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < (run->q == run->k ? 1 : 2); l++) {
    const MuonLayer    layer = l == 0 ? run->q : run->k;
    const PetscScalar *w;
    PetscInt           m, n;
    Mat                full;

    PetscCall(MuonLayerGetSize(layer, &m, &n));
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, m, n, NULL, &full));
    PetscCall(MuonLayerGetFullWeights(layer, full));
    PetscCall(MatDenseGetArrayRead(full, &w));
    for (PetscInt i = 0; i < m; i++) {
      for (PetscInt j = 0; j < n; j++) rows[at + i][j] = PetscRealPart(w[i + m * j]);
    }
    PetscCall(MatDenseRestoreArrayRead(full, &w));
    PetscCall(MatDestroy(&full));
    at += m;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest logits of queries of the tokens that this rank has, or of all ranks' */
static PetscErrorCode Logits(const Run *run, PetscBool all, PetscReal S[2])
{
  PetscReal   rows[6][3];
  PetscMPIInt rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(Weights(run, rows));
  for (PetscInt h = 0; h < 2; h++) {
    S[h] = 0;
    for (PetscInt i = 0; i < 3; i++) {
      for (PetscInt j = 0; j < 3 && (all || i % size == rank); j++) {
        PetscReal q = 0, k = 0;

        for (PetscInt c = 0; c < 3; c++) {
          q += rows[h][c] * Tokens[i][c];
          k += rows[2 + (run->form == GROUP ? 0 : h)][c] * Tokens[j][c];
        }
        S[h] = PetscMax(S[h], q * k);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Bad(Run *run, PetscReal S[2])
{
  PetscMPIInt rank, size;
  PetscBool   is[5];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (int k = 0; k < 5; k++) {
    const char *const names[] = {"nan", "tile", "groups", "tau", "differ"};

    PetscCall(PetscStrcmp(run->bad, names[k], &is[k]));
  }
  if (is[0] && rank == size - 1) S[1] = (PetscReal)-HUGE_VAL;
  PetscCall(MuonLayerClipHeads(run->q, run->k, is[1] ? 3 : 2, is[1] ? 3 : is[2] ? 4 : 2, S, is[3] ? 0 : is[4] && rank > 0 ? 3 : 2, (PetscReal)0.5, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The weights that a server has of its own are scaled as those of the workers, and stay those of the server */
static PetscErrorCode Served(Muon muon, Run *run)
{
  const PetscReal S[2] = {200, 1}, by = PetscPowReal((PetscReal)0.01, (PetscReal)0.5);
  Mat             old[2], now[2];
  PetscBool       kept;
  PetscReal       least;
  PetscInt        count, m, first;

  PetscFunctionBegin;
  for (int after = 0; after < 2; after++) {
    Mat *copy = after ? now : old;

    PetscCall(MatDuplicate(run->W[0], MAT_COPY_VALUES, &copy[0]));
    PetscCall(MatDuplicate(run->W[0], MAT_COPY_VALUES, &copy[1]));
    PetscCall(MuonGetLayerState(muon, run->q, "weights", copy[1], &kept));
    if (!after) PetscCall(MuonLayerClipHeads(run->q, run->k, 2, 2, S, 2, (PetscReal)0.5, &count, &least));
  }
  PetscCheck(count == 1 && PetscAbsReal(least - (PetscReal)0.01) < 4 * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d heads by %g", (int)count, (double)least);
  PetscCall(MatGetLocalSize(old[0], &m, NULL));
  PetscCall(MatGetOwnershipRange(old[0], &first, NULL));
  for (int server = 0; server < (kept ? 2 : 1); server++) {
    const PetscScalar *a, *b;

    PetscCall(MatDenseGetArrayRead(old[server], &a));
    PetscCall(MatDenseGetArrayRead(now[server], &b));
    for (PetscInt k = 0; k < 3 * m; k++) {
      const PetscScalar expected = (first + k % m == 0 ? (PetscScalar)by : 1) * a[k];

      PetscCheck(PetscAbsScalar(b[k] - expected) <= (first + k % m == 0 ? 8 * PETSC_MACHINE_EPSILON * PetscAbsScalar(a[k]) : 0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Entry %d of %s is %g, expected %g", (int)k, server ? "X" : "W",
                 (double)PetscRealPart(b[k]), (double)PetscRealPart(expected));
    }
    PetscCall(MatDenseRestoreArrayRead(old[server], &a));
    PetscCall(MatDenseRestoreArrayRead(now[server], &b));
  }
  for (int server = 0; server < 2; server++) {
    PetscCall(MatDestroy(&old[server]));
    PetscCall(MatDestroy(&now[server]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Post(Muon muon, PetscInt step, void *ctx)
{
  Run            *run   = (Run *)ctx;
  const PetscInt  keys  = run->form == GROUP ? 1 : 2;
  const PetscReal power = run->form == QUERIES ? 1 : (PetscReal)0.5, tolerance = PetscMax((PetscReal)2e-12, 32 * PETSC_MACHINE_EPSILON);
  PetscReal       S[2], before[6][3], after[6][3], again[6][3], least;
  PetscInt        count;

  PetscFunctionBegin;
  PetscCheck(step == run->called++, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %d in call %d", (int)step, (int)run->called);
  if (run->form == SERVED) {
    PetscCall(Served(muon, run));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMemzero(before, sizeof(before)));
  PetscCall(PetscMemzero(after, sizeof(after)));
  PetscCall(PetscMemzero(again, sizeof(again)));
  PetscCall(Weights(run, before));
  PetscCall(Logits(run, PETSC_FALSE, S));
  if (run->bad[0] != '\0') PetscCall(Bad(run, S));
  PetscCall(MuonLayerClipHeads(run->q, run->k, 2, keys, S, 100, power, &count, &least)); /* nothing to do */
  PetscCall(Weights(run, after));
  PetscCheck(count == 0 && least == 1 && memcmp(before, after, sizeof(before)) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Form %d: small logits changed weights", (int)run->form);
  PetscCall(MuonLayerClipHeads(run->q, run->k, 2, keys, S, 2, power, &count, &least));
  PetscCall(Weights(run, after));
  PetscCheck(count == (run->form == GROUP ? 2 : 1) && PetscAbsReal(least - (PetscReal)2 / 15) < tolerance, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Form %d: %d heads by %g", (int)run->form, (int)count, (double)least);
  for (PetscInt i = 0; i < 6; i++) {
    for (PetscInt j = 0; j < 3; j++) {
      PetscReal expected = before[i][j];

      if (i == 0) expected = run->form == QUERIES ? before[i][j] * 2 / 15 : ClippedA[j];
      if (i == 1 && run->form == GROUP) expected *= PetscSqrtReal((PetscReal)2 / 15);
      if (i == 2 && run->form != QUERIES) expected = ClippedB[j];
      PetscCheck(PetscAbsReal(after[i][j] - expected) <= (expected == before[i][j] ? 0 : tolerance), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Form %d: row %d, column %d is %.12g, expected %.12g", (int)run->form, (int)i, (int)j, (double)after[i][j],
                 (double)expected);
    }
  }
  PetscCall(Logits(run, PETSC_TRUE, S));
  PetscCheck(PetscAbsReal(S[0] - 2) < tolerance && PetscAbsReal(S[1] - (run->form == GROUP ? (PetscReal)0.5 : (PetscReal)1.875)) < tolerance, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Form %d: logits of %g and %g after the clip", (int)run->form,
             (double)S[0], (double)S[1]);
  S[0] = PetscMin(S[0], 2); /* to rounding */
  PetscCall(MuonLayerClipHeads(run->q, run->k, 2, keys, S, 2, power, &count, NULL));
  PetscCall(Weights(run, again));
  PetscCheck(count == 0 && memcmp(again, after, sizeof(after)) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Form %d: a second call changed weights", (int)run->form);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A run; what its weights are in the end */
static PetscErrorCode Go(Form form, PetscBool check, PetscReal end[6][3])
{
  const PetscReal fused[6][3] = {{2, -1, 2}, {0.25, 0.5, -0.25}, {1, 0.5, -1}, {0.5, -1, 0.25}, {3, 5, 7}, {11, 13, 17}};
  PetscBool       spread      = PETSC_FALSE, alone;
  PetscMPIInt     rank;
  char            bad[16] = "";
  Muon            muon;
  Run             run;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&run, sizeof(run)));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-spread", &spread, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-bad", bad, sizeof(bad), NULL));
  run.form = form;
  run.bad  = bad;
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(Layer(muon, "q", form == FUSED ? 6 : 2, form == FUSED ? fused : A, spread, &run.W[0], &run.q));
  run.k = run.q;
  if (form != FUSED) PetscCall(Layer(muon, "k", form == GROUP ? 1 : 2, B, spread, &run.W[1], &run.k));
  PetscCall(MuonSetObjectiveAndGradient(muon, Objective, &run));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-alone", &alone));
  if (!alone || rank == 0) PetscCall(MuonSetPostStep(muon, Post, &run));
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonSetParameter(muon, "muon_check_weights", check ? "true" : "false"));
  for (PetscInt k = 0; k < (form == SERVED ? 6 : 1); k++) PetscCall(MuonStep(muon));
  PetscCheck(run.called == (form == SERVED ? 6 : 1), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d calls", (int)run.called);
  PetscCall(Weights(&run, end));
  PetscCall(MuonSetPostStep(muon, NULL, NULL));
  PetscCall(MuonStep(muon));
  PetscCheck(run.called == (form == SERVED ? 6 : 1), PETSC_COMM_SELF, PETSC_ERR_PLIB, "A routine that was removed is called");
  PetscCall(MuonDestroy(&muon));
  PetscCall(MatDestroy(&run.W[0]));
  PetscCall(MatDestroy(&run.W[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscReal end[2][6][3];

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  for (int form = PAIR; form < FORMS; form++) {
    for (int check = 0; check < 2; check++) {
      PetscCall(PetscMemzero(end[check], sizeof(end[check])));
      PetscCall(Go((Form)form, check ? PETSC_TRUE : PETSC_FALSE, end[check]));
    }
    /* The watch over weights takes no clip for a change of the program's */
    PetscCheck(memcmp(end[0], end[1], sizeof(end[0])) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Form %d: servers took over other weights", form);
  }
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{1 2 3}}
    args: -spread {{0 1}}
    table: suffix | args
      dense | -muon_type dense
      ef21  | -muon_type ef21 -ef21_compressor topk -ef21_server_compressor topk -ef21_server_compressor_ratio 0.4 -ef21_compressor_ratio 0.4

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
