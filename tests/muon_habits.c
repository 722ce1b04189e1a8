static char help[] = "Habits of PETSc's users: which layers are compressed, what the log says of messages, gradients against differences, validation.\n\n";

#include "problem.h"

/* Which of the layers have which compressor, up and down: gain is AdamW's, row and gain have fewer than 12 entries */
static PetscErrorCode CheckSpares(void)
{
  const struct {
    const char *options, *up, *down; /* one letter a layer: identity, topk, natural; - is frozen */
  } cases[] = {{"-ef21_compressor topk -ef21_server_compressor natural", "tt-tit", "nn-nin"},
               {"-ef21_compressor topk -ef21_server_compressor natural -ef21_compressor_layers all", "tt-ttt", "nn-nnn"},
               {"-ef21_compressor topk -ef21_server_compressor natural -ef21_compressor_layers all -ef21_compressor_min_entries 16", "tt-iit", "nn-iin"},
               {"-ef21_compressor topk -ef21_server_compressor natural -ef21_compressor_layers lmo -ef21_compressor_min_entries 8 -muon_layer_gain_ef21_compressor_ratio 0.5 -muon_layer_row_ef21_server_compressor topk", "tt-itt", "nn-tin"}};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) {
    Problem p;

    PetscCall(ProblemCreateWith(&p, "-muon_max_steps 2 -muon_layer_types wide:frozen,gain:adamw %s", cases[k].options));
    PetscCall(MuonSolve(p.muon));
    for (PetscInt l = 0; l < p.n; l++) {
      MuonCompressor     c[2];
      MuonCompressorType type;

      if (cases[k].up[l] == '-') continue;
      PetscCall(MuonGetLayerCompressors(p.muon, p.layer[l].layer, &c[0], &c[1]));
      for (int d = 0; d < 2; d++) {
        PetscCall(MuonCompressorGetType(c[d], &type));
        PetscCheck(type[0] == (d == 0 ? cases[k].up : cases[k].down)[l], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: layer %s has %s %s", cases[k].options, p.layer[l].shape->name, type, d == 0 ? "up" : "down");
      }
    }
    PetscCall(ProblemDestroy(&p));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Messages, their bytes and reductions of the log in the events that move something. What is sent and what
   arrives are both in it, and -log_view halves the sum
*/
static PetscErrorCode GetLog(PetscLogDouble sum[3])
{
  const char *const names[] = {"MuonExchange", "MuonAssembly"};

  PetscFunctionBegin;
  sum[0] = sum[1] = sum[2] = 0;
  for (int k = 0; k < 2; k++) {
    PetscEventPerfInfo info;
    PetscLogEvent      event;

    PetscCall(PetscLogEventGetId(names[k], &event));
    PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info)); /* of the stage that is now */
    sum[0] += info.numMessages / 2;
    sum[1] += info.messageLength / 2;
    sum[2] += info.numReductions;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The bytes of the log are those of MuonGetTraffic(), which another test holds to a count of MPI's calls */
static PetscErrorCode CheckLog(void)
{
  const char *const ways[] = {"star", "layerwise", "replicated", "rows"};

  PetscFunctionBegin;
  for (int k = 0; k < 4; k++) {
    MuonTraffic    traffic;
    PetscLogDouble before[3], after[3], mpi = 0;
    Problem        p;

    PetscCall(ProblemCreateWith(&p, "-muon_exchange_type %s", ways[k]));
    PetscCall(GetLog(before));
    for (PetscInt s = 0; s < 3; s++) {
      PetscCall(MuonStep(p.muon));
      PetscCall(MuonGetTraffic(p.muon, &traffic));
      mpi += traffic.mpi;
    }
    PetscCall(GetLog(after));
    /* A debugging PETSc compares arguments between the ranks by messages of its own */
    PetscCheck(PetscDefined(USE_DEBUG) ? after[1] - before[1] >= (p.size > 1 ? mpi : 0) : after[1] - before[1] == (p.size > 1 ? mpi : 0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %g bytes in the log, expected %g", ways[k], after[1] - before[1], mpi);
    PetscCheck((after[0] > before[0]) == (p.size > 1) && (after[2] > before[2]) == (p.size > 1), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %g messages, %g reductions", ways[k], after[0] - before[0], after[2] - before[2]);
    PetscCall(ProblemDestroy(&p));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One entry of a gradient may be wrong */
static PetscInt Wrong = -1;

/* f = sum of (w - c)^2 / 2 with c of this rank's, whose central differences have no error but rounding */
static PetscErrorCode Quadratic(Muon muon, PetscReal *loss, void *ctx)
{
  Problem *p = (Problem *)ctx;
  void    *far;

  PetscFunctionBegin;
  *loss = 0;
  for (PetscInt l = 0; l < p->n; l++) {
    ProblemArray g;

    PetscCall(ProblemGetGradient(p, &p->layer[l], &g, &far));
    for (PetscInt i = 0; i < g.count; i++) {
      for (PetscInt j = 0; j < p->layer[l].shape->n; j++) {
        const double one = ProblemGet(&p->layer[l].weights, i, j) - ProblemNumber(l, i * p->layer[l].shape->n + j, p->rank, 7);

        ProblemPut(&g, i, j, one + (l == 1 && j == 0 && i == Wrong ? 1 : 0));
        *loss += (PetscReal)(one * one / 2);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckGradient(void)
{
  Problem      p;
  ProblemImage before;
  PetscReal    error = 0;
  PetscBool    wrong;

  PetscFunctionBegin;
  PetscCall(PetscOptionsHasName(NULL, NULL, "-wrong", &wrong));
  PetscCall(ProblemCreateWith(&p, wrong ? "-problem_setup 0 -muon_max_steps 2 -muon_test_gradient" : "-problem_setup 0 -muon_max_steps 2"));
  PetscCall(MuonSetObjectiveAndGradient(p.muon, Quadratic, &p));
  PetscCall(MuonSetUp(p.muon));
  PetscCall(ProblemTakeImage(&p, &before));
  if (wrong == PETSC_FALSE) PetscCall(MuonTestGradient(p.muon, &error));
  PetscCall(ProblemCheckImage(&p, &before, "habits", "the test of gradients"));
  /*
     Losses below 100 that are sums of fewer than 100 terms, over 2 h with h = eps^(1/3): relative to slopes
     that are not below 0.01 here
  */
  PetscCheck(error <= 100 * 100 * PETSC_MACHINE_EPSILON / (PetscReal)0.01 / PetscPowReal(PETSC_MACHINE_EPSILON, (PetscReal)1 / 3), PETSC_COMM_SELF, PETSC_ERR_PLIB, "A right gradient is wrong by %g", (double)error);
  Wrong = 3;
  if (wrong) PetscCall(MuonStep(p.muon)); /* an error */
  PetscCall(MuonTestGradient(p.muon, &error));
  /* The slope is wrong by 1, and the entries' differences are at most 2 */
  PetscCheck(error >= (PetscReal)1 / (2 * 9 * 4), PETSC_COMM_SELF, PETSC_ERR_PLIB, "A wrong gradient is off by %g", (double)error);
  PetscCall(MuonSolve(p.muon));
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Validation(Muon muon, PetscReal *value, void *ctx)
{
  PetscInt step;

  PetscFunctionBegin;
  PetscCall(MuonGetStepNumber(muon, &step)); /* counted already */
  *value = (PetscReal)(10 * step + 4 * ((Problem *)ctx)->rank);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Quiet(Muon muon, PetscInt step, PetscReal loss, void *ctx)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After every second of five steps and after the last one, whatever the interval of monitors */
static PetscErrorCode CheckValidation(void)
{
  const char *const rows[] = {"0", "1", "3", "4"};
  Problem           p;
  PetscReal         value;
  PetscInt          step;
  char              line[512];
  FILE             *file;

  PetscFunctionBegin;
  PetscCall(PetscOptionsInsertString(NULL, "-muon_max_steps 5 -muon_monitor_interval 4 -muon_monitor_csv habits.csv -problem_setup 0"));
  PetscCall(ProblemCreate(&p, 0, 0));
  PetscCall(MuonSetFromOptions(p.muon));                                                /* again */
  for (int k = 0; k < 4; k++) PetscCall(MuonMonitorSet(p.muon, Quiet, &line[k], NULL)); /* five are the most, and the file has one */
  PetscCall(MuonGetValidation(p.muon, NULL, &step));
  PetscCheck(step == -1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A value before any step");
  PetscCall(MuonSetValidation(p.muon, Validation, 3, &p));
  PetscCall(MuonSetParameter(p.muon, "muon_validation_interval", "2"));
  PetscCall(MuonSolve(p.muon));
  PetscCall(MuonGetValidation(p.muon, &value, &step));
  PetscCheck(step == 4 && value == (PetscReal)(50 + 2 * (p.size - 1)), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt_FMT ", value %g", step, (double)value);
  PetscCall(MuonMonitorCancel(p.muon));
  if (p.rank == 0) {
    file = fopen("habits.csv", "r");
    PetscCheck(file != NULL && fgets(line, sizeof(line), file) != NULL && strstr(line, ",validation") != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The file has no column of validation");
    for (int k = 0; k < 4; k++) {
      char expected[32] = ",";

      if (k > 0) PetscCall(PetscSNPrintf(expected, sizeof(expected), ",%d", 10 * (atoi(rows[k]) + 1) + 2 * (p.size - 1)));
      PetscCheck(fgets(line, sizeof(line), file) != NULL && atoi(line) == atoi(rows[k]), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Row %d: %s", k, line);
      line[strcspn(line, "\n")] = '\0';
      PetscCheck(strcmp(strrchr(line, ','), expected) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Row %d ends in %s, expected %s", k, strrchr(line, ','), expected);
    }
    PetscCheck(fgets(line, sizeof(line), file) == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "One row too many: %s", line);
    fclose(file);
  }
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  if (PetscDefined(USE_LOG)) PetscCall(PetscLogDefaultBegin());
  PetscCall(CheckSpares());
  if (PetscDefined(USE_LOG)) PetscCall(CheckLog());
  PetscCall(CheckGradient());
  PetscCall(CheckValidation());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 3}}
    filter: grep -v -e "gradient" -e "which is" -e "of which" || true

  test:
    suffix: gradient
    nsize: 2
    filter: grep -o -e "gradients are probably right" -e "which is wrong: its entry (3,0)"
    requires: !defined(PETSC_USE_COMPLEX)

  test:
    suffix: wrong
    nsize: 2
    args: -wrong
    error: -muon_test_gradient: the gradients are wrong in 1 of
    requires: !defined(PETSC_USE_COMPLEX)

TEST*/
