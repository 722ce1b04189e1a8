static char help[] = "Workers, steps and directions round with independent random numbers: equal messages of J workers have 1/J of the variance of one.\n";

#include "parameters.h"
#include "ef21_common.h"

static const TestShape Shape[1] = {{"w", MUONLMOFROBENIUS, 80, 60, 0, PETSC_FALSE}};

/*
   The same gradient at every worker, which does not depend on the weights, from step `from` on; zero before
*/
typedef struct {
  TestProblem problem;
  PetscInt    from;
} Constant;

static PetscReal Entry(PetscInt e)
{
  return 1 + (PetscReal)(e % 1024) / 1024 + PETSC_SQRT_MACHINE_EPSILON;
}

static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  Constant    *c = (Constant *)ctx;
  PetscReal   *rows;
  PetscInt     step;
  const size_t d = 4800;
  Mat          G;

  PetscFunctionBegin;
  PetscCall(MuonGetStepNumber(muon, &step));
  PetscCall(MuonLayerGetGradient(c->problem.layer[0], &G));
  PetscCall(PetscMalloc1(d, &rows));
  for (PetscInt e = 0; e < (PetscInt)d; e++) rows[e] = step < c->from ? 0 : Entry(e);
  PetscCall(TestMatSetRows(G, rows));
  PetscCall(PetscFree(rows));
  *loss = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The aggregate after the first step with a gradient, which is the mean of the rounded gradients, on every
   rank
*/
static PetscErrorCode Aggregate(PetscInt from, PetscInt seed, PetscReal rows[])
{
  const TestCompression natural = {MUONCOMPRESSORNATURAL, MUONCOMPRESSORIDENTITY, MUON_COMPRESSOR_VALUES_SINGLE, MUON_COMPRESSOR_VALUES_SINGLE, 1};
  MuonExchange          exchange;
  Constant              c;
  Mat                   G;

  PetscFunctionBegin;
  PetscCall(TestCreate(PETSC_COMM_WORLD, MUONEF21, 1, Shape, -1, &c.problem));
  c.from = from;
  PetscCall(MuonSetObjectiveAndGradient(c.problem.muon, Objective, &c));
  PetscCall(TestCompress(&c.problem, &natural));
  PetscCall(MuonSetMomentum(c.problem.muon, 0, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
  PetscCall(SetNumber((PetscObject)c.problem.muon, "muon_seed", (double)seed));
  PetscCall(MuonGetExchange(c.problem.muon, &exchange));
  PetscCall(MuonExchangeSetType(exchange, MUONEXCHANGEREPLICATED));
  for (PetscInt s = 0; s <= from; s++) PetscCall(MuonStep(c.problem.muon));
  PetscCall(TestGetEF21State(c.problem.muon, c.problem.layer[0], NULL, NULL, &G));
  PetscCall(TestMatGetRows(G, rows));
  PetscCall(TestDestroy(&c.problem));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt d = 4800;
  PetscReal     *a, *b, error = 0, variance = 0, spread = 0, mean = 0, same = 0, expected = 0;
  PetscMPIInt    size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscMalloc2(d, &a, d, &b));
  PetscCall(Aggregate(0, 0, a));
  /*
     T12. x in (1, 2) becomes 2 with probability q = x - 1, else 1: variance v = q (1 - q), fourth central
     moment v (1 - 3 v). The mean of J such errors has variance v/J, and its square the variance (v (1 - 3 v)
     + 3 (J - 1) v^2)/J^3 - v^2/J^2. Six standard deviations of a sum of thousands of bounded numbers are
     enough for any seed, and far from what J equal roundings would have.
  */
  for (PetscInt e = 0; e < d; e++) {
    const PetscReal q = Entry(e) - 1, v = q * (1 - q), J = (PetscReal)size;

    error += (a[e] - Entry(e)) * (a[e] - Entry(e));
    mean += a[e] - Entry(e);
    variance += v / J;
    spread += (v * (1 - 3 * v) + 3 * (J - 1) * v * v) / (J * J * J) - v * v / (J * J);
  }
  PetscCheck(PetscAbsReal(error - variance) <= 6 * PetscSqrtReal(spread), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "T12: squared error of the mean of %d workers %g, expected %g +- %g", size, (double)error, (double)variance, (double)PetscSqrtReal(spread));
  PetscCheck(PetscAbsReal(mean) <= 6 * PetscSqrtReal(variance), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "T12: error of the mean %g, expected 0 +- %g", (double)mean, (double)PetscSqrtReal(variance));
  PetscCheck(6 * PetscSqrtReal(spread) < variance / 2, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The test cannot tell one worker from two");
  /*
     The same step and seed give the same numbers, another step or another seed as many equal ones as
     independent draws do: the sum of J coins agrees with another with the probability of Vandermonde's sum
  */
  PetscCall(Aggregate(0, 0, b));
  PetscCheck(memcmp(a, b, (size_t)d * sizeof(*a)) == 0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The same step and seed draw differently");
  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(Aggregate(k == 0 ? 1 : 0, k, b));
    same = expected = spread = 0;
    for (PetscInt e = 0; e < d; e++) {
      const PetscReal q        = Entry(e) - 1;
      PetscReal       agree    = 0;
      PetscReal       binomial = 1;

      for (PetscInt i = 0; i <= size; i++) {
        const PetscReal probability = binomial * PetscPowRealInt(q, (int)i) * PetscPowRealInt(1 - q, (int)(size - i));

        agree += probability * probability;
        binomial *= (PetscReal)(size - i) / (PetscReal)(i + 1);
      }
      expected += agree;
      spread += agree * (1 - agree);
      if (a[e] == b[e]) same += 1;
    }
    PetscCheck(PetscAbsReal(same - expected) <= 6 * PetscSqrtReal(spread), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "T12: another %s has %g equal entries, expected %g +- %g", k == 0 ? "step" : "seed", (double)same, (double)expected,
               (double)PetscSqrtReal(spread));
  }
  PetscCall(PetscFree2(a, b));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3 4}}

TEST*/
