static char help[] = "Local steps: control variates of two workers whose steps cancel for ever without them, of a generic pair, and identities; what is shown and refused; weights that are set anew in a round.\n\n";

#include "problem.h"

#define MANY 1600 /* steps of the generic pair, of 4 to a round */

/* f_j(X) = (h_j/2) |X - A_j|^2, entries by rows */
typedef struct {
  double h[2], A[2][6];
} Pair;

/* A_1 = 4P and A_2 = -4P: at X = xP the gradients are 3(x - 4)P and (x + 4)P, their mean 2(x - 2)P; all is exact in binary */
static const Pair   Opposite = {{3, 1}, {{4, 0, 0, 0, 4, 0}, {-4, 0, 0, 0, -4, 0}}}, Generic = {{3, 1}, {{4, 0, 1, 0, 2, 0}, {-2, 1, 0, 3, -1, 1}}};
static const Pair   Equal = {{2, 2}, {{4, 0, 1, 0, 2, 0}, {4, 0, 1, 0, 2, 0}}};
static const double P[6] = {1, 0, 0, 0, 1, 0}, Zeros[6] = {0};

static double Gradient(const Problem *p, PetscInt layer, PetscInt i, PetscInt j, PetscInt step, double w)
{
  const Pair *pair = (const Pair *)p->data;

  return pair->h[p->rank] * (w - pair->A[p->rank][3 * i + j]);
}

