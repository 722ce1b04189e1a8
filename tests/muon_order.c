static char help[] = "Layers of arrays by rows and by columns: the same weights for all norms and for compressors that do not draw; and a matrix by rows is, bit for bit, its transpose by columns, with what knows rows and columns exchanged.\n\n";

#include <petscmuon.h>
#include <float.h>
#include <string.h>
#include "number_common.h"

#define LAYERS 4
#define STEPS  4
#define MOST   64 /* entries of a layer */

/* Tall with gaps, wide, square, one column */
static const struct {
  const char *name;
  PetscInt    M, N, gap;
} Shapes[LAYERS] = {{"tall", 8, 5, 3}, {"wide", 4, 9, 0}, {"square", 6, 6, 1}, {"one", 7, 1, 2}};

typedef enum {
  BY_COLUMNS,
  BY_ROWS,
  TRANSPOSED /* the transpose, by columns: the memory of BY_ROWS */
} Order;

typedef struct {
  Order         order;
  PetscDataType type;
  PetscReal     shake; /* by how much gradients are changed, relatively */
  PetscInt      seed;
  PetscMPIInt   rank;
  Muon          muon;
  MuonLayer     layer[LAYERS];
  char         *w[LAYERS], *g[LAYERS]; /* g: the caller's own gradient, of every other layer */
} Run;

static double Number(PetscInt a, PetscInt b, PetscInt c, PetscInt d)
{
  return (double)TestHash(a, b, c, d) / 2147483648.0 - 1;
}

/*
   Where the entry of row i and column j of the matrix lies; gaps behind lines are longer in the array of
   weights than in that of gradients that the layer makes
*/
static size_t At(Order order, PetscInt l, PetscInt ld, PetscInt i, PetscInt j)
{
  return order == BY_COLUMNS ? (size_t)i + (size_t)j * (size_t)ld : (size_t)i * (size_t)ld + (size_t)j;
}

static PetscInt Line(Order order, PetscInt l)
{
  return order == BY_COLUMNS ? Shapes[l].M : Shapes[l].N;
}

static double Get(PetscDataType type, const void *a, size_t at)
{
  return type == PETSC_FLOAT ? (double)((const float *)a)[at] : ((const double *)a)[at];
}

static void Put(PetscDataType type, void *a, size_t at, double x)
{
  if (type == PETSC_FLOAT) ((float *)a)[at] = (float)x;
  else ((double *)a)[at] = x;
}

