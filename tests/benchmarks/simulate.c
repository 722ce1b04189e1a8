/*
   The messages of one step of each exchange, by the library's transport alone: on the ranks that there are, or, compiled by
   SimGrid's smpicc, on a machine that there is not. simulate.py does the latter and has a table.

     mpiexec -n 4 ./simulate                              all exchanges, of messages of a megabyte
     mpiexec -n 4 ./simulate layerwise-gather 1e7 2e6     one, of so many bytes up and down
     mpiexec -n 4 ./simulate star-reduce 1e7 1e7 13       in so many sums

   Owners have even shares. No memory is filled: nothing is computed from what arrives.
*/
#include <transport/muontransport.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const Ways[] = {"star-reduce", "star-gather", "replicated-allreduce", "replicated-gather", "layerwise-reduce", "layerwise-allreduce", "layerwise-gather"};

static int Is(const char *way, const char *begin)
{
  return strncmp(way, begin, strlen(begin)) == 0;
}
static const char *ModeOf(const char *way)
{
  return strchr(way, '-') + 1;
}

/* Memory is there already; each error is counted */
static int Step(MuonTransport *t, const char *way, uint64_t up, uint64_t down, int sums, unsigned char *out, float *sum, uint64_t offset[], uint64_t bytes[], MuonTransportBuffer *in)
{
  const int    star = Is(way, "star"), replicated = Is(way, "replicated"), all = Is(ModeOf(way), "allreduce"), gathers = Is(ModeOf(way), "gather");
  const size_t count  = (size_t)up / sizeof(float) / (size_t)sums;
  double       one[4] = {0, 0, 0, 0}, *records = (double *)malloc((size_t)t->size * sizeof(one));
  int          wrong = records == NULL ? 1 : 0;

  if (gathers && !star && !replicated) wrong += MuonTransportAllToAll(t, out, offset, bytes, in) != MPI_SUCCESS;
  else if (gathers) wrong += MuonTransportGather(t, star ? 0 : MUON_TRANSPORT_EVERYWHERE, out, up, in) != MPI_SUCCESS;
  for (int s = 0; s < sums && !gathers; s++) wrong += MuonTransportSum(t, 1, all ? MUON_TRANSPORT_EVERYWHERE : star ? 0 : s % t->size, out, sum, count, MPI_FLOAT) != MPI_SUCCESS;
  if (star) wrong += MuonTransportBroadcast(t, 0, out, down, in) != MPI_SUCCESS;
  else if (!replicated) wrong += MuonTransportGather(t, MUON_TRANSPORT_EVERYWHERE, out, down / (uint64_t)t->size, in) != MPI_SUCCESS;
  /* The status of all ranks, and their vote */
  wrong += MuonTransportShare(t, one, records, 4, MPI_DOUBLE) != MPI_SUCCESS;
  wrong += MuonTransportSum(t, 1, MUON_TRANSPORT_EVERYWHERE, one, one + 1, 1, MPI_DOUBLE) != MPI_SUCCESS;
  free(records);
  return wrong;
}

static int Measure(MuonTransport *t, const char *way, double up, double down, int sums)
{
  const uint64_t      share = (uint64_t)up / (uint64_t)t->size, room = MuonTransportPadded(share);
  const size_t        most = (size_t)(up > down ? up : down) + (size_t)room * (size_t)t->size + MUON_TRANSPORT_UNIT;
  unsigned char      *out  = (unsigned char *)malloc(most);
  float              *sum  = (float *)malloc(Is(ModeOf(way), "gather") ? 1 : (size_t)up + sizeof(float));
  uint64_t           *part = (uint64_t *)malloc(2 * (size_t)t->size * sizeof(uint64_t));
  MuonTransportBuffer in;
  double              seconds, slowest;
  int                 wrong = out == NULL || sum == NULL || part == NULL || MuonTransportBufferInit(t, &in) != MPI_SUCCESS, failed;

  MPI_Allreduce(&wrong, &failed, 1, MPI_INT, MPI_MAX, t->comm);
  if (failed != 0) return 1;
  for (int r = 0; r < t->size; r++) {
    part[r]           = (uint64_t)r * room;
    part[t->size + r] = share;
  }
  MPI_Barrier(t->comm);
  seconds = MPI_Wtime();
  wrong   = Step(t, way, (uint64_t)up, (uint64_t)down, sums, out, sum, part, part + t->size, &in);
  seconds = MPI_Wtime() - seconds;
  MPI_Allreduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, t->comm);
  if (t->rank == 0) printf("%s ranks %d up %.0f down %.0f seconds %.6g\n", way, t->size, up, down, slowest);
  MuonTransportBufferFree(&in);
  free(out);
  free(sum);
  free(part);
  return wrong;
}

int main(int argc, char **argv)
{
  const char   *chosen = argc > 1 ? argv[1] : "";
  const double  up = argc > 2 ? atof(argv[2]) : 1e6, down = argc > 3 ? atof(argv[3]) : up;
  const int     sums = argc > 4 ? atoi(argv[4]) : 1;
  MuonTransport t;
  int           wrong, some = 0;

  MPI_Init(&argc, &argv);
  wrong = MuonTransportInit(&t, MPI_COMM_WORLD) != MPI_SUCCESS || sums < 1 || !(up >= 0) || !(down >= 0);
  for (size_t w = 0; w < sizeof(Ways) / sizeof(Ways[0]) && wrong == 0; w++) {
    if (!Is(Ways[w], chosen)) continue;
    wrong += Measure(&t, Ways[w], up, down, sums);
    some = 1;
  }
  if (some == 0 && t.rank == 0) fprintf(stderr, "simulate %s: no exchange's name begins so, or a size that is none\n", chosen);
  MuonTransportFree(&t);
  MPI_Finalize();
  return wrong != 0 || some == 0;
}

/*TEST

  link: internal

  # Every exchange of the table passes its messages; times are the machine's
  test:
    nsize: {{1 3}}
    filter: cut -d " " -f 1,4-7

  test:
    suffix: none
    args: nothing
    error: no exchange's name begins so

TEST*/
