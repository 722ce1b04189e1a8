/*
   Text for the GPT: files of bytes, or shards of tokens, as sequences for training and for validation.

   Nothing is held in memory but the list of files: a sequence is read where it lies when it is asked for, so
   that a corpus may be larger than a machine. All routines that take part in checks are collective, and a bad
   file is an error on every process.
*/
#pragma once

#include <petscmuoncompat.h> /* petscsys.h, with the names of the newest PETSc */

/* Which part of the corpus is kept for validation */
typedef enum {
  CORPUS_HOLDOUT_FILES,  /* whole files: in the order of their names, the last of every n */
  CORPUS_HOLDOUT_BLOCKS, /* blocks of T tokens: the last of every n */
  CORPUS_HOLDOUT_PATHS   /* the files given for it, which are left out of training where they are among its files */
} CorpusHoldout;
extern const char *const CorpusHoldouts[];

typedef struct {
  char        **paths; /* files and folders */
  PetscInt      npaths;
  char        **validation_paths; /* for CORPUS_HOLDOUT_PATHS */
  PetscInt      nvalidation_paths;
  const char   *suffix;    /* of the names wanted in a folder, empty for all */
  PetscBool     recursive; /* enter the folders of a folder */
  CorpusHoldout holdout;
  PetscInt      every;      /* n of the first two holdouts */
  PetscInt      vocabulary; /* every token must be below it */
  PetscInt      sequence;   /* T */
  PetscInt      seed;       /* of the order of the training sequences */
  PetscBool     headerless; /* files that end in .bin are tokens alone, without the header of a shard */
  PetscBool     parts;      /* each path is a part of its own: no sequence reaches from one into the next. For CORPUS_HOLDOUT_PATHS */
} CorpusOptions;

typedef enum {
  CORPUS_TRAIN,
  CORPUS_VALIDATION
} CorpusPart;

typedef struct _n_Corpus *Corpus;

PetscErrorCode CorpusCreate(MPI_Comm, const CorpusOptions *, Corpus *);
PetscErrorCode CorpusDestroy(Corpus *);

/* Files, tokens and sequences of T tokens (each with the token after it) of a part */
PetscErrorCode CorpusGetSize(Corpus, CorpusPart, PetscInt *files, PetscInt64 *tokens, PetscInt64 *sequences);
PetscErrorCode CorpusGetFileName(Corpus, CorpusPart, PetscInt, const char *name[]);

/* Sequence i of a part: T tokens, and as targets the token after each */
PetscErrorCode CorpusRead(Corpus, CorpusPart, PetscInt64 i, PetscInt tokens[], PetscInt targets[]);
/*
   The number of the training sequence that is the i-th ever to be used: a permutation in each pass over the
   corpus
*/
PetscErrorCode CorpusShuffle(Corpus, PetscInt64 i, PetscInt64 *sequence);
/*
   The same where each process has a part of the text for itself, of adjacent sequences: the one that this process is the i-th to use
*/
PetscErrorCode CorpusShuffleOwn(Corpus, PetscInt64 i, PetscInt64 *sequence);
/*
   The same where the corpus has parts, of which each gives an equal share of every batch: sequence b of those that this process takes in the i-th batch.
   Process r of p has the parts r, r + p, ..., so that batches do not depend on p. Each part has passes of its own
*/
PetscErrorCode CorpusShuffleParts(Corpus, PetscInt batch, PetscInt64 i, PetscInt b, PetscInt64 *sequence);

/*
   The sequences of a global batch that a process works on, first <= i < first + count: the same for every
   number of processes
*/
PetscErrorCode CorpusGetShare(Corpus, PetscInt batch, PetscInt *first, PetscInt *count);

/*
   Cross entropy, in nats a token, of p(b|a) = (n_ab + 1) / (n_a + V) on the validation part, n counted on the
   training part
*/
PetscErrorCode CorpusBigram(Corpus, PetscReal *loss);
