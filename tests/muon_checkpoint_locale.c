static char help[] = "A checkpoint has its numbers without the locale: a run that goes on where the decimal point is a comma, or comes from there, finds its options as they were.\n";

#include "ef21_common.h"
#include "locale_common.h"

static PetscErrorCode Run(PetscReal rate, const char to[], const char from[])
{
  MuonCompressor compressor;
  TestProblem    p;

  PetscFunctionBegin;
  PetscCall(TestCreate(PETSC_COMM_WORLD, MUONEF21, TEST_LAYERS, TestShapes, -1, &p));
  PetscCall(MuonSetLearningRate(p.muon, rate));
  PetscCall(MuonLayerSetScale(p.layer[1], (PetscReal)1.5));
  PetscCall(MuonLayerSetLearningRate(p.layer[0], (PetscReal)0.0625));
  PetscCall(MuonEF21GetCompressor(p.muon, &compressor));
  PetscCall(MuonCompressorSetType(compressor, MUONCOMPRESSORTOPK));
  PetscCall(MuonCompressorSetRatio(compressor, (PetscReal)0.375));
  if (from != NULL) PetscCall(MuonLoadCheckpoint(p.muon, from));
  PetscCall(MuonStep(p.muon));
  if (to != NULL) PetscCall(MuonSaveCheckpoint(p.muon, to, 1));
  PetscCall(TestDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(Run((PetscReal)0.125, "point", NULL));
  PetscCall(TestSetCommaLocale());
  PetscCall(Run((PetscReal)0.125, "comma", "point"));
  PetscCall(Run((PetscReal)0.25, NULL, "point")); /* the one difference */
  (void)setlocale(LC_NUMERIC, "C");
  PetscCall(Run((PetscReal)0.125, NULL, "comma"));
  PetscCall(Run((PetscReal)0.25, NULL, "comma"));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  test:
    nsize: 0

TEST*/
