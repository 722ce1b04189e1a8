static char help[] = "Weights for inference: a network is trained, its weights are written by the viewers of PETSc, and numpy reads them without PETSc, see infer.py.\n\n"
                     "  mpiexec -n 2 ./weights -weights_file sine.bin && python3 infer.py sine.bin\n\n";

#include "mlp.h"

#define SAMPLES 60 /* of all ranks together */

typedef struct {
  MLP         net;
  PetscInt    n;
  PetscScalar x[SAMPLES], dy[SAMPLES];
} Sine;

static PetscErrorCode FormLossAndGradient(Muon muon, PetscReal *loss, void *ctx)
{
  Sine              *sine = (Sine *)ctx;
  const PetscScalar *y;

  PetscFunctionBeginUser;
  PetscCall(MLPForward(&sine->net, sine->n, 1, sine->x, &y));
  *loss = 0;
  for (PetscInt i = 0; i < sine->n; i++) {
    const PetscReal e = PetscRealPart(y[i]) - PetscSinReal(3 * PetscRealPart(sine->x[i]));

    *loss += e * e / (PetscReal)sine->n;
    sine->dy[i] = 2 * e / (PetscReal)sine->n;
  }
  PetscCall(MLPBackward(&sine->net, sine->dy, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   All weights of an optimizer in the order of its layers. They are the same on all ranks, and one rank writes
   them
*/
static PetscErrorCode SaveWeights(Muon muon, const char file[])
{
  PetscMPIInt rank;
  PetscInt    layers;
  PetscViewer viewer;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)muon), &rank));
  if (rank != 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_SELF, file, FILE_MODE_WRITE, &viewer));
  PetscCall(PetscViewerPushFormat(viewer, PETSC_VIEWER_NATIVE)); /* dense matrices as such, not as sparse ones that are full */
  PetscCall(MuonGetNumLayers(muon, &layers));
  for (PetscInt l = 0; l < layers; l++) {
    MuonLayer        layer;
    MuonLayerStorage storage;
    Mat              W;
    Vec              w;

    PetscCall(MuonGetLayer(muon, l, &layer));
    PetscCall(MuonLayerGetStorage(layer, &storage));
    if (storage == MUON_LAYER_VEC) {
      PetscCall(MuonLayerGetWeightsVec(layer, &w));
      PetscCall(VecView(w, viewer));
    } else {
      PetscCall(MuonLayerGetWeights(layer, &W));
      PetscCall(MatView(W, viewer));
    }
  }
  PetscCall(PetscViewerPopFormat(viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt     width[]                  = {1, 16, 16, 1};
  char               file[PETSC_MAX_PATH_LEN] = "weights.bin";
  PetscScalar        x[3]                     = {(PetscReal)-0.5, (PetscReal)0.25, (PetscReal)0.75};
  const PetscScalar *y;
  PetscMPIInt        size, rank;
  Sine               sine;
  Muon               muon;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCheck(SAMPLES % size == 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_SIZ, "%d samples cannot be shared equally by %d ranks", SAMPLES, size);
  PetscCall(PetscOptionsGetString(NULL, NULL, "-weights_file", file, sizeof(file), NULL));
  sine.n = SAMPLES / size;
  for (PetscInt i = 0; i < sine.n; i++) sine.x[i] = (2 * (PetscReal)(rank + i * size) + 1) / SAMPLES - 1;

  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(MLPCreate(muon, "sine", 3, width, 1, &sine.net));
  PetscCall(MuonSetObjectiveAndGradient(muon, FormLossAndGradient, &sine));
  PetscCall(MuonSetType(muon, MUONDENSE));
  PetscCall(MuonSetLayerTypes(muon, "*.b?:adamw,sine.W0:adamw,sine.W2:adamw"));
  PetscCall(MuonSetLearningRate(muon, (PetscReal)0.05));
  PetscCall(MuonSetAdamW(muon, (PetscReal)0.01, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSetSchedule(muon, MUON_SCHEDULE_LINEAR, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSetMaxSteps(muon, 200));
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonSolve(muon));
  PetscCall(SaveWeights(muon, file));
  PetscCall(MLPForward(&sine.net, 3, 1, x, &y));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "PETSc:"));
  for (PetscInt i = 0; i < 3; i++) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " sine(%.2f) = %.3f", (double)PetscRealPart(3 * x[i]), (double)PetscRealPart(y[i])));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));

  PetscCall(MuonDestroy(&muon));
  PetscCall(MLPDestroy(&sine.net));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  # numpy reads the file, and the last line says whether it gets the same
  testset:
    output_file: README.md
    requires: numpy
    tolerance: 5e-2
    test:
      suffix: text
      requires: double
      filter: { cat; ${NUMPY_PYTHON3} ${PETSCMUON_DIR}/tutorials/science/infer.py weights.bin; } | awk '{print; sub("^.*:", ""); said[NR] = $0} END {print said[1] == said[2] ? "they agree" : "they differ"}'
    test:
      suffix: single
      requires: single
      filter: { cat; ${NUMPY_PYTHON3} ${PETSCMUON_DIR}/tutorials/science/infer.py weights.bin single; } | awk '{print; sub("^.*:", ""); said[NR] = $0} END {print said[1] == said[2] ? "they agree" : "they differ"}'

TEST*/
