static char help[] = "Muon gives the same weights over all exchanges and modes and with the momentum at the workers: the same bits where sums are exact or run in the order of ranks, else up to rounding.\n";

#include "ef21_common.h"

#define STEPS 10
#define WAYS  9

/* Smooth in the gradient: an error e of it, relative to |G|, moves X by at most 2 t e */
static const TestShape Smooth[2] = {{"gain", MUONLMOFROBENIUS, 11, 1, 0, PETSC_TRUE}, {"mat", MUONLMOFROBENIUS, 6, 5, 1, PETSC_FALSE}};

typedef struct {
  MuonExchangeType       type;
  MuonExchangeMode       mode;
  MuonExchangeAssignment assignment;
} Way;

static const Way Ways[WAYS] = {{MUONEXCHANGESTAR, MUON_EXCHANGE_MODE_GATHER, MUON_EXCHANGE_ASSIGNMENT_LPT},
                               {MUONEXCHANGELAYERWISE, MUON_EXCHANGE_MODE_GATHER, MUON_EXCHANGE_ASSIGNMENT_LPT},
                               {MUONEXCHANGELAYERWISE, MUON_EXCHANGE_MODE_GATHER, MUON_EXCHANGE_ASSIGNMENT_ROUNDROBIN},
                               {MUONEXCHANGEREPLICATED, MUON_EXCHANGE_MODE_GATHER, MUON_EXCHANGE_ASSIGNMENT_LPT},
                               {MUONEXCHANGESTAR, MUON_EXCHANGE_MODE_REDUCE, MUON_EXCHANGE_ASSIGNMENT_LPT},
                               {MUONEXCHANGELAYERWISE, MUON_EXCHANGE_MODE_REDUCE, MUON_EXCHANGE_ASSIGNMENT_LPT},
                               {MUONEXCHANGELAYERWISE, MUON_EXCHANGE_MODE_REDUCE, MUON_EXCHANGE_ASSIGNMENT_ROUNDROBIN},
                               {MUONEXCHANGELAYERWISE, MUON_EXCHANGE_MODE_ALLREDUCE, MUON_EXCHANGE_ASSIGNMENT_ROUNDROBIN},
                               {MUONEXCHANGEREPLICATED, MUON_EXCHANGE_MODE_ALLREDUCE, MUON_EXCHANGE_ASSIGNMENT_LPT}};

static PetscErrorCode RunWay(const Way *way, PetscInt n, const TestShape shape[], PetscBool exact, PetscBool atworker, PetscReal data[], PetscReal *least)
{
  TestProblem  p;
  MuonExchange exchange;
  PetscReal    norm;

  PetscFunctionBegin;
  PetscCall(TestCreate(PETSC_COMM_WORLD, MUONDENSE, n, shape, -1, &p));
  p.noise = 2;
  /* Gradients that are multiples of 2^-11 and do not depend on the weights */
  for (PetscInt l = 0; l < n && exact == PETSC_TRUE; l++) PetscCall(PetscArrayzero(p.H[l], TestEntries(&shape[l])));
  PetscCall(MuonSetParameter(p.muon, "muon_momentum_at", MuonMomentumAts[atworker == PETSC_TRUE ? MUON_MOMENTUM_AT_WORKER : MUON_MOMENTUM_AT_SERVER]));
  if (exact == PETSC_TRUE) PetscCall(MuonSetMomentum(p.muon, PETSC_CURRENT, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_EMA));
  PetscCall(MuonGetExchange(p.muon, &exchange));
  PetscCall(MuonExchangeSetType(exchange, way->type));
  PetscCall(MuonExchangeSetMode(exchange, way->mode));
  PetscCall(MuonObjectSetParameter((PetscObject)exchange, "muon_exchange_assignment", MuonExchangeAssignments[way->assignment]));
  *least = PETSC_MAX_REAL;
  for (PetscInt s = 0; s < STEPS; s++) {
    PetscCall(MuonStep(p.muon));
    PetscCall(TestCheckReplicas(&p, way->type, s));
    PetscCall(MuonGetGradientDualNorm(p.muon, &norm));
    *least = PetscMin(*least, norm);
  }
  PetscCall(TestGetAllWeights(&p, data));
  PetscCall(TestDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckBits(PetscBool exact, PetscInt ways)
{
  PetscReal first[300], other[300], least;
  PetscInt  d = 0;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < TEST_LAYERS; l++) d += TestEntries(&TestShapes[l]);
  PetscCheck(d <= 300, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " entries", d);
  for (PetscInt w = 0; w < ways; w++) {
    PetscCall(RunWay(&Ways[w], TEST_LAYERS, TestShapes, exact, PETSC_FALSE, w == 0 ? first : other, &least));
    PetscCheck(w == 0 || memcmp(first, other, (size_t)d * sizeof(*first)) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s, owners by %s: not the bits of the star", Ways[w].type, MuonExchangeModes[Ways[w].mode],
               MuonExchangeAssignments[Ways[w].assignment]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One layer at a time, so that the dual norm is that layer's |G|. As H <= 3/2, an error E of X is one of 3/2 E of G, and rounding makes the sum of J gradients and its momentum uncertain by
   (J + 4) epsilon of numbers of which the mean is not 16 times smaller; both count twice over |G| in D */
static PetscErrorCode CheckRounding(void)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt l = 0; l < 2; l++) {
    for (PetscInt k = 1; k < 2 * WAYS; k++) {
      PetscReal first[30], other[30], least, unused, E = 0;

      PetscCall(RunWay(&Ways[0], 1, &Smooth[l], PETSC_FALSE, PETSC_FALSE, first, &least));
      PetscCall(RunWay(&Ways[k % WAYS], 1, &Smooth[l], PETSC_FALSE, k >= WAYS ? PETSC_TRUE : PETSC_FALSE, other, &unused));
      for (PetscInt s = 0; s < STEPS; s++) E += (PetscReal)0.02 * (3 * E / least + 32 * (PetscReal)(size + 4) * PETSC_MACHINE_EPSILON) + 4 * PETSC_MACHINE_EPSILON;
      for (PetscInt e = 0; e < TestEntries(&Smooth[l]); e++)
        PetscCheck(PetscAbsReal(first[e] - other[e]) <= E, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Layer %s: %s, %s, momentum at the %s: entry %" PetscInt_FMT " is off the star by %g, allowed %g", Smooth[l].name, Ways[k % WAYS].type,
                   MuonExchangeModes[Ways[k % WAYS].mode], k >= WAYS ? "worker" : "server", e, (double)PetscAbsReal(first[e] - other[e]), (double)E);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(CheckBits(PETSC_FALSE, 4));
  PetscCall(CheckBits(PETSC_TRUE, WAYS));
  PetscCall(CheckRounding());
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  # The last has more ranks than layers
  test:
    nsize: {{1 2 3 4 7}}

TEST*/
