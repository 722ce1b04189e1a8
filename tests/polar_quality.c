static char help[] = "MuonPolarComputeQuality() and the monitor against a singular value decomposition by Jacobi rotations: sequential, parallel, scaled, zero and not finite.\n\n";

#include "polar_common.h"
#include <string.h>

static PetscErrorCode Near(const char what[], const char type[], int spectrum, int m, int n, double is, double expected, double bound)
{
  PetscFunctionBeginUser;
  PetscCheck(fabs(is - expected) <= bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s of %s, %s %d x %d: %.12g, expected %.12g +- %g", what, type, testspectra[spectrum], m, n, is, expected, bound);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of this rank of the m x n array A */
static PetscErrorCode Distribute(int m, int n, const double *A, Mat *M)
{
  PetscScalar *a;
  PetscInt     begin, end, lda;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, M));
  PetscCall(MatSetSizes(*M, PETSC_DECIDE, PETSC_DECIDE, m, n));
  PetscCall(MatSetType(*M, MATMPIDENSE));
  PetscCall(MatMPIDenseSetPreallocation(*M, NULL));
  PetscCall(MatGetOwnershipRange(*M, &begin, &end));
  PetscCall(MatDenseGetLDA(*M, &lda));
  PetscCall(MatDenseGetArrayWrite(*M, &a));
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = begin; i < end; i++) a[i - begin + j * lda] = (PetscScalar)A[i + j * m];
  }
  PetscCall(MatDenseRestoreArrayWrite(*M, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Check(MuonPolar polar, const char type[], int spectrum, int m, int n)
{
  const double     eps = PETSC_MACHINE_EPSILON;
  const int        s   = PetscMin(m, n);
  double          *A, *B, *U, *V, *sigma, nuclear = 0.0, departure = 0.0, inner, random;
  MuonPolarQuality q, p;
  Mat              G, Q, H, R;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc5(m * n, &A, m * n, &B, m * s, &U, n * s, &V, s, &sigma));
  TestMatrix(m, n, spectrum, A);
  PetscCall(TestMat(m, n, 1, A, &G));
  PetscCall(TestMat(m, n, 2, NULL, &Q));
  PetscCall(MuonPolarApply(polar, G, Q));
  PetscCall(TestMatGet(Q, B));
  PetscCall(MuonPolarComputeQuality(polar, G, Q, &q));

  inner = TestDot(m * n, A, B);
  TestSVD(m, n, A, sigma, U, V);
  for (int i = 0; i < s; i++) nuclear += sigma[i];
  TestSVD(m, n, B, sigma, U, V);
  for (int i = 0; i < s; i++) departure += (sigma[i] * sigma[i] - 1.0) * (sigma[i] * sigma[i] - 1.0) / s;
  /*
     Ritz values lie between the singular values; with as many steps as there are, or from all unit vectors,
     they are these. Those of 12 steps are near: a tenth of the spread
  */
  random = s <= 12 ? 0.0 : 0.1 * (sigma[0] - sigma[s - 1]);
  PetscCheck((double)q.largest <= sigma[0] + 100.0 * eps && (double)q.smallest >= sigma[s - 1] - 100.0 * eps, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Spread of %s, %s %d x %d: [%g,%g], outside of [%g,%g]", type, testspectra[spectrum], m, n,
             (double)q.smallest, (double)q.largest, sigma[s - 1], sigma[0]);
  PetscCall(Near("Largest value", type, spectrum, m, n, (double)q.largest, sigma[0], random + 1000.0 * eps));
  PetscCall(Near("Smallest value", type, spectrum, m, n, (double)q.smallest, sigma[s - 1], random + 1000.0 * eps));
  /*
     An error is that of 95 in 100 cases under a normal distribution: twice it, and the rounding. That of the
     square root of a sum of squares of rounding is of the order of the rounding
  */
  PetscCall(Near("Orthogonality", type, spectrum, m, n, (double)q.orthogonality, sqrt(departure), 2.0 * (double)q.orthogonality_error + 1000.0 * eps));
  PetscCall(Near("Alignment", type, spectrum, m, n, (double)q.alignment, nuclear > 0.0 ? inner / nuclear : 1.0, 2.0 * (double)q.alignment_error + 1000.0 * eps));
  PetscCheck((double)q.orthogonality_error <= (s <= 16 ? 0.0 : 0.3) && (double)q.alignment_error <= (s <= 16 ? 1000.0 * eps : 0.3), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Errors of %s, %s %d x %d: %g and %g say nothing", type, testspectra[spectrum], m, n,
             (double)q.orthogonality_error, (double)q.alignment_error);

  /* A power of two changes no more than the order of the sums in a copy without padding does */
  PetscCall(MatDuplicate(G, MAT_COPY_VALUES, &H));
  PetscCall(MatScale(H, (PetscScalar)ldexp(1.0, PetscDefined(USE_REAL_SINGLE) ? 90 : 900)));
  PetscCall(MuonPolarComputeQuality(polar, H, Q, &p));
  PetscCall(Near("Orthogonality for a scaled matrix", type, spectrum, m, n, (double)p.orthogonality, (double)q.orthogonality, 1e5 * eps));
  PetscCall(Near("Alignment of a scaled matrix", type, spectrum, m, n, (double)p.alignment, (double)q.alignment, 1e5 * eps));
  PetscCall(Near("Alignment error of a scaled matrix", type, spectrum, m, n, (double)p.alignment_error, (double)q.alignment_error, 1e5 * eps + 1e-3 * (double)q.alignment_error));
  PetscCall(MatDestroy(&H));
  /* Where products with the entries themselves would overflow */
  if (spectrum == TEST_GAUSSIAN) {
    double most = 0.0;

    for (int i = 0; i < m * n; i++) most = PetscMax(most, fabs(A[i]));
    PetscCall(MatDuplicate(G, MAT_COPY_VALUES, &H));
    PetscCall(MatScale(H, (PetscScalar)(1.0 / most)));
    PetscCall(MatScale(H, (PetscScalar)(0.5 * PETSC_MAX_REAL)));
    PetscCall(MuonPolarComputeQuality(polar, H, Q, &p));
    PetscCall(Near("Orthogonality for a huge matrix", type, spectrum, m, n, (double)p.orthogonality, (double)q.orthogonality, 1e5 * eps));
    PetscCall(Near("Alignment of a huge matrix", type, spectrum, m, n, (double)p.alignment, (double)q.alignment, 1e5 * eps));
    PetscCall(MatDestroy(&H));
  }

  /*
     The same vectors and numbers where the rows lie on many ranks, up to rounding, which may grow to a part
     of the stated error where a recurrence of Lanczos ends at the rank of the matrix. Few of them, as the
     messages are many
  */
  if (spectrum == TEST_GAUSSIAN || (spectrum == TEST_DEFICIENT && s == 40)) {
    PetscCall(Distribute(m, n, A, &H));
    PetscCall(Distribute(m, n, B, &R));
    PetscCall(MuonPolarComputeQuality(polar, H, R, &p));
    PetscCall(Near("Parallel smallest", type, spectrum, m, n, (double)p.smallest, (double)q.smallest, 1e5 * eps + 0.01 * (double)(q.largest - q.smallest)));
    PetscCall(Near("Parallel largest", type, spectrum, m, n, (double)p.largest, (double)q.largest, 1e5 * eps + 0.01 * (double)(q.largest - q.smallest)));
    PetscCall(Near("Parallel orthogonality", type, spectrum, m, n, (double)p.orthogonality, (double)q.orthogonality, 1e5 * eps));
    PetscCall(Near("Parallel alignment", type, spectrum, m, n, (double)p.alignment, (double)q.alignment, 1e5 * eps + 0.05 * (double)q.alignment_error));
    PetscCall(MatDestroy(&H));
    PetscCall(MatDestroy(&R));
  }
  PetscCall(TestMatDestroy(&G));
  PetscCall(TestMatDestroy(&Q));
  PetscCall(PetscFree5(A, B, U, V, sigma));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  int calls, destroyed;
} Context;

static PetscErrorCode Monitor(MuonPolar polar, Mat G, Mat Q, void *ctx)
{
  PetscFunctionBeginUser;
  ((Context *)ctx)->calls++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(void **ctx)
{
  PetscFunctionBeginUser;
  ((Context *)*ctx)->destroyed++;
  *ctx = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const int shapes[][2] = {{1, 1}, {1, 9}, {4, 3}, {5, 5}, {12, 30}, {40, 40}, {60, 30}};
  const double     small[6] = {3, 4, 0, 0, 0, 2}, bad[6] = {3, 4, 0, NAN, 0, 2}, zero[6] = {0, 0, 0, 0, 0, 0};
  const char      *types[2] = {MUONPOLARSVD, MUONPOLARNEWTONSCHULZ};
  MuonPolar        polar;
  MuonPolarQuality q;
  PetscInt         lines = 0;
  PetscMPIInt      size, rank;
  PetscBool        begins;
  Context          context = {0, 0}, *pointer = &context;
  Mat              G[3], Q[3];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MuonPolarCreate(PETSC_COMM_WORLD, &polar));
  /* An exact factor, and one whose singular values are far from one */
  for (int t = 0; t < 2; t++) {
    PetscCall(MuonPolarSetType(polar, types[t]));
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
      for (int spectrum = 0; spectrum < TEST_SPECTRA; spectrum++) {
        /* Many ranks on few cores, and many small messages: those that compare these */
        if (size > 1 && spectrum != TEST_GAUSSIAN && spectrum != TEST_DEFICIENT) continue;
        PetscCall(Check(polar, types[t], spectrum, shapes[k][0], shapes[k][1]));
      }
    }
  }
  PetscCall(MuonPolarDestroy(&polar));

  /*
     The monitor: of the options, once whatever the number of prefixes, and of the program, called for each
     matrix of many
  */
  PetscCall(MuonPolarCreate(PETSC_COMM_WORLD, &polar));
  PetscCall(MuonPolarSetFromOptions(polar));
  PetscCall(MuonPolarSetOptionsPrefix(polar, "a_"));
  PetscCall(MuonPolarSetFromOptions(polar));
  PetscCall(MuonPolarSetType(polar, MUONPOLARSVD));
  PetscCall(MuonPolarMonitorSet(polar, Monitor, &context, Destroy));
  PetscCall(MuonPolarMonitorSet(polar, Monitor, &context, Destroy));
  PetscCall(TestMat(3, 2, 0, small, &G[0]));
  PetscCall(TestMat(2, 3, 1, bad, &G[1]));
  PetscCall(TestMat(3, 2, 1, zero, &G[2]));
  PetscCall(TestMat(3, 2, 1, small, &Q[0]));
  PetscCall(TestMat(2, 3, 0, small, &Q[1]));
  PetscCall(TestMat(3, 2, 1, small, &Q[2]));
  PetscCall(MuonPolarApplyMany(polar, 3, G, Q, NULL));
  PetscCall(MuonPolarApply(polar, G[0], Q[0]));
  PetscCheck(context.calls == 4, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The monitor was called %d times for 4 matrices", context.calls);
  PetscCall(MuonPolarComputeQuality(polar, G[1], Q[1], &q));
  PetscCheck(PetscIsNanReal(q.smallest) && PetscIsNanReal(q.alignment), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Numbers for a matrix that is not finite: %g %g", (double)q.smallest, (double)q.alignment);
  PetscCall(MuonPolarComputeQuality(polar, G[2], Q[2], &q));
  PetscCheck(q.smallest == 0.0 && q.largest == 0.0 && q.orthogonality == 1.0 && q.alignment == 1.0 && q.alignment_error == 0.0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Zero: %g %g %g %g", (double)q.smallest, (double)q.largest, (double)q.orthogonality,
             (double)q.alignment);
  PetscCall(MuonPolarMonitorCancel(polar));
  PetscCheck(pointer->destroyed == 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The context of the monitor was destroyed %d times", context.destroyed);
  PetscCall(MuonPolarApply(polar, G[0], Q[0]));
  PetscCheck(context.calls == 4, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A monitor that was removed was called");
  for (int k = 0; k < 3; k++) {
    PetscCall(TestMatDestroy(&G[k]));
    PetscCall(TestMatDestroy(&Q[k]));
  }
  PetscCall(MuonPolarDestroy(&polar));

  /* Four lines of each rank in the file of the option */
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-lines", &lines, NULL));
  if (rank == 0 && lines > 0) {
    FILE *file = fopen("lines", "r");
    char  line[512];

    PetscCheck(file != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The monitor wrote no file");
    for (lines *= size; fgets(line, sizeof(line), file) != NULL; lines--) {
      PetscCall(PetscStrbeginswith(line, "MuonPolar (a_) ", &begins));
      PetscCheck(begins == PETSC_TRUE && strchr(line, '\n') != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Line of the monitor: %s", line);
    }
    fclose(file);
    PetscCheck(lines == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " lines of the monitor are missing", lines);
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    suffix: monitor
    args: -lmo_polar_monitor -a_lmo_polar_monitor
    filter: sed -e "s/error [0-9.e+-]* +- 0e+00 </error N </"

  test:
    suffix: file
    nsize: 3
    args: -a_lmo_polar_monitor ascii:lines::append -lines 4

TEST*/
