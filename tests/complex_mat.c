static char help[] = "A PETSc of complex scalars: matrices, vectors and parts of a vector take the steps of complex arrays to the bit; LMO, polar factor and compressor of a matrix; what is refused.\n";

#include <petscmuon.h>
#include "fails.h"
#include "number_common.h"

enum {
  M      = 5,
  N      = 3,
  LAYERS = 3 /* a matrix, a vector, a row-major part of another vector */
};

static const char *const Names[LAYERS] = {"matrix", "vector", "part"};

/* Real and imaginary part of a number in the square of side 2 around 0 */
static PetscScalar Number(PetscInt a, PetscInt b, PetscInt c)
{
  const PetscReal re = (PetscReal)(TestHash((uint32_t)a, (uint32_t)b, (uint32_t)c, 1) % 4096) / 2048 - 1, im = (PetscReal)(TestHash((uint32_t)a, (uint32_t)b, (uint32_t)c, 2) % 4096) / 2048 - 1;

  return PetscCMPLX(re, im);
}

typedef struct {
  Muon         muon;
  PetscBool    arrays; /* memory that is not PETSc's, in the same layout */
  MuonLayer    layer[LAYERS];
  PetscScalar *w[LAYERS];
  Mat          W;
  Vec          v, both, gradient;
  PetscMPIInt  rank;
} Run;

static PetscInt Entries(PetscInt l)
{
  return l == 1 ? M : M * N;
}

