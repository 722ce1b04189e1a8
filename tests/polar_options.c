static char help[] = "What the options of polar factors and norms give, what is refused in which words, operations, and when SLEPc starts.\n\n";

#include "fails.h"
#include "polar_common.h"
#include <slepcsys.h>

#if defined(PETSC_USE_REAL_SINGLE)
  #define REAL "single"
#else
  #define REAL "double"
#endif

/* Options behind a prefix, and what View says in a line, or the error */
typedef struct {
  const char *options, *expected;
} Case;

static const Case cases[] = {
  {"", " zolotarev single 4 poles from 0.001"},
  {"-net_lmo_polar_tolerance 0.07", " zolotarev single 3 poles from 0.001"},
  {"-net_lmo_polar_tolerance 0.01", " zolotarev single 4 poles from 0.003"},
  {"-net_lmo_polar_tolerance 1e-3", " zolotarev double 7 poles from 0.001"},
  {"-net_lmo_polar_zolotarev_poles 6 -net_lmo_polar_zolotarev_interval 2e-4", " zolotarev double 6 poles from 0.0002"},
  {"-net_lmo_polar_zolotarev_poles 6 -net_lmo_polar_precision single", " zolotarev single 6 poles from 0.001"},
  {"-net_lmo_polar_type svd", " svd " REAL},
  {"-net_lmo_polar_type qdwh", " qdwh double"},
  {"-net_lmo_polar_type newtonschulz", " newtonschulz single kj 5 steps"},
  {"-net_lmo_polar_type newtonschulz -net_lmo_polar_coefficients cubic", " newtonschulz single cubic 15 steps"},
  {"-net_lmo_polar_type newtonschulz -net_lmo_polar_steps 3 -net_lmo_polar_precision double", " newtonschulz double kj 3 steps"},
  {"-net_lmo_polar_type newtonschulz -net_lmo_polar_coefficient_values 2,-1.5,0.5,1.875,-1.25,0.375", " newtonschulz single user 2 steps"},
  {"-net_lmo_polar_type gram", " gram single pe105 5 steps restarts 2"},
  {"-net_lmo_polar_type gram -net_lmo_polar_coefficients quintic", " gram single quintic 10 steps restarts 6"},
  {"-net_lmo_polar_type gram -net_lmo_polar_gram_restart 1,3,9", " gram single pe105 5 steps restarts 1,3"},
  {"-net_lmo_polar_type gram -net_lmo_polar_gram_restart 0", " gram single pe105 5 steps"},
  {"-net_lmo_polar_type gram -net_lmo_polar_gram_restart 2,4,40", " gram single pe105 5 steps restarts 2,4"},
  {"-net_lmo_polar_type gram -net_lmo_polar_steps 4", " gram single pe105 4 steps restarts 2"},
  {"-net_lmo_polar_type gram -net_lmo_polar_steps 2 -net_lmo_polar_coefficients cubic", " gram single cubic 2 steps"},
  {"-net_lmo_polar_type svdd", "-net_lmo_polar_type: unknown type svdd, expected one of:"},
  {"-net_lmo_polar_type newtonschulz -net_lmo_polar_coefficients keller", "Unknown set keller of option -net_lmo_polar_coefficients, expected one of: kj"},
  {"-net_lmo_polar_type newtonschulz -net_lmo_polar_steps 0", "-net_lmo_polar_steps 0"},
  {"-net_lmo_polar_type newtonschulz -net_lmo_polar_power_iterations 0", "-net_lmo_polar_power_iterations 0"},
  {"-net_lmo_polar_type newtonschulz -net_lmo_polar_coefficient_values 1,2,3,4", "Option -net_lmo_polar_coefficient_values has 4 values, expected three for each step and at most 96"},
  {"-net_lmo_polar_type newtonschulz -net_lmo_polar_coefficient_values 1,nan,3", "Value 1 of option -net_lmo_polar_coefficient_values is nan, expected a number"},
  {"-net_lmo_polar_type newtonschulz -net_lmo_polar_coefficient_values 1,2,inf", "Value 2 of option -net_lmo_polar_coefficient_values is inf, expected a number"},
  {"-net_lmo_polar_type gram -net_lmo_polar_gram_restart 2,2", "Number 1 of option -net_lmo_polar_gram_restart is 2, expected increasing numbers of steps"},
  {"-net_lmo_polar_type gram -net_lmo_polar_gram_restart 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33", "Option -net_lmo_polar_gram_restart has more than 32 numbers"},
  {"-net_lmo_polar_tolerance 0", "-net_lmo_polar_tolerance 0"},
  {"-net_lmo_polar_tolerance 1", "-net_lmo_polar_tolerance 1"},
  {"-net_lmo_polar_tolerance 1e-9", "Option -net_lmo_polar_tolerance is 1e-09, expected at least 1.38"},
  {"-net_lmo_polar_zolotarev_poles 0", "-net_lmo_polar_zolotarev_poles 0"},
  {"-net_lmo_polar_zolotarev_poles 13", "-net_lmo_polar_zolotarev_poles 13"},
  {"-net_lmo_polar_zolotarev_interval 1", "-net_lmo_polar_zolotarev_interval 1"},
  {"-net_lmo_polar_zolotarev_interval 1e-13", "-net_lmo_polar_zolotarev_interval 1e-13"},
  {"-net_lmo_polar_precision tf32", "Option -net_lmo_polar_precision is tf32, expected single or double for the type zolotarev"},
  {"-net_lmo_polar_type qdwh -net_lmo_polar_precision tf32", "Option -net_lmo_polar_precision is tf32, expected single or double for the type qdwh"},
  {"-net_lmo_polar_type svd -net_lmo_polar_precision bf16", "Option -net_lmo_polar_precision is bf16, expected " REAL " for the type svd"},
  {"-net_lmo_polar_type gram -net_lmo_polar_precision tf32", "Option -net_lmo_polar_precision is tf32 for a matrix in the memory of the host, expected single, double or bf16"},
  {"-net_lmo_polar_type svd -net_lmo_polar_svd_type bogus", "Unknown SVD type given: bogus"},
  {"-net_lmo_polar_type svd -net_lmo_polar_svd_nsv 3", "Option -net_lmo_polar_svd_nsv asks for"},
};

