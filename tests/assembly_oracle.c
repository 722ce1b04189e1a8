static char help[] = "Polar factors of matrices in rows: those of the whole where these are assembled, to the last bit, and within a bound where nobody has the whole.\n\n";

#include "assembly_common.h"
#include <petscmuon/private/muonlmoimpl.h>

typedef struct {
  TestProblem p;
  MuonLMO     spread, whole; /* on all ranks, and on each */
  MuonLMO     reference;
} Problem;

static PetscErrorCode Oracle(void *ctx, PetscInt k, const MuonMatrix *G, const MuonMatrix *D)
{
  Problem   *problem = (Problem *)ctx;
  MuonLMO    lmo     = problem->p.item[k].kind == MUON_ASSEMBLY_GRAM ? problem->spread : problem->whole;
  MuonStatus status;
  double     value;

  PetscFunctionBegin;
  problem->p.oracles[k]++;
  PetscCall(MuonLMOApplyMatrix(lmo, G, D, &value, &status));
  TestCheck(&problem->p, status == MUON_STATUS_OK);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The step of the whole matrix, which every rank makes for itself */
static PetscErrorCode Output(void *ctx, PetscInt k, const MuonArray *D)
{
  Problem                *problem = (Problem *)ctx;
  TestProblem            *p       = &problem->p;
  const MuonAssemblyItem *item    = &p->item[k];
  /* Products are in double. Sums over ranks change the Gram matrix by its order times the unit roundoff; the slope of the methods at zero, where it is largest, is below 1000 (485 of kj, 1/l of Zolotarev), and there are about ten
     products one after the other. A step in single is rounded at the end */
  const double bound = item->kind == MUON_ASSEMBLY_GRAM ? 1e4 * (double)PetscMax(item->rows, item->columns) * 1.2e-16 + (item->precision == MUON_SINGLE ? 1.2e-7 : 0) : 0;
  double       off   = 0;
  MuonArray    G, all, like;
  MuonMatrix   whole, step;
  MuonStatus   status;
  double       value;

  PetscFunctionBegin;
  p->outputs++;
  like           = *D;
  like.len       = (size_t)(item->rowmajor ? item->columns : item->rows);
  like.count     = (size_t)(item->rowmajor ? item->rows : item->columns);
  like.precision = item->precision;
  PetscCall(MuonArrayCreate(&like, item->precision, &G));
  PetscCall(MuonArrayCreate(&like, item->precision, &all));
  for (PetscInt i = 0; i < item->rows; i++) {
    for (PetscInt j = 0; j < item->columns; j++) TestSet(&G, i, j, TestSeen(p, k, i, j));
  }
  whole = MuonMatrixOfArray(&G);
  step  = MuonMatrixOfArray(&all);
  PetscCall(MuonLMOApplyMatrix(problem->reference, &whole, &step, &value, &status));
  for (size_t i = 0; i < MuonArrayRows(D); i++) {
    for (size_t j = 0; j < MuonArrayColumns(D); j++) off = PetscMax(off, fabs(TestGet(D, (PetscInt)i, (PetscInt)j) - TestGet(&all, item->ranges[p->rank] + (PetscInt)i, (PetscInt)j)));
  }
  if (!(off <= bound)) {
    if (p->wrong++ < 5) fprintf(stderr, "[%d of %d] %s, %d x %d, %s: %g, expected %g\n", p->rank, p->size, MuonAssemblyKinds[item->kind], (int)item->rows, (int)item->columns, item->precision == MUON_SINGLE ? "single" : "double", off, bound);
  }
  PetscCall(MuonArrayDestroy(&G));
  PetscCall(MuonArrayDestroy(&all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateLMO(MPI_Comm comm, MuonWorkspace work, MuonLMO *lmo)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOCreate(comm, lmo));
  PetscCall(MuonLMOSetFromOptions(*lmo));
  if (work != NULL) PetscCall(MuonLMOSetWorkspace(*lmo, work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  /* Rectangles, whose condition numbers are small, one of them with products of many panels */
  const PetscInt     shapes[][2] = {{6, 40}, {40, 6}, {33, 80}, {1, 5}, {5, 1}, {400, 900}};
  Problem            problem;
  TestProblem       *p = &problem.p;
  MuonWorkspace      work;
  MuonAssemblyClient client = {TestInput, Oracle, Output, NULL};
  PetscInt           wrong  = 0;
  PetscBool          large  = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-large", &large, NULL));
  client.ctx = &problem;
  PetscCall(MuonWorkspaceCreate(&work));
  PetscCall(TestCreate(p));
  p->work = work;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-muon_assembly_chunk", &p->options.chunk, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-muon_assembly_warmup", &p->options.warmup, NULL));
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-muon_assembly_precision", MuonAssemblyPrecisions, (PetscEnum *)&p->options.precision, NULL));
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-muon_assembly_assignment", MuonExchangeAssignments, (PetscEnum *)&p->options.assignment, NULL));
  PetscCall(CreateLMO(p->comm, work, &problem.spread));
  PetscCall(CreateLMO(PETSC_COMM_SELF, work, &problem.whole));
  PetscCall(CreateLMO(PETSC_COMM_SELF, NULL, &problem.reference));
  for (int kind = (int)MUON_ASSEMBLY_ALLGATHER; kind <= (int)MUON_ASSEMBLY_GRAM + 1; kind++) {
    for (int pattern = 0; pattern < 4; pattern += large == PETSC_TRUE ? 4 : 1) {
      PetscLogDouble memory;

      p->n = large == PETSC_TRUE ? 4 : 10;
      for (PetscInt k = 0; k < p->n; k++) {
        const int which = large == PETSC_TRUE ? 5 : (int)(k % 5);

        TestItem(p, k, (MuonAssemblyKind)(kind <= (int)MUON_ASSEMBLY_GRAM ? kind : 1 + (int)k % 3), pattern);
        p->item[k].rows    = shapes[which][0];
        p->item[k].columns = shapes[which][1];
        TestRanges(p->item[k].rows, p->size, pattern, p->shape[k].ranges);
      }
      PetscCall(TestSetUp(p));
      for (int run = 0; run < 2; run++) {
        p->run++;
        p->inputs = p->outputs = 0;
        p->lastinput           = -1;
        PetscCall(MuonAssemblyRun(p->assembly, &client));
        TestCheck(p, p->inputs == p->n && p->outputs == p->n);
      }
      /* Whole matrices are in the scratch memory of all, messages are here: there are none where nobody gathers */
      PetscCall(MuonAssemblyGetMemory(p->assembly, &memory));
      TestCheck(p, memory == 0 || kind != (int)MUON_ASSEMBLY_GRAM);
    }
  }
  wrong = p->wrong;
  PetscCall(MuonLMODestroy(&problem.spread));
  PetscCall(MuonLMODestroy(&problem.whole));
  PetscCall(MuonLMODestroy(&problem.reference));
  PetscCall(TestDestroy(p));
  PetscCall(MuonWorkspaceDestroy(&work));
  PetscCall(PetscFinalize());
  if (wrong != 0) return 1;
  return 0;
}

/*TEST

  link: internal

  testset:
    nsize: {{1 2 4}}
    args: -lmo_type spectral -lmo_polar_precision double
    table: suffix | nsize | args
      small |   | -muon_assembly_chunk 3 -muon_assembly_warmup 2 -lmo_polar_type {{zolotarev newtonschulz}}
      large | 2 | -large -muon_assembly_chunk 1 -muon_assembly_assignment roundrobin
      bf16  |   | -muon_assembly_precision bf16 -muon_assembly_assignment bucketed

TEST*/
