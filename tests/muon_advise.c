static char help[] = "The adviser: rows in order, messages and bytes of the run's own compressors beside the cost model and the counters, losses of a study; a run with it is one without.\n\n";

#include "muon_common.h"
#include <muon/addons/cost/muoncost.h>

/* The last line is the bad one of that number; the order of options does not matter */
static PetscErrorCode WriteStudy(PetscInt bad)
{
  const char *const last[] = {"-muon_type dense,7", "-muon_type dense,many", "-options_file /nosuch,7", "-muon_types dense,7", "-muon_type dense also,7", "-ef21_ratio .1\t-options_file,7"};
  FILE             *file;

  PetscFunctionBegin;
  PetscCall(PetscFOpen(PETSC_COMM_WORLD, "study.csv", "w", &file));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, file, "options,loss,least\n-outer_ef21_server_compressor qsgd -local_steps 30 -muon_type local -outer_muon_type ef21 -outer_ef21_compressor qsgd,1.25,1\n%s\n", last[bad]));
  PetscCall(PetscFClose(PETSC_COMM_WORLD, file));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A row of -compressor bf16 both ways, or of none where that is the run's: H steps a round have 1/H of the messages of a step, printed with six digits and as whole bytes. Rows of nodes are those of a run with nodes */
static PetscErrorCode CheckRow(const char options[], PetscBool bf16, PetscBool nodes, double messages, double bytes, const double expected[2], PetscInt *own)
{
  const char *const steps = strstr(options, "-local_steps ");
  const double      H     = steps != NULL ? atof(steps + strlen("-local_steps ")) : 1;

  PetscFunctionBegin;
  if ((bf16 == PETSC_TRUE && strstr(options, "_compressor bf16") == NULL) || (bf16 == PETSC_FALSE && strstr(options, "_compressor") != NULL)) PetscFunctionReturn(PETSC_SUCCESS);
  if ((strstr(options, "-muon_node_size") != NULL) != (nodes == PETSC_TRUE)) PetscFunctionReturn(PETSC_SUCCESS);
  (*own)++;
  PetscCheck(PetscAbsReal((PetscReal)(messages * H - expected[0])) <= 1e-5 * expected[0], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %g seconds of messages, expected %g / %g", options, messages, expected[0], H);
  PetscCheck(PetscAbsReal((PetscReal)(bytes * H - expected[1])) <= 0.5 * H, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %g bytes, expected %g / %g", options, bytes, expected[1], H);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckAdvice(PetscBool bf16, PetscBool nodes, const double expected[2])
{
  FILE    *file = fopen("advice", "r");
  char     line[1024];
  double   last = 0;
  PetscInt rows = 0, own = 0, losses = 0;

  PetscFunctionBegin;
  PetscCheck(file != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "There is no advice");
  while (fgets(line, sizeof(line), file) != NULL) {
    double            seconds, messages, bytes, loss = -1;
    const char *const options = strstr(line, " -");

    if (options == NULL || sscanf(line, "%lf %lf %lf %lf", &seconds, &messages, &bytes, &loss) < 3) continue;
    rows++;
    PetscCheck(seconds >= last, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%g seconds come after %g", seconds, last);
    last = seconds;
    PetscCall(CheckRow(options, bf16, nodes, messages, bytes, expected, &own));
    if (loss < 0) PetscCheck(strstr(line, "not measured") != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No loss in %s", line);
    else if (strcmp(options, " -muon_type dense \n") == 0) losses += loss == 7 ? 1 : 100;
    else losses += loss == 1.25 && strstr(line, "-local_steps 30") != NULL && strstr(line, "_compressor qsgd -outer_ef21_server_compressor qsgd") != NULL ? 1 : 100;
  }
  (void)fclose(file);
  /* The link is slow: rounds come first, and rows of the study behind the 20 best */
  PetscCheck(rows >= 21 && own >= 2 && losses == 2, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " rows, %" PetscInt_FMT " of the run's compressors, %" PetscInt_FMT " with a loss", rows, own, losses);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Behind the layers of the problem there is one without columns */
static PetscErrorCode ObjectiveWithEmpty(Muon muon, PetscReal *loss, void *ctx)
{
  MuonLayer layer;
  Mat       G;

  PetscFunctionBegin;
  PetscCall(ProblemObjective(muon, loss, ctx));
  PetscCall(MuonGetLayer(muon, NLAYERS, &layer));
  PetscCall(MuonLayerGetGradient(layer, &G));
  PetscCall(MatZeroEntries(G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Problem   p, q;
  State     a, b;
  Muon      sender;
  MuonCost  cost;
  Mat       W;
  PetscInt  bad = 0;
  PetscBool bf16, legal, local, nodes;
  double    expected[2];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-bad", &bad, NULL));
  PetscCall(WriteStudy(bad));
  PetscCall(ProblemCreate(PETSC_COMM_WORLD, NULL, &p));
  PetscCall(ProblemCreate(PETSC_COMM_WORLD, NULL, &q));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 3, 0, NULL, &W));
  PetscCall(MuonAddLayer(p.muon, "empty", W, NULL));
  PetscCall(MatDestroy(&W));
  PetscCall(MuonSetObjectiveAndGradient(p.muon, ObjectiveWithEmpty, &p));
  PetscCall(MuonSetFromOptions(q.muon));
  PetscCall(PetscOptionsSetValue(NULL, "-muon_advise", "ascii:advice"));
  PetscCall(MuonSetFromOptions(p.muon));
  PetscCall(MuonSolve(p.muon));
  PetscCall(MuonSolve(q.muon));
  PetscCall(StateTake(&p, &a));
  PetscCall(StateTake(&q, &b));
  PetscCheck(StateIsSame(&a, &b) == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A run with the adviser is not one without");
  PetscCall(StateFree(&a));
  PetscCall(StateFree(&b));
  sender = p.muon;
  PetscCall(PetscObjectTypeCompare((PetscObject)p.muon, MUONLOCAL, &local));
  if (local == PETSC_TRUE) PetscCall(MuonLocalGetOuter(p.muon, &sender));
  PetscCall(PetscObjectTypeCompare((PetscObject)sender, MUONEF21, &bf16));
  PetscCall(MuonGetCost_Private(p.muon, ((PetscObject)sender->group[0]->exchange)->type_name, sender->group[0]->mode, &cost, &legal));
  PetscCheck(legal == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The run's own exchange is not legal");
  expected[0] = MuonCostSeconds(p.muon, &cost, PETSC_FALSE);
  PetscCall(PetscOptionsHasName(NULL, NULL, "-muon_node_size", &nodes));
  expected[1] = (double)(p.muon->meanup + p.muon->meandown) / 8;
  PetscCall(ProblemDestroy(&p));
  PetscCall(ProblemDestroy(&q));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(CheckAdvice(bf16, nodes, expected));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  link: internal

  # The adviser measures the work of summing messages, so that gamma is not in the model that it is compared with
  testset:
    nsize: 3
    args: -muon_max_steps 4 -muon_advise_steps 2 -muon_cost_alpha 1e-3 -muon_cost_beta 1e6 -muon_cost_gamma 1e30 -muon_advise_study study.csv
    test:
      suffix: bf16
      args: -ef21_compressor bf16 -ef21_server_compressor bf16 -muon_exchange_type {{layerwise star replicated}}
    test:
      suffix: dense
      args: -muon_advise_steps 9 -muon_type dense -muon_exchange_mode allreduce -muon_state_precision single -muon_downlink_precision single
    test:
      suffix: local
      args: -muon_type local -local_steps 2 -outer_muon_type ef21 -outer_ef21_compressor bf16 -outer_ef21_server_compressor bf16
    test:
      suffix: nodes
      nsize: 4
      args: -muon_node_size 2 -ef21_compressor bf16 -ef21_server_compressor bf16

  testset:
    nsize: 2
    table: suffix | args | error
      bad    | -bad {{1 2 3 4 5}} -muon_advise_study study.csv | study.csv:3: expected options and a loss
      nosuch | -muon_advise_study nosuch.csv                   | -muon_advise_study nosuch.csv

TEST*/
