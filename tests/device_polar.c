static char help[] = "Polar factors in the memory of a device beside those on the host: exact ones beside singular vectors that are known, "
                     "those of rows on many ranks in both orders of their entries.\n\n";

#include "polar_common.h"
#include <petscmuon/private/muonkernelsdevice.h>

/* The factor in the memory of the host and in that of the device, all of it on every rank */
static PetscErrorCode Both(MuonPolar polar, int variant, int how, int m, int n, const double *A, double *host, double *far)
{
  const MuonDevice *device = MuonDeviceGet();

  PetscFunctionBeginUser;
  for (int there = 0; there < 2; there++) {
    TestInput  G, R;
    MuonMatrix in, out;
    MuonStatus status;
    size_t     bytes;

    PetscCall(TestCreate(variant, how, m, n, how == TEST_ALONE ? 3 : 0, A, &G));
    PetscCall(TestCreate(variant, how, m, n, how == TEST_ALONE ? 3 : 0, NULL, &R));
    in            = G.matrix;
    out           = R.matrix;
    bytes         = PetscMax(in.here.ld * in.here.count * MuonArrayEntryBytes(&in.here), 1);
    polar->memory = in.here.memory = out.here.memory = there ? MUON_DEVICE : MUON_HOST;
    if (there) {
      in.here.data  = device->allocate(bytes);
      out.here.data = device->allocate(bytes);
      device->copy(bytes, G.matrix.here.data, in.here.data);
      device->copy(bytes, R.matrix.here.data, out.here.data);
    }
    PetscCall(MuonPolarApplyMatrices(1.0, 1, &polar, &in, &out, &status));
    PetscCall(TestStatus(in.comm, status, MUON_STATUS_OK, there ? "on the device" : "on the host"));
    if (there) {
      device->copy(bytes, out.here.data, R.matrix.here.data);
      device->release(in.here.data);
      device->release(out.here.data);
    }
    PetscCall(TestGet(&R, there ? far : host));
    PetscCall(TestDestroy(&G));
    PetscCall(TestDestroy(&R));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vector k of an orthonormal basis: cosines */
static double Basis(int n, int k, int i)
{
  return sqrt((k > 0 ? 2.0 : 1.0) / n) * cos(3.14159265358979323846 * (i + 0.5) * k / n);
}

/*
   One matrix with singular values from 1 to 1/condition, or with every second one 0. A backward error of l units moves a factor by twice that times
   the condition, a Gram matrix by its square; the slope at zero of Zolotarev's function, at most 1/interval, raises the rounding of singular values
   that are 0. 16 is for the constants of LAPACK. Far from the host means within that on both sides
*/
static PetscErrorCode CheckExact(MuonPolar polar, int variant, int m, int n, int full, double condition)
{
  const int          s = PetscMin(m, n), l = PetscMax(m, n), single = TestPrecision(variant) == MUON_SINGLE;
  const int          rational = strcmp(((PetscObject)polar)->type_name, MUONPOLARZOLOTAREV) == 0, weighted = strcmp(((PetscObject)polar)->type_name, MUONPOLARQDWH) == 0;
  MuonPolarPrecision arithmetic;
  PetscInt           before;
  double             unit, bound, *A, *exact, *host, *far;
  char               what[64];

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s of %d x %d", ((PetscObject)polar)->type_name, m, n));
  PetscCall(MuonPolarGetPrecision(polar, &arithmetic));
  /* Where the rank is not full a decomposition takes over, in the precision of PetscScalar */
  if (weighted && !full && MUON_PETSCSCALAR == MUON_SINGLE) arithmetic = MUON_POLAR_PRECISION_SINGLE;
  unit  = arithmetic == MUON_POLAR_PRECISION_SINGLE || single ? 1.2e-7 : 2.3e-16;
  bound = 16.0 * l * unit * (rational ? condition * condition + 1e3 : condition);
  PetscCall(PetscCalloc4(m * n, &A, m * n, &exact, m * n, &host, m * n, &far));
  for (int e = 0; e < m * n; e++) {
    for (int k = 0; k < s; k++) {
      const double uv = full || k % 2 == 0 ? Basis(m, k, e % m) * Basis(n, k, e / m) : 0.0;

      A[e] += pow(condition, s > 1 ? -(double)k / (s - 1) : 0.0) * uv;
      exact[e] += uv;
    }
  }
  before = weighted ? ((const PetscInt *)polar->data)[2] : 0;
  PetscCall(Both(polar, variant, TEST_ALONE, m, n, A, host, far));
  TestMost(what, TestFarthest(m * n, far, host), bound);
  /* Singular values of the rational function are 0.04 below one at most, by its default tolerance */
  TestMost(what, TestFarthest(m * n, far, exact), bound + (rational ? 0.04 : 0.0));
  /* Of full rank, whatever the condition */
  for (int i = 0; i < s * s && full && !rational; i++) {
    double sum = i / s == i % s ? -1.0 : 0.0;

    for (int k = 0; k < l; k++) sum += m > n ? far[i / s * m + k] * far[i % s * m + k] : far[k * m + i / s] * far[k * m + i % s];
    TestMost(what, fabs(sum), 100.0 * l * unit);
  }
  if (weighted && full && !single) {
    const PetscInt *count = (const PetscInt *)polar->data;

    TestCheck(count[2] == before && (count[1] > 0 || condition < 1e6), "%d steps by QR, %d decompositions", (int)count[1], (int)(count[2] - before));
  }
  PetscCall(MuonPolarReset(polar));
  PetscCall(PetscFree4(A, exact, host, far));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Rounded results of double, whose own difference is amplified as in the rows device_polar of equivalence: 525 units of sums of 23
   products, and the condition of the matrix
*/
static PetscErrorCode CheckRows(MuonPolar polar, int variant, int how, int m, int n)
{
  double A[23 * 9], host[23 * 9], far[23 * 9];

  PetscFunctionBeginUser;
  for (int e = 0; e < m * n; e++) A[e % n * m + e / n] = sin((double)(e * e % 101)); /* of full rank */
  PetscCall(Both(polar, variant, how, m, n, A, host, far));
  TestMost(testvariants[variant], TestFarthest(m * n, far, host), TestPrecision(variant) == MUON_SINGLE ? 1.2e-7 : 1e-10);
  for (int e = 0; e < m * n; e++) TestCheck(host[e] != 0, "%d x %d: entry %d of the factor is 0", m, n, e);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const int shapes[][2] = {{40, 17}, {17, 40}, {24, 24}, {9, 1}, {1, 9}}, spread[][2] = {{23, 9}, {9, 23}, {8, 8}};
  MuonPolar        polar;
  PetscBool        rows;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  TestCheck(MuonDeviceGet() != NULL && MuonDeviceGet()->start() == NULL, "No device");
  PetscCall(PetscOptionsHasName(NULL, NULL, "-rows", &rows));
  PetscCall(TestMake(rows ? PETSC_COMM_WORLD : PETSC_COMM_SELF, "", &polar));
  for (int k = 0; k < 3 && rows; k++) {
    for (int variant = TEST_SINGLE_COLUMNS; variant < TEST_VARIANTS; variant++) {
      for (int how = 0; how < TEST_DISTRIBUTIONS; how += TEST_UNEVEN - TEST_EVEN) PetscCall(CheckRows(polar, variant, how, spread[k][0], spread[k][1]));
    }
  }
  for (int k = 0; k < 4 * 5 && !rows; k++) PetscCall(CheckExact(polar, k % 2 ? TEST_DOUBLE_COLUMNS : TEST_SINGLE_COLUMNS, shapes[k / 4][0], shapes[k / 4][1], k % 4 < 2, 8.0));
  if (!rows && strcmp(((PetscObject)polar)->type_name, MUONPOLARQDWH) == 0) PetscCall(CheckExact(polar, TEST_DOUBLE_COLUMNS, 30, 20, 1, 1e9));
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  testset:
    requires: kokkos

    table: suffix | nsize | args
      exact    |         | -lmo_polar_type {{svd qdwh}}
      rational |         | -lmo_polar_type zolotarev -lmo_polar_precision {{single double}}
      rows     | {{1 4}} | -rows -lmo_polar_precision double -lmo_polar_type {{newtonschulz gram qdwh zolotarev}}
      estimate | {{1 4}} | -rows -lmo_polar_precision double -lmo_polar_type newtonschulz -lmo_polar_normalization spectral

TEST*/
