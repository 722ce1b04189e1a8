static char help[] = "A network whose weights and gradients are two flat arrays of float, as small C libraries for networks have them.\n"
                     "The loop that averages gradients over ranks and takes a step of RMSprop is replaced by a Muon on the same arrays.\n\n"
                     "  -flat_rmsprop : the loop as it was\n\n";

#include <petscmuon.h>

#define WIDTH  32
#define POINTS 360 /* of all ranks together: two spirals, one inside the other */
#define STEPS  600

/* Where the parameters lie in the flat arrays: rows x columns each, by rows, one behind the other */
static const struct {
  const char *name;
  int         rows, columns;
} layout[] = {{"W1", WIDTH, 3}, {"W2", WIDTH, WIDTH}, {"W3", 1, WIDTH}};
#define ENTRIES (WIDTH * 3 + WIDTH * WIDTH + WIDTH)

typedef struct {
  float x[ENTRIES], g[ENTRIES]; /* weights and gradients */
  int   rank, size;
} Net;

/* The logistic loss of one point of the spirals; adds `by` times its gradient to g */
static double Point(const float x[], float g[], int k, float by, int *right)
{
  const float  sign = k % 2 ? 1 : -1, t = (float)(k / 2 + 1) / (POINTS / 2), angle = 9 * t + (k % 2 ? 3.14159265f : 0), in[3] = {t * cosf(angle), t * sinf(angle), 1};
  const float *W1 = x, *W2 = W1 + 3 * WIDTH, *W3 = W2 + WIDTH * WIDTH;
  float       *G1 = g, *G2 = G1 + 3 * WIDTH, *G3 = G2 + WIDTH * WIDTH, a[WIDTH], b[WIDTH], da[WIDTH] = {0}, out = 0, d;

  for (int i = 0; i < WIDTH; i++) a[i] = tanhf(4 * (W1[3 * i] * in[0] + W1[3 * i + 1] * in[1] + W1[3 * i + 2] * in[2]));
  for (int i = 0; i < WIDTH; i++) {
    b[i] = 0;
    for (int j = 0; j < WIDTH; j++) b[i] += W2[i * WIDTH + j] * a[j];
    b[i] = tanhf(b[i]);
    out += W3[i] * b[i];
  }
  *right += sign * out > 0;
  d = -by * sign / (1 + expf(sign * out));
  for (int i = 0; i < WIDTH; i++) {
    const float db = d * W3[i] * (1 - b[i] * b[i]);

    G3[i] += d * b[i];
    for (int j = 0; j < WIDTH; j++) {
      G2[i * WIDTH + j] += db * a[j];
      da[j] += db * W2[i * WIDTH + j];
    }
  }
  for (int i = 0; i < WIDTH; i++) {
    for (int j = 0; j < 3; j++) G1[3 * i + j] += 4 * da[i] * (1 - a[i] * a[i]) * in[j];
  }
  return log1p(exp(-(double)(sign * out)));
}

/* Mean loss and gradient of the points of this rank, and how many of them are on the right side */
static double Backward(Net *net, int *right)
{
  const int mine = POINTS / net->size;
  double    loss = 0;

  memset(net->g, 0, sizeof(net->g));
  *right = 0;
  for (int k = 0; k < mine; k++) loss += Point(net->x, net->g, k * net->size + net->rank, 1 / (float)mine, right) / mine;
  return loss;
}

/* The loop as it was: a mean over the ranks, and a step of RMSprop on each */
static int TrainRMSprop(Net *net)
{
  static float r[ENTRIES];
  int          right = 0;

  for (int step = 0; step < STEPS; step++) {
    const float rate = 0.01f * (1 - (float)step / STEPS);

    (void)Backward(net, &right);
    MPI_Allreduce(MPI_IN_PLACE, net->g, ENTRIES, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    for (int k = 0; k < ENTRIES; k++) {
      const float g = net->g[k] / (float)net->size;

      r[k] = 0.9f * r[k] + 0.1f * g * g;
      net->x[k] -= rate * g / (sqrtf(r[k]) + 1e-6f);
    }
  }
  return 0;
}

/* The loop as it is: layers are names of what lies in the arrays; nothing is copied */
static PetscErrorCode Train(Net *net)
{
  Muon muon;
  int  right;

  PetscFunctionBeginUser;
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  for (size_t l = 0, at = 0; l < sizeof(layout) / sizeof(layout[0]); l++) {
    MuonLayerArray array;

    PetscCall(MuonLayerArrayInitialize(&array));
    array.type     = PETSC_FLOAT;
    array.rowmajor = PETSC_TRUE;
    array.M        = layout[l].rows;
    array.N        = layout[l].columns;
    array.w        = net->x + at;
    array.g        = net->g + at;
    at += (size_t)(layout[l].rows * layout[l].columns);
    PetscCall(MuonAddLayerArray(muon, layout[l].name, &array, NULL));
  }
  PetscCall(MuonSetLearningRate(muon, (PetscReal)0.05));
  PetscCall(MuonSetSchedule(muon, MUON_SCHEDULE_LINEAR, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSetMaxSteps(muon, STEPS));
  PetscCall(MuonSetFromOptions(muon));
  for (int step = 0; step < STEPS; step++) {
    (void)Backward(net, &right);
    PetscCall(MuonStep(muon));
  }
  PetscCall(MuonDestroy(&muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static Net  net;
  PetscBool   rmsprop = PETSC_FALSE;
  PetscMPIInt rank, size;
  double      loss;
  int         right;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCheck(POINTS % size == 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_SIZ, "%d points cannot be shared equally by %d ranks", POINTS, size);
  net.rank = rank;
  net.size = size;
  for (int k = 0; k < ENTRIES; k++) net.x[k] = 0.25f * sinf((float)(k * k % 1009 + 1));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-flat_rmsprop", &rmsprop, NULL));
  if (rmsprop) (void)TrainRMSprop(&net);
  else PetscCall(Train(&net));
  loss = Backward(&net, &right);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &loss, 1, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %d of %d points right, loss %.3f after %d steps\n", rmsprop ? "RMSprop" : "Muon", right, POINTS, loss / size, STEPS));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  # The same arrays, the same number of steps: both find the spirals, whatever the number of ranks and the messages
  testset:
    filter: sed 's/loss.*after/after/'
    table: suffix | nsize | args | output_file
      rmsprop | 2       | -flat_rmsprop                                      |
      check   | {{1 3}} |                                                    |
      qsgd    | 2       | -ef21_compressor qsgd -ef21_server_compressor qsgd | output/flat_check.out
  test:
    suffix: ranks
    nsize: 7
    error: points cannot be shared equally

  # Bars of the bytes of 32 x 3, 32 x 32 and 1 x 32 entries, up and down: as many rows of green pixels above the axis in the middle of each, to two
  test:
    suffix: draw
    nsize: 2
    env: PETSC_OPTIONS=
    args: -muon_type dense -muon_monitor draw::draw_lg -muon_monitor_interval 600 -draw_type image -draw_save .ppm
    filter: for f in $(find . -name '*_1.ppm'); do tail -c 270000 $f | od -An -v -tu1 -w900 | awk 'NR < 284 { for (k = 0; k < 3; k++) h[k] += $(3 * (88 + 77 * k) + 1) == 0 && $(3 * (88 + 77 * k) + 2) == 255 } END { a = h[0] - h[1] * 96 / 1024; b = h[2] - h[1] * 32 / 1024; print (h[1] > 250 && a * a <= 4 && b * b <= 4) }'; done

TEST*/
