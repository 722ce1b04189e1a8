static char help[] = "A monitor that cannot write is an error on every rank, after a step that is taken and counted: the run goes on as one without a monitor, random numbers included.\n\n";

#include "muon_common.h"

typedef struct {
  const char *up, *down; /* what draws random numbers */
} Random;

static const Random Randoms[] = {{MUONCOMPRESSORRANDK, MUONCOMPRESSORNATURAL}, {MUONCOMPRESSORQSGD, MUONCOMPRESSORRANDK}, {MUONCOMPRESSORDROPOUT, MUONCOMPRESSORQSGD}};

static PetscErrorCode Create(const Random *random, MuonExchangeType type, Problem *p)
{
  MuonExchange   exchange;
  MuonCompressor c;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(PETSC_COMM_WORLD, random != NULL ? MUONEF21 : MUONDENSE, p));
  PetscCall(MuonGetExchange(p->muon, &exchange));
  PetscCall(MuonExchangeSetType(exchange, type));
  PetscCall(MuonSetMaxSteps(p->muon, 8));
  PetscCall(MuonSetSchedule(p->muon, MUON_SCHEDULE_LINEAR, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  if (random == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonGetLayerCompressors(p->muon, NULL, &c, NULL));
  PetscCall(MuonCompressorSetType(c, random->up));
  PetscCall(MuonCompressorSetRatio(c, PROBLEM_RATIO));
  PetscCall(MuonGetLayerCompressors(p->muon, NULL, NULL, &c));
  PetscCall(MuonCompressorSetType(c, random->down));
  PetscCall(MuonCompressorSetRatio(c, PROBLEM_RATIO));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fails on every rank */
static PetscErrorCode Refuse(Muon muon, PetscInt step, PetscReal loss, void *ctx)
{
  PetscFunctionBegin;
  if (step == *(PetscInt *)ctx) PetscFunctionReturn(PETSC_ERR_USER);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Check(const Random *random, MuonExchangeType type, PetscBool csv)
{
  Problem             p, q;
  State               a, b;
  PetscInt            step, wrong = 2, expected = 0;
  MuonConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(Create(random, type, &p));
  PetscCall(Create(random, type, &q));
  if (csv == PETSC_TRUE) PetscCall(MuonMonitorSetCSV(p.muon, "/dev/full"));
  else PetscCall(MuonMonitorSet(p.muon, Refuse, &wrong, NULL));
  for (PetscInt s = 0; s < 5; s++) {
    const PetscErrorCode wanted = csv == PETSC_TRUE ? (s < 3 ? PETSC_ERR_FILE_WRITE : PETSC_SUCCESS) : (s == wrong ? PETSC_ERR_USER : PETSC_SUCCESS);
    PetscErrorCode       ierr;

    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = MuonStep(p.muon);
    PetscCall(PetscPopErrorHandler());
    PetscCheck(ierr == wanted, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, step %" PetscInt_FMT ": error %d, expected %d", type, s, (int)ierr, (int)wanted);
    expected++;
    PetscCall(MuonGetStepNumber(p.muon, &step));
    PetscCall(MuonGetConvergedReason(p.muon, &reason));
    PetscCheck(step == expected && reason == MUON_CONVERGED_ITERATING, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: step number %" PetscInt_FMT " after %" PetscInt_FMT " steps, %s", type, step, expected, MuonConvergedReasons[reason]);
    PetscCall(MuonStep(q.muon));
    PetscCall(StateTake(&p, &a));
    PetscCall(StateTake(&q, &b));
    PetscCheck(StateIsSame(&a, &b) == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: step %" PetscInt_FMT " is not that of a run without a monitor", type, s);
    PetscCall(StateFree(&a));
    PetscCall(StateFree(&b));
    /* What could not be written was said: to take the monitor away is no second error */
    if (s == 2) PetscCall(MuonMonitorCancel(p.muon));
  }
  PetscCall(ProblemDestroy(&p));
  PetscCall(ProblemDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solver ends with the error, too, and goes on when it is called again */
static PetscErrorCode CheckSolve(void)
{
  Problem        p, q;
  PetscErrorCode ierr;
  PetscInt       step, wrong = 3;
  State          a, b;

  PetscFunctionBegin;
  PetscCall(Create(&Randoms[0], MUONEXCHANGELAYERWISE, &p));
  PetscCall(Create(&Randoms[0], MUONEXCHANGELAYERWISE, &q));
  PetscCall(MuonMonitorSet(p.muon, Refuse, &wrong, NULL));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MuonSolve(p.muon);
  PetscCall(PetscPopErrorHandler());
  PetscCall(MuonGetStepNumber(p.muon, &step));
  PetscCheck(ierr == PETSC_ERR_USER && step == 4, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MuonSolve() ends with error %d at step %" PetscInt_FMT, (int)ierr, step);
  PetscCall(MuonSolve(p.muon));
  PetscCall(MuonSolve(q.muon));
  PetscCall(StateTake(&p, &a));
  PetscCall(StateTake(&q, &b));
  PetscCheck(a.step == 8 && StateIsSame(&a, &b) == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MuonSolve() after an error of a monitor is not what it is without one");
  PetscCall(StateFree(&a));
  PetscCall(StateFree(&b));
  PetscCall(ProblemDestroy(&p));
  PetscCall(ProblemDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const MuonExchangeType types[] = {MUONEXCHANGESTAR, MUONEXCHANGELAYERWISE, MUONEXCHANGEREPLICATED};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  for (int t = 0; t < 3; t++) {
    for (int csv = 0; csv < 2; csv++) {
      for (size_t r = 0; r < sizeof(Randoms) / sizeof(Randoms[0]); r++) PetscCall(Check(&Randoms[r], types[t], csv == 1 ? PETSC_TRUE : PETSC_FALSE));
      PetscCall(Check(NULL, types[t], csv == 1 ? PETSC_TRUE : PETSC_FALSE));
    }
  }
  PetscCall(CheckSolve());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3}}

TEST*/
