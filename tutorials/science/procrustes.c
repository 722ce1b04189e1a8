static char help[] = "A matrix as the unknown, without a network: the orthogonal Q that takes the points A to the points B best, min |A Q - B|. Each rank has points of its own and sees no others.\n"
                     "The exact answer is known, the polar factor of the sum over ranks of A^T B, and the steps are held to it.\n\n"
                     "  mpiexec -n 3 ./procrustes -muon_type ef21 -ef21_compressor qsgd -ef21_server_compressor qsgd\n\n";

#include <petscmuon.h>

#define N      12
#define POINTS 60 /* of each rank */

typedef struct {
  MuonLayer layer;
  Mat       A, B;
} Points;

/*
   B = A Q + noise, with Q two reflections one after the other, which is a rotation; numbers without files,
   the same everywhere
*/
static PetscErrorCode CreatePoints(PetscMPIInt rank, Points *p)
{
  PetscScalar *a, *b;

  PetscFunctionBeginUser;
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, POINTS, N, NULL, &p->A));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, POINTS, N, NULL, &p->B));
  PetscCall(MatDenseGetArrayWrite(p->A, &a));
  PetscCall(MatDenseGetArrayWrite(p->B, &b));
  for (PetscInt i = 0; i < POINTS; i++) {
    for (PetscInt j = 0; j < N; j++) b[i + j * POINTS] = a[i + j * POINTS] = PetscSinReal((PetscReal)((i + 1 + POINTS * rank) * (j * j + 3) % 1009));
    for (PetscInt k = 0; k < 2; k++) {
      PetscScalar along = 0, square = 0;

      for (PetscInt j = 0; j < N; j++) {
        const PetscReal v = (PetscReal)(k == 0 ? j + 1 : N - 2 * j);

        along += b[i + j * POINTS] * v;
        square += v * v;
      }
      for (PetscInt j = 0; j < N; j++) b[i + j * POINTS] -= 2 * along / square * (PetscReal)(k == 0 ? j + 1 : N - 2 * j);
    }
    for (PetscInt j = 0; j < N; j++) b[i + j * POINTS] += (PetscReal)0.3 * PetscCosReal((PetscReal)((7 * i + 5 * j * j + 11 * rank) % 503));
  }
  PetscCall(MatDenseRestoreArrayWrite(p->B, &b));
  PetscCall(MatDenseRestoreArrayWrite(p->A, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   f = |A Q - B|^2 / (2 POINTS), with gradient G = A^T (A Q - B) / POINTS. Of G only G - Q sym(Q^T G) turns Q;
   the rest would stretch it
*/
static PetscErrorCode FormLossAndGradient(Muon muon, PetscReal *loss, void *ctx)
{
  Points   *p = (Points *)ctx;
  PetscReal norm;
  Mat       Q, G, R, H, S, T;

  PetscFunctionBeginUser;
  PetscCall(MuonLayerGetWeights(p->layer, &Q));
  PetscCall(MuonLayerGetGradient(p->layer, &G));
  PetscCall(MatMatMult(p->A, Q, MAT_INITIAL_MATRIX, 1, &R));
  PetscCall(MatAXPY(R, -1, p->B, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(R, NORM_FROBENIUS, &norm));
  *loss = norm * norm / (2 * POINTS);
  PetscCall(MatTransposeMatMult(p->A, R, MAT_INITIAL_MATRIX, 1, &H));
  PetscCall(MatScale(H, 1 / (PetscScalar)POINTS));
  PetscCall(MatTransposeMatMult(Q, H, MAT_INITIAL_MATRIX, 1, &S));
  PetscCall(MatTransposeMatMult(H, Q, MAT_INITIAL_MATRIX, 1, &T));
  PetscCall(MatAXPY(S, 1, T, SAME_NONZERO_PATTERN));
  PetscCall(MatDestroy(&T));
  PetscCall(MatMatMult(Q, S, MAT_INITIAL_MATRIX, 1, &T));
  PetscCall(MatCopy(H, G, SAME_NONZERO_PATTERN));
  PetscCall(MatAXPY(G, -0.5, T, SAME_NONZERO_PATTERN));
  PetscCall(MatDestroy(&R));
  PetscCall(MatDestroy(&H));
  PetscCall(MatDestroy(&S));
  PetscCall(MatDestroy(&T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The exact answer, which asks for a sum over all ranks */
static PetscErrorCode Solve(const Points *p, MuonPolar polar, Mat Q)
{
  PetscScalar *c;
  Mat          C;

  PetscFunctionBeginUser;
  PetscCall(MatTransposeMatMult(p->A, p->B, MAT_INITIAL_MATRIX, 1, &C));
  PetscCall(MatDenseGetArray(C, &c));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, c, N * N, MPIU_SCALAR, MPIU_SUM, PETSC_COMM_WORLD));
  PetscCall(MatDenseRestoreArray(C, &c));
  PetscCall(MuonPolarApply(polar, C, Q, NULL));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Points      p;
  PetscInt    steps;
  PetscMPIInt rank;
  PetscReal   loss, distance;
  Mat         Q, D, exact;
  MuonPolar   polar;
  Muon        muon;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(CreatePoints(rank, &p));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, N, N, NULL, &Q));
  PetscCall(MatZeroEntries(Q));
  PetscCall(MatShift(Q, 1));
  PetscCall(MatDuplicate(Q, MAT_COPY_VALUES, &D));
  PetscCall(MatDuplicate(Q, MAT_COPY_VALUES, &exact));
  PetscCall(MuonPolarCreate(PETSC_COMM_SELF, &polar));
  PetscCall(MuonPolarSetType(polar, MUONPOLARSVD));
  PetscCall(Solve(&p, polar, exact));

  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(MuonAddLayer(muon, "Q", Q, &p.layer));
  PetscCall(MuonSetObjectiveAndGradient(muon, FormLossAndGradient, &p));
  PetscCall(MuonSetType(muon, MUONDENSE));
  PetscCall(MuonSetLearningRate(muon, (PetscReal)0.1));
  PetscCall(MuonSetSchedule(muon, MUON_SCHEDULE_LINEAR, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSetMomentum(muon, 0, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
  PetscCall(MuonSetMaxSteps(muon, 100));
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonGetMaxSteps(muon, &steps));
  for (PetscInt s = 0; s < steps; s++) {
    PetscCall(MuonStep(muon));
    /* Back to the orthogonal matrices, on every rank alike; who changes weights says so */
    PetscCall(MatCopy(Q, D, SAME_NONZERO_PATTERN));
    PetscCall(MuonPolarApply(polar, D, Q, NULL));
    PetscCall(MuonWeightsChanged(muon));
    PetscCall(MatAYPX(D, 0, Q, SAME_NONZERO_PATTERN));
    PetscCall(MatAXPY(D, -1, exact, SAME_NONZERO_PATTERN));
    PetscCall(MatNorm(D, NORM_FROBENIUS, &distance));
    PetscCall(MuonGetLoss(muon, &loss));
    if (s == 0 || (s + 1) % 25 == 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "step %3" PetscInt_FMT " loss %.4f, distance from the exact answer %.4f\n", s + 1, (double)loss, (double)distance));
  }

  PetscCall(MuonDestroy(&muon));
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(MatDestroy(&exact));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&Q));
  PetscCall(MatDestroy(&p.A));
  PetscCall(MatDestroy(&p.B));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  # roundings, at random or not, are on the way; where it ends is the exact answer
  testset:
    nsize: 3
    output_file: README.md
    tolerance: 1e-3
    filter: awk 'END {print $1, $2, $4, $NF < 0.01 ? "near" : $0}'
    filter_output: awk 'END {print $1, $2, $4, $NF < 0.01 ? "near" : $0}'
    table: suffix | args
      text |
      qsgd | -muon_type ef21 -ef21_compressor qsgd -ef21_server_compressor qsgd

TEST*/