/* The line or the error, on every rank */
static PetscErrorCode CheckCase(const Case *one)
{
  MuonPolar      polar;
  PetscOptions   options;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsCreate(&options));
  PetscCall(PetscOptionsInsertString(options, one->options));
  PetscCall(MuonPolarCreate(PETSC_COMM_WORLD, &polar));
  PetscCall(MuonPolarSetOptionsPrefix(polar, "net_"));
  PetscCall(PetscObjectSetOptions((PetscObject)polar, options));
  FailsMessage[0] = '\0';
  PetscCall(PetscPushErrorHandler(FailsCatch, NULL));
  ierr = MuonPolarSetFromOptions(polar);
  if (ierr == PETSC_SUCCESS) ierr = MuonPolarSetUp(polar);
  PetscCall(PetscPopErrorHandler());
  if (ierr == PETSC_SUCCESS) PetscCall(TestDescribe(polar, sizeof(FailsMessage), FailsMessage));
  TestCheck(strstr(FailsMessage, one->expected) == FailsMessage && (ierr != PETSC_SUCCESS || strcmp(FailsMessage, one->expected) == 0), "%s: \"%s\", expected \"%s\"", one->options, FailsMessage, one->expected);
  if (ierr == PETSC_SUCCESS) PetscCall(MuonPolarDestroy(&polar)); /* what failed while options were read cannot be destroyed */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Wrong matrices, which both classes refuse in the same words */
