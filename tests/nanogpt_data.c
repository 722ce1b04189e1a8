static char help[] = "The corpus of tutorials/nanogpt: every sequence, the order of training, the shares of processes, and bad files.\n\n";

#define PETSC_DESIRE_FEATURE_TEST_MACROS /* for chdir() */
#include "../tutorials/nanogpt/data.h"
#include <unistd.h>
#include "fails.h"

#define SEQUENCE 7

typedef struct {
  const char *name;
  PetscInt    tokens;
} TestFile;

/* In the order of their names. Some are shorter than a sequence, so that one reaches over several files */
static const TestFile text[]   = {{"text/a.h", 3}, {"text/b.h", 40}, {"text/c/a.h", 5}, {"text/c/d/b.h", 1}, {"text/c/z.h", 2}, {"text/d.h", 100}, {"text/e.h", 64}, {"text/f.h", 300}, {"text/g.h", 9}};
static const TestFile shards[] = {{"shards/part_0.bin", 30}, {"shards/part_1.bin", 4}, {"shards/part_2.bin", 200}};
static const TestFile held[]   = {{"shards/part_3.bin", 50}};

/* Token t of file f: every value of a byte, or of a vocabulary of 50304, occurs */
static PetscInt TokenOf(PetscInt f, PetscInt t, PetscInt vocabulary)
{
  return (f * 7919 + t * 104729 + t * t * 31) % vocabulary;
}

