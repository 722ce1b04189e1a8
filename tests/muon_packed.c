static char help[] = "Momenta and moments in 16 and 8 bits: what a step rounds, their bytes, the path to a minimum, checkpoints in another precision.\n\n";

#include <petscmuon.h>
#include <math.h>
#include <string.h>
#include "number_common.h"
#include "parameters.h"

#define LAYERS 4
#define MOST   3600

/* By columns of PETSc's, and in single precision by rows; a matrix and a vector of AdamW's */
static const struct {
  const char *name;
  PetscInt    m, n;
  PetscBool   single, adamw;
} Shapes[LAYERS] = {{"w", 12, 300, PETSC_FALSE, PETSC_FALSE}, {"r", 5, 260, PETSC_TRUE, PETSC_FALSE}, {"e", 20, 30, PETSC_FALSE, PETSC_TRUE}, {"b", 9, 1, PETSC_FALSE, PETSC_TRUE}};

static const double Momentum = 0.9, Beta1 = 0.9, Beta2 = 0.95, Rate = 0.25;

typedef struct {
  Muon        muon;
  MuonLayer   layer[LAYERS];
  Mat         W[LAYERS];
  float       w[5 * 260];
  PetscMPIInt rank, size;
  double      factor; /* of the first layer's gradient */
} Run;

static double Weight(const Run *run, PetscInt l, PetscInt i, PetscInt j)
{
  const PetscScalar *a;
  double             x;

  if (Shapes[l].single) return (double)run->w[i * Shapes[l].n + j];
  PetscCallAbort(PETSC_COMM_SELF, MatDenseGetArrayRead(run->W[l], &a));
  x = (double)PetscRealPart(a[i + j * Shapes[l].m]);
  PetscCallAbort(PETSC_COMM_SELF, MatDenseRestoreArrayRead(run->W[l], &a));
  return x;
}

/* That of 1/2 ||W - B||^2, to which a worker adds an error, but for the first layer */
static double Gradient(double w, PetscInt l, PetscInt e, PetscInt step, PetscInt rank)
{
  const double noise = l == 0 ? 0 : (double)(TestHash((uint32_t)e, (uint32_t)l, (uint32_t)step, (uint32_t)rank) % 2048) / 1024 - 1;

  return w - ((double)(TestHash((uint32_t)e, (uint32_t)l, 77, 0) % 2048) / 1024 - 1) + noise;
}

