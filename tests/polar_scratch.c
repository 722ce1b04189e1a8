static char help[] = "What a rank holds and sends for the polar factor of a parallel matrix, against the bound and the formulas; the factor against a Jacobi SVD.\n\n";

#include "polar_common.h"
#include <petscmuon/private/muonpolarimpl.h>
#include "mpicount.h"

/* Rows of this rank: evenly, or all but a few on the last rank and none on the first */
static PetscInt Rows(int how, PetscInt m, PetscMPIInt size, PetscMPIInt rank)
{
  if (how == 0 || size == 1) return m / size + (rank < m % size ? 1 : 0);
  if (rank == 0) return 0;
  return rank < size - 1 ? PetscMin(m / size, 3) : m - (size - 2) * PetscMin(m / size, 3);
}

static PetscErrorCode Case(MuonPolarType type, MuonPolarPrecision precision, int how, int m, int n)
{
  const int      s = PetscMin(m, n), l = PetscMax(m, n);
  MuonPolar      polar;
  MuonStatus     status;
  PetscMPIInt    size, rank;
  int            squares;
  PetscInt       rows, local, steps;
  PetscLogDouble bytes;
  size_t         used;
  PetscBool      newtonschulz, zolotarev;
  MPICount       count;
  double        *A, *Q, *U, *V, *sigma, eps = 0.0, off = 0.0, entries, expected, moved;
  Mat            G, R;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscMalloc5(m * n, &A, m * n, &Q, m * s, &U, n * s, &V, s, &sigma));
  TestDecades(m, n, 1.0, A);
  rows = Rows(how, m, size, rank);
  PetscCall(TestMatSpread(rows, m, n, A, &G));
  PetscCall(MatDuplicate(G, MAT_DO_NOT_COPY_VALUES, &R));

  PetscCall(MuonPolarCreate(PETSC_COMM_WORLD, &polar));
  PetscCall(MuonPolarSetType(polar, type));
  PetscCall(TestSetPrecision(polar, precision));
  PetscCall(TestGetSteps(polar, &steps));
  PetscCall(TestEpsilon(polar, &eps));
  mpicount_reset();
  PetscCall(MuonPolarApply(polar, G, R, &status));
  count = mpicount;
  PetscCheck(status == MUON_STATUS_OK, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %d x %d: status %d", type, m, n, (int)status);

  /*
     U^T Q V is diagonal: a step rounds as a product does, and the slopes at zero, up to 1000, enlarge that;
     the diagonal is in the widest of the documented ranges
  */
  PetscCall(TestMatGather(R, Q));
  TestSVD(m, n, A, sigma, U, V);
  for (int p = 0; p < s; p++) {
    for (int q = 0; q < s; q++) {
      double f = 0.0;

      for (int j = 0; j < n; j++) f += V[j + q * n] * TestDot(m, U + p * m, Q + j * m);
      if (p != q) off += f * f;
      else PetscCheck(f > 0.65 && f < 1.21, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %d x %d: singular value %g became %g", type, m, n, sigma[p], f);
    }
  }
  PetscCheck(sqrt(off) <= 32e3 * (m + n) * eps, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %d x %d on %d ranks: the factor is off by %g, bound %g", type, m, n, size, sqrt(off), 32e3 * (m + n) * eps);

  /*
     Entries of scratch: 3 d/J and a square, two of qdwh and three of zolotarev where a rank has several of its
     four poles, where d/J is what this rank has of the matrix, as rows or, of a wide
     one, as columns dealt evenly, and an even part of it where it has less; each of up to eight buffers is
     rounded up to 64 bytes
  */
  local   = size > 1 && m < n ? n / size + (rank < n % size ? 1 : 0) : (m < n ? n : rows);
  entries = PetscMax((double)rows * n, (double)s * local);
  PetscCheck(how > 0 || m % size > 0 || n % size > 0 || entries * size == (double)s * l, PETSC_COMM_SELF, PETSC_ERR_PLIB, "An even part of %d x %d has %g entries", m, n, entries);
  entries = PetscMax(entries, (double)s * l / size);
  PetscCall(MuonWorkspaceGetBytes(polar->work, &used));
  bytes = (PetscLogDouble)used;
  PetscCall(PetscStrcmp(type, MUONPOLARNEWTONSCHULZ, &newtonschulz));
  PetscCall(PetscStrcmp(type, MUONPOLARZOLOTAREV, &zolotarev));
  squares = strcmp(type, MUONPOLARQDWH) == 0 ? 2 : zolotarev && size > 1 && size < 4 ? 3 : 1;
  PetscCheck(bytes <= (squares * s * s + 3.0 * entries) * (precision == MUON_POLAR_PRECISION_SINGLE ? 4 : 8) + 8 * 64, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %s %d x %d, rank %d of %d: %g bytes of scratch for %d^2 + 3 x %g entries", type,
             MuonPolarPrecisions[precision], m, n, rank, size, (double)bytes, s, entries);

  /*
     Sent: a wide matrix changes to columns and back. Newton and Schulz sum a triangle for each step, one
     number each for the largest exponent and the norm, and one for what the input is
  */
  moved    = (precision == MUON_POLAR_PRECISION_SINGLE ? 4.0 : 8.0) * (size > 1 && m < n ? (double)rows * n + (double)s * local : 0.0);
  expected = size > 1 ? 4 + 8 + (precision == MUON_POLAR_PRECISION_SINGLE ? 4.0 : 8.0) * steps * s * (s + 1) / 2 : 0.0;
  PetscCheck(count.calls[MPICOUNT_ALLTOALLV] == (size > 1 && m < n ? 2 : 0) && (double)count.sent == moved, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %d x %d, rank %d of %d: %ld all-to-all, %lld bytes, expected %g", type, m, n, rank, size,
             count.calls[MPICOUNT_ALLTOALLV], count.sent, moved);
  /* A debugging PETSc compares arguments by reductions of its own */
  if (newtonschulz == PETSC_TRUE && !PetscDefined(USE_DEBUG)) {
    PetscCheck((double)count.reduced == expected && count.calls[MPICOUNT_OTHER] == (size > 1 ? 2 + steps : 0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %d x %d, rank %d of %d: %ld sums of %lld bytes, expected %g", type, m, n, rank, size,
               count.calls[MPICOUNT_OTHER], count.reduced, expected);
  }
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(MatDestroy(&G));
  PetscCall(MatDestroy(&R));
  PetscCall(PetscFree5(A, Q, U, V, sigma));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const int shapes[][2] = {{1, 1}, {1, 13}, {13, 1}, {36, 36}, {48, 24}, {24, 48}, {1800, 6}, {5, 1201}, {35, 36}, {37, 36}};
  const char     **types;
  int              count;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(MuonPolarInitializePackage());
  PetscCall(PetscFunctionListGet(MuonPolarList, &types, &count));
  for (int t = 0; t < count && types[t] != NULL; t++) {
    if (strcmp(types[t], MUONPOLARSVD) == 0 || strcmp(types[t], MUONPOLARMUD) == 0) continue; /* the second is no function of singular values */
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
      /* Both precisions meet both distributions, in turns */
      for (int how = 0; how < 2; how++) PetscCall(Case(types[t], ((int)k + how) % 2 == 0 ? MUON_POLAR_PRECISION_SINGLE : MUON_POLAR_PRECISION_DOUBLE, how, shapes[k][0], shapes[k][1]));
    }
  }
  PetscCall(PetscFree(types));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    link: internal

  test:
    nsize: {{1 2 3 4}}

TEST*/
