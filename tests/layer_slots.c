static char help[] = "Scaling around the LMO: worked examples, by rows of any number of ranks and transposed, with the state that they leave.\n\n";

#include "parameters.h"
#include <petscmuon.h>

/* A and B as they are given, and by how much the weights become less in each step; numbers have 12 digits */
static const PetscReal Gradients[2][6] = {{2, -1, 2, 0.25, 0.5, -0.25}, {1, 0.5, -1, 0.5, -1, 0.25}};
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

typedef struct {
  const char *name, *options, *transposed;
  PetscInt    steps;
  PetscReal   off;  /* what a number that keeps a root from zero changes */
  PetscReal   W[6]; /* the weights to begin with */
  PetscReal   U[2][6];
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

/* Entry i, j of A and B, whichever way they lie */
static PetscReal Entry(const PetscReal numbers[6], PetscBool transposed, PetscInt i, PetscInt j)
{
  return numbers[transposed ? 3 * j + i : 3 * i + j];
}

static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  const PetscBool transposed = *(PetscBool *)ctx;
  PetscInt        step, first, last, n;
  MuonLayer       layer;
  Mat             G;

  PetscFunctionBegin;
  *loss = 0;
  PetscCall(MuonGetStepNumber(muon, &step));
  PetscCall(MuonGetLayerByName(muon, "w", &layer));
  PetscCall(MuonLayerGetGradient(layer, &G));
  PetscCall(MatGetOwnershipRange(G, &first, &last));
  PetscCall(MatGetSize(G, NULL, &n));
  for (PetscInt i = first; i < last; i++) {
    for (PetscInt j = 0; j < n; j++) PetscCall(MatSetValue(G, i, j, (PetscScalar)Entry(Gradients[step], transposed, i, j), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(G, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(G, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Kept squares that are known exactly: v_1 = (.041, .034, .025) of NorMuon's columns of A */
static PetscErrorCode CheckState(Muon muon, MuonLayer layer, PetscBool transposed)
{
  static const PetscReal squares[] = {0.041, 0.034, 0.025};
  PetscMPIInt            size;
  PetscBool              kept;
  PetscScalar           *v;
  Mat                    V;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size > 1 && transposed) PetscFunctionReturn(PETSC_SUCCESS); /* a rank has those of its rows */
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 3, 1, NULL, &V));
  PetscCall(MuonGetLayerState(muon, layer, "after.kept[0]", V, &kept));
  PetscCheck(kept, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No mean squares are kept");
  PetscCall(MatDenseGetArray(V, &v));
  for (PetscInt k = 0; k < 3; k++) PetscCheck(PetscAbsScalar(v[k] - squares[k]) < 64 * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Mean square %d is %g, expected %g", (int)k, (double)PetscRealPart(v[k]), (double)squares[k]);
  PetscCall(MatDenseRestoreArray(V, &v));
  PetscCall(MatDestroy(&V));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(const Example *example, PetscBool transposed, const char type[])
{
  const PetscReal tolerance = PetscMax((PetscReal)2e-11, 256 * PETSC_MACHINE_EPSILON) + example->off;
  Muon            muon;
  Mat             W, Old;
  MuonLayer       layer;
  PetscInt        first, last;
  PetscBool       normuon;
  char            all[512];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(all, sizeof(all), "-muon_learning_rate 1 -muon_momentum 0 -muon_shape_factor none -lmo_polar_type svd %s", transposed ? example->transposed : example->options));
  PetscCall(PetscOptionsInsertString(NULL, all));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, transposed ? 3 : 2, transposed ? 2 : 3, NULL, &W));
  PetscCall(MatSetUp(W));
  PetscCall(MatZeroEntries(W));
  PetscCall(MatDuplicate(W, MAT_COPY_VALUES, &Old));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(MuonSetType(muon, type));
  PetscCall(MuonAddLayer(muon, "w", W, &layer));
  PetscCall(MuonSetObjectiveAndGradient(muon, Objective, &transposed));
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MatGetOwnershipRange(W, &first, &last));
  PetscCall(PetscStrcmp(example->name, "normuon", &normuon));
  for (PetscInt i = first; i < last; i++) {
    for (PetscInt j = 0; j < (transposed ? 2 : 3); j++) PetscCall(MatSetValue(W, i, j, (PetscScalar)Entry(example->W, transposed, i, j), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(W, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(W, MAT_FINAL_ASSEMBLY));
  for (PetscInt k = 0; k < example->steps; k++) {
    PetscCall(MatCopy(W, Old, SAME_NONZERO_PATTERN));
    PetscCall(MuonStep(muon));
    for (PetscInt i = first; i < last; i++) {
      for (PetscInt j = 0; j < (transposed ? 2 : 3); j++) {
        const PetscReal expected = Entry(example->U[k], transposed, i, j);
        PetscScalar     now, old;

        PetscCall(MatGetValue(W, i, j, &now));
        PetscCall(MatGetValue(Old, i, j, &old));
        PetscCheck(PetscAbsScalar(old - now - expected) < tolerance, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s%s, step %d: entry %d,%d moved by %.12g, expected %.12g", example->name, transposed ? ", transposed" : "", (int)k + 1, (int)i, (int)j,
                   (double)PetscRealPart(old - now), (double)expected);
      }
    }
    if (k == 0 && normuon) PetscCall(CheckState(muon, layer, transposed));
  }
  PetscCall(MuonDestroy(&muon));
  PetscCall(MatDestroy(&W));
  PetscCall(MatDestroy(&Old));
  /* All keys of the examples, for the next one */
  for (char *key = all; key != NULL && key[0] != '\0';) {
    char *const end = key + strcspn(key, " "), *next = strstr(end, " -");

    *end = '\0';
    PetscCall(PetscOptionsClearValue(NULL, key));
    key = next != NULL ? next + 1 : NULL;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Presets set keys of layers, which a key of the user's has the last word of */
static PetscErrorCode CheckPresets(void)
{
  static const char *const presets[][3] = {
    {"muoneq", "rows", ""},
    {"normuon", "none", "normuon_row"},
    {"nanochat", "rows", "frobenius,normuon_long"},
  };

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(presets); k++) {
    const char *const key[] = {"muon_layer_w_before", "muon_layer_w_after", "muon_layer_free_before"}, *const expected[] = {presets[k][1], presets[k][2], "columns"};
    Muon muon;
    Mat  W[2];

    PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
    for (int l = 0; l < 2; l++) {
      PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 3, 4, NULL, &W[l]));
      PetscCall(MatZeroEntries(W[l]));
      PetscCall(MuonAddLayer(muon, l == 0 ? "w" : "free", W[l], NULL));
    }
    PetscCall(PetscOptionsSetValue(NULL, "-muon_layer_free_before", "columns"));
    PetscCall(MuonSetPreset(muon, presets[k][0]));
    PetscCall(MuonSetFromOptions(muon));
    for (int i = 0; i < 3; i++) {
      char      value[64];
      PetscBool same;

      PetscCall(MuonGetParameter(muon, key[i], value, sizeof(value)));
      PetscCall(PetscStrcmp(value, expected[i], &same));
      PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Preset %s: %s is \"%s\", expected \"%s\"", presets[k][0], key[i], value, expected[i]);
    }
    PetscCall(MuonDestroy(&muon));
    for (int l = 0; l < 2; l++) PetscCall(MatDestroy(&W[l]));
  }
  PetscCall(PetscOptionsClearValue(NULL, "-muon_layer_free_before"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char      type[32] = MUONDENSE, only[32] = "";
  PetscBool same;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-type", type, sizeof(type), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-only", only, sizeof(only), NULL));
  if (only[0] == '\0') PetscCall(CheckPresets());
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(Examples); k++) {
    PetscCall(PetscStrcmp(only, Examples[k].name, &same));
    if (only[0] != '\0' && !same) continue;
    for (int transposed = 0; transposed < 2; transposed++) PetscCall(Run(&Examples[k], transposed ? PETSC_TRUE : PETSC_FALSE, type));
  }
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
      args: -muon_assembly {{owner allgather}}

  table: suffix | nsize | args | error
    unknown | 1 | -only none -muon_layer_w_after lines,rows | Layer "w": -muon_layer_w_after lines,rows: expected none or some of: normuon_long, normuon_row, normuon_column, lines_rows, lines_columns, frobenius
    beta    | 2 | -only none -muon_layer_w_before_beta 1    | Layer "w": -muon_layer_w_before_beta 1. must be in [0.,1.)
    sign    | 2 | -only rows -type sign                     | -muon_layer_w_before: -muon_type sign makes steps of its own, expected none, or another type of the optimizer
    zeros   | 2 | -only none -muon_layer_hyperball          | -muon_layer_w_hyperball: the weights are zeros, which have no norm to keep, expected weights before the first step
    decay   | 1 | -only hyperball -muon_weight_decay 0.1    | -muon_layer_w_hyperball: the weights keep their norm, and the weight decay is 0.1, expected 0
    theory  | 1 | -only hyperball -muon_theory smooth -type ef21 | -muon_layer_w_hyperball: the theorem of -muon_theory smooth is one of steps of the radius, expected none
    message | 2 | -only lines -type ef21 -ef21_downlink step -lmo_type nuclear | its steps are changed by -muon_layer_w_after, expected none of that

TEST*/
