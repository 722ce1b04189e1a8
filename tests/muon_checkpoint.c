static char help[] = "Checkpoints: a run that is saved and loaded goes on bit for bit, on other ranks it has the same weights and means; what does not fit is refused and changes nothing.\n";

#include "checkpoint_common.h"

/* Saved after some steps; loaded where no step was taken, and where other steps were */
static PetscErrorCode CheckExact(const Case *c, PetscInt which)
{
  TestProblem p, q, r;
  char        folder[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(folder, sizeof(folder), "exact%" PetscInt_FMT, which));
  PetscCall(Create(PETSC_COMM_WORLD, c, 0, &p));
  PetscCall(Create(PETSC_COMM_WORLD, c, 0, &q));
  PetscCall(Create(PETSC_COMM_WORLD, c, 0, &r));
  PetscCall(Move(&q));
  PetscCall(Move(&r));
  PetscCall(Steps(&p, STEPS));
  PetscCall(MuonSaveCheckpoint(p.muon, folder, 2));
  PetscCall(MuonLoadCheckpoint(q.muon, folder));
  PetscCall(CheckSame(&p, &q, which, "loaded at once"));
  PetscCall(Steps(&r, STEPS + 3));
  PetscCall(MuonLoadCheckpoint(r.muon, folder));
  PetscCall(CheckSame(&p, &r, which, "loaded in the middle"));
  PetscCall(Steps(&p, STEPS));
  PetscCall(Steps(&q, STEPS));
  PetscCall(Steps(&r, STEPS));
  PetscCall(CheckSame(&p, &q, which, "after more steps"));
  PetscCall(CheckSame(&p, &r, which, "after more steps, loaded in the middle"));
  PetscCall(TestDestroy(&p));
  PetscCall(TestDestroy(&q));
  PetscCall(TestDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Sums over the ranks of a communicator of what a state has in its entries, by layers, where it is kept;
   absolute values behind them
*/
static PetscErrorCode SumState(TestProblem *p, const char name[], PetscReal sums[])
{
  const PetscInt d  = TestTotal(p);
  PetscInt       at = 0;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(sums, 2 * d));
  for (PetscInt l = 0; l < p->n; at += TestEntries(&p->shape[l++])) {
    Mat        A;
    PetscReal *rows = sums + at;

    PetscCall(TestGetState(p->muon, p->layer[l], name, &A));
    if (A != NULL) PetscCall(TestMatGetRows(A, rows));
  }
  for (PetscInt e = 0; e < d; e++) sums[d + e] = PetscAbsReal(sums[e]);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sums, (PetscMPIInt)(2 * d), MPIU_REAL, MPI_SUM, PetscObjectComm((PetscObject)p->muon)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the ranks have sent up and down in all steps together: whole numbers */
static PetscErrorCode SumSent(TestProblem *p, double sent[4])
{
  MuonTraffic traffic;

  PetscFunctionBegin;
  PetscCall(MuonGetTraffic(p->muon, &traffic));
  for (PetscInt k = 0; k < 2; k++) {
    sent[k]     = (double)traffic.total_up[k];
    sent[2 + k] = (double)traffic.total_down[k];
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sent, 4, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)p->muon)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   From some of the ranks to some: weights, state of servers and what was sent to the bit, means of the
   workers up to rounding of so many additions
*/
static PetscErrorCode CheckElastic(const Case *c, PetscInt which, PetscMPIInt from, PetscMPIInt to)
{
  const char *const state[] = {"weights", "aggregate", "adamw.mean", "adamw.square", "momentum", "estimate", "excess"};
  const PetscReal   eps     = c->single ? (PetscReal)1.2e-7 : PETSC_MACHINE_EPSILON;
  const PetscInt    d       = 6 * 6 + 9 * 4 + 4 * 9 + 7 + 11 + 30;
  PetscReal        *sums[7], *weights;
  PetscMPIInt       rank;
  MPI_Comm          comm;
  TestProblem       p;
  double            sent[4] = {0, 0, 0, 0}, loadedsent[4];
  char              folder[64];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscSNPrintf(folder, sizeof(folder), "elastic%" PetscInt_FMT "_%d_%d", which, from, to));
  for (PetscInt k = 0; k < 7; k++) PetscCall(PetscCalloc1(2 * d, &sums[k]));
  PetscCall(PetscMalloc1(d, &weights));
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank < from ? 0 : MPI_UNDEFINED, rank, &comm));
  if (rank < from) {
    PetscCall(Create(comm, c, 0, &p));
    PetscCheck(TestTotal(&p) == d, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " entries", TestTotal(&p));
    PetscCall(Steps(&p, STEPS));
    PetscCall(MuonSaveCheckpoint(p.muon, folder, 1));
    for (PetscInt k = 0; k < 7; k++) PetscCall(SumState(&p, state[k], sums[k]));
    PetscCall(TestGetAllWeights(&p, weights));
    PetscCall(SumSent(&p, sent));
    PetscCall(TestDestroy(&p));
    PetscCallMPI(MPI_Comm_free(&comm));
  }
  /* Rank 0 is in both */
  for (PetscInt k = 0; k < 7; k++) PetscCallMPI(MPI_Bcast(sums[k], (PetscMPIInt)(2 * d), MPIU_REAL, 0, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Bcast(weights, (PetscMPIInt)d, MPIU_REAL, 0, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Bcast(sent, 4, MPI_DOUBLE, 0, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank < to ? 0 : MPI_UNDEFINED, rank, &comm));
  if (rank < to) {
    PetscReal *loaded;
    PetscInt   step;

    PetscCall(PetscMalloc1(2 * d, &loaded));
    PetscCall(Create(comm, c, 0, &p));
    PetscCall(Move(&p));
    PetscCall(MuonLoadCheckpoint(p.muon, folder));
    PetscCall(MuonGetStepNumber(p.muon, &step));
    PetscCheck(step == STEPS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt_FMT, step);
    PetscCall(SumSent(&p, loadedsent));
    for (PetscInt k = 0; k < 4; k++) PetscCheck(loadedsent[k] == sent[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Case %" PetscInt_FMT ", %d to %d ranks: %g sent, expected %g", which, from, to, loadedsent[k], sent[k]);
    PetscCall(TestGetAllWeights(&p, loaded));
    PetscCheck(memcmp(loaded, weights, (size_t)d * sizeof(*weights)) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Case %" PetscInt_FMT ", %d to %d ranks: other weights", which, from, to);
    for (PetscInt k = 0; k < 7; k++) {
      /*
         How many ranks keep a server's state depends on who serves: where all do, that many. Then the mean is
         compared, as that of the workers is
      */
      const PetscBool all = c->exchange[0] == 'r' ? PETSC_TRUE : PETSC_FALSE, worker = k >= 5 || (k == 4 && c->at == MUON_MOMENTUM_AT_WORKER) ? PETSC_TRUE : PETSC_FALSE;
      const PetscReal n = worker || all ? from : 1, m = worker || all ? to : 1;

      PetscCall(SumState(&p, state[k], loaded));
      for (PetscInt e = 0; e < d; e++) {
        const PetscReal bound = worker || all ? 2 * eps * (n + m + 2) * (sums[k][d + e] / n) : 0, error = PetscAbsReal(loaded[e] / m - sums[k][e] / n);

        PetscCheck(error <= bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Case %" PetscInt_FMT ", %d to %d ranks: entry %" PetscInt_FMT " of the mean %s differs by %g, allowed %g", which, from, to, e, state[k], (double)error, (double)bound);
      }
    }
    PetscCall(Steps(&p, 2));
    PetscCall(TestCheckReplicas(&p, "loaded on other ranks", STEPS + 2));
    PetscCall(TestDestroy(&p));
    PetscCall(PetscFree(loaded));
    PetscCallMPI(MPI_Comm_free(&comm));
  }
  for (PetscInt k = 0; k < 7; k++) PetscCall(PetscFree(sums[k]));
  PetscCall(PetscFree(weights));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A call that must fail on every rank, with these words, and changes nothing */
static PetscErrorCode Refused(TestProblem *p, PetscBool load, const char folder[], const char words[])
{
  Image a, b;

  PetscFunctionBegin;
  PetscCall(MuonSetUp(p->muon));
  PetscCall(ImageCreate(p, &a));
  Fails(load ? MuonLoadCheckpoint(p->muon, folder) : MuonSaveCheckpoint(p->muon, folder, 1), FAILS_ANY, words);
  PetscCall(ImageCreate(p, &b));
  PetscCheck(a.bytes == b.bytes && memcmp(a.data, b.data, a.bytes) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: what was refused changed something", folder);
  PetscCall(PetscFree(a.data));
  PetscCall(PetscFree(b.data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Flips a bit in the middle of a file */
static PetscErrorCode Damage(const char path[])
{
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank == 0) {
    FILE *file = fopen(path, "r+b");
    int   byte;

    PetscCheck(file != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s", path);
    (void)fseek(file, 100, SEEK_SET);
    byte = fgetc(file);
    (void)fseek(file, 100, SEEK_SET);
    (void)fputc(byte ^ 4, file);
    (void)fclose(file);
  }
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckRefused(void)
{
  const Case       *c       = &Cases[0];
  const char *const words[] = {NULL,
                               "it has 0 of 36 entries of momentum of layer \"h0.attn\"",
                               "of layer \"embed\", which the optimizer does not keep",
                               "of layer \"other\"",
                               "it has momentum of layer \"h0.attn\", which the optimizer does not keep",
                               "momentum of layer \"h0.attn\" has 8 bytes an entry",
                               NULL,
                               "it has 0 of 11 entries of weights of layer \"gain\""};
  TestProblem       p, q, r;
  PetscInt          step;

  PetscFunctionBegin;
  PetscCall(Create(PETSC_COMM_WORLD, c, 0, &p));
  PetscCall(Create(PETSC_COMM_WORLD, c, 0, &q));
  PetscCall(Refused(&p, PETSC_TRUE, "nowhere", "nowhere: cannot list the folder: No such file or directory"));
  PetscCall(Refused(&p, PETSC_FALSE, "nowhere/else", "nowhere/else: cannot make the folder: No such file or directory"));
  PetscCall(Steps(&p, 1));
  PetscCall(MuonSaveCheckpoint(p.muon, "refused", 2));
  for (PetscInt change = 1; change < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(words); change++) {
    if (words[change] == NULL || (change == 5 && PetscDefined(USE_REAL_SINGLE))) continue;
    PetscCall(Create(PETSC_COMM_WORLD, c, change, &r));
    PetscCall(Refused(&r, PETSC_TRUE, "refused", words[change]));
    PetscCall(TestDestroy(&r));
  }
  /* The folder is the first optimizer's until that is destroyed */
  PetscCall(Refused(&q, PETSC_FALSE, "refused/", "refused/lock: the folder is in use by another job (host "));
  PetscCall(Steps(&p, 1));
  PetscCall(MuonSaveCheckpoint(p.muon, "refused//", 2));
  PetscCall(Steps(&p, 1));
  PetscCall(MuonSaveCheckpoint(p.muon, "refused", 2));
  /* The latest is damaged, then the one before it too, which leaves none: the first of three was removed */
  PetscCall(Damage("refused/step-000000000003-000003/rank-000000"));
  PetscCall(MuonLoadCheckpoint(q.muon, "refused"));
  PetscCall(MuonGetStepNumber(q.muon, &step));
  PetscCheck(step == 2, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Step %" PetscInt_FMT, step);
  PetscCall(Damage("refused/step-000000000002-000002/manifest"));
  PetscCall(Refused(&q, PETSC_TRUE, "refused", "refused/step-000000000002-000002/manifest: is damaged"));
  PetscCall(TestDestroy(&p));
  PetscCall(MuonSaveCheckpoint(q.muon, "refused", 1));
  PetscCall(MuonLoadCheckpoint(q.muon, "refused"));
  PetscCall(TestDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All pairs of some numbers of ranks, each with the next one of the cases */
static PetscErrorCode CheckPairs(PetscInt first, PetscMPIInt size)
{
  static const PetscMPIInt ranks[] = {1, 2, 3, 4, 6};
  PetscInt                 pair    = 0;

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(ranks); i++) {
    for (size_t j = 0; j < PETSC_STATIC_ARRAY_LENGTH(ranks); j++, pair++) {
      if (ranks[i] > size || ranks[j] > size) continue;
      PetscCall(CheckElastic(&Cases[(first + pair) % NCASES], (first + pair) % NCASES, ranks[i], ranks[j]));
    }
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " pairs ok\n", pair));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt size;
  PetscInt    first;
  PetscBool   pairs;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-pairs", &first, &pairs));
  if (pairs) {
    PetscCall(CheckPairs(first, size));
    PetscCall(PetscFinalize());
    return 0;
  }
  for (PetscInt k = 0; k < NCASES; k++) PetscCall(CheckExact(&Cases[k], k));
  for (PetscInt k = 0; k < NCASES; k++) {
    /* To more ranks and to fewer, in all pairs in the course of two cases */
    for (PetscMPIInt from = 1; from <= size && size > 2; from++) PetscCall(CheckElastic(&Cases[k], k, from, (from + k % 2) % size + 1));
  }
  PetscCall(CheckRefused());
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3}}
    filter: grep -v "^Checkpoint: ranks was"
    output_file: output/muon_checkpoint_1.out

  # From each of 1, 2, 3, 4, 6 ranks to each, in one launch
  test:
    suffix: pairs
    nsize: 6
    args: -pairs 0
    filter: grep -v "^Checkpoint: ranks was"

TEST*/
