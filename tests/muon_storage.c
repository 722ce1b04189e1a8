static char help[] = "Weights spread over the ranks of workers take the steps of whole ones, for every assembly, exchange and rule; a compressor acts on the rows of a rank as on a layer of their own.\n\n";

#include <petscmuon.h>
#include <math.h>

typedef struct {
  const char *name, *norm, *polar, *rule;
  PetscInt    m, n, nblocks, block[3];
  enum {
    MATRIX,
    VECTOR,
    ROWMAJOR_SINGLE,
    ROWMAJOR_DOUBLE
  } kind;
} Shape;

/* More ranks than rows, one entry, blocks that straddle ranks, rules without an oracle */
static const Shape Shapes[] = {
  {"spectral", MUONLMOSPECTRAL, MUONPOLARSVD, MUONLAYERLMO, 7, 5, 1, {0}, MATRIX},
  {"polar", MUONLMOSPECTRAL, MUONPOLARQDWH, MUONLAYERLMO, 4, 9, 1, {0}, MATRIX},
  {"nuclear", MUONLMONUCLEAR, NULL, MUONLAYERLMO, 5, 6, 1, {0}, MATRIX},
  {"blocks", MUONLMOSPECTRAL, MUONPOLARSVD, MUONLAYERLMO, 9, 4, 3, {2, 4, 3}, MATRIX},
  {"max", MUONLMOMAX, NULL, MUONLAYERLMO, 1, 1, 1, {0}, MATRIX},
  {"column", MUONLMOCOLUMN, NULL, MUONLAYERLMO, 2, 3, 1, {0}, MATRIX},
  {"bias", MUONLMOFROBENIUS, NULL, MUONLAYERADAMW, 8, 1, 1, {0}, VECTOR},
  {"gain", MUONLMOFROBENIUS, NULL, MUONLAYERLMO, 5, 1, 1, {0}, VECTOR},
  {"head", MUONLMOROW, NULL, MUONLAYERLMO, 6, 5, 1, {0}, ROWMAJOR_SINGLE},
  {"tail", MUONLMOSPECTRAL, MUONPOLARSVD, MUONLAYERLMO, 6, 4, 1, {0}, ROWMAJOR_DOUBLE},
  {"plain", MUONLMOMAX, NULL, MUONLAYERSGD, 4, 4, 1, {0}, MATRIX},
};
enum {
  NLAYERS = PETSC_STATIC_ARRAY_LENGTH(Shapes),
  STEPS   = 3
};

/*
   How a run is spread: ranks of a worker of each layer, whether each rank gives a whole gradient, and said
   early
*/
typedef struct {
  PetscMPIInt ranks[NLAYERS];
  PetscBool   whole, ready, rows;
} Spread;

typedef struct {
  Muon        muon;
  MuonLayer   layer[NLAYERS];
  PetscInt    first[NLAYERS], rows[NLAYERS];
  PetscMPIInt worker[NLAYERS], nworkers[NLAYERS], position[NLAYERS];
  void       *w[NLAYERS];
  Spread      spread;
  PetscBool   alone; /* one rank that has the mean of all workers' gradients */
  PetscMPIInt badrank;
  PetscInt    badstep;
} Run;

static double Number(PetscInt a, PetscInt b, PetscInt c, PetscInt d, PetscInt e)
{
  return sin(1.0 + 3.1 * (double)a + 1.7 * (double)b + 0.9 * (double)c + 2.3 * (double)d + 0.37 * (double)(b * c) + 5.3 * (double)e);
}

static double Get(const Run *run, PetscInt l, const void *w, PetscInt i, PetscInt j, PetscInt rows)
{
  if (Shapes[l].kind == ROWMAJOR_SINGLE) return (double)((const float *)w)[i * Shapes[l].n + j];
  if (Shapes[l].kind == ROWMAJOR_DOUBLE) return ((const double *)w)[i * Shapes[l].n + j];
  return (double)PetscRealPart(((const PetscScalar *)w)[j * rows + i]);
}

static void Set(PetscInt l, void *w, PetscInt i, PetscInt j, PetscInt rows, double value)
{
  if (Shapes[l].kind == ROWMAJOR_SINGLE) ((float *)w)[i * Shapes[l].n + j] = (float)value;
  else if (Shapes[l].kind == ROWMAJOR_DOUBLE) ((double *)w)[i * Shapes[l].n + j] = value;
  else ((PetscScalar *)w)[j * rows + i] = (PetscScalar)value;
}

