static char help[] = "Scaling around the LMO: worked examples, by rows of any number of ranks and transposed, with the state that they leave.\n\n";

#include "problem.h"

/* A, B and C as they are given, and by how much the weights become less in each step; numbers have 12 digits */
static const PetscReal Gradients[3][6] = {{2, -1, 2, 0.25, 0.5, -0.25}, {1, 0.5, -1, 0.5, -1, 0.25}, {0.5, -1, 1, 1, 0.25, 0.5}};
#define ZEROS \
  { \
    0, 0, 0, 0, 0, 0 \
  }
#define POLAR_A \
  { \
    0.694374962663, -0.297988862647, 0.655016067715, 0.581242988110, 0.768897026746, -0.266371828531 \
  }
#define POLAR_B \
  { \
    0.699389697771, 0.280038601303, -0.657595949221, 0.495972968807, -0.852633442451, 0.164398987305 \
  }

#define SOAP "-muon_momentum 0.95 -muon_nesterov ema -muon_momentum_at server -muon_layer_before soap -muon_layer_before_beta 0.9 -muon_layer_before_soap_interval 1 -muon_layer_before_soap_basis qr"

static char Assembly[64] = ""; /* options of all runs */

typedef struct {
  const char *name, *options, *transposed;
  PetscInt    steps;
  PetscReal   off;  /* what a number that keeps a root from zero changes */
  PetscReal   W[6]; /* the weights to begin with */
  PetscReal   U[3][6];
} Example;