static PetscErrorCode WriteBytes(const char name[], size_t n, const unsigned char bytes[])
{
  FILE *file = fopen(name, "wb");

  PetscFunctionBeginUser;
  PetscCheck(file != NULL && fwrite(bytes, 1, n, file) == n && fclose(file) == 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write %s", name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A shard whose header may lie, or that has none where the magic number is 0 */
static PetscErrorCode WriteShard(const char name[], PetscInt f, PetscInt magic, PetscInt version, PetscInt said, PetscInt tokens, PetscInt vocabulary)
{
  const PetscInt header[3] = {magic, version, said}, begin = magic == 0 ? 0 : 1024;
  unsigned char *bytes;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc1(begin + 2 * tokens, &bytes));
  for (PetscInt i = 0; i < PetscMin(begin, 12); i++) bytes[i] = (unsigned char)(header[i / 4] >> 8 * (i % 4) & 255);
  for (PetscInt t = 0; t < tokens; t++) {
    bytes[begin + 2 * t]     = (unsigned char)(TokenOf(f, t, vocabulary) & 255);
    bytes[begin + 2 * t + 1] = (unsigned char)(TokenOf(f, t, vocabulary) >> 8);
  }
  PetscCall(WriteBytes(name, (size_t)(begin + 2 * tokens), bytes));
  PetscCall(PetscFree(bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WriteText(const char name[], PetscInt f, PetscInt tokens)
{
  unsigned char *bytes;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(tokens + 1, &bytes));
  for (PetscInt t = 0; t < tokens; t++) bytes[t] = (unsigned char)TokenOf(f, t, 256);
  PetscCall(WriteBytes(name, (size_t)tokens, bytes));
  PetscCall(PetscFree(bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The files of all tests, among them some that a folder's reader must leave out */
static PetscErrorCode WriteFiles(void)
{
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank == 0) {
    PetscCall(PetscMkdir("text"));
    PetscCall(PetscMkdir("text/c"));
    PetscCall(PetscMkdir("text/c/d"));
    PetscCall(PetscMkdir("shards"));
    PetscCall(PetscMkdir("nothing"));
    for (PetscInt f = 0; f < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(text); f++) PetscCall(WriteText(text[f].name, f, text[f].tokens));
    PetscCall(WriteText("text/.hidden.h", 0, 50));
    PetscCall(WriteText("text/c/empty.h", 0, 0));
    PetscCall(WriteText("text/other.c", 0, 50));
    for (PetscInt f = 0; f < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(shards); f++) PetscCall(WriteShard(shards[f].name, f, 20240520, 1, shards[f].tokens, shards[f].tokens, 50304));
    PetscCall(WriteShard(held[0].name, 5, 20240520, 1, held[0].tokens, held[0].tokens, 50304));
    PetscCall(PetscMkdir("plain"));
    PetscCall(WriteShard("plain/a.bin", 0, 0, 0, 0, 300, 50304));
    PetscCall(WriteText("odd.bin", 0, 5));
  }
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The tokens of some files one after the other, as the corpus must see them */
typedef struct {
  PetscInt n, tokens[4096];
} Stream;

static void StreamAppend(Stream *stream, PetscInt f, PetscInt tokens, PetscInt vocabulary)
{
  for (PetscInt t = 0; t < tokens; t++) stream->tokens[stream->n++] = TokenOf(f, t, vocabulary);
}

/* Sequence i of the part must be the block of that number, of those that the part has, of the stream */
static PetscErrorCode CheckPart(Corpus corpus, CorpusPart part, const Stream *stream, PetscInt every, PetscInt nfiles)
{
  PetscInt   tokens[SEQUENCE], targets[SEQUENCE], files, i = 0;
  PetscInt64 total, sequences;

  PetscFunctionBeginUser;
  for (PetscInt block = 0; (block + 1) * SEQUENCE < stream->n; block++) {
    if (every > 0 && (block % every == every - 1) != (part == CORPUS_VALIDATION)) continue;
    PetscCall(CorpusRead(corpus, part, i, tokens, targets));
    for (PetscInt t = 0; t < SEQUENCE; t++) {
      PetscCheck(tokens[t] == stream->tokens[block * SEQUENCE + t] && targets[t] == stream->tokens[block * SEQUENCE + t + 1], PETSC_COMM_SELF, PETSC_ERR_PLIB,
                 "Part %d, sequence %" PetscInt_FMT ", position %" PetscInt_FMT ": %" PetscInt_FMT " before %" PetscInt_FMT ", expected %" PetscInt_FMT " before %" PetscInt_FMT, (int)part, i, t, tokens[t], targets[t],
                 stream->tokens[block * SEQUENCE + t], stream->tokens[block * SEQUENCE + t + 1]);
    }
    i++;
  }
  PetscCall(CorpusGetSize(corpus, part, &files, &total, &sequences));
  PetscCheck(sequences == i, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Part %d has %" PetscInt64_FMT " sequences, expected %" PetscInt_FMT, (int)part, sequences, i);
  PetscCheck(files == nfiles, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Part %d has %" PetscInt_FMT " files, expected %" PetscInt_FMT, (int)part, files, nfiles);
  PetscCheck(every > 0 || total == stream->n, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Part %d has %" PetscInt64_FMT " tokens, expected %" PetscInt_FMT, (int)part, total, stream->n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Every pass over the corpus uses each sequence once, in another order, and another seed gives another order
*/
static PetscErrorCode CheckShuffle(Corpus corpus, Corpus other)
{
  PetscInt   files, same = 0, alike = 0, *seen;
  PetscInt64 total, n, a, b;

  PetscFunctionBeginUser;
  PetscCall(CorpusGetSize(corpus, CORPUS_TRAIN, &files, &total, &n));
  PetscCall(PetscCalloc1((size_t)n, &seen));
  for (PetscInt pass = 0; pass < 3; pass++) {
    for (PetscInt64 i = 0; i < n; i++) {
      PetscCall(CorpusShuffle(corpus, pass * n + i, &a));
      PetscCheck(a >= 0 && a < n && seen[a] == pass, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Pass %" PetscInt_FMT " uses sequence %" PetscInt64_FMT " twice", pass, a);
      seen[a]++;
      PetscCall(CorpusShuffle(corpus, (pass + 1) * n + i, &b));
      same += a == b ? 1 : 0;
      PetscCall(CorpusShuffle(other, pass * n + i, &b));
      alike += a == b ? 1 : 0;
    }
  }
  /*
     two independent orders agree in one place on average, with variance one: three pairs of them in more than
     30 by no chance
  */
  PetscCheck(n > 60 && same <= 30 && alike <= 30, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Passes agree in %" PetscInt_FMT " places, seeds in %" PetscInt_FMT " of %" PetscInt64_FMT, same, alike, 3 * n);
  PetscCall(PetscFree(seen));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each pass of a process over its own part uses each of its sequences once, and the parts are all sequences */
static PetscErrorCode CheckOwn(Corpus corpus)
{
  PetscMPIInt size, rank;
  PetscInt    files, *seen;
  PetscInt64  total, n, a;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(CorpusGetSize(corpus, CORPUS_TRAIN, &files, &total, &n));
  PetscCall(PetscCalloc1((size_t)n, &seen));
  for (PetscInt64 i = 0; i < 2 * (n * (rank + 1) / size - n * rank / size); i++) {
    PetscCall(CorpusShuffleOwn(corpus, i, &a));
    PetscCheck(a >= n * rank / size && a < n * (rank + 1) / size, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Process %d uses sequence %" PetscInt64_FMT " of %" PetscInt64_FMT, rank, a, n);
    seen[a]++;
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, seen, (PetscMPIInt)n, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  for (a = 0; a < n; a++) PetscCheck(seen[a] == 2, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Sequence %" PetscInt64_FMT " is used %" PetscInt_FMT " times in 2 passes", a, seen[a]);
  PetscCall(PetscFree(seen));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The shares of the processes are the batch, each sequence once */
static PetscErrorCode CheckShare(Corpus corpus)
{
  PetscMPIInt size;
  PetscInt    first, count, seen[12] = {0};

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(CorpusGetShare(corpus, 12, &first, &count));
  for (PetscInt i = first; i < first + count; i++) seen[i]++;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, seen, 12, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  for (PetscInt i = 0; i < 12; i++) PetscCheck(seen[i] == 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Sequence %" PetscInt_FMT " of the batch is taken by %" PetscInt_FMT " processes", i, seen[i]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Counts of pairs in whole streams, one byte after the other */
static PetscErrorCode CheckBigram(Corpus corpus, const Stream *train, const Stream *validation)
{
  const PetscInt last = (validation->n - 1) / SEQUENCE * SEQUENCE;
  double         sum  = 0.0;
  PetscReal      loss;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < last; i++) {
    double pairs = 1.0, all = 256.0;

    for (PetscInt j = 0; j < (train->n - 1) / SEQUENCE * SEQUENCE; j++) {
      if (train->tokens[j] != validation->tokens[i]) continue;
      all += 1.0;
      if (train->tokens[j + 1] == validation->tokens[i + 1]) pairs += 1.0;
    }
    sum += log(all / pairs);
  }
  PetscCall(CorpusBigram(corpus, &loss));
  PetscCheck(PetscAbsReal((PetscReal)(sum / (double)last - (double)loss)) <= 8.0 * PETSC_MACHINE_EPSILON * (PetscReal)last, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Bigram loss %.12g, expected %.12g", (double)loss, sum / (double)last);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestText(CorpusOptions options)
{
  const PetscInt nfiles   = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(text);
  char           folder[] = "text";
  char          *paths[]  = {folder};
  Stream        *all, *train, *validation;
  Corpus         corpus, other;
  const char    *name;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc3(1, &all, 1, &train, 1, &validation));
  for (PetscInt f = 0; f < nfiles; f++) {
    StreamAppend(all, f, text[f].tokens, 256);
    StreamAppend(f % 3 == 2 ? validation : train, f, text[f].tokens, 256);
  }
  options.paths      = paths;
  options.npaths     = 1;
  options.vocabulary = 256;
  PetscCall(CorpusCreate(PETSC_COMM_WORLD, &options, &corpus));
  PetscCall(CheckPart(corpus, CORPUS_TRAIN, train, 0, nfiles - nfiles / 3));
  PetscCall(CheckPart(corpus, CORPUS_VALIDATION, validation, 0, nfiles / 3));
  for (PetscInt f = 0; f < nfiles / 3; f++) {
    PetscCall(CorpusGetFileName(corpus, CORPUS_VALIDATION, f, &name));
    PetscCheck(strcmp(name, text[3 * f + 2].name) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Validation file %" PetscInt_FMT " is %s, expected %s", f, name, text[3 * f + 2].name);
  }
  PetscCall(CheckBigram(corpus, train, validation));
  PetscCall(CorpusDestroy(&corpus));

  options.holdout = CORPUS_HOLDOUT_BLOCKS;
  PetscCall(CorpusCreate(PETSC_COMM_WORLD, &options, &corpus));
  PetscCall(CheckPart(corpus, CORPUS_TRAIN, all, 3, nfiles));
  PetscCall(CheckPart(corpus, CORPUS_VALIDATION, all, 3, nfiles));
  PetscCall(CheckShare(corpus));
  PetscCall(CorpusDestroy(&corpus));

  options.every    = 100;
  options.sequence = 1;
  PetscCall(CorpusCreate(PETSC_COMM_WORLD, &options, &corpus));
  options.seed++;
  PetscCall(CorpusCreate(PETSC_COMM_WORLD, &options, &other));
  PetscCall(CheckShuffle(corpus, other));
  PetscCall(CheckOwn(corpus));
  PetscCall(CorpusDestroy(&other));
  PetscCall(CorpusDestroy(&corpus));
  PetscCall(PetscFree3(all, train, validation));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two parts of unequal length: no sequence has tokens of both, each has passes of its own, and a step has the same batch on one process and on all */
static PetscErrorCode TestParts(CorpusOptions options)
{
  const PetscInt of[]  = {7, 5}; /* files of text */
  char           one[] = "text/f.h", two[] = "text/d.h", validation[] = "text/e.h";
  char          *paths[] = {one, two}, *validation_paths[] = {validation};
  PetscInt       tokens[SEQUENCE], targets[SEQUENCE], *seen, first = 0, count = 0;
  PetscInt64     sequence, expected, n[2];
  PetscMPIInt    size;
  Corpus         corpus, alone;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  options.paths             = paths;
  options.npaths            = 2;
  options.validation_paths  = validation_paths;
  options.nvalidation_paths = 1;
  options.holdout           = CORPUS_HOLDOUT_PATHS;
  options.vocabulary        = 256;
  options.parts             = PETSC_TRUE;
  PetscCall(CorpusCreate(PETSC_COMM_WORLD, &options, &corpus));
  PetscCall(CorpusCreate(PETSC_COMM_SELF, &options, &alone));
  for (PetscInt p = 0; p < 2; p++) n[p] = (text[of[p]].tokens - 1) / SEQUENCE;
  for (PetscInt64 i = 0; i < n[0] + n[1]; i++) {
    const PetscInt f = of[i < n[0] ? 0 : 1], start = SEQUENCE * (PetscInt)(i < n[0] ? i : i - n[0]);

    PetscCall(CorpusRead(corpus, CORPUS_TRAIN, i, tokens, targets));
    for (PetscInt t = 0; t < SEQUENCE; t++)
      PetscCheck(tokens[t] == TokenOf(f, start + t, 256) && targets[t] == TokenOf(f, start + t + 1, 256), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Sequence %" PetscInt64_FMT ", position %" PetscInt_FMT ": not of %s", i, t, text[f].name);
  }
  /* Of each step four sequences, two of each part: two passes over either, by the one process that has all parts */
  PetscCall(PetscCalloc1((size_t)(n[0] + n[1]), &seen));
  for (PetscInt64 i = 0; i < n[0]; i++) {
    for (PetscInt b = 0; b < 4; b++) {
      PetscCall(CorpusShuffleParts(alone, 4, i, b, &sequence));
      if (2 * i + b % 2 < 2 * n[b / 2]) seen[sequence]++;
    }
  }
  for (PetscInt64 i = 0; i < n[0] + n[1]; i++) PetscCheck(seen[i] == 2, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Sequence %" PetscInt64_FMT " is used %" PetscInt_FMT " times in 2 passes", i, seen[i]);
  PetscCall(PetscFree(seen));
  if (size <= 2) PetscCall(CorpusGetShare(corpus, 4, &first, &count));
  for (PetscInt64 i = 0; i < n[0]; i++) {
    for (PetscInt b = 0; b < count; b++) {
      PetscCall(CorpusShuffleParts(corpus, 4, i, b, &sequence));
      PetscCall(CorpusShuffleParts(alone, 4, i, first + b, &expected));
      PetscCheck(sequence == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt64_FMT ": sequence %" PetscInt64_FMT ", expected %" PetscInt64_FMT, i, sequence, expected);
    }
  }
  PetscCall(CorpusDestroy(&alone));
  PetscCall(CorpusDestroy(&corpus));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestShards(CorpusOptions options)
{
  const PetscInt nfiles         = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(shards);
  char           train_folder[] = "shards", plain_folder[] = "plain", held_file[] = "./text/../shards/part_3.bin";
  char          *paths[] = {train_folder}, *validation_paths[] = {held_file};
  Stream        *train, *validation;
  Corpus         corpus;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc2(1, &train, 1, &validation));
  for (PetscInt f = 0; f < nfiles; f++) StreamAppend(train, f, shards[f].tokens, 50304);
  StreamAppend(validation, 5, held[0].tokens, 50304);
  options.paths             = paths;
  options.npaths            = 1;
  options.validation_paths  = validation_paths;
  options.nvalidation_paths = 1;
  options.suffix            = ".bin";
  options.holdout           = CORPUS_HOLDOUT_PATHS;
  options.vocabulary        = 50304;
  PetscCall(CorpusCreate(PETSC_COMM_WORLD, &options, &corpus));
  PetscCall(CheckPart(corpus, CORPUS_TRAIN, train, 0, nfiles));
  PetscCall(CheckPart(corpus, CORPUS_VALIDATION, validation, 0, 1));
  PetscCall(CorpusDestroy(&corpus));

  paths[0]           = plain_folder;
  options.holdout    = CORPUS_HOLDOUT_BLOCKS;
  options.headerless = PETSC_TRUE;
  train->n           = 0;
  StreamAppend(train, 0, 300, 50304);
  PetscCall(CorpusCreate(PETSC_COMM_WORLD, &options, &corpus));
  PetscCall(CheckPart(corpus, CORPUS_TRAIN, train, options.every, 1));
  PetscCall(CheckPart(corpus, CORPUS_VALIDATION, train, options.every, 1));
  PetscCall(CorpusDestroy(&corpus));
  PetscCall(PetscFree2(train, validation));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Data or sizes that must be refused, by every process, with these words */
typedef struct {
  const char   *name;
  const char   *paths[2];
  const char   *suffix;
  PetscInt      shard[4]; /* magic number, version, tokens that the header tells and tokens that bad.bin has; all zero: it is not written */
  CorpusHoldout holdout;
  PetscInt      vocabulary;
  PetscInt      batch;
  const char   *error;
} Bad;

static const Bad bads[] = {{"missing", {"nowhere", NULL}, "", {0, 0, 0, 0}, CORPUS_HOLDOUT_BLOCKS, 256, 0, "Cannot find data file nowhere"},
                           {"emptytext", {"text/c/empty.h", NULL}, "", {0, 0, 0, 0}, CORPUS_HOLDOUT_BLOCKS, 256, 0, "Data file text/c/empty.h is empty"},
                           {"folder", {"nothing", NULL}, "", {0, 0, 0, 0}, CORPUS_HOLDOUT_BLOCKS, 256, 0, "Data folder nothing has no file that is not empty"},
                           {"suffix", {"text", NULL}, ".cxx", {0, 0, 0, 0}, CORPUS_HOLDOUT_BLOCKS, 256, 0, "Data folder text has no file that is not empty and ends in .cxx"},
                           {"twice", {"text/d.h", "text"}, "", {0, 0, 0, 0}, CORPUS_HOLDOUT_BLOCKS, 256, 0, "Data file text/d.h is named twice"},
                           {"both", {"text/d.h", NULL}, "", {0, 0, 0, 0}, CORPUS_HOLDOUT_PATHS, 256, 0, "All data files to train on, text/d.h and the others, are held out for validation"},
                           {"mixed", {"text/d.h", "bad.bin"}, "", {20240520, 1, 100, 100}, CORPUS_HOLDOUT_BLOCKS, 50304, 0, "1 of 2 data files are shards of tokens (.bin), the others text"},
                           {"vocabulary", {"text", NULL}, "", {0, 0, 0, 0}, CORPUS_HOLDOUT_BLOCKS, 255, 0, "A vocabulary of 255 is too small"},
                           {"few", {"text/d.h", NULL}, "", {0, 0, 0, 0}, CORPUS_HOLDOUT_FILES, 256, 0, "1 data files are too few to hold out the last of every 5"},
                           {"short", {"text/g.h", NULL}, "", {0, 0, 0, 0}, CORPUS_HOLDOUT_BLOCKS, 256, 0, "The data give 1 sequences of 7 tokens to train and 0 to validate"},
                           {"unshared", {"text/d.h", NULL}, "", {0, 0, 0, 0}, CORPUS_HOLDOUT_BLOCKS, 256, 0, "Cannot read data file text/d.h"},
                           {"header", {"bad.bin", NULL}, "", {20240520, 1, 1, -256}, CORPUS_HOLDOUT_BLOCKS, 50304, 0, "Data file bad.bin has 512 bytes: a shard begins with a header of 1024 bytes"},
                           {"magic", {"bad.bin", NULL}, "", {20240521, 1, 100, 100}, CORPUS_HOLDOUT_BLOCKS, 50304, 0, "Data file bad.bin begins with 20240521"},
                           {"version", {"bad.bin", NULL}, "", {20240520, 2, 100, 100}, CORPUS_HOLDOUT_BLOCKS, 50304, 0, "Data file bad.bin is a shard of version 2"},
                           {"none", {"bad.bin", NULL}, "", {20240520, 1, 0, 0}, CORPUS_HOLDOUT_BLOCKS, 50304, 0, "Data file bad.bin is a shard of 0 tokens"},
                           {"truncated", {"bad.bin", NULL}, "", {20240520, 1, 101, 100}, CORPUS_HOLDOUT_BLOCKS, 50304, 0, "Data file bad.bin has 1224 bytes: a shard of 101 tokens, as its header says, has 1226"},
                           {"longer", {"bad.bin", NULL}, "", {20240520, 1, 99, 100}, CORPUS_HOLDOUT_BLOCKS, 50304, 0, "Data file bad.bin has 1224 bytes: a shard of 99 tokens"},
                           {"huge", {"bad.bin", NULL}, "", {20240520, 1, -1, 100}, CORPUS_HOLDOUT_BLOCKS, 50304, 0, "Data file bad.bin has 1224 bytes: a shard of 4294967295 tokens"},
                           {"odd", {"odd.bin", NULL}, "", {0, 0, 0, 0}, CORPUS_HOLDOUT_BLOCKS, 50304, 0, "Data file odd.bin has 5 bytes: tokens without a header take 2 each"},
                           {"token", {"bad.bin", NULL}, "", {20240520, 1, 100, 100}, CORPUS_HOLDOUT_BLOCKS, 1000, 0, "Data file bad.bin"},
                           {"processes", {"text", NULL}, "", {0, 0, 0, 0}, CORPUS_HOLDOUT_BLOCKS, 256, 1, "2 processes are more than the 1 sequences of a batch"},
                           {"divide", {"text", NULL}, "", {0, 0, 0, 0}, CORPUS_HOLDOUT_BLOCKS, 256, 3, "A batch of 3 sequences cannot be shared equally by 2 processes"},
                           {"batch", {"text", NULL}, "", {0, 0, 0, 0}, CORPUS_HOLDOUT_BLOCKS, 256, 100000, "A batch of 100000 sequences is more than the"}};

static PetscErrorCode Read(const Bad *bad, CorpusOptions *options, Corpus *corpus)
{
  PetscInt tokens[SEQUENCE], targets[SEQUENCE], first, count;

  PetscFunctionBeginUser;
  PetscCall(CorpusCreate(PETSC_COMM_WORLD, options, corpus));
  if (bad->batch > 0) PetscCall(CorpusGetShare(*corpus, bad->batch, &first, &count));
  for (PetscInt i = 0; i < 5; i++) PetscCall(CorpusRead(*corpus, CORPUS_TRAIN, i, tokens, targets));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestBad(const Bad *bad, CorpusOptions options)
{
  char            paths[2][64];
  char           *pointers[2] = {paths[0], paths[1]};
  PetscMPIInt     rank;
  PetscErrorCode  ierr;
  Corpus          corpus = NULL;
  const PetscBool away   = strcmp(bad->name, "unshared") == 0 ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  options.paths             = pointers;
  options.npaths            = bad->paths[1] == NULL ? 1 : 2;
  options.validation_paths  = pointers;
  options.nvalidation_paths = 1;
  for (PetscInt i = 0; i < options.npaths; i++) PetscCall(PetscStrncpy(paths[i], bad->paths[i], sizeof(paths[i])));
  options.suffix     = bad->suffix;
  options.holdout    = bad->holdout;
  options.vocabulary = bad->vocabulary;
  options.every      = 5;
  options.headerless = strcmp(bad->name, "odd") == 0 ? PETSC_TRUE : PETSC_FALSE;
  if (rank == 0 && bad->shard[0] != 0) PetscCall(WriteShard("bad.bin", 0, bad->shard[0], bad->shard[1], bad->shard[2], bad->shard[3], 50304));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  /* The last process looks for the same names elsewhere */
  if (rank == 1 && away) PetscCheck(chdir("nothing") == 0, PETSC_COMM_SELF, PETSC_ERR_SYS, "Cannot change the folder");
  FailsMessage[0] = '\0';
  PetscCall(PetscPushErrorHandler(FailsCatch, NULL));
  ierr = Read(bad, &options, &corpus);
  PetscCall(PetscPopErrorHandler());
  if (rank == 1 && away) PetscCheck(chdir("..") == 0, PETSC_COMM_SELF, PETSC_ERR_SYS, "Cannot change the folder");
  PetscCheck(ierr != PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: no error, expected: %s", bad->name, bad->error);
  /* An error of all is said by the first; where a process finds it alone the others are told that there is one */
  PetscCheck(strstr(FailsMessage, bad->error) != NULL || rank > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s, expected: %s", bad->name, FailsMessage, bad->error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  CorpusOptions options;
  PetscBool     isbad;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscMemzero(&options, sizeof(options)));
  options.suffix    = ".h";
  options.recursive = PETSC_TRUE;
  options.holdout   = CORPUS_HOLDOUT_FILES;
  options.every     = 3;
  options.sequence  = SEQUENCE;
  options.seed      = 1;
  PetscCall(WriteFiles());
  PetscCall(PetscOptionsHasName(NULL, NULL, "-bad", &isbad));
  if (isbad) PetscCall(PetscOptionsClearValue(NULL, "-malloc_dump")); /* errors keep what they found */
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(bads) && isbad; k++) PetscCall(TestBad(&bads[k], options));
  if (isbad == PETSC_FALSE) {
    PetscCall(TestText(options));
    PetscCall(TestShards(options));
    PetscCall(TestParts(options));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    sources: tutorials/nanogpt/data.c

  table: suffix | nsize | args
    good | {{1 2 3}} |
    bad  | 2         | -bad

TEST*/
