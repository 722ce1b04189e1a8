static char help[] = "The life of an optimizer: types that change, references, resets, vectors, memory; PETSc started and ended more than once.\n\n";

#include "parameters.h"
#include "fails.h"
#include "muon_common.h"
#include <petscmuon/private/petscmuonimpl.h>

/*
   No copy of a layer that the configuration does not need. A worker has its gradient, its momentum where that
   has weight, its estimate where messages are lossy; a server the aggregate where messages up are lossy, the
   sum where arrays are summed, X where messages down are lossy and not the steps themselves, new weights
   where there is no message down; all twice that must be kept until the commit. AdamW has two moments, twice,
   at the server. Single numbers within objects are not counted.
*/
static PetscErrorCode CheckMemory(const Way *way)
{
  const PetscBool ef21 = way->compression != NULL ? PETSC_TRUE : PETSC_FALSE, replicated = strcmp(way->exchange, MUONEXCHANGEREPLICATED) == 0 ? PETSC_TRUE : PETSC_FALSE;
  const PetscBool lossyup   = ef21 == PETSC_TRUE && strcmp(way->compression->up, MUONCOMPRESSORIDENTITY) != 0 ? PETSC_TRUE : PETSC_FALSE;
  const PetscBool steps     = ef21 == PETSC_TRUE && TestIsStep(way->compression->down) == PETSC_TRUE ? PETSC_TRUE : PETSC_FALSE;
  const PetscBool lossydown = ef21 == PETSC_TRUE && steps == PETSC_FALSE && strcmp(way->compression->down, MUONCOMPRESSORIDENTITY) != 0 ? PETSC_TRUE : PETSC_FALSE;
  const PetscBool sums      = way->mode != MUON_EXCHANGE_MODE_GATHER ? PETSC_TRUE : PETSC_FALSE;
  PetscBool       alone, direct;
  PetscLogDouble  worker = 0, server = 0, found[4][3];
  Problem         p;

  PetscFunctionBegin;
  PetscCall(ProblemCreateWay(PETSC_COMM_WORLD, way, &p));
  /* Nobody to sum with; and new weights, or the step to them, until the commit, unless it lies where the gradient was */
  alone  = p.size == 1 ? PETSC_TRUE : PETSC_FALSE;
  direct = lossydown == PETSC_FALSE && (replicated || steps == PETSC_FALSE) ? PETSC_TRUE : PETSC_FALSE;
  for (PetscInt s = 0; s < 4; s++) {
    PetscCall(MuonStep(p.muon));
    PetscCall(MuonGetMemory(p.muon, &found[s][0], &found[s][1], &found[s][2]));
  }
  for (PetscInt l = 0; l < NLAYERS; l++) {
    const PetscLogDouble bytes = (PetscLogDouble)sizeof(PetscScalar) * (PetscLogDouble)(Shapes[l].m * Shapes[l].n);
    const PetscBool      lmo   = steps == PETSC_TRUE || strcmp(Shapes[l].type, MUONLAYERLMO) == 0 ? PETSC_TRUE : PETSC_FALSE;
    PetscMPIInt          owner;

    if (strcmp(Shapes[l].type, MUONLAYERFROZEN) == 0) continue;
    PetscCall(MuonLayerGetOwner(p.layer[l], &owner));
    worker += bytes * (1 + (lossyup == PETSC_TRUE) + (lmo == PETSC_TRUE && (ef21 == PETSC_TRUE || way->atworker == PETSC_TRUE)));
    if (owner >= 0 && owner != p.rank) {
      server += way->mode == MUON_EXCHANGE_MODE_ALLREDUCE ? bytes : 0; /* the sum comes here, too */
      continue;
    }
    server += bytes * ((lossyup == PETSC_TRUE ? 2 : sums && alone == PETSC_FALSE ? 1 : 0) + (lossydown == PETSC_TRUE ? 2 : direct && !(alone && lmo && ef21 == PETSC_FALSE && way->atworker == PETSC_FALSE) ? 1 : 0));
    if (lmo == PETSC_FALSE) server += 4 * bytes;
    else if (ef21 == PETSC_FALSE && way->atworker == PETSC_FALSE) server += 2 * bytes;
  }
  for (PetscInt s = 0; s < 4; s++) PetscCheck(found[s][0] == worker && found[s][1] == server, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: worker %g and server %g bytes, expected %g and %g", way->name, found[s][0], found[s][1], worker, server);
  PetscCheck(found[3][2] == found[2][2], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: scratch grows from %g to %g bytes", way->name, found[2][2], found[3][2]);
  /* A reset gives back what steps need */
  PetscCall(MuonReset(p.muon));
  PetscCall(MuonGetMemory(p.muon, &found[0][0], &found[0][1], NULL));
  PetscCheck(found[0][0] == 0 && found[0][1] == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %g and %g bytes after a reset", way->name, found[0][0], found[0][1]);
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Restart(Problem *p)
{
  PetscFunctionBegin;
  for (PetscInt l = 0; l < NLAYERS; l++) {
    PetscScalar *w;

    PetscCall(ProblemGetArray(p, l, PETSC_FALSE, &w));
    for (PetscInt e = 0; e < Shapes[l].m * Shapes[l].n; e++) w[e] = ProblemNumber(l, e, 0, 1);
  }
  PetscCall(MuonReset(p->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After any sequence of types and resets an optimizer takes the steps of a new one */
static PetscErrorCode CheckTypes(void)
{
  const MuonType types[] = {MUONEF21, MUONDENSE, MUONDENSE, MUONEF21, MUONDENSE, MUONEF21};
  Problem        p, q;
  MuonType       type;
  MuonMomentumAt at   = MUON_MOMENTUM_AT_WORKER;
  Muon           none = NULL;
  PetscInt       step;
  Mat            X;

  PetscFunctionBegin;
  PetscCall(MuonDestroy(&none));
  PetscCall(ProblemCreate(PETSC_COMM_WORLD, NULL, &p));
  PetscCall(MuonGetType(p.muon, &type));
  PetscCheck(type == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A new optimizer has type %s", type);
  PetscCall(MuonReset(p.muon));
  PetscCall(MuonReset(p.muon));
  for (int t = 0; t < 6; t++) {
    PetscCall(MuonSetType(p.muon, types[t]));
    /*
       Types may follow each other within a run, too: the step number goes on, and the server's weights are
       not those of the old type
    */
    if (t > 0) {
      PetscCall(TestGetLayerServerWeights(p.layer[1], &X));
      PetscCheck(X == NULL || strcmp(types[t], types[t - 1]) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Weights of a server of another type");
      PetscCall(MuonStep(p.muon));
      PetscCall(MuonGetStepNumber(p.muon, &step));
      PetscCheck(step == 4, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step number %" PetscInt_FMT " after a change of types", step);
    }
    PetscCall(Restart(&p));
    PetscCall(MuonGetStepNumber(p.muon, &step));
    PetscCheck(step == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step number %" PetscInt_FMT " after a reset", step);
    PetscCall(ProblemCreate(PETSC_COMM_WORLD, types[t], &q));
    PetscCall(MuonSetUp(p.muon));
    PetscCall(MuonSetUp(p.muon));
    for (PetscInt s = 0; s < 3; s++) {
      PetscCall(MuonStep(p.muon));
      PetscCall(MuonStep(q.muon));
      PetscCall(ProblemsSame(&p, &q, "life", types[t]));
    }
    PetscCall(GetEnum((PetscObject)p.muon, "muon_momentum_at", MuonMomentumAts, (int *)&at));
    PetscCheck(at == (strcmp(types[t], MUONEF21) == 0 ? MUON_MOMENTUM_AT_WORKER : MUON_MOMENTUM_AT_SERVER), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s has its momentum at the %s", types[t], MuonMomentumAts[at]);
    PetscCall(ProblemDestroy(&q));
  }
  PetscCall(ProblemDestroy(&p));
  /* Without a step, and without layers */
  PetscCall(ProblemCreate(PETSC_COMM_WORLD, MUONDENSE, &p));
  PetscCall(ProblemDestroy(&p));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &none));
  PetscCall(MuonDestroy(&none));
  PetscCheck(none == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MuonDestroy() leaves the pointer");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whoever holds a reference goes on; caches of norms and states know that weights were changed; what both
   ends call weights is the same object
*/
static PetscErrorCode CheckReferences(MuonExchangeType type)
{
  Problem          p;
  Muon             other;
  MuonExchange     exchange;
  MuonLayer        byname;
  Vec              w, g, again, copy;
  Mat              W, G;
  PetscReal        before, after, fresh;
  PetscObjectState states[2][2];
  PetscErrorCode   ierr;
  PetscInt         n;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(PETSC_COMM_WORLD, MUONEF21, &p));
  PetscCall(MuonGetExchange(p.muon, &exchange));
  PetscCall(MuonExchangeSetType(exchange, type));
  PetscCall(MuonGetNumLayers(p.muon, &n));
  PetscCall(MuonGetLayerByName(p.muon, "BIAS", &byname));
  PetscCheck(n == NLAYERS && byname == p.layer[4], PETSC_COMM_SELF, PETSC_ERR_PLIB, "The layers are not those that were added");
  PetscCall(MuonGetLayerByName(p.muon, "nothing", &byname));
  PetscCheck(byname == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A layer that was not added");
  PetscCall(MuonLayerGetWeightsVec(p.layer[4], &w));
  PetscCall(MuonLayerGetWeights(p.layer[1], &W));
  PetscCheck(w == p.w[4] && W == p.W[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "The weights are not those that were added");
  PetscCall(MuonLayerGetGradientVec(p.layer[4], &g));
  PetscCall(MuonLayerGetGradientVec(p.layer[4], &again));
  PetscCheck(g == again, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The gradient is another vector at each call");
  /* What a layer was given is what it gives: vectors for a vector, and no matrix of weights or gradients */
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MuonLayerGetGradient(p.layer[4], &G);
  PetscCall(PetscPopErrorHandler());
  PetscCheck(ierr == PETSC_ERR_ARG_WRONGSTATE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The gradient of a vector is a matrix, too");
  PetscCall(PetscObjectReference((PetscObject)p.muon));
  other = p.muon;
  PetscCall(MuonDestroy(&other));
  PetscCheck(other == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MuonDestroy() leaves the pointer");
  for (PetscInt s = 0; s < 3; s++) {
    PetscCall(VecNorm(w, NORM_2, &before));
    PetscCall(PetscObjectStateGet((PetscObject)w, &states[0][0]));
    PetscCall(PetscObjectStateGet((PetscObject)W, &states[0][1]));
    PetscCall(MuonStep(p.muon));
    PetscCall(PetscObjectStateGet((PetscObject)w, &states[1][0]));
    PetscCall(PetscObjectStateGet((PetscObject)W, &states[1][1]));
    PetscCheck(states[1][0] > states[0][0] && states[1][1] > states[0][1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "A step does not increase the state of the weights");
    PetscCall(VecNorm(w, NORM_2, &after));
    PetscCall(VecDuplicate(w, &copy));
    PetscCall(VecCopy(w, copy));
    PetscCall(PetscObjectStateIncrease((PetscObject)copy));
    PetscCall(VecNorm(copy, NORM_2, &fresh));
    PetscCheck(after == fresh && after != before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Norm %g before the step, %g after it, of a copy %g", (double)before, (double)after, (double)fresh);
    PetscCall(VecDestroy(&copy));
  }
  /* The caller lets go of the weights before the optimizer does */
  for (PetscInt l = 0; l < NLAYERS; l++) {
    PetscCall(MatDestroy(&p.W[l]));
    PetscCall(VecDestroy(&p.w[l]));
  }
  PetscCall(MuonSetObjectiveAndGradient(p.muon, NULL, NULL));
  for (PetscInt l = 0; l < NLAYERS; l++) PetscCall(MuonLayerSetGradient(p.layer[l], NULL));
  PetscCall(MuonStep(p.muon));
  PetscCall(MuonGetLoss(p.muon, &after));
  PetscCheck(after == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Loss %g without an objective", (double)after);
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No gradient is a gradient of zeros, whatever the buffer holds; changed weights reach servers that have copies */
static PetscErrorCode CheckCaller(void)
{
  PetscBool legal, last;
  Problem   p, q;
  Way       way;

  PetscFunctionBegin;
  PetscCall(WayGet(6 + 1, &way, &legal, &last)); /* lossy both ways, layerwise */
  PetscCall(ProblemCreateWay(PETSC_COMM_WORLD, &way, &p));
  PetscCall(ProblemCreateWay(PETSC_COMM_WORLD, &way, &q));
  PetscCall(MuonStep(p.muon));
  PetscCall(MuonStep(q.muon));
  PetscCall(MuonSetObjectiveAndGradient(p.muon, NULL, NULL));
  PetscCall(MuonSetObjectiveAndGradient(q.muon, NULL, NULL));
  for (PetscInt l = 0; l < NLAYERS; l++) {
    PetscScalar *g;

    PetscCall(MuonLayerSetGradient(p.layer[l], NULL));
    PetscCall(ProblemGetArray(&q, l, PETSC_TRUE, &g));
    PetscCall(PetscArrayzero(g, Shapes[l].m * Shapes[l].n));
  }
  PetscCall(MuonStep(p.muon));
  PetscCall(MuonStep(q.muon));
  PetscCall(ProblemsSame(&p, &q, "life", "no gradient"));
  /* The servers' X follows the caller's W at once */
  for (PetscInt l = 0; l < NLAYERS; l++) {
    if (Shapes[l].vec == PETSC_FALSE) PetscCall(MatShift(p.W[l], 3));
  }
  PetscCall(MuonWeightsChanged(p.muon));
  for (PetscInt l = 0; l < NLAYERS; l++) {
    PetscBool same = PETSC_TRUE;
    Mat       X    = NULL;

    if (Shapes[l].vec == PETSC_FALSE) PetscCall(TestGetLayerServerWeights(p.layer[l], &X));
    if (X != NULL) PetscCall(MatEqual(X, p.W[l], &same));
    PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The server of %s has other weights than the caller gave", Shapes[l].name);
  }
  PetscCall(ProblemDestroy(&p));
  PetscCall(ProblemDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Refuse(Muon muon, PetscInt step, PetscReal loss, void *ctx)
{
  PetscFunctionBegin;
  PetscFunctionReturn(step == 3 ? PETSC_ERR_USER : PETSC_SUCCESS);
}

/* A solver ends with the error of a monitor, behind the step, and goes on when it is called again */
static PetscErrorCode CheckSolve(void)
{
  Problem  p, q;
  PetscInt step;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(PETSC_COMM_WORLD, MUONDENSE, &p));
  PetscCall(ProblemCreate(PETSC_COMM_WORLD, MUONDENSE, &q));
  PetscCall(MuonSetMaxSteps(p.muon, 8));
  PetscCall(MuonSetMaxSteps(q.muon, 8));
  PetscCall(MuonMonitorSet(p.muon, Refuse, NULL, NULL));
  Fails(MuonSolve(p.muon), PETSC_ERR_USER, "");
  PetscCall(MuonGetStepNumber(p.muon, &step));
  PetscCheck(step == 4, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MuonSolve() ends at step %" PetscInt_FMT, step);
  PetscCall(MuonSolve(p.muon));
  PetscCall(MuonSolve(q.muon));
  PetscCall(ProblemsSame(&p, &q, "life", "MuonSolve() after an error of a monitor"));
  PetscCall(ProblemDestroy(&p));
  PetscCall(ProblemDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each way in one of the rounds, each exchange in all */
static PetscErrorCode Life(PetscInt round)
{
  PetscBool legal, last = PETSC_FALSE;
  Way       way;

  PetscFunctionBegin;
  PetscCall(CheckTypes());
  PetscCall(CheckReferences(MUONEXCHANGESTAR));
  PetscCall(CheckReferences(MUONEXCHANGELAYERWISE));
  PetscCall(CheckReferences(MUONEXCHANGEREPLICATED));
  PetscCall(CheckCaller());
  PetscCall(CheckSolve());
  for (PetscInt number = 0; last == PETSC_FALSE; number++) {
    PetscCall(WayGet(number, &way, &legal, &last));
    if (legal == PETSC_FALSE || number / 3 % 3 != round) continue;
    PetscCall(CheckMemory(&way));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool started;
  PetscInt  version[4];
  char      text[256], number[32];

  PetscFunctionBeginUser;
  /*
     MPI is the program's: PETSc may come and go, with everything that the library registered and SLEPc
     started
  */
  if (MPI_Init(&argc, &argv) != MPI_SUCCESS) return 1;
  for (int round = 0; round < 3; round++) {
    /* PETSc alone, PETSc by way of the library, the library in a PETSc that runs */
    if (round == 1) PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
    else PetscCall(PetscInitialize(&argc, &argv, NULL, help));
    PetscCall(PetscMuonInitialized(&started));
    PetscCheck(started == (round == 1 ? PETSC_TRUE : PETSC_FALSE), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Round %d: the library is %sstarted", round, started == PETSC_TRUE ? "" : "not ");
    if (round == 2) {
      PetscCall(PetscMuonInitialize(NULL, NULL, NULL, NULL));
      PetscCall(PetscMuonInitialize(NULL, NULL, NULL, NULL));
    }
    PetscCall(PetscMuonGetVersionNumber(&version[0], &version[1], &version[2], &version[3]));
    PetscCall(PetscMuonGetVersion(text, sizeof(text)));
    PetscCall(PetscSNPrintf(number, sizeof(number), "Version %d.%d.%d, commit ", (int)version[0], (int)version[1], (int)version[2]));
    PetscCheck(strstr(text, number) != NULL && strstr(text, "SLEPc 3.") != NULL && version[3] == PETSCMUON_VERSION_RELEASE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "'%s' has no '%s'", text, number);
    PetscCheck(PETSCMUON_VERSION_EQ(version[0], version[1], version[2]) && !PETSCMUON_VERSION_LT(version[0], version[1], version[2]) && PETSCMUON_VERSION_LT(version[0], version[1], version[2] + 1) &&
                 PETSCMUON_VERSION_LT(version[0], version[1] + 1, 0) && PETSCMUON_VERSION_LE(version[0] + 1, 0, 0) && PETSCMUON_VERSION_GT(version[0], version[1] - 1, 99) && PETSCMUON_VERSION_GE(version[0], version[1], version[2]),
               PETSC_COMM_SELF, PETSC_ERR_PLIB, "Version %s in the order of versions", number);
    PetscCall(Life(round));
    PetscCall(PetscMuonFinalize());
    PetscCall(PetscInitialized(&started));
    if (round == 1 && started == PETSC_TRUE) return 1;
    if (round != 1 && started == PETSC_FALSE) return 1;
    if (round != 1) PetscCall(PetscFinalize());
  }
  return MPI_Finalize() == MPI_SUCCESS ? 0 : 1;
}

/*TEST

  test:
    nsize: {{1 3}}

TEST*/