static const Example Examples[] = {
  {"rows", "-muon_layer_before rows", "-muon_layer_before columns", 1, 0, ZEROS, {{0.744538492825, -0.226549918131, 0.627963030200, 0.515424516979, 0.792890367324, -0.325057583672}}},
  {"columns", "-muon_layer_before columns", "-muon_layer_before rows", 1, 0, ZEROS, {{0.666136849227, -0.446155329392, 0.597668068544, 0.570119638023, 0.821257090451, -0.022369392566}}},
  {"rowsmean",
   "-muon_layer_before rows -muon_layer_before_beta 0.9",
   "-muon_layer_before columns -muon_layer_before_beta 0.9",
   2,
   0,
   ZEROS,
   {{0.744538492825, -0.226549918131, 0.627963030200, 0.515424516979, 0.792890367324, -0.325057583672}, {0.715235175864, 0.252005563754, -0.651867961357, 0.472835889440, -0.861335359336, 0.185816092994}}},
  {"entries",
   "-muon_layer_before entries -muon_layer_before_beta 0.9",
   "-muon_layer_before entries -muon_layer_before_beta 0.9",
   2,
   1e-9,
   ZEROS,
   {{0.707106781187, -0.5, 0.5, 0.707106781187, 0.5, -0.5}, {0.718344980466, 0.480046057068, -0.503523854581, 0.691848308413, -0.568874900459, 0.444665341323}}},
  {"lines", "-muon_layer_after lines_columns", "-muon_layer_after lines_rows", 1, 0, ZEROS, {{0.766808867950, -0.361364575280, 0.926332606535, 0.641875501973, 0.932424604852, -0.376706652542}}},
  {"normuon",
   "-muon_layer_after normuon_long -muon_layer_after_beta 0.9",
   "-muon_layer_after normuon_long -muon_layer_after_beta 0.9",
   2,
   0,
   ZEROS,
   {{0.626096818906, -0.295052940184, 0.756347406038, 0.524089152742, 0.761321501834, -0.307579693813}, {0.649866343712, 0.265275392827, -0.777666813118, 0.460853428134, -0.807683906185, 0.194416703279}}},
  /* Rows of the factor of a wide matrix have one norm */
  {"normuonrow", "-muon_layer_after normuon_row -muon_layer_after_beta 0.9", "-muon_layer_after normuon_column -muon_layer_after_beta 0.9", 2, 0, ZEROS, {POLAR_A, POLAR_B}},
  {"frobenius", "-muon_layer_after frobenius", "-muon_layer_after frobenius", 2, 0, ZEROS, {POLAR_A, POLAR_B}},
  {"none", "-muon_layer_after none", "-muon_layer_before none", 2, 0, ZEROS, {POLAR_A, POLAR_B}},
  /* The steps of nanochat */
  {"chain",
   "-muon_momentum 0.95 -muon_nesterov ema -muon_momentum_at server -muon_layer_before rows -muon_layer_after frobenius,normuon_long -muon_layer_after_beta 0.9",
   "-muon_momentum 0.95 -muon_nesterov ema -muon_momentum_at server -muon_layer_before columns -muon_layer_after frobenius,normuon_long -muon_layer_after_beta 0.9",
   2,
   0,
   ZEROS,
   {{0.671327750821, -0.224317844799, 0.725109249054, 0.464742635923, 0.785078449055, -0.375344166870}, {0.895278126011, 0.327888025491, -0.177372534521, 0.324318635789, -0.924968620824, 0.314254636869}}},
  /* Of one side, in the order of record 46 of the speed runs: the first step has no basis */
  {"soap", SOAP, SOAP, 3, 2e-8, ZEROS, {POLAR_A, {0.746716318330, 0.470326875662, -0.470326875662, 0.665142646310, -0.528008172314, 0.528008172314}, {0.220300201671, -0.858590716254, 0.462914466296, 0.668053218444, 0.478607381355, 0.569771771711}}},
  {"hyperball",
   "-muon_layer_hyperball -muon_learning_rate 0.1",
   "-muon_layer_w_hyperball -muon_learning_rate 0.1",
   2,
   0,
   {1, 2, 2, 0, -4, 0},
   {{0.266177823207, -0.047651886234, 0.280051515266, 0.199868120545, 0.154764370693, -0.091595490739}, {0.224738899661, 0.00876475525, -0.322915123363, 0.192729829412, -0.123000229866, 0.05657370898}}},
  /* An inexact factor */
  {"inexact", "-lmo_polar_type newtonschulz", "-lmo_polar_type newtonschulz", 1, 1e-6, ZEROS, {{0.505418660264, -0.209121921783, 0.470548733584, 0.501230786446, 0.653762306095, -0.222271373009}}},
  {"inexactfrobenius",
   "-lmo_polar_type newtonschulz -muon_layer_after frobenius",
   "-lmo_polar_type newtonschulz -muon_layer_after frobenius",
   1,
   1e-6,
   ZEROS,
   {{0.639658203251, -0.264664847709, 0.595526800118, 0.634358027273, 0.827402023209, -0.281306802204}}},
  {"inexactlines",
   "-lmo_polar_type newtonschulz -muon_layer_after lines_rows",
   "-lmo_polar_type newtonschulz -muon_layer_after lines_columns",
   1,
   1e-6,
   ZEROS,
   {{0.700488181695, -0.289833847182, 0.652159986762, 0.587434590628, 0.766199130290, -0.260498549855}}},
};

/*
   Identities: two runs of one rank on matrices of numbers, whose moves are compared. Of the first run so many steps are left out
   at the beginning, for which the second one has no gradients
*/
typedef enum {
  SAME,
  PARALLEL, /* up to one factor for each step */
  TWICE,    /* those of the second run are twice as large, to the last bit */
  BITS,
  TURNED, /* those of the second run are Turn times the first */
  RESTS   /* the first does not move */
} Relation;

#define CHOSEN "-muon_layer_before soap -muon_layer_before_soap_interval 1 -muon_layer_before_beta 0.9"
#define MIXED \
  { \
    2, -1, 2, 0.25, 0.5, -0.25, 1, 0.5, -1, 0.5, -1, 0.25, 0.5, -1, 1, 1, 0.25, 0.5 \
  }
/* Rows at right angles, the first one the longer: the basis is that of the rows */
#define ALIGNED \
  { \
    3, 0, -2, 0, 0, 1, 0, -0.5, -2, 0, 4, 0, 0, 0.25, 0, 1, 5, 0, 1, 0, 0, -2, 0, 1 \
  }

