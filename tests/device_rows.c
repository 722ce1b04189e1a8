static char help[] = "Polar factors of matrices whose rows are spread over the ranks, in the memory of devices beside those on the host, in both orders of their entries.\n\n";

#include <petscmuonpolar.h>
#include <petscmuon/private/muonkernelsdevice.h>
#include <petscmuon/private/muonpolarimpl.h>

enum {
  MOST = 23 * 9
};

/* The first rank has one row, the last has none where there are more than two, the others share the rest */
static void Ranges(PetscMPIInt size, PetscInt m, PetscInt ranges[])
{
  const PetscInt others = PetscMax(size - 2, 1);

  ranges[0] = 0;
  for (PetscMPIInt r = 0; r < size; r++) ranges[r + 1] = r == 0 && size > 1 ? 1 : PetscMin(m, 1 + (m - 1 + others - 1) / others * r);
  ranges[size] = m;
}

static PetscErrorCode Check(MuonPolar polar, PetscInt m, PetscInt n, int rowmajor, MuonPrecision precision)
{
  const MuonDevice *device = MuonDeviceGet();
  MuonArray         g;
  MuonMatrix        G[2], Q[2];
  MuonStatus        status;
  PetscMPIInt       rank, size;
  PetscInt          ranges[17], rows;
  double            from[MOST], back[2][MOST];
  PetscReal         worst = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  Ranges(size, m, ranges);
  rows = ranges[rank + 1] - ranges[rank];
  PetscCall(PetscMemzero(&g, sizeof(g)));
  g.len       = (size_t)(rowmajor ? n : rows);
  g.count     = (size_t)(rowmajor ? rows : n);
  g.ld        = g.len;
  g.precision = precision;
  g.rowmajor  = rowmajor;
  g.pairs     = 0;
  for (PetscInt i = 0; i < rows; i++) {
    for (PetscInt j = 0; j < n; j++) {
      const PetscInt k = rowmajor ? i * n + j : j * rows + i;
      const PetscInt e = (ranges[rank] + i) * n + j;
      const double   x = PetscSinReal((PetscReal)(e * e % 101)); /* of full rank */

      if (precision == MUON_SINGLE) ((float *)(void *)from)[k] = (float)x;
      else from[k] = x;
    }
  }
  for (int far = 0; far < 2; far++) {
    g.memory = far ? MUON_DEVICE : MUON_HOST;
    PetscCall(MuonMemoryAllocate(g.memory, PetscMax(MuonArrayBytes(&g), 1), &g.data));
    device->copy(MuonArrayBytes(&g), from, g.data);
    G[far]        = MuonMatrixOfArray(&g);
    G[far].comm   = PETSC_COMM_WORLD;
    G[far].rank   = rank;
    G[far].size   = size;
    G[far].rows   = m;
    G[far].first  = ranges[rank];
    G[far].ranges = ranges;
    Q[far]        = G[far];
    PetscCall(MuonArrayCreate(&g, precision, &Q[far].here));
    polar->memory = g.memory;
    PetscCall(MuonPolarApplyMatrices(1.0, 1, &polar, &G[far], &Q[far], &status));
    PetscCheck(status == MUON_STATUS_OK, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " x %" PetscInt_FMT " in memory %d ended with %s", m, n, far, MuonStatuses[status]);
    device->copy(MuonArrayBytes(&g), Q[far].here.data, back[far]);
    PetscCall(MuonArrayDestroy(&Q[far].here));
    PetscCall(MuonArrayDestroy(&G[far].here));
  }
  for (size_t k = 0; k < MuonArrayEntries(&g); k++) {
    const double x = precision == MUON_SINGLE ? (double)((float *)(void *)back[0])[k] : back[0][k], y = precision == MUON_SINGLE ? (double)((float *)(void *)back[1])[k] : back[1][k];

    worst = PetscMax(worst, PetscAbsReal((PetscReal)(x - y)));
    PetscCheck(x != 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " x %" PetscInt_FMT ": entry %zu of the factor is 0", m, n, k);
  }
  /*
     Rounded results of double, whose own difference is amplified as in the rows device_polar of equivalence: 525 units of sums of 23
     products, and the condition of the matrix
  */
  PetscCheck(worst <= (PetscReal)(precision == MUON_SINGLE ? 1.2e-7 : 1e-10), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " x %" PetscInt_FMT ", order %d: the factor differs by %g between the memories", m, n, rowmajor, (double)worst);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt shapes[][2] = {{23, 9}, {9, 23}, {8, 8}};
  MuonPolar      polar;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCheck(MuonDeviceGet() != NULL && MuonDeviceGet()->start() == NULL, PETSC_COMM_SELF, PETSC_ERR_SUP, "No device");
  PetscCall(MuonPolarCreate(PETSC_COMM_WORLD, &polar));
  PetscCall(MuonPolarSetFromOptions(polar));
  for (size_t k = 0; k < sizeof(shapes) / sizeof(shapes[0]); k++) {
    for (int way = 0; way < 4; way++) PetscCall(Check(polar, shapes[k][0], shapes[k][1], way % 2, way < 2 ? MUON_DOUBLE : MUON_SINGLE));
  }
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  testset:
    requires: kokkos
    nsize: {{1 4}}
    output_file: output/kernels_ok.out
    args: -lmo_polar_precision double

    table: suffix | args
      polar    | -lmo_polar_type {{newtonschulz gram qdwh zolotarev}}
      estimate | -lmo_polar_type newtonschulz -lmo_polar_normalization spectral

TEST*/
