static char help[] = "What ranks must not differ in: each option of a polar factor changes the text that says so, and nothing else does.\n\n";

#include "polar_common.h"
#include <petscmuon/private/muonpolarimpl.h>

static PetscErrorCode Choices(const char options[], size_t length, char text[])
{
  MuonPolar polar;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(MuonPolarCreate(PETSC_COMM_SELF, &polar));
  PetscCall(MuonPolarSetOptionsPrefix(polar, "net_"));
  PetscCall(MuonPolarSetFromOptions(polar));
  PetscCall(MuonPolarSetUp(polar));
  PetscCall(MuonPolarChoices(polar, length, text));
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(PetscOptionsClear(NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  /* Of one line no two are the same */
  static const char *const lines[][8] = {{"", "-net_lmo_polar_type svd", "-net_lmo_polar_type qdwh", "-net_lmo_polar_type gram", "-net_lmo_polar_type newtonschulz", NULL},
                                         {"-net_lmo_polar_type qdwh", "-net_lmo_polar_type qdwh -net_lmo_polar_precision single", NULL},
                                         {"", "-net_lmo_polar_tolerance 0.07", "-net_lmo_polar_tolerance 0.071", "-net_lmo_polar_zolotarev_poles 2", "-net_lmo_polar_zolotarev_interval 2e-3", "-net_lmo_polar_zolotarev_interval 2.00001e-3", NULL},
                                         {"-net_lmo_polar_type gram", "-net_lmo_polar_type gram -net_lmo_polar_gram_restart 1,3", "-net_lmo_polar_type gram -net_lmo_polar_gram_restart 3", "-net_lmo_polar_type gram -net_lmo_polar_steps 4", NULL},
                                         {"-net_lmo_polar_type newtonschulz", "-net_lmo_polar_type newtonschulz -net_lmo_polar_steps 4", "-net_lmo_polar_type newtonschulz -net_lmo_polar_coefficients cubic",
                                          "-net_lmo_polar_type newtonschulz -net_lmo_polar_coefficient_values 1.5,-0.5,0", "-net_lmo_polar_type newtonschulz -net_lmo_polar_coefficient_values 1.5,-0.5,1e-9",
                                          "-net_lmo_polar_type newtonschulz -net_lmo_polar_normalization spectral", "-net_lmo_polar_type newtonschulz -net_lmo_polar_normalization spectral -net_lmo_polar_power_iterations 3", NULL},
                                         {"-net_lmo_polar_type svd", "-net_lmo_polar_type svd -net_lmo_polar_svd_tol 1e-5", "-net_lmo_polar_type svd -net_lmo_polar_svd_tol 1e-6", "-net_lmo_polar_type svd -net_lmo_polar_svd_type cross",
                                          "-net_lmo_polar_type svd -net_lmo_polar_svd_type cross -net_lmo_polar_svd_cross_eps_tol 1e-3", "-net_lmo_polar_type svd -net_lmo_polar_bv_type vecs", NULL}};
  /* Keys of others */
  static const char *const same[][2] = {{"-net_lmo_polar_type svd -net_lmo_polar_svd_tol 1e-5", "-ksp_rtol 1e-3 -other_lmo_polar_svd_tol 1e-3 -net_lmo_polar_type svd -net_lmo_polar_svd_tol 1e-5 -net_lmo_polar_svdx 3"},
                                        {"-net_lmo_polar_steps 3", ""}};
  char                     texts[8][512];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsClear(NULL));
  for (size_t l = 0; l < PETSC_STATIC_ARRAY_LENGTH(lines); l++) {
    for (int k = 0; lines[l][k] != NULL; k++) {
      PetscCall(Choices(lines[l][k], sizeof(texts[k]), texts[k]));
      for (int i = 0; i < k; i++) {
        PetscBool equal;

        PetscCall(PetscStrcmp(texts[i], texts[k], &equal));
        PetscCheck(equal == PETSC_FALSE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "\"%s\" and \"%s\" both say \"%s\"", lines[l][i], lines[l][k], texts[k]);
      }
    }
  }
  for (size_t l = 0; l < PETSC_STATIC_ARRAY_LENGTH(same); l++) {
    PetscBool equal;

    for (int k = 0; k < 2; k++) PetscCall(Choices(same[l][k], sizeof(texts[k]), texts[k]));
    PetscCall(PetscStrcmp(texts[0], texts[1], &equal));
    PetscCheck(equal == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "\"%s\" says \"%s\", and \"%s\" says \"%s\"", same[l][0], texts[0], same[l][1], texts[1]);
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:

TEST*/
