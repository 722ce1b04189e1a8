static char help[] = "Worked examples of whole steps: Muon's momentum variants, EF21-Muon, why error feedback is there, ties on a dyadic grid, sharp steps. Numbers are by hand, or exact in binary.\n\n";

#include "problem.h"

/* Two steps of a 2 x 2 layer from 0 with gradients diag(3,-3) and the identity */
static double TwoDiagonals(const Problem *p, PetscInt layer, PetscInt i, PetscInt j, PetscInt step, double w)
{
  return i != j ? 0 : step > 0 ? 1 : i == 0 ? 3 : -3;
}

static PetscErrorCode CheckMomentum(void)
{
  /* The last columns: the factor of the shape, the second diagonal entry of X after two steps, and the sum of |u| that the oracle saw in the second */
  static const struct {
    const char *style, *nesterov, *shape;
    double      factor, x, dual;
  } cases[]                    = {{"ema", "ema", "none", 1, 0.2, 0.232875 + 0.037875},
                                  {"sgd", "sgd", "none", 1, 0.2, 20 * (0.232875 + 0.037875)},
                                  {"ema", "none", "none", 1, 0.2, 0.1925 + 0.0925},
                                  {"sgd", "none", "none", 1, 0.2, 20 * (0.1925 + 0.0925)},
                                  {"ema", "undamped", "none", 1, 0, 1.182875 + 0.912125},
                                  {"ema", "ema", "kj", 1, 0.2, 0.232875 + 0.037875},
                                  {"sgd", "sgd", "moonlight", 0.2 * 1.4142135623730951, 0.2, 20 * (0.232875 + 0.037875)}};
  static const double zeros[4] = {0};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) {
    const double expected[4] = {-0.2 * cases[k].factor, 0, 0, cases[k].x * cases[k].factor};
    char         options[256];
    PetscReal    dual;
    Problem      p;

    PetscCall(
      PetscSNPrintf(options, sizeof(options), "-muon_type dense -problem_layers w:2x2 -muon_learning_rate 0.1 -muon_momentum 0.95 -muon_momentum_style %s -muon_nesterov %s -muon_shape_factor %s", cases[k].style, cases[k].nesterov, cases[k].shape));
    PetscCall(ProblemCreateWith(&p, options));
    p.form = TwoDiagonals;
    PetscCall(ProblemSetRows(&p, 0, zeros));
    for (int s = 0; s < 2; s++) PetscCall(MuonStep(p.muon));
    PetscCall(MuonGetGradientDualNorm(p.muon, &dual));
    /* A polar factor accurate to a few units of the last place, two steps; u is a difference of numbers 10 times as large */
    PetscCall(ProblemCheckRows(&p, 0, NULL, expected, 16 * (double)PETSC_MACHINE_EPSILON, options));
    PetscCheck(PetscAbsReal(dual - (PetscReal)cases[k].dual) <= 100 * PETSC_MACHINE_EPSILON * dual, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: the oracle saw a momentum of dual norm %.17g, expected %.17g", options, (double)dual, cases[k].dual);
    PetscCall(ProblemDestroy(&p));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* f_j(W) = 0.5 sum H_j (W - B_j)^2 of two workers, by rows */
static double TwoWorkers(const Problem *p, PetscInt layer, PetscInt i, PetscInt j, PetscInt step, double w)
{
  static const double H[2][4] = {{1, 1, 4, 1}, {1, 4, 1, 1}}, B[2][4] = {{1, -1, 4.5, 4.5}, {1, 1.75, 5, 3.5}};

  return H[p->rank][2 * i + j] * (w - B[p->rank][2 * i + j]);
}

/*
   EF21-Muon with Top-1 in both directions and exact polar factors: weights, momenta and aggregates of the first rounds, by rows; a dyadic
   computation by hand. Of X^1 - W^0 and of a residual of the third step two entries are equal: the one in the first column is sent
*/
static PetscErrorCode CheckEF21(const char exchange[])
{
  static const double X[4][4] = {{1, 1.5, 3.5, 4}, {1, 1, 4, 4}, {1, 0.5, 4.5, 4}, {1, 0, 5, 4}}, W[3][4] = {{1, 2, 3.5, 4}, {1, 1, 3.5, 4}, {1, 1, 4.5, 4}}, start[4] = {1, 2, 3, 4};
  static const double M[2][4][4] = {{{0, 3, -6, -0.5}, {0, 3, -5, -0.5}, {0, 2.5, -4.5, -0.5}, {0, 2.25, -2.25, -0.5}}, {{0, 1, -2, 0.5}, {0, 1, -1.75, 0.5}, {0, -1, -1.625, 0.5}, {0, -2, -1.0625, 0.5}}};
  static const double G[4][4] = {{0, 2, -4, 0}, {0, 2, -3.375, 0}, {0, 1, -3.125, 0}, {0, 0.5, -2, 0}}, Gj[2][4] = {{0, 3, -2.25, -0.5}, {0, -2, -1.75, 0.5}};
  const double        tolerance = 64 * (double)PETSC_MACHINE_EPSILON; /* of singular vectors, in three steps of radius 0.5 */
  char                what[32];
  Problem             p;

  PetscFunctionBegin;
  PetscCall(ProblemCreateWith(&p,
                              "-muon_type ef21 -problem_layers w:2x2 -problem_setup 0 -muon_learning_rate 0.5 -muon_momentum 0.5 -ef21_init gradient -ef21_compressor topk -ef21_compressor_ratio 0.25 -ef21_compressor_values native "
                              "-ef21_server_compressor topk -ef21_server_compressor_ratio 0.25 -ef21_server_compressor_values native -muon_exchange_type %s",
                              exchange));
  p.form = TwoWorkers;
  PetscCall(ProblemSetRows(&p, 0, start));
  for (int s = 0; s < 4; s++) {
    PetscCall(MuonStep(p.muon));
    PetscCall(PetscSNPrintf(what, sizeof(what), "%s, step %d", exchange, s));
    PetscCall(ProblemCheckRows(&p, 0, "momentum", M[p.rank][s], tolerance, what));
    PetscCall(ProblemCheckRows(&p, 0, "served", X[s], tolerance, what));
    PetscCall(ProblemCheckRows(&p, 0, "aggregate", G[s], tolerance, what));
    PetscCall(s < 3 ? ProblemCheckRows(&p, 0, NULL, W[s], tolerance, what) : ProblemCheckRows(&p, 0, "estimate", Gj[p.rank], tolerance, what));
  }
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* f_j(x) = (a_j x)^2 + |x|^2/4, with a_1 = (-3,2,2) and the others its rotations: the largest entry of each gradient leads uphill for the mean */
static double Rotations(const Problem *p, PetscInt layer, PetscInt i, PetscInt j, PetscInt step, double w)
{
  double product = 0;

  for (PetscInt e = 0; e < 3; e++) product += (e == p->rank ? -3 : 2) * ProblemGet(&p->layer[0].weights, e, 0);
  return 2 * product * (i == p->rank ? -3 : 2) + w / 2;
}

/* The mean of the losses */
static double Loss(const Problem *p)
{
  double loss = 0;

  for (int r = 0; r < 3; r++) {
    double product = 0, squares = 0;

    for (PetscInt e = 0; e < 3; e++) {
      const double x = ProblemGet(&p->layer[0].weights, e, 0);

      product += (e == r ? -3 : 2) * x;
      squares += x * x;
    }
    loss += (product * product + squares / 4) / 3;
  }
  return loss;
}

/*
   Three workers whose gradients cancel, Top-1 on the way up. The losses of the mean before step 50 and before the last, computed from the
   definitions with numpy in double. Near the solution the largest entries of EF21's differences are equal but for rounding: it ends somewhere
   below 1e-6
*/
static PetscErrorCode CheckFeedback(void)
{
  static const struct {
    const char *options;
    double      middle, end;
  } rows[]                    = {{"-muon_type ef21 -ef21_compressor topk -ef21_compressor_ratio 0.34 -ef21_compressor_values native", 0.43081558911930, 0},
                                 {"-muon_type ef14 -ef14_compressor topk -ef14_compressor_ratio 0.34 -ef14_compressor_values native -ef14_feedback 1", 1.44224293361317, 0.5947895740047},
                                 {"-muon_type ef14 -ef14_compressor topk -ef14_compressor_ratio 0.34 -ef14_compressor_values native -ef14_feedback 0.5", 1.97450394511740, 2.8094972360497},
                                 {"-muon_type ef14 -ef14_compressor topk -ef14_compressor_ratio 0.34 -ef14_compressor_values native -ef14_feedback 0", 4.16101988966449, 19.232834409904}};
  static const double ones[3] = {1, 1, 1};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(rows); k++) {
    Problem p;

    PetscCall(ProblemCreateWith(&p, "%s -problem_layers x:3x1 -lmo_type frobenius -problem_setup 0 -muon_learning_rate 0.02 -muon_schedule linear -muon_momentum 0 -muon_max_steps 400", rows[k].options));
    p.form = Rotations;
    PetscCall(ProblemSetRows(&p, 0, ones));
    for (int s = 0; s < 400; s++) {
      const double loss = Loss(&p), expected = s == 50 ? rows[k].middle : rows[k].end;

      if (s == 50 || s == 399)
        PetscCheck(fabs(loss - expected) <= (expected == 0 ? 1e-6 : (PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-8) * expected), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: loss %.14g before step %d, expected %.14g", rows[k].options, loss, s, expected);
      PetscCall(MuonStep(p.muon));
    }
    PetscCall(ProblemDestroy(&p));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Ties: Top-K keeps the first entries in the order of memory, which is column by column, though matrices have gaps. What one layer of all workers
   should be, by rows
*/
typedef struct {
  double W[36], X[36], G[36], M[4][36], Gj[4][36], B[4][36];
} Expected;

/* out becomes out + C(x); repeatedly the first column by column of the largest entries that are left */
static void TopKAdd(const ProblemShape *shape, const double x[], double out[])
{
  const PetscInt m = shape->m, n = shape->n;
  PetscBool      kept[36] = {PETSC_FALSE};

  for (PetscInt left = (PetscInt)(0.3 * (double)(m * n) + 1e-4); left > 0; left--) {
    PetscInt best = -1;

    for (PetscInt k = 0; k < m * n; k++) {
      const PetscInt e = k % m * n + k / m;

      if (kept[e] == PETSC_FALSE && (best < 0 || fabs(x[e]) > fabs(x[best]))) best = e;
    }
    kept[best] = PETSC_TRUE;
    out[best] += x[best];
  }
}

static void ExpectedStep(Expected *x, const ProblemShape *shape, PetscInt workers)
{
  const PetscInt d       = shape->m * shape->n;
  double         sum[36] = {0}, residual[36];

  for (PetscInt j = 0; j < workers; j++) {
    for (PetscInt e = 0; e < d; e++) {
      x->M[j][e]  = (x->M[j][e] + (x->W[e] - x->B[j][e])) / 2;
      residual[e] = x->M[j][e] - x->Gj[j][e];
    }
    TopKAdd(shape, residual, x->Gj[j]);
    TopKAdd(shape, residual, sum);
  }
  for (PetscInt e = 0; e < d; e++) {
    x->G[e] += (PetscReal)sum[e] / (PetscReal)workers;
    x->X[e] -= x->G[e] > 0 ? 0.25 : x->G[e] < 0 ? -0.25 : 0;
    residual[e] = x->X[e] - x->W[e];
  }
  TopKAdd(shape, residual, x->W);
}

static double Grid(const Problem *p, PetscInt layer, PetscInt i, PetscInt j, PetscInt step, double w)
{
  return w - ((const Expected *)p->data)[layer].B[p->rank][i * p->layer[layer].shape->n + j];
}

/* Few different numbers: weights in multiples of 1/2, optima in odd multiples of 1/8, so that nothing is zero */
static PetscErrorCode CheckTies(const char exchange[])
{
  const PetscInt steps = PETSC_MACHINE_EPSILON < 1e-10 ? 30 : 12; /* a step of momentum 1/2 adds a bit to the mantissa */
  char           what[32];
  Expected      *x;
  Problem        p;

  PetscFunctionBegin;
  PetscCall(ProblemCreateWith(&p,
                              "-muon_type ef21 -problem_layers square,tall,wide,gain -problem_setup 0 -lmo_type max -muon_learning_rate 0.25 -muon_momentum 0.5 -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_compressor_values native "
                              "-ef21_server_compressor topk -ef21_server_compressor_ratio 0.3 -ef21_server_compressor_values native -muon_exchange_type %s",
                              exchange));
  PetscCall(PetscCalloc1(p.n, &x));
  p.form = Grid;
  p.data = x;
  for (PetscInt l = 0; l < p.n; l++) {
    for (PetscInt e = 0; e < p.layer[l].shape->m * p.layer[l].shape->n; e++) {
      x[l].W[e] = x[l].X[e] = floor(3 * ProblemNumber(l, e, 0, 1)) / 2;
      for (PetscInt j = 0; j < p.size; j++) x[l].B[j][e] = floor(3 * ProblemNumber(l, e, j, 7)) + 0.125;
    }
    PetscCall(ProblemSetRows(&p, l, x[l].W));
  }
  for (PetscInt s = 0; s < steps; s++) {
    PetscCall(MuonStep(p.muon));
    PetscCall(PetscSNPrintf(what, sizeof(what), "%s, step %d", exchange, (int)s));
    for (PetscInt l = 0; l < p.n; l++) {
      ExpectedStep(&x[l], p.layer[l].shape, p.size);
      PetscCall(ProblemCheckRows(&p, l, NULL, x[l].W, 0, what));
      PetscCall(ProblemCheckRows(&p, l, "momentum", x[l].M[p.rank], 0, what));
      PetscCall(ProblemCheckRows(&p, l, "estimate", x[l].Gj[p.rank], 0, what));
      PetscCall(ProblemCheckRows(&p, l, "served", x[l].X, 0, what));
      /* A third is not on the grid: there only the sign of G must be right, which X shows */
      if (p.size != 3) PetscCall(ProblemCheckRows(&p, l, "aggregate", x[l].G, 0, what));
    }
  }
  PetscCall(ProblemDestroy(&p));
  PetscCall(PetscFree(x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* That of |W - A|^2 / 2, the same on all ranks */
static double Distance(const Problem *p, PetscInt layer, PetscInt i, PetscInt j, PetscInt step, double w)
{
  return w - ProblemNumber(0, i * p->layer[0].shape->n + j, 0, 7);
}

/* Sharp steps in two norms are gradient descent, and signs times the sum of the absolute entries */
static PetscErrorCode CheckSharp(const char type[], PetscBool signs)
{
  const double rate = (double)(PetscReal)0.03;
  double       w[36], now[36];
  Problem      p;

  PetscFunctionBegin;
  PetscCall(ProblemCreateWith(&p, "-muon_type %s -problem_layers tall -muon_learning_rate 0.03 -muon_momentum 0 -muon_step sharp -lmo_type %s", type, signs ? "max" : "frobenius"));
  p.form = Distance;
  PetscCall(ProblemGetRows(&p, 0, NULL, w, NULL));
  for (int s = 0; s < 10; s++) {
    double sum = 0;

    PetscCall(MuonStep(p.muon));
    PetscCall(ProblemGetRows(&p, 0, NULL, now, NULL));
    for (PetscInt e = 0; e < 36; e++) sum += fabs(Distance(&p, 0, e / 4, e % 4, s, w[e]));
    for (PetscInt e = 0; e < 36; e++) {
      const double g = Distance(&p, 0, e / 4, e % 4, s, w[e]), expected = w[e] - rate * (signs == PETSC_FALSE ? g : g > 0 ? sum : -sum);

      PetscCheck(fabs(now[e] - expected) <= 16 * (double)PETSC_MACHINE_EPSILON * (1 + fabs(expected)), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, step %d, entry %" PetscInt_FMT ": %.17g, expected %.17g", type, s, e, now[e], expected);
      w[e] = now[e]; /* roundings do not add up */
    }
  }
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(CheckMomentum());
  if (size == 2) {
    PetscCall(CheckEF21(MUONEXCHANGESTAR));
    PetscCall(CheckEF21(MUONEXCHANGELAYERWISE));
    PetscCall(CheckEF21(MUONEXCHANGEREPLICATED));
  }
  if (size == 3) PetscCall(CheckFeedback());
  PetscCall(CheckTies(MUONEXCHANGESTAR));
  PetscCall(CheckTies(MUONEXCHANGELAYERWISE));
  for (int k = 0; k < 4; k++) PetscCall(CheckSharp(k / 2 ? MUONEF21 : MUONDENSE, k % 2 ? PETSC_TRUE : PETSC_FALSE));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3 4}}

TEST*/
