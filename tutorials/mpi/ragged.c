static char help[] = "A training step of small messages: every rank sends the owner of a layer the largest tenth of its gradient, as positions and values, and the owners send weights.\n\n";

#include "step.h"

typedef struct {
  PetscInt    position;
  PetscScalar value;
} Entry;

static int CompareEntries(const void *first, const void *second)
{
  const Entry    *a = (const Entry *)first, *b = (const Entry *)second;
  const PetscReal x = PetscAbsScalar(a->value), y = PetscAbsScalar(b->value);

  if (x != y) return x > y ? -1 : 1;
  return a->position < b->position ? -1 : 1;
}

/* The largest tenth of layer l, those first in memory where some are equal. Returns how many there are */
static int Compress(PetscInt l, const PetscScalar g[], Entry message[])
{
  Entry     all[ENTRIES];
  const int n = begin[l + 1] - begin[l];

  for (int i = 0; i < n; i++) {
    all[i].position = begin[l] + i;
    all[i].value    = g[begin[l] + i];
  }
  qsort(all, (size_t)n, sizeof(Entry), CompareEntries);
  memcpy(message, all, (size_t)(n / 10) * sizeof(Entry));
  return n / 10;
}

int main(int argc, char **argv)
{
  PetscScalar  w[ENTRIES] = {0}, g[ENTRIES], sum[ENTRIES]            = {0};
  int          counts[MAXRANKS], starts[MAXRANKS], lengths[MAXRANKS] = {0}, offsets[MAXRANKS] = {0}, came[MAXRANKS], places[MAXRANKS] = {0}, used = 0;
  PetscMPIInt  size, rank;
  MPI_Datatype type;
  Entry       *out, *in;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(GetRanks(&size, &rank));
  Ranges(size, counts, starts);
  PetscCall(PetscMalloc2(ENTRIES, &out, ENTRIES * size, &in));
  PetscCallMPI(MPI_Type_contiguous(sizeof(Entry), MPI_BYTE, &type));
  PetscCallMPI(MPI_Type_commit(&type));

  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "by hand\n"));
  CountBegin(MPI_COMM_NULL);
  /* Messages to one owner lie side by side, and those to the next owner follow */
  for (PetscInt l = 0; l < LAYERS; l++) {
    int n;

    Gradient(rank, l, w + begin[l], g + begin[l]);
    n = Compress(l, g, out + used);
    lengths[Owner(l, size)] += n;
    used += n;
  }
  /* A receiver must know how much comes: sizes go ahead */
  PetscCallMPI(MPI_Alltoall(lengths, 1, MPI_INT, came, 1, MPI_INT, PETSC_COMM_WORLD));
  for (PetscMPIInt r = 1; r < size; r++) {
    offsets[r] = offsets[r - 1] + lengths[r - 1];
    places[r]  = places[r - 1] + came[r - 1];
  }
  PetscCallMPI(MPI_Alltoallv(out, lengths, offsets, type, in, came, places, type, PETSC_COMM_WORLD));
  for (int i = 0; i < places[size - 1] + came[size - 1]; i++) sum[in[i].position] += in[i].value; /* in the order of ranks */
  for (PetscInt l = 0; l < LAYERS; l++) {
    if (Owner(l, size) == rank) Move(l, sum + begin[l], w + begin[l]);
  }
  PetscCallMPI(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, w, counts, starts, MPIU_SCALAR, PETSC_COMM_WORLD));
  CountEnd();

  PetscCall(CompareWithOurs("-muon_type ef21 -ef21_compressor topk -ef21_compressor_values native -lmo_type frobenius -muon_exchange_type layerwise", PETSC_FALSE, w));
  PetscCallMPI(MPI_Type_free(&type));
  PetscCall(PetscFree2(out, in));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  table: suffix | nsize | requires | output_file
    # PETSc with debugging checks arguments by calls of its own
    text  | 3 | double !debug | README.md
    ranks | 4 |               |

TEST*/
