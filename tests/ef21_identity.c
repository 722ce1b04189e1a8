static char help[] = "What EF21-Muon must be equal to: Muon where nothing is compressed, one worker where all have the same data, itself where gradients are scaled.\n";

#include "parameter_common.h"
#include "ef21_common.h"

#define STEPS 12

/*
   For comparisons that rounding blurs: entries of the Frobenius norm move smoothly with the gradient, so that
   a relative error e of G moves X by at most 2 t e
*/
static const TestShape Smooth[2] = {{"gain", MUONLMOFROBENIUS, 11, 1, 0, PETSC_TRUE}, {"mat", MUONLMOFROBENIUS, 6, 5, 1, PETSC_FALSE}};

static const TestCompression None = {MUONCOMPRESSORIDENTITY, MUONCOMPRESSORIDENTITY, MUON_COMPRESSOR_VALUES_NATIVE, MUON_COMPRESSOR_VALUES_NATIVE, 1};

/*
   A relative perturbation e of the gradients of each step, while |G| >= least and H <= 3/2: with E the error
   of X, that of G is at most 3/2 E + e |G|, and that of D twice this over |G|, in Frobenius norm. Momentum
   only averages over the steps. So E grows by t (3 E/least + 2 e) a step.
*/
static PetscReal Blur(PetscInt steps, PetscReal t, PetscReal least, PetscReal e)
{
  PetscReal E = 0;

  for (PetscInt s = 0; s < steps; s++) E += t * (3 * E / least + 2 * e);
  return E;
}