static PetscErrorCode Gradient(const Run *run, PetscInt l, PetscScalar g[])
{
  PetscFunctionBegin;
  for (PetscInt e = 0; e < Entries(l); e++) g[e] = (PetscReal)(1 + e % 3) * (run->w[l][e] - Number(l, e, run->rank));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  Run         *run = (Run *)ctx;
  PetscScalar *g;

  PetscFunctionBegin;
  *loss = 0;
  for (PetscInt l = 0; l < LAYERS; l++) {
    if (run->arrays) {
      MuonLayerArray array;

      PetscCall(MuonLayerGetGradientArray(run->layer[l], &array));
      PetscCall(Gradient(run, l, (PetscScalar *)array.w));
    } else if (l == 0) {
      Mat G;

      PetscCall(MuonLayerGetGradient(run->layer[l], &G));
      PetscCall(MatDenseGetArray(G, &g));
      PetscCall(Gradient(run, l, g));
      PetscCall(MatDenseRestoreArray(G, &g));
    } else {
      Vec G = run->gradient;

      if (l == 1) PetscCall(MuonLayerGetGradientVec(run->layer[l], &G));
      PetscCall(VecGetArray(G, &g));
      PetscCall(Gradient(run, l, g));
      PetscCall(VecRestoreArray(G, &g));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(PetscBool arrays, Run *run)
{
  const PetscInt  m = M, n = N;
  const PetscBool rowmajor = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(run, sizeof(*run)));
  run->arrays = arrays;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &run->rank));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &run->muon));
  for (PetscInt l = 0; l < LAYERS; l++) {
    PetscCall(PetscMalloc1(Entries(l), &run->w[l]));
    for (PetscInt e = 0; e < Entries(l); e++) run->w[l][e] = Number(l, e, 77);
  }
  if (arrays) {
    for (PetscInt l = 0; l < LAYERS; l++) {
      MuonLayerArray array;

      PetscCall(MuonLayerArrayInitialize(&array));
      array.type     = PETSC_REAL;
      array.field    = MUON_FIELD_COMPLEX;
      array.M        = M;
      array.N        = l == 1 ? 1 : N;
      array.rowmajor = l == 2 ? PETSC_TRUE : PETSC_FALSE;
      array.ld       = l == 2 ? N : M;
      array.w        = run->w[l];
      PetscCall(MuonAddLayerArray(run->muon, Names[l], &array, &run->layer[l]));
    }
  } else {
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, M, N, run->w[0], &run->W));
    PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, M, run->w[1], &run->v));
    PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, M * N, run->w[2], &run->both));
    PetscCall(MuonAddLayer(run->muon, Names[0], run->W, &run->layer[0]));
    PetscCall(MuonAddVecLayer(run->muon, Names[1], run->v, &run->layer[1]));
    PetscCall(VecDuplicate(run->both, &run->gradient));
    PetscCall(MuonAddVecLayers(run->muon, run->both, run->gradient, 1, &Names[2], &m, &n, &rowmajor));
    PetscCall(MuonGetLayerByName(run->muon, Names[2], &run->layer[2]));
  }
  PetscCall(MuonSetObjectiveAndGradient(run->muon, Objective, run));
  PetscCall(MuonSetFromOptions(run->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(Run *run)
{
  PetscFunctionBegin;
  PetscCall(MuonDestroy(&run->muon));
  PetscCall(MatDestroy(&run->W));
  PetscCall(VecDestroy(&run->v));
  PetscCall(VecDestroy(&run->both));
  PetscCall(VecDestroy(&run->gradient));
  for (PetscInt l = 0; l < LAYERS; l++) PetscCall(PetscFree(run->w[l]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The point of a norm ball attains minus the dual norm, a polar factor has orthonormal columns, a message of all entries is the matrix */
static PetscErrorCode Objects(void)
{
  Mat            A, D, Q;
  MuonLMO        lmo;
  MuonPolar      polar;
  MuonCompressor c;
  PetscScalar   *a, *d, sum = 0, one;
  PetscReal      value, size;
  MuonStatus     status;
  unsigned char *message;
  size_t         bytes, most;

  PetscFunctionBegin;
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, M, N, NULL, &A));
  PetscCall(MatDenseGetArray(A, &a));
  for (PetscInt e = 0; e < M * N; e++) a[e] = Number(9, e, 9);
  PetscCall(MatDenseRestoreArray(A, &a));
  PetscCall(MatDuplicate(A, MAT_DO_NOT_COPY_VALUES, &D));
  PetscCall(MatDuplicate(A, MAT_DO_NOT_COPY_VALUES, &Q));
  PetscCall(MuonLMOCreate(PETSC_COMM_SELF, &lmo));
  PetscCall(MuonLMOSetFromOptions(lmo));
  PetscCall(MuonLMOApply(lmo, A, D, &value, &status));
  PetscCheck(status == MUON_STATUS_OK, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Status %d of the LMO", (int)status);
  PetscCall(MatDenseGetArray(A, &a));
  PetscCall(MatDenseGetArray(D, &d));
  for (PetscInt e = 0; e < M * N; e++) sum += PetscConj(a[e]) * d[e];
  PetscCall(MatDenseRestoreArray(D, &d));
  PetscCall(MatDenseRestoreArray(A, &a));
  /* <A, D> is minus the dual norm and real: a sum of M N products */
  PetscCheck(PetscAbsScalar(sum + value) <= 100 * M * N * PETSC_MACHINE_EPSILON * value, PETSC_COMM_SELF, PETSC_ERR_PLIB, "<A, D> is %g + %g i, expected %g", (double)PetscRealPart(sum), (double)PetscImaginaryPart(sum), (double)-value);
  PetscCall(MuonLMOComputeNorm(lmo, D, &size));
  PetscCheck(size <= 1 + 100 * M * N * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The point has the norm %g", (double)size);
  PetscCall(MuonPolarCreate(PETSC_COMM_SELF, &polar));
  PetscCall(MuonPolarSetFromOptions(polar));
  PetscCall(MuonPolarApply(polar, A, Q, &status));
  PetscCall(MatDenseGetArray(Q, &d));
  for (PetscInt i = 0; i < N; i++) {
    for (PetscInt j = 0; j < N; j++) {
      one = 0;
      for (PetscInt k = 0; k < M; k++) one += PetscConj(d[k + i * M]) * d[k + j * M];
      PetscCheck(PetscAbsScalar(one - (PetscReal)(i == j)) <= 100 * M * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Q^H Q has %g + %g i at (%d,%d)", (double)PetscRealPart(one), (double)PetscImaginaryPart(one), (int)i, (int)j);
    }
  }
  PetscCall(MatDenseRestoreArray(Q, &d));
  PetscCall(MuonPolarSetType(polar, MUONPOLARMUD));
  Fails(MuonPolarApply(polar, A, Q, &status), PETSC_ERR_SUP, "mud is of real matrices");
  /* All entries, kept as they are, come back */
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, &c));
  PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORTOPK));
  PetscCall(MuonCompressorSetRatio(c, 1));
  PetscCall(MuonCompressorGetMaxBytes(c, M, N, &most));
  PetscCall(PetscMalloc1(most, &message));
  PetscCall(MuonCompressorEncode(c, A, NULL, most, message, &bytes));
  PetscCall(MuonCompressorDecode(c, PETSC_FALSE, 1, bytes, message, D));
  PetscCall(MatAXPY(D, -1, A, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(D, NORM_FROBENIUS, &size));
  PetscCheck(size == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A message of all entries differs by %g", (double)size);
  PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORSIGN));
  Fails(MuonCompressorEncode(c, A, NULL, most, message, &bytes), PETSC_ERR_SUP, "-compressor sign is of real matrices, and this one is complex, expected");
  PetscCall(PetscFree(message));
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(MuonLMODestroy(&lmo));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&Q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Run       run[2];
  PetscBool objects = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-objects", &objects, NULL));
  if (objects) PetscCall(Objects());
  else {
    for (int k = 0; k < 2; k++) {
      PetscCall(Create(k == 0 ? PETSC_TRUE : PETSC_FALSE, &run[k]));
      PetscCall(MuonSolve(run[k].muon));
    }
    for (PetscInt l = 0; l < LAYERS; l++) {
      PetscReal moved = 0;

      for (PetscInt e = 0; e < Entries(l); e++) {
        moved = PetscMax(moved, PetscAbsScalar(run[0].w[l][e] - Number(l, e, 77)));
        PetscCheck(run[0].w[l][e] == run[1].w[l][e], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %s, entry %" PetscInt_FMT ": %g + %g i, as an array %g + %g i", Names[l], e, (double)PetscRealPart(run[1].w[l][e]),
                   (double)PetscImaginaryPart(run[1].w[l][e]), (double)PetscRealPart(run[0].w[l][e]), (double)PetscImaginaryPart(run[0].w[l][e]));
      }
      PetscCheck(moved > 1e-3, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %s did not move", Names[l]);
    }
    for (int k = 0; k < 2; k++) PetscCall(Destroy(&run[k]));
  }
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  build:
    requires: complex

  testset:
    nsize: {{1 2 3}}
    args: -muon_max_steps 6 -muon_learning_rate 0.1
    table: suffix | args
      dense     | -muon_type dense -lmo_polar_type {{zolotarev newtonschulz gram qdwh svd}}
      norms     | -muon_type dense -lmo_type {{frobenius max l1 colsum nuclear}}
      adamw     | -muon_type dense -muon_layer_type adamw -muon_adamw_learning_rate 0.1
      topk      | -muon_type ef21 -ef21_compressor topk -ef21_compressor_ratio 0.4 -ef21_server_compressor {{qsgd natural}}
      rankk     | -muon_type ef21 -ef21_compressor rankk -ef21_compressor_rank 1
      ef14      | -muon_type ef14 -ef14_compressor topk -ef14_compressor_ratio 0.4
      local     | -muon_type local -local_steps 3

  testset:
    args: -objects -lmo_polar_type svd
    table: suffix | args
      objects   | -lmo_type {{spectral frobenius max l1 nuclear}}

TEST*/
