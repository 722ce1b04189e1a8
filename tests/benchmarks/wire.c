static char help[] = "Prints what messages cost, by the paper's formula, as sent and by their entropy, and how fast they are made and read, beside the bandwidth of the memory in the same run.\n\n"
                     "  ./wire -benchmark_rows 2048 -benchmark_columns 2048 -benchmark_rank_rows 256\n\n"
                     "Costs are relative to 32 bits an entry. Rates are of the entries of the matrix, one core: encode is the residual, the choice and the message; validate the check of a message; add the check and the\n"
                     "sum, as a server does it. GB/s of binary32 input are four times the entries, of PetscScalar sizeof(PetscScalar) times.\n\n";

#include <petscmuon.h>
#include <petsctime.h>
#include "benchmark_common.h"

/* Three arrays of the triad exceed the caches of today's processors */
#define TRIAD_ENTRIES 16777216

typedef struct {
  const char          *type;
  PetscReal            ratio;
  MuonCompressorValues values;
} Row;

/* Those of Table 2 of the EF21-Muon paper, and Top-K with natural values at the two ratios that it leaves out */
static const Row Rows[] = {{MUONCOMPRESSORIDENTITY, 1, MUON_COMPRESSOR_VALUES_SINGLE},
                           {MUONCOMPRESSORNATURAL, 1, MUON_COMPRESSOR_VALUES_SINGLE},
                           {MUONCOMPRESSORTOPK, (PetscReal)0.20, MUON_COMPRESSOR_VALUES_SINGLE},
                           {MUONCOMPRESSORTOPK, (PetscReal)0.15, MUON_COMPRESSOR_VALUES_SINGLE},
                           {MUONCOMPRESSORTOPK, (PetscReal)0.10, MUON_COMPRESSOR_VALUES_SINGLE},
                           {MUONCOMPRESSORTOPK, (PetscReal)0.05, MUON_COMPRESSOR_VALUES_SINGLE},
                           {MUONCOMPRESSORTOPK, (PetscReal)0.20, MUON_COMPRESSOR_VALUES_NATURAL},
                           {MUONCOMPRESSORTOPK, (PetscReal)0.15, MUON_COMPRESSOR_VALUES_NATURAL},
                           {MUONCOMPRESSORTOPK, (PetscReal)0.10, MUON_COMPRESSOR_VALUES_NATURAL},
                           {MUONCOMPRESSORTOPK, (PetscReal)0.05, MUON_COMPRESSOR_VALUES_NATURAL},
                           {MUONCOMPRESSORRANKK, (PetscReal)0.20, MUON_COMPRESSOR_VALUES_SINGLE},
                           {MUONCOMPRESSORRANKK, (PetscReal)0.15, MUON_COMPRESSOR_VALUES_SINGLE},
                           {MUONCOMPRESSORRANKK, (PetscReal)0.10, MUON_COMPRESSOR_VALUES_SINGLE},
                           {MUONCOMPRESSORRANKK, (PetscReal)0.05, MUON_COMPRESSOR_VALUES_SINGLE},
                           {MUONCOMPRESSORRANKK, (PetscReal)0.15, MUON_COMPRESSOR_VALUES_NATURAL},
                           {MUONCOMPRESSORRANKK, (PetscReal)0.10, MUON_COMPRESSOR_VALUES_NATURAL}};

typedef enum {
  GAUSSIAN,
  LAPLACE,
  LOGNORMAL,
  DATA
} Data;
static const char *const DataNames[] = {"gaussian", "laplace", "lognormal"};

static double Uniform(unsigned long long *state)
{
  unsigned long long z = (*state += 0x9E3779B97F4A7C15ull);

  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  return ((double)((z ^ z >> 31) >> 11) + 0.5) / 9007199254740992.0;
}

static double Normal(unsigned long long *state)
{
  const double radius = sqrt(-2 * log(Uniform(state)));

  return radius * cos(2 * 3.14159265358979324 * Uniform(state));
}

