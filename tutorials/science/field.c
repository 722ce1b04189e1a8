static char help[] = "A network learns a field on a DMDA from the points where it was seen, in a disc. The ranks have unequal numbers of these points, some maybe none, and yet all points count alike:\n"
                     "the losses do not depend on the number of ranks.\n\n"
                     "  mpiexec -n 3 ./field -field_weights 0     every rank counts alike: another problem, and another answer\n\n";

#include <petscdmda.h>
#include "mlp.h"

typedef struct {
  MLP          net;
  DM           da;
  Vec          field;      /* as it is, on the DM */
  PetscInt     n, *where;  /* samples of this rank, and their places in its part of the field */
  PetscScalar *X, *Y, *dY; /* coordinates and values of the samples; derivatives of the loss by the network's values */
} Field;

static PetscErrorCode CreateField(Field *f)
{
  DMDALocalInfo info;
  PetscScalar  *u;

  PetscFunctionBeginUser;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 24, 20, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &f->da));
  PetscCall(DMSetFromOptions(f->da));
  PetscCall(DMSetUp(f->da));
  PetscCall(DMCreateGlobalVector(f->da, &f->field));
  PetscCall(DMDAGetLocalInfo(f->da, &info));
  PetscCall(PetscMalloc4(info.xm * info.ym, &f->where, 2 * info.xm * info.ym, &f->X, info.xm * info.ym, &f->Y, info.xm * info.ym, &f->dY));
  f->n = 0;
  PetscCall(VecGetArrayWrite(f->field, &u));
  for (PetscInt k = 0; k < info.xm * info.ym; k++) {
    const PetscReal x = (PetscReal)(info.xs + k % info.xm) / (PetscReal)(info.mx - 1), y = (PetscReal)(info.ys + k / info.xm) / (PetscReal)(info.my - 1);

    u[k] = PetscSinReal(5 * x) * PetscCosReal(4 * y) + x * y;
    if (PetscSqr(x - (PetscReal)0.3) + PetscSqr(y - (PetscReal)0.4) > (PetscReal)0.16) continue;
    f->where[f->n]     = k;
    f->X[2 * f->n]     = 2 * x - 1;
    f->X[2 * f->n + 1] = 2 * y - 1;
    f->Y[f->n++]       = u[k];
  }
  PetscCall(VecRestoreArrayWrite(f->field, &u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The mean over the samples of this rank */
static PetscErrorCode FormLossAndGradient(Muon muon, PetscReal *loss, void *ctx)
{
  Field             *f     = (Field *)ctx;
  const PetscReal    scale = 1 / (PetscReal)PetscMax(f->n, 1);
  const PetscScalar *P;

  PetscFunctionBeginUser;
  PetscCall(MLPForward(&f->net, f->n, 1, f->X, &P));
  *loss = 0;
  for (PetscInt i = 0; i < f->n; i++) {
    const PetscScalar e = P[i] - f->Y[i];

    *loss += scale * PetscRealPart(e * e);
    f->dY[i] = 2 * scale * e;
  }
  PetscCall(MLPBackward(&f->net, f->dY, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The network's field beside the true one, in the maximum norm over the samples of all ranks */
static PetscErrorCode ComputeError(Field *f, PetscReal *error)
{
  const PetscScalar *P;
  PetscScalar       *e;
  Vec                difference;

  PetscFunctionBeginUser;
  PetscCall(DMGetGlobalVector(f->da, &difference));
  PetscCall(VecSet(difference, 0));
  PetscCall(MLPForward(&f->net, f->n, 1, f->X, &P));
  PetscCall(VecGetArray(difference, &e));
  for (PetscInt i = 0; i < f->n; i++) e[f->where[i]] = P[i] - f->Y[i];
  PetscCall(VecRestoreArray(difference, &e));
  PetscCall(VecNorm(difference, NORM_INFINITY, error));
  PetscCall(DMRestoreGlobalVector(f->da, &difference));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt width[] = {2, 24, 24, 1};
  PetscBool      weights = PETSC_TRUE;
  PetscInt       steps, total, least, most;
  PetscReal      loss = 0, error = 0;
  Field          f;
  Muon           muon;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-field_weights", &weights, NULL));
  PetscCall(CreateField(&f));
  PetscCallMPI(MPI_Allreduce(&f.n, &total, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(&f.n, &least, 1, MPIU_INT, MPI_MIN, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(&f.n, &most, 1, MPIU_INT, MPI_MAX, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " samples, %" PetscInt_FMT " to %" PetscInt_FMT " a rank\n", total, least, most));

  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(MLPCreate(muon, "u", 3, width, 1, &f.net));
  PetscCall(MuonSetObjectiveAndGradient(muon, FormLossAndGradient, &f));
  if (weights) PetscCall(MuonSetWorkerWeight(muon, (PetscReal)f.n)); /* means over ranks are then means over samples */
  PetscCall(MuonSetType(muon, MUONDENSE));
  PetscCall(MuonSetLayerTypes(muon, "*.b?:adamw,u.W2:adamw"));
  PetscCall(MuonSetLearningRate(muon, (PetscReal)0.05));
  PetscCall(MuonSetAdamW(muon, (PetscReal)0.01, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSetSchedule(muon, MUON_SCHEDULE_LINEAR, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSetMaxSteps(muon, 300));
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonGetMaxSteps(muon, &steps));
  for (PetscInt s = 0; s < steps; s++) {
    PetscCall(MuonStep(muon));
    PetscCall(MuonGetLoss(muon, &loss));
    if (s < 2) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "step %3" PetscInt_FMT " loss %.5f\n", s + 1, (double)loss));
  }
  PetscCall(ComputeError(&f, &error));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "step %3" PetscInt_FMT " loss %.1e, largest error %.1e\n", steps, (double)loss, (double)error));

  PetscCall(MuonDestroy(&muon));
  PetscCall(MLPDestroy(&f.net));
  PetscCall(PetscFree4(f.where, f.X, f.Y, f.dY));
  PetscCall(VecDestroy(&f.field));
  PetscCall(DMDestroy(&f.da));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: README.md
    # the last line is where roundings have grown
    filter: awk '{print /error/ ? $1 " " $2 " " ($4 + 0 < 1e-4 && $7 + 0 < 0.1 ? "loss and error are small" : $0) : $0}'
    filter_output: awk '{print /error/ ? $1 " " $2 " " ($4 + 0 < 1e-4 && $7 + 0 < 0.1 ? "loss and error are small" : $0) : $0}'
    tolerance: 1e-3
    table: suffix | nsize
      text | 3
      one  |
    test:
      suffix: unweighted
      nsize: 3
      args: -field_weights 0

TEST*/
