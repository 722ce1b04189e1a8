static char help[] = "A checkpoint of an optimizer that was written by an earlier version loads for ever, on the same ranks and on others. -write FOLDER writes one.\n";

#include "problem.h"

/* Nothing is left to defaults, which may change */
#define RUN \
  "-problem_layers first:5x1,second:5x2,gain:5x3 -muon_type ef21 -muon_exchange_type layerwise -lmo_type max -muon_learning_rate 0.125 -muon_momentum 0.5 " \
  "-ef21_compressor topk -ef21_compressor_ratio 0.4 -ef21_server_compressor topk -ef21_server_compressor_ratio 0.4 " \
  "-muon_layer_types gain:adamw -muon_layer_gain_ef21_compressor nearest -muon_layer_gain_ef21_server_compressor identity"

/* Dyadic numbers, which no machine rounds: what is kept is the same everywhere, but for what AdamW divides */
static double Number(const Problem *p, PetscInt layer, PetscInt i, PetscInt j, PetscInt step, double w)
{
  return (double)((7 * layer + 5 * (i + 5 * j) + 3 * step + 11 * p->rank) % 13 - 6) / 8;
}

int main(int argc, char **argv)
{
  const char *const state[] = {NULL, "momentum", "estimate"};
  char              folder[PETSC_MAX_PATH_LEN];
  PetscInt          step;
  PetscBool         flg, kept = PETSC_FALSE;
  double            rows[15];
  Problem           p;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(ProblemCreateWith(&p, RUN));
  p.form = Number;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-write", folder, sizeof(folder), &flg));
  for (step = 0; step < 3 && flg; step++) PetscCall(MuonStep(p.muon));
  if (flg) PetscCall(MuonSaveCheckpoint(p.muon, folder, 1));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-read", folder, sizeof(folder), &flg));
  if (flg) {
    PetscCall(MuonSetParameter(p.muon, "muon_restart_convert", "true")); /* it was written in double precision */
    PetscCall(MuonLoadCheckpoint(p.muon, folder));
    PetscCall(MuonGetStepNumber(p.muon, &step));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "step %" PetscInt_FMT "\n", step));
  }
  /* Of the workers' state that of the first, where they are as many as there were */
  for (PetscInt l = 0; l < p.n && flg; l++) {
    for (PetscInt what = 0; what < (l < 2 && p.size == 2 ? 3 : 1); what++) {
      PetscCall(ProblemGetRows(&p, l, state[what], rows, &kept));
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s %s:", p.layer[l].shape->name, what > 0 ? state[what] : "weights"));
      for (PetscInt e = 0; e < 5 * p.layer[l].shape->n; e++) PetscCall(PetscPrintf(PETSC_COMM_WORLD, l < 2 ? " %g" : " %.5f", rows[e]));
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s\n", kept ? "" : " none"));
    }
  }
  PetscCall(MuonStep(p.muon));
  PetscCall(ProblemDestroy(&p));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{2 3}separate output}
    args: -read ${PETSCMUON_DIR}/tests/checkpoints/optimizer1
    filter: grep -v "^Checkpoint: "

TEST*/