/* lognormal: normally distributed rows, each times exp of a normal number */
static PetscErrorCode Fill(Data data, Mat A, unsigned long long *state)
{
  PetscScalar *a;
  PetscInt     m, n, ld;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(MatDenseGetLDA(A, &ld));
  PetscCall(MatDenseGetArray(A, &a));
  for (PetscInt i = 0; i < m; i++) {
    const double scale = data == LOGNORMAL ? exp(Normal(state)) : 1;

    for (PetscInt j = 0; j < n; j++) {
      const double u = Uniform(state);

      a[i + (size_t)j * ld] = (PetscScalar)(data == LAPLACE ? (u < 0.5 ? log(2 * u) : -log(2 * (1 - u))) : scale * Normal(state));
    }
  }
  PetscCall(MatDenseRestoreArray(A, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes a second of a = b + s c; three arrays are counted, though a write may first read */
static PetscErrorCode MeasureTriad(PetscInt repetitions, PetscReal times[], PetscLogDouble *rate)
{
  PetscScalar   *a, *b, *c;
  PetscLogDouble start, end, median;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3(TRIAD_ENTRIES, &a, TRIAD_ENTRIES, &b, TRIAD_ENTRIES, &c));
  FillArray(sizeof(PetscScalar), TRIAD_ENTRIES, a);
  FillArray(sizeof(PetscScalar), TRIAD_ENTRIES, b);
  FillArray(sizeof(PetscScalar), TRIAD_ENTRIES, c);
  for (PetscInt r = 0; r < repetitions; r++) {
    const PetscScalar s = (PetscScalar)r;

    PetscCall(PetscTime(&start));
    for (PetscInt i = 0; i < TRIAD_ENTRIES; i++) a[i] = b[i] + s * c[i];
    PetscCall(PetscTime(&end));
    times[r] = (PetscReal)(end - start);
    PetscCheck(a[17] == b[17] + s * c[17], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Triad computed something else");
  }
  PetscCall(PetscFree3(a, b, c));
  PetscCall(Median(repetitions, times, &median));
  *rate = 3.0 * sizeof(PetscScalar) * TRIAD_ENTRIES / median;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeasureRow(const Row *row, Data data, Mat T, Mat R, Mat Y, PetscInt repetitions, PetscReal times[])
{
  MuonCompressor     c;
  MuonCompressorCost cost;
  MuonStatus         status;
  PetscLogDouble     start, end, median[3];
  PetscInt           m, n;
  PetscBool          valid;
  unsigned char     *buf;
  size_t             most, bytes = 0;
  double             dense;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(T, &m, &n));
  dense = (double)m * (double)n;
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, &c));
  PetscCall(MuonCompressorSetType(c, row->type));
  PetscCall(MuonCompressorSetRatio(c, row->ratio));
  PetscCall(MuonCompressorSetValues(c, row->values));
  PetscCall(MuonCompressorSetPaperIndexBits(c, 26));
  PetscCall(MuonCompressorSetFromOptions(c));
  PetscCall(MuonCompressorGetMaxBytes(c, m, n, &most));
  PetscCall(PetscMalloc1(most, &buf));
  for (PetscInt what = 0; what < 3; what++) {
    for (PetscInt r = -1; r < repetitions; r++) {
      PetscCall(PetscTime(&start));
      if (what == 0) PetscCall(MuonCompressorEncode(c, T, R, most, buf, &bytes));
      else if (what == 1) PetscCall(MuonCompressorValidate(c, m, n, bytes, buf, &valid));
      else PetscCall(MuonCompressorDecodeAdd(c, 1, bytes, buf, Y));
      PetscCall(PetscTime(&end));
      if (r >= 0) times[r] = (PetscReal)(end - start);
    }
    PetscCall(Median(repetitions, times, &median[what]));
  }
  PetscCall(MuonCompressorGetStatus(c, &status));
  PetscCheck(status == MUON_STATUS_OK && valid == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a message that is not valid", row->type);
  PetscCall(MuonCompressorGetCost(c, m, n, bytes, buf, &cost));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-9s %-8s %-4.2g %-7s %8.5f %8.5f %8.5f %7.4f %9.3f %9.3f %9.3f %8.2f %8.2f\n", DataNames[data], row->type, (double)row->ratio, MuonCompressorValuesTypes[row->values], cost.paper / 32 / dense,
                        cost.encoded / 32 / dense, cost.entropy / 32 / dense, cost.encoded / cost.entropy, dense / median[0] / 1e9, dense / median[1] / 1e9, dense / median[2] / 1e9, 4 * dense / median[0] / 1e9, 4 * dense / median[2] / 1e9));
  PetscCall(PetscFree(buf));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt           rows = 2048, columns = 2048, rankrows = 256, repetitions = 5;
  PetscLogDouble     triad = 0;
  PetscReal         *times;
  Mat                A[2][3];
  unsigned long long state = 1;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Benchmark of messages", NULL);
  PetscCall(PetscOptionsInt("-benchmark_rows", "Rows of the matrix", NULL, rows, &rows, NULL));
  PetscCall(PetscOptionsInt("-benchmark_columns", "Its columns", NULL, columns, &columns, NULL));
  PetscCall(PetscOptionsInt("-benchmark_rank_rows", "Rows and columns of the matrix for rankk", NULL, rankrows, &rankrows, NULL));
  PetscCall(PetscOptionsInt("-benchmark_repetitions", "Runs of which the median is taken", NULL, repetitions, &repetitions, NULL));
  PetscOptionsEnd();
  PetscCheck(rows > 0 && columns > 0 && rankrows > 0 && repetitions > 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-benchmark_rows, -benchmark_columns, -benchmark_rank_rows, -benchmark_repetitions: expected at least 1");
  PetscCall(PetscMalloc1(repetitions, &times));
  PetscCall(MeasureTriad(repetitions, times, &triad));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%" PetscInt_FMT " x %" PetscInt_FMT ", for rankk %" PetscInt_FMT " x %" PetscInt_FMT ", entries of %d bytes; triad: %.2f GB/s\n", rows, columns, rankrows, rankrows, (int)sizeof(PetscScalar), triad / 1e9));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-31s %26s %7s %29s %17s\n", "", "part of binary32", "sent by", "1e9 entries/s", "GB/s of binary32"));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-9s %-8s %-4s %-7s %8s %8s %8s %7s %9s %9s %9s %8s %8s\n", "data", "type", "part", "values", "paper", "sent", "entropy", "entropy", "encode", "validate", "add", "encode", "add"));
  for (PetscInt data = 0; data < DATA; data++) {
    for (PetscInt small = 0; small < 2; small++) {
      for (PetscInt k = 0; k < 3; k++) {
        PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, small ? rankrows : rows, small ? rankrows : columns, NULL, &A[small][k]));
        if (k == 0) PetscCall(Fill((Data)data, A[small][k], &state));
      }
    }
    for (size_t r = 0; r < PETSC_STATIC_ARRAY_LENGTH(Rows); r++) {
      PetscBool rankk;

      PetscCall(PetscStrcmp(Rows[r].type, MUONCOMPRESSORRANKK, &rankk));
      PetscCall(MeasureRow(&Rows[r], (Data)data, A[rankk ? 1 : 0][0], A[rankk ? 1 : 0][1], A[rankk ? 1 : 0][2], repetitions, times));
    }
    for (PetscInt small = 0; small < 2; small++) {
      for (PetscInt k = 0; k < 3; k++) PetscCall(MatDestroy(&A[small][k]));
    }
  }
  PetscCall(PetscFree(times));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  # The rows that there are, and those of topk and natural in full but for the times: they do not depend on the machine
  testset:
    args: -benchmark_rows 100 -benchmark_columns 70 -benchmark_rank_rows 20 -benchmark_repetitions 1
    requires: double
    test:
      suffix: rows
      filter: cut -c 1-31 | grep "^[gl]" | sed 's, *$,,'
    test:
      suffix: costs
      filter: grep "^[gl]" | grep -v rankk | cut -c 1-66

  test:
    suffix: none
    args: -benchmark_repetitions 0
    error: -benchmark_repetitions

TEST*/
