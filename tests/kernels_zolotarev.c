/*
   Zolotarev's coefficients for tests/oracle/zolotarev.py, which has them by theta functions, and the errors of its table.
*/
#include "kernels_common.h"
#include "kernels/dense/muonpolarzolotarev.h"

static void Write(FILE *file, const MuonKernelZolotarev *z)
{
  fprintf(file, " %d %.17g %.17g", z->poles, z->scale, z->lowest);
  for (int j = 0; j < z->poles; j++) fprintf(file, " %.17g %.17g", z->a[j], z->c[j]);
}

int main(int argc, char **argv)
{
  static const double intervals[] = {1e-12, 1e-9, 1e-6, 1e-4, 1e-3, 3e-3, 1e-2, 0.1, 0.5, 0.9, 0.999};
  FILE               *file        = OracleFile(argc, argv, "zolotarev.txt");

  for (size_t k = 0; k < sizeof(intervals) / sizeof(intervals[0]); k++) {
    for (int r = 1; r <= MAXMUONKERNELPOLES; r++) {
      MuonKernelZolotarev all, first, second;
      const int           nested = MuonKernelZolotarevNest(r, intervals[k], &first, &second);

      MuonKernelZolotarevSet(r, intervals[k], &all);
      fprintf(file, "%.17g %d %.17g %d", intervals[k], r, MuonKernelZolotarevError(r, intervals[k]), nested);
      Write(file, &all);
      if (nested > 0) Write(file, &first);
      if (nested > 0) Write(file, &second);
      fprintf(file, "\n");
    }
  }
  Check(fclose(file) == 0, "not written");
  return 0;
}

/*TEST

  link: internal

  test:
    nsize: 0
    oracle: zolotarev.py

TEST*/