/*
   The gradient of 1/2 sum H (W - B)^2 and what each step adds to it, entry by entry in the precision of the
   array
*/
static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  Run     *run = (Run *)ctx;
  PetscInt step;

  PetscFunctionBegin;
  PetscCall(MuonGetStepNumber(muon, &step));
  *loss = 1;
  for (PetscInt l = 0; l < LAYERS; l++) {
    PetscInt ld = Line(run->order, l) + Shapes[l].gap, ldg = ld;
    void    *g = run->g[l];

    if (g == NULL) {
      MuonLayerArray array;

      PetscCall(MuonLayerGetGradientArray(run->layer[l], &array));
      g   = array.w;
      ldg = array.ld;
    }
    for (PetscInt i = 0; i < Shapes[l].M; i++) {
      for (PetscInt j = 0; j < Shapes[l].N; j++) {
        const PetscInt e = i * Shapes[l].N + j;
        const double   w = Get(run->type, run->w[l], At(run->order, l, ld, i, j));
        const double   x = (1 + Number(l, e, run->rank, 2) / 2) * (w - Number(l, e, run->rank, 3)) + Number(l, e, run->rank, 100 + step) / 4;

        Put(run->type, g, At(run->order, l, ldg, i, j), x * (1 + (double)run->shake * Number(l, e, step, 1000 + run->seed)));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(Order order, PetscDataType type, const char options[], PetscReal shake, PetscInt seed, Run *run)
{
  const size_t bytes = type == PETSC_FLOAT ? sizeof(float) : sizeof(double);
  PetscOptions database;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(run, sizeof(*run)));
  run->order = order;
  run->type  = type;
  run->shake = shake;
  run->seed  = seed;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &run->rank));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &run->muon));
  for (PetscInt l = 0; l < LAYERS; l++) {
    const PetscInt ld = Line(order, l) + Shapes[l].gap;
    const size_t   d  = (size_t)ld * (size_t)PetscMax(Shapes[l].M, Shapes[l].N);
    MuonLayerArray array;

    PetscCall(PetscMalloc1(d * bytes, &run->w[l]));
    for (size_t e = 0; e < d; e++) Put(type, run->w[l], e, 12345); /* what stays in the gaps */
    for (PetscInt i = 0; i < Shapes[l].M; i++) {
      for (PetscInt j = 0; j < Shapes[l].N; j++) Put(type, run->w[l], At(order, l, ld, i, j), Number(l, i * Shapes[l].N + j, 0, 1));
    }
    if (l % 2 == 0) PetscCall(PetscCalloc1(d * bytes, &run->g[l]));
    PetscCall(MuonLayerArrayInitialize(&array));
    array.type     = type;
    array.rowmajor = order == BY_ROWS ? PETSC_TRUE : PETSC_FALSE;
    array.M        = order == TRANSPOSED ? Shapes[l].N : Shapes[l].M;
    array.N        = order == TRANSPOSED ? Shapes[l].M : Shapes[l].N;
    array.ld       = ld;
    array.w        = run->w[l];
    array.g        = run->g[l];
    PetscCall(MuonAddLayerArray(run->muon, Shapes[l].name, &array, &run->layer[l]));
  }
  PetscCall(MuonSetObjectiveAndGradient(run->muon, Objective, run));
  PetscCall(PetscOptionsCreate(&database));
  PetscCall(PetscOptionsPush(database));
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(MuonSetFromOptions(run->muon));
  PetscCall(MuonSetUp(run->muon));
  for (PetscInt s = 0; s < STEPS; s++) {
    MuonConvergedReason reason;

    PetscCall(MuonStep(run->muon));
    PetscCall(MuonGetConvergedReason(run->muon, &reason));
    PetscCheck(reason == MUON_CONVERGED_ITERATING, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s", options, MuonConvergedReasons[reason]);
  }
  PetscCall(PetscOptionsPop());
  PetscCall(PetscOptionsDestroy(&database));
  /* The gaps are the caller's */
  for (PetscInt l = 0; l < LAYERS; l++) {
    const PetscInt line = Line(order, l), ld = line + Shapes[l].gap, lines = order == BY_COLUMNS ? Shapes[l].N : Shapes[l].M;

    for (PetscInt k = 0; k < lines; k++) {
      for (PetscInt e = line; e < ld; e++) PetscCheck(Get(type, run->w[l], (size_t)k * (size_t)ld + (size_t)e) == 12345, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a gap of layer %s was written to", options, Shapes[l].name);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(Run *run)
{
  PetscFunctionBegin;
  PetscCall(MuonDestroy(&run->muon));
  for (PetscInt l = 0; l < LAYERS; l++) {
    PetscCall(PetscFree(run->w[l]));
    PetscCall(PetscFree(run->g[l]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest difference of two weights, and the largest weight */
static double Difference(const Run *a, const Run *b, double *size)
{
  double most = 0;

  *size = 0;
  for (PetscInt l = 0; l < LAYERS; l++) {
    const PetscInt lda = Line(a->order, l) + Shapes[l].gap, ldb = Line(b->order, l) + Shapes[l].gap;

    for (PetscInt i = 0; i < Shapes[l].M; i++) {
      for (PetscInt j = 0; j < Shapes[l].N; j++) {
        const double x = Get(a->type, a->w[l], At(a->order, l, lda, i, j)), y = Get(b->type, b->w[l], At(b->order, l, ldb, i, j));

        most  = PetscMax(most, PetscAbs(x - y));
        *size = PetscMax(*size, PetscAbs(x));
      }
    }
  }
  return most;
}

static double Epsilon(PetscDataType type, PetscBool petsc)
{
  const double own = type == PETSC_FLOAT ? (double)FLT_EPSILON : DBL_EPSILON;

  return petsc == PETSC_TRUE ? PetscMax(own, (double)PETSC_MACHINE_EPSILON) : own;
}

/*
   Rounding: sums run in another order, and what they give is off by a few units. How much that changes the
   weights after all steps is seen by changing the gradients by four units, three times; the bound is sixteen
   times the largest effect, and a sum of at most 45 numbers is off by less than 16 times 4 units
*/
static PetscErrorCode CheckRounding(const char options[], const char other[], Order order, PetscDataType type)
{
  const double eps = Epsilon(type, PETSC_TRUE);
  Run          a, b, c;
  double       difference, size, allowed = 0;

  PetscFunctionBegin;
  PetscCall(Create(BY_ROWS, type, options, 0, 0, &a));
  PetscCall(Create(order, type, other, 0, 0, &b));
  difference = Difference(&a, &b, &size);
  for (PetscInt k = 0; k < 3; k++) {
    PetscCall(Create(BY_ROWS, type, options, (PetscReal)(4 * eps), k, &c));
    allowed = PetscMax(allowed, 16 * Difference(&a, &c, &size));
    PetscCall(Destroy(&c));
  }
  allowed += 64 * eps * size;
  PetscCheck(allowed <= 1e5 * eps * (1 + size), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the run is too sensitive to be a test: weights may change by %g", options, allowed);
  PetscCheck(difference <= allowed, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: weights by rows and %s differ by %g, allowed %g", options, PetscDataTypes[type], order == TRANSPOSED ? "of the transpose" : "by columns", difference, allowed);
  PetscCall(Destroy(&a));
  PetscCall(Destroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckExact(const char options[], const char other[], Order order, PetscDataType type)
{
  Run    a, b;
  double difference, size;

  PetscFunctionBegin;
  PetscCall(Create(BY_ROWS, type, options, 0, 0, &a));
  PetscCall(Create(order, type, other, 0, 0, &b));
  difference = Difference(&a, &b, &size);
  PetscCheck(difference == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: weights by rows and %s differ by %g", options, PetscDataTypes[type], order == TRANSPOSED ? "of the transpose" : "by columns", difference);
  PetscCall(Destroy(&a));
  PetscCall(Destroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Norms whose steps have the bits of their entries, whatever the order of sums: the rest is to rounding */
#define DENSE "-muon_type dense -muon_weight_decay 0.1 -muon_shape_factor "
/*
   The decay tells entries apart that steps of one size would make ties of, which are broken in the order of
   memory
*/
#define EF21 "-muon_type ef21 -lmo_type max -muon_weight_decay 0.1 -ef21_compressor_ratio 0.3 -ef21_server_compressor_ratio 0.4 -ef21_compressor "
static const char *const Exact[] = {
  DENSE "kj -lmo_type max",
  DENSE "none -lmo_type l1",
  DENSE "kj -lmo_type rowsum",
  DENSE "moonlight -lmo_type colsum",
  DENSE "scion -lmo_type max -muon_layer_tall_blocks_rows 3,5 -muon_layer_wide_blocks_columns 4,5 -muon_layer_square_blocks_rows 2,4 -muon_layer_square_blocks_columns 1,5",
  DENSE "kj -lmo_type colsum -muon_layer_tall_blocks_rows 3,5 -muon_layer_wide_blocks_columns 4,5 -muon_layer_square_blocks_rows 2,4 -muon_layer_square_blocks_columns 1,5",
  "-muon_type ef21 -ef21_downlink step -lmo_type rowsum",
  "-muon_type ef21 -ef21_downlink step -lmo_type colsum -muon_layer_square_blocks_rows 2,4 -muon_layer_square_blocks_columns 1,5",
  "-muon_type ef21 -ef21_downlink step -lmo_type l1",
  EF21 "identity -ef21_server_compressor nearest",
  EF21 "topk -ef21_compressor_values native -ef21_server_compressor topk",
  EF21 "topk -ef21_compressor_values bf16 -ef21_server_compressor truncated -muon_layer_tall_blocks_rows 3,5 -muon_layer_square_blocks_columns 1,5",
  EF21 "columntopk -ef21_server_compressor rowtopk",
  EF21 "rowtopk -ef21_compressor_line_norm inf -ef21_server_compressor columntopk -ef21_server_compressor_line_norm 1 -muon_layer_wide_blocks_columns 4,5",
  EF21 "nearest -ef21_server_compressor bf16",
  EF21 "truncated -ef21_server_compressor damping",
  EF21 "bf16 -ef21_server_compressor identity",
  EF21 "damping -ef21_server_compressor topk -ef21_init gradient",
  EF21 "dropout -ef21_server_compressor identity",
};
static const char *const Rounded[] = {
  DENSE "kj -lmo_type spectral -lmo_polar_type svd",
  DENSE "kj -lmo_type spectral -lmo_polar_type newtonschulz -lmo_polar_precision double",
  DENSE "moonlight -lmo_type spectral -lmo_polar_type gram -lmo_polar_precision double -muon_layer_tall_blocks_rows 3,5",
  DENSE "none -lmo_type nuclear",
  DENSE "none -lmo_type schatten -lmo_schatten_exponent 3",
  DENSE "none -lmo_type frobenius",
  DENSE "scion -lmo_type column",
  DENSE "scion -lmo_type row",
  DENSE "none -lmo_type l21",
  DENSE "none -lmo_type mixed -lmo_mixed_exponent_p 3 -lmo_mixed_exponent_q 4",
  "-muon_type ef21 -ef21_downlink step -lmo_type nuclear",
  "-muon_type ef21 -ef21_downlink step -lmo_type l21",
  "-muon_type ef21 -lmo_type frobenius -ef21_compressor rankk -ef21_compressor_rank 2 -ef21_compressor_values native",
  "-muon_type ef21 -lmo_type frobenius -ef21_compressor topsvd -ef21_compressor_rank 2 -ef21_compressor_values native -ef21_server_compressor rankk -ef21_server_compressor_values native",
  "-muon_type ef21 -lmo_type frobenius -ef21_compressor sign",
};
/* By rows, and the transpose by columns */
static const char *const Transposes[][2] = {
  {DENSE "none -lmo_type max", DENSE "none -lmo_type max"},
  {DENSE "none -lmo_type l1", DENSE "none -lmo_type l1"},
  {DENSE "none -lmo_type rowsum", DENSE "none -lmo_type colsum"},
  {"-muon_type ef21 -ef21_downlink step -lmo_type colsum", "-muon_type ef21 -ef21_downlink step -lmo_type rowsum"},
  {EF21 "topk -ef21_server_compressor topk", EF21 "topk -ef21_server_compressor topk"},
  {EF21 "topk -ef21_compressor_values natural -ef21_server_compressor natural", EF21 "topk -ef21_compressor_values natural -ef21_server_compressor natural"},
  {EF21 "randk -ef21_compressor_values natural -ef21_server_compressor randk", EF21 "randk -ef21_compressor_values natural -ef21_server_compressor randk"},
  {EF21 "qsgd -ef21_compressor_qsgd_block_length 16 -ef21_server_compressor sign", EF21 "qsgd -ef21_compressor_qsgd_block_length 16 -ef21_server_compressor sign"},
  {EF21 "sign -ef21_server_compressor qsgd -ef21_server_compressor_qsgd_block_norm l2", EF21 "sign -ef21_server_compressor qsgd -ef21_server_compressor_qsgd_block_norm l2"},
  {EF21 "natural -ef21_server_compressor dropout", EF21 "natural -ef21_server_compressor dropout"},
  {EF21 "rowtopk -ef21_server_compressor columntopk -ef21_server_compressor_line_norm 3", EF21 "columntopk -ef21_server_compressor rowtopk -ef21_server_compressor_line_norm 3"},
  {EF21 "columntopk -ef21_compressor_values natural -ef21_server_compressor damping", EF21 "rowtopk -ef21_compressor_values natural -ef21_server_compressor damping"},
  {EF21 "natural -muon_layer_tall_blocks_rows 3,5 -muon_layer_square_blocks_columns 1,5", EF21 "natural -muon_layer_tall_blocks_columns 3,5 -muon_layer_square_blocks_rows 1,5"},
};

/* The same to rounding: norms that are sums of squares, singular vectors */
static const char *const Nearly[][2] = {
  {DENSE "none -lmo_type frobenius", DENSE "none -lmo_type frobenius"},
  {DENSE "none -lmo_type row", DENSE "none -lmo_type column"},
  {DENSE "none -lmo_type spectral -lmo_polar_type svd", DENSE "none -lmo_type spectral -lmo_polar_type svd"},
  {"-muon_type ef21 -lmo_type frobenius -ef21_compressor rankk -ef21_compressor_rank 2 -ef21_compressor_values native", "-muon_type ef21 -lmo_type frobenius -ef21_compressor rankk -ef21_compressor_rank 2 -ef21_compressor_values native"},
};

int main(int argc, char **argv)
{
  const PetscDataType types[] = {PETSC_DOUBLE, PETSC_FLOAT};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  for (int t = 0; t < 2; t++) {
    for (size_t k = 0; k < sizeof(Exact) / sizeof(Exact[0]); k++) PetscCall(CheckExact(Exact[k], Exact[k], BY_COLUMNS, types[t]));
    for (size_t k = 0; k < sizeof(Rounded) / sizeof(Rounded[0]); k++) PetscCall(CheckRounding(Rounded[k], Rounded[k], BY_COLUMNS, types[t]));
    for (size_t k = 0; k < sizeof(Nearly) / sizeof(Nearly[0]); k++) PetscCall(CheckRounding(Nearly[k][0], Nearly[k][1], TRANSPOSED, types[t]));
    for (size_t k = 0; k < sizeof(Transposes) / sizeof(Transposes[0]); k++) PetscCall(CheckExact(Transposes[k][0], Transposes[k][1], TRANSPOSED, types[t]));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2}}

TEST*/
