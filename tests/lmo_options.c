static char help[] = "Options of the norms: behind two prefixes, setters, getters, what is refused by whom, what ranks compare, and what is printed.\n\n";

#include "lmo_common.h"

static PetscErrorCode Exponent(MuonLMO lmo, const char key[], PetscReal p, const char when[])
{
  char text[64];

  PetscFunctionBeginUser;
  PetscCall(MuonObjectGetParameter((PetscObject)lmo, key, text, sizeof(text)));
  TestCheck((strcmp(text, "inf") == 0 ? (double)PETSC_INFINITY : atof(text)) == (double)p, "%s: the exponent is %s, expected %g", when, text, (double)p);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Mixed(MuonLMO lmo, PetscReal p, PetscReal q, const char when[])
{
  PetscFunctionBeginUser;
  PetscCall(Exponent(lmo, "lmo_mixed_exponent_p", p, when));
  PetscCall(Exponent(lmo, "lmo_mixed_exponent_q", q, when));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each option changes what ranks compare, and a computation does not */
static PetscErrorCode Hashes(void)
{
  const char *const keys[]                                = {"",
                                                             "-c_lmo_type max",
                                                             "-c_lmo_type mixed",
                                                             "-c_lmo_type mixed -c_lmo_mixed_exponent_p 2.001",
                                                             "-c_lmo_type mixed -c_lmo_mixed_exponent_q 3",
                                                             "-c_lmo_type schatten",
                                                             "-c_lmo_type schatten -c_lmo_schatten_exponent 3",
                                                             "-c_lmo_type nuclear",
                                                             "-c_lmo_type nuclear -c_lmo_svd_type lapack",
                                                             "-c_lmo_type nuclear -c_lmo_svd_tol 1e-3",
                                                             "-c_lmo_polar_type svd",
                                                             "-c_lmo_polar_steps 7 -c_lmo_polar_type newtonschulz",
                                                             "-c_lmo_polar_type newtonschulz"};
  unsigned int      hash[PETSC_STATIC_ARRAY_LENGTH(keys)] = {0};

  PetscFunctionBeginUser;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(keys); k++) {
    MuonLMO      lmo;
    PetscOptions options;
    unsigned int again = 0;
    Mat          G;
    PetscReal    norm;

    PetscCall(PetscOptionsCreate(&options));
    PetscCall(PetscOptionsInsertString(options, keys[k]));
    PetscCall(MuonLMOCreate(PETSC_COMM_SELF, &lmo));
    PetscCall(PetscObjectSetOptions((PetscObject)lmo, options));
    PetscCall(MuonLMOSetOptionsPrefix(lmo, "c_"));
    PetscCall(MuonLMOSetFromOptions(lmo));
    PetscCall(MuonLMOSetUp(lmo));
    PetscCall(MuonParametersHash((PetscObject)lmo, &hash[k]));
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 4, 3, NULL, &G));
    PetscCall(MuonLMOComputeNorm(lmo, G, &norm));
    PetscCall(MuonParametersHash((PetscObject)lmo, &again));
    TestCheck(again == hash[k], "\"%s\": the hash changed", keys[k]);
    for (size_t i = 0; i < k; i++) TestCheck(hash[i] != hash[k], "\"%s\" and \"%s\" have the same hash", keys[i], keys[k]);
    PetscCall(MatDestroy(&G));
    PetscCall(MuonLMODestroy(&lmo));
    PetscCall(PetscOptionsDestroy(&options));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  MuonLMO     lmo;
  Mat         G, D;
  PetscBool   set = PETSC_FALSE, setup;
  PetscViewer viewer;
  char        text[256];
  MuonLMOType type;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-only_read", &set));
  PetscCall(MuonLMOCreate(PETSC_COMM_WORLD, &lmo));
  PetscCall(MuonLMOSetOptionsPrefix(lmo, "net_"));
  PetscCall(MuonLMOSetFromOptions(lmo));
  if (set == PETSC_FALSE) {
    PetscCall(Hashes());
    PetscCall(MuonLMOGetType(lmo, &type));
    PetscCall(Mixed(lmo, 3.0, PETSC_INFINITY, "behind the first prefix"));
    /* What is not given behind the second stays */
    PetscCall(MuonLMOSetOptionsPrefix(lmo, "layer_"));
    PetscCall(MuonLMOSetFromOptions(lmo));
    PetscCall(Mixed(lmo, 3.0, 1.5, "behind the second prefix"));
    /* Scratch memory is there once something was computed */
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 3, 2, NULL, &G));
    PetscCall(MatDuplicate(G, MAT_DO_NOT_COPY_VALUES, &D));
    PetscCall(MuonLMOApply(lmo, G, D, NULL, NULL));
    PetscCall(MatDestroy(&D));
    PetscCall(MatDestroy(&G));
    PetscCall(MuonLMOView(lmo, PETSC_VIEWER_STDOUT_WORLD));
    PetscCall(MuonLMOReset(lmo));
    /* Both names of infinity */
    PetscCall(TestSetExponents(lmo, INFINITY, (double)PETSC_INFINITY));
    PetscCall(Mixed(lmo, PETSC_INFINITY, PETSC_INFINITY, "set to infinity"));
    PetscCall(PetscViewerStringOpen(PETSC_COMM_WORLD, text, sizeof(text), &viewer));
    PetscCall(MuonLMOView(lmo, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "short:%s\n", text));
    /* A type begins with exponents of its own */
    PetscCall(MuonLMOSetType(lmo, MUONLMOSCHATTEN));
    PetscCall(Exponent(lmo, "lmo_schatten_exponent", 2.0, "of a new type"));
    PetscCall(MuonLMOSetOptionsPrefix(lmo, "singular_"));
    PetscCall(MuonLMOSetFromOptions(lmo));
    PetscCall(Exponent(lmo, "lmo_schatten_exponent", PETSC_INFINITY, "behind the third prefix"));
    PetscCall(MuonLMOView(lmo, PETSC_VIEWER_STDOUT_WORLD));
  }
  PetscCall(PetscOptionsHasName(NULL, NULL, "-and_setup", &setup));
  if (setup == PETSC_TRUE) {
    PetscErrorCode ierr;
    PetscMPIInt    failed, all;

    /* Every rank sees it, so that none waits for another */
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = MuonLMOSetUp(lmo);
    PetscCall(PetscPopErrorHandler());
    failed = ierr != PETSC_SUCCESS;
    PetscCallMPI(MPI_Allreduce(&failed, &all, 1, MPI_INT, MPI_MIN, PETSC_COMM_WORLD));
    PetscCheck(all == 1, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "A rank did not refuse it");
    PetscCall(MuonLMOSetUp(lmo));
  }
  PetscCall(MuonLMODestroy(&lmo));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2}}
    args: -net_lmo_type mixed -net_lmo_mixed_exponent_p 3 -net_lmo_mixed_exponent_q inf -layer_lmo_mixed_exponent_q 1.5 -singular_lmo_schatten_exponent INF
    filter: sed -e "s#[12] MPI process.*#MPI#" -e "s/scratch: [1-9][0-9]* bytes/scratch: some bytes/"
    output_file: output/lmo_options_1.out

  testset:
    nsize: 2
    args: -only_read

    table: suffix | args | error
      p         | -net_lmo_type mixed -net_lmo_mixed_exponent_p 0.5                   | -net_lmo_mixed_exponent_p 0.5 must be at least 1
      schatten  | -net_lmo_type schatten -net_lmo_schatten_exponent 0.5               | -net_lmo_schatten_exponent 0.5 must be at least 1
      q         | -net_lmo_type mixed -net_lmo_mixed_exponent_q -inf                  | -inf
      nan       | -net_lmo_type mixed -net_lmo_mixed_exponent_p nan                   | nan
      type      | -net_lmo_type spektral                                              | -net_lmo_type: unknown type spektral, expected one of
      svd_type  | -and_setup -net_lmo_type {{nuclear schatten spectral}} -net_lmo_svd_type bogus | Unknown SVD type given: bogus
      nsv       | -and_setup -net_lmo_type {{nuclear schatten}} -net_lmo_svd_nsv 3    | Option -net_lmo_svd_nsv asks for 3 singular triples
      polar_svd | -and_setup -net_lmo_polar_type svd -net_lmo_polar_svd_type bogus    | Unknown SVD type given: bogus
      precision | -and_setup -net_lmo_polar_type {{qdwh svd}} -net_lmo_polar_precision bf16 | -net_lmo_polar_precision is bf16
      word      | -net_lmo_type mixed -net_lmo_mixed_exponent_p two                   | two

TEST*/
