static char help[] = "EF21-Muon with compressors in both directions: the workers of a least-squares problem that none of them knows whole, and what each compressor sends.\n\n"
                     "Worker j draws the matrix to its own target T_j. Its gradient is not zero at the solution, the mean of the targets: without error feedback a compressor\n"
                     "would not get there. Each row of the table is a run; bytes are those of the messages sent, also over 4 bytes an entry in each direction\n"
                     "(identity sends native scalars, which are of 8 bytes in double precision).\n\n"
                     "  mpiexec -n 4 ./ex3 -muon_max_steps 1000 -ef21_compressor_ratio 0.02\n\n";

#include <petscmuon.h>

#define ROWS    48
#define COLUMNS 32

typedef struct {
  const char          *label;
  MuonCompressorType   type;
  PetscReal            ratio;
  MuonCompressorValues values;
} Choice;

static const Choice choices[] = {{"identity", MUONCOMPRESSORIDENTITY, 1, MUON_COMPRESSOR_VALUES_NATIVE},
                                 {"natural", MUONCOMPRESSORNATURAL, 1, MUON_COMPRESSOR_VALUES_SINGLE},
                                 {"qsgd 4 bits", MUONCOMPRESSORQSGD, 1, MUON_COMPRESSOR_VALUES_SINGLE},
                                 {"sign", MUONCOMPRESSORSIGN, 1, MUON_COMPRESSOR_VALUES_SINGLE},
                                 {"topk 10%", MUONCOMPRESSORTOPK, (PetscReal)0.1, MUON_COMPRESSOR_VALUES_SINGLE},
                                 {"topk 10% natural", MUONCOMPRESSORTOPK, (PetscReal)0.1, MUON_COMPRESSOR_VALUES_NATURAL},
                                 {"rankk 3 of 32", MUONCOMPRESSORRANKK, (PetscReal)0.094, MUON_COMPRESSOR_VALUES_SINGLE}};

typedef struct {
  MuonLayer layer;
  Mat       T, mean; /* target of this worker, and the solution */
} Problem;

/* Every worker's target is a common smooth matrix and one of its own */
static PetscErrorCode CreateTargets(Problem *p)
{
  PetscMPIInt  size, rank;
  PetscScalar *t, *mean;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, ROWS, COLUMNS, NULL, &p->T));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, ROWS, COLUMNS, NULL, &p->mean));
  PetscCall(MatDenseGetArrayWrite(p->T, &t));
  PetscCall(MatDenseGetArrayWrite(p->mean, &mean));
  for (PetscInt e = 0; e < ROWS * COLUMNS; e++) {
    const PetscReal i = (PetscReal)(e % ROWS), j = (PetscReal)(e / ROWS); /* column-major */

    mean[e] = 0;
    for (PetscMPIInt r = 0; r < size; r++) {
      const PetscReal target = PetscSinReal((PetscReal)0.2 * i * (1 + (PetscReal)0.1 * j)) / 4 + PetscCosReal((i + 2 * j + 1) * (r + 1)) / 2;

      mean[e] += target / size;
      if (r == rank) t[e] = target;
    }
  }
  PetscCall(MatDenseRestoreArrayWrite(p->mean, &mean));
  PetscCall(MatDenseRestoreArrayWrite(p->T, &t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* f_j(W) = |W - T_j|^2 / 2 */
static PetscErrorCode FormLossAndGradient(Muon muon, PetscReal *loss, void *ctx)
{
  Problem  *p = (Problem *)ctx;
  Mat       W, G;
  PetscReal norm;

  PetscFunctionBeginUser;
  PetscCall(MuonLayerGetWeights(p->layer, &W));
  PetscCall(MuonLayerGetGradient(p->layer, &G));
  PetscCall(MatCopy(W, G, SAME_NONZERO_PATTERN));
  PetscCall(MatAXPY(G, -1, p->T, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(G, NORM_FROBENIUS, &norm));
  *loss = norm * norm / 2;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One run from W = 0; distance is that from the solution, over its norm */
static PetscErrorCode Run(const Choice *choice, Problem *p, PetscReal *distance, MuonTraffic *traffic, PetscInt *steps)
{
  Muon           muon;
  MuonCompressor c;
  Mat            W;
  PetscReal      norm;

  PetscFunctionBeginUser;
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, ROWS, COLUMNS, NULL, &W));
  PetscCall(MatZeroEntries(W));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(MuonAddLayer(muon, "w", W, &p->layer));
  PetscCall(MuonSetObjectiveAndGradient(muon, FormLossAndGradient, p));
  PetscCall(MuonSetType(muon, MUONEF21));
  PetscCall(MuonSetLearningRate(muon, (PetscReal)0.2));
  PetscCall(MuonSetSchedule(muon, MUON_SCHEDULE_LINEAR, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSetMomentum(muon, 0, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT)); /* exact gradients need no averaging */
  PetscCall(MuonSetMaxSteps(muon, 300));
  for (PetscInt direction = 0; direction < 2; direction++) {
    if (direction == 0) PetscCall(MuonGetLayerCompressors(muon, NULL, &c, NULL));
    else PetscCall(MuonGetLayerCompressors(muon, NULL, NULL, &c));
    PetscCall(MuonCompressorSetType(c, choice->type));
    PetscCall(MuonCompressorSetRatio(c, choice->ratio));
    PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_values", MuonCompressorValuesTypes[choice->values]));
  }
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonSolve(muon));
  PetscCall(MuonGetTraffic(muon, traffic));
  PetscCall(MuonGetStepNumber(muon, steps));
  PetscCall(MatNorm(p->mean, NORM_FROBENIUS, &norm));
  PetscCall(MatAXPY(W, -1, p->mean, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(W, NORM_FROBENIUS, distance));
  *distance /= norm;
  PetscCall(MuonDestroy(&muon));
  PetscCall(MatDestroy(&W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Problem p;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(CreateTargets(&p));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-18s %9s %11s %11s %8s %8s\n", "both directions", "distance", "bytes up", "bytes down", "of fp32", "of fp32"));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(choices); i++) {
    PetscReal      distance;
    PetscInt       steps;
    MuonTraffic    traffic;
    PetscLogDouble dense, up, down;

    /* What a rank sent as a worker and what it received from the servers; all ranks have the same here */
    PetscCall(Run(&choices[i], &p, &distance, &traffic, &steps));
    dense = traffic.dense * (PetscLogDouble)steps;
    up    = traffic.total_up[MUON_TRAFFIC_ENCODED];
    down  = traffic.total_down[MUON_TRAFFIC_ENCODED];
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-18s %9.4f %11.0f %11.0f %8.4f %8.4f\n", choices[i].label, (double)distance, up / 8, down / 8, up / dense, down / dense));
  }
  PetscCall(MatDestroy(&p.T));
  PetscCall(MatDestroy(&p.mean));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  test:
    suffix: check
    # identity sends native scalars; signs are of real numbers
    requires: double !complex
    nsize: {{1 3}separate output}
    # distances depend on the last bits of the singular vectors, and the length of a message on what it says; how near they come and what part of a matrix is sent hardly do
    filter: awk '{if (NR > 1) {$(NF - 4) = $(NF - 4) < 0.03 ? "near" : "far"; $(NF - 3) = $(NF - 2) = "bytes"; $(NF - 1) = sprintf("%.2f", $(NF - 1)); $NF = sprintf("%.2f", $NF)} print}'

TEST*/
