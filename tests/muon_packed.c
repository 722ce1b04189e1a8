static char help[] = "Momenta and moments in 16 and 8 bits: what a step rounds, their bytes, the path to a minimum, checkpoints in another precision.\n\n";

#include "problem.h"

#define MOST 3600

/* By columns of PETSc's, and in single precision by rows; a matrix and a vector of AdamW's */
#define OPTIONS "-problem_layers w:12x300,r:5x260f,e:20x30,b:9x1 -problem_setup 0 -lmo_type frobenius -muon_layer_types e:adamw,b:adamw -muon_momentum 0.9 -muon_adamw_beta1 0.9 -muon_adamw_beta2 0.95 -muon_learning_rate 0.25"

static const double Momentum = 0.9, Beta1 = 0.9, Beta2 = 0.95, Rate = 0.25;

/* That of 1/2 ||W - B||^2, to which a worker adds an error, but for the first layer, whose gradient has a factor */
static double Gradient(double w, PetscInt l, PetscInt e, PetscInt step, PetscInt rank)
{
  return w - ProblemNumber(e, l, 77, 0) + (l == 0 ? 0 : ProblemNumber(e, l, step, rank));
}

static double Form(const Problem *p, PetscInt l, PetscInt i, PetscInt j, PetscInt step, double w)
{
  return (l == 0 ? *(const double *)p->data : 1) * Gradient(w, l, i * p->layer[l].shape->n + j, step, p->rank);
}

