static char help[] = "What one can ask of layers whose rows are spread over the ranks of a worker, beside others that are whole: the size of updates, state in matrices that are spread alike, the view.\n\n";

#include "problem.h"

/*
   Without decay, and where all that is computed goes down, a step moves the weights by the rate times the
   update; differences of weights below 4 are exact to their roundoff
*/
static PetscErrorCode CheckUpdates(const Problem *p, double before[2][60])
{
  PetscReal rate, rms;

  PetscFunctionBegin;
  PetscCall(MuonGetLearningRate(p->muon, &rate));
  for (PetscInt l = 0; l < 2; l++) {
    double now[60], norm = 0;

    PetscCall(ProblemGetRows(p, l, "full", now, NULL));
    for (int e = 0; e < 60; e++) norm = hypot(norm, now[e] - before[l][e]);
    PetscCall(MuonLayerGetUpdateRMS(p->layer[l].layer, &rms));
    PetscCheck(rms == -1 || fabs((double)rms - norm / ((double)rate * sqrt(60))) <= 16 * (double)(PETSC_MACHINE_EPSILON / rate), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %" PetscInt_FMT ": an update of %g, expected %g", l, (double)rms,
               norm / ((double)rate * sqrt(60)));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &rms, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
    PetscCheck(rms > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %" PetscInt_FMT ": its update is measured nowhere", l);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The momentum in a matrix that is spread as the weights are is that in one of the rows here */
static PetscErrorCode CheckState(const Problem *p)
{
  const ProblemLayer *l = &p->layer[0];
  ProblemArray        a = l->weights;
  double              here[60], norm = 0;
  PetscBool           kept[2];
  Mat                 spread;

  PetscFunctionBegin;
  PetscCall(ProblemGetRows(p, 0, "momentum", here, &kept[0]));
  PetscCall(MatDuplicate(l->W, MAT_DO_NOT_COPY_VALUES, &spread));
  PetscCall(MuonGetLayerState(p->muon, l->layer, "momentum", spread, &kept[1]));
  PetscCall(ProblemOfMat(spread, &a));
  PetscCheck(kept[0] && kept[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "No momentum");
  for (PetscInt e = 0; e < a.count * l->shape->n; e++) {
    const double x = ProblemGet(&a, e / l->shape->n, e % l->shape->n);

    norm = hypot(norm, x);
    PetscCheck(x == here[e], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Entry %" PetscInt_FMT " of the momentum is %g in the spread matrix and %g here", e, x, here[e]);
  }
  PetscCheck(norm > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A momentum of zeros");
  PetscCall(MatDestroy(&spread));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Problem       p;
  MuonLayerType type;
  PetscBool     exact = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-exact", &exact, NULL));
  PetscCall(ProblemCreate(&p, 0, 0));
  for (PetscInt k = 0; k < 3; k++) {
    double before[2][60];

    for (PetscInt l = 0; l < 2; l++) PetscCall(ProblemGetRows(&p, l, "full", before[l], NULL));
    PetscCall(MuonStep(p.muon));
    if (exact) PetscCall(CheckUpdates(&p, before));
  }
  PetscCall(MuonLayerGetType(p.layer[0].layer, &type));
  if (strcmp(type, MUONLAYERLMO) == 0) PetscCall(CheckState(&p)); /* others have no momentum of workers */
  PetscCall(MuonViewFromOptions(p.muon, NULL, "-muon_view"));
  PetscCall(ProblemDestroy(&p));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: 4
    args: -problem_layers spread:10x6,whole:10x6 -problem_ranks 2,1 -muon_measure_update_rms
    test:
      args: -exact -muon_learning_rate 0.25 -muon_adamw_learning_rate 0.25 -muon_type ef21 -ef21_compressor topk -lmo_polar_type svd -muon_layer_spread_type {{lmo adamw sgd}} -muon_layer_whole_type {{lmo adamw}}

    # Factors of rows that each rank compresses by itself
    test:
      suffix: view
      requires: double
      args: -muon_type ef21 -ef21_compressor rankk -ef21_compressor_rank 1 -ef21_server_compressor powersgd -lmo_type frobenius -muon_view
      filter: grep -o "^ *\(spread\|whole\),.*"

    # Workers of several sizes have no gradient in common
    test:
      suffix: clip
      args: -muon_type ef21 -muon_clip 1
      error: layers are of workers of several sizes

TEST*/