typedef struct {
  const char *name, *options[2];
  PetscInt    m, n, steps, skips;
  PetscReal   gradients[24];
  PetscReal   times, weights[2]; /* the gradients of the second run, and the weights, are so large */
  Relation    relation;
} Identity;

static const PetscReal Turn[2][2] = {{0.6, -0.8}, {0.8, 0.6}};

static const Identity Identities[] = {
  {"V1", {"-muon_layer_after normuon_row -muon_layer_after_beta 0", "-muon_layer_after lines_rows"}, 3, 2, 3, 0, MIXED, 1, {1, 1}, PARALLEL},
  {"V3", {"-muon_layer_before rows -muon_layer_before_beta 0.9 -muon_momentum 0.5", "-muon_layer_before rows -muon_momentum 0.5"}, 2, 3, 1, 0, MIXED, 1, {1, 1}, SAME},
  {"V5, the long side", {"-muon_layer_before columns", "-lmo_type max"}, 1, 6, 3, 0, MIXED, 1, {1, 1}, PARALLEL},
  {"V5, the short side", {"-muon_layer_before rows", "-muon_layer_before none"}, 1, 6, 3, 0, MIXED, 1, {1, 1}, SAME},
  {"V6", {"-muon_layer_before rows -muon_layer_after normuon_long", "-muon_layer_before rows -muon_layer_after normuon_long"}, 2, 3, 3, 0, MIXED, 8, {1, 1}, BITS},
  {"H2", {"-muon_layer_hyperball -muon_learning_rate 0.1", "-muon_layer_hyperball -muon_learning_rate 0.1 -muon_shape_factor moonlight -muon_layer_w_scale 3 -muon_layer_after frobenius"}, 2, 3, 3, 0, MIXED, 1, {1, 1}, SAME},
  {"H3", {"-muon_layer_hyperball -muon_learning_rate 0.1", "-muon_layer_hyperball -muon_learning_rate 0.1"}, 2, 3, 3, 0, MIXED, 1, {1, 2}, TWICE},
  {"H4", {"-muon_layer_hyperball -muon_learning_rate 0.1 -lmo_type frobenius", "-muon_layer_hyperball -lmo_type frobenius"}, 2, 3, 1, 0, {-1, 2, -3, 4, -5, 6}, 1, {1, 1}, RESTS},
  {"S1", {CHOSEN, "-muon_layer_before entries -muon_layer_before_beta 0.9"}, 2, 4, 3, 1, ALIGNED, 1, {1, 1}, SAME},
  {"S2", {CHOSEN, "-muon_layer_before none"}, 2, 4, 3, 0, {3, 3, -3, 3, 1, 1, 1, -1, -5, -5, 5, -5, 2, 2, 2, -2, 4, 4, -4, 4, 3, 3, 3, -3}, 1, {1, 1}, SAME},
  {"S4", {CHOSEN " -muon_momentum 0.5", CHOSEN " -muon_momentum 0.5"}, 2, 3, 3, 0, MIXED, 1, {1, 1}, TURNED},
  {"S5", {CHOSEN, "-muon_layer_before entries -muon_layer_before_beta 0.9"}, 1, 6, 3, 1, MIXED, 1, {1, 1}, SAME},
};

/* One run: numbers are by rows, or by columns of a matrix that is the transpose */
typedef struct {
  const char      *name, *type, *options;
  PetscInt         m, n, steps, first; /* first: steps that are left out */
  PetscBool        alone, transposed, turned, root;
  PetscReal        times; /* gradients are so large */
  const PetscReal *gradients;
} Play;

static PetscInt At(const Play *play, PetscInt i, PetscInt j)
{
  return play->transposed ? j * play->m + i : i * play->n + j;
}

static double Gradient(const Problem *p, PetscInt layer, PetscInt i, PetscInt j, PetscInt step, double w)
{
  const Play      *play = (const Play *)p->data;
  const PetscReal *g    = play->gradients + (step + play->first) * play->m * play->n;

  return play->times * (play->turned ? Turn[i][0] * g[j] + Turn[i][1] * g[play->n + j] : g[At(play, i, j)]);
}

