#include "ef21.h" /*I "petscmuon.h" I*/

const char *const MuonEF21Inits[]                = {"zero", "gradient", "MuonEF21Init", "MUON_EF21_INIT_", NULL};
const char *const MuonEF21CompressorRulesTypes[] = {"lmo", "all", "MuonEF21CompressorRules", "MUON_EF21_COMPRESSOR_RULES_", NULL};

#define ROW(key, kind, field, names, flags, help) \
  { \
    "ef21_" key, MUON_PARAMETER_##kind, offsetof(Muon_EF21, field), 0, 0, MUON_UNBOUNDED, names, MUON_PARAMETER_BARE | MUON_PARAMETER_DATA | (flags), help \
  }

const MuonParameter MuonEF21Parameters_Private[] = {ROW("init", ENUM, init, MuonEF21Inits, MUON_PARAMETER_FIXED, "What EF21 starts from"),
                                                    ROW("downlink", ENUM, downlink, MuonDownlinks, MUON_PARAMETER_FIXED, "How owners tell the workers of new weights"),
                                                    ROW("compressor_rules", ENUM, rules, MuonEF21CompressorRulesTypes, MUON_PARAMETER_FIXED, "Layers that the compressors are for; the others are sent uncompressed"),
                                                    ROW("compressor_min_entries", INT, min_entries, NULL, MUON_PARAMETER_FIXED, "Entries of the smallest layer that the compressors are for"),
                                                    ROW("drift_interval", INT, driftinterval, NULL, 0, "Of how many steps one measures how far the aggregate is from the mean of the estimates, 0: none"),
                                                    {NULL, MUON_PARAMETER_REAL, 0, 0, 0, 0, NULL, 0, NULL}};

PetscErrorCode MuonSetFromOptions_EF21(Muon muon, MuonOptionItems PetscOptionsObject)
{
  char viewer[PETSC_MAX_PATH_LEN];

  PetscFunctionBegin;
  PetscCall(PetscOptionsString("-ef21_monitor_compression", "Two lines a layer: contraction and lag", "MuonEF21SetMonitorCompression", "stdout", viewer, sizeof(viewer), NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prefix and database may have changed since the compressors were made */
PetscErrorCode MuonSetObjectsFromOptions_EF21(Muon muon)
{
  Muon_EF21               *ef21     = (Muon_EF21 *)muon->data;
  const MuonCompressor     c[2]     = {ef21->up, ef21->down};
  static const char *const family[] = {"ef21_", "ef21_server_"};
  char                     prefix[PETSC_MAX_OPTION_NAME];

  PetscFunctionBegin;
  for (int down = 0; down < 2; down++) {
    PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "%s%s", MuonPrefix(muon), family[down]));
    PetscCall(MuonCompressorSetOptionsPrefix(c[down], prefix));
    PetscCall(PetscObjectSetOptions((PetscObject)c[down], ((PetscObject)muon)->options));
    PetscCall(MuonCompressorSetFromOptions(c[down]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
