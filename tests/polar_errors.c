static char help[] = "Wrong use of MuonPolar and MuonLMO is an error that names the object, the value and what was expected.\n\n";

#include "polar_common.h"
#include <petscmuonlmo.h>

int main(int argc, char **argv)
{
  MuonPolar   polar;
  MuonLMO     lmo;
  Mat         G, Q, S, P, D;
  char        which[64] = "";
  PetscBool   is;
  PetscReal   norm;
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-use", which, sizeof(which), NULL));
  PetscCall(MuonPolarCreate(PETSC_COMM_WORLD, &polar));
  PetscCall(MuonPolarSetOptionsPrefix(polar, "net_"));
  PetscCall(MuonPolarSetFromOptions(polar));
  PetscCall(MuonLMOCreate(PETSC_COMM_WORLD, &lmo));
  PetscCall(MuonLMOSetOptionsPrefix(lmo, "net_"));
  PetscCall(MuonLMOSetFromOptions(lmo));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 3, 4, NULL, &G));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 4, 3, NULL, &Q));
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, 3, 4, 1, NULL, &S));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 3, 4, NULL, &P));
  PetscCall(PetscStrcmp(which, "apply", &is));
  if (is == PETSC_TRUE) {
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 3, 4, NULL, &D));
    /* Of a zero matrix nothing is computed */
    PetscCall(MatSetRandom(G, NULL));
    PetscCall(MuonPolarApply(polar, G, D));
    PetscCall(MatDestroy(&D));
  }
  /* Every rank sees it, though none has a matrix yet */
  PetscCall(PetscStrcmp(which, "setup", &is));
  if (is == PETSC_TRUE) {
    PetscErrorCode ierr;
    int            refused;

    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = MuonPolarSetUp(polar);
    PetscCall(PetscPopErrorHandler());
    refused = ierr != PETSC_SUCCESS;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &refused, 1, MPI_INT, MPI_MIN, PETSC_COMM_WORLD));
    if (refused) PetscCall(MuonPolarSetUp(polar));
  }
  PetscCall(PetscStrcmp(which, "tolerance0", &is));
  if (is == PETSC_TRUE) PetscCall(MuonPolarSetTolerance(polar, 0.0));
  PetscCall(PetscStrcmp(which, "tolerance1", &is));
  if (is == PETSC_TRUE) PetscCall(MuonPolarSetTolerance(polar, 1.0));
  PetscCall(PetscStrcmp(which, "tolerancenan", &is));
  if (is == PETSC_TRUE) PetscCall(MuonPolarSetTolerance(polar, (PetscReal)NAN));
  PetscCall(PetscStrcmp(which, "powers", &is));
  if (is == PETSC_TRUE) PetscCall(MuonPolarSetPowerIterations(polar, 0));
  PetscCall(PetscStrcmp(which, "shape", &is));
  if (is == PETSC_TRUE) PetscCall(MuonPolarApply(polar, G, Q));
  PetscCall(PetscStrcmp(which, "lmoshape", &is));
  if (is == PETSC_TRUE) PetscCall(MuonLMOApply(lmo, G, Q));
  PetscCall(PetscStrcmp(which, "sparse", &is));
  if (is == PETSC_TRUE) PetscCall(MuonPolarApply(polar, S, G));
  PetscCall(PetscStrcmp(which, "lmosparse", &is));
  if (is == PETSC_TRUE) PetscCall(MuonLMOComputeNorm(lmo, S, &norm));
  PetscCall(PetscStrcmp(which, "parallel", &is));
  if (is == PETSC_TRUE) PetscCall(MuonPolarApply(polar, P, P));
  PetscCall(PetscStrcmp(which, "mixture", &is));
  if (is == PETSC_TRUE) PetscCall(MuonPolarApply(polar, P, G));
  PetscCall(PetscStrcmp(which, "rows", &is));
  if (is == PETSC_TRUE) {
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCall(MatCreateDense(PETSC_COMM_WORLD, rank == 0 ? 3 : 0, PETSC_DECIDE, 3, 4, NULL, &D));
    PetscCall(MuonPolarApply(polar, P, D));
    PetscCall(MatDestroy(&D));
  }
  PetscCall(PetscStrcmp(which, "many", &is));
  if (is == PETSC_TRUE) {
    const Mat in[2] = {P, G};
    Mat       out[2];

    PetscCall(MatDuplicate(P, MAT_DO_NOT_COPY_VALUES, &out[0]));
    out[1] = S;
    PetscCall(MuonPolarApplyMany(polar, 2, in, out, NULL));
    PetscCall(MatDestroy(&out[0]));
  }
  PetscCall(PetscStrcmp(which, "same", &is));
  if (is == PETSC_TRUE) PetscCall(MuonLMOApply(lmo, G, G));
  PetscCall(PetscStrcmp(which, "lmotype", &is));
  if (is == PETSC_TRUE) PetscCall(MuonLMOSetType(lmo, "spektral"));
  PetscCall(MatDestroy(&G));
  PetscCall(MatDestroy(&Q));
  PetscCall(MatDestroy(&S));
  PetscCall(MatDestroy(&P));
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(MuonLMODestroy(&lmo));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    suffix: none
    nsize: 2

  testset:
    nsize: 2

    test:
      suffix: type
      args: -net_lmo_polar_type svdd
      error: Unknown type svdd of option -net_lmo_polar_type, expected one of:

    test:
      suffix: lmotype
      args: -net_lmo_type fro
      error: Unknown type fro of option -net_lmo_type, expected one of:

    test:
      suffix: setlmotype
      args: -use lmotype
      error: Unknown type spektral of option -net_lmo_type

    test:
      suffix: coefficients
      args: -net_lmo_polar_type newtonschulz -net_lmo_polar_coefficients keller
      error: Unknown set keller of option -net_lmo_polar_coefficients, expected one of:

    test:
      suffix: steps
      args: -net_lmo_polar_type newtonschulz -net_lmo_polar_steps 0
      error: Option -net_lmo_polar_steps is 0, expected at least 1

    test:
      suffix: tolerance
      args: -use tolerance{{0 1 nan}}
      error: Option -net_lmo_polar_tolerance is

    test:
      suffix: precision
      args: -net_lmo_polar_type svd -net_lmo_polar_precision bf16 -use apply
      error: Option -net_lmo_polar_precision is bf16, expected

    test:
      suffix: onednn
      requires: !onednn
      args: -net_lmo_polar_type newtonschulz -net_lmo_polar_precision bf16 -use apply
      error: Option -net_lmo_polar_precision is bf16, and the library was built without oneDNN, expected single or double

    test:
      suffix: setup_onednn
      requires: !onednn
      args: -net_lmo_polar_type {{newtonschulz gram}} -net_lmo_polar_precision bf16 -use setup
      error: Option -net_lmo_polar_precision is bf16, and the library was built without oneDNN, expected single or double

    test:
      suffix: setup_precision
      args: -net_lmo_polar_type {{svd qdwh}} -net_lmo_polar_precision bf16 -use setup
      error: ; types that take bf16: newtonschulz gram

    test:
      suffix: setup_svdtype
      args: -net_lmo_polar_type svd -net_lmo_polar_svd_type bogus -use setup
      error: Unknown type bogus of option -net_lmo_polar_svd_type, expected one of: cross

    test:
      suffix: setup_svdnsv
      args: -net_lmo_polar_type svd -net_lmo_polar_svd_nsv {{1 3}} -use setup
      error: Option -net_lmo_polar_svd_nsv asks for

    test:
      suffix: setup_svdkey
      args: -net_lmo_polar_type svd -net_lmo_polar_svd_tol tiny -use setup
      error: Input string tiny has no numeric value

    test:
      suffix: monitor
      args: -net_lmo_polar_monitor {{draw binary:/dev/null}}
      error: Option -net_lmo_polar_monitor names a viewer of type

    test:
      suffix: poles
      args: -net_lmo_polar_type zolotarev -net_lmo_polar_zolotarev_poles {{0 13}}
      error: expected 1 to 12

    test:
      suffix: interval
      args: -net_lmo_polar_type zolotarev -net_lmo_polar_zolotarev_interval {{0 1 1e-13}}
      error: Option -net_lmo_polar_zolotarev_interval is

    test:
      suffix: zolotarevbf16
      args: -net_lmo_polar_type zolotarev -net_lmo_polar_precision bf16 -use setup
      error: Option -net_lmo_polar_precision is bf16, expected single or double for the type zolotarev

    test:
      suffix: zolotarevtolerance
      args: -net_lmo_polar_type zolotarev -net_lmo_polar_tolerance 1e-9
      error: Option -net_lmo_polar_tolerance is 1e-09, expected at least 1.38

    test:
      suffix: powers
      args: -use powers
      error: Option -net_lmo_polar_power_iterations is 0, expected at least 1

    test:
      suffix: values
      args: -net_lmo_polar_type newtonschulz -net_lmo_polar_coefficient_values 1,2,3,4
      error: Option -net_lmo_polar_coefficient_values has 4 values, expected three for each step

    test:
      suffix: restarts
      args: -net_lmo_polar_type gram -net_lmo_polar_gram_restart 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33
      error: Option -net_lmo_polar_gram_restart has more than 32 numbers

    test:
      suffix: shape
      args: -use shape
      error: MuonPolar with options prefix "net_": the output is 4 x 3, expected the input's 3 x 4

    test:
      suffix: lmoshape
      args: -use lmoshape
      error: MuonLMO with options prefix "net_": the output is 4 x 3, expected the input's 3 x 4

    test:
      suffix: sparse
      args: -use sparse
      error: MuonPolar with options prefix "net_": matrix of type seqaij, expected seqdense

    test:
      suffix: lmosparse
      args: -use lmosparse
      error: MuonLMO with options prefix "net_": matrix of type seqaij, expected seqdense

    test:
      suffix: parallel
      args: -use parallel
      error: MuonPolar with options prefix "net_": input and output are the same matrix

    test:
      suffix: mixture
      args: -use mixture
      error: MuonPolar with options prefix "net_": the output is a matrix of type seqdense, expected the input's mpidense

    test:
      suffix: rows
      args: -use rows
      error: MuonPolar with options prefix "net_": rank 0 has rows 0 to 3 of the output (3 x 4), expected the input's 0 to 2

    test:
      suffix: many
      args: -use many
      error: MuonPolar with options prefix "net_": matrix of type seqaij, expected seqdense

    test:
      suffix: same
      args: -use same
      error: MuonLMO with options prefix "net_": input and output are the same matrix

TEST*/