static PetscErrorCode SetExchange(TestProblem *p, MuonExchangeType type, MuonExchangeMode mode)
{
  MuonExchange exchange;

  PetscFunctionBegin;
  PetscCall(MuonGetExchange(p->muon, &exchange));
  PetscCall(MuonExchangeSetType(exchange, type));
  PetscCall(MuonExchangeSetMode(exchange, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Steps of both, which must end at the same weights up to bound; smooth problems report the least norm of
   what the oracle saw
*/
static PetscErrorCode Race(TestProblem *p, TestProblem *q, PetscInt steps, PetscReal bound, const char what[], PetscReal *least)
{
  PetscReal difference, norm;

  PetscFunctionBegin;
  if (least != NULL) *least = PETSC_MAX_REAL;
  for (PetscInt s = 0; s < steps; s++) {
    PetscCall(MuonStep(p->muon));
    PetscCall(MuonStep(q->muon));
    PetscCall(TestCheckReplicas(p, what, s));
    PetscCall(TestCheckReplicas(q, what, s));
    PetscCall(TestCompareWeights(p, q, &difference));
    PetscCheck(difference <= bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: weights differ by %g after step %" PetscInt_FMT ", allowed %g", what, (double)difference, s, (double)bound);
    PetscCall(MuonGetGradientDualNorm(p->muon, &norm));
    if (least != NULL) *least = PetscMin(*least, norm);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   T3: nothing compressed is Muon with an exponential average and no Nesterov term; bit for bit where sums run
   in the order of ranks. Nothing left out and added again is dense Muon with all that it has
*/
static PetscErrorCode CheckDense(void)
{
  const MuonExchangeType types[] = {MUONEXCHANGESTAR, MUONEXCHANGELAYERWISE, MUONEXCHANGEREPLICATED};

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 3; k++) {
    TestProblem p, q;
    PetscMPIInt size;

    for (PetscInt way = 0; way < 4; way++) {
      const PetscInt         gather = way % 2;
      const MuonExchangeMode sum    = k == 2 ? MUON_EXCHANGE_MODE_ALLREDUCE : MUON_EXCHANGE_MODE_REDUCE;
      const PetscBool        ef14   = way >= 2 ? PETSC_TRUE : PETSC_FALSE;

      PetscCall(TestCreate(PETSC_COMM_WORLD, ef14 ? MUONEF14 : MUONEF21, TEST_LAYERS, TestShapes, -1, &p));
      PetscCall(TestCreate(PETSC_COMM_WORLD, MUONDENSE, TEST_LAYERS, TestShapes, -1, &q));
      p.noise = q.noise = 2;
      if (ef14) {
        PetscCall(MuonSetMomentum(p.muon, PETSC_CURRENT, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_EMA));
        PetscCall(MuonSetMomentum(q.muon, PETSC_CURRENT, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_EMA));
      } else PetscCall(MuonSetParameter(q.muon, "muon_momentum_at", "worker"));
      PetscCall(SetExchange(&p, types[k], gather == 1 ? MUON_EXCHANGE_MODE_GATHER : sum));
      PetscCall(SetExchange(&q, types[k], gather == 1 ? MUON_EXCHANGE_MODE_GATHER : sum));
      PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
      PetscCall(Race(&p, &q, STEPS, 0, "T3", NULL));
      for (PetscInt l = 0; l < p.n; l++) {
        PetscReal *X, *W;
        PetscBool  serves;

        PetscCall(PetscMalloc2(TestEntries(&p.shape[l]), &X, TestEntries(&p.shape[l]), &W));
        PetscCall(TestGetServerWeights(&p, l, X, &serves));
        PetscCall(TestGetWeights(&p, l, W));
        PetscCheck(serves == PETSC_FALSE || memcmp(X, W, (size_t)TestEntries(&p.shape[l]) * sizeof(*X)) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "T3: layer %s: the server's weights are not the workers'", p.shape[l].name);
        PetscCall(PetscFree2(X, W));
      }
      PetscCall(TestDestroy(&p));
      PetscCall(TestDestroy(&q));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   T3 and T5 with the one momentum at the server, of the mean gradient: the same up to the order of sums, and
   in the style sgd too, whose momentum is 1/(1-mu) times as large. M is a sum of products, each rounded a few
   times: relative to the mean of |g_j|, of which |M| is not a small part here, (J + 8) epsilon is enough,
   with a factor for the cancellation in the mean.
*/
static PetscErrorCode CheckStart(void)
{
  const PetscReal t = (PetscReal)0.02;
  TestProblem     p, q, r;
  PetscReal       least, difference;

  PetscFunctionBegin;
  for (PetscInt style = 0; style < 2; style++) {
    PetscReal allowed;

    PetscCall(TestCreate(PETSC_COMM_WORLD, MUONEF21, 1, Smooth, -1, &p));
    PetscCall(TestCreate(PETSC_COMM_WORLD, MUONDENSE, 1, Smooth, -1, &q));
    p.noise = q.noise = 2;
    if (style == 1) PetscCall(MuonSetMomentum(q.muon, PETSC_CURRENT, MUON_MOMENTUM_SGD, MUON_NESTEROV_CURRENT));
    PetscCall(Race(&p, &q, STEPS, PETSC_MAX_REAL, "T5", &least));
    PetscCall(TestCompareWeights(&p, &q, &difference));
    allowed = Blur(STEPS, t, least, 16 * (PetscReal)(p.size + 8) * PETSC_MACHINE_EPSILON) + 2 * STEPS * PETSC_MACHINE_EPSILON;
    PetscCheck(difference <= allowed, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "T5: EF21 from zero is off Muon in the style %s by %g, allowed %g", MuonMomentumStyles[style], (double)difference, (double)allowed);
    PetscCall(TestDestroy(&q));
    PetscCall(TestDestroy(&p));
  }
  /*
     From the whole first gradient the first step is the same, because D does not depend on the length of G,
     and the later ones are not: there the second gradient has another weight
  */
  PetscCall(TestCreate(PETSC_COMM_WORLD, MUONEF21, 1, Smooth, -1, &p));
  PetscCall(TestCreate(PETSC_COMM_WORLD, MUONEF21, 1, Smooth, -1, &r));
  p.noise = r.noise = 2;
  PetscCall(MuonSetMomentum(p.muon, (PetscReal)0.5, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
  PetscCall(MuonSetMomentum(r.muon, (PetscReal)0.5, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
  PetscCall(TestSetOfMuonType(r.muon, MUONEF21, "ef21_init", "gradient"));
  PetscCall(Race(&p, &r, 1, 4 * PETSC_MACHINE_EPSILON, "T5: first step", NULL));
  PetscCall(MuonStep(p.muon));
  PetscCall(MuonStep(r.muon));
  PetscCall(TestCompareWeights(&p, &r, &difference));
  PetscCheck(difference > (PetscReal)1e-4, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "T5: the beginning with a gradient has no effect, the weights differ by %g", (double)difference);
  PetscCall(TestDestroy(&p));
  PetscCall(TestDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   T4: all with the data of worker 0 against one worker alone, bit for bit where the mean of equal numbers is
   exact
*/
static PetscErrorCode CheckEqualData(void)
{
  const TestCompression compressions[] = {{MUONCOMPRESSORTOPK, MUONCOMPRESSORTOPK, MUON_COMPRESSOR_VALUES_NATIVE, MUON_COMPRESSOR_VALUES_SINGLE, (PetscReal)0.3},
                                          {MUONCOMPRESSORTOPK, MUONCOMPRESSORRANKK, MUON_COMPRESSOR_VALUES_BF16, MUON_COMPRESSOR_VALUES_SINGLE, (PetscReal)0.5},
                                          {MUONCOMPRESSORRANKK, MUONCOMPRESSORIDENTITY, MUON_COMPRESSOR_VALUES_NATIVE, MUON_COMPRESSOR_VALUES_NATIVE, (PetscReal)0.5}};
  PetscMPIInt           size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt k = 0; k < 3; k++) {
    TestProblem p, q;
    PetscReal   least, difference, allowed;

    /*
       The mean of three equal numbers is rounded: there only what moves smoothly can be compared, without
       Top-K on the way down, where entries of X - W come close to each other
    */
    if (size == 3 && k < 2) continue;
    PetscCall(TestCreate(PETSC_COMM_WORLD, MUONEF21, size == 3 ? 1 : TEST_LAYERS, size == 3 ? Smooth : TestShapes, 0, &p));
    PetscCall(TestCreate(PETSC_COMM_SELF, MUONEF21, p.n, p.shape, 0, &q));
    p.noise = q.noise = 2;
    PetscCall(TestCompress(&p, &compressions[k]));
    PetscCall(TestCompress(&q, &compressions[k]));
    PetscCall(Race(&p, &q, STEPS, size == 3 ? PETSC_MAX_REAL : 0, "T4", &least));
    PetscCall(TestCompareWeights(&p, &q, &difference));
    /*
       Each step rounds the sum, 1/J, the product and G, which is made of the messages of all steps; the
       residual forgets nothing of it, so that errors of all steps may add
    */
    allowed = size == 3 ? Blur(STEPS, (PetscReal)0.02, least, 16 * STEPS * PETSC_MACHINE_EPSILON) : 0;
    PetscCheck(difference <= allowed, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "T4: equal data on %d workers is off one worker by %g, allowed %g", size, (double)difference, (double)allowed);
    PetscCall(TestDestroy(&p));
    PetscCall(TestDestroy(&q));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   T6: gradients 4 times as large, which no rounding sees, give the same weights bit for bit where all
   compressors are homogeneous; 3 times as large, up to rounding
*/
static PetscErrorCode CheckScale(void)
{
  const TestCompression compressions[] = {{MUONCOMPRESSORTOPK, MUONCOMPRESSORTOPK, MUON_COMPRESSOR_VALUES_NATURAL, MUON_COMPRESSOR_VALUES_SINGLE, (PetscReal)0.3},
                                          {MUONCOMPRESSORNATURAL, MUONCOMPRESSORTOPK, MUON_COMPRESSOR_VALUES_NATIVE, MUON_COMPRESSOR_VALUES_NATIVE, (PetscReal)0.3},
                                          {MUONCOMPRESSORTOPK, MUONCOMPRESSORIDENTITY, MUON_COMPRESSOR_VALUES_BF16, MUON_COMPRESSOR_VALUES_NATIVE, (PetscReal)0.3}};

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 3; k++) {
    TestProblem p, q;

    /* Without the spectral norm: scaling moves the thresholds of an iterative solver */
    PetscCall(TestCreate(PETSC_COMM_WORLD, MUONEF21, TEST_LAYERS - 3, TestShapes + 3, -1, &p));
    PetscCall(TestCreate(PETSC_COMM_WORLD, MUONEF21, TEST_LAYERS - 3, TestShapes + 3, -1, &q));
    p.noise = q.noise = 2;
    q.scale           = 4;
    PetscCall(TestCompress(&p, &compressions[k]));
    PetscCall(TestCompress(&q, &compressions[k]));
    PetscCall(Race(&p, &q, STEPS, 0, "T6: factor 4", NULL));
    PetscCall(TestDestroy(&p));
    PetscCall(TestDestroy(&q));
  }
  for (PetscInt k = 0; k < 2; k++) {
    const TestCompression compression = {k == 0 ? MUONCOMPRESSORTOPK : MUONCOMPRESSORRANKK, MUONCOMPRESSORIDENTITY, MUON_COMPRESSOR_VALUES_NATIVE, MUON_COMPRESSOR_VALUES_NATIVE, (PetscReal)0.5};
    TestProblem           p, q;
    PetscReal             least, difference, allowed;

    PetscCall(TestCreate(PETSC_COMM_WORLD, MUONEF21, 1, &Smooth[1], -1, &p));
    PetscCall(TestCreate(PETSC_COMM_WORLD, MUONEF21, 1, &Smooth[1], -1, &q));
    p.noise = q.noise = 2;
    q.scale           = 3;
    PetscCall(TestCompress(&p, &compression));
    PetscCall(TestCompress(&q, &compression));
    PetscCall(Race(&p, &q, STEPS, PETSC_MAX_REAL, "T6", &least));
    PetscCall(TestCompareWeights(&p, &q, &difference));
    allowed = Blur(STEPS, (PetscReal)0.02, least, 1000 * STEPS * PETSC_MACHINE_EPSILON);
    PetscCheck(difference <= allowed, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "T6: gradients 3 times as large move the weights by %g under %s, allowed %g", (double)difference, compression.up, (double)allowed);
    PetscCall(TestDestroy(&p));
    PetscCall(TestDestroy(&q));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   T7: Top-K of all entries and Rank-K of all triples are the identity. G_j + (M_j - G_j) is not M_j where it
   is rounded, so Top-K is compared where nothing is: weights on a grid, a radius of that grid, momentum 1/2,
   whose powers fit in the mantissa, and a number of workers that divides exactly. There the norm is max,
   whose D is exact too.
*/
static PetscErrorCode CheckWhole(void)
{
  const TestCompression topk  = {MUONCOMPRESSORTOPK, MUONCOMPRESSORTOPK, MUON_COMPRESSOR_VALUES_NATIVE, MUON_COMPRESSOR_VALUES_NATIVE, 1};
  const TestCompression rankk = {MUONCOMPRESSORRANKK, MUONCOMPRESSORIDENTITY, MUON_COMPRESSOR_VALUES_NATIVE, MUON_COMPRESSOR_VALUES_NATIVE, 1};
  TestProblem           p, q;
  PetscReal             least, difference, allowed;

  PetscFunctionBegin;
  PetscCall(TestCreate(PETSC_COMM_WORLD, MUONEF21, 1, &TestShapes[5], -1, &p));
  PetscCall(TestCreate(PETSC_COMM_WORLD, MUONEF21, 1, &TestShapes[5], -1, &q));
  if (p.size != 3) {
    PetscCall(MuonSetLearningRate(p.muon, (PetscReal)(1. / 64)));
    PetscCall(MuonSetLearningRate(q.muon, (PetscReal)(1. / 64)));
    PetscCall(MuonSetMomentum(p.muon, (PetscReal)0.5, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
    PetscCall(MuonSetMomentum(q.muon, (PetscReal)0.5, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
    PetscCall(TestCompress(&p, &topk));
    PetscCall(TestCompress(&q, &None));
    /* 12 bits of a gradient, as many steps, two bits of the mean */
    PetscCall(Race(&p, &q, PETSC_MACHINE_EPSILON < 1e-10 ? 30 : 8, 0, "T7: Top-K", NULL));
  }
  PetscCall(TestDestroy(&p));
  PetscCall(TestDestroy(&q));
  PetscCall(TestCreate(PETSC_COMM_WORLD, MUONEF21, 1, &Smooth[1], -1, &p));
  PetscCall(TestCreate(PETSC_COMM_WORLD, MUONEF21, 1, &Smooth[1], -1, &q));
  p.noise = q.noise = 2;
  PetscCall(TestCompress(&p, &rankk));
  PetscCall(TestCompress(&q, &None));
  PetscCall(Race(&p, &q, STEPS, PETSC_MAX_REAL, "T7", &least));
  PetscCall(TestCompareWeights(&p, &q, &difference));
  allowed = Blur(STEPS, (PetscReal)0.02, least, 1000 * PETSC_MACHINE_EPSILON);
  PetscCheck(difference <= allowed, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "T7: Rank-K of all triples moves the weights by %g, allowed %g", (double)difference, (double)allowed);
  PetscCall(TestDestroy(&p));
  PetscCall(TestDestroy(&q));
  /* What is left out of all of the subspace is rounding, which EF14 adds to the next gradient: as above */
  PetscCall(TestCreate(PETSC_COMM_WORLD, MUONEF14, 1, &Smooth[1], -1, &p));
  PetscCall(TestCreate(PETSC_COMM_WORLD, MUONDENSE, 1, &Smooth[1], -1, &q));
  p.noise = q.noise = 2;
  PetscCall(MuonSetParameter(p.muon, "ef14_compressor", MUONCOMPRESSORPOWERSGD));
  PetscCall(MuonSetParameter(p.muon, "ef14_compressor_ratio", "1"));
  PetscCall(MuonSetParameter(p.muon, "ef14_compressor_values", "native"));
  PetscCall(Race(&p, &q, STEPS, PETSC_MAX_REAL, "EF14", &least));
  PetscCall(TestCompareWeights(&p, &q, &difference));
  PetscCheck(difference <= allowed, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "EF14 with powersgd of all of the subspace moves the weights by %g, allowed %g", (double)difference, (double)allowed);
  PetscCall(TestDestroy(&p));
  PetscCall(TestDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(CheckDense());
  PetscCall(CheckStart());
  PetscCall(CheckEqualData());
  PetscCall(CheckScale());
  PetscCall(CheckWhole());
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3 4}}

TEST*/
