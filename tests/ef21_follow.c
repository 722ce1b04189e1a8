static char help[] = "The workers' weights follow the server's: the distance contracts as the compressor promises, and vanishes with the radius.\n";

#include "ef21_common.h"

#define STEPS 200

/*
   T13. Top-K leaves at most the part 1 - K/d of a square: |X' - W'|^2 <= (1 - K/d) |X' - W|^2, and |X' - W|
   <= |X - W| + |X' - X|, so that with q = sqrt(1 - K/d) the distance e obeys e' <= q (e + |X' - X|). Each
   entry of W is rounded once, and single values round the kept ones once more.
*/
int main(int argc, char **argv)
{
  const TestCompression compression = {MUONCOMPRESSORTOPK, MUONCOMPRESSORTOPK, MUON_COMPRESSOR_VALUES_NATIVE, MUON_COMPRESSOR_VALUES_NATIVE, (PetscReal)0.1};
  PetscReal            *X, *Xold, *W, e[TEST_LAYERS], middle[TEST_LAYERS], f[2] = {0, 0};
  TestProblem           p;
  MuonExchange          exchange;
  PetscBool             serves;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestCreate(PETSC_COMM_WORLD, MUONEF21, TEST_LAYERS, TestShapes, -1, &p));
  PetscCall(TestCompress(&p, &compression));
  PetscCall(MuonSetSchedule(p.muon, MUON_SCHEDULE_LINEAR, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSetMaxSteps(p.muon, STEPS));
  PetscCall(MuonSetFromOptions(p.muon));
  PetscCall(MuonGetExchange(p.muon, &exchange));
  PetscCall(MuonExchangeSetType(exchange, MUONEXCHANGEREPLICATED));
  PetscCall(PetscMalloc3(TestTotal(&p), &X, TestTotal(&p), &Xold, TestTotal(&p), &W));
  PetscCall(TestGetAllWeights(&p, X));
  for (PetscInt l = 0; l < p.n; l++) e[l] = middle[l] = 0;
  for (PetscInt s = 0; s < STEPS; s++) {
    PetscInt first = 0;

    PetscCall(PetscArraycpy(Xold, X, TestTotal(&p)));
    PetscCall(MuonStep(p.muon));
    PetscCall(TestGetAllWeights(&p, W));
    for (PetscInt l = 0; l < p.n; l++) {
      const PetscInt  d = TestEntries(&p.shape[l]), K = PetscMax(1, (PetscInt)(compression.ratio * (PetscReal)d + (PetscReal)1e-4));
      const PetscReal q     = PetscSqrtReal(1 - (PetscReal)K / (PetscReal)d);
      PetscReal       moved = 0, distance = 0, size = 0;

      PetscCall(TestGetServerWeights(&p, l, X + first, &serves));
      for (PetscInt i = first; i < first + d; i++) {
        moved += (X[i] - Xold[i]) * (X[i] - Xold[i]);
        distance += (X[i] - W[i]) * (X[i] - W[i]);
        size += X[i] * X[i];
      }
      moved    = PetscSqrtReal(moved);
      distance = PetscSqrtReal(distance);
      size     = PetscSqrtReal(size);
      PetscCheck(distance <= q * (e[l] + moved) * (1 + 100 * PETSC_MACHINE_EPSILON) + 4 * PETSC_MACHINE_EPSILON * size, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "T13: layer %s, step %" PetscInt_FMT ": |X-W| %g is above %g", p.shape[l].name, s,
                 (double)distance, (double)(q * (e[l] + moved)));
      e[l] = distance;
      first += d;
      if (s == STEPS / 2) middle[l] = e[l];
      PetscCheck(s != STEPS / 2 || e[l] > 0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "T13: layer %s: X and W are the same, nothing is compressed", p.shape[l].name);
      /*
         In the last tenth the radius falls from 1/10 of the first one to 1/STEPS of it; W needs d/K steps to
         hear of all entries
      */
      PetscCheck(s != STEPS - 1 || (e[l] < middle[l] / 3 && e[l] < (PetscReal)0.03 * size), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "T13: layer %s: |X-W| is %g at the end, %g in the middle, |X| %g", p.shape[l].name, (double)e[l], (double)middle[l],
                 (double)size);
    }
  }
  /* The losses at X and at W are as close as the gradient and the largest curvature say */
  {
    PetscReal slope = 0, all = 0;
    PetscInt  i = 0;

    for (PetscInt l = 0; l < p.n; l++) {
      for (PetscInt k = 0; k < TestEntries(&p.shape[l]); k++, i++) {
        f[0] += p.H[l][k] * (X[i] - p.B[l][k]) * (X[i] - p.B[l][k]) / 2;
        f[1] += p.H[l][k] * (W[i] - p.B[l][k]) * (W[i] - p.B[l][k]) / 2;
        slope += p.H[l][k] * p.H[l][k] * (W[i] - p.B[l][k]) * (W[i] - p.B[l][k]);
      }
      all += e[l] * e[l];
    }
    PetscCheck(PetscAbsReal(f[0] - f[1]) <= PetscSqrtReal(slope * all) + (PetscReal)0.75 * all + 100 * PETSC_MACHINE_EPSILON * f[0], PETSC_COMM_SELF, PETSC_ERR_PLIB, "T13: f(X) = %g, f(W) = %g", (double)f[0], (double)f[1]);
  }
  PetscCall(PetscFree3(X, Xold, W));
  PetscCall(TestDestroy(&p));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3 4}}

TEST*/
