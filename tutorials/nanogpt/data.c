/*
   The corpus of data.h: finds the files, checks them, and reads sequences of tokens.

   Two kinds of files: text, where a byte is a token, and shards (*.bin), where 256 little-endian 32-bit
   integers (magic number, version, count of tokens, zeros) are followed by one unsigned 16-bit integer a
   token. Shards may come without that header. Process 0 finds and checks the files, all processes see its list or its trouble, and then each makes
   sure that it sees the same files.
*/
#define PETSC_DESIRE_FEATURE_TEST_MACROS /* for pread() and lstat() */
#include "data.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHARD_MAGIC   20240520
#define SHARD_VERSION 1
#define SHARD_HEADER  1024 /* bytes */

const char *const CorpusHoldouts[] = {"files", "blocks", "paths", "CorpusHoldout", "CORPUS_HOLDOUT_", NULL};

typedef struct {
  char      *name;
  PetscInt64 tokens;
  PetscInt64 first; /* tokens of the files before it */
  PetscInt   part;
} CorpusFile;

typedef struct {
  CorpusFile *file;
  PetscInt    nfiles, capacity;
  PetscInt64  tokens;
} CorpusList;

struct _n_Corpus {
  MPI_Comm       comm;
  CorpusHoldout  holdout;
  PetscInt       every, vocabulary, sequence, seed;
  PetscInt       width;        /* bytes of a token */
  PetscInt       header;       /* bytes before the first token of a file */
  CorpusList     list[2];      /* of CorpusPart; CORPUS_HOLDOUT_BLOCKS has both parts in the first */
  PetscInt64     sequences[2]; /* of CorpusPart */
  PetscInt       nparts;
  PetscInt64    *token, *start; /* tokens and sequences of the parts before each one, and of all */
  int            fd;            /* of the file that was read last, else -1 */
  CorpusFile    *opened;
  unsigned char *buffer; /* of one sequence */
};

/* What is wrong, in words; empty where nothing is */
typedef struct {
  char text[2 * PETSC_MAX_PATH_LEN];
} CorpusTrouble;

