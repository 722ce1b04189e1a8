static char help[] = "What holds a layer: matrices, vectors and arrays that are not PETSc's; the memory of weights and gradients; tensors and the grid of blocks that they are; shapes and radii; what is refused.\n";

#include <petscmuon/private/muonkernelsdevice.h>
#include <petscmuon.h>
#include <petscmuon/private/muonlayerimpl.h>
#include <petscmuon/private/muonparameter.h>
#include "fails.h"
#include "parameters.h"

#define Check(condition, ...)        PetscCheck(condition, PETSC_COMM_SELF, PETSC_ERR_PLIB, __VA_ARGS__)
#define LayerSet(layer, what, value) MuonParametersAssign((PetscObject)(layer), what, (double)(value))

/* An array of floats, 3 x 2 by rows with a gap, in w */
static PetscErrorCode CreateArray(float w[], const float g[], MuonLayer *layer)
{
  MuonLayerArray array;

  PetscFunctionBegin;
  PetscCall(MuonLayerArrayInitialize(&array));
  array.type     = PETSC_FLOAT;
  array.rowmajor = PETSC_TRUE;
  array.M        = 3;
  array.N        = 2;
  array.ld       = 4;
  array.w        = w;
  array.g        = g;
  PetscCall(MuonLayerCreateFromArray("array", &array, layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckAccessors(MuonLayer mat, MuonLayer vec, MuonLayer array, Mat W, Vec w, float a[])
{
  MuonLayerStorage storage;
  MuonLayerArray   got;
  PetscInt         m, n;
  Mat              A;
  Vec              v;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetStorage(mat, &storage));
  PetscCall(MuonLayerGetWeights(mat, &A));
  Check(storage == MUON_LAYER_MAT && A == W, "The matrix is another");
  PetscCall(MuonLayerGetStorage(vec, &storage));
  PetscCall(MuonLayerGetWeightsVec(vec, &v));
  Check(storage == MUON_LAYER_VEC && v == w, "The vector is another");
  PetscCall(MuonLayerGetStorage(array, &storage));
  PetscCall(MuonLayerGetWeightsArray(array, &got));
  Check(storage == MUON_LAYER_ARRAY && got.w == a && got.rows == 3 && got.ld == 4 && got.M == 3 && got.N == 2 && got.type == PETSC_FLOAT && got.rowmajor, "The array is another");
  PetscCall(MuonLayerGetSize(array, &m, &n));
  Check(m == 3 && n == 2, "%" PetscInt_FMT " x %" PetscInt_FMT, m, n);
  Fails(MuonLayerGetWeights(vec, &A), PETSC_ERR_ARG_WRONGSTATE, "Layer \"vec\" is a vector: use MuonLayerGetWeightsVec()");
  Fails(MuonLayerGetWeights(array, &A), PETSC_ERR_ARG_WRONGSTATE, "use MuonLayerGetWeightsArray()");
  Fails(MuonLayerGetWeightsVec(mat, &v), PETSC_ERR_ARG_WRONGSTATE, "Layer \"mat\" is a matrix: use MuonLayerGetWeights()");
  Fails(MuonLayerGetWeightsArray(mat, &got), PETSC_ERR_ARG_WRONGSTATE, "use MuonLayerGetWeights()");
  Fails(MuonLayerGetGradient(vec, &A), PETSC_ERR_ARG_WRONGSTATE, "use MuonLayerGetGradientVec()");
  Fails(MuonLayerGetGradient(array, &A), PETSC_ERR_ARG_WRONGSTATE, "Layer \"array\" is an array that is not PETSc's: use MuonLayerGetGradientArray()");
  Fails(MuonLayerGetGradientVec(mat, &v), PETSC_ERR_ARG_WRONGSTATE, "use MuonLayerGetGradient()");
  Fails(MuonLayerGetGradientArray(vec, &got), PETSC_ERR_ARG_WRONGSTATE, "use MuonLayerGetGradientVec()");
  Fails(MuonLayerSetGradient(vec, W), PETSC_ERR_ARG_WRONGSTATE, "use MuonLayerSetGradientVec()");
  Fails(MuonLayerSetGradientVec(mat, w), PETSC_ERR_ARG_WRONGSTATE, "use MuonLayerSetGradient()");
  Fails(MuonLayerSetGradientArray(mat, a), PETSC_ERR_ARG_WRONGSTATE, "use MuonLayerSetGradient()");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which memory the steps read and write, and whose it is */
static PetscErrorCode CheckWeights(MuonLayer layer, PetscObject object, const void *data, size_t ld)
{
  PetscObjectState before, between, after;
  MuonArray        shape, W;

  PetscFunctionBegin;
  PetscCall(PetscObjectStateGet(object, &before));
  shape = layer->shape;
  PetscCall(MuonLayerGetWeightsMemory(layer, PETSC_FALSE, &W));
  Check(W.data == data && W.ld == ld && W.len == shape.len && W.count == shape.count && W.precision == shape.precision && W.rowmajor == shape.rowmajor && shape.data == NULL && shape.ld == shape.len,
        "Layer %s: other memory: %p, %p, lines %zu x %zu, %zu apart", ((PetscObject)layer)->name, W.data, data, W.len, W.count, W.ld);
  PetscCall(MuonLayerRestoreWeightsMemory(layer, PETSC_FALSE, &W));
  PetscCall(PetscObjectStateGet(object, &between));
  PetscCall(MuonLayerGetWeightsMemory(layer, PETSC_TRUE, &W));
  PetscCall(MuonLayerRestoreWeightsMemory(layer, PETSC_TRUE, &W));
  PetscCall(PetscObjectStateGet(object, &after));
  Check(between == before, "Layer %s: reading changes the state of the weights", ((PetscObject)layer)->name);
  Check(after > before || object == (PetscObject)layer, "Layer %s: writing does not change the state of the weights", ((PetscObject)layer)->name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double Entry(const MuonArray *A, size_t i)
{
  return A->precision == MUON_SINGLE ? (double)((float *)A->data)[i] : ((double *)A->data)[i];
}

static PetscErrorCode CheckAsked(MuonLayer layer, PetscBool expected, const char when[])
{
  PetscBool asked;

  PetscFunctionBegin;
  PetscCall(MuonLayerIsGradientProvided(layer, &asked));
  Check(asked == expected, "Layer %s: the gradient was %sasked for %s", ((PetscObject)layer)->name, asked ? "" : "not ", when);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the caller sees of our buffer: 6 entries */
static PetscErrorCode GetSeen(MuonLayer layer, Mat G, Vec g, PetscBool set, double value, double seen[])
{
  PetscScalar   *array;
  MuonLayerArray got;

  PetscFunctionBegin;
  if (G != NULL) PetscCall(MatDenseGetArray(G, &array));
  if (g != NULL) PetscCall(VecGetArray(g, &array));
  if (G == NULL && g == NULL) PetscCall(MuonLayerGetGradientArray(layer, &got));
  for (PetscInt e = 0; e < 6; e++) {
    if (G == NULL && g == NULL) {
      if (set) ((float *)got.w)[e] = (float)(value + e);
      seen[e] = ((float *)got.w)[e];
    } else {
      if (set) array[e] = (PetscScalar)(value + e);
      seen[e] = (double)PetscRealPart(array[e]);
    }
  }
  if (G != NULL) PetscCall(MatDenseRestoreArray(G, &array));
  if (g != NULL) PetscCall(VecRestoreArray(g, &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Our buffer and a momentum change places again and again; who holds the object sees it */
static PetscErrorCode CheckSwap(MuonLayer layer)
{
  MuonArray M, G, shape;
  PetscBool ours;
  Mat       mat = NULL;
  Vec       vec = NULL;
  void     *first;
  double    seen[6];

  PetscFunctionBegin;
  PetscCall(CheckAsked(layer, PETSC_FALSE, "before anybody did"));
  shape = layer->shape;
  PetscCall(MuonArrayCreate(&shape, shape.precision, &M));
  if (layer->storage == MUON_LAYER_MAT) PetscCall(MuonLayerGetGradient(layer, &mat));
  if (layer->storage == MUON_LAYER_VEC) PetscCall(MuonLayerGetGradientVec(layer, &vec));
  PetscCall(GetSeen(layer, mat, vec, PETSC_FALSE, 0, seen));
  for (PetscInt e = 0; e < 6; e++) Check(seen[e] == 0, "A new gradient has the entry %g", seen[e]);
  PetscCall(CheckAsked(layer, PETSC_TRUE, "when it was taken"));
  for (PetscInt step = 0; step < 5; step++) {
    PetscCall(GetSeen(layer, mat, vec, PETSC_TRUE, 10 * step, seen));
    PetscCall(CheckAsked(layer, PETSC_TRUE, "when it was filled"));
    PetscCall(MuonLayerGetGradientMemory(layer, &G, &ours));
    first = G.data;
    Check(ours && G.ld == G.len && Entry(&G, 0) == 10 * step && Entry(&G, 5) == 10 * step + 5, "Step %" PetscInt_FMT ": the memory is not what was filled", step);
    PetscCall(MuonLayerRestoreGradientMemory(layer, &G));
    Check(step == 0 || !PetscDefined(USE_DEBUG) || PetscIsInfOrNanReal((PetscReal)Entry(&M, 3)) || Entry(&M, 3) == 10 * (step - 1) + 3, "M is lost");
    PetscCall(MuonLayerSwapGradientMemory(layer, &M));
    Check(M.data == first && Entry(&M, 2) == 10 * step + 2, "Step %" PetscInt_FMT ": M has not the memory that the gradient had", step);
    PetscCall(GetSeen(layer, mat, vec, PETSC_FALSE, 0, seen));
    if (step > 0 && PetscDefined(USE_DEBUG)) Check(seen[4] == 10 * (step - 1) + 4, "Step %" PetscInt_FMT ": the object shows %g, not the old momentum", step, seen[4]);
    PetscCall(MuonLayerInvalidateGradient(layer));
    PetscCall(CheckAsked(layer, PETSC_FALSE, "after a step"));
    PetscCall(GetSeen(layer, mat, vec, PETSC_FALSE, 0, seen));
    for (PetscInt e = 0; e < 6; e++) Check(!PetscDefined(USE_DEBUG) || PetscIsInfOrNanReal((PetscReal)seen[e]), "A debug build leaves %g in the gradient", seen[e]);
  }
  PetscCall(MuonArrayDestroy(&M));
  /* None, and then the buffer again */
  PetscCall(MuonLayerSetGradient(layer, NULL));
  PetscCall(MuonLayerInvalidateGradient(layer));
  PetscCall(MuonLayerGetGradientMemory(layer, &G, &ours));
  Check(ours == PETSC_FALSE && G.data == NULL && G.len == shape.len && G.count == shape.count, "A gradient where there is none");
  PetscCall(MuonLayerRestoreGradientMemory(layer, &G));
  PetscCall(CheckAsked(layer, PETSC_TRUE, "when there is none, which was said"));
  PetscCall(GetSeen(layer, mat, vec, PETSC_TRUE, 1, seen));
  if (mat != NULL) PetscCall(MuonLayerGetGradient(layer, &mat));
  if (vec != NULL) PetscCall(MuonLayerGetGradientVec(layer, &vec));
  PetscCall(MuonLayerGetGradientMemory(layer, &G, &ours));
  Check(ours && Entry(&G, 1) == 2, "The buffer does not come back");
  PetscCall(MuonLayerRestoreGradientMemory(layer, &G));
  PetscCall(MuonLayerReset(layer));
  PetscCall(CheckAsked(layer, PETSC_FALSE, "after a reset"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The caller's own gradients are read in place and stay as they are */
static PetscErrorCode CheckUsers(MuonLayer mat, MuonLayer vec, MuonLayer array)
{
  float              mine[12] = {0};
  const PetscScalar *read;
  PetscObjectState   before, after;
  MuonLayerArray     got;
  MuonArray          G;
  PetscBool          ours;
  Mat                A, B;
  Vec                v, u;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, &A));
  PetscCall(MatSetSizes(A, 3, 2, 3, 2));
  PetscCall(MatSetType(A, MATSEQDENSE));
  PetscCall(MatDenseSetLDA(A, 5));
  PetscCall(MatSeqDenseSetPreallocation(A, NULL));
  PetscCall(MuonLayerSetGradient(mat, A));
  PetscCall(MuonLayerGetGradient(mat, &B));
  Check(A == B, "Another matrix than the caller's");
  PetscCall(MuonLayerInvalidateGradient(mat));
  PetscCall(CheckAsked(mat, PETSC_TRUE, "when the caller's own stays"));
  PetscCall(PetscObjectStateGet((PetscObject)A, &before));
  PetscCall(MuonLayerGetGradientMemory(mat, &G, &ours));
  PetscCall(MatDenseGetArrayRead(A, &read));
  Check(ours == PETSC_FALSE && G.data == read && G.ld == 5 && G.len == 3 && G.count == 2, "The caller's matrix is not read in place");
  PetscCall(MatDenseRestoreArrayRead(A, &read));
  PetscCall(MuonLayerRestoreGradientMemory(mat, &G));
  PetscCall(PetscObjectStateGet((PetscObject)A, &after));
  Check(before == after, "The state of the caller's matrix is changed");
  PetscCall(MatDestroy(&A));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, 6, &v));
  PetscCall(MuonLayerSetGradientVec(vec, v));
  PetscCall(MuonLayerGetGradientVec(vec, &u));
  Check(u == v, "Another vector than the caller's");
  PetscCall(MuonLayerGetGradientMemory(vec, &G, &ours));
  PetscCall(VecGetArrayRead(v, &read));
  Check(ours == PETSC_FALSE && G.data == read && G.len == 6 && G.count == 1, "The caller's vector is not read in place");
  PetscCall(VecRestoreArrayRead(v, &read));
  PetscCall(MuonLayerRestoreGradientMemory(vec, &G));
  PetscCall(VecDestroy(&v));
  PetscCall(MuonLayerSetGradientArray(array, mine));
  PetscCall(MuonLayerGetGradientArray(array, &got));
  Check(got.g == mine && got.w == NULL && got.ld == 4, "Another array than the caller's");
  PetscCall(MuonLayerGetGradientMemory(array, &G, &ours));
  Check(ours == PETSC_FALSE && G.data == mine && G.ld == 4 && G.len == 2 && G.count == 3 && G.precision == MUON_SINGLE && G.rowmajor, "The caller's array is not read in place");
  PetscCall(MuonLayerRestoreGradientMemory(array, &G));
  PetscCall(MuonLayerSetGradientArray(array, NULL));
  PetscCall(MuonLayerGetGradientArray(array, &got));
  Check(got.g == got.w && got.w != NULL && got.ld == 2, "The array has no buffer");
  PetscCall(MuonLayerReset(mat));
  PetscCall(MuonLayerReset(vec));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What serves is copied out, whatever its order and precision; who does not serve is told so */
static PetscErrorCode CheckServer(MuonLayer layer, const float w[])
{
  float              x[6]   = {1, 2, 3, 4, 5, 6};
  MuonLayerDriver    driver = {NULL, -1, NULL, PETSC_FALSE, -1, NULL};
  MuonArray          X;
  const PetscScalar *read;
  PetscBool          serves;
  Mat                A, B;

  PetscFunctionBegin;
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 3, 2, NULL, &A));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 2, 3, NULL, &B));
  PetscCall(MuonLayerGetServerWeights(layer, A, &serves));
  Check(serves == PETSC_FALSE, "A layer without an optimizer is served");
  X             = layer->shape;
  driver.server = &X;
  layer->driver = &driver;
  PetscCall(MuonLayerGetServerWeights(layer, NULL, &serves));
  Check(serves, "The server is not seen");
  for (int k = 0; k < 2; k++) {
    X.data = k == 0 ? x : NULL; /* of its own, or those of the layer */
    PetscCall(MuonLayerGetServerWeights(layer, A, &serves));
    PetscCall(MatDenseGetArrayRead(A, &read));
    for (int i = 0; i < 3; i++) {
      for (int j = 0; j < 2; j++) Check(serves && read[3 * j + i] == (PetscScalar)(k == 0 ? x[2 * i + j] : w[4 * i + j]), "Entry (%d,%d) is %g", i, j, (double)PetscRealPart(read[3 * j + i]));
    }
    PetscCall(MatDenseRestoreArrayRead(A, &read));
  }
  Fails(MuonLayerGetServerWeights(layer, B, &serves), PETSC_ERR_ARG_SIZ, "expected 3 x 2");
  layer->driver = NULL;
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckArrays(void)
{
  const struct {
    PetscErrorCode code;
    const char    *text;
  } refused[] = {{PETSC_ERR_ARG_NULL, "Layer \"a\": an array without weights, expected w"},
                 {PETSC_ERR_SUP, "expected PETSC_FLOAT or PETSC_DOUBLE"},
                 {MuonDeviceGet() != NULL ? PETSC_ERR_ARG_INCOMP : PETSC_ERR_SUP, "in the memory of"},
                 {PETSC_ERR_ARG_OUTOFRANGE, "ld 2 of an array, expected at least the 3 entries of a column"},
                 {PETSC_ERR_ARG_OUTOFRANGE, "expected at least the 2 entries of a row"},
                 {PETSC_ERR_ARG_OUTOFRANGE, "2 rows of an array on one rank, expected all 3"},
                 {PETSC_ERR_ARG_OUTOFRANGE, "3 rows from number 1 on of an array, expected some of its 3 rows"},
                 {PETSC_ERR_ARG_OUTOFRANGE, "3 x -1"},
                 {PETSC_ERR_ARG_NULL, "without a communicator"}};
  MuonLayerArray array, first;
  MuonLayer      layer;
  double         w[6];
  const PetscInt dims[2] = {65536, 65536};
  PetscLogDouble flops;

  PetscFunctionBegin;
  PetscCall(MuonLayerArrayInitialize(&array));
  Check(array.type == PETSC_REAL && array.comm == MPI_COMM_SELF && array.rowmajor == PETSC_FALSE && array.g == NULL, "What an array begins as");
  array.M = 3;
  array.N = 2;
  array.w = w;
  first   = array;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(refused); k++) {
    array = first;
    if (k == 0) array.w = NULL;
    if (k == 1) array.type = PETSC_INT;
    if (k == 2) array.memtype = PETSC_MEMTYPE_DEVICE;
    if (k == 3) array.ld = 2;
    if (k == 4) array.ld = 1;
    if (k == 4) array.rowmajor = PETSC_TRUE;
    if (k == 5) array.rows = 2;
    if (k == 6) array.first = 1;
    if (k == 7) array.N = -1;
    if (k == 8) array.comm = MPI_COMM_NULL;
    Fails(MuonLayerCreateFromArray("a", &array, &layer), refused[k].code, refused[k].text);
  }
  /* Nothing to hold needs no memory */
  array   = first;
  array.M = 0;
  array.w = NULL;
  PetscCall(MuonLayerCreateFromArray("a", &array, &layer));
  PetscCall(MuonLayerDestroy(&layer));
  /* 2^32 entries, which nobody touches */
  array   = first;
  array.M = array.N = dims[0];
  PetscCall(MuonLayerCreateFromArray("a", &array, &layer));
  PetscCall(MuonLayerSetTensor(layer, 2, dims, MUON_TENSOR_FLATTEN));
  PetscCall(MuonLayerSetType(layer, MUONLAYERSGD));
  PetscCall(MuonLayerGetFlops(layer, &flops));
  Check(MuonLayerEntries(layer) == (PetscInt64)1 << 32 && flops == 4 * 4294967296.0, "2^16 x 2^16 are %" PetscInt64_FMT " entries and %g flops", MuonLayerEntries(layer), flops);
  PetscCall(MuonLayerDestroy(&layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On two ranks the second has nothing of the vector */
static PetscErrorCode CheckSlices(MPI_Comm comm)
{
  static const char *const names[6] = {"tall", "wide", "bias", "square", "moments", "gain"}, *const same[6] = {"tall", "wide", "bias", "square", "BIAS", "gain"};
  static const PetscInt m[6] = {5, 4, 7, 2, 9, 1}, n[6] = {3, 6, 1, 2, 4, 1}, less[6] = {5, 4, 6, 2, 9, 1}, more[6] = {5, 4, 8, 2, 9, 1}, none[6] = {5, -4, 7, 2, 9, 1}, cut[2] = {3, 2};
  PetscMPIInt           rank, size;
  PetscInt              count;
  PetscBool             rowmajor;
  MuonLayer             layer;
  Muon                  muon;
  Vec                   x, g, y;
  Mat                   W;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(VecCreateMPI(comm, rank == 0 ? 87 : 0, 87, &x));
  PetscCall(VecDuplicate(x, &g));
  PetscCall(MuonCreate(comm, &muon));
  Fails(MuonAddVecLayers(muon, x, g, 6, names, less, n, NULL), PETSC_ERR_ARG_SIZ, "6 layers that end with \"gain\" have 86 of the 87 entries of the vector, expected all of them");
  Fails(MuonAddVecLayers(muon, x, g, 6, names, more, n, NULL), PETSC_ERR_ARG_SIZ, "Layer \"gain\" of 1 x 1 entries, of which the 87 of the vector have 0 left");
  Fails(MuonAddVecLayers(muon, x, g, 6, names, none, n, NULL), PETSC_ERR_ARG_SIZ, "Layer \"wide\" of -4 x 6 entries");
  Fails(MuonAddVecLayers(muon, x, g, 6, same, m, n, NULL), PETSC_ERR_ARG_WRONG, "Layer \"BIAS\": there is a layer \"bias\" already");
  Fails(MuonAddVecLayers(muon, x, NULL, 6, names, m, n, NULL), PETSC_ERR_ARG_NULL, "no vector of gradients");
  PetscCall(VecCreateMPI(comm, rank == 0 ? 88 : 0, 88, &y));
  Fails(MuonAddVecLayers(muon, x, y, 6, names, m, n, NULL), PETSC_ERR_ARG_INCOMP, "6 layers of a vector: gradients of type mpi and size 88, weights of type mpi and size 87; expected the same");
  PetscCall(VecDestroy(&y));
  PetscCall(MuonGetNumLayers(muon, &count));
  Check(count == 0, "%" PetscInt_FMT " layers after errors", count);
  PetscCall(MuonAddVecLayers(muon, x, g, 6, names, m, n, NULL));
  Fails(MuonAddVecLayers(muon, x, g, 6, names, m, n, NULL), PETSC_ERR_ARG_WRONG, "Layer \"tall\": there is a layer \"tall\" already");
  PetscCall(MuonGetLayerByName(muon, "tall", &layer));
  Fails(MuonLayerGetWeights(layer, &W), PETSC_ERR_ARG_WRONGSTATE, "Layer \"tall\" is a vector: use MuonLayerGetWeightsVec()");
  PetscCall(MuonLayerGetVecRange(layer, NULL, &rowmajor));
  Check(rowmajor == PETSC_FALSE, "Without a word a slice lies by rows");
  if (size > 1) {
    PetscCall(VecCreateMPI(comm, PETSC_DECIDE, 87, &y));
    Fails(MuonLayerSetGradientVec(layer, y), PETSC_ERR_ARG_SIZ, "Layer \"tall\": gradient with ");
    PetscCall(VecDestroy(&y));
    Fails(MuonLayerSetWholeGradient(layer, PETSC_TRUE), PETSC_ERR_SUP, "Layer \"tall\" is a range of a vector on");
    Fails(MuonLayerSetBlocks(layer, 2, cut, 1, NULL), PETSC_ERR_SUP, "Layer \"tall\": -muon_layer_tall_blocks_rows: the layer is a range of a vector on");
    PetscCall(MuonSetParameter(muon, "muon_assembly", "gram"));
    Fails(MuonSetUp(muon), PETSC_ERR_SUP, "-muon_assembly gram of layer \"tall\": it is a slice of a vector, whose ranks have entries of it and not rows; expected allgather or owner");
  } else {
    PetscCall(MuonLayerSetBlocks(layer, 2, cut, 1, NULL));
    /* A step without a gradient of one layer, and one with it again */
    PetscCall(MuonLayerSetGradient(layer, NULL));
    PetscCall(MuonStep(muon));
    PetscCall(MuonLayerGetGradientVec(layer, &y));
    Check(y == g, "The gradient that is asked for again is another");
    PetscCall(MuonStep(muon));
  }
  PetscCall(MuonDestroy(&muon));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Names that are too long lose their keys: the longest that is taken has them all, behind a prefix too */
static PetscErrorCode CheckNames(Mat W)
{
  char      name[130], key[256];
  MuonLayer layer;

  PetscFunctionBegin;
  for (int i = 0; i < 129; i++) name[i] = 'n';
  name[129] = '\0';
  Fails(MuonLayerCreate(name, W, &layer), PETSC_ERR_ARG_OUTOFRANGE, "has 129 characters, expected at most 128");
  name[128] = '\0';
  PetscCall(MuonLayerCreate(name, W, &layer));
  PetscCall(PetscObjectSetOptionsPrefix((PetscObject)layer, "mine_"));
  PetscCall(PetscSNPrintf(key, sizeof(key), "-mine_muon_layer_%s_scale", name));
  PetscCall(PetscOptionsSetValue(NULL, key, "2.5"));
  PetscCall(MuonLayerSetFromOptions((PetscObject)layer));
  PetscCall(PetscOptionsClearValue(NULL, key));
  PetscCall(CheckParameter((PetscObject)layer, key + strlen("-mine_"), "2.5"));
  PetscCall(MuonLayerDestroy(&layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values that are refused, and what comes too late */
static PetscErrorCode CheckSetters(MuonLayer layer)
{
  const PetscReal nan = (PetscReal)NAN, inf = PETSC_INFINITY;
  MuonLayerDriver driver = {NULL, -1, NULL, PETSC_FALSE, -1, NULL};

  PetscFunctionBegin;
  Fails(MuonLayerSetScale(layer, nan), PETSC_ERR_ARG_OUTOFRANGE, "-muon_layer_mat_scale");
  Fails(MuonLayerSetScale(layer, inf), PETSC_ERR_ARG_OUTOFRANGE, "-muon_layer_mat_scale");
  Fails(LayerSet(layer, "momentum", nan), PETSC_ERR_ARG_OUTOFRANGE, "-muon_layer_mat_momentum");
  Fails(LayerSet(layer, "momentum", 1), PETSC_ERR_ARG_OUTOFRANGE, "-muon_layer_mat_momentum");
  Fails(LayerSet(layer, "weight_decay", nan), PETSC_ERR_ARG_OUTOFRANGE, "-muon_layer_mat_weight_decay");
  Fails(LayerSet(layer, "weight_decay", inf), PETSC_ERR_ARG_OUTOFRANGE, "-muon_layer_mat_weight_decay");
  Fails(MuonLayerSetType(layer, "none"), PETSC_ERR_ARG_UNKNOWN_TYPE, "adamw");
  PetscCall(MuonLayerSetType(layer, MUONLAYERADAMW));
  Fails(LayerSet(layer, "adamw_beta1", nan), PETSC_ERR_ARG_OUTOFRANGE, "adamw_beta1");
  Fails(LayerSet(layer, "adamw_beta2", 1), PETSC_ERR_ARG_OUTOFRANGE, "adamw_beta2");
  Fails(LayerSet(layer, "adamw_epsilon", inf), PETSC_ERR_ARG_OUTOFRANGE, "-muon_layer_mat_adamw_epsilon");
  Fails(LayerSet(layer, "adamw_epsilon", nan), PETSC_ERR_ARG_OUTOFRANGE, "-muon_layer_mat_adamw_epsilon");
  Fails(LayerSet(layer, "adamw_epsilon", 0), PETSC_ERR_ARG_OUTOFRANGE, "-muon_layer_mat_adamw_epsilon");
  PetscCall(MuonLayerSetType(layer, MUONLAYERLMO));
  Fails(CheckParameter((PetscObject)layer, "muon_layer_mat_adamw_epsilon", ""), PETSC_ERR_ARG_WRONG, "-muon_layer_mat_adamw_epsilon is no parameter of this MuonLayer");
  Fails(MuonObjectSetParameter((PetscObject)layer, "muon_layer_mat_adamw_epsilon", "1"), PETSC_ERR_SUP, "-muon_layer_mat_adamw_epsilon takes effect with the type adamw");
  /* As the driver says it after its set-up */
  layer->parameters.fixed = PETSC_TRUE;
  Fails(MuonLayerSetType(layer, MUONLAYERFROZEN), PETSC_ERR_ORDER, "MuonReset()");
  PetscCall(MuonLayerSetType(layer, MUONLAYERLMO));
  Fails(LayerSet(layer, "momentum", (PetscReal)0.9), PETSC_ERR_ORDER, "MuonReset()");
  PetscCall(LayerSet(layer, "momentum", 0));
  driver.keepsmomentum = PETSC_TRUE;
  layer->driver        = &driver;
  PetscCall(LayerSet(layer, "momentum", (PetscReal)0.5));
  layer->driver = NULL;
  Fails(MuonLayerSetBlocks(layer, 3, NULL, 1, NULL), PETSC_ERR_ORDER, "MuonReset()");
  PetscCall(MuonLayerSetScale(layer, 0));
  PetscCall(MuonLayerReset(layer));
  PetscCall(MuonLayerSetType(layer, MUONLAYERFROZEN));
  layer->parameters.fixed = PETSC_TRUE;
  Fails(MuonLayerSetType(layer, MUONLAYERLMO), PETSC_ERR_ORDER, "the type frozen");
  PetscCall(MuonLayerReset(layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A tensor in memory by rows or by columns, the layer's matrix, and its blocks, or what the error says */
static const struct {
  PetscBool      rowmajor;
  PetscInt       m, n, ndim, dims[5];
  MuonTensorKind kind;
  PetscInt       nrows, ncolumns;
  const char    *error;
} Tensors[] = {
  {PETSC_TRUE, 64, 27, 4, {64, 3, 3, 3}, MUON_TENSOR_FLATTEN, 1, 1, NULL},
  {PETSC_TRUE, 27, 64, 4, {3, 3, 3, 64}, MUON_TENSOR_FLATTEN, 1, 1, NULL},
  {PETSC_FALSE, 27, 64, 4, {64, 3, 3, 3}, MUON_TENSOR_FLATTEN, 1, 1, NULL},
  {PETSC_FALSE, 64, 27, 4, {3, 3, 3, 64}, MUON_TENSOR_FLATTEN, 1, 1, NULL},
  {PETSC_TRUE, 5, 7, 2, {5, 7}, MUON_TENSOR_FLATTEN, 1, 1, NULL},
  {PETSC_TRUE, 5, 7, 2, {5, 7}, MUON_TENSOR_BATCH, 1, 1, NULL},
  {PETSC_TRUE, 40, 6, 3, {8, 5, 6}, MUON_TENSOR_BATCH, 8, 1, NULL},
  {PETSC_TRUE, 576, 3, 4, {64, 3, 3, 3}, MUON_TENSOR_BATCH, 192, 1, NULL},
  {PETSC_FALSE, 6, 40, 3, {8, 5, 6}, MUON_TENSOR_BATCH, 1, 8, NULL},
  {PETSC_FALSE, 2, 60, 5, {2, 3, 2, 5, 2}, MUON_TENSOR_BATCH, 1, 12, NULL},
  {PETSC_TRUE, 64, 27, 4, {64, 3, 3, 3}, MUON_TENSOR_BATCH, 0, 0, "are no blocks"},
  {PETSC_TRUE, 192, 9, 4, {64, 3, 3, 3}, MUON_TENSOR_FLATTEN, 0, 0, "are no blocks"},
  {PETSC_FALSE, 40, 6, 3, {8, 5, 6}, MUON_TENSOR_BATCH, 0, 0, "are no blocks"},
  {PETSC_TRUE, 64, 27, 4, {64, 3, 3, 4}, MUON_TENSOR_FLATTEN, 0, 0, "expected 64 x 27"},
  {PETSC_TRUE, 64, 27, 4, {64, -3, -3, 3}, MUON_TENSOR_FLATTEN, 0, 0, "dimension 1"},
  {PETSC_TRUE, 64, 27, 1, {1728}, MUON_TENSOR_FLATTEN, 0, 0, "at least 2"},
  {PETSC_TRUE, 1, 4, 3, {1073741824, 1073741824, 16}, MUON_TENSOR_BATCH, 0, 0, "expected 1 x 4"},
};

/* The error for sizes is told before anything of the layer changes */
static PetscErrorCode CheckTensors(void)
{
  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(Tensors); k++) {
    const PetscBool good = Tensors[k].error == NULL ? PETSC_TRUE : PETSC_FALSE;
    const PetscInt *rows, *columns;
    PetscInt        nrows, ncolumns;
    MuonLayerArray  array;
    MuonLayer       layer;
    double         *w;

    PetscCall(PetscCalloc1(Tensors[k].m * Tensors[k].n, &w));
    PetscCall(MuonLayerArrayInitialize(&array));
    array.type     = PETSC_DOUBLE;
    array.rowmajor = Tensors[k].rowmajor;
    array.M        = Tensors[k].m;
    array.N        = Tensors[k].n;
    array.w        = w;
    PetscCall(MuonLayerCreateFromArray("conv", &array, &layer));
    if (good) PetscCall(MuonLayerSetTensor(layer, Tensors[k].ndim, Tensors[k].dims, Tensors[k].kind));
    else Fails(MuonLayerSetTensor(layer, Tensors[k].ndim, Tensors[k].dims, Tensors[k].kind), FAILS_ANY, Tensors[k].error);
    Check(good || FailsSays("\"conv\""), "%s", FailsMessage);
    PetscCall(MuonLayerGetBlocks(layer, &nrows, &rows, &ncolumns, &columns));
    Check(nrows == (good ? Tensors[k].nrows : 1) && ncolumns == (good ? Tensors[k].ncolumns : 1) && (!good || (rows == NULL && columns == NULL)), "Tensor %d: %" PetscInt_FMT " x %" PetscInt_FMT " blocks", (int)k, nrows, ncolumns);
    PetscCall(MuonLayerDestroy(&layer));
    PetscCall(PetscFree(w));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How the shape of a layer enters its radius, for every norm: the factors of the page on rates. Norms that are not named have 1 */
static PetscErrorCode CheckFactors(void)
{
  static const PetscInt shapes[][2] = {{8, 2}, {2, 8}, {5, 5}};
  const char          **types;
  int                   count, named = 0;

  PetscFunctionBegin;
  PetscCall(PetscFunctionListGet(MuonLMOList, &types, &count));
  for (int t = 0; t < 3 * count && types[t / 3] != NULL; t++) {
    const double m = (double)shapes[t % 3][0], n = (double)shapes[t % 3][1];
    const struct {
      const char *norm;
      double      factor[4]; /* in the order of MuonShapeFactor */
    } rows[] = {{MUONLMOSPECTRAL, {1, sqrt(PetscMax(1, m / n)), 0.2 * sqrt(PetscMax(m, n)), sqrt(m / n)}}, {MUONLMOMAX, {1, 1, 1, 1 / n}}, {MUONLMOCOLUMN, {1, 1, 1, sqrt(m) / n}}, {MUONLMOROW, {1, 1, 1, 1 / sqrt(n)}}};
    MuonLayer layer;
    MuonLMO   lmo;
    Mat       W;

    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, shapes[t % 3][0], shapes[t % 3][1], NULL, &W));
    PetscCall(MuonLayerCreate("layer", W, &layer));
    PetscCall(MuonLayerSetScale(layer, 3));
    PetscCall(MuonLayerGetLMO(layer, &lmo));
    PetscCall(MuonLMOSetType(lmo, types[t / 3]));
    for (int f = 0; f < 4; f++) {
      double    expected = 3;
      PetscReal factor;

      for (size_t r = 0; r < PETSC_STATIC_ARRAY_LENGTH(rows); r++) {
        if (strcmp(types[t / 3], rows[r].norm) != 0) continue;
        expected *= rows[r].factor[f];
        named++;
      }
      PetscCall(MuonObjectSetParameter((PetscObject)layer, "muon_layer_layer_shape_factor", MuonShapeFactors[f]));
      PetscCall(MuonLayerGetRadiusFactor(layer, &factor));
      Check(fabs((double)factor - expected) <= 4 * PETSC_MACHINE_EPSILON * expected, "%s, %s: the factor is %.16g, expected %.16g", types[t / 3], MuonShapeFactors[f], (double)factor, expected);
    }
    PetscCall(MuonLayerDestroy(&layer));
    PetscCall(MatDestroy(&W));
  }
  Check(named == 4 * 4 * 3, "%d factors of named norms", named);
  PetscCall(PetscFree(types));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  float              a[12] = {1, 2, -1, -1, 3, 4, -1, -1, 5, 6, -1, -1};
  const float        g[12] = {1};
  MuonLayer          mat, vec, array, given;
  const PetscScalar *read, *wdata;
  Mat                W;
  Vec                w;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 3, 2, NULL, &W));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, 6, &w));
  PetscCall(MuonLayerCreate("mat", W, &mat));
  PetscCall(MuonLayerCreateFromVec("vec", w, NULL, 0, PETSC_DECIDE, 1, PETSC_FALSE, &vec));
  PetscCall(CreateArray(a, NULL, &array));
  PetscCall(CreateArray(a, g, &given));
  PetscCall(CheckAccessors(mat, vec, array, W, w, a));
  PetscCall(MatDenseGetArrayRead(W, &read));
  wdata = read;
  PetscCall(MatDenseRestoreArrayRead(W, &read));
  PetscCall(CheckWeights(mat, (PetscObject)W, wdata, 3));
  PetscCall(VecGetArrayRead(w, &read));
  wdata = read;
  PetscCall(VecRestoreArrayRead(w, &read));
  PetscCall(CheckWeights(vec, (PetscObject)w, wdata, 6));
  PetscCall(CheckWeights(array, (PetscObject)array, a, 4));
  PetscCall(CheckSwap(mat));
  PetscCall(CheckSwap(vec));
  PetscCall(CheckSwap(array));
  PetscCall(CheckAsked(given, PETSC_TRUE, "when it came with the array"));
  PetscCall(MuonLayerReset(given));
  PetscCall(CheckAsked(given, PETSC_TRUE, "when it came with the array, before a reset"));
  PetscCall(CheckUsers(mat, vec, array));
  PetscCall(CheckServer(array, a));
  PetscCall(CheckArrays());
  PetscCall(CheckSlices(PETSC_COMM_WORLD));
  PetscCall(CheckSlices(PETSC_COMM_SELF));
  PetscCall(CheckNames(W));
  PetscCall(CheckSetters(mat));
  PetscCall(CheckTensors());
  PetscCall(CheckFactors());
  PetscCall(MuonLayerDestroy(&mat));
  PetscCall(MuonLayerDestroy(&vec));
  PetscCall(MuonLayerDestroy(&array));
  PetscCall(MuonLayerDestroy(&given));
  PetscCall(MatDestroy(&W));
  PetscCall(VecDestroy(&w));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  build:
    link: internal

  test:
    nsize: 2

TEST*/
