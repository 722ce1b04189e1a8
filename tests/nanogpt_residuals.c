static char help[] = "The residuals that tutorials/nanogpt saves are what the messages of the step were made of: compressed again they are what worker and server added.\n";

#include "ef21_common.h"
#include "../tutorials/nanogpt/residuals.h"

/* The next matrix of a file, of the shape of a layer */
static PetscErrorCode Load(PetscViewer viewer, const TestShape *shape, Mat *A)
{
  PetscInt m, n;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetType(*A, MATSEQDENSE));
  PetscCall(MatLoad(*A, viewer));
  PetscCall(MatGetSize(*A, &m, &n));
  PetscCheck(m == shape->m && n == shape->n, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s is saved as %" PetscInt_FMT " x %" PetscInt_FMT, shape->name, m, n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* before + C(residual) must be after, to the last bit */
static PetscErrorCode Compare(MuonCompressor c, Mat residual, const char what[], const char name[], PetscInt d, PetscReal before[], const PetscReal after[])
{
  PetscReal *message;
  PetscBool  same;

  PetscFunctionBegin;
  PetscCall(MuonCompressorApply(c, residual, residual, NULL));
  PetscCall(PetscMalloc1(d, &message));
  PetscCall(TestMatGetRows(residual, message));
  for (PetscInt e = 0; e < d; e++) before[e] += message[e];
  PetscCall(PetscArraycmp(before, after, d, &same));
  PetscCheck(same == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %s: what was saved of the way %s is not what was sent", name, what);
  PetscCall(PetscFree(message));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  TestProblem *problem;
  Residuals    residuals;
} Context;

static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  Context *context = (Context *)ctx;

  PetscFunctionBegin;
  PetscCall(TestObjective(muon, loss, context->problem));
  PetscCall(ResidualsGradient(context->residuals, muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt wanted[] = {0, 2, 3}; /* the last is left out */
  TestProblem    p;
  Context        context;
  PetscViewer    viewer;
  PetscReal     *Gj[TEST_LAYERS][2][2], *W[TEST_LAYERS][2][2]; /* layer, saved step, before and after */
  PetscInt       saved = 0, end;
  PetscInt64     left;
  int            fd;
  off_t          at, length;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestCreate(PETSC_COMM_WORLD, MUONEF21, 4, TestShapes, -1, &p));
  PetscCall(MuonSetFromOptions(p.muon));
  PetscCall(MuonSetUp(p.muon));
  PetscCall(ResidualsCreate("residuals.bin", 3, wanted, p.muon, &context.residuals));
  context.problem = &p;
  PetscCall(MuonSetObjectiveAndGradient(p.muon, Objective, &context));
  for (PetscInt s = 0; saved < 2; s++) {
    for (PetscInt after = 0; after < 2; after++) {
      if (after == 0) PetscCall(ResidualsBefore(context.residuals, p.muon));
      else {
        PetscCall(MuonStep(p.muon));
        PetscCall(ResidualsAfter(context.residuals, p.muon, s));
      }
      for (PetscInt l = 0; l < p.n && s == wanted[saved]; l++) {
        const PetscInt d = TestEntries(&p.shape[l]);
        Mat            A;

        PetscCall(PetscMalloc2(d, &Gj[l][saved][after], d, &W[l][saved][after]));
        PetscCall(TestGetWeights(&p, l, W[l][saved][after]));
        PetscCall(TestGetEF21State(p.muon, p.layer[l], NULL, &A, NULL));
        PetscCall(TestMatGetRows(A, Gj[l][saved][after]));
      }
    }
    if (s == wanted[saved]) saved++;
  }
  /* A step whose loss is infinite for one worker is not made */
  PetscCall(MuonSetParameter(p.muon, "muon_nan", "skip"));
  if (p.rank == 0) p.scale = PETSC_MAX_REAL;
  PetscCall(ResidualsBefore(context.residuals, p.muon));
  PetscCall(MuonStep(p.muon));
  PetscCall(MuonGetNaNCount(p.muon, &left));
  PetscCheck(left == 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt64_FMT " steps were left out", left);
  PetscCall(ResidualsAfter(context.residuals, p.muon, 3));
  PetscCall(ResidualsDestroy(&context.residuals));
  if (p.rank == 0) {
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_SELF, "residuals.bin", FILE_MODE_READ, &viewer));
    for (PetscInt k = 0; k < 2; k++) {
      for (PetscInt l = 0; l < p.n; l++) {
        const PetscInt d = TestEntries(&p.shape[l]);
        MuonCompressor up, down;
        Mat            A;

        PetscCall(MuonGetLayerCompressors(p.muon, p.layer[l], &up, &down));
        PetscCall(MuonCompressorSetStep(up, wanted[k]));
        PetscCall(MuonCompressorSetStep(down, wanted[k]));
        PetscCall(Load(viewer, &p.shape[l], &A));
        PetscCall(Compare(up, A, "up", p.shape[l].name, d, Gj[l][k][0], Gj[l][k][1]));
        PetscCall(MatDestroy(&A));
        PetscCall(Load(viewer, &p.shape[l], &A));
        PetscCall(Compare(down, A, "down", p.shape[l].name, d, W[l][k][0], W[l][k][1]));
        PetscCall(MatDestroy(&A));
      }
    }
    PetscCall(PetscViewerBinaryGetDescriptor(viewer, &fd));
    PetscCall(PetscBinarySeek(fd, 0, PETSC_BINARY_SEEK_CUR, &at));
    PetscCall(PetscBinarySeek(fd, 0, PETSC_BINARY_SEEK_END, &length));
    end = (PetscInt)(length - at);
    PetscCheck(end == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " bytes are left in the file", end);
    PetscCall(PetscViewerDestroy(&viewer));
  }
  for (PetscInt l = 0; l < p.n; l++) {
    for (PetscInt k = 0; k < 4; k++) PetscCall(PetscFree2(Gj[l][k / 2][k % 2], W[l][k / 2][k % 2]));
  }
  PetscCall(TestDestroy(&p));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    sources: tutorials/nanogpt/residuals.c

  test:
    nsize: {{1 3}}
    args: -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_compressor_values {{native natural}} -ef21_server_compressor natural -muon_exchange_type {{layerwise replicated}}
    args: -muon_momentum {{0.7 0}}

TEST*/