/* Of a worker, or the mean of all; of one rank of a worker, what the others have too much or too little */
static double Gradient(const Run *run, PetscInt l, PetscInt i, PetscInt j, PetscInt step)
{
  double g = 0;

  for (PetscMPIInt k = 0; k < run->nworkers[l]; k++) {
    if (run->alone || k == run->worker[l]) g += Number(l, i, j, step, k + 1) / (run->alone ? run->nworkers[l] : 1);
  }
  if (run->spread.whole && run->spread.ranks[l] > 1) g += ((double)run->position[l] - ((double)run->spread.ranks[l] - 1) / 2) * Number(l, j, i, step, 0);
  return g;
}

static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  Run     *run = (Run *)ctx;
  PetscInt step;

  PetscFunctionBegin;
  PetscCall(MuonGetStepNumber(muon, &step));
  for (PetscInt l = NLAYERS - 1; l >= 0; l--) {
    const PetscBool whole = run->spread.rows || (run->spread.whole && run->spread.ranks[l] > 1) ? PETSC_TRUE : PETSC_FALSE;
    const PetscInt  first = whole ? 0 : run->first[l], rows = whole ? Shapes[l].m : run->rows[l];
    MuonLayerArray  array;
    PetscScalar    *g;
    void           *data;
    Mat             G = NULL;
    Vec             v = NULL;

    if (Shapes[l].kind == MATRIX) {
      PetscCall(MuonLayerGetGradient(run->layer[l], &G));
      PetscCall(MatDenseGetArray(G, &g));
      data = g;
    } else if (Shapes[l].kind == VECTOR) {
      PetscCall(MuonLayerGetGradientVec(run->layer[l], &v));
      PetscCall(VecGetArray(v, &g));
      data = g;
    } else {
      PetscCall(MuonLayerGetGradientArray(run->layer[l], &array));
      PetscCheck(array.rows == rows && array.first == first, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a gradient of %" PetscInt_FMT " rows", Shapes[l].name, array.rows);
      data = array.w;
    }
    for (PetscInt i = 0; i < rows; i++) {
      for (PetscInt j = 0; j < Shapes[l].n; j++) Set(l, data, i, j, rows, Gradient(run, l, first + i, j, step));
    }
    if (run->badrank >= 0 && run->badstep == step && rows > 0 && l == 0) {
      PetscMPIInt rank;

      PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
      if (rank == run->badrank) Set(l, data, 0, 0, rows, NAN);
    }
    if (G != NULL) PetscCall(MatDenseRestoreArray(G, &g));
    if (v != NULL) PetscCall(VecRestoreArray(v, &g));
    if (run->spread.ready) PetscCall(MuonLayerGradientReady(run->layer[l]));
  }
  *loss = (PetscReal)(step + 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunAddLayer(Run *run, PetscInt l, MPI_Comm comm)
{
  const PetscInt m = Shapes[l].m, n = Shapes[l].n;
  PetscScalar   *w;
  Mat            W;
  Vec            v;

  PetscFunctionBegin;
  switch (Shapes[l].kind) {
  case MATRIX:
    PetscCall(MatCreateDense(comm, PETSC_DECIDE, PETSC_DECIDE, m, n, NULL, &W));
    PetscCall(MuonAddLayer(run->muon, Shapes[l].name, W, &run->layer[l]));
    PetscCall(MatDenseGetArray(W, &w));
    run->w[l] = w;
    PetscCall(MatDenseRestoreArray(W, &w));
    PetscCall(MatGetOwnershipRange(W, &run->first[l], &run->rows[l]));
    PetscCall(MatDestroy(&W));
    break;
  case VECTOR:
    PetscCall(VecCreateMPI(comm, PETSC_DECIDE, m, &v));
    if (comm == PETSC_COMM_SELF) {
      PetscCall(VecDestroy(&v));
      PetscCall(VecCreateSeq(comm, m, &v));
    }
    PetscCall(MuonAddVecLayer(run->muon, Shapes[l].name, v, &run->layer[l]));
    PetscCall(VecGetArray(v, &w));
    run->w[l] = w;
    PetscCall(VecRestoreArray(v, &w));
    PetscCall(VecGetOwnershipRange(v, &run->first[l], &run->rows[l]));
    PetscCall(VecDestroy(&v));
    break;
  default: {
    MuonLayerArray array;
    PetscMPIInt    rank, size;

    PetscCallMPI(MPI_Comm_rank(comm, &rank));
    PetscCallMPI(MPI_Comm_size(comm, &size));
    PetscCall(MuonLayerArrayInitialize(&array));
    array.comm     = comm;
    array.type     = Shapes[l].kind == ROWMAJOR_SINGLE ? PETSC_FLOAT : PETSC_DOUBLE;
    array.rowmajor = PETSC_TRUE;
    array.M        = m;
    array.N        = n;
    /* All rows but the last rank's are few: a layout that is not PETSc's */
    array.first   = PetscMin((PetscInt)rank, m);
    run->rows[l]  = rank == size - 1 ? m : PetscMin((PetscInt)rank + 1, m);
    array.rows    = run->rows[l] - array.first;
    run->first[l] = array.first;
    PetscCall(PetscCalloc1(PetscMax(array.rows * n, 1), (double **)&run->w[l]));
    array.w = run->w[l];
    PetscCall(MuonAddLayerArray(run->muon, Shapes[l].name, &array, &run->layer[l]));
  }
  }
  run->rows[l] -= run->first[l];
  for (PetscInt i = 0; i < run->rows[l]; i++) {
    for (PetscInt j = 0; j < n; j++) Set(l, run->w[l], i, j, run->rows[l], Number(l, run->first[l] + i, j, -1, 0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunCreate(const Spread *spread, PetscBool alone, MuonType type, Run *run)
{
  PetscMPIInt rank, size;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(run, sizeof(*run)));
  run->spread  = *spread;
  run->alone   = alone;
  run->badrank = -1;
  if (alone) run->spread.rows = run->spread.ready = run->spread.whole = PETSC_FALSE;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MuonCreate(alone ? PETSC_COMM_SELF : PETSC_COMM_WORLD, &run->muon));
  PetscCall(MuonSetType(run->muon, type));
  PetscCall(MuonSetObjectiveAndGradient(run->muon, Objective, run));
  PetscCall(MuonSetLearningRate(run->muon, (PetscReal)0.1));
  PetscCall(MuonSetWeightDecay(run->muon, (PetscReal)0.05, MUON_WEIGHT_DECAY_CURRENT));
  PetscCall(MuonSetParameter(run->muon, "muon_shape_factor", "moonlight"));
  for (PetscInt l = 0; l < NLAYERS; l++) {
    const PetscMPIInt s    = spread->ranks[l];
    MPI_Comm          comm = PETSC_COMM_SELF;
    MuonLMO           lmo;
    MuonPolar         polar;

    run->nworkers[l] = size / s;
    run->worker[l]   = rank / s;
    run->position[l] = rank % s;
    if (alone == PETSC_FALSE && s > 1) PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, run->worker[l], rank, &comm));
    PetscCall(RunAddLayer(run, l, comm));
    if (alone == PETSC_FALSE && s > 1 && Shapes[l].kind <= VECTOR) PetscCallMPI(MPI_Comm_free(&comm));
    PetscCall(MuonLayerSetRule(run->layer[l], Shapes[l].rule));
    PetscCall(MuonLayerGetLMO(run->layer[l], &lmo));
    PetscCall(MuonLMOSetType(lmo, Shapes[l].norm));
    if (Shapes[l].polar != NULL) {
      PetscCall(MuonLMOGetPolar(lmo, &polar));
      PetscCall(MuonPolarSetType(polar, Shapes[l].polar));
    }
    if (Shapes[l].nblocks > 1) PetscCall(MuonLayerSetBlocks(run->layer[l], Shapes[l].nblocks, Shapes[l].block, 1, NULL));
    if (run->spread.whole) PetscCall(MuonLayerSetWholeGradient(run->layer[l], PETSC_TRUE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunDestroy(Run *run)
{
  PetscFunctionBegin;
  PetscCall(MuonDestroy(&run->muon));
  for (PetscInt l = 0; l < NLAYERS; l++) {
    if (Shapes[l].kind >= ROWMAJOR_SINGLE) PetscCall(PetscFree(run->w[l]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The weights that this rank has are those of the run of one rank */
static PetscErrorCode Compare(const char what[], Run *run, Run *reference)
{
  double worst = 0;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < NLAYERS; l++) {
    const double eps = Shapes[l].kind == ROWMAJOR_SINGLE || sizeof(PetscReal) == 4 ? 1.2e-7 : 2.3e-16;

    for (PetscInt i = 0; i < run->rows[l]; i++) {
      for (PetscInt j = 0; j < Shapes[l].n; j++) {
        const double a = Get(run, l, run->w[l], i, j, run->rows[l]), b = Get(reference, l, reference->w[l], run->first[l] + i, j, Shapes[l].m);

        if (!(fabs(a - b) / eps <= worst)) worst = fabs(a - b) / eps;
      }
    }
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  /*
     Weights are of size one; sums of a few gradients have a few roundings, and the matrices a condition of at
     most some hundreds
  */
  PetscCheck(worst <= 4500, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: weights differ by %g roundings", what, worst);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Check(const char what[], const Spread *spread, MuonType type, MuonExchangeType exchange, PetscInt mode, PetscInt kind)
{
  Run                 run, reference;
  MuonExchange        ex;
  MuonConvergedReason reason;
  PetscReal           loss;

  PetscFunctionBegin;
  PetscCall(PetscInfo(NULL, "%s, %s, layer 1 on %d ranks, assembly %" PetscInt_FMT "\n", what, type, spread->ranks[1], kind));
  PetscCall(RunCreate(spread, PETSC_TRUE, type, &reference));
  PetscCall(RunCreate(spread, PETSC_FALSE, type, &run));
  PetscCall(MuonGetExchange(run.muon, &ex));
  PetscCall(MuonExchangeSetType(ex, exchange));
  if (mode >= 0) PetscCall(MuonExchangeSetMode(ex, (MuonExchangeMode)mode));
  if (kind != PETSC_DETERMINE) PetscCall(MuonSetParameter(run.muon, "muon_assembly", MuonAssemblyKinds[kind]));
  for (PetscInt l = 0; l < NLAYERS && kind == (PetscInt)MUON_ASSEMBLY_GRAM; l++) {
    if (Shapes[l].nblocks > 1 || (Shapes[l].polar != NULL && l != 1) || l == 2) PetscCall(MuonParametersAssign((PetscObject)run.layer[l], "assembly", (double)MUON_ASSEMBLY_OWNER));
  }
  for (PetscInt k = 0; k < STEPS; k++) {
    PetscCall(MuonStep(run.muon));
    PetscCall(MuonGetConvergedReason(run.muon, &reason));
    PetscCheck(reason == MUON_CONVERGED_ITERATING, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %s", what, MuonConvergedReasons[reason]);
    PetscCall(MuonStep(reference.muon));
    PetscCall(MuonGetLoss(run.muon, &loss));
    PetscCheck(loss == (PetscReal)(k + 1), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: loss %g", what, (double)loss);
    PetscCall(Compare(what, &run, &reference));
  }
  PetscCall(RunDestroy(&run));
  PetscCall(RunDestroy(&reference));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt kinds[] = {PETSC_DETERMINE, (PetscInt)MUON_ASSEMBLY_ALLGATHER, (PetscInt)MUON_ASSEMBLY_OWNER, (PetscInt)MUON_ASSEMBLY_GRAM};
  PetscMPIInt    size;
  Spread         spread;

  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscMPIInt s = 1; s <= size; s++) {
    /* Six ranks add what fewer have not: three workers of two, two of three */
    if (size % s != 0 || (size == 6 && (s == 1 || s == 6))) continue;
    for (PetscInt k = 0; k < 4; k++) {
      PetscCall(PetscMemzero(&spread, sizeof(spread)));
      for (PetscInt l = 0; l < NLAYERS; l++) spread.ranks[l] = s;
      PetscCall(Check("star, reduce", &spread, MUONDENSE, MUONEXCHANGESTAR, MUON_EXCHANGE_MODE_REDUCE, kinds[k]));
      PetscCall(Check("layerwise, gather", &spread, MUONEF21, MUONEXCHANGELAYERWISE, MUON_EXCHANGE_MODE_GATHER, kinds[k]));
      spread.whole = PETSC_TRUE;
      PetscCall(Check("layerwise, whole gradients", &spread, MUONDENSE, MUONEXCHANGELAYERWISE, PETSC_DETERMINE, kinds[k]));
      spread.ready = PETSC_TRUE;
      if (k < 3 || s == size) PetscCall(Check("replicated, whole gradients that are ready", &spread, MUONDENSE, MUONEXCHANGEREPLICATED, PETSC_DETERMINE, kinds[k]));
      /* Layers of different workers in one optimizer */
      for (PetscInt l = 0; l < NLAYERS; l += 2) spread.ranks[l] = 1;
      spread.ranks[3] = spread.ranks[9] = size;
      PetscCall(Check("mixed", &spread, MUONDENSE, MUONEXCHANGELAYERWISE, PETSC_DETERMINE, kinds[k]));
    }
  }
  for (PetscInt k = 0; k < 4; k++) {
    PetscCall(PetscMemzero(&spread, sizeof(spread)));
    for (PetscInt l = 0; l < NLAYERS; l++) spread.ranks[l] = 1;
    spread.rows = PETSC_TRUE;
    PetscCall(Check("rows", &spread, k < 2 ? MUONDENSE : MUONEF21, MUONEXCHANGEROWS, PETSC_DETERMINE, kinds[k]));
    spread.ready = PETSC_TRUE;
    PetscCall(Check("rows that are ready", &spread, MUONDENSE, MUONEXCHANGEROWS, PETSC_DETERMINE, kinds[k]));
  }
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3 4 6}}

TEST*/
