static char help[] = "AdamW, NAdamW and gradient descent: the length of the first step, and many steps done again entry by entry.\n";

#include "ef21_common.h"
#include "layer_parameter.h"

#define STEPS 20
#define LR    ((PetscReal)0.03125)

static const TestShape   Shapes[4] = {{"a", MUONLMOFROBENIUS, 6, 3, 2, PETSC_FALSE}, {"n", MUONLMOFROBENIUS, 9, 1, 0, PETSC_TRUE}, {"s", MUONLMOFROBENIUS, 4, 5, 0, PETSC_FALSE}, {"f", MUONLMOFROBENIUS, 3, 3, 0, PETSC_FALSE}};
static const char *const Types[4]  = {MUONLAYERADAMW, MUONLAYERNADAMW, MUONLAYERSGD, MUONLAYERFROZEN};

/* Between 1/2 and 3/2 in size, of one sign for each entry: nothing cancels in the moments */
static PetscReal Gradient(PetscInt l, PetscInt e, PetscInt worker, PetscInt step)
{
  return (e % 2 == 0 ? 1 : -1) * (1 + TestNumber(l, e, worker, step) / 2);
}

static PetscErrorCode Run(MuonType type, MuonExchangeType exchangetype, PetscReal decay, PetscReal scale)
{
  const PetscReal b1[2] = {(PetscReal)0.75, (PetscReal)0.9}, b2[2] = {(PetscReal)0.9, (PetscReal)0.95}, epsilon = (PetscReal)1e-10;
  TestProblem     p;
  MuonExchange    exchange;
  PetscReal       X[4][20], m[4][20], v[4][20];

  PetscFunctionBegin;
  PetscCall(TestCreate(PETSC_COMM_WORLD, type, 4, Shapes, -1, &p));
  PetscCall(MuonSetObjectiveAndGradient(p.muon, NULL, NULL));
  PetscCall(MuonSetLearningRate(p.muon, LR));
  PetscCall(MuonSetAdamW(p.muon, LR, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonGetExchange(p.muon, &exchange));
  PetscCall(MuonExchangeSetType(exchange, exchangetype));
  for (PetscInt l = 0; l < 4; l++) {
    PetscCall(MuonLayerSetType(p.layer[l], Types[l]));
    PetscCall(MuonLayerSetScale(p.layer[l], scale));
    PetscCall(LayerSet(p.layer[l], "weight_decay", decay));
    /* Momentum is the type's own: the worker's must not act */
    PetscCall(LayerSet(p.layer[l], "momentum", (PetscReal)0.5));
    PetscCall(TestGetWeights(&p, l, X[l]));
    PetscCall(PetscArrayzero(m[l], 20));
    PetscCall(PetscArrayzero(v[l], 20));
  }
  PetscCall(LayerSet(p.layer[0], "adamw_beta1", b1[0]));
  PetscCall(LayerSet(p.layer[0], "adamw_beta2", b2[0]));
  PetscCall(LayerSet(p.layer[0], "adamw_epsilon", epsilon));
  for (PetscInt s = 0; s < STEPS; s++) {
    for (PetscInt l = 0; l < 4; l++) {
      PetscReal rows[20];

      for (PetscInt e = 0; e < TestEntries(&Shapes[l]); e++) rows[e] = Gradient(l, e, p.rank, s);
      PetscCall(TestSetGradient(&p, l, rows));
    }
    PetscCall(MuonStep(p.muon));
    PetscCall(TestCheckReplicas(&p, type, s));
    for (PetscInt l = 0; l < 4; l++) {
      const PetscReal rate = LR; /* the scale is that of a norm ball */
      PetscReal       rows[20];

      PetscCall(TestGetWeights(&p, l, rows));
      for (PetscInt e = 0; e < TestEntries(&Shapes[l]); e++) {
        PetscReal g = 0, old = X[l][e], allowed;

        for (PetscInt j = 0; j < p.size; j++) g += Gradient(l, e, j, s) / (PetscReal)p.size;
        if (l == 2) X[l][e] = (1 - LR * decay) * X[l][e] - rate * g;
        if (l < 2) {
          PetscReal top;

          m[l][e] = b1[l] * m[l][e] + (1 - b1[l]) * g;
          v[l][e] = b2[l] * v[l][e] + (1 - b2[l]) * g * g;
          top     = l == 1 ? b1[l] * m[l][e] + (1 - b1[l]) * g : m[l][e];
          X[l][e] = (1 - rate * decay) * X[l][e] - rate * (top / (1 - PetscPowReal(b1[l], (PetscReal)(s + 1)))) / (PetscSqrtReal(v[l][e] / (1 - PetscPowReal(b2[l], (PetscReal)(s + 1)))) + epsilon);
        }
        /*
           Each moment has a few relative roundings a step, which do not cancel; 1 - b^t has an error of t b^t
           units and is at least 1/20. A step is at most 2.5 rates long
        */
        allowed = (PetscReal)(s + 1) * PETSC_MACHINE_EPSILON * (rate * 3 * (PetscReal)(3 * s + 60 + p.size) + 4 * (1 + (PetscReal)(s + 1) * 3 * rate));
        PetscCheck(PetscAbsReal(rows[e] - X[l][e]) <= allowed, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: type %s, step %" PetscInt_FMT ", entry %" PetscInt_FMT ": %.17g, expected %.17g", type, exchangetype, Types[l], s, e, (double)rows[e],
                   (double)X[l][e]);
        /*
           Whatever the gradient, the first step of AdamW is one learning rate long, that of NAdamW 1 + beta_1
        */
        if (s == 0 && l < 2) {
          const PetscReal step = rate * (l == 0 ? 1 : 1 + b1[l]) * (g > 0 ? 1 : -1);

          PetscCheck(PetscAbsReal((1 - rate * decay) * old - rows[e] - step) <= (4 + 100 * rate) * PETSC_MACHINE_EPSILON + 4 * rate * epsilon, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the first step is %g, expected %g", Types[l],
                     (double)(old - rows[e]), (double)step);
        }
      }
    }
  }
  PetscCall(TestDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const MuonExchangeType exchanges[] = {MUONEXCHANGESTAR, MUONEXCHANGELAYERWISE, MUONEXCHANGEREPLICATED};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  for (PetscInt k = 0; k < 3; k++) {
    for (PetscInt type = 0; type < 2; type++) {
      PetscCall(Run(type == 0 ? MUONDENSE : MUONEF21, exchanges[k], 0, 1));
      PetscCall(Run(type == 0 ? MUONDENSE : MUONEF21, exchanges[k], (PetscReal)0.25, (PetscReal)1.5));
    }
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3 4}}

TEST*/
