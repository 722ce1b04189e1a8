static char help[] = "What a user of an assembly can set, get, see and get wrong.\n\n";

#include "assembly_common.h"

/* The last error: its code, and what the user reads */
static struct {
  PetscErrorCode code;
  char           text[1024];
} seen;

static PetscErrorCode Catch(MPI_Comm comm, int line, const char *function, const char *file, PetscErrorCode code, PetscErrorType type, const char *message, void *ctx)
{
  if (type == PETSC_ERROR_INITIAL) {
    seen.code = code;
    snprintf(seen.text, sizeof(seen.text), "%s", message);
  }
  return code;
}

static PetscInt failures = 0;

#define Check(condition) \
  do { \
    if (!(condition)) { \
      fprintf(stderr, "line %d: %s; the last error is %d, %s\n", __LINE__, #condition, (int)seen.code, seen.text); \
      failures++; \
    } \
  } while (0)

/* The call fails on this rank, and the message names all of these words */
#define Fails(call, errorcode, word1, word2) \
  do { \
    seen.code    = (PetscErrorCode)0; \
    seen.text[0] = '\0'; \
    Check((call) == (errorcode)); \
    Check(seen.code == (errorcode) && strstr(seen.text, word1) != NULL && strstr(seen.text, word2) != NULL); \
  } while (0)

static PetscErrorCode WrongInput(void *ctx, PetscInt k, MuonArray *G)
{
  PetscFunctionBegin;
  PetscCall(TestInput(ctx, k, G));
  if (k == 1) G->precision = G->precision == MUON_SINGLE ? MUON_DOUBLE : MUON_SINGLE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckMistakes(void)
{
  MuonAssemblyClient client = {WrongInput, TestOracle, TestOutput, NULL};
  MuonAssemblyItem   bad[2];
  PetscInt           ranges[MAXRANKS + 1], value;
  PetscMPIInt        owner;
  TestProblem        p;

  PetscFunctionBegin;
  PetscCall(TestCreate(&p));
  PetscCall(MuonAssemblySetOptionsPrefix(p.assembly, "net_"));
  for (value = 0; value >= -1; value--) {
    Fails(MuonAssemblySetChunk(p.assembly, value), PETSC_ERR_ARG_OUTOFRANGE, "-net_muon_assembly_chunk", value == 0 ? " 0," : " -1,");
    Fails(MuonAssemblySetWarmup(p.assembly, value), PETSC_ERR_ARG_OUTOFRANGE, "-net_muon_assembly_warmup", value == 0 ? " 0," : " -1,");
  }
  PetscCall(MuonAssemblyGetChunk(p.assembly, &value));
  Check(value == p.size);
  PetscCall(MuonAssemblyGetWarmup(p.assembly, &value));
  Check(value == 5);
  Fails(MuonAssemblySetPrecision(p.assembly, (MuonAssemblyPrecision)3), PETSC_ERR_ARG_OUTOFRANGE, "precision", "3");
  Fails(MuonAssemblySetAssignment(p.assembly, (MuonExchangeAssignment)3), PETSC_ERR_ARG_OUTOFRANGE, "assignment", "3");
  Fails(MuonAssemblySetUp(p.assembly), PETSC_ERR_ORDER, "MuonAssemblySetItems", "");
  Fails(MuonAssemblyGetOwner(p.assembly, 0, &owner), PETSC_ERR_ORDER, "MuonAssemblySetUp", "");
  for (PetscInt k = 0; k < 2; k++) TestItem(&p, k, MUON_ASSEMBLY_OWNER, 0);
  p.n = 2;
  Fails(MuonAssemblySetItems(p.assembly, -1, p.item), PETSC_ERR_ARG_OUTOFRANGE, "-1", "");
  for (int mistake = 0; mistake < 6; mistake++) {
    const char *const words[] = {"ranges end early", "rows", "Unknown kind 4", "Cost -1", "Cost", "rank 0"};

    PetscCall(PetscArraycpy(bad, p.item, 2));
    PetscCall(PetscArraycpy(ranges, p.item[0].ranges, (size_t)p.size + 1));
    bad[0].ranges = ranges;
    if (mistake == 0) ranges[p.size]--;
    if (mistake == 1) bad[0].rows = -4;
    if (mistake == 2) bad[0].kind = (MuonAssemblyKind)4;
    if (mistake == 3) bad[0].flops = -1;
    if (mistake == 4) bad[0].flops = HUGE_VAL;
    if (mistake == 5) {
      if (p.size == 1) continue;
      ranges[1] = bad[0].rows + 1;
      Fails(MuonAssemblySetItems(p.assembly, 2, bad), PETSC_ERR_ARG_SIZ, p.size == 2 ? "rank 1" : "rank", "Item q");
      continue;
    }
    Fails(MuonAssemblySetItems(p.assembly, 2, bad), mistake == 0 ? PETSC_ERR_ARG_SIZ : PETSC_ERR_ARG_OUTOFRANGE, mistake == 0 ? "4 rows" : mistake == 1 ? "-4 x 6" : words[mistake], " q");
  }
  /*
     More in a chunk than one call moves: refused on every rank, where the matrices are known and before there
     is memory for them
  */
  PetscCall(PetscArraycpy(bad, p.item, 2));
  for (int k = 0; k < 2; k++) bad[k].columns = 2147483647;
  ranges[0] = 0;
  for (PetscMPIInt r = 0; r < p.size; r++) ranges[r + 1] = 8;
  bad[0].rows = bad[1].rows = 8;
  bad[0].ranges = bad[1].ranges = ranges;
  PetscCall(MuonAssemblySetItems(p.assembly, 2, bad));
  PetscCall(MuonAssemblySetChunk(p.assembly, 2));
  Fails(MuonAssemblySetUp(p.assembly), PETSC_ERR_ARG_OUTOFRANGE, "-net_muon_assembly_chunk is 2", "128 GiB");

  PetscCall(MuonAssemblySetItems(p.assembly, 2, p.item));
  PetscCall(MuonAssemblySetUp(p.assembly));
  Fails(MuonAssemblyGetOwner(p.assembly, 2, &owner), PETSC_ERR_ARG_OUTOFRANGE, "2", "[0,2)");
  client.ctx  = &p;
  p.lastinput = p.lastoutput = -1;
  PetscCall(TestRun(&p));
  /* Every rank sees it here, before the rows of the chunk leave */
  p.lastinput = p.lastoutput = -1;
  Fails(MuonAssemblyRun(p.assembly, &client), PETSC_ERR_PLIB, "Item k", "precision");
  failures += p.wrong;
  PetscCall(TestDestroy(&p));
  PetscCall(MuonAssemblyDestroy(&p.assembly));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What is not finite, or too large for what the rows are rounded to, reaches the oracle as something that is
   not finite, and not as zero
*/
static PetscErrorCode SpoiledInput(void *ctx, PetscInt k, MuonArray *G)
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

static PetscErrorCode SpoiledOracle(void *ctx, PetscInt k, const MuonMatrix *G, const MuonMatrix *D)
{
  TestProblem *p = (TestProblem *)ctx;

  PetscFunctionBegin;
  p->oracles[k]++;
  Check(MuonArrayIsFinite(&G->here) == (k == 2 && p->precision != MUON_ASSEMBLY_PRECISION_BF16));
  for (size_t i = 0; i < MuonArrayRows(&D->here); i++) {
    for (size_t j = 0; j < MuonArrayColumns(&D->here); j++) TestSet(&D->here, (PetscInt)i, (PetscInt)j, 0);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpoiledOutput(void *ctx, PetscInt k, const MuonArray *D)
{
  PetscFunctionBegin;
  for (size_t i = 0; i < MuonArrayRows(D); i++) {
    for (size_t j = 0; j < MuonArrayColumns(D); j++) Check(TestGet(D, (PetscInt)i, (PetscInt)j) == 0);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckSpoiled(void)
{
  MuonAssemblyClient client = {SpoiledInput, SpoiledOracle, SpoiledOutput, NULL};
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
    PetscCall(MuonAssemblySetItems(p.assembly, p.n, p.item));
    for (int precision = 0; precision < 3; precision++) {
      p.precision = (MuonAssemblyPrecision)precision;
      p.lastinput = -1;
      PetscCall(MuonAssemblySetPrecision(p.assembly, p.precision));
      PetscCall(MuonAssemblyRun(p.assembly, &client));
    }
  }
  failures += p.wrong;
  PetscCall(TestDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From the options, as it is printed, before and after it has run */
static PetscErrorCode Print(void)
{
  const char            *prefix;
  MuonAssemblyPrecision  precision;
  MuonExchangeAssignment assignment;
  TestProblem            p;

  PetscFunctionBegin;
  PetscCall(TestCreate(&p));
  PetscCall(MuonAssemblySetOptionsPrefix(p.assembly, "net_"));
  PetscCall(MuonAssemblyGetOptionsPrefix(p.assembly, &prefix));
  Check(strcmp(prefix, "net_") == 0);
  PetscCall(MuonAssemblySetFromOptions(p.assembly));
  PetscCall(MuonAssemblyGetPrecision(p.assembly, &precision));
  PetscCall(MuonAssemblyGetAssignment(p.assembly, &assignment));
  Check(precision == MUON_ASSEMBLY_PRECISION_BF16 && assignment == MUON_EXCHANGE_ASSIGNMENT_BUCKETED);
  PetscCall(MuonAssemblyView(p.assembly, NULL));
  p.n = MAXITEMS;
  for (PetscInt k = 0; k < p.n; k++) TestItem(&p, k, k < 8 ? MUON_ASSEMBLY_OWNER : (MuonAssemblyKind)(k % 4), 0);
  PetscCall(MuonAssemblySetItems(p.assembly, p.n, p.item));
  PetscCall(TestRun(&p));
  PetscCall(MuonAssemblyView(p.assembly, NULL));
  /* The options stay */
  PetscCall(MuonAssemblyReset(p.assembly));
  PetscCall(MuonAssemblyGetPrecision(p.assembly, &precision));
  Check(precision == MUON_ASSEMBLY_PRECISION_BF16);
  failures += p.wrong;
  PetscCall(TestDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool check = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-check", &check, NULL));
  if (check == PETSC_TRUE) {
    PetscCall(PetscPushErrorHandler(Catch, NULL));
    PetscCall(CheckMistakes());
    PetscCall(PetscPopErrorHandler());
    PetscCall(CheckSpoiled());
  } else PetscCall(Print());
  PetscCall(PetscFinalize());
  if (failures != 0) return 1;
  return 0;
}

/*TEST

  test:
    suffix: check
    nsize: {{1 2 3}}
    args: -check

  test:
    suffix: view
    nsize: 3
    args: -net_muon_assembly_precision bf16 -net_muon_assembly_assignment bucketed -net_muon_assembly_chunk 4 -net_muon_assembly_warmup 2

  test:
    suffix: chunk
    nsize: 2
    args: -net_muon_assembly_chunk 0
    error: -net_muon_assembly_chunk is 0

  test:
    suffix: warmup
    nsize: 2
    args: -net_muon_assembly_warmup -3
    error: -net_muon_assembly_warmup is -3

TEST*/
