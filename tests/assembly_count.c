static char help[] = "However matrices are assembled, the rows of steps are those of the whole ones, to the last bit; bytes handed to MPI and memory are those of formulas. What can be wrong with the matrices of an assembly.\n\n";

#include "assembly_common.h"
#include "fails.h"
#include "mpicount.h"

/* Rows are in words of 8 bytes, messages in units of 64 */
static long long Rows(const TestProblem *p, PetscInt k, int rank, int back)
{
  const MuonAssemblyItem *item  = &p->item[k];
  const long long         own   = item->precision == MUON_SINGLE ? 4 : 8;
  const long long         entry = back || p->options.precision == MUON_ASSEMBLY_PRECISION_NATIVE ? own : p->options.precision == MUON_ASSEMBLY_PRECISION_SINGLE ? 4 : 2;

  return ((item->ranges[rank + 1] - item->ranges[rank]) * item->columns * entry + 7) / 8 * 8;
}

static long long Units(long long bytes)
{
  return (bytes + 63) / 64 * 64;
}

/* What the rows of a chunk are for one rank: those from rank a to rank b, of the matrices that b owns, or of steps that a owns */
static long long Message(const TestProblem *p, const PetscMPIInt owner[], PetscInt first, PetscInt end, int a, int b, int back)
{
  long long bytes = 0;

  for (PetscInt k = first; k < end; k++) {
    if (p->item[k].kind == MUON_ASSEMBLY_OWNER && owner[k] == (back ? a : b)) bytes += Rows(p, k, back ? b : a, back);
  }
  return bytes;
}

