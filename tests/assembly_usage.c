static char help[] = "What can be wrong with the matrices of an assembly.\n\n";

#include "assembly_common.h"
#include "fails.h"

#define Check(condition) PetscCheck(condition, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s", #condition)

static PetscErrorCode CheckMistakes(void)
{
  MuonAssemblyItem bad[2];
  MuonAssembly     assembly;
  PetscInt         ranges[MAXRANKS + 1];
  TestProblem      p;

  PetscFunctionBegin;
  PetscCall(TestCreate(&p));
  p.options.prefix = "net_";
  for (PetscInt k = 0; k < 2; k++) TestItem(&p, k, MUON_ASSEMBLY_OWNER, 0);
  p.n = 2;
  /* More in a chunk than one call moves: refused on every rank, where the matrices are known and before there is memory for them */
  PetscCall(PetscArraycpy(bad, p.item, 2));
  for (int k = 0; k < 2; k++) bad[k].columns = 2147483647;
  ranges[0] = 0;
  for (PetscMPIInt r = 0; r < p.size; r++) ranges[r + 1] = 8;
  bad[0].rows = bad[1].rows = 8;
  bad[0].ranges = bad[1].ranges = ranges;
  p.options.chunk               = 2;
  Fails(MuonAssemblyCreate(p.comm, &p.options, NULL, 2, bad, &assembly), PETSC_ERR_ARG_OUTOFRANGE, "-net_muon_assembly_chunk is 2|128 GiB");
  Check(assembly == NULL);

  PetscCall(TestDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is not finite, or too large for what the rows are rounded to, reaches the LMO as something that is not finite, and not as zero */
static PetscErrorCode NonfiniteInput(void *ctx, PetscInt k, MuonArray *G)
{
  TestProblem *p = (TestProblem *)ctx;

  PetscFunctionBegin;
  PetscCall(TestInput(ctx, k, G));
  if (p->item[k].ranges[p->rank + 1] > p->item[k].ranges[p->rank]) {
    if (k == 0) memset(MuonArrayAt(G, 0, 0), 0xff, MuonArrayEntryBytes(G)); /* a NaN of all ones, which would round to zero */
    else TestSet(G, 0, 0, k == 1 ? -HUGE_VAL : 3.4e38);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NonfiniteLMO(void *ctx, PetscInt k, const MuonMatrix *G, const MuonMatrix *D)
{
  TestProblem *p = (TestProblem *)ctx;

  PetscFunctionBegin;
  p->oracles[k]++;
  Check(MuonArrayIsFinite(&G->here) == (k == 2 && p->options.precision != MUON_ASSEMBLY_PRECISION_BF16));
  for (size_t i = 0; i < MuonArrayRows(&D->here); i++) {
    for (size_t j = 0; j < MuonArrayColumns(&D->here); j++) TestSet(&D->here, (PetscInt)i, (PetscInt)j, 0);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NonfiniteOutput(void *ctx, PetscInt k, const MuonArray *D)
{
  PetscFunctionBegin;
  for (size_t i = 0; i < MuonArrayRows(D); i++) {
    for (size_t j = 0; j < MuonArrayColumns(D); j++) Check(TestGet(D, (PetscInt)i, (PetscInt)j) == 0);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckNonfinite(void)
{
  MuonAssemblyClient client = {NonfiniteInput, NonfiniteLMO, NonfiniteOutput, NULL};
  TestProblem        p;

  PetscFunctionBegin;
  PetscCall(TestCreate(&p));
  client.ctx = &p;
  p.n        = 3;
  for (int kind = 0; kind < 2; kind++) {
    for (PetscInt k = 0; k < p.n; k++) {
      TestItem(&p, k, kind == 0 ? MUON_ASSEMBLY_OWNER : MUON_ASSEMBLY_ALLGATHER, 0);
      p.item[k].precision = MUON_SINGLE;
    }
    for (int precision = 0; precision < 3; precision++) {
      p.options.precision = (MuonAssemblyPrecision)precision;
      p.lastinput         = -1;
      PetscCall(TestSetUp(&p));
      PetscCall(MuonAssemblyRun(p.assembly, &client));
    }
  }
  Check(p.wrong == 0);
  PetscCall(TestDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(CheckMistakes());
  PetscCall(CheckNonfinite());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  link: internal

  test:
    nsize: {{1 2 3}}

TEST*/
