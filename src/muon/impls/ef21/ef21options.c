#include "ef21.h" /*I "petscmuon.h" I*/

const char *const MuonEF21Inits[] = {"zero", "gradient", "MuonEF21Init", "MUON_EF21_INIT_", NULL};

#define ROW(key, kind, field, names, flags, help) \
  { \
    "ef21_" key, MUON_PARAMETER_##kind, offsetof(Muon_EF21, field), 0, 0, MUON_UNBOUNDED, names, MUON_PARAMETER_BARE | MUON_PARAMETER_DATA | (flags), help \
  }

const MuonParameter MuonEF21Parameters_Private[] = {ROW("init", ENUM, init, MuonEF21Inits, MUON_PARAMETER_FIXED, "What EF21 starts from"),
                                                    MUON_COMPRESSORS_ROWS("ef21_", Muon_EF21, all),
                                                    ROW("aggregate_error_interval", INT, errorinterval, NULL, 0, "Of how many steps one measures how far the aggregate is from the mean of the estimates, 0: none"),
                                                    {NULL, MUON_PARAMETER_REAL, 0, 0, 0, 0, NULL, 0, NULL}};

PetscErrorCode MuonSetFromOptions_EF21(Muon muon, MuonOptionItems PetscOptionsObject)
{
  char viewer[PETSC_MAX_PATH_LEN];

  PetscFunctionBegin;
  PetscCall(PetscOptionsString("-ef21_monitor_compression", "Two lines a layer: contraction and lag", "MuonEF21SetMonitorCompression", "stdout", viewer, sizeof(viewer), NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonSetObjectsFromOptions_EF21(Muon muon)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorsSetFromOptions_Private(muon, &((Muon_EF21 *)muon->data)->all));
  PetscFunctionReturn(PETSC_SUCCESS);
}