/* Kept squares that are known exactly: v_1 = (.041, .034, .025) of NorMuon's columns of A */
static PetscErrorCode CheckState(const Problem *p)
{
  static const PetscReal squares[] = {0.041, 0.034, 0.025};
  PetscScalar            v[3];
  PetscBool              kept;
  Mat                    V;

  PetscFunctionBegin;
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 3, 1, v, &V));
  PetscCall(MuonGetLayerState(p->muon, p->layer[0].layer, "after.kept[0]", V, &kept));
  PetscCheck(kept, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No mean squares are kept");
  for (int k = 0; k < 3; k++) PetscCheck(PetscAbsScalar(v[k] - squares[k]) < 64 * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Mean square %d is %g, expected %g", k, (double)PetscRealPart(v[k]), (double)squares[k]);
  PetscCall(MatDestroy(&V));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* S3: the covariance of the first gradient is (1 - beta) g g^T, and its inverse root in the basis that is kept makes of g the polar factor, D of that step */
static PetscErrorCode CheckRoot(const Problem *p, const PetscReal g[], PetscInt n, const PetscReal U[], PetscReal tolerance)
{
  PetscScalar c[4], q[4];
  PetscBool   kept;

  PetscFunctionBegin;
  for (int k = 1; k < 3; k++) {
    Mat A;

    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 2, 2, k == 1 ? c : q, &A));
    PetscCall(MuonGetLayerState(p->muon, p->layer[0].layer, k == 1 ? "before.kept[1]" : "before.kept[2]", A, &kept));
    PetscCall(MatDestroy(&A));
    PetscCheck(kept || p->size > 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "S3: no basis is kept");
    if (kept == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS); /* it is with the owner */
  }
  for (PetscInt e = 0; e < 2 * n; e++) {
    PetscReal sum = 0;

    for (int k = 0; k < 2; k++) {
      const PetscReal v[2]   = {PetscRealPart(q[2 * k]), PetscRealPart(q[2 * k + 1])};
      const PetscReal square = v[0] * v[0] * PetscRealPart(c[0]) + 2 * v[0] * v[1] * PetscRealPart(c[1]) + v[1] * v[1] * PetscRealPart(c[3]);

      sum += v[e / n] * (v[0] * g[e % n] + v[1] * g[n + e % n]) * PetscSqrtReal((PetscReal)(1 - 0.9) / square);
    }
    PetscCheck(PetscAbsReal(sum - U[e]) < tolerance, PETSC_COMM_SELF, PETSC_ERR_PLIB, "S3: entry %d is %g, expected %g", (int)e, (double)sum, (double)U[e]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From the weights W, by how much those that are here become less in each step; and H1: a sphere is not left */
static PetscErrorCode Run(const Play *play, const PetscReal W[], PetscReal U[])
{
  const PetscReal tolerance = 1e5 * PETSC_MACHINE_EPSILON;
  const PetscBool sphere    = strstr(play->options, "hyperball") != NULL ? PETSC_TRUE : PETSC_FALSE;
  double          before[24], after[24];
  Problem         p;

  PetscFunctionBegin;
  PetscCall(ProblemCreateWith(&p, "-problem_setup 0 -problem_layers w:%dx%d -problem_ranks %d -muon_type %s -muon_learning_rate 1 -muon_momentum 0 -muon_shape_factor none %s %s", (int)play->m, (int)play->n, play->alone ? 1 : 0, play->type, Assembly,
                              play->options));
  p.form = Gradient;
  p.data = play;
  for (PetscInt e = 0; e < p.layer[0].weights.count * play->n; e++) before[e] = W[At(play, p.layer[0].weights.first + e / play->n, e % play->n)];
  PetscCall(ProblemSetRows(&p, 0, before));
  for (PetscInt k = play->first; k < play->steps; k++) {
    double norm[2] = {0, 0};

    PetscCall(ProblemGetRows(&p, 0, NULL, before, NULL));
    PetscCall(MuonStep(p.muon));
    PetscCall(ProblemGetRows(&p, 0, NULL, after, NULL));
    for (PetscInt e = 0; e < p.layer[0].weights.count * play->n; e++) {
      U[k * play->m * play->n + At(play, p.layer[0].weights.first + e / play->n, e % play->n)] = (PetscReal)(before[e] - after[e]);
      norm[0] += before[e] * before[e];
      norm[1] += after[e] * after[e];
    }
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, norm, 2, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
    PetscCheck(!sphere || fabs(sqrt(norm[1]) - sqrt(norm[0])) < tolerance * sqrt(norm[0]), PETSC_COMM_SELF, PETSC_ERR_PLIB, "H1 at %s: the norm is %g, expected %g", play->name, sqrt(norm[1]), sqrt(norm[0]));
    if (k == 0 && play->root) PetscCall(CheckRoot(&p, play->gradients, play->n, U, tolerance));
    /* A rank has the squares of its rows */
    if (k == 0 && strcmp(play->name, "normuon") == 0 && (p.size == 1 || !play->transposed)) PetscCall(CheckState(&p));
  }
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckExample(const Example *example, PetscBool transposed, const char type[])
{
  const PetscReal tolerance = PetscMax((PetscReal)2e-11, 256 * PETSC_MACHINE_EPSILON) + example->off;
  Play            play      = {example->name, type, transposed ? example->transposed : example->options, transposed ? 3 : 2, transposed ? 2 : 3, example->steps, 0, PETSC_FALSE, transposed, PETSC_FALSE, PETSC_FALSE, 1, &Gradients[0][0]};
  PetscReal       W[6], U[3][6];

  PetscFunctionBegin;
  /* Other ranks look at the rows that are not here */
  PetscCall(PetscArraycpy(W, example->W, 6));
  PetscCall(PetscArraycpy(&U[0][0], &example->U[0][0], 18));
  PetscCall(Run(&play, W, &U[0][0]));
  for (PetscInt e = 0; e < 6 * example->steps; e++) {
    const PetscReal moved = U[e / 6][e % 6], expected = example->U[e / 6][e % 6];

    PetscCheck(PetscAbsReal(moved - expected) < tolerance, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s%s, step %d: entry %d moved by %.12g, expected %.12g", example->name, transposed ? ", transposed" : "", (int)e / 6 + 1, (int)e % 6, (double)moved,
               (double)expected);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckIdentity(const Identity *identity)
{
  const PetscInt entries = identity->m * identity->n, n = identity->n;
  PetscReal      W[24], U[2][24];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    const PetscBool turns = identity->relation == TURNED ? PETSC_TRUE : PETSC_FALSE;
    Play            play  = {identity->name, MUONDENSE, identity->options[k], identity->m, n, identity->steps, k ? identity->skips : 0, PETSC_TRUE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, k ? identity->times : 1, identity->gradients};

    play.turned = turns && k == 1 ? PETSC_TRUE : PETSC_FALSE;
    play.root   = turns && k == 0 ? PETSC_TRUE : PETSC_FALSE;
    for (PetscInt e = 0; e < entries; e++) W[e] = identity->weights[k] * (PetscReal)(e % 2 == 0 ? 1 + e : -1 - e);
    PetscCall(Run(&play, W, U[k]));
  }
  for (PetscInt k = identity->skips; k < identity->steps; k++) {
    const PetscReal *a = U[0] + k * entries, *b = U[1] + k * entries;
    PetscReal        squares[2] = {0, 0};

    for (PetscInt e = 0; e < entries; e++) {
      squares[0] += a[e] * a[e];
      squares[1] += b[e] * b[e];
    }
    for (PetscInt e = 0; e < entries; e++) {
      PetscReal expected = b[e], allowed = 1e5 * PETSC_MACHINE_EPSILON;

      if (identity->relation == PARALLEL) expected *= PetscSqrtReal(squares[0] / squares[1]);
      if (identity->relation == RESTS) expected = 0;
      if (identity->relation == TURNED) expected = Turn[0][e / n] * b[e % n] + Turn[1][e / n] * b[n + e % n];
      if (identity->relation == TWICE) expected /= 2;
      if (identity->relation == TWICE || identity->relation == BITS) allowed = 0;
      PetscCheck(PetscAbsReal(a[e] - expected) <= allowed, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, step %d: entry %d is %.12g, expected %.12g", identity->name, (int)k + 1, (int)e, (double)a[e], (double)expected);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const double zeros[6] = {0};
  char         type[32] = MUONDENSE;
  PetscBool    refused, zero;
  Problem      p;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-problem_layers", &refused));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-zero", &zero));
  if (refused) {
    PetscCall(ProblemCreate(&p, 0, 0));
    if (zero) PetscCall(ProblemSetRows(&p, 0, zeros));
    PetscCall(MuonStep(p.muon));
    PetscCall(ProblemDestroy(&p));
  } else {
    PetscCall(PetscOptionsGetString(NULL, NULL, "-type", type, sizeof(type), NULL));
    PetscCall(PetscOptionsGetString(NULL, NULL, "-assembly", Assembly, sizeof(Assembly), NULL));
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(Identities); k++) PetscCall(CheckIdentity(&Identities[k]));
    for (size_t k = 0; k < 2 * PETSC_STATIC_ARRAY_LENGTH(Examples); k++) PetscCall(CheckExample(&Examples[k / 2], k % 2 ? PETSC_TRUE : PETSC_FALSE, type));
  }
  Assembly[0] = '\0';
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3}}
    args: -type {{dense ef21}}

  testset:
    nsize: 2
    test:
      suffix: assembly
      args: -assembly " -muon_assembly {{owner allgather}}"

  testset:
    args: -problem_setup 0
    table: suffix | nsize | args | error
      unknown | 1 | -problem_layers w:2x3 -muon_layer_w_after lines,rows | Layer "w": -muon_layer_w_after lines,rows: expected none or some of: normuon_long, normuon_row, normuon_column, lines_rows, lines_columns, frobenius
      vector  | 2 | -problem_layers w:3x1 -muon_layer_w_before soap      | Layer "w": -muon_layer_w_before soap: the layer is a vector, which has no short side; expected none, rows, columns or entries, or a layer with columns
      type    | 2 | -problem_layers w:2x3 -problem_ranks 0 -muon_layer_type soap | -muon_layer_w_type soap needs a matrix on one rank, and the rows of this one are spread, expected lmo, adamw, nadamw
      single  | 1 | -problem_layers w:3x1 -muon_layer_type soap          | Layer "w": -muon_layer_w_type soap: it is a vector, or has blocks that are, of 3 x 1 entries; expected adamw, or a matrix
      beta    | 2 | -problem_layers w:2x3 -muon_layer_w_before_beta 1    | Layer "w": -muon_layer_w_before_beta 1. must be in [0.,1.)
      sign    | 2 | -problem_layers w:2x3 -muon_layer_before rows -muon_type sign | -muon_layer_w_before: -muon_type sign makes steps of its own, expected none, or another type of the optimizer
      zeros   | 2 | -problem_layers w:2x3 -muon_layer_hyperball -zero    | -muon_layer_w_hyperball: the weights are zeros, which have no norm to keep, expected weights before the first step
      decay   | 1 | -problem_layers w:2x3 -muon_layer_hyperball -muon_weight_decay 0.1 | -muon_layer_w_hyperball: the weights keep their norm, and the weight decay is 0.1, expected 0
      theory  | 1 | -problem_layers w:2x3 -muon_layer_hyperball -muon_theory smooth -muon_type ef21 | -muon_layer_w_hyperball: the theorem of -muon_theory smooth is one of steps of the radius, expected none
      packed  | 2 | -problem_layers w:2x3 -muon_type dense -muon_layer_before soap -muon_state_precision {{bf16 int8}} | -muon_state_precision {} with -muon_layer_w_before soap: the server has no gradient beside a momentum that is rounded; expected native or single, or -muon_momentum_at worker
      message | 2 | -problem_layers w:2x3 -muon_layer_after lines_columns -muon_type ef21 -ef21_downlink step -lmo_type nuclear | its steps are changed by -muon_layer_w_after, expected none of that

TEST*/
