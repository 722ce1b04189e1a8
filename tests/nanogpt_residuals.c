static char help[] = "The residuals that tutorials/nanogpt saves are what the messages of the step were made of: compressed again they are what worker and server added.\n";

#include "problem.h"
#include "../tutorials/nanogpt/residuals.h"

typedef struct {
  Problem   p;
  Residuals residuals;
} Context;

static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  Context *context = (Context *)ctx;

  PetscFunctionBegin;
  PetscCall(ProblemObjective(muon, loss, &context->p));
  PetscCall(ResidualsGradient(context->residuals, muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The next matrix of a file, of the shape of a layer: before + C(residual) must be after, to the last bit */
static PetscErrorCode Compare(PetscViewer viewer, MuonCompressor c, PetscInt step, const ProblemShape *shape, const char what[], const double before[], const double after[])
{
  ProblemArray a = {NULL, PETSC_SCALAR, PETSC_FALSE, 0, shape->m, 0, 0, 0, NULL};
  PetscInt     m, n;
  Mat          A;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, &A));
  PetscCall(MatSetType(A, MATSEQDENSE));
  PetscCall(MatLoad(A, viewer));
  PetscCall(MatGetSize(A, &m, &n));
  PetscCheck(m == shape->m && n == shape->n, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s is saved as %" PetscInt_FMT " x %" PetscInt_FMT, shape->name, m, n);
  PetscCall(MuonCompressorSetStep(c, step));
  PetscCall(MuonCompressorApply(c, A, A, NULL));
  PetscCall(ProblemOfMat(A, &a));
  for (PetscInt e = 0; e < m * n; e++) PetscCheck((PetscReal)(before[e] + ProblemGet(&a, e / n, e % n)) == (PetscReal)after[e], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %s: what was saved of the way %s is not what was sent", shape->name, what);
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt wanted[] = {0, 2, 3}; /* the last is left out */
  Context        context;
  Problem       *p = &context.p;
  PetscViewer    viewer;
  double         Gj[4][2][2][36], W[4][2][2][36]; /* layer, saved step, before and after */
  PetscInt       saved = 0;
  PetscInt64     left;
  int            fd;
  off_t          at, length;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(ProblemCreate(p, 0, 0));
  PetscCall(ResidualsCreate("residuals.bin", 3, wanted, p->muon, &context.residuals));
  PetscCall(MuonSetObjectiveAndGradient(p->muon, Objective, &context));
  for (PetscInt s = 0; saved < 2; s++) {
    for (PetscInt after = 0; after < 2; after++) {
      if (after == 0) PetscCall(ResidualsBefore(context.residuals, p->muon));
      else {
        PetscCall(MuonStep(p->muon));
        PetscCall(ResidualsAfter(context.residuals, p->muon, s));
      }
      for (PetscInt l = 0; l < p->n && s == wanted[saved]; l++) {
        PetscCall(ProblemGetRows(p, l, NULL, W[l][saved][after], NULL));
        PetscCall(ProblemGetRows(p, l, "estimate", Gj[l][saved][after], NULL));
      }
    }
    if (s == wanted[saved]) saved++;
  }
  /* A step whose loss is no number for one worker is not made */
  PetscCall(MuonSetParameter(p->muon, "muon_nan", "skip"));
  p->badloss = PETSC_TRUE;
  p->bad     = 3;
  PetscCall(ResidualsBefore(context.residuals, p->muon));
  PetscCall(MuonStep(p->muon));
  PetscCall(MuonGetNaNCount(p->muon, &left));
  PetscCheck(left == 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt64_FMT " steps were left out", left);
  PetscCall(ResidualsAfter(context.residuals, p->muon, 3));
  PetscCall(ResidualsDestroy(&context.residuals));
  if (p->rank == 0) {
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_SELF, "residuals.bin", FILE_MODE_READ, &viewer));
    for (PetscInt k = 0; k < 2; k++) {
      for (PetscInt l = 0; l < p->n; l++) {
        MuonCompressor up, down;

        PetscCall(MuonGetLayerCompressors(p->muon, p->layer[l].layer, &up, &down));
        PetscCall(Compare(viewer, up, wanted[k], p->layer[l].shape, "up", Gj[l][k][0], Gj[l][k][1]));
        PetscCall(Compare(viewer, down, wanted[k], p->layer[l].shape, "down", W[l][k][0], W[l][k][1]));
      }
    }
    PetscCall(PetscViewerBinaryGetDescriptor(viewer, &fd));
    PetscCall(PetscBinarySeek(fd, 0, PETSC_BINARY_SEEK_CUR, &at));
    PetscCall(PetscBinarySeek(fd, 0, PETSC_BINARY_SEEK_END, &length));
    PetscCheck(length == at, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d bytes are left in the file", (int)(length - at));
    PetscCall(PetscViewerDestroy(&viewer));
  }
  PetscCall(ProblemDestroy(p));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    sources: tutorials/nanogpt/residuals.c

  test:
    nsize: {{1 3}}
    args: -problem_layers square,tall,wide,row -muon_type ef21 -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_compressor_values {{native natural}} -ef21_server_compressor natural -muon_exchange_type {{layerwise replicated}}
    args: -muon_momentum {{0.7 0}}

TEST*/
