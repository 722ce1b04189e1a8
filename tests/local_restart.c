static char help[] = "Local steps that go on with a checkpoint on other ranks with the mean of the workers' weights; what is shown and refused. equivalence has those that go on on the same ranks.\n";

#include "ef21_common.h"

#define STATES 5

typedef struct {
  const char *type, *compressor, *stagger, *control;
} Case;

static const Case Cases[] = {{MUONDENSE, NULL, "false", "false"}, {MUONDENSE, NULL, "true", "true"}, {MUONEF21, "ef21_compressor", "true", "true"}, {MUONEF14, "ef14_compressor", "false", "false"}};

static PetscErrorCode Create(MPI_Comm comm, const Case *c, PetscReal offset, TestProblem *p)
{
  Muon       outer;
  PetscReal *rows;

  PetscFunctionBegin;
  PetscCall(TestCreate(comm, MUONLOCAL, TEST_LAYERS, TestShapes, -1, p));
  p->noise = 4;
  PetscCall(MuonSetLearningRate(p->muon, 0.125));
  PetscCall(MuonSetParameter(p->muon, "local_steps", "3"));
  PetscCall(MuonSetParameter(p->muon, "local_stagger", c->stagger));
  PetscCall(MuonSetParameter(p->muon, "local_control", c->control));
  PetscCall(MuonLayerSetType(p->layer[4], MUONLAYERADAMW));
  PetscCall(MuonLayerSetType(p->layer[3], MUONLAYERFROZEN));
  PetscCall(MuonLocalGetOuter(p->muon, &outer));
  PetscCall(MuonSetType(outer, c->type));
  if (c->compressor != NULL) PetscCall(MuonSetParameter(outer, c->compressor, MUONCOMPRESSORTOPK));
  for (PetscInt l = 0; l < p->n && offset != 0; l++) {
    PetscCall(PetscMalloc1(TestEntries(&p->shape[l]), &rows));
    PetscCall(TestGetWeights(p, l, rows));
    for (PetscInt e = 0; e < TestEntries(&p->shape[l]); e++) rows[e] += offset;
    PetscCall(TestSetWeights(p, l, rows));
    PetscCall(PetscFree(rows));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sums over the workers of their weights, momenta, moments and control variates, and of absolute values behind them */
static PetscErrorCode SumOwn(TestProblem *p, PetscReal sums[STATES][2][36 * TEST_LAYERS])
{
  const char *const state[STATES] = {NULL, "momentum", "adamw.mean", "adamw.square", "control"};
  Mat               A;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(sums, STATES * sizeof(*sums)));
  for (int k = 0; k < STATES; k++) {
    for (PetscInt l = 0; l < p->n; l++) {
      if (k == 0) PetscCall(TestGetWeights(p, l, &sums[k][0][36 * l]));
      else if (l != 3) {
        PetscCall(TestGetState(p->muon, p->layer[l], state[k], &A));
        if (A != NULL) PetscCall(TestMatGetRows(A, &sums[k][0][36 * l]));
      }
    }
    for (PetscInt e = 0; e < 36 * TEST_LAYERS; e++) sums[k][1][e] = PetscAbsReal(sums[k][0][e]);
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sums, STATES * 2 * 36 * TEST_LAYERS, MPIU_REAL, MPI_SUM, PetscObjectComm((PetscObject)p->muon)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From some of the ranks to some: means over the workers stay, up to rounding of so many additions; of a layer of AdamW as well, whose moments are made at the first step */
static PetscErrorCode TestElastic(const Case *c, PetscMPIInt from, PetscMPIInt to)
{
  PetscReal   was[STATES][2][36 * TEST_LAYERS], is[STATES][2][36 * TEST_LAYERS], moments = 0, controls = 0;
  MPI_Comm    comm;
  PetscMPIInt rank;
  TestProblem p;
  char        folder[64];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscSNPrintf(folder, sizeof(folder), "elastic%d_%d_%d", (int)(c - Cases), from, to));
  for (int saved = 0; saved < 2; saved++) {
    PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank < (saved ? to : from) ? 0 : MPI_UNDEFINED, rank, &comm));
    if (comm != MPI_COMM_NULL) {
      PetscCall(Create(comm, c, saved ? 7 : 0, &p));
      for (PetscInt s = 0; s < 4 && saved == 0; s++) PetscCall(MuonStep(p.muon));
      if (saved) PetscCall(MuonLoadCheckpoint(p.muon, folder));
      else PetscCall(MuonSaveCheckpoint(p.muon, folder, 1));
      PetscCall(SumOwn(&p, saved ? is : was));
      if (saved) PetscCall(MuonStep(p.muon));
      PetscCall(TestDestroy(&p));
      PetscCallMPI(MPI_Comm_free(&comm));
    }
    /* Rank 0 is in both */
    PetscCallMPI(MPI_Bcast(saved ? is : was, STATES * 2 * 36 * TEST_LAYERS, MPIU_REAL, 0, PETSC_COMM_WORLD));
  }
  for (int k = 0; k < STATES; k++) {
    for (PetscInt e = 0; e < 36 * TEST_LAYERS; e++) {
      const PetscReal bound = 2 * PETSC_MACHINE_EPSILON * (from + to + 2) * (was[k][1][e] / from), error = PetscAbsReal(is[k][0][e] / to - was[k][0][e] / from);

      PetscCheck(error <= bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %d to %d workers: entry %" PetscInt_FMT " of the mean of state %d differs by %g, allowed %g", c->type, from, to, e, k, (double)error, (double)bound);
      if (k == 4) controls += was[k][1][e];
      else if (k > 1) moments += was[k][1][e];
    }
  }
  PetscCheck(moments > 0 && (controls > 0) == (c->control[0] == 't'), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Moments are %g and control variates %g in all", (double)moments, (double)controls);
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
  PetscCall(Create(PETSC_COMM_WORLD, &Cases[0], 0, &p));
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
  PetscBool   options;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-muon_max_steps", &options));
  if (options) PetscCall(TestOptions());
  else PetscCall(TestChanged());
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(Cases) && options == PETSC_FALSE; k++) {
    for (PetscMPIInt from = 1; from <= size && size > 1; from++) PetscCall(TestElastic(&Cases[k], from, from % size + 1));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 3}}

  testset:
    nsize: 2
    args: -muon_max_steps 8
    test:
      suffix: view
      args: -local_steps 3 -outer_muon_type ef21 -outer_ef21_compressor topk -muon_view -muon_monitor
      filter: grep -o -E -e " (type|local_steps): [a-z0-9]+" -e "(learning rate|type sgd|step) .*" -e "bits.*" -e "up topk.*"
      requires: double
    # One layer and two in each step but the last
    test:
      suffix: stagger
      args: -local_steps 4 -local_stagger -muon_view -muon_monitor
      filter: grep -o -E -e "bits.*" -e "after step.*"
      requires: double
    # What rests says nothing of its compression
    test:
      suffix: rests
      args: -local_steps 3 -local_stagger -outer_muon_type ef21 -outer_ef21_compressor topk -outer_ef21_monitor_compression
      filter: grep -o -E "^ *[0-9]+ Muon layer [a-z0-9.]+ up *1-alpha *[0-9.]+"
    table: suffix | args | error
      late  | -local_stagger -outer_muon_delay 1 | -local_stagger with -outer_muon_delay 1
      cdelay | -local_control -outer_muon_delay 1 | -local_control with -outer_muon_delay 1: C would be of a round before that of the C_j, expected one of both
      cclip  | -local_control -outer_muon_clip 1 | -local_control with -outer_muon_clip 1.: control variates are no gradients
      crules | -local_control -outer_muon_type ef14 -outer_ef14_compressor topk -outer_ef14_compressor_layers all | control variate, expected -outer_ef14_compressor_layers lmo
      first | -local_stagger -outer_muon_type ef21 -outer_ef21_init gradient | -outer_ef21_init gradient with -local_stagger
    test:
      suffix: preset
      args: -muon_preset {{muloco diloco sparseloco}separate output} -muon_view -local_steps 4
      filter: grep -o -E -e " (type|local_steps|preset|layer_type|shape_factor|feedback|ef14_[a-z]*|adamw_[a-z0-9_]*):? [a-z0-9.-]+" -e "learning rate [0-9.]*, momentum.*" -e "h0.up.*"
      requires: double
    test:
      suffix: clip
      args: -muon_clip 1
      error: with -muon_type local no rank has the mean gradient that would be clipped, expected 0
    test:
      suffix: steps
      args: -local_steps 0
      error: -local_steps 0. must be in [1.,

TEST*/
