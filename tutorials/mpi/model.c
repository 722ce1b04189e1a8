static char help[] = "The alpha-beta model: a message of s bytes takes alpha + beta s seconds. An all-reduce along a ring by hand, whose messages are counted against the model's; then what the model says of the six ways.\n\n"
                     "  mpiexec -n 4 ./model -model_measure     alpha and beta by a ping-pong, and the ring in seconds beside the model\n"
                     "  mpiexec -n 4 ./model -model_alpha 1e-6 -model_gigabits 100 -model_entries 1000000\n\n";

#include "step.h"
#include <petsctime.h>

/* Latency and time a byte, and what a rank has sent by hand */
typedef struct {
  double    alpha, beta;
  int       messages;
  long long bytes;
} Link;

/*
   The sum of x over all ranks, in x: P - 1 messages in which pieces are summed on their way, and P - 1 in
   which the sums go around
*/
static PetscErrorCode RingAllreduce(Link *link, PetscMPIInt size, PetscMPIInt rank, int n, PetscScalar x[])
{
  const int    next = (rank + 1) % size, previous = (rank + size - 1) % size;
  PetscScalar *piece;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(n / size + 1, &piece));
  for (int round = 0; round < 2 * (size - 1); round++) {
    /* Piece k begins at k n / size. In each round one leaves and the one before it arrives */
    const int       k = (rank - round + 2 * size) % size, j = (k + size - 1) % size;
    const int       from = (int)((long long)n * k / size), to = (int)((long long)n * (k + 1) / size), at = (int)((long long)n * j / size), end = (int)((long long)n * (j + 1) / size);
    const PetscBool adds = round < size - 1 ? PETSC_TRUE : PETSC_FALSE;

    PetscCallMPI(MPI_Sendrecv(x + from, to - from, MPIU_SCALAR, next, 0, piece, end - at, MPIU_SCALAR, previous, 0, PETSC_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < end - at; i++) x[at + i] = adds ? x[at + i] + piece[i] : piece[i];
    link->messages++;
    link->bytes += (to - from) * (long long)sizeof(PetscScalar);
  }
  PetscCall(PetscFree(piece));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A message of one entry takes alpha there and back, one of a million beta times its bytes */
static PetscErrorCode PingPong(PetscMPIInt size, PetscMPIInt rank, Link *link)
{
  const int    lengths[] = {1, 1000000}, repeats = 50;
  double       seconds[2];
  PetscScalar *x;

  PetscFunctionBeginUser;
  PetscCheck(size > 1, PETSC_COMM_WORLD, PETSC_ERR_ARG_SIZ, "-model_measure on one rank, expected at least two");
  PetscCall(PetscCalloc1(lengths[1], &x));
  for (int k = 0; k < 2; k++) {
    seconds[k] = 1e30;
    for (int i = 0; i < repeats; i++) {
      PetscLogDouble start, end;

      PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
      PetscCall(PetscTime(&start));
      if (rank == 0) {
        PetscCallMPI(MPI_Send(x, lengths[k], MPIU_SCALAR, size - 1, 0, PETSC_COMM_WORLD));
        PetscCallMPI(MPI_Recv(x, lengths[k], MPIU_SCALAR, size - 1, 0, PETSC_COMM_WORLD, MPI_STATUS_IGNORE));
      } else if (rank == size - 1) {
        PetscCallMPI(MPI_Recv(x, lengths[k], MPIU_SCALAR, 0, 0, PETSC_COMM_WORLD, MPI_STATUS_IGNORE));
        PetscCallMPI(MPI_Send(x, lengths[k], MPIU_SCALAR, 0, 0, PETSC_COMM_WORLD));
      }
      PetscCall(PetscTime(&end));
      seconds[k] = PetscMin(seconds[k], (end - start) / 2); /* what disturbs only makes it longer */
    }
  }
  link->alpha = seconds[0];
  link->beta  = (seconds[1] - seconds[0]) / ((double)(lengths[1] - lengths[0]) * sizeof(PetscScalar));
  PetscCallMPI(MPI_Bcast(&link->alpha, 2, MPI_DOUBLE, 0, PETSC_COMM_WORLD));
  PetscCall(PetscFree(x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PrintWay(const Link *link, const char name[], double messages, double bytes)
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-34s %8.0f %14.0f %10.3f\n", name, messages, bytes, 1e3 * (messages * link->alpha + bytes * link->beta)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscReal      alpha = (PetscReal)25e-6, gigabits = 10;
  PetscInt       entries = 4160, planned = 8;
  Link           link    = {0, 0, 0, 0};
  PetscBool      measure = PETSC_FALSE;
  PetscMPIInt    size, rank;
  PetscScalar   *x;
  PetscLogDouble start, end;
  double         P, s, most;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(GetRanks(&size, &rank));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-model_entries", &entries, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-model_ranks", &planned, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-model_alpha", &alpha, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-model_gigabits", &gigabits, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-model_measure", &measure, NULL));
  link.alpha = (double)alpha;
  link.beta  = 8e-9 / (double)gigabits;
  if (measure) PetscCall(PingPong(size, rank, &link));

  /* Whole numbers: the sum is exact */
  PetscCall(PetscMalloc1(entries, &x));
  for (PetscInt i = 0; i < entries; i++) x[i] = (PetscReal)(rank + i % 100);
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(&start));
  PetscCall(RingAllreduce(&link, size, rank, (int)entries, x));
  PetscCall(PetscTime(&end));
  for (PetscInt i = 0; i < entries; i++) PetscCheck(PetscRealPart(x[i]) == (PetscReal)(size * (i % 100) + size * (size - 1) / 2), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Entry %" PetscInt_FMT " of the sum is %g", i, (double)PetscRealPart(x[i]));
  PetscCall(PetscFree(x));
  P = size;
  s = (double)entries;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ring of %d ranks, %" PetscInt_FMT " entries: rank 0 sent %d messages of %lld entries in all, the model says %.0f and %.0f\n", size, entries, link.messages, link.bytes / (long long)sizeof(PetscScalar),
                        2 * (P - 1), 2 * (P - 1) * s / P));
  if (measure) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ping-pong: alpha %.3g us, %.3g Gbit/s\n", 1e6 * link.alpha, 8e-9 / link.beta));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ring: %.3g ms, the model says %.3g ms\n", 1e3 * (end - start), 1e3 * 2 * (P - 1) * (link.alpha + link.beta * s * sizeof(PetscScalar) / P)));
  }

  /*
     s bytes of gradients in single precision, and of weights; what the busiest rank sends or receives, one
     after the other
  */
  P = (double)planned;
  s *= 4;
  most = s / 10 * 2; /* a tenth of the entries, each with a position of 4 bytes */
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-34s %8s %14s %10s\n", "one step on the link", "messages", "bytes", "ms"));
  PetscCall(PrintWay(&link, "star, everybody at rank 0", 2 * (P - 1), 2 * (P - 1) * s));
  PetscCall(PrintWay(&link, "star, along trees", 2 * PetscCeilReal(PetscLog2Real((PetscReal)P)), 2 * PetscCeilReal(PetscLog2Real((PetscReal)P)) * s));
  PetscCall(PrintWay(&link, "all-reduce, or owners, along rings", 2 * (P - 1), 2 * (P - 1) / P * s));
  PetscCall(PrintWay(&link, "ragged up, weights down", 2 * (P - 1), (P - 1) / P * (most + s)));
  PetscCall(PrintWay(&link, "votes of all to all", P - 1, (P - 1) * s / 32));
  PetscCall(PrintWay(&link, "votes by ranges", 2 * (P - 1), 2 * (P - 1) / P * s / 32));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  table: suffix | nsize | args | output_file
    text  | 4         |                    | README.md
    sizes | {{1 3 5}} | -model_entries 101 |

TEST*/
