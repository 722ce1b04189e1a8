static char help[] = "Checkpoints in the file of a binary viewer, weights as matrices in one, and viewers that are refused.\n";

#include "checkpoint_common.h"

static PetscErrorCode Open(MPI_Comm comm, const char name[], PetscFileMode mode, PetscViewer *viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerBinaryOpen(comm, name, mode, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Two optimizers with a vector between them, in one file, read in their order; on the same ranks bit for bit,
   also after more steps
*/
static PetscErrorCode CheckExact(const Case *c, PetscInt which)
{
  TestProblem p, q;
  PetscViewer viewer;
  Vec         v;
  PetscReal   norm;
  char        name[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof(name), "viewer%" PetscInt_FMT ".bin", which));
  PetscCall(Create(PETSC_COMM_WORLD, c, 0, &p));
  PetscCall(Create(PETSC_COMM_WORLD, c, 0, &q));
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, PETSC_DECIDE, 5, &v));
  PetscCall(VecSet(v, 2));
  PetscCall(Open(PETSC_COMM_WORLD, name, FILE_MODE_WRITE, &viewer));
  PetscCall(Steps(&p, 2));
  PetscCall(MuonView(p.muon, viewer));
  PetscCall(VecView(v, viewer));
  PetscCall(Steps(&p, STEPS));
  PetscCall(PetscObjectView((PetscObject)p.muon, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(VecSet(v, 0));
  PetscCall(Move(&q));
  PetscCall(Open(PETSC_COMM_WORLD, name, FILE_MODE_READ, &viewer));
  PetscCall(MuonLoad(q.muon, viewer));
  PetscCall(VecLoad(v, viewer));
  PetscCall(VecNorm(v, NORM_1, &norm));
  PetscCheck(norm == 10, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The vector behind the optimizer is another");
  PetscCall(Steps(&q, STEPS));
  PetscCall(CheckSame(&p, &q, which, "loaded from a viewer, after more steps"));
  PetscCall(Steps(&q, 1));
  PetscCall(MuonLoad(q.muon, viewer));
  PetscCall(CheckSame(&p, &q, which, "loaded in the middle from a viewer"));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(VecDestroy(&v));
  PetscCall(TestDestroy(&p));
  PetscCall(TestDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On the first ranks alone, and on all from there: weights to the bit */
static PetscErrorCode CheckElastic(const Case *c, PetscMPIInt from, PetscMPIInt to)
{
  const PetscInt d = 6 * 6 + 9 * 4 + 4 * 9 + 7 + 11 + 30;
  TestProblem    p;
  PetscViewer    viewer;
  PetscReal     *weights, *loaded;
  PetscMPIInt    rank;
  MPI_Comm       comm;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscMalloc2(d, &weights, d, &loaded));
  for (int load = 0; load < 2; load++) {
    PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank < (load ? to : from) ? 0 : MPI_UNDEFINED, rank, &comm));
    if (comm != MPI_COMM_NULL) {
      PetscCall(Create(comm, c, 0, &p));
      if (load) PetscCall(Move(&p));
      else PetscCall(Steps(&p, STEPS));
      PetscCall(Open(comm, "elastic.bin", load ? FILE_MODE_READ : FILE_MODE_WRITE, &viewer));
      if (load) PetscCall(MuonLoad(p.muon, viewer));
      else PetscCall(MuonView(p.muon, viewer));
      PetscCall(PetscViewerDestroy(&viewer));
      PetscCall(TestGetAllWeights(&p, load ? loaded : weights));
      if (load) PetscCall(Steps(&p, 1));
      PetscCall(TestDestroy(&p));
      PetscCallMPI(MPI_Comm_free(&comm));
    }
    if (load == 0) PetscCallMPI(MPI_Bcast(weights, (PetscMPIInt)d, MPIU_REAL, 0, PETSC_COMM_WORLD));
    else PetscCheck(rank >= to || memcmp(weights, loaded, (size_t)d * sizeof(*weights)) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d to %d ranks: other weights", from, to);
  }
  PetscCall(PetscFree2(weights, loaded));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What MatLoad() reads is what the layers have */
static PetscErrorCode CheckWeights(const Case *c)
{
  TestProblem p;
  PetscViewer viewer;
  PetscReal  *have, *read;

  PetscFunctionBegin;
  PetscCall(Create(PETSC_COMM_WORLD, c, 0, &p));
  PetscCall(Steps(&p, 2));
  PetscCall(Open(PETSC_COMM_WORLD, "weights.bin", FILE_MODE_WRITE, &viewer));
  PetscCall(MuonViewWeights(p.muon, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(Open(PETSC_COMM_SELF, "weights.bin", FILE_MODE_READ, &viewer));
  for (PetscInt l = 0; l < p.n; l++) {
    const PetscInt d = TestEntries(&p.shape[l]);
    Mat            W;

    PetscCall(PetscMalloc2(d, &have, d, &read));
    PetscCall(MatCreate(PETSC_COMM_SELF, &W));
    PetscCall(MatSetType(W, MATSEQDENSE));
    PetscCall(MatLoad(W, viewer));
    PetscCall(TestMatGetRows(W, read));
    PetscCall(TestGetWeights(&p, l, have));
    PetscCheck(memcmp(have, read, (size_t)d * sizeof(*have)) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %" PetscInt_FMT ": other weights", l);
    PetscCall(MatDestroy(&W));
    PetscCall(PetscFree2(have, read));
  }
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(TestDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The error is every rank's, and nothing of the optimizer changed */
static PetscErrorCode Refused(TestProblem *p, PetscErrorCode (*call)(Muon, PetscViewer), PetscViewer viewer, const char words[])
{
  PetscErrorCode code;
  Image          a, b;
  char          *at;

  PetscFunctionBegin;
  PetscCall(ImageCreate(p, &a));
  Said[0] = '\0';
  PetscCall(PetscPushErrorHandler(Remember, NULL));
  code = (*call)(p->muon, viewer);
  PetscCall(PetscPopErrorHandler());
  PetscCall(PetscStrstr(Said, words, &at));
  PetscCheck(code != PETSC_SUCCESS && at != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The error says \"%s\", expected \"%s\"", Said, words);
  PetscCall(ImageCreate(p, &b));
  PetscCheck(a.bytes == b.bytes && memcmp(a.data, b.data, a.bytes) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "What was refused changed something");
  PetscCall(PetscFree(a.data));
  PetscCall(PetscFree(b.data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A file of other bytes: where at is not negative one of them is flipped, and the file ends at end */
static PetscErrorCode Forge(const unsigned char bytes[], size_t end, ptrdiff_t at)
{
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank == 0) {
    FILE *file = fopen("forged.bin", "wb");

    PetscCheck(file != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "forged.bin");
    (void)fwrite(bytes, 1, end, file);
    if (at >= 0) {
      (void)fseek(file, (long)at, SEEK_SET);
      (void)fputc(bytes[at] ^ 16, file);
    }
    (void)fclose(file);
  }
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each length, and each byte flipped, of some: the file is small where the optimizer is */
static PetscErrorCode CheckForged(const Case *c)
{
  TestProblem    p;
  PetscViewer    viewer;
  unsigned char *bytes;
  size_t         length = 0;
  PetscInt       step;
  FILE          *file;

  PetscFunctionBegin;
  PetscCall(Create(PETSC_COMM_WORLD, c, 3, &p));
  PetscCall(Steps(&p, 1));
  PetscCall(Open(PETSC_COMM_WORLD, "small.bin", FILE_MODE_WRITE, &viewer));
  PetscCall(MuonView(p.muon, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscMalloc1(1 << 17, &bytes));
  file = fopen("small.bin", "rb");
  PetscCheck(file != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "small.bin");
  length = fread(bytes, 1, 1 << 17, file);
  (void)fclose(file);
  PetscCall(Steps(&p, 1));
  for (size_t k = 0; k < length; k += length / 150) {
    for (int flip = 0; flip < 2; flip++) {
      PetscCall(Forge(bytes, flip ? length : k, flip ? (ptrdiff_t)k : -1));
      PetscCall(Open(PETSC_COMM_WORLD, "forged.bin", FILE_MODE_READ, &viewer));
      PetscCall(Refused(&p, MuonLoad, viewer, "forged.bin"));
      PetscCall(PetscViewerDestroy(&viewer));
    }
  }
  PetscCall(Forge(bytes, length, -1));
  PetscCall(Open(PETSC_COMM_WORLD, "forged.bin", FILE_MODE_READ, &viewer));
  PetscCall(MuonLoad(p.muon, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(MuonGetStepNumber(p.muon, &step));
  PetscCheck(step == 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt_FMT, step);
  PetscCall(PetscFree(bytes));
  PetscCall(TestDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckRefused(const Case *c)
{
  TestProblem p, q;
  PetscViewer viewer, draw;
  Vec         v;

  PetscFunctionBegin;
  PetscCall(Create(PETSC_COMM_WORLD, c, 0, &p));
  PetscCall(Create(PETSC_COMM_WORLD, c, 6, &q));
  PetscCall(Steps(&p, 1));
  PetscCall(Steps(&q, 1));
  PetscCall(PetscViewerCreate(PETSC_COMM_WORLD, &draw));
  PetscCall(PetscViewerSetType(draw, PETSCVIEWERVTK));
  PetscCall(Refused(&p, MuonView, draw, "Muon cannot be shown by a viewer of type vtk, expected ascii"));
  PetscCall(Refused(&p, MuonConvergedReasonView, draw, "Muon cannot be shown by a viewer of type vtk, expected ascii"));
  PetscCall(Refused(&p, MuonLoad, draw, "A viewer of type vtk, expected one of type binary"));
  PetscCall(PetscViewerDestroy(&draw));
  PetscCall(Refused(&p, MuonViewWeights, PETSC_VIEWER_STDOUT_WORLD, "A viewer of type ascii, expected one of type binary"));
  /* What is there is no optimizer, and then one of another kind */
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, PETSC_DECIDE, 5, &v));
  PetscCall(Open(PETSC_COMM_WORLD, "other.bin", FILE_MODE_WRITE, &viewer));
  PetscCall(VecView(v, viewer));
  PetscCall(MuonView(q.muon, viewer));
  PetscCall(Refused(&p, MuonLoad, viewer, "A viewer that was opened to write, expected one that was opened to read"));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(Open(PETSC_COMM_WORLD, "other.bin", FILE_MODE_READ, &viewer));
  PetscCall(Refused(&p, MuonView, viewer, "A viewer that was opened to read, expected one that was opened to write"));
  PetscCall(Refused(&p, MuonLoad, viewer, "other.bin: no optimizer is there: its class id is 1211214, expected 13211514"));
  PetscCall(VecLoad(v, viewer));
  PetscCall(Refused(&p, MuonLoad, viewer, "with layer \"h0.attn\" of 6 x 6, rule lmo, up rankk, down topk, expected layer \"h0.attn\" of 6 x 6, rule lmo, up topk, down topk"));
  /* The viewer is where it was */
  PetscCall(MuonLoad(q.muon, viewer));
  PetscCall(Refused(&q, MuonLoad, viewer, "other.bin: no optimizer is there: it ends"));
  PetscCall(PetscViewerDestroy(&viewer));
  /* A disk that is full, for the class id already or for what is in front of the end */
  PetscCall(Open(PETSC_COMM_WORLD, "/dev/full", FILE_MODE_WRITE, &viewer));
  PetscCall(PetscViewerBinarySetSkipInfo(viewer, PETSC_TRUE));
  PetscCall(Refused(&p, MuonView, viewer, "/dev/full: cannot write to it: No space left on device"));
  PetscCall(Refused(&p, MuonViewWeights, viewer, "/dev/full: cannot write to it: No space left on device"));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(VecDestroy(&v));
  PetscCall(TestDestroy(&p));
  PetscCall(TestDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt k = 0; k < NCASES; k += 2) PetscCall(CheckExact(&Cases[k], k));
  for (PetscMPIInt from = 1; from <= size; from++) PetscCall(CheckElastic(&Cases[from % 2], from, size + 1 - from));
  PetscCall(CheckWeights(&Cases[1]));
  PetscCall(CheckForged(&Cases[0]));
  PetscCall(CheckRefused(&Cases[0]));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 3}}
    filter: grep -v "^Checkpoint: ranks was"

TEST*/