static PetscErrorCode Create(const Pair *pair, PetscBool control, const char more[], Problem *p)
{
  PetscFunctionBegin;
  PetscCall(
    ProblemCreateWith(p, "-muon_type local -problem_layers w:2x3 -problem_setup 0 -local_steps 4 -local_control %s -muon_learning_rate 0.125 -muon_momentum 0 -outer_muon_learning_rate 1 -outer_muon_momentum 0 %s", control ? "true" : "false", more));
  p->form = Gradient;
  p->data = pair;
  PetscCall(ProblemSetRows(p, 0, Zeros));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* falls: the radius, from round to round */
static PetscErrorCode Steps(Problem *p, PetscInt steps, PetscBool falls)
{
  PetscFunctionBegin;
  for (PetscInt s = 0; s < steps; s++) {
    if (falls) PetscCall(MuonSetLearningRate(p->muon, (PetscReal)(0.1 * (1 - (double)(s / 4) / (MANY / 4)))));
    PetscCall(MuonStep(p->muon));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Weights, C_j and C of this rank */
static PetscErrorCode All(const Problem *p, double all[18])
{
  ProblemArray a = {NULL, PETSC_SCALAR, PETSC_FALSE, 0, 2, 2, 0, 0, NULL};
  MuonLayer    control;
  PetscBool    kept;
  Muon         outer;
  Mat          C;

  PetscFunctionBegin;
  PetscCall(ProblemGetRows(p, 0, NULL, all, &kept));
  PetscCall(ProblemGetRows(p, 0, "control", all + 6, &kept));
  PetscCheck(kept, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No state control");
  PetscCall(MuonLocalGetOuter(p->muon, &outer));
  PetscCall(MuonGetLayer(outer, 1, &control));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 2, 3, NULL, &C));
  PetscCall(MuonLayerGetFullWeights(control, C));
  PetscCall(ProblemOfMat(C, &a));
  for (PetscInt e = 0; e < 6; e++) all[12 + e] = ProblemGet(&a, e / 3, e % 3);
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Local steps stay at 0 with any momentum and outer optimizer; with control variates they are at the minimum 2P in 6 rounds */
static PetscErrorCode CheckOpposite(void)
{
  static const char *const more[]      = {"", "-muon_momentum 0.9", "-outer_muon_learning_rate 0.7 -outer_muon_momentum 0.6 -outer_muon_type ef21 -outer_ef21_compressor topk"};
  static const double      rounds[][4] = {{0, -10.875, 3.625, -3.625}, {0.5, -10.875, 4.375, -3.25}, {1, -9.375, 4.875, -2.25}, {1.5, -7.875, 5.375, -1.25}, {1.875, -6.375, 5.875, -0.25}, {2, -6, 6.125, 0.0625}};
  double                   all[18];
  Problem                  p;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(more); k++) {
    PetscCall(Create(&Opposite, PETSC_FALSE, more[k], &p));
    for (PetscInt r = 0; r < 6; r++) {
      PetscCall(Steps(&p, 4, PETSC_FALSE));
      PetscCall(ProblemCheckRows(&p, 0, NULL, Zeros, 0, more[k]));
    }
    PetscCall(ProblemDestroy(&p));
  }
  PetscCall(Create(&Opposite, PETSC_TRUE, "", &p));
  for (PetscInt r = 0; r < 6; r++) {
    const double is[3] = {rounds[r][0], rounds[r][1 + p.rank], rounds[r][3]}; /* of X, C_j and C */

    PetscCall(Steps(&p, 4, PETSC_FALSE));
    PetscCall(All(&p, all));
    for (int e = 0; e < 18; e++) PetscCheck(all[e] == is[e / 6] * P[e % 6], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Round %" PetscInt_FMT ", rank %d: entry %d of X, C_j and C is %.17g, expected %g P", r, p.rank, e, all[e], is[e / 6]);
  }
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the radius goes to 0, local steps end away from the minimum (3 A_1 + A_2)/4 and those with control variates beside it: |X - X*| and |grad f| computed with numpy */
static PetscErrorCode CheckGeneric(void)
{
  static const double ends[2] = {2.313, 0.00125};

  PetscFunctionBegin;
  for (int control = 0; control < 2; control++) {
    double  far = 0, w[6];
    Problem p;

    PetscCall(Create(&Generic, control ? PETSC_TRUE : PETSC_FALSE, "", &p));
    PetscCall(Steps(&p, MANY, PETSC_TRUE));
    PetscCall(ProblemGetRows(&p, 0, NULL, w, NULL));
    for (int k = 0; k < 6; k++) far = hypot(far, w[k] - (3 * Generic.A[0][k] + Generic.A[1][k]) / 4);
    PetscCheck(fabs(far / ends[control] - 1) < 0.005, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s control variates it ends %g from the minimum, expected %g", control ? "With" : "Without", far, ends[control]);
    PetscCall(ProblemDestroy(&p));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the outer optimizer leaves its step out weights and control variates stay, and so they do in the middle of a round; a reset begins anew */
static PetscErrorCode CheckSkipped(void)
{
  double  before[18], after[18];
  Muon    outer;
  Problem p;

  PetscFunctionBegin;
  PetscCall(Create(&Generic, PETSC_TRUE, "-outer_muon_nan skip", &p));
  PetscCall(MuonLocalGetOuter(p.muon, &outer));
  PetscCall(Steps(&p, 4, PETSC_FALSE));
  PetscCall(All(&p, before));
  PetscCheck(before[6] != 0 && before[12] != 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A control variate is %g, and C is %g after a round", before[6], before[12]);
  PetscCall(Steps(&p, 3, PETSC_FALSE));
  PetscCall(All(&p, after));
  PetscCheck(memcmp(before + 6, after + 6, 12 * sizeof(*after)) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Control variates changed in the middle of a round");
  PetscCall(MuonSetParameter(p.muon, "muon_learning_rate", "64"));
  PetscCall(MuonSetLearningRate(outer, PETSC_MAX_REAL / 8)); /* times some tens it is beyond that */
  PetscCall(Steps(&p, 1, PETSC_FALSE));
  PetscCall(All(&p, after));
  for (int k = 0; k < 18; k++) PetscCheck(before[k] == after[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Number %d was %g and is %g after a step that was left out", k, before[k], after[k]);
  PetscCall(MuonReset(p.muon));
  PetscCall(MuonSetUp(p.muon));
  PetscCall(All(&p, after));
  for (int k = 6; k < 18; k++) PetscCheck(after[k] == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Number %d is %g after a reset", k, after[k]);
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Workers of equal data, one worker among them, take the steps that they take without */
static PetscErrorCode CheckEqual(void)
{
  double  w[6];
  Problem p;

  PetscFunctionBegin;
  for (int control = 0; control < 2; control++) {
    PetscCall(Create(&Equal, control ? PETSC_TRUE : PETSC_FALSE, "-muon_momentum 0.75 -muon_momentum_style sgd -muon_nesterov sgd -outer_muon_momentum 0.6", &p));
    PetscCall(Steps(&p, 13, PETSC_FALSE));
    if (control) PetscCall(ProblemCheckRows(&p, 0, NULL, w, 0, "Equal data"));
    PetscCall(ProblemGetRows(&p, 0, NULL, w, NULL));
    PetscCheck(w[0] != 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Equal data: nothing moves");
    PetscCall(ProblemDestroy(&p));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Steps along the gradient itself are those of SCAFFOLD: y_j -= a (g_j - c_j + c), then c_j = g_j and c the mean; a rate of 1/8 and data in eighths leave nothing to round in some rounds */
static PetscErrorCode CheckScaffold(void)
{
  double  x[6] = {0}, y[2][6], c[2][6] = {{0}}, mean[6] = {0}, g = 0;
  Problem p;

  PetscFunctionBegin;
  PetscCall(Create(&Generic, PETSC_TRUE, "-muon_layer_type sgd", &p));
  for (int r = 0; r < 5; r++) {
    for (int j = 0; j < 2; j++) {
      for (int k = 0; k < 6; k++) {
        const double shift = mean[k] - c[j][k];

        y[j][k] = x[k];
        for (int s = 0; s < 4; s++) {
          g = Generic.h[j] * (y[j][k] - Generic.A[j][k]);
          y[j][k] -= (g + shift) / 8;
        }
        c[j][k] = g;
      }
    }
    for (int k = 0; k < 6; k++) {
      x[k]    = (y[0][k] + y[1][k]) / 2;
      mean[k] = (c[0][k] + c[1][k]) / 2;
    }
    PetscCall(Steps(&p, 4, PETSC_FALSE));
    /* Each of 20 steps contracts an error by 5/8 or 7/8, and adds some roundings of numbers up to 16 */
    PetscCall(ProblemCheckRows(&p, 0, NULL, x, 16 * 64 * (double)PETSC_MACHINE_EPSILON, "SCAFFOLD"));
  }
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A run as the options say: what was sent in all is what the outer optimizer sent */
static PetscErrorCode CheckTraffic(void)
{
  MuonTraffic traffic, of;
  Muon        outer;
  Problem     p;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&p, 0, 0));
  PetscCall(MuonSolve(p.muon));
  PetscCall(MuonLocalGetOuter(p.muon, &outer));
  PetscCall(MuonGetTraffic(p.muon, &traffic));
  PetscCall(MuonGetTraffic(outer, &of));
  for (int k = 0; k < 2; k++)
    PetscCheck(of.total_up[k] > 0 && traffic.total_up[k] == of.total_up[k] && traffic.total_down[k] == of.total_down[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%g bits up and %g down, expected %g and %g of the outer optimizer", traffic.total_up[k],
               traffic.total_down[k], of.total_up[k], of.total_down[k]);
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Weights that are set anew are those that a round begins at: the way to them is no gradient of the outer optimizer */
static PetscErrorCode CheckChanged(void)
{
  double  rows[36];
  Problem p;

  PetscFunctionBegin;
  PetscCall(ProblemCreateWith(&p, "-muon_type local -muon_learning_rate 0.125 -local_steps 3 -muon_layer_types gain:adamw,row:frozen"));
  for (int e = 0; e < 36; e++) rows[e] = 1000;
  for (int s = 0; s < 3; s++) {
    for (PetscInt l = 0; l < p.n && s == 1; l++) PetscCall(ProblemSetRows(&p, l, rows));
    if (s == 1) PetscCall(MuonWeightsChanged(p.muon));
    PetscCall(MuonStep(p.muon));
  }
  for (PetscInt l = 0; l < p.n; l++) PetscCall(ProblemCheckRows(&p, l, NULL, rows, 5, "Weights that were set"));
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt size;
  PetscBool   options;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-muon_type", &options));
  if (options) PetscCall(CheckTraffic());
  else {
    if (size <= 2) PetscCall(CheckEqual());
    PetscCall(CheckChanged());
    if (size == 2) {
      PetscCall(CheckOpposite());
      PetscCall(CheckGeneric());
      PetscCall(CheckScaffold());
      PetscCall(CheckSkipped());
    }
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3}}

  testset:
    nsize: 2
    args: -muon_type local -muon_max_steps 8
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
      preset  | double | -muon_preset {{muloco diloco sparseloco}separate output} -muon_view -local_steps 4 | grep -o -E -e " (type|local_steps|preset|layer_type|shape_factor|feedback|ef14_[a-z]*|adamw_[a-z0-9_]*):? [a-z0-9.-]+" -e "learning rate [0-9.]*, momentum.*" -e "tall.*" |
      clip    |        | -muon_clip 1                                                 |                                                              | with -muon_type local no rank has the mean gradient that would be clipped, expected 0
      steps   |        | -local_steps 0                                               |                                                              | -local_steps 0. must be in [1.,

TEST*/