static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  Run     *run = (Run *)ctx;
  PetscInt step;

  PetscFunctionBegin;
  PetscCall(MuonGetStepNumber(muon, &step));
  *loss = 0;
  for (PetscInt l = 0; l < LAYERS; l++) {
    const PetscInt m = Shapes[l].m, n = Shapes[l].n;
    MuonLayerArray array;
    PetscScalar   *g = NULL;
    Mat            G = NULL;

    if (Shapes[l].single) PetscCall(MuonLayerGetGradientArray(run->layer[l], &array));
    else {
      PetscCall(MuonLayerGetGradient(run->layer[l], &G));
      PetscCall(MatDenseGetArray(G, &g));
    }
    for (PetscInt e = 0; e < m * n; e++) {
      const double one = (l == 0 ? run->factor : 1) * Gradient(Weight(run, l, e / n, e % n), l, e, step, run->rank);

      if (Shapes[l].single) ((float *)array.w)[(e / n) * array.ld + e % n] = (float)one;
      else g[e / n + e % n * m] = (PetscScalar)one;
      *loss += (PetscReal)(one * one / 2);
    }
    if (G != NULL) PetscCall(MatDenseRestoreArray(G, &g));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(Run *run, const char type[], const char at[], const char precision[])
{
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &run->rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &run->size));
  PetscCall(PetscArrayzero(run->w, PETSC_STATIC_ARRAY_LENGTH(run->w)));
  run->factor = 1;
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &run->muon));
  PetscCall(MuonSetType(run->muon, type));
  for (PetscInt l = 0; l < LAYERS; l++) {
    MuonLayerArray array;
    MuonLMO        lmo;

    run->W[l] = NULL;
    if (Shapes[l].single) {
      PetscCall(MuonLayerArrayInitialize(&array));
      array.type     = PETSC_FLOAT;
      array.rowmajor = PETSC_TRUE;
      array.M        = Shapes[l].m;
      array.N        = Shapes[l].n;
      array.w        = run->w;
      PetscCall(MuonAddLayerArray(run->muon, Shapes[l].name, &array, &run->layer[l]));
    } else {
      PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, Shapes[l].m, Shapes[l].n, NULL, &run->W[l]));
      PetscCall(MuonAddLayer(run->muon, Shapes[l].name, run->W[l], &run->layer[l]));
    }
    PetscCall(MuonLayerGetLMO(run->layer[l], &lmo));
    PetscCall(MuonLMOSetType(lmo, MUONLMOFROBENIUS));
    if (Shapes[l].adamw) PetscCall(MuonLayerSetType(run->layer[l], MUONLAYERADAMW));
  }
  PetscCall(MuonSetParameter(run->muon, "muon_momentum_at", at));
  PetscCall(MuonSetParameter(run->muon, "muon_state_precision", precision));
  PetscCall(MuonSetMomentum(run->muon, (PetscReal)Momentum, MUON_MOMENTUM_EMA, MUON_NESTEROV_NONE));
  PetscCall(SetNumber((PetscObject)run->muon, "muon_adamw_beta1", Beta1));
  PetscCall(SetNumber((PetscObject)run->muon, "muon_adamw_beta2", Beta2));
  PetscCall(MuonSetLearningRate(run->muon, (PetscReal)Rate));
  PetscCall(MuonSetObjectiveAndGradient(run->muon, Objective, run));
  PetscCall(MuonSetFromOptions(run->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(Run *run)
{
  PetscFunctionBegin;
  PetscCall(MuonDestroy(&run->muon));
  for (PetscInt l = 0; l < LAYERS; l++) PetscCall(MatDestroy(&run->W[l]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By rows; zeros before the first step */
static PetscErrorCode GetState(Run *run, PetscInt l, const char name[], double rows[], PetscBool *kept)
{
  const PetscScalar *a;
  Mat                A;

  PetscFunctionBegin;
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, Shapes[l].m, Shapes[l].n, NULL, &A));
  PetscCall(MuonGetLayerState(run->muon, run->layer[l], name, A, kept));
  PetscCall(MatDenseGetArrayRead(A, &a));
  for (PetscInt e = 0; e < Shapes[l].m * Shapes[l].n; e++) rows[e] = (double)PetscRealPart(a[e / Shapes[l].n + e % Shapes[l].n * Shapes[l].m]);
  PetscCall(MatDenseRestoreArrayRead(A, &a));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the block that begins at this entry; that of an entry within it is there already */
static double Largest(PetscInt l, const double rows[], PetscInt e, double most)
{
  const PetscInt j = e % Shapes[l].n;

  if (j % 256 > 0) return most;
  most = 0;
  for (PetscInt k = j; k < PetscMin(Shapes[l].n, j + 256); k++) most = PetscMax(most, fabs(rows[e + k - j]));
  return most;
}

/* How far the numbers are apart between which x lies, with this the largest of its block, and a few roundings on the way to x */
static double Distance(const char precision[], PetscInt l, PetscBool square, double x, double most)
{
  const double rounding = ldexp(4, -22);
  double       level;
  int          exponent;

  if (strcmp(precision, "bf16") == 0) {
    (void)frexp(x, &exponent);
    return ldexp(1, exponent - 8) + rounding;
  }
  if (strcmp(precision, "int8") != 0 || Shapes[l].n == 1) return rounding;
  level = most > 0 ? floor(255 * pow(x / most, 0.25)) : 0;
  return (square ? (pow((level + 1) / 255, 4) - pow(level / 255, 4)) * most : most / 127) + rounding;
}

/*
   Steps one by one: each state is what the step makes of the one before, up to one rounding. With a step of length t along an M that is off by
   e, ||g|| falls where it is above 2 e + t/2, and e <= Momentum (e + rounding + t)
*/
static PetscErrorCode CheckSteps(const char type[], const char at[], const char precision[], PetscInt steps)
{
  static const char *const names[] = {"momentum", "adamw.mean", "adamw.square"};
  const PetscBool          worker  = strcmp(at, "worker") == 0 ? PETSC_TRUE : PETSC_FALSE;
  const PetscBool          packs   = strcmp(precision, "native") != 0 ? PETSC_TRUE : PETSC_FALSE;
  Run                      run;
  double                   old[MOST], now[MOST], want[MOST], off = 0, worst[3] = {0, 0, 0}, start = 0, norm = 0, far = 0;
  PetscBool                kept;
  MuonConvergedReason      reason;

  PetscFunctionBegin;
  PetscCall(Create(&run, type, at, precision));
  for (PetscInt step = 0; step < steps; step++) {
    double *gradient[LAYERS], *before[LAYERS][3];

    for (PetscInt l = 0; l < LAYERS; l++) {
      PetscCall(PetscCalloc4(MOST, &gradient[l], MOST, &before[l][0], MOST, &before[l][1], MOST, &before[l][2]));
      for (PetscInt e = 0; e < Shapes[l].m * Shapes[l].n; e++) {
        const double w = Weight(&run, l, e / Shapes[l].n, e % Shapes[l].n);

        for (PetscMPIInt r = 0; r < run.size; r++) gradient[l][e] += Gradient(w, l, e, step, r) / run.size;
        if (worker && !Shapes[l].adamw) gradient[l][e] = Gradient(w, l, e, step, run.rank);
      }
      for (int k = Shapes[l].adamw ? 1 : 0; k < (Shapes[l].adamw ? 3 : 1) && step > 0; k++) PetscCall(GetState(&run, l, names[k], before[l][k], &kept));
    }
    PetscCall(MuonStep(run.muon));
    PetscCall(MuonGetConvergedReason(run.muon, &reason));
    PetscCheck(reason >= 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt_FMT " ended with %s", step, MuonConvergedReasons[reason]);
    for (PetscInt l = 0; l < LAYERS; l++) {
      const PetscInt n = Shapes[l].n, d = Shapes[l].m * n;

      for (int k = Shapes[l].adamw ? 1 : 0; k < (Shapes[l].adamw ? 3 : 1); k++) {
        double rounded = 0, most = 0;

        PetscCall(GetState(&run, l, names[k], now, &kept));
        if (kept == PETSC_FALSE) continue;
        if (step == 1) PetscCall(GetState(&run, l, names[k], old, &kept));
        for (PetscInt e = 0; e < d; e++) {
          const double g = gradient[l][e], beta = k == 0 ? Momentum : k == 1 ? Beta1 : Beta2;

          PetscCheck(step != 1 || now[e] == old[e], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s of layer %s changes when it is looked at", names[k], Shapes[l].name);
          want[e] = beta * before[l][k][e] + (1 - beta) * (k == 2 ? g * g : g);
        }
        for (PetscInt e = 0; e < d; e++) {
          const double error = fabs(now[e] - want[e]);
          double       allowed;

          most    = Largest(l, want, e, most);
          allowed = Distance(precision, l, k == 2 ? PETSC_TRUE : PETSC_FALSE, want[e], most);
          PetscCheck(error <= allowed, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s of layer %s in %s: entry %" PetscInt_FMT " is %g behind step %" PetscInt_FMT ", expected %g up to %g", names[k], Shapes[l].name, precision, e, now[e], step, want[e],
                     allowed);
          if (n > 1) worst[k] = PetscMax(worst[k], error);
          rounded += error * error;
        }
        if (l == 0 && k == 0) off = Momentum * (off + sqrt(rounded) + Rate);
      }
    }
    norm = 0;
    for (PetscInt e = 0; e < MOST && (step == 0 || step == steps - 1); e++) norm = hypot(norm, Gradient(Weight(&run, 0, e / Shapes[0].n, e % Shapes[0].n), 0, e, step, 0));
    if (step == 0) start = norm;
    if (step >= steps - 50) far = PetscMax(far, off);
    for (PetscInt l = 0; l < LAYERS; l++) PetscCall(PetscFree4(gradient[l], before[l][0], before[l][1], before[l][2]));
  }
  for (int k = 0; k < 3; k++) PetscCheck(run.size > 1 || (worst[k] > 1e-5) == packs, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s in %s: the largest rounding is %g", names[k], precision, worst[k]);
  PetscCheck(run.size > 1 || (norm <= 2 * far + 1.5 * Rate && 2 * far + 1.5 * Rate < start / 3), PETSC_COMM_SELF, PETSC_ERR_PLIB, "In %s the gradient's norm went from %g to %g, expected at most %g", precision, start, norm, 2 * far + 1.5 * Rate);
  PetscCall(Destroy(&run));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* State beside that of native: two momenta at the server, one at a worker, four moments */
static PetscErrorCode CheckBytes(const char at[], const char precision[])
{
  PetscLogDouble worker[2], server[2], expected[2] = {0, 0};

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    Run run;

    PetscCall(Create(&run, MUONDENSE, at, k == 0 ? "native" : precision));
    PetscCall(MuonStep(run.muon));
    PetscCall(MuonGetMemory(run.muon, &worker[k], &server[k], NULL));
    PetscCall(Destroy(&run));
  }
  for (PetscInt l = 0; l < LAYERS; l++) {
    const double entries = (double)(Shapes[l].m * Shapes[l].n), wide = (Shapes[l].single ? 4 : sizeof(PetscScalar)) * entries;
    const double in8    = Shapes[l].n == 1 ? wide : entries + 4 * (double)Shapes[l].m * ceil((double)Shapes[l].n / 256);
    const double packed = strcmp(precision, "bf16") == 0 ? 2 * entries : in8;

    if (Shapes[l].adamw) expected[1] += 4 * (packed - wide);
    else if (strcmp(at, "server") == 0) expected[1] += 2 * (packed - wide);
    else expected[0] += packed - wide;
  }
  PetscCheck(worker[1] - worker[0] == expected[0] && server[1] - server[0] == expected[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Momentum at the %s in %s: %g bytes of workers and %g of servers beside those of native, expected %g and %g", at, precision,
             worker[1] - worker[0], server[1] - server[0], expected[0], expected[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A momentum beyond the numbers that it is packed to ends the step, which changes nothing; the next one is taken */
static PetscErrorCode CheckHuge(const char at[], const char precision[])
{
  Run                 run;
  MuonConvergedReason reason[2];
  double              rows[2][MOST];
  PetscBool           kept;

  PetscFunctionBegin;
  PetscCall(Create(&run, MUONDENSE, at, precision));
  PetscCall(MuonStep(run.muon));
  PetscCall(GetState(&run, 0, "momentum", rows[0], &kept));
  run.factor = 1e41;
  PetscCall(MuonStep(run.muon));
  PetscCall(MuonGetConvergedReason(run.muon, &reason[0]));
  PetscCall(GetState(&run, 0, "momentum", rows[1], &kept));
  run.factor = 1;
  PetscCall(MuonStep(run.muon));
  PetscCall(MuonGetConvergedReason(run.muon, &reason[1]));
  PetscCheck(reason[0] == MUON_DIVERGED_NANORINF && reason[1] >= 0 && memcmp(rows[0], rows[1], sizeof(rows[0])) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Momentum at the %s in %s, with a gradient of 1e41: %s and then %s", at, precision,
             MuonConvergedReasons[reason[0]], MuonConvergedReasons[reason[1]]);
  PetscCall(Destroy(&run));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A checkpoint has numbers: in another precision they are rounded to nearest, in a wider one they are as they were */
static PetscErrorCode CheckOther(const char from[], const char to[])
{
  static const char *const names[] = {"momentum", "adamw.mean", "adamw.square"};
  Run                      run[2];
  double                   rows[2][MOST];
  char                     folder[64];
  PetscBool                kept;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(Create(&run[k], MUONDENSE, "server", k == 0 ? from : to));
  for (int k = 0; k < 3; k++) PetscCall(MuonStep(run[0].muon));
  PetscCall(PetscSNPrintf(folder, sizeof(folder), "%s.%s", from, to));
  PetscCall(MuonSaveCheckpoint(run[0].muon, folder, 1));
  PetscCall(MuonSetParameter(run[1].muon, "muon_restart_convert", "true"));
  PetscCall(MuonSetUp(run[1].muon));
  PetscCall(MuonLoadCheckpoint(run[1].muon, folder));
  for (PetscInt l = 0; l < LAYERS; l++) {
    for (int k = Shapes[l].adamw ? 1 : 0; k < (Shapes[l].adamw ? 3 : 1); k++) {
      double most = 0;

      for (int r = 0; r < 2; r++) PetscCall(GetState(&run[r], l, names[k], rows[r], &kept));
      for (PetscInt e = 0; e < Shapes[l].m * Shapes[l].n; e++) {
        const double error = fabs(rows[1][e] - rows[0][e]);
        double       allowed;

        most    = Largest(l, rows[0], e, most);
        allowed = strcmp(to, "native") == 0 ? 0 : Distance(to, l, k == 2 ? PETSC_TRUE : PETSC_FALSE, rows[0][e], most) / 2;
        PetscCheck(error <= allowed, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s of layer %s from %s to %s: entry %" PetscInt_FMT " is %g, expected %g up to %g", names[k], Shapes[l].name, from, to, e, rows[1][e], rows[0][e], allowed);
      }
    }
  }
  for (int k = 0; k < 2; k++) PetscCall(Destroy(&run[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const char *const precisions[] = {"native", "bf16", "int8"};
  PetscMPIInt              size;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t k = 0; k < 3; k++) {
    PetscCall(CheckSteps(MUONDENSE, "server", precisions[k], size > 1 ? 8 : 160));
    if (size > 1) PetscCall(CheckSteps(MUONEF21, "worker", precisions[k], 8));
    for (int at = 0; at < 2 && size == 1 && k > 0; at++) {
      PetscCall(CheckBytes(at ? "worker" : "server", precisions[k]));
      PetscCall(CheckHuge(at ? "worker" : "server", precisions[k]));
    }
    for (size_t j = 0; j < 3 && size == 1; j++) {
      if (j != k) PetscCall(CheckOther(precisions[k], precisions[j]));
    }
  }
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 3}}

TEST*/
