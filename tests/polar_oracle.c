static char help[] = "Polar factors for numpy: every type by lines of its parameters, on matrices of every kind and shape.\n\n";

#include "polar_common.h"

/* Line number k of a pattern, in which {a b} is a or b: false past the last one */
static PetscBool Expand(const char pattern[], int k, size_t length, char line[])
{
  size_t at = 0;

  for (const char *p = pattern; *p != '\0' && at + 1 < length; p++) {
    int words = 1, chosen;

    if (*p != '{') {
      line[at++] = *p;
      continue;
    }
    for (const char *q = p; *q != '}'; q++) words += *q == ' ';
    chosen = k % words;
    k /= words;
    for (int word = 0; *++p != '}';) {
      if (*p == ' ') word++;
      else if (word == chosen && at + 1 < length) line[at++] = *p;
    }
  }
  line[at] = '\0';
  return k == 0 ? PETSC_TRUE : PETSC_FALSE;
}

/*
   A kind of spectrum by its name; decades:D of 1 ... 10^-D; first:X of 1 and of X for all others, of forty and others with forty:X; twins, random, with a
   line of the short side that is zero and one that is another one again; diagonal:KIND has those values, of either sign, on the diagonal
*/
static PetscErrorCode Fill(const char kind[], int m, int n, double *A)
{
  const int   s     = PetscMin(m, n);
  const char *value = strchr(kind, ':');
  double     *sigma, *U, *V;
  int         spectrum = 0;

  PetscFunctionBeginUser;
  if (strncmp(kind, "diagonal:", 9) == 0) {
    PetscCall(PetscMalloc3(s, &sigma, m * s, &U, n * s, &V));
    PetscCall(Fill(value + 1, m, n, A));
    TestSVD(m, n, A, sigma, U, V);
    PetscCall(PetscArrayzero(A, m * n));
    for (int j = 0; j < s; j++) A[j + j * m] = j % 2 == 0 ? sigma[j] : -sigma[j];
    PetscCall(PetscFree3(sigma, U, V));
  } else if (strncmp(kind, "decades:", 8) == 0) {
    TestDecades(m, n, atof(value + 1), A);
  } else if (value != NULL) {
    PetscCall(PetscMalloc1(s, &sigma));
    for (int j = 0; j < s; j++) sigma[j] = j < (strncmp(kind, "forty", 5) == 0 ? 40 : 1) ? 1.0 : atof(value + 1);
    TestOfValues(m, n, sigma, A);
    PetscCall(PetscFree(sigma));
  } else if (strcmp(kind, "twins") == 0) {
    TestMatrix(m, n, TEST_GAUSSIAN, A);
    for (int i = 0; i < PetscMax(m, n) && s > 8; i++) {
      A[m <= n ? 3 + i * m : i + 3 * m] = 0.0;
      A[m <= n ? 7 + i * m : i + 7 * m] = A[m <= n ? 2 + i * m : i + 2 * m];
    }
  } else {
    while (spectrum < TEST_SPECTRA && strcmp(testspectra[spectrum], kind) != 0) spectrum++;
    TestCheck(spectrum < TEST_SPECTRA, "No matrices are of the kind %s", kind);
    TestMatrix(m, n, spectrum, A);
  }
  TestRound(m * n, A);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The factor; of pairs, the columns of a 2 x n matrix, the diagonal of the factor of each pair's diagonal matrix, which stays diagonal */
static PetscErrorCode Factor(MuonPolar polar, PetscBool pairs, PetscBool spread, int m, int n, int pad, const double *A, double *Q)
{
  PetscFunctionBeginUser;
  if (!pairs) PetscCall(TestApplyAs(polar, TEST_MAT, spread ? TEST_EVEN : TEST_ALONE, m, n, pad, A, MUON_STATUS_OK, Q));
  for (int i = 0; i < n && pairs; i++) {
    const double D[4] = {A[2 * i], 0, 0, A[2 * i + 1]};
    double       q[4];

    PetscCall(TestApply(polar, 2, 2, 0, D, MUON_STATUS_OK, q));
    TestCheck(q[1] == 0.0 && q[2] == 0.0, "diag(%g,%g): the factor is not diagonal", D[0], D[3]);
    Q[2 * i]     = q[0];
    Q[2 * i + 1] = q[3];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  enum {
    MOST = 40
  };
  char       *kinds[MOST], *shapes[MOST], pattern[512] = "", line[512], folder[PETSC_MAX_PATH_LEN] = ".", path[PETSC_MAX_PATH_LEN + 16];
  PetscInt    nkinds = MOST, nshapes = MOST;
  PetscBool   spread, found;
  PetscMPIInt rank, size;
  PetscViewer cases;
  FILE       *matrices = NULL;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-spread", &spread));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-line", pattern, sizeof(pattern), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-oracle_dir", folder, sizeof(folder), NULL));
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-kinds", kinds, &nkinds, &found));
  for (nkinds = found ? nkinds : 0; nkinds < TEST_SPECTRA && !found; nkinds++) PetscCall(PetscStrallocpy(testspectra[nkinds], &kinds[nkinds]));
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-shapes", shapes, &nshapes, &found));
  TestCheck(found, "No shapes");
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/cases.txt", folder));
  PetscCall(PetscViewerASCIIOpen(PETSC_COMM_WORLD, path, &cases));
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/matrices.f64", folder));
  if (rank == 0) matrices = fopen(path, "wb");
  TestCheck(rank > 0 || matrices != NULL, "Cannot write %s", path);
  for (int k = 0; Expand(pattern, k, sizeof(line), line); k++) {
    MuonPolar polar;
    double    eps = 0.0;

    PetscCall(TestMake(PETSC_COMM_WORLD, line, &polar));
    PetscCall(TestEpsilon(polar, &eps));
    for (PetscInt shape = 0; shape < nshapes; shape++) {
      for (PetscInt kind = 0; kind < nkinds; kind++) {
        const PetscBool pairs = strcmp(kinds[kind], "pairs") == 0 ? PETSC_TRUE : PETSC_FALSE;
        int             m, n;
        double         *A, *Q;

        TestCheck(sscanf(shapes[shape], "%dx%d", &m, &n) == 2, "%s is no shape", shapes[shape]);
        if (pairs && m != 2) continue;
        PetscCall(PetscMalloc2(m * n, &A, m * n, &Q));
        if (!pairs) PetscCall(Fill(kinds[kind], m, n, A));
        for (int i = 0; i < n && pairs; i++) {
          A[2 * i]     = 7.0 * pow(10.0, -3.0 * i / (n - 1));
          A[2 * i + 1] = sqrt(49.0 - A[2 * i] * A[2 * i]);
        }
        PetscCall(Factor(polar, pairs, spread, m, n, (int)kind % 3, A, Q));
        PetscCall(PetscViewerASCIIPrintf(cases, "case %s %d %d %.17g %d %s\n", kinds[kind], m, n, eps, (int)size, line));
        PetscCall(MuonPolarView(polar, cases));
        if (rank == 0) TestCheck(fwrite(A, sizeof(*A), (size_t)(m * n), matrices) + fwrite(Q, sizeof(*Q), (size_t)(m * n), matrices) == 2 * (size_t)(m * n), "Cannot write %s", path);
        PetscCall(PetscFree2(A, Q));
      }
    }
    PetscCall(MuonPolarDestroy(&polar));
  }
  if (rank == 0) TestCheck(fclose(matrices) == 0, "Cannot write %s", path);
  PetscCall(PetscViewerDestroy(&cases));
  for (PetscInt i = 0; i < nkinds; i++) PetscCall(PetscFree(kinds[i]));
  for (PetscInt i = 0; i < nshapes; i++) PetscCall(PetscFree(shapes[i]));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    link: internal

  testset:
    oracle: polar.py
    args: -shapes 1x1,1x9,9x1,2x2,24x24,16x40,40x16,33x32

    table: suffix | args
      svd     | -line "type svd" -lmo_polar_svd_type {{lapack trlanczos}}
      kj      | -line "type newtonschulz precision {single double}"
      quintic | -line "type newtonschulz precision double coefficients quintic steps {5 10}"
      cubic   | -line "type newtonschulz precision double coefficients cubic steps {5 10 15}"
      gram    | -line "type gram precision {single double}"

  # Named sets, and past their last rows; the best cubic polynomials for [0.01,1]
  testset:
    oracle: polar.py
    args: -kinds gaussian,harmonic,mild,outlier,pairs -shapes 16x16,20x33,33x20,1x7,2x1001

    table: suffix | args
      sets    | -line "type newtonschulz precision double coefficients {kj you pe105 modded emerging cans aol deepseekv4} steps {{-1 8 13}}"
      express | -line "type newtonschulz precision double coefficients polarexpress steps {-1 6 8 10 13}"
      odd     | -line "type newtonschulz precision double coefficients {quintic cubic cubic5} steps {-1 5}"

  testset:
    oracle: polar.py
    test:
      suffix: user
      args: -kinds pairs -shapes 2x1001
      args: -line "type newtonschulz precision double coefficient_values 5.039839273821192,-4.989445870528851,0,2.4671610496809784,-0.632321227571882,0"
    # With restarts after each step, or after none
    test:
      suffix: restarts
      args: -kinds decades:1 -shapes 1x1,1x9,9x1,12x60,60x12,20x700,24x24,24x40
      args: -line "type gram precision double coefficients {kj you pe105 polarexpress} gram_restart {0 empty 1,2,3,4,5,6,7,8,9,10,11,12,13,14}"
    test:
      suffix: restarts_odd
      args: -kinds decades:1 -shapes 1x1,1x9,9x1,12x60,60x12,20x700,24x24,24x40
      args: -line "type gram precision double coefficients {quintic cubic} gram_restart {empty 2,4,7 1,2,3,4,5,6,7,8,9,10,11,12,13,14}"

  # One value over a tail that holds almost all of the Frobenius norm: two power iterations alone often see the tail
  testset:
    oracle: polar.py
    args: -kinds gaussian,gaussian,gaussian,harmonic,geometric,mild,deficient,outlier,flat,first:0.4,first:0.5,first:0.6,first:0.7 -shapes 1x1,1x9,9x1,40x40,24x60,60x24

    table: suffix | args
      spectral       | -line "type newtonschulz precision {single double} normalization spectral power_iterations {1 2 3} coefficients {cubic quintic kj}"
      spectral_start | -line "type newtonschulz precision {single double} normalization spectral power_iterations {1 2 3} coefficient_values 1,0,0"

  testset:
    oracle: polar.py
    args: -shapes 1x1,1x9,9x1,2x2,24x24,16x40,40x16,33x32,45x52,20x110
    args: -kinds gaussian,harmonic,geometric,mild,deficient,outlier,flat,zero,diagonal:gaussian,diagonal:harmonic,diagonal:geometric,diagonal:mild,diagonal:deficient,diagonal:outlier

    table: suffix | args
      zolotarev        | -line "type zolotarev"
      zolotarev_single | -line "type zolotarev precision single zolotarev_poles {1 3 4 7} zolotarev_interval 1e-3"
      zolotarev_double | -line "type zolotarev precision double zolotarev_poles {2 4 7 10 12} zolotarev_interval {1e-5 0.1}"

  testset:
    oracle: polar.py
    nsize: {{1 3}}
    args: -spread -kinds gaussian,harmonic,twins -shapes 1x1,1x9,9x1,24x24,16x40,40x16,130x300

    table: suffix | args
      mud        | -line "type mud"
      mud_double | -line "type mud mud_passes 3 precision double"

  # To working accuracy, up to the largest condition for which it is promised. With 3 ranks: parts longer than the short side, shorter, empty, wide and tall
  testset:
    oracle: polar.py

    table: suffix | nsize | requires | args
      qdwh        |           | double | -line "type qdwh precision double" -kinds decades:0,decades:4,decades:8,decades:12,first:1e-9,deficient -shapes 1x1,1x9,9x1,2x2,24x24,16x40,40x16,33x32,30x200
      qdwh_single |           |        | -line "type qdwh precision single" -kinds decades:0,decades:2,decades:4,first:1e-4,deficient -shapes 1x1,1x9,9x1,2x2,24x24,16x40,40x16,33x32,30x200
      qdwh_spread | {{1 3 4}} | double | -line "type qdwh" -kinds decades:0,decades:2,decades:12,deficient -shapes 90x12,12x90,24x24,2x2,30x24 -spread

  testset:
    oracle: polar.py
    requires: onednn
    env: OMP_NUM_THREADS=1

    table: suffix | args
      bf16           | -line "type newtonschulz precision bf16 coefficients {quintic cubic kj}" -kinds gaussian,harmonic,mild,deficient,flat -shapes 1x1,1x40,40x1,48x48,40x130,130x40,64x700,700x64
      bf16_zolotarev | -line "type zolotarev precision bf16 zolotarev_poles 4" -kinds gaussian,decades:3,forty:0.002 -shapes 96x384,384x96,96x96

TEST*/
