static char help[] = "Worked examples of SignMuon: a vote of three and of four workers, the 4 x 4 layer on which the sign of a polar factor ascends, zeros of both signs.\n";

#include "problem.h"
#include "mpicount.h"

/* By rows, as the layers of this test lie in memory */
static const double        Momenta[4][4] = {{4, 3, -3, 4}, {-6, 8, 8, 6}, {5, -12, 12, 5}, {8, 15, -15, 8}};
static const unsigned char Bytes[4]      = {0x0B, 0x0E, 0x0D, 0x0B};

#define DEFAULT 4 /* behind the ties that there are */

static double Given(const Problem *p, PetscInt layer, PetscInt i, PetscInt j, PetscInt step, double w)
{
  return ((const double *)p->data)[i * p->layer[layer].shape->n + j];
}

/* One step of a layer from w, without momentum; tie may be DEFAULT */
static PetscErrorCode Step(const char layer[], const double g[], double w[], int direction, int update, int tie, const char rate[], PetscReal *agreement)
{
  Problem p;

  PetscFunctionBeginUser;
  PetscCall(ProblemCreateWith(
    &p, "-muon_type sign -problem_layers %s -problem_storage rows -problem_setup 0 -lmo_type spectral -lmo_polar_type svd -muon_momentum 0 -muon_exchange_type replicated -muon_learning_rate %s -sign_direction %s -sign_update %s%s%s", layer, rate,
    MuonSignDirections[direction], MuonSignUpdates[update], tie != DEFAULT ? " -sign_tie " : "", tie != DEFAULT ? MuonSignTies[tie] : ""));
  p.form = Given;
  p.data = g;
  PetscCall(ProblemSetRows(&p, 0, w));
  PetscCall(MuonStep(p.muon));
  PetscCall(ProblemGetRows(&p, 0, NULL, w, NULL));
  if (agreement != NULL) PetscCall(MuonSignGetAgreement(p.muon, agreement));
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The bits of each worker, in the packets that all ranks get: 36 bytes of packet, 9 of the message's header
*/
static int  sent[16];
static void Look(MPICountKind kind, int sender, unsigned char *data, size_t bytes)
{
  if (kind == MPICOUNT_ALLGATHERV && sender < 16) sent[sender] = bytes == 64 && memcmp(data, "PMW1", 4) == 0 ? data[36 + 9] : -1;
}

static PetscErrorCode CheckVote(PetscMPIInt rank, PetscMPIInt size)
{
  static const int Three[3] = {0, 2, 3};
  const double     r        = 1 / PetscSqrtReal(2);
  /*
     Steps of three workers, whose majority is [[1,1],[-1,1]], by update; of four, where entry (1,0) is a tie
     and all others are plus, by tie
  */
  const double three[4][4] = {{1, 1, -1, 1}, {0.5, 0.5, -0.5, 0.5}, {r, r, -r, r}, {r, r, -r, r}};
  const double four[3][4]  = {{1, 1, 1, 1}, {1, 1, -1, 1}, {1, 1, 0, 1}};

  PetscFunctionBeginUser;
  for (int update = 0; update < 4; update++) {
    for (int way = 0; way <= DEFAULT; way++) {
      const int worker = size == 3 ? Three[rank] : rank;
      int       tie    = way;
      double    w[4] = {1, 1, 1, 1}, v[4] = {1, 1, 1, 1}, minus[4];
      PetscReal agreement;

      mpicount_received = Look;
      PetscCall(Step("w:2x2", Momenta[worker], w, MUON_SIGN_DIRECTION_POLAR, update, way, "0.1", &agreement));
      mpicount_received = NULL;
      if (way == DEFAULT) tie = MUON_SIGN_TIE_ZERO;
      else if (way == MUON_SIGN_TIE_RANDOM) {
        /* Either of them, and the other one against the other sign */
        tie = w[2] < 1 ? MUON_SIGN_TIE_PLUS : MUON_SIGN_TIE_MINUS;
        for (int e = 0; e < 4; e++) minus[e] = -Momenta[worker][e];
        PetscCall(Step("w:2x2", minus, v, MUON_SIGN_DIRECTION_POLAR, update, way, "0.1", &agreement));
        for (int e = 0; e < 4; e++) PetscCheck(PetscAbsReal(w[e] + v[e] - 2) < 1e3 * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d workers: entry %d goes to %g, and against the other sign to %g", size, e, w[e], v[e]);
      }
      for (int j = 0; j < size; j++) PetscCheck(sent[j] == Bytes[size == 3 ? Three[j] : j], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Worker %d sent %02x, not %02x", j, (unsigned)sent[j], (unsigned)Bytes[size == 3 ? Three[j] : j]);
      /* Sums of votes are [[3,1],[-1,3]] of three, [[2,2],[0,4]] of four */
      PetscCheck(PetscAbsReal(agreement - (PetscReal)(size == 3 ? 8. / 12 : 8. / 16)) < 4 * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Agreement %g of %d", (double)agreement, size);
      for (int e = 0; e < 4; e++) {
        double step = three[update][e];

        if (size == 4) {
          step = four[tie][e];
          if (update == MUON_SIGN_UPDATE_FROBENIUS) step /= 2;
          /*
             ||ones||_2 = 2 and polar(ones) = ones/2; [[1,1],[-1,1]] as above; [[1,1],[0,1]] has the largest
             singular value (1 + sqrt 5)/2 and the polar factor [[2,1],[-1,2]]/sqrt 5
          */
          if (update >= MUON_SIGN_UPDATE_SPECTRAL && tie == 0) step /= 2;
          if (update >= MUON_SIGN_UPDATE_SPECTRAL && tie == 1) step *= r;
          if (update == MUON_SIGN_UPDATE_SPECTRAL && tie == 2) step /= (1 + PetscSqrtReal(5)) / 2;
          if (update == MUON_SIGN_UPDATE_POLAR && tie == 2) step = (e == 1 ? 1 : e == 2 ? -1 : 2) / PetscSqrtReal(5);
        }
        PetscCheck(PetscAbsReal(w[e] - (1 - 0.1 * step)) < 1e3 * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d workers, update %s, ties %s: entry %d is %.17g, expected %.17g", size, MuonSignUpdates[update], MuonSignTies[tie], e, w[e],
                   1 - 0.1 * step);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   f(X) = <G, X> with G = s u v^T + O, O v = u: polar(G) = O whatever s > 0 is, and f changes by -rate (532 -
   43 s)/103 with the update none
*/
static PetscErrorCode CheckAscent(PetscReal s, PetscBool ascends)
{
  static const double O[16] = {101, 20, 2, -2, -20, 97, 20, -20, -2, 20, 2, 101, -2, 20, -101, -2}, u[4] = {10, -3, 10, 10}, v[4] = {10, 3, -10, 10};
  double              G[16], w[16], change = 0, gradient = 0;
  const double        expected = -(532 - 43 * s) / 103;

  PetscFunctionBeginUser;
  for (int i = 0; i < 4; i++) {
    for (int j = 0; j < 4; j++) G[4 * i + j] = s * u[i] * v[j] / 309 + O[4 * i + j] / 103;
  }
  PetscCall(PetscArrayzero(w, 16));
  PetscCall(Step("w:4x4", G, w, MUON_SIGN_DIRECTION_POLAR, MUON_SIGN_UPDATE_NONE, MUON_SIGN_TIE_PLUS, "1", NULL));
  for (int e = 0; e < 16; e++) change += G[e] * w[e];
  PetscCheck(PetscAbsReal(change - expected) < 1e-4 && (change > 0) == (ascends == PETSC_TRUE), PETSC_COMM_SELF, PETSC_ERR_PLIB, "s = %g: the function changes by %.10g, expected %.10g", (double)s, change, expected);
  /* The sign of the gradient itself descends */
  PetscCall(PetscArrayzero(w, 16));
  PetscCall(Step("w:4x4", G, w, MUON_SIGN_DIRECTION_GRADIENT, MUON_SIGN_UPDATE_NONE, MUON_SIGN_TIE_PLUS, "1", NULL));
  for (int e = 0; e < 16; e++) gradient += G[e] * w[e];
  PetscCheck(gradient < 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "s = %g: the sign of the gradient ascends", (double)s);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The smallest numbers vote as they are, zeros of both signs as often for plus as for minus: within five deviations */
static PetscErrorCode CheckZeros(void)
{
  enum {
    ALL = 70 * 33 /* of the layer grand */
  };
  const double some[4] = {5e-324, -5e-324, 1, -1}, expected[4] = {-1, 1, -1, 1};
  double       g[ALL];

  PetscFunctionBeginUser;
  for (int e = 0; e < ALL; e++) g[e] = e < 4 ? some[e] : e % 2 == 0 ? 0. : -0.;
  for (int direction = MUON_SIGN_DIRECTION_MOMENTUM; direction <= MUON_SIGN_DIRECTION_ADAM; direction++) {
    double w[ALL] = {0}, sum = 0, moved = 0;

    PetscCall(Step("grand", g, w, direction, MUON_SIGN_UPDATE_NONE, MUON_SIGN_TIE_ZERO, "1", NULL));
    for (int e = 0; e < 4; e++) PetscCheck(w[e] == expected[e], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entry %g moved to %g, expected %g", MuonSignDirections[direction], g[e], w[e], expected[e]);
    for (int e = 4; e < ALL; e++) sum += w[e], moved += fabs(w[e]);
    PetscCheck(fabs(sum) < 5 * sqrt(ALL - 4) && moved > 1000, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %d zeros moved by %g, and all together by %g", MuonSignDirections[direction], ALL - 4, moved, sum);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt rank, size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size > 1) PetscCall(CheckVote(rank, size));
  PetscCall(CheckAscent(10, PETSC_FALSE));
  PetscCall(CheckAscent(13, PETSC_TRUE));
  PetscCall(CheckAscent(100, PETSC_TRUE));
  PetscCall(CheckZeros());
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    requires: double

  test:
    nsize: {{1 3 4}}
    filter: grep -v "moves each entry on which"
    output_file: output/kernels_ok.out

TEST*/
