static char help[] = "The life of an optimizer: types that change, references, resets, vectors, memory; PETSc started and ended more than once.\n\n";

#include "ways.h"
#include "parameters.h"
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
  const PetscBool ef21 = way->compression != NULL ? PETSC_TRUE : PETSC_FALSE, sums = way->mode != MUON_EXCHANGE_MODE_GATHER ? PETSC_TRUE : PETSC_FALSE;
  PetscBool       alone, direct;
  PetscLogDouble  worker = 0, server = 0, found[4][3];
  Problem         p;

  PetscFunctionBegin;
  PetscCall(ProblemCreateWith(&p, way->options));
  /* Nothing is summed; and new weights, or the step to them, until the commit, unless it lies where the gradient was */
  alone  = p.size == 1 ? PETSC_TRUE : PETSC_FALSE;
  direct = way->lossy[1] == PETSC_FALSE && (way->replicated || way->steps == PETSC_FALSE) ? PETSC_TRUE : PETSC_FALSE;
  for (PetscInt s = 0; s < 4; s++) {
    PetscCall(MuonStep(p.muon));
    PetscCall(MuonGetMemory(p.muon, &found[s][0], &found[s][1], &found[s][2]));
  }
  for (PetscInt l = 0; l < p.n; l++) {
    const PetscLogDouble bytes = (PetscLogDouble)sizeof(PetscScalar) * (PetscLogDouble)(p.layer[l].shape->m * p.layer[l].shape->n);
    PetscMPIInt          owner;
    MuonLayerType        type;
    PetscBool            lmo;

    if (l == WAYS_FROZEN) worker += bytes; /* the gradient, which the routine fills */
    if (l == WAYS_FROZEN) continue;
    PetscCall(MuonLayerGetType(p.layer[l].layer, &type));
    lmo = strcmp(type, MUONLAYERLMO) == 0 ? PETSC_TRUE : PETSC_FALSE;
    PetscCall(MuonLayerGetOwner(p.layer[l].layer, &owner));
    worker += bytes * (1 + (way->lossy[0] == PETSC_TRUE) + (lmo && (ef21 || way->atworker)));
    if (owner >= 0 && owner != p.rank) {
      server += way->mode == MUON_EXCHANGE_MODE_ALLREDUCE ? bytes : 0; /* the sum comes here, too */
      continue;
    }
    server += bytes * ((way->lossy[0] ? 2 : sums && alone == PETSC_FALSE ? 1 : 0) + (way->lossy[1] ? 2 : direct && !(alone && lmo && ef21 == PETSC_FALSE && way->atworker == PETSC_FALSE) ? 1 : 0));
    if (lmo == PETSC_FALSE) server += 4 * bytes;
    else if (ef21 == PETSC_FALSE && way->atworker == PETSC_FALSE) server += 2 * bytes;
  }
  for (PetscInt s = 0; s < 4; s++) PetscCheck(found[s][0] == worker && found[s][1] == server, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: worker %g and server %g bytes, expected %g and %g", way->options, found[s][0], found[s][1], worker, server);
  PetscCheck(found[3][2] == found[2][2], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: scratch grows from %g to %g bytes", way->options, found[2][2], found[3][2]);
  /* A reset gives back what steps need */
  PetscCall(MuonReset(p.muon));
  PetscCall(MuonGetMemory(p.muon, &found[0][0], &found[0][1], NULL));
  PetscCheck(found[0][0] == 0 && found[0][1] == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %g and %g bytes after a reset", way->options, found[0][0], found[0][1]);
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Moments of a layer */
#define KEEPS "-muon_layer_types gain:adamw -muon_exchange_type"

/* After any sequence of types and resets an optimizer takes the steps of a new one */
static PetscErrorCode CheckTypes(const char exchange[])
{
  static const char *const options[] = {"-muon_type ef21", "-muon_type dense", "-muon_type dense", "-muon_type ef21", "-muon_type dense", "-muon_type ef21"};
  Problem                  p, q;
  MuonType                 type;
  Muon                     none = NULL;
  PetscBool                serves;

  PetscFunctionBegin;
  PetscCall(MuonDestroy(&none));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &none));
  PetscCall(MuonGetType(none, &type));
  PetscCheck(type == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A new optimizer has type %s", type);
  PetscCall(MuonDestroy(&none));
  PetscCheck(none == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MuonDestroy() leaves the pointer");
  PetscCall(ProblemCreateWith(&p, KEEPS " %s -problem_setup 0", exchange));
  PetscCall(MuonReset(p.muon));
  PetscCall(MuonReset(p.muon));
  for (int t = 0; t < 6; t++) {
    type = options[t] + strlen("-muon_type ");
    PetscCall(MuonSetType(p.muon, type));
    if (strcmp(type, MUONEF21) == 0) PetscCall(MuonSetParameter(p.muon, "ef21_compressor", "topk"));
    if (strcmp(type, MUONEF21) == 0) PetscCall(MuonSetParameter(p.muon, "ef21_server_compressor", "topk"));
    /* Types may follow each other within a run, too: the step number goes on, and the server's weights are not those of the old type */
    if (t > 0) {
      PetscCall(MuonLayerGetServerWeights(p.layer[1].layer, NULL, &serves));
      PetscCheck(serves == PETSC_FALSE || strcmp(options[t], options[t - 1]) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Weights of a server of another type");
      PetscCall(MuonStep(p.muon));
      PetscCall(ProblemCheckStep(&p, 4));
    }
    for (PetscInt l = 0; l < p.n; l++) PetscCall(ProblemStart(&p, l));
    PetscCall(MuonReset(p.muon));
    PetscCall(ProblemCheckStep(&p, 0));
    PetscCall(ProblemCreateWith(&q, KEEPS " %s %s -ef21_compressor topk -ef21_server_compressor topk", exchange, options[t]));
    PetscCall(MuonSetUp(p.muon));
    PetscCall(MuonSetUp(p.muon));
    for (PetscInt s = 0; s < 3; s++) {
      PetscCall(MuonStep(p.muon));
      PetscCall(MuonStep(q.muon));
      PetscCall(ProblemCheckSame(&p, &q, "life", type));
    }
    PetscCall(CheckParameter((PetscObject)p.muon, "muon_momentum_at", strcmp(type, MUONEF21) == 0 ? "worker" : "server"));
    PetscCall(ProblemDestroy(&q));
  }
  PetscCall(ProblemDestroy(&p));
  PetscCall(ProblemCreateWith(&p, "-muon_type dense -problem_setup 0")); /* without a step */
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A reference keeps the optimizer; caches of norms and states know that weights were changed; what both
   ends call weights is the same object
*/
static PetscErrorCode CheckReferences(const char exchange[])
{
  Problem          p;
  Muon             other;
  MuonLayer        byname;
  Vec              w, g, again, copy;
  Mat              W, G;
  PetscReal        before, after, fresh;
  PetscObjectState states[2][2];
  PetscInt         n;

  PetscFunctionBegin;
  PetscCall(ProblemCreateWith(&p, "-muon_type ef21 -muon_exchange_type %s", exchange));
  PetscCall(MuonGetNumLayers(p.muon, &n));
  PetscCall(MuonGetLayerByName(p.muon, "GAIN", &byname));
  PetscCheck(n == p.n && byname == p.layer[4].layer, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The layers are not those that were added");
  PetscCall(MuonGetLayerByName(p.muon, "nothing", &byname));
  PetscCheck(byname == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A layer that was not added");
  PetscCall(MuonLayerGetWeightsVec(p.layer[4].layer, &w));
  PetscCall(MuonLayerGetWeights(p.layer[1].layer, &W));
  PetscCheck(w == p.layer[4].w && W == p.layer[1].W, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The weights are not those that were added");
  PetscCall(MuonLayerGetGradientVec(p.layer[4].layer, &g));
  PetscCall(MuonLayerGetGradientVec(p.layer[4].layer, &again));
  PetscCheck(g == again, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The gradient is another vector at each call");
  /* What a layer was given is what it gives: vectors for a vector, and no matrix of weights or gradients */
  Fails(MuonLayerGetGradient(p.layer[4].layer, &G), PETSC_ERR_ARG_WRONGSTATE, "");
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
  for (PetscInt l = 0; l < p.n; l++) {
    PetscCall(MatDestroy(&p.layer[l].W));
    PetscCall(VecDestroy(&p.layer[l].w));
  }
  PetscCall(MuonSetObjectiveAndGradient(p.muon, NULL, NULL));
  for (PetscInt l = 0; l < p.n; l++) PetscCall(MuonLayerSetGradient(p.layer[l].layer, NULL));
  PetscCall(MuonStep(p.muon));
  PetscCall(MuonGetLoss(p.muon, &after));
  PetscCheck(after == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Loss %g without an objective", (double)after);
  PetscCall(ProblemDestroy(&p));
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
  Problem p, q;

  PetscFunctionBegin;
  PetscCall(ProblemCreateWith(&p, "-muon_type dense -muon_max_steps 8"));
  PetscCall(ProblemCreateWith(&q, "-muon_type dense -muon_max_steps 8"));
  PetscCall(MuonMonitorSet(p.muon, Refuse, NULL, NULL));
  Fails(MuonSolve(p.muon), PETSC_ERR_USER, "");
  PetscCall(ProblemCheckStep(&p, 4));
  PetscCall(MuonSolve(p.muon));
  PetscCall(MuonSolve(q.muon));
  PetscCall(ProblemCheckSame(&p, &q, "life", "MuonSolve() after an error of a monitor"));
  PetscCall(ProblemDestroy(&p));
  PetscCall(ProblemDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each way in one of the rounds, each exchange in all */
static PetscErrorCode Life(PetscInt round)
{
  static const char *const exchanges[] = {MUONEXCHANGESTAR, MUONEXCHANGELAYERWISE, MUONEXCHANGEREPLICATED};
  PetscBool                legal, last = PETSC_FALSE;
  Way                      way;

  PetscFunctionBegin;
  for (int e = 0; e < 3; e++) {
    PetscCall(CheckTypes(exchanges[e]));
    PetscCall(CheckReferences(exchanges[e]));
  }
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
