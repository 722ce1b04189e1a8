static char help[] = "PETSCREGRESSORMLP: predictions are those of the weights, by loops here; they depend on neither how rows are spread nor on the type of the matrix; a fit begins anew; what is refused.\n\n";

#include <petscmuonregressor.h>

#if defined(PETSCMUON_HAVE_REGRESSOR)

  #define ROWS     37
  #define FEATURES 3
  #define HIDDEN   5

static PetscReal Feature(PetscInt i, PetscInt j)
{
  /* The last one is the same in all rows */
  return j == FEATURES - 1 ? 7 : 3 * (PetscReal)(2 + j) * PetscSinReal((PetscReal)(1 + i * (j + 2))) + 10 * (PetscReal)j;
}

static PetscReal Target(PetscInt i)
{
  return 100 + 20 * PetscTanhReal(Feature(i, 0) / 3) - Feature(i, 1);
}

static PetscErrorCode CreateData(MPI_Comm comm, PetscInt features, MatType type, Mat *X, Vec *y)
{
  PetscInt first, last;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(comm, X));
  PetscCall(MatSetSizes(*X, PETSC_DECIDE, PETSC_DECIDE, ROWS, features));
  PetscCall(MatSetType(*X, type));
  PetscCall(MatSetUp(*X));
  PetscCall(MatCreateVecs(*X, NULL, y));
  PetscCall(MatGetOwnershipRange(*X, &first, &last));
  for (PetscInt i = first; i < last; i++) {
    for (PetscInt j = 0; j < features; j++) PetscCall(MatSetValue(*X, i, j, Feature(i, j), INSERT_VALUES));
    PetscCall(VecSetValue(*y, i, Target(i), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*X, MAT_FINAL_ASSEMBLY));
  PetscCall(VecAssemblyBegin(*y));
  PetscCall(VecAssemblyEnd(*y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fits and predicts on data of its own */
static PetscErrorCode Run(MPI_Comm comm, MatType type, PetscRegressor *regressor, Vec *predicted)
{
  Mat X;
  Vec y;

  PetscFunctionBeginUser;
  PetscCall(PetscRegressorCreate(comm, regressor));
  PetscCall(PetscRegressorSetType(*regressor, PETSCREGRESSORMLP));
  PetscCall(PetscRegressorSetFromOptions(*regressor));
  PetscCall(CreateData(comm, FEATURES, type, &X, &y));
  PetscCall(PetscRegressorFit(*regressor, X, y));
  PetscCall(VecDuplicate(y, predicted));
  PetscCall(PetscRegressorPredict(*regressor, X, *predicted));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetWeights(Muon muon, const char name[], const PetscScalar *w[])
{
  MuonLayer      layer;
  MuonLayerArray array;

  PetscFunctionBeginUser;
  PetscCall(MuonGetLayerByName(muon, name, &layer));
  PetscCheck(layer != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No layer \"%s\"", name);
  PetscCall(MuonLayerGetWeightsArray(layer, &array));
  *w = (const PetscScalar *)array.w;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the weights say of row i: loops over mean and deviation of the data, and over neurons */
static PetscErrorCode Expected(Muon muon, PetscInt row, PetscReal *value)
{
  const PetscScalar *W1, *b1, *W2, *b2;
  PetscReal          x[FEATURES + 1], mean, square, deviation[FEATURES + 1], center[FEATURES + 1];

  PetscFunctionBeginUser;
  PetscCall(GetWeights(muon, "W1", &W1));
  PetscCall(GetWeights(muon, "b1", &b1));
  PetscCall(GetWeights(muon, "W2", &W2));
  PetscCall(GetWeights(muon, "b2", &b2));
  for (PetscInt j = 0; j <= FEATURES; j++) {
    mean = square = 0;
    for (PetscInt i = 0; i < ROWS; i++) mean += (j < FEATURES ? Feature(i, j) : Target(i)) / ROWS;
    for (PetscInt i = 0; i < ROWS; i++) square += PetscSqr((j < FEATURES ? Feature(i, j) : Target(i)) - mean) / ROWS;
    center[j]    = mean;
    deviation[j] = j == FEATURES - 1 ? 1 : PetscSqrtReal(square);
    x[j]         = j < FEATURES ? (Feature(row, j) - mean) / deviation[j] : 0;
  }
  *value = PetscRealPart(b2[0]);
  for (PetscInt k = 0; k < HIDDEN; k++) {
    PetscReal z = PetscRealPart(b1[k]);

    for (PetscInt j = 0; j < FEATURES; j++) z += PetscRealPart(W1[k + j * HIDDEN]) * x[j];
    *value += PetscRealPart(W2[k]) * PetscTanhReal(z);
  }
  *value = center[FEATURES] + deviation[FEATURES] * *value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Refused(PetscErrorCode code, const char what[])
{
  PetscFunctionBeginUser;
  PetscCheck(code == PETSC_ERR_ARG_SIZ, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: error code %d, expected PETSC_ERR_ARG_SIZ", what, (int)code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  /* Rounding of one evaluation; and of 30 steps, whose polar factors are in single precision by default */
  const PetscReal    evaluated = 1000 * PETSC_MACHINE_EPSILON, stepped = (PetscReal)1e-3;
  PetscRegressor     spread, alone, sparse;
  Vec                p, q, s, other;
  Mat                X;
  Vec                y;
  Muon               muon;
  PetscInt           first, last;
  PetscReal          value, difference;
  const PetscScalar *here, *there;
  PetscErrorCode     code[2];

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(Run(PETSC_COMM_WORLD, MATDENSE, &spread, &p));
  PetscCall(Run(PETSC_COMM_SELF, MATDENSE, &alone, &q));
  PetscCall(Run(PETSC_COMM_WORLD, MATAIJ, &sparse, &s));
  PetscCall(PetscObjectQuery((PetscObject)spread, "Muon", (PetscObject *)&muon));
  PetscCall(VecGetOwnershipRange(p, &first, &last));
  PetscCall(VecGetArrayRead(p, &here));
  PetscCall(VecGetArrayRead(q, &there));
  for (PetscInt i = first; i < last; i++) {
    PetscCall(Expected(muon, i, &value));
    PetscCheck(PetscAbsScalar(here[i - first] - value) <= evaluated * 100, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Row %" PetscInt_FMT ": predicted %g, expected %g", i, (double)PetscRealPart(here[i - first]), (double)value);
    PetscCheck(PetscAbsScalar(here[i - first] - there[i]) <= stepped * 20, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Row %" PetscInt_FMT ": %g, and %g by one rank", i, (double)PetscRealPart(here[i - first]), (double)PetscRealPart(there[i]));
  }
  PetscCall(VecRestoreArrayRead(q, &there));
  PetscCall(VecRestoreArrayRead(p, &here));
  PetscCall(VecAXPY(s, -1, p));
  PetscCall(VecNorm(s, NORM_INFINITY, &difference));
  PetscCheck(difference == 0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The rows of a sparse matrix gave predictions that differ by %g", (double)difference);

  /* A second fit begins anew */
  PetscCall(CreateData(PETSC_COMM_WORLD, FEATURES, MATDENSE, &X, &y));
  PetscCall(PetscRegressorFit(spread, X, y));
  PetscCall(PetscRegressorPredict(spread, X, s));
  PetscCall(VecAXPY(s, -1, p));
  PetscCall(VecNorm(s, NORM_INFINITY, &difference));
  PetscCheck(difference == 0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "A second fit of the same rows differs by %g", (double)difference);
  PetscCall(MatDestroy(&X));
  PetscCall(VecDestroy(&y));

  /* Other features; vectors that are spread otherwise than the rows, on the last rank alone */
  PetscCall(CreateData(PETSC_COMM_WORLD, FEATURES - 1, MATDENSE, &X, &y));
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, last - first + (last == ROWS ? 1 : 0), PETSC_DECIDE, &other));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  code[0] = PetscRegressorPredict(spread, X, y);
  PetscCall(MatDestroy(&X));
  PetscCall(VecDestroy(&y));
  PetscCall(CreateData(PETSC_COMM_WORLD, FEATURES, MATDENSE, &X, &y));
  code[1] = PetscRegressorPredict(spread, X, other);
  PetscCall(PetscPopErrorHandler());
  PetscCall(Refused(code[0], "other features"));
  PetscCall(Refused(code[1], "a vector of another size"));
  PetscCall(MatDestroy(&X));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&other));
  PetscCall(VecDestroy(&p));
  PetscCall(VecDestroy(&q));
  PetscCall(VecDestroy(&s));
  PetscCall(PetscRegressorDestroy(&spread));
  PetscCall(PetscRegressorDestroy(&alone));
  PetscCall(PetscRegressorDestroy(&sparse));
  PetscCall(PetscMuonFinalize());
  return 0;
}

#else

int main(void)
{
  return help[0] == '\0';
}

#endif

/*TEST

  build:
    requires: defined(PETSCMUON_HAVE_REGRESSOR)

  testset:
    args: -regressor_mlp_layers 5 -regressor_mlp_muon_max_steps 30
    table: suffix | nsize | args | error
                  | {{1 3}} | -regressor_mlp_muon_type dense    |
      layers      |         | -regressor_mlp_layers 4,0         | -regressor_mlp_layers: layer 2 has 0 neurons, expected at least 1
      unknown     |         | -regressor_mlp_activation sine    | -regressor_mlp_activation
      regularizer |         | -regressor_regularizer_weight 0.5 | knows no regularizer, and its weight was set to 0.5; -regressor_mlp_muon_weight_decay

TEST*/