static PetscErrorCode CheckMatrices(void)
{
  const char *const expected[] = {"3 x 4 and 4 x 3): shapes differ", "same matrix", "matrix of type", "rows are spread differently over the ranks"};
  MuonPolar         polar;
  MuonLMO           lmo;
  PetscMPIInt       size, rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MuonPolarCreate(PETSC_COMM_WORLD, &polar));
  PetscCall(MuonLMOCreate(PETSC_COMM_WORLD, &lmo));
  for (int k = 0; k < (size == 2 ? 4 : 3); k++) {
    for (int norm = 0; norm < 2; norm++) {
      Mat G, Q;

      PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 3, 4, NULL, &G));
      if (k == 0) PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 4, 3, NULL, &Q));
      else if (k == 2) PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 3, 4, 4, NULL, 4, NULL, &Q));
      else if (k == 3) PetscCall(MatCreateDense(PETSC_COMM_WORLD, rank == 0 ? 3 : 0, PETSC_DECIDE, 3, 4, NULL, &Q));
      else {
        Q = G;
        PetscCall(PetscObjectReference((PetscObject)Q));
      }
      if (norm) Fails(MuonLMOApply(lmo, k == 2 ? Q : G, Q, NULL, NULL), FAILS_ANY, expected[k]);
      else Fails(MuonPolarApply(polar, k == 2 ? Q : G, Q, NULL), FAILS_ANY, expected[k]);
      TestCheck(FailsSays(norm ? "MuonLMO with options" : "MuonPolar with options"), "%s", FailsMessage);
      PetscCall(MatDestroy(&G));
      PetscCall(MatDestroy(&Q));
    }
  }
  PetscCall(MuonLMODestroy(&lmo));
  PetscCall(MuonPolarDestroy(&polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is announced is what is logged, of a polar factor or of a norm */
static PetscErrorCode Flops(MuonPolar polar, MuonLMO lmo, int m, int n)
{
  double        *A;
  TestInput      G, D;
  PetscLogDouble before, after, expected;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(m * n, &A));
  TestMatrix(m, n, TEST_GAUSSIAN, A);
  PetscCall(TestCreate(TEST_MAT, TEST_ALONE, m, n, 0, A, &G));
  PetscCall(TestCreate(TEST_MAT, TEST_ALONE, m, n, 0, NULL, &D));
  PetscCall(PetscGetFlops(&before));
  if (polar != NULL) PetscCall(MuonPolarApply(polar, G.mat, D.mat, NULL));
  else PetscCall(MuonLMOApply(lmo, G.mat, D.mat, NULL, NULL));
  PetscCall(PetscGetFlops(&after));
  if (polar != NULL) PetscCall(MuonPolarGetFlops(polar, m, n, &expected));
  else PetscCall(MuonLMOGetFlops(lmo, m, n, &expected));
  TestMost("operations", 1.0, expected);
  TestNear("operations", after - before, expected, 1e-6 * expected);
  PetscCall(TestDestroy(&G));
  PetscCall(TestDestroy(&D));
  PetscCall(PetscFree(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The operations of five steps on the Gram matrix with a restart after the second: 4 rectangular and 14 square products, all but the last two
   rectangular ones symmetric, and a sum of squares. Of a square matrix, where that does not pay, they are those of Newton and Schulz and the sum
*/
static PetscErrorCode CheckGram(void)
{
  static const int shapes[][2] = {{12, 60}, {60, 12}, {20, 700}, {24, 24}};
  MuonPolar        polar, plain;
  PetscLogDouble   flops, others;

  PetscFunctionBeginUser;
  PetscCall(TestMake(PETSC_COMM_WORLD, "type gram precision double", &polar));
  PetscCall(TestMake(PETSC_COMM_WORLD, "type newtonschulz precision double", &plain));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
    const int    m = shapes[k][0], n = shapes[k][1];
    const double s = PetscMin(m, n), l = PetscMax(m, n);

    PetscCall(MuonPolarGetFlops(polar, m, n, &flops));
    PetscCall(MuonPolarGetFlops(plain, m, n, &others));
    TestNear("gram", flops, m == n ? others + 2.0 * s * l : 2.0 * s * (s + 1) * l + 2.0 * 2.0 * s * s * l + 14.0 * s * s * (s + 1) + 2.0 * s * l, 0.0);
    PetscCall(Flops(polar, NULL, m, n));
  }
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(MuonPolarDestroy(&plain));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What View says in a line */
static PetscErrorCode CheckText(MuonPolar polar, const char expected[])
{
  char text[256];

  PetscFunctionBeginUser;
  PetscCall(TestDescribe(polar, sizeof(text), text));
  TestCheck(strcmp(text, expected) == 0, "\"%s\", expected \"%s\"", text, expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Parameters stay behind a second prefix and wait for their type; a name takes the place of values */
static PetscErrorCode CheckParameters(void)
{
  const PetscReal values[6] = {2, (PetscReal)-1.5, (PetscReal)0.5, (PetscReal)1.875, (PetscReal)-1.25, (PetscReal)0.375};
  MuonPolar       polar;

  PetscFunctionBeginUser;
  PetscCall(MuonPolarCreate(PETSC_COMM_WORLD, &polar));
  PetscCall(MuonPolarSetOptionsPrefix(polar, "a_"));
  PetscCall(TestTune(polar, "steps 7 gram_restart 3 type gram"));
  PetscCall(MuonPolarSetFromOptions(polar)); /* -a_lmo_polar_coefficients cubic */
  PetscCall(CheckText(polar, " gram single cubic 7 steps restarts 3"));
  PetscCall(MuonPolarSetOptionsPrefix(polar, "b_"));
  PetscCall(MuonPolarSetFromOptions(polar)); /* -b_lmo_polar_steps 4 */
  PetscCall(CheckText(polar, " gram single cubic 4 steps restarts 3"));
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(MuonPolarCreate(PETSC_COMM_WORLD, &polar));
  PetscCall(MuonPolarSetType(polar, MUONPOLARNEWTONSCHULZ));
  PetscCall(MuonPolarSetCoefficientValues(polar, 6, values));
  for (int k = 0; k < 2; k++) {
    PetscCall(CheckText(polar, k == 0 ? " newtonschulz single user 2 steps" : " newtonschulz single quintic 10 steps"));
    PetscCall(Flops(polar, NULL, 9, 21));
    PetscCall(TestTune(polar, "coefficients quintic"));
  }
  PetscCall(MuonPolarDestroy(&polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const double A[6]        = {3, 4, 0, 0, 0, 2};
  const int           shapes[][2] = {{9, 21}, {21, 9}, {16, 16}, {12, 30}};
  const char *const   types[]     = {MUONPOLARZOLOTAREV, MUONPOLARGRAM, MUONPOLARNEWTONSCHULZ, MUONPOLARSVD, MUONPOLARMUD};
  MuonPolar           polar, again;
  MuonLMO             lmo;
  PetscInt            own = 0;
  PetscBool           started, table;
  TestInput           G, Q;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-own_slepc", &own, NULL));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-cases", &table));
  if (table) {
    PetscCall(CheckMatrices());
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) PetscCall(CheckCase(&cases[k]));
    /* What an error leaves in memory is not looked at where the program ends with one */
    SETERRQ(PETSC_COMM_WORLD, PETSC_ERR_USER, "All %d cases are as expected", (int)PETSC_STATIC_ARRAY_LENGTH(cases));
  }
  PetscCall(CheckParameters());
  PetscCall(CheckGram());
  /* SLEPc starts with the first object that needs it, not before; a program may start and end it on its own, earlier or later */
  PetscCall(SlepcInitialized(&started));
  PetscCheck(!started, PETSC_COMM_SELF, PETSC_ERR_PLIB, "SLEPc has started already");
  if (own == 1) PetscCall(SlepcInitialize(NULL, NULL, NULL, NULL));
  /* The polar factor of a norm reads behind its prefix */
  PetscCall(MuonLMOCreate(PETSC_COMM_WORLD, &lmo));
  PetscCall(MuonLMOGetPolar(lmo, &polar));
  PetscCall(MuonLMOSetOptionsPrefix(lmo, "c_"));
  PetscCall(MuonLMOSetFromOptions(lmo)); /* -c_lmo_polar_type svd */
  PetscCall(SlepcInitialized(&started));
  PetscCheck(started, PETSC_COMM_SELF, PETSC_ERR_PLIB, "SLEPc has not started");
  PetscCall(MuonLMOGetPolar(lmo, &again));
  PetscCheck(polar == again, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Another polar factor at the second call");
  PetscCall(TestCreate(TEST_MAT, TEST_ALONE, 3, 2, 0, A, &G));
  PetscCall(TestCreate(TEST_MAT, TEST_ALONE, 3, 2, 0, NULL, &Q));
  PetscCall(MuonLMOApply(lmo, G.mat, Q.mat, NULL, NULL));
  PetscCall(MuonLMOView(lmo, PETSC_VIEWER_STDOUT_WORLD));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    PetscCall(MuonPolarSetType(polar, types[t]));
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
      PetscCall(Flops(polar, NULL, shapes[k][0], shapes[k][1]));
      PetscCall(Flops(NULL, lmo, shapes[k][0], shapes[k][1]));
    }
    PetscCall(MuonPolarReset(polar));
  }
  PetscCall(MuonPolarSetType(polar, MUONPOLARNEWTONSCHULZ));
  PetscCall(TestTune(polar, "normalization spectral"));
  PetscCall(MuonLMOReset(lmo));
  PetscCall(MuonLMOView(lmo, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(MuonLMOSetType(lmo, MUONLMOMAX));
  PetscCall(Flops(NULL, lmo, 5, 6));
  PetscCall(MuonLMOView(lmo, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(TestDestroy(&G));
  PetscCall(TestDestroy(&Q));
  PetscCall(MuonLMODestroy(&lmo));
  if (own == 2) PetscCall(SlepcInitialize(NULL, NULL, NULL, NULL));
  if (own > 0) PetscCall(SlepcFinalize());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2}}
    args: -a_lmo_polar_coefficients cubic -b_lmo_polar_steps 4 -c_lmo_polar_type svd -own_slepc {{0 1 2}}
    # svd computes in the precision of PetscScalar
    filter: sed -e "s#[12] MPI process.*#MPI#" -e "s/scratch: [1-9][0-9]* bytes/scratch: some bytes/" -e "/last solver/{n;s/double/scalar/;s/single/scalar/;}"
    output_file: output/polar_options_1.out

  test:
    suffix: cases
    nsize: {{1 2}}
    args: -cases
    error: All 41 cases are as expected

TEST*/
