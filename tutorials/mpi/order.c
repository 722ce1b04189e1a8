static char help[] = "Sums in floating point depend on their order. Four orders of the same sums by hand; then steps of ours, which are the same to the last bit in every exchange that sums messages in the order of ranks.\n\n"
                     "  mpiexec -n 3 ./order -order_mpi     also how this MPI's own sums differ from that order\n\n";

#include "step.h"

/* Adds what the ranks have in the order given: all has n entries of each rank */
static void SumInOrder(int size, const int order[], int n, const PetscScalar all[], PetscScalar sum[])
{
  for (int i = 0; i < n; i++) {
    sum[i] = 0;
    for (int r = 0; r < size; r++) sum[i] += all[order[r] * n + i];
  }
}

/* Pairs of neighbors, then pairs of pairs, as along a binomial tree */
static void SumByTree(int size, int n, PetscScalar all[], PetscScalar sum[])
{
  for (int distance = 1; distance < size; distance *= 2) {
    for (int r = 0; r + distance < size; r += 2 * distance) {
      for (int i = 0; i < n; i++) all[r * n + i] += all[(r + distance) * n + i];
    }
  }
  memcpy(sum, all, (size_t)n * sizeof(*sum));
}

static PetscErrorCode PrintDifference(const char name[], int n, const PetscScalar sum[], const PetscScalar first[])
{
  int       differ  = 0;
  PetscReal largest = 0;

  PetscFunctionBeginUser;
  for (int i = 0; i < n; i++) {
    differ += sum[i] != first[i];
    largest = PetscMax(largest, PetscAbsScalar(sum[i] - first[i]) / PetscAbsScalar(first[i]));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-32s %4d of %d sums differ, by at most %.1f units of rounding\n", name, differ, n, (double)(largest / PETSC_MACHINE_EPSILON)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Five steps of ours from zero: after the first, gradients are no round numbers any more, and sums of them
   are rounded
*/
static PetscErrorCode Run(const char options[], PetscScalar w[])
{
  Context context;
  Muon    muon;

  PetscFunctionBeginUser;
  context.overlap = PETSC_FALSE;
  memset(w, 0, ENTRIES * sizeof(*w));
  PetscCall(CreateOptimizer(options, w, &context, &muon));
  for (int s = 0; s < 5; s++) PetscCall(MuonStep(muon));
  PetscCall(MuonDestroy(&muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const char *const exchanges[] = {"star", "layerwise", "replicated"};
  PetscScalar              g[ENTRIES], sum[ENTRIES], first[ENTRIES], *all;
  PetscMPIInt              size, rank;
  PetscBool                mpi             = PETSC_FALSE;
  int                      order[MAXRANKS] = {0};

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(GetRanks(&size, &rank));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-order_mpi", &mpi, NULL));

  PetscCall(PetscMalloc1(ENTRIES * size, &all));
  for (int i = 0; i < ENTRIES; i++) g[i] = 1 / (PetscReal)(3 * i + 7 * rank + 1);
  PetscCallMPI(MPI_Allgather(g, ENTRIES, MPIU_SCALAR, all, ENTRIES, MPIU_SCALAR, PETSC_COMM_WORLD));
  for (int r = 0; r < size; r++) order[r] = r;
  SumInOrder(size, order, ENTRIES, all, first);
  for (int r = 0; r < size; r++) order[r] = size - 1 - r;
  SumInOrder(size, order, ENTRIES, all, sum);
  PetscCall(PrintDifference("last rank first", ENTRIES, sum, first));
  for (int r = 0; r < size; r++) order[r] = (r + rank) % size;
  SumInOrder(size, order, ENTRIES, all, sum);
  PetscCallMPI(MPI_Bcast(sum, ENTRIES, MPIU_SCALAR, size - 1, PETSC_COMM_WORLD));
  PetscCall(PrintDifference("each rank begins with its own", ENTRIES, sum, first));
  SumByTree(size, ENTRIES, all, sum);
  PetscCall(PrintDifference("along a tree", ENTRIES, sum, first));
  if (mpi) {
    PetscCallMPI(MPI_Allreduce(g, sum, ENTRIES, MPIU_SCALAR, MPIU_SUM, PETSC_COMM_WORLD));
    PetscCall(PrintDifference("MPI_Allreduce", ENTRIES, sum, first));
  }

  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(exchanges); k++) {
    char options[256];
    int  same;

    PetscCall(PetscSNPrintf(options, sizeof(options), "-muon_type ef21 -ef21_compressor_values native -lmo_type frobenius -muon_exchange_mode gather -muon_exchange_type %s", exchanges[k]));
    PetscCall(Run(options, k == 0 ? first : sum));
    same = k == 0 || memcmp(first, sum, sizeof(sum)) == 0;
    memcpy(g, k == 0 ? first : sum, sizeof(g));
    PetscCallMPI(MPI_Bcast(g, ENTRIES, MPIU_SCALAR, 0, PETSC_COMM_WORLD));
    same = same && memcmp(g, k == 0 ? first : sum, sizeof(g)) == 0; /* on this rank and on rank 0 */
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_LAND, PETSC_COMM_WORLD));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ours, gather, %-10s            weights of five steps: %s\n", exchanges[k], same ? "the same bits on all ranks" : "different"));
    PetscCheck(same, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The exchange %s leads elsewhere", exchanges[k]);
  }
  PetscCall(PetscFree(all));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  test:
    suffix: text
    requires: double
    nsize: 4
    output_file: README.md
  test:
    suffix: mpi
    nsize: 3
    args: -order_mpi

TEST*/