/* chunk: of the options, one for each rank by default */
static PetscErrorCode Audit(TestProblem *p, PetscInt chunk, PetscInt warmup)
{
  long           calls[MPICOUNT_KINDS] = {0};
  long long      sent = 0, received = 0, most[5] = {0}, whole = 0, room = 0, least = 0;
  PetscMPIInt    owner[MAXITEMS];
  PetscLogDouble bytes, own, memory;

  PetscFunctionBegin;
  p->options.chunk  = chunk;
  p->options.warmup = warmup;
  PetscCall(TestSetUp(p));
  chunk = chunk == PETSC_DETERMINE ? p->size : PetscMin(chunk, MAXITEMS);
  mpicount_reset();
  PetscCall(TestRun(p));
  PetscCall(MuonAssemblyGetSentBytes(p->assembly, &bytes, &own));
  PetscCall(MuonAssemblyGetMemory(p->assembly, &memory));
  for (PetscInt k = 0; k < p->n; k++) {
    owner[k] = p->assembly->owner[k];
    if (p->item[k].kind != MUON_ASSEMBLY_NONE) {
      const long long entries = (long long)(p->item[k].kind == MUON_ASSEMBLY_GRAM ? p->item[k].ranges[p->rank + 1] - p->item[k].ranges[p->rank] : p->item[k].rows) * p->item[k].columns;

      if (p->work == NULL && (owner[k] < 0 || owner[k] == p->rank)) whole = PetscMax(whole, entries * (p->item[k].precision == MUON_SINGLE ? 4 : 8));
    }
  }
  for (PetscInt first = 0; first < p->n; first += chunk) {
    const PetscInt end   = PetscMin(first + chunk, p->n);
    int            owned = 0, gathered = 0;
    long long      need[5] = {0};

    for (PetscInt k = first; k < end; k++) {
      owned |= p->item[k].kind == MUON_ASSEMBLY_OWNER;
      gathered |= p->item[k].kind == MUON_ASSEMBLY_ALLGATHER;
    }
    calls[MPICOUNT_IALLTOALLV] += p->size > 1 ? 2 * owned : 0;
    calls[MPICOUNT_IALLGATHERV] += p->size > 1 ? gathered : 0;
    for (int r = 0; r < p->size; r++) {
      long long all = 0;

      for (PetscInt k = first; k < end; k++) all += p->item[k].kind == MUON_ASSEMBLY_ALLGATHER ? Rows(p, k, r, 0) : 0;
      /* Of what this rank has for itself nothing is handed to MPI, and of what all get its own part once */
      for (int back = 0; back < 2 && r != p->rank; back++) {
        sent += Units(Message(p, owner, first, end, p->rank, r, back));
        received += Units(Message(p, owner, first, end, r, p->rank, back));
      }
      sent += r == p->rank && p->size > 1 ? Units(all) : 0;
      received += p->size > 1 ? Units(all) : 0;
      /*
         Memory of the five arrays of a chunk: rows to the owners and from all, those for everybody, steps to
         all and from the owners; what this rank keeps lies in one that comes
      */
      for (int back = 0; back < 2; back++) {
        need[2 * back] += r == p->rank ? 0 : Units(Message(p, owner, first, end, p->rank, r, back));
        need[2 * back + 1] += Units(Message(p, owner, first, end, r, p->rank, back));
      }
      need[4] += Units(all);
    }
    for (PetscInt k = first; k < end; k++) need[3] += p->item[k].kind == MUON_ASSEMBLY_ALLGATHER ? Units(Rows(p, k, p->rank, 1)) : 0;
    for (int k = 0; k < 5; k++) most[k] = PetscMax(most[k], need[k]);
  }
  for (int k = 0; k < MPICOUNT_KINDS; k++) {
    if (mpicount.calls[k] != calls[k]) fprintf(stderr, "[%d of %d] %s: %ld calls, expected %ld\n", p->rank, p->size, mpicount_names[k], mpicount.calls[k], calls[k]);
    TestCheck(p, mpicount.calls[k] == calls[k]);
  }
  TestCheck(p, mpicount.sent == sent);
  TestCheck(p, (long long)bytes == sent && own == 0);
  TestCheck(p, mpicount.received == received);
  /*
     As many chunks as the warm-up, and the one that is worked on, each with arrays no larger than the
     largest; a whole matrix and its step, rounded up to 64 bytes each, where these are not in scratch memory of all
  */
  for (int k = 0; k < 5; k++) {
    room += most[k];
    least = PetscMax(least, most[k]);
  }
  TestCheck(p, (long long)memory <= (PetscMin((long long)warmup, (p->n + chunk - 1) / chunk) + 1) * room + (p->work == NULL ? 2 * (whole + 64) : 0));
  TestCheck(p, (long long)memory >= least);
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
  const PetscInt chunks[] = {1, 2, 3, 5, MAXITEMS, PETSC_MAX_INT}, warmups[] = {1, 2, 3, 5, PETSC_MAX_INT}, counts[] = {0, 1, 5, MAXITEMS};
  PetscInt       wrong = 0, number = 0;
  PetscLogDouble memory, after;
  MuonWorkspace  work;
  TestProblem    p;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(CheckMistakes());
  PetscCall(CheckNonfinite());
  PetscCall(MuonWorkspaceCreate(&work));
  for (int c = 0; c < 4; c++) {
    /* All of one kind, then mixed; so are the rows of ranks */
    for (int kind = 0; kind < 5; kind++) {
      for (int pattern = 0; pattern < 5; pattern++) {
        PetscCall(TestCreate(&p));
        p.n    = counts[c];
        p.work = pattern % 2 == 1 ? work : NULL;
        for (PetscInt k = 0; k < p.n; k++) TestItem(&p, k, (MuonAssemblyKind)(kind < 4 ? kind : (int)(TestHash((uint32_t)k, 3, 3, 0) % 4)), pattern < 4 ? pattern : (int)(TestHash((uint32_t)k, 4, 4, 0) % 4));
        /* As it is by default, twice; then precisions with assignments, chunks and warm-ups, of which each meets each */
        for (int choice = 0; choice < (c < 3 ? 3 : 13); choice++) {
          p.options.precision  = (MuonAssemblyPrecision)(choice % 3);
          p.options.assignment = (MuonExchangeAssignment)(choice / 3 % 3);
          PetscCall(Audit(&p, choice == 0 ? PETSC_DETERMINE : chunks[(choice + pattern) % 6], choice == 0 ? 5 : warmups[number++ % 5]));
          if (choice > 0) continue;
          PetscCall(MuonAssemblyGetMemory(p.assembly, &memory));
          PetscCall(TestRun(&p));
          PetscCall(MuonAssemblyGetMemory(p.assembly, &after));
          TestCheck(&p, memory == after);
        }
        wrong += p.wrong;
        PetscCall(TestDestroy(&p));
      }
    }
  }
  PetscCall(MuonWorkspaceDestroy(&work));
  PetscCall(PetscFinalize());
  if (wrong != 0) return 1;
  return 0;
}

/*TEST

  link: internal

  test:
    nsize: {{1 2 3 4 6}}

TEST*/
