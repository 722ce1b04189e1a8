static char help[] = "Exact polar factors in the memory of a device beside those on the host, and beside singular vectors that are known.\n\n";

#include <petscmuonpolar.h>
#include <petscmuon/private/muonkernelsdevice.h>
#include <petscmuon/private/muonpolarimpl.h>

/* Vector k of an orthonormal basis: cosines */
static double Basis(size_t n, size_t k, size_t i)
{
  return sqrt((k > 0 ? 2.0 : 1.0) / (double)n) * cos(3.14159265358979323846 * ((double)i + 0.5) * (double)k / (double)n);
}

static double Get(const MuonArray *a, const void *data, size_t k)
{
  return a->precision == MUON_SINGLE ? (double)((const float *)data)[k] : ((const double *)data)[k];
}

/*
   One matrix with singular values from 1 to 1/condition, or with every second one 0. A backward error of l
   units moves a factor by twice that times the condition, a Gram matrix by its square; the slope at zero of
   Zolotarev's function, at most 1/interval, raises the rounding of singular values that are 0. 16 is for the
   constants of LAPACK. Far from the host means within that on both sides
*/
static PetscErrorCode Check(MuonPolar polar, MuonPrecision precision, size_t m, size_t n, PetscBool full, double condition)
{
  const MuonDevice  *device = MuonDeviceGet();
  const size_t       s = PetscMin(m, n), l = PetscMax(m, n), ld = m + 3;
  const size_t       bytes = ld * n * (precision == MUON_SINGLE ? sizeof(float) : sizeof(double));
  MuonArray          g, q;
  MuonMatrix         G, Q;
  MuonPolarPrecision arithmetic;
  MuonStatus         status;
  PetscBool          rational, weighted;
  PetscInt           before;
  double             unit, bound, orthogonal = 0.0, *exact;
  void              *from, *to, *back;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)polar, MUONPOLARZOLOTAREV, &rational));
  PetscCall(PetscObjectTypeCompare((PetscObject)polar, MUONPOLARQDWH, &weighted));
  PetscCall(MuonPolarGetPrecision(polar, &arithmetic));
  /* Where the rank is not full a decomposition takes over, in the precision of PetscScalar */
  if (weighted == PETSC_TRUE && full == PETSC_FALSE && MUON_PETSCSCALAR == MUON_SINGLE) arithmetic = MUON_POLAR_PRECISION_SINGLE;
  unit  = arithmetic == MUON_POLAR_PRECISION_SINGLE || precision == MUON_SINGLE ? 1.2e-7 : 2.3e-16;
  bound = 16.0 * (double)l * unit * (rational == PETSC_TRUE ? condition * condition + 1e3 : condition);
  PetscCall(PetscCalloc1(bytes, (char **)&from));
  PetscCall(PetscCalloc1(bytes, (char **)&to));
  PetscCall(PetscCalloc1(bytes, (char **)&back));
  PetscCall(PetscCalloc1(ld * n, &exact));
  for (size_t j = 0; j < n; j++) {
    for (size_t i = 0; i < m; i++) {
      double sum = 0.0;

      for (size_t k = 0; k < s; k++) {
        const double uv = full == PETSC_TRUE || k % 2 == 0 ? Basis(m, k, i) * Basis(n, k, j) : 0.0;

        sum += pow(condition, s > 1 ? -(double)k / (double)(s - 1) : 0.0) * uv;
        exact[j * ld + i] += uv;
      }
      if (precision == MUON_SINGLE) ((float *)from)[j * ld + i] = (float)sum;
      else ((double *)from)[j * ld + i] = sum;
    }
  }
  PetscCall(PetscMemzero(&g, sizeof(g)));
  g.precision   = precision;
  g.len         = m;
  g.count       = n;
  g.ld          = ld;
  g.memory      = MUON_HOST;
  q             = g;
  g.data        = from;
  q.data        = to;
  G             = MuonMatrixOfArray(&g);
  Q             = MuonMatrixOfArray(&q);
  polar->memory = MUON_HOST;
  PetscCall(MuonPolarApplyMatrices(1.0, 1, &polar, &G, &Q, &status));
  PetscCheck(status == MUON_STATUS_OK, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s on the host: status %s", ((PetscObject)polar)->type_name, MuonStatuses[status]);
  g.memory = q.memory = MUON_DEVICE;
  g.data              = device->allocate(bytes);
  q.data              = device->allocate(bytes);
  device->copy(bytes, from, g.data);
  device->zero(bytes, q.data);
  G             = MuonMatrixOfArray(&g);
  Q             = MuonMatrixOfArray(&q);
  polar->memory = MUON_DEVICE;
  before        = weighted == PETSC_TRUE ? ((const PetscInt *)polar->data)[2] : 0;
  PetscCall(MuonPolarApplyMatrices(1.0, 1, &polar, &G, &Q, &status));
  PetscCheck(status == MUON_STATUS_OK, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s on the device: status %s", ((PetscObject)polar)->type_name, MuonStatuses[status]);
  device->copy(bytes, q.data, back);
  for (size_t k = 0; k < ld * n; k++) {
    const double x = Get(&g, back, k), y = Get(&g, to, k), known = fabs(x - exact[k]);

    PetscCheck(fabs(x - y) <= bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s of %zu x %zu: entry %zu is %.17g on the device, %.17g on the host, expected a difference of at most %g", ((PetscObject)polar)->type_name, m, n, k, x, y, bound);
    /* Singular values of the rational function are 0.04 below one at most, by its default tolerance */
    PetscCheck(known <= bound + (rational == PETSC_TRUE ? 0.04 : 0.0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s of %zu x %zu: entry %zu is %.17g on the device, expected %.17g within %g", ((PetscObject)polar)->type_name, m, n, k, x, exact[k], bound);
  }
  /* Of full rank, whatever the condition */
  for (size_t i = 0; i < s * s && full == PETSC_TRUE && rational == PETSC_FALSE; i++) {
    double sum = i / s == i % s ? -1.0 : 0.0;

    for (size_t k = 0; k < l; k++) sum += m > n ? Get(&g, back, i / s * ld + k) * Get(&g, back, i % s * ld + k) : Get(&g, back, k * ld + i / s) * Get(&g, back, k * ld + i % s);
    orthogonal = PetscMax(orthogonal, fabs(sum));
  }
  PetscCheck(orthogonal <= 100.0 * (double)l * unit, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s of %zu x %zu: off orthogonality by %g", ((PetscObject)polar)->type_name, m, n, orthogonal);
  if (weighted == PETSC_TRUE && full == PETSC_TRUE && precision == MUON_DOUBLE) {
    const PetscInt *count = (const PetscInt *)polar->data, qr = count[1], decompositions = count[2] - before;

    PetscCheck(decompositions == 0 && (qr > 0 || condition < 1e6), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " steps by QR, %" PetscInt_FMT " decompositions", qr, decompositions);
  }
  PetscCall(MuonPolarReset(polar));
  device->release(g.data);
  device->release(q.data);
  PetscCall(PetscFree(from));
  PetscCall(PetscFree(to));
  PetscCall(PetscFree(back));
  PetscCall(PetscFree(exact));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const size_t shapes[][2] = {{40, 17}, {17, 40}, {24, 24}, {9, 1}, {1, 9}};
  MuonPolar    polar;
  PetscBool    weighted;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCheck(MuonDeviceGet() != NULL && MuonDeviceGet()->start() == NULL, PETSC_COMM_SELF, PETSC_ERR_SUP, "No device");
  PetscCall(MuonPolarCreate(PETSC_COMM_SELF, &polar));
  PetscCall(MuonPolarSetFromOptions(polar));
  for (size_t k = 0; k < sizeof(shapes) / sizeof(shapes[0]); k++) {
    for (int p = 0; p < 4; p++) PetscCall(Check(polar, p % 2 ? MUON_DOUBLE : MUON_SINGLE, shapes[k][0], shapes[k][1], p < 2 ? PETSC_TRUE : PETSC_FALSE, 8.0));
  }
  PetscCall(PetscObjectTypeCompare((PetscObject)polar, MUONPOLARQDWH, &weighted));
  if (weighted == PETSC_TRUE) PetscCall(Check(polar, MUON_DOUBLE, 30, 20, PETSC_TRUE, 1e9));
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  testset:
    requires: kokkos
    output_file: output/kernels_ok.out

    table: suffix | args
      exact    | -lmo_polar_type {{svd qdwh}}
      rational | -lmo_polar_type zolotarev -lmo_polar_precision {{single double}}

TEST*/
