static char help[] = "Local steps: what is shown and refused, and weights that are set anew in a round. equivalence has their checkpoints.\n";

#include "ef21_common.h"

/* A run as the options say */
static PetscErrorCode TestOptions(void)
{
  TestProblem p;
  MuonTraffic traffic, of;
  Muon        outer;

  PetscFunctionBegin;
  PetscCall(TestCreate(PETSC_COMM_WORLD, MUONLOCAL, TEST_LAYERS, TestShapes, -1, &p));
  PetscCall(MuonSetFromOptions(p.muon));
  PetscCall(MuonSolve(p.muon));
  /* What was sent in all is what the outer optimizer sent */
  PetscCall(MuonLocalGetOuter(p.muon, &outer));
  PetscCall(MuonGetTraffic(p.muon, &traffic));
  PetscCall(MuonGetTraffic(outer, &of));
  for (PetscInt k = 0; k < 2; k++)
    PetscCheck(of.total_up[k] > 0 && traffic.total_up[k] == of.total_up[k] && traffic.total_down[k] == of.total_down[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%g bits up and %g down, expected %g and %g of the outer optimizer", traffic.total_up[k],
               traffic.total_down[k], of.total_up[k], of.total_down[k]);
  PetscCall(TestDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Weights that are set anew are those that a round begins at: the way to them is no gradient of the outer optimizer */
static PetscErrorCode TestChanged(void)
{
  TestProblem p;
  PetscReal   rows[36];
  PetscInt    far = 0;

  PetscFunctionBegin;
  PetscCall(TestCreate(PETSC_COMM_WORLD, MUONLOCAL, TEST_LAYERS, TestShapes, -1, &p));
  PetscCall(MuonSetLearningRate(p.muon, 0.125));
  PetscCall(MuonSetParameter(p.muon, "local_steps", "3"));
  PetscCall(MuonSetLayerTypes(p.muon, "gain:adamw,row:frozen"));
  for (PetscInt s = 0; s < 3; s++) {
    for (PetscInt l = 0; l < p.n && s == 1; l++) {
      for (PetscInt e = 0; e < TestEntries(&p.shape[l]); e++) rows[e] = 1000;
      PetscCall(TestSetWeights(&p, l, rows));
    }
    if (s == 1) PetscCall(MuonWeightsChanged(p.muon));
    PetscCall(MuonStep(p.muon));
  }
  for (PetscInt l = 0; l < p.n; l++) {
    PetscCall(TestGetWeights(&p, l, rows));
    for (PetscInt e = 0; e < TestEntries(&p.shape[l]); e++) far += PetscAbsReal(rows[e] - 1000) > 5 ? 1 : 0;
  }
  PetscCheck(far == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " entries went far from where they were set", far);
  PetscCall(TestDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool options;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-muon_max_steps", &options));
  PetscCall(options ? TestOptions() : TestChanged());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 3}}

  testset:
    nsize: 2
    args: -muon_max_steps 8
    table: suffix | requires | args | filter | error
      view    | double | -local_steps 3 -outer_muon_type ef21 -outer_ef21_compressor topk -muon_view -muon_monitor | grep -o -E -e " (type|local_steps): [a-z0-9]+" -e "(learning rate|type sgd|step) .*" -e "bits.*" -e "up topk.*" |
      # One layer and two in each step but the last
      stagger | double | -local_steps 4 -local_stagger -muon_view -muon_monitor       | grep -o -E -e "bits.*" -e "after step.*"                     |
      # What rests says nothing of its compression
      rests   |        | -local_steps 3 -local_stagger -outer_muon_type ef21 -outer_ef21_compressor topk -outer_ef21_monitor_compression | grep -o -E "^ *[0-9]+ Muon layer [a-z0-9.]+ up *1-alpha *[0-9.]+" |
      late    |        | -local_stagger -outer_muon_delay 1                           |                                                              | -local_stagger with -outer_muon_delay 1
      cdelay  |        | -local_control -outer_muon_delay 1                           |                                                              | -local_control with -outer_muon_delay 1: C would be of a round before that of the C_j, expected one of both
      cclip   |        | -local_control -outer_muon_clip 1                            |                                                              | -local_control with -outer_muon_clip 1.: control variates are no gradients
      crules  |        | -local_control -outer_muon_type ef14 -outer_ef14_compressor topk -outer_ef14_compressor_layers all |                                                              | control variate, expected -outer_ef14_compressor_layers lmo
      first   |        | -local_stagger -outer_muon_type ef21 -outer_ef21_init gradient |                                                              | -outer_ef21_init gradient with -local_stagger
      preset  | double | -muon_preset {{muloco diloco sparseloco}separate output} -muon_view -local_steps 4 | grep -o -E -e " (type|local_steps|preset|layer_type|shape_factor|feedback|ef14_[a-z]*|adamw_[a-z0-9_]*):? [a-z0-9.-]+" -e "learning rate [0-9.]*, momentum.*" -e "h0.up.*" |
      clip    |        | -muon_clip 1                                                 |                                                              | with -muon_type local no rank has the mean gradient that would be clipped, expected 0
      steps   |        | -local_steps 0                                               |                                                              | -local_steps 0. must be in [1.,

TEST*/
