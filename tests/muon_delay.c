static char help[] = "A step late: rounds one step later, messages under way, restarts at every step, what is refused.\n\n";

#include "ef21_common.h"

#define STEPS 6

/* Gradients that do not depend on the weights; those of one step may be no numbers, always or the first time that they are asked for */
typedef struct {
  TestProblem p;
  PetscBool   free, huge; /* the second: two gradients are so far apart that no message can hold the difference */
  PetscInt    bad, times;
} Delayed;

static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  Delayed           *d    = (Delayed *)ctx;
  volatile PetscReal zero = 0;
  PetscInt           step;

  PetscFunctionBegin;
  PetscCall(MuonGetStepNumber(muon, &step));
  if (d->free == PETSC_FALSE) PetscCall(TestObjective(muon, loss, &d->p));
  for (PetscInt l = d->p.n - 1; l >= 0; l--) {
    const PetscInt n = TestEntries(&d->p.shape[l]);
    PetscReal     *rows;

    if (d->free) {
      PetscCall(PetscMalloc1(n, &rows));
      for (PetscInt e = 0; e < n; e++) rows[e] = d->huge && (step == 1 || step == 2) ? (PetscReal)(step == 1 ? 0.7 : -0.7) * PETSC_MAX_REAL : TestNumber(l, e, d->p.worker, 100 + step);
      if (l == 1 && step == d->bad && d->times > 0 && d->p.rank == 0) rows[2] = 0 / zero;
      PetscCall(TestSetGradient(&d->p, l, rows));
      PetscCall(PetscFree(rows));
      *loss = step;
    }
    PetscCall(MuonProgress(muon));
    if (l % 2) PetscCall(MuonLayerGradientReady(d->p.layer[l]));
  }
  if (step == d->bad) d->times--;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(MPI_Comm comm, const char options[], PetscInt delay, PetscInt worker, PetscBool free, Delayed *d)
{
  char text[1024];

  PetscFunctionBegin;
  PetscCall(PetscMemzero(d, sizeof(*d)));
  PetscCall(TestCreate(comm, MUONDENSE, TEST_LAYERS, TestShapes, worker, &d->p));
  d->p.noise = 4;
  d->bad     = -1;
  d->free    = free;
  PetscCall(MuonSetObjectiveAndGradient(d->p.muon, Objective, d));
  PetscCall(PetscSNPrintf(text, sizeof(text), "-muon_max_steps %d -muon_delay %" PetscInt_FMT " %s", STEPS + 1, delay, options));
  PetscCall(PetscOptionsInsertString(NULL, text));
  PetscCall(MuonSetFromOptions(d->p.muon));
  PetscCall(MuonSetUp(d->p.muon));
  PetscCall(PetscOptionsClear(NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Steps(Delayed *d, PetscInt steps)
{
  PetscFunctionBegin;
  for (PetscInt s = 0; s < steps; s++) PetscCall(MuonStep(d->p.muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(Delayed *one, Delayed *other, const char what[], const char options[], PetscInt at)
{
  PetscReal difference, loss[2];

  PetscFunctionBegin;
  PetscCall(TestCompareWeights(&one->p, &other->p, &difference));
  PetscCheck(difference == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s%" PetscInt_FMT ", %s: weights are %g apart", what, at, options, (double)difference);
  PetscCall(MuonGetLoss(one->p.muon, &loss[0]));
  PetscCall(MuonGetLoss(other->p.muon, &loss[1]));
  PetscCheck(one->free || loss[0] == loss[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s%" PetscInt_FMT ", %s: losses %g and %g", what, at, options, (double)loss[0], (double)loss[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What compression did to a layer in the step that was served: bytes, contraction and lag */
static PetscErrorCode CompareCompression(Delayed *late, Delayed *now, const char options[])
{
  MuonEF21Compression a, b;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < now->p.n; l++) {
    PetscCall(MuonEF21GetLayerCompression(late->p.muon, late->p.layer[l], &a));
    PetscCall(MuonEF21GetLayerCompression(now->p.muon, now->p.layer[l], &b));
    for (int k = 0; k < 2; k++)
      PetscCheck(a.step == b.step + 1 && a.bytes[k] == b.bytes[k] && a.mean[k][0] == b.mean[k][0] && a.lag_mean[k][0] == b.lag_mean[k][0], PETSC_COMM_SELF, PETSC_ERR_PLIB,
                 "%s, layer %" PetscInt_FMT ", way %d of step %" PetscInt_FMT ": %g bytes, lag %g, expected %g and %g", options, l, k, a.step, (double)a.bytes[k], (double)a.lag_mean[k][0], (double)b.bytes[k], (double)b.lag_mean[k][0]);
    PetscCheck(late->p.size == 1 || a.bytes[0] > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, layer %" PetscInt_FMT ": no bytes went up", options, l);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The weights of delay 1 are those of no delay one step later, where a step is left out, too, or fails once */
static PetscErrorCode TestIdentity(const char options[])
{
  const struct {
    const char *nan;
    PetscInt    times;
  } cases[]                = {{"stop", 0}, {"skip", 2}, {"stop", 1}};
  const PetscBool     ef21 = strstr(options, MUONEF21) != NULL ? PETSC_TRUE : PETSC_FALSE;
  MuonConvergedReason reason;
  PetscReal           loss;
  Delayed             late, now;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) {
    PetscCall(Create(PETSC_COMM_WORLD, options, 0, -1, PETSC_TRUE, &now));
    PetscCall(Create(PETSC_COMM_WORLD, options, 1, -1, PETSC_TRUE, &late));
    late.bad   = 2;
    late.times = cases[k].times;
    if (cases[k].times == 2) {
      now.bad   = 2;
      now.times = 1;
      late.times--;
    }
    PetscCall(MuonSetParameter(now.p.muon, "muon_nan", cases[k].nan));
    PetscCall(MuonSetParameter(late.p.muon, "muon_nan", cases[k].nan));
    if (ef21) {
      PetscCall(MuonEF21SetMonitorCompression(now.p.muon, PETSC_TRUE));
      PetscCall(MuonEF21SetMonitorCompression(late.p.muon, PETSC_TRUE));
    }
    PetscCall(Steps(&now, STEPS));
    PetscCall(Steps(&late, STEPS + 1));
    if (cases[k].times == 1) { /* the step that failed is taken again */
      PetscCall(Steps(&late, 1));
    }
    PetscCall(MuonGetConvergedReason(late.p.muon, &reason));
    PetscCall(MuonGetLoss(late.p.muon, &loss));
    PetscCheck(reason == MUON_CONVERGED_ITERATING && loss == STEPS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s, loss %g, expected that of step %d", options, MuonConvergedReasons[reason], (double)loss, STEPS);
    PetscCall(Compare(&late, &now, "one step later, case ", options, (PetscInt)k));
    if (ef21) PetscCall(CompareCompression(&late, &now, options));
    PetscCall(TestDestroy(&now.p));
    PetscCall(TestDestroy(&late.p));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A round that fails when it is sent, behind the commit, is one step that is left out: the next ones are taken */
static PetscErrorCode TestUnsent(const char options[])
{
  MuonConvergedReason reason;
  PetscInt64          count;
  PetscInt            step;
  Delayed             d;

  PetscFunctionBegin;
  PetscCall(Create(PETSC_COMM_WORLD, options, 1, -1, PETSC_TRUE, &d));
  d.huge = PETSC_TRUE;
  PetscCall(Steps(&d, STEPS));
  PetscCall(MuonGetConvergedReason(d.p.muon, &reason));
  PetscCall(MuonGetNaNCount(d.p.muon, &count));
  PetscCall(MuonGetStepNumber(d.p.muon, &step));
  PetscCheck(reason == MUON_CONVERGED_ITERATING && count == 1 && step == STEPS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s, %" PetscInt64_FMT " of %" PetscInt_FMT " steps were left out, expected 1 of %d", options, MuonConvergedReasons[reason], count,
             step, STEPS);
  PetscCall(TestDestroy(&d.p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whatever is under way when the checkpoint is written, and when it is loaded */
static PetscErrorCode TestRestart(const char options[])
{
  const PetscInt delay = strstr(options, "-outer_muon_delay") == NULL ? 1 : 0;
  Delayed        whole, d;
  MuonTraffic    traffic[2];

  PetscFunctionBegin;
  PetscCall(Create(PETSC_COMM_WORLD, options, delay, -1, PETSC_FALSE, &whole));
  PetscCall(Steps(&whole, STEPS));
  for (PetscInt at = 1; at < STEPS; at++) {
    PetscCall(Create(PETSC_COMM_WORLD, options, delay, -1, PETSC_FALSE, &d));
    PetscCall(Steps(&d, at));
    PetscCall(MuonSaveCheckpoint(d.p.muon, "late", 1));
    PetscCall(TestDestroy(&d.p));
    PetscCall(Create(PETSC_COMM_WORLD, options, delay, -1, PETSC_FALSE, &d));
    PetscCall(Steps(&d, at % 3));
    PetscCall(MuonLoadCheckpoint(d.p.muon, "late"));
    PetscCall(Steps(&d, STEPS - at));
    PetscCall(Compare(&d, &whole, "restarted at step ", options, at));
    PetscCall(MuonGetTraffic(whole.p.muon, &traffic[0]));
    PetscCall(MuonGetTraffic(d.p.muon, &traffic[1]));
    PetscCheck(traffic[0].total_up[1] == traffic[1].total_up[1] && traffic[0].up[1] == traffic[1].up[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "restarted at step %" PetscInt_FMT ", %s: %g bits up in all, expected %g", at, options, traffic[1].total_up[1],
               traffic[0].total_up[1]);
    PetscCall(TestDestroy(&d.p));
  }
  PetscCall(TestDestroy(&whole.p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Two workers with the same gradients are one: what is under way of both is that of the one that goes on. So are two ranks
   of a node, each of which has what is under way of some layers
*/
static PetscErrorCode TestElastic(const char options[], const char node[])
{
  Delayed     d, one;
  PetscMPIInt rank;
  char        text[1024];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscSNPrintf(text, sizeof(text), "%s -muon_node_size %s", options, node));
  PetscCall(Create(PETSC_COMM_WORLD, text, 1, 0, PETSC_FALSE, &d));
  PetscCall(Steps(&d, 3));
  PetscCall(MuonSaveCheckpoint(d.p.muon, "late", 1));
  PetscCall(Steps(&d, 3));
  PetscCall(Create(PETSC_COMM_WORLD, options, 1, 0, PETSC_FALSE, &one));
  PetscCall(MuonLoadCheckpoint(one.p.muon, "late"));
  PetscCall(Steps(&one, 3));
  PetscCall(Compare(&one, &d, "as two workers from step ", text, 3));
  PetscCall(TestDestroy(&one.p));
  PetscCall(Create(PETSC_COMM_WORLD, text, 1, 0, PETSC_FALSE, &one));
  PetscCall(Steps(&one, 1));
  PetscCall(MuonLoadCheckpoint(one.p.muon, "late"));
  PetscCall(Steps(&one, 3));
  PetscCall(Compare(&one, &d, "again from step ", text, 3));
  PetscCall(TestDestroy(&one.p));
  if (rank == 0) {
    PetscCall(Create(PETSC_COMM_SELF, options, 1, 0, PETSC_FALSE, &one));
    PetscCall(MuonLoadCheckpoint(one.p.muon, "late"));
    PetscCall(Steps(&one, 3));
    PetscCall(Compare(&one, &d, "on one rank from step ", options, 3));
    PetscCall(TestDestroy(&one.p));
  }
  PetscCall(TestDestroy(&d.p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define TOPK "-muon_type ef21 -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_server_compressor topk "

int main(int argc, char **argv)
{
  const char *const same[]    = {"-muon_schedule linear -muon_momentum_warmup 3 -muon_weight_decay 0.2",
                                 "-muon_schedule cosine -muon_momentum_at worker -muon_exchange_mode reduce",
                                 TOPK "-muon_schedule trapezoid -muon_schedule_warmup 2 -ef21_init gradient -muon_exchange_type star",
                                 "-muon_type ef14 -ef14_compressor qsgd -ef14_compressor_bits 4 -muon_exchange_type replicated -muon_nesterov ema",
                                 "-muon_type sign -muon_layer_types row:frozen,gain:frozen,embed:frozen",
                                 "-muon_type sign -sign_tie random -muon_state_precision single -muon_layer_types row:frozen,gain:frozen,embed:frozen",
                                 "-muon_type sign -sign_tie random -muon_layer_types row:frozen,gain:frozen,embed:frozen -sign_update polar -muon_exchange_type replicated -muon_exchange_mode allreduce"};
  const char *const restart[] = {TOPK "-ef21_init gradient -muon_layer_types gain:adamw -muon_adamw_learning_rate 0.01 -muon_schedule linear", "-muon_nesterov ema -muon_delay_correction -muon_layer_types row:frozen",
                                 "-muon_type local -local_steps 2 -muon_layer_types row:frozen,gain:adamw -outer_muon_delay 1 -outer_muon_type ef21 -outer_ef21_compressor topk"};
  const char *const elastic[] = {"-muon_schedule linear -muon_layer_types gain:adamw", "-muon_nesterov ema -muon_momentum_warmup 4", "-muon_momentum_at worker -muon_weight_decay 0.2"};
  PetscMPIInt       size;
  PetscBool         options;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-muon_max_steps", &options));
  if (options) {
    Delayed d;

    PetscCall(PetscMemzero(&d, sizeof(d)));
    PetscCall(TestCreate(PETSC_COMM_WORLD, MUONDENSE, TEST_LAYERS, TestShapes, -1, &d.p));
    PetscCall(MuonSetFromOptions(d.p.muon));
    PetscCall(MuonSolve(d.p.muon));
    PetscCall(TestDestroy(&d.p));
    PetscCall(PetscFinalize());
    return 0;
  }
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(same); k++) PetscCall(TestIdentity(same[k]));
  PetscCall(TestUnsent(TOPK "-muon_nan skip -muon_momentum 0 -muon_layer_types row:frozen"));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(restart); k++) PetscCall(TestRestart(restart[k]));
  for (PetscInt node = 1; node < 3 && size == 2; node++) {
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(elastic); k++) PetscCall(TestElastic(elastic[k], node == 1 ? "1" : "2"));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3}}

  testset:
    args: -muon_max_steps 3
    test:
      suffix: view
      nsize: 2
      args: -muon_delay 1 -muon_delay_correction -muon_view
      filter: grep -o -E "delay.*|type: layer.*|load: the busiest worker"
    test:
      suffix: two
      args: -muon_delay 2
      error: -muon_delay 2. must be in [0.,1.]
    test:
      suffix: correction
      args: -muon_delay_correction
      error: -muon_delay_correction: nothing is late with -muon_delay 0, expected 1
    test:
      suffix: local
      args: -muon_type local -muon_delay 1
      error: -muon_delay 1: with -muon_type local rounds are late, not steps; expected -outer_muon_delay 1
    test:
      suffix: theory
      args: -muon_delay 1 -muon_type ef21 -muon_theory smooth -muon_theory_L0 1
      error: -muon_delay 1: the theorem of -muon_theory
    test:
      suffix: clip
      args: -muon_delay 1 -muon_clip 1
      error: -muon_delay 1: with -muon_clip 1. the mean gradient
    test:
      suffix: tree
      nsize: 2
      args: -muon_delay 1 -muon_type sign -muon_layer_types row:frozen,gain:frozen,embed:frozen -muon_exchange_type star -muon_exchange_mode reduce
      error: -muon_exchange_mode reduce: its tree of votes waits
    test:
      suffix: votes
      args: -muon_delay 1 -muon_type sign -muon_layer_types row:frozen,gain:frozen,embed:frozen -muon_delay_correction
      error: -muon_delay_correction: layer "h0.attn" is moved by votes

TEST*/
