static char help[] = "Checkpoints by options: steps write them when they are due or asked for, and a run that begins with one ends where the run would have ended that was never interrupted.\n";

#include "ef21_common.h"
#include "fails.h"
#include <math.h>

#define LAST 7

static PetscErrorCode Create(TestProblem *p)
{
  MuonCompressor compressor;

  PetscFunctionBegin;
  PetscCall(TestCreate(PETSC_COMM_WORLD, MUONEF21, TEST_LAYERS, TestShapes, -1, p));
  p->noise = 4;
  PetscCall(MuonSetLearningRate(p->muon, 0.125));
  PetscCall(MuonEF21GetCompressor(p->muon, &compressor));
  PetscCall(MuonCompressorSetType(compressor, MUONCOMPRESSORTOPK));
  PetscCall(MuonCompressorSetRatio(compressor, 0.3));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which of the steps there is a checkpoint of in a folder: name it by its counter too */
static PetscErrorCode CheckThere(const char folder[], PetscInt step, PetscInt counter, PetscBool expected)
{
  char      path[PETSC_MAX_PATH_LEN];
  PetscBool there;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/step-%012d-%06d/manifest", folder, (int)step, (int)counter));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTestFile(path, 'r', &there));
  PetscCheck(there == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s is %sthere", path, there ? "" : "not ");
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckRestart(void)
{
  TestProblem p, q;
  PetscReal  *a, *b;
  PetscInt    d, step;

  PetscFunctionBegin;
  PetscCall(Create(&p));
  d = TestTotal(&p);
  PetscCall(PetscMalloc2(d, &a, d, &b));
  PetscCall(MuonSetMaxSteps(p.muon, LAST));
  PetscCall(MuonSetSchedule(p.muon, MUON_SCHEDULE_CONSTANT, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSolve(p.muon));
  PetscCall(TestGetAllWeights(&p, a));
  PetscCall(TestDestroy(&p));
  /* The same command line each time: nothing is there, then what was left after 5 steps, then the end */
  for (PetscInt job = 0; job < 3; job++) {
    PetscCall(Create(&q));
    PetscCall(MuonSetMaxSteps(q.muon, job == 0 ? 5 : LAST));
    PetscCall(MuonSetSchedule(q.muon, MUON_SCHEDULE_CONSTANT, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
    PetscCall(MuonSetCheckpoint(q.muon, "jobs", 2));
    PetscCall(MuonSetRestart(q.muon, "jobs"));
    PetscCall(MuonSetParameter(q.muon, "muon_restart_if_present", "true"));
    PetscCall(MuonSetUp(q.muon));
    PetscCall(MuonGetStepNumber(q.muon, &step));
    PetscCheck(step == (job == 0 ? 0 : job == 1 ? 5 : LAST), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Job %" PetscInt_FMT " begins with step %" PetscInt_FMT, job, step);
    PetscCall(MuonSolve(q.muon));
    PetscCall(TestGetAllWeights(&q, b));
    PetscCheck(job == 0 || memcmp(a, b, (size_t)d * sizeof(*a)) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Job %" PetscInt_FMT " ends somewhere else", job);
    PetscCall(TestDestroy(&q));
    if (job == 0) {
      PetscCall(CheckThere("jobs", 2, 1, PETSC_FALSE));
      PetscCall(CheckThere("jobs", 4, 2, PETSC_TRUE));
      PetscCall(CheckThere("jobs", 5, 3, PETSC_TRUE));
    }
  }
  /* No step, no checkpoint */
  PetscCall(CheckThere("jobs", 6, 4, PETSC_TRUE));
  PetscCall(CheckThere("jobs", LAST, 5, PETSC_TRUE));
  PetscCall(CheckThere("jobs", LAST, 6, PETSC_FALSE));
  /* After a reset a run is new, until another folder is named */
  PetscCall(Create(&q));
  PetscCall(MuonSetRestart(q.muon, "jobs"));
  PetscCall(MuonSetUp(q.muon));
  PetscCall(MuonReset(q.muon));
  PetscCall(MuonSetUp(q.muon));
  PetscCall(MuonGetStepNumber(q.muon, &step));
  PetscCheck(step == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt_FMT " after a reset", step);
  PetscCall(MuonSetRestart(q.muon, "jobs/"));
  PetscCall(MuonStep(q.muon));
  PetscCall(MuonGetStepNumber(q.muon, &step));
  PetscCheck(step == LAST + 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt_FMT, step);
  PetscCall(TestDestroy(&q));
  PetscCall(PetscFree2(a, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The last rank asks */
static PetscErrorCode CheckRequest(void)
{
  TestProblem p;

  PetscFunctionBegin;
  PetscCall(Create(&p));
  PetscCall(MuonSetCheckpoint(p.muon, "asked", PETSC_CURRENT));
  PetscCall(MuonStep(p.muon));
  if (p.rank == p.size - 1) MuonCheckpointRequest(p.muon);
  PetscCall(MuonStep(p.muon));
  PetscCall(CheckThere("asked", 2, 1, PETSC_TRUE));
  PetscCall(MuonStep(p.muon));
  PetscCall(CheckThere("asked", 3, 2, PETSC_FALSE));
  /* A step that diverges writes none; whoever asked gets the next one */
  if (p.rank == 0) p.scale = (PetscReal)NAN;
  if (p.rank == 0) MuonCheckpointRequest(p.muon);
  PetscCall(MuonStep(p.muon));
  PetscCall(CheckThere("asked", 3, 2, PETSC_FALSE));
  p.scale = 1;
  PetscCall(MuonStep(p.muon));
  PetscCall(CheckThere("asked", 4, 2, PETSC_TRUE));
  PetscCall(TestDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On every rank, and once more where it is tried again */
static PetscErrorCode CheckRefused(void)
{
  TestProblem p;
  PetscInt    step;

  PetscFunctionBegin;
  PetscCall(Create(&p));
  PetscCall(MuonSetRestart(p.muon, "nowhere"));
  for (PetscInt k = 0; k < 2; k++) {
    Fails(MuonStep(p.muon), FAILS_ANY, "nowhere: cannot list the folder: No such file or directory");
  }
  PetscCall(MuonSetRestart(p.muon, ""));
  PetscCall(MuonStep(p.muon));
  /* Folders that differ are found before anybody writes */
  for (int none = 1; none >= 0 && p.size > 1; none--) {
    PetscCall(MuonSetCheckpoint(p.muon, p.rank == 0 ? "one" : none ? "" : "two", 1));
    Fails(MuonStep(p.muon), FAILS_ANY, "differs between the ranks since the last step: -muon_checkpoint ");
  }
  PetscCall(MuonGetStepNumber(p.muon, &step));
  PetscCheck(step == 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt_FMT, step);
  PetscCall(TestDestroy(&p));
  /* Behind the last step that has a number */
  PetscCall(Create(&p));
  PetscCall(MuonSetStepNumber(p.muon, PETSC_MAX_INT));
  Fails(MuonStep(p.muon), FAILS_ANY, "is the last that this PETSc's integers can count");
  PetscCall(MuonGetStepNumber(p.muon, &step));
  PetscCheck(step == PETSC_MAX_INT, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt_FMT, step);
  PetscCall(TestDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(CheckRestart());
  PetscCall(CheckRequest());
  PetscCall(CheckRefused());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 3}}

TEST*/