/*
   Raises the trouble of the first process that has any on all of them: one that went on alone would hang in
   its next collective call
*/
static PetscErrorCode Agree(MPI_Comm comm, CorpusTrouble *trouble)
{
  PetscMPIInt size, rank, mine, first;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  mine = trouble->text[0] != '\0' ? rank : size;
  PetscCallMPI(MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, comm));
  if (first < size) PetscCallMPI(MPI_Bcast(trouble->text, (PetscMPIInt)sizeof(trouble->text), MPI_CHAR, first, comm));
  PetscCheck(first == size, comm, PETSC_ERR_FILE_UNEXPECTED, "%s", trouble->text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ListAppend(CorpusList *list, const char name[], PetscInt64 tokens)
{
  PetscFunctionBeginUser;
  if (list->nfiles == list->capacity) {
    CorpusFile *larger;

    list->capacity = 2 * list->capacity + 64;
    PetscCall(PetscMalloc1(list->capacity, &larger));
    PetscCall(PetscArraycpy(larger, list->file, list->nfiles));
    PetscCall(PetscFree(list->file));
    list->file = larger;
  }
  PetscCall(PetscStrallocpy(name, &list->file[list->nfiles].name));
  list->file[list->nfiles].tokens = tokens;
  list->file[list->nfiles].first  = list->tokens;
  list->file[list->nfiles].part   = 0;
  list->tokens += tokens;
  list->nfiles++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ListDestroy(CorpusList *list)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < list->nfiles; i++) PetscCall(PetscFree(list->file[i].name));
  PetscCall(PetscFree(list->file));
  PetscCall(PetscMemzero(list, sizeof(*list)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int CompareNames(const void *a, const void *b)
{
  const CorpusFile *x = (const CorpusFile *)a, *y = (const CorpusFile *)b;

  return x->part == y->part ? strcmp(x->name, y->name) : x->part < y->part ? -1 : 1;
}

/* The order of names, in each part where there are parts, does not depend on the order in which a file system lists them */
static PetscErrorCode ListSort(CorpusList *list, CorpusTrouble *trouble)
{
  PetscFunctionBeginUser;
  qsort(list->file, (size_t)list->nfiles, sizeof(*list->file), CompareNames);
  list->tokens = 0;
  for (PetscInt i = 0; i < list->nfiles; i++) {
    list->file[i].first = list->tokens;
    list->tokens += list->file[i].tokens;
    if (i > 0 && strcmp(list->file[i].name, list->file[i - 1].name) == 0) PetscCall(PetscSNPrintf(trouble->text, sizeof(trouble->text), "Data file %s is named twice", list->file[i].name));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool HasSuffix(const char name[], const char suffix[])
{
  const size_t n = strlen(name), s = strlen(suffix);

  return n >= s && strcmp(name + n - s, suffix) == 0 ? PETSC_TRUE : PETSC_FALSE;
}

/*
   The count of tokens in the header of a shard, which must agree with the size of its file: neither is
   trusted alone
*/
static PetscErrorCode ShardGetTokens(const char name[], PetscBool headerless, PetscInt64 bytes, PetscInt64 *tokens, CorpusTrouble *trouble)
{
  unsigned char b[12];
  uint32_t      header[3];
  const int     fd = headerless == PETSC_TRUE ? -1 : open(name, O_RDONLY);

  PetscFunctionBeginUser;
  *tokens = 0;
  if (headerless == PETSC_TRUE) {
    *tokens = bytes / 2;
    if (bytes == 0 || bytes % 2 != 0) PetscCall(PetscSNPrintf(trouble->text, sizeof(trouble->text), "Data file %s has %" PetscInt64_FMT " bytes: tokens without a header take 2 each", name, bytes));
  } else if (fd < 0) PetscCall(PetscSNPrintf(trouble->text, sizeof(trouble->text), "Cannot open data file %s: %s", name, strerror(errno)));
  else if (bytes < SHARD_HEADER || read(fd, b, sizeof(b)) != (ssize_t)sizeof(b))
    PetscCall(PetscSNPrintf(trouble->text, sizeof(trouble->text), "Data file %s has %" PetscInt64_FMT " bytes: a shard begins with a header of %d bytes", name, bytes, SHARD_HEADER));
  else {
    for (PetscInt i = 0; i < 3; i++) header[i] = (uint32_t)b[4 * i] | (uint32_t)b[4 * i + 1] << 8 | (uint32_t)b[4 * i + 2] << 16 | (uint32_t)b[4 * i + 3] << 24;
    if (header[0] != SHARD_MAGIC)
      PetscCall(PetscSNPrintf(trouble->text, sizeof(trouble->text), "Data file %s begins with %lu: a shard begins with the magic number %d; one without a header takes -nanogpt_data_headerless", name, (unsigned long)header[0], SHARD_MAGIC));
    else if (header[1] != SHARD_VERSION) PetscCall(PetscSNPrintf(trouble->text, sizeof(trouble->text), "Data file %s is a shard of version %lu: only version %d, with 16-bit tokens, can be read", name, (unsigned long)header[1], SHARD_VERSION));
    else if (header[2] == 0) PetscCall(PetscSNPrintf(trouble->text, sizeof(trouble->text), "Data file %s is a shard of 0 tokens", name));
    else if (bytes != SHARD_HEADER + 2 * (PetscInt64)header[2])
      PetscCall(PetscSNPrintf(trouble->text, sizeof(trouble->text), "Data file %s has %" PetscInt64_FMT " bytes: a shard of %lu tokens, as its header says, has %" PetscInt64_FMT, name, bytes, (unsigned long)header[2],
                              SHARD_HEADER + 2 * (PetscInt64)header[2]));
    else *tokens = (PetscInt64)header[2];
  }
  if (fd >= 0) close(fd);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds a file to the list, or the files of a folder. Named files must have tokens; of the files of a folder the empty and the hidden ones,
   and those that are not plain files, are left out, and a linked folder is not entered, since links can form a circle */
static PetscErrorCode ListCollect(CorpusList *list, const char path[], PetscBool named, const CorpusOptions *options, CorpusTrouble *trouble)
{
  struct stat    status, link;
  DIR           *folder;
  struct dirent *entry;
  PetscInt       before = list->nfiles;
  PetscInt64     tokens;

  PetscFunctionBeginUser;
  if (stat(path, &status) != 0 || lstat(path, &link) != 0) {
    PetscCall(PetscSNPrintf(trouble->text, sizeof(trouble->text), "Cannot find data file %s: %s", path, strerror(errno)));
  } else if (S_ISREG(status.st_mode)) {
    tokens = (PetscInt64)status.st_size;
    if (HasSuffix(path, ".bin") == PETSC_TRUE) PetscCall(ShardGetTokens(path, options->headerless, (PetscInt64)status.st_size, &tokens, trouble));
    else if (tokens == 0 && named == PETSC_TRUE) PetscCall(PetscSNPrintf(trouble->text, sizeof(trouble->text), "Data file %s is empty", path));
    if (tokens > 0) PetscCall(ListAppend(list, path, tokens));
  } else if (S_ISDIR(status.st_mode) && (named == PETSC_TRUE || (options->recursive == PETSC_TRUE && !S_ISLNK(link.st_mode)))) {
    folder = opendir(path);
    if (folder == NULL) PetscCall(PetscSNPrintf(trouble->text, sizeof(trouble->text), "Cannot open data folder %s: %s", path, strerror(errno)));
    while (folder != NULL && trouble->text[0] == '\0' && (entry = readdir(folder)) != NULL) {
      char inside[PETSC_MAX_PATH_LEN];

      if (entry->d_name[0] == '.') continue;
      PetscCall(PetscSNPrintf(inside, sizeof(inside), "%s%s%s", path, HasSuffix(path, "/") == PETSC_TRUE ? "" : "/", entry->d_name));
      if (stat(inside, &status) == 0 && (S_ISDIR(status.st_mode) || HasSuffix(inside, options->suffix) == PETSC_TRUE)) PetscCall(ListCollect(list, inside, PETSC_FALSE, options, trouble));
    }
    if (folder != NULL) closedir(folder);
    if (named == PETSC_TRUE && list->nfiles == before && trouble->text[0] == '\0')
      PetscCall(PetscSNPrintf(trouble->text, sizeof(trouble->text), "Data folder %s has no file that is not empty%s%s", path, options->suffix[0] != '\0' ? " and ends in " : "", options->suffix));
  } else if (named == PETSC_TRUE) {
    PetscCall(PetscSNPrintf(trouble->text, sizeof(trouble->text), "Data file %s is neither a file nor a folder", path));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The list of process 0 on all processes */
static PetscErrorCode ListBroadcast(MPI_Comm comm, CorpusList *list)
{
  PetscMPIInt rank;
  PetscInt    nfiles = list->nfiles;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Bcast(&nfiles, 1, MPIU_INT, 0, comm));
  for (PetscInt i = 0; i < nfiles; i++) {
    char       name[PETSC_MAX_PATH_LEN];
    PetscInt64 tokens = 0;

    if (rank == 0) {
      tokens = list->file[i].tokens;
      PetscCall(PetscStrncpy(name, list->file[i].name, sizeof(name)));
    }
    PetscCallMPI(MPI_Bcast(&tokens, 1, MPIU_INT64, 0, comm));
    PetscCallMPI(MPI_Bcast(name, (PetscMPIInt)sizeof(name), MPI_CHAR, 0, comm));
    if (rank != 0) PetscCall(ListAppend(list, name, tokens));
    PetscCallMPI(MPI_Bcast(&list->file[i].part, 1, MPIU_INT, 0, comm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes sure that this process sees the files of the list with the sizes that process 0 found */
static PetscErrorCode ListCompare(const CorpusList *list, PetscInt header, PetscInt width, CorpusTrouble *trouble)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < list->nfiles && trouble->text[0] == '\0'; i++) {
    const CorpusFile *file = &list->file[i];
    struct stat       status;

    if (access(file->name, R_OK) != 0 || stat(file->name, &status) != 0) PetscCall(PetscSNPrintf(trouble->text, sizeof(trouble->text), "Cannot read data file %s: %s", file->name, strerror(errno)));
    else if ((PetscInt64)status.st_size != header + width * file->tokens)
      PetscCall(PetscSNPrintf(trouble->text, sizeof(trouble->text), "Data file %s has %" PetscInt64_FMT " bytes on one process and %" PetscInt64_FMT " on another", file->name, (PetscInt64)status.st_size, header + width * file->tokens));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Takes files out of the list that are also among others, whatever their names: a file that is trained on
   cannot validate
*/
static PetscErrorCode ListExclude(CorpusList *list, const CorpusList *others)
{
  struct stat *other, status;
  PetscInt     kept = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc1(others->nfiles, &other));
  for (PetscInt o = 0; o < others->nfiles; o++) (void)stat(others->file[o].name, &other[o]);
  for (PetscInt i = 0; i < list->nfiles; i++) {
    PetscBool same = PETSC_FALSE;

    if (stat(list->file[i].name, &status) == 0) {
      for (PetscInt o = 0; o < others->nfiles && same == PETSC_FALSE; o++) same = other[o].st_dev == status.st_dev && other[o].st_ino == status.st_ino ? PETSC_TRUE : PETSC_FALSE;
    }
    if (same == PETSC_TRUE) PetscCall(PetscFree(list->file[i].name));
    else list->file[kept++] = list->file[i];
  }
  list->nfiles = kept;
  PetscCall(PetscFree(other));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collects, checks and shares the files of some paths, without those of another list */
static PetscErrorCode ListCreate(Corpus corpus, char *const paths[], PetscInt npaths, const CorpusOptions *options, const CorpusList *others, CorpusList *list)
{
  CorpusTrouble trouble;
  PetscMPIInt   rank;
  PetscInt      shards = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(&trouble, sizeof(trouble)));
  PetscCallMPI(MPI_Comm_rank(corpus->comm, &rank));
  if (rank == 0) {
    for (PetscInt i = 0; i < npaths && trouble.text[0] == '\0'; i++) {
      const PetscInt before = list->nfiles;

      PetscCall(ListCollect(list, paths[i], PETSC_TRUE, options, &trouble));
      for (PetscInt f = before; f < list->nfiles && options->parts == PETSC_TRUE && paths == options->paths; f++) list->file[f].part = i;
    }
    PetscCall(ListExclude(list, others));
    if (trouble.text[0] == '\0') PetscCall(ListSort(list, &trouble));
  }
  PetscCall(Agree(corpus->comm, &trouble));
  PetscCall(ListBroadcast(corpus->comm, list));

  PetscCheck(list->nfiles > 0, corpus->comm, PETSC_ERR_USER_INPUT, "All data files to train on, %s and the others, are held out for validation", paths[0]);
  for (PetscInt i = 0; i < list->nfiles; i++) shards += HasSuffix(list->file[i].name, ".bin") == PETSC_TRUE ? 1 : 0;
  PetscCheck(shards == 0 || shards == list->nfiles, corpus->comm, PETSC_ERR_FILE_UNEXPECTED, "%" PetscInt_FMT " of %" PetscInt_FMT " data files are shards of tokens (.bin), the others text: give one kind", shards, list->nfiles);
  PetscCheck(corpus->width == 0 || (corpus->width == 2) == (shards > 0), corpus->comm, PETSC_ERR_FILE_UNEXPECTED, "Training and validation files must both be text or both shards of tokens (.bin)");
  PetscCheck(shards > 0 || corpus->vocabulary >= 256, corpus->comm, PETSC_ERR_ARG_OUTOFRANGE, "A vocabulary of %" PetscInt_FMT " is too small: text has the 256 bytes as tokens", corpus->vocabulary);
  corpus->width  = shards > 0 ? 2 : 1;
  corpus->header = shards > 0 && options->headerless == PETSC_FALSE ? SHARD_HEADER : 0;
  PetscCall(ListCompare(list, corpus->header, corpus->width, &trouble));
  PetscCall(Agree(corpus->comm, &trouble));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Moves the last of every n files to the validation part */
static PetscErrorCode HoldOutFiles(Corpus corpus, CorpusList *all)
{
  PetscFunctionBeginUser;
  PetscCheck(all->nfiles >= corpus->every, corpus->comm, PETSC_ERR_ARG_SIZ, "%" PetscInt_FMT " data files are too few to hold out the last of every %" PetscInt_FMT ": hold out blocks, or more files", all->nfiles, corpus->every);
  for (PetscInt i = 0; i < all->nfiles; i++) PetscCall(ListAppend(&corpus->list[i % corpus->every == corpus->every - 1 ? CORPUS_VALIDATION : CORPUS_TRAIN], all->file[i].name, all->file[i].tokens));
  PetscCall(ListDestroy(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cuts sequences out of each part by itself */
static PetscErrorCode CountParts(Corpus corpus, const CorpusOptions *options)
{
  const CorpusList *list = &corpus->list[CORPUS_TRAIN];

  PetscFunctionBeginUser;
  PetscCheck(corpus->holdout == CORPUS_HOLDOUT_PATHS, corpus->comm, PETSC_ERR_USER_INPUT, "Data in parts need validation data of their own: name files or folders");
  corpus->nparts = options->npaths;
  PetscCall(PetscCalloc2(corpus->nparts + 1, &corpus->token, corpus->nparts + 1, &corpus->start));
  for (PetscInt i = 0; i < list->nfiles; i++) corpus->token[list->file[i].part + 1] += list->file[i].tokens;
  for (PetscInt p = 0; p < corpus->nparts; p++) {
    const PetscInt64 tokens = corpus->token[p + 1];

    PetscCheck(tokens > corpus->sequence, corpus->comm, PETSC_ERR_ARG_SIZ, "%s, a part of the data, has %" PetscInt64_FMT " tokens to train: a sequence takes %" PetscInt_FMT, options->paths[p], tokens, corpus->sequence + 1);
    corpus->start[p + 1] = corpus->start[p] + (tokens - 1) / corpus->sequence;
    corpus->token[p + 1] += corpus->token[p];
  }
  corpus->sequences[CORPUS_TRAIN] = corpus->start[corpus->nparts];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CorpusCreate(MPI_Comm comm, const CorpusOptions *options, Corpus *newcorpus)
{
  Corpus     corpus;
  CorpusList all;
  PetscInt64 blocks;

  PetscFunctionBeginUser;
  PetscCheck(options->npaths > 0, comm, PETSC_ERR_USER_INPUT, "No data: name files or folders of text, or shards of tokens (.bin)");
  PetscCheck(options->sequence > 0, comm, PETSC_ERR_ARG_OUTOFRANGE, "Sequences of %" PetscInt_FMT " tokens: a sequence needs one at least", options->sequence);
  PetscCheck(options->holdout == CORPUS_HOLDOUT_PATHS || options->every > 1, comm, PETSC_ERR_ARG_OUTOFRANGE, "Cannot hold out the last of every %" PetscInt_FMT ": 2 at least", options->every);
  PetscCheck(options->holdout != CORPUS_HOLDOUT_PATHS || options->nvalidation_paths > 0, comm, PETSC_ERR_USER_INPUT, "No validation data: name files or folders");
  PetscCall(PetscNew(&corpus));
  corpus->comm       = comm;
  corpus->holdout    = options->holdout;
  corpus->every      = options->every;
  corpus->vocabulary = options->vocabulary;
  corpus->sequence   = options->sequence;
  corpus->seed       = options->seed;
  corpus->fd         = -1;

  PetscCall(PetscMemzero(&all, sizeof(all)));
  if (corpus->holdout == CORPUS_HOLDOUT_PATHS) PetscCall(ListCreate(corpus, options->validation_paths, options->nvalidation_paths, options, &all, &corpus->list[CORPUS_VALIDATION]));
  PetscCall(ListCreate(corpus, options->paths, options->npaths, options, &corpus->list[CORPUS_VALIDATION], &all));
  if (corpus->holdout == CORPUS_HOLDOUT_FILES) PetscCall(HoldOutFiles(corpus, &all));
  else corpus->list[CORPUS_TRAIN] = all;

  if (corpus->holdout == CORPUS_HOLDOUT_BLOCKS) {
    blocks = (corpus->list[CORPUS_TRAIN].tokens - 1) / corpus->sequence;

    corpus->sequences[CORPUS_VALIDATION] = blocks / corpus->every;
    corpus->sequences[CORPUS_TRAIN]      = blocks - blocks / corpus->every;
  } else {
    for (int part = 0; part < 2; part++) corpus->sequences[part] = PetscMax(0, corpus->list[part].tokens - 1) / corpus->sequence;
  }
  if (options->parts == PETSC_TRUE) PetscCall(CountParts(corpus, options));
  PetscCheck(corpus->sequences[CORPUS_TRAIN] > 0 && corpus->sequences[CORPUS_VALIDATION] > 0, comm, PETSC_ERR_ARG_SIZ,
             "The data give %" PetscInt64_FMT " sequences of %" PetscInt_FMT " tokens to train and %" PetscInt64_FMT " to validate: one each is needed at least", corpus->sequences[CORPUS_TRAIN], corpus->sequence,
             corpus->sequences[CORPUS_VALIDATION]);
  PetscCall(PetscMalloc1(corpus->width * (corpus->sequence + 1), &corpus->buffer));
  *newcorpus = corpus;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CorpusDestroy(Corpus *corpus)
{
  PetscFunctionBeginUser;
  if (*corpus == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if ((*corpus)->fd >= 0) close((*corpus)->fd);
  PetscCall(ListDestroy(&(*corpus)->list[CORPUS_TRAIN]));
  PetscCall(ListDestroy(&(*corpus)->list[CORPUS_VALIDATION]));
  PetscCall(PetscFree2((*corpus)->token, (*corpus)->start));
  PetscCall(PetscFree((*corpus)->buffer));
  PetscCall(PetscFree(*corpus));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The list that has the files of a part */
static const CorpusList *CorpusGetList(Corpus corpus, CorpusPart part)
{
  return &corpus->list[corpus->holdout == CORPUS_HOLDOUT_BLOCKS ? CORPUS_TRAIN : part];
}

PetscErrorCode CorpusGetSize(Corpus corpus, CorpusPart part, PetscInt *files, PetscInt64 *tokens, PetscInt64 *sequences)
{
  const CorpusList *list = CorpusGetList(corpus, part);

  PetscFunctionBeginUser;
  *files     = list->nfiles;
  *tokens    = corpus->holdout == CORPUS_HOLDOUT_BLOCKS ? corpus->sequences[part] * corpus->sequence : list->tokens;
  *sequences = corpus->sequences[part];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CorpusGetFileName(Corpus corpus, CorpusPart part, PetscInt i, const char *name[])
{
  const CorpusList *list = CorpusGetList(corpus, part);

  PetscFunctionBeginUser;
  PetscCheck(i >= 0 && i < list->nfiles, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "File %" PetscInt_FMT " of %" PetscInt_FMT, i, list->nfiles);
  *name = list->file[i].name;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reads tokens first, ..., first + n - 1 of one file into raw bytes */
static PetscErrorCode FileRead(Corpus corpus, CorpusFile *file, PetscInt64 first, PetscInt64 n, unsigned char raw[])
{
  const size_t bytes = (size_t)(n * corpus->width);
  size_t       done  = 0;

  PetscFunctionBeginUser;
  if (corpus->opened != file) {
    if (corpus->fd >= 0) close(corpus->fd);
    corpus->opened = NULL;
    corpus->fd     = open(file->name, O_RDONLY);
    PetscCheck(corpus->fd >= 0, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot open data file %s: %s", file->name, strerror(errno));
    corpus->opened = file;
  }
  while (done < bytes) {
    const ssize_t got = pread(corpus->fd, raw + done, bytes - done, (off_t)(corpus->header + first * corpus->width) + (off_t)done);

    if (got < 0 && errno == EINTR) continue;
    PetscCheck(got > 0, PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "Data file %s became shorter, or cannot be read: %s", file->name, got < 0 ? strerror(errno) : "end of file");
    done += (size_t)got;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CorpusRead(Corpus corpus, CorpusPart part, PetscInt64 i, PetscInt tokens[], PetscInt targets[])
{
  const CorpusList *list = CorpusGetList(corpus, part);
  const PetscInt    T    = corpus->sequence;
  PetscInt64        first, got = 0;
  PetscInt          low = 0, high = list->nfiles;

  PetscFunctionBeginUser;
  PetscCheck(i >= 0 && i < corpus->sequences[part], PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Sequence %" PetscInt64_FMT " of %" PetscInt64_FMT, i, corpus->sequences[part]);
  if (corpus->holdout == CORPUS_HOLDOUT_BLOCKS) first = T * (part == CORPUS_VALIDATION ? corpus->every * (i + 1) - 1 : i + i / (corpus->every - 1));
  else first = T * i;
  if (part == CORPUS_TRAIN && corpus->nparts > 0) {
    PetscInt p = 0;

    while (corpus->start[p + 1] <= i) p++;
    first = corpus->token[p] + T * (i - corpus->start[p]);
  }

  while (high - low > 1) {
    const PetscInt middle = (low + high) / 2;

    if (list->file[middle].first <= first) low = middle;
    else high = middle;
  }
  for (; got < T + 1; low++) {
    CorpusFile      *file  = &list->file[low];
    const PetscInt64 start = first + got - file->first, n = PetscMin(T + 1 - got, file->tokens - start);

    PetscCall(FileRead(corpus, file, start, n, corpus->buffer + corpus->width * got));
    got += n;
  }
  for (PetscInt t = 0; t <= T; t++) {
    const PetscInt token = corpus->width == 1 ? corpus->buffer[t] : (PetscInt)corpus->buffer[2 * t] | (PetscInt)corpus->buffer[2 * t + 1] << 8;

    PetscCheck(token < corpus->vocabulary, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "Data file %s or the one after it has token %" PetscInt_FMT ", outside of the vocabulary of %" PetscInt_FMT, corpus->opened->name, token, corpus->vocabulary);
    if (t < T) tokens[t] = token;
    if (t > 0) targets[t - 1] = token;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The finalizer of splitmix64: every bit of the result depends on every bit of x */
static uint64_t Mix(uint64_t x)
{
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/* A Feistel network permutes the numbers of 2h bits, h so that n numbers fit; walking on from one that is too large until one is reached that is
   not makes it a permutation of n. It needs no memory, no messages, and no draws in order. Each pass over the n numbers has another one */
static PetscErrorCode Permute(uint64_t n, PetscInt seed, PetscInt64 i, PetscInt64 *number)
{
  const uint64_t key = Mix(Mix((uint64_t)seed) + (uint64_t)i / n);
  uint64_t       x = (uint64_t)i % n, half = 1, mask;

  PetscFunctionBeginUser;
  PetscCheck(i >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Use %" PetscInt64_FMT " of a sequence must not be negative", i);
  while ((uint64_t)1 << (2 * half) < n) half++;
  mask = ((uint64_t)1 << half) - 1;
  do {
    uint64_t left = x >> half, right = x & mask;

    for (uint64_t round = 0; round < 4; round++) {
      const uint64_t next = left ^ (Mix(key ^ (round << 56) ^ right) & mask);

      left  = right;
      right = next;
    }
    x = left << half | right;
  } while (x >= n);
  *number = (PetscInt64)x;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CorpusShuffle(Corpus corpus, PetscInt64 i, PetscInt64 *sequence)
{
  PetscFunctionBeginUser;
  PetscCall(Permute((uint64_t)corpus->sequences[CORPUS_TRAIN], corpus->seed, i, sequence));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CorpusShuffleOwn(Corpus corpus, PetscInt64 i, PetscInt64 *sequence)
{
  PetscMPIInt size, rank;
  PetscInt64  first, last;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(corpus->comm, &size));
  PetscCallMPI(MPI_Comm_rank(corpus->comm, &rank));
  first = corpus->sequences[CORPUS_TRAIN] * rank / size;
  last  = corpus->sequences[CORPUS_TRAIN] * (rank + 1) / size;
  PetscCall(Permute((uint64_t)(last - first), corpus->seed, i, sequence));
  *sequence += first;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CorpusShuffleParts(Corpus corpus, PetscInt batch, PetscInt64 i, PetscInt b, PetscInt64 *sequence)
{
  const PetscInt each = batch / corpus->nparts;
  PetscMPIInt    size, rank;
  PetscInt       p;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(corpus->comm, &size));
  PetscCallMPI(MPI_Comm_rank(corpus->comm, &rank));
  p = rank + size * (b / each);
  PetscCall(Permute((uint64_t)(corpus->start[p + 1] - corpus->start[p]), corpus->seed, i * each + b % each, sequence));
  *sequence += corpus->start[p];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CorpusGetShare(Corpus corpus, PetscInt batch, PetscInt *first, PetscInt *count)
{
  PetscMPIInt size, rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(corpus->comm, &size));
  PetscCallMPI(MPI_Comm_rank(corpus->comm, &rank));
  PetscCheck(size <= batch, corpus->comm, PETSC_ERR_ARG_SIZ, "%d processes are more than the %" PetscInt_FMT " sequences of a batch: use fewer processes or a larger batch", size, batch);
  PetscCheck(batch % size == 0, corpus->comm, PETSC_ERR_ARG_SIZ, "A batch of %" PetscInt_FMT " sequences cannot be shared equally by %d processes", batch, size);
  PetscCheck(batch <= corpus->sequences[CORPUS_TRAIN], corpus->comm, PETSC_ERR_ARG_SIZ, "A batch of %" PetscInt_FMT " sequences is more than the %" PetscInt64_FMT " of the training data", batch, corpus->sequences[CORPUS_TRAIN]);
  PetscCheck(corpus->nparts == 0 || (corpus->nparts % size == 0 && batch % corpus->nparts == 0), corpus->comm, PETSC_ERR_ARG_SIZ, "%" PetscInt_FMT " parts of the data: the %d processes must divide their number, and they the batch of %" PetscInt_FMT,
             corpus->nparts, size, batch);
  *count = batch / size;
  *first = rank * *count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CorpusBigram(Corpus corpus, PetscReal *loss)
{
  const PetscInt V = corpus->vocabulary, T = corpus->sequence;
  PetscMPIInt    size, rank, entries;
  PetscInt      *tokens, *targets;
  double        *count, *row, sum[2] = {0.0, 0.0};

  PetscFunctionBeginUser;
  PetscCheck(V <= 4096, corpus->comm, PETSC_ERR_ARG_OUTOFRANGE, "The table of a bigram model is kept for vocabularies up to 4096, not for %" PetscInt_FMT, V);
  PetscCallMPI(MPI_Comm_size(corpus->comm, &size));
  PetscCallMPI(MPI_Comm_rank(corpus->comm, &rank));
  PetscCall(PetscMPIIntCast(V * V, &entries));
  PetscCall(PetscCalloc4(V * V, &count, V, &row, T, &tokens, T, &targets));
  for (PetscInt64 i = rank; i < corpus->sequences[CORPUS_TRAIN]; i += size) {
    PetscCall(CorpusRead(corpus, CORPUS_TRAIN, i, tokens, targets));
    for (PetscInt t = 0; t < T; t++) count[tokens[t] * V + targets[t]] += 1.0;
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, count, entries, MPI_DOUBLE, MPI_SUM, corpus->comm));
  for (PetscInt a = 0; a < V; a++) {
    for (PetscInt b = 0; b < V; b++) row[a] += count[a * V + b];
  }
  for (PetscInt64 i = rank; i < corpus->sequences[CORPUS_VALIDATION]; i += size) {
    PetscCall(CorpusRead(corpus, CORPUS_VALIDATION, i, tokens, targets));
    for (PetscInt t = 0; t < T; t++) sum[0] -= log((count[tokens[t] * V + targets[t]] + 1.0) / (row[tokens[t]] + (double)V));
    sum[1] += (double)T;
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_DOUBLE, MPI_SUM, corpus->comm));
  *loss = (PetscReal)(sum[0] / sum[1]);
  PetscCall(PetscFree4(count, row, tokens, targets));
  PetscFunctionReturn(PETSC_SUCCESS);
}