static PetscErrorCode Create(Problem *p, const char type[], const char at[], const char precision[])
{
  static const double one = 1, zeros[MOST] = {0};

  PetscFunctionBegin;
  PetscCall(ProblemCreateWith(p, OPTIONS " -muon_type %s -muon_momentum_at %s -muon_state_precision %s", type, at, precision));
  p->form = Form;
  p->data = &one;
  for (PetscInt l = 0; l < p->n; l++) PetscCall(ProblemSetRows(p, l, zeros));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool IsAdamW(PetscInt l)
{
  return l >= 2 ? PETSC_TRUE : PETSC_FALSE;
}

/* Of the block that begins at this entry; that of an entry within it is there already */
static double Largest(PetscInt n, const double rows[], PetscInt e, double most)
{
  const PetscInt j = e % n;

  if (j % 256 > 0) return most;
  most = 0;
  for (PetscInt k = j; k < PetscMin(n, j + 256); k++) most = PetscMax(most, fabs(rows[e + k - j]));
  return most;
}

/* How far the numbers are apart between which x lies, with this the largest of its block, and a few roundings on the way to x */
static double Distance(const char precision[], PetscInt n, PetscBool square, double x, double most)
{
  const double rounding = ldexp(4, -22);
  double       level;
  int          exponent;

  if (strcmp(precision, "bf16") == 0) {
    (void)frexp(x, &exponent);
    return ldexp(1, exponent - 8) + rounding;
  }
  if (strcmp(precision, "int8") != 0 || n == 1) return rounding;
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
  Problem                  p;
  double                   old[MOST], now[MOST], want[MOST], off = 0, worst[3] = {0, 0, 0}, start = 0, norm = 0, far = 0;
  PetscBool                kept;

  PetscFunctionBegin;
  PetscCall(Create(&p, type, at, precision));
  for (PetscInt step = 0; step < steps; step++) {
    double *gradient[4], *before[4][3];

    for (PetscInt l = 0; l < p.n; l++) {
      PetscCall(PetscCalloc4(MOST, &gradient[l], MOST, &before[l][0], MOST, &before[l][1], MOST, &before[l][2]));
      PetscCall(ProblemGetRows(&p, l, NULL, now, &kept));
      for (PetscInt e = 0; e < p.layer[l].shape->m * p.layer[l].shape->n; e++) {
        for (PetscMPIInt r = 0; r < p.size; r++) gradient[l][e] += Gradient(now[e], l, e, step, r) / p.size;
        if (worker && !IsAdamW(l)) gradient[l][e] = Gradient(now[e], l, e, step, p.rank);
      }
      for (int k = IsAdamW(l) ? 1 : 0; k < (IsAdamW(l) ? 3 : 1) && step > 0; k++) PetscCall(ProblemGetRows(&p, l, names[k], before[l][k], &kept));
    }
    PetscCall(MuonStep(p.muon));
    PetscCall(ProblemCheckReason(&p, MUON_CONVERGED_ITERATING, precision, "a step"));
    for (PetscInt l = 0; l < p.n; l++) {
      const PetscInt n = p.layer[l].shape->n, d = p.layer[l].shape->m * n;

      for (int k = IsAdamW(l) ? 1 : 0; k < (IsAdamW(l) ? 3 : 1); k++) {
        double rounded = 0, most = 0;

        PetscCall(ProblemGetRows(&p, l, names[k], now, &kept));
        if (kept == PETSC_FALSE) continue;
        if (step == 1) PetscCall(ProblemGetRows(&p, l, names[k], old, &kept));
        for (PetscInt e = 0; e < d; e++) {
          const double g = gradient[l][e], beta = k == 0 ? Momentum : k == 1 ? Beta1 : Beta2;

          PetscCheck(step != 1 || now[e] == old[e], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s of layer %s changes when it is looked at", names[k], p.layer[l].shape->name);
          want[e] = beta * before[l][k][e] + (1 - beta) * (k == 2 ? g * g : g);
        }
        for (PetscInt e = 0; e < d; e++) {
          const double error = fabs(now[e] - want[e]);
          double       allowed;

          most    = Largest(n, want, e, most);
          allowed = Distance(precision, n, k == 2 ? PETSC_TRUE : PETSC_FALSE, want[e], most);
          PetscCheck(error <= allowed, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s of layer %s in %s: entry %" PetscInt_FMT " is %g behind step %" PetscInt_FMT ", expected %g up to %g", names[k], p.layer[l].shape->name, precision, e, now[e], step, want[e],
                     allowed);
          if (n > 1) worst[k] = PetscMax(worst[k], error);
          rounded += error * error;
        }
        if (l == 0 && k == 0) off = Momentum * (off + sqrt(rounded) + Rate);
      }
    }
    norm = 0;
    PetscCall(ProblemGetRows(&p, 0, NULL, now, &kept));
    for (PetscInt e = 0; e < MOST; e++) norm = hypot(norm, Gradient(now[e], 0, e, step, 0));
    if (step == 0) start = norm;
    if (step >= steps - 50) far = PetscMax(far, off);
    for (PetscInt l = 0; l < p.n; l++) PetscCall(PetscFree4(gradient[l], before[l][0], before[l][1], before[l][2]));
  }
  for (int k = 0; k < 3; k++) PetscCheck(p.size > 1 || (worst[k] > 1e-5) == packs, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s in %s: the largest rounding is %g", names[k], precision, worst[k]);
  PetscCheck(p.size > 1 || (norm <= 2 * far + 1.5 * Rate && 2 * far + 1.5 * Rate < start / 3), PETSC_COMM_SELF, PETSC_ERR_PLIB, "In %s the gradient's norm went from %g to %g, expected at most %g", precision, start, norm, 2 * far + 1.5 * Rate);
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* State beside that of native: two momenta at the server, one at a worker, four moments */
static PetscErrorCode CheckBytes(const char at[], const char precision[])
{
  PetscLogDouble worker[2], server[2], expected[2] = {0, 0};
  Problem        p;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(Create(&p, MUONDENSE, at, k == 0 ? "native" : precision));
    PetscCall(MuonStep(p.muon));
    PetscCall(MuonGetMemory(p.muon, &worker[k], &server[k], NULL));
    for (PetscInt l = 0; l < p.n && k == 1; l++) {
      const double m = (double)p.layer[l].shape->m, n = (double)p.layer[l].shape->n, wide = (l == 1 ? 4 : sizeof(PetscScalar)) * m * n;
      const double packed = strcmp(precision, "bf16") == 0 ? 2 * m * n : n == 1 ? wide : m * n + 4 * m * ceil(n / 256);

      if (IsAdamW(l)) expected[1] += 4 * (packed - wide);
      else if (strcmp(at, "server") == 0) expected[1] += 2 * (packed - wide);
      else expected[0] += packed - wide;
    }
    PetscCall(ProblemDestroy(&p));
  }
  PetscCheck(worker[1] - worker[0] == expected[0] && server[1] - server[0] == expected[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Momentum at the %s in %s: %g bytes of workers and %g of servers beside those of native, expected %g and %g", at, precision,
             worker[1] - worker[0], server[1] - server[0], expected[0], expected[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A momentum beyond the numbers that it is packed to ends the step, which changes nothing; the next one is taken */
static PetscErrorCode CheckHuge(const char at[], const char precision[])
{
  static const double huge = 1e41, one = 1;
  ProblemImage        before;
  Problem             p;

  PetscFunctionBegin;
  PetscCall(Create(&p, MUONDENSE, at, precision));
  PetscCall(MuonStep(p.muon));
  PetscCall(ProblemTakeImage(&p, &before));
  p.data = &huge;
  PetscCall(MuonStep(p.muon));
  PetscCall(ProblemCheckReason(&p, MUON_DIVERGED_NANORINF, precision, "a gradient of 1e41"));
  PetscCall(ProblemCheckImage(&p, &before, precision, "a gradient of 1e41"));
  p.data = &one;
  PetscCall(MuonStep(p.muon));
  PetscCall(ProblemCheckReason(&p, MUON_CONVERGED_ITERATING, precision, "the next gradient"));
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A checkpoint has numbers: in another precision they are rounded to nearest, in a wider one they are as they were */
static PetscErrorCode CheckOther(const char from[], const char to[])
{
  static const char *const names[] = {"momentum", "adamw.mean", "adamw.square"};
  Problem                  p, q;
  double                   rows[2][MOST];
  char                     folder[64];

  PetscFunctionBegin;
  PetscCall(Create(&p, MUONDENSE, "server", from));
  PetscCall(Create(&q, MUONDENSE, "server", to));
  for (int k = 0; k < 3; k++) PetscCall(MuonStep(p.muon));
  PetscCall(PetscSNPrintf(folder, sizeof(folder), "%s.%s", from, to));
  PetscCall(MuonSaveCheckpoint(p.muon, folder, 1));
  PetscCall(MuonSetParameter(q.muon, "muon_restart_convert", "true"));
  PetscCall(MuonSetUp(q.muon));
  PetscCall(MuonLoadCheckpoint(q.muon, folder));
  for (PetscInt l = 0; l < p.n; l++) {
    const PetscInt n = p.layer[l].shape->n;

    for (int k = IsAdamW(l) ? 1 : 0; k < (IsAdamW(l) ? 3 : 1); k++) {
      double most = 0;

      PetscCall(ProblemGetRows(&p, l, names[k], rows[0], NULL));
      PetscCall(ProblemGetRows(&q, l, names[k], rows[1], NULL));
      for (PetscInt e = 0; e < p.layer[l].shape->m * n; e++) {
        double allowed;

        most    = Largest(n, rows[0], e, most);
        allowed = strcmp(to, "native") == 0 ? 0 : Distance(to, n, k == 2 ? PETSC_TRUE : PETSC_FALSE, rows[0][e], most) / 2;
        PetscCheck(fabs(rows[1][e] - rows[0][e]) <= allowed, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s of layer %s from %s to %s: entry %" PetscInt_FMT " is %g, expected %g up to %g", names[k], p.layer[l].shape->name, from, to, e, rows[1][e], rows[0][e],
                   allowed);
      }
    }
  }
  PetscCall(ProblemDestroy(&p));
  PetscCall(ProblemDestroy(&q));
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
